//! The view of a history: its JSON, everything in one document. Numbers are in the metric's own unit.

use backsight_model::StudyHistory;
use backsight_policy::{
    ChangeAcceptance, ChangeDirection, ChangePoint, DetectionMethod, HiddenStates, HistoryVersion,
    LevelSpread, NamedChange, NoiseEpoch, ReferenceSeries, StateHolder, TargetHistory,
    VersionPoint, VersionSeries,
};
use backsight_stats::{Interval, Level};
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Serialize;

use super::SelectedHistory;
use crate::findings::{
    AcceptanceView, ChangeRangeView, ChangeView, DoubtedView, EpochView, FindingsView, PendingView,
    ReferenceMoveView, SeriesVersionView,
};

/// What was measured along a target's versions, and where it changed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct HistoryView<'a> {
    /// The target.
    pub target: &'a str,
    /// The studies that it is made of, oldest first.
    pub studies: Vec<HistoryStudyView<'a>>,
    /// Trials that failed.
    pub failed_trials: usize,
    /// Trials of no known boot, which are left out.
    pub unplaced_trials: usize,
    /// The versions, oldest first.
    pub versions: Vec<HistoryVersionView<'a>>,
    /// A metric of a cell each.
    pub series: Vec<HistorySeriesView<'a>>,
    /// What references measured beside.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<ReferenceView<'a>>,
    /// Whether their drift was taken out of the series.
    pub drift_removed: bool,
}

/// One metric of one cell on a reference, in order of time.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ReferenceView<'a> {
    /// Its name.
    pub name: String,
    /// Its testbed.
    pub testbed: &'a str,
    /// The cell's benchmark.
    pub benchmark: &'a str,
    /// The metric.
    pub metric: &'a str,
    /// The unit of its values.
    pub unit: String,
    /// Whether its level moved; null where it has too few trials to tell.
    pub drifts: Option<bool>,
    /// Its trials.
    pub points: Vec<ReferencePointView>,
}

/// A trial of a reference.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ReferencePointView {
    /// The number of the study that it was measured beside.
    pub study: i64,
    /// When it began: RFC 3339.
    pub at: String,
    /// The mean of its samples.
    pub value: f64,
    /// The level there, without the noise, as a ratio to the first one.
    pub drift: f64,
}

/// A study of the history.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct HistoryStudyView<'a> {
    /// Its number.
    pub study: i64,
    /// Its name.
    pub name: &'a str,
    /// `running`, `stopped` or `finished`.
    pub state: String,
    /// When it began: RFC 3339.
    pub began: String,
}

/// A version, oldest first.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct HistoryVersionView<'a> {
    /// What identifies it: a commit, a release.
    pub id: &'a str,
    /// Its short name.
    pub name: &'a str,
    /// Its date: RFC 3339.
    pub at: Option<String>,
    /// The first line of its message.
    pub title: &'a str,
    /// Whether it is a release.
    pub release: bool,
    /// What became of it: `measured`, `skipped`, `broken`, …
    pub standing: &'static str,
    /// The reason where it wasn't measured.
    pub why: Option<&'a str>,
    /// The quirks that apply to it.
    pub quirks: &'a [String],
}

/// One metric of one cell along the versions.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct HistorySeriesView<'a> {
    /// Its name.
    pub name: String,
    /// The cell's benchmark.
    pub benchmark: &'a str,
    /// The cell's parameters.
    pub params: IndexMap<String, String>,
    /// The cell's variant.
    pub variant: &'a str,
    /// The metric.
    pub metric: &'a str,
    /// The unit of its values.
    pub unit: String,
    /// `higher` or `lower`.
    pub better: &'static str,
    /// Whether the benchmark is run for this metric.
    pub primary: bool,
    /// What counted it: `program` or `icount=N`; null where a real machine's clock did.
    pub simulator: Option<String>,
    /// The key of its question: series with another one aren't comparable.
    pub question: &'a str,
    /// The study from which on it is measured so.
    pub since: Option<&'a str>,
    /// The fewest and the most sessions of a version: what one study measured on one boot is a session.
    pub sessions_a_version: Option<[usize; 2]>,
    /// What was measured of each version.
    pub points: Vec<PointView<'a>>,
    /// `searched`, `compared` or `too-little`.
    pub how: &'static str,
    /// Its findings.
    #[serde(flatten)]
    pub findings: FindingsView<'a>,
    /// The changes that bisections named.
    pub named: Vec<NamedChangeView<'a>>,
    /// The two states that its boots or trials are in, where they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub states: Option<StatesView<'a>>,
}

/// Two states.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct StatesView<'a> {
    /// What is in one of them: `boot` or `trial`.
    pub of: &'static str,
    /// How many there are.
    pub count: usize,
    /// Share of those in the state with higher values, from 0 to 1.
    pub high_share: f64,
    /// By how many percent the higher state's mean is above the lower one's.
    pub percent: f64,
    /// The probability that one state alone gives such values.
    pub p: f64,
    /// What goes with them best; null where nothing that is known does.
    pub cause: Option<StateCauseView<'a>>,
}

/// A fact that goes with two states.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct StateCauseView<'a> {
    /// The fact.
    pub fact: &'a str,
    /// What it mostly is in the lower state.
    pub low: &'a str,
    /// And in the higher one.
    pub high: &'a str,
    /// In how many boots or trials it goes with the state.
    pub agree: usize,
    /// Of how many of which it is known.
    pub known: usize,
    /// The probability that chance does it as well, over all facts that were tried.
    pub p: f64,
}

/// A change that a bisection named.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct NamedChangeView<'a> {
    /// The bisection.
    pub study: &'a str,
    /// The last version before it.
    pub after: SeriesVersionView<'a>,
    /// The first version known to have it.
    pub at: SeriesVersionView<'a>,
    /// Of its answer.
    pub probability: f64,
    /// The size in the metric's unit.
    pub size: Option<f64>,
    /// The interval of the size.
    pub size_interval: Option<Interval>,
    /// The size in percent of the level of the bisection's oldest version.
    pub percent: Option<f64>,
    /// The interval of the percentage.
    pub percent_interval: Option<Interval>,
    /// `better` or `worse`.
    pub direction: Option<&'static str>,
    /// Whether the series by itself shows it.
    pub found: bool,
}

/// What was measured of a version.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PointView<'a> {
    /// The version.
    pub version: SeriesVersionView<'a>,
    /// Its value; null where every trial failed.
    pub value: Option<f64>,
    /// The highest level that was repeated: `sample` (iterations of one run), `trial`, `session`, `boot` or `layout`.
    pub repeated: Option<Level>,
    /// The 95 % interval of the value.
    pub interval: Option<Interval>,
    /// Whether all of its values are alike.
    pub alike: bool,
    /// The spread of trials of one boot.
    pub again: Option<SpreadView>,
    /// The spread of boots of one build.
    pub reboot: Option<SpreadView>,
    /// The spread of layouts of one version.
    pub relink: Option<SpreadView>,
    /// Whether it varies far more than the other versions.
    pub unstable: bool,
    /// The level of the reference beside its trials, as a ratio to its first one; null where none was measured beside.
    pub drift: Option<f64>,
    /// Layouts that were measured.
    pub layouts: usize,
    /// Boots that were measured.
    pub boots: usize,
    /// Sessions that measured it.
    pub sessions: usize,
    /// Trials that gave samples.
    pub trials: usize,
    /// Samples that they gave.
    pub samples: usize,
    /// Trials that failed.
    pub failed: usize,
    /// Its builds with their samples.
    pub builds: Vec<BuildView<'a>>,
}

/// A standard deviation with its degrees of freedom.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SpreadView {
    /// The standard deviation, in the metric's unit.
    pub deviation: f64,
    /// Its degrees of freedom.
    pub freedom: usize,
}

/// A build of a version.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BuildView<'a> {
    /// Its layout in memory.
    pub layout: String,
    /// The key of the build.
    pub build: &'a str,
    /// Its boots.
    pub boots: Vec<BootView<'a>>,
}

/// A boot of a build.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BootView<'a> {
    /// Its number within the build, from 1.
    pub boot: u32,
    /// Its trials.
    pub trials: Vec<TrialView<'a>>,
}

/// A trial on a boot.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TrialView<'a> {
    /// The number of its study.
    pub study: i64,
    /// Its number within the study.
    pub trial: u32,
    /// Its samples, in the metric's unit.
    pub samples: &'a [f64],
}

impl<'a> From<&'a StudyHistory> for HistoryStudyView<'a> {
    fn from(study: &'a StudyHistory) -> Self {
        Self {
            study: study.study,
            name: study.name.as_str(),
            state: study.state.to_string(),
            began: study.began.to_string(),
        }
    }
}

impl<'a> HistoryView<'a> {
    /// The view of the series that were selected of a history.
    pub fn new(selected: &SelectedHistory<'a>) -> Self {
        let history = selected.history;
        Self {
            target: selected.target,
            studies: selected
                .studies
                .iter()
                .map(HistoryStudyView::from)
                .collect(),
            failed_trials: history.failed,
            unplaced_trials: history.unplaced,
            versions: history.versions.iter().map(version).collect(),
            series: selected
                .series
                .iter()
                .map(|one| series(history, one))
                .collect(),
            references: history.references.iter().map(reference).collect(),
            drift_removed: history.is_drift_removed,
        }
    }
}

fn reference(reference: &ReferenceSeries) -> ReferenceView<'_> {
    let points = reference.points.iter().map(|point| ReferencePointView {
        study: point.beside,
        at: point.at.to_string(),
        value: point.value,
        drift: point.drift,
    });
    ReferenceView {
        name: reference.name(),
        testbed: reference.testbed.as_str(),
        benchmark: reference.cell.benchmark.as_str(),
        metric: reference.metric.name.as_str(),
        unit: reference.metric.unit.to_string(),
        drifts: (!reference.is_too_short()).then(|| reference.drifts()),
        points: points.collect(),
    }
}

fn version(version: &HistoryVersion) -> HistoryVersionView<'_> {
    HistoryVersionView {
        id: &version.version.id,
        name: &version.version.name,
        at: version.version.at.map(|at| at.to_string()),
        title: &version.version.title,
        release: version.version.release,
        standing: version.standing.as_str(),
        why: version.standing.reason(),
        quirks: &version.quirks,
    }
}

fn place(history: &TargetHistory, at: usize) -> SeriesVersionView<'_> {
    let version = history.versions.get(at).map(|it| &it.version);
    SeriesVersionView {
        number: at + 1,
        version: version.map_or("", |version| &version.name),
        id: version.map(|version| version.id.as_str()),
    }
}

fn between(
    history: &TargetHistory,
    (after, at, until): (Option<usize>, usize, usize),
) -> ChangeRangeView<'_> {
    ChangeRangeView {
        after: after.map(|at| place(history, at)),
        at: place(history, at),
        until: place(history, until),
    }
}

fn series<'a>(history: &'a TargetHistory, series: &'a VersionSeries) -> HistorySeriesView<'a> {
    let found = &series.found;
    let params = series.cell.params.iter();
    HistorySeriesView {
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
            DetectionMethod::Searched => "searched",
            DetectionMethod::Compared => "compared",
            DetectionMethod::TooLittle => "too-little",
        },
        findings: FindingsView {
            changes: found.changes.iter().map(|c| change(history, c)).collect(),
            epochs: found.epochs.iter().map(|e| epoch(history, e)).collect(),
            doubted: found.doubted.map(|(at, p)| DoubtedView {
                at: place(history, at),
                p,
            }),
            pending: found.pending.as_ref().map(|pending| PendingView {
                change: change(history, &pending.point),
                versions: pending.versions,
                more_versions_would_tell: pending.to_come,
            }),
            trend: found.trend,
            period: found.period,
            least_found: found.least_found,
        },
        named: series.named.iter().map(|n| named(history, n)).collect(),
        states: series.states.as_ref().map(states),
    }
}

fn states(states: &HiddenStates) -> StatesView<'_> {
    StatesView {
        of: match states.holder {
            StateHolder::Boot => "boot",
            StateHolder::Trial => "trial",
        },
        count: states.of,
        high_share: states.high_share,
        percent: states.percent,
        p: states.p,
        cause: states.cause.as_ref().map(|cause| StateCauseView {
            fact: &cause.fact,
            low: &cause.low,
            high: &cause.high,
            agree: cause.agree,
            known: cause.of,
            p: cause.p,
        }),
    }
}

fn named<'a>(history: &'a TargetHistory, named: &'a NamedChange) -> NamedChangeView<'a> {
    NamedChangeView {
        study: named.study.as_str(),
        after: place(history, named.after),
        at: place(history, named.at),
        probability: named.probability,
        size: named.size.map(|size| size.value),
        size_interval: named.size.map(|size| size.interval),
        percent: named.percent.map(|(percent, _)| percent),
        percent_interval: named.percent.map(|(_, interval)| interval),
        direction: named.direction.map(ChangeDirection::as_str),
        found: named.is_found,
    }
}

fn spread(spread: Option<LevelSpread>) -> Option<SpreadView> {
    spread.map(|spread| SpreadView {
        deviation: spread.deviation,
        freedom: spread.freedom,
    })
}

fn point<'a>(history: &'a TargetHistory, point: &'a VersionPoint) -> PointView<'a> {
    let builds = point.builds.iter().map(|build| BuildView {
        layout: build.layout.to_string(),
        build: &build.key,
        boots: build
            .boots
            .iter()
            .map(|boot| BootView {
                boot: boot.ordinal,
                trials: boot
                    .trials
                    .iter()
                    .map(|trial| TrialView {
                        study: trial.study,
                        trial: trial.trial,
                        samples: &trial.values,
                    })
                    .collect(),
            })
            .collect(),
    });
    PointView {
        version: place(history, point.version),
        value: point.value,
        repeated: point.level,
        interval: point.interval,
        alike: point.alike,
        again: spread(point.again),
        reboot: spread(point.reboot),
        relink: spread(point.relink),
        unstable: point.unstable,
        drift: point.drift,
        layouts: point.counts.layouts,
        boots: point.counts.boots,
        sessions: point.counts.sessions,
        trials: point.counts.trials,
        samples: point.counts.samples,
        failed: point.counts.failed,
        builds: builds.collect(),
    }
}

fn change<'a>(history: &'a TargetHistory, point: &'a ChangePoint) -> ChangeView<'a> {
    let between = between(history, (point.after, point.at, point.until));
    let shape = ChangeView {
        adjusted_p: point.adjusted,
        believed: point.believed,
        accepted: point.accepted.as_ref().map(accepted),
        hosts: &point.hosts,
        compilers: point.compilers.as_ref(),
        reference: point.reference.as_ref().map(|it| ReferenceMoveView {
            testbed: it.testbed.as_str(),
            percent: it.percent,
            percent_interval: it.interval,
            moved: it.is_move(),
        }),
        ..ChangeView::new(&point.change, between, point.direction.as_str())
    };
    match point.alike {
        true => shape.of_alike_sides(),
        false => shape,
    }
}

fn accepted(accepted: &ChangeAcceptance) -> AcceptanceView<'_> {
    let it = &accepted.acceptance;
    AcceptanceView {
        by: &it.by,
        reason: &it.reason,
        work_around: it.work_around.as_deref(),
        until: it.until.map(|at| at.to_string()),
        lapsed: accepted.lapsed,
    }
}

fn epoch<'a>(history: &'a TargetHistory, epoch: &NoiseEpoch) -> EpochView<'a> {
    let between = between(history, (epoch.after, epoch.at, epoch.until));
    EpochView::new(&epoch.epoch, between)
}
