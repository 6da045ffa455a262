//! Series whose level never rests: straight lines with few breaks. Used only where levels with noise around them
//! describe a series badly; refuses a break that doesn't explain most of what is left.

use std::ops::Range;

use serde::Serialize;

use crate::Interval;
use crate::distributions::{t_quantile, two_sided_p};

use super::Search;
use super::likelihood::{AUTOCORRELATIONS, FEWEST, PARAMETERS, of_steps};

/// A break must leave at most this share of the mean squared deviation (for the parameters used) that was left
/// without it.
///
/// Deliberately far beyond what chance gives for a stationary series (a tenth for 200 points of an AR(1) with φ = .5,
/// a third with φ = .8): in a level that wanders, no p-value of a fixed noise model can be believed.
const LEFT: f64 = 0.3;

/// More breaks describe nothing that a person would call a trend.
const MOST_BREAKS: usize = 6;

/// The evidence that a break must add beside what a step must: it has a level and a slope.
const EVIDENCE_OF_BREAK: f64 = 2.0;

/// Breaks are looked for at so many places at most, then moved to the best point around.
const GRID: usize = 128;

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
    pub(crate) fn of(values: &[f64]) -> Self {
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

/// The fewest straight lines after which another break wouldn't explain most of what is left.
pub(crate) fn lines(values: &[f64]) -> Lines {
    let sums = Sums::of(values);
    let n = values.len();
    let shortest = (n / 30).max(4);
    // Beyond this it is rounding that is explained.
    let nothing = sums.all() * 1e-10;
    let mut best = Lines {
        breaks: Vec::new(),
        left: sums.left(0..n),
    };
    for mut breaks in best_breaks(&sums, shortest) {
        settle(&sums, &mut breaks, shortest);
        let left = left_by(&sums, &breaks);
        // A line has two parameters, a break one more.
        let free = |breaks: usize| n as f64 - (3 * breaks + 2) as f64;
        let share = (left / free(breaks.len())) / (best.left / free(best.breaks.len()));
        if best.left <= nothing || free(breaks.len()) < 2.0 || share > LEFT {
            break;
        }
        best = Lines { breaks, left };
    }
    best
}

/// The best 1, 2, … breaks on a grid, by dynamic programming (R. Bellman, "On the approximation of curves by line
/// segments using dynamic programming", CACM 4, 1961).
fn best_breaks(sums: &Sums, shortest: usize) -> Vec<Vec<usize>> {
    let step = sums.n.div_ceil(GRID).max(1);
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
    for _ in 0..MOST_BREAKS {
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
    let step = sums.n.div_ceil(GRID).max(1);
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
    super::select::stretches(breaks, sums.n, 1)
        .into_iter()
        .map(|s| sums.left(s.start..s.end))
        .sum()
}

/// Autocorrelation above this isn't taken for noise around a line, but for a level that moves.
const MOST_KEPT: f64 = 0.8;

/// By how much one line must be likelier than steps, in ln and beside what each of their places and sizes costs, to be told
/// in their place: a step is the commoner change.
const EVIDENCE_OF_TREND: f64 = 5.0;

/// Broken lines must leave at most this share of what a smooth curve of no more parameters leaves.
const ABRUPT: f64 = 0.5;

/// The highest degree of a smooth curve that broken lines are compared with.
const MOST_DEGREE: usize = 7;

/// A level that moves steadily from the first point of a series to the last.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Trend {
    /// The value of the line at the first point.
    pub from: f64,
    /// And at the last.
    pub to: f64,
    /// `to` − `from`.
    pub size: f64,
    /// The interval of `size`.
    pub size_interval: Interval,
    /// The probability that noise alone gives as clear a trend.
    pub p: f64,
}

impl Trend {
    /// The value of the line at this point of a series of so many.
    #[must_use]
    pub fn at(&self, point: usize, points: usize) -> f64 {
        let run = points.saturating_sub(1).max(1) as f64;
        self.from + self.size * point as f64 / run
    }

    /// The series without its line; its mean stays.
    pub(crate) fn taken_from(&self, series: &[f64]) -> Vec<f64> {
        let run = (series.len() - 1) as f64;
        let above_middle = |i: usize| self.size * (i as f64 / run - 0.5);
        let values = series.iter().enumerate();
        values.map(|(i, value)| value - above_middle(i)).collect()
    }
}

/// One line, or one level, for each segment, with AR(1) noise at its likeliest autocorrelation.
struct Fitted {
    /// ln of the likelihood, comparable with that of steps.
    likelihood: f64,
    /// The squared innovations.
    left: f64,
    /// The slope of the last line, and what divides the variance of the innovations in the variance of that.
    slope: f64,
    spread: f64,
}

fn fitted(values: &[f64], breaks: &[usize], with_slope: bool) -> Fitted {
    let n = values.len();
    let segments = super::select::stretches(breaks, n, 1);
    let parameters = segments.len() * (1 + usize::from(with_slope));
    let free = n.saturating_sub(parameters).max(1) as f64;
    let smallest = f64::MIN_POSITIVE.max(1e-18 * Sums::of(values).all());
    let at = |kept: f64| {
        let (mut left, mut slope, mut spread) = (0.0, 0.0, 0.0);
        for segment in &segments {
            let line = line_in_noise(&values[segment.start..segment.end], kept, with_slope);
            left += line.0;
            (slope, spread) = (line.1, line.2);
        }
        Fitted {
            likelihood: -0.5 * (n - 1) as f64 * (left.max(smallest) / free).ln()
                + 0.5 * segments.len() as f64 * (-kept * kept).ln_1p()
                - PARAMETERS.autocorrelation_rate * kept,
            left,
            slope,
            spread,
        }
    };
    let tried = AUTOCORRELATIONS
        .into_iter()
        .filter(|kept| *kept <= MOST_KEPT);
    tried.map(at).fold(at(0.0), |best, other| {
        match other.likelihood > best.likelihood {
            true => other,
            false => best,
        }
    })
}

/// The squared innovations of AR(1) noise around the best line, or level, of these points; its slope; and what the slope
/// was found by.
fn line_in_noise(values: &[f64], kept: f64, with_slope: bool) -> (f64, f64, f64) {
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
    let left = yy - y1 * y1 / oo;
    let (along, spread) = (yx - y1 * ox / oo, xx - ox * ox / oo);
    match with_slope && spread > 0.0 {
        true => (
            (left - along * along / spread).max(0.0),
            along / spread,
            spread,
        ),
        false => (left.max(0.0), 0.0, 0.0),
    }
}

/// Whether these lines explain a series so much better than one level or one line with autocorrelated noise that each of
/// their breaks has paid for itself, and better than a smooth curve of no more parameters.
pub(crate) fn are_borne_out(values: &[f64], lines: &Lines, false_per_point: f64) -> bool {
    let one = fitted(values, &[], false)
        .likelihood
        .max(fitted(values, &[], true).likelihood);
    let needed = PARAMETERS.needed(values.len(), false_per_point) + EVIDENCE_OF_BREAK;
    fitted(values, &lines.breaks, true).likelihood - one >= needed * lines.breaks.len() as f64
}

/// Whether a smooth curve of no more parameters describes a series as well as lines with these breaks: then nothing breaks.
pub(crate) fn is_smooth(values: &[f64], lines: &Lines) -> bool {
    let (n, breaks) = (values.len(), lines.breaks.len());
    let degree = (1 + 2 * breaks).min(MOST_DEGREE);
    if breaks == 0 || n < 3 * breaks + 4 {
        return false;
    }
    let of_curve = left_by_curve(values, degree) / (n - degree - 1) as f64;
    let of_lines = lines.left / (n - 3 * breaks - 2) as f64;
    ABRUPT * of_curve <= of_lines
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
    let points = (values.len() as f64).ln();
    // Of a line the slope is fitted; of a step its size, and its place, which counts twice where there are several (N. Zhang,
    // D. Siegmund, "A modified Bayes information criterion", Biometrics 63, 2007).
    let cost = |parameters: f64| 0.5 * parameters * points;
    let line = fitted(values, &[], true).likelihood - cost(1.0);
    let steps = of_steps(values, steps) - cost(3.0 * steps.len() as f64 - 1.0);
    line >= steps + EVIDENCE_OF_TREND
}

/// The trend of a series in which no change was found, if it has one.
pub(crate) fn trend(values: &[f64], search: &Search) -> Option<Trend> {
    let n = values.len();
    if n < FEWEST {
        return None;
    }
    let (level, line) = (fitted(values, &[], false), fitted(values, &[], true));
    let evidence = line.likelihood - level.likelihood;
    // NaN, of a series that never varies, is no evidence.
    let is_clear = evidence >= PARAMETERS.needed(n, search.false_per_point);
    if !is_clear || line.spread <= 0.0 {
        return None;
    }
    let freedom = (n - 2) as f64;
    let error = (line.left / freedom / line.spread).sqrt();
    let run = (n - 1) as f64;
    let size = line.slope * run;
    let reach = t_quantile(search.confidence, freedom) * error * run;
    let mean = crate::sums::mean(values);
    Some(Trend {
        from: mean - size / 2.0,
        to: mean + size / 2.0,
        size,
        size_interval: Interval {
            low: size - reach,
            high: size + reach,
        },
        p: two_sided_p((2.0 * evidence).sqrt(), freedom),
    })
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
        let lines = lines(&values);
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
        assert_eq!(lines(&values).breaks, Vec::<usize>::new());
        let (low, high) = ends(&values, 0..50);
        assert!((low - 3.0).abs() < 1e-12 && (high - 15.25).abs() < 1e-12);
    }
}
