//! Exit statuses: one table of all verbs, from which every `--help` and the reference page are made.
//!
//! A status means the same thing whatever the verb. `trace COMMAND` is the exception: like `strace`, it ends as its
//! command did.

use backsight_policy::GateResult;
use std::{fmt::Write as _, process::ExitCode};

/// How a verb ended, for scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum ExitStatus {
    /// The verb did what it was asked, and no gate found anything.
    Success = 0,
    /// Something failed, nothing could be measured, or a gate (`--fail-on`) found what it looks for.
    Failed = 1,
    /// The question was wrong, or couldn't be asked.
    Refused = 2,
    /// There is no answer.
    Undecided = 3,
    /// Stopped by ^C.
    Interrupted = 130,
}

use ExitStatus::{Failed, Interrupted, Refused, Success, Undecided};

impl ExitStatus {
    const ALL: [Self; 5] = [Success, Failed, Refused, Undecided, Interrupted];

    /// The number that the shell sees.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// What it means, whatever the verb.
    const fn meaning(self) -> &'static str {
        match self {
            Success => "it was done, and no gate found anything",
            Failed => {
                "something failed, nothing could be measured, or a gate found what it looks for"
            }
            Refused => "the question was wrong, or couldn't be asked",
            Undecided => "there is no answer: it can't be told, or not compared",
            Interrupted => "stopped by ^C; `backsight resume` goes on",
        }
    }
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status.code())
    }
}

impl From<GateResult> for ExitStatus {
    fn from(result: GateResult) -> Self {
        match result {
            GateResult::Passed => Success,
            GateResult::Failed => Failed,
            GateResult::Undecided => Undecided,
        }
    }
}

/// A verb with what each of its statuses means there. Every verb also refuses, which is the same for all.
pub struct VerbStatuses {
    /// The verb.
    pub name: &'static str,
    statuses: &'static [(ExitStatus, &'static str)],
}

/// A verb that does what it is asked or refuses.
const fn plain(name: &'static str) -> VerbStatuses {
    const DONE: &[(ExitStatus, &str)] = &[(Success, "it was done")];
    VerbStatuses {
        name,
        statuses: DONE,
    }
}

const STOPPED: (ExitStatus, &str) = (Interrupted, Interrupted.meaning());

/// Every verb, in the order of the command line.
pub const VERBS: &[VerbStatuses] = &[
    plain("init"),
    plain("lab"),
    VerbStatuses {
        name: "run",
        statuses: &[
            (Success, "every trial was measured"),
            (Failed, "a trial failed, or the study stopped early"),
            (
                Undecided,
                "--until decided: the budget ended before everything was decided",
            ),
            STOPPED,
        ],
    },
    VerbStatuses {
        name: "step",
        statuses: &[
            (
                Success,
                "the newest version is measured, and no trial failed",
            ),
            (
                Failed,
                "a trial failed, nothing or not the newest version could be measured, or the study stopped early",
            ),
            STOPPED,
        ],
    },
    VerbStatuses {
        name: "bisect",
        statuses: &[
            (Success, "the changes are named, or there is none"),
            (
                Failed,
                "an end can't be measured, or the study stopped early",
            ),
            (Undecided, "it can't be told yet"),
            STOPPED,
        ],
    },
    VerbStatuses {
        name: "overhead",
        statuses: &[
            (Success, "it has its verdict"),
            (Failed, "a trial failed, or the study stopped early"),
            STOPPED,
        ],
    },
    VerbStatuses {
        name: "try",
        statuses: &[
            (Success, "nothing is worse"),
            (
                Failed,
                "a side is worse, or doesn't build or run, or the study stopped early",
            ),
            (Undecided, "something can't be told"),
            STOPPED,
        ],
    },
    VerbStatuses {
        name: "noise",
        statuses: &[
            (Success, "it has its verdict"),
            (
                Failed,
                "a trial failed, nothing could be measured, or the study stopped early",
            ),
            STOPPED,
        ],
    },
    VerbStatuses {
        name: "search",
        statuses: &[
            (Success, "every goal has its answer"),
            (Failed, "the search ended before that"),
            STOPPED,
        ],
    },
    VerbStatuses {
        name: "trace",
        statuses: &[(
            Success,
            "it was done; with a command: the command's own status, or its signal",
        )],
    },
    plain("log"),
    VerbStatuses {
        name: "resume",
        statuses: &[
            (Success, "as the verb that began the study"),
            (Failed, "as the verb that began the study"),
            (
                Undecided,
                "`bisect`, `try`, `run --until`: it can't be told",
            ),
            STOPPED,
        ],
    },
    VerbStatuses {
        name: "compare",
        statuses: &[
            (Success, "nothing of what --fail-on names was found"),
            (
                Failed,
                "a cell is worse (--fail-on worse), or changed (any-change)",
            ),
            (
                Undecided,
                "what both sides should have can't be compared; --fail-on cant-tell: a cell has no answer",
            ),
        ],
    },
    VerbStatuses {
        name: "detect",
        statuses: &[
            (Success, "nothing of what --fail-on names was found"),
            (Failed, "--fail-on: there is such a change"),
            (
                Undecided,
                "--fail-on: a series has fewer versions than can show a change",
            ),
        ],
    },
    VerbStatuses {
        name: "history",
        statuses: &[
            (Success, "nothing of what --fail-on names was found"),
            (Failed, "--fail-on: there is such a change, or such a gap"),
            (
                Undecided,
                "--fail-on worse, any-change: a series has fewer versions than can show a change",
            ),
        ],
    },
    plain("accept"),
    plain("publish"),
    VerbStatuses {
        name: "import",
        statuses: &[
            (Success, "it was done"),
            (Failed, "it was done, and every trial in the files failed"),
        ],
    },
    plain("export"),
    plain("report"),
    plain("studies"),
    plain("show"),
    plain("delete"),
    VerbStatuses {
        name: "check",
        statuses: &[
            (
                Success,
                "nothing is damaged, or all that was damaged is mended",
            ),
            (Failed, "something is damaged, or stays damaged"),
        ],
    },
    plain("list"),
    VerbStatuses {
        name: "doctor",
        statuses: &[
            (Success, "nothing is missing"),
            (Failed, "something is missing, or a host can't be reached"),
        ],
    },
    plain("record"),
    VerbStatuses {
        name: "restore",
        statuses: &[
            (Success, "everything is as it was"),
            (
                Failed,
                "something can't be put back, or a host can't be reached",
            ),
        ],
    },
    plain("schema"),
    plain("completions"),
    plain("man"),
];

/// The statuses of a verb with their meanings, ascending; none of a verb that isn't for people.
fn statuses_of(verb: &str) -> Option<Vec<(ExitStatus, &'static str)>> {
    let verb = VERBS.iter().find(|it| it.name == verb)?;
    let mut statuses = verb.statuses.to_vec();
    statuses.push((Refused, Refused.meaning()));
    statuses.sort_by_key(|(status, _)| *status);
    Some(statuses)
}

fn listed(statuses: &[(ExitStatus, &str)]) -> String {
    let mut text = "Exit status:".to_owned();
    for (status, meaning) in statuses {
        let _ = write!(text, "\n  {:<3}  {meaning}", status.code());
    }
    text
}

/// The command line with the statuses of each verb at the end of its help.
pub fn with_statuses(command: clap::Command) -> clap::Command {
    let all = ExitStatus::ALL.map(|status| (status, status.meaning()));
    let command = command.after_help(listed(&all));
    command.mut_subcommands(|verb| match statuses_of(verb.get_name()) {
        Some(statuses) => appended(verb, &listed(&statuses)),
        None => verb,
    })
}

/// Adds a text to the end of a command's help, and of those of the commands below it.
fn appended(command: clap::Command, text: &str) -> clap::Command {
    let whole = match command.get_after_help() {
        Some(before) => format!("{before}\n\n{text}"),
        None => text.to_owned(),
    };
    let command = command.after_help(whole);
    command.mut_subcommands(|below| appended(below, text))
}

/// The reference page.
pub fn page(generated: &str) -> String {
    let mut text = format!("# Exit statuses\n\n{generated}\n| status | means |\n|---|---|\n");
    for status in ExitStatus::ALL {
        let _ = writeln!(text, "| {} | {} |", status.code(), status.meaning());
    }
    text.push_str("\n## By verb\n\n| verb | status | means |\n|---|---|---|\n");
    for verb in VERBS {
        for (status, meaning) in statuses_of(verb.name).into_iter().flatten() {
            let _ = writeln!(text, "| `{}` | {} | {meaning} |", verb.name, status.code());
        }
    }
    text
}
