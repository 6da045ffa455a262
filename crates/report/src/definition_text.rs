//! Definitions as text: what a benchmark measures, what a monitor watches, and how they are run.

use backsight_model::{Benchmark, Monitor, Time, TomlDocument};

use crate::list_table;

/// A benchmark with its parameters, its metrics and its definition.
pub fn benchmark_text(
    benchmark: &Benchmark,
    document: &TomlDocument,
    width: Option<u16>,
) -> String {
    let mut text = format!("{}: {}\n\nroles     ", benchmark.name, benchmark.about);
    text.push_str(
        &benchmark
            .roles
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(", "),
    );
    for (system, packages) in &benchmark.needs {
        text.push_str(&format!("\nneeds     {} ({system})", packages.join(" ")));
    }
    if let Some(warm_up) = &benchmark.warm_up {
        text.push_str(&format!("\nwarm-up   {warm_up}"));
    }
    text.push_str("\n\n");
    let mut params = list_table(&["parameter", "default", "about"], width);
    for (name, param) in &benchmark.params {
        let mut about = param.about.clone();
        if !param.choices.is_empty() {
            let choices: Vec<String> = param.choices.iter().map(ToString::to_string).collect();
            about.push_str(&format!(" ({})", choices.join(", ")));
        }
        let unit = param.unit.as_deref().unwrap_or_default();
        params.add_row([name.to_string(), format!("{} {unit}", param.default), about]);
    }
    let mut metrics = list_table(&["metric", "unit", "better", "about"], width);
    for (name, metric) in &benchmark.metrics {
        metrics.add_row([
            name.to_string(),
            metric.unit.to_string(),
            metric.better.to_string(),
            metric.about.clone(),
        ]);
    }
    text.push_str(&format!(
        "{params}\n\n{metrics}\n\nhow it is run ({}):\n\n",
        document.name
    ));
    for line in document.text.lines() {
        text.push_str(&format!("    {line}\n"));
    }
    text
}

/// A monitor with what it needs and its definition.
pub fn monitor_text(monitor: &Monitor, document: &TomlDocument) -> String {
    let mut text = format!(
        "{}: {}\n\nwatches   the {}\n",
        monitor.name, monitor.about, monitor.watches
    );
    if monitor.has_interval() {
        let usual = Time(monitor.usual_interval());
        text.push_str(&format!("interval  {usual}"));
        if let Some(least) = monitor.least {
            text.push_str(&format!(", at least {least}"));
        }
        text.push('\n');
    }
    for (system, packages) in &monitor.needs {
        text.push_str(&format!("needs     {} ({system})\n", packages.join(" ")));
    }
    text.push_str(&format!("\nhow it is run ({}):\n\n", document.name));
    for line in document.text.lines() {
        text.push_str(&format!("    {line}\n"));
    }
    text
}
