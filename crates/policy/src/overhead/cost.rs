//! Cost of a monitor on one metric, from the rounds in which both sides were measured.
//!
//! Both sides of a round follow each other closely, and a disturbance mostly meets both: they are compared within their round.
//! Where all values are positive, the logarithms of the rounds' ratios have Student's interval (a mean of the ratios themselves
//! is biased upwards by the noise of the denominator); elsewhere the rounds' differences have.

use backsight_model::{Better, MetricName};
use backsight_stats::{Confidence, Interval, Samples, Summary, Undefined, is_estimable, welch};

use super::MonitorSet;

/// So many rounds that agree to the last digit are believed.
const MIN_EQUAL_ROUNDS: usize = 3;
/// More rounds than this are as good as never.
const MAX_MORE_ROUNDS: f64 = 1e6;

/// What the cost of a monitor is said to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CostCall {
    /// The interval excludes zero: the metric is worse with it.
    Costs,
    /// The interval excludes zero: the metric is better with it.
    Helps,
    /// The interval lies inside of the margin.
    Nothing {
        /// No effect larger than this, in percent.
        larger_than_percent: f64,
    },
    /// Neither.
    CannotTell {
        /// About so many more rounds would tell, if that can be said.
        more: Option<usize>,
    },
    /// No round has samples of both sides.
    Missing,
}

/// What a side measured in the rounds that count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SideMean {
    /// The arithmetic mean.
    pub mean: f64,
    /// The coefficient of variation, in percent.
    pub spread: Result<f64, Undefined>,
}

/// How the metric differs when it is watched: watched − unwatched.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MonitorEffect {
    /// In percent of the unwatched, by the geometric mean of the rounds' ratios; in the metric's unit where that isn't
    /// positive.
    pub change: f64,
    /// Its interval.
    pub interval: Result<Interval, Undefined>,
    /// Whether it is in percent.
    pub in_percent: bool,
}

/// What watching does to one metric of one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct MonitorCost {
    /// The cell's number in the plan.
    pub cell: usize,
    /// The metric.
    pub metric: MetricName,
    /// Which direction of it is good.
    pub better: Better,
    /// Whether the benchmark is run for it: the others decide nothing.
    pub decides: bool,
    /// The confidence of its interval.
    pub confidence: Confidence,
    /// What watches.
    pub watched_by: MonitorSet,
    /// What is said of it.
    pub call: CostCall,
    /// Rounds in which both sides were measured.
    pub rounds: usize,
    /// The unwatched side and the watched one; none without a round.
    pub sides: Option<(SideMean, SideMean)>,
    /// How it differs; none without a round.
    pub effect: Option<MonitorEffect>,
}

impl MonitorCost {
    /// Whether it decides nothing and isn't real: of little interest.
    pub fn is_quiet(&self) -> bool {
        !self.decides && !self.is_real()
    }

    /// Whether a percentage says anything of it: of an unwatched side that may be nearly nothing it may be anything.
    pub fn is_estimable(&self) -> bool {
        let in_percent = self.effect.filter(|effect| effect.in_percent);
        let interval = in_percent.and_then(|effect| effect.interval.ok());
        let ratio = interval.map(|percent| Interval {
            low: 1.0 + percent.low / 100.0,
            high: 1.0 + percent.high / 100.0,
        });
        self.is_real() || ratio.is_none_or(is_estimable)
    }

    /// Whether the interval excludes zero.
    pub fn is_real(&self) -> bool {
        matches!(self.call, CostCall::Costs | CostCall::Helps)
    }

    /// watched − unwatched in percent of the unwatched, with its interval, where it can be said in percent.
    pub fn percent(&self) -> Option<(f64, Result<Interval, Undefined>)> {
        let effect = self.effect.filter(|effect| effect.in_percent)?;
        Some((effect.change, effect.interval))
    }
}

/// The values of both sides, by round.
pub(super) struct Pairs {
    unwatched: Vec<f64>,
    watched: Vec<f64>,
}

impl Pairs {
    /// Of the rounds that have both.
    pub(super) fn new(both: impl Iterator<Item = (f64, f64)>) -> Self {
        let finite = |(a, b): &(f64, f64)| a.is_finite() && b.is_finite();
        let (unwatched, watched) = both.filter(finite).unzip();
        Self { unwatched, watched }
    }

    pub(super) fn rounds(&self) -> usize {
        self.unwatched.len()
    }

    pub(super) fn sides(&self, better: Better) -> Option<(SideMean, SideMean)> {
        let mean = |values: &Vec<f64>| {
            let samples = Samples::new(values.clone()).ok()?;
            Some(SideMean {
                mean: samples.amean(),
                spread: Summary::new(&samples, better).coeffvar,
            })
        };
        Some((mean(&self.unwatched)?, mean(&self.watched)?))
    }

    pub(super) fn effect(&self, confidence: Confidence) -> Option<MonitorEffect> {
        let positive = |values: &[f64]| values.iter().all(|value| *value > 0.0);
        let in_percent = positive(&self.unwatched) && positive(&self.watched);
        let pairs = self.unwatched.iter().zip(&self.watched);
        let distance = |(unwatched, watched): (&f64, &f64)| match in_percent {
            true => (watched / unwatched).ln(),
            false => watched - unwatched,
        };
        let distances = Samples::new(pairs.map(distance).collect()).ok()?;
        let change = |distance: f64| match in_percent {
            true => 100.0 * distance.exp_m1(),
            false => distance,
        };
        let interval = students(&distances, confidence).map(|distance| Interval {
            low: change(distance.low),
            high: change(distance.high),
        });
        Some(MonitorEffect {
            change: change(distances.amean()),
            interval,
            in_percent,
        })
    }
}

/// Student's interval of a mean.
fn students(samples: &Samples, confidence: Confidence) -> Result<Interval, Undefined> {
    // Beside something that is exactly zero, Welch's difference is the mean and its degrees of freedom are n − 1.
    let nothing = Samples::new(vec![0.0, 0.0]).map_err(|_| Undefined::NoSpread)?;
    welch(&nothing, samples, confidence).map(|welch| welch.difference_interval)
}

/// What is said of an effect that was seen in so many rounds.
pub(super) fn call(
    effect: &MonitorEffect,
    better: Better,
    rounds: usize,
    margin_percent: f64,
) -> CostCall {
    let changed = |change: f64| match better.prefers(change, 0.0) {
        true => CostCall::Helps,
        false => CostCall::Costs,
    };
    match effect.interval {
        Ok(interval) if !interval.contains(0.0) => changed(effect.change),
        Ok(interval) => {
            let larger_than_percent = interval.low.abs().max(interval.high.abs());
            if effect.in_percent && larger_than_percent <= margin_percent {
                CostCall::Nothing {
                    larger_than_percent,
                }
            } else {
                CostCall::CannotTell {
                    more: more(effect, interval, rounds, margin_percent),
                }
            }
        }
        Err(Undefined::NoSpread) if rounds >= MIN_EQUAL_ROUNDS => {
            if effect.change == 0.0 {
                CostCall::Nothing {
                    larger_than_percent: 0.0,
                }
            } else {
                changed(effect.change)
            }
        }
        Err(_) => CostCall::CannotTell { more: None },
    }
}

/// Rounds until the interval, which gets narrower with their square root, would exclude zero or fit into the margin.
fn more(
    effect: &MonitorEffect,
    interval: Interval,
    rounds: usize,
    margin_percent: f64,
) -> Option<usize> {
    let half = interval.width() / 2.0;
    let mut reaches = vec![effect.change.abs()];
    if effect.in_percent {
        reaches.push(margin_percent - effect.change.abs());
    }
    let reach = reaches.into_iter().fold(0.0, f64::max);
    let needed = rounds as f64 * (half / reach).powi(2);
    let more = (needed - rounds as f64).ceil().max(1.0);
    (more.is_finite() && more <= MAX_MORE_ROUNDS).then_some(more as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn effect(pairs: &[(f64, f64)]) -> MonitorEffect {
        let pairs = Pairs::new(pairs.iter().copied());
        pairs.effect(Confidence::USUAL).unwrap()
    }

    #[test]
    fn rounds_are_compared_within_themselves() {
        // The machine is three times as slow in the second half; 10 % more is 10 % more throughout.
        let slow = [1.0, 1.01, 3.0, 3.03, 3.01];
        let pairs: Vec<(f64, f64)> = slow
            .iter()
            .zip([1.1, 1.12, 1.08, 1.1, 1.1])
            .map(|(time, factor)| (*time, time * factor))
            .collect();
        let found = effect(&pairs);
        let interval = found.interval.unwrap();
        assert!((found.change - 10.0).abs() < 0.1, "{found:?}");
        assert!(interval.low > 7.0 && interval.high < 13.0, "{interval:?}");
        assert_eq!(call(&found, Better::Lower, 5, 1.0), CostCall::Costs);
        // A rate that is a tenth lower is worse.
        let rates: Vec<(f64, f64)> = slow.iter().map(|rate| (*rate, rate * 0.9)).collect();
        let found = effect(&rates);
        assert!((found.change + 10.0).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn what_is_not_positive_is_compared_by_differences() {
        let found = effect(&[(0.0, 2.0), (0.0, 3.0), (0.0, 2.5)]);
        assert!(!found.in_percent);
        assert_eq!(found.change, 2.5);
        assert_eq!(call(&found, Better::Lower, 3, 1.0), CostCall::Costs);
        let nothing = effect(&[(0.0, 0.0); 3]);
        let none = CostCall::Nothing {
            larger_than_percent: 0.0,
        };
        assert_eq!(call(&nothing, Better::Lower, 3, 1.0), none);
        let early = effect(&[(0.0, 0.0); 2]);
        assert_eq!(
            call(&early, Better::Lower, 2, 1.0),
            CostCall::CannotTell { more: None }
        );
    }

    proptest! {
        #[test]
        fn swapping_the_sides_turns_the_logarithm_of_the_effect(
            pairs in prop::collection::vec((0.1..10.0f64, 0.1..10.0f64), 2..20),
        ) {
            let swapped: Vec<(f64, f64)> = pairs.iter().map(|(a, b)| (*b, *a)).collect();
            let (one, other) = (effect(&pairs), effect(&swapped));
            let product = (1.0 + one.change / 100.0) * (1.0 + other.change / 100.0);
            prop_assert!((product - 1.0).abs() < 1e-9);
            if let Ok(interval) = one.interval {
                prop_assert!(interval.contains(one.change));
            }
        }
    }
}
