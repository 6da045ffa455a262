//! The files that differ between the versions on both sides of a change, as the target's history has them.

use backsight_model::{ChangedFile, StudyHistory, TargetName};
use backsight_report::explain::sort_changed_files;
use backsight_store::Store;

use super::changed_code::ChangeEnds;
use crate::OpenTarget;

/// A target's history, if it can be asked.
pub(super) struct FileHistory(Option<OpenTarget>);

impl FileHistory {
    /// Opens the history of a target; a note is added where that fails.
    pub(super) async fn open(store: &Store, target: &TargetName, notes: &mut Vec<String>) -> Self {
        match OpenTarget::from_store(store, target).await {
            Ok(opened) => Self(opened),
            Err(why) => {
                notes.push(unasked(&why));
                Self(None)
            }
        }
    }

    /// The files that differ between the last version before a change and the first one after it, the largest difference first;
    /// none where the history can't say. What goes wrong is a note that is added.
    pub(super) async fn changed_files(
        &self,
        history: &StudyHistory,
        ends: &ChangeEnds,
        notes: &mut Vec<String>,
    ) -> Vec<ChangedFile> {
        let Some(opened) = &self.0 else {
            return Vec::new();
        };
        let [before, after] = ends
            .nearest()
            .map(|version| history.versions[version].clone());
        let asked = opened.query(move |asked| asked.changed_files(&before, &after));
        match asked.await {
            Ok(files) => {
                let mut files = files.unwrap_or_default();
                sort_changed_files(&mut files);
                files
            }
            Err(why) => {
                notes.push(unasked(&why));
                Vec::new()
            }
        }
    }
}

fn unasked(why: &miette::Report) -> String {
    format!("the history can't be asked which files changed: {why}")
}
