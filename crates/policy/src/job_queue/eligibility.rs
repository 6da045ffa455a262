//! Whether a job may begin now, and which one a worker takes.

use backsight_model::{JobNeeds, JobState, QueueSnapshot, QueuedJob, Reservation, WorkerScope};
use jiff::Timestamp;
use std::{collections::BTreeSet, fmt};

use super::rank::ranked_jobs;

/// Why a job waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobWait {
    /// Others come first, or no worker has looked yet.
    Turn,
    /// Somebody holds it back.
    Paused,
    /// Somebody holds the whole queue.
    QueuePaused {
        /// Who.
        by: String,
    },
    /// A job that comes before it isn't done.
    After {
        /// Its number.
        job: i64,
        /// How that one stands.
        state: JobState,
    },
    /// Somebody has what it needs.
    Reserved {
        /// The testbed or the host.
        what: String,
        /// Who.
        by: String,
        /// Until when.
        until: Timestamp,
    },
    /// Another job has what it needs.
    Busy {
        /// The testbed or the host.
        what: String,
        /// The job.
        job: i64,
    },
    /// A job before it needs the same, and waits for more than that.
    Behind {
        /// The testbed or the host.
        what: String,
        /// The job.
        job: i64,
    },
    /// No worker that is there takes such jobs.
    NotServed {
        /// The testbed, or the lab.
        what: String,
    },
    /// No worker is there.
    NoWorker,
    /// Slurm hasn't started its worker yet.
    Slurm {
        /// Slurm's number; none where Slurm hasn't got it.
        id: Option<i64>,
        /// Why, in Slurm's word.
        reason: Option<String>,
    },
    /// It won't be begun any more: a worker will say so.
    Lost(JobLoss),
}

impl JobWait {
    /// The word for it.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Turn => "turn",
            Self::Paused => "paused",
            Self::QueuePaused { .. } => "queue-paused",
            Self::After { .. } => "after",
            Self::Reserved { .. } => "reserved",
            Self::Busy { .. } => "busy",
            Self::Behind { .. } => "behind",
            Self::NotServed { .. } => "not-served",
            Self::NoWorker => "no-worker",
            Self::Slurm { .. } => "slurm",
            Self::Lost(_) => "lost",
        }
    }

    /// It in a clause, with times as the reader has them; empty where it only waits for its turn.
    pub fn clause(&self, show: impl Fn(Timestamp) -> String) -> String {
        match self {
            Self::Turn => String::new(),
            Self::Paused => "is paused".to_owned(),
            Self::QueuePaused { by } => format!("the queue is paused by {by}"),
            Self::After { job, state } => format!("waits for job {job}, which is {state}"),
            Self::Reserved { what, by, until } => {
                format!("waits for {what}, reserved by {by} until {}", show(*until))
            }
            Self::Busy { what, job } => format!("waits for {what}, where job {job} runs"),
            Self::Behind { what, job } => format!("waits for {what}, where job {job} comes first"),
            Self::NotServed { what } => format!("waits for a worker that serves {what}"),
            Self::NoWorker => "waits for a worker".to_owned(),
            Self::Slurm { id: None, .. } => {
                "isn't in Slurm: pausing and continuing it submits it again".to_owned()
            }
            Self::Slurm {
                id: Some(id),
                reason,
            } => {
                let reason = reason.as_ref().map(|reason| format!(": {reason}"));
                format!("waits in Slurm as {id}{}", reason.unwrap_or_default())
            }
            Self::Lost(loss) => loss.to_string(),
        }
    }
}

/// Why a job can't be begun any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobLoss {
    /// Its time is over.
    DeadlinePassed(Timestamp),
    /// A job before it didn't do what was asked.
    Dependency {
        /// Its number.
        job: i64,
        /// How it ended.
        state: JobState,
    },
}

impl fmt::Display for JobLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DeadlinePassed(deadline) => {
                write!(f, "wasn't begun: its deadline, {deadline:.0}, has passed")
            }
            Self::Dependency { job, state } => {
                write!(
                    f,
                    "wasn't begun: job {job}, which it comes after, is {state}"
                )
            }
        }
    }
}

/// What a worker does with the queue.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QueueChoice {
    /// The job that it takes.
    pub next: Option<i64>,
    /// Jobs that can't be begun any more.
    pub lost: Vec<(i64, JobLoss)>,
    /// Whether a job waits only for one that runs.
    pub awaits_running: bool,
}

/// The job that this worker takes, if there is one for it.
pub fn choose_job(queue: &QueueSnapshot, worker: &WorkerScope) -> QueueChoice {
    let lost: Vec<(i64, JobLoss)> = (queue.waiting.iter())
        .filter_map(|job| Some((job.number, loss(job, queue.now)?)))
        .collect();
    // What follows from them is to be seen first.
    if !lost.is_empty() {
        return QueueChoice {
            lost,
            ..QueueChoice::default()
        };
    }
    let ranked = ranked_jobs(queue, |_| None);
    let mut lane = Lane::new(queue, queue.now);
    let mut choice = QueueChoice::default();
    for job in ranked.into_iter().filter(|job| worker.is_for(job)) {
        match lane.wait(job, worker) {
            None => {
                choice.next = Some(job.number);
                return choice;
            }
            Some(
                JobWait::Busy { .. }
                | JobWait::After {
                    state: JobState::Running,
                    ..
                },
            ) => choice.awaits_running = true,
            Some(_) => {}
        }
    }
    choice
}

/// Why a job can't be begun any more, if it can't.
pub(super) fn loss(job: &QueuedJob, now: Timestamp) -> Option<JobLoss> {
    if let Some(deadline) = job.deadline.filter(|deadline| *deadline <= now) {
        return Some(JobLoss::DeadlinePassed(deadline));
    }
    let failed = |state: JobState| state.is_over() && state != JobState::Done;
    let (job, state) = job.after.iter().find(|(_, state)| failed(*state))?;
    Some(JobLoss::Dependency {
        job: *job,
        state: *state,
    })
}

/// Whether a worker takes jobs with these needs; else what it doesn't serve.
pub(super) fn unserved<'a>(needs: &'a JobNeeds, worker: &WorkerScope) -> Option<&'a str> {
    if let (Some(lab), Some(own)) = (&needs.lab, &worker.lab)
        && lab != own
    {
        return Some(lab.as_str());
    }
    let served = worker.testbeds.as_ref()?;
    let unserved = needs.testbeds.iter().find(|name| !served.contains(name));
    unserved.map(|name| name.as_str())
}

/// The queue while it is gone through from its front: what jobs before have or wait for.
#[derive(Clone)]
pub(super) struct Lane<'a> {
    pause: Option<&'a str>,
    reservations: Vec<&'a Reservation>,
    /// Needs of jobs that run: with their machines.
    pub(super) taken: Vec<(i64, &'a JobNeeds, Option<&'a str>)>,
    /// Needs of jobs before that wait for a testbed: whatever of it is free is kept for them, or they would wait for ever.
    held: Vec<(i64, &'a JobNeeds)>,
    /// Jobs that are done besides those that the queue knows to be: of a simulation.
    pub(super) done: BTreeSet<i64>,
}

impl<'a> Lane<'a> {
    pub(super) fn new(queue: &'a QueueSnapshot, at: Timestamp) -> Self {
        let reservations = queue.reservations.iter();
        let running = queue.running.iter();
        Self {
            pause: queue.pause.as_ref().map(|pause| pause.by.as_str()),
            reservations: reservations.filter(|it| it.until > at).collect(),
            taken: running
                .map(|job| (job.number, &job.needs, job.machine.as_deref()))
                .collect(),
            held: Vec::new(),
            done: BTreeSet::new(),
        }
    }

    /// Forgets which jobs waited.
    pub(super) fn restart(&mut self, at: Timestamp) {
        self.held.clear();
        self.reservations.retain(|it| it.until > at);
    }

    /// Why this job can't begin on this worker; nothing where it can. Jobs are asked about in their order.
    pub(super) fn wait(&mut self, job: &'a QueuedJob, worker: &WorkerScope) -> Option<JobWait> {
        if let Some(by) = self.pause {
            return Some(JobWait::QueuePaused { by: by.to_owned() });
        }
        let mut before = job.after.iter();
        let undone =
            before.find(|(number, state)| *state != JobState::Done && !self.done.contains(number));
        if let Some((job, state)) = undone {
            return Some(JobWait::After {
                job: *job,
                state: *state,
            });
        }
        if job.needs.is_empty() {
            return None;
        }
        for reservation in &self.reservations {
            if let Some(what) = reserved(&job.needs, reservation) {
                return Some(JobWait::Reserved {
                    what: what.to_owned(),
                    by: reservation.by.clone(),
                    until: reservation.until,
                });
            }
        }
        if let Some(what) = unserved(&job.needs, worker) {
            return Some(JobWait::NotServed {
                what: what.to_owned(),
            });
        }
        for (number, needs, machine) in &self.taken {
            // Without a lab's file, it is the machine of who runs it.
            let apart = job.needs.lab.is_none()
                && matches!((machine, &worker.machine), (Some(its), Some(own)) if its != own);
            if let Some(what) = job.needs.in_common(needs).filter(|_| !apart) {
                let wait = JobWait::Busy {
                    what: what.to_owned(),
                    job: *number,
                };
                self.held.push((job.number, &job.needs));
                return Some(wait);
            }
        }
        let before = self.held.iter();
        let mut before = before.filter_map(|(number, needs)| {
            let what = job.needs.in_common(needs)?;
            Some((*number, what.to_owned()))
        });
        if let Some((number, what)) = before.next() {
            self.held.push((job.number, &job.needs));
            return Some(JobWait::Behind { what, job: number });
        }
        None
    }
}

/// What of these needs is reserved.
pub(super) fn reserved<'a>(needs: &'a JobNeeds, reservation: &Reservation) -> Option<&'a str> {
    needs.in_common(&reservation.needs)
}

#[cfg(test)]
mod tests {
    use super::{super::tests::*, *};
    use backsight_model::{QueuePause, RunningJob, SlurmStanding};
    use jiff::SignedDuration;
    use proptest::prelude::*;

    fn next(queue: &QueueSnapshot) -> Option<i64> {
        choose_job(queue, &WorkerScope::default()).next
    }

    #[test]
    fn a_testbed_has_one_job_at_a_time_and_others_go_on() {
        let mut queue = queue_of(&[(1, "ana"), (2, "ana"), (3, "ana")]);
        queue.waiting[0].needs = needs(&["wire"]);
        queue.waiting[1].needs = needs(&["radio"]);
        assert_eq!(next(&queue), Some(1));
        queue.running.push(running(9, &["wire"]));
        assert_eq!(next(&queue), Some(2));
        queue.running.push(running(8, &["radio"]));
        assert_eq!(next(&queue), Some(3), "it needs nothing");
    }

    #[test]
    fn who_waits_for_two_testbeds_isnt_overtaken_on_either() {
        let mut queue = queue_of(&[(1, "ana"), (2, "bo")]);
        queue.waiting[0].needs = needs(&["wire", "radio"]);
        queue.waiting[1].needs = needs(&["radio"]);
        queue.running.push(running(9, &["wire"]));
        assert_eq!(next(&queue), None);
        let mut lane = Lane::new(&queue, queue.now);
        let any = WorkerScope::default();
        assert!(matches!(
            lane.wait(&queue.waiting[0], &any),
            Some(JobWait::Busy { job: 9, .. })
        ));
        let behind = lane.wait(&queue.waiting[1], &any).unwrap();
        assert_eq!(
            behind.clause(|at| at.to_string()),
            "waits for radio, where job 1 comes first"
        );
    }

    #[test]
    fn what_is_reserved_waits_until_it_isnt() {
        let mut queue = queue_of(&[(1, "ana"), (2, "ana")]);
        queue.waiting[0].needs = needs(&["wire"]);
        queue
            .reservations
            .push(reservation("wire", "bo", queue.now, 60));
        assert_eq!(next(&queue), Some(2));
        let mut lane = Lane::new(&queue, queue.now);
        let wait = lane
            .wait(&queue.waiting[0], &WorkerScope::default())
            .unwrap();
        assert_eq!(
            wait.clause(|_| "18:00".into()),
            "waits for wire, reserved by bo until 18:00"
        );
        queue.now += SignedDuration::from_secs(60);
        assert_eq!(next(&queue), Some(1));
        // A host of the testbed is enough.
        let mut of_host = reservation("dut", "bo", queue.now, 60);
        of_host.needs = needs(&[]);
        of_host.needs.hosts = vec!["dut".parse().unwrap()];
        queue.waiting[0].needs.hosts = vec!["sink".parse().unwrap(), "dut".parse().unwrap()];
        queue.reservations = vec![of_host];
        assert_eq!(next(&queue), Some(2));
    }

    #[test]
    fn builds_come_before_trials_and_take_them_along_when_they_fail() {
        let mut queue = queue_of(&[(5, "ana")]);
        for (state, expected) in [
            (JobState::Waiting, None),
            (JobState::Running, None),
            (JobState::Paused, None),
            (JobState::Done, Some(5)),
        ] {
            queue.waiting[0].after = vec![(3, JobState::Done), (4, state)];
            let choice = choose_job(&queue, &WorkerScope::default());
            assert_eq!((choice.next, choice.lost.len()), (expected, 0), "{state}");
        }
        for state in [JobState::Failed, JobState::Cancelled] {
            queue.waiting[0].after = vec![(3, JobState::Waiting), (4, state)];
            let choice = choose_job(&queue, &WorkerScope::default());
            let [(5, loss)] = &choice.lost[..] else {
                panic!("{choice:?}");
            };
            assert!(
                loss.to_string()
                    .contains(&format!("job 4, which it comes after, is {state}"))
            );
        }
    }

    #[test]
    fn a_deadline_that_passed_is_the_end() {
        let mut queue = queue_of(&[(1, "ana"), (2, "ana")]);
        queue.waiting[0].deadline = Some(queue.now);
        let choice = choose_job(&queue, &WorkerScope::default());
        assert_eq!(choice.lost, [(1, JobLoss::DeadlinePassed(queue.now))]);
        queue.waiting[0].deadline = Some(queue.now + SignedDuration::from_secs(1));
        assert_eq!(next(&queue), Some(1));
    }

    #[test]
    fn a_worker_takes_what_it_serves() {
        let mut queue = queue_of(&[(1, "ana"), (2, "ana"), (3, "ana")]);
        for (at, testbed) in ["wire", "radio"].into_iter().enumerate() {
            queue.waiting[at].needs = needs(&[testbed]);
        }
        let mut worker = WorkerScope {
            testbeds: Some(vec!["radio".parse().unwrap()]),
            ..WorkerScope::default()
        };
        assert_eq!(choose_job(&queue, &worker).next, Some(2));
        worker.testbeds = Some(Vec::new());
        assert_eq!(choose_job(&queue, &worker).next, Some(3));
        worker = WorkerScope {
            lab: Some("other".parse().unwrap()),
            ..WorkerScope::default()
        };
        assert_eq!(choose_job(&queue, &worker).next, Some(3));
    }

    #[test]
    fn a_job_of_slurm_is_for_its_own_worker_alone() {
        let mut queue = queue_of(&[(1, "ana"), (2, "ana"), (3, "ana")]);
        queue.waiting[0].slurm = Some(SlurmStanding::default());
        assert_eq!(next(&queue), Some(2));
        let mut worker = WorkerScope {
            job: Some(1),
            ..WorkerScope::default()
        };
        assert_eq!(choose_job(&queue, &worker).next, Some(1));
        worker.job = Some(3);
        assert_eq!(choose_job(&queue, &worker).next, Some(3), "others wait");
        // Testbeds are everybody's.
        queue.waiting[2].needs = needs(&["wire"]);
        queue.running.push(running(9, &["wire"]));
        assert_eq!(choose_job(&queue, &worker).next, None);
    }

    #[test]
    fn machines_without_a_lab_are_each_controllers_own() {
        let mut queue = queue_of(&[(1, "ana")]);
        queue.waiting[0].needs = JobNeeds {
            lab: None,
            ..needs(&["here"])
        };
        let elsewhere = RunningJob {
            needs: JobNeeds {
                lab: None,
                ..needs(&["here"])
            },
            machine: Some("a".to_owned()),
            ..running(9, &[])
        };
        queue.running.push(elsewhere);
        let on = |machine: &str| WorkerScope {
            machine: Some(machine.to_owned()),
            ..WorkerScope::default()
        };
        assert_eq!(choose_job(&queue, &on("a")).next, None);
        assert_eq!(choose_job(&queue, &on("b")).next, Some(1));
    }

    #[test]
    fn a_queue_that_is_paused_begins_nothing() {
        let mut queue = queue_of(&[(1, "ana")]);
        queue.pause = Some(QueuePause {
            by: "bo".to_owned(),
            why: None,
            since: queue.now,
        });
        assert_eq!(next(&queue), None);
    }

    proptest! {
        /// Whatever is asked for, whatever runs: what is chosen may begin, and where nothing is chosen, nothing may.
        #[test]
        fn what_is_chosen_disturbs_nobody(
            jobs in proptest::collection::vec((0..3_usize, 0..4_u8, 0..4_u8, -2..3_i64), 0..30),
            busy in proptest::collection::vec(0..4_u8, 0..3),
            reserved in proptest::option::of(0..4_u8),
        ) {
            let testbed = |n: u8| ["a", "b", "c", "d"][usize::from(n)];
            let mut queue = queue_of(&[]);
            for (at, (who, one, other, priority)) in jobs.iter().enumerate() {
                let mut asked = job(at as i64 + 1, ["ana", "bo", "cy"][*who]);
                asked.needs = needs(&[testbed(*one), testbed(*other)]);
                asked.priority = *priority;
                queue.waiting.push(asked);
            }
            queue.waiting_in_all = queue.waiting.len();
            queue.running = busy.iter().map(|n| running(100 + i64::from(*n), &[testbed(*n)])).collect();
            queue.reservations = reserved.iter().map(|n| reservation(testbed(*n), "bo", queue.now, 60)).collect();
            let free = |asked: &QueuedJob| {
                let is_busy = queue.running.iter().any(|it| asked.needs.in_common(&it.needs).is_some());
                let is_reserved = queue.reservations.iter().any(|it| asked.needs.in_common(&it.needs).is_some());
                !is_busy && !is_reserved
            };
            match next(&queue) {
                Some(number) => {
                    let chosen = queue.waiting.iter().find(|it| it.number == number).unwrap();
                    prop_assert!(free(chosen));
                    let better = queue.waiting.iter().any(|it| it.priority > chosen.priority && it.needs == chosen.needs);
                    prop_assert!(!better);
                }
                // Only what is kept for others isn't used.
                None => {
                    let waits_for_busy = |it: &QueuedJob| queue.running.iter().any(|run| it.needs.in_common(&run.needs).is_some());
                    let all = queue.waiting.iter().all(|it| !free(it) || queue.waiting.iter().any(|other| {
                        waits_for_busy(other) && other.priority >= it.priority
                    }) );
                    prop_assert!(all);
                }
            }
        }
    }
}
