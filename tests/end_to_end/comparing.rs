//! `compare` and `report`, on sets whose numbers are known.

use serde_json::Value;

use crate::place::{Place, Trial, VALUE};

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
         [metric.latency]\nunit = \"s\"\nbetter = \"lower\"\nprimary = true\nregex = 'seconds=(?<value>\\d+)'\n\
         [metric.rate]\nunit = \"ops/s\"\nbetter = \"higher\"\nprimary = true\nregex = 'rate=(?<value>\\d+)'\n",
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

#[test]
fn a_study_over_two_parameters_is_a_matrix() {
    let place = Place::new();
    place.script(
        "known",
        "#!/bin/sh\n[ $1-$2 = 1-2 ] && exit 1\nn=$(cat /proc/sys/kernel/random/uuid | cut -c1 | tr a-f 0-5)\n\
         echo \"seconds=$(( 1000 * $2 * (1 + $1) + n )) rate=$(( 100000 / $2 / (1 + $1) + n ))\"\n",
    );
    place.benchmark(
        "known",
        "[params]\nsize = { default = 1 }\nextra = { default = 0 }\n\
         [tester]\nrun = \"@/known {extra} {size}\"\n\
         [metric.latency]\nunit = \"s\"\nbetter = \"lower\"\nprimary = true\nregex = 'seconds=(?<value>\\d+)'\n\
         [metric.rate]\nunit = \"ops/s\"\nbetter = \"higher\"\nprimary = true\nregex = 'rate=(?<value>\\d+)'\n",
    );
    let plan = "use = [\"known\"]\nrounds = 4\n[params]\nsize = [1, 2, 4]\n\
         [[variant]]\nname = \"plain\"\n[[variant]]\nname = \"<b>filter\"\nparams = { extra = 1 }\n\
         [[leave-out]]\nvariant = \"filter\"\nparams = { size = 4 }\n"
        .replace("<b>", "");
    for (limits, said) in [
        (
            "\"known.rat\" = \"1 ops/s\"",
            "no benchmark of the plan has a metric",
        ),
        ("\"known.rate\" = \"1 Gbit/s\"", "no amount of ops/s"),
        ("\"known.rate\" = \"0 ops/s\"", "a limit is above zero"),
    ] {
        place.plan(&format!("{plan}[limits]\n{limits}\n"));
        let refused = place.ends(&["run", "plan.toml", "--name", "none", "--quiet"]);
        refused.assert_code(2);
        assert!(refused.stderr.contains(said), "{}", refused.stderr);
    }
    place.plan(&format!(
        "{plan}[limits]\n\"known.rate\" = \"125 kops/s\"\n"
    ));
    place.ends(&["run", "plan.toml", "--name", "sizes", "--quiet"]);
    let axes = "rows=variant,columns=size";
    let text = place.prints_of(&["show", "sizes", "--matrix", axes]);
    for part in [
        "sizes: variant × size",
        "n/a",
        "not measured",
        "speed-up to size=1",
        "share of 125",
        "80 %",
        "- filter and 2: all 4 trials failed",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let matrix = |axes: &str| -> Value {
        let printed = place.prints_of(&["show", "sizes", "--matrix", axes, "--format", "json"]);
        serde_json::from_str(&printed).unwrap()
    };
    let by_column = matrix("rows=variant,columns=size,metric=latency");
    let [table] = &by_column["tables"].as_array().unwrap()[..] else {
        panic!("one metric is one table: {by_column:#}")
    };
    let cell = |row: usize, column: usize| &table["rows"][row]["cells"][column];
    assert_eq!(table["columns"], serde_json::json!(["1", "2", "4"]));
    assert!(cell(0, 0)["speed_up"].is_null(), "the base has none");
    let near = |cell: &Value, times: f64| {
        let ratio = cell["speed_up"]["ratio"].as_f64().unwrap();
        assert!((ratio / times - 1.0).abs() < 0.02, "{cell:#}");
    };
    // Twice the duration is half as good.
    near(cell(0, 1), 0.5);
    near(cell(0, 2), 0.25);
    assert_eq!(cell(0, 2)["speed_up"]["verdict"], "worse");
    assert_eq!(cell(1, 1)["state"], "not-measured");
    assert_eq!(cell(1, 2)["state"], "not-applicable");
    // To a row, and of the other metric.
    let by_row = matrix("rows=variant,columns=size,base=filter,metric=rate");
    let cell = &by_row["tables"][0]["rows"][0]["cells"][0];
    near(cell, 2.0);
    let share = cell["utilisation"].as_f64().unwrap();
    assert!((share - 0.8).abs() < 0.001, "{cell:#}");
    let page = place.prints_of(&["show", "sizes", "--matrix", axes, "--format", "html"]);
    assert!(page.contains("shade-8\">80 %</span>"), "{page}");
    // Its plan says no axes: the first two.
    let first = place.prints_of(&["show", "sizes", "--matrix"]);
    assert!(first.contains("variant × size"), "{first}");
    for (axes, code, said) in [
        ("rows=variant", 2, "`columns` is missing"),
        ("rows=size,columns=size", 2, "both size"),
        ("rows=variant,columns=sizes", 2, "did you mean `size`"),
        (
            "rows=variant,columns=size,base=9",
            2,
            "no row or column is `9`",
        ),
        (
            "rows=variant,columns=size,metric=loss",
            2,
            "no cell of this study has a metric",
        ),
    ] {
        let refused = place.ends(&["show", "sizes", "--matrix", axes]);
        refused.assert_code(code);
        assert!(refused.stderr.contains(said), "{}", refused.stderr);
    }
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
        text.contains("11.5 ±11 %")
            && text.contains("23.0 ±11 %")
            && text.contains("+100 % [+21, +230]"),
        "{text}"
    );
    assert!(
        place
            .prints_of(&["compare", "base", "new", "--ratio"])
            .contains("geometric mean")
    );

    let markdown = place.prints_of(&["compare", "base", "new", "--format", "markdown"]);
    assert_eq!(
        markdown.lines().next(),
        Some("**new against base: 4 worse, 4 better**"),
        "{markdown}"
    );
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
        (&100.0.into(), &2.0.into())
    );
    assert_eq!(
        (&difference["verdict"], &difference["sentence"]),
        (&"worse".into(), &"worse".into())
    );
    assert_eq!(
        (&difference["unit_of_replication"], &difference["units"][0]),
        (&"trial".into(), &4.into())
    );
    assert_eq!(
        (
            &json["sides"][1]["tally"]["worse"],
            &json["sides"][1]["tally"]["better"]
        ),
        (&4.into(), &4.into())
    );
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
        .assert_code(1);
    assert_eq!(place.read("file.csv"), csv);
}

/// Studies `base` and `new` of a primary metric and of secondary ones of which one, `size`, doubles in `new` and two don't.
fn with_secondary_metrics() -> Place {
    let place = Place::new();
    place.script(
        "told",
        "#!/bin/sh\nfactor=$(cat $(dirname \"$0\")/factor)\necho \"time=100 size=$((factor * 7)) calls=5 pages=9\"\n",
    );
    let metric = |name: &str, mark: &str| {
        format!(
            "[metric.{name}]\nunit = \"count\"\nbetter = \"lower\"\n{mark}regex = '{name}=(?<value>\\d+)'\n"
        )
    };
    let metrics = metric("calls", "") + &metric("size", "") + &metric("pages", "");
    place.benchmark(
        "told",
        &format!(
            "[tester]\nrun = \"@/told\"\n{metrics}{}",
            metric("time", "primary = true\n")
        ),
    );
    place.plan("use = [\"told\"]\nrounds = 4\n");
    for (study, factor) in [("base", "1"), ("new", "2")] {
        place.write("factor", factor);
        let run = place.ends(&["run", "plan.toml", "--name", study]);
        run.assert_code(0);
        assert!(
            run.stdout().contains("… and 3 secondary metrics"),
            "{}",
            run.stdout()
        );
    }
    place
}

#[test]
fn what_a_benchmark_is_run_for_stands_first_and_raises_the_alarm() {
    let place = with_secondary_metrics();
    // `calls` stands first in the definition, `time` is marked; of the others the one that differs is shown.
    let text = place.prints_of(&["compare", "base", "new"]);
    let at = |what: &str| {
        text.find(what)
            .unwrap_or_else(|| panic!("no {what}: {text}"))
    };
    assert!(at("time count") < at("size count"), "{text}");
    assert!(!text.contains("calls"), "{text}");
    assert!(text.contains("; of secondary metrics 1 worse"), "{text}");
    assert!(text.contains("… and 2 secondary metrics, none different; --all-metrics shows them"));
    let all = place.ends(&["compare", "base", "new", "--all-metrics"]);
    all.assert_code(1);
    assert!(
        all.stdout().contains("calls") && !all.stdout().contains("… and"),
        "{}",
        all.stdout()
    );
    let markdown = place.prints_of(&["compare", "base", "new", "--format", "markdown"]);
    assert!(markdown.contains("… and 2 secondary metrics"), "{markdown}");
    let json = place.prints_of(&["compare", "base", "new", "--format", "json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    let primary: Vec<(&str, bool)> = (json["rows"].as_array().unwrap().iter())
        .map(|row| {
            (
                row["metric"].as_str().unwrap(),
                row["primary"].as_bool().unwrap(),
            )
        })
        .collect();
    let wanted = [
        ("time", true),
        ("size", false),
        ("calls", false),
        ("pages", false),
    ];
    assert_eq!(primary, wanted);
    assert_eq!(json["sides"][1]["tally"]["worse"], 0);
    assert_eq!(json["sides"][1]["tally_of_secondary"]["worse"], 1);
    let csv = place.prints_of(&["compare", "base", "new", "--format", "csv"]);
    assert_eq!(
        csv.lines()
            .filter(|line| line.contains(",time,true,"))
            .count(),
        2,
        "{csv}"
    );
    let page = place.prints_of(&["compare", "base", "new", "--format", "html"]);
    assert!(page.contains("Secondary metrics, none different <small>2</small>"));
    // What was exported and imported again knows them still.
    place.prints_of(&["export", "new", "--format", "json", "-o", "new.json"]);
    place
        .ends(&["import", "json", "new.json", "--as", "again"])
        .assert_code(0);
    let again = place.prints_of(&["compare", "base", "again", "--format", "json"]);
    let again: Value = serde_json::from_str(&again).unwrap();
    for row in again["rows"].as_array().unwrap() {
        assert_eq!(row["primary"], row["metric"] == "time", "{row:#}");
        assert!(row["sides"][1]["mean"].is_f64(), "{row:#}");
    }
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
    // `never` could be judged on neither side.
    let compared = |format: &str| {
        let ended = place.ends(&["compare", "old", "new", "--format", format]);
        ended.assert_code(3);
        ended.stdout()
    };
    let json: Value = serde_json::from_str(&compared("json")).unwrap();
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
    let csv = compared("csv");
    assert!(
        csv.lines()
            .any(|line| line.starts_with("never,") && line.contains("4 trials failed")),
        "{csv}"
    );
    for page in [compared("text"), compared("markdown"), compared("html")] {
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

/// Two files of numbers, slow and fast, and what is wrong with others.
fn numbers() -> Place {
    let place = Place::new();
    place.write("before.txt", "# seconds\n3.5\n3.1\n3.9\n");
    place.write("after.txt", "4.5\n4.1\n4.9\n");
    place.write("one.txt", "3.5\n");
    place.write("empty.txt", "# nothing\n\n");
    place.write("broken.txt", "1\n2\n3\n4\n5\n6\nseven\n8\n");
    place.write(
        "cells-before.csv",
        "read 4k,10.1\nread 4k,10.2\nread 4k,9.9\nsync,5\nsync,5\nsync,5\n",
    );
    place.write(
        "cells-after.csv",
        "sync,5\nsync,5\nsync,5\nread 4k,20.1\nread 4k,20.2\nread 4k,19.9\nnew,1\n",
    );
    place
}

#[test]
fn files_of_numbers_are_compared_without_a_store() {
    let place = numbers();
    let text = place.prints_of(&["compare", "before.txt", "after.txt", "--better", "lower"]);
    for part in [
        "after.txt against before.txt: 1 worse",
        "3.50 ±11 % n=3",
        "+29 % [+2, +64]",
        "worse",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    let higher = place.prints_of(&["compare", "before.txt", "after.txt", "--better", "higher"]);
    assert!(
        higher.contains("+29 % [") && higher.contains("better"),
        "{higher}"
    );
    let with_unit = [
        "compare",
        "before.txt",
        "after.txt",
        "--better",
        "lower",
        "--unit",
        "ms",
        "--digits",
        "8",
    ];
    let text = place.prints_of(&with_unit);
    assert!(
        text.contains("value ms") && text.contains("+28.57142857 %"),
        "{text}"
    );

    let cells = [
        "compare",
        "cells-before.csv",
        "cells-after.csv",
        "--better",
        "higher",
        "--format",
        "json",
    ];
    let json: Value = serde_json::from_str(&place.prints_of(&cells)).unwrap();
    let verdict = |name: &str| {
        let rows = json["rows"].as_array().unwrap();
        let row = rows
            .iter()
            .find(|row| row["params"]["name"] == name || row["benchmark"] == name)
            .unwrap_or_else(|| panic!("no {name} in {json:#}"));
        row["sides"][1]["difference"]["sentence"].clone()
    };
    assert_eq!(verdict("read 4k"), "better");
    assert_eq!(verdict("sync"), "no change: all alike");
    assert_eq!(verdict("new"), Value::Null, "one side has it only");
    assert_eq!(json["sides"][1]["tally"]["missing"], 1);
}

#[test]
fn three_files_and_every_format_and_the_page_have_every_number() {
    let place = numbers();
    let of = |format: &str| {
        place.prints_of(&[
            "compare",
            "before.txt",
            "after.txt",
            "one.txt",
            "--better",
            "lower",
            "--format",
            format,
        ])
    };
    for format in ["text", "markdown", "csv", "json", "html"] {
        let written = of(format);
        for part in [
            "before.txt",
            "after.txt",
            "one.txt",
            "worse",
            "too few repeats",
        ] {
            let escaped = part.replace('_', "\\_");
            assert!(
                written.contains(part) || written.contains(&escaped),
                "{format}: {part}: {written}"
            );
        }
    }
    let page = of("html");
    assert!(
        page.contains("<svg") && page.matches("class=\"whisker\"").count() >= 3,
        "{page}"
    );
    assert!(!page.contains("NaN") && !page.contains("id=\"trials\""));
}

#[test]
fn the_table_of_mmtests_has_its_figures() {
    let place = numbers();
    let of = |more: &[&str]| {
        let mut arguments = vec![
            "compare",
            "before.txt",
            "after.txt",
            "--better",
            "lower",
            "--style",
            "mmtests",
        ];
        arguments.extend(more);
        place.prints_of(&arguments)
    };
    let table = of(&[]);
    for (name, base, new) in [
        ("Min ", "3.10 (   0.00%)", "4.10 ( -32.26%)"),
        ("Amean", "3.50 (   0.00%)", "4.50 ( -28.57%)"),
        ("Stddev", "0.40 (   0.00%)", "0.40 (   0.00%)"),
        ("CoeffVar", "11.43 (   0.00%)", "8.89 (  22.22%)"),
        ("Max", "3.90 (   0.00%)", "4.90 ( -25.64%)"),
        ("BAmean.95", "3.30 (   0.00%)", "4.30 ( -30.30%)"),
        ("Pctile.99", "3.50 (   0.00%)", "4.50 ( -28.57%)"),
        ("Verdict", "", "worse, −28.57 % [−63.72, −2.36]"),
    ] {
        let line = table
            .lines()
            .find(|line| line.starts_with(name))
            .unwrap_or_default();
        assert!(line.contains(base) && line.contains(new), "{name}: {table}");
    }
    assert!(
        of(&["--digits", "8"]).contains("4.50000000 ( -28.57142857%)"),
        "{}",
        of(&["--digits", "8"])
    );
    assert!(of(&["--format", "markdown"]).starts_with("```text\n"));
    let refused = place.ends(&[
        "compare",
        "before.txt",
        "after.txt",
        "--better",
        "lower",
        "--style",
        "mmtests",
        "--format",
        "csv",
    ]);
    refused.assert_code(2);
}

#[test]
fn the_exit_status_is_what_a_script_asked_for() {
    let place = numbers();
    for (files, more, status) in [
        (["before.txt", "after.txt"], &[][..], 1),
        (["after.txt", "before.txt"], &[], 0),
        (["before.txt", "one.txt"], &[], 0),
        (["before.txt", "after.txt"], &["--fail-on", "worse"], 1),
        (["before.txt", "after.txt"], &["--threshold", "20"], 1),
        (
            ["before.txt", "after.txt"],
            &["--fail-on", "worse", "--threshold", "30"],
            0,
        ),
        (
            ["before.txt", "after.txt"],
            &["--fail-on", "never", "--threshold", "1"],
            0,
        ),
        (["after.txt", "before.txt"], &["--fail-on", "worse"], 0),
        (["after.txt", "before.txt"], &["--fail-on", "any-change"], 1),
        (["before.txt", "one.txt"], &["--fail-on", "worse"], 0),
        (
            ["before.txt", "one.txt"],
            &["--fail-on", "worse,cant-tell"],
            3,
        ),
        (["before.txt", "before.txt"], &["--fail-on", "cant-tell"], 3),
        (
            ["before.txt", "before.txt"],
            &["--fail-on", "cant-tell", "--margin", "50"],
            0,
        ),
        (["before.txt", "empty.txt"], &["--fail-on", "never"], 2),
    ] {
        let mut arguments = vec!["compare", files[0], files[1], "--better", "lower"];
        arguments.extend(more);
        place.ends(&arguments).assert_code(status);
    }
}

#[test]
fn what_is_wrong_with_files_is_said_with_the_way_out() {
    let place = numbers();
    for (arguments, said) in [
        (&["before.txt", "after.txt"][..], &["--better lower"][..]),
        (
            &["before.txt", "broken.txt", "--better", "lower"],
            &["broken.txt, line 7", "`seven`", "CELL VALUE"],
        ),
        (
            &["before.txt", "empty.txt", "--better", "lower"],
            &["empty.txt has no numbers"],
        ),
        (
            &["before.txt", "lost.txt", "--better", "lower"],
            &["no file `lost.txt`"],
        ),
        (
            &["before.txt", "base", "--better", "lower"],
            &["no file `base`", "files are compared with files"],
        ),
        (
            &["before.txt", "--better", "lower"],
            &["nothing to compare before.txt with"],
        ),
        (&["-", "-", "--better", "lower"], &["read once"]),
        (
            &[
                "before.txt",
                "after.txt",
                "--better",
                "lower",
                "--by",
                "variant",
            ],
            &["--by variant"],
        ),
        (
            &["before.txt", "after.txt", "--better", "bigger"],
            &["bigger"],
        ),
        (
            &[
                "before.txt",
                "after.txt",
                "--better",
                "lower",
                "--unit",
                "furlong",
            ],
            &["furlong"],
        ),
        (
            &[
                "before.txt",
                "after.txt",
                "--better",
                "lower",
                "--margin=-1",
            ],
            &["margin"],
        ),
    ] {
        let mut all = vec!["compare"];
        all.extend(arguments);
        let wrong = place.ends(&all);
        wrong.assert_code(2);
        wrong.assert_says(said);
    }
}

#[test]
fn a_name_that_is_a_file_and_a_study_is_asked_about() {
    let place = Place::new();
    place.prints("one", "echo 42");
    place.plan("use = [\"one\"]\nrounds = 1\n");
    for study in ["base", "new"] {
        place
            .ends(&["run", "plan.toml", "--name", study])
            .assert_code(0);
        place.write(study, "1\n2\n3\n");
    }
    let wrong = place.ends(&["compare", "base", "new", "--better", "lower"]);
    wrong.assert_code(2);
    wrong.assert_says(&["a file here and a study in the store", "./base"]);
    let files = place.prints_of(&["compare", "./base", "./new", "--better", "lower"]);
    assert!(files.contains("2.0 ±50 %"), "{files}");
    assert!(place.prints_of(&["compare", "1", "2"]).contains("study 1"));
}

#[test]
fn counts_of_a_simulator_are_believed_after_two_trials_and_the_notes_say_why() {
    let place = Place::new();
    place.benchmark(
        "count",
        "[tester]\nrun = \"cat @/count\"\n[metric.count]\nunit = \"instructions\"\nbetter = \"lower\"\n\
         simulated = true\nregex = '(?<value>\\d+)'\n",
    );
    place.plan("use = [\"count\"]\nrounds = 2\n");
    for (study, count) in [
        ("base", "2000000"),
        ("same", "2000000"),
        ("more", "2000050"),
    ] {
        place.write("count", count);
        place
            .ends(&["run", "plan.toml", "--name", study, "--quiet"])
            .assert_code(0);
    }
    let same = place.prints_of(&["compare", "base", "same"]);
    assert!(same.contains("no change: all alike"), "{same}");
    let more = place.prints_of(&["compare", "base", "more"]);
    let words = more.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("(all alike) worse"), "{more}");
    assert!(
        words.contains("warning: 1 row: counted by a simulator: repeats agree by construction"),
        "{more}"
    );
    let json = place.prints_of(&["compare", "base", "more", "--format", "json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["rows"][0]["simulator"], "program");
    let page = place.prints_of(&["compare", "base", "more", "--format", "html"]);
    assert!(
        page.contains("counted by a simulator") && !page.contains("NaN"),
        "{page}"
    );
}

/// A place whose benchmark `quick` runs this and says its version, measured thrice as `base`.
fn measured_by(command: &str) -> Place {
    let place = Place::new();
    place.write("version", "quick 1.0\n");
    quick_by(&place, "a test's own", command);
    place.monitor("sleeper", "sleep 1000");
    place.plan("use = [\"quick\"]\nrounds = 3\n");
    place.prints_of(&["run", "plan.toml", "--name", "base"]);
    place
}

fn quick_by(place: &Place, about: &str, command: &str) {
    let here = place.at("");
    let text = format!(
        "name = \"quick\"\nabout = \"{about}\"\nroles = [\"tester\"]\nversion = \"cat {here}version\"\n\
         [params]\nn = {{ default = 1 }}\n[tester]\nrun = '''{command}'''\n{VALUE}"
    );
    place.write("benchmarks/quick.toml", text);
}

#[test]
fn what_was_measured_in_another_way_is_not_compared_unless_that_is_asked_for() {
    let place = measured_by("echo 1{n}");
    let against_base = |name: &str, more: &[&str]| {
        place.prints_of(&["run", "plan.toml", "--name", name]);
        place.ends(&[&["compare", "base", name], more].concat())
    };
    // Prose is no difference.
    quick_by(&place, "in other words", "echo 1{n}");
    against_base("prose", &[]).assert_code(0);

    quick_by(&place, "a test's own", "echo 2{n}");
    let ended = against_base("command", &[]);
    ended.assert_code(3);
    ended.assert_says(&[
        "not comparable",
        "the command differs",
        "the command of `quick`, tester.run: `echo 1{n}` → `echo 2{n}`",
        "`--despite definition` compares all the same",
    ]);
    let despite = ["compare", "base", "command", "--despite", "definition"];
    let ended = place.ends(&despite);
    ended.assert_code(1);
    ended.assert_says(&["worse", "1 row compared despite that"]);
    place
        .ends(&["compare", "base", "command", "--fail-on", "never"])
        .assert_code(0);

    quick_by(&place, "a test's own", "echo 1{n}");
    place.write("version", "quick 2.0\n");
    let ended = against_base("newer", &[]);
    ended.assert_code(3);
    ended.assert_says(&["the tool's version differs", "`quick 1.0` → `quick 2.0`"]);
    place.write("version", "quick 1.0\n");

    place.plan("use = [\"quick\"]\nrounds = 3\nmonitors = [\"sleeper\"]\n");
    let ended = against_base("watched", &[]);
    ended.assert_code(3);
    ended.assert_says(&[
        "the monitors differ",
        "the monitor `sleeper`, watches: `no` → `yes`",
    ]);

    place.plan("use = [\"quick\"]\nrounds = 3\n[params]\nn = 2\n");
    let ended = against_base("parameter", &[]);
    ended.assert_code(3);
    ended.assert_says(&["parameters differ: n: 1 → 2"]);
}

#[test]
fn a_variant_that_is_set_up_in_another_way_is_not_the_same_variant() {
    let place = measured_by("echo 1{n}");
    let plan = |set_up: &str| {
        place.plan(&format!(
            "use = [\"quick\"]\nrounds = 3\n[[variant]]\nname = \"plain\"\n[[variant]]\nname = \"filter\"\n\
             tester.setup = \"{set_up}\"\n"
        ));
    };
    for (set_up, name) in [("true", "one"), ("true", "same"), ("test 1 = 1", "other")] {
        plan(set_up);
        place.prints_of(&["run", "plan.toml", "--name", name]);
    }
    place.ends(&["compare", "one", "same"]).assert_code(0);
    let ended = place.ends(&["compare", "one", "other"]);
    ended.assert_code(3);
    ended.assert_says(&[
        "the variant's set-up differs",
        "the set-up of variant `filter`, tester.setup: `true` → `test 1 = 1`",
        "1 row not comparable",
        "`--despite definition` compares all the same",
    ]);
    // The plain variant is what it was.
    let json: Value = serde_json::from_slice(
        &place
            .ends(&["compare", "one", "other", "--format", "json"])
            .bytes,
    )
    .unwrap();
    let rows = json["rows"].as_array().unwrap();
    let refused = |variant: &str| {
        let row = rows.iter().find(|row| row["variant"] == variant).unwrap();
        row["sides"][1]["difference"]["not_comparable"].is_string()
    };
    assert!(refused("filter") && !refused("plain"), "{json:#}");
    // Within a study the set-up is what is asked about.
    place
        .ends(&["compare", "other", "--by", "variant"])
        .assert_code(0);
    place
        .ends(&["compare", "one", "other", "--despite", "definition"])
        .assert_code(0);
}

#[test]
fn a_row_that_one_side_could_not_measure_is_no_pass() {
    let place = measured_by("echo 1{n}");
    place.prints("other", "test -e @/fine && echo 3");
    place.write("fine", "");
    place.plan("use = [\"quick\", \"other\"]\nrounds = 2\n");
    place.prints_of(&["run", "plan.toml", "--name", "both"]);
    // Only one of them is in the plan of the other side: that was nobody's failure.
    let ended = place.ends(&["compare", "base", "both"]);
    ended.assert_code(0);
    ended.assert_says(&["not in its plan"]);
    std::fs::remove_file(place.path("fine")).unwrap();
    place
        .ends(&["run", "plan.toml", "--name", "failed"])
        .assert_code(1);
    let ended = place.ends(&["compare", "both", "failed"]);
    ended.assert_code(3);
    ended.assert_says(&["all 2 trials failed"]);
}

#[test]
fn a_cell_that_a_plan_leaves_out_is_said_to_be_not_in_it() {
    let place = measured_by("echo 1{n}");
    let plan = "use = [\"quick\"]\nrounds = 2\n[params]\nn = [1, 2]\n\
        [[variant]]\nname = \"plain\"\n[[variant]]\nname = \"filter\"\n";
    place.plan(plan);
    place.prints_of(&["run", "plan.toml", "--name", "whole"]);
    place.plan(&format!(
        "{plan}[[leave-out]]\nvariant = \"filter\"\nparams = {{ n = 2 }}\n"
    ));
    place.prints_of(&["run", "plan.toml", "--name", "part"]);
    for arguments in [&["part", "--by", "variant"][..], &["whole", "part"]] {
        let ended = place.ends(&[&["compare"], arguments].concat());
        ended.assert_code(0);
        ended.assert_says(&["not in its plan"]);
        assert!(
            !ended.words().contains("parameters differ"),
            "{}",
            ended.words()
        );
    }
    let by = place.ends(&["compare", "part", "--by", "n"]);
    by.assert_says(&["not in its plan"]);
    // One value only on one of the sides, and none in common.
    place.plan("use = [\"quick\"]\nrounds = 2\n[params]\nn = 3\n");
    place.prints_of(&["run", "plan.toml", "--name", "other"]);
    let ended = place.ends(&["compare", "base", "other"]);
    ended.assert_says(&["parameters differ: n: 1 → 3"]);
}

#[test]
fn a_load_generator_that_was_the_limit_itself_is_said_beside_its_numbers() {
    let place = Place::new();
    // Eight at a time have more than one processor's work done, whatever else runs on the machine.
    let busy = "for i in 1 2 3 4 5 6 7 8; do (n=0; while [ $n -lt 50000 ]; do n=$((n + 1)); done) & done; wait; echo 5 s";
    let of = |name: &str, processors: &str, run: &str| {
        let benchmark = format!(
            "[params]\nthreads = {{ default = 1 }}\n[tester]\nprocessors = {processors}\nrun = \"{run}\"\n\
             [metric.time]\nunit = \"s\"\nbetter = \"lower\"\nregex = \"(?<value>[0-9]+) s\"\n"
        );
        place.benchmark(name, &benchmark);
    };
    of("bound", "\"{threads}\"", busy);
    of("free", "1000", busy);
    of("idle", "1", "sleep 0.1; echo 5 s");
    place.plan("use = [\"bound\", \"free\", \"idle\"]\nrounds = 2\n");
    let ended = place.ends(&["run", "plan.toml", "--name", "s"]);
    ended.assert_code(0);
    ended.assert_says(&[
        "2 of 6 trials of `s`: `tester` on ",
        " was the limit, and not what it loads: it used 95 % or more of the processors that it can use (1)",
    ]);
    place.plan("use = [\"bound\"]\nrounds = 1\n[params]\nthreads = 0\n");
    let ended = place.ends(&["run", "plan.toml", "--name", "t"]);
    ended.assert_says(&["`0` is no number of processors: expected 1 or more"]);
    for (processors, part) in [
        ("0", "0 processors: expected 1 or more"),
        (
            "\"{theads}\"",
            "`{theads}` is not defined in this benchmark",
        ),
        ("true", "a number of processors or a placeholder"),
    ] {
        of("bound", processors, busy);
        let ended = place.ends(&["run", "plan.toml"]);
        ended.assert_code(2);
        ended.assert_says(&[part]);
    }
}

#[test]
fn what_lies_outside_its_bounds_of_validity_is_said_beside_its_numbers() {
    let place = Place::new();
    let measures = "[tester]\nrun = \"echo 5 s, cpu 99\"\n\
        [metric.time]\nunit = \"s\"\nbetter = \"lower\"\nregex = \"(?<value>[0-9]+) s\"\n\
        [metric.cpu]\nunit = \"%\"\nbetter = \"lower\"\nregex = \"cpu (?<value>[0-9]+)\"\n";
    for (name, limit) in [("bound", 95), ("free", 100)] {
        let valid = format!("valid = \"cpu < {limit}: the client is the bottleneck\"\n{measures}");
        place.benchmark(name, &valid);
    }
    place.plan("use = [\"bound\", \"free\"]\nrounds = 2\n");
    let ended = place.ends(&["run", "plan.toml", "--name", "s"]);
    ended.assert_code(0);
    let said =
        "2 of 4 trials of `s`: the client is the bottleneck: cpu is 99, and has to be cpu < 95";
    ended.assert_says(&[said]);
    assert!(
        place
            .prints_of(&["show", "s"])
            .contains("the client is the bottleneck")
    );
    place
        .ends(&["run", "plan.toml", "--name", "t"])
        .assert_code(0);
    let compared = place.prints_of(&["compare", "s", "t"]);
    assert!(compared.contains("2 of 4 trials of `t`"), "{compared}");
    for (valid, part) in [("speed < 3", "no metric"), ("cpu = 3", "no condition")] {
        place.benchmark("free", &format!("valid = \"{valid}\"\n{measures}"));
        let ended = place.ends(&["run", "plan.toml"]);
        ended.assert_code(2);
        ended.assert_says(&[part]);
    }
}
