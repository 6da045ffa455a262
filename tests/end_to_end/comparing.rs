//! `compare` and `report`, on sets whose numbers are known.

use serde_json::Value;

use crate::place::{Place, Trial};

/// The sets `base` (10, 11, 12, 13 s and 100, 110, 120, 130 ops/s) and `new` (twice that), each with the variants
/// `plain` and `filter`, which has one more, at two values of the parameter `size`.
fn known() -> Place {
    let place = Place::new();
    place.script(
        "known",
        "#!/bin/sh\n# known FACTOR EXTRA: the next four numbers of a cell\nhere=$(dirname \"$0\")\n\
         echo x >> \"$here/calls-$2-$3\"\nn=$(wc -l < \"$here/calls-$2-$3\")\n\
         echo \"seconds=$(( (9 + n) * $1 + $2 )) rate=$(( (90 + 10 * n) * $1 ))\"\n",
    );
    place.benchmark(
        "known",
        "[params]\nsize = { default = 1 }\nextra = { default = 0 }\n\
         [tester]\nrun = \"sh -c '@/known $(cat @/factor) {extra} {size}'\"\n\
         [metric.latency]\nunit = \"s\"\nbetter = \"lower\"\nregex = 'seconds=(?<value>\\d+)'\n\
         [metric.rate]\nunit = \"ops/s\"\nbetter = \"higher\"\nregex = 'rate=(?<value>\\d+)'\n",
    );
    place.plan(
        "use = [\"known\"]\nrounds = 4\n[params]\nsize = [1, 2]\n\
         [[variant]]\nname = \"plain\"\n[[variant]]\nname = \"filter\"\nparams = { extra = 1 }\n",
    );
    for (study, factor) in [("base", "1"), ("new", "2")] {
        for calls in ["calls-0-1", "calls-0-2", "calls-1-1", "calls-1-2"] {
            place.write(calls, "");
        }
        place.write("factor", factor);
        place
            .ends(&["run", "plan.toml", "--name", study, "--quiet"])
            .assert_code(0);
        place.assert_complete(study, 4, 4);
    }
    place
}

fn row<'a>(comparison: &'a Value, metric: &str, variant: &str, size: u64) -> &'a Value {
    let rows = comparison["rows"].as_array().unwrap();
    let found = rows.iter().find(|row| {
        row["metric"] == metric && row["params"]["size"] == size && row["variant"] == variant
    });
    found.unwrap_or_else(|| panic!("no row {metric} {variant} {size} in {comparison:#}"))
}

#[test]
fn two_sets_are_compared_in_every_format() {
    let place = known();
    let text = place.prints_of(&["compare", "base", "new"]);
    for part in [
        "base",
        "new",
        "size=1 plain",
        "size=2 extra=1 filter",
        "latency s ↓",
        "rate ops/s ↑",
        "n=4",
        "worse",
        "better",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    // 11.5 to 23 s: exactly twice as slow.
    assert!(
        text.contains("11.50") && text.contains("23.00") && text.contains("-100% (-143 to -64)"),
        "{text}"
    );
    assert!(
        place
            .prints_of(&["compare", "base", "new", "--ratio"])
            .contains("geometric mean")
    );

    let markdown = place.prints_of(&["compare", "base", "new", "--format", "markdown"]);
    assert!(
        markdown
            .lines()
            .filter(|line| line.starts_with('|'))
            .count()
            >= 10,
        "{markdown}"
    );

    let csv = place.prints_of(&["compare", "base", "new", "--format", "csv"]);
    let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(
        lines.len(),
        1 + 2 * 2 * 2 * 2,
        "one line a cell, metric and side: {csv}"
    );
    assert!(
        lines.iter().all(|line| line.len() == lines[0].len()),
        "{csv}"
    );

    let json: Value =
        serde_json::from_str(&place.prints_of(&["compare", "base", "new", "--format", "json"]))
            .unwrap();
    assert_eq!(json["rows"].as_array().unwrap().len(), 8);
    let latency = row(&json, "latency", "plain", 2);
    assert_eq!(
        (&latency["sides"][0]["mean"], &latency["sides"][1]["mean"]),
        (&11.5.into(), &23.0.into())
    );
    assert_eq!(latency["sides"][0]["trials"], 4);
    let difference = &latency["sides"][1]["difference"];
    assert_eq!(
        (
            &difference["percent"]["value"],
            &difference["ratio"]["value"]
        ),
        (&(-100.0).into(), &2.0.into())
    );
    assert_eq!(difference["verdict"], "worse");
    assert_eq!(
        row(&json, "rate", "plain", 1)["sides"][1]["difference"]["verdict"],
        "better"
    );
    assert_eq!(row(&json, "latency", "filter", 1)["sides"][0]["mean"], 12.5);

    let html = place.prints_of(&["compare", "base", "new", "--format", "html"]);
    assert!(
        html.contains("<!doctype html>") && html.contains("latency") && html.contains("filter")
    );
    place
        .ends(&[
            "compare", "base", "new", "--format", "csv", "-o", "file.csv",
        ])
        .assert_code(0);
    assert_eq!(place.read("file.csv"), csv);
}

#[test]
fn the_parts_of_one_set_are_compared() {
    let place = known();
    let json = ["compare", "base", "--by", "variant", "--format", "json"];
    let by_variant: Value = serde_json::from_str(&place.prints_of(&json)).unwrap();
    let names: Vec<&Value> = by_variant["sides"]
        .as_array()
        .unwrap()
        .iter()
        .map(|side| &side["name"])
        .collect();
    assert_eq!(names, ["plain", "filter"]);
    let rows = by_variant["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 4, "{by_variant:#}");
    assert!(
        rows.iter()
            .all(|row| row["sides"].as_array().unwrap().len() == 2)
    );
    let latency = rows.iter().find(|row| row["metric"] == "latency").unwrap();
    assert_eq!(
        (&latency["sides"][0]["mean"], &latency["sides"][1]["mean"]),
        (&11.5.into(), &12.5.into())
    );

    assert!(
        place
            .prints_of(&["compare", "base", "--by", "size"])
            .contains("latency")
    );
    let wrong = place.ends(&["compare", "base", "--by", "sise"]);
    wrong.assert_code(2);
    wrong.assert_says(&["sise"]);
    for arguments in [
        &["compare", "base"][..],
        &["compare"],
        &["compare", "base", "new", "--by", "variant"],
        &["compare", "base", "new", "--confidence", "120"],
    ] {
        let wrong = place.ends(arguments);
        wrong.assert_code(2);
        assert!(wrong.bytes.is_empty());
    }
}

#[test]
fn a_report_is_one_page_with_every_output() {
    let place = known();
    place
        .ends(&["report", "base", "-o", "page.html"])
        .assert_says(&["page.html"]);
    let page = place.read("page.html");
    for part in [
        "<!doctype html>",
        "<svg",
        "latency",
        "filter",
        "seconds=10 rate=100",
        "rounds = 4",
    ] {
        assert!(page.contains(part), "{part} is not in the page");
    }
    // Self-contained: nothing is fetched.
    for outside in ["src=\"http", "href=\"http", "@import", "url(http"] {
        assert!(!page.contains(outside), "{outside} is in the page");
    }
    place.ends(&["report", "base"]).assert_code(0);
    assert_eq!(place.read("base.html").len(), page.len());
    place
        .ends(&["report", "base", "-o", "no/such/folder/page.html"])
        .assert_code(2);
}

#[test]
fn what_failed_is_in_every_comparison_and_never_a_number() {
    let place = Place::new();
    place.prints(
        "half",
        "n=$(wc -l < @/calls); echo x >> @/calls; test $n -ge 2 && echo 42",
    );
    place.prints("never", "exit 3");
    place.plan("use = [\"half\", \"never\"]\nrounds = 4\n");
    place.write("calls", "");
    place
        .ends(&["run", "plan.toml", "--name", "old"])
        .assert_code(1);
    place
        .ends(&["run", "plan.toml", "--name", "new"])
        .assert_code(1);
    let failed: Vec<Trial> = place
        .trials("old")
        .into_iter()
        .filter(|trial| !trial.measured())
        .collect();
    assert_eq!(failed.len(), 6, "{failed:#?}");
    let json: Value =
        serde_json::from_str(&place.prints_of(&["compare", "old", "new", "--format", "json"]))
            .unwrap();
    let of = |benchmark: &str| {
        json["rows"]
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row["benchmark"] == benchmark)
            .unwrap_or(&Value::Null)
    };
    assert_eq!(
        (
            &of("half")["sides"][0]["trials"],
            &of("half")["sides"][0]["failed_trials"]
        ),
        (&2.into(), &2.into())
    );
    assert_eq!(of("half")["sides"][1]["trials"], 4);
    assert!(
        of("never")["sides"][0]["missing"]
            .as_str()
            .unwrap()
            .contains("4 trials failed"),
        "{json:#}"
    );
    assert!(of("never")["sides"][0]["mean"].is_null());
    assert!(!json["warnings"].as_array().unwrap().is_empty());
    let csv = place.prints_of(&["compare", "old", "new", "--format", "csv"]);
    assert!(
        csv.lines()
            .any(|line| line.starts_with("never,") && line.contains("4 trials failed")),
        "{csv}"
    );
    for page in [
        place.prints_of(&["compare", "old", "new"]),
        place.prints_of(&["compare", "old", "new", "--format", "markdown"]),
        place.prints_of(&["compare", "old", "new", "--format", "html"]),
    ] {
        assert!(page.contains("never") && page.contains("failed"), "{page}");
    }
}

#[test]
fn sets_of_different_plans_are_compared_where_they_meet() {
    let place = Place::new();
    for name in ["one", "two", "three"] {
        place.prints(name, "echo 42");
    }
    for (study, plan) in [
        ("left", "use = [\"one\", \"two\"]\nrounds = 1\n"),
        ("right", "use = [\"two\", \"three\"]\nrounds = 1\n"),
    ] {
        place.plan(plan);
        place
            .ends(&["run", "plan.toml", "--name", study])
            .assert_code(0);
    }
    let json: Value =
        serde_json::from_str(&place.prints_of(&["compare", "left", "right", "--format", "json"]))
            .unwrap();
    let rows = json["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 3, "{json:#}");
    for (benchmark, missing) in [("one", Some(1)), ("two", None), ("three", Some(0))] {
        let row = rows
            .iter()
            .find(|row| row["benchmark"] == benchmark)
            .unwrap();
        for side in 0..2 {
            assert_eq!(
                row["sides"][side]["missing"].is_string(),
                missing == Some(side),
                "{row:#}"
            );
        }
    }
}

#[test]
fn a_study_that_was_stopped_half_way_is_compared_as_far_as_it_came() {
    let place = Place::new();
    place.logged("logged");
    place.plan("use = [\"logged\"]\nrounds = 3\n");
    place.hold("run", 3);
    let run = place.begins(&["run", "plan.toml", "--name", "s"]);
    place.until_held("run");
    // While it is measured, too.
    assert!(place.prints_of(&["compare", "s", "s"]).contains("n=2"));
    run.after_sigkill();
    place.release("run");
    let text = place.prints_of(&["compare", "s", "s"]);
    assert!(text.contains("n=2"), "{text}");
}
