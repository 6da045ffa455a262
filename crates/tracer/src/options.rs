//! Options of a trace: what is traced, and which events are reported.
//!
//! Expressions have strace's syntax. How events are shown is no option of a trace.

mod injection;
mod scope;
mod signal_set;
mod status_set;

use std::path::PathBuf;

use backsight_syscall_decode::descriptor_set::DescriptorSet;
use backsight_syscall_decode::memory::CaptureLimits;
use backsight_syscall_decode::syscall_set::SyscallSet;

use crate::command::TracedCommand;
pub use injection::{Injection, InjectionSchedule, MemoryPoke, SyscallTampering, parse_duration};
pub use scope::TraceScope;
pub use signal_set::SignalSet;
pub use status_set::{CallStatus, StatusSet};

/// What is asked of an engine.
#[derive(Debug, Clone)]
pub struct TraceOptions {
    /// A command to start.
    pub command: Option<TracedCommand>,
    /// Processes, or threads, to attach to.
    pub pids: Vec<i32>,
    /// Somebody whose children are traced. Processes of `pids` that can't be attached to are then passed over.
    pub children_of: Option<ChildSelection>,
    /// All that runs somewhere.
    pub scope: Option<TraceScope>,
    /// Whether children and threads are traced too, and of processes that are attached to every thread.
    pub follow: bool,
    /// The calls to emit.
    pub calls: SyscallSet,
    /// Only calls that concern one of these paths, by name or by descriptor; every call if there are none.
    pub paths: Vec<PathBuf>,
    /// Only calls that concern one of these descriptors; every call if none is named.
    pub traced_descriptors: DescriptorSet,
    /// Only calls that ended so.
    pub statuses: StatusSet,
    /// The signals to emit.
    pub signals: SignalSet,
    /// What is to be done to calls.
    pub injections: Vec<Injection>,
    /// Calls at which a process is detached from.
    pub detach_on: SyscallSet,
    /// Whether calls that aren't asked for may be let pass by a seccomp filter without a stop. It stays with the program:
    /// should the tracer be killed, so is the program. Used only for a command that is followed and where it helps.
    pub filter: bool,
    /// Whether what is traced dies should the tracer be killed, instead of going on alone.
    pub kill_on_exit: bool,
    /// Detach from everything after so many calls were emitted.
    pub limit: Option<u64>,
    /// How much of what pointers point to is captured; nothing if only calls are counted.
    pub limits: Option<CaptureLimits>,
    /// Whether a call is told while it goes on when something else is to be told: for those who write one line after
    /// the other.
    pub pending: bool,
    /// Whether the `execve` by which a thread takes its process's number is emitted as pending where no others are: it begins in
    /// one thread's file and ends in another's.
    pub renumbering: bool,
    /// Whether what descriptors are is looked up for who reads: what they are at that moment, so that it takes a stop.
    pub descriptors: bool,
    /// Whether calls that change what a descriptor or a process is are told as they are entered, as going on: for those who
    /// look that up.
    pub early: bool,
    /// Whether calls are told with where in the program they were made, and signals with where they came: the instruction.
    pub instructions: bool,
    /// Whether calls and signals are told with the functions that the thread is in.
    pub stacks: bool,
    /// Most functions of a stack.
    pub stack_frames: usize,
    /// Whether calls are told with how long processors worked on them, and counted by that.
    pub work: bool,
    /// Whether tracer and program may share a processor while the program is one thread: several times faster.
    pub share_processor: bool,
    /// Bytes of the ring through which the kernel engine tells: a power of two, at least 65536.
    pub ring: u32,
}

impl Default for TraceOptions {
    /// Every call of nothing.
    fn default() -> Self {
        Self {
            command: None,
            pids: Vec::new(),
            children_of: None,
            scope: None,
            follow: false,
            calls: SyscallSet::all(),
            paths: Vec::new(),
            traced_descriptors: DescriptorSet::default(),
            statuses: StatusSet::all(),
            signals: SignalSet::all(),
            injections: Vec::new(),
            detach_on: SyscallSet::none(),
            filter: true,
            kill_on_exit: false,
            limit: None,
            limits: Some(CaptureLimits::default()),
            pending: false,
            renumbering: false,
            descriptors: false,
            early: false,
            instructions: false,
            stacks: false,
            stack_frames: usize::MAX,
            work: false,
            share_processor: true,
            ring: 4 << 20,
        }
    }
}

impl TraceOptions {
    /// Whether only calls of some paths or descriptors are asked for.
    pub(crate) fn chooses_files(&self) -> bool {
        !(self.paths.is_empty() && self.traced_descriptors.is_empty())
    }

    /// Whether calls are told before they come back: which are told mustn't depend on how they end.
    pub(crate) fn tells_pending(&self) -> bool {
        self.pending && self.statuses.is_all()
    }

    /// Whether children and threads are traced too.
    pub(crate) fn follows(&self) -> bool {
        self.follow || self.children_of.is_some() || self.scope.is_some()
    }
}

/// A process whose children are traced with all that they start, each from the first call of its own program on. What the
/// process does itself isn't told, but for an [`Attached`](backsight_syscall_decode::EventKind::Attached) when it is followed; nor what a child
/// does up to its `execve`.
#[derive(Debug, Clone, Copy)]
pub struct ChildSelection {
    /// The process.
    pub parent: i32,
    /// Whether a child that has just become another program is traced; else it is let go.
    pub accepts: fn(i32) -> bool,
}
