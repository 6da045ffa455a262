//! Reasons why a definition has no value for the given samples.

use serde::Serialize;

/// Why a statistic has no value here. Show it as "undefined" with this reason, never as 0.00 or NaN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Undefined {
    /// There are fewer samples than the definition needs.
    #[error("undefined: {has} of the at least {needs} samples that it needs")]
    TooFew {
        /// Samples that the definition needs.
        needs: usize,
        /// Samples that there are.
        has: usize,
    },
    /// The definition is about positive numbers and met a value that is zero or negative.
    #[error("undefined: only positive values have it, and at least one is zero or negative")]
    NotPositive,
    /// The definition divides by a mean that is zero.
    #[error("undefined: the mean that it is relative to is zero")]
    ZeroMean,
    /// All samples are equal, so that their spread says nothing about the next one.
    #[error("undefined: all samples are equal, so their spread says nothing")]
    NoSpread,
    /// The denominator of a ratio can't be told from zero, so the ratio may be anything.
    #[error("undefined: the base can't be told from zero, so a ratio to it may be anything")]
    Unbounded,
    /// The base is so uncertain that a ratio to it may be a hundred times as large, or as small.
    #[error("undefined: the base is too uncertain for a ratio to it")]
    NotEstimable,
    /// A percentage of samples was asked for that is not within 1 to 100.
    #[error("undefined: {0}% is not within 1% to 100% of the samples")]
    NoSuchPercent(u8),
    /// The definition is about a single look at the samples, and they were looked at until they showed something.
    #[error("undefined: they were looked at more than once")]
    Looks,
    /// The result doesn't fit into a 64-bit floating-point number.
    #[error("undefined: the result is too large for a 64-bit floating-point number")]
    TooLarge,
}

/// `value` if it is a finite number.
pub(crate) fn finite(value: f64) -> Result<f64, Undefined> {
    if value.is_finite() {
        Ok(value)
    } else {
        Err(Undefined::TooLarge)
    }
}
