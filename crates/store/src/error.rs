//! What can go wrong with a store, in words that say what to do about it.

use backsight_model::{JobState, StudyName};
use std::{io, path::PathBuf};

use crate::{BucketError, PruneMark, RawRef};

/// Why a store couldn't do what it was asked to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no store in the folder.
    #[error(
        "there is no store in {}: nothing has been measured there yet; `backsight run` makes one, or name another folder",
        dir.display()
    )]
    NoStore {
        /// The folder.
        dir: PathBuf,
    },
    /// The folder or a file in it can't be written or read.
    #[error(
        "can't {doing} {}: {source}; a store needs a folder that you may write to: mend its permissions or name another folder",
        path.display()
    )]
    File {
        /// What was tried.
        doing: &'static str,
        /// With which file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// No room is left where the store is.
    #[error(
        "the disk that {} is on is full: nothing half-written was kept; make room (`backsight prune` and `backsight delete STUDY` do; where these find no room either, remove something else there), then `backsight resume` the study, if there is one",
        path.display()
    )]
    Full {
        /// The store, or the file that had no room.
        path: PathBuf,
    },
    /// Another process holds the store.
    #[error(
        "the store {} is locked {by}: wait until that is done or end it, then try again; a study that was stopped by this goes on with `backsight resume`",
        path.display()
    )]
    Locked {
        /// The database or lock file.
        path: PathBuf,
        /// Who holds it, as far as the system tells: `by process 123 (sqlite3)`.
        by: String,
    },
    /// The store was written by a newer Backsight.
    #[error(
        "the store {} has schema {found}, this Backsight knows none above {known}: use the newer Backsight that wrote it, or another folder",
        path.display()
    )]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its schema's number.
        found: i64,
        /// The newest schema that this program knows.
        known: i64,
    },
    /// The database is damaged, or no database of ours.
    #[error(
        "the store {} is damaged or is no store of Backsight: {detail}; move it away and put a copy back, or name another folder",
        path.display()
    )]
    Damaged {
        /// The database.
        path: PathBuf,
        /// What was found.
        detail: String,
    },
    /// A raw object isn't what it was.
    #[error(
        "raw output {raw} is damaged: {}: {detail}; the samples taken from it are in the database still, the trial can be measured anew in another study",
        path.display()
    )]
    RawDamaged {
        /// The object.
        raw: RawRef,
        /// Its file.
        path: PathBuf,
        /// What was found.
        detail: String,
    },
    /// A raw object was removed by a rule.
    #[error("raw output {raw} was {mark}; the samples taken from it are in the database still")]
    Pruned {
        /// The object.
        raw: RawRef,
        /// When, and by which rule.
        mark: PruneMark,
    },
    /// Stored samples aren't what was recorded.
    #[error(
        "the samples of trial {trial} of study {study} in {} are damaged: they aren't what was recorded; `backsight store check --repair` takes them from its raw output again",
        path.display()
    )]
    SamplesDamaged {
        /// The study: its name as messages have it, or its number.
        study: String,
        /// The trial's number.
        trial: i64,
        /// The database.
        path: PathBuf,
    },
    /// There is no database, or nothing in it, where there are raw outputs.
    #[error(
        "{} is missing or empty, and {} holds raw outputs of studies: its database was lost; put a copy of it back, or move the folder away to begin anew",
        path.display(), raw.display()
    )]
    DatabaseLost {
        /// The database.
        path: PathBuf,
        /// The folder of raw objects.
        raw: PathBuf,
    },
    /// Something was to be written into a store that can only be read.
    #[error(
        "{} can only be read here, and nothing can be recorded or removed: mend its permissions, or work on a copy of the store's folder",
        path.display()
    )]
    ReadOnly {
        /// The database.
        path: PathBuf,
    },
    /// A job is to come after one that isn't there, or that ended otherwise than asked.
    #[error(
        "no job can come after job {job}: {}",
        state.map_or("there is none; `backsight queue list --all` lists them".to_owned(), |state| format!("it is {state}"))
    )]
    NoDependency {
        /// The job that isn't there, or is over.
        job: i64,
        /// How it ended.
        state: Option<JobState>,
    },
    /// A process is run for a job by a worker that was killed before it began a study.
    #[error(
        "job {job} isn't run by this process any more: its worker is gone, and the job is begun anew"
    )]
    JobLost {
        /// The job.
        job: i64,
    },
    /// Somebody else has reserved it.
    #[error(
        "`{name}` is reserved by {by} until {until}: `backsight reserve --list` lists reservations"
    )]
    Reserved {
        /// What is reserved.
        name: String,
        /// Who has it.
        by: String,
        /// Until when.
        until: jiff::Timestamp,
    },
    /// A study's name would be taken for the number of one.
    #[error(
        "a study can't be called `{name}`: it would be taken for the number of a study; put a letter into its name"
    )]
    NameIsNumber {
        /// The name.
        name: String,
    },
    /// A study of that name exists.
    #[error(
        "there is a study `{name}` already ({state}): choose another name, go on with it (`backsight resume {name}`), or remove it (`backsight delete {name}`)"
    )]
    NameTaken {
        /// The name.
        name: String,
        /// Where the existing study stands.
        state: String,
    },
    /// No study is called that.
    #[error("there is no study `{requested}`: {}", known_studies(suggestion.as_deref(), known))]
    NoSuchStudy {
        /// The name or number that was asked for.
        requested: String,
        /// The name that was perhaps meant.
        suggestion: Option<String>,
        /// The newest studies that there are.
        known: Vec<String>,
    },
    /// The study is being run by another process.
    #[error(
        "study `{name}` is being measured by process {pid}: wait until it is done, or stop it (`kill -INT {pid}`) and try again"
    )]
    InUse {
        /// The study.
        name: String,
        /// The process.
        pid: u32,
    },
    /// The study is being run by a process of another machine.
    #[error(
        "study `{name}` is being measured on {host}, by process {pid} there: wait until it is done, or stop it there (`kill -INT {pid}`) and try again; where that machine is gone, its study is free half a minute after"
    )]
    InUseElsewhere {
        /// The study.
        name: String,
        /// The process.
        pid: u32,
        /// Its machine's name.
        host: String,
    },
    /// The study went to another runner while this process was not heard of.
    #[error(
        "trial {trial} of study `{name}` isn't recorded: {} measures the study since; this process wasn't heard of for too long",
        host.as_deref().unwrap_or("another process")
    )]
    Superseded {
        /// The study.
        name: String,
        /// The trial's number.
        trial: u32,
        /// Where its runner is now, if that is known.
        host: Option<String>,
    },
    /// The study has no such trial.
    #[error("study {study} has no trial {trial}: `backsight show {study}` lists its trials")]
    NoSuchTrial {
        /// The study.
        study: i64,
        /// The trial asked for.
        trial: u32,
    },
    /// A trial was to be recorded that is there already.
    #[error(
        "trial {trial} (cell {cell}, round {round}) of study {study} is recorded already: it is not recorded twice, so that no sample is doubled"
    )]
    Twice {
        /// The study.
        study: i64,
        /// The trial's number.
        trial: u32,
        /// The cell's number in the plan.
        cell: usize,
        /// The round.
        round: u32,
    },
    /// Something was to be recorded that doesn't belong to its study.
    #[error("this doesn't belong to study {study}: {what}")]
    Stray {
        /// The study.
        study: i64,
        /// What doesn't fit.
        what: String,
    },
    /// A stored value can't be understood.
    #[error(
        "the store {} says `{value}` where {expected} should be: it was changed by something else, or damaged; put a copy back",
        path.display()
    )]
    Content {
        /// The database.
        path: PathBuf,
        /// What was expected.
        expected: &'static str,
        /// What stands there.
        value: String,
    },
    /// What was given as a database's address can't be used.
    #[error("can't open the store {}: {why}; an address is postgres://[USER@]HOST[:PORT]/DATABASE", address.display())]
    BadAddress {
        /// The address, without a password.
        address: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A database's server can't be reached, or doesn't let us in.
    #[error(
        "the store {} can't be reached: {why}; see that its server runs and lets this user in (`psql` with the same address), then try again; a study that was stopped by this goes on with `backsight resume`",
        path.display()
    )]
    Unreachable {
        /// The database's address, without a password.
        path: PathBuf,
        /// What was said.
        why: String,
    },
    /// Another database is at the address than before.
    #[error(
        "the database at {} isn't the store that was there before: it is empty, or another store; nothing was written. If the server failed over to a wrong copy, mend that; if you mean this one, remove {}",
        path.display(), remembered.display()
    )]
    OtherStore {
        /// The database's address, without a password.
        path: PathBuf,
        /// The file that says which store was there before.
        remembered: PathBuf,
    },
    /// The bucket with the raw objects didn't do what it was asked to.
    #[error(transparent)]
    Bucket(Box<BucketError>),
    /// The store's settings can't be understood.
    #[error("{}: {detail}; `backsight schema store` says what settings there are", path.display())]
    Settings {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        detail: String,
    },
    /// The raw objects were moved after the store was opened.
    #[error(
        "the settings of the store in {} changed after it was opened: its raw outputs may be elsewhere now; start again, a study goes on with `backsight resume`",
        dir.display()
    )]
    SettingsChanged {
        /// The store's folder.
        dir: PathBuf,
    },
    /// Raw objects are to be moved out of a database into a folder.
    #[error(
        "the store {} is in a database, which other controllers use: its raw outputs are in the database or in a bucket, and not in a folder",
        path.display()
    )]
    RawInDatabase {
        /// The database's address, without a password.
        path: PathBuf,
    },
    /// Raw objects are to be moved into a database that isn't there.
    #[error(
        "the store {} is in a folder: its raw outputs are in the folder or in a bucket; `backsight store copy` copies all of it into a database",
        path.display()
    )]
    RawInFolder {
        /// The store's folder.
        path: PathBuf,
    },
    /// Raw objects are to be moved while studies are measured.
    #[error(
        "study `{study}` is being measured: raw outputs are moved when nothing is; wait until it is done, or stop it"
    )]
    Measuring {
        /// The study.
        study: String,
    },
    /// The program is about to end and starts nothing new.
    #[error("Backsight is being stopped: the store takes nothing new; `backsight resume` goes on")]
    Stopping,
    /// Anything else that the database says.
    #[error("the store {}: {source}", path.display())]
    Database {
        /// The database.
        path: PathBuf,
        /// What it said.
        source: sqlx::Error,
    },
}

impl StoreError {
    /// Whether something couldn't be written that can perhaps be read.
    pub(crate) fn is_of_permissions(&self) -> bool {
        match self {
            Self::ReadOnly { .. } => true,
            Self::File { source, .. } => matches!(
                source.kind(),
                io::ErrorKind::PermissionDenied
                    | io::ErrorKind::ReadOnlyFilesystem
                    // What SQLite couldn't open.
                    | io::ErrorKind::Other
            ),
            _ => false,
        }
    }

    /// The same of samples of the study of this name.
    pub(crate) fn of_study(mut self, name: &StudyName) -> Self {
        if let Self::SamplesDamaged { study, .. } = &mut self {
            *study = format!("`{name}`");
        }
        self
    }

    /// An error of the file system, told apart by what can be done about it.
    pub(crate) fn file(doing: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        let path = path.into();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full { path },
            _ => Self::File {
                doing,
                path,
                source,
            },
        }
    }
}

fn known_studies(suggestion: Option<&str>, known: &[String]) -> String {
    match (suggestion, known) {
        (Some(name), _) => format!("did you mean `{name}`? `backsight studies` lists all"),
        (None, []) => "the store holds none yet; `backsight run` makes one".to_owned(),
        (None, known) => format!(
            "the newest are {}; `backsight studies` lists all",
            known.join(", ")
        ),
    }
}
