//! The database behind a store: SQLite in a folder, or PostgreSQL on a server. Opening, schema, transactions, rows.
//!
//! The queries elsewhere are the same for both ([`crate::query`]). What each engine needs of its own is in `database/sqlite.rs` and
//! `database/postgres.rs`: opening, and what its errors mean. Schema changes are written for both; [`for_postgres`] says what
//! PostgreSQL reads in their place.
//!
//! A schema that isn't known is an error.

mod postgres;
mod sqlite;

use sqlx::{
    SqlSafeStr,
    migrate::{MigrateError, Migration, MigrationType, Migrator},
};
use std::{
    future::poll_fn,
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
    task::Poll,
    time::Duration,
};
use tempfile::TempDir;
use tokio_stream::StreamExt as _;

use crate::{
    StoreError,
    query::{AnswerColumn, Executor, Pool, Query, RowStream, Transaction, query_scalar},
};

pub(crate) use crate::query::AnswerRow;
pub(crate) use postgres::{Expected, PostgresAddress};
pub(crate) use sqlite::file_in;

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
    (
        26,
        "controllers",
        include_str!("../migrations/0026_controllers.sql"),
    ),
    (27, "queue", include_str!("../migrations/0027_queue.sql")),
    (28, "told", include_str!("../migrations/0028_told.sql")),
    (29, "watch", include_str!("../migrations/0029_watch.sql")),
    (30, "access", include_str!("../migrations/0030_access.sql")),
    (31, "slurm", include_str!("../migrations/0031_slurm.sql")),
    (
        32,
        "settings",
        include_str!("../migrations/0032_store_setting.sql"),
    ),
    (
        33,
        "findings of histories",
        include_str!("../migrations/0033_history_findings.sql"),
    ),
    (
        34,
        "indices",
        include_str!("../migrations/0034_indices.sql"),
    ),
    (
        35,
        "side versions",
        include_str!("../migrations/0035_side_versions.sql"),
    ),
];

/// So many rows are waited for one by one.
const FEW_ROWS: usize = 64;
/// Then SQLite's thread gets so long to go ahead.
const HEAD_START: Duration = Duration::from_millis(1);

#[derive(Debug, Clone)]
pub(crate) struct Database {
    pool: Pool,
    /// SQLite's file, or the address of a PostgreSQL database without its password.
    path: PathBuf,
    /// A copy that is read in place of a database that can't be opened where it is; goes with the last user.
    _copy: Option<Arc<TempDir>>,
}

impl Database {
    /// SQLite's file, or the address of a PostgreSQL database: for messages.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) async fn close(&self) {
        match &self.pool {
            Pool::Sqlite(pool) => pool.close().await,
            Pool::Postgres(pool) => pool.close().await,
        }
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// A transaction that will write. SQLite takes the write lock at once: one that reads first and takes it later
    /// fails where it could have waited.
    pub(crate) async fn begin(&self) -> Result<Transaction, StoreError> {
        let begun = match &self.pool {
            Pool::Sqlite(pool) => pool.begin_with("BEGIN IMMEDIATE").await.map(Into::into),
            Pool::Postgres(pool) => {
                return self
                    .again_if_cut(|| async { pool.begin().await.map(Into::into) })
                    .await;
            }
        };
        begun.map_err(|error| self.fault(error))
    }

    /// A transaction that gives new rows of a table the next number, or changes who a row belongs to: no other one of the same table
    /// runs meanwhile. SQLite has one writer anyway; on PostgreSQL two would see the same greatest number.
    pub(crate) async fn begin_alone(&self, table: &'static str) -> Result<Transaction, StoreError> {
        let mut tx = self.begin().await?;
        self.lock_numbers(&mut tx, table).await?;
        Ok(tx)
    }

    /// As [`Database::begin_alone`], in a transaction that has begun.
    pub(crate) async fn lock_numbers(
        &self,
        tx: &mut Transaction,
        table: &'static str,
    ) -> Result<(), StoreError> {
        if let Pool::Postgres(_) = &self.pool {
            let locked = crate::query::query("SELECT pg_advisory_xact_lock($1)")
                .bind(postgres::lock_key(table))
                .execute(&mut **tx)
                .await;
            locked.map_err(|error| self.fault(error))?;
        }
        Ok(())
    }

    /// A transaction whose questions see the database as it is at one moment, while others write.
    pub(crate) async fn begin_to_read(&self) -> Result<Transaction, StoreError> {
        let begun = match &self.pool {
            Pool::Sqlite(pool) => pool.begin().await.map(Into::into),
            Pool::Postgres(pool) => {
                let begin = || async {
                    let begun = pool.begin_with(postgres::BEGIN_TO_READ).await;
                    begun.map(Into::into)
                };
                return self.again_if_cut(begin).await;
            }
        };
        begun.map_err(|error| self.fault(error))
    }

    /// Every row of an answer, for answers that are short.
    pub(crate) async fn rows(&self, query: Query) -> Result<Vec<AnswerRow>, StoreError> {
        match &self.pool {
            Pool::Sqlite(_) => {
                let rows = query.fetch_all(&self.pool).await;
                rows.map_err(|error| self.fault(error))
            }
            Pool::Postgres(_) => {
                let ask = || query.clone().fetch_all(&self.pool);
                self.again_if_cut(ask).await
            }
        }
    }

    /// Executes a statement alone; how many rows it changed.
    pub(crate) async fn execute(&self, query: Query) -> Result<u64, StoreError> {
        let done = query.execute(&self.pool).await;
        let done = done.map_err(|error| self.fault(error))?;
        Ok(done.rows_affected())
    }

    /// Executes a statement that does nothing more when it is executed again.
    pub(crate) async fn execute_again(&self, query: Query) -> Result<(), StoreError> {
        let execute = || query.clone().execute(&self.pool);
        self.again_if_cut(execute).await.map(drop)
    }

    /// Gives every row of an answer to `take`, for answers that may have very many.
    pub(crate) async fn each_row(
        &self,
        query: Query,
        take: impl FnMut(&AnswerRow) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.each_row_of(&self.pool, query, take).await
    }

    /// The same of one connection: several questions of a transaction see the database as it is at one moment.
    pub(crate) async fn each_row_of(
        &self,
        connection: impl Into<Executor<'_>>,
        query: Query,
        mut take: impl FnMut(&AnswerRow) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut rows = match query.fetch(connection) {
            RowStream::Sqlite(rows) => rows,
            RowStream::Postgres(mut rows) => {
                while let Some(row) = rows.next().await {
                    take(&row.map_err(|e| self.fault(e))?.into())?;
                }
                return Ok(());
            }
        };
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
                Some(row) => take(&row.map_err(|e| self.fault(e))?.into())?,
                None => return Ok(()),
            }
            taken += 1;
        }
    }

    /// What an error of the database means to a person.
    pub(crate) fn fault(&self, error: sqlx::Error) -> StoreError {
        match &self.pool {
            Pool::Sqlite(_) => sqlite::fault(&self.path, error),
            Pool::Postgres(_) => postgres::fault(&self.path, error),
        }
    }

    /// A column of a row.
    pub(crate) fn column<'r, T: AnswerColumn<'r>>(
        &self,
        row: &'r AnswerRow,
        name: &str,
    ) -> Result<T, StoreError> {
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
        let migrator = Migrator::with_migrations(self.migrations(MIGRATIONS.len()));
        let made = match &self.pool {
            Pool::Sqlite(pool) => migrator.run(pool).await,
            Pool::Postgres(pool) => migrator.run(pool).await,
        };
        made.map_err(|error| match error {
            MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => {
                self.fault(error)
            }
            other => StoreError::Damaged {
                path: self.path.clone(),
                detail: other.to_string(),
            },
        })
    }

    /// The first so many schema changes, as this engine reads them.
    fn migrations(&self, first: usize) -> Vec<Migration> {
        let migration = |(version, name, sql): &(i64, &'static str, &'static str)| {
            let sql = match &self.pool {
                Pool::Sqlite(_) => sql.into_sql_str(),
                Pool::Postgres(_) => sqlx::AssertSqlSafe(for_postgres(sql)).into_sql_str(),
            };
            let kind = MigrationType::Simple;
            Migration::new(*version, (*name).into(), kind, sql, false)
        };
        MIGRATIONS.iter().take(first).map(migration).collect()
    }

    /// The numbers of the schema changes that were made; none in a new database.
    async fn schema(&self) -> Result<Vec<i64>, StoreError> {
        let made = query_scalar("SELECT version FROM _sqlx_migrations")
            .fetch_all(&self.pool)
            .await;
        match made {
            Ok(versions) => Ok(versions),
            Err(error) if self.lacks_table(&error) => Ok(Vec::new()),
            Err(error) => Err(self.fault(error)),
        }
    }

    fn lacks_table(&self, error: &sqlx::Error) -> bool {
        match &self.pool {
            Pool::Sqlite(_) => sqlite::lacks_table(error),
            Pool::Postgres(_) => postgres::lacks_table(error),
        }
    }
}

/// A schema change as PostgreSQL reads it:
///
/// - Texts are compared byte by byte, as SQLite does it, and not by the rules of the server's language.
/// - `INTEGER PRIMARY KEY` numbers rows by itself in SQLite alone.
fn for_postgres(sql: &str) -> String {
    const NUMBERED: &str = "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY";
    let words = sql.replace("INTEGER PRIMARY KEY", NUMBERED);
    let lines = words.lines().map(|line| {
        let (code, comment) = line.split_at(line.find("--").unwrap_or(line.len()));
        let code = code.replace(" TEXT", " TEXT COLLATE \"C\"");
        format!("{code}{comment}\n")
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Store, StoreLocation, query::query};
    use backsight_test_needs::{Need, PostgresServer};

    /// A store as each earlier version left it is brought up.
    async fn brought_up(place: impl Fn() -> StoreLocation) {
        for first in 0..MIGRATIONS.len() {
            let location = place();
            let database = bare(&location).await;
            let migrator = Migrator::with_migrations(database.migrations(first));
            match &database.pool {
                Pool::Sqlite(pool) => migrator.run(pool).await.unwrap(),
                Pool::Postgres(pool) => migrator.run(pool).await.unwrap(),
            }
            let made = "INSERT INTO study (id, name, verb, arguments, seed, began, state) \
                        VALUES (1, 'old', 'run', '{}', 1, '2024-02-29T23:59:59Z', 'finished')";
            if first > 0 {
                query(made).execute(database.pool()).await.unwrap();
            }
            database.close().await;
            let store = Store::open(location).await.unwrap();
            let studies = store.studies().await.unwrap();
            assert_eq!(studies.len(), usize::from(first > 0), "{first}");
            assert!(store.self_tests().await.unwrap().is_empty());
            store.close().await;
        }
    }

    /// A database without any schema.
    async fn bare(location: &StoreLocation) -> Database {
        let pool = match location.postgres().unwrap() {
            Some(address) => {
                let pool = sqlx::PgPool::connect_with(address.options().clone()).await;
                Pool::Postgres(pool.unwrap())
            }
            None => {
                let options = sqlx::sqlite::SqliteConnectOptions::new()
                    .filename(file_in(&location.folder()))
                    .create_if_missing(true)
                    .journal_mode(sqlx::sqlite::SqliteJournalMode::Wal);
                Pool::Sqlite(sqlx::SqlitePool::connect_with(options).await.unwrap())
            }
        };
        Database {
            pool,
            path: location.folder(),
            _copy: None,
        }
    }

    #[tokio::test]
    async fn every_earlier_schema_in_a_file_is_brought_up() {
        let folders = tempfile::tempdir().unwrap();
        let place = || {
            let folder = tempfile::tempdir_in(folders.path()).unwrap();
            StoreLocation::from(folder.keep())
        };
        brought_up(place).await;
    }

    #[tokio::test]
    async fn every_earlier_schema_on_a_server_is_brought_up() {
        if Need::PostgresqlServer.is_missing() {
            return;
        }
        let folders = tempfile::tempdir().unwrap();
        let place = || {
            let folder = tempfile::tempdir_in(folders.path()).unwrap();
            let url = PostgresServer::shared().new_database();
            StoreLocation::from(url).with_controller_folder(folder.keep())
        };
        brought_up(place).await;
    }

    #[test]
    fn texts_are_compared_byte_by_byte_on_a_server_and_comments_stay() {
        let sql =
            "CREATE TABLE t (\n    id INTEGER PRIMARY KEY, -- a TEXT\n    a TEXT NOT NULL\n);";
        assert_eq!(
            for_postgres(sql),
            "CREATE TABLE t (\n    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, -- a TEXT\n    \
             a TEXT COLLATE \"C\" NOT NULL\n);\n"
        );
    }

    #[tokio::test]
    async fn a_lock_that_is_held_leaves_no_broken_transaction_behind() {
        if Need::PostgresqlServer.is_missing() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let url = PostgresServer::shared().new_database();
        let location = StoreLocation::from(url).with_controller_folder(folder.path());
        let store = Store::open(location).await.unwrap();
        let db = &store.database;
        let held = db.hold_lock("test", false, Duration::ZERO).await.unwrap();
        for _ in 0..20 {
            let refused = db.hold_lock("test", true, Duration::ZERO).await;
            assert!(matches!(refused, Err(StoreError::Locked { .. })));
            assert!(store.studies().await.unwrap().is_empty());
        }
        drop(held);
        db.hold_lock("test", true, Duration::from_secs(5))
            .await
            .unwrap();
    }
}
