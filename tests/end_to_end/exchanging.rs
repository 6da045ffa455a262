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
