//! The agent's end of the stream: answers the conductor's calls, and leaves nothing behind when the stream ends.
//!
//! Everything but held starts runs on one thread, the process's main one: the kernel gives that thread the orphans
//! that steps leave, and one thread is enough for what little there is to do.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use backsight_settings::WantedSetting;
use nix::libc;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Mutex, MutexGuard, Notify, mpsc, watch};
use tokio::time::Instant;
use tokio_stream::{StreamExt, wrappers::ReceiverStream};
use tonic::{Request, Response, Status};

use crate::build_upload::UploadKind;
use crate::cgroup::Cgroup;
use crate::examination::{StopFlag, StopWhenDropped};
use crate::folders::{cache_folder, with_path};
use crate::machine_lease::{
    LeaseFault, LeaseHolder, LeaseInForce, LockMode, MachineLease, lease_folder,
};
use crate::preparation::Preparations;
use crate::proto::{self, agent_server::AgentServer, put_reply};
use crate::record::Recorder;
use crate::step::{Condition, StepId, StepSpec};
use crate::step_supervisor::StepOrder;
use crate::stream::{self, Stream};
use crate::trial::{self, SharedTrialState, Trial};
use crate::{
    PROTOCOL, addresses, agent_mark, build_upload, cleanup, clocks, core_files, facts, namespace,
    procs, self_test, sizes, supervisor, uts_mark, wire,
};

/// Pieces of files that are taken from the stream before they are written.
const PIECES_AHEAD: usize = 4;
/// How often a silent conductor is asked whether it is still there, and how long it may take to say so. Patient: one
/// that was suspended for a moment comes back.
const ALIVE_INTERVAL: Duration = Duration::from_secs(20);
const ALIVE_LIMIT: Duration = Duration::from_secs(40);
/// How often it is written down at most that the conductor was heard.
const HEARD_INTERVAL: Duration = Duration::from_secs(5);
/// What one stream, and all together, may have under way towards the agent, bytes.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 4 << 20;
/// Steps that may run at once, and some calls beside them.
const STREAMS: u32 = 4096;
/// The longest name of a trial, bytes.
const NAME_LIMIT: usize = 200;

/// Why an agent couldn't serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// It was called where it can't wait for its children.
    #[error("an agent has to run on its process's main thread")]
    NotMainThread,
    /// Standard input and output can't carry the protocol.
    #[error(
        "standard input and output can't carry the protocol ({0}): an agent is started by the conductor, with a pipe or a socket on both"
    )]
    Stream(io::Error),
    /// It has nowhere to put the files of trials.
    #[error("no folder for the files of trials: {0}; set TMPDIR to a folder that can be written")]
    Folder(io::Error),
    /// It can't go where it is to live.
    #[error("can't enter the network namespace {0}: {1}")]
    Namespace(PathBuf, io::Error),
    /// The system refused something else.
    #[error("the agent can't run here: {0}")]
    System(#[from] io::Error),
}

/// Runs an agent on standard input and output until the other end closes them, or a signal (TERM, INT, HUP) ends it.
/// Then kills all that it started and removes all that it made. Prints nothing.
///
/// The agent runs in a child; this process supervises it, kills what it leaves if it is killed, and ends with its exit
/// status without returning.
///
/// With a `namespace` (`/run/netns/NAME`) it and its steps live in that network namespace; without, in that of whoever
/// started it.
///
/// To be called on the main thread, before anything else has read from standard input or started a thread or process.
///
/// # Errors
///
/// As [`ServeError`] says; all of them before the first step.
pub fn serve_stdio(namespace: Option<&Path>) -> Result<(), ServeError> {
    let mark = bear_supervised_mark()?;
    if let Some(namespace) = namespace {
        let entered = namespace::enter(namespace);
        entered.map_err(|error| ServeError::Namespace(namespace.to_owned(), error))?;
    }
    let claimed = stream::claim().map_err(ServeError::Stream)?;
    serve_on(claimed, mark, Some(ALIVE_INTERVAL))
}

/// Has this process supervised, and makes it bear the mark of an agent, which it returns. To be called on the main thread, before
/// anything has started a thread or process.
pub(crate) fn bear_supervised_mark() -> Result<String, ServeError> {
    if !backsight_platform::is_main_thread() {
        return Err(ServeError::NotMainThread);
    }
    let token = agent_mark::random()?;
    if agent_mark::ours().is_none() {
        supervisor::supervise(token)?;
    }
    let mark = agent_mark::borne(token, &[])?;
    uts_mark::bear(&mark);
    Ok(mark)
}

/// Serves on what was claimed, until its end. So often it asks whether a silent conductor is still there; never, where its
/// clock isn't the conductor's.
///
/// # Errors
///
/// As [`serve_stdio`].
pub(crate) fn serve_on(
    claimed: stream::ClaimedStream,
    mark: String,
    asks: Option<Duration>,
) -> Result<(), ServeError> {
    keep_to_ourselves();
    obey_all_signals();
    backsight_platform::adopt_orphans()?;
    let ground = Arc::new(ground(mark)?);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let served = runtime.block_on(serve(claimed, Arc::clone(&ground), asks));
    if let Some(cgroup) = &ground.cgroup {
        cgroup.leave();
    }
    let _left_for_the_sweep = cleanup::remove_folder(&ground.folder);
    served
}

/// Descriptors that we were given beside the standard ones (locks that last as long as we do) are not for the
/// programs that we start.
fn keep_to_ourselves() {
    for number in backsight_platform::descriptors() {
        // SAFETY: a plain system call on a number; a descriptor that is gone meanwhile is refused by the kernel.
        let _gone = unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}

/// Signals that whoever started us ignores would be ignored by every program that we start.
fn obey_all_signals() {
    for number in 1..=backsight_platform::last_signal() {
        // SAFETY: a zeroed sigaction is valid, the pointers are to a live variable; the runtime's handlers are left.
        unsafe {
            let mut action = std::mem::zeroed::<libc::sigaction>();
            let known = libc::sigaction(number, std::ptr::null(), &raw mut action) == 0;
            // The standard library ignores this one for itself and not for its children.
            if known && action.sa_sigaction == libc::SIG_IGN && number != libc::SIGPIPE {
                libc::signal(number, libc::SIG_DFL);
            }
        }
    }
}

fn ground(mark: String) -> Result<SharedTrialState, ServeError> {
    cleanup::sweep_dead_agents();
    // Made by us or not at all: nobody can have put something in our way.
    let folder = cleanup::make_folder(&mark).map_err(ServeError::Folder)?;
    // First who we are, then the cgroup: whenever we die, the next agent knows what is left.
    let alive = cleanup::show_life(&folder, Cgroup::place(&mark).as_deref())
        .map_err(|error| ServeError::Folder(with_path(&folder, &error)))?;
    Ok(SharedTrialState {
        cgroup: Cgroup::join(&mark).ok(),
        mark,
        folder,
        _alive: alive,
        reaper: Arc::default(),
    })
}

async fn serve(
    claimed: stream::ClaimedStream,
    ground: Arc<SharedTrialState>,
    asks: Option<Duration>,
) -> Result<(), ServeError> {
    let heard = Arc::new(Notify::new());
    let stream = Stream::new(claimed, Arc::clone(&heard));
    let (stream, closed) = stream.map_err(ServeError::Stream)?;
    let mut children = signal(SignalKind::child())?;
    let reaper = Arc::clone(&ground.reaper);
    tokio::spawn(async move {
        while children.recv().await.is_some() {
            reaper.reap();
        }
    });
    let agent = Arc::new(Agent {
        ground,
        open: Mutex::default(),
        preparations: Preparations::default(),
        recorder: Arc::default(),
        is_guest: asks.is_none(),
        self_test: Mutex::default(),
        lease: Arc::default(),
        heard,
    });
    let server = tonic::transport::Server::builder()
        .trace_fn(|request| tracing::debug_span!("request", call = request.uri().path()))
        .http2_keepalive_interval(asks)
        .http2_keepalive_timeout(Some(ALIVE_LIMIT))
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_concurrent_streams(STREAMS)
        // A second connection never comes; without waiting for it, the server would be done at once.
        .serve_with_incoming(
            AgentServer::from_arc(Arc::clone(&agent)),
            tokio_stream::once(io::Result::Ok(stream)).chain(tokio_stream::pending()),
        );
    tokio::select! {
        _ = server => {}
        () = over(closed) => {}
        asked = asked_to_end() => asked?,
    }
    if let Some(stop) = &*agent.self_test.lock().await {
        stop.set();
    }
    agent.put_back().await;
    agent.preparations.restore_all().await;
    Ok(())
}

/// Resolves when the stream is dropped, which is when the connection ends.
async fn over(mut closed: watch::Receiver<()>) {
    while closed.changed().await.is_ok() {}
}

async fn asked_to_end() -> io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        _ = hangup.recv() => {}
    }
    Ok(())
}

/// Events of a lease that are under way: holders follow each other slowly.
const LEASE_EVENTS: usize = 16;

/// Takes the machine for a session.
async fn take_lease(
    holder: LeaseHolder,
    wait: Duration,
    sender: &mpsc::Sender<Result<proto::LeaseEvent, Status>>,
) -> Result<MachineLease, LeaseFault> {
    let holder = LeaseHolder {
        by_agent: true,
        ..holder
    };
    let (folder, until) = (lease_folder()?, Instant::now() + wait);
    let awaited = |in_force: &LeaseInForce| {
        let event = wire::json(in_force).map(|in_force| proto::LeaseEvent {
            event: Some(proto::lease_event::Event::Awaited(in_force)),
        });
        let _the_next_holder_is_told_too = sender.try_send(event);
    };
    MachineLease::take(&folder, LockMode::Alone, &holder, until, awaited).await
}

/// Writes down that the conductor was heard, whenever it is.
async fn note_conductor(lease: Arc<Mutex<Option<MachineLease>>>, heard: Arc<Notify>) {
    loop {
        heard.notified().await;
        if let Some(lease) = &*lease.lock().await {
            lease.note_controller();
        }
        // Not a wait for anything: what is heard meanwhile is noted after it.
        tokio::time::sleep(HEARD_INTERVAL).await;
    }
}

struct Agent {
    ground: Arc<SharedTrialState>,
    open: Mutex<Open>,
    preparations: Preparations,
    recorder: Arc<Mutex<Recorder>>,
    /// Its clock isn't the conductor's, and its files are its host's.
    is_guest: bool,
    /// Ends the self-test that runs, or the last one.
    self_test: Mutex<Option<StopFlag>>,
    /// The machine is ours until we end.
    lease: Arc<Mutex<Option<MachineLease>>>,
    /// Notified of whatever the conductor says.
    heard: Arc<Notify>,
}

/// The open trial, if there is one, and how many there were.
#[derive(Default)]
struct Open {
    trial: Option<Trial>,
    /// What puts the host back if nobody ends the trial.
    undo: Vec<StepSpec>,
    begun: u64,
}

impl Agent {
    /// Ends a trial that nobody ended, and does what puts the host back.
    async fn put_back(&self) {
        if self.end_open_trial().await.is_none() {
            return;
        }
        let mut open = self.open.lock().await;
        let undo = std::mem::take(&mut open.undo);
        if undo.is_empty() {
            return;
        }
        open.begun += 1;
        let ground = Arc::clone(&self.ground);
        // A disk without room for a folder leaves the host as it is; the next conductor's own undoing may do better.
        let Ok(mut trial) = Trial::begin(ground, open.begun, "undo", BTreeMap::new()) else {
            return;
        };
        for step in undo {
            let (sender, mut events) = trial::events();
            if trial.run(step, sender).is_ok() {
                // Ends with the step, which has a time limit of its own.
                while events.next().await.is_some() {}
            }
        }
        trial.end().await;
    }

    async fn end_open_trial(&self) -> Option<crate::step::TrialEnded> {
        let trial = self.open.lock().await.trial.take()?;
        Some(trial.end().await)
    }
}

fn opened<'a>(open: &'a mut MutexGuard<'_, Open>) -> Result<&'a mut Trial, Status> {
    open.trial
        .as_mut()
        .ok_or_else(|| Status::failed_precondition("no trial is open: begin one first"))
}

/// Refuses what only Linux has.
fn needs_linux(what: &str) -> Result<(), Status> {
    let refused = backsight_platform::needs_linux(what);
    refused.map_err(|error| Status::failed_precondition(error.to_string()))
}

type Reply<T> = Result<Response<T>, Status>;

#[tonic::async_trait]
impl proto::agent_server::Agent for Agent {
    async fn hello(&self, _: Request<proto::HelloRequest>) -> Reply<proto::HelloReply> {
        let pid = std::process::id();
        let cgroup = self.ground.cgroup.as_ref().map(Cgroup::root);
        Ok(Response::new(proto::HelloReply {
            protocol: PROTOCOL,
            agent_version: env!("CARGO_PKG_VERSION").to_owned(),
            boot_id: facts::boot_id(),
            machine_id: backsight_platform::machine_id().unwrap_or_default(),
            pid,
            sizes: sizes::all(&self.ground.folder),
            now: Some(clocks::now().into()),
            mark: self.ground.mark.clone(),
            cgroup: cgroup
                .map(|path| path.display().to_string())
                .unwrap_or_default(),
            folder: self.ground.folder.display().to_string(),
            start_ticks: procs::one(pid.cast_signed()).map_or(0, |process| process.start_ticks),
            program: facts::program(pid),
        }))
    }

    type LeaseStream = ReceiverStream<Result<proto::LeaseEvent, Status>>;

    async fn lease(&self, request: Request<proto::LeaseRequest>) -> Reply<Self::LeaseStream> {
        let proto::LeaseRequest { holder, wait_ns } = request.into_inner();
        let holder: LeaseHolder = wire::from_json(&holder)?;
        let (sender, events) = mpsc::channel(LEASE_EVENTS);
        let (lease, heard) = (Arc::clone(&self.lease), Arc::clone(&self.heard));
        tokio::spawn(async move {
            let taken = tokio::select! {
                taken = take_lease(holder, Duration::from_nanos(wait_ns), &sender) => taken,
                // Who asked has given up or gone away.
                () = sender.closed() => return,
            };
            let event = match taken {
                Ok(taken) => {
                    let is_first = lease.lock().await.replace(taken).is_none();
                    if is_first {
                        tokio::spawn(note_conductor(lease, heard));
                    }
                    Ok(proto::lease_event::Event::Leased(true))
                }
                Err(LeaseFault::Taken(in_force)) => {
                    wire::json(&in_force).map(proto::lease_event::Event::Taken)
                }
                Err(fault) => Err(Status::failed_precondition(fault.to_string())),
            };
            let event = event.map(|event| proto::LeaseEvent { event: Some(event) });
            let _who_asked_has_gone = sender.send(event).await;
        });
        Ok(Response::new(ReceiverStream::new(events)))
    }

    async fn clock(&self, _: Request<proto::ClockRequest>) -> Reply<proto::Moment> {
        Ok(Response::new(clocks::now().into()))
    }

    async fn facts(&self, _: Request<proto::FactsRequest>) -> Reply<proto::FactsReply> {
        Ok(Response::new(proto::FactsReply {
            facts: facts::all(),
        }))
    }

    async fn addresses(
        &self,
        request: Request<proto::AddressesRequest>,
    ) -> Reply<proto::AddressesReply> {
        let peers = wire::peers(request.into_inner()).map_err(Status::invalid_argument)?;
        let own = addresses::own().map_err(|error| Status::internal(error.to_string()))?;
        let routes = peers.into_iter().map(addresses::route_to).collect();
        let addresses = addresses::HostAddresses { own, routes };
        Ok(Response::new(wire::addresses_reply(addresses)))
    }

    async fn record(&self, request: Request<proto::RecordRequest>) -> Reply<proto::RecordReply> {
        let programs = request.into_inner().programs;
        let mut recorder = Arc::clone(&self.recorder).lock_owned().await;
        let is_guest = self.is_guest;
        let recorded =
            tokio::task::spawn_blocking(move || recorder.record(&programs, is_guest)).await;
        let (record, kernel_log) = recorded.map_err(|error| Status::internal(error.to_string()))?;
        let sections = record.0.into_iter();
        let sections = sections.map(|(name, values)| (name, proto::RecordSection { values }));
        Ok(Response::new(proto::RecordReply {
            sections: sections.collect(),
            kernel_log,
        }))
    }

    async fn prepare(&self, request: Request<proto::PrepareRequest>) -> Reply<proto::PrepareReply> {
        let proto::PrepareRequest {
            study,
            settings,
            policy,
            become_root,
            session,
        } = request.into_inner();
        let settings: Vec<WantedSetting> = wire::from_json(&settings)?;
        let policy = wire::from_json(&policy)?;
        if let Some(setting) = settings.first() {
            needs_linux(&format!("the setting `{}`", setting.setting))?;
        }
        let made = self
            .preparations
            .make(study, session, settings, policy, become_root);
        let report = made.await.map_err(Status::failed_precondition)?;
        Ok(Response::new(proto::PrepareReply {
            report: wire::json(&report)?,
        }))
    }

    async fn restore(&self, request: Request<proto::RestoreRequest>) -> Reply<proto::RestoreReply> {
        let proto::RestoreRequest { scope, become_root } = request.into_inner();
        let scope = wire::from_json(&scope)?;
        let restored = self.preparations.restore(scope, become_root).await;
        let report = restored.map_err(Status::failed_precondition)?;
        Ok(Response::new(proto::RestoreReply {
            report: wire::json(&report)?,
        }))
    }

    async fn examine(&self, request: Request<proto::ExamineRequest>) -> Reply<proto::ExamineReply> {
        needs_linux("an examination of a host")?;
        let order = wire::from_json(&request.into_inner().order)?;
        let stop = StopFlag::default();
        if let Some(earlier) = self.self_test.lock().await.replace(stop.clone()) {
            earlier.set();
        }
        // Dropped with the call, when the conductor gives it up or goes away.
        let _until_answered = StopWhenDropped(stop.clone());
        let folder = self.ground.folder.clone();
        let examined =
            tokio::task::spawn_blocking(move || self_test::examine(&order, &folder, &stop)).await;
        let examined = examined.map_err(|error| Status::internal(error.to_string()))?;
        let examination = examined.ok_or_else(|| Status::cancelled("the self-test was stopped"))?;
        Ok(Response::new(proto::ExamineReply {
            examination: wire::json(&examination)?,
        }))
    }

    async fn change_boot_unit(
        &self,
        request: Request<proto::ChangeBootUnitRequest>,
    ) -> Reply<proto::ChangeBootUnitReply> {
        needs_linux("a unit that puts settings back")?;
        let action = wire::from_json(&request.into_inner().action)?;
        let changed = self.preparations.change_boot_unit(action).await;
        let report = changed.map_err(|error| Status::failed_precondition(error.to_string()))?;
        Ok(Response::new(proto::ChangeBootUnitReply {
            report: wire::json(&report)?,
        }))
    }

    async fn begin_trial(
        &self,
        request: Request<proto::BeginTrialRequest>,
    ) -> Reply<proto::BeginTrialReply> {
        let proto::BeginTrialRequest {
            trial: name,
            env,
            undo,
            neighbours,
            files,
        } = request.into_inner();
        let undo = undo.into_iter().map(wire::step).collect::<Result<_, _>>();
        let undo = undo.map_err(Status::invalid_argument)?;
        if name.len() > NAME_LIMIT || name.contains('\0') {
            return Err(Status::invalid_argument(format!(
                "a trial's name has at most {NAME_LIMIT} bytes and no NUL"
            )));
        }
        let mut open = self.open.lock().await;
        if let Some(earlier) = open.trial.take() {
            earlier.end().await;
        }
        open.begun += 1;
        let trial = Trial::begin(Arc::clone(&self.ground), open.begun, &name, env);
        let mut trial = trial.map_err(|error| {
            Status::resource_exhausted(format!("no folder for the trial: {error}"))
        })?;
        let launch = self
            .preparations
            .trial_launch(&name, open.begun, &self.ground);
        let drawn = match launch.await {
            Ok(launch) => trial.start_under(launch),
            Err(fault) => Err(fault),
        };
        let drawn = match drawn {
            Ok(drawn) => drawn,
            Err(fault) => {
                trial.end().await;
                return Err(Status::failed_precondition(fault));
            }
        };
        if let Err(error) = trial.write_files(files) {
            trial.end().await;
            return Err(Status::resource_exhausted(format!(
                "the trial's files can't be written: {error}"
            )));
        }
        if neighbours {
            trial.watch_neighbours();
        }
        let reply = proto::BeginTrialReply {
            scratch: trial.scratch().display().to_string(),
            spool: trial.spool().display().to_string(),
            drawn: drawn.into_iter().collect(),
        };
        open.trial = Some(trial);
        open.undo = undo;
        Ok(Response::new(reply))
    }

    type TakeCoreFilesStream = ReceiverStream<Result<proto::CoreFileEvent, Status>>;

    async fn take_core_files(
        &self,
        request: Request<proto::TakeCoreFilesRequest>,
    ) -> Reply<Self::TakeCoreFilesStream> {
        let limit = request.into_inner().limit;
        let (folder, since) = opened(&mut self.open.lock().await)?.place_of_core_files();
        let (sender, events) = mpsc::channel(PIECES_AHEAD);
        tokio::task::spawn_blocking(move || {
            let send = |event| {
                let event = proto::CoreFileEvent { event: Some(event) };
                sender.blocking_send(Ok(event)).is_ok()
            };
            core_files::send(&folder, since, limit, send);
        });
        Ok(Response::new(ReceiverStream::new(events)))
    }

    async fn end_trial(&self, _: Request<proto::EndTrialRequest>) -> Reply<proto::EndTrialReply> {
        let ended = self
            .end_open_trial()
            .await
            .ok_or_else(|| Status::failed_precondition("no trial is open"))?;
        Ok(Response::new(wire::end_trial_reply(ended)))
    }

    type RunStream = ReceiverStream<Result<proto::StepEvent, Status>>;

    async fn run(&self, request: Request<proto::RunRequest>) -> Reply<Self::RunStream> {
        let step = wire::step(request.into_inner()).map_err(Status::invalid_argument)?;
        match step.ready.as_ref().map(|ready| &ready.condition) {
            Some(Condition::Line(pattern)) => {
                let pattern = regex::bytes::Regex::new(pattern);
                pattern.map_err(|error| Status::invalid_argument(error.to_string()))?;
            }
            Some(condition @ (Condition::Listens(_) | Condition::Binds(_))) => {
                needs_linux(&format!("waiting for a step {condition}"))?;
            }
            Some(Condition::File(_)) | None => {}
        }
        let (sender, events) = trial::events();
        opened(&mut self.open.lock().await)?
            .run(step, sender)
            .map_err(Status::already_exists)?;
        Ok(Response::new(events))
    }

    async fn release(&self, request: Request<proto::ReleaseRequest>) -> Reply<proto::ReleaseReply> {
        let proto::ReleaseRequest {
            step,
            at_monotonic_ns,
        } = request.into_inner();
        opened(&mut self.open.lock().await)?
            .order(StepId(step), StepOrder::Release(at_monotonic_ns))
            .map_err(Status::not_found)?;
        Ok(Response::new(proto::ReleaseReply {}))
    }

    async fn stop(&self, request: Request<proto::StopRequest>) -> Reply<proto::StopReply> {
        let proto::StopRequest {
            step,
            signal,
            grace_ns,
        } = request.into_inner();
        let order = StepOrder::Stop {
            signal,
            grace: grace_ns.map(Duration::from_nanos),
        };
        opened(&mut self.open.lock().await)?
            .order(StepId(step), order)
            .map_err(Status::not_found)?;
        Ok(Response::new(proto::StopReply {}))
    }

    type WatchBarriersStream = ReceiverStream<Result<proto::BarrierReport, Status>>;
    type PutStream = ReceiverStream<Result<proto::PutReply, Status>>;

    async fn watch_barriers(
        &self,
        _: Request<proto::WatchBarriersRequest>,
    ) -> Reply<Self::WatchBarriersStream> {
        let reports = opened(&mut self.open.lock().await)?.watch_barriers();
        let reports =
            reports.ok_or_else(|| Status::already_exists("its barriers are watched already"))?;
        Ok(Response::new(ReceiverStream::new(reports)))
    }

    async fn release_barrier(
        &self,
        request: Request<proto::ReleaseBarrierRequest>,
    ) -> Reply<proto::ReleaseBarrierReply> {
        let (arrivals, answer) = wire::barrier_answer(request.into_inner())
            .ok_or_else(|| Status::invalid_argument("neither an instant nor a reason"))?;
        opened(&mut self.open.lock().await)?.answer_at_barrier(&arrivals, &answer);
        Ok(Response::new(proto::ReleaseBarrierReply {}))
    }

    async fn find(&self, request: Request<proto::FindRequest>) -> Reply<proto::FindReply> {
        let proto::FindRequest { name, plan } = request.into_inner();
        let kind = UploadKind::of_plan(plan);
        let found = match build_upload::find(kind, &name)? {
            Some(kept) => usable(kind, kept, self.ground.folder.clone()).await?,
            None => None,
        };
        Ok(Response::new(proto::FindReply {
            folder: found.map_or_else(String::new, |folder| folder.display().to_string()),
        }))
    }

    async fn put(
        &self,
        request: Request<tonic::Streaming<proto::PutRequest>>,
    ) -> Reply<Self::PutStream> {
        let (replies, stream) = mpsc::channel(2);
        let own = self.ground.folder.clone();
        tokio::spawn(async move {
            let told = replies.clone();
            let folder = take_files(request.into_inner(), own, move |missing| {
                let _nobody_listens = told.blocking_send(Ok(proto::PutReply {
                    reply: Some(put_reply::Reply::Missing(missing.into())),
                }));
            });
            let reply = folder.await.map(|folder| proto::PutReply {
                reply: Some(put_reply::Reply::Folder(folder.display().to_string())),
            });
            let _nobody_listens = replies.send(reply).await;
        });
        Ok(Response::new(ReceiverStream::new(stream)))
    }
}

/// Takes in files that come; `ask` hears which chunks of them are missing. Where commands find them.
async fn take_files(
    mut pieces: tonic::Streaming<proto::PutRequest>,
    own: PathBuf,
    ask: impl FnOnce(Vec<u8>) + Send + 'static,
) -> Result<PathBuf, Status> {
    let (to, mut from) = mpsc::channel(PIECES_AHEAD);
    let next = move || {
        let piece = from.blocking_recv().transpose()?;
        piece
            .and_then(|request: proto::PutRequest| request.piece)
            .ok_or_else(|| Status::aborted("they end before they are whole"))
    };
    // A disk may take its time, and we have other things to answer meanwhile.
    let mut receiving =
        tokio::task::spawn_blocking(move || build_upload::receive(&cache_folder(), next, ask));
    let forwarding = async move {
        while let Some(piece) = pieces.next().await {
            if to.send(piece).await.is_err() {
                break;
            }
        }
        drop(to);
    };
    let received = tokio::select! {
        received = &mut receiving => received,
        () = forwarding => receiving.await,
    };
    let (kind, kept) = received.map_err(|error| Status::internal(error.to_string()))??;
    let folder = usable(kind, kept, own).await?;
    folder.ok_or_else(|| Status::aborted("they went away as they came"))
}

/// Where commands find what is kept here: a plan's files in a copy below the agent's own folder. None if what is kept is damaged.
async fn usable(kind: UploadKind, kept: PathBuf, own: PathBuf) -> Result<Option<PathBuf>, Status> {
    if kind == UploadKind::Build {
        return Ok(Some(kept));
    }
    let copied = tokio::task::spawn_blocking(move || build_upload::copy_plan(&kept, &own)).await;
    let copied = copied.map_err(|error| Status::internal(error.to_string()))?;
    copied.map_err(|error| Status::resource_exhausted(error.to_string()))
}
