//! The settings that machines have while a study measures on them.

use backsight_model::{HostName, PreparationPolicy, VariantName};
use backsight_settings::WantedSetting;
use indexmap::IndexMap;
use std::{
    collections::BTreeSet,
    hash::{BuildHasher as _, Hasher as _, RandomState},
    sync::{Mutex, PoisonError},
};

use crate::hosts::Connected;

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
#[derive(Default)]
pub(crate) struct MachineSettings {
    /// The study's name; empty before it has prepared any.
    pub(crate) study: String,
    /// Unlike that of any other conductor: agents on one machine, one after the other, say by it that they are ours.
    pub(crate) session: u64,
    /// What it asks for. Hosts that are one machine have theirs at the first of them.
    pub(crate) wanted: WantedSettings,
    /// What was warned of: once is enough.
    pub(crate) warned: Mutex<BTreeSet<String>>,
    /// Agents of hosts that play no role and have settings: of this machine where the testbed's hosts are only parts of it, and of
    /// machines between others, which forward.
    pub(crate) beside: IndexMap<HostName, Connected>,
    /// What was changed, for people, by host.
    changed: Mutex<IndexMap<HostName, Vec<String>>>,
}

impl WantedSettings {
    /// Whether the study asks a host for anything.
    pub(crate) fn has(&self, host: &HostName) -> bool {
        let mut variants = self.of_variants.values();
        self.of_study.contains_key(host) || variants.any(|by_host| by_host.contains_key(host))
    }

    /// The hosts that it asks for anything.
    pub(crate) fn hosts(&self) -> BTreeSet<&HostName> {
        let of_variants = self.of_variants.values().flat_map(IndexMap::keys);
        self.of_study.keys().chain(of_variants).collect()
    }

    /// The settings by host, of the study and of each variant.
    pub fn each_mut(
        &mut self,
    ) -> impl Iterator<Item = &mut IndexMap<HostName, Vec<WantedSetting>>> {
        std::iter::once(&mut self.of_study).chain(self.of_variants.values_mut())
    }
}

impl MachineSettings {
    /// Settings that are to be made for a study.
    pub(crate) fn new(study: &str, wanted: WantedSettings) -> Self {
        Self {
            study: study.to_owned(),
            session: RandomState::new().build_hasher().finish(),
            wanted,
            ..Self::default()
        }
    }

    /// Keeps what was changed on a host.
    pub(crate) fn keep_changed(&self, host: &HostName, changed: Vec<String>) {
        let mut all = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(host.clone(), changed);
    }

    /// What was changed on a host.
    pub(crate) fn changed(&self, host: &HostName) -> Vec<String> {
        let all = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(host).cloned().unwrap_or_default()
    }
}
