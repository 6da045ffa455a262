//! Relay: a command begins under the ptrace engine, at once, and goes on under the programs as soon as they are loaded, if it makes
//! so many calls that this pays.
//!
//! The tracer's thread runs the ptrace engine; the reader's thread emits what that sees and, once it is asked to, has the programs
//! loaded and attached. From then on each thread is taken at the end of a call. A command that ends before waits for nothing; where
//! the programs can't be loaded the ptrace engine goes on.

use std::cell::Cell;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::sync::{Arc, Mutex};

use nix::sys::signal::SigSet;
use rustix::pipe::{PipeFlags, pipe_with};

use super::backpressure::{
    Backpressure, BackpressureState, FollowedThreads, Hold, ReportSender, TraceeReport, held,
};
use super::programs::{self, LoadedPrograms};
use super::{ReaderWakeup, refused};
use crate::error::TraceError;
use crate::interrupt;
use crate::options::TraceOptions;
use crate::outcome::TraceOutcome;
use crate::ptrace::requests::Tid;
use crate::ptrace::tracee_status::TraceeStatus;
use crate::ptrace_engine::{self, successor::Successor};

/// After so many stops at calls the programs are loaded: what they cost by then is about what that costs.
const STOPS_WORTH_PROGRAMS: usize = 256;

/// The reader's side of it.
pub(super) struct Relay {
    shared: Arc<RelayState>,
    loading: Option<Receiver<Result<LoadedPrograms, TraceError>>>,
}

/// What both sides use.
struct RelayState {
    reader: Arc<ReaderWakeup>,
    /// The tracer's thread asks for the programs.
    wanted: AtomicBool,
    /// What it needs of them, once they are attached.
    attached: Mutex<Option<(FollowedThreads, OwnedFd)>>,
    is_attached: AtomicBool,
    /// How many events the ptrace engine lost.
    lost: AtomicU64,
}

impl Relay {
    /// Starts the command.
    pub fn start(
        options: &TraceOptions,
        mask: Option<SigSet>,
        reader: Arc<ReaderWakeup>,
    ) -> Result<(Self, Backpressure), TraceError> {
        interrupt::let_threads_be_woken().map_err(refused("wake a thread by a signal"))?;
        let shared = Arc::new(RelayState {
            reader: Arc::clone(&reader),
            wanted: AtomicBool::new(false),
            attached: Mutex::new(None),
            is_attached: AtomicBool::new(false),
            lost: AtomicU64::new(0),
        });
        let state = Arc::new(BackpressureState::new(reader));
        let (relay, options) = (Arc::clone(&shared), options.clone());
        let released = Arc::clone(&state);
        let backpressure = Backpressure::spawn(state, move |reports, ready| {
            run_tracer(&options, mask, relay, &released, reports, ready);
        })?;
        let loading = None;
        Ok((Self { shared, loading }, backpressure))
    }

    /// The programs, once they are asked for and loaded, or why they can't be.
    pub fn programs(
        &mut self,
        options: &TraceOptions,
        counting: bool,
    ) -> Option<Result<LoadedPrograms, TraceError>> {
        if self.loading.is_none() && self.shared.wanted.swap(false, Ordering::SeqCst) {
            let (sender, loaded) = mpsc::channel();
            let (options, reader) = (options.clone(), Arc::clone(&self.shared.reader));
            // Should the command end first, nobody waits for this thread.
            let loader = std::thread::Builder::new()
                .name("loader".into())
                .spawn(move || {
                    let _nobody_waits = sender.send(programs::load(&options, counting));
                    reader.ring();
                });
            if loader.is_ok() {
                self.loading = Some(loaded);
            }
        }
        match self.loading.as_ref()?.try_recv() {
            Ok(loaded) => Some(loaded),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => {
                self.loading = None;
                None
            }
        }
    }

    /// Has threads taken by programs that are attached.
    pub fn hand_over(
        &self,
        backpressure: &mut Backpressure,
        followed: FollowedThreads,
    ) -> Result<(), TraceError> {
        let (bell_in, bell) = pipe_with(PipeFlags::CLOEXEC).map_err(refused("make a pipe"))?;
        backpressure.join_ring(&followed, bell);
        *held(&self.shared.attached) = Some((followed, bell_in));
        self.shared.is_attached.store(true, Ordering::SeqCst);
        Ok(())
    }

    /// How many events the ptrace engine lost.
    pub fn lost_events(&self) -> u64 {
        self.shared.lost.load(Ordering::SeqCst)
    }
}

/// What the tracer's thread does.
fn run_tracer(
    options: &TraceOptions,
    mask: Option<SigSet>,
    shared: Arc<RelayState>,
    state: &BackpressureState,
    reports: ReportSender,
    ready: Sender<Result<(), TraceError>>,
) {
    let mut taker = Taker {
        options,
        shared: Arc::clone(&shared),
        reports: reports.clone(),
        stops: 0,
        hold: None,
    };
    state.wakes(nix::unistd::gettid().as_raw());
    let begun = Cell::new(false);
    let ended = ptrace_engine::trace_until_taken(
        options,
        mask,
        &mut taker,
        || {
            begun.set(true);
            let _nobody_waits = ready.send(Ok(()));
        },
        &|| state.seen_released(),
        &mut |event| reports.send_event(event),
    );
    // From here on it is the small process's end that ends a wait.
    state.wakes(0);
    match ended {
        Ok(TraceOutcome { command, lost, .. }) => {
            shared.lost.store(lost, Ordering::SeqCst);
            if let Some(command) = command {
                *held(&state.finish) = Some(Ok(command));
            }
        }
        Err(error) if begun.get() => *held(&state.finish) = Some(Err(error)),
        Err(error) => {
            let _nobody_waits = ready.send(Err(error));
        }
    }
    if let Some(mut hold) = taker.hold {
        hold.keep();
    }
}

/// Takes threads from the ptrace engine as soon as the programs are attached.
struct Taker<'a> {
    options: &'a TraceOptions,
    shared: Arc<RelayState>,
    reports: ReportSender,
    stops: usize,
    hold: Option<Hold>,
}

impl Successor for Taker<'_> {
    fn is_ready(&mut self, stops: usize) -> bool {
        let before = self.stops;
        self.stops += stops;
        if before < STOPS_WORTH_PROGRAMS && self.stops >= STOPS_WORTH_PROGRAMS {
            self.shared.wanted.store(true, Ordering::SeqCst);
            self.shared.reader.ring();
        }
        if !self.shared.is_attached.load(Ordering::Relaxed) {
            return false;
        }
        let Some((followed, bell)) = held(&self.shared.attached).take() else {
            return false;
        };
        let mut hold = Hold::new(self.options, followed, self.reports.clone());
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
        self.reports.send(TraceeReport::Stopping { pid, tid });
    }

    fn note_end(&mut self, pid: i32, tid: Tid, replaced: bool) {
        self.reports.send(TraceeReport::Gone { pid, tid, replaced });
    }

    fn note_execution(&mut self, tid: Tid, before: Tid) {
        self.reports.send(TraceeReport::Executed { tid, before });
    }
}
