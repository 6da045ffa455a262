//! `queue`: commands that wait, and the worker that runs them; `--like`, by which a command needs no files.

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;
use std::{fs, time::Duration};

use crate::{
    exit_statuses::{along, quick},
    place::Place,
    processes,
    running::Running,
};

/// The jobs of a place, in the order in which they are run.
pub fn jobs(place: &Place) -> Vec<Value> {
    let listed = place.prints_of(&["queue", "list", "--all", "--json"]);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    listed["jobs"].as_array().unwrap().clone()
}

fn numbers(jobs: &[Value]) -> Vec<i64> {
    jobs.iter()
        .map(|job| job["job"].as_i64().unwrap())
        .collect()
}

fn add(place: &Place, options: &[&str], job: &[&str]) {
    let words = [&["queue", "add", "--by", "Ann"], options, &["--"], job].concat();
    place.ends(&words).assert_code(0);
}

/// Adds a job that fails: its plan is gone when it begins.
fn add_failing(place: &Place) {
    fs::copy(place.path("plan.toml"), place.path("none.toml")).unwrap();
    add(place, &[], &["run", "none.toml"]);
    fs::remove_file(place.path("none.toml")).unwrap();
}

#[test]
fn jobs_are_run_by_priority_and_say_how_they_ended() {
    let place = quick();
    for (job, part) in [
        (&["runn", "plan.toml"][..], "isn't understood"),
        (&["serve"], "it has no end"),
        (&["queue", "worker"], "it has no end"),
        (&["run", "nosuch.toml"], "no such file"),
    ] {
        let ended = place.ends(&[&["queue", "add", "--"], job].concat());
        ended.assert_code(2);
        ended.assert_says(&[part]);
    }
    add(&place, &[], &["run", "plan.toml", "--name", "first"]);
    add_failing(&place);
    add(
        &place,
        &["--priority", "5"],
        &["run", "plan.toml", "--name", "urgent"],
    );
    add(&place, &[], &["delete", "first"]);
    place
        .ends(&["queue", "cancel", "4", "--by", "Bo"])
        .assert_code(0);
    place.ends(&["queue", "cancel", "4"]).assert_code(2);
    assert_eq!(numbers(&jobs(&place)), [3, 1, 2, 4]);

    let work = place.ends(&["queue", "worker", "--until-empty"]);
    work.assert_code(1);
    work.assert_says(&["2 done, 1 failed"]);
    let jobs = jobs(&place);
    // What is over is listed the newest first.
    assert_eq!(numbers(&jobs), [4, 3, 2, 1]);
    let states: Vec<&str> = jobs
        .iter()
        .map(|job| job["state"].as_str().unwrap())
        .collect();
    assert_eq!(states, ["cancelled", "done", "failed", "done"]);
    let taken = place.ends(&["queue", "add", "--", "run", "plan.toml", "--name", "first"]);
    taken.assert_code(2);
    taken.assert_says(&["there is a study `first` already"]);
    // What the plan measures is told when it is added; it may be mended until its turn.
    place.write("broken.toml", "use = [\"nosuch\"]\n");
    let broken = place.ends(&["queue", "add", "--", "run", "broken.toml"]);
    broken.assert_code(0);
    broken.assert_says(&["as it is now, the job would fail", "nosuch"]);
    place.ends(&["queue", "cancel", "5"]).assert_code(0);
    assert_eq!(jobs[0]["outcome"], "cancelled by Bo");
    assert_eq!(jobs[1]["study"], "urgent");
    assert_eq!(jobs[3]["outcome"], "every trial was measured");
    assert!(
        jobs[1]["ended"].as_str() < jobs[3]["began"].as_str(),
        "{jobs:?}"
    );
    let log = place.prints_of(&["queue", "log", "2"]);
    assert!(
        log.contains("$ backsight run none.toml") && log.contains("none.toml"),
        "{log}"
    );
    place.assert_complete("first", 1, 2);
    place.assert_nothing_left();
}

#[test]
fn a_job_whose_worker_is_stopped_waits_and_goes_on_where_it_was() {
    let place = quick();
    add(&place, &[], &["run", "plan.toml", "--name", "s"]);
    place.hold("run", 2);
    let worker = Running::start(place.command(&["queue", "worker"]));
    place.until_held("run");
    assert_eq!(jobs(&place)[0]["state"], "running");
    worker.signal(Signal::SIGINT);
    worker.ends().assert_code(130);
    assert_eq!(jobs(&place)[0]["state"], "waiting");
    assert_eq!(place.study("s")["state"], "stopped");
    place.release("run");
    place
        .ends(&["queue", "worker", "--until-empty"])
        .assert_code(0);
    assert_eq!(jobs(&place)[0]["state"], "done");
    place.assert_complete("s", 1, 2);
    assert!(
        place
            .prints_of(&["queue", "log", "1"])
            .contains("$ backsight resume s")
    );
    place.assert_nothing_left();
}

#[test]
fn a_job_that_runs_is_stopped_when_it_is_cancelled() {
    let place = quick();
    add(&place, &[], &["run", "plan.toml", "--name", "s"]);
    place.hold("run", 1);
    let worker = Running::start(place.command(&["queue", "worker", "--until-empty"]));
    place.until_held("run");
    place
        .ends(&["queue", "cancel", "1", "--by", "Bo"])
        .assert_code(0);
    let ended = worker.ends();
    ended.assert_code(0);
    ended.assert_says(&["0 done"]);
    assert_eq!(jobs(&place)[0]["outcome"], "cancelled by Bo");
    assert_eq!(place.study("s")["state"], "stopped");
    place.assert_nothing_left();
}

#[test]
fn a_worker_whose_jobs_are_all_cancelled_says_so_in_its_status() {
    let place = quick();
    add(&place, &["--deadline", "1s"], &["run", "plan.toml"]);
    add(&place, &["--after", "1"], &["studies"]);
    processes::until("the deadline has passed", || {
        jobs(&place)[0]["waits"] == "lost"
    });
    let work = place.ends(&["queue", "worker", "--until-empty"]);
    work.assert_code(1);
    work.assert_says(&[
        "job 1 is cancelled: wasn't begun: its deadline, ",
        "job 2 is cancelled: wasn't begun: job 1, which it comes after, is cancelled",
        "0 done, 2 cancelled",
    ]);
    place.assert_nothing_left();
}

/// The process of the job that a worker runs.
fn process_of_job(worker: &Running) -> Pid {
    let all = processes::all();
    let its = all.iter().find(|it| it.parent == worker.pid.as_raw());
    Pid::from_raw(its.unwrap().pid)
}

#[test]
fn what_outlives_its_worker_comes_to_its_end_and_isnt_begun_anew() {
    let place = quick();
    add(&place, &[], &["run", "plan.toml", "--name", "s"]);
    place.hold("run", 2);
    let worker = Running::start(place.command(&["queue", "worker"]));
    place.until_held("run");
    let job = process_of_job(&worker);
    worker.after_sigkill();
    // It is measured still: nobody else begins it.
    let work = place.ends(&["queue", "worker", "--until-empty"]);
    work.assert_code(0);
    work.assert_says(&["0 done"]);
    assert_eq!(place.study("s")["state"], "running");
    place.release("run");
    processes::until_ended(job.as_raw(), processes::LIMIT);
    place
        .ends(&["queue", "worker", "--until-empty"])
        .assert_code(0);
    let jobs = jobs(&place);
    assert_eq!(jobs[0]["state"], "done");
    assert_eq!(
        jobs[0]["outcome"],
        "its study came to its end after its worker was gone"
    );
    place.assert_complete("s", 1, 2);
    place.assert_nothing_left();
}

#[test]
fn a_job_that_is_killed_with_its_worker_is_resumed() {
    let place = quick();
    add(&place, &[], &["run", "plan.toml", "--name", "s"]);
    place.hold("run", 2);
    let worker = Running::start(place.command(&["queue", "worker"]));
    place.until_held("run");
    let job = process_of_job(&worker);
    worker.after_sigkill();
    kill(job, Signal::SIGKILL).unwrap();
    place.release("run");
    place.assert_nothing_left();
    assert_eq!(place.study("s")["state"], "killed");
    let runs = place.calls("run");
    place
        .ends(&["queue", "worker", "--until-empty"])
        .assert_code(0);
    assert_eq!(place.calls("run") - runs, 1, "nothing is measured twice");
    assert_eq!(jobs(&place)[0]["state"], "done");
    place.assert_complete("s", 1, 2);
    place.assert_nothing_left();
}

#[test]
fn workers_that_are_killed_at_any_moment_lose_no_job_and_double_none() {
    let place = quick();
    for name in ["a", "b", "c"] {
        add(&place, &[], &["run", "plan.toml", "--name", name]);
    }
    for milliseconds in [0, 15, 30, 60, 120, 250, 500] {
        let worker = Running::start(place.command(&["queue", "worker"]));
        // At some point of its work, not at a certain one.
        std::thread::sleep(Duration::from_millis(milliseconds));
        worker.after_sigkill();
    }
    processes::until("all jobs are done", || {
        let work = place.ends(&["queue", "worker", "--until-empty"]);
        work.assert_code(0);
        jobs(&place).iter().all(|job| job["state"] == "done")
    });
    for name in ["a", "b", "c"] {
        place.assert_complete(name, 1, 2);
    }
    let studies: Value = serde_json::from_str(&place.prints_of(&["studies", "--json"])).unwrap();
    assert_eq!(studies.as_array().unwrap().len(), 3, "{studies}");
    place.assert_nothing_left();
}

#[test]
fn a_process_whose_worker_lost_its_job_begins_no_study() {
    let place = quick();
    add(&place, &[], &["run", "plan.toml", "--name", "s"]);
    let mut late = place.command(&["run", "plan.toml", "--name", "late"]);
    late.env("BACKSIGHT_JOB", "1")
        .env("BACKSIGHT_JOB_BEGAN", "2026-11-27T09:00:00Z");
    let ended = Running::start(late).ends();
    ended.assert_code(2);
    ended.assert_says(&["job 1 isn't run by this process any more"]);
    place
        .ends(&["queue", "worker", "--until-empty"])
        .assert_code(0);
    place.assert_complete("s", 1, 2);
    place.assert_nothing_left();
}

#[test]
fn jobs_wait_for_others_for_people_and_for_their_time() {
    let place = quick();
    add_failing(&place);
    add(&place, &["--after", "1"], &["run", "plan.toml"]);
    add(&place, &["--deadline", "1s"], &["run", "plan.toml"]);
    add(&place, &[], &["run", "plan.toml", "--name", "held"]);
    add(&place, &[], &["run", "plan.toml", "--name", "last"]);
    add(&place, &["--now"], &["run", "plan.toml", "--name", "first"]);
    for (words, part) in [
        (
            &["queue", "add", "--after", "77", "--", "studies"][..],
            "no job can come after job 77",
        ),
        (
            &["queue", "add", "--deadline", "yesterday", "--", "studies"],
            "is no time",
        ),
        (&["queue", "pause"], "required"),
        (&["queue", "move", "5"], "required"),
        (&["queue", "continue", "5"], "not paused"),
    ] {
        let ended = place.ends(words);
        ended.assert_code(2);
        ended.assert_says(&[part]);
    }
    place
        .ends(&["queue", "pause", "4", "--by", "Bo", "--why", "a leak"])
        .assert_code(0);
    place
        .ends(&["queue", "pause", "--all", "--by", "Bo"])
        .assert_code(0);
    let listed = place.ends(&["queue"]);
    listed.assert_code(0);
    listed.assert_says(&["the queue is paused by Bo"]);
    let work = place.ends(&["queue", "worker", "--until-empty"]);
    let is_late = jobs(&place)
        .iter()
        .any(|job| job["job"] == 3 && job["state"] == "cancelled");
    work.assert_code(i32::from(is_late));
    work.assert_says(&["0 done", "wait still", "the queue is paused by Bo"]);
    place.ends(&["queue", "continue", "--all"]).assert_code(0);
    let listed = place.prints_of(&["queue", "--format", "json"]);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed["jobs"][0]["job"], 6);
    assert_eq!(listed["jobs"][0]["position"], 1);
    let after = listed["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .find(|job| job["job"] == 2);
    assert_eq!(
        after.unwrap()["waits_for"],
        "waits for job 1, which is waiting"
    );

    // On a busy machine it had passed when the worker above came by, which cancelled the job.
    processes::until("the deadline of job 3 has passed", || {
        let jobs = jobs(&place);
        let third = jobs.iter().find(|job| job["job"] == 3).unwrap();
        third["waits"] == "lost" || third["state"] == "cancelled"
    });
    let work = place.ends(&["queue", "worker", "--until-empty"]);
    work.assert_code(1);
    let cancelled = if is_late {
        "1 cancelled"
    } else {
        "2 cancelled"
    };
    work.assert_says(&[
        "2 done, 1 failed",
        cancelled,
        "job 2 is cancelled: wasn't begun: job 1, which it comes after, is failed",
    ]);
    let all = jobs(&place);
    let of = |number: i64| all.iter().find(|job| job["job"] == number).unwrap();
    assert!(of(6)["ended"].as_str() < of(5)["began"].as_str());
    assert_eq!(of(4)["outcome"], "paused by Bo: a leak");
    for (number, part) in [
        (2, "job 1, which it comes after, is failed"),
        (3, "its deadline"),
    ] {
        assert_eq!(of(number)["state"], "cancelled");
        let outcome = of(number)["outcome"].as_str().unwrap();
        assert!(outcome.contains(part), "{outcome}");
    }
    place.ends(&["queue", "continue", "4"]).assert_code(0);
    place
        .ends(&["queue", "worker", "--until-empty"])
        .assert_code(0);
    place.assert_complete("held", 1, 2);
    place.assert_nothing_left();
}

#[test]
fn what_somebody_reserved_is_left_to_him() {
    let place = quick();
    // The testbed of a lab with one host.
    let host = place.name.as_str();
    let lab = place.prints_of(&["reserve", "--list"]);
    assert_eq!(lab, "nothing is reserved\n");
    let ended = place.ends(&["reserve", "none", "--until", "1h"]);
    ended.assert_code(2);
    ended.assert_says(&["neither a testbed nor a host `none`"]);
    let reserve = [
        "reserve",
        host,
        "--until",
        "1h",
        "--for",
        "Ana",
        "--why",
        "a new disk",
    ];
    place.ends(&reserve).assert_code(0);
    // Another time is no other reason.
    place
        .ends(&["reserve", host, "--until", "2h", "--for", "Ana"])
        .assert_code(0);
    let ended = place.ends(&["reserve", host, "--until", "1h", "--for", "Bo"]);
    ended.assert_code(2);
    ended.assert_says(&["is reserved by Ana until"]);
    let run = ["run", "plan.toml", "--wait", "0s"];
    let ended = place.ends(&run);
    ended.assert_code(2);
    ended.assert_says(&[
        "` is reserved by Ana until",
        "(a new disk)",
        "--ignore-reservations",
    ]);
    let forced = [&run[..], &["--ignore-reservations", "--name", "forced"]].concat();
    place.ends(&forced).assert_code(0);

    add(&place, &[], &["run", "plan.toml", "--name", "later"]);
    let work = place.ends(&["queue", "worker", "--until-empty"]);
    work.assert_code(0);
    let why = format!("job 1 waits for {host}, reserved by Ana until ");
    work.assert_says(&["0 done", "1 job waits still", &why]);
    let waiting = &jobs(&place)[0];
    assert_eq!(
        (&waiting["state"], &waiting["testbeds"][0]),
        (&Value::from("waiting"), &Value::from(host))
    );
    // Told before that no worker is there.
    let why = waiting["waits_for"].as_str().unwrap();
    assert!(
        why.starts_with(&format!("waits for {host}, reserved by Ana until ")),
        "{why}"
    );
    place.ends(&["reserve", host, "--release"]).assert_code(0);
    place
        .ends(&["queue", "worker", "--until-empty"])
        .assert_code(0);
    place.assert_complete("later", 1, 2);
    place.ends(&["reserve", host, "--release"]).assert_code(2);
    place.assert_nothing_left();
}

#[test]
fn what_is_measured_like_a_study_needs_no_files_and_is_part_of_its_history() {
    let place = along("v3", "2");
    for file in ["plan.toml", "app.toml"] {
        fs::remove_file(place.path(file)).unwrap();
    }
    let more = ["step", "--like", "step-1", "--from", "v1", "--to", "v4"];
    let ended = place.ends(&more);
    ended.assert_code(0);
    let history = place.prints_of(&["history", "--format", "json"]);
    let history: Value = serde_json::from_str(&history).unwrap();
    let series = history["series"].as_array().unwrap();
    assert_eq!(series.len(), 1, "{history}");
    assert_eq!(series[0]["points"].as_array().unwrap().len(), 4);
    for (arguments, part) in [
        (
            &["step", "--like", "none", "--from", "v1", "--to", "v2"][..],
            "no study",
        ),
        (
            &["run", "plan.toml", "--like", "step-1"],
            "cannot be used with",
        ),
        (&["step", "--from", "v1", "--to", "v2"], "--target"),
    ] {
        let ended = place.ends(arguments);
        ended.assert_code(2);
        ended.assert_says(&[part]);
    }
}
