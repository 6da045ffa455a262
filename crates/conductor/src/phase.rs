//! One phase of a trial: the steps of each role in order, the roles side by side.
//!
//! The first failure ends the phase on every role: what runs is stopped, what waits gives up. The phases
//! that put things back (`reset`, `teardown`) do all their steps whatever fails.
//!
//! Every step has a time limit, and so has a barrier: the limits of the steps that it waits for.

use backsight_agent::{
    AgentError, Condition, CoreFiles, EndReason, Finished, ProcessExit, RunningStep, StepCommand,
    StepEvent, StepId, StepOutcome,
};
use backsight_model::{
    Ending, Event, Failure, FilledAction, FilledStep, HostName, Meeting, MonitorName, Phase,
    ReadyWhen, ResourceUsage, RoleTrial, StepOutput, StepRecord, StopSignal,
};
use futures_util::future::{join_all, select_all};
use indexmap::{IndexMap, IndexSet};
use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::{sync::watch, task::JoinHandle, time::timeout};

use crate::{
    Events,
    barriers::{Barriers, InstanceStep},
    hosts::Connected,
    notice::Notice,
    start_line::{Agreed, MeetingPoints, StartLine},
};

/// Longest piece of a program's own words that a failure quotes, in characters.
const QUOTED: usize = 300;

/// How much later than a failure the news of a killed program that explains it may come: a machine that is busy with other
/// things tells it late.
const NEWS_LIMIT: Duration = Duration::from_secs(1);

/// A program that was spawned and goes on.
pub(crate) struct SpawnedProgram {
    id: StepId,
    pub(crate) place: StepPosition,
    pub(crate) started: Started,
    /// Takes in what it prints, until its end.
    task: JoinHandle<()>,
    outcome: Arc<OnceLock<Result<StepOutcome, AgentError>>>,
}

/// A program that goes on and is one monitor or several.
pub(crate) struct RunningMonitors {
    pub(crate) program: SpawnedProgram,
    pub(crate) members: Vec<StepPosition>,
}

/// Whose step it is.
#[derive(Clone)]
pub(crate) struct StepPosition {
    pub(crate) role: usize,
    pub(crate) phase: Phase,
    pub(crate) number: usize,
    pub(crate) command: String,
    /// The monitor that it is, if it is one.
    pub(crate) monitor: Option<MonitorName>,
}

impl StepPosition {
    fn of_instance(&self) -> InstanceStep {
        InstanceStep {
            instance: self.role,
            phase: self.phase,
            number: self.number,
        }
    }
}

/// What is known of a program since it began.
#[derive(Clone, Copy, Default)]
pub(crate) struct Started {
    pub(crate) wall_ns: i64,
    pub(crate) monotonic_ns: u64,
    /// When that was heard of; none: it hasn't begun.
    pub(crate) heard: Option<Instant>,
}

/// What a step printed on both of its streams.
type StepStreams = (Vec<u8>, Vec<u8>);

/// Why a role's part of a phase ended early.
enum Halt {
    Failed(Failure),
    /// Somebody else failed, or the user stopped it.
    Cancelled,
}

/// What to do about a program that a host doesn't have: of the benchmark, or of a monitor.
pub(crate) type Install<'a> = dyn Fn(Option<&MonitorName>, &str, &Connected) -> String + Sync + 'a;

/// The hosts and roles of the trial that is under way, and what came of it so far.
pub(crate) struct RunningTrial<'a> {
    pub(crate) hosts: &'a IndexMap<HostName, Connected>,
    pub(crate) spools: HashMap<HostName, PathBuf>,
    pub(crate) roles: &'a [RoleTrial],
    pub(crate) events: &'a Events,
    /// What to do about a program that a host doesn't have.
    pub(crate) install: &'a Install<'a>,
    /// The user wants to stop.
    pub(crate) stop: watch::Receiver<bool>,
    pub(crate) next_step: AtomicU64,
    spawned: Mutex<Vec<SpawnedProgram>>,
    /// Monitors that go on.
    pub(crate) watching: Mutex<Vec<RunningMonitors>>,
    /// How many spawned programs have ended.
    pub(crate) ended: watch::Sender<usize>,
    records: Mutex<Vec<StepRecord>>,
    /// Where its programs wait for each other; none where nobody is to wait.
    barriers: Option<Barriers>,
    starts: Mutex<Vec<Meeting>>,
    /// How long before programs begin together their hosts are told.
    notice: Arc<Mutex<Notice>>,
}

impl<'a> RunningTrial<'a> {
    pub(crate) fn new(
        hosts: &'a IndexMap<HostName, Connected>,
        spools: HashMap<HostName, PathBuf>,
        roles: &'a [RoleTrial],
        events: &'a Events,
        install: &'a Install<'a>,
        stop: watch::Receiver<bool>,
    ) -> Self {
        Self {
            hosts,
            spools,
            roles,
            events,
            install,
            stop,
            next_step: AtomicU64::new(1),
            spawned: Mutex::default(),
            watching: Mutex::default(),
            ended: watch::channel(0).0,
            records: Mutex::default(),
            barriers: None,
            starts: Mutex::default(),
            notice: Arc::default(),
        }
    }

    /// Its programs may wait for each other at these barriers.
    pub(crate) fn with_barriers(self, barriers: Barriers) -> Self {
        Self {
            barriers: Some(barriers),
            ..self
        }
    }

    /// Telling its hosts takes so long.
    pub(crate) fn with_notice(self, notice: Arc<Mutex<Notice>>) -> Self {
        Self { notice, ..self }
    }

    /// How exactly programs began and passed barriers together.
    pub(crate) async fn meetings(&self) -> Vec<Meeting> {
        let starts =
            std::mem::take(&mut *self.starts.lock().unwrap_or_else(PoisonError::into_inner));
        let passed = match &self.barriers {
            Some(barriers) => barriers.meetings().await,
            None => Vec::new(),
        };
        starts.into_iter().chain(passed).collect()
    }

    /// Every step that has ended, in the order of role, phase and number.
    pub(crate) fn into_records(self) -> Vec<StepRecord> {
        let mut records = self
            .records
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let role = |record: &StepRecord| {
            let mut roles = self.roles.iter();
            roles.position(|r| r.role == record.role && r.host == record.host)
        };
        records.sort_by_key(|record| (record.phase, role(record), record.number));
        records
    }

    /// Does a phase on every role.
    ///
    /// # Errors
    /// The first failure. A user's stop is `None`.
    pub(crate) async fn phase(&self, phase: Phase) -> Result<(), Option<Failure>> {
        if !self
            .roles
            .iter()
            .any(|role| role.steps.contains_key(&phase))
        {
            return Ok(());
        }
        self.events.emit(&Event::PhaseStarted { phase });
        let meetings = MeetingPoints::new(self.roles, phase, &self.notice);
        let (cancel, _) = watch::channel(false);
        let first: Mutex<Option<Failure>> = Mutex::default();
        let fail = |failure: Failure| {
            let mut first = first.lock().unwrap_or_else(PoisonError::into_inner);
            // A lost host explains every other failure.
            if first
                .as_ref()
                .is_none_or(|known| failure.host_lost && !known.host_lost)
            {
                *first = Some(failure);
            }
            if !phase.always() {
                cancel.send_replace(true);
            }
        };
        let drivers = join_all(self.roles.iter().enumerate().map(|(role, _)| {
            let (meetings, cancel, fail) = (&meetings, &cancel, &fail);
            async move {
                if let Err(Halt::Failed(failure)) = self.drive(role, phase, meetings, cancel).await
                {
                    fail(failure);
                }
            }
        }));
        tokio::pin!(drivers);
        tokio::select! {
            _ = &mut drivers => {}
            lost = self.first_lost() => {
                // The steps on the other hosts end first; theirs is the time limit.
                fail(lost);
                cancel.send_replace(true);
                drivers.await;
            }
            died = self.first_to_die(|_| true) => {
                // Whoever needs it would wait for it until a time limit.
                fail(died);
                drivers.await;
            }
            failed = self.first_barrier_failure(phase) => {
                let reason = failed.to_string();
                fail(failed);
                if let Some(barriers) = &self.barriers {
                    barriers.close(&reason);
                }
                drivers.await;
            }
            () = self.stopped_by_user(phase) => {
                cancel.send_replace(true);
                drivers.await;
                return Err(None);
            }
        }
        self.starts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(meetings.kept());
        let first = first.lock().unwrap_or_else(PoisonError::into_inner).take();
        match first {
            Some(failure) => Err(Some(self.explained(failure).await)),
            None => Ok(()),
        }
    }

    /// A program that was killed explains what failed where it was needed, also when the news of it comes second.
    async fn explained(&self, failure: Failure) -> Failure {
        let alone = self
            .spawned
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_empty();
        if failure.host_lost || alone {
            return failure;
        }
        let killed = self.first_to_die(|exit| matches!(exit, Some(ProcessExit::Signal(_))));
        timeout(NEWS_LIMIT, killed).await.unwrap_or(failure)
    }

    async fn stopped_by_user(&self, phase: Phase) {
        let mut stop = self.stop.clone();
        if phase.always() || stop.wait_for(|stop| *stop).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// The first barrier that can't be passed any more.
    async fn first_barrier_failure(&self, phase: Phase) -> Failure {
        match &self.barriers {
            Some(barriers) if !phase.always() => barriers.failure().await,
            _ => std::future::pending().await,
        }
    }

    /// The first host to go away.
    async fn first_lost(&self) -> Failure {
        let watches = self.hosts.values().map(|host| {
            Box::pin(async move {
                host.client.closed().await;
                host
            })
        });
        let watches: Vec<_> = watches.collect();
        if watches.is_empty() {
            std::future::pending::<()>().await;
        }
        let (host, _, _) = select_all(watches).await;
        Failure {
            host: Some(host.name.clone()),
            host_lost: true,
            ..Failure::of_trial("the agent on this host went away")
        }
    }

    /// The first spawned program to end by itself, not well, and in such a way.
    async fn first_to_die(&self, such: impl Fn(Option<ProcessExit>) -> bool) -> Failure {
        let mut ended = self.ended.subscribe();
        loop {
            ended.borrow_and_update();
            let died = {
                let spawned = self.spawned.lock().unwrap_or_else(PoisonError::into_inner);
                spawned
                    .iter()
                    .find_map(|spawned| self.death(spawned, &such))
            };
            if let Some(died) = died {
                return died;
            }
            if ended.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Why a spawned program's end is a failure, if it has ended and it is one. That its host is gone is seen
    /// elsewhere.
    fn death(
        &self,
        spawned: &SpawnedProgram,
        such: &impl Fn(Option<ProcessExit>) -> bool,
    ) -> Option<Failure> {
        let Some(Ok(StepOutcome {
            finished,
            stdout,
            stderr,
        })) = spawned.outcome.get()
        else {
            return None;
        };
        if !such(finished.exit) {
            return None;
        }
        let host = self.host(spawned.place.role).ok()?;
        self.judge(&spawned.place, finished, (stdout, stderr), host)
    }

    /// One role's part of a phase.
    async fn drive(
        &self,
        role: usize,
        phase: Phase,
        meetings: &MeetingPoints,
        cancel: &watch::Sender<bool>,
    ) -> Result<(), Halt> {
        let steps = self.roles[role]
            .steps
            .get(&phase)
            .map_or(&[][..], Vec::as_slice);
        let mut first_failure = Ok(());
        for (number, step) in steps.iter().enumerate() {
            if let Some(barrier) = meetings.barriers.get(&(role, number)) {
                let mut cancelled = cancel.subscribe();
                tokio::select! {
                    _ = barrier.wait() => {}
                    () = until_true(&mut cancelled) => return Err(Halt::Cancelled),
                }
            }
            let done = match &step.action {
                FilledAction::Barrier(_) => Ok(()),
                FilledAction::Run | FilledAction::Spawn { .. } => {
                    let place = StepPosition {
                        role,
                        phase,
                        number,
                        command: step.command.clone(),
                        monitor: None,
                    };
                    let line = meetings.starts.get(&(role, number)).cloned();
                    self.step(place, step, line, cancel).await
                }
            };
            match done {
                Ok(()) => {}
                Err(Halt::Failed(failure)) if phase.always() && !failure.host_lost => {
                    if first_failure.is_ok() {
                        first_failure = Err(Halt::Failed(failure));
                    }
                }
                Err(halt) => return Err(halt),
            }
        }
        first_failure
    }

    /// The core files that programs of a suite left, by host, up to a limit in bytes; nothing of a host that went away.
    pub(crate) async fn take_core_files(&self, mut limit: u64) -> Vec<(HostName, CoreFiles)> {
        let runs_tests = |role: &&RoleTrial| {
            let steps = role.steps.get(&Phase::Run).into_iter().flatten();
            steps.into_iter().any(|step| step.core_limit.is_some())
        };
        let roles = self.roles.iter().filter(runs_tests);
        let hosts: IndexSet<&HostName> = roles.map(|role| &role.host).collect();
        let mut all = Vec::new();
        for host in hosts.into_iter().filter_map(|host| self.hosts.get(host)) {
            match host.client.take_core_files(limit).await {
                Ok(taken) => {
                    let contents = taken.files.iter().filter_map(|it| it.content.as_ref());
                    limit -= contents.map(|it| it.len() as u64).sum::<u64>().min(limit);
                    all.push((host.name.clone(), taken));
                }
                Err(error) => tracing::debug!(host = %host.name, %error, "no core files"),
            }
        }
        all
    }

    fn host(&self, role: usize) -> Result<&Connected, Halt> {
        let trial = &self.roles[role];
        self.host_of(role).ok_or_else(|| {
            Halt::Failed(Failure {
                host: Some(trial.host.clone()),
                host_lost: true,
                ..Failure::of_trial("no agent on this host")
            })
        })
    }

    pub(crate) fn host_of(&self, role: usize) -> Option<&Connected> {
        self.hosts.get(&self.roles[role].host)
    }

    fn failure(&self, place: &StepPosition, reason: String, host_lost: bool) -> Failure {
        let trial = &self.roles[place.role];
        Failure {
            reason,
            host: Some(trial.host.clone()),
            role: Some(trial.role.clone()),
            phase: Some(place.phase),
            host_lost,
        }
    }

    pub(crate) fn agent_failure(&self, place: &StepPosition, error: &AgentError) -> Failure {
        match error {
            AgentError::Lost { why } => self.failure(
                place,
                format!("the agent on this host went away: {why}"),
                true,
            ),
            // An agent that doesn't keep its limits is as good as gone.
            AgentError::Deadline { .. } => self.failure(place, error.to_string(), true),
            other => self.failure(place, format!("`{}`: {other}", place.command), false),
        }
    }

    #[tracing::instrument(
        level = "debug",
        skip_all,
        fields(
            role = %self.roles[place.role].role,
            host = %self.roles[place.role].host,
            phase = %place.phase,
            command = shortened(&place.command),
        )
    )]
    async fn step(
        &self,
        place: StepPosition,
        step: &FilledStep,
        line: Option<Arc<StartLine>>,
        cancel: &watch::Sender<bool>,
    ) -> Result<(), Halt> {
        let host = self.host(place.role)?;
        let trial = &self.roles[place.role];
        self.events.emit(&Event::StepStarted {
            role: trial.role.clone(),
            host: trial.host.clone(),
            phase: place.phase,
            command: place.command.clone(),
        });
        let id = self.next_step.fetch_add(1, Ordering::Relaxed);
        if let Some(barriers) = &self.barriers {
            barriers.begin_step(StepId(id), place.of_instance());
        }
        let asked = agent_step(id, step, line.is_some());
        let mut run = match host.client.run(asked).await {
            Ok(run) => run,
            Err(error) => {
                let failure = self.agent_failure(&place, &error);
                self.lost_step(&place, id, Started::default(), host, StepStreams::default());
                return Err(Halt::Failed(failure));
            }
        };
        let spawned = matches!(step.action, FilledAction::Spawn { .. });
        let awaits_ready = matches!(&step.action, FilledAction::Spawn { ready: Some(_), .. });
        let mut output = StepStreams::default();
        let mut started = Started::default();
        let mut cancelled = cancel.subscribe();
        let (mut held, mut stopping) = (false, false);
        loop {
            let event = tokio::select! {
                event = run.next() => event,
                () = until_true(&mut cancelled), if !stopping => {
                    stopping = true;
                    if let Err(error) = host.client.stop(run.step(), None, None).await {
                        let failure = self.agent_failure(&place, &error);
                        self.lost_step(&place, id, started, host, output);
                        return Err(Halt::Failed(failure));
                    }
                    continue;
                }
                (line, agreed) = release(line.as_deref()), if held => {
                    held = false;
                    let start_ns = host.on_its_clock(agreed.start_ns);
                    if let Err(error) = host.client.release(run.step(), start_ns).await {
                        return Err(Halt::Failed(self.agent_failure(&place, &error)));
                    }
                    line.heard(agreed);
                    continue;
                }
            };
            match event {
                Ok(Some(event @ (StepEvent::Started { at, .. } | StepEvent::Begun(at)))) => {
                    if let (Some(line), StepEvent::Begun(_)) = (&line, event) {
                        line.begin(
                            (place.role, place.number),
                            host.on_our_clock(at.monotonic_ns),
                        );
                    }
                    let held_first = line.is_some() && started.monotonic_ns == 0;
                    started = Started {
                        wall_ns: at.wall_ns,
                        monotonic_ns: at.monotonic_ns,
                        heard: Some(Instant::now()),
                    };
                    if spawned && !awaits_ready && !held_first && !stopping {
                        self.go_on(self.keep(run, place, started));
                        return Ok(());
                    }
                }
                Ok(Some(StepEvent::Held(_))) => {
                    held = true;
                    if let Some(line) = &line {
                        line.arrive();
                    }
                }
                Ok(Some(StepEvent::Ready(_))) if spawned && !stopping => {
                    self.go_on(self.keep(run, place, started));
                    return Ok(());
                }
                Ok(Some(StepEvent::Ready(_))) => {}
                Ok(Some(StepEvent::Stdout(piece))) => output.0.extend_from_slice(&piece),
                Ok(Some(StepEvent::Stderr(piece))) => output.1.extend_from_slice(&piece),
                Ok(Some(StepEvent::Finished(finished))) => {
                    let judged = || {
                        let output = (&output.0[..], &output.1[..]);
                        self.judge(&place, &finished, output, host)
                    };
                    let is_result = step.tolerant && is_end_of_tests(&finished);
                    let failure = (!is_result).then(judged).flatten();
                    self.finish(&place, spawned, started, &finished, output);
                    if failure.is_none()
                        && !stopping
                        && let Some(barriers) = &self.barriers
                    {
                        barriers.ended_steps().end(place.of_instance());
                    }
                    return match failure {
                        _ if stopping => Err(Halt::Cancelled),
                        Some(failure) => Err(Halt::Failed(failure)),
                        None => Ok(()),
                    };
                }
                Ok(None) => return Ok(()),
                Err(error) => {
                    let failure = self.agent_failure(&place, &error);
                    self.lost_step(&place, id, started, host, output);
                    return Err(Halt::Failed(failure));
                }
            }
        }
    }

    /// A program that goes on, from now on taken in by a task of its own.
    pub(crate) fn keep(
        &self,
        run: RunningStep,
        place: StepPosition,
        started: Started,
    ) -> SpawnedProgram {
        let (id, outcome) = (run.step(), Arc::new(OnceLock::new()));
        let (slot, ended) = (Arc::clone(&outcome), self.ended.clone());
        let barriers = self.barriers.as_ref().filter(|_| place.monitor.is_none());
        let ended_steps = barriers.map(Barriers::ended_steps);
        let step_of = place.of_instance();
        let task = tokio::spawn(async move {
            let outcome = run.outcome().await;
            let ended_well = matches!(&outcome, Ok(outcome) if outcome.finished.as_expected);
            let _ = slot.set(outcome);
            ended.send_modify(|ended| *ended += 1);
            if let Some(ended_steps) = ended_steps.filter(|_| ended_well) {
                ended_steps.end(step_of);
            }
        });
        SpawnedProgram {
            id,
            place,
            started,
            task,
            outcome,
        }
    }

    fn go_on(&self, spawned: SpawnedProgram) {
        self.spawned
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(spawned);
    }

    /// Stops every spawned program and takes in what it printed.
    ///
    /// # Errors
    /// One of them had ended by itself, and not well.
    pub(crate) async fn stop_spawned(&self) -> Result<(), Failure> {
        let not_passed = self.barriers.as_ref().and_then(Barriers::known_failure);
        if let Some(barriers) = &self.barriers {
            barriers.close("the trial is being put back");
        }
        let spawned =
            std::mem::take(&mut *self.spawned.lock().unwrap_or_else(PoisonError::into_inner));
        let ended = join_all(spawned.into_iter().map(|spawned| self.stop_one(spawned))).await;
        not_passed.map_or(Ok(()), Err)?;
        ended.into_iter().collect()
    }

    async fn stop_one(&self, spawned: SpawnedProgram) -> Result<(), Failure> {
        let (id, place, started) = (spawned.id, spawned.place.clone(), spawned.started);
        let Ok(host) = self.host(place.role) else {
            return Ok(());
        };
        match spawned.end(host).await {
            Ok(StepOutcome {
                finished,
                stdout,
                stderr,
            }) => {
                let failure = self.judge(&place, &finished, (&stdout, &stderr), host);
                self.finish(&place, true, started, &finished, (stdout, stderr));
                failure.map_or(Ok(()), Err)
            }
            Err(error) => {
                let failure = self.agent_failure(&place, &error);
                self.lost_step(&place, id.0, started, host, StepStreams::default());
                Err(failure)
            }
        }
    }

    /// Why a step that has ended is a failure, if it is one.
    pub(crate) fn judge(
        &self,
        place: &StepPosition,
        finished: &Finished,
        (stdout, stderr): (&[u8], &[u8]),
        host: &Connected,
    ) -> Option<Failure> {
        if finished.as_expected {
            return None;
        }
        let command = shortened(&place.command);
        let missing = |program: &str| match place.phase {
            // Those of a variant: what its benchmark needs says nothing about them.
            Phase::Setup | Phase::Teardown => format!("`{program}` is not installed"),
            _ => (self.install)(place.monitor.as_ref(), program, host),
        };
        let mut reason = match (&finished.reason, finished.exit) {
            (EndReason::NotFound { program }, _) => missing(program),
            (EndReason::Exited, Some(ProcessExit::Code(code))) => {
                format!("`{command}` exited with code {code}")
            }
            (EndReason::Exited, Some(exit)) => format!("`{command}` was killed by {exit}"),
            (EndReason::OutputLimit, _) => format!(
                "`{command}` wrote more than its output limit ({} bytes to stdout, {} to stderr); raise `output_limit` of this step if that much is right",
                finished.stdout_bytes, finished.stderr_bytes
            ),
            (EndReason::TimedOut, _) => {
                format!("`{command}` took longer than its time limit and was killed")
            }
            (other, _) => format!("`{command}` {other}"),
        };
        if let Some(words) = last_line(stderr).or_else(|| last_line(stdout)) {
            reason.push_str(": ");
            reason.push_str(&words);
        }
        Some(self.failure(place, reason, false))
    }

    pub(crate) fn finish(
        &self,
        place: &StepPosition,
        spawned: bool,
        started: Started,
        finished: &Finished,
        output: (Vec<u8>, Vec<u8>),
    ) {
        let usage = usage(finished);
        let began = finished.begun.map_or(started, |at| Started {
            wall_ns: at.wall_ns,
            monotonic_ns: at.monotonic_ns,
            heard: started.heard,
        });
        self.record(
            place,
            spawned,
            began,
            ending(finished),
            usage,
            StepOutput {
                printed: finished.stdout_bytes.max(output.0.len() as u64),
                bytes: output.0,
            },
            StepOutput {
                printed: finished.stderr_bytes.max(output.1.len() as u64),
                bytes: output.1,
            },
        );
    }

    /// A step whose host went away: what it had printed is still in the agent's files, if they are here; else as much as had come.
    pub(crate) fn lost_step(
        &self,
        place: &StepPosition,
        id: u64,
        started: Started,
        host: &Connected,
        (stdout, stderr): StepStreams,
    ) {
        let read = |stream: &str, came: Vec<u8>| {
            let spool = self.spools.get(&host.name).filter(|_| host.is_here());
            let bytes = spool
                .and_then(|folder| std::fs::read(folder.join(format!("{id}.{stream}"))).ok())
                .filter(|bytes| bytes.len() >= came.len())
                .unwrap_or(came);
            StepOutput {
                printed: bytes.len() as u64,
                bytes,
            }
        };
        let (stdout, stderr) = (read("stdout", stdout), read("stderr", stderr));
        let usage = ResourceUsage {
            wall: started.heard.map_or(0.0, |at| at.elapsed().as_secs_f64()),
            ..ResourceUsage::default()
        };
        self.record(place, false, started, Ending::Lost, usage, stdout, stderr);
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the parts of a record, put together in one place"
    )]
    fn record(
        &self,
        place: &StepPosition,
        spawned: bool,
        began: Started,
        ending: Ending,
        usage: ResourceUsage,
        stdout: StepOutput,
        stderr: StepOutput,
    ) {
        let trial = &self.roles[place.role];
        // A monitor is no step of the benchmark.
        if place.monitor.is_none() {
            self.events.emit(&Event::StepFinished {
                role: trial.role.clone(),
                host: trial.host.clone(),
                phase: place.phase,
                ending: ending.clone(),
                seconds: usage.wall,
            });
        }
        let record = StepRecord {
            role: trial.role.clone(),
            host: trial.host.clone(),
            phase: place.phase,
            number: place.number,
            command: place.command.clone(),
            spawned,
            monitor: place.monitor.clone(),
            began: jiff::Timestamp::from_nanosecond(i128::from(began.wall_ns)).unwrap_or_default(),
            began_monotonic: began.monotonic_ns,
            ending,
            usage,
            stdout,
            stderr,
        };
        self.records
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(record);
    }
}

impl SpawnedProgram {
    /// Asks it to end, and waits until it has.
    ///
    /// # Errors
    /// The agent's.
    pub(crate) async fn end(self, host: &Connected) -> Result<StepOutcome, AgentError> {
        let Self {
            id, task, outcome, ..
        } = self;
        if let Err(error) = host.client.stop(id, None, None).await {
            task.abort();
            return Err(error);
        }
        let _ended_in_its_outcome = task.await;
        let outcome = Arc::into_inner(outcome).and_then(OnceLock::into_inner);
        outcome.unwrap_or_else(|| {
            Err(AgentError::Lost {
                why: "nobody took in what it printed".into(),
            })
        })
    }

    /// Its number among the steps of the trial.
    pub(crate) fn number(&self) -> u64 {
        self.id.0
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.outcome.get().is_some()
    }
}

/// What puts a host back when nobody else does: `reset` and `teardown` of the roles on it.
pub(crate) fn undo(roles: &[RoleTrial], host: &HostName) -> Vec<backsight_agent::StepSpec> {
    let on_host = || roles.iter().filter(|role| role.host == *host);
    Phase::ALL
        .into_iter()
        .filter(|phase| phase.always())
        .flat_map(|phase| {
            on_host()
                .filter_map(move |role| role.steps.get(&phase))
                .flatten()
        })
        .filter(|step| matches!(step.action, FilledAction::Run))
        .zip(1..)
        .map(|(step, id)| agent_step(id, step, false))
        .collect()
}

/// Waits until it is so. What `wait_for` gives locks the value until it is dropped: in a `select!` that would be
/// after the branch, and who sets the value meanwhile, on this same thread, would wait for ever.
async fn until_true(value: &mut watch::Receiver<bool>) {
    let _nobody_can_set_it_any_more = value.wait_for(|value| *value).await.is_err();
}

async fn release(line: Option<&StartLine>) -> (&StartLine, Agreed) {
    match line {
        Some(line) => (line, line.instant().await),
        None => std::future::pending().await,
    }
}

pub(crate) fn agent_step(id: u64, step: &FilledStep, hold: bool) -> backsight_agent::StepSpec {
    let command = match step.shell {
        Some(true) => StepCommand::Argv(vec!["/bin/sh".into(), "-c".into(), step.command.clone()]),
        Some(false) => {
            StepCommand::Argv(step.command.split_whitespace().map(str::to_owned).collect())
        }
        None => StepCommand::Text(step.command.clone()),
    };
    let mut asked = backsight_agent::StepSpec::new(id, command, step.timeout);
    asked.env = step.env.iter().cloned().collect();
    asked.output_limit = step.output_limit;
    asked.grace = step.grace.unwrap_or(asked.grace);
    asked.silence = step.silence;
    asked.core_limit = step.core_limit;
    asked.streams = step.tolerant;
    asked.expect = step.expect.clone();
    asked.hold = hold;
    asked.cwd = step
        .folder
        .as_ref()
        .map(|folder| folder.to_string_lossy().into_owned());
    if let FilledAction::Spawn {
        ready,
        within,
        stop,
    } = &step.action
    {
        asked.background = true;
        // It lives as long as its trial, whose other steps have limits of their own.
        asked.timeout = Duration::from_secs(86_400);
        asked.stop_signal = match stop {
            StopSignal::Term => rustix::process::Signal::TERM,
            StopSignal::Int => rustix::process::Signal::INT,
            StopSignal::Quit => rustix::process::Signal::QUIT,
            StopSignal::Kill => rustix::process::Signal::KILL,
        }
        .as_raw();
        asked.ready = ready.as_ref().map(|ready| backsight_agent::ReadyCheck {
            condition: match ready {
                ReadyWhen::Listens(port) => Condition::Listens(*port),
                ReadyWhen::Binds(port) => Condition::Binds(*port),
                ReadyWhen::Line(pattern) => Condition::Line(pattern.clone()),
                ReadyWhen::File(path) => Condition::File(path.clone()),
            },
            timeout: *within,
        });
    }
    asked
}

/// What a step used.
pub(crate) fn usage(finished: &Finished) -> ResourceUsage {
    let used = finished.usage.unwrap_or_default();
    ResourceUsage {
        wall: finished.wall().unwrap_or_default().as_secs_f64(),
        user: used.user.as_secs_f64(),
        sys: used.system.as_secs_f64(),
        maxrss: used.max_rss_bytes,
        voluntary_switches: used.voluntary_switches,
        involuntary_switches: used.involuntary_switches,
    }
}

/// How a step ended.
pub(crate) fn ending(finished: &Finished) -> Ending {
    match (&finished.reason, finished.exit) {
        (
            EndReason::Exited | EndReason::ExitedBeforeReady { .. },
            Some(ProcessExit::Code(code)),
        ) => Ending::Exit(code),
        (
            EndReason::Exited | EndReason::ExitedBeforeReady { .. },
            Some(ProcessExit::Signal(signal)),
        ) => Ending::Signal(signal),
        (EndReason::TimedOut, _) => Ending::TimedOut,
        (EndReason::OutputLimit, _) => Ending::TooMuchOutput,
        (EndReason::NeverReady { .. }, _) => Ending::NeverReady,
        (EndReason::NotFound { .. }, _) => Ending::NotFound,
        (EndReason::Stopped | EndReason::TrialEnded | EndReason::NeverReleased, _) => {
            Ending::Stopped
        }
        (other, _) => Ending::Refused(other.to_string()),
    }
}

/// Whether the end of a program that runs tests says something of the tests: it wasn't missing, and could be started.
fn is_end_of_tests(finished: &Finished) -> bool {
    let reason = &finished.reason;
    matches!(
        reason,
        EndReason::Exited | EndReason::TimedOut | EndReason::OutputLimit
    )
}

/// The last line with something on it, printable and not too long.
fn last_line(bytes: &[u8]) -> Option<String> {
    // The end is enough, however much there is.
    let tail = &bytes[bytes.len().saturating_sub(4096)..];
    let text = String::from_utf8_lossy(tail);
    let line = text
        .lines()
        .rev()
        .map(str::trim)
        .find(|line| !line.is_empty())?;
    Some(shortened(line))
}

fn shortened(text: &str) -> String {
    let mut short: String = text
        .chars()
        .take(QUOTED)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if text.chars().nth(QUOTED).is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_words_are_one_printable_line() {
        assert_eq!(
            last_line(b"first\nlast \x1b[31mline\n\n").as_deref(),
            Some("last  [31mline")
        );
        assert_eq!(last_line(b"\n\n"), None);
        assert!(last_line(&[b'x'; 100_000]).unwrap().chars().count() <= QUOTED + 1);
    }
}
