//! `backsight trace`: every system call of a command or a process, with strace's options; recorded, told again, compared.

mod asked_trace;
mod asked_view;
mod comparison;
mod containers;
mod filter_options;
mod flame_graph;
mod format_options;
mod profile_monitor;
mod refused_options;
mod scope_options;
mod summary_options;
mod syscall_monitor;

use backsight_agent_program::TracingMonitor;
use backsight_profiler::BackgroundProfiler;
use backsight_syscall_decode::syscall_set::SyscallSet;
use backsight_syscall_decode::{EventKind, TraceEvent};
use backsight_tracer::Signal;
use backsight_tracer::engine::{self, EngineKind};
use backsight_tracer::expressions::DisplaySettings;
use backsight_tracer::first_thread::lend_first_thread;
use backsight_tracer::interrupt::Interrupt;
use backsight_tracer::options::{SignalSet, TraceOptions};
use backsight_tracer::outcome::{CommandExit, TraceOutcome};
use backsight_tracer::output::{
    AttachmentNotes, OutputTarget, TraceOutput, reading_command, stranger_note, tampering_failure,
};
use backsight_tracer::ptrace::command_start::{TracerPlacement, detach_from_command};
use backsight_tracer::recording::wall_clock_offset;
use backsight_tracer::summary::{SummaryGrouping, TraceSummary};
use comparison::{open_recording, print_differences, record_runs};
use filter_options::FilterOptions;
use flame_graph::{FlameGraph, title_of_command};
use format_options::FormatOptions;
use miette::{IntoDiagnostic as _, WrapErr as _};
use refused_options::RefusedOptions;
use scope_options::ScopeOptions;
use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    process::ExitCode,
    str::FromStr,
    sync::Arc,
};
use summary_options::SummaryOptions;

use crate::files;

/// Signals that end tracing.
const ENDS: [Signal; 4] = [
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGTERM,
];

/// Arguments of `trace`.
#[derive(Debug, clap::Args)]
#[command(args_override_self = true, infer_long_args = true)]
pub struct TraceArgs {
    /// An old way to say -f
    #[arg(short = 'F', hide = true)]
    follow_vforks: bool,
    /// Trace children and threads too; twice: each into a file of its own, FILE.TID
    #[arg(short = 'f', long = "follow-forks", action = clap::ArgAction::Count)]
    follow: u8,
    /// Each thread into a file of its own, as -ff
    #[arg(long)]
    output_separately: bool,
    /// Add to the file instead of beginning it anew
    #[arg(short = 'A', long = "output-append-mode")]
    append: bool,
    /// Say which version this is
    #[arg(short = 'V', long)]
    version: bool,
    /// Write to this file, or with `|` before it to this command; else to the standard error
    #[arg(short, long, value_name = "FILE")]
    output: Option<OsString>,
    /// Attach to these processes; ^C lets them go. Several have commas or blanks between them, as pidof prints them
    #[arg(short = 'p', long = "attach", value_name = "PID")]
    pids: Vec<ProcessNumbers>,
    #[command(flatten)]
    scope: ScopeOptions,
    #[command(flatten)]
    expressions: FilterOptions,
    /// Only calls that concern this path
    #[arg(short = 'P', long = "trace-path", value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Only calls that succeed
    #[arg(short = 'z', long)]
    successful_only: bool,
    /// Only calls that fail
    #[arg(short = 'Z', long, visible_alias = "failing-only")]
    failed_only: bool,
    /// Detach at this call
    #[arg(short = 'b', long, value_name = "CALL")]
    detach_on: Vec<String>,
    /// Detach after so many calls
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    syscall_limit: Option<u64>,
    /// Stop only at the calls that are asked for, by a filter in the kernel: as it is wherever a command is followed and
    /// calls are chosen. `no` stops at each, and lets the command go on should the tracer be killed
    #[arg(
        long,
        value_name = "YES/NO",
        default_value = "yes",
        default_missing_value = "yes",
        num_args = 0..=1,
        require_equals = true,
        value_parser = clap::builder::PossibleValuesParser::new(["yes", "no"])
    )]
    seccomp_bpf: String,
    /// How calls are collected
    #[arg(long, value_name = "NAME", default_value = "auto")]
    engine: Engine,
    /// When signals that end a program, as ^C, end tracing: anywhere or waiting (1, 2), as they come; never (3), as it is
    /// where a command is traced into a file; never-tstp (4), nor does ^Z stop it, as it is with -D
    #[arg(short = 'I', long, value_name = "WHEN")]
    interruptible: Option<Interruptible>,
    /// The command takes this process's place, with its number and its parent; who traces it is a grandchild of it, with -DD
    /// in a group of its own, with -DDD in a session of its own
    #[arg(short = 'D', action = clap::ArgAction::Count)]
    apart: u8,
    /// The same: grandchild, pgroup or session
    #[arg(
        long,
        value_name = "WHERE",
        default_missing_value = "grandchild",
        num_args = 0..=1,
        require_equals = true,
        conflicts_with = "apart"
    )]
    daemonize: Option<Daemonize>,
    /// Set a variable of the command's environment, or remove it
    #[arg(short = 'E', long = "env", value_name = "NAME[=VALUE]")]
    environment: Vec<OsString>,
    /// Run the command as this user, or with the numbers of a user and a group
    #[arg(short, long, value_name = "NAME/UID:GID")]
    user: Option<String>,
    /// What the command is told to be called
    #[arg(long = "argv0", value_name = "NAME", requires = "command")]
    own_name: Option<OsString>,
    /// Have what is traced die should the tracer be killed, instead of going on alone
    #[arg(long)]
    kill_on_exit: bool,
    /// Keep what is traced in this file, to be told again with --replay and compared with --diff
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = [
            "output",
            "json",
            "perfetto",
            "summary_only",
            "summary",
            "by",
            "percentiles",
            "histogram",
            "flame_graph"
        ]
    )]
    record: Option<PathBuf>,
    /// Run the command so often, and keep each run as a recording of its own in the folder that --record names
    #[arg(
        long,
        value_name = "N",
        requires_all = ["record", "command"],
        conflicts_with_all = ["pids", "apart", "daemonize", "profile"],
        value_parser = clap::value_parser!(u32).range(1..=10_000)
    )]
    runs: Option<u32>,
    /// Keep in this file, as a profile, which functions run meanwhile in the command and what it starts
    #[arg(long, value_name = "FILE", conflicts_with_all = ["apart", "daemonize", "replay", "diff"])]
    profile: Option<PathBuf>,
    /// Tell what a recording holds
    #[arg(long, value_name = "FILE", conflicts_with_all = ["record", "pids", "command", "expressions"])]
    replay: Option<PathBuf>,
    /// Say what changed from one recording to another: calls, errors and times. Either may be a folder of recordings, as --runs makes
    /// it: several runs of both sides give verdicts with intervals
    #[arg(
        long,
        num_args = 2,
        value_names = ["BEFORE", "AFTER"],
        conflicts_with_all = ["record", "replay", "pids", "command", "expressions"]
    )]
    diff: Option<Vec<PathBuf>>,
    /// How much work each recording of a side of --diff did, as of requests served: counts and times are compared for the work of
    /// the first
    #[arg(
        long,
        num_args = 2,
        value_names = ["BEFORE", "AFTER"],
        requires = "diff",
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    work: Option<Vec<u64>>,
    #[command(flatten)]
    refused: RefusedOptions,
    #[command(flatten)]
    format: FormatOptions,
    #[command(flatten)]
    summary: SummaryOptions,
    /// The command
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// When signals end tracing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Interruptible {
    #[value(alias = "1", alias = "always")]
    Anywhere,
    #[value(alias = "2")]
    Waiting,
    #[value(alias = "3")]
    Never,
    #[value(alias = "4", alias = "never_tstp")]
    NeverTstp,
}

/// Where a tracer is that isn't the parent of its command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Daemonize {
    Grandchild = 1,
    #[value(alias = "pgrp")]
    Pgroup = 2,
    Session = 3,
}

/// How calls are collected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Engine {
    /// The kernel's where it can do what is asked, after the first calls of a command
    Auto,
    /// Programs in the kernel: nobody is stopped at a call; needs root's capabilities
    Kernel,
    /// Stops at each call; needs no privileges
    Ptrace,
}

/// Watches a trial's steps until it is stopped.
pub fn monitor(monitor: &TracingMonitor) -> miette::Result<()> {
    match monitor {
        TracingMonitor::Syscalls => syscall_monitor::execute(monitor),
        TracingMonitor::Profile(asked) => profile_monitor::execute(monitor, asked),
    }
}

impl TraceArgs {
    /// Traces, and ends as the command does.
    pub fn execute(self) -> miette::Result<ExitCode> {
        if self.version {
            files::print(concat!("backsight trace ", env!("CARGO_PKG_VERSION"), "\n"))?;
            return Ok(ExitCode::SUCCESS);
        }
        self.refused.check()?;
        self.summary.check_use()?;
        if let Some(sides) = &self.diff {
            return print_differences(sides, self.work.as_deref(), self.format.json);
        }
        if let Some(file) = &self.replay {
            return self.told_again(file);
        }
        if let (Some(folder), Some(runs)) = (&self.record, self.runs) {
            return record_runs(folder, runs);
        }
        let (mut options, display, counted) = self.trace_options()?;
        let apart = self.apart()?;
        if let (Some(apart), Some(command)) = (apart, &mut options.command) {
            // First of all, as long as there is one thread and nothing is open but what was inherited.
            detach_from_command(command, apart)
                .map_err(|error| miette::miette!("{}", chain(&error)))?;
        }
        let into = self.record.clone().map(PathBuf::into_os_string);
        let into = into.or_else(|| self.output.clone());
        let interrupt = self.interrupted(into.is_some(), apart).into_diagnostic()?;
        if let Some(time) = self.scope.time_limit() {
            interrupt.trigger_after(time).into_diagnostic()?;
        }
        if !display.quiet.paths {
            for (path, resolved) in self.resolved_paths() {
                print_note(&format!(
                    "Requested path {path:?} resolved into {resolved:?}"
                ));
            }
        }
        if let Some(note) = self.scope.note().filter(|_| !is_quiet(&display)) {
            print_note(&note);
        }
        let (chosen, why) = match self.engine {
            Engine::Auto => engine::choose_engine(&options),
            Engine::Kernel => (EngineKind::Kernel, None),
            Engine::Ptrace => (EngineKind::Ptrace, None),
        };
        let place = OutputTarget {
            in_order: chosen == EngineKind::Ptrace,
            ..self.place(into)
        };
        let trace = || {
            self.trace_into(
                place,
                (options, display, counted),
                (chosen, why),
                &interrupt,
            )
        };
        // Where another thread than the caller's traces, it is the first one that the kernel is to call the tracer.
        let (ended, unread) = match chosen {
            EngineKind::Ptrace | EngineKind::PtraceThenKernel => trace(),
            EngineKind::Kernel => lend_first_thread(trace).into_diagnostic()?,
        }?;
        Ok(match apart {
            None if unread => nobody_reads(),
            None => status(ended, interrupt.signal()),
            // The command itself says to its parent how it ended.
            Some(_) => ExitCode::SUCCESS,
        })
    }

    /// Traces what is asked by this engine; how it ended, and whether nobody reads any longer what was traced.
    fn trace_into(
        &self,
        place: OutputTarget,
        (options, display, counted): (TraceOptions, DisplaySettings, SyscallSet),
        (chosen, why): (EngineKind, Option<String>),
        interrupt: &Arc<Interrupt>,
    ) -> miette::Result<(TraceOutcome, bool)> {
        let quiet = is_quiet(&display);
        let (quiet_attach, quiet_exit) = (display.quiet.attach, display.quiet.exit);
        let silent = self.is_silent(&display);
        // Where there are no lines, what would stand among them is said beside the summary.
        let apart = match self.output {
            Some(_) => !silent,
            None => self.summary.only_counts(),
        };
        let notes_attachments = apart && !quiet_attach;
        let signals = options.signals;
        let shown = self.shown(wall_clock_offset(), display, counted, signals)?;
        let mut flame_graph = self.flame_graph()?;
        let mut output = TraceOutput::open(place, Some(interrupt), shown).into_diagnostic()?;
        let mut broken = None;
        let counts = self.counts_alone();
        let mut attachments = AttachmentNotes::default();
        let mut note = |event: &TraceEvent| {
            let attachment = notes_attachments.then(|| attachments.note(event)).flatten();
            let stranger = stranger_note(event, quiet_attach, quiet_exit);
            if let Some(note) = attachment.or(stranger) {
                print_note(&note);
            }
        };
        let mut trace = |engine| {
            if counts {
                let (ended, summary) =
                    engine::count_calls(engine, &options, interrupt, &mut |event| {
                        note(&event);
                    })?;
                output.summarize(TraceSummary::Calls(summary));
                return Ok(ended);
            }
            engine::trace(engine, &options, interrupt, &mut |event: TraceEvent| {
                note(&event);
                if let Some(flame_graph) = &mut flame_graph {
                    flame_graph.add(&event);
                }
                if broken.is_none()
                    && self.is_shown(&event)
                    && let Err(error) = show(&mut output, &event)
                {
                    broken = Some(error);
                    interrupt.trigger(Signal::SIGPIPE as i32);
                }
            })
        };
        let start = |file| BackgroundProfiler::start(file, &self.processes(), files::print_note);
        let profiler = self.profile.as_deref().map(start);
        let profiler = profiler.transpose().into_diagnostic()?;
        let report = |chosen, why| self.print_engine(chosen, why, quiet);
        let ended = match self.engine {
            Engine::Auto => engine::run_with_fitting_engine((chosen, why), &report, &mut trace),
            Engine::Kernel | Engine::Ptrace => trace(chosen),
        };
        let ended = ended.map_err(|error| miette::miette!("{}", chain(&error)))?;
        if let Some(note) = scope_options::lost_note(ended.lost) {
            print_note(&note);
        }
        let profiled = profiler.map(BackgroundProfiler::finish).transpose();
        profiled.into_diagnostic()?;
        let unread = is_unread(broken.map_or_else(|| output.close(), Err))?;
        if let Some(flame_graph) = flame_graph {
            let words = self.command.iter();
            let words = words.map(|word| word.to_string_lossy().into_owned());
            flame_graph.finish(&title_of_command(words))?;
        }
        Ok((ended, unread))
    }

    /// How far from the command who traces it is to be; nothing where that is the command's parent.
    fn apart(&self) -> miette::Result<Option<TracerPlacement>> {
        let apart = match self.apart.max(self.daemonize.map_or(0, |it| it as u8)) {
            0 => return Ok(None),
            1 => TracerPlacement::Near,
            2 => TracerPlacement::Group,
            3 => TracerPlacement::Session,
            times => miette::bail!(
                "-D is given {times} times; three times is a session of its own, and nothing is further away"
            ),
        };
        miette::ensure!(
            !self.command.is_empty(),
            "-D, --daemonize: it is a command whose place this process leaves; give one"
        );
        Ok(Some(apart))
    }

    /// What ends tracing from outside.
    fn interrupted(
        &self,
        into_file: bool,
        apart: Option<TracerPlacement>,
    ) -> io::Result<Arc<Interrupt>> {
        // Into a file, the command's terminal is the command's alone: ^C is for it to decide.
        let usual = if apart.is_some() {
            Interruptible::NeverTstp
        } else if into_file && self.pids.is_empty() && !self.scope.is_asked() {
            Interruptible::Never
        } else {
            Interruptible::Waiting
        };
        match self.interruptible.unwrap_or(usual) {
            Interruptible::Anywhere | Interruptible::Waiting => Interrupt::on(&ENDS),
            Interruptible::Never => Interrupt::never(&ENDS),
            Interruptible::NeverTstp => {
                let all: Vec<Signal> = ENDS.into_iter().chain([Signal::SIGTSTP]).collect();
                Interrupt::never(&all)
            }
        }
    }

    /// The paths that are asked for, as they are given and as what they lead to is called.
    fn every_path(&self) -> Vec<PathBuf> {
        let mut all = self.paths.clone();
        all.extend(self.resolved_paths().map(|(_, resolved)| resolved));
        all
    }

    /// The paths that lead to what is called otherwise, each with how.
    fn resolved_paths(&self) -> impl Iterator<Item = (&Path, PathBuf)> {
        let resolved = |path: &Path| path.canonicalize().ok().filter(|it| it != path);
        let paths = self.paths.iter().map(PathBuf::as_path);
        paths.filter_map(move |path| Some((path, resolved(path)?)))
    }

    /// Whether threads of a command whose lines go to a file come, go and change without a word: unless what is said was named.
    fn is_silent(&self, display: &DisplaySettings) -> bool {
        !self.command.is_empty() && !display.quiet.named
    }

    /// The processes that are attached to.
    fn processes(&self) -> Vec<i32> {
        self.pids
            .iter()
            .flat_map(|those| &those.0)
            .copied()
            .collect()
    }

    /// The same without those that are gone by now, which is said of each, as long as anything is left to be traced.
    fn processes_left(&self) -> Vec<i32> {
        let asked = self.processes();
        let (left, gone): (Vec<i32>, Vec<i32>) =
            (asked.iter()).partition(|pid| Path::new("/proc").join(pid.to_string()).exists());
        if left.is_empty() && self.command.is_empty() {
            return asked;
        }
        for pid in gone {
            print_note(&format!("process {pid} is gone; the others are traced"));
        }
        left
    }

    /// How many processes are traced from the beginning.
    fn begun_with(&self) -> usize {
        self.processes().len() + usize::from(!self.command.is_empty())
    }

    /// Whether each thread has a file of its own.
    fn each(&self) -> bool {
        self.follow > 1 || (self.output_separately && self.follows() > 0)
    }

    /// Whether a command reads what is written.
    fn is_piped(&self) -> bool {
        self.output.as_deref().and_then(reading_command).is_some()
    }

    /// How often it is asked that children are traced too; what is traced by where it runs always has several processes.
    fn follows(&self) -> u8 {
        let asked = self.scope.is_asked() || self.follow_vforks;
        self.follow.max(u8::from(asked))
    }

    /// How this file is written to.
    fn place(&self, file: Option<OsString>) -> OutputTarget {
        OutputTarget {
            file,
            each: self.each() && self.record.is_none(),
            append: self.append,
            in_order: false,
        }
    }

    /// Tells what a recording holds, as if it happened now.
    fn told_again(&self, file: &Path) -> miette::Result<ExitCode> {
        let recording = open_recording(file)?;
        let shown = self.shown(
            recording.header.wall,
            self.display(),
            SyscallSet::all(),
            SignalSet::all(),
        )?;
        let mut flame_graph = self.flame_graph()?;
        let title = title_of_command(recording.header.command.iter().cloned());
        let mut output =
            TraceOutput::open(self.place(self.output.clone()), None, shown).into_diagnostic()?;
        let mut fault = None;
        for event in recording {
            match event {
                Ok(event) => {
                    if let Some(flame_graph) = &mut flame_graph {
                        flame_graph.add(&event);
                    }
                    if self.is_shown(&event) && is_unread(show(&mut output, &event))? {
                        return Ok(nobody_reads());
                    }
                }
                Err(error) => fault = Some(error),
            }
        }
        let unread = is_unread(output.close())?;
        if let Some(flame_graph) = flame_graph {
            flame_graph.finish(&title)?;
        }
        match fault {
            None if unread => Ok(nobody_reads()),
            None => Ok(ExitCode::SUCCESS),
            Some(error) => Err(miette::miette!("{}: {error}", file.display())),
        }
    }

    fn flame_graph(&self) -> miette::Result<Option<FlameGraph>> {
        let file = self.summary.flame_graph.as_deref();
        let new = |file| FlameGraph::new(file, self.replay.is_none());
        file.map(new).transpose()
    }

    /// Whether an event goes to the output: stacks may be there for the flame graph alone. A recording shows those that it has.
    fn is_shown(&self, event: &TraceEvent) -> bool {
        let for_flame_graph = self.summary.flame_graph.is_some();
        let is_asked_for = self.format.stack_trace.is_some() || !for_flame_graph;
        is_asked_for || !matches!(event.kind, EventKind::Stack(_))
    }

    /// Prints once which engine traces, and why not the other.
    fn print_engine(&self, chosen: EngineKind, why: Option<String>, quiet: bool) {
        if !quiet {
            let why = why.map_or_else(String::new, |why| format!(": {why}"));
            print_note(&format!("the {} engine{why}", chosen.name()));
        }
    }

    /// Whether no event is needed, but only how many there were of each kind.
    fn counts_alone(&self) -> bool {
        self.record.is_none()
            && self.summary.only_counts()
            && self.summary.grouping() == SummaryGrouping::Call
            && self.summary.flame_graph.is_none()
    }
}

/// Whether nothing is to be said of who traces: who doesn't want to hear how a program calls the kernel doesn't want to hear how
/// that is watched.
fn is_quiet(display: &DisplaySettings) -> bool {
    display.quiet.attach || display.quiet.personality
}

/// Numbers of processes, with commas or blanks between them.
#[derive(Debug, Clone)]
struct ProcessNumbers(Vec<i32>);

impl FromStr for ProcessNumbers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let separates = |letter: char| letter == ',' || letter.is_ascii_whitespace();
        let numbers = text.split(separates).filter(|number| !number.is_empty());
        let numbers: Vec<i32> = numbers
            .map(|number| match number.parse() {
                Ok(number @ 1..) => Ok(number),
                _ => Err(format!("`{number}` isn't the number of a process")),
            })
            .collect::<Result<_, _>>()?;
        match numbers.is_empty() {
            true => Err("it names no process: is the one that is meant running?".to_owned()),
            false => Ok(Self(numbers)),
        }
    }
}

/// Prints what is said beside the calls, behind the words by which this program was called: so it is told from what is traced.
fn print_note(note: &str) {
    let program = std::env::args_os().next().unwrap_or_default();
    files::print_note(&format!("{} trace: {note}", program.to_string_lossy()));
}

/// Shows an event, and says what couldn't be done to its call.
fn show(output: &mut TraceOutput, event: &TraceEvent) -> io::Result<()> {
    if let Some(failure) = tampering_failure(event) {
        print_note(&failure);
    }
    output.show(event)
}

/// Whether what was traced couldn't be written because nobody reads it any more.
fn is_unread(written: io::Result<()>) -> miette::Result<bool> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(true),
        written => {
            let written = written.into_diagnostic();
            written.wrap_err("what was traced can't be written")?;
            Ok(false)
        }
    }
}

/// Ends this process as a program ends that writes into a closed pipe.
fn nobody_reads() -> ExitCode {
    ExitCode::from(CommandExit::Killed(Signal::SIGPIPE as i32).exit_with_same_status())
}

/// How this process is to end when its command ended so; without one, as the signal would have it that ended tracing.
fn status(ended: TraceOutcome, signal: Option<i32>) -> ExitCode {
    let finish = ended.command.or(signal.map(CommandExit::Killed));
    finish.map_or(ExitCode::SUCCESS, |finish| {
        ExitCode::from(finish.exit_with_same_status())
    })
}

/// An error with what it comes from.
fn chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", chain(source)),
        None => error.to_string(),
    }
}
