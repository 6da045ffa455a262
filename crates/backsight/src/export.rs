//! `backsight export`: a study for others.

use backsight_exchange::export::{
    ExportFormat, FORMS, TestExportFormat, export, export_histograms, export_tests,
};
use backsight_exchange::table::TableOutput;
use backsight_model::counted;
use backsight_study::{export_monitors, exported_tests, probe_histograms};
use miette::IntoDiagnostic as _;
use std::{
    io::IsTerminal as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use crate::{common_options::CommonOptions, files};

/// Arguments of `export`.
#[derive(Debug, clap::Args)]
pub struct ExportArgs {
    /// The study, by name or number
    study: String,
    /// What samplers saw in its trials, a row for each value, in place of the samples: csv, tsv, jsonl or parquet
    #[arg(long)]
    monitors: bool,
    /// The histograms of its probes, in place of the samples: a log of HdrHistogram (.hlog), which its own tools open
    #[arg(long, conflicts_with_all = ["monitors", "format"])]
    histograms: bool,
    /// How it is written; else by the file's name
    #[arg(long, short, value_name = "FORMAT", value_parser = forms())]
    format: Option<ExportFormat>,
    /// Of results of tests: the trial that they are of, where several have some
    #[arg(long, value_name = "NUMBER")]
    trial: Option<u32>,
    /// In kcidb: the name that KernelCI knows the sender by, of a to z, digits and `_`
    #[arg(long, value_name = "NAME", default_value = "backsight", value_parser = origin)]
    origin: String,
    /// The file, which is written whole or not at all; else standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

fn forms() -> impl clap::builder::TypedValueParser<Value = ExportFormat> {
    use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser as _};
    let values = FORMS
        .iter()
        .map(|(name, _, about)| PossibleValue::new(*name).help(*about));
    PossibleValuesParser::new(values).try_map(|name| name.parse::<ExportFormat>())
}

fn origin(name: &str) -> Result<String, &'static str> {
    let fits = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_');
    match !name.is_empty() && name.bytes().all(fits) {
        true => Ok(name.to_owned()),
        false => Err("expected letters from a to z, digits and `_`"),
    }
}

/// The form that a file's name promises.
fn promised(path: &Path) -> Option<ExportFormat> {
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    Some(match extension.as_str() {
        "csv" => ExportFormat::Csv,
        "tsv" => ExportFormat::Tsv,
        "json" => ExportFormat::Json,
        "jsonl" | "ndjson" => ExportFormat::JsonRows,
        "parquet" | "pq" => ExportFormat::Parquet,
        "md" => ExportFormat::Markdown,
        "prom" => ExportFormat::OpenMetrics,
        "xml" => ExportFormat::Tests(TestExportFormat::JUnit),
        "tap" => ExportFormat::Tests(TestExportFormat::Tap),
        _ => return None,
    })
}

impl ExportArgs {
    fn write_histograms(&self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        crate::block_on(async {
            let store = files::existing_store(shared).await?;
            let study = store.study(&self.study).await.into_diagnostic()?;
            let (histograms, pruned) = probe_histograms(&store, &study).await?;
            let count = histograms.len();
            files::rows(self.output.as_deref(), |out| {
                export_histograms(histograms, out).into_diagnostic()
            })?;
            files::print_note(&counted(count, "histogram"));
            pruned.iter().for_each(|note| files::print_note(note));
            Ok(ExitCode::SUCCESS)
        })
    }

    fn write_tests(
        &self,
        form: TestExportFormat,
        shared: &CommonOptions,
    ) -> miette::Result<ExitCode> {
        crate::block_on(async {
            let store = files::existing_store(shared).await?;
            let study = store.study(&self.study).await.into_diagnostic()?;
            let tests = exported_tests(&store, &study, self.trial).await?;
            store.close().await;
            files::rows(self.output.as_deref(), |out| {
                export_tests(&tests, form, &self.origin, out).into_diagnostic()
            })?;
            if !tests.run.complete && form != TestExportFormat::Kcidb {
                files::print_note(
                    "the run didn't come to its end: this format has no place for that",
                );
            }
            self.print_path()
        })
    }

    fn print_path(&self) -> miette::Result<ExitCode> {
        if let Some(path) = &self.output {
            files::print(&format!("wrote {}\n", path.display()))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Writes it.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        if self.histograms {
            return self.write_histograms(shared);
        }
        let form = self
            .format
            .or_else(|| self.output.as_deref().and_then(promised));
        let Some(form) = form else {
            let names: Vec<&str> = FORMS.iter().map(|(name, ..)| *name).collect();
            return Err(miette::miette!(
                help = format!("--format {}", names.join("|")),
                "in which format?"
            ));
        };
        if let ExportFormat::Tests(form) = form
            && !self.monitors
        {
            return self.write_tests(form, shared);
        }
        let is_shown = self.output.is_none() && std::io::stdout().is_terminal();
        if is_shown && (form == ExportFormat::Parquet || self.monitors) {
            return Err(miette::miette!(
                help = "name a file: -o FILE, or send it into a pipe",
                "so much on a terminal is of no use to anybody"
            ));
        }
        crate::block_on(async {
            let store = files::existing_store(shared).await?;
            let study = store.study(&self.study).await.into_diagnostic()?;
            if self.monitors {
                let out = TableOutput::to(self.output.as_deref()).into_diagnostic()?;
                let (values, pruned) = export_monitors(&store, &study, form, out).await?;
                files::print_note(&format!("{values} values of samplers"));
                pruned.iter().for_each(|note| files::print_note(note));
                return Ok(ExitCode::SUCCESS);
            }
            backsight_study::refuse_sides(&study)?;
            let set = store.result_set(study.id).await.into_diagnostic()?;
            store.close().await;
            if set.series.iter().all(|series| series.trials.is_empty()) {
                return Err(miette::miette!(
                    help = format!(
                        "`backsight show {}` says what became of its trials",
                        study.name
                    ),
                    "`{}` has no samples",
                    study.name
                ));
            }
            files::rows(self.output.as_deref(), |out| {
                export(&set, form, out).into_diagnostic()
            })?;
            let tells_failures = matches!(form, ExportFormat::Json | ExportFormat::Markdown);
            if !set.failed.is_empty() && !tells_failures {
                files::print_note(&format!(
                    "{} failed trials aren't in it: this format has no place for them",
                    set.failed.len()
                ));
            }
            self.print_path()
        })
    }
}
