//! Means of several values: the arithmetic one for durations, the harmonic one for rates; the latter needs positive values.

use serde::Serialize;

use crate::{Samples, Undefined};

/// A mean by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum Mean {
    /// Σx/n, the mean of durations and of whatever may be zero.
    #[default]
    Arithmetic,
    /// n/Σ(1/x), the mean of rates.
    Harmonic,
}

impl Mean {
    /// Its name in tables: `Amean` or `Hmean`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Mean::Arithmetic => "Amean",
            Mean::Harmonic => "Hmean",
        }
    }

    /// This mean of the samples.
    ///
    /// # Errors
    /// [`Undefined::NotPositive`] for the harmonic mean if a sample is zero or negative.
    pub fn compute(self, samples: &Samples) -> Result<f64, Undefined> {
        match self {
            Mean::Arithmetic => Ok(samples.amean()),
            Mean::Harmonic => samples.hmean(),
        }
    }
}
