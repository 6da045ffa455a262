//! Series of a standing job: what was measured of a cell along the versions, and the steps that are suspected there.
//!
//! A step is suspected from less than what a step is told from ([`SUSPICION`]), because it is measured before it is told. Each
//! trial is a value of its own, up to a few a version: so that few versions with repeats can be searched too.

use backsight_stats::changes::{ChangeKind, DetectedChange, DetectionOptions, detect};
use std::{collections::BTreeMap, sync::OnceLock};

use super::parameters::SUSPICION;

/// What was measured of a cell, by version.
#[derive(Debug, Clone, Default)]
pub struct WatchSeries {
    /// Values of the trials in the order of time; none where every trial failed.
    values: BTreeMap<usize, Vec<f64>>,
    steps: OnceLock<Vec<SuspectedStep>>,
}

impl PartialEq for WatchSeries {
    fn eq(&self, other: &Self) -> bool {
        // Steps are made of values.
        self.values == other.values
    }
}

/// A step of the level that is suspected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SuspectedStep {
    /// The last measured version before it.
    pub after: usize,
    /// The first measured version behind it.
    pub until: usize,
    /// The measured version before `after` if there is one, else `after`: surely before the step.
    pub good: usize,
    /// The measured version behind `until` if there is one, else `until`: surely behind the step.
    pub bad: usize,
    /// The level before.
    pub level: f64,
    /// The level behind less the level before.
    pub size: f64,
    /// Probability that chance gives a step as clear somewhere in the series.
    pub p: f64,
}

impl WatchSeries {
    /// Adds a trial of a version; a value that isn't finite says that the trial failed.
    pub fn add(&mut self, version: usize, value: f64) {
        let values = self.values.entry(version).or_default();
        if value.is_finite() {
            values.push(value);
            self.steps.take();
        }
    }

    /// Whether the version was tried, well or not.
    pub fn is_tried(&self, version: usize) -> bool {
        self.values.contains_key(&version)
    }

    /// The newest version that was tried.
    pub fn newest(&self) -> Option<usize> {
        self.values.last_key_value().map(|(version, _)| *version)
    }

    /// Standard deviation of a trial within versions; none while there are few repeats.
    pub fn trial_deviation(&self) -> Option<f64> {
        let (mut squares, mut freedom) = (0.0, 0);
        for values in self.values.values().filter(|values| values.len() > 1) {
            let mean = mean(values);
            squares += values.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
            freedom += values.len() - 1;
        }
        (freedom >= SUSPICION.min_freedom).then(|| (squares / freedom as f64).sqrt())
    }

    /// The steps that are suspected, in the order of versions.
    pub fn steps(&self) -> &[SuspectedStep] {
        self.steps.get_or_init(|| self.find_steps())
    }

    fn find_steps(&self) -> Vec<SuspectedStep> {
        let points = self.window();
        let values: Vec<f64> = points.iter().map(|(_, value)| *value).collect();
        let options = DetectionOptions {
            false_per_point: SUSPICION.false_per_point,
            ..DetectionOptions::default()
        };
        let Ok(findings) = detect(&values, &options) else {
            return Vec::new();
        };
        let pending = findings.pending.map(|pending| pending.change);
        let levels = findings.changes.into_iter().chain(pending);
        let levels = levels.filter(|change| change.kind == ChangeKind::Level);
        levels
            .filter_map(|change| suspected_step(&points, &change))
            .collect()
    }

    /// The newest values with their versions, in the order of versions.
    fn window(&self) -> Vec<(usize, f64)> {
        let mut points = Vec::new();
        for (version, values) in self.values.iter().rev() {
            let most = SUSPICION.max_values_of_version;
            let each = values.len().div_ceil(most).max(1);
            points.extend(values.chunks(each).map(|part| (*version, mean(part))));
            if points.len() >= SUSPICION.window_values {
                break;
            }
        }
        points.reverse();
        points
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// A change among values as a step among versions. A change within the values of one version lies before or behind it.
fn suspected_step(points: &[(usize, f64)], change: &DetectedChange) -> Option<SuspectedStep> {
    let version = |at: usize| points.get(at).map(|(version, _)| *version);
    let (before, first) = (
        version(change.earliest.checked_sub(1)?)?,
        version(change.earliest)?,
    );
    let (last, behind) = (
        version(change.latest.checked_sub(1)?)?,
        version(change.latest)?,
    );
    let older = |than: usize| points.iter().rev().map(|it| it.0).find(|it| *it < than);
    let newer = |than: usize| points.iter().map(|it| it.0).find(|it| *it > than);
    let after = match before == first {
        true => older(before)?,
        false => before,
    };
    let until = match last == behind {
        true => newer(behind).unwrap_or(behind),
        false => behind,
    };
    (after < until).then(|| SuspectedStep {
        after,
        until,
        good: older(after).unwrap_or(after),
        bad: newer(until).unwrap_or(until),
        level: change.before,
        size: change.size,
        p: change.p,
    })
}
