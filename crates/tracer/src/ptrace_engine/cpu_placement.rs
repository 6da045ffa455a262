//! Tracer and program on one processor, while one thread of it calls and calls and all others wait: a stop is then a
//! switch between two threads and not a wake-up of another processor.
//!
//! For this the thread may run on one processor only, for a while. It never sees that: before it asks for where it may run,
//! says where, makes a child or a thread, or reads about itself, it may run where it could before. Should the tracer be
//! killed, a guard gives that back. From time to time both are free for a moment, so that the system may move them.
//!
//! Not for programs of which several threads run: these belong on processors of their own.

use nix::{
    libc,
    unistd::{ForkResult, Pid, fork},
};
use rustix::{
    fd::AsRawFd as _,
    thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity},
};
use std::{
    io::{self, PipeReader, PipeWriter, Read as _, Write as _},
    time::Instant,
};

use crate::ptrace::requests::Tid;
use backsight_syscall_decode::Abi;

/// After so many stops it is looked at whether it is worth it.
const WINDOW: u32 = 1024;
/// A program that stops so seldom works by itself most of the time.
const SELDOM: f64 = 4000.0;
/// So many windows together, then one apart.
const TOGETHER: u32 = 100;
/// Where it was worth it before, who stops so often in a row shares again.
const AGAIN: u32 = 8;

/// Where tracer and program run.
pub struct CpuPlacement {
    stops: u32,
    since: Option<Instant>,
    windows: u32,
    /// Who stopped last, and how often in a row.
    last: (Tid, u32),
    /// Whether it was worth it the last time that it was looked at.
    pays: bool,
    joined: Option<Joined>,
    guard: Option<Guard>,
    /// Whether the program chose its processors itself, or it can't be done.
    never: bool,
}

/// A thread that shares a processor with its tracer.
struct Joined {
    tid: Tid,
    its: CpuSet,
    ours: CpuSet,
    shared: CpuSet,
}

impl CpuPlacement {
    /// Where the system puts them.
    pub fn new(allowed: bool) -> Self {
        Self {
            stops: 0,
            since: None,
            windows: 0,
            last: (0, 0),
            pays: false,
            joined: None,
            guard: None,
            never: !allowed,
        }
    }

    /// A thread stopped at a call while all others wait, if there are any.
    pub fn stopped(&mut self, tid: Tid) {
        if self.never {
            return;
        }
        if self.joined.as_ref().is_some_and(|joined| joined.tid != tid) {
            self.part();
        }
        self.last = match self.last {
            (last, times) if last == tid => (tid, times.saturating_add(1)),
            _ => (tid, 1),
        };
        self.stops += 1;
        if self.stops < WINDOW {
            if self.pays && self.joined.is_none() && self.last.1 >= AGAIN {
                self.join(tid);
            }
            return;
        }
        self.stops = 0;
        let now = Instant::now();
        let before = self.since.replace(now);
        let seconds = before.map_or(f64::INFINITY, |before| (now - before).as_secs_f64());
        let often = f64::from(WINDOW) / seconds > SELDOM;
        self.windows += 1;
        self.pays = often && self.windows < TOGETHER;
        match &self.joined {
            None if often => {
                self.windows = 0;
                self.pays = true;
                self.join(tid);
            }
            Some(_) if !self.pays => self.part(),
            _ => {}
        }
    }

    /// A thread stopped at a call while others run.
    pub fn crowded(&mut self) {
        self.last = (0, 0);
        self.part();
    }

    /// Before a call that would show, inherit or change where the thread may run.
    pub fn before(&mut self, abi: Abi, number: u64, is_status: impl FnOnce() -> bool) {
        let Some(sight) = sight(abi, number) else {
            return;
        };
        if sight == Sight::Chooses {
            self.never = true;
        }
        if self.joined.is_some() && (sight != Sight::Opens || is_status()) {
            self.part();
        }
    }

    fn join(&mut self, tid: Tid) {
        if self.try_join(tid).is_err() {
            self.part();
            self.never = true;
        }
    }

    fn try_join(&mut self, tid: Tid) -> io::Result<()> {
        let pid = rustix::process::Pid::from_raw(tid);
        let (its, ours) = (sched_getaffinity(pid)?, sched_getaffinity(None)?);
        let processor = sched_getcpu();
        if !its.is_set(processor) || !ours.is_set(processor) {
            return Ok(());
        }
        let mut shared = CpuSet::new();
        shared.set(processor);
        if self.guard.is_none() {
            self.guard = Some(Guard::start()?);
        }
        if let Some(guard) = &mut self.guard {
            guard.send(Some((tid, &its, &shared)))?;
        }
        self.joined = Some(Joined {
            tid,
            its,
            ours,
            shared,
        });
        sched_setaffinity(pid, &shared)?;
        sched_setaffinity(None, &shared)?;
        Ok(())
    }

    /// Gives back where both may run.
    pub fn part(&mut self) {
        let Some(joined) = self.joined.take() else {
            return;
        };
        give_back(joined.tid, &joined.its, &joined.shared);
        let _as_it_was = sched_setaffinity(None, &joined.ours);
        if let Some(guard) = &mut self.guard {
            let _killed = guard.send(None);
        }
        self.last = (0, 0);
    }
}

impl Drop for CpuPlacement {
    fn drop(&mut self) {
        self.part();
    }
}

/// Lets a thread run where it could before, unless somebody changed that meanwhile.
fn give_back(tid: Tid, its: &CpuSet, shared: &CpuSet) {
    let pid = rustix::process::Pid::from_raw(tid);
    if sched_getaffinity(pid).is_ok_and(|now| now == *shared) {
        let _gone = sched_setaffinity(pid, its);
    }
}

/// How a call has to do with where a thread may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sight {
    /// It says where.
    Chooses,
    /// It asks where, or makes a thread that inherits it.
    Sees,
    /// It may open the file that says so.
    Opens,
}

fn sight(abi: Abi, number: u64) -> Option<Sight> {
    let (chooses, sees, opens): (&[u64], &[u64], &[u64]) = match abi {
        Abi::X86_64 => (&[203], &[204, 56, 57, 58, 435], &[2, 257, 437]),
        Abi::I386 => (&[241], &[242, 120, 2, 190, 435], &[5, 295, 437]),
        Abi::Aarch64 => (&[122], &[123, 220, 435], &[56, 437]),
    };
    [
        (chooses, Sight::Chooses),
        (sees, Sight::Sees),
        (opens, Sight::Opens),
    ]
    .into_iter()
    .find(|(numbers, _)| numbers.contains(&number))
    .map(|(_, sight)| sight)
}

/// Where the path of a call that opens a file is.
pub fn path_argument(abi: Abi, number: u64) -> usize {
    match (abi, number) {
        (Abi::X86_64, 2) | (Abi::I386, 5) => 0,
        _ => 1,
    }
}

/// A process of its own that gives a thread its processors back if the tracer is killed.
struct Guard {
    pid: Pid,
    words: Option<PipeWriter>,
}

/// A thread with its processors and the one that it shares, or zeros.
const WORDS: usize = CpuSet::MAX_CPU / 64;
const MESSAGE: usize = 8 * (1 + 2 * WORDS);

impl Guard {
    fn start() -> io::Result<Self> {
        let (receiver, words) = io::pipe()?;
        // SAFETY: the child makes system calls on its own stack only, until it ends.
        match unsafe { fork() }? {
            ForkResult::Child => watch(receiver),
            ForkResult::Parent { child } => Ok(Self {
                pid: child,
                words: Some(words),
            }),
        }
    }

    fn send(&mut self, joined: Option<(Tid, &CpuSet, &CpuSet)>) -> io::Result<()> {
        let mut message = [0_u8; MESSAGE];
        if let Some((tid, its, shared)) = joined {
            message[..4].copy_from_slice(&tid.to_ne_bytes());
            for (set, at) in [(its, 8), (shared, 8 + 8 * WORDS)] {
                for processor in (0..CpuSet::MAX_CPU).filter(|processor| set.is_set(*processor)) {
                    message[at + processor / 8] |= 1 << (processor % 8);
                }
            }
        }
        match &mut self.words {
            Some(words) => words.write_all(&message),
            None => Ok(()),
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // It ends as the pipe does.
        self.words = None;
        let _ended = nix::sys::wait::waitpid(self.pid, None);
    }
}

/// What the guard does: hears who shares a processor until nobody can say any more, and gives the last one its own back.
fn watch(mut receiver: PipeReader) -> ! {
    let pipe = receiver.as_raw_fd().cast_unsigned();
    // SAFETY: system calls on numbers and on a set on the stack. Nothing else that was open is held open by this process,
    // and no signal to the tracer's terminal or group ends it.
    unsafe {
        let mut all = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut());
        libc::setsid();
        if pipe > 0 {
            libc::syscall(libc::SYS_close_range, 0, pipe - 1, 0);
        }
        libc::syscall(libc::SYS_close_range, pipe + 1, u32::MAX, 0);
    }
    let mut last = [0_u8; MESSAGE];
    let mut message = [0_u8; MESSAGE];
    while receiver.read_exact(&mut message).is_ok() {
        last = message;
    }
    let tid = Tid::from_ne_bytes([last[0], last[1], last[2], last[3]]);
    if tid != 0 {
        let set = |at: usize| {
            let mut set = CpuSet::new();
            for processor in
                (0..CpuSet::MAX_CPU).filter(|it| last[at + it / 8] >> (it % 8) & 1 == 1)
            {
                set.set(processor);
            }
            set
        };
        give_back(tid, &set(8), &set(8 + 8 * WORDS));
    }
    // SAFETY: ends this process without anything of the tracer's being done a second time.
    unsafe { libc::_exit(0) }
}
