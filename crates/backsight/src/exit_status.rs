//! Exit statuses: one table of all verbs, from which every `--help` and the reference page are made.
//!
//! A status means the same thing whatever the verb. `trace` is the exception: like `strace`, `trace COMMAND` ends as its command
//! did, and with 1 where it refuses.

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

    /// How a verb ends that refuses.
    pub fn of_refusal(verb: &str) -> Self {
        if verb == "trace" { Failed } else { Refused }
    }

    /// Whether something failed.
    pub fn failed_if(failed: bool) -> ExitCode {
        if failed { Failed } else { Success }.into()
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

/// Each verb, in the order of the command line, with a status and what it means there. Every verb also refuses, which is the same
/// for all.
pub fn statuses() -> impl Iterator<Item = (&'static str, ExitStatus, &'static str)> {
    let lines = include_str!("exit_statuses.tsv").lines();
    lines.filter(|line| !line.starts_with('#')).map(|line| {
        let row = || {
            let (verb, rest) = line.split_once('\t')?;
            let (code, meaning) = rest.split_once('\t')?;
            let mut known = ExitStatus::ALL.into_iter();
            let status = known.find(|it| code.parse() == Ok(it.code()))?;
            Some((verb, status, meaning))
        };
        row().unwrap_or_else(|| panic!("not a verb, a status and a meaning: {line}"))
    })
}

/// What a status of a verb means there.
pub fn meaning_of(verb: &str, code: i32) -> String {
    let of_verb = statuses_of(verb).into_iter().flatten();
    let mut known = of_verb.filter(|(status, _)| i32::from(status.code()) == code);
    let meaning = known
        .next()
        .map_or("nobody knows why", |(_, meaning)| meaning);
    meaning.to_owned()
}

/// The statuses of a verb with their meanings, ascending; none of a verb that isn't for people.
fn statuses_of(verb: &str) -> Option<Vec<(ExitStatus, &'static str)>> {
    let of_verb = statuses().filter(|(it, ..)| *it == verb);
    let mut statuses: Vec<_> = of_verb
        .map(|(_, status, meaning)| (status, meaning))
        .collect();
    if statuses.is_empty() {
        return None;
    }
    statuses.push((ExitStatus::of_refusal(verb), Refused.meaning()));
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
    let mut verbs: Vec<&str> = statuses().map(|(verb, ..)| verb).collect();
    verbs.dedup();
    for verb in verbs {
        for (status, meaning) in statuses_of(verb).into_iter().flatten() {
            let _ = writeln!(text, "| `{verb}` | {} | {meaning} |", status.code());
        }
    }
    text
}
