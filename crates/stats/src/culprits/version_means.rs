//! Measurements along an order of versions: count, mean and squared deviations of each measured version.

use std::collections::BTreeMap;

/// The measurements of one version.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VersionMean {
    /// Position of the version, from 0.
    pub at: usize,
    /// Number of measurements.
    pub n: f64,
    /// Mean.
    pub mean: f64,
    /// Sum of squared deviations from the mean.
    pub squares: f64,
}

impl VersionMean {
    fn with(&self, other: &Self) -> Self {
        let n = self.n + other.n;
        let off = other.mean - self.mean;
        Self {
            at: self.at,
            n,
            mean: self.mean + off * other.n / n,
            squares: self.squares + other.squares + off * off * self.n * other.n / n,
        }
    }
}

/// Measurements along an order of versions, all from one testbed.
#[derive(Debug, Clone, PartialEq)]
pub struct VersionMeans {
    versions: usize,
    points: Vec<VersionMean>,
    ruled_out: Vec<bool>,
}

impl VersionMeans {
    /// This many versions without measurements.
    #[must_use]
    pub fn new(versions: usize) -> Self {
        Self {
            versions,
            points: Vec::new(),
            ruled_out: vec![false; versions],
        }
    }

    /// The same versions without measurements.
    pub(super) fn unmeasured(&self) -> Self {
        Self {
            points: Vec::new(),
            ..self.clone()
        }
    }

    /// Number of versions.
    #[must_use]
    pub fn versions(&self) -> usize {
        self.versions
    }

    /// The measured versions, ascending.
    #[must_use]
    pub fn points(&self) -> &[VersionMean] {
        &self.points
    }

    /// The measurements of a version, if there are any.
    #[must_use]
    pub fn point(&self, at: usize) -> Option<&VersionMean> {
        let found = self.points.binary_search_by_key(&at, |point| point.at);
        found.ok().map(|place| &self.points[place])
    }

    /// Adds an independent measurement of a version. Source of the update: B. P. Welford, "Note on a method for
    /// calculating corrected sums of squares and products", Technometrics 4 (1962).
    pub fn add(&mut self, at: usize, value: f64) {
        let found = self.points.binary_search_by_key(&at, |point| point.at);
        let place = found.unwrap_or_else(|place| {
            let new = VersionMean {
                at,
                n: 0.0,
                mean: 0.0,
                squares: 0.0,
            };
            self.points.insert(place, new);
            place
        });
        let point = &mut self.points[place];
        point.n += 1.0;
        let off = value - point.mean;
        point.mean += off / point.n;
        point.squares += off * (value - point.mean);
    }

    /// Marks a version that can't be measured: it doesn't build, boot or run.
    pub fn rule_out(&mut self, at: usize) {
        self.ruled_out[at] = true;
    }

    /// Whether the version can be measured, as far as is known.
    #[must_use]
    pub fn is_open(&self, at: usize) -> bool {
        !self.ruled_out[at]
    }

    /// The version nearest to `to` within a range that can be measured and has no measurement.
    pub(super) fn nearest(&self, to: usize, within: std::ops::Range<usize>) -> Option<usize> {
        let open = within.filter(|at| self.is_open(*at) && self.point(*at).is_none());
        open.min_by_key(|at| at.abs_diff(to))
    }

    /// Whether a version between these two can be measured.
    pub(super) fn is_open_between(&self, (from, to): (usize, usize)) -> bool {
        (from + 1..to).any(|at| self.is_open(at))
    }

    /// Number of places for a step between the measured versions `gap` and `gap` + 1.
    pub(super) fn places(&self, gap: usize) -> usize {
        self.points[gap + 1].at - self.points[gap].at
    }

    /// Whether there is a version between the measured ones `gap` and `gap` + 1 that can be measured.
    pub(super) fn has_open_version(&self, gap: usize) -> bool {
        self.is_open_between((self.points[gap].at, self.points[gap + 1].at))
    }

    /// Sum of squared deviations within versions, and its degrees of freedom.
    pub(super) fn sum_of_squares(&self) -> (f64, f64) {
        let squares: f64 = self.points.iter().map(|point| point.squares).sum();
        let freedom: f64 = self.points.iter().map(|point| point.n - 1.0).sum();
        (squares, freedom)
    }

    /// Pools measurements of the same versions, each part without its offset. Source of the sums: T. F. Chan, G. H. Golub, R.
    /// J. LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances" (1979).
    pub(super) fn pool(parts: &[Self], offsets: &[f64]) -> Self {
        let (first, others) = match parts {
            [] => return Self::new(0),
            [only] => return only.clone(),
            [first, others @ ..] => (first, others),
        };
        let mut all: BTreeMap<usize, VersionMean> = BTreeMap::new();
        for (part, offsets) in parts.iter().zip(offsets) {
            for point in &part.points {
                let point = VersionMean {
                    mean: point.mean - offsets,
                    ..*point
                };
                all.entry(point.at)
                    .and_modify(|known| *known = known.with(&point))
                    .or_insert(point);
            }
        }
        let ruled_out = |at: usize| others.iter().any(|part| part.ruled_out[at]);
        Self {
            versions: first.versions,
            points: all.into_values().collect(),
            ruled_out: (first.ruled_out.iter().enumerate())
                .map(|(at, out)| *out || ruled_out(at))
                .collect(),
        }
    }
}
