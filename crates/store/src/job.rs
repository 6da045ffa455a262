//! The queue: jobs that were asked for, which worker has each, how it ended.
//!
//! A job belongs to one worker. One whose worker was killed waits again; what it had measured isn't lost, since its study is kept.

use backsight_model::{Job, JobRequest, JobState};
use jiff::Timestamp;

use crate::{
    Runner, Store, StoreError,
    database::AnswerRow,
    query::{PerEngine, query, query_per_engine, query_scalar},
    study::saturated,
};

/// A query for rows that [`Store::job_row`] reads.
macro_rules! jobs {
    ($rest:literal) => {
        concat!(
            "SELECT number, arguments, folder, who, priority, asked, state, began, ended, outcome, \
             (SELECT name FROM study s WHERE s.job = job.number ORDER BY s.id LIMIT 1) AS study FROM job ",
            $rest
        )
    };
}

impl Store {
    /// Adds a job to the queue; returns its number.
    ///
    /// # Errors
    /// The store's own.
    pub async fn add_job(&self, asked: &JobRequest) -> Result<i64, StoreError> {
        let mut tx = self.database.begin_alone("job").await?;
        let number = query_scalar(
            "INSERT INTO job (number, arguments, folder, who, priority, asked, state) \
             SELECT COALESCE(MAX(number), 0) + 1, $1, $2, $3, $4, $5, $6 FROM job RETURNING number",
        )
        .bind(serde_json::json!(asked.arguments).to_string())
        .bind(asked.folder.to_string_lossy().into_owned())
        .bind(&asked.by)
        .bind(asked.priority)
        .bind(Timestamp::now().to_string())
        .bind(JobState::Waiting.as_str())
        .fetch_one(&mut *tx)
        .await
        .map_err(|e| self.database.fault(e))?;
        tx.commit().await.map_err(|e| self.database.fault(e))?;
        Ok(number)
    }

    /// All jobs in the order in which they are run: those that run, those that wait, those that are over, the newest of these first.
    ///
    /// # Errors
    /// The store's own, or what no release of ours wrote.
    pub async fn jobs(&self) -> Result<Vec<Job>, StoreError> {
        let query = query(jobs!(
            "ORDER BY CASE state WHEN 'running' THEN 0 WHEN 'waiting' THEN 1 ELSE 2 END, \
             CASE state WHEN 'running' THEN 0 WHEN 'waiting' THEN -priority ELSE -number END, number"
        ));
        let rows = self.database.rows(query).await?;
        rows.iter().map(|row| self.job_row(row)).collect()
    }

    /// A job by its number, if there is one.
    ///
    /// # Errors
    /// As [`Store::jobs`].
    pub async fn job(&self, number: i64) -> Result<Option<Job>, StoreError> {
        let query = query(jobs!("WHERE number = $1")).bind(number);
        let rows = self.database.rows(query).await?;
        rows.first().map(|row| self.job_row(row)).transpose()
    }

    /// Takes the next job that waits for this worker; nothing if none does. Jobs whose worker is gone wait again.
    ///
    /// # Errors
    /// As [`Store::jobs`].
    pub async fn claim_job(&self, worker: &Runner) -> Result<Option<Job>, StoreError> {
        self.keep_lease().await?;
        self.release_orphans().await?;
        let claimed: Option<i64> = query_scalar(
            "UPDATE job SET state = $1, began = $2, worker_pid = $3, worker_boot = $4, worker_start = $5 \
             WHERE number = (SELECT number FROM job WHERE state = $6 ORDER BY priority DESC, number LIMIT 1) \
             AND state = $6 RETURNING number",
        )
        .bind(JobState::Running.as_str())
        .bind(Timestamp::now().to_string())
        .bind(i64::from(worker.pid))
        .bind(&worker.boot)
        .bind(saturated(worker.start))
        .bind(JobState::Waiting.as_str())
        .fetch_optional(self.database.pool())
        .await
        .map_err(|e| self.database.fault(e))?;
        match claimed {
            Some(number) => self.job(number).await,
            None => Ok(None),
        }
    }

    async fn release_orphans(&self) -> Result<(), StoreError> {
        let running = query_per_engine(PerEngine {
            sqlite: "SELECT number, worker_pid, worker_boot, worker_start, NULL AS runner_host, NULL AS unseen \
                     FROM job WHERE state = 'running'",
            postgres: "SELECT number, worker_pid, worker_boot, worker_start, r.host AS runner_host, \
                       CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS DOUBLE PRECISION) - r.seen AS unseen \
                       FROM job LEFT JOIN runner r ON r.boot = worker_boot AND r.pid = worker_pid AND r.start = worker_start \
                       WHERE state = 'running'",
        });
        for row in self.database.rows(running).await? {
            let worker = Runner {
                pid: self.database.whole(&row, "worker_pid")?,
                boot: self.database.column(&row, "worker_boot")?,
                start: self.database.whole(&row, "worker_start")?,
            };
            let number: i64 = self.database.column(&row, "number")?;
            let lease = self.runner_lease(&row)?;
            if !worker.is_there(lease.as_ref()) && !self.is_job_measured(number).await? {
                self.put_job_back(number, &worker).await?;
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

    /// Lets a job that this worker runs wait again; not where another has it by now.
    ///
    /// # Errors
    /// The store's own.
    pub async fn put_job_back(&self, number: i64, worker: &Runner) -> Result<(), StoreError> {
        query(
            "UPDATE job SET state = 'waiting' WHERE number = $1 AND state = 'running' \
             AND worker_pid = $2 AND worker_boot = $3 AND worker_start = $4",
        )
        .bind(number)
        .bind(i64::from(worker.pid))
        .bind(&worker.boot)
        .bind(saturated(worker.start))
        .execute(self.database.pool())
        .await
        .map_err(|e| self.database.fault(e))?;
        Ok(())
    }

    /// Notes how a job that ran ended, unless it was cancelled meanwhile.
    ///
    /// # Errors
    /// The store's own.
    pub async fn end_job(
        &self,
        number: i64,
        state: JobState,
        outcome: &str,
    ) -> Result<(), StoreError> {
        query(
            "UPDATE job SET state = $1, outcome = $2, ended = $3 WHERE number = $4 AND state = 'running'",
        )
        .bind(state.as_str())
        .bind(outcome)
        .bind(Timestamp::now().to_string())
        .bind(number)
        .execute(self.database.pool())
        .await
        .map_err(|e| self.database.fault(e))?;
        Ok(())
    }

    /// Cancels a job that isn't over; whether it wasn't. Who runs it stops it.
    ///
    /// # Errors
    /// The store's own.
    pub async fn cancel_job(&self, number: i64, why: &str) -> Result<bool, StoreError> {
        let done = query(
            "UPDATE job SET state = $1, outcome = $2, ended = $3 WHERE number = $4 AND state IN ('waiting', 'running')",
        )
        .bind(JobState::Cancelled.as_str())
        .bind(why)
        .bind(Timestamp::now().to_string())
        .bind(number)
        .execute(self.database.pool())
        .await
        .map_err(|e| self.database.fault(e))?;
        Ok(done.rows_affected() > 0)
    }

    fn job_row(&self, row: &AnswerRow) -> Result<Job, StoreError> {
        let db = &self.database;
        let folder: String = db.column(row, "folder")?;
        Ok(Job {
            number: db.column(row, "number")?,
            request: JobRequest {
                arguments: db.json(row, "arguments", "the words of a command")?,
                folder: folder.into(),
                by: db.column(row, "who")?,
                priority: db.column(row, "priority")?,
            },
            asked: db.parsed(row, "asked", "a time")?,
            state: db.parsed(row, "state", "a state of a job")?,
            began: db.parsed_if_any(row, "began", "a time")?,
            ended: db.parsed_if_any(row, "ended", "a time")?,
            outcome: db.column(row, "outcome")?,
            study: db.parsed_if_any(row, "study", "the name of a study")?,
        })
    }
}
