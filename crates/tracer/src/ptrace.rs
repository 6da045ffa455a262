//! ptrace(2) as both engines use it: requests, the meaning of a wait status, and the start of a command that waits to be traced.
//!
//! The BPF engine holds its threads with ptrace too, without stops at calls.

pub mod command_start;
pub(crate) mod requests;
pub(crate) mod seccomp_filter;
pub(crate) mod startup_state;
pub(crate) mod tracee_status;
