//! Hosts: starting an agent on each and speaking to it over the program's own standard input and output.
//!
//! A module a kind: its `start` makes what the agent needs, starts it and greets it, and returns what keeps it
//! ([`AgentKeeper`]). All else in this crate asks a [`Connected`] and doesn't know the kind. A kernel under test
//! (`guests`) is started with each build of a target instead.
//!
//! No port is opened and no password kept.

mod agent_process;
mod agent_programs;
mod container;
pub(crate) mod domain;
pub(crate) mod guests;
mod local;
mod netns;
mod ssh;
mod ssh_login;
pub(crate) mod vm;

use backsight_agent::{AgentError, Client, ClockOffset, LeaseHolder, LeaseInForce, PlanFilesError};
use backsight_model::{Arrangement, Host, HostClock, HostKind, HostName, Lab, Machine};
use backsight_settings::MachineConflict;
use futures_util::future::BoxFuture;
use std::{
    collections::{BTreeMap, HashMap},
    fmt, io,
    net::IpAddr,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{sync::OnceCell, task::spawn_blocking};

use agent_process::{GreetingError, Process};
use agent_programs::AgentProgram;
use guests::Guest;

/// Round trips by which a far clock is compared.
const CLOCK_ROUND_TRIPS: u32 = 5;

/// How this machine reaches hosts.
#[derive(Debug, Clone)]
pub struct HostAccess {
    /// The program that is started as `PROGRAM agent`; this program, unless a test says otherwise.
    pub program: PathBuf,
    /// How long a host that doesn't answer is waited for, at the start and before each trial.
    pub host_wait: Duration,
    /// Whether logins by `ssh` are kept for a while, for whoever needs one next.
    pub keeps_logins: bool,
    /// Whether agents of other machines need the tracer, which only the whole program has.
    needs_tracer: bool,
    /// The agents of other machines, once they are needed.
    agents: Arc<OnceCell<Vec<AgentProgram>>>,
    /// What agents of other machines hold as long as they are there.
    lease: Option<Arc<LeaseClaim>>,
}

impl HostAccess {
    /// With this program as the agent; no host is waited for, and no login kept.
    pub fn with_program(program: PathBuf) -> Self {
        Self {
            program,
            host_wait: Duration::ZERO,
            keeps_logins: false,
            needs_tracer: false,
            agents: Arc::default(),
            lease: None,
        }
    }

    /// The same for these plans: some monitors need the tracer on their hosts.
    #[must_use]
    pub fn for_monitors<'a>(&self, arrangements: impl Iterator<Item = &'a Arrangement>) -> Self {
        let mut monitors = arrangements.flat_map(|it| &it.monitors);
        match monitors.any(|planned| planned.monitor.tracer) {
            true => Self {
                needs_tracer: true,
                agents: Arc::default(),
                ..self.clone()
            },
            false => self.clone(),
        }
    }

    /// The same with a login of its own for every agent.
    pub(crate) fn with_own_logins(&self) -> Self {
        Self {
            keeps_logins: false,
            ..self.clone()
        }
    }

    /// The programs that can be agents of other machines; looked for once.
    async fn agents(&self) -> io::Result<&[AgentProgram]> {
        let found = self.agents.get_or_try_init(async || {
            let (program, needs_tracer) = (self.program.clone(), self.needs_tracer);
            let found = spawn_blocking(move || AgentProgram::all(&program, needs_tracer)).await;
            found.map_err(io::Error::from)?
        });
        found.await.map(Vec::as_slice)
    }

    /// The same for agents that hold this.
    pub(crate) fn with_lease(&self, claim: &Arc<LeaseClaim>) -> Self {
        Self {
            lease: Some(Arc::clone(claim)),
            ..self.clone()
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
    pub fn with_this_program() -> io::Result<Self> {
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
    /// Its machine doesn't boot.
    #[error("host `{host}`: its machine doesn't boot: {fault}{}", guests::quoted(.console))]
    Machine {
        /// The host.
        host: HostName,
        /// Why not.
        fault: Box<guests::BootFault>,
        /// What its console had printed: at most its last 256 KiB.
        console: Vec<u8>,
    },
    /// Its domain can't be used.
    #[error("host `{host}`: {message}{}", guests::quoted(.console))]
    Domain {
        /// The host.
        host: HostName,
        /// What is in the way.
        message: String,
        /// What its console had printed.
        console: Vec<u8>,
    },
    /// Its container can't be started.
    #[error("host `{host}`: its container can't be started: {message}")]
    Container {
        /// The host.
        host: HostName,
        /// What is in the way.
        message: String,
    },
    /// The agent's program can't be started.
    #[error("host `{host}`: can't start the agent: {cause}")]
    Start {
        /// The host.
        host: HostName,
        /// What the system said.
        cause: io::Error,
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
    /// Whether a way to a host failed for a reason that nobody knows.
    fn is_unexplained(&self) -> bool {
        matches!(
            self,
            Self::Unreachable {
                why: UnreachableReason::Other,
                ..
            }
        )
    }

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
    /// Whether a trial has run on it.
    pub(crate) is_used: bool,
    // Dropped last: ends the agent, if the end of its stream hasn't.
    keeper: Box<dyn AgentKeeper>,
}

/// What an agent, or the kernel around it, said last.
#[derive(Debug, Default)]
pub(crate) struct LastWords {
    /// In a line.
    pub(crate) words: String,
    /// The end of its console, of a host whose console is kept here.
    pub(crate) console: Vec<u8>,
}

impl From<String> for LastWords {
    fn from(words: String) -> Self {
        Self {
            words,
            console: Vec::new(),
        }
    }
}

/// What keeps an agent on a host of some kind, and ends with it.
pub(crate) trait AgentKeeper: Send + Sync {
    /// Whether the files of the host are those of this machine.
    fn has_our_files(&self) -> bool {
        false
    }

    /// Whether it is a kernel under test.
    fn is_guest(&self) -> bool {
        false
    }

    /// What the kernel has said so far, of a host whose console is kept here.
    fn console(&self) -> Option<Vec<u8>> {
        None
    }

    /// Kills whatever the agent leaves, itself included; says what it, or the kernel around it, said last.
    fn bury(self: Box<Self>) -> BoxFuture<'static, LastWords>;

    /// Waits for the agent's end, which has come when its last client is dropped, and ends what was made for it.
    fn dismiss(self: Box<Self>) -> BoxFuture<'static, ()>;
}

/// A client of an agent, and what keeps that.
type Started = (Client, Box<dyn AgentKeeper>);

/// Starts an agent on a host, by the host's kind, and greets it.
async fn start(
    reach: &HostAccess,
    lab: &Lab,
    host: &HostName,
    settings: Option<&Host>,
) -> Result<Started, ConnectError> {
    let Some(settings) = settings else {
        return local::start(reach, host).await;
    };
    match settings.kind {
        HostKind::Local => local::start(reach, host).await,
        HostKind::Netns => netns::start(reach, lab, host).await,
        HostKind::Ssh => ssh::start(reach, settings, host).await,
        HostKind::Container => container::start(reach, lab, host, settings).await,
        HostKind::Vm => vm::start(reach, lab, host).await,
        HostKind::Domain => domain::start(reach, host, settings).await,
        HostKind::Uml | HostKind::Qemu => Err(ConnectError::NotBooted { host: host.clone() }),
    }
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
        let GreetedHost { client, keeper, .. } = match leased {
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
                is_used: false,
                keeper,
            }),
            Err(cause) => Err(ConnectError::Agent {
                host: host.clone(),
                cause,
                message: keeper.bury().await.words,
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
                is_used: false,
                keeper: Box::new(guest),
            }),
            Err(cause) => Err((cause, Box::new(guest))),
        }
    }

    /// Whether it is a kernel that was booted here.
    pub(crate) fn is_guest(&self) -> bool {
        self.keeper.is_guest()
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
        self.keeper.has_our_files()
    }

    /// What the kernel of a guest has said so far; none of a host that isn't one.
    pub(crate) fn console(&self) -> Option<Vec<u8>> {
        self.keeper.console()
    }

    /// Kills whatever the agent leaves, itself included; says what it, or the kernel around it, said last.
    pub(crate) async fn bury(self) -> LastWords {
        self.keeper.bury().await
    }

    /// Ends the agent in order: its stream ends, it cleans up and goes. A guest is powered off by that.
    pub(crate) async fn dismiss(self) {
        let Self { client, keeper, .. } = self;
        drop(client);
        keeper.dismiss().await;
    }
}

/// A host whose agent was greeted and has done nothing yet.
pub(crate) struct GreetedHost {
    name: HostName,
    client: Client,
    keeper: Box<dyn AgentKeeper>,
}

impl GreetedHost {
    /// Starts an agent on the host and greets it.
    pub(crate) async fn start(
        reach: &HostAccess,
        lab: &Lab,
        host: &HostName,
    ) -> Result<Self, ConnectError> {
        let (client, keeper) = start(reach, lab, host, lab.host.get(host)).await?;
        Ok(Self {
            name: host.clone(),
            client,
            keeper,
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
                    keeper,
                } = self;
                drop(client);
                keeper.dismiss().await;
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
            message: self.keeper.bury().await.words,
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
