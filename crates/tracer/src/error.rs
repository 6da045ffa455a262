//! Errors of tracing and of its options, each with a way out.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use backsight_syscall_decode::descriptor_set::DescriptorSetError;
use backsight_syscall_decode::syscall_set::SyscallSetError;
use backsight_syscall_decode::value_list::ValueListError;

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
    /// The kernel engine can't do what is asked, and the other one has no scopes.
    #[error(
        "a cgroup or the whole machine is traced by the kernel engine alone, which can't do that: {why}; leave it out, or trace \
         processes with `-f -p PID`"
    )]
    UnfitScope {
        /// Why.
        why: &'static str,
    },
    /// The kernel engine can't trace, and the other one has no scopes.
    #[error(
        "a cgroup or the whole machine is traced by the kernel engine alone: {why}, which traces processes one by one: `-f -p PID`"
    )]
    ScopeUnavailable {
        /// Why.
        why: BpfEngineError,
    },
    /// The engine that was asked for has no scopes.
    #[error(
        "the ptrace engine traces processes one by one, not a cgroup or the whole machine: leave `--engine ptrace` out, or give \
         `-f -p PID`"
    )]
    ScopeByPtrace,
    /// The kernel engine can't trace.
    #[error(transparent)]
    Kernel(#[from] BpfEngineError),
    /// There is nothing to trace.
    #[error(
        "nothing to trace: give a command, the number of a process (-p), a cgroup (--cgroup), or the whole machine (--all)"
    )]
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

/// Why what is traced can't be written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// The file can't be made.
    #[error("{}", .path.display())]
    NotMade {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        why: io::Error,
    },
    /// The command that reads, or the thread that writes, can't be started.
    #[error(transparent)]
    Unstarted(io::Error),
}

/// What is wrong with an expression that says what is asked for.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ExpressionError {
    /// Not a set of calls.
    #[error(transparent)]
    Calls(#[from] SyscallSetError),
    /// Not a list.
    #[error(transparent)]
    List(#[from] ValueListError),
    /// Not a set of descriptors.
    #[error(transparent)]
    Descriptors(#[from] DescriptorSetError),
    /// Not something that can be left unsaid.
    #[error(
        "nothing is said that is named `{0}`; there are attach, exit, path-resolution, personality, thread-execve, all and none"
    )]
    Quiet(String),
    /// Not something that is told beside results.
    #[error(
        "nothing is told beside results that is named `{what}={value}`; there are kvm=vcpu and namespace=new"
    )]
    ResultDetail {
        /// `kvm` or `namespace`.
        what: String,
        /// What stood behind it.
        value: String,
    },
    /// Not something that is known of processes.
    #[error(
        "nothing is known of processes that is named `{0}`; there are comm, pidns, all and none"
    )]
    PidDetail(String),
    /// Not a kind of expression.
    #[error(
        "`{0}=` isn't known here; there are trace=, signal=, status=, inject=, fault=, abbrev=, verbose=, raw=, read=, write=, trace-fds=, decode-fds=, decode-pids=, kvm=, namespace= and quiet="
    )]
    UnknownExpression(String),
    /// Not an injection. Scripts which use strace look for these words.
    #[error("invalid {what} argument `{value}`")]
    Tampering {
        /// `inject` or `fault`.
        what: String,
        /// What stood behind it.
        value: String,
        /// What is wrong with it.
        #[source]
        why: Box<ExpressionError>,
    },
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
    #[error(
        "descriptors have no `{0}`; there are path, socket, dev, pidfd, eventfd, signalfd, all and none"
    )]
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
        "an injection needs error= or retval=, not both, or signal=, delay_enter=, delay_exit=, poke_enter= or poke_exit=; syscall= goes with one of these: `{0}`"
    )]
    Injection(String),
}

/// Why the kernel engine can't trace.
#[derive(Debug, thiserror::Error)]
pub enum BpfEngineError {
    /// It isn't allowed to.
    #[error(
        "the kernel engine needs {name}: run it as root, or grant it with `setcap`; the ptrace engine needs none"
    )]
    Capability {
        /// What is missing.
        name: &'static str,
    },
    /// What this process may and in which name spaces it is can't be seen.
    #[error(
        "the kernel engine needs /proc, which can't be read: mount it; the ptrace engine needs none"
    )]
    Proc,
    /// The numbers of processes here aren't the kernel's.
    #[error(
        "the kernel engine sees the numbers that processes have outside of this container, and can't tell yours: use the ptrace engine"
    )]
    Namespace,
    /// The kernel doesn't describe its structures.
    #[error(
        "this kernel has no type information (/sys/kernel/btf/vmlinux, CONFIG_DEBUG_INFO_BTF): use the ptrace engine"
    )]
    Types,
    /// The kernel refuses the programs.
    #[error("the kernel refuses the tracer's programs ({what}): {error}; use the ptrace engine")]
    Load {
        /// Which of them.
        what: &'static str,
        /// What it says.
        error: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The programs aren't what they should be: a fault of the build.
    #[error("the tracer's programs have no {what}: build it again")]
    Object {
        /// What is missing.
        what: &'static str,
    },
    /// The size of the ring isn't one.
    #[error("a ring of {bytes} bytes can't be had: it must be a power of two of at least 65536")]
    Ring {
        /// What was asked.
        bytes: u32,
    },
}
