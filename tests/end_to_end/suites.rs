//! Suites: their tests are run, counted, compared with earlier runs and along a history; what breaks or mends one is found.

use backsight_test_needs::Need;
use serde_json::Value;
use std::fs;

use crate::{
    place::Place,
    running::Ended,
    stepping::{self, commit_all},
};

/// A place whose suite `unit` prints what `tests.sh` beside the plan says.
pub fn place(tests: &str) -> Place {
    let place = Place::new();
    fs::create_dir(place.path("suites")).unwrap();
    suite(
        &place,
        "unit",
        "sh {plan}/tests.sh",
        "format = 'tap'\nsilence = '2s'",
    );
    place.write("tests.sh", tests);
    place.plan("use = [\"unit\"]\nseed = 1\n");
    place
}

fn suite(place: &Place, name: &str, run: &str, results: &str) {
    let text = format!(
        "name = \"{name}\"\nabout = \"a test's own\"\nroles = [\"tester\"]\n[tester]\nrun = '''{run}'''\n[results]\n{results}\n"
    );
    place.write(&format!("suites/{name}.toml"), text);
}

fn test(place: &Place, more: &[&str]) -> Ended {
    let mut arguments = vec!["test", "plan.toml", "--format", "json"];
    arguments.extend(more);
    place.ends(&arguments)
}

fn verdict(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout()).unwrap()
}

/// The names of the tests that aren't in order, with what is said of each.
fn listed(verdict: &Value, key: &str) -> Vec<(String, String)> {
    let suites = verdict["suites"].as_array().unwrap();
    let tests = suites.iter().flat_map(|it| it["tests"].as_array().unwrap());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    tests
        .map(|test| (text(&test["test"]), text(&test[key])))
        .collect()
}

fn pair(test: &str, said: &str) -> (String, String) {
    (test.to_owned(), said.to_owned())
}

const BROKEN: &str = "echo 1..3\necho ok 1 - a\necho not ok 2 - b\necho '# expected 3'\necho ok 3 - c '# SKIP no disk'\nexit 1\n";
const MENDED: &str = "echo 1..3\necho ok 1 - a\necho ok 2 - b\necho ok 3 - c '# SKIP no disk'\n";

#[test]
fn what_fails_is_said_with_its_last_lines_and_compared_with_earlier_runs() {
    let place = place(BROKEN);
    let first = test(&place, &[]);
    first.assert_code(1);
    let first = verdict(&first);
    assert_eq!(listed(&first, "verdict"), [pair("b", "fail")]);
    let suite = &first["suites"][0];
    assert_eq!((&suite["passed"], &suite["failed"]), (&1.into(), &1.into()));
    assert_eq!(suite["skip_reasons"][0][0], "no disk");
    assert_eq!(suite["tests"][0]["message"], "expected 3");
    assert_eq!(
        suite["tests"][0]["state"],
        Value::Null,
        "there was no run before"
    );

    let trial = place.ends(&["show", "test-1", "--trial", "1"]);
    trial.assert_says(&["tests: 1 failed, 1 passed, 1 skipped", "fail b: expected 3"]);

    place.write("tests.sh", MENDED);
    let mended = test(&place, &[]);
    mended.assert_code(0);
    assert_eq!(verdict(&mended)["suites"][0]["fixed"][0], "b");

    place.write("tests.sh", MENDED.replace("ok 1 - a", "not ok 1 - a"));
    let again = test(&place, &[]);
    again.assert_code(1);
    assert_eq!(
        listed(&verdict(&again), "state"),
        [pair("a", "new failure")]
    );
    let text = place.ends(&["show", "test-3", "--format", "markdown"]);
    text.assert_code(0);
    text.assert_says(&["1 new failure, 1 passed, 1 skipped"]);

    let matrix = place.ends(&["tests", "--all", "--format", "json"]);
    let matrix: Value = serde_json::from_str(&matrix.stdout()).unwrap();
    let letters = matrix["tests"].as_array().unwrap().iter();
    let letters = letters.map(|it| {
        format!(
            "{} {}",
            it["test"].as_str().unwrap(),
            it["letters"].as_str().unwrap()
        )
    });
    assert_eq!(letters.collect::<Vec<_>>(), ["a ..F", "b F..", "c sss"]);
    place.ends(&["store", "check"]).assert_code(0);
}

#[test]
fn a_suite_that_stops_in_the_middle_says_what_was_not_run() {
    let place = place(MENDED);
    test(&place, &[]).assert_code(0);
    for (tests, outcome) in [
        ("echo 1..3\necho ok 1 - a\nexec sleep 100\n", "timeout"),
        ("echo 1..3\necho ok 1 - a\nkill -SEGV $$\n", "crash 11"),
    ] {
        place.write("tests.sh", tests);
        let broken = test(&place, &[]);
        broken.assert_code(1);
        let broken = verdict(&broken);
        assert_eq!(listed(&broken, "outcome"), [pair("after a", outcome)]);
        assert_eq!(broken["suites"][0]["not_run"], 1);
        assert_eq!(broken["suites"][0]["broken_runs"], 1);
    }
    let matrix = place.ends(&["tests", "--all", "--format", "json"]);
    let matrix: Value = serde_json::from_str(&matrix.stdout()).unwrap();
    let tests = matrix["tests"].as_array().unwrap();
    let b = tests.iter().find(|test| test["test"] == "b").unwrap();
    assert_eq!(b["letters"], ".--");
}

/// Tests that say when they begin, but for those to leave out; two hang.
const HANGING: &str = "\
set -- $(for test in a b c d e; do grep -qx unit/$test \"$1\" || echo $test; done)
echo TAP version 13
echo 1..$#
for test do
  echo \"# selftests: unit: $test\"
  case $test in b | d) exec sleep 100 ;; esac
  echo \"ok 1 selftests: unit: $test\"
done
";

#[test]
fn a_suite_that_can_leave_out_tests_goes_on_after_those_that_hang() {
    let place = place(HANGING);
    let run = "sh {plan}/tests.sh {without}";
    suite(&place, "unit", run, "format = 'ktap'\nsilence = '1s'");
    let ended = test(&place, &["--name", "s"]);
    ended.assert_code(1);
    let seen = verdict(&ended);
    let hung = [pair("unit/b", "timeout"), pair("unit/d", "timeout")];
    assert_eq!(listed(&seen, "outcome"), hung);
    let suite_seen = &seen["suites"][0];
    assert_eq!(suite_seen["passed"], 3);
    assert_eq!(suite_seen["not_run"], 0);
    assert_eq!(
        (&suite_seen["runs"], &suite_seen["broken_runs"]),
        (&1.into(), &0.into())
    );
    assert_eq!(
        suite_seen["problems"],
        serde_json::json!(["continued 2 times, without the tests that had ended: unit/b; unit/d"])
    );
    // The raw output of all passes gives the same again.
    place.ends(&["store", "check"]).assert_code(0);

    // All passes together have the time of one.
    let limited = "format = 'ktap'\nsilence = '1s'";
    suite(&place, "unit", run, limited);
    let text = place.read("suites/unit.toml");
    place.write(
        "suites/unit.toml",
        text.replace("[tester]", "timeout = '1500ms'\n[tester]")
            .replace("roles", "#\nroles"),
    );
    let ended = test(&place, &[]);
    ended.assert_code(1);
    ended.assert_says(&["the time limit of its step is over"]);
}

#[test]
fn a_suite_goes_on_after_its_host_was_lost_as_long_as_it_comes_further() {
    // It waits until the agent has read what was printed before.
    let deadly = HANGING.replace(
        "exec sleep 100",
        "until grep -q \"unit: $test\" ../spool/*.stdout; do :; done; kill -9 $PPID; exec sleep 100",
    );
    let place = place(&deadly);
    let run = "sh {plan}/tests.sh {without}";
    suite(&place, "unit", run, "format = 'ktap'");
    let ended = test(&place, &[]);
    ended.assert_code(1);
    let crashed = [pair("unit/b", "crash"), pair("unit/d", "crash")];
    assert_eq!(listed(&verdict(&ended), "outcome"), crashed);
    assert_eq!(verdict(&ended)["suites"][0]["passed"], 3);

    // Nobody knows which test it is: it is run once more, and then the suite ends.
    place.write("tests.sh", deadly.replace("# selftests", "# a comment"));
    let ended = test(&place, &[]);
    ended.assert_code(1);
    assert_eq!(
        listed(&verdict(&ended), "outcome"),
        [pair("after unit/a", "crash")]
    );
    ended.assert_says(&["this pass came no further than the one before"]);

    // Without a result it is a failure of the trial, as where no suite runs; it is tried once more.
    place.write("tests.sh", "kill -9 $PPID\nsleep 100\n");
    let ended = test(&place, &[]);
    ended.assert_code(1);
    assert_eq!(
        verdict(&ended)["failed_trials"].as_array().unwrap().len(),
        2
    );
    place.ends(&["store", "check"]).assert_code(0);
}

#[test]
fn a_suite_goes_on_so_often_and_no_more() {
    let names: Vec<String> = (10..30).map(|number| number.to_string()).collect();
    let tests = HANGING
        .replace("a b c d e", &names.join(" "))
        .replace("b | d) exec sleep 100", "*) kill -SEGV $$");
    let place = place(&tests);
    let run = "exec sh {plan}/tests.sh {without}";
    suite(&place, "unit", run, "format = 'ktap'");
    let ended = test(&place, &[]);
    ended.assert_code(1);
    let seen = verdict(&ended);
    let crashed: Vec<_> = names[..17]
        .iter()
        .map(|name| pair(&format!("unit/{name}"), "crash 11"))
        .collect();
    assert_eq!(listed(&seen, "outcome"), crashed);
    assert_eq!(seen["suites"][0]["not_run"], 3);
    ended.assert_says(&["not continued (unit/26): a run goes on at most 16 times"]);
}

#[test]
fn only_the_command_that_prints_results_can_leave_out_tests() {
    let place = place(MENDED);
    suite(
        &place,
        "unit",
        "cat {without}",
        "format = 'junit'\nfrom = 'tester.collect'",
    );
    let refused = test(&place, &[]);
    refused.assert_code(2);
    refused.assert_says(&["`{without}` is for the command that runs the tests"]);
}

#[test]
fn a_gate_passes_only_where_tests_ran_and_every_run_came_to_its_end() {
    let skipped = place("echo 1..1\necho ok 1 - a '# SKIP no disk'\n");
    let ended = skipped.ends(&["test", "plan.toml"]);
    ended.assert_code(1);
    ended.assert_says(&["1 skipped", "unit ran no test on", ": no disk"]);

    let once_whole =
        "echo 1..2\necho ok 1 - a\n[ -e @/again ] && exit; touch @/again\necho ok 2 - b\n";
    let place = place("");
    place.write("tests.sh", once_whole.replace('@', &place.at("")));
    let ended = place.ends(&["test", "plan.toml", "--rounds", "2"]);
    ended.assert_code(1);
    ended.assert_says(&["2 passed", "unit didn't come to its end in 1 of 2 runs"]);
}

#[test]
fn a_run_that_broke_off_is_made_up_for_by_one_that_is_made_for_that() {
    // Ended by a signal, where nobody knows which test it was; or silently, before the second test.
    for (end, verdicts) in [
        ("kill -SEGV $$", vec![pair("after a", "flaky")]),
        ("exit", vec![]),
    ] {
        let tests =
            "echo 1..2\necho ok 1 - a\n[ -e @/again ] || { touch @/again; END; }\necho ok 2 - b\n";
        let place = place("");
        let tests = tests.replace('@', &place.at("")).replace("END", end);
        place.write("tests.sh", tests);
        let ended = test(&place, &["--retries", "2"]);
        ended.assert_code(0);
        let seen = verdict(&ended);
        assert_eq!(listed(&seen, "verdict"), verdicts);
        let suite = &seen["suites"][0];
        assert_eq!(
            (&suite["runs"], &suite["broken_runs"]),
            (&2.into(), &1.into())
        );
        let text = place.ends(&["show", "test-1", "--format", "markdown"]);
        text.assert_says(&["in 1 of 2 runs, and did when it was run again"]);
    }

    let place = place("echo 1..2\necho ok 1 - a\n");
    let ended = test(&place, &["--retries", "1"]);
    ended.assert_code(1);
    assert_eq!(verdict(&ended)["suites"][0]["broken_runs"], 2);
}

#[test]
fn core_files_of_programs_that_crash_are_kept_up_to_a_limit() {
    if Need::CoreFiles.is_missing() {
        return;
    }
    let crashes = "echo 1..2\necho ok 1 - a\nmkdir below; (cd below; sh -c 'kill -ABRT $$')\nexec sh -c 'kill -SEGV $$'\n";
    let place = place(crashes);
    let ended = test(&place, &[]);
    ended.assert_code(1);
    let message = "signal 11 ended the suite; core file core";
    assert!(
        listed(&verdict(&ended), "message")[0]
            .1
            .starts_with(message)
    );
    ended.assert_says(&["is kept: below/core", "of sh (signal 6)"]);
    let trial = place.ends(&["show", "test-1", "--trial", "1"]);
    trial.assert_says(&["core file 1: sh, signal", "(--core 2 writes it)"]);
    for number in ["1", "2"] {
        let core = place.ends(&["show", "test-1", "--trial", "1", "--core", number]);
        core.assert_code(0);
        core.assert_says(&["ELF"]);
    }
    let none = place.ends(&["show", "test-1", "--trial", "1", "--core", "3"]);
    none.assert_code(2);
    none.assert_says(&["trial 1 has 2 core files, none 3"]);
    place.write("store/keep.toml", "[keep]\ncores = \"3 days\"\n");
    let pruning = place.prints_of(&["prune", "--dry-run", "--format", "json"]);
    let pruning: Value = serde_json::from_str(&pruning).unwrap();
    let rows = pruning["rows"].as_array().unwrap();
    let cores = rows.iter().find(|row| row["kind"] == "cores").unwrap();
    assert_eq!(
        (&cores["count"], &cores["why"]),
        (&2.into(), &"not old enough".into())
    );
    place.ends(&["store", "check"]).assert_code(0);

    // The kernel cuts them, or makes none.
    let cut = "isn't kept, for `core_limit` is 20.0 KiB";
    for (limit, is_named) in [("20KiB", true), ("0B", false)] {
        let results = format!("format = 'tap'\ncore_limit = '{limit}'");
        suite(&place, "unit", "sh {plan}/tests.sh", &results);
        let ended = test(&place, &[]);
        ended.assert_code(1);
        let said = ended.stdout();
        assert_eq!(said.contains(cut), is_named, "{said}");
        assert_eq!(said.contains("core file"), is_named, "{said}");
    }
}

#[test]
fn a_test_that_passes_when_it_is_run_again_is_flaky() {
    let flaky = "echo 1..1\nif [ -e @/again ]; then echo ok 1 - a; else touch @/again; echo not ok 1 - a; fi\n";
    let place = place("");
    place.write("tests.sh", flaky.replace('@', &place.at("")));
    let ended = test(&place, &["--retries", "3"]);
    ended.assert_code(0);
    let seen = verdict(&ended);
    assert_eq!(listed(&seen, "verdict"), [pair("a", "flaky")]);
    assert_eq!(seen["suites"][0]["runs"], 2, "it is in order then");
}

#[test]
fn a_trial_that_says_nothing_of_the_tests_is_tried_once_more() {
    let place = place("");
    suite(&place, "unit", "no-such-program", "format = 'tap'");
    let ended = test(&place, &[]);
    ended.assert_code(1);
    let seen = verdict(&ended);
    assert_eq!(seen["failed_trials"].as_array().unwrap().len(), 2);
    assert_eq!(seen["failed_trials"][0]["made_up_for"], false);
    ended.assert_says(&["no-such-program"]);
}

#[test]
fn what_is_no_suite_is_refused() {
    let place = place(MENDED);
    place.prints("number", "echo 1");
    place.plan("use = [\"unit\", \"number\"]\n");
    let refused = place.ends(&["test", "plan.toml"]);
    refused.assert_code(2);
    refused.assert_says(&["`number` is no suite", "backsight run"]);
    suite(&place, "unit", "true", "format = 'tapp'");
    place.plan("use = [\"unit\"]\n");
    let refused = place.ends(&["test", "plan.toml"]);
    refused.assert_code(2);
    refused.assert_says(&["unit.toml", "`format`"]);
}

#[test]
fn imported_results_are_shown_and_compared_like_those_of_suites() {
    let place = Place::new();
    for (number, outcome) in [
        "<skipped/>",
        "",
        "<failure message=\"expected 3\">trace</failure>",
    ]
    .into_iter()
    .enumerate()
    {
        let test = format!("<testcase name=\"a\">{outcome}</testcase><testcase name=\"b\"/>");
        place.write(
            "results.xml",
            format!("<testsuite name=\"unit\">{test}</testsuite>"),
        );
        let name = format!("night-{number}");
        place
            .ends(&["import", "junit", "results.xml", "--as", &name])
            .assert_code(0);
    }
    let shown = place.ends(&["show", "night-2", "--format", "json"]);
    assert_eq!(
        listed(&verdict(&shown), "state"),
        [pair("unit/a", "new failure")]
    );
    let matrix = place.ends(&["tests", "--format", "json"]);
    let matrix: Value = serde_json::from_str(&matrix.stdout()).unwrap();
    assert_eq!(matrix["tests"][0]["letters"], "s.F");
}

/// A place with a repository whose test `a` fails in every second run from version 5 on, and `b` always from version 7 on.
fn history() -> Place {
    let place = stepping::place();
    fs::create_dir(place.path("suites")).unwrap();
    suite(&place, "unit", "sh {build}/tool", "format = 'tap'");
    place.plan("use = [\"unit\"]\nseed = 1\nrounds = 1\n");
    // Fails in about every second run, in an order that is the same whenever this is tested.
    let runs = place.at("runs");
    place.write("runs", "");
    let flaky = format!(
        "echo >> {runs}; case $(($(wc -l < {runs}) % 7)) in 1|3|4) echo not ok 1 - a ;; *) echo ok 1 - a ;; esac"
    );
    for version in 1..=9 {
        let a = if version < 5 { "echo ok 1 - a" } else { &flaky };
        let b = if version < 7 { "ok" } else { "not ok" };
        place.write(
            "repo/speed",
            format!("# {version}\necho 1..2\n{a}\necho {b} 2 - b\n"),
        );
        commit_all(&place, version);
    }
    place
}

fn bisect(place: &Place, test: &str) -> Ended {
    place.ends(&[
        "bisect",
        "plan.toml",
        "--target",
        "app",
        "--good",
        "v1",
        "--bad",
        "v9",
        "--test",
        test,
        "--format",
        "json",
    ])
}

#[test]
fn the_change_that_broke_a_test_is_named_also_where_it_fails_in_some_runs_only() {
    let place = history();
    let found = bisect(&place, "b");
    found.assert_code(0);
    let found = verdict(&found);
    assert_eq!(found["culprit"]["until"], "v7");
    assert_eq!(found["culprit"]["direction"], "broke");

    let flaky = bisect(&place, "a");
    flaky.assert_code(0);
    let flaky = verdict(&flaky);
    let rate = flaky["culprit"]["since"]["rate"].as_f64().unwrap();
    assert!((0.1..1.0).contains(&rate), "{flaky}");
    assert!(flaky["culprit"]["probability"].as_f64().unwrap() >= 0.95);

    let unknown = bisect(&place, "bb");
    unknown.assert_code(1);
    let shown = place.ends(&["show", "bisect-test-3", "--format", "text"]);
    shown.assert_says(&["unit has no test `bb`"]);
    place.ends(&["store", "check"]).assert_code(0);
}

#[test]
fn a_history_has_the_tests_of_its_versions() {
    let place = history();
    place.ends(&stepping::step("v6", "v9", &[])).assert_code(0);
    let matrix = place.ends(&[
        "tests", "--target", "app", "--test", "b", "--format", "json",
    ]);
    let matrix: Value = serde_json::from_str(&matrix.stdout()).unwrap();
    assert_eq!(matrix["tests"][0]["letters"], ".FFF");
    assert_eq!(matrix["tests"][0]["since"], "v7");
    let none = place.ends(&["tests", "--target", "other"]);
    none.assert_code(2);
    none.assert_says(&["no test of target `other`"]);
}
