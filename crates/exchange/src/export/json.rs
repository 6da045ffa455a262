//! One JSON document: what was measured, trial by trial, and what failed.

use backsight_model::{Cell, ResultSet, Series};
use serde_json::{Map, Value as Json, json};

/// The number of this document's shape; another shape will have another number.
const SHAPE: u32 = 1;

/// The study as a document.
pub fn document(set: &ResultSet) -> String {
    let series: Vec<Json> = set.series.iter().map(series).collect();
    let failed: Vec<Json> = set
        .failed
        .iter()
        .map(|(trial, round, cell, failure)| {
            let mut entry = cell_entries(cell);
            entry.insert("trial".into(), json!(trial));
            entry.insert("round".into(), json!(round));
            entry.insert("failed".into(), json!(failure.to_string()));
            Json::Object(entry)
        })
        .collect();
    let document = json!({
        "backsight": SHAPE,
        "study": set.study_name.as_str(),
        "began": set.began.to_string(),
        "state": set.state.to_string(),
        "hosts": set.hosts,
        "series": series,
        "failed": failed,
    });
    format!("{document:#}\n")
}

fn series(series: &Series) -> Json {
    let trials: Vec<Json> = series
        .trials
        .iter()
        .map(|trial| {
            let mut entry =
                json!({"trial": trial.trial, "round": trial.round, "values": trial.values});
            if !trial.each.is_empty() {
                entry["each"] = json!(trial.each);
            }
            entry
        })
        .collect();
    let mut entry = cell_entries(&series.cell);
    entry.insert("metric".into(), json!(series.metric.as_str()));
    entry.insert("unit".into(), json!(series.unit.to_string()));
    entry.insert("better".into(), json!(series.better.as_str()));
    entry.insert("about".into(), json!(series.about));
    entry.insert("primary".into(), json!(series.primary));
    if let Some(simulator) = series.simulator {
        entry.insert("simulator".into(), json!(simulator.to_string()));
    }
    entry.insert("trials".into(), trials.into());
    Json::Object(entry)
}

fn cell_entries(cell: &Cell) -> Map<String, Json> {
    let mut entry = Map::new();
    entry.insert("benchmark".into(), json!(cell.benchmark.as_str()));
    entry.insert("variant".into(), json!(cell.variant.as_str()));
    entry.insert("params".into(), json!(cell.params));
    if let Some(monitors) = &cell.monitors {
        entry.insert("monitors".into(), json!(monitors));
    }
    entry
}
