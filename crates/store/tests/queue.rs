//! The queue: who gets which job, what comes before what, reservations, runs.

#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use backsight_model::{
    Job, JobEngine, JobNeeds, JobRequest, JobState, QueueSnapshot, SlurmStanding, WorkerScope,
};
use backsight_store::{
    JobEnding, JobMove, NewReservation, Runner, Store, StoreError, StoreLocation,
};
use backsight_test_needs::{Need, PostgresServer};
use jiff::SignedDuration;
use std::{collections::BTreeSet, process::Command};

/// Each of these tests with a store of either kind.
macro_rules! on_both_engines {
    ($($name:ident,)*) => {
        mod sqlite {
            $(#[tokio::test]
            async fn $name() {
                let folder = tempfile::tempdir().unwrap();
                super::$name(folder.path().into()).await;
            })*
        }
        mod postgres {
            use super::{Need, PostgresServer, StoreLocation};
            $(#[tokio::test]
            async fn $name() {
                if Need::PostgresqlServer.is_missing() {
                    return;
                }
                let folder = tempfile::tempdir().unwrap();
                let url = PostgresServer::shared().new_database();
                let place = StoreLocation::from(&url).with_controller_folder(folder.path());
                super::$name(place).await;
            })*
        }
    };
}

on_both_engines! {
    eight_processes_take_each_job_once,
    a_choice_that_is_out_of_date_is_made_anew,
    a_job_belongs_to_its_worker_until_that_leaves_it,
    the_job_of_a_worker_that_was_killed_waits_again,
    nothing_comes_after_what_failed_or_isnt_there,
    runs_are_remembered_by_kind_and_person,
    jobs_are_listed_by_their_state,
    workers_register_and_those_that_are_gone_are_not_there,
    what_is_reserved_belongs_to_one_person_until_it_ends,
    how_a_job_stands_in_slurm_is_kept_until_it_is_lost_there,
}

fn request(name: &str, by: &str) -> JobRequest {
    let words = ["run", "plan.toml", "--name", name].map(str::to_owned);
    JobRequest::new(words.to_vec(), "/lab".into(), by.to_owned())
}

fn needs(testbed: &str) -> JobNeeds {
    JobNeeds {
        lab: "lab".parse().ok(),
        testbeds: testbed.parse().into_iter().collect(),
        hosts: Vec::new(),
    }
}

/// The first job by its number that waits, in place of a policy.
fn first(queue: &QueueSnapshot) -> (Option<i64>, Vec<(i64, String)>) {
    let next = queue.waiting.iter().map(|job| job.number).min();
    (next, Vec::new())
}

async fn claim(store: &Store) -> Option<Job> {
    let worker = Runner::this_process().unwrap();
    store.claim_job(&worker, first, |_, _| {}).await.unwrap()
}

/// A worker that is killed: of this machine, and not there.
fn gone() -> Runner {
    Runner {
        start: 1,
        ..Runner::this_process().unwrap()
    }
}

/// Run by the next test as several processes.
#[tokio::test]
#[ignore = "a part of eight_processes_take_each_job_once"]
async fn takes_jobs_until_none_waits() {
    let Ok(place) = std::env::var("QUEUE_TEST_STORE") else {
        return;
    };
    let store = Store::open(StoreLocation::from(place)).await.unwrap();
    let worker = Runner::this_process().unwrap();
    while let Some(job) = claim(&store).await {
        println!("took {}", job.number);
        let over = JobEnding::Over(JobState::Done, "done");
        let state = store.leave_job(job.number, &worker, over).await.unwrap();
        assert_eq!(state, Some(JobState::Done));
    }
}

async fn eight_processes_take_each_job_once(place: StoreLocation) {
    let store = Store::open(place.clone()).await.unwrap();
    for number in 0..200 {
        store
            .add_job(&request(&number.to_string(), "ana"))
            .await
            .unwrap();
    }
    let data = tempfile::tempdir().unwrap();
    let start = |_| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args([
                "--ignored",
                "--exact",
                "takes_jobs_until_none_waits",
                "--nocapture",
            ])
            .env("QUEUE_TEST_STORE", place.for_environment())
            .env("XDG_DATA_HOME", data.path())
            .stdout(std::process::Stdio::piped());
        command.spawn().unwrap()
    };
    let workers: Vec<_> = (0..8).map(start).collect();
    let mut taken = Vec::new();
    for worker in workers {
        let ended = worker.wait_with_output().unwrap();
        let text = String::from_utf8(ended.stdout).unwrap();
        assert!(ended.status.success(), "{text}");
        let numbers = text.split("took ").skip(1);
        taken.extend(numbers.map(|it| it.split_whitespace().next().unwrap().to_owned()));
    }
    let once: BTreeSet<&String> = taken.iter().collect();
    assert_eq!((taken.len(), once.len()), (200, 200));
}

async fn a_choice_that_is_out_of_date_is_made_anew(place: StoreLocation) {
    let store = Store::open(place.clone()).await.unwrap();
    for name in ["a", "b"] {
        let asked = JobRequest {
            needs: needs("wire"),
            ..request(name, "ana")
        };
        store.add_job(&asked).await.unwrap();
    }
    assert_eq!(claim(&store).await.unwrap().number, 1);
    let queue = store.queue(10).await.unwrap();
    assert_eq!((queue.waiting.len(), queue.running.len()), (1, 1));
    assert_eq!(queue.running[0].needs, needs("wire"));
    assert!(!queue.is_cut() && store.queue(0).await.unwrap().is_cut());
}

async fn a_job_belongs_to_its_worker_until_that_leaves_it(place: StoreLocation) {
    let store = Store::open(place.clone()).await.unwrap();
    let (worker, stranger) = (Runner::this_process().unwrap(), gone());
    store.add_job(&request("a", "ana")).await.unwrap();
    assert!(claim(&store).await.is_some());
    // Paused and continued while its worker stops it: nobody else gets it meanwhile.
    assert!(store.pause_job(1, "paused by bo").await.unwrap());
    assert_eq!(
        store.record_run_time(1, &worker, 3.0).await.unwrap(),
        Some(JobState::Paused)
    );
    assert!(claim(&store).await.is_none());
    assert!(store.continue_job(1).await.unwrap());
    assert!(claim(&store).await.is_none());
    assert_eq!(
        store
            .leave_job(1, &stranger, JobEnding::Stopped)
            .await
            .unwrap(),
        None
    );
    assert_eq!(
        store.record_run_time(1, &stranger, 9.0).await.unwrap(),
        None
    );
    let left = store
        .leave_job(1, &worker, JobEnding::Stopped)
        .await
        .unwrap();
    assert_eq!(left, Some(JobState::Waiting));
    // What runs and is cancelled stays cancelled, whatever its worker says.
    assert!(claim(&store).await.is_some());
    assert!(store.cancel_job(1, "cancelled by bo").await.unwrap());
    let over = JobEnding::Over(JobState::Done, "done");
    assert_eq!(
        store.leave_job(1, &worker, over).await.unwrap(),
        Some(JobState::Cancelled)
    );
    assert_eq!(
        store.job(1).await.unwrap().unwrap().outcome.unwrap(),
        "cancelled by bo"
    );
    assert!(!store.pause_job(1, "").await.unwrap() && !store.continue_job(1).await.unwrap());
    assert!(!store.move_job(1, JobMove::First).await.unwrap());
}

async fn the_job_of_a_worker_that_was_killed_waits_again(place: StoreLocation) {
    let store = Store::open(place.clone()).await.unwrap();
    store.add_job(&request("a", "ana")).await.unwrap();
    let dead = gone();
    let taken = store.claim_job(&dead, first, |_, _| {}).await.unwrap();
    assert_eq!(taken.unwrap().number, 1);
    assert_eq!(claim(&store).await.unwrap().number, 1);
}

async fn nothing_comes_after_what_failed_or_isnt_there(place: StoreLocation) {
    let store = Store::open(place.clone()).await.unwrap();
    let after = |jobs: &[i64]| JobRequest {
        after: jobs.to_vec(),
        ..request("b", "ana")
    };
    let error = store.add_job(&after(&[1])).await.unwrap_err();
    assert!(
        matches!(
            error,
            StoreError::NoDependency {
                job: 1,
                state: None
            }
        ),
        "{error}"
    );
    store.add_job(&request("a", "ana")).await.unwrap();
    assert_eq!(store.add_job(&after(&[1])).await.unwrap(), 2);
    let queue = store.queue(10).await.unwrap();
    let second = queue.waiting.iter().find(|job| job.number == 2).unwrap();
    assert_eq!(second.after, [(1, JobState::Waiting)]);
    assert_eq!(store.job(2).await.unwrap().unwrap().request.after, [1]);
    assert_eq!(store.jobs().await.unwrap()[1].request.after, [1]);
    store.cancel_job(1, "cancelled").await.unwrap();
    let error = store.add_job(&after(&[1])).await.unwrap_err();
    assert!(error.to_string().contains("it is cancelled"), "{error}");
}

async fn runs_are_remembered_by_kind_and_person(place: StoreLocation) {
    let store = Store::open(place.clone()).await.unwrap();
    let worker = Runner::this_process().unwrap();
    for seconds in [10.0, 20.0] {
        let number = store.add_job(&request("a", "ana")).await.unwrap();
        claim(&store).await.unwrap();
        // Stopped once, and run again.
        store
            .record_run_time(number, &worker, seconds)
            .await
            .unwrap();
        store
            .leave_job(number, &worker, JobEnding::Stopped)
            .await
            .unwrap();
        claim(&store).await.unwrap();
        store.record_run_time(number, &worker, 1.0).await.unwrap();
        let over = JobEnding::Over(JobState::Done, "done");
        store.leave_job(number, &worker, over).await.unwrap();
    }
    let kind = request("another name", "bo").kind();
    let kinds = BTreeSet::from([kind.as_str(), "another"]);
    let past = store.past_seconds(&kinds).await.unwrap();
    assert_eq!((past.len(), &past[&kind][..]), (1, &[21.0, 11.0][..]));
    let usage = store.queue(0).await.unwrap().usage;
    let used: f64 = usage.iter().map(|used| used.machine_seconds).sum();
    assert!((used - 32.0).abs() < 1e-9 && usage.iter().all(|used| used.by == "ana"));
}

async fn jobs_are_listed_by_their_state(place: StoreLocation) {
    let store = Store::open(place.clone()).await.unwrap();
    for name in ["a", "b", "c", "d", "e"] {
        store.add_job(&request(name, "ana")).await.unwrap();
    }
    assert_eq!(claim(&store).await.unwrap().number, 1);
    store.pause_job(2, "paused").await.unwrap();
    store.cancel_job(3, "cancelled").await.unwrap();
    assert!(store.move_job(5, JobMove::First).await.unwrap());
    assert!(store.move_job(4, JobMove::Priority(-1)).await.unwrap());
    let numbers = |jobs: Vec<Job>| -> Vec<i64> { jobs.iter().map(|job| job.number).collect() };
    assert_eq!(numbers(store.jobs().await.unwrap()), [1, 5, 4, 2, 3]);
    let waiting = store.newest_jobs(JobState::Waiting, 1).await.unwrap();
    assert_eq!(numbers(waiting), [5]);
    let mut counts = store.job_counts().await.unwrap();
    counts.sort_by_key(|(state, _)| state.as_str());
    let expected = [
        (JobState::Cancelled, 1),
        (JobState::Paused, 1),
        (JobState::Running, 1),
        (JobState::Waiting, 2),
    ];
    assert_eq!(counts, expected);
    let queue = store.queue(1).await.unwrap();
    assert_eq!((queue.waiting[0].number, queue.waiting_in_all), (5, 2));
    assert_eq!(queue.workers.len(), 0);
}

async fn workers_register_and_those_that_are_gone_are_not_there(place: StoreLocation) {
    let store = Store::open(place.clone()).await.unwrap();
    let scope = WorkerScope {
        testbeds: Some(vec!["wire".parse().unwrap()]),
        ..WorkerScope::default()
    };
    let worker = Runner::this_process().unwrap();
    for runner in [&worker, &gone(), &worker] {
        store.register_worker(runner, &scope).await.unwrap();
    }
    let workers = store.queue(0).await.unwrap().workers;
    assert_eq!(workers.len(), 1);
    assert_eq!(workers[0].scope.testbeds, scope.testbeds);
    store.remove_worker(&worker).await.unwrap();
    assert!(store.queue(0).await.unwrap().workers.is_empty());
}

async fn how_a_job_stands_in_slurm_is_kept_until_it_is_lost_there(place: StoreLocation) {
    let store = Store::open(place).await.unwrap();
    let options = vec!["-p".to_owned(), "lab".to_owned()];
    let for_slurm = JobRequest {
        engine: JobEngine::Slurm { options },
        ..request("a", "ana")
    };
    store.add_job(&request("b", "ana")).await.unwrap();
    let number = store.add_job(&for_slurm).await.unwrap();
    let open = store.open_slurm_jobs().await.unwrap();
    assert_eq!(open.len(), 1);
    assert_eq!(open[0].request, for_slurm);
    assert_eq!(open[0].slurm, Some(SlurmStanding::default()));
    store.set_slurm_job(number, Some(77)).await.unwrap();
    store
        .set_slurm_reason(number, Some("Priority"))
        .await
        .unwrap();
    let standing = Some(SlurmStanding {
        id: Some(77),
        reason: Some("Priority".to_owned()),
    });
    let queue = store.queue(10).await.unwrap();
    let waiting = |number: i64| queue.waiting.iter().find(|job| job.number == number);
    assert_eq!(waiting(number).unwrap().slurm, standing);
    assert_eq!(waiting(1).unwrap().slurm, None);
    // A worker of its own has it: what Slurm says of an earlier one doesn't matter.
    let worker = Runner::this_process().unwrap();
    let scope = WorkerScope {
        job: Some(number),
        ..WorkerScope::default()
    };
    store.register_worker(&worker, &scope).await.unwrap();
    assert_eq!(
        store.queue(0).await.unwrap().workers[0].scope.job,
        Some(number)
    );
    let own = |_: &QueueSnapshot| (Some(number), Vec::new());
    assert!(
        store
            .claim_job(&worker, own, |_, _| {})
            .await
            .unwrap()
            .is_some()
    );
    let lose = |id| store.end_lost_slurm_job(number, id, JobState::Failed, "is lost");
    assert!(!lose(77).await.unwrap());
    store
        .leave_job(number, &worker, JobEnding::Stopped)
        .await
        .unwrap();
    assert!(!lose(76).await.unwrap(), "it was given to Slurm anew");
    assert!(lose(77).await.unwrap());
    let job = store.job(number).await.unwrap().unwrap();
    assert_eq!(
        (job.state, job.outcome.as_deref()),
        (JobState::Failed, Some("is lost"))
    );
    assert!(store.open_slurm_jobs().await.unwrap().is_empty());
}

async fn what_is_reserved_belongs_to_one_person_until_it_ends(place: StoreLocation) {
    let store = Store::open(place.clone()).await.unwrap();
    let now = store.queue_time().await.unwrap();
    let reserve = |by: &str, hours: i64| NewReservation {
        name: "wire".to_owned(),
        needs: needs("wire"),
        by: by.to_owned(),
        why: None,
        until: now + SignedDuration::from_hours(hours),
    };
    let first = store.reserve(&reserve("ana", 1)).await.unwrap();
    let error = store.reserve(&reserve("bo", 2)).await.unwrap_err();
    assert!(matches!(error, StoreError::Reserved { .. }), "{error}");
    // Ana wants it for longer.
    let second = store.reserve(&reserve("ana", 3)).await.unwrap();
    assert_eq!(
        store.reservations(now).await.unwrap(),
        std::slice::from_ref(&second)
    );
    assert!(!store.release_reservation(first.number).await.unwrap());
    let later = now + SignedDuration::from_hours(3);
    assert!(
        store.reservations(later).await.unwrap().is_empty(),
        "it ended by itself"
    );
    assert!(store.release_reservation(second.number).await.unwrap());
    store.reserve(&reserve("bo", 2)).await.unwrap();
    // It survives.
    store.close().await;
    let store = Store::open(place).await.unwrap();
    assert_eq!(store.reservations(now).await.unwrap().len(), 1);
    assert!(
        store
            .pause_queue(Some(("bo", Some("a leak"))))
            .await
            .is_ok()
    );
    let pause = store.queue(0).await.unwrap().pause.unwrap();
    assert_eq!(
        (pause.by.as_str(), pause.why.as_deref()),
        ("bo", Some("a leak"))
    );
    store.pause_queue(None).await.unwrap();
    assert_eq!(store.queue(0).await.unwrap().pause, None);
}
