//! The verbs that run on hosts: `agent`, `barrier`, `monitor`. The command has them, and so has `backsight-agent`, the program that is
//! sent to other machines: it is a twentieth of the command, and needs no C compiler for whatever machine it is built for.
//!
//! What only the command has, the monitors `syscalls` and `profile`, is handed in.
//!
//! ```
//! use backsight_agent_program::HostVerb;
//! use clap::Parser;
//!
//! #[derive(Parser)]
//! struct Arguments {
//!     #[command(subcommand)]
//!     verb: HostVerb,
//! }
//!
//! let arguments = Arguments::parse_from(["backsight", "monitor", "cpu", "--count", "1"]);
//! assert!(matches!(arguments.verb, HostVerb::Monitor(_)));
//! ```

mod agent_args;
mod barrier_args;
mod monitor_args;
mod tracing_monitor;

pub use agent_args::AgentArgs;
pub use barrier_args::BarrierArgs;
pub use monitor_args::MonitorArgs;
pub use tracing_monitor::{ProfileMonitorArgs, TracingMonitor};

use miette::IntoDiagnostic as _;
use std::process::ExitCode;

/// A verb that runs on hosts.
#[derive(Debug, clap::Subcommand)]
pub enum HostVerb {
    /// Wait for the other hosts of a role: for the programs of a benchmark
    Barrier(BarrierArgs),
    /// What runs on a host; started by the conductor, not by people
    #[command(hide = true)]
    Agent(AgentArgs),
    /// Samplers of /proc and of other counters of the kernel, as monitors of a trial; prints a sample a line
    #[command(hide = true)]
    Monitor(MonitorArgs),
}

impl HostVerb {
    /// Does it; `trace` is the monitors that only the command has.
    ///
    /// # Errors
    /// The verb's.
    pub fn execute(
        self,
        trace: impl FnOnce(&TracingMonitor) -> miette::Result<()>,
    ) -> miette::Result<ExitCode> {
        match self {
            Self::Agent(verb) => verb.execute(),
            Self::Barrier(verb) => Ok(verb.execute()),
            Self::Monitor(verb) => verb.execute(trace),
        }
    }
}

/// Does what has to be done before arguments are read, if it is: serves as the first process of a guest, to whose arguments a kernel
/// adds some of its own; or passes a barrier, which has no time to lose.
pub fn execute_early() -> Option<ExitCode> {
    let Some((device, restart)) = backsight_agent::init_arguments() else {
        return backsight_agent::pass_barrier();
    };
    Some(match backsight_agent::serve_guest(&device, restart) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    })
}

/// Makes messages as wide in a log as on a terminal, so that they ask nothing of the environment.
///
/// # Errors
/// Somebody has decided otherwise before.
pub fn set_message_style() -> miette::Result<()> {
    let style = || {
        miette::MietteHandlerOpts::new()
            .width(100)
            .color(false)
            .context_lines(1)
            .build()
    };
    miette::set_hook(Box::new(move |_| Box::new(style()))).into_diagnostic()
}
