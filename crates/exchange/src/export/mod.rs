//! A study for others: tables, JSON, Markdown, OpenMetrics, Go's benchmark lines; results of tests as JUnit's XML, TAP and reports
//! for KernelCI's database.
//!
//! Names are data: whatever stands in a parameter is written so that the reader gets it back, or sees it, and never so
//! that it acts. A file gets its name when all of it is there.
//!
//! A study without samples is an error where a format can't say that there are none.

mod benchfmt;
mod exported_tests;
mod histograms;
mod json;
mod kcidb;
mod markdown;
mod monitors;
mod openmetrics;
mod rows;
mod test_results;

pub use exported_tests::ExportedTests;
pub use histograms::{ProbeHistogram, export_histograms};
pub use json::StudyExport;
pub use monitors::MonitorWriter;
pub use test_results::{TestExportFormat, export_tests};

use backsight_model::{CellSeries, MetricName, ResultSet, TrialSamples, Unit};
use backsight_stats::{Better, Samples, Summary};
use std::{io::Write as _, str::FromStr};

use crate::table::{TableError, TableFormat, TableOutput};

/// How a study is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// A table between commas: a sample a row.
    Csv,
    /// The same between tabs.
    Tsv,
    /// The same, a JSON object a row.
    JsonRows,
    /// The same in Parquet.
    Parquet,
    /// One JSON document: series with their trials.
    Json,
    /// A table of means for a person.
    Markdown,
    /// What Prometheus and its like read.
    OpenMetrics,
    /// What `benchstat` reads.
    Benchfmt,
    /// The results of its tests.
    Tests(TestExportFormat),
}

/// Every form with its name, and one line about it.
pub const FORMS: &[(&str, ExportFormat, &str)] = &[
    (
        "csv",
        ExportFormat::Csv,
        "a table between commas, a sample a row",
    ),
    ("tsv", ExportFormat::Tsv, "the same between tabs"),
    (
        "json-rows",
        ExportFormat::JsonRows,
        "the same, a JSON object a row",
    ),
    ("parquet", ExportFormat::Parquet, "the same in Parquet"),
    (
        "json",
        ExportFormat::Json,
        "one JSON document: series with their trials, hosts, failures",
    ),
    (
        "markdown",
        ExportFormat::Markdown,
        "a table of means with spread and count",
    ),
    (
        "openmetrics",
        ExportFormat::OpenMetrics,
        "OpenMetrics text, for Prometheus and its like",
    ),
    (
        "benchfmt",
        ExportFormat::Benchfmt,
        "Go's benchmark lines, which benchstat reads",
    ),
    (
        "junit",
        ExportFormat::Tests(TestExportFormat::JUnit),
        "the results of its tests: JUnit's XML",
    ),
    (
        "tap",
        ExportFormat::Tests(TestExportFormat::Tap),
        "the results of its tests: TAP 14",
    ),
    (
        "kcidb",
        ExportFormat::Tests(TestExportFormat::Kcidb),
        "the results of its tests: a report for KernelCI's database (KCIDB, schema 5.3)",
    ),
];

/// A text that is no form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no format to export: there are {}", FORMS.iter().map(|(name, ..)| *name).collect::<Vec<_>>().join(", "))]
pub struct ExportFormatError {
    text: String,
}

impl FromStr for ExportFormat {
    type Err = ExportFormatError;

    fn from_str(text: &str) -> Result<Self, ExportFormatError> {
        let found = FORMS.iter().find(|(name, ..)| *name == text);
        found
            .map(|(_, form, _)| *form)
            .ok_or_else(|| ExportFormatError {
                text: text.chars().take(40).collect(),
            })
    }
}

/// Writes a study.
///
/// # Errors
/// It has no samples; it can't be written.
pub fn export(
    set: &ResultSet,
    form: ExportFormat,
    mut out: TableOutput,
) -> Result<(), ExportError> {
    let text = match form {
        ExportFormat::Csv | ExportFormat::Tsv | ExportFormat::JsonRows | ExportFormat::Parquet => {
            return rows::write(set, form, out);
        }
        ExportFormat::Json => json::document(set),
        ExportFormat::Markdown => markdown::page(set),
        ExportFormat::OpenMetrics => openmetrics::text(set),
        ExportFormat::Benchfmt => benchfmt::lines(set),
        ExportFormat::Tests(_) => return Err(ExportError::NoNumbers(form.name())),
    };
    out.write_all(text.as_bytes())
        .map_err(|error| ExportError::Unwritable(error.to_string()))?;
    out.finish()?;
    Ok(())
}

impl ExportFormat {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        let mut named = FORMS.iter();
        named
            .find(|(_, form, _)| *form == self)
            .map_or("", |(name, ..)| name)
    }
}

/// The format of a table; none of a document.
fn table_format(form: ExportFormat) -> Option<TableFormat> {
    match form {
        ExportFormat::Csv => Some(TableFormat::Csv),
        ExportFormat::Tsv => Some(TableFormat::Tsv),
        ExportFormat::JsonRows => Some(TableFormat::JsonLines),
        ExportFormat::Parquet => Some(TableFormat::Parquet),
        _ => None,
    }
}

/// Why a study wasn't written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The table's own.
    #[error(transparent)]
    Table(#[from] TableError),
    /// What is written is a table, and the format is none.
    #[error("`{0}` is no table: monitors are exported as csv, tsv, jsonl or parquet")]
    NoTable(&'static str),
    /// What is written are numbers, and the format is for results of tests.
    #[error("`{0}` is for results of tests")]
    NoNumbers(&'static str),
    /// It couldn't be written.
    #[error("can't write it: {0}")]
    Unwritable(String),
}

/// The series that have samples.
fn measured(set: &ResultSet) -> impl Iterator<Item = &CellSeries> {
    set.series
        .iter()
        .filter(|series| series.trials.iter().any(|trial| !trial.values.is_empty()))
}

/// The samples of a trial as one number: their mean as every table of ours shows it, the arithmetic one of durations and
/// the harmonic one of rates where that exists. `None` where there are none.
fn of_trial(trial: &TrialSamples, better: Better) -> Option<f64> {
    let samples = Samples::new(trial.values.clone()).ok()?;
    Some(mean(&Summary::new(&samples, better), better))
}

fn mean(summary: &Summary, better: Better) -> f64 {
    match better {
        Better::Lower | Better::Neither => summary.amean,
        Better::Higher => summary.hmean.unwrap_or(summary.amean),
    }
}

/// Whether numbers in this unit are lengths of time: how many seconds one is.
fn seconds(unit: Unit) -> Option<f64> {
    Unit::parse("s")
        .ok()
        .and_then(|second| unit.in_terms_of(second))
}

/// A metric that Go has a unit for.
fn is_called(metric: &MetricName, name: &str) -> bool {
    metric.as_str() == name
}
