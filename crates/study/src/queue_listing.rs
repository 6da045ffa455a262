//! The queue as people see it: what runs, what waits and why, what ended last, with estimates.

use backsight_model::{Job, JobState, QueueSnapshot};
use backsight_policy::{JobOutlook, PastDurations, job_outlooks};
use backsight_report::queue::{ListedJob, QueueListing};
use backsight_store::{Store, StoreError};
use std::collections::{BTreeMap, BTreeSet};

/// How much of the queue is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueLimits {
    /// Jobs that wait, the first ones; likewise those that are held back.
    pub waiting: usize,
    /// Jobs that are over, the last ones.
    pub over: usize,
}

impl Default for QueueLimits {
    fn default() -> Self {
        Self {
            waiting: 50,
            over: 20,
        }
    }
}

impl QueueLimits {
    /// Everything.
    pub const ALL: Self = Self {
        waiting: usize::MAX,
        over: usize::MAX,
    };
}

/// States of jobs that are over.
const OVER: [JobState; 3] = [JobState::Done, JobState::Failed, JobState::Cancelled];

/// Lists the queue.
///
/// # Errors
/// The store's own.
pub async fn list_queue(store: &Store, limits: QueueLimits) -> Result<QueueListing, StoreError> {
    let queue = store.queue(limits.waiting).await?;
    let past = past_durations(store, &queue, limits.waiting).await?;
    let outlooks = job_outlooks(&queue, &past, limits.waiting);
    let counts = store.job_counts().await?;
    let mut jobs = Vec::new();
    if limits == QueueLimits::ALL {
        let mut outlooks: BTreeMap<i64, JobOutlook> = outlooks.into_iter().collect();
        let listed = store.jobs().await?.into_iter();
        jobs.extend(listed.map(|job| ListedJob {
            outlook: outlooks.remove(&job.number).unwrap_or_default(),
            job,
        }));
        let place = |it: &ListedJob| match it.job.state {
            JobState::Running => (0, 0),
            JobState::Waiting => (1, it.outlook.position.unwrap_or(0)),
            JobState::Paused => (2, 0),
            _ => (3, 0),
        };
        jobs.sort_by_key(place);
    } else {
        let numbers: Vec<i64> = outlooks.iter().map(|(number, _)| *number).collect();
        let mut listed = store.jobs_numbered(&numbers).await?;
        jobs.extend(outlooks.into_iter().filter_map(|(number, outlook)| {
            let job = listed.remove(&number)?;
            Some(ListedJob { job, outlook })
        }));
        // What a worker still has of jobs that are over or held back stands below.
        jobs.retain(|it| matches!(it.job.state, JobState::Running | JobState::Waiting));
        let held = store.newest_jobs(JobState::Paused, limits.waiting).await?;
        jobs.extend(held.into_iter().map(without_outlook));
        let mut over = Vec::new();
        for state in OVER {
            over.extend(store.newest_jobs(state, limits.over).await?);
        }
        over.sort_by_key(|job| std::cmp::Reverse((job.ended, job.number)));
        over.truncate(limits.over);
        jobs.extend(over.into_iter().map(without_outlook));
    }
    Ok(QueueListing {
        now: queue.now,
        jobs,
        pause: queue.pause,
        reservations: queue.reservations,
        workers: queue.workers.len(),
        counts,
    })
}

fn without_outlook(job: Job) -> ListedJob {
    ListedJob {
        job,
        outlook: JobOutlook::default(),
    }
}

/// What jobs took of the kinds that run, or wait among the first.
async fn past_durations(
    store: &Store,
    queue: &QueueSnapshot,
    most: usize,
) -> Result<PastDurations, StoreError> {
    let running = queue.running.iter().map(|job| job.kind.as_str());
    let waiting = backsight_policy::ranked_jobs(queue, |_| None);
    let kinds: BTreeSet<&str> = running
        .chain(waiting.iter().take(most).map(|job| job.kind.as_str()))
        .collect();
    store.past_seconds(&kinds).await
}
