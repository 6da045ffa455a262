//! Between the protocol's messages and plain values. Both ends use it; nothing else sees a message.

use std::net::IpAddr;
use std::time::Duration;

use backsight_model::InterfaceAddress;

use crate::AgentMark;
use crate::addresses::{HostAddresses, PeerRoute};
use crate::error::AgentError;
use crate::proto::{self, finished, held, ready, run_request, step_event as event};
use crate::step::{
    AtBarrier, BarrierAnswer, BarrierReport, Condition, CoreFile, CoreFiles, CpuAccount, EndReason,
    Finished, Hello, HoldState, Moment, ProcessExit, ProcessUsage, ReadyCheck, StepCommand,
    StepEvent, StepId, StepSpec, Survivor, TrialEnded,
};

/// Whole nanoseconds; what doesn't fit is for ever.
pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn missing(call: &'static str, what: &str) -> AgentError {
    AgentError::Protocol {
        call,
        why: format!("{what} is missing"),
    }
}

fn some(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

impl From<Moment> for proto::Moment {
    fn from(moment: Moment) -> Self {
        Self {
            monotonic_ns: moment.monotonic_ns,
            wall_ns: moment.wall_ns,
        }
    }
}

impl From<proto::Moment> for Moment {
    fn from(moment: proto::Moment) -> Self {
        Self {
            monotonic_ns: moment.monotonic_ns,
            wall_ns: moment.wall_ns,
        }
    }
}

pub(crate) fn hello(reply: proto::HelloReply) -> Result<Hello, AgentError> {
    let now = reply
        .now
        .ok_or_else(|| missing("hello", "the clock"))?
        .into();
    Ok(Hello {
        agent_version: reply.agent_version,
        boot_id: reply.boot_id.clone(),
        machine_id: some(reply.machine_id),
        sizes: reply.sizes.into_iter().collect(),
        now,
        program: some(reply.program),
        mark: AgentMark {
            mark: reply.mark,
            pid: reply.pid,
            start_ticks: reply.start_ticks,
            boot_id: reply.boot_id,
            cgroup: some(reply.cgroup).map(Into::into),
            folder: reply.folder.into(),
        },
    })
}

pub(crate) fn trial_ended(reply: proto::EndTrialReply) -> Result<TrialEnded, AgentError> {
    let account = reply
        .account
        .ok_or_else(|| missing("end trial", "the account"))?;
    let survivor = |s: proto::Survivor| Survivor {
        pid: s.pid,
        name: s.name,
        step: s.step.map(StepId),
    };
    Ok(TrialEnded {
        survivors: reply.survivors.into_iter().map(survivor).collect(),
        unkillable: reply.unkillable,
        left: some(reply.left),
        mounts: reply.mounts,
        account: account.into(),
        neighbours: reply
            .neighbours
            .into_iter()
            .map(|neighbour| (neighbour.name, neighbour.cpu))
            .collect(),
    })
}

impl CoreFiles {
    /// Takes in the next event; a piece belongs to the file before.
    pub(crate) fn add(&mut self, event: proto::CoreFileEvent) -> Result<(), AgentError> {
        use proto::core_file_event::Event;
        const CALL: &str = "take the core files";
        match event.event.ok_or_else(|| missing(CALL, "the event"))? {
            Event::File(file) => self.files.push(CoreFile {
                path: file.path,
                program: some(file.program),
                signal: Some(file.signal).filter(|signal| *signal > 0),
                bytes: file.bytes,
                content: file.taken.then(Vec::new),
            }),
            Event::Piece(piece) => {
                let last = self.files.last_mut().and_then(|last| last.content.as_mut());
                let content = last.ok_or_else(|| missing(CALL, "the file of a piece"))?;
                content.extend_from_slice(&piece);
            }
            Event::LeftOut(count) => self.left_out = count,
            Event::Hindrance(why) => self.hindrance = some(why),
        }
        Ok(())
    }
}

/// The peers of a question about addresses.
///
/// # Errors
///
/// One is no address.
pub(crate) fn peers(request: proto::AddressesRequest) -> Result<Vec<IpAddr>, String> {
    let peers = request.peers.into_iter();
    let parsed = peers.map(|peer| {
        let parsed = peer.parse();
        parsed.map_err(|_| format!("`{}` is no address", peer.escape_default()))
    });
    parsed.collect()
}

/// The message for a host's addresses.
pub(crate) fn addresses_reply(addresses: HostAddresses) -> proto::AddressesReply {
    let own = addresses
        .own
        .into_iter()
        .map(|own| proto::InterfaceAddress {
            interface: own.interface,
            address: own.address.to_string(),
        });
    let routes = addresses.routes.into_iter().map(|route| proto::PeerRoute {
        peer: route.peer.to_string(),
        way: Some(match route.from {
            Ok(from) => proto::peer_route::Way::From(from.to_string()),
            Err(fault) => proto::peer_route::Way::Fault(fault),
        }),
    });
    proto::AddressesReply {
        own: own.collect(),
        routes: routes.collect(),
    }
}

pub(crate) fn addresses(reply: proto::AddressesReply) -> Result<HostAddresses, AgentError> {
    let parse = |text: String| -> Result<IpAddr, AgentError> {
        let parsed = text.parse();
        parsed.map_err(|_| missing("tell its addresses", "an address"))
    };
    let own = reply.own.into_iter().map(|own| {
        Ok(InterfaceAddress {
            interface: own.interface,
            address: parse(own.address)?,
        })
    });
    let routes = reply.routes.into_iter().map(|route| {
        let from = match route.way {
            Some(proto::peer_route::Way::From(from)) => Ok(parse(from)?),
            Some(proto::peer_route::Way::Fault(fault)) => Err(fault),
            None => return Err(missing("tell its addresses", "a way")),
        };
        let peer = parse(route.peer)?;
        Ok(PeerRoute { peer, from })
    });
    Ok(HostAddresses {
        own: own.collect::<Result<_, AgentError>>()?,
        routes: routes.collect::<Result<_, AgentError>>()?,
    })
}

/// The message for what was found when a trial was ended.
pub(crate) fn end_trial_reply(ended: TrialEnded) -> proto::EndTrialReply {
    let survivor = |s: Survivor| proto::Survivor {
        pid: s.pid,
        name: s.name,
        step: s.step.map(|step| step.0),
    };
    proto::EndTrialReply {
        survivors: ended.survivors.into_iter().map(survivor).collect(),
        account: Some(ended.account.into()),
        unkillable: ended.unkillable,
        left: ended.left.unwrap_or_default(),
        mounts: ended.mounts,
        neighbours: ended
            .neighbours
            .into_iter()
            .map(|(name, cpu)| proto::Neighbour { name, cpu })
            .collect(),
    }
}

impl From<proto::Account> for CpuAccount {
    fn from(account: proto::Account) -> Self {
        let proto::Account {
            wall,
            cpus,
            user,
            system,
            interrupts,
            steal,
            idle,
            own,
            own_by_cgroup,
        } = account;
        Self {
            wall,
            cpus,
            user,
            system,
            interrupts,
            steal,
            idle,
            own,
            own_by_cgroup,
        }
    }
}

impl From<CpuAccount> for proto::Account {
    fn from(account: CpuAccount) -> Self {
        let CpuAccount {
            wall,
            cpus,
            user,
            system,
            interrupts,
            steal,
            idle,
            own,
            own_by_cgroup,
        } = account;
        Self {
            wall,
            cpus,
            user,
            system,
            interrupts,
            steal,
            idle,
            own,
            own_by_cgroup,
        }
    }
}

pub(crate) fn barrier_report(report: BarrierReport) -> proto::BarrierReport {
    use proto::barrier_report::What;
    let what = match report.what {
        AtBarrier::Arrived { step, name, of } => What::Arrived(proto::BarrierArrived {
            step: step.0,
            name,
            of: of.unwrap_or(0),
        }),
        AtBarrier::Gone { heard_ns, woke_ns } => What::Gone(proto::BarrierGone {
            heard_monotonic_ns: heard_ns,
            woke_monotonic_ns: woke_ns,
        }),
        AtBarrier::Left => What::Left(proto::BarrierLeft {}),
    };
    proto::BarrierReport {
        arrival: report.arrival,
        what: Some(what),
    }
}

pub(crate) fn reported_barrier(report: proto::BarrierReport) -> Result<BarrierReport, AgentError> {
    use proto::barrier_report::What;
    let what = match report.what {
        Some(What::Arrived(arrived)) => AtBarrier::Arrived {
            step: StepId(arrived.step),
            name: arrived.name,
            of: Some(arrived.of).filter(|of| *of > 0),
        },
        Some(What::Gone(gone)) => AtBarrier::Gone {
            heard_ns: gone.heard_monotonic_ns,
            woke_ns: gone.woke_monotonic_ns,
        },
        Some(What::Left(_)) => AtBarrier::Left,
        None => return Err(missing("watch the barriers", "a report")),
    };
    Ok(BarrierReport {
        arrival: report.arrival,
        what,
    })
}

pub(crate) fn release_barrier(
    arrivals: Vec<u64>,
    answer: BarrierAnswer,
) -> proto::ReleaseBarrierRequest {
    use proto::release_barrier_request::How;
    proto::ReleaseBarrierRequest {
        arrivals,
        how: Some(match answer {
            BarrierAnswer::Go(at) => How::AtMonotonicNs(at),
            BarrierAnswer::Refused(reason) => How::Refused(reason),
        }),
    }
}

pub(crate) fn barrier_answer(
    request: proto::ReleaseBarrierRequest,
) -> Option<(Vec<u64>, BarrierAnswer)> {
    use proto::release_barrier_request::How;
    let answer = match request.how? {
        How::AtMonotonicNs(at) => BarrierAnswer::Go(at),
        How::Refused(reason) => BarrierAnswer::Refused(reason),
    };
    Some((request.arrivals, answer))
}

pub(crate) fn run_request(step: StepSpec) -> proto::RunRequest {
    proto::RunRequest {
        step: step.id.0,
        command: Some(match step.command {
            StepCommand::Argv(words) => run_request::Command::Argv(proto::Argv { words }),
            StepCommand::Text(text) => run_request::Command::Text(text),
        }),
        env: step.env,
        cwd: step.cwd.unwrap_or_default(),
        timeout_ns: nanoseconds(step.timeout),
        output_limit: step.output_limit,
        core_limit: step.core_limit,
        expect: step.expect,
        background: step.background,
        ready: step.ready.map(|ready| proto::Ready {
            condition: Some(match ready.condition {
                Condition::Listens(port) => ready::Condition::Listens(port.into()),
                Condition::Binds(port) => ready::Condition::Binds(port.into()),
                Condition::Line(pattern) => ready::Condition::Line(pattern),
                Condition::File(path) => ready::Condition::File(path),
            }),
            timeout_ns: nanoseconds(ready.timeout),
        }),
        hold: step.hold,
        stop_signal: step.stop_signal,
        grace_ns: nanoseconds(step.grace),
        silence_ns: step.silence.map_or(0, nanoseconds),
        streams: step.streams,
    }
}

/// The step that a request asks for, or what is wrong with it.
pub(crate) fn step(request: proto::RunRequest) -> Result<StepSpec, String> {
    let command = match request.command.ok_or("the step has no command")? {
        run_request::Command::Argv(argv) => StepCommand::Argv(argv.words),
        run_request::Command::Text(text) => StepCommand::Text(text),
    };
    Ok(StepSpec {
        id: StepId(request.step),
        command,
        env: request.env,
        cwd: some(request.cwd),
        timeout: Duration::from_nanos(request.timeout_ns),
        output_limit: request.output_limit,
        core_limit: request.core_limit,
        expect: request.expect,
        background: request.background,
        ready: request.ready.map(readiness).transpose()?,
        hold: request.hold,
        stop_signal: request.stop_signal,
        grace: Duration::from_nanos(request.grace_ns),
        silence: (request.silence_ns > 0).then(|| Duration::from_nanos(request.silence_ns)),
        streams: request.streams,
    })
}

fn readiness(ready: proto::Ready) -> Result<ReadyCheck, String> {
    let port = |port: u32| u16::try_from(port).map_err(|_| format!("{port} is no port"));
    let condition = match ready
        .condition
        .ok_or("the step's readiness has no condition")?
    {
        ready::Condition::Listens(number) => Condition::Listens(port(number)?),
        ready::Condition::Binds(number) => Condition::Binds(port(number)?),
        ready::Condition::Line(pattern) => Condition::Line(pattern),
        ready::Condition::File(path) => Condition::File(path),
    };
    Ok(ReadyCheck {
        condition,
        timeout: Duration::from_nanos(ready.timeout_ns),
    })
}

pub(crate) fn step_event(message: proto::StepEvent) -> Result<StepEvent, AgentError> {
    const CALL: &str = "run";
    Ok(
        match message.event.ok_or_else(|| missing(CALL, "the event"))? {
            event::Event::Started(started) => {
                let at = started
                    .at
                    .ok_or_else(|| missing(CALL, "the instant of the start"))?;
                StepEvent::Started {
                    pid: started.pid,
                    at: at.into(),
                }
            }
            event::Event::Held(held) => StepEvent::Held(match held.r#where() {
                held::Where::Entry => HoldState::Entry,
                held::Where::Exec => HoldState::Exec,
                held::Where::BeforeExec => HoldState::BeforeExec,
                held::Where::Unspecified => return Err(missing(CALL, "where the program is held")),
            }),
            event::Event::Begun(at) => StepEvent::Begun(at.into()),
            event::Event::Ready(at) => StepEvent::Ready(at.into()),
            event::Event::Stdout(piece) => StepEvent::Stdout(piece),
            event::Event::Stderr(piece) => StepEvent::Stderr(piece),
            event::Event::Finished(finished) => StepEvent::Finished(ended(finished)?),
        },
    )
}

fn ended(message: proto::Finished) -> Result<Finished, AgentError> {
    const CALL: &str = "run";
    let ended = message
        .ended
        .ok_or_else(|| missing(CALL, "the instant of the end"))?
        .into();
    let (kind, why) = (message.reason(), message.why);
    Ok(Finished {
        reason: match kind {
            finished::Reason::Exited => EndReason::Exited,
            finished::Reason::TimedOut => EndReason::TimedOut,
            finished::Reason::OutputLimit => EndReason::OutputLimit,
            finished::Reason::NotFound => EndReason::NotFound { program: why },
            finished::Reason::CannotStart => EndReason::CannotStart { why },
            finished::Reason::NeverReady => EndReason::NeverReady { why },
            finished::Reason::ExitedBeforeReady => EndReason::ExitedBeforeReady { why },
            finished::Reason::Stopped => EndReason::Stopped,
            finished::Reason::Spool => EndReason::Spool { why },
            finished::Reason::TrialEnded => EndReason::TrialEnded,
            finished::Reason::NeverReleased => EndReason::NeverReleased,
            finished::Reason::LimitReached => EndReason::LimitReached { why },
            finished::Reason::Unspecified => return Err(missing(CALL, "the reason of the end")),
        },
        exit: message.exit.map(|exit| match exit {
            finished::Exit::Code(code) => ProcessExit::Code(code),
            finished::Exit::Signal(signal) => ProcessExit::Signal(signal),
        }),
        as_expected: message.as_expected,
        begun: message.begun.map(Into::into),
        ended,
        usage: message.usage.map(|usage| ProcessUsage {
            user: Duration::from_nanos(usage.user_ns),
            system: Duration::from_nanos(usage.system_ns),
            max_rss_bytes: usage.max_rss_bytes,
            voluntary_switches: usage.voluntary_switches,
            involuntary_switches: usage.involuntary_switches,
        }),
        stdout_bytes: message.stdout_bytes,
        stderr_bytes: message.stderr_bytes,
        truncated: message.truncated,
    })
}

/// The message for an event.
pub(crate) fn event(happened: StepEvent) -> proto::StepEvent {
    let event = match happened {
        StepEvent::Started { pid, at } => event::Event::Started(proto::Started {
            pid,
            at: Some(at.into()),
        }),
        StepEvent::Held(held) => {
            let place = match held {
                HoldState::Entry => held::Where::Entry,
                HoldState::Exec => held::Where::Exec,
                HoldState::BeforeExec => held::Where::BeforeExec,
            };
            event::Event::Held(proto::Held {
                r#where: place.into(),
            })
        }
        StepEvent::Begun(at) => event::Event::Begun(at.into()),
        StepEvent::Ready(at) => event::Event::Ready(at.into()),
        StepEvent::Stdout(piece) => event::Event::Stdout(piece),
        StepEvent::Stderr(piece) => event::Event::Stderr(piece),
        StepEvent::Finished(finished) => event::Event::Finished(end(finished)),
    };
    proto::StepEvent { event: Some(event) }
}

fn end(finished: Finished) -> proto::Finished {
    let (kind, why) = match finished.reason {
        EndReason::Exited => (finished::Reason::Exited, String::new()),
        EndReason::TimedOut => (finished::Reason::TimedOut, String::new()),
        EndReason::OutputLimit => (finished::Reason::OutputLimit, String::new()),
        EndReason::NotFound { program } => (finished::Reason::NotFound, program),
        EndReason::CannotStart { why } => (finished::Reason::CannotStart, why),
        EndReason::NeverReady { why } => (finished::Reason::NeverReady, why),
        EndReason::ExitedBeforeReady { why } => (finished::Reason::ExitedBeforeReady, why),
        EndReason::Stopped => (finished::Reason::Stopped, String::new()),
        EndReason::Spool { why } => (finished::Reason::Spool, why),
        EndReason::TrialEnded => (finished::Reason::TrialEnded, String::new()),
        EndReason::NeverReleased => (finished::Reason::NeverReleased, String::new()),
        EndReason::LimitReached { why } => (finished::Reason::LimitReached, why),
    };
    proto::Finished {
        reason: kind.into(),
        why,
        exit: finished.exit.map(|exit| match exit {
            ProcessExit::Code(code) => finished::Exit::Code(code),
            ProcessExit::Signal(signal) => finished::Exit::Signal(signal),
        }),
        as_expected: finished.as_expected,
        begun: finished.begun.map(Into::into),
        ended: Some(finished.ended.into()),
        usage: finished.usage.map(|usage| proto::Usage {
            user_ns: nanoseconds(usage.user),
            system_ns: nanoseconds(usage.system),
            max_rss_bytes: usage.max_rss_bytes,
            voluntary_switches: usage.voluntary_switches,
            involuntary_switches: usage.involuntary_switches,
        }),
        stdout_bytes: finished.stdout_bytes,
        stderr_bytes: finished.stderr_bytes,
        truncated: finished.truncated,
    }
}

/// A value that crosses as JSON.
pub(crate) fn json(value: &impl serde::Serialize) -> Result<String, tonic::Status> {
    serde_json::to_string(value).map_err(|error| tonic::Status::internal(error.to_string()))
}

/// Such a value of the other side.
pub(crate) fn from_json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, tonic::Status> {
    serde_json::from_str(text).map_err(|error| tonic::Status::invalid_argument(error.to_string()))
}
