//! What the hosts were, as a table: one column for hosts that were the same, one row a fact.
//!
//! Facts that differ between columns come first.

use backsight_model::HostName;
use backsight_report::{clipped, numbers};
use indexmap::IndexMap;

use crate::report::ReportStudy;

type Facts = IndexMap<String, String>;

/// Facts that are shown at once, in this order; so is whatever differs between columns.
const FIRST: [&str; 9] = [
    "hostname",
    "os.name",
    "kernel.release",
    "cpu.model",
    "cpus",
    "memory.bytes",
    "virtualisation",
    "cpu.governor",
    "clock.source",
];

/// What the name of a fact about a program's version begins with.
const VERSION: &str = "version of ";

/// Characters of one fact that are shown.
const LONGEST_FACT: usize = 2000;
/// Most facts and most columns of a page.
const MOST_FACTS: usize = 400;
const MOST_COLUMNS: usize = 24;

/// The table of facts.
pub(crate) struct Machines {
    /// The hosts of each column.
    pub columns: Vec<String>,
    /// What most readers want to know.
    pub first: Vec<FactRow>,
    /// The programs that measured.
    pub programs: Vec<FactRow>,
    /// All other facts.
    pub rest: Vec<FactRow>,
    /// Columns and facts that there is no room for.
    pub left_out: usize,
}

/// One fact of every column.
pub(crate) struct FactRow {
    pub name: String,
    /// One value a column; only one if all are the same.
    pub values: Vec<String>,
    pub differs: bool,
}

impl Machines {
    /// The hosts of these studies.
    pub fn from_studies(studies: &[ReportStudy]) -> Self {
        let mut columns: Vec<(Vec<String>, &Facts)> = Vec::new();
        for study in studies {
            for (host, facts) in &study.results.hosts {
                let label = label(study, host, studies.len());
                match columns.iter_mut().find(|(_, known)| *known == facts) {
                    Some((labels, _)) => labels.push(label),
                    None => columns.push((vec![label], facts)),
                }
            }
        }
        let mut left_out = columns.len().saturating_sub(MOST_COLUMNS);
        columns.truncate(MOST_COLUMNS);
        let mut names: Vec<&String> = Vec::new();
        for name in columns.iter().flat_map(|(_, facts)| facts.keys()) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        left_out += names.len().saturating_sub(MOST_FACTS);
        names.truncate(MOST_FACTS);
        let (mut first, mut programs, mut rest) = (Vec::new(), Vec::new(), Vec::new());
        let rank = |name: &str| FIRST.iter().position(|known| *known == name);
        names.sort_by_key(|name| rank(name).unwrap_or(FIRST.len()));
        for name in names {
            let row = FactRow::new(name, &columns);
            if name.starts_with(VERSION) {
                programs.push(row);
            } else if row.differs || rank(name).is_some() {
                first.push(row);
            } else {
                rest.push(row);
            }
        }
        Self {
            columns: columns
                .into_iter()
                .map(|(labels, _)| labels.join(", "))
                .collect(),
            first,
            programs,
            rest,
            left_out,
        }
    }
}

fn label(study: &ReportStudy, host: &HostName, studies: usize) -> String {
    if studies == 1 {
        host.to_string()
    } else {
        format!("{host} ({})", study.row.name)
    }
}

impl FactRow {
    fn new(name: &str, columns: &[(Vec<String>, &Facts)]) -> Self {
        let mut values: Vec<String> = columns
            .iter()
            .map(|(_, facts)| {
                facts
                    .get(name)
                    .map_or_else(|| "unknown".to_owned(), |value| readable(name, value))
            })
            .collect();
        let differs = values.windows(2).any(|pair| pair[0] != pair[1]);
        if !differs {
            values.truncate(1);
        }
        let name = name.strip_prefix(VERSION).unwrap_or(name);
        Self {
            name: clipped(name, 200),
            values,
            differs,
        }
    }
}

fn readable(name: &str, value: &str) -> String {
    match (name, value.parse()) {
        ("memory.bytes", Ok(bytes)) => numbers::size(bytes),
        _ => clipped(value, LONGEST_FACT),
    }
}
