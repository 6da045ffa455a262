//! Distance of one value from the bulk of others, by their median: a single wild value among the others doesn't hide a second one.

use crate::{Samples, Undefined};

/// What the median absolute deviation is multiplied by, so that it estimates the standard deviation of normally distributed values:
/// 1/Φ⁻¹(¾).
const CONSISTENCY: f64 = 1.482_602_218_505_602;

/// The middle of some values and how far they lie from it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MedianDeviation {
    /// The median m.
    pub median: f64,
    /// The scaled median absolute deviation: 1.4826 · median |xᵢ − m|.
    pub scale: f64,
}

impl MedianDeviation {
    /// Fewer values give no scale: the median absolute deviation of three is the distance of one of them.
    pub const MIN_VALUES: usize = 4;

    /// Of these values.
    ///
    /// Source: P. J. Rousseeuw and C. Croux, "Alternatives to the Median Absolute Deviation", Journal of the American Statistical
    /// Association 88 (1993).
    ///
    /// # Errors
    /// [`Undefined::TooFew`] for fewer than [`MedianDeviation::MIN_VALUES`], [`Undefined::TooLarge`] where a deviation overflows.
    pub fn new(samples: &Samples) -> Result<Self, Undefined> {
        if samples.n() < Self::MIN_VALUES {
            return Err(Undefined::TooFew {
                needs: Self::MIN_VALUES,
                has: samples.n(),
            });
        }
        let median = samples.median();
        let deviations = samples.measured().iter().map(|x| (x - median).abs());
        let deviations = Samples::new(deviations.collect()).map_err(|_| Undefined::TooLarge)?;
        Ok(Self {
            median,
            scale: CONSISTENCY * deviations.median(),
        })
    }

    /// How many scales a value lies above the median, below it if negative: (x − m) / max(scale, `least_scale`). `least_scale` is the
    /// smallest difference that means anything, more than 0; it stands in where more than half of the values are equal.
    ///
    /// Source: B. Iglewicz and D. C. Hoaglin, *How to Detect and Handle Outliers* (1993), who take values beyond ±3.5 for outliers.
    #[must_use]
    pub fn distance(&self, x: f64, least_scale: f64) -> f64 {
        (x - self.median) / self.scale.max(least_scale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> Result<MedianDeviation, Undefined> {
        MedianDeviation::new(&Samples::new(values.to_vec()).unwrap())
    }

    #[test]
    fn the_scale_is_that_of_r() {
        // R: mad(c(1, 2, 4, 8, 16, 1000)) prints 6.6717; median 6.
        let found = of(&[16.0, 1.0, 1000.0, 2.0, 8.0, 4.0]).unwrap();
        assert!((found.median - 6.0).abs() < 1e-12);
        assert!((found.scale - 6.6717).abs() < 1e-4, "{found:?}");
        assert!((found.distance(1000.0, 1.0) - 994.0 / 6.6717).abs() < 1e-2);
        assert!(found.distance(1.0, 1.0) < 0.0);
    }

    #[test]
    fn equal_values_have_the_least_scale_and_few_have_none() {
        let found = of(&[5.0, 5.0, 5.0, 5.0, 90.0]).unwrap();
        assert!((found.distance(8.0, 1.0) - 3.0).abs() < 1e-12);
        let few = Undefined::TooFew { needs: 4, has: 3 };
        assert_eq!(of(&[1.0, 2.0, 3.0]), Err(few));
        assert_eq!(
            of(&[-1.7e308, 1.7e308, 1.7e308, 1.7e308]),
            Err(Undefined::TooLarge)
        );
    }
}
