//! What the hosts of a testbed were otherwise on the two sides of a change: where no study measured both, the change may be theirs.

use backsight_model::{EXPLAINING_WEIGHT, HostRecordMap, differences_of_hosts};
use std::collections::{BTreeSet, HashMap};

use super::{ChangePoint, TargetHistory, VersionPoint, VersionSeries};

impl TargetHistory {
    /// Notes what the hosts were otherwise on the two sides of each change, by the records of studies.
    pub fn tell_of_hosts(&mut self, records: &HashMap<i64, HostRecordMap>) {
        for series in &mut self.series {
            let told: Vec<_> = series
                .found
                .changes
                .iter()
                .map(|change| {
                    let (before, after) = studies_around(series, change)?;
                    let differences =
                        differences_of_hosts(records.get(&before)?, records.get(&after)?);
                    let differences = differences.into_iter().map(|(difference, _)| difference);
                    Some(
                        differences
                            .filter(|it| it.weight >= EXPLAINING_WEIGHT)
                            .collect(),
                    )
                })
                .collect();
            for (change, hosts) in series.found.changes.iter_mut().zip(told) {
                change.hosts = hosts.unwrap_or_default();
            }
        }
    }
}

/// The last study that measured what lies before a change, and the first one that measured what lies after it; none where some
/// study measured both.
fn studies_around(series: &VersionSeries, change: &ChangePoint) -> Option<(i64, i64)> {
    let valued = || series.points.iter().filter(|point| point.value.is_some());
    let before = valued().rfind(|point| point.version < change.at)?;
    let after = valued().find(|point| point.version >= change.at)?;
    let (before, after) = (studies_of(before), studies_of(after));
    match before.is_disjoint(&after) {
        true => Some((*before.last()?, *after.first()?)),
        false => None,
    }
}

fn studies_of(point: &VersionPoint) -> BTreeSet<i64> {
    let boots = point.builds.iter().flat_map(|build| &build.boots);
    let trials = boots.flat_map(|boot| &boot.trials);
    let measured = trials.filter(|trial| !trial.values.is_empty());
    measured.map(|trial| trial.study).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{history, tests::measured};
    use super::*;
    use backsight_model::HostRecord;
    use indexmap::IndexMap;
    use std::sync::Arc;

    fn records(governor: &str) -> HostRecordMap {
        let record = HostRecord::from_iter([
            ("cpu", "cpufreq.scaling_governor", governor),
            ("cpu", "model", "a processor"),
        ]);
        IndexMap::from([("dut".parse().unwrap(), Arc::new(record))])
    }

    fn range(from: usize, to: usize) -> Vec<usize> {
        (from..to).collect()
    }

    #[test]
    fn a_change_between_two_studies_says_what_the_machine_was_otherwise() {
        let studies = [
            measured(1, &range(0, 25), &[1, 2], 25),
            measured(2, &range(25, 40), &[1, 2], 25),
        ];
        let mut history = history(&studies);
        let of = |second: &str| HashMap::from([(1, records("powersave")), (2, records(second))]);
        history.tell_of_hosts(&of("performance"));
        let [change] = &history.series[0].found.changes[..] else {
            panic!("one change");
        };
        let names: Vec<&str> = change.hosts.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["cpu.cpufreq.scaling_governor"]);
        history.tell_of_hosts(&of("powersave"));
        assert_eq!(history.series[0].found.changes[0].hosts, []);
    }

    #[test]
    fn where_one_study_measured_both_sides_the_machine_explains_nothing() {
        let studies = [
            measured(1, &range(0, 40), &[1, 2], 25),
            measured(2, &range(20, 30), &[3], 25),
        ];
        let mut history = history(&studies);
        history.tell_of_hosts(&HashMap::from([
            (1, records("powersave")),
            (2, records("performance")),
        ]));
        assert_eq!(history.series[0].found.changes[0].hosts, []);
    }
}
