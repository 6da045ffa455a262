//! Sums over all segmentations of the measured versions into stretches with one mean each, for given noise and spread of the
//! levels.
//!
//! Source: P. Fearnhead, "Exact and efficient Bayesian inference for multiple changepoint problems", Statistics and Computing
//! 16 (2006): forward recursion, and exact draws backwards. The mean of a stretch is normal about a common one, and integrated
//! out.

use super::VersionMeans;
use crate::Random;

/// Variances that are taken as known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct NoiseScale {
    /// The variance of one measurement.
    pub noise: f64,
    /// The variance of the levels: the means of the stretches.
    pub levels: f64,
}

/// Prefix sums over the measured versions: counts, values, squares of means.
#[derive(Debug, Clone)]
pub(super) struct SegmentSums {
    centre: f64,
    n: Vec<f64>,
    sum: Vec<f64>,
    squares: Vec<f64>,
}

impl SegmentSums {
    /// `centre` is the common mean; it is subtracted for precision.
    pub fn new(means: &VersionMeans, centre: f64) -> Self {
        let (mut n, mut sum, mut squares) = (vec![0.0], vec![0.0], vec![0.0]);
        for (at, point) in means.points().iter().enumerate() {
            let off = point.mean - centre;
            n.push(n[at] + point.n);
            sum.push(sum[at] + point.n * off);
            squares.push(squares[at] + point.n * off * off);
        }
        Self {
            centre,
            n,
            sum,
            squares,
        }
    }

    /// Number of measurements of the points `i` to `j`, both included, and their mean less the centre.
    fn of_stretch(&self, i: usize, j: usize) -> (f64, f64) {
        let n = self.n[j + 1] - self.n[i];
        (n, (self.sum[j + 1] - self.sum[i]) / n)
    }

    /// ln of the density of the measurements of a stretch, without factors that no segmentation changes.
    fn density(&self, i: usize, j: usize, scale: &NoiseScale) -> f64 {
        let (n, mean) = self.of_stretch(i, j);
        let about = (self.squares[j + 1] - self.squares[i] - n * mean * mean).max(0.0);
        -0.5 * ((n * scale.levels / scale.noise).ln_1p()
            + about / scale.noise
            + mean * mean / (scale.levels + scale.noise / n))
    }

    /// Posterior mean and variance of the level of a stretch.
    pub fn mean_of(&self, (i, j): (usize, usize), scale: &NoiseScale) -> (f64, f64) {
        let (n, mean) = self.of_stretch(i, j);
        let variance = 1.0 / (n / scale.noise + 1.0 / scale.levels);
        (self.centre + variance * n * mean / scale.noise, variance)
    }
}

/// All segmentations at one scale, for a chance of a step per place.
pub(super) struct Segmentations {
    /// ln of the density of the points up to each one, if a stretch ends there.
    forward: Vec<f64>,
    /// ln of the probability of a step, and of none, by gap.
    go: Vec<f64>,
    stay: Vec<f64>,
    /// ln of the density of the stretch from i to j, at `i * points + j`.
    density: Vec<f64>,
    /// Cumulative weights of the first point of the last stretch that ends at a point; computed on the first draw.
    begins: Vec<Option<Vec<f64>>>,
}

/// The densities of all stretches at a scale.
pub(super) fn densities(sums: &SegmentSums, points: usize, scale: &NoiseScale) -> Vec<f64> {
    let mut density = vec![0.0; points * points];
    for i in 0..points {
        for j in i..points {
            density[i * points + j] = sums.density(i, j, scale);
        }
    }
    density
}

impl Segmentations {
    /// Sums over all segmentations, with this chance of a step at each place.
    pub fn new(means: &VersionMeans, density: Vec<f64>, chance: f64) -> Self {
        let points = means.points().len();
        let stay: Vec<f64> = (1..points)
            .map(|gap| means.places(gap - 1) as f64 * (-chance).ln_1p())
            .collect();
        let go: Vec<f64> = stay.iter().map(|stay| (-stay.exp_m1()).ln()).collect();
        let mut cuts = Self {
            forward: Vec::with_capacity(points),
            go,
            stay,
            density,
            begins: vec![None; points],
        };
        let mut ways = Vec::with_capacity(points);
        for end in 0..points {
            cuts.push_endings(end, &mut ways);
            let total = ln_sum(&ways);
            cuts.forward.push(total);
        }
        cuts
    }

    /// ln of the weights of the stretches that end at `end`: beginning there, one point before, …
    fn push_endings(&self, end: usize, ways: &mut Vec<f64>) {
        ways.clear();
        let points = self.begins.len();
        let mut stays = 0.0;
        for begin in (0..=end).rev() {
            let before = match begin {
                0 => 0.0,
                _ => self.forward[begin - 1] + self.go[begin - 1],
            };
            ways.push(before + stays + self.density[begin * points + end]);
            if begin > 0 {
                stays += self.stay[begin - 1];
            }
        }
    }

    /// ln of the density of all measurements.
    pub fn total_density(&self) -> f64 {
        self.forward.last().copied().unwrap_or(0.0)
    }

    /// The same without any step.
    pub fn density_without_step(&self) -> f64 {
        let points = self.begins.len();
        self.density[points - 1] + self.stay.iter().sum::<f64>()
    }

    /// Draws a segmentation: the gaps with a step, ascending.
    pub fn draw(&mut self, random: &mut Random) -> Vec<usize> {
        let mut steps = Vec::new();
        let mut end = self.begins.len() - 1;
        loop {
            if self.begins[end].is_none() {
                let mut ways = Vec::with_capacity(end + 1);
                self.push_endings(end, &mut ways);
                let top = ways.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let mut total = 0.0;
                for way in &mut ways {
                    total += (*way - top).exp();
                    *way = total;
                }
                self.begins[end] = Some(ways);
            }
            let Some(cumulated) = &self.begins[end] else {
                break;
            };
            let goal = random.uniform() * cumulated[end];
            let back = cumulated.partition_point(|sum| *sum < goal).min(end);
            let begin = end - back;
            if begin == 0 {
                break;
            }
            steps.push(begin - 1);
            end = begin - 1;
        }
        steps.reverse();
        steps
    }
}

/// ln Σ exp x.
pub(super) fn ln_sum(terms: &[f64]) -> f64 {
    let top = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    top + terms.iter().map(|x| (x - top).exp()).sum::<f64>().ln()
}
