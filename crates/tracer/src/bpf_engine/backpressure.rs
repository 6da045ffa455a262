//! Backpressure: holds the traced tree with ptrace, so that threads which stop because the ring fills up are resumed in turn, and
//! so that nobody else sees those stops.
//!
//! It runs in a thread of its own, since the kernel takes ptrace's requests only from the thread that attached; when that thread
//! ends, however it does, the kernel lets everything go. A thread that stopped by its signal is moved to a stop that leaves no
//! trace if the tracer is killed. There are no stops at system calls.

use std::collections::{HashSet, VecDeque};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use backsight_syscall_decode::{SyscallRecord, SyscallSet, TraceEvent};
use nix::errno::Errno;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::Pid;
use rustix::pipe::{PipeFlags, pipe_with};

use super::programs::{ControlPage, hold_at};
use super::records::state;
use super::ring_buffer::RingBuffer;
use super::task_storage::TaskStorage;
use super::{ReaderWakeup, refused, stop_guard};
use crate::call_under_way::call_under_way;
use crate::clock::now;
use crate::command::TracedCommand;
use crate::error::TraceError;
use crate::first_thread;
use crate::interrupt;
use crate::options::{ChildSelection, TraceOptions};
use crate::outcome::CommandExit;
use crate::ptrace::command_start::{self, StartedCommand};
use crate::ptrace::requests::{self, ResumeMode, Tid, WaitTarget, option};
use crate::ptrace::tracee_status::TraceeStatus;

/// What is to be begun.
#[derive(Debug)]
pub(super) struct StartRequest {
    pub options: TraceOptions,
    /// The signals that a command is to have blocked, if not those of this thread.
    pub mask: Option<SigSet>,
}

/// What the backpressure thread saw that no record tells.
#[derive(Debug)]
pub(super) enum TraceeReport {
    /// Something happened to a thread that stops at its calls.
    Event(Box<TraceEvent>),
    /// There is a thread that stops at its calls.
    Stopping { pid: i32, tid: i32 },
    /// Such a thread is gone; `replaced` if another one of its process has its number now.
    Gone { pid: i32, tid: i32, replaced: bool },
    /// Such a thread has the number now that a first thread had which didn't.
    Executed { tid: i32, before: i32 },
    /// A thread was attached to.
    Attached { pid: i32, tid: i32 },
    /// The call that a thread was in as it was attached to.
    Within(Box<(i32, i32, SyscallRecord)>),
    /// A thread's process was stopped by this signal, at this time.
    Stopped { tid: i32, signal: i32, at: u64 },
}

impl TraceeReport {
    /// Whether it happened before this.
    pub fn is_before(&self, at: u64) -> bool {
        match self {
            Self::Attached { .. }
            | Self::Within(_)
            | Self::Stopping { .. }
            | Self::Gone { .. }
            | Self::Executed { .. } => true,
            Self::Event(event) => event.at < at,
            Self::Stopped { at: stopped, .. } => *stopped < at,
        }
    }
}

/// The side of it that the reader of the ring sees.
pub(super) struct Backpressure {
    /// Its other end goes when the thread is done with it.
    ended: Receiver<()>,
    reports: Receiver<TraceeReport>,
    shared: Arc<BackpressureState>,
    /// How full the ring is, and how full it may be for threads to go on.
    gauge: Option<(RingBuffer, u64)>,
    /// The bell's other end is the small process's.
    bell: Mutex<Option<OwnedFd>>,
}

/// What it needs of the programs.
pub(super) struct FollowedThreads {
    threads: TaskStorage,
    control: Arc<ControlPage>,
    gauge: RingBuffer,
    ring: u32,
}

impl FollowedThreads {
    /// What it needs of programs that write into a ring of so many bytes.
    pub fn new(
        threads: TaskStorage,
        control: Arc<ControlPage>,
        gauge: RingBuffer,
        ring: u32,
    ) -> Self {
        Self {
            threads,
            control,
            gauge,
            ring,
        }
    }

    /// Bytes in the ring below which threads may go on.
    fn low(&self) -> u64 {
        hold_at(self.ring) / 2
    }
}

/// What both sides use.
#[derive(Debug)]
pub(super) struct BackpressureState {
    /// The backpressure thread waits for room.
    thirsty: AtomicBool,
    room: (Mutex<()>, Condvar),
    /// Everything is to be let go, and the command is to have this signal, if not 0.
    release: AtomicBool,
    signal: AtomicI32,
    /// The thread that has to be woken for this by a signal, if not 0.
    to_wake: AtomicI32,
    /// The backpressure thread saw something.
    has_reports: AtomicBool,
    /// How many events of threads that stop at their calls wait for the reader.
    events_waiting: AtomicUsize,
    done: AtomicBool,
    /// How the command ended, or why it wasn't started.
    pub(super) finish: Mutex<Option<Result<CommandExit, TraceError>>>,
    /// Wakes who reads the ring.
    pub(super) reader: Arc<ReaderWakeup>,
}

impl BackpressureState {
    pub fn new(reader: Arc<ReaderWakeup>) -> Self {
        Self {
            thirsty: AtomicBool::new(false),
            room: (Mutex::new(()), Condvar::new()),
            release: AtomicBool::new(false),
            signal: AtomicI32::new(0),
            to_wake: AtomicI32::new(0),
            has_reports: AtomicBool::new(false),
            events_waiting: AtomicUsize::new(0),
            done: AtomicBool::new(false),
            finish: Mutex::new(None),
            reader,
        }
    }
}

/// Tells the reader's side what was seen.
#[derive(Debug, Clone)]
pub(super) struct ReportSender {
    reports: Sender<TraceeReport>,
    shared: Arc<BackpressureState>,
}

impl ReportSender {
    pub fn send(&self, report: TraceeReport) {
        // If nobody listens any longer, nobody wants to know.
        let _ = self.reports.send(report);
        self.shared.has_reports.store(true, Ordering::SeqCst);
    }

    /// Says which thread has to be woken by a signal when everything is to be let go; 0 for none.
    pub fn wakes(&self, tid: Tid) {
        self.shared.to_wake.store(tid, Ordering::SeqCst);
    }

    /// The signal by which the command is to end, or 0, once everything is to be let go. Whoever asks has been woken.
    pub fn seen_released(&self) -> Option<i32> {
        if !self.shared.release.load(Ordering::SeqCst) {
            return None;
        }
        self.wakes(0);
        Some(self.shared.signal.load(Ordering::SeqCst))
    }

    /// Sends an event of a thread that stops at its calls. Where the reader is far behind, all of them wait for it.
    pub fn send_event(&self, event: TraceEvent) {
        let waiting = &self.shared.events_waiting;
        while waiting.load(Ordering::Relaxed) >= MOST_EVENTS
            && !self.shared.release.load(Ordering::SeqCst)
        {
            self.shared.reader.ring();
            std::thread::sleep(GLANCE);
        }
        waiting.fetch_add(1, Ordering::Relaxed);
        self.send(TraceeReport::Event(Box::new(event)));
    }
}

/// So many events wait for the reader at most.
const MOST_EVENTS: usize = 1 << 16;
/// How many threads that were stopped go on at a time.
const AT_A_TIME: usize = 8;
/// About what a record takes in the ring, to say how many calls a turn may have.
const RECORD: u64 = 160;
/// A thread that was let go on and isn't seen for so long has nothing to tell: others may go on.
const PATIENCE: Duration = Duration::from_millis(1);
/// How long the backpressure thread looks away while threads wait for room.
const GLANCE: Duration = Duration::from_micros(100);

impl Backpressure {
    /// Starts the command, or attaches to what runs.
    pub fn start(
        begin: StartRequest,
        followed: FollowedThreads,
        reader: Arc<ReaderWakeup>,
    ) -> Result<Self, TraceError> {
        let shared = Arc::new(BackpressureState::new(reader));
        let gauge = (followed.gauge.clone(), followed.low());
        let (bell_in, bell) = pipe_with(PipeFlags::CLOEXEC).map_err(refused("make a pipe"))?;
        let mut backpressure = Self::spawn(shared, move |reports, ready| {
            let mut hold = Hold::new(&begin.options, followed, reports);
            let begun = hold.begin(&begin, &bell_in);
            drop(bell_in);
            let goes = begun.is_ok();
            let _ = ready.send(begun);
            if goes {
                hold.keep();
            } else {
                hold.dismiss();
            }
        })?;
        backpressure.gauge = Some(gauge);
        *held(&backpressure.bell) = Some(bell);
        Ok(backpressure)
    }

    /// Both ends of what the tracer's thread tells the reader's.
    pub(super) fn channel(shared: Arc<BackpressureState>) -> (Self, TracerSide) {
        let (sender, reports) = mpsc::channel();
        let (ends, ended) = mpsc::channel();
        let tracer = TracerSide {
            reports: ReportSender {
                reports: sender,
                shared: Arc::clone(&shared),
            },
            _done: Done(Arc::clone(&shared)),
            _ends: ends,
        };
        let reader = Self {
            ended,
            reports,
            shared,
            gauge: None,
            bell: Mutex::new(None),
        };
        (reader, tracer)
    }

    /// Starts the thread that does it; `work` says by its sender whether it has begun.
    fn spawn(
        shared: Arc<BackpressureState>,
        work: impl FnOnce(ReportSender, Sender<Result<(), TraceError>>) + Send + 'static,
    ) -> Result<Self, TraceError> {
        let (backpressure, tracer) = Self::channel(shared);
        let (ready, begun) = mpsc::channel();
        let job: first_thread::Job = Box::new(move || work(tracer.reports().clone(), ready));
        if let Err(job) = first_thread::run_on_first_thread(job) {
            std::thread::Builder::new()
                .name("backpressure".into())
                .spawn(job)
                .map_err(refused("start a thread"))?;
        }
        let begun = begun.recv().unwrap_or_else(|_| {
            let why = io::Error::other("the thread that does it ended");
            Err(refused("hold what is traced")(why))
        });
        begun.map(|()| backpressure)
    }

    /// Says by what the room in the ring is seen, and whose end says that everything is to be let go, where that wasn't known
    /// when it was started.
    pub(super) fn join_ring(&mut self, followed: &FollowedThreads, bell: OwnedFd) {
        self.gauge = Some((followed.gauge.clone(), followed.low()));
        *held(&self.bell) = Some(bell);
    }

    /// What was seen since the last time.
    pub fn reports(&self) -> impl Iterator<Item = TraceeReport> {
        self.shared.has_reports.store(false, Ordering::SeqCst);
        self.reports.try_iter().inspect(|report| {
            if matches!(report, TraceeReport::Event(_)) {
                self.shared.events_waiting.fetch_sub(1, Ordering::Relaxed);
            }
        })
    }

    /// Whether something was seen since the last time.
    pub fn has_reports(&self) -> bool {
        self.shared.has_reports.load(Ordering::Relaxed)
    }

    /// Says that the ring has more room.
    pub fn wake_waiting(&self) {
        let has_room = |(gauge, low): &(RingBuffer, u64)| gauge.waiting() <= *low;
        if self.shared.thirsty.load(Ordering::SeqCst) && self.gauge.as_ref().is_some_and(has_room) {
            let _guard = held(&self.shared.room.0);
            self.shared.room.1.notify_one();
        }
    }

    /// Has everything let go, and the command end by this signal, if not 0. The programs must have been detached before.
    pub fn release(&self, signal: i32) {
        self.shared.signal.store(signal, Ordering::SeqCst);
        self.shared.release.store(true, Ordering::SeqCst);
        held(&self.bell).take();
        loop {
            let tid = self.shared.to_wake.load(Ordering::SeqCst);
            if tid == 0 || self.is_done() {
                break;
            }
            interrupt::wake_thread(tid);
            std::thread::sleep(GLANCE);
        }
    }

    /// Whether nothing is traced any longer.
    pub fn is_done(&self) -> bool {
        self.shared.done.load(Ordering::SeqCst)
    }

    /// How the command ended; nothing if none did.
    pub fn finish(&self) -> Result<Option<CommandExit>, TraceError> {
        held(&self.shared.finish).take().transpose()
    }
}

impl Drop for Backpressure {
    fn drop(&mut self) {
        self.release(0);
        // It ends within a bounded time; a panic there was told by the runtime.
        let _ends = self.ended.recv();
    }
}

/// What the tracer's thread has; with it goes what is traced.
#[derive(Debug)]
pub(super) struct TracerSide {
    reports: ReportSender,
    _done: Done,
    _ends: Sender<()>,
}

impl TracerSide {
    /// Where its reports go.
    pub fn reports(&self) -> &ReportSender {
        &self.reports
    }
}

/// Says when it goes that nothing is traced any longer.
#[derive(Debug)]
struct Done(Arc<BackpressureState>);

impl Drop for Done {
    fn drop(&mut self) {
        self.0.done.store(true, Ordering::SeqCst);
        self.0.reader.ring();
    }
}

/// What a lock protects, whatever became of who held it.
pub(super) fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The backpressure thread's own side.
pub(super) struct Hold {
    follow: bool,
    offspring: Option<ChildSelection>,
    threads: TaskStorage,
    control: Arc<ControlPage>,
    gauge: RingBuffer,
    /// Bytes in the ring below which threads may go on.
    low: u64,
    reports: ReportSender,
    /// The calls that are told of threads that wait in them as they are attached to, if any are.
    under_way: Option<SyscallSet>,
    /// Threads that are held with ptrace.
    known: HashSet<i32>,
    /// Threads that were seen before it was said that they are there; they may have ended since.
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
    command: Option<Tid>,
    /// The command, until it is executed.
    starting: Option<StartedCommand>,
    /// The small process that ends when everything is to be let go.
    bell: Tid,
    /// Stops that threads asked for and that came.
    seen: u64,
}

impl Hold {
    pub fn new(options: &TraceOptions, followed: FollowedThreads, reports: ReportSender) -> Self {
        let low = followed.low();
        let turn = (low / (AT_A_TIME as u64 * RECORD)).clamp(1, 512);
        Self {
            follow: options.follows(),
            offspring: options.children_of,
            threads: followed.threads,
            control: followed.control,
            gauge: followed.gauge,
            low,
            reports,
            under_way: options.tells_pending().then(|| options.calls.clone()),
            known: HashSet::new(),
            strangers: HashSet::new(),
            moving: HashSet::new(),
            held: VecDeque::new(),
            running: HashSet::new(),
            let_go: Instant::now(),
            turn: u32::try_from(turn).unwrap_or(1),
            turns: false,
            command: None,
            starting: None,
            bell: 0,
            seen: 0,
        }
    }

    /// Starts the small process whose end says that everything is to be let go: waiting for threads can't be interrupted
    /// otherwise.
    pub fn start_guard(&mut self, bell: &OwnedFd) -> io::Result<()> {
        self.bell = stop_guard::start(bell, &self.control)?;
        Ok(())
    }

    /// Takes over a thread that stands at the end of a call, and lets it go on.
    pub fn take(&mut self, tid: Tid, is_command: bool) -> io::Result<()> {
        self.threads.follow(tid, state::OUTSIDE, now())?;
        self.known.insert(tid);
        if is_command {
            self.command = Some(tid);
        }
        go_on(tid, 0);
        Ok(())
    }

    /// The command's end is that of this process.
    pub fn note_command(&mut self, tid: Tid) {
        self.command = Some(tid);
    }

    /// Takes over a thread that is followed already, and answers its stop.
    pub fn take_followed(&mut self, tid: Tid, halt: TraceeStatus) -> bool {
        let followed = self.threads.get(tid).is_ok();
        if followed {
            self.known.insert(tid);
            self.answer(tid, halt);
        }
        followed
    }

    /// Whether it holds this thread, or this is the small process.
    pub fn has(&self, tid: Tid) -> bool {
        self.known.contains(&tid) || tid == self.bell
    }

    /// Whether threads wait for room.
    pub fn has_waiting(&self) -> bool {
        !self.held.is_empty()
    }

    /// Attaches to what is traced.
    fn begin(&mut self, begin: &StartRequest, bell: &OwnedFd) -> Result<(), TraceError> {
        self.start_guard(bell).map_err(refused("start a process"))?;
        if let Some(command) = &begin.options.command {
            return self.command(command, begin.mask);
        }
        for pid in &begin.options.pids {
            match self.running(*pid) {
                Err(_) if self.offspring.is_some() => {}
                attached => attached?,
            }
        }
        self.offspring
            .map_or(Ok(()), |offspring| self.parent(offspring.parent))
    }

    fn command(&mut self, command: &TracedCommand, mask: Option<SigSet>) -> Result<(), TraceError> {
        let starting = command_start::start(command, None, self.ptrace_options(), mask)?;
        let tid = starting.tid;
        self.known.insert(tid);
        self.threads
            .follow_command(tid, now())
            .map_err(|why| TraceError::NotAttached { pid: tid, why })?;
        self.command = Some(tid);
        starting.release();
        self.starting = Some(starting);
        go_on(tid, 0);
        Ok(())
    }

    fn running(&mut self, pid: i32) -> Result<(), TraceError> {
        let attach = |why| TraceError::NotAttached { pid, why };
        if !self.follow {
            self.seize(pid, state::JOINED).map_err(attach)?;
            self.joined(pid, pid);
            return Ok(());
        }
        // Threads may be made while others are attached to, until a look finds none that is new. The first comes last: how many
        // others there are is known then.
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
                if tid == pid || self.known.contains(&tid) {
                    continue;
                }
                match self.seize(tid, state::JOINED) {
                    // A thread that ended meanwhile, or one that was followed from its start.
                    Err(error) if error.raw_os_error() != Some(libc::EACCES) => {}
                    Err(error) => return Err(attach(error)),
                    Ok(()) => self.joined(pid, tid),
                }
            }
            if self.known.len() > before {
                continue;
            }
            if self.known.contains(&pid) {
                return Ok(());
            }
            self.seize(pid, state::JOINED).map_err(attach)?;
            self.joined(pid, pid);
        }
    }

    /// Tells that a thread was attached to, and the call that it waits in: it may be long until that comes back.
    fn joined(&mut self, pid: i32, tid: i32) {
        self.report(TraceeReport::Attached { pid, tid });
        if let Some(wanted) = &self.under_way
            && let Some(call) = call_under_way(tid)
            && wanted.contains(call.abi, call.number)
        {
            self.report(TraceeReport::Within(Box::new((pid, tid, call))));
        }
    }

    /// Follows a process for its children's sake: it stops where it makes one, and none of its calls is told.
    fn parent(&mut self, pid: i32) -> Result<(), TraceError> {
        let attach = |why| TraceError::NotAttached { pid, why };
        loop {
            let before = self.known.len();
            for entry in std::fs::read_dir(format!("/proc/{pid}/task")).map_err(attach)? {
                let name = entry.map_err(attach)?.file_name();
                let Some(tid) = name.to_str().and_then(|name| name.parse().ok()) else {
                    continue;
                };
                if self.known.contains(&tid) {
                    continue;
                }
                match self.hold(tid) {
                    Err(error) if tid == pid => return Err(attach(error)),
                    // A thread that ended meanwhile, or one that was followed from its start.
                    _ => {}
                }
            }
            if self.known.len() == before {
                self.report(TraceeReport::Attached { pid, tid: pid });
                return Ok(());
            }
        }
    }

    fn report(&self, report: TraceeReport) {
        self.reports.send(report);
    }

    fn shared(&self) -> &BackpressureState {
        &self.reports.shared
    }

    fn seize(&mut self, tid: i32, state: u32) -> io::Result<()> {
        self.hold(tid)?;
        self.threads.follow(tid, state, now())
    }

    fn hold(&mut self, tid: i32) -> io::Result<()> {
        requests::seize(tid, self.ptrace_options())?;
        self.known.insert(tid);
        Ok(())
    }

    fn ptrace_options(&self) -> usize {
        option::EXEC | if self.follow { option::CHILDREN } else { 0 }
    }

    /// Answers stops until nothing is left to be held.
    pub fn keep(&mut self) {
        while !self.known.is_empty() && !self.shared().release.load(Ordering::SeqCst) {
            match requests::wait(WaitTarget::Any, self.held.is_empty()) {
                Ok(Some((tid, status))) => self.answer(tid, TraceeStatus::from_wait_status(status)),
                Ok(None) => self.let_some_go(),
                Err(Errno::EINTR) => {}
                Err(_) => break,
            }
        }
        self.let_all_go();
    }

    pub fn answer(&mut self, tid: Tid, halt: TraceeStatus) {
        if tid == self.bell {
            self.bell = 0;
            return;
        }
        match halt {
            TraceeStatus::Exited(status) => self.gone(tid, CommandExit::Exited(status)),
            TraceeStatus::Killed(signal, _) => self.gone(tid, CommandExit::Killed(signal)),
            TraceeStatus::Signal(signal) => self.signal(tid, signal),
            TraceeStatus::Trap => self.trapped(tid),
            TraceeStatus::Group(signal) => self.stopped(tid, signal),
            TraceeStatus::Exec => {
                // The thread has its process's number now, and what had it before is gone without a word.
                let before = event_message(tid);
                if before != tid {
                    self.forget(before);
                    self.known.insert(tid);
                }
                if self.command == Some(tid) {
                    self.starting = None;
                }
                self.executed(tid);
            }
            TraceeStatus::Child => {
                // It comes with a stop of its own, which may come first, and so may its end and its being let go.
                let child = event_message(tid);
                if !self.strangers.remove(&child) {
                    self.known.insert(child);
                }
                go_on(tid, 0);
            }
            TraceeStatus::Call | TraceeStatus::Filtered | TraceeStatus::Other => go_on(tid, 0),
        }
    }

    /// A process became another program. One that isn't followed yet was made by somebody who is followed for its
    /// children's sake: now it is, or is let go.
    fn executed(&mut self, tid: Tid) {
        let strange = |it: &ChildSelection| it.parent != tid && self.threads.get(tid).is_err();
        let Some(offspring) = self.offspring.filter(strange) else {
            return go_on(tid, 0);
        };
        if !(offspring.accepts)(tid) {
            self.forget(tid);
            // If it was killed meanwhile there is nothing to let go.
            let _ = requests::detach(tid, 0);
            return;
        }
        // The call that it is in was made before it was itself.
        if self.threads.follow(tid, state::UNTOLD, now()).is_ok() {
            self.report(TraceeReport::Attached { pid: tid, tid });
        }
        go_on(tid, 0);
    }

    pub fn forget(&mut self, tid: i32) {
        self.known.remove(&tid);
        self.moving.remove(&tid);
        self.running.remove(&tid);
        self.held.retain(|held| *held != tid);
    }

    fn gone(&mut self, tid: Tid, finish: CommandExit) {
        if !self.known.contains(&tid) {
            self.strangers.insert(tid);
        }
        self.forget(tid);
        if self.command == Some(tid) {
            let starting = self.starting.take();
            let finish = starting.map_or(Ok(finish), |starting| Err(starting.failure()));
            *held(&self.shared().finish) = Some(finish);
        }
    }

    /// A thread stopped, of which it may not have been said yet that it is there.
    fn met(&mut self, tid: i32) {
        if self.known.insert(tid) {
            self.strangers.insert(tid);
        }
    }

    fn signal(&mut self, tid: i32, signal: i32) {
        const OF_THE_KERNEL: i32 = 0x80;
        self.met(tid);
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
            let _killed = requests::interrupt(tid);
            go_on(tid, 0);
        } else {
            go_on(tid, signal);
        }
    }

    /// Its process was stopped by somebody, as by ^Z: it stays so until it is continued.
    fn stopped(&mut self, tid: Tid, signal: i32) {
        self.moving.remove(&tid);
        let _killed = requests::listen(tid);
        let at = now();
        self.report(TraceeReport::Stopped { tid, signal, at });
        self.shared().reader.ring();
    }

    fn trapped(&mut self, tid: Tid) {
        if self.moving.remove(&tid) {
            self.running.remove(&tid);
            self.held.push_back(tid);
            self.take_turns();
        } else {
            self.met(tid);
            let followed_later = self.offspring.is_some();
            if self.control.unfollowed_children() > 0
                && !followed_later
                && self.threads.get(tid).is_err()
            {
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

    pub fn let_some_go(&mut self) {
        if self.gauge.waiting() > self.low {
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
        let shared = self.shared();
        let guard = held(&shared.room.0);
        shared.thirsty.store(true, Ordering::SeqCst);
        let _ = shared.room.1.wait_timeout(guard, GLANCE);
        shared.thirsty.store(false, Ordering::SeqCst);
    }

    /// Lets go of everything: the rest is done by the kernel as this thread ends, and interrupts no call.
    fn let_all_go(&mut self) {
        let late = Instant::now() + Duration::from_secs(1);
        while !self.known.is_empty()
            && (self.seen < self.control.backpressure_stops() || !self.moving.is_empty())
            && Instant::now() < late
        {
            match requests::wait(WaitTarget::Any, false) {
                Ok(Some((tid, status))) => self.answer(tid, TraceeStatus::from_wait_status(status)),
                Ok(None) | Err(Errno::EINTR) => std::thread::sleep(GLANCE),
                Err(_) => break,
            }
        }
        for tid in self.held.drain(..) {
            go_on(tid, 0);
        }
        for tid in &self.known {
            let _ = self.threads.forget(*tid);
        }
        self.end_command();
        self.dismiss();
    }

    /// Ends the small process, which otherwise would look after what we leave.
    pub fn dismiss(&mut self) {
        if self.bell > 0 {
            let _gone = kill(Pid::from_raw(self.bell), Signal::SIGKILL);
            let _reaped = requests::wait_for(self.bell);
            self.bell = 0;
        }
    }

    /// Has the command end as we were asked to: it isn't waited for yet, so that its number is still its own.
    fn end_command(&self) {
        let signal = self.shared().signal.load(Ordering::SeqCst);
        if let (Some(command), Ok(signal)) = (self.command, Signal::try_from(signal))
            && self.known.contains(&command)
        {
            let command = Pid::from_raw(command);
            let _gone = kill(command, Signal::SIGCONT);
            let _gone = kill(command, signal);
        }
    }
}

/// Lets a thread go on, with a signal or without. If it can't, it was killed, and that is seen next.
fn go_on(tid: Tid, signal: i32) {
    let _killed = requests::resume(tid, ResumeMode::On, signal);
}

/// Where a thread's signal came from.
fn signal_code(tid: Tid) -> Option<i32> {
    /// Where it stands in a `siginfo`.
    const CODE: std::ops::Range<usize> = 8..12;
    let info = requests::signal_info(tid).ok()?;
    Some(i32::from_ne_bytes(info.get(CODE)?.try_into().ok()?))
}

/// What came with an event: a thread's number.
fn event_message(tid: Tid) -> Tid {
    let message = requests::event_message(tid).ok();
    message
        .and_then(|other| Tid::try_from(other).ok())
        .unwrap_or(tid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_syscall_decode::EventKind;

    #[test]
    fn threads_that_stop_at_their_calls_wait_for_a_reader_that_is_far_behind() {
        let shared = Arc::new(BackpressureState::new(Arc::new(
            ReaderWakeup::new().unwrap(),
        )));
        let state = Arc::clone(&shared);
        let backpressure = Backpressure::spawn(shared, |reports, ready| {
            ready.send(Ok(())).unwrap();
            for number in 0..MOST_EVENTS + 10 {
                reports.send_event(TraceEvent {
                    pid: 1,
                    tid: 1,
                    at: number as u64,
                    kind: EventKind::Detached,
                });
            }
        })
        .unwrap();
        while state.events_waiting.load(Ordering::SeqCst) < MOST_EVENTS {
            std::thread::yield_now();
        }
        assert!(!backpressure.is_done());
        let mut taken = 0;
        while taken < MOST_EVENTS + 10 {
            taken += backpressure.reports().count();
        }
        assert_eq!(state.events_waiting.load(Ordering::SeqCst), 0);
    }
}
