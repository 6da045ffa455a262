//! Jobs of the queue that Slurm begins, and job arrays of `detect`: with a real cluster, all of it on this machine.

use backsight_test_needs::{Need, PostgresServer, SlurmCluster};
use serde_json::Value;
use std::process::Command;

use crate::{
    exit_statuses::quick,
    place::Place,
    processes,
    running::{Ended, Running},
};

/// A place whose commands know the cluster.
struct ClusterPlace {
    place: Place,
    cluster: SlurmCluster,
}

impl ClusterPlace {
    fn new(mut place: Place, nodes: usize) -> Self {
        let cluster = SlurmCluster::start(nodes);
        place.environment.push(cluster.environment());
        Self { place, cluster }
    }

    fn ends(&self, arguments: &[&str]) -> Ended {
        self.place.ends(arguments)
    }

    fn prints_of(&self, arguments: &[&str]) -> String {
        self.place.prints_of(arguments)
    }

    /// Adds a job for Slurm.
    fn add(&self, options: &[&str], job: &[&str]) -> Ended {
        self.ends(&[&["queue", "add", "--on", "slurm"], options, &["--"], job].concat())
    }

    /// A job as `queue` lists it.
    fn job(&self, number: i64) -> Value {
        let listed = self.prints_of(&["queue", "list", "--all", "--json"]);
        let listed: Value = serde_json::from_str(&listed).unwrap();
        let jobs = listed["jobs"].as_array().unwrap();
        let its = jobs.iter().find(|job| job["job"] == number);
        its.unwrap().clone()
    }

    fn until_state(&self, number: i64, state: &str) -> Value {
        processes::until(&format!("job {number} is {state}"), || {
            self.job(number)["state"] == state
        });
        self.job(number)
    }

    /// Slurm's jobs that haven't ended, by their numbers.
    fn in_slurm(&self) -> Vec<i64> {
        let listed = self
            .cluster
            .prints("squeue", &["--noheader", "--format=%i"]);
        let mut jobs: Vec<i64> = listed.lines().map(|line| line.parse().unwrap()).collect();
        jobs.sort_unstable();
        jobs
    }
}

#[test]
fn slurm_begins_a_job_and_begins_it_again_where_it_was() {
    if Need::Slurm.is_missing() {
        return;
    }
    let its = ClusterPlace::new(quick(), 1);
    let place = &its.place;
    place.hold("run", 2);
    let added = its.add(&[], &["run", "plan.toml", "--name", "s"]);
    added.assert_code(0);
    added.assert_says(&["job 1 waits in Slurm as 1"]);
    place.until_held("run");
    let job = its.job(1);
    assert_eq!(
        (&job["state"], &job["study"]),
        (&"running".into(), &"s".into())
    );
    its.add(&["--after", "1"], &["show", "s"]).assert_code(0);
    its.add(&[], &["studies"]).assert_code(0);
    processes::until("Slurm says why it waits", || {
        its.job(3)["waits_for"] == "waits in Slurm as 3: Resources"
    });
    let waits_for = its.job(2)["waits_for"].clone();
    assert_eq!(waits_for, "waits for job 1, which is running");
    // They are for no other worker.
    let work = its.ends(&["queue", "worker", "--until-empty"]);
    work.assert_says(&["0 done"]);

    // As when a job with a higher priority takes the node.
    its.cluster.prints("scontrol", &["requeue", "1"]);
    processes::until("it is stopped", || place.study("s")["state"] == "stopped");
    place.release("run");
    for number in 1..=3 {
        its.until_state(number, "done");
    }
    place.assert_complete("s", 1, 2);
    assert_eq!(place.calls("run"), 3, "the trial that was stopped, again");
    let log = its.prints_of(&["queue", "log", "1"]);
    assert!(log.contains("$ backsight resume s"), "{log}");
    processes::until("Slurm has nothing left", || its.in_slurm().is_empty());
    place.assert_nothing_left();
}

#[test]
fn a_job_in_a_database_goes_on_when_the_node_that_was_taken_from_it_is_free() {
    if Need::Slurm.is_missing() || Need::PostgresqlServer.is_missing() {
        return;
    }
    let mut place = quick();
    let database = PostgresServer::shared().new_database();
    let data = place.path("data");
    place.environment.extend([
        ("BACKSIGHT_STORE", database.into()),
        ("XDG_DATA_HOME", data),
    ]);
    let its = ClusterPlace::new(place, 1);
    let place = &its.place;
    place.hold("run", 2);
    its.add(&[], &["run", "plan.toml", "--name", "s"])
        .assert_code(0);
    place.until_held("run");
    let (name, value) = its.cluster.environment();
    let mut urgent = place.put(
        Command::new("sbatch"),
        &[
            "--partition=urgent",
            "--output=/dev/null",
            "--wrap",
            "touch urgent; until [ -e enough ]; do sleep 0.1; done",
        ],
    );
    urgent.env(name, value);
    Running::start(urgent).ends().assert_code(0);
    place.until_there("urgent");
    assert_eq!(place.study("s")["state"], "stopped");
    processes::until("Slurm says why it waits", || {
        let job = its.job(1);
        job["state"] == "waiting"
            && ["BeginTime", "Resources", "Priority"]
                .iter()
                .any(|reason| job["waits_for"] == format!("waits in Slurm as 1: {reason}"))
    });
    place.release("run");
    place.write("enough", "");
    its.until_state(1, "done");
    place.assert_complete("s", 1, 2);
    assert_eq!(place.calls("run"), 3, "the trial that was stopped, again");
    processes::until("Slurm has nothing left", || its.in_slurm().is_empty());
    place.assert_nothing_left();
}

#[test]
fn what_is_cancelled_here_or_there_is_cancelled_in_both() {
    if Need::Slurm.is_missing() {
        return;
    }
    let its = ClusterPlace::new(quick(), 1);
    let place = &its.place;
    place.hold("run", 1);
    its.add(&[], &["run", "plan.toml", "--name", "s"])
        .assert_code(0);
    for _ in 2..=4 {
        its.add(&["--sbatch", "-n 1 --nice=7"], &["studies"])
            .assert_code(0);
    }
    let refused = its.add(&["--sbatch", "-p nowhere"], &["studies"]);
    refused.assert_code(2);
    refused.assert_says(&["job 5 is cancelled", "invalid partition specified: nowhere"]);
    assert_eq!(its.job(5)["state"], "cancelled");
    // What the lab says of the testbed, unless the command line says otherwise.
    let lab = format!(
        "name = \"{0}\"\n[host.{0}]\nkind = \"local\"\n[testbed.all]\ntester = \"{0}\"\nslurm = \"-C nowhere -n 1\"\n",
        place.name
    );
    place.write("lab.toml", lab);
    let refused = its.add(&[], &["run", "plan.toml"]);
    refused.assert_code(2);
    refused.assert_says(&["job 6 is cancelled", "Invalid feature specification"]);
    its.add(&["--sbatch", "-C node1"], &["run", "plan.toml"])
        .assert_code(0);
    its.prints_of(&["queue", "cancel", "7"]);
    place.until_held("run");

    its.prints_of(&["queue", "cancel", "2", "--by", "Bo"]);
    assert_eq!(its.in_slurm(), [1, 3, 4]);
    its.prints_of(&["queue", "pause", "3"]);
    assert_eq!(its.in_slurm(), [1, 4]);
    its.cluster.prints("scancel", &["4"]);
    let lost = its.until_state(4, "cancelled");
    assert_eq!(lost["outcome"], "was cancelled in Slurm, as 4");
    // One that runs is put in order by its worker.
    its.prints_of(&["queue", "cancel", "1", "--by", "Bo"]);
    processes::until("it is stopped", || place.study("s")["state"] == "stopped");
    assert_eq!(its.job(1)["outcome"], "cancelled by Bo");

    let again = its.prints_of(&["queue", "continue", "3"]);
    assert!(again.contains("job 3 waits in Slurm again, as "), "{again}");
    its.until_state(3, "done");
    processes::until("Slurm has nothing left", || its.in_slurm().is_empty());
    place.assert_nothing_left();
}

#[test]
fn a_job_that_waits_for_workers_keeps_no_node() {
    if Need::Slurm.is_missing() {
        return;
    }
    let its = ClusterPlace::new(quick(), 1);
    its.prints_of(&["queue", "add", "--", "studies"]);
    its.add(&["--after", "1"], &["studies"]).assert_code(0);
    let standing = || {
        its.cluster
            .prints("squeue", &["--noheader", "--format=%T %r"])
    };
    processes::until("Slurm has its node back", || {
        standing().trim() == "PENDING BeginTime"
    });
    let work = its.ends(&["queue", "worker", "--until-empty"]);
    work.assert_says(&["1 done"]);
    its.until_state(2, "done");
    its.place.assert_nothing_left();
}

#[test]
fn without_slurm_nothing_is_added() {
    let place = quick();
    let mut command = place.command(&["queue", "add", "--on", "slurm", "--", "studies"]);
    command.env("PATH", place.path("tmp"));
    let ended = Running::start(command).ends();
    ended.assert_code(2);
    ended.assert_says(&["there is no Slurm on this machine", "queue worker"]);
    assert!(!place.path("store").exists());
    let ended = place.ends(&["queue", "add", "--sbatch", "-n 1", "--", "studies"]);
    ended.assert_code(2);
    ended.assert_says(&["--on slurm"]);
}

#[test]
fn a_job_array_searches_each_series_once() {
    if Need::Slurm.is_missing() {
        return;
    }
    let its = ClusterPlace::new(Place::new(), 2);
    let place = &its.place;
    let mut table = "series,value\n".to_owned();
    for series in 0..37 {
        for version in 0..40_u32 {
            let noise = (version * 7919 + series * 104_729) % 101;
            let level = if series % 4 == 0 && version > 25 {
                130
            } else {
                100
            };
            table.push_str(&format!("s{series},{level}.{noise:03}\n"));
        }
    }
    place.write("many.csv", table);
    let asked = [
        "detect", "many.csv", "--series", "series", "--column", "value",
    ];
    let whole = [&asked[..], &["-o", "whole.csv"]].concat();
    place.ends(&whole).assert_code(0);
    let line = format!(
        "{} {} --shard slurm -o part-$SLURM_ARRAY_TASK_ID.parquet",
        env!("CARGO_BIN_EXE_backsight"),
        asked.join(" ")
    );
    let (name, value) = its.cluster.environment();
    let mut array = place.put(
        Command::new("sbatch"),
        &["--array=0-3", "--output=/dev/null", "--wrap", &line],
    );
    array.env(name, value);
    Running::start(array).ends().assert_code(0);
    processes::until("the array has ended", || {
        its.cluster.prints("squeue", &["--noheader"]).is_empty()
    });
    let parts: Vec<String> = (0..4).map(|part| format!("part-{part}.parquet")).collect();
    let mut joining = vec!["detect", "--join", "--format", "csv"];
    joining.extend(parts.iter().map(String::as_str));
    let lines = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let joined = place.prints_of(&joining);
    assert_eq!(lines(&joined), lines(&place.read("whole.csv")));
    assert!(joined.matches(",level,").count() >= 10, "{joined}");
}
