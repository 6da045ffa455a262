//! Policy of `noise`: nested repeats of one version (layouts, boots of each, trials on each boot) until there are enough or the
//! budget ends; then how many repeats of which level show a difference of a given size.
//!
//! Each layout is measured with all its boots and trials before the next one: a budget that ends early cuts the highest level
//! and leaves whole groups below it. A level that wasn't repeated gets no figure.

use backsight_model::{CellSeries, MetricName};
use backsight_stats::{
    Confidence, Interval, Level, NestedSample, NestedSamples, ReplicationAdvice, ReplicationCost,
    Undefined, VarianceComponent, VarianceComponents, advice, components,
};
use rand::{SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use std::{
    collections::{BTreeMap, HashSet},
    time::Duration,
};

use crate::{Decision, Evidence, Policy, Request, evidence_index::EvidenceIndex};

/// Builds, or boots, in a row that may fail before the version is given up.
const MAX_FRUITLESS_BUILDS_OR_BOOTS: usize = 3;
/// A difference of this many half widths of the mean of one side is seen in four of five cases: the half width is 1.96
/// standard errors, a difference of two means has √2 of these, and 80% power needs 2.8 of those (Student's quantile and a
/// normal approximation; J. Cohen, *Statistical Power Analysis*, 1988).
const HALF_WIDTHS_FOR_POWER: f64 = 2.0;
/// Costs of nothing would make repeats of that level endless.
const MIN_COST: f64 = 1e-3;

/// Repeats of one version at every level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoisePolicy {
    /// Layouts at most; at least one.
    pub layouts: usize,
    /// Boots of each layout at most; at least one.
    pub boots: u32,
    /// Trials of each cell on each boot at most; at least one.
    pub trials: u32,
    /// How many cells the plan has.
    pub cells: usize,
    /// Whether the software is measured as it is found: nothing is built or booted.
    pub as_found: bool,
    /// The first boot's ordinal, behind those of other studies.
    pub first_boot: u32,
    /// What builds, boots and trials may take together.
    pub budget: Option<Duration>,
    /// Seed of the order of the cells.
    pub seed: u32,
}

/// What the repeats have shown.
#[derive(Debug, Clone, PartialEq)]
pub struct NoiseVerdict {
    /// Each cell and metric that gave figures.
    pub noises: Vec<MetricNoise>,
    /// What a repeat costs, in seconds; a trial is one of each cell.
    pub cost: RepeatCosts,
    /// Why nothing more is asked; nothing if more is.
    pub ended: Option<NoiseEnd>,
    /// Trials that gave samples.
    pub measured: usize,
    /// Trials that failed.
    pub failed: usize,
    /// What it took.
    pub spent: Duration,
}

/// Why nothing more is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoiseEnd {
    /// All repeats are made.
    Complete,
    /// The budget is spent.
    Budget,
    /// It doesn't build or boot.
    Dead,
}

/// What one repeat costs, in seconds, as learnt.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RepeatCosts {
    /// One trial of each cell.
    pub trial: f64,
    /// One boot; nothing where none was made.
    pub boot: Option<f64>,
    /// One more layout of what is built; nothing where there was one build only.
    pub layout: Option<f64>,
}

/// How much one metric of one cell varies, and where that comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricNoise {
    /// The cell's number in the plan's order, from 0.
    pub cell: usize,
    /// The metric.
    pub metric: MetricName,
    /// What each level adds.
    pub found: Result<VarianceComponents, Undefined>,
    /// How many layouts, boots and trials gave figures.
    pub counts: (usize, usize, usize),
    /// The figures with their places, in order of time.
    pub placed: Vec<NestedSample>,
}

impl MetricNoise {
    /// The standard deviation of a single trial that is new up to this level, in percent of the mean: with
    /// [`Level::Trial`] on the same boot, with [`Level::Boot`] on another boot, with [`Level::Layout`] in another layout.
    /// Nothing if that level wasn't repeated, or the mean is zero.
    pub fn deviation_percent(&self, level: Level) -> Option<f64> {
        let found = self.found.as_ref().ok()?;
        if !found.components.iter().any(|part| part.level == level) || found.mean == 0.0 {
            return None;
        }
        let up_to = found.components.iter().filter(|part| part.level <= level);
        let variance: f64 = up_to.map(|part| part.variance).sum();
        Some(100.0 * variance.sqrt() / found.mean.abs())
    }

    /// The interval of what a level alone adds, as a standard deviation in percent of the mean; nothing if the mean is zero.
    pub fn added_percent(&self, part: &VarianceComponent) -> Option<Interval> {
        let mean = self.found.as_ref().ok()?.mean.abs();
        let of = |variance: f64| 100.0 * variance.max(0.0).sqrt() / mean;
        (mean != 0.0).then(|| Interval {
            low: of(part.interval.low),
            high: of(part.interval.high),
        })
    }

    /// The cheapest repeats of each of two versions that show a difference of so many percent in four of five cases, and
    /// what both cost together in seconds.
    ///
    /// # Errors
    /// As [`advice`]; no level was repeated.
    pub fn advice(&self, cost: &RepeatCosts, percent: f64) -> Result<ReplicationAdvice, Undefined> {
        let found = self.found.as_ref().map_err(|why| *why)?;
        let cost = ReplicationCost {
            sample: MIN_COST,
            trial: cost.trial.max(MIN_COST),
            boot: cost.boot.unwrap_or(0.0).max(MIN_COST),
            layout: cost.layout.unwrap_or(0.0).max(MIN_COST),
        };
        let advice = advice(
            found,
            &cost,
            percent / 100.0 / HALF_WIDTHS_FOR_POWER,
            Confidence::USUAL,
        )?;
        Ok(ReplicationAdvice {
            cost: 2.0 * advice.cost,
            ..advice
        })
    }
}

/// How much the interval samples of a metric vary within its trials. A trial's own number is made of all of them, so that this is no
/// part of what the repeats of trials add.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WithinTrials {
    /// Trials that have interval samples.
    pub trials: usize,
    /// Their interval samples, all together.
    pub samples: usize,
    /// Their standard deviation around the mean of their own trial, pooled over the trials, in percent of the mean.
    pub deviation_percent: f64,
}

impl WithinTrials {
    /// Of a cell's metric; nothing where no trial has two interval samples, or their mean is zero.
    pub fn from_series(series: &CellSeries) -> Option<Self> {
        let trials = series.trials.iter().filter(|trial| trial.each.len() > 1);
        let placed = trials.clone().flat_map(|trial| {
            trial.each.iter().map(|value| NestedSample {
                host: 0,
                layout: 0,
                boot: 0,
                session: 0,
                trial: u64::from(trial.trial),
                value: *value,
            })
        });
        let placed: Vec<NestedSample> = placed.collect();
        let samples = placed.len();
        let found = components(&NestedSamples::new(placed).ok()?, Confidence::USUAL).ok()?;
        let within = found.components.iter().find(|it| it.level == Level::Sample);
        let deviation_percent = 100.0 * within?.variance.sqrt() / found.mean.abs();
        deviation_percent.is_finite().then_some(Self {
            trials: trials.count(),
            samples,
            deviation_percent,
        })
    }
}

impl NoisePolicy {
    /// Everything that is asked, in its order.
    fn requests(&self) -> impl Iterator<Item = Request> {
        let (layouts, boots, trials) = (self.layouts.max(1), self.boots.max(1), self.trials.max(1));
        (0..layouts).flat_map(move |layout| {
            (0..boots).flat_map(move |boot| {
                (1..=trials).flat_map(move |round| {
                    let cells = self.cells_in_order(layout, boot, round);
                    cells.into_iter().map(move |cell| match self.as_found {
                        true => Request::as_found(cell, round),
                        false => Request {
                            testbed: 0,
                            version: 0,
                            layout,
                            boot: self.first_boot.saturating_add(boot),
                            cell,
                            round,
                        },
                    })
                })
            })
        })
    }

    fn cells_in_order(&self, layout: usize, boot: u32, round: u32) -> Vec<usize> {
        let mut cells: Vec<usize> = (0..self.cells).collect();
        let place = (layout as u64) << 40 ^ u64::from(boot) << 20 ^ u64::from(round);
        let seed = u64::from(self.seed) << 32 ^ place;
        cells.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
        cells
    }

    /// Whether nothing is to be had of the version.
    fn is_dead(&self, seen: &EvidenceIndex<'_>) -> bool {
        seen.trials.is_empty()
            && (seen.unbuilt.len() >= MAX_FRUITLESS_BUILDS_OR_BOOTS.min(self.layouts.max(1))
                || seen.unbooted.len() >= MAX_FRUITLESS_BUILDS_OR_BOOTS)
    }

    fn end(&self, evidence: &Evidence, seen: &EvidenceIndex<'_>) -> Option<NoiseEnd> {
        if self.is_dead(seen) {
            return Some(NoiseEnd::Dead);
        }
        if self.requests().all(|request| seen.is_settled(&request)) {
            return Some(NoiseEnd::Complete);
        }
        let spent = self.budget.is_some_and(|b| evidence.spent() >= b);
        spent.then_some(NoiseEnd::Budget)
    }

    /// Where it stands.
    pub fn verdict(&self, evidence: &Evidence) -> NoiseVerdict {
        let seen = EvidenceIndex::new(evidence);
        let mut sides: BTreeMap<(usize, &MetricName), Vec<NestedSample>> = BTreeMap::new();
        let measured = evidence.observations.iter().filter(|seen| seen.measured());
        for observation in measured.clone() {
            let request = observation.request;
            for (metric, value) in &observation.figures {
                sides
                    .entry((request.cell, metric))
                    .or_default()
                    .push(NestedSample {
                        host: 0,
                        layout: request.layout as u64,
                        boot: u64::from(request.boot),
                        session: 0,
                        trial: u64::from(request.round),
                        value: *value,
                    });
            }
        }
        let trials = evidence.observations.iter().filter(|seen| seen.is_trial());
        let measured = measured.count();
        NoiseVerdict {
            noises: sides
                .into_iter()
                .map(|((cell, metric), placed)| noise_of(cell, metric, placed))
                .collect(),
            cost: self.costs(evidence),
            ended: self.end(evidence, &seen),
            measured,
            failed: trials.count() - measured,
            spent: evidence.spent(),
        }
    }

    fn costs(&self, evidence: &Evidence) -> RepeatCosts {
        let mut by_cell: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
        for seen in evidence.observations.iter().filter(|seen| seen.is_trial()) {
            let sum = by_cell.entry(seen.request.cell).or_default();
            *sum = (sum.0 + seen.took.as_secs_f64(), sum.1 + 1.0);
        }
        RepeatCosts {
            trial: by_cell.values().map(|(sum, count)| sum / count).sum(),
            boot: median(&evidence.boots),
            // The first build compiles what the others only lay out anew.
            layout: median(evidence.builds.get(1..).unwrap_or_default()),
        }
    }
}

fn noise_of(cell: usize, metric: &MetricName, placed: Vec<NestedSample>) -> MetricNoise {
    let count =
        |key: fn(&NestedSample) -> [u64; 3]| placed.iter().map(key).collect::<HashSet<_>>().len();
    let counts = (
        count(|p| [p.layout, 0, 0]),
        count(|p| [p.layout, p.boot, 0]),
        count(|p| [p.layout, p.boot, p.trial]),
    );
    let side = NestedSamples::new(placed.clone()).map_err(|_| Undefined::TooLarge);
    MetricNoise {
        cell,
        metric: metric.clone(),
        found: side.and_then(|side| components(&side, Confidence::USUAL)),
        counts,
        placed,
    }
}

fn median(lengths: &[Duration]) -> Option<f64> {
    let mut lengths = lengths.to_vec();
    lengths.sort_unstable();
    let middle = lengths.get(lengths.len() / 2)?;
    Some(middle.as_secs_f64())
}

impl Policy for NoisePolicy {
    type Verdict = NoiseVerdict;

    fn decide(&self, evidence: &Evidence) -> Decision<NoiseVerdict> {
        let seen = EvidenceIndex::new(evidence);
        if self.end(evidence, &seen).is_some() {
            return Decision::Done(self.verdict(evidence));
        }
        match self.requests().find(|request| !seen.is_settled(request)) {
            Some(request) => Decision::Measure(request),
            None => Decision::Done(self.verdict(evidence)),
        }
    }

    fn remaining_trials(&self, evidence: &Evidence) -> usize {
        let seen = EvidenceIndex::new(evidence);
        if self.end(evidence, &seen).is_some() {
            return 0;
        }
        let left = self.requests().filter(|r| !seen.is_settled(r)).count();
        let (Some(budget), made) = (self.budget, seen.trials.len()) else {
            return left;
        };
        if made == 0 {
            return left;
        }
        let each = evidence.spent().as_secs_f64() / made as f64;
        let rest = budget.saturating_sub(evidence.spent()).as_secs_f64();
        left.min((rest / each.max(1e-9)).ceil() as usize).max(1)
    }

    fn upcoming_builds(&self, evidence: &Evidence, most: usize) -> Vec<Request> {
        let seen = EvidenceIndex::new(evidence);
        if self.as_found || self.end(evidence, &seen).is_some() {
            return Vec::new();
        }
        let mut coming: Vec<Request> = Vec::new();
        for request in self.requests().filter(|r| !seen.is_settled(r)) {
            if coming.len() == most {
                break;
            }
            if coming
                .last()
                .is_none_or(|last| last.layout != request.layout)
            {
                coming.push(request);
            }
        }
        coming
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Observation, RequestOutcome};
    use backsight_model::{Better, Cell, TrialSamples, Unit};
    use backsight_stats::Random;
    use proptest::prelude::*;

    fn policy() -> NoisePolicy {
        NoisePolicy {
            layouts: 8,
            boots: 4,
            trials: 5,
            cells: 1,
            as_found: false,
            first_boot: 3,
            budget: None,
            seed: 1,
        }
    }

    fn observation(request: Request, outcome: RequestOutcome, value: f64) -> Observation {
        Observation {
            request,
            outcome,
            figures: BTreeMap::from([("time".parse().unwrap(), value)]),
            took: Duration::from_secs(2),
        }
    }

    fn pursue(
        policy: &NoisePolicy,
        mut world: impl FnMut(Request) -> (RequestOutcome, f64),
    ) -> (Evidence, NoiseVerdict) {
        let mut evidence = Evidence::default();
        loop {
            match policy.decide(&evidence) {
                Decision::Done(verdict) => return (evidence, verdict),
                Decision::Measure(request) => {
                    assert!(policy.remaining_trials(&evidence) > 0);
                    let (outcome, value) = world(request);
                    let seen = observation(request, outcome, value);
                    evidence.observations.push(seen);
                }
            }
        }
    }

    /// Noise with these deviations around 100: of a layout, of a boot, of a trial.
    fn nested(deviations: [f64; 3], seed: u64) -> impl FnMut(Request) -> (RequestOutcome, f64) {
        let mut random = Random::seeded(seed);
        let mut levels: BTreeMap<(usize, u32), f64> = BTreeMap::new();
        move |request| {
            let mut of = |key, deviation: f64| {
                let drawn = deviation * random.normal();
                *levels.entry(key).or_insert(drawn)
            };
            let layout = of((request.layout, 0), deviations[0]);
            let boot = of((request.layout, request.boot), deviations[1]);
            let trial = deviations[2] * random.normal();
            (RequestOutcome::Measured, 100.0 + layout + boot + trial)
        }
    }

    #[test]
    fn layouts_come_one_after_the_other_with_all_their_boots_and_trials() {
        let (evidence, verdict) = pursue(&policy(), nested([1.0; 3], 1));
        assert_eq!(evidence.observations.len(), 8 * 4 * 5);
        assert_eq!(verdict.ended, Some(NoiseEnd::Complete));
        let requests = evidence.observations.iter().map(|seen| seen.request);
        let order: Vec<_> = requests.map(|r| (r.layout, r.boot, r.round)).collect();
        assert!(order.is_sorted());
        assert_eq!(order[0], (0, 3, 1));
        assert_eq!(verdict.noises[0].counts, (8, 32, 160));
    }

    #[test]
    fn interval_samples_vary_around_the_mean_of_their_own_trial() {
        let series = |trials: &[&[f64]]| CellSeries {
            cell: Cell {
                benchmark: "work".parse().unwrap(),
                variant: "only".parse().unwrap(),
                params: Default::default(),
                chosen: Vec::new(),
                monitors: None,
            },
            metric: "time".parse().unwrap(),
            unit: Unit::parse("s").unwrap(),
            better: Better::Lower,
            about: String::new(),
            primary: true,
            monitor: None,
            simulator: None,
            trials: (1..)
                .zip(trials)
                .map(|(trial, each)| TrialSamples {
                    trial,
                    round: trial,
                    boot: 0,
                    session: 1,
                    host: 0,
                    values: vec![1.0],
                    each: each.to_vec(),
                    neighbours: 0.0,
                })
                .collect(),
        };
        // Trials around 100 and 300: each varies by 1 alone, and the mean of both is 200.
        let found = series(&[&[99.0, 100.0, 101.0], &[299.0, 300.0, 301.0], &[7.0]]);
        let within = WithinTrials::from_series(&found).unwrap();
        assert_eq!((within.trials, within.samples), (2, 6));
        assert!((within.deviation_percent - 0.5).abs() < 1e-9, "{within:?}");
        assert_eq!(WithinTrials::from_series(&series(&[&[1.0], &[]])), None);
        assert_eq!(WithinTrials::from_series(&series(&[&[-1.0, 1.0]])), None);
    }

    #[test]
    fn each_level_gets_its_share_and_the_bands_widen() {
        let many = NoisePolicy {
            layouts: 40,
            ..policy()
        };
        let (_, verdict) = pursue(&many, nested([3.0, 2.0, 1.0], 2));
        let noise = &verdict.noises[0];
        let band = |level| noise.deviation_percent(level).unwrap();
        let bands = [band(Level::Trial), band(Level::Boot), band(Level::Layout)];
        for (band, expected) in bands.iter().zip([1.0_f64, 5.0, 14.0]) {
            assert!((band / expected.sqrt() - 1.0).abs() < 0.3, "{bands:?}");
        }
        assert_eq!(noise.deviation_percent(Level::Sample), None);
    }

    #[test]
    fn what_it_advises_shows_the_difference_in_four_of_five_cases() {
        let (_, verdict) = pursue(&policy(), nested([0.5, 1.0, 1.0], 3));
        let cost = RepeatCosts {
            trial: 10.0,
            boot: Some(60.0),
            layout: Some(30.0),
        };
        let advice = verdict.noises[0].advice(&cost, 2.0).unwrap();
        let repeats: Vec<usize> = advice.repeats.iter().map(|(_, count)| *count).collect();
        let [trials, boots, layouts] = repeats[..] else {
            panic!("{advice:?}")
        };
        let mut seen = 0;
        for seed in 0..300 {
            let one = NoisePolicy {
                layouts,
                boots: boots as u32,
                trials: trials as u32,
                ..policy()
            };
            let mean = |seed| {
                let (_, verdict) = pursue(&one, nested([0.5, 1.0, 1.0], seed));
                let found = verdict.noises[0].found.clone().unwrap();
                (found.mean, found.mean_interval.width() / 2.0)
            };
            let (base, new) = (mean(2 * seed + 100), mean(2 * seed + 101));
            let half = (base.1.powi(2) + new.1.powi(2)).sqrt();
            seen += usize::from((new.0 + 2.0 - base.0) > half);
        }
        assert!(seen >= 200, "{seen} of 300 with {advice:?}");
    }

    #[test]
    fn the_budget_cuts_the_highest_level() {
        let short = NoisePolicy {
            budget: Some(Duration::from_secs(90)),
            ..policy()
        };
        let (evidence, verdict) = pursue(&short, nested([1.0; 3], 4));
        assert_eq!(verdict.ended, Some(NoiseEnd::Budget));
        assert_eq!(evidence.observations.len(), 45);
        assert_eq!(verdict.noises[0].counts, (3, 9, 45));
    }

    #[test]
    fn what_does_not_build_or_boot_is_given_up() {
        let (evidence, verdict) = pursue(&policy(), |_| (RequestOutcome::NoBuild, 0.0));
        assert_eq!(verdict.ended, Some(NoiseEnd::Dead));
        assert_eq!(evidence.observations.len(), 3);
        let (evidence, verdict) = pursue(&policy(), |_| (RequestOutcome::NoBoot, 0.0));
        assert_eq!(verdict.ended, Some(NoiseEnd::Dead));
        assert_eq!(evidence.observations.len(), 3);
    }

    #[test]
    fn software_as_it_is_found_is_only_tried_again() {
        let found = NoisePolicy {
            layouts: 1,
            boots: 1,
            trials: 6,
            as_found: true,
            ..policy()
        };
        let (evidence, verdict) = pursue(&found, nested([0.0, 0.0, 1.0], 5));
        let requests = evidence.observations.iter().map(|seen| seen.request);
        let rounds: Vec<u32> = requests.map(|r| r.round).collect();
        assert_eq!(rounds, [1, 2, 3, 4, 5, 6]);
        let levels = &verdict.noises[0].found.as_ref().unwrap().components;
        assert_eq!(levels.len(), 1);
    }

    proptest! {
        #[test]
        fn any_prefix_of_the_evidence_gives_the_same_next_request(
            layouts in 1usize..4, boots in 1u32..3, trials in 1u32..4, cells in 1usize..4, seed: u32, cut in 0usize..100,
        ) {
            let policy = NoisePolicy { layouts, boots, trials, cells, seed, ..policy() };
            let (all, verdict) = pursue(&policy, |request| match request.boot + request.layout as u32 {
                5 => (RequestOutcome::NoBoot, 0.0),
                _ => (RequestOutcome::Measured, 1.0),
            });
            let mut before = all.observations[..cut.min(all.observations.len())].to_vec();
            before.reverse();
            match policy.decide(&Evidence::from_observations(before)) {
                Decision::Measure(request) => prop_assert_eq!(request, all.observations[cut].request),
                Decision::Done(again) => prop_assert_eq!(again.ended, verdict.ended),
            }
        }
    }
}
