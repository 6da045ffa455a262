//! Decoding of Linux's system calls: one call's record in, text or JSON out.
//!
//! A record is a [`SyscallRecord`]: registers, result, times, and [`MemoryPiece`]s of the program's memory. The [`table`] says of
//! each call which arguments it has, what they mean, and which memory lies behind its pointers; [`capture`] asks for that memory.
//! [`text`] writes strace's text, [`json`] one object a line.
//!
//! Decoding reads nothing but its record, so a recording is shown the same wherever and whenever. What needs the machine that
//! the program runs on, as the path of a descriptor, comes from a [`resolver`]. Names of constants come from
//! `backsight-syscall-tables`.
//!
//! ```
//! use backsight_syscall_decode::text::{TextOptions, TextWriter};
//! use backsight_syscall_decode::{
//!     Abi, CapturePoint, CapturedMemory, EventKind, MemoryPiece, SyscallOutcome, SyscallRecord, TraceEvent,
//! };
//!
//! let mut memory = CapturedMemory::default();
//! memory.add(MemoryPiece { address: 4096, when: CapturePoint::Entered, bytes: b"/etc/hostname\0".to_vec() });
//! let call = SyscallRecord {
//!     abi: Abi::X86_64,
//!     number: 257,
//!     arguments: [-100_i64 as u64, 4096, 0, 0, 0, 0],
//!     entered: 0,
//!     outcome: SyscallOutcome::Returned { value: 3, took: 900 },
//!     memory,
//!     injected: false,
//!     rewritten: false,
//!     delayed: false,
//!     instruction: None,
//!     worked: None,
//! };
//! let event = TraceEvent { pid: 1, tid: 1, at: 900, kind: EventKind::Call(call) };
//! let mut line = Vec::new();
//! TextWriter::new(TextOptions::default()).write(&event, &mut line);
//! assert_eq!(line, b"openat(AT_FDCWD, \"/etc/hostname\", O_RDONLY) = 3\n");
//! ```

mod abi;
pub mod capture;
mod decode;
pub mod descriptor_set;
mod errno;
mod event;
pub mod format;
pub mod json;
#[cfg(feature = "schemars")]
pub mod line_schema;
pub mod memory;
pub mod resolver;
pub mod syscall_set;
pub mod table;
pub mod text;
pub mod value_list;

pub use abi::Abi;
pub use event::{EventKind, StackFrame, SyscallOutcome, SyscallRecord, TraceEvent};
pub use memory::{CapturePoint, CapturedMemory, MemoryPiece};
pub use syscall_set::{SyscallSet, SyscallSetError};
