//! What an import was asked for, as its study keeps it, and what all studies of imports have in common.

use backsight_exchange::import::{ImportChoice, ImportChoices, Importer, MeasuredLevel};
use backsight_model::{BenchmarkName, ResultFormat, StudyName};
use backsight_store::NewStudy;
use indexmap::IndexMap;
use miette::{IntoDiagnostic as _, WrapErr as _};
use serde::{Deserialize, Serialize};
use std::{
    path::{Path, PathBuf},
    str::FromStr,
};

/// The verb's name in the store.
pub const IMPORT_VERB: &str = "import";
/// The role that the files stand under.
pub(crate) const ROLE: &str = "import";

/// What was asked for, as the study keeps it: enough to read the files again.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ImportArguments {
    pub format: String,
    /// The folder that the files' paths begin in.
    #[serde(default)]
    pub folder: PathBuf,
    /// As they were named.
    pub files: Vec<PathBuf>,
    #[serde(default)]
    better: Vec<String>,
    #[serde(default)]
    unit: Vec<String>,
    #[serde(default)]
    without: Vec<String>,
    #[serde(default)]
    values: Vec<String>,
    #[serde(default)]
    params: Vec<String>,
    /// What each number was taken for. Earlier versions took each for a run.
    #[serde(default = "each_a_run")]
    level: String,
    #[serde(default)]
    sessions: bool,
    /// The suite whose results of tests they are; none where they are numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<BenchmarkName>,
}

fn each_a_run() -> String {
    MeasuredLevel::Run.as_str().to_owned()
}

impl ImportArguments {
    pub(crate) fn of_numbers(
        importer: &Importer,
        files: &[PathBuf],
        choices: &ImportChoices,
    ) -> Self {
        let level = choices.level.unwrap_or(importer.format.level);
        Self::new(&importer.format.name, files, choices, level)
    }

    pub(crate) fn of_tests(format: ResultFormat, files: &[PathBuf], suite: BenchmarkName) -> Self {
        let choices = ImportChoices::default();
        Self {
            suite: Some(suite),
            ..Self::new(format.name(), files, &choices, MeasuredLevel::Run)
        }
    }

    fn new(format: &str, files: &[PathBuf], choices: &ImportChoices, level: MeasuredLevel) -> Self {
        Self {
            format: format.to_owned(),
            folder: std::env::current_dir().unwrap_or_default(),
            files: files.to_vec(),
            better: choices.better.iter().map(ToString::to_string).collect(),
            unit: choices.unit.iter().map(ToString::to_string).collect(),
            without: choices.without.clone(),
            values: choices.values.clone(),
            params: choices.params.clone(),
            level: level.as_str().to_owned(),
            sessions: choices.sessions,
            suite: None,
        }
    }

    /// Out of what a study keeps.
    pub(crate) fn read(kept: &str) -> miette::Result<Self> {
        serde_json::from_str(kept)
            .into_diagnostic()
            .wrap_err("what was asked for isn't known any more")
    }

    /// What was said about the numbers.
    pub(crate) fn choices(&self) -> miette::Result<ImportChoices> {
        let unknown =
            |why: String| miette::miette!("what was asked for isn't known any more: {why}");
        Ok(ImportChoices {
            better: parsed(&self.better).map_err(unknown)?,
            unit: parsed(&self.unit).map_err(unknown)?,
            without: self.without.clone(),
            values: self.values.clone(),
            params: self.params.clone(),
            level: Some(self.level.parse().map_err(unknown)?),
            sessions: self.sessions,
        })
    }
}

fn parsed<T: FromStr>(choices: &[String]) -> Result<Vec<ImportChoice<T>>, String>
where
    T::Err: ToString,
{
    let choices = choices.iter().map(|text| text.parse());
    choices
        .collect::<Result<_, _>>()
        .map_err(|why: T::Err| why.to_string())
}

/// The command that a file stands under in its study.
pub(crate) fn file_command(format: &str, file: &Path) -> String {
    format!("backsight import {format} {}", file.display())
}

/// A study of this verb, without cells.
pub(crate) fn new_import(name: StudyName, arguments: &ImportArguments) -> miette::Result<NewStudy> {
    Ok(NewStudy {
        name,
        verb: IMPORT_VERB.to_owned(),
        documents: Vec::new(),
        arguments: serde_json::to_string(arguments).into_diagnostic()?,
        seed: 0,
        cells: Vec::new(),
        metrics: IndexMap::new(),
        questions: Vec::new(),
        target: None,
    })
}
