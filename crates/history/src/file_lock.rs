//! Locks of files that processes share, waited for within a limit.

use std::{
    fs::{File, TryLockError},
    io,
    path::Path,
    thread,
    time::{Duration, Instant},
};

/// [`File::try_lock`] or [`File::try_lock_shared`].
type TryLock = fn(&File) -> Result<(), TryLockError>;

/// How often it is looked whether a lock is free.
const BETWEEN: Duration = Duration::from_millis(50);

/// The locked file at this path, which is made if it isn't there; nothing where others have had it for so long.
///
/// # Errors
/// It can't be made or locked.
pub(crate) async fn lock_within(
    path: &Path,
    limit: Duration,
    try_lock: TryLock,
) -> io::Result<Option<File>> {
    let (file, end) = (File::create(path)?, Instant::now() + limit);
    loop {
        match is_locked(&file, try_lock)? {
            true => return Ok(Some(file)),
            false if Instant::now() >= end => return Ok(None),
            false => tokio::time::sleep(BETWEEN).await,
        }
    }
}

/// The same on a thread that may wait.
///
/// # Errors
/// As [`lock_within`].
pub(crate) fn lock_within_blocking(
    path: &Path,
    limit: Duration,
    try_lock: TryLock,
) -> io::Result<Option<File>> {
    let (file, end) = (File::create(path)?, Instant::now() + limit);
    loop {
        match is_locked(&file, try_lock)? {
            true => return Ok(Some(file)),
            false if Instant::now() >= end => return Ok(None),
            false => thread::sleep(BETWEEN),
        }
    }
}

fn is_locked(file: &File, try_lock: TryLock) -> io::Result<bool> {
    match try_lock(file) {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}
