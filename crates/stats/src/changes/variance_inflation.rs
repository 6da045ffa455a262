//! Inflation of the variance of a difference of means by autocorrelation.

/// By how much autocorrelation makes the variance of a difference of two neighbouring means of `k` and `l` points
/// larger than for independent points.
pub(crate) fn inflation(kept: f64, k: usize, l: usize) -> f64 {
    if kept == 0.0 {
        return 1.0;
    }
    let (k, l) = (k as f64, l as f64);
    let rest = 1.0 - kept;
    let mean =
        |m: f64| ((1.0 + kept) / rest - 2.0 * kept * (1.0 - kept.powf(m)) / (m * rest * rest)) / m;
    let both = kept * (1.0 - kept.powf(k)) * (1.0 - kept.powf(l)) / (rest * rest * k * l);
    ((mean(k) + mean(l) - 2.0 * both) / (1.0 / k + 1.0 / l)).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inflation_is_that_of_the_variance_of_a_difference_of_means() {
        // By adding up all covariances φ^|i−j|.
        let (kept, k, l) = (0.6_f64, 5_usize, 9_usize);
        let weight = |i: usize| {
            if i < k {
                -1.0 / k as f64
            } else {
                1.0 / l as f64
            }
        };
        let points = || 0..k + l;
        let variance: f64 = points()
            .flat_map(|i| points().map(move |j| (i, j)))
            .map(|(i, j)| weight(i) * weight(j) * kept.powi(i.abs_diff(j) as i32))
            .sum();
        let independent = 1.0 / k as f64 + 1.0 / l as f64;
        assert!((inflation(kept, k, l) - variance / independent).abs() < 1e-12);
        assert_eq!(inflation(0.0, k, l), 1.0);
    }
}
