//! Trials in the store: recorded whole or not at all, and read back.
//!
//! The same cell twice in one round, and samples of a metric that the cell's benchmark doesn't have, are errors.

use backsight_model::{
    DrawnSettings, Ending, Failure, HostName, MachineLoad, MetricName, MetricSamples, MonitorName,
    MonitorSample, Phase, ResourceUsage, RoleName, Skew, StepRecord, TrialRecord,
};
use jiff::Timestamp;
use std::{
    collections::{HashMap, HashSet},
    ops::RangeInclusive,
    time::{Duration, Instant},
};

use crate::{
    ALL_TRIALS, RawRef, Runner, Store, StoreError, StudyId,
    database::AnswerRow,
    packed::{SampleKey, SampleKind, StoredSamples, checksum, pack},
    query::{PerEngine, QueryBuilder, Transaction, query, query_per_engine},
    study::{chunks, saturated},
};

/// Output that is handed to the thread that compresses it at a time, in bytes.
const BATCH: usize = 16 * 1024 * 1024;

/// A trial waits so long for a server that is away, which is asked so often.
const SERVER_PATIENCE: Duration = Duration::from_secs(120);
const ASK_AGAIN: Duration = Duration::from_millis(200);

/// What a policy needs to know of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObservedTrial {
    /// The cell's number in the plan's order, from 0.
    pub cell: usize,
    /// The round, from 1.
    pub round: u32,
    /// Whether it gave samples.
    pub measured: bool,
    /// How long it took.
    pub took: Duration,
}

/// A trial as lists show it.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialRow {
    /// Its number in the study, from 1.
    pub number: u32,
    /// The number of its boot in the study; 0 where nothing was booted.
    pub boot: u32,
    /// The cell's number in the plan's order, from 0.
    pub cell: usize,
    /// Its round, from 1.
    pub round: u32,
    /// When it began.
    pub began: Timestamp,
    /// How long it took.
    pub took: Duration,
    /// Why it failed, if it did.
    pub failure: Option<Failure>,
    /// The processors' use, by machine.
    pub load: Vec<MachineLoad>,
    /// The share of the processors that others took, of the machine where it was worst, from 0 to 1.
    pub neighbours: f64,
    /// Things that the reader of the result should know.
    pub warnings: Vec<String>,
    /// What was drawn at random for it, by host and setting.
    pub drawn: DrawnSettings,
}

/// An output stream that was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeptOutput {
    /// Where it is: what [`Store::raw`] takes. `None` when nothing was kept.
    pub raw: Option<RawRef>,
    /// How many bytes were kept.
    pub kept: u64,
    /// How many bytes were printed.
    pub printed: u64,
}

/// A step that was begun.
#[derive(Debug, Clone, PartialEq)]
pub struct StepRow {
    /// The role.
    pub role: RoleName,
    /// Its host.
    pub host: HostName,
    /// The phase.
    pub phase: Phase,
    /// Its number within role and phase, from 0.
    pub number: usize,
    /// The command, filled.
    pub command: String,
    /// Whether it was spawned.
    pub spawned: bool,
    /// The monitor that it is, if it is one; not a step of the benchmark then.
    pub monitor: Option<MonitorName>,
    /// When the program began, on the host's wall clock.
    pub began: Timestamp,
    /// When it began on the host's monotonic clock, in nanoseconds.
    pub began_monotonic: u64,
    /// How it ended.
    pub ending: Ending,
    /// What it used.
    pub usage: ResourceUsage,
    /// What it printed.
    pub stdout: KeptOutput,
    /// What it printed on standard error.
    pub stderr: KeptOutput,
}

impl Store {
    /// Records a trial: the raw outputs first, then everything else in one transaction. When it returns, all of it
    /// is on disk; when it fails, none of it is referred to.
    ///
    /// # Errors
    /// The trial's number, or its cell in its round, is recorded already; the study has no such cell or metric; the
    /// disk is full; the store is locked.
    pub async fn record_trial(
        &self,
        study: StudyId,
        number: u32,
        cell: usize,
        round: u32,
        record: &TrialRecord,
    ) -> Result<(), StoreError> {
        let trial = NewTrial {
            study,
            number,
            cell,
            round,
            record,
        };
        let recorded = self.record_patiently(&trial).await;
        if let Err(StoreError::Full { .. }) = &recorded {
            // Outputs that were written before there was no room are in nobody's way, but need the room.
            if let Ok(_alone) = self.raw.alone_at_once().await {
                let _ = self.sweep_alone().await;
            }
        }
        recorded
    }

    /// Records a trial again where the server went away meanwhile: whether it had recorded it is asked of the trial's own row.
    /// Meanwhile it is in a file here, where it is found even if this process ends.
    async fn record_patiently(&self, trial: &NewTrial<'_>) -> Result<(), StoreError> {
        let (begun, mut waiting) = (Instant::now(), None);
        loop {
            let recorded = match self.record(trial).await {
                Err(StoreError::Unreachable { .. }) if begun.elapsed() < SERVER_PATIENCE => {
                    if waiting.is_none() {
                        waiting = Some(self.spool(trial)?);
                    }
                    tokio::time::sleep(ASK_AGAIN).await;
                    continue;
                }
                Err(twice @ StoreError::Twice { .. }) if waiting.is_some() => {
                    match self.is_recorded(trial).await? {
                        true => Ok(()),
                        false => Err(twice),
                    }
                }
                recorded => recorded,
            };
            if let (Some(file), false) = (
                waiting,
                matches!(&recorded, Err(StoreError::Unreachable { .. })),
            ) {
                file.remove();
            }
            return recorded;
        }
    }

    /// Whether the trial of this number is the very same one.
    pub(crate) async fn is_recorded(&self, trial: &NewTrial<'_>) -> Result<bool, StoreError> {
        let same = query(
            "SELECT number FROM trial WHERE study = $1 AND number = $2 AND cell = $3 AND round = $4 AND began = $5",
        )
        .bind(trial.study.0)
        .bind(i64::from(trial.number))
        .bind(trial.cell as i64)
        .bind(i64::from(trial.round))
        .bind(trial.record.began.to_string());
        Ok(!self.database.rows(same).await?.is_empty())
    }

    pub(crate) async fn record(&self, trial: &NewTrial<'_>) -> Result<(), StoreError> {
        let unswept = self.raw.unswept().await?;
        let outputs = self.keep_outputs(&trial.record.steps).await?;
        let suite = match &trial.record.suite {
            Some(run) => Some((run, self.keep_suite_objects(run).await?)),
            None => None,
        };
        let core_files = self.keep_core_files(&trial.record.core_files).await?;
        let mut tx = self.database.begin().await?;
        let (benchmark, mut metrics) = self.metrics_of_cell(&mut tx, trial).await?;
        self.insert_trial(&mut tx, trial).await?;
        if let Ok(samples) = &trial.record.outcome {
            self.insert_new_metrics(&mut tx, trial, &benchmark, &mut metrics)
                .await?;
            let watched = trial.record.watched.iter().map(|watched| {
                MetricSamples::new(watched.metric.clone(), vec![watched.value], Vec::new())
            });
            let samples: Vec<_> = samples.iter().cloned().chain(watched).collect();
            self.insert_samples(&mut tx, trial, &metrics, &samples)
                .await?;
        }
        self.insert_loads(&mut tx, trial).await?;
        self.insert_clocks(&mut tx, trial).await?;
        self.insert_meetings(&mut tx, trial).await?;
        self.insert_steps(&mut tx, trial, &outputs).await?;
        let key = (trial.study.0, i64::from(trial.number));
        if let Some((run, objects)) = &suite {
            self.insert_suite_run(&mut tx, key, run, objects).await?;
        }
        self.insert_core_files(&mut tx, key, &trial.record.core_files, &core_files)
            .await?;
        tx.commit().await.map_err(|e| self.database.fault(e))?;
        drop(unswept);
        Ok(())
    }

    /// Keeps what the steps printed: for each, where its two streams are.
    async fn keep_outputs(&self, steps: &[StepRecord]) -> Result<Vec<Option<RawRef>>, StoreError> {
        let streams: Vec<&[u8]> = steps
            .iter()
            .flat_map(|step| [&step.stdout, &step.stderr])
            .map(|output| output.bytes.as_slice())
            .collect();
        let mut refs = Vec::with_capacity(streams.len());
        let mut batch: Vec<Vec<u8>> = Vec::new();
        let mut bytes = 0;
        let mut kept = Vec::new();
        for stream in streams.iter().filter(|stream| !stream.is_empty()) {
            batch.push(stream.to_vec());
            bytes += stream.len();
            if bytes >= BATCH {
                kept.extend(self.keep_batch(std::mem::take(&mut batch)).await?);
                bytes = 0;
            }
        }
        kept.extend(self.keep_batch(batch).await?);
        let mut kept = kept.into_iter();
        for stream in streams {
            refs.push(if stream.is_empty() { None } else { kept.next() });
        }
        Ok(refs)
    }

    /// Keeps these contents, whatever rule removed them before. Call it where sweeps are held off.
    pub(crate) async fn keep_batch(&self, batch: Vec<Vec<u8>>) -> Result<Vec<RawRef>, StoreError> {
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        self.check_raw_place().await?;
        let kept = self.raw.keep(batch).await?;
        self.unmark(&kept).await?;
        Ok(kept)
    }

    /// The benchmark of a trial's cell, and its metrics in order.
    async fn metrics_of_cell(
        &self,
        tx: &mut Transaction,
        trial: &NewTrial<'_>,
    ) -> Result<(String, Vec<String>), StoreError> {
        let rows = query_per_engine(PerEngine {
            sqlite: "SELECT m.name, c.benchmark FROM cell c LEFT JOIN metric m ON m.study = c.study AND m.benchmark = c.benchmark \
                     WHERE c.study = $1 AND c.number = $2 ORDER BY m.position",
            // Nobody else becomes the study's runner before the trial is recorded.
            postgres: "SELECT m.name, c.benchmark, s.name AS study_name, s.runner_pid, s.runner_boot, s.runner_start, r.host \
                       FROM study s JOIN cell c ON c.study = s.id \
                       LEFT JOIN metric m ON m.study = c.study AND m.benchmark = c.benchmark \
                       LEFT JOIN runner r ON r.boot = s.runner_boot AND r.pid = s.runner_pid AND r.start = s.runner_start \
                       WHERE c.study = $1 AND c.number = $2 ORDER BY m.position FOR SHARE OF s",
        })
        .bind(trial.study.0)
        .bind(trial.cell as i64)
        .fetch_all(&mut **tx)
        .await
        .map_err(|e| self.database.fault(e))?;
        let Some(first) = rows.first() else {
            return Err(trial.stray(format!("it has no cell {}", trial.cell)));
        };
        if self.database.is_shared() {
            self.refuse_superseded(first, trial.number)?;
        }
        let names = rows
            .iter()
            .filter_map(|row| self.database.column(row, "name").transpose());
        Ok((
            self.database.column(first, "benchmark")?,
            names.collect::<Result<_, _>>()?,
        ))
    }

    /// A study that another process runs by now takes no trial of this one.
    fn refuse_superseded(&self, row: &AnswerRow, trial: u32) -> Result<(), StoreError> {
        let db = &self.database;
        let (pid, boot, start) = (
            db.column::<Option<i64>>(row, "runner_pid")?,
            db.column::<Option<String>>(row, "runner_boot")?,
            db.column::<Option<i64>>(row, "runner_start")?,
        );
        let (Some(pid), Some(boot), Some(start)) = (pid, boot, start) else {
            return Ok(());
        };
        let is_this = |this: Runner| {
            (i64::from(this.pid), &this.boot, saturated(this.start)) == (pid, &boot, start)
        };
        match Runner::this_process().is_none_or(is_this) {
            true => Ok(()),
            false => Err(StoreError::Superseded {
                name: db.column(row, "study_name")?,
                trial,
                host: db.column(row, "host")?,
            }),
        }
    }

    /// Adds what monitors measure for the first time to the metrics of the cell's benchmark.
    async fn insert_new_metrics(
        &self,
        tx: &mut Transaction,
        trial: &NewTrial<'_>,
        benchmark: &str,
        metrics: &mut Vec<String>,
    ) -> Result<(), StoreError> {
        let watched = trial.record.watched.iter();
        let new: Vec<&MonitorSample> = watched
            .filter(|watched| !metrics.iter().any(|known| known == watched.metric.as_str()))
            .collect();
        for (chunk, from) in chunks(&new) {
            let first = metrics.len() as i64 + from;
            let mut insert = QueryBuilder::new(
                "INSERT INTO metric (study, benchmark, position, name, unit, better, about, monitor) ",
            );
            insert.push_values(chunk.iter().zip(first..), |mut row, (watched, position)| {
                row.push_bind(trial.study.0)
                    .push_bind(benchmark)
                    .push_bind(position)
                    .push_bind(watched.metric.as_str())
                    .push_bind(watched.unit.to_string())
                    .push_bind(watched.better.as_str())
                    .push_bind(&watched.about)
                    .push_bind(watched.monitor.as_str());
            });
            self.execute(tx, insert).await?;
        }
        metrics.extend(new.iter().map(|watched| watched.metric.to_string()));
        Ok(())
    }

    async fn insert_trial(
        &self,
        tx: &mut Transaction,
        trial: &NewTrial<'_>,
    ) -> Result<(), StoreError> {
        let record = trial.record;
        let failure = match &record.outcome {
            Ok(_) => None,
            Err(failure) => Some(self.to_json(failure)?),
        };
        let drawn = match record.drawn.is_empty() {
            true => None,
            false => Some(self.to_json(&record.drawn)?),
        };
        let neighbours = record
            .load
            .iter()
            .map(MachineLoad::neighbours)
            .filter(|share| share.is_finite())
            .fold(0.0, f64::max);
        let host = match &record.host {
            Some(host) => self.host_number(tx, trial.study, host).await?,
            None => 0,
        };
        query(
            "INSERT INTO trial (study, number, boot, cell, round, began, took, failure, neighbours, warnings, drawn, host) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        )
        .bind(trial.study.0)
        .bind(i64::from(trial.number))
        .bind(i64::from(record.boot))
        .bind(trial.cell as i64)
        .bind(i64::from(trial.round))
        .bind(record.began.to_string())
        .bind(i64::try_from(record.took.as_nanos()).unwrap_or(i64::MAX))
        .bind(failure)
        .bind(neighbours)
        .bind(self.to_json(&record.warnings)?)
        .bind(drawn)
        .bind(host)
        .execute(&mut **tx)
        .await
        .map_err(|e| match e.as_database_error() {
            Some(database) if database.is_unique_violation() => trial.twice(),
            _ => self.database.fault(e),
        })?;
        Ok(())
    }

    /// The number of a host among those of its study in the order of their facts, from 1; 0 if it has none.
    async fn host_number(
        &self,
        tx: &mut Transaction,
        study: StudyId,
        host: &HostName,
    ) -> Result<i64, StoreError> {
        let rows =
            query("SELECT host FROM facts WHERE study = $1 GROUP BY host ORDER BY MIN(position)")
                .bind(study.0)
                .fetch_all(&mut **tx)
                .await
                .map_err(|e| self.database.fault(e))?;
        for (row, number) in rows.iter().zip(1_i64..) {
            if self.database.column::<&str>(row, "host")? == host.as_str() {
                return Ok(number);
            }
        }
        Ok(0)
    }

    async fn insert_samples(
        &self,
        tx: &mut Transaction,
        trial: &NewTrial<'_>,
        metrics: &[String],
        samples: &[MetricSamples],
    ) -> Result<(), StoreError> {
        let mut seen = HashSet::new();
        let (study, number) = (trial.study.0, i64::from(trial.number));
        let mut rows = Vec::with_capacity(samples.len());
        let mut of_instances = Vec::new();
        for samples in samples {
            let name = samples.metric.as_str();
            let position = metrics.iter().position(|metric| metric == name);
            let Some(position) = position else {
                return Err(trial.stray(format!("its cell {} has no metric `{name}`", trial.cell)));
            };
            if !seen.insert(position) {
                return Err(trial.stray(format!("samples of `{name}` stand in one trial twice")));
            }
            let metric = position as i64;
            if !(samples.values.is_empty() && samples.each.is_empty()) {
                let (measured, within) = (&samples.values, &samples.each);
                rows.push(SampleRow::new(study, number, metric, measured, within));
            }
            of_instances.extend(samples.instances.iter().zip(0_i64..).map(|(it, place)| {
                let row = SampleRow::new(study, number, metric, &it.values, &it.each);
                (row, place, &it.host)
            }));
        }
        self.insert_sample_rows(tx, &rows).await?;
        self.insert_instance_rows(tx, &of_instances).await
    }

    /// Keeps what each of several hosts measured, in their order.
    async fn insert_instance_rows(
        &self,
        tx: &mut Transaction,
        rows: &[(SampleRow, i64, &HostName)],
    ) -> Result<(), StoreError> {
        for (chunk, _) in chunks(rows) {
            let mut insert = QueryBuilder::new(
                "INSERT INTO instance_sample (study, trial, metric, position, host, measured, within, measured_checksum, within_checksum) ",
            );
            insert.push_values(chunk, |mut row, (sample, position, host)| {
                row.push_bind(sample.key.study)
                    .push_bind(sample.key.trial)
                    .push_bind(sample.key.metric)
                    .push_bind(*position)
                    .push_bind(host.as_str())
                    .push_bind(sample.measured.as_slice())
                    .push_bind(sample.within.as_slice())
                    .push_bind(checksum(sample.key, SampleKind::Measured, &sample.measured))
                    .push_bind(checksum(sample.key, SampleKind::Within, &sample.within));
            });
            self.execute(tx, insert).await?;
        }
        Ok(())
    }

    pub(crate) async fn insert_sample_rows(
        &self,
        tx: &mut Transaction,
        rows: &[SampleRow],
    ) -> Result<(), StoreError> {
        for (chunk, _) in chunks(rows) {
            let mut insert = QueryBuilder::new(
                "INSERT INTO sample (study, trial, metric, measured, within, measured_checksum, within_checksum) ",
            );
            insert.push_values(chunk, |mut row, sample| {
                row.push_bind(sample.key.study)
                    .push_bind(sample.key.trial)
                    .push_bind(sample.key.metric)
                    .push_bind(sample.measured.as_slice())
                    .push_bind(sample.within.as_slice())
                    .push_bind(checksum(sample.key, SampleKind::Measured, &sample.measured))
                    .push_bind(checksum(sample.key, SampleKind::Within, &sample.within));
            });
            self.execute(tx, insert).await?;
        }
        Ok(())
    }

    async fn insert_loads(
        &self,
        tx: &mut Transaction,
        trial: &NewTrial<'_>,
    ) -> Result<(), StoreError> {
        for (chunk, from) in chunks(&trial.record.load) {
            let rows = chunk
                .iter()
                .zip(from..)
                .map(|(load, machine)| {
                    let (hosts, busiest) = (&load.hosts, &load.busiest);
                    Ok((load, machine, self.to_json(hosts)?, self.to_json(busiest)?))
                })
                .collect::<Result<Vec<_>, StoreError>>()?;
            let mut insert = QueryBuilder::new(
                "INSERT INTO machine_load (study, trial, machine, hosts, available, ours, others, interrupts, stolen, busiest) ",
            );
            insert.push_values(rows, |mut row, (load, machine, hosts, busiest)| {
                row.push_bind(trial.study.0)
                    .push_bind(i64::from(trial.number))
                    .push_bind(machine)
                    .push_bind(hosts)
                    .push_bind(finite(load.available))
                    .push_bind(finite(load.ours))
                    .push_bind(finite(load.others))
                    .push_bind(finite(load.interrupts))
                    .push_bind(finite(load.stolen))
                    .push_bind(busiest);
            });
            self.execute(tx, insert).await?;
        }
        Ok(())
    }

    async fn insert_clocks(
        &self,
        tx: &mut Transaction,
        trial: &NewTrial<'_>,
    ) -> Result<(), StoreError> {
        for (chunk, _) in chunks(&trial.record.clocks) {
            let mut insert = QueryBuilder::new(
                "INSERT INTO host_clock (study, trial, host, ahead, uncertainty) ",
            );
            insert.push_values(chunk, |mut row, clock| {
                row.push_bind(trial.study.0)
                    .push_bind(i64::from(trial.number))
                    .push_bind(clock.host.as_str())
                    .push_bind(clock.ahead_ns)
                    .push_bind(saturated(clock.uncertainty_ns));
            });
            self.execute(tx, insert).await?;
        }
        Ok(())
    }

    async fn insert_meetings(
        &self,
        tx: &mut Transaction,
        trial: &NewTrial<'_>,
    ) -> Result<(), StoreError> {
        for (chunk, from) in chunks(&trial.record.meetings) {
            let mut insert = QueryBuilder::new(
                "INSERT INTO meeting (study, trial, position, kind, role, name, parties, times, median, p99, largest) ",
            );
            insert.push_values(chunk.iter().zip(from..), |mut row, (meeting, position)| {
                let skew = |of: fn(Skew) -> u64| meeting.skew.map(of).map(saturated);
                row.push_bind(trial.study.0)
                    .push_bind(i64::from(trial.number))
                    .push_bind(position)
                    .push_bind(meeting.kind.as_str())
                    .push_bind(meeting.role.as_ref().map(RoleName::as_str))
                    .push_bind(&meeting.name)
                    .push_bind(i64::from(meeting.parties))
                    .push_bind(saturated(meeting.times))
                    .push_bind(skew(|skew| skew.median_ns))
                    .push_bind(skew(|skew| skew.p99_ns))
                    .push_bind(skew(|skew| skew.largest_ns));
            });
            self.execute(tx, insert).await?;
        }
        Ok(())
    }

    async fn insert_steps(
        &self,
        tx: &mut Transaction,
        trial: &NewTrial<'_>,
        outputs: &[Option<RawRef>],
    ) -> Result<(), StoreError> {
        let mut outputs = outputs.iter().copied();
        for (chunk, from) in chunks(&trial.record.steps) {
            let rows = chunk
                .iter()
                .zip(from..)
                .map(|(step, position)| {
                    let stdout = outputs.next().flatten();
                    let stderr = outputs.next().flatten();
                    Ok((step, position, self.to_json(&step.ending)?, stdout, stderr))
                })
                .collect::<Result<Vec<_>, StoreError>>()?;
            let mut insert = QueryBuilder::new(
                "INSERT INTO step (study, trial, position, role, host, phase, number, command, spawned, began, \
                 began_monotonic, ending, wall, cpu_user, cpu_sys, maxrss, voluntary, involuntary, \
                 stdout, stdout_kept, stdout_printed, stderr, stderr_kept, stderr_printed, monitor) ",
            );
            insert.push_values(rows, |mut row, (step, position, ending, stdout, stderr)| {
                row.push_bind(trial.study.0)
                    .push_bind(i64::from(trial.number))
                    .push_bind(position)
                    .push_bind(step.role.as_str())
                    .push_bind(step.host.as_str())
                    .push_bind(step.phase.to_string())
                    .push_bind(step.number as i64)
                    .push_bind(&step.command)
                    .push_bind(step.spawned)
                    .push_bind(step.began.to_string())
                    .push_bind(saturated(step.began_monotonic))
                    .push_bind(ending)
                    .push_bind(finite(step.usage.wall))
                    .push_bind(finite(step.usage.user))
                    .push_bind(finite(step.usage.sys))
                    .push_bind(saturated(step.usage.maxrss))
                    .push_bind(saturated(step.usage.voluntary_switches))
                    .push_bind(saturated(step.usage.involuntary_switches));
                for (raw, output) in [(stdout, &step.stdout), (stderr, &step.stderr)] {
                    row.push_bind(raw.map(|raw| raw.to_string()))
                        .push_bind(output.bytes.len() as i64)
                        .push_bind(saturated(output.printed));
                }
                row.push_bind(step.monitor.as_ref().map(MonitorName::as_str));
            });
            self.execute(tx, insert).await?;
        }
        Ok(())
    }

    /// What a policy needs to know of every trial, in order.
    ///
    /// # Errors
    /// The store's own.
    pub async fn evidence(&self, study: StudyId) -> Result<Vec<ObservedTrial>, StoreError> {
        let query =
            query("SELECT cell, round, failure, took FROM trial WHERE study = $1 ORDER BY number")
                .bind(study.0);
        let rows = self.database.rows(query).await?;
        rows.iter()
            .map(|row| {
                Ok(ObservedTrial {
                    cell: self.database.whole(row, "cell")?,
                    round: self.database.whole(row, "round")?,
                    measured: self
                        .database
                        .column::<Option<&str>>(row, "failure")?
                        .is_none(),
                    took: Duration::from_nanos(self.database.whole(row, "took")?),
                })
            })
            .collect()
    }

    /// Every trial of a study, in order.
    ///
    /// # Errors
    /// The store's own.
    pub async fn trials(&self, study: StudyId) -> Result<Vec<TrialRow>, StoreError> {
        let mut trials = Vec::new();
        self.each_trial(study, ALL_TRIALS, |trial| trials.push(trial))
            .await?;
        Ok(trials)
    }

    /// The same of those with these numbers, one by one, for studies of very many.
    ///
    /// # Errors
    /// As [`Store::trials`].
    pub async fn each_trial(
        &self,
        study: StudyId,
        numbers: RangeInclusive<u32>,
        mut each: impl FnMut(TrialRow),
    ) -> Result<(), StoreError> {
        // Both are in the order of trials' numbers.
        let mut loads = self.loads(study, &numbers).await?.into_iter().peekable();
        let query = query(
            "SELECT number, cell, round, began, took, failure, neighbours, warnings, drawn, boot \
             FROM trial WHERE study = $1 AND number BETWEEN $2 AND $3 ORDER BY number",
        )
        .bind(study.0)
        .bind(i64::from(*numbers.start()))
        .bind(i64::from(*numbers.end()));
        let rows = self.database.each_row(query, |row| {
            let mut trial = self.trial_row(row)?;
            while let Some((_, load)) = loads.next_if(|(number, _)| *number <= trial.number) {
                trial.load.push(load);
            }
            each(trial);
            Ok(())
        });
        rows.await
    }

    /// How many trials of a study gave samples, and what was said of these while they were measured, in their order.
    ///
    /// # Errors
    /// The store's own, or what no release of ours wrote.
    pub async fn trial_warnings(
        &self,
        study: StudyId,
    ) -> Result<(usize, Vec<Vec<String>>), StoreError> {
        let db = &self.database;
        let measured =
            query("SELECT COUNT(*) AS measured FROM trial WHERE study = $1 AND failure IS NULL");
        let measured = db.rows(measured.bind(study.0)).await?;
        let measured = measured
            .first()
            .map_or(Ok(0), |row| db.whole(row, "measured"))?;
        let said = query(
            "SELECT warnings FROM trial WHERE study = $1 AND failure IS NULL AND warnings <> '[]' ORDER BY number",
        );
        let said = db.rows(said.bind(study.0)).await?;
        let said = said
            .iter()
            .map(|row| db.json(row, "warnings", "a list of warnings"));
        Ok((measured, said.collect::<Result<_, _>>()?))
    }

    fn trial_row(&self, row: &AnswerRow) -> Result<TrialRow, StoreError> {
        let db = &self.database;
        Ok(TrialRow {
            number: db.whole(row, "number")?,
            boot: db.whole(row, "boot")?,
            cell: db.whole(row, "cell")?,
            round: db.whole(row, "round")?,
            began: db.parsed(row, "began", "a time")?,
            took: Duration::from_nanos(db.whole(row, "took")?),
            failure: db.json_if_any(row, "failure", "a failure")?,
            load: Vec::new(),
            neighbours: db.column(row, "neighbours")?,
            warnings: db.json(row, "warnings", "a list of warnings")?,
            drawn: db
                .json_if_any(row, "drawn", "settings that were drawn")?
                .unwrap_or_default(),
        })
    }

    async fn loads(
        &self,
        study: StudyId,
        trials: &RangeInclusive<u32>,
    ) -> Result<Vec<(u32, MachineLoad)>, StoreError> {
        let db = &self.database;
        let mut loads = Vec::new();
        let query = query(
            "SELECT trial, hosts, available, ours, others, interrupts, stolen, busiest \
             FROM machine_load WHERE study = $1 AND trial BETWEEN $2 AND $3 ORDER BY trial, machine",
        )
        .bind(study.0)
        .bind(i64::from(*trials.start()))
        .bind(i64::from(*trials.end()));
        db.each_row(query, |row| {
            let load = MachineLoad {
                hosts: db.json(row, "hosts", "names of hosts")?,
                available: self.float(row, "available")?,
                ours: self.float(row, "ours")?,
                others: self.float(row, "others")?,
                interrupts: self.float(row, "interrupts")?,
                stolen: self.float(row, "stolen")?,
                busiest: db
                    .json_if_any(row, "busiest", "names of programs")?
                    .unwrap_or_default(),
            };
            loads.push((db.whole(row, "trial")?, load));
            Ok(())
        })
        .await?;
        Ok(loads)
    }

    /// A number that was not finite when it was recorded comes back as one that isn't.
    fn float(&self, row: &AnswerRow, name: &str) -> Result<f64, StoreError> {
        let number: Option<f64> = self.database.column(row, name)?;
        Ok(number.unwrap_or(f64::NAN))
    }

    /// The samples of one trial; none if it failed.
    ///
    /// # Errors
    /// There is no such trial.
    pub async fn samples(
        &self,
        study: StudyId,
        trial: u32,
    ) -> Result<Vec<MetricSamples>, StoreError> {
        let name = self.study_of(study).await?.name;
        self.refuse_unknown_trial(study, trial).await?;
        let query = query(
            "SELECT m.name, s.metric, s.measured, s.measured_checksum, s.within, s.within_checksum FROM sample s \
             JOIN trial t ON t.study = s.study AND t.number = s.trial \
             JOIN cell c ON c.study = t.study AND c.number = t.cell \
             JOIN metric m ON m.study = s.study AND m.benchmark = c.benchmark AND m.position = s.metric \
             WHERE s.study = $1 AND s.trial = $2 ORDER BY s.metric",
        )
        .bind(study.0)
        .bind(i64::from(trial));
        let rows = self.database.rows(query).await?;
        let samples: Result<_, StoreError> = rows
            .iter()
            .map(|row| {
                let metric: MetricName = self.database.parsed(row, "name", "a metric's name")?;
                let key = SampleKey {
                    study: study.0,
                    trial: i64::from(trial),
                    metric: self.database.column(row, "metric")?,
                };
                Ok(MetricSamples::new(
                    metric,
                    self.sound_samples(row, key, SampleKind::Measured)?,
                    self.sound_samples(row, key, SampleKind::Within)?,
                ))
            })
            .collect();
        let samples: Result<Vec<MetricSamples>, StoreError> = match samples {
            Err(fault) => Err(fault),
            Ok(samples) => self.with_instances(study, trial, samples).await,
        };
        samples.map_err(|error| error.of_study(&name))
    }

    /// The samples of a trial with those of the hosts that made them together.
    async fn with_instances(
        &self,
        study: StudyId,
        trial: u32,
        mut samples: Vec<MetricSamples>,
    ) -> Result<Vec<MetricSamples>, StoreError> {
        let mut instances = self.instance_samples(study, trial..=trial).await?;
        for samples in &mut samples {
            let of_metric = instances.shift_remove(&(trial, samples.metric.clone()));
            samples.instances = of_metric.unwrap_or_default();
        }
        Ok(samples)
    }

    /// Packed samples of a row, which must have their checksum, if there is one.
    pub(crate) fn sound_samples(
        &self,
        row: &AnswerRow,
        key: SampleKey,
        which: SampleKind,
    ) -> Result<Vec<f64>, StoreError> {
        self.sound(self.stored_samples(row, key, which)?, key)
    }

    /// Samples that are what was recorded, or were recorded before there were checksums.
    pub(crate) fn sound(
        &self,
        stored: StoredSamples,
        key: SampleKey,
    ) -> Result<Vec<f64>, StoreError> {
        match stored {
            StoredSamples::Sound(samples) | StoredSamples::Unchecked(samples) => Ok(samples),
            StoredSamples::Damaged => Err(StoreError::SamplesDamaged {
                study: key.study.to_string(),
                trial: key.trial,
                path: self.database.path().to_owned(),
            }),
        }
    }

    /// Packed samples of a row, as they are, by their checksum.
    pub(crate) fn stored_samples(
        &self,
        row: &AnswerRow,
        key: SampleKey,
        which: SampleKind,
    ) -> Result<StoredSamples, StoreError> {
        let (samples, checksum) = match which {
            SampleKind::Measured => ("measured", "measured_checksum"),
            SampleKind::Within => ("within", "within_checksum"),
        };
        let bytes: &[u8] = self.database.column(row, samples)?;
        let kept: Option<i64> = self.database.column(row, checksum)?;
        Ok(StoredSamples::read(bytes, kept, key, which))
    }

    /// The monitors that ran in the trials of a study, in the order of the alphabet.
    ///
    /// # Errors
    /// The store's own.
    pub async fn monitors(&self, study: StudyId) -> Result<Vec<MonitorName>, StoreError> {
        let query = query(
            "SELECT DISTINCT monitor FROM step WHERE study = $1 AND monitor IS NOT NULL ORDER BY monitor",
        )
        .bind(study.0);
        let rows = self.database.rows(query).await?;
        rows.iter()
            .map(|row| self.database.parsed(row, "monitor", "a monitor's name"))
            .collect()
    }

    /// How long `run` was in each trial of a study, in seconds, by the trial's number: the steps that are waited for on the host where
    /// they took longest; where there are none, the longest program that went on beside.
    ///
    /// # Errors
    /// The store's own.
    pub async fn run_seconds(&self, study: StudyId) -> Result<HashMap<u32, f64>, StoreError> {
        let query = query(
            "SELECT trial, spawned, SUM(wall) AS together, MAX(wall) AS longest FROM step \
             WHERE study = $1 AND phase = 'run' AND monitor IS NULL \
             GROUP BY trial, role, host, spawned",
        )
        .bind(study.0);
        let mut waited: HashMap<u32, f64> = HashMap::new();
        let mut beside: HashMap<u32, f64> = HashMap::new();
        for row in &self.database.rows(query).await? {
            let spawned: bool = self.database.column(row, "spawned")?;
            let (of, seconds) = match spawned {
                false => (&mut waited, self.float(row, "together")?),
                true => (&mut beside, self.float(row, "longest")?),
            };
            let longest = of.entry(self.database.whole(row, "trial")?).or_default();
            *longest = longest.max(seconds);
        }
        for (trial, seconds) in beside {
            waited.entry(trial).or_insert(seconds);
        }
        Ok(waited)
    }

    /// The steps of one trial, in the order in which they were recorded.
    ///
    /// # Errors
    /// There is no such trial.
    pub async fn steps(&self, study: StudyId, trial: u32) -> Result<Vec<StepRow>, StoreError> {
        self.refuse_unknown_trial(study, trial).await?;
        let mut steps = self.steps_of_trials(study, trial..=trial).await?;
        Ok(steps.remove(&trial).unwrap_or_default())
    }

    /// The steps of the trials with these numbers, by trial, each in the order in which they were recorded.
    ///
    /// # Errors
    /// The store's own.
    pub async fn steps_of_trials(
        &self,
        study: StudyId,
        trials: RangeInclusive<u32>,
    ) -> Result<HashMap<u32, Vec<StepRow>>, StoreError> {
        let query = query(
            "SELECT trial, role, host, phase, number, command, spawned, began, began_monotonic, ending, \
             wall, cpu_user, cpu_sys, maxrss, voluntary, involuntary, \
             stdout, stdout_kept, stdout_printed, stderr, stderr_kept, stderr_printed, monitor \
             FROM step WHERE study = $1 AND trial BETWEEN $2 AND $3 ORDER BY trial, position",
        )
        .bind(study.0)
        .bind(i64::from(*trials.start()))
        .bind(i64::from(*trials.end()));
        let mut steps: HashMap<u32, Vec<StepRow>> = HashMap::new();
        for row in &self.database.rows(query).await? {
            let of_trial = steps.entry(self.database.whole(row, "trial")?).or_default();
            of_trial.push(self.step_row(row)?);
        }
        Ok(steps)
    }

    fn step_row(&self, row: &AnswerRow) -> Result<StepRow, StoreError> {
        let db = &self.database;
        let phase: &str = db.column(row, "phase")?;
        Ok(StepRow {
            role: db.parsed(row, "role", "a role's name")?,
            host: db.parsed(row, "host", "a host's name")?,
            phase: Phase::ALL
                .into_iter()
                .find(|known| known.to_string() == phase)
                .ok_or_else(|| db.strange("a phase", phase))?,
            number: db.whole(row, "number")?,
            command: db.column(row, "command")?,
            spawned: db.column(row, "spawned")?,
            monitor: match db.column::<Option<&str>>(row, "monitor")? {
                Some(_) => Some(db.parsed(row, "monitor", "a monitor's name")?),
                None => None,
            },
            began: db.parsed(row, "began", "a time")?,
            began_monotonic: db.whole(row, "began_monotonic")?,
            ending: db.json(row, "ending", "a step's ending")?,
            usage: ResourceUsage {
                wall: self.float(row, "wall")?,
                user: self.float(row, "cpu_user")?,
                sys: self.float(row, "cpu_sys")?,
                maxrss: db.whole(row, "maxrss")?,
                voluntary_switches: db.whole(row, "voluntary")?,
                involuntary_switches: db.whole(row, "involuntary")?,
            },
            stdout: self.kept(row, ["stdout", "stdout_kept", "stdout_printed"])?,
            stderr: self.kept(row, ["stderr", "stderr_kept", "stderr_printed"])?,
        })
    }

    fn kept(&self, row: &AnswerRow, columns: [&str; 3]) -> Result<KeptOutput, StoreError> {
        let db = &self.database;
        let [raw, kept, printed] = columns;
        Ok(KeptOutput {
            raw: db.parsed_if_any(row, raw, "a raw output's address")?,
            kept: db.whole(row, kept)?,
            printed: db.whole(row, printed)?,
        })
    }

    async fn refuse_unknown_trial(&self, study: StudyId, trial: u32) -> Result<(), StoreError> {
        let known = query("SELECT number FROM trial WHERE study = $1 AND number = $2")
            .bind(study.0)
            .bind(i64::from(trial))
            .fetch_optional(self.database.pool())
            .await
            .map_err(|e| self.database.fault(e))?;
        match known {
            Some(_) => Ok(()),
            None => Err(StoreError::NoSuchTrial {
                study: study.0,
                trial,
            }),
        }
    }
}

/// The samples of one metric in one trial, about to be written.
pub(crate) struct SampleRow {
    key: SampleKey,
    measured: Vec<u8>,
    within: Vec<u8>,
}

impl SampleRow {
    pub(crate) fn new(
        study: i64,
        trial: i64,
        metric: i64,
        measured: &[f64],
        within: &[f64],
    ) -> Self {
        Self {
            key: SampleKey {
                study,
                trial,
                metric,
            },
            measured: pack(measured),
            within: pack(within),
        }
    }
}

/// A trial that is about to be recorded.
pub(crate) struct NewTrial<'a> {
    pub(crate) study: StudyId,
    pub(crate) number: u32,
    pub(crate) cell: usize,
    pub(crate) round: u32,
    pub(crate) record: &'a TrialRecord,
}

impl NewTrial<'_> {
    fn stray(&self, what: String) -> StoreError {
        StoreError::Stray {
            study: self.study.0,
            what,
        }
    }

    fn twice(&self) -> StoreError {
        StoreError::Twice {
            study: self.study.0,
            trial: self.number,
            cell: self.cell,
            round: self.round,
        }
    }
}

/// `None` for what SQLite can't hold and PostgreSQL would sort oddly.
fn finite(number: f64) -> Option<f64> {
    number.is_finite().then_some(number)
}
