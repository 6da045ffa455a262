//! The settings and the named sets at hand: those that come with the program, and the user's own over them.
//!
//! A definition's name is its file's. A user's folder has settings in `NAME.toml` and sets in `sets/NAME.toml`.

use backsight_model::{
    DocumentError, Located, Preparation, TomlDocument, UnreadableFileError, did_you_mean,
};
use indexmap::IndexMap;
use serde::Deserialize;
use std::path::{Path, PathBuf};

use crate::definition::SettingDefinition;

/// Name and text of each setting that comes with the program.
const SETTINGS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/settings.rs"));
/// The same of sets.
const SETS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/sets.rs"));

/// What is wrong with definitions of settings.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum SettingCatalogError {
    /// A fault in a definition.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Problem(#[from] DocumentError),
    /// A file that can't be read.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Unreadable(#[from] UnreadableFileError),
    /// A folder that can't be read.
    #[error("can't read the folder of settings {}: {cause}", path.display())]
    #[diagnostic(help("name a folder that has NAME.toml files, one a setting"))]
    Folder {
        /// Which.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
}

/// A named set of settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingSet {
    /// Its name: `quiet`.
    pub name: String,
    /// What it is for.
    pub about: String,
    /// Its settings.
    pub preparation: Preparation,
    /// The file.
    pub document: TomlDocument,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SetFile {
    name: Located<String>,
    about: String,
    #[serde(default, rename = "use")]
    sets: Vec<Located<String>>,
    #[serde(default)]
    settings: Preparation,
}

impl SettingSet {
    /// Reads a set.
    ///
    /// # Errors
    /// It isn't one; the problem points at the place.
    pub fn read(document: &TomlDocument) -> Result<Self, DocumentError> {
        let file: SetFile = document.read()?;
        let sets = file
            .sets
            .into_iter()
            .map(backsight_model::PreparationPart::Set);
        let parts = sets.chain(file.settings.parts).collect();
        Ok(Self {
            name: file.name.into_inner(),
            about: file.about,
            preparation: Preparation { parts },
            document: document.clone(),
        })
    }
}

/// The settings and sets at hand, by name.
#[derive(Debug, Clone, Default)]
pub struct SettingCatalog {
    settings: IndexMap<String, SettingDefinition>,
    sets: IndexMap<String, SettingSet>,
}

fn definition_files(folder: &Path) -> Result<Vec<PathBuf>, SettingCatalogError> {
    let fault = |cause| SettingCatalogError::Folder {
        path: folder.to_owned(),
        cause,
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(fault)? {
        let file = entry.map_err(fault)?.path();
        let name = file.file_name().map(|name| name.as_encoded_bytes());
        let is_hidden = name.is_some_and(|name| name.starts_with(b"."));
        if !is_hidden && file.extension().is_some_and(|ending| ending == "toml") {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
}

/// The fault of a file whose name isn't the definition's.
fn misnamed(document: &TomlDocument, name: &str, file: &str) -> DocumentError {
    let at = document.text.find(name).unwrap_or_default();
    document.problem(
        at..at + name.len(),
        format!("this is called `{name}`, and its file `{file}.toml`"),
        "here",
        Some("give both the same name".into()),
    )
}

impl SettingCatalog {
    /// The settings and sets that come with the program, and over them those of these folders: the later folder wins.
    ///
    /// # Errors
    /// A folder or file can't be read, or a definition is at fault.
    pub fn load(folders: &[PathBuf]) -> Result<Self, SettingCatalogError> {
        let mut catalog = Self::default();
        for (name, text) in SETTINGS {
            catalog.put_setting(
                name,
                &TomlDocument::new(format!("settings: {name}.toml"), *text),
            )?;
        }
        for (name, text) in SETS {
            catalog.put_set(
                name,
                TomlDocument::new(format!("settings: sets/{name}.toml"), *text),
            )?;
        }
        for folder in folders {
            for file in definition_files(folder)? {
                let name = file.file_stem().unwrap_or_default().to_string_lossy();
                catalog.put_setting(&name, &TomlDocument::open(&file)?)?;
            }
            let sets = folder.join("sets");
            if sets.is_dir() {
                for file in definition_files(&sets)? {
                    let name = file.file_stem().unwrap_or_default().to_string_lossy();
                    catalog.put_set(&name, TomlDocument::open(&file)?)?;
                }
            }
        }
        catalog.settings.sort_unstable_keys();
        catalog.sets.sort_unstable_keys();
        catalog.check_conflicts()?;
        Ok(catalog)
    }

    fn put_setting(&mut self, file: &str, document: &TomlDocument) -> Result<(), DocumentError> {
        let definition = SettingDefinition::read(document)?;
        if definition.name != file {
            return Err(misnamed(document, &definition.name, file));
        }
        self.settings.insert(definition.name.clone(), definition);
        Ok(())
    }

    fn put_set(&mut self, file: &str, document: TomlDocument) -> Result<(), DocumentError> {
        let set = SettingSet::read(&document)?;
        if set.name != file {
            return Err(misnamed(&document, &set.name, file));
        }
        self.sets.insert(set.name.clone(), set);
        Ok(())
    }

    /// Checks that conflicts are with settings that exist.
    fn check_conflicts(&self) -> Result<(), DocumentError> {
        for definition in self.settings.values() {
            for conflict in &definition.conflicts {
                if !self.settings.contains_key(&*conflict.with) {
                    let near = did_you_mean(&conflict.with, self.names());
                    let message = format!("there is no setting `{}`", *conflict.with);
                    let name = format!("settings: {}.toml", definition.name);
                    let text = SETTINGS.iter().find(|(name, _)| *name == definition.name);
                    let document = TomlDocument::new(name, text.map_or("", |(_, text)| *text));
                    return Err(document.problem(conflict.with.span(), message, "here", near));
                }
            }
        }
        Ok(())
    }

    /// The names of all settings, in the order of the alphabet.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.settings.keys().map(String::as_str)
    }

    /// All settings, in the order of their names.
    pub fn settings(&self) -> impl Iterator<Item = &SettingDefinition> {
        self.settings.values()
    }

    /// The setting of this name.
    pub fn setting(&self, name: &str) -> Option<&SettingDefinition> {
        self.settings.get(name)
    }

    /// All sets, in the order of their names.
    pub fn sets(&self) -> impl Iterator<Item = &SettingSet> {
        self.sets.values()
    }

    /// The set of this name.
    pub fn set(&self, name: &str) -> Option<&SettingSet> {
        self.sets.get(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_that_comes_with_the_program_is_sound() {
        let catalog = SettingCatalog::load(&[]).unwrap();
        assert_eq!(catalog.names().count(), SETTINGS.len());
        for definition in catalog.settings() {
            let name = &definition.name;
            assert!(definition.about.len() > 60, "{name}: {}", definition.about);
            assert!(definition.about.ends_with('.'), "{name}");
            // A key of its table would be ambiguous.
            for key in definition.parameters.keys().chain([&definition.key]) {
                let below = format!("{name}.{key}");
                let other = catalog.names().find(|other| other.starts_with(&below));
                assert_eq!(other, None, "below {name}");
            }
        }
    }

    #[test]
    fn a_users_setting_lies_over_ours_and_a_wrong_name_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let own = "name = 'cpu.governor'\nabout = 'mine'\ntype = 'word'\n[[files]]\npath = '/x'\n";
        std::fs::write(folder.path().join("cpu.governor.toml"), own).unwrap();
        std::fs::create_dir(folder.path().join("sets")).unwrap();
        let set = "name = 'mine'\nabout = 'x'\nsettings.cpu.governor = 'x'\n";
        std::fs::write(folder.path().join("sets/mine.toml"), set).unwrap();
        let catalog = SettingCatalog::load(&[folder.path().into()]).unwrap();
        assert_eq!(catalog.setting("cpu.governor").unwrap().about, "mine");
        assert!(catalog.set("mine").is_some() && catalog.set("quiet").is_some());
        std::fs::write(folder.path().join("other.toml"), own).unwrap();
        let fault = SettingCatalog::load(&[folder.path().into()]).unwrap_err();
        assert!(
            fault.to_string().contains("its file `other.toml`"),
            "{fault}"
        );
        assert!(matches!(
            SettingCatalog::load(&["/nonexistent".into()]),
            Err(SettingCatalogError::Folder { .. })
        ));
    }
}
