//! Whether something was written since: cheap enough to be asked twice a second.

use std::{fs, time::SystemTime};

use crate::Store;

/// What a store's database was like. Two that differ say that something was written between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreStamp {
    /// When SQLite's two files were written last, and how long they are.
    Files([Option<(SystemTime, u64)>; 2]),
    /// How many rows a server has written; it says so a second later. Nothing where it can't be asked.
    Rows(Option<i64>),
}

impl Store {
    /// What it is like now. What is written into a file of SQLite goes into the write-ahead log, and from time to time from there into
    /// the database.
    pub async fn stamp(&self) -> StoreStamp {
        if self.database.is_shared() {
            return StoreStamp::Rows(self.database.rows_written().await);
        }
        let database = self.database.path();
        let mut log = database.as_os_str().to_owned();
        log.push("-wal");
        let of = |path: &std::path::Path| {
            let known = fs::metadata(path).ok()?;
            Some((known.modified().ok()?, known.len()))
        };
        StoreStamp::Files([of(database), of(log.as_ref())])
    }
}
