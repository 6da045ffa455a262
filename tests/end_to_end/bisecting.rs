//! The changes that did it, along a repository whose slow-downs are known: found, resumed, refused.

use nix::sys::signal::Signal;
use serde_json::Value;
use std::process::Command;

use crate::{
    place::Place,
    running::{Ended, Running},
};

/// A place with the repository of tests/fixtures/slowdowns.sh, whose numbers have a noise of their own.
pub fn place() -> Place {
    let place = Place::new();
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/fixtures/slowdowns.sh"
    );
    let made = Command::new("sh")
        .arg(script)
        .arg(place.path("repo"))
        .output()
        .unwrap();
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    place.benchmark(
        "work",
        "[tester]\nrun = [\"@/step run\", \"{build}/work\"]\n[metric.rounds]\nunit = \"count\"\nbetter = \"lower\"\n\
         regex = '(?<value>\\d+(\\.\\d+)?)'\n",
    );
    place.plan("use = [\"work\"]\nseed = 1\n");
    let build = "gcc -O1 -DWORK=20 -o work main.c parse.c plan.c render.c && sh @/step build";
    let text = format!(
        "name = \"app\"\nsource = {{ git = {{ url = \"repo\" }} }}\n\
         build = {{ run = \"{build}\", keep = [\"work\"], timeout = \"60s\" }}\n"
    );
    place.write(
        "app.toml",
        text.replace('@', place.path("").to_str().unwrap()),
    );
    place
}

fn bisect<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec!["bisect", "plan.toml", "--target", "app", "--json"];
    arguments.extend(more);
    arguments
}

pub fn verdict(ended: &Ended) -> Value {
    let events = ended.events();
    let mut verdicts = events
        .iter()
        .filter(|event| event["event"] == "verdict" && event["verb"] == "bisect");
    let verdict = verdicts.next().expect("a verdict").clone();
    assert!(verdicts.next().is_none());
    verdict
}

pub fn names(verdict: &Value) -> Vec<&str> {
    let culprits = verdict["culprits"].as_array().unwrap();
    let names = culprits
        .iter()
        .map(|culprit| culprit["until"]["name"].as_str().unwrap());
    names.collect()
}

#[test]
fn the_true_commits_are_named_with_their_sizes() {
    let place = place();
    let ended = place.ends(&bisect(&[
        "--good",
        "c1",
        "--bad",
        "c60",
        "--no-verify",
        "--confidence",
        "99.99",
        "--name",
        "b",
    ]));
    ended.assert_code(0);
    let verdict = verdict(&ended);
    assert_eq!(names(&verdict), ["c14", "c27", "c41", "c52"], "{verdict}");
    for (culprit, size) in verdict["culprits"]
        .as_array()
        .unwrap()
        .iter()
        .zip([30.0, 82.0, -50.0, 22.0])
    {
        let interval = &culprit["size"]["interval"];
        let (low, high) = (interval[0].as_f64().unwrap(), interval[1].as_f64().unwrap());
        assert!((low..=high).contains(&size), "{culprit}");
        // The change, and who made it.
        let changes = culprit["changes"].as_array().unwrap();
        assert_eq!(changes.len(), 1, "{culprit}");
        assert!(changes[0]["author"].as_str().unwrap().starts_with("Ann"));
    }
    // Suspects are told as it goes, and no more versions were built than were looked at.
    let events = ended.events();
    assert!(events.iter().any(|event| event["event"] == "suspected"));
    assert_eq!(
        place.calls("build"),
        verdict["measured"].as_array().unwrap().len()
    );
    place.assert_nothing_left();

    let shown = place.prints_of(&["show", "b"]);
    assert!(
        shown.contains("4 changes did it: c14 \"Commit 14: parse looks twice\""),
        "{shown}"
    );
    place.ends(&["report", "b", "-o", "b.md"]).assert_code(0);
    let mail = place.read("b.md");
    assert!(
        mail.contains("| remainder, not attributed |")
            && mail.contains("backsight bisect plan.toml"),
        "{mail}"
    );
    place.ends(&["report", "b", "-o", "b.html"]).assert_code(0);
    assert!(
        place
            .read("b.html")
            .contains("Commit 27: plan asks everybody")
    );

    // Everything is known: asked again, nothing is measured.
    let again = place.ends(&bisect(&["--good", "c1", "--bad", "c60", "--no-verify"]));
    again.assert_code(0);
    let trials = again
        .events()
        .iter()
        .filter(|event| event["event"] == "trial-finished")
        .count();
    assert!(trials <= 2, "{trials} trials although all was known");
}

#[test]
fn a_change_is_verified_by_its_neighbour_and_by_taking_it_back() {
    let place = place();
    let ended = place.ends(&bisect(&[
        "--good",
        "c22",
        "--bad",
        "c32",
        "--confidence",
        "99.99",
        "--name",
        "b",
    ]));
    ended.assert_code(0);
    assert_eq!(names(&verdict(&ended)), ["c27"]);
    let came: Vec<(String, String)> = ended
        .events()
        .iter()
        .filter(|event| event["event"] == "verdict" && event["verb"] == "try")
        .map(|event| {
            (
                event["name"].as_str().unwrap().to_owned(),
                event["came"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    let expected = [("b-pair-1", "worse"), ("b-revert-1", "better")];
    assert_eq!(
        came,
        expected.map(|(name, came)| (name.to_owned(), came.to_owned()))
    );

    // What they came to stands beside the change that they checked, and so does what a user tries.
    let reverted = ["--at", "c32", "--revert", "c27", "--name", "by-hand"];
    let by_hand = place.ends(&[&["try", "plan.toml", "--target", "app"], &reverted[..]].concat());
    by_hand.assert_code(0);
    let shown = place.prints_of(&["show", "b", "--format", "json"]);
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let checks = shown["culprits"][0]["checks"].as_array().unwrap();
    let said: Vec<[&str; 4]> = checks
        .iter()
        .map(|check| ["study", "kind", "base", "came"].map(|key| check[key].as_str().unwrap()))
        .collect();
    assert_eq!(
        said,
        [
            ["b-pair-1", "neighbour", "c26", "worse"],
            ["b-revert-1", "revert", "c32", "better"],
            ["by-hand", "revert", "c32", "better"],
        ]
    );
    // A side has what was put on its version in its name, and no version of the history may have made that.
    let explained = place.prints_of(&["explain", "by-hand"]);
    assert!(
        explained.contains("c32 + revert of ") && !explained.contains("may have made it"),
        "{explained}"
    );
    place.ends(&["report", "b", "-o", "b.md"]).assert_code(0);
    let mail = place.read("b.md");
    assert!(mail.contains("| 1. c27 | c32 without it | "), "{mail}");
    place.ends(&["report", "b", "-o", "b.html"]).assert_code(0);
    let page = place.read("b.html");
    assert!(page.contains(">c32 without it</td>"), "{page}");
}

#[test]
fn what_a_try_measured_of_a_reverted_change_is_no_measurement_of_the_version_below_it() {
    let place = place();
    place.plan("use = [\"work\"]\nseed = 1\nrounds = 6\n");
    let step = ["step", "plan.toml", "--target", "app"];
    let ended = place.ends(&[&step[..], &["--from", "c22", "--to", "c32"]].concat());
    ended.assert_code(0);
    let attempt = ["try", "plan.toml", "--target", "app"];
    let ended = place.ends(&[&attempt[..], &["--at", "c32", "--revert", "c27"]].concat());
    ended.assert_code(0);
    // All of its versions are measured already, so that it needs no build of its own to tell the others' builds by.
    let ended = place.ends(&bisect(&["--good", "c22", "--bad", "c32", "--no-verify"]));
    ended.assert_code(0);
    let verdict = verdict(&ended);
    assert_eq!(names(&verdict), ["c27"]);
    assert_eq!(verdict["ended"], "decided");
}

#[test]
fn an_interrupt_while_a_change_is_verified_ends_all_that_is_left() {
    let place = place();
    let range = ["--good", "c22", "--bad", "c32", "--name", "b"];
    let mut run = place.begins(&[&["bisect", "plan.toml", "--target", "app"], &range[..]].concat());
    run.until("the verdict", |event| event["event"] == "verdict");
    run.until("a trial of the pair", |event| {
        event["event"] == "trial-started"
    });
    run.signal(Signal::SIGINT);
    let ended = run.ends();
    ended.assert_code(130);
    assert_eq!(names(&verdict(&ended)), ["c27"]);
    assert_eq!(place.study("b-pair-1")["state"], "stopped");
    let revert = place.ends(&["show", "b-revert-1"]);
    assert_eq!(revert.status.code(), Some(2), "it isn't begun");
    place.assert_nothing_left();
}

#[test]
fn what_a_bisection_named_is_on_the_history_in_every_format() {
    let place = place();
    let ended = place.ends(&bisect(&[
        "--good",
        "c22",
        "--bad",
        "c32",
        "--no-verify",
        "--confidence",
        "99.99",
        "--name",
        "b",
    ]));
    ended.assert_code(0);
    let verdict = verdict(&ended);
    let history =
        |more: &[&str]| place.prints_of(&[&["history", "--target", "app"], more].concat());

    let json: Value = serde_json::from_str(&history(&["--json"])).unwrap();
    let series = &json["series"][0];
    let named = series["named"].as_array().unwrap();
    assert_eq!(named.len(), 1, "{series:#}");
    let named = &named[0];
    assert_eq!(named["study"], "b");
    assert_eq!(named["at"]["version"], "c27");
    assert_eq!(named["direction"], "worse");
    let culprit = &verdict["culprits"][0];
    assert_eq!(named["probability"], culprit["probability"]);
    assert_eq!(named["size"], culprit["size"]["value"]);
    // Few versions were measured, each once or twice: the series by itself may not show it.
    let found = series["changes"].as_array().unwrap();
    let is_found = |change: &Value| {
        let number = |of: &Value| of["number"].as_u64().unwrap_or(0);
        let between = &change["between"];
        number(&between["after"]) < number(&named["at"])
            && number(&named["after"]) < number(&between["until"])
    };
    let believed = found.iter().filter(|change| change["believed"] == true);
    assert_eq!(named["found"], believed.clone().any(is_found), "{series:#}");

    let mark = "bisect named this change, > 99.9 %: study b";
    assert!(
        history(&[]).contains(&format!("◆ {mark}")),
        "{}",
        history(&[])
    );
    let markdown = history(&["--format", "markdown"]);
    assert!(
        markdown.contains("| bisect named this change, > 99.9 %: study b |"),
        "{markdown}"
    );
    let page = history(&["--format", "html"]);
    assert!(
        page.contains("bisect named this change, &gt; 99.9 %: study b"),
        "{page}"
    );
    let csv = history(&["--csv"]);
    let header = csv.lines().next().unwrap().split(',');
    let column = header.clone().position(|name| name == "named_by").unwrap();
    let marked: Vec<&str> = csv
        .lines()
        .skip(1)
        .filter(|line| line.split(',').nth(column) == Some("b"))
        .collect();
    assert!(marked.len() == 1 && marked[0].contains(",c27,"), "{csv}");

    place.ends(&["publish", "site"]).assert_code(0);
    let index = place.read("site/index.html");
    assert!(index.contains("href=\"app/c/c27.html\""), "{index}");
    let change = place.read("site/app/c/c27.html");
    assert!(change.contains("<small>bisected</small>"), "{change}");
}

#[test]
fn killed_and_gone_on_with_it_comes_to_the_same() {
    let place = place();
    let whole = [
        "--good",
        "c20",
        "--bad",
        "c32",
        "--no-verify",
        "--confidence",
        "99.99",
        "--name",
        "b",
    ];
    let mut running =
        place.begins(&[&["bisect", "plan.toml", "--target", "app"], &whole[..]].concat());
    for _ in 0..10 {
        running.until_trial_finished();
    }
    running.after_sigkill();
    let ended = place.ends(&["resume", "b", "--json"]);
    ended.assert_code(0);
    assert_eq!(names(&verdict(&ended)), ["c27"]);
    place.assert_nothing_left();
}

#[test]
fn what_cant_be_asked_is_refused_and_what_cant_be_told_is_said() {
    let place = place();
    let refused = |more: &[&str], says: &str| {
        let ended = place.ends(&bisect(more));
        ended.assert_code(2);
        ended.assert_says(&[says]);
    };
    refused(
        &["--good", "c1", "--bad", "c1"],
        "they are the same version",
    );
    refused(&["--good", "nowhere", "--bad", "c9"], "nowhere");
    refused(&["--good", "c9", "--bad", "c1"], "c1 comes before c9");
    refused(
        &["--good", "c1", "--bad", "c9", "--metric", "round"],
        "no benchmark of the plan has a metric `round`",
    );
    refused(
        &["--good", "c1", "--bad", "c9", "--relink", "4"],
        "no command that relinks it",
    );
    refused(
        &["--good", "c1", "--bad", "c9", "--cell", "other"],
        "none is `other`",
    );
    assert!(!place.prints_of(&["studies"]).contains("bisect"));

    // Nothing changed from 2 to 12.
    let ended = place.ends(&bisect(&[
        "--good",
        "c2",
        "--bad",
        "c12",
        "--smallest",
        "3%",
        "--confidence",
        "99.99",
    ]));
    ended.assert_code(0);
    let said = verdict(&ended);
    assert_eq!(names(&said), [""; 0]);
    let sentences = said["sentences"].to_string();
    assert!(
        sentences.contains("no change of") && sentences.contains("--cancelling"),
        "{sentences}"
    );

    // An end that doesn't compile; and a budget for nothing.
    let ended = place.ends(&bisect(&["--good", "c30", "--bad", "c33"]));
    ended.assert_code(1);
    assert!(
        verdict(&ended)["sentences"]
            .to_string()
            .contains("c33 can't be measured")
    );
    // It is known now, and said again without building it.
    let builds = place.calls("build");
    let again = place.ends(&bisect(&["--good", "c30", "--bad", "c33"]));
    again.assert_code(1);
    again.assert_says(&["c33 can't be measured"]);
    assert_eq!(place.calls("build"), builds);
    let ended = place.ends(&bisect(&[
        "--good", "c1", "--bad", "c60", "--budget", "1ms",
    ]));
    ended.assert_code(3);
    assert!(
        verdict(&ended)["sentences"]
            .to_string()
            .contains("the budget of 1ms is spent")
    );
}

#[test]
fn a_change_for_the_better_is_found_and_said_to_be_one() {
    let place = place();
    let ended = place.ends(&bisect(&[
        "--good",
        "c37",
        "--bad",
        "c44",
        "--no-verify",
        "--confidence",
        "99.99",
    ]));
    ended.assert_code(0);
    let said = verdict(&ended);
    assert_eq!(names(&said), ["c41"]);
    // Less of it is better.
    assert!(said["culprits"][0]["percent"].as_f64().unwrap() < -3.0);
    let sentences = said["sentences"].to_string();
    assert!(
        sentences.contains("c44, which was called bad, is better than c37"),
        "{sentences}"
    );
}

#[test]
fn a_machine_that_was_another_one_is_said_at_a_change_and_before_its_evidence_counts() {
    let place = place();
    let run = |arguments: &[&str], arena: &str| {
        let mut command = place.command(arguments);
        command.env("MALLOC_ARENA_MAX", arena);
        let ended = Running::start(command).ends();
        ended.assert_code(0);
        ended
    };
    let step = [
        "step",
        "plan.toml",
        "--target",
        "app",
        "--modes",
        "again",
        "--repeat",
        "3",
    ];
    run(
        &[&step[..], &["--from", "c19", "--to", "c25"]].concat(),
        "1",
    );
    run(
        &[&step[..], &["--from", "c28", "--to", "c32"]].concat(),
        "2",
    );
    let history = place.prints_of(&["history", "--target", "app"]);
    let one_line = history.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        one_line.contains(
            "the machine changed there too, which may be why: environment.MALLOC_ARENA_MAX was 1, is 2"
        ),
        "{history}"
    );
    let json = place.prints_of(&["history", "--target", "app", "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    let hosts = &json["series"][0]["changes"][0]["hosts"];
    assert_eq!(hosts[0]["name"], "environment.MALLOC_ARENA_MAX", "{hosts}");
    let bisected = run(
        &bisect(&["--good", "c24", "--bad", "c30", "--no-verify"]),
        "2",
    );
    bisected.assert_says(&[
        "what `step-1` measured counts here too, and its hosts were otherwise",
        "environment.MALLOC_ARENA_MAX was 1, is 2",
    ]);
}
