//! Differences in how two sides were measured: the benchmark's definition, the tool's version, the set-up of a variant, the
//! monitors.

use backsight_model::{Cell, Definitions, KeyDifference, ResultSet, counted};
use std::fmt;

/// What a fact about a host is called that is the version of a benchmark's tool.
const VERSION_OF: &str = "version of ";

/// The part of a measurement that differs between two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MeasurementPart {
    /// What is run.
    Command,
    /// How the metric is taken from what was printed.
    Metric,
    /// Which version of the tool is run.
    Version,
    /// What a variant does before and after each trial.
    SetUp,
    /// What watches meanwhile.
    Monitors,
}

impl fmt::Display for MeasurementPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Command => "the command differs",
            Self::Metric => "the metric's definition differs",
            Self::Version => "the tool's version differs",
            Self::SetUp => "the variant's set-up differs",
            Self::Monitors => "the monitors differ",
        })
    }
}

/// A difference between how two sides were measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinitionChange {
    /// Which part.
    pub part: MeasurementPart,
    /// The benchmark, the variant or the monitor.
    pub of: String,
    /// The metric, where it is one's own.
    pub metric: Option<String>,
    /// What differs.
    pub keys: Vec<KeyDifference>,
}

impl fmt::Display for DefinitionChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subject = match self.part {
            MeasurementPart::Command => "the command of",
            MeasurementPart::Metric => "the metrics of",
            MeasurementPart::Version => "the tool's version of",
            MeasurementPart::SetUp => "the set-up of variant",
            MeasurementPart::Monitors => "the monitor",
        };
        write!(f, "{subject} `{}`, ", self.of)?;
        for (number, key) in self.keys.iter().enumerate() {
            let and = if number == 0 { "" } else { "; " };
            let shown = |value: &Option<String>, other: &Option<String>| match value {
                None => "nothing".to_owned(),
                Some(value) => format!("`{}`", unlike(value, other.as_deref().unwrap_or(""))),
            };
            let (base, new) = (shown(&key.base, &key.new), shown(&key.new, &key.base));
            write!(f, "{and}{}: {base} → {new}", key.key)?;
        }
        Ok(())
    }
}

/// The lines of a text that another hasn't at its beginning or end, as one line.
fn unlike(text: &str, other: &str) -> String {
    let (own, others): (Vec<&str>, Vec<&str>) = (text.lines().collect(), other.lines().collect());
    if own.len() < 2 && others.len() < 2 {
        return text.to_owned();
    }
    let same = |pair: &(&&str, &&str)| pair.0 == pair.1;
    let head = own.iter().zip(&others).take_while(same).count();
    let most = own.len().min(others.len()) - head;
    let tails = own.iter().rev().zip(others.iter().rev());
    let tail = tails.take_while(same).count().min(most);
    let middle = own[head..own.len() - tail].iter().map(|line| line.trim());
    middle.collect::<Vec<_>>().join(" ⏎ ")
}

/// All that differs between how two sets were measured. Parts of one study were measured the same way; what one of them
/// doesn't know, as an imported set, doesn't differ.
pub(super) fn changes(base: &ResultSet, new: &ResultSet) -> Vec<DefinitionChange> {
    if base.study == new.study {
        return Vec::new();
    }
    let mut changes = of_benchmarks(&base.definitions, &new.definitions);
    changes.extend(of_versions(base, new));
    changes.extend(of_variants(&base.definitions, &new.definitions));
    changes.extend(of_monitors(&base.definitions, &new.definitions));
    changes
}

fn of_benchmarks(base: &Definitions, new: &Definitions) -> Vec<DefinitionChange> {
    let mut changes = Vec::new();
    for (name, was) in &base.benchmarks {
        let Some(is) = new.benchmarks.get(name) else {
            continue;
        };
        let (of_metrics, of_command): (Vec<_>, Vec<_>) = was
            .differences(is)
            .into_iter()
            .partition(|key| key.key.starts_with("metric."));
        if !of_command.is_empty() {
            changes.push(DefinitionChange {
                part: MeasurementPart::Command,
                of: name.clone(),
                metric: None,
                keys: of_command,
            });
        }
        for key in of_metrics {
            let metric = key.key.split('.').nth(1).map(str::to_owned);
            match changes.last_mut() {
                Some(last)
                    if last.of == *name && last.metric.is_some() && last.metric == metric =>
                {
                    last.keys.push(key);
                }
                _ => changes.push(DefinitionChange {
                    part: MeasurementPart::Metric,
                    of: name.clone(),
                    metric,
                    keys: vec![key],
                }),
            }
        }
    }
    changes
}

/// The versions of each benchmark's tool, where both sides know them.
fn of_versions(base: &ResultSet, new: &ResultSet) -> Vec<DefinitionChange> {
    let of = |set: &ResultSet, benchmark: &str| {
        let fact = format!("{VERSION_OF}{benchmark}");
        let mut known: Vec<String> = set
            .hosts
            .values()
            .filter_map(|facts| facts.get(&fact).cloned())
            .collect();
        known.sort();
        known.dedup();
        (!known.is_empty()).then(|| known.join(", "))
    };
    let benchmarks = base.definitions.benchmarks.keys();
    let changes = benchmarks.filter_map(|benchmark| {
        let (was, is) = (of(base, benchmark)?, of(new, benchmark)?);
        (was != is).then(|| DefinitionChange {
            part: MeasurementPart::Version,
            of: benchmark.clone(),
            metric: None,
            keys: vec![KeyDifference {
                key: "version".into(),
                base: Some(was),
                new: Some(is),
            }],
        })
    });
    changes.collect()
}

/// Whether a fact about a host is the version of a tool, which is told as what differs in how it was measured.
pub(super) fn is_version(fact: &str) -> bool {
    fact.starts_with(VERSION_OF)
}

/// The variants that both have. Within one study their set-ups are what is asked about.
fn of_variants(base: &Definitions, new: &Definitions) -> Vec<DefinitionChange> {
    let both = base
        .variants
        .iter()
        .filter_map(|(name, was)| Some((name, was.differences(new.variants.get(name)?))));
    both.filter(|(_, keys)| !keys.is_empty())
        .map(|(name, keys)| DefinitionChange {
            part: MeasurementPart::SetUp,
            of: name.clone(),
            metric: None,
            keys,
        })
        .collect()
}

fn of_monitors(base: &Definitions, new: &Definitions) -> Vec<DefinitionChange> {
    let known = |definitions: &Definitions| !definitions.benchmarks.is_empty();
    if !(known(base) && known(new)) {
        return Vec::new();
    }
    let only_new = new.monitors.keys();
    let only_new = only_new.filter(|name| !base.monitors.contains_key(*name));
    let names = base.monitors.keys().chain(only_new);
    let changes = names.filter_map(|name| {
        let keys = match (base.monitors.get(name), new.monitors.get(name)) {
            (Some(was), Some(is)) => was.differences(is),
            (was, is) => {
                let watches = |it: bool| Some(if it { "yes" } else { "no" }.to_owned());
                vec![KeyDifference {
                    key: "watches".into(),
                    base: watches(was.is_some()),
                    new: watches(is.is_some()),
                }]
            }
        };
        (!keys.is_empty()).then(|| DefinitionChange {
            part: MeasurementPart::Monitors,
            of: name.clone(),
            metric: None,
            keys,
        })
    });
    changes.collect()
}

impl DefinitionChange {
    /// Whether it matters to a row.
    pub(super) fn concerns(&self, cell: &Cell, metric: &str) -> bool {
        match self.part {
            MeasurementPart::Monitors => true,
            MeasurementPart::SetUp => self.of == cell.variant.as_str(),
            _ => {
                self.of == cell.benchmark.as_str()
                    && self.metric.as_deref().is_none_or(|own| own == metric)
            }
        }
    }
}

/// What is said of so many rows that can't be compared for it, or are all the same.
pub(super) fn consequence(rows: usize, despite: bool) -> String {
    let rows = counted(rows, "row");
    match despite {
        true => format!("{rows} compared despite that"),
        false => format!("{rows} not comparable; `--despite definition` compares all the same"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_long_texts_only_what_is_unlike_is_shown() {
        let text = |middle: &str| format!("set -e\n{middle}\nexit 0");
        assert_eq!(unlike(&text("a"), &text("b")), "a");
        assert_eq!(unlike(&text("a\n  c"), &text("b")), "a ⏎ c");
        assert_eq!(unlike("one", "two"), "one");
        assert_eq!(unlike("a\nb", ""), "a ⏎ b");
        assert_eq!(unlike("a\na\na", "a\na"), "a");
    }
}
