//! Jobs: commands that wait in a store's queue until a worker runs them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::{fmt, path::PathBuf, str::FromStr};

use crate::{HostName, LabName, StudyName, TestbedName, shell_line};

/// What somebody asks to be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRequest {
    /// The words behind `backsight`: the verb first.
    pub arguments: Vec<String>,
    /// The folder that it is run in: files are named from there.
    pub folder: PathBuf,
    /// Who asks.
    pub by: String,
    /// Of those that wait the greatest comes first.
    pub priority: i64,
    /// Testbeds and hosts that it measures on.
    pub needs: JobNeeds,
    /// Numbers of jobs that must have done what was asked of them before it begins; of one that is over, they aren't kept.
    pub after: Vec<i64>,
    /// It isn't begun at this time or later.
    pub deadline: Option<Timestamp>,
    /// Whether it goes before all that wait, whatever their priority.
    pub first: bool,
    /// Who begins it.
    pub engine: JobEngine,
}

/// Who begins a job.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum JobEngine {
    /// Workers of the queue.
    #[default]
    Workers,
    /// Slurm, which starts a worker for it.
    Slurm {
        /// Words for `sbatch`.
        options: Vec<String>,
    },
}

/// Options of a command whose values say nothing about how long it takes.
const NAMING_OPTIONS: [&str; 2] = ["--name", "--seed"];

impl JobRequest {
    /// A request with these words, which needs and waits for nothing.
    pub fn new(arguments: Vec<String>, folder: PathBuf, by: String) -> Self {
        Self {
            arguments,
            folder,
            by,
            priority: 0,
            needs: JobNeeds::default(),
            after: Vec::new(),
            deadline: None,
            first: false,
            engine: JobEngine::Workers,
        }
    }

    /// What jobs have in common that take equally long: the command without the names that it gives, its folder and its testbeds.
    pub fn kind(&self) -> String {
        let mut words = Vec::new();
        let mut left = self.arguments.iter();
        while let Some(word) = left.next() {
            if NAMING_OPTIONS.contains(&word.as_str()) {
                left.next();
            } else if !NAMING_OPTIONS.iter().any(|option| {
                let value = word.strip_prefix(option);
                value.is_some_and(|value| value.starts_with('='))
            }) {
                words.push(word.clone());
            }
        }
        let mut kind = format!("{}: {}", self.folder.display(), shell_line(&words));
        for testbed in &self.needs.testbeds {
            kind.push_str(" @ ");
            kind.push_str(testbed.as_str());
        }
        kind
    }
}

/// Testbeds and hosts of a lab that a job measures on; none where it measures nothing, or nobody knows yet.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct JobNeeds {
    /// The lab; none of a lab without a file, which is the machine of the worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lab: Option<LabName>,
    /// The testbeds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub testbeds: Vec<TestbedName>,
    /// Their hosts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostName>,
}

impl JobNeeds {
    /// Whether nothing is needed, or nobody knows what is.
    pub fn is_empty(&self) -> bool {
        self.testbeds.is_empty() && self.hosts.is_empty()
    }

    /// What both need: the name of a testbed, else of a host.
    pub fn in_common<'a>(&'a self, other: &Self) -> Option<&'a str> {
        if self.lab != other.lab {
            return None;
        }
        let testbed = self
            .testbeds
            .iter()
            .find(|name| other.testbeds.contains(name));
        let host = || self.hosts.iter().find(|name| other.hosts.contains(name));
        testbed
            .map(TestbedName::as_str)
            .or_else(|| host().map(HostName::as_str))
    }

    /// How many machines it keeps busy: its hosts, at least one.
    pub fn machines(&self) -> usize {
        self.hosts.len().max(1)
    }
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
    /// Of one that Slurm begins: how it stands there.
    pub slurm: Option<SlurmStanding>,
}

/// How a job stands in Slurm.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SlurmStanding {
    /// Slurm's number; none where Slurm hasn't got it, or not any more.
    pub id: Option<i64>,
    /// Why it waits there, in Slurm's word, when Slurm was last asked.
    pub reason: Option<String>,
}

/// How a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobState {
    /// No worker has begun it, or the last one that did was stopped.
    Waiting,
    /// A worker runs it.
    Running,
    /// Somebody holds it back; one that ran goes on where it was.
    Paused,
    /// It did what was asked, and no gate found anything.
    Done,
    /// It ended in another way.
    Failed,
    /// Somebody doesn't want it any more.
    Cancelled,
}

impl JobState {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Waiting,
        Self::Running,
        Self::Paused,
        Self::Done,
        Self::Failed,
        Self::Cancelled,
    ];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether nothing more will come of it.
    pub fn is_over(self) -> bool {
        !matches!(self, Self::Waiting | Self::Running | Self::Paused)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn request(words: &[&str]) -> JobRequest {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        JobRequest::new(words, "/lab".into(), "ana".into())
    }

    #[test]
    fn jobs_of_a_kind_differ_in_names_and_seeds_only() {
        let kind = request(&["run", "plan.toml", "--name", "a", "--seed=3"]).kind();
        assert_eq!(kind, request(&["run", "--name=b", "plan.toml"]).kind());
        assert_ne!(kind, request(&["run", "other.toml"]).kind());
        let mut elsewhere = request(&["run", "plan.toml"]);
        assert_eq!(kind, elsewhere.kind());
        elsewhere.needs.testbeds = vec!["wire".parse().unwrap()];
        assert_ne!(kind, elsewhere.kind());
    }

    #[test]
    fn needs_meet_in_one_lab_only() {
        let needs = |lab: &str, testbed: &str, host: &str| JobNeeds {
            lab: lab.parse().ok(),
            testbeds: vec![testbed.parse().unwrap()],
            hosts: vec![host.parse().unwrap()],
        };
        let ours = needs("one", "wire", "dut");
        assert_eq!(ours.in_common(&needs("one", "wire", "x")), Some("wire"));
        assert_eq!(ours.in_common(&needs("one", "radio", "dut")), Some("dut"));
        assert_eq!(ours.in_common(&needs("one", "radio", "x")), None);
        assert_eq!(ours.in_common(&needs("two", "wire", "dut")), None);
        assert_eq!(ours.in_common(&needs("", "wire", "dut")), None);
        assert_eq!(
            needs("", "here", "here").in_common(&needs("", "here", "here")),
            Some("here")
        );
    }
}
