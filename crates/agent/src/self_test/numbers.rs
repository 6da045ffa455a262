//! The few statistics of a self-test.

/// The value below which this share of the values lies, between two of them in proportion; none of no values.
pub(super) fn quantile(values: &[f64], share: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = share * (sorted.len().checked_sub(1)? as f64);
    let below = place.floor();
    let (low, high) = (sorted[below as usize], sorted[place.ceil() as usize]);
    Some(low + (high - low) * (place - below))
}

pub(super) fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// Quantiles 0.1 and 0.9 of a normal distribution are so many standard deviations apart.
const TENTH_TO_NINTH: f64 = 2.563;

/// The spread of values as a share of their median: the standard deviation as quantiles have it, so that single outliers, which are
/// counted as interruptions, don't count twice. None of fewer than five values.
pub(super) fn spread(values: &[f64]) -> Option<f64> {
    if values.len() < 5 {
        return None;
    }
    let width = quantile(values, 0.9)? - quantile(values, 0.1)?;
    Some(width / TENTH_TO_NINTH / median(values)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_values_in_proportion() {
        let values = [4.0, 1.0, 3.0, 2.0, 5.0];
        assert_eq!(median(&values), Some(3.0));
        assert_eq!(quantile(&values, 0.0), Some(1.0));
        assert_eq!(quantile(&values, 1.0), Some(5.0));
        assert_eq!(quantile(&values, 0.9), Some(4.6));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn a_spread_is_that_of_a_normal_distribution_and_a_single_outlier_is_not_in_it() {
        let even: Vec<f64> = (0..101).map(|n| 100.0 + f64::from(n) / 50.0).collect();
        let found = spread(&even).unwrap();
        assert!((found - 1.6 / 2.563 / 101.0).abs() < 1e-9, "{found}");
        let mut outlier = even.clone();
        outlier[7] = 1e6;
        assert!((spread(&outlier).unwrap() / found - 1.0).abs() < 0.05);
        assert_eq!(spread(&[1.0, 1.0, 1.0, 1.0]), None);
    }
}
