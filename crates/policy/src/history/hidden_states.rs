//! Hidden states: boots (or trials) of the same versions that are in one of two modes, and what of their hosts goes with the mode.
//!
//! Each value is taken relative to the level of its version, or of the stretch between two changes where versions have few, so that
//! versions may differ: the level of the higher state, since a mean moves with the states' shares.

use backsight_model::{HostRecord, HostRecordMap, StudyHistory};
use backsight_stats::{FactValues, Samples, dithered, strongest_association, two_modes};
use rayon::iter::{IntoParallelRefMutIterator as _, ParallelIterator as _};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, LazyLock},
};

use super::{BootSamples, TargetHistory, VersionPoint, VersionSeries};

/// Modes of one series among many may be chance: p is multiplied by the number of series, and may be at most so much.
const MAX_P: f64 = 0.05;

/// What goes with the modes is named when chance does it as well in at most one of a hundred.
const MAX_CAUSE_P: f64 = 0.01;

/// Fewer values have no level of their own.
const MIN_OF_VERSION: usize = 3;

/// What a state is kept by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StateHolder {
    /// A boot is in one state, from its beginning to its end.
    Boot,
    /// A trial is; others of the same boot may be in the other one.
    Trial,
}

/// Two states of a series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HiddenStates {
    /// What is in one of them.
    pub holder: StateHolder,
    /// How many boots or trials there are.
    pub of: usize,
    /// Share of those that are in the state with higher values, from 0 to 1.
    pub high_share: f64,
    /// By how many percent the higher state's mean is above the lower one's.
    pub percent: f64,
    /// The probability that one state alone gives such values.
    pub p: f64,
    /// What goes with them best; none where nothing that is known does.
    pub cause: Option<StateCause>,
}

/// A fact that goes with two states.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StateCause {
    /// The fact: `dut: cpu.model`, or the share of the processors that others took.
    pub fact: String,
    /// What it mostly is in the lower state.
    pub low: String,
    /// And in the higher one.
    pub high: String,
    /// In how many boots or trials it goes with the state.
    pub agree: usize,
    /// Of how many of which it is known.
    pub of: usize,
    /// The probability that chance does it as well, over all facts that were tried.
    pub p: f64,
}

/// What is known of these trials of one boot.
type CircumstancesOf<'a> = &'a (dyn Fn(&[TrialKey]) -> Circumstances + Sync);

/// Where a trial was measured: its study and its number there.
type TrialKey = (i64, u32);

/// A value of a boot or a trial, with the trials that gave it.
type HeldValue = (f64, Vec<TrialKey>);

/// What is known of a boot or a trial besides its value.
#[derive(Default)]
struct Circumstances {
    facts: BTreeMap<String, String>,
    neighbours: Option<f64>,
}

impl TargetHistory {
    /// Looks for two states in each series, and for what of the hosts goes with them: by the facts of boots, the records of the
    /// studies' hosts, and the share of the processors that others took.
    pub fn look_for_states(
        &mut self,
        studies: &[StudyHistory],
        records: &HashMap<i64, HostRecordMap>,
    ) {
        // Most histories have one state, and need none of it.
        let known = LazyLock::new(|| KnownTrials::new(studies, records));
        let circumstances = |trials: &[TrialKey]| known.circumstances(trials);
        let count = self.series.len();
        self.series.par_iter_mut().for_each(|series| {
            series.states = states_of(series, &circumstances, count);
        });
    }
}

fn states_of(
    series: &VersionSeries,
    circumstances: CircumstancesOf<'_>,
    count: usize,
) -> Option<HiddenStates> {
    if series.metric.simulator.is_some() || series.found.trend.is_some() {
        return None;
    }
    [StateHolder::Boot, StateHolder::Trial]
        .into_iter()
        .find_map(|holder| {
            let held = relative_values(series, holder);
            two_states(&held, circumstances, holder, count)
        })
}

fn two_states(
    held: &[HeldValue],
    circumstances: CircumstancesOf<'_>,
    holder: StateHolder,
    series: usize,
) -> Option<HiddenStates> {
    let values = held.iter().map(|(value, _)| *value).collect();
    let modes = two_modes(&Samples::new(values).ok()?)?;
    // Modes that are named for a wide gap have a large p, which isn't theirs.
    if modes.p < MAX_P && modes.p * series as f64 > MAX_P {
        return None;
    }
    let groups: Vec<bool> = held.iter().map(|(value, _)| *value > modes.gap).collect();
    let trials = held.iter().map(|(_, trials)| circumstances(trials));
    Some(HiddenStates {
        holder,
        of: held.len(),
        high_share: modes.high_share,
        percent: (modes.high / modes.low - 1.0) * 100.0,
        p: modes.p,
        cause: cause(&trials.collect::<Vec<_>>(), &groups),
    })
}

fn cause(observations: &[Circumstances], groups: &[bool]) -> Option<StateCause> {
    const NEIGHBOURS: &str = "the share of the processors that other programs took";
    let names: BTreeSet<&String> = observations.iter().flat_map(|it| it.facts.keys()).collect();
    let of_name = |name: &&String| {
        let words = observations.iter().map(|it| it.facts.get(*name).cloned());
        FactValues::Words(words.collect())
    };
    let mut facts: Vec<FactValues> = names.iter().map(of_name).collect();
    let neighbours = observations.iter().map(|it| it.neighbours);
    facts.push(FactValues::Numbers(neighbours.collect()));
    let found = strongest_association(groups, &facts).filter(|it| it.p <= MAX_CAUSE_P)?;
    let [low, high] = found.sides;
    let mut names = names.into_iter().cloned();
    Some(StateCause {
        fact: names.nth(found.fact).unwrap_or_else(|| NEIGHBOURS.into()),
        low,
        high,
        agree: found.agree,
        of: found.of,
        p: found.p,
    })
}

/// The values of a series' boots or trials, relative to the levels of their versions or stretches.
fn relative_values(series: &VersionSeries, holder: StateHolder) -> Vec<HeldValue> {
    let of_version = |point: &VersionPoint| {
        let boots = point.builds.iter().flat_map(|build| &build.boots);
        let of_boot = |boot: &BootSamples| -> Vec<HeldValue> {
            let measured = boot.trials.iter().filter(|trial| !trial.values.is_empty());
            let values = measured.map(|trial| {
                let key = (trial.study, trial.trial);
                (mean(&trial.values), vec![key])
            });
            match holder {
                StateHolder::Trial => values.collect(),
                StateHolder::Boot => {
                    let (means, keys): (Vec<f64>, Vec<_>) = values.unzip();
                    let boot = (!means.is_empty()).then(|| (mean(&means), keys.concat()));
                    boot.into_iter().collect()
                }
            }
        };
        boots.flat_map(of_boot).collect::<Vec<_>>()
    };
    let versions: Vec<(usize, Vec<_>)> = series
        .points
        .iter()
        .map(|point| (point.version, of_version(point)))
        .collect();
    // Where a version has enough of its own, its level needs no other one: states may look like changes.
    let changes: Vec<usize> = series.believed().map(|change| change.at).collect();
    let repeated = versions
        .iter()
        .filter(|(_, values)| values.len() >= MIN_OF_VERSION);
    let alone = 2 * repeated.count() > versions.len();
    let mut stretches: BTreeMap<usize, Vec<_>> = BTreeMap::new();
    for (version, values) in versions {
        let stretch = match alone {
            true => version,
            false => changes.partition_point(|at| *at <= version),
        };
        stretches.entry(stretch).or_default().extend(values);
    }
    // All versions have one scale, their levels have none.
    let raw: Vec<f64> = stretches
        .values()
        .flatten()
        .map(|(value, _)| *value)
        .collect();
    let held = stretches.values_mut().flatten();
    for ((value, _), spread) in held.zip(dithered(&raw)) {
        *value = spread;
    }
    let mut all = Vec::new();
    for values in stretches.into_values() {
        if values.len() < MIN_OF_VERSION {
            continue;
        }
        let level = level(values.iter().map(|(value, _)| *value).collect());
        if level > 0.0 {
            let values = values.into_iter();
            all.extend(values.map(|(value, trials)| (value / level, trials)));
        }
    }
    all
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The level of a stretch: that of its higher state, where there are two, whose shares differ from stretch to stretch.
fn level(mut values: Vec<f64>) -> f64 {
    /// A rarer state isn't one, but a few values that are off.
    const MIN_SHARE: usize = 7;
    values.sort_by(f64::total_cmp);
    let middle = f64::midpoint(values[0], values[values.len() - 1]);
    let high = &values[values.partition_point(|value| *value < middle)..];
    match high.len() >= 2 && high.len() * MIN_SHARE >= values.len() {
        true => high[high.len() / 2],
        false => values[values.len() / 2],
    }
}

/// What is known of the trials of studies.
struct KnownTrials<'a> {
    studies: HashMap<i64, &'a StudyHistory>,
    /// By study: the facts of its hosts that not all studies share.
    records: HashMap<i64, BTreeMap<String, String>>,
}

impl<'a> KnownTrials<'a> {
    fn new<'r>(studies: &'a [StudyHistory], records: &'r HashMap<i64, HostRecordMap>) -> Self {
        // Studies share records that are alike: each is looked through once.
        let mut looked_through: HashMap<*const HostRecord, Vec<(String, &str)>> = HashMap::new();
        let mut values = |hosts: &'r HostRecordMap| -> BTreeMap<String, String> {
            let mut named = BTreeMap::new();
            for (host, record) in hosts {
                let told = looked_through.entry(Arc::as_ptr(record));
                let told = told.or_insert_with(|| record.explaining_values().collect());
                let told = told.iter();
                named.extend(
                    told.map(|(name, value)| (format!("{host}: {name}"), (*value).to_owned())),
                );
            }
            named
        };
        let mut records: HashMap<i64, BTreeMap<String, String>> = records
            .iter()
            .map(|(study, hosts)| (*study, values(hosts)))
            .collect();
        let mut seen: HashMap<String, BTreeSet<String>> = HashMap::new();
        for (name, value) in records.values().flatten() {
            seen.entry(name.clone()).or_default().insert(value.clone());
        }
        for values in records.values_mut() {
            values.retain(|name, _| seen[name].len() > 1);
        }
        Self {
            studies: studies.iter().map(|study| (study.study, study)).collect(),
            records,
        }
    }

    /// What is known of what was measured in these trials of one boot.
    fn circumstances(&self, trials: &[TrialKey]) -> Circumstances {
        let mut known = Circumstances::default();
        let Some((study, first)) = trials.first() else {
            return known;
        };
        let Some(history) = self.studies.get(study) else {
            return known;
        };
        known.facts.extend(
            self.records
                .get(study)
                .into_iter()
                .flatten()
                .map(|(name, value)| (name.clone(), value.clone())),
        );
        let trial = |number: &u32| {
            let found = history.trials.binary_search_by_key(number, |it| it.number);
            found.ok().map(|at| &history.trials[at])
        };
        let boot = trial(first).and_then(|trial| {
            let boots = &history.boots;
            let found = boots.binary_search_by_key(&trial.boot, |boot| boot.number);
            found.ok().map(|at| &boots[at])
        });
        for (name, value) in boot.into_iter().flat_map(|boot| &boot.facts) {
            let of_build = [
                "proof",
                "boot_id",
                "hostname",
                "kernel.version",
                "kernel.release",
            ];
            if !of_build.iter().any(|it| name.ends_with(it)) {
                known.facts.insert(name.clone(), value.clone());
            }
        }
        let shares = trials.iter().filter(|(of, _)| of == study);
        let shares = shares.filter_map(|(_, number)| Some(trial(number)?.neighbours));
        let shares: Vec<f64> = shares.filter(|share| share.is_finite()).collect();
        if !shares.is_empty() {
            known.neighbours = Some(shares.iter().sum::<f64>() / shares.len() as f64);
        }
        known
    }
}

#[cfg(test)]
mod tests {
    use super::super::{
        history,
        tests::{measured, noise},
    };
    use super::*;
    use backsight_stats::Random;

    /// Ten versions of three boots; every third boot is in the slow state.
    fn two_state_study() -> StudyHistory {
        let versions: Vec<usize> = (0..10).collect();
        let mut study = measured(1, &versions, &[1, 2, 3], 5);
        let slow: BTreeSet<u32> = study
            .boots
            .iter()
            .map(|boot| boot.number)
            .filter(|number| noise(*number as usize) < -0.3)
            .collect();
        for trial in &mut study.trials {
            if slow.contains(&trial.boot) {
                trial.samples[0][0] *= 0.6;
            }
        }
        for boot in &mut study.boots {
            let speed = if slow.contains(&boot.number) {
                "1000"
            } else {
                "2500"
            };
            boot.facts.insert("dut: link.speed".into(), speed.into());
            boot.facts
                .insert("dut: boot_id".into(), boot.number.to_string());
        }
        study
    }

    fn states(study: StudyHistory) -> Option<HiddenStates> {
        let studies = [study];
        let mut history = history(&studies);
        history.look_for_states(&studies, &HashMap::new());
        history.series[0].states.clone()
    }

    #[test]
    fn two_states_of_boots_are_found_with_what_goes_with_them() {
        let states = states(two_state_study()).unwrap();
        assert_eq!((states.holder, states.of), (StateHolder::Boot, 30));
        assert!((states.percent - 66.7).abs() < 5.0, "{states:?}");
        assert!((0.4..0.9).contains(&states.high_share), "{states:?}");
        let cause = states.cause.unwrap();
        assert_eq!(cause.fact, "dut: link.speed");
        assert_eq!((cause.low.as_str(), cause.high.as_str()), ("1000", "2500"));
        assert_eq!((cause.agree, cause.of), (30, 30));
        assert!(cause.p < 1e-4, "{cause:?}");
    }

    #[test]
    fn states_that_nothing_goes_with_are_said_without_a_cause() {
        let mut study = two_state_study();
        for boot in &mut study.boots {
            boot.facts.clear();
        }
        assert_eq!(states(study).unwrap().cause, None);
    }

    #[test]
    fn noise_of_one_state_is_seldom_called_two() {
        let mut random = Random::seeded(3);
        let mut called = 0;
        for boots in [&[1_u32, 2, 3, 4][..], &[1, 2]] {
            for _ in 0..50 {
                let versions: Vec<usize> = (0..10).collect();
                let mut study = measured(1, &versions, boots, 5);
                for trial in &mut study.trials {
                    trial.samples[0][0] *= 1.0 + 0.05 * random.normal();
                }
                called += usize::from(states(study).is_some());
            }
        }
        assert!(called <= 3, "{called} of 100");
    }

    #[test]
    fn a_version_that_failed_is_passed_over() {
        let mut study = two_state_study();
        for trial in study.trials.iter_mut().take(9) {
            trial.samples = vec![Vec::new()];
        }
        assert_eq!(states(study).unwrap().of, 27);
    }

    #[test]
    fn a_step_of_versions_is_no_state() {
        let versions: Vec<usize> = (0..20).collect();
        assert_eq!(states(measured(1, &versions, &[1, 2], 12)), None);
    }

    #[test]
    fn trials_beside_a_busy_neighbour_are_a_state_of_trials() {
        let versions: Vec<usize> = (0..10).collect();
        let mut study = measured(1, &versions, &[1, 2], 99);
        for trial in &mut study.trials {
            let busy = trial.number % 3 == 0;
            trial.neighbours = if busy { 0.5 } else { 0.01 };
            if busy {
                trial.samples[0][0] *= 0.7;
            }
        }
        let states = states(study).unwrap();
        assert_eq!((states.holder, states.of), (StateHolder::Trial, 60));
        let cause = states.cause.unwrap();
        assert!(cause.fact.contains("other programs"), "{cause:?}");
        assert!(
            cause.low.starts_with("above") && cause.agree == 60,
            "{cause:?}"
        );
    }
}
