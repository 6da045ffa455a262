//! Measurements of one series at one version: samples in trials in boots in builds, and their spread at each level.
//!
//! Trials of one boot never count as boots, and a level that wasn't repeated has no spread.

use backsight_model::Layout;
use backsight_stats::{
    Confidence, Interval, Level, NestedSample, NestedSamples, Samples, changes::version_value,
    mean_interval,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A series at one version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VersionPoint {
    /// The version's place in [`TargetHistory::versions`](super::TargetHistory::versions).
    pub version: usize,
    /// Its builds, by layout; none in a history that was made of [`HistoryFindings`](super::HistoryFindings), which have no samples.
    #[serde(skip)]
    pub builds: Vec<BuildSamples>,
    /// The mean of the means of the highest level that was repeated, without the tenth furthest out on either side
    /// where there are ten or more; none if no trial gave a sample.
    pub value: Option<f64>,
    /// The highest level that was repeated; none if no trial gave a sample.
    pub level: Option<Level>,
    /// The 95 % interval of the value, from the spread of the highest level that was repeated, or of the sessions of other
    /// versions of the series where that is known and wider; none if no run was repeated, or if there is no spread.
    /// Iterations within a run are no repeats of it.
    pub interval: Option<Interval>,
    /// Whether what was repeated at that level is all alike.
    pub alike: bool,
    /// The spread of trials of one boot.
    pub again: Option<LevelSpread>,
    /// The spread of boots of one build.
    pub reboot: Option<LevelSpread>,
    /// The spread of layouts.
    pub relink: Option<LevelSpread>,
    /// Whether its trials spread more than four times as much as those of half of the series' versions.
    pub unstable: bool,
    /// The level of the reference beside its trials, as a ratio to its first one; none where none was measured beside.
    pub drift: Option<f64>,
    /// How many of what there are.
    pub counts: RepeatCounts,
}

/// How many of what there are behind a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RepeatCounts {
    /// Layouts with a trial that gave samples.
    pub layouts: usize,
    /// Builds, likewise.
    pub builds: usize,
    /// Boots, likewise.
    pub boots: usize,
    /// Sessions, likewise: what one study measured on one boot.
    pub sessions: usize,
    /// Trials that gave samples.
    pub trials: usize,
    /// Samples.
    pub samples: usize,
    /// Trials that failed or gave no sample of this metric.
    pub failed: usize,
}

/// The standard deviation at one level, in the metric's unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LevelSpread {
    /// Pooled over the groups of the level.
    pub deviation: f64,
    /// Its degrees of freedom.
    pub freedom: usize,
}

/// What was measured on one build.
#[derive(Debug, Clone, PartialEq)]
pub struct BuildSamples {
    /// Its layout.
    pub layout: Layout,
    /// What identifies its content.
    pub key: String,
    /// Its boots, by ordinal.
    pub boots: Vec<BootSamples>,
}

/// What was measured on one boot.
#[derive(Debug, Clone, PartialEq)]
pub struct BootSamples {
    /// Which start of the build it is, from 1, over all studies.
    pub ordinal: u32,
    /// Its trials, in the order of studies and numbers.
    pub trials: Vec<TrialValues>,
}

/// What one trial gave.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialValues {
    /// The study's number in the store.
    pub study: i64,
    /// The trial's number in the study.
    pub trial: u32,
    /// Its samples; none if it failed or printed none.
    pub values: Vec<f64>,
}

/// Trials of one version as they are found, in any order.
#[derive(Debug, Default)]
pub(super) struct Draft<'a> {
    /// By layout and content: the boots by ordinal.
    builds: BTreeMap<(Layout, &'a str), BTreeMap<u32, Trials>>,
}

/// By study and number: the samples.
type Trials = BTreeMap<(i64, u32), Vec<f64>>;

impl<'a> Draft<'a> {
    /// Adds a trial. What is no number is no sample.
    pub fn add(
        &mut self,
        build: (Layout, &'a str),
        ordinal: u32,
        trial: (i64, u32),
        values: &[f64],
    ) {
        let boots = self.builds.entry(build).or_default();
        let values = values.iter().copied().filter(|value| value.is_finite());
        boots
            .entry(ordinal)
            .or_default()
            .insert(trial, values.collect());
    }

    pub fn point(self, version: usize) -> VersionPoint {
        VersionPoint::new(version, self.builds())
    }

    pub fn builds(self) -> Vec<BuildSamples> {
        let builds = self.builds.into_iter().map(|((layout, key), boots)| {
            let boots = boots.into_iter().map(|(ordinal, trials)| BootSamples {
                ordinal,
                trials: trials
                    .into_iter()
                    .map(|((study, trial), values)| TrialValues {
                        study,
                        trial,
                        values,
                    })
                    .collect(),
            });
            BuildSamples {
                layout,
                key: key.to_owned(),
                boots: boots.collect(),
            }
        });
        builds.collect()
    }
}

impl VersionPoint {
    fn new(version: usize, builds: Vec<BuildSamples>) -> Self {
        let counts = counts(&builds);
        let mut point = Self {
            version,
            builds,
            value: None,
            level: None,
            interval: None,
            alike: false,
            again: None,
            reboot: None,
            relink: None,
            unstable: false,
            drift: None,
            counts,
        };
        if let Some(side) = point.side() {
            let units = side.units();
            point.level = Some(units.level);
            point.alike = units.means.len() > 1 && units.means.iter().all(|x| *x == units.means[0]);
            // Units are means of finite samples; the only fault could be an overflow.
            if let Ok(units) = Samples::new(units.means) {
                let value = version_value(&units);
                point.value = Some(value);
                let interval = mean_interval(&units, Confidence::USUAL).ok();
                let reach = interval.map_or(0.0, |interval| interval.width() / 2.0);
                let is_of_runs = point.level.is_some_and(|level| level > Level::Sample);
                point.interval = (is_of_runs && reach > 0.0 && !point.alike).then_some(Interval {
                    low: value - reach,
                    high: value + reach,
                });
            }
        }
        let boots = || point.builds.iter().flat_map(|build| &build.boots);
        point.again = LevelSpread::within(boots().map(BootSamples::means));
        point.reboot = LevelSpread::within(point.builds.iter().map(BuildSamples::means));
        let layouts: Vec<f64> = point.builds.iter().filter_map(BuildSamples::mean).collect();
        point.relink = (counts.layouts > 1)
            .then(|| LevelSpread::within([layouts]))
            .flatten();
        point
    }

    /// Its samples with their places; none if there is no sample.
    pub fn side(&self) -> Option<NestedSamples> {
        let mut placed = Vec::with_capacity(self.counts.samples);
        let mut number = 0;
        for (layout, build) in (0..).zip(&self.builds) {
            for boot in &build.boots {
                for trial in &boot.trials {
                    number += 1;
                    placed.extend(trial.values.iter().map(|&value| NestedSample {
                        host: 0,
                        layout,
                        boot: boot.ordinal.into(),
                        session: trial.study.unsigned_abs(),
                        trial: number,
                        value,
                    }));
                }
            }
        }
        NestedSamples::new(placed).ok()
    }

    /// Whether all of it was measured in one session.
    pub fn is_of_one_session(&self) -> bool {
        self.level.is_some_and(|level| level < Level::Session)
    }

    /// The standard deviation of all of its trials' means, as a share of the value; none for fewer than three.
    pub(super) fn restlessness(&self) -> Option<f64> {
        let boots = self.builds.iter().flat_map(|build| &build.boots);
        let means: Vec<f64> = boots.flat_map(BootSamples::means).collect();
        let value = self.value.filter(|value| *value != 0.0)?;
        let spread = LevelSpread::within([means])?;
        (spread.freedom >= 2).then_some((spread.deviation / value).abs())
    }
}

fn counts(builds: &[BuildSamples]) -> RepeatCounts {
    let mut counts = RepeatCounts::default();
    let mut layouts = BTreeSet::new();
    for build in builds {
        let mut boots = 0;
        for boot in &build.boots {
            let measured = boot.trials.iter().filter(|trial| !trial.values.is_empty());
            let trials = measured.clone().count();
            counts.samples += measured.map(|trial| trial.values.len()).sum::<usize>();
            counts.trials += trials;
            counts.sessions += boot.sessions().len();
            counts.failed += boot.trials.len() - trials;
            boots += usize::from(trials > 0);
        }
        counts.boots += boots;
        counts.builds += usize::from(boots > 0);
        if boots > 0 {
            layouts.insert(build.layout);
        }
    }
    counts.layouts = layouts.len();
    counts
}

impl BootSamples {
    /// The means of the trials of each session: each study's.
    fn sessions(&self) -> Vec<Vec<f64>> {
        let mut sessions: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
        for trial in &self.trials {
            if let Some(mean) = mean(&trial.values) {
                sessions.entry(trial.study).or_default().push(mean);
            }
        }
        sessions.into_values().collect()
    }

    fn means(&self) -> Vec<f64> {
        let trials = self.trials.iter();
        trials.filter_map(|trial| mean(&trial.values)).collect()
    }
}

impl BuildSamples {
    /// The means of the trials of each session, over all boots.
    pub(super) fn sessions(&self) -> Vec<Vec<f64>> {
        self.boots.iter().flat_map(BootSamples::sessions).collect()
    }

    fn means(&self) -> Vec<f64> {
        let boots = self.boots.iter();
        boots.filter_map(|boot| mean(&boot.means())).collect()
    }

    fn mean(&self) -> Option<f64> {
        mean(&self.means())
    }
}

impl LevelSpread {
    /// Of the values within groups; none if no group has two.
    fn within(groups: impl IntoIterator<Item = Vec<f64>>) -> Option<Self> {
        let (mut squares, mut freedom) = (0.0, 0);
        for group in groups {
            let Some(middle) = mean(&group) else { continue };
            squares += group.iter().map(|x| (x - middle).powi(2)).sum::<f64>();
            freedom += group.len() - 1;
        }
        let deviation = (squares / freedom.max(1) as f64).sqrt();
        (freedom > 0 && deviation.is_finite()).then_some(Self { deviation, freedom })
    }
}

/// None of none; of equal values that value, which a sum of parts may miss by a rounding.
pub(super) fn mean(values: &[f64]) -> Option<f64> {
    let first = *values.first()?;
    if values.iter().all(|value| *value == first) {
        return Some(first);
    }
    // Dividing first keeps the sum of large numbers finite.
    let n = values.len() as f64;
    Some(values.iter().map(|x| x / n).sum())
}
