//! The verb: its arguments, where the result sets come from, where the text goes.

use backsight_model::ResultSet;
use backsight_policy::{By, CompareOptions, Comparison, compare, compare_by};
use backsight_stats::Confidence;
use backsight_store::{Store, StudyId};
use clap::ValueEnum;
use miette::IntoDiagnostic as _;
use std::{io::IsTerminal as _, path::PathBuf, process::ExitCode};

use super::{Format, Look, render};
use crate::{cli::Shared, files};

/// Narrower terminals than this break words.
const NARROWEST: u16 = 80;

/// Arguments of `compare`.
#[derive(Debug, clap::Args)]
pub struct Compare {
    /// Studies, by name or number; the first is the baseline
    #[arg(required = true, value_name = "STUDY")]
    studies: Vec<String>,
    /// Compare the parts of one study: `variant`, or the name of a parameter
    #[arg(long, value_name = "WHAT")]
    by: Option<By>,
    /// Show the ratios to the baseline and their geometric mean
    #[arg(long)]
    ratio: bool,
    /// Show every summary of the samples
    #[arg(long)]
    stats: bool,
    /// How it is written
    #[arg(long, value_enum, default_value_t = Written::Text)]
    format: Written,
    /// Confidence of the intervals, in percent
    #[arg(long, value_name = "PERCENT", default_value = "95", value_parser = confidence)]
    confidence: Confidence,
    /// Write it to a file
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Values of `--format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Written {
    /// Tables for a person
    Text,
    /// Tables for a pull request
    Markdown,
    /// One line a cell, metric and side, every number in full
    Csv,
    /// Everything, for programs
    Json,
    /// One self-contained page, with charts, machines and raw outputs
    Html,
}

fn confidence(percent: &str) -> Result<Confidence, String> {
    let number: Option<f64> = percent.trim_end_matches('%').parse().ok();
    number
        .and_then(|number| Confidence::new(number / 100.0))
        .ok_or_else(|| "expected a percentage between 0 and 100, such as 95".to_owned())
}

/// The result sets of these studies, read from the database side by side.
async fn load(store: &Store, studies: &[StudyId]) -> miette::Result<Vec<ResultSet>> {
    let reading: Vec<_> = studies
        .iter()
        .map(|study| {
            let (store, study) = (store.clone(), *study);
            tokio::spawn(async move { store.result_set(study).await })
        })
        .collect();
    let mut sets = Vec::new();
    for read in reading {
        sets.push(read.await.into_diagnostic()?.into_diagnostic()?);
    }
    Ok(sets)
}

impl Compare {
    /// Compares them.
    pub fn execute(self, shared: &Shared) -> miette::Result<ExitCode> {
        crate::block_on(async {
            let store = files::existing_store(shared).await?;
            let (studies, comparison) = self.compare(&store).await?;
            let format = match self.format {
                Written::Text => Format::Text,
                Written::Markdown => Format::Markdown,
                Written::Csv => Format::Csv,
                Written::Json => Format::Json,
                Written::Html => {
                    let page = self.page(&store, &studies, comparison).await?;
                    return self.put(&page);
                }
            };
            self.put(&render(&comparison, format, &self.look()))
        })
    }

    async fn compare(&self, store: &Store) -> miette::Result<(Vec<StudyId>, Comparison)> {
        let options = CompareOptions {
            confidence: self.confidence,
        };
        let mut studies = Vec::new();
        for asked in &self.studies {
            studies.push(store.study(asked).await.into_diagnostic()?.id);
        }
        let sets = load(store, &studies).await?;
        let comparison = match (&self.by, &sets[..]) {
            (Some(by), [only]) => compare_by(only, by, options).into_diagnostic()?,
            (Some(by), _) => {
                return Err(miette::miette!(
                    help = format!(
                        "name one study: `backsight compare {} --by {by}`",
                        self.studies[0]
                    ),
                    "--by compares the parts of one study, and {} were named",
                    self.studies.len()
                ));
            }
            (None, [only]) => {
                return Err(miette::miette!(
                    help = "name a second study, or say which of its parts to compare: `--by variant` or `--by PARAMETER`",
                    "there is nothing to compare `{}` with",
                    only.name
                ));
            }
            (None, sets) => compare(sets, options),
        };
        Ok((studies, comparison))
    }

    async fn page(
        &self,
        store: &Store,
        studies: &[StudyId],
        comparison: Comparison,
    ) -> miette::Result<String> {
        let mut title = self.studies.join(" and ");
        if let Some(by) = &self.by {
            title.push_str(&format!(" by {by}"));
        }
        let report = backsight_site::report_of(store, title, studies, Some(comparison)).await;
        backsight_site::report(&report.into_diagnostic()?).into_diagnostic()
    }

    fn look(&self) -> Look {
        let to_terminal = self.output.is_none() && std::io::stdout().is_terminal();
        let terminal = comfy_table::Table::new().width().filter(|_| to_terminal);
        let usual = Look::default();
        Look {
            statistics: self.stats,
            ratio: self.ratio,
            colour: to_terminal
                && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
            width: terminal.map_or(usual.width, |width| width.max(NARROWEST)),
        }
    }

    fn put(&self, text: &str) -> miette::Result<ExitCode> {
        match &self.output {
            Some(path) => files::write_whole(path, text)?,
            None => files::print(text)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}
