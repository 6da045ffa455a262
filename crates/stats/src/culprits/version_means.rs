//! What was measured along an order of versions: for each measured version how often, the mean and the spread.

use std::collections::BTreeMap;

/// A version that was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VersionMean {
    /// Its position, from 0.
    pub at: usize,
    /// How often it was measured.
    pub n: f64,
    /// The mean.
    pub mean: f64,
    /// The sum of squared deviations from the mean.
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

/// Measurements along an order of versions, all made on one testbed.
#[derive(Debug, Clone, PartialEq)]
pub struct VersionMeans {
    versions: usize,
    points: Vec<VersionMean>,
    ruled_out: Vec<bool>,
}

impl VersionMeans {
    /// So many versions, of which nothing is known.
    #[must_use]
    pub fn new(versions: usize) -> Self {
        Self {
            versions,
            points: Vec::new(),
            ruled_out: vec![false; versions],
        }
    }

    /// The same versions, of which nothing was measured.
    pub(super) fn unmeasured(&self) -> Self {
        Self {
            points: Vec::new(),
            ..self.clone()
        }
    }

    /// How many versions there are.
    #[must_use]
    pub fn versions(&self) -> usize {
        self.versions
    }

    /// The measured ones, ascending.
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

    /// Nothing can be measured at this version: it doesn't build, boot or run.
    pub fn rule_out(&mut self, at: usize) {
        self.ruled_out[at] = true;
    }

    /// Whether the version can be measured, as far as is known.
    #[must_use]
    pub fn is_open(&self, at: usize) -> bool {
        !self.ruled_out[at]
    }

    /// The open version nearest to `to` within a range, if there is one that wasn't measured.
    pub(super) fn nearest(&self, to: usize, within: std::ops::Range<usize>) -> Option<usize> {
        let open = within.filter(|at| self.is_open(*at) && self.point(*at).is_none());
        open.min_by_key(|at| at.abs_diff(to))
    }

    /// Whether a version between these two can be measured.
    pub(super) fn is_open_between(&self, (from, to): (usize, usize)) -> bool {
        (from + 1..to).any(|at| self.is_open(at))
    }

    /// How many places a step may be at between the measured versions `gap` and `gap` + 1.
    pub(super) fn places(&self, gap: usize) -> usize {
        self.points[gap + 1].at - self.points[gap].at
    }

    /// Whether there is a version between the measured ones `gap` and `gap` + 1 that can be measured.
    pub(super) fn has_inner(&self, gap: usize) -> bool {
        self.is_open_between((self.points[gap].at, self.points[gap + 1].at))
    }

    /// The squared deviations from the versions' means, in all, and their degrees of freedom.
    pub(super) fn scatter(&self) -> (f64, f64) {
        let squares: f64 = self.points.iter().map(|point| point.squares).sum();
        let freedom: f64 = self.points.iter().map(|point| point.n - 1.0).sum();
        (squares, freedom)
    }

    /// Several courses of the same versions as one, what each adds taken off. Source of the sums: T. F. Chan, G. H. Golub,
    /// R. J. LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances" (1979).
    pub(super) fn together(parts: &[Self], added: &[f64]) -> Self {
        let (first, others) = match parts {
            [] => return Self::new(0),
            [only] => return only.clone(),
            [first, others @ ..] => (first, others),
        };
        let mut all: BTreeMap<usize, VersionMean> = BTreeMap::new();
        for (part, added) in parts.iter().zip(added) {
            for point in &part.points {
                let point = VersionMean {
                    mean: point.mean - added,
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
