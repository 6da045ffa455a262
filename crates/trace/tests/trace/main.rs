//! The tracer end to end.

#![allow(clippy::unwrap_used, reason = "a test fails where it can't go on")]

#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_arch = "x86_64")]
#[allow(unused_qualifications, reason = "it names libc by way of nix")]
mod reader;
mod table;
#[cfg(target_arch = "x86_64")]
mod text;
