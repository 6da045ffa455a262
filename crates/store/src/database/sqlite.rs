//! A database in a file: how SQLite opens it, and what its errors mean.

use sqlx::{
    ConnectOptions, Connection,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};
use std::{
    fs::{self, File},
    io::{self, Read},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use super::Database;
use crate::{StoreError, holder, query::Pool, raw_objects::RawObjects};

/// Rows that the database's thread may be ahead of us.
const ROWS_AHEAD: usize = 4096;

/// Less free space than this is a full disk, whatever SQLite calls the error.
const NO_ROOM: u64 = 256 * 1024;

/// The database's file in a store's folder.
pub(crate) fn file_in(dir: &Path) -> PathBuf {
    dir.join("backsight.db")
}

impl Database {
    pub(crate) async fn open(
        dir: &Path,
        patience: Duration,
        raw: &RawObjects,
    ) -> Result<Self, StoreError> {
        let path = file_in(dir);
        // Two processes that open a new store together must not both set it up.
        let alone = match is_set_up(&path) {
            true => None,
            false => {
                let alone = raw.alone().await?;
                // Outputs are written under the lock, into a store that is set up: these had another database.
                if !is_set_up(&path) && is_empty(&path) && raw.has_objects().await? {
                    return Err(raw.database_lost(path));
                }
                Some(alone)
            }
        };
        let options = connect_options(&path, patience)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            // A commit is on disk when it returns: FULL, not WAL's usual NORMAL.
            .synchronous(SqliteSynchronous::Full);
        let database = Self::connect(options, path, patience).await?;
        if database.lacks_migrations().await? {
            let _alone = match alone {
                Some(alone) => alone,
                None => raw.alone().await?,
            };
            if database.schema().await?.is_empty() && raw.has_objects().await? {
                return Err(raw.database_lost(database.path));
            }
            database.migrate().await?;
        }
        Ok(database)
    }

    /// Opens a database that can't be written where it is. It is read in place where SQLite can do that; else, and where
    /// its schema is an older one, from a copy: what stands in its write-ahead log only can't be read without writing.
    pub(crate) async fn open_to_read(
        dir: &Path,
        patience: Duration,
        raw: &RawObjects,
    ) -> Result<Self, StoreError> {
        let path = file_in(dir);
        if is_empty(&path) && raw.has_objects().await? {
            return Err(raw.database_lost(path));
        }
        let in_place = connect_options(&path, patience).read_only(true);
        // Without a log nobody writes it now, and SQLite needs none of its own files beside it.
        let has_log = beside(&path, "-wal")
            .metadata()
            .is_ok_and(|log| log.len() > 0);
        let unchanging = (!has_log).then(|| in_place.clone().immutable(true));
        for options in std::iter::once(in_place).chain(unchanging) {
            if let Ok(database) = Self::connect(options, path.clone(), patience).await
                && matches!(database.lacks_migrations().await, Ok(false))
            {
                return Ok(database);
            }
        }
        Self::open_copy(&path, patience).await
    }

    async fn open_copy(path: &Path, patience: Duration) -> Result<Self, StoreError> {
        let unreadable = |error| StoreError::file("read", path, error);
        File::open(path).map_err(unreadable)?;
        let not_copied = |source| StoreError::File {
            doing: "copy into a temporary folder",
            path: path.to_owned(),
            source,
        };
        let folder = tempfile::Builder::new()
            .prefix("backsight-store-")
            .tempdir()
            .map_err(not_copied)?;
        let copy = file_in(folder.path());
        fs::copy(path, &copy).map_err(not_copied)?;
        match fs::copy(beside(path, "-wal"), beside(&copy, "-wal")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(not_copied(error)),
            _ => {}
        }
        for file in [&copy, &beside(&copy, "-wal")] {
            if file.exists() {
                // The copy has the original's permissions.
                fs::set_permissions(file, fs::Permissions::from_mode(0o600)).map_err(not_copied)?;
            }
        }
        let options = connect_options(&copy, patience);
        let mut database = Self::connect(options, path.to_owned(), patience).await?;
        if database.lacks_migrations().await? {
            database.migrate().await?;
        }
        // What is written into a copy would be lost.
        database.close().await;
        let options = connect_options(&copy, patience).read_only(true);
        database = Self::connect(options, path.to_owned(), patience).await?;
        database._copy = Some(Arc::new(folder));
        Ok(database)
    }

    async fn connect(
        options: SqliteConnectOptions,
        path: PathBuf,
        patience: Duration,
    ) -> Result<Self, StoreError> {
        let pool = SqlitePoolOptions::new()
            .max_connections(4)
            .acquire_timeout(patience * 2)
            .test_before_acquire(false)
            // On a full disk SQLite rolls back by itself, and sqlx doesn't notice that the transaction is over:
            // such a connection would refuse every later one. The ping waits for what is still queued.
            .after_release(|connection, _| {
                Box::pin(async move {
                    connection.ping().await?;
                    Ok(!connection.is_in_transaction())
                })
            })
            .connect_with(options)
            .await
            .map_err(|error| fault(&path, error))?;
        Ok(Self {
            pool: Pool::Sqlite(pool),
            path,
            _copy: None,
        })
    }
}

fn connect_options(path: &Path, patience: Duration) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .foreign_keys(true)
        .busy_timeout(patience)
        .row_buffer_size(ROWS_AHEAD)
        .disable_statement_logging()
}

/// A file of SQLite's own beside a database.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.to_owned().into_os_string();
    name.push(suffix);
    PathBuf::from(name)
}

/// Whether there is no database, or a file without anything in it.
fn is_empty(path: &Path) -> bool {
    fs::metadata(path).map_or(true, |file| file.len() == 0)
}

/// Whether the file's header says that it has a write-ahead log, which is the first thing that we set: SQLite doesn't
/// wait for others there.
fn is_set_up(path: &Path) -> bool {
    let mut header = [0; 20];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut header));
    read.is_ok() && header[18..] == [2, 2]
}

/// Whether a question was about a table that isn't there.
pub(super) fn lacks_table(error: &sqlx::Error) -> bool {
    const ERROR: u32 = 1;
    code(error) == Some(ERROR)
}

/// SQLite's extended result code.
fn code(error: &sqlx::Error) -> Option<u32> {
    error.as_database_error()?.code()?.parse().ok()
}

/// What an error of SQLite means to a person.
pub(super) fn fault(path: &Path, error: sqlx::Error) -> StoreError {
    const BUSY: u32 = 5;
    const LOCKED: u32 = 6;
    const READ_ONLY: u32 = 8;
    const IO_ERROR: u32 = 10;
    const CORRUPT: u32 = 11;
    const FULL: u32 = 13;
    const CANNOT_OPEN: u32 = 14;
    // Somebody kept a lock all through SQLite's own attempts to read the log: its word is "locking protocol".
    const PROTOCOL: u32 = 15;
    const NOT_A_DATABASE: u32 = 26;

    let path = path.to_owned();
    // The low byte is the primary result code.
    match code(&error).map(|code| code & 0xff) {
        Some(BUSY | LOCKED | PROTOCOL) => locked(path),
        Some(FULL) => StoreError::Full { path },
        Some(IO_ERROR | CANNOT_OPEN) if no_room(&path) => StoreError::Full { path },
        Some(READ_ONLY) => StoreError::ReadOnly { path },
        Some(CANNOT_OPEN) => StoreError::File {
            doing: "open",
            path,
            source: io::Error::other(error.to_string()),
        },
        Some(CORRUPT | NOT_A_DATABASE) => StoreError::Damaged {
            path,
            detail: error.to_string(),
        },
        _ => match error {
            sqlx::Error::PoolTimedOut => locked(path),
            sqlx::Error::ColumnDecode { .. } | sqlx::Error::ColumnNotFound(_) => {
                StoreError::Damaged {
                    path,
                    detail: error.to_string(),
                }
            }
            source => StoreError::Database { path, source },
        },
    }
}

fn locked(path: PathBuf) -> StoreError {
    let by = holder::of_any(&[&path, &beside(&path, "-shm"), &beside(&path, "-wal")]);
    StoreError::Locked { path, by }
}

fn no_room(path: &Path) -> bool {
    let dir = path.parent().unwrap_or(path);
    rustix::fs::statvfs(dir).is_ok_and(|fs| fs.f_bavail * fs.f_frsize < NO_ROOM)
}
