//! Whether a store still holds what was recorded: its database, its raw objects, and the samples by their checksums; and
//! samples written anew by whoever knows them better.
//!
//! Samples are derived by the parsers, not here.

use backsight_model::{Failure, MetricName, MetricSamples};
use std::collections::{BTreeMap, HashSet};

use crate::{
    RawRef, Store, StoreError, StudyId,
    packed::{SampleKey, SampleKind, StoredSamples},
    query::{Query, query},
    trial::SampleRow,
};

/// What SQLite names at most of what is wrong with a database.
const FAULTS: usize = 20;

/// A query for the addresses of all objects that something refers to.
macro_rules! referred_objects {
    () => {
        "SELECT stdout AS raw FROM step WHERE stdout IS NOT NULL UNION SELECT stderr FROM step WHERE stderr IS NOT NULL \
         UNION SELECT log FROM build WHERE log IS NOT NULL UNION SELECT log FROM boot WHERE log IS NOT NULL \
         UNION SELECT names FROM suite_run UNION SELECT details FROM suite_run WHERE details IS NOT NULL \
         UNION SELECT content FROM core_file WHERE content IS NOT NULL \
         UNION SELECT object FROM record_section UNION SELECT kernel_log FROM host_record WHERE kernel_log IS NOT NULL"
    };
}
pub(crate) use referred_objects;

/// Which output of a study a raw object is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum RawOwner {
    /// What a step of this trial printed, what its tests are called and said, or a core file of it.
    Trial(u32),
    /// The log of this build.
    Build(u32),
    /// The log of this boot.
    Boot(u32),
    /// A section of a record of its hosts, or what their kernels said: of this position among them.
    HostRecord(u32),
}

/// A raw object that is missing or isn't what its address says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedObject {
    /// Its address.
    pub raw: RawRef,
    /// What was found.
    pub detail: String,
    /// Whether this machine still has it at hand.
    pub cached: bool,
    /// Whose output it is.
    pub owners: Vec<(StudyId, RawOwner)>,
}

/// Whether stored samples are what was recorded, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SampleState {
    /// Their checksums agree.
    Sound,
    /// They were recorded before there were checksums.
    Unchecked,
    /// They aren't.
    Damaged,
}

/// A trial's samples as they are stored, damaged ones too.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredTrial {
    /// The trial's number.
    pub number: u32,
    /// The cell's number in the plan's order.
    pub cell: usize,
    /// Whether it failed.
    pub failed: bool,
    /// The worst of its samples.
    pub state: SampleState,
    /// Those of its samples that can be read.
    pub samples: Vec<MetricSamples>,
}

impl Store {
    /// What SQLite finds wrong with the database; nothing if it is sound. PostgreSQL keeps its own tables: nothing is asked there
    /// (`pg_amcheck` does).
    ///
    /// # Errors
    /// It can't be read at all.
    pub async fn database_faults(&self) -> Result<Vec<String>, StoreError> {
        if self.database.is_shared() {
            return Ok(Vec::new());
        }
        let said = self
            .database
            .rows(query("PRAGMA integrity_check(20)"))
            .await?;
        let mut faults = Vec::new();
        for row in &said {
            match self.database.column::<String>(row, "integrity_check")? {
                line if line == "ok" => {}
                line => faults.push(line),
            }
        }
        let strays = self
            .database
            .rows(query("PRAGMA foreign_key_check"))
            .await?;
        for row in strays.iter().take(FAULTS) {
            let (table, parent): (&str, &str) = (
                self.database.column(row, "table")?,
                self.database.column(row, "parent")?,
            );
            faults.push(format!(
                "a row of `{table}` belongs to no row of `{parent}`"
            ));
        }
        Ok(faults)
    }

    /// How many raw objects are referred to and weren't pruned, and those of them that are damaged.
    ///
    /// # Errors
    /// The store's own.
    pub async fn damaged_objects(&self) -> Result<(usize, Vec<DamagedObject>), StoreError> {
        // No object is swept away while it is looked at; where nothing can be written, nothing is swept.
        let _unswept = self.raw.unswept().await.ok();
        let known: Vec<RawRef> = self.unpruned_objects().await?.into_iter().collect();
        let count = known.len();
        let damaged = self.raw.find_damaged(known).await?;
        let mut found = Vec::new();
        for (raw, detail) in damaged {
            let owners = self.owners(&raw).await?;
            let cached = match self.raw.bucket() {
                Some(bucket) => bucket.cached(raw).await?.is_some(),
                None => false,
            };
            found.push(DamagedObject {
                raw,
                detail,
                cached,
                owners,
            });
        }
        found.sort_by(|a, b| a.owners.cmp(&b.owners));
        Ok((count, found))
    }

    /// Writes an object anew that this machine still has at hand; tells whether it had.
    ///
    /// # Errors
    /// The store's own.
    pub async fn restore_object(&self, raw: &RawRef) -> Result<bool, StoreError> {
        let Some(bucket) = self.raw.bucket() else {
            return Ok(false);
        };
        let Some(content) = bucket.cached(*raw).await? else {
            return Ok(false);
        };
        let _unswept = self.raw.unswept().await?;
        self.check_raw_place().await?;
        bucket.keep(vec![content]).await?;
        Ok(bucket.find_damaged(vec![*raw]).await?.is_empty())
    }

    async fn owners(&self, raw: &RawRef) -> Result<Vec<(StudyId, RawOwner)>, StoreError> {
        let query = query(
            "SELECT DISTINCT study, CAST(0 AS BIGINT) AS kind, trial AS number FROM step WHERE stdout = $1 OR stderr = $1 \
             UNION SELECT study, 0, trial FROM suite_run WHERE names = $1 OR details = $1 \
             UNION SELECT study, 0, trial FROM core_file WHERE content = $1 \
             UNION SELECT study, 1, number FROM build WHERE log = $1 \
             UNION SELECT study, 2, number FROM boot WHERE log = $1 \
             UNION SELECT study, 3, position FROM host_record WHERE kernel_log = $1 \
             UNION SELECT h.study, 3, h.position FROM host_record h \
             JOIN record_section s ON s.record = h.at_begin OR s.record = h.at_end WHERE s.object = $1 ORDER BY 1, 2, 3",
        )
        .bind(raw.to_string());
        let rows = self.database.rows(query).await?;
        rows.iter()
            .map(|row| {
                let number = self.database.whole(row, "number")?;
                let owner = match self.database.column::<i64>(row, "kind")? {
                    0 => RawOwner::Trial(number),
                    1 => RawOwner::Build(number),
                    2 => RawOwner::Boot(number),
                    _ => RawOwner::HostRecord(number),
                };
                Ok((StudyId(self.database.column(row, "study")?), owner))
            })
            .collect()
    }

    /// Every trial of a study with its samples as they are stored, in order.
    ///
    /// # Errors
    /// The store's own.
    pub async fn stored_trials(&self, study: StudyId) -> Result<Vec<StoredTrial>, StoreError> {
        let metrics = self.metrics(study).await?;
        let cells = self.cells(study).await?;
        let db = &self.database;
        let mut trials: Vec<StoredTrial> = Vec::new();
        let query = query(
            "SELECT t.number, t.cell, t.failure, s.metric, s.measured, s.measured_checksum, s.within, s.within_checksum \
             FROM trial t LEFT JOIN sample s ON s.study = t.study AND s.trial = t.number \
             WHERE t.study = $1 ORDER BY t.number, s.metric",
        );
        db.each_row(query.bind(study.0), |row| {
            let number: u32 = db.whole(row, "number")?;
            if trials.last().is_none_or(|last| last.number != number) {
                trials.push(StoredTrial {
                    number,
                    cell: db.whole(row, "cell")?,
                    failed: db.column::<Option<&str>>(row, "failure")?.is_some(),
                    state: SampleState::Sound,
                    samples: Vec::new(),
                });
            }
            let (Some(trial), Some(metric)) =
                (trials.last_mut(), db.column::<Option<i64>>(row, "metric")?)
            else {
                return Ok(());
            };
            let key = SampleKey {
                study: study.0,
                trial: i64::from(number),
                metric,
            };
            let (mut state, mut parts) = (SampleState::Sound, Vec::new());
            for kind in [SampleKind::Measured, SampleKind::Within] {
                let (read, samples) = match self.stored_samples(row, key, kind)? {
                    StoredSamples::Sound(samples) => (SampleState::Sound, samples),
                    StoredSamples::Unchecked(samples) => (SampleState::Unchecked, samples),
                    StoredSamples::Damaged => {
                        state = SampleState::Damaged;
                        continue;
                    }
                };
                state = state.max(read);
                parts.push(samples);
            }
            let shapes = cells
                .get(trial.cell)
                .and_then(|cell| metrics.get(&cell.benchmark));
            let name = usize::try_from(metric)
                .ok()
                .and_then(|metric| shapes?.get(metric))
                .map(|shape| shape.name.clone());
            match (name, &mut parts[..]) {
                (Some(metric), [values, each]) => trial.samples.push(MetricSamples::new(
                    metric,
                    std::mem::take(values),
                    std::mem::take(each),
                )),
                _ => state = SampleState::Damaged,
            }
            trial.state = trial.state.max(state);
            Ok(())
        })
        .await?;
        Ok(trials)
    }

    /// The file that each trial of a study from elsewhere was read from: the command that read it, and its object.
    ///
    /// # Errors
    /// The store's own.
    pub async fn read_files(&self, study: StudyId) -> Result<Vec<(String, RawRef)>, StoreError> {
        let query = query(
            "SELECT DISTINCT command, stdout FROM step WHERE study = $1 AND stdout IS NOT NULL ORDER BY command",
        )
        .bind(study.0);
        let rows = self.database.rows(query).await?;
        let db = &self.database;
        rows.iter()
            .map(|row| {
                Ok((
                    db.column(row, "command")?,
                    db.parsed(row, "stdout", "a raw output's address")?,
                ))
            })
            .collect()
    }

    /// Writes the samples of these trials anew, with their checksums.
    ///
    /// # Errors
    /// A trial or a metric isn't the study's; the store can only be read.
    pub async fn rewrite_samples(
        &self,
        study: StudyId,
        trials: &[(&StoredTrial, &[MetricSamples])],
    ) -> Result<(), StoreError> {
        let metrics = self.metrics(study).await?;
        let cells = self.cells(study).await?;
        let mut rows = Vec::new();
        for (trial, samples) in trials {
            let shapes = cells
                .get(trial.cell)
                .map(|cell| metrics.get(&cell.benchmark));
            for samples in *samples {
                let stray = |name: &MetricName| StoreError::Stray {
                    study: study.0,
                    what: format!("a sample of `{name}`, which trial {} hasn't", trial.number),
                };
                let named = |shape: &backsight_model::CellMetric| shape.name == samples.metric;
                let metric = shapes
                    .flatten()
                    .and_then(|shapes| shapes.iter().position(named))
                    .ok_or_else(|| stray(&samples.metric))?;
                rows.push(SampleRow::new(
                    study.0,
                    i64::from(trial.number),
                    metric as i64,
                    &samples.values,
                    &samples.each,
                ));
            }
        }
        let mut tx = self.database.begin().await?;
        for (trial, _) in trials {
            query("DELETE FROM sample WHERE study = $1 AND trial = $2")
                .bind(study.0)
                .bind(i64::from(trial.number))
                .execute(&mut *tx)
                .await
                .map_err(|e| self.database.fault(e))?;
        }
        self.insert_sample_rows(&mut tx, &rows).await?;
        tx.commit().await.map_err(|e| self.database.fault(e))
    }

    /// Makes trials whose samples are lost failed ones, so that the others of their study can be read.
    ///
    /// # Errors
    /// The store can only be read.
    pub async fn give_up_trials(
        &self,
        study: StudyId,
        lost: &BTreeMap<u32, String>,
    ) -> Result<(), StoreError> {
        let mut tx = self.database.begin().await?;
        for (trial, why) in lost {
            let failure = self.to_json(&Failure::of_trial(why.clone()))?;
            query("UPDATE trial SET failure = $3 WHERE study = $1 AND number = $2")
                .bind(study.0)
                .bind(i64::from(*trial))
                .bind(failure)
                .execute(&mut *tx)
                .await
                .map_err(|e| self.database.fault(e))?;
            query("DELETE FROM sample WHERE study = $1 AND trial = $2")
                .bind(study.0)
                .bind(i64::from(*trial))
                .execute(&mut *tx)
                .await
                .map_err(|e| self.database.fault(e))?;
        }
        tx.commit().await.map_err(|e| self.database.fault(e))
    }

    /// The addresses of all objects that something refers to; those that were pruned among them.
    pub(crate) async fn referred_objects(&self) -> Result<HashSet<RawRef>, StoreError> {
        self.addresses(query(referred_objects!())).await
    }

    async fn unpruned_objects(&self) -> Result<HashSet<RawRef>, StoreError> {
        let unpruned = concat!(referred_objects!(), " EXCEPT SELECT object FROM pruned");
        self.addresses(query(unpruned)).await
    }

    async fn addresses(&self, query: Query) -> Result<HashSet<RawRef>, StoreError> {
        let rows = self.database.rows(query).await?;
        rows.iter()
            .map(|row| self.database.parsed(row, "raw", "a raw output's address"))
            .collect()
    }
}
