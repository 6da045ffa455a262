//! `detect`: change points of anybody's numbers, from files, from standard input, from studies.

use serde_json::Value;
use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use crate::place::Place;

/// A number that looks like noise, between −1 and 1, the same in every run.
fn noise(i: usize) -> f64 {
    let mut x = (i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x ^= x >> 29;
    x = x.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x ^= x >> 32;
    (x >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// A series that is 10 more from its 60th version on, if it steps.
fn value(series: usize, version: usize, steps: bool) -> f64 {
    let level = if steps && version >= 60 { 110.0 } else { 100.0 };
    level + noise(series * 1000 + version)
}

/// A long table of this many series, of which every fifth steps; in the order of versions.
fn long(series: usize) -> String {
    let mut text = "bench,commit,ms\n".to_owned();
    for version in 0..100 {
        for one in 0..series {
            let value = value(one, version, one % 5 == 0);
            text.push_str(&format!("b{one},c{version},{value}\n"));
        }
    }
    text
}

fn json(place: &Place, arguments: &[&str]) -> Value {
    let mut all = vec!["detect"];
    all.extend(arguments);
    all.extend(["--format", "json"]);
    serde_json::from_str(&place.prints_of(&all)).unwrap()
}

/// Asserts that there is one change, at the 60th version, 10% up.
fn assert_steps(series: &Value) {
    let changes = series["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 1, "{series:#}");
    let change = &changes[0];
    assert_eq!(change["between"]["at"]["number"], 61, "{change:#}");
    assert_eq!(change["believed"], true);
    assert!(
        (change["percent"].as_f64().unwrap() - 10.0).abs() < 1.0,
        "{change:#}"
    );
    let interval = change["percent_interval"].as_array().unwrap();
    assert!(interval[0].as_f64() < change["percent"].as_f64());
    assert!(change["percent"].as_f64() < interval[1].as_f64());
}

#[test]
fn a_step_is_found_in_every_kind_of_table() {
    let place = Place::new();
    let values: Vec<f64> = (0..100).map(|version| value(0, version, true)).collect();
    let lines = |line: &dyn Fn(usize, f64) -> String| -> String {
        values
            .iter()
            .enumerate()
            .map(|(i, &x)| line(i, x) + "\n")
            .collect()
    };
    place.write("plain.txt", lines(&|_, x| format!("{x}")));
    place.write(
        "history.csv",
        format!("commit,ms\n{}", lines(&|i, x| format!("c{i},{x}"))),
    );
    place.write(
        "history.tsv",
        format!("commit\tms\n{}", lines(&|i, x| format!("c{i}\t{x}"))),
    );
    place.write(
        "history.jsonl",
        lines(&|i, x| format!("{{\"commit\":\"c{i}\",\"ms\":{x}}}")),
    );
    place.write("bare.jsonl", lines(&|_, x| format!("{x}")));
    for file in [
        "plain.txt",
        "history.csv",
        "history.tsv",
        "history.jsonl",
        "bare.jsonl",
    ] {
        let found = json(&place, &[file]);
        assert_eq!(found["series"].as_array().unwrap().len(), 1, "{file}");
        assert_steps(&found["series"][0]);
    }
    let found = json(&place, &["history.csv", "--better", "lower"]);
    let change = &found["series"][0]["changes"][0];
    assert_eq!(change["between"]["at"]["version"], "c60");
    assert_eq!(change["direction"], "worse");
    let text = place.prints_of(&["detect", "history.csv", "--better", "higher"]);
    for part in ["ms: 100 versions", "`c60`", "better", "column `commit`"] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    let markdown = place.prints_of(&["detect", "history.csv", "--format", "markdown"]);
    assert!(
        markdown.lines().any(|line| line.starts_with("| ms |")),
        "{markdown}"
    );
}

#[test]
fn standard_input_is_searched_too() {
    let place = Place::new();
    let mut child = place
        .put(
            Command::new(env!("CARGO_BIN_EXE_backsight")),
            &["detect", "-", "--format", "json"],
        )
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    for version in 0..100 {
        writeln!(input, "{}", value(0, version, true)).unwrap();
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_steps(&found["series"][0]);
}

#[test]
fn long_and_wide_tables_say_the_same() {
    let place = Place::new();
    place.write("long.csv", long(10));
    let mut wide: String = "commit".to_owned();
    (0..10).for_each(|one| wide.push_str(&format!(",b{one}")));
    wide.push('\n');
    for version in 0..100 {
        wide.push_str(&format!("c{version}"));
        (0..10).for_each(|one| wide.push_str(&format!(",{}", value(one, version, one % 5 == 0))));
        wide.push('\n');
    }
    place.write("wide.csv", wide);
    let long = json(
        &place,
        &["long.csv", "--series", "bench", "--label", "commit"],
    );
    let wide = json(&place, &["wide.csv"]);
    for one in 0..10 {
        let (a, b) = (&long["series"][one], &wide["series"][one]);
        assert_eq!(a["changes"], b["changes"]);
        assert_eq!(a["keys"]["bench"], b["metric"]);
        if one % 5 == 0 {
            assert_steps(a);
        } else {
            assert_eq!(a["changes"].as_array().unwrap().len(), 0, "{a:#}");
        }
    }
    // Sorted, they are read one at a time, and the same is found.
    let unsorted = place.read("long.csv");
    let (header, rows) = unsorted.split_once('\n').unwrap();
    let mut rows: Vec<&str> = rows.lines().collect();
    let name = |row: &&str| row[1..].split(',').next().unwrap().parse::<u32>().unwrap();
    rows.sort_by_key(name);
    place.write("sorted.csv", format!("{header}\n{}\n", rows.join("\n")));
    let mut sorted = json(
        &place,
        &[
            "sorted.csv",
            "--series",
            "bench",
            "--label",
            "commit",
            "--sorted",
        ],
    );
    sorted["source"] = long["source"].clone();
    assert_eq!(sorted, long);
    let wrong = place.ends(&[
        "detect", "long.csv", "--series", "bench", "--label", "commit", "--sorted",
    ]);
    wrong.assert_code(2);
    wrong.assert_says(&["line 12", "sort the table"]);
}

#[test]
fn parts_join_to_the_whole_and_parquet_says_what_csv_says() {
    let place = Place::new();
    place.write("long.csv", long(23));
    let asked = [
        "detect", "long.csv", "--series", "bench", "--label", "commit",
    ];
    let with = |more: &[&str]| {
        let all: Vec<&str> = asked.iter().chain(more).copied().collect();
        place.ends(&all).assert_code(0);
    };
    with(&["--format", "csv", "-o", "whole.csv"]);
    with(&["--format", "parquet", "-o", "whole.parquet"]);
    for part in ["1/3", "2/3", "3/3"] {
        let file = format!("part-{}.parquet", &part[..1]);
        with(&["--format", "parquet", "-o", &file, "--shard", part]);
    }
    let joined = place.prints_of(&[
        "detect",
        "--join",
        "part-1.parquet",
        "part-2.parquet",
        "part-3.parquet",
        "--format",
        "csv",
    ]);
    let lines = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let whole = place.read("whole.csv");
    assert_eq!(lines(&joined), lines(&whole));
    assert_eq!(whole.lines().count(), 24, "a row a series: {whole}");
    assert_eq!(
        whole
            .lines()
            .filter(|line| line.contains(",level,") && line.contains(",yes,"))
            .count(),
        5
    );
    let of_parquet = place.prints_of(&["detect", "--join", "whole.parquet", "--format", "csv"]);
    assert_eq!(of_parquet, whole);
    // The table of changes is a table of numbers like any other.
    let again = json(&place, &["whole.parquet", "--column", "noise"]);
    assert_eq!(again["series"][0]["versions"], 23);
    let wrong = place.ends(&["detect", "long.csv", "--series", "bench", "--shard", "1/2"]);
    wrong.assert_code(2);
    wrong.assert_says(&["--join", "parquet"]);
    let wrong = place.ends(&["detect", "whole.parquet", "--column", "speed"]);
    wrong.assert_code(2);
    wrong.assert_says(&["no column `speed`", "`noise`"]);
}

#[test]
fn what_is_wrong_with_a_table_is_said_with_its_line() {
    let place = Place::new();
    place.write("seven.csv", "a,b\n1,2\n1,2\n1,2\n1,2\n1,2\n1,2,3\n1,2\n");
    place.write("nan.csv", "a\n1\nNaN\n");
    place.write("empty.csv", "");
    place.write("header.csv", "a,b\n");
    place.write("binary.csv", b"a\n\xff\n");
    place.write("no.parquet", "PAR1");
    for (file, parts) in [
        ("seven.csv", &["line 7", "3 fields"][..]),
        ("nan.csv", &["line 3", "column `a`", "leave the cell empty"]),
        ("empty.csv", &["empty"]),
        ("header.csv", &["empty"]),
        ("binary.csv", &["line 2", "UTF-8"]),
        ("no.parquet", &["Parquet"]),
        ("nowhere.csv", &["neither a file nor a study"]),
    ] {
        for format in ["text", "csv", "parquet"] {
            let wrong = place.ends(&["detect", file, "--format", format, "-o", "out"]);
            wrong.assert_code(2);
            wrong.assert_says(parts);
            assert!(
                !place.path("out").exists(),
                "half a file of {file} is there"
            );
        }
    }
}

#[test]
fn little_and_nothing_is_told_as_such() {
    let place = Place::new();
    place.write("one.txt", "42\n");
    place.write("equal.txt", "5\n".repeat(100));
    place.write("zero.txt", "0\n".repeat(100));
    place.write(
        "missing.csv",
        format!(
            "v,x\n{}",
            (0..40)
                .map(|i| format!("v{i},{}\n", if i % 4 == 0 { "" } else { "3" }))
                .collect::<String>()
        ),
    );
    place.write("none.csv", "v,x\na,\nb,NA\n");
    for (file, parts) in [
        ("one.txt", &["1 version", "Fewer than 8"][..]),
        ("equal.txt", &["100 versions", "No change"]),
        ("zero.txt", &["100 versions", "No change"]),
        ("missing.csv", &["30 versions", "10 missing", "No change"]),
        ("none.csv", &["2 missing", "Nothing was measured"]),
    ] {
        let text = place.prints_of(&["detect", file]);
        for part in parts {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        assert!(!text.contains("NaN"), "{text}");
        place
            .ends(&["detect", file, "--format", "parquet", "-o", "out.parquet"])
            .assert_code(0);
    }
}

#[test]
fn a_job_can_fail_on_a_recent_change_for_the_worse() {
    let place = Place::new();
    let text: String = (0..100)
        .map(|version| format!("{}\n", value(0, version, true)))
        .collect();
    place.write("times.txt", text);
    let ends = |arguments: &[&str], code| {
        let mut all = vec!["detect", "times.txt"];
        all.extend(arguments);
        place.ends(&all).assert_code(code);
    };
    ends(&[], 0);
    ends(&["--fail-on", "change"], 1);
    ends(&["--fail-on", "worse", "--better", "lower"], 1);
    ends(&["--fail-on", "worse", "--better", "higher"], 0);
    ends(&["--fail-on", "change", "--last", "10"], 0);
    ends(&["--fail-on", "change", "--last", "50"], 1);
    ends(&["--fail-on", "change", "--format", "csv"], 2);
    ends(&["--last", "50"], 2);
}

#[test]
fn a_gate_for_the_worse_without_a_direction_is_refused() {
    let place = Place::new();
    let text: String = (0..100)
        .map(|version| format!("{}\n", value(0, version, true)))
        .collect();
    place.write("times.txt", text);
    for more in [
        &[][..],
        &["--last", "10"],
        &["--format", "json"],
        &["-o", "found.md"],
    ] {
        let ended = place.ends(&[&["detect", "times.txt", "--fail-on", "worse"], more].concat());
        ended.assert_code(2);
        ended.assert_says(&["--better"]);
        assert!(ended.bytes.is_empty(), "{}", ended.words());
    }
    assert!(!place.path("found.md").exists());
    // A direction, or a gate that needs none, is judged.
    let judged = ["--better", "lower"];
    place
        .ends(&[&["detect", "times.txt", "--fail-on", "worse"], &judged[..]].concat())
        .assert_code(1);
    place
        .ends(&["detect", "times.txt", "--fail-on", "change"])
        .assert_code(1);
}

#[test]
fn a_step_is_found_while_it_is_young_and_a_single_version_is_pending() {
    let place = Place::new();
    let text = |versions: usize| -> String {
        let level = |version| if version < 34 { 300.0 } else { 250.0 };
        (0..versions)
            .map(|version| format!("{}\n", level(version) + 4.0 * noise(version)))
            .collect()
    };
    place.write("five.txt", text(39));
    place.write("one.txt", text(35));
    let five = json(&place, &["five.txt", "--better", "lower"]);
    let changes = five["series"][0]["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 1, "{five:#}");
    assert_eq!(changes[0]["between"]["at"]["number"], 35, "{five:#}");
    assert_eq!(changes[0]["direction"], "better");
    let worse = ["--better", "higher", "--fail-on", "worse"];
    let ends = |file: &str, code| {
        let mut all = vec!["detect", file];
        all.extend(worse);
        place.ends(&all).assert_code(code);
    };
    ends("five.txt", 1);
    let one = json(&place, &["one.txt"]);
    let one = &one["series"][0];
    assert_eq!(one["changes"].as_array().unwrap().len(), 0, "{one:#}");
    assert_eq!(
        one["pending"]["change"]["between"]["at"]["number"], 35,
        "{one:#}"
    );
    assert_eq!(one["pending"]["versions"], 1, "{one:#}");
    ends("one.txt", 0);
    let said = place.prints_of(&["detect", "one.txt"]);
    assert!(said.contains("pending, since `35` (1 version)"), "{said}");
    let rows = place.prints_of(&["detect", "one.txt", "--format", "csv"]);
    assert!(rows.contains(",pending,35,"), "{rows}");
    let table = place.prints_of(&["detect", "one.txt", "--format", "markdown"]);
    assert!(table.contains("pending, since"), "{table}");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_fault() {
    let place = Place::new();
    place.write("long.csv", long(5));
    for format in ["text", "csv", "json-lines", "parquet"] {
        let asked = [
            "detect", "long.csv", "--series", "bench", "--format", format,
        ];
        let mut command = place.command(&asked);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        assert!(child.wait().unwrap().success(), "{format}");
    }
}

#[test]
fn names_of_others_act_on_nothing() {
    let place = Place::new();
    let name = "\u{1b}[2J<b>../../x|y";
    let rows: String = (0..100)
        .map(|version| format!("\"{name}\",\"v\n{version}\",{}\n", value(0, version, true)))
        .collect();
    place.write("hostile.csv", format!("series,p,ms\n{rows}"));
    let asked = [
        "detect",
        "hostile.csv",
        "--series",
        "series",
        "--label",
        "p",
        "--svg",
        "pictures",
    ];
    let text = place.prints_of(&asked);
    assert!(!text.contains('\u{1b}') && text.contains("␛"), "{text}");
    let pictures: Vec<_> = std::fs::read_dir(place.path("pictures")).unwrap().collect();
    assert_eq!(pictures.len(), 1);
    let svg = std::fs::read_to_string(pictures[0].as_ref().unwrap().path()).unwrap();
    assert!(
        svg.starts_with("<svg") && !svg.contains("<b>") && !svg.contains('\u{1b}'),
        "{svg}"
    );
    // A key column with the name of one of ours stays apart from it.
    let rows = place.prints_of(&[
        "detect",
        "hostile.csv",
        "--series",
        "series,p",
        "--format",
        "csv",
    ]);
    assert!(rows.starts_with("series,series_p,metric,"), "{rows}");
}

#[test]
fn studies_are_versions_and_one_study_is_searched_trial_by_trial() {
    let place = Place::new();
    place.prints("counts", "echo x >> @/calls; wc -l < @/calls");
    place.plan("use = [\"counts\"]\nrounds = 9\n");
    place.write("calls", "");
    place
        .ends(&["run", "plan.toml", "--name", "drifts", "--quiet"])
        .assert_code(0);
    let within = json(&place, &["drifts"]);
    let series = &within["series"][0];
    assert_eq!(series["versions"], 9, "{within:#}");
    assert_eq!(
        (&series["metric"], &series["unit"], &series["better"]),
        (&"value".into(), &"s".into(), &"lower".into())
    );
    assert_eq!(series["keys"]["cell"], "counts");
    assert_eq!(series["last"]["version"], "trial 9");
    place
        .ends(&["run", "plan.toml", "--name", "later", "--quiet"])
        .assert_code(0);
    let over = json(&place, &["drifts", "later"]);
    assert_eq!(over["series"][0]["versions"], 2);
    assert_eq!(over["series"][0]["last"]["version"], "later");
    let wrong = place.ends(&["detect", "drifts", "nowhere"]);
    wrong.assert_code(2);
    wrong.assert_says(&["`nowhere` is neither a file nor a study"]);
}

#[test]
fn a_trend_is_in_every_format() {
    let place = Place::new();
    let ramp: String = (0..80)
        .map(|version| format!("{}\n", 300.0 + f64::from(version) + noise(version as usize)))
        .collect();
    place.write("ramp.txt", ramp);
    let said = "trend: 300";
    for format in ["text", "markdown", "html"] {
        let written = place.prints_of(&["detect", "ramp.txt", "--format", format]);
        assert!(written.contains(said), "{format}: {written}");
        // Nothing that chance gives more often than not.
        assert!(!written.contains("wasn't believed"), "{format}: {written}");
    }
    let trend = &json(&place, &["ramp.txt"])["series"][0]["trend"];
    let size = trend["size"].as_f64().unwrap();
    assert!((75.0..83.0).contains(&size), "{trend}");
    let csv = place.prints_of(&["detect", "ramp.txt", "--better", "lower", "--format", "csv"]);
    let header: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    let rows: Vec<Vec<&str>> = csv
        .lines()
        .skip(1)
        .map(|row| row.split(',').collect())
        .collect();
    let of = |row: &[&str], name: &str| {
        row[header.iter().position(|column| *column == name).unwrap()].to_owned()
    };
    let kinds: Vec<String> = rows.iter().map(|row| of(row, "kind")).collect();
    assert_eq!(kinds, ["steady-trend", "none"], "{csv}");
    assert_eq!(of(&rows[0], "direction"), "worse");
    assert_eq!(of(&rows[0], "size").parse::<f64>().unwrap(), size);
    // And of many series, which are a table.
    let many: String = (0..9)
        .flat_map(|series| {
            (0..80).map(move |version: u32| {
                let value = 300.0 + f64::from(version) + noise(version as usize + 100 * series);
                format!("{series},{value}\n")
            })
        })
        .collect();
    place.write("many.csv", format!("bench,ms\n{many}"));
    let table = place.prints_of(&["detect", "many.csv", "--series", "bench"]);
    assert_eq!(
        table.matches(said).count() + table.matches("trend: 299").count(),
        9,
        "{table}"
    );
}

#[test]
fn sessions_of_a_study_are_its_versions_and_no_change_is_made_of_their_weather() {
    let place = Place::new();
    // Runs of one session hardly differ; sessions do.
    let mut import = vec!["import".to_owned(), "hyperfine".to_owned()];
    for session in 0..10 {
        let times: Vec<f64> = (0..20)
            .map(|run| 1.5 + 0.05 * noise(session) + 0.001 * noise(1000 + 20 * session + run))
            .collect();
        let file = format!("s{session}.json");
        let text = format!(
            "{{\"results\": [{{\"command\": \"sleep\", \"times\": {times:?}, \"exit_codes\": [0]}}]}}"
        );
        place.write(&file, text);
        import.push(file);
    }
    import.extend(["--as", "several", "--sessions"].map(str::to_owned));
    let import: Vec<&str> = import.iter().map(String::as_str).collect();
    place.ends(&import).assert_code(0);
    let found = json(&place, &["several"]);
    let series = &found["series"][0];
    assert_eq!(series["versions"], 10, "{found:#}");
    assert_eq!(series["of_sessions"], true);
    assert_eq!(series["last"]["version"], "session 10");
    assert_eq!(series["changes"].as_array().unwrap().len(), 0, "{found:#}");
    for format in ["text", "markdown", "html"] {
        let said = place.prints_of(&["detect", "several", "--format", format]);
        assert!(
            said.contains("Each session, or boot, is one version here"),
            "{said}"
        );
    }
    // As versions of a history: the mean of sessions, however many runs each has.
    place
        .ends(&["import", "hyperfine", "s0.json", "--as", "one"])
        .assert_code(0);
    let over = json(&place, &["several", "one"]);
    let series = &over["series"][0];
    assert_eq!(
        series["sessions_a_version"],
        serde_json::json!([1, 10]),
        "{over:#}"
    );
    let over = json(&place, &["one", "one"]);
    assert_eq!(
        over["series"][0]["sessions_a_version"],
        serde_json::json!([1, 1])
    );
    let said = place.prints_of(&["detect", "one", "one"]);
    assert!(said.contains("1 session a version"), "{said}");
}
