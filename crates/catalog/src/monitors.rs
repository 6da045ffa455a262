//! Definitions of monitors: those that come with the program, and the user's own over them.
//!
//! A definition's name is its file's. It is read when somebody asks for it. A name that isn't the file's is an error.

use backsight_model::{Monitor, MonitorName, TomlDocument};
use indexmap::IndexMap;
use std::path::{Path, PathBuf};

use crate::definition_files::{CatalogError, definition_files};
use crate::monitor_samples;

/// Name and text of each monitor that comes with the program.
const BUILT_IN: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/monitors.rs"));

/// The monitors at hand, by name.
#[derive(Debug, Default)]
pub struct Monitors {
    entries: IndexMap<MonitorName, TomlDocument>,
}

impl Monitors {
    /// The monitors that come with the program, and over them those of these folders: the later folder wins. A
    /// definition is every `NAME.toml` right in a folder whose name doesn't start with a dot.
    ///
    /// # Errors
    /// A folder or a file that can't be read, or a file whose name can't be a monitor's.
    pub fn load(folders: &[PathBuf]) -> Result<Self, CatalogError> {
        let mut monitors = Self::default();
        for (name, text) in BUILT_IN {
            let document = TomlDocument::new(format!("catalogue: {name}.toml"), *text);
            monitors.put(Path::new(name), document)?;
        }
        for folder in folders {
            for file in definition_files(folder)? {
                let document = TomlDocument::open(&file)?;
                monitors.put(&file.with_extension(""), document)?;
            }
        }
        monitors.entries.sort_unstable_keys();
        Ok(monitors)
    }

    /// These definitions and no others, named as they say: those of a study that goes on.
    ///
    /// # Errors
    /// A definition that is at fault.
    pub fn from_documents(documents: Vec<TomlDocument>) -> Result<Self, CatalogError> {
        let mut entries = IndexMap::new();
        for document in documents {
            let name = Monitor::read(&document)?.name.into_inner();
            entries.insert(name, document);
        }
        Ok(Self { entries })
    }

    fn put(&mut self, stem: &Path, document: TomlDocument) -> Result<(), CatalogError> {
        let name = stem.file_name().and_then(|name| name.to_str());
        let name = name.and_then(|name| MonitorName::new(name).ok());
        let name = name.ok_or_else(|| CatalogError::FileName {
            path: document.name.clone().into(),
        })?;
        self.entries.insert(name, document);
        Ok(())
    }

    /// The names of all monitors, in the order of the alphabet.
    pub fn names(&self) -> Vec<MonitorName> {
        self.entries.keys().cloned().collect()
    }

    /// The document that defines this monitor, if there is one.
    pub fn document(&self, name: &MonitorName) -> Option<&TomlDocument> {
        self.entries.get(name)
    }

    /// The monitor of this name, if there is one.
    ///
    /// # Errors
    /// The definition is at fault.
    pub fn find(&self, name: &MonitorName) -> Result<Option<Monitor>, CatalogError> {
        let Some(document) = self.entries.get(name) else {
            return Ok(None);
        };
        let monitor = Monitor::read(document)?;
        if *monitor.name != *name {
            return Err(document
                .problem(
                    monitor.name.span(),
                    format!(
                        "this monitor is called `{}`, and its file `{name}.toml`",
                        monitor.name
                    ),
                    "here",
                    Some("give both the same name".into()),
                )
                .into());
        }
        monitor_samples::check(&monitor, document)?;
        Ok(Some(monitor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> MonitorName {
        MonitorName::new(text).unwrap()
    }

    #[test]
    fn every_monitor_that_comes_with_the_program_is_sound() {
        let monitors = Monitors::load(&[]).unwrap();
        assert!(monitors.names().len() >= 10);
        assert!(monitors.names().is_sorted());
        for name in monitors.names() {
            let monitor = monitors.find(&name).unwrap().unwrap();
            let run = monitor.run.as_ref();
            let ours = run.is_none_or(|run| run.source().starts_with("{backsight}"));
            assert_eq!(
                monitor.programs.is_empty(),
                ours,
                "{name} says what it needs"
            );
        }
    }

    #[test]
    fn a_users_monitor_lies_over_ours_and_a_wrong_name_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let own = "name = 'vmstat'\nabout = 'mine'\nrun = 'x'\n";
        std::fs::write(folder.path().join("vmstat.toml"), own).unwrap();
        std::fs::write(folder.path().join("other.toml"), own).unwrap();
        let monitors = Monitors::load(&[folder.path().into()]).unwrap();
        let found = monitors.find(&name("vmstat")).unwrap().unwrap();
        assert_eq!(found.about, "mine");
        let fault = monitors.find(&name("other")).unwrap_err().to_string();
        assert!(fault.contains("its file `other.toml`"), "{fault}");
        assert!(monitors.find(&name("nobody")).unwrap().is_none());
    }
}
