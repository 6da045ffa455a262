//! Culprit finding: which changes along an order of versions moved the mean of a metric, and by how much; and which version to
//! measure next.
//!
//! In: noisy measurements of a few versions, each made on one testbed. Out: a posterior over sets of steps, the next
//! measurement, and the sizes of the steps.
//!
//! The model: the mean is piecewise constant along the versions, with 0, 1 or more steps, up or down, that may cancel.
//! [`VersionMeans`] holds the measurements of one testbed; [`PooledVersionMeans`] combines several testbeds, each with an
//! unknown offset; [`Posterior`] is the posterior, [`Posterior::next`] chooses the next measurement, also while others run on
//! other testbeds; [`waterfall`] gives the sizes. The numbers of the model are in `parameters`.
//!
//! Where the versions around a step can't be measured, the answer is a stretch of versions, not one version. Steps that cancel
//! between two measured versions can't be excluded; [`Posterior::hidden_probability`] says how probable they are.

mod expected_information;
mod next_measurement;
mod parameters;
mod posterior;
mod segmentation;
mod testbed_offsets;
#[cfg(test)]
mod tests;
mod version_means;
mod waterfall;

pub use next_measurement::{MeasurementCosts, NextMeasurement};
pub use posterior::{ChangeLocation, Posterior};
pub use testbed_offsets::PooledVersionMeans;
pub use version_means::{VersionMean, VersionMeans};
pub use waterfall::{IntervalEstimate, Waterfall, waterfall};

/// What a bisection wants to know, and what it knows beforehand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BisectionGoal {
    /// Probability that the named steps, all together, are the right ones; within (0, 1).
    pub confidence: f64,
    /// A step is located well enough if it lies among at most this many versions; at least 1.
    pub resolution: usize,
    /// The smallest step that counts, in the metric's unit. If absent: [`tellable`](Self::tellable) σ, but at least 0.18 of the
    /// largest step and at most 0.4 of it or 0.3 σ, whichever is more.
    pub smallest: Option<f64>,
    /// Size of change, in the metric's unit, that matters: once larger ones are ruled out, a change that doesn't show by itself
    /// is no longer searched for. If absent, the search goes on as far as the noise allows.
    pub margin: Option<f64>,
    /// The smallest step that is worth its measurements, in σ, the standard deviation of one measurement.
    pub tellable: f64,
    /// Prior probability of several steps, given that there is one; within (0, 1).
    pub several: f64,
    /// Probability, before any measurement there, that changes which cancel remain in stretches without a measurement; the
    /// search goes on until it is this small.
    pub hidden: f64,
    /// Whether changes that cancel are searched for even where both ends look the same.
    pub cancelling: bool,
    /// Variance of a measurement and its degrees of freedom, if known before any version is measured twice.
    pub noise: Option<(f64, f64)>,
}

impl Default for BisectionGoal {
    fn default() -> Self {
        Self {
            confidence: 0.95,
            resolution: 1,
            smallest: None,
            margin: None,
            tellable: 1.0,
            several: 0.1,
            hidden: 0.08,
            cancelling: false,
            noise: None,
        }
    }
}
