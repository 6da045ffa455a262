//! Policy of `overhead`: each cell unwatched, with each monitor alone and with all of them, side by side, until the cost of
//! each monitor is decided.
//!
//! A round is a block of all sides of each cell. Every second block has the reverse order of the one before, and each such pair
//! begins with another side, so that a drift of the machine meets all sides alike and no side always follows the same
//! neighbour.
//!
//! The intervals of one monitor hold together: 5 % is divided by its rows (cells × metrics) and, unless the number of rounds is
//! fixed beforehand, by the number of looks at the evidence (Bonferroni's inequality). So at most 5 of 100 studies find a cost
//! of a monitor without one. Rounds added to a study are one more look; the study stops at looks only. Primary metrics, which
//! decide, have 5 % of their own, and so have the others.
//!
//! Sides are compared within their rounds: see [`MonitorEffect`].

mod cost;

pub use cost::{CostCall, MonitorCost, MonitorEffect, SideMean};

use backsight_model::MetricName;
use backsight_stats::Confidence;
use std::{
    collections::{BTreeMap, HashSet},
    time::Duration,
};

use self::cost::{Pairs, call};
use crate::{Decision, Evidence, Observation, Policy, Request, RequestedMetric};

/// After so many rounds the evidence is looked at, unless the number of rounds is fixed; the last is the end.
const ROUNDS_AT_LOOKS: [u32; 4] = [4, 8, 16, 32];

/// The share of monitors without a cost that may be said to have one.
const FALSE_COST_RATE: f64 = 0.05;

/// What is asked of the cost of watching. A study's cells are numbered by the plan's cell, then by side: unwatched, each
/// monitor alone, all together where there are several.
#[derive(Debug, Clone, PartialEq)]
pub struct OverheadPolicy {
    /// The metrics of each cell of the plan; primary ones decide.
    pub cells: Vec<Vec<RequestedMetric>>,
    /// How many monitors.
    pub monitors: usize,
    /// Exactly so many rounds; until all is decided unless said.
    pub rounds: Option<u32>,
    /// How often it was looked at before rounds were added to it.
    pub looked: usize,
    /// What the trials may take in all.
    pub budget: Option<Duration>,
    /// A cost within this percentage is no matter.
    pub margin_percent: f64,
}

/// What watches a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MonitorSet {
    /// Nothing.
    Not,
    /// This monitor alone, by its number from 0.
    By(usize),
    /// All monitors.
    Together,
}

/// What watching costs.
#[derive(Debug, Clone, PartialEq)]
pub struct OverheadVerdict {
    /// Rounds that were done whole.
    pub rounds: u32,
    /// The confidence of each interval of what decides; those of one monitor hold together with 95%.
    pub confidence: Confidence,
    /// Whether every cost that decides is decided.
    pub decided: bool,
    /// By cell, metric and what watches.
    pub costs: Vec<MonitorCost>,
    /// What a round takes, by the trials so far.
    pub round_took: Option<Duration>,
}

impl OverheadPolicy {
    /// What watches, side by side.
    pub fn sides(&self) -> Vec<MonitorSet> {
        let alone = (0..self.monitors).map(MonitorSet::By);
        let together = (self.monitors > 1).then_some(MonitorSet::Together);
        std::iter::once(MonitorSet::Not)
            .chain(alone)
            .chain(together)
            .collect()
    }

    /// The study's cells in this round, in order.
    pub fn order(&self, round: u32) -> Vec<usize> {
        let sides = self.sides().len();
        let pair = (round.saturating_sub(1) / 2) as usize;
        let mut block: Vec<usize> = (0..sides).map(|side| (side + pair) % sides).collect();
        if round.is_multiple_of(2) {
            block.reverse();
        }
        let of_cell = |cell| block.iter().map(move |side| cell * sides + side);
        (0..self.cells.len()).flat_map(of_cell).collect()
    }

    /// Rounds that there are at most.
    pub fn most_rounds(&self) -> u32 {
        self.rounds
            .unwrap_or(ROUNDS_AT_LOOKS[ROUNDS_AT_LOOKS.len() - 1])
    }

    /// How often the evidence may be looked at: the end of the budget is a look of its own.
    pub fn looks(&self) -> usize {
        self.looked
            + match self.rounds {
                Some(_) => 1,
                None => ROUNDS_AT_LOOKS.len() + usize::from(self.budget.is_some()),
            }
    }

    /// The confidence of each interval of the metrics that decide, or of the others.
    fn confidence(&self, decides: bool) -> Confidence {
        let metrics = self.cells.iter().flatten();
        let rows = metrics.filter(|metric| metric.decides == decides).count();
        let parts = rows.max(1) * self.looks();
        Confidence::new(1.0 - FALSE_COST_RATE / parts as f64).unwrap_or(Confidence::USUAL)
    }

    fn round_took(&self, evidence: &Evidence) -> Option<Duration> {
        let trials = evidence.observations.len();
        let round = self.cells.len() * self.sides().len();
        (trials > 0).then(|| evidence.spent().mul_f64(round as f64 / trials as f64))
    }

    /// Rounds that have been done whole, from the first on.
    fn complete(&self, seen: &HashSet<Request>) -> u32 {
        let whole = |round: &u32| {
            let mut asked = self.order(*round).into_iter();
            asked.all(|cell| seen.contains(&Request::as_found(cell, *round)))
        };
        let done = (1..=self.most_rounds()).take_while(whole).count();
        u32::try_from(done).unwrap_or(u32::MAX)
    }

    /// Whether there is no time for the rest of this round.
    fn is_spent(&self, evidence: &Evidence, complete: u32, begun: bool) -> bool {
        let Some(budget) = self.budget else {
            return false;
        };
        let spent = evidence.spent();
        let round = match begun || complete < 2 {
            // What was begun is finished if it can be.
            true => Duration::ZERO,
            false => spent / complete,
        };
        spent + round >= budget
    }

    /// What is known after these rounds.
    pub fn verdict(&self, evidence: &Evidence) -> OverheadVerdict {
        let seen = evidence.observations.iter().map(|o| o.request).collect();
        self.judged(evidence, self.complete(&seen))
    }

    fn judged(&self, evidence: &Evidence, rounds: u32) -> OverheadVerdict {
        let sides = self.sides();
        let mut costs = Vec::new();
        for (cell, metrics) in self.cells.iter().enumerate() {
            for RequestedMetric {
                name: metric,
                better,
                decides,
            } in metrics
            {
                let confidence = self.confidence(*decides);
                let values = |side: usize| {
                    let number = cell * sides.len() + side;
                    values(evidence, number, metric, rounds)
                };
                let unwatched = values(0);
                for (side, watched_by) in sides.iter().enumerate().skip(1) {
                    let watched = values(side);
                    let both = |(round, value): (&u32, &f64)| Some((*value, *watched.get(round)?));
                    let pairs = Pairs::new(unwatched.iter().filter_map(both));
                    let effect = pairs.effect(confidence);
                    let rounds = pairs.rounds();
                    costs.push(MonitorCost {
                        cell,
                        metric: metric.clone(),
                        better: *better,
                        decides: *decides,
                        confidence,
                        watched_by: *watched_by,
                        call: effect.map_or(CostCall::Missing, |effect| {
                            call(&effect, *better, rounds, self.margin_percent)
                        }),
                        rounds,
                        sides: pairs.sides(*better),
                        effect,
                    });
                }
            }
        }
        let is_open =
            |cost: &MonitorCost| cost.decides && matches!(cost.call, CostCall::CannotTell { .. });
        OverheadVerdict {
            rounds,
            confidence: self.confidence(true),
            decided: !costs.iter().any(is_open),
            costs,
            round_took: self.round_took(evidence),
        }
    }
}

/// A side's values by round.
fn values(
    evidence: &Evidence,
    cell: usize,
    metric: &MetricName,
    rounds: u32,
) -> BTreeMap<u32, f64> {
    let of_cell =
        |o: &&Observation| o.measured() && o.request.cell == cell && o.request.round <= rounds;
    let of_cell = evidence.observations.iter().filter(of_cell);
    of_cell
        .filter_map(|o| Some((o.request.round, *o.figures.get(metric)?)))
        .collect()
}

impl Policy for OverheadPolicy {
    type Verdict = OverheadVerdict;

    fn decide(&self, evidence: &Evidence) -> Decision<OverheadVerdict> {
        let seen: HashSet<Request> = evidence.observations.iter().map(|o| o.request).collect();
        let complete = self.complete(&seen);
        let look = self.rounds.is_none() && ROUNDS_AT_LOOKS.contains(&complete);
        let judged = || self.judged(evidence, complete);
        if complete >= self.most_rounds() {
            return Decision::Done(judged());
        }
        let next = complete + 1;
        let missing: Vec<usize> = self
            .order(next)
            .into_iter()
            .filter(|cell| !seen.contains(&Request::as_found(*cell, next)))
            .collect();
        let begun = missing.len() < self.cells.len() * self.sides().len();
        if !begun && look {
            let verdict = judged();
            if verdict.decided {
                return Decision::Done(verdict);
            }
        }
        match missing.first() {
            Some(cell) if !self.is_spent(evidence, complete, begun) => {
                Decision::Measure(Request::as_found(*cell, next))
            }
            _ => Decision::Done(judged()),
        }
    }

    fn remaining_trials(&self, evidence: &Evidence) -> usize {
        let all = self.cells.len() * self.sides().len() * self.most_rounds() as usize;
        all.saturating_sub(evidence.observations.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RequestOutcome;
    use backsight_model::Better;
    use backsight_stats::Random;
    use proptest::prelude::*;

    fn policy(cells: usize, monitors: usize, metrics: usize) -> OverheadPolicy {
        let metrics: Vec<RequestedMetric> = (0..metrics)
            .map(|number| RequestedMetric {
                name: format!("m{number}").parse().unwrap(),
                better: match number % 2 {
                    0 => Better::Lower,
                    _ => Better::Higher,
                },
                decides: true,
            })
            .collect();
        OverheadPolicy {
            cells: vec![metrics; cells],
            monitors,
            rounds: None,
            looked: 0,
            budget: None,
            margin_percent: 1.0,
        }
    }

    /// A machine whose trials take a second, that drifts, and on which side `s` takes the share `costs[s]` more.
    fn study(
        policy: &OverheadPolicy,
        costs: &[f64],
        spread: f64,
        seed: u64,
    ) -> (OverheadVerdict, Evidence) {
        let mut random = Random::seeded(seed);
        let mut evidence = Evidence::default();
        let mut drift = 0.0;
        loop {
            let request = match policy.decide(&evidence) {
                Decision::Done(verdict) => return (verdict, evidence),
                Decision::Measure(request) => request,
            };
            drift += 0.1 * spread * random.normal();
            let side = request.cell % policy.sides().len();
            let metrics = &policy.cells[request.cell / policy.sides().len()];
            let figure = |RequestedMetric {
                              name: metric,
                              better,
                              ..
                          }: &RequestedMetric| {
                let time = 100.0
                    * (1.0 + costs.get(side).unwrap_or(&0.0))
                    * (1.0 + drift + spread * random.normal());
                let value = match better {
                    Better::Lower | Better::Neither => time,
                    Better::Higher => 1e6 / time,
                };
                (metric.clone(), value)
            };
            let figures: BTreeMap<MetricName, f64> = metrics.iter().map(figure).collect();
            evidence.observations.push(Observation {
                request,
                outcome: RequestOutcome::Measured,
                figures,
                took: Duration::from_secs(1),
            });
        }
    }

    #[test]
    fn a_monitor_without_a_cost_is_said_to_have_one_in_at_most_5_of_100_studies() {
        let policy = policy(1, 3, 3);
        let (mut wrong, studies) = ([0; 3], 200);
        for seed in 0..studies {
            let (verdict, _) = study(&policy, &[], 0.03, seed);
            for (monitor, wrong) in wrong.iter_mut().enumerate() {
                let mut its = verdict.costs.iter();
                *wrong +=
                    u32::from(its.any(|c| c.watched_by == MonitorSet::By(monitor) && c.is_real()));
            }
        }
        for wrong in wrong {
            assert!(
                f64::from(wrong) <= 0.05 * studies as f64,
                "{wrong} of {studies}"
            );
        }
    }

    #[test]
    fn a_cost_is_found_with_its_size_and_soon() {
        let policy = policy(1, 2, 1);
        let (mut found, mut rounds, studies) = (0, 0, 100);
        for seed in 0..studies {
            let (verdict, _) = study(&policy, &[0.0, 0.2, 0.0, 0.2], 0.02, seed);
            let costly = &verdict.costs[0];
            assert_eq!(costly.watched_by, MonitorSet::By(0));
            let (percent, interval) = costly.percent().unwrap();
            let interval = interval.unwrap();
            let holds = interval.low <= 20.0 && 20.0 <= interval.high;
            found += u32::from(costly.call == CostCall::Costs && holds);
            rounds += verdict.rounds;
            assert!(percent > 0.0);
        }
        assert!(found >= 97, "{found} of {studies}");
        // The cheap one is what takes long: no cost above 1% must be shown.
        assert!(rounds / studies as u32 <= 32);
    }

    #[test]
    fn a_fixed_number_of_rounds_is_looked_at_once() {
        let fixed = OverheadPolicy {
            rounds: Some(6),
            ..policy(2, 1, 1)
        };
        let (verdict, evidence) = study(&fixed, &[0.0, 0.5], 0.01, 1);
        assert_eq!(
            (verdict.rounds, evidence.observations.len()),
            (6, 6 * 2 * 2)
        );
        assert!((verdict.confidence.share() - 0.975).abs() < 1e-12);
        let open = policy(2, 1, 1);
        assert!((open.confidence(true).share() - (1.0 - 0.05 / 8.0)).abs() < 1e-12);
    }

    #[test]
    fn a_budget_ends_the_study_and_a_round_that_has_no_time_is_not_begun() {
        let within = |seconds| OverheadPolicy {
            budget: Some(Duration::from_secs(seconds)),
            ..policy(1, 1, 1)
        };
        // Noise that nothing is decided by: rounds of two trials, a second each.
        let (verdict, evidence) = study(&within(11), &[], 0.3, 1);
        assert_eq!((verdict.rounds, evidence.observations.len()), (5, 10));
        assert!(!verdict.decided);
        let (verdict, _) = study(&within(1), &[], 0.3, 1);
        assert_eq!(verdict.rounds, 0);
        assert!(
            verdict
                .costs
                .iter()
                .all(|cost| cost.call == CostCall::Missing)
        );
    }

    #[test]
    fn over_a_pair_of_blocks_every_side_has_the_same_mean_place() {
        let policy = policy(1, 3, 1);
        for pair in 0..5 {
            let (first, second) = (policy.order(2 * pair + 1), policy.order(2 * pair + 2));
            let place = |order: &[usize], side| order.iter().position(|s| *s == side).unwrap();
            for side in 0..5 {
                assert_eq!(place(&first, side) + place(&second, side), 4);
            }
            assert_eq!(first[0], pair as usize % 5);
        }
    }

    #[test]
    fn what_a_simulator_counts_costs_something_or_nothing_at_once() {
        let policy = policy(1, 2, 1);
        let (verdict, _) = study(&policy, &[0.0, 0.25, 0.0, 0.25], 0.0, 1);
        let calls: Vec<CostCall> = verdict.costs.iter().map(|cost| cost.call).collect();
        assert_eq!(calls[0], CostCall::Costs);
        assert!(matches!(calls[1], CostCall::Nothing { .. }), "{calls:?}");
        assert_eq!(verdict.rounds, 4);
    }

    #[test]
    fn trials_that_failed_are_missing_and_not_zero() {
        let policy = OverheadPolicy {
            rounds: Some(2),
            ..policy(1, 1, 1)
        };
        let (_, mut evidence) = study(&policy, &[], 0.01, 1);
        for seen in &mut evidence.observations {
            if seen.request.cell == 1 {
                seen.outcome = RequestOutcome::Failed;
                seen.figures.clear();
            }
        }
        let verdict = policy.verdict(&evidence);
        assert_eq!(verdict.costs[0].call, CostCall::Missing);
        assert!(verdict.costs[0].effect.is_none());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn any_prefix_of_the_evidence_gives_the_same_next_request(
            cells in 1usize..3, monitors in 1usize..4, seed: u64, cut in 0usize..200,
        ) {
            let policy = policy(cells, monitors, 1);
            let (verdict, evidence) = study(&policy, &[], 0.05, seed);
            let cut = cut.min(evidence.observations.len());
            let before = Evidence::from_observations(evidence.observations[..cut].to_vec());
            match evidence.observations.get(cut) {
                Some(next) => prop_assert_eq!(policy.decide(&before), Decision::Measure(next.request)),
                None => prop_assert_eq!(policy.decide(&before), Decision::Done(verdict)),
            }
            let requests: HashSet<Request> = evidence.observations.iter().map(|o| o.request).collect();
            prop_assert_eq!(requests.len(), evidence.observations.len());
        }
    }
}
