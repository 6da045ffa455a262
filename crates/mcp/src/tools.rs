//! The table of tools.

use backsight_store::AccessScope;

/// What a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterKind {
    /// Any text.
    Text,
    /// A name, and never a path: of a target, a study, a benchmark.
    Name,
    /// So many of them.
    Names {
        /// At least.
        min: usize,
        /// At most.
        max: usize,
    },
    /// Versions of a target, so many.
    Versions {
        /// At least.
        min: usize,
        /// At most.
        max: usize,
    },
    /// A file that is there, named from the server's folder.
    File,
    /// The name of the person who asks. Where a token says who that is, its name stands in the place of any other.
    Person,
    /// A number from 1.
    Number,
    /// One of these words.
    OneOf(&'static [&'static str]),
}

/// A parameter of a tool.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What it takes.
    pub kind: ParameterKind,
    /// The option that it becomes, `--target`; without one it stands behind all options.
    pub option: Option<&'static str>,
    /// Whether it has to be given.
    pub required: bool,
    /// One line about it.
    pub about: &'static str,
}

/// Something that a caller can have done.
#[derive(Debug, Clone, Copy)]
pub struct Tool {
    /// Its name.
    pub name: &'static str,
    /// What it is good for.
    pub about: &'static str,
    /// What it takes to be permitted.
    pub scope: AccessScope,
    /// The words of the command, before the parameters; behind `--` those of a command that is queued.
    pub command: &'static [&'static str],
    /// Its parameters; those without an option in the order of the command's words.
    pub parameters: &'static [Parameter],
}

const fn required(
    name: &'static str,
    kind: ParameterKind,
    option: Option<&'static str>,
    about: &'static str,
) -> Parameter {
    Parameter {
        name,
        kind,
        option,
        required: true,
        about,
    }
}

const fn optional(
    name: &'static str,
    kind: ParameterKind,
    option: Option<&'static str>,
    about: &'static str,
) -> Parameter {
    Parameter {
        name,
        kind,
        option,
        required: false,
        about,
    }
}

use ParameterKind::{File, Name, Names, Number, OneOf, Person, Text, Versions};

/// Most results that are compared with each other.
const MOST_COMPARED: usize = 6;
/// Most studies that are explained together.
const MOST_EXPLAINED: usize = 100;

const STUDY: Parameter = required("study", Name, None, "The study's name or number");
const TARGET: Parameter = required(
    "target",
    Name,
    Some("--target"),
    "The target's name, as `list_studies` shows it",
);
const PLAN: Parameter = required(
    "plan",
    File,
    None,
    "The plan's file, from the server's folder",
);
const OF_TARGET: Parameter = required(
    "target",
    Name,
    Some("--target"),
    "The target: the NAME of NAME.toml beside the plan",
);
const BUDGET: Parameter = optional(
    "budget",
    Text,
    Some("--budget"),
    "What builds, boots and trials may take together: 2h, 90m",
);

const QUEUED_BY: Parameter = optional(
    "by",
    Person,
    Some("--by"),
    "Who asks; else the server's user",
);

/// Every tool.
pub const TOOLS: &[Tool] = &[
    Tool {
        name: "list_studies",
        about: "All studies: name, verb, target, state, when they began, how many trials were measured and failed",
        scope: AccessScope::Read,
        command: &["studies", "--json"],
        parameters: &[],
    },
    Tool {
        name: "verdict",
        about: "What a study came to, whatever its verb: comparisons, changes, culprits, with intervals and how sure each is. A `step` is a part of its target's history, which is then the answer, with what other studies measured along it",
        scope: AccessScope::Read,
        command: &["show", "--format", "markdown"],
        parameters: &[STUDY],
    },
    Tool {
        name: "show_study",
        about: "A study's builds, boots and trials, and what failed; of one trial its steps",
        scope: AccessScope::Read,
        command: &["show"],
        parameters: &[
            STUDY,
            optional("trial", Number, Some("--trial"), "One trial of it"),
        ],
    },
    Tool {
        name: "read_output",
        about: "Everything that the programs of a trial printed, as they printed it",
        scope: AccessScope::Read,
        command: &["show", "--raw"],
        parameters: &[
            STUDY,
            required("trial", Number, Some("--trial"), "The trial's number"),
        ],
    },
    Tool {
        name: "history",
        about: "What was measured along a target's versions, and where it changed: each change with its size, interval and how sure it is",
        scope: AccessScope::Read,
        command: &["history", "--format", "markdown"],
        parameters: &[
            TARGET,
            optional(
                "benchmark",
                Name,
                Some("--benchmark"),
                "Only series of this benchmark",
            ),
            optional("metric", Name, Some("--metric"), "Only this metric"),
        ],
    },
    Tool {
        name: "alerts",
        about: "One alert for each change of the software, the worst first: what moved, between which versions, and what people said of it",
        scope: AccessScope::Read,
        command: &["alerts", "--json"],
        parameters: &[optional(
            "target",
            Name,
            Some("--target"),
            "Only of this target",
        )],
    },
    Tool {
        name: "compare_studies",
        about: "Studies beside each other: differences with their intervals, and what makes them not comparable",
        scope: AccessScope::Read,
        command: &["compare", "--format", "markdown"],
        parameters: &[required(
            "studies",
            Names {
                min: 2,
                max: MOST_COMPARED,
            },
            None,
            "Two to six studies, the baseline first",
        )],
    },
    Tool {
        name: "compare_versions",
        about: "Measured versions of a target beside each other",
        scope: AccessScope::Read,
        command: &["compare", "--format", "markdown"],
        parameters: &[
            TARGET,
            required(
                "versions",
                Versions {
                    min: 2,
                    max: MOST_COMPARED,
                },
                None,
                "Two to six versions, the baseline first: a name, a tag, a commit",
            ),
        ],
    },
    Tool {
        name: "explain",
        about: "What goes along with a change: counters, system calls, functions, machine code, files, each with how sure it is",
        scope: AccessScope::Read,
        command: &["explain", "--format", "markdown"],
        parameters: &[
            required(
                "studies",
                Names {
                    min: 1,
                    max: MOST_EXPLAINED,
                },
                None,
                "Studies, the baseline first; or one bisection, try, step or run",
            ),
            optional(
                "by",
                Text,
                Some("--by"),
                "Of one study its parts: variant, or a parameter",
            ),
            optional(
                "at",
                Text,
                Some("--at"),
                "Of one study along a history: the first version with the change",
            ),
        ],
    },
    Tool {
        name: "commits",
        about: "What lies between two versions of a target: authors, messages, files",
        scope: AccessScope::Read,
        command: &["log"],
        parameters: &[
            TARGET,
            required("from", Text, None, "The older version"),
            required("to", Text, None, "The newer version"),
        ],
    },
    Tool {
        name: "tests",
        about: "The tests of suites along versions, the worst first: since when each fails, and how often",
        scope: AccessScope::Read,
        command: &["tests"],
        parameters: &[TARGET],
    },
    Tool {
        name: "list_benchmarks",
        about: "The benchmarks of the catalogue: what each measures, and which roles it has",
        scope: AccessScope::Read,
        command: &["list", "benchmarks"],
        parameters: &[],
    },
    Tool {
        name: "show_benchmark",
        about: "A benchmark's definition: what it measures, its parameters, metrics and traps",
        scope: AccessScope::Read,
        command: &["show", "benchmark"],
        parameters: &[required("name", Name, None, "The benchmark")],
    },
    Tool {
        name: "queue",
        about: "Jobs that wait, run or ended lately: why each waits, and when it probably ends",
        scope: AccessScope::Read,
        command: &["queue", "list", "--json"],
        parameters: &[],
    },
    Tool {
        name: "job_log",
        about: "What a job of the queue printed",
        scope: AccessScope::Read,
        command: &["queue", "log"],
        parameters: &[required("job", Number, None, "The job's number")],
    },
    Tool {
        name: "measure",
        about: "Queue a plan to be measured: every cell, round by round. Answers with the job's number",
        scope: AccessScope::Queue,
        command: &["queue", "add", "--", "run"],
        parameters: &[
            PLAN,
            optional("rounds", Number, Some("--rounds"), "How often each cell"),
            optional("name", Name, Some("--name"), "The study's name"),
            QUEUED_BY,
        ],
    },
    Tool {
        name: "step",
        about: "Queue versions of a target to be measured along its history",
        scope: AccessScope::Queue,
        command: &["queue", "add", "--", "step"],
        parameters: &[
            PLAN,
            OF_TARGET,
            required("from", Text, Some("--from"), "The oldest version"),
            required("to", Text, Some("--to"), "The newest version"),
            optional(
                "every",
                Text,
                Some("--every"),
                "The step: all, release, day, week, \"10 commits\"",
            ),
            optional("name", Name, Some("--name"), "The study's name"),
            QUEUED_BY,
        ],
    },
    Tool {
        name: "bisect",
        about: "Queue the search for the change between two versions that made a metric worse or better",
        scope: AccessScope::Queue,
        command: &["queue", "add", "--", "bisect"],
        parameters: &[
            PLAN,
            OF_TARGET,
            required("good", Text, Some("--good"), "The older version"),
            required("bad", Text, Some("--bad"), "The newer version"),
            optional(
                "metric",
                Name,
                Some("--metric"),
                "The metric, where there are several: time, work.time",
            ),
            BUDGET,
            optional("name", Name, Some("--name"), "The study's name"),
            QUEUED_BY,
        ],
    },
    Tool {
        name: "try",
        about: "Queue the measurement of a version beside another, or beside itself without a commit, until the difference is decided",
        scope: AccessScope::Queue,
        command: &["queue", "add", "--", "try"],
        parameters: &[
            PLAN,
            OF_TARGET,
            required("at", Text, Some("--at"), "The version"),
            optional(
                "base",
                Text,
                Some("--base"),
                "The version that it is measured beside",
            ),
            optional(
                "revert",
                Text,
                Some("--revert"),
                "The commit that is taken back on top of it",
            ),
            BUDGET,
            optional("name", Name, Some("--name"), "The study's name"),
            QUEUED_BY,
        ],
    },
    Tool {
        name: "cancel_job",
        about: "Cancel a job that waits, or stop one that runs",
        scope: AccessScope::Queue,
        command: &["queue", "cancel"],
        parameters: &[
            required("job", Number, None, "The job's number"),
            optional("by", Person, Some("--by"), "Who cancels it"),
        ],
    },
    Tool {
        name: "triage",
        about: "Say how an alert stands",
        scope: AccessScope::Control,
        command: &["triage"],
        parameters: &[
            required("target", Name, None, "The target"),
            required("version", Text, None, "The version that names the alert"),
            required(
                "state",
                OneOf(&["investigating", "confirmed", "fixed", "invalid"]),
                None,
                "How it stands",
            ),
            optional("note", Text, Some("--note"), "Why, or what comes next"),
            optional("by", Person, Some("--by"), "Who says it"),
        ],
    },
    Tool {
        name: "annotate",
        about: "Put a note beside a version",
        scope: AccessScope::Control,
        command: &["annotate"],
        parameters: &[
            TARGET,
            required("version", Text, None, "The version"),
            required("note", Text, None, "The note"),
            optional("by", Person, Some("--by"), "Who writes it"),
        ],
    },
];
