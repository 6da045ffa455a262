//! The supervisor of one step: it starts the program, holds it if asked, waits until it is ready, passes its output on, and
//! ends it.
//!
//! One task owns all of a step. Other tasks send it a [`StepOrder`].

use std::future::pending;
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use backsight_settings::LimitHit;
use nix::libc;
use nix::unistd::Pid;
use prost::bytes::Bytes;
use regex::bytes::Regex;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, sleep_until};
use tonic::Status;

use crate::clocks;
use crate::launch::Launch;
use crate::launch_conditions::LaunchConditions;
use crate::procs;
use crate::ready::{self, LineSearch};
use crate::reap::{Death, Reaper};
use crate::spool::{Spool, SpoolNote};
use crate::step::{
    Condition, EndReason, Finished, HoldState, Moment, ProcessExit, StepEvent, StepSpec,
};
use crate::synchronized_start::{self, ReleaseSender, StartMessage, Started};
use crate::trial_limits::TrialLimits;
use crate::{proto, wire};

/// How long a process may take to die of SIGKILL before its step is ended without it.
const DEATH_LIMIT: Duration = Duration::from_secs(10);
/// How often it is looked whether the rest of a stopped step's group is gone.
const GROUP_PAUSE: Duration = Duration::from_millis(5);
/// How much output goes into one event, bytes.
const PIECE: usize = 256 << 10;
/// The same while the step runs. A test of a suite that ends its host takes with it what wasn't sent yet, so that output is sent at once;
/// but only so many times in a row, and then at this distance: to send costs about a tenth of a millisecond at both ends.
const STREAMED_PIECE: usize = 64 << 10;
const STREAM_PAUSE: Duration = Duration::from_millis(20);
const STREAM_BURST: u32 = 10;
/// Events that must have room beside streamed output.
const OTHER_EVENTS: usize = 4;

/// An order to a step.
pub(crate) enum StepOrder {
    /// Let it go at this instant of the monotonic clock.
    Release(u64),
    /// End it: with its own signal and grace, or these.
    Stop {
        signal: Option<i32>,
        grace: Option<Duration>,
    },
    /// Its trial is over.
    EndTrial,
}

/// Where a step's events go. It has room for all that come before the output.
pub(crate) type EventSender = mpsc::Sender<Result<proto::StepEvent, Status>>;

/// The surroundings of a step.
pub(crate) struct StepContext {
    pub(crate) reaper: Arc<Reaper>,
    /// The step's environment, complete.
    pub(crate) env: std::collections::BTreeMap<String, String>,
    pub(crate) folder: std::path::PathBuf,
    /// How its program is started.
    pub(crate) conditions: LaunchConditions,
    /// What limits it, with other steps of its trial.
    pub(crate) limits: Option<Arc<TrialLimits>>,
    /// Where to put its process id.
    pub(crate) pid: Arc<OnceLock<i32>>,
    /// The two files of its streams, which don't exist yet.
    pub(crate) stdout: std::path::PathBuf,
    pub(crate) stderr: std::path::PathBuf,
}

/// Runs a step from its beginning to its last event. `alive` is dropped when its process is gone.
#[tracing::instrument(name = "step", level = "debug", skip_all, fields(id = %step.id))]
pub(crate) async fn supervise(
    context: StepContext,
    step: StepSpec,
    orders: mpsc::UnboundedReceiver<StepOrder>,
    events: EventSender,
    alive: mpsc::Sender<()>,
) {
    let supervised = match begin(context, step, orders, events.clone()) {
        Ok(supervised) => supervised,
        Err(reason) => {
            let finished = never_began(reason);
            drop(alive);
            send_event(&events, StepEvent::Finished(finished));
            return;
        }
    };
    let (finished, mut stdout, mut stderr) = supervised.until_the_end().await;
    drop(alive);
    for (spool, event) in [
        (&mut stdout, StepEvent::Stdout as fn(Bytes) -> StepEvent),
        (&mut stderr, StepEvent::Stderr),
    ] {
        if stream_output(spool, event, &events).await.is_err() {
            break;
        }
    }
    let _nobody_listens = events
        .send(Ok(wire::event(StepEvent::Finished(finished))))
        .await;
    drop(events);
    tokio::join!(stdout.discard(), stderr.discard());
}

fn send_event(events: &EventSender, event: StepEvent) {
    // Full is impossible before the output; closed is seen by who waits for it.
    let _nobody_listens = events.try_send(Ok(wire::event(event)));
}

async fn stream_output(
    spool: &mut Spool,
    event: fn(Bytes) -> StepEvent,
    events: &EventSender,
) -> Result<(), ()> {
    loop {
        let message = match spool.next_piece(PIECE) {
            Ok(piece) if piece.is_empty() => return Ok(()),
            Ok(piece) => Ok(wire::event(event(piece.into()))),
            Err(error) => Err(Status::data_loss(format!(
                "what the step wrote can't be read back: {error}"
            ))),
        };
        let broken = message.is_err();
        if events.send(message).await.is_err() || broken {
            return Err(());
        }
    }
}

fn never_began(reason: EndReason) -> Finished {
    Finished {
        reason,
        exit: None,
        as_expected: false,
        begun: None,
        ended: clocks::now(),
        usage: None,
        stdout_bytes: 0,
        stderr_bytes: 0,
        truncated: false,
    }
}

struct RunningStep {
    step: StepSpec,
    reaper: Arc<Reaper>,
    limits: Option<Arc<TrialLimits>>,
    /// What the limits had done when it was started.
    earlier_hits: Vec<LimitHit>,
    pid: Arc<OnceLock<i32>>,
    orders: mpsc::UnboundedReceiver<StepOrder>,
    events: EventSender,
    program: String,
    stdout: Spool,
    stderr: Spool,
    /// When output is sent that wasn't yet.
    stream_at: Option<Instant>,
    /// When the last of it would have been sent at an even distance.
    streamed_until: Option<Instant>,
    phase: Phase,
    begun: Option<Moment>,
    /// The same on the clock of limits.
    begun_at: Option<Instant>,
    ready: Option<ready::PendingCondition>,
    /// The end of the present phase's time.
    limit: Option<Instant>,
    termination: Option<Termination>,
    /// Whoever asked for the step doesn't listen any more.
    client_gone: bool,
}

enum Phase {
    /// Being loaded, or waiting.
    Held {
        door: Option<ReleaseSender>,
        messages: mpsc::UnboundedReceiver<StartMessage>,
        process: Option<(Started, oneshot::Receiver<Death>)>,
        held: Option<HoldState>,
        /// To be let go then, as soon as it is held.
        release_at: Option<u64>,
        /// It is being let go: the agent keeps still until that is told.
        quiet_period: bool,
    },
    /// Running; its main process hasn't been waited for.
    Running {
        pid: Pid,
        death: oneshot::Receiver<Death>,
    },
}

/// The step is being ended.
struct Termination {
    reason: EndReason,
    /// The signal that it got; SIGKILL once it is to get that.
    signal: i32,
    /// When it gets SIGKILL; none: it has got it.
    kill_at: Option<Instant>,
    /// When nobody waits for it any longer.
    give_up_at: Instant,
}

impl Termination {
    /// Of a process that is gone.
    fn already(reason: EndReason) -> Self {
        Self {
            reason,
            signal: 0,
            kill_at: None,
            give_up_at: Instant::now(),
        }
    }

    /// Whether somebody else had killed it before it could obey: the news of that came after the order to stop it.
    fn came_late(&self, exit: Option<ProcessExit>) -> bool {
        self.reason == EndReason::Stopped
            && self.signal != libc::SIGKILL
            && self.kill_at.is_some()
            && exit == Some(ProcessExit::Signal(libc::SIGKILL))
    }
}

/// What is wrong with a step whose stream has this noted; none: nothing is.
fn fault(note: SpoolNote) -> Option<EndReason> {
    match note {
        SpoolNote::OverLimit => Some(EndReason::OutputLimit),
        SpoolNote::Broken(why) => Some(EndReason::Spool { why }),
        SpoolNote::Line | SpoolNote::Unsent => None,
    }
}

fn begin(
    context: StepContext,
    step: StepSpec,
    orders: mpsc::UnboundedReceiver<StepOrder>,
    events: EventSender,
) -> Result<RunningStep, EndReason> {
    let launch = Launch::find(
        &step.command,
        context.env,
        context.folder.clone(),
        context.conditions,
    )?;
    let program = launch.name();
    let system = |error: io::Error| EndReason::CannotStart {
        why: error.to_string(),
    };
    let (stdout, out) = io::pipe().map_err(system)?;
    let (stderr, err) = io::pipe().map_err(system)?;
    let spool = |pipe, path| {
        let spool = Spool::new(pipe, path, step.output_limit, line_sought(&step));
        Ok(spool.map_err(system)?.streaming(step.streams))
    };
    let (stdout, stderr) = (
        spool(stdout, context.stdout)?,
        spool(stderr, context.stderr)?,
    );
    let ready = step
        .ready
        .as_ref()
        .map(|ready| ready::PendingCondition::new(ready, &context.folder));
    // Before it begins: it may reach a limit at once.
    let earlier_hits = (context.limits.as_ref()).map_or_else(Vec::new, |it| it.hits());
    let (phase, started) = if step.hold {
        let make = move || Ok(launch.process(out.try_clone()?, err.try_clone()?));
        let (door, messages) = synchronized_start::start_held(make).map_err(system)?;
        (
            Phase::Held {
                door: Some(door),
                messages,
                process: None,
                held: None,
                release_at: None,
                quiet_period: false,
            },
            None,
        )
    } else {
        let at = clocks::now();
        let (pid, death) = context
            .reaper
            .spawn(&mut launch.process(out, err))
            .map_err(|error| EndReason::CannotStart {
                why: format!("{program}: {error}"),
            })?;
        (Phase::Running { pid, death }, Some((pid, at)))
    };
    let limit = Instant::now().checked_add(Finished::HOLD_LIMIT);
    let mut running = RunningStep {
        step,
        reaper: context.reaper,
        earlier_hits,
        limits: context.limits,
        pid: context.pid,
        orders,
        events,
        program,
        stdout,
        stderr,
        stream_at: None,
        streamed_until: None,
        phase,
        begun: None,
        begun_at: None,
        ready,
        limit,
        termination: None,
        client_gone: false,
    };
    if let Some((pid, at)) = started {
        running.has_started(pid, at);
        running.has_begun(at);
    }
    Ok(running)
}

fn line_sought(step: &StepSpec) -> Option<LineSearch> {
    let Condition::Line(pattern) = &step.ready.as_ref()?.condition else {
        return None;
    };
    // The request was refused if it isn't one.
    Regex::new(pattern).ok().map(LineSearch::new)
}

/// What woke a step up.
enum Event {
    Order(StepOrder),
    StartMessage(Option<StartMessage>),
    Died(Option<Death>),
    Note(SpoolNote),
    ClientGone,
    Time,
}

impl RunningStep {
    /// Until its process, and its group if it was ended by us, is gone and its streams are read.
    async fn until_the_end(mut self) -> (Finished, Spool, Spool) {
        let end = loop {
            match self.next().await {
                Event::Order(order) => self.obey(order),
                Event::StartMessage(Some(message)) => {
                    if let Some(end) = self.on_start_message(message) {
                        break end;
                    }
                }
                Event::StartMessage(None) => break End::never("its thread ended".into()),
                Event::Died(Some(death)) => break self.with_group(death).await,
                Event::Died(None) => break End::default(),
                Event::Note(note) => self.note(note),
                Event::ClientGone => {
                    self.client_gone = true;
                    self.end(EndReason::Stopped, libc::SIGKILL, Duration::ZERO);
                }
                Event::Time => {
                    if self.on_time() {
                        break End::default();
                    }
                }
            }
        };
        self.finish(end)
    }

    async fn next(&mut self) -> Event {
        let wake_at = self.wake_at();
        let quiet_period = matches!(
            self.phase,
            Phase::Held {
                quiet_period: true,
                ..
            }
        );
        let (message, death) = match &mut self.phase {
            Phase::Held { messages, .. } => (Some(messages), None),
            Phase::Running { death, .. } => (None, Some(death)),
        };
        tokio::select! {
            // The end first: once a process was waited for, nothing may be sent to its number. The streams last: one
            // that never runs dry would let nothing else have its turn.
            biased;
            message = async { match message { Some(messages) => messages.recv().await, None => pending().await } } => Event::StartMessage(message),
            death = async { match death { Some(death) => death.await.ok(), None => pending().await } } => Event::Died(death),
            Some(order) = self.orders.recv() => Event::Order(order),
            () = self.events.closed(), if !self.client_gone => Event::ClientGone,
            () = sleep_until(wake_at) => Event::Time,
            note = self.stdout.pump(), if !quiet_period => Event::Note(note),
            note = self.stderr.pump(), if !quiet_period => Event::Note(note),
        }
    }

    /// The next instant at which something is due.
    fn wake_at(&self) -> Instant {
        let termination = self
            .termination
            .as_ref()
            .map(|termination| termination.kill_at.unwrap_or(termination.give_up_at));
        let limit = self.limit().filter(|_| self.termination.is_none());
        let ready = self
            .ready
            .as_ref()
            .filter(|_| self.begun.is_some())
            .map(|ready| ready.ask_at.min(ready.until));
        let due = [termination, limit, ready, self.stream_at];
        let due = due.into_iter().flatten().min();
        due.unwrap_or_else(|| Instant::now() + Duration::from_secs(86400))
    }

    /// When its time is over: that of all, or that of its silence.
    fn limit(&self) -> Option<Instant> {
        let heard = self.stdout.heard_at().max(self.stderr.heard_at());
        let silent_until = (self.step.silence.zip(self.begun_at))
            .and_then(|(silence, begun)| heard.unwrap_or(begun).checked_add(silence));
        [self.limit, silent_until].into_iter().flatten().min()
    }

    /// Does what is due. True: the process can't be killed, the step ends without it.
    fn on_time(&mut self) -> bool {
        let now = Instant::now();
        if self.stream_at.is_some_and(|at| at <= now) {
            self.stream(now);
        }
        if let Some(termination) = &mut self.termination {
            if termination.kill_at.is_some_and(|at| at <= now) {
                termination.kill_at = None;
                self.signal(libc::SIGKILL);
            } else if termination.give_up_at <= now {
                return true;
            }
        } else if self.limit().is_some_and(|limit| limit <= now) {
            match self.phase {
                Phase::Held { .. } => {
                    self.end(EndReason::NeverReleased, libc::SIGKILL, Duration::ZERO)
                }
                Phase::Running { .. } => self.end_politely(EndReason::TimedOut),
            }
        }
        self.ask_whether_ready(now);
        false
    }

    fn ask_whether_ready(&mut self, now: Instant) {
        let Some(ready) = self.ready.as_mut().filter(|_| self.begun.is_some()) else {
            return;
        };
        if ready.ask_at <= now && ready.ask() {
            self.is_ready();
        } else if ready.until <= now {
            let why = ready.why();
            self.ready = None;
            self.end_politely(EndReason::NeverReady { why });
        }
    }

    fn is_ready(&mut self) {
        self.ready = None;
        send_event(&self.events, StepEvent::Ready(clocks::now()));
    }

    /// Takes a message of the held process; gives the end if it is the last one.
    fn on_start_message(&mut self, message: StartMessage) -> Option<End> {
        let Phase::Held {
            process,
            door,
            held: now_held,
            release_at,
            ..
        } = &mut self.phase
        else {
            return None;
        };
        match message {
            StartMessage::Started(started) => {
                let (pid, at) = (started.pid, started.at);
                // Already now: once let go, it may end before that is heard.
                *process = Some((started, self.reaper.expect(pid)));
                self.has_started(pid, at);
                if self.termination.is_some() {
                    self.signal(libc::SIGKILL);
                }
            }
            StartMessage::Held(held) => {
                *now_held = Some(held);
                send_event(&self.events, StepEvent::Held(held));
                if let Some(at) = release_at.take() {
                    self.let_go(at);
                }
            }
            StartMessage::Begun(at) => {
                let (Started { pid, .. }, death) = process.take()?;
                *door = None;
                self.reaper.let_go(pid);
                self.phase = Phase::Running { pid, death };
                send_event(&self.events, StepEvent::Begun(at));
                self.has_begun(at);
                if self.termination.is_some() {
                    self.signal(libc::SIGKILL);
                }
            }
            StartMessage::Died(death) => {
                if let Some((Started { pid, .. }, _)) = process {
                    self.reaper.forget(*pid);
                }
                return Some(End::from_death(death));
            }
            StartMessage::Failed(error) => {
                // Or it was let go and closed in again, and somebody else saw its end.
                let seen = process
                    .take()
                    .and_then(|(_, mut death)| death.try_recv().ok());
                return Some(seen.map_or_else(|| End::never(error.to_string()), End::from_death));
            }
        }
        None
    }

    fn has_started(&self, pid: Pid, at: Moment) {
        let _only_once = self.pid.set(pid.as_raw());
        send_event(
            &self.events,
            StepEvent::Started {
                pid: pid.as_raw().unsigned_abs(),
                at,
            },
        );
    }

    fn has_begun(&mut self, at: Moment) {
        self.begun = Some(at);
        self.begun_at = Some(Instant::now());
        self.limit = Instant::now().checked_add(self.step.timeout);
        if let (Some(awaited), Some(ready)) = (&mut self.ready, &self.step.ready) {
            awaited.begin(ready.timeout);
        }
    }

    fn note(&mut self, note: SpoolNote) {
        let said_so = matches!(note, SpoolNote::Line);
        match fault(note) {
            Some(reason) => self.end_politely(reason),
            None if said_so => self.said_so(),
            None => {}
        }
        self.plan_stream(Instant::now());
    }

    /// Plans to send what wasn't sent yet: as soon as it may.
    fn plan_stream(&mut self, now: Instant) {
        if self.stream_at.is_none() && (self.stdout.has_unsent() || self.stderr.has_unsent()) {
            let until = self.streamed_until.unwrap_or(now);
            let earliest = until.checked_sub(STREAM_PAUSE * STREAM_BURST);
            self.stream_at = Some(earliest.unwrap_or(now).max(now));
        }
    }

    /// Sends a piece of each stream, unless who listens hasn't taken those before. What is left then comes later, or at the end.
    fn stream(&mut self, now: Instant) {
        for (spool, event) in [
            (
                &mut self.stdout,
                StepEvent::Stdout as fn(Bytes) -> StepEvent,
            ),
            (&mut self.stderr, StepEvent::Stderr),
        ] {
            if !spool.has_unsent() || self.events.capacity() <= OTHER_EVENTS {
                continue;
            }
            // One that can't be read is said at the end.
            if let Ok(piece) = spool.next_piece(STREAMED_PIECE) {
                send_event(&self.events, event(piece.into()));
            }
        }
        let until = self.streamed_until.unwrap_or(now).max(now);
        self.streamed_until = Some(until + STREAM_PAUSE);
        self.stream_at = None;
        self.plan_stream(now);
    }

    /// The line was seen; perhaps on the second stream too, and then it is nothing new.
    fn said_so(&mut self) {
        if self.ready.is_some() {
            self.is_ready();
        }
    }

    fn obey(&mut self, order: StepOrder) {
        match order {
            StepOrder::Release(at) => self.let_go(at),
            StepOrder::Stop { signal, grace } => {
                let (signal, grace) = (
                    signal.unwrap_or(self.step.stop_signal),
                    grace.unwrap_or(self.step.grace),
                );
                self.end(EndReason::Stopped, signal, grace);
            }
            StepOrder::EndTrial => self.end(EndReason::TrialEnded, libc::SIGKILL, Duration::ZERO),
        }
    }

    /// Lets a held program go, or remembers to, if it isn't there yet.
    fn let_go(&mut self, at: u64) {
        let Phase::Held {
            door: Some(door),
            process,
            held,
            release_at,
            quiet_period,
            ..
        } = &mut self.phase
        else {
            return;
        };
        let (Some((Started { pid, .. }, _)), Some(held)) = (process, held) else {
            *release_at = Some(at);
            return;
        };
        let _it_died_meanwhile = door.send(at);
        *quiet_period = true;
        if *held != HoldState::BeforeExec {
            // Its end is seen when it happens, though it is heard only after the quiet_period.
            self.reaper.let_go(*pid);
        }
    }

    fn end_politely(&mut self, reason: EndReason) {
        self.end(reason, self.step.stop_signal, self.step.grace);
    }

    /// Begins to end the step. The first reason stays; a shorter grace wins.
    fn end(&mut self, reason: EndReason, signal: i32, grace: Duration) {
        // A held program can't obey a signal.
        let signal = match self.phase {
            Phase::Held { .. } => libc::SIGKILL,
            Phase::Running { .. } => signal,
        };
        let now = Instant::now();
        let kill_at = now
            .checked_add(grace)
            .unwrap_or(now + Duration::from_secs(86400));
        match &mut self.termination {
            None => {
                self.termination = Some(Termination {
                    reason,
                    signal,
                    kill_at: Some(kill_at),
                    give_up_at: kill_at + DEATH_LIMIT,
                })
            }
            Some(Termination {
                signal: first,
                kill_at: Some(at),
                give_up_at,
                ..
            }) if kill_at < *at => {
                (*at, *give_up_at) = (kill_at, kill_at + DEATH_LIMIT);
                *first = signal;
            }
            Some(_) => {}
        }
        // Closed, the thread waits for the end that is brought about here.
        if let Phase::Held { door, .. } = &mut self.phase {
            *door = None;
        }
        self.signal(signal);
    }

    fn signal(&self, signal: i32) {
        match &self.phase {
            Phase::Held { process, .. } => {
                if let Some((started, _)) = process {
                    started.kill();
                }
            }
            Phase::Running { pid, .. } => procs::signal_group(pid.as_raw(), signal),
        }
    }

    /// After the end of its main process: if we ended the step, the rest of its group has until the end of the grace.
    async fn with_group(&mut self, death: Death) -> End {
        let Phase::Running { pid, .. } = self.phase else {
            return End::from_death(death);
        };
        let Some(termination) = &self.termination else {
            return End::from_death(death);
        };
        let (mut kill_at, give_up_at) = (
            termination.kill_at.unwrap_or_else(Instant::now),
            termination.give_up_at,
        );
        // The number stays the group's as long as the group has a member.
        let rest = || {
            procs::all()
                .into_iter()
                .filter(|process| process.group == pid.as_raw() && !process.zombie)
        };
        loop {
            let now = Instant::now();
            let left = if now < kill_at {
                rest().count()
            } else {
                rest().filter(procs::kill).count()
            };
            if left == 0 || now >= give_up_at {
                return End::from_death(death);
            }
            tokio::select! {
                Some(StepOrder::EndTrial) = self.orders.recv() => kill_at = now,
                _over = self.stdout.pump() => {}
                _over = self.stderr.pump() => {}
                () = sleep(GROUP_PAUSE) => {}
            }
        }
    }

    fn finish(mut self, end: End) -> (Finished, Spool, Spool) {
        for note in self.stdout.drain().into_iter().chain(self.stderr.drain()) {
            let said_so = matches!(note, SpoolNote::Line);
            match fault(note) {
                Some(reason) => {
                    self.termination
                        .get_or_insert_with(|| Termination::already(reason));
                }
                None if said_so => self.said_so(),
                None => {}
            }
        }
        // A server that becomes a daemon: its first process ends, and it is ready.
        if self.begun.is_some()
            && self
                .ready
                .as_mut()
                .is_some_and(ready::PendingCondition::ask)
        {
            self.is_ready();
        }
        let mut reason = self.reason(&end);
        let is_expected =
            matches!(end.exit, Some(ProcessExit::Code(code)) if self.step.expect.contains(&code));
        if matches!(
            reason,
            EndReason::Exited | EndReason::ExitedBeforeReady { .. }
        ) && let Some(why) = self.limit_reached(is_expected)
        {
            reason = EndReason::LimitReached { why };
        }
        let stopped = self.step.background && reason == EndReason::Stopped;
        let by_itself = reason == EndReason::Exited && is_expected;
        let finished = Finished {
            reason,
            exit: end.exit,
            as_expected: stopped || by_itself,
            begun: self.begun,
            ended: end.at.unwrap_or_else(clocks::now),
            usage: end.usage,
            stdout_bytes: self.stdout.seen(),
            stderr_bytes: self.stderr.seen(),
            truncated: self.stdout.truncated() || self.stderr.truncated(),
        };
        (finished, self.stdout, self.stderr)
    }

    fn reason(&mut self, end: &End) -> EndReason {
        if let Some(termination) = self
            .termination
            .take()
            .filter(|termination| !termination.came_late(end.exit))
        {
            return termination.reason;
        }
        if let Some(why) = &end.never {
            return EndReason::CannotStart {
                why: format!("{}: {why}", self.program),
            };
        }
        if let Some(program) = self.unknown_to_the_shell(end.exit) {
            return EndReason::NotFound { program };
        }
        match &self.ready {
            Some(ready) => EndReason::ExitedBeforeReady { why: ready.why() },
            None => EndReason::Exited,
        }
    }

    /// What a limit of the trial did while the step ran, if it explains its end, or spoils one that looks well.
    fn limit_reached(&self, is_expected: bool) -> Option<String> {
        let hits = self.limits.as_ref()?.hits();
        let earlier = |hit: &LimitHit| {
            let mut earlier = self.earlier_hits.iter();
            let found = earlier.find(|it| it.limit == hit.limit);
            found.map_or(0, |it| it.count)
        };
        let new = hits.iter().filter(|hit| hit.count > earlier(hit));
        let telling = new.filter(|hit| hit.fatal || !is_expected);
        let sentences = telling.map(|hit| format!("`{}` ({})", hit.limit, hit.about));
        let sentences: Vec<String> = sentences.collect();
        (!sentences.is_empty()).then(|| sentences.join(", "))
    }

    /// The program that a shell looked for in vain: its step's own, or that of a script.
    fn unknown_to_the_shell(&self, exit: Option<ProcessExit>) -> Option<String> {
        const NOT_FOUND: i32 = 127;
        if exit != Some(ProcessExit::Code(NOT_FOUND)) || self.step.expect.contains(&NOT_FOUND) {
            return None;
        }
        missing_program(&self.stderr.read(0, PIECE).ok()?)
    }
}

/// The program that a shell says last it didn't find: `sh: 1: iperf3: not found`, `bash: line 1: iperf3: command not found`, and
/// `./script: 3: exec: iperf3: not found`.
fn missing_program(stderr: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(stderr);
    text.lines().rev().find_map(|line| {
        let said = line.strip_suffix(" not found")?;
        let said = said.strip_suffix(": command").or(said.strip_suffix(':'))?;
        let (teller, program) = said.rsplit_once(": ")?;
        let teller = teller.strip_suffix(": exec").unwrap_or(teller);
        let line_number = teller.rsplit([' ', ':']).next()?;
        let is_shell = teller.ends_with("sh") || line_number.parse::<u32>().is_ok();
        let is_program = !program.is_empty() && !program.contains(' ');
        (is_shell && is_program).then(|| program.to_owned())
    })
}

/// The end of a step's process.
#[derive(Default)]
struct End {
    exit: Option<ProcessExit>,
    usage: Option<crate::step::ProcessUsage>,
    at: Option<Moment>,
    /// Set if there never was one: the system's words.
    never: Option<String>,
}

impl End {
    fn from_death(death: Death) -> Self {
        Self {
            exit: Some(death.exit),
            usage: Some(death.usage),
            at: Some(death.at),
            never: None,
        }
    }

    fn never(why: String) -> Self {
        Self {
            never: Some(why),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_that_misses_a_program_names_it() {
        for (said, program) in [
            ("sh: 1: iperf3: not found\n", Some("iperf3")),
            ("/bin/sh: 3: fio: not found", Some("fio")),
            ("sh: fio: not found", Some("fio")),
            ("bash: line 1: nft: command not found", Some("nft")),
            ("/bin/sh: 1: exec: nginx: not found", Some("nginx")),
            ("./run: 12: perf: not found\nmore", Some("perf")),
            ("sh: 1: a: not found\nsh: 2: b: not found", Some("b")),
            ("error: the thing was not found", None),
            ("cc: not found", None),
            ("sh: 1: two words: not found", None),
            ("ld: error: libx: not found", None),
            ("", None),
        ] {
            assert_eq!(
                missing_program(said.as_bytes()).as_deref(),
                program,
                "{said}"
            );
        }
    }

    #[test]
    fn what_was_killed_by_another_was_not_stopped_however_late_the_news_is() {
        let termination = |signal, kill_at| Termination {
            reason: EndReason::Stopped,
            signal,
            kill_at,
            give_up_at: Instant::now(),
        };
        let later = Some(Instant::now());
        let killed = Some(ProcessExit::Signal(libc::SIGKILL));
        assert!(termination(libc::SIGTERM, later).came_late(killed));
        // By us: after its grace, or at once.
        assert!(!termination(libc::SIGTERM, None).came_late(killed));
        assert!(!termination(libc::SIGKILL, later).came_late(killed));
        assert!(
            !termination(libc::SIGTERM, later).came_late(Some(ProcessExit::Signal(libc::SIGTERM)))
        );
        assert!(!termination(libc::SIGTERM, later).came_late(Some(ProcessExit::Code(0))));
    }
}
