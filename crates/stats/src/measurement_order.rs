//! Effects of the order of measurement: autocorrelation, warm-up, drift, outliers. They are looked for before anything is
//! averaged, and reported; nothing is removed.

use serde::Serialize;

use crate::distributions::two_sided_p;
use crate::sums::{self, Sum};
use crate::{Samples, Undefined};

/// Fewer values than this say nothing about their order.
const MIN_VALUES: usize = 8;

/// A level that wanders is not told from noise beyond this autocorrelation.
const MAX_AUTOCORRELATION: f64 = 0.9;

/// A warm-up or drift is named when chance gives one so clear in at most one of a hundred sequences.
const MAX_P: f64 = 0.01;

/// How much each value keeps of the deviation of the one before.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Autocorrelation {
    /// The lag-1 autocorrelation, corrected for the mean having been fitted; zero if it would be negative.
    pub kept: f64,
    /// So many independent values would give as sure a mean.
    pub effective_n: f64,
}

/// The lag-1 autocorrelation of values in the order of measurement, and what it leaves of their number.
///
/// Source: the correction is M. G. Kendall's (Biometrika 41, 1954), E r₁ ≈ φ − (1 + 3φ)/n, a little rounded up so that
/// intervals of ten values hold; the effective number is that of a first-order autoregression.
///
/// # Errors
/// [`Undefined::TooFew`] for fewer than eight values, [`Undefined::NoSpread`] if they are all equal.
pub fn autocorrelation(values: &[f64]) -> Result<Autocorrelation, Undefined> {
    let kept = corrected(raw_autocorrelation(values)?, values.len());
    Ok(Autocorrelation {
        kept,
        effective_n: values.len() as f64 / inflation_of_mean(kept, values.len()),
    })
}

/// As measured, biased downwards.
pub(crate) fn raw_autocorrelation(values: &[f64]) -> Result<f64, Undefined> {
    if values.len() < MIN_VALUES {
        return Err(Undefined::TooFew {
            needs: MIN_VALUES,
            has: values.len(),
        });
    }
    let mean = sums::mean(values);
    let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
    if squares <= 0.0 {
        return Err(Undefined::NoSpread);
    }
    let products: f64 = values
        .windows(2)
        .map(|pair| (pair[0] - mean) * (pair[1] - mean))
        .sum();
    Ok(products / squares)
}

/// The raw autocorrelation of `n` values without its bias.
pub(crate) fn corrected(raw: f64, n: usize) -> f64 {
    let n = n as f64;
    ((raw * n + 1.2) / (n - 4.0)).clamp(0.0, MAX_AUTOCORRELATION)
}

/// The autocorrelation that two sides share, as it is allowed for: `kept` of so many values in all. What chance makes of
/// independent values as often as not counts a third, and what is more than that a little more than it is.
///
/// Cutting off at zero leaves independent values with an autocorrelation on average, and few values of an autoregression with too
/// little. One standard error, 1/√n, is where either costs least: of ten values a side the intervals of independent ones hold
/// .964 instead of .972, those of φ = .5 .936 instead of .931 and of φ = .8 .926 instead of .903.
pub(crate) fn allowed_for(kept: f64, values: usize) -> f64 {
    let n = values as f64;
    match kept * n.sqrt() > 1.0 {
        true => (kept * (1.0 + 4.0 / n)).min(MAX_AUTOCORRELATION),
        false => 0.3 * kept,
    }
}

/// By how much autocorrelation makes the variance of a mean of `n` larger than for independent values.
pub(crate) fn inflation_of_mean(kept: f64, n: usize) -> f64 {
    let n = n as f64;
    let rest = 1.0 - kept;
    ((1.0 + kept) / rest - 2.0 * kept * (1.0 - kept.powf(n)) / (n * rest * rest)).clamp(1.0, n)
}

/// Leading values that are not like the rest.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct WarmUp {
    /// How many leading values to drop.
    pub drop: usize,
    /// The mean of all values.
    pub mean_of_all: f64,
    /// The mean without the leading ones.
    pub mean_of_rest: f64,
    /// The probability that chance makes the beginning so different.
    pub p: f64,
}

/// Looks for a beginning that isn't like the rest, among the first half of values in the order of measurement.
///
/// Source: how many to drop is K. P. White's marginal standard error rule ("An effective truncation heuristic for bias
/// reduction in simulation output", Simulation 69, 1997); whether to drop at all is a t test of the beginning against
/// the rest, with the rest's autocorrelation, for as many places as were tried.
#[must_use]
pub fn warm_up(values: &[f64]) -> Option<WarmUp> {
    let n = values.len();
    if n < MIN_VALUES {
        return None;
    }
    let drop = least_marginal_error(values);
    let (lead, rest) = values.split_at(drop);
    let p = chance_of_beginning(lead, rest, n / 2)?;
    // One value far off somewhere in the beginning is an outlier; a beginning is unlike the rest from the first value on.
    let after = sums::mean(rest);
    let farthest =
        (0..drop).max_by(|&a, &b| (lead[a] - after).abs().total_cmp(&(lead[b] - after).abs()))?;
    let without = [&lead[..farthest], &lead[farthest + 1..]].concat();
    let isolated =
        farthest > 0 && chance_of_beginning(&without, rest, n / 2).is_none_or(|p| p >= MAX_P);
    (p < MAX_P && !isolated).then(|| WarmUp {
        drop,
        mean_of_all: sums::mean(values),
        mean_of_rest: after,
        p,
    })
}

/// The probability that chance makes the mean of `lead` so different from that of `rest`, at one of so many places; none
/// if they are equal.
fn chance_of_beginning(lead: &[f64], rest: &[f64], places: usize) -> Option<f64> {
    let (before, after) = (sums::mean(lead), sums::mean(rest));
    if before == after {
        return None;
    }
    let kept = autocorrelation(rest).map_or(0.0, |found| found.kept);
    let deviation = sums::root_of_squares(rest, after) / ((rest.len() - 1) as f64).sqrt();
    let variance_of_means = inflation_of_mean(kept, lead.len()) / lead.len() as f64
        + inflation_of_mean(kept, rest.len()) / rest.len() as f64;
    let t = (before - after) / (deviation * variance_of_means.sqrt());
    // A mean of few values is as far from normal as skewed noise is: it must stand out more.
    let freedom = (rest.len() as f64 / inflation_of_mean(kept, rest.len()) - 1.0)
        .min(2.0 + 2.0 * lead.len() as f64)
        .max(1.0);
    Some((two_sided_p(t, freedom) * places as f64).min(1.0))
}

/// A marginal error so little above the least is as good, if fewer are dropped for it.
const MAX_MARGINAL_ERROR_RATIO: f64 = 1.25;

/// The first d in 1…n/2 for which Σᵢ≥d (xᵢ − mean)²/(n − d)² is about the least.
fn least_marginal_error(values: &[f64]) -> usize {
    let n = values.len();
    // Around the last value, so that squares don't swamp small spreads.
    let centre = values[n - 1];
    let (mut sum, mut squares) = (Sum::default(), Sum::default());
    let mut errors = vec![0.0; n];
    for d in (1..n).rev() {
        let x = values[d] - centre;
        sum.add(x);
        squares.add(x * x);
        let count = (n - d) as f64;
        errors[d] =
            (squares.value() - sum.value() * sum.value() / count).max(0.0) / (count * count);
    }
    let tried = &errors[1..=n / 2];
    let least = tried.iter().copied().fold(f64::INFINITY, f64::min);
    1 + tried
        .iter()
        .position(|&error| error <= MAX_MARGINAL_ERROR_RATIO * least)
        .unwrap_or(0)
}

/// A level that moves steadily while it is measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Drift {
    /// From the first to the last value along the fitted line, in the values' unit.
    pub total: f64,
    /// The probability that chance makes so clear a slope.
    pub p: f64,
}

/// Looks for a steady drift of values in the order of measurement: a least-squares line, with the autocorrelation of
/// what it leaves.
#[must_use]
pub fn drift(values: &[f64]) -> Option<Drift> {
    let n = values.len();
    if n < MIN_VALUES {
        return None;
    }
    let (mean, middle) = (sums::mean(values), (n - 1) as f64 / 2.0);
    let along = sums::sum(
        values
            .iter()
            .enumerate()
            .map(|(i, x)| (i as f64 - middle) * (x - mean)),
    );
    let length = n as f64;
    let spread = length * (length * length - 1.0) / 12.0;
    let slope = along / spread;
    let left: Vec<f64> = values
        .iter()
        .enumerate()
        .map(|(i, x)| x - mean - slope * (i as f64 - middle))
        .collect();
    // The slope was fitted too, which takes as much again from the autocorrelation as the mean does.
    let kept = raw_autocorrelation(&left)
        .map_or(0.0, |raw| corrected(raw + (1.0 + raw.max(0.0)) / length, n));
    let inflation = inflation_of_mean(kept, n);
    let freedom = (length / inflation - 2.0).max(1.0);
    let deviation = sums::root_of_squares(&left, 0.0) / (length - 2.0).sqrt();
    let error = deviation * (inflation / spread).sqrt();
    if slope == 0.0 {
        return None;
    }
    let p = two_sided_p(slope / error, freedom);
    (p < MAX_P).then_some(Drift {
        total: slope * (length - 1.0),
        p,
    })
}

/// Samples far from the bulk, by their places in the order of measurement: beyond three times the distance between the
/// quartiles outside of them. They are named, never removed.
///
/// Source: J. W. Tukey, *Exploratory Data Analysis* (1977), "far out".
#[must_use]
pub fn outliers(samples: &Samples) -> Vec<usize> {
    let quartile = |p: f64| samples.quantile(p).unwrap_or(samples.min());
    let (low, high) = (quartile(0.25), quartile(0.75));
    let reach = 3.0 * (high - low);
    // Three of four equal samples leave no scale by which a fourth could be far.
    if reach <= 0.0 {
        return Vec::new();
    }
    let far = |x: f64| x < low - reach || x > high + reach;
    samples
        .measured()
        .iter()
        .enumerate()
        .filter(|&(_, &x)| far(x))
        .map(|(i, _)| i)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;
    use crate::simulation::NoiseShape;

    #[test]
    fn an_outlier_among_the_first_values_is_no_warm_up() {
        let mut values: Vec<f64> = (0..20)
            .map(|i| 100.0 + f64::from(i * 7 % 10) / 10.0)
            .collect();
        assert_eq!(warm_up(&values), None);
        values[6] = 160.0;
        assert_eq!(warm_up(&values), None);
        values[6] = 100.2;
        values[0] = 160.0;
        assert_eq!(warm_up(&values).unwrap().drop, 1, "a cold first value is");
    }

    #[test]
    fn autocorrelated_values_are_worth_fewer() {
        let values = NoiseShape::Autoregressive { keep: 0.5 }.draw(2000, &mut Random::seeded(1));
        let found = autocorrelation(&values).unwrap();
        assert!((found.kept - 0.5).abs() < 0.06, "{found:?}");
        assert!(
            (found.effective_n / (2000.0 / 3.0) - 1.0).abs() < 0.2,
            "{found:?}"
        );
    }

    #[test]
    fn too_few_or_equal_values_have_no_order() {
        assert_eq!(
            autocorrelation(&[1.0; 5]),
            Err(Undefined::TooFew { needs: 8, has: 5 })
        );
        assert_eq!(autocorrelation(&[1.0; 50]), Err(Undefined::NoSpread));
        assert_eq!((warm_up(&[1.0; 50]), drift(&[1.0; 50])), (None, None));
        assert_eq!((warm_up(&[1.0, 2.0]), drift(&[1.0, 2.0])), (None, None));
    }

    #[test]
    fn a_slow_start_is_named_with_its_length() {
        let mut values = NoiseShape::Gauss.draw(40, &mut Random::seeded(2));
        for (i, value) in values.iter_mut().enumerate() {
            *value += if i < 4 { 92.0 + i as f64 } else { 100.0 };
        }
        let found = warm_up(&values).unwrap();
        assert!((4..=6).contains(&found.drop), "{found:?}");
        assert!(
            (found.mean_of_rest - 100.0).abs() < 0.5 && found.mean_of_all < 99.8,
            "{found:?}"
        );
    }

    #[test]
    fn a_first_value_far_off_before_equal_ones_is_a_warm_up() {
        let mut values = vec![5.0; 20];
        values[0] = 9.0;
        let found = warm_up(&values).unwrap();
        assert_eq!((found.drop, found.mean_of_rest), (1, 5.0));
    }

    #[test]
    fn steady_values_seldom_warm_up_or_drift() {
        let mut random = Random::seeded(3);
        for noise in [
            NoiseShape::Gauss,
            NoiseShape::Lognormal { sigma: 0.5 },
            NoiseShape::Autoregressive { keep: 0.5 },
        ] {
            let (mut warm, mut drifting) = (0, 0);
            for _ in 0..500 {
                let values = noise.draw(40, &mut random);
                warm += usize::from(warm_up(&values).is_some());
                drifting += usize::from(drift(&values).is_some());
            }
            assert!(
                warm <= 15 && drifting <= 15,
                "{noise:?}: {warm} {drifting} of 500"
            );
        }
    }

    #[test]
    fn a_drift_is_named_with_its_size() {
        let noise = NoiseShape::Gauss.draw(60, &mut Random::seeded(4));
        let values: Vec<f64> = noise
            .iter()
            .enumerate()
            .map(|(i, x)| x + 0.1 * i as f64)
            .collect();
        let found = drift(&values).unwrap();
        assert!((found.total - 5.9).abs() < 1.5, "{found:?}");
    }

    #[test]
    fn outliers_are_named_by_their_places() {
        let mut values: Vec<f64> = (0..20).map(f64::from).collect();
        values[7] = 500.0;
        values[9] = -500.0;
        assert_eq!(outliers(&Samples::new(values).unwrap()), [7, 9]);
        assert_eq!(
            outliers(&Samples::new(vec![1.0, 1.0, 1.0, 9.0]).unwrap()),
            Vec::<usize>::new()
        );
    }
}
