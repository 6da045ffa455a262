//! The engines on programs of the project's own, and on this machine's.

mod programs;
mod ptrace;
