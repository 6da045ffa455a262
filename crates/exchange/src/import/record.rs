//! Records: what an importer's program says about the trials of one metric in one cell.
//!
//! A number that isn't finite, an unknown field, and a record without a metric are errors.

use backsight_catalog::QueryValue;
use backsight_model::{Better, Value};

/// The trials of one metric in one cell, as a file has them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Record {
    /// What was run, in the file's words.
    pub benchmark: String,
    /// Its parameters, in the file's words.
    pub params: Vec<(String, Value)>,
    /// The set-up, if the file knows any.
    pub variant: Option<String>,
    /// Which side of a comparison it is of: a set-up, where there are several among what is imported together.
    pub side: Option<String>,
    /// What was measured, in the file's words; none where nothing was, because it failed.
    pub metric: Option<String>,
    /// Its unit, in the file's words.
    pub unit: Option<String>,
    /// Whether the unit is the usual one, which the file doesn't say: a choice of another, also of another dimension, stands for it.
    pub usual_unit: bool,
    /// Which direction is good, if the format knows.
    pub better: Option<Better>,
    /// One line about the metric.
    pub about: Option<String>,
    /// Whether the benchmark is run for this metric.
    pub primary: bool,
    /// Whether it is one of many that the format can't say the direction or the unit of: where nobody says it, it is left out.
    pub spare: bool,
    /// The samples of each trial.
    pub trials: Vec<Vec<f64>>,
    /// The interval samples of each trial; none, or as many as `trials`.
    pub each: Vec<Vec<f64>>,
    /// The round of each trial, where the file knows it; none, or as many as `trials`.
    pub rounds: Vec<u32>,
    /// The host of each trial, where the file is of several; none, or as many as `trials`.
    pub hosts: Vec<Option<String>>,
    /// Why it gave no samples.
    pub failed: Option<String>,
    /// What whoever imports it should know, as a sentence.
    pub note: Option<String>,
}

const FIELDS: &[&str] = &[
    "benchmark",
    "params",
    "variant",
    "side",
    "metric",
    "unit",
    "usual_unit",
    "better",
    "about",
    "primary",
    "spare",
    "trials",
    "each",
    "rounds",
    "hosts",
    "failed",
    "note",
];

impl Record {
    /// A record out of what a program found. The error says what is wrong with it.
    pub fn read(found: &QueryValue) -> Result<Self, String> {
        let QueryValue::Table(fields) = found else {
            return Err(format!("{} stands where a record should", shown(found)));
        };
        if let Some((name, _)) = fields
            .iter()
            .find(|(name, _)| !FIELDS.contains(&name.as_str()))
        {
            return Err(format!("a record has no field `{}`", printable(name)));
        }
        let failed = text(found, "failed")?;
        let record = Self {
            benchmark: text(found, "benchmark")?.ok_or("it has no name (`benchmark`)")?,
            params: params(found.get("params"))?,
            variant: text(found, "variant")?,
            side: text(found, "side")?,
            metric: text(found, "metric")?,
            unit: text(found, "unit")?,
            usual_unit: truth(found, "usual_unit")?,
            better: better(found)?,
            about: text(found, "about")?,
            primary: truth(found, "primary")?,
            spare: truth(found, "spare")?,
            trials: lists(found, "trials")?,
            each: lists(found, "each")?,
            rounds: rounds(found)?,
            hosts: hosts(found)?,
            failed,
            note: text(found, "note")?,
        };
        record.checked()
    }

    fn checked(self) -> Result<Self, String> {
        let trials = self.trials.len();
        if self.failed.is_none() {
            if self.metric.is_none() {
                return Err("it doesn't say what was measured (`metric`)".into());
            }
            if self.trials.iter().all(Vec::is_empty) && self.each.iter().all(Vec::is_empty) {
                return Err("it has no samples".into());
            }
        }
        for (what, count) in [
            ("each", self.each.len()),
            ("rounds", self.rounds.len()),
            ("hosts", self.hosts.len()),
        ] {
            if count != 0 && count != trials && self.failed.is_none() {
                return Err(format!("it has {trials} trials and {count} of `{what}`"));
            }
        }
        Ok(self)
    }
}

fn text(found: &QueryValue, field: &str) -> Result<Option<String>, String> {
    match found.get(field) {
        None | Some(QueryValue::Nothing) => Ok(None),
        Some(QueryValue::Text(text)) => Ok(Some(text.clone())),
        Some(other) => Err(format!("`{field}` is {}, not a text", shown(other))),
    }
}

fn truth(found: &QueryValue, field: &str) -> Result<bool, String> {
    match found.get(field) {
        None | Some(QueryValue::Nothing) => Ok(false),
        Some(QueryValue::Truth(truth)) => Ok(*truth),
        Some(other) => Err(format!("`{field}` is {}, not true or false", shown(other))),
    }
}

fn better(found: &QueryValue) -> Result<Option<Better>, String> {
    text(found, "better")?
        .map(|text| {
            text.parse()
                .map_err(|_| format!("`{}` is neither `lower` nor `higher`", printable(&text)))
        })
        .transpose()
}

fn params(found: Option<&QueryValue>) -> Result<Vec<(String, Value)>, String> {
    let entries = match found {
        None | Some(QueryValue::Nothing) => return Ok(Vec::new()),
        Some(QueryValue::Table(entries)) => entries,
        Some(other) => return Err(format!("`params` is {}, not an object", shown(other))),
    };
    let mut params = Vec::new();
    for (name, value) in entries {
        let value = match value {
            QueryValue::Nothing => continue,
            QueryValue::Truth(truth) => Value::Bool(*truth),
            QueryValue::Whole(whole) => Value::Integer(*whole),
            QueryValue::Number(number) if number.is_finite() => Value::Float(*number),
            // A parameter may be called so.
            QueryValue::Number(number) => Value::Text(number.to_string()),
            QueryValue::Text(text) => Value::Text(text.clone()),
            other => {
                return Err(format!(
                    "the parameter `{}` is {}, not one value",
                    printable(name),
                    shown(other)
                ));
            }
        };
        params.push((name.clone(), value));
    }
    Ok(params)
}

/// Lists of numbers; `null` in the place of a list, or in one, is a value that is missing.
fn lists(found: &QueryValue, field: &str) -> Result<Vec<Vec<f64>>, String> {
    let outer = match found.get(field) {
        None | Some(QueryValue::Nothing) => return Ok(Vec::new()),
        Some(QueryValue::List(outer)) => outer,
        Some(other) => return Err(format!("`{field}` is {}, not a list", shown(other))),
    };
    outer
        .iter()
        .enumerate()
        .map(|(number, trial)| match trial {
            QueryValue::Nothing => Ok(Vec::new()),
            QueryValue::List(values) => values
                .iter()
                .filter(|value| !matches!(value, QueryValue::Nothing))
                .map(|value| finite(value).map_err(|why| format!("trial {}: {why}", number + 1)))
                .collect(),
            value => Ok(vec![
                finite(value).map_err(|why| format!("trial {}: {why}", number + 1))?,
            ]),
        })
        .collect()
}

fn finite(value: &QueryValue) -> Result<f64, String> {
    match value {
        QueryValue::Whole(whole) => Ok(*whole as f64),
        QueryValue::Number(number) if number.is_finite() => Ok(*number),
        QueryValue::Number(number) => Err(format!("{number} is no measured value")),
        other => Err(format!("{} stands where a number should", shown(other))),
    }
}

fn rounds(found: &QueryValue) -> Result<Vec<u32>, String> {
    let rounds = match found.get("rounds") {
        None | Some(QueryValue::Nothing) => return Ok(Vec::new()),
        Some(QueryValue::List(rounds)) => rounds,
        Some(other) => return Err(format!("`rounds` is {}, not a list", shown(other))),
    };
    let round = |value: &QueryValue| match value {
        QueryValue::Whole(whole) => u32::try_from(*whole).ok().filter(|round| *round > 0),
        _ => None,
    };
    rounds
        .iter()
        .map(|value| round(value).ok_or_else(|| format!("{} is no round", shown(value))))
        .collect()
}

fn hosts(found: &QueryValue) -> Result<Vec<Option<String>>, String> {
    let hosts = match found.get("hosts") {
        None | Some(QueryValue::Nothing) => return Ok(Vec::new()),
        Some(QueryValue::List(hosts)) => hosts,
        Some(other) => return Err(format!("`hosts` is {}, not a list", shown(other))),
    };
    let host = |value: &QueryValue| match value {
        QueryValue::Nothing => Ok(None),
        QueryValue::Text(name) => Ok(Some(name.clone())),
        other => Err(format!("{} is no host", shown(other))),
    };
    hosts.iter().map(host).collect()
}

/// A value, as a message names it.
pub(super) fn shown(found: &QueryValue) -> String {
    match found {
        QueryValue::Nothing => "nothing (null)".into(),
        QueryValue::Truth(truth) => truth.to_string(),
        QueryValue::Whole(whole) => whole.to_string(),
        QueryValue::Number(number) => number.to_string(),
        QueryValue::Text(text) => format!("the text `{}`", printable(text)),
        QueryValue::List(_) => "a list".into(),
        QueryValue::Table(_) => "an object".into(),
    }
}

/// The beginning of a text that others wrote, without anything that acts on a terminal.
pub(super) fn printable(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut short: String = text.chars().take(LONGEST).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short.escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(fields: &[(&str, QueryValue)]) -> QueryValue {
        let fields = fields.iter().map(|(k, v)| ((*k).to_owned(), v.clone()));
        QueryValue::Table(fields.collect())
    }

    fn said(text: &str) -> QueryValue {
        QueryValue::Text(text.into())
    }

    #[test]
    fn a_record_is_read_whole_and_missing_values_are_missing() {
        let found = table(&[
            ("benchmark", said("b")),
            ("metric", said("time")),
            ("unit", said("ms")),
            ("better", said("lower")),
            (
                "params",
                table(&[("n", QueryValue::Whole(3)), ("x", QueryValue::Nothing)]),
            ),
            (
                "trials",
                QueryValue::List(vec![
                    QueryValue::Number(1.5),
                    QueryValue::List(vec![QueryValue::Whole(2), QueryValue::Nothing]),
                    QueryValue::Nothing,
                ]),
            ),
        ]);
        let record = Record::read(&found).unwrap();
        assert_eq!(record.trials, [vec![1.5], vec![2.0], vec![]]);
        assert_eq!(record.params, [("n".to_owned(), Value::Integer(3))]);
        assert_eq!(record.better, Some(Better::Lower));
    }

    #[test]
    fn what_is_wrong_with_a_record_is_said() {
        let with = |field: &str, value: QueryValue| {
            let mut fields = vec![
                ("benchmark".to_owned(), said("b")),
                ("metric".to_owned(), said("time")),
                (
                    "trials".to_owned(),
                    QueryValue::List(vec![QueryValue::Whole(1)]),
                ),
            ];
            fields.retain(|(name, _)| name != field);
            fields.push((field.to_owned(), value));
            Record::read(&QueryValue::Table(fields)).unwrap_err()
        };
        let trials = |value| {
            with(
                "trials",
                QueryValue::List(vec![QueryValue::Whole(1), value]),
            )
        };
        assert!(trials(said("fast")).contains("trial 2: the text `fast` stands where a number"));
        assert!(trials(QueryValue::Number(f64::NAN)).contains("NaN is no measured value"));
        assert!(trials(QueryValue::Number(f64::INFINITY)).contains("inf is no measured value"));
        assert!(with("benchmark", QueryValue::Nothing).contains("no name"));
        assert!(with("metric", QueryValue::Nothing).contains("what was measured"));
        assert!(with("better", said("faster")).contains("neither `lower` nor `higher`"));
        assert!(with("primary", said("yes")).contains("not true or false"));
        assert!(with("trials", QueryValue::List(vec![])).contains("no samples"));
        assert!(
            with("rounds", QueryValue::List(vec![QueryValue::Whole(0)])).contains("0 is no round")
        );
        assert!(with("colour", said("red")).contains("no field `colour`"));
        assert!(
            Record::read(&said("x"))
                .unwrap_err()
                .contains("where a record should")
        );
    }
}
