//! The words of the protocol as plain values: what the conductor asks for and what it is told.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use prost::bytes::Bytes;

use crate::AgentMark;

/// Names a step within its trial; the conductor chooses it, each once a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StepId(pub u64);

impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One instant on both clocks of the agent's machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// `CLOCK_MONOTONIC`, nanoseconds.
    pub monotonic_ns: u64,
    /// `CLOCK_REALTIME`, nanoseconds since the Unix epoch.
    pub wall_ns: i64,
}

/// What an agent says of itself when it is first spoken to.
#[derive(Clone, Debug)]
pub struct Hello {
    /// The version of the agent's program.
    pub agent_version: String,
    /// The kernel's id of this boot: equal for all agents of one running kernel.
    pub boot_id: String,
    /// The machine's id, if it has one.
    pub machine_id: Option<String>,
    /// Sizes of the machine, by the names of placeholders: `cpus` that the agent may use, `memory` in bytes, `cache.l3`, …
    pub sizes: BTreeMap<String, u64>,
    /// The agent's clocks when it answered.
    pub now: Moment,
    /// Where the agent's own program is on its host; none if an older agent doesn't say it.
    pub program: Option<String>,
    /// What [`sweep`](crate::sweep) needs to clean up after this agent.
    pub mark: AgentMark,
}

/// A trial to open.
#[derive(Clone, Debug, Default)]
pub struct BeginTrial {
    /// Its name, for the children's environment: at most 200 bytes, no NUL.
    pub trial: String,
    /// Environment for every step, over the agent's own.
    pub env: BTreeMap<String, String>,
    /// What puts the host back: done by the agent itself, in order, if the conductor goes away before it has ended
    /// the trial. A step that fails doesn't keep the next one from being done.
    pub undo: Vec<StepSpec>,
    /// Whether the agent says at the end who else used the processors.
    pub neighbours: bool,
    /// Files that are put into the folder in which steps run, by name.
    pub files: BTreeMap<String, Bytes>,
}

/// Where an open trial keeps its files, on the agent's machine.
#[derive(Clone, Debug)]
pub struct TrialBegun {
    /// The folder in which steps run unless they say otherwise.
    pub scratch: PathBuf,
    /// The folder with `<step>.stdout` and `<step>.stderr` of every step that wrote; there until the trial ends, also
    /// if the agent dies.
    pub spool: PathBuf,
    /// What was drawn at random for this trial, by settings: `process.aslr`, `process.user`.
    pub drawn: BTreeMap<String, String>,
}

/// What a program of a trial does at a barrier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BarrierReport {
    /// Its coming there: a number of its own for each, within the agent's trial.
    pub arrival: u64,
    /// What it does.
    pub what: AtBarrier,
}

/// What is done at a barrier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AtBarrier {
    /// A program came and waits.
    Arrived {
        /// The step that it belongs to, as it says.
        step: StepId,
        /// The barrier's name.
        name: String,
        /// How many have to come; nothing: every host of the step's role.
        of: Option<u32>,
    },
    /// It went on. Both instants are of its host's monotonic clock, in nanoseconds.
    Gone {
        /// When it heard of the instant of its release.
        heard_ns: u64,
        /// When it woke.
        woke_ns: u64,
    },
    /// It went away without having been let go, or without saying when it went on.
    Left,
}

/// What becomes of programs that wait at a barrier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BarrierAnswer {
    /// They go on when their host's monotonic clock reaches this, in nanoseconds; at once if it has.
    Go(u64),
    /// They end, with this reason.
    Refused(String),
}

/// A core file that a program of a trial left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreFile {
    /// Its path below the folder in which steps run.
    pub path: String,
    /// What the kernel calls the program that crashed, if that is known.
    pub program: Option<String>,
    /// The signal that ended it, if that is known.
    pub signal: Option<i32>,
    /// How long it is in bytes, or would be if the kernel hadn't cut it.
    pub bytes: u64,
    /// The file; none where it is beyond the limit.
    pub content: Option<Vec<u8>>,
}

/// The core files that programs of a trial left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoreFiles {
    /// The oldest first.
    pub files: Vec<CoreFile>,
    /// How many there are besides.
    pub left_out: u64,
    /// Why programs that crash on this machine leave none in the folder in which they run; none where they do.
    pub hindrance: Option<String>,
}

/// What was found when a trial was ended.
#[derive(Clone, Debug)]
pub struct TrialEnded {
    /// Processes that were still there and were killed.
    pub survivors: Vec<Survivor>,
    /// Processes that couldn't be killed within the time limit (stuck in the kernel): the host needs a look.
    pub unkillable: Vec<u32>,
    /// What of the trial's folders couldn't be removed, and why.
    pub left: Option<String>,
    /// What was mounted during the trial and still is, outside of its folders: `/mnt (tmpfs)`.
    pub mounts: Vec<String>,
    /// CPU time between the trial's beginning and its end.
    pub account: CpuAccount,
    /// Programs that are not of the trial, with the CPU seconds that they used, the busiest first; if that was asked.
    pub neighbours: Vec<(String, f64)>,
}

/// A process that was left when its trial ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survivor {
    /// Its process id.
    pub pid: u32,
    /// The kernel's short name for it.
    pub name: String,
    /// Set if it is the step's own process (a background step that nobody stopped), not a stray.
    pub step: Option<StepId>,
}

/// CPU time between the beginning and the end of a trial, in seconds of CPU.
///
/// The figures but `own` are of the whole machine: agents of one boot see the same machine.
/// What others used is `busy() - ` the sum of `own` over the agents of that boot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuAccount {
    /// Seconds that passed.
    pub wall: f64,
    /// Processors of the machine.
    pub cpus: u32,
    /// In programs, nice or not, guests included.
    pub user: f64,
    /// In the kernel for programs.
    pub system: f64,
    /// In hard and soft interrupts.
    pub interrupts: f64,
    /// Taken by the hypervisor for somebody else.
    pub steal: f64,
    /// Idle, waiting for I/O included.
    pub idle: f64,
    /// Used by the agent and everything it started.
    pub own: f64,
    /// `own` was counted by the kernel for a cgroup: exact. Else it is that of processes that were waited for.
    pub own_by_cgroup: bool,
}

impl CpuAccount {
    /// CPU seconds used by anybody: `user + system + interrupts`.
    #[must_use]
    pub fn busy(&self) -> f64 {
        self.user + self.system + self.interrupts
    }
}

/// What a step runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepCommand {
    /// A program and its arguments, as they are.
    Argv(Vec<String>),
    /// A line: split at white space and run directly, or given to `/bin/sh -c` if [`shell_needed`](crate::shell_needed).
    Text(String),
}

/// What makes a step ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// A socket that wasn't there when the step began listens on this TCP port.
    Listens(u16),
    /// A socket that wasn't there when the step began is bound to this UDP port.
    Binds(u16),
    /// A line of either stream matches this regular expression.
    Line(String),
    /// This path exists; relative to the step's folder.
    File(String),
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listens(port) => write!(f, "to listen on TCP port {port}"),
            Self::Binds(port) => write!(f, "to bind UDP port {port}"),
            Self::Line(pattern) => write!(f, "to print a line that matches `{pattern}`"),
            Self::File(path) => write!(f, "to make the file {path}"),
        }
    }
}

/// Readiness of a step, and how long it may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadyCheck {
    /// What has to come true.
    pub condition: Condition,
    /// From the step's beginning.
    pub timeout: Duration,
}

/// One step to run.
#[derive(Clone, Debug)]
pub struct StepSpec {
    /// Its name in the trial.
    pub id: StepId,
    /// What to run.
    pub command: StepCommand,
    /// Environment over the trial's.
    pub env: BTreeMap<String, String>,
    /// The folder to run in, the scratch folder if none; relative: below the scratch folder.
    pub cwd: Option<String>,
    /// How long it may take from its beginning. A background step too: what is to live as long as the trial gets
    /// the trial's limit.
    pub timeout: Duration,
    /// How long it may write nothing on either stream before it is ended as at its time limit; none: for ever.
    pub silence: Option<Duration>,
    /// Whether what it writes is sent while it runs, so that it is known when its host goes away; else at its end.
    pub streams: bool,
    /// How many bytes of each stream are kept; a step that writes more is ended.
    pub output_limit: u64,
    /// How many bytes a core file of its programs may have, as far as the machine permits; none: what is usual there.
    pub core_limit: Option<u64>,
    /// The exit codes that are a success.
    pub expect: Vec<i32>,
    /// It is to live beside other steps until it is stopped: an exit by [`Client::stop`](crate::Client::stop) is then
    /// as expected.
    pub background: bool,
    /// When it is ready; none: nobody asks.
    pub ready: Option<ReadyCheck>,
    /// Load it, then hold it until [`Client::release`](crate::Client::release).
    pub hold: bool,
    /// The signal that asks it to stop, also at its time limit.
    pub stop_signal: i32,
    /// How long it may take to obey that signal before SIGKILL.
    pub grace: Duration,
}

impl StepSpec {
    /// Bytes kept of each stream unless the step says otherwise: 32 MiB.
    pub const OUTPUT_LIMIT: u64 = 32 << 20;
    /// Grace unless the step says otherwise: 2 s.
    pub const GRACE: Duration = Duration::from_secs(2);

    /// A foreground step that has to exit with 0 within `timeout`.
    #[must_use]
    pub fn new(id: u64, command: StepCommand, timeout: Duration) -> Self {
        Self {
            id: StepId(id),
            command,
            env: BTreeMap::new(),
            cwd: None,
            timeout,
            silence: None,
            streams: false,
            output_limit: Self::OUTPUT_LIMIT,
            core_limit: None,
            expect: vec![0],
            background: false,
            ready: None,
            hold: false,
            stop_signal: nix::libc::SIGTERM,
            grace: Self::GRACE,
        }
    }

    /// The same for a line of text.
    #[must_use]
    pub fn text(id: u64, text: impl Into<String>, timeout: Duration) -> Self {
        Self::new(id, StepCommand::Text(text.into()), timeout)
    }
}

/// How far a held program had come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldState {
    /// Loaded and linked, at its first instruction.
    Entry,
    /// Loaded, not linked: its first instruction couldn't be marked.
    Exec,
    /// Not loaded: tracing isn't permitted for this program here.
    BeforeExec,
}

/// What happens to a step, in this order: `Started`, (`Held`, `Begun`), `Ready`, output, `Finished`.
#[derive(Clone, Debug)]
pub enum StepEvent {
    /// Its process exists. Without `hold` the program begins here.
    Started {
        /// The process.
        pid: u32,
        /// When.
        at: Moment,
    },
    /// It waits for its release.
    Held(HoldState),
    /// It was released.
    Begun(Moment),
    /// It became ready.
    Ready(Moment),
    /// What it wrote, piece by piece, after it ended.
    Stdout(Bytes),
    /// The same for the error stream.
    Stderr(Bytes),
    /// It ended: the last event.
    Finished(Finished),
}

/// Why a step ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// By itself; `exit` says how.
    Exited,
    /// At its time limit.
    TimedOut,
    /// It wrote more than its limit.
    OutputLimit,
    /// There is no such program on the host.
    NotFound {
        /// The program.
        program: String,
    },
    /// The system refused to start it.
    CannotStart {
        /// The program and the system's words.
        why: String,
    },
    /// It was alive but not ready in time.
    NeverReady {
        /// What was awaited.
        why: String,
    },
    /// It exited before it was ready.
    ExitedBeforeReady {
        /// What was awaited.
        why: String,
    },
    /// The conductor stopped it, or gave up its stream of events.
    Stopped,
    /// Its output couldn't be kept (a full disk).
    Spool {
        /// The system's words.
        why: String,
    },
    /// Its trial was ended, and it with it.
    TrialEnded,
    /// It was held and nobody released it within [`Finished::HOLD_LIMIT`].
    NeverReleased,
    /// It failed at a limit of its trial, or lost a program to it.
    LimitReached {
        /// The limit, and what happened.
        why: String,
    },
}

impl fmt::Display for EndReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited => f.write_str("exited"),
            Self::TimedOut => f.write_str("took longer than its time limit"),
            Self::OutputLimit => f.write_str("wrote more than its output limit"),
            Self::NotFound { program } => write!(f, "no program `{program}` on this host"),
            Self::CannotStart { why } => write!(f, "can't be started: {why}"),
            Self::NeverReady { why } => write!(f, "was expected {why}, and didn't in time"),
            Self::ExitedBeforeReady { why } => write!(f, "was expected {why}, and exited before"),
            Self::Stopped => f.write_str("was stopped"),
            Self::Spool { why } => write!(f, "its output can't be kept: {why}"),
            Self::TrialEnded => f.write_str("was killed at the end of its trial"),
            Self::NeverReleased => f.write_str("was held and never released"),
            Self::LimitReached { why } => write!(f, "reached a limit of its trial: {why}"),
        }
    }
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessExit {
    /// It exited with a code.
    Code(i32),
    /// A signal killed it.
    Signal(i32),
}

impl fmt::Display for ProcessExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(number) => match nix::sys::signal::Signal::try_from(number) {
                Ok(signal) => write!(f, "signal {number} ({signal})"),
                Err(_) => write!(f, "signal {number}"),
            },
        }
    }
}

/// What a step's process used, its waited-for descendants included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessUsage {
    /// CPU time in the program.
    pub user: Duration,
    /// CPU time in the kernel.
    pub system: Duration,
    /// The largest resident size of any of its processes, bytes; 0 where that isn't known: the kernel also counts what the process
    /// had of the agent's memory before it was the program, which is a few megabytes, and it wasn't more than that.
    pub max_rss_bytes: u64,
    /// Times that it waited for something.
    pub voluntary_switches: u64,
    /// Times that the processor was taken from it.
    pub involuntary_switches: u64,
}

/// The end of a step.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Why.
    pub reason: EndReason,
    /// How its process ended; none if there never was one.
    pub exit: Option<ProcessExit>,
    /// It ended by itself with an exit code of [`StepSpec::expect`], or it is a background step that was stopped.
    pub as_expected: bool,
    /// When it began (its release, if it was held); none if it never did.
    pub begun: Option<Moment>,
    /// When its process was seen to have ended.
    pub ended: Moment,
    /// What it used; none if there never was a process.
    pub usage: Option<ProcessUsage>,
    /// Bytes that it wrote to standard output, kept or not.
    pub stdout_bytes: u64,
    /// The same for the error stream.
    pub stderr_bytes: u64,
    /// Some of what it wrote wasn't kept.
    pub truncated: bool,
}

impl Finished {
    /// How long a step may be held.
    pub const HOLD_LIMIT: Duration = Duration::from_secs(60);

    /// How long it ran, by the monotonic clock; none if it never began.
    #[must_use]
    pub fn wall(&self) -> Option<Duration> {
        let begun = self.begun?;
        Some(Duration::from_nanos(
            self.ended.monotonic_ns.saturating_sub(begun.monotonic_ns),
        ))
    }
}
