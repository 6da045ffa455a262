//! ptrace(2) and what goes with it, as both engines use it: requests, what a wait says, how a command is started stopped.
//!
//! The BPF engine holds its threads with ptrace too, though it never stops them at calls.

pub mod command_start;
pub(crate) mod requests;
pub(crate) mod seccomp_filter;
pub(crate) mod startup_state;
pub(crate) mod tracee_status;
