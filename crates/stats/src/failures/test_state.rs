//! State of a test at the newest version, in the words of test dashboards (KernelCI, LKFT).

use crate::culprits::ChangeLocation;

use super::{
    FailureCount, FailureDetectionOptions, FailureRate, failure_changes, more_runs_needed,
};

/// A rate whose interval is wider than this says nothing yet.
const MAX_RATE_INTERVAL_WIDTH: f64 = 0.5;

/// State of a test at the newest version of its history. Versions are positions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TestState {
    /// It was run for the first time.
    Appeared,
    /// It wasn't run, but it was before.
    Disappeared {
        /// The last version with a run.
        last: usize,
    },
    /// It passes always, since the last change.
    Pass,
    /// It has failed always.
    Fail {
        /// The first version with a run.
        since: usize,
    },
    /// It fails sometimes, since the last change or always.
    Flaky {
        /// How often.
        rate: FailureRate,
    },
    /// It both passed and failed, in so few runs that a rate says nothing.
    Unstable {
        /// How often.
        rate: FailureRate,
    },
    /// It fails more often than before, which the newest version tells.
    Regression {
        /// Where the change lies.
        location: ChangeLocation,
        /// How often it fails since.
        rate: FailureRate,
    },
    /// It fails less often than before, which the newest version tells.
    Fixed {
        /// Where the change lies.
        location: ChangeLocation,
        /// How often it fails since.
        rate: FailureRate,
    },
    /// It fails always, since a change that an earlier version told.
    StillFailing {
        /// The first version after the change, at the best guess.
        since: usize,
    },
    /// It failed at the newest version and never before, since the last change; that may be chance.
    NewFailure {
        /// Repeats that would tell a change, if the rates are as they seem.
        more_runs: Option<u64>,
    },
    /// It passed at the newest version and never before, since the last change; that may be chance.
    NewPass {
        /// Repeats that would tell a change, if the rates are as they seem.
        more_runs: Option<u64>,
    },
}

impl TestState {
    /// The state in a word or two.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Appeared => "appeared",
            Self::Disappeared { .. } => "disappeared",
            Self::Pass => "pass",
            Self::Fail { .. } => "fail",
            Self::Flaky { .. } => "flaky",
            Self::Unstable { .. } => "unstable",
            Self::Regression { .. } => "regression",
            Self::Fixed { .. } => "fixed",
            Self::StillFailing { .. } => "still failing",
            Self::NewFailure { .. } => "new failure",
            Self::NewPass { .. } => "new pass",
        }
    }
}

/// The state at the newest version, the last of `counts`; `None` if the test was never run.
#[must_use]
pub fn test_state(counts: &[FailureCount], options: &FailureDetectionOptions) -> Option<TestState> {
    let first = counts.iter().position(|count| count.runs > 0)?;
    let last = counts.iter().rposition(|count| count.runs > 0)?;
    let newest = counts.len() - 1;
    if last < newest {
        return Some(TestState::Disappeared { last });
    }
    if first == newest {
        return Some(TestState::Appeared);
    }
    let findings = failure_changes(counts, options);
    let change = findings.changes.last();
    let start = change.map_or(first, |change| change.at);
    if let Some(change) = change {
        let earlier = failure_changes(&counts[..newest], options);
        let is_known = earlier.changes.last().is_some_and(|known| {
            known.at > change.location.after && known.at <= change.location.until
        });
        if !is_known {
            let (location, rate) = (change.location, change.after);
            return Some(match change.is_worse() {
                true => TestState::Regression { location, rate },
                false => TestState::Fixed { location, rate },
            });
        }
    }
    let before: FailureCount = counts[start..newest].iter().copied().sum();
    let more_runs = || more_runs_needed(counts, &findings, options);
    let since_change = before + counts[newest];
    if before.always_passed() && counts[newest].failures > 0 {
        return Some(TestState::NewFailure {
            more_runs: more_runs(),
        });
    }
    if before.always_failed() && counts[newest].passes() > 0 {
        return Some(TestState::NewPass {
            more_runs: more_runs(),
        });
    }
    if since_change.always_passed() {
        return Some(TestState::Pass);
    }
    if since_change.always_failed() {
        return Some(match change {
            Some(change) => TestState::StillFailing { since: change.at },
            None => TestState::Fail { since: first },
        });
    }
    let rate = since_change.rate(options.confidence)?;
    Some(match rate.interval.width() > MAX_RATE_INTERVAL_WIDTH {
        true => TestState::Unstable { rate },
        false => TestState::Flaky { rate },
    })
}
