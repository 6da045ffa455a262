//! Changes of a series along the versions.
//!
//! `detect` searches a series for lasting changes of level. Few versions are also compared (`pairwise`), because repeats of a
//! version tell more than one value. A version alone, measured once, is no level.

use backsight_model::{Acceptance, Better, RecordDifference, TestbedName};
use backsight_stats::{
    Interval, NestedSamples,
    changes::{
        ChangeKind, DetectedChange, DetectionOptions, Findings, MIN_POINTS, PendingLevel, Trend,
        VarianceChange, detect,
    },
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    VersionPoint,
    pairwise::{PairwiseFindings, Split, compare_pairwise},
    session_spread::Repeats,
};
use crate::change_significance::{ChangeDirection, significance_tests};

/// Fewer versions with values than this are also compared.
const MAX_COMPARED_VERSIONS: usize = 20;

/// How changes were looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DetectionMethod {
    /// All versions together were searched for lasting changes.
    Searched,
    /// Versions were also compared: each with the one before it; of very few, all before with all after.
    Compared,
    /// Nothing could be said: too few versions.
    TooLittle,
}

/// A change of a series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChangePoint {
    /// The change itself; its places count the versions of the series that have a value.
    pub change: DetectedChange,
    /// The last version known to be before it, by its place in [`TargetHistory::versions`](super::TargetHistory::versions); none if
    /// it may have been there from the beginning.
    pub after: Option<usize>,
    /// The first measured version after it, at the best guess.
    pub at: usize,
    /// The first version known to be after it.
    pub until: usize,
    /// For better or for worse.
    pub direction: ChangeDirection,
    /// p adjusted for all series; none for a trend, or if there are no others.
    pub adjusted: Option<f64>,
    /// Whether it is believed among so many.
    pub believed: bool,
    /// Whether somebody has accepted it.
    #[serde(skip)]
    pub accepted: Option<ChangeAcceptance>,
    /// Whether what stands for either side is all alike: an interval would have no width, and chance has no say.
    pub alike: bool,
    /// The last study that measured what lies before it, and the first one that measured what lies after it; none where some study
    /// measured both.
    pub studies: Option<(i64, i64)>,
    /// What the hosts of the testbed were otherwise, where no study measured both sides: see
    /// [`TargetHistory::tell_of_hosts`](super::TargetHistory::tell_of_hosts).
    #[serde(skip)]
    pub hosts: Vec<RecordDifference>,
    /// That other compilers made the builds after it than those before it.
    #[serde(skip)]
    pub compilers: Option<RecordDifference>,
    /// By how much a reference moved meanwhile: see [`TargetHistory::tell_of_drift`](super::TargetHistory::tell_of_drift).
    pub reference: Option<ReferenceMove>,
}

/// By how much a reference moved while the versions around a change were measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReferenceMove {
    /// The testbed.
    pub testbed: TestbedName,
    /// In percent, from where the versions before were measured to where those after were.
    pub percent: f64,
    /// Its 95 % interval.
    pub interval: Interval,
}

impl ReferenceMove {
    /// Whether it moved: the interval leaves out zero.
    pub fn is_move(&self) -> bool {
        self.interval.low > 0.0 || self.interval.high < 0.0
    }
}

/// That a change is accepted, or was.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeAcceptance {
    /// By whom, why and until when.
    pub acceptance: Acceptance,
    /// Whether that time is over.
    pub lapsed: bool,
}

impl ChangeAcceptance {
    /// By this acceptance, at this time.
    pub fn new(acceptance: &Acceptance, now: Timestamp) -> Self {
        Self {
            acceptance: acceptance.clone(),
            lapsed: !acceptance.holds(now),
        }
    }
}

/// A place from which on a series is noisier or quieter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NoiseEpoch {
    /// The epoch; its places count the versions of the series that have a value.
    pub epoch: VarianceChange,
    /// As [`ChangePoint::after`].
    pub after: Option<usize>,
    /// As [`ChangePoint::at`].
    pub at: usize,
    /// As [`ChangePoint::until`].
    pub until: usize,
}

/// The newest versions, if they may be the beginning of another level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PendingChangePoint {
    /// The change that it would be; it isn't believed.
    pub point: ChangePoint,
    /// How many versions lie there.
    pub versions: usize,
    /// How many more like them would make it a change.
    pub to_come: usize,
}

/// What was found in a series, and what could have been.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeriesFindings {
    /// How it was looked for.
    pub how: DetectionMethod,
    /// The changes, in the order of versions.
    pub changes: Vec<ChangePoint>,
    /// Changes of the noise; no regressions.
    pub epochs: Vec<NoiseEpoch>,
    /// The clearest change that wasn't believed, as a version, and its p-value.
    pub doubted: Option<(usize, f64)>,
    /// What would be a change if more versions bore it out.
    pub pending: Option<PendingChangePoint>,
    /// As [`Findings::trend`].
    pub trend: Option<Trend>,
    /// As [`Findings::period`].
    pub period: Option<usize>,
    /// As [`Findings::kept`].
    pub kept: f64,
    /// As [`Findings::least_found`].
    pub least_found: Option<f64>,
}

impl SeriesFindings {
    pub(super) fn in_points(points: &[VersionPoint], better: Better, repeats: Repeats) -> Self {
        let (versions, values): (Vec<usize>, Vec<f64>) = points
            .iter()
            .filter_map(|point| Some((point.version, point.value?)))
            .unzip();
        let searched = match detect(&values, &DetectionOptions::default()) {
            Ok(findings) => Self::by_search(findings, &versions, better),
            // There is no value at all.
            Err(_) => Self::nothing(),
        };
        if values.len() >= MAX_COMPARED_VERSIONS {
            return searched;
        }
        let sides: Vec<(f64, NestedSamples)> = points
            .iter()
            .filter_map(|point| Some((point.value?, point.side()?)))
            .collect();
        match compare_pairwise(&sides, repeats) {
            Some(compared) => searched.and_compared(compared, &versions, better),
            None => searched,
        }
    }

    fn nothing() -> Self {
        Self {
            how: DetectionMethod::TooLittle,
            changes: Vec::new(),
            epochs: Vec::new(),
            doubted: None,
            pending: None,
            trend: None,
            period: None,
            kept: 0.0,
            least_found: None,
        }
    }

    fn by_search(findings: Findings, versions: &[usize], better: Better) -> Self {
        let epochs = findings.epochs.into_iter().map(|epoch| NoiseEpoch {
            after: epoch.earliest.checked_sub(1).map(|at| versions[at]),
            at: versions[epoch.at],
            until: versions[epoch.latest],
            epoch,
        });
        let changes = findings.changes.into_iter();
        Self {
            how: if versions.len() < MIN_POINTS {
                DetectionMethod::TooLittle
            } else {
                DetectionMethod::Searched
            },
            changes: changes
                .map(|change| ChangePoint::from_change(change, versions, better))
                .collect(),
            epochs: epochs.collect(),
            doubted: findings.doubted.map(|d| (versions[d.at], d.p)),
            pending: findings
                .pending
                .map(|PendingLevel { change, to_come }| PendingChangePoint {
                    versions: versions.len() - change.at,
                    to_come,
                    point: ChangePoint {
                        believed: false,
                        ..ChangePoint::from_change(change, versions, better)
                    },
                }),
            trend: findings.trend,
            period: findings.period,
            kept: findings.kept,
            least_found: findings.least_found,
        }
    }

    /// With what a search can't have seen, which doesn't know what was repeated: where both see a change, it is as the
    /// comparison says.
    fn and_compared(
        mut self,
        compared: PairwiseFindings,
        versions: &[usize],
        better: Better,
    ) -> Self {
        let compared_there = |known: &ChangePoint| {
            compared.changes.iter().any(|Split { change, .. }| {
                known.change.earliest <= change.latest && change.earliest <= known.change.latest
            })
        };
        self.changes.retain(|known| !compared_there(known));
        let changes = compared.changes.into_iter();
        self.changes.extend(changes.map(|split| ChangePoint {
            alike: split.alike,
            ..ChangePoint::from_change(split.change, versions, better)
        }));
        self.changes.sort_by_key(|point| point.change.at);
        self.trend = self.trend.filter(|_| self.changes.is_empty());
        // Repeats of the newest version may tell already what one value of it can't.
        let last = self.changes.last().map(|point| point.change.at);
        self.pending = self
            .pending
            .take()
            .filter(|pending| last.is_none_or(|last| last < pending.point.change.at));
        if let Some((at, p)) = compared.doubted
            && self.doubted.is_none_or(|(_, least)| p < least)
        {
            self.doubted = Some((versions[at], p));
        }
        self.how = DetectionMethod::Compared;
        self
    }

    /// Its p-values among those of all series.
    pub(super) fn tests(&self) -> Vec<f64> {
        let changes = self.changes.iter().map(|point| &point.change);
        significance_tests(changes, self.doubted.map(|(_, p)| p))
    }

    pub(super) fn adjust(&mut self, adjusted: Vec<f64>, most: f64) {
        let levels = self.changes.iter_mut();
        let levels = levels.filter(|point| point.change.kind == ChangeKind::Level);
        for (point, adjusted) in levels.zip(adjusted) {
            point.adjusted = Some(adjusted);
            point.believed = adjusted <= most;
        }
    }
}

impl ChangePoint {
    /// Whether it is accepted, and that isn't over.
    pub fn is_accepted(&self) -> bool {
        let accepted = self.accepted.as_ref();
        accepted.is_some_and(|accepted| !accepted.lapsed)
    }

    fn from_change(change: DetectedChange, versions: &[usize], better: Better) -> Self {
        Self {
            after: change.earliest.checked_sub(1).map(|at| versions[at]),
            at: versions[change.at],
            until: versions[change.latest],
            direction: ChangeDirection::from_change(&change, Some(better)),
            adjusted: None,
            believed: true,
            accepted: None,
            alike: false,
            studies: None,
            hosts: Vec::new(),
            compilers: None,
            reference: None,
            change,
        }
    }
}
