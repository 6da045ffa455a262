//! Policy of `bisect --test`: finds the version at which a test's failure probability changed, up or down, also where the test
//! only fails sometimes.
//!
//! A trial is a run of the test; its figure is 1 if it failed and 0 if it passed. A trial without a figure says nothing: the
//! test was skipped. Both ends are run first. As long as nothing seems to have changed only they are run; then
//! [`FailurePosterior::next`] chooses the version whose runs tell most for their cost, which is learnt from the builds, boots
//! and trials so far. Before a version is named, both ends are run again unless they were in the second half of the study: a
//! machine on which everything fails since noon names no culprit.
//!
//! A version that doesn't build, boot or run is passed over; the answer then names the stretch of versions around it.
//!
//! One change is searched for. Where there are several, one of them is named.

use backsight_model::MetricName;
use backsight_stats::{
    Confidence,
    culprits::ChangeLocation,
    failures::{FailureCount, FailurePosterior, FailurePriors, FailureRate},
};
use std::{collections::HashMap, time::Duration};

use crate::{BisectEnd, Decision, Evidence, Policy, Request, evidence_index::EvidenceIndex};

/// Numbers that the search depends on. Chosen by simulation: docs/quality.md, "Which change broke a test".
struct TestBisectParameters {
    /// Runs of each end before anything else.
    end_runs: u64,
    /// From this probability of a change on, versions between the ends are run. A smaller value builds versions where nothing
    /// changed.
    likely_change: f64,
    /// Boots that fail, or trials that say nothing, after which a version is passed over.
    max_fruitless: usize,
    /// Entropy that a run removes on average, in nats; only for the estimate of how many are left.
    nats_per_run: f64,
}

const SEARCH: TestBisectParameters = TestBisectParameters {
    end_runs: 3,
    likely_change: 0.8,
    max_fruitless: 2,
    nats_per_run: 0.1,
};

/// A bisection of one test's failure probability along a history.
#[derive(Debug, Clone, PartialEq)]
pub struct TestBisectPolicy {
    /// Number of versions; the first and the last are the ends.
    pub versions: usize,
    /// Number of the cell that runs the test, in the plan's order.
    pub cell: usize,
    /// The metric that is 1 if the test failed and 0 if it passed.
    pub metric: MetricName,
    /// Whether a boot can be used again after others: programs run from their folder, and nothing is started. Otherwise each
    /// run is on a boot of its own, because runs of one boot may fail together.
    pub revisits: bool,
    /// What is probable beforehand, and the smallest change that counts.
    pub priors: FailurePriors,
    /// Probability with which the named version is right.
    pub confidence: Confidence,
    /// Limit of the time of builds, boots and trials together.
    pub budget: Option<Duration>,
    /// Maximum number of trials.
    pub most: usize,
}

/// Result of a bisection of a test, final or so far.
#[derive(Debug, Clone, PartialEq)]
pub struct TestBisectVerdict {
    /// Why the bisection ended; `None` while it goes on.
    pub ended: Option<BisectEnd>,
    /// The change; `None` before it is decided, or if nothing changed.
    pub culprit: Option<TestCulprit>,
    /// Probability that the failure probability of the ends is the same, or differs by less than the smallest change that counts.
    pub no_change: f64,
    /// Each stretch of versions that may have the change, with its probability.
    pub places: Vec<(ChangeLocation, f64)>,
    /// Position and runs of each version with a result.
    pub measured: Vec<(usize, FailureCount)>,
    /// Versions that can't be run.
    pub broken: Vec<usize>,
    /// Number of trials with a result, and of those without one.
    pub trials: (usize, usize),
    /// Time of builds, boots and trials.
    pub spent: Duration,
}

/// The version, or stretch of versions, that changed the failure probability.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TestCulprit {
    /// One of the versions after `after`, up to `until`.
    pub place: ChangeLocation,
    /// Probability that the change is there.
    pub probability: f64,
    /// All runs of versions before.
    pub before: FailureRate,
    /// All runs of versions since.
    pub after: FailureRate,
}

/// The evidence, indexed for one decision.
struct TestBisectEvidence<'a> {
    index: EvidenceIndex<'a>,
    counts: Vec<FailureCount>,
    /// Number of trials by version, with a result or not.
    tried: Vec<u64>,
    broken: Vec<usize>,
    trials: (usize, usize),
    /// Whether each end was run in the second half of the runs.
    fresh: [bool; 2],
    /// Mean duration of a trial.
    trial_seconds: f64,
}

impl TestBisectPolicy {
    fn index_evidence<'a>(&self, evidence: &'a Evidence) -> TestBisectEvidence<'a> {
        let mut seen = TestBisectEvidence {
            index: EvidenceIndex::new(evidence),
            counts: vec![FailureCount::default(); self.versions],
            tried: vec![0; self.versions],
            broken: Vec::new(),
            trials: (0, 0),
            fresh: [false; 2],
            trial_seconds: 1.0,
        };
        let trials = evidence.observations.iter().filter(|seen| {
            seen.is_trial()
                && seen.request.cell == self.cell
                && seen.request.version < self.versions
        });
        let mut fruitless: HashMap<usize, usize> = HashMap::new();
        let mut order = Vec::new();
        let (mut took, mut timed) = (Duration::ZERO, 0);
        for trial in trials {
            let version = trial.request.version;
            seen.tried[version] += 1;
            // Trials of other studies cost nothing.
            took += trial.took;
            timed += u32::from(!trial.took.is_zero());
            match trial.value(&self.metric) {
                Some(value) if trial.measured() => {
                    seen.trials.0 += 1;
                    seen.counts[version].runs += 1;
                    seen.counts[version].failures += u64::from(value != 0.0);
                    order.push(version);
                }
                _ => {
                    seen.trials.1 += 1;
                    *fruitless.entry(version).or_default() += 1;
                }
            }
        }
        if timed > 0 {
            seen.trial_seconds = took.as_secs_f64() / f64::from(timed);
        }
        for (version, ..) in &seen.index.unbooted {
            *fruitless.entry(*version).or_default() += 1;
        }
        let is_broken = |version: &usize| {
            let times = fruitless.get(version).copied().unwrap_or(0);
            let is_unbuilt = seen.index.unbuilt.contains(&(*version, 0));
            seen.counts[*version].runs == 0 && (is_unbuilt || times >= SEARCH.max_fruitless)
        };
        seen.broken = (0..self.versions).filter(is_broken).collect();
        let second_half = &order[order.len() / 2..];
        seen.fresh = self.ends().map(|end| second_half.contains(&end));
        seen
    }

    fn ends(&self) -> [usize; 2] {
        [0, self.versions.saturating_sub(1)]
    }

    fn estimate_posterior(&self, seen: &TestBisectEvidence<'_>) -> Option<FailurePosterior> {
        FailurePosterior::from_counts(&seen.counts, &seen.broken, &self.priors)
    }

    /// The next trial of a version that says something new, if there is one.
    fn trial_of(&self, version: usize, seen: &TestBisectEvidence<'_>) -> Option<Request> {
        let request = |number: u32| {
            let (boot, round) = match self.revisits {
                true => (1, number),
                false => (number, 1),
            };
            Request {
                testbed: 0,
                version,
                layout: 0,
                boot,
                cell: self.cell,
                round,
            }
        };
        let known = seen.index.trials.len() + seen.index.unbooted.len();
        let mut requests = (1..=known as u32 + 1).map(request);
        requests.find(|request| !seen.index.is_settled(request))
    }

    /// The next trial; the reason if the bisection ends.
    fn next(
        &self,
        evidence: &Evidence,
        seen: &TestBisectEvidence<'_>,
        posterior: Option<&FailurePosterior>,
    ) -> Result<Request, BisectEnd> {
        if self.versions < 2 {
            return Err(BisectEnd::Short);
        }
        if self.budget.is_some_and(|budget| evidence.spent() >= budget) {
            return Err(BisectEnd::Budget);
        }
        if let Some(end) = self
            .ends()
            .into_iter()
            .find(|end| seen.broken.contains(end))
        {
            return Err(BisectEnd::End(end));
        }
        if seen.trials.0 + seen.trials.1 >= self.most {
            return Err(BisectEnd::Most);
        }
        let posterior = posterior.ok_or(BisectEnd::Short)?;
        let version = self.next_version(evidence, seen, posterior)?;
        self.trial_of(version, seen).ok_or(BisectEnd::Most)
    }

    fn next_version(
        &self,
        evidence: &Evidence,
        seen: &TestBisectEvidence<'_>,
        posterior: &FailurePosterior,
    ) -> Result<usize, BisectEnd> {
        let ends = self.ends();
        // In turn: a drift of the machine makes no difference between them.
        let less_tried = match seen.tried[ends[1]] < seen.tried[ends[0]] {
            true => ends[1],
            false => ends[0],
        };
        if ends
            .iter()
            .any(|end| seen.counts[*end].runs < SEARCH.end_runs)
        {
            return Ok(less_tried);
        }
        let confidence = self.confidence.share();
        if posterior.no_change_probability() >= confidence {
            return Err(BisectEnd::Decided);
        }
        if posterior
            .most_probable()
            .is_some_and(|(_, p)| p >= confidence)
        {
            return match seen.fresh {
                [true, true] => Err(BisectEnd::Decided),
                [false, _] => Ok(ends[0]),
                [true, false] => Ok(ends[1]),
            };
        }
        if 1.0 - posterior.no_change_probability() < SEARCH.likely_change {
            return Ok(less_tried);
        }
        let boot = if self.revisits {
            0.0
        } else {
            evidence.mean_boot()
        };
        let repeat = seen.trial_seconds + boot;
        // A new version always has a cost: it may be broken.
        let build = evidence.mean_build().max(repeat);
        let first = seen.tried.iter().map(|tried| match tried {
            0 => build,
            _ => 0.0,
        });
        Ok(posterior.next(repeat, &first.collect::<Vec<f64>>()).at)
    }

    /// Computes the verdict so far.
    pub fn verdict(&self, evidence: &Evidence) -> TestBisectVerdict {
        let seen = self.index_evidence(evidence);
        let posterior = self.estimate_posterior(&seen);
        let ended = self.next(evidence, &seen, posterior.as_ref()).err();
        let most_probable = posterior.as_ref().and_then(FailurePosterior::most_probable);
        let is_named = |(_, probability): &(ChangeLocation, f64)| {
            ended == Some(BisectEnd::Decided) && *probability >= self.confidence.share()
        };
        let culprit = most_probable.filter(is_named);
        let rate = |counts: &[FailureCount]| {
            let count: FailureCount = counts.iter().copied().sum();
            count.rate(self.confidence)
        };
        let culprit = culprit.and_then(|(place, probability)| {
            Some(TestCulprit {
                place,
                probability,
                before: rate(&seen.counts[..=place.after])?,
                after: rate(&seen.counts[place.until..])?,
            })
        });
        let measured = seen.counts.iter().copied().enumerate();
        TestBisectVerdict {
            ended,
            culprit,
            no_change: posterior
                .as_ref()
                .map_or(0.0, FailurePosterior::no_change_probability),
            places: posterior.map_or(Vec::new(), |posterior| posterior.locations()),
            measured: measured.filter(|(_, count)| count.runs > 0).collect(),
            broken: seen.broken,
            trials: seen.trials,
            spent: evidence.spent(),
        }
    }
}

impl Policy for TestBisectPolicy {
    type Verdict = TestBisectVerdict;

    fn decide(&self, evidence: &Evidence) -> Decision<TestBisectVerdict> {
        let seen = self.index_evidence(evidence);
        let posterior = self.estimate_posterior(&seen);
        match self.next(evidence, &seen, posterior.as_ref()) {
            Ok(request) => Decision::Measure(request),
            Err(_) => Decision::Done(self.verdict(evidence)),
        }
    }

    fn remaining_trials(&self, evidence: &Evidence) -> usize {
        let seen = self.index_evidence(evidence);
        let posterior = self.estimate_posterior(&seen);
        if self.next(evidence, &seen, posterior.as_ref()).is_err() {
            return 0;
        }
        let unknown = posterior.map_or(0.0, |posterior| posterior.entropy());
        let left = self.most.saturating_sub(seen.trials.0 + seen.trials.1);
        ((unknown / SEARCH.nats_per_run).ceil() as usize).clamp(1, left.max(1))
    }

    fn suspects(&self, evidence: &Evidence) -> Vec<(ChangeLocation, f64)> {
        let posterior = self.estimate_posterior(&self.index_evidence(evidence));
        let mut places = posterior.map_or(Vec::new(), |posterior| posterior.locations());
        places.sort_by(|a, b| b.1.total_cmp(&a.1));
        places
    }
}

#[cfg(test)]
mod tests;
