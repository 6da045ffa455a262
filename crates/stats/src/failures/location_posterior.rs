//! Which version changed a test's failure probability, and which version to run next.
//!
//! The model: the probability is one number before the change and another one after it, or the same all along. Each is 0, 1 or
//! something between (Jeffreys' prior, as a grid that is even in the arcsine of the root), and both are integrated out. Beforehand each
//! version is as likely as any other to be the first after the change. The next version is the one whose runs tell most about
//! the location for their cost (D. V. Lindley, "On a measure of the information provided by an experiment", Annals of
//! Mathematical Statistics 27, 1956).
//!
//! More than one change isn't part of the model: [`failure_changes`](super::failure_changes) finds several, from runs of many
//! versions.

use crate::culprits::{ChangeLocation, NextMeasurement};

use super::FailureCount;

/// What is taken for probable before anything was run. The defaults were chosen by simulation: docs/quality.md, "Which change
/// broke a test".
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FailurePriors {
    /// Probability that no version changed it.
    pub no_change: f64,
    /// Probability that a test never fails, beside what the even prior gives it. A larger value takes the first failure of a
    /// test for a change sooner, right or wrong.
    pub never_fails: f64,
    /// Probability that a test always fails, likewise.
    pub always_fails: f64,
    /// The smallest change of the failure probability that counts. A smaller value needs more runs where nothing changed:
    /// with the inverse square.
    pub smallest: f64,
}

impl Default for FailurePriors {
    fn default() -> Self {
        Self {
            no_change: 0.3,
            never_fails: 0.1,
            always_fails: 0.05,
            smallest: 0.1,
        }
    }
}

/// Points of the grid of failure probabilities. The arcsine of the root is then known to 0.006, as from 7,000 runs.
const GRID_POINTS: usize = 129;

/// Numbers of runs in a row that are compared.
const REPEATS: [u32; 5] = [1, 2, 4, 8, 16];

/// Positions within a stretch without a run that are compared, as shares of it…
const GAP_FRACTIONS: [f64; 3] = [0.5, 0.3, 0.7];

/// …if the change is there with at least this probability.
const MIN_GAP_PROBABILITY: f64 = 0.004;

/// Versions between two versions with runs: the change has the same likelihood at each place among them.
#[derive(Debug, Clone, Copy)]
struct Gap {
    /// Indices of the usable versions around it.
    after: usize,
    until: usize,
    probability: f64,
    /// Expected failure probability of a run before and after the change, if it is here.
    before: f64,
    since: f64,
}

/// Where the change is, given the runs so far.
#[derive(Debug, Clone)]
pub struct FailurePosterior {
    /// Versions that can be run, ascending.
    usable: Vec<usize>,
    counts: Vec<FailureCount>,
    gaps: Vec<Gap>,
    no_change: f64,
    /// Expected failure probability if nothing changed.
    unchanged: f64,
}

impl FailurePosterior {
    /// The posterior of these counts, one per version; versions in `broken`, ascending, can't be run, and a change in them is
    /// one in the next that can. `None` if fewer than two versions can be run.
    #[must_use]
    pub fn from_counts(
        counts: &[FailureCount],
        broken: &[usize],
        priors: &FailurePriors,
    ) -> Option<Self> {
        let usable: Vec<usize> = (0..counts.len())
            .filter(|version| broken.binary_search(version).is_err())
            .collect();
        let (first, last) = (*usable.first()?, *usable.last()?);
        if usable.len() < 2 {
            return None;
        }
        let grid = RateGrid::new(priors);
        let all: FailureCount = usable.iter().map(|version| counts[*version]).sum();
        let unchanged = grid.unchanged(all);
        let mut gaps = Vec::new();
        let mut ln_weights = Vec::new();
        let mut before = FailureCount::default();
        let mut begin = 0;
        for (at, version) in usable.iter().enumerate().skip(1) {
            before = before + counts[usable[at - 1]];
            let is_end = at + 1 == usable.len() || counts[*version].runs > 0;
            if !is_end {
                continue;
            }
            let since = FailureCount {
                failures: all.failures - before.failures,
                runs: all.runs - before.runs,
            };
            let (ln_likelihood, [before, since]) = grid.changed(before, since);
            let places = (*version - usable[begin]) as f64 / (last - first) as f64;
            ln_weights.push(ln_likelihood + places.ln() + (-priors.no_change).ln_1p());
            gaps.push(Gap {
                after: begin,
                until: at,
                probability: 0.0,
                before,
                since,
            });
            begin = at;
        }
        ln_weights.push(unchanged.0 + priors.no_change.ln());
        let top = ln_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = ln_weights.iter().map(|ln| (ln - top).exp()).sum();
        let mut probabilities = ln_weights.iter().map(|ln| (ln - top).exp() / total);
        for (gap, probability) in gaps.iter_mut().zip(&mut probabilities) {
            gap.probability = probability;
        }
        Some(Self {
            no_change: probabilities.next().unwrap_or(0.0),
            unchanged: unchanged.1,
            counts: counts.to_vec(),
            usable,
            gaps,
        })
    }

    /// Probability that nothing changed by [`FailurePriors::smallest`] or more.
    #[must_use]
    pub fn no_change_probability(&self) -> f64 {
        self.no_change
    }

    /// Each stretch between two versions with runs, with the probability that the change is there.
    #[must_use]
    pub fn locations(&self) -> Vec<(ChangeLocation, f64)> {
        let location = |gap: &Gap| {
            let (after, until) = (self.usable[gap.after], self.usable[gap.until]);
            (ChangeLocation { after, until }, gap.probability)
        };
        self.gaps.iter().map(location).collect()
    }

    /// The likeliest location that can't be made smaller, if there is one: no version within it can be run.
    #[must_use]
    pub fn most_probable(&self) -> Option<(ChangeLocation, f64)> {
        let closed = self.gaps.iter().zip(self.locations());
        closed
            .filter(|(gap, _)| gap.until - gap.after == 1)
            .map(|(_, location)| location)
            .max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Entropy of the answer, in nats: of the places of the change and of none.
    #[must_use]
    pub fn entropy(&self) -> f64 {
        let term = |p: f64, places: usize| match p > 0.0 {
            true => -p * (p / places as f64).ln(),
            false => 0.0,
        };
        let gaps = self.gaps.iter();
        let of_gaps: f64 = gaps
            .map(|gap| term(gap.probability, gap.until - gap.after))
            .sum();
        of_gaps + term(self.no_change, 1)
    }

    /// The version whose runs tell most about the answer for their cost, and how many runs in a row are worth it as far as is
    /// known now. `repeat` is the cost of a run, `first` the cost before the first run of each version, by position.
    #[must_use]
    pub fn next(&self, repeat: f64, first: &[f64]) -> NextMeasurement {
        let mut best = (
            0.0,
            NextMeasurement {
                at: self.usable[0],
                times: 1,
            },
        );
        for at in self.candidates() {
            let version = self.usable[at];
            let build = match self.counts[version].runs {
                0 => first[version],
                _ => 0.0,
            };
            let classes = self.classes(at);
            for times in REPEATS {
                let score = information(&classes, times) / (build + repeat * f64::from(times));
                if score > best.0 {
                    let times = times as usize;
                    best = (score, NextMeasurement { at: version, times });
                }
            }
        }
        best.1
    }

    /// Indices of usable versions that are worth a look: those with runs, and some within each gap.
    fn candidates(&self) -> Vec<usize> {
        let has_runs = |at: &usize| self.counts[self.usable[*at]].runs > 0;
        let mut candidates: Vec<usize> = (0..self.usable.len()).filter(has_runs).collect();
        for gap in &self.gaps {
            if gap.probability >= MIN_GAP_PROBABILITY && gap.until - gap.after > 1 {
                let width = (gap.until - gap.after) as f64;
                let at = GAP_FRACTIONS.map(|share| gap.after + (share * width).round() as usize);
                candidates.extend(at.map(|at| at.clamp(gap.after + 1, gap.until - 1)));
            }
        }
        candidates
    }

    /// What may be true of a usable version, each with its probability and the expected failure probability of a run: it lies
    /// before the change, after it, or nothing changed.
    fn classes(&self, at: usize) -> [(f64, f64); 3] {
        let mut before = (0.0, 0.0);
        let mut since = (0.0, 0.0);
        for gap in &self.gaps {
            let within = at.clamp(gap.after, gap.until) - gap.after;
            let share = within as f64 / (gap.until - gap.after) as f64;
            let (passed, left) = (gap.probability * share, gap.probability * (1.0 - share));
            since = (since.0 + passed, since.1 + passed * gap.since);
            before = (before.0 + left, before.1 + left * gap.before);
        }
        let mean = |(probability, sum): (f64, f64)| match probability > 0.0 {
            true => (probability, sum / probability),
            false => (0.0, 0.0),
        };
        [mean(before), mean(since), (self.no_change, self.unchanged)]
    }
}

/// Mutual information of the failures among `runs` runs and the class of the version, in nats.
fn information(classes: &[(f64, f64); 3], runs: u32) -> f64 {
    let mut sum = 0.0;
    let mut choose = 1.0;
    for failures in 0..=runs {
        let density = classes.map(|(_, rate)| {
            choose * rate.powi(failures as i32) * (1.0 - rate).powi((runs - failures) as i32)
        });
        let joint = classes
            .iter()
            .zip(density)
            .map(|((p, _), density)| p * density);
        let mixed: f64 = joint.sum();
        for ((probability, _), density) in classes.iter().zip(density) {
            if *probability > 0.0 && density > 0.0 {
                sum += probability * density * (density / mixed).ln();
            }
        }
        choose *= f64::from(runs - failures) / f64::from(failures + 1);
    }
    sum
}

/// The grid of failure probabilities with their prior weights.
struct RateGrid {
    rates: Vec<f64>,
    weights: Vec<f64>,
    /// By point: number of points that are smaller by `smallest` or more, and the first that is larger by it.
    smaller: Vec<usize>,
    larger: Vec<usize>,
    /// Prior weight of all pairs that differ by `smallest`.
    pairs: f64,
}

impl RateGrid {
    fn new(priors: &FailurePriors) -> Self {
        let last = GRID_POINTS - 1;
        let angle = |point: usize| std::f64::consts::FRAC_PI_2 * point as f64 / last as f64;
        let rates: Vec<f64> = (0..=last).map(|point| angle(point).sin().powi(2)).collect();
        let even = (1.0 - priors.never_fails - priors.always_fails) / GRID_POINTS as f64;
        let mut weights = vec![even; GRID_POINTS];
        weights[0] += priors.never_fails;
        weights[last] += priors.always_fails;
        let smallest = priors.smallest;
        let smaller = |rate: &f64| rates.partition_point(|other| *other <= rate - smallest);
        let larger = |rate: &f64| rates.partition_point(|other| *other < rate + smallest);
        let mut grid = Self {
            smaller: rates.iter().map(smaller).collect(),
            larger: rates.iter().map(larger).collect(),
            pairs: 1.0,
            rates: rates.clone(),
            weights,
        };
        grid.pairs = grid.over_pairs(&grid.weights, &grid.weights)[0];
        grid
    }

    /// Prior weight times likelihood of each point, relative to the largest likelihood, and ln of that.
    fn weighted(&self, count: FailureCount) -> (Vec<f64>, f64) {
        let (failures, passes) = (count.failures as f64, count.passes() as f64);
        let power = |base: f64, times: f64| match times == 0.0 {
            true => 0.0,
            false => times * base.ln(),
        };
        let ln = self.rates.iter();
        let ln: Vec<f64> = ln
            .map(|rate| power(*rate, failures) + power(1.0 - rate, passes))
            .collect();
        let top = ln.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weighted = ln.iter().zip(&self.weights);
        (
            weighted
                .map(|(ln, weight)| weight * (ln - top).exp())
                .collect(),
            top,
        )
    }

    /// ln of the marginal likelihood of one probability, and its expectation.
    fn unchanged(&self, count: FailureCount) -> (f64, f64) {
        let (weighted, top) = self.weighted(count);
        let total: f64 = weighted.iter().sum();
        let mean = weighted.iter().zip(&self.rates).map(|(w, rate)| w * rate);
        (top + total.ln(), mean.sum::<f64>() / total)
    }

    /// ln of the marginal likelihood of two probabilities that differ, and the expectation of each.
    fn changed(&self, before: FailureCount, since: FailureCount) -> (f64, [f64; 2]) {
        let (before, top_before) = self.weighted(before);
        let (since, top_since) = self.weighted(since);
        let [total, before, since] = self.over_pairs(&before, &since);
        let ln = top_before + top_since + (total / self.pairs).ln();
        (ln, [before / total, since / total])
    }

    /// Sums over all pairs that differ enough of the product of both weights, alone, times the first rate, times the second.
    fn over_pairs(&self, one: &[f64], other: &[f64]) -> [f64; 3] {
        let (mut sums, mut rates) = (vec![0.0], vec![0.0]);
        for (at, weight) in other.iter().enumerate() {
            sums.push(sums[at] + weight);
            rates.push(rates[at] + weight * self.rates[at]);
        }
        let mut total = [0.0; 3];
        for (at, weight) in one.iter().enumerate() {
            let different =
                |sums: &[f64]| sums[self.smaller[at]] + sums[GRID_POINTS] - sums[self.larger[at]];
            let sum = weight * different(&sums);
            total[0] += sum;
            total[1] += sum * self.rates[at];
            total[2] += weight * different(&rates);
        }
        total
    }
}
