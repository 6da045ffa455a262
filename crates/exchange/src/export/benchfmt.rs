//! Go's benchmark lines: a line a trial with all its metrics, which `benchstat` reads.
//!
//! Lines are what benchstat takes for independent samples, so a trial's samples are averaged first.

use backsight_model::{Cell, CellSeries, ResultSet, Unit};
use indexmap::{IndexMap, IndexSet};
use std::fmt::Write as _;

use super::{is_called, measured, of_trial, seconds};

/// The study as lines.
pub fn lines(set: &ResultSet) -> String {
    let mut units: IndexSet<String> = IndexSet::new();
    // A trial's metrics, in order of time.
    let mut trials: IndexMap<u32, (String, Vec<String>)> = IndexMap::new();
    for series in measured(set) {
        let (unit, factor) = unit_of(series);
        units.insert(format!("Unit {unit} better={}", series.better));
        for trial in &series.trials {
            let Some(value) = of_trial(trial, series.better) else {
                continue;
            };
            let entry = trials.entry(trial.trial);
            let (_, values) = entry.or_insert_with(|| (name(&series.cell), Vec::new()));
            values.push(format!("{} {unit}", value * factor));
        }
    }
    trials.sort_unstable_keys();
    let mut text = String::new();
    for unit in units {
        let _ = writeln!(text, "{unit}");
    }
    for (name, values) in trials.into_values() {
        let _ = writeln!(text, "{name} 1 {}", values.join(" "));
    }
    text
}

/// A unit's name there, and by what numbers are multiplied. benchstat scales what ends in `sec` or `B`.
fn unit_of(series: &CellSeries) -> (String, f64) {
    let metric = &series.metric;
    let converted = |to: &str| {
        let to = Unit::parse(to).ok()?;
        series.unit.in_terms_of(to)
    };
    if let Some(factor) = seconds(series.unit) {
        if is_called(metric, "time") {
            return ("sec/op".into(), factor);
        }
        return (format!("{}-sec", escaped(metric.as_str())), factor);
    }
    for (name, unit, called) in [
        ("speed", "B/s", "B/s"),
        ("allocated", "B", "B/op"),
        ("allocations", "count", "allocs/op"),
    ] {
        if let (true, Some(factor)) = (is_called(metric, name), converted(unit)) {
            return (called.into(), factor);
        }
    }
    let unit = series.unit.to_string();
    (
        format!("{}-{}", escaped(metric.as_str()), escaped_unit(&unit)),
        1.0,
    )
}

/// `BenchmarkIperf3-tcp/streams=10/variant=filter`.
fn name(cell: &Cell) -> String {
    let mut name = String::from("Benchmark");
    // A small letter there would make it no benchmark.
    let benchmark = cell.benchmark.as_str();
    name.extend(benchmark.chars().take(1).map(|c| c.to_ascii_uppercase()));
    name.push_str(benchmark.get(1..).unwrap_or_default());
    for (param, value) in &cell.params {
        let _ = write!(name, "/{param}={}", escaped(&value.to_string()));
    }
    if cell.set_up() != "default" {
        let _ = write!(name, "/variant={}", escaped(&cell.set_up()));
    }
    // A number behind a last dash would be taken for a number of processors.
    if let Some(dash) = name.rfind('-') {
        let digits = &name[dash + 1..];
        if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
            name.replace_range(dash..=dash, "%2D");
        }
    }
    name
}

/// A text without white space, slashes and what doesn't print, each as `%XX`.
fn escaped(text: &str) -> String {
    escaped_but(text, |c| c == '/')
}

fn escaped_unit(text: &str) -> String {
    escaped_but(text, |_| false)
}

fn escaped_but(text: &str, also: impl Fn(char) -> bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_whitespace() || c.is_control() || c == '%' || also(c) {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                let _ = write!(escaped, "%{byte:02X}");
            }
        } else {
            escaped.push(c);
        }
    }
    escaped
}
