//! Verdict of `step`: the history of a target, from all its studies.
//!
//! The versions of all studies become one order, their samples one series for each question and metric, nested as they were
//! measured (build › boot › trial › sample); then each series is searched for changes. Counts of a simulator
//! ([`CellMetric::simulator`]) are judged by the noise of all versions together.
//!
//! Series with another definition or machine stay apart, an unmeasured version is no zero, and no clock is read: the same
//! studies, in any order, give the same history.

mod bisected_changes;
mod gaps;
mod gate;
mod hidden_states;
mod history_findings;
mod host_changes;
mod nesting;
mod pairwise;
mod reference_drift;
mod series_findings;
mod session_spread;
mod version_order;

pub use bisected_changes::{BisectedChange, NamedChange};
pub use gaps::HistoryGap;
pub use gate::{HistoryCondition, HistoryGate};
pub use hidden_states::{HiddenStates, StateCause, StateHolder};
pub use history_findings::HistoryFindings;
pub use nesting::{
    BootSamples, BuildSamples, LevelSpread, RepeatCounts, TrialValues, VersionPoint,
};
pub use reference_drift::{ReferenceDrift, ReferencePoint, ReferenceSeries, ReferenceStudy};
pub use series_findings::{
    ChangeAcceptance, ChangePoint, DetectionMethod, NoiseEpoch, PendingChangePoint, ReferenceMove,
    SeriesFindings,
};
pub use version_order::{StudyVersions, VersionOrder, merged_versions};

use backsight_model::{
    Acceptance, Boot, Build, BuildFailure, Cell, CellMetric, HistoryCell, HistoryTrial,
    MetricFamily, StudyHistory, StudyName, Version,
};
use backsight_stats::changes::Trend;
use jiff::Timestamp;
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};
use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::{change_significance::adjusted_tests, pooled_spread::PooledSpread};
use history_findings::FoundSeries;
pub(crate) use session_spread::Spreads;

/// Over several series: the share of believed changes that may be false.
const FALSE_DISCOVERY_RATE: f64 = 0.05;

/// A version whose trials spread more than this many times as much as those of half of the versions is unstable.
const MIN_UNSTABLE_RATIO: f64 = 4.0;

/// A target's history.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TargetHistory {
    /// All versions of all studies, oldest first.
    pub versions: Vec<HistoryVersion>,
    /// A series for each question and metric, in the order in which studies first ask.
    pub series: Vec<VersionSeries>,
    /// Trials that failed.
    pub failed: usize,
    /// Trials whose boot or build isn't known; they are in no series.
    pub unplaced: usize,
    /// What references measured beside: see [`TargetHistory::tell_of_drift`].
    pub references: Vec<ReferenceSeries>,
    /// Whether their drift was taken out of what is here.
    pub is_drift_removed: bool,
    /// What was accepted, each with the place of its version: see [`TargetHistory::accept`].
    pub acceptances: Vec<(usize, ChangeAcceptance)>,
}

/// A version with what came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryVersion {
    /// The version, as the latest study calls it.
    pub version: Version,
    /// The quirks that its builds had: why each.
    pub quirks: Vec<String>,
    /// The compilers that made its builds, as the programs in them say.
    pub compilers: BTreeSet<String>,
    /// How far it came.
    pub standing: VersionStanding,
}

/// How far a version came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VersionStanding {
    /// Some trial gave samples.
    Measured,
    /// It was tried, and every trial failed: why the last one did.
    Failed(String),
    /// It was built and didn't start: why not.
    Unbootable(String),
    /// It doesn't build: why not.
    Broken(String),
    /// A quirk says that it isn't built: why not.
    Skipped(String),
    /// Nothing has come of it yet.
    Pending,
}

impl VersionStanding {
    /// The word for it.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Failed(_) => "failed",
            Self::Unbootable(_) => "unbootable",
            Self::Broken(_) => "broken",
            Self::Skipped(_) => "skipped",
            Self::Pending => "pending",
        }
    }

    /// Why nothing was measured, where that is known.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Measured | Self::Pending => None,
            Self::Failed(why) | Self::Unbootable(why) | Self::Broken(why) | Self::Skipped(why) => {
                Some(why)
            }
        }
    }
}

/// One question and metric along the versions.
#[derive(Debug, Clone, PartialEq)]
pub struct VersionSeries {
    /// The cell, as the latest study asks it.
    pub cell: Cell,
    /// What identifies the question: definition, parameters, variant, testbed and machine.
    pub key: String,
    /// The metric.
    pub metric: CellMetric,
    /// Where the same cell was measured under several questions: the study that first asked this one.
    pub since: Option<StudyName>,
    /// Whether the latest study that asks for this cell asks it so.
    pub current: bool,
    /// What was measured, in the order of versions; versions without any trial of it are left out.
    pub points: Vec<VersionPoint>,
    /// Where it changed.
    pub found: SeriesFindings,
    /// How much sessions of one version differ, where versions that were measured in several show it.
    pub spread_of_sessions: Option<PooledSpread>,
    /// How much its runs and sessions differ, as any two of its versions are compared by: known once for all of them, since it is
    /// made of every point.
    pub(crate) spreads: Spreads,
    /// The changes that bisections named, in the order of versions: see [`TargetHistory::name_changes`].
    pub named: Vec<NamedChange>,
    /// The two states that its boots or trials are in, where they are: see [`TargetHistory::look_for_states`].
    pub states: Option<HiddenStates>,
}

impl VersionSeries {
    /// `tbench clients=2 throughput`, with the study since which it was measured so where that tells it apart.
    pub fn name(&self) -> String {
        let since = self.since.as_ref().map_or(String::new(), |study| {
            format!(" (as measured since {study})")
        });
        format!("{} {}{since}", self.cell, self.metric.name)
    }

    /// Changes that are believed.
    pub fn believed(&self) -> impl Iterator<Item = &ChangePoint> {
        self.found.changes.iter().filter(|point| point.believed)
    }

    /// The value of a trend of this series at a version; none where nothing was measured.
    pub fn on_trend(&self, trend: &Trend, version: usize) -> Option<f64> {
        let valued = self.points.iter().filter(|point| point.value.is_some());
        let versions: Vec<usize> = valued.map(|point| point.version).collect();
        let point = versions.binary_search(&version).ok()?;
        Some(trend.at(point, versions.len()))
    }

    /// The fewest and the most sessions that a version was measured in; none if nothing was measured.
    pub fn sessions(&self) -> Option<(usize, usize)> {
        let valued = self.points.iter().filter(|point| point.value.is_some());
        let sessions = valued.map(|point| point.counts.sessions);
        Some((sessions.clone().min()?, sessions.max()?))
    }

    /// Whether each version was measured in one session: its runs don't show how sessions differ.
    pub fn is_of_single_sessions(&self) -> bool {
        let mut levels = self.points.iter().filter(|point| point.level.is_some());
        self.metric.simulator.is_none()
            && levels.clone().next().is_some()
            && levels.all(VersionPoint::is_of_one_session)
    }

    /// Whether some version was measured in several layouts. Where none was, a change may be one of layout.
    pub fn has_layouts(&self) -> bool {
        self.points.iter().any(|point| point.counts.layouts > 1)
    }
}

impl TargetHistory {
    /// Notes which changes were accepted, and which of that is over at this time. An acceptance is about the change that may
    /// lie at its version.
    pub fn accept(&mut self, acceptances: &[Acceptance], now: Timestamp) {
        let versions = self.versions.iter().enumerate();
        let places: HashMap<&str, usize> = versions
            .map(|(at, version)| (version.version.id.as_str(), at))
            .collect();
        let known = acceptances.iter().filter_map(|it| {
            let place = places.get(it.version.as_str())?;
            Some((*place, ChangeAcceptance::new(it, now)))
        });
        self.acceptances = known.collect();
        for series in &mut self.series {
            let (benchmark, metric) = (&series.cell.benchmark, &series.metric.name);
            for change in &mut series.found.changes {
                let lies_there =
                    |at: usize| change.after.is_none_or(|after| after < at) && at <= change.until;
                let about = acceptances.iter().filter(|it| {
                    it.covers(benchmark.as_str(), metric.as_str())
                        && places
                            .get(it.version.as_str())
                            .is_some_and(|at| lies_there(*at))
                });
                // One that holds says more than one that is over.
                let best = about.max_by_key(|it| (it.holds(now), it.at));
                change.accepted = best.map(|it| ChangeAcceptance::new(it, now));
            }
        }
    }
}

/// The history that these studies of one target make together; their order doesn't matter.
pub fn history(studies: &[StudyHistory]) -> TargetHistory {
    let (mut history, drafts) = Drafts::of_studies(studies);
    history.series = drafts.judged();
    history.tell_of_compilers();
    history.tell_of_studies();
    for of in MetricFamily::ALL {
        let family = history.series.iter_mut();
        let mut family: Vec<&mut VersionSeries> =
            family.filter(|it| it.metric.family() == of).collect();
        let tests: Vec<Vec<f64>> = family.iter().map(|s| s.found.tests()).collect();
        let adjusted = adjusted_tests(&tests, &[]).into_iter().flatten();
        for (series, adjusted) in family.iter_mut().zip(adjusted) {
            series.found.adjust(adjusted, FALSE_DISCOVERY_RATE);
        }
    }
    history
}

/// What is known of a version besides samples.
#[derive(Debug, Default)]
struct Record {
    quirks: Vec<String>,
    compilers: BTreeSet<String>,
    measured: bool,
    /// The last of each, with when it was.
    failed: Option<Fault>,
    unbootable: Option<Fault>,
    unbuilt: Option<(Timestamp, BuildFailure)>,
}

type Fault = (Timestamp, String);

impl Record {
    fn version(self, version: Version) -> HistoryVersion {
        let standing = if self.measured {
            VersionStanding::Measured
        } else if let Some((_, why)) = self.failed {
            VersionStanding::Failed(why)
        } else if let Some((_, why)) = self.unbootable {
            VersionStanding::Unbootable(why)
        } else {
            match self.unbuilt {
                Some((_, BuildFailure::Broken(why))) => VersionStanding::Broken(why),
                Some((_, BuildFailure::Skipped(why))) => VersionStanding::Skipped(why),
                None => VersionStanding::Pending,
            }
        };
        HistoryVersion {
            version,
            quirks: self.quirks,
            compilers: self.compilers,
            standing,
        }
    }
}

fn later<T>(known: &mut Option<(Timestamp, T)>, at: Timestamp, what: T) {
    if known.as_ref().is_none_or(|(before, _)| *before <= at) {
        *known = Some((at, what));
    }
}

/// A study with its numbers resolved.
struct OfStudy<'a, 'p> {
    study: &'a StudyHistory,
    /// By position in the study: the version's place in the history.
    places: &'p [usize],
    builds: HashMap<u32, &'a Build>,
    boots: HashMap<u32, &'a Boot>,
}

impl<'a, 'p> OfStudy<'a, 'p> {
    fn new(study: &'a StudyHistory, places: &'p [usize]) -> Self {
        Self {
            study,
            places,
            builds: study.builds.iter().map(|b| (b.number, b)).collect(),
            boots: study.boots.iter().map(|b| (b.number, b)).collect(),
        }
    }

    fn records(&self, records: &mut [Record]) {
        for build in &self.study.builds {
            let Some(record) = self.places.get(build.version).map(|at| &mut records[*at]) else {
                continue;
            };
            for quirk in &build.quirks {
                if !record.quirks.contains(quirk) {
                    record.quirks.push(quirk.clone());
                }
            }
            record.compilers.extend(build.compilers.iter().cloned());
            if let Some(why) = &build.failure {
                later(&mut record.unbuilt, build.began, why.clone());
            }
        }
        for boot in &self.study.boots {
            let build = self.builds.get(&boot.build);
            let place = build.and_then(|build| self.places.get(build.version));
            if let (Some(place), Some(why)) = (place, &boot.failure) {
                later(&mut records[*place].unbootable, boot.began, why.clone());
            }
        }
    }

    fn trials(&self, drafts: &mut Drafts<'a>, records: &mut [Record], history: &mut TargetHistory) {
        let cells = self.study.cells.iter();
        let series: Vec<Vec<Option<usize>>> = cells.map(|cell| drafts.places_of(cell)).collect();
        for trial in &self.study.trials {
            let Some((build, boot, place, cell)) = self.place(trial) else {
                history.unplaced += 1;
                continue;
            };
            match &trial.failure {
                Some(why) => {
                    history.failed += 1;
                    later(&mut records[place].failed, boot.began, why.to_string());
                }
                None => records[place].measured |= trial.samples.iter().any(|s| !s.is_empty()),
            }
            // It was read without its samples.
            if trial.samples.is_empty() {
                continue;
            }
            for number in 0..cell.metrics.len() {
                let samples = match trial.failure {
                    None => trial.samples.get(number).map_or(&[][..], Vec::as_slice),
                    Some(_) => &[],
                };
                if let Some(series) = series[trial.cell][number] {
                    let points = &mut drafts.series[series].points;
                    points.entry(place).or_default().add(
                        (build.layout, &build.key),
                        boot.ordinal,
                        (self.study.study, trial.number),
                        samples,
                    );
                }
            }
        }
    }

    fn place(&self, trial: &HistoryTrial) -> Option<(&'a Build, &'a Boot, usize, &'a HistoryCell)> {
        let boot = *self.boots.get(&trial.boot)?;
        let build = *self.builds.get(&boot.build)?;
        let place = *self.places.get(build.version)?;
        Some((build, boot, place, self.study.cells.get(trial.cell)?))
    }
}

/// What is asked in a series.
struct SeriesHeader {
    cell: Cell,
    key: String,
    metric: CellMetric,
    first: StudyName,
    /// The number of the latest study that asks it.
    last: i64,
}

/// How many questions a cell's metric has, and the latest study that asks one of them; by their [`label`].
type Askings = HashMap<String, (usize, i64)>;

impl SeriesHeader {
    fn series(self, askings: &Askings, found: FoundSeries) -> VersionSeries {
        let asked = askings.get(&label(&self.cell, &self.metric));
        let (asked, latest) = asked.copied().unwrap_or((1, self.last));
        VersionSeries {
            cell: self.cell,
            key: self.key,
            since: (asked > 1).then_some(self.first),
            current: self.last == latest,
            metric: self.metric,
            points: found.points,
            found: found.found,
            spread_of_sessions: found.spread_of_sessions,
            spreads: found.spreads,
            named: found.named,
            states: found.states,
        }
    }
}

/// A series of which trials are being collected.
struct Draft<'a> {
    header: SeriesHeader,
    points: BTreeMap<usize, nesting::Draft<'a>>,
}

#[derive(Default)]
struct Drafts<'a> {
    series: Vec<Draft<'a>>,
    places: HashMap<String, usize>,
}

impl<'a> Drafts<'a> {
    /// What these studies know of their versions, and the series with all that was measured, which nobody has judged.
    fn of_studies(studies: &'a [StudyHistory]) -> (TargetHistory, Self) {
        let mut studies: Vec<&StudyHistory> = studies.iter().collect();
        studies.sort_by_key(|study| study.study);
        let versions: Vec<StudyVersions<'_>> = studies
            .iter()
            .map(|study| StudyVersions {
                versions: &study.versions,
                sides: study.sides,
            })
            .collect();
        let order = merged_versions(&versions);
        let (mut drafts, mut history) = (Self::default(), TargetHistory::default());
        let mut records: Vec<Record> = Vec::new();
        records.resize_with(order.versions.len(), Record::default);
        for (study, places) in studies.iter().zip(&order.places) {
            let of_study = OfStudy::new(study, places);
            drafts.questions(study);
            of_study.records(&mut records);
            of_study.trials(&mut drafts, &mut records, &mut history);
        }
        let versions = order.versions.into_iter().zip(records);
        history.versions = versions
            .map(|(version, record)| record.version(version))
            .collect();
        // In the order in which families are shown.
        drafts
            .series
            .sort_by_key(|draft| draft.header.metric.family());
        drafts.places.clear();
        (history, drafts)
    }

    /// The questions of a study, in its order; the latest study says how they are shown.
    fn questions(&mut self, study: &StudyHistory) {
        for cell in &study.cells {
            for metric in &cell.metrics {
                let place = *self
                    .places
                    .entry(identity(cell, metric))
                    .or_insert(self.series.len());
                match self.series.get_mut(place) {
                    Some(Draft { header: known, .. }) => {
                        known.cell = cell.cell.clone();
                        known.metric = metric.clone();
                        known.last = known.last.max(study.study);
                    }
                    None => self.series.push(Draft {
                        header: SeriesHeader {
                            cell: cell.cell.clone(),
                            key: cell.key.clone(),
                            metric: metric.clone(),
                            first: study.name.clone(),
                            last: study.study,
                        },
                        points: BTreeMap::new(),
                    }),
                }
            }
        }
    }

    /// The places of the series of a cell's metrics.
    fn places_of(&self, cell: &HistoryCell) -> Vec<Option<usize>> {
        let metrics = cell.metrics.iter();
        let places = metrics.map(|metric| self.places.get(&identity(cell, metric)).copied());
        places.collect()
    }

    /// Every series with what was found in it.
    fn judged(self) -> Vec<VersionSeries> {
        let askings = self.askings();
        // Each is judged by itself, which is most of what a long history takes.
        let series = self.series.into_par_iter().map(|draft| {
            let points = draft.points.into_iter();
            let points: Vec<VersionPoint> = points.map(|(at, point)| point.point(at)).collect();
            let found = FoundSeries::in_points(points, &draft.header.metric);
            draft.header.series(&askings, found)
        });
        series.collect()
    }

    fn askings(&self) -> Askings {
        let mut askings = Askings::new();
        for Draft { header, .. } in &self.series {
            let asked = askings
                .entry(label(&header.cell, &header.metric))
                .or_default();
            *asked = (asked.0 + 1, asked.1.max(header.last));
        }
        askings
    }
}

/// What tells series apart. The unit and direction are in the question's key; were they not, they would still be told.
fn identity(cell: &HistoryCell, metric: &CellMetric) -> String {
    format!(
        "{}\n{}\n{} {}",
        cell.key,
        label(&cell.cell, metric),
        metric.unit,
        metric.better
    )
}

/// Benchmark, all parameters, variant and metric.
fn label(cell: &Cell, metric: &CellMetric) -> String {
    let mut params: Vec<String> = cell
        .params
        .iter()
        .map(|(name, value)| format!("{name}={value:?}"))
        .collect();
    params.sort_unstable();
    format!(
        "{}\n{}\n{}\n{}",
        cell.benchmark,
        params.join("\n"),
        cell.variant,
        metric.name
    )
}

fn mark_unstable(points: &mut [VersionPoint]) {
    let mut usual: Vec<f64> = points
        .iter()
        .filter_map(VersionPoint::restlessness)
        .collect();
    // Of fewer it can't be said what is usual.
    if usual.len() < 5 {
        return;
    }
    usual.sort_by(f64::total_cmp);
    let most = MIN_UNSTABLE_RATIO * usual[usual.len() / 2];
    for point in points {
        point.unstable = most > 0.0 && point.restlessness().is_some_and(|spread| spread > most);
    }
}

#[cfg(test)]
pub(crate) mod tests;
