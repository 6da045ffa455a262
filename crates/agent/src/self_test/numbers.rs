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

/// A number and where it would lie nine times of ten if it were measured again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Estimate {
    pub(super) value: f64,
    /// None where it isn't known.
    pub(super) interval: Option<[f64; 2]>,
}

impl From<f64> for Estimate {
    fn from(value: f64) -> Self {
        Self {
            value,
            interval: None,
        }
    }
}

/// Quantiles 0.95 of Student's t distribution, of 2 degrees of freedom and more.
const STUDENT: [f64; 10] = [
    2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812, 1.796,
];

impl Estimate {
    /// The same of what can't be more than this.
    pub(super) fn at_most(self, most: f64) -> Self {
        Self {
            value: self.value.min(most),
            interval: self.interval.map(|ends| ends.map(|end| end.min(most))),
        }
    }

    /// A statistic of all turns of a test, with its interval by the delete-a-group jackknife (Kott, Journal of Official Statistics 17,
    /// 2001): a turn is a group, since what disturbs lasts longer than single values are apart. The interval is that of the logarithm, as
    /// spreads and shares have it, so that fewer than three turns, and a zero, have none. None where the statistic has no value.
    pub(super) fn of_turns<T>(
        turns: &[T],
        statistic: impl Fn(&[&T]) -> Option<f64>,
    ) -> Option<Self> {
        let all: Vec<&T> = turns.iter().collect();
        let value = statistic(&all)?;
        let without = (0..all.len()).map(|left_out| {
            let mut others = all.clone();
            others.remove(left_out);
            statistic(&others).filter(|it| *it > 0.0).map(f64::ln)
        });
        let without: Option<Vec<f64>> = without.collect();
        let interval = without.filter(|it| it.len() >= 3).map(|logarithms| {
            let count = logarithms.len() as f64;
            let mean = logarithms.iter().sum::<f64>() / count;
            let squares: f64 = logarithms.iter().map(|it| (it - mean).powi(2)).sum();
            let error = ((count - 1.0) / count * squares).sqrt();
            let freedom = logarithms.len() - 3;
            let reach = STUDENT[freedom.min(STUDENT.len() - 1)] * error;
            [value * (-reach).exp(), value * reach.exp()]
        });
        let is_finite = |ends: &[f64; 2]| ends.iter().all(|end| end.is_finite());
        Some(Self {
            value,
            interval: interval.filter(is_finite),
        })
    }
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
    #[test]
    fn the_interval_of_a_mean_is_that_of_students_t() {
        let mean = |turns: &[&f64]| Some(turns.iter().copied().sum::<f64>() / turns.len() as f64);
        let turns: Vec<f64> = (0..10).map(|n| 100.0 + f64::from(n % 2)).collect();
        let found = Estimate::of_turns(&turns, mean).unwrap();
        assert_eq!(found.value, 100.5);
        // Of ten values with a standard deviation of 0.527: 1.833 · 0.527 / √10.
        let [low, high] = found.interval.unwrap();
        assert!((found.value - low - 0.3055).abs() < 0.002, "{low}");
        assert!((high - found.value - 0.3055).abs() < 0.002, "{high}");
        assert_eq!(
            Estimate::of_turns(&[1.0, 2.0], mean).unwrap().interval,
            None
        );
        assert_eq!(Estimate::of_turns(&[0.0; 5], mean).unwrap().interval, None);
        assert_eq!(Estimate::of_turns(&[0.0; 5], |_| None), None);
    }

    #[test]
    fn nine_of_ten_intervals_of_a_spread_have_the_spread_in_them() {
        // Ten turns of thirty values each, normal by the sum of twelve uniform ones.
        let mut state = 7_u64;
        let mut uniform = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let mut normal = || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
        let of_all = |turns: &[&Vec<f64>]| {
            let all: Vec<f64> = turns.iter().copied().flatten().copied().collect();
            spread(&all)
        };
        let mut within = 0;
        for _ in 0..500 {
            let turns: Vec<Vec<f64>> = (0..10)
                .map(|_| (0..30).map(|_| 1.0 + 0.02 * normal()).collect())
                .collect();
            let [low, high] = Estimate::of_turns(&turns, of_all)
                .unwrap()
                .interval
                .unwrap();
            within += i32::from((low..=high).contains(&0.02));
        }
        assert!((425..=490).contains(&within), "{within}");
    }
}
