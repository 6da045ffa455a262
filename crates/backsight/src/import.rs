//! `backsight import`: what other tools measured, or what came of tests that they ran, becomes a study.

use backsight_exchange::import::{ImportChoice, ImportChoices, MeasuredLevel};
use backsight_model::{BenchmarkName, Better, StudyName, Unit};
use backsight_study::ReadImport;
use std::{path::PathBuf, process::ExitCode};

use crate::{common_options::CommonOptions, exit_status::ExitStatus, files};

/// Arguments of `import`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "`backsight list importers` shows the formats and the commands that make their files."
)]
pub struct ImportArgs {
    /// What the files are: hyperfine, criterion, csv, …; junit, tap and others for results of tests
    format: String,
    /// Files, or the folder where the format has one; several become one study, a later file's trials behind an
    /// earlier's
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// What the study is called; else as the first file
    #[arg(long = "as", value_name = "NAME")]
    name: Option<StudyName>,
    /// Of results of tests: the suite that they are of; studies of the same suite are compared [default: the format's name]
    #[arg(long, value_name = "NAME")]
    suite: Option<BenchmarkName>,
    /// Which direction is good, where the format doesn't say: `lower` or `higher`, or METRIC=lower for one; may be
    /// repeated
    #[arg(long, value_name = "[METRIC=]WHICH")]
    better: Vec<ImportChoice<Better>>,
    /// The unit of numbers, where the format doesn't say: `ms`, or METRIC=ms for one; may be repeated
    #[arg(long, value_name = "[METRIC=]UNIT")]
    unit: Vec<ImportChoice<Unit>>,
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

impl ImportArgs {
    /// Imports them, and says what has become of them.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        let choices = ImportChoices {
            better: self.better,
            unit: self.unit,
            without: self.without,
            values: self.values,
            params: self.params,
            level: self.level,
            sessions: self.sessions,
        };
        let import = ReadImport::read(&self.format, &self.files, self.name, self.suite, &choices)?;
        crate::block_on(async {
            let store = files::open_store(shared).await?;
            import.save(&store).await?;
            store.close().await;
            for note in import.notes() {
                files::print_note(note);
            }
            let (size, name) = (import.size(), import.name());
            files::print(&format!("imported {size} as `{name}`\n"))?;
            Ok(ExitStatus::failed_if(!import.has_samples()))
        })
    }
}
