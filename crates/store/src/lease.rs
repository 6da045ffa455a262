//! Leases of runners in a database that several controllers share: a process that measures a study, or runs a job, says again and
//! again that it is there.
//!
//! Times are those of the database's clock alone, since clocks of controllers differ. A lease is renewed by a thread with a
//! connection of its own, so that work which blocks the process's loop doesn't lose it. Processes of this machine are looked up in
//! /proc instead ([`Runner::is_alive`]), which knows at once that one was killed.

use rustix::system::uname;
use sqlx::{ConnectOptions as _, Connection as _, PgConnection, postgres::PgConnectOptions};
use std::{
    sync::mpsc::{RecvTimeoutError, Sender, channel},
    thread,
    time::Duration,
};

use crate::{Runner, query::query, study::saturated};

/// How often a lease is renewed.
const RENEWED_EVERY: Duration = Duration::from_secs(5);
/// One renewal may take so long: a connection that hangs is given up.
const RENEWAL_LIMIT: Duration = Duration::from_secs(4);

/// Renews the lease of this process for as long as it lives.
#[derive(Debug)]
pub(crate) struct LeaseRenewal {
    _stop: Sender<()>,
}

/// This machine's name, for messages to people at others.
pub(crate) fn this_host() -> String {
    uname().nodename().to_string_lossy().into_owned()
}

/// Says that a process is there, by the database's clock.
pub(crate) const RENEW: &str = "INSERT INTO runner (boot, pid, start, host, seen) \
     VALUES ($1, $2, $3, $4, CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS DOUBLE PRECISION)) \
     ON CONFLICT (boot, pid, start) DO UPDATE SET seen = excluded.seen";

impl LeaseRenewal {
    /// Begins to renew the lease that this process has taken just now.
    pub(crate) fn begin(options: PgConnectOptions, runner: Runner) -> std::io::Result<Self> {
        let (stop, stopped) = channel();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        thread::Builder::new()
            .name("lease".to_owned())
            .spawn(move || {
                let mut connection = None;
                while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(RENEWED_EVERY) {
                    let renewed = async {
                        let renewal = renew(&options, connection.take(), &runner);
                        tokio::time::timeout(RENEWAL_LIMIT, renewal).await
                    };
                    // A server that is away is asked again; what it has forgotten by then, the study's next trial is told.
                    connection = runtime.block_on(renewed).ok().and_then(Result::ok);
                }
                if let Some(connection) = connection {
                    let _ = runtime.block_on(async {
                        tokio::time::timeout(RENEWAL_LIMIT, connection.close()).await
                    });
                }
            })?;
        Ok(Self { _stop: stop })
    }
}

async fn renew(
    options: &PgConnectOptions,
    connection: Option<PgConnection>,
    runner: &Runner,
) -> Result<PgConnection, sqlx::Error> {
    let mut connection = match connection {
        Some(connection) => connection,
        None => options.connect().await?,
    };
    query(RENEW)
        .bind(&runner.boot)
        .bind(i64::from(runner.pid))
        .bind(saturated(runner.start))
        .bind(this_host())
        .execute(&mut connection)
        .await?;
    Ok(connection)
}
