//! What is changed on top of a version: patches of the user's own, and changes of the history taken back.
//!
//! A patch without changes, one that leaves the tree, and a change that no diff can take back are errors.

use backsight_model::Amendment;
use std::path::{Component, Path};

use crate::{History, HistoryError};

/// An amendment with the diff that makes it, to be applied with one folder stripped from its paths (`patch -p1`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diff {
    /// The amendment.
    pub amendment: Amendment,
    /// The unified diff.
    pub text: String,
}

impl Diff {
    /// A patch that the user gave.
    ///
    /// # Errors
    /// There is no change in it, or one of a file outside of the tree.
    pub fn patch(name: &str, text: String) -> Result<Self, HistoryError> {
        check(&text).map_err(|why| HistoryError::Other(format!("the patch {name} {why}")))?;
        Ok(Self {
            amendment: Amendment::Patch {
                name: name.to_owned(),
                content: digest(&text),
            },
            text,
        })
    }

    /// A change of the history taken back.
    ///
    /// # Errors
    /// The history has no such change, or can't say what it did.
    pub fn revert(history: &dyn History, asked: &str) -> Result<Self, HistoryError> {
        let Some((name, text)) = history.undo(asked)? else {
            return Err(HistoryError::Other(format!(
                "this history can't say what {asked} changed, so that it can't be reverted"
            )));
        };
        check(&text).map_err(|why| {
            HistoryError::Other(format!("{name} can't be reverted: its diff {why}"))
        })?;
        Ok(Self {
            amendment: Amendment::Revert {
                name,
                content: digest(&text),
            },
            text,
        })
    }

    /// The same amendment out of a text that was kept; nothing if it isn't that text.
    pub fn from_text(amendment: &Amendment, text: &str) -> Option<Self> {
        (amendment.content() == digest(text)).then(|| Self {
            amendment: amendment.clone(),
            text: text.to_owned(),
        })
    }
}

fn check(text: &str) -> Result<(), String> {
    let paths = paths(text);
    if paths.is_empty() {
        return Err(
            "holds no change: it is to be a unified diff, as `git diff` and `diff -u` print it"
                .into(),
        );
    }
    let outside = |path: &&&str| {
        let mut parts = Path::new(path).components();
        !parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
    };
    match paths.iter().find(outside) {
        Some(path) => Err(format!("changes {path}, which lies outside of the tree")),
        None => Ok(()),
    }
}

/// The files that a diff changes, as paths in the tree.
fn paths(text: &str) -> Vec<&str> {
    let mut paths = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(rest) = line.strip_prefix("diff --git a/") {
            paths.push(rest.split(" b/").next().unwrap_or(rest));
        }
        // A line that goes may begin alike; then the next one says no file.
        let next = lines.peek().and_then(|next| next.strip_prefix("+++ "));
        let (Some(before), Some(after)) = (line.strip_prefix("--- "), next) else {
            continue;
        };
        for named in [before, after] {
            let path = named.split('\t').next().unwrap_or_default().trim_end();
            if path != "/dev/null"
                && let Some((_, path)) = path.split_once('/')
            {
                paths.push(path);
            }
        }
    }
    paths
}

/// What identifies a diff.
fn digest(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..32].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIX: &str = "--- a/src/x.c\t2024\n+++ b/src/x.c\n@@ -1 +1 @@\n-1\n+2\n";

    #[test]
    fn a_patch_is_known_by_its_content() {
        let one = Diff::patch("fix.diff", FIX.into()).unwrap();
        let other = Diff::patch("fix.diff", FIX.replace('2', "3")).unwrap();
        assert_ne!(one.amendment.content(), other.amendment.content());
        assert_eq!(Diff::from_text(&one.amendment, FIX), Some(one.clone()));
        assert_eq!(Diff::from_text(&other.amendment, FIX), None);
    }

    #[test]
    fn what_is_no_change_or_leaves_the_tree_is_no_patch() {
        for (text, why) in [
            ("", "holds no change"),
            ("hello\n", "holds no change"),
            (&FIX.replace("src/x.c", "../x.c"), "outside of the tree"),
            (&FIX.replace("a/src", "a//etc"), "outside of the tree"),
        ] {
            let fault = Diff::patch("fix.diff", text.to_owned())
                .unwrap_err()
                .to_string();
            assert!(fault.contains(why) && fault.contains("fix.diff"), "{fault}");
        }
    }

    #[test]
    fn a_line_that_begins_as_the_name_of_a_file_is_none() {
        let text = FIX.replace("-1\n", "--- ../of a list\n");
        assert!(Diff::patch("fix.diff", text).is_ok());
    }
}
