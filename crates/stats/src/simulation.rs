//! Simulated measurements with known truth: noise of several shapes, with mean 0 and variance 1. For tests, for the tables in
//! docs/quality.md, and for policies on simulated histories.

use crate::{Random, distributions::normal_cdf};

/// A shape of noise, standardised to mean 0 and variance 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NoiseShape {
    /// Normal.
    Gauss,
    /// exp(`sigma`·Z), skewed to the right as durations are.
    Lognormal {
        /// The standard deviation of the logarithm.
        sigma: f64,
    },
    /// Two states with normal noise of one standard deviation within each.
    Bimodal {
        /// The share of samples in the upper state.
        upper_share: f64,
        /// How many standard deviations the states are apart.
        apart: f64,
    },
    /// Stationary first-order autoregression: each value keeps `keep` of the one before.
    Autoregressive {
        /// The lag-1 autocorrelation.
        keep: f64,
    },
    /// Normal, but a share of the samples is thrown far out; the variance is 1 without those.
    Outliers {
        /// The share of outliers.
        share: f64,
        /// How far out they are, in standard deviations, on either side.
        far: f64,
    },
    /// What a neighbour on the same processor makes of durations: never less than with nobody there, up to twice as much
    /// with somebody who is busy, for some measurements in a row.
    Disturbed {
        /// The lag-1 autocorrelation of half of what disturbs.
        keep: f64,
    },
}

/// What is left of a disturbed value's spread where nothing disturbs.
const UNDISTURBED_SPREAD_SHARE: f64 = 0.01;

impl NoiseShape {
    /// `n` values of this noise in the order of measurement.
    #[must_use]
    pub fn draw(self, n: usize, random: &mut Random) -> Vec<f64> {
        let mut previous = random.normal();
        (0..n)
            .map(|_| match self {
                NoiseShape::Gauss => random.normal(),
                NoiseShape::Lognormal { sigma } => {
                    let variance = sigma * sigma;
                    let spread = ((variance.exp() - 1.0) * variance.exp()).sqrt();
                    ((sigma * random.normal()).exp() - (variance / 2.0).exp()) / spread
                }
                NoiseShape::Bimodal { upper_share, apart } => {
                    let state = if random.uniform() < upper_share {
                        apart
                    } else {
                        0.0
                    };
                    let spread = (1.0 + apart * apart * upper_share * (1.0 - upper_share)).sqrt();
                    (state + random.normal() - apart * upper_share) / spread
                }
                NoiseShape::Autoregressive { keep } => {
                    previous = keep * previous + (1.0 - keep * keep).sqrt() * random.normal();
                    previous
                }
                NoiseShape::Outliers { share, far } => {
                    let value = random.normal();
                    match random.uniform() {
                        u if u < share / 2.0 => value - far,
                        u if u < share => value + far,
                        _ => value,
                    }
                }
                NoiseShape::Disturbed { keep } => {
                    previous = keep * previous + (1.0 - keep * keep).sqrt() * random.normal();
                    let busy = normal_cdf((previous + random.normal()) / 2.0_f64.sqrt());
                    let value = busy * busy + UNDISTURBED_SPREAD_SHARE * random.normal();
                    // busy² of uniform busy has mean 1/3 and variance 4/45.
                    (value - 1.0 / 3.0)
                        / (4.0 / 45.0 + UNDISTURBED_SPREAD_SHARE * UNDISTURBED_SPREAD_SHARE).sqrt()
                }
            })
            .collect()
    }
}

/// `noise` for each of the levels, one after the other: `(length, level)`.
#[must_use]
pub fn steps(levels: &[(usize, f64)], noise: NoiseShape, random: &mut Random) -> Vec<f64> {
    let n = levels.iter().map(|(length, _)| length).sum();
    let level = levels
        .iter()
        .flat_map(|&(length, level)| std::iter::repeat_n(level, length));
    noise
        .draw(n, random)
        .into_iter()
        .zip(level)
        .map(|(noise, level)| noise + level)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_noise_has_mean_zero_and_variance_one() {
        let shapes = [
            NoiseShape::Gauss,
            NoiseShape::Lognormal { sigma: 0.5 },
            NoiseShape::Bimodal {
                upper_share: 0.3,
                apart: 5.0,
            },
            NoiseShape::Autoregressive { keep: 0.5 },
            NoiseShape::Outliers {
                share: 0.0,
                far: 10.0,
            },
            NoiseShape::Disturbed { keep: 0.9 },
        ];
        for noise in shapes {
            let values = noise.draw(200_000, &mut Random::seeded(5));
            let mean = values.iter().sum::<f64>() / 2e5;
            let variance = values.iter().map(|x| x * x).sum::<f64>() / 2e5;
            assert!(
                mean.abs() < 0.02 && (variance - 1.0).abs() < 0.03,
                "{noise:?} {mean} {variance}"
            );
        }
    }

    #[test]
    fn steps_are_where_they_were_asked_for() {
        let values = steps(
            &[(3, 0.0), (2, 1000.0)],
            NoiseShape::Gauss,
            &mut Random::seeded(1),
        );
        let high: Vec<bool> = values.iter().map(|&x| x > 500.0).collect();
        assert_eq!(high, [false, false, false, true, true]);
    }
}
