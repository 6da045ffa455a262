//! The queue as a table, and for programs.

use backsight_model::{Job, shell_line};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{clipped, escape, list_table, stored_study::local_time};

/// Widest command in the table, in characters.
const COMMAND_WIDTH: usize = 200;

/// Jobs that are over and listed, unless all are asked for.
const MOST_OVER: usize = 10;

/// Of all jobs, as the store lists them, those that run or wait, and the few that ended last.
pub fn recent_jobs(jobs: &[Job]) -> &[Job] {
    let over = jobs.iter().position(|job| job.state.is_over());
    let shown = over.map_or(jobs.len(), |over| (over + MOST_OVER).min(jobs.len()));
    &jobs[..shown]
}

/// Jobs: those that run, those that wait in the order in which they are run, those that are over.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct QueueView {
    /// One for each job.
    pub jobs: Vec<JobView>,
}

/// A job for programs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct JobView {
    /// Its number.
    pub job: i64,
    /// `waiting`, `running`, `done`, `failed` or `cancelled`.
    pub state: &'static str,
    /// The words behind `backsight`: the verb first.
    pub arguments: Vec<String>,
    /// The folder that it is run in.
    pub folder: String,
    /// Who asked for it.
    pub by: String,
    /// Of those that wait the greatest comes first.
    pub priority: i64,
    /// When it was asked for: RFC 3339.
    pub asked: String,
    /// When a worker last began it.
    pub began: Option<String>,
    /// When it ended, or was cancelled.
    pub ended: Option<String>,
    /// How it ended.
    pub outcome: Option<String>,
    /// The study that it began.
    pub study: Option<String>,
}

impl QueueView {
    /// These jobs.
    pub fn new(jobs: &[Job]) -> Self {
        Self {
            jobs: jobs.iter().map(JobView::from).collect(),
        }
    }
}

impl From<&Job> for JobView {
    fn from(job: &Job) -> Self {
        let request = &job.request;
        Self {
            job: job.number,
            state: job.state.as_str(),
            arguments: request.arguments.clone(),
            folder: request.folder.display().to_string(),
            by: request.by.clone(),
            priority: request.priority,
            asked: job.asked.to_string(),
            began: job.began.map(|at| at.to_string()),
            ended: job.ended.map(|at| at.to_string()),
            outcome: job.outcome.clone(),
            study: job.study.as_ref().map(ToString::to_string),
        }
    }
}

/// The command of a job as a shell takes it.
pub fn job_command(job: &Job) -> String {
    format!("backsight {}", shell_line(&job.request.arguments))
}

/// Jobs as a table.
pub fn queue_table(jobs: &[Job], width: Option<u16>) -> String {
    if jobs.is_empty() {
        return "nothing in the queue\n".to_owned();
    }
    let mut table = list_table(
        &["job", "state", "by", "asked", "command", "study", "outcome"],
        width,
    );
    for job in jobs {
        let study = job.study.as_ref().map(ToString::to_string);
        table.add_row([
            job.number.to_string(),
            job.state.to_string(),
            escape::line(&job.request.by),
            local_time(job.asked),
            clipped(&escape::line(&job_command(job)), COMMAND_WIDTH),
            study.unwrap_or_default(),
            job.outcome.as_deref().map(escape::line).unwrap_or_default(),
        ]);
    }
    format!("{table}\n")
}
