//! What several testbeds measured, made comparable: a version that was measured on a slower machine isn't slower.
//!
//! Each testbed is taken to add an amount of its own to whatever is measured on it. What that is, is learnt from versions
//! that several of them measured, by least squares, and from what a cut says about the others; how uncertain it remains
//! is kept ([`OffsetEstimate`], [`PooledVersionMeans::doubt`]), so that a belief can sum over it as it does over the noise.
//!
//! Refuses: testbeds that share no version with the others. What they measured is left out until they do.

use super::{VersionMean, VersionMeans, segmentation::NoiseScale};
use crate::{Random, distributions::normal_quantile};

/// Measurements of several testbeds along one order of versions.
#[derive(Debug, Clone, PartialEq)]
pub struct PooledVersionMeans {
    /// What each testbed measured, by number; nothing of those that can't be compared.
    parts: Vec<VersionMeans>,
    /// All of it, without what each testbed adds.
    course: VersionMeans,
    /// What each adds, less what the first does.
    added: Vec<f64>,
    /// What is uncertain of that, less what all of them have in common: covariances, in units of the square of the value's.
    covariance: Vec<Vec<f64>>,
}

impl PooledVersionMeans {
    /// Of courses of the same versions, one for each testbed. What the testbeds add is estimated from versions that
    /// several measured.
    #[must_use]
    pub fn from_testbeds(courses: &[VersionMeans]) -> Self {
        let parts = comparable(courses);
        let none = vec![0.0; parts.len()];
        let raw = Self {
            course: VersionMeans::together(&parts, &none),
            covariance: vec![none.clone(); parts.len()],
            added: none,
            parts,
        };
        let Some((variance, _)) = raw.pooled().filter(|_| raw.is_of_several()) else {
            return raw;
        };
        match raw.by_versions(variance.max(f64::MIN_POSITIVE)) {
            None => raw,
            Some(offsets) => {
                let covariance = raw.in_common_taken_off(&offsets.covariance());
                raw.with(offsets.mean, covariance)
            }
        }
    }

    /// The same with other amounts that the testbeds add.
    fn with(&self, added: Vec<f64>, covariance: Vec<Vec<f64>>) -> Self {
        Self {
            course: VersionMeans::together(&self.parts, &added),
            parts: self.parts.clone(),
            added,
            covariance,
        }
    }

    /// The same with what the testbeds add taken from draws of it: their mean, and how they vary.
    pub(super) fn with_drawn(&self, drawn: &[Vec<f64>]) -> Self {
        let n = drawn.len() as f64;
        let testbeds = 0..self.parts.len();
        let mean = |of: usize| drawn.iter().map(|added| added[of]).sum::<f64>() / n;
        let added: Vec<f64> = testbeds.clone().map(mean).collect();
        let covariance = testbeds.clone().map(|a| {
            let with = |b: usize| {
                let off = drawn.iter().map(|d| (d[a] - added[a]) * (d[b] - added[b]));
                off.sum::<f64>() / n
            };
            testbeds.clone().map(with).collect()
        });
        let covariance: Vec<Vec<f64>> = covariance.collect();
        let covariance = self.in_common_taken_off(&covariance);
        self.with(added, covariance)
    }

    /// All measurements, without what the testbeds add.
    #[must_use]
    pub fn course(&self) -> &VersionMeans {
        &self.course
    }

    /// What each testbed adds, less what the first does.
    #[must_use]
    pub fn added(&self) -> &[f64] {
        &self.added
    }

    /// All measurements as one course, if the testbeds added this.
    pub(super) fn course_if(&self, added: &[f64]) -> VersionMeans {
        VersionMeans::together(&self.parts, added)
    }

    /// Whether there is anything to compare: more than one testbed has measured.
    pub(super) fn is_of_several(&self) -> bool {
        let measured = self.parts.iter().filter(|part| !part.points().is_empty());
        measured.count() > 1
    }

    /// What a testbed measured of a version.
    pub(super) fn point(&self, testbed: usize, at: usize) -> Option<&VersionMean> {
        self.parts.get(testbed)?.point(at)
    }

    /// The variance of one measurement about the mean of its version on its testbed, pooled, and its degrees of freedom;
    /// none without repeats.
    pub(super) fn pooled(&self) -> Option<(f64, f64)> {
        let scatters = self.parts.iter().map(VersionMeans::scatter);
        // A testbed that measured nothing has nothing of either.
        let (squares, freedom) = scatters.fold((0.0, 0.0), |(squares, freedom), scatter| {
            (squares + scatter.0, freedom + scatter.1)
        });
        (freedom > 0.0).then(|| (squares / freedom, freedom))
    }

    /// How many measurements each testbed made of these versions.
    fn counts(&self, (from, to): (usize, usize)) -> Vec<f64> {
        let within = |point: &&VersionMean| (from..=to).contains(&point.at);
        let count = |part: &VersionMeans| part.points().iter().filter(within).map(|p| p.n).sum();
        self.parts.iter().map(count).collect()
    }

    /// The variance that the mean of some versions less that of others has because it isn't known exactly what the
    /// testbeds add: none where each testbed measured the same share of both.
    pub(super) fn doubt(&self, these: (usize, usize), those: (usize, usize)) -> f64 {
        let (these, those) = (shares(self.counts(these)), shares(self.counts(those)));
        let off: Vec<f64> = these.iter().zip(those).map(|(a, b)| a - b).collect();
        self.variance_of(&off)
    }

    /// How much more a version's mean is known after so many more measurements of it on this testbed: as the variance
    /// that a measurement would have, of one testbed, that tells as much. `noise` is the variance of one.
    pub(super) fn noise_of_next(&self, testbed: usize, at: usize, times: f64, noise: f64) -> f64 {
        if !self.is_of_several() || testbed >= self.parts.len() {
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
        // One that tells nothing is as good as one with a lot of noise.
        1.0 / (known(&counts) - before).max(1e-3 / noise)
    }

    fn variance_of(&self, shares: &[f64]) -> f64 {
        let rows = self.covariance.iter().zip(shares);
        let sum: f64 = rows
            .map(|(row, share)| share * row.iter().zip(shares).map(|(c, s)| c * s).sum::<f64>())
            .sum();
        sum.max(0.0)
    }

    /// Covariances about the mean of all measurements: what all testbeds add makes no version differ from another.
    fn in_common_taken_off(&self, covariance: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let versions = self.course.versions();
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

    /// What the testbeds add, by the versions that several of them measured alone.
    pub(super) fn by_versions(&self, noise: f64) -> Option<OffsetEstimate> {
        let points = self.course.points().iter();
        let each = points.map(|point| (point.at, point.at));
        // A version's own mean may be anything.
        OffsetEstimate::by_least_squares(&self.parts, each, noise, |n| 1.0 / n, 0.0)
    }

    /// What they add, if these are the stretches that have one mean each: the first and the last position of each.
    pub(super) fn by_stretches(
        &self,
        stretches: impl Iterator<Item = (usize, usize)>,
        scale: &NoiseScale,
        centre: f64,
    ) -> Option<OffsetEstimate> {
        let pull = |n: f64| 1.0 / (n + scale.noise / scale.means);
        OffsetEstimate::by_least_squares(&self.parts, stretches, scale.noise, pull, centre)
    }
}

/// Those of the courses that share versions with the first that has any, directly or by way of others; nothing in place of
/// the rest.
fn comparable(courses: &[VersionMeans]) -> Vec<VersionMeans> {
    let mut is_in = vec![false; courses.len()];
    if let Some(first) = courses.iter().position(|c| !c.points().is_empty()) {
        is_in[first] = true;
    }
    for _ in courses {
        for at in 0..courses.len() {
            let mut known = courses.iter().zip(&is_in).filter(|(_, is_in)| **is_in);
            let shared = |known: &VersionMeans| {
                let mut points = courses[at].points().iter();
                points.any(|point| known.point(point.at).is_some())
            };
            is_in[at] = is_in[at] || known.any(|(known, _)| shared(known));
        }
    }
    let of = |(course, is_in): (&VersionMeans, bool)| match is_in {
        true => course.clone(),
        false => course.unmeasured(),
    };
    courses.iter().zip(is_in).map(of).collect()
}

fn shares(counts: Vec<f64>) -> Vec<f64> {
    let all: f64 = counts.iter().sum();
    match all > 0.0 {
        true => counts.into_iter().map(|n| n / all).collect(),
        false => counts,
    }
}

/// What the testbeds add, less what the first of those that measured does: normal, with the inverse of the covariance as
/// the product of a lower triangular matrix and its transpose.
#[derive(Debug, Clone)]
pub(super) struct OffsetEstimate {
    /// The expectation, of every testbed.
    pub mean: Vec<f64>,
    /// The testbeds that have one that isn't known beforehand.
    free: Vec<usize>,
    root: Vec<Vec<f64>>,
}

impl OffsetEstimate {
    /// By least squares, stretch by stretch: each has a mean of its own, which is normal about `centre` and summed over.
    /// `pull` says of a stretch of so many measurements how much each of them moves that mean.
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
        let root = lower(&precision)?;
        let mut mean = vec![0.0; parts.len()];
        for (at, value) in free
            .iter()
            .zip(transposed_solved(&root, &solved(&root, &right)))
        {
            mean[*at] = value;
        }
        mean.iter()
            .all(|value| value.is_finite())
            .then_some(Self { mean, free, root })
    }

    /// How many testbeds have an amount that isn't known beforehand.
    pub fn len(&self) -> usize {
        self.free.len()
    }

    /// What they add at these standard normal deviates, one for each that isn't known.
    pub fn at(&self, deviates: &[f64]) -> Vec<f64> {
        let mut added = self.mean.clone();
        for (at, off) in self
            .free
            .iter()
            .zip(transposed_solved(&self.root, deviates))
        {
            added[*at] += off;
        }
        added
    }

    fn covariance(&self) -> Vec<Vec<f64>> {
        let all = self.mean.len();
        let mut covariance = vec![vec![0.0; all]; all];
        for (column, b) in self.free.iter().enumerate() {
            let mut unit = vec![0.0; self.free.len()];
            unit[column] = 1.0;
            let inverse = transposed_solved(&self.root, &solved(&self.root, &unit));
            for (a, value) in self.free.iter().zip(inverse) {
                covariance[*a][*b] = value;
            }
        }
        covariance
    }
}

/// So many points of so many standard normal deviates each that lie as evenly as such a number can: in each dimension one in
/// each part of the same probability, in another order (M. D. McKay, R. J. Beckman, W. J. Conover, "A comparison of three
/// methods for selecting values of input variables", Technometrics 21, 1979).
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

/// The lower triangular root of a positive definite matrix (A.-L. Cholesky); `None` if it isn't one.
fn lower(matrix: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let size = matrix.len();
    let mut root = vec![vec![0.0; size]; size];
    for row in 0..size {
        for column in 0..=row {
            let sum: f64 = (0..column).map(|at| root[row][at] * root[column][at]).sum();
            let left = matrix[row][column] - sum;
            root[row][column] = match row == column {
                // What is left of rounding isn't information.
                true if left > 1e-9 * matrix[row][row] => left.sqrt(),
                true => return None,
                false => left / root[column][column],
            };
        }
    }
    Some(root)
}

/// x of root · x = right.
fn solved(root: &[Vec<f64>], right: &[f64]) -> Vec<f64> {
    let mut x: Vec<f64> = Vec::with_capacity(right.len());
    for (row, value) in root.iter().zip(right) {
        let sum: f64 = row.iter().zip(&x).map(|(a, b)| a * b).sum();
        x.push((value - sum) / row[x.len()]);
    }
    x
}

/// x of rootᵀ · x = right.
fn transposed_solved(root: &[Vec<f64>], right: &[f64]) -> Vec<f64> {
    let mut x = right.to_vec();
    for row in (0..x.len()).rev() {
        let sum: f64 = (row + 1..x.len())
            .map(|below| root[below][row] * x[below])
            .sum();
        x[row] = (x[row] - sum) / root[row][row];
    }
    x
}
