//! Tracing of system calls: every call of a process, its children and threads, with its result and time.
//!
//! An [`engine`] turns [`TraceOptions`](options::TraceOptions) into [`TraceEvent`](backsight_syscall_decode::TraceEvent)s: the BPF engine
//! collects them in the kernel and stops nobody as long as they are read fast enough, the ptrace engine needs no privileges.
//! Both give the same events for the same program. Events are shown by `backsight-syscall-decode`, summed up by [`summary`],
//! kept by [`recording`].
//!
//! No event is lost without a [`Lost`](backsight_syscall_decode::EventKind::Lost) in its place, and nothing stays behind in a
//! program that was traced. What a call means is no business of this crate.

#[cfg(target_os = "linux")]
pub mod bpf_engine;
pub mod command;
pub mod descriptors;
pub mod engine;
pub mod error;
#[doc(hidden)]
pub mod fuzzing;
pub mod interrupt;
pub mod options;
pub mod outcome;
pub mod perfetto;
pub mod processes;
pub mod ptrace;
pub mod ptrace_engine;
pub mod recording;
pub mod summary;

pub use nix::sys::signal::Signal;
