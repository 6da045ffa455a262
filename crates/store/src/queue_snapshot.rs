//! The queue at one moment, its workers, its pause, and what jobs of a kind took.

use backsight_model::{
    JobState, MachineUse, QueuePause, QueueSnapshot, QueueWorker, QueuedJob, RunningJob,
    SlurmStanding, WorkerScope,
};
use jiff::{SignedDuration, Timestamp};
use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::{
    Runner, Store, StoreError,
    database::AnswerRow,
    job::{LIST, listed},
    query::{PerEngine, QueryBuilder, query, query_per_engine},
    runner::this_machine,
    study::saturated,
};

/// What was used longer ago doesn't count: ten half-lives, after which a thousandth is left.
const USAGE_WINDOW: SignedDuration = SignedDuration::from_hours(20 * 24);
/// What was used since then is known to the hour; before, to the day: a day is half a half-life.
const EXACT_USAGE: SignedDuration = SignedDuration::from_hours(2 * 24);
/// Of the jobs of a kind so many count, the last ones.
const PAST_JOBS: i64 = 20;

/// A query for workers, with these columns and tables of the lease of each.
macro_rules! queue_workers {
    ($lease:literal, $of:literal) => {
        concat!(
            "SELECT w.machine, w.boot, w.pid, w.start, w.lab, w.testbeds, w.only_job, ",
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
        let query = query(
            "SELECT number, who, priority, front, deadline, needs, kind, slurm_options, slurm_job, slurm_reason FROM (\
             SELECT number, who, priority, front, deadline, needs, kind, slurm_options, slurm_job, slurm_reason, ROW_NUMBER() OVER (PARTITION BY who ORDER BY \
             front DESC, priority DESC, CASE WHEN deadline IS NULL THEN 1 ELSE 0 END, deadline, number) AS place \
             FROM job WHERE state = 'waiting' AND worker_pid IS NULL) AS ordered WHERE place <= $1",
        )
        .bind(most);
        let mut jobs = Vec::new();
        for row in db.rows(query).await? {
            let options: Option<String> = db.column(&row, "slurm_options")?;
            let standing = SlurmStanding {
                id: db.column(&row, "slurm_job")?,
                reason: db.column(&row, "slurm_reason")?,
            };
            jobs.push(QueuedJob {
                number: db.column(&row, "number")?,
                by: db.column(&row, "who")?,
                priority: db.column(&row, "priority")?,
                front: db.column(&row, "front")?,
                deadline: db.parsed_if_any(&row, "deadline", "a time")?,
                needs: db.json(&row, "needs", "testbeds and hosts")?,
                after: Vec::new(),
                kind: db.column(&row, "kind")?,
                slurm: options.map(|_| standing),
            });
        }
        let numbers: Vec<i64> = jobs.iter().map(|job| job.number).collect();
        let mut after = self.undone_dependencies(&numbers).await?;
        for job in &mut jobs {
            job.after = after.remove(&job.number).unwrap_or_default();
        }
        Ok(jobs)
    }

    /// Jobs that come before these and aren't done.
    async fn undone_dependencies(
        &self,
        jobs: &[i64],
    ) -> Result<HashMap<i64, Vec<(i64, JobState)>>, StoreError> {
        let db = &self.database;
        let mut after: HashMap<i64, Vec<(i64, JobState)>> = HashMap::new();
        for part in jobs.chunks(LIST) {
            let before = "SELECT d.job, d.dependency, j.state FROM job_dependency d \
                JOIN job j ON j.number = d.dependency WHERE j.state <> 'done' AND d.job IN (";
            for row in db.rows(listed(before, part)).await? {
                let state = db.parsed(&row, "state", "a state of a job")?;
                let of_job = after.entry(db.column(&row, "job")?).or_default();
                of_job.push((db.column(&row, "dependency")?, state));
            }
        }
        Ok(after)
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

    /// Machine time that people used lately, by the hours of its beginning and its end; what is older than [`EXACT_USAGE`], by days.
    async fn machine_use(&self, now: Timestamp) -> Result<Vec<MachineUse>, StoreError> {
        let db = &self.database;
        let query = query(
            "SELECT who, began, heard, SUM(machine_seconds) AS machine_seconds FROM (\
             SELECT who, SUBSTR(began, 1, digits) AS began, SUBSTR(heard, 1, digits) AS heard, machine_seconds FROM (\
             SELECT who, began, heard, seconds * machines AS machine_seconds, CASE WHEN heard > $1 THEN 13 ELSE 10 END AS digits \
             FROM job_run WHERE heard > $2) AS run) AS rounded GROUP BY who, began, heard",
        )
        .bind((now - EXACT_USAGE).to_string())
        .bind((now - USAGE_WINDOW).to_string());
        let rounded = |row: &AnswerRow, name: &str| {
            let text: String = db.column(row, name)?;
            let (rest, length) = match text.len() {
                10 => ("T00:00:00Z", SignedDuration::from_hours(24)),
                _ => (":00:00Z", SignedDuration::from_hours(1)),
            };
            let at: Result<Timestamp, _> = format!("{text}{rest}").parse();
            let at = at.map_err(|_| db.strange("a time", &text))?;
            Ok::<_, StoreError>((at, at + length))
        };
        let used = |row: &AnswerRow| {
            let ((from, _), (_, until)) = (rounded(row, "began")?, rounded(row, "heard")?);
            Ok(MachineUse {
                by: db.column(row, "who")?,
                from,
                until: until.min(now),
                machine_seconds: db.column(row, "machine_seconds")?,
            })
        };
        db.rows(query).await?.iter().map(used).collect()
    }

    /// What jobs of each of these kinds took that came to their end, in seconds, the last first; kinds of which none did aren't there.
    ///
    /// # Errors
    /// The store's own.
    pub async fn past_seconds(
        &self,
        kinds: &BTreeSet<&str>,
    ) -> Result<BTreeMap<String, Vec<f64>>, StoreError> {
        let kinds: Vec<&str> = kinds.iter().copied().collect();
        let mut past: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for part in kinds.chunks(LIST) {
            let mut ended = QueryBuilder::new(
                "SELECT kind, seconds FROM (SELECT j.kind AS kind, SUM(r.seconds) AS seconds, \
                 ROW_NUMBER() OVER (PARTITION BY j.kind ORDER BY j.number DESC) AS place \
                 FROM job j JOIN job_run r ON r.job = j.number WHERE (j.state = 'done' OR (j.state = 'failed' \
                 AND EXISTS (SELECT 1 FROM study s WHERE s.job = j.number AND s.state = 'finished'))) AND j.kind IN (",
            );
            let mut list = ended.separated(", ");
            for kind in part {
                list.push_bind(*kind);
            }
            ended.push(") GROUP BY j.kind, j.number) AS ended WHERE place <= ");
            ended.separated("").push_bind(PAST_JOBS);
            ended.push(" ORDER BY kind, place");
            for row in self.database.rows(ended.build()).await? {
                let of_kind = past.entry(self.database.column(&row, "kind")?).or_default();
                of_kind.push(self.database.column(&row, "seconds")?);
            }
        }
        Ok(past)
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
        let asked = query(
            "INSERT INTO queue_worker (machine, boot, pid, start, lab, testbeds, only_job) VALUES ($1, $2, $3, $4, $5, $6, $7) \
             ON CONFLICT (machine, boot, pid, start) DO UPDATE SET \
             lab = excluded.lab, testbeds = excluded.testbeds, only_job = excluded.only_job",
        )
        .bind(this_machine())
        .bind(&worker.boot)
        .bind(i64::from(worker.pid))
        .bind(saturated(worker.start))
        .bind(scope.lab.as_ref().map(|lab| lab.to_string()))
        .bind(testbeds.transpose()?)
        .bind(scope.job);
        self.database.execute(asked).await?;
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
            let asked = query(
                "DELETE FROM queue_worker WHERE machine = $1 AND boot = $2 AND pid = $3 AND start = $4",
            )
            .bind(this_machine())
            .bind(&worker.boot)
            .bind(i64::from(worker.pid))
            .bind(saturated(worker.start));
            self.database.execute(asked).await?;
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
                        job: db.column(&row, "only_job")?,
                    },
                    job: db.column(&row, "job")?,
                });
            }
        }
        Ok(workers)
    }
}
