//! Changes that bisections named, on the series that they are about, whatever the search of the series found.
//!
//! In: results of a target's bisections. Out: each series' [`NamedChange`]s, in the order of versions.

use backsight_model::{Cell, CellMetric, StudyName};
use backsight_stats::{Interval, culprits::IntervalEstimate};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

use super::{ChangePoint, TargetHistory, VersionSeries, label};
use crate::change_significance::ChangeDirection;

/// A change that a bisection named, by the identities of its versions.
#[derive(Debug, Clone, PartialEq)]
pub struct BisectedChange {
    /// The bisection.
    pub study: StudyName,
    /// The cell that was bisected.
    pub cell: Cell,
    /// Its metric.
    pub metric: CellMetric,
    /// The last version before the change.
    pub after: String,
    /// The first version known to have it.
    pub until: String,
    /// The probability that the change lies there.
    pub probability: f64,
    /// Its size in the metric's unit.
    pub size: Option<IntervalEstimate>,
    /// Its size in percent of the level of the bisection's oldest version, with its interval.
    pub percent: Option<(f64, Interval)>,
}

/// A change of a series that a bisection named. Versions are places in [`TargetHistory::versions`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NamedChange {
    /// The bisection.
    pub study: StudyName,
    /// The last version before the change.
    pub after: usize,
    /// The first version known to have it.
    pub at: usize,
    /// The probability that the change lies there.
    pub probability: f64,
    /// As [`BisectedChange::size`].
    pub size: Option<IntervalEstimate>,
    /// As [`BisectedChange::percent`].
    pub percent: Option<(f64, Interval)>,
    /// For better or for worse; unknown without a size.
    pub direction: Option<ChangeDirection>,
    /// Whether a change that the series itself shows, and that is believed, may be the same.
    pub is_found: bool,
}

impl TargetHistory {
    /// Notes what bisections named on each series of the same cell and metric. Where several named one place, the surest
    /// stands for all.
    pub fn name_changes(&mut self, bisected: &[BisectedChange]) {
        let versions = self.versions.iter().enumerate();
        let places: HashMap<&str, usize> = versions
            .map(|(at, version)| (version.version.id.as_str(), at))
            .collect();
        for series in &mut self.series {
            let about = bisected.iter().filter(|change| is_about(change, series));
            let mut named: Vec<NamedChange> = about
                .filter_map(|change| {
                    let after = *places.get(change.after.as_str())?;
                    let at = *places.get(change.until.as_str())?;
                    (after < at).then(|| NamedChange::new(change, (after, at), series))
                })
                .collect();
            named.sort_by(|a, b| {
                let place = |change: &NamedChange| (change.at, change.after);
                (place(a).cmp(&place(b))).then(b.probability.total_cmp(&a.probability))
            });
            named.dedup_by_key(|change| (change.at, change.after));
            series.named = named;
        }
    }
}

impl VersionSeries {
    /// What bisections named and the series itself doesn't show.
    pub fn only_named(&self) -> impl Iterator<Item = &NamedChange> {
        self.named.iter().filter(|named| !named.is_found)
    }

    /// Whether there is a change on it: found, or named by a bisection.
    pub fn has_changes(&self) -> bool {
        !self.found.changes.is_empty() || !self.named.is_empty()
    }
}

impl NamedChange {
    fn new(bisected: &BisectedChange, (after, at): (usize, usize), series: &VersionSeries) -> Self {
        let better = series.metric.better;
        let size = bisected.size.map(|size| size.value);
        Self {
            study: bisected.study.clone(),
            after,
            at,
            probability: bisected.probability,
            size: bisected.size,
            percent: bisected.percent,
            direction: size
                .filter(|size| *size != 0.0)
                .map(|size| ChangeDirection::from_size(size, Some(better))),
            is_found: series
                .believed()
                .any(|found| may_be_one(found, (after, at))),
        }
    }

    /// Whether a change that the series itself shows may be the same.
    pub fn is_same(&self, found: &ChangePoint) -> bool {
        may_be_one(found, (self.after, self.at))
    }
}

fn may_be_one(found: &ChangePoint, (after, at): (usize, usize)) -> bool {
    found.until > after && found.after.is_none_or(|before| before < at)
}

/// Whether a bisection was about this series: the same cell and metric, in the same unit.
fn is_about(change: &BisectedChange, series: &VersionSeries) -> bool {
    let (theirs, ours) = (&change.metric, &series.metric);
    label(&change.cell, theirs) == label(&series.cell, ours)
        && theirs.unit == ours.unit
        && theirs.better == ours.better
}
