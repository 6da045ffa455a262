//! The queue at one moment, its workers, its pause, and what jobs of a kind took.

use backsight_model::{
    JobState, MachineUse, QueuePause, QueueSnapshot, QueueWorker, QueuedJob, RunningJob,
    WorkerScope,
};
use jiff::{SignedDuration, Timestamp};
use std::collections::HashMap;

use crate::{
    Runner, Store, StoreError,
    database::AnswerRow,
    query::{PerEngine, query, query_per_engine, query_scalar},
    runner::this_machine,
    study::saturated,
};

/// What was used longer ago doesn't count: ten half-lives, after which a thousandth is left.
const USAGE_WINDOW: SignedDuration = SignedDuration::from_hours(20 * 24);
/// Of the jobs of a kind so many count, the last ones.
const PAST_JOBS: i64 = 20;

/// A query for workers, with these columns and tables of the lease of each.
macro_rules! queue_workers {
    ($lease:literal, $of:literal) => {
        concat!(
            "SELECT w.machine, w.boot, w.pid, w.start, w.lab, w.testbeds, ",
            "(SELECT MIN(j.number) FROM job j WHERE j.worker_pid = w.pid AND j.worker_boot = w.boot AND j.worker_start = w.start) AS job, ",
            $lease,
            " FROM queue_worker w ",
            $of,
            "ORDER BY w.machine, w.pid"
        )
    };
}

impl Store {
    /// The queue, with the first `most` jobs of each person that wait: so the first `most` of all are among them.
    ///
    /// # Errors
    /// The store's own, or what no release of ours wrote.
    pub async fn queue(&self, most: usize) -> Result<QueueSnapshot, StoreError> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        Ok(self.queue_at_turn(most).await?.1)
    }

    /// The same with the turn that it was at when reading began.
    pub(crate) async fn queue_at_turn(
        &self,
        most: i64,
    ) -> Result<(i64, QueueSnapshot), StoreError> {
        let db = &self.database;
        let now = self.queue_time().await?;
        let query = query(
            "SELECT turn, paused_by, paused_why, paused_since, \
             (SELECT COUNT(*) FROM job WHERE state = 'waiting' AND worker_pid IS NULL) AS waiting FROM queue_state",
        );
        let rows = db.rows(query).await?;
        let row = rows
            .first()
            .ok_or_else(|| db.strange("the state of the queue", ""))?;
        let by: Option<String> = db.column(row, "paused_by")?;
        let since: Option<Timestamp> = db.parsed_if_any(row, "paused_since", "a time")?;
        let pause = match (by, since) {
            (Some(by), Some(since)) => Some(QueuePause {
                by,
                why: db.column(row, "paused_why")?,
                since,
            }),
            _ => None,
        };
        let queue = QueueSnapshot {
            now,
            pause,
            waiting: self.queued_jobs(most).await?,
            waiting_in_all: db.whole(row, "waiting")?,
            running: self.running_jobs(now).await?,
            reservations: self.reservations(now).await?,
            usage: self.machine_use(now).await?,
            workers: self.queue_workers().await?,
        };
        Ok((db.column(row, "turn")?, queue))
    }

    async fn queued_jobs(&self, most: i64) -> Result<Vec<QueuedJob>, StoreError> {
        let db = &self.database;
        let dependencies = query(
            "SELECT d.job, d.dependency, j.state FROM job w JOIN job_dependency d ON d.job = w.number \
             JOIN job j ON j.number = d.dependency WHERE w.state = 'waiting' AND j.state <> 'done'",
        );
        let mut after: HashMap<i64, Vec<(i64, JobState)>> = HashMap::new();
        for row in db.rows(dependencies).await? {
            let state = db.parsed(&row, "state", "a state of a job")?;
            let of_job = after.entry(db.column(&row, "job")?).or_default();
            of_job.push((db.column(&row, "dependency")?, state));
        }
        let query = query(
            "SELECT number, who, priority, front, deadline, needs, kind FROM (\
             SELECT number, who, priority, front, deadline, needs, kind, ROW_NUMBER() OVER (PARTITION BY who ORDER BY \
             front DESC, priority DESC, CASE WHEN deadline IS NULL THEN 1 ELSE 0 END, deadline, number) AS place \
             FROM job WHERE state = 'waiting' AND worker_pid IS NULL) AS ordered WHERE place <= $1",
        )
        .bind(most);
        let mut jobs = Vec::new();
        for row in db.rows(query).await? {
            let number = db.column(&row, "number")?;
            jobs.push(QueuedJob {
                number,
                by: db.column(&row, "who")?,
                priority: db.column(&row, "priority")?,
                front: db.column(&row, "front")?,
                deadline: db.parsed_if_any(&row, "deadline", "a time")?,
                needs: db.json(&row, "needs", "testbeds and hosts")?,
                after: after.remove(&number).unwrap_or_default(),
                kind: db.column(&row, "kind")?,
            });
        }
        Ok(jobs)
    }

    async fn running_jobs(&self, now: Timestamp) -> Result<Vec<RunningJob>, StoreError> {
        let db = &self.database;
        let query = query(
            "SELECT number, needs, kind, worker_machine, began, \
             (SELECT SUM(r.seconds) FROM job_run r WHERE r.job = job.number AND r.began < job.began) AS before \
             FROM job WHERE worker_pid IS NOT NULL",
        );
        let running = |row: &AnswerRow| {
            let began: Option<Timestamp> = db.parsed_if_any(row, "began", "a time")?;
            let under_way = began.map_or(0.0, |began| now.duration_since(began).as_secs_f64());
            let before: Option<f64> = db.column(row, "before")?;
            Ok(RunningJob {
                number: db.column(row, "number")?,
                needs: db.json(row, "needs", "testbeds and hosts")?,
                machine: db.column(row, "worker_machine")?,
                kind: db.column(row, "kind")?,
                seconds: before.unwrap_or(0.0) + under_way.max(0.0),
            })
        };
        db.rows(query).await?.iter().map(running).collect()
    }

    /// Machine time that people used lately, by the hours of its beginning and its end.
    async fn machine_use(&self, now: Timestamp) -> Result<Vec<MachineUse>, StoreError> {
        let db = &self.database;
        let query = query(
            "SELECT who, SUBSTR(began, 1, 13) AS from_hour, SUBSTR(heard, 1, 13) AS until_hour, \
             SUM(seconds * machines) AS machine_seconds FROM job_run WHERE heard > $1 \
             GROUP BY who, SUBSTR(began, 1, 13), SUBSTR(heard, 1, 13)",
        )
        .bind((now - USAGE_WINDOW).to_string());
        let hour = |row: &AnswerRow, name: &str| {
            let text: String = db.column(row, name)?;
            let at: Result<Timestamp, _> = format!("{text}:00:00Z").parse();
            at.map_err(|_| db.strange("a time", &text))
        };
        let used = |row: &AnswerRow| {
            let end = hour(row, "until_hour")? + SignedDuration::from_hours(1);
            Ok(MachineUse {
                by: db.column(row, "who")?,
                from: hour(row, "from_hour")?,
                until: end.min(now),
                machine_seconds: db.column(row, "machine_seconds")?,
            })
        };
        db.rows(query).await?.iter().map(used).collect()
    }

    /// What jobs of this kind took that came to their end, in seconds, the last first.
    ///
    /// # Errors
    /// The store's own.
    pub async fn past_seconds(&self, kind: &str) -> Result<Vec<f64>, StoreError> {
        query_scalar(
            "SELECT SUM(r.seconds) FROM job j JOIN job_run r ON r.job = j.number WHERE j.kind = $1 AND (j.state = 'done' \
             OR (j.state = 'failed' AND EXISTS (SELECT 1 FROM study s WHERE s.job = j.number AND s.state = 'finished'))) \
             GROUP BY j.number ORDER BY j.number DESC LIMIT $2",
        )
        .bind(kind)
        .bind(PAST_JOBS)
        .fetch_all(self.database.pool())
        .await
        .map_err(|e| self.database.fault(e))
    }

    /// Holds the whole queue, or lets it go on.
    ///
    /// # Errors
    /// The store's own.
    pub async fn pause_queue(&self, pause: Option<(&str, Option<&str>)>) -> Result<(), StoreError> {
        let now = self.queue_time().await?.to_string();
        let mut tx = self.change_queue().await?;
        query(
            "UPDATE queue_state SET paused_by = $1, paused_why = $2, paused_since = $3 WHERE id = 1",
        )
        .bind(pause.map(|(by, _)| by))
        .bind(pause.and_then(|(_, why)| why))
        .bind(pause.map(|_| now))
        .execute(&mut *tx)
        .await
        .map_err(|e| self.database.fault(e))?;
        tx.commit().await.map_err(|e| self.database.fault(e))
    }

    /// Notes that a worker is there: this process.
    ///
    /// # Errors
    /// The store's own.
    pub async fn register_worker(
        &self,
        worker: &Runner,
        scope: &WorkerScope,
    ) -> Result<(), StoreError> {
        self.keep_lease().await?;
        let testbeds = scope.testbeds.as_ref().map(|names| self.to_json(names));
        query(
            "INSERT INTO queue_worker (machine, boot, pid, start, lab, testbeds) VALUES ($1, $2, $3, $4, $5, $6) \
             ON CONFLICT (machine, boot, pid, start) DO UPDATE SET lab = excluded.lab, testbeds = excluded.testbeds",
        )
        .bind(this_machine())
        .bind(&worker.boot)
        .bind(i64::from(worker.pid))
        .bind(saturated(worker.start))
        .bind(scope.lab.as_ref().map(|lab| lab.to_string()))
        .bind(testbeds.transpose()?)
        .execute(self.database.pool())
        .await
        .map_err(|e| self.database.fault(e))?;
        Ok(())
    }

    /// Notes that a worker isn't there any more, and forgets those of this machine that were killed.
    ///
    /// # Errors
    /// The store's own.
    pub async fn remove_worker(&self, worker: &Runner) -> Result<(), StoreError> {
        let mut gone = vec![worker.clone()];
        let of_this_machine = query("SELECT boot, pid, start FROM queue_worker WHERE machine = $1")
            .bind(this_machine());
        for row in self.database.rows(of_this_machine).await? {
            let other = self.worker_row(&row)?;
            if !other.is_alive() {
                gone.push(other);
            }
        }
        for worker in gone {
            query(
                "DELETE FROM queue_worker WHERE machine = $1 AND boot = $2 AND pid = $3 AND start = $4",
            )
            .bind(this_machine())
            .bind(&worker.boot)
            .bind(i64::from(worker.pid))
            .bind(saturated(worker.start))
            .execute(self.database.pool())
            .await
            .map_err(|e| self.database.fault(e))?;
        }
        Ok(())
    }

    fn worker_row(&self, row: &AnswerRow) -> Result<Runner, StoreError> {
        Ok(Runner {
            pid: self.database.whole(row, "pid")?,
            boot: self.database.column(row, "boot")?,
            start: self.database.whole(row, "start")?,
        })
    }

    async fn queue_workers(&self) -> Result<Vec<QueueWorker>, StoreError> {
        let db = &self.database;
        let registered = query_per_engine(PerEngine {
            sqlite: queue_workers!("NULL AS runner_host, NULL AS unseen", ""),
            postgres: queue_workers!(
                "r.host AS runner_host, \
                 CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS DOUBLE PRECISION) - r.seen AS unseen",
                "LEFT JOIN runner r ON r.boot = w.boot AND r.pid = w.pid AND r.start = w.start "
            ),
        });
        let mut workers = Vec::new();
        for row in db.rows(registered).await? {
            let lease = self.runner_lease(&row)?;
            if self.worker_row(&row)?.is_there(lease.as_ref()) {
                workers.push(QueueWorker {
                    scope: WorkerScope {
                        machine: db.column(&row, "machine")?,
                        lab: db.parsed_if_any(&row, "lab", "the name of a lab")?,
                        testbeds: db.json_if_any(&row, "testbeds", "names of testbeds")?,
                    },
                    job: db.column(&row, "job")?,
                });
            }
        }
        Ok(workers)
    }
}
