//! The ptrace engine: needs no privileges, stops a thread twice a call.
//!
//! All waiting events are collected first, then each thread is served once, so that no thread starves. No thread stays stopped,
//! whatever becomes of the tracer, and a program sees no difference but what an injection asks for.

mod cpu_placement;
mod page_cache;
pub(crate) mod successor;
mod syscall_stops;
mod tracee;
mod tracee_lifecycle;
mod unwinder;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use backsight_syscall_decode::{EventKind, SyscallRecord, TraceEvent};
use nix::errno::Errno;
use nix::sys::signal::SigSet;

use crate::clock::now;
use crate::error::TraceError;
use crate::interrupt::Interrupt;
use crate::options::TraceOptions;
use crate::outcome::{CommandExit, TraceOutcome};
use crate::ptrace::command_start::{self, StartedCommand};
use crate::ptrace::requests::{self, ResumeMode, Tid, WaitTarget, option};
use crate::ptrace::seccomp_filter::SeccompFilter;
use crate::ptrace::tracee_status::TraceeStatus;
use cpu_placement::CpuPlacement;
use page_cache::PageCache;
use successor::Successor;
use tracee::Tracee;
use unwinder::StackUnwinder;

/// Between two looks at whether a delay is over or something happened.
const LOOK_AGAIN: Duration = Duration::from_micros(200);

/// After so many times alone somebody else is looked for every [`FEW`] times only.
const OFTEN_ALONE: u32 = 16;
const FEW: u32 = 4;
/// So many threads are many.
const MANY: usize = 32;
/// Where there are many, who makes a thread or a child has a turn after so many others' turns, until it has had so many turns.
/// Otherwise whoever makes hundreds, one after the other, waits for all that are there already, several times for each.
const OTHERS_TURNS: usize = 8;
const MAKERS_TURNS: u32 = 16;

/// Traces what is asked for, and emits events, until everything ended or is detached from.
///
/// Waits for children and tracees of the calling thread: a child of its own that somebody else is to wait for belongs to
/// another thread.
///
/// # Errors
///
/// If nothing is asked for, the command can't be started, a process can't be attached to, or the kernel refuses.
pub fn trace(
    options: &TraceOptions,
    interrupt: &Interrupt,
    emit: &mut dyn FnMut(TraceEvent),
) -> Result<TraceOutcome, TraceError> {
    if options.command.is_none() && options.pids.is_empty() && options.children_of.is_none() {
        return Err(TraceError::Nothing);
    }
    let _waking = interrupt
        .wakes_this_thread()
        .map_err(|errno| refused("wake a thread by a signal", errno))?;
    let mut engine = Engine::new(options, emit);
    let traced = engine
        .begin(interrupt.blocked_before())
        .and_then(|()| engine.run(&|| interrupt.pending_signal(), &|| interrupt.overrule()));
    if traced.is_err() {
        engine.detach_all();
    }
    traced.map(|()| engine.ended)
}

/// Traces a command until it ended or all that is left of it was taken by a successor. The signals of `mask` are blocked in it, if not
/// those of this thread; `interrupted` says by which signal tracing is to end, 0 for none.
///
/// # Errors
///
/// As [`trace`].
pub(crate) fn trace_until_taken(
    options: &TraceOptions,
    mask: Option<SigSet>,
    successor: &mut dyn Successor,
    interrupted: &dyn Fn() -> Option<i32>,
    emit: &mut dyn FnMut(TraceEvent),
) -> Result<TraceOutcome, TraceError> {
    let mut engine = Engine::new(options, emit);
    engine.successor = Some(successor);
    // Nothing has a filter that is to be handed over.
    let traced = engine
        .begin(mask)
        .and_then(|()| engine.run(interrupted, &|| {}));
    if traced.is_err() {
        engine.detach_all();
    }
    traced.map(|()| engine.ended)
}

fn refused(what: &'static str, why: Errno) -> TraceError {
    TraceError::Refused {
        what,
        why: why.into(),
    }
}

struct Engine<'a> {
    options: &'a TraceOptions,
    emit: &'a mut dyn FnMut(TraceEvent),
    tracees: HashMap<Tid, Tracee>,
    /// Threads that showed themselves before who made them did.
    early: HashMap<Tid, i32>,
    /// What happened and wasn't served yet.
    queue: Vec<(Tid, i32)>,
    /// Who made a thread or a child last, and how many turns it still has before others have theirs.
    maker: Option<(Tid, u32)>,
    /// How much had happened at once the last time.
    stopped_before: usize,
    /// How often in a row nothing else had happened.
    alone_for: u32,
    /// Threads that are held for a while.
    held: Vec<Held>,
    pages: PageCache,
    stacks: StackUnwinder,
    placement: CpuPlacement,
    /// The thread whose call was entered last, if nothing else was told since.
    line: Option<Tid>,
    /// The command, until it is executed.
    starting: Option<StartedCommand>,
    command: Option<Tid>,
    /// Whether calls stop only where the filter says so.
    filtered: bool,
    /// Whether tracing was asked to end, and goes on until what has a filter has ended.
    outlasts: bool,
    /// Who takes over, and whether it does by now.
    successor: Option<&'a mut dyn Successor>,
    hands_over: bool,
    ended: TraceOutcome,
}

/// A thread that is held for a while.
struct Held {
    tid: Tid,
    until: Instant,
    signal: i32,
}

/// What becomes of a thread whose stop was served.
enum Next {
    /// It goes on, with a signal if not 0.
    Go(i32),
    /// It stays as it is: gone, or held.
    Stay,
}

impl<'a> Engine<'a> {
    fn new(options: &'a TraceOptions, emit: &'a mut dyn FnMut(TraceEvent)) -> Self {
        Self {
            options,
            emit,
            tracees: HashMap::new(),
            early: HashMap::new(),
            queue: Vec::new(),
            maker: None,
            stopped_before: 0,
            alone_for: 0,
            held: Vec::new(),
            pages: PageCache::default(),
            stacks: StackUnwinder::default(),
            placement: CpuPlacement::new(options.share_processor),
            line: None,
            starting: None,
            command: None,
            filtered: false,
            outlasts: false,
            successor: None,
            hands_over: false,
            ended: TraceOutcome::default(),
        }
    }

    /// Attaches to processes and starts the command.
    fn begin(&mut self, mask: Option<SigSet>) -> Result<(), TraceError> {
        for pid in &self.options.pids {
            match self.attach(*pid) {
                Err(_) if self.options.children_of.is_some() => {}
                attached => attached?,
            }
        }
        if let Some(offspring) = self.options.children_of {
            self.follow_parent(offspring.parent)?;
        }
        let Some(command) = &self.options.command else {
            return Ok(());
        };
        self.filtered = self.may_filter();
        let filter = self
            .filtered
            .then(|| SeccompFilter::new(&self.options.calls));
        let starting =
            command_start::start(command, filter, self.ptrace_options(self.filtered), mask)?;
        let tid = starting.tid;
        self.tracees.insert(tid, Tracee::starting(tid));
        self.command = Some(tid);
        starting.release();
        self.starting = Some(starting);
        self.go(tid, 0);
        Ok(())
    }

    /// Whether the calls that nobody asks for may pass a filter: every process that gets it must be traced and stay so.
    fn may_filter(&self) -> bool {
        let options = self.options;
        options.filter
            && self.successor.is_none()
            && options.follow
            && options.pids.is_empty()
            && options
                .command
                .as_ref()
                .is_some_and(|it| it.waiting_process.is_none())
            && options.limit.is_none()
            && options.detach_on.is_empty()
            && !options.calls.is_all()
    }

    fn ptrace_options(&self, filtered: bool) -> usize {
        let mut flags = option::CALLS_MARKED | option::EXEC;
        if self.options.follows() {
            flags |= option::CHILDREN;
        }
        if filtered {
            flags |= option::FILTER;
        }
        if filtered || self.options.kill_on_exit {
            flags |= option::DIES_WITH_US;
        }
        flags
    }

    /// Traces until all ended or `interrupted` says by which signal it is to end; `overrule` hears that it goes on nevertheless.
    fn run(
        &mut self,
        interrupted: &dyn Fn() -> Option<i32>,
        overrule: &dyn Fn(),
    ) -> Result<(), TraceError> {
        loop {
            if self.tracees.is_empty() && !self.adopt() && !self.expects_parents() {
                return Ok(());
            }
            if let Some(signal) = interrupted() {
                if self.filtered && !self.outlasts {
                    self.outlasts = true;
                    overrule();
                    self.pass_to_command(signal);
                } else {
                    self.end_by(signal);
                    return Ok(());
                }
            }
            if self.is_at_limit() {
                self.detach_all();
                return Ok(());
            }
            self.collect()?;
            self.let_go();
            self.look_for_successor();
            let mut queue = std::mem::take(&mut self.queue);
            self.favour_maker(&mut queue);
            for (turn, (tid, status)) in queue.drain(..).enumerate() {
                self.serve(tid, status);
                if turn % OTHERS_TURNS == OTHERS_TURNS - 1 {
                    self.serve_maker();
                }
            }
            self.queue = queue;
            if let Some(starting) = self
                .starting
                .take_if(|it| !self.tracees.contains_key(&it.tid))
            {
                return Err(starting.failure());
            }
        }
    }

    fn is_at_limit(&self) -> bool {
        self.options
            .limit
            .is_some_and(|limit| self.ended.calls >= limit)
    }

    /// Fills the queue with all that happened; waits if nothing has.
    fn collect(&mut self) -> Result<(), TraceError> {
        let others_wait = self.successor.as_ref().is_some_and(|it| it.holds());
        let block = self.held.is_empty() && !others_wait;
        match self.wait(WaitTarget::Any, block) {
            Ok(Some(happened)) => self.queue.push(happened),
            Ok(None) if others_wait => {
                self.with_successor(|it| it.let_some_go());
                return Ok(());
            }
            Ok(None) => {
                std::thread::sleep(LOOK_AGAIN);
                return Ok(());
            }
            Err(Errno::EINTR) => return Ok(()),
            // Somebody else waited for them.
            Err(Errno::ECHILD) => {
                self.tracees.clear();
                self.early.clear();
                return Ok(());
            }
            Err(errno) => return Err(refused("wait for what is traced", errno)),
        }
        // With one thread nothing else can have happened. Where nothing else had for a while, it is looked every few times
        // only: whoever comes then waits for no more than these.
        if self.tracees.len() > 1 {
            self.alone_for = self.alone_for.wrapping_add(1);
            if self.alone_for < OFTEN_ALONE || self.alone_for.is_multiple_of(FEW) {
                self.drain();
            }
        }
        Ok(())
    }

    fn wait(&mut self, who: WaitTarget, block: bool) -> Result<Option<(Tid, i32)>, Errno> {
        if !self.options.work {
            return requests::wait(who, block);
        }
        let happened = requests::wait_with_work(who, block)?;
        Ok(happened.map(|(tid, status, worked)| {
            if let Some(tracee) = self.tracees.get_mut(&tid) {
                tracee.worked = worked;
            }
            (tid, status)
        }))
    }

    /// Adds everything else that happened to the queue. To ask for anybody, the kernel looks through all that don't run or
    /// do; where most of many have stopped it is quicker to ask for one after the other.
    fn drain(&mut self) {
        if self.tracees.len() >= MANY && self.stopped_before * 4 >= self.tracees.len() {
            let first = self.queue.first().map(|(tid, _)| *tid);
            let others = self.tracees.keys().filter(|tid| Some(**tid) != first);
            let others: Vec<Tid> = others.copied().collect();
            for tid in others {
                if let Ok(Some(happened)) = self.wait(WaitTarget::One(tid), false) {
                    self.queue.push(happened);
                }
            }
        }
        while let Ok(Some(happened)) = self.wait(WaitTarget::Any, false) {
            self.queue.push(happened);
        }
        self.stopped_before = self.queue.len();
        if self.queue.len() > 1 {
            self.alone_for = 0;
        }
    }

    /// Puts who makes threads or children before all others.
    fn favour_maker(&self, queue: &mut [(Tid, i32)]) {
        let place = |maker: Tid| queue.iter().position(|(tid, _)| *tid == maker);
        if let Some(place) = self.maker.and_then(|(maker, _)| place(maker)) {
            queue[..=place].rotate_right(1);
        }
    }

    /// Serves who makes threads or children, if it has stopped again.
    fn serve_maker(&mut self) {
        let Some((tid, turns)) = self.maker else {
            return;
        };
        match self.wait(WaitTarget::One(tid), false) {
            Ok(None) => {}
            Ok(Some((tid, status))) => {
                self.maker = (turns > 1).then_some((tid, turns - 1));
                self.serve(tid, status);
            }
            // It is gone.
            Err(_) => self.maker = None,
        }
    }

    /// Serves one thing that happened.
    fn serve(&mut self, tid: Tid, status: i32) {
        let halt = TraceeStatus::from_wait_status(status);
        if self.successor.is_some() && self.is_successors(tid, halt) {
            return;
        }
        if !self.tracees.contains_key(&tid) {
            if self.options.follows() {
                self.early.insert(tid, status);
            } else {
                self.pass_stranger(tid, halt.is_end());
            }
            return;
        }
        let next = match halt {
            TraceeStatus::Call => self.call(tid),
            TraceeStatus::Filtered => self.filtered_call(tid),
            TraceeStatus::Signal(signal) => self.signal(tid, signal),
            TraceeStatus::Group(signal) => self.stopped(tid, signal),
            TraceeStatus::Child => self.child(tid),
            TraceeStatus::Exec => self.exec(tid),
            TraceeStatus::Trap | TraceeStatus::Other => Next::Go(0),
            TraceeStatus::Exited(_) | TraceeStatus::Killed(..) => self.gone(tid, halt),
        };
        if let Next::Go(signal) = next {
            self.go(tid, signal);
        }
    }

    /// Lets a stopped thread go on.
    fn go(&mut self, tid: Tid, signal: i32) {
        let Some(tracee) = self.tracees.get(&tid) else {
            return;
        };
        let passes = tracee.passing || (self.filtered && tracee.call.is_none());
        let how = if passes {
            ResumeMode::On
        } else {
            ResumeMode::ToCall
        };
        // A thread that was killed meanwhile tells so by its end.
        let _killed = requests::resume(tid, how, signal);
    }

    /// Holds a stopped thread for a while.
    fn hold(&mut self, tid: Tid, how_long: Duration, signal: i32) -> Next {
        self.held.push(Held {
            tid,
            until: Instant::now() + how_long,
            signal,
        });
        Next::Stay
    }

    /// Lets go on who was held long enough.
    fn let_go(&mut self) {
        if self.held.is_empty() {
            return;
        }
        let now = Instant::now();
        let over: Vec<Held> = self.held.extract_if(.., |held| held.until <= now).collect();
        for held in over {
            self.go(held.tid, held.signal);
        }
    }

    fn signal(&mut self, tid: Tid, signal: i32) -> Next {
        let reported = self.options.signals.contains(signal);
        if reported && let Some(pid) = self.speaks(tid) {
            let info = requests::signal_info(tid).unwrap_or_default();
            let asks = self.options.instructions;
            let instruction = asks.then(|| requests::instruction(tid).ok()).flatten();
            self.emit_event(
                pid,
                tid,
                EventKind::Signal {
                    number: signal,
                    info,
                    instruction,
                },
            );
            let frames = self.frames(pid, tid);
            self.emit_stack(pid, tid, frames);
        }
        Next::Go(signal)
    }

    /// Job control stopped a thread: it stays so until job control lets it go on.
    fn stopped(&mut self, tid: Tid, signal: i32) -> Next {
        if let Some(pid) = self.speaks(tid) {
            self.emit_event(pid, tid, EventKind::Stopped { signal });
        }
        match requests::listen(tid) {
            Ok(()) => Next::Stay,
            Err(_) => Next::Go(0),
        }
    }

    /// The process of a thread, if what it does is told.
    fn speaks(&self, tid: Tid) -> Option<i32> {
        let tracee = self.tracees.get(&tid)?;
        (!tracee.quiet).then_some(tracee.pid)
    }

    /// Emits an event of a thread.
    fn emit_event(&mut self, pid: i32, tid: Tid, what: EventKind) {
        self.finish_line(tid);
        (self.emit)(TraceEvent {
            pid,
            tid,
            at: now(),
            kind: what,
        });
    }

    /// Before something is told of a thread: another's call that was to be told on the same line is told as pending.
    fn finish_line(&mut self, tid: Tid) {
        if self.line == Some(tid) {
            self.line = None;
        } else {
            self.break_line();
        }
    }

    /// Remembers that a call was entered last, if those are told that something comes between.
    fn begin_line(&mut self, tid: Tid, open: &tracee::OngoingCall) {
        // Whether a call is told is known only at its end, if that depends on how it ends.
        if open.reported && self.options.pending && self.options.statuses.is_all() {
            self.break_line();
            self.line = Some(tid);
        }
    }

    /// Emits the call that was entered last as pending, if no other event followed.
    fn break_line(&mut self) {
        let Some(other) = self.line.take() else {
            return;
        };
        let Some(tracee) = self.tracees.get(&other) else {
            return;
        };
        if let Some(open) = &tracee.call {
            let call = open.call.clone();
            self.emit_pending(other, call);
        }
    }

    /// Emits a call as pending.
    fn emit_pending(&mut self, tid: Tid, call: SyscallRecord) {
        self.finish_line(tid);
        if let Some(tracee) = self.tracees.get_mut(&tid) {
            if let Some(open) = &mut tracee.call {
                open.pending = true;
            }
            (self.emit)(TraceEvent {
                pid: tracee.pid,
                tid,
                at: now(),
                kind: EventKind::Pending(call),
            });
        }
    }

    fn finish(&mut self, tid: Tid, finish: CommandExit) {
        if self.command == Some(tid) {
            self.ended.command = Some(finish);
        }
    }
}
