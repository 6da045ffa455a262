//! The working copy of a repository that a person, or a CI job, stands in: which commit it is at, and what of it isn't committed.
//!
//! Only the objects are a history; what lies changed beside them becomes a patch. Untracked files are counted and left out. The `git`
//! program says what is changed, without writing into the repository.

use crate::HistoryError;
use crate::program::{LISTING, printable, run};
use gix::Repository;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{GitError, mirror};

/// The folder that marks a project of ours: its store is no part of what is measured.
const PROJECT: &str = ".backsight/";

/// A repository with files beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkingCopy {
    /// Its folder.
    pub folder: PathBuf,
    /// The full identity of the commit that it is at.
    pub head: String,
    /// The branch that is checked out, as people call it; none where it is a commit by itself.
    pub branch: Option<String>,
    /// Whether its history is cut off.
    pub is_shallow: bool,
}

/// What of a working copy isn't committed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UncommittedChanges {
    /// Changes of files that the repository has, as a diff for `patch -p1`; empty where there are none.
    pub diff: String,
    /// Files that it hasn't, and that it doesn't ignore.
    pub untracked: usize,
}

impl WorkingCopy {
    /// The one that a folder is in; none where it is in no repository.
    ///
    /// # Errors
    /// The repository can't be read, has no commit, or no files beside it.
    pub fn containing(folder: &Path) -> Result<Option<Self>, HistoryError> {
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let Ok(repository) = gix::discover(folder) else {
            return Ok(None);
        };
        let place = || repository.git_dir().display().to_string();
        let Some(work) = repository.workdir().map(Path::to_owned) else {
            return Err(HistoryError::Other(format!(
                "{} is a repository without files beside it",
                place()
            )));
        };
        let broken =
            |GitError(why)| HistoryError::Other(format!("{} can't be read: {why}", place()));
        let (head, branch) = head(&repository).map_err(broken)?;
        let is_shallow = repository.is_shallow();
        let Some(head) = head else {
            return Err(HistoryError::Empty {
                what: format!("the repository in {} has no commit yet", work.display()),
            });
        };
        Ok(Some(Self {
            folder: work,
            head,
            branch,
            is_shallow: is_shallow.map_err(|error| broken(error.into()))?,
        }))
    }

    /// What isn't committed.
    ///
    /// # Errors
    /// `git` isn't there or fails, or a binary file is changed, which no patch can say.
    pub fn uncommitted_changes(&self) -> Result<UncommittedChanges, HistoryError> {
        let mut diff = self.git();
        diff.args(["diff", "--no-ext-diff", "--no-textconv", "--no-color"])
            .args(["--no-renames", "--ignore-submodules"])
            .args(["--src-prefix=a/", "--dst-prefix=b/", "HEAD", "--"]);
        let printed = run(&mut diff, "asking what isn't committed", LISTING)?;
        let diff = String::from_utf8(printed).map_err(|_| {
            HistoryError::Other(
                "what isn't committed is no text, so that no patch can be made of it".into(),
            )
        })?;
        let binary = |line: &&str| line.starts_with("Binary files ") && line.ends_with(" differ");
        if let Some(line) = diff.lines().find(binary) {
            return Err(HistoryError::Other(format!(
                "no patch can be made of what isn't committed: {}",
                printable(line)
            )));
        }
        let mut untracked = self.git();
        untracked.args(["ls-files", "--others", "--exclude-standard", "-z"]);
        let printed = run(&mut untracked, "asking for files of no commit", LISTING)?;
        let files = printed.split(|byte| *byte == 0);
        let files = files.filter(|file| !file.is_empty() && !file.starts_with(PROJECT.as_bytes()));
        Ok(UncommittedChanges {
            diff,
            untracked: files.count(),
        })
    }

    fn git(&self) -> Command {
        let mut git = mirror::git();
        git.current_dir(&self.folder)
            .env("GIT_OPTIONAL_LOCKS", "0")
            .args(["-c", "core.quotePath=false", "-c", "core.fsmonitor=false"]);
        git
    }
}

/// The commit that is checked out, and its branch.
fn head(repository: &Repository) -> Result<(Option<String>, Option<String>), GitError> {
    let head = repository.head()?;
    let branch = head
        .referent_name()
        .map(|name| printable(&name.shorten().to_string()));
    if head.is_unborn() {
        return Ok((None, branch));
    }
    let id = head.into_peeled_id()?.detach();
    Ok((Some(id.to_string()), branch))
}
