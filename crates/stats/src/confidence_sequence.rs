//! Confidence sequences: intervals of a mean that all hold at once, however often somebody looks and whenever they stop.
//!
//! The interval of a fixed sample size holds the truth in 95 of 100 cases if it is looked at once. Who measures on until
//! it excludes zero will see that happen sooner or later, change or no change. The intervals here are wider, so that
//! in 95 of 100 studies *every* one of them holds the truth.
//!
//! They are the means m for which a test martingale stays below 1/α: the Bayes factor of "the mean is m + δσ, δ normal
//! with variance g" against "the mean is m", with the right-Haar prior on σ, which is the likelihood ratio of the t
//! statistics seen so far. Sources: J. Ville, *Étude critique de la notion de collectif* (1939); T. L. Lai, "On confidence
//! sequences", Annals of Statistics 4 (1976); A. Hendriksen, R. de Heide, P. Grünwald, "Optional stopping with Bayes
//! factors", Bayesian Analysis 16 (2021); H. Wang, A. Ramdas, "Anytime-valid t-tests and confidence sequences for Gaussian
//! means with unknown variance" (2023). Values are taken as independent and normal; differences of two sides that are
//! measured alike are symmetric where there is no change, and then heavier tails make it err less, not more.
//!
//! Values that don't vary have no interval.

use crate::undefined::finite;
use crate::{Confidence, Interval, Undefined};

/// g, the prior variance of the effect size: changes that matter are about three standard deviations of a single difference. It
/// moves where the intervals are narrowest (here after 4 to 50 values), not whether they hold.
const EFFECT_PRIOR_VARIANCE: f64 = 10.0;

/// Values one after the other, with the interval of their mean at each moment.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ConfidenceSequence {
    n: usize,
    mean: f64,
    /// Σ(x − mean)².
    squares: f64,
}

impl ConfidenceSequence {
    /// One more value: B. P. Welford's update (Technometrics 4, 1962).
    pub fn add(&mut self, value: f64) {
        self.n += 1;
        let before = value - self.mean;
        self.mean += before / self.n as f64;
        self.squares += before * (value - self.mean);
    }

    /// How many there are.
    #[must_use]
    pub fn n(&self) -> usize {
        self.n
    }

    /// Their mean; zero where there are none.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The standard deviation of a value.
    ///
    /// # Errors
    /// [`Undefined::TooFew`] with fewer than two values.
    pub fn deviation(&self) -> Result<f64, Undefined> {
        if self.n < 2 {
            return Err(Undefined::TooFew {
                needs: 2,
                has: self.n,
            });
        }
        Ok((self.squares / (self.n - 1) as f64).sqrt())
    }

    /// Whether all of them are alike, but for roundings.
    #[must_use]
    pub fn is_flat(&self) -> bool {
        let scale = self.mean.abs().max(f64::MIN_POSITIVE);
        self.squares.sqrt() <= 1e-12 * scale
    }

    /// The interval of the mean: with this confidence all intervals of the sequence, from its first value to its last
    /// whenever that is, hold the true one.
    ///
    /// # Errors
    /// [`Undefined::TooFew`] while any mean is possible; [`Undefined::NoSpread`] if all values are alike.
    pub fn interval(&self, confidence: Confidence) -> Result<Interval, Undefined> {
        let deviation = self.deviation()?;
        let Some(reach) = reach(self.n, confidence) else {
            let needs = (self.n..).find(|n| reach(*n, confidence).is_some());
            return Err(Undefined::TooFew {
                needs: needs.unwrap_or(usize::MAX),
                has: self.n,
            });
        };
        if self.is_flat() {
            return Err(Undefined::NoSpread);
        }
        let reach = reach * deviation;
        Ok(Interval {
            low: finite(self.mean - reach)?,
            high: finite(self.mean + reach)?,
        })
    }

    /// How far the interval of `n` values of this standard deviation reaches to either side; nothing while it is unbounded. For
    /// planning, before anything is measured.
    #[must_use]
    pub fn expected_reach(n: usize, deviation: f64, confidence: Confidence) -> Option<f64> {
        reach(n, confidence).map(|reach| reach * deviation)
    }

    /// How many values more the interval needs until it reaches only so far to either side, if they vary as before;
    /// nothing if more than ten million.
    ///
    /// # Errors
    /// As [`ConfidenceSequence::deviation`]; [`Undefined::NoSpread`] if all values are alike.
    pub fn more(&self, wanted: f64, confidence: Confidence) -> Result<Option<usize>, Undefined> {
        let deviation = self.deviation()?;
        if self.is_flat() {
            return Err(Undefined::NoSpread);
        }
        let enough =
            |n: usize| reach(n, confidence).is_some_and(|reach| reach * deviation <= wanted);
        const MAX_VALUES: usize = 10_000_000;
        let (mut low, mut high) = (self.n, self.n + 1);
        while !enough(high) {
            (low, high) = (high, high * 2);
            if high > MAX_VALUES {
                return Ok(None);
            }
        }
        while low + 1 < high {
            let middle = usize::midpoint(low, high);
            if enough(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        Ok(Some(high - self.n))
    }
}

/// How far the interval of n values reaches to either side, in their standard deviations; nothing while it is unbounded.
///
/// With x = n·(mean − m)²/Σ(x − mean)² the Bayes factor is (1 + ng)^(−1/2) · ((1 + x)/(1 + x/(1 + ng)))^(n/2). It is 1/α at
/// x = (K − 1)/(1 − K/(1 + ng)), where K = ((1 + ng)/α²)^(1/n), if K < 1 + ng.
fn reach(n: usize, confidence: Confidence) -> Option<f64> {
    if n < 2 {
        return None;
    }
    let (n, alpha) = (n as f64, 1.0 - confidence.share());
    let wide = 1.0 + n * EFFECT_PRIOR_VARIANCE;
    let bound = ((wide.ln() - 2.0 * alpha.ln()) / n).exp();
    if bound >= wide {
        return None;
    }
    let x = (bound - 1.0) / (1.0 - bound / wide);
    Some((x * (n - 1.0)).sqrt() / n.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;
    use crate::simulation::NoiseShape;

    fn from_values(values: &[f64]) -> ConfidenceSequence {
        let mut sequence = ConfidenceSequence::default();
        values.iter().for_each(|value| sequence.add(*value));
        sequence
    }

    #[test]
    fn at_the_ends_of_the_interval_the_bayes_factor_is_what_ville_allows() {
        let values = [1.0, 1.4, 0.7, 1.2, 1.1, 0.8, 1.3];
        let sequence = from_values(&values);
        let interval = sequence.interval(Confidence::USUAL).unwrap();
        let n = values.len() as f64;
        for end in [interval.low, interval.high] {
            let x = n * (sequence.mean() - end).powi(2) / sequence.squares;
            let wide = 1.0 + n * EFFECT_PRIOR_VARIANCE;
            let factor = wide.powf(-0.5) * ((1.0 + x) / (1.0 + x / wide)).powf(n / 2.0);
            assert!((factor * 0.05 - 1.0).abs() < 1e-9, "{factor}");
        }
    }

    #[test]
    fn who_looks_after_every_value_is_wrong_in_one_of_twenty_at_most() {
        for noise in [
            NoiseShape::Gauss,
            NoiseShape::Outliers {
                share: 0.05,
                far: 10.0,
            },
        ] {
            let mut random = Random::seeded(7);
            let mut wrong = 0;
            for _ in 0..2000 {
                let mut sequence = ConfidenceSequence::default();
                let values = noise.draw(200, &mut random);
                wrong += usize::from(values.iter().any(|value| {
                    sequence.add(*value);
                    let interval = sequence.interval(Confidence::USUAL);
                    interval.is_ok_and(|interval| !interval.contains(0.0))
                }));
            }
            // 100 on average would be allowed.
            assert!(wrong <= 100, "{noise:?}: {wrong} of 2000");
        }
    }

    #[test]
    fn few_values_say_nothing_and_more_of_them_say_more() {
        assert!(matches!(
            from_values(&[1.0, 2.0]).interval(Confidence::USUAL),
            Err(Undefined::TooFew { needs: 3, has: 2 })
        ));
        assert_eq!(
            from_values(&[2.0; 9]).interval(Confidence::USUAL),
            Err(Undefined::NoSpread)
        );
        let widths: Vec<f64> = [3, 5, 10, 30, 100, 1000]
            .map(|n| reach(n, Confidence::USUAL).unwrap())
            .to_vec();
        assert!(widths.is_sorted_by(|a, b| a > b), "{widths:?}");
    }

    #[test]
    fn so_many_more_as_it_says_are_needed() {
        let sequence = from_values(&[1.0, 1.4, 0.7, 1.2]);
        let more = sequence.more(0.05, Confidence::USUAL).unwrap().unwrap();
        let deviation = sequence.deviation().unwrap();
        let at = |n: usize| reach(n, Confidence::USUAL).unwrap() * deviation;
        assert!(at(4 + more) <= 0.05 && at(4 + more - 1) > 0.05);
        assert_eq!(sequence.more(0.0, Confidence::USUAL), Ok(None));
    }
}
