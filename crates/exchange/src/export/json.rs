//! One JSON document: what was measured, trial by trial, and what failed.

use backsight_model::{
    BenchmarkName, Cell, CellSeries, HostName, MonitorName, ParamName, ResultSet,
};
use backsight_model::{TrialSamples, Value, VariantName};
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Serialize;

/// The number of this format; another format will have another number.
const FORMAT: u32 = 1;

/// A study as a document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StudyExport<'a> {
    /// The number of this format: 1.
    backsight: u32,
    /// The study's name.
    study: &'a str,
    /// When it began: RFC 3339.
    began: String,
    /// `running`, `stopped` or `finished`.
    state: String,
    /// The facts of each host.
    hosts: &'a IndexMap<HostName, IndexMap<String, String>>,
    /// A metric of a cell each.
    series: Vec<SeriesExport<'a>>,
    /// The trials that failed.
    failed: Vec<FailedTrial<'a>>,
}

/// A cell.
#[derive(Debug, Serialize, JsonSchema)]
struct CellExport<'a> {
    /// Its benchmark.
    benchmark: &'a BenchmarkName,
    /// Its variant.
    variant: &'a VariantName,
    /// Its parameters.
    params: &'a IndexMap<ParamName, Value>,
    /// The monitors, where they are what is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    monitors: Option<&'a Vec<MonitorName>>,
}

/// A metric of a cell with its trials.
#[derive(Debug, Serialize, JsonSchema)]
struct SeriesExport<'a> {
    /// The cell.
    #[serde(flatten)]
    cell: CellExport<'a>,
    /// The metric.
    metric: &'a str,
    /// The unit of the values.
    unit: String,
    /// `higher` or `lower`.
    better: &'static str,
    /// The metric's description.
    about: &'a str,
    /// Whether the benchmark is run for it.
    primary: bool,
    /// What counted it, if it wasn't a real machine's clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    simulator: Option<String>,
    /// The trials that gave values.
    trials: Vec<TrialExport<'a>>,
}

/// The values of a trial.
#[derive(Debug, Serialize, JsonSchema)]
struct TrialExport<'a> {
    /// Its number, from 1.
    trial: u32,
    /// Its round, from 1.
    round: u32,
    /// Its values, in the unit of the series.
    values: &'a [f64],
    /// The host that it was measured on, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<&'a HostName>,
    /// Values of intervals within the trial.
    #[serde(skip_serializing_if = "<[f64]>::is_empty")]
    each: &'a [f64],
}

/// A trial that failed.
#[derive(Debug, Serialize, JsonSchema)]
struct FailedTrial<'a> {
    /// The cell.
    #[serde(flatten)]
    cell: CellExport<'a>,
    /// Its number, from 1.
    trial: u32,
    /// Its round, from 1.
    round: u32,
    /// The reason.
    failed: String,
}

/// The study as a document.
pub fn document(set: &ResultSet) -> String {
    let failed = set.failed.iter();
    let export = StudyExport {
        backsight: FORMAT,
        study: set.study_name.as_str(),
        began: set.began.to_string(),
        state: set.state.to_string(),
        hosts: &set.hosts,
        series: set.series.iter().map(|it| series(set, it)).collect(),
        failed: failed
            .map(|(trial, round, of, failure)| FailedTrial {
                cell: cell(of),
                trial: *trial,
                round: *round,
                failed: failure.to_string(),
            })
            .collect(),
    };
    // Every key is a text and every value one of JSON's: it can't fail.
    let text = serde_json::to_string_pretty(&export).unwrap_or_default();
    text + "\n"
}

fn series<'a>(set: &'a ResultSet, series: &'a CellSeries) -> SeriesExport<'a> {
    SeriesExport {
        cell: cell(&series.cell),
        metric: series.metric.as_str(),
        unit: series.unit.to_string(),
        better: series.better.as_str(),
        about: &series.about,
        primary: series.primary,
        simulator: series.simulator.map(|simulator| simulator.to_string()),
        trials: series.trials.iter().map(|it| trial(set, it)).collect(),
    }
}

fn trial<'a>(set: &'a ResultSet, trial: &'a TrialSamples) -> TrialExport<'a> {
    TrialExport {
        trial: trial.trial,
        round: trial.round,
        values: &trial.values,
        host: set.host_of(trial).filter(|_| trial.host > 0),
        each: &trial.each,
    }
}

fn cell(cell: &Cell) -> CellExport<'_> {
    CellExport {
        benchmark: &cell.benchmark,
        variant: &cell.variant,
        params: &cell.params,
        monitors: cell.monitors.as_ref(),
    }
}
