//! The settings that machines have while a study measures on them.

use backsight_model::{HostName, PreparationPolicy, VariantName};
use backsight_settings::WantedSetting;
use indexmap::IndexMap;
use std::{collections::BTreeSet, sync::Mutex};

/// What a study asks of the settings of machines.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WantedSettings {
    /// Of the whole study, by host.
    pub of_study: IndexMap<HostName, Vec<WantedSetting>>,
    /// Everything that is wanted in the trials of a variant, by host; of all variants, where one asks for more than the study does.
    pub of_variants: IndexMap<VariantName, IndexMap<HostName, Vec<WantedSetting>>>,
    /// What happens where a setting can't be made.
    pub policy: PreparationPolicy,
}

/// The settings of machines while a study measures on them.
#[derive(Debug, Default)]
pub(crate) struct MachineSettings {
    /// The study's name; empty before it has prepared any.
    pub(crate) study: String,
    /// What it asks for.
    pub(crate) wanted: WantedSettings,
    /// What was warned of: once is enough.
    pub(crate) warned: Mutex<BTreeSet<String>>,
}

impl WantedSettings {
    /// Whether the study asks a host for anything.
    pub(crate) fn has(&self, host: &HostName) -> bool {
        let mut variants = self.of_variants.values();
        self.of_study.contains_key(host) || variants.any(|by_host| by_host.contains_key(host))
    }
}
