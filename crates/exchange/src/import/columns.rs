//! Tables as results: a row is a sample, and columns say what it is of.
//!
//! | column | |
//! |---|---|
//! | `value` | the sample; other columns by `--value`, each a metric of its own |
//! | `benchmark`, `variant` | what was measured; else the file's name, and `default` |
//! | `param.NAME` | a parameter; other columns by `--param` |
//! | `metric`, `unit`, `better` | what the sample is of; else the value's column, `--unit` and `--better` |
//! | `trial`, `round` | rows of one trial have the same; else every row is a trial |
//! | `host` | the host that the trial was measured on; trials of two hosts are two, whatever they are called |
//! | `kind` | `interval` for interval samples within a trial; else `sample` |
//!
//! A table without a column of values, and an unknown column, are errors.

use backsight_model::Value;
use indexmap::IndexMap;
use std::{
    collections::{HashMap, HashSet},
    path::Path,
};

use super::{
    ImportChoices, ImportError, SourceFile,
    assembly::Assembly,
    record::{Record, printable},
};
use crate::table::{
    ReadOptions, TableError, TableField, TableFormat, TableReader, TableRows, TableSource,
};

/// Prefix of the columns that are parameters.
pub(crate) const PARAM: &str = "param.";
/// What the column `kind` says of interval samples.
pub(crate) const INTERVAL: &str = "interval";
/// What the column `kind` says of samples.
pub(crate) const SAMPLE: &str = "sample";
/// Most samples of one table.
const MOST_VALUES: usize = 50_000_000;
/// Columns whose names mean something.
const KNOWN: &[&str] = &[
    "benchmark",
    "variant",
    "metric",
    "unit",
    "better",
    "trial",
    "round",
    "kind",
    "host",
];

/// Where the columns of a table are, among those that are read.
struct Layout {
    wanted: Vec<usize>,
    /// Columns with a meaning of their own.
    known: HashMap<&'static str, usize>,
    /// Parameters by name.
    params: Vec<(String, usize)>,
    /// Columns with values, by name.
    values: Vec<(String, usize)>,
    unused: Vec<String>,
}

impl Layout {
    fn new(table: &TableReader, choices: &ImportChoices) -> Result<Self, TableError> {
        let mut layout = Self {
            wanted: Vec::new(),
            known: HashMap::new(),
            params: Vec::new(),
            values: Vec::new(),
            unused: Vec::new(),
        };
        let usual = ["value".to_owned()];
        let values = match &choices.values[..] {
            [] => &usual[..],
            chosen => chosen,
        };
        for name in values {
            if layout.values.iter().any(|(known, _)| known == name) {
                continue;
            }
            let column = layout.want(table.column(name)?);
            layout.values.push((name.clone(), column));
        }
        for name in &choices.params {
            if layout.params.iter().any(|(known, _)| known == name) {
                continue;
            }
            let column = layout.want(table.column(name)?);
            layout.params.push((name.clone(), column));
        }
        for (index, name) in table.columns().iter().enumerate() {
            if layout.wanted.contains(&index) {
                continue;
            }
            if let Some(known) = KNOWN.iter().find(|known| *known == name) {
                let column = layout.want(table.column(name)?);
                layout.known.insert(known, column);
            } else if let Some(param) = name.strip_prefix(PARAM) {
                let column = layout.want(index);
                layout.params.push((param.to_owned(), column));
            } else {
                layout.unused.push(name.clone());
            }
        }
        Ok(layout)
    }

    fn want(&mut self, index: usize) -> usize {
        self.wanted.push(index);
        self.wanted.len() - 1
    }
}

/// Adds the samples of a table.
pub(super) fn add(
    format: TableFormat,
    path: &Path,
    choices: &ImportChoices,
    assembly: &mut Assembly<'_>,
) -> Result<(), ImportError> {
    if path.is_dir() {
        return Err(ImportError::new(path, "this is a folder, not a table").help("name a file"));
    }
    let file = SourceFile::open(path)?;
    let reading = ReadOptions {
        format: Some(format),
        header: None,
    };
    let table = TableReader::open(&TableSource::Path(path.to_owned()), reading).map_err(refused)?;
    let layout = Layout::new(&table, choices).map_err(refused)?;
    if !layout.unused.is_empty() {
        let unused: Vec<String> = layout
            .unused
            .iter()
            .map(|c| format!("`{}`", printable(c)))
            .collect();
        assembly.note(format!(
            "columns that weren't used: {} (`--param COLUMN` makes one a parameter, `--value COLUMN` a metric)",
            unused.join(", ")
        ));
    }
    let stem = path
        .file_stem()
        .map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let rows = table.rows(&layout.wanted).map_err(refused)?;
    let records = Gathered::from_rows(rows, &layout, &stem).map_err(refused)?;
    let files = assembly.begin_file([file]);
    if records.is_empty() {
        return Err(ImportError::new(path, "it has no rows with values"));
    }
    for record in records {
        assembly
            .add(record, &files)
            .map_err(|message| ImportError::new(path, message))?;
    }
    Ok(())
}

fn refused(error: TableError) -> ImportError {
    let mut refused = ImportError::of_all(error.to_string());
    if matches!(error, TableError::NoColumn { .. }) {
        refused.help = Some(
            "a table needs a column `value`, or say which columns have the values: --value COLUMN"
                .into(),
        );
    }
    refused
}

/// What tells the records of a table from one another.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    benchmark: String,
    variant: Option<String>,
    params: Vec<(String, String)>,
    metric: String,
    unit: Option<String>,
    better: Option<String>,
}

#[derive(Default)]
struct Gathered {
    records: IndexMap<Key, Record>,
    /// The place of a trial in its record.
    places: HashMap<(usize, u32), usize>,
    /// The rounds of the trials of a cell, where only trials are told, or rounds of several hosts.
    rounds: HashMap<(Key, Option<String>, String), u32>,
    /// The rounds of a cell that are taken.
    taken: HashMap<Key, HashSet<u32>>,
    last_round: HashMap<Key, u32>,
    values: usize,
}

impl Gathered {
    fn from_rows(
        mut rows: TableRows,
        layout: &Layout,
        stem: &str,
    ) -> Result<Vec<Record>, TableError> {
        let mut gathered = Self::default();
        while rows.advance()? {
            for (name, column) in &layout.values {
                let Some(value) = rows.number(*column)? else {
                    continue;
                };
                gathered.values += 1;
                if gathered.values > MOST_VALUES {
                    let what =
                        format!("there are more than {MOST_VALUES} samples: split the table");
                    return Err(rows.broken(*column, what));
                }
                gathered.add(&rows, layout, stem, name, value)?;
            }
        }
        Ok(gathered.records.into_values().collect())
    }

    fn add(
        &mut self,
        rows: &TableRows,
        layout: &Layout,
        stem: &str,
        column: &str,
        value: f64,
    ) -> Result<(), TableError> {
        let text = |name: &str| {
            let mut text = String::new();
            let column = layout.known.get(name)?;
            rows.field(*column).write_to(&mut text);
            (!text.is_empty()).then_some(text)
        };
        let params: Vec<(String, Value)> = layout
            .params
            .iter()
            .filter_map(|(name, column)| Some((name.clone(), param(rows.field(*column))?)))
            .collect();
        let key = Key {
            benchmark: text("benchmark").unwrap_or_else(|| stem.to_owned()),
            variant: text("variant"),
            params: params
                .iter()
                .map(|(name, value)| (name.clone(), format!("{value:?}")))
                .collect(),
            metric: text("metric").unwrap_or_else(|| column.to_owned()),
            unit: text("unit"),
            better: text("better"),
        };
        let better = match (&key.better, layout.known.get("better")) {
            (Some(text), Some(column)) => Some(text.parse().map_err(|_| {
                rows.broken(
                    *column,
                    format!("`{}` is neither `lower` nor `higher`", printable(text)),
                )
            })?),
            _ => None,
        };
        let interval = match (text("kind").as_deref(), layout.known.get("kind")) {
            (Some(INTERVAL), _) => true,
            (None | Some(SAMPLE), _) | (_, None) => false,
            (Some(other), Some(column)) => {
                let what = format!(
                    "`{}` is neither `{SAMPLE}` nor `{INTERVAL}`",
                    printable(other)
                );
                return Err(rows.broken(*column, what));
            }
        };
        let host = text("host");
        let round = self.round(rows, layout, &key, host.clone(), text("trial"))?;
        let entry = self.records.entry(key);
        let index = entry.index();
        let record = entry.or_insert_with_key(|key| Record {
            spare: false,
            usual_unit: false,
            note: None,
            benchmark: key.benchmark.clone(),
            params,
            variant: key.variant.clone(),
            side: None,
            metric: Some(key.metric.clone()),
            unit: key.unit.clone(),
            better,
            about: None,
            primary: false,
            trials: Vec::new(),
            each: Vec::new(),
            rounds: Vec::new(),
            hosts: Vec::new(),
            failed: None,
        });
        let place = match round {
            Some(round) => *self.places.entry((index, round)).or_insert_with(|| {
                record.rounds.push(round);
                record.trials.len()
            }),
            None => record.trials.len(),
        };
        if place == record.trials.len() {
            record.trials.push(Vec::new());
            record.each.push(Vec::new());
            if layout.known.contains_key("host") {
                record.hosts.push(host);
            }
        }
        if interval {
            record.each[place].push(value);
        } else {
            record.trials[place].push(value);
        }
        Ok(())
    }

    /// The round of a row: as it says, else that of its trial, if it says that. Hosts that count their rounds by themselves have
    /// rounds of their own.
    fn round(
        &mut self,
        rows: &TableRows,
        layout: &Layout,
        key: &Key,
        host: Option<String>,
        trial: Option<String>,
    ) -> Result<Option<u32>, TableError> {
        let cell = || Key {
            metric: String::new(),
            unit: None,
            better: None,
            ..key.clone()
        };
        if let Some(column) = layout.known.get("round") {
            let number = rows.number(*column)?;
            let round = number.filter(|n| n.fract() == 0.0 && (1.0..=1e9).contains(n));
            let Some(round) = round.map(|round| round as u32) else {
                return Err(rows.broken(*column, "a round is a whole number from 1"));
            };
            if host.is_none() {
                return Ok(Some(round));
            }
            let cell = cell();
            let last = self.last_round.entry(cell.clone()).or_default();
            let taken = self.taken.entry(cell.clone()).or_default();
            let of_host = (cell, host, round.to_string());
            let round = self.rounds.entry(of_host).or_insert_with(|| {
                let round = if taken.contains(&round) {
                    *last + 1
                } else {
                    round
                };
                taken.insert(round);
                *last = round.max(*last);
                round
            });
            return Ok(Some(*round));
        }
        let Some(trial) = trial else { return Ok(None) };
        let cell = cell();
        let last = self.last_round.entry(cell.clone()).or_default();
        let round = self.rounds.entry((cell, host, trial)).or_insert_with(|| {
            *last += 1;
            *last
        });
        Ok(Some(*round))
    }
}

/// The value of a parameter's cell. A text that would be read as something else is written as JSON.
fn param(field: TableField<'_>) -> Option<Value> {
    Some(match field {
        TableField::Missing => return None,
        TableField::Integer(whole) => Value::Integer(whole),
        TableField::Number(number) => Value::Float(number),
        TableField::Text(text) => match serde_json::from_str::<String>(text) {
            Ok(quoted) => Value::Text(quoted),
            Err(_) => Value::from_argument(text),
        },
    })
}

/// A parameter's value as a cell's text: what [`param`] reads as the same value.
pub(crate) fn param_text(value: &Value) -> String {
    match value {
        Value::Text(text) if ambiguous(text) => serde_json::Value::from(text.as_str()).to_string(),
        Value::Float(number) => format!("{number:?}"),
        value => value.to_string(),
    }
}

fn ambiguous(text: &str) -> bool {
    text.is_empty()
        || matches!(text, "NA" | "null")
        || text.starts_with('"')
        || text.trim() != text
        || !matches!(Value::from_argument(text), Value::Text(_))
}
