//! What makers of study pages say of stored result sets beside each other.

use backsight_model::HostRecordMap;
use backsight_policy::Comparison;
use backsight_report::{comparison::ComparedBackground, profile::ProfileReport};

/// What stored result sets came to beside each other.
pub struct ComparedSets {
    /// Their comparison.
    pub comparison: Comparison,
    /// What is known of the studies beside their metrics.
    pub background: ComparedBackground,
    /// What the hosts of each were, those of other testbeds under the names of the hosts that they stand beside.
    pub records: Vec<HostRecordMap>,
    /// How the profiles of two of them differ, by cell; only where monitors are asked for too.
    pub profiles: Vec<(String, ProfileReport)>,
}
