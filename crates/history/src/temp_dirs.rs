//! Folders for what is fetched or unpacked and not wanted afterwards.
//!
//! They go when they are dropped; those of a process that was killed go when the next one is made.

use crate::HistoryError;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

const PREFIX: &str = "fresh-";

/// An empty folder under `work`, which is made if it isn't there.
pub(crate) fn temp_dir(work: &Path) -> Result<TempDir, HistoryError> {
    let fault = |error: std::io::Error| HistoryError::Other(format!("{}: {error}", work.display()));
    fs::create_dir_all(work).map_err(fault)?;
    sweep(work);
    let prefix = format!("{PREFIX}{}-", std::process::id());
    let made = tempfile::Builder::new().prefix(&prefix).tempdir_in(work);
    made.map_err(fault)
}

/// Removes what dead processes left; what can't be removed is in nobody's way.
fn sweep(work: &Path) {
    for entry in fs::read_dir(work).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let maker = name
            .to_str()
            .and_then(|name| name.strip_prefix(PREFIX)?.split_once('-'))
            .and_then(|(maker, _)| maker.parse::<u32>().ok());
        if maker.is_some_and(|maker| !Path::new("/proc").join(maker.to_string()).exists()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_dead_process_left_goes_and_all_else_stays() {
        let room = tempfile::tempdir().unwrap();
        let living = temp_dir(room.path()).unwrap();
        // No process has a number so large.
        for name in ["fresh-4294967295-x", "fresh-x", "other"] {
            fs::create_dir_all(room.path().join(name).join("full")).unwrap();
        }
        let _new = temp_dir(room.path()).unwrap();
        assert!(living.path().exists());
        assert!(!room.path().join("fresh-4294967295-x").exists());
        assert!(room.path().join("fresh-x").exists() && room.path().join("other").exists());
    }
}
