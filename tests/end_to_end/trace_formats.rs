//! What other programs read of `backsight trace`: JSON lines that their schema describes, and flame graphs of the time in system
//! calls; and what several runs tell of a difference.

use backsight_profile::{Profile, ProfileEvent};
use backsight_test_needs::Need;
use serde_json::Value;

use crate::place::Place;

/// A validator of a kind's schema.
fn validator(place: &Place, kind: &str) -> jsonschema::Validator {
    let schema: Value = serde_json::from_str(&place.prints_of(&["schema", kind])).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

/// Every line is as the schema says; the types that there are.
fn assert_described(validator: &jsonschema::Validator, lines: &str) -> Vec<String> {
    let mut types = Vec::new();
    for line in lines.lines() {
        let value: Value = serde_json::from_str(line).unwrap();
        if let Err(error) = validator.validate(&value) {
            panic!("{error}: {line}");
        }
        let kind = value["type"].as_str().unwrap().to_owned();
        if !types.contains(&kind) {
            types.push(kind);
        }
    }
    types
}

#[test]
fn every_line_of_both_engines_is_as_the_schema_says() {
    let place = Place::new();
    let validator = validator(&place, "trace-line");
    // Processes that end, are killed and stopped, signals, errors, structures, text that was cut and bytes that aren't text.
    let line = "cat /etc/hostname nowhere; sh -c 'kill -TERM $$'; (kill -STOP $(sh -c 'echo $PPID')) & sleep 0.3; kill -CONT $!; wait; \
        printf '\\377\\001' | od -c; ls -l / | tail -1; sleep 0.2; exec true";
    for (engine, options) in [
        ("ptrace", &["-k", "-i", "-yy", "-C"][..]),
        (
            "ptrace",
            &["-e", "inject=openat:error=ENOENT:when=3", "-v", "-s", "400"],
        ),
        ("kernel", &["-C", "--by", "path"]),
        ("auto", &["-C", "--histogram"]),
    ] {
        let out = place.at("lines");
        let trace = ["trace", "--json", "-f", "--engine", engine, "-o", &out];
        let ended = place.ends(&[&trace, options, &["sh", "-c", line]].concat());
        let lacks_bpf = engine == "kernel" && ended.status.code() == Some(1);
        let found = if lacks_bpf {
            Err(&ended.stderr)
        } else {
            Ok(())
        };
        if Need::Bpf.is_missing_in(found) {
            continue;
        }
        let types = assert_described(&validator, &place.read("lines"));
        for kind in ["call", "signal", "exited", "killed", "attached"] {
            assert!(
                types.iter().any(|it| it == kind),
                "{engine}: no {kind} in {types:?}"
            );
        }
    }
    for summary in [
        "--by=fd",
        "--by=process",
        "--by=process,call",
        "--percentiles",
    ] {
        let out = place.at("summary");
        place
            .ends(&["trace", "--json", summary, "-o", &out, "true"])
            .assert_code(0);
        assert_eq!(
            assert_described(&validator, &place.read("summary")),
            ["summary"]
        );
    }
}

#[test]
fn lines_that_are_none_are_told_from_those_of_the_schema() {
    let place = Place::new();
    let validator = validator(&place, "trace-line");
    for line in [
        r#"{"type":"exited","pid":1,"tid":1,"at":5,"status":0}"#,
        r#"{"type":"call","pid":7,"tid":7,"at":12,"abi":"x86-64","name":"close","number":3,"entered":9,"arguments":{"fd":3},"result":0,"took":3}"#,
    ] {
        assert!(
            validator.is_valid(&serde_json::from_str(line).unwrap()),
            "{line}"
        );
    }
    for line in [
        r#"{"type":"exited","pid":1,"tid":1,"at":5}"#,
        r#"{"type":"exited","pid":1,"tid":1,"at":5,"status":0,"more":1}"#,
        r#"{"type":"ended","pid":1,"tid":1,"at":5,"status":0}"#,
        r#"{"type":"call","pid":7,"tid":7,"at":12,"abi":"x86","name":"close","number":3,"entered":9,"arguments":{"fd":3},"result":0,"took":3}"#,
        r#"{"pid":1}"#,
        "[]",
    ] {
        assert!(
            !validator.is_valid(&serde_json::from_str(line).unwrap()),
            "{line}"
        );
    }
}

#[test]
fn the_time_in_system_calls_is_a_flame_graph_by_stacks() {
    let place = Place::new();
    let command = ["sh", "-c", "cat /etc/hostname > /dev/null; true"];
    let graph = |name: &str| {
        let file = place.at(name);
        let trace = ["trace", "-f", "--flame-graph", &file];
        let ended = place.ends(&[&trace[..], &command].concat());
        ended.assert_code(0);
        // The calls aren't told as well.
        assert!(!ended.stderr.contains("openat("), "{}", ended.stderr);
        place.read(name)
    };
    let folded = graph("calls.folded");
    let cat = folded
        .lines()
        .find(|line| line.starts_with("cat;") && line.contains("main"));
    let cat = cat.unwrap_or_else(|| panic!("{folded}"));
    assert!(
        cat.rsplit(' ').next().unwrap().parse::<u64>().is_ok(),
        "{cat}"
    );
    assert!(
        folded.lines().any(|line| line.contains(";openat ")),
        "{folded}"
    );
    let page = graph("calls.html");
    assert!(
        page.contains("where the time in system calls goes"),
        "{page}"
    );
    let profile = Profile::from_json(graph("calls.json").as_bytes()).unwrap();
    assert_eq!(profile.event, ProfileEvent::SystemCalls);
    let shown = place.prints_of(&["profile", &place.at("calls.json")]);
    assert!(shown.contains("openat"), "{shown}");

    let recording = place.at("recording");
    let record = ["trace", "-f", "-k", "--record", &recording];
    place.ends(&[&record[..], &command].concat()).assert_code(0);
    let file = place.at("again.folded");
    let replay = [
        "trace",
        "--replay",
        &recording,
        "-C",
        "--flame-graph",
        &file,
    ];
    let told = place.prints_of(&replay);
    assert!(
        told.contains("openat(") && told.contains("% time"),
        "{told}"
    );
    assert!(place.read("again.folded").contains(";openat "));
    place.assert_nothing_left();
}

#[test]
fn a_flame_graph_that_cannot_be_made_is_refused() {
    let place = Place::new();
    let refused = |options: &[&str], said: &str| {
        let ended = place.ends(&[&["trace"], options].concat());
        ended.assert_code(1);
        ended.assert_says(&[said]);
    };
    refused(&["--flame-graph", "calls.svg", "true"], "FILE.folded");
    refused(&["--flame-graph", "calls", "true"], "FILE.html");
    let nowhere = place.at("nowhere/calls.html");
    refused(&["--flame-graph", &nowhere, "true"], "--flame-graph");
    let recording = place.at("recording");
    place
        .ends(&["trace", "--record", &recording, "true"])
        .assert_code(0);
    let file = place.at("calls.html");
    let replay = ["--replay", &recording, "--flame-graph", &file];
    refused(&replay, "record with -k");
    assert!(!place.path("calls.html").exists());
    refused(
        &["--engine", "kernel", "--flame-graph", &file, "true"],
        "ptrace",
    );
}

#[test]
fn several_runs_of_both_sides_give_verdicts() {
    let place = Place::new();
    let record = |name: &str, files: &str| {
        let (folder, line) = (place.at(name), format!("cat {files} > /dev/null; true"));
        let trace = ["trace", "-q", "-f", "--record", &folder, "--runs", "4"];
        place
            .ends(&[&trace[..], &["sh", "-c", &line]].concat())
            .assert_code(0);
        folder
    };
    let before = record("before", "/etc/hostname");
    let after = record("after", "/etc/hostname /etc/hosts /etc/passwd");
    let again = record("again", "/etc/hostname");
    assert_eq!(std::fs::read_dir(&before).unwrap().count(), 4);

    let compared = place.ends(&["trace", "--diff", &before, &after]);
    compared.assert_code(0);
    compared.assert_says(&["all runs of one side began before"]);
    let text = compared.stdout();
    assert!(text.contains("read: more calls (+"), "{text}");
    assert!(text.contains("4 runs before, 4 after"), "{text}");
    let json = |sides: &[&str]| {
        let text = place.prints_of(&[&["trace", "--json", "--diff"], sides].concat());
        let value: Value = serde_json::from_str(&text).unwrap();
        if let Err(error) = validator(&place, "trace-diff").validate(&value) {
            panic!("{error}: {text}");
        }
        value
    };
    let verdict = |compared: &Value, call: &str| {
        let calls = compared["calls"].as_array().unwrap();
        let call = calls.iter().find(|it| it["call"] == call).unwrap();
        call["calls"]["verdict"].clone()
    };
    assert_eq!(verdict(&json(&[&before, &after]), "read")["is"], "more");
    assert_eq!(verdict(&json(&[&after, &before]), "read")["is"], "less");
    assert_eq!(
        verdict(&json(&[&before, &again]), "read")["is"],
        "no-change"
    );
    // A single run of either side is none.
    let one = place.at("after/1.trace");
    assert!(verdict(&json(&[&before, &one]), "read").is_null());
    let compared = place.ends(&["trace", "--diff", &before, &one]);
    compared.assert_code(0);
    compared.assert_says(&["there are no verdicts", "without verdicts"]);

    place
        .ends(&["trace", "-q", "--record", &before, "--runs", "2", "true"])
        .assert_says(&["already"]);
    let nothing = place.at("nothing");
    let missing = [
        "trace",
        "-q",
        "--record",
        &nothing,
        "--runs",
        "2",
        "no-such-command",
    ];
    let ended = place.ends(&missing);
    ended.assert_code(1);
    ended.assert_says(&["run 1 recorded nothing"]);
    place
        .ends(&["trace", "--diff", &before, &nothing])
        .assert_says(&["there is no recording in this folder"]);
    place
        .ends(&["trace", "--runs", "2", "true"])
        .assert_says(&["--record"]);
    place.assert_nothing_left();
}
