//! What was found along a target's history, kept in the store until something of it changes: then it is found anew.
//!
//! A history of a million samples is read and judged in seconds; what was found in it is read in a fraction of one. It is of one key:
//! a hash of all that the history is made of (studies, versions, builds, boots, trials, records of hosts, documents of bisections,
//! sums of the samples' checksums) and of the program. People's words aren't in it: they are told of the history afterwards.
//!
//! Samples that were damaged on disk aren't noticed, since none is read: `store check` notices them.

use backsight_model::{HostRecord, HostRecordMap, StudyHistory, TargetName};
use backsight_policy::{HistoryFindings, ReferenceDrift, ReferenceStudy, TargetHistory};
use backsight_store::{Store, StudyId, StudyRow, program_identity};
use miette::IntoDiagnostic as _;
use std::{collections::HashMap, fmt, io::Write as _, sync::Arc};

use crate::{
    host_records::records_of_studies,
    reference::references_beside,
    verbs::{Verb as _, bisect::BisectVerb},
};

/// Fewer samples are read sooner than it takes to keep what was found in them.
pub(crate) const MIN_SAMPLES: i64 = 10_000;

/// All that a target's history is made of, but samples.
pub(crate) struct HistoryOutline {
    /// The studies, as [`Store::target_history`] has them, without their samples.
    pub(crate) studies: Vec<StudyHistory>,
    /// What the hosts of each study were.
    pub(crate) records: HashMap<i64, HostRecordMap>,
    references: Vec<ReferenceStudy>,
    /// Of all of it; none where a sample has no checksum, or the program isn't known.
    key: Option<String>,
    samples: i64,
    is_measured_now: bool,
}

impl HistoryOutline {
    /// Reads it.
    pub(crate) async fn read(store: &Store, target: &TargetName) -> miette::Result<Self> {
        let outlines = store.target_outline(target).await.into_diagnostic()?;
        let beside = store.side_versions(target).await.into_diagnostic()?;
        let outlines = outlines.into_iter().map(|outline| outline.without(&beside));
        let outlines: Vec<StudyHistory> = outlines.collect();
        let rows = store.studies_of_target(target).await.into_diagnostic()?;
        let mut references = Vec::new();
        let mut of_references = Vec::new();
        for (row, beside, testbed) in references_beside(store, &rows).await? {
            references.push(ReferenceStudy {
                beside: beside.0,
                testbed,
                measured: store.study_outline(row.id).await.into_diagnostic()?,
            });
            of_references.push(row);
        }
        let numbers: Vec<StudyId> = outlines.iter().map(|it| StudyId(it.study)).collect();
        let records = records_of_studies(store, &numbers).await;
        let mut ingredients = Ingredients::default();
        let mut samples = Some(0);
        ingredients.add(target);
        for outline in &outlines {
            ingredients.add(outline);
        }
        for reference in &references {
            ingredients.add(reference);
        }
        for row in rows.iter().chain(&of_references) {
            ingredients.add((row.id, &row.name, &row.verb, &row.arguments));
            if row.verb == BisectVerb::NAME {
                ingredients.add(store.documents(row.id).await.into_diagnostic()?);
            }
            let sums = store.sample_sums(row.id).await.into_diagnostic()?;
            ingredients.add(sums);
            samples = samples
                .zip(sums)
                .map(|(samples, sums)| samples + sums.count);
        }
        ingredients.add_records(&records);
        let program = program_identity().filter(|_| samples.is_some());
        let by_testbed = outlines.into_iter().map(StudyHistory::plain);
        Ok(Self {
            studies: by_testbed.flat_map(StudyHistory::by_testbed).collect(),
            records,
            references,
            key: program.map(|program| {
                ingredients.add(program);
                ingredients.finish()
            }),
            samples: samples.unwrap_or_default(),
            is_measured_now: rows
                .iter()
                .chain(&of_references)
                .any(StudyRow::is_measuring),
        })
    }

    /// What was found in just this before, and the bisections that were left out, with why; none where nothing was kept of it.
    pub(crate) async fn find(
        &self,
        store: &Store,
        target: &TargetName,
    ) -> Option<(TargetHistory, Vec<String>)> {
        // What can't be read is found anew.
        let parts = store.history_findings(target, self.key.as_deref()?).await;
        let mut parts = parts.ok()?.into_iter();
        let left_out = serde_json::from_slice(&parts.next()?).ok()?;
        let findings = HistoryFindings {
            overview: parts.next()?,
            series: parts.collect(),
        };
        let drift = ReferenceDrift::new(&self.references);
        let history = TargetHistory::from_findings(&self.studies, drift, &findings)?;
        Some((history, left_out))
    }

    /// Keeps what was found since this was read, if nothing of it changed meanwhile and it is worth it: of few samples it isn't, nor
    /// while more are measured. A store that can't be written does without.
    pub(crate) async fn keep(
        &self,
        store: &Store,
        target: &TargetName,
        history: &TargetHistory,
        left_out: &[String],
        min_samples: i64,
    ) {
        if self.samples < min_samples || self.is_measured_now || self.key.is_none() {
            return;
        }
        let Ok(Self { key: Some(now), .. }) = Self::read(store, target).await else {
            return;
        };
        if self.key.as_ref() != Some(&now) {
            return;
        }
        let (Some(findings), Ok(left_out)) = (history.findings(), serde_json::to_vec(left_out))
        else {
            return;
        };
        let parts: Vec<Vec<u8>> = [left_out, findings.overview]
            .into_iter()
            .chain(findings.series)
            .collect();
        if let Err(error) = store.keep_history_findings(target, &now, &parts).await {
            tracing::debug!(%target, %error, "what was found along a history isn't kept");
        }
    }
}

/// What a key is made of.
#[derive(Default)]
struct Ingredients(blake3::Hasher);

impl Ingredients {
    /// The debug form of a value has all that it is, and each of its numbers in full.
    fn add(&mut self, value: impl fmt::Debug) {
        // A hasher takes everything.
        let _ = writeln!(self.0, "{value:?}");
    }

    /// Studies share records that are alike: each is looked through once.
    fn add_records(&mut self, records: &HashMap<i64, HostRecordMap>) {
        let mut known: HashMap<*const HostRecord, blake3::Hash> = HashMap::new();
        let mut studies: Vec<(&i64, &HostRecordMap)> = records.iter().collect();
        studies.sort_by_key(|(study, _)| **study);
        for (study, hosts) in studies {
            self.add(study);
            for (host, record) in hosts {
                let hash = known.entry(Arc::as_ptr(record)).or_insert_with(|| {
                    let mut own = Self::default();
                    own.add(record);
                    own.0.finalize()
                });
                self.add((host, hash));
            }
        }
    }

    fn finish(self) -> String {
        self.0.finalize().to_string()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::KnownHistory;
    use backsight_model::{
        Acceptance, Better, BootRecord, BuildRecord, Cell, CellMetric, Layout, MetricSamples,
        StudyState, TrialRecord, Unit, Version,
    };
    use backsight_store::{NewStudy, NewTarget};
    use jiff::Timestamp;
    use proptest::prelude::*;
    use std::{collections::BTreeMap, time::Duration};

    const VERSIONS: usize = 12;

    /// Something that changes what a history is made of, or may seem to.
    #[derive(Debug, Clone)]
    enum Event {
        /// A study measures each version once, with values that this number makes.
        Measure(u8),
        /// The samples of a trial of a study are derived again, and are others.
        Rewrite(usize, u8),
        /// The samples of a trial of a study are lost.
        GiveUp(usize),
        /// A study goes.
        Delete(usize),
        /// Somebody accepts what changed at a version.
        Accept(usize),
        /// The record of a host of a study.
        Host(usize, u8),
        /// Nothing at all.
        Nothing,
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            any::<u8>().prop_map(Event::Measure),
            (any::<usize>(), any::<u8>()).prop_map(|(study, value)| Event::Rewrite(study, value)),
            any::<usize>().prop_map(Event::GiveUp),
            any::<usize>().prop_map(Event::Delete),
            (0..VERSIONS).prop_map(Event::Accept),
            (any::<usize>(), any::<u8>()).prop_map(|(study, value)| Event::Host(study, value)),
            Just(Event::Nothing),
        ]
    }

    fn target() -> TargetName {
        "app".parse().unwrap()
    }

    fn samples(value: u8, version: usize) -> Vec<MetricSamples> {
        let level = if version >= 6 { 110.0 } else { 100.0 };
        let values = vec![
            level + f64::from(value) / 100.0,
            level + version as f64 / 7.0,
        ];
        vec![MetricSamples::new(
            "time".parse().unwrap(),
            values,
            Vec::new(),
        )]
    }

    fn new_study(number: usize) -> NewStudy {
        let version = |number: usize| Version {
            id: format!("v{number}"),
            name: format!("v{number}"),
            at: Timestamp::from_second(86_400 * number as i64).ok(),
            title: String::new(),
            release: false,
            amendments: Vec::new(),
        };
        let time = CellMetric {
            name: "time".parse().unwrap(),
            unit: Unit::parse("s").unwrap(),
            better: Better::Lower,
            about: String::new(),
            primary: true,
            monitor: None,
            simulator: None,
        };
        NewStudy {
            name: format!("step-{number}").parse().unwrap(),
            verb: "step".into(),
            documents: Vec::new(),
            arguments: "{}".into(),
            seed: 1,
            cells: vec![Cell {
                benchmark: "work".parse().unwrap(),
                params: Default::default(),
                chosen: Vec::new(),
                variant: "default".parse().unwrap(),
                monitors: None,
            }],
            metrics: [("work".parse().unwrap(), vec![time])]
                .into_iter()
                .collect(),
            questions: vec!["question".into()],
            target: Some(NewTarget {
                name: target(),
                versions: (0..VERSIONS).map(version).collect(),
                testbeds: Vec::new(),
            }),
        }
    }

    async fn measure(store: &Store, number: usize, value: u8) {
        let study = store.create_study(&new_study(number)).await.unwrap();
        for version in 0..VERSIONS {
            let build = BuildRecord {
                version,
                layout: Layout::default(),
                key: format!("build of v{version}"),
                quirks: Vec::new(),
                compilers: Vec::new(),
                failure: None,
                cached: false,
                began: Timestamp::UNIX_EPOCH,
                took: Duration::ZERO,
                log: Vec::new(),
            };
            store.record_build(study, &build).await.unwrap();
            let boot = BootRecord {
                testbed: 0,
                version,
                layout: Layout::default(),
                ordinal: number as u32 + 1,
                failure: None,
                began: Timestamp::UNIX_EPOCH,
                took: Duration::ZERO,
                facts: Default::default(),
                log: Vec::new(),
                guests: Default::default(),
            };
            let trial = TrialRecord {
                host: None,
                boot: store.record_boot(study, &boot).await.unwrap(),
                began: Timestamp::UNIX_EPOCH,
                took: Duration::from_secs(1),
                outcome: Ok(samples(value, version)),
                watched: Vec::new(),
                suite: None,
                steps: Vec::new(),
                core_files: Vec::new(),
                clocks: Vec::new(),
                meetings: Vec::new(),
                load: Vec::new(),
                warnings: Vec::new(),
                drawn: Default::default(),
            };
            let at = version as u32 + 1;
            store.record_trial(study, at, 0, 1, &trial).await.unwrap();
        }
        store.set_state(study, StudyState::Finished).await.unwrap();
    }

    async fn happen(store: &Store, event: &Event, number: usize) {
        let studies = store.studies_of_target(&target()).await.unwrap();
        let nth = |asked: usize| studies.get(asked % studies.len().max(1)).map(|it| it.id);
        match *event {
            Event::Measure(value) => measure(store, number, value).await,
            Event::Rewrite(study, value) => {
                let Some(study) = nth(study) else { return };
                let trials = store.stored_trials(study).await.unwrap();
                let trial = &trials[usize::from(value) % VERSIONS];
                let rows = [(trial, &samples(value, 3)[..])];
                store.rewrite_samples(study, &rows).await.unwrap();
            }
            Event::GiveUp(study) => {
                let Some(study) = nth(study) else { return };
                let lost = BTreeMap::from([(3, "lost".to_owned())]);
                store.give_up_trials(study, &lost).await.unwrap();
            }
            Event::Delete(study) => {
                let Some(study) = nth(study) else { return };
                store.delete(study).await.unwrap();
            }
            Event::Accept(version) => {
                let acceptance = Acceptance {
                    target: target(),
                    version: format!("v{version}"),
                    name: format!("v{version}"),
                    metric: None,
                    reason: "known".into(),
                    work_around: None,
                    by: "somebody".into(),
                    at: Timestamp::UNIX_EPOCH,
                    until: None,
                };
                store.accept(&acceptance).await.unwrap();
            }
            Event::Host(study, value) => {
                let Some(study) = nth(study) else { return };
                let governor = format!("{value}");
                let record =
                    HostRecord::from_iter([("cpu", "cpufreq.scaling_governor", &*governor)]);
                let host = "dut".parse().unwrap();
                let record = store.begin_host_record(study, &host, Timestamp::UNIX_EPOCH, &record);
                record.await.unwrap();
            }
            Event::Nothing => {}
        }
    }

    /// All that is told but samples.
    fn told(mut known: KnownHistory) -> String {
        for trial in known.studies.iter_mut().flat_map(|it| &mut it.trials) {
            trial.samples.clear();
        }
        for point in known
            .history
            .series
            .iter_mut()
            .flat_map(|it| &mut it.points)
        {
            point.builds.clear();
        }
        format!(
            "{:#?} {:#?} {:#?}",
            known.studies, known.history, known.left_out
        )
    }

    /// Asks twice, and compares both answers with one that is found anew. Whether the first and the second answer were there.
    async fn asked_twice(store: &Store) -> [bool; 2] {
        let (target, now) = (target(), Timestamp::UNIX_EPOCH);
        let anew = KnownHistory::found_anew(store, &target, false).await;
        let mut anew = anew.unwrap();
        anew.accept(store, &target, now).await.unwrap();
        let whole = format!("{:#?} {:#?}", anew.studies, anew.history);
        let anew = told(anew);
        let mut were_there = [false; 2];
        for was_there in &mut were_there {
            let known = KnownHistory::found_before(store, &target, 0).await;
            let mut known = known.unwrap();
            known.accept(store, &target, now).await.unwrap();
            let mut trials = known.studies.iter().flat_map(|study| &study.trials);
            *was_there = trials.all(|trial| trial.samples.is_empty());
            assert_eq!(told(known), anew);
        }
        // And with the samples that are read afterwards, all or those of a version.
        let known = KnownHistory::from_store(store, &target, now, false).await;
        let known = known.unwrap();
        assert_eq!(format!("{:#?} {:#?}", known.studies, known.history), whole);
        let mut some = KnownHistory::found_before(store, &target, 0).await.unwrap();
        some.read_versions(store, &[1]).await.unwrap();
        let both = some.history.series.iter().zip(&known.history.series);
        for (some, whole) in both.filter(|(some, _)| some.points.len() > 1) {
            assert_eq!(some.points[1].builds, whole.points[1].builds);
        }
        were_there
    }

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]
        #[test]
        fn whatever_happens_what_was_kept_is_what_would_be_found_anew(
            events in prop::collection::vec(event(), 1..6),
        ) {
            runtime().block_on(async {
                let folder = tempfile::tempdir().unwrap();
                let store = Store::open(folder.path()).await.unwrap();
                measure(&store, 100, 7).await;
                measure(&store, 101, 90).await;
                assert!(asked_twice(&store).await[1]);
                for (number, event) in events.iter().enumerate() {
                    happen(&store, event, number).await;
                    asked_twice(&store).await;
                }
                store.close().await;
            });
        }
    }

    #[test]
    fn what_was_found_is_kept_until_something_changes_and_not_while_it_is_measured() {
        runtime().block_on(async {
            let folder = tempfile::tempdir().unwrap();
            let store = Store::open(folder.path()).await.unwrap();
            measure(&store, 1, 7).await;
            assert_eq!(asked_twice(&store).await, [false, true]);
            happen(&store, &Event::Accept(6), 0).await;
            assert_eq!(asked_twice(&store).await, [true, true]);
            happen(&store, &Event::Rewrite(0, 200), 0).await;
            assert_eq!(asked_twice(&store).await, [false, true]);
            store.create_study(&new_study(2)).await.unwrap();
            assert_eq!(asked_twice(&store).await, [false, false]);
            store.close().await;
        });
    }

    #[test]
    fn few_samples_are_not_worth_it_and_damaged_findings_are_none() {
        runtime().block_on(async {
            let folder = tempfile::tempdir().unwrap();
            let store = Store::open(folder.path()).await.unwrap();
            measure(&store, 1, 7).await;
            let (target, now) = (target(), Timestamp::UNIX_EPOCH);
            for _ in 0..2 {
                let known = KnownHistory::without_samples(&store, &target, now).await;
                assert!(!known.unwrap().studies[0].trials[0].samples.is_empty());
            }
            asked_twice(&store).await;
            let outline = HistoryOutline::read(&store, &target).await.unwrap();
            let key = outline.key.unwrap();
            let mut parts = store.history_findings(&target, &key).await.unwrap();
            parts[2].truncate(5);
            let kept = store.keep_history_findings(&target, &key, &parts);
            kept.await.unwrap();
            assert_eq!(asked_twice(&store).await, [false, true]);
            store.close().await;
        });
    }
}
