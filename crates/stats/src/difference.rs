//! Difference of two numbers in percent, and their ratio; the sign is that of new − base. The percentage of a base that is zero
//! or negative is undefined.

use crate::sums;
use crate::undefined::finite;
use crate::{Better, Interval, Undefined};

/// new − base in percent of `base`, whatever is better: 100·new/base − 100.
///
/// # Errors
/// [`Undefined::NotPositive`] if `base` is zero or negative, [`Undefined::TooLarge`] on overflow.
pub fn percent_change(base: f64, new: f64) -> Result<f64, Undefined> {
    finite(100.0 * ratio(base, new)? - 100.0)
}

/// The difference of MMTests' `compare-mmtests.pl`: how much better (positive) or worse (negative) `new` is than `base`,
/// in percent of `base`. Only tables in MMTests' style have this sign.
///
/// # Errors
/// As [`percent_change`].
pub fn mmtests_percent(base: f64, new: f64, better: Better) -> Result<f64, Undefined> {
    let change = percent_change(base, new)?;
    Ok(match better {
        Better::Higher => change,
        Better::Lower | Better::Neither => -change,
    })
}

/// new/base.
///
/// # Errors
/// [`Undefined::NotPositive`] if `base` is zero or negative, [`Undefined::TooLarge`] on overflow.
pub fn ratio(base: f64, new: f64) -> Result<f64, Undefined> {
    if base <= 0.0 {
        return Err(Undefined::NotPositive);
    }
    finite(new / base)
}

/// The geometric mean of ratios over cells: the one mean for which "A over B" is the inverse of "B over A".
///
/// # Errors
/// [`Undefined::TooFew`] without ratios, [`Undefined::NotPositive`] if one is zero or negative.
pub fn gmean_of_ratios(ratios: &[f64]) -> Result<f64, Undefined> {
    if ratios.is_empty() {
        return Err(Undefined::TooFew { needs: 1, has: 0 });
    }
    if ratios.iter().any(|&r| r <= 0.0) {
        return Err(Undefined::NotPositive);
    }
    finite((sums::sum(ratios.iter().map(|r| r.ln())) / ratios.len() as f64).exp())
}

/// The interval of [`gmean_of_ratios`] over these very cells, from each ratio and its own interval, all of one confidence;
/// it says nothing of cells that were not measured. Ratios are taken as measured independently of each other.
///
/// Source: the limits of a sum from the limits of its parts, G. Y. Zou, A. Donner, "Construction of confidence limits
/// about effect measures: a general approach", Statistics in Medicine 27 (2008), for the mean of the logarithms.
///
/// # Errors
/// As [`gmean_of_ratios`]; [`Undefined::NotPositive`] if an interval reaches zero.
pub fn gmean_of_ratios_interval(ratios: &[(f64, Interval)]) -> Result<Interval, Undefined> {
    let centres: Vec<f64> = ratios.iter().map(|(ratio, _)| *ratio).collect();
    let gmean = gmean_of_ratios(&centres)?;
    if ratios.iter().any(|(_, interval)| interval.low <= 0.0) {
        return Err(Undefined::NotPositive);
    }
    let reach = |end: fn(&Interval) -> f64| {
        let squares = ratios
            .iter()
            .map(|(ratio, interval)| (end(interval) / ratio).ln().powi(2));
        sums::sum(squares).sqrt() / ratios.len() as f64
    };
    Ok(Interval {
        low: finite(gmean * (-reach(|interval| interval.low)).exp())?,
        high: finite(gmean * reach(|interval| interval.high).exp())?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_interval_of_a_mean_ratio_is_that_of_its_only_ratio_and_narrows_with_more() {
        let one = (
            2.0,
            Interval {
                low: 1.0,
                high: 3.0,
            },
        );
        let of_one = gmean_of_ratios_interval(&[one]).unwrap();
        assert!((of_one.low - 1.0).abs() < 1e-12 && (of_one.high - 3.0).abs() < 1e-12);
        // Four alike: half as wide, in logarithms.
        let of_four = gmean_of_ratios_interval(&[one; 4]).unwrap();
        assert!((of_four.low - 2.0 / 2.0_f64.sqrt()).abs() < 1e-12);
        assert!((of_four.high - 2.0 * 1.5_f64.sqrt()).abs() < 1e-12);
        let reaching = (
            1.0,
            Interval {
                low: -1.0,
                high: 2.0,
            },
        );
        assert_eq!(
            gmean_of_ratios_interval(&[reaching]),
            Err(Undefined::NotPositive)
        );
        assert!(gmean_of_ratios_interval(&[]).is_err());
    }

    #[test]
    fn a_difference_to_nothing_is_undefined() {
        for base in [0.0, -0.0, -3.0] {
            assert_eq!(percent_change(base, 1.0), Err(Undefined::NotPositive));
        }
    }

    #[test]
    fn an_overflow_is_not_infinity() {
        assert_eq!(ratio(1e-300, 1e300), Err(Undefined::TooLarge));
    }

    #[test]
    fn no_ratios_have_no_mean() {
        assert_eq!(
            gmean_of_ratios(&[]),
            Err(Undefined::TooFew { needs: 1, has: 0 })
        );
        assert_eq!(gmean_of_ratios(&[1.0, 0.0]), Err(Undefined::NotPositive));
    }

    #[test]
    fn halved_and_doubled_cancel() {
        assert!((gmean_of_ratios(&[0.5, 2.0]).unwrap() - 1.0).abs() < 1e-15);
    }

    proptest! {
        #[test]
        fn the_sign_is_that_of_the_difference(base in 1e-3..1e3f64, new in 1e-3..1e3f64) {
            let percent = percent_change(base, new).unwrap();
            prop_assert_eq!(percent > 1e-9, new > base && percent.abs() > 1e-9);
            for better in [Better::Higher, Better::Lower] {
                let mmtests = mmtests_percent(base, new, better).unwrap();
                prop_assert_eq!(mmtests > 1e-9, better.prefers(new, base) && mmtests.abs() > 1e-9);
            }
        }

        #[test]
        fn the_mean_ratio_of_the_inverse_is_the_inverse(ratios in prop::collection::vec(0.01..100.0f64, 1..40)) {
            let inverse: Vec<f64> = ratios.iter().map(|r| 1.0 / r).collect();
            let product = gmean_of_ratios(&ratios).unwrap() * gmean_of_ratios(&inverse).unwrap();
            prop_assert!((product - 1.0).abs() < 1e-12);
        }
    }
}
