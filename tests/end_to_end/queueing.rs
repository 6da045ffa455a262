//! `queue`: commands that wait, and the worker that runs them; `--like`, by which a command needs no files.

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::{
    exit_statuses::{along, quick},
    place::Place,
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

#[test]
fn jobs_are_run_by_priority_and_say_how_they_ended() {
    let place = quick();
    for (job, part) in [
        (&["runn", "plan.toml"][..], "isn't understood"),
        (&["serve"], "it has no end"),
        (&["queue", "worker"], "it has no end"),
    ] {
        let ended = place.ends(&[&["queue", "add", "--"], job].concat());
        ended.assert_code(2);
        ended.assert_says(&[part]);
    }
    add(&place, &[], &["run", "plan.toml", "--name", "first"]);
    add(&place, &[], &["run", "none.toml"]);
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
fn what_is_measured_like_a_study_needs_no_files_and_is_part_of_its_history() {
    let place = along("v3", "2");
    for file in ["plan.toml", "app.toml"] {
        std::fs::remove_file(place.path(file)).unwrap();
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
