//! Logs of studies: `log/ID.log` in the store's folder. Whoever measures writes them; a study's go with it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::StudyId;

/// The log of a study in the store in this folder.
pub fn log_path(store: &Path, study: StudyId) -> PathBuf {
    store.join("log").join(format!("{}.log", study.0))
}

/// What a log was named before it was begun anew because it had become too long.
pub fn earlier_log_path(log: &Path) -> PathBuf {
    log.with_extension("log.old")
}

/// Removes a study's logs. One that can't be removed takes a little room and harms nobody.
pub(super) fn remove_logs(store: &Path, study: StudyId) {
    let log = log_path(store, study);
    for file in [earlier_log_path(&log), log] {
        let _ = fs::remove_file(file);
    }
}
