//! Changes of a test's failure probability along its history.
//!
//! 1. `failure_segments` divides the history into stretches; it may find too many.
//! 2. Each change is tested between its neighbours by `exact_split_test`. The least certain one that is above
//!    [`FailureDetectionOptions::max_p`] is dropped, and the others are located and tested anew, until all are below.
//!
//! A history is judged after each new version. The limit is so small because false alarms of all these looks add up:
//! docs/quality.md, "Flaky tests".

use serde::Serialize;

use crate::{Confidence, benjamini_hochberg, changes::MAX_DOUBTED_P, culprits::ChangeLocation};

use super::{
    FailureCount, FailureRate, exact_split_test::ExactSplitTest, failure_segments::FailureSegments,
};

/// How changes of a failure probability are searched for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FailureDetectionOptions {
    /// The largest p-value of a change that is told. The default is meant for false alarms of at most 5 % of the tests that
    /// don't change, over 200 versions with a look after each; docs/quality.md, "Flaky tests", says what was measured. A
    /// smaller value needs more runs before a change is told.
    pub max_p: f64,
    /// Confidence of the intervals of locations and rates.
    pub confidence: Confidence,
}

impl Default for FailureDetectionOptions {
    fn default() -> Self {
        Self {
            max_p: 0.0012,
            confidence: Confidence::USUAL,
        }
    }
}

/// A change of the failure probability. Versions are positions in the history.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FailureChange {
    /// The first version after the change, at the best guess.
    pub at: usize,
    /// The change is in one of the versions after `after`, up to `until`, with the confidence of the options.
    pub location: ChangeLocation,
    /// The stretch before, from the change before.
    pub before: FailureRate,
    /// The stretch after, up to the next change.
    pub after: FailureRate,
    /// The probability that chance gives a change as clear, if this history, between the changes around, is looked at once.
    pub p: f64,
}

impl FailureChange {
    /// Whether the test fails more often since.
    #[must_use]
    pub fn is_worse(&self) -> bool {
        self.after.rate > self.before.rate
    }
}

/// A difference between the newest versions and those before, since the last change, that isn't told yet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DoubtedFailureChange {
    /// The first version after the change, at the best guess.
    pub at: usize,
    /// Since the last change.
    pub before: FailureRate,
    /// Up to the newest version.
    pub after: FailureRate,
    /// As [`FailureChange::p`].
    pub p: f64,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FailureFindings {
    /// In the order of the history.
    pub changes: Vec<FailureChange>,
    /// What may be the next change, unless chance gives one as clear more often than not.
    pub doubted: Option<DoubtedFailureChange>,
}

/// The most repeats that [`more_runs_needed`] thinks of.
const MAX_MORE_RUNS: u64 = 1000;

/// Up to this many repeats each number is tried; then numbers a fifth apart.
const MORE_RUNS_TRIED_EACH: u64 = 16;

/// Searches a history: the counts of its versions, in order; those without a run are passed over.
#[must_use]
pub fn failure_changes(
    counts: &[FailureCount],
    options: &FailureDetectionOptions,
) -> FailureFindings {
    let all: FailureCount = counts.iter().copied().sum();
    if all.failures == 0 || all.passes() == 0 {
        return FailureFindings::default();
    }
    let history = MeasuredHistory::new(counts);
    let told = history.told_changes(options);
    let changes = told.iter().enumerate().map(|(n, change)| {
        let (start, end) = history.stretch(&told, n);
        history.change(start, end, change.p, options)
    });
    FailureFindings {
        changes: changes.collect(),
        doubted: history.doubted(told.last().map_or(0, |change| change.at), options),
    }
}

/// About how many more runs of the newest version would tell the doubted change, if both rates are as they seem; `None` if
/// none is doubted, or more than a thousand.
#[must_use]
pub fn more_runs_needed(
    counts: &[FailureCount],
    findings: &FailureFindings,
    options: &FailureDetectionOptions,
) -> Option<u64> {
    let doubted = findings.doubted?;
    let start = findings.changes.last().map_or(0, |change| change.at);
    let stretch = counts.get(start..)?;
    let newest = stretch.iter().rposition(|count| count.runs > 0)?;
    let is_told = |more: &u64| {
        let mut with_more = stretch.to_vec();
        with_more[newest].runs += more;
        with_more[newest].failures += (*more as f64 * doubted.after.rate).round() as u64;
        p_if_below(&with_more, options.max_p).is_some()
    };
    let numbers = std::iter::successors(Some(1), |more| match *more < MORE_RUNS_TRIED_EACH {
        true => Some(more + 1),
        false => Some(more + more / 5),
    });
    numbers
        .take_while(|more| *more <= MAX_MORE_RUNS)
        .find(is_told)
}

/// Keeps the changes of many tests that are to be believed together: of all that are told, the expected share of false ones is
/// at most `rate` (Benjamini and Hochberg). A test without a change counts as one look.
pub fn control_false_discoveries(tests: &mut [FailureFindings], rate: f64) {
    let mut looks = Vec::new();
    for test in &*tests {
        looks.extend(test.changes.iter().map(|change| change.p));
        if test.changes.is_empty() {
            looks.push(test.doubted.map_or(1.0, |doubted| doubted.p));
        }
    }
    let mut adjusted = benjamini_hochberg(&looks).into_iter();
    for test in tests {
        if test.changes.is_empty() {
            adjusted.next();
        }
        test.changes
            .retain(|_| adjusted.next().is_some_and(|p| p <= rate));
    }
}

/// The p-value of the clearest split, if it is at most `max_p`.
fn p_if_below(counts: &[FailureCount], max_p: f64) -> Option<f64> {
    let test = ExactSplitTest::new(counts)?;
    if test.least_split_p > max_p {
        return None;
    }
    Some(test.p()).filter(|p| *p <= max_p)
}

/// A told change: index of the first count after it, and its p-value.
#[derive(Debug, Clone, Copy)]
struct ToldChange {
    at: usize,
    p: f64,
}

/// The counts with runs. Indices are theirs, not those of the versions.
struct MeasuredHistory {
    versions: Vec<usize>,
    counts: Vec<FailureCount>,
    segments: FailureSegments,
}

impl MeasuredHistory {
    fn new(counts: &[FailureCount]) -> Self {
        let measured = counts
            .iter()
            .enumerate()
            .filter(|(_, count)| count.runs > 0);
        let (versions, counts): (Vec<usize>, Vec<FailureCount>) = measured.unzip();
        let segments = FailureSegments::new(&counts);
        Self {
            versions,
            counts,
            segments,
        }
    }

    /// The counts from the change before the `n`th to the one after it.
    fn stretch(&self, changes: &[ToldChange], n: usize) -> (usize, usize) {
        let start = n.checked_sub(1).map_or(0, |before| changes[before].at);
        let end = changes.get(n + 1).map_or(self.counts.len(), |next| next.at);
        (start, end)
    }

    fn told_changes(&self, options: &FailureDetectionOptions) -> Vec<ToldChange> {
        let candidates = self.segments.candidates().into_iter();
        let mut changes: Vec<ToldChange> = candidates.map(|at| ToldChange { at, p: 0.0 }).collect();
        loop {
            for n in 0..changes.len() {
                let (start, end) = self.stretch(&changes, n);
                let place = self.segments.locate(start, end, options.confidence);
                let test = ExactSplitTest::new(&self.counts[start..end]);
                changes[n] = ToldChange {
                    at: place.best,
                    // Where the cheap lower bound is too large, the p-value is, too.
                    p: test.map_or(1.0, |test| match test.least_split_p > options.max_p {
                        true => 1.0 + test.least_split_p,
                        false => test.p(),
                    }),
                };
            }
            let worst = (0..changes.len()).max_by(|a, b| changes[*a].p.total_cmp(&changes[*b].p));
            match worst {
                Some(worst) if changes[worst].p > options.max_p => changes.remove(worst),
                _ => return changes,
            };
        }
    }

    fn rate(&self, start: usize, end: usize, confidence: Confidence) -> FailureRate {
        let count: FailureCount = self.counts[start..end].iter().copied().sum();
        let rate = count.rate(confidence);
        rate.unwrap_or(FailureRate {
            count,
            rate: 0.0,
            interval: crate::Interval {
                low: 0.0,
                high: 1.0,
            },
        })
    }

    fn change(
        &self,
        start: usize,
        end: usize,
        p: f64,
        options: &FailureDetectionOptions,
    ) -> FailureChange {
        let place = self.segments.locate(start, end, options.confidence);
        FailureChange {
            at: self.versions[place.best],
            location: ChangeLocation {
                after: self.versions[place.earliest - 1],
                until: self.versions[place.latest],
            },
            before: self.rate(start, place.best, options.confidence),
            after: self.rate(place.best, end, options.confidence),
            p,
        }
    }

    /// The clearest change since the last one, told or not.
    fn doubted(
        &self,
        start: usize,
        options: &FailureDetectionOptions,
    ) -> Option<DoubtedFailureChange> {
        let end = self.counts.len();
        let p = p_if_below(&self.counts[start..end], MAX_DOUBTED_P)?;
        let FailureChange {
            at, before, after, ..
        } = self.change(start, end, p, options);
        Some(DoubtedFailureChange {
            at,
            before,
            after,
            p,
        })
    }
}
