//! The view of change points: their JSON. Places are counted from 1.

use backsight_stats::{Better, changes::ChangeKind};
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Serialize;

use super::{ChangePoints, ChangeRange, FoundChange, SeriesChanges, SeriesVersion};
use crate::findings::{
    ChangeRangeView, ChangeView, DoubtedView, EpochView, FindingsView, PendingView,
    SeriesVersionView,
};

/// Change points of series of numbers.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ChangePointsView<'a> {
    /// A file, standard input, or studies.
    pub source: &'a str,
    /// The confidence of the intervals, from 0 to 1.
    pub confidence: f64,
    /// The share of the believed changes that may be false; nothing where a part was searched.
    pub false_share: Option<f64>,
    /// The series that are found: all.
    pub series: Vec<ChangePointsSeriesView<'a>>,
}

/// A series.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ChangePointsSeriesView<'a> {
    /// The columns that name it, with their values.
    pub keys: IndexMap<&'a str, &'a str>,
    /// The metric.
    pub metric: &'a str,
    /// Its unit, where it is known.
    pub unit: Option<&'a str>,
    /// `higher` or `lower`, where it is known.
    pub better: Option<Better>,
    /// Versions with a value.
    pub versions: usize,
    /// Values that they are made of.
    pub samples: usize,
    /// Rows without a value.
    pub missing: usize,
    /// The fewest and the most sessions that a version's value is from, where that is known.
    pub sessions_a_version: Option<[usize; 2]>,
    /// Whether what is called a version is a session of one study, of several trials.
    pub of_sessions: bool,
    /// The last version.
    pub last: Option<SeriesVersionView<'a>>,
    /// Its findings.
    #[serde(flatten)]
    pub findings: FindingsView<'a>,
    /// The standard deviation of the noise.
    pub noise: Option<f64>,
    /// The lag-1 autocorrelation of the noise.
    pub kept: Option<f64>,
}

impl<'a> ChangePointsView<'a> {
    /// The view of these change points.
    pub fn new(found: &'a ChangePoints<'_>) -> Self {
        Self {
            source: &found.source,
            confidence: found.confidence / 100.0,
            false_share: found.false_percent.map(|percent| percent / 100.0),
            series: found.series_changes.iter().map(series).collect(),
        }
    }
}

fn series(changes: &SeriesChanges) -> ChangePointsSeriesView<'_> {
    let measured = changes.versions > 0;
    let keys = changes.keys.iter();
    ChangePointsSeriesView {
        keys: keys
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect(),
        metric: &changes.metric,
        unit: changes.unit.as_deref(),
        better: changes.better,
        versions: changes.versions,
        samples: changes.samples,
        missing: changes.missing,
        sessions_a_version: changes.sessions.map(|(fewest, most)| [fewest, most]),
        of_sessions: changes.of_sessions,
        last: changes.last.as_ref().map(place),
        findings: FindingsView {
            changes: changes
                .changes
                .iter()
                .map(|found| change(changes, found))
                .collect(),
            epochs: changes
                .epochs
                .iter()
                .map(|(epoch, range)| EpochView::new(epoch, between(range)))
                .collect(),
            doubted: changes.doubted.as_ref().map(|(at, p)| DoubtedView {
                at: place(at),
                p: *p,
            }),
            pending: changes.pending.as_ref().map(|pending| PendingView {
                change: change(changes, &pending.found),
                versions: pending.versions,
                more_versions_would_tell: pending.to_come,
            }),
            trend: changes.trend,
            period: changes.period,
            least_found: changes.least_found,
        },
        noise: measured.then_some(changes.noise),
        kept: measured.then_some(changes.kept),
    }
}

fn change<'a>(changes: &SeriesChanges, found: &'a FoundChange) -> ChangeView<'a> {
    let direction = found.direction(changes.better).as_str();
    ChangeView {
        adjusted_p: found.adjusted,
        believed: found.believed || found.change.kind == ChangeKind::Trend,
        ..ChangeView::new(&found.change, between(&found.between), direction)
    }
}

fn between(between: &ChangeRange) -> ChangeRangeView<'_> {
    ChangeRangeView {
        after: between.after.as_ref().map(place),
        at: place(&between.at),
        until: place(&between.until),
    }
}

fn place(place: &SeriesVersion) -> SeriesVersionView<'_> {
    SeriesVersionView {
        number: place.index + 1,
        version: &place.label,
        id: None,
    }
}
