//! Which worker has which job.
//!
//! A worker chooses from what it read, and takes a job only if the queue's turn is still the same: one short transaction, in which
//! nothing is read but that. So no job is taken twice, and no testbed by two jobs, whatever workers read at once. A job belongs to its worker until
//! that says that it has ended, also one that somebody cancelled or held back meanwhile. One whose worker was killed waits again;
//! what it had measured isn't lost, since its study is kept.
//!
//! Whether a worker is there is known of those of this machine, and of others by their leases: no clock is compared with another one.

use backsight_model::{Job, JobNeeds, JobState, QueueSnapshot};

use crate::{
    Runner, Store, StoreError,
    query::{PerEngine, Transaction, query, query_per_engine, query_scalar},
    runner::this_machine,
    study::saturated,
};

/// Jobs of each person that are looked at first: of longer queues the rest is only read where none of these can begin.
const FIRST_LOOK: i64 = 200;
/// How often a choice is made anew where others were faster.
const MOST_TRIES: usize = 1000;

/// How a worker left a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobEnding<'a> {
    /// It ended so; unless it was cancelled meanwhile.
    Over(JobState, &'a str),
    /// It was stopped: it waits again, or is held back.
    Stopped,
}

impl Store {
    /// Takes a job for this worker; nothing where `choose` finds none. Of the queue it makes the next job, and those that can't be begun any
    /// more, with the reason: these are cancelled, and each that this worker cancelled is `dropped`. Jobs whose worker is gone wait again.
    ///
    /// # Errors
    /// As [`Store::jobs`].
    pub async fn claim_job(
        &self,
        worker: &Runner,
        choose: impl Fn(&QueueSnapshot) -> (Option<i64>, Vec<(i64, String)>),
        mut dropped: impl FnMut(i64, &str),
    ) -> Result<Option<Job>, StoreError> {
        self.keep_lease().await?;
        self.release_orphans().await?;
        for _ in 0..MOST_TRIES {
            let (turn, queue) = self.queue_at_turn(FIRST_LOOK).await?;
            let (mut next, mut lost) = choose(&queue);
            if next.is_none() && lost.is_empty() && queue.is_cut() {
                let (later, queue) = self.queue_at_turn(i64::MAX).await?;
                (next, lost) = choose(&queue);
                if later != turn {
                    continue;
                }
            }
            for (number, why) in &lost {
                if self.cancel_waiting(*number, why).await? {
                    dropped(*number, why);
                }
            }
            if !lost.is_empty() {
                continue;
            }
            let Some(number) = next else { return Ok(None) };
            if self.take_job(number, turn, worker).await? {
                return self.job(number).await;
            }
        }
        Ok(None)
    }

    /// Takes a job that waits, if nothing changed since that turn; whether it did.
    async fn take_job(&self, number: i64, turn: i64, worker: &Runner) -> Result<bool, StoreError> {
        let now = self.queue_time().await?.to_string();
        let mut tx = self.database.begin().await?;
        let fault = |e| self.database.fault(e);
        let unchanged = query("UPDATE queue_state SET turn = turn + 1 WHERE id = 1 AND turn = $1")
            .bind(turn)
            .execute(&mut *tx)
            .await
            .map_err(fault)?;
        if unchanged.rows_affected() == 0 {
            return Ok(false);
        }
        let taken = query(
            "UPDATE job SET state = 'running', began = $1, worker_pid = $2, worker_boot = $3, worker_start = $4, \
             worker_machine = $5, front = 0 WHERE number = $6 AND state = 'waiting' AND worker_pid IS NULL",
        )
        .bind(&now)
        .bind(i64::from(worker.pid))
        .bind(&worker.boot)
        .bind(saturated(worker.start))
        .bind(this_machine())
        .bind(number)
        .execute(&mut *tx)
        .await
        .map_err(fault)?;
        if taken.rows_affected() == 0 {
            return Ok(false);
        }
        let needs: String = query_scalar("SELECT needs FROM job WHERE number = $1")
            .bind(number)
            .fetch_one(&mut *tx)
            .await
            .map_err(fault)?;
        let needs: JobNeeds = serde_json::from_str(&needs).unwrap_or_default();
        query(
            "INSERT INTO job_run (job, run, who, machines, began, heard, seconds) \
             SELECT j.number, (SELECT COALESCE(MAX(r.run), 0) + 1 FROM job_run r WHERE r.job = j.number), j.who, $2, $3, $3, 0.0 \
             FROM job j WHERE j.number = $1",
        )
        .bind(number)
        .bind(i64::try_from(needs.machines()).unwrap_or(1))
        .bind(&now)
        .execute(&mut *tx)
        .await
        .map_err(fault)?;
        tx.commit().await.map_err(fault)?;
        Ok(true)
    }

    /// Cancels a job that waits; whether it did wait.
    async fn cancel_waiting(&self, number: i64, why: &str) -> Result<bool, StoreError> {
        let now = self.queue_time().await?;
        let mut tx = self.change_queue().await?;
        let cancelled = query(
            "UPDATE job SET state = 'cancelled', outcome = $1, ended = $2 WHERE number = $3 AND state = 'waiting'",
        )
        .bind(why)
        .bind(now.to_string())
        .bind(number)
        .execute(&mut *tx)
        .await
        .map_err(|e| self.database.fault(e))?;
        tx.commit().await.map_err(|e| self.database.fault(e))?;
        Ok(cancelled.rows_affected() > 0)
    }

    /// Lets jobs wait again whose worker is gone.
    ///
    /// # Errors
    /// As [`Store::jobs`].
    pub async fn release_orphans(&self) -> Result<(), StoreError> {
        let taken = query_per_engine(PerEngine {
            sqlite: "SELECT number, worker_pid, worker_boot, worker_start, NULL AS runner_host, NULL AS unseen \
                     FROM job WHERE worker_pid IS NOT NULL",
            postgres: "SELECT number, worker_pid, worker_boot, worker_start, r.host AS runner_host, \
                       CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS DOUBLE PRECISION) - r.seen AS unseen \
                       FROM job LEFT JOIN runner r ON r.boot = worker_boot AND r.pid = worker_pid AND r.start = worker_start \
                       WHERE worker_pid IS NOT NULL",
        });
        for row in self.database.rows(taken).await? {
            let worker = Runner {
                pid: self.database.whole(&row, "worker_pid")?,
                boot: self.database.column(&row, "worker_boot")?,
                start: self.database.whole(&row, "worker_start")?,
            };
            let number: i64 = self.database.column(&row, "number")?;
            let lease = self.runner_lease(&row)?;
            if !worker.is_there(lease.as_ref()) && !self.is_job_measured(number).await? {
                self.leave_job(number, &worker, JobEnding::Stopped).await?;
            }
        }
        Ok(())
    }

    /// Whether a study of a job is being measured: its process outlives a worker that was killed.
    async fn is_job_measured(&self, number: i64) -> Result<bool, StoreError> {
        let query = query_scalar("SELECT name FROM study WHERE job = $1").bind(number);
        let names: Vec<String> = query
            .fetch_all(self.database.pool())
            .await
            .map_err(|e| self.database.fault(e))?;
        for name in names {
            if self.study(&name).await?.is_measuring() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Refuses what a process does for a job that its worker took then, and that isn't its worker's any more: that one was killed
    /// before the process began a study, and the job is begun anew.
    pub(crate) async fn refuse_lost_job(
        &self,
        tx: &mut Transaction,
        job: i64,
        began: &str,
    ) -> Result<(), StoreError> {
        // A change, and no question: nobody takes the job before this transaction ends.
        let still = query(
            "UPDATE job SET began = began WHERE number = $1 AND began = $2 AND worker_pid IS NOT NULL",
        )
        .bind(job)
        .bind(began)
        .execute(&mut **tx)
        .await
        .map_err(|e| self.database.fault(e))?;
        match still.rows_affected() {
            0 => Err(StoreError::JobLost { job }),
            _ => Ok(()),
        }
    }

    /// Notes for how long a worker has run a job by its own clock; returns how the job stands, or nothing where another worker has it by
    /// now.
    ///
    /// # Errors
    /// The store's own.
    pub async fn record_run_time(
        &self,
        number: i64,
        worker: &Runner,
        seconds: f64,
    ) -> Result<Option<JobState>, StoreError> {
        let now = self.queue_time().await?.to_string();
        let mut tx = self.database.begin().await?;
        let state: Option<String> = query_scalar(
            "SELECT state FROM job WHERE number = $1 AND worker_pid = $2 AND worker_boot = $3 AND worker_start = $4",
        )
        .bind(number)
        .bind(i64::from(worker.pid))
        .bind(&worker.boot)
        .bind(saturated(worker.start))
        .fetch_optional(&mut *tx)
        .await
        .map_err(|e| self.database.fault(e))?;
        if state.is_some() {
            query(
                "UPDATE job_run SET heard = $1, seconds = $2 \
                 WHERE job = $3 AND run = (SELECT MAX(r.run) FROM job_run r WHERE r.job = $3)",
            )
            .bind(&now)
            .bind(seconds)
            .bind(number)
            .execute(&mut *tx)
            .await
            .map_err(|e| self.database.fault(e))?;
        }
        tx.commit().await.map_err(|e| self.database.fault(e))?;
        Ok(state.and_then(|state| state.parse().ok()))
    }

    /// Notes how this worker left a job; not where another has it by now. Returns how the job stands then.
    ///
    /// # Errors
    /// The store's own.
    pub async fn leave_job(
        &self,
        number: i64,
        worker: &Runner,
        ending: JobEnding<'_>,
    ) -> Result<Option<JobState>, StoreError> {
        let now = self.queue_time().await?.to_string();
        let mut tx = self.change_queue().await?;
        let (state, outcome) = match ending {
            JobEnding::Over(state, outcome) => (state, Some(outcome)),
            JobEnding::Stopped => (JobState::Waiting, None),
        };
        // One that was told to pause and came to its end by itself at that moment is over.
        let from = match ending {
            JobEnding::Over(..) => ["running", "paused", "waiting"],
            JobEnding::Stopped => ["running", "running", "running"],
        };
        let is_over = matches!(ending, JobEnding::Over(..));
        let state: Option<String> = query_scalar(
            "UPDATE job SET \
             outcome = CASE WHEN state IN ($7, $8, $9) AND $10 THEN $6 ELSE outcome END, \
             ended = CASE WHEN state IN ($7, $8, $9) AND $10 THEN $11 ELSE ended END, \
             state = CASE WHEN state IN ($7, $8, $9) THEN $5 ELSE state END, \
             worker_pid = NULL, worker_boot = NULL, worker_start = NULL, worker_machine = NULL \
             WHERE number = $1 AND worker_pid = $2 AND worker_boot = $3 AND worker_start = $4 RETURNING state",
        )
        .bind(number)
        .bind(i64::from(worker.pid))
        .bind(&worker.boot)
        .bind(saturated(worker.start))
        .bind(state.as_str())
        .bind(outcome)
        .bind(from[0])
        .bind(from[1])
        .bind(from[2])
        .bind(is_over)
        .bind(&now)
        .fetch_optional(&mut *tx)
        .await
        .map_err(|e| self.database.fault(e))?;
        tx.commit().await.map_err(|e| self.database.fault(e))?;
        Ok(state.and_then(|state| state.parse().ok()))
    }
}
