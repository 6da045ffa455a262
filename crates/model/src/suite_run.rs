//! What one run of a suite gave.
//!
//! Test results are derived from what a suite printed, as samples are. A test that is known and has no result isn't passed over:
//! a run that didn't come to its end says so.

use backsight_stats::Better;
use backsight_test_results::Outcome;
use serde::{Deserialize, Serialize};

use crate::{TestResult, TestResultRef, TestResults};

/// A number of tests of a run of a suite: a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestCount {
    /// Those that failed, in whichever way.
    Failed,
    /// Those that passed, or failed as was expected.
    Passed,
    /// Those that chose not to run.
    Skipped,
    /// Those that were to run and didn't.
    NotRun,
}

impl TestCount {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Failed, Self::Passed, Self::Skipped, Self::NotRun];

    /// The one that suites are run for.
    pub const PRIMARY: Self = Self::Failed;

    /// The metric's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Passed => "passed",
            Self::Skipped => "skipped",
            Self::NotRun => "notrun",
        }
    }

    /// Which direction is good.
    pub fn better(self) -> Better {
        match self {
            Self::Passed => Better::Higher,
            _ => Better::Lower,
        }
    }

    /// One line about it.
    pub fn about(self) -> &'static str {
        match self {
            Self::Failed => {
                "tests that failed: also by a crash, their limit of time, or passing unexpectedly"
            }
            Self::Passed => "tests that passed, or failed as was expected",
            Self::Skipped => "tests that chose not to run",
            Self::NotRun => "tests that were to run and never began",
        }
    }

    /// The number that a test with this outcome is counted in.
    pub fn of(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Skip => Self::Skipped,
            Outcome::NotRun => Self::NotRun,
            failed if failed.is_failure() => Self::Failed,
            _ => Self::Passed,
        }
    }
}

/// What one run of a suite gave.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SuiteRun {
    /// The result of each test.
    pub results: TestResults,
    /// Whether it came to its end: no test that the suite has is missing.
    pub complete: bool,
    /// How many tests were to run and have no result, not even a name.
    pub missing: u64,
    /// What was wrong with the output, each as a sentence with its place.
    pub problems: Vec<String>,
}

impl SuiteRun {
    /// Adds what a later pass gave, in which the tests that have a result here were to be left out: of several results of a test the
    /// first counts. Whether it came to its end is said by the later pass.
    pub fn continue_with(&mut self, later: Self) {
        let is_new = |result: &TestResultRef<'_>| self.results.find(result.name).is_none();
        let new: Vec<TestResult> = (later.results.iter())
            .filter(is_new)
            .map(|result| result.to_result())
            .collect();
        let known = self.results.iter().map(|result| result.to_result());
        (self.results, _) = known.chain(new).collect::<TestResults>().sorted();
        self.complete = later.complete;
        self.missing = later.missing;
        self.problems.extend(later.problems);
    }

    /// How many tests are counted so.
    pub fn count(&self, count: TestCount) -> usize {
        let outcomes = self.results.outcomes().iter();
        let counted = outcomes.filter(|outcome| TestCount::of(**outcome) == count);
        match count {
            TestCount::NotRun => counted.count() + self.missing as usize,
            _ => counted.count(),
        }
    }

    /// Whether the test of this name failed; nothing where it was skipped or not run, or there is no such test.
    pub fn failed(&self, test: &str) -> Option<bool> {
        match TestCount::of(self.results.find(test)?.outcome) {
            TestCount::Failed => Some(true),
            TestCount::Passed => Some(false),
            TestCount::Skipped | TestCount::NotRun => None,
        }
    }

    /// Whether it came to its end and no test failed.
    pub fn is_in_order(&self) -> bool {
        self.complete && self.count(TestCount::Failed) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MetricSamples, TestResult};

    #[test]
    fn tests_that_never_began_are_counted_with_those_that_have_no_name() {
        let outcomes = [
            Outcome::Pass,
            Outcome::Skip,
            Outcome::Crash(Some(11)),
            Outcome::NotRun,
        ];
        let named = ["a", "b", "c", "d"].into_iter().zip(outcomes);
        let run = SuiteRun {
            results: named
                .map(|(name, outcome)| TestResult::new(name, outcome))
                .collect(),
            complete: false,
            missing: 2,
            problems: Vec::new(),
        };
        assert_eq!(TestCount::ALL.map(|count| run.count(count)), [1, 1, 1, 3]);
        let samples = MetricSamples::of_suite(&run);
        assert_eq!(samples[3].metric.as_str(), "notrun");
        assert_eq!(samples[3].values, [3.0]);
    }
}
