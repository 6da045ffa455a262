//! `backsight trace`: every system call of a command or a process, with strace's options; recorded, told again, compared.
//!
//! Refuses: to go on tracing for a reader that is gone.

mod output;

use backsight_trace::{
    Abi, Asked, Calls, Command, Ended, Event, Finish, Injection, Interrupt, Known, Signal, Signals,
    Status, Statuses, User, engine,
    json::Json,
    perfetto::Perfetto,
    recording::{Header, Recorder, Recording},
    summary::{Column, Sort, Summary, changes, changes_table},
    table,
    text::{self, Escapes, Text, Time, Who},
};
use miette::{IntoDiagnostic as _, WrapErr as _};
use output::{Files, Lines, Output, Shown, Table};
use std::{
    ffi::OsString,
    fs::File,
    io,
    path::{Path, PathBuf},
    process::ExitCode,
};

/// Signals that end tracing.
const ENDS: [Signal; 4] = [
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGTERM,
];

/// The classes of calls that sets may name.
const CLASSES: [&str; 9] = [
    "file", "process", "network", "memory", "signal", "desc", "ipc", "creds", "clock",
];

/// Arguments of `trace`.
#[derive(Debug, clap::Args)]
pub struct Trace {
    /// Trace children and threads too; twice: each into a file of its own, FILE.TID
    #[arg(short = 'f', long = "follow-forks", action = clap::ArgAction::Count)]
    follow: u8,
    /// Write to this file, or with `|` before it to this command; else to the standard error
    #[arg(short, long, value_name = "FILE")]
    output: Option<OsString>,
    /// Attach to these processes; ^C lets them go
    #[arg(
        short = 'p',
        long = "attach",
        value_name = "PID",
        value_delimiter = ','
    )]
    pids: Vec<i32>,
    /// What to trace: trace=SET, signal=SET, status=SET, inject=…, fault=…, quiet=SET; SET alone is trace=SET
    #[arg(short = 'e', value_name = "EXPR")]
    expressions: Vec<String>,
    /// Only calls that concern this path
    #[arg(short = 'P', long = "trace-path", value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Only calls that succeed
    #[arg(short = 'z', long)]
    successful_only: bool,
    /// Only calls that fail
    #[arg(short = 'Z', long)]
    failed_only: bool,
    /// Detach at this call
    #[arg(short = 'b', long, value_name = "CALL")]
    detach_on: Vec<String>,
    /// Detach after so many calls
    #[arg(long, value_name = "N")]
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
    /// Set a variable of the command's environment, or remove it
    #[arg(short = 'E', long = "env", value_name = "NAME[=VALUE]")]
    environment: Vec<OsString>,
    /// Run the command as this user
    #[arg(short, long, value_name = "NAME")]
    user: Option<String>,
    /// Keep what is traced in this file, to be told again with --replay and compared with --diff
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["output", "json", "perfetto", "summary_only", "summary"]
    )]
    record: Option<PathBuf>,
    /// Tell what a recording holds
    #[arg(long, value_name = "FILE", conflicts_with_all = ["record", "pids", "command", "expressions"])]
    replay: Option<PathBuf>,
    /// Say what changed from one recording to another: calls and times
    #[arg(
        long,
        num_args = 2,
        value_names = ["BEFORE", "AFTER"],
        conflicts_with_all = ["record", "replay", "pids", "command", "expressions"]
    )]
    diff: Option<Vec<PathBuf>>,
    /// How much work each recording of --diff did, as of requests served: counts and times are compared for the work of the
    /// first
    #[arg(
        long,
        num_args = 2,
        value_names = ["BEFORE", "AFTER"],
        requires = "diff",
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    work: Option<Vec<u64>>,
    #[command(flatten)]
    look: Look,
    /// The command
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND"
    )]
    command: Vec<OsString>,
}

/// How calls are collected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Engine {
    /// The kernel's, where it can do what is asked
    Auto,
    /// Programs in the kernel: nobody is stopped at a call; needs root's capabilities
    Kernel,
    /// Stops at each call; needs no privileges
    Ptrace,
}

/// How what is traced is shown.
#[derive(Debug, clap::Args)]
struct Look {
    /// One JSON object a line
    #[arg(long)]
    json: bool,
    /// A list for a trace viewer, as Perfetto
    #[arg(long, conflicts_with = "json")]
    perfetto: bool,
    /// Most bytes of a string
    #[arg(
        short = 's',
        long = "string-limit",
        value_name = "BYTES",
        default_value_t = 32
    )]
    strings: usize,
    /// Structures in full
    #[arg(short = 'v', long = "no-abbrev")]
    verbose: bool,
    /// Bytes that aren't ASCII in hexadecimal; twice: all
    #[arg(short = 'x', action = clap::ArgAction::Count)]
    hexadecimal: u8,
    /// The column at which results stand
    #[arg(short = 'a', long, value_name = "COLUMN", default_value_t = 40)]
    columns: usize,
    /// Paths beside descriptors
    #[arg(short = 'y', action = clap::ArgAction::Count)]
    descriptors: u8,
    /// The time of day before each line; twice: with microseconds; thrice: since 1970
    #[arg(short = 't', action = clap::ArgAction::Count)]
    time: u8,
    /// The time since the line before
    #[arg(short = 'r', long = "relative-timestamps")]
    since: bool,
    /// How long each call took
    #[arg(short = 'T', long = "syscall-times")]
    took: bool,
    /// Only a summary: calls, errors, times
    #[arg(short = 'c', long)]
    summary_only: bool,
    /// A summary too
    #[arg(short = 'C', long, conflicts_with = "summary_only")]
    summary: bool,
    /// Summarise the time from a call's beginning to its end, as is always done here
    #[arg(short = 'w', long)]
    summary_wall_clock: bool,
    /// By what a summary is sorted
    #[arg(short = 'S', long, value_name = "COLUMN")]
    summary_sort_by: Option<String>,
    /// A wider summary: with the median, the 90th and the 99th percentile of the times, and the longest
    #[arg(long)]
    percentiles: bool,
    /// That for each process
    #[arg(long)]
    by_process: bool,
    /// The columns of a summary
    #[arg(short = 'U', long, value_name = "COLUMNS")]
    summary_columns: Option<String>,
    /// Stack traces: there are none here
    #[arg(short = 'k', long)]
    stack_traces: bool,
    /// Don't say which engine traces; twice: nor how processes end
    #[arg(short = 'q', long, action = clap::ArgAction::Count)]
    quiet: u8,
}

impl Trace {
    /// Traces, and ends as the command does.
    pub fn execute(self) -> miette::Result<ExitCode> {
        if self.look.stack_traces {
            return Err(miette::miette!(
                help = "strace -k has them where it was built with them",
                "there are no stack traces here"
            ));
        }
        if let Some(recordings) = &self.diff {
            return self.differences(recordings);
        }
        if let Some(file) = &self.replay {
            return self.told_again(file);
        }
        let asked = self.asked()?;
        // Into a file, the command's terminal is the command's alone: ^C is for it to decide.
        let into = self.record.clone().map(PathBuf::into_os_string);
        let into = into.or_else(|| self.output.clone());
        let interrupt = if into.is_some() && self.pids.is_empty() {
            Interrupt::never(&ENDS)
        } else {
            Interrupt::on(&ENDS)
        }
        .into_diagnostic()?;
        let each = self.follow > 1 && self.record.is_none();
        let mut output = Output::open(into, each, false, self.shown(wall())?)?;
        let mut broken = None;
        let mut show = |event: Event| {
            if broken.is_none()
                && let Err(error) = output.show(&event)
            {
                broken = Some(error);
                interrupt.ask(Signal::SIGPIPE as i32);
            }
        };
        let engine = self.engine(&asked);
        let mut ended = engine::trace(engine, &asked, &interrupt, &mut show);
        if let Err(error) = &ended
            && self.engine == Engine::Auto
            && engine::can_be_replaced(error)
        {
            self.says(engine::Engine::Ptrace, Some(error.to_string()));
            ended = engine::trace(engine::Engine::Ptrace, &asked, &interrupt, &mut show);
        }
        let ended = ended.map_err(|error| miette::miette!("{}", chain(&error)))?;
        match broken.map_or_else(|| output.close(), Err) {
            // The reader has seen enough.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            written => written
                .into_diagnostic()
                .wrap_err("what was traced can't be written")?,
        }
        Ok(status(ended))
    }

    /// Tells what a recording holds, as if it happened now.
    fn told_again(&self, file: &Path) -> miette::Result<ExitCode> {
        let recording = opened(file)?;
        let shown = self.shown(recording.header.wall)?;
        let mut output = Output::open(self.output.clone(), self.follow > 1, true, shown)?;
        let mut fault = None;
        for event in recording {
            match event {
                Ok(event) => match output.show(&event) {
                    Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                        return Ok(ExitCode::SUCCESS);
                    }
                    shown => shown.into_diagnostic()?,
                },
                Err(error) => fault = Some(error),
            }
        }
        output.close().into_diagnostic()?;
        match fault {
            None => Ok(ExitCode::SUCCESS),
            Some(error) => Err(miette::miette!("{}: {error}", file.display())),
        }
    }

    /// Says what changed from one recording to another.
    fn differences(&self, recordings: &[PathBuf]) -> miette::Result<ExitCode> {
        let summary = |file: &PathBuf| -> miette::Result<Summary> {
            let mut summary = Summary::new();
            for event in opened(file)? {
                let event =
                    event.map_err(|error| miette::miette!("{}: {error}", file.display()))?;
                summary.add(&event);
            }
            Ok(summary)
        };
        let (before, after) = (summary(&recordings[0])?, summary(&recordings[1])?);
        let work = self.work.as_deref().unwrap_or(&[1, 1]);
        let changed = changes(&before, &after, (work[0], work[1]));
        let text = match self.look.json {
            true => format!(
                "{}\n",
                serde_json::to_string_pretty(&changed).into_diagnostic()?
            ),
            false => changes_table(&changed),
        };
        crate::files::print(&text)?;
        Ok(ExitCode::SUCCESS)
    }

    /// The engine that is asked for, else the one that fits.
    fn engine(&self, asked: &Asked) -> engine::Engine {
        let (chosen, why) = match self.engine {
            Engine::Kernel => return engine::Engine::Kernel,
            Engine::Ptrace => return engine::Engine::Ptrace,
            Engine::Auto => engine::fitting(asked),
        };
        self.says(chosen, why);
        chosen
    }

    /// Says once which engine traces, and why not the other.
    fn says(&self, chosen: engine::Engine, why: Option<String>) {
        if self.look.quiet == 0 {
            let why = why.map_or_else(String::new, |why| format!(": {why}"));
            crate::files::say(&format!("trace: the {} engine{why}", chosen.name()));
        }
    }

    fn asked(&self) -> miette::Result<Asked> {
        let mut asked = Asked {
            command: self.command()?,
            pids: self.pids.clone(),
            follow: self.follow > 0,
            paths: self.paths.clone(),
            filter: self.seccomp_bpf == "yes",
            limit: self.syscall_limit,
            limits: (!self.look.only_counts()).then_some(table::Limits {
                string: self.look.strings,
                elements: self.look.strings,
                verbose: self.look.verbose,
            }),
            pending: self.follow == 1 && !self.look.json && !self.look.only_counts(),
            ..Asked::default()
        };
        let known = known();
        for expression in &self.expressions {
            express(&mut asked, expression, &known).wrap_err_with(|| format!("-e {expression}"))?;
        }
        for calls in &self.detach_on {
            asked.detach_on = asked
                .detach_on
                .or(&Calls::parse(calls, &known).into_diagnostic()?);
        }
        if self.successful_only {
            asked.statuses = Statuses::only(Status::Successful);
        }
        if self.failed_only {
            asked.statuses = Statuses::only(Status::Failed);
        }
        Ok(asked)
    }

    /// How events are shown; `wall` is what is added to their clock to have nanoseconds since 1970.
    fn shown(&self, wall: i64) -> miette::Result<Shown> {
        let look = &self.look;
        let lines = if self.record.is_some() {
            let command = self.command.iter();
            let header = Header {
                wall,
                command: command
                    .map(|word| word.to_string_lossy().into_owned())
                    .collect(),
            };
            Lines::Recording(Some(Recorder::new(&header).into_diagnostic()?))
        } else if look.only_counts() {
            Lines::None
        } else if look.perfetto {
            Lines::Perfetto(Perfetto::default())
        } else if look.json {
            let json = Json::new();
            Lines::Json(if look.descriptors > 0 {
                json.with_descriptors(Files::default())
            } else {
                json
            })
        } else {
            let text = Text::new(self.text(wall));
            Lines::Text(if look.descriptors > 0 {
                text.with_descriptors(Files::default())
            } else {
                text
            })
        };
        let summary = look.only_counts() || look.summary;
        Ok(Shown {
            lines,
            summary: summary.then(Summary::new),
            table: match (look.by_process, look.percentiles) {
                (true, _) => Table::ByProcess,
                (false, true) => Table::Wide,
                (false, false) => Table::Narrow(look.columns_of_summary()?),
            },
            sort: look.sort_of_summary()?,
        })
    }

    fn text(&self, wall: i64) -> text::Options {
        let look = &self.look;
        text::Options {
            string: look.strings,
            verbose: look.verbose,
            escapes: match look.hexadecimal {
                0 => Escapes::Octal,
                1 => Escapes::HexWhereNeeded,
                _ => Escapes::Hex,
            },
            column: look.columns,
            who: match (self.follow, self.pids.len(), &self.output) {
                (2.., ..) | (0, 0..=1, _) => Who::Nobody,
                (_, _, Some(_)) => Who::Plain,
                (_, _, None) => Who::Bracketed,
            },
            time: match look.time {
                0 => None,
                1 => Some(Time::Seconds),
                2 => Some(Time::Microseconds),
                _ => Some(Time::Epoch),
            },
            since: look.since,
            took: look.took,
            wall,
            zone: jiff::Zoned::now().offset().seconds().into(),
            exits: look.quiet < 2,
            signals: true,
        }
    }

    fn command(&self) -> miette::Result<Option<Command>> {
        let Some((program, arguments)) = self.command.split_first() else {
            return Ok(None);
        };
        let mut command = Command::new(program, arguments);
        command.environment = self.environment.iter().map(variable).collect();
        if let Some(name) = &self.user {
            let user = User::named(name).into_diagnostic()?;
            command.user =
                Some(user.ok_or_else(|| miette::miette!("nobody is named `{name}` here"))?);
        }
        Ok(Some(command))
    }
}

impl Look {
    /// Whether calls are counted and not told.
    fn only_counts(&self) -> bool {
        let wide = self.percentiles || self.by_process;
        self.summary_only || (wide && !self.summary)
    }

    fn sort_of_summary(&self) -> miette::Result<Sort> {
        let Some(name) = &self.summary_sort_by else {
            return Ok(Sort::Time);
        };
        Sort::named(name).ok_or_else(|| miette::miette!("a summary isn't sorted by `{name}`"))
    }

    fn columns_of_summary(&self) -> miette::Result<Vec<Column>> {
        let Some(names) = &self.summary_columns else {
            return Ok(Column::USUAL.to_vec());
        };
        let named = |name| {
            Column::named(name).ok_or_else(|| miette::miette!("a summary has no column `{name}`"))
        };
        let mut columns: Vec<Column> =
            names.split(',').map(named).collect::<miette::Result<_>>()?;
        if !columns.contains(&Column::Name) {
            columns.push(Column::Name);
        }
        Ok(columns)
    }
}

/// What is added to the monotonic clock to have nanoseconds since 1970.
fn wall() -> i64 {
    use rustix::time::{ClockId, clock_gettime};
    let nanoseconds = |clock| {
        let now = clock_gettime(clock);
        now.tv_sec * 1_000_000_000 + now.tv_nsec
    };
    nanoseconds(ClockId::Realtime) - nanoseconds(ClockId::Monotonic)
}

fn opened(file: &Path) -> miette::Result<Recording<File>> {
    let opened = File::open(file).into_diagnostic();
    let opened = opened.wrap_err_with(|| file.display().to_string())?;
    Recording::open(opened).map_err(|error| miette::miette!("{}: {error}", file.display()))
}

/// A variable of the environment with its value, or without: to be removed.
fn variable(text: &OsString) -> (OsString, Option<OsString>) {
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
    let bytes = text.as_bytes();
    match bytes.iter().position(|byte| *byte == b'=') {
        Some(at) => {
            let part = |part: &[u8]| OsString::from_vec(part.to_vec());
            (part(&bytes[..at]), Some(part(&bytes[at + 1..])))
        }
        None => (text.clone(), None),
    }
}

/// Every call that can be named.
fn known() -> Vec<Known<'static>> {
    let abis = [Abi::X86_64, Abi::I386, Abi::Aarch64];
    let native = |abi: &Abi| (*abi == Abi::Aarch64) == cfg!(target_arch = "aarch64");
    abis.into_iter()
        .filter(native)
        .flat_map(|abi| table::rows(abi).map(move |(number, row)| (abi, number, row)))
        .map(|(abi, number, row)| {
            let is_of = |class: &&str| {
                table::Class::named(class).is_some_and(|class| row.classes.has(class))
            };
            Known {
                abi,
                number,
                name: row.name,
                classes: CLASSES.into_iter().filter(is_of).collect(),
            }
        })
        .collect()
}

/// Does what an expression of `-e` says.
fn express(asked: &mut Asked, expression: &str, known: &[Known<'_>]) -> miette::Result<()> {
    let (what, value) = match expression.split_once('=') {
        // A name of a call has no sign of equality.
        Some((what, value)) => (what, value),
        None => ("trace", expression),
    };
    match what {
        "trace" | "t" => asked.calls = Calls::parse(value, known).into_diagnostic()?,
        "signal" | "signals" | "s" => asked.signals = Signals::parse(value).into_diagnostic()?,
        "status" => asked.statuses = Statuses::parse(value).into_diagnostic()?,
        "inject" => asked
            .injections
            .push(Injection::parse(value, known).into_diagnostic()?),
        "fault" => asked
            .injections
            .push(Injection::parse_fault(value, known).into_diagnostic()?),
        _ => {
            return Err(miette::miette!(
                help = "there are trace=, signal=, status=, inject= and fault=",
                "`{what}=` isn't known here"
            ));
        }
    }
    Ok(())
}

/// How this process is to end when its command ended so.
fn status(ended: Ended) -> ExitCode {
    ended.command.map_or(ExitCode::SUCCESS, |finish: Finish| {
        ExitCode::from(finish.follow())
    })
}

/// An error with what it comes from.
fn chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", chain(source)),
        None => error.to_string(),
    }
}
