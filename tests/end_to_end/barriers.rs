//! `backsight barrier`: programs on several hosts wait for each other, pass together, and fail together when one won't come.

use std::{collections::BTreeMap, fs, time::Instant};

use crate::place::Place;

/// Clients a, b and c, which do this, and a server that does that in the background.
fn place(client: &str, server: &str) -> Place {
    let place = Place::new();
    let hosts: String = ["s", "a", "b", "c"]
        .iter()
        .map(|host| format!("[host.{host}]\nkind = \"local\"\n"))
        .collect();
    place.write(
        "lab.toml",
        format!("{hosts}[testbed.t]\nserver = \"s\"\nclient = [\"a\", \"b\", \"c\"]\n"),
    );
    place.script("client", &format!("#!/bin/sh\nset -e\nme=$1\n{client}\n"));
    place.script("server", &format!("#!/bin/sh\n{server}\n"));
    let at = |script| place.at(script);
    place.write(
        "benchmarks/meets.toml",
        format!(
            "name = \"meets\"\nabout = \"x\"\nroles = [\"server\", \"client\"]\ntimeout = \"300s\"\n\
             [server]\nstartup = {{ spawn = \"{}\" }}\n[client]\nrun = \"{} {{client.host}}\"\n\
             [metric.value]\nunit = \"s\"\nbetter = \"lower\"\nregex = 'value (?<value>\\d+)'\n",
            at("server"),
            at("client")
        ),
    );
    place.plan("use = [\"meets\"]\nrounds = 1\n");
    place
}

#[test]
fn fifty_iterations_of_three_hosts_pass_together() {
    let place = place(
        "for i in $(seq 50); do\n\
             echo came $i $(date +%s%N)\n\
             backsight barrier iteration\n\
             echo passed $i $(date +%s%N)\n\
         done\n\
         backsight barrier all --of 4\n\
         echo value 1",
        "backsight barrier all --of 4; while :; do sleep 60; done",
    );
    place
        .ends(&["run", "plan.toml", "--name", "s"])
        .assert_code(0);
    let trial = place.prints_of(&["show", "s", "--trial", "1", "--raw"]);
    let mut times: BTreeMap<(&str, u32), Vec<u64>> = BTreeMap::new();
    for line in trial.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        if let [what @ ("came" | "passed"), number, at] = words[..] {
            let of_iteration = times.entry((what, number.parse().unwrap())).or_default();
            of_iteration.push(at.parse().unwrap());
        }
    }
    for number in 1..=50 {
        let (came, passed) = (&times[&("came", number)], &times[&("passed", number)]);
        assert_eq!((came.len(), passed.len()), (3, 3));
        assert!(
            came.iter().max() <= passed.iter().min(),
            "{number}: {came:?} {passed:?}"
        );
    }
    for said in [
        "start of run, 3 together: within ",
        "barrier iteration of client, passed 50 times by 3: within ",
        "(p99)",
        "barrier all, passed once by 4: within ",
    ] {
        assert!(trial.contains(said), "{said}: {trial}");
    }
    place.assert_nothing_left();
}

#[test]
fn one_that_ends_early_fails_the_trial_with_its_name_at_once() {
    let place = place(
        "for i in 1 2 3; do\n\
             test $me$i != b3 || { echo value 1; exit 0; }\n\
             backsight barrier iteration\n\
         done\n\
         echo value 1",
        "while :; do sleep 60; done",
    );
    let begun = Instant::now();
    let ended = place.ends(&["run", "plan.toml", "--name", "s"]);
    ended.assert_code(1);
    assert!(begun.elapsed().as_secs() < 120, "{:?}", begun.elapsed());
    let page = place.prints_of(&["show", "s", "--trial", "1"]);
    for said in [
        "failed: run of client on b: ",
        "has ended and won't come to barrier `iteration`, where ",
        "barrier iteration of client, passed 2 times by 3",
    ] {
        assert!(page.contains(said), "{said}: {page}");
    }
    place.assert_nothing_left();
}

#[test]
fn what_isnt_a_program_of_a_trial_is_told_so() {
    let place = Place::new();
    let ended = place.ends(&["barrier", "iteration"]);
    ended.assert_code(2);
    ended.assert_says(&["a barrier is for the programs of a trial"]);
    let ended = place.ends(&["barrier", "../iteration"]);
    ended.assert_code(2);
    ended.assert_says(&["`../iteration` is not a name"]);
}

/// Says nonsense to the socket of its trial, in all ways; then comes to a barrier as if nothing were.
const HOSTILE: &str = r#"
import os, socket
path, step = os.environ["BACKSIGHT_BARRIER"].rsplit(" ", 1)
def connect():
    it = socket.socket(socket.AF_UNIX)
    it.settimeout(20)
    it.connect(path)
    return it
def answer(said):
    it = connect()
    try:
        it.sendall(said)
        it.shutdown(socket.SHUT_WR)
        return it.recv(1000)
    except (BrokenPipeError, ConnectionResetError):
        return b"no"
for said in [b"", b"\n", b"\0\xff\n", b"barrier\n", b"barrier 99 0 x\n", b"go 1\n", b"gone 1 2\n",
             b"barrier " + step.encode() + b" 0 ../../x\n", b"x" * 1_000_000]:
    heard = answer(said)
    assert heard[:2] == b"no", (said[:40], heard)
many = [connect() for _ in range(1000)]
for number, one in enumerate(many[:300]):
    one.sendall(f"barrier {step} 0 name{number}\n".encode())
for one in many:
    one.close()
"#;

#[test]
fn nonsense_on_the_socket_harms_nobody() {
    let place = place(
        "ulimit -n 4096\n\
         test $me != a || python3 $(dirname $0)/hostile.py\n\
         backsight barrier after\n\
         echo value 1",
        "while :; do sleep 60; done",
    );
    fs::write(place.path("hostile.py"), HOSTILE).unwrap();
    place
        .ends(&["run", "plan.toml", "--name", "s"])
        .assert_code(0);
    let trial = place.prints_of(&["show", "s", "--trial", "1", "--raw"]);
    let said = "barrier after of client, passed once by 3";
    assert!(trial.contains(said), "{trial}");
    place.assert_nothing_left();
}
