//! Events of a trace, in the order of time.

use serde::{Deserialize, Serialize};

use crate::{Abi, CapturedMemory, table};

/// Something that happened to a traced task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TraceEvent {
    /// The process: its thread group.
    pub pid: i32,
    /// The thread.
    pub tid: i32,
    /// When it happened; for a call, when it was told: as it came back. Nanoseconds of the monotonic clock.
    pub at: u64,
    /// What.
    pub kind: EventKind,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum EventKind {
    /// A call came back, or never will: `exit`, or a thread that is gone.
    Call(SyscallRecord),
    /// A call that takes long enough to be told while it goes on; it is told again when it comes back.
    Pending(SyscallRecord),
    /// A signal was delivered.
    Signal {
        /// Its number.
        number: i32,
        /// The kernel's `siginfo`, as it lies in memory; empty where it wasn't to be had.
        info: Vec<u8>,
        /// Where in the program the thread was: the instruction's address, where that was asked for.
        instruction: Option<u64>,
    },
    /// The thread's process was stopped by a signal, as by ^Z.
    Stopped {
        /// Which.
        signal: i32,
    },
    /// The thread ended.
    Exited {
        /// Its status.
        status: i32,
    },
    /// The thread was ended by a signal.
    Killed {
        /// Which.
        signal: i32,
        /// Whether memory was dumped.
        core: bool,
    },
    /// The thread vanished because another thread of its process did `execve`.
    Superseded {
        /// The thread that did it, by its number before.
        by: i32,
    },
    /// The thread was attached to, by number or as a child of a traced one.
    Attached {
        /// The thread that made it, if it was traced.
        parent: Option<i32>,
    },
    /// It isn't traced any longer, and goes on.
    Detached,
    /// Events were lost here: never, unless the counter that this is made of says so.
    Lost {
        /// How many.
        number: u64,
    },
    /// What lies behind an argument of the call that the thread is in wasn't changed, as was asked.
    Unchanged {
        /// How the call was made.
        abi: Abi,
        /// Its number there.
        number: u64,
        /// The argument, from 0.
        argument: usize,
    },
    /// In which functions of its program the thread is that made the call, or got the signal, that was told last: the innermost
    /// first. Only where that was asked for.
    Stack(Vec<StackFrame>),
    /// A task that nobody asked to trace came to the tracer: its maker asked the kernel for that, as `CLONE_PTRACE` does, or
    /// made it a child of the tracer, as `CLONE_PARENT` does. It goes on untraced.
    Stranger {
        /// Whether it ended, which is all that is known of it.
        ended: bool,
    },
    /// The call that a thread waited in as it was attached to, which interrupted it: the `restart_syscall` that comes next takes
    /// it up again.
    Interrupted {
        /// How the call was made.
        abi: Abi,
        /// Its number there.
        number: u64,
    },
}

/// A place in a program, as one on a thread's stack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackFrame {
    /// The file that is mapped there, or what the kernel calls it, as `[vdso]`.
    pub file: Vec<u8>,
    /// The function by its symbol, and how many bytes from its beginning; nothing where no symbol's range holds the place.
    pub function: Option<(Vec<u8>, u64)>,
    /// Where it lies in the file, in bytes.
    pub offset: u64,
}

/// One system call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SyscallRecord {
    /// How it was made.
    pub abi: Abi,
    /// Its number there.
    pub number: u64,
    /// Its arguments as they were in the registers when it was entered.
    pub arguments: [u64; 6],
    /// When it was entered, in nanoseconds of the monotonic clock.
    pub entered: u64,
    /// What came of it.
    pub outcome: SyscallOutcome,
    /// What lay behind its pointers.
    pub memory: CapturedMemory,
    /// Whether its result was made up by who traces.
    pub injected: bool,
    /// Whether who traces changed what lay behind its pointers.
    pub rewritten: bool,
    /// Whether who traces held the thread before it or after it.
    pub delayed: bool,
    /// Where in the program it was made: the instruction's address, where that was asked for.
    pub instruction: Option<u64>,
    /// How many nanoseconds of it a processor worked on it, where that was asked for.
    pub worked: Option<u64>,
}

impl SyscallRecord {
    /// A call that was entered at this time and hasn't come back, of which no memory is known yet.
    pub fn open(abi: Abi, number: u64, arguments: [u64; 6], entered: u64) -> Self {
        Self {
            abi,
            number,
            arguments,
            entered,
            outcome: SyscallOutcome::Open,
            memory: CapturedMemory::default(),
            injected: false,
            rewritten: false,
            delayed: false,
            instruction: None,
            worked: None,
        }
    }

    /// The number of the error that it came back with; nothing if it succeeded, or hasn't come back.
    pub fn error(&self) -> Option<i64> {
        const LAST: i64 = 4095;
        let SyscallOutcome::Returned { value, .. } = self.outcome else {
            return None;
        };
        let error = (-LAST..0).contains(&value).then(|| -value)?;
        // What was made up for a call that never fails is no error.
        let made_up = self.injected && table::never_fails(self.abi, self.number);
        (!made_up).then_some(error)
    }
}

/// What came of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SyscallOutcome {
    /// It came back with this in the result's register, -errno for errors, after so many nanoseconds.
    Returned {
        /// The register.
        value: i64,
        /// How long it took.
        took: u64,
    },
    /// It doesn't come back, or hasn't yet.
    Open,
}
