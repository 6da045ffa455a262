//! The settings that machines have while a study measures on them.

use backsight_model::HostName;
use backsight_settings::WantedSetting;
use indexmap::IndexMap;

/// The settings of machines while a study measures on them.
#[derive(Debug, Default)]
pub(crate) struct MachineSettings {
    /// The study's name; empty before it has prepared any.
    pub(crate) study: String,
    /// By the hosts that have some.
    pub(crate) wanted: IndexMap<HostName, Vec<WantedSetting>>,
}
