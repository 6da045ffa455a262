//! What other tools measured comes in as a study, and a study goes out to others.

use crate::place::Place;

fn hyperfine(seconds: [f64; 4]) -> String {
    let times = seconds.map(|s| s.to_string()).join(", ");
    format!(r#"{{"results": [{{"command": "sort", "times": [{times}]}}]}}"#)
}

fn place() -> Place {
    let place = Place::new();
    place.write("base.json", hyperfine([1.5, 1.52, 1.49, 1.51]));
    place.write("slow.json", hyperfine([1.8, 1.82, 1.79, 1.81]));
    place
}

#[test]
fn an_imported_study_is_compared_shown_reported_and_deleted_like_any_other() {
    let place = place();
    let said = place.prints_of(&["import", "hyperfine", "base.json", "--as", "base"]);
    assert_eq!(said, "imported 4 trials of 1 cell as `base`\n");
    // Without --as it is called after its file.
    place.prints_of(&["import", "hyperfine", "slow.json"]);
    let row = place.study("slow");
    assert_eq!(
        (&row["verb"], &row["state"], &row["measured"], &row["cells"]),
        (&"import".into(), &"finished".into(), &4.into(), &1.into()),
        "{row}"
    );
    let compared = place.ends(&["compare", "base", "slow", "--format", "json"]);
    let compared = compared.stdout();
    assert!(
        compared.contains("worse") && compared.contains("sort"),
        "{compared}"
    );
    place.assert_complete("base", 1, 4);
    assert_eq!(
        place.raw("base", 3).matches("1.52").count(),
        1,
        "the file is kept with every trial"
    );
    let documents = place.prints_of(&["show", "base", "--documents"]);
    assert!(documents.contains(r#"name = "hyperfine""#), "{documents}");
    place.prints_of(&["report", "base", "slow", "-o", "page.html"]);
    let resumed = place.ends(&["resume", "base"]);
    resumed.assert_code(2);
    resumed.assert_says(&["study `base` was imported"]);

    let taken = place.ends(&["import", "hyperfine", "slow.json", "--as", "base"]);
    taken.assert_code(2);
    taken.assert_says(&[
        "there is a study `base` already",
        "--as NAME",
        "backsight delete base",
    ]);
    place.ends(&["delete", "base"]).assert_code(0);
    place.prints_of(&["import", "hyperfine", "slow.json", "--as", "base"]);
}

#[test]
fn several_files_become_one_study_or_none() {
    let place = place();
    place.prints_of(&[
        "import",
        "hyperfine",
        "base.json",
        "slow.json",
        "--as",
        "both",
    ]);
    assert_eq!(place.study("both")["measured"], 8);
    place.write(
        "cut.json",
        r#"{"results": [{"command": "sort", "times": [1.5"#,
    );
    let cut = place.ends(&[
        "import",
        "hyperfine",
        "base.json",
        "cut.json",
        "--as",
        "half",
    ]);
    cut.assert_code(2);
    cut.assert_says(&["cut.json, line 1, column 46: this isn't JSON"]);
    place.ends(&["show", "half"]).assert_code(2);
    for (arguments, says) in [
        (
            &["import", "hyprfine", "base.json"][..],
            &["did you mean `hyperfine`?"][..],
        ),
        (
            &["import", "fio", "base.json"],
            &["expected a JSON object with `fio version`"],
        ),
        (&["import", "hyperfine", "."], &["this is a folder"]),
        (
            &["import", "hyperfine", "none.json"],
            &["none.json", "can't be read"],
        ),
        (
            &["import", "hyperfine", "base.json", "--as", "a/b"],
            &["is not a name"],
        ),
        (
            &[
                "import",
                "hyperfine",
                "base.json",
                "--as",
                "x",
                "--better",
                "fast",
            ],
            &["fast"],
        ),
        (&["export", "both"], &["in which format?"]),
        (&["export", "bth", "-f", "csv"], &["did you mean `both`?"]),
    ] {
        let refused = place.ends(arguments);
        refused.assert_code(2);
        refused.assert_says(says);
    }
    assert_eq!(
        place.prints_of(&["studies"]).lines().count(),
        2,
        "a heading and one study"
    );
}

#[test]
fn a_study_goes_out_whole_and_comes_back_the_same() {
    let place = place();
    place.prints("fine", "echo 42 of fine");
    place.plan("use = [\"fine\"]\nrounds = 3\n");
    place
        .ends(&["run", "plan.toml", "--name", "ours"])
        .assert_code(0);
    let table = place.prints_of(&["export", "ours", "--format", "csv"]);
    assert_eq!(table.lines().count(), 4, "{table}");
    for (file, format) in [
        ("o.csv", "csv"),
        ("o.tsv", "tsv"),
        ("o.jsonl", "json-rows"),
        ("o.parquet", "parquet"),
        ("o.json", "json"),
    ] {
        assert_eq!(
            place.prints_of(&["export", "ours", "-o", file]),
            format!("wrote {file}\n")
        );
        place.prints_of(&["import", format, file, "--as", format]);
        let back = place.prints_of(&["export", format, "--format", "csv"]);
        assert_eq!(back, table, "{format}");
    }
    let lines = place.prints_of(&["export", "ours", "--format", "benchfmt"]);
    assert_eq!(lines.matches("BenchmarkFine").count(), 3, "{lines}");
    let nowhere = place.ends(&["export", "ours", "-o", "no/such/folder.csv"]);
    nowhere.assert_code(2);
    nowhere.assert_says(&["can't write"]);
    assert!(
        place
            .prints_of(&["list", "importers"])
            .contains("hyperfine")
    );
    place.assert_nothing_left();
}

/// A file of pytest-benchmark: three tests of identical code, each of so many rounds of one process, whose luck is `run`.
fn pytest_benchmark(run: u64) -> String {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(run + 1);
    let mut random = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1_u32 << 31) - 0.5
    };
    let tests = ["test_a", "test_b", "test_c"].map(|name| {
        let luck = 1.0 + 0.04 * random();
        let rounds: Vec<String> = (0..2000)
            .map(|_| (1e-4 * luck * (1.0 + 0.02 * random())).to_string())
            .collect();
        format!(
            r#"{{"name": "{name}", "fullname": "t.py::{name}", "group": null, "stats": {{"data": [{}]}}}}"#,
            rounds.join(",")
        )
    });
    format!(
        r#"{{"machine_info": {{"node": "here"}}, "benchmarks": [{}]}}"#,
        tests.join(",")
    )
}

/// The verdicts of all rows of a comparison, as programs get them.
fn differences(place: &Place, sides: &[&str]) -> Vec<serde_json::Value> {
    let arguments = [&["compare"], sides, &["--format", "json"]].concat();
    let compared: serde_json::Value = serde_json::from_str(&place.prints_of(&arguments)).unwrap();
    let rows = compared["rows"].as_array().unwrap().iter();
    rows.map(|row| row["sides"][1]["difference"].clone())
        .collect()
}

#[test]
fn rounds_of_one_process_tell_nothing_until_several_processes_do() {
    let place = Place::new();
    let names: Vec<String> = (1..=5).map(|run| format!("run-{run}")).collect();
    for (name, run) in names.iter().zip(1..) {
        place.write(&format!("{name}.json"), pytest_benchmark(run));
        place.prints_of(&["import", "pytest-benchmark", &format!("{name}.json")]);
    }
    // Identical code: with rounds as trials every row of every pair was called different.
    for pair in names.windows(2) {
        let found = differences(&place, &[&pair[0], &pair[1]]);
        assert_eq!(found.len(), 3);
        for difference in found {
            assert_eq!(difference["verdict"], "can't tell", "{difference}");
            let said = difference["sentence"].as_str().unwrap();
            assert!(
                said.starts_with("can't tell: one run a side (within them [")
                    && said.ends_with("; 4 more runs each would"),
                "{said}"
            );
            assert_eq!(difference["more"], 4);
            assert!(difference["within_the_runs"].is_array(), "{difference}");
            assert!(difference["percent"]["interval"].is_null(), "{difference}");
        }
    }
    // Given together they are runs of one study, and tell how much single runs differ.
    let together: Vec<String> = names.iter().map(|name| format!("{name}.json")).collect();
    let mut arguments = vec!["import", "pytest-benchmark"];
    arguments.extend(together.iter().map(String::as_str));
    arguments.extend(["--as", "main"]);
    assert_eq!(
        place.prints_of(&arguments),
        "imported 15 trials of 3 cells as `main`\n"
    );
    for pair in names.windows(2) {
        for difference in differences(&place, &[&pair[0], &pair[1]]) {
            assert_ne!(difference["verdict"], "better", "{difference}");
            assert_ne!(difference["verdict"], "worse", "{difference}");
            assert_eq!(difference["beyond"]["is"], "known");
            assert_eq!(
                (&difference["known"]["level"], &difference["known"]["units"]),
                (&"trial".into(), &5.into())
            );
        }
    }
    let text = place.prints_of(&["compare", "run-1", "run-2"]);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("1 run a side (`run-2`, 3 rows): a difference is judged by how much 5 runs of 1 study differ"),
        "{text}"
    );
    // A run that takes a third longer is seen.
    let slow = place
        .read("run-1.json")
        .replace("0.0001", "0.00015")
        .replace("0.00009", "0.00014");
    place.write("slow.json", slow);
    place.prints_of(&["import", "pytest-benchmark", "slow.json"]);
    for difference in differences(&place, &["run-2", "slow"]) {
        assert_eq!(difference["verdict"], "worse", "{difference}");
    }
}

#[test]
fn sessions_of_their_own_are_said_and_allowed_for() {
    let place = place();
    place.prints_of(&["import", "hyperfine", "base.json", "--as", "base"]);
    // 1.505 s a run with a deviation of .013 s, against 1.53: with runs as repetitions it was called worse.
    place.write("near.json", hyperfine([1.53, 1.55, 1.52, 1.54]));
    place.prints_of(&["import", "hyperfine", "near.json"]);
    place.prints_of(&["import", "hyperfine", "slow.json"]);
    for format in ["text", "markdown", "json", "html"] {
        let written = place.prints_of(&["compare", "base", "near", "--format", format]);
        let words = written.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("1 session a side"), "{format}: {written}");
    }
    let near = &differences(&place, &["base", "near"])[0];
    assert_eq!(
        (&near["verdict"], &near["beyond"]["is"]),
        (&"can't tell".into(), &"like-units".into()),
        "{near}"
    );
    assert_eq!(
        differences(&place, &["base", "slow"])[0]["verdict"],
        "worse"
    );
    // Several sessions of the same say how much sessions differ: here hardly.
    for session in ["1", "2", "3", "4", "5"] {
        let last = format!("1.5{session}");
        let times = hyperfine([1.5, 1.52, 1.49, last.parse().unwrap()]);
        place.write(&format!("s{session}.json"), times);
    }
    place.prints_of(&[
        "import",
        "hyperfine",
        "s1.json",
        "s2.json",
        "s3.json",
        "s4.json",
        "s5.json",
        "--as",
        "several",
        "--sessions",
    ]);
    let near = &differences(&place, &["base", "near"])[0];
    assert_eq!(
        (
            &near["verdict"],
            &near["known"]["level"],
            &near["known"]["units"]
        ),
        (&"worse".into(), &"session".into(), &5.into()),
        "{near}"
    );
}

#[test]
fn runs_of_several_hosts_are_compared_host_by_host() {
    let place = Place::new();
    for (side, factor, luck) in [("base", 1.0, 0), ("new", 1.2, 50)] {
        let mut arguments = vec!["import".to_owned(), "pytest-benchmark".to_owned()];
        for (host, speed) in [("quick", 1.0), ("slow", 3.0), ("slower", 7.0)] {
            for run in 1..=2 {
                let file = format!("{side}-{host}-{run}.json");
                let own = pytest_benchmark(run + luck)
                    .replace(r#""node": "here""#, &format!(r#""node": "{host}""#));
                let mut own: serde_json::Value = serde_json::from_str(&own).unwrap();
                for benchmark in own["benchmarks"].as_array_mut().unwrap() {
                    for value in benchmark["stats"]["data"].as_array_mut().unwrap() {
                        *value = (value.as_f64().unwrap() * speed * factor).into();
                    }
                }
                place.write(&file, own.to_string());
                arguments.push(file);
            }
        }
        arguments.extend(["--as".to_owned(), side.to_owned()]);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        place.prints_of(&arguments);
    }
    for difference in differences(&place, &["base", "new", "--fail-on", "never"]) {
        assert_eq!(difference["unit_of_replication"], "host", "{difference}");
        assert_eq!(difference["units"], serde_json::json!([3, 3]));
        assert_eq!(difference["paired_by_host"], true);
        assert_eq!(difference["verdict"], "worse", "{difference}");
    }
    let text = place.prints_of(&["compare", "base", "new", "--fail-on", "never"]);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains(
            "3 hosts a side (`base` and `new`, 3 rows): each host is compared with itself"
        ),
        "{text}"
    );
    // The hosts go out and come back.
    for (name, format) in [("base.csv", "csv"), ("base.json", "json")] {
        place.prints_of(&["export", "base", "-o", name]);
        place.prints_of(&["import", format, name, "--as", format]);
        for difference in differences(&place, &["base", format]) {
            assert_eq!(difference["unit_of_replication"], "host", "{difference}");
            assert_eq!(difference["sentence"], "no change: all alike");
        }
    }
    place.prints_of(&["store", "check"]);
    place.assert_nothing_left();
}

#[test]
fn results_of_tests_are_imported_checked_and_exported_as_they_came() {
    let place = Place::new();
    std::fs::create_dir(place.path("results")).unwrap();
    place.write(
        "results/a.xml",
        r#"<testsuite name="net"><testcase name="tcp" time="0.1"/><testcase name="udp"><failure message="no route">log</failure></testcase></testsuite>"#,
    );
    place.write(
        "results/b.xml",
        "<testsuite name='disk'>\n<testcase name='&lt;b&gt;&#10;x'/>\n<testcase name='y'><skipped/></testcase>\n<testcase",
    );
    let files = ["results/a.xml", "results/b.xml"];
    let import = [&["import", "junit"], &files[..], &["--as", "nightly-311"]].concat();
    let imported = place.ends(&import);
    imported.assert_code(0);
    assert_eq!(
        imported.stdout(),
        "imported 4 results of tests (1 failed, 1 skipped) as `nightly-311`\n"
    );
    imported.assert_says(&["results/b.xml: line 4, column 10: invalid XML"]);
    place.assert_complete("nightly-311", 1, 1);
    let raw = place.raw("nightly-311", 1);
    assert!(raw.contains("no route") && raw.contains("'disk'"), "{raw}");
    let checked = place.prints_of(&["store", "check"]);
    assert!(
        checked.contains("sound") && !checked.contains("can't be compared"),
        "{checked}"
    );

    let exported = place.ends(&["export", "nightly-311", "-o", "out.xml"]);
    exported.assert_code(0);
    exported.assert_says(&["didn't come to its end"]);
    place.prints_of(&["import", "junit", "out.xml", "--as", "again"]);
    let tests = |study: &str| place.prints_of(&["export", study, "--format", "junit"]);
    assert_eq!(tests("nightly-311"), tests("again"));
    let report = place.prints_of(&["export", "again", "--format", "kcidb", "--origin", "my_ci"]);
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["tests"][0]["status"], "FAIL");
    assert_eq!(report["tests"][0]["origin"], "my_ci");
    assert_eq!(report["tests"].as_array().unwrap().len(), 5);
    let tap = place.prints_of(&["export", "again", "--format", "tap"]);
    assert!(tap.contains("not ok 4 - net/udp"), "{tap}");

    let other = place.ends(&["import", "tap", "results/a.xml", "--as", "other"]);
    other.assert_code(2);
    other.assert_says(&["it has no result of a test", "it looks like `junit`"]);
    let without_format = place.ends(&["import", "results/a.xml", "results/b.xml"]);
    without_format.assert_code(2);
    without_format.assert_says(&["backsight import junit results/a.xml"]);
    let numbers = place.ends(&["import", "junit", "results/a.xml", "--better", "lower"]);
    numbers.assert_code(2);
    numbers.assert_says(&["has results of tests"]);
    let none = place.ends(&["export", "again", "--format", "junit", "--trial", "2"]);
    none.assert_code(2);
    none.assert_says(&["trial 2 of `again` has no results of tests"]);
}

#[test]
fn go_test_means_the_numbers_where_there_are_some_and_else_the_tests() {
    let place = Place::new();
    let event = |action: &str, rest: &str| {
        format!("{{\"Action\":\"{action}\",\"Package\":\"p\",{rest}}}\n")
    };
    let test =
        event("run", r#""Test":"TestA""#) + &event("pass", r#""Test":"TestA","Elapsed":0.1"#);
    let numbers = event("output", r#""Output":"BenchmarkSum-2 100 5.5 ns/op\n""#);
    place.write("tests.json", &test);
    place.write("both.json", numbers + &test);
    let import = |words: &[&str]| place.prints_of(&[&["import", "go-test"], words].concat());
    assert_eq!(
        import(&["tests.json"]),
        "imported 1 result of tests, all passed, as `tests`\n"
    );
    assert_eq!(
        import(&["both.json"]),
        "imported 1 trial of 1 cell as `both`\n"
    );
    let suite = import(&["both.json", "--suite", "p", "--as", "suite"]);
    assert_eq!(
        suite,
        "imported 1 result of tests, all passed, as `suite`\n"
    );
    place.prints_of(&["store", "check"]);
    let refused = place.ends(&["import", "go", "both.json", "--suite", "p", "--as", "x"]);
    refused.assert_code(2);
    refused.assert_says(&["`--suite` is for results of tests"]);
}
