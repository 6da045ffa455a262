//! The tracer end to end.
#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_arch = "x86_64")]
#[allow(unused_qualifications, reason = "it names libc by way of nix")]
mod reader;
#[cfg(target_arch = "x86_64")]
mod text;
