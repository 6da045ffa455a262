//! The conductor's end of the stream: one method a call, plain values in and out, a deadline on everything.
//!
//! Agents are started elsewhere; this is given a byte stream. An agent that was lost is never called again.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::fs::File;
use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use backsight_model::HostRecord;
use backsight_settings::{
    BootUnitAction, BootUnitReport, PreparationPolicy, PreparationReport, RestoreReport,
    RestoreScope, WantedSetting,
};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status, Streaming};
use tracing::{Instrument as _, Span};

use crate::addresses::HostAddresses;
use crate::build_upload::UploadKind;
use crate::clocks;
use crate::error::AgentError;
use crate::examination::{Examination, ExaminationOrder};
use crate::machine_lease::{LeaseHolder, LeaseInForce};
use crate::proto::{self, agent_client::AgentClient};
use crate::step::{
    BarrierAnswer, BarrierReport, BeginTrial, CoreFiles, Finished, Hello, StepEvent, StepId,
    StepSpec, TrialBegun, TrialEnded,
};
use crate::upload_files::{STALL_LIMIT, SendFault, UploadFiles, UploadProgress};
use crate::{PROTOCOL, cleanup, wire};

/// How often an agent is asked whether it is still there.
const ALIVE_INTERVAL: Duration = Duration::from_secs(5);
/// How long a host may take to find files and to copy those of a plan.
const FIND_LIMIT: Duration = Duration::from_secs(60);
/// How long it may take to say so.
const ALIVE_LIMIT: Duration = Duration::from_secs(10);
/// How long a call that does nothing but answer may take.
const CALL_LIMIT: Duration = Duration::from_secs(20);
/// Recording asks programs, each of which may take two seconds.
const RECORD_LIMIT: Duration = Duration::from_secs(60);
/// How long settings may take: some start programs (`mkfs`), each with a limit of its own.
const SETTINGS_LIMIT: Duration = Duration::from_secs(300);
/// What an examination may take beside its self-test: settings that are read by programs, and disks that are slow.
const EXAMINE_MARGIN: Duration = Duration::from_secs(60);
/// How long ending a trial may take: what its steps wrote is removed, and a gigabyte takes a minute on a busy disk. An agent that is gone
/// is seen by [`ALIVE_LIMIT`].
const END_LIMIT: Duration = Duration::from_secs(300);
/// How long it may take to look through a trial's folder for core files and to send them.
const CORE_FILES_LIMIT: Duration = Duration::from_secs(120);
/// Pieces of files to a host that are read ahead.
const PIECES_AHEAD: usize = 2;
/// What a step's stream may take beyond the step's own limits: to kill it and to carry its output.
const RUN_MARGIN: Duration = Duration::from_secs(60);

/// What one stream may have under way, bytes.
const STREAM_WINDOW: u32 = 2 << 20;
/// What all streams together may have under way, bytes.
const CONNECTION_WINDOW: u32 = 64 << 20;
/// The largest message, bytes: an output piece is far below.
const MESSAGE_LIMIT: usize = 16 << 20;

/// The agent's monotonic clock as seen from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockOffset {
    /// The agent's `CLOCK_MONOTONIC` minus ours, nanoseconds; exactly 0 if both are the same clock.
    pub offset_ns: i64,
    /// The offset is right within this, nanoseconds.
    pub uncertainty_ns: u64,
}

/// A connection to one agent. Clones share it; when the last one is dropped, the agent ends.
#[derive(Clone)]
pub struct Client {
    calls: AgentClient<Channel>,
    hello: Arc<Hello>,
    /// The host's name, for the log; empty until it is said.
    host: Arc<str>,
    gone: watch::Receiver<()>,
    /// What the agent leaves if it dies is ours to sweep.
    _ours: Arc<Option<File>>,
}

impl Client {
    /// Greets the agent at the other end of a stream, which has `limit` to answer.
    ///
    /// # Errors
    ///
    /// [`AgentError::Version`], [`AgentError::NotAnAgent`], or [`AgentError::Deadline`].
    pub async fn connect<S>(stream: S, limit: Duration) -> Result<Self, AgentError>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let greeting = async {
            let (channel, gone) = channel(stream).await?;
            let mut calls = AgentClient::new(channel).max_decoding_message_size(MESSAGE_LIMIT);
            let reply = calls
                .hello(proto::HelloRequest { protocol: PROTOCOL })
                .await;
            let reply = reply
                .map_err(|status| AgentError::NotAnAgent {
                    why: words(&status),
                })?
                .into_inner();
            if reply.protocol != PROTOCOL {
                return Err(AgentError::Version {
                    ours: PROTOCOL,
                    theirs: reply.protocol,
                    agent: reply.agent_version,
                });
            }
            let hello = Arc::new(wire::hello(reply)?);
            let ours = Arc::new(cleanup::keep(&hello.mark));
            Ok(Self {
                calls,
                hello,
                host: Arc::default(),
                gone,
                _ours: ours,
            })
        };
        match timeout(limit, greeting).await {
            Ok(greeted) => greeted,
            Err(_) => Err(AgentError::Deadline {
                call: "answer",
                after: limit,
            }),
        }
    }

    /// Names the agent's host in the spans of its requests.
    #[must_use]
    pub fn with_host(self, host: &str) -> Self {
        Self {
            host: host.into(),
            ..self
        }
    }

    /// The span of a request to the agent.
    fn request(&self, call: &'static str) -> Span {
        tracing::debug_span!("request", host = &*self.host, call)
    }

    /// What the agent said of itself.
    #[must_use]
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Resolves when the connection is gone: the stream ended, or the agent stopped answering.
    pub fn closed(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut gone = self.gone.clone();
        async move {
            // The sender sits in the stream and never sends: the only change is its end.
            while gone.changed().await.is_ok() {}
        }
    }

    /// Leases the machine for a session until the agent ends, waiting at most this long. `awaited` hears of each holder that is
    /// waited for. Returns who has it at the end of the wait; none if it is ours.
    ///
    /// # Errors
    ///
    /// [`AgentError::Refused`] if its lock files can't be used; [`AgentError::Lost`], [`AgentError::Deadline`].
    pub async fn lease(
        &self,
        holder: &LeaseHolder,
        wait: Duration,
        mut awaited: impl FnMut(&LeaseInForce),
    ) -> Result<Option<LeaseInForce>, AgentError> {
        const CALL: &str = "lease its machine";
        use proto::lease_event::Event;
        let request = proto::LeaseRequest {
            holder: wire::json(holder).map_err(nonsense(CALL))?,
            wait_ns: u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX),
        };
        let mut events = self
            .call(CALL, CALL_LIMIT, |mut calls| async move {
                calls.lease(request).await
            })
            .await?;
        let limit = wait.saturating_add(CALL_LIMIT);
        let in_force = |text: &str| wire::from_json::<LeaseInForce>(text).map_err(nonsense(CALL));
        let ended = async {
            loop {
                let event = events.message().await;
                let event = event.map_err(|status| failure(CALL, &status))?;
                match event.and_then(|event| event.event) {
                    Some(Event::Awaited(text)) => awaited(&in_force(&text)?),
                    Some(Event::Taken(text)) => return in_force(&text).map(Some),
                    Some(Event::Leased(_)) => return Ok(None),
                    None => {
                        return Err(AgentError::Protocol {
                            call: CALL,
                            why: "the stream of events ended before the wait".into(),
                        });
                    }
                }
            }
        };
        match timeout(limit, ended).await {
            Ok(ended) => ended,
            Err(_) => Err(AgentError::Deadline {
                call: CALL,
                after: limit,
            }),
        }
    }

    /// Measures the agent's monotonic clock against ours, by the quickest of `samples` round trips.
    ///
    /// # Errors
    ///
    /// As every call: [`AgentError::Lost`] or [`AgentError::Deadline`].
    pub async fn clock_offset(&self, samples: u32) -> Result<ClockOffset, AgentError> {
        let mut best: Option<ClockOffset> = None;
        for _ in 0..samples.max(1) {
            let before = clocks::monotonic_ns();
            let there = self
                .call("tell its clock", CALL_LIMIT, |mut calls| async move {
                    calls.clock(proto::ClockRequest {}).await
                })
                .await?;
            let after = clocks::monotonic_ns();
            let uncertainty_ns = (after - before).div_ceil(2);
            let middle = before + (after - before) / 2;
            let offset_ns = there.monotonic_ns.wrapping_sub(middle).cast_signed();
            if best.is_none_or(|best| uncertainty_ns < best.uncertainty_ns) {
                best = Some(ClockOffset {
                    offset_ns,
                    uncertainty_ns,
                });
            }
        }
        let measured = best.unwrap_or(ClockOffset {
            offset_ns: 0,
            uncertainty_ns: u64::MAX,
        });
        // Equal boots share the clock, unless a time namespace shifts it: then the offset is seen.
        let same_boot = clocks::boot_id().is_some_and(|ours| ours == self.hello.boot_id);
        if same_boot && measured.offset_ns.unsigned_abs() <= measured.uncertainty_ns {
            return Ok(ClockOffset {
                offset_ns: 0,
                uncertainty_ns: 0,
            });
        }
        Ok(measured)
    }

    /// What the agent's machine is: names and values.
    ///
    /// # Errors
    ///
    /// As every call: [`AgentError::Lost`] or [`AgentError::Deadline`].
    pub async fn facts(&self) -> Result<BTreeMap<String, String>, AgentError> {
        let reply = self
            .call("tell its facts", CALL_LIMIT, |mut calls| async move {
                calls.facts(proto::FactsRequest {}).await
            })
            .await?;
        Ok(reply.facts)
    }

    /// Which addresses the machine's interfaces have, and from which of them it reaches these peers.
    ///
    /// # Errors
    ///
    /// As every call: [`AgentError::Lost`] or [`AgentError::Deadline`].
    pub async fn addresses(&self, peers: &[IpAddr]) -> Result<HostAddresses, AgentError> {
        let peers = peers.iter().map(ToString::to_string).collect();
        let request = proto::AddressesRequest { peers };
        let reply = self
            .call("tell its addresses", CALL_LIMIT, |mut calls| async move {
                calls.addresses(request).await
            })
            .await?;
        wire::addresses(reply)
    }

    /// What the machine is in full, with what these programs (names or paths) and their libraries hold; what may be a secret is left
    /// out. And what its kernel said since this agent's last record, a line a message.
    ///
    /// # Errors
    ///
    /// As every call: [`AgentError::Lost`] or [`AgentError::Deadline`].
    pub async fn record(&self, programs: Vec<String>) -> Result<(HostRecord, String), AgentError> {
        let reply = self
            .call("record what it is", RECORD_LIMIT, |mut calls| async move {
                calls.record(proto::RecordRequest { programs }).await
            })
            .await?;
        let sections = reply.sections.into_iter();
        let sections = sections.map(|(name, section)| (name, section.values));
        Ok((HostRecord(sections.collect()), reply.kernel_log))
    }

    /// Gives the machine these settings and no others for a study; where its agent isn't root, by a command that makes a program
    /// root's, if there is one. They are put back by [`Client::restore`], or when the stream ends. Agents that
    /// the caller starts one after the other on a machine get one number for its session.
    ///
    /// # Errors
    ///
    /// [`AgentError::Refused`] if its journal can't be written; [`AgentError::Lost`], [`AgentError::Deadline`].
    pub async fn prepare(
        &self,
        study: &str,
        session: u64,
        settings: &[WantedSetting],
        policy: PreparationPolicy,
        become_root: &[String],
    ) -> Result<PreparationReport, AgentError> {
        let call = "make its settings";
        let request = proto::PrepareRequest {
            study: study.to_owned(),
            session,
            settings: wire::json(&settings).map_err(nonsense(call))?,
            policy: wire::json(&policy).map_err(nonsense(call))?,
            become_root: become_root.to_vec(),
        };
        let reply = self
            .call(call, SETTINGS_LIMIT, |mut calls| async move {
                calls.prepare(request).await
            })
            .await?;
        wire::from_json(&reply.report).map_err(nonsense(call))
    }

    /// Puts settings back that studies changed.
    ///
    /// # Errors
    ///
    /// As [`Client::prepare`].
    pub async fn restore(
        &self,
        scope: &RestoreScope,
        become_root: &[String],
    ) -> Result<RestoreReport, AgentError> {
        let call = "put its settings back";
        let request = proto::RestoreRequest {
            scope: wire::json(scope).map_err(nonsense(call))?,
            become_root: become_root.to_vec(),
        };
        let reply = self
            .call(call, SETTINGS_LIMIT, |mut calls| async move {
                calls.restore(request).await
            })
            .await?;
        wire::from_json(&reply.report).map_err(nonsense(call))
    }

    /// Looks at how settings stand, without a change, and tests how calm the machine is, for as long as the order says. A future that
    /// is dropped ends the test.
    ///
    /// # Errors
    ///
    /// [`AgentError::Refused`] if another one was asked for meanwhile; [`AgentError::Lost`], [`AgentError::Deadline`].
    pub async fn examine(&self, order: &ExaminationOrder) -> Result<Examination, AgentError> {
        let call = "examine its machine";
        let request = proto::ExamineRequest {
            order: wire::json(order).map_err(nonsense(call))?,
        };
        let length = Duration::try_from_secs_f64(order.self_test.unwrap_or_default());
        let limit = length.unwrap_or_default() + EXAMINE_MARGIN;
        let reply = self
            .call(call, limit, |mut calls| async move {
                calls.examine(request).await
            })
            .await?;
        wire::from_json(&reply.examination).map_err(nonsense(call))
    }

    /// Has the machine put back by itself at each of its starts what an interrupted study left, or no more.
    ///
    /// # Errors
    ///
    /// [`AgentError::Refused`] if a file can't be written; else as [`Client::prepare`].
    pub async fn change_boot_unit(
        &self,
        action: BootUnitAction,
    ) -> Result<BootUnitReport, AgentError> {
        let call = "change what it does at its start";
        let action = wire::json(&action).map_err(nonsense(call))?;
        let reply = self
            .call(call, SETTINGS_LIMIT, |mut calls| async move {
                let request = proto::ChangeBootUnitRequest { action };
                calls.change_boot_unit(request).await
            })
            .await?;
        wire::from_json(&reply.report).map_err(nonsense(call))
    }

    /// Opens a trial; ends the one that was open.
    ///
    /// # Errors
    ///
    /// [`AgentError::Refused`] if its folders can't be made; [`AgentError::Lost`], [`AgentError::Deadline`].
    pub async fn begin_trial(&self, trial: BeginTrial) -> Result<TrialBegun, AgentError> {
        let request = proto::BeginTrialRequest {
            trial: trial.trial,
            env: trial.env,
            undo: trial.undo.into_iter().map(wire::run_request).collect(),
            neighbours: trial.neighbours,
            files: trial.files,
        };
        let reply = self
            .call("begin the trial", END_LIMIT, |mut calls| async move {
                calls.begin_trial(request).await
            })
            .await?;
        Ok(TrialBegun {
            scratch: reply.scratch.into(),
            spool: reply.spool.into(),
            drawn: reply.drawn.into_iter().collect(),
        })
    }

    /// The core files that programs of the open trial left, with their content as far as all are together no longer than `limit`
    /// bytes.
    ///
    /// # Errors
    ///
    /// [`AgentError::Refused`] if no trial is open; [`AgentError::Lost`], [`AgentError::Deadline`].
    pub async fn take_core_files(&self, limit: u64) -> Result<CoreFiles, AgentError> {
        const CALL: &str = "take the core files";
        let request = proto::TakeCoreFilesRequest { limit };
        self.call(CALL, CORE_FILES_LIMIT, |mut calls| async move {
            let mut events = calls.take_core_files(request).await?.into_inner();
            let mut taken = Vec::new();
            while let Some(event) = events.message().await? {
                taken.push(event);
            }
            Ok(tonic::Response::new(taken))
        })
        .await?
        .into_iter()
        .try_fold(CoreFiles::default(), |mut all, event| {
            all.add(event)?;
            Ok(all)
        })
    }

    /// Ends the open trial: nothing of it runs when this returns.
    ///
    /// # Errors
    ///
    /// [`AgentError::Refused`] if none is open; [`AgentError::Lost`], [`AgentError::Deadline`].
    pub async fn end_trial(&self) -> Result<TrialEnded, AgentError> {
        let reply = self
            .call("end the trial", END_LIMIT, |mut calls| async move {
                calls.end_trial(proto::EndTrialRequest {}).await
            })
            .await?;
        wire::trial_ended(reply)
    }

    /// Starts a step of the open trial. Dropping the [`RunningStep`] kills it.
    ///
    /// # Errors
    ///
    /// [`AgentError::Refused`] if no trial is open, the step's id was used before, its command is empty or its pattern
    /// isn't a regular expression; [`AgentError::Lost`], [`AgentError::Deadline`].
    pub async fn run(&self, step: StepSpec) -> Result<RunningStep, AgentError> {
        let id = step.id;
        let held = if step.hold {
            Finished::HOLD_LIMIT
        } else {
            Duration::ZERO
        };
        let limit = [step.timeout, step.grace, held, RUN_MARGIN]
            .into_iter()
            .fold(Duration::ZERO, Duration::saturating_add);
        let request = wire::run_request(step);
        let span = self.request("follow the step");
        let events = self
            .call("run the step", CALL_LIMIT, |mut calls| async move {
                calls.run(request).await
            })
            .instrument(span.clone())
            .await?;
        let deadline = Instant::now().checked_add(limit);
        Ok(RunningStep {
            step: id,
            events: Some(events),
            deadline,
            limit,
            span,
        })
    }

    /// Lets a held step go when the agent's monotonic clock reaches `at_monotonic_ns`; at once if it has, and as soon
    /// as the program is loaded if it isn't yet. The instant at which it really was let go is in
    /// [`StepEvent::Begun`]. A step that was started without `hold` takes no notice.
    ///
    /// # Errors
    ///
    /// [`AgentError::Refused`] if there never was such a step in the trial; [`AgentError::Lost`], [`AgentError::Deadline`].
    pub async fn release(&self, step: StepId, at_monotonic_ns: u64) -> Result<(), AgentError> {
        let request = proto::ReleaseRequest {
            step: step.0,
            at_monotonic_ns,
        };
        self.call("release the step", CALL_LIMIT, |mut calls| async move {
            calls.release(request).await
        })
        .await?;
        Ok(())
    }

    /// Asks a running step to end: its stop signal (or this one), after its grace (or this one) SIGKILL. Returns at
    /// once; the step's [`RunningStep`] tells when it has ended. A step that has ended already is left alone.
    ///
    /// # Errors
    ///
    /// [`AgentError::Refused`] if there never was such a step in the trial; [`AgentError::Lost`], [`AgentError::Deadline`].
    pub async fn stop(
        &self,
        step: StepId,
        signal: Option<i32>,
        grace: Option<Duration>,
    ) -> Result<(), AgentError> {
        let request = proto::StopRequest {
            step: step.0,
            signal,
            grace_ns: grace.map(wire::nanoseconds),
        };
        self.call("stop the step", CALL_LIMIT, |mut calls| async move {
            calls.stop(request).await
        })
        .await?;
        Ok(())
    }

    /// What programs of the open trial do at barriers, as it happens. Without it every program that comes to one is refused.
    ///
    /// # Errors
    ///
    /// [`AgentError::Refused`] if no trial is open, or its barriers are watched already; [`AgentError::Lost`],
    /// [`AgentError::Deadline`].
    pub async fn watch_barriers(&self) -> Result<BarrierReports, AgentError> {
        let request = proto::WatchBarriersRequest {};
        let reports = self
            .call("watch the barriers", CALL_LIMIT, |mut calls| async move {
                calls.watch_barriers(request).await
            })
            .await?;
        Ok(BarrierReports(reports))
    }

    /// Lets programs go that wait at a barrier, or sends them away. Those that have gone away are passed over.
    ///
    /// # Errors
    ///
    /// [`AgentError::Refused`] if no trial is open; [`AgentError::Lost`], [`AgentError::Deadline`].
    pub async fn answer_at_barrier(
        &self,
        arrivals: Vec<u64>,
        answer: BarrierAnswer,
    ) -> Result<(), AgentError> {
        let request = wire::release_barrier(arrivals, answer);
        self.call("release the barrier", CALL_LIMIT, |mut calls| async move {
            calls.release_barrier(request).await
        })
        .await?;
        Ok(())
    }

    /// Puts files on the agent's host, where they are found again by their name, and are on its disk when this returns. Files that are
    /// there already aren't sent again, and of others not the chunks that are there. `on_progress` hears how far it is. Returns their
    /// folder there: of a plan's files a copy for this agent.
    ///
    /// # Errors
    ///
    /// [`AgentError::Unreadable`] if they can't be read here, [`AgentError::Refused`] if they can't be written there;
    /// [`AgentError::Lost`], [`AgentError::Deadline`].
    pub async fn upload(
        &self,
        files: &UploadFiles,
        on_progress: impl Fn(UploadProgress) + Sync,
    ) -> Result<PathBuf, AgentError> {
        const CALL: &str = "put the files there";
        let asked = proto::FindRequest {
            name: files.name.clone(),
            plan: files.kind == UploadKind::Plan,
        };
        let found = self
            .call("find the files", FIND_LIMIT, |mut calls| async move {
                calls.find(asked).await
            })
            .await?;
        if !found.folder.is_empty() {
            return Ok(found.folder.into());
        }
        let listed = files.listed().await.map_err(AgentError::Unreadable)?;
        let (sender, pieces) = mpsc::channel(PIECES_AHEAD);
        let _there_is_room = sender.try_send(files.beginning(listed));
        let pieces = ReceiverStream::new(pieces);
        let replies = self
            .call(CALL, CALL_LIMIT, |mut calls| async move {
                calls.put(pieces).await
            })
            .await?;
        let sent = listed.send(sender, replies, &on_progress);
        let span = self.request(CALL);
        sent.instrument(span).await.map_err(|fault| match fault {
            SendFault::Unreadable(cause) => AgentError::Unreadable(cause),
            SendFault::Ended(status) => failure(CALL, &status),
            SendFault::Stalled => AgentError::Deadline {
                call: CALL,
                after: STALL_LIMIT,
            },
        })
    }

    async fn call<T, F>(
        &self,
        call: &'static str,
        limit: Duration,
        make: impl FnOnce(AgentClient<Channel>) -> F,
    ) -> Result<T, AgentError>
    where
        F: Future<Output = Result<tonic::Response<T>, Status>>,
    {
        let answer = make(self.calls.clone()).instrument(self.request(call));
        match timeout(limit, answer).await {
            Ok(Ok(reply)) => Ok(reply.into_inner()),
            Ok(Err(status)) => Err(failure(call, &status)),
            Err(_) => Err(AgentError::Deadline { call, after: limit }),
        }
    }
}

/// What programs of a trial do at barriers, until the trial ends.
pub struct BarrierReports(Streaming<proto::BarrierReport>);

impl BarrierReports {
    /// The next report; none after the trial. Cancel safe.
    ///
    /// # Errors
    ///
    /// [`AgentError::Lost`] if the agent went away.
    pub async fn next(&mut self) -> Result<Option<BarrierReport>, AgentError> {
        let report = self.0.message().await;
        let report = report.map_err(|status| failure("watch the barriers", &status))?;
        report.map(wire::reported_barrier).transpose()
    }
}

/// A step that was started: its events, in order.
pub struct RunningStep {
    step: StepId,
    /// None once it has finished: nothing keeps the connection open then.
    events: Option<Streaming<proto::StepEvent>>,
    deadline: Option<Instant>,
    limit: Duration,
    /// Open until the step has finished.
    span: Span,
}

/// All of a step at once.
#[derive(Clone, Debug)]
pub struct StepOutcome {
    /// How it ended.
    pub finished: Finished,
    /// What was kept of its standard output.
    pub stdout: Vec<u8>,
    /// The same of its error stream.
    pub stderr: Vec<u8>,
}

impl RunningStep {
    /// The step.
    #[must_use]
    pub fn step(&self) -> StepId {
        self.step
    }

    /// The next event; none after [`StepEvent::Finished`]. Cancel safe.
    ///
    /// # Errors
    ///
    /// [`AgentError::Lost`] if the agent went away, [`AgentError::Deadline`] if it didn't keep the step's limits.
    pub async fn next(&mut self) -> Result<Option<StepEvent>, AgentError> {
        const CALL: &str = "finish the step";
        let Some(events) = &mut self.events else {
            return Ok(None);
        };
        let message = events.message();
        let message = match self.deadline {
            Some(deadline) => {
                timeout_at(deadline, message)
                    .await
                    .map_err(|_| AgentError::Deadline {
                        call: CALL,
                        after: self.limit,
                    })?
            }
            None => message.await,
        };
        match message.map_err(|status| failure(CALL, &status))? {
            Some(event) => {
                let event = wire::step_event(event)?;
                if matches!(event, StepEvent::Finished(_)) {
                    self.events = None;
                    self.span = Span::none();
                }
                Ok(Some(event))
            }
            None => Err(AgentError::Protocol {
                call: CALL,
                why: "the stream of events ended before the step".into(),
            }),
        }
    }

    /// Waits for the step's end and gathers what it wrote; other events are passed over.
    ///
    /// # Errors
    ///
    /// As [`RunningStep::next`].
    pub async fn outcome(mut self) -> Result<StepOutcome, AgentError> {
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        loop {
            match self.next().await? {
                Some(StepEvent::Stdout(piece)) => stdout.extend_from_slice(&piece),
                Some(StepEvent::Stderr(piece)) => stderr.extend_from_slice(&piece),
                Some(StepEvent::Finished(finished)) => {
                    return Ok(StepOutcome {
                        finished,
                        stdout,
                        stderr,
                    });
                }
                Some(_) => {}
                None => {
                    return Err(AgentError::Protocol {
                        call: "finish the step",
                        why: "it had finished before".into(),
                    });
                }
            }
        }
    }
}

async fn channel<S>(stream: S) -> Result<(Channel, watch::Receiver<()>), AgentError>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (alive, gone) = watch::channel(());
    let mut only = Some(TokioIo::new(Watched {
        stream,
        _alive: alive,
    }));
    // A lost agent's trial is lost: the second connection that the channel would make must not exist.
    let connector = tower::service_fn(move |_| {
        let stream = only.take().ok_or_else(|| {
            io::Error::new(io::ErrorKind::NotConnected, "the stream to the agent ended")
        });
        std::future::ready(stream)
    });
    let channel = Endpoint::from_static("http://agent.invalid")
        .http2_keep_alive_interval(ALIVE_INTERVAL)
        .keep_alive_timeout(ALIVE_LIMIT)
        .keep_alive_while_idle(true)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .connect_with_connector(connector)
        .await
        .map_err(|error| AgentError::NotAnAgent { why: chain(&error) })?;
    Ok((channel, gone))
}

/// Whether the agent said this itself: what it says has no cause on our side.
fn said_by_agent(status: &Status) -> bool {
    status.source().is_none()
        && !matches!(
            status.code(),
            Code::Unavailable | Code::Cancelled | Code::Unknown
        )
}

fn failure(call: &'static str, status: &Status) -> AgentError {
    match status.code() {
        _ if !said_by_agent(status) => AgentError::Lost { why: words(status) },
        Code::Unimplemented | Code::Internal | Code::OutOfRange => AgentError::Protocol {
            call,
            why: words(status),
        },
        _ => AgentError::Refused {
            call,
            why: status.message().to_owned(),
        },
    }
}

fn words(status: &Status) -> String {
    match status.source() {
        Some(source) => chain(source),
        None => status.message().to_owned(),
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(error) = next {
        let words = error.to_string();
        if !text.contains(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        next = error.source();
    }
    text
}

/// The stream, with a watch on its end: whoever drops it, for whatever reason, drops the sender.
struct Watched<S> {
    stream: S,
    _alive: watch::Sender<()>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

fn nonsense(call: &'static str) -> impl Fn(Status) -> AgentError {
    move |status| AgentError::Protocol {
        call,
        why: status.message().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::agent_server::AgentServer;
    use tokio_stream::StreamExt;
    use tonic::{Request, Response};

    /// An agent of another protocol, which answers nothing but the greeting.
    struct Stranger;

    type Reply<T> = Result<Response<T>, Status>;

    fn unknown<T>() -> Reply<T> {
        Err(Status::unimplemented("another protocol"))
    }

    #[tonic::async_trait]
    impl proto::agent_server::Agent for Stranger {
        type LeaseStream = tokio_stream::Pending<Result<proto::LeaseEvent, Status>>;
        type RunStream = tokio_stream::Pending<Result<proto::StepEvent, Status>>;
        type WatchBarriersStream = tokio_stream::Pending<Result<proto::BarrierReport, Status>>;
        type PutStream = tokio_stream::Pending<Result<proto::PutReply, Status>>;
        type TakeCoreFilesStream = tokio_stream::Pending<Result<proto::CoreFileEvent, Status>>;

        async fn hello(&self, _: Request<proto::HelloRequest>) -> Reply<proto::HelloReply> {
            let (protocol, agent_version) = (PROTOCOL + 1, "9.9".to_owned());
            Ok(Response::new(proto::HelloReply {
                protocol,
                agent_version,
                ..Default::default()
            }))
        }
        async fn lease(&self, _: Request<proto::LeaseRequest>) -> Reply<Self::LeaseStream> {
            unknown()
        }
        async fn clock(&self, _: Request<proto::ClockRequest>) -> Reply<proto::Moment> {
            unknown()
        }
        async fn facts(&self, _: Request<proto::FactsRequest>) -> Reply<proto::FactsReply> {
            unknown()
        }
        async fn addresses(
            &self,
            _: Request<proto::AddressesRequest>,
        ) -> Reply<proto::AddressesReply> {
            unknown()
        }
        async fn prepare(&self, _: Request<proto::PrepareRequest>) -> Reply<proto::PrepareReply> {
            unknown()
        }
        async fn restore(&self, _: Request<proto::RestoreRequest>) -> Reply<proto::RestoreReply> {
            unknown()
        }
        async fn change_boot_unit(
            &self,
            _: Request<proto::ChangeBootUnitRequest>,
        ) -> Reply<proto::ChangeBootUnitReply> {
            unknown()
        }
        async fn record(&self, _: Request<proto::RecordRequest>) -> Reply<proto::RecordReply> {
            unknown()
        }
        async fn examine(&self, _: Request<proto::ExamineRequest>) -> Reply<proto::ExamineReply> {
            unknown()
        }
        async fn begin_trial(
            &self,
            _: Request<proto::BeginTrialRequest>,
        ) -> Reply<proto::BeginTrialReply> {
            unknown()
        }
        async fn end_trial(
            &self,
            _: Request<proto::EndTrialRequest>,
        ) -> Reply<proto::EndTrialReply> {
            unknown()
        }
        async fn run(&self, _: Request<proto::RunRequest>) -> Reply<Self::RunStream> {
            unknown()
        }
        async fn release(&self, _: Request<proto::ReleaseRequest>) -> Reply<proto::ReleaseReply> {
            unknown()
        }
        async fn stop(&self, _: Request<proto::StopRequest>) -> Reply<proto::StopReply> {
            unknown()
        }
        async fn watch_barriers(
            &self,
            _: Request<proto::WatchBarriersRequest>,
        ) -> Reply<Self::WatchBarriersStream> {
            unknown()
        }
        async fn take_core_files(
            &self,
            _: Request<proto::TakeCoreFilesRequest>,
        ) -> Reply<Self::TakeCoreFilesStream> {
            unknown()
        }
        async fn release_barrier(
            &self,
            _: Request<proto::ReleaseBarrierRequest>,
        ) -> Reply<proto::ReleaseBarrierReply> {
            unknown()
        }
        async fn find(&self, _: Request<proto::FindRequest>) -> Reply<proto::FindReply> {
            unknown()
        }
        async fn put(&self, _: Request<Streaming<proto::PutRequest>>) -> Reply<Self::PutStream> {
            unknown()
        }
    }

    #[tokio::test]
    async fn an_agent_of_another_protocol_is_refused_with_both_versions() {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let streams = tokio_stream::once(io::Result::Ok(theirs)).chain(tokio_stream::pending());
        let server = tonic::transport::Server::builder()
            .serve_with_incoming(AgentServer::new(Stranger), streams);
        tokio::spawn(server);
        let error = Client::connect(ours, Duration::from_secs(10))
            .await
            .err()
            .unwrap();
        assert!(
            matches!(error, AgentError::Version { ours: PROTOCOL, theirs, .. } if theirs == PROTOCOL + 1),
            "{error}"
        );
    }
}
