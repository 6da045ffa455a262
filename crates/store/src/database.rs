//! The database behind a store: opening, schema, transactions, and what its errors mean.
//!
//! This is the only place that knows that it is SQLite. The queries elsewhere use `$1` placeholders and what
//! PostgreSQL understands too.
//!
//! A schema that isn't known is an error.

use sqlx::{
    ConnectOptions, Connection, Row, SqlSafeStr, Sqlite, SqlitePool, Transaction,
    migrate::{MigrateError, Migration, MigrationType, Migrator},
    query::Query,
    sqlite::{
        SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteRow, SqliteSynchronous,
    },
};
use std::{
    fs::{self, File},
    future::poll_fn,
    io::{self, Read},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
    task::Poll,
    time::Duration,
};
use tempfile::TempDir;
use tokio_stream::StreamExt as _;

use crate::{StoreError, holder, raw::RawFolder};

/// Schema changes, oldest first. A published one is never edited: add the next.
const MIGRATIONS: &[(i64, &str, &str)] = &[
    (1, "studies", include_str!("../migrations/0001_studies.sql")),
    (
        2,
        "simulators",
        include_str!("../migrations/0002_simulators.sql"),
    ),
    (
        3,
        "amendments",
        include_str!("../migrations/0003_amendments.sql"),
    ),
    (
        5,
        "monitors",
        include_str!("../migrations/0004_monitors.sql"),
    ),
    (
        6,
        "acceptances",
        include_str!("../migrations/0005_acceptances.sql"),
    ),
    (
        7,
        "metrics of monitors",
        include_str!("../migrations/0006_metrics_of_monitors.sql"),
    ),
    (
        8,
        "testbeds",
        include_str!("../migrations/0007_testbeds.sql"),
    ),
    (
        9,
        "sessions",
        include_str!("../migrations/0008_sessions.sql"),
    ),
    (
        10,
        "primary metrics",
        include_str!("../migrations/0010_primary_metrics.sql"),
    ),
    (
        12,
        "checksums of samples",
        include_str!("../migrations/0011_checksums_of_samples.sql"),
    ),
    (
        13,
        "hosts of trials",
        include_str!("../migrations/0012_hosts_of_trials.sql"),
    ),
    (
        14,
        "records of hosts",
        include_str!("../migrations/0013_host_records.sql"),
    ),
    (
        15,
        "self-tests",
        include_str!("../migrations/0014_self_tests.sql"),
    ),
    (
        16,
        "instances",
        include_str!("../migrations/0015_instances.sql"),
    ),
    (
        17,
        "drawn settings",
        include_str!("../migrations/0016_drawn_settings.sql"),
    ),
    (
        18,
        "compilers",
        include_str!("../migrations/0017_compilers.sql"),
    ),
    (
        19,
        "meetings",
        include_str!("../migrations/0018_meetings.sql"),
    ),
    (
        20,
        "runs of suites",
        include_str!("../migrations/0019_suite_runs.sql"),
    ),
    (21, "pruned", include_str!("../migrations/0020_pruned.sql")),
    (22, "triage", include_str!("../migrations/0021_triage.sql")),
    (
        23,
        "core files",
        include_str!("../migrations/0022_core_files.sql"),
    ),
    (24, "jobs", include_str!("../migrations/0023_jobs.sql")),
    (
        25,
        "annotations",
        include_str!("../migrations/0024_annotations.sql"),
    ),
];

/// Rows that the database's thread may be ahead of us.
const ROWS_AHEAD: usize = 4096;
/// So many rows are waited for one by one.
const FEW_ROWS: usize = 64;
/// Then the database's thread gets so long to go ahead.
const HEAD_START: Duration = Duration::from_millis(1);

/// Less free space than this is a full disk, whatever SQLite calls the error.
const NO_ROOM: u64 = 256 * 1024;

/// The kind of database, for the types of queries.
pub(crate) type DatabaseKind = Sqlite;
/// A row of an answer.
pub(crate) type AnswerRow = SqliteRow;

/// The database's file in a store's folder.
pub(crate) fn file_in(dir: &Path) -> PathBuf {
    dir.join("backsight.db")
}

#[derive(Debug, Clone)]
pub(crate) struct Database {
    pool: SqlitePool,
    path: PathBuf,
    /// A copy that is read in place of a database that can't be opened where it is; goes with the last user.
    _copy: Option<Arc<TempDir>>,
}

impl Database {
    pub(crate) async fn open(
        dir: &Path,
        patience: Duration,
        raw: &RawFolder,
    ) -> Result<Self, StoreError> {
        let path = file_in(dir);
        // Two processes that open a new store together must not both set it up.
        let alone = match is_set_up(&path) {
            true => None,
            false => {
                let alone = raw.alone().await?;
                // Outputs are written under the lock, into a store that is set up: these had another database.
                if !is_set_up(&path) && is_empty(&path) && raw.has_objects()? {
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
            if database.schema().await?.is_empty() && raw.has_objects()? {
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
        raw: &RawFolder,
    ) -> Result<Self, StoreError> {
        let path = file_in(dir);
        if is_empty(&path) && raw.has_objects()? {
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
        database.pool.close().await;
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
            pool,
            path,
            _copy: None,
        })
    }

    /// The database's file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) async fn close(&self) {
        self.pool.close().await;
    }

    pub(crate) fn pool(&self) -> &SqlitePool {
        &self.pool
    }

    /// A transaction that will write. It takes the write lock at once: one that reads first and takes it later
    /// fails where it could have waited.
    pub(crate) async fn begin(&self) -> Result<Transaction<'static, DatabaseKind>, StoreError> {
        self.pool
            .begin_with("BEGIN IMMEDIATE")
            .await
            .map_err(|error| self.fault(error))
    }

    /// Every row of an answer, for answers that are short.
    pub(crate) async fn rows<'q>(
        &self,
        query: Query<'q, DatabaseKind, <DatabaseKind as sqlx::Database>::Arguments>,
    ) -> Result<Vec<AnswerRow>, StoreError> {
        let rows = query.fetch_all(&self.pool).await;
        rows.map_err(|error| self.fault(error))
    }

    /// Gives every row of an answer to `take`, for answers that may have very many.
    pub(crate) async fn each_row<'q>(
        &self,
        query: Query<'q, DatabaseKind, <DatabaseKind as sqlx::Database>::Arguments>,
        take: impl FnMut(&AnswerRow) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.each_row_of(&self.pool, query, take).await
    }

    /// The same of one connection: several questions of a transaction see the database as it is at one moment.
    pub(crate) async fn each_row_of<'q>(
        &self,
        connection: impl sqlx::Executor<'_, Database = DatabaseKind>,
        query: Query<'q, DatabaseKind, <DatabaseKind as sqlx::Database>::Arguments>,
        mut take: impl FnMut(&AnswerRow) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut rows = query.fetch(connection);
        let mut taken = 0;
        loop {
            // The database's thread wakes us for every row that we wait for, which takes longer than the row: after
            // the first few, it gets a head start instead.
            let ready = poll_fn(|context| Poll::Ready(rows.as_mut().poll_next(context))).await;
            let row = match ready {
                Poll::Ready(row) => row,
                Poll::Pending if taken < FEW_ROWS => rows.next().await,
                Poll::Pending => {
                    tokio::time::sleep(HEAD_START).await;
                    continue;
                }
            };
            match row {
                Some(row) => take(&row.map_err(|e| self.fault(e))?)?,
                None => return Ok(()),
            }
            taken += 1;
        }
    }

    /// What an error of the database means to a person.
    pub(crate) fn fault(&self, error: sqlx::Error) -> StoreError {
        fault(&self.path, error)
    }

    /// A column of a row.
    pub(crate) fn column<'r, T>(&self, row: &'r AnswerRow, name: &str) -> Result<T, StoreError>
    where
        T: sqlx::Decode<'r, DatabaseKind> + sqlx::Type<DatabaseKind>,
    {
        row.try_get(name).map_err(|error| self.fault(error))
    }

    /// A whole number that can't be negative.
    pub(crate) fn whole<N: TryFrom<i64>>(
        &self,
        row: &AnswerRow,
        name: &str,
    ) -> Result<N, StoreError> {
        let number: i64 = self.column(row, name)?;
        N::try_from(number).map_err(|_| self.strange("a whole number in range", number))
    }

    /// A text that says something by itself: a name, a unit, a time.
    pub(crate) fn parsed<T: FromStr>(
        &self,
        row: &AnswerRow,
        name: &str,
        expected: &'static str,
    ) -> Result<T, StoreError> {
        let text: &str = self.column(row, name)?;
        text.parse().map_err(|_| self.strange(expected, text))
    }

    /// What `read` makes of a column that has a text.
    fn if_any<T>(
        &self,
        row: &AnswerRow,
        name: &str,
        read: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let text: Option<&str> = self.column(row, name)?;
        text.map(|_| read()).transpose()
    }

    /// As [`Database::parsed`], of a column that may be empty.
    pub(crate) fn parsed_if_any<T: FromStr>(
        &self,
        row: &AnswerRow,
        name: &str,
        expected: &'static str,
    ) -> Result<Option<T>, StoreError> {
        self.if_any(row, name, || self.parsed(row, name, expected))
    }

    /// A JSON text, of a column that may be empty.
    pub(crate) fn json_if_any<T: serde::de::DeserializeOwned>(
        &self,
        row: &AnswerRow,
        name: &str,
        expected: &'static str,
    ) -> Result<Option<T>, StoreError> {
        self.if_any(row, name, || self.json(row, name, expected))
    }

    /// A JSON text.
    pub(crate) fn json<T: serde::de::DeserializeOwned>(
        &self,
        row: &AnswerRow,
        name: &str,
        expected: &'static str,
    ) -> Result<T, StoreError> {
        let text: &str = self.column(row, name)?;
        serde_json::from_str(text).map_err(|_| self.strange(expected, text))
    }

    /// A stored value that nobody could have stored.
    pub(crate) fn strange(&self, expected: &'static str, value: impl ToString) -> StoreError {
        StoreError::Content {
            path: self.path.clone(),
            expected,
            value: value.to_string().chars().take(80).collect(),
        }
    }

    async fn lacks_migrations(&self) -> Result<bool, StoreError> {
        let known = MIGRATIONS.last().map_or(0, |(version, ..)| *version);
        let made = self.schema().await?;
        match made.iter().max() {
            Some(found) if *found > known => Err(StoreError::Newer {
                path: self.path.clone(),
                found: *found,
                known,
            }),
            _ => Ok(MIGRATIONS
                .iter()
                .any(|(version, ..)| !made.contains(version))),
        }
    }

    async fn migrate(&self) -> Result<(), StoreError> {
        let migrations = MIGRATIONS
            .iter()
            .map(|(version, name, sql)| {
                Migration::new(
                    *version,
                    (*name).into(),
                    MigrationType::Simple,
                    sql.into_sql_str(),
                    false,
                )
            })
            .collect();
        Migrator::with_migrations(migrations)
            .run(&self.pool)
            .await
            .map_err(|error| match error {
                MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => {
                    self.fault(error)
                }
                other => StoreError::Damaged {
                    path: self.path.clone(),
                    detail: other.to_string(),
                },
            })
    }

    /// The numbers of the schema changes that were made; none in a new database.
    async fn schema(&self) -> Result<Vec<i64>, StoreError> {
        let made = sqlx::query_scalar("SELECT version FROM _sqlx_migrations")
            .fetch_all(&self.pool)
            .await;
        match made {
            Ok(versions) => Ok(versions),
            // SQLITE_ERROR: there is no such table.
            Err(error) if code(&error) == Some(1) => Ok(Vec::new()),
            Err(error) => Err(self.fault(error)),
        }
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

/// SQLite's extended result code.
fn code(error: &sqlx::Error) -> Option<u32> {
    error.as_database_error()?.code()?.parse().ok()
}

fn fault(path: &Path, error: sqlx::Error) -> StoreError {
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
