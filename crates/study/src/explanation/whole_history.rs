//! How what goes along with one change goes along with the metric over all versions of the study.

use backsight_model::StudyHistory;
use backsight_policy::{
    ComparisonRow,
    explain::{Candidate, ChangeSides},
};
use backsight_profile::FunctionKey;
use backsight_report::explain::NamedCorrelate;
use backsight_stats::{Confidence, PartialCorrelation, partial_correlation};
use std::collections::{BTreeMap, HashMap};

use super::{Side, candidates, change_sides, function_candidates};

/// Fewer versions say nothing.
const FEWEST_VERSIONS: usize = 6;

/// All trials of a study along a history.
pub(super) struct WholeHistory {
    /// The trials.
    pub trials: Side,
    /// The place of each trial's version in the history.
    pub versions: HashMap<u32, usize>,
}

impl WholeHistory {
    /// Whether the versions of a study are one line, measured on one testbed: drift along it is held fixed by their order.
    pub(super) fn is_one_line(history: &StudyHistory) -> bool {
        let versions = &history.versions;
        versions.len() >= FEWEST_VERSIONS
            && versions.iter().all(|version| version.is_plain())
            && history.testbeds.len() < 2
    }

    /// Adds to each correlate of a row its correlation with the metric over the means of versions, with their order held fixed.
    pub(super) fn add_correlations(
        &self,
        row: &ComparisonRow,
        functions: &[FunctionKey],
        correlates: &mut [NamedCorrelate],
    ) {
        if correlates.is_empty() {
            return;
        }
        let all = &self.trials;
        let change = change_sides(all, all, row);
        let mut seen = candidates(all, all, row);
        seen.extend(function_candidates(all, all, row, functions));
        for correlate in correlates {
            let found = seen.iter().map(|seen| &seen.candidate).find(|candidate| {
                candidate.kind == correlate.kind && candidate.name == correlate.name
            });
            correlate.over_versions = found.and_then(|it| self.correlation(&change, it));
        }
    }

    fn correlation(
        &self,
        change: &ChangeSides,
        candidate: &Candidate,
    ) -> Option<PartialCorrelation> {
        let mut by_version: BTreeMap<usize, Vec<(f64, f64)>> = BTreeMap::new();
        for (trial, value, metric) in change.followed(candidate) {
            let version = self.versions.get(&trial)?;
            by_version
                .entry(*version)
                .or_default()
                .push((value, metric));
        }
        if by_version.len() < FEWEST_VERSIONS {
            return None;
        }
        let mean = |of: fn(&(f64, f64)) -> f64| -> Vec<f64> {
            let means = by_version.values();
            means
                .map(|trials| trials.iter().map(of).sum::<f64>() / trials.len() as f64)
                .collect()
        };
        let order: Vec<f64> = by_version.keys().map(|version| *version as f64).collect();
        let (values, metric) = (mean(|it| it.0), mean(|it| it.1));
        partial_correlation(&values, &metric, &order, Confidence::USUAL).ok()
    }
}
