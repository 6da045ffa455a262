//! `store.toml` in a store's folder: read, and changed a line at a time, so that what somebody wrote beside stays.

use backsight_model::{STORE_SETTINGS_FILE, StoreSettings, TomlDocument};
use std::{
    fs::{self, File},
    io::{self, Write as _},
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use crate::StoreError;

/// The settings file of a store.
#[derive(Debug, Clone)]
pub(crate) struct SettingsFile(PathBuf);

/// What tells one content of the file from the next, without reading it; none while there is no file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileStamp(Option<(u64, u64, i64, i64)>);

impl SettingsFile {
    pub(crate) fn new(store: &Path) -> Self {
        Self(store.join(STORE_SETTINGS_FILE))
    }

    pub(crate) fn stamp(&self) -> FileStamp {
        let stamp = fs::metadata(&self.0)
            .map(|file| (file.ino(), file.size(), file.mtime(), file.mtime_nsec()));
        FileStamp(stamp.ok())
    }

    /// What it says; the defaults where there is no file.
    pub(crate) fn read(&self) -> Result<StoreSettings, StoreError> {
        let text = match fs::read_to_string(&self.0) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(StoreSettings::default());
            }
            Err(error) => return Err(StoreError::file("read", &self.0, error)),
        };
        let document = TomlDocument::new(self.0.display().to_string(), text);
        StoreSettings::read(&document).map_err(|error| {
            let (line, column) = error.place();
            StoreError::Settings {
                path: self.0.clone(),
                detail: format!("line {line}, column {column}: {error}"),
            }
        })
    }

    /// Says these keys, or says nothing of them any more. It is on disk when it returns.
    pub(crate) fn change(&self, keys: &[(&str, Option<String>)]) -> Result<(), StoreError> {
        let fault = |e| StoreError::file("write", &self.0, e);
        let text = match fs::read_to_string(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(fault(error)),
            text => text.unwrap_or_default(),
        };
        let folder = self.0.parent().unwrap_or(Path::new("."));
        let mut file = tempfile::Builder::new()
            .prefix(".store.toml-")
            .permissions(fs::Permissions::from_mode(0o644))
            .tempfile_in(folder)
            .map_err(fault)?;
        file.write_all(changed(&text, keys).as_bytes())
            .map_err(fault)?;
        file.as_file().sync_all().map_err(fault)?;
        file.persist(&self.0).map_err(|e| fault(e.error))?;
        let synced = File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(fault)
    }
}

/// The text with other values of these keys.
fn changed(text: &str, keys: &[(&str, Option<String>)]) -> String {
    let key_of = |line: &str| line.split_once('=').map(|(key, _)| key.trim().to_owned());
    let is_changed = |line: &&str| {
        let key = key_of(line);
        !keys.iter().any(|(name, _)| key.as_deref() == Some(*name))
    };
    let said = keys.iter().filter_map(|(name, value)| {
        let value = value.as_ref()?;
        Some(format!("{name} = \"{value}\""))
    });
    let stays = text.lines().filter(is_changed).map(str::to_owned);
    said.chain(stays).map(|line| line + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_change_and_what_stands_beside_them_stays() {
        let text = "# ours\nraw = \"folder\"\ncache = \"1GiB\" # small\n";
        let keys = [
            ("raw", Some("s3://x".to_owned())),
            ("leaving", Some("folder".to_owned())),
        ];
        let there = changed(text, &keys);
        assert_eq!(
            there,
            "raw = \"s3://x\"\nleaving = \"folder\"\n# ours\ncache = \"1GiB\" # small\n"
        );
        let back = changed(&there, &[("leaving", None), ("raw", None)]);
        assert_eq!(back, "# ours\ncache = \"1GiB\" # small\n");
    }

    #[test]
    fn a_file_is_made_read_and_stamped() {
        let folder = tempfile::tempdir().unwrap();
        let file = SettingsFile::new(folder.path());
        let before = file.stamp();
        assert_eq!(file.read().unwrap(), StoreSettings::default());
        file.change(&[("raw", Some("s3://x/y".to_owned()))])
            .unwrap();
        assert_ne!(file.stamp(), before);
        assert_eq!(file.read().unwrap().raw.to_string(), "s3://x/y");
        fs::write(folder.path().join(STORE_SETTINGS_FILE), "\nraw = 1\n").unwrap();
        let error = file.read().unwrap_err().to_string();
        assert!(
            error.contains("store.toml") && error.contains("line 2, column 7"),
            "{error}"
        );
    }
}
