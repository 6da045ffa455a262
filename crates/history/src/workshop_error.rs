//! Errors of a workshop.

use backsight_conductor::ConnectError;
use std::{
    io,
    path::{Path, PathBuf},
};

use crate::HistoryError;

/// Why nothing can be built for now. It says nothing about the version.
#[derive(Debug, thiserror::Error)]
pub enum WorkshopError {
    /// The history's own.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// The agent that runs the commands can't be had.
    #[error(transparent)]
    Bench(#[from] ConnectError),
    /// A file or folder can't be read or written.
    #[error("can't {doing} {}: {cause}", .path.display())]
    File {
        /// What was tried.
        doing: &'static str,
        /// Where.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// The disk is full.
    #[error("no room left in {} while {version} was being built: make room, then go on", .place.display())]
    NoRoom {
        /// The folder.
        place: PathBuf,
        /// The version.
        version: String,
    },
    /// The target's file asks for what can't be.
    #[error("{0}")]
    Recipe(String),
    /// What is to be changed on top of a version can't be applied to it.
    #[error("{version}: {why}")]
    Amendment {
        /// The version.
        version: String,
        /// Which amendment, and where it fails.
        why: String,
    },
}

pub(crate) fn file(
    doing: &'static str,
    path: &Path,
) -> impl FnOnce(io::Error) -> WorkshopError + use<> {
    let path = path.to_owned();
    move |cause| WorkshopError::File { doing, path, cause }
}
