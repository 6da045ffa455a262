//! Error of the size of a change: of the difference of two means.

use crate::distributions::t_quantile;
use crate::{Confidence, Interval};

use super::variance_inflation::inflation;

/// The size of a change with its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Size {
    pub value: f64,
    pub error: f64,
    /// Degrees of freedom of the error.
    pub freedom: f64,
}

/// One side of a change: points and the variance of a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Beside {
    pub points: usize,
    pub variance: f64,
}

/// The standard error of the difference of the means of two neighbouring sides whose points each keep `kept` of the
/// deviation of the one before.
pub(crate) fn error_of_difference(old: Beside, new: Beside, kept: f64) -> f64 {
    let of_mean = |side: Beside| side.variance / side.points as f64;
    let independent = of_mean(old) + of_mean(new);
    (independent * inflation(kept, old.points, new.points)).sqrt()
}

/// Points that are worth as many independent ones.
pub(crate) fn independent(points: usize, kept: f64) -> f64 {
    points as f64 * (1.0 - kept) / (1.0 + kept)
}

impl Size {
    /// By Student's distribution.
    pub(crate) fn interval(&self, confidence: Confidence) -> Interval {
        let reach = t_quantile(confidence, self.freedom.max(1.0)) * self.error;
        Interval {
            low: self.value - reach,
            high: self.value + reach,
        }
    }
}
