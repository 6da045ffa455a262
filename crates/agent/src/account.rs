//! CPU time, of the machine and of ourselves, between two instants.

use std::time::Duration;

use backsight_platform::{MachineCpuTime, machine_cpu_time, online_cpus};
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeVal;

use crate::cgroup::Cgroup;
use crate::clocks;
use crate::step::CpuAccount;

/// The counters at one instant.
pub(crate) struct CpuCounters {
    monotonic_ns: u64,
    machine: MachineCpuTime,
    own: f64,
    own_by_cgroup: bool,
}

/// Reads the counters.
pub(crate) fn read(cgroup: Option<&Cgroup>) -> CpuCounters {
    let counted = cgroup.and_then(Cgroup::cpu_seconds);
    CpuCounters {
        monotonic_ns: clocks::monotonic_ns(),
        machine: machine_cpu_time().unwrap_or_default(),
        own: counted.unwrap_or_else(waited_for),
        own_by_cgroup: counted.is_some(),
    }
}

impl CpuCounters {
    /// What was used between this reading and a later one.
    pub(crate) fn until(&self, later: &Self) -> CpuAccount {
        let since = |field: fn(&MachineCpuTime) -> f64| {
            (field(&later.machine) - field(&self.machine)).max(0.0)
        };
        CpuAccount {
            wall: Duration::from_nanos(later.monotonic_ns - self.monotonic_ns).as_secs_f64(),
            cpus: online_cpus(),
            user: since(|machine| machine.user),
            system: since(|machine| machine.system),
            interrupts: since(|machine| machine.interrupts),
            steal: since(|machine| machine.steal),
            idle: since(|machine| machine.idle),
            own: (later.own - self.own).max(0.0),
            own_by_cgroup: self.own_by_cgroup && later.own_by_cgroup,
        }
    }
}

/// CPU seconds of this process and of its descendants that were waited for.
fn waited_for() -> f64 {
    let seconds = |time: TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    let used = |usage: Usage| seconds(usage.user_time()) + seconds(usage.system_time());
    [UsageWho::RUSAGE_SELF, UsageWho::RUSAGE_CHILDREN]
        .into_iter()
        .filter_map(|who| getrusage(who).ok())
        .map(used)
        .sum()
}
