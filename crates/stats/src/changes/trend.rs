//! Straight lines with few breaks, for series that levels with noise describe badly. A break has to explain most of what is
//! left.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::Interval;
use crate::distributions::{t_quantile, two_sided_p};

use super::rank_scan::Stretch;
use super::split_selection::stretches;
use super::step_likelihood::{AUTOCORRELATIONS, MIN_POINTS, STEP, of_steps};
use super::{DetectedChange, DetectionOptions};

/// When straight lines describe a series. Evidence is the ln of a likelihood ratio, as in [`StepParameters`](super::step_likelihood::StepParameters).
pub(crate) struct TrendParameters {
    /// A break leaves at most this share of the mean squared deviation (for the parameters used) that was left without it.
    /// Chance explains far less of a stationary series (a tenth of 200 points of an AR(1) with φ = .5, a third with
    /// φ = .8): in a level that wanders, no p-value of a fixed noise model holds.
    pub max_share_left: f64,
    /// More breaks describe no trend that a person would see.
    pub max_breaks: usize,
    /// Evidence that a break adds beyond what a step needs: it has a level and a slope.
    pub evidence_of_break: f64,
    /// The same for a break that isn't abrupt, or doesn't explain most of what is left. By simulation of 400 series a kind and
    /// length: with it AR(1) .8 of 20 and 40 points has 4 and 4 breaks, as many as without such breaks within chance (3 and 2),
    /// and random walks of 40 have 22; with 2.0 they have 16, 20 and 75.
    pub evidence_of_doubtful_break: f64,
    /// Places that are tried for a break, before the best point around the best of them.
    pub grid_places: usize,
    /// Autocorrelation above this isn't noise around a line, but a level that moves.
    pub max_autocorrelation: f64,
    /// Evidence for one line against steps, beside the cost of their places and sizes: a step is the commoner change.
    pub evidence_of_trend: f64,
    /// Breaks are abrupt if lines leave less than this share of what a smooth curve with no more parameters leaves.
    pub abrupt_share: f64,
    /// The highest degree of that curve, a polynomial.
    pub max_degree: usize,
    /// Autocorrelations of a level that wanders, beside [`AUTOCORRELATIONS`].
    pub wandering_autocorrelations: [f64; 2],
}

pub(crate) const TREND: TrendParameters = TrendParameters {
    max_share_left: 0.3,
    max_breaks: 6,
    evidence_of_break: 2.0,
    evidence_of_doubtful_break: 6.0,
    grid_places: 128,
    max_autocorrelation: 0.8,
    evidence_of_trend: 5.0,
    abrupt_share: 0.5,
    max_degree: 7,
    wandering_autocorrelations: [0.99, 0.999],
};

/// Straight lines, one after the other, not joined.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Lines {
    /// First points of the second and later lines.
    pub breaks: Vec<usize>,
    /// Sum of squared deviations.
    pub left: f64,
}

/// Sums from which the deviations from a line through any range of points follow at once.
#[derive(Debug)]
pub(crate) struct Sums {
    n: usize,
    /// Of y, i·y and y², y centred; item i sums what is before point i.
    sums: Vec<[f64; 3]>,
}

impl Sums {
    pub(crate) fn new(values: &[f64]) -> Self {
        let centre = crate::sums::mean(values);
        let mut total = [0.0; 3];
        let mut sums = vec![total];
        sums.extend(values.iter().enumerate().map(|(i, value)| {
            let y = value - centre;
            total = [total[0] + y, total[1] + i as f64 * y, total[2] + y * y];
            total
        }));
        Sums {
            n: values.len(),
            sums,
        }
    }

    /// Squared deviations of `range` from its own line.
    pub(crate) fn left(&self, range: Range<usize>) -> f64 {
        let (squares, along) = self.moments(range);
        (squares - along).max(0.0)
    }

    /// Squared deviations of `range` from its mean, and how much of them its line takes away.
    fn moments(&self, range: Range<usize>) -> (f64, f64) {
        let (low, high) = (self.sums[range.start], self.sums[range.end]);
        let m = (range.end - range.start) as f64;
        let middle = (range.start + range.end - 1) as f64 / 2.0;
        let sum = high[0] - low[0];
        let squares = (high[2] - low[2]) - sum * sum / m;
        let along = (high[1] - low[1]) - middle * sum;
        let spread = m * (m * m - 1.0) / 12.0;
        (
            squares.max(0.0),
            if spread > 0.0 {
                along * along / spread
            } else {
                0.0
            },
        )
    }

    fn all(&self) -> f64 {
        self.moments(0..self.n).0
    }
}

/// One straight line through a series, the best two, three, …
pub(crate) fn descriptions(values: &[f64]) -> Vec<Lines> {
    let sums = Sums::new(values);
    let n = values.len();
    let shortest = (n / 30).max(4);
    let one = Lines {
        breaks: Vec::new(),
        left: sums.left(0..n),
    };
    let more = best_breaks(&sums, shortest).into_iter().map(|mut breaks| {
        settle(&sums, &mut breaks, shortest);
        let left = left_by(&sums, &breaks);
        Lines { breaks, left }
    });
    std::iter::once(one).chain(more).collect()
}

/// The fewest of these descriptions after which another break wouldn't explain most of what is left.
pub(crate) fn fit_few_lines(values: &[f64], descriptions: &[Lines]) -> Lines {
    // Beyond this it is rounding that is explained.
    let nothing = Sums::new(values).all() * 1e-10;
    // A line has two parameters, a break one more.
    let free = |lines: &Lines| values.len() as f64 - (3 * lines.breaks.len() + 2) as f64;
    let mut best = &descriptions[0];
    for lines in &descriptions[1..] {
        let share = (lines.left / free(lines)) / (best.left / free(best));
        if best.left <= nothing || free(lines) < 2.0 || share > TREND.max_share_left {
            break;
        }
        best = lines;
    }
    best.clone()
}

/// The best 1, 2, … breaks on a grid, by dynamic programming (R. Bellman, "On the approximation of curves by line
/// segments using dynamic programming", CACM 4, 1961).
fn best_breaks(sums: &Sums, shortest: usize) -> Vec<Vec<usize>> {
    let step = sums.n.div_ceil(TREND.grid_places).max(1);
    let mut grid: Vec<usize> = (0..sums.n).step_by(step).collect();
    grid.push(sums.n);
    let last = grid.len() - 1;
    let line = |i: usize, j: usize| {
        if grid[j] - grid[i] < shortest {
            f64::INFINITY
        } else {
            sums.left(grid[i]..grid[j])
        }
    };
    let cost: Vec<Vec<f64>> = (0..=last)
        .map(|j| (0..j).map(|i| line(i, j)).collect())
        .collect();
    let mut least: Vec<f64> = (0..=last)
        .map(|j| if j == 0 { f64::INFINITY } else { cost[j][0] })
        .collect();
    let mut from: Vec<Vec<usize>> = Vec::new();
    let mut found = Vec::new();
    for _ in 0..TREND.max_breaks {
        let mut next = vec![f64::INFINITY; last + 1];
        let mut origin = vec![0; last + 1];
        for j in 1..=last {
            for i in 1..j {
                let total = least[i] + cost[j][i];
                if total < next[j] {
                    (next[j], origin[j]) = (total, i);
                }
            }
        }
        if !next[last].is_finite() {
            break;
        }
        least = next;
        from.push(origin);
        let mut breaks = Vec::new();
        let mut j = last;
        for origin in from.iter().rev() {
            j = origin[j];
            breaks.push(grid[j]);
        }
        breaks.reverse();
        found.push(breaks);
    }
    found
}

/// Moves each break to the best point between its neighbours' halfway marks, twice round.
fn settle(sums: &Sums, breaks: &mut [usize], shortest: usize) {
    let step = sums.n.div_ceil(TREND.grid_places).max(1);
    for _ in 0..2 {
        for i in 0..breaks.len() {
            let start = if i == 0 { 0 } else { breaks[i - 1] };
            let end = breaks.get(i + 1).copied().unwrap_or(sums.n);
            let low = breaks[i].saturating_sub(step).max(start + shortest);
            let high = (breaks[i] + step).min(end.saturating_sub(shortest));
            let left = |at: usize| sums.left(start..at) + sums.left(at..end);
            if let Some(best) = (low..=high).min_by(|&a, &b| left(a).total_cmp(&left(b))) {
                breaks[i] = best;
            }
        }
    }
}

/// Squared deviations from the lines between the breaks.
pub(crate) fn left_by(sums: &Sums, breaks: &[usize]) -> f64 {
    stretches(breaks, sums.n, 1)
        .into_iter()
        .map(|s| sums.left(s.start..s.end))
        .sum()
}

/// A level that moves steadily from the first point of a series to the last, but for the steps of its changes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Trend {
    /// The value of the line at the first point.
    pub from: f64,
    /// And at the last, with nothing of the steps.
    pub to: f64,
    /// `to` − `from`.
    pub size: f64,
    /// The interval of `size`.
    pub size_interval: Interval,
    /// The probability that noise alone gives as clear a trend.
    pub p: f64,
}

impl Trend {
    /// A fitted slope whose line is at `middle` in the middle of the series.
    fn from_fit(
        fitted: &Fitted,
        evidence: f64,
        middle: f64,
        freedom: usize,
        points: usize,
        search: &DetectionOptions,
    ) -> Self {
        let freedom = freedom as f64;
        let run = (points - 1) as f64;
        let error = (fitted.left / freedom / fitted.spread).sqrt();
        let size = fitted.slope * run;
        let reach = t_quantile(search.confidence, freedom) * error * run;
        Trend {
            from: middle - size / 2.0,
            to: middle + size / 2.0,
            size,
            size_interval: Interval {
                low: size - reach,
                high: size + reach,
            },
            p: two_sided_p((2.0 * evidence.max(0.0)).sqrt(), freedom),
        }
    }

    /// The value of the line at this point of a series of so many.
    #[must_use]
    pub fn at(&self, point: usize, points: usize) -> f64 {
        let run = points.saturating_sub(1).max(1) as f64;
        self.from + self.size * point as f64 / run
    }

    /// The series without its line; its mean stays.
    pub(crate) fn taken_from(&self, series: &[f64]) -> Vec<f64> {
        without_slope(series, self.size / (series.len() - 1) as f64)
    }
}

/// What AR(1) noise lies around in each segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Levels,
    Lines,
    /// Levels with one slope that all of them have in common.
    SlopedLevels,
}

/// How much of a point's deviation the next one may keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Memory {
    /// At most [`TrendParameters::max_autocorrelation`], as noise around a level or a line does.
    OfNoise,
    /// Up to nearly all, as a level does that wanders by itself.
    Any,
}

/// A series described by one shape, with AR(1) noise at its likeliest autocorrelation.
pub(crate) struct Fitted {
    /// ln of the likelihood, comparable with that of steps.
    pub likelihood: f64,
    /// The autocorrelation.
    pub kept: f64,
    /// The squared innovations.
    left: f64,
    /// The slope of the last line, or the common one, and what divides the variance of the innovations in the variance of that.
    pub slope: f64,
    spread: f64,
}

pub(crate) fn fitted(values: &[f64], breaks: &[usize], shape: Shape, memory: Memory) -> Fitted {
    let n = values.len();
    let segments = stretches(breaks, n, 1);
    let parameters = match shape {
        Shape::Levels => segments.len(),
        Shape::Lines => 2 * segments.len(),
        Shape::SlopedLevels => segments.len() + 1,
    };
    let free = n.saturating_sub(parameters).max(1) as f64;
    let smallest = f64::MIN_POSITIVE.max(1e-18 * Sums::new(values).all());
    let at = |kept: f64| {
        let of = |segment: &Stretch| moments_in_noise(&values[segment.start..segment.end], kept);
        let moments = segments.iter().map(of);
        let (left, slope, spread) = match shape {
            Shape::Levels => (moments.map(|m| m.left).sum(), 0.0, 0.0),
            Shape::Lines => moments.fold((0.0, 0.0, 0.0), |sum, m| {
                (sum.0 + m.left_by_line(), m.slope(), m.spread)
            }),
            Shape::SlopedLevels => {
                let common = moments.fold(Moments::default(), Moments::and);
                (common.left_by_line(), common.slope(), common.spread)
            }
        };
        Fitted {
            likelihood: -0.5 * (n - 1) as f64 * (left.max(smallest) / free).ln()
                + 0.5 * segments.len() as f64 * (-kept * kept).ln_1p()
                - STEP.autocorrelation_rate * kept,
            kept,
            left,
            slope,
            spread,
        }
    };
    let tried = AUTOCORRELATIONS
        .into_iter()
        .chain(TREND.wandering_autocorrelations);
    let tried = tried.filter(|kept| memory == Memory::Any || *kept <= TREND.max_autocorrelation);
    tried.map(at).fold(at(0.0), |best, other| {
        match other.likelihood > best.likelihood {
            true => other,
            false => best,
        }
    })
}

/// Squared innovations of AR(1) noise around the best level of some points, and what a slope takes away from them.
#[derive(Debug, Clone, Copy, Default)]
struct Moments {
    /// Around the level.
    left: f64,
    /// Products of the innovations with those of the places.
    along: f64,
    /// Squared innovations of the places.
    spread: f64,
}

impl Moments {
    fn and(self, other: Self) -> Self {
        Moments {
            left: self.left + other.left,
            along: self.along + other.along,
            spread: self.spread + other.spread,
        }
    }

    fn slope(self) -> f64 {
        match self.spread > 0.0 {
            true => self.along / self.spread,
            false => 0.0,
        }
    }

    fn left_by_line(self) -> f64 {
        (self.left - self.slope() * self.along).max(0.0)
    }
}

fn moments_in_noise(values: &[f64], kept: f64) -> Moments {
    let centre = crate::sums::mean(values);
    let middle = (values.len() - 1) as f64 / 2.0;
    let first = (1.0 - kept * kept).sqrt();
    let point = |i: usize| (values[i] - centre, 1.0, i as f64 - middle);
    // The normal equations of y on one and x.
    let [mut yy, mut y1, mut yx, mut oo, mut ox, mut xx] = [0.0; 6];
    for i in 0..values.len() {
        let (y, one, x) = point(i);
        let (y, one, x) = match i.checked_sub(1).map(point) {
            None => (first * y, first * one, first * x),
            Some(before) => (
                y - kept * before.0,
                one - kept * before.1,
                x - kept * before.2,
            ),
        };
        yy += y * y;
        y1 += y * one;
        yx += y * x;
        oo += one * one;
        ox += one * x;
        xx += x * x;
    }
    Moments {
        left: (yy - y1 * y1 / oo).max(0.0),
        along: yx - y1 * ox / oo,
        spread: xx - ox * ox / oo,
    }
}

/// Whether these lines explain a series so much better than one level or one line with autocorrelated noise that each of
/// their breaks has paid for itself.
pub(crate) fn are_borne_out(values: &[f64], lines: &Lines, needed: f64) -> bool {
    let of = |breaks: &[usize], shape| fitted(values, breaks, shape, Memory::OfNoise).likelihood;
    let one = of(&[], Shape::Levels).max(of(&[], Shape::Lines));
    of(&lines.breaks, Shape::Lines) - one >= needed * lines.breaks.len() as f64
}

/// What lines leave of what a smooth curve of no more parameters leaves; nothing where the points are too few for a curve.
pub(crate) fn share_of_curve(values: &[f64], lines: &Lines) -> f64 {
    let (n, breaks) = (values.len(), lines.breaks.len());
    let degree = (1 + 2 * breaks).min(TREND.max_degree);
    if n < 3 * breaks + 4 {
        return 0.0;
    }
    let of_curve = left_by_curve(values, degree) / (n - degree - 1) as f64;
    let of_lines = lines.left / (n - 3 * breaks - 2) as f64;
    of_lines / of_curve
}

/// The squared deviations from the best polynomial of this degree, by orthogonal polynomials (G. E. Forsythe, "Generation
/// and use of orthogonal polynomials for data-fitting", J. SIAM 5, 1957).
fn left_by_curve(values: &[f64], degree: usize) -> f64 {
    let n = values.len();
    let middle = (n - 1) as f64 / 2.0;
    let place = |i: usize| (i as f64 - middle) / middle.max(1.0);
    let centre = crate::sums::mean(values);
    let mut rest: Vec<f64> = values.iter().map(|x| x - centre).collect();
    let (mut before, mut now) = (vec![0.0; n], vec![1.0; n]);
    let mut norm_before = 1.0;
    for _ in 0..=degree {
        let norm: f64 = now.iter().map(|p| p * p).sum();
        let along: f64 = now.iter().zip(&rest).map(|(p, x)| p * x).sum();
        for (x, p) in rest.iter_mut().zip(&now) {
            *x -= along / norm * p;
        }
        let next: Vec<f64> = (0..n)
            .map(|i| place(i) * now[i] - norm / norm_before * before[i])
            .collect();
        // Of places that are symmetric around zero every other coefficient is zero.
        (before, now, norm_before) = (now, next, norm);
    }
    rest.iter().map(|x| x * x).sum()
}

/// Whether one line with autocorrelated noise describes a series better than these steps do.
pub(crate) fn explains_steps(values: &[f64], steps: &[usize]) -> bool {
    explains_stairs(values, &[], steps)
}

/// Whether one slope with these few steps, and autocorrelated noise, describes a series better than these `stairs` do.
pub(crate) fn explains_stairs(values: &[f64], steps: &[usize], stairs: &[usize]) -> bool {
    let points = (values.len() as f64).ln();
    // Of a line the slope is fitted; of a step its size, and its place, which counts twice where there are several (N. Zhang,
    // D. Siegmund, "A modified Bayes information criterion", Biometrics 63, 2007).
    let cost = |steps: usize| 0.5 * (3.0 * steps as f64 - 1.0).max(0.0) * points;
    let sloped = fitted(values, steps, Shape::SlopedLevels, Memory::OfNoise).likelihood;
    let sloped = sloped - 0.5 * points - cost(steps.len());
    sloped >= of_steps(values, stairs) - cost(stairs.len()) + TREND.evidence_of_trend
}

/// The series without a slope; its mean stays.
pub(crate) fn without_slope(series: &[f64], slope: f64) -> Vec<f64> {
    let middle = (series.len() - 1) as f64 / 2.0;
    let values = series.iter().enumerate();
    values
        .map(|(i, value)| value - slope * (i as f64 - middle))
        .collect()
}

/// The trend of a series in which no change was found, if it has one.
pub(crate) fn trend(values: &[f64], search: &DetectionOptions) -> Option<Trend> {
    let n = values.len();
    if n < MIN_POINTS {
        return None;
    }
    let of = |shape, memory| fitted(values, &[], shape, memory);
    // A level that wanders leads somewhere, too.
    let memory = match of(Shape::Lines, Memory::Any).kept > TREND.max_autocorrelation {
        true => Memory::Any,
        false => Memory::OfNoise,
    };
    let (level, line) = (of(Shape::Levels, memory), of(Shape::Lines, memory));
    let evidence = line.likelihood - level.likelihood;
    // NaN, of a series that never varies, is no evidence.
    let is_clear = evidence >= STEP.needed(n, search.false_per_point);
    if !is_clear || line.spread <= 0.0 {
        return None;
    }
    let middle = crate::sums::mean(values);
    Some(Trend::from_fit(&line, evidence, middle, n - 2, n, search))
}

/// The slope that levels have in common, of which the first would be `middle` in the middle of the series.
pub(crate) fn of_sloped_levels(
    values: &[f64],
    changes: &[DetectedChange],
    middle: f64,
    search: &DetectionOptions,
) -> Trend {
    let steps: Vec<usize> = changes.iter().map(|change| change.at).collect();
    let of = |shape| fitted(values, &steps, shape, Memory::OfNoise);
    let (levels, sloped) = (of(Shape::Levels), of(Shape::SlopedLevels));
    let evidence = sloped.likelihood - levels.likelihood;
    let n = values.len();
    let freedom = n.saturating_sub(steps.len() + 2).max(1);
    Trend::from_fit(&sloped, evidence, middle, freedom, n, search)
}

/// The values at the ends of the line through `range`.
pub(crate) fn ends(values: &[f64], range: Range<usize>) -> (f64, f64) {
    let m = range.len() as f64;
    let y = &values[range];
    let mean = crate::sums::mean(y);
    let middle = (m - 1.0) / 2.0;
    let along: f64 = y
        .iter()
        .enumerate()
        .map(|(i, y)| (i as f64 - middle) * (y - mean))
        .sum();
    let slope = if m > 1.0 {
        along * 12.0 / (m * (m * m - 1.0))
    } else {
        0.0
    };
    (mean - slope * middle, mean + slope * middle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    #[test]
    fn a_kink_is_found_where_it_is() {
        let mut random = Random::seeded(4);
        let values: Vec<f64> = (0..60)
            .map(|i| f64::from(if i < 35 { 2 * i } else { 70 - (i - 35) }) + 0.5 * random.normal())
            .collect();
        let lines = fit_few_lines(&values, &descriptions(&values));
        assert_eq!(lines.breaks.len(), 1);
        assert!(lines.breaks[0].abs_diff(35) <= 1, "{lines:?}");
    }

    #[test]
    fn a_curve_leaves_nothing_of_a_polynomial_of_its_degree() {
        let values: Vec<f64> = (0..40)
            .map(|i| {
                let x = f64::from(i) / 10.0;
                3.0 + x - 2.0 * x * x + 0.5 * x * x * x
            })
            .collect();
        assert!(left_by_curve(&values, 3) < 1e-18 * values.len() as f64 + 1e-12);
        assert!(left_by_curve(&values, 2) > 1.0);
    }

    #[test]
    fn a_straight_line_has_no_break() {
        let values: Vec<f64> = (0..50).map(|i| 3.0 + 0.25 * f64::from(i)).collect();
        assert_eq!(
            fit_few_lines(&values, &descriptions(&values)).breaks,
            Vec::<usize>::new()
        );
        let (low, high) = ends(&values, 0..50);
        assert!((low - 3.0).abs() < 1e-12 && (high - 15.25).abs() < 1e-12);
    }
}
