//! What was found in a series, as JSON: `detect` and `history` write the same shapes.
//!
//! Not here: what either says of a series besides, and how it names one.

use backsight_stats::{
    Interval,
    changes::{Change, Epoch, Trend},
};
use serde::Serialize;

/// What was found in a series, and what could have been.
#[derive(Serialize)]
pub struct FindingsShape<'a> {
    pub changes: Vec<ChangeShape<'a>>,
    pub epochs: Vec<EpochShape<'a>>,
    /// The clearest change that isn't believed.
    pub doubted: Option<DoubtedShape<'a>>,
    /// A change that a version or two more would tell.
    pub pending: Option<PendingShape<'a>>,
    /// A slow movement all along.
    pub trend: Option<Trend>,
    pub period: Option<usize>,
    pub least_found: Option<f64>,
}

/// A version of a series.
#[derive(Serialize)]
pub struct PlaceShape<'a> {
    /// Counted from 1.
    pub number: usize,
    pub version: &'a str,
    /// What identifies it, where a target has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<&'a str>,
}

/// Where a change may be.
#[derive(Serialize)]
pub struct BetweenShape<'a> {
    /// The last version known to be before it; nothing if it may have been there from the beginning.
    pub after: Option<PlaceShape<'a>>,
    /// The first version after it, at the best guess.
    pub at: PlaceShape<'a>,
    /// The first version known to be after it.
    pub until: PlaceShape<'a>,
}

/// A change.
#[derive(Serialize)]
pub struct ChangeShape<'a> {
    /// `level` or `trend`.
    pub kind: backsight_stats::changes::Kind,
    pub between: BetweenShape<'a>,
    pub before: f64,
    pub after: f64,
    /// after − before, in the unit and in percent of the level before. Nothing where all is alike: chance has no say there.
    pub size: f64,
    pub size_interval: Option<Interval>,
    pub percent: Option<f64>,
    pub percent_interval: Option<Interval>,
    /// `better`, `worse`, `up` or `down`.
    pub direction: &'static str,
    pub p: Option<f64>,
    pub probability: Option<f64>,
    /// p over all series.
    pub adjusted_p: Option<f64>,
    pub believed: bool,
    /// Whether what stands for either side is all alike.
    pub alike: bool,
    /// Who accepted it along a target's history, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted: Option<AcceptedShape<'a>>,
}

/// An acceptance of a change.
#[derive(Serialize)]
pub struct AcceptedShape<'a> {
    pub by: &'a str,
    pub reason: &'a str,
    pub work_around: Option<&'a str>,
    pub until: Option<String>,
    pub lapsed: bool,
}

/// A change of the noise.
#[derive(Serialize)]
pub struct EpochShape<'a> {
    pub between: BetweenShape<'a>,
    pub noise_before: f64,
    pub noise_after: f64,
    pub p: f64,
}

/// A change that isn't believed.
#[derive(Serialize)]
pub struct DoubtedShape<'a> {
    pub at: PlaceShape<'a>,
    pub p: f64,
}

/// A change that a version or two more would tell.
#[derive(Serialize)]
pub struct PendingShape<'a> {
    pub change: ChangeShape<'a>,
    pub versions: usize,
    pub more_versions_would_tell: usize,
}

impl<'a> ChangeShape<'a> {
    /// A change that is believed, of two sides that aren't alike.
    pub fn new(change: &Change, between: BetweenShape<'a>, direction: &'static str) -> Self {
        let percent = backsight_policy::percent_of(change);
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

impl<'a> EpochShape<'a> {
    pub fn new(epoch: &Epoch, between: BetweenShape<'a>) -> Self {
        Self {
            between,
            noise_before: epoch.before,
            noise_after: epoch.after,
            p: epoch.p,
        }
    }
}
