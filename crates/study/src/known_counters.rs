//! Which series of samplers are counters: those that a metric of their monitor takes for one; of those that no metric names, the ones
//! that never fall in any trial that was read.

use backsight_catalog::{
    Monitors, known_counters,
    sampled_series::{MISSING, SampledSeries},
};
use backsight_model::MonitorName;
use backsight_store::{Store, StudyDocument, StudyRow};
use miette::IntoDiagnostic as _;
use std::collections::HashMap;

/// The series of a study's samplers, each with whether it is a counter by all that was read so far.
pub(crate) struct KnownCounters {
    monitors: Monitors,
    found: HashMap<MonitorName, HashMap<String, bool>>,
}

impl KnownCounters {
    /// With the definitions of a study's monitors, before anything was read.
    ///
    /// # Errors
    /// The store's own.
    pub(crate) async fn of_study(store: &Store, study: &StudyRow) -> miette::Result<Self> {
        let documents = store.documents(study.id).await.into_diagnostic()?;
        let monitors = StudyDocument::of_kind(&documents, "monitor").collect();
        Ok(Self {
            monitors: Monitors::from_documents(monitors).unwrap_or_default(),
            found: HashMap::new(),
        })
    }

    /// Takes note of what a sampler printed in one trial.
    pub(crate) fn read(&mut self, monitor: &MonitorName, sampled: &SampledSeries) {
        let definition = self.monitors.find(monitor).ok().flatten();
        let known = definition.map(|definition| known_counters(&definition, sampled));
        let known = known.unwrap_or_default();
        let found = self.found.entry(monitor.clone()).or_default();
        for (name, values) in &sampled.series {
            let known = known.get(name.as_str()).copied();
            let is_counter = known.unwrap_or_else(|| never_falls(values));
            match found.get_mut(name) {
                Some(all) => *all &= is_counter,
                None => {
                    found.insert(name.clone(), is_counter);
                }
            }
        }
    }

    /// Whether a series is a counter.
    pub(crate) fn is_counter(&self, monitor: &MonitorName, series: &str) -> bool {
        let of_monitor = self.found.get(monitor);
        of_monitor.is_some_and(|found| found.get(series) == Some(&true))
    }
}

fn never_falls(values: &[i64]) -> bool {
    let there = values.iter().filter(|value| **value != MISSING);
    there.is_sorted()
}
