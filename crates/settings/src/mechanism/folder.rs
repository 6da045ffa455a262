//! Settings that are a folder in which the kernel makes files: a partition of processors in /sys/fs/cgroup, a group in
//! /sys/fs/resctrl. To remove the folder undoes all of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{fs, io};

use super::{ChangeState, FileChange, FileFormat, FileReading, SettingChange, SettingObstacle};
use crate::{machine_root::MachineRoot, placeholder, request::SettingRequest};

/// `[folder]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FolderMechanism {
    /// The folder that is made.
    pub path: String,
    /// A file that must be there for the machine to have the setting.
    pub needs: String,
    /// A file of words, one of which must be in it for the folder to have its files: `["/sys/fs/cgroup/cgroup.subtree_control", "cpuset"]`.
    #[serde(default)]
    pub member: Option<(String, String)>,
    /// What is written into its files, in this order.
    pub files: Vec<FolderFile>,
}

/// A file of the folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FolderFile {
    /// Its name.
    pub name: String,
    /// The text, with placeholders.
    pub text: String,
    /// Whether the kernel shows another text than was written, so that reading it again says nothing.
    #[serde(default)]
    pub rewritten: bool,
}

/// A folder that is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderChange {
    /// The folder.
    pub path: String,
    /// Its files, with their texts filled.
    pub files: Vec<FolderFile>,
}

impl FolderMechanism {
    pub(super) fn templates(&self) -> Vec<&str> {
        let texts = self.files.iter().map(|file| file.text.as_str());
        texts.chain([self.path.as_str()]).collect()
    }

    pub(super) fn plan(
        &self,
        machine: &MachineRoot,
        request: &SettingRequest,
    ) -> Result<Vec<SettingChange>, SettingObstacle> {
        if !machine.path(&self.needs).exists() {
            return Err(SettingObstacle::Missing(format!(
                "this machine hasn't {}",
                self.needs
            )));
        }
        let fill = |text: &str| {
            placeholder::fill(text, &|name| request.lookup(name)).map_err(SettingObstacle::Refused)
        };
        let path = fill(&self.path)?;
        if machine.path(&path).exists() {
            return Err(SettingObstacle::Refused(format!(
                "{path} is there already: somebody else made it; `rmdir {path}` removes it"
            )));
        }
        let mut changes = Vec::new();
        if let Some((list, word)) = &self.member {
            let read = machine.read(list);
            let raw = read.map_err(|error| {
                SettingObstacle::Missing(format!("{list} can't be read: {error}"))
            })?;
            if !raw.split_whitespace().any(|found| found == word) {
                changes.push(SettingChange::File(FileChange {
                    path: list.clone(),
                    reading: FileReading::Member,
                    format: FileFormat::Text,
                    old: format!("-{word}"),
                    new: Some(format!("+{word}")),
                    partial: false,
                    once: false,
                }));
            }
        }
        let mut files = Vec::new();
        for file in &self.files {
            files.push(FolderFile {
                name: file.name.clone(),
                text: fill(&file.text)?,
                rewritten: file.rewritten,
            });
        }
        changes.push(SettingChange::Folder(FolderChange { path, files }));
        Ok(changes)
    }
}

impl FolderChange {
    pub(super) fn make(&self, machine: &MachineRoot) -> Result<(), String> {
        let path = machine.path(&self.path);
        fs::create_dir(&path).map_err(|error| format!("{} can't be made: {error}", self.path))?;
        for file in &self.files {
            let written = fs::write(path.join(&file.name), &file.text);
            written.map_err(|error| {
                let (name, text) = (&file.name, &file.text);
                format!("`{text}` can't be written to {}/{name}: {error}", self.path)
            })?;
        }
        Ok(())
    }

    pub(super) fn state(&self, machine: &MachineRoot) -> ChangeState {
        if !machine.path(&self.path).exists() {
            return ChangeState::Old;
        }
        for file in self.files.iter().filter(|file| !file.rewritten) {
            let path = format!("{}/{}", self.path, file.name);
            match machine.read(&path) {
                Ok(now) if now.split_whitespace().eq(file.text.split_whitespace()) => {}
                Ok(now) => return ChangeState::Other(format!("{path}: {}", now.trim())),
                Err(error) => return ChangeState::Other(format!("{path}: {error}")),
            }
        }
        ChangeState::New
    }

    pub(super) fn undo(&self, machine: &MachineRoot) -> Result<(), String> {
        let path = machine.path(&self.path);
        for file in &self.files {
            // The kernel's own files go with the folder and refuse this.
            let _removed_or_the_kernels = fs::remove_file(path.join(&file.name));
        }
        match fs::remove_dir(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(format!(
                "{} can't be removed: {error}; end the processes in it",
                self.path
            )),
            _ => Ok(()),
        }
    }
}
