//! Outcomes of a test along a history: how often it fails, where that changed, and which version changed it.
//!
//! In: [`FailureCount`]s, one per version, in the order of the history; a version without a run has a count of 0 runs.
//! Out: [`failure_changes`], changes of the failure probability with the rates on either side; [`more_runs_needed`], how many
//! repeats would tell a difference that isn't told yet; [`test_state`], the state at the newest version in one word; and
//! [`FailurePosterior`], where the one change of a bisection lies and which version to run next.
//!
//! The model: a run fails with a probability that is the same for all versions between two changes, independently of other
//! runs. A regression is a change of that probability, not a failure after a pass.
//!
//! ```
//! use backsight_stats::failures::{FailureCount, failure_changes};
//!
//! let passes = vec![FailureCount { failures: 0, runs: 1 }; 40];
//! let mut history = passes;
//! history.extend([FailureCount { failures: 3, runs: 3 }]);
//! let found = failure_changes(&history, &Default::default());
//! assert_eq!(found.changes[0].at, 40);
//! assert_eq!(found.changes[0].after.rate, 1.0);
//! ```

mod exact_split_test;
mod failure_changes;
mod failure_count;
mod failure_segments;
mod location_posterior;
mod test_state;
#[cfg(test)]
mod tests;

pub use failure_changes::{
    DoubtedFailureChange, FailureChange, FailureDetectionOptions, FailureFindings,
    control_false_discoveries, failure_changes, more_runs_needed,
};
pub use failure_count::{FailureCount, FailureRate};
pub use location_posterior::{FailurePosterior, FailurePriors};
pub use test_state::{TestState, test_state};
