//! Copies of studies in another store: all their rows, and the raw objects that these refer to.
//!
//! A study is copied in one transaction, so it is there whole or not at all: a copy that was broken off is begun again, and leaves out
//! what is there. What was written is read again and compared before it counts. Other controllers can record trials meanwhile, but
//! begin no study; in a folder, nobody else writes.
//!
//! The two stores number studies and records of hosts on their own; a study is known again by when it began, its seed and its verb.
//! The queue with its reservations, the leases of processes, tokens and settings belong to a store, and stay there.

mod continuation;
mod digest;
mod reseal;
mod table;

use backsight_model::{StudyName, StudyState};
use jiff::Timestamp;
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    mem,
};

use crate::{
    RawRef, Store, StoreError, StudyRow,
    pruned::MarkRow,
    query::{Argument, QueryBuilder, Transaction, query, query_scalar},
    study::refuse_in_use,
};
pub use continuation::CopiedContinuation;
use digest::{Digest, RowHash, row_hash};
use reseal::reseal;
use table::{CopyRow, CopyTable};

/// The tables with the rows of studies, so that each comes after those that it refers to.
const STUDY_TABLES: &[&str] = &[
    "study",
    "document",
    "facts",
    "metric",
    "cell",
    "version",
    "build",
    "boot",
    "testbed",
    "trial",
    "sample",
    "machine_load",
    "step",
    "instance_sample",
    "host_clock",
    "meeting",
    "suite_run",
    "core_file",
    "host_record",
];
/// Their columns with addresses of raw objects.
const RAW_COLUMNS: &[(&str, &str)] = &[
    ("build", "log"),
    ("boot", "log"),
    ("step", "stdout"),
    ("step", "stderr"),
    ("suite_run", "names"),
    ("suite_run", "details"),
    ("core_file", "content"),
    ("host_record", "kernel_log"),
];
/// Tables of what people said about a target, of which versions lie beside its line, and of what was found about machines; each with the column that numbers its rows, if one does.
const NOTE_TABLES: &[(&str, Option<&str>)] = &[
    ("acceptance", None),
    ("triage", Some("number")),
    ("annotation", Some("number")),
    ("self_test", Some("id")),
    ("watch_finding", None),
    ("side_version", None),
];
/// Trials whose rows are in memory at a time.
const TRIALS_AT_ONCE: i64 = 2000;
/// Bytes of raw objects that are in memory at a time, but for one that is larger.
const RAW_BATCH: usize = 8 * 1024 * 1024;

/// What became of a study that was to be copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CopiedStudy {
    /// It was copied.
    Copied {
        /// What the other store calls it: another name where its own was taken.
        name: StudyName,
        /// How much that was.
        counts: CopyCounts,
    },
    /// The other store had it already.
    Present,
    /// It went on in the other store since it was copied: that one is left as it is.
    NewerThere,
    /// It is being measured now.
    Measuring,
}

/// How much was copied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CopyCounts {
    /// Trials, those that failed too.
    pub trials: usize,
    /// Samples: one a trial and metric.
    pub samples: usize,
    /// Raw objects that the other store hadn't.
    pub objects: usize,
}

impl CopyCounts {
    /// Adds those of another study.
    pub fn add(&mut self, other: Self) {
        self.trials += other.trials;
        self.samples += other.samples;
        self.objects += other.objects;
    }
}

/// What tells a study apart from all others, whatever its name and number are: when it began, its seed, its verb.
type Identity = (Timestamp, u32, String);

fn identity_of(study: &StudyRow) -> Identity {
    (study.began, study.seed, study.verb.clone())
}

/// Sections of a record of a host.
type Sections = BTreeMap<String, RawRef>;

/// A copy of studies that is being made.
#[derive(Debug)]
pub struct StoreCopy {
    from: Store,
    to: Store,
    tables: Vec<CopyTable>,
    there: HashMap<Identity, StudyRow>,
    names: HashSet<String>,
}

impl StoreCopy {
    /// Looks what the other store has.
    ///
    /// # Errors
    /// The stores' own.
    pub async fn begin(from: Store, to: Store) -> Result<Self, StoreError> {
        let mut tables = Vec::with_capacity(STUDY_TABLES.len());
        for name in STUDY_TABLES {
            tables.push(CopyTable::new(&to.database, name).await?);
        }
        let there = to.studies().await?;
        Ok(Self {
            names: there.iter().map(|study| study.name.to_string()).collect(),
            there: there.into_iter().map(|it| (identity_of(&it), it)).collect(),
            from,
            to,
            tables,
        })
    }

    /// Copies a study.
    ///
    /// # Errors
    /// A raw object of it is missing or damaged; what was written isn't what was read; the stores' own. Nothing of the study is in the
    /// other store then, but perhaps raw objects that nothing refers to.
    pub async fn study(&mut self, study: &StudyRow) -> Result<CopiedStudy, StoreError> {
        if study.is_measuring() {
            return Ok(CopiedStudy::Measuring);
        }
        let twin = self.there.get(&identity_of(study));
        match twin.map(|twin| Standing::of(study).cmp(&Standing::of(twin))) {
            None | Some(std::cmp::Ordering::Greater) => {}
            Some(std::cmp::Ordering::Equal) => return Ok(CopiedStudy::Present),
            Some(std::cmp::Ordering::Less) => return Ok(CopiedStudy::NewerThere),
        }
        if let Some(twin) = twin {
            refuse_in_use(twin)?;
        }
        let (replaced, name) = match twin {
            Some(twin) => (Some(twin.id.0), twin.name.clone()),
            None => (None, self.free_name(&study.name)),
        };
        let counts = self.copy(study, replaced, &name).await?;
        self.names.insert(name.to_string());
        Ok(CopiedStudy::Copied { name, counts })
    }

    /// The name, or the first of NAME-2, NAME-3, … that the other store hasn't.
    fn free_name(&self, name: &StudyName) -> StudyName {
        let numbered = (2..).map(|number| StudyName::new(format!("{name}-{number}")).ok());
        let names = std::iter::once(Some(name.clone())).chain(numbered);
        let mut free = names
            .map_while(|it| it)
            .filter(|it| !self.names.contains(it.as_str()));
        // A name too long for a number is refused where it is inserted.
        free.next().unwrap_or_else(|| name.clone())
    }

    async fn copy(
        &self,
        study: &StudyRow,
        replaced: Option<i64>,
        name: &StudyName,
    ) -> Result<CopyCounts, StoreError> {
        let (from, to) = (&self.from.database, &self.to.database);
        // No object is swept away before the study refers to it.
        let _unswept = self.to.raw.unswept().await?;
        let mut reading = from.begin_to_read().await?;
        let records = self
            .from
            .sections_of_study(&mut reading, study.id.0)
            .await?;
        let (objects, marks) = self
            .copy_objects(&mut reading, study.id.0, &records)
            .await?;

        let mut tx = to.begin_alone("study").await?;
        if to.is_shared() {
            // Whether a row's trial is there is planned once a connection, for tables as they were when they were analyzed last: for small ones
            // all of `trial` would be read for each sample.
            let by_keys = query("SET LOCAL enable_seqscan = off");
            by_keys.execute(&mut *tx).await.map_err(|e| to.fault(e))?;
        }
        let id = match replaced {
            Some(id) => {
                let gone = query("DELETE FROM study WHERE id = $1").bind(id);
                gone.execute(&mut *tx).await.map_err(|e| to.fault(e))?;
                id
            }
            None => {
                self.to.refuse_taken_name(&mut tx, name).await?;
                query_scalar("SELECT COALESCE(MAX(id), 0) + 1 FROM study")
                    .fetch_one(&mut *tx)
                    .await
                    .map_err(|e| to.fault(e))?
            }
        };
        let mut numbers = HashMap::new();
        if !records.is_empty() {
            to.lock_numbers(&mut tx, "record").await?;
        }
        for (number, sections) in &records {
            numbers.insert(*number, self.to.record_number(&mut tx, sections).await?);
        }
        self.to.insert_marks(&mut tx, &marks).await?;

        let mut counts = CopyCounts {
            objects,
            ..CopyCounts::default()
        };
        let mut read = Vec::with_capacity(self.tables.len());
        for table in &self.tables {
            let mut digest = Digest::default();
            for part in table.parts(from, &mut reading, study.id.0).await? {
                let rows = table.read(from, &mut reading, study.id.0, part).await?;
                for row in &rows {
                    digest.add(table, row, &records);
                }
                let mut written = Vec::with_capacity(rows.len());
                for mut row in rows {
                    reseal(table, &mut row, id).map_err(|trial| self.damaged(study, trial))?;
                    written.push(table.renumbered(row, id, name, &numbers));
                }
                table.insert(&self.to, &mut tx, written).await?;
            }
            match table.name {
                "trial" => counts.trials = digest.rows,
                "sample" => counts.samples = digest.rows,
                _ => {}
            }
            read.push(digest);
        }
        let records = self.to.sections_of_study(&mut tx, id).await?;
        for (table, read) in self.tables.iter().zip(read) {
            let mut written = Digest::default();
            for part in table.parts(to, &mut tx, id).await? {
                for mut row in table.read(to, &mut tx, id, part).await? {
                    written.add(table, &row, &records);
                    reseal(table, &mut row, id).map_err(|trial| {
                        let trial = format!("those of trial {trial} of study {name}");
                        to.strange("checksums that agree with what was copied", trial)
                    })?;
                }
            }
            if written != read {
                return Err(to.strange(
                    "the rows that were copied",
                    format!("others in `{}` of study {name}", table.name),
                ));
            }
        }
        tx.commit().await.map_err(|e| to.fault(e))?;
        Ok(counts)
    }

    fn damaged(&self, study: &StudyRow, trial: i64) -> StoreError {
        StoreError::SamplesDamaged {
            study: format!("`{}`", study.name),
            trial,
            path: self.from.database.path().to_owned(),
        }
    }

    /// Copies the raw objects of a study that the other store hasn't: how many, and the marks of those that were pruned.
    async fn copy_objects(
        &self,
        reading: &mut Transaction,
        study: i64,
        records: &HashMap<i64, Sections>,
    ) -> Result<(usize, Vec<MarkRow>), StoreError> {
        let db = &self.from.database;
        let mut objects: HashSet<RawRef> = records
            .values()
            .flat_map(|it| it.values().copied())
            .collect();
        for (table, column) in RAW_COLUMNS {
            let mut asked = QueryBuilder::new(&format!(
                "SELECT DISTINCT {column} AS raw FROM {table} WHERE {column} IS NOT NULL AND study = "
            ));
            asked.separated("").push_bind(study);
            for row in asked
                .build()
                .fetch_all(&mut **reading)
                .await
                .map_err(|e| db.fault(e))?
            {
                objects.insert(db.parsed(&row, "raw", "a raw output's address")?);
            }
        }
        let objects = objects.into_iter().collect();
        let lacking = self.to.raw.lacking(objects).await?;
        let (mut batch, mut bytes, mut copied, mut marks) = (Vec::new(), 0, 0, Vec::new());
        for raw in lacking {
            match self.from.raw(&raw).await {
                Ok(content) => {
                    bytes += content.len();
                    batch.push(content);
                    copied += 1;
                }
                Err(StoreError::Pruned { .. }) => marks.extend(self.from.mark_row(&raw).await?),
                Err(error) => return Err(error),
            }
            if bytes >= RAW_BATCH {
                self.to.keep_batch(mem::take(&mut batch)).await?;
                bytes = 0;
            }
        }
        self.to.keep_batch(batch).await?;
        Ok((copied, marks))
    }

    /// Copies what people said about targets, and self-tests of machines, that the other store hasn't: how many rows. Where both say
    /// something of the same change, the other store's stays.
    ///
    /// # Errors
    /// The stores' own.
    pub async fn notes(&self) -> Result<usize, StoreError> {
        let mut copied = 0;
        for (name, number) in NOTE_TABLES {
            copied += self.copy_new_rows(name, *number).await?;
        }
        Ok(copied)
    }

    /// Copies the rows of a table that the other store hasn't: how many. `number` is the column that each store numbers on its own. A row
    /// whose key is there with other values stays as it is there.
    async fn copy_new_rows(
        &self,
        name: &'static str,
        number: Option<&str>,
    ) -> Result<usize, StoreError> {
        let (from, to) = (&self.from.database, &self.to.database);
        let table = CopyTable::new(to, name).await?;
        let mut reading = from.begin_to_read().await?;
        let mut tx = to.begin_alone(name).await?;
        let hash = |row: &CopyRow| row_hash(&table.without(row, number));
        let there = table.read_all(to, &mut tx).await?;
        let there: HashSet<RowHash> = there.iter().map(hash).collect();
        let new = table.read_all(from, &mut reading).await?;
        let new = new.into_iter().filter(|row| !there.contains(&hash(row)));
        let mut new: Vec<CopyRow> = new.collect();
        if let Some(number) = number {
            let highest =
                format!("SELECT CAST(COALESCE(MAX({number}), 0) AS BIGINT) AS highest FROM {name}");
            let rows = QueryBuilder::new(&highest)
                .build()
                .fetch_all(&mut *tx)
                .await;
            let rows = rows.map_err(|e| to.fault(e))?;
            let mut highest: i64 = match rows.first() {
                Some(row) => to.column(row, "highest")?,
                None => 0,
            };
            for row in &mut new {
                highest += 1;
                table.set(row, number, Argument::Whole(Some(highest)));
            }
        }
        let copied = self.insert_compared(&table, &mut tx, new).await?;
        tx.commit().await.map_err(|e| to.fault(e))?;
        Ok(copied)
    }

    /// Inserts rows whose keys the other store hasn't, reads the table again and compares: how many.
    async fn insert_compared(
        &self,
        table: &CopyTable,
        tx: &mut Transaction,
        new: Vec<CopyRow>,
    ) -> Result<usize, StoreError> {
        let expected: HashSet<RowHash> = new.iter().map(row_hash).collect();
        let copied = table.insert_new(&self.to, tx, new).await?;
        self.compare_written(table, tx, &expected, copied).await?;
        Ok(copied)
    }

    /// Reads a table again, and compares: so many of its rows are `expected` ones.
    async fn compare_written(
        &self,
        table: &CopyTable,
        tx: &mut Transaction,
        expected: &HashSet<RowHash>,
        copied: usize,
    ) -> Result<(), StoreError> {
        let to = &self.to.database;
        let written = table.read_all(to, tx).await?;
        let written = written.iter().map(row_hash);
        match written.filter(|row| expected.contains(row)).count() {
            count if count == copied => Ok(()),
            count => Err(to.strange(
                "the rows that were copied",
                format!("{count} of {copied} in `{}`", table.name),
            )),
        }
    }
}

/// How far a study is: more trials are farther, and of as many, the later end.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Standing {
    trials: usize,
    is_finished: bool,
    ended: Option<Timestamp>,
}

impl Standing {
    fn of(study: &StudyRow) -> Self {
        Self {
            trials: study.measured + study.failed,
            is_finished: study.state == StudyState::Finished,
            ended: study.ended,
        }
    }
}

impl Store {
    /// The records of hosts that a study refers to: their sections, by their numbers.
    async fn sections_of_study(
        &self,
        tx: &mut Transaction,
        study: i64,
    ) -> Result<HashMap<i64, Sections>, StoreError> {
        let db = &self.database;
        let asked = query(
            "SELECT h.number, s.name, s.object FROM (SELECT at_begin AS number FROM host_record WHERE study = $1 \
             UNION SELECT at_end FROM host_record WHERE study = $1 AND at_end IS NOT NULL) h \
             LEFT JOIN record_section s ON s.record = h.number",
        );
        let rows = asked.bind(study).fetch_all(&mut **tx).await;
        let mut records: HashMap<i64, Sections> = HashMap::new();
        for row in rows.map_err(|e| db.fault(e))? {
            let sections = records.entry(db.column(&row, "number")?).or_default();
            if let Some(object) = db.parsed_if_any(&row, "object", "a raw output's address")? {
                sections.insert(db.column(&row, "name")?, object);
            }
        }
        Ok(records)
    }
}

#[cfg(test)]
mod tests {
    use super::{continuation::CONTINUATION_TABLES, *};

    /// Tables that aren't copied: what belongs to a store itself, and what is copied by reference.
    const LEFT: &[&str] = &[
        "_sqlx_migrations",
        "access_token",
        "job",
        "reservation",
        "queue_state",
        "queue_worker",
        "job_run",
        "job_dependency",
        "history_finding",
        "pruned",
        "raw_object",
        "record",
        "record_section",
        "runner",
        "store_identity",
        "store_setting",
    ];

    #[tokio::test]
    async fn every_table_is_copied_or_left_on_purpose() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let asked = query_scalar::<String>("SELECT name FROM sqlite_master WHERE type = 'table'");
        for table in asked.fetch_all(store.database.pool()).await.unwrap() {
            let is_copied = STUDY_TABLES.contains(&table.as_str())
                || NOTE_TABLES.iter().any(|(name, _)| *name == table)
                || CONTINUATION_TABLES.contains(&table.as_str());
            assert!(
                is_copied != LEFT.contains(&table.as_str()),
                "{table}: say in one of the lists what is done with it"
            );
        }
    }
}
