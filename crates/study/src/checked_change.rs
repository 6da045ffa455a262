//! The change that `check` measures: a working copy beside the version that it is to be merged into.
//!
//! Compared is with the common ancestor of both, so that what others did on the branch meanwhile isn't blamed on the change. What isn't
//! committed is a patch on top of the commit that is checked out.

use backsight_history::{Diff, HistoryError, UncommittedChanges, WorkingCopy};
use backsight_model::Version;
use std::path::Path;

use crate::{OpenTarget, resolve_version};

/// What the patch of everything that isn't committed is called.
const UNCOMMITTED: &str = "uncommitted work";

/// A base and a version beside it.
#[derive(Debug, Clone)]
pub struct CheckedChange {
    /// What it is compared with.
    pub base: Version,
    /// The version that is checked out, with what isn't committed on top.
    pub head: Version,
    /// The diff of what isn't committed, if anything isn't.
    pub diffs: Vec<Diff>,
    /// What people call the version that is checked out.
    pub called: String,
    /// What a reader should know of what is measured, a sentence each.
    pub notes: Vec<String>,
}

/// Which change is checked.
#[derive(Debug, Clone)]
pub struct ChangeSelection {
    /// The base as it was asked for: `origin/main`.
    pub base: String,
    /// Whether it is compared with that itself, and not with where it left that.
    pub tip: bool,
    /// Whether what isn't committed is left out.
    pub committed: bool,
}

/// The working copy that a folder is in, with its whole history.
///
/// # Errors
/// The folder is in no repository, or in a shallow clone.
pub fn working_copy(folder: &Path) -> miette::Result<WorkingCopy> {
    let found = WorkingCopy::containing(folder);
    let found = found.map_err(|error| miette::Report::msg(error.to_string()))?;
    let Some(copy) = found else {
        return Err(miette::miette!(
            help = "go to a folder of the repository whose change is to be checked",
            "{} is in no git repository",
            folder.display()
        ));
    };
    match copy.is_shallow {
        false => Ok(copy),
        true => Err(miette::miette!(
            help = "complete it: `git fetch --unshallow`; in GitHub Actions `fetch-depth: 0` for actions/checkout, in GitLab CI the variable GIT_DEPTH: 0",
            "{} is a shallow clone: its history is cut off, so that nobody knows where this change left its base",
            copy.folder.display()
        )),
    }
}

impl CheckedChange {
    /// Finds both sides in the target's history.
    ///
    /// # Errors
    /// The base is unknown or shares no history, the target is another repository, or there is no change.
    pub async fn find(
        copy: &WorkingCopy,
        opened: &OpenTarget,
        selection: &ChangeSelection,
    ) -> miette::Result<Self> {
        let mut notes = Vec::new();
        let uncommitted = match selection.committed {
            true => UncommittedChanges::default(),
            false => copy.uncommitted_changes().map_err(no_patch)?,
        };
        let commit = copy.head.clone();
        let head = opened.query(move |history| history.resolve(&commit)).await;
        let mut head = head.map_err(|_| another_repository(copy, opened))?;
        let (of_head, base) = (head.clone(), selection.base.clone());
        let found = opened.query(move |history| {
            let base = resolve_version(history, &base)?;
            let left = history.common_ancestor(&of_head, &base)?;
            Ok((base, left))
        });
        let (asked, left) = found.await.map_err(|error| {
            let help = match selection.base.split_once('/') {
                Some((remote, branch)) => format!("fetch it first: `git fetch {remote} {branch}`"),
                None => "name a branch, a tag or a commit of this repository".to_owned(),
            };
            miette::miette!(help = help, "no base to compare with: {error}")
        })?;
        let base = match (selection.tip, left) {
            (true, _) => asked,
            (false, Some(left)) => left,
            (false, None) => {
                return Err(miette::miette!(
                    help = "name the branch that this one began at, or compare with that version itself: --tip",
                    "{} and the commit that is checked out share no history",
                    selection.base
                ));
            }
        };
        let mut diffs = Vec::new();
        if !uncommitted.diff.is_empty() {
            let diff = Diff::patch(UNCOMMITTED, uncommitted.diff).map_err(no_patch)?;
            head.amendments.push(diff.amendment.clone());
            diffs.push(diff);
            notes.push(format!(
                "{} with changes that aren't committed is measured; --committed leaves these out",
                head.name
            ));
        }
        if uncommitted.untracked > 0 {
            notes.push(match uncommitted.untracked {
                1 => "1 file that git doesn't track is left out".to_owned(),
                files => format!("{files} files that git doesn't track are left out"),
            });
        }
        if head.id == base.id && diffs.is_empty() {
            return Err(miette::miette!(
                help = "check out the change, or name what it is to be merged into with --base",
                "there is nothing to check: what is checked out, {}, is in {} already, and no file is changed",
                head.name,
                selection.base
            ));
        }
        if !selection.tip {
            notes.push(format!(
                "the base is {}{}",
                base.name,
                match base.id.starts_with(&selection.base) || selection.base == base.name {
                    true => String::new(),
                    false => format!(", where this change left {}", selection.base),
                }
            ));
        }
        Ok(Self {
            called: copy.branch.clone().unwrap_or_else(|| "HEAD".to_owned()),
            base,
            head,
            diffs,
            notes,
        })
    }
}

/// Why what isn't committed can't be measured.
fn no_patch(error: HistoryError) -> miette::Report {
    miette::miette!(help = "commit it, or leave it out: --committed", "{error}")
}

/// The target's history isn't that of the working copy.
fn another_repository(copy: &WorkingCopy, opened: &OpenTarget) -> miette::Report {
    miette::miette!(
        help = "name the repository itself in the target's file, as a path from there: source = { git = { url = \"..\" } }",
        "the history of target `{}` hasn't the commit {} that is checked out in {}",
        *opened.target.name,
        copy.head,
        copy.folder.display()
    )
}
