//! Which job of the queue is next, why the others wait, and when each will begin and end.
//!
//! All of it is a function of the queue at one moment ([`backsight_model::QueueSnapshot`]): no clock, no database. A worker asks
//! [`choose_job`], a page asks [`job_outlooks`], and both see the same rules.

mod eligibility;
mod estimate;
mod fair_share;
mod rank;

pub use eligibility::{JobLoss, JobWait, QueueChoice, choose_job};
pub use estimate::{JobEstimate, JobOutlook, PastDurations, TimeRange, job_outlooks};
pub use fair_share::{HALF_LIFE, usage_by_person};
pub use rank::ranked_jobs;

#[cfg(test)]
mod tests {
    use backsight_model::{JobNeeds, QueueSnapshot, QueuedJob, Reservation, RunningJob};
    use jiff::{SignedDuration, Timestamp};

    pub(super) fn job(number: i64, by: &str) -> QueuedJob {
        QueuedJob {
            number,
            by: by.to_owned(),
            priority: 0,
            front: 0,
            deadline: None,
            needs: JobNeeds::default(),
            after: Vec::new(),
            kind: "usual".to_owned(),
            slurm: None,
        }
    }

    pub(super) fn queue_of(jobs: &[(i64, &str)]) -> QueueSnapshot {
        QueueSnapshot {
            now: "2026-11-27T09:00:00Z".parse().unwrap(),
            pause: None,
            waiting: jobs.iter().map(|(number, by)| job(*number, by)).collect(),
            waiting_in_all: jobs.len(),
            running: Vec::new(),
            reservations: Vec::new(),
            usage: Vec::new(),
            workers: Vec::new(),
        }
    }

    pub(super) fn needs(testbeds: &[&str]) -> JobNeeds {
        JobNeeds {
            lab: Some("lab".parse().unwrap()),
            testbeds: testbeds.iter().map(|name| name.parse().unwrap()).collect(),
            hosts: Vec::new(),
        }
    }

    pub(super) fn running(number: i64, testbeds: &[&str]) -> RunningJob {
        RunningJob {
            number,
            needs: needs(testbeds),
            machine: None,
            kind: "usual".to_owned(),
            seconds: 0.0,
        }
    }

    pub(super) fn reservation(name: &str, by: &str, now: Timestamp, seconds: i64) -> Reservation {
        Reservation {
            number: 1,
            name: name.to_owned(),
            needs: needs(&[name]),
            by: by.to_owned(),
            why: None,
            made: now,
            until: now + SignedDuration::from_secs(seconds),
        }
    }
}
