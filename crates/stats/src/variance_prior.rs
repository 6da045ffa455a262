//! Variances of many quantities that were measured alike: each is estimated from few values, and all together say how large they are
//! and how much they differ.
//!
//! Source: G. K. Smyth, "Linear models and empirical Bayes methods for assessing differential expression in microarray experiments",
//! Stat. Appl. Genet. Mol. Biol. 3 (2004), section 6.2: variances are drawn from a scaled inverse chi-squared distribution, whose two
//! parameters are estimated from the mean and the variance of the logarithms.

use statrs::function::gamma::digamma;

/// Fewer variances than this say too little of how they differ.
const FEWEST_VARIANCES: usize = 8;

/// What many variances have in common.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VariancePrior {
    /// The usual variance.
    pub variance: f64,
    /// How many degrees of freedom this knowledge is worth.
    pub freedom: f64,
}

/// A variance and its degrees of freedom.
pub type EstimatedVariance = (f64, f64);

impl VariancePrior {
    /// The prior of these variances, each with its degrees of freedom; nothing of too few. Those that are zero aren't taken.
    pub fn from_variances(variances: &[EstimatedVariance]) -> Option<Self> {
        let taken = variances
            .iter()
            .filter(|(variance, freedom)| *variance > 0.0 && *freedom > 0.0);
        let taken: Vec<&EstimatedVariance> = taken.collect();
        if taken.len() < FEWEST_VARIANCES {
            return None;
        }
        let number = taken.len() as f64;
        let logs: Vec<f64> = taken
            .iter()
            .map(|(variance, freedom)| {
                variance.ln() - digamma(freedom / 2.0) + (freedom / 2.0).ln()
            })
            .collect();
        let mean = crate::sums::mean(&logs);
        let spread = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (number - 1.0);
        let expected = taken.iter().map(|(_, freedom)| trigamma(freedom / 2.0));
        let surplus = spread - expected.sum::<f64>() / number;
        // No quantity is known better than by what all of them say.
        let most: f64 = taken.iter().map(|(_, freedom)| freedom).sum();
        let freedom = match surplus > 0.0 {
            true => (2.0 * inverse_trigamma(surplus)).min(most),
            false => most,
        };
        Some(Self {
            variance: (mean + digamma(freedom / 2.0) - (freedom / 2.0).ln()).exp(),
            freedom,
        })
    }

    /// A variance with what the others say of it, and its degrees of freedom.
    pub fn moderate(&self, (variance, freedom): EstimatedVariance) -> EstimatedVariance {
        let all = self.freedom + freedom;
        let sum = self.freedom * self.variance + freedom * variance;
        (sum / all, all)
    }
}

/// The derivative of the digamma function, for positive numbers. Source: M. Abramowitz, I. A. Stegun, "Handbook of Mathematical
/// Functions", 6.4.6 and 6.4.12.
fn trigamma(x: f64) -> f64 {
    let (mut x, mut sum) = (x, 0.0);
    while x < 8.0 {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let series = square * (1.0 / 6.0 - square * (1.0 / 30.0 - square / 42.0));
    sum + (1.0 + 0.5 / x + series) / x
}

/// Where the trigamma function, which falls, has this value; within what degrees of freedom can be.
fn inverse_trigamma(value: f64) -> f64 {
    let (mut low, mut high) = (1e-3_f64, 1e7_f64);
    // The ends are ten decades apart: 60 halvings of the logarithm leave less than a double shows.
    for _ in 0..60 {
        let middle = (low * high).sqrt();
        match trigamma(middle) > value {
            true => low = middle,
            false => high = middle,
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trigamma_function_has_its_known_values() {
        let pi = std::f64::consts::PI;
        assert!((trigamma(1.0) - pi * pi / 6.0).abs() < 1e-9);
        assert!((trigamma(0.5) - pi * pi / 2.0).abs() < 1e-9);
        assert!((inverse_trigamma(trigamma(3.7)) - 3.7).abs() < 1e-6);
    }

    #[test]
    fn variances_that_differ_by_chance_only_are_worth_all_their_freedom() {
        // Quantiles of chi-squared with 4 degrees of freedom, over 4.
        let quantiles = [
            0.178, 0.412, 0.549, 0.688, 0.839, 1.011, 1.220, 1.497, 1.945, 2.78,
        ];
        let variances: Vec<_> = quantiles.map(|one| (3.0 * one, 4.0)).to_vec();
        let prior = VariancePrior::from_variances(&variances).unwrap();
        assert_eq!(prior.freedom, 40.0);
        assert!((prior.variance - 3.0).abs() < 0.5, "{prior:?}");
        let (variance, freedom) = prior.moderate((30.0, 4.0));
        assert_eq!(freedom, 44.0);
        assert!(variance < 6.0);
    }

    #[test]
    fn variances_that_differ_much_say_little_of_each_other() {
        let variances: Vec<_> = (0..10).map(|power| (10_f64.powi(power), 20.0)).collect();
        let prior = VariancePrior::from_variances(&variances).unwrap();
        assert!(prior.freedom < 1.0, "{prior:?}");
        assert_eq!(VariancePrior::from_variances(&variances[..7]), None);
    }
}
