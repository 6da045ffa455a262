//! Studies that others made, recorded at once: all of it in one transaction, or nothing.
//!
//! A taken name, a cell or a metric that the study doesn't have, and the same cell twice in one round are errors.

use backsight_model::{Failure, HostName, MetricSamples, Phase, RoleName, StudyState, SuiteRun};
use indexmap::IndexMap;
use jiff::Timestamp;

use crate::{
    NewStudy, RawRef, Store, StoreError, StudyId,
    query::{QueryBuilder, Transaction, query, query_scalar},
    raw::FilePart,
    study::{chunks, saturated},
    trial::SampleRow,
};

/// Files on disk that are kept at once.
const PARTS_AT_ONCE: usize = 256;

/// A file that trials were read from: kept as what they printed.
#[derive(Debug, Clone)]
pub struct FinishedFile {
    /// How it was read, for who looks at the trial.
    pub command: String,
    /// What was in it.
    pub content: FileContent,
}

/// What was in a file.
#[derive(Debug, Clone)]
pub enum FileContent {
    /// In memory.
    Bytes(Vec<u8>),
    /// On disk, since it may be long.
    OnDisk(FilePart),
}

impl From<Vec<u8>> for FileContent {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes)
    }
}

impl FinishedFile {
    fn length(&self) -> u64 {
        match &self.content {
            FileContent::Bytes(bytes) => bytes.len() as u64,
            FileContent::OnDisk(part) => part.length,
        }
    }
}

/// A trial that somebody made elsewhere.
#[derive(Debug, Clone, PartialEq)]
pub struct FinishedTrial {
    /// Its cell's number in the study's order, from 0.
    pub cell: usize,
    /// Its round, from 1.
    pub round: u32,
    /// The session that it was measured in, from 1.
    pub session: u32,
    /// The host that it was measured on, by its number among those of the study from 1; 0 where nobody says it.
    pub host: u32,
    /// Its samples, or why there are none.
    pub outcome: Result<Vec<MetricSamples>, Failure>,
    /// The results of its tests, where it ran a suite.
    pub suite: Option<SuiteRun>,
    /// The files that it was read from, by number from 0.
    pub files: Vec<usize>,
}

/// A study that was finished before it came here.
#[derive(Debug, Clone)]
pub struct FinishedStudy {
    /// What it is of.
    pub new: NewStudy,
    /// When it came here.
    pub at: Timestamp,
    /// The hosts that it was measured on, as far as its files tell, and what each was. There is at least one.
    pub hosts: IndexMap<HostName, IndexMap<String, String>>,
    /// The role that its files stand under.
    pub role: RoleName,
    /// What it was read from.
    pub files: Vec<FinishedFile>,
    /// Its trials, numbered from 1 in this order.
    pub trials: Vec<FinishedTrial>,
    /// What the reader of its first trial, and so of the study, should know.
    pub warnings: Vec<String>,
}

impl Store {
    /// Records a study that was made elsewhere: the files first, then everything else in one transaction. When it fails,
    /// nothing of it is there.
    ///
    /// # Errors
    /// The name is taken; something in it doesn't fit together; the disk is full; the store is locked.
    pub async fn add_finished_study(&self, study: &FinishedStudy) -> Result<StudyId, StoreError> {
        let added = self.add_finished(study).await;
        if added.is_err()
            && let Ok(_alone) = self.raw.alone_at_once().await
        {
            // Files that nothing refers to are in nobody's way, but they take room.
            let _ = self.sweep_alone().await;
        }
        added
    }

    async fn add_finished(&self, study: &FinishedStudy) -> Result<StudyId, StoreError> {
        let unswept = self.raw.unswept().await?;
        let kept = self.keep_files(&study.files).await?;
        let mut suites = Vec::new();
        for (trial, number) in study.trials.iter().zip(1..) {
            if let Some(run) = &trial.suite {
                suites.push((number, run, self.keep_suite_objects(run).await?));
            }
        }
        let mut tx = self.database.begin_alone("study").await?;
        self.refuse_taken_name(&mut tx, &study.new.name).await?;
        let id: i64 = query_scalar("SELECT COALESCE(MAX(id), 0) + 1 FROM study")
            .fetch_one(&mut *tx)
            .await
            .map_err(|e| self.database.fault(e))?;
        self.insert_finished(&mut tx, id, study).await?;
        self.insert_documents(&mut tx, id, &study.new.documents)
            .await?;
        self.insert_metrics(&mut tx, id, &study.new.metrics).await?;
        self.insert_cells(&mut tx, id, &study.new).await?;
        self.insert_finished_trials(&mut tx, id, study).await?;
        self.insert_finished_samples(&mut tx, id, study).await?;
        self.insert_finished_files(&mut tx, id, study, &kept)
            .await?;
        for (number, run, objects) in &suites {
            self.insert_suite_run(&mut tx, (id, *number), run, objects)
                .await?;
        }
        tx.commit().await.map_err(|e| self.database.fault(e))?;
        drop(unswept);
        Ok(StudyId(id))
    }

    /// Keeps the contents of files: for each, where it is.
    async fn keep_files(&self, files: &[FinishedFile]) -> Result<Vec<RawRef>, StoreError> {
        let (mut in_memory, mut on_disk) = (Vec::new(), Vec::new());
        for file in files {
            match &file.content {
                FileContent::Bytes(bytes) => in_memory.push(bytes.clone()),
                FileContent::OnDisk(part) => on_disk.push(part.clone()),
            }
        }
        let mut in_memory = self.keep_batch(in_memory).await?.into_iter();
        let mut kept = Vec::with_capacity(on_disk.len());
        // Each new object is an open file.
        for parts in on_disk.chunks(PARTS_AT_ONCE) {
            self.check_raw_place().await?;
            kept.extend(self.raw.keep_parts(parts.to_vec()).await?);
        }
        let mut on_disk = kept.into_iter();
        let in_order = files.iter().filter_map(|file| match file.content {
            FileContent::Bytes(_) => in_memory.next(),
            FileContent::OnDisk(_) => on_disk.next(),
        });
        Ok(in_order.collect())
    }

    async fn insert_finished(
        &self,
        tx: &mut Transaction,
        id: i64,
        study: &FinishedStudy,
    ) -> Result<(), StoreError> {
        let at = study.at.to_string();
        query(
            "INSERT INTO study (id, name, verb, arguments, seed, began, ended, state) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        )
        .bind(id)
        .bind(study.new.name.as_str())
        .bind(&study.new.verb)
        .bind(&study.new.arguments)
        .bind(i64::from(study.new.seed))
        .bind(&at)
        .bind(&at)
        .bind(StudyState::Finished.to_string())
        .execute(&mut **tx)
        .await
        .map_err(|e| self.database.fault(e))?;
        // Trials name a host by its place.
        let known = study.hosts.len() > 1 || study.hosts.values().any(|facts| !facts.is_empty());
        for ((host, facts), position) in study.hosts.iter().filter(|_| known).zip(1_i64..) {
            query("INSERT INTO facts (study, position, host, facts) VALUES ($1, $2, $3, $4)")
                .bind(id)
                .bind(position)
                .bind(host.as_str())
                .bind(self.to_json(facts)?)
                .execute(&mut **tx)
                .await
                .map_err(|e| self.database.fault(e))?;
        }
        Ok(())
    }

    async fn insert_finished_trials(
        &self,
        tx: &mut Transaction,
        id: i64,
        study: &FinishedStudy,
    ) -> Result<(), StoreError> {
        let none = Vec::new();
        for (chunk, from) in chunks(&study.trials) {
            let rows = chunk
                .iter()
                .zip(from..)
                .map(|(trial, index)| {
                    if trial.host as usize > study.hosts.len() {
                        return Err(stray(id, format!("it has no host {}", trial.host)));
                    }
                    if trial.cell >= study.new.cells.len() {
                        return Err(stray(id, format!("it has no cell {}", trial.cell)));
                    }
                    let failure = trial.outcome.as_ref().err();
                    let failure = failure.map(|failure| self.to_json(failure)).transpose()?;
                    let warnings = if index == 0 { &study.warnings } else { &none };
                    Ok((trial, index + 1, failure, self.to_json(warnings)?))
                })
                .collect::<Result<Vec<_>, StoreError>>()?;
            let mut insert = QueryBuilder::new(
                "INSERT INTO trial (study, number, boot, cell, round, session, host, began, took, failure, neighbours, warnings) ",
            );
            insert.push_values(rows, |mut row, (trial, number, failure, warnings)| {
                row.push_bind(id)
                    .push_bind(number)
                    .push_bind(0_i64)
                    .push_bind(trial.cell as i64)
                    .push_bind(i64::from(trial.round))
                    .push_bind(i64::from(trial.session))
                    .push_bind(i64::from(trial.host))
                    .push_bind(study.at.to_string())
                    .push_bind(0_i64)
                    .push_bind(failure)
                    .push_bind(0.0_f64)
                    .push_bind(warnings);
            });
            let query = insert.build();
            query.execute(&mut **tx).await.map_err(|e| {
                let twice = e
                    .as_database_error()
                    .is_some_and(|database| database.is_unique_violation());
                if twice {
                    stray(id, "a cell stands in one round twice".to_owned())
                } else {
                    self.database.fault(e)
                }
            })?;
        }
        Ok(())
    }

    async fn insert_finished_samples(
        &self,
        tx: &mut Transaction,
        id: i64,
        study: &FinishedStudy,
    ) -> Result<(), StoreError> {
        let mut rows = Vec::new();
        for (trial, number) in study.trials.iter().zip(1_i64..) {
            let benchmark = &study.new.cells[trial.cell].benchmark;
            let metrics = study.new.metrics.get(benchmark);
            for samples in trial.outcome.iter().flatten() {
                let position = metrics
                    .and_then(|metrics| metrics.iter().position(|m| m.name == samples.metric));
                let Some(position) = position else {
                    let what = format!("`{benchmark}` has no metric `{}`", samples.metric);
                    return Err(stray(id, what));
                };
                let (position, values, each) = (position as i64, &samples.values, &samples.each);
                rows.push(SampleRow::new(id, number, position, values, each));
            }
        }
        self.insert_sample_rows(tx, &rows).await
    }

    /// The files stand under each of their trials as what a step printed.
    async fn insert_finished_files(
        &self,
        tx: &mut Transaction,
        id: i64,
        study: &FinishedStudy,
        kept: &[RawRef],
    ) -> Result<(), StoreError> {
        let at = study.at.to_string();
        let role = study.role.as_str();
        let ending = self.to_json(&backsight_model::Ending::Exit(0))?;
        let mut rows = Vec::new();
        for (trial, number) in study.trials.iter().zip(1_i64..) {
            let host = study.hosts.get_index(trial.host.saturating_sub(1) as usize);
            let Some((host, _)) = host else {
                return Err(stray(id, format!("it has no host {}", trial.host)));
            };
            for (position, file) in trial.files.iter().enumerate() {
                let (Some(read), Some(raw)) = (study.files.get(*file), kept.get(*file)) else {
                    return Err(stray(id, format!("it has no file {file}")));
                };
                rows.push((number, host, position as i64, read, raw));
            }
        }
        // A row has many values: fewer rows fit into a statement.
        for chunk in rows.chunks(crate::study::ROWS_AT_ONCE) {
            let mut insert = QueryBuilder::new(
                "INSERT INTO step (study, trial, position, role, host, phase, number, command, spawned, began, \
                 began_monotonic, ending, maxrss, voluntary, involuntary, \
                 stdout, stdout_kept, stdout_printed, stderr_kept, stderr_printed) ",
            );
            insert.push_values(chunk, |mut row, (number, host, position, file, raw)| {
                let bytes = saturated(file.length());
                row.push_bind(id)
                    .push_bind(*number)
                    .push_bind(*position)
                    .push_bind(role)
                    .push_bind(host.as_str())
                    .push_bind(Phase::Collect.to_string())
                    .push_bind(*position)
                    .push_bind(&file.command)
                    .push_bind(false)
                    .push_bind(&at)
                    .push_bind(0_i64)
                    .push_bind(&ending)
                    .push_bind(0_i64)
                    .push_bind(0_i64)
                    .push_bind(0_i64)
                    .push_bind(raw.to_string())
                    .push_bind(bytes)
                    .push_bind(bytes)
                    .push_bind(0_i64)
                    .push_bind(0_i64);
            });
            self.execute(tx, insert).await?;
        }
        Ok(())
    }
}

fn stray(study: i64, what: String) -> StoreError {
    StoreError::Stray { study, what }
}
