//! Steal: time that the hypervisor gave to others while this machine had work (`/proc/stat`).

use std::time::Instant;

use backsight_model::Measure;
use nix::unistd::{SysconfVar, sysconf};

use super::{measured, not_measured};
use crate::machine_files::MachineFiles;

/// The counters when the test begins.
pub(super) struct StealCounter {
    begun: Instant,
    ticks: Option<u64>,
}

impl StealCounter {
    pub(super) fn begin(machine: &MachineFiles) -> Self {
        Self {
            begun: Instant::now(),
            ticks: stolen(&machine.text("proc/stat").unwrap_or_default()).map(|(ticks, _)| ticks),
        }
    }

    pub(super) fn finish(self, machine: &MachineFiles) -> Measure {
        let stat = machine.text("proc/stat").unwrap_or_default();
        let is_guest = machine
            .text("proc/cpuinfo")
            .is_some_and(|text| text.contains("hypervisor"));
        let hertz = sysconf(SysconfVar::CLK_TCK).ok().flatten().unwrap_or(100);
        let seconds = self.begun.elapsed().as_secs_f64();
        outcome(self.ticks, stolen(&stat), is_guest, hertz as f64 * seconds)
    }
}

/// Ticks that were stolen from all CPUs since the boot, and the number of CPUs.
fn stolen(stat: &str) -> Option<(u64, usize)> {
    let fields = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks = fields.split_ascii_whitespace().nth(7)?.parse().ok()?;
    let is_cpu = |line: &&str| {
        let number = line
            .strip_prefix("cpu")
            .and_then(|rest| rest.bytes().next());
        number.is_some_and(|byte| byte.is_ascii_digit())
    };
    Some((ticks, stat.lines().filter(is_cpu).count()))
}

fn outcome(
    before: Option<u64>,
    after: Option<(u64, usize)>,
    is_guest: bool,
    ticks_of_cpu: f64,
) -> Measure {
    const NAME: &str = "steal";
    match (before, after) {
        (Some(_), Some((0, _))) if is_guest => {
            not_measured(NAME, "the hypervisor has reported none since the boot")
        }
        (Some(before), Some((after, cpus))) if is_guest => {
            let stolen = after.saturating_sub(before) as f64;
            let share = stolen / (ticks_of_cpu * cpus.max(1) as f64);
            measured(NAME, &[("share", share, "ratio")])
        }
        (_, Some(_)) if !is_guest => not_measured(NAME, "this machine has no hypervisor"),
        _ => not_measured(NAME, "the kernel doesn't count it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "cpu  100 0 30 1000 20 3 7 55 0 0\ncpu0 50 0 1 1 1 1 1 25 0 0\ncpu1 50 0 1 1 1 1 1 30 0 0\nintr 5\n";

    #[test]
    fn steal_is_a_share_of_the_time_of_all_cpus() {
        assert_eq!(stolen(STAT), Some((55, 2)));
        let measure = outcome(Some(35), stolen(STAT), true, 1000.0);
        assert_eq!(measure, measured("steal", &[("share", 0.01, "ratio")]));
    }

    #[test]
    fn where_nobody_counts_it_nothing_is_measured() {
        for (before, after, is_guest) in [
            (Some(0), Some((0, 2)), true),
            (Some(0), Some((0, 2)), false),
            (None, None, true),
        ] {
            let measure = outcome(before, after, is_guest, 1.0);
            assert_eq!(measure.grade(), None, "{measure:?}");
        }
    }
}
