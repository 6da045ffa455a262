//! Sides of a comparison of studies: a whole study, or what it measured of one version on one testbed.

use backsight_model::{
    Cell, CellSeries, HostName, HostRecordMap, ParamName, ResultSet, StudyHistory, Value,
};
use indexmap::IndexMap;
use std::collections::{BTreeMap, BTreeSet};

/// A study, or a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StudyPart {
    /// The study's number in the store.
    pub study: i64,
    /// What this side is called.
    pub name: String,
    /// The numbers of its trials; none where all of the study's are meant.
    pub trials: Option<BTreeSet<u32>>,
}

impl StudyPart {
    /// What the study measured, without the trials that aren't of this part.
    pub fn of_results(&self, mut set: ResultSet) -> ResultSet {
        set.name.clone_from(&self.name);
        if let Some(trials) = &self.trials {
            for series in &mut set.series {
                series.trials.retain(|it| trials.contains(&it.trial));
            }
            set.failed.retain(|(number, ..)| trials.contains(number));
        }
        set
    }
}

/// The testbeds of a target, with what the latest study measured there of each version.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MeasuredTestbeds(IndexMap<String, BTreeMap<String, StudyPart>>);

impl MeasuredTestbeds {
    /// The testbeds of these studies, each of which measured on one; what was measured on none that is known is left out.
    pub fn new(studies: &[StudyHistory]) -> Self {
        let mut studies: Vec<&StudyHistory> = studies.iter().collect();
        studies.sort_by_key(|study| study.study);
        let mut all = Self::default();
        for study in studies {
            let [testbed] = &study.testbeds[..] else {
                continue;
            };
            let parts = measured_versions(study).into_iter().map(|(at, trials)| {
                let part = StudyPart {
                    study: study.study,
                    name: testbed.name.to_string(),
                    trials: Some(trials),
                };
                (study.versions[at].id.clone(), part)
            });
            let known = all.0.entry(testbed.name.to_string()).or_default();
            known.extend(parts);
        }
        all.0.retain(|_, versions| !versions.is_empty());
        all
    }

    /// Their names, in the order in which studies first measured on them.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// What was measured of a version on a testbed of this name; none where nothing was.
    pub fn part(&self, testbed: &str, version: &str) -> Option<&StudyPart> {
        self.0.get(testbed)?.get(version)
    }

    /// The same on several testbeds; none where one of them hasn't measured it.
    pub fn parts(&self, testbeds: &[&str], version: &str) -> Option<Vec<StudyPart>> {
        let parts = testbeds
            .iter()
            .map(|name| self.part(name, version).cloned());
        parts.collect()
    }
}

/// What a study measured of each version, in the order of versions.
pub fn parts_by_version(study: &StudyHistory) -> Vec<StudyPart> {
    let part = |(at, trials): (usize, BTreeSet<u32>)| StudyPart {
        study: study.study,
        name: study.versions[at].name.clone(),
        trials: Some(trials),
    };
    measured_versions(study).into_iter().map(part).collect()
}

/// The name under which versions of a target are an axis of a matrix: no parameter is called so.
pub const VERSION_AXIS: &str = "version";

/// What a study measured of each version as one set, in which the version is a parameter of every cell. `parts` are of one study and
/// are called as their versions. None where there are none.
pub fn join_versions(parts: &[ResultSet]) -> Option<ResultSet> {
    let axis = ParamName::new(VERSION_AXIS).ok()?;
    let first = parts.first()?;
    let mut joined = ResultSet {
        name: first.study_name.to_string(),
        series: Vec::new(),
        failed: Vec::new(),
        ..first.clone()
    };
    for part in parts {
        let of_version = |cell: &Cell| {
            let mut cell = cell.clone();
            let version = Value::Text(part.name.clone());
            cell.params.shift_insert(0, axis.clone(), version);
            cell.chosen.insert(0, axis.clone());
            cell
        };
        let series = part.series.iter().map(|series| CellSeries {
            cell: of_version(&series.cell),
            ..series.clone()
        });
        joined.series.extend(series);
        let failed = part.failed.iter().map(|(trial, round, cell, failure)| {
            (*trial, *round, of_version(cell), failure.clone())
        });
        joined.failed.extend(failed);
    }
    Some(joined)
}

/// The places of the versions of which some trial gave samples, with the numbers of all of their trials.
fn measured_versions(study: &StudyHistory) -> BTreeMap<usize, BTreeSet<u32>> {
    let builds = study.builds.iter();
    let versions: BTreeMap<u32, usize> = builds.map(|it| (it.number, it.version)).collect();
    let boots = study.boots.iter();
    let boots: BTreeMap<u32, u32> = boots.map(|it| (it.number, it.build)).collect();
    let mut trials: BTreeMap<usize, (BTreeSet<u32>, bool)> = BTreeMap::new();
    for trial in &study.trials {
        let version = boots.get(&trial.boot).and_then(|it| versions.get(it));
        let Some(version) = version.filter(|at| **at < study.versions.len()) else {
            continue;
        };
        let (numbers, is_measured) = trials.entry(*version).or_default();
        numbers.insert(trial.number);
        *is_measured |= trial.failure.is_none();
    }
    let measured = trials
        .into_iter()
        .filter(|(_, (_, is_measured))| *is_measured);
    measured.map(|(at, (numbers, _))| (at, numbers)).collect()
}

/// The records of sides that were measured on other hosts than the baseline, each under the name of the host that it stands
/// beside: the hosts of a testbed have an order. Records of sides that share hosts stay as they are.
pub fn records_side_by_side(records: &[HostRecordMap]) -> Vec<HostRecordMap> {
    let Some(base) = records.first() else {
        return Vec::new();
    };
    let beside = |side: &HostRecordMap| {
        let shares = side.keys().any(|host| base.contains_key(host));
        if shares || side.len() != base.len() {
            return side.clone();
        }
        let names = base.keys().map(HostName::clone);
        names.zip(side.values().cloned()).collect()
    };
    records.iter().map(beside).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::tests::measured;
    use backsight_model::{HistoryTestbed, HostRecord};
    use std::sync::Arc;

    fn on(testbed: &str, mut study: StudyHistory) -> StudyHistory {
        study.testbeds = vec![HistoryTestbed {
            name: testbed.parse().unwrap(),
            questions: Vec::new(),
        }];
        study
    }

    #[test]
    fn a_testbed_has_of_each_version_what_was_measured_last() {
        let versions: Vec<usize> = (0..4).collect();
        let studies = [
            on("old", measured(1, &versions, &[1], 9)),
            on("new", measured(2, &versions[1..], &[1], 9)),
            on("old", measured(3, &versions[2..3], &[1], 9)),
            measured(4, &versions, &[1], 9),
        ];
        let testbeds = MeasuredTestbeds::new(&studies);
        let names: Vec<&str> = testbeds.names().collect();
        assert_eq!(names, ["old", "new"]);
        let id = |at: usize| studies[0].versions[at].id.as_str();
        let study = |testbed, at| testbeds.part(testbed, id(at)).map(|part| part.study);
        assert_eq!([study("old", 0), study("old", 2)], [Some(1), Some(3)]);
        assert_eq!([study("new", 0), study("new", 3)], [None, Some(2)]);
        assert_eq!(testbeds.parts(&["old", "new"], id(0)), None);
        let parts = testbeds.parts(&["old", "new"], id(1)).unwrap();
        let boots: BTreeMap<u32, u32> = (studies[1].boots.iter())
            .map(|boot| (boot.number, boot.build))
            .collect();
        let of_version = |trial: u32| {
            let trial = studies[1].trials.iter().find(|it| it.number == trial);
            let build = boots[&trial.unwrap().boot];
            let build = studies[1].builds.iter().find(|it| it.number == build);
            studies[1].versions[build.unwrap().version].id.clone()
        };
        let trials = parts[1].trials.as_ref().unwrap();
        assert!(!trials.is_empty() && trials.iter().all(|trial| of_version(*trial) == id(1)));
    }

    #[test]
    fn hosts_of_other_testbeds_stand_beside_those_of_the_first() {
        let records = |host: &str, model: &str| -> HostRecordMap {
            let record = HostRecord::from_iter([("cpu", "model", model)]);
            IndexMap::from([(host.parse().unwrap(), Arc::new(record))])
        };
        let sides = [
            records("a", "one"),
            records("b", "two"),
            records("a", "three"),
        ];
        let beside = records_side_by_side(&sides);
        assert!(
            beside
                .iter()
                .all(|side| side.keys().all(|host| host.as_str() == "a"))
        );
        let found = backsight_model::differences_of_hosts(&beside[0], &beside[1]);
        assert_eq!(found[0].0.new.as_deref(), Some("two"));
    }
}
