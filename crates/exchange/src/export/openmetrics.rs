//! OpenMetrics text: a family a metric and unit, a point a sample.

use backsight_model::{CellSeries, ResultSet};
use indexmap::IndexMap;
use std::fmt::Write as _;

use super::measured;

/// The study as text.
pub fn text(set: &ResultSet) -> String {
    let mut families: IndexMap<(String, String), Vec<&CellSeries>> = IndexMap::new();
    for series in measured(set) {
        let unit = unit_name(&series.unit.to_string());
        let family = format!("backsight_{}_{unit}", name(series.metric.as_str()));
        families.entry((family, unit)).or_default().push(series);
    }
    let mut text = String::new();
    for ((family, unit), members) in families {
        let _ = write!(text, "# TYPE {family} gauge\n# UNIT {family} {unit}\n");
        if let Some(about) = members
            .iter()
            .map(|s| &s.about)
            .find(|about| !about.is_empty())
        {
            let _ = writeln!(text, "# HELP {family} {}", escaped(about));
        }
        for series in members {
            points(set, series, &family, &mut text);
        }
    }
    text.push_str("# EOF\n");
    text
}

fn points(set: &ResultSet, series: &CellSeries, family: &str, text: &mut String) {
    let mut labels: IndexMap<String, String> = [
        ("study", set.study_name.to_string()),
        ("benchmark", series.cell.benchmark.to_string()),
        ("variant", series.cell.set_up().into_owned()),
        ("metric", series.metric.to_string()),
        ("better", series.better.to_string()),
    ]
    .into_iter()
    .map(|(label, value)| (label.to_owned(), value))
    .collect();
    for (param, value) in &series.cell.params {
        // Two names may become one label: the second gets a number.
        let label = format!("param_{}", name(param.as_str()));
        let mut free = label.clone();
        let mut number = 2;
        while labels.contains_key(&free) {
            free = format!("{label}_{number}");
            number += 1;
        }
        labels.insert(free, value.to_string());
    }
    let shared: Vec<String> = labels
        .iter()
        .map(|(label, value)| format!("{label}=\"{}\"", escaped(value)))
        .collect();
    let shared = shared.join(",");
    for trial in &series.trials {
        for (number, value) in trial.values.iter().enumerate() {
            let (trial, round, sample) = (trial.trial, trial.round, number + 1);
            let _ = writeln!(
                text,
                "{family}{{{shared},trial=\"{trial}\",round=\"{round}\",sample=\"{sample}\"}} {value:?}"
            );
        }
    }
}

/// A name out of the characters that names there may have.
fn name(text: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.chars()
        .map(|c| if fits(c) { c } else { '_' })
        .collect()
}

fn unit_name(unit: &str) -> String {
    match unit {
        "%" => "percent".into(),
        "s" => "seconds".into(),
        "B" => "bytes".into(),
        "/s" => "per_second".into(),
        "°C" => "celsius".into(),
        _ => name(&unit.replace("/s", "_per_second").replace('µ', "u")),
    }
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => escaped.push_str("\\\\"),
            '"' => escaped.push_str("\\\""),
            '\n' => escaped.push_str("\\n"),
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}
