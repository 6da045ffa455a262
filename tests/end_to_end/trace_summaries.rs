//! Summaries of `backsight trace`: by call, file, descriptor and process, with percentiles and histograms, as text and as JSON.

use backsight_test_needs::Need;
use serde_json::Value;

use crate::place::Place;

/// What an engine prints of a shell's command; nothing where the engine is missing here.
fn traced(place: &Place, engine: &str, options: &[&str], line: &str) -> Option<String> {
    let out = place.at("out");
    let trace = ["trace", "--engine", engine, "-f", "-o", &out];
    let all = [&trace, options, &["sh", "-c", line]].concat();
    let ended = place.ends(&all);
    let lacks_bpf = engine == "kernel" && ended.status.code() == Some(1);
    let found = if lacks_bpf {
        Err(&ended.stderr)
    } else {
        Ok(())
    };
    if Need::Bpf.is_missing_in(found) {
        return None;
    }
    ended.assert_code(0);
    Some(place.read("out"))
}

fn rows(summary: &str) -> Vec<Value> {
    let summary: Value = serde_json::from_str(summary).unwrap();
    assert_eq!(summary["type"], "summary");
    summary["rows"].as_array().unwrap().clone()
}

#[test]
fn files_have_the_calls_and_bytes_of_a_program_by_both_engines() {
    let place = Place::new();
    place.write("in", "x".repeat(70_000));
    let (input, copy) = (place.at("in"), place.at("copy"));
    let line =
        format!("dd if='{input}' of='{copy}' bs=1000 2>/dev/null; cat nowhere 2>/dev/null; true");
    for engine in ["ptrace", "kernel", "auto"] {
        let Some(text) = traced(&place, engine, &["--by", "path", "--json"], &line) else {
            continue;
        };
        let rows = rows(&text);
        let row = |file: &str| {
            let found = rows.iter().find(|row| row["file"] == file);
            found.unwrap_or_else(|| panic!("{engine}: no {file} in {text}"))
        };
        assert_eq!(row(&input)["read"], 70_000, "{engine}");
        assert_eq!(row(&copy)["written"], 70_000, "{engine}");
        assert!(row(&copy)["calls"].as_u64().unwrap() > 70, "{engine}");
        // A relative path stands behind the directory that the program was in.
        let nowhere = format!("{}/nowhere", std::env::current_dir().unwrap().display());
        let relative = rows
            .iter()
            .find(|row| row["file"].as_str().unwrap().ends_with("/nowhere"));
        let relative = relative.unwrap_or_else(|| panic!("{engine}: no {nowhere} in {text}"));
        assert_eq!(
            (&relative["calls"], &relative["errors"]),
            (&1.into(), &1.into())
        );
        let times = rows.iter().map(|row| row["time"].as_u64().unwrap());
        assert!(times.is_sorted_by(|a, b| a >= b), "{engine}: {text}");

        let by_bytes = ["--by", "fd", "--json", "-S", "bytes", "--top", "2"];
        let text = traced(&place, engine, &by_bytes, &line).unwrap();
        let rows = self::rows(&text);
        let files: Vec<_> = rows
            .iter()
            .map(|row| row["file"].as_str().unwrap())
            .collect();
        assert!(files.contains(&copy.as_str()), "{engine}: {text}");
        assert_eq!(rows.len(), 2, "{engine}: {text}");
        assert!(
            rows.iter()
                .all(|row| row["pid"].is_number() && row["fd"].is_number())
        );
    }
}

#[test]
fn a_process_has_its_own_calls_and_those_of_its_children() {
    let place = Place::new();
    let line = "sh -c 'cat /etc/hostname; true' > /dev/null; true";
    for engine in ["ptrace", "kernel"] {
        let Some(text) = traced(&place, engine, &["--by", "process", "--json"], line) else {
            continue;
        };
        let rows = rows(&text);
        let names: Vec<_> = rows
            .iter()
            .map(|row| row["process"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["sh", "sh", "cat"], "{engine}: {text}");
        let calls = |row: &Value| {
            (
                row["calls"].as_u64().unwrap(),
                row["tree"]["calls"].as_u64().unwrap(),
            )
        };
        let [first, second, third] = [0, 1, 2].map(|place| calls(&rows[place]));
        assert_eq!(third.0, third.1);
        assert_eq!(second.1, second.0 + third.1);
        assert_eq!(first.1, first.0 + second.1);
        assert_eq!(rows[1]["parent"], rows[0]["pid"]);
        assert_eq!(rows[2]["parent"], rows[1]["pid"]);
        let text = traced(&place, engine, &["--by", "process"], line).unwrap();
        assert!(
            text.contains("own time") && text.contains(" cat\n"),
            "{text}"
        );
    }
}

#[test]
fn a_recording_is_summed_up_as_what_was_traced() {
    let place = Place::new();
    let recording = place.at("recording");
    let command = ["sh", "-c", "cat /etc/hostname > /dev/null; true"];
    let record = ["trace", "-f", "--record", &recording];
    place.ends(&[&record[..], &command].concat()).assert_code(0);
    let shown =
        |options: &[&str]| place.prints_of(&[&["trace", "--replay", &recording], options].concat());
    for by in ["call", "path", "fd", "process", "process,call"] {
        assert!(shown(&["--by", by]).contains("total"), "{by}");
        assert!(!rows(&shown(&["--by", by, "--json"])).is_empty(), "{by}");
    }
    let files = shown(&[
        "--by",
        "path",
        "-U",
        "calls,read,name",
        "-S",
        "name",
        "--top",
        "500",
    ]);
    assert!(files.starts_with("calls"), "{files}");
    assert!(files.contains("  /etc/hostname\n"), "{files}");
    let both = shown(&["-C", "--json", "--by", "path"]);
    let last: Value = serde_json::from_str(both.lines().last().unwrap()).unwrap();
    assert_eq!(last["by"], "path");
    assert!(both.lines().count() > 50);
}

#[test]
fn times_have_histograms_and_percentiles_by_both_engines() {
    let place = Place::new();
    let line = "dd if=/dev/zero of=/dev/null bs=1 count=2000 2> /dev/null";
    for engine in ["ptrace", "kernel", "auto"] {
        let options = ["--histogram", "--json", "-S", "calls", "--top", "2"];
        let Some(text) = traced(&place, engine, &options, line) else {
            continue;
        };
        let rows = rows(&text);
        for row in &rows {
            let calls = row["calls"].as_u64().unwrap();
            assert!(calls >= 2000, "{engine}: {text}");
            let bins = row["histogram"].as_array().unwrap();
            let counted = bins.iter().map(|bin| bin["calls"].as_u64().unwrap());
            assert_eq!(counted.sum::<u64>(), calls, "{engine}: {text}");
            let [p50, p90, p99, max] =
                ["p50", "p90", "p99", "max"].map(|it| row[it].as_u64().unwrap());
            assert!(p50 <= p90 && p90 <= p99 && p99 <= max, "{engine}: {text}");
        }
        let text = traced(&place, engine, &["--histogram", "--top", "1"], line).unwrap();
        assert!(
            text.contains(" errors, p50 ") && text.contains("  ####"),
            "{text}"
        );
    }
    let files = traced(&place, "ptrace", &["--by", "path", "--histogram"], line).unwrap();
    assert!(files.contains("/dev/zero: "), "{files}");
}

#[test]
fn what_a_summary_cannot_show_is_refused_with_what_it_can() {
    let place = Place::new();
    for (options, said) in [
        (
            &["--by", "process", "--percentiles"][..],
            "use --by process,call",
        ),
        (&["--by", "process", "-U", "calls"], "--by process,call"),
        (
            &["--by", "path", "-O", "1us", "--percentiles"],
            "leave out -O",
        ),
        (&["--histogram", "-U", "calls"], "leave out one of them"),
        (&["-c", "-U", "read"], "add --by path or --by fd"),
        (&["-c", "-S", "bytes"], "add --by path or --by fd"),
        (&["--top", "3"], "add -c, or --by"),
        (&["--perfetto", "-C"], "leave out --perfetto"),
        (&["-ff", "-o", "x", "-c"], "leave out -ff"),
        (&["--by-process"], "--by process,call"),
        (&["--by", "files"], "process,call"),
        (&["--by", "path", "-z"], "-S errors"),
        (&["-C", "--by", "fd", "-e", "trace=read"], "--replay"),
        (&["--record", "x", "--by", "path"], "cannot be used with"),
    ] {
        let refused = place.ends(&[&["trace"], options, &["true"]].concat());
        refused.assert_code(1);
        refused.assert_says(&[said]);
    }
}
