//! What a measurement will tell when those that are under way have told theirs: of several testbeds each should measure
//! what the others leave open.
//!
//! Places of the steps are drawn from the belief, and for some of them what is under way will come to. In each of these
//! cases the drawn places are as probable as its measurements make them, and a version has the levels that it has under
//! them.
//!
//! Refuses: to guess how what is under way ends where nothing is.

use super::{Posterior, next_measurement::CandidateLevel, parameters::CHOICE};
use crate::Random;

/// What may come of what is under way.
pub(super) struct PredictedOutcomes {
    worlds: Vec<DrawnChanges>,
    /// For each case, how probable each of the worlds is then.
    cases: Vec<Vec<f64>>,
}

/// A set of steps, each at a version.
struct DrawnChanges {
    /// The gaps that have the steps.
    gaps: Vec<usize>,
    /// The first version that has each.
    places: Vec<usize>,
}

impl DrawnChanges {
    /// The stretch of measured versions that a version is of.
    fn stretch(&self, at: usize, last: usize) -> (usize, usize) {
        let before = self.places.partition_point(|place| *place <= at);
        let begin = match before {
            0 => 0,
            _ => self.gaps[before - 1] + 1,
        };
        (begin, self.gaps.get(before).copied().unwrap_or(last))
    }
}

impl PredictedOutcomes {
    /// What may come of measuring these versions.
    pub fn new(belief: &Posterior, under_way: &[usize]) -> Self {
        if under_way.is_empty() {
            return Self {
                worlds: Vec::new(),
                cases: Vec::new(),
            };
        }
        let mut random = Random::seeded(CHOICE.seed);
        let worlds = worlds(belief, &mut random);
        let noise = belief.typical.noise;
        let levels = |world: &DrawnChanges| -> Vec<(f64, f64)> {
            let of = |at: &usize| {
                let stretch = world.stretch(*at, belief.course.points().len() - 1);
                let (mean, variance) = belief.sums.mean_of(stretch, &belief.typical);
                (mean, variance + noise)
            };
            under_way.iter().map(of).collect()
        };
        let levels: Vec<Vec<(f64, f64)>> = worlds.iter().map(levels).collect();
        let cases = (0..CHOICE.predicted_outcomes).map(|case| {
            // One in the middle of each part of as many worlds.
            let true_one = &levels[(2 * case + 1) * worlds.len() / (2 * CHOICE.predicted_outcomes)];
            let values = true_one.iter().map(|(mean, variance)| {
                let off: f64 = random.normal();
                mean + variance.sqrt() * off
            });
            let values: Vec<f64> = values.collect();
            probable(&levels, &values)
        });
        Self {
            cases: cases.collect(),
            worlds,
        }
    }

    /// The levels that a version may have, in each case.
    pub fn levels(&self, belief: &Posterior, at: usize) -> Vec<Vec<CandidateLevel>> {
        if self.worlds.is_empty() {
            return vec![belief.levels(at)];
        }
        let last = belief.course.points().len() - 1;
        let stretches = self.worlds.iter().map(|world| world.stretch(at, last));
        let stretches: Vec<(usize, usize)> = stretches.collect();
        let mut known: Vec<(usize, usize)> = stretches.clone();
        known.sort_unstable();
        known.dedup();
        let of_case = |case: &Vec<f64>| -> Vec<CandidateLevel> {
            let level = |stretch: &(usize, usize)| {
                let (mean, variance) = belief.sums.mean_of(*stretch, &belief.typical);
                let weights = case.iter().zip(&stretches);
                let own = weights.filter(|(_, of)| *of == stretch);
                CandidateLevel {
                    stretch: *stretch,
                    mean,
                    variance,
                    probability: own.map(|(weight, _)| weight).sum(),
                }
            };
            known.iter().map(level).collect()
        };
        self.cases.iter().map(of_case).collect()
    }
}

/// Sets of steps as often as they are probable, each step at any place of its gap alike.
fn worlds(belief: &Posterior, random: &mut Random) -> Vec<DrawnChanges> {
    let points = belief.course.points();
    let (mut at, mut passed) = (0, 0.0);
    let mut worlds = Vec::with_capacity(CHOICE.drawn_changes);
    for n in 0..CHOICE.drawn_changes {
        let aim = (n as f64 + 0.5) / CHOICE.drawn_changes as f64;
        while at + 1 < belief.sets.len() && passed + belief.sets[at].1 < aim {
            passed += belief.sets[at].1;
            at += 1;
        }
        let gaps = belief.sets[at].0.clone();
        let place = |gap: &usize| {
            let (from, to) = (points[*gap].at, points[gap + 1].at);
            from + 1 + random.below(to - from)
        };
        worlds.push(DrawnChanges {
            places: gaps.iter().map(place).collect(),
            gaps,
        });
    }
    worlds
}

/// How probable each world is after these values, given what each expects: mean and variance of each.
fn probable(levels: &[Vec<(f64, f64)>], values: &[f64]) -> Vec<f64> {
    let ln = |expected: &Vec<(f64, f64)>| -> f64 {
        let each = expected
            .iter()
            .zip(values)
            .map(|((mean, variance), value)| {
                -0.5 * ((value - mean) * (value - mean) / variance + variance.ln())
            });
        each.sum()
    };
    let all: Vec<f64> = levels.iter().map(ln).collect();
    let top = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = all.iter().map(|ln| (ln - top).exp()).collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / total).collect()
}
