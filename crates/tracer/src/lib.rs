//! Tracing of system calls: every call of a process, its children and threads, with its result and time.
//!
//! An [`engine`] turns [`TraceOptions`](options::TraceOptions) into
//! [`TraceEvent`](backsight_syscall_decode::TraceEvent)s: the BPF engine collects them in the kernel and stops nobody as long as they
//! are read fast enough, the ptrace engine needs no privileges. Both give the same events for the same program.
//! `backsight-syscall-decode` shows events, [`summary`] sums them up, [`recording`] keeps them.
//!
//! No event is lost without a [`Lost`](backsight_syscall_decode::EventKind::Lost) in its place, and nothing stays behind in a
//! program that was traced. The meaning of calls belongs to `backsight-syscall-decode`.
//!
//! ```
//! use backsight_tracer::command::TracedCommand;
//! use backsight_tracer::engine::{EngineKind, count_calls};
//! use backsight_tracer::interrupt::Interrupt;
//! use backsight_tracer::options::TraceOptions;
//!
//! # fn main() -> Result<(), backsight_tracer::error::TraceError> {
//! let options = TraceOptions {
//!     command: Some(TracedCommand::new("true", [""; 0])),
//!     ..TraceOptions::default()
//! };
//! let (_, summary) = count_calls(EngineKind::Ptrace, &options, &Interrupt::new(), &mut |_| {})?;
//! assert!(summary.total().calls > 0);
//! # Ok(())
//! # }
//! ```

#[cfg(target_os = "linux")]
pub mod bpf_engine;
mod call_under_way;
mod captured_descriptors;
pub mod cgroups;
mod clock;
pub mod command;
pub mod descriptors;
pub mod emit;
pub mod engine;
pub mod error;
pub mod expressions;
pub mod first_thread;
#[doc(hidden)]
pub mod fuzzing;
mod generic_families;
pub mod interrupt;
mod netlink_connection;
mod open_files;
pub mod options;
pub mod outcome;
pub mod output;
pub mod perfetto;
pub mod process_tree;
pub mod processes;
pub mod ptrace;
pub mod ptrace_engine;
pub mod recording;
pub mod result_details;
pub mod summary;

pub use nix::sys::signal::Signal;
