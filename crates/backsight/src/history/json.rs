//! A history for programs: everything, in one document. Numbers are in the metric's own unit.

use backsight_policy::{
    Accepted, ChangePoint, History, HistoryVersion, How, NoiseEpoch, Spread, VersionPoint,
    VersionSeries, percent_of,
};
use backsight_stats::{
    Interval,
    changes::{Kind, Trend},
};
use indexmap::IndexMap;
use miette::IntoDiagnostic as _;
use serde::Serialize;

use super::Along;

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

/// A version, by its identity and its name.
#[derive(Serialize)]
struct NamedShape<'a> {
    id: &'a str,
    name: &'a str,
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
    points: Vec<PointShape<'a>>,
    /// `searched`, `compared` or `too-little`.
    how: &'static str,
    changes: Vec<ChangeShape<'a>>,
    epochs: Vec<EpochShape<'a>>,
    doubted: Option<DoubtedShape<'a>>,
    pending: Option<PendingShape<'a>>,
    /// A slow movement all along.
    trend: Option<Trend>,
    period: Option<usize>,
    least_found: Option<f64>,
}

/// What was measured of a version.
#[derive(Serialize)]
struct PointShape<'a> {
    version: Option<NamedShape<'a>>,
    value: Option<f64>,
    interval: Option<Interval>,
    alike: bool,
    again: Option<SpreadShape>,
    reboot: Option<SpreadShape>,
    relink: Option<SpreadShape>,
    unstable: bool,
    layouts: usize,
    boots: usize,
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

/// A change.
#[derive(Serialize)]
struct ChangeShape<'a> {
    /// `level` or `trend`.
    kind: &'static str,
    after: Option<NamedShape<'a>>,
    at: Option<NamedShape<'a>>,
    until: Option<NamedShape<'a>>,
    from: f64,
    to: f64,
    /// to − from, in the unit and in percent of the level before. Nothing where all is alike: chance has no say there.
    size: f64,
    size_interval: Option<Interval>,
    percent: Option<f64>,
    percent_interval: Option<Interval>,
    /// `better` or `worse`.
    direction: &'static str,
    p: Option<f64>,
    adjusted_p: Option<f64>,
    probability: Option<f64>,
    alike: bool,
    believed: bool,
    accepted: Option<AcceptedShape<'a>>,
}

/// A change that a version or two more would tell.
#[derive(Serialize)]
struct PendingShape<'a> {
    change: ChangeShape<'a>,
    versions: usize,
    more_versions_would_tell: usize,
}

/// An acceptance of a change.
#[derive(Serialize)]
struct AcceptedShape<'a> {
    by: &'a str,
    reason: &'a str,
    work_around: Option<&'a str>,
    until: Option<String>,
    lapsed: bool,
}

/// A change of the noise.
#[derive(Serialize)]
struct EpochShape<'a> {
    after: Option<NamedShape<'a>>,
    at: Option<NamedShape<'a>>,
    until: Option<NamedShape<'a>>,
    noise_before: f64,
    noise_after: f64,
    p: f64,
}

/// The clearest change that isn't believed.
#[derive(Serialize)]
struct DoubtedShape<'a> {
    at: Option<NamedShape<'a>>,
    p: f64,
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

fn named(history: &History, at: usize) -> Option<NamedShape<'_>> {
    let version = history.versions.get(at)?;
    Some(NamedShape {
        id: &version.version.id,
        name: &version.version.name,
    })
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
        points: series.points.iter().map(|p| point(history, p)).collect(),
        how: match found.how {
            How::Searched => "searched",
            How::Compared => "compared",
            How::TooLittle => "too-little",
        },
        changes: found.changes.iter().map(|c| change(history, c)).collect(),
        epochs: found.epochs.iter().map(|e| epoch(history, e)).collect(),
        doubted: found.doubted.map(|(at, p)| DoubtedShape {
            at: named(history, at),
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
        version: named(history, point.version),
        value: point.value,
        interval: point.interval,
        alike: point.alike,
        again: spread(point.again),
        reboot: spread(point.reboot),
        relink: spread(point.relink),
        unstable: point.unstable,
        layouts: point.counts.layouts,
        boots: point.counts.boots,
        trials: point.counts.trials,
        samples: point.counts.samples,
        failed: point.counts.failed,
        builds: builds.collect(),
    }
}

fn change<'a>(history: &'a History, point: &'a ChangePoint) -> ChangeShape<'a> {
    let change = &point.change;
    let percent = percent_of(change);
    let by_chance = !point.alike;
    ChangeShape {
        kind: match change.kind {
            Kind::Level => "level",
            Kind::Trend => "trend",
        },
        after: point.after.and_then(|at| named(history, at)),
        at: named(history, point.at),
        until: named(history, point.until),
        from: change.before,
        to: change.after,
        size: change.size,
        size_interval: by_chance.then_some(change.size_interval),
        percent: percent.map(|(percent, _)| percent),
        percent_interval: percent.map(|(_, interval)| interval).filter(|_| by_chance),
        direction: point.direction.as_str(),
        p: by_chance.then_some(change.p),
        adjusted_p: point.adjusted.filter(|_| by_chance),
        probability: by_chance.then_some(change.probability),
        alike: point.alike,
        believed: point.believed,
        accepted: point.accepted.as_ref().map(accepted),
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
    EpochShape {
        after: epoch.after.and_then(|at| named(history, at)),
        at: named(history, epoch.at),
        until: named(history, epoch.until),
        noise_before: epoch.epoch.before,
        noise_after: epoch.epoch.after,
        p: epoch.epoch.p,
    }
}
