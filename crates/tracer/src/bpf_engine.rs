//! The BPF engine (`kernel` for users): programs in the kernel write every call of a tree of processes into a ring buffer. No
//! thread is stopped as long as the ring is read fast enough.
//!
//! Where the ring fills up, threads are stopped in turn until there is room again, so that nothing is lost. For that the engine
//! holds the tree with ptrace, without stops at calls; nobody else can trace it meanwhile. Two threads do the work: one
//! starts the command and answers the kernel's stops; the other one reads the ring and reports events.
//!
//! It needs privileges ([`check_available`]), and changes nothing in the programs that it traces.

mod backpressure;
mod bpf_syscall;
mod btf;
mod capture_plan;
mod count_map;
mod event_assembler;
mod programs;
mod records;
mod relay;
mod ring_buffer;
mod scope_run;
mod stop_guard;
mod task_storage;
mod type_cache;

use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use backsight_syscall_decode::{EventKind, TraceEvent};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use crate::emit::Emit;
use crate::error::{BpfEngineError, TraceError};
use crate::interrupt::Interrupt;
use crate::options::{CallStatus, StatusSet, TraceOptions};
use crate::outcome::TraceOutcome;
use crate::summary::CallSummary;
use backpressure::{Backpressure, TraceeReport};
use programs::LoadedPrograms;
use task_storage::TaskStorage;

/// Reads records of the ring: see [`crate::fuzzing`].
pub(crate) fn ring_records(mut bytes: &[u8], emit: &mut dyn FnMut(TraceEvent)) {
    let Ok(nowhere) = std::fs::File::open("/dev/null") else {
        return;
    };
    let mut assembler = event_assembler::EventAssembler::new(
        &TraceOptions::default(),
        TaskStorage::none(nowhere.into()),
    );
    while let [low, high, rest @ ..] = bytes {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(rest.len());
        let (record, rest) = rest.split_at(length);
        assembler.record(record, emit);
        bytes = rest;
    }
    assembler.finish(emit);
}

/// Reads a kernel's types: see [`crate::fuzzing`].
pub(crate) fn kernel_types(bytes: &[u8]) {
    btf::read_any(bytes);
}

/// Calls by what came of them, as the programs know them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
enum OutcomeFilter {
    All = 0,
    Failed = 1,
    Successful = 2,
}

impl OutcomeFilter {
    fn from_statuses(statuses: StatusSet) -> Option<Self> {
        let all = [
            (StatusSet::all(), Self::All),
            (StatusSet::only(CallStatus::Failed), Self::Failed),
            (StatusSet::only(CallStatus::Successful), Self::Successful),
        ];
        let mut all = all.into_iter();
        all.find_map(|(set, outcomes)| (set == statuses).then_some(outcomes))
    }
}

/// What of this the kernel engine can't do.
pub(crate) fn unsupported_option(options: &TraceOptions) -> Option<&'static str> {
    let reasons = [
        (
            options.chooses_files(),
            "paths and descriptors are looked up at a stop",
        ),
        (
            options.kill_on_exit,
            "only who stops a program can have it die with the tracer",
        ),
        (
            !options.injections.is_empty(),
            "calls are tampered with at a stop",
        ),
        (
            !options.detach_on.is_empty(),
            "detaching at a call takes a stop there",
        ),
        (
            options.limit.is_some() && options.scope.is_none(),
            "a limit of calls takes a stop at each",
        ),
        (
            options
                .limits
                .is_some_and(|limits| limits.string > records::PIECE_MOST / 2),
            "so much of a buffer is read at a stop",
        ),
        (
            options.stacks,
            "which functions a thread is in is looked up at a stop",
        ),
        (
            options.instructions,
            "where calls are made is looked up at a stop",
        ),
        (
            options.command.is_some() && !options.pids.is_empty(),
            "a command and processes together are traced by the ptrace engine",
        ),
        (
            OutcomeFilter::from_statuses(options.statuses).is_none(),
            "these statuses are known at stops",
        ),
    ];
    let mut reasons = reasons.into_iter();
    reasons.find_map(|(holds, why)| holds.then_some(why))
}

/// Wakes the thread that reads the ring.
#[derive(Debug)]
struct ReaderWakeup(OwnedFd);

impl ReaderWakeup {
    fn new() -> Result<Self, TraceError> {
        let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        fd.map(Self)
            .map_err(refused("make a descriptor for events"))
    }

    fn ring(&self) {
        // It can only fail where it was rung already.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    fn quiet(&self) {
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

/// Whether the kernel engine can run here.
///
/// # Errors
///
/// Says what is missing.
pub fn check_available() -> Result<(), BpfEngineError> {
    programs::allowed()
}

/// Traces what is asked for, and emits events, until everything ended or `interrupt` asks.
///
/// # Errors
///
/// Where what is asked for isn't this engine's, the programs can't be loaded, the command can't be started or a process
/// can't be attached to. Once something is traced nothing fails: what can't be had is missing in the events, and says so.
pub fn trace(
    options: &TraceOptions,
    interrupt: &Interrupt,
    emit: &mut Emit<'_>,
) -> Result<TraceOutcome, TraceError> {
    run(options, interrupt, Start::Loaded, false, emit).map(|(ended, _)| ended)
}

/// Traces a command, which begins under the ptrace engine and goes on under this one if that pays.
///
/// The calling thread traces: where tracing ends before the command, what was handed over is held until that thread ends.
///
/// # Errors
///
/// As [`trace`]; but where the programs can't be loaded the ptrace engine goes on.
pub(crate) fn trace_after_ptrace(
    options: &TraceOptions,
    interrupt: &Interrupt,
    emit: &mut Emit<'_>,
) -> Result<TraceOutcome, TraceError> {
    run(options, interrupt, Start::Stopping, false, emit).map(|(ended, _)| ended)
}

/// Counts the calls that are asked for, within the kernel, until everything ended or `interrupt` asks; emits what else
/// happens.
///
/// # Errors
///
/// As [`trace`].
pub fn count_calls(
    options: &TraceOptions,
    interrupt: &Interrupt,
    emit: &mut Emit<'_>,
) -> Result<(TraceOutcome, CallSummary), TraceError> {
    count(options, interrupt, Start::Loaded, emit)
}

/// The same as [`trace_after_ptrace`] traces, by the calling thread.
///
/// # Errors
///
/// As [`trace_after_ptrace`].
pub(crate) fn count_calls_after_ptrace(
    options: &TraceOptions,
    interrupt: &Interrupt,
    emit: &mut Emit<'_>,
) -> Result<(TraceOutcome, CallSummary), TraceError> {
    count(options, interrupt, Start::Stopping, emit)
}

fn count(
    options: &TraceOptions,
    interrupt: &Interrupt,
    start: Start,
    emit: &mut Emit<'_>,
) -> Result<(TraceOutcome, CallSummary), TraceError> {
    let mut summary = CallSummary::new();
    let options = TraceOptions {
        limits: None,
        pending: false,
        ring: options.ring.min(RING_OF_NO_CALLS),
        ..options.clone()
    };
    let (mut ended, counts) = run(
        &options,
        interrupt,
        start,
        true,
        &mut summary.counting(emit),
    )?;
    ended.calls += counts.map_or(0, |counts| counts.add_to(&mut summary));
    Ok((ended, summary))
}

/// How a trace starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    /// With programs that are loaded.
    Loaded,
    /// With stops at calls, until they are.
    Stopping,
}

/// How it ended, and what was counted in the kernel.
type Traced = (TraceOutcome, Option<count_map::CountMap>);

/// Bytes of a ring for what isn't a call.
const RING_OF_NO_CALLS: u32 = 256 << 10;

fn run(
    options: &TraceOptions,
    interrupt: &Interrupt,
    start: Start,
    counting: bool,
    emit: &mut Emit<'_>,
) -> Result<Traced, TraceError> {
    if let Some(why) = unsupported_option(options) {
        return Err(match options.scope {
            Some(_) => TraceError::UnfitScope { why },
            None => TraceError::Unfit { why },
        });
    }
    if !options.ring.is_power_of_two() || options.ring < 65536 {
        return Err(BpfEngineError::Ring {
            bytes: options.ring,
        }
        .into());
    }
    if let Some(scope) = &options.scope {
        return scope_run::run(options, scope, interrupt, counting, emit);
    }
    if options.command.is_none() && options.pids.is_empty() && options.children_of.is_none() {
        return Err(TraceError::Nothing);
    }
    let mut calls = 0;
    let mut emit = |event: TraceEvent| {
        calls += u64::from(matches!(event.kind, EventKind::Call(_)));
        match &event.kind {
            EventKind::Signal { number, .. } if !options.signals.contains(*number) => {}
            _ => emit(event),
        }
    };
    let traced = match start {
        Start::Stopping => relay::run(options, interrupt, counting, &mut emit),
        Start::Loaded => run_loaded(options, interrupt, counting, &mut emit),
    };
    traced.map(|(ended, counts)| (TraceOutcome { calls, ..ended }, counts))
}

/// Traces with programs that are loaded before anything is started.
fn run_loaded(
    options: &TraceOptions,
    interrupt: &Interrupt,
    counting: bool,
    emit: &mut dyn FnMut(TraceEvent),
) -> Result<Traced, TraceError> {
    let bell = Arc::new(ReaderWakeup::new()?);
    let loaded = programs::load(options, counting)?;
    let attached = AttachedPrograms::attach(loaded, options)?;
    let begin = backpressure::StartRequest {
        options: options.clone(),
        mask: interrupt.blocked_before(),
    };
    let rung = Arc::clone(&bell);
    interrupt.then(move || rung.ring());
    let followed = attached.followed_threads();
    let started = Backpressure::start(begin, followed, Arc::clone(&bell))?;
    read_events(
        options,
        interrupt,
        (Some(attached), None, started),
        &bell,
        emit,
    )
}

/// Emits what the programs, once there are any, and the tracer's thread see, until that one is done or `interrupt` asks.
fn read_events(
    options: &TraceOptions,
    interrupt: &Interrupt,
    (mut programs, mut relay, mut backpressure): (
        Option<AttachedPrograms>,
        Option<relay::Relay>,
        Backpressure,
    ),
    bell: &ReaderWakeup,
    emit: &mut dyn FnMut(TraceEvent),
) -> Result<Traced, TraceError> {
    let mut left = false;
    // What the backpressure thread saw, until what happened before is told.
    let mut kept: VecDeque<TraceeReport> = VecDeque::new();
    loop {
        match &mut programs {
            Some(programs) => programs.drain(&backpressure, &mut kept, emit),
            None => emit_reports(&backpressure, emit),
        }
        if let Some(signal) = interrupt.pending_signal()
            && !std::mem::replace(&mut left, true)
        {
            if let Some(programs) = &mut programs {
                programs.leave();
            }
            // The links are gone: no thread asks for a stop from here on, and those that did are let go.
            backpressure.release(signal);
        }
        if backpressure.is_done() {
            break;
        }
        if let Some(stopping) = &mut relay
            && !left
            && programs.is_none()
            && let Some(loaded) = stopping.programs()
        {
            // Where there are none, all goes on as it is.
            let attached = loaded.and_then(|loaded| AttachedPrograms::attach(loaded, options));
            if let Ok(attached) = attached {
                stopping.hand_over(&mut backpressure, attached.followed_threads())?;
                programs = Some(attached);
            }
            continue;
        }
        match &mut programs {
            Some(programs) => programs.wait(bell, emit),
            None => {
                let _nothing_came = wait(None, bell);
            }
        }
    }
    let mut ended = TraceOutcome::default();
    let mut counts = None;
    match programs {
        Some(programs) => {
            let (control, counted) = programs.finish(Some(&backpressure), emit);
            ended.lost = control.lost_records();
            ended.backpressure_stops = control.backpressure_stops();
            counts = counted;
        }
        None => emit_reports(&backpressure, emit),
    }
    ended.command = backpressure.finish()?;
    Ok((ended, counts))
}

/// Emits what the tracer's thread saw while there are no programs.
fn emit_reports(backpressure: &Backpressure, emit: &mut dyn FnMut(TraceEvent)) {
    for report in backpressure.reports() {
        if let TraceeReport::Event(event) = report {
            emit(*event);
        }
    }
}

/// Programs that are attached, and what they tell.
struct AttachedPrograms {
    /// As long as they are attached.
    attached: Option<programs::Programs>,
    control: Arc<programs::ControlPage>,
    ring: ring_buffer::Ring,
    ring_map: OwnedFd,
    size: u32,
    counts: Option<count_map::CountMap>,
    assembler: event_assembler::EventAssembler,
}

impl AttachedPrograms {
    fn attach(loaded: LoadedPrograms, options: &TraceOptions) -> Result<Self, TraceError> {
        let mut programs = loaded.programs;
        programs.attach()?;
        Ok(Self {
            control: programs.control(),
            ring: loaded.ring,
            ring_map: loaded.ring_map,
            size: options.ring,
            counts: loaded.counts,
            assembler: event_assembler::EventAssembler::new(options, programs.threads()),
            attached: Some(programs),
        })
    }

    /// The storages of threads.
    fn storages(&self) -> TaskStorage {
        self.assembler.storages()
    }

    /// What the backpressure thread needs of them; nothing once they are detached.
    fn followed_threads(&self) -> backpressure::FollowedThreads {
        backpressure::FollowedThreads::new(
            self.assembler.storages(),
            Arc::clone(&self.control),
            self.ring.gauge(),
            self.size,
        )
    }

    /// Emits what waits in the ring, and between its records what the backpressure thread saw before them.
    fn drain(
        &mut self,
        backpressure: &Backpressure,
        kept: &mut VecDeque<TraceeReport>,
        emit: &mut dyn FnMut(TraceEvent),
    ) {
        let assembler = &mut self.assembler;
        self.ring.drain(
            |record| {
                if backpressure.has_reports() {
                    kept.extend(backpressure.reports());
                }
                while let Some(report) =
                    kept.pop_front_if(|it| it.is_before(event_assembler::at(record)))
                {
                    assembler.report(report, emit);
                }
                assembler.record(record, emit);
            },
            || backpressure.wake_waiting(),
        );
        kept.extend(backpressure.reports());
        for report in kept.drain(..) {
            assembler.report(report, emit);
        }
    }

    /// Emits what waits in the ring of threads that nobody holds.
    fn drain_ring(&mut self, emit: &mut dyn FnMut(TraceEvent)) {
        let assembler = &mut self.assembler;
        self.ring
            .drain(|record| assembler.record(record, emit), || {});
    }

    /// Detaches them: what threads are in is told when they are let go.
    fn leave(&mut self) {
        if self.attached.take().is_some() {
            self.assembler.leave();
        }
    }

    /// Waits until there is something to read.
    fn wait(&mut self, bell: &ReaderWakeup, emit: &mut dyn FnMut(TraceEvent)) {
        self.control.sleeps(true);
        let gauge = self.ring.gauge();
        if gauge.waiting() < u64::from(self.size) / 8 {
            let idle = wait(Some(&self.ring_map), bell);
            if idle && gauge.waiting() == 0 {
                self.assembler.idle(emit);
            }
        }
        self.control.sleeps(false);
    }

    /// Detaches them and tells what was held back.
    fn finish(
        mut self,
        backpressure: Option<&Backpressure>,
        emit: &mut dyn FnMut(TraceEvent),
    ) -> (Arc<programs::ControlPage>, Option<count_map::CountMap>) {
        drop(self.attached.take());
        match backpressure {
            Some(backpressure) => self.drain(backpressure, &mut VecDeque::new(), emit),
            None => self.drain_ring(emit),
        }
        self.assembler.finish(emit);
        (self.control, self.counts)
    }
}

/// Waits for the ring or for the bell, so long that few records make few wake-ups and yet are soon seen. Says whether
/// nothing came.
fn wait(ring: Option<&OwnedFd>, bell: &ReaderWakeup) -> bool {
    let most = Timespec {
        tv_sec: 0,
        tv_nsec: 20_000_000,
    };
    let mut fds = vec![PollFd::from_borrowed_fd(bell.0.as_fd(), PollFlags::IN)];
    fds.extend(ring.map(|ring| PollFd::from_borrowed_fd(ring.as_fd(), PollFlags::IN)));
    let came = poll(&mut fds, Some(&most)).unwrap_or(0);
    if fds[0].revents().contains(PollFlags::IN) {
        bell.quiet();
    }
    came == 0
}

/// What the kernel refused.
fn refused<E: Into<std::io::Error>>(what: &'static str) -> impl Fn(E) -> TraceError {
    move |why| TraceError::Refused {
        what,
        why: why.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_a_stop_is_not_this_engine_s() {
        assert_eq!(unsupported_option(&TraceOptions::default()), None);
        let limited = TraceOptions {
            limit: Some(3),
            ..TraceOptions::default()
        };
        assert!(unsupported_option(&limited).is_some());
        let successful = |statuses| TraceOptions {
            statuses,
            ..TraceOptions::default()
        };
        assert_eq!(
            unsupported_option(&successful(StatusSet::only(CallStatus::Failed))),
            None
        );
        assert!(unsupported_option(&successful(StatusSet::only(CallStatus::Unfinished))).is_some());
    }
}
