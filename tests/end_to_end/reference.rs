//! A testbed that always runs the same release, measured beside: what drifts in the lab is told, taken out, and no version's doing.

use serde_json::Value;

use crate::{
    place::{Place, VALUE},
    stepping,
};

/// What every trial reads: it counts them, and from one of them on the machine is slower by a tenth.
const MEASURE: &str = r#"#!/bin/sh
echo >> @/trials
n=$(wc -l < @/trials)
factor=100
[ "$n" -gt 20 ] && [ -e @/drifts ] && factor=90
awk "BEGIN { print ($(sh $1/tool) + $n * 7 % 5) * $factor / 100 }"
"#;

/// A lab of this machine, which is also its own reference.
fn place(reference: &str) -> Place {
    let place = stepping::place();
    let lab = format!(
        "name = \"{}\"\n[host.own]\nkind = \"local\"\n[host.guide]\nkind = \"local\"\n\
         [testbed.own]\ntester = \"own\"\n[testbed.guiding]\ntester = \"guide\"\nreference = true\n",
        place.name
    );
    place.write("lab.toml", lab);
    place.script(
        "measure",
        &MEASURE.replace('@', place.path("").to_str().unwrap().trim_end_matches('/')),
    );
    place.benchmark(
        "tool",
        &format!(
            "[tester]\nrun = \"{} {{build}}\"\n{VALUE}",
            place.at("measure")
        ),
    );
    std::fs::create_dir(place.path("release")).unwrap();
    place.write("release/tool", "echo 5000\n");
    place.plan(&format!(
        "use = [\"tool\"]\nrounds = 2\nseed = 1\n[reference]\n{reference}\n"
    ));
    place
}

fn of_release(place: &Place, every: u32) -> String {
    format!("every = {every}\nbuild = \"{}\"", place.at("release"))
}

/// Twenty versions that differ by noise alone, each measured once in the order of the history.
fn stepped(drifts: bool) -> Place {
    let place = place("every = 1");
    let reference = of_release(&place, 1);
    place.plan(&format!(
        "use = [\"tool\"]\nseed = 1\n[reference]\n{reference}\n"
    ));
    if drifts {
        place.write("drifts", "");
    }
    let values: Vec<i32> = (0..20).map(|it| 2000 + it * it * 31 % 11).collect();
    stepping::commits(&place, &values);
    let forward = ["--name", "s", "--repeat", "1", "--order", "forward"];
    place
        .ends(&stepping::step("v1", "v20", &forward))
        .assert_code(0);
    place
}

fn history(place: &Place, more: &[&str]) -> Value {
    let json = place.prints_of(&[&["history", "--json"], more].concat());
    serde_json::from_str(&json).unwrap()
}

#[test]
fn a_drift_of_the_lab_is_told_at_its_change_taken_out_and_fails_a_gate() {
    let place = stepped(true);
    let drifted = history(&place, &[]);
    let change = &drifted["series"][0]["changes"][0];
    assert_eq!(change["reference"]["testbed"], "guiding", "{change:#}");
    let percent = change["reference"]["percent"].as_f64().unwrap();
    assert!((percent + 10.0).abs() < 1.0, "{change:#}");
    let reference = &drifted["references"][0];
    assert_eq!(reference["drifts"], true);
    // Before the first of 20 trials, and after each.
    assert_eq!(reference["points"].as_array().unwrap().len(), 21);
    let words = place.ends(&["history"]).words();
    for told in [
        "meanwhile the reference guiding moved by −",
        "The reference tool value on guiding moved: −",
        "that is no version's doing",
    ] {
        assert!(words.contains(told), "no `{told}` in {words}");
    }
    let corrected = history(&place, &["--correct-drift"]);
    assert_eq!(corrected["series"][0]["changes"], serde_json::json!([]));
    assert_eq!(corrected["drift_removed"], true);
    let gate = |asked: &[&str]| place.ends(&[&["history", "--fail-on"], asked].concat());
    gate(&["any-change"]).assert_code(1);
    gate(&["any-change", "--correct-drift"]).assert_code(0);
    let drift = gate(&["drift"]);
    drift.assert_code(1);
    drift.assert_says(&["drift: tool value on guiding moved"]);
    let page = place.at("site");
    place.ends(&["publish", &page]).assert_code(0);
    let read = |page: &str| place.read(&format!("site/{page}"));
    let target = read("app/index.html");
    assert!(
        target.contains("The reference tool value on guiding moved"),
        "{target}"
    );
    let series = read("app/s/tool.value.html");
    assert!(series.contains("<path class=\"drift\""), "{series}");
    place.assert_nothing_left();
}

#[test]
fn a_reference_that_rests_changes_nothing_and_is_a_study_to_look_at() {
    let place = stepped(false);
    let words = place.ends(&["history", "--fail-on", "drift,any-change"]);
    words.assert_code(0);
    assert!(
        words
            .words()
            .contains("References that rested: tool value on guiding"),
        "{}",
        words.words()
    );
    assert_eq!(place.study("s-reference")["measured"], 21);
    let refused = place.ends(&["resume", "s-reference"]);
    refused.assert_code(2);
    refused.assert_says(&["is the reference of `s`", "backsight resume s"]);
}

#[test]
fn without_a_reference_a_gate_on_drift_is_undecided() {
    let place = stepping::place();
    stepping::commits(&place, &[10, 20]);
    place.ends(&stepping::step("v1", "v2", &[])).assert_code(0);
    let gate = place.ends(&["history", "--fail-on", "drift"]);
    gate.assert_code(3);
    gate.assert_says(&["no reference was measured beside"]);
}

/// A place that measures software as it is found; two cells.
fn as_found(rounds: u32, every: u32) -> Place {
    let place = place("every = 1");
    place.benchmark(
        "found",
        &format!(
            "[params]\nside = {{ default = \"a\" }}\n[tester]\nrun = [\"{} run\", \"echo 1{{side}}\"]\n{VALUE}",
            place.at("step")
        )
        .replace("default = \"a\"", "default = 1"),
    );
    place.plan(&format!(
        "use = [\"found\"]\nrounds = {rounds}\nseed = 1\nparams = {{ side = [1, 2] }}\n[reference]\nevery = {every}\n"
    ));
    place
}

#[test]
fn killed_and_gone_on_with_a_run_has_its_reference_as_often_as_if_nothing_had_been() {
    let place = as_found(5, 2);
    place.hold("run", 9);
    let running = place.begins(&["run", "plan.toml", "--name", "r"]);
    place.until_held("run");
    running.after_sigkill();
    place.release("run");
    place.ends(&["resume", "r"]).assert_code(0);
    place.assert_complete("r", 2, 5);
    // Before the first round, after the second, the fourth and the last.
    place.assert_complete("r-reference", 2, 4);
    place.ends(&["resume", "r", "--rounds", "1"]).assert_code(0);
    place.assert_complete("r", 2, 6);
    place.assert_complete("r-reference", 2, 4);
    place.assert_nothing_left();
}

#[test]
fn a_reference_that_fails_is_warned_of_and_the_study_goes_on() {
    let place = as_found(2, 1);
    place.benchmark(
        "found",
        &format!(
            "[params]\nside = {{ default = 1 }}\n[tester]\nrun = \"test {{tester.host}} = own && echo 1{{side}}\"\n{VALUE}"
        ),
    );
    let ended = place.ends(&["run", "plan.toml", "--name", "r"]);
    ended.assert_code(0);
    ended.assert_says(&["the reference guiding: 2 of 2 trials failed"]);
    assert_eq!(place.study("r-reference")["failed"], 6);
}

#[test]
fn a_reference_that_makes_no_sense_is_refused_with_a_way_out() {
    let place = as_found(2, 1);
    let refused = |plan: &str, says: &[&str]| {
        place.plan(&format!("use = [\"found\"]\nrounds = 2\n{plan}\n"));
        let ended = place.ends(&["run", "plan.toml"]);
        ended.assert_code(2);
        ended.assert_says(says);
    };
    refused("[reference]\nevery = 0", &["every"]);
    refused("[reference]\n", &["every"]);
    refused(
        "[reference]\nevery = 1\ntestbed = \"own\"",
        &[
            "testbed `own` is no reference of this lab",
            "this lab's references: guiding",
        ],
    );
    refused(
        "testbed = \"guiding\"\n[reference]\nevery = 1",
        &["it can't be measured beside itself"],
    );
    place.plan("use = [\"tool\"]\n[reference]\nevery = 1");
    stepping::commits(&place, &[10, 20]);
    let ended = place.ends(&stepping::step("v1", "v2", &[]));
    ended.assert_code(2);
    ended.assert_says(&[
        "`tool` measures a build of a target, and the reference has none",
        "build = ",
    ]);
    let lab = place.read("lab.toml").replace("reference = true\n", "");
    place.write("lab.toml", &lab);
    refused(
        "testbed = \"own\"\n[reference]\nevery = 1",
        &[
            "the lab has no reference to measure beside",
            "reference = true",
        ],
    );
    place.write("lab.toml", lab + "reference = \"yes\"\n");
    refused("testbed = \"own\"", &["lab.toml"]);
}
