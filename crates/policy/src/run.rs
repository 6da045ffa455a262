//! Policy of `run`: each cell once a round, in an order that is shuffled for each round.
//!
//! Several testbeds share each round as in a Latin square: a round measures a cell on one testbed, the next one on the next testbed.
//! After as many rounds as there are testbeds, each cell was measured once on each, so that what machines differ by is the same
//! in all cells. Which testbed measures what doesn't depend on how fast they are; each goes through its own part of the rounds.

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
    /// How many testbeds measure at once.
    pub testbeds: usize,
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

    /// The testbed of each cell, by number, in the first round: as many cells on each as can be.
    fn first_testbeds(&self) -> Vec<usize> {
        let mut testbeds = vec![0; self.cells];
        // No round has the number 0.
        for (place, cell) in self.order(0).into_iter().enumerate() {
            testbeds[cell] = place % self.testbeds.max(1);
        }
        testbeds
    }

    /// The first cell of a round that is missing, in the order of the rounds; of a testbed's own part, if one is named.
    fn next_request(
        &self,
        evidence: &Evidence,
        testbed: Option<usize>,
        under_way: &[Request],
    ) -> Option<Request> {
        let places = |seen: &Request| (seen.round, seen.cell);
        let seen: HashSet<(u32, usize)> = (evidence.observations.iter().map(|o| &o.request))
            .chain(under_way)
            .map(places)
            .collect();
        let first = self.first_testbeds();
        let all = self.testbeds.max(1);
        let of_round = |round: u32, cell: usize| {
            let shift = round.saturating_sub(1) as usize % all;
            (first[cell] + shift) % all
        };
        (self.from.max(1)..=self.rounds).find_map(|round| {
            let is_missing = |cell: &usize| {
                let is_own = testbed.is_none_or(|it| it == of_round(round, *cell));
                is_own && !seen.contains(&(round, *cell))
            };
            // Shuffled only where something is missing.
            (0..self.cells).find(is_missing)?;
            let cell = self.order(round).into_iter().find(is_missing)?;
            Some(Request {
                testbed: of_round(round, cell),
                ..Request::as_found(cell, round)
            })
        })
    }

    fn verdict(evidence: &Evidence) -> RunVerdict {
        let measured = evidence.observations.iter().filter(|o| o.measured());
        let measured = measured.count();
        RunVerdict {
            measured,
            failed: evidence.observations.len() - measured,
        }
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
        match self.next_request(evidence, None, &[]) {
            Some(request) => Decision::Measure(request),
            None => Decision::Done(Self::verdict(evidence)),
        }
    }

    fn decide_for_testbed(
        &self,
        evidence: &Evidence,
        testbed: usize,
        under_way: &[Request],
    ) -> Option<Decision<RunVerdict>> {
        if let Some(request) = self.next_request(evidence, Some(testbed), under_way) {
            return Some(Decision::Measure(request));
        }
        let is_over = under_way.is_empty() && self.remaining_trials(evidence) == 0;
        is_over.then(|| Decision::Done(Self::verdict(evidence)))
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
            let policy = RunPolicy { cells, from: 1, rounds, seed, testbeds: 1 };
            let asked = replay(&policy, |n| n % 3 != 0);
            let distinct: HashSet<Request> = asked.iter().copied().collect();
            prop_assert_eq!(asked.len(), cells * rounds as usize);
            prop_assert_eq!(distinct.len(), asked.len());
            prop_assert!(asked.is_sorted_by_key(|request| request.round));
        }

        #[test]
        fn any_prefix_of_the_evidence_gives_the_same_next_request(cells in 1usize..8, seed: u32, cut in 0usize..24) {
            let policy = RunPolicy { cells, from: 1, rounds: 3, seed, testbeds: 1 };
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
            testbeds: 1,
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
            testbeds: 1,
        };
        assert_ne!(policy.order(1), policy.order(2));
        assert_eq!(policy.order(1), policy.clone().order(1));
        assert_ne!(policy.order(1), RunPolicy { seed: 8, ..policy }.order(1));
    }

    /// Measures on testbeds whose trials take different times; returns what each cell measured, by testbed, and how long it took.
    fn measured_at_once(
        policy: &RunPolicy,
        speeds: &[u64],
        value: impl Fn(&Request) -> f64,
    ) -> (Vec<Observation>, u64) {
        let metric = backsight_model::MetricName::new("time").unwrap();
        let mut evidence = Evidence::default();
        let mut busy: Vec<Option<(u64, Request)>> = vec![None; speeds.len()];
        let mut now = 0;
        loop {
            for testbed in 0..speeds.len() {
                let under_way: Vec<Request> = busy.iter().flatten().map(|it| it.1).collect();
                if busy[testbed].is_some() {
                    continue;
                }
                match policy.decide_for_testbed(&evidence, testbed, &under_way) {
                    Some(Decision::Measure(request)) => {
                        assert_eq!(request.testbed, testbed);
                        assert!(!under_way.contains(&request));
                        busy[testbed] = Some((now + speeds[testbed], request));
                    }
                    Some(Decision::Done(_)) => return (evidence.observations, now),
                    None => {}
                }
            }
            let next = busy.iter().flatten().map(|it| it.0).min();
            now = next.expect("somebody measures, or it is over");
            for place in &mut busy {
                if let Some((_, request)) = place.take_if(|it| it.0 == now) {
                    evidence.observations.push(Observation {
                        figures: BTreeMap::from([(metric.clone(), value(&request))]),
                        request,
                        outcome: RequestOutcome::Measured,
                        took: Duration::ZERO,
                    });
                }
            }
        }
    }

    proptest! {
        #[test]
        fn each_cell_is_measured_equally_often_on_each_testbed(
            cells in 1usize..10, testbeds in 1usize..6, times in 1u32..4, seed: u32, slow in 1u64..20,
        ) {
            let rounds = times * testbeds as u32;
            let policy = RunPolicy { cells, from: 1, rounds, seed, testbeds };
            let mut speeds = vec![1; testbeds];
            speeds[0] = slow;
            let (seen, _) = measured_at_once(&policy, &speeds, |_| 1.0);
            prop_assert_eq!(seen.len(), cells * rounds as usize);
            for cell in 0..cells {
                for testbed in 0..testbeds {
                    let of = |it: &&Observation| (it.request.cell, it.request.testbed) == (cell, testbed);
                    prop_assert_eq!(seen.iter().filter(of).count(), times as usize);
                }
            }
            // In each round the testbeds' shares differ by one cell at most.
            for round in 1..=rounds {
                let share = |testbed| seen.iter()
                    .filter(|it| (it.request.round, it.request.testbed) == (round, testbed)).count();
                let shares: Vec<usize> = (0..testbeds).map(share).collect();
                let (least, most) = (shares.iter().min().unwrap(), shares.iter().max().unwrap());
                prop_assert!(most - least <= 1, "{shares:?}");
            }
        }

        #[test]
        fn a_study_of_several_testbeds_goes_on_from_whatever_was_kept(
            cells in 1usize..6, testbeds in 1usize..5, seed: u32, kept: u64,
        ) {
            let policy = RunPolicy { cells, from: 1, rounds: 4, seed, testbeds };
            let (whole, _) = measured_at_once(&policy, &vec![1; testbeds], |_| 1.0);
            let seen = whole.iter().enumerate().filter(|(place, _)| kept >> (place % 64) & 1 == 1);
            // A store needn't know the testbed of what was measured.
            let seen: Vec<Observation> = seen
                .map(|(_, it)| Observation { request: Request { testbed: 0, ..it.request }, ..it.clone() })
                .collect();
            let mut evidence = Evidence::from_observations(seen);
            let mut asked: HashSet<(u32, usize)> = evidence.observations.iter()
                .map(|it| (it.request.round, it.request.cell)).collect();
            for testbed in (0..testbeds).cycle() {
                match policy.decide_for_testbed(&evidence, testbed, &[]) {
                    Some(Decision::Measure(request)) => {
                        let before = whole.iter().find(|it| {
                            (it.request.round, it.request.cell) == (request.round, request.cell)
                        });
                        prop_assert_eq!(before.unwrap().request, request);
                        prop_assert!(asked.insert((request.round, request.cell)));
                        evidence.observations.push(before.unwrap().clone());
                    }
                    Some(Decision::Done(_)) => break,
                    None => {}
                }
            }
            prop_assert_eq!(asked.len(), cells * 4);
        }
    }

    #[test]
    fn an_offset_of_a_testbed_shifts_no_cell_against_another() {
        let policy = RunPolicy {
            cells: 5,
            from: 1,
            rounds: 8,
            seed: 3,
            testbeds: 4,
        };
        // The last testbed is slower by a fifth, and cell 1 by 2 % everywhere.
        let value = |request: &Request| {
            let of_testbed = [1.0, 1.0, 1.0, 1.2][request.testbed];
            let of_cell = if request.cell == 1 { 1.02 } else { 1.0 };
            100.0 * of_testbed * of_cell
        };
        let (seen, took) = measured_at_once(&policy, &[10; 4], value);
        assert_eq!(took, 100, "40 trials of 10 on four testbeds");
        let metric = backsight_model::MetricName::new("time").unwrap();
        let mean = |cell: usize| {
            let of_cell = seen.iter().filter(|it| it.request.cell == cell);
            let values: Vec<f64> = of_cell.filter_map(|it| it.value(&metric)).collect();
            values.iter().sum::<f64>() / values.len() as f64
        };
        for cell in [0, 2, 3, 4] {
            assert!((mean(1) / mean(cell) - 1.02).abs() < 1e-9);
        }
    }
}
