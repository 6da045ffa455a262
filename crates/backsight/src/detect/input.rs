//! Where series come from: a table of numbers, or studies in the store.

use backsight_exchange::table::{self, Columns, Labels, Reading, SeriesStream, Source, Table};
use backsight_model::ResultSet;
use backsight_stats::{Better, Samples, changes::version_value};
use miette::IntoDiagnostic as _;
use std::path::PathBuf;

use crate::{cli::Shared, files};

/// A series to search.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Series {
    /// The columns that name it, with their values.
    pub keys: Vec<(String, String)>,
    /// What is measured.
    pub metric: String,
    pub unit: Option<String>,
    pub better: Option<Better>,
    /// One a value.
    pub labels: Labels,
    /// Whether labels name versions, so that equal ones are samples of one; else they number rows.
    pub named: bool,
    pub values: Vec<f64>,
    pub missing: usize,
}

impl Series {
    pub fn name(&self) -> String {
        let mut parts: Vec<&str> = self.keys.iter().map(|(_, value)| value.as_str()).collect();
        parts.push(&self.metric);
        parts.join(" ")
    }
}

/// What was asked to be searched.
pub enum Input {
    Table(Source),
    Studies(Vec<String>),
}

impl Input {
    /// Files are taken for files, `-` for standard input, other names for studies.
    pub fn of(named: &[String]) -> miette::Result<Self> {
        let is_file = |name: &String| name == "-" || std::path::Path::new(name).exists();
        match named {
            [only] if only == "-" => Ok(Self::Table(Source::Stdin)),
            [only] if is_file(only) => Ok(Self::Table(Source::Path(PathBuf::from(only)))),
            several if several.iter().any(is_file) && several.len() > 1 => Err(miette::miette!(
                help = "put the series into one table and name them by a column: `--series COLUMN`",
                "several inputs, and not all of them are studies"
            )),
            studies => Ok(Self::Studies(studies.to_vec())),
        }
    }

    /// Its series, in order.
    pub fn series(
        self,
        reading: Reading,
        columns: &Columns,
        better: Option<Better>,
        shared: &Shared,
    ) -> miette::Result<SeriesOf> {
        match self {
            Self::Table(source) => {
                let table = Table::open(&source, reading).into_diagnostic()?;
                let stream = table::series(table, columns).into_diagnostic()?;
                let named = columns.label.is_some()
                    || columns.order.is_some()
                    || stream.guessed_label().is_some();
                Ok(SeriesOf::Table {
                    stream: Box::new(stream),
                    named,
                    better,
                })
            }
            Self::Studies(names) => {
                let sets = crate::block_on(load(&names, shared))?;
                let mut series = match &sets[..] {
                    [only] => within(only),
                    several => over(several),
                };
                if let Some(better) = better {
                    series.iter_mut().for_each(|one| one.better = Some(better));
                }
                Ok(SeriesOf::Studies(series.into_iter()))
            }
        }
    }
}

async fn load(names: &[String], shared: &Shared) -> miette::Result<Vec<ResultSet>> {
    let missing = |name: &str, why: miette::Report| {
        miette::miette!(
            help =
                "name a file, `-` for standard input, or a study: `backsight studies` lists those",
            "`{}` is neither a file nor a study here: {why}",
            name.escape_debug()
        )
    };
    let store = match files::existing_store(shared).await {
        Ok(store) => store,
        Err(why) => return Err(missing(names.first().map_or("", String::as_str), why)),
    };
    let mut sets = Vec::new();
    for name in names {
        let found = store.study(name).await.into_diagnostic();
        let study = found.map_err(|why| missing(name, why))?;
        crate::attempt::refuse_sides(&study)?;
        sets.push(store.result_set(study.id).await.into_diagnostic()?);
    }
    Ok(sets)
}

/// The cells' metrics of one study, trial by trial: what drifts within it.
fn within(study: &ResultSet) -> Vec<Series> {
    let series = study.series.iter().map(|cell| {
        let mut series = of_cell(cell);
        for trial in &cell.trials {
            match value(&trial.values) {
                Some(value) => {
                    series.labels.push(&format!("trial {}", trial.trial));
                    series.values.push(value);
                }
                None => series.missing += 1,
            }
        }
        series
    });
    series.collect()
}

/// The cells' metrics of several studies, each study a version, in the order in which they were named.
fn over(studies: &[ResultSet]) -> Vec<Series> {
    let mut cells: Vec<&backsight_model::Series> = Vec::new();
    let same = |a: &backsight_model::Series, b: &backsight_model::Series| {
        a.cell.same_question(&b.cell) && a.metric == b.metric && a.unit == b.unit
    };
    for cell in studies.iter().flat_map(|study| &study.series) {
        if !cells.iter().any(|known| same(known, cell)) {
            cells.push(cell);
        }
    }
    let history = |cell: &&backsight_model::Series| {
        let mut series = of_cell(cell);
        for study in studies {
            let measured = study.series.iter().find(|other| same(cell, other));
            match measured.and_then(|measured| value(&measured.values())) {
                Some(value) => {
                    series.labels.push(study.study_name.as_str());
                    series.values.push(value);
                }
                None => series.missing += 1,
            }
        }
        series
    };
    cells.iter().map(history).collect()
}

fn of_cell(cell: &backsight_model::Series) -> Series {
    Series {
        keys: vec![("cell".to_owned(), cell.cell.to_string())],
        metric: cell.metric.to_string(),
        unit: Some(cell.unit.to_string()),
        better: Some(cell.better),
        ..Series::default()
    }
}

fn value(samples: &[f64]) -> Option<f64> {
    Samples::new(samples.to_vec())
        .ok()
        .map(|samples| version_value(&samples))
}

/// Series that come one after the other.
pub enum SeriesOf {
    Table {
        stream: Box<SeriesStream>,
        named: bool,
        better: Option<Better>,
    },
    Studies(std::vec::IntoIter<Series>),
}

impl SeriesOf {
    /// The names of the columns that name the series.
    pub fn keys(&self) -> Vec<String> {
        match self {
            Self::Table { stream, .. } => stream.keys().to_vec(),
            Self::Studies(_) => vec!["cell".to_owned()],
        }
    }

    /// The column that was taken for the versions' names without having been asked for.
    pub fn guessed_label(&self) -> Option<&str> {
        match self {
            Self::Table { stream, .. } => stream.guessed_label(),
            Self::Studies(_) => None,
        }
    }
}

impl Iterator for SeriesOf {
    type Item = miette::Result<Series>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Studies(series) => series.next().map(Ok),
            Self::Table {
                stream,
                named,
                better,
            } => {
                let read = stream.next()?.into_diagnostic();
                Some(read.map(|series| Series {
                    keys: stream.keys().iter().cloned().zip(series.keys).collect(),
                    metric: series.column,
                    unit: None,
                    better: *better,
                    labels: series.labels,
                    named: *named,
                    values: series.values,
                    missing: series.missing,
                }))
            }
        }
    }
}
