//! Relay: a command begins under the ptrace engine, at once, and goes on under the programs as soon as they are loaded, if it makes
//! so many calls that this pays.
//!
//! The caller's thread runs the ptrace engine and emits what that sees: for a short command that is all. Once programs pay, a
//! reader's thread emits instead, and has them loaded and attached. From then on each thread is taken at the end of a call. A
//! command that ends before waits for nothing; where the programs can't be loaded the ptrace engine goes on.

use std::cell::RefCell;
use std::os::fd::OwnedFd;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, Scope, ScopedJoinHandle};

use backsight_syscall_decode::TraceEvent;
use rustix::pipe::{PipeFlags, pipe_with};

use super::backpressure::{
    Backpressure, BackpressureState, FollowedThreads, Hold, ReportSender, TraceeReport, TracerSide,
    held,
};
use super::programs::{self, LoadedPrograms};
use super::{ReaderWakeup, Traced, read_events, refused};
use crate::emit::Emit;
use crate::error::TraceError;
use crate::first_thread;
use crate::interrupt::{Interrupt, WakeHandler};
use crate::options::TraceOptions;
use crate::outcome::TraceOutcome;
use crate::ptrace::requests::Tid;
use crate::ptrace::tracee_status::TraceeStatus;
use crate::ptrace_engine::{self, successor::Successor};

/// After so many stops at calls the programs are loaded: what they cost by then is about what that costs.
const STOPS_WORTH_PROGRAMS: usize = 256;

/// Traces a command, as [`super::trace_after_ptrace`] does.
pub(super) fn run<'env>(
    options: &'env TraceOptions,
    interrupt: &'env Interrupt,
    counting: bool,
    emit: &'env mut Emit<'env>,
) -> Result<Traced, TraceError> {
    let waking = interrupt
        .wakes_this_thread()
        .map_err(refused("wake a thread by a signal"))?;
    let route = RefCell::new(EventRoute::Emitted(emit));
    std::thread::scope(|scope| {
        let mut taker = Taker {
            scope,
            options,
            interrupt,
            counting,
            route: &route,
            waking: Some(waking),
            reader: None,
            stops: 0,
            hold: None,
        };
        let ended = ptrace_engine::trace_until_taken(
            options,
            interrupt.blocked_before(),
            &mut taker,
            &|| route.borrow().pending_signal(interrupt),
            &mut |event| route.borrow_mut().tell(event),
        );
        taker.finish(ended)
    })
}

/// Where events of the ptrace engine go.
enum EventRoute<'env> {
    /// They are emitted at once.
    Emitted(&'env mut Emit<'env>),
    /// The reader's thread emits them.
    Sent(ReportSender),
}

impl EventRoute<'_> {
    fn tell(&mut self, event: TraceEvent) {
        match self {
            Self::Emitted(emit) => emit(event),
            Self::Sent(reports) => reports.send_event(event),
        }
    }

    /// The signal by which the ptrace engine is to end, once it is; 0 for none. Once there is a reader that one has been asked.
    fn pending_signal(&self, interrupt: &Interrupt) -> Option<i32> {
        match self {
            Self::Emitted(_) => interrupt.pending_signal(),
            Self::Sent(reports) => reports.seen_released(),
        }
    }
}

/// The reader, as the tracer's thread knows it.
struct RelayReader<'scope> {
    tracer: TracerSide,
    relay: Arc<RelayState>,
    thread: ScopedJoinHandle<'scope, Result<Traced, TraceError>>,
}

/// What the reader's thread leaves for the tracer's.
#[derive(Default)]
struct RelayState {
    /// What that needs of the programs, once they are attached.
    attached: Mutex<Option<(FollowedThreads, OwnedFd)>>,
    is_attached: AtomicBool,
}

/// The reader's side of it, until there are programs.
pub(super) struct Relay {
    state: Arc<RelayState>,
    loading: Option<Receiver<Result<LoadedPrograms, TraceError>>>,
}

impl Relay {
    /// Begins to load the programs.
    fn start(
        state: Arc<RelayState>,
        options: &TraceOptions,
        counting: bool,
        reader: &Arc<ReaderWakeup>,
    ) -> Self {
        let (sender, loaded) = mpsc::channel();
        let (options, reader) = (options.clone(), Arc::clone(reader));
        // Should the command end first, nobody waits for this thread.
        let loader = Builder::new().name("loader".into()).spawn(move || {
            let _nobody_waits = sender.send(programs::load(&options, counting));
            reader.ring();
        });
        let loading = loader.is_ok().then_some(loaded);
        Self { state, loading }
    }

    /// The programs, once they are loaded, or why they can't be.
    pub fn programs(&mut self) -> Option<Result<LoadedPrograms, TraceError>> {
        let loaded = self.loading.as_ref()?.try_recv();
        if !matches!(loaded, Err(TryRecvError::Empty)) {
            self.loading = None;
        }
        loaded.ok()
    }

    /// Has threads taken by programs that are attached.
    pub fn hand_over(
        &self,
        backpressure: &mut Backpressure,
        followed: FollowedThreads,
    ) -> Result<(), TraceError> {
        let (bell_in, bell) = pipe_with(PipeFlags::CLOEXEC).map_err(refused("make a pipe"))?;
        backpressure.join_ring(&followed, bell);
        *held(&self.state.attached) = Some((followed, bell_in));
        self.state.is_attached.store(true, Ordering::SeqCst);
        Ok(())
    }
}

/// Takes threads from the ptrace engine as soon as the programs are attached.
struct Taker<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    options: &'env TraceOptions,
    interrupt: &'env Interrupt,
    counting: bool,
    route: &'scope RefCell<EventRoute<'env>>,
    /// As long as it is this thread that is asked to end tracing.
    waking: Option<WakeHandler<'env>>,
    reader: Option<RelayReader<'scope>>,
    stops: usize,
    hold: Option<Hold>,
}

impl<'env> Taker<'_, 'env> {
    /// Has the reader's thread emit events and load the programs.
    ///
    /// # Errors
    ///
    /// If it can't be started: then all stays as it is.
    fn start_reader(&mut self) -> Result<(), TraceError> {
        let bell = Arc::new(ReaderWakeup::new()?);
        let state = Arc::new(BackpressureState::new(Arc::clone(&bell)));
        let (backpressure, tracer) = Backpressure::channel(state);
        let relay = Arc::<RelayState>::default();
        let (options, interrupt, counting) = (self.options, self.interrupt, self.counting);
        let (emits, emitted) = mpsc::channel::<&'env mut Emit<'env>>();
        let reader = Builder::new()
            .name("reader".into())
            .stack_size(first_thread::STACK);
        let (its_relay, its_bell) = (Arc::clone(&relay), Arc::clone(&bell));
        let thread = reader.spawn_scoped(self.scope, move || {
            let Ok(emit) = emitted.recv() else {
                return Ok(Traced::default());
            };
            let relay = Relay::start(its_relay, options, counting, &its_bell);
            let source = (None, Some(relay), backpressure);
            read_events(options, interrupt, source, &its_bell, emit)
        });
        let thread = thread.map_err(refused("start a thread"))?;
        tracer.reports().wakes(nix::unistd::gettid().as_raw());
        // From here on it is the reader that is asked, and has this thread let everything go.
        self.waking = None;
        self.interrupt.then(move || bell.ring());
        let sent = EventRoute::Sent(tracer.reports().clone());
        if let EventRoute::Emitted(emit) = self.route.replace(sent) {
            let _it_waits = emits.send(emit);
        }
        self.reader = Some(RelayReader {
            tracer,
            relay,
            thread,
        });
        Ok(())
    }

    /// Follows what it has until that ended; what was traced, beside what the ptrace engine says.
    fn finish(self, ended: Result<TraceOutcome, TraceError>) -> Result<Traced, TraceError> {
        let Some(reader) = self.reader else {
            return ended.map(|ended| (ended, None));
        };
        // From here on it is the small process's end that ends a wait.
        reader.tracer.reports().wakes(0);
        if let Some(mut hold) = self.hold {
            hold.keep();
        }
        drop(reader.tracer);
        let read = reader.thread.join().unwrap_or_else(|it| resume_unwind(it));
        let (mut read, counts) = read?;
        let ended = ended?;
        read.lost += ended.lost;
        read.command = read.command.or(ended.command);
        Ok((read, counts))
    }

    fn tell(&self, report: TraceeReport) {
        if let Some(reader) = &self.reader {
            reader.tracer.reports().send(report);
        }
    }
}

impl Successor for Taker<'_, '_> {
    fn is_ready(&mut self, stops: usize) -> bool {
        let before = self.stops;
        self.stops += stops;
        if before < STOPS_WORTH_PROGRAMS && self.stops >= STOPS_WORTH_PROGRAMS {
            let _nobody_to_hand_over_to = self.start_reader();
        }
        let Some(reader) = &self.reader else {
            return false;
        };
        if !reader.relay.is_attached.load(Ordering::Relaxed) {
            return false;
        }
        let Some((followed, bell)) = held(&reader.relay.attached).take() else {
            return false;
        };
        let mut hold = Hold::new(self.options, followed, reader.tracer.reports().clone());
        // Without it nobody would be woken where everything is to be let go: then all stays as it is.
        if hold.start_guard(&bell).is_err() {
            return false;
        }
        self.hold = Some(hold);
        true
    }

    fn take(&mut self, tid: Tid, is_command: bool) -> bool {
        let hold = self.hold.as_mut();
        hold.is_some_and(|hold| hold.take(tid, is_command).is_ok())
    }

    fn take_stray(&mut self, tid: Tid, status: i32) -> bool {
        let halt = TraceeStatus::from_wait_status(status);
        let hold = self.hold.as_mut();
        hold.is_some_and(|hold| hold.take_followed(tid, halt))
    }

    fn has(&self, tid: Tid) -> bool {
        self.hold.as_ref().is_some_and(|hold| hold.has(tid))
    }

    fn answer(&mut self, tid: Tid, halt: TraceeStatus) {
        if let Some(hold) = &mut self.hold {
            hold.answer(tid, halt);
        }
    }

    fn note_command(&mut self, tid: Tid) {
        if let Some(hold) = &mut self.hold {
            hold.note_command(tid);
        }
    }

    fn forget(&mut self, tid: Tid) {
        if let Some(hold) = &mut self.hold {
            hold.forget(tid);
        }
    }

    fn holds(&self) -> bool {
        self.hold.as_ref().is_some_and(Hold::has_waiting)
    }

    fn let_some_go(&mut self) {
        if let Some(hold) = &mut self.hold {
            hold.let_some_go();
        }
    }

    fn note_thread(&mut self, pid: i32, tid: Tid) {
        self.tell(TraceeReport::Stopping { pid, tid });
    }

    fn note_end(&mut self, pid: i32, tid: Tid, replaced: bool) {
        self.tell(TraceeReport::Gone { pid, tid, replaced });
    }

    fn note_execution(&mut self, tid: Tid, before: Tid) {
        self.tell(TraceeReport::Executed { tid, before });
    }
}
