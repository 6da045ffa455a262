//! What stands on a machine for a study: it is compared with what is wanted next, so that only the difference is written.

use serde::{Deserialize, Serialize};

use crate::{
    mechanism::{HeldFiles, Mechanism, ProcessAttribute, WantedLimit},
    report::SettingReport,
    value::SettingValue,
    wanted::WantedSetting,
};

/// The settings that a study has on a machine. Files that are kept open for them are closed when this is dropped; the rest is put
/// back by [`crate::restore`].
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct StandingPreparation {
    pub(crate) study: String,
    pub(crate) settings: Vec<StandingSetting>,
}

/// One of them.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StandingSetting {
    pub(crate) wanted: WantedSetting,
    pub(crate) report: SettingReport,
    /// Its entries in the journal.
    pub(crate) ids: Vec<u64>,
    #[serde(skip)]
    pub(crate) held: HeldFiles,
}

impl StandingPreparation {
    /// That of a study that has made nothing yet.
    pub fn new(study: &str) -> Self {
        Self {
            study: study.to_owned(),
            settings: Vec::new(),
        }
    }

    /// The same without the files that are kept open.
    pub(crate) fn without_files(&self) -> Self {
        let settings = self.settings.iter().map(|it| StandingSetting {
            wanted: it.wanted.clone(),
            report: it.report.clone(),
            ids: it.ids.clone(),
            held: HeldFiles::default(),
        });
        Self {
            study: self.study.clone(),
            settings: settings.collect(),
        }
    }

    /// How many files are kept open for it.
    pub fn held_files(&self) -> usize {
        self.settings.iter().map(|it| it.held.len()).sum()
    }

    /// What stands of the settings that programs of trials are started with.
    pub fn of_processes(&self) -> impl Iterator<Item = (ProcessAttribute, &SettingValue)> {
        self.settings
            .iter()
            .filter_map(|it| match &it.wanted.mechanism {
                Mechanism::Process(mechanism) if it.report.outcome.is_so() => {
                    Some((mechanism.attribute, it.wanted.request.value.as_ref()?))
                }
                _ => None,
            })
    }

    /// What stands of the limits of the programs of trials.
    pub fn limits(&self) -> impl Iterator<Item = WantedLimit<'_>> {
        self.settings
            .iter()
            .filter_map(|it| match &it.wanted.mechanism {
                Mechanism::Limit(mechanism) if it.report.outcome.is_so() => Some(WantedLimit {
                    setting: &it.wanted.setting,
                    mechanism,
                    request: &it.wanted.request,
                }),
                _ => None,
            })
    }

    /// Whether this setting stands, or was tried and tolerated.
    pub(crate) fn has(&self, wanted: &WantedSetting) -> bool {
        self.settings.iter().any(|it| it.wanted.is_same(wanted))
    }

    /// What came of a setting when it was made.
    pub(crate) fn report_of(&self, wanted: &WantedSetting) -> Option<SettingReport> {
        let mut settings = self.settings.iter();
        let found = settings.find(|it| it.wanted.is_same(wanted));
        found.map(|it| it.report.clone())
    }

    /// Takes out what is wanted no longer, and what was changed on top of it: what stood before a change is put back only after
    /// the changes that came later.
    pub(crate) fn take_unwanted(&mut self, wanted: &[WantedSetting]) -> Vec<StandingSetting> {
        let mut leaving: Vec<StandingSetting> = Vec::new();
        loop {
            let leaves = |it: &mut StandingSetting| {
                !wanted.iter().any(|other| other.is_same(&it.wanted))
                    || leaving.iter().any(|below| it.is_above(below))
            };
            let more: Vec<StandingSetting> = self.settings.extract_if(.., leaves).collect();
            if more.is_empty() {
                return leaving;
            }
            leaving.extend(more);
        }
    }
}

impl StandingSetting {
    /// Whether it changed a target after the other one had.
    fn is_above(&self, other: &Self) -> bool {
        let is_later = self.ids.iter().max() > other.ids.iter().min();
        let targets =
            |it: &Self, target: &str| it.report.changes.iter().any(|c| c.target == target);
        let mut changes = self.report.changes.iter();
        is_later && !other.ids.is_empty() && changes.any(|change| targets(other, &change.target))
    }
}
