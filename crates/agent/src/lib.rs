//! What runs on a host, and how the conductor speaks to it.
//!
//! An *agent* is a process that runs the steps of trials on one host. It is started there by whatever reaches the host
//! (directly, through ssh, in a namespace, in a guest) and speaks gRPC over one byte stream, its standard input and
//! output. [`serve_stdio`] is the whole agent; [`Client`] is the conductor's end of the stream; [`sweep`] cleans up on
//! this machine after an agent that can no longer do it by itself. In a guest the agent is the first process:
//! [`serve_guest`] makes a machine of the kernel that has just booted, as [`GuestSetup`] says.
//!
//! The room promises that no child outlives its trial, that a program that is [held](Step::hold) starts at an agreed
//! instant as if it had never been held, and that what a step wrote is kept byte for byte up to its limit.
//!
//! It refuses to know what a benchmark, a testbed or a round is, to open a port, to keep a password, and to run two
//! trials at once.

mod account;
mod agent;
mod build_upload;
mod cgroup;
mod cleanup;
mod client;
mod clocks;
mod facts;
#[doc(hidden)]
pub mod fuzzing;
mod guest;
mod init;
mod launch;
mod monitored_processes;
mod mounts;
mod namespace;
mod neighbours;
mod procs;
mod ready;
mod reap;
mod shell;
mod spool;
mod step;
mod step_supervisor;
mod stream;
mod supervisor;
mod synchronized_start;
mod trial;
mod uts_mark;
mod wire;

pub use agent::{ServeError, serve_stdio};
pub use cleanup::{AgentMark, Swept, sweep, sweep_dead_agents};
pub use client::{Client, ClockOffset, Error, Outcome, Run};
pub use guest::{GuestError, GuestInterface, GuestSetup, exec_with_channel, set_up};
pub use init::{InitError, asked_by_kernel, serve_guest};
pub use monitored_processes::{MonitoredProcesses, is_monitor, monitored_processes};
pub use neighbours::{Neighbours, UsedBy};
pub use shell::shell_needed;
pub use step::{
    Account, BeginTrial, Command, Condition, Exit, Finished, Held, Hello, Moment, Ready, Reason,
    Step, StepEvent, StepId, Survivor, TrialBegun, TrialEnded, Usage,
};

/// The protocol's version. An agent and a client work together only if theirs are equal.
pub const PROTOCOL: u32 = 1;

/// The environment variable that every process of a trial carries: the agent's mark, `/`, the trial. The agent has it
/// too, with `agent` for the trial.
pub const MARK_VARIABLE: &str = "BACKSIGHT_TRIAL";

/// The environment variable that every monitor of a trial carries, and what it starts: the monitor's name.
pub const MONITOR_VARIABLE: &str = "BACKSIGHT_MONITOR";

/// What gRPC generates from `proto/agent.proto`; nothing outside of this crate sees it.
#[allow(missing_docs, unused_qualifications, clippy::all)]
mod proto {
    tonic::include_proto!("backsight.agent.v1");
}
