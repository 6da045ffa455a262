//! Hosts: starting an agent on each and speaking to it over the program's own standard input and output.
//!
//! No port is opened and no password kept.

mod agent_programs;
pub(crate) mod guests;
mod ssh;

use backsight_agent::{
    AgentError, AgentMark, Client, ClockOffset, LeaseHolder, LeaseInForce, PlanFilesError, sweep,
};
use backsight_model::{HostClock, HostKind, HostName, Lab, LabName, Machine};
use backsight_settings::MachineConflict;
use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    fmt,
    net::IpAddr,
    path::PathBuf,
    process::{ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
    task::JoinHandle,
};
use tracing::Instrument as _;

use crate::netns;
use guests::Guest;

/// How long an agent may take to say hello.
const HELLO_LIMIT: Duration = Duration::from_secs(15);
/// How long a process may take to die.
const DEATH_LIMIT: Duration = Duration::from_secs(12);
/// Lines of an agent's own complaints that are kept.
const COMPLAINTS: usize = 20;
/// Round trips by which a far clock is compared.
const CLOCK_ROUND_TRIPS: u32 = 5;

/// How this machine reaches hosts.
#[derive(Debug, Clone)]
pub struct HostAccess {
    /// The program that is started as `PROGRAM agent`; this program, unless a test says otherwise.
    pub program: PathBuf,
    /// How long a host that doesn't answer is waited for, at the start and before each trial.
    pub host_wait: Duration,
    /// What agents of other machines hold as long as they are there.
    pub(crate) lease: Option<Arc<LeaseClaim>>,
}

impl HostAccess {
    /// With this program as the agent; no host is waited for.
    pub fn with_program(program: PathBuf) -> Self {
        Self {
            program,
            host_wait: Duration::ZERO,
            lease: None,
        }
    }

    /// The same for agents that hold nothing.
    pub(crate) fn without_lease(&self) -> Self {
        Self {
            lease: None,
            ..self.clone()
        }
    }

    /// With the program that runs now.
    ///
    /// # Errors
    /// The system doesn't tell which program that is.
    pub fn with_this_program() -> std::io::Result<Self> {
        Ok(Self::with_program(std::env::current_exe()?))
    }
}

/// What agents of other machines hold for a study, and those that hold it and aren't used yet.
pub(crate) struct LeaseClaim {
    pub(crate) holder: LeaseHolder,
    greeted: Mutex<HashMap<HostName, GreetedHost>>,
}

impl LeaseClaim {
    pub(crate) fn new(holder: LeaseHolder) -> Self {
        Self {
            holder,
            greeted: Mutex::default(),
        }
    }

    /// Keeps the agent of a host for whoever starts one there next.
    pub(crate) fn keep(&self, host: HostName, greeted: GreetedHost) {
        let mut all = self.greeted.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(host, greeted);
    }

    fn take_greeted(&self, host: &HostName) -> Option<GreetedHost> {
        let mut all = self.greeted.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(host)
    }
}

impl fmt::Debug for LeaseClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("LeaseClaim");
        shown.field("holder", &self.holder).finish_non_exhaustive()
    }
}

/// Why a host can't be reached.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Another study has it.
    #[error("host `{host}` is leased to {holder}")]
    Leased {
        /// The host.
        host: HostName,
        /// Who says to hold it, and since when.
        holder: String,
    },
    /// Its namespace isn't there.
    #[error("host `{host}` is not up: `backsight lab up` makes its namespace")]
    NotUp {
        /// The host.
        host: HostName,
    },
    /// No interface of it has an address that the lab gives it.
    #[error(
        "no interface of host `{host}` has its address {address}, which a link of the lab says: its addresses are {there}; a link between \
         machines is looked up and never made: give the interface that address there, or say in the lab which it has"
    )]
    NoAddress {
        /// The host.
        host: HostName,
        /// The address.
        address: IpAddr,
        /// The addresses that it has, with their interfaces.
        there: String,
    },
    /// The files beside the plan can't be sent to hosts that don't see them.
    #[error(transparent)]
    PlanFiles(#[from] PlanFilesError),
    /// A setting that it shall have can't be made.
    #[error("host `{host}` can't be prepared: {faults}")]
    NotPrepared {
        /// The host.
        host: HostName,
        /// Each setting, and what is in its way.
        faults: String,
    },
    /// Hosts that are one machine ask for settings that don't go together.
    #[error(transparent)]
    OneMachine(#[from] MachineConflict),
    /// No role is played by it.
    #[error("host `{host}` plays no role in this testbed")]
    NotUsed {
        /// The host.
        host: HostName,
    },
    /// It is a guest, and no kernel runs in it.
    #[error(
        "host `{host}` is a kernel that isn't booted: `backsight step` boots it with each build of a target"
    )]
    NotBooted {
        /// The host.
        host: HostName,
    },
    /// It isn't there, or nobody listens there.
    #[error(
        "host `{host}` can't be reached: {why}: `ssh` says: {message}\nthis was tried: {tried}"
    )]
    Unreachable {
        /// The host.
        host: HostName,
        /// What is in the way.
        why: UnreachableReason,
        /// The command that repeats what was tried.
        tried: String,
        /// What `ssh` said.
        message: String,
    },
    /// It is there and doesn't let us in.
    #[error(
        "host `{host}` answers and refuses the login: `ssh` says: {message}\nthis has to work without asking for anything: {tried}"
    )]
    LoginRefused {
        /// The host.
        host: HostName,
        /// The command that repeats what was tried.
        tried: String,
        /// What `ssh` said.
        message: String,
    },
    /// Its key isn't known here, or isn't the one that is.
    #[error(
        "host `{host}` answers, and its key isn't one that is known here: `ssh` says: {message}\nthis has to work without asking for anything: {tried}"
    )]
    KeyRefused {
        /// The host.
        host: HostName,
        /// The command that repeats what was tried.
        tried: String,
        /// What `ssh` said.
        message: String,
    },
    /// It doesn't get done.
    #[error("host `{host}` answers too slowly: it wasn't done within {limit:?}")]
    TooSlow {
        /// The host.
        host: HostName,
        /// The time that it had.
        limit: Duration,
    },
    /// The agent can't be put there.
    #[error("host `{host}`: the agent can't be put there: {message}")]
    NotPut {
        /// The host.
        host: HostName,
        /// Why.
        message: String,
    },
    /// The agent's program can't be started.
    #[error("host `{host}`: can't start the agent: {cause}")]
    Start {
        /// The host.
        host: HostName,
        /// What the system said.
        cause: std::io::Error,
    },
    /// The agent doesn't answer as it should.
    #[error("host `{host}`: {cause}{}", complaint(.message))]
    Agent {
        /// The host.
        host: HostName,
        /// What is wrong.
        cause: AgentError,
        /// What the agent printed on standard error.
        message: String,
    },
}

impl ConnectError {
    /// What an agent that was greeted doesn't do.
    pub(crate) fn agent(host: &Connected, cause: AgentError) -> Self {
        Self::Agent {
            host: host.name.clone(),
            cause,
            message: String::new(),
        }
    }
}

/// What is in the way to a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnreachableReason {
    /// Its name has no address.
    UnknownName,
    /// It is there, and nobody listens on the port.
    PortClosed,
    /// Nobody answers at the address.
    NoAnswer,
    /// Something else.
    Other,
}

impl fmt::Display for UnreachableReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::UnknownName => "its name has no address",
            Self::PortClosed => "the machine is there, and nothing listens on that port",
            Self::NoAnswer => "nobody answers at that address",
            Self::Other => "the connection failed",
        })
    }
}

fn complaint(message: &str) -> String {
    if message.is_empty() {
        String::new()
    } else {
        format!("; the agent said: {message}")
    }
}

/// A host with a living agent.
pub(crate) struct Connected {
    pub(crate) name: HostName,
    pub(crate) client: Client,
    pub(crate) facts: BTreeMap<String, String>,
    clock: ClockOffset,
    // Dropped last: ends the agent, if the end of its stream hasn't.
    holder: AgentHolder,
}

/// What ends when the agent is done with.
pub(crate) enum AgentHolder {
    /// The agent's process, or `ssh`'s.
    Process(Box<Process>),
    /// The kernel that it is the first process of.
    Guest(Box<Guest>),
}

impl Connected {
    /// Starts an agent on the host, which takes the lease of its machine if that is claimed, and greets it. The span `host` is open until its agent has ended.
    #[tracing::instrument(name = "host", parent = None, level = "info", skip_all, fields(name = %host))]
    pub(crate) async fn start(
        reach: &HostAccess,
        lab: &Lab,
        host: &HostName,
    ) -> Result<Self, ConnectError> {
        let claim = reach.lease.as_ref();
        let leased = claim.and_then(|claim| claim.take_greeted(host));
        let GreetedHost {
            client, process, ..
        } = match leased {
            Some(leased) => leased,
            None => {
                let greeted = GreetedHost::start(reach, lab, host).await?;
                match claim {
                    Some(claim) => greeted.into_leased(lab, &claim.holder).await?,
                    None => greeted,
                }
            }
        };
        match known(&client).await {
            Ok((facts, clock)) => Ok(Self {
                name: host.clone(),
                client: client.with_host(host.as_str()),
                facts,
                clock,
                holder: AgentHolder::Process(Box::new(process)),
            }),
            Err(cause) => Err(ConnectError::Agent {
                host: host.clone(),
                cause,
                message: process.bury().await,
            }),
        }
    }

    /// A guest whose agent has answered.
    ///
    /// # Errors
    /// The agent's; with the guest, which is still to be ended.
    pub(crate) async fn guest(
        name: HostName,
        client: Client,
        guest: Guest,
    ) -> Result<Self, (AgentError, Box<Guest>)> {
        match known(&client).await {
            Ok((facts, clock)) => Ok(Self {
                client: client.with_host(name.as_str()),
                name,
                facts,
                clock,
                holder: AgentHolder::Guest(Box::new(guest)),
            }),
            Err(cause) => Err((cause, Box::new(guest))),
        }
    }

    /// Whether it is a kernel that was booted here.
    pub(crate) fn is_guest(&self) -> bool {
        matches!(self.holder, AgentHolder::Guest(_))
    }

    /// What placeholders may ask of this machine.
    pub(crate) fn machine(&self) -> Machine {
        let sizes = self.client.hello().sizes.iter();
        Machine::from_sizes(sizes.map(|(name, size)| (name.as_str(), *size)))
    }

    /// The running kernel: hosts with the same one are the same machine.
    pub(crate) fn boot_id(&self) -> &str {
        &self.client.hello().boot_id
    }

    /// An instant of our monotonic clock on the host's, in nanoseconds.
    pub(crate) fn on_its_clock(&self, ours: u64) -> u64 {
        ours.saturating_add_signed(self.clock.offset_ns)
    }

    /// An instant of the host's monotonic clock on ours, in nanoseconds.
    pub(crate) fn on_our_clock(&self, its: u64) -> u64 {
        its.saturating_add_signed(self.clock.offset_ns.saturating_neg())
    }

    /// What its monotonic clock is ahead of ours, in nanoseconds.
    pub(crate) fn clock_offset(&self) -> i64 {
        self.clock.offset_ns
    }

    /// What an answer of it takes at least, in nanoseconds; 0 of one whose clock is ours.
    pub(crate) fn round_trip_ns(&self) -> u64 {
        self.clock.uncertainty_ns.saturating_mul(2)
    }

    /// Compares its clock with ours anew, if it is another one: clocks drift. One that doesn't answer stays as it was known.
    pub(crate) async fn compare_clock(&mut self) -> Option<HostClock> {
        if self.clock.uncertainty_ns == 0 {
            return None;
        }
        let compared = self.client.clock_offset(CLOCK_ROUND_TRIPS).await;
        self.clock = compared.unwrap_or(self.clock);
        Some(HostClock {
            host: self.name.clone(),
            ahead_ns: self.clock.offset_ns,
            uncertainty_ns: self.clock.uncertainty_ns,
        })
    }

    /// Whether its files are ours to read.
    pub(crate) fn is_here(&self) -> bool {
        matches!(&self.holder, AgentHolder::Process(process) if process.mark.is_some())
    }

    /// What the kernel of a guest has said so far; none of a host that isn't one.
    pub(crate) fn console(&self) -> Option<Vec<u8>> {
        match &self.holder {
            AgentHolder::Guest(guest) => Some(guest.console()),
            AgentHolder::Process(_) => None,
        }
    }

    /// Kills whatever the agent leaves, itself included; says what it, or the kernel around it, said last.
    pub(crate) async fn bury(self) -> String {
        match self.holder {
            AgentHolder::Process(process) => process.bury().await,
            AgentHolder::Guest(guest) => guest.kill().await,
        }
    }

    /// Ends the agent in order: its stream ends, it cleans up and goes. A guest is powered off by that.
    pub(crate) async fn dismiss(self) {
        let Self { client, holder, .. } = self;
        drop(client);
        match holder {
            AgentHolder::Process(process) => process.end().await,
            AgentHolder::Guest(guest) => guest.power_off().await,
        }
    }
}

/// A host whose agent was greeted and has done nothing yet.
pub(crate) struct GreetedHost {
    name: HostName,
    client: Client,
    process: Process,
}

impl GreetedHost {
    /// Starts an agent on the host and greets it.
    pub(crate) async fn start(
        reach: &HostAccess,
        lab: &Lab,
        host: &HostName,
    ) -> Result<Self, ConnectError> {
        let kind = lab.host.get(host).map_or(HostKind::Local, |h| h.kind);
        if kind.is_guest() {
            return Err(ConnectError::NotBooted { host: host.clone() });
        }
        let (client, process) = match lab.host.get(host) {
            Some(settings) if kind == HostKind::Ssh => ssh::start(reach, settings, host).await?,
            _ => {
                let namespace = (kind == HostKind::Netns).then_some(&lab.name);
                Process::start(reach, host, namespace).await?
            }
        };
        Ok(Self {
            name: host.clone(),
            client,
            process,
        })
    }

    /// The running kernel: hosts with the same one are the same machine.
    pub(crate) fn boot_id(&self) -> &str {
        &self.client.hello().boot_id
    }

    /// Has the agent hold the lease of its machine, for which it waits at most this long. Returns who has it at the end of the
    /// wait; none if it is ours.
    pub(crate) async fn lease(
        &self,
        holder: &LeaseHolder,
        wait: Duration,
        awaited: impl FnMut(&LeaseInForce),
    ) -> Result<Option<LeaseInForce>, AgentError> {
        self.client.lease(holder, wait, awaited).await
    }

    /// The same, now or not at all, where the agent is on another machine. One of this machine inherits its lease.
    async fn into_leased(self, lab: &Lab, holder: &LeaseHolder) -> Result<Self, ConnectError> {
        let kind = lab.host.get(&self.name).map(|settings| settings.kind);
        if kind != Some(HostKind::Ssh) {
            return Ok(self);
        }
        match self.lease(holder, Duration::ZERO, |_| {}).await {
            Ok(None) => Ok(self),
            Ok(Some(in_force)) => {
                let Self {
                    name,
                    client,
                    process,
                } = self;
                drop(client);
                process.end().await;
                Err(ConnectError::Leased {
                    host: name,
                    holder: in_force.to_string(),
                })
            }
            Err(cause) => Err(self.into_fault(cause).await),
        }
    }

    /// Ends the agent, which failed.
    pub(crate) async fn into_fault(self, cause: AgentError) -> ConnectError {
        ConnectError::Agent {
            host: self.name,
            cause,
            message: self.process.bury().await,
        }
    }
}

/// The boot of this machine.
pub(crate) fn this_boot() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}

/// What is asked of every agent once.
async fn known(client: &Client) -> Result<(BTreeMap<String, String>, ClockOffset), AgentError> {
    let facts = client.facts().await?;
    let clock = client.clock_offset(CLOCK_ROUND_TRIPS).await?;
    Ok((facts, clock))
}

/// A process of this machine that supervises an agent, or that carries the stream of one on another machine.
pub(crate) struct Process {
    /// What the agent leaves is ours to sweep; none where it is on another machine.
    mark: Option<AgentMark>,
    child: Child,
    complaints: Arc<Mutex<VecDeque<String>>>,
    /// Takes in the complaints.
    reader: Option<JoinHandle<()>>,
}

/// Why no agent was greeted.
pub(crate) enum GreetingError {
    /// There is no process.
    NotStarted(std::io::Error),
    /// There is one, and no agent answers.
    Silent(AgentError, Box<Process>),
}

impl Process {
    /// Starts an agent, in the host's namespace if this is the name of a lab, and greets it.
    pub(crate) async fn start(
        reach: &HostAccess,
        host: &HostName,
        namespace: Option<&LabName>,
    ) -> Result<(Client, Self), ConnectError> {
        let command = command(reach, host, namespace)?;
        match Self::greet(command, HELLO_LIMIT).await {
            Ok((client, mut process)) => {
                process.mark = Some(client.hello().mark.clone());
                Ok((client, process))
            }
            Err(GreetingError::NotStarted(cause)) => Err(ConnectError::Start {
                host: host.clone(),
                cause,
            }),
            Err(GreetingError::Silent(cause, process)) => Err(ConnectError::Agent {
                host: host.clone(),
                cause,
                message: last_words(&process.complaints),
            }),
        }
    }

    /// Starts a program whose standard input and output are the stream of an agent, and greets that.
    pub(crate) async fn greet(
        mut command: Command,
        limit: Duration,
    ) -> Result<(Client, Self), GreetingError> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // ^C at the terminal is for the conductor, which ends its agents in order.
            .process_group(0);
        let mut child = command.spawn().map_err(GreetingError::NotStarted)?;
        let (Some(stdout), Some(stdin)) = (child.stdout.take(), child.stdin.take()) else {
            let missing = std::io::Error::other("no pipe to its standard streams");
            return Err(GreetingError::NotStarted(missing));
        };
        let complaints = Arc::default();
        let reader = child
            .stderr
            .take()
            .map(|stderr| keep_last_lines(stderr, Arc::clone(&complaints)))
            .map(|reading| tokio::spawn(reading.in_current_span()));
        let process = Self {
            mark: None,
            child,
            complaints,
            reader,
        };
        match Client::connect(tokio::io::join(stdout, stdin), limit).await {
            Ok(client) => Ok((client, process)),
            Err(cause) => Err(GreetingError::Silent(cause, Box::new(process))),
        }
    }

    /// Waits for its end, at most this long each for it and for its last words, and says how it was. Nothing of it is
    /// left.
    pub(crate) async fn explain(mut self, limit: Duration) -> (Option<ExitStatus>, String) {
        let status = tokio::time::timeout(limit, self.child.wait()).await;
        let _ = self.child.start_kill();
        if let Some(reader) = self.reader.take() {
            let _ = tokio::time::timeout(limit, reader).await;
        }
        (
            status.ok().and_then(Result::ok),
            last_words(&self.complaints),
        )
    }

    /// Kills whatever it leaves, itself included; says what it printed last.
    pub(crate) async fn bury(mut self) -> String {
        self.kill().await;
        last_words(&self.complaints)
    }

    /// Waits until it has ended, which it does when the last client of its stream is dropped.
    pub(crate) async fn end(mut self) {
        if tokio::time::timeout(Duration::from_secs(10), self.child.wait())
            .await
            .is_err()
        {
            self.kill().await;
        }
    }

    /// Ends an agent of this machine that is dead or stands still, and all that it started. One on another machine ends
    /// with its stream.
    async fn kill(&mut self) {
        let Some(mark) = self.mark.take() else {
            let _ = self.child.start_kill();
            let _ = tokio::time::timeout(DEATH_LIMIT, self.child.wait()).await;
            return;
        };
        // It walks /proc, which blocks.
        let swept = tokio::task::spawn_blocking(move || sweep(&mark)).await;
        // With the agent dead, its supervisor kills what a sweep can't find, and ends.
        let ended = tokio::time::timeout(DEATH_LIMIT, self.child.wait()).await;
        if ended.is_err() || swept.is_err() {
            let _ = self.child.start_kill();
        }
    }
}

impl Drop for Process {
    /// Asks what still runs to end in order: the supervisor hands it on to its agent.
    fn drop(&mut self) {
        let pid = self.child.id().and_then(|pid| i32::try_from(pid).ok());
        if let Some(pid) = pid.and_then(rustix::process::Pid::from_raw) {
            let _it_has_ended = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
    }
}

fn command(
    reach: &HostAccess,
    host: &HostName,
    namespace: Option<&LabName>,
) -> Result<Command, ConnectError> {
    let mut command = Command::new(&reach.program);
    command.arg("agent");
    if let Some(lab) = namespace {
        if !netns::is_up(lab, host) {
            return Err(ConnectError::NotUp { host: host.clone() });
        }
        command.arg("--netns").arg(netns::file(lab, host));
    }
    Ok(command)
}

async fn keep_last_lines(stderr: tokio::process::ChildStderr, kept: Arc<Mutex<VecDeque<String>>>) {
    let mut lines = BufReader::new(stderr).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        tracing::debug!("said: {line}");
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == COMPLAINTS {
            kept.pop_front();
        }
        kept.push_back(line.chars().take(300).collect());
    }
}

fn last_words(complaints: &Mutex<VecDeque<String>>) -> String {
    let kept = complaints.lock().unwrap_or_else(PoisonError::into_inner);
    kept.iter().cloned().collect::<Vec<_>>().join("; ")
}
