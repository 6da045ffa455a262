//! Software and hardware events, and how often tracepoints were passed.

use std::{fs, path::Path};

use crate::{
    perf_events::{PerfCounters, PerfEvent, TYPE_TRACEPOINT, hardware_events, software_events},
    sampler::{ProcessTree, Sampler, SamplerError, Scratch},
    series::Series,
};

/// Where tracefs is, and where it was before Linux 4.1.
const TRACEFS: &[&str] = &["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// Tracepoints that tell what a machine does; those that a kernel lacks are left out.
const TRACEPOINTS: &[&str] = &[
    "sched:sched_switch",
    "sched:sched_wakeup",
    "sched:sched_wakeup_new",
    "sched:sched_migrate_task",
    "sched:sched_process_fork",
    "sched:sched_process_exec",
    "sched:sched_process_exit",
    "raw_syscalls:sys_enter",
    "exceptions:page_fault_user",
    "exceptions:page_fault_kernel",
    "irq:irq_handler_entry",
    "irq:softirq_entry",
    "timer:timer_expire_entry",
    "timer:hrtimer_expire_entry",
    "workqueue:workqueue_execute_start",
    "power:cpu_idle",
    "power:cpu_frequency",
    "block:block_rq_issue",
    "block:block_rq_complete",
    "block:block_rq_merge",
    "writeback:writeback_pages_written",
    "vmscan:mm_vmscan_direct_reclaim_begin",
    "migrate:mm_migrate_pages",
    "compaction:mm_compaction_begin",
    "net:net_dev_xmit",
    "net:netif_receive_skb",
    "napi:napi_poll",
    "skb:kfree_skb",
    "tcp:tcp_retransmit_skb",
    "signal:signal_deliver",
];

/// A sampler of events.
pub(crate) struct Perf(PerfCounters);

impl Perf {
    /// # Errors
    /// This user may not count events.
    pub(crate) fn open(tree: Option<&ProcessTree>) -> Result<Self, SamplerError> {
        let events = vec![
            ("software", software_events()),
            ("hardware", hardware_events()),
        ];
        Ok(Self(PerfCounters::open(events, tree)?))
    }

    /// # Errors
    /// There is no tracefs, or this user may not count tracepoints.
    pub(crate) fn open_tracepoints(tree: Option<&ProcessTree>) -> Result<Self, SamplerError> {
        let events = TRACEFS
            .iter()
            .map(|folder| tracepoints(Path::new(folder)))
            .find(|events| !events.is_empty());
        let missing = "no tracepoint can be read below /sys/kernel/tracing/events: root mounts it with `mount -t tracefs nodev \
                       /sys/kernel/tracing`, and may let others read it (`-o mode=755`)";
        let events = events.ok_or_else(|| SamplerError::Missing(missing.into()))?;
        Ok(Self(PerfCounters::open(
            vec![("tracepoints", events)],
            tree,
        )?))
    }
}

impl Sampler for Perf {
    fn sample(&mut self, _: &mut Scratch, series: &mut Series) -> Result<(), SamplerError> {
        self.0.sample(series);
        Ok(())
    }
}

/// The tracepoints that a tracefs has.
fn tracepoints(tracefs: &Path) -> Vec<PerfEvent> {
    let id = |name: &str| {
        let path = tracefs
            .join("events")
            .join(name.replace(':', "/"))
            .join("id");
        fs::read_to_string(path).ok()?.trim().parse().ok()
    };
    TRACEPOINTS
        .iter()
        .filter_map(|name| {
            Some(PerfEvent {
                name: (*name).to_owned(),
                kind: TYPE_TRACEPOINT,
                config: id(name)?,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampler::sampled_once;
    use backsight_test_needs::Need;

    #[test]
    fn what_is_counted_grows() {
        if Need::Root.is_missing() {
            return;
        }
        let mut perf = Perf::open(None).unwrap();
        let (before, after) = (sampled_once(&mut perf), sampled_once(&mut perf));
        for ((name, before), (_, after)) in before.iter().zip(&after) {
            assert!(before <= after, "{name}");
        }
        let clock = |samples: &[(String, i64)]| {
            let of = |wanted| samples.iter().find(|(name, _)| name == wanted).unwrap().1;
            (
                of("task-clock"),
                of("software.enabled_ns"),
                of("software.running_ns"),
            )
        };
        let (before, after) = (clock(&before), clock(&after));
        assert!(
            before.0 < after.0 && before.1 < after.1,
            "{before:?} {after:?}"
        );
        // Software events are never multiplexed.
        assert_eq!(after.1, after.2);
    }
}
