//! Hosts: starting an agent on each and speaking to it over the program's own standard input and output.
//!
//! Refuses: to open a port, to keep a password, to guess at a host that doesn't answer.

use backsight_agent::{AgentMark, Client, ClockOffset, sweep};
use backsight_model::{HostKind, HostName, Lab, Machine};
use std::{
    collections::{BTreeMap, VecDeque},
    path::PathBuf,
    process::Stdio,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
};

use crate::netns;

/// How long an agent may take to say hello.
const HELLO_LIMIT: Duration = Duration::from_secs(15);
/// Lines of an agent's own complaints that are kept.
const COMPLAINTS: usize = 20;
/// Round trips by which a far clock is compared.
const CLOCK_ROUND_TRIPS: u32 = 5;

/// How this machine reaches hosts.
#[derive(Debug, Clone)]
pub struct Reach {
    /// The program that is started as `PROGRAM agent`; this program, unless a test says otherwise.
    pub program: PathBuf,
}

impl Reach {
    /// With the program that runs now.
    ///
    /// # Errors
    /// The system doesn't tell which program that is.
    pub fn with_this_program() -> std::io::Result<Self> {
        Ok(Self {
            program: std::env::current_exe()?,
        })
    }
}

/// Why a host can't be reached.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Its namespace isn't there.
    #[error("host `{host}` is not up: `backsight lab up` makes its namespace")]
    NotUp {
        /// The host.
        host: HostName,
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
    #[error("host `{host}`: {cause}{}", complaint(.said))]
    Agent {
        /// The host.
        host: HostName,
        /// What is wrong.
        cause: backsight_agent::Error,
        /// What the agent printed on standard error.
        said: String,
    },
}

fn complaint(said: &str) -> String {
    if said.is_empty() {
        String::new()
    } else {
        format!("; the agent said: {said}")
    }
}

/// A host with a living agent.
pub(crate) struct Connected {
    pub(crate) name: HostName,
    pub(crate) client: Client,
    pub(crate) facts: BTreeMap<String, String>,
    clock: ClockOffset,
    mark: AgentMark,
    // Dropped last: ends the agent, if the end of its stream hasn't.
    child: Child,
    complaints: Arc<Mutex<VecDeque<String>>>,
}

impl Connected {
    /// Starts an agent on the host and greets it.
    pub(crate) async fn start(
        reach: &Reach,
        lab: &Lab,
        host: &HostName,
    ) -> Result<Self, ConnectError> {
        let mut command = command(reach, lab, host)?;
        let mut child = command.spawn().map_err(|cause| ConnectError::Start {
            host: host.clone(),
            cause,
        })?;
        let missing = || ConnectError::Start {
            host: host.clone(),
            cause: std::io::Error::other("no pipe to its standard streams"),
        };
        let stream = tokio::io::join(
            child.stdout.take().ok_or_else(missing)?,
            child.stdin.take().ok_or_else(missing)?,
        );
        let complaints = Arc::default();
        if let Some(stderr) = child.stderr.take() {
            tokio::spawn(keep_last_lines(stderr, Arc::clone(&complaints)));
        }
        let fault = |cause| ConnectError::Agent {
            host: host.clone(),
            cause,
            said: last_words(&complaints),
        };
        let client = Client::connect(stream, HELLO_LIMIT).await.map_err(fault)?;
        let facts = client.facts().await.map_err(fault)?;
        let clock = client
            .clock_offset(CLOCK_ROUND_TRIPS)
            .await
            .map_err(fault)?;
        let mark = client.hello().mark.clone();
        Ok(Self {
            name: host.clone(),
            client,
            facts,
            clock,
            mark,
            child,
            complaints,
        })
    }

    /// What placeholders may ask of this machine.
    pub(crate) fn machine(&self) -> Machine {
        let hello = self.client.hello();
        Machine {
            cpus: hello.cpus,
            memory: hello.memory_bytes,
        }
    }

    /// The running kernel: hosts with the same one are the same machine.
    pub(crate) fn boot_id(&self) -> &str {
        &self.client.hello().boot_id
    }

    /// An instant of our monotonic clock on the host's, in nanoseconds.
    pub(crate) fn on_its_clock(&self, ours: u64) -> u64 {
        ours.saturating_add_signed(self.clock.offset_ns)
    }

    /// Whether its files are ours to read.
    pub(crate) fn is_here(&self) -> bool {
        self.mark.boot_id == self.boot_id()
    }

    /// Kills whatever the agent leaves, itself included; says what it printed last.
    pub(crate) async fn bury(mut self) -> String {
        // Dead or stopped, it can't end itself; killing it is ours.
        let _ = self.child.start_kill();
        let _ = tokio::time::timeout(Duration::from_secs(5), self.child.wait()).await;
        let mark = self.mark.clone();
        // A sweep walks /proc, which blocks.
        let _ = tokio::task::spawn_blocking(move || sweep(&mark)).await;
        last_words(&self.complaints)
    }

    /// Ends the agent in order: its stream ends, it cleans up and goes.
    pub(crate) async fn dismiss(self) {
        let Self {
            client,
            mut child,
            mark,
            ..
        } = self;
        drop(client);
        if tokio::time::timeout(Duration::from_secs(10), child.wait())
            .await
            .is_err()
        {
            let _ = child.start_kill();
            let _ = tokio::task::spawn_blocking(move || sweep(&mark)).await;
        }
    }
}

fn command(reach: &Reach, lab: &Lab, host: &HostName) -> Result<Command, ConnectError> {
    let kind = lab.host.get(host).map_or(HostKind::Local, |h| h.kind);
    let mut command = Command::new(&reach.program);
    command.arg("agent");
    if kind == HostKind::Netns {
        if !netns::is_up(&lab.name, host) {
            return Err(ConnectError::NotUp { host: host.clone() });
        }
        command.arg("--netns").arg(netns::file(&lab.name, host));
    }
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // ^C at the terminal is for the conductor, which ends its agents in order.
        .process_group(0)
        .kill_on_drop(true);
    Ok(command)
}

async fn keep_last_lines(stderr: tokio::process::ChildStderr, kept: Arc<Mutex<VecDeque<String>>>) {
    let mut lines = BufReader::new(stderr).lines();
    while let Ok(Some(line)) = lines.next_line().await {
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
