//! What was found, for programs: everything, places counted from 1.

use backsight_stats::{
    Better, Interval,
    changes::{Kind, Trend},
};
use indexmap::IndexMap;
use miette::IntoDiagnostic as _;
use serde::Serialize;

use super::{
    story::{Between, Place, Story, Told},
    text::Report,
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
    last: Option<PlaceShape<'a>>,
    changes: Vec<ChangeShape<'a>>,
    epochs: Vec<EpochShape<'a>>,
    doubted: Option<DoubtedShape<'a>>,
    pending: Option<PendingShape<'a>>,
    /// A slow movement all along.
    trend: Option<Trend>,
    period: Option<usize>,
    noise: Option<f64>,
    kept: Option<f64>,
    least_found: Option<f64>,
}

/// A change.
#[derive(Serialize)]
struct ChangeShape<'a> {
    kind: Kind,
    between: BetweenShape<'a>,
    before: f64,
    after: f64,
    /// after − before, in the unit and in percent of the level before.
    size: f64,
    size_interval: Interval,
    percent: Option<f64>,
    percent_interval: Option<Interval>,
    /// `better`, `worse`, `up` or `down`.
    direction: &'static str,
    p: f64,
    probability: f64,
    adjusted: Option<f64>,
    believed: bool,
}

/// A change of the noise.
#[derive(Serialize)]
struct EpochShape<'a> {
    between: BetweenShape<'a>,
    noise_before: f64,
    noise_after: f64,
    p: f64,
}

/// The clearest change that isn't believed.
#[derive(Serialize)]
struct DoubtedShape<'a> {
    at: PlaceShape<'a>,
    p: f64,
}

/// A change that a version or two more would tell.
#[derive(Serialize)]
struct PendingShape<'a> {
    change: ChangeShape<'a>,
    versions: usize,
    more_versions_would_tell: usize,
}

/// Where a change may be.
#[derive(Serialize)]
struct BetweenShape<'a> {
    after: Option<PlaceShape<'a>>,
    at: PlaceShape<'a>,
    until: PlaceShape<'a>,
}

/// A version, counted from 1.
#[derive(Serialize)]
struct PlaceShape<'a> {
    number: usize,
    version: &'a str,
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
        last: story.last.as_ref().map(place),
        changes: story
            .changes
            .iter()
            .map(|told| change(story, told))
            .collect(),
        epochs: story
            .epochs
            .iter()
            .map(|(epoch, where_)| EpochShape {
                between: between(where_),
                noise_before: epoch.before,
                noise_after: epoch.after,
                p: epoch.p,
            })
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
        noise: measured.then_some(story.noise),
        kept: measured.then_some(story.kept),
        least_found: story.least_found,
    }
}

fn change<'a>(story: &Story, told: &'a Told) -> ChangeShape<'a> {
    let change = &told.change;
    let percent = told.percent();
    ChangeShape {
        kind: change.kind,
        between: between(&told.between),
        before: change.before,
        after: change.after,
        size: change.size,
        size_interval: change.size_interval,
        percent: percent.map(|(percent, _)| percent),
        percent_interval: percent.map(|(_, of)| of),
        direction: told.direction(story.better).as_str(),
        p: change.p,
        probability: change.probability,
        adjusted: told.adjusted,
        believed: told.believed || change.kind == Kind::Trend,
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
    }
}
