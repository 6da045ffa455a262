//! Verdicts in every format: to standard output, into files whose names say the format, and refused where they don't.

use serde_json::Value;

use crate::{
    place::{Place, VALUE},
    stepping::git,
    trying,
};

/// The four formats of a study's verdict, as `show` writes them.
fn assert_in_every_format(place: &Place, study: &str) {
    let of = |format: &str| place.prints_of(&["show", study, "--format", format]);
    let text = of("text");
    assert!(
        !text.trim().is_empty() && !text.contains('\u{1b}'),
        "{text}"
    );
    let markdown = of("markdown");
    assert!(markdown.contains("| --- |"), "{markdown}");
    let json: Value = serde_json::from_str(&of("json")).unwrap();
    assert!(json.is_object(), "{json}");
    let page = of("html");
    assert!(page.to_lowercase().starts_with("<!doctype html"), "{page}");
    // The name of a file says the same.
    for (file, begins) in [("v.md", &markdown), ("v.json", &of("json"))] {
        place
            .ends(&["show", study, "-o", file])
            .assert_says(&[&format!("wrote {file}")]);
        assert_eq!(&place.read(file), begins);
    }
    let report = format!("{study}.md");
    place.prints_of(&["report", study, "-o", &report]);
    assert_eq!(place.read(&report), markdown);
}

fn numbers() -> Place {
    let place = Place::new();
    place.prints(
        "numbers",
        "echo 4$(od -An -N1 -tu1 /dev/urandom | tr -d ' ')",
    );
    place.plan("use = [\"numbers\"]\nrounds = 3\nseed = 1\n");
    place
}

#[test]
fn results_noise_and_costs_are_written_in_every_format() {
    let place = numbers();
    place.monitor("sleeper", "sleep 1000");
    place
        .ends(&["run", "plan.toml", "--name", "r"])
        .assert_code(0);
    let noise = ["noise", "plan.toml", "--rounds", "4", "--name", "n"];
    place.ends(&noise).assert_code(0);
    let overhead = [
        "overhead",
        "plan.toml",
        "--monitors",
        "sleeper",
        "--rounds",
        "4",
    ];
    place
        .ends(&[&overhead[..], &["--name", "o"]].concat())
        .assert_code(0);
    for study in ["r", "n", "o"] {
        assert_in_every_format(&place, study);
    }
}

#[test]
fn a_verb_writes_its_verdict_alone_where_it_is_asked_for_a_format() {
    let place = numbers();
    let noise = ["noise", "plan.toml", "--rounds", "4"];
    let json = place.prints_of(&[&noise[..], &["--format", "json"]].concat());
    let verdict: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(verdict["noises"][0]["metric"], "value", "{verdict}");
    let ended = place.ends(&[&noise[..], &["-o", "noise.md", "--name", "n"]].concat());
    ended.assert_code(0);
    assert_eq!(ended.stdout(), "");
    assert_eq!(
        place.read("noise.md"),
        place.prints_of(&["show", "n", "--format", "markdown"])
    );
    let run = place.prints_of(&["run", "plan.toml", "--format", "json"]);
    let results: Value = serde_json::from_str(&run).unwrap();
    assert_eq!(results["rows"][0]["metric"], "value", "{results}");
}

#[test]
fn a_name_that_says_no_format_or_another_one_is_refused_before_anything_is_measured() {
    let place = numbers();
    place.logged("logged");
    place.plan("use = [\"logged\"]\nrounds = 1\n");
    let refused: [(&[&str], &str); 4] = [
        (&["-o", "verdict.pdf"], "says no format"),
        (&["-o", "verdict"], "says no format"),
        (
            &["-o", "verdict.md", "--format", "json"],
            "is the name of markdown",
        ),
        (&["--json", "--format", "json"], "--json prints every event"),
    ];
    for (more, why) in refused {
        for verb in ["run", "noise", "overhead"] {
            let ended = place.ends(&[&[verb, "plan.toml"], more].concat());
            ended.assert_code(2);
            ended.assert_says(&[why]);
        }
    }
    assert_eq!(place.calls("run"), 0);
    place.write("a.txt", "1\n2\n3\n");
    for verb in [
        &["compare", "a.txt", "a.txt", "--better", "lower"][..],
        &["detect", "a.txt"],
    ] {
        for (more, why) in &refused[..3] {
            let ended = place.ends(&[verb, more].concat());
            ended.assert_code(2);
            ended.assert_says(&[why]);
        }
    }
}

#[test]
fn a_try_for_a_pull_request_has_its_answer_first_and_calls_branches_by_their_names() {
    let place = trying::place();
    git(&place, &["branch", "before", "v1"], 10);
    git(&place, &["branch", "after", "v2"], 10);
    let arguments = ["try", "plan.toml", "--target", "app", "--base", "before"];
    let more = ["--at", "after", "--format", "markdown", "--name", "t"];
    let ended = place.ends(&[&arguments[..], &more].concat());
    ended.assert_code(1);
    let markdown = ended.stdout();
    let headline = markdown.lines().next().unwrap();
    assert!(
        headline.starts_with("### ") && headline.contains("after") && headline.contains("worse"),
        "{markdown}"
    );
    assert!(
        headline.contains(" % \\["),
        "the size with its interval: {markdown}"
    );
    let header = markdown
        .lines()
        .find(|line| line.starts_with("| cell"))
        .unwrap();
    assert!(
        header.contains("| before | after | difference |"),
        "{markdown}"
    );
    assert!(
        markdown.contains("<details><summary>Versions</summary>"),
        "{markdown}"
    );
    // Hashes are details.
    let hash = git(&place, &["rev-parse", "--short", "after"], 10);
    let before_details = markdown.split("<details>").next().unwrap();
    assert!(!before_details.contains(&hash), "{markdown}");
    assert_in_every_format(&place, "t");
}

#[test]
fn what_others_named_is_text_in_every_format() {
    let place = Place::new();
    place.benchmark(
        "value",
        &format!("[params]\ntext = {{ default = \"x\" }}\n[tester]\nrun = \"echo 4$(od -An -N1 -tu1 /dev/urandom | tr -d ' ') # {{text}}\"\n{VALUE}"),
    );
    let nasty = "\\u001b[31m|`<b>`\\u202e> 9";
    place.plan(&format!(
        "use = [\"value\"]\nrounds = 3\n[params]\ntext = [\"{nasty}\"]\n"
    ));
    place
        .ends(&["run", "plan.toml", "--name", "r"])
        .assert_code(0);
    let noise = ["noise", "plan.toml", "--rounds", "4", "--name", "n"];
    place.ends(&noise).assert_code(0);
    for study in ["r", "n"] {
        let of = |format: &str| place.prints_of(&["show", study, "--format", format]);
        for format in ["text", "markdown", "json", "html"] {
            let written = of(format);
            assert!(
                !written.contains(['\u{1b}', '\u{202e}']),
                "{format}: {written:?}"
            );
        }
        let markdown = of("markdown");
        assert!(
            markdown.contains("␛\\[31m\\|\\`&lt;b>\\`⟨U+202E⟩> 9"),
            "{markdown}"
        );
        assert!(of("text").contains("␛[31m|`<b>`⟨U+202E⟩> 9"));
        assert!(of("html").contains("␛[31m|`&lt;b&gt;`⟨U+202E⟩&gt; 9"));
    }
}

#[test]
fn no_cell_is_wrapped_or_cut_in_a_pipe() {
    let place = Place::new();
    let about = "a line about it that is longer than any terminal is wide ".repeat(5);
    let text = format!("[tester]\nrun = \"echo 42\"\n{VALUE}");
    place.benchmark("value", &text);
    let definition = place.read("benchmarks/value.toml");
    let line = definition
        .lines()
        .find(|line| line.starts_with("about"))
        .unwrap();
    place.write(
        "benchmarks/value.toml",
        definition.replace(line, &format!("about = \"{}\"", about.trim())),
    );
    let listed = place.prints_of(&["list", "benchmarks"]);
    assert!(listed.contains(about.trim()), "{listed}");
    let long = "x".repeat(150);
    place.write("a.csv", format!("{long},1\n{long},2\n{long},3\n"));
    let compared = place.prints_of(&["compare", "a.csv", "a.csv", "--better", "lower"]);
    let row = compared.lines().find(|line| line.contains(&long)).unwrap();
    assert!(row.contains("n=3"), "{compared}");
}
