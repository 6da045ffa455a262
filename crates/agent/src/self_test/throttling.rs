//! How often processors were slowed because they were too hot (`thermal_throttle` of Intel's processors).

use backsight_model::Measure;

use super::{measured, not_measured};
use crate::machine_files::MachineFiles;

/// The counters when the test begins.
pub(super) struct ThrottleCounter(Option<u64>);

impl ThrottleCounter {
    pub(super) fn begin(machine: &MachineFiles) -> Self {
        Self(events(machine))
    }

    pub(super) fn finish(self, machine: &MachineFiles) -> Measure {
        const NAME: &str = "throttling";
        match (self.0, events(machine)) {
            (Some(before), Some(after)) => {
                let events = after.saturating_sub(before);
                measured(NAME, &[("events", events as f64, "count")])
            }
            _ => not_measured(NAME, "the processor has no counters of it"),
        }
    }
}

/// Events of all cores and packages since the boot; none where nothing counts them.
fn events(machine: &MachineFiles) -> Option<u64> {
    let cpus = machine.numbered("sys/devices/system/cpu", "cpu");
    let counts = cpus.iter().flat_map(|cpu| {
        let files = ["core_throttle_count", "package_throttle_count"];
        files.map(|file| {
            let count = machine.value(format!("{cpu}/thermal_throttle/{file}"))?;
            count.parse::<u64>().ok()
        })
    });
    counts.flatten().reduce(|sum, count| sum + count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn events_of_all_cores_are_added_and_a_machine_without_counters_is_not_measured() {
        let root = tempfile::tempdir().unwrap();
        let machine = MachineFiles::new(root.path());
        let without = ThrottleCounter::begin(&machine).finish(&machine);
        assert_eq!(without.grade(), None);
        let write = |cpu: u32, file: &str, count: &str| {
            let folder = root
                .path()
                .join(format!("sys/devices/system/cpu/cpu{cpu}/thermal_throttle"));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(file), count).unwrap();
        };
        write(0, "core_throttle_count", "5\n");
        write(1, "core_throttle_count", "7\n");
        write(1, "package_throttle_count", "2\n");
        let counter = ThrottleCounter::begin(&machine);
        write(0, "core_throttle_count", "6\n");
        write(1, "package_throttle_count", "4\n");
        let measure = counter.finish(&machine);
        assert_eq!(measure, measured("throttling", &[("events", 3.0, "count")]));
    }
}
