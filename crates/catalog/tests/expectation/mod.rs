//! What a person reads in a recorded output, as data.
//!
//! `fixtures/sysbench-cpu/two-threads.toml` belongs to the only other file of its folder with the stem `two-threads`, and has one of
//! three tables: `[samples]`, each metric's value, or a table with the value and the interval samples (`each`), in the order of
//! the definition; `[tests]`, how many tests of a suite ended how; `[missing]`, of a run that went wrong, the metric that is
//! missed first and a part of the message. A quotient is written as it is calculated: `"102176 / 1.550"`.
//!
//! `usage` is what the system counted. Where a definition reads several outputs, `outputs` says which file has which.

use backsight_model::{MetricName, ResourceUsage};
use indexmap::IndexMap;
use serde::Deserialize;
use std::{collections::BTreeMap, fmt, fs, path::PathBuf};

/// A recorded output and what a person reads in it.
pub struct Fixture {
    /// The benchmark's name, which is its folder's.
    pub benchmark: String,
    /// That folder.
    pub folder: PathBuf,
    /// The recorded file's name.
    pub output: String,
    pub expected: Expectation,
}

impl fmt::Display for Fixture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.benchmark, self.output)
    }
}

/// What a person reads in an output.
#[derive(Deserialize)]
pub struct Expectation {
    /// What the system counted of the steps.
    #[serde(default)]
    pub usage: Usage,
    /// File by source, where there are several sources.
    #[serde(default)]
    pub outputs: BTreeMap<String, String>,
    #[serde(flatten)]
    pub reading: Reading,
}

/// Samples, a suite's results, or none.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reading {
    Samples(IndexMap<MetricName, ExpectedSample>),
    Tests(ExpectedTests),
    Missing { metric: MetricName, message: String },
}

/// How many tests ended how.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedTests {
    pub failed: f64,
    pub passed: f64,
    pub skipped: f64,
    pub notrun: f64,
}

/// A metric's value and its interval samples.
#[derive(Deserialize)]
#[serde(untagged)]
pub enum ExpectedSample {
    Value(Number),
    WithEach { value: Number, each: Vec<Number> },
}

impl ExpectedSample {
    pub fn value(&self) -> f64 {
        match self {
            Self::Value(value) | Self::WithEach { value, .. } => value.get(),
        }
    }

    pub fn each(&self) -> Vec<f64> {
        match self {
            Self::Value(_) => Vec::new(),
            Self::WithEach { each, .. } => each.iter().map(Number::get).collect(),
        }
    }
}

/// A number, or a quotient of two.
#[derive(Deserialize)]
#[serde(untagged)]
pub enum Number {
    Plain(f64),
    Quotient(String),
}

impl Number {
    fn get(&self) -> f64 {
        match self {
            Self::Plain(number) => *number,
            Self::Quotient(text) => {
                let (value, per) = text.split_once(" / ").expect(text);
                let number = |text: &str| text.parse::<f64>().expect(text);
                number(value) / number(per)
            }
        }
    }
}

/// What the system counted.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Usage {
    wall: f64,
    user: f64,
    sys: f64,
    maxrss: u64,
}

impl From<Usage> for ResourceUsage {
    fn from(usage: Usage) -> Self {
        Self {
            wall: usage.wall,
            user: usage.user,
            sys: usage.sys,
            maxrss: usage.maxrss,
            ..Self::default()
        }
    }
}

/// All fixtures: every recorded file with its expectation.
///
/// # Panics
/// A recorded file has no expectation, or an expectation no recorded file of its own.
pub fn fixtures() -> Vec<Fixture> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let folders = fs::read_dir(root).unwrap().map(|folder| folder.unwrap());
    folders
        .flat_map(|folder| of_folder(folder.path()))
        .collect()
}

fn of_folder(folder: PathBuf) -> Vec<Fixture> {
    let files = fs::read_dir(&folder).unwrap();
    let files = files.map(|file| PathBuf::from(file.unwrap().file_name()));
    let (expectations, mut outputs): (Vec<PathBuf>, Vec<PathBuf>) =
        files.partition(|file| file.extension().is_some_and(|it| it == "toml"));
    let mut fixtures = Vec::new();
    for file in expectations {
        let path = folder.join(&file);
        let place = path.display();
        let expected: Expectation = toml::from_str(&fs::read_to_string(&path).unwrap())
            .unwrap_or_else(|error| panic!("{place}: {error}"));
        let mut own = Vec::new();
        outputs.retain(|output| {
            let is_own = output.file_stem() == file.file_stem()
                || (expected.outputs.values()).any(|named| output.as_os_str() == named.as_str());
            if is_own {
                own.push(output.display().to_string());
            }
            !is_own
        });
        let output = match (&own[..], expected.outputs.is_empty()) {
            ([only], _) => only.clone(),
            ([first, ..], false) => first.clone(),
            _ => panic!("{place}: one recorded output with this stem, instead of {own:?}"),
        };
        fixtures.push(Fixture {
            benchmark: folder.file_name().unwrap().display().to_string(),
            folder: folder.clone(),
            output,
            expected,
        });
    }
    let folder = folder.display();
    assert!(
        outputs.is_empty(),
        "{folder}: {outputs:?} without expectations: put OUTPUT.toml beside OUTPUT.txt"
    );
    fixtures
}
