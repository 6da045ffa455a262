//! What is asked of an engine: what to trace, and what of it to tell.
//!
//! Expressions are strace's, since people know them. Refuses: to know how a command line looks, and how events are shown.

mod calls;
mod injection;
mod interrupt;
mod signals;
mod statuses;

pub use calls::{Calls, Known};
pub use injection::{Injection, Occasions, Poke, Tamper, duration};
pub use interrupt::Interrupt;
pub use signals::Signals;
pub use statuses::{Status, Statuses};

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use crate::{ptrace::start::StandIn, table::Limits};

/// What is asked of an engine.
#[derive(Debug, Clone)]
pub struct Asked {
    /// A command to start.
    pub command: Option<Command>,
    /// Processes, or threads, to attach to.
    pub pids: Vec<i32>,
    /// Somebody whose children are traced. Processes of `pids` that can't be attached to are then passed over.
    pub offspring: Option<Offspring>,
    /// Whether children and threads are traced too, and of processes that are attached to every thread.
    pub follow: bool,
    /// The calls to tell.
    pub calls: Calls,
    /// Only calls that concern one of these paths, by name or by descriptor; every call if there are none.
    pub paths: Vec<PathBuf>,
    /// Only calls that ended so.
    pub statuses: Statuses,
    /// The signals to tell.
    pub signals: Signals,
    /// What is to be done to calls.
    pub injections: Vec<Injection>,
    /// Calls at which a process is detached from.
    pub detach_on: Calls,
    /// Whether calls that aren't asked for may be let pass by a seccomp filter without a stop. It stays with the program:
    /// should the tracer be killed, so is the program. Used only for a command that is followed and where it helps.
    pub filter: bool,
    /// Detach from everything after so many calls were told.
    pub limit: Option<u64>,
    /// How much of what pointers point to is captured; nothing if only calls are counted.
    pub limits: Option<Limits>,
    /// Whether a call is told while it goes on when something else is to be told: for those who write one line after
    /// the other.
    pub pending: bool,
    /// Whether what descriptors are is looked up for who reads: what they are at that moment, so that it takes a stop.
    pub descriptors: bool,
    /// Whether calls that change what a descriptor or a process is are told as they are entered, as going on: for those who
    /// look that up.
    pub early: bool,
    /// Whether calls are told with where in the program they were made, and signals with where they came: the instruction.
    pub instructions: bool,
    /// Whether calls and signals are told with the functions that the thread is in.
    pub stacks: bool,
    /// Whether calls are told with how long processors worked on them, and counted by that.
    pub work: bool,
    /// Whether tracer and program may share a processor while the program is one thread: several times faster.
    pub share_processor: bool,
    /// Bytes of the ring through which the kernel engine tells: a power of two, at least 65536.
    pub ring: u32,
}

impl Default for Asked {
    /// Every call of nothing.
    fn default() -> Self {
        Self {
            command: None,
            pids: Vec::new(),
            offspring: None,
            follow: false,
            calls: Calls::all(),
            paths: Vec::new(),
            statuses: Statuses::all(),
            signals: Signals::all(),
            injections: Vec::new(),
            detach_on: Calls::none(),
            filter: true,
            limit: None,
            limits: Some(Limits::default()),
            pending: false,
            descriptors: false,
            early: false,
            instructions: false,
            stacks: false,
            work: false,
            share_processor: true,
            ring: 4 << 20,
        }
    }
}

impl Asked {
    /// Whether children and threads are traced too.
    pub(crate) fn follows(&self) -> bool {
        self.follow || self.offspring.is_some()
    }
}

/// A process whose children are traced with all that they start, each from the first call of its own program on. What the
/// process does itself isn't told, but for an [`Attached`](crate::What::Attached) when it is followed; nor what a child
/// does up to its `execve`.
#[derive(Debug, Clone, Copy)]
pub struct Offspring {
    /// The process.
    pub of: i32,
    /// Whether a child that has just become another program is traced; else it is let go.
    pub joins: fn(i32) -> bool,
}

/// A command to start.
#[derive(Debug, Clone, Default)]
pub struct Command {
    /// The program: a path, or a name to be found in PATH.
    pub program: OsString,
    /// Its arguments, without its own name.
    pub arguments: Vec<OsString>,
    /// Variables of its environment to set, or to remove.
    pub environment: Vec<(OsString, Option<OsString>)>,
    /// Whose rights it gets.
    pub user: Option<User>,
    /// What is done once it has all that it inherits, before it is executed.
    pub started: Option<fn()>,
    /// Who waits to become it, if it isn't to be a child of the tracer: see [`stand_aside`](crate::stand_aside).
    pub stand_in: Option<StandIn>,
}

/// Somebody whose rights a command gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The user's number.
    pub uid: u32,
    /// The number of the user's first group.
    pub gid: u32,
    /// The numbers of all groups.
    pub groups: Vec<u32>,
}

impl User {
    /// Somebody by name; nothing if nobody is named so.
    ///
    /// # Errors
    ///
    /// If the list of users can't be read.
    pub fn named(name: &str) -> std::io::Result<Option<Self>> {
        let Some(user) = nix::unistd::User::from_name(name)? else {
            return Ok(None);
        };
        let name = std::ffi::CString::new(name)?;
        let groups = nix::unistd::getgrouplist(&name, user.gid)?;
        Ok(Some(Self {
            uid: user.uid.as_raw(),
            gid: user.gid.as_raw(),
            groups: groups.into_iter().map(nix::unistd::Gid::as_raw).collect(),
        }))
    }
}

impl Command {
    /// A command by its program and its arguments.
    pub fn new(
        program: impl Into<OsString>,
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Self {
        Self {
            program: program.into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    /// The file that will be run: a path as it is, a name as PATH has it.
    pub(crate) fn file(&self) -> Option<PathBuf> {
        use std::os::unix::ffi::OsStrExt as _;
        if self.program.as_bytes().contains(&b'/') {
            return Some(PathBuf::from(&self.program));
        }
        if self.program.is_empty() {
            return None;
        }
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path)
            .map(|folder| folder.join(&self.program))
            .find(|file| is_program(file))
    }
}

/// Whether this is a file that may be run.
fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(file)
        .is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

/// How tracing ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ended {
    /// How the command that was started ended; nothing if none was, or if it goes on without being traced.
    pub command: Option<Finish>,
    /// How many calls were told.
    pub told: u64,
    /// How many events were lost: 0, unless something is wrong.
    pub lost: u64,
    /// How often the kernel engine held a thread until it had read what came before.
    pub held: u64,
}

impl Finish {
    /// Ends this process in the same way: a shell sees no difference. Comes back with a status if a signal doesn't end it.
    pub fn follow(self) -> u8 {
        use nix::sys::{
            resource::{Resource, setrlimit},
            signal::{SigHandler, SigSet, Signal, raise, signal},
        };
        let number = match self {
            Self::Exited(status) => return status as u8,
            Self::Killed(number) => number,
        };
        if let Ok(by) = Signal::try_from(number) {
            // The memory that matters was the command's.
            let _as_it_was = setrlimit(Resource::RLIMIT_CORE, 0, 0);
            let mut only = SigSet::empty();
            only.add(by);
            // SAFETY: no code of ours is run by the signal's default.
            let _cant_be_set = unsafe { signal(by, SigHandler::SigDfl) };
            let _still_blocked = only.thread_unblock();
            let _survived = raise(by);
        }
        128_u8.wrapping_add(number as u8)
    }
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// By itself, with this status.
    Exited(i32),
    /// By a signal.
    Killed(i32),
}
