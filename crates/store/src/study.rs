//! Studies in the store: made, listed, found, claimed by who runs them, deleted.
//!
//! A name belongs to one study. A study that another process measures can't be deleted or claimed.

mod log;

pub use log::{earlier_log_path, log_path};

use backsight_model::{
    BenchmarkName, Cell, CellMetric, HistoryTestbed, HostName, StudyName, StudyState, TargetName,
    TomlDocument, Unit, Version, nearest,
};
use indexmap::IndexMap;
use jiff::Timestamp;
use std::fmt;

use crate::{
    Runner, RunnerLease, Store, StoreError, SweptObjects,
    database::AnswerRow,
    query::{PerEngine, QueryBuilder, Transaction, query, query_per_engine, query_scalar},
    runner::{job_began, job_of_this_process},
};

/// Rows a statement; SQLite takes at most 32,766 values in one.
pub(crate) const ROWS_AT_ONCE: usize = 500;

/// A study's number in its store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StudyId(pub i64);

impl fmt::Display for StudyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A document that a study was made from, as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StudyDocument {
    /// What it is: `plan`, `lab`, `benchmark`.
    pub kind: String,
    /// Its name: a benchmark's, or the file's.
    pub name: String,
    /// Its text.
    pub text: String,
}

impl StudyDocument {
    /// A document of this kind, as it was read.
    pub fn new(kind: &str, document: &TomlDocument) -> Self {
        Self {
            kind: kind.to_owned(),
            name: document.name.clone(),
            text: document.text.to_string(),
        }
    }

    /// Those of a study's documents that are of this kind.
    pub fn of_kind(documents: &[Self], kind: &str) -> impl Iterator<Item = TomlDocument> {
        let of_kind = documents.iter().filter(move |it| it.kind == kind);
        of_kind.map(|it| TomlDocument::new(it.name.clone(), it.text.as_str()))
    }
}

/// A study that is about to begin.
#[derive(Debug, Clone, PartialEq)]
pub struct NewStudy {
    /// Its name.
    pub name: StudyName,
    /// The verb that it is a study of: `run`, …
    pub verb: String,
    /// Everything that it was made from, so that it can be resumed and published.
    pub documents: Vec<StudyDocument>,
    /// The arguments of the verb, as JSON.
    pub arguments: String,
    /// Seed of its order.
    pub seed: u32,
    /// Its cells, in the plan's order.
    pub cells: Vec<Cell>,
    /// The metrics of each benchmark, in the definition's order.
    pub metrics: IndexMap<BenchmarkName, Vec<CellMetric>>,
    /// What identifies each cell's question over studies, in the order of the cells; none where nobody asks.
    pub questions: Vec<String>,
    /// The target whose history it is about, if it is about one.
    pub target: Option<NewTarget>,
}

/// What a study of a target's history has besides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTarget {
    /// The target.
    pub name: TargetName,
    /// The versions that the study may ask for, oldest first.
    pub versions: Vec<Version>,
    /// The testbeds that it measures on at once, its plan's own first.
    pub testbeds: Vec<HistoryTestbed>,
}

/// A study as lists show it.
#[derive(Debug, Clone, PartialEq)]
pub struct StudyRow {
    /// Its number.
    pub id: StudyId,
    /// Its name.
    pub name: StudyName,
    /// The verb that it is a study of.
    pub verb: String,
    /// The arguments of the verb, as JSON.
    pub arguments: String,
    /// Seed of its order.
    pub seed: u32,
    /// When it began.
    pub began: Timestamp,
    /// When it was stopped or had its verdict.
    pub ended: Option<Timestamp>,
    /// Where it stands.
    pub state: StudyState,
    /// The process that measures it, or did when it was killed.
    pub runner: Option<Runner>,
    /// Where that process is, as far as its own lease says it: in a store that several controllers share.
    pub lease: Option<RunnerLease>,
    /// How many cells it has.
    pub cells: usize,
    /// How many trials gave samples.
    pub measured: usize,
    /// How many trials failed.
    pub failed: usize,
    /// The target whose history it is about, if it is about one.
    pub target: Option<TargetName>,
}

impl StudyRow {
    /// Whether its versions are the sides of a comparison, in the order in which they were named.
    pub fn compares_sides(&self) -> bool {
        self.verb == "try"
    }

    /// Whether its process measures it right now: one of this machine is looked up, one of another has a lease.
    pub fn is_measuring(&self) -> bool {
        let is_there = |runner: &Runner| runner.is_there(self.lease.as_ref());
        self.state == StudyState::Running && self.runner.as_ref().is_some_and(is_there)
    }

    /// ` on HOST` where its process is on another machine, else nothing: for messages.
    pub fn host_of_runner(&self) -> String {
        let elsewhere = self
            .runner
            .as_ref()
            .is_some_and(|it| !it.is_of_this_machine());
        let lease = self.lease.as_ref().filter(|_| elsewhere);
        lease.map_or(String::new(), |lease| format!(" on {}", lease.host))
    }

    /// Whether its process ended without saying so: killed, or the machine went down.
    pub fn was_killed(&self) -> bool {
        self.state == StudyState::Running && !self.is_measuring()
    }

    /// Where it stands, in one word that a list can show.
    pub fn state_name(&self) -> &'static str {
        match self.state {
            StudyState::Running if self.is_measuring() => "running",
            StudyState::Running => "killed",
            StudyState::Stopped => "stopped",
            StudyState::Finished => "finished",
        }
    }
}

/// A fact about a host that isn't what it was when the study began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFact {
    /// Which fact.
    pub fact: String,
    /// What it was; `None` if it wasn't known.
    pub was: Option<String>,
    /// What it is; `None` if it isn't known any more.
    pub is: Option<String>,
}

/// A query for rows that [`Store::study_row`] reads.
macro_rules! studies {
    ($rest:literal) => {
        PerEngine {
            sqlite: studies!("NULL AS runner_host, NULL AS unseen, ", $rest),
            postgres: studies!(
                "(SELECT r.host FROM runner r WHERE r.boot = s.runner_boot AND r.pid = s.runner_pid \
                 AND r.start = s.runner_start) AS runner_host, \
                 (SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS DOUBLE PRECISION) - r.seen FROM runner r \
                 WHERE r.boot = s.runner_boot AND r.pid = s.runner_pid AND r.start = s.runner_start) AS unseen, ",
                $rest
            ),
        }
    };
    ($lease:literal, $rest:literal) => {
        concat!(
            "SELECT s.id, s.name, s.verb, s.arguments, s.seed, s.began, s.ended, s.state, \
             s.runner_pid, s.runner_boot, s.runner_start, ",
            $lease,
            "(SELECT COUNT(*) FROM cell c WHERE c.study = s.id) AS cells, \
             (SELECT COUNT(*) FROM trial t WHERE t.study = s.id) AS trials, \
             (SELECT COUNT(*) FROM trial t WHERE t.study = s.id AND t.failure IS NOT NULL) AS failed, s.target \
             FROM study s ",
            $rest
        )
    };
}

/// A query for the metrics of a study, of which only some are asked for.
macro_rules! metrics {
    ($which:literal) => {
        concat!(
            "SELECT benchmark, name, unit, better, about, simulator, is_primary, monitor FROM metric WHERE study = $1 ",
            $which,
            " ORDER BY benchmark, position"
        )
    };
}

impl Store {
    /// Makes a study; this process is its runner.
    ///
    /// # Errors
    /// The name is taken; another worker has the job that this process is run for; the store's own.
    pub async fn create_study(&self, new: &NewStudy) -> Result<StudyId, StoreError> {
        self.keep_lease().await?;
        let mut tx = self.database.begin_alone("study").await?;
        if let (Some(job), Some(began)) = (job_of_this_process(), job_began()) {
            self.refuse_lost_job(&mut tx, job, &began).await?;
        }
        self.refuse_taken_name(&mut tx, &new.name).await?;
        let id: i64 = query_scalar("SELECT COALESCE(MAX(id), 0) + 1 FROM study")
            .fetch_one(&mut *tx)
            .await
            .map_err(|e| self.database.fault(e))?;
        let runner = Runner::this_process();
        query(
            "INSERT INTO study (id, name, verb, arguments, seed, began, state, runner_pid, runner_boot, runner_start, target, job) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        )
        .bind(id)
        .bind(new.name.as_str())
        .bind(&new.verb)
        .bind(&new.arguments)
        .bind(i64::from(new.seed))
        .bind(Timestamp::now().to_string())
        .bind(StudyState::Running.to_string())
        .bind(runner.as_ref().map(|r| i64::from(r.pid)))
        .bind(runner.as_ref().map(|r| r.boot.clone()))
        .bind(runner.as_ref().map(|r| saturated(r.start)))
        .bind(new.target.as_ref().map(|target| target.name.to_string()))
        .bind(job_of_this_process())
        .execute(&mut *tx)
        .await
        .map_err(|e| self.database.fault(e))?;
        self.insert_documents(&mut tx, id, &new.documents).await?;
        self.insert_metrics(&mut tx, id, &new.metrics).await?;
        self.insert_cells(&mut tx, id, new).await?;
        if let Some(target) = &new.target {
            self.insert_versions(&mut tx, id, &target.versions).await?;
            self.insert_testbeds(&mut tx, id, &target.testbeds).await?;
        }
        tx.commit().await.map_err(|e| self.database.fault(e))?;
        Ok(StudyId(id))
    }

    /// Refuses a name that no new study can have.
    ///
    /// # Errors
    /// A study has it ([`StoreError::NameTaken`]), or it would be taken for a number; the store's own.
    pub async fn check_new_name(&self, name: &StudyName) -> Result<(), StoreError> {
        let mut reading = self.database.begin_to_read().await?;
        self.refuse_taken_name(&mut reading, name).await
    }

    pub(crate) async fn refuse_taken_name(
        &self,
        tx: &mut Transaction,
        name: &StudyName,
    ) -> Result<(), StoreError> {
        if name.as_str().bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(StoreError::NameIsNumber {
                name: name.to_string(),
            });
        }
        let existing = query_per_engine(studies!("WHERE s.name = $1"))
            .bind(name.as_str())
            .fetch_optional(&mut **tx)
            .await
            .map_err(|e| self.database.fault(e))?;
        match existing {
            None => Ok(()),
            Some(row) => Err(StoreError::NameTaken {
                name: name.to_string(),
                state: self.study_row(&row)?.state_name().to_owned(),
            }),
        }
    }

    pub(crate) async fn insert_documents(
        &self,
        tx: &mut Transaction,
        study: i64,
        documents: &[StudyDocument],
    ) -> Result<(), StoreError> {
        for (chunk, from) in chunks(documents) {
            let mut insert =
                QueryBuilder::new("INSERT INTO document (study, position, kind, name, content) ");
            insert.push_values(chunk.iter().zip(from..), |mut row, (document, position)| {
                row.push_bind(study)
                    .push_bind(position)
                    .push_bind(&document.kind)
                    .push_bind(&document.name)
                    .push_bind(&document.text);
            });
            self.execute(tx, insert).await?;
        }
        Ok(())
    }

    pub(crate) async fn insert_metrics(
        &self,
        tx: &mut Transaction,
        study: i64,
        metrics: &IndexMap<BenchmarkName, Vec<CellMetric>>,
    ) -> Result<(), StoreError> {
        let rows: Vec<(&BenchmarkName, usize, &CellMetric)> = metrics
            .iter()
            .flat_map(|(benchmark, metrics)| {
                metrics
                    .iter()
                    .enumerate()
                    .map(move |(position, metric)| (benchmark, position, metric))
            })
            .collect();
        for (chunk, _) in chunks(&rows) {
            let mut insert = QueryBuilder::new(
                "INSERT INTO metric (study, benchmark, position, name, unit, better, about, simulator, is_primary) ",
            );
            insert.push_values(chunk, |mut row, (benchmark, position, metric)| {
                row.push_bind(study)
                    .push_bind(benchmark.as_str())
                    .push_bind(*position as i64)
                    .push_bind(metric.name.as_str())
                    .push_bind(metric.unit.to_string())
                    .push_bind(metric.better.as_str())
                    .push_bind(&metric.about)
                    .push_bind(metric.simulator.map(|simulator| simulator.to_string()))
                    .push_bind(metric.primary);
            });
            self.execute(tx, insert).await?;
        }
        Ok(())
    }

    pub(crate) async fn insert_cells(
        &self,
        tx: &mut Transaction,
        study: i64,
        new: &NewStudy,
    ) -> Result<(), StoreError> {
        let question = |number: i64| {
            let number = usize::try_from(number).ok()?;
            new.questions.get(number).cloned()
        };
        for (chunk, from) in chunks(&new.cells) {
            let rows = chunk
                .iter()
                .zip(from..)
                .map(|(cell, number)| {
                    let params = self.to_json(&cell.params)?;
                    let monitors = cell.monitors.as_ref().map(|names| self.to_json(names));
                    let chosen = self.to_json(&cell.chosen)?;
                    Ok((cell, number, params, chosen, monitors.transpose()?))
                })
                .collect::<Result<Vec<_>, StoreError>>()?;
            let mut insert = QueryBuilder::new(
                "INSERT INTO cell (study, number, benchmark, variant, params, chosen, question, monitors) ",
            );
            insert.push_values(rows, |mut row, (cell, number, params, chosen, monitors)| {
                row.push_bind(study)
                    .push_bind(number)
                    .push_bind(cell.benchmark.as_str())
                    .push_bind(cell.variant.as_str())
                    .push_bind(params)
                    .push_bind(chosen)
                    .push_bind(question(number))
                    .push_bind(monitors);
            });
            self.execute(tx, insert).await?;
        }
        Ok(())
    }

    /// Adds a cell to a study that makes its cells as it goes, after those that it has. It is durable when this returns.
    ///
    /// # Errors
    /// There is no such study; the store's own.
    pub async fn add_cell(
        &self,
        study: StudyId,
        number: usize,
        cell: &Cell,
    ) -> Result<(), StoreError> {
        let mut tx = self.database.begin().await?;
        query(
            "INSERT INTO cell (study, number, benchmark, variant, params, chosen) VALUES ($1, $2, $3, $4, $5, $6)",
        )
        .bind(study.0)
        .bind(saturated(number as u64))
        .bind(cell.benchmark.as_str())
        .bind(cell.variant.as_str())
        .bind(self.to_json(&cell.params)?)
        .bind(self.to_json(&cell.chosen)?)
        .execute(&mut *tx)
        .await
        .map_err(|e| self.stray_or_fault(study, "a cell of a study that isn't there", e))?;
        tx.commit().await.map_err(|e| self.database.fault(e))
    }

    pub(crate) async fn execute(
        &self,
        tx: &mut Transaction,
        mut statement: QueryBuilder,
    ) -> Result<(), StoreError> {
        // Statements with many rows differ in their number of rows: not worth a place in the cache.
        let query = statement.build();
        match query.execute(&mut **tx).await {
            Ok(_) => Ok(()),
            Err(e) => Err(self.database.fault(e)),
        }
    }

    pub(crate) fn to_json(&self, value: &impl serde::Serialize) -> Result<String, StoreError> {
        serde_json::to_string(value)
            .map_err(|e| self.database.strange("something that JSON can say", e))
    }

    /// Every study, the newest first.
    ///
    /// # Errors
    /// The store's own.
    pub async fn studies(&self) -> Result<Vec<StudyRow>, StoreError> {
        let query = query_per_engine(studies!("ORDER BY s.id DESC"));
        let rows = self.database.rows(query).await?;
        rows.iter().map(|row| self.study_row(row)).collect()
    }

    /// The studies of a target's history, the newest first.
    ///
    /// # Errors
    /// The store's own.
    pub async fn studies_of_target(
        &self,
        target: &TargetName,
    ) -> Result<Vec<StudyRow>, StoreError> {
        let query = query_per_engine(studies!("WHERE s.target = $1 ORDER BY s.id DESC"));
        let rows = self.database.rows(query.bind(target.as_str())).await?;
        rows.iter().map(|row| self.study_row(row)).collect()
    }

    /// The studies of a verb, the newest first.
    ///
    /// # Errors
    /// The store's own.
    pub async fn studies_of_verb(&self, verb: &str) -> Result<Vec<StudyRow>, StoreError> {
        let query = query_per_engine(studies!("WHERE s.verb = $1 ORDER BY s.id DESC"));
        let rows = self.database.rows(query.bind(verb)).await?;
        rows.iter().map(|row| self.study_row(row)).collect()
    }

    /// The study of this name or number; a name goes first where both exist.
    ///
    /// # Errors
    /// There is none; the error knows the nearest name.
    pub async fn study(&self, asked: &str) -> Result<StudyRow, StoreError> {
        let number = asked.parse::<i64>().ok();
        let query = query_per_engine(studies!("WHERE s.name = $1 OR s.id = $2"))
            .bind(asked)
            .bind(number);
        let rows = self.database.rows(query).await?;
        let found = rows
            .iter()
            .map(|row| self.study_row(row))
            .collect::<Result<Vec<_>, _>>()?;
        let by_name = found.iter().position(|study| study.name.as_str() == asked);
        match found.into_iter().nth(by_name.unwrap_or(0)) {
            Some(study) => Ok(study),
            None => Err(self.no_such_study(asked).await?),
        }
    }

    /// The study of this number.
    ///
    /// # Errors
    /// There is none.
    pub async fn study_of(&self, study: StudyId) -> Result<StudyRow, StoreError> {
        let row = query_per_engine(studies!("WHERE s.id = $1"))
            .bind(study.0)
            .fetch_optional(self.database.pool())
            .await
            .map_err(|e| self.database.fault(e))?;
        match row {
            Some(row) => self.study_row(&row),
            None => Err(self.no_such_study(&study.to_string()).await?),
        }
    }

    async fn no_such_study(&self, asked: &str) -> Result<StoreError, StoreError> {
        const SHOWN: usize = 5;
        let known: Vec<String> = query_scalar("SELECT name FROM study ORDER BY id DESC")
            .fetch_all(self.database.pool())
            .await
            .map_err(|e| self.database.fault(e))?;
        Ok(StoreError::NoSuchStudy {
            requested: asked.chars().take(80).collect(),
            suggestion: nearest(asked, known.iter().map(String::as_str)).map(str::to_owned),
            known: known.into_iter().take(SHOWN).collect(),
        })
    }

    /// The lease of a runner, where a row has one.
    pub(crate) fn runner_lease(&self, row: &AnswerRow) -> Result<Option<RunnerLease>, StoreError> {
        let host: Option<String> = self.database.column(row, "runner_host")?;
        let unseen: Option<f64> = self.database.column(row, "unseen")?;
        let lease = host.zip(unseen);
        Ok(lease.map(|(host, unseen)| RunnerLease::new(host, unseen)))
    }

    fn study_row(&self, row: &AnswerRow) -> Result<StudyRow, StoreError> {
        let db = &self.database;
        let pid: Option<i64> = db.column(row, "runner_pid")?;
        let boot: Option<String> = db.column(row, "runner_boot")?;
        let start: Option<i64> = db.column(row, "runner_start")?;
        let runner = match (pid.map(u32::try_from), boot, start.map(u64::try_from)) {
            (Some(Ok(pid)), Some(boot), Some(Ok(start))) => Some(Runner { pid, boot, start }),
            _ => None,
        };
        let trials: usize = db.whole(row, "trials")?;
        let failed: usize = db.whole(row, "failed")?;
        Ok(StudyRow {
            id: StudyId(db.column(row, "id")?),
            name: db.parsed(row, "name", "a study's name")?,
            verb: db.column(row, "verb")?,
            arguments: db.column(row, "arguments")?,
            seed: db.whole(row, "seed")?,
            began: db.parsed(row, "began", "a time")?,
            ended: db.parsed_if_any(row, "ended", "a time")?,
            state: state_of(db.column(row, "state")?)
                .ok_or_else(|| db.strange("a study's state", "something else"))?,
            runner,
            lease: self.runner_lease(row)?,
            cells: db.whole(row, "cells")?,
            measured: trials.saturating_sub(failed),
            failed,
            target: db.parsed_if_any(row, "target", "a target's name")?,
        })
    }

    /// The documents that a study was made from.
    ///
    /// # Errors
    /// The store's own.
    pub async fn documents(&self, study: StudyId) -> Result<Vec<StudyDocument>, StoreError> {
        let query =
            query("SELECT kind, name, content FROM document WHERE study = $1 ORDER BY position")
                .bind(study.0);
        let rows = self.database.rows(query).await?;
        rows.iter()
            .map(|row| {
                Ok(StudyDocument {
                    kind: self.database.column(row, "kind")?,
                    name: self.database.column(row, "name")?,
                    text: self.database.column(row, "content")?,
                })
            })
            .collect()
    }

    /// A study's cells, in the plan's order.
    ///
    /// # Errors
    /// The store's own.
    pub async fn cells(&self, study: StudyId) -> Result<Vec<Cell>, StoreError> {
        let query = query(
            "SELECT benchmark, variant, params, chosen, monitors FROM cell WHERE study = $1 ORDER BY number",
        )
        .bind(study.0);
        let rows = self.database.rows(query).await?;
        let db = &self.database;
        rows.iter()
            .map(|row| {
                Ok(Cell {
                    benchmark: db.parsed(row, "benchmark", "a benchmark's name")?,
                    variant: db.parsed(row, "variant", "a variant's name")?,
                    params: db.json(row, "params", "a cell's parameters")?,
                    chosen: db.json(row, "chosen", "names of parameters")?,
                    monitors: db.json_if_any(row, "monitors", "names of monitors")?,
                })
            })
            .collect()
    }

    /// The metrics of each benchmark of a study, in the definitions' order, and after them what its monitors measured so
    /// far.
    ///
    /// # Errors
    /// The store's own.
    pub async fn metrics(
        &self,
        study: StudyId,
    ) -> Result<IndexMap<BenchmarkName, Vec<CellMetric>>, StoreError> {
        self.metrics_by(study, metrics!("")).await
    }

    /// Those of them that the benchmarks declare: known before the first trial.
    ///
    /// # Errors
    /// The store's own.
    pub async fn declared_metrics(
        &self,
        study: StudyId,
    ) -> Result<IndexMap<BenchmarkName, Vec<CellMetric>>, StoreError> {
        self.metrics_by(study, metrics!("AND monitor IS NULL"))
            .await
    }

    async fn metrics_by(
        &self,
        study: StudyId,
        asked: &'static str,
    ) -> Result<IndexMap<BenchmarkName, Vec<CellMetric>>, StoreError> {
        let query = query(asked).bind(study.0);
        let rows = self.database.rows(query).await?;
        let db = &self.database;
        let mut metrics: IndexMap<BenchmarkName, Vec<CellMetric>> = IndexMap::new();
        for row in &rows {
            let unit: &str = db.column(row, "unit")?;
            let shape = CellMetric {
                name: db.parsed(row, "name", "a metric's name")?,
                unit: Unit::parse(unit).map_err(|_| db.strange("a unit", unit))?,
                better: db.parsed(row, "better", "`higher`, `lower` or `neither`")?,
                about: db.column(row, "about")?,
                primary: db.column(row, "is_primary")?,
                monitor: db.parsed_if_any(row, "monitor", "a monitor's name")?,
                simulator: db.parsed_if_any(row, "simulator", "a simulator")?,
            };
            let benchmark = db.parsed(row, "benchmark", "a benchmark's name")?;
            metrics.entry(benchmark).or_default().push(shape);
        }
        Ok(metrics)
    }

    /// Says where a study stands. `Running` claims it for this process.
    ///
    /// # Errors
    /// There is no such study; another process measures it.
    pub async fn set_state(&self, study: StudyId, state: StudyState) -> Result<(), StoreError> {
        let row = self.study_of(study).await?;
        if state == StudyState::Running {
            self.keep_lease().await?;
        }
        let mut tx = self.database.begin_alone("study").await?;
        // Asked again under the lock: another process may have claimed it since.
        let now = query_per_engine(studies!("WHERE s.id = $1"))
            .bind(study.0)
            .fetch_optional(&mut *tx)
            .await
            .map_err(|e| self.database.fault(e))?;
        let now = now.map_or(Ok(row), |row| self.study_row(&row))?;
        refuse_in_use(&now)?;
        let running = state == StudyState::Running;
        let runner = Runner::this_process().filter(|_| running);
        query(
            "UPDATE study SET state = $1, ended = $2, runner_pid = $3, runner_boot = $4, runner_start = $5 WHERE id = $6",
        )
        .bind(state.to_string())
        .bind((!running).then(|| Timestamp::now().to_string()))
        .bind(runner.as_ref().map(|r| i64::from(r.pid)))
        .bind(runner.as_ref().map(|r| r.boot.clone()))
        .bind(runner.as_ref().map(|r| saturated(r.start)))
        .bind(study.0)
        .execute(&mut *tx)
        .await
        .map_err(|e| self.database.fault(e))?;
        tx.commit().await.map_err(|e| self.database.fault(e))
    }

    /// Changes what a study was asked for: more rounds.
    ///
    /// # Errors
    /// There is no such study; another process measures it.
    pub async fn set_arguments(&self, study: StudyId, arguments: &str) -> Result<(), StoreError> {
        let mut tx = self.database.begin_alone("study").await?;
        refuse_in_use(&self.study_of(study).await?)?;
        query("UPDATE study SET arguments = $1 WHERE id = $2")
            .bind(arguments)
            .bind(study.0)
            .execute(&mut *tx)
            .await
            .map_err(|e| self.database.fault(e))?;
        tx.commit().await.map_err(|e| self.database.fault(e))
    }

    /// Says what a host is. A host that was asked before keeps what was said then too; the answer is what differs.
    ///
    /// # Errors
    /// There is no such study.
    pub async fn record_facts(
        &self,
        study: StudyId,
        host: &HostName,
        facts: &IndexMap<String, String>,
    ) -> Result<Vec<ChangedFact>, StoreError> {
        let before = self.last_facts(study, host).await?;
        let changes = before
            .as_ref()
            .map_or(Vec::new(), |before| changes(before, facts));
        if before.is_some() && changes.is_empty() {
            return Ok(changes);
        }
        let mut tx = self.database.begin_alone("facts").await?;
        query(
            "INSERT INTO facts (study, position, host, facts) \
             SELECT $1, COALESCE(MAX(position), 0) + 1, $2, $3 FROM facts WHERE study = $1",
        )
        .bind(study.0)
        .bind(host.as_str())
        .bind(self.to_json(facts)?)
        .execute(&mut *tx)
        .await
        .map_err(|e| self.stray_or_fault(study, "facts of a study that isn't there", e))?;
        tx.commit().await.map_err(|e| self.database.fault(e))?;
        Ok(changes)
    }

    async fn last_facts(
        &self,
        study: StudyId,
        host: &HostName,
    ) -> Result<Option<IndexMap<String, String>>, StoreError> {
        let row = query(
            "SELECT facts FROM facts WHERE study = $1 AND host = $2 ORDER BY position DESC LIMIT 1",
        )
        .bind(study.0)
        .bind(host.as_str())
        .fetch_optional(self.database.pool())
        .await
        .map_err(|e| self.database.fault(e))?;
        row.map(|row| self.database.json(&row, "facts", "facts about a host"))
            .transpose()
    }

    pub(crate) fn stray_or_fault(
        &self,
        study: StudyId,
        what: &str,
        error: sqlx::Error,
    ) -> StoreError {
        let stray = error
            .as_database_error()
            .is_some_and(|e| e.is_foreign_key_violation());
        if stray {
            StoreError::Stray {
                study: study.0,
                what: what.to_owned(),
            }
        } else {
            self.database.fault(error)
        }
    }

    /// Removes a study with everything that it measured, and the raw outputs that no other study has.
    ///
    /// # Errors
    /// There is no such study; a process measures it.
    pub async fn delete(&self, study: StudyId) -> Result<SweptObjects, StoreError> {
        refuse_in_use(&self.study_of(study).await?)?;
        let mut tx = self.database.begin_alone("study").await?;
        query("DELETE FROM study WHERE id = $1")
            .bind(study.0)
            .execute(&mut *tx)
            .await
            .map_err(|e| self.database.fault(e))?;
        // Of a target without studies nobody asks anything more.
        query("DELETE FROM history_finding WHERE target NOT IN (SELECT target FROM study WHERE target IS NOT NULL)")
            .execute(&mut *tx)
            .await
            .map_err(|e| self.database.fault(e))?;
        tx.commit().await.map_err(|e| self.database.fault(e))?;
        log::remove_logs(&self.dir, study);
        self.sweep().await
    }

    /// Removes raw outputs that nothing refers to: those of deleted studies, and of trials that were being recorded
    /// when their process was killed.
    ///
    /// # Errors
    /// Somebody records trials for longer than five seconds.
    pub async fn sweep(&self) -> Result<SweptObjects, StoreError> {
        let alone = self.raw.alone().await?;
        let swept = self.sweep_alone().await;
        drop(alone);
        swept
    }

    /// The sweep itself, under the lock.
    pub(crate) async fn sweep_alone(&self) -> Result<SweptObjects, StoreError> {
        self.check_raw_place().await?;
        self.remove_lone_records().await?;
        self.remove_lone_marks().await?;
        let keep = self.referred_objects().await?;
        self.raw.sweep(keep).await
    }
}

/// Parts of a list that fit into one statement, with the number of their first item.
pub(crate) fn chunks<T>(items: &[T]) -> impl Iterator<Item = (&[T], i64)> {
    items
        .chunks(ROWS_AT_ONCE)
        .enumerate()
        .map(|(n, chunk)| (chunk, (n * ROWS_AT_ONCE) as i64))
}

/// The largest that a database holds, for what is larger.
pub(crate) fn saturated(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn state_of(text: &str) -> Option<StudyState> {
    [
        StudyState::Running,
        StudyState::Stopped,
        StudyState::Finished,
    ]
    .into_iter()
    .find(|state| state.to_string() == text)
}

/// Refuses what another process measures.
pub(crate) fn refuse_in_use(study: &StudyRow) -> Result<(), StoreError> {
    match &study.runner {
        Some(runner) if study.is_measuring() && Some(runner) != Runner::this_process().as_ref() => {
            Err(match &study.lease {
                Some(lease) if !runner.is_of_this_machine() => StoreError::InUseElsewhere {
                    name: study.name.to_string(),
                    pid: runner.pid,
                    host: lease.host.clone(),
                },
                _ => StoreError::InUse {
                    name: study.name.to_string(),
                    pid: runner.pid,
                },
            })
        }
        _ => Ok(()),
    }
}

fn changes(was: &IndexMap<String, String>, is: &IndexMap<String, String>) -> Vec<ChangedFact> {
    let gone = was.keys().filter(|fact| !is.contains_key(*fact));
    is.keys()
        .chain(gone)
        .filter(|fact| was.get(*fact) != is.get(*fact))
        .map(|fact| ChangedFact {
            fact: fact.clone(),
            was: was.get(fact).cloned(),
            is: is.get(fact).cloned(),
        })
        .collect()
}
