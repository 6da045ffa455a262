//! Policy of `run`: each cell once a round, in an order that is shuffled for each round.

use rand::{SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use std::collections::HashSet;

use crate::{Decision, Evidence, Observation, Policy, Request};

/// Every cell in every round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunPolicy {
    /// How many cells the plan has.
    pub cells: usize,
    /// The first round that is asked for; earlier ones are as they are. 1 where all are.
    pub from: u32,
    /// The last round.
    pub rounds: u32,
    /// Seed of the order.
    pub seed: u32,
}

/// What a run came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunVerdict {
    /// Trials that gave samples.
    pub measured: usize,
    /// Trials that failed.
    pub failed: usize,
}

impl RunPolicy {
    /// The order of the cells in this round: the same for the same seed, another in another round, so that
    /// no cell always follows the same neighbour.
    pub fn order(&self, round: u32) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.cells).collect();
        let mut random = ChaCha8Rng::seed_from_u64(u64::from(self.seed) << 32 | u64::from(round));
        order.shuffle(&mut random);
        order
    }

    /// What was seen of the rounds that are asked for.
    fn seen<'a>(&self, evidence: &'a Evidence) -> impl Iterator<Item = &'a Observation> {
        let rounds = self.from.max(1)..=self.rounds;
        let seen = evidence.observations.iter();
        seen.filter(move |seen| rounds.contains(&seen.request.round))
    }
}

impl Policy for RunPolicy {
    type Verdict = RunVerdict;

    fn decide(&self, evidence: &Evidence) -> Decision<RunVerdict> {
        let seen: HashSet<Request> = evidence.observations.iter().map(|o| o.request).collect();
        // Rounds are done in order, so the first one with a hole is near the last one seen.
        let complete = self.seen(evidence).count() / self.cells.max(1);
        let beyond = self.from.max(1) + complete as u32;
        let first = (self.from.max(1)..beyond)
            .find(|round| {
                (0..self.cells).any(|cell| !seen.contains(&Request::as_found(cell, *round)))
            })
            .unwrap_or(beyond);
        for round in first..=self.rounds {
            for cell in self.order(round) {
                let request = Request::as_found(cell, round);
                if !seen.contains(&request) {
                    return Decision::Measure(request);
                }
            }
        }
        let measured = evidence
            .observations
            .iter()
            .filter(|o| o.measured())
            .count();
        Decision::Done(RunVerdict {
            measured,
            failed: evidence.observations.len() - measured,
        })
    }

    fn remaining_trials(&self, evidence: &Evidence) -> usize {
        let rounds = (self.rounds + 1).saturating_sub(self.from.max(1));
        let all = self.cells * rounds as usize;
        all.saturating_sub(self.seen(evidence).count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RequestOutcome;
    use proptest::prelude::*;
    use std::{collections::BTreeMap, time::Duration};

    fn replay(policy: &RunPolicy, keep: impl Fn(usize) -> bool) -> Vec<Request> {
        let mut evidence = Evidence::default();
        let mut asked = Vec::new();
        while let Decision::Measure(request) = policy.decide(&evidence) {
            let outcome = match keep(asked.len()) {
                true => RequestOutcome::Measured,
                false => RequestOutcome::Failed,
            };
            assert!(
                policy.remaining_trials(&evidence) > 0,
                "asks for more than it said"
            );
            asked.push(request);
            evidence.observations.push(Observation {
                request,
                outcome,
                figures: BTreeMap::new(),
                took: Duration::ZERO,
            });
        }
        asked
    }

    proptest! {
        #[test]
        fn every_cell_is_asked_for_once_in_every_round(cells in 0usize..12, rounds in 1u32..6, seed: u32) {
            let policy = RunPolicy { cells, from: 1, rounds, seed };
            let asked = replay(&policy, |n| n % 3 != 0);
            let distinct: HashSet<Request> = asked.iter().copied().collect();
            prop_assert_eq!(asked.len(), cells * rounds as usize);
            prop_assert_eq!(distinct.len(), asked.len());
            prop_assert!(asked.is_sorted_by_key(|request| request.round));
        }

        #[test]
        fn any_prefix_of_the_evidence_gives_the_same_next_request(cells in 1usize..8, seed: u32, cut in 0usize..24) {
            let policy = RunPolicy { cells, from: 1, rounds: 3, seed };
            let asked = replay(&policy, |_| true);
            let cut = cut.min(asked.len() - 1);
            let seen = |request: &Request| Observation {
                request: *request,
                outcome: RequestOutcome::Measured,
                figures: BTreeMap::new(),
                took: Duration::ZERO,
            };
            let evidence = Evidence::from_observations(asked[..cut].iter().map(seen).collect());
            prop_assert_eq!(policy.decide(&evidence), Decision::Measure(asked[cut]));
        }
    }

    #[test]
    fn rounds_are_added_to_a_study_and_earlier_ones_left_as_they_are() {
        let few = RunPolicy {
            cells: 3,
            from: 1,
            rounds: 2,
            seed: 7,
        };
        let seen = |request: &Request| Observation {
            request: *request,
            outcome: RequestOutcome::Measured,
            figures: BTreeMap::new(),
            took: Duration::ZERO,
        };
        let mut before: Vec<Observation> = replay(&few, |_| true).iter().map(seen).collect();
        let more = RunPolicy {
            rounds: 4,
            ..few.clone()
        };
        assert_eq!(
            more.remaining_trials(&Evidence::from_observations(before.clone())),
            6
        );
        // A cell that was decided wasn't measured in the second round, and isn't now.
        before.pop();
        let from = RunPolicy { from: 3, ..more };
        let mut evidence = Evidence::from_observations(before);
        let mut asked = Vec::new();
        while let Decision::Measure(request) = from.decide(&evidence) {
            assert_eq!(from.remaining_trials(&evidence), 6 - asked.len());
            evidence.observations.push(seen(&request));
            asked.push(request.round);
        }
        assert_eq!(asked, [3, 3, 3, 4, 4, 4]);
    }

    #[test]
    fn the_order_differs_between_rounds_and_not_between_runs() {
        let policy = RunPolicy {
            cells: 20,
            from: 1,
            rounds: 2,
            seed: 7,
        };
        assert_ne!(policy.order(1), policy.order(2));
        assert_eq!(policy.order(1), policy.clone().order(1));
        assert_ne!(policy.order(1), RunPolicy { seed: 8, ..policy }.order(1));
    }
}
