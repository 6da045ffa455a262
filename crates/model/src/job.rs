//! Jobs: commands that wait in a store's queue until a worker runs them.

use jiff::Timestamp;
use std::{fmt, path::PathBuf, str::FromStr};

use crate::StudyName;

/// What somebody asks to be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRequest {
    /// The words behind `backsight`: the verb first.
    pub arguments: Vec<String>,
    /// The folder that it is run in: files are named from there.
    pub folder: PathBuf,
    /// Who asks.
    pub by: String,
    /// Of those that wait the greatest comes first; of several the one that was asked for first.
    pub priority: i64,
}

/// A job as the queue has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Its number, from 1.
    pub number: i64,
    /// What was asked for.
    pub request: JobRequest,
    /// When.
    pub asked: Timestamp,
    /// How it stands.
    pub state: JobState,
    /// When a worker last began it.
    pub began: Option<Timestamp>,
    /// When it ended, or was cancelled.
    pub ended: Option<Timestamp>,
    /// How it ended, in a sentence.
    pub outcome: Option<String>,
    /// The study that it began, if it is there.
    pub study: Option<StudyName>,
}

/// How a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobState {
    /// No worker has begun it, or the last one that did was stopped.
    Waiting,
    /// A worker runs it.
    Running,
    /// It did what was asked, and no gate found anything.
    Done,
    /// It ended in another way.
    Failed,
    /// Somebody doesn't want it any more.
    Cancelled,
}

impl JobState {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Waiting,
        Self::Running,
        Self::Done,
        Self::Failed,
        Self::Cancelled,
    ];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether nothing more will come of it.
    pub fn is_over(self) -> bool {
        !matches!(self, Self::Waiting | Self::Running)
    }
}

impl fmt::Display for JobState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for JobState {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|state| state.as_str() == word);
        found.ok_or_else(|| format!("`{word}` is no state of a job"))
    }
}
