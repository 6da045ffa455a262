//! Where everything that was measured is kept: studies, their trials, steps and samples in SQLite, and what was
//! printed, as it was printed, in a folder beside it; or both in a PostgreSQL database that several controllers share.
//!
//! ```text
//! DIR/backsight.db         studies, documents, facts, trials, steps, samples
//! DIR/raw/ab/cdef….zst     what was printed: zstd, addressed by the BLAKE3 hash of its content
//! DIR/lock                 held for moments, so that raw objects aren't swept while a trial is being recorded
//! DIR/prune.lock           held by whoever prunes
//! DIR/spool/STUDY-TRIAL    trials that wait for the server of a store in a database
//! DIR/store.toml           settings that all who use the store agree on, if somebody wrote it: [`backsight_model::StoreSettings`]
//! DIR/raw-cache/ab/…       what this machine keeps at hand, where raw objects are in a bucket
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
mod access_token;
mod annotation;
mod audit;
mod bucket_client;
mod bucket_error;
mod check;
mod copy;
mod core_file;
mod database;
mod error;
mod finished;
mod history;
mod history_findings;
mod holder;
mod host_records;
mod identity;
mod instance_records;
mod job;
mod job_claim;
mod lease;
mod location;
mod number_ranges;
mod packed;
mod program_identity;
mod prune_mark;
mod pruned;
mod pruning;
mod query;
mod queue_snapshot;
mod raw;
mod raw_bucket;
mod raw_cache;
mod raw_move;
mod raw_objects;
mod raw_ref;
mod raw_table;
mod reservation;
mod results;
mod retention;
mod runner;
mod self_test;
mod settings;
mod settings_file;
mod side_version;
mod slurm_job;
mod spool;
mod stamp;
mod study;
mod suite_run;
mod told;
mod triage;
mod trial;
mod watch;

pub use access_token::{AccessScope, AccessToken, TokenHash};
pub use audit::AuditEntry;
pub use bucket_error::{BucketError, BucketFault};
pub use check::{DamagedObject, RawOwner, SampleState, StoredTrial};
pub use copy::{CopiedContinuation, CopiedStudy, CopyCounts, StoreCopy};
pub use core_file::CoreFileRow;
pub use error::StoreError;
pub use finished::{FileContent, FinishedFile, FinishedStudy, FinishedTrial};
pub use history::{RequestRecord, StoredOutcome};
pub use history_findings::SampleSums;
pub use host_records::StoredHostRecord;
pub use instance_records::{ALL_TRIALS, InstanceRecords, InstanceSamplesByTrial, TrialInstances};
pub use job::JobMove;
pub use job_claim::JobEnding;
pub use location::{StoreLocation, data_folder};
pub use number_ranges::NumberRanges;
pub use program_identity::program_identity;
pub use prune_mark::{PruneMark, RulePruning};
pub use raw::{FilePart, SweptObjects};
pub use raw_move::MovedObjects;
pub use raw_objects::RawInventory;
pub use raw_ref::RawRef;
pub use reservation::NewReservation;
pub use retention::{
    KeptReferences, RetainedKind, RetentionFate, RetentionReason, RetentionRow, RetentionTable,
};
pub use runner::{JOB_BEGAN_VARIABLE, JOB_VARIABLE, Runner, RunnerLease, this_machine};
pub use self_test::StoredSelfTest;
pub use spool::DeliveredTrials;
pub use stamp::StoreStamp;
pub use study::{
    ChangedFact, NewStudy, NewTarget, StudyDocument, StudyId, StudyRow, earlier_log_path, log_path,
};
pub use suite_run::SuiteRunRow;
pub use told::{ChannelState, PendingNews, ToldChange, ToldState};
pub use trial::{KeptOutput, ObservedTrial, StepRow, TrialRow};
pub use watch::{FindingKind, StandingJobRecord, StoredFinding, WatchStudy, WatchStudyPurpose};

use database::{Database, Expected, PostgresAddress};
use lease::LeaseRenewal;
use raw_objects::RawObjects;
use raw_table::RawTable;
use settings::SettingsPlace;
use settings_file::{FileStamp, SettingsFile};
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::Duration,
};

/// How long a store waits for another process before it says that it is locked.
const PATIENCE: Duration = Duration::from_secs(5);

/// A store that is open.
#[derive(Debug, Clone)]
pub struct Store {
    dir: PathBuf,
    location: StoreLocation,
    database: Database,
    raw: RawObjects,
    lease: Arc<OnceLock<LeaseRenewal>>,
    /// The settings as they were when it was opened.
    settings: FileStamp,
}

impl Store {
    /// Opens the store at this place, making it when it isn't there: in a folder, which is made too, or in a database that exists.
    ///
    /// # Errors
    /// The folder can't be made or written, the disk is full, another process holds the store for longer than five
    /// seconds, its file is damaged, or a newer Backsight has written it. A database's server can't be reached, or has another
    /// store than before.
    pub async fn open(location: impl Into<StoreLocation>) -> Result<Self, StoreError> {
        Self::open_patiently(location, PATIENCE).await
    }

    /// Opens the store at this place if there is one. One that can't be written is opened to be read; what would write
    /// into it is then an error.
    ///
    /// # Errors
    /// There is none, it can't be read, or its database was lost; else as [`Store::open`].
    pub async fn open_existing(location: impl Into<StoreLocation>) -> Result<Self, StoreError> {
        let location = location.into();
        if let Some(address) = location.postgres()? {
            return Self::open_postgres(location, &address, PATIENCE, Expected::Store).await;
        }
        let dir = location.folder();
        let path = database::file_in(&dir);
        let settings = SettingsFile::new(&dir).stamp();
        let raw = RawObjects::open_to_read(&dir, PATIENCE)?;
        match fs::metadata(&path) {
            Ok(_) => {}
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(StoreError::file("read", path, error));
            }
            Err(_) if raw.has_objects().await? => return Err(raw.database_lost(path)),
            Err(_) => return Err(StoreError::NoStore { dir }),
        }
        match Self::open(&location).await {
            Err(error) if error.is_of_permissions() => {
                let database = Database::open_to_read(&dir, PATIENCE, &raw).await?;
                Ok(Self::new(location, database, raw, settings))
            }
            opened => opened,
        }
    }

    /// As [`Store::open`], waiting this long where another process holds the store.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub async fn open_patiently(
        location: impl Into<StoreLocation>,
        patience: Duration,
    ) -> Result<Self, StoreError> {
        let location = location.into();
        if let Some(address) = location.postgres()? {
            return Self::open_postgres(location, &address, patience, Expected::Anything).await;
        }
        let dir = location.folder();
        let settings = SettingsFile::new(&dir).stamp();
        let raw = RawObjects::open(&dir, patience)?;
        let database = Database::open(&dir, patience, &raw).await?;
        Ok(Self::new(location, database, raw, settings))
    }

    async fn open_postgres(
        location: StoreLocation,
        address: &PostgresAddress,
        patience: Duration,
        expected: Expected,
    ) -> Result<Self, StoreError> {
        let folder = location.folder();
        let database = Database::open_postgres(address, &folder, patience, expected).await?;
        let settings = SettingsPlace::of(&folder, &database).read().await?;
        let table = RawTable::new(database.clone(), patience);
        let raw = RawObjects::of_database(table, &settings, &folder)?;
        let settings = SettingsFile::new(&folder).stamp();
        Ok(Self::new(location, database, raw, settings))
    }

    fn new(
        location: StoreLocation,
        database: Database,
        raw: RawObjects,
        settings: FileStamp,
    ) -> Self {
        Self {
            dir: location.folder(),
            location,
            database,
            raw,
            settings,
            lease: Arc::default(),
        }
    }

    /// The folder that it is in; of a store in a database, the folder of what this controller keeps for itself.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where it is.
    pub fn location(&self) -> &StoreLocation {
        &self.location
    }

    /// Says to other controllers that this process is there, and goes on saying it for as long as the store is open.
    async fn keep_lease(&self) -> Result<(), StoreError> {
        let Some(runner) = Runner::this_process() else {
            return Ok(());
        };
        // At once: what is claimed next is looked at by others.
        if !self.database.renew_lease(&runner).await? || self.lease.get().is_some() {
            return Ok(());
        }
        if let Some(address) = self.location.postgres()? {
            let renewal = LeaseRenewal::begin(address.options().clone(), runner);
            let renewal =
                renewal.map_err(|e| StoreError::file("renew a lease in", &self.dir, e))?;
            let _ = self.lease.set(renewal);
        }
        Ok(())
    }

    /// Closes it and waits until the database's files are settled. A store that is only dropped is as durable, but
    /// leaves its write-ahead log for the next one to clean up.
    pub async fn close(self) {
        self.database.close().await;
    }

    /// Which raw outputs there are.
    ///
    /// # Errors
    /// The store's own.
    pub async fn raw_inventory(&self) -> Result<RawInventory, StoreError> {
        self.raw.inventory().await
    }

    /// What a step printed.
    ///
    /// # Errors
    /// The object was pruned ([`StoreError::Pruned`]), or is missing or damaged.
    pub async fn raw(&self, raw: &RawRef) -> Result<Vec<u8>, StoreError> {
        // A cache on another machine than the one that pruned may still have it.
        if self.raw.bucket().is_some()
            && let Some(mark) = self.prune_mark(raw).await?
        {
            return Err(StoreError::Pruned { raw: *raw, mark });
        }
        match self.raw.read(*raw).await {
            Err(StoreError::RawDamaged { .. }) if self.is_moved().await? => Err(self.moved()),
            Err(damaged @ StoreError::RawDamaged { .. }) => match self.prune_mark(raw).await? {
                Some(mark) => Err(StoreError::Pruned { raw: *raw, mark }),
                None => Err(damaged),
            },
            read => read,
        }
    }
}
