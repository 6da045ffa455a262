//! A comparison for spreadsheets and data frames: one line for each cell, metric and side, every number in full.
//!
//! Columns, in order: `benchmark`, `params` (`name=value`, separated by spaces), `variant`, `metric`, `primary` (`true` if the
//! benchmark is run for it), `unit`, `better`, `side`, `study` (empty for a file of numbers), `status` (`measured` or `missing`), `reason` (why it is missing or not
//! comparable), `trials`, `samples`, `failed_trials`, `sessions` (of the side; empty for a file of numbers), `mean` (of the trials' values), `mean_kind` (`arithmetic` or
//! `harmonic`), `spread_percent` (the coefficient of variation of the trials' values), `spread_of` (`trials`, or `samples`
//! where there is one trial, or a file of numbers), `difference_percent` with `_low` and `_high` (new − base),
//! `ratio` with `_low` and `_high`, `difference` with `_low` and `_high` (of the arithmetic means, in the unit), `p`,
//! `p_over_table` (Benjamini and Hochberg), `p_ranks` (Mann and Whitney), `confidence`, `verdict` (`better`, `worse`,
//! `no change`, `can't tell`, `not comparable`), `sentence` (the verdict with its numbers), `no_change_larger_than_percent`,
//! `more` (about so many more would tell), `unit_of_replication` (`sample`, `trial`, `session`, `boot`, `layout` or `host`) with
//! `units_base` and `units` (how many each side has), `neighbours_percent`, and the summaries of all samples (`min` … `pctile_99`).
//! What is missing or undefined is empty. In a difference the beginning of a side that isn't like its rest is left out.
//!
//! Nothing is rounded, and nothing stands in for what is missing.

use backsight_policy::{
    BaselineRelation, Comparison, ComparisonRow, ComparisonSide, Difference, DifferenceCall, Doubt,
    MeasuredEntry, RowEntry,
};
use backsight_stats::{Interval, Level, Mean, Undefined};

use super::statistics;

const COLUMNS: &[&str] = &[
    "benchmark",
    "params",
    "variant",
    "metric",
    "primary",
    "unit",
    "better",
    "side",
    "study",
    "status",
    "reason",
    "trials",
    "samples",
    "failed_trials",
    "sessions",
    "mean",
    "mean_kind",
    "spread_percent",
    "spread_of",
    "difference_percent",
    "difference_percent_low",
    "difference_percent_high",
    "ratio",
    "ratio_low",
    "ratio_high",
    "difference",
    "difference_low",
    "difference_high",
    "p",
    "p_over_table",
    "p_ranks",
    "confidence",
    "verdict",
    "sentence",
    "no_change_larger_than_percent",
    "more",
    "unit_of_replication",
    "units_base",
    "units",
    "neighbours_percent",
];

/// So many of them are about the difference.
const RELATION: usize = 20;

pub fn render(comparison: &Comparison) -> String {
    let columns: Vec<String> = COLUMNS
        .iter()
        .map(|name| (*name).to_owned())
        .chain(statistics::keys())
        .collect();
    let mut lines = vec![columns.clone()];
    for row in &comparison.rows {
        for (entry, side) in row.entries.iter().zip(&comparison.sides) {
            let mut fields = place(row, entry, side);
            match entry {
                RowEntry::Measured(measured) => {
                    fields.extend(numbers(row, measured, side));
                    fields.extend(relation(measured));
                    fields.push((measured.neighbours * 100.0).to_string());
                    let statistics = statistics::summary_statistics(&measured.of_samples);
                    fields.extend(
                        statistics
                            .into_iter()
                            .map(|statistic| defined(statistic.value)),
                    );
                }
                RowEntry::Missing(_) => fields.resize(columns.len(), String::new()),
            }
            lines.push(fields);
        }
    }
    text_of(&lines)
}

fn text_of(lines: &[Vec<String>]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for line in lines {
        // Nothing can go wrong when memory is written to and every line has as many fields.
        let _ = writer.write_record(line);
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn place(row: &ComparisonRow, entry: &RowEntry, side: &ComparisonSide) -> Vec<String> {
    let params: Vec<String> = row
        .cell
        .params
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let measured = entry.measured();
    let (status, reason) = match entry {
        RowEntry::Missing(why) => ("missing", why.to_string()),
        RowEntry::Measured(measured) => match &measured.against {
            Some(BaselineRelation::NotComparable(why)) => ("measured", why.to_string()),
            _ => ("measured", String::new()),
        },
    };
    vec![
        row.cell.benchmark.to_string(),
        params.join(" "),
        row.cell.set_up().into_owned(),
        row.metric.to_string(),
        row.primary.to_string(),
        unit_of(row, measured),
        row.better.to_string(),
        side.name.clone(),
        side.study
            .as_ref()
            .map_or(String::new(), |study| study.name.to_string()),
        status.to_owned(),
        reason,
    ]
}

/// The unit of the numbers here; empty if nobody said it.
pub(super) fn unit_of(row: &ComparisonRow, measured: Option<&MeasuredEntry>) -> String {
    let unit = row
        .unit
        .map(|unit| measured.map_or(unit, |measured| measured.unit));
    unit.map_or(String::new(), |unit| unit.to_string())
}

fn numbers(row: &ComparisonRow, measured: &MeasuredEntry, side: &ComparisonSide) -> Vec<String> {
    let mean = match row.mean {
        Mean::Arithmetic => "arithmetic",
        Mean::Harmonic => "harmonic",
    };
    let level = match measured.level {
        Level::Sample => "samples",
        _ => "trials",
    };
    vec![
        measured.trials.to_string(),
        measured.samples.to_string(),
        measured.failed.to_string(),
        side.study
            .as_ref()
            .map_or(String::new(), |_| side.sessions.to_string()),
        measured.mean.to_string(),
        mean.to_owned(),
        defined(measured.spread),
        level.to_owned(),
    ]
}

fn relation(measured: &MeasuredEntry) -> Vec<String> {
    match &measured.against {
        Some(BaselineRelation::Compared(difference)) => {
            let Difference {
                percent,
                percent_interval,
                ratio,
                ratio_interval,
                ..
            } = &**difference;
            let mut fields = with_interval(*percent, *percent_interval);
            fields.extend(with_interval(*ratio, *ratio_interval));
            fields.extend(with_interval(
                Ok(difference.absolute),
                difference.absolute_interval,
            ));
            fields.push(defined(difference.p));
            fields.push(
                difference
                    .adjusted_p
                    .map_or(String::new(), |p| p.to_string()),
            );
            fields.push(difference.verdict.ranks.p.to_string());
            fields.push(difference.confidence.share().to_string());
            fields.extend(call(difference.call));
            let verdict = &difference.verdict;
            let (of_base, of_side) = verdict.units;
            fields.push(verdict.level.as_str().to_owned());
            fields.extend([of_base, of_side].map(|count| count.to_string()));
            fields
        }
        Some(BaselineRelation::NotComparable(why)) => {
            let mut fields = vec![String::new(); 13];
            fields.push("not comparable".to_owned());
            fields.push(format!("not comparable: {why}"));
            fields.resize(RELATION, String::new());
            fields
        }
        None => vec![String::new(); RELATION],
    }
}

fn call(call: DifferenceCall) -> [String; 4] {
    let (mut larger, mut more) = (String::new(), String::new());
    match call {
        DifferenceCall::NoChange {
            larger_than_percent,
        } => larger = larger_than_percent.to_string(),
        DifferenceCall::CannotTell(
            Doubt::More { count, .. } | Doubt::OneRun { more: count, .. },
        ) => {
            more = count.to_string();
        }
        _ => {}
    }
    [call.as_str().to_owned(), call.to_string(), larger, more]
}

fn with_interval(
    value: Result<f64, Undefined>,
    interval: Result<Interval, Undefined>,
) -> Vec<String> {
    vec![
        defined(value),
        defined(interval.map(|interval| interval.low)),
        defined(interval.map(|interval| interval.high)),
    ]
}

fn defined(value: Result<f64, Undefined>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}
