//! Where series come from: a table of numbers, or studies in the store.

use backsight_exchange::table::{
    self, ColumnRoles, Labels, ReadOptions, SeriesStream, TableError, TableReader, TableSource,
};
use backsight_model::{CellSeries, ResultSet, TrialSamples};
use backsight_policy::side_of;
use backsight_stats::{Better, Samples, changes::version_value};
use indexmap::IndexSet;
use miette::IntoDiagnostic as _;
use std::path::{Path, PathBuf};

/// A series to search.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DetectionSeries {
    /// The columns that name it, with their values.
    pub keys: Vec<(String, String)>,
    /// What is measured.
    pub metric: String,
    /// Its unit, where that is known.
    pub unit: Option<String>,
    /// Which direction is good, where that is known.
    pub better: Option<Better>,
    /// One a value.
    pub labels: Labels,
    /// Whether labels name versions, so that equal ones are samples of one; else they number rows.
    pub named: bool,
    /// What was measured, in order.
    pub values: Vec<f64>,
    /// How many values are missing.
    pub missing: usize,
    /// The fewest and the most sessions that a value is from, where that is known.
    pub sessions: Option<(usize, usize)>,
    /// Whether values are those of sessions, each of several trials.
    pub of_sessions: bool,
}

impl DetectionSeries {
    /// Its keys and its metric.
    pub fn name(&self) -> String {
        let mut parts: Vec<&str> = self.keys.iter().map(|(_, value)| value.as_str()).collect();
        parts.push(&self.metric);
        parts.join(" ")
    }
}

/// What was asked to be searched.
pub enum DetectionInput {
    /// A table of numbers.
    Table(TableSource),
    /// Studies of the store, by name or number.
    Studies(Vec<String>),
}

impl DetectionInput {
    /// Files are taken for files, `-` for standard input, other names for studies.
    ///
    /// # Errors
    /// Several inputs of which one is a file.
    pub fn from_arguments(named: &[String]) -> miette::Result<Self> {
        let is_file = |name: &String| name == "-" || Path::new(name).exists();
        match named {
            [only] if only == "-" => Ok(Self::Table(TableSource::Stdin)),
            [only] if is_file(only) => Ok(Self::Table(TableSource::Path(PathBuf::from(only)))),
            several if several.iter().any(is_file) && several.len() > 1 => Err(miette::miette!(
                help = "put the series into one table and name them by a column: `--series COLUMN`",
                "several inputs, and not all of them are studies"
            )),
            studies => Ok(Self::Studies(studies.to_vec())),
        }
    }
}

/// The cells' metrics of one study, trial by trial: what drifts within it. Where it was measured in several boots or sessions,
/// which differ by more than their trials do, one by one.
fn within(study: &ResultSet) -> Vec<DetectionSeries> {
    study.series.iter().map(within_cell).collect()
}

fn within_cell(cell: &CellSeries) -> DetectionSeries {
    let mut series = of_cell(cell);
    let sittings = sittings(&cell.trials);
    let mut put = |label: String, of: &[&TrialSamples]| match value(of.iter().copied()) {
        Some(value) => {
            series.labels.push(&label);
            series.values.push(value);
        }
        None => series.missing += 1,
    };
    if sittings.len() < 2 {
        for trial in &cell.trials {
            put(format!("trial {}", trial.trial), &[trial]);
        }
        return series;
    }
    let has_boots = sittings.iter().any(|(boot, _)| *boot != sittings[0].0);
    let has_sessions = sittings
        .iter()
        .any(|(_, session)| *session != sittings[0].1);
    for (boot, session) in &sittings {
        let trials = cell.trials.iter();
        let of = trials.filter(|trial| (trial.boot, trial.session) == (*boot, *session));
        let label = match (has_boots, has_sessions) {
            (true, false) => format!("boot {boot}"),
            (false, _) => format!("session {session}"),
            (true, true) => format!("boot {boot}, session {session}"),
        };
        put(label, &of.collect::<Vec<_>>());
    }
    series.of_sessions = true;
    series
}

/// The cells' metrics of several studies, each study a version, in the order in which they were named.
fn over(studies: &[ResultSet]) -> Vec<DetectionSeries> {
    let mut cells: Vec<&CellSeries> = Vec::new();
    let same = |a: &CellSeries, b: &CellSeries| {
        a.cell.same_question(&b.cell) && a.metric == b.metric && a.unit == b.unit
    };
    for cell in studies.iter().flat_map(|study| &study.series) {
        if !cells.iter().any(|known| same(known, cell)) {
            cells.push(cell);
        }
    }
    let history = |cell: &&CellSeries| {
        let mut series = of_cell(cell);
        for study in studies {
            let measured = study.series.iter().find(|other| same(cell, other));
            let trials = measured.map_or(&[][..], |measured| &measured.trials);
            match value(trials.iter()) {
                Some(value) => {
                    series.labels.push(study.study_name.as_str());
                    series.values.push(value);
                    let count = sittings(trials).len();
                    let (fewest, most) = series.sessions.unwrap_or((count, count));
                    series.sessions = Some((fewest.min(count), most.max(count)));
                }
                None => series.missing += 1,
            }
        }
        series
    };
    cells.iter().map(history).collect()
}

fn of_cell(cell: &CellSeries) -> DetectionSeries {
    DetectionSeries {
        keys: vec![("cell".to_owned(), cell.cell.to_string())],
        metric: cell.metric.to_string(),
        unit: Some(cell.unit.to_string()),
        better: Some(cell.better),
        ..DetectionSeries::default()
    }
}

/// The boots and sessions that these trials were measured in, in order of time.
fn sittings(trials: &[TrialSamples]) -> IndexSet<(u32, u32)> {
    let measured = trials.iter().filter(|trial| !trial.values.is_empty());
    measured.map(|trial| (trial.boot, trial.session)).collect()
}

/// What stands for these trials: the mean of the means of the highest level that was repeated. A session with more trials, or a
/// trial with more iterations, weighs no more.
fn value<'a>(trials: impl Iterator<Item = &'a TrialSamples>) -> Option<f64> {
    let side = side_of(trials, 1.0).ok()?;
    let units = Samples::new(side.units().means).ok()?;
    Some(version_value(&units))
}

/// Series that come one after the other.
pub struct DetectionStream(Origin);

enum Origin {
    TableReader {
        stream: Box<SeriesStream>,
        named: bool,
        better: Option<Better>,
    },
    Studies(std::vec::IntoIter<DetectionSeries>),
}

impl DetectionStream {
    /// Those of a table.
    ///
    /// # Errors
    /// It can't be read, or has no such columns.
    pub fn open_table(
        source: &TableSource,
        reading: ReadOptions,
        columns: &ColumnRoles,
        better: Option<Better>,
    ) -> Result<Self, TableError> {
        let stream = table::series(TableReader::open(source, reading)?, columns)?;
        let named =
            columns.label.is_some() || columns.order.is_some() || stream.guessed_label().is_some();
        Ok(Self(Origin::TableReader {
            stream: Box::new(stream),
            named,
            better,
        }))
    }

    /// Those of a study, trial by trial; or of several studies, of which each is a version.
    pub fn from_studies(sets: &[ResultSet], better: Option<Better>) -> Self {
        let mut series = match sets {
            [only] => within(only),
            several => over(several),
        };
        if let Some(better) = better {
            series.iter_mut().for_each(|one| one.better = Some(better));
        }
        Self(Origin::Studies(series.into_iter()))
    }

    /// The names of the columns that name the series.
    pub fn keys(&self) -> Vec<String> {
        match &self.0 {
            Origin::TableReader { stream, .. } => stream.keys().to_vec(),
            Origin::Studies(_) => vec!["cell".to_owned()],
        }
    }

    /// The column that was taken for the versions' names without having been asked for.
    pub fn guessed_label(&self) -> Option<&str> {
        match &self.0 {
            Origin::TableReader { stream, .. } => stream.guessed_label(),
            Origin::Studies(_) => None,
        }
    }
}

impl Iterator for DetectionStream {
    type Item = miette::Result<DetectionSeries>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Origin::Studies(series) => series.next().map(Ok),
            Origin::TableReader {
                stream,
                named,
                better,
            } => {
                let read = stream.next()?.into_diagnostic();
                Some(read.map(|series| DetectionSeries {
                    keys: stream.keys().iter().cloned().zip(series.keys).collect(),
                    metric: series.column,
                    unit: None,
                    better: *better,
                    labels: series.labels,
                    named: *named,
                    values: series.values,
                    missing: series.missing,
                    sessions: None,
                    of_sessions: false,
                }))
            }
        }
    }
}
