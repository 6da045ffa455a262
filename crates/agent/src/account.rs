//! CPU time, of the machine and of ourselves, between two instants.

use std::fs;
use std::time::Duration;

use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeVal;
use nix::unistd::{SysconfVar, sysconf};

use crate::cgroup::Cgroup;
use crate::clocks;
use crate::step::CpuAccount;

/// The counters at one instant.
pub(crate) struct CpuCounters {
    monotonic_ns: u64,
    machine: Machine,
    own: f64,
    own_by_cgroup: bool,
}

/// CPU seconds of the whole machine since its boot, as in the first line of `/proc/stat`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Machine {
    user: f64,
    system: f64,
    interrupts: f64,
    steal: f64,
    idle: f64,
}

/// Reads the counters.
pub(crate) fn read(cgroup: Option<&Cgroup>) -> CpuCounters {
    let counted = cgroup.and_then(Cgroup::cpu_seconds);
    let ticks = sysconf(SysconfVar::CLK_TCK).ok().flatten().unwrap_or(100) as f64;
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    CpuCounters {
        monotonic_ns: clocks::monotonic_ns(),
        machine: machine(&stat, ticks).unwrap_or_default(),
        own: counted.unwrap_or_else(waited_for),
        own_by_cgroup: counted.is_some(),
    }
}

impl CpuCounters {
    /// What was used between this reading and a later one.
    pub(crate) fn until(&self, later: &Self) -> CpuAccount {
        let since =
            |field: fn(&Machine) -> f64| (field(&later.machine) - field(&self.machine)).max(0.0);
        CpuAccount {
            wall: Duration::from_nanos(later.monotonic_ns - self.monotonic_ns).as_secs_f64(),
            cpus: machine_cpus(),
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

fn machine_cpus() -> u32 {
    let online = sysconf(SysconfVar::_NPROCESSORS_ONLN)
        .ok()
        .flatten()
        .unwrap_or(1);
    u32::try_from(online).unwrap_or(1)
}

/// The line `cpu user nice system idle iowait irq softirq steal guest guest_nice` (proc_stat(5)); what guests used is
/// in `user` and `nice` already.
fn machine(stat: &str, ticks: f64) -> Option<Machine> {
    let fields: Vec<f64> = stat
        .lines()
        .next()?
        .strip_prefix("cpu ")?
        .split_ascii_whitespace()
        .map_while(|n| n.parse().ok())
        .collect();
    let seconds = |n: usize| fields.get(n).map_or(0.0, |count| count / ticks);
    Some(Machine {
        user: seconds(0) + seconds(1),
        system: seconds(2),
        idle: seconds(3) + seconds(4),
        interrupts: seconds(5) + seconds(6),
        steal: seconds(7),
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_of_stat_is_read_in_seconds() {
        let read = machine("cpu  100 50 30 1000 200 3 7 5 40 0\ncpu0 1 1 1 1\n", 100.0).unwrap();
        assert_eq!(
            read,
            Machine {
                user: 1.5,
                system: 0.3,
                interrupts: 0.1,
                steal: 0.05,
                idle: 12.0
            }
        );
    }

    #[test]
    fn an_old_kernel_without_steal_is_read_too() {
        assert_eq!(machine("cpu  100 0 0 100\n", 100.0).unwrap().steal, 0.0);
    }
}
