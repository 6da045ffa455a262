//! `backsight import`: what other tools measured becomes a study.
//!
//! Refuses: to import a part. The study is there whole, or there is none.

use backsight_exchange::import::{
    Choice, Choices, Described, Imported, Importer, MeasuredLevel, import,
};
use backsight_model::{BenchmarkName, Better, Failure, StudyName, Unit, did_you_mean};
use backsight_store::{
    FinishedFile, FinishedStudy, FinishedTrial, MetricShape, NewStudy, StudyDocument,
};
use indexmap::IndexMap;
use miette::{IntoDiagnostic as _, WrapErr as _};
use serde::{Deserialize, Serialize};
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use crate::{cli::Shared, exit_status::ExitStatus, files};

/// The verb's name in the store.
pub const VERB: &str = "import";
/// The role that the files stand under.
const ROLE: &str = "import";

/// Arguments of `import`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "`backsight list importers` shows the formats and the commands that make their files."
)]
pub struct Import {
    /// What the files are: hyperfine, criterion, csv, …
    format: String,
    /// Files, or the folder where the format has one; several become one study, a later file's trials behind an
    /// earlier's
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// What the study is called; else as the first file
    #[arg(long = "as", value_name = "NAME")]
    name: Option<StudyName>,
    /// Which direction is good, where the format doesn't say: `lower` or `higher`, or METRIC=lower for one; may be
    /// repeated
    #[arg(long, value_name = "[METRIC=]WHICH", value_parser = better)]
    better: Vec<Choice<Better>>,
    /// The unit of numbers, where the format doesn't say: `ms`, or METRIC=ms for one; may be repeated
    #[arg(long, value_name = "[METRIC=]UNIT", value_parser = unit)]
    unit: Vec<Choice<Unit>>,
    /// Leave a metric out; may be repeated
    #[arg(long, value_name = "METRIC")]
    without: Vec<String>,
    /// In a table: a column of values, a metric of its own; may be repeated [default: value]
    #[arg(long = "value", value_name = "COLUMN")]
    values: Vec<String>,
    /// In a table: a column that is a parameter, and keeps its rows apart; may be repeated
    #[arg(long = "param", value_name = "COLUMN")]
    params: Vec<String>,
    /// What the numbers are, where that isn't what `backsight list importers` says: `iteration` of one process, so that
    /// all of a file are one trial, or `run` of the program, each a trial
    #[arg(long, value_name = "iteration|run")]
    level: Option<MeasuredLevel>,
    /// Each file was measured in a session of its own: at another time, or in turn with the files of the other side. Else all
    /// of them are one session, but those that say times more than an hour apart
    #[arg(long)]
    sessions: bool,
}

fn better(text: &str) -> Result<Choice<Better>, String> {
    text.parse::<Choice<Better>>().map_err(|e| e.to_string())
}

fn unit(text: &str) -> Result<Choice<Unit>, String> {
    let (metric, unit) = match text.rsplit_once('=') {
        Some((metric, unit)) => (Some(metric.to_owned()), unit),
        None => (None, text),
    };
    let value = Unit::parse(unit).map_err(|e| e.to_string())?;
    Ok(Choice { metric, value })
}

/// What was asked for, as the study keeps it: enough to read the files again.
#[derive(Debug, Serialize, Deserialize)]
pub struct Arguments {
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

impl Arguments {
    fn new(importer: &Importer, files: &[PathBuf], choices: &Choices) -> Self {
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
    pub fn read(kept: &str) -> miette::Result<Self> {
        serde_json::from_str(kept)
            .into_diagnostic()
            .wrap_err("what was asked for isn't known any more")
    }

    /// What was said about the numbers.
    pub fn choices(&self) -> miette::Result<Choices> {
        let unknown =
            |why: String| miette::miette!("what was asked for isn't known any more: {why}");
        let better = self.better.iter().map(|text| better(text));
        let unit = self.unit.iter().map(|text| unit(text));
        Ok(Choices {
            better: better.collect::<Result<_, _>>().map_err(unknown)?,
            unit: unit.collect::<Result<_, _>>().map_err(unknown)?,
            without: self.without.clone(),
            values: self.values.clone(),
            params: self.params.clone(),
            level: Some(self.level.parse().map_err(unknown)?),
            sessions: self.sessions,
        })
    }
}

/// The command that a file stands under in its study.
pub fn command(importer: &Importer, file: &Path) -> String {
    format!(
        "backsight import {} {}",
        importer.format.name,
        file.display()
    )
}

impl Import {
    /// Imports them, and says what has become of them.
    pub fn execute(self, shared: &Shared) -> miette::Result<ExitCode> {
        let importer = importer(&self.format)?;
        let name = match &self.name {
            Some(name) => name.clone(),
            None => name_of(&self.files[0])?,
        };
        let choices = Choices {
            better: self.better,
            unit: self.unit,
            without: self.without,
            values: self.values,
            params: self.params,
            level: self.level,
            sessions: self.sessions,
        };
        // Read before a store is made: what can't be imported leaves nothing at all.
        let imported = import(&importer, &self.files, &choices)?;
        crate::block_on(async {
            let store = files::open_store(shared).await?;
            if let Ok(taken) = store.study(name.as_str()).await
                && taken.name == name
            {
                return Err(miette::miette!(
                    help = format!(
                        "call it something else (`--as NAME`), or remove that one (`backsight delete {name}`)"
                    ),
                    "there is a study `{name}` already"
                ));
            }
            let notes = imported.notes.clone();
            let arguments = Arguments::new(&importer, &self.files, &choices);
            let study = study(&importer, name.clone(), &arguments, imported)?;
            let said = summary(&study);
            let any = study.trials.iter().any(|trial| trial.outcome.is_ok());
            store.add_finished_study(&study).await.into_diagnostic()?;
            store.close().await;
            for note in notes {
                files::say(&note);
            }
            files::print(&format!("imported {said} as `{name}`\n"))?;
            Ok(match any {
                true => ExitStatus::Success.into(),
                false => ExitStatus::Failed.into(),
            })
        })
    }
}

fn importer(format: &str) -> miette::Result<Importer> {
    if let Some(importer) = Importer::find(format)? {
        return Ok(importer);
    }
    let known = Described::all()?;
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
fn name_of(file: &Path) -> miette::Result<StudyName> {
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

fn summary(study: &FinishedStudy) -> String {
    let trials = study.trials.len();
    let failed = study
        .trials
        .iter()
        .filter(|trial| trial.outcome.is_err())
        .count();
    let cells = study.new.cells.len();
    let count = |number: usize, what: &str| match number {
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    };
    let mut said = format!("{} of {}", count(trials, "trial"), count(cells, "cell"));
    if failed > 0 {
        said.push_str(&format!(", {failed} of them failed,"));
    }
    said
}

fn study(
    importer: &Importer,
    name: StudyName,
    arguments: &Arguments,
    imported: Imported,
) -> miette::Result<FinishedStudy> {
    let metrics: IndexMap<BenchmarkName, Vec<MetricShape>> = imported
        .metrics
        .into_iter()
        .map(|(benchmark, metrics)| {
            let shapes = metrics.into_iter().map(|metric| MetricShape {
                name: metric.name,
                unit: metric.unit,
                better: metric.better,
                about: metric.about,
                primary: metric.primary,
                simulator: None,
            });
            (benchmark, shapes.collect())
        })
        .collect();
    let sources = imported.files.into_iter().map(|file| FinishedFile {
        command: command(importer, &file.path),
        content: file.content,
    });
    let trials = imported.trials.into_iter().map(|trial| FinishedTrial {
        cell: trial.cell,
        round: trial.round,
        session: trial.session,
        host: trial.host,
        outcome: trial.outcome.map_err(Failure::of_trial),
        files: trial.files,
    });
    Ok(FinishedStudy {
        new: NewStudy {
            target: None,
            name,
            verb: VERB.to_owned(),
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
