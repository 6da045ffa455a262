//! What can go wrong before or while a program is traced, and the way out.

use std::{ffi::OsString, io};

use crate::kernel::KernelError;

/// Why nothing was traced, or no further.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// There is no such program.
    #[error("`{}` isn't to be found: give its path, or add its folder to PATH", .program.to_string_lossy())]
    NotFound {
        /// As it was asked for.
        program: OsString,
    },
    /// The command couldn't be started.
    #[error("`{}` can't be started", .program.to_string_lossy())]
    NotStarted {
        /// As it was asked for.
        program: OsString,
        /// Why.
        #[source]
        why: io::Error,
    },
    /// A process can't be attached to.
    #[error("process {pid} can't be attached to{}", way_out(why))]
    NotAttached {
        /// Its number.
        pid: i32,
        /// Why.
        #[source]
        why: io::Error,
    },
    /// The kernel engine can't do what is asked.
    #[error("the kernel engine can't do that: {why}; `--engine ptrace` can")]
    Unfit {
        /// Why.
        why: &'static str,
    },
    /// The kernel engine can't trace.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// There is nothing to trace.
    #[error("nothing to trace: give a command, or the number of a process")]
    Nothing,
    /// The kernel refused what tracing needs.
    #[error("the kernel refuses to {what}")]
    Refused {
        /// What was asked of it.
        what: &'static str,
        /// Why.
        #[source]
        why: io::Error,
    },
}

/// What helps against a refusal to attach.
fn way_out(why: &io::Error) -> &'static str {
    match why.kind() {
        io::ErrorKind::PermissionDenied => {
            ": it belongs to another user, is traced by somebody else, or \
             /proc/sys/kernel/yama/ptrace_scope forbids it; try as root"
        }
        _ => ": there is no such process any longer",
    }
}

/// What is wrong with an expression that says what is asked for.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ExpressionError {
    /// No call is named so.
    #[error("no call is named `{0}`; `?{0}` is for names that needn't exist")]
    UnknownCall(String),
    /// No class is named so.
    #[error(
        "no class of calls is named `{0}`; there are %file, %process, %network, %signal, %ipc, %desc, %memory, %creds, \
         %clock, %pure, %stat and their like"
    )]
    UnknownClass(String),
    /// Not a regular expression.
    #[error("`{0}` isn't a regular expression")]
    Regex(String),
    /// Not a signal.
    #[error(
        "invalid signal `{0}`: none is named so; names are as in SIGTERM or TERM, numbers 1 to 64"
    )]
    Signal(String),
    /// Not an error of the kernel.
    #[error("no error is named `{0}`; names are as in ENOENT, numbers 1 to 4095")]
    Errno(String),
    /// Not a status.
    #[error(
        "no status is named `{0}`; there are successful, failed, unfinished, unavailable, detached, all and none"
    )]
    Status(String),
    /// Not something that is known of descriptors.
    #[error("descriptors have no `{0}`; there are path, socket, dev, pidfd, all and none")]
    Aspect(String),
    /// Not a number, or too large a one.
    #[error("`{text}` isn't {wanted}")]
    Number {
        /// What stood there.
        text: String,
        /// What belongs there.
        wanted: &'static str,
    },
    /// A part of an injection that nobody knows.
    #[error(
        "an injection has no part `{0}`; its parts are error=, retval=, signal=, syscall= (of a call that changes nothing), delay_enter=, delay_exit=, poke_enter=, poke_exit= and when="
    )]
    UnknownPart(String),
    /// A part of an injection that was given before: which of the two is meant can't be known.
    #[error("an injection has one such part alone, `{0}` comes after another")]
    Twice(String),
    /// An injection that injects nothing, or two results.
    #[error(
        "an injection needs error= or retval=, not both, or signal=, delay_enter=, delay_exit=, poke_enter= or poke_exit=: `{0}`"
    )]
    Injection(String),
}
