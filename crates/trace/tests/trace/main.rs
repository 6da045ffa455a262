//! The tracer end to end.

#[cfg(target_arch = "x86_64")]
mod reader;
#[cfg(target_arch = "x86_64")]
mod text;
