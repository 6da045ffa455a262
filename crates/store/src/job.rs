//! Jobs: asked for, listed, and what people say of them.
//!
//! Which worker has which job is in `job_claim.rs`; the queue as a choice of the next job needs it, in `queue_snapshot.rs`.
//! Whoever changes what waits, runs or is reserved makes the queue's turn rise in the same transaction ([`Store::change_queue`]).

use backsight_model::{Job, JobEngine, JobRequest, JobState, SlurmStanding};
use jiff::Timestamp;
use std::collections::BTreeMap;

use crate::{
    Store, StoreError,
    database::AnswerRow,
    query::{Query, QueryBuilder, Transaction, query, query_scalar},
};

/// A query for rows that [`Store::job_row`] reads.
macro_rules! jobs {
    ($rest:literal) => {
        concat!(
            "SELECT number, arguments, folder, who, priority, needs, deadline, front, asked, state, began, ended, outcome, \
             slurm_options, slurm_job, slurm_reason, \
             (SELECT name FROM study s WHERE s.job = job.number ORDER BY s.id LIMIT 1) AS study FROM job ",
            $rest
        )
    };
}

/// So many jobs, or kinds of them, are asked about in one question.
pub(crate) const LIST: usize = 10_000;

/// A question about these jobs.
pub(crate) fn listed(text: &str, numbers: &[i64]) -> Query {
    let mut query = QueryBuilder::new(text);
    let mut list = query.separated(", ");
    for number in numbers {
        list.push_bind(*number);
    }
    query.push(")");
    query.build()
}

/// Where a job goes among those that wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobMove {
    /// Before all that wait.
    First,
    /// To its priority, behind those that were moved to the front.
    Priority(i64),
}

impl Store {
    /// Begins a change of the queue: what was chosen before isn't taken any more, and others wait until it is committed.
    pub(crate) async fn change_queue(&self) -> Result<Transaction, StoreError> {
        let mut tx = self.database.begin().await?;
        query("UPDATE queue_state SET turn = turn + 1 WHERE id = 1")
            .execute(&mut *tx)
            .await
            .map_err(|e| self.database.fault(e))?;
        Ok(tx)
    }

    /// Adds a job to the queue; returns its number.
    ///
    /// # Errors
    /// A job that it comes after isn't there, or ended otherwise than asked; the store's own.
    pub async fn add_job(&self, asked: &JobRequest) -> Result<i64, StoreError> {
        let now = self.queue_time().await?;
        let mut tx = self.change_queue().await?;
        for job in &asked.after {
            let state: Option<String> = query_scalar("SELECT state FROM job WHERE number = $1")
                .bind(*job)
                .fetch_optional(&mut *tx)
                .await
                .map_err(|e| self.database.fault(e))?;
            let state = state.and_then(|state| state.parse::<JobState>().ok());
            if state.is_none_or(|state| state.is_over() && state != JobState::Done) {
                return Err(StoreError::NoDependency { job: *job, state });
            }
        }
        let slurm_options = match &asked.engine {
            JobEngine::Workers => None,
            JobEngine::Slurm { options } => Some(self.to_json(options)?),
        };
        let number: i64 = query_scalar(
            "INSERT INTO job (number, arguments, folder, who, priority, asked, state, needs, kind, deadline, slurm_options, front) \
             SELECT COALESCE((SELECT MAX(number) FROM job), 0) + 1, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, \
             CASE WHEN $11 THEN COALESCE((SELECT MAX(front) FROM job WHERE front <> 0), 0) + 1 ELSE 0 END RETURNING number",
        )
        .bind(self.to_json(&asked.arguments)?)
        .bind(asked.folder.to_string_lossy().into_owned())
        .bind(&asked.by)
        .bind(asked.priority)
        .bind(now.to_string())
        .bind(JobState::Waiting.as_str())
        .bind(self.to_json(&asked.needs)?)
        .bind(asked.kind())
        .bind(asked.deadline.map(|deadline| deadline.to_string()))
        .bind(slurm_options)
        .bind(asked.first)
        .fetch_one(&mut *tx)
        .await
        .map_err(|e| self.database.fault(e))?;
        for job in &asked.after {
            query("INSERT INTO job_dependency (job, dependency) VALUES ($1, $2) ON CONFLICT DO NOTHING")
                .bind(number)
                .bind(*job)
                .execute(&mut *tx)
                .await
                .map_err(|e| self.database.fault(e))?;
        }
        tx.commit().await.map_err(|e| self.database.fault(e))?;
        Ok(number)
    }

    /// All jobs: those that run, those that wait by priority, those that are over, the newest of these first.
    ///
    /// # Errors
    /// The store's own, or what no release of ours wrote.
    pub async fn jobs(&self) -> Result<Vec<Job>, StoreError> {
        let query = query(jobs!(
            "ORDER BY CASE state WHEN 'running' THEN 0 WHEN 'waiting' THEN 1 WHEN 'paused' THEN 2 ELSE 3 END, \
             CASE state WHEN 'waiting' THEN -front WHEN 'running' THEN 0 WHEN 'paused' THEN 0 ELSE -number END, \
             CASE state WHEN 'waiting' THEN -priority ELSE 0 END, number"
        ));
        self.job_rows(&self.database.rows(query).await?).await
    }

    /// The newest jobs in this state, `most` of them.
    ///
    /// # Errors
    /// As [`Store::jobs`].
    pub async fn newest_jobs(&self, state: JobState, most: usize) -> Result<Vec<Job>, StoreError> {
        let query = query(jobs!("WHERE state = $1 ORDER BY number DESC LIMIT $2"))
            .bind(state.as_str())
            .bind(i64::try_from(most).unwrap_or(i64::MAX));
        self.job_rows(&self.database.rows(query).await?).await
    }

    /// A job by its number, if there is one, with those that it comes after.
    ///
    /// # Errors
    /// As [`Store::jobs`].
    pub async fn job(&self, number: i64) -> Result<Option<Job>, StoreError> {
        Ok(self.jobs_numbered(&[number]).await?.remove(&number))
    }

    /// Jobs by their numbers, with those that each comes after; those that aren't there are left out.
    ///
    /// # Errors
    /// As [`Store::jobs`].
    pub async fn jobs_numbered(&self, numbers: &[i64]) -> Result<BTreeMap<i64, Job>, StoreError> {
        let mut jobs = Vec::new();
        for part in numbers.chunks(LIST) {
            let rows = self.database.rows(listed(jobs!("WHERE number IN ("), part));
            jobs.extend(self.job_rows(&rows.await?).await?);
        }
        Ok(jobs.into_iter().map(|job| (job.number, job)).collect())
    }

    /// Jobs that Slurm begins and that aren't over.
    ///
    /// # Errors
    /// As [`Store::jobs`].
    pub async fn open_slurm_jobs(&self) -> Result<Vec<Job>, StoreError> {
        let query = query(jobs!(
            "WHERE slurm_options IS NOT NULL AND state IN ('waiting', 'running', 'paused') ORDER BY number"
        ));
        self.job_rows(&self.database.rows(query).await?).await
    }

    /// Jobs of these rows, each that isn't over with those that it comes after.
    async fn job_rows(&self, rows: &[AnswerRow]) -> Result<Vec<Job>, StoreError> {
        let jobs: Result<Vec<Job>, _> = rows.iter().map(|row| self.job_row(row)).collect();
        let mut jobs = jobs?;
        let open = jobs.iter().filter(|job| !job.state.is_over());
        let open: Vec<i64> = open.map(|job| job.number).collect();
        let mut after: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
        for part in open.chunks(LIST) {
            let before = "SELECT job, dependency FROM job_dependency WHERE job IN (";
            for row in self.database.rows(listed(before, part)).await? {
                let of_job = after.entry(self.database.column(&row, "job")?);
                of_job
                    .or_default()
                    .push(self.database.column(&row, "dependency")?);
            }
        }
        for job in &mut jobs {
            if let Some(mut before) = after.remove(&job.number) {
                before.sort_unstable();
                job.request.after = before;
            }
        }
        Ok(jobs)
    }

    /// How many jobs are in each state; those without any aren't there.
    ///
    /// # Errors
    /// As [`Store::jobs`].
    pub async fn job_counts(&self) -> Result<Vec<(JobState, usize)>, StoreError> {
        let db = &self.database;
        let query = query("SELECT state, COUNT(*) AS jobs FROM job GROUP BY state");
        let rows = db.rows(query).await?;
        let count = |row| {
            Ok((
                db.parsed(row, "state", "a state of a job")?,
                db.whole(row, "jobs")?,
            ))
        };
        rows.iter().map(count).collect()
    }

    /// Cancels a job that isn't over; whether it wasn't. Who runs it stops it.
    ///
    /// # Errors
    /// The store's own.
    pub async fn cancel_job(&self, number: i64, why: &str) -> Result<bool, StoreError> {
        let now = self.queue_time().await?;
        let mut tx = self.change_queue().await?;
        let done = query(
            "UPDATE job SET state = 'cancelled', outcome = $1, ended = $2 \
             WHERE number = $3 AND state IN ('waiting', 'running', 'paused')",
        )
        .bind(why)
        .bind(now.to_string())
        .bind(number)
        .execute(&mut *tx)
        .await
        .map_err(|e| self.database.fault(e))?;
        tx.commit().await.map_err(|e| self.database.fault(e))?;
        Ok(done.rows_affected() > 0)
    }

    /// Holds a job back that waits or runs; whether it did. Who runs it stops it.
    ///
    /// # Errors
    /// The store's own.
    pub async fn pause_job(&self, number: i64, why: &str) -> Result<bool, StoreError> {
        let mut tx = self.change_queue().await?;
        let done = query(
            "UPDATE job SET state = 'paused', outcome = $1 WHERE number = $2 AND state IN ('waiting', 'running')",
        )
        .bind(why)
        .bind(number)
        .execute(&mut *tx)
        .await
        .map_err(|e| self.database.fault(e))?;
        tx.commit().await.map_err(|e| self.database.fault(e))?;
        Ok(done.rows_affected() > 0)
    }

    /// Lets a job that is held back wait again; whether it was.
    ///
    /// # Errors
    /// The store's own.
    pub async fn continue_job(&self, number: i64) -> Result<bool, StoreError> {
        let mut tx = self.change_queue().await?;
        let done = query(
            "UPDATE job SET state = CASE WHEN worker_pid IS NULL THEN 'waiting' ELSE 'running' END, outcome = NULL \
             WHERE number = $1 AND state = 'paused'",
        )
        .bind(number)
        .execute(&mut *tx)
        .await
        .map_err(|e| self.database.fault(e))?;
        tx.commit().await.map_err(|e| self.database.fault(e))?;
        Ok(done.rows_affected() > 0)
    }

    /// Moves a job that isn't over among those that wait; whether it wasn't.
    ///
    /// # Errors
    /// The store's own.
    pub async fn move_job(&self, number: i64, to: JobMove) -> Result<bool, StoreError> {
        let mut tx = self.change_queue().await?;
        let query = match to {
            JobMove::First => query(
                "UPDATE job SET front = (SELECT COALESCE(MAX(front), 0) + 1 FROM job WHERE front <> 0) \
                 WHERE number = $1 AND state IN ('waiting', 'running', 'paused')",
            )
            .bind(number),
            JobMove::Priority(priority) => query(
                "UPDATE job SET front = 0, priority = $2 WHERE number = $1 AND state IN ('waiting', 'running', 'paused')",
            )
            .bind(number)
            .bind(priority),
        };
        let done = query.execute(&mut *tx).await;
        let done = done.map_err(|e| self.database.fault(e))?;
        tx.commit().await.map_err(|e| self.database.fault(e))?;
        Ok(done.rows_affected() > 0)
    }

    /// The time by which the queue goes: the database's, where that is another machine's than ours.
    ///
    /// # Errors
    /// The store's own.
    pub async fn queue_time(&self) -> Result<Timestamp, StoreError> {
        let text: String = query_scalar("SELECT CAST(CURRENT_TIMESTAMP AS TEXT)")
            .fetch_one(self.database.pool())
            .await
            .map_err(|e| self.database.fault(e))?;
        let theirs = database_time(&text);
        let theirs = theirs.ok_or_else(|| self.database.strange("a time", &text))?;
        Ok(reconciled(theirs, Timestamp::now()))
    }

    fn job_row(&self, row: &AnswerRow) -> Result<Job, StoreError> {
        let db = &self.database;
        let folder: String = db.column(row, "folder")?;
        let front: i64 = db.column(row, "front")?;
        let options: Option<Vec<String>> = db.json_if_any(row, "slurm_options", "words")?;
        let standing = SlurmStanding {
            id: db.column(row, "slurm_job")?,
            reason: db.column(row, "slurm_reason")?,
        };
        Ok(Job {
            number: db.column(row, "number")?,
            request: JobRequest {
                arguments: db.json(row, "arguments", "the words of a command")?,
                folder: folder.into(),
                by: db.column(row, "who")?,
                priority: db.column(row, "priority")?,
                needs: db.json(row, "needs", "testbeds and hosts")?,
                after: Vec::new(),
                deadline: db.parsed_if_any(row, "deadline", "a time")?,
                first: front != 0,
                engine: match &options {
                    None => JobEngine::Workers,
                    Some(options) => JobEngine::Slurm {
                        options: options.clone(),
                    },
                },
            },
            asked: db.parsed(row, "asked", "a time")?,
            state: db.parsed(row, "state", "a state of a job")?,
            began: db.parsed_if_any(row, "began", "a time")?,
            ended: db.parsed_if_any(row, "ended", "a time")?,
            outcome: db.column(row, "outcome")?,
            study: db.parsed_if_any(row, "study", "the name of a study")?,
            slurm: options.map(|_| standing),
        })
    }
}

/// Databases tell the time in whole seconds: a clock that is so near is taken for theirs.
const CLOCK_TOLERANCE: jiff::SignedDuration = jiff::SignedDuration::from_secs(2);

fn reconciled(theirs: Timestamp, ours: Timestamp) -> Timestamp {
    match theirs.duration_since(ours).abs() <= CLOCK_TOLERANCE {
        true => ours,
        false => theirs,
    }
}

/// `2026-11-27 09:00:00` in UTC, or with an offset.
fn database_time(text: &str) -> Option<Timestamp> {
    if let Ok(at) = text.parse() {
        return Some(at);
    }
    let civil: jiff::civil::DateTime = text.parse().ok()?;
    Some(civil.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_of_databases_are_read() {
        let expected: Timestamp = "2026-11-27T09:00:00Z".parse().unwrap();
        for text in [
            "2026-11-27 09:00:00",
            "2026-11-27 10:00:00+01",
            "2026-11-27 09:00:00.0+00",
        ] {
            assert_eq!(database_time(text), Some(expected), "{text}");
        }
        assert_eq!(database_time("now"), None);
    }

    #[test]
    fn a_clock_that_is_an_hour_off_isnt_believed() {
        let theirs: Timestamp = "2026-11-27T09:00:00Z".parse().unwrap();
        let near = theirs + jiff::SignedDuration::from_millis(1400);
        assert_eq!(reconciled(theirs, near), near);
        for hours in [-1, 1] {
            let off = theirs + jiff::SignedDuration::from_hours(hours);
            assert_eq!(reconciled(theirs, off), theirs);
        }
    }
}
