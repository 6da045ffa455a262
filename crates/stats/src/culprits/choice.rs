//! Which version to measure next: the one that tells most about which stretch it belongs to, for what that costs.
//!
//! What a measurement tells is the mutual information of its value and the level of its version under the drawn cuts
//! (D. V. Lindley, "On a measure of the information provided by an experiment", Annals of Mathematical Statistics 27,
//! 1956), by Gauss–Hermite quadrature over the mixture.

use super::{Belief, belief::CHANGED};

/// What measuring costs, in any one unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Costs<'a> {
    /// One measurement of a version that is there.
    pub again: f64,
    /// What comes before the first measurement of each version, by position: a build, or nothing where it is there.
    pub first: &'a [f64],
    /// The version that was measured last: what disturbs one measurement disturbs the next, so that another version is
    /// taken if there is one that tells something.
    pub last: Option<usize>,
}

/// What is to be measured next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ask {
    /// The version's position.
    pub at: usize,
    /// How often that looks worth while from here.
    pub times: usize,
}

/// How many repeats are weighed against each other.
const TIMES: [usize; 4] = [1, 2, 4, 8];
/// Candidates for which they are.
const CLOSER: usize = 4;
/// A gap is looked into if a step in it is at least so probable.
const PROBABLE: f64 = 0.004;
/// Where in a gap.
const INSIDE: [f64; 3] = [0.5, 0.3, 0.7];

/// A level that a version may have: expectation and variance of the level, and its probability.
struct Level {
    stretch: (usize, usize),
    mean: f64,
    variance: f64,
    probability: f64,
}

impl Belief {
    /// What to measure next; `None` when it is settled. Where cancelling changes may be hidden, the widest stretches are
    /// looked into first: what is measured there says more about the levels beside it as well.
    #[must_use]
    pub fn next(&self, costs: &Costs<'_>) -> Option<Ask> {
        if self.is_settled() {
            return None;
        }
        if !self.aim.cancelling && self.changed() < CHANGED && self.within() < self.doubt() / 2.0 {
            // As long as nothing seems to have changed, what lies between the ends isn't of interest; unless something
            // was seen there already, which the ends say nothing about.
            return Some(Ask {
                at: self.less_known_end(),
                times: 1,
            });
        }
        if self.must_explore()
            && let Some(at) = self.middle_of_the_widest()
        {
            return Some(Ask { at, times: 1 });
        }
        if let Some(at) = self.alone()
            && Some(at) != costs.last
        {
            return Some(Ask { at, times: 1 });
        }
        let cost = |at: usize, times: usize| {
            let first = match self.course.point(at) {
                Some(_) => 0.0,
                None => costs.first[at],
            };
            costs.again * times as f64 + first
        };
        let mut scored: Vec<(f64, usize, Vec<Level>)> = self
            .candidates()
            .into_iter()
            .filter(|at| Some(*at) != costs.last)
            .map(|at| {
                let levels = self.levels(at);
                let score = information(&levels, self.typical.noise) / cost(at, 1);
                (score, at, levels)
            })
            .collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut best: Option<(f64, Ask)> = None;
        for (_, at, levels) in scored.iter().take(CLOSER) {
            for times in TIMES {
                let noise = self.typical.noise / times as f64;
                let score = information(levels, noise) / cost(*at, times);
                if best.is_none_or(|(top, _)| score > top) {
                    best = Some((score, Ask { at: *at, times }));
                }
            }
        }
        match best {
            Some((score, ask)) if score > 0.0 => Some(ask),
            // Nothing tells levels apart: the least known of the versions beside the steps, or of the ends.
            _ => self.least_known().map(|at| Ask { at, times: 1 }),
        }
    }

    fn middle_of_the_widest(&self) -> Option<usize> {
        let points = self.course.points();
        let widest = (0..points.len() - 1).max_by(|a, b| {
            let (of_a, of_b) = (self.share_of_pairs(*a), self.share_of_pairs(*b));
            // Of two as wide the earlier one.
            of_a.total_cmp(&of_b).then(b.cmp(a))
        })?;
        let (from, to) = (points[widest].at, points[widest + 1].at);
        self.course.nearest(from.midpoint(to), from + 1..to)
    }

    fn less_known_end(&self) -> usize {
        let points = self.course.points();
        let (first, last) = (&points[0], &points[points.len() - 1]);
        if last.n < first.n { last.at } else { first.at }
    }

    fn least_known(&self) -> Option<usize> {
        let points = self.course.points();
        let beside = self.sets[0].0.iter().flat_map(|gap| [*gap, gap + 1]);
        let known = beside.chain([0, points.len() - 1]);
        known
            .min_by(|a, b| points[*a].n.total_cmp(&points[*b].n))
            .map(|point| points[point].at)
    }

    fn candidates(&self) -> Vec<usize> {
        let points = self.course.points();
        let mut candidates: Vec<usize> = points
            .iter()
            .map(|point| point.at)
            .filter(|at| self.course.is_open(*at))
            .collect();
        for (gap, probability) in self.per_gap().into_iter().enumerate() {
            if probability < PROBABLE || self.is_resolved(gap) {
                continue;
            }
            let (from, to) = (points[gap].at, points[gap + 1].at);
            for inside in INSIDE {
                let at = from + ((to - from) as f64 * inside).round() as usize;
                let at = self.course.nearest(at, from + 1..to);
                candidates.extend(at.filter(|at| !candidates.contains(at)));
            }
        }
        candidates
    }

    /// The levels that a version may have.
    fn levels(&self, at: usize) -> Vec<Level> {
        let points = self.course.points();
        let last = points.len() - 1;
        let mut levels: Vec<Level> = Vec::new();
        let mut put = |stretch: (usize, usize), probability: f64| match levels
            .iter_mut()
            .find(|level| level.stretch == stretch)
        {
            Some(level) => level.probability += probability,
            None => {
                let (mean, variance) = self.sums.mean_of(stretch, &self.typical);
                levels.push(Level {
                    stretch,
                    mean,
                    variance,
                    probability,
                });
            }
        };
        let place = points.binary_search_by_key(&at, |point| point.at);
        for (steps, probability) in &self.sets {
            let stretch = |point: usize| {
                let begin = steps.iter().rfind(|gap| **gap < point);
                let end = steps.iter().find(|gap| **gap >= point);
                (begin.map_or(0, |gap| gap + 1), end.copied().unwrap_or(last))
            };
            match place {
                Ok(point) => put(stretch(point), *probability),
                Err(point) => {
                    let gap = point - 1;
                    let (from, to) = (points[gap].at, points[point].at);
                    match steps.contains(&gap) {
                        // The step is at any place of the gap alike.
                        true => {
                            let behind = (at - from) as f64 / (to - from) as f64;
                            put(stretch(gap), probability * (1.0 - behind));
                            put(stretch(point), probability * behind);
                        }
                        false => put(stretch(gap), *probability),
                    }
                }
            }
        }
        levels
    }
}

/// Nodes and weights of five-point Gauss–Hermite quadrature for a standard normal deviate (M. Abramowitz, I. Stegun,
/// *Handbook of Mathematical Functions*, 1964, table 25.10, rescaled).
const NODES: [(f64, f64); 5] = [
    (-2.856_970_013_872_806, 0.011_257_411_327_720_69),
    (-1.355_626_179_974_266, 0.222_075_922_005_612_6),
    (0.0, 0.533_333_333_333_333_3),
    (1.355_626_179_974_266, 0.222_075_922_005_612_6),
    (2.856_970_013_872_806, 0.011_257_411_327_720_69),
];

/// The mutual information of a value measured with this variance, and the level that it is of; in nats.
fn information(levels: &[Level], noise: f64) -> f64 {
    let normals: Vec<(f64, f64, f64)> = levels
        .iter()
        .filter(|level| level.probability > 1e-3)
        .map(|level| (level.mean, level.variance + noise, level.probability))
        .collect();
    if normals.len() < 2 {
        return 0.0;
    }
    let density = |value: f64, (mean, variance, _): &(f64, f64, f64)| {
        (-0.5 * (value - mean) * (value - mean) / variance).exp() / variance.sqrt()
    };
    let of_level = |level: &(f64, f64, f64)| -> f64 {
        let spread = level.1.sqrt();
        let told = NODES.iter().map(|(node, weight)| {
            let value = level.0 + spread * node;
            let mixed: f64 = normals.iter().map(|n| n.2 * density(value, n)).sum();
            weight * (density(value, level) / mixed).ln()
        });
        level.2 * told.sum::<f64>()
    };
    normals.iter().map(of_level).sum()
}
