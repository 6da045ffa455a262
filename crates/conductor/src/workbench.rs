//! A workbench: commands run on this machine, one after the other, each under an agent's care.
//!
//! For what is done to a version before it is measured: configure, build, relink. Whatever a command starts has
//! ended when it is done, and what it printed is kept up to a limit. One agent serves them all; one that dies is
//! replaced by the next command.
//!
//! One command runs at a time, each with a time limit.

use backsight_agent::{BeginTrial, StepSpec};
use backsight_model::{Ending, HostName, Lab, Machine, ResourceUsage, StepOutput};
use std::{collections::BTreeMap, path::PathBuf, time::Duration};
use tokio::sync::Mutex;

use crate::{ConnectError, HostAccess, hosts::Connected, phase};

/// A command of a recipe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkbenchCommand {
    /// The line; a shell runs it if it needs one.
    pub text: String,
    /// The folder that it runs in.
    pub folder: PathBuf,
    /// Environment over this program's own.
    pub env: BTreeMap<String, String>,
    /// How long it may take; it is asked to end then, and killed soon after.
    pub limit: Duration,
}

/// What came of a command.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandResult {
    /// How it ended.
    pub ending: Ending,
    /// What it used.
    pub usage: ResourceUsage,
    /// What it printed.
    pub stdout: StepOutput,
    /// What it printed on standard error.
    pub stderr: StepOutput,
    /// Processes that it left and that were killed: number and name.
    pub strays: Vec<(u32, String)>,
    /// Processes that can't be killed: the machine needs a look.
    pub unkillable: Vec<u32>,
}

impl CommandResult {
    /// Whether it exited with status 0.
    pub fn succeeded(&self) -> bool {
        self.ending == Ending::Exit(0)
    }

    /// How it ended, as words behind its name.
    pub fn how_it_ended(&self) -> String {
        match &self.ending {
            Ending::Exit(code) => format!("exited with {code}"),
            Ending::Signal(signal) => format!("was killed by signal {signal}"),
            Ending::TimedOut => "took too long".to_owned(),
            Ending::TooMuchOutput => "printed too much".to_owned(),
            Ending::NotFound => "isn't there".to_owned(),
            Ending::Refused(why) => format!("can't be started: {why}"),
            Ending::NeverReady | Ending::Stopped | Ending::Lost => "was stopped".to_owned(),
        }
    }
}

/// An agent of this machine that runs one command after the other.
pub struct Workbench {
    reach: HostAccess,
    lab: Lab,
    here: HostName,
    /// None after it was lost.
    agent: Mutex<Option<Connected>>,
}

impl Workbench {
    /// How much of each stream is kept, in bytes; a command that prints more is ended.
    pub const OUTPUT_LIMIT: u64 = 64 << 20;

    /// Starts its agent.
    ///
    /// # Errors
    /// The agent can't be started or doesn't answer.
    pub async fn start(reach: &HostAccess) -> Result<Self, ConnectError> {
        let bench = Self {
            reach: reach.clone(),
            lab: Lab::this_machine(),
            here: Lab::this_machine_name(),
            agent: Mutex::default(),
        };
        let agent = bench.connect().await?;
        *bench.agent.lock().await = Some(agent);
        Ok(bench)
    }

    /// Another workbench of this machine, which runs its commands beside this one's; its agent starts with its first.
    pub fn another(&self) -> Self {
        Self {
            reach: self.reach.clone(),
            lab: self.lab.clone(),
            here: self.here.clone(),
            agent: Mutex::default(),
        }
    }

    /// The agent in its place, a new one if it was lost. It is back there before anything is asked of it: whoever drops
    /// that question's future must not drop the agent.
    async fn agent_in<'p>(
        &self,
        place: &'p mut Option<Connected>,
    ) -> Result<&'p mut Connected, ConnectError> {
        let agent = match place.take() {
            Some(agent) => agent,
            None => self.connect().await?,
        };
        Ok(place.insert(agent))
    }

    async fn connect(&self) -> Result<Connected, ConnectError> {
        Connected::start(&self.reach, &self.lab, &self.here).await
    }

    /// Runs a command and waits until it and all that it started have ended. Commands that are asked for at once run
    /// one after the other. Dropping the future ends the command; the next one waits for that.
    ///
    /// # Errors
    /// The agent is lost (killed, or the machine can't carry it); what the command had started is gone, and the next
    /// command gets a new agent. A command that fails is no error: [`CommandResult::ending`] says how it ended.
    #[tracing::instrument(name = "command", level = "info", skip_all, fields(command = command.text))]
    pub async fn run(&self, command: WorkbenchCommand) -> Result<CommandResult, ConnectError> {
        let mut place = self.agent.lock().await;
        let agent = self.agent_in(&mut place).await?;
        match perform(agent, command).await {
            Ok(done) => Ok(done),
            Err(cause) => {
                let message = match place.take() {
                    Some(agent) => agent.bury().await.words,
                    None => String::new(),
                };
                Err(ConnectError::Agent {
                    host: self.here.clone(),
                    cause,
                    message,
                })
            }
        }
    }

    /// What this machine is, and what placeholders may ask of it.
    ///
    /// # Errors
    /// The agent can't be had.
    pub async fn machine(&self) -> Result<(Machine, BTreeMap<String, String>), ConnectError> {
        let mut place = self.agent.lock().await;
        let agent = self.agent_in(&mut place).await?;
        Ok((agent.machine(), agent.facts.clone()))
    }

    /// Ends the agent in order; another command would get a new one.
    pub async fn finish(&self) {
        if let Some(agent) = self.agent.lock().await.take() {
            agent.dismiss().await;
        }
    }
}

async fn perform(
    agent: &Connected,
    command: WorkbenchCommand,
) -> Result<CommandResult, backsight_agent::AgentError> {
    let mut step = StepSpec::text(1, command.text, command.limit);
    step.cwd = Some(command.folder.to_string_lossy().into_owned());
    step.env = command.env;
    step.output_limit = Workbench::OUTPUT_LIMIT;
    alone(agent, "workbench", step).await
}

/// Runs one step in a trial of its own.
///
/// # Errors
/// The agent is lost.
pub(crate) async fn alone(
    agent: &Connected,
    trial: &str,
    step: StepSpec,
) -> Result<CommandResult, backsight_agent::AgentError> {
    let opening = BeginTrial {
        trial: trial.into(),
        ..BeginTrial::default()
    };
    // Ends what a dropped future left.
    agent.client.begin_trial(opening).await?;
    let ran = match agent.client.run(step).await {
        Ok(run) => run.outcome().await,
        Err(refused) => Err(refused),
    };
    let ended = agent.client.end_trial().await?;
    let refused = |why: String| CommandResult {
        ending: Ending::Refused(why),
        usage: ResourceUsage::default(),
        stdout: StepOutput::default(),
        stderr: StepOutput::default(),
        strays: Vec::new(),
        unkillable: Vec::new(),
    };
    let outcome = match ran {
        Ok(outcome) => outcome,
        Err(backsight_agent::AgentError::Refused { why, .. }) => return Ok(refused(why)),
        Err(lost) => return Err(lost),
    };
    let finished = outcome.finished;
    let kept = |bytes: Vec<u8>, printed: u64| StepOutput {
        printed: printed.max(bytes.len() as u64),
        bytes,
    };
    Ok(CommandResult {
        ending: phase::ending(&finished),
        usage: phase::usage(&finished),
        stdout: kept(outcome.stdout, finished.stdout_bytes),
        stderr: kept(outcome.stderr, finished.stderr_bytes),
        strays: ended
            .survivors
            .into_iter()
            .map(|stray| (stray.pid, stray.name))
            .collect(),
        unkillable: ended.unkillable,
    })
}
