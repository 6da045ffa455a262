//! The system-call tracer: every call of a process, its children and threads, with decoded arguments, result and time.
//!
//! An engine makes [`Event`]s: the kernel engine collects them in BPF programs and stops nobody as long as they are read
//! fast enough, the ptrace engine needs no privileges. Both give the same events for the same program. What lies behind
//! pointers comes with a [`Call`] as [`Piece`]s of memory, taken when it was entered and when it came back; which pieces a
//! call needs is said by its row of the [`table`], so that text, JSON, summary, recording and replay are made of events
//! alone, wherever and whenever.
//!
//! Refuses: to lose an event without saying so, to leave anything of its own behind in a program that was traced, and to
//! guess what wasn't captured.

mod asked;
mod decode;
pub mod descriptors;
pub mod engine;
mod error;
mod event;
#[doc(hidden)]
pub mod fuzzing;
pub mod json;
#[cfg(target_os = "linux")]
pub mod kernel;
pub mod perfetto;
pub mod processes;
pub mod ptrace;
pub mod recording;
pub mod summary;
pub mod table;
pub mod text;

pub use asked::{
    Asked, Calls, Command, Ended, Finish, Injection, Interrupt, Known, Occasions, Offspring, Poke,
    Signals, Status, Statuses, Tamper, User, duration,
};
pub use decode::{CURRENT_DIRECTORY, Described, Descriptors};
pub use error::{ExpressionError, TraceError};
pub use event::{Abi, Call, Event, Frame, Memory, Outcome, Piece, What, When};
pub use nix::sys::signal::Signal;
pub use ptrace::start::{Apart, StandIn, stand_aside};
