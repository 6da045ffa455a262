//! Choice of the next measurement: the version with the most expected information about its level, for its cost.
//!
//! The information is the mutual information of the measured value and the level of the version under the drawn segmentations
//! (D. V. Lindley, "On a measure of the information provided by an experiment", Annals of Mathematical Statistics 27, 1956), by
//! Gauss–Hermite quadrature over the mixture.

use super::{
    Posterior,
    expected_information::{CandidateLevel, PredictedOutcomes},
    parameters::{CHOICE, STOPPING},
};

/// Costs of measurements, in one unit of any kind, and on which testbed the next one is made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasurementCosts<'a> {
    /// Cost of a measurement of a version that is built.
    pub repeat: f64,
    /// Cost before the first measurement of each version, by position: its build, or 0.
    pub first: &'a [f64],
    /// Versions that are avoided if another one tells something: the last measured one, because a disturbance lasts, and those
    /// that are being measured on this testbed anyway.
    pub avoid: &'a [usize],
    /// A version to avoid is taken if it tells this many times as much as any other.
    pub avoid_unless: f64,
    /// Index of the testbed that measures next.
    pub testbed: usize,
    /// Versions that are being measured on other testbeds.
    pub under_way: &'a [usize],
}

/// The next measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NextMeasurement {
    /// The version's position.
    pub at: usize,
    /// Number of repeats that is worth its cost, as far as is known now.
    pub times: usize,
}

impl Posterior {
    /// The next measurement; `None` when the answer is settled. Where changes that cancel may be hidden, the widest stretches
    /// come first: a measurement there also tells about the levels around it. Measurements under way count with their expected
    /// outcomes.
    #[must_use]
    pub fn next(&self, costs: &MeasurementCosts<'_>) -> Option<NextMeasurement> {
        if self.is_settled() {
            return None;
        }
        if !self.goal.cancelling
            && self.change_probability() < STOPPING.likely_change
            && self.probability_within() < self.allowed_doubt() / 2.0
        {
            // As long as nothing seems to have changed, versions between the ends tell nothing of interest, unless something
            // was seen there already.
            return Some(NextMeasurement {
                at: self.less_known_end(costs.testbed),
                times: 1,
            });
        }
        if self.must_search_hidden(costs.under_way)
            && let Some(at) = self.middle_of_widest_pair(costs.under_way)
        {
            return Some(NextMeasurement { at, times: 1 });
        }
        if let Some(at) = self.version_to_recheck()
            && !costs.avoid.contains(&at)
            && !costs.under_way.contains(&at)
        {
            return Some(NextMeasurement { at, times: 1 });
        }
        match self.most_informative(costs) {
            Some((score, ask)) if score > 0.0 => Some(ask),
            // No measurement tells the levels apart: take the least measured version beside a step, or end.
            _ => {
                let at = self.least_known(costs.under_way)?;
                Some(NextMeasurement { at, times: 1 })
            }
        }
    }

    /// The most information for its cost, and how much that is.
    fn most_informative(&self, costs: &MeasurementCosts<'_>) -> Option<(f64, NextMeasurement)> {
        let foreseen = PredictedOutcomes::new(self, costs.under_way);
        let cost = |at: usize, times: usize| {
            let first = match self.means.point(at) {
                None if !costs.under_way.contains(&at) => costs.first[at],
                _ => 0.0,
            };
            costs.repeat * times as f64 + first
        };
        let told = |at: usize, levels: &[Vec<CandidateLevel>], times: usize| {
            let noise = self.typical.noise;
            let testbed = costs.testbed;
            let noise = self
                .measurements
                .noise_of_next(testbed, at, times as f64, noise);
            let each = levels.iter().map(|levels| information(levels, noise));
            each.sum::<f64>() / levels.len() as f64 / cost(at, times)
        };
        let mut scored: Vec<(f64, usize, Vec<Vec<CandidateLevel>>)> = self
            .candidates(costs.under_way)
            .into_iter()
            .map(|at| {
                let levels = foreseen.levels(self, at);
                (told(at, &levels, 1), at, levels)
            })
            .collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let is_other = |at: &usize| !costs.avoid.contains(at);
        let most_of_others = scored.iter().find(|(_, at, _)| is_other(at)).map(|s| s.0);
        if let (Some(most), Some((top, at, _))) = (most_of_others, scored.first())
            && *top > most * costs.avoid_unless
        {
            return Some((*top, NextMeasurement { at: *at, times: 1 }));
        }
        scored.retain(|(_, at, _)| is_other(at));
        let mut best: Option<(f64, NextMeasurement)> = None;
        for (_, at, levels) in scored.iter().take(CHOICE.repeated_candidates) {
            for times in CHOICE.repeats {
                let score = told(*at, levels, times);
                if best.is_none_or(|(top, _)| score > top) {
                    best = Some((score, NextMeasurement { at: *at, times }));
                }
            }
        }
        best
    }

    fn middle_of_widest_pair(&self, also: &[usize]) -> Option<usize> {
        let between = self.measured_pairs(also);
        let widest = between.into_iter().max_by(|a, b| {
            let (of_a, of_b) = (self.share_of_pairs(*a), self.share_of_pairs(*b));
            // Of two equally wide ones the earlier.
            of_a.total_cmp(&of_b).then(b.cmp(a))
        })?;
        let (from, to) = widest;
        self.means.nearest(from.midpoint(to), from + 1..to)
    }

    /// The end with fewer measurements on this testbed.
    fn less_known_end(&self, testbed: usize) -> usize {
        let points = self.means.points();
        let (first, last) = (points[0].at, points[points.len() - 1].at);
        let n = |at| {
            self.measurements
                .point(testbed, at)
                .map_or(0.0, |point| point.n)
        };
        if n(last) < n(first) { last } else { first }
    }

    fn least_known(&self, also: &[usize]) -> Option<usize> {
        let points = self.means.points();
        let beside = self.sets[0].0.iter().flat_map(|gap| [*gap, gap + 1]);
        let known = beside.chain([0, points.len() - 1]);
        let n = |point: usize| {
            let soon = also.iter().filter(|at| **at == points[point].at);
            points[point].n + soon.count() as f64
        };
        known
            .min_by(|a, b| n(*a).total_cmp(&n(*b)))
            .map(|point| points[point].at)
    }

    /// Versions that may tell something: the measured ones, and some within each gap where a step is probable, between those
    /// under way.
    fn candidates(&self, also: &[usize]) -> Vec<usize> {
        let points = self.means.points();
        let mut candidates: Vec<usize> = points
            .iter()
            .map(|point| point.at)
            .filter(|at| self.means.is_open(*at))
            .collect();
        let between = self.measured_pairs(also);
        for (gap, probability) in self.gap_probabilities().into_iter().enumerate() {
            if probability < CHOICE.min_gap_probability || self.is_resolved(gap) {
                continue;
            }
            let gap = points[gap].at..points[gap + 1].at;
            for (from, to) in between.iter().filter(|(from, _)| gap.contains(from)) {
                let within = CHOICE.gap_fractions.map(|inside| {
                    let at = from + ((to - from) as f64 * inside).round() as usize;
                    self.means.nearest(at, from + 1..*to)
                });
                let ends = Some(*from).filter(|at| self.means.is_open(*at));
                for at in within.into_iter().chain([ends]).flatten() {
                    if !candidates.contains(&at) {
                        candidates.push(at);
                    }
                }
            }
        }
        candidates
    }

    /// The levels that a version may have.
    pub(super) fn levels(&self, at: usize) -> Vec<CandidateLevel> {
        let points = self.means.points();
        let last = points.len() - 1;
        let mut levels: Vec<CandidateLevel> = Vec::new();
        let mut put = |stretch: (usize, usize), probability: f64| match levels
            .iter_mut()
            .find(|level| level.stretch == stretch)
        {
            Some(level) => level.probability += probability,
            None => {
                let (mean, variance) = self.sums.mean_of(stretch, &self.typical);
                levels.push(CandidateLevel {
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
                        // Every place in the gap has the same probability.
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

/// Mutual information of a value with this variance and the level that it comes from, in nats.
fn information(levels: &[CandidateLevel], noise: f64) -> f64 {
    let normals: Vec<(f64, f64, f64)> = levels
        .iter()
        .filter(|level| level.probability > CHOICE.negligible_level)
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
