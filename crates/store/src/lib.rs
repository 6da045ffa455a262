//! Where everything that was measured is kept: studies, their trials, steps and samples in SQLite, and what was
//! printed, as it was printed, in a folder beside it.
//!
//! ```text
//! DIR/backsight.db         studies, documents, facts, trials, steps, samples
//! DIR/raw/ab/cdef….zst     what was printed: zstd, addressed by the BLAKE3 hash of its content
//! DIR/lock                 held for moments, so that raw objects aren't swept while a trial is being recorded
//! DIR/prune.lock           held by whoever prunes
//! DIR/keep.toml            how long raw objects are kept, if somebody wrote it: [`backsight_model::KeepRules`]
//! ```
//!
//! A trial that [`Store::record_trial`] has returned from is on disk, raw outputs and all; one that it hasn't
//! returned from leaves no trace but perhaps raw objects that nothing refers to, which the next sweep removes.
//!
//! The same cell of the same round can't be recorded twice. A store that a newer Backsight has written isn't opened. Nothing is
//! computed with samples here.
//!
//! ```
//! use backsight_store::Store;
//!
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
//! # runtime.block_on(async {
//! let folder = tempfile::tempdir().unwrap();
//! let store = Store::open(folder.path()).await?;
//! assert!(store.studies().await?.is_empty());
//! store.close().await;
//! # Ok::<(), backsight_store::StoreError>(())
//! # }).unwrap();
//! ```

mod acceptance;
mod annotation;
mod check;
mod core_file;
mod database;
mod error;
mod finished;
mod history;
mod holder;
mod host_records;
mod instance_records;
mod job;
mod packed;
mod prune_mark;
mod pruned;
mod pruning;
mod raw;
mod raw_ref;
mod results;
mod retention;
mod runner;
mod self_test;
mod stamp;
mod study;
mod suite_run;
mod triage;
mod trial;

pub use check::{DamagedObject, RawOwner, SampleState, StoredTrial};
pub use core_file::CoreFileRow;
pub use error::StoreError;
pub use finished::{FileContent, FinishedFile, FinishedStudy, FinishedTrial};
pub use history::{RequestRecord, StoredOutcome};
pub use host_records::StoredHostRecord;
pub use instance_records::{ALL_TRIALS, InstanceRecords, InstanceSamplesByTrial, TrialInstances};
pub use prune_mark::{PruneMark, RulePruning};
pub use raw::{FilePart, SweptObjects};
pub use raw_ref::RawRef;
pub use retention::{
    KeptReferences, RetainedKind, RetentionFate, RetentionReason, RetentionRow, RetentionTable,
};
pub use runner::{JOB_VARIABLE, Runner};
pub use self_test::StoredSelfTest;
pub use stamp::StoreStamp;
pub use study::{
    ChangedFact, NewStudy, NewTarget, StudyDocument, StudyId, StudyRow, earlier_log_path, log_path,
};
pub use suite_run::SuiteRunRow;
pub use trial::{KeptOutput, ObservedTrial, StepRow, TrialRow};

use database::Database;
use raw::RawFolder;
use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

/// How long a store waits for another process before it says that it is locked.
const PATIENCE: Duration = Duration::from_secs(5);

/// A store that is open.
#[derive(Debug, Clone)]
pub struct Store {
    dir: PathBuf,
    database: Database,
    raw: RawFolder,
}

impl Store {
    /// Opens the store in this folder, making both when they aren't there.
    ///
    /// # Errors
    /// The folder can't be made or written, the disk is full, another process holds the store for longer than five
    /// seconds, its file is damaged, or a newer Backsight has written it.
    pub async fn open(dir: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_patiently(dir, PATIENCE).await
    }

    /// Opens the store in this folder if there is one. One that can't be written is opened to be read; what would write
    /// into it is then an error.
    ///
    /// # Errors
    /// There is none, it can't be read, or its database was lost; else as [`Store::open`].
    pub async fn open_existing(dir: impl AsRef<Path>) -> Result<Self, StoreError> {
        let dir = dir.as_ref();
        let path = database::file_in(dir);
        let raw = RawFolder::open_to_read(dir, PATIENCE);
        match fs::metadata(&path) {
            Ok(_) => {}
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(StoreError::file("read", path, error));
            }
            Err(_) if raw.has_objects()? => return Err(raw.database_lost(path)),
            Err(_) => return Err(StoreError::NoStore { dir: dir.into() }),
        }
        match Self::open(dir).await {
            Err(error) if error.is_of_permissions() => {
                let database = Database::open_to_read(dir, PATIENCE, &raw).await?;
                let dir = dir.to_owned();
                Ok(Self { dir, database, raw })
            }
            opened => opened,
        }
    }

    /// As [`Store::open`], waiting this long where another process holds the store.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub async fn open_patiently(
        dir: impl AsRef<Path>,
        patience: Duration,
    ) -> Result<Self, StoreError> {
        let dir = dir.as_ref();
        let raw = RawFolder::open(dir, patience)?;
        let database = Database::open(dir, patience, &raw).await?;
        Ok(Self {
            dir: dir.to_owned(),
            database,
            raw,
        })
    }

    /// The folder that it is in.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Closes it and waits until the database's files are settled. A store that is only dropped is as durable, but
    /// leaves its write-ahead log for the next one to clean up.
    pub async fn close(self) {
        self.database.close().await;
    }

    /// Whether there is such an output; it may be damaged. Blocks.
    pub fn has_raw(&self, raw: &RawRef) -> bool {
        self.raw.path_of(raw).is_file()
    }

    /// What a step printed.
    ///
    /// # Errors
    /// The object was pruned ([`StoreError::Pruned`]), or is missing or damaged.
    pub async fn raw(&self, raw: &RawRef) -> Result<Vec<u8>, StoreError> {
        let (folder, raw) = (self.raw.clone(), *raw);
        let read = raw::off_the_loop(move || folder.read(&raw)).await;
        match read {
            Err(damaged @ StoreError::RawDamaged { .. }) => match self.prune_mark(&raw).await? {
                Some(mark) => Err(StoreError::Pruned { raw, mark }),
                None => Err(damaged),
            },
            read => read,
        }
    }
}
