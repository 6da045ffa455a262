//! The tracer end to end: the engines on programs of the project's own and on this machine's, and what is made of events.

#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

#[cfg(target_os = "linux")]
mod bpf_engine;
#[cfg(target_os = "linux")]
mod captured_descriptors;
#[cfg(target_os = "linux")]
mod engines;
mod in_time;
#[cfg(target_arch = "x86_64")]
mod messages;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod older_kernels;
mod programs;
mod ptrace_engine;
#[cfg(target_arch = "x86_64")]
#[allow(unused_qualifications, reason = "it names libc by way of nix")]
mod reader;
#[cfg(target_os = "linux")]
mod relay;
#[cfg(target_os = "linux")]
mod scopes;
#[cfg(target_arch = "x86_64")]
mod text;
