//! Whether something was written since: cheap enough to be asked twice a second.

use std::{fs, time::SystemTime};

use crate::Store;

/// What the files of a store's database were like. Two that differ say that something was written between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreStamp([Option<(SystemTime, u64)>; 2]);

impl Store {
    /// What its files are like now. What is written goes into the write-ahead log, and from time to time from there into the
    /// database.
    pub fn stamp(&self) -> StoreStamp {
        let database = self.database.path();
        let mut log = database.as_os_str().to_owned();
        log.push("-wal");
        let of = |path: &std::path::Path| {
            let known = fs::metadata(path).ok()?;
            Some((known.modified().ok()?, known.len()))
        };
        StoreStamp([of(database), of(log.as_ref())])
    }
}
