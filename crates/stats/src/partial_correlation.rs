//! Correlation of two series with a third one held fixed: two things that both drift with time are correlated, and needn't have to do
//! with each other.

use crate::{Confidence, Interval, Undefined, distributions::normal_quantile};

/// Fewest observations.
const FEWEST: usize = 5;

/// What is left of a series' spread, as a share, when it is nothing but rounding.
const ROUNDING: f64 = 1e-12;

/// A partial correlation with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PartialCorrelation {
    /// From −1 to 1.
    pub correlation: f64,
    /// The interval of that.
    pub interval: Interval,
    /// Observations.
    pub n: usize,
}

/// The correlation of `x` and `y` with `held` held fixed: Pearson's correlation of what a straight line through `held` leaves of each,
/// which is (r_xy − r_xh r_yh) / √((1 − r_xh²)(1 − r_yh²)). The interval is Fisher's, of atanh r ± z / √(n − 4): one observation
/// fewer than without a series that is held.
///
/// Sources: G. U. Yule, "On the theory of correlation for any number of variables, treated by a new system of notation", Proceedings of
/// the Royal Society A 79 (1907); R. A. Fisher, "The distribution of the partial correlation coefficient", Metron 3 (1924).
///
/// # Errors
/// Fewer than 5 observations; a series that doesn't vary, or that `held` says in full.
///
/// # Panics
/// The three aren't of one length.
pub fn partial_correlation(
    x: &[f64],
    y: &[f64],
    held: &[f64],
    confidence: Confidence,
) -> Result<PartialCorrelation, Undefined> {
    assert!(x.len() == y.len() && x.len() == held.len(), "one length");
    let n = x.len();
    if n < FEWEST {
        return Err(Undefined::TooFew {
            needs: FEWEST,
            has: n,
        });
    }
    let (x, y) = (residuals(x, held)?, residuals(y, held)?);
    let correlation = (dot(&x, &y) / (dot(&x, &x) * dot(&y, &y)).sqrt()).clamp(-1.0, 1.0);
    let width = normal_quantile(0.5 + confidence.share() / 2.0) / ((n - 4) as f64).sqrt();
    let end = |by: f64| (correlation.atanh() + by).tanh();
    Ok(PartialCorrelation {
        correlation,
        interval: Interval {
            low: end(-width),
            high: end(width),
        },
        n,
    })
}

/// What a straight line through `held` leaves of `values`, of length about 1.
fn residuals(values: &[f64], held: &[f64]) -> Result<Vec<f64>, Undefined> {
    let (values, held) = (centred(values), centred(held));
    let (spread, slope) = (dot(&values, &values), dot(&held, &held));
    if spread <= ROUNDING * ROUNDING || !spread.is_finite() {
        return Err(Undefined::NoSpread);
    }
    let slope = match slope > 0.0 {
        true => dot(&values, &held) / slope,
        false => 0.0,
    };
    let left: Vec<f64> = values
        .iter()
        .zip(&held)
        .map(|(value, held)| value - slope * held)
        .collect();
    match dot(&left, &left) > ROUNDING * spread {
        true => Ok(left),
        false => Err(Undefined::NoSpread),
    }
}

/// Values less their mean, in units of the largest value.
fn centred(values: &[f64]) -> Vec<f64> {
    let largest = values
        .iter()
        .fold(0.0_f64, |largest, it| largest.max(it.abs()));
    let scale = if largest > 0.0 { largest } else { 1.0 };
    let mean = values.iter().map(|value| value / scale).sum::<f64>() / values.len() as f64;
    values.iter().map(|value| value / scale - mean).collect()
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;
    use proptest::prelude::*;

    fn partial(x: &[f64], y: &[f64], held: &[f64]) -> Result<PartialCorrelation, Undefined> {
        partial_correlation(x, y, held, Confidence::USUAL)
    }

    fn pearson(x: &[f64], y: &[f64]) -> f64 {
        let (x, y) = (centred(x), centred(y));
        dot(&x, &y) / (dot(&x, &x) * dot(&y, &y)).sqrt()
    }

    #[test]
    fn it_is_what_a_table_of_correlations_gives() {
        let x = [2.0, 4.0, 15.0, 20.0, 21.0, 25.0, 18.0];
        let y = [1.0, 2.0, 3.0, 4.0, 9.0, 5.0, 7.0];
        let held = [0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 4.0];
        let (xy, xh, yh) = (pearson(&x, &y), pearson(&x, &held), pearson(&y, &held));
        let expected = (xy - xh * yh) / ((1.0 - xh * xh) * (1.0 - yh * yh)).sqrt();
        let found = partial(&x, &y, &held).unwrap();
        assert!((found.correlation - expected).abs() < 1e-12, "{found:?}");
        // atanh(r) ± 1.959964 / √3.
        let half = 1.959_964 / 3.0_f64.sqrt();
        let low = (expected.atanh() - half).tanh();
        assert!((found.interval.low - low).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn what_only_drifts_with_the_order_is_not_related() {
        let mut random = Random::seeded(4);
        let mut noise = || random.normal();
        let order: Vec<f64> = (0..40).map(f64::from).collect();
        let mut missed = 0;
        for _ in 0..400 {
            let x: Vec<f64> = order.iter().map(|at| at + noise()).collect();
            let y: Vec<f64> = order.iter().map(|at| 3.0 - 2.0 * at + noise()).collect();
            assert!(pearson(&x, &y) < -0.99);
            let found = partial(&x, &y, &order).unwrap();
            missed += usize::from(!found.interval.contains(0.0));
        }
        // 5 % of 400 are expected.
        assert!((5..=40).contains(&missed), "{missed}");
    }

    #[test]
    fn where_nothing_varies_or_is_left_there_is_no_correlation() {
        let order = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let other = [1.0, -2.0, 3.0, 1.0, 0.0, 2.0];
        assert_eq!(partial(&[0.1; 6], &other, &order), Err(Undefined::NoSpread));
        let line = order.map(|at| 0.1 * at + 7.0);
        assert_eq!(partial(&other, &line, &order), Err(Undefined::NoSpread));
        let few = partial(&other[..4], &line[..4], &order[..4]);
        assert_eq!(few, Err(Undefined::TooFew { needs: 5, has: 4 }));
    }

    proptest! {
        #[test]
        fn it_is_within_its_interval_alike_both_ways_and_blind_to_units_and_drift(
            rows in prop::collection::vec((-1e3..1e3, -1e3..1e3), 6..30),
            factor in 0.001..1e3,
            drift in -50.0..50.0,
        ) {
            let (x, y): (Vec<f64>, Vec<f64>) = rows.into_iter().unzip();
            let order: Vec<f64> = (0..x.len()).map(|at| at as f64).collect();
            let Ok(found) = partial(&x, &y, &order) else {
                return Ok(());
            };
            prop_assert!(found.correlation.abs() <= 1.0);
            prop_assert!(found.interval.low <= found.correlation && found.correlation <= found.interval.high);
            let back = partial(&y, &x, &order).unwrap();
            prop_assert!((back.correlation - found.correlation).abs() < 1e-9);
            let moved: Vec<f64> = x.iter().zip(&order).map(|(x, at)| factor * x + drift * at).collect();
            if let Ok(moved) = partial(&moved, &y, &order) {
                prop_assert!((moved.correlation - found.correlation).abs() < 1e-4, "{} {}", moved.correlation, found.correlation);
            }
            let same = partial(&x, &x, &order).unwrap();
            prop_assert!((same.correlation - 1.0).abs() < 1e-9);
        }
    }
}
