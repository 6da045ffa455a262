//! What a standing job's studies are to answer, as it is kept with them.

use backsight_model::MetricName;
use backsight_store::WatchStudy;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// A version that is measured by the schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MeasureQuestion {
    /// The version's identity.
    pub version: String,
    /// Whether it is the whole plan, and not the sentinel alone.
    pub whole: bool,
}

/// A change that is looked for between two versions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct BisectQuestion {
    /// The cell, as it is shown.
    pub cell: String,
    /// The metric.
    pub metric: MetricName,
    /// The identity of a version before it.
    pub good: String,
    /// That of a version behind it.
    pub bad: String,
    /// The level before, in the metric's unit.
    pub level: f64,
    /// The size that is suspected, in the metric's unit.
    pub size: f64,
    /// The p-value of the suspicion.
    pub p: f64,
}

/// A version that is measured beside another: the one before it; or, of a revert, itself without a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PairQuestion {
    /// The cell, as it is shown.
    pub cell: String,
    /// The metric.
    pub metric: MetricName,
    /// The identity of the version that made the change.
    pub version: String,
}

/// The question of a study; none where another program wrote it.
pub(crate) fn question_of<T: DeserializeOwned>(study: &WatchStudy) -> Option<T> {
    serde_json::from_str(&study.question).ok()
}
