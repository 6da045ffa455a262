//! Copies of studies in another store.

use super::{
    Engine, FOUR_WEEKS, Place, failed, measured, new_study, objects, pruned, samples, step,
};
use backsight_model::{
    HostName, HostRecord, Outcome, StudyState, SuiteRun, TestResult, TestResults, TriageState,
};
use backsight_store::{
    AuditEntry, ChannelState, CopiedContinuation, CopiedStudy, CopyCounts, KeptReferences, RawRef,
    Store, StoreCopy, StoreError, StudyId, ToldChange, ToldState, WatchStudyPurpose,
};
use std::fs;

/// A study with whatever studies have, that ended.
async fn full_study(store: &Store, name: &str) -> StudyId {
    let study = store.create_study(&new_study(name)).await.unwrap();
    let host: HostName = "dut".parse().unwrap();
    let now = jiff::Timestamp::now();
    let record = HostRecord::from_iter([("cpu", "governor", "performance")]);
    let warm = HostRecord::from_iter([("cpu", "governor", name)]);
    store
        .begin_host_record(study, &host, now, &record)
        .await
        .unwrap();
    let mut trial = measured(
        vec![
            samples("throughput", &[0.1, f64::NAN, 1e300]),
            samples("retransmits", &[7.0]),
        ],
        vec![
            step(0, b"out \xff\x00", b""),
            step(1, name.as_bytes(), b"err"),
        ],
    );
    let test = TestResult::new("t", Outcome::Pass);
    trial.suite = Some(SuiteRun {
        results: [test].into_iter().collect::<TestResults>(),
        complete: true,
        missing: 0,
        problems: Vec::new(),
    });
    store.record_trial(study, 1, 0, 1, &trial).await.unwrap();
    store
        .record_trial(study, 2, 1, 1, &failed("gone", b"why\0"))
        .await
        .unwrap();
    store
        .end_host_record(study, &host, now, &warm, "it is hot\n")
        .await
        .unwrap();
    store.set_state(study, StudyState::Finished).await.unwrap();
    study
}

async fn copied(from: &Store, to: &Store) -> Vec<Result<CopiedStudy, StoreError>> {
    let mut copy = StoreCopy::begin(from.clone(), to.clone()).await.unwrap();
    let mut all = Vec::new();
    for study in from.studies().await.unwrap() {
        all.push(copy.study(&study).await);
    }
    all
}

/// What a study says, in words that don't depend on the numbers that stores give.
async fn said(store: &Store, name: &str) -> String {
    let row = store.study(name).await.unwrap();
    let study = row.id;
    let mut said = format!("{:?} {:?} {:?}\n", row.began, row.ended, row.state);
    for document in store.documents(study).await.unwrap() {
        said += &format!("{document:?}\n");
    }
    said += &format!("{:?}\n", store.cells(study).await.unwrap());
    said += &format!("{:?}\n", store.host_records(study).await.unwrap());
    for run in store.suite_runs(study).await.unwrap() {
        said += &format!("{:?}\n", store.suite_run(&run).await.unwrap());
    }
    for trial in store.trials(study).await.unwrap() {
        said += &format!("{trial:?}\n");
        said += &format!("{:?}\n", store.samples(study, trial.number).await.unwrap());
        for step in store.steps(study, trial.number).await.unwrap() {
            said += &format!("{step:?}\n");
            for raw in [step.stdout.raw, step.stderr.raw].into_iter().flatten() {
                said += &format!("{:?}\n", store.raw(&raw).await.unwrap());
            }
        }
    }
    said
}

pub async fn a_study_is_copied_there_and_back(engine: Engine) {
    let (first, second, third) = (
        Place::new(Engine::Sqlite),
        Place::new(engine),
        Place::new(Engine::Sqlite),
    );
    let one = Store::open(first.location()).await.unwrap();
    full_study(&one, "a").await;
    full_study(&one, "b").await;
    let target: backsight_model::TargetName = "app".parse().unwrap();
    let triage = backsight_model::Triage {
        target: target.clone(),
        version: "abc".to_owned(),
        name: "v2".to_owned(),
        state: TriageState::Investigating,
        lies_at: None,
        note: Some("it is warm".to_owned()),
        by: "Ann".to_owned(),
        at: jiff::Timestamp::from_second(100).unwrap(),
    };
    one.record_triage(&triage).await.unwrap();
    // The other store has another study of that number and name, and another record of a host.
    let two = Store::open(second.location()).await.unwrap();
    full_study(&two, "a").await;

    let results = copied(&one, &two).await;
    let counts = CopyCounts {
        trials: 2,
        samples: 2,
        objects: 2,
    };
    let CopiedStudy::Copied { name, counts: of_a } = results[1].as_ref().unwrap() else {
        panic!("{results:?}");
    };
    // Its own name, its outputs and all but the governor are there already.
    assert_eq!(
        (name.as_str(), of_a.trials, of_a.samples),
        ("a-2", counts.trials, counts.samples)
    );
    assert_eq!(said(&one, "a").await, said(&two, "a-2").await);
    assert_eq!(said(&one, "b").await, said(&two, "b").await);
    let copy = StoreCopy::begin(one.clone(), two.clone()).await.unwrap();
    assert_eq!(copy.notes().await.unwrap(), 1);
    assert_eq!(copy.notes().await.unwrap(), 0);
    assert_eq!(two.triage(&target).await.unwrap(), [triage]);

    let again = copied(&one, &two).await;
    assert!(
        again
            .iter()
            .all(|it| matches!(it, Ok(CopiedStudy::Present))),
        "{again:?}"
    );
    let three = Store::open(third.location()).await.unwrap();
    assert_eq!(copied(&two, &three).await.len(), 3);
    assert_eq!(said(&one, "a").await, said(&three, "a-2").await);
    let (checked, damaged) = three.damaged_objects().await.unwrap();
    assert!(checked > 5 && damaged.is_empty(), "{checked} {damaged:?}");
}

pub async fn a_study_that_went_on_takes_the_place_of_its_copy(engine: Engine) {
    let (first, second) = (Place::new(Engine::Sqlite), Place::new(engine));
    let one = Store::open(first.location()).await.unwrap();
    let two = Store::open(second.location()).await.unwrap();
    let study = one.create_study(&new_study("a")).await.unwrap();
    assert!(matches!(
        copied(&one, &two).await[..],
        [Ok(CopiedStudy::Measuring)]
    ));
    one.set_state(study, StudyState::Stopped).await.unwrap();
    assert!(matches!(
        copied(&one, &two).await[..],
        [Ok(CopiedStudy::Copied { .. })]
    ));
    one.record_trial(study, 1, 1, 1, &failed("gone", b""))
        .await
        .unwrap();
    one.set_state(study, StudyState::Stopped).await.unwrap();
    assert!(matches!(
        copied(&one, &two).await[..],
        [Ok(CopiedStudy::Copied { .. })]
    ));
    assert_eq!(said(&one, "a").await, said(&two, "a").await);
    assert_eq!(two.studies().await.unwrap().len(), 1);

    let there = two.study("a").await.unwrap().id;
    two.record_trial(there, 2, 1, 2, &failed("gone", b""))
        .await
        .unwrap();
    two.set_state(there, StudyState::Finished).await.unwrap();
    assert!(matches!(
        copied(&one, &two).await[..],
        [Ok(CopiedStudy::NewerThere)]
    ));
    assert_eq!(two.trials(there).await.unwrap().len(), 2);
}

pub async fn a_study_with_a_damaged_output_is_not_copied_and_one_with_a_pruned_one_is(
    engine: Engine,
) {
    let (first, second) = (Place::new(Engine::Sqlite), Place::new(engine));
    let one = Store::open(first.location()).await.unwrap();
    let two = Store::open(second.location()).await.unwrap();
    let study = full_study(&one, "a").await;
    let printed = one.steps(study, 1).await.unwrap()[0].stdout.raw.unwrap();
    let hex = printed.to_string();
    let mut files = objects(&first.folder).into_iter();
    let file = files.find(|file| file.to_string_lossy().replace('/', "").contains(&hex[2..]));
    fs::write(file.unwrap(), "?").unwrap();
    let result = copied(&one, &two).await;
    assert!(
        matches!(&result[..], [Err(StoreError::RawDamaged { raw, .. })] if *raw == printed),
        "{result:?}"
    );
    assert_eq!(two.studies().await.unwrap(), []);

    let third = Place::new(Engine::Sqlite);
    let three = Store::open(third.location()).await.unwrap();
    let study = full_study(&three, "a").await;
    let (_, gone) = pruned(&three, FOUR_WEEKS, &KeptReferences::default()).await;
    assert!(gone > 0);
    assert!(matches!(
        copied(&three, &two).await[..],
        [Ok(CopiedStudy::Copied { .. })]
    ));
    let printed = three.steps(study, 1).await.unwrap()[0].stdout.raw.unwrap();
    let raw: RawRef = printed;
    assert!(matches!(
        two.raw(&raw).await,
        Err(StoreError::Pruned { .. })
    ));
}

/// A channel is told of a change, or that it is over, at this second.
async fn tell(store: &Store, state: ToldState, message: &str, at: i64) {
    let change = ToldChange {
        thread: "t".into(),
        channel: "team".into(),
        target: "app".parse().unwrap(),
        version: "b".into(),
        name: "v2".into(),
        after: Some("a".into()),
        until: "b".into(),
        state: None,
        message: None,
        told: None,
        messages: 0,
        saying: None,
    };
    store.record_saying(&change, state, message).await.unwrap();
    let at = jiff::Timestamp::from_second(at).unwrap();
    store.record_told("team", message, at).await.unwrap();
}

pub async fn what_was_told_and_what_a_standing_job_began_go_along_with_all_studies(engine: Engine) {
    let (first, second) = (Place::new(Engine::Sqlite), Place::new(engine));
    let one = Store::open(first.location()).await.unwrap();
    let two = Store::open(second.location()).await.unwrap();
    let target: backsight_model::TargetName = "app".parse().unwrap();
    // The other store has a job of that name, whose study has the same name.
    for (store, question) in [(&two, "theirs"), (&one, "ours"), (&one, "never begun")] {
        let purpose = WatchStudyPurpose::Measure;
        let began = store
            .add_watch_study("main", &target, purpose, question)
            .await
            .unwrap();
        if question != "never begun" {
            full_study(store, began.study.as_str()).await;
        }
    }
    tell(&one, ToldState::Open, "m1", 100).await;
    let mut channel = one.channel_state("team").await.unwrap();
    let later = jiff::Timestamp::from_second(1000).unwrap();
    assert!(one.take_channel("team", &mut channel, later).await.unwrap());
    channel.failures = 2;
    channel.next_try = Some(later);
    let entry = AuditEntry {
        at: later,
        person: "Ann".into(),
        token: None,
        way: "serve".into(),
        action: "triage".into(),
        detail: "{}".into(),
    };
    one.record_audit(&entry).await.unwrap();
    one.release_channel("team", &channel).await.unwrap();
    copied(&one, &two).await;
    let copy = StoreCopy::begin(one.clone(), two.clone()).await.unwrap();
    let all = CopiedContinuation {
        told: 1,
        watch_studies: 1,
        audit_entries: 1,
    };
    assert_eq!(copy.continuation().await.unwrap(), all);
    let nothing = CopiedContinuation::default();
    assert_eq!(copy.continuation().await.unwrap(), nothing);
    let told = one.told_changes("team", &target).await.unwrap();
    assert_eq!(two.told_changes("team", &target).await.unwrap(), told);
    assert_eq!(
        two.channel_state("team").await.unwrap(),
        ChannelState {
            taken_until: None,
            ..channel
        }
    );
    assert_eq!(two.audit_entries(9).await.unwrap(), [entry]);
    let began = two.watch_studies("main", &target).await.unwrap();
    let began: Vec<_> = began
        .iter()
        .map(|it| (it.number, it.study.as_str(), it.question.as_str()))
        .collect();
    assert_eq!(
        began,
        [
            (1, "main-measure-1", "theirs"),
            (2, "main-measure-1-2", "ours")
        ]
    );

    // What was told last counts, in whichever store.
    tell(&one, ToldState::Over, "m2", 200).await;
    assert_eq!(copy.continuation().await.unwrap().told, 1);
    let told = one.told_changes("team", &target).await.unwrap();
    assert_eq!(two.told_changes("team", &target).await.unwrap(), told);
    tell(&two, ToldState::Open, "m3", 300).await;
    assert_eq!(copy.continuation().await.unwrap(), nothing);
    let told = two.told_changes("team", &target).await.unwrap();
    assert_eq!(told[0].message.as_deref(), Some("m3"));
}
