//! Measurements of several testbeds, made comparable: a version measured on a slower machine isn't slower.
//!
//! The model: each testbed adds an offset of its own to each measurement. The offsets are estimated by least squares from
//! versions that several testbeds measured, then from the steps of a segmentation. Their covariance is kept
//! ([`OffsetEstimate`], [`PooledVersionMeans::offset_variance`]), so that the posterior can sum over them.
//!
//! The measurements of a testbed that shares no version with the others are left out until it does.

use super::{VersionMean, VersionMeans, segmentation::NoiseScale};
use crate::{Random, distributions::normal_quantile};

/// Measurements of several testbeds along one order of versions.
#[derive(Debug, Clone, PartialEq)]
pub struct PooledVersionMeans {
    /// Measurements by testbed; empty for a testbed that can't be compared.
    parts: Vec<VersionMeans>,
    /// All measurements without the offsets.
    means: VersionMeans,
    /// Offset of each testbed relative to the first.
    offsets: Vec<f64>,
    /// Covariance of the offsets, without what all of them have in common, in squares of the metric's unit.
    covariance: Vec<Vec<f64>>,
}

impl PooledVersionMeans {
    /// Pools the measurements of each testbed, all of the same versions; estimates the offsets from versions that several
    /// testbeds measured.
    #[must_use]
    pub fn from_testbeds(by_testbed: &[VersionMeans]) -> Self {
        let parts = comparable(by_testbed);
        let none = vec![0.0; parts.len()];
        let raw = Self {
            means: VersionMeans::pool(&parts, &none),
            covariance: vec![none.clone(); parts.len()],
            offsets: none,
            parts,
        };
        let Some((variance, _)) = raw.pooled().filter(|_| raw.has_several_testbeds()) else {
            return raw;
        };
        match raw.offsets_by_versions(variance.max(f64::MIN_POSITIVE)) {
            None => raw,
            Some(offsets) => {
                let covariance = raw.without_common_offset(&offsets.covariance());
                raw.with(offsets.mean, covariance)
            }
        }
    }

    /// The same with other offsets.
    fn with(&self, offsets: Vec<f64>, covariance: Vec<Vec<f64>>) -> Self {
        Self {
            means: VersionMeans::pool(&self.parts, &offsets),
            parts: self.parts.clone(),
            offsets,
            covariance,
        }
    }

    /// The same with the mean and the covariance of drawn offsets.
    pub(super) fn with_drawn_offsets(&self, drawn: &[Vec<f64>]) -> Self {
        let n = drawn.len() as f64;
        let testbeds = 0..self.parts.len();
        let mean = |of: usize| drawn.iter().map(|offsets| offsets[of]).sum::<f64>() / n;
        let offsets: Vec<f64> = testbeds.clone().map(mean).collect();
        let covariance = testbeds.clone().map(|a| {
            let with = |b: usize| {
                let off = drawn
                    .iter()
                    .map(|d| (d[a] - offsets[a]) * (d[b] - offsets[b]));
                off.sum::<f64>() / n
            };
            testbeds.clone().map(with).collect()
        });
        let covariance: Vec<Vec<f64>> = covariance.collect();
        let covariance = self.without_common_offset(&covariance);
        self.with(offsets, covariance)
    }

    /// All measurements without the offsets.
    #[must_use]
    pub fn means(&self) -> &VersionMeans {
        &self.means
    }

    /// Offset of each testbed relative to the first.
    #[must_use]
    pub fn offsets(&self) -> &[f64] {
        &self.offsets
    }

    /// All measurements without these offsets.
    pub(super) fn means_with_offsets(&self, offsets: &[f64]) -> VersionMeans {
        VersionMeans::pool(&self.parts, offsets)
    }

    /// Whether more than one testbed has measurements.
    pub(super) fn has_several_testbeds(&self) -> bool {
        let measured = self.parts.iter().filter(|part| !part.points().is_empty());
        measured.count() > 1
    }

    /// The measurements of a version on a testbed.
    pub(super) fn point(&self, testbed: usize, at: usize) -> Option<&VersionMean> {
        self.parts.get(testbed)?.point(at)
    }

    /// Pooled variance of one measurement within version and testbed, and its degrees of freedom; `None` without repeats.
    pub(super) fn pooled(&self) -> Option<(f64, f64)> {
        let scatters = self.parts.iter().map(VersionMeans::sum_of_squares);
        // A testbed without measurements adds nothing to either.
        let (squares, freedom) = scatters.fold((0.0, 0.0), |(squares, freedom), scatter| {
            (squares + scatter.0, freedom + scatter.1)
        });
        (freedom > 0.0).then(|| (squares / freedom, freedom))
    }

    /// Number of measurements of these versions, by testbed.
    fn counts(&self, (from, to): (usize, usize)) -> Vec<f64> {
        let within = |point: &&VersionMean| (from..=to).contains(&point.at);
        let count = |part: &VersionMeans| part.points().iter().filter(within).map(|p| p.n).sum();
        self.parts.iter().map(count).collect()
    }

    /// Variance of the difference of two means over versions that comes from the offsets; 0 if each testbed has the same share
    /// of both.
    pub(super) fn offset_variance(&self, these: (usize, usize), those: (usize, usize)) -> f64 {
        let (these, those) = (shares(self.counts(these)), shares(self.counts(those)));
        let off: Vec<f64> = these.iter().zip(those).map(|(a, b)| a - b).collect();
        self.variance_of(&off)
    }

    /// Variance of a single measurement without offsets that would tell as much about the version's mean as `times`
    /// measurements on this testbed. `noise` is the variance of one.
    pub(super) fn noise_of_next(&self, testbed: usize, at: usize, times: f64, noise: f64) -> f64 {
        if !self.has_several_testbeds() || testbed >= self.parts.len() {
            return noise / times;
        }
        let mut counts = self.counts((at, at));
        let known = |counts: &[f64]| {
            let n: f64 = counts.iter().sum();
            match n > 0.0 {
                true => 1.0 / (noise / n + self.variance_of(&shares(counts.to_vec()))),
                false => 0.0,
            }
        };
        let before = known(&counts);
        counts[testbed] += times;
        // A measurement that tells nothing has a large variance, not an infinite one.
        1.0 / (known(&counts) - before).max(1e-3 / noise)
    }

    fn variance_of(&self, shares: &[f64]) -> f64 {
        let rows = self.covariance.iter().zip(shares);
        let sum: f64 = rows
            .map(|(row, share)| share * row.iter().zip(shares).map(|(c, s)| c * s).sum::<f64>())
            .sum();
        sum.max(0.0)
    }

    /// The covariance about the mean of all measurements: an offset common to all testbeds makes no version differ from
    /// another.
    fn without_common_offset(&self, covariance: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let versions = self.means.versions();
        let shares = shares(self.counts((0, versions.saturating_sub(1))));
        let with_all: Vec<f64> = covariance
            .iter()
            .map(|row| row.iter().zip(&shares).map(|(c, s)| c * s).sum())
            .collect();
        let of_all: f64 = with_all.iter().zip(&shares).map(|(c, s)| c * s).sum();
        let rows = covariance.iter().zip(&with_all);
        rows.map(|(row, a)| {
            let columns = row.iter().zip(&with_all);
            columns.map(|(c, b)| c - a - b + of_all).collect()
        })
        .collect()
    }

    /// Estimates the offsets from each version that several testbeds measured.
    pub(super) fn offsets_by_versions(&self, noise: f64) -> Option<OffsetEstimate> {
        let points = self.means.points().iter();
        let each = points.map(|point| (point.at, point.at));
        // Flat prior for the mean of a version.
        OffsetEstimate::by_least_squares(&self.parts, each, noise, |n| 1.0 / n, 0.0)
    }

    /// Estimates the offsets given stretches of one mean each, by first and last position.
    pub(super) fn offsets_by_stretches(
        &self,
        stretches: impl Iterator<Item = (usize, usize)>,
        scale: &NoiseScale,
        centre: f64,
    ) -> Option<OffsetEstimate> {
        let pull = |n: f64| 1.0 / (n + scale.noise / scale.levels);
        OffsetEstimate::by_least_squares(&self.parts, stretches, scale.noise, pull, centre)
    }
}

/// The testbeds that share versions with the first that has any, directly or by way of others; the rest without their
/// measurements.
fn comparable(by_testbed: &[VersionMeans]) -> Vec<VersionMeans> {
    let mut is_in = vec![false; by_testbed.len()];
    if let Some(first) = by_testbed.iter().position(|c| !c.points().is_empty()) {
        is_in[first] = true;
    }
    for _ in by_testbed {
        for at in 0..by_testbed.len() {
            let mut known = by_testbed.iter().zip(&is_in).filter(|(_, is_in)| **is_in);
            let shared = |known: &VersionMeans| {
                let mut points = by_testbed[at].points().iter();
                points.any(|point| known.point(point.at).is_some())
            };
            is_in[at] = is_in[at] || known.any(|(known, _)| shared(known));
        }
    }
    let of = |(means, is_in): (&VersionMeans, bool)| match is_in {
        true => means.clone(),
        false => means.unmeasured(),
    };
    by_testbed.iter().zip(is_in).map(of).collect()
}

fn shares(counts: Vec<f64>) -> Vec<f64> {
    let all: f64 = counts.iter().sum();
    match all > 0.0 {
        true => counts.into_iter().map(|n| n / all).collect(),
        false => counts,
    }
}

/// Estimate of the offsets relative to the first testbed with measurements: a normal distribution, with the Cholesky root of
/// its precision.
#[derive(Debug, Clone)]
pub(super) struct OffsetEstimate {
    /// Mean, by testbed.
    pub mean: Vec<f64>,
    /// The testbeds whose offset is estimated; the others have 0.
    free: Vec<usize>,
    root: Vec<Vec<f64>>,
}

impl OffsetEstimate {
    /// Least squares over stretches. The mean of each is normal about `centre` and integrated out; `pull` is the share by which
    /// each of n measurements moves it.
    fn by_least_squares(
        parts: &[VersionMeans],
        stretches: impl Iterator<Item = (usize, usize)>,
        noise: f64,
        pull: impl Fn(f64) -> f64,
        centre: f64,
    ) -> Option<Self> {
        let measured = (0..parts.len()).filter(|at| !parts[*at].points().is_empty());
        let free: Vec<usize> = measured.skip(1).collect();
        let mut precision = vec![vec![0.0; free.len()]; free.len()];
        let mut right = vec![0.0; free.len()];
        for (from, to) in stretches {
            let sums = parts.iter().map(|part| {
                let points = part.points().iter();
                let within = points.filter(|point| (from..=to).contains(&point.at));
                within.fold((0.0, 0.0), |(n, sum), point| {
                    (n + point.n, sum + point.n * (point.mean - centre))
                })
            });
            let sums: Vec<(f64, f64)> = sums.collect();
            let (n, sum) = sums
                .iter()
                .fold((0.0, 0.0), |(n, s), of| (n + of.0, s + of.1));
            if n == 0.0 {
                continue;
            }
            let pull = pull(n);
            for (row, a) in free.iter().enumerate() {
                let (of_a, sum_a) = sums[*a];
                right[row] += (sum_a - pull * of_a * sum) / noise;
                for (column, b) in free.iter().enumerate() {
                    let own = if a == b { of_a } else { 0.0 };
                    precision[row][column] += (own - pull * of_a * sums[*b].0) / noise;
                }
            }
        }
        let root = cholesky(&precision)?;
        let mut mean = vec![0.0; parts.len()];
        for (at, value) in free
            .iter()
            .zip(solve_upper(&root, &solve_lower(&root, &right)))
        {
            mean[*at] = value;
        }
        mean.iter()
            .all(|value| value.is_finite())
            .then_some(Self { mean, free, root })
    }

    /// Number of estimated offsets.
    pub fn len(&self) -> usize {
        self.free.len()
    }

    /// The offsets at these standard normal deviates, one for each estimated offset.
    pub fn at(&self, deviates: &[f64]) -> Vec<f64> {
        let mut offsets = self.mean.clone();
        for (at, off) in self.free.iter().zip(solve_upper(&self.root, deviates)) {
            offsets[*at] += off;
        }
        offsets
    }

    fn covariance(&self) -> Vec<Vec<f64>> {
        let all = self.mean.len();
        let mut covariance = vec![vec![0.0; all]; all];
        for (column, b) in self.free.iter().enumerate() {
            let mut unit = vec![0.0; self.free.len()];
            unit[column] = 1.0;
            let inverse = solve_upper(&self.root, &solve_lower(&self.root, &unit));
            for (a, value) in self.free.iter().zip(inverse) {
                covariance[*a][*b] = value;
            }
        }
        covariance
    }
}

/// Latin hypercube sample of standard normal deviates: in each dimension one point in each part of the same probability (M. D.
/// McKay, R. J. Beckman, W. J. Conover, "A comparison of three methods for selecting values of input variables", Technometrics
/// 21, 1979).
pub(super) fn even_deviates(points: usize, each: usize, random: &mut Random) -> Vec<Vec<f64>> {
    let mut all = vec![Vec::with_capacity(each); points];
    for _ in 0..each {
        let middle = |n: usize| normal_quantile((n as f64 + 0.5) / points as f64);
        let mut values: Vec<f64> = (0..points).map(middle).collect();
        random.shuffle(&mut values);
        for (point, value) in all.iter_mut().zip(values) {
            point.push(value);
        }
    }
    all
}

/// Cholesky decomposition: the lower triangular root of a positive definite matrix; `None` if it isn't one.
fn cholesky(matrix: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let size = matrix.len();
    let mut root = vec![vec![0.0; size]; size];
    for row in 0..size {
        for column in 0..=row {
            let sum: f64 = (0..column).map(|at| root[row][at] * root[column][at]).sum();
            let left = matrix[row][column] - sum;
            root[row][column] = match row == column {
                // A rest this small is rounding, not information.
                true if left > 1e-9 * matrix[row][row] => left.sqrt(),
                true => return None,
                false => left / root[column][column],
            };
        }
    }
    Some(root)
}

/// Solves root · x = right.
fn solve_lower(root: &[Vec<f64>], right: &[f64]) -> Vec<f64> {
    let mut x: Vec<f64> = Vec::with_capacity(right.len());
    for (row, value) in root.iter().zip(right) {
        let sum: f64 = row.iter().zip(&x).map(|(a, b)| a * b).sum();
        x.push((value - sum) / row[x.len()]);
    }
    x
}

/// Solves rootᵀ · x = right.
fn solve_upper(root: &[Vec<f64>], right: &[f64]) -> Vec<f64> {
    let mut x = right.to_vec();
    for row in (0..x.len()).rev() {
        let sum: f64 = (row + 1..x.len())
            .map(|below| root[below][row] * x[below])
            .sum();
        x[row] = (x[row] - sum) / root[row][row];
    }
    x
}
