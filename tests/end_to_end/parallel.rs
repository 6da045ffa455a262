//! A bisection on several testbeds at once: of machines that differ, killed and gone on with, refused.

use backsight_test_needs::Need;
use nix::sys::signal::Signal;
use serde_json::Value;
use std::collections::{HashMap, HashSet};

use crate::{
    bisecting::{names, place, verdict},
    place::Place,
};

/// The numbers of a host that is called slow are larger by 100: more than any change.
const SHIFTED: &str = r#"#!/bin/sh
number=$("$2") || exit 1
case $1 in
    slow*) awk "BEGIN { print $number + 100 }" ;;
    *) echo "$number" ;;
esac
"#;

/// The place of [`bisecting`](crate::bisecting) with two hosts of this kind, each a testbed.
fn two_machines(kind: &str) -> Place {
    let place = place();
    place.lab_of_testbeds(kind, ["fast", "slow"]);
    place.script("shifted", SHIFTED);
    place.benchmark(
        "work",
        "[tester]\nrun = [\"@/step run\", \"@/shifted {tester.host} {build}/work\"]\n[metric.rounds]\nunit = \"count\"\nbetter = \"lower\"\n\
         regex = '(?<value>\\d+(\\.\\d+)?)'\n",
    );
    place.plan("testbed = \"fast\"\nuse = [\"work\"]\nseed = 1\n");
    place
}

fn bisect<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec!["bisect", "plan.toml", "--target", "app", "--no-verify"];
    arguments.extend(["--good", "c20", "--bad", "c32", "--confidence", "99.99"]);
    arguments.extend(more);
    arguments
}

/// The testbed of each trial, as `show` lists them.
fn testbeds(place: &Place, study: &str) -> HashMap<String, usize> {
    let shown = place.prints_of(&["show", study]);
    let mut of = HashMap::new();
    for testbed in ["fast", "slow"] {
        let has = |line: &&str| {
            line.contains(&format!(" {testbed} ")) && line.trim_end().ends_with("measured")
        };
        of.insert(testbed.to_owned(), shown.lines().filter(has).count());
    }
    of
}

fn is_of<'a>(kind: &'a str, testbed: &'a str) -> impl Fn(&&Value) -> bool + 'a {
    move |event| event["event"] == kind && event["testbed"] == testbed
}

fn finds_it_on_both(place: &Place) {
    let ended = place.ends(&bisect(&["--parallel", "2", "--name", "b", "--json"]));
    ended.assert_code(0);
    let said = verdict(&ended);
    assert_eq!(names(&said), ["c27"], "{said}");
    let added = said["testbeds"][1]["adds"].as_f64().unwrap();
    assert!((added - 100.0).abs() < 10.0, "{said}");
    let interval = &said["culprits"][0]["size"]["interval"];
    assert!(interval[0].as_f64() < Some(82.0) && interval[1].as_f64() > Some(82.0));

    // Both measured, each one trial at a time, and both at once.
    let events = ended.events();
    let (mut under_way, mut at_once) = (HashSet::new(), false);
    for event in &events {
        let testbed = event["testbed"].as_str().unwrap_or_default();
        match event["event"].as_str().unwrap() {
            // Told again if it is another one after all, by what was seen while it was built.
            "trial-started" => drop(under_way.insert(testbed)),
            "trial-finished" => assert!(under_way.remove(testbed), "{event}"),
            _ => {}
        }
        at_once |= under_way.len() == 2;
    }
    assert!(at_once);
    let shown = testbeds(place, "b");
    for testbed in ["fast", "slow"] {
        let told = events.iter().filter(is_of("trial-finished", testbed));
        assert_eq!(told.count(), shown[testbed]);
        assert!(shown[testbed] >= 4, "{shown:?}");
    }
    // No version was built twice, for either of them.
    let built = events
        .iter()
        .filter(|event| event["event"] == "build-finished");
    let built: Vec<&str> = built
        .map(|event| event["version"].as_str().unwrap())
        .collect();
    assert_eq!(
        built.iter().collect::<HashSet<_>>().len(),
        built.len(),
        "{built:?}"
    );
    assert_eq!(place.calls("build"), built.len());
    place.assert_nothing_left();

    // What a testbed measured is known when it is asked for alone, and what the other one did isn't taken for it.
    let trials = shown["fast"];
    let again = place.ends(&bisect(&["--name", "alone", "--json"]));
    again.assert_code(0);
    let alone = verdict(&again);
    assert_eq!(names(&alone), ["c27"]);
    let own = again.events();
    let own = own
        .iter()
        .filter(|event| event["event"] == "trial-finished");
    assert_eq!(alone["trials"]["measured"], trials + own.count());
    assert_eq!(alone["testbeds"], Value::Array(Vec::new()));
    let level = alone["waterfall"]["level"]["value"].as_f64().unwrap();
    assert!((level - 1030.0).abs() < 10.0, "{alone}");
}

#[test]
fn two_machines_that_differ_find_the_change_together() {
    finds_it_on_both(&two_machines("local"));
}

#[test]
fn two_namespaces_find_the_change_together() {
    if Need::Root.is_missing() {
        return;
    }
    let place = two_machines("netns");
    place.ends(&["lab", "up"]).assert_code(0);
    finds_it_on_both(&place);
    place.ends(&["lab", "down"]).assert_code(0);
}

#[test]
fn killed_with_both_under_way_and_gone_on_with_it_comes_to_the_same() {
    let place = two_machines("local");
    let mut running = place.begins(&bisect(&["--parallel", "2", "--name", "b"]));
    for _ in 0..6 {
        running.until_trial_finished();
    }
    running.after_sigkill();
    let before = testbeds(&place, "b");
    assert!(before["fast"] + before["slow"] >= 6, "{before:?}");
    let ended = place.ends(&["resume", "b", "--json"]);
    ended.assert_code(0);
    assert_eq!(names(&verdict(&ended)), ["c27"]);
    let after = testbeds(&place, "b");
    assert!(
        after
            .iter()
            .all(|(testbed, trials)| *trials > before[testbed])
    );
    place.assert_nothing_left();
}

#[test]
fn stopped_by_the_user_nothing_of_either_is_lost() {
    let place = two_machines("local");
    // Whoever measures next, and the other one, waits.
    place.hold("run", 5);
    let mut running = place.begins(&bisect(&["--parallel", "2", "--name", "b"]));
    running.until_step_in("run");
    place.until_held("run");
    running.signal(Signal::SIGINT);
    let ended = running.ends();
    ended.assert_code(130);
    place.release("run");
    let finished = ended.events();
    let finished = finished
        .iter()
        .filter(|event| event["event"] == "trial-finished");
    let kept = testbeds(&place, "b");
    assert_eq!(kept["fast"] + kept["slow"], finished.count());
    place.ends(&["resume", "b"]).assert_code(0);
    place.assert_nothing_left();
}

#[test]
fn more_testbeds_than_there_are_is_refused_with_those_that_fit() {
    let place = two_machines("local");
    let lab = place.read("lab.toml");
    // Another kind of host, another role, and a host that another one has.
    let others = format!(
        "{lab}[host.far]\nkind = \"ssh\"\n[testbed.far]\ntester = \"far\"\n[testbed.idle]\nwatcher = \"{0}\"\n[testbed.same]\ntester = \"{0}\"\n",
        place.host("slow")
    );
    place.write("lab.toml", others);
    let ended = place.ends(&bisect(&["--parallel", "3"]));
    ended.assert_code(2);
    ended.assert_says(&[
        "--parallel 3 needs 3 testbeds",
        "this lab has 2: fast, slow",
        "--parallel 2",
        "[testbed.NAME]",
    ]);
    assert!(!place.path("store").exists());
}
