//! Commits put together again from the revisions of files: CVS itself knows only these.
//!
//! A commit has at most one revision of a file.

use super::log::{FileLog, Name, Number, Revision};
use jiff::{SignedDuration, Timestamp};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Revisions of one commit follow each other at most so far apart, where no identity binds them: the files of a
/// large one are written one after the other.
const APART: SignedDuration = SignedDuration::from_mins(5);

/// A commit: what one person did to several files, under one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Commit {
    /// When its last revision was made.
    pub(super) at: Timestamp,
    pub(super) author: String,
    pub(super) message: String,
    /// The identity that newer servers give.
    pub(super) id: Option<String>,
    /// The files, with lines added and removed.
    pub(super) files: BTreeMap<String, Option<(u64, u64)>>,
}

/// The branches that any file has.
pub(super) fn branches(files: &[FileLog]) -> Vec<&str> {
    let names = files.iter().flat_map(|file| &file.names);
    let branches = names.filter(|(_, name)| matches!(name, Name::Branch(_)));
    let found: HashSet<&str> = branches.map(|(name, _)| name.as_str()).collect();
    let mut sorted: Vec<&str> = found.into_iter().collect();
    sorted.sort_unstable();
    sorted
}

/// The commits of a branch, or of the trunk, oldest first.
pub(super) fn commits(files: &[FileLog], branch: Option<&str>) -> Vec<Commit> {
    let mut revisions: Vec<(&str, &Revision)> = files
        .iter()
        .flat_map(|file| {
            let on_line = on_line(file, branch);
            on_line
                .into_iter()
                .map(|revision| (file.path.as_str(), revision))
        })
        .collect();
    revisions.sort_by(|a, b| (a.1.at, a.0, &a.1.number).cmp(&(b.1.at, b.0, &b.1.number)));
    let mut commits: Vec<Commit> = Vec::new();
    let mut open: HashMap<(&str, &str, Option<&str>), usize> = HashMap::new();
    for (path, revision) in revisions {
        let key = (
            revision.author.as_str(),
            revision.message.as_str(),
            revision.commit.as_deref(),
        );
        let lines = if revision.dead { None } else { revision.lines };
        let bound = open
            .get(&key)
            .map(|place| &mut commits[*place])
            .filter(|commit| {
                let near =
                    revision.commit.is_some() || revision.at.duration_since(commit.at) <= APART;
                near && !commit.files.contains_key(path)
            });
        if let Some(commit) = bound {
            commit.at = revision.at;
            commit.files.insert(path.to_owned(), lines);
            continue;
        }
        open.insert(key, commits.len());
        commits.push(Commit {
            at: revision.at,
            author: revision.author.clone(),
            message: revision.message.clone(),
            id: revision.commit.clone(),
            files: BTreeMap::from([(path.to_owned(), lines)]),
        });
    }
    commits.sort_by(|a, b| (a.at, &a.files).cmp(&(b.at, &b.files)));
    commits
}

/// A file's revisions on a branch or on the trunk.
fn on_line<'a>(file: &'a FileLog, branch: Option<&str>) -> Vec<&'a Revision> {
    if let Some(branch) = branch {
        let Some(Name::Branch(number)) = file.names.get(branch) else {
            return Vec::new();
        };
        return file
            .revisions
            .iter()
            .filter(|revision| is_on(&revision.number, number))
            .collect();
    }
    // As `cvs checkout -D` has it: what a vendor brought counts until the trunk went a way of its own.
    let vendor = [1, 1, 1];
    let own = file
        .revisions
        .iter()
        .filter(|revision| revision.number.len() == 2);
    let own_way = own
        .filter(|revision| revision.number != [1, 1])
        .map(|revision| revision.at)
        .min();
    let brought = |revision: &&Revision| {
        is_on(&revision.number, &vendor) && own_way.is_none_or(|own_way| revision.at < own_way)
    };
    let first_brought = file
        .revisions
        .iter()
        .any(|revision| revision.number == [1, 1, 1, 1]);
    let trunk = |revision: &&Revision| {
        // The first revision is the same as the vendor's, or only says that a branch added the file.
        let no_own = revision.number == [1, 1] && (first_brought || revision.dead);
        revision.number.len() == 2 && !no_own
    };
    file.revisions
        .iter()
        .filter(|revision| trunk(revision) || brought(revision))
        .collect()
}

fn is_on(revision: &Number, branch: &[u32]) -> bool {
    revision.len() == branch.len() + 1 && revision.starts_with(branch)
}

/// When the last of the revisions with this tag was made, as far as they are on the line.
pub(super) fn tagged(files: &[FileLog], branch: Option<&str>, tag: &str) -> Option<Timestamp> {
    files
        .iter()
        .filter_map(|file| {
            let Some(Name::Tag(number)) = file.names.get(tag) else {
                return None;
            };
            let tagged = on_line(file, branch)
                .into_iter()
                .find(|revision| revision.number == *number);
            tagged.map(|revision| revision.at)
        })
        .max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn revision(number: &[u32], second: i64, message: &str, commit: Option<&str>) -> Revision {
        Revision {
            number: number.to_vec(),
            at: Timestamp::from_second(second).unwrap(),
            author: "anna".into(),
            dead: false,
            lines: Some((1, 1)),
            commit: commit.map(str::to_owned),
            message: message.into(),
        }
    }

    fn file(path: &str, revisions: Vec<Revision>) -> FileLog {
        FileLog {
            path: path.into(),
            revisions,
            ..FileLog::default()
        }
    }

    #[test]
    fn revisions_with_one_message_nearby_are_one_commit() {
        let files = [
            file(
                "a",
                vec![
                    revision(&[1, 1], 0, "x", None),
                    revision(&[1, 2], 100, "x", None),
                ],
            ),
            file(
                "b",
                vec![
                    revision(&[1, 1], 60, "x", None),
                    revision(&[1, 2], 2000, "x", None),
                ],
            ),
            file("c", vec![revision(&[1, 1], 61, "y", None)]),
        ];
        let found: Vec<(i64, usize)> = commits(&files, None)
            .iter()
            .map(|commit| (commit.at.as_second(), commit.files.len()))
            .collect();
        // The second revision of `a` can't be in the commit that has its first.
        assert_eq!(found, [(60, 2), (61, 1), (100, 1), (2000, 1)]);
    }

    #[test]
    fn an_identity_binds_and_parts() {
        let files = [
            file(
                "a",
                vec![
                    revision(&[1, 1], 0, "x", Some("1")),
                    revision(&[1, 2], 10, "x", Some("2")),
                ],
            ),
            file("b", vec![revision(&[1, 1], 4000, "x", Some("1"))]),
        ];
        let found = commits(&files, None);
        assert_eq!(found.len(), 2);
        assert_eq!(found[1].files.len(), 2);
    }

    #[test]
    fn what_a_vendor_brought_counts_until_the_trunk_goes_its_own_way() {
        let imported = |later: Vec<Revision>| {
            let mut revisions = vec![
                revision(&[1, 1], 0, "Initial revision", None),
                revision(&[1, 1, 1, 1], 0, "import", None),
                revision(&[1, 1, 1, 2], 5000, "import again", None),
            ];
            revisions.extend(later);
            let found = commits(&[file("a", revisions)], None);
            found
                .into_iter()
                .map(|commit| commit.message)
                .collect::<Vec<_>>()
        };
        assert_eq!(imported(vec![]), ["import", "import again"]);
        assert_eq!(
            imported(vec![revision(&[1, 2], 3000, "own", None)]),
            ["import", "own"]
        );
    }

    proptest! {
        #[test]
        fn every_revision_is_in_one_commit(
            rows in proptest::collection::vec((0..4_usize, 0_i64..5000, 0..3_usize, 0..4_usize), 0..60),
        ) {
            let mut files: Vec<FileLog> = (0..4).map(|n| file(&n.to_string(), vec![])).collect();
            for (place, second, message, commit) in &rows {
                let number = [1, files[*place].revisions.len() as u32 + 2];
                let commit = [None, None, Some("i"), Some("j")][*commit];
                let made = revision(&number, *second, ["x", "y", "z"][*message], commit);
                files[*place].revisions.push(made);
            }
            let found = commits(&files, None);
            prop_assert_eq!(found.iter().map(|commit| commit.files.len()).sum::<usize>(), rows.len());
            prop_assert!(found.windows(2).all(|pair| pair[0].at <= pair[1].at));
        }
    }
}
