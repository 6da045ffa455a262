//! Studies out of files that other tools wrote: read first, then kept whole or not at all.

use backsight_exchange::import::{
    ImportChoice, ImportChoices, ImportFormat, ImportedStudy, Importer, MeasuredLevel, import,
};
use backsight_model::{BenchmarkName, CellMetric, Failure, StudyName, counted, did_you_mean};
use backsight_store::{FinishedFile, FinishedStudy, FinishedTrial, NewStudy, Store, StudyDocument};
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
const ROLE: &str = "import";

/// What was asked for, as the study keeps it: enough to read the files again.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ImportArguments {
    format: String,
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
}

fn each_a_run() -> String {
    MeasuredLevel::Run.as_str().to_owned()
}

impl ImportArguments {
    fn new(importer: &Importer, files: &[PathBuf], choices: &ImportChoices) -> Self {
        Self {
            format: importer.format.name.clone(),
            folder: std::env::current_dir().unwrap_or_default(),
            files: files.to_vec(),
            better: choices.better.iter().map(ToString::to_string).collect(),
            unit: choices.unit.iter().map(ToString::to_string).collect(),
            without: choices.without.clone(),
            values: choices.values.clone(),
            params: choices.params.clone(),
            level: choices
                .level
                .unwrap_or(importer.format.level)
                .as_str()
                .to_owned(),
            sessions: choices.sessions,
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
pub(crate) fn file_command(importer: &Importer, file: &Path) -> String {
    format!(
        "backsight import {} {}",
        importer.format.name,
        file.display()
    )
}

/// Files that were read and can be kept as a study.
pub struct ReadImport {
    study: FinishedStudy,
}

impl ReadImport {
    /// Reads files in a format; without a name the study is called as the first file. No store is needed: what can't be
    /// imported leaves nothing.
    ///
    /// # Errors
    /// There is no such format, or the files aren't what it reads.
    pub fn read(
        format: &str,
        files: &[PathBuf],
        name: Option<StudyName>,
        choices: &ImportChoices,
    ) -> miette::Result<Self> {
        let importer = find_importer(format)?;
        let name = match (name, files.first()) {
            (Some(name), _) => name,
            (None, first) => name_from_file(first.map_or(Path::new(""), PathBuf::as_path))?,
        };
        let imported = import(&importer, files, choices)?;
        let arguments = ImportArguments::new(&importer, files, choices);
        let study = finished_study(&importer, name, &arguments, imported)?;
        Ok(Self { study })
    }

    /// Saves the study, whole.
    ///
    /// # Errors
    /// There is a study of that name, or the store's own.
    pub async fn save(&self, store: &Store) -> miette::Result<()> {
        let name = self.name();
        if let Ok(taken) = store.study(name.as_str()).await
            && taken.name == *name
        {
            return Err(miette::miette!(
                help = format!(
                    "call it something else (`--as NAME`), or remove that one (`backsight delete {name}`)"
                ),
                "there is a study `{name}` already"
            ));
        }
        let kept = store.add_finished_study(&self.study).await;
        kept.into_diagnostic().map(|_| ())
    }

    /// What the study is called.
    pub fn name(&self) -> &StudyName {
        &self.study.new.name
    }

    /// What a reader of its numbers should know.
    pub fn notes(&self) -> &[String] {
        &self.study.warnings
    }

    /// Whether any trial gave samples.
    pub fn has_samples(&self) -> bool {
        self.study.trials.iter().any(|trial| trial.outcome.is_ok())
    }

    /// How much it is: `5 trials of 2 cells`.
    pub fn size(&self) -> String {
        let (trials, cells) = (&self.study.trials, self.study.new.cells.len());
        let failed = trials.iter().filter(|trial| trial.outcome.is_err()).count();
        let trials = counted(trials.len(), "trial");
        let failed = match failed {
            0 => String::new(),
            failed => format!(", {failed} of them failed,"),
        };
        format!("{trials} of {}{failed}", counted(cells, "cell"))
    }
}

fn find_importer(format: &str) -> miette::Result<Importer> {
    if let Some(importer) = Importer::find(format)? {
        return Ok(importer);
    }
    let known = ImportFormat::all()?;
    let names = known
        .iter()
        .flat_map(|known| known.also.iter().chain([&known.name]));
    let near = did_you_mean(format, names.map(String::as_str));
    let help = near.unwrap_or_else(|| "`backsight list importers` shows what there is".into());
    Err(miette::miette!(
        help = help,
        "`{format}` is no format that can be imported"
    ))
}

/// A study's name out of a file's.
fn name_from_file(file: &Path) -> miette::Result<StudyName> {
    let whole = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    let stem = whole.file_stem().unwrap_or_default().to_string_lossy();
    // All digits would be taken for a study's number.
    let legal = stem.bytes().any(|byte| !byte.is_ascii_digit());
    let name = StudyName::new(stem.as_ref()).ok().filter(|_| legal);
    name.ok_or_else(|| {
        miette::miette!(
            help = "say what it is called: --as NAME",
            "{} can't be a study's name",
            file.display()
        )
    })
}

fn finished_study(
    importer: &Importer,
    name: StudyName,
    arguments: &ImportArguments,
    imported: ImportedStudy,
) -> miette::Result<FinishedStudy> {
    let metrics: IndexMap<BenchmarkName, Vec<CellMetric>> = imported
        .metrics
        .into_iter()
        .map(|(benchmark, metrics)| {
            let shapes = metrics.into_iter().map(|metric| CellMetric {
                name: metric.name,
                unit: metric.unit,
                better: metric.better,
                about: metric.about,
                primary: metric.primary,
                monitor: None,
                simulator: None,
            });
            (benchmark, shapes.collect())
        })
        .collect();
    let sources = imported.files.into_iter().map(|file| FinishedFile {
        command: file_command(importer, &file.path),
        content: file.content,
    });
    let trials = imported.trials.into_iter().map(|trial| FinishedTrial {
        suite: None,
        cell: trial.cell,
        round: trial.round,
        session: trial.session,
        host: trial.host,
        outcome: trial.outcome.map_err(Failure::of_trial),
        files: trial.files,
    });
    Ok(FinishedStudy {
        new: NewStudy {
            questions: Vec::new(),
            target: None,
            name,
            verb: IMPORT_VERB.to_owned(),
            documents: vec![StudyDocument {
                kind: "importer".into(),
                name: importer.format.name.clone(),
                text: importer.document.text.to_string(),
            }],
            arguments: serde_json::to_string(arguments).into_diagnostic()?,
            seed: 0,
            cells: imported.cells,
            metrics,
        },
        at: jiff::Timestamp::now(),
        hosts: imported.hosts,
        role: ROLE.parse().into_diagnostic()?,
        files: sources.collect(),
        trials: trials.collect(),
        warnings: imported.notes,
    })
}
