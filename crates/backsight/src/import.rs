//! `backsight import`: what other tools measured becomes a study.
//!
//! Refuses: to import a part. The study is there whole, or there is none.

use backsight_exchange::import::{Choice, Choices, Described, Imported, Importer, import};
use backsight_model::{BenchmarkName, Better, Failure, StudyName, Unit, did_you_mean};
use backsight_store::{
    FinishedFile, FinishedStudy, FinishedTrial, MetricShape, NewStudy, StudyDocument,
};
use indexmap::IndexMap;
use miette::IntoDiagnostic as _;
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use crate::{cli::Shared, files};

/// The verb's name in the store.
pub const VERB: &str = "import";
/// What the host is called where the files don't say it.
const HOST: &str = "elsewhere";
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
            let study = study(&importer, name.clone(), &self.files, imported)?;
            let said = summary(&study);
            store.add_finished_study(&study).await.into_diagnostic()?;
            store.close().await;
            for note in notes {
                files::say(&note);
            }
            files::print(&format!("imported {said} as `{name}`\n"))?;
            Ok(ExitCode::SUCCESS)
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
    StudyName::new(stem.as_ref()).map_err(|_| {
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
    paths: &[PathBuf],
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
    let arguments = serde_json::json!({
        "format": importer.format.name,
        "files": paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>(),
    });
    let host = imported
        .facts
        .get("hostname")
        .and_then(|name| name.parse().ok())
        .map_or_else(|| HOST.parse(), Ok)
        .into_diagnostic()?;
    let sources = imported.files.into_iter().map(|file| FinishedFile {
        command: format!(
            "backsight import {} {}",
            importer.format.name,
            file.path.display()
        ),
        content: file.content,
    });
    let trials = imported.trials.into_iter().map(|trial| FinishedTrial {
        cell: trial.cell,
        round: trial.round,
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
            arguments: arguments.to_string(),
            seed: 0,
            cells: imported.cells,
            metrics,
        },
        at: jiff::Timestamp::now(),
        host: (host, ROLE.parse().into_diagnostic()?),
        facts: imported.facts,
        files: sources.collect(),
        trials: trials.collect(),
        warnings: imported.notes,
    })
}
