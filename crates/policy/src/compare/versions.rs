//! Comparison of versions of one target: each series of its history is a row, with the same verdicts and the same correction
//! over the table as between studies.
//!
//! Versions were measured in sessions of their own, so that their differences are judged with what other versions of the
//! series show of how much sessions differ.

use backsight_model::{CellSeries, HostRecordMap, ResultSet, StudyHistory, StudyName, StudyState};
use backsight_stats::NestedSamples;
use indexmap::{IndexMap, IndexSet};
use std::collections::HashMap;

use super::{
    CompareOptions, Comparison, ComparisonSide, Draft, Gathered, MissingReason, Origin, RowContext,
};
use crate::history::{TargetHistory, VersionPoint, VersionSeries};

/// Compares versions by their places in [`TargetHistory::versions`]; the first is the baseline. A series that none of them has
/// is no row.
pub fn compare_versions(
    history: &TargetHistory,
    versions: &[usize],
    options: CompareOptions,
) -> Comparison {
    let sets: Vec<ResultSet> = (versions.iter())
        .filter_map(|at| empty_set(history, *at))
        .collect();
    let context = RowContext {
        sets: &sets,
        hosts: &IndexSet::new(),
        others: &[],
        tried: Vec::new(),
        machines: vec![None; sets.len()],
        definitions: vec![Vec::new(); sets.len()],
        options,
        origin: Origin::Studies,
    };
    let series = history.series.iter().enumerate();
    let is_asked = |series: &VersionSeries| options.monitors || series.metric.monitor.is_none();
    let drafts = series
        .filter(|(_, series)| is_asked(series))
        .filter_map(|(number, series)| {
            let mut draft = draft(&context, series, versions)?;
            draft.row.series = Some(number);
            Some(draft)
        });
    let sides = versions.iter().map(|at| side(history, *at)).collect();
    let mut comparison = context.comparison(drafts.collect(), sides);
    comparison.left_out_monitor_metrics = (history.series.iter())
        .filter(|series| !is_asked(series))
        .map(|series| &series.metric.name)
        .collect::<IndexSet<_>>()
        .len();
    comparison
}

/// What is known of a target's versions: their history, the studies that it is made of, and what hosts were when each of these
/// began.
#[derive(Debug, Clone, Copy)]
pub struct VersionEvidence<'a> {
    /// The history.
    pub history: &'a TargetHistory,
    /// Its studies.
    pub studies: &'a [StudyHistory],
    /// The records of their hosts, by the studies' numbers.
    pub records: &'a HashMap<i64, HostRecordMap>,
}

impl VersionEvidence<'_> {
    /// Compares versions as [`compare_versions`] does, with a warning for what differs between the hosts of the latest studies
    /// that have a build of each.
    pub fn compare(&self, versions: &[usize], options: CompareOptions) -> Comparison {
        let mut comparison = compare_versions(self.history, versions, options);
        let by_side = versions.iter().map(|at| {
            let records = self.latest_study(*at).and_then(|it| self.records.get(&it));
            records.cloned().unwrap_or_default()
        });
        comparison.tell_of_hosts(&by_side.collect::<Vec<_>>());
        comparison
    }

    /// The number of the latest study that has a build of the version at this place.
    fn latest_study(&self, at: usize) -> Option<i64> {
        let id = &self.history.versions[at].version.id;
        let has_built = |study: &&StudyHistory| {
            let builds = study.builds.iter();
            let mut versions = builds.filter_map(|it| study.versions.get(it.version));
            versions.any(|version| version.id == *id)
        };
        let studies = self.studies.iter().filter(has_built);
        studies.map(|study| study.study).max()
    }
}

fn draft(context: &RowContext<'_>, series: &VersionSeries, versions: &[usize]) -> Option<Draft> {
    let points = versions.iter().map(|at| point_at(series, *at));
    let points: Vec<Option<&VersionPoint>> = points.collect();
    points.iter().flatten().next()?;
    let metric = &series.metric;
    let shape = CellSeries {
        cell: series.cell.clone(),
        metric: metric.name.clone(),
        unit: metric.unit,
        better: metric.better,
        about: metric.about.clone(),
        primary: metric.primary,
        monitor: metric.monitor.clone(),
        simulator: metric.simulator,
        trials: Vec::new(),
    };
    let gathered = points.into_iter().map(|point| gathered(series, point));
    let spreads = series.spreads;
    Some(context.draft_of(
        &shape,
        metric.primary,
        gathered.collect(),
        [spreads.runs, spreads.sessions],
    ))
}

/// A series at a version; none where nothing of it was tried.
fn point_at(series: &VersionSeries, at: usize) -> Option<&VersionPoint> {
    let place = series.points.binary_search_by_key(&at, |it| it.version);
    place.ok().map(|place| &series.points[place])
}

fn gathered(
    series: &VersionSeries,
    point: Option<&VersionPoint>,
) -> Result<Gathered, MissingReason> {
    let point = point.ok_or(MissingReason::NotYet)?;
    let counts = &point.counts;
    let missing = || MissingReason::Failed {
        trials: counts.failed,
    };
    let samples: NestedSamples = point.side().ok_or_else(missing)?;
    let boots = point.builds.iter().flat_map(|build| &build.boots);
    let trials = boots.flat_map(|boot| &boot.trials);
    Ok(Gathered {
        samples,
        trials: counts.trials,
        numbers: trials
            .filter(|trial| !trial.values.is_empty())
            .map(|trial| trial.trial)
            .collect(),
        within: None,
        neighbours: 0.0,
        failed: counts.failed,
        unit: series.metric.unit,
        better: series.metric.better,
        simulator: series.metric.simulator,
    })
}

/// A version as a result set without series; what is asked of a set besides them is the same for all versions.
fn empty_set(history: &TargetHistory, at: usize) -> Option<ResultSet> {
    Some(ResultSet {
        study: at as i64,
        name: history.versions[at].version.name.clone(),
        study_name: StudyName::new("version").ok()?,
        began: jiff::Timestamp::UNIX_EPOCH,
        state: StudyState::Finished,
        interleaved: false,
        hosts: IndexMap::new(),
        definitions: Default::default(),
        series: Vec::new(),
        failed: Vec::new(),
    })
}

fn side(history: &TargetHistory, at: usize) -> ComparisonSide {
    let points = history.series.iter().filter_map(|it| point_at(it, at));
    let trials = points.flat_map(|point| {
        let boots = point.builds.iter().flat_map(|build| &build.boots);
        boots.flat_map(|boot| boot.trials.iter().map(move |trial| (boot.ordinal, trial)))
    });
    let mut measured = IndexSet::new();
    let mut failed = IndexSet::new();
    let mut sessions = IndexSet::new();
    for (boot, trial) in trials {
        let identity = (trial.study, trial.trial);
        if trial.values.is_empty() {
            failed.insert(identity);
        } else {
            measured.insert(identity);
            sessions.insert((trial.study, boot));
        }
    }
    ComparisonSide {
        name: history.versions[at].version.name.clone(),
        study: None,
        measured: measured.len(),
        failed: failed.difference(&measured).count(),
        sessions: sessions.len(),
        hosts: Vec::new(),
    }
}
