//! The settings and the named sets at hand: those that come with the program, and the user's own over them.
//!
//! A definition's name is its file's. A user's folder has settings in `NAME.toml` and sets in `sets/NAME.toml`.

use backsight_model::{
    DocumentError, Located, Preparation, TomlDocument, UnreadableFileError, did_you_mean,
};
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, de::IgnoredAny};
use std::{
    path::{Path, PathBuf},
    sync::OnceLock,
};

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

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SetFile {
    /// Its name, which is its file's.
    name: Located<String>,
    /// What it is for.
    about: String,
    /// Other sets that it begins with.
    #[serde(default, rename = "use")]
    sets: Vec<Located<String>>,
    /// Its settings.
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

/// The definitions in these folders, as they are: settings in `NAME.toml`, sets in `sets/NAME.toml`.
///
/// # Errors
/// A folder or file can't be read.
pub fn setting_documents(folders: &[PathBuf]) -> Result<Vec<TomlDocument>, SettingCatalogError> {
    let mut documents = Vec::new();
    for folder in folders {
        let sets = folder.join("sets");
        let sets = Some(sets).filter(|sets| sets.is_dir());
        for folder in [Some(folder.clone()), sets].into_iter().flatten() {
            for file in definition_files(&folder)? {
                documents.push(TomlDocument::open(&file)?);
            }
        }
    }
    Ok(documents)
}

impl SettingCatalog {
    /// The settings and sets that come with the program, and over them those of these folders: the later folder wins.
    ///
    /// # Errors
    /// A folder or file can't be read, or a definition is at fault.
    pub fn load(folders: &[PathBuf]) -> Result<Self, SettingCatalogError> {
        Self::with_documents(&setting_documents(folders)?)
    }

    /// The settings and sets that come with the program, and over them these definitions, each named as its file.
    ///
    /// # Errors
    /// A definition is at fault.
    pub fn with_documents(documents: &[TomlDocument]) -> Result<Self, SettingCatalogError> {
        // Those of the program are read once.
        static OURS: OnceLock<SettingCatalog> = OnceLock::new();
        let mut catalog = match OURS.get() {
            Some(ours) => ours.clone(),
            None => {
                let ours = Self::of_program()?;
                OURS.get_or_init(|| ours).clone()
            }
        };
        for document in documents {
            catalog.put(document)?;
        }
        catalog.settings.sort_unstable_keys();
        catalog.sets.sort_unstable_keys();
        catalog.check_conflicts(documents)?;
        Ok(catalog)
    }

    fn of_program() -> Result<Self, SettingCatalogError> {
        let mut catalog = Self::default();
        for (name, text) in SETTINGS {
            let document = TomlDocument::new(format!("settings: {name}.toml"), *text);
            catalog.put_setting(name, &document)?;
        }
        for (name, text) in SETS {
            let document = TomlDocument::new(format!("settings: sets/{name}.toml"), *text);
            catalog.put_set(name, document)?;
        }
        Ok(catalog)
    }

    /// A setting, or a set: that has no values of its own, so no type.
    fn put(&mut self, document: &TomlDocument) -> Result<(), DocumentError> {
        #[derive(Deserialize)]
        struct Kind {
            #[serde(rename = "type")]
            value_type: Option<IgnoredAny>,
        }
        let file = Path::new(&document.name).file_stem().unwrap_or_default();
        let file = file.to_string_lossy();
        match document.read::<Kind>()?.value_type {
            Some(_) => self.put_setting(&file, document),
            None => self.put_set(&file, document.clone()),
        }
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
    fn check_conflicts(&self, documents: &[TomlDocument]) -> Result<(), DocumentError> {
        for definition in self.settings.values() {
            for conflict in &definition.conflicts {
                if !self.settings.contains_key(&*conflict.with) {
                    let near = did_you_mean(&conflict.with, self.names());
                    let message = format!("there is no setting `{}`", *conflict.with);
                    let document = self.document_of(&definition.name, documents);
                    return Err(document.problem(conflict.with.span(), message, "here", near));
                }
            }
        }
        Ok(())
    }

    /// The document that defines a setting: the last of these, else the program's.
    fn document_of(&self, name: &str, documents: &[TomlDocument]) -> TomlDocument {
        let is_it = |document: &&TomlDocument| {
            Path::new(&document.name)
                .file_stem()
                .is_some_and(|stem| stem == name)
        };
        let own = documents.iter().rev().find(is_it).cloned();
        own.unwrap_or_else(|| {
            let text = SETTINGS.iter().find(|(known, _)| *known == name);
            let text = text.map_or("", |(_, text)| *text);
            TomlDocument::new(format!("settings: {name}.toml"), text)
        })
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

    /// A row for each setting and each set: its name, its values, what it needs, what it is about.
    pub fn rows(&self) -> impl Iterator<Item = [String; 4]> {
        let of_settings = self.settings().map(|it| {
            let (values, needs) = (it.value_type.to_string(), it.needs().to_owned());
            [it.name.clone(), values, needs, it.about.clone()]
        });
        let of_sets = self.sets().map(|it| {
            let kind = "a set of settings".to_owned();
            [it.name.clone(), kind, String::new(), it.about.clone()]
        });
        of_settings.chain(of_sets)
    }

    /// The page of a setting or of a set.
    ///
    /// # Errors
    /// There is none of this name; a way out.
    pub fn page(&self, name: &str) -> Result<String, String> {
        let of_setting = self.setting(name).map(SettingDefinition::page);
        let page = of_setting.or_else(|| self.set(name).map(SettingSet::page));
        page.ok_or_else(|| {
            let known = self.names().chain(self.sets.keys().map(String::as_str));
            let list = || "`backsight list settings` shows what there is".to_owned();
            did_you_mean(name, known).unwrap_or_else(list)
        })
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
