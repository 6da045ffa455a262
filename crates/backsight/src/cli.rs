//! The command line: its verbs and what all of them share. Help, completions and manual pages are made
//! from it.

use backsight_agent_program::HostVerb;
use clap::{
    ArgMatches, CommandFactory as _, FromArgMatches as _, Parser, Subcommand,
    error::ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand},
};
use std::process::ExitCode;

use crate::{
    accept, alerts, annotate, audit, bisect, check,
    common_options::CommonOptions,
    compare, detect, doctor, examples,
    exit_status::{self, ExitStatus},
    explain, export, history, history_log, import, init, lab, lint, list, log, manual, mcp, new,
    noise, notify, overhead, profile, prune, publish, queue, record, report, reserve, restore,
    resume, run, schema, search, serve, step, store, studies, test, test_matrix, token, trace,
    try_parser, try_patch, watch,
};

/// Measure any version of a system; learn what became slower or faster, by how much, and how sure that is.
#[derive(Debug, Parser)]
#[command(
    name = "backsight",
    version,
    max_term_width = 100,
    arg_required_else_help = true
)]
pub struct Arguments {
    #[command(flatten)]
    shared: CommonOptions,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Write a lab.toml and a plan.toml that run here
    Init(init::InitArgs),
    /// A lab: its namespaces, made and removed; its machines checked, switched on and off, heard at their consoles
    Lab(lab::LabArgs),
    /// Measure every cell of a plan, round by round
    Run(run::RunArgs),
    /// Run the suites of a plan, and say which tests aren't in order
    Test(test::TestArgs),
    /// Measure versions of a target along its history
    Step(Box<step::StepArgs>),
    /// Find the changes that made a metric worse or better
    Bisect(Box<bisect::BisectArgs>),
    /// Find what watching costs: each monitor alone and all together, beside nothing
    Overhead(overhead::OverheadArgs),
    /// Measure patches side by side with what they change, until it is decided
    Try(Box<try_patch::TryArgs>),
    /// Check a change before it is merged: the working copy beside the branch that it is for, in one line for CI
    Check(Box<check::CheckArgs>),
    /// Measure how much benchmarks vary, and how many repeats to buy
    Noise(Box<noise::NoiseArgs>),
    /// Find the highest load that meets a goal: no loss, little loss, a latency
    Search(Box<search::SearchArgs>),
    #[command(flatten)]
    InTrial(TrialVerb),
    /// The commits between two versions of a target: authors, messages, files
    Log(history_log::LogArgs),
    /// Go on with a study that was stopped or killed
    Resume(resume::ResumeArgs),
    /// Compare result sets: differences with their intervals
    Compare(compare::CompareArgs),
    /// Say what goes along with a change: counters, system calls, functions, each with how sure it is
    Explain(explain::ExplainArgs),
    /// Find where numbers changed: change points of a file or of studies
    Detect(Box<detect::DetectArgs>),
    /// Show where the time of a benchmark goes, and which functions changed beside a base
    Profile(profile::ProfileArgs),
    /// Show what was measured along a target's versions, and where it changed
    History(history::HistoryArgs),
    /// Show the tests of suites along versions or studies, the worst first: since when each fails, and how often
    Tests(test_matrix::TestsArgs),
    /// List alerts, the worst first: one for each change, whatever metrics, machines and tests moved with it
    Alerts(alerts::AlertsArgs),
    /// Say how an alert stands: investigating, confirmed, fixed or invalid
    Triage(alerts::TriageArgs),
    /// Accept a change that is known: it stays in the history and is no reason for alarm
    Accept(accept::AcceptArgs),
    /// Put a note beside a version, or list the notes of a target
    Annotate(annotate::AnnotateArgs),
    /// Tell people of changes: mail, chats, webhooks, commit statuses, comments on pull requests, votes; nothing twice
    Notify(notify::NotifyArgs),
    /// Publish the histories of targets as a site of plain files
    Publish(publish::PublishArgs),
    /// Serve the site of a store to browsers of this machine, live, with the read API
    Serve(serve::ServeArgs),
    /// Serve the store to programs that work with a language model (Model Context Protocol)
    Mcp(mcp::McpArgs),
    /// Commands that wait for hosts: added, listed, cancelled, and run one after the other
    Queue(queue::QueueArgs),
    /// Standing jobs: follow trees, measure new versions, find what changed and tell, unattended
    Watch(watch::WatchArgs),
    /// Reserve a testbed or a host for a person: no worker begins a job there
    Reserve(reserve::ReserveArgs),
    /// Tokens with which people and programs ask through a server: made, listed, revoked
    Token(token::TokenArgs),
    /// List what was asked through servers, and by whom
    Audit(audit::AuditArgs),
    /// Make a study of what another tool measured
    Import(import::ImportArgs),
    /// Write a study for others: CSV, JSON, Parquet, Markdown, OpenMetrics, benchstat's lines
    Export(export::ExportArgs),
    /// Write a study as one self-contained page
    Report(report::ReportArgs),
    /// List the studies in the store
    Studies(studies::StudiesArgs),
    /// Show a study, or a definition: `show NAME`, `show benchmark NAME`, `show monitor NAME`, `show setting NAME`
    Show(studies::ShowArgs),
    /// Delete a study and the raw outputs that only it has
    Delete(studies::DeleteArgs),
    /// Remove raw outputs and builds that the store's rules don't keep; samples and verdicts stay
    Prune(prune::PruneArgs),
    /// The store as a whole: checked and mended, copied, and where its raw outputs are
    Store(store::StoreArgs),
    /// List what there is: `list benchmarks`, `list monitors`, `list importers`
    List(list::ListArgs),
    /// Write a definition that runs, to go on from
    New(new::NewArgs),
    /// Advice on definitions: units, directions, warm-up, expressions that match twice, names
    Lint(lint::LintArgs),
    /// Show what a definition's parsers find in an output of its program, line by line
    TryParser(try_parser::TryParserArgs),
    /// Say what a plan lacks, what will spoil its measurements, and what mends each; without one, of machines
    Doctor(doctor::DoctorArgs),
    /// Show what a host is: hardware, kernel, settings, packages; or what differs between two
    Record(record::RecordArgs),
    /// Put back what interrupted studies left changed on machines
    Restore(restore::RestoreArgs),
    /// Print a JSON schema: of a kind of file, for editors, or of what a verb prints, for programs
    Schema(schema::SchemaArgs),
    /// Print the completions of a shell
    Completions(manual::CompletionsArgs),
    /// Write the manual pages into a folder
    Man(manual::ManArgs),
    /// Write the reference pages of the documentation
    #[command(hide = true)]
    Reference(manual::ReferenceArgs),
}

/// What agents and definitions start: it has no time for the leftovers of others, nor for the description of all verbs.
#[derive(Debug, Subcommand)]
enum TrialVerb {
    /// Every system call of a command or a process, with strace's options
    Trace(Box<trace::TraceArgs>),
    #[command(flatten)]
    OnHost(HostVerb),
}

/// [`Arguments`] of a verb that trials start: all verbs take longer to describe than a short program takes to trace.
#[derive(Debug, Parser)]
struct TrialArguments {
    #[command(flatten)]
    shared: CommonOptions,
    #[command(subcommand)]
    verb: TrialVerb,
}

/// The command line, with examples and exit statuses in each command's help.
pub fn command() -> clap::Command {
    exit_status::with_statuses(examples::with_examples(Arguments::command()))
}

/// Ends this process with what is wrong with its arguments, or with the help that they ask for.
fn end_with(error: &clap::Error) -> ! {
    // Who reads it may have gone.
    let _ = error.print();
    if !error.use_stderr() {
        std::process::exit(ExitStatus::Success.code().into());
    }
    let read = Arguments::command().ignore_errors(true).try_get_matches();
    let refused = read.map_or(ExitStatus::Refused, |matches| status_of_refusal(&matches));
    std::process::exit(refused.code().into())
}

/// How this process ends where what is asked is refused.
fn status_of_refusal(matches: &ArgMatches) -> ExitStatus {
    ExitStatus::of_refusal(matches.subcommand_name().unwrap_or_default())
}

impl Arguments {
    /// The arguments of this process, and how it ends where they are refused; a wrong one ends it.
    pub fn read() -> (Self, ExitStatus) {
        if let Ok((arguments, refused)) = Self::read_in_trial() {
            return (arguments, refused);
        }
        // Examples and statuses are most of what a start would do, and only who asks for help reads them.
        let matches = Arguments::command().try_get_matches();
        let matches = matches.or_else(|error| match error.kind() {
            DisplayHelp | DisplayHelpOnMissingArgumentOrSubcommand => command().try_get_matches(),
            _ => Err(error),
        });
        let read = matches.and_then(|matches| {
            let refused = status_of_refusal(&matches);
            Ok((Self::from_arg_matches(&matches)?, refused))
        });
        read.unwrap_or_else(|error| end_with(&error))
    }

    /// The arguments of a verb that trials start; an error for every other one, and for every help and message, of which all verbs are part.
    fn read_in_trial() -> clap::error::Result<(Self, ExitStatus)> {
        let matches = TrialArguments::command().try_get_matches()?;
        let TrialArguments { shared, verb } = TrialArguments::from_arg_matches(&matches)?;
        let arguments = Self {
            shared,
            verb: Verb::InTrial(verb),
        };
        Ok((arguments, status_of_refusal(&matches)))
    }

    /// Does what was asked. Before that it cleans up after agents that were killed with all who would have done it.
    pub fn execute(self) -> miette::Result<ExitCode> {
        let shared = self.shared;
        if matches!(self.verb, Verb::InTrial(_)) {
            log::start_in_trial()?;
        } else {
            log::start(&shared)?;
            backsight_agent::sweep_dead_agents();
        }
        match self.verb {
            Verb::Init(verb) => verb.execute(&shared),
            Verb::Lab(verb) => verb.execute(),
            Verb::Run(verb) => verb.execute(&shared),
            Verb::Test(verb) => verb.execute(&shared),
            Verb::Step(verb) => verb.execute(&shared),
            Verb::Bisect(verb) => verb.execute(&shared),
            Verb::Overhead(verb) => verb.execute(&shared),
            Verb::Try(verb) => verb.execute(&shared),
            Verb::Check(verb) => verb.execute(&shared),
            Verb::Noise(verb) => verb.execute(&shared),
            Verb::Search(verb) => verb.execute(&shared),
            Verb::InTrial(TrialVerb::Trace(verb)) => verb.execute(),
            Verb::InTrial(TrialVerb::OnHost(verb)) => verb.execute(trace::monitor),
            Verb::Log(verb) => verb.execute(&shared),
            Verb::Resume(verb) => verb.execute(&shared),
            Verb::Compare(verb) => verb.execute(&shared),
            Verb::Explain(verb) => verb.execute(&shared),
            Verb::Detect(verb) => verb.execute(&shared),
            Verb::Profile(verb) => verb.execute(&shared),
            Verb::History(verb) => verb.execute(&shared),
            Verb::Tests(verb) => verb.execute(&shared),
            Verb::Alerts(verb) => verb.execute(&shared),
            Verb::Triage(verb) => verb.execute(&shared),
            Verb::Accept(verb) => verb.execute(&shared),
            Verb::Annotate(verb) => verb.execute(&shared),
            Verb::Notify(verb) => verb.execute(&shared),
            Verb::Publish(verb) => verb.execute(&shared),
            Verb::Serve(verb) => verb.execute(&shared),
            Verb::Mcp(verb) => verb.execute(&shared),
            Verb::Queue(verb) => verb.execute(&shared, command()),
            Verb::Watch(verb) => verb.execute(&shared),
            Verb::Reserve(verb) => verb.execute(&shared),
            Verb::Token(verb) => verb.execute(&shared),
            Verb::Audit(verb) => verb.execute(&shared),
            Verb::Import(verb) => verb.execute(&shared),
            Verb::Export(verb) => verb.execute(&shared),
            Verb::Report(verb) => verb.execute(&shared),
            Verb::Studies(verb) => verb.execute(&shared),
            Verb::Show(verb) => verb.execute(&shared),
            Verb::Delete(verb) => verb.execute(&shared),
            Verb::Prune(verb) => verb.execute(&shared),
            Verb::Store(verb) => verb.execute(&shared),
            Verb::List(verb) => verb.execute(&shared),
            Verb::New(verb) => verb.execute(),
            Verb::Lint(verb) => verb.execute(),
            Verb::TryParser(verb) => verb.execute(),
            Verb::Doctor(verb) => verb.execute(&shared),
            Verb::Record(verb) => verb.execute(&shared),
            Verb::Restore(verb) => verb.execute(&shared),
            Verb::Schema(verb) => verb.execute(),
            Verb::Completions(verb) => verb.execute(command()),
            Verb::Man(verb) => verb.execute(command()),
            Verb::Reference(verb) => verb.execute(command()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{examples::examples, exit_status::statuses};

    /// The words of a line as a shell splits these: quotes hold words together, and `>` ends them.
    fn words(line: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut quoted = false;
        for c in line.chars().take_while(|c| *c != '>') {
            match c {
                '\'' => quoted = !quoted,
                ' ' if !quoted => words.push(String::new()),
                c => words.last_mut().unwrap().push(c),
            }
        }
        words.retain(|word| !word.is_empty());
        words
    }

    #[test]
    fn every_command_for_people_has_examples_that_parse() {
        fn check(command: &clap::Command, above: &str, named: &mut Vec<String>) {
            let below = command.get_subcommands();
            for below in below.filter(|it| !it.is_hide_set() && it.get_name() != "help") {
                let name = format!("{above}{}", below.get_name());
                check(below, &format!("{name} "), named);
                named.push(name);
            }
        }
        let mut named = Vec::new();
        check(&command(), "", &mut named);
        let mut with_examples: Vec<&str> = examples().map(|(name, _)| name).collect();
        with_examples.sort_unstable();
        with_examples.dedup();
        named.sort_unstable();
        assert_eq!(with_examples, named);
        for (name, line) in examples() {
            let words = words(line);
            let parsed = command().try_get_matches_from(&words);
            assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
            // A day that is ahead of us now won't be for ever.
            let ends = words
                .windows(2)
                .find(|it| ["--until", "--deadline"].contains(&&*it[0]));
            assert!(
                !ends.is_some_and(|it| it[1].contains('-')),
                "{line}: without a day"
            );
            let first = name.split(' ').next().unwrap();
            assert!(words.iter().any(|word| word == first), "{line}");
        }
    }

    #[test]
    fn what_trials_start_is_read_without_the_other_verbs() {
        for (name, line) in examples() {
            let alone = TrialArguments::command().try_get_matches_from(words(line));
            assert_eq!(
                alone.is_ok(),
                ["trace", "barrier"].contains(&name),
                "{line}"
            );
        }
    }

    #[test]
    fn the_table_has_every_verb_for_people_and_no_other() {
        let command = command();
        let of_command_line: Vec<&str> = command
            .get_subcommands()
            .filter(|verb| !verb.is_hide_set())
            .map(clap::Command::get_name)
            .collect();
        let mut of_table: Vec<&str> = statuses().map(|(verb, ..)| verb).collect();
        of_table.dedup();
        assert_eq!(of_table, of_command_line);
    }

    #[test]
    fn every_help_ends_with_the_statuses() {
        fn check(mut command: clap::Command) {
            let help = command.render_long_help().to_string();
            assert!(help.contains("Exit status:\n  0 "), "{help}");
            let below = command.get_subcommands();
            // Rendering adds clap's own `help`.
            for below in below.filter(|below| below.get_name() != "help") {
                check(below.clone());
            }
        }
        for verb in command()
            .get_subcommands()
            .filter(|verb| !verb.is_hide_set())
        {
            check(verb.clone());
        }
    }
}
