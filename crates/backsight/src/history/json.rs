//! A history for programs: everything, in one document. Numbers are in the metric's own unit.

use backsight_policy::{
    Accepted, ChangePoint, Direction, History, HistoryVersion, How, NamedChange, NoiseEpoch,
    Spread, VersionPoint, VersionSeries,
};
use backsight_stats::{Interval, Level};
use indexmap::IndexMap;
use miette::IntoDiagnostic as _;
use serde::Serialize;

use super::Along;
use crate::changes::{
    AcceptedShape, BetweenShape, ChangeShape, DoubtedShape, EpochShape, FindingsShape,
    PendingShape, PlaceShape,
};

/// The whole.
#[derive(Serialize)]
struct Document<'a> {
    target: &'a str,
    studies: Vec<StudyShape<'a>>,
    failed_trials: usize,
    unplaced_trials: usize,
    versions: Vec<VersionShape<'a>>,
    series: Vec<SeriesShape<'a>>,
}

/// A study that the history is made of.
#[derive(Serialize)]
struct StudyShape<'a> {
    study: i64,
    name: &'a str,
    state: String,
    began: String,
}

/// A version, oldest first.
#[derive(Serialize)]
struct VersionShape<'a> {
    id: &'a str,
    name: &'a str,
    at: Option<String>,
    title: &'a str,
    release: bool,
    standing: &'static str,
    why: Option<&'a str>,
    quirks: &'a [String],
}

/// One metric of one cell along the versions.
#[derive(Serialize)]
struct SeriesShape<'a> {
    name: String,
    benchmark: &'a str,
    params: IndexMap<String, String>,
    variant: &'a str,
    metric: &'a str,
    unit: String,
    better: &'static str,
    primary: bool,
    simulator: Option<String>,
    question: &'a str,
    since: Option<&'a str>,
    /// The fewest and the most sessions of a version: what one study measured on one boot is a session.
    sessions_a_version: Option<[usize; 2]>,
    points: Vec<PointShape<'a>>,
    /// `searched`, `compared` or `too-little`.
    how: &'static str,
    #[serde(flatten)]
    findings: FindingsShape<'a>,
    /// The changes that bisections named.
    named: Vec<NamedShape<'a>>,
}

/// A change that a bisection named.
#[derive(Serialize)]
struct NamedShape<'a> {
    study: &'a str,
    /// The last version before it.
    after: PlaceShape<'a>,
    /// The first version known to have it.
    at: PlaceShape<'a>,
    probability: f64,
    size: Option<f64>,
    size_interval: Option<Interval>,
    /// Of the level of the bisection's oldest version.
    percent: Option<f64>,
    percent_interval: Option<Interval>,
    /// `better` or `worse`.
    direction: Option<&'static str>,
    /// Whether the series by itself shows it.
    found: bool,
}

/// What was measured of a version.
#[derive(Serialize)]
struct PointShape<'a> {
    version: PlaceShape<'a>,
    value: Option<f64>,
    /// The highest level that was repeated: `sample` (iterations of one run), `trial`, `session`, `boot` or `layout`.
    repeated: Option<Level>,
    interval: Option<Interval>,
    alike: bool,
    again: Option<SpreadShape>,
    reboot: Option<SpreadShape>,
    relink: Option<SpreadShape>,
    unstable: bool,
    layouts: usize,
    boots: usize,
    sessions: usize,
    trials: usize,
    samples: usize,
    failed: usize,
    builds: Vec<BuildShape<'a>>,
}

/// A standard deviation with its degrees of freedom.
#[derive(Serialize)]
struct SpreadShape {
    deviation: f64,
    freedom: usize,
}

/// A build of a version.
#[derive(Serialize)]
struct BuildShape<'a> {
    layout: String,
    build: &'a str,
    boots: Vec<BootShape<'a>>,
}

/// A boot of a build.
#[derive(Serialize)]
struct BootShape<'a> {
    boot: u32,
    trials: Vec<TrialShape<'a>>,
}

/// A trial on a boot.
#[derive(Serialize)]
struct TrialShape<'a> {
    study: i64,
    trial: u32,
    samples: &'a [f64],
}

pub fn render(along: &Along<'_>) -> miette::Result<String> {
    let history = along.history;
    let document = Document {
        target: along.target,
        studies: along
            .studies
            .iter()
            .map(|study| StudyShape {
                study: study.study,
                name: study.name.as_str(),
                state: study.state.to_string(),
                began: study.began.to_string(),
            })
            .collect(),
        failed_trials: history.failed,
        unplaced_trials: history.unplaced,
        versions: history.versions.iter().map(version).collect(),
        series: along
            .series
            .iter()
            .map(|one| series(history, one))
            .collect(),
    };
    backsight_report::json(&document).into_diagnostic()
}

fn version(version: &HistoryVersion) -> VersionShape<'_> {
    VersionShape {
        id: &version.version.id,
        name: &version.version.name,
        at: version.version.at.map(|at| at.to_string()),
        title: &version.version.title,
        release: version.version.release,
        standing: version.standing.as_str(),
        why: version.standing.why(),
        quirks: &version.quirks,
    }
}

fn place(history: &History, at: usize) -> PlaceShape<'_> {
    let version = history.versions.get(at).map(|it| &it.version);
    PlaceShape {
        number: at + 1,
        version: version.map_or("", |version| &version.name),
        id: version.map(|version| version.id.as_str()),
    }
}

fn between(
    history: &History,
    (after, at, until): (Option<usize>, usize, usize),
) -> BetweenShape<'_> {
    BetweenShape {
        after: after.map(|at| place(history, at)),
        at: place(history, at),
        until: place(history, until),
    }
}

fn series<'a>(history: &'a History, series: &'a VersionSeries) -> SeriesShape<'a> {
    let found = &series.found;
    let params = series.cell.params.iter();
    SeriesShape {
        name: series.name(),
        benchmark: series.cell.benchmark.as_str(),
        params: params
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect(),
        variant: series.cell.variant.as_str(),
        metric: series.metric.name.as_str(),
        unit: series.metric.unit.to_string(),
        better: series.metric.better.as_str(),
        primary: series.metric.primary,
        simulator: series
            .metric
            .simulator
            .map(|simulator| simulator.to_string()),
        question: &series.key,
        since: series.since.as_ref().map(|study| study.as_str()),
        sessions_a_version: series.sessions().map(|(fewest, most)| [fewest, most]),
        points: series.points.iter().map(|p| point(history, p)).collect(),
        how: match found.how {
            How::Searched => "searched",
            How::Compared => "compared",
            How::TooLittle => "too-little",
        },
        findings: FindingsShape {
            changes: found.changes.iter().map(|c| change(history, c)).collect(),
            epochs: found.epochs.iter().map(|e| epoch(history, e)).collect(),
            doubted: found.doubted.map(|(at, p)| DoubtedShape {
                at: place(history, at),
                p,
            }),
            pending: found.pending.as_ref().map(|pending| PendingShape {
                change: change(history, &pending.point),
                versions: pending.versions,
                more_versions_would_tell: pending.to_come,
            }),
            trend: found.trend,
            period: found.period,
            least_found: found.least_found,
        },
        named: series.named.iter().map(|n| named(history, n)).collect(),
    }
}

fn named<'a>(history: &'a History, named: &'a NamedChange) -> NamedShape<'a> {
    NamedShape {
        study: named.study.as_str(),
        after: place(history, named.after),
        at: place(history, named.at),
        probability: named.probability,
        size: named.size.map(|size| size.value),
        size_interval: named.size.map(|size| size.interval),
        percent: named.percent.map(|(percent, _)| percent),
        percent_interval: named.percent.map(|(_, interval)| interval),
        direction: named.direction.map(Direction::as_str),
        found: named.is_found,
    }
}

fn spread(spread: Option<Spread>) -> Option<SpreadShape> {
    spread.map(|spread| SpreadShape {
        deviation: spread.deviation,
        freedom: spread.freedom,
    })
}

fn point<'a>(history: &'a History, point: &'a VersionPoint) -> PointShape<'a> {
    let builds = point.builds.iter().map(|build| BuildShape {
        layout: build.layout.to_string(),
        build: &build.key,
        boots: build
            .boots
            .iter()
            .map(|boot| BootShape {
                boot: boot.ordinal,
                trials: boot
                    .trials
                    .iter()
                    .map(|trial| TrialShape {
                        study: trial.study,
                        trial: trial.trial,
                        samples: &trial.values,
                    })
                    .collect(),
            })
            .collect(),
    });
    PointShape {
        version: place(history, point.version),
        value: point.value,
        repeated: point.level,
        interval: point.interval,
        alike: point.alike,
        again: spread(point.again),
        reboot: spread(point.reboot),
        relink: spread(point.relink),
        unstable: point.unstable,
        layouts: point.counts.layouts,
        boots: point.counts.boots,
        sessions: point.counts.sessions,
        trials: point.counts.trials,
        samples: point.counts.samples,
        failed: point.counts.failed,
        builds: builds.collect(),
    }
}

fn change<'a>(history: &'a History, point: &'a ChangePoint) -> ChangeShape<'a> {
    let between = between(history, (point.after, point.at, point.until));
    let shape = ChangeShape {
        adjusted_p: point.adjusted,
        believed: point.believed,
        accepted: point.accepted.as_ref().map(accepted),
        ..ChangeShape::new(&point.change, between, point.direction.as_str())
    };
    match point.alike {
        true => shape.of_alike_sides(),
        false => shape,
    }
}

fn accepted(accepted: &Accepted) -> AcceptedShape<'_> {
    let it = &accepted.acceptance;
    AcceptedShape {
        by: &it.by,
        reason: &it.reason,
        work_around: it.work_around.as_deref(),
        until: it.until.map(|at| at.to_string()),
        lapsed: accepted.lapsed,
    }
}

fn epoch<'a>(history: &'a History, epoch: &NoiseEpoch) -> EpochShape<'a> {
    let between = between(history, (epoch.after, epoch.at, epoch.until));
    EpochShape::new(&epoch.epoch, between)
}
