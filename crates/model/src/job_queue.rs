//! The queue at one moment, as a choice of the next job needs it: what waits, what runs, whose turn it is.

use jiff::Timestamp;

use crate::{JobNeeds, JobState, LabName, Reservation, SlurmStanding, TestbedName};

/// The queue at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueSnapshot {
    /// The moment, by the database's clock.
    pub now: Timestamp,
    /// Who holds the whole queue, if somebody does.
    pub pause: Option<QueuePause>,
    /// Jobs that wait, in no particular order; perhaps only the first ones of each person.
    pub waiting: Vec<QueuedJob>,
    /// How many wait in all.
    pub waiting_in_all: usize,
    /// Jobs that a worker has: what it stops is still there.
    pub running: Vec<RunningJob>,
    /// Reservations in force.
    pub reservations: Vec<Reservation>,
    /// What people used lately.
    pub usage: Vec<MachineUse>,
    /// Workers that are there.
    pub workers: Vec<QueueWorker>,
}

impl QueueSnapshot {
    /// Whether some of the jobs that wait aren't in it.
    pub fn is_cut(&self) -> bool {
        self.waiting.len() < self.waiting_in_all
    }
}

/// That somebody holds the whole queue: what runs goes on, and nothing is begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuePause {
    /// Who.
    pub by: String,
    /// Why.
    pub why: Option<String>,
    /// Since when.
    pub since: Timestamp,
}

/// A job that waits.
#[derive(Debug, Clone, PartialEq)]
pub struct QueuedJob {
    /// Its number.
    pub number: i64,
    /// Who asked.
    pub by: String,
    /// The greatest comes first.
    pub priority: i64,
    /// Those with a number that isn't 0 come before all others, the greatest first.
    pub front: i64,
    /// It isn't begun at this time or later.
    pub deadline: Option<Timestamp>,
    /// What it measures on.
    pub needs: JobNeeds,
    /// Jobs that come before it and aren't done, and how they stand.
    pub after: Vec<(i64, JobState)>,
    /// What it has in common with jobs that take equally long.
    pub kind: String,
    /// Of one that Slurm begins: how it stands there.
    pub slurm: Option<SlurmStanding>,
}

/// A job that a worker has.
#[derive(Debug, Clone, PartialEq)]
pub struct RunningJob {
    /// Its number.
    pub number: i64,
    /// What it measures on.
    pub needs: JobNeeds,
    /// The worker's machine; none where nobody knows.
    pub machine: Option<String>,
    /// What it has in common with jobs that take equally long.
    pub kind: String,
    /// How long it has been run, in all.
    pub seconds: f64,
}

/// Which jobs a worker takes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorkerScope {
    /// Its machine; none where nobody knows.
    pub machine: Option<String>,
    /// Its lab, if it has one: jobs of other labs aren't for it.
    pub lab: Option<LabName>,
    /// The testbeds that it serves; none: all.
    pub testbeds: Option<Vec<TestbedName>>,
    /// The one job that it is for; none: whichever is next, but those that Slurm begins.
    pub job: Option<i64>,
}

impl WorkerScope {
    /// Whether this job is for such a worker, wherever it measures.
    pub fn is_for(&self, job: &QueuedJob) -> bool {
        match self.job {
            Some(number) => number == job.number,
            None => job.slurm.is_none(),
        }
    }
}

/// A worker that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueWorker {
    /// Which jobs it takes.
    pub scope: WorkerScope,
    /// The job that it has.
    pub job: Option<i64>,
}

/// Machine time that somebody used, evenly between two times.
#[derive(Debug, Clone, PartialEq)]
pub struct MachineUse {
    /// Who asked for it.
    pub by: String,
    /// Its beginning.
    pub from: Timestamp,
    /// Its end.
    pub until: Timestamp,
    /// Seconds, times the machines that were used.
    pub machine_seconds: f64,
}
