//! Histories of targets: which versions there are, what lies between them, and how any of them is put into
//! a tree, built, cached and brought to run.
//!
//! A [`History`] is one small trait over git, CVS, packages and commands of one's own.
//!
//! A repository of the user's is only read.
//!
//! ```
//! use backsight_history::Diff;
//!
//! let text = "--- a/src/lib.c\n+++ b/src/lib.c\n@@ -1 +1 @@\n-int a;\n+int b;\n";
//! let patch = Diff::patch("rename.patch", text.to_owned())?;
//! assert_eq!(patch.text, text);
//! assert!(Diff::patch("empty.patch", String::new()).is_err());
//! # Ok::<(), backsight_history::HistoryError>(())
//! ```

mod amend;
mod blocking;
mod cache;
mod cached_builds;
mod compilers;
mod cvs;
mod diff;
mod file_lock;
#[doc(hidden)]
pub mod fuzzing;
mod git;
mod history;
mod kept_build;
mod line;
mod list;
mod open;
mod packages;
mod program;
mod recipe;
mod temp_dirs;
mod tree;
mod when;
mod work_tree;
mod workshop_error;

pub use amend::Diff;
pub use cached_builds::{CachedBuild, cached_builds, remove_builds};
pub use git::{UncommittedChanges, WorkingCopy};
pub use history::{History, HistoryError};
pub use kept_build::kept_programs;
pub use open::open;
pub use recipe::{BuildLocation, Workshop};
pub use work_tree::TreeWaitListener;
pub use workshop_error::WorkshopError;

/// The known name that is most like what was asked for, if any is like it at all.
fn nearest<'a>(asked: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    known
        .into_iter()
        .map(|name| {
            let begins_alike = strsim::jaro_winkler(asked, name);
            let mistyped = strsim::normalized_damerau_levenshtein(asked, name);
            (begins_alike.max(mistyped), name)
        })
        .filter(|(likeness, _)| *likeness > 0.65)
        .max_by(|a, b| a.0.total_cmp(&b.0).then_with(|| b.1.cmp(a.1)))
        .map(|(_, name)| name.to_owned())
}
