//! The engines on programs of the project's own, and on this machine's.

#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod programs;
mod ptrace;
