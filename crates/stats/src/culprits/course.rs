//! What was measured along an order of versions: for each measured version how often, the mean and the spread.

/// A version that was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Its position, from 0.
    pub at: usize,
    /// How often it was measured.
    pub n: f64,
    /// The mean.
    pub mean: f64,
    /// The sum of squared deviations from the mean.
    pub squares: f64,
}

/// Measurements along an order of versions.
#[derive(Debug, Clone, PartialEq)]
pub struct Course {
    versions: usize,
    points: Vec<Point>,
    ruled_out: Vec<bool>,
}

impl Course {
    /// So many versions, of which nothing is known.
    #[must_use]
    pub fn new(versions: usize) -> Self {
        Self {
            versions,
            points: Vec::new(),
            ruled_out: vec![false; versions],
        }
    }

    /// How many versions there are.
    #[must_use]
    pub fn versions(&self) -> usize {
        self.versions
    }

    /// The measured ones, ascending.
    #[must_use]
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// The measurements of a version, if there are any.
    #[must_use]
    pub fn point(&self, at: usize) -> Option<&Point> {
        let found = self.points.binary_search_by_key(&at, |point| point.at);
        found.ok().map(|place| &self.points[place])
    }

    /// Adds an independent measurement of a version. Source of the update: B. P. Welford, "Note on a method for
    /// calculating corrected sums of squares and products", Technometrics 4 (1962).
    pub fn add(&mut self, at: usize, value: f64) {
        let found = self.points.binary_search_by_key(&at, |point| point.at);
        let place = found.unwrap_or_else(|place| {
            let new = Point {
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

    /// How many places a step may be at between the measured versions `gap` and `gap` + 1.
    pub(super) fn places(&self, gap: usize) -> usize {
        self.points[gap + 1].at - self.points[gap].at
    }

    /// Whether there is a version between the measured ones `gap` and `gap` + 1 that can be measured.
    pub(super) fn has_inner(&self, gap: usize) -> bool {
        (self.points[gap].at + 1..self.points[gap + 1].at).any(|at| self.is_open(at))
    }

    /// The variance of one measurement about its version's mean, pooled, and its degrees of freedom; none without
    /// repeats.
    pub(super) fn pooled(&self) -> Option<(f64, f64)> {
        let squares: f64 = self.points.iter().map(|point| point.squares).sum();
        let freedom: f64 = self.points.iter().map(|point| point.n - 1.0).sum();
        (freedom > 0.0).then(|| (squares / freedom, freedom))
    }
}
