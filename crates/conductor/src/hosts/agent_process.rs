//! A process of this machine that supervises an agent, or that carries the stream of one that runs elsewhere.

use backsight_agent::{AgentMark, Client, sweep};
use backsight_model::HostName;
use futures_util::future::BoxFuture;
use std::{
    collections::VecDeque,
    io,
    path::Path,
    process::{ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, ChildStdin, ChildStdout, Command},
    task::JoinHandle,
};
use tracing::Instrument as _;

use super::{AgentKeeper, ConnectError, HostAccess, LastWords};
use crate::open_files::raise_but_for;

/// How long an agent may take to say hello: a moment, and longer on a machine that is busy with guests.
const HELLO_LIMIT: Duration = Duration::from_secs(40);
/// How long an agent may take to end in order, and how long a process may take to die.
const END_LIMIT: Duration = Duration::from_secs(10);
const DEATH_LIMIT: Duration = Duration::from_secs(12);
/// Lines of an agent's own complaints that are kept.
const COMPLAINTS: usize = 20;

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
    NotStarted(io::Error),
    /// There is one, and no agent answers.
    Silent(backsight_agent::AgentError, Box<Process>),
}

impl Process {
    /// Starts an agent on this machine, in this network namespace if there is one, and greets it.
    pub(crate) async fn start(
        reach: &HostAccess,
        host: &HostName,
        namespace: Option<&Path>,
    ) -> Result<(Client, Self), ConnectError> {
        let mut command = Command::new(&reach.program);
        command.arg("agent");
        if let Some(namespace) = namespace {
            command.arg("--netns").arg(namespace);
        }
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
        command: Command,
        limit: Duration,
    ) -> Result<(Client, Self), GreetingError> {
        let started = Self::with_stream(command);
        let (process, stdout, stdin) = started.map_err(GreetingError::NotStarted)?;
        match Client::connect(tokio::io::join(stdout, stdin), limit).await {
            Ok(client) => Ok((client, process)),
            Err(cause) => Err(GreetingError::Silent(cause, Box::new(process))),
        }
    }

    /// Starts a program whose standard output and input come to be the stream of an agent.
    pub(crate) fn with_stream(mut command: Command) -> io::Result<(Self, ChildStdout, ChildStdin)> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // ^C at the terminal is for the conductor, which ends its agents in order.
            .process_group(0);
        raise_but_for(&mut command);
        let mut child = command.spawn()?;
        let (Some(stdout), Some(stdin)) = (child.stdout.take(), child.stdin.take()) else {
            return Err(io::Error::other("no pipe to its standard streams"));
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
        Ok((process, stdout, stdin))
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
        if tokio::time::timeout(END_LIMIT, self.child.wait())
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

impl AgentKeeper for Process {
    fn has_our_files(&self) -> bool {
        self.mark.is_some()
    }

    fn bury(self: Box<Self>) -> BoxFuture<'static, LastWords> {
        Box::pin(async move { Self::bury(*self).await.into() })
    }

    fn dismiss(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(Self::end(*self))
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
