//! Policy of `test`: each suite once a round; then suites with failures again, so that a test that fails now and then is told from one
//! that fails.
//!
//! A trial that failed itself (a host lost, no network) says nothing of the tests: it is tried once more in any case.

use backsight_model::MetricName;

use crate::{Decision, Evidence, Observation, Policy, Request, RunPolicy, RunVerdict};

/// Every suite in every round, and again where something failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestPolicy {
    /// The rounds that all suites are run in.
    pub rounds: RunPolicy,
    /// How often a suite is run again at most while in each of its runs a test failed or wasn't run.
    pub retries: u32,
    /// The metric that counts failed tests.
    pub failed: MetricName,
    /// The metric that counts tests that weren't run.
    pub not_run: MetricName,
}

impl TestPolicy {
    /// The next run of a suite that is to be run again.
    fn retry(&self, evidence: &Evidence) -> Option<Request> {
        (0..self.rounds.cells).find_map(|cell| {
            let of_cell = |seen: &&Observation| seen.request.cell == cell;
            let last = evidence.observations.iter().rfind(of_cell)?;
            let is_none = |metric| last.value(metric).is_none_or(|count| count == 0.0);
            let most = match last.measured() {
                true if is_none(&self.failed) && is_none(&self.not_run) => 0,
                true => self.retries,
                false => self.retries.max(1),
            };
            let again = last.request.round.saturating_sub(self.rounds.rounds);
            let next = Request::as_found(cell, last.request.round.max(self.rounds.rounds) + 1);
            (again < most).then_some(next)
        })
    }
}

impl Policy for TestPolicy {
    type Verdict = RunVerdict;

    fn decide(&self, evidence: &Evidence) -> Decision<RunVerdict> {
        match (self.rounds.decide(evidence), self.retry(evidence)) {
            (Decision::Done(_), Some(again)) => Decision::Measure(again),
            (decision, _) => decision,
        }
    }

    fn remaining_trials(&self, evidence: &Evidence) -> usize {
        let of_rounds = self.rounds.remaining_trials(evidence);
        of_rounds.max(usize::from(self.retry(evidence).is_some()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RequestOutcome;
    use std::{collections::BTreeMap, time::Duration};

    fn policy(cells: usize, retries: u32) -> TestPolicy {
        TestPolicy {
            rounds: RunPolicy {
                cells,
                from: 1,
                rounds: 1,
                seed: 1,
                testbeds: 1,
            },
            retries,
            failed: MetricName::new("failed").unwrap(),
            not_run: MetricName::new("notrun").unwrap(),
        }
    }

    /// The runs of each cell, where `failures` says how many tests fail in a run of a cell; none: the trial fails.
    fn runs(policy: &TestPolicy, failures: impl Fn(usize, u32) -> Option<f64>) -> Vec<u32> {
        runs_with(policy, &policy.failed, failures)
    }

    fn runs_with(
        policy: &TestPolicy,
        metric: &MetricName,
        failures: impl Fn(usize, u32) -> Option<f64>,
    ) -> Vec<u32> {
        let mut evidence = Evidence::default();
        let mut runs = vec![0; policy.rounds.cells];
        while let Decision::Measure(request) = policy.decide(&evidence) {
            assert!(policy.remaining_trials(&evidence) > 0);
            runs[request.cell] += 1;
            let failed = failures(request.cell, runs[request.cell]);
            evidence.observations.push(Observation {
                request,
                outcome: match failed {
                    Some(_) => RequestOutcome::Measured,
                    None => RequestOutcome::Failed,
                },
                figures: failed
                    .map(|failed| BTreeMap::from([(metric.clone(), failed)]))
                    .unwrap_or_default(),
                took: Duration::ZERO,
            });
        }
        runs
    }

    #[test]
    fn a_suite_with_failures_is_run_again_until_it_is_in_order_or_often_enough() {
        let failures = |cell: usize, run: u32| match cell {
            0 => Some(0.0),
            1 => Some(2.0),
            2 => Some(if run < 3 { 1.0 } else { 0.0 }),
            _ => (run > 1).then_some(0.0),
        };
        assert_eq!(runs(&policy(4, 0), failures), [1, 1, 1, 2]);
        assert_eq!(runs(&policy(4, 1), failures), [1, 2, 2, 2]);
        assert_eq!(runs(&policy(4, 5), failures), [1, 6, 3, 2]);
        let policy = policy(4, 1);
        let not_run = runs_with(&policy, &policy.not_run, failures);
        assert_eq!(not_run, [1, 2, 2, 2]);
    }
}
