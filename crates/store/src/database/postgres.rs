//! A database on a PostgreSQL server: how it is reached, and what its errors mean.
//!
//! A connection that was cut, or a server that is being restarted, is asked again for as long as the store is patient. Commits wait for
//! the disk, whatever the server's configuration says.

use backsight_model::did_you_mean;
use sqlx::{
    ConnectOptions as _,
    postgres::{PgConnectOptions, PgPoolOptions, PgSslMode},
};
use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    str::FromStr as _,
    time::{Duration, Instant},
};

use super::Database;
use crate::{
    StoreError, StoreLocation,
    location::without_password,
    query::{Pool, Transaction, query, query_scalar},
};

/// Connections of one store: a trial that is recorded takes two of them.
const CONNECTIONS: u32 = 8;
/// How often a server that is away is asked again.
const ASK_AGAIN: Duration = Duration::from_millis(100);
/// A transaction that sees the database as it was when it began.
pub(super) const BEGIN_TO_READ: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
/// The options that an address may have.
const OPTIONS: [&str; 11] = [
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
    "sslmode",
    "ssl-mode",
    "application_name",
    "options",
    "statement-cache-capacity",
];
/// Options by which people ask for encryption.
const ENCRYPTION_OPTIONS: [&str; 9] = [
    "ssl",
    "tls",
    "sslrootcert",
    "ssl-root-cert",
    "ssl-ca",
    "sslcert",
    "ssl-cert",
    "sslkey",
    "ssl-key",
];
/// The file in the controller's folder that says which store this is.
const IDENTITY_FILE: &str = "store-identity";

/// How to reach a database.
#[derive(Clone)]
pub(crate) struct PostgresAddress {
    options: PgConnectOptions,
    /// Without a password.
    shown: PathBuf,
}

impl PostgresAddress {
    /// Reads a URL.
    pub(crate) fn new(url: &str) -> Result<Self, StoreError> {
        let shown = PathBuf::from(without_password(url));
        let unreadable = |why: String| StoreError::BadAddress {
            address: shown.clone(),
            why,
        };
        let options = PgConnectOptions::from_str(url).map_err(|e| unreadable(e.to_string()))?;
        if options.get_database().is_none_or(str::is_empty) {
            return Err(unreadable("it names no database".to_owned()));
        }
        check_options(url).map_err(unreadable)?;
        if let PgSslMode::Require | PgSslMode::VerifyCa | PgSslMode::VerifyFull =
            options.get_ssl_mode()
        {
            return Err(unreadable(unencrypted("sslmode")));
        }
        let options = options
            .application_name("backsight")
            .options([
                // Nothing that was acknowledged is lost, whatever the server's own setting is.
                ("synchronous_commit", "on"),
                // A lock is held by a transaction that waits.
                ("idle_in_transaction_session_timeout", "0"),
            ])
            .disable_statement_logging();
        Ok(Self { options, shown })
    }

    /// How to connect.
    pub(crate) fn options(&self) -> &PgConnectOptions {
        &self.options
    }
}

/// Refuses options of a URL that nothing would come of: whoever wrote one relies on it.
fn check_options(url: &str) -> Result<(), String> {
    let options = url.split_once('?').map_or("", |(_, options)| options);
    let options = options.split('#').next().unwrap_or_default();
    // Of a password that nobody escaped a part may stand there.
    let may_be_secret = options.contains('@');
    for option in options.split('&').filter(|option| !option.is_empty()) {
        let name = option.split('=').next().unwrap_or_default();
        let is_known = OPTIONS.contains(&name) || name.starts_with("options[");
        if is_known {
            continue;
        }
        if ENCRYPTION_OPTIONS.contains(&name) {
            return Err(unencrypted(name));
        }
        if may_be_secret {
            return Err("an option behind `?` isn't known".to_owned());
        }
        let near = did_you_mean(name, OPTIONS.iter().copied());
        let near = near.unwrap_or_else(|| format!("known are {}", OPTIONS.join(", ")));
        return Err(format!("the option `{name}` isn't known; {near}"));
    }
    Ok(())
}

/// What is said of an option that asks for encryption.
fn unencrypted(option: &str) -> String {
    format!(
        "{option} asks for an encrypted connection, which this Backsight can't make: use a unix socket, a tunnel (ssh, WireGuard), or sslmode=disable in a network that you trust"
    )
}

/// Whether a store has to be there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    Store,
    Anything,
}

/// Writes down which store it was, all at once: another process of this controller may open it for the first time at this moment.
fn remember(identity: &str, folder: &Path, file: &Path) -> io::Result<()> {
    let mut fresh = tempfile::NamedTempFile::new_in(folder)?;
    writeln!(fresh, "{identity}")?;
    fresh.persist(file)?;
    Ok(())
}

impl Database {
    /// Opens a database on a server; `folder` is the controller's own, where it remembers which store this was.
    pub(crate) async fn open_postgres(
        address: &PostgresAddress,
        folder: &Path,
        patience: Duration,
        expected: Expected,
    ) -> Result<Self, StoreError> {
        let path = address.shown.clone();
        // A first connection of its own says at once what is wrong with the address; a pool would go on asking.
        let first = tokio::time::timeout(patience * 2, address.options.connect()).await;
        let first = first.map_err(|_| away(&path, "it doesn't answer"))?;
        let first = first.map_err(|error| fault(&path, error))?;
        drop(first);
        let pool = PgPoolOptions::new()
            .max_connections(CONNECTIONS)
            .acquire_timeout(patience * 2)
            .test_before_acquire(false)
            .connect_lazy_with(address.options.clone());
        let database = Self {
            pool: Pool::Postgres(pool),
            path,
            _copy: None,
        };
        let identity_file = folder.join(IDENTITY_FILE);
        let known = match fs::read_to_string(&identity_file) {
            Ok(text) => Some(text.trim().to_owned()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(StoreError::file("read", identity_file, error)),
        };
        if database.schema().await?.is_empty() {
            if known.is_some() {
                return Err(database.other_store(identity_file));
            }
            if expected == Expected::Store {
                return Err(StoreError::NoStore { dir: database.path });
            }
        }
        if database.lacks_migrations().await? {
            database.migrate().await?;
        }
        let identity = database.identity().await?;
        match known {
            Some(known) if known == identity => {}
            Some(_) => return Err(database.other_store(identity_file)),
            None => {
                fs::create_dir_all(folder).map_err(|e| StoreError::file("make", folder, e))?;
                remember(&identity, folder, &identity_file)
                    .map_err(|error| StoreError::file("write", identity_file, error))?;
            }
        }
        Ok(database)
    }

    fn other_store(&self, remembered: PathBuf) -> StoreError {
        StoreError::OtherStore {
            path: self.path.clone(),
            remembered,
        }
    }

    /// Does something that changes nothing again where a connection was cut, for as long as the pool waits for a connection.
    pub(super) async fn again_if_cut<T, F: Future<Output = Result<T, sqlx::Error>>>(
        &self,
        ask: impl Fn() -> F,
    ) -> Result<T, StoreError> {
        let begun = Instant::now();
        let patience = match &self.pool {
            Pool::Postgres(pool) => pool.options().get_acquire_timeout(),
            Pool::Sqlite(_) => Duration::ZERO,
        };
        loop {
            match ask().await {
                Ok(answer) => return Ok(answer),
                Err(error) if is_cut(&error) && begun.elapsed() < patience => {
                    tokio::time::sleep(ASK_AGAIN).await;
                }
                Err(error) => return Err(self.fault(error)),
            }
        }
    }

    /// A transaction that holds a lock of the whole store until it is dropped; nothing is written in it.
    pub(crate) async fn hold_lock(
        &self,
        name: &str,
        is_shared: bool,
        patience: Duration,
    ) -> Result<Transaction, StoreError> {
        let Pool::Postgres(pool) = &self.pool else {
            return Err(self.strange("a database on a server", "SQLite"));
        };
        let (key, shared) = (lock_key(name), if is_shared { "_shared" } else { "" });
        // 0 would be for ever.
        let limit = patience.as_millis().max(1);
        let lock = format!(
            "SET LOCAL lock_timeout = {limit}; SELECT pg_advisory_xact_lock{shared}({key})"
        );
        // Not in one statement with BEGIN: where that fails, the connection would keep a transaction that nobody ends.
        let begin = || async {
            let mut tx = pool.begin().await?;
            let lock = sqlx::AssertSqlSafe(lock.clone());
            sqlx::raw_sql(lock).execute(&mut *tx).await?;
            Ok(tx.into())
        };
        self.again_if_cut(begin).await
    }

    /// How many rows were ever written on the server, but for leases that are renewed; nothing where it is SQLite, or can't be asked.
    pub(crate) async fn rows_written(&self) -> Option<i64> {
        let Pool::Postgres(_) = &self.pool else {
            return None;
        };
        let counted = query_scalar(
            "SELECT CAST(SUM(n_tup_ins + n_tup_upd + n_tup_del) AS BIGINT) FROM pg_stat_user_tables WHERE relname <> 'runner'",
        );
        counted.fetch_one(&self.pool).await.ok()
    }

    /// Says that a process is there; whether this database keeps such leases.
    pub(crate) async fn renew_lease(&self, runner: &crate::Runner) -> Result<bool, StoreError> {
        let Pool::Postgres(_) = &self.pool else {
            return Ok(false);
        };
        query(crate::lease::RENEW)
            .bind(&runner.boot)
            .bind(i64::from(runner.pid))
            .bind(crate::study::saturated(runner.start))
            .bind(crate::lease::this_host())
            .execute(&self.pool)
            .await
            .map_err(|error| self.fault(error))?;
        Ok(true)
    }

    /// Whether it is on a server.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self.pool, Pool::Postgres(_))
    }
}

/// The server's number for a lock of this name.
pub(super) fn lock_key(name: &str) -> i64 {
    let hash = blake3::hash(format!("backsight {name}").as_bytes());
    let mut first = [0; 8];
    first.copy_from_slice(&hash.as_bytes()[..8]);
    i64::from_le_bytes(first)
}

/// Whether a question was about a table that isn't there.
pub(super) fn lacks_table(error: &sqlx::Error) -> bool {
    code(error).as_deref() == Some("42P01")
}

fn code(error: &sqlx::Error) -> Option<String> {
    let code = error.as_database_error()?.code()?;
    Some(code.into_owned())
}

/// Whether the connection was cut, or there is none: what was asked may or may not have been done.
pub(crate) fn is_cut(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut => true,
        error => match code(error).as_deref() {
            // The server is being shut down, was killed or starts; the class of connections.
            Some("57P01" | "57P02" | "57P03" | "53300") => true,
            Some(code) => code.starts_with("08"),
            None => false,
        },
    }
}

/// What an error of PostgreSQL means to a person.
pub(super) fn fault(path: &Path, error: sqlx::Error) -> StoreError {
    if is_cut(&error) {
        return away(path, &words(&error));
    }
    let path = path.to_owned();
    match code(&error).as_deref() {
        // A lock, a deadlock, a transaction that must be repeated.
        Some("55P03" | "40P01" | "40001") => StoreError::Locked {
            path,
            by: "by another controller (`pg_stat_activity` on the server tells which)".to_owned(),
        },
        Some("53100") => StoreError::Full { path },
        // A standby, or a user who may only read.
        Some("25006" | "42501") => StoreError::ReadOnly { path },
        // No such database; a user or password that the server doesn't take.
        Some("3D000" | "28000" | "28P01") => away(&path, &words(&error)),
        _ => match error {
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

/// What the server or the system said.
fn words(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(said) => said.message().to_owned(),
        sqlx::Error::Io(said) => said.to_string(),
        other => other.to_string(),
    }
}

fn away(path: &Path, why: &str) -> StoreError {
    StoreError::Unreachable {
        path: path.to_owned(),
        why: why.to_owned(),
    }
}

impl StoreLocation {
    /// How to reach the database, where the store is in one.
    pub(crate) fn postgres(&self) -> Result<Option<PostgresAddress>, StoreError> {
        self.url().map(PostgresAddress::new).transpose()
    }
}
