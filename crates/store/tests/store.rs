//! The store from outside: what goes in comes out, and what can go wrong is said.

#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use backsight_model::{
    Amendment, Better, BootRecord, BuildRecord, Cell, CellMetric, Ending, Failure, HostName,
    HostRecord, KeepRule, KeepRules, Layout, MachineLoad, MetricSamples, MonitorName,
    MonitorSample, Outcome, Phase, ResourceUsage, Simulator, StepOutput, StepRecord, StudyState,
    SuiteRun, TestResult, TestResults, TomlDocument, TriageState, TrialRecord, Unit, Value,
    Version,
};
use backsight_store::{
    AccessScope, AccessToken, AuditEntry, ChangedFact, FileContent, FilePart, FindingKind,
    FinishedFile, FinishedStudy, FinishedTrial, KeptReferences, NewStudy, NewTarget, RawOwner,
    RawRef, RetentionFate, RetentionReason, Runner, SampleState, Store, StoreError, StoreLocation,
    StoredFinding, StudyDocument, StudyId, SweptObjects, TokenHash, WatchStudyPurpose,
};
use backsight_test_needs::{Need, PostgresServer};
use copying::*;
use indexmap::IndexMap;
use proptest::prelude::*;
use sqlx::{
    Connection, PgConnection,
    sqlite::{SqliteConnectOptions, SqliteConnection},
};
use std::{
    collections::HashSet,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

#[path = "store/copying.rs"]
mod copying;

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

fn cell(benchmark: &str, streams: i64) -> Cell {
    Cell {
        benchmark: benchmark.parse().unwrap(),
        params: [
            ("streams".parse().unwrap(), Value::Integer(streams)),
            ("share".parse().unwrap(), Value::Float(0.1)),
        ]
        .into_iter()
        .collect(),
        chosen: vec!["streams".parse().unwrap()],
        variant: "default".parse().unwrap(),
        monitors: None,
    }
}

fn metric(name: &str, unit: &str, better: Better) -> CellMetric {
    CellMetric {
        name: name.parse().unwrap(),
        unit: Unit::parse(unit).unwrap(),
        better,
        about: format!("what {name} is"),
        primary: true,
        monitor: None,
        simulator: None,
    }
}

fn new_study(name: &str) -> NewStudy {
    let document = |kind: &str, name: &str, text: &str| StudyDocument {
        kind: kind.into(),
        name: name.into(),
        text: text.into(),
    };
    NewStudy {
        questions: Vec::new(),
        target: None,
        name: name.parse().unwrap(),
        verb: "run".into(),
        documents: vec![
            document("plan", "plan.toml", "rounds = 2\n# ä comment\n"),
            document("benchmark", "iperf3-tcp", "name = 'iperf3-tcp'"),
        ],
        arguments: r#"{"rounds":2}"#.into(),
        seed: 4_294_967_295,
        cells: vec![
            cell("iperf3-tcp", 1),
            cell("ping-rtt", 1),
            cell("iperf3-tcp", 10),
        ],
        metrics: [
            (
                "iperf3-tcp".parse().unwrap(),
                vec![
                    metric("throughput", "Gbit/s", Better::Higher),
                    metric("retransmits", "count", Better::Lower),
                ],
            ),
            (
                "ping-rtt".parse().unwrap(),
                vec![CellMetric {
                    simulator: Some(Simulator::Icount(2)),
                    ..metric("rtt", "us", Better::Lower)
                }],
            ),
        ]
        .into_iter()
        .collect(),
    }
}

fn samples(metric: &str, values: &[f64]) -> MetricSamples {
    MetricSamples::new(metric.parse().unwrap(), values.to_vec(), Vec::new())
}

fn step(number: usize, stdout: &[u8], stderr: &[u8]) -> StepRecord {
    let output = |bytes: &[u8]| StepOutput {
        bytes: bytes.to_vec(),
        printed: bytes.len() as u64,
    };
    StepRecord {
        role: "client".parse().unwrap(),
        host: "source".parse().unwrap(),
        phase: Phase::Run,
        number,
        command: format!("iperf3 --client 10.0.0.{number}"),
        spawned: number == 1,
        monitor: None,
        began: "2024-02-29T23:59:59.123456789Z".parse().unwrap(),
        began_monotonic: 123_456_789_012,
        ending: Ending::Exit(0),
        usage: ResourceUsage {
            wall: 0.1 + 0.2,
            user: 1e-9,
            sys: 0.0,
            maxrss: 4096,
            voluntary_switches: 3,
            involuntary_switches: 4,
        },
        stdout: output(stdout),
        stderr: output(stderr),
    }
}

fn measured(outcome: Vec<MetricSamples>, steps: Vec<StepRecord>) -> TrialRecord {
    TrialRecord {
        host: None,
        boot: 0,
        began: "2024-03-01T00:00:00.5Z".parse().unwrap(),
        took: Duration::new(10, 7),
        outcome: Ok(outcome),
        watched: Vec::new(),
        suite: None,
        steps,
        core_files: Vec::new(),
        clocks: Vec::new(),
        meetings: Vec::new(),
        load: vec![MachineLoad {
            hosts: vec!["source".parse().unwrap(), "sink".parse().unwrap()],
            available: 20.0,
            ours: 5.0,
            others: 3.0,
            busiest: vec!["cc1".into(), "make \"all\"".into()],
            interrupts: 0.5,
            stolen: 1.0,
        }],
        warnings: vec!["a warning".into()],
        drawn: Default::default(),
    }
}

fn failed(reason: &str, stderr: &[u8]) -> TrialRecord {
    let failure = Failure {
        host: Some("sink".parse().unwrap()),
        role: Some("server".parse().unwrap()),
        phase: Some(Phase::Startup),
        ..Failure::of_trial(reason)
    };
    TrialRecord {
        boot: 0,
        outcome: Err(failure),
        ..measured(Vec::new(), vec![step(0, b"", stderr)])
    }
}

/// Files of raw objects below a store's folder.
fn objects(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in fs::read_dir(dir.join("raw")).unwrap() {
        let folder = folder.unwrap().path();
        if folder.is_dir() {
            found.extend(fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()));
        } else {
            found.push(folder);
        }
    }
    found
}

/// A connection to the database of a store that isn't the store's own.
async fn stranger(dir: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(dir.join("backsight.db"));
    SqliteConnection::connect_with(&options).await.unwrap()
}

/// What keeps a store.
#[derive(Debug, Clone, Copy)]
enum Engine {
    Sqlite,
    Postgres,
}

/// A place for a store that is there as long as this is.
struct Place {
    /// The store's folder, or the controller's.
    folder: PathBuf,
    _owned: Option<tempfile::TempDir>,
    /// The database's URL.
    url: Option<String>,
}

impl Place {
    fn new(engine: Engine) -> Self {
        let owned = tempfile::tempdir().unwrap();
        Self {
            folder: owned.path().to_owned(),
            _owned: Some(owned),
            url: match engine {
                Engine::Sqlite => None,
                Engine::Postgres => Some(PostgresServer::shared().new_database()),
            },
        }
    }

    fn at(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            _owned: None,
            url: None,
        }
    }

    fn location(&self) -> StoreLocation {
        match &self.url {
            None => self.folder.as_path().into(),
            Some(url) => StoreLocation::from(url).with_controller_folder(&self.folder),
        }
    }

    async fn object_count(&self) -> usize {
        let Some(url) = &self.url else {
            return objects(&self.folder).len();
        };
        let mut stranger = PgConnection::connect(url).await.unwrap();
        let count: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM raw_object")
            .fetch_one(&mut stranger)
            .await
            .unwrap();
        count.try_into().unwrap()
    }
}

/// Changes the database behind the store's back.
async fn change(place: &Place, statement: String) {
    let Some(url) = &place.url else {
        let mut stranger = stranger(&place.folder).await;
        sqlx::raw_sql(sqlx::AssertSqlSafe(statement))
            .execute(&mut stranger)
            .await
            .unwrap();
        return stranger.close().await.unwrap();
    };
    // Bytes are written in another way.
    let statement = statement.replace("x'", "E'\\\\x");
    let mut stranger = PgConnection::connect(url).await.unwrap();
    sqlx::raw_sql(sqlx::AssertSqlSafe(statement))
        .execute(&mut stranger)
        .await
        .unwrap();
}

/// Each of these tests with a store of either kind.
macro_rules! on_both_engines {
    ({ $($waiting:ident,)* } { $($blocking:ident,)* }) => {
        mod sqlite {
            use super::Engine;
            $(#[test]
            fn $waiting() {
                super::runtime().block_on(super::$waiting(Engine::Sqlite));
            })*
            $(#[test]
            fn $blocking() {
                super::$blocking(Engine::Sqlite);
            })*
        }
        mod postgres {
            use super::{Engine, Need};
            $(#[test]
            fn $waiting() {
                if !Need::PostgresqlServer.is_missing() {
                    super::runtime().block_on(super::$waiting(Engine::Postgres));
                }
            })*
            $(#[test]
            fn $blocking() {
                if !Need::PostgresqlServer.is_missing() {
                    super::$blocking(Engine::Postgres);
                }
            })*
        }
    };
}

on_both_engines! {
    // Those that wait, and those that make a runtime of their own.
    {
    a_study_comes_back_as_it_was_made,
    a_trial_comes_back_as_it_was_recorded,
    a_result_set_has_every_cell_and_every_failure_in_the_plans_order,
    a_trial_is_not_recorded_twice,
    what_does_not_belong_to_a_study_is_refused_whole,
    the_same_output_is_kept_once_and_goes_with_its_last_study,
    a_flipped_bit_in_a_stored_sample_is_found_wherever_it_is_read,
    a_trial_that_is_given_up_is_a_failed_one,
    samples_from_before_checksums_are_read_and_known_as_unchecked,
    a_study_that_another_process_measures_is_neither_claimed_nor_deleted,
    monitors_that_watched_are_kept_with_their_trial_and_those_that_were_asked_about_with_their_cell,
    what_monitors_measure_comes_after_the_metrics_that_were_declared,
    a_value_that_nobody_could_have_stored_is_an_error,
    what_is_accepted_is_kept_replaced_and_withdrawn,
    what_is_said_of_alerts_is_kept_in_the_order_in_which_it_was_said,
    where_a_version_is_was_said_last,
    tokens_and_what_was_asked_with_them_are_kept,
    what_a_standing_job_began_and_found_is_its_own,
    self_tests_are_kept_by_machine_and_damaged_ones_are_found_and_removed,
    a_guest_is_kept_once_and_another_kernel_costs_its_small_section,
    of_each_period_the_first_measured_trial_is_left_whenever_it_is_thinned,
    logs_of_builds_and_boots_go_by_their_own_rule,
    trials_that_are_recorded_while_others_prune_have_their_outputs,
    a_study_is_copied_there_and_back,
    what_was_told_and_what_a_standing_job_began_go_along_with_all_studies,
    a_study_that_went_on_takes_the_place_of_its_copy,
    a_study_with_a_damaged_output_is_not_copied_and_one_with_a_pruned_one_is,
    } {
    a_trial_of_a_finished_study_is_of_its_host,
    contents_on_disk_and_results_of_tests_are_kept_as_they_are,
    a_finished_study_is_there_whole_with_its_files_and_goes_whole,
    a_finished_study_that_does_not_fit_leaves_nothing,
    a_record_of_a_host_of_no_study_is_refused,
    amended_versions_come_back_and_are_no_points_of_the_history,
    findings_of_a_history_are_kept_by_their_key_until_the_target_goes,
    }
}

async fn with_study(place: impl Into<StoreLocation>) -> (Store, StudyId) {
    let store = Store::open(place).await.unwrap();
    let study = store.create_study(&new_study("base")).await.unwrap();
    (store, study)
}

async fn what_a_standing_job_began_and_found_is_its_own(engine: Engine) {
    let dir = Place::new(engine);
    let store = Store::open(dir.location()).await.unwrap();
    store
        .create_study(&new_study("main-measure-1"))
        .await
        .unwrap();
    let (app, other) = ("app".parse().unwrap(), "other".parse().unwrap());
    let begin = async |job, target, purpose| {
        let begun = store.add_watch_study(job, target, purpose, "{\"version\":\"a\"}");
        let begun = begun.await.unwrap();
        (begun.number, begun.study.to_string())
    };
    let (measure, bisect) = (WatchStudyPurpose::Measure, WatchStudyPurpose::Bisect);
    // A name that a study has is left to it.
    let first = begin("main", &app, measure).await;
    assert_eq!(first, (1, "main-measure-2".to_owned()));
    let second = begin("main", &app, bisect).await;
    assert_eq!(second, (2, "main-bisect-2".to_owned()));
    assert_eq!(begin("night", &app, measure).await.0, 1);
    // One that isn't there yet has its name already.
    let elsewhere = begin("main", &other, measure).await;
    assert_eq!(elsewhere, (1, "main-measure-3".to_owned()));
    let known = store.watch_studies("main", &app).await.unwrap();
    let purposes: Vec<WatchStudyPurpose> = known.iter().map(|it| it.purpose).collect();
    assert_eq!(purposes, [measure, bisect]);
    assert_eq!(known[1].question, "{\"version\":\"a\"}");

    let finding = |kind| StoredFinding {
        after: "a".into(),
        until: "b".into(),
        cell: "tool size=1".into(),
        metric: "time".into(),
        kind,
        found: "2026-11-27T16:00:00Z".parse().unwrap(),
    };
    let (verified, refuted) = (
        finding(FindingKind::Verified),
        finding(FindingKind::Refuted),
    );
    for (finding, is_new) in [(&verified, true), (&verified, false), (&refuted, false)] {
        let recorded = store.record_watch_finding("main", &app, finding).await;
        assert_eq!(recorded.unwrap(), is_new);
    }
    assert_eq!(
        store.watch_findings("main", &app).await.unwrap(),
        [verified]
    );
    assert!(
        store
            .watch_findings("main", &other)
            .await
            .unwrap()
            .is_empty()
    );
}

async fn tokens_and_what_was_asked_with_them_are_kept(engine: Engine) {
    let dir = Place::new(engine);
    let store = Store::open(dir.location()).await.unwrap();
    let token = |name: &str, secret: &str| AccessToken {
        name: name.to_owned(),
        person: "Zoë".to_owned(),
        scope: AccessScope::Queue,
        hash: TokenHash::of(secret),
        made: "2026-11-27T16:00:00Z".parse().unwrap(),
        made_by: "Bo".to_owned(),
        ends: Some("2026-11-28T16:00:00Z".parse().unwrap()),
        revoked: None,
        revoked_by: None,
    };
    let first = token("ci", "one");
    assert!(store.add_access_token(&first).await.unwrap());
    assert!(!store.add_access_token(&token("ci", "two")).await.unwrap());
    assert_eq!(
        store.access_tokens().await.unwrap(),
        std::slice::from_ref(&first)
    );
    let at = |text: &str| text.parse::<jiff::Timestamp>().unwrap();
    assert!(first.is_valid(at("2026-11-28T15:59:59Z")));
    assert!(!first.is_valid(at("2026-11-28T16:00:00Z")));
    assert!(store.revoke_access_token("ci", "Bo").await.unwrap());
    assert!(!store.revoke_access_token("ci", "Bo").await.unwrap());
    let revoked = &store.access_tokens().await.unwrap()[0];
    assert_eq!(revoked.revoked_by.as_deref(), Some("Bo"));
    assert!(!revoked.is_valid(at("2026-11-27T16:00:01Z")));
    // Its name stays taken: what was asked with it is known by that.
    assert!(!store.add_access_token(&token("ci", "three")).await.unwrap());

    let entry = |action: &str| AuditEntry {
        at: at("2026-11-27T16:00:00Z"),
        person: "Zoë".to_owned(),
        token: Some("ci".to_owned()),
        way: "serve".to_owned(),
        action: action.to_owned(),
        detail: "{\"job\":3}".to_owned(),
    };
    for action in ["a", "b", "c"] {
        store.record_audit(&entry(action)).await.unwrap();
    }
    assert_eq!(
        store.audit_entries(2).await.unwrap(),
        [entry("b"), entry("c")]
    );
}

async fn a_study_comes_back_as_it_was_made(engine: Engine) {
    let dir = Place::new(engine);
    let new = new_study("base");
    {
        let store = Store::open(dir.location()).await.unwrap();
        store.create_study(&new).await.unwrap();
        store.close().await;
    }
    let store = Store::open_existing(dir.location()).await.unwrap();
    let row = store.study("base").await.unwrap();
    assert_eq!(
        (row.verb.as_str(), row.seed, row.cells),
        ("run", new.seed, 3)
    );
    assert_eq!(row.arguments, new.arguments);
    assert_eq!(row.runner, Runner::this_process());
    assert!(row.is_measuring() && !row.was_killed());
    assert_eq!(store.study("1").await.unwrap(), row);
    assert_eq!(store.documents(row.id).await.unwrap(), new.documents);
    assert_eq!(store.cells(row.id).await.unwrap(), new.cells);
    assert_eq!(store.metrics(row.id).await.unwrap(), new.metrics);
    assert_eq!(store.studies().await.unwrap(), vec![row]);
}

async fn a_trial_comes_back_as_it_was_recorded(engine: Engine) {
    let dir = Place::new(engine);
    let (store, study) = with_study(dir.location()).await;
    let mut record = measured(
        vec![
            MetricSamples {
                each: vec![1.0, f64::NAN, 3.0],
                ..samples("retransmits", &[7.0])
            },
            samples("throughput", &[0.1 + 0.2, 1e300]),
        ],
        vec![step(0, b"out \xff\x00 put", b""), step(1, b"", b"err")],
    );
    record.steps[1].stdout.printed = 99;
    record.steps[1].ending = Ending::Refused("no such \"thing\"".into());
    store.record_trial(study, 1, 2, 1, &record).await.unwrap();

    let trials = store.trials(study).await.unwrap();
    assert_eq!(trials.len(), 1);
    assert_eq!(
        (trials[0].number, trials[0].cell, trials[0].round),
        (1, 2, 1)
    );
    assert_eq!(
        (trials[0].began, trials[0].took),
        (record.began, record.took)
    );
    assert_eq!(trials[0].load, record.load);
    assert_eq!(trials[0].neighbours, 0.2);
    assert_eq!(trials[0].warnings, record.warnings);
    assert_eq!(trials[0].failure, None);

    let steps = store.steps(study, 1).await.unwrap();
    for (stored, step) in steps.iter().zip(&record.steps) {
        assert_eq!((&stored.role, &stored.host), (&step.role, &step.host));
        assert_eq!((stored.phase, stored.number), (step.phase, step.number));
        assert_eq!(
            (&stored.command, stored.spawned),
            (&step.command, step.spawned)
        );
        assert_eq!(
            (stored.began, stored.began_monotonic),
            (step.began, step.began_monotonic)
        );
        assert_eq!((&stored.ending, stored.usage), (&step.ending, step.usage));
        for (kept, output) in [(stored.stdout, &step.stdout), (stored.stderr, &step.stderr)] {
            assert_eq!(
                (kept.kept, kept.printed),
                (output.bytes.len() as u64, output.printed)
            );
            match kept.raw {
                Some(raw) => assert_eq!(store.raw(&raw).await.unwrap(), output.bytes),
                None => assert!(output.bytes.is_empty()),
            }
        }
    }
    let back = store.samples(study, 1).await.unwrap();
    assert_eq!(back[0].metric.as_str(), "throughput");
    assert_eq!(back[0].values, vec![0.1 + 0.2, 1e300]);
    assert_eq!(back[1].values, vec![7.0]);
    assert!(back[1].each[1].is_nan() && back[1].each[2] == 3.0);
}

async fn a_result_set_has_every_cell_and_every_failure_in_the_plans_order(engine: Engine) {
    let dir = Place::new(engine);
    let (store, study) = with_study(dir.location()).await;
    let host: HostName = "sink".parse().unwrap();
    let facts = |kernel: &str| -> IndexMap<String, String> {
        [("kernel", kernel), ("cpus", "2")]
            .map(|(k, v)| (k.to_owned(), v.to_owned()))
            .into_iter()
            .collect()
    };
    assert_eq!(
        store
            .record_facts(study, &host, &facts("6.1"))
            .await
            .unwrap(),
        vec![]
    );
    store
        .record_trial(
            study,
            1,
            2,
            1,
            &measured(vec![samples("throughput", &[10.0])], vec![]),
        )
        .await
        .unwrap();
    store
        .record_trial(study, 2, 0, 1, &failed("no route", b"x"))
        .await
        .unwrap();
    store
        .record_trial(
            study,
            3,
            2,
            2,
            &measured(vec![samples("throughput", &[11.0, 12.0])], vec![]),
        )
        .await
        .unwrap();
    assert_eq!(
        store
            .record_facts(study, &host, &facts("6.1"))
            .await
            .unwrap(),
        vec![]
    );
    let change = ChangedFact {
        fact: "kernel".into(),
        was: Some("6.1".into()),
        is: Some("6.2".into()),
    };
    assert_eq!(
        store
            .record_facts(study, &host, &facts("6.2"))
            .await
            .unwrap(),
        vec![change]
    );

    let set = store.result_set(study).await.unwrap();
    let shape: Vec<(String, &str, Vec<u32>)> = set
        .series
        .iter()
        .map(|s| {
            (
                s.cell.to_string(),
                s.metric.as_str(),
                s.trials.iter().map(|t| t.trial).collect(),
            )
        })
        .collect();
    assert_eq!(
        shape,
        vec![
            ("iperf3-tcp streams=1".into(), "throughput", vec![]),
            ("iperf3-tcp streams=1".into(), "retransmits", vec![]),
            ("ping-rtt streams=1".into(), "rtt", vec![]),
            ("iperf3-tcp streams=10".into(), "throughput", vec![1, 3]),
            ("iperf3-tcp streams=10".into(), "retransmits", vec![]),
        ]
    );
    assert_eq!(set.series[3].values(), vec![10.0, 11.0, 12.0]);
    assert_eq!(set.series[3].trials[1].round, 2);
    assert_eq!(set.series[3].trials[1].neighbours, 0.2);
    assert_eq!(
        (set.failed.len(), set.failed[0].0, set.failed[0].1),
        (1, 2, 1)
    );
    assert_eq!(
        set.failed[0].3.to_string(),
        "startup of server on sink: no route"
    );
    assert_eq!(set.hosts[&host]["kernel"], "6.1, then 6.2");
    assert_eq!(
        (set.name.as_str(), set.state),
        ("base", StudyState::Running)
    );

    let evidence = store.evidence(study).await.unwrap();
    let seen: Vec<(usize, u32, bool)> = evidence
        .iter()
        .map(|o| (o.cell, o.round, o.measured))
        .collect();
    assert_eq!(seen, vec![(2, 1, true), (0, 1, false), (2, 2, true)]);
    let row = store.study_of(study).await.unwrap();
    assert_eq!((row.measured, row.failed), (2, 1));
}

async fn a_trial_is_not_recorded_twice(engine: Engine) {
    let dir = Place::new(engine);
    let (store, study) = with_study(dir.location()).await;
    let record = measured(vec![samples("rtt", &[35.0])], vec![step(0, b"once", b"")]);
    store.record_trial(study, 1, 1, 1, &record).await.unwrap();
    for (number, cell, round) in [(1, 1, 1), (2, 1, 1), (1, 1, 2)] {
        let error = store
            .record_trial(study, number, cell, round, &record)
            .await
            .unwrap_err();
        assert!(matches!(error, StoreError::Twice { .. }), "{error}");
    }
    store.record_trial(study, 2, 1, 2, &record).await.unwrap();
    assert_eq!(
        store.result_set(study).await.unwrap().series[2].values(),
        vec![35.0, 35.0]
    );
}

async fn what_does_not_belong_to_a_study_is_refused_whole(engine: Engine) {
    let dir = Place::new(engine);
    let (store, study) = with_study(dir.location()).await;
    let cases = [
        (study, 9, vec![]),
        (StudyId(77), 1, vec![]),
        (study, 1, vec![samples("throughput", &[1.0])]),
        (
            study,
            1,
            vec![samples("rtt", &[1.0]), samples("rtt", &[2.0])],
        ),
    ];
    for (study, cell, outcome) in cases {
        let error = store
            .record_trial(study, 1, cell, 1, &measured(outcome, vec![]))
            .await
            .unwrap_err();
        assert!(matches!(error, StoreError::Stray { .. }), "{error}");
    }
    assert_eq!(store.evidence(study).await.unwrap(), vec![]);
    let nobody = store
        .record_facts(StudyId(77), &"sink".parse().unwrap(), &IndexMap::new())
        .await;
    assert!(
        matches!(nobody, Err(StoreError::Stray { .. })),
        "{nobody:?}"
    );
    assert!(matches!(
        store.steps(study, 5).await,
        Err(StoreError::NoSuchTrial { .. })
    ));
    assert!(matches!(
        store.samples(study, 5).await,
        Err(StoreError::NoSuchTrial { .. })
    ));
}

#[tokio::test]
async fn a_taken_name_and_a_mistyped_one_are_told_the_way_out() {
    let dir = tempfile::tempdir().unwrap();
    let (store, study) = with_study(dir.path()).await;
    let error = store
        .create_study(&new_study("base"))
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("`backsight resume base`") && error.contains("(running)"),
        "{error}"
    );
    let error = store.study("bsae").await.unwrap_err().to_string();
    assert!(error.contains("did you mean `base`?"), "{error}");
    let error = store.study("zzzzzzzzz").await.unwrap_err().to_string();
    assert!(error.contains("the newest are base"), "{error}");
    assert_eq!(store.study("1").await.unwrap().id, study);
    for digits in ["1", "7", "007", "99999999999999999999"] {
        let error = store.create_study(&new_study(digits)).await.unwrap_err();
        assert!(matches!(error, StoreError::NameIsNumber { .. }), "{error}");
        let imported = store.add_finished_study(&finished(digits)).await;
        let error = imported.unwrap_err().to_string();
        assert!(error.contains("put a letter into its name"), "{error}");
    }
    // One that an earlier Backsight called so goes before the number.
    let named = store.create_study(&new_study("two")).await.unwrap();
    change(
        &Place::at(dir.path()),
        "UPDATE study SET name = '1' WHERE id = 2".into(),
    )
    .await;
    assert_eq!(store.study("1").await.unwrap().id, named);
    assert_eq!(store.study("base").await.unwrap().id, study);
    let nowhere = Store::open_existing(dir.path().join("not-here"))
        .await
        .unwrap_err();
    assert!(matches!(nowhere, StoreError::NoStore { .. }), "{nowhere}");
    assert!(!dir.path().join("not-here").exists());
}

async fn the_same_output_is_kept_once_and_goes_with_its_last_study(engine: Engine) {
    let dir = Place::new(engine);
    let (store, one) = with_study(dir.location()).await;
    let two = store.create_study(&new_study("two")).await.unwrap();
    let record = |own: &[u8]| {
        measured(
            vec![samples("rtt", &[35.0])],
            vec![step(0, b"the same", b""), step(1, own, b"the same")],
        )
    };
    store
        .record_trial(one, 1, 1, 1, &record(b"of one"))
        .await
        .unwrap();
    store
        .record_trial(two, 1, 1, 1, &record(b"of two"))
        .await
        .unwrap();
    assert_eq!(dir.object_count().await, 3);

    store.set_state(one, StudyState::Finished).await.unwrap();
    let swept = store.delete(one).await.unwrap();
    assert_eq!(swept.objects, 1);
    assert!(swept.bytes > 0);
    assert_eq!(
        store.raw(&RawRef::from_content(b"the same")).await.unwrap(),
        b"the same"
    );
    assert_eq!(
        store.raw(&RawRef::from_content(b"of two")).await.unwrap(),
        b"of two"
    );
    assert!(store.raw(&RawRef::from_content(b"of one")).await.is_err());
    assert!(matches!(
        store.study("base").await,
        Err(StoreError::NoSuchStudy { .. })
    ));
    assert!(store.result_set(two).await.unwrap().series[2].trials.len() == 1);
    store.delete(two).await.unwrap();
    assert_eq!(dir.object_count().await, 0);
}

#[tokio::test]
async fn what_a_killed_process_left_unfinished_is_swept_and_strangers_are_not() {
    let dir = tempfile::tempdir().unwrap();
    let (store, study) = with_study(dir.path()).await;
    store
        .record_trial(study, 1, 0, 1, &failed("x", b"kept"))
        .await
        .unwrap();
    let raw = dir.path().join("raw");
    fs::write(raw.join(".new-abc"), "half").unwrap();
    fs::write(raw.join("README"), "not ours").unwrap();
    let orphan = RawRef::from_content(b"orphan").to_string();
    fs::create_dir_all(raw.join(&orphan[..2])).unwrap();
    fs::write(
        raw.join(&orphan[..2]).join(format!("{}.zst", &orphan[2..])),
        "12345",
    )
    .unwrap();
    assert_eq!(
        store.sweep().await.unwrap(),
        SweptObjects {
            objects: 1,
            bytes: 5
        }
    );
    assert!(raw.join("README").exists() && !raw.join(".new-abc").exists());
    assert_eq!(
        store.raw(&RawRef::from_content(b"kept")).await.unwrap(),
        b"kept"
    );
}

#[tokio::test]
async fn a_damaged_raw_object_is_noticed_whatever_was_done_to_it() {
    let dir = tempfile::tempdir().unwrap();
    let (store, study) = with_study(dir.path()).await;
    let content: Vec<u8> = (0..5000u32).flat_map(|n| n.to_le_bytes()).collect();
    store
        .record_trial(study, 1, 0, 1, &failed("x", &content))
        .await
        .unwrap();
    let raw = RawRef::from_content(&content);
    let path = objects(dir.path()).remove(0);
    let whole = fs::read(&path).unwrap();
    let noticed = async |bytes: &[u8], what: &str| {
        fs::write(&path, bytes).unwrap();
        let error = store.raw(&raw).await.unwrap_err();
        assert!(
            matches!(error, StoreError::RawDamaged { .. }),
            "{what}: {error}"
        );
    };
    noticed(&whole[..whole.len() / 2], "torn").await;
    noticed(b"", "empty").await;
    noticed(b"garbage", "garbage").await;
    let mut flipped = whole.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 0x10;
    noticed(&flipped, "a flipped bit").await;
    fs::remove_file(&path).unwrap();
    let error = store.raw(&raw).await.unwrap_err().to_string();
    assert!(error.contains("missing"), "{error}");
}

/// What somebody or something does to a file.
type Damage = fn(&mut Vec<u8>);

const DAMAGES: [(&str, Damage); 4] = [
    ("torn", |bytes| bytes.truncate(bytes.len() / 2)),
    ("empty", Vec::clear),
    ("garbage", |bytes| {
        bytes.splice(.., *b"garbage").for_each(drop)
    }),
    ("a flipped bit", |bytes| {
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x10;
    }),
];

#[tokio::test]
async fn a_damaged_raw_object_is_not_shared_but_written_anew() {
    let dir = tempfile::tempdir().unwrap();
    let (store, study) = with_study(dir.path()).await;
    let content: Vec<u8> = (0..5000u32).flat_map(|n| n.to_le_bytes()).collect();
    let (raw, mut number) = (RawRef::from_content(&content), 0);
    let mut print_again = async || {
        number += 1;
        let record = failed("x", &content);
        let recorded = store.record_trial(study, number, 0, number, &record).await;
        recorded.unwrap();
    };
    print_again().await;
    let path = objects(dir.path()).remove(0);
    let whole = fs::read(&path).unwrap();
    for (what, damage) in DAMAGES {
        let mut bytes = whole.clone();
        damage(&mut bytes);
        fs::write(&path, bytes).unwrap();
        let (checked, damaged) = store.damaged_objects().await.unwrap();
        assert_eq!((checked, damaged.len()), (1, 1), "{what}");
        assert_eq!(damaged[0].owners[0], (study, RawOwner::Trial(1)));
        print_again().await;
        assert_eq!(store.raw(&raw).await.unwrap(), content, "{what}");
        assert_eq!(store.damaged_objects().await.unwrap(), (1, vec![]));
    }
    fs::remove_file(&path).unwrap();
    print_again().await;
    assert_eq!(store.raw(&raw).await.unwrap(), content);
    assert_eq!(objects(dir.path()).len(), 1, "nothing unfinished is left");
}

async fn a_flipped_bit_in_a_stored_sample_is_found_wherever_it_is_read(engine: Engine) {
    for (statement, only_within) in [
        (
            "UPDATE sample SET measured = x'0000000000804040' WHERE trial = 2",
            false,
        ),
        (
            "UPDATE sample SET within = x'0000000000804040' WHERE trial = 2",
            true,
        ),
        ("UPDATE sample SET measured = x'' WHERE trial = 2", false),
        // Sound in another trial.
        (
            "UPDATE sample SET measured = (SELECT measured FROM sample WHERE trial = 1), \
          measured_checksum = (SELECT measured_checksum FROM sample WHERE trial = 1) WHERE trial = 2",
            false,
        ),
    ] {
        let dir = Place::new(engine);
        let (store, study) = with_study(dir.location()).await;
        let values = |round: u32| MetricSamples {
            each: vec![1.0, 2.0],
            ..samples("rtt", &[f64::from(round)])
        };
        for round in 1..=3 {
            let record = measured(vec![values(round)], vec![]);
            store
                .record_trial(study, round, 1, round, &record)
                .await
                .unwrap();
        }
        change(&dir, statement.into()).await;
        let named = |error: StoreError| {
            let said = error.to_string();
            assert!(matches!(error, StoreError::SamplesDamaged { .. }), "{said}");
            assert!(said.contains("trial 2 of study `base`"), "{said}");
            assert!(said.contains("backsight store check --repair"), "{said}");
        };
        named(store.samples(study, 2).await.unwrap_err());
        named(store.result_set(study).await.unwrap_err());
        match store.study_history(study).await {
            Err(error) => named(error),
            // Interval samples are no part of a history.
            Ok(_) => assert!(only_within),
        }
        assert_eq!(store.samples(study, 1).await.unwrap(), [values(1)]);
        let stored = store.stored_trials(study).await.unwrap();
        let states: Vec<_> = stored.iter().map(|trial| trial.state).collect();
        use SampleState::{Damaged, Sound};
        assert_eq!(states, [Sound, Damaged, Sound], "{statement}");
        let again = [values(2)];
        store
            .rewrite_samples(study, &[(&stored[1], &again)])
            .await
            .unwrap();
        assert_eq!(store.samples(study, 2).await.unwrap(), again);
        store.result_set(study).await.unwrap();
    }
}

async fn a_trial_that_is_given_up_is_a_failed_one(engine: Engine) {
    let dir = Place::new(engine);
    let (store, study) = with_study(dir.location()).await;
    for round in 1..=2 {
        let record = measured(vec![samples("rtt", &[35.0])], vec![]);
        store
            .record_trial(study, round, 1, round, &record)
            .await
            .unwrap();
    }
    change(
        &dir,
        "UPDATE sample SET measured = x'00' WHERE trial = 2".into(),
    )
    .await;
    let lost = [(2, "lost".to_owned())].into_iter().collect();
    store.give_up_trials(study, &lost).await.unwrap();
    let set = store.result_set(study).await.unwrap();
    assert_eq!(set.series[2].values(), [35.0]);
    assert_eq!(
        (set.failed[0].0, set.failed[0].3.reason.as_str()),
        (2, "lost")
    );
    assert!(store.samples(study, 2).await.unwrap().is_empty());
}

async fn samples_from_before_checksums_are_read_and_known_as_unchecked(engine: Engine) {
    let dir = Place::new(engine);
    let (store, study) = with_study(dir.location()).await;
    let record = measured(vec![samples("rtt", &[35.0])], vec![]);
    store.record_trial(study, 1, 1, 1, &record).await.unwrap();
    let before = "UPDATE sample SET measured_checksum = NULL, within_checksum = NULL";
    change(&dir, before.into()).await;
    let again = store.samples(study, 1).await.unwrap();
    assert_eq!(again, [samples("rtt", &[35.0])]);
    let stored = store.stored_trials(study).await.unwrap();
    assert_eq!(stored[0].state, SampleState::Unchecked);
    store
        .rewrite_samples(study, &[(&stored[0], &again)])
        .await
        .unwrap();
    let stored = store.stored_trials(study).await.unwrap();
    assert_eq!(stored[0].state, SampleState::Sound);
}

#[tokio::test]
async fn a_damaged_database_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = with_study(dir.path()).await;
    assert!(store.database_faults().await.unwrap().is_empty());
    let stray = "PRAGMA foreign_keys = OFF; INSERT INTO cell (study, number, benchmark, variant, params, chosen) \
                 VALUES (99, 0, 'b', 'v', '{}', '[]')";
    change(&Place::at(dir.path()), stray.into()).await;
    let faults = store.database_faults().await.unwrap();
    assert_eq!(faults, ["a row of `cell` belongs to no row of `study`"]);
}

#[tokio::test]
async fn a_database_that_was_lost_is_not_made_anew_beside_its_raw_outputs() {
    let lost: [fn(&Path); 3] = [
        |file| fs::remove_file(file).unwrap(),
        |file| fs::write(file, "").unwrap(),
        // As a Backsight that was stopped right after it had made one.
        |file| {
            fs::remove_file(file).unwrap();
            let options = SqliteConnectOptions::new()
                .filename(file)
                .create_if_missing(true)
                .journal_mode(sqlx::sqlite::SqliteJournalMode::Wal);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let made = runtime().block_on(SqliteConnection::connect_with(&options));
                    runtime().block_on(made.unwrap().close()).unwrap();
                });
            });
        },
    ];
    for lose in lost {
        let dir = tempfile::tempdir().unwrap();
        let (store, study) = with_study(dir.path()).await;
        store
            .record_trial(study, 1, 0, 1, &failed("x", b"printed"))
            .await
            .unwrap();
        store.close().await;
        lose(&dir.path().join("backsight.db"));
        for opened in [
            Store::open(dir.path()).await,
            Store::open_existing(dir.path()).await,
        ] {
            let error = opened.unwrap_err();
            assert!(matches!(error, StoreError::DatabaseLost { .. }), "{error}");
        }
        assert_eq!(objects(dir.path()).len(), 1);
    }
}

#[tokio::test]
async fn a_store_that_can_not_be_read_is_not_called_none() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("backsight.db");
    std::os::unix::fs::symlink(&file, &file).unwrap();
    let error = Store::open_existing(dir.path()).await.unwrap_err();
    assert!(matches!(error, StoreError::File { .. }), "{error}");
    assert!(error.to_string().contains("can't read"), "{error}");
}

async fn a_study_that_another_process_measures_is_neither_claimed_nor_deleted(engine: Engine) {
    let dir = Place::new(engine);
    let (store, study) = with_study(dir.location()).await;
    let mut other = std::process::Command::new("sleep")
        .arg("600")
        .spawn()
        .unwrap();
    let stat = fs::read_to_string(format!("/proc/{}/stat", other.id())).unwrap();
    let start = stat
        .rsplit_once(')')
        .unwrap()
        .1
        .split_whitespace()
        .nth(19)
        .unwrap()
        .to_owned();
    let claim = format!(
        "UPDATE study SET runner_pid = {}, runner_start = {start}",
        other.id()
    );
    change(&dir, claim).await;

    assert!(store.study_of(study).await.unwrap().is_measuring());
    for error in [
        store
            .set_state(study, StudyState::Running)
            .await
            .unwrap_err(),
        store.delete(study).await.unwrap_err(),
    ] {
        assert!(
            matches!(error, StoreError::InUse { pid, .. } if pid == other.id()),
            "{error}"
        );
    }

    other.kill().unwrap();
    other.wait().unwrap();
    let row = store.study_of(study).await.unwrap();
    assert!(row.was_killed() && row.state_name() == "killed");
    store.set_state(study, StudyState::Running).await.unwrap();
    assert_eq!(
        store.study_of(study).await.unwrap().runner,
        Runner::this_process()
    );
    store.set_state(study, StudyState::Stopped).await.unwrap();
    let row = store.study_of(study).await.unwrap();
    assert_eq!(
        (row.state_name(), row.runner.is_none(), row.ended.is_some()),
        ("stopped", true, true)
    );
}

const NO_PATIENCE: Duration = Duration::from_millis(50);

#[tokio::test]
async fn a_store_that_another_process_holds_says_who_and_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let (store, study) = with_study(dir.path()).await;
    let record = failed("x", b"printed");
    store.record_trial(study, 1, 0, 1, &record).await.unwrap();
    store.close().await;
    let store = Store::open_patiently(dir.path(), NO_PATIENCE)
        .await
        .unwrap();
    let mut stranger = stranger(dir.path()).await;
    sqlx::query("BEGIN IMMEDIATE")
        .execute(&mut stranger)
        .await
        .unwrap();

    let error = store
        .record_trial(study, 2, 1, 1, &record)
        .await
        .unwrap_err();
    assert!(matches!(error, StoreError::Locked { .. }), "{error}");
    let error = error.to_string();
    assert!(
        error.contains(&format!("process {}", std::process::id())),
        "{error}"
    );
    assert!(error.contains("backsight resume"), "{error}");
    // Reading goes on meanwhile, also from a store that is opened only now.
    let reader = Store::open_patiently(dir.path(), NO_PATIENCE)
        .await
        .unwrap();
    assert_eq!(reader.evidence(study).await.unwrap().len(), 1);

    sqlx::query("ROLLBACK")
        .execute(&mut stranger)
        .await
        .unwrap();
    store.record_trial(study, 2, 1, 1, &record).await.unwrap();
    assert_eq!(reader.evidence(study).await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_sweep_waits_for_trials_that_are_being_recorded() {
    let dir = tempfile::tempdir().unwrap();
    let (store, study) = with_study(dir.path()).await;
    store.close().await;
    let store = Store::open_patiently(dir.path(), NO_PATIENCE)
        .await
        .unwrap();
    let recording = fs::File::open(dir.path().join("lock")).unwrap();
    recording.lock_shared().unwrap();
    let error = store.sweep().await.unwrap_err();
    assert!(matches!(error, StoreError::Locked { .. }), "{error}");
    // Another trial isn't in the way of the first.
    store
        .record_trial(study, 1, 0, 1, &failed("x", b"printed"))
        .await
        .unwrap();
    recording.unlock().unwrap();
    assert_eq!(store.sweep().await.unwrap(), SweptObjects::default());
}

#[tokio::test]
async fn a_store_of_a_newer_backsight_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = with_study(dir.path()).await;
    store.close().await;
    let newer = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
                 VALUES (99, 'later', true, x'00', 0)";
    change(&Place::at(dir.path()), newer.into()).await;
    let error = Store::open(dir.path()).await.unwrap_err();
    assert!(
        matches!(
            error,
            StoreError::Newer { found: 99, known, .. } if known > 2
        ),
        "{error}"
    );
}

#[tokio::test]
async fn a_store_from_before_simulators_were_told_is_brought_up() {
    let dir = tempfile::tempdir().unwrap();
    let (store, study) = with_study(dir.path()).await;
    store.close().await;
    for before in [
        "ALTER TABLE metric DROP COLUMN simulator",
        "ALTER TABLE metric DROP COLUMN is_primary",
        "ALTER TABLE metric DROP COLUMN monitor",
        "ALTER TABLE machine_load DROP COLUMN busiest",
        "ALTER TABLE step DROP COLUMN monitor",
        "ALTER TABLE cell DROP COLUMN monitors",
        "ALTER TABLE version DROP COLUMN amendments",
        "DROP TABLE acceptance",
        "DROP TABLE instance_sample",
        "DROP TABLE host_clock",
        "DROP TABLE meeting",
        "DROP TABLE pruned",
        "DROP TABLE triage",
        "DROP TABLE store_setting",
        "DROP TABLE history_finding",
        "DROP TABLE side_version",
        "DROP INDEX cell_by_question",
        "DROP INDEX trial_by_failure",
        "DROP TABLE access_token",
        "DROP TABLE audit_entry",
        "DROP TABLE watch_study",
        "DROP TABLE watch_finding",
        "DROP TABLE told",
        "DROP TABLE notify_channel",
        "DROP TABLE job_dependency",
        "DROP TABLE job_run",
        "DROP TABLE queue_worker",
        "DROP TABLE queue_state",
        "DROP TABLE reservation",
        "DROP TABLE job",
        "DROP TABLE annotation",
        "DROP TABLE store_identity",
        "DROP TABLE runner",
        "DROP TABLE raw_object",
        "DROP INDEX study_by_job",
        "ALTER TABLE study DROP COLUMN job",
        "DROP TABLE core_file",
        "DROP TABLE suite_run",
        "DROP TABLE self_test",
        "DROP TABLE host_record",
        "DROP TABLE record_section",
        "DROP TABLE record",
        "DROP TABLE testbed",
        "ALTER TABLE boot DROP COLUMN testbed",
        "ALTER TABLE sample DROP COLUMN measured_checksum",
        "ALTER TABLE sample DROP COLUMN within_checksum",
        "ALTER TABLE trial DROP COLUMN session",
        "ALTER TABLE trial DROP COLUMN host",
        "ALTER TABLE trial DROP COLUMN drawn",
        "ALTER TABLE build DROP COLUMN compilers",
        "DELETE FROM _sqlx_migrations WHERE version > 1",
    ] {
        change(&Place::at(dir.path()), before.into()).await;
    }
    let store = Store::open(dir.path()).await.unwrap();
    let metrics = store.metrics(study).await.unwrap();
    assert_eq!(metrics["ping-rtt"][0].simulator, None);
    let primary =
        |benchmark: &str| -> Vec<bool> { metrics[benchmark].iter().map(|it| it.primary).collect() };
    assert_eq!(primary("ping-rtt"), [true]);
    assert_eq!(primary("iperf3-tcp"), [true, false], "the first is primary");
    store.create_study(&new_study("later")).await.unwrap();
    let later = store.study("later").await.unwrap().id;
    let metrics = store.metrics(later).await.unwrap();
    assert_eq!(metrics["ping-rtt"][0].simulator, Some(Simulator::Icount(2)));
}

async fn monitors_that_watched_are_kept_with_their_trial_and_those_that_were_asked_about_with_their_cell(
    engine: Engine,
) {
    let dir = Place::new(engine);
    let store = Store::open(dir.location()).await.unwrap();
    let names = |names: &[&str]| names.iter().map(|name| name.parse().unwrap()).collect();
    let mut new = new_study("watched");
    new.cells[1].monitors = Some(Vec::new());
    new.cells[2].monitors = Some(names(&["vmstat", "cpu"]));
    let study = store.create_study(&new).await.unwrap();
    assert_eq!(store.cells(study).await.unwrap(), new.cells);
    assert!(store.monitors(study).await.unwrap().is_empty());

    let watcher = StepRecord {
        monitor: Some("vmstat".parse().unwrap()),
        ..step(1, b"procs", b"")
    };
    let steps = vec![step(0, b"42", b""), watcher];
    let record = measured(vec![samples("throughput", &[1.0])], steps);
    store.record_trial(study, 1, 0, 1, &record).await.unwrap();
    let kept = store.steps(study, 1).await.unwrap();
    assert_eq!(kept[0].monitor, None);
    assert_eq!(kept[1].monitor, Some("vmstat".parse().unwrap()));
    let watched: Vec<MonitorName> = names(&["vmstat"]);
    assert_eq!(store.monitors(study).await.unwrap(), watched);
}

async fn what_monitors_measure_comes_after_the_metrics_that_were_declared(engine: Engine) {
    let dir = Place::new(engine);
    let store = Store::open(dir.location()).await.unwrap();
    let new = new_study("watched");
    let study = store.create_study(&new).await.unwrap();
    let saw = |name: &str, value: f64| MonitorSample {
        monitor: "syscalls".parse().unwrap(),
        metric: name.parse().unwrap(),
        unit: Unit::parse("calls").unwrap(),
        better: Better::Lower,
        about: "how often".to_owned(),
        value,
    };
    for (number, watched) in [
        (1, vec![saw("write.calls", 3.0)]),
        (2, vec![saw("read.calls", 5.0), saw("write.calls", 4.0)]),
        (3, vec![]),
    ] {
        let record = TrialRecord {
            watched,
            ..measured(vec![samples("throughput", &[1.0])], Vec::new())
        };
        let round = number;
        store
            .record_trial(study, number, 0, round, &record)
            .await
            .unwrap();
    }
    let declared = store.declared_metrics(study).await.unwrap();
    assert_eq!(declared, new.metrics);
    let all = store.metrics(study).await.unwrap();
    let benchmark = &new.cells[0].benchmark;
    let added: Vec<&str> = all[benchmark][declared[benchmark].len()..]
        .iter()
        .map(|shape| shape.name.as_str())
        .collect();
    assert_eq!(added, ["write.calls", "read.calls"]);
    let set = store.result_set(study).await.unwrap();
    let series = set
        .series
        .iter()
        .find(|series| series.metric.as_str() == "write.calls" && series.cell == new.cells[0]);
    assert_eq!(series.unwrap().values(), [3.0, 4.0]);
}

#[tokio::test]
async fn two_processes_can_open_a_new_store_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let opened = (0..8).map(|_| {
        let dir = dir.path().to_owned();
        std::thread::spawn(move || runtime().block_on(async { Store::open(dir).await.map(|_| ()) }))
    });
    for thread in opened.collect::<Vec<_>>() {
        thread.join().unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_file_that_is_no_database_is_called_so() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("backsight.db");
    fs::write(&file, "This is no database. ".repeat(1000)).unwrap();
    let error = Store::open(dir.path()).await.unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert!(error.to_string().contains("backsight.db"), "{error}");
}

#[tokio::test]
async fn a_database_with_a_hole_in_it_gives_an_error_and_no_numbers() {
    let dir = tempfile::tempdir().unwrap();
    let (store, study) = with_study(dir.path()).await;
    for round in 1..60 {
        let record = measured(vec![samples("rtt", &[f64::from(round); 100])], vec![]);
        store
            .record_trial(study, round, 1, round, &record)
            .await
            .unwrap();
    }
    store.close().await;
    let file = dir.path().join("backsight.db");
    let whole = fs::read(&file).unwrap();
    for page in 1..whole.len() / 4096 {
        let mut damaged = whole.clone();
        damaged[page * 4096..(page + 1) * 4096].fill(0x5a);
        fs::write(&file, &damaged).unwrap();
        // A hole in a page that isn't asked for may go unseen; samples are never made of one.
        let Ok(store) = Store::open(dir.path()).await else {
            continue;
        };
        match store.result_set(study).await {
            Ok(set) => assert!(
                set.series[2]
                    .values()
                    .iter()
                    .all(|v| (1.0..60.0).contains(v)),
                "page {page}"
            ),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
        store.close().await;
    }
}

async fn a_value_that_nobody_could_have_stored_is_an_error(engine: Engine) {
    for (statement, expected) in [
        ("UPDATE cell SET params = '{'", "parameters"),
        ("UPDATE study SET began = 'yesterday'", "a time"),
        ("UPDATE study SET state = 'asleep'", "a study's state"),
        ("UPDATE metric SET unit = 'parsec'", "a unit"),
        (
            "UPDATE sample SET measured = x'0102'",
            "trial 1 of study `base`",
        ),
        ("UPDATE sample SET metric = 7", "a metric"),
        ("UPDATE trial SET round = -1", "a whole number"),
        (
            "UPDATE cell SET benchmark = '../../etc'",
            "a benchmark's name",
        ),
    ] {
        let dir = Place::new(engine);
        let (store, study) = with_study(dir.location()).await;
        let record = measured(vec![samples("rtt", &[35.0])], vec![]);
        store.record_trial(study, 1, 1, 1, &record).await.unwrap();
        change(&dir, statement.into()).await;
        let error = store.result_set(study).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{statement}: {error}");
    }
}

#[tokio::test]
async fn a_folder_that_can_not_be_made_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let error = Store::open(file.join("store")).await.unwrap_err();
    assert!(matches!(error, StoreError::File { .. }), "{error}");
    assert!(error.to_string().contains("file/store/raw"), "{error}");
}

/// Runs a job with a small file system at this folder that only the job sees. Takes root.
fn with_file_system(at: &Path, options: &str, job: impl FnOnce() + Send) {
    use nix::mount::{MsFlags, mount};
    let none: Option<&str> = None;
    let mounted = move || {
        nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNS)?;
        mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
        mount(
            Some("tmpfs"),
            at,
            Some("tmpfs"),
            MsFlags::empty(),
            Some(options),
        )
    };
    // A thread may have mounts of its own; threads that it starts have them too.
    std::thread::scope(|scope| {
        let job = scope.spawn(move || {
            if !Need::Root.is_missing_in(mounted()) {
                job();
            }
        });
        job.join().unwrap();
    });
}

fn remount(at: &Path, flags: nix::mount::MsFlags, options: &str) {
    let none: Option<&str> = None;
    let flags = nix::mount::MsFlags::MS_REMOUNT | flags;
    nix::mount::mount(none, at, none, flags, Some(options)).unwrap();
}

#[test]
fn a_folder_that_is_not_writable_is_said_before_anything_is_measured() {
    let dir = tempfile::tempdir().unwrap();
    with_file_system(dir.path(), "size=4m", || {
        runtime().block_on(async {
            with_study(dir.path()).await.0.close().await;
            remount(dir.path(), nix::mount::MsFlags::MS_RDONLY, "");
            let error = Store::open(dir.path()).await.unwrap_err();
            assert!(matches!(error, StoreError::File { .. }), "{error}");
            assert!(error.to_string().contains("permissions"), "{error}");
        });
    });
}

/// How a store was left before nobody could write to it any more.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Left {
    Closed,
    /// With what was recorded last in the write-ahead log only.
    Open,
    /// By an earlier Backsight.
    Old,
}

#[test]
fn a_store_that_is_not_writable_is_read() {
    for left in [Left::Closed, Left::Open, Left::Old] {
        let dir = tempfile::tempdir().unwrap();
        with_file_system(dir.path(), "size=16m", || {
            runtime().block_on(async {
                let (store, study) = with_study(dir.path()).await;
                for round in 1..=3 {
                    let record = measured(
                        vec![samples("rtt", &[f64::from(round)])],
                        vec![step(0, b"printed", b"")],
                    );
                    let recorded = store.record_trial(study, round, 1, round, &record).await;
                    recorded.unwrap();
                }
                // Whoever has it open keeps the log from being cleaned up.
                let mut reader = None;
                match left {
                    Left::Closed => store.close().await,
                    Left::Open => reader = Some(store),
                    Left::Old => {
                        store.close().await;
                        for column in ["measured_checksum", "within_checksum"] {
                            change(
                                &Place::at(dir.path()),
                                format!("ALTER TABLE sample DROP COLUMN {column}"),
                            )
                            .await;
                        }
                        let before = "DELETE FROM _sqlx_migrations WHERE version = 12";
                        change(&Place::at(dir.path()), before.into()).await;
                    }
                }
                let mut log = dir.path().join("backsight.db-wal");
                if left == Left::Open {
                    assert!(log.metadata().unwrap().len() > 0);
                    // As after a crash: nobody has it open, and nothing but the log is left.
                    let copy = dir.path().join("crashed");
                    fs::create_dir(&copy).unwrap();
                    for file in ["backsight.db", "backsight.db-wal"] {
                        fs::copy(dir.path().join(file), copy.join(file)).unwrap();
                    }
                    let copied = std::process::Command::new("cp")
                        .args(["-r"])
                        .args([dir.path().join("raw"), copy.join("raw")])
                        .status();
                    assert!(copied.unwrap().success());
                    log = copy.join("backsight.db-wal");
                }
                // A file that is open to be written keeps its file system from becoming read-only.
                if let Some(reader) = reader {
                    reader.close().await;
                }
                let folder = log.parent().unwrap().to_owned();
                remount(dir.path(), nix::mount::MsFlags::MS_RDONLY, "");
                let store = Store::open_existing(&folder).await.unwrap();
                let row = store.study("base").await.unwrap();
                let set = store.result_set(row.id).await.unwrap();
                assert_eq!(set.series[2].values(), [1.0, 2.0, 3.0], "{left:?}");
                let raw = RawRef::from_content(b"printed");
                let lost = [(1, "lost".to_owned())].into_iter().collect();
                assert_eq!(store.raw(&raw).await.unwrap(), b"printed");
                assert_eq!(store.damaged_objects().await.unwrap(), (1, vec![]));
                for refused in [
                    store.set_state(row.id, StudyState::Finished).await,
                    store.give_up_trials(row.id, &lost).await,
                ] {
                    let error = refused.unwrap_err();
                    assert!(
                        matches!(error, StoreError::ReadOnly { .. }),
                        "{left:?}: {error}"
                    );
                }
            });
        });
    }
}

/// Bytes that don't compress.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    blake3::Hasher::new()
        .update(&seed.to_le_bytes())
        .finalize_xof()
        .fill(&mut bytes);
    bytes
}

/// Records trials until the disk is full; then, with more room, the one that didn't fit.
fn fill_the_disk(trial: fn(u32) -> TrialRecord) {
    let dir = tempfile::tempdir().unwrap();
    with_file_system(dir.path(), "size=1500k", || {
        runtime().block_on(async {
            let (store, study) = with_study(dir.path()).await;
            let mut recorded = 0;
            let error = loop {
                assert!(recorded < 100, "the disk should be full by now");
                match store
                    .record_trial(study, recorded + 1, 1, recorded + 1, &trial(recorded))
                    .await
                {
                    Ok(()) => recorded += 1,
                    Err(error) => break error,
                }
            };
            assert!(matches!(error, StoreError::Full { .. }), "{error}");
            assert!(error.to_string().contains("backsight resume"), "{error}");
            assert!(recorded > 0);
            check(&store, study, dir.path(), recorded, trial).await;

            remount(dir.path(), nix::mount::MsFlags::empty(), "size=8m");
            store
                .record_trial(study, recorded + 1, 1, recorded + 1, &trial(recorded))
                .await
                .unwrap();
            drop(store);
            let store = Store::open(dir.path()).await.unwrap();
            check(&store, study, dir.path(), recorded + 1, trial).await;
        });
    });
}

async fn check(
    store: &Store,
    study: StudyId,
    dir: &Path,
    recorded: u32,
    trial: fn(u32) -> TrialRecord,
) {
    assert_eq!(
        store.evidence(study).await.unwrap().len(),
        recorded as usize
    );
    let mut outputs = HashSet::new();
    for n in 0..recorded {
        let record = trial(n);
        assert_eq!(
            store.samples(study, n + 1).await.unwrap(),
            record.outcome.unwrap()
        );
        for (step, original) in store
            .steps(study, n + 1)
            .await
            .unwrap()
            .iter()
            .zip(&record.steps)
        {
            let raw = step.stdout.raw.unwrap();
            assert_eq!(store.raw(&raw).await.unwrap(), original.stdout.bytes);
            outputs.insert(raw);
        }
    }
    assert_eq!(
        objects(dir).len(),
        outputs.len(),
        "objects that no step refers to"
    );
}

#[test]
fn a_disk_that_fills_up_with_outputs_loses_only_the_trial_that_did_not_fit() {
    fill_the_disk(|n| {
        let stdout = noise(u64::from(n), 100_000);
        measured(
            vec![samples("rtt", &[35.0])],
            vec![step(0, b"always the same", b""), step(1, &stdout, b"")],
        )
    });
}

#[test]
fn a_disk_that_fills_up_with_samples_loses_only_the_trial_that_did_not_fit() {
    fill_the_disk(|n| measured(vec![samples("rtt", &vec![f64::from(n); 12_000])], vec![]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn whatever_is_recorded_in_any_order_comes_back_in_order(
        trials in prop::collection::vec((0usize..3, prop::collection::vec(-1e9..1e9f64, 0..4), any::<bool>()), 1..12),
    ) {
        runtime().block_on(async {
            let dir = tempfile::tempdir().unwrap();
            let (store, study) = with_study(dir.path()).await;
            let metric = ["throughput", "rtt", "throughput"];
            for (n, (cell, values, fails)) in trials.iter().enumerate() {
                let record = if *fails {
                    failed("x", b"")
                } else {
                    measured(vec![samples(metric[*cell], values)], vec![])
                };
                store.record_trial(study, n as u32 + 1, *cell, n as u32 + 1, &record).await.unwrap();
            }
            let set = store.result_set(study).await.unwrap();
            for (series, cell) in [(0, 0), (2, 1), (3, 2)] {
                let expected: Vec<f64> = trials.iter().filter(|(c, _, fails)| *c == cell && !fails)
                    .flat_map(|(_, values, _)| values.clone()).collect();
                assert_eq!(set.series[series].values(), expected);
            }
            assert_eq!(set.failed.len(), trials.iter().filter(|(_, _, fails)| *fails).count());
        });
    }
}

fn finished(name: &str) -> FinishedStudy {
    let trial = |cell, round, outcome| FinishedTrial {
        suite: None,
        cell,
        round,
        session: round,
        host: 1,
        outcome,
        files: vec![1, 0],
    };
    let mut pings = samples("rtt", &[3.25]);
    pings.each = vec![3.0, 3.5];
    FinishedStudy {
        new: NewStudy {
            questions: Vec::new(),
            target: None,
            verb: "import".into(),
            ..new_study(name)
        },
        at: "2024-02-29T23:59:59Z".parse().unwrap(),
        hosts: IndexMap::from([(
            "elsewhere".parse().unwrap(),
            IndexMap::from([("kernel".to_owned(), "6.1.0".to_owned())]),
        )]),
        role: "import".parse().unwrap(),
        files: [&b"first file"[..], b"second file"]
            .map(|content| FinishedFile {
                command: "backsight import x".into(),
                content: content.to_vec().into(),
            })
            .to_vec(),
        trials: vec![
            trial(
                0,
                1,
                Ok(vec![
                    samples("retransmits", &[7.0]),
                    samples("throughput", &[1.5, 2.5]),
                ]),
            ),
            trial(1, 1, Ok(vec![pings])),
            trial(0, 2, Err(Failure::of_trial("it fell over"))),
        ],
        warnings: vec!["columns that weren't used: `x`".into()],
    }
}

fn a_trial_of_a_finished_study_is_of_its_host(engine: Engine) {
    runtime().block_on(async {
        let dir = Place::new(engine);
        let store = Store::open(dir.location()).await.unwrap();
        let mut study = finished("two-hosts");
        let facts = IndexMap::from([("kernel".to_owned(), "6.2.0".to_owned())]);
        study.hosts.insert("second".parse().unwrap(), facts);
        study.trials[1].host = 2;
        let id = store.add_finished_study(&study).await.unwrap();
        let set = store.result_set(id).await.unwrap();
        let trials = set.series.iter().flat_map(|series| &series.trials);
        let hosts: Vec<(u32, &str)> = trials
            .map(|trial| (trial.trial, set.host_of(trial).unwrap().as_str()))
            .collect();
        assert!(
            hosts.contains(&(1, "elsewhere")) && hosts.contains(&(2, "second")),
            "{hosts:?}"
        );
        let steps = store.steps(id, 2).await.unwrap();
        assert!(steps.iter().all(|step| step.host.as_str() == "second"));
        let mut stray = finished("stray");
        stray.trials[0].host = 2;
        let refused = store.add_finished_study(&stray).await.unwrap_err();
        assert!(
            refused.to_string().contains("it has no host 2"),
            "{refused}"
        );
    });
}

fn contents_on_disk_and_results_of_tests_are_kept_as_they_are(engine: Engine) {
    runtime().block_on(async {
        let dir = Place::new(engine);
        let store = Store::open(dir.location()).await.unwrap();
        let first = vec![7; 300_000];
        let mut copy = tempfile::tempfile().unwrap();
        copy.write_all(&first).unwrap();
        copy.write_all(b"second file").unwrap();
        let copy = Arc::new(copy);
        let part = |from, length| {
            let file = Arc::clone(&copy);
            FileContent::OnDisk(FilePart { file, from, length })
        };
        let mut failed = TestResult::new("net/udp", Outcome::Crash(Some(11)));
        failed.message = Some("no route".into());
        failed.seconds = Some(1.5);
        failed.line = 3;
        let results = [
            TestResult::new("net/tcp", Outcome::Pass),
            failed,
            TestResult::new("net/\nx", Outcome::Skip),
        ];
        let run = SuiteRun {
            results: results.into_iter().collect::<TestResults>().sorted().0,
            complete: false,
            missing: 2,
            problems: vec!["line 1".into()],
        };
        for name in ["one", "again"] {
            let mut study = finished(name);
            study.files[0].content = part(0, 300_000);
            study.files[1].content = part(300_000, 11);
            study.trials[0].suite = Some(run.clone());
            let id = store.add_finished_study(&study).await.unwrap();
            let steps = store.steps(id, 1).await.unwrap();
            let contents = [(0, &b"second file"[..]), (1, &first)];
            for (step, content) in contents {
                let raw = steps[step].stdout.raw.unwrap();
                assert!(store.raw(&raw).await.unwrap() == content);
                assert_eq!(steps[step].stdout.printed, content.len() as u64);
            }
            let rows = store.suite_runs(id).await.unwrap();
            assert_eq!(rows.len(), 1);
            assert_eq!(store.suite_run(&rows[0]).await.unwrap(), run);
        }
    });
}

fn a_finished_study_is_there_whole_with_its_files_and_goes_whole(engine: Engine) {
    runtime().block_on(async {
        let dir = Place::new(engine);
        let store = Store::open(dir.location()).await.unwrap();
        let id = store.add_finished_study(&finished("theirs")).await.unwrap();
        let row = store.study("theirs").await.unwrap();
        assert_eq!(
            (
                row.state,
                row.verb.as_str(),
                row.cells,
                row.measured,
                row.failed
            ),
            (StudyState::Finished, "import", 3, 2, 1)
        );
        assert_eq!((row.runner, row.ended), (None, Some(row.began)));
        let set = store.result_set(id).await.unwrap();
        let throughput = &set.series[0];
        assert_eq!(throughput.metric.as_str(), "throughput");
        assert_eq!(throughput.trials[0].values, [1.5, 2.5]);
        assert_eq!(set.series[2].trials[0].each, [3.0, 3.5]);
        assert_eq!(set.failed[0].3, Failure::of_trial("it fell over"));
        assert_eq!(set.hosts["elsewhere"]["kernel"], "6.1.0");
        let trials = store.trials(id).await.unwrap();
        assert_eq!(trials[0].warnings, ["columns that weren't used: `x`"]);
        assert!(trials[1].warnings.is_empty());
        for number in 1..=3 {
            let steps = store.steps(id, number).await.unwrap();
            let first = steps[0].stdout.raw.unwrap();
            assert_eq!(store.raw(&first).await.unwrap(), b"second file");
        }
        let swept = store.delete(id).await.unwrap();
        assert_eq!(swept.objects, 2);
    });
}

fn a_finished_study_that_does_not_fit_leaves_nothing(engine: Engine) {
    runtime().block_on(async {
        let dir = Place::new(engine);
        let store = Store::open(dir.location()).await.unwrap();
        type Spoil = fn(&mut FinishedStudy);
        let spoilt: [(Spoil, &str); 4] = [
            (|s| s.trials[1].cell = 3, "it has no cell 3"),
            (|s| s.trials[2].round = 1, "in one round twice"),
            (|s| s.trials[2].files = vec![2], "it has no file 2"),
            (
                |s| s.trials[1].outcome = Ok(vec![samples("speed", &[1.0])]),
                "no metric `speed`",
            ),
        ];
        for (spoil, why) in spoilt {
            let mut study = finished("theirs");
            spoil(&mut study);
            let error = store.add_finished_study(&study).await.unwrap_err();
            assert!(error.to_string().contains(why), "{error}");
            assert!(store.studies().await.unwrap().is_empty());
            assert_eq!(
                store.sweep().await.unwrap(),
                SweptObjects::default(),
                "files were swept already"
            );
        }
        store.add_finished_study(&finished("theirs")).await.unwrap();
        let taken = store
            .add_finished_study(&finished("theirs"))
            .await
            .unwrap_err();
        assert!(matches!(taken, StoreError::NameTaken { .. }), "{taken}");
        assert_eq!(store.studies().await.unwrap().len(), 1);
    });
}

#[test]
fn a_record_of_a_host_is_kept_once_and_goes_with_its_last_study() {
    runtime().block_on(async {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).await.unwrap();
        let host: HostName = "dut".parse().unwrap();
        let now = jiff::Timestamp::now();
        let quiet = HostRecord::from_iter([
            ("cpu", "governor", "performance"),
            ("sysctl", "vm.swappiness", "60"),
        ]);
        let warm = HostRecord::from_iter([
            ("cpu", "governor", "powersave"),
            ("sysctl", "vm.swappiness", "60"),
        ]);
        let first = store.create_study(&new_study("first")).await.unwrap();
        store
            .begin_host_record(first, &host, now, &quiet)
            .await
            .unwrap();
        let running = store.host_records(first).await.unwrap();
        assert_eq!((&running[0].at_begin, &running[0].at_end), (&quiet, &None));
        let said = "[1.5] err: it is hot\n";
        store
            .end_host_record(first, &host, now, &warm, said)
            .await
            .unwrap();
        // Two governors, one sysctl, one log.
        assert_eq!(objects(dir.path()).len(), 4);

        let second = store.create_study(&new_study("second")).await.unwrap();
        store
            .begin_host_record(second, &host, now, &warm)
            .await
            .unwrap();
        store
            .end_host_record(second, &host, now, &warm, "")
            .await
            .unwrap();
        // The study goes on.
        store
            .begin_host_record(second, &host, now, &quiet)
            .await
            .unwrap();
        assert_eq!(objects(dir.path()).len(), 4);
        let stored = store.host_records(second).await.unwrap();
        let at_begin: Vec<_> = stored.iter().map(|it| &it.at_begin).collect();
        assert_eq!(at_begin, [&warm, &quiet]);
        assert_eq!(
            (&stored[0].at_end, &stored[1].at_end),
            (&Some(warm.clone()), &None)
        );
        let stored = store.host_records(first).await.unwrap();
        assert_eq!(stored[0].kernel_log, said);

        let swept = store.delete(second).await.unwrap();
        assert_eq!(swept.objects, 0, "the first study has them all");
        let damaged = objects(dir.path());
        fs::write(&damaged[0], "?").unwrap();
        let (count, found) = store.damaged_objects().await.unwrap();
        assert_eq!((count, found.len()), (4, 1));
        assert_eq!(found[0].owners, [(first, RawOwner::HostRecord(1))]);
        assert!(store.host_records(first).await.is_err());
        assert_eq!(store.delete(first).await.unwrap().objects, 4);
    });
}

#[test]
fn a_record_of_an_unchanged_host_takes_less_than_a_hundred_bytes() {
    runtime().block_on(async {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).await.unwrap();
        let host: HostName = "dut".parse().unwrap();
        let record = HostRecord::from_iter([("cpu", "governor", "performance")]);
        let study = store.create_study(&new_study("long")).await.unwrap();
        let size = || fs::metadata(dir.path().join("backsight.db")).unwrap().len();
        let settle = async || {
            let mut database = stranger(dir.path()).await;
            sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)")
                .execute(&mut database)
                .await
                .unwrap();
        };
        settle().await;
        let before = size();
        const TIMES: u64 = 200;
        for _ in 0..TIMES {
            let now = jiff::Timestamp::now();
            store
                .begin_host_record(study, &host, now, &record)
                .await
                .unwrap();
            store
                .end_host_record(study, &host, now, &record, "")
                .await
                .unwrap();
        }
        settle().await;
        let each = (size() - before) / TIMES;
        assert!(each <= 100, "{each} bytes");
        assert_eq!(objects(dir.path()).len(), 1);
    });
}

fn a_record_of_a_host_of_no_study_is_refused(engine: Engine) {
    runtime().block_on(async {
        let dir = Place::new(engine);
        let store = Store::open(dir.location()).await.unwrap();
        let host: HostName = "dut".parse().unwrap();
        let record = HostRecord::from_iter([("cpu", "governor", "performance")]);
        let now = jiff::Timestamp::now();
        let refused = store
            .begin_host_record(StudyId(7), &host, now, &record)
            .await;
        assert!(
            matches!(refused, Err(StoreError::Stray { study: 7, .. })),
            "{refused:?}"
        );
    });
}

/// A version, amended by these.
fn version(id: &str, amendments: Vec<Amendment>) -> Version {
    Version {
        id: id.into(),
        name: id.into(),
        at: None,
        title: String::new(),
        release: false,
        amendments,
    }
}

fn findings_of_a_history_are_kept_by_their_key_until_the_target_goes(engine: Engine) {
    let target: backsight_model::TargetName = "app".parse().unwrap();
    runtime().block_on(async {
        let dir = Place::new(engine);
        let store = Store::open(dir.location()).await.unwrap();
        let new = NewStudy {
            questions: vec!["a".into(), "b".into(), "c".into()],
            target: Some(NewTarget {
                testbeds: Vec::new(),
                name: target.clone(),
                versions: vec![version("v1", Vec::new())],
            }),
            ..new_study("s")
        };
        let study = store.create_study(&new).await.unwrap();
        let none = store.sample_sums(study).await.unwrap().unwrap();
        assert_eq!((none.count, none.sums), (0, [0, 0]));
        let mut sums = vec![none];
        for number in 1..=30 {
            let trial = measured(vec![samples("throughput", &[f64::from(number)])], vec![]);
            let round = number;
            let kept = store.record_trial(study, number, 0, round, &trial);
            kept.await.unwrap();
            let now = store.sample_sums(study).await.unwrap().unwrap();
            assert_eq!(now.count, i64::from(number));
            assert!(!sums.contains(&now));
            sums.push(now);
        }
        let mut outline = store.study_outline(study).await.unwrap();
        assert_eq!(
            store.target_outline(&target).await.unwrap(),
            [outline.clone()]
        );
        let whole = store.study_history(study).await.unwrap();
        let wanted = [2, 3, 20];
        let read = store.read_samples(&mut outline, |trial| wanted.contains(&trial.number));
        read.await.unwrap();
        for (trial, whole) in outline.trials.iter().zip(&whole.trials) {
            match wanted.contains(&trial.number) {
                true => assert_eq!(trial, whole),
                false => assert!(trial.samples.is_empty()),
            }
        }
        store.read_samples(&mut outline, |_| true).await.unwrap();
        assert_eq!(outline, whole);

        let parts = vec![
            vec![1, 2, 3],
            Vec::new(),
            vec![9; 5_000_000],
            vec![7; 5_000_000],
        ];
        for key in ["one", "two"] {
            let kept = store.keep_history_findings(&target, key, &parts);
            kept.await.unwrap();
        }
        let of = |key: &'static str| store.history_findings(&target, key);
        assert_eq!(of("two").await.unwrap(), parts);
        assert_eq!(of("one").await.unwrap(), Vec::<Vec<u8>>::new());
        store.set_state(study, StudyState::Finished).await.unwrap();
        store.delete(study).await.unwrap();
        assert_eq!(of("two").await.unwrap(), Vec::<Vec<u8>>::new());
    });
}

fn amended_versions_come_back_and_are_no_points_of_the_history(engine: Engine) {
    let patch = Amendment::Patch {
        name: "fix.diff".into(),
        content: "abc".into(),
    };
    let revert = Amendment::Revert {
        name: "8f4d37ec".into(),
        content: "def".into(),
    };
    let versions = vec![
        version("v1", vec![patch, revert]),
        version("v1", Vec::new()),
        version("v2", Vec::new()),
    ];
    let target: backsight_model::TargetName = "app".parse().unwrap();
    runtime().block_on(async {
        let dir = Place::new(engine);
        let store = Store::open(dir.location()).await.unwrap();
        let new = NewStudy {
            questions: vec!["a".into(), "b".into(), "c".into()],
            target: Some(NewTarget {
                testbeds: Vec::new(),
                name: target.clone(),
                versions: versions.clone(),
            }),
            ..new_study("s")
        };
        let study = store.create_study(&new).await.unwrap();
        for version in 0..3 {
            let build = BuildRecord {
                compilers: Vec::new(),
                version,
                layout: Layout::default(),
                key: format!("key {version}"),
                quirks: Vec::new(),
                failure: None,
                cached: false,
                began: jiff::Timestamp::UNIX_EPOCH,
                took: Duration::from_secs(3),
                log: Vec::new(),
            };
            store.record_build(study, &build).await.unwrap();
            let boot = BootRecord {
                guests: Default::default(),
                testbed: 0,
                version,
                layout: Layout::default(),
                ordinal: 1,
                failure: None,
                began: jiff::Timestamp::UNIX_EPOCH,
                took: Duration::from_secs(2),
                facts: IndexMap::new(),
                log: Vec::new(),
            };
            let boot = store.record_boot(study, &boot).await.unwrap();
            let mut trial = measured(vec![samples("throughput", &[version as f64])], vec![]);
            trial.boot = boot;
            let number = version as u32 + 1;
            store
                .record_trial(study, number, 0, 1, &trial)
                .await
                .unwrap();
        }
        let whole = store.study_history(study).await.unwrap();
        assert_eq!(whole.versions, versions);
        assert_eq!(
            whole.versions[0].full_name(),
            "v1 + fix.diff + revert of 8f4d37ec"
        );
        let asked = store.requests_along(&target).await.unwrap();
        assert_eq!(asked.len(), 3);
        let plain = store.target_history(&target).await.unwrap().remove(0);
        assert_eq!(plain.versions, versions[1..]);
        let places: Vec<_> = plain
            .trials
            .iter()
            .map(|trial| (plain.place(trial).unwrap().0.version, trial.samples[0][0]))
            .collect();
        assert_eq!(places, [(0, 1.0), (1, 2.0)]);
        assert_eq!((plain.builds.len(), plain.boots.len()), (2, 2));
    });
}

async fn what_is_accepted_is_kept_replaced_and_withdrawn(engine: Engine) {
    let dir = Place::new(engine);
    let (store, _) = with_study(dir.location()).await;
    let target: backsight_model::TargetName = "linux".parse().unwrap();
    let at = |second| jiff::Timestamp::from_second(second).unwrap();
    let mut acceptance = backsight_model::Acceptance {
        target: target.clone(),
        version: "abc".to_owned(),
        name: "6.1.18".to_owned(),
        metric: Some("tbench.throughput".to_owned()),
        reason: "safer".to_owned(),
        work_around: None,
        by: "Ann".to_owned(),
        at: at(10),
        until: Some(at(1000)),
    };
    store.accept(&acceptance).await.unwrap();
    acceptance.reason = "much safer".to_owned();
    acceptance.work_around = Some("mitigations=off".to_owned());
    store.accept(&acceptance).await.unwrap();
    let all = store.acceptances(&target).await.unwrap();
    assert_eq!(all, [acceptance]);
    assert!(!store.withdraw(&target, "abc", None).await.unwrap());
    let metric = Some("tbench.throughput");
    assert!(store.withdraw(&target, "abc", metric).await.unwrap());
    assert_eq!(store.acceptances(&target).await.unwrap(), []);
}

async fn what_is_said_of_alerts_is_kept_in_the_order_in_which_it_was_said(engine: Engine) {
    let dir = Place::new(engine);
    let store = Store::open(dir.location()).await.unwrap();
    let target: backsight_model::TargetName = "app".parse().unwrap();
    let said = |state, note: Option<&str>| backsight_model::Triage {
        target: target.clone(),
        version: "abc".to_owned(),
        name: "v2".to_owned(),
        state,
        lies_at: Some("c".to_owned()),
        note: note.map(str::to_owned),
        by: "Ann".to_owned(),
        at: jiff::Timestamp::from_second(100).unwrap(),
    };
    let all = [
        said(TriageState::Investigating, None),
        said(TriageState::Invalid, Some("the lab was warm")),
        said(TriageState::Investigating, None),
    ];
    for one in &all {
        store.record_triage(one).await.unwrap();
    }
    assert_eq!(store.triage(&target).await.unwrap(), all);
    let other = "other".parse().unwrap();
    assert_eq!(store.triage(&other).await.unwrap(), []);
}

async fn where_a_version_is_was_said_last(engine: Engine) {
    let dir = Place::new(engine);
    let store = Store::open(dir.location()).await.unwrap();
    let target: backsight_model::TargetName = "app".parse().unwrap();
    let ids = |ids: &[&str]| -> Vec<String> { ids.iter().map(|&id| id.into()).collect() };
    let beside = async || {
        let beside = store.side_versions(&target).await.unwrap();
        let mut beside: Vec<String> = beside.into_iter().collect();
        beside.sort();
        beside
    };
    for (off, on, left) in [
        (&["b", "c"][..], &[][..], &["b", "c"][..]),
        (&["c", "d", "d"], &["b", "a"], &["c", "d"]),
        (&[], &[], &["c", "d"]),
        (&[], &["c", "d"], &[]),
    ] {
        let placed = store.place_versions(&target, &ids(off), &ids(on)).await;
        placed.unwrap();
        assert_eq!(beside().await, ids(left));
    }
    let other = "other".parse().unwrap();
    store
        .place_versions(&target, &ids(&["a"]), &[])
        .await
        .unwrap();
    assert!(store.side_versions(&other).await.unwrap().is_empty());
}

async fn self_tests_are_kept_by_machine_and_damaged_ones_are_found_and_removed(engine: Engine) {
    let dir = Place::new(engine);
    let store = Store::open(dir.location()).await.unwrap();
    let test = |machine: &str, made: i64| backsight_store::StoredSelfTest {
        machine: machine.into(),
        boot: "boot".into(),
        host: "dut".parse().unwrap(),
        made: jiff::Timestamp::from_second(made).unwrap(),
        result: backsight_model::SelfTest {
            seconds: 20.0,
            cpus: vec![0, 1],
            measures: vec![backsight_model::Measure {
                name: "fsync".into(),
                outcome: backsight_model::MeasureOutcome::NotMeasured("in memory".into()),
            }],
            sources: Vec::new(),
            unexplained: 0.25,
        },
    };
    let all = [test("a", 10), test("a", 30), test("b", 20)];
    for number in [0, 2, 1] {
        store.record_self_test(&all[number]).await.unwrap();
    }
    assert_eq!(store.self_tests().await.unwrap(), all);
    assert_eq!(store.damaged_self_tests().await.unwrap(), (3, vec![]));
    store.close().await;
    change(
        &dir,
        "UPDATE self_test SET result = '{' WHERE machine = 'b'".into(),
    )
    .await;
    let store = Store::open(dir.location()).await.unwrap();
    assert!(store.self_tests().await.is_err());
    let (count, damaged) = store.damaged_self_tests().await.unwrap();
    assert_eq!((count, damaged.len()), (3, 1));
    store.delete_self_tests(&damaged).await.unwrap();
    assert_eq!(store.self_tests().await.unwrap(), all[..2]);
}

async fn a_guest_is_kept_once_and_another_kernel_costs_its_small_section(engine: Engine) {
    let dir = Place::new(engine);
    let (store, _) = with_study(dir.location()).await;
    let study = store.create_study(&new_study("guests")).await.unwrap();
    let guest = "one".parse().unwrap();
    let record = |release: &str| {
        let mut record = HostRecord::from_iter([
            ("guest", "kind", "uml"),
            ("machine", "kernel.release", release),
        ]);
        let settings = (0..900).map(|n| (format!("vm.setting-{n}"), n.to_string()));
        record.0.insert("sysctl".into(), settings.collect());
        record
    };
    let now = jiff::Timestamp::now();
    store
        .record_guest(study, &guest, now, &record("6.1"))
        .await
        .unwrap();
    let before = dir.object_count().await;
    for _ in 0..3 {
        store
            .record_guest(study, &guest, now, &record("6.1"))
            .await
            .unwrap();
    }
    assert_eq!(store.host_records(study).await.unwrap().len(), 1);
    store
        .record_guest(study, &guest, now, &record("6.2"))
        .await
        .unwrap();
    assert_eq!(dir.object_count().await, before + 1);
    let stored = store.host_records(study).await.unwrap();
    let stored: Vec<_> = stored.into_iter().map(|it| it.at_begin).collect();
    assert_eq!(stored, [record("6.1"), record("6.2")]);
}

/// The time of the tests of pruning.
const NOW: &str = "2024-06-01T12:00:00Z";

fn keep_rules(text: &str) -> KeepRules {
    KeepRules::read(&TomlDocument::new("keep.toml", text)).unwrap()
}

/// A trial that began then and whose step printed this.
fn printed(began: &str, stdout: &[u8]) -> TrialRecord {
    TrialRecord {
        began: began.parse().unwrap(),
        ..measured(
            vec![samples("throughput", &[1.0])],
            vec![step(0, stdout, b"")],
        )
    }
}

async fn record(store: &Store, study: StudyId, number: u32, record: &TrialRecord) {
    let recorded = store.record_trial(study, number, 0, number, record).await;
    recorded.unwrap();
}

/// Prunes by these rules; how many objects stayed and how many went.
async fn pruned(store: &Store, rules: &str, references: &KeptReferences) -> (u64, u64) {
    let now = NOW.parse().unwrap();
    let rules = keep_rules(rules);
    let said = store.retention(&rules, references, now).await.unwrap();
    let done = store.prune(&rules, references, now).await.unwrap();
    assert_eq!(said, done, "a dry run says what happens");
    let count = |goes: bool| {
        let rows = done.rows();
        let of_fate = rows.filter(|row| matches!(row.fate, RetentionFate::Pruned(_)) == goes);
        of_fate.map(|row| row.count).sum()
    };
    (count(false), count(true))
}

async fn is_there(store: &Store, content: &[u8]) -> bool {
    match store.raw(&RawRef::from_content(content)).await {
        Ok(read) => read == content,
        Err(StoreError::Pruned { mark, .. }) => {
            assert_eq!(mark.made, NOW.parse().unwrap());
            false
        }
        Err(error) => panic!("{error}"),
    }
}

const FOUR_WEEKS: &str = "[keep]\noutputs = \"4 weeks\"\n";

#[tokio::test]
async fn outputs_that_are_too_old_go_with_a_mark_and_what_a_younger_trial_shares_stays() {
    let dir = tempfile::tempdir().unwrap();
    let (store, study) = with_study(dir.path()).await;
    record(&store, study, 1, &printed("2024-03-01T00:00:00Z", b"old")).await;
    record(
        &store,
        study,
        2,
        &printed("2024-03-01T00:00:00Z", b"shared"),
    )
    .await;
    record(
        &store,
        study,
        3,
        &printed("2024-05-31T00:00:00Z", b"shared"),
    )
    .await;
    let mut watched = printed("2024-03-01T00:00:00Z", b"watched");
    watched.steps[0].monitor = Some("cpu".parse().unwrap());
    record(&store, study, 4, &watched).await;
    let none = KeptReferences::default();
    // What its study measures still isn't pruned.
    assert_eq!(pruned(&store, FOUR_WEEKS, &none).await, (3, 0));
    store.set_state(study, StudyState::Finished).await.unwrap();
    assert_eq!(pruned(&store, "[keep]\n", &none).await, (3, 0));
    let named = format!("{FOUR_WEEKS}studies = [\"ba*\"]\n");
    assert_eq!(pruned(&store, &named, &none).await, (3, 0));
    let mut referred = KeptReferences::default();
    (referred.trials).insert((study, 1), RetentionReason::Acceptance);
    assert_eq!(pruned(&store, FOUR_WEEKS, &referred).await, (3, 0));

    assert_eq!(pruned(&store, FOUR_WEEKS, &none).await, (2, 1));
    assert!(!is_there(&store, b"old").await);
    assert!(is_there(&store, b"shared").await && is_there(&store, b"watched").await);
    let error = store.raw(&RawRef::from_content(b"old")).await.unwrap_err();
    let said = "was pruned on 2024-06-01 by the rule `outputs = \"4 weeks\"`";
    assert!(error.to_string().contains(said), "{error}");
    assert_eq!(store.damaged_objects().await.unwrap(), (2, vec![]));
    assert_eq!(store.samples(study, 1).await.unwrap().len(), 1);
    let prunings = store.prunings().await.unwrap();
    assert_eq!((prunings.len(), prunings[0].objects), (1, 1));
    // Nothing is left to be done.
    assert_eq!(pruned(&store, FOUR_WEEKS, &none).await, (2, 0));

    // An object that is lost afterwards isn't called pruned.
    record(&store, study, 5, &printed("2024-05-31T00:00:00Z", b"old")).await;
    assert!(is_there(&store, b"old").await);
    assert_eq!(store.prunings().await.unwrap(), []);
    for object in objects(dir.path()) {
        fs::remove_file(object).unwrap();
    }
    assert_eq!(store.damaged_objects().await.unwrap().1.len(), 3);
    store.delete(study).await.unwrap();
}

#[tokio::test]
async fn marks_go_with_the_last_study_that_refers_to_their_objects() {
    let dir = tempfile::tempdir().unwrap();
    let (store, study) = with_study(dir.path()).await;
    record(&store, study, 1, &printed("2024-03-01T00:00:00Z", b"old")).await;
    store.set_state(study, StudyState::Finished).await.unwrap();
    pruned(&store, FOUR_WEEKS, &KeptReferences::default()).await;
    assert_eq!(store.prunings().await.unwrap().len(), 1);
    store.delete(study).await.unwrap();
    assert_eq!(store.prunings().await.unwrap(), []);
}

#[tokio::test]
async fn a_pruning_that_was_interrupted_is_finished_or_taken_back_by_the_next() {
    for (rules, is_there_then) in [(FOUR_WEEKS, false), ("[keep]\n", true)] {
        let dir = tempfile::tempdir().unwrap();
        let (store, study) = with_study(dir.path()).await;
        let contents: Vec<Vec<u8>> = (0..20).map(|n| format!("old {n}").into_bytes()).collect();
        for (content, number) in contents.iter().zip(1..) {
            record(
                &store,
                study,
                number,
                &printed("2024-03-01T00:00:00Z", content),
            )
            .await;
        }
        store.set_state(study, StudyState::Finished).await.unwrap();
        // A folder in the place of one file ends it in the middle, with everything marked.
        let (stuck, kept) = (&objects(dir.path())[7], dir.path().join("kept"));
        fs::rename(stuck, &kept).unwrap();
        fs::create_dir(stuck).unwrap();
        let (none, now) = (KeptReferences::default(), NOW.parse().unwrap());
        let interrupted = store.prune(&keep_rules(FOUR_WEEKS), &none, now).await;
        assert!(interrupted.is_err());
        fs::remove_dir(stuck).unwrap();
        fs::rename(&kept, stuck).unwrap();
        let left = objects(dir.path()).len();
        assert!(left > 0);
        assert_eq!(store.damaged_objects().await.unwrap(), (0, vec![]));

        store.prune(&keep_rules(rules), &none, now).await.unwrap();
        let mut there = 0;
        for content in &contents {
            there += usize::from(is_there(&store, content).await);
        }
        assert_eq!(there, if is_there_then { left } else { 0 });
        assert_eq!(store.damaged_objects().await.unwrap(), (there, vec![]));
        assert_eq!(objects(dir.path()).len(), there);
    }
}

async fn of_each_period_the_first_measured_trial_is_left_whenever_it_is_thinned(engine: Engine) {
    const THIN: &str = "[keep]\nthin = { after = \"1 month\", every = \"1 day\" }\n";
    let dir = Place::new(engine);
    let (store, study) = with_study(dir.location()).await;
    let content = |day: u32, hour: u32| format!("{day} {hour}").into_bytes();
    let mut number = 0;
    for day in 1..=31 {
        for hour in 0..3 {
            number += 1;
            let began = format!("2024-05-{day:02}T{hour:02}:00:00Z");
            let mut trial = printed(&began, &content(day, hour));
            if (day, hour) == (1, 0) {
                trial.outcome = Err(Failure::of_trial("x"));
            }
            record(&store, study, number, &trial).await;
        }
    }
    store.set_state(study, StudyState::Finished).await.unwrap();
    let none = KeptReferences::default();
    // May begins a month before the first of June, at twelve.
    assert_eq!(pruned(&store, THIN, &none).await, (91, 2));
    assert!(
        is_there(&store, &content(1, 1)).await,
        "the first measured one"
    );
    assert!(
        is_there(&store, &content(2, 2)).await,
        "it isn't old enough"
    );
    let later = "2024-07-10T00:00:00Z".parse().unwrap();
    let rules = keep_rules(THIN);
    store.prune(&rules, &none, later).await.unwrap();
    assert_eq!(dir.object_count().await, 31);
    assert!(
        store
            .raw(&RawRef::from_content(&content(1, 1)))
            .await
            .is_ok()
    );
    // What is always kept isn't thinned; what has a shorter limit goes by that.
    let rules = keep_rules(&format!("{THIN}outputs = \"always\"\n"));
    let table = store.prune(&rules, &none, later).await.unwrap();
    assert_eq!(table.rows().count(), 1);
    let rules = keep_rules(&format!("{THIN}outputs = \"2 months\"\n"));
    store.prune(&rules, &none, later).await.unwrap();
    assert_eq!(dir.object_count().await, 22);
}

async fn logs_of_builds_and_boots_go_by_their_own_rule(engine: Engine) {
    const LOGS: &str = "[keep]\nlogs = \"4 weeks\"\n";
    let dir = Place::new(engine);
    let store = Store::open(dir.location()).await.unwrap();
    let new = NewStudy {
        target: Some(NewTarget {
            testbeds: Vec::new(),
            name: "app".parse().unwrap(),
            versions: vec![version("v1", Vec::new())],
        }),
        ..new_study("s")
    };
    let study = store.create_study(&new).await.unwrap();
    let began = "2024-03-01T00:00:00Z".parse().unwrap();
    let build = BuildRecord {
        compilers: Vec::new(),
        version: 0,
        layout: Layout::default(),
        key: "ab".into(),
        quirks: Vec::new(),
        failure: None,
        cached: false,
        began,
        took: Duration::from_secs(3),
        log: b"$ make".to_vec(),
    };
    let build = store.record_build(study, &build).await.unwrap();
    let boot = BootRecord {
        guests: Default::default(),
        testbed: 0,
        version: 0,
        layout: Layout::default(),
        ordinal: 1,
        failure: None,
        began,
        took: Duration::from_secs(2),
        facts: IndexMap::new(),
        log: b"login:".to_vec(),
    };
    store.record_boot(study, &boot).await.unwrap();
    store.set_state(study, StudyState::Finished).await.unwrap();
    let record = HostRecord(
        [(
            "kernel".to_owned(),
            [("release".to_owned(), "6.1".to_owned())].into(),
        )]
        .into(),
    );
    let host = "h".parse().unwrap();
    store
        .begin_host_record(study, &host, began, &record)
        .await
        .unwrap();
    let mut referred = KeptReferences::default();
    (referred.builds).insert((study, build), RetentionReason::Change);
    assert_eq!(pruned(&store, LOGS, &referred).await, (3, 0));
    let none = KeptReferences::default();
    assert_eq!(pruned(&store, LOGS, &none).await, (1, 2));
    assert!(!is_there(&store, b"$ make").await && !is_there(&store, b"login:").await);
    assert_eq!(store.host_records(study).await.unwrap().len(), 1);

    // Of a build that a study took lately, the age counts from there.
    let rules = keep_rules("[keep]\nbuilds = \"100 days\"\n");
    let builds = ["ab", "cd"].map(|key| (key.to_owned(), jiff::Timestamp::UNIX_EPOCH));
    let fates = store.build_fates(&rules, &none, NOW.parse().unwrap(), &builds);
    assert_eq!(
        fates.await.unwrap(),
        [
            RetentionFate::Kept(RetentionReason::Young),
            RetentionFate::Pruned(KeepRule::Builds)
        ]
    );
}

async fn trials_that_are_recorded_while_others_prune_have_their_outputs(engine: Engine) {
    let dir = Place::new(engine);
    let (store, old) = with_study(dir.location()).await;
    let content = |n: u32| format!("printed {}", n % 10).into_bytes();
    for number in 1..=10 {
        let trial = printed("2024-03-01T00:00:00Z", &content(number));
        record(&store, old, number, &trial).await;
    }
    store.set_state(old, StudyState::Finished).await.unwrap();
    let young = store.create_study(&new_study("young")).await.unwrap();
    let other = Store::open(dir.location()).await.unwrap();
    let (none, now, rules) = (
        KeptReferences::default(),
        NOW.parse().unwrap(),
        keep_rules(FOUR_WEEKS),
    );
    let recording = async {
        for number in 1..=10 {
            let trial = printed("2024-05-31T00:00:00Z", &content(number));
            record(&store, young, number, &trial).await;
            tokio::task::yield_now().await;
        }
    };
    let pruning = async {
        for _ in 0..20 {
            other.prune(&rules, &none, now).await.unwrap();
        }
    };
    let again = async {
        for _ in 0..20 {
            store.prune(&rules, &none, now).await.unwrap();
        }
    };
    tokio::join!(recording, pruning, again);
    for number in 1..=10 {
        assert!(is_there(&store, &content(number)).await, "{number}");
    }
    assert_eq!(store.prunings().await.unwrap(), []);
}

/// Runs a test with a store in a database, where there is a server.
fn with_database<F: Future<Output = ()>>(test: impl FnOnce(Place) -> F) {
    if !Need::PostgresqlServer.is_missing() {
        let place = Place::new(Engine::Postgres);
        runtime().block_on(test(place));
    }
}

/// That a process of another machine runs the study, of which was heard so many seconds ago.
async fn run_elsewhere(place: &Place, unheard: u32) {
    let lease = format!(
        "INSERT INTO runner (boot, pid, start, host, seen) VALUES ('elsewhere', 7, 70, 'lab2', EXTRACT(EPOCH FROM now()) - {unheard}) \
         ON CONFLICT (boot, pid, start) DO UPDATE SET seen = excluded.seen; \
         UPDATE study SET runner_boot = 'elsewhere', runner_pid = 7, runner_start = 70"
    );
    change(place, lease).await;
}

#[test]
fn a_study_that_runs_on_another_machine_is_free_when_its_lease_is_stale() {
    with_database(|place| async move {
        let (store, study) = with_study(place.location()).await;
        run_elsewhere(&place, 5).await;
        let row = store.study_of(study).await.unwrap();
        assert!(row.is_measuring() && row.host_of_runner() == " on lab2");
        for refused in [
            store.set_state(study, StudyState::Running).await,
            store.set_arguments(study, "{}").await,
            store.delete(study).await.map(drop),
        ] {
            let error = refused.unwrap_err();
            assert!(
                matches!(&error, StoreError::InUseElsewhere { host, pid: 7, .. } if host == "lab2"),
                "{error}"
            );
        }
        // This process isn't the runner any more: what it measured meanwhile would be measured twice.
        let record = measured(vec![samples("rtt", &[35.0])], vec![]);
        let error = store.record_trial(study, 1, 1, 1, &record).await;
        let error = error.unwrap_err();
        assert!(
            matches!(error, StoreError::Superseded { trial: 1, .. }),
            "{error}"
        );
        run_elsewhere(&place, 60).await;
        assert!(store.study_of(study).await.unwrap().was_killed());
        store.set_state(study, StudyState::Running).await.unwrap();
        store.record_trial(study, 1, 1, 1, &record).await.unwrap();
    });
}

#[test]
fn controllers_that_write_at_once_give_no_number_twice() {
    with_database(|place| async move {
        const WRITERS: usize = 4;
        const EACH: usize = 5;
        let threads = (0..WRITERS).map(|writer| {
            let location = place.location();
            std::thread::spawn(move || {
                runtime().block_on(async {
                    let store = Store::open(location).await.unwrap();
                    let mut jobs = Vec::new();
                    for number in 0..EACH {
                        let study = new_study(&format!("s{writer}-{number}"));
                        let study = store.create_study(&study).await.unwrap();
                        let trial = failed("x", b"the same");
                        store.record_trial(study, 1, 0, 1, &trial).await.unwrap();
                        let asked = backsight_model::JobRequest::new(
                            vec!["run".into()],
                            "/".into(),
                            "Ann".into(),
                        );
                        jobs.push(store.add_job(&asked).await.unwrap());
                    }
                    jobs
                })
            })
        });
        let threads: Vec<_> = threads.collect();
        let jobs = threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap());
        let jobs: HashSet<i64> = jobs.collect();
        assert_eq!(jobs.len(), WRITERS * EACH);
        let store = Store::open(place.location()).await.unwrap();
        assert_eq!(store.studies().await.unwrap().len(), WRITERS * EACH);
        assert_eq!(place.object_count().await, 1);
        // A worker that isn't there would lose its job to the other at once.
        let worker = Runner::this_process().unwrap();
        let first = |queue: &backsight_model::QueueSnapshot| {
            let next = queue.waiting.iter().map(|job| job.number).min();
            (next, Vec::new())
        };
        let (one, other) = tokio::join!(
            store.claim_job(&worker, first, |_, _| {}),
            store.claim_job(&worker, first, |_, _| {})
        );
        let taken = [one.unwrap(), other.unwrap()].map(|job| job.map(|job| job.number));
        assert!(taken[0].is_none() || taken[0] != taken[1], "{taken:?}");
    });
}

#[test]
fn trials_are_there_once_after_the_server_has_crashed_under_them() {
    if Need::PostgresqlServer.is_missing() {
        return;
    }
    let server = PostgresServer::start("crashing");
    let folder = tempfile::tempdir().unwrap();
    let location = StoreLocation::from(server.new_database()).with_controller_folder(folder.path());
    const TRIALS: u32 = 300;
    let (begun, has_begun) = std::sync::mpsc::channel();
    let recording = std::thread::spawn({
        let location = location.clone();
        move || {
            runtime().block_on(async {
                let (store, study) = with_study(location).await;
                begun.send(()).unwrap();
                for round in 1..=TRIALS {
                    let record = measured(
                        vec![samples("rtt", &[f64::from(round)])],
                        vec![step(0, format!("{round}").as_bytes(), b"")],
                    );
                    let recorded = store.record_trial(study, round, 1, round, &record).await;
                    recorded.unwrap();
                }
            });
        }
    });
    has_begun.recv().unwrap();
    for crash in 0..4 {
        assert!(crash > 0 || !recording.is_finished());
        server.crash(|| {});
    }
    recording.join().unwrap();
    runtime().block_on(async {
        let store = Store::open(&location).await.unwrap();
        let study = store.study("base").await.unwrap().id;
        let values: Vec<f64> = (1..=TRIALS).map(f64::from).collect();
        let set = store.result_set(study).await.unwrap();
        assert_eq!(set.series[2].values(), values);
        assert_eq!(
            store.damaged_objects().await.unwrap(),
            (TRIALS as usize, vec![])
        );
    });
}

#[test]
fn another_database_than_before_is_refused() {
    with_database(|place| async move {
        let store = Store::open_existing(place.location()).await;
        let error = store.unwrap_err();
        assert!(matches!(error, StoreError::NoStore { .. }), "{error}");
        with_study(place.location()).await.0.close().await;
        Store::open_existing(place.location()).await.unwrap();
        // The server failed over to one that has nothing, then to one with another store.
        let url = PostgresServer::shared().new_database();
        let other = StoreLocation::from(url);
        let moved = other.clone().with_controller_folder(&place.folder);
        let elsewhere = tempfile::tempdir().unwrap();
        for is_empty in [true, false] {
            if !is_empty {
                let own = other.clone().with_controller_folder(elsewhere.path());
                Store::open(own).await.unwrap();
            }
            let error = Store::open(&moved).await.unwrap_err();
            assert!(matches!(error, StoreError::OtherStore { .. }), "{error}");
        }
    });
}

#[test]
fn what_can_not_be_reached_is_said_without_a_password() {
    runtime().block_on(async {
        let folder = tempfile::tempdir().unwrap();
        for (url, why) in [
            (
                "postgres://me:s3cret@127.0.0.1:1/b",
                "me@127.0.0.1:1/b can't be reached",
            ),
            ("postgres://me:s3cret@lab", "it names no database"),
            (
                "postgres://me:s3cret@lab/b?sslmode=verify-full",
                "encrypted connection",
            ),
            ("postgres://me:s3cret@lab:x/b", "invalid port"),
            (
                "postgres://me:s3cret@lab/b?sslmod=require",
                "the option `sslmod` isn't known; did you mean `sslmode`?",
            ),
            (
                "postgres://me:s3cret@lab/b?user=me&ssl=true",
                "ssl asks for an encrypted connection",
            ),
            (
                "postgres://me:s3cret@lab/b?connect_timeout=5",
                "the option `connect_timeout` isn't known; known are host,",
            ),
            (
                "postgres:///b?password=%61@s3cret&sslmod=require",
                "an option behind `?` isn't known",
            ),
        ] {
            let location = StoreLocation::from(url).with_controller_folder(folder.path());
            let error = Store::open(location).await.unwrap_err();
            let said = format!("{error} {error:?}");
            assert!(said.contains(why), "{said}");
            assert!(!said.contains("s3cret"), "{said}");
        }
    });
}
