//! State of a traced thread between two of its stops.

use std::time::Duration;

use backsight_syscall_decode::{Abi, StackFrame, SyscallRecord};

use crate::options::MemoryPoke;
use crate::ptrace::requests::Tid;

/// A traced thread.
#[derive(Debug)]
pub struct Tracee {
    /// Its process.
    pub pid: i32,
    /// The call that it is in.
    pub call: Option<OngoingCall>,
    /// Whether nothing is told of it but `execve`: it is our own child on its way there.
    pub quiet: bool,
    /// Whether it is followed for its children's sake only, or is such a child that isn't its own program yet: it passes
    /// its calls without stops.
    pub passing: bool,
    /// How many nanoseconds the kernel has worked for its process, where that is asked for.
    pub worked: u64,
    /// The call that it waited in as it was attached to, until it enters the next.
    pub interrupted: Option<(Abi, u64)>,
    /// How often calls with injections were made: a count for each injection and call.
    pub times: Vec<(usize, u64, u32)>,
}

/// A call that is going on.
#[derive(Debug)]
pub struct OngoingCall {
    /// The call.
    pub call: SyscallRecord,
    /// Whether it becomes an event when it returns.
    pub reported: bool,
    /// Whether it was emitted as pending.
    pub pending: bool,
    /// How many nanoseconds the kernel had worked before it.
    pub worked: u64,
    /// The result that it is to have.
    pub result: Option<i64>,
    /// Whether the thread is detached from in it.
    pub leaves: bool,
    /// How long the thread is held when it came back.
    pub hold: Option<Duration>,
    /// What is written into the program's memory when it came back.
    pub pokes: Vec<MemoryPoke>,
    /// The functions that the thread was in as it was entered.
    pub frames: Vec<StackFrame>,
}

impl Tracee {
    /// A thread of a process.
    pub fn new(pid: i32) -> Self {
        Self {
            pid,
            call: None,
            quiet: false,
            passing: false,
            worked: 0,
            interrupted: None,
            times: Vec::new(),
        }
    }

    /// A command that isn't executed yet.
    pub fn starting(tid: Tid) -> Self {
        Self {
            quiet: true,
            ..Self::new(tid)
        }
    }

    /// One that is followed for its children's sake, or such a child.
    pub fn passing(pid: i32) -> Self {
        Self {
            quiet: true,
            passing: true,
            ..Self::new(pid)
        }
    }

    /// Counts one more call of an injection; the how manieth it is.
    pub fn count(&mut self, injection: usize, number: u64) -> u32 {
        let times = &mut self.times;
        let known = times
            .iter()
            .position(|(i, n, _)| (*i, *n) == (injection, number));
        let index = known.unwrap_or_else(|| {
            times.push((injection, number, 0));
            times.len() - 1
        });
        times[index].2 = times[index].2.saturating_add(1);
        times[index].2
    }
}
