//! Welch's comparison of two means with different variances, for independent samples. Each side needs a spread. Clustered
//! samples need more: see the verdicts.

use serde::Serialize;

use crate::distributions::{t_quantile, two_sided_p};
use crate::undefined::finite;
use crate::{Confidence, Interval, Samples, Undefined};

/// What Welch's method says of two sides.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Welch {
    /// mean(new) − mean(base), in the samples' unit.
    pub difference: f64,
    /// The standard error of the difference.
    pub error: f64,
    /// The interval of the difference.
    pub difference_interval: Interval,
    /// mean(new) / mean(base).
    pub ratio: Result<f64, Undefined>,
    /// Fieller's interval of the ratio; [`Undefined::Unbounded`] if the base's mean can't be told from zero.
    pub ratio_interval: Result<Interval, Undefined>,
    /// The t statistic of the difference.
    pub t: f64,
    /// Degrees of freedom after Welch and Satterthwaite.
    pub degrees_of_freedom: f64,
    /// The two-sided p-value of "the means are equal".
    pub p: f64,
}

/// Compares the means of two sides of independent samples.
///
/// Sources: B. L. Welch, "The generalization of Student's problem when several different population variances are
/// involved", Biometrika 34 (1947), with F. E. Satterthwaite's degrees of freedom (Biometrics 2, 1946). The ratio:
/// E. C. Fieller, "Some problems in interval estimation", J. R. Stat. Soc. B 16 (1954), with the same degrees of freedom: its
/// interval then excludes 1 exactly where that of the difference excludes 0 and p is small.
///
/// # Errors
/// [`Undefined::TooFew`] if a side has fewer than two samples; [`Undefined::NoSpread`] if neither side varies.
pub fn welch(base: &Samples, new: &Samples, confidence: Confidence) -> Result<Welch, Undefined> {
    compare(
        &MeanWithError::from_samples(base)?,
        &MeanWithError::from_samples(new)?,
        confidence,
    )
}

/// Compares two means with their standard errors.
pub(crate) fn compare(
    base: &MeanWithError,
    new: &MeanWithError,
    confidence: Confidence,
) -> Result<Welch, Undefined> {
    if base.error.hypot(new.error) == 0.0 {
        return Err(Undefined::NoSpread);
    }
    compare_with_freedom(base, new, satterthwaite(base, new), confidence)
}

/// The same with these degrees of freedom.
pub(crate) fn compare_with_freedom(
    base: &MeanWithError,
    new: &MeanWithError,
    degrees_of_freedom: f64,
    confidence: Confidence,
) -> Result<Welch, Undefined> {
    let error = base.error.hypot(new.error);
    if error == 0.0 {
        return Err(Undefined::NoSpread);
    }
    let difference = finite(new.mean - base.mean)?;
    let quantile = t_quantile(confidence, degrees_of_freedom);
    let reach = quantile * error;
    let t = difference / error;
    let ratio = crate::ratio(base.mean, new.mean);
    Ok(Welch {
        difference,
        error,
        difference_interval: Interval {
            low: finite(difference - reach)?,
            high: finite(difference + reach)?,
        },
        ratio,
        ratio_interval: ratio.and_then(|ratio| fieller(base, new, ratio, quantile)),
        t,
        degrees_of_freedom,
        p: two_sided_p(t, degrees_of_freedom),
    })
}

/// Logarithms of ratios that differ by no more than this differ by rounding.
const MAX_ROUNDING_ERROR: f64 = 1e-12;

/// Compares two sides of which the nth unit of one and the nth of the other are of one and the same thing: Student's test of the
/// logarithms of their ratios where all are positive, so that the ratio is the geometric mean of theirs and the difference is
/// that much of the base's mean; of their differences elsewhere, without an interval of the ratio.
///
/// # Errors
/// [`Undefined::TooFew`] of fewer than two units a side, or unequally many; [`Undefined::NoSpread`] if no ratio, or no
/// difference, differs from another.
pub(crate) fn paired(
    base: &[f64],
    new: &[f64],
    confidence: Confidence,
) -> Result<Welch, Undefined> {
    let pairs = base.len().min(new.len());
    if pairs < 2 || base.len() != new.len() {
        return Err(Undefined::TooFew {
            needs: 2,
            has: pairs,
        });
    }
    let positive = base.iter().chain(new).all(|unit| *unit > 0.0);
    let change = |(base, new): (&f64, &f64)| match positive {
        true => (new / base).ln(),
        false => new - base,
    };
    let changes: Vec<f64> = base.iter().zip(new).map(change).collect();
    let changes = Samples::new(changes).map_err(|_| Undefined::TooLarge)?;
    let MeanWithError { mean, error, n } = MeanWithError::from_samples(&changes)?;
    if error == 0.0 || (positive && error <= MAX_ROUNDING_ERROR) {
        return Err(Undefined::NoSpread);
    }
    let reach = t_quantile(confidence, n - 1.0) * error;
    let ends = [mean - reach, mean, mean + reach];
    let base_mean = crate::sums::mean(base);
    let [low, difference, high] = match positive {
        true => ends.map(|log| base_mean * log.exp_m1()),
        false => ends,
    };
    let (ratio, ratio_interval) = match positive {
        true => {
            let ends = Interval {
                low: ends[0].exp(),
                high: ends[2].exp(),
            };
            let estimable = ends.low > 0.0 && ends.high.is_finite() && is_estimable(ends);
            let ends = estimable.then_some(ends).ok_or(Undefined::NotEstimable);
            (finite(mean.exp()), ends)
        }
        false => {
            let ratio = crate::ratio(base_mean, crate::sums::mean(new));
            (ratio, Err(Undefined::NotPositive))
        }
    };
    Ok(Welch {
        difference: finite(difference)?,
        error: if positive { base_mean * error } else { error },
        difference_interval: Interval {
            low: finite(low)?,
            high: finite(high)?,
        },
        ratio,
        ratio_interval,
        t: mean / error,
        degrees_of_freedom: n - 1.0,
        p: two_sided_p(mean / error, n - 1.0),
    })
}

/// A ratio above this whose interval is this many times as high as low at its ends is no estimate.
const WIDEST_RATIO: (f64, f64) = (10.0, 100.0);

/// The comparison of two means of quantities that are all positive. Their ratio is positive too: where Fieller's interval
/// isn't, or has no end, it is that of the logarithm of the ratio by the delta method (Cox 1990, "Fieller's theorem, the
/// likelihood and the delta method", Biometrics 46), which ends at 1 where it would say of no change something else than the
/// interval of the difference does.
pub(crate) fn with_positive_ratio(
    welch: Welch,
    base: &MeanWithError,
    new: &MeanWithError,
    confidence: Confidence,
) -> Welch {
    let mut welch = welch;
    let is_positive = welch.ratio_interval.is_ok_and(|ends| ends.low > 0.0);
    if let (Ok(ratio), false) = (welch.ratio, is_positive) {
        let t = t_quantile(confidence, welch.degrees_of_freedom);
        let Interval { low, high } = welch.difference_interval;
        welch.ratio_interval = by_logarithm(base, new, ratio, t).map(|ends| Interval {
            low: match low > 0.0 {
                true => ends.low.max(1.0_f64.next_up()),
                false if high >= 0.0 => ends.low.min(1.0),
                false => ends.low,
            },
            high: match high < 0.0 {
                true => ends.high.min(1.0_f64.next_down()),
                false if low <= 0.0 => ends.high.max(1.0),
                false => ends.high,
            },
        });
    }
    welch.ratio_interval = welch
        .ratio_interval
        .and_then(|ends| match is_estimable(ends) {
            true => Ok(ends),
            false => Err(Undefined::NotEstimable),
        });
    welch
}

/// Whether the interval of a ratio says anything of it: one that is far too wide is of a base that may be nearly nothing.
pub fn is_estimable(ratio: Interval) -> bool {
    let (largest, spread) = WIDEST_RATIO;
    ratio.high <= largest || ratio.high / ratio.low <= spread
}

/// The interval of a ratio of positive means from the relative errors of both, with Student's quantile `t`.
fn by_logarithm(
    base: &MeanWithError,
    new: &MeanWithError,
    ratio: f64,
    t: f64,
) -> Result<Interval, Undefined> {
    if ratio <= 0.0 {
        return Err(Undefined::NotPositive);
    }
    let reach = t * (base.error / base.mean).hypot(new.error / new.mean);
    let low = ratio * (-reach).exp();
    if low <= 0.0 {
        return Err(Undefined::NotEstimable);
    }
    Ok(Interval {
        low,
        high: finite(ratio * reach.exp()).map_err(|_| Undefined::NotEstimable)?,
    })
}

/// A difference of two means, by a spread that both share with others.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PooledDifference {
    /// mean(new) − mean(base), in the samples' unit.
    pub difference: f64,
    /// The interval of the difference.
    pub difference_interval: Interval,
    /// The two-sided p-value of "the means are equal".
    pub p: f64,
}

/// A difference whose standard error is known with these degrees of freedom, by Student's distribution.
///
/// # Errors
/// [`Undefined::NoSpread`] if the error is zero or has no degree of freedom; [`Undefined::TooLarge`] if an end of the interval is
/// no finite number.
pub fn difference_with_error(
    difference: f64,
    (error, freedom): (f64, f64),
    confidence: Confidence,
) -> Result<PooledDifference, Undefined> {
    if error <= 0.0 || freedom <= 0.0 {
        return Err(Undefined::NoSpread);
    }
    let reach = t_quantile(confidence, freedom) * error;
    Ok(PooledDifference {
        difference,
        difference_interval: Interval {
            low: finite(difference - reach)?,
            high: finite(difference + reach)?,
        },
        p: two_sided_p(difference / error, freedom),
    })
}

/// The interval of the mean of independent samples, by Student's distribution.
///
/// # Errors
/// [`Undefined::TooFew`] of fewer than two samples.
pub fn mean_interval(samples: &Samples, confidence: Confidence) -> Result<Interval, Undefined> {
    let MeanWithError { mean, error, n } = MeanWithError::from_samples(samples)?;
    let reach = t_quantile(confidence, n - 1.0) * error;
    Ok(Interval {
        low: finite(mean - reach)?,
        high: finite(mean + reach)?,
    })
}

/// Compares the means of two sides of independent samples whose standard deviation is known from more than these two:
/// Student's test with that deviation and its degrees of freedom.
///
/// # Errors
/// [`Undefined::NoSpread`] if that deviation is zero or has no degree of freedom.
pub fn shared_deviation(
    base: &Samples,
    new: &Samples,
    (deviation, freedom): (f64, usize),
    confidence: Confidence,
) -> Result<PooledDifference, Undefined> {
    let error = deviation * (1.0 / base.n() as f64 + 1.0 / new.n() as f64).sqrt();
    let difference = finite(new.amean() - base.amean())?;
    difference_with_error(difference, (error, freedom as f64), confidence)
}

/// A mean with its standard error.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MeanWithError {
    pub mean: f64,
    pub error: f64,
    /// Independent samples that it is worth; more than one.
    pub n: f64,
}

impl MeanWithError {
    fn from_samples(samples: &Samples) -> Result<Self, Undefined> {
        let n = samples.n() as f64;
        Ok(MeanWithError {
            mean: samples.amean(),
            error: samples.stddev()? / n.sqrt(),
            n,
        })
    }
}

/// Degrees of freedom of the variance of new − base. Not both errors are zero.
fn satterthwaite(base: &MeanWithError, new: &MeanWithError) -> f64 {
    let larger = base.error.max(new.error);
    let (v, w) = ((base.error / larger).powi(2), (new.error / larger).powi(2));
    (v + w).powi(2) / (v * v / (base.n - 1.0) + w * w / (new.n - 1.0))
}

/// The interval of the ratio, with Student's quantile `t`.
fn fieller(
    base: &MeanWithError,
    new: &MeanWithError,
    ratio: f64,
    t: f64,
) -> Result<Interval, Undefined> {
    // In units of the base's mean, which is positive.
    let (base_error, new_error) = (base.error / base.mean, new.error / base.mean);
    if base_error.hypot(new_error) == 0.0 {
        return Ok(Interval {
            low: ratio,
            high: ratio,
        });
    }
    let g = (t * base_error).powi(2);
    if g >= 1.0 {
        return Err(Undefined::Unbounded);
    }
    let reach = t * ((1.0 - g) * new_error.powi(2) + (ratio * base_error).powi(2)).sqrt();
    Ok(Interval {
        low: finite((ratio - reach) / (1.0 - g))?,
        high: finite((ratio + reach) / (1.0 - g))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn samples(values: &[f64]) -> Samples {
        Samples::new(values.to_vec()).unwrap()
    }

    #[test]
    fn a_spread_that_both_sides_share_makes_students_test() {
        // R: t.test(extra ~ group, var.equal = TRUE) gives p = 0.07919, interval -3.363874 to 0.203874 of base − new.
        let (base, new) = sleep();
        let variance = (base.stddev().unwrap().powi(2) + new.stddev().unwrap().powi(2)) / 2.0;
        let known = (variance.sqrt(), 18);
        let found = shared_deviation(&base, &new, known, Confidence::USUAL).unwrap();
        assert!((found.difference - 1.58).abs() < 1e-9);
        assert!(
            (found.difference_interval.low + 0.203_874).abs() < 1e-5,
            "{found:?}"
        );
        assert!(
            (found.difference_interval.high - 3.363_874).abs() < 1e-5,
            "{found:?}"
        );
        assert!((found.p - 0.079_19).abs() < 1e-5, "{found:?}");
        for nothing in [(0.0, 18), (1.0, 0)] {
            let found = shared_deviation(&base, &new, nothing, Confidence::USUAL);
            assert_eq!(found, Err(Undefined::NoSpread));
        }
    }

    /// Student's sleep data (Biometrika 1908), R's data set `sleep`.
    fn sleep() -> (Samples, Samples) {
        (
            samples(&[0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]),
            samples(&[1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]),
        )
    }

    #[test]
    fn students_sleep_data_comes_out_as_r_prints_it() {
        // R's ?t.test: t.test(extra ~ group, data = sleep) prints t = -1.8608, df = 17.776, p-value = 0.07939 and the
        // interval -3.3654832 0.2054832 for group 1 − group 2.
        let (one, two) = sleep();
        let welch = welch(&two, &one, Confidence::USUAL).unwrap();
        assert!((welch.t + 1.8608).abs() < 5e-5, "{welch:?}");
        assert!((welch.degrees_of_freedom - 17.776).abs() < 5e-4);
        assert!((welch.p - 0.07939).abs() < 5e-6);
        assert!((welch.difference_interval.low + 3.365_483_2).abs() < 5e-7);
        assert!((welch.difference_interval.high - 0.205_483_2).abs() < 5e-7);
    }

    #[test]
    fn a_ratio_to_a_base_that_may_be_zero_is_unbounded() {
        let (one, two) = sleep();
        let welch = welch(&one, &two, Confidence::USUAL).unwrap();
        assert!((welch.ratio.unwrap() - 2.33 / 0.75).abs() < 1e-12);
        assert_eq!(welch.ratio_interval, Err(Undefined::Unbounded));
    }

    #[test]
    fn sides_without_spread_or_with_one_sample_are_undefined() {
        let (flat, one) = (samples(&[2.0, 2.0]), samples(&[2.0]));
        assert_eq!(
            welch(&flat, &flat, Confidence::USUAL),
            Err(Undefined::NoSpread)
        );
        assert_eq!(
            welch(&one, &flat, Confidence::USUAL),
            Err(Undefined::TooFew { needs: 2, has: 1 })
        );
    }

    #[test]
    fn one_constant_side_is_no_obstacle() {
        let welch = welch(
            &samples(&[2.0, 2.0, 2.0]),
            &samples(&[2.0, 2.1, 2.2]),
            Confidence::USUAL,
        )
        .unwrap();
        assert!((welch.degrees_of_freedom - 2.0).abs() < 1e-12);
        let (difference, ratio) = (welch.difference_interval, welch.ratio_interval.unwrap());
        assert!((ratio.low - 1.0 - difference.low / 2.0).abs() < 1e-12);
        assert!((ratio.high - 1.0 - difference.high / 2.0).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn the_interval_excludes_zero_just_when_p_is_small(
            base in prop::collection::vec(90.0..110.0f64, 3..12),
            new in prop::collection::vec(95.0..115.0f64, 3..12),
        ) {
            let welch = welch(&samples(&base), &samples(&new), Confidence::USUAL).unwrap();
            prop_assume!((welch.p - 0.05).abs() > 1e-6);
            prop_assert_eq!(welch.p < 0.05, !welch.difference_interval.contains(0.0));
        }

        #[test]
        fn the_ratio_lies_in_its_interval_and_scales_with_the_unit(
            base in prop::collection::vec(90.0..110.0f64, 3..12),
            new in prop::collection::vec(45.0..215.0f64, 3..12),
            unit in 1e-6..1e6f64,
        ) {
            let one = welch(&samples(&base), &samples(&new), Confidence::USUAL).unwrap();
            let interval = one.ratio_interval.unwrap();
            prop_assert!(interval.contains(one.ratio.unwrap()));
            let scale = |values: &[f64]| samples(&values.iter().map(|x| x * unit).collect::<Vec<_>>());
            let two = welch(&scale(&base), &scale(&new), Confidence::USUAL).unwrap().ratio_interval.unwrap();
            prop_assert!((interval.low / two.low - 1.0).abs() < 1e-6 && (interval.high / two.high - 1.0).abs() < 1e-6);
        }
    }
}
