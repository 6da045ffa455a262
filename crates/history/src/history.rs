//! What every kind of history can do.
//!
//! Nothing is guessed: a version that doesn't exist, a reversed and an empty range are errors with a way out.

use backsight_model::{Change, ChangedFile, Every, Range, Version};
use std::path::Path;

/// What is wrong with a history or with what was asked of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HistoryError {
    /// No such version.
    #[error("`{requested}` is no version of {target}{}", instead(.near.as_deref(), .known.as_ref()))]
    Unknown {
        /// What was asked for.
        requested: String,
        /// The history, as a user knows it.
        target: String,
        /// The nearest that there is.
        near: Option<String>,
        /// The first and the last that there are, where they are few enough to be known.
        known: Option<(String, String)>,
    },
    /// The older end is the newer one.
    #[error("the range is reversed: {to} comes before {from}; exchange the two")]
    Reversed {
        /// What was given as the older end.
        from: String,
        /// What was given as the newer end.
        to: String,
    },
    /// Neither end comes before the other.
    #[error("{from} and {to} are on different branches: neither comes before the other")]
    Unrelated {
        /// What was given as the older end.
        from: String,
        /// What was given as the newer end.
        to: String,
    },
    /// Nothing lies in the range.
    #[error("no version lies in this range: {what}")]
    Empty {
        /// The range, and what could be asked instead.
        what: String,
    },
    /// The repository isn't complete: a shallow clone.
    #[error(
        "{what} is a shallow clone: its history is cut off; complete it with `git fetch --unshallow`"
    )]
    Shallow {
        /// The repository.
        what: String,
    },
    /// Whatever else went wrong, with the place and the way out.
    #[error("{0}")]
    Other(String),
}

impl HistoryError {
    /// The same about ends as they were asked for, where others were made of them before.
    #[must_use]
    pub fn about(self, from: &str, to: &str) -> Self {
        let (from, to) = (from.to_owned(), to.to_owned());
        match self {
            Self::Reversed { .. } => Self::Reversed { from, to },
            Self::Unrelated { .. } => Self::Unrelated { from, to },
            other => other,
        }
    }
}

/// What could be asked for instead of a version that there isn't.
fn instead(near: Option<&str>, known: Option<&(String, String)>) -> String {
    match (near, known) {
        (Some(near), _) => format!(": did you mean `{near}`?"),
        (None, Some((first, last))) if first == last => format!(": it has only {first}"),
        (None, Some((first, last))) => format!(": it has those from {first} to {last}"),
        (None, None) => String::new(),
    }
}

/// The history of a target.
///
/// Versions come in order, oldest first. Calls may take long: they read disks, and the network where the
/// target's source lies there.
pub trait History: Send + Sync {
    /// The version that this text names: an identity, a name, a tag, a date.
    ///
    /// # Errors
    /// There is none, or the text could be several.
    fn resolve(&self, asked: &str) -> Result<Version, HistoryError>;

    /// The versions of a range, thinned to a step; both ends are always among them.
    ///
    /// # Errors
    /// An end that doesn't exist, a reversed or an empty range.
    fn versions(&self, range: &Range, every: &Every) -> Result<Vec<Version>, HistoryError>;

    /// For each of these versions, whether it has reached this point: a version, a commit that it contains, or a date
    /// on or after which it was made.
    ///
    /// # Errors
    /// There is no such point.
    fn reached(&self, point: &str, versions: &[Version]) -> Result<Vec<bool>, HistoryError>;

    /// For each of these versions, by its identity, whether it is on the line that leads to the newest one. Where a history has no
    /// branches, all are.
    ///
    /// # Errors
    /// The history can't be read.
    fn on_line(&self, ids: &[String]) -> Result<Vec<bool>, HistoryError> {
        Ok(vec![true; ids.len()])
    }

    /// What lies between two versions: after `from`, up to and including `to`, oldest first. Nothing is known of
    /// what is between packages unless they bring a change log.
    ///
    /// # Errors
    /// The history can't be read.
    fn between(&self, from: &Version, to: &Version) -> Result<Vec<Change>, HistoryError>;

    /// The newest version that both of these come from: where one branch left the other. Nothing where they share none, or the history
    /// has no branches.
    ///
    /// # Errors
    /// The history can't be read.
    fn common_ancestor(
        &self,
        _one: &Version,
        _other: &Version,
    ) -> Result<Option<Version>, HistoryError> {
        Ok(None)
    }

    /// The difference between two versions as a unified diff, of at most so many bytes; nothing where the history
    /// can't say.
    ///
    /// # Errors
    /// The history can't be read.
    fn diff(
        &self,
        from: &Version,
        to: &Version,
        most: usize,
    ) -> Result<Option<String>, HistoryError>;

    /// The files that differ between two versions, with lines added and removed; nothing where the history can't say.
    ///
    /// # Errors
    /// The history can't be read.
    fn changed_files(
        &self,
        _from: &Version,
        _to: &Version,
    ) -> Result<Option<Vec<ChangedFile>>, HistoryError> {
        Ok(None)
    }

    /// The unified diff that takes one change back, as a whole; and what people call the change. Nothing where the history
    /// can't say.
    ///
    /// # Errors
    /// There is no such change, or no diff can say it.
    fn undo(&self, _asked: &str) -> Result<Option<(String, String)>, HistoryError> {
        Ok(None)
    }

    /// Makes the tree hold exactly this version's files. Files that are the same already keep their times, so that
    /// `make` sees what has changed; those that a build left (not of the history's) stay.
    ///
    /// # Errors
    /// The version can't be had, or the tree not written.
    fn check_out(&self, version: &Version, tree: &Path) -> Result<(), HistoryError>;
}
