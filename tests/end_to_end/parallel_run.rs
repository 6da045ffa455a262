//! A plan whose cells are measured on several testbeds at once: as often on each, killed and gone on with, compared.

use backsight_test_needs::Need;
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};

use crate::{place::Place, running::Ended};

/// The number of a cell: variant `b` is larger by a tenth; on the last testbed everything is larger by a fifth.
const NUMBER: &str = r#"#!/bin/sh
n=$(wc -l < @/log)
number=$((1000 + n % 3))
[ "$2" = b ] && number=$((number + 100))
case $1 in t4*) number=$((number * 12 / 10)) ;; esac
echo $number
"#;

/// Four testbeds of one host each, of this kind, and a plan of two variants.
fn four_testbeds(kind: &str) -> Place {
    let place = Place::new();
    let mut lab = format!("name = \"{}\"\n", place.name);
    for number in 1..=4 {
        let host = place.host(&format!("t{number}"));
        lab.push_str(&format!(
            "[host.{host}]\nkind = \"{kind}\"\n[testbed.t{number}]\ntester = \"{host}\"\n"
        ));
    }
    place.write("lab.toml", lab);
    place.script(
        "number",
        &NUMBER.replace('@', place.at("").trim_end_matches('/')),
    );
    place.benchmark(
        "work",
        "[params]\nside = { default = \"a\" }\n[tester]\nrun = [\"@/step run\", \"@/number {tester.host} {side}\"]\n\
         [metric.number]\nunit = \"count\"\nbetter = \"lower\"\nprimary = true\nregex = '(?<value>\\d+)'\n",
    );
    place.plan(
        "testbed = \"t1\"\nseed = 1\nrounds = 8\nuse = [\"work\"]\n[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\nparams = { side = \"b\" }\n",
    );
    place
}

/// How many trials of each cell each testbed finished.
fn counts(ended: &[Ended]) -> BTreeMap<(String, String), usize> {
    let mut counts = BTreeMap::new();
    for event in ended.iter().flat_map(Ended::events) {
        if event["event"] == "trial-finished" {
            let testbed = event["testbed"].as_str().unwrap().to_owned();
            let side = event["cell"].to_string();
            *counts.entry((testbed, side)).or_default() += 1;
        }
    }
    counts
}

fn assert_balanced(place: &Place, ended: &[Ended]) {
    let counts = counts(ended);
    assert_eq!(counts.len(), 8, "two cells on four testbeds: {counts:?}");
    assert!(counts.values().all(|count| *count == 2), "{counts:?}");
    place.assert_complete("p", 2, 8);
    let shown = place.prints_of(&["show", "p"]);
    for number in 1..=4 {
        assert!(
            shown.contains(&place.host(&format!("t{number}"))),
            "{shown}"
        );
    }
    // The last one is larger by a fifth: by 14.3 % than the mean of all, which it is a quarter of; counts vary a little.
    assert!(
        shown.contains("+14.") && shown.contains("-4.8 %"),
        "{shown}"
    );
}

fn at_once(ended: &Ended) -> usize {
    let (mut under_way, mut most) = (HashSet::new(), 0);
    let events = ended.events();
    for event in &events {
        let testbed = event["testbed"].as_str().unwrap_or_default();
        match event["event"].as_str().unwrap() {
            "trial-started" => drop(under_way.insert(testbed)),
            "trial-finished" => assert!(under_way.remove(testbed), "{event}"),
            _ => {}
        }
        most = most.max(under_way.len());
    }
    most
}

/// The plan, measured on all four testbeds at once.
const ON_FOUR: [&str; 7] = [
    "run",
    "plan.toml",
    "--parallel",
    "4",
    "--name",
    "p",
    "--json",
];

#[test]
fn four_testbeds_measure_a_plan_at_once_each_cell_as_often_on_each() {
    let place = four_testbeds("local");
    let ended = place.ends(&ON_FOUR);
    ended.assert_code(0);
    assert_eq!(at_once(&ended), 4);
    assert_balanced(&place, &[ended]);
    // Another study on them is compared with it testbed by testbed: nothing differs, though testbeds do.
    let again = [
        "run",
        "plan.toml",
        "--parallel",
        "4",
        "--name",
        "q",
        "--seed",
        "2",
    ];
    place.ends(&again).assert_code(0);
    let compared = place.ends(&["compare", "p", "q", "--format", "json"]);
    let said: Value = serde_json::from_slice(&compared.bytes).unwrap();
    for row in said["rows"].as_array().unwrap() {
        let difference = &row["sides"][1]["difference"];
        // One row of twenty may be called different by chance; not by as much as a tick of what the programs tell.
        let percent = difference["percent"]["value"].as_f64().unwrap();
        assert!(percent.abs() < 0.3, "{row}");
    }
    assert_eq!(said["sides"][0]["hosts"].as_array().unwrap().len(), 4);
    // Nor do they hide what a variant costs, or add to it: 10 % on each.
    let compared = place.ends(&["compare", "p", "--by", "variant", "--format", "json"]);
    let said: Value = serde_json::from_slice(&compared.bytes).unwrap();
    let difference = &said["rows"][0]["sides"][1]["difference"];
    assert_eq!(difference["verdict"], "worse", "{said}");
    let percent = difference["percent"]["value"].as_f64().unwrap();
    assert!((percent - 10.0).abs() < 0.3, "{said}");
    place.assert_nothing_left();
}

#[test]
fn namespaces_measure_a_plan_at_once() {
    if Need::Root.is_missing() {
        return;
    }
    let place = four_testbeds("netns");
    place.ends(&["lab", "up"]).assert_code(0);
    let ended = place.ends(&ON_FOUR);
    ended.assert_code(0);
    assert_balanced(&place, &[ended]);
    place.ends(&["lab", "down"]).assert_code(0);
}

#[test]
fn killed_with_all_under_way_and_gone_on_with_each_cell_is_measured_as_often_on_each() {
    let place = four_testbeds("local");
    let mut running = place.begins(&["run", "plan.toml", "--parallel", "4", "--name", "p"]);
    for _ in 0..5 {
        running.until_trial_finished();
    }
    let killed = running.after_sigkill();
    let ended = place.ends(&["resume", "p", "--json"]);
    ended.assert_code(0);
    // What ended as it was killed may be kept and not told.
    let told = counts(&[killed, ended]).values().sum::<usize>();
    assert!((11..=16).contains(&told), "{told}");
    place.assert_complete("p", 2, 8);
    let shown = place.prints_of(&["show", "p"]);
    assert_eq!(shown.matches(" n=2 ").count(), 8, "{shown}");
    place.assert_nothing_left();
}

#[test]
fn fewer_rounds_than_testbeds_are_refused_and_uneven_ones_said() {
    let place = four_testbeds("local");
    let few = ["run", "plan.toml", "--parallel", "4", "--rounds", "3"];
    let refused = place.ends(&few);
    refused.assert_code(2);
    refused.assert_says(&["4 testbeds need 4 rounds at least", "--rounds 4"]);
    let uneven = [
        "run",
        "plan.toml",
        "--parallel",
        "4",
        "--rounds",
        "5",
        "--name",
        "p",
    ];
    let ended = place.ends(&uneven);
    ended.assert_code(0);
    ended.assert_says(&["--rounds 8 would be even"]);
    let until = ["run", "plan.toml", "--parallel", "4", "--until", "decided"];
    place.ends(&until).assert_code(2);
}
