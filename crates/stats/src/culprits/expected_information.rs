//! Expected information of a measurement while others are under way, so that each of several testbeds measures what the others
//! leave open.
//!
//! Sets of changes are drawn from the posterior, and for some of them outcomes of the measurements under way. Each outcome
//! gives the drawn sets new probabilities, and with them a version its candidate levels. Without measurements under way the
//! levels are the posterior's.

use super::{Posterior, parameters::CHOICE};
use crate::Random;

/// A level that a version may have: mean, variance and probability.
pub(super) struct CandidateLevel {
    pub stretch: (usize, usize),
    pub mean: f64,
    pub variance: f64,
    pub probability: f64,
}

/// Outcomes of the measurements under way.
pub(super) struct PredictedOutcomes {
    sets: Vec<DrawnChanges>,
    /// Probabilities of the drawn sets, by outcome.
    outcomes: Vec<Vec<f64>>,
}

/// A set of changes, each at a version.
struct DrawnChanges {
    /// The gaps with a change.
    gaps: Vec<usize>,
    /// The version of each change.
    places: Vec<usize>,
}

impl DrawnChanges {
    /// The stretch that a version belongs to, by its first and last measured version.
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
    /// Draws outcomes of measuring these versions.
    pub fn new(posterior: &Posterior, under_way: &[usize]) -> Self {
        if under_way.is_empty() {
            return Self {
                sets: Vec::new(),
                outcomes: Vec::new(),
            };
        }
        let mut random = Random::seeded(CHOICE.seed);
        let sets = draw_changes(posterior, &mut random);
        let noise = posterior.typical.noise;
        let levels = |set: &DrawnChanges| -> Vec<(f64, f64)> {
            let of = |at: &usize| {
                let stretch = set.stretch(*at, posterior.means.points().len() - 1);
                let (mean, variance) = posterior.sums.mean_of(stretch, &posterior.typical);
                (mean, variance + noise)
            };
            under_way.iter().map(of).collect()
        };
        let levels: Vec<Vec<(f64, f64)>> = sets.iter().map(levels).collect();
        let outcomes = (0..CHOICE.predicted_outcomes).map(|outcome| {
            // Outcomes of evenly spaced sets: the sets are sorted by probability.
            let true_one =
                &levels[(2 * outcome + 1) * sets.len() / (2 * CHOICE.predicted_outcomes)];
            let values = true_one.iter().map(|(mean, variance)| {
                let off: f64 = random.normal();
                mean + variance.sqrt() * off
            });
            let values: Vec<f64> = values.collect();
            set_probabilities(&levels, &values)
        });
        Self {
            outcomes: outcomes.collect(),
            sets,
        }
    }

    /// Candidate levels of a version, by outcome.
    pub fn levels(&self, posterior: &Posterior, at: usize) -> Vec<Vec<CandidateLevel>> {
        if self.sets.is_empty() {
            return vec![posterior.levels(at)];
        }
        let last = posterior.means.points().len() - 1;
        let stretches = self.sets.iter().map(|set| set.stretch(at, last));
        let stretches: Vec<(usize, usize)> = stretches.collect();
        let mut known: Vec<(usize, usize)> = stretches.clone();
        known.sort_unstable();
        known.dedup();
        let of_outcome = |outcome: &Vec<f64>| -> Vec<CandidateLevel> {
            let level = |stretch: &(usize, usize)| {
                let (mean, variance) = posterior.sums.mean_of(*stretch, &posterior.typical);
                let weights = outcome.iter().zip(&stretches);
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
        self.outcomes.iter().map(of_outcome).collect()
    }
}

/// Draws sets of changes from the posterior, each change anywhere in its gap with the same probability.
fn draw_changes(posterior: &Posterior, random: &mut Random) -> Vec<DrawnChanges> {
    let points = posterior.means.points();
    let (mut at, mut passed) = (0, 0.0);
    let mut sets = Vec::with_capacity(CHOICE.drawn_changes);
    for n in 0..CHOICE.drawn_changes {
        let target = (n as f64 + 0.5) / CHOICE.drawn_changes as f64;
        while at + 1 < posterior.sets.len() && passed + posterior.sets[at].1 < target {
            passed += posterior.sets[at].1;
            at += 1;
        }
        let gaps = posterior.sets[at].0.clone();
        let place = |gap: &usize| {
            let (from, to) = (points[*gap].at, points[gap + 1].at);
            from + 1 + random.below(to - from)
        };
        sets.push(DrawnChanges {
            places: gaps.iter().map(place).collect(),
            gaps,
        });
    }
    sets
}

/// Probabilities of the sets given these values; `levels` has the mean and variance that each set expects of them.
fn set_probabilities(levels: &[Vec<(f64, f64)>], values: &[f64]) -> Vec<f64> {
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
