//! Evidence of a standing job: all that it knows. It is made anew from the store whenever the job is asked what is next, so that
//! a job that was killed goes on where it was.

use backsight_stats::culprits::ChangeLocation;
use jiff::Timestamp;
use std::{collections::BTreeSet, time::Duration};

use super::{parameters::DAY_SECONDS, series::WatchSeries};
use crate::{BisectEnd, BisectVerdict, TryCall, TryComparison, TryEnd};

/// What a standing job knows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WatchEvidence {
    /// When each version came, oldest first.
    pub arrivals: Vec<Timestamp>,
    /// Versions that don't build, boot or run.
    pub broken: BTreeSet<usize>,
    /// What was measured, by cell.
    pub series: Vec<WatchSeries>,
    /// What a build takes, as far as it is known.
    pub build: Duration,
    /// What a trial of each cell takes, as far as it is known.
    pub trials: Vec<Duration>,
    /// Bisections, in the order in which they were begun.
    pub bisections: Vec<WatchBisection>,
    /// Verifications, in the order in which they were begun.
    pub verifications: Vec<WatchVerification>,
    /// What was told, in order.
    pub told: Vec<WatchFinding>,
    /// What was spent, in the order of time.
    pub spent: Vec<WatchSpending>,
}

/// Machine time that was spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchSpending {
    /// When it began.
    pub at: Timestamp,
    /// On which testbed.
    pub testbed: usize,
    /// For what.
    pub purpose: WatchPurpose,
    /// How long.
    pub took: Duration,
}

/// What machine time was spent for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchPurpose {
    /// The plan and the sentinel.
    Schedule,
    /// Bisections and verifications.
    Question,
}

/// A change that is looked for between two versions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangeQuestion {
    /// The cell whose series shows it.
    pub cell: usize,
    /// A version before it.
    pub good: usize,
    /// A version behind it.
    pub bad: usize,
    /// The level before.
    pub level: f64,
    /// The size that is suspected, in the metric's unit.
    pub size: f64,
    /// The p-value of the suspicion.
    pub p: f64,
}

impl ChangeQuestion {
    /// Whether it is about versions between these.
    fn overlaps(&self, after: usize, until: usize) -> bool {
        self.good < until && after < self.bad
    }

    /// The smallest share of the level that counts, where this share of the size that is suspected does.
    pub(super) fn share(&self, of_size: f64) -> f64 {
        let share = of_size * (self.size / self.level).abs();
        if share.is_finite() { share } else { 0.0 }
    }
}

/// A bisection of a standing job.
#[derive(Debug, Clone, PartialEq)]
pub struct WatchBisection {
    /// What it was asked.
    pub question: ChangeQuestion,
    /// Builds and trials so far.
    pub spent: Duration,
    /// How far it came.
    pub state: WatchBisectionState,
}

/// How far a bisection came.
#[derive(Debug, Clone, PartialEq)]
pub enum WatchBisectionState {
    /// It goes on. The narrowest stretch of versions that holds the change as surely as the answer is to be, as far as one does.
    Open(Option<ChangeLocation>),
    /// It is decided: these changes, or none.
    Decided(Vec<NamedStep>),
    /// It can't be decided: an end doesn't build, boot or run any more.
    Impossible,
}

impl WatchBisectionState {
    /// What a bisection came to, that was to be so sure. `moved` says where a place among its versions is among all versions; what
    /// isn't there is left out.
    pub fn new(
        verdict: &BisectVerdict,
        confidence: f64,
        moved: impl Fn(ChangeLocation) -> Option<ChangeLocation>,
    ) -> Self {
        match verdict.ended {
            Some(BisectEnd::Decided) => {
                let steps = verdict.culprits.iter().filter_map(|culprit| {
                    Some(NamedStep {
                        place: moved(culprit.place)?,
                        probability: culprit.probability,
                        percent: culprit.percent.unwrap_or_default(),
                    })
                });
                Self::Decided(steps.collect())
            }
            Some(BisectEnd::End(_) | BisectEnd::Short | BisectEnd::Most) => Self::Impossible,
            Some(BisectEnd::Budget) | None => {
                Self::Open(narrowest(&verdict.places, confidence).and_then(moved))
            }
        }
    }
}

/// The narrowest stretch of places that together are as probable as this.
fn narrowest(places: &[(ChangeLocation, f64)], confidence: f64) -> Option<ChangeLocation> {
    let stretches = (0..places.len()).filter_map(|first| {
        let mut sum = 0.0;
        let last = places[first..].iter().find(|(_, probability)| {
            sum += probability;
            sum >= confidence
        })?;
        Some(ChangeLocation {
            after: places[first].0.after,
            until: last.0.until,
        })
    });
    stretches.min_by_key(|place| place.until - place.after)
}

/// A change that a bisection named.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NamedStep {
    /// Where it is, among all versions.
    pub place: ChangeLocation,
    /// Its probability.
    pub probability: f64,
    /// after − before in percent of the level; 0 where that isn't defined.
    pub percent: f64,
}

impl NamedStep {
    /// Whether it is one version.
    pub fn is_one_version(&self) -> bool {
        self.place.until == self.place.after + 1
    }
}

/// A measurement of a version that was named beside the one before it.
#[derive(Debug, Clone, PartialEq)]
pub struct WatchVerification {
    /// The version that was named.
    pub version: usize,
    /// The cell.
    pub cell: usize,
    /// Trials so far.
    pub spent: Duration,
    /// How far it came.
    pub state: VerificationState,
}

/// How far a verification came.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum VerificationState {
    /// It isn't decided.
    Open,
    /// They differ: version − the one before it in percent.
    Differs(f64),
    /// They don't differ by what would count.
    Equal,
    /// It can't be decided: one of the two doesn't build, boot or run any more.
    Impossible,
}

impl VerificationState {
    /// What a version beside another came to by this comparison, if there is one.
    pub fn new(compared: Option<&TryComparison>, ended: Option<TryEnd>) -> Self {
        match (compared.map(|it| it.call), ended) {
            (Some(TryCall::Better | TryCall::Worse), _) => {
                let percent = compared.and_then(|it| it.percent);
                Self::Differs(percent.unwrap_or_default())
            }
            (Some(TryCall::Equal { .. }), _) => Self::Equal,
            (_, Some(TryEnd::Dead)) | (None, Some(_)) => Self::Impossible,
            _ => Self::Open,
        }
    }
}

/// A change that was told.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WatchFinding {
    /// Where it is.
    pub place: ChangeLocation,
    /// The cell.
    pub cell: usize,
    /// Whether it was verified; a stretch of versions never is.
    pub is_verified: bool,
}

impl WatchEvidence {
    /// The newest version that isn't known to be broken.
    pub(super) fn newest(&self) -> Option<usize> {
        let mut versions = (0..self.arrivals.len()).rev();
        versions.find(|version| !self.broken.contains(version))
    }

    /// What was spent on a testbed on the day of this time: for the schedule, and for questions.
    pub fn spent_on_day(&self, now: Timestamp, testbed: usize) -> (Duration, Duration) {
        let today = day(now);
        let mut spent = (Duration::ZERO, Duration::ZERO);
        let backwards = self.spent.iter().rev();
        for it in backwards.take_while(|it| day(it.at) >= today) {
            if it.testbed != testbed {
                continue;
            }
            match it.purpose {
                WatchPurpose::Schedule => spent.0 += it.took,
                WatchPurpose::Question => spent.1 += it.took,
            }
        }
        spent
    }

    /// The verification of a version by a cell, if one was begun.
    pub(super) fn verification(&self, version: usize, cell: usize) -> Option<&WatchVerification> {
        let mut all = self.verifications.iter();
        all.find(|it| it.version == version && it.cell == cell)
    }

    /// Whether a change at these versions was told, by whichever cell.
    pub(super) fn is_told(&self, place: ChangeLocation) -> bool {
        let mut told = self.told.iter();
        told.any(|it| it.place.after < place.until && place.after < it.place.until)
    }

    /// The bisections that are about versions between these.
    pub(super) fn bisections_about(
        &self,
        after: usize,
        until: usize,
    ) -> impl Iterator<Item = &WatchBisection> {
        let all = self.bisections.iter();
        all.filter(move |it| it.question.overlaps(after, until))
    }
}

/// The day of a time, in UTC.
pub(super) fn day(at: Timestamp) -> i64 {
    at.as_second().div_euclid(DAY_SECONDS)
}
