//! Decoding of Linux's system calls: one call's record in, text or JSON out.
//!
//! A record is a [`SyscallRecord`]: registers, result, times, and [`MemoryPiece`]s of the program's memory. The [`table`] says of each call
//! which arguments it has, what they mean, and which memory lies behind its pointers; [`capture`] asks for that memory.
//! [`text`] writes what strace would have printed, [`json`] one object a line.
//!
//! Decoding reads nothing but its record, so a recording is shown the same wherever and whenever. What needs the machine that
//! the program runs on, as the path of a descriptor, comes from a [`resolver`]. Names of constants come from
//! `backsight-syscall-tables`.

mod abi;
pub mod capture;
mod decode;
pub mod descriptor_set;
mod errno;
mod event;
pub mod format;
pub mod json;
pub mod memory;
pub mod resolver;
pub mod syscall_set;
pub mod table;
pub mod text;

pub use abi::Abi;
pub use event::{EventKind, StackFrame, SyscallOutcome, SyscallRecord, TraceEvent};
pub use memory::{CapturePoint, CapturedMemory, MemoryPiece};
pub use syscall_set::{NamedSyscall, SyscallSet, SyscallSetError};
