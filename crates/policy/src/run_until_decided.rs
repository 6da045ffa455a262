//! Policy of `run --until decided`: adds rounds until every primary metric of every variant has a verdict against the first
//! variant.
//!
//! It is the policy of `try` with variants as sides. In each round the cells with the same question are measured one after the
//! other, in an order that favours no variant, and give one difference each. Decided questions are measured no more. A plan
//! with one variant has nothing to decide.

use backsight_model::Cell;
use backsight_stats::Confidence;
use std::{collections::HashMap, time::Duration};

use crate::{
    Decision, Evidence, Policy, Request, RequestedMetric, TryPolicy, TryVerdict, VariantQuestion,
    questions_by_variant,
};

/// What is asked of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunUntilDecidedOptions {
    /// What the trials may take together.
    pub budget: Option<Duration>,
    /// Rounds at most.
    pub most: u32,
    /// A difference within this share is no matter: 0.01.
    pub margin: f64,
    /// That no verdict of the study is false.
    pub confidence: Confidence,
    /// Seed of the order.
    pub seed: u32,
}

/// Variants beside the first one, until each difference is decided.
#[derive(Debug, Clone, PartialEq)]
pub struct RunUntilDecidedPolicy {
    beside: Vec<VariantQuestion>,
    try_policy: TryPolicy,
}

impl RunUntilDecidedPolicy {
    /// The policy of these cells, with what each measures. Nothing where no question is asked of two variants.
    pub fn new(
        cells: &[Cell],
        metrics: impl Fn(&Cell) -> Vec<RequestedMetric>,
        options: RunUntilDecidedOptions,
    ) -> Option<Self> {
        let (variants, beside) = questions_by_variant(cells);
        let absent = beside.iter().enumerate().flat_map(|(cell, beside)| {
            let numbers = beside.numbers.iter().enumerate();
            let absent = numbers.filter(|(_, number)| number.is_none());
            absent.map(move |(side, _)| (side, cell))
        });
        let try_policy = TryPolicy {
            sides: variants.len().saturating_sub(1),
            layouts: 1,
            trials: 1,
            cells: beside.iter().map(|it| metrics(&it.cell)).collect(),
            absent: absent.collect(),
            revisits: true,
            first_boot: 0,
            budget: options.budget,
            most: options.most,
            equal: Some(options.margin),
            tolerates: false,
            confidence: options.confidence,
            seed: options.seed,
        };
        let is_asked_twice = |it: &VariantQuestion| {
            let (base, others) = it.numbers.split_first()?;
            (base.is_some() && others.iter().any(Option::is_some)).then_some(())
        };
        let some = beside.iter().any(|it| is_asked_twice(it).is_some());
        some.then_some(Self { beside, try_policy })
    }

    /// The questions that are asked, by the number that a verdict has for their cells.
    pub fn questions(&self) -> impl Iterator<Item = &Cell> {
        self.beside.iter().map(|it| &it.cell)
    }

    /// Where it stands. The sides are the variants after the first, from 1.
    pub fn verdict(&self, evidence: &Evidence) -> TryVerdict {
        self.try_policy.verdict(&self.by_side(evidence))
    }

    /// The evidence with variants as sides.
    fn by_side(&self, evidence: &Evidence) -> Evidence {
        let mut places = HashMap::new();
        for (cell, beside) in self.beside.iter().enumerate() {
            for (side, number) in beside.numbers.iter().enumerate() {
                places.extend(number.map(|number| (number, (side, cell))));
            }
        }
        let mut by_side = evidence.clone();
        by_side.observations.retain_mut(|seen| {
            let Some((side, cell)) = places.get(&seen.request.cell) else {
                return false;
            };
            (seen.request.version, seen.request.cell) = (*side, *cell);
            true
        });
        by_side
    }

    /// A request about a side as one about the software as it is found.
    fn as_found(&self, request: Request) -> Option<Request> {
        let beside = self.beside.get(request.cell)?;
        let number = beside.numbers.get(request.version).copied().flatten()?;
        Some(Request::as_found(number, request.round))
    }
}

impl Policy for RunUntilDecidedPolicy {
    type Verdict = TryVerdict;

    fn decide(&self, evidence: &Evidence) -> Decision<TryVerdict> {
        let evidence = self.by_side(evidence);
        match self.try_policy.decide(&evidence) {
            Decision::Done(verdict) => Decision::Done(verdict),
            Decision::Measure(request) => match self.as_found(request) {
                Some(request) => Decision::Measure(request),
                // A cell that isn't there is never asked for: the policy knows which ones are absent.
                None => Decision::Done(self.try_policy.verdict(&evidence)),
            },
        }
    }

    fn remaining_trials(&self, evidence: &Evidence) -> usize {
        self.try_policy.remaining_trials(&self.by_side(evidence))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Observation, RequestOutcome, TryCall, TryEnd};
    use backsight_model::Value;
    use backsight_stats::{Better, Random, simulation::NoiseShape};
    use std::collections::BTreeMap;

    /// Cells of two sizes in each of these variants; `only` has but the first size.
    fn cells(variants: &[&str], only: Option<&str>) -> Vec<Cell> {
        let mut cells = Vec::new();
        for size in [1, 2] {
            for variant in variants {
                if size == 2 && only == Some(variant) {
                    continue;
                }
                cells.push(Cell {
                    benchmark: "work".parse().unwrap(),
                    params: [("size".parse().unwrap(), Value::Integer(size))]
                        .into_iter()
                        .collect(),
                    chosen: vec!["size".parse().unwrap()],
                    variant: variant.parse().unwrap(),
                    monitors: None,
                });
            }
        }
        cells
    }

    fn options() -> RunUntilDecidedOptions {
        RunUntilDecidedOptions {
            budget: None,
            most: 40,
            margin: 0.02,
            confidence: Confidence::USUAL,
            seed: 1,
        }
    }

    fn time(_: &Cell) -> Vec<RequestedMetric> {
        vec![RequestedMetric {
            name: "time".parse().unwrap(),
            better: Better::Lower,
            decides: true,
        }]
    }

    /// Asks until it is done, in a world in which each variant takes so many times as long as 100 seconds with this noise in
    /// percent.
    fn pursue(
        policy: &RunUntilDecidedPolicy,
        cells: &[Cell],
        times: impl Fn(&str) -> f64,
        (noise, percent, seed): (NoiseShape, f64, u64),
    ) -> (Evidence, TryVerdict) {
        let mut values = noise.draw(4_000, &mut Random::seeded(seed)).into_iter();
        let mut evidence = Evidence::default();
        loop {
            match policy.decide(&evidence) {
                Decision::Done(verdict) => return (evidence, verdict),
                Decision::Measure(request) => {
                    let level = 100.0 * times(cells[request.cell].variant.as_str());
                    let value = level + percent * values.next().unwrap();
                    evidence.observations.push(Observation {
                        request,
                        outcome: RequestOutcome::Measured,
                        figures: BTreeMap::from([("time".parse().unwrap(), value)]),
                        took: Duration::from_secs(1),
                    });
                }
            }
        }
    }

    #[test]
    fn every_variant_gets_its_verdict_and_what_is_decided_is_measured_no_more() {
        let cells = cells(&["plain", "slow", "same"], None);
        let policy = RunUntilDecidedPolicy::new(&cells, time, options()).unwrap();
        let times = |variant: &str| if variant == "slow" { 1.3 } else { 1.0 };
        let (evidence, verdict) = pursue(&policy, &cells, times, (NoiseShape::Gauss, 0.8, 3));
        assert_eq!(verdict.ended, Some(TryEnd::Decided));
        for tried in &verdict.compared {
            match tried.side {
                1 => assert_eq!(tried.call, TryCall::Worse),
                _ => assert!(matches!(tried.call, TryCall::Equal { .. }), "{tried:?}"),
            }
        }
        let of = |variant: &str| {
            let seen = evidence.observations.iter();
            seen.filter(|seen| cells[seen.request.cell].variant.as_str() == variant)
                .count()
        };
        assert!(of("slow") < of("same"), "{} {}", of("slow"), of("same"));
        let mut requests: Vec<Request> = evidence.observations.iter().map(|o| o.request).collect();
        let all = requests.len();
        requests.sort_by_key(|request| (request.cell, request.round));
        requests.dedup();
        assert_eq!(requests.len(), all, "nothing is measured twice");
    }

    #[test]
    fn any_part_of_the_evidence_leads_on_as_it_did() {
        let cells = cells(&["plain", "other"], None);
        let policy = RunUntilDecidedPolicy::new(&cells, time, options()).unwrap();
        let (evidence, _) = pursue(&policy, &cells, |_| 1.0, (NoiseShape::Gauss, 1.0, 5));
        for cut in 0..evidence.observations.len() {
            let before = Evidence::from_observations(evidence.observations[..cut].to_vec());
            let next = evidence.observations[cut].request;
            assert_eq!(policy.decide(&before), Decision::Measure(next));
            assert!(policy.remaining_trials(&before) > 0);
        }
    }

    #[test]
    fn a_budget_is_what_trials_took() {
        let cells = cells(&["plain", "other"], None);
        let budget = Some(Duration::from_secs(30));
        let options = RunUntilDecidedOptions {
            budget,
            margin: 1e-6,
            ..options()
        };
        let policy = RunUntilDecidedPolicy::new(&cells, time, options).unwrap();
        let (evidence, verdict) = pursue(&policy, &cells, |_| 1.0, (NoiseShape::Gauss, 3.0, 7));
        assert_eq!(verdict.ended, Some(TryEnd::Budget));
        assert_eq!(evidence.observations.len(), 30);
        assert!(matches!(
            verdict.compared[0].call,
            TryCall::Undecided { .. }
        ));
    }

    #[test]
    fn a_variant_without_a_cell_is_compared_by_the_others() {
        for absent in ["other", "plain"] {
            let cells = cells(&["plain", "other"], Some(absent));
            let policy = RunUntilDecidedPolicy::new(&cells, time, options()).unwrap();
            let (_, verdict) = pursue(&policy, &cells, |_| 1.0, (NoiseShape::Gauss, 0.5, 9));
            assert_eq!(verdict.ended, Some(TryEnd::Decided));
            assert_eq!(verdict.compared.len(), 1);
        }
        let one = cells(&["plain"], None);
        assert_eq!(RunUntilDecidedPolicy::new(&one, time, options()), None);
    }

    /// Of 1000 studies of three variants that are alike, by two cells: how many call one of them better or worse.
    #[test]
    fn variants_that_are_alike_are_rarely_called_different() {
        let cells = cells(&["plain", "a", "b"], None);
        let options = RunUntilDecidedOptions {
            most: 25,
            ..options()
        };
        let policy = RunUntilDecidedPolicy::new(&cells, time, options).unwrap();
        for noise in [NoiseShape::Gauss, NoiseShape::Lognormal { sigma: 0.5 }] {
            let wrong = (0..1000)
                .filter(|seed| {
                    // What is decided stays so, whatever is measured after it: all rounds are looked at in one go.
                    let rounds = (1..=options.most)
                        .flat_map(|round| (0..cells.len()).map(move |it| (it, round)));
                    let values = noise.draw(cells.len() * 25, &mut Random::seeded(*seed));
                    let all = rounds
                        .zip(values)
                        .map(|((cell, round), value)| Observation {
                            request: Request::as_found(cell, round),
                            outcome: RequestOutcome::Measured,
                            figures: BTreeMap::from([(
                                "time".parse().unwrap(),
                                100.0 + 2.0 * value,
                            )]),
                            took: Duration::from_secs(1),
                        });
                    let verdict = policy.verdict(&Evidence::from_observations(all.collect()));
                    let mut calls = verdict.compared.iter().map(|tried| tried.call);
                    calls.any(|call| matches!(call, TryCall::Better | TryCall::Worse))
                })
                .count();
            println!("{noise:?}: {wrong} of 1000");
            assert!(wrong <= 50, "{noise:?}: {wrong} of 1000");
        }
    }
}
