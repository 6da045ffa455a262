//! What differs between two trees of a repository: paths, counts of lines, a unified diff.
//!
//! A rename is one file removed and one added; the size of trees is bounded.

use super::GitError;
use crate::diff::cut;
use backsight_model::ChangedFile;
use gix::objs::TreeRefIter;
use gix::objs::tree::{EntryKind, EntryMode};
use gix::{ObjectId, Repository};
use imara_diff::{Algorithm, Diff, InternedInput};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::Range;

/// Most files of a tree, and how deep its folders may lie: a tree can be written that has more than fit any disk.
const MOST_FILES: usize = 4_000_000;
const DEEPEST: usize = 512;

/// Longest file whose lines are compared, in bytes.
const LONGEST: u64 = 16 << 20;

/// What a diff says of a file whose lines mean nothing.
const NOT_TEXT: &str = "Binary files differ\n";

/// Lines shown around a change.
const AROUND: u32 = 3;

/// What a tree has at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Leaf {
    pub(super) mode: EntryMode,
    pub(super) id: ObjectId,
}

/// A path where two trees differ.
pub(super) struct Difference {
    path: Vec<u8>,
    old: Option<Leaf>,
    new: Option<Leaf>,
}

/// All leaves of a tree.
pub(super) fn leaves(
    repository: &Repository,
    tree: ObjectId,
) -> Result<BTreeMap<Vec<u8>, Leaf>, GitError> {
    let mut found = BTreeMap::new();
    for difference in differences(repository, None, Some(tree))? {
        if let Some(leaf) = difference.new
            && found.insert(difference.path.clone(), leaf).is_some()
        {
            let path = String::from_utf8_lossy(&difference.path)
                .escape_debug()
                .to_string();
            return Err(GitError(format!("a tree has the path \"{path}\" twice")));
        }
    }
    Ok(found)
}

/// Where two trees differ, by path. Folders that are the same aren't read.
pub(super) fn differences(
    repository: &Repository,
    old: Option<ObjectId>,
    new: Option<ObjectId>,
) -> Result<Vec<Difference>, GitError> {
    let mut found = Vec::new();
    let mut waiting = vec![(Vec::new(), old, new, 0)];
    while let Some((below, old, new, depth)) = waiting.pop() {
        if found.len() > MOST_FILES || depth > DEEPEST {
            return Err(GitError(format!(
                "a tree has more than {MOST_FILES} files, or folders more than {DEEPEST} deep"
            )));
        }
        for (name, (old, new)) in pairs(&entries(repository, old)?, &entries(repository, new)?) {
            let mut path = below.clone();
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(&name);
            let folder =
                |leaf: Option<Leaf>| leaf.filter(|leaf| leaf.mode.is_tree()).map(|leaf| leaf.id);
            let other = |leaf: Option<Leaf>| leaf.filter(|leaf| !leaf.mode.is_tree());
            if folder(old) != folder(new) {
                waiting.push((path.clone(), folder(old), folder(new), depth + 1));
            }
            if other(old) != other(new) {
                let (old, new) = (other(old), other(new));
                found.push(Difference { path, old, new });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

type Named = Vec<(Vec<u8>, Leaf)>;

/// What lies under a name on either side.
type Pair = (Option<Leaf>, Option<Leaf>);

/// The content on either side.
type Texts = (Vec<u8>, Vec<u8>);

fn entries(repository: &Repository, tree: Option<ObjectId>) -> Result<Named, GitError> {
    let Some(tree) = tree else {
        return Ok(Vec::new());
    };
    let object = repository.find_tree(tree)?;
    TreeRefIter::from_bytes(&object.data, tree.kind())
        .map(|entry| {
            let entry = entry?;
            let leaf = Leaf {
                mode: entry.mode,
                id: entry.oid.to_owned(),
            };
            Ok((entry.filename.to_vec(), leaf))
        })
        .collect()
}

/// The entries of two folders that aren't the same in both, by name. A name that a folder has twice stays twice.
fn pairs(old: &Named, new: &Named) -> Vec<(Vec<u8>, Pair)> {
    let mut left: BTreeMap<&[u8], Vec<Leaf>> = BTreeMap::new();
    for (name, leaf) in old {
        left.entry(name).or_default().push(*leaf);
    }
    let mut pairs = Vec::new();
    for (name, leaf) in new {
        let before = left.get_mut(name.as_slice()).and_then(Vec::pop);
        if before != Some(*leaf) {
            pairs.push((name.clone(), (before, Some(*leaf))));
        }
    }
    for (name, gone) in left {
        pairs.extend(
            gone.into_iter()
                .map(|leaf| (name.to_vec(), (Some(leaf), None))),
        );
    }
    pairs
}

/// The file that a difference touches, with its lines counted where they can be.
pub(super) fn counted(
    repository: &Repository,
    difference: &Difference,
) -> Result<ChangedFile, GitError> {
    let (added, removed) = match texts(repository, difference)? {
        Some((old, new)) => {
            let input = InternedInput::new(old.as_slice(), new.as_slice());
            let diff = Diff::compute(Algorithm::Histogram, &input);
            (
                Some(diff.count_additions().into()),
                Some(diff.count_removals().into()),
            )
        }
        None => (None, None),
    };
    Ok(ChangedFile {
        path: shown_path(&difference.path),
        added,
        removed,
    })
}

/// Both sides as text; nothing where lines mean nothing.
fn texts(repository: &Repository, difference: &Difference) -> Result<Option<Texts>, GitError> {
    let (Some(old), Some(new)) = (
        text(repository, difference.old)?,
        text(repository, difference.new)?,
    ) else {
        return Ok(None);
    };
    Ok(Some((old, new)))
}

fn text(repository: &Repository, leaf: Option<Leaf>) -> Result<Option<Vec<u8>>, GitError> {
    let Some(leaf) = leaf else {
        return Ok(Some(Vec::new()));
    };
    if leaf.mode.kind() == EntryKind::Commit {
        return Ok(Some(
            format!("Subproject commit {}\n", leaf.id).into_bytes(),
        ));
    }
    if repository.find_header(leaf.id)?.size() > LONGEST {
        return Ok(None);
    }
    let content = repository.find_object(leaf.id)?.detach().data;
    let binary = content.iter().take(8000).any(|byte| *byte == 0);
    Ok((!binary).then_some(content))
}

fn shown_path(path: &[u8]) -> String {
    let text = String::from_utf8_lossy(path);
    if text.chars().any(char::is_control) {
        text.escape_debug().to_string()
    } else {
        text.into_owned()
    }
}

/// Differences as a unified diff, cut after a line once it is longer than so many bytes.
pub(super) fn unified(
    repository: &Repository,
    differences: &[Difference],
    most: usize,
) -> Result<String, GitError> {
    let mut diff = String::new();
    for difference in differences {
        head(&mut diff, difference);
        match texts(repository, difference)? {
            Some((old, new)) => hunks(&mut diff, &old, &new, most),
            None => diff.push_str(NOT_TEXT),
        }
        if diff.len() > most {
            break;
        }
    }
    Ok(cut(diff, most))
}

/// The first file whose change a diff doesn't say, if there is one.
pub(super) fn unsaid(diff: &str) -> Option<&str> {
    let mut file = "a file";
    for line in diff.lines() {
        if let Some(named) = line.strip_prefix("diff --git a/") {
            file = named.split(" b/").next().unwrap_or(named);
        }
        // Lines of a text are marked by their first character.
        if line == NOT_TEXT.trim_end() {
            return Some(file);
        }
    }
    None
}

fn head(diff: &mut String, difference: &Difference) {
    let path = shown_path(&difference.path);
    let _ = writeln!(diff, "diff --git a/{path} b/{path}");
    let mode = |leaf: &Leaf| format!("{:06o}", leaf.mode.value());
    let empty = ObjectId::empty_blob(gix::hash::Kind::Sha1);
    let none = ObjectId::null(gix::hash::Kind::Sha1);
    match (&difference.old, &difference.new) {
        // Without lines `patch` goes by the identities.
        (None, Some(new)) if new.id == empty => {
            let _ = writeln!(diff, "new file mode {}\nindex {none}..{empty}", mode(new));
            return;
        }
        (Some(old), None) if old.id == empty => {
            let _ = writeln!(
                diff,
                "deleted file mode {}\nindex {empty}..{none}",
                mode(old)
            );
            return;
        }
        _ => {}
    }
    match (&difference.old, &difference.new) {
        (None, Some(new)) => {
            let _ = writeln!(
                diff,
                "new file mode {}\n--- /dev/null\n+++ b/{path}",
                mode(new)
            );
        }
        (Some(old), None) => {
            let _ = writeln!(
                diff,
                "deleted file mode {}\n--- a/{path}\n+++ /dev/null",
                mode(old)
            );
        }
        (Some(old), Some(new)) => {
            if old.mode != new.mode {
                let _ = writeln!(diff, "old mode {}\nnew mode {}", mode(old), mode(new));
            }
            if old.id != new.id {
                let _ = writeln!(diff, "--- a/{path}\n+++ b/{path}");
            }
        }
        (None, None) => {}
    }
}

/// A stretch of lines before and after, with the lines around it.
struct Stretch {
    before: Range<u32>,
    after: Range<u32>,
    changes: Vec<imara_diff::Hunk>,
}

fn hunks(text: &mut String, old: &[u8], new: &[u8], most: usize) {
    let input = InternedInput::new(old, new);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let last = (input.before.len() as u32, input.after.len() as u32);
    for stretch in stretches(diff.hunks(), last) {
        let side = |range: &Range<u32>| {
            let first = if range.is_empty() {
                range.start
            } else {
                range.start + 1
            };
            format!("{first},{}", range.len())
        };
        let _ = writeln!(
            text,
            "@@ -{} +{} @@",
            side(&stretch.before),
            side(&stretch.after)
        );
        let mut line = |sign: char, token: imara_diff::Token| {
            let content = input.interner[token];
            let ended = content.strip_suffix(b"\n");
            let _ = writeln!(
                text,
                "{sign}{}",
                String::from_utf8_lossy(ended.unwrap_or(content))
            );
            if ended.is_none() {
                text.push_str("\\ No newline at end of file\n");
            }
        };
        let mut place = stretch.before.start;
        for change in stretch.changes {
            input.before[place as usize..change.before.start as usize]
                .iter()
                .for_each(|t| line(' ', *t));
            input.before[change.before.start as usize..change.before.end as usize]
                .iter()
                .for_each(|t| line('-', *t));
            input.after[change.after.start as usize..change.after.end as usize]
                .iter()
                .for_each(|t| line('+', *t));
            place = change.before.end;
        }
        input.before[place as usize..stretch.before.end as usize]
            .iter()
            .for_each(|t| line(' ', *t));
        if text.len() > most {
            return;
        }
    }
}

/// Changes with the lines around them, joined where those meet.
fn stretches(changes: impl Iterator<Item = imara_diff::Hunk>, last: (u32, u32)) -> Vec<Stretch> {
    let mut stretches: Vec<Stretch> = Vec::new();
    for change in changes {
        let end = (
            (change.before.end + AROUND).min(last.0),
            (change.after.end + AROUND).min(last.1),
        );
        match stretches.last_mut() {
            Some(stretch) if change.before.start.saturating_sub(AROUND) <= stretch.before.end => {
                stretch.before.end = end.0;
                stretch.after.end = end.1;
                stretch.changes.push(change);
            }
            _ => stretches.push(Stretch {
                before: change.before.start.saturating_sub(AROUND)..end.0,
                after: change.after.start.saturating_sub(AROUND)..end.1,
                changes: vec![change],
            }),
        }
    }
    stretches
}
