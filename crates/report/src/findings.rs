//! The views of a series' findings: its changes, epochs and trend as JSON, shared by change points and histories.

use backsight_model::RecordDifference;
use backsight_stats::{
    Interval,
    changes::{DetectedChange, Trend, VarianceChange},
};
use schemars::JsonSchema;
use serde::Serialize;

/// Findings of a series. Values are in the metric's unit.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FindingsView<'a> {
    /// The changes, oldest first.
    pub changes: Vec<ChangeView<'a>>,
    /// The changes of the noise, oldest first.
    pub epochs: Vec<EpochView<'a>>,
    /// The clearest change that isn't believed.
    pub doubted: Option<DoubtedView<'a>>,
    /// A change that a version or two more would tell.
    pub pending: Option<PendingView<'a>>,
    /// A slow movement all along.
    pub trend: Option<Trend>,
    /// A period that was taken out first, in versions.
    pub period: Option<usize>,
    /// The smallest lasting change of the latest part that would be found nine times out of ten.
    pub least_found: Option<f64>,
}

/// A version of a series.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SeriesVersionView<'a> {
    /// Its place in the series, counted from 1.
    pub number: usize,
    /// Its name.
    pub version: &'a str,
    /// What identifies it, where a target has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<&'a str>,
}

/// The versions among which a change is.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ChangeRangeView<'a> {
    /// The last version known to be before it; nothing if it may have been there from the beginning.
    pub after: Option<SeriesVersionView<'a>>,
    /// The first version after it, at the best guess.
    pub at: SeriesVersionView<'a>,
    /// The first version known to be after it.
    pub until: SeriesVersionView<'a>,
}

/// A change.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ChangeView<'a> {
    /// `level` or `trend`.
    pub kind: backsight_stats::changes::ChangeKind,
    /// Its versions.
    pub between: ChangeRangeView<'a>,
    /// The level before.
    pub before: f64,
    /// The level after.
    pub after: f64,
    /// after − before.
    pub size: f64,
    /// The interval of the size; nothing where all is alike: chance has no say there.
    pub size_interval: Option<Interval>,
    /// The size in percent of the level before.
    pub percent: Option<f64>,
    /// The interval of the percentage.
    pub percent_interval: Option<Interval>,
    /// `better`, `worse`, `up` or `down`.
    pub direction: &'static str,
    /// The probability that noise alone gives as clear a change.
    pub p: Option<f64>,
    /// The probability that it is a change.
    pub probability: Option<f64>,
    /// p over all series.
    pub adjusted_p: Option<f64>,
    /// Whether it is believed among all series.
    pub believed: bool,
    /// Whether the values of either side are all alike.
    pub alike: bool,
    /// Its acceptance along a target's history, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted: Option<AcceptanceView<'a>>,
    /// What hosts were otherwise on its two sides, where no study measured both: what explains numbers most often first.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub hosts: &'a [RecordDifference],
    /// That other compilers made the builds after it than those before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compilers: Option<&'a RecordDifference>,
    /// By how much a reference moved meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<ReferenceMoveView<'a>>,
}

/// A move of a reference while the versions around a change were measured.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ReferenceMoveView<'a> {
    /// Its testbed.
    pub testbed: &'a str,
    /// By how many percent.
    pub percent: f64,
    /// The 95 % interval of the percentage.
    pub percent_interval: Interval,
    /// Whether that is a move: the interval leaves out zero.
    pub moved: bool,
}

/// An acceptance of a change.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AcceptanceView<'a> {
    /// The person.
    pub by: &'a str,
    /// The reason.
    pub reason: &'a str,
    /// A way to do without it.
    pub work_around: Option<&'a str>,
    /// When it lapses: RFC 3339.
    pub until: Option<String>,
    /// Whether it has lapsed.
    pub lapsed: bool,
}

/// A change of the noise.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct EpochView<'a> {
    /// Its versions.
    pub between: ChangeRangeView<'a>,
    /// The standard deviation before.
    pub noise_before: f64,
    /// The standard deviation after.
    pub noise_after: f64,
    /// The probability of as clear a change of noise that doesn't change.
    pub p: f64,
}

/// A change that isn't believed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DoubtedView<'a> {
    /// The first version after it.
    pub at: SeriesVersionView<'a>,
    /// The probability that noise alone gives as clear a change.
    pub p: f64,
}

/// A change that a version or two more would tell.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PendingView<'a> {
    /// The change that it would be.
    pub change: ChangeView<'a>,
    /// Versions that lie there.
    pub versions: usize,
    /// How many more like them would make it a change.
    pub more_versions_would_tell: usize,
}

impl<'a> ChangeView<'a> {
    /// A change that is believed, of two sides that aren't alike.
    pub fn new(
        change: &DetectedChange,
        between: ChangeRangeView<'a>,
        direction: &'static str,
    ) -> Self {
        let percent = backsight_policy::change_percent(change);
        Self {
            kind: change.kind,
            between,
            before: change.before,
            after: change.after,
            size: change.size,
            size_interval: Some(change.size_interval),
            percent: percent.map(|(percent, _)| percent),
            percent_interval: percent.map(|(_, interval)| interval),
            direction,
            p: Some(change.p),
            probability: Some(change.probability),
            adjusted_p: None,
            believed: true,
            alike: false,
            accepted: None,
            hosts: &[],
            compilers: None,
            reference: None,
        }
    }

    /// The same of two sides that are each all alike: nothing about it is chance.
    pub fn of_alike_sides(self) -> Self {
        Self {
            size_interval: None,
            percent_interval: None,
            p: None,
            probability: None,
            adjusted_p: None,
            alike: true,
            ..self
        }
    }
}

impl<'a> EpochView<'a> {
    /// A change of the noise between these versions.
    pub fn new(epoch: &VarianceChange, between: ChangeRangeView<'a>) -> Self {
        Self {
            between,
            noise_before: epoch.before,
            noise_after: epoch.after,
            p: epoch.p,
        }
    }
}
