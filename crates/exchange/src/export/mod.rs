//! A study for others: tables, JSON, Markdown, OpenMetrics, Go's benchmark lines.
//!
//! Names are data: whatever stands in a parameter is written so that the reader gets it back, or sees it, and never so
//! that it acts. A file gets its name when all of it is there.
//!
//! Refuses: to write a study without samples where a format has no way to say that there are none.

mod benchfmt;
mod json;
mod markdown;
mod openmetrics;
mod rows;

pub use json::StudyExport;

use backsight_model::{MetricName, ResultSet, Series, TrialSamples, Unit};
use backsight_stats::{Better, Samples, Summary};
use std::{io::Write as _, str::FromStr};

use crate::table::{Out, TableError};

/// How a study is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
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
}

/// Every form with its name, and one line about it.
pub const FORMS: &[(&str, Form, &str)] = &[
    ("csv", Form::Csv, "a table between commas, a sample a row"),
    ("tsv", Form::Tsv, "the same between tabs"),
    ("json-rows", Form::JsonRows, "the same, a JSON object a row"),
    ("parquet", Form::Parquet, "the same in Parquet"),
    (
        "json",
        Form::Json,
        "one JSON document: series with their trials, hosts, failures",
    ),
    (
        "markdown",
        Form::Markdown,
        "a table of means with spread and count",
    ),
    (
        "openmetrics",
        Form::OpenMetrics,
        "OpenMetrics text, for Prometheus and its like",
    ),
    (
        "benchfmt",
        Form::Benchfmt,
        "Go's benchmark lines, which benchstat reads",
    ),
];

/// A text that is no form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no format to export: there are {}", FORMS.iter().map(|(name, ..)| *name).collect::<Vec<_>>().join(", "))]
pub struct NoSuchForm {
    text: String,
}

impl FromStr for Form {
    type Err = NoSuchForm;

    fn from_str(text: &str) -> Result<Self, NoSuchForm> {
        let found = FORMS.iter().find(|(name, ..)| *name == text);
        found.map(|(_, form, _)| *form).ok_or_else(|| NoSuchForm {
            text: text.chars().take(40).collect(),
        })
    }
}

/// Writes a study.
///
/// # Errors
/// It has no samples; it can't be written.
pub fn export(set: &ResultSet, form: Form, mut out: Out) -> Result<(), ExportError> {
    let text = match form {
        Form::Csv | Form::Tsv | Form::JsonRows | Form::Parquet => {
            return rows::write(set, form, out);
        }
        Form::Json => json::document(set),
        Form::Markdown => markdown::page(set),
        Form::OpenMetrics => openmetrics::text(set),
        Form::Benchfmt => benchfmt::lines(set),
    };
    out.write_all(text.as_bytes())
        .map_err(|error| ExportError::Unwritable(error.to_string()))?;
    out.finish()?;
    Ok(())
}

/// Why a study wasn't written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The table's own.
    #[error(transparent)]
    Table(#[from] TableError),
    /// It couldn't be written.
    #[error("can't write it: {0}")]
    Unwritable(String),
}

/// The series that have samples.
fn measured(set: &ResultSet) -> impl Iterator<Item = &Series> {
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
        Better::Lower => summary.amean,
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
