//! Steps with every placeholder filled: what a host is told to run, with its limits.

use std::{net::IpAddr, path::PathBuf, time::Duration};

use crate::{HostName, Iterations, StopSignal, TemplateError};

/// Time limit of a step that nobody limits otherwise.
pub const STEP_LIMIT: Duration = Duration::from_secs(600);

/// Time within which a spawned program must be ready unless its `within` says otherwise.
pub const READY_LIMIT: Duration = Duration::from_secs(10);

/// Bytes of each output stream that are kept unless a step says otherwise.
pub const OUTPUT_LIMIT: u64 = 32 * 1024 * 1024;

/// When a spawned program counts as ready, filled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadyWhen {
    /// A TCP port listens.
    Listens(u16),
    /// A UDP port is bound.
    Binds(u16),
    /// A line of output matches.
    Line(String),
    /// A file exists.
    File(String),
}

/// What a filled step does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilledAction {
    /// Run and wait.
    Run,
    /// Start; goes on until the end of `collect`.
    Spawn {
        /// What must hold before the next step; nothing: it is ready at once.
        ready: Option<ReadyWhen>,
        /// How long that may take.
        within: Duration,
        /// The signal that ends it.
        stop: StopSignal,
    },
    /// Wait for the other roles.
    Barrier(String),
}

/// A step with every placeholder filled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilledStep {
    /// What it does.
    pub action: FilledAction,
    /// Which iteration of its step it is, from 1, where the step has iterations.
    pub iteration: Option<u32>,
    /// The command; empty for a barrier.
    pub command: String,
    /// How long it may take.
    pub timeout: Duration,
    /// How long it may take to end once it is asked to; what is usual, unless said.
    pub grace: Option<Duration>,
    /// Exit codes that are fine.
    pub expect: Vec<i32>,
    /// Whether it may end as it will, by a signal or its time limit too: it runs tests, and its end is a result.
    pub tolerant: bool,
    /// How long it may print nothing before it is killed as if it had reached its time limit.
    pub silence: Option<Duration>,
    /// Bytes that a core file of its programs may have; what is usual on the host, unless it runs tests.
    pub core_limit: Option<u64>,
    /// Variables added to its environment.
    pub env: Vec<(String, String)>,
    /// Whether a shell runs it; unless said, only where the command needs one.
    pub shell: Option<bool>,
    /// Bytes of each output stream that are kept.
    pub output_limit: u64,
    /// The folder in which it runs, if not the trial's own: a variant's steps run in their plan's folder.
    pub folder: Option<PathBuf>,
}

/// Why a text can't be filled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FillFault {
    /// The template's own fault.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// What it gives isn't a length of time.
    #[error(transparent)]
    Time(#[from] crate::TimeError),
    /// What it gives isn't a port.
    #[error("`{0}` is no port: expected 1 to 65535")]
    Port(String),
    /// What it gives isn't a number of processors.
    #[error("`{0}` is no number of processors: expected 1 or more")]
    Processors(String),
    /// What it gives isn't a number of iterations.
    #[error("`{0}` is no number of iterations: expected 1 to {most}", most = Iterations::MOST)]
    Iterations(String),
    /// Hosts of a role would do different numbers of iterations.
    #[error(
        "the hosts of a role begin each iteration together, and {0} and {1} would do different numbers of them"
    )]
    UnlikeIterations(HostName, HostName),
    /// No interface of a machine has the address that the lab says.
    #[error("no interface of host `{host}` has its address {address}: its addresses are {there}")]
    NoInterface {
        /// The host.
        host: HostName,
        /// The address.
        address: IpAddr,
        /// The addresses that it has, with their interfaces.
        there: String,
    },
}
