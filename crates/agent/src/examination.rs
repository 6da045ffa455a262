//! What a host is asked about itself, what it answers, and how its self-test is given up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use backsight_model::{MachineObservation, SelfTest};
use backsight_settings::{PreparationReport, WantedSetting};
use serde::{Deserialize, Serialize};

/// What a host is asked of itself.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ExaminationOrder {
    /// How long its self-test takes, in seconds; none: without one.
    pub self_test: Option<f64>,
    /// Settings that are looked at, and not made.
    pub settings: Vec<WantedSetting>,
}

/// What a host found out about itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Examination {
    /// What was measured.
    pub self_test: Option<SelfTest>,
    /// How the settings stand.
    pub settings: PreparationReport,
    /// What else may disturb a measurement.
    pub observations: Vec<MachineObservation>,
}

/// Ends a self-test: set when nobody waits for it any more.
#[derive(Debug, Clone, Default)]
pub(crate) struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Stops a self-test when it is dropped: with the call that asked for it.
pub(crate) struct StopWhenDropped(pub(crate) StopFlag);

impl Drop for StopWhenDropped {
    fn drop(&mut self) {
        self.0.set();
    }
}
