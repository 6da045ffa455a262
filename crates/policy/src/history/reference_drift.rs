//! What drifted in the lab while versions were measured: a reference that always runs the same release shows it.
//!
//! The trials of a reference, in order of time, are a series like others, searched for lasting changes of level and for a trend. Its
//! level at a trial of the study that it was measured beside, as a ratio to its first level, is the drift there, and can be taken
//! out of what was measured. What the search doesn't find is no drift: the noise of the reference never gets into the versions.
//! Where the versions changed, a comparison needs no search: by how much the reference differs between the two sides is told with
//! its interval.

use backsight_model::{
    Cell, CellMetric, HistoryCell, HistoryTrial, MetricName, StudyHistory, TestbedName,
};
use backsight_stats::{
    Confidence, Interval,
    changes::{ChangeKind, DetectionOptions, Findings, MIN_POINTS, detect},
    control_move,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

use super::{ChangePoint, ReferenceMove, TargetHistory, VersionPoint, VersionSeries, identity};

/// Values on either side that are averaged where the level of a reference never rests.
const SMOOTHED: usize = 4;

/// What was measured on a reference beside a study.
#[derive(Debug, Clone, PartialEq)]
pub struct ReferenceStudy {
    /// The number of the study beside it.
    pub beside: i64,
    /// The reference's testbed.
    pub testbed: TestbedName,
    /// What was measured, in cells with the numbers of those of the study beside it.
    pub measured: StudyHistory,
}

/// What a reference measured of one question and metric, beside whatever study.
#[derive(Debug, Clone, PartialEq)]
pub struct ReferenceSeries {
    /// The testbed.
    pub testbed: TestbedName,
    /// The cell on it.
    pub cell: Cell,
    /// The metric.
    pub metric: CellMetric,
    /// What was measured, in order of time.
    pub points: Vec<ReferencePoint>,
    /// How the level moved; none where there are too few points to say.
    pub found: Option<Findings>,
    /// By study beside it: the places of its points, in order of time.
    places: HashMap<i64, Vec<usize>>,
}

/// A trial of a reference.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ReferencePoint {
    /// The number of the study beside it.
    pub beside: i64,
    /// When it began.
    pub at: Timestamp,
    /// The mean of its samples.
    pub value: f64,
    /// The level there, as a ratio to the first one.
    pub drift: f64,
}

impl ReferenceSeries {
    /// `tbench clients=2 throughput on guide`.
    pub fn name(&self) -> String {
        format!("{} {} on {}", self.cell, self.metric.name, self.testbed)
    }

    /// Whether its level moved.
    pub fn drifts(&self) -> bool {
        let found = self.found.as_ref();
        found.is_some_and(|found| !found.changes.is_empty() || found.trend.is_some())
    }

    /// Whether it has too few trials to tell.
    pub fn is_too_short(&self) -> bool {
        self.points.len() < MIN_POINTS
    }

    fn new(testbed: TestbedName, cell: &HistoryCell, metric: &CellMetric) -> Self {
        Self {
            testbed,
            cell: cell.cell.clone(),
            metric: metric.clone(),
            points: Vec::new(),
            found: None,
            places: HashMap::new(),
        }
    }

    fn search(&mut self) {
        self.points.sort_by_key(|point| point.at);
        self.note_places();
        if self.is_too_short() {
            return;
        }
        let values: Vec<f64> = self.points.iter().map(|point| point.value).collect();
        let Ok(found) = detect(&values, &DetectionOptions::default()) else {
            return;
        };
        let levels = levels(&values, &found);
        // A ratio to a level that isn't above zero means nothing.
        if let Some(first) = levels.first().copied().filter(|first| *first > 0.0) {
            for (point, level) in self.points.iter_mut().zip(levels) {
                let drift = level / first;
                point.drift = if drift > 0.0 { drift } else { 1.0 };
            }
        }
        self.found = Some(found);
    }

    fn note_places(&mut self) {
        for (place, point) in self.points.iter().enumerate() {
            self.places.entry(point.beside).or_default().push(place);
        }
    }

    /// As it was found before, where this one is of the same studies without their samples.
    pub(super) fn with_findings(
        mut self,
        points: Vec<ReferencePoint>,
        found: Option<Findings>,
    ) -> Self {
        self.points = points;
        self.found = found;
        self.note_places();
        self
    }

    /// The places of the last point up to a time and of the first one after it, of those beside a study.
    fn neighbours(&self, beside: i64, at: Timestamp) -> (Option<usize>, Option<usize>) {
        let places = self.places.get(&beside).map_or(&[][..], Vec::as_slice);
        let after = places.partition_point(|place| self.points[*place].at <= at);
        let before = after.checked_sub(1).map(|before| places[before]);
        (before, places.get(after).copied())
    }

    /// The drift at a time of a study beside it: between two points in proportion. Unknown where the level moved in one step between
    /// the two.
    fn drift_at(&self, beside: i64, at: Timestamp) -> Option<f64> {
        let (from, to) = match self.neighbours(beside, at) {
            (Some(from), Some(to)) => (from, to),
            (before, after) => return Some(self.points[before.or(after)?].drift),
        };
        let mut changes = self.found.iter().flat_map(|found| &found.changes);
        if changes.any(|it| it.kind == ChangeKind::Level && from < it.at && it.at <= to) {
            return None;
        }
        let (start, end) = (self.points[from], self.points[to]);
        let whole = end.at.duration_since(start.at).as_secs_f64();
        let share = at.duration_since(start.at).as_secs_f64() / whole;
        Some(start.drift + share * (end.drift - start.drift))
    }

    /// The place of its point that is nearest in time among those beside a study.
    fn nearest(&self, beside: i64, at: Timestamp) -> Option<usize> {
        let (before, after) = self.neighbours(beside, at);
        let near = before.into_iter().chain(after);
        near.min_by_key(|place| self.points[*place].at.duration_since(at).abs())
    }

    /// By how much it moved from the points beside trials before a change to those beside trials after it.
    fn moved(&self, before: &[usize], after: &[usize]) -> Option<ReferenceMove> {
        let values: Vec<f64> = self.points.iter().map(|point| point.value).collect();
        let moved = control_move(&values, before, after, Confidence::default())?;
        let percent = |size: f64| 100.0 * size / moved.from;
        (moved.from > 0.0).then(|| ReferenceMove {
            testbed: self.testbed.clone(),
            percent: percent(moved.size),
            interval: Interval {
                low: percent(moved.interval.low),
                high: percent(moved.interval.high),
            },
        })
    }
}

/// The level at each value, without the noise.
fn levels(values: &[f64], found: &Findings) -> Vec<f64> {
    if found.changes.iter().any(|it| it.kind == ChangeKind::Trend) {
        let mean = |place: usize| {
            let around = place.saturating_sub(SMOOTHED)..(place + SMOOTHED + 1).min(values.len());
            values[around.clone()].iter().sum::<f64>() / around.len() as f64
        };
        return (0..values.len()).map(mean).collect();
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let first = found.changes.first().map_or(mean, |change| change.before);
    let level = |place: usize| {
        let before = found.changes.iter().rfind(|change| change.at <= place);
        let stepped = before.map_or(first, |change| change.after);
        let trend = found.trend.as_ref();
        stepped
            + trend.map_or(0.0, |it| {
                it.at(place, values.len()) - it.at(0, values.len())
            })
    };
    (0..values.len()).map(level).collect()
}

/// References with the drift at the trials of the studies beside them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReferenceDrift {
    /// A series for each question and metric.
    pub series: Vec<ReferenceSeries>,
    /// By study and cell of what was measured beside, and metric: the place in `series`.
    places: HashMap<(i64, usize, MetricName), usize>,
}

impl ReferenceDrift {
    /// What these references say together; their order doesn't matter.
    pub fn new(references: &[ReferenceStudy]) -> Self {
        let mut all: Vec<&ReferenceStudy> = references.iter().collect();
        all.sort_by_key(|reference| reference.measured.study);
        let mut this = Self::default();
        let mut known: HashMap<String, usize> = HashMap::new();
        for reference in all {
            for (number, cell) in reference.measured.cells.iter().enumerate() {
                for shape in &cell.metrics {
                    let testbed = &reference.testbed;
                    let key = format!("{testbed}\n{}", identity(cell, shape));
                    let place = *known.entry(key).or_insert(this.series.len());
                    if place == this.series.len() {
                        let new = ReferenceSeries::new(testbed.clone(), cell, shape);
                        this.series.push(new);
                    }
                    let beside = (reference.beside, number, shape.name.clone());
                    this.places.insert(beside, place);
                }
            }
            for trial in &reference.measured.trials {
                let cell = reference.measured.cells.get(trial.cell);
                let metrics = cell.map_or(&[][..], |cell| &cell.metrics);
                for (metric, samples) in metrics.iter().zip(&trial.samples) {
                    let value = samples.iter().sum::<f64>() / samples.len() as f64;
                    let place = (reference.beside, trial.cell, metric.name.clone());
                    let Some(place) = this.places.get(&place).filter(|_| value.is_finite()) else {
                        continue;
                    };
                    this.series[*place].points.push(ReferencePoint {
                        beside: reference.beside,
                        at: trial.began,
                        value,
                        drift: 1.0,
                    });
                }
            }
        }
        this.series.iter_mut().for_each(ReferenceSeries::search);
        this
    }

    /// The place of the series that a trial of a study was measured beside.
    fn series_of(&self, trial: &MeasuredTrial, metric: &MetricName) -> Option<usize> {
        let place = (trial.study, trial.cell, metric.clone());
        self.places.get(&place).copied()
    }

    /// These studies as they would have been measured if nothing had drifted: every sample divided by the drift at its trial.
    /// What was measured beside no reference stays as it is; samples are left out where the reference moved in one step between
    /// its trials before and after them.
    #[must_use]
    pub fn removed_from(&self, mut studies: Vec<StudyHistory>) -> Vec<StudyHistory> {
        for study in &mut studies {
            let (number, cells) = (study.study, &study.cells);
            study.trials.retain_mut(|trial| {
                let has_samples =
                    |trial: &HistoryTrial| trial.samples.iter().any(|it| !it.is_empty());
                let had_samples = has_samples(trial);
                self.remove_from(number, cells, trial);
                // One that loses all of them would be told as one that failed.
                !had_samples || has_samples(trial)
            });
        }
        studies
    }

    fn remove_from(&self, study: i64, cells: &[HistoryCell], trial: &mut HistoryTrial) {
        let measured = MeasuredTrial {
            study,
            cell: trial.cell,
            at: trial.began,
        };
        let metrics = cells.get(trial.cell).map_or(&[][..], |cell| &cell.metrics);
        for (metric, samples) in metrics.iter().zip(&mut trial.samples) {
            let Some(series) = self.series_of(&measured, &metric.name) else {
                continue;
            };
            let series = &self.series[series];
            match series.drift_at(study, measured.at) {
                Some(drift) => samples.iter_mut().for_each(|it| *it /= drift),
                None if !series.places.contains_key(&study) => {}
                None => samples.clear(),
            }
        }
    }
}

/// A trial of a study beside a reference.
#[derive(Clone, Copy)]
struct MeasuredTrial {
    study: i64,
    cell: usize,
    at: Timestamp,
}

impl TargetHistory {
    /// Notes what references measured, whose drift was [taken out](ReferenceDrift::removed_from) of the studies.
    pub fn tell_of_removed_drift(&mut self, drift: ReferenceDrift) {
        self.references = drift.series;
        self.is_drift_removed = true;
    }

    /// Notes what references measured beside these studies, and where a change of the versions goes with a move of theirs.
    pub fn tell_of_drift(&mut self, studies: &[StudyHistory], drift: ReferenceDrift) {
        let trials = studies.iter().flat_map(|study| {
            let trial = |it: &HistoryTrial| {
                let measured = MeasuredTrial {
                    study: study.study,
                    cell: it.cell,
                    at: it.began,
                };
                ((study.study, it.number), measured)
            };
            study.trials.iter().map(trial)
        });
        let trials: HashMap<(i64, u32), MeasuredTrial> = trials.collect();
        for series in &mut self.series {
            let name = &series.metric.name;
            let places_of = |point: &VersionPoint| -> Vec<(usize, usize)> {
                let boots = point.builds.iter().flat_map(|build| &build.boots);
                let measured = boots.flat_map(|boot| &boot.trials);
                let measured = measured.filter(|trial| !trial.values.is_empty());
                let place = |trial: &super::TrialValues| {
                    let trial = trials.get(&(trial.study, trial.trial))?;
                    let series = drift.series_of(trial, name)?;
                    let reference = &drift.series[series];
                    // Nobody can tell on which side of a step it is.
                    reference.drift_at(trial.study, trial.at)?;
                    Some((series, reference.nearest(trial.study, trial.at)?))
                };
                measured.filter_map(place).collect()
            };
            let places: Vec<Vec<(usize, usize)>> = series.points.iter().map(places_of).collect();
            let moves = moves_at_changes(series, &drift, &places);
            let drifts = places.iter().map(|places| {
                let at =
                    |(series, point): &(usize, usize)| drift.series[*series].points[*point].drift;
                let sum: f64 = places.iter().map(at).sum();
                (!places.is_empty()).then(|| sum / places.len() as f64)
            });
            let drifts: Vec<Option<f64>> = drifts.collect();
            for (change, reference) in series.found.changes.iter_mut().zip(moves) {
                change.reference = reference;
            }
            for (point, drift) in series.points.iter_mut().zip(drifts) {
                point.drift = drift;
            }
        }
        self.references = drift.series;
    }
}

/// For each change of a series: by how much the reference moved from the versions of the level before to those of the level after.
/// `places` has, for each point of the series, the reference's series and point beside each of its trials.
fn moves_at_changes(
    series: &VersionSeries,
    drift: &ReferenceDrift,
    places: &[Vec<(usize, usize)>],
) -> Vec<Option<ReferenceMove>> {
    let changes = &series.found.changes;
    let level_between = |from: Option<&ChangePoint>, until: Option<&ChangePoint>| {
        let points = series.points.iter().zip(places).filter(|(point, _)| {
            from.is_none_or(|change| change.at <= point.version)
                && until.is_none_or(|change| point.version < change.at)
        });
        let places = points.flat_map(|(_, places)| places);
        places.copied().collect::<Vec<_>>()
    };
    let of_change = |at: usize| {
        let before = at.checked_sub(1).and_then(|at| changes.get(at));
        let before = level_between(before, changes.get(at));
        let after = level_between(changes.get(at), changes.get(at + 1));
        let reference = before.first()?.0;
        // Where the question of the reference changed between, nothing is known.
        let own = |places: &[(usize, usize)]| -> Option<Vec<usize>> {
            let own = places
                .iter()
                .map(|(of, point)| (*of == reference).then_some(*point));
            own.collect::<Option<Vec<usize>>>()
                .filter(|own| !own.is_empty())
        };
        drift.series[reference].moved(&own(&before)?, &own(&after)?)
    };
    (0..changes.len()).map(of_change).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{
        history,
        tests::{measured, noise, study},
    };
    use super::*;
    use std::time::Duration;

    /// A study whose trials were measured a minute after the other, and its reference after every fifth of them. From trial `from`
    /// on everything is slower, to this share.
    fn drifting(step: usize, from: usize, share: f64) -> (StudyHistory, ReferenceStudy) {
        let versions: Vec<usize> = (0..40).collect();
        let mut beside = measured(1, &versions, &[1], step);
        let begin = beside.began;
        let at = |trial: usize| begin + Duration::from_secs(60 * trial as u64);
        for (number, trial) in beside.trials.iter_mut().enumerate() {
            trial.began = at(number);
            if number >= from {
                let samples = trial.samples.iter_mut().flatten();
                samples.for_each(|sample| *sample *= share);
            }
        }
        let mut reference = study(2);
        reference.versions.clear();
        for (round, number) in (0..beside.trials.len()).step_by(5).enumerate() {
            let level = if number >= from { 50.0 * share } else { 50.0 };
            let value = level + 0.2 * noise(7_000 + round);
            reference.trials.push(HistoryTrial {
                began: at(number),
                number: round as u32 + 1,
                boot: 0,
                cell: 0,
                round: round as u32 + 1,
                failure: None,
                samples: vec![vec![value]],
                took: Duration::from_secs(1),
                neighbours: 0.0,
            });
        }
        let reference = ReferenceStudy {
            beside: 1,
            testbed: "guide".parse().unwrap(),
            measured: reference,
        };
        (beside, reference)
    }

    fn told(beside: &StudyHistory, reference: &ReferenceStudy) -> TargetHistory {
        let studies = std::slice::from_ref(beside);
        let mut history = history(studies);
        history.tell_of_drift(
            studies,
            ReferenceDrift::new(std::slice::from_ref(reference)),
        );
        history
    }

    #[test]
    fn a_change_of_the_lab_is_told_at_the_change_of_the_versions_that_it_makes() {
        let (beside, reference) = drifting(usize::MAX, 60, 0.95);
        let history = told(&beside, &reference);
        let [change] = &history.series[0].found.changes[..] else {
            panic!("{:?}", history.series[0].found.changes);
        };
        let told = change.reference.as_ref().unwrap();
        assert!((told.percent + 5.0).abs() < 0.5, "{told:?}");
        assert!(told.is_move());
        let points = &history.series[0].points;
        assert_eq!(points[0].drift, Some(1.0));
        assert!((points[39].drift.unwrap() - 0.95).abs() < 0.005);
        let interval = told.interval;
        assert!(interval.low < -5.0 && -5.0 < interval.high, "{interval:?}");
        assert!(history.references[0].drifts());
    }

    #[test]
    fn what_a_reference_sees_is_taken_out_and_what_it_does_not_see_stays() {
        let (beside, reference) = drifting(10, 60, 0.95);
        let drift = ReferenceDrift::new(std::slice::from_ref(&reference));
        assert_eq!(
            history(std::slice::from_ref(&beside)).series[0]
                .found
                .changes
                .len(),
            2
        );
        let corrected = drift.removed_from(vec![beside]);
        let mut history = history(&corrected);
        let [change] = &history.series[0].found.changes[..] else {
            panic!("{:?}", history.series[0].found.changes);
        };
        assert_eq!(change.at, 10);
        history.tell_of_removed_drift(drift);
        assert!(history.is_drift_removed && history.references[0].drifts());
    }

    #[test]
    fn a_trial_without_samples_stays_one_where_the_drift_is_taken_out() {
        let (mut beside, reference) = drifting(usize::MAX, 60, 0.95);
        beside.trials[3].samples = vec![Vec::new()];
        let empty = beside.trials[3].clone();
        let drift = ReferenceDrift::new(&[reference]);
        let corrected = drift.removed_from(vec![beside]);
        assert!(corrected[0].trials.contains(&empty));
    }

    #[test]
    fn what_was_measured_beside_a_reference_that_always_failed_stays_as_it_is() {
        let (beside, reference) = drifting(usize::MAX, 60, 0.95);
        let mut failed = reference.clone();
        failed.beside = 7;
        failed.measured.study = 8;
        failed.measured.trials.clear();
        let other = StudyHistory { study: 7, ..beside };
        let drift = ReferenceDrift::new(&[reference, failed]);
        assert_eq!(drift.removed_from(vec![other.clone()]), [other]);
    }

    #[test]
    fn a_reference_that_rests_changes_nothing() {
        let (beside, reference) = drifting(10, usize::MAX, 1.0);
        let history = told(&beside, &reference);
        let [change] = &history.series[0].found.changes[..] else {
            panic!("one change");
        };
        let told = change.reference.as_ref().unwrap();
        assert!(!told.is_move() && told.percent.abs() < 0.5, "{told:?}");
        assert!(!history.references[0].drifts());
        let drift = ReferenceDrift::new(&[reference]);
        assert_eq!(drift.removed_from(vec![beside.clone()]), [beside]);
    }

    #[test]
    fn a_slow_drift_is_a_trend_of_the_reference_and_is_taken_out() {
        let (mut beside, mut reference) = drifting(usize::MAX, usize::MAX, 1.0);
        let begin = beside.began;
        let slower = |at: Timestamp| 1.0 - 0.1 * at.duration_since(begin).as_secs_f64() / 7200.0;
        for trial in beside
            .trials
            .iter_mut()
            .chain(&mut reference.measured.trials)
        {
            let share = slower(trial.began);
            let samples = trial.samples.iter_mut().flatten();
            samples.for_each(|sample| *sample *= share);
        }
        let drift = ReferenceDrift::new(&[reference]);
        assert!(drift.series[0].drifts());
        let found = |study: &StudyHistory| {
            let history = history(std::slice::from_ref(study));
            let found = &history.series[0].found;
            found.trend.is_some() || !found.changes.is_empty()
        };
        assert!(found(&beside));
        assert!(!found(&drift.removed_from(vec![beside])[0]));
    }

    #[test]
    fn versions_that_are_measured_in_turns_are_told_apart_whatever_the_lab_does() {
        let (mut beside, reference) = drifting(10, 60, 0.95);
        // The trials of versions before and after the change alternate in time.
        let count = beside.trials.len();
        let times: Vec<Timestamp> = beside.trials.iter().map(|trial| trial.began).collect();
        for (number, trial) in beside.trials.iter_mut().enumerate() {
            trial.began = times[number * 7 % count];
        }
        let history = told(&beside, &reference);
        let changes = history.series[0].found.changes.iter();
        let at_change = changes.filter(|change| change.at == 10);
        for change in at_change {
            assert!(!change.reference.as_ref().unwrap().is_move(), "{change:?}");
        }
    }

    #[test]
    fn few_trials_tell_nothing() {
        let (beside, mut reference) = drifting(usize::MAX, 60, 0.5);
        reference.measured.trials.truncate(3);
        let history = told(&beside, &reference);
        assert!(history.references[0].is_too_short() && !history.references[0].drifts());
        assert!(
            history.series[0]
                .found
                .changes
                .iter()
                .all(|it| it.reference.is_none())
        );
    }
}
