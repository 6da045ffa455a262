//! Holds what is traced with ptrace, so that threads which stop because the ring fills up can be told from others and let go
//! on in turn, and so that nobody else sees those stops.
//!
//! It runs in a thread of its own, since the kernel takes ptrace's requests only from the thread that attached. The kernel
//! lets go of everything when that thread ends, however it does. A thread that asked for a stop is moved from its signal
//! to a stop that leaves no trace if we are killed. Refuses: stops at system calls.

#![allow(
    unsafe_code,
    reason = "waiting for threads of other processes, and a few of ptrace's requests, have no safe wrapper"
)]

use std::collections::{HashSet, VecDeque};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::pipe::{PipeFlags, pipe_with};

use super::programs::{Control, Programs, Threads, hold_at};
use super::ring::Gauge;
use super::start::{self, Start};
use super::watch;
use super::wire::state;
use super::{KernelError, Options, Stop, Subject};

/// What the keeper saw that no record tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// A thread was attached to.
    Attached { pid: i32, tid: i32 },
    /// A thread's process was stopped by this signal.
    Stopped { tid: i32, signal: i32 },
}

/// The side of it that the reader of the ring sees.
pub(super) struct Keeper {
    thread: Option<JoinHandle<()>>,
    told: Receiver<Told>,
    shared: Arc<Between>,
    bell: Mutex<Option<OwnedFd>>,
    root: Option<i32>,
}

/// What both sides use.
#[derive(Debug)]
struct Between {
    gauge: Gauge,
    /// Bytes in the ring below which threads may go on.
    low: u64,
    /// The keeper waits for room.
    thirsty: AtomicBool,
    room: (Mutex<()>, Condvar),
    /// Everything is to be let go.
    release: AtomicBool,
    done: AtomicBool,
    /// The command's status, with a bit above that says that there is one.
    status: AtomicU64,
    stop: Stop,
}

const HAS_STATUS: u64 = 1 << 32;

/// How many threads that were stopped go on at a time.
const AT_A_TIME: usize = 8;
/// About what a record takes in the ring, to say how many calls a turn may have.
const RECORD: u64 = 160;
/// A thread that was let go on and isn't seen for so long has nothing to tell: others may go on.
const PATIENCE: Duration = Duration::from_millis(1);
/// How long the keeper looks away while threads wait for room.
const GLANCE: Duration = Duration::from_micros(100);

impl Keeper {
    /// Starts the command, or attaches to what runs.
    pub fn start(
        subject: Subject,
        options: &Options,
        programs: &Programs,
        gauge: Gauge,
        stop: Stop,
    ) -> Result<Self, KernelError> {
        let hold = hold_at(options.ring);
        let shared = Arc::new(Between {
            gauge,
            low: hold / 2,
            thirsty: AtomicBool::new(false),
            room: (Mutex::new(()), Condvar::new()),
            release: AtomicBool::new(false),
            done: AtomicBool::new(false),
            status: AtomicU64::new(0),
            stop,
        });
        let (sender, told) = mpsc::channel();
        let (ready, begun) = mpsc::channel();
        let turn = (hold / 2 / (AT_A_TIME as u64 * RECORD)).clamp(1, 512);
        let (bell_in, bell) = pipe_with(PipeFlags::CLOEXEC).map_err(system("making a pipe"))?;
        let mut hold = Hold {
            follow: options.follow,
            threads: programs.threads(),
            control: programs.control(),
            shared: Arc::clone(&shared),
            told: sender,
            known: HashSet::new(),
            strangers: HashSet::new(),
            moving: HashSet::new(),
            held: VecDeque::new(),
            running: HashSet::new(),
            let_go: Instant::now(),
            turn: u32::try_from(turn).unwrap_or(1),
            turns: false,
            root: None,
            bell: 0,
            seen: 0,
        };
        let thread = std::thread::Builder::new()
            .name("keeper".into())
            .spawn(move || {
                let begun = hold.begin(&subject, &bell_in);
                drop(bell_in);
                let goes = begun.is_ok();
                let _ = ready.send(begun);
                if goes {
                    hold.keep();
                }
                hold.shared.done.store(true, Ordering::SeqCst);
                hold.shared.stop.0.ring();
            })
            .map_err(|error| KernelError::System {
                what: "starting a thread",
                error,
            })?;
        let begun = begun.recv().unwrap_or_else(|_| {
            Err(KernelError::System {
                what: "starting to trace",
                error: io::Error::other("the thread that should is gone"),
            })
        });
        let keeper = Self {
            thread: Some(thread),
            told,
            shared,
            bell: Mutex::new(Some(bell)),
            root: *begun.as_ref().unwrap_or(&None),
        };
        begun.map(|_| keeper)
    }

    /// The command's process.
    pub fn root(&self) -> Option<i32> {
        self.root
    }

    /// What was seen since the last time.
    pub fn told(&self) -> Vec<Told> {
        self.told.try_iter().collect()
    }

    /// Says that the ring has more room.
    pub fn freed(&self) {
        if self.shared.thirsty.load(Ordering::SeqCst)
            && self.shared.gauge.waiting() <= self.shared.low
        {
            let _guard = self
                .shared
                .room
                .0
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            self.shared.room.1.notify_one();
        }
    }

    /// Has everything let go. The programs must have been detached before.
    pub fn release(&self) {
        self.shared.release.store(true, Ordering::SeqCst);
        self.bell
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
    }

    /// Whether nothing is traced any longer.
    pub fn is_done(&self) -> bool {
        self.shared.done.load(Ordering::SeqCst)
    }

    /// The command's status.
    pub fn status(&self) -> Option<i32> {
        let status = self.shared.status.load(Ordering::SeqCst);
        (status & HAS_STATUS != 0).then_some(status as u32 as i32)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.release();
        if let Some(thread) = self.thread.take() {
            // It ends within a bounded time; a panic there was told by the runtime.
            let _ = thread.join();
        }
    }
}

fn system(what: &'static str) -> impl Fn(rustix::io::Errno) -> KernelError {
    move |error| KernelError::System {
        what,
        error: error.into(),
    }
}

/// The keeper's own side.
struct Hold {
    follow: bool,
    threads: Threads,
    control: Arc<Control>,
    shared: Arc<Between>,
    told: Sender<Told>,
    /// Threads that are held with ptrace.
    known: HashSet<i32>,
    /// Threads that ended before it was said that they are there.
    strangers: HashSet<i32>,
    /// Threads on their way from the signal that they asked for to a stop that nobody else sees.
    moving: HashSet<i32>,
    /// Threads that wait for room, in the order in which they go on.
    held: VecDeque<i32>,
    /// Threads that were let go on and haven't come back yet.
    running: HashSet<i32>,
    let_go: Instant,
    /// Calls of a turn.
    turn: u32,
    turns: bool,
    root: Option<i32>,
    bell: i32,
    /// Stops that threads asked for and that came.
    seen: u64,
}

/// What waiting says of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    Gone(i32),
    /// The signal, and the event if it is one.
    Stopped(i32, i32),
}

const EVENT_STOP: i32 = 128;

impl Hold {
    /// Attaches to what is traced, and says which process was started for it.
    fn begin(&mut self, subject: &Subject, bell: &OwnedFd) -> Result<Option<i32>, KernelError> {
        // A child whose end says that everything is to be let go: waiting for threads can't be interrupted otherwise.
        self.bell = watch::start(bell, &self.control).map_err(|error| KernelError::System {
            what: "starting a process",
            error,
        })?;
        match subject {
            Subject::Command(start) => self.command(start).map(Some),
            Subject::Running(pids) => {
                for pid in pids {
                    self.running(*pid)?;
                }
                Ok(None)
            }
        }
    }

    fn command(&mut self, command: &Start) -> Result<i32, KernelError> {
        let failed = |error| KernelError::Start {
            program: command.program().to_path_buf(),
            error,
        };
        let waiting = start::fork(command).map_err(failed)?;
        let pid = waiting.pid;
        self.root = Some(pid);
        self.seize(pid, 0)
            .map_err(|error| KernelError::Attach { pid, error })?;
        waiting.go();
        Ok(pid)
    }

    fn running(&mut self, pid: i32) -> Result<(), KernelError> {
        let attach = |error| KernelError::Attach { pid, error };
        if !self.follow {
            self.seize(pid, state::JOINED).map_err(attach)?;
            let _ = self.told.send(Told::Attached { pid, tid: pid });
            return Ok(());
        }
        // Threads may be made while others are attached to, until a look finds none that is new.
        loop {
            let before = self.known.len();
            for entry in std::fs::read_dir(format!("/proc/{pid}/task")).map_err(attach)? {
                let Some(tid) = entry
                    .map_err(attach)?
                    .file_name()
                    .to_str()
                    .and_then(|name| name.parse().ok())
                else {
                    continue;
                };
                if self.known.contains(&tid) {
                    continue;
                }
                match self.seize(tid, state::JOINED) {
                    // A thread that ended meanwhile, or one that was followed from its start.
                    Err(error) if tid != pid && error.raw_os_error() != Some(libc::EACCES) => {}
                    Err(error) => return Err(attach(error)),
                    Ok(()) => {
                        let _ = self.told.send(Told::Attached { pid, tid });
                    }
                }
            }
            if self.known.len() == before {
                return Ok(());
            }
        }
    }

    fn seize(&mut self, tid: i32, state: u32) -> io::Result<()> {
        let mut options = libc::PTRACE_O_TRACEEXEC;
        if self.follow {
            options |=
                libc::PTRACE_O_TRACEFORK | libc::PTRACE_O_TRACEVFORK | libc::PTRACE_O_TRACECLONE;
        }
        ptrace(libc::PTRACE_SEIZE, tid, options as usize)?;
        self.known.insert(tid);
        self.threads.follow(tid, state, now())
    }

    /// Answers stops until nothing is left to be held.
    fn keep(&mut self) {
        while !self.known.is_empty() && !self.shared.release.load(Ordering::SeqCst) {
            let wait = if self.held.is_empty() {
                0
            } else {
                libc::WNOHANG
            };
            match wait_for_any(wait) {
                Ok(Some((tid, seen))) => self.answer(tid, seen),
                Ok(None) => self.let_some_go(),
                Err(_) => break,
            }
        }
        self.let_all_go();
    }

    fn answer(&mut self, tid: i32, seen: Seen) {
        if tid == self.bell {
            self.bell = 0;
            return;
        }
        match seen {
            Seen::Gone(status) => self.gone(tid, status),
            Seen::Stopped(signal, 0) => self.signal(tid, signal),
            Seen::Stopped(signal, EVENT_STOP) => self.event_stop(tid, signal),
            Seen::Stopped(_, libc::PTRACE_EVENT_EXEC) => {
                // The thread has its process's number now, and what had it before is gone without a word.
                let before = event_message(tid);
                if before != tid {
                    self.forget(before);
                }
                go_on(tid, 0);
            }
            Seen::Stopped(..) => {
                // A child: it comes with a stop of its own, which may come first, and so may its end.
                let child = event_message(tid);
                if !self.strangers.remove(&child) {
                    self.known.insert(child);
                }
                go_on(tid, 0);
            }
        }
    }

    fn forget(&mut self, tid: i32) {
        self.known.remove(&tid);
        self.moving.remove(&tid);
        self.running.remove(&tid);
        self.held.retain(|held| *held != tid);
    }

    fn gone(&mut self, tid: i32, status: i32) {
        if !self.known.contains(&tid) {
            self.strangers.insert(tid);
        }
        self.forget(tid);
        if self.root == Some(tid) {
            self.shared
                .status
                .store(HAS_STATUS | u64::from(status as u32), Ordering::SeqCst);
        }
    }

    fn signal(&mut self, tid: i32, signal: i32) {
        const OF_THE_KERNEL: i32 = 0x80;
        self.known.insert(tid);
        let ours = match signal {
            // Only our programs make the kernel send it with nothing to say.
            libc::SIGCHLD => signal_code(tid) == Some(OF_THE_KERNEL),
            // These come from the kernel itself too.
            libc::SIGSTOP | libc::SIGURG | libc::SIGWINCH => {
                signal_code(tid) == Some(OF_THE_KERNEL) && self.control.seen_stopped(tid)
            }
            _ => false,
        };
        if ours {
            self.seen += 1;
            self.moving.insert(tid);
            let _ = ptrace(libc::PTRACE_INTERRUPT, tid, 0);
            go_on(tid, 0);
        } else {
            go_on(tid, signal);
        }
    }

    fn event_stop(&mut self, tid: i32, signal: i32) {
        let moved = self.moving.remove(&tid);
        if signal != libc::SIGTRAP {
            // Its process was stopped by somebody, as by ^Z: it stays so until it is continued.
            let _ = ptrace(libc::PTRACE_LISTEN, tid, 0);
            let _ = self.told.send(Told::Stopped { tid, signal });
            self.shared.stop.0.ring();
        } else if moved {
            self.running.remove(&tid);
            self.held.push_back(tid);
            self.take_turns();
        } else {
            self.known.insert(tid);
            if self.control.unfollowed() > 0 && self.threads.look(tid).is_err() {
                // A child that the programs had no memory for, and that hasn't done anything yet.
                let _ = self.threads.follow(tid, 1, now());
            }
            go_on(tid, 0);
        }
    }

    /// As soon as several threads wait, each has so many calls before the next.
    fn take_turns(&mut self) {
        let turns = self.held.len() + self.running.len() > 1;
        if turns != self.turns {
            self.turns = turns;
            self.control.turns(if turns { self.turn } else { 0 });
        }
    }

    fn let_some_go(&mut self) {
        if self.shared.gauge.waiting() > self.shared.low {
            return self.rest();
        }
        if self.let_go.elapsed() > PATIENCE {
            self.running.clear();
        }
        while self.running.len() < AT_A_TIME {
            let Some(tid) = self.held.pop_front() else {
                break;
            };
            self.running.insert(tid);
            self.let_go = Instant::now();
            go_on(tid, 0);
        }
        if self.held.is_empty() {
            self.take_turns();
        } else {
            self.rest();
        }
    }

    /// Waits for room, and no longer than that other stops are seen too.
    fn rest(&self) {
        let guard = self
            .shared
            .room
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        self.shared.thirsty.store(true, Ordering::SeqCst);
        let _ = self.shared.room.1.wait_timeout(guard, GLANCE);
        self.shared.thirsty.store(false, Ordering::SeqCst);
    }

    /// Lets go of everything: the rest is done by the kernel as this thread ends, and interrupts no call.
    fn let_all_go(&mut self) {
        let late = Instant::now() + Duration::from_secs(1);
        while !self.known.is_empty()
            && (self.seen < self.control.held() || !self.moving.is_empty())
            && Instant::now() < late
        {
            match wait_for_any(libc::WNOHANG) {
                Ok(Some((tid, seen))) => self.answer(tid, seen),
                Ok(None) => std::thread::sleep(GLANCE),
                Err(_) => break,
            }
        }
        for tid in self.held.drain(..) {
            go_on(tid, 0);
        }
        for tid in &self.known {
            let _ = self.threads.forget(*tid);
        }
        if self.bell > 0 {
            // SAFETY: a child of ours that wasn't waited for: its number is still its own.
            unsafe { libc::kill(self.bell, libc::SIGKILL) };
            // SAFETY: nothing but numbers.
            unsafe { libc::waitpid(self.bell, std::ptr::null_mut(), libc::__WALL) };
        }
    }
}

/// Waits for any thread that this one holds.
fn wait_for_any(flags: i32) -> io::Result<Option<(i32, Seen)>> {
    let mut status = 0;
    // SAFETY: the kernel writes to one variable of ours.
    let tid = unsafe {
        libc::waitpid(
            -1,
            &raw mut status,
            flags | libc::__WALL | libc::__WNOTHREAD,
        )
    };
    match tid {
        0 => Ok(None),
        -1 => {
            let error = io::Error::last_os_error();
            if error.kind() == io::ErrorKind::Interrupted {
                Ok(None)
            } else {
                Err(error)
            }
        }
        _ if libc::WIFSTOPPED(status) => Ok(Some((
            tid,
            Seen::Stopped(libc::WSTOPSIG(status), status >> 16),
        ))),
        _ => Ok(Some((tid, Seen::Gone(status)))),
    }
}

/// What the C libraries take the kinds of requests for.
#[cfg(target_env = "musl")]
type Request = libc::c_int;
#[cfg(not(target_env = "musl"))]
type Request = libc::c_uint;

fn ptrace(request: Request, tid: i32, argument: usize) -> io::Result<()> {
    // SAFETY: the requests that are made here write nothing to our memory.
    let result = unsafe { libc::ptrace(request, tid, 0_usize, argument) };
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// Lets a thread go on, with a signal or without. If it can't, it was killed, and that is seen next.
fn go_on(tid: i32, signal: i32) {
    let _ = ptrace(libc::PTRACE_CONT, tid, signal as usize);
}

/// Where a thread's signal came from.
fn signal_code(tid: i32) -> Option<i32> {
    // SAFETY: all zeroes are a value of this type.
    let mut information: libc::siginfo_t = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes to one variable of ours, of the type that it expects.
    let result =
        unsafe { libc::ptrace(libc::PTRACE_GETSIGINFO, tid, 0_usize, &raw mut information) };
    (result == 0).then_some(information.si_code)
}

/// What came with an event: a thread's number.
fn event_message(tid: i32) -> i32 {
    let mut message: libc::c_ulong = 0;
    // SAFETY: the kernel writes to one variable of ours, of the type that it expects.
    let result = unsafe { libc::ptrace(libc::PTRACE_GETEVENTMSG, tid, 0_usize, &raw mut message) };
    if result == 0 { message as i32 } else { tid }
}

/// Nanoseconds of the monotonic clock.
pub(super) fn now() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
