//! What was found, for programs: everything, places counted from 1.

use backsight_stats::{Better, changes::Kind};
use indexmap::IndexMap;
use miette::IntoDiagnostic as _;
use serde::Serialize;

use super::{
    story::{Between, Place, Story, Told},
    text::Report,
};
use crate::changes::{
    BetweenShape, ChangeShape, DoubtedShape, EpochShape, FindingsShape, PendingShape, PlaceShape,
};

/// The whole.
#[derive(Serialize)]
struct Document<'a> {
    source: &'a str,
    /// Of the intervals, from 0 to 1.
    confidence: f64,
    /// The share of the believed changes that may be false; nothing where a part was searched.
    false_share: Option<f64>,
    series: Vec<SeriesShape<'a>>,
}

/// A series.
#[derive(Serialize)]
struct SeriesShape<'a> {
    keys: IndexMap<&'a str, &'a str>,
    metric: &'a str,
    unit: Option<&'a str>,
    better: Option<Better>,
    versions: usize,
    samples: usize,
    missing: usize,
    /// The fewest and the most sessions that a version's value is from, where that is known.
    sessions_a_version: Option<[usize; 2]>,
    /// Whether what is called a version is a session of one study, of several trials.
    of_sessions: bool,
    last: Option<PlaceShape<'a>>,
    #[serde(flatten)]
    findings: FindingsShape<'a>,
    noise: Option<f64>,
    kept: Option<f64>,
}

pub fn render(report: &Report<'_>) -> miette::Result<String> {
    let document = Document {
        source: &report.source,
        confidence: report.confidence / 100.0,
        false_share: report.false_percent.map(|percent| percent / 100.0),
        series: report.stories.iter().map(series).collect(),
    };
    backsight_report::json(&document).into_diagnostic()
}

fn series(story: &Story) -> SeriesShape<'_> {
    let measured = story.versions > 0;
    let keys = story.keys.iter();
    SeriesShape {
        keys: keys
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect(),
        metric: &story.metric,
        unit: story.unit.as_deref(),
        better: story.better,
        versions: story.versions,
        samples: story.samples,
        missing: story.missing,
        sessions_a_version: story.sessions.map(|(fewest, most)| [fewest, most]),
        of_sessions: story.of_sessions,
        last: story.last.as_ref().map(place),
        findings: FindingsShape {
            changes: story
                .changes
                .iter()
                .map(|told| change(story, told))
                .collect(),
            epochs: story
                .epochs
                .iter()
                .map(|(epoch, where_)| EpochShape::new(epoch, between(where_)))
                .collect(),
            doubted: story.doubted.as_ref().map(|(at, p)| DoubtedShape {
                at: place(at),
                p: *p,
            }),
            pending: story.pending.as_ref().map(|pending| PendingShape {
                change: change(story, &pending.told),
                versions: pending.versions,
                more_versions_would_tell: pending.to_come,
            }),
            trend: story.trend,
            period: story.period,
            least_found: story.least_found,
        },
        noise: measured.then_some(story.noise),
        kept: measured.then_some(story.kept),
    }
}

fn change<'a>(story: &Story, told: &'a Told) -> ChangeShape<'a> {
    let direction = told.direction(story.better).as_str();
    ChangeShape {
        adjusted_p: told.adjusted,
        believed: told.believed || told.change.kind == Kind::Trend,
        ..ChangeShape::new(&told.change, between(&told.between), direction)
    }
}

fn between(between: &Between) -> BetweenShape<'_> {
    BetweenShape {
        after: between.after.as_ref().map(place),
        at: place(&between.at),
        until: place(&between.until),
    }
}

fn place(place: &Place) -> PlaceShape<'_> {
    PlaceShape {
        number: place.index + 1,
        version: &place.label,
        id: None,
    }
}
