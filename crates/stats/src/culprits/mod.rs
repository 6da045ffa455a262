//! Which change did it? Beliefs about where along an order of versions the mean changed, how often and by how much,
//! from noisy measurements of a few of the versions; and which version to measure next to learn most for what it costs.
//!
//! The mean is taken to be piecewise constant: 0, 1 or more steps, up or down, that may cancel. A [`VersionMeans`] holds what was
//! measured on one testbed, [`PooledVersionMeans`] makes those of several comparable, [`Posterior`] is the posterior, [`Posterior::next`] the
//! choice, also while something is being measured on other testbeds, [`waterfall`] the sizes of the steps that it settled
//! on.
//!
//! Refuses: to name a single version where those beside it can't be measured (the answer is a stretch of versions
//! then), and to say that nothing cancels within a stretch of which nothing was measured (how likely that is is said
//! instead: [`Posterior::hidden`]).

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

/// When enough is known, and what counts as a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BisectionGoal {
    /// How probable the named steps must be, all of them together; within (0, 1).
    pub confidence: f64,
    /// A step needs no closer look once its stretch has no more than this many versions; at least 1.
    pub resolution: usize,
    /// Smaller steps than this don't count, in the metric's unit. Unless given, 0.18 of the largest, but at least
    /// [`tellable`](Self::tellable) standard deviations of the noise (at most two fifths of the largest, or 0.3 standard
    /// deviations), because smaller ones cost too much to tell.
    pub smallest: Option<f64>,
    /// A change that doesn't show by itself isn't looked for any longer once every change of this size is ruled out, in the
    /// metric's unit. None: such changes are looked for as long as the noise lets see them.
    pub margin: Option<f64>,
    /// How many standard deviations of a measurement a step must have to be worth what it costs to tell it.
    pub tellable: f64,
    /// How probable it is, before anything is measured, that there are several steps and not one; within (0, 1).
    pub several: f64,
    /// How probable changes may remain, before anything is measured there, that cancel within stretches that weren't
    /// looked into.
    pub hidden: f64,
    /// Whether changes are looked for that cancel within stretches that look the same at both ends.
    pub cancelling: bool,
    /// The variance of a measurement, and how many degrees of freedom that is worth, where it is known before versions were
    /// measured twice.
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
