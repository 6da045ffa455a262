//! Logs of programs that a benchmark of the catalogue runs too: its metrics are read by the rules of its definition, so that nobody
//! parses a program's output twice.
//!
//! What only a trial of ours has (times and memory that the system counted) isn't in a log. A log is of a benchmark if it has its primary
//! metrics; other metrics that it lacks are left out.

use backsight_catalog::{BenchmarkDefinition, Catalog};
use backsight_model::{BenchmarkName, Parser, Pick, Value};
use std::{collections::HashMap, sync::LazyLock};

use super::record::Record;

/// The definitions that come with the program, each compiled when it is first asked for.
static CATALOG: LazyLock<Option<Catalog>> = LazyLock::new(|| Catalog::load(&[]).ok());
/// Groups of a path that are no parameters.
const NOT_PARAMS: [&str; 5] = ["benchmark", "iteration", "side", "side_folder", "host"];
/// Shortest beginning of a name that says which program it is.
const SHORTEST: usize = 3;

/// Whose rules read a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LogReader {
    /// Those of the first of these benchmarks that the log has results of.
    Benchmarks(Vec<BenchmarkName>),
    /// Those of the first benchmark whose name is like the log's or its folder's.
    Alike,
}

fn definition(name: &BenchmarkName) -> Option<&'static BenchmarkDefinition> {
    CATALOG.as_ref()?.find(name).ok()?
}

/// Whether the catalogue has a benchmark of this name.
pub(super) fn is_known(name: &BenchmarkName) -> bool {
    definition(name).is_some()
}

/// The records of a log. `said` is what its path says: the name of the benchmark, and parameters. Where a program repeats what it
/// measures within one log, each of the repeats is a trial.
pub(super) fn records(
    reader: &LogReader,
    repeats: bool,
    text: &[u8],
    said: &HashMap<String, String>,
) -> Vec<Record> {
    let alike;
    let names = match reader {
        LogReader::Benchmarks(names) => names,
        LogReader::Alike => {
            alike = benchmarks_like(said);
            &alike
        }
    };
    let mut all = names.iter().filter_map(definition);
    all.find_map(|definition| records_by(definition, repeats, text, said))
        .unwrap_or_default()
}

fn records_by(
    definition: &BenchmarkDefinition,
    repeats: bool,
    text: &[u8],
    said: &HashMap<String, String>,
) -> Option<Vec<Record>> {
    let benchmark = &definition.benchmark;
    let name = said.get("benchmark");
    let name = name.map_or(benchmark.name.as_str(), String::as_str);
    let mut trials = 1;
    let mut records = Vec::new();
    for reading in definition.parsers.readings_of_text(text) {
        let Some(metric) = benchmark.metrics.get(&reading.metric) else {
            continue;
        };
        let (true, Some(sample)) = (
            !matches!(metric.parser, Parser::Resource(_)),
            reading.sample(),
        ) else {
            if metric.primary {
                return None;
            }
            continue;
        };
        let each = reading.each.and_then(|each| each.numbers.ok());
        let numbers = reading.summary.numbers.unwrap_or_default();
        let several = repeats && reading.pick == Pick::Last && numbers.len() > 1;
        if metric.primary && several {
            trials = numbers.len();
        }
        let samples: Vec<Vec<f64>> = match several {
            true if numbers.len() == trials => numbers.iter().map(|v| vec![*v]).collect(),
            // A metric that not every repeat has can't be said to be of one of them.
            true => continue,
            false if trials > 1 => continue,
            false => vec![vec![sample]],
        };
        records.push(Record {
            benchmark: name.to_owned(),
            params: params(said),
            variant: None,
            side: None,
            metric: Some(reading.metric.to_string()),
            unit: Some(metric.unit.to_string()),
            better: Some(metric.better),
            about: (!metric.about.is_empty()).then(|| metric.about.clone()),
            primary: metric.primary,
            spare: false,
            usual_unit: false,
            note: None,
            each: match each {
                Some(each) if samples.len() == 1 => vec![each],
                _ => Vec::new(),
            },
            trials: samples,
            rounds: Vec::new(),
            hosts: Vec::new(),
            failed: None,
        });
    }
    (!records.is_empty()).then_some(records)
}

/// The parameters that a path says, numbers as numbers.
pub(super) fn params(said: &HashMap<String, String>) -> Vec<(String, Value)> {
    let mut said: Vec<_> = said
        .iter()
        .filter(|(name, value)| !NOT_PARAMS.contains(&name.as_str()) && !value.is_empty())
        .collect();
    said.sort();
    let value = |text: &str| match text.parse() {
        Ok(whole) => Value::Integer(whole),
        Err(_) => Value::Text(text.to_owned()),
    };
    said.into_iter()
        .map(|(name, text)| (name.clone(), value(text)))
        .collect()
}

/// The benchmarks that are called like a log or its folder, those that are most alike first: `redis` is like `redis-benchmark`, `dbench4`
/// like `dbench`.
fn benchmarks_like(said: &HashMap<String, String>) -> Vec<BenchmarkName> {
    let Some(catalog) = CATALOG.as_ref() else {
        return Vec::new();
    };
    let of_log = ["benchmark", "log"].map(|group| said.get(group).map(|name| plain(name)));
    let mut alike: Vec<(usize, BenchmarkName)> = catalog
        .names()
        .into_iter()
        .filter_map(|name| {
            let ours = plain(name.as_str());
            let common = |theirs: &String| {
                let shorter = ours.len().min(theirs.len());
                let begins = ours.starts_with(&theirs[..]) || theirs.starts_with(&ours[..]);
                (begins && shorter >= SHORTEST).then_some(shorter)
            };
            let most = of_log.iter().flatten().filter_map(common).max()?;
            Some((most, name))
        })
        .collect();
    alike.sort_by_key(|(common, name)| (std::cmp::Reverse(*common), name.clone()));
    alike.into_iter().map(|(_, name)| name).collect()
}

/// A name without what people write differently.
fn plain(name: &str) -> String {
    name.chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(groups: &[(&str, &str)]) -> HashMap<String, String> {
        let groups = groups.iter();
        groups
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    fn like(benchmark: &str, log: &str) -> Vec<String> {
        let alike = benchmarks_like(&said(&[("benchmark", benchmark), ("log", log)]));
        alike.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_benchmark_is_known_by_a_name_that_is_like_its_own() {
        assert_eq!(like("stressng-context", "stressng-4")[0], "stress-ng");
        assert_eq!(like("fsmark-threaded", "x")[0], "fs-mark");
        assert_eq!(like("redis", "redis-SET")[0], "redis-benchmark");
        assert_eq!(like("network", "sockperf-tcp-64")[0], "sockperf");
        assert_eq!(like("dbench4", "dbench-1")[0], "dbench");
        assert!(like("aim9", "aim9").is_empty());
    }

    #[test]
    fn a_log_is_of_the_benchmark_whose_primary_metric_it_has() {
        let hackbench = LogReader::Benchmarks(vec!["hackbench".parse().unwrap()]);
        let path = said(&[("benchmark", "hackbench-pipes"), ("groups", "4")]);
        let found = records(&hackbench, true, b"Time: 1.5\nTime: 1.75\n", &path);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].trials, [[1.5], [1.75]]);
        assert_eq!(found[0].unit.as_deref(), Some("s"));
        assert_eq!(found[0].params, [("groups".to_owned(), Value::Integer(4))]);
        let last = records(&hackbench, false, b"Time: 1.5\nTime: 1.75\n", &path);
        assert_eq!(last[0].trials, [[1.75]]);
        assert!(records(&hackbench, true, b"Killed\n", &path).is_empty());
        assert!(records(&hackbench, true, b"\xff\0", &path).is_empty());
    }
}
