//! The queue as a table, and for programs.

use backsight_model::{Job, JobState, QueuePause, Reservation, Time, shell_line};
use backsight_policy::{JobOutlook, JobWait, TimeRange};
use jiff::{Timestamp, tz::TimeZone};
use schemars::JsonSchema;
use serde::Serialize;
use std::{fmt::Write as _, time::Duration};

use crate::{clipped, escape, list_table, stored_study::local_time};

/// Widest command in the table, in characters.
const COMMAND_WIDTH: usize = 200;

/// A job, and what is to be expected of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedJob {
    /// The job.
    pub job: Job,
    /// Its place, why it waits, when it begins and ends.
    pub outlook: JobOutlook,
}

/// The queue, or the part of it that is listed.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueListing {
    /// When it was so.
    pub now: Timestamp,
    /// Jobs that run, that wait in their order, that are held back, and that are over, the last one first.
    pub jobs: Vec<ListedJob>,
    /// Who holds the whole queue.
    pub pause: Option<QueuePause>,
    /// Reservations in force.
    pub reservations: Vec<Reservation>,
    /// Workers that are there.
    pub workers: usize,
    /// How many jobs there are in each state.
    pub counts: Vec<(JobState, usize)>,
}

impl QueueListing {
    /// Of a store without jobs.
    pub fn empty() -> Self {
        Self {
            now: Timestamp::UNIX_EPOCH,
            jobs: Vec::new(),
            pause: None,
            reservations: Vec::new(),
            workers: 0,
            counts: Vec::new(),
        }
    }

    /// Jobs of this state that aren't listed.
    fn left_out(&self, state: JobState) -> usize {
        let listed = self.jobs.iter().filter(|it| it.job.state == state).count();
        let known = self.counts.iter().find(|(its, _)| *its == state);
        known.map_or(0, |(_, count)| count.saturating_sub(listed))
    }
}

/// The queue for programs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct QueueView {
    /// One for each job: those that run, those that wait in their order, those that are held back, those that are over.
    pub jobs: Vec<JobView>,
    /// Who holds the whole queue, if somebody does.
    pub paused: Option<PauseView>,
    /// Reservations in force.
    pub reservations: Vec<ReservationView>,
    /// Workers that are there.
    pub workers: usize,
    /// Jobs that wait and aren't listed.
    pub waiting_left_out: usize,
}

/// That somebody holds the whole queue.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PauseView {
    /// Who.
    pub by: String,
    /// Why.
    pub why: Option<String>,
    /// Since when: RFC 3339.
    pub since: String,
}

/// A testbed or a host that somebody has reserved.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ReservationView {
    /// Its number.
    pub reservation: i64,
    /// The testbed or the host.
    pub name: String,
    /// Its lab, if that has a file.
    pub lab: Option<String>,
    /// The hosts that it is.
    pub hosts: Vec<String>,
    /// Whose it is.
    pub by: String,
    /// What for.
    pub why: Option<String>,
    /// When it ends: RFC 3339.
    pub until: String,
}

impl From<&Reservation> for ReservationView {
    fn from(held: &Reservation) -> Self {
        Self {
            reservation: held.number,
            name: held.name.clone(),
            lab: held.needs.lab.as_ref().map(ToString::to_string),
            hosts: held.needs.hosts.iter().map(ToString::to_string).collect(),
            by: held.by.clone(),
            why: held.why.clone(),
            until: held.until.to_string(),
        }
    }
}

/// A job for programs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct JobView {
    /// Its number.
    pub job: i64,
    /// `waiting`, `running`, `paused`, `done`, `failed` or `cancelled`.
    pub state: &'static str,
    /// The words behind `backsight`: the verb first.
    pub arguments: Vec<String>,
    /// The folder that it is run in.
    pub folder: String,
    /// Who asked for it.
    pub by: String,
    /// Of those that wait the greatest comes first.
    pub priority: i64,
    /// The testbeds that it measures on, as far as that was known when it was asked for.
    pub testbeds: Vec<String>,
    /// Jobs that must be done before it; of one that is over they aren't listed.
    pub after: Vec<i64>,
    /// It isn't begun later: RFC 3339.
    pub deadline: Option<String>,
    /// Its place among those that wait, from 1.
    pub position: Option<usize>,
    /// Why it waits: `turn`, `paused`, `queue-paused`, `after`, `reserved`, `busy`, `behind`, `not-served`, `no-worker`,
    /// `slurm` or `lost`.
    pub waits: Option<&'static str>,
    /// The same in words, with the testbed, the job or the person.
    pub waits_for: Option<String>,
    /// How long jobs of its kind took, in seconds: as likely more as less.
    pub takes: Option<f64>,
    /// When it will begin.
    pub begins: Option<TimeRangeView>,
    /// When it will end.
    pub ends: Option<TimeRangeView>,
    /// When it was asked for: RFC 3339.
    pub asked: String,
    /// When a worker last began it.
    pub began: Option<String>,
    /// When it ended, or was cancelled.
    pub ended: Option<String>,
    /// How it ended, or who holds it back.
    pub outcome: Option<String>,
    /// The study that it began.
    pub study: Option<String>,
    /// Slurm's number of it, where Slurm begins it.
    pub slurm_job: Option<i64>,
}

/// An estimate of a time: RFC 3339. Eight of ten lie within, or more.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TimeRangeView {
    /// If all that comes before takes little.
    pub earliest: String,
    /// If it takes as long as usual.
    pub expected: String,
    /// If all of it takes long.
    pub latest: String,
}

impl From<TimeRange> for TimeRangeView {
    fn from(range: TimeRange) -> Self {
        Self {
            earliest: range.earliest.to_string(),
            expected: range.expected.to_string(),
            latest: range.latest.to_string(),
        }
    }
}

impl QueueView {
    /// This queue.
    pub fn new(listing: &QueueListing) -> Self {
        Self {
            jobs: listing.jobs.iter().map(JobView::from).collect(),
            paused: listing.pause.as_ref().map(|pause| PauseView {
                by: pause.by.clone(),
                why: pause.why.clone(),
                since: pause.since.to_string(),
            }),
            reservations: (listing.reservations.iter())
                .map(ReservationView::from)
                .collect(),
            workers: listing.workers,
            waiting_left_out: listing.left_out(JobState::Waiting),
        }
    }
}

impl From<&ListedJob> for JobView {
    fn from(ListedJob { job, outlook }: &ListedJob) -> Self {
        let (request, estimate) = (&job.request, &outlook.estimate);
        let clause = |wait: &JobWait| wait.clause(|at| at.to_string());
        let mut after = request.after.clone();
        after.retain(|_| !job.state.is_over());
        Self {
            job: job.number,
            state: job.state.as_str(),
            arguments: request.arguments.clone(),
            folder: request.folder.display().to_string(),
            by: request.by.clone(),
            priority: request.priority,
            testbeds: request
                .needs
                .testbeds
                .iter()
                .map(ToString::to_string)
                .collect(),
            after,
            deadline: request.deadline.map(|at| at.to_string()),
            position: outlook.position,
            waits: outlook.wait.as_ref().map(JobWait::as_str),
            waits_for: outlook
                .wait
                .as_ref()
                .map(clause)
                .filter(|it| !it.is_empty()),
            takes: estimate.takes.map(|takes| takes.median),
            begins: estimate.begins.map(TimeRangeView::from),
            ends: estimate.ends.map(TimeRangeView::from),
            asked: job.asked.to_string(),
            began: job.began.map(|at| at.to_string()),
            ended: job.ended.map(|at| at.to_string()),
            outcome: job.outcome.clone(),
            study: job.study.as_ref().map(ToString::to_string),
            slurm_job: job.slurm.as_ref().and_then(|standing| standing.id),
        }
    }
}

/// The command of a job as a shell takes it.
pub fn job_command(job: &Job) -> String {
    format!("backsight {}", shell_line(&job.request.arguments))
}

/// A time near now as people say it: of today without its date.
pub fn near_time(at: Timestamp, now: Timestamp, zone: &TimeZone) -> String {
    let (at, now) = (at.to_zoned(zone.clone()), now.to_zoned(zone.clone()));
    let format = match at.date() == now.date() {
        true => "%H:%M",
        false => "%Y-%m-%d %H:%M",
    };
    at.strftime(format).to_string()
}

/// What there is to say of a job beside its state: why it waits, when it begins and ends, how it ended.
pub fn job_standing(listed: &ListedJob, now: Timestamp, zone: &TimeZone) -> String {
    let ListedJob { job, outlook } = listed;
    if job.state.is_over() || job.state == JobState::Paused {
        return job.outcome.clone().unwrap_or_default();
    }
    let show = |at: Timestamp| near_time(at, now, zone);
    let range = |word: &str, range: &TimeRange| {
        let [earliest, expected, latest] = [range.earliest, range.expected, range.latest].map(show);
        match earliest == latest {
            true => format!("{word} {expected}"),
            false => format!("{word} {expected} ({earliest} to {latest})"),
        }
    };
    let waits = job.state == JobState::Waiting;
    let mut parts = Vec::new();
    if let Some(wait) = &outlook.wait {
        parts.push(wait.clause(show));
    }
    let estimate = &outlook.estimate;
    match &estimate.begins {
        Some(begins) if begins.latest > now => parts.push(range("begins", begins)),
        Some(_) => parts.push("begins now".to_owned()),
        None if waits && estimate.takes.is_none() => {}
        None if waits => parts.push("begins: unknown".to_owned()),
        None => {}
    }
    match (&estimate.ends, estimate.takes) {
        (None, None) if waits && estimate.begins.is_none() => {
            parts.push("begins and ends: unknown".to_owned());
        }
        (Some(ends), _) => parts.push(range("ends", ends)),
        (None, Some(takes)) => {
            let usual = Time(Duration::try_from_secs_f64(takes.median).unwrap_or_default());
            parts.push(format!("takes {usual}"));
        }
        (None, None) => parts.push("ends: unknown".to_owned()),
    }
    if let Some(deadline) = job.request.deadline {
        parts.push(format!("not after {}", show(deadline)));
    }
    parts.retain(|part| !part.is_empty());
    parts.join("; ")
}

/// Sentences on the queue as a whole: who holds it, what is reserved, what isn't listed.
pub fn queue_notes(listing: &QueueListing, zone: &TimeZone) -> Vec<String> {
    let mut notes = Vec::new();
    let because = |why: &Option<String>| {
        let why = why.as_ref().map(|why| format!(": {}", escape::line(why)));
        why.unwrap_or_default()
    };
    let show = |at| near_time(at, listing.now, zone);
    if let Some(pause) = &listing.pause {
        notes.push(format!(
            "the queue is paused by {} since {}{}",
            escape::line(&pause.by),
            show(pause.since),
            because(&pause.why)
        ));
    }
    for held in &listing.reservations {
        notes.push(format!(
            "{} is reserved by {} until {}{}",
            escape::line(&held.name),
            escape::line(&held.by),
            show(held.until),
            because(&held.why)
        ));
    }
    for state in [JobState::Waiting, JobState::Paused] {
        let more = listing.left_out(state);
        if more > 0 {
            notes.push(format!("{more} more are {state}"));
        }
    }
    notes
}

/// The queue as a table, with what there is to say of it as a whole.
pub fn queue_table(listing: &QueueListing, width: Option<u16>) -> String {
    let zone = TimeZone::system();
    let mut text = match listing.jobs.is_empty() {
        true => "nothing in the queue\n".to_owned(),
        false => {
            let heads = [
                "job",
                "state",
                "by",
                "asked",
                "command",
                "study",
                "what to expect, or outcome",
            ];
            let mut table = list_table(&heads, width);
            for listed in &listing.jobs {
                let job = &listed.job;
                let study = job.study.as_ref().map(ToString::to_string);
                table.add_row([
                    job.number.to_string(),
                    job.state.to_string(),
                    escape::line(&job.request.by),
                    local_time(job.asked),
                    clipped(&escape::line(&job_command(job)), COMMAND_WIDTH),
                    study.unwrap_or_default(),
                    escape::line(&job_standing(listed, listing.now, &zone)),
                ]);
            }
            format!("{table}\n")
        }
    };
    for note in queue_notes(listing, &zone) {
        let _ = writeln!(text, "{note}");
    }
    text
}

/// Reservations as a table.
pub fn reservation_table(reservations: &[Reservation], width: Option<u16>) -> String {
    if reservations.is_empty() {
        return "nothing is reserved\n".to_owned();
    }
    let mut table = list_table(
        &["reservation", "what", "hosts", "by", "until", "why"],
        width,
    );
    for held in reservations {
        let hosts: Vec<&str> = held.needs.hosts.iter().map(|host| host.as_str()).collect();
        table.add_row([
            held.number.to_string(),
            escape::line(&held.name),
            hosts.join(", "),
            escape::line(&held.by),
            local_time(held.until),
            escape::line(held.why.as_deref().unwrap_or_default()),
        ]);
    }
    format!("{table}\n")
}
