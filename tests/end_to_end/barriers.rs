//! `backsight barrier`: programs on several hosts wait for each other, pass together, and fail together when one won't come.

use backsight_test_needs::Need;
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

/// Clients a, b and c of this kind, whose step has iterations; each runs this with its host's name and the iteration's number.
fn iterated(kind: &str, script: &str) -> Place {
    let place = Place::new();
    let hosts: String = ["a", "b", "c"]
        .iter()
        .map(|host| format!("[host.{host}]\nkind = \"{kind}\"\n"))
        .collect();
    let testbed = "[testbed.t]\nclient = [\"a\", \"b\", \"c\"]\n";
    place.write(
        "lab.toml",
        format!("name = \"{}\"\n{hosts}{testbed}", place.name),
    );
    place.script("client", &format!("#!/bin/sh\nset -e\n{script}\n"));
    place.write(
        "benchmarks/paced.toml",
        format!(
            "name = \"paced\"\nabout = \"x\"\nroles = [\"client\"]\n[params]\ntimes = {{ default = 10, about = \"x\" }}\n\
             [client]\nrun = {{ run = \"{} {{client.host}} {{iteration}}\", iterations = \"{{times}}\" }}\n\
             [metric.size]\nunit = \"B\"\nbetter = \"higher\"\nregex = 'size (?<value>\\d+)'\neach = 'size (?<value>\\d+)'\npick = \"sum\"\n",
            place.at("client")
        ),
    );
    place.plan("use = [\"paced\"]\nrounds = 1\n");
    place
}

/// Each instant by what happened and the iteration's number, from lines such as `began 3 1790000000000000000`.
fn instants(printed: &str) -> BTreeMap<(&str, u32), Vec<u64>> {
    let mut instants: BTreeMap<(&str, u32), Vec<u64>> = BTreeMap::new();
    for line in printed.lines() {
        if let [what @ ("began" | "ended"), number, at] = line.split(' ').collect::<Vec<_>>()[..] {
            let of_iteration = instants.entry((what, number.parse().unwrap())).or_default();
            of_iteration.push(at.parse().unwrap());
        }
    }
    instants
}

#[test]
fn iterations_of_a_step_begin_on_all_hosts_together_without_a_word_of_the_program() {
    for kind in ["local", "netns"] {
        if kind == "netns" && Need::Root.is_missing() {
            return;
        }
        // One is slower each time.
        let place = iterated(
            kind,
            "echo began $2 $(date +%s%N)\n\
             test $1 != c || i=0; while [ ${i:-3000} -lt 3000 ]; do i=$((i + 1)); done\n\
             echo size $2; echo ended $2 $(date +%s%N)",
        );
        place.ends(&["lab", "up"]).assert_code(0);
        place
            .ends(&["run", "plan.toml", "--name", "s"])
            .assert_code(0);
        let trial = place.prints_of(&["show", "s", "--trial", "1", "--raw"]);
        let instants = instants(&trial);
        for number in 1..=10 {
            let (began, ended) = (&instants[&("began", number)], &instants[&("ended", number)]);
            assert_eq!((began.len(), ended.len()), (3, 3), "{trial}");
            if let Some(next) = instants.get(&("began", number + 1)) {
                assert!(ended.iter().max() <= next.iter().min(), "{number}: {trial}");
            }
        }
        for said in [
            "start of run, 3 together: within ",
            "iterations of client in run, begun 10 times by 3 together: within ",
            "(p99)",
        ] {
            assert!(trial.contains(said), "{said}: {trial}");
        }
        let page = place.prints_of(&["show", "s"]);
        for said in [
            "55.0 ±? n=1",
            "fairness of size over iterations",
            "over 10 iterations",
        ] {
            assert!(page.contains(said), "{said}: {page}");
        }
        place.ends(&["store", "check"]).assert_code(0);
        place.ends(&["lab", "down"]).assert_code(0);
        place.assert_nothing_left();
    }
}

#[test]
fn no_further_iteration_begins_when_one_host_has_failed_in_any_way() {
    for (dies, says) in [
        ("kill -KILL $$", "was killed by signal 9"),
        ("exit 3", "exited with code 3"),
    ] {
        let place = iterated(
            "local",
            &format!(
                "echo began $2 $(date +%s%N)\n\
                 test $1$2 != b4 || {dies}\n\
                 echo size 1"
            ),
        );
        let begun = Instant::now();
        let ended = place.ends(&["run", "plan.toml", "--name", "s"]);
        ended.assert_code(1);
        assert!(begun.elapsed().as_secs() < 50, "{:?}", begun.elapsed());
        let trial = place.prints_of(&["show", "s", "--trial", "1", "--raw"]);
        for said in ["failed: run of client on b: ", says] {
            assert!(trial.contains(said), "{said}: {trial}");
        }
        let instants = instants(&trial);
        // Others may be ended before they have printed it.
        assert!((1..=3).contains(&instants[&("began", 4)].len()), "{trial}");
        assert!(!instants.contains_key(&("began", 5)), "{trial}");
        place.assert_nothing_left();
    }
}

#[test]
fn numbers_of_iterations_that_cannot_be_are_refused_before_any_program_begins() {
    for (iterations, status, says) in [
        ("0", 2, "0 iterations: expected 1 to 1000"),
        (
            "\"{times}\"",
            1,
            "run of role `client`, `{times}`: `many` is no number of iterations: expected 1 to 1000",
        ),
        (
            "\"{instance}\"",
            1,
            "a and b would do different numbers of them",
        ),
    ] {
        let place = iterated("local", "echo began 1 1");
        let definition = place.read("benchmarks/paced.toml");
        let definition = definition
            .replace(
                "iterations = \"{times}\"",
                &format!("iterations = {iterations}"),
            )
            .replace("default = 10", "default = \"many\"");
        place.write("benchmarks/paced.toml", definition);
        let ended = place.ends(&["run", "plan.toml", "--name", "s", "--json"]);
        ended.assert_code(status);
        // A fault of the file is a complaint, one of its values a trial that fails.
        let said = ended.stdout() + &ended.words();
        assert!(said.contains(says), "{said}");
        assert!(!said.contains("step-started"), "{said}");
    }
}
