//! What was found in the samples of a target's history, without the samples: what tables, alerts and gates need of it, kept as bytes
//! between one question and the next.
//!
//! Out: bytes of the versions and references, and of each series. In: these bytes and the same studies without their samples; the
//! history of both is that of the whole studies, but its points have no builds. What depends on what people said and on records of
//! hosts isn't in the bytes: [`TargetHistory::accept`] and [`TargetHistory::tell_of_hosts`] come after.
//!
//! Whoever keeps the bytes knows which studies they are of, and of which program: nothing here can tell.

use backsight_model::{CellMetric, StudyHistory};
use backsight_stats::changes::Findings;
use rayon::iter::{
    IndexedParallelIterator as _, IntoParallelIterator as _, IntoParallelRefIterator as _,
    ParallelIterator as _,
};
use serde::{Deserialize, Serialize};

use super::{
    Drafts, HiddenStates, NamedChange, ReferenceDrift, ReferencePoint, ReferenceSeries,
    SeriesFindings, Spreads, TargetHistory, VersionPoint, VersionSeries, VersionStanding,
    mark_unstable, session_spread::Repeats,
};
use crate::pooled_spread::PooledSpread;

/// What was found, as bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryFindings {
    /// Of versions and references.
    pub overview: Vec<u8>,
    /// Of each series, in the order of [`TargetHistory::series`].
    pub series: Vec<Vec<u8>>,
}

/// What was found in a series.
#[derive(Deserialize)]
pub(super) struct FoundSeries {
    pub points: Vec<VersionPoint>,
    pub found: SeriesFindings,
    pub spread_of_sessions: Option<PooledSpread>,
    pub spreads: Spreads,
    pub named: Vec<NamedChange>,
    pub states: Option<HiddenStates>,
}

/// The same as it is written: names and order of its fields are those of [`FoundSeries`].
#[derive(Serialize)]
struct FoundSeriesRef<'a> {
    points: &'a [VersionPoint],
    found: &'a SeriesFindings,
    spread_of_sessions: &'a Option<PooledSpread>,
    spreads: &'a Spreads,
    named: &'a [NamedChange],
    states: &'a Option<HiddenStates>,
}

#[derive(Serialize, Deserialize)]
struct Overview {
    /// By version: whether some trial gave samples.
    measured: Vec<bool>,
    references: Vec<FoundReference>,
}

#[derive(Serialize, Deserialize)]
struct FoundReference {
    points: Vec<ReferencePoint>,
    found: Option<Findings>,
}

impl FoundSeries {
    /// What is found in what was measured; nobody has named a change in it yet.
    pub(super) fn in_points(mut points: Vec<VersionPoint>, metric: &CellMetric) -> Self {
        mark_unstable(&mut points);
        let spreads = Spreads::from_points(&points);
        let repeats = match metric.simulator {
            Some(_) => Repeats::Simulated,
            None => Repeats::Measured(spreads),
        };
        let mut spread_of_sessions = None;
        if metric.simulator.is_none() {
            spreads.widen(&mut points);
            spread_of_sessions = spreads.sessions;
        }
        Self {
            found: SeriesFindings::in_points(&points, metric.better, repeats),
            points,
            spread_of_sessions,
            spreads,
            named: Vec::new(),
            states: None,
        }
    }
}

impl TargetHistory {
    /// What was found, as bytes; none of a history whose drift was removed, which nobody asks for twice.
    pub fn findings(&self) -> Option<HistoryFindings> {
        if self.is_drift_removed {
            return None;
        }
        let references = self.references.iter().map(|reference| FoundReference {
            points: reference.points.clone(),
            found: reference.found.clone(),
        });
        let versions = self.versions.iter();
        let overview = Overview {
            measured: versions
                .map(|version| version.standing == VersionStanding::Measured)
                .collect(),
            references: references.collect(),
        };
        let packed = |series: &VersionSeries| {
            postcard::to_allocvec(&FoundSeriesRef {
                points: &series.points,
                found: &series.found,
                spread_of_sessions: &series.spread_of_sessions,
                spreads: &series.spreads,
                named: &series.named,
                states: &series.states,
            })
            .ok()
        };
        let series: Option<Vec<Vec<u8>>> = self.series.par_iter().map(packed).collect();
        Some(HistoryFindings {
            overview: postcard::to_allocvec(&overview).ok()?,
            series: series?,
        })
    }

    /// Adds the builds with their samples to the points of a history [of findings](Self::from_findings), of those trials whose samples
    /// these studies have.
    pub fn add_samples(&mut self, studies: &[StudyHistory]) {
        let (_, drafts) = Drafts::of_studies(studies);
        for (series, draft) in self.series.iter_mut().zip(drafts.series) {
            for (version, trials) in draft.points {
                let place = series
                    .points
                    .binary_search_by_key(&version, |it| it.version);
                if let Ok(place) = place {
                    series.points[place].builds = trials.builds();
                }
            }
        }
    }

    /// The history of studies that were read without their samples, and of what was found in these; none where the bytes
    /// aren't of these studies. `drift` is of the references, without their samples too.
    pub fn from_findings(
        studies: &[StudyHistory],
        drift: ReferenceDrift,
        findings: &HistoryFindings,
    ) -> Option<Self> {
        let (mut history, drafts) = Drafts::of_studies(studies);
        let overview: Overview = postcard::from_bytes(&findings.overview).ok()?;
        let is_whole = overview.measured.len() == history.versions.len()
            && overview.references.len() == drift.series.len()
            && findings.series.len() == drafts.series.len();
        if !is_whole {
            return None;
        }
        let versions = history.versions.iter_mut().zip(overview.measured);
        for (version, _) in versions.filter(|(_, is_measured)| *is_measured) {
            version.standing = VersionStanding::Measured;
        }
        let askings = drafts.askings();
        let series = drafts.series.into_par_iter().zip(&findings.series);
        let series = series.map(|(draft, bytes)| {
            let found: FoundSeries = postcard::from_bytes(bytes).ok()?;
            Some(draft.header.series(&askings, found))
        });
        history.series = series.collect::<Option<_>>()?;
        history.tell_of_compilers();
        let references = drift.series.into_iter().zip(overview.references);
        history.references = references
            .map(|(reference, kept)| {
                ReferenceSeries::with_findings(reference, kept.points, kept.found)
            })
            .collect();
        Some(history)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{history, tests::measured};
    use super::*;
    use crate::{BisectedChange, ReferenceStudy};
    use backsight_stats::{Interval, culprits::IntervalEstimate};
    use proptest::prelude::*;
    use std::{collections::HashMap, time::Duration};

    /// Two studies of which some versions are in both, and a reference beside the first one.
    fn studies(sizes: [usize; 2], step: usize, odd: usize) -> (Vec<StudyHistory>, ReferenceStudy) {
        let range = |from: usize, to: usize| (from..to).collect::<Vec<_>>();
        let mut first = measured(1, &range(0, sizes[0]), &[1, 2], step);
        let mut second = measured(2, &range(sizes[0] / 2, sizes[0] + sizes[1]), &[3], step);
        for (number, trial) in first.trials.iter_mut().enumerate() {
            trial.began += Duration::from_secs(60 * number as u64);
        }
        // What failed, what isn't there, and what is no number.
        for (number, trial) in second.trials.iter_mut().enumerate() {
            match (number + odd) % 11 {
                0 => trial.samples[0].clear(),
                1 => trial.samples[0].push(f64::NAN),
                2 => trial.boot = 999,
                _ => trial.samples[0].push(number as f64 / 3.0),
            }
        }
        let mut reference = measured(3, &range(0, sizes[0]), &[1], usize::MAX);
        for (number, trial) in reference.trials.iter_mut().enumerate() {
            trial.began += Duration::from_secs(90 * number as u64);
            let drift = 1.0 + number as f64 / 100.0;
            trial.samples[0].iter_mut().for_each(|it| *it *= drift);
        }
        let reference = ReferenceStudy {
            beside: 1,
            testbed: "guide".parse().unwrap(),
            measured: reference,
        };
        (vec![first, second], reference)
    }

    fn without_samples(study: &StudyHistory) -> StudyHistory {
        let mut outline = study.clone();
        for trial in &mut outline.trials {
            trial.samples = Vec::new();
        }
        outline
    }

    /// All but samples. Floats in their debug form are bit by bit the same, and what is no number is like itself.
    fn told(mut history: TargetHistory) -> String {
        for point in history.series.iter_mut().flat_map(|it| &mut it.points) {
            point.builds.clear();
        }
        format!("{history:#?}")
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn a_history_of_what_was_found_is_that_of_all_samples(
            sizes in [1_usize..40, 1_usize..20],
            step in 0_usize..60,
            odd in 0_usize..11,
        ) {
            let (studies, reference) = studies(sizes, step, odd);
            let mut whole = history(&studies);
            let estimate = IntervalEstimate { value: 0.1 + 0.2, interval: Interval { low: 0.1, high: 1.0 / 3.0 } };
            whole.name_changes(&[BisectedChange {
                study: "bisect-1".parse().unwrap(),
                cell: studies[0].cells[0].cell.clone(),
                metric: studies[0].cells[0].metrics[0].clone(),
                after: "v0".into(),
                until: format!("v{}", sizes[0] - 1),
                probability: 0.97,
                size: Some(estimate),
                percent: Some((10.0, estimate.interval)),
            }]);
            whole.look_for_states(&studies, &HashMap::new());
            whole.tell_of_drift(&studies, ReferenceDrift::new(std::slice::from_ref(&reference)));

            let findings = whole.findings().unwrap();
            let outlines: Vec<_> = studies.iter().map(without_samples).collect();
            let beside = ReferenceStudy { measured: without_samples(&reference.measured), ..reference };
            let drift = || ReferenceDrift::new(std::slice::from_ref(&beside));
            let again = TargetHistory::from_findings(&outlines, drift(), &findings).unwrap();
            prop_assert_eq!(again.findings(), Some(findings.clone()));
            let mut with_samples = again.clone();
            with_samples.add_samples(&studies);
            prop_assert_eq!(format!("{with_samples:#?}"), format!("{whole:#?}"));
            prop_assert_eq!(told(again), told(whole));

            prop_assert!(TargetHistory::from_findings(&outlines, ReferenceDrift::default(), &findings).is_none());
            let torn = HistoryFindings { series: vec![findings.series[0][..findings.series[0].len() / 2].to_vec()], ..findings };
            prop_assert!(TargetHistory::from_findings(&outlines, drift(), &torn).is_none());
        }
    }
}
