//! A table for a person: a line a series, with mean, spread and count.

use backsight_model::{CellSeries, ResultSet, significant};
use backsight_stats::{Samples, Summary};

use super::{mean, measured, of_trial};

/// The study as a page.
pub fn page(set: &ResultSet) -> String {
    let mut text = format!("# {}\n\n", escaped(&set.name));
    text.push_str(
        "| cell | metric | mean | ± | least | most | trials |\n|---|---|--:|--:|--:|--:|--:|\n",
    );
    for series in measured(set) {
        text.push_str(&line(series));
    }
    if !set.failed.is_empty() {
        text.push_str("\n| failed | round | why |\n|---|--:|---|\n");
        for (_, round, cell, failure) in &set.failed {
            let (cell, why) = (escaped(&cell.to_string()), escaped(&failure.to_string()));
            text.push_str(&format!("| {cell} | {round} | {why} |\n"));
        }
    }
    text
}

/// Means are of trials: the samples of one trial aren't independent.
fn line(series: &CellSeries) -> String {
    let better = series.better;
    let values: Vec<f64> = series
        .trials
        .iter()
        .filter_map(|trial| of_trial(trial, better))
        .collect();
    let Ok(samples) = Samples::new(values) else {
        return String::new();
    };
    let summary = Summary::new(&samples, better);
    let center = mean(&summary, better);
    let unit = series.unit.readable_for(center);
    let factor = series.unit.in_terms_of(unit).unwrap_or(1.0);
    let shown = |value: f64| significant(value * factor, 4);
    let spread = summary.coeffvar.map_or("undefined".to_owned(), |percent| {
        format!("{}%", significant(percent, 2))
    });
    format!(
        "| {} | {}, {unit}, {better} is better | {} | {spread} | {} | {} | {} |\n",
        escaped(&series.cell.to_string()),
        escaped(series.metric.as_str()),
        shown(center),
        shown(summary.min),
        shown(summary.max),
        samples.n()
    )
}

/// A text that Markdown shows as it is, in one line.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '<' | '>' | '#' | '|' | '~' | '!' => {
                escaped.push('\\');
                escaped.push(c);
            }
            // A character reference: an ampersand would begin one.
            '&' => escaped.push_str("&amp;"),
            '@' => escaped.push_str("&#64;"),
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}
