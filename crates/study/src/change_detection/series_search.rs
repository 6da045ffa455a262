//! The search of one series: its values a version, and the changes among them.

use backsight_report::{
    change_points::{SeriesChanges, SeriesVersion},
    chart::{self, LevelChart},
};
use backsight_stats::{
    Samples,
    changes::{DetectionOptions, detect, version_value},
};
use std::collections::HashMap;

use super::input::DetectionSeries;

/// Searches a series.
pub fn find_changes(
    series: DetectionSeries,
    search: &DetectionOptions,
    with_svg: bool,
) -> SeriesChanges {
    let (labels, values) = versions(&series);
    let mut changes = unsearched(&series, &labels, &values);
    // The only way to fail is that there is no value at all: every one of them is finite.
    let Ok(found) = detect(&values, search) else {
        return changes;
    };
    if with_svg {
        let picture = LevelChart {
            title: series.name(),
            labels: &labels,
            values: &values,
            findings: &found,
        };
        changes.svg = Some(picture.svg());
    }
    changes.add_findings(found, &labels);
    changes
}

/// What is known of a series before it is searched.
fn unsearched(series: &DetectionSeries, labels: &[&str], values: &[f64]) -> SeriesChanges {
    SeriesChanges {
        keys: series.keys.clone(),
        metric: series.metric.clone(),
        unit: series.unit.clone(),
        better: series.better,
        versions: values.len(),
        samples: series.values.len(),
        missing: series.missing,
        sessions: series.sessions,
        of_sessions: series.of_sessions,
        changes: Vec::new(),
        epochs: Vec::new(),
        doubted: None,
        pending: None,
        trend: None,
        period: None,
        kept: 0.0,
        noise: 0.0,
        least_found: None,
        level: mean(values),
        last: values
            .len()
            .checked_sub(1)
            .map(|last| SeriesVersion::new(last, labels)),
        sparks: chart::sparks(values),
        svg: None,
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// One value a version: samples that bear the same name are of one, wherever they stand. Versions are in the order in
/// which they first come.
fn versions(series: &DetectionSeries) -> (Vec<&str>, Vec<f64>) {
    if !series.named {
        return (series.labels.iter().collect(), series.values.clone());
    }
    let mut places: HashMap<&str, usize> = HashMap::with_capacity(series.values.len());
    let mut labels: Vec<&str> = Vec::with_capacity(series.values.len());
    let mut of_versions: Vec<Vec<f64>> = Vec::new();
    let mut values: Vec<f64> = Vec::with_capacity(series.values.len());
    for (label, &value) in series.labels.iter().zip(&series.values) {
        match places.get(label) {
            None => {
                places.insert(label, labels.len());
                labels.push(label);
                values.push(value);
            }
            Some(&version) => {
                // Most series have one sample a version and need no lists.
                if of_versions.is_empty() {
                    of_versions.resize(series.values.len(), Vec::new());
                }
                let samples = &mut of_versions[version];
                if samples.is_empty() {
                    samples.push(values[version]);
                }
                samples.push(value);
            }
        }
    }
    for (value, samples) in values.iter_mut().zip(of_versions) {
        if let Ok(samples) = Samples::new(samples) {
            *value = version_value(&samples);
        }
    }
    (labels, values)
}
