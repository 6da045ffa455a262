//! On a terminal: tables are as wide as it is, and nothing of what others wrote reaches it as it is. In a pipe nothing is cut
//! or wrapped.

use std::process::Command;

use crate::place::{Place, VALUE};

/// What the program writes to a terminal of so many columns; line ends as in a pipe.
pub fn on_terminal(place: &Place, columns: usize, arguments: &[&str]) -> String {
    let program = env!("CARGO_BIN_EXE_backsight");
    let quoted = arguments.iter().map(|argument| format!("'{argument}'"));
    let quoted: Vec<String> = quoted.collect();
    let line = format!(
        "stty cols {columns} rows 40; exec '{program}' {}",
        quoted.join(" ")
    );
    let mut command = place.put(Command::new("script"), &["-qec", &line, "/dev/null"]);
    let output = command
        .stdin(std::process::Stdio::null())
        .env("TERM", "xterm")
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout)
        .unwrap()
        .replace("\r\n", "\n")
}

/// Without our own colours.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        let (code, after) = after.split_once('m').unwrap();
        let is_colour = code.chars().all(|c| c.is_ascii_digit() || c == ';');
        assert!(is_colour, "{code:?} is no colour in {text:?}");
        rest = after;
    }
    plain + rest
}

fn widest(text: &str) -> usize {
    let widths = text.lines().map(|line| line.chars().count());
    widths.max().unwrap_or(0)
}

#[test]
fn lists_and_studies_follow_the_width_of_the_terminal() {
    let place = Place::new();
    place.benchmark(
        "value",
        &format!(
            "[params]\nwhich = {{ default = \"a parameter with a value that is rather long\" }}\n\
             [tester]\nrun = \"echo 4$(od -An -N1 -tu1 /dev/urandom | tr -d ' ')\"\n{VALUE}"
        ),
    );
    place.plan("use = [\"value\"]\nrounds = 3\n");
    place.prints_of(&["run", "plan.toml", "--name", "a-name-that-isnt-short"]);
    let show = ["show", "a-name-that-isnt-short"];
    let all: [&[&str]; 6] = [
        &["list", "benchmarks"],
        &["list", "monitors"],
        &["list", "importers"],
        &["show", "benchmark", "iperf3-tcp"],
        &["studies"],
        &show,
    ];
    for arguments in all {
        let piped = place.prints_of(arguments);
        let [narrow, wide] = [64, 120].map(|columns| {
            let text = plain(&on_terminal(&place, columns, arguments));
            // How a benchmark is run is its file, as it is.
            let text = text.split("how it is run").next().unwrap().to_owned();
            assert!(
                widest(&text) <= columns,
                "{arguments:?} at {columns} columns: {} in\n{text}",
                widest(&text)
            );
            text
        });
        assert!(
            narrow.lines().count() >= wide.lines().count(),
            "{arguments:?}"
        );
        // The words are the same, however they are broken.
        let words = |text: &str| -> String {
            let text = text.split("how it is run").next().unwrap();
            text.chars().filter(|c| !c.is_whitespace()).collect()
        };
        assert_eq!(
            words(&wide).len(),
            words(&piped).len(),
            "{arguments:?}: {wide}\n{piped}"
        );
    }
    // In a pipe a row is a line: as many as there are benchmarks, and one for what is above them.
    let listed = place.prints_of(&["list", "importers"]);
    assert!(widest(&listed) > 120, "{listed}");
    let wide = on_terminal(&place, 64, &["list", "importers"]);
    assert!(wide.lines().count() > listed.lines().count());
}

#[test]
fn what_others_wrote_does_nothing_on_a_terminal_and_is_itself_in_a_pipe() {
    let place = Place::new();
    place.benchmark(
        "value",
        &format!(
            "[params]\ntext = {{ default = \"x\" }}\n[tester]\n\
             run = \"printf '4%s\\\\033]0;title\\\\007\\\\n' \\\"$(od -An -N1 -tu1 /dev/urandom | tr -d ' ')\\\" # {{text}}\"\n{VALUE}"
        ),
    );
    place.plan(
        "use = [\"value\"]\nrounds = 3\n[params]\ntext = [\"\\u001b]0;owned\\u0007\\u202etxt\", \"\\u009b31m\"]\n",
    );
    place.prints_of(&["run", "plan.toml", "--name", "s"]);
    place.write(
        "a.csv",
        "\u{1b}]0;owned\u{7},1\n\u{1b}]0;owned\u{7},2\n\u{1b}]0;owned\u{7},3\n",
    );
    let versions = (0..40).map(|at| {
        let level = if at < 20 { 100 } else { 150 };
        format!("\u{1b}]0;v{at}\u{7},{level}.{}\n", at * 37 % 10)
    });
    place.write("b.csv", versions.collect::<String>());
    let export = |format: &'static str| vec!["export", "s", "--format", format];
    let compare = |format: &'static str| {
        vec![
            "compare", "a.csv", "a.csv", "--better", "lower", "--format", format,
        ]
    };
    let all: Vec<Vec<&str>> = vec![
        export("csv"),
        export("tsv"),
        export("json"),
        export("json-rows"),
        export("markdown"),
        export("openmetrics"),
        compare("csv"),
        compare("text"),
        compare("markdown"),
        compare("json"),
        compare("html"),
        vec!["detect", "b.csv", "--label", "1", "--format", "csv"],
        vec!["detect", "b.csv", "--label", "1", "--format", "json-lines"],
        vec!["detect", "b.csv", "--label", "1"],
        vec!["show", "s"],
        vec!["show", "s", "--documents"],
        vec!["show", "s", "--trial", "1", "--raw"],
        vec!["studies"],
    ];
    for arguments in &all {
        let shown = plain(&on_terminal(&place, 100, arguments));
        let acts = |c: &char| (c.is_control() && *c != '\n' && *c != '\t') || *c == '\u{202e}';
        assert_eq!(shown.chars().find(acts), None, "{arguments:?}: {shown:?}");
    }
    // A program reads the values themselves.
    let csv = place.prints_of(&["detect", "b.csv", "--label", "1", "--format", "csv"]);
    assert!(csv.contains("\u{1b}]0;v20\u{7}"), "{csv:?}");
    let csv = place.prints_of(&["export", "s", "--format", "csv"]);
    assert!(csv.contains("\u{1b}]0;owned\u{7}\u{202e}txt"), "{csv:?}");
    let csv = place.prints_of(&[
        "compare", "a.csv", "a.csv", "--better", "lower", "--format", "csv",
    ]);
    assert!(csv.contains("\u{1b}]0;owned\u{7}"), "{csv:?}");
    let raw = place.ends(&["show", "s", "--trial", "1", "--raw"]);
    assert!(
        raw.stdout().contains("\u{1b}]0;title\u{7}"),
        "{:?}",
        raw.stdout()
    );
}
