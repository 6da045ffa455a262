//! Errors of calls to an agent.

use std::io;
use std::time::Duration;

/// Why a call to an agent failed.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The agent, its host or the stream to it is gone, or it stopped answering.
    #[error("the agent is lost: {why}")]
    Lost {
        /// What was seen.
        why: String,
    },
    /// Something else than an agent is at the other end.
    #[error(
        "no agent answers at the other end ({why}): is `backsight agent` what was started there, and does nothing else print to its standard output?"
    )]
    NotAnAgent {
        /// What was seen.
        why: String,
    },
    /// The two ends speak different protocols.
    #[error(
        "the agent {agent} speaks protocol {theirs}, this program {ours}: install the same version on both"
    )]
    Version {
        /// This program's protocol.
        ours: u32,
        /// The agent's.
        theirs: u32,
        /// The agent's version.
        agent: String,
    },
    /// The agent understood and said no.
    #[error("the agent refused to {call}: {why}")]
    Refused {
        /// What was asked.
        call: &'static str,
        /// The agent's words.
        why: String,
    },
    /// The agent is there but didn't answer in time.
    #[error("the agent didn't {call} within {after:?}")]
    Deadline {
        /// What was asked.
        call: &'static str,
        /// How long it had.
        after: Duration,
    },
    /// What is to be put on the agent's host can't be read here.
    #[error("can't read what is to be put there: {0}")]
    Unreadable(io::Error),
    /// The agent's answer makes no sense.
    #[error("the agent's answer to {call} makes no sense: {why}")]
    Protocol {
        /// What was asked.
        call: &'static str,
        /// What is wrong with the answer.
        why: String,
    },
}
