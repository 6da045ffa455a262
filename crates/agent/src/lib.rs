//! What runs on a host, and how the conductor speaks to it.
//!
//! An *agent* is a process that runs the steps of trials on one host. It is started there by whatever reaches the host
//! (directly, through ssh, in a namespace, in a guest) and speaks gRPC over one byte stream, its standard input and
//! output. [`serve_stdio`] is the whole agent; [`Client`] is the conductor's end of the stream; [`sweep`] cleans up on
//! this machine after an agent that can no longer do it by itself. In a guest the agent is the first process:
//! [`serve_guest`] makes a machine of the kernel that has just booted, as [`GuestSetup`] says.
//!
//! The room promises that no child outlives its trial, that a program that is [held](StepSpec::hold) starts at an agreed
//! instant as if it had never been held, and that what a step wrote is kept byte for byte up to its limit.
//!
//! An agent knows no benchmarks, testbeds or rounds. It opens no port, keeps no password, and runs one trial at a time.
//!
//! ```
//! use backsight_agent::{StepCommand, StepId, StepSpec, shell_needed};
//! use std::time::Duration;
//!
//! assert!(shell_needed("ping -c 3 server > log"));
//! let step = StepSpec::text(1, "ping -c 3 server", Duration::from_secs(10));
//! assert_eq!((step.id, step.command), (StepId(1), StepCommand::Text("ping -c 3 server".into())));
//! ```

// What only modules behind the door call.
#![cfg_attr(not(target_os = "linux"), allow(dead_code))]

mod account;
mod addresses;
mod agent;
mod agent_mark;
mod barrier_client;
mod barrier_socket;
mod build_upload;
mod cgroup;
mod chunks;
mod cleanup;
mod client;
mod clocks;
mod core_files;
mod error;
mod examination;
mod facts;
mod file_tree;
mod folders;
#[doc(hidden)]
pub mod fuzzing;
mod guest;
mod launch;
mod machine_files;
mod machine_lease;
mod monitored_processes;
mod mounts;
mod neighbours;
mod preparation;
mod procs;
mod ready;
mod reap;
mod record;
mod shell;
mod sizes;
mod spool;
mod step;
mod step_supervisor;
mod stream;
mod supervisor;
mod synchronized_start;
mod timed_wake;
mod trial;
mod trial_launch;
mod trial_limits;
mod trial_user;
mod upload_files;
mod wire;

// What needs Linux, and what refuses in its place elsewhere: the one door. What systems do in a way of their own is in
// `backsight-platform`.
#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod init;
#[cfg(target_os = "linux")]
mod launch_conditions;
#[cfg(target_os = "linux")]
mod namespace;
#[cfg(target_os = "linux")]
mod self_test;
#[cfg(target_os = "linux")]
mod tracee;
#[cfg(target_os = "linux")]
mod uts_mark;
#[cfg(target_os = "linux")]
mod vsock;
#[cfg(not(target_os = "linux"))]
use elsewhere::{init, launch_conditions, namespace, self_test, tracee, uts_mark};
#[cfg(target_os = "linux")]
pub use vsock::{VSOCK_PORT, connect_vsock};

pub use addresses::{HostAddresses, PeerRoute};
pub use agent::{ServeError, serve_stdio};
pub use agent_mark::AgentMark;
pub use barrier_client::{pass_barrier, wait_at_barrier};
pub use cleanup::{SweptProcesses, sweep, sweep_dead_agents};
pub use client::{BarrierReports, Client, ClockOffset, RunningStep, StepOutcome};
pub use error::AgentError;
pub use examination::{Examination, ExaminationOrder};
pub use file_tree::{PlanFiles, PlanFilesError};
pub use folders::cache_folder;
pub use guest::{GuestError, GuestInterface, GuestSetup, exec_with_channel, set_up};
pub use init::{InitError, init_arguments, serve_device, serve_guest};
pub use machine_lease::{
    LeaseFault, LeaseHolder, LeaseInForce, LockMode, MachineLease, lease_file, lease_folder,
    try_lease_file,
};
pub use monitored_processes::{MonitoredProcesses, is_monitor, monitored_processes};
pub use neighbours::{CpuUse, ProcessSnapshot};
pub use preparation::serve_settings;
pub use shell::shell_needed;
pub use step::{
    AtBarrier, BarrierAnswer, BarrierReport, BeginTrial, Condition, CoreFile, CoreFiles,
    CpuAccount, EndReason, Finished, Hello, HoldState, Moment, ProcessExit, ProcessUsage,
    ReadyCheck, StepCommand, StepEvent, StepId, StepSpec, Survivor, TrialBegun, TrialEnded,
};
pub use upload_files::{UploadFiles, UploadProgress};

/// The protocol's version. An agent and a client work together only if theirs are equal.
pub const PROTOCOL: u32 = 9;

/// The environment variable that every process of a trial carries: the agent's mark, `/`, the trial. The agent has it
/// too, with `agent` for the trial.
pub const MARK_VARIABLE: &str = "BACKSIGHT_TRIAL";

/// The environment variable that every monitor of a trial carries, and what it starts: the monitor's name.
pub const MONITOR_VARIABLE: &str = "BACKSIGHT_MONITOR";

/// The environment variable by which `backsight barrier` finds the agent: the path of a socket, a space, the step's id. Every
/// step of a trial has it, monitors don't.
pub const BARRIER_VARIABLE: &str = "BACKSIGHT_BARRIER";

/// What gRPC generates from `proto/agent.proto`; nothing outside of this crate sees it.
#[allow(missing_docs, unused_qualifications, clippy::all)]
mod proto {
    tonic::include_proto!("backsight.agent.v1");
}
