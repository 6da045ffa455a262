//! What the hosts of a testbed were otherwise on the two sides of a change: where no study measured both, the change may be theirs. And
//! which compilers made the builds on both sides.

use backsight_model::{EXPLAINING_WEIGHT, HostRecordMap, RecordDifference, differences_of_hosts};
use std::collections::{BTreeSet, HashMap};

use super::{ChangePoint, TargetHistory, VersionPoint};

impl TargetHistory {
    /// Notes where the builds on the two sides of a change were made by other compilers.
    pub(super) fn tell_of_compilers(&mut self) {
        for series in &mut self.series {
            let told: Vec<Option<RecordDifference>> = series
                .found
                .changes
                .iter()
                .map(|change| {
                    let (before, after) = points_around(&series.points, change)?;
                    let of = |point: &VersionPoint| &self.versions[point.version].compilers;
                    let differ = of(before) != of(after);
                    let are_known = !of(before).is_empty() && !of(after).is_empty();
                    (differ && are_known).then(|| other_compilers(of(before), of(after)))
                })
                .collect();
            for (change, told) in series.found.changes.iter_mut().zip(told) {
                change.compilers = told;
            }
        }
    }

    /// Notes which studies measured the two sides of each change, where none measured both.
    pub(super) fn tell_of_studies(&mut self) {
        for series in &mut self.series {
            let changes = series.found.changes.iter();
            let around: Vec<_> = changes
                .map(|change| studies_around(&series.points, change))
                .collect();
            for (change, studies) in series.found.changes.iter_mut().zip(around) {
                change.studies = studies;
            }
        }
    }

    /// Notes what the hosts were otherwise on the two sides of each change, by the records of studies.
    pub fn tell_of_hosts(&mut self, records: &HashMap<i64, HostRecordMap>) {
        let told = |(before, after): (i64, i64)| -> Option<Vec<RecordDifference>> {
            let differences = differences_of_hosts(records.get(&before)?, records.get(&after)?);
            let differences = differences.into_iter().map(|(difference, _)| difference);
            let weighty = differences.filter(|it| it.weight >= EXPLAINING_WEIGHT);
            Some(weighty.collect())
        };
        let series = self.series.iter_mut();
        for change in series.flat_map(|series| &mut series.found.changes) {
            change.hosts = change.studies.and_then(told).unwrap_or_default();
        }
    }
}

/// The last study that measured what lies before a change, and the first one that measured what lies after it; none where some
/// study measured both.
fn studies_around(points: &[VersionPoint], change: &ChangePoint) -> Option<(i64, i64)> {
    let (before, after) = points_around(points, change)?;
    let (before, after) = (studies_of(before), studies_of(after));
    match before.is_disjoint(&after) {
        true => Some((*before.last()?, *after.first()?)),
        false => None,
    }
}

/// The last version with a value before a change, and the first one after it.
fn points_around<'a>(
    points: &'a [VersionPoint],
    change: &ChangePoint,
) -> Option<(&'a VersionPoint, &'a VersionPoint)> {
    let valued = || points.iter().filter(|point| point.value.is_some());
    let before = valued().rfind(|point| point.version < change.at)?;
    let after = valued().find(|point| point.version >= change.at)?;
    Some((before, after))
}

/// The difference of two builds' compilers.
fn other_compilers(base: &BTreeSet<String>, new: &BTreeSet<String>) -> RecordDifference {
    let joined = |names: &BTreeSet<String>| {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        Some(names.join(", "))
    };
    RecordDifference {
        name: "build.compiler".to_owned(),
        base: joined(base),
        new: joined(new),
        weight: 95,
        reason: Some("another compiler makes other code of the same source"),
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
    use backsight_model::{HostRecord, StudyHistory};
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
    fn a_change_between_builds_of_two_compilers_says_so() {
        let mut study = measured(1, &range(0, 40), &[1, 2], 25);
        let changes = |study: &StudyHistory| {
            let history = history(std::slice::from_ref(study));
            let [change] = &history.series[0].found.changes[..] else {
                panic!("one change");
            };
            change.compilers.clone()
        };
        assert_eq!(changes(&study), None);
        for build in &mut study.builds {
            let version = if build.version < 25 { 12 } else { 13 };
            build.compilers = vec![format!("GCC: {version}")];
        }
        let told = changes(&study).unwrap();
        assert_eq!(told.to_string(), "build.compiler was GCC: 12, is GCC: 13");
        for build in &mut study.builds {
            build.compilers = vec!["GCC: 13".to_owned()];
        }
        assert_eq!(changes(&study), None);
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
