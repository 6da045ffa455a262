//! What several hosts that play one role measured together: the samples of each, what they make of all, and how evenly they shared.

pub use backsight_stats::jain_index;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{HostName, MetricName};

/// What becomes of the samples of a role's instances: the trial's sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Across {
    /// Their sum: of throughputs.
    Sum,
    /// Their arithmetic mean.
    #[default]
    Mean,
    /// The least.
    Min,
    /// The largest: of latencies that all have to keep.
    Max,
}

impl Across {
    /// One of the instances' samples; there is at least one.
    pub fn of(self, samples: impl ExactSizeIterator<Item = f64>) -> f64 {
        let count = samples.len() as f64;
        match self {
            Self::Sum => samples.sum(),
            Self::Mean => samples.sum::<f64>() / count,
            Self::Min => samples.fold(f64::INFINITY, f64::min),
            Self::Max => samples.fold(f64::NEG_INFINITY, f64::max),
        }
    }
}

/// Samples of one metric in one trial on one of the hosts that play its role, in the metric's unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InstanceSamples {
    /// The host.
    pub host: HostName,
    /// Its samples: mostly one.
    pub values: Vec<f64>,
    /// Its interval samples within the trial, in order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub each: Vec<f64>,
}

/// What `combine` makes of the samples of all at the same place, as long as each has one there. None where it makes nothing of one.
pub fn across_instances(
    instances: &[&[f64]],
    combine: impl Fn(&[f64]) -> Option<f64>,
) -> Option<Vec<f64>> {
    let shortest = instances.iter().map(|samples| samples.len()).min();
    (0..shortest.unwrap_or(0))
        .map(|at| {
            let there: Vec<f64> = instances.iter().map(|samples| samples[at]).collect();
            combine(&there)
        })
        .collect()
}

/// The metric that says how evenly the hosts of a role share another one.
pub fn fairness_metric(metric: &MetricName) -> Option<MetricName> {
    MetricName::new(format!("{metric}.fairness")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_combined_place_by_place_as_long_as_all_have_one() {
        let combined = |across: Across| {
            across_instances(&[&[1.0, 2.0, 9.0], &[3.0, 5.0]], |all| {
                Some(across.of(all.iter().copied()))
            })
        };
        assert_eq!(combined(Across::Sum).unwrap(), [4.0, 7.0]);
        assert_eq!(combined(Across::Mean).unwrap(), [2.0, 3.5]);
        assert_eq!(combined(Across::Min).unwrap(), [1.0, 2.0]);
        assert_eq!(combined(Across::Max).unwrap(), [3.0, 5.0]);
        assert!(across_instances(&[], |_| Some(1.0)).unwrap().is_empty());
        assert_eq!(across_instances(&[&[0.0], &[0.0]], jain_index), None);
    }
}
