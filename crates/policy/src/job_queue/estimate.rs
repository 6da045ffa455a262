//! When each job will begin and end.
//!
//! How long a job takes is predicted from those of its kind that ended ([`backsight_stats::predict_duration`]). The queue is then played
//! forward by the rules that workers choose by, three times: with what jobs take as likely as not, and with the ends of their
//! intervals. So where all jobs before one take as little (or as much) as their intervals say, it begins at the earliest (or latest) time; since
//! that is less likely than the same of one job, these intervals are rather too wide than too narrow. Where a job of an unknown length
//! comes before, the beginning is unknown.

use backsight_model::{QueueSnapshot, QueuedJob, WorkerScope};
use backsight_stats::{Confidence, DurationPrior, PredictedDuration, predict_duration};
use jiff::{SignedDuration, Timestamp};
use std::collections::BTreeMap;

use super::{
    eligibility::{JobWait, Lane, loss, unserved},
    rank::ranked_jobs,
};

/// Share of jobs that take as long as predicted: eight of ten.
const CONFIDENCE: f64 = 0.8;

/// What jobs of each kind took, in seconds.
pub type PastDurations = BTreeMap<String, Vec<f64>>;

/// A time in the future.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeRange {
    /// Where all jobs before take little.
    pub earliest: Timestamp,
    /// Where they take as long as usual.
    pub expected: Timestamp,
    /// Where all take long.
    pub latest: Timestamp,
}

/// When a job begins and ends; nothing where it is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct JobEstimate {
    /// How long it takes, as jobs of its kind did.
    pub takes: Option<PredictedDuration>,
    /// When it begins; nothing of one that runs.
    pub begins: Option<TimeRange>,
    /// When it ends.
    pub ends: Option<TimeRange>,
}

/// What is to be expected of a job.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JobOutlook {
    /// Its place among those that wait, from 1; nothing of one that runs.
    pub position: Option<usize>,
    /// Why it waits.
    pub wait: Option<JobWait>,
    /// When it begins and ends.
    pub estimate: JobEstimate,
}

/// What is to be expected of jobs that run, and of the first `most` that wait, which come in their order.
pub fn job_outlooks(
    queue: &QueueSnapshot,
    past: &PastDurations,
    most: usize,
) -> Vec<(i64, JobOutlook)> {
    let confidence = Confidence::new(CONFIDENCE).unwrap_or_default();
    let takes: BTreeMap<&str, PredictedDuration> = (past.iter())
        .filter_map(|(kind, seconds)| {
            let predicted = predict_duration(seconds, confidence, DurationPrior::default());
            Some((kind.as_str(), predicted?))
        })
        .collect();
    let usual = |kind: &str| takes.get(kind).map(|it| it.median);
    let mut ranked = ranked_jobs(queue, |job| usual(&job.kind));
    ranked.truncate(most);
    let scenarios = [
        Forecast::play(queue, &ranked, |kind| Some(takes.get(kind)?.interval.low)),
        Forecast::play(queue, &ranked, usual),
        Forecast::play(queue, &ranked, |kind| Some(takes.get(kind)?.interval.high)),
    ];
    let range = |of: &dyn Fn(&Forecast) -> Option<f64>| -> Option<TimeRange> {
        let [low, usual, high] = &scenarios;
        let at = |seconds: f64| {
            queue
                .now
                .checked_add(SignedDuration::try_from_secs_f64(seconds).ok()?)
                .ok()
        };
        let expected = of(usual)?;
        Some(TimeRange {
            // Another order may begin a job sooner where all take long.
            earliest: at(of(low)?.min(expected))?,
            expected: at(expected)?,
            latest: at(of(high)?.max(expected))?,
        })
    };
    let running = queue.running.iter().map(|job| {
        let estimate = JobEstimate {
            takes: takes.get(job.kind.as_str()).copied(),
            begins: None,
            ends: range(&|it| it.ends.get(&job.number).copied()),
        };
        let outlook = JobOutlook {
            estimate,
            ..JobOutlook::default()
        };
        (job.number, outlook)
    });
    let mut lane = Lane::new(queue, queue.now);
    let waiting = ranked.iter().enumerate().map(|(place, job)| {
        let estimate = JobEstimate {
            takes: takes.get(job.kind.as_str()).copied(),
            begins: range(&|it| it.begins.get(&job.number).copied()),
            ends: range(&|it| it.ends.get(&job.number).copied()),
        };
        let outlook = JobOutlook {
            position: Some(place + 1),
            wait: Some(wait(queue, &mut lane, job)),
            estimate,
        };
        (job.number, outlook)
    });
    running.chain(waiting).collect()
}

/// Why a job waits, whoever may run it.
fn wait<'a>(queue: &QueueSnapshot, lane: &mut Lane<'a>, job: &'a QueuedJob) -> JobWait {
    if let Some(loss) = loss(job, queue.now) {
        return JobWait::Lost(loss);
    }
    let scopes = queue.workers.iter().map(|worker| &worker.scope);
    let scopes = scopes.filter(|scope| scope.is_for(job));
    let serving = scopes
        .clone()
        .find(|scope| unserved(&job.needs, scope).is_none());
    let any = WorkerScope::default();
    // Where nobody serves it, that is why, unless something else is.
    let scope = serving.or(scopes.clone().next());
    let otherwise = match (scope, &job.slurm) {
        (Some(_), _) => JobWait::Turn,
        (None, None) => JobWait::NoWorker,
        (None, Some(standing)) => {
            let in_slurm = JobWait::Slurm {
                id: standing.id,
                reason: standing.reason.clone(),
            };
            // Whether its testbeds are free then is asked when Slurm has started its worker.
            return match lane.clone().wait(job, &any) {
                Some(wait @ (JobWait::QueuePaused { .. } | JobWait::After { .. })) => wait,
                _ => in_slurm,
            };
        }
    };
    lane.wait(job, scope.unwrap_or(&any)).unwrap_or(otherwise)
}

/// When jobs begin and end if each takes a certain time, in seconds from now; unknown ones aren't there.
#[derive(Default)]
struct Forecast {
    begins: BTreeMap<i64, f64>,
    ends: BTreeMap<i64, f64>,
}

impl Forecast {
    fn play(
        queue: &QueueSnapshot,
        ranked: &[&QueuedJob],
        takes: impl Fn(&str) -> Option<f64>,
    ) -> Self {
        let mut forecast = Self::default();
        for job in &queue.running {
            if let Some(takes) = takes(&job.kind) {
                forecast
                    .ends
                    .insert(job.number, (takes - job.seconds).max(0.0));
            }
        }
        let mut under_way: Vec<(i64, f64)> = (queue.running.iter())
            .map(|job| {
                let end = forecast.ends.get(&job.number).copied();
                (job.number, end.unwrap_or(f64::INFINITY))
            })
            .collect();
        let mut workers: Vec<(&WorkerScope, Option<i64>)> = (queue.workers.iter())
            .map(|worker| (&worker.scope, worker.job))
            .collect();
        let reservations: Vec<f64> = (queue.reservations.iter())
            .map(|it| it.until.duration_since(queue.now).as_secs_f64())
            .collect();
        let mut waiting: Vec<&QueuedJob> = ranked.to_vec();
        let mut lane = Lane::new(queue, queue.now);
        let mut seconds = 0.0;
        loop {
            let Ok(passed) = SignedDuration::try_from_secs_f64(seconds) else {
                return forecast;
            };
            let Ok(now) = queue.now.checked_add(passed) else {
                return forecast;
            };
            waiting.retain(|job| loss(job, now).is_none());
            for (scope, its) in &mut workers {
                if its.is_some_and(|job| under_way.iter().any(|(number, _)| *number == job)) {
                    continue;
                }
                lane.restart(now);
                let next = waiting
                    .iter()
                    .position(|job| scope.is_for(job) && lane.wait(job, scope).is_none());
                let Some(next) = next else { continue };
                let job = waiting.remove(next);
                *its = Some(job.number);
                lane.taken
                    .push((job.number, &job.needs, scope.machine.as_deref()));
                forecast.begins.insert(job.number, seconds);
                let end = takes(&job.kind).map(|takes| seconds + takes);
                if let Some(end) = end {
                    forecast.ends.insert(job.number, end);
                }
                under_way.push((job.number, end.unwrap_or(f64::INFINITY)));
            }
            let ends = under_way.iter().map(|(_, end)| *end);
            let later = reservations
                .iter()
                .copied()
                .filter(|until| *until > seconds);
            seconds = ends.chain(later).fold(f64::INFINITY, f64::min);
            if waiting.is_empty() || !seconds.is_finite() {
                return forecast;
            }
            under_way.retain(|(number, end)| {
                let goes_on = *end > seconds;
                if !goes_on {
                    lane.done.insert(*number);
                    lane.taken.retain(|(taken, ..)| taken != number);
                }
                goes_on
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::*, *};
    use backsight_model::{JobState, QueuePause, QueueWorker, SlurmStanding};

    fn outlook(queue: &QueueSnapshot, past: &PastDurations, job: i64) -> JobOutlook {
        let all = job_outlooks(queue, past, 100);
        all.into_iter()
            .find(|(number, _)| *number == job)
            .unwrap()
            .1
    }

    fn begins(queue: &QueueSnapshot, past: &PastDurations, job: i64) -> Option<i64> {
        let begins = outlook(queue, past, job).estimate.begins?;
        assert!(begins.earliest <= begins.expected && begins.expected <= begins.latest);
        Some(
            begins
                .expected
                .duration_since(queue.now)
                .as_secs_f64()
                .round() as i64,
        )
    }

    fn with_workers(mut queue: QueueSnapshot, number: usize) -> QueueSnapshot {
        let idle = QueueWorker {
            scope: WorkerScope::default(),
            job: None,
        };
        queue.workers = vec![idle; number];
        queue
    }

    fn past() -> PastDurations {
        BTreeMap::from([("usual".to_owned(), vec![100.0; 5])])
    }

    #[test]
    fn jobs_follow_each_other_on_their_testbeds() {
        let mut queue = with_workers(
            queue_of(&[(1, "ana"), (2, "ana"), (3, "ana"), (4, "ana")]),
            2,
        );
        for (at, testbed) in ["wire", "wire", "radio", "wire"].into_iter().enumerate() {
            queue.waiting[at].needs = needs(&[testbed]);
        }
        let of = |job| begins(&queue, &past(), job);
        assert_eq!(
            [of(1), of(2), of(3), of(4)],
            [Some(0), Some(100), Some(0), Some(200)]
        );
        let last = outlook(&queue, &past(), 4);
        assert_eq!(last.position, Some(4));
        let ends = last.estimate.ends.unwrap();
        assert!(ends.earliest < ends.expected && ends.expected < ends.latest);
        assert!(
            matches!(last.wait, Some(JobWait::Turn)),
            "nothing runs yet: {last:?}"
        );
    }

    #[test]
    fn what_runs_ends_when_its_kind_does_and_reservations_end_by_themselves() {
        let mut queue = with_workers(queue_of(&[(1, "ana"), (2, "ana")]), 2);
        queue.waiting[0].needs = needs(&["wire"]);
        queue.waiting[1].needs = needs(&["radio"]);
        let mut under_way = running(9, &["wire"]);
        under_way.seconds = 70.0;
        queue.running.push(under_way);
        queue.workers[0].job = Some(9);
        queue
            .reservations
            .push(reservation("radio", "bo", queue.now, 500));
        assert_eq!(begins(&queue, &past(), 1), Some(30));
        assert_eq!(begins(&queue, &past(), 2), Some(500));
        queue.running[0].seconds = 1000.0;
        assert_eq!(
            begins(&queue, &past(), 1),
            Some(0),
            "longer than ever: at any moment"
        );
    }

    #[test]
    fn what_comes_behind_something_unknown_is_unknown() {
        let mut queue = with_workers(queue_of(&[(1, "ana"), (2, "ana"), (3, "ana")]), 1);
        queue.waiting[1].kind = "new".to_owned();
        assert_eq!(begins(&queue, &past(), 2), Some(100));
        let unknown = outlook(&queue, &past(), 2).estimate;
        assert_eq!((unknown.takes, unknown.ends), (None, None));
        assert_eq!(begins(&queue, &past(), 3), None);
        assert_eq!(begins(&with_workers(queue.clone(), 0), &past(), 1), None);
        queue.pause = Some(QueuePause {
            by: "bo".to_owned(),
            why: None,
            since: queue.now,
        });
        assert_eq!(begins(&queue, &past(), 1), None);
    }

    #[test]
    fn builds_are_done_before_trials_and_late_jobs_are_lost() {
        let mut queue = with_workers(queue_of(&[(1, "ana"), (2, "ana"), (3, "ana")]), 2);
        queue.waiting[1].after = vec![(1, JobState::Waiting)];
        assert_eq!(begins(&queue, &past(), 2), Some(100));
        assert_eq!(begins(&queue, &past(), 3), Some(0));
        queue.waiting[1].deadline = Some(queue.now + SignedDuration::from_secs(50));
        assert_eq!(begins(&queue, &past(), 2), None);
    }

    #[test]
    fn a_job_of_slurm_waits_there_until_its_worker_is_there() {
        let mut queue = with_workers(queue_of(&[(1, "ana"), (2, "ana")]), 1);
        queue.waiting[0].slurm = Some(SlurmStanding {
            id: Some(77),
            reason: Some("Resources".to_owned()),
        });
        let wait = outlook(&queue, &past(), 1).wait.unwrap();
        assert_eq!(
            wait.clause(|at| at.to_string()),
            "waits in Slurm as 77: Resources"
        );
        assert_eq!(begins(&queue, &past(), 1), None, "Slurm chooses when");
        assert_eq!(begins(&queue, &past(), 2), Some(0));
        queue.waiting[0].after = vec![(9, JobState::Running)];
        let wait = outlook(&queue, &past(), 1).wait.unwrap();
        assert!(matches!(wait, JobWait::After { job: 9, .. }), "{wait:?}");
        queue.waiting[0].after.clear();
        let mut its = queue.workers[0].clone();
        its.scope.job = Some(1);
        queue.workers.push(its);
        assert_eq!(outlook(&queue, &past(), 1).wait, Some(JobWait::Turn));
        assert_eq!(begins(&queue, &past(), 1), Some(0));
    }

    #[test]
    fn no_worker_and_one_for_other_testbeds_are_told_apart() {
        let mut queue = queue_of(&[(1, "ana")]);
        queue.waiting[0].needs = needs(&["wire"]);
        assert_eq!(outlook(&queue, &past(), 1).wait, Some(JobWait::NoWorker));
        queue = with_workers(queue, 1);
        queue.workers[0].scope.testbeds = Some(vec!["radio".parse().unwrap()]);
        let wait = outlook(&queue, &past(), 1).wait.unwrap();
        assert_eq!(
            wait.clause(|at| at.to_string()),
            "waits for a worker that serves wire"
        );
    }
}
