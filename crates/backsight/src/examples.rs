//! Examples at the end of every command's help, each a command line that is parsed by a test.

use std::fmt::Write as _;

/// A command, as its words behind `backsight`, with its examples.
pub type Examples = (&'static str, &'static [&'static str]);

/// The examples of every command for people, in the order of the command line.
pub const EXAMPLES: &[Examples] = &[
    ("init", &["backsight init lab"]),
    ("lab", &["backsight lab up", "backsight lab show"]),
    (
        "lab up",
        &["backsight lab up", "backsight lab --lab rack/lab.toml up"],
    ),
    ("lab down", &["backsight lab down"]),
    ("lab show", &["backsight lab show"]),
    (
        "run",
        &[
            "backsight run plan.toml --rounds 10 --name base",
            "backsight run plan.toml --until decided --budget 6m",
        ],
    ),
    (
        "step",
        &[
            "backsight step plan.toml --target app --last 2w",
            "backsight step plan.toml --target app --from v1.0 --to HEAD --every release",
        ],
    ),
    (
        "bisect",
        &[
            "backsight bisect plan.toml --target app --good v1.0 --bad HEAD",
            "backsight bisect plan.toml --target app --good v1.0 --metric work.time --budget 1h",
        ],
    ),
    (
        "overhead",
        &["backsight overhead plan.toml --monitors proc-stat,proc-net --budget 10m"],
    ),
    (
        "try",
        &[
            "backsight try plan.toml --target app --patch faster.diff",
            "backsight try plan.toml --target app --base main --at feature --format markdown",
        ],
    ),
    (
        "noise",
        &[
            "backsight noise --use ping-rtt",
            "backsight noise plan.toml --target app --at HEAD --precision 1",
        ],
    ),
    (
        "search",
        &["backsight search plan.toml --use iperf3-udp --goal 0%,0.5% --max 10G"],
    ),
    (
        "trace",
        &[
            "backsight trace -f -c make",
            "backsight trace -e openat,read ls",
        ],
    ),
    ("log", &["backsight log --target app v1.0 v1.1"]),
    (
        "resume",
        &[
            "backsight resume run-1",
            "backsight resume run-1 --rounds 5",
        ],
    ),
    (
        "compare",
        &[
            "backsight compare base new",
            "backsight compare before.csv after.csv --better lower --fail-on worse",
        ],
    ),
    (
        "detect",
        &[
            "backsight detect times.csv --better lower --fail-on worse",
            "backsight detect run-1 run-2 run-3",
        ],
    ),
    (
        "history",
        &["backsight history --target app --fail-on worse,missing"],
    ),
    (
        "accept",
        &["backsight accept --target app HEAD~2 --reason 'safer, and worth its price'"],
    ),
    ("publish", &["backsight publish site"]),
    (
        "import",
        &["backsight import pytest-benchmark run1.json run2.json --as main"],
    ),
    (
        "export",
        &["backsight export base --format csv --output base.csv"],
    ),
    (
        "report",
        &[
            "backsight report base",
            "backsight report base new --output both.html",
        ],
    ),
    ("studies", &["backsight studies"]),
    (
        "show",
        &[
            "backsight show base --trial 3",
            "backsight show benchmark ping-rtt",
        ],
    ),
    ("delete", &["backsight delete run-1"]),
    ("check", &["backsight check --repair"]),
    ("list", &["backsight list benchmarks"]),
    (
        "doctor",
        &[
            "backsight doctor plan.toml",
            "backsight doctor --use ping-rtt",
        ],
    ),
    ("schema", &["backsight schema plan > plan.schema.json"]),
    (
        "completions",
        &["backsight completions bash > /etc/bash_completion.d/backsight"],
    ),
    ("man", &["backsight man man1"]),
];

/// The command line with the examples of each command at the end of its help.
pub fn with_examples(command: clap::Command) -> clap::Command {
    command.mut_subcommands(|verb| with_examples_of(verb, ""))
}

fn with_examples_of(command: clap::Command, above: &str) -> clap::Command {
    let name = format!("{above}{}", command.get_name());
    let examples = EXAMPLES.iter().find(|(of, _)| *of == name);
    let mut text = command
        .get_after_help()
        .map_or_else(String::new, |before| format!("{before}\n\n"));
    let command = match examples {
        None => command,
        Some((_, lines)) => {
            text.push_str(if lines.len() == 1 {
                "Example:"
            } else {
                "Examples:"
            });
            for line in *lines {
                let _ = write!(text, "\n  {line}");
            }
            command.after_help(text)
        }
    };
    let above = format!("{name} ");
    command.mut_subcommands(|below| with_examples_of(below, &above))
}
