//! A tree that follows a history: made to hold exactly a version's files, with the times of unchanged files kept.
//!
//! Beside the tree lies a record of what was written into it: each file's identity and how it looked on disk
//! right afterwards. A file that looks otherwise (a patch was put on, a build overwrote it) is compared and put
//! back. The record says too that a check-out has begun, so that one that was broken off is noticed: then every
//! file is compared. What isn't in the record, as what a build made, stays.
//!
//! A version is known as a whole ([`sync`]), or its files come one by one out of an archive ([`TreeFilling`]): then
//! each path is put into the record before it is written, and what is gone goes at the end.
//!
//! A path that leaves the tree (by dots, by a root, by a symbolic link on the way) and `.git` are errors.

use crate::HistoryError;
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, utimensat};
use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// First line of a record, with its format's number.
const RECORD: &str = "backsight tree 1";

/// File systems tell times apart only this finely: what was written so near to the record may have been changed
/// once more without showing.
const GRAIN: i128 = 20_000_000;

/// What a path of a tree is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathKind {
    File,
    Program,
    Link,
    /// An empty folder, where another repository would be put.
    Folder,
}

impl PathKind {
    fn letter(self) -> char {
        match self {
            Self::File => 'f',
            Self::Program => 'x',
            Self::Link => 'l',
            Self::Folder => 'd',
        }
    }

    fn of_letter(letter: &str) -> Option<Self> {
        [Self::File, Self::Program, Self::Link, Self::Folder]
            .into_iter()
            .find(|kind| letter.len() == 1 && letter.starts_with(kind.letter()))
    }
}

/// What a version wants at a path: its kind and whatever identifies its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WantedPath {
    pub(crate) kind: PathKind,
    pub(crate) id: String,
}

/// Gives the content of a path.
pub(crate) type Content<'a> = &'a dyn Fn(&[u8], &WantedPath) -> Result<Vec<u8>, HistoryError>;

/// Where the content of a version's files is.
pub(crate) enum ContentOrigin<'a> {
    /// A call gives it.
    Read(Content<'a>),
    /// In a folder, where it stays.
    Folder(&'a Path),
    /// In a folder that nobody needs afterwards: its files may be moved.
    Spare(&'a Path),
}

impl ContentOrigin<'_> {
    fn read(&self, path: &[u8], wanted: &WantedPath) -> Result<Vec<u8>, HistoryError> {
        match self {
            Self::Read(read) => read(path, wanted),
            Self::Folder(folder) | Self::Spare(folder) => {
                content_of(&join(folder, path), wanted.kind)
            }
        }
    }

    /// The file that may be moved in place of being copied. One with several names may be another path's too.
    fn spare(&self, path: &[u8], kind: PathKind) -> Option<PathBuf> {
        let Self::Spare(folder) = self else {
            return None;
        };
        let place = join(folder, path);
        let metadata = fs::symlink_metadata(&place).ok()?;
        (kind_of(&metadata) == Some(kind) && metadata.nlink() == 1).then_some(place)
    }
}

/// All the paths of a version.
pub(crate) type Files = BTreeMap<Vec<u8>, WantedPath>;

/// How a file looked right after it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Look {
    size: u64,
    modified: i128,
    changed: i128,
}

impl Look {
    fn from_metadata(metadata: &Metadata) -> Self {
        let nanoseconds =
            |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
        Self {
            size: metadata.len(),
            modified: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            changed: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Written {
    wanted: WantedPath,
    look: Look,
}

/// What is known to have been written into a tree.
#[derive(Debug, Default, PartialEq, Eq)]
struct Record {
    /// Whether the last check-out came to its end.
    whole: bool,
    files: BTreeMap<Vec<u8>, Written>,
    /// When the record itself was written, by the clock of its file system.
    at: i128,
}

/// Makes the tree hold exactly these files.
///
/// # Errors
/// A path that leaves the tree, a file that can't be read or written; the tree is then mended by the next call.
pub(crate) fn sync(
    tree: &Path,
    files: &Files,
    origin: &ContentOrigin<'_>,
) -> Result<(), HistoryError> {
    check_paths(files)?;
    let beside = beside(tree)?;
    let old = Record::read(&beside);
    if nothing_to_do(tree, files, &old) {
        return Ok(());
    }
    fs::create_dir_all(tree).map_err(|error| at(tree, &error))?;
    begun(&old, files).write(&beside)?;
    let mut hand = Hand::new(tree, old);
    hand.remove_gone(|path| files.contains_key(path))?;
    let mut new = Record {
        whole: true,
        ..Record::default()
    };
    for (path, wanted) in files {
        let look = hand.put(path, wanted, origin)?;
        let wanted = wanted.clone();
        new.files.insert(path.clone(), Written { wanted, look });
    }
    new.write(&beside)
}

/// A version whose files come one by one and aren't known before.
///
/// Dropped before its end it leaves the tree as a check-out that was broken off, for the next one to mend.
pub(crate) struct TreeFilling<'a> {
    hand: Hand<'a>,
    new: BTreeMap<Vec<u8>, Written>,
    beside: PathBuf,
    /// The record that says that a check-out has begun, for paths to be added.
    begun: File,
}

impl<'a> TreeFilling<'a> {
    /// Notes that a check-out into the tree has begun.
    ///
    /// # Errors
    /// The tree or its record can't be written.
    pub(crate) fn begin(tree: &'a Path) -> Result<Self, HistoryError> {
        let beside = beside(tree)?;
        let old = Record::read(&beside);
        fs::create_dir_all(tree).map_err(|error| at(tree, &error))?;
        begun(&old, &Files::new()).write(&beside)?;
        let begun = OpenOptions::new().append(true).open(&beside);
        Ok(Self {
            hand: Hand::new(tree, old),
            new: BTreeMap::new(),
            begun: begun.map_err(|error| at(&beside, &error))?,
            beside,
        })
    }

    /// Makes a path a file, a program or a link of this content, and leaves it alone if it is. What comes again
    /// under a path that came already takes its place.
    ///
    /// # Errors
    /// A path that leaves the tree or lies in a file, or something that can't be read or written.
    pub(crate) fn put(
        &mut self,
        path: &[u8],
        kind: PathKind,
        content: &[u8],
    ) -> Result<(), HistoryError> {
        let id = blake3::hash(content).to_hex().to_string();
        let read = |_: &[u8], _: &WantedPath| Ok(content.to_vec());
        self.add(path, WantedPath { kind, id }, &read)
    }

    /// Makes a path the same as another that came before.
    ///
    /// # Errors
    /// As with [`Self::put`]; and when the other path didn't come.
    pub(crate) fn put_same(&mut self, path: &[u8], other: &[u8]) -> Result<(), HistoryError> {
        let Some(same) = self.new.get(other) else {
            return Err(HistoryError::Other(format!(
                "this version has the path \"{}\" as another name of \"{}\", which it hasn't",
                shown(path),
                shown(other)
            )));
        };
        let wanted = same.wanted.clone();
        let place = join(self.hand.tree, other);
        let read = |_: &[u8], wanted: &WantedPath| content_of(&place, wanted.kind);
        self.add(path, wanted, &read)
    }

    fn add(
        &mut self,
        path: &[u8],
        wanted: WantedPath,
        read: Content<'_>,
    ) -> Result<(), HistoryError> {
        if let Some(why) = flaw(path).or_else(|| self.clash(path)) {
            return Err(HistoryError::Other(format!(
                "this version has the path \"{}\", {why}: the check-out was broken off",
                shown(path)
            )));
        }
        if !self.hand.old.files.contains_key(path) && !self.new.contains_key(path) {
            let written = Written {
                wanted: wanted.clone(),
                look: Look::default(),
            };
            let mut line = Vec::new();
            written.line(path, &mut line);
            self.begun
                .write_all(&line)
                .map_err(|error| at(&self.beside, &error))?;
        }
        let look = self.hand.put(path, &wanted, &ContentOrigin::Read(read))?;
        self.new.insert(path.to_vec(), Written { wanted, look });
        Ok(())
    }

    /// Only paths that came make folders of the way to them real ones.
    fn clash(&self, path: &[u8]) -> Option<&'static str> {
        let in_a_file = || parents(path).any(|parent| self.new.contains_key(parent));
        (self.hand.real_folders.contains(path) || in_a_file()).then_some(IN_A_FILE)
    }

    /// Removes what the version before had and this one doesn't, and notes that the tree is whole.
    ///
    /// # Errors
    /// Something can't be removed, or the record not be written.
    pub(crate) fn finish(mut self) -> Result<(), HistoryError> {
        self.hand.remove_gone(|path| self.new.contains_key(path))?;
        let record = Record {
            whole: true,
            files: self.new,
            at: 0,
        };
        record.write(&self.beside)
    }
}

/// Where the record of a tree lies: beside it, under its name.
fn beside(tree: &Path) -> Result<PathBuf, HistoryError> {
    let name = tree.file_name().ok_or_else(|| {
        HistoryError::Other(format!(
            "{}: no folder of its own to check out into",
            tree.display()
        ))
    })?;
    let mut name = name.to_owned();
    name.push(".files");
    Ok(tree.with_file_name(name))
}

/// While files are written, the record knows all that may have come from either version.
fn begun(old: &Record, files: &Files) -> Record {
    let mut record = Record {
        files: old.files.clone(),
        ..Record::default()
    };
    for (path, wanted) in files {
        record.files.entry(path.clone()).or_insert_with(|| Written {
            wanted: wanted.clone(),
            look: Look::default(),
        });
    }
    record
}

fn nothing_to_do(tree: &Path, files: &Files, old: &Record) -> bool {
    old.whole
        && old.files.len() == files.len()
        && files.iter().all(|(path, wanted)| {
            old.files.get(path).is_some_and(|written| {
                written.wanted == *wanted && as_written(&join(tree, path), written, old.at)
            })
        })
}

/// Whether what lies at a path looks exactly as it did right after it was written.
fn as_written(path: &Path, written: &Written, recorded: i128) -> bool {
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return false;
    };
    kind_of(&metadata) == Some(written.wanted.kind)
        && (written.wanted.kind == PathKind::Folder
            || (Look::from_metadata(&metadata) == written.look
                && written.look.changed + GRAIN < recorded))
}

fn kind_of(metadata: &Metadata) -> Option<PathKind> {
    let kind = metadata.file_type();
    if kind.is_symlink() {
        Some(PathKind::Link)
    } else if kind.is_dir() {
        Some(PathKind::Folder)
    } else if !kind.is_file() {
        None
    } else if metadata.mode() & 0o100 == 0 {
        Some(PathKind::File)
    } else {
        Some(PathKind::Program)
    }
}

/// What writes into one tree during one check-out.
struct Hand<'a> {
    tree: &'a Path,
    old: Record,
    /// Folders seen to be folders, and no links to some.
    real_folders: HashSet<Vec<u8>>,
}

impl<'a> Hand<'a> {
    fn new(tree: &'a Path, old: Record) -> Self {
        Self {
            tree,
            old,
            real_folders: HashSet::new(),
        }
    }

    /// Removes what the version before had and this one doesn't, with folders that are empty then.
    fn remove_gone(&mut self, stays: impl Fn(&[u8]) -> bool) -> Result<(), HistoryError> {
        let Self {
            tree,
            old,
            real_folders,
        } = self;
        for path in old.files.keys().rev() {
            if stays(path) || !on_real_folders(tree, path, real_folders) {
                continue;
            }
            let place = join(tree, path);
            match fs::symlink_metadata(&place) {
                Err(_) => {}
                // A submodule's folder may hold what a build made.
                Ok(metadata) if metadata.is_dir() => {
                    let _ = fs::remove_dir(&place);
                }
                Ok(_) => fs::remove_file(&place).map_err(|error| at(&place, &error))?,
            }
            for parent in parents(path).rev() {
                if fs::remove_dir(join(tree, parent)).is_err() {
                    break;
                }
                real_folders.remove(parent);
            }
        }
        Ok(())
    }

    /// Makes a path what it should be, and leaves it alone if it is; says how it looks then.
    fn put(
        &mut self,
        path: &[u8],
        wanted: &WantedPath,
        origin: &ContentOrigin<'_>,
    ) -> Result<Look, HistoryError> {
        self.make_folders(path)?;
        let place = join(self.tree, path);
        let found = fs::symlink_metadata(&place).ok();
        if let (Some(metadata), Some(written)) = (&found, self.old.files.get(path)) {
            let untouched = self.old.whole
                && written.wanted == *wanted
                && as_written(&place, written, self.old.at);
            if untouched {
                return Ok(Look::from_metadata(metadata));
            }
        }
        let found_kind = found.as_ref().and_then(kind_of);
        if wanted.kind == PathKind::Folder {
            if found_kind != Some(PathKind::Folder) {
                remove_whatever(&place, found.as_ref()).map_err(|error| at(&place, &error))?;
                fs::create_dir(&place).map_err(|error| at(&place, &error))?;
            }
            return Ok(Look::default());
        }
        let content = origin.read(path, wanted)?;
        let spare = origin.spare(path, wanted.kind);
        write_where_other(&place, wanted.kind, &content, spare, found.as_ref())
            .map_err(|error| at(&place, &error))
    }

    /// Makes the folders on the way to a path, in place of whatever else lies there.
    fn make_folders(&mut self, path: &[u8]) -> Result<(), HistoryError> {
        for parent in parents(path) {
            if self.real_folders.contains(parent) {
                continue;
            }
            let place = join(self.tree, parent);
            let found = fs::symlink_metadata(&place).ok();
            if !found.as_ref().is_some_and(Metadata::is_dir) {
                remove_whatever(&place, found.as_ref())
                    .and_then(|()| fs::create_dir(&place))
                    .map_err(|error| at(&place, &error))?;
            }
            self.real_folders.insert(parent.to_vec());
        }
        Ok(())
    }
}

/// Whether all folders on the way to a path are folders and no links; those seen to be are remembered.
fn on_real_folders(tree: &Path, path: &[u8], real_folders: &mut HashSet<Vec<u8>>) -> bool {
    for parent in parents(path) {
        if real_folders.contains(parent) {
            continue;
        }
        if !fs::symlink_metadata(join(tree, parent)).is_ok_and(|found| found.is_dir()) {
            return false;
        }
        real_folders.insert(parent.to_vec());
    }
    true
}

/// Writes a file, a program or a link, unless the same is there already.
fn write_where_other(
    place: &Path,
    kind: PathKind,
    content: &[u8],
    spare: Option<PathBuf>,
    found: Option<&Metadata>,
) -> io::Result<Look> {
    let found_kind = found.and_then(kind_of);
    let plain = |kind| matches!(kind, Some(PathKind::File | PathKind::Program));
    if kind == PathKind::Link {
        let target = OsStr::from_bytes(content);
        if found_kind != Some(PathKind::Link) || fs::read_link(place)?.as_os_str() != target {
            remove_whatever(place, found)?;
            symlink(target, place)?;
        }
    } else if plain(found_kind)
        && found.is_some_and(|found| found.len() == content.len() as u64)
        && fs::read(place)? == content
    {
        if found_kind != Some(kind) {
            let mode = fs::metadata(place)?.mode();
            // Who may read may execute, as far as the file's owner was granted anything.
            let mode = if kind == PathKind::Program {
                mode | (mode & 0o444) >> 2
            } else {
                mode & !0o111
            };
            fs::set_permissions(place, Permissions::from_mode(mode))?;
        }
    } else {
        remove_whatever(place, found)?;
        let moved = spare.is_some_and(|spare| move_here(&spare, place, kind).is_ok());
        if !moved {
            let mut file = create(place, kind)?;
            file.write_all(content)?;
        }
    }
    Ok(Look::from_metadata(&fs::symlink_metadata(place)?))
}

/// Moves a file in place of writing it anew; it is as if it had been written now, and by us.
fn move_here(spare: &Path, place: &Path, kind: PathKind) -> io::Result<()> {
    let mode = if kind == PathKind::Program {
        0o755
    } else {
        0o644
    };
    fs::set_permissions(spare, Permissions::from_mode(mode))?;
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: UTIME_NOW,
    };
    let times = Timestamps {
        last_access: now,
        last_modification: now,
    };
    utimensat(CWD, spare, &times, AtFlags::empty())?;
    fs::rename(spare, place)
}

/// A file that didn't exist: nothing is ever written through a link.
fn create(place: &Path, kind: PathKind) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(if kind == PathKind::Program {
            0o777
        } else {
            0o666
        })
        .open(place)
}

fn remove_whatever(place: &Path, found: Option<&Metadata>) -> io::Result<()> {
    match found {
        None => Ok(()),
        Some(found) if found.is_dir() => fs::remove_dir_all(place),
        Some(_) => fs::remove_file(place),
    }
}

/// The folders on the way to a path, outermost first.
fn parents(path: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    path.iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'/')
        .map(|(place, _)| &path[..place])
}

fn join(tree: &Path, path: &[u8]) -> PathBuf {
    tree.join(OsStr::from_bytes(path))
}

fn at(place: &Path, error: &io::Error) -> HistoryError {
    HistoryError::Other(format!("{}: {error}", place.display()))
}

fn shown(path: &[u8]) -> String {
    String::from_utf8_lossy(path).escape_debug().to_string()
}

const IN_A_FILE: &str = "which lies in what isn't a folder";

fn check_paths(files: &Files) -> Result<(), HistoryError> {
    for path in files.keys() {
        let in_a_file = || parents(path).any(|parent| files.contains_key(parent));
        if let Some(why) = flaw(path).or_else(|| in_a_file().then_some(IN_A_FILE)) {
            return Err(HistoryError::Other(format!(
                "this version has the path \"{}\", {why}: nothing was checked out",
                shown(path)
            )));
        }
    }
    Ok(())
}

/// Why a path can't be one of any tree.
fn flaw(path: &[u8]) -> Option<&'static str> {
    path.split(|byte| *byte == b'/').find_map(|part| {
        let leaves = part.is_empty() || part == b"." || part == b".." || part.contains(&0);
        if leaves {
            Some("which leads out of the tree")
        } else if part.eq_ignore_ascii_case(b".git") {
            Some("which would be taken for a repository")
        } else {
            None
        }
    })
}

impl Written {
    /// How it stands in a record.
    fn line(&self, path: &[u8], text: &mut Vec<u8>) {
        let (letter, id) = (self.wanted.kind.letter(), &self.wanted.id);
        let (size, modified, changed) = (self.look.size, self.look.modified, self.look.changed);
        text.extend_from_slice(format!("{letter} {id} {size} {modified} {changed} ").as_bytes());
        text.extend_from_slice(path);
        text.push(0);
    }
}

impl Record {
    /// The record at a path; an empty one if there is none that can be made out, and then all is compared.
    fn read(place: &Path) -> Self {
        let parsed = fs::read(place).ok().and_then(|bytes| Self::parse(&bytes));
        let (Some(mut record), Ok(metadata)) = (parsed, fs::metadata(place)) else {
            return Self::default();
        };
        record.at = Look::from_metadata(&metadata).modified;
        record
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let end = bytes.iter().rposition(|byte| *byte == 0)?;
        let mut parts = bytes[..end].split(|byte| *byte == 0);
        let torn = end + 1 < bytes.len();
        let whole = match std::str::from_utf8(parts.next()?)
            .ok()?
            .strip_prefix(RECORD)?
        {
            " whole" if !torn => true,
            // The path of a line that didn't come to its end wasn't written.
            " begun" => false,
            _ => return None,
        };
        let mut files = BTreeMap::new();
        for part in parts {
            let mut fields = part.splitn(6, |byte| *byte == b' ');
            let mut field = || {
                fields
                    .next()
                    .and_then(|field| std::str::from_utf8(field).ok())
            };
            let kind = PathKind::of_letter(field()?)?;
            let id = field()?.to_owned();
            let look = Look {
                size: field()?.parse().ok()?,
                modified: field()?.parse().ok()?,
                changed: field()?.parse().ok()?,
            };
            let wanted = WantedPath { kind, id };
            files.insert(fields.next()?.to_vec(), Written { wanted, look });
        }
        Some(Self {
            whole,
            files,
            at: 0,
        })
    }

    fn write(&self, place: &Path) -> Result<(), HistoryError> {
        let mut text =
            format!("{RECORD} {}\0", if self.whole { "whole" } else { "begun" }).into_bytes();
        for (path, written) in &self.files {
            written.line(path, &mut text);
        }
        let mut draft = place.as_os_str().to_owned();
        draft.push(".new");
        let draft = PathBuf::from(draft);
        fs::write(&draft, &text)
            .and_then(|()| fs::rename(&draft, place))
            .map_err(|error| at(place, &error))
    }
}

/// The files of a folder, named by their content, as [`sync`] wants them; `.git` at the top is left out.
///
/// # Errors
/// Something can't be read.
pub(crate) fn of_folder(folder: &Path) -> Result<Files, HistoryError> {
    let mut files = Files::new();
    let mut waiting = vec![Vec::new()];
    while let Some(below) = waiting.pop() {
        let place = join(folder, &below);
        for entry in fs::read_dir(&place).map_err(|error| at(&place, &error))? {
            let entry = entry.map_err(|error| at(&place, &error))?;
            let name = entry.file_name().into_vec();
            if below.is_empty() && name == b".git" {
                continue;
            }
            let mut path = below.clone();
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(&name);
            let place = entry.path();
            let metadata = fs::symlink_metadata(&place).map_err(|error| at(&place, &error))?;
            match kind_of(&metadata) {
                Some(PathKind::Folder) => waiting.push(path),
                Some(kind) => {
                    let id = content_id(&place, kind)?;
                    files.insert(path, WantedPath { kind, id });
                }
                // Sockets and devices belong to no version.
                None => {}
            }
        }
    }
    Ok(files)
}

fn content_id(place: &Path, kind: PathKind) -> Result<String, HistoryError> {
    let content = content_of(place, kind)?;
    Ok(blake3::hash(&content).to_hex().to_string())
}

fn content_of(place: &Path, kind: PathKind) -> Result<Vec<u8>, HistoryError> {
    let content = if kind == PathKind::Link {
        fs::read_link(place).map(|target| target.into_os_string().into_vec())
    } else {
        fs::read(place)
    };
    content.map_err(|error| at(place, &error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn file(content: &str) -> WantedPath {
        WantedPath {
            kind: PathKind::File,
            id: content.to_owned(),
        }
    }

    fn link(target: &str) -> WantedPath {
        WantedPath {
            kind: PathKind::Link,
            id: target.to_owned(),
        }
    }

    fn put(tree: &Path, files: &[(&str, WantedPath)]) -> Result<(), HistoryError> {
        let files = files
            .iter()
            .map(|(path, wanted)| (path.as_bytes().to_vec(), wanted.clone()))
            .collect();
        let read = |_: &[u8], wanted: &WantedPath| Ok(wanted.id.clone().into_bytes());
        sync(tree, &files, &ContentOrigin::Read(&read))
    }

    fn room() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().join("tree");
        (folder, tree)
    }

    fn look(path: PathBuf) -> (u64, Look) {
        let metadata = fs::symlink_metadata(path).unwrap();
        (metadata.ino(), Look::from_metadata(&metadata))
    }

    #[test]
    fn unchanged_files_are_left_alone_and_builds_stay() {
        let (_folder, tree) = room();
        put(
            &tree,
            &[
                ("same", file("s")),
                ("a/changed", file("1")),
                ("gone/x", file("x")),
            ],
        )
        .unwrap();
        let before = look(tree.join("same"));
        fs::write(tree.join("a/built.o"), "o").unwrap();
        put(&tree, &[("same", file("s")), ("a/changed", file("2"))]).unwrap();
        assert_eq!(look(tree.join("same")), before);
        assert_eq!(fs::read(tree.join("a/changed")).unwrap(), b"2");
        assert!(tree.join("a/built.o").exists());
        assert!(!tree.join("gone").exists());
    }

    #[test]
    fn a_patched_file_is_put_back_even_if_its_size_is_the_same() {
        let (_folder, tree) = room();
        let version = [("patched", file("abc")), ("kept", file("k"))];
        put(&tree, &version).unwrap();
        let kept = look(tree.join("kept"));
        fs::write(tree.join("patched"), "xyz").unwrap();
        fs::remove_file(tree.join("patched")).unwrap();
        fs::write(tree.join("patched"), "xyz").unwrap();
        put(&tree, &version).unwrap();
        assert_eq!(fs::read(tree.join("patched")).unwrap(), b"abc");
        assert_eq!(look(tree.join("kept")), kept);
    }

    #[test]
    fn a_removed_file_comes_back() {
        let (_folder, tree) = room();
        put(&tree, &[("a/b", file("1"))]).unwrap();
        fs::remove_dir_all(&tree).unwrap();
        put(&tree, &[("a/b", file("1"))]).unwrap();
        assert_eq!(fs::read(tree.join("a/b")).unwrap(), b"1");
    }

    #[test]
    fn files_folders_and_links_take_each_others_places() {
        let (_folder, tree) = room();
        put(
            &tree,
            &[("x", file("1")), ("y/z", file("2")), ("l", link("x"))],
        )
        .unwrap();
        put(
            &tree,
            &[("x/deep", file("1")), ("y", link("x")), ("l", file("f"))],
        )
        .unwrap();
        assert_eq!(fs::read_link(tree.join("y")).unwrap(), Path::new("x"));
        assert_eq!(fs::read(tree.join("y/deep")).unwrap(), b"1");
        assert_eq!(fs::read(tree.join("l")).unwrap(), b"f");
        put(&tree, &[("x", file("1"))]).unwrap();
        assert_eq!(fs::read_dir(&tree).unwrap().count(), 1);
    }

    #[test]
    fn a_program_can_be_executed_and_may_lose_that_again() {
        let (_folder, tree) = room();
        let program = WantedPath {
            kind: PathKind::Program,
            id: "p".into(),
        };
        put(&tree, &[("p", program.clone())]).unwrap();
        let modified = look(tree.join("p")).1.modified;
        put(&tree, &[("p", file("p"))]).unwrap();
        assert_eq!(fs::metadata(tree.join("p")).unwrap().mode() & 0o111, 0);
        put(&tree, &[("p", program)]).unwrap();
        assert_ne!(fs::metadata(tree.join("p")).unwrap().mode() & 0o100, 0);
        assert_eq!(look(tree.join("p")).1.modified, modified);
    }

    #[test]
    fn nothing_is_written_or_removed_through_a_link() {
        let (folder, tree) = room();
        let outside = folder.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("file"), "theirs").unwrap();
        put(&tree, &[("way/file", file("1"))]).unwrap();
        for version in [&[("way/file", file("2"))][..], &[]] {
            fs::remove_dir_all(tree.join("way")).unwrap();
            symlink(&outside, tree.join("way")).unwrap();
            put(&tree, version).unwrap();
            assert_eq!(fs::read(outside.join("file")).unwrap(), b"theirs");
            let _ = fs::create_dir(tree.join("way"));
        }
        // A file that a build has made a link is replaced, not followed.
        put(&tree, &[("f", file("1"))]).unwrap();
        fs::remove_file(tree.join("f")).unwrap();
        symlink(outside.join("file"), tree.join("f")).unwrap();
        put(&tree, &[("f", file("2"))]).unwrap();
        assert_eq!(fs::read(outside.join("file")).unwrap(), b"theirs");
        assert_eq!(fs::read(tree.join("f")).unwrap(), b"2");
    }

    #[test]
    fn paths_that_leave_the_tree_are_refused() {
        let (folder, tree) = room();
        for path in [
            "../x",
            "/x",
            "a/../../x",
            "a//b",
            "",
            ".git/hooks/x",
            "a/.GIT/x",
            "./x",
            "nul\0",
        ] {
            let error = put(&tree, &[("fine", file("1")), (path, file("2"))]).unwrap_err();
            assert!(
                error.to_string().contains("nothing was checked out"),
                "{path}: {error}"
            );
        }
        let error = put(&tree, &[("a", link("/etc")), ("a/passwd", file("2"))]).unwrap_err();
        assert!(error.to_string().contains("isn't a folder"), "{error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_check_out_broken_off_is_mended() {
        let (_folder, tree) = room();
        put(
            &tree,
            &[("a", file("1")), ("b", file("1")), ("old", file("1"))],
        )
        .unwrap();
        let kept = look(tree.join("a"));
        let next = [("a", file("1")), ("b", file("2")), ("new", file("2"))];
        let files: Files = next
            .iter()
            .map(|(path, wanted)| (path.as_bytes().to_vec(), wanted.clone()))
            .collect();
        let read = |path: &[u8], wanted: &WantedPath| {
            if path == b"new" {
                return Err(HistoryError::Other("broken off".into()));
            }
            Ok(wanted.id.clone().into_bytes())
        };
        let broken = sync(&tree, &files, &ContentOrigin::Read(&read));
        assert!(broken.is_err());
        // Back to the first one: what the second had written is known to be its own.
        fs::write(tree.join("new"), "half").unwrap();
        put(&tree, &[("a", file("1")), ("b", file("1"))]).unwrap();
        assert_eq!(fs::read(tree.join("b")).unwrap(), b"1");
        assert!(!tree.join("new").exists() && !tree.join("old").exists());
        assert_eq!(look(tree.join("a")), kept);
    }

    #[test]
    fn a_filling_that_was_killed_is_mended() {
        let (_folder, tree) = room();
        let old = [("a", file("1")), ("old", file("1"))];
        put(&tree, &old).unwrap();
        let kept = look(tree.join("old"));
        fs::write(tree.join("built.o"), "o").unwrap();
        let mut filling = TreeFilling::begin(&tree).unwrap();
        filling.put(b"a", PathKind::File, b"2").unwrap();
        filling.put(b"new/b", PathKind::File, b"2").unwrap();
        drop(filling);
        // Killed in the middle of a line: the file of that line wasn't begun.
        let mut record = OpenOptions::new()
            .append(true)
            .open(beside(&tree).unwrap())
            .unwrap();
        record.write_all(b"f 0123 0 0 0 ne").unwrap();
        put(&tree, &old).unwrap();
        assert_eq!(fs::read(tree.join("a")).unwrap(), b"1");
        assert_eq!(look(tree.join("old")), kept);
        assert!(!tree.join("new").exists() && tree.join("built.o").exists());
    }

    #[test]
    fn a_record_that_is_damaged_only_costs_time() {
        let (_folder, tree) = room();
        put(&tree, &[("a", file("1")), ("b", file("1"))]).unwrap();
        let kept = look(tree.join("a"));
        fs::write(beside(&tree).unwrap(), "nonsense").unwrap();
        put(&tree, &[("a", file("1")), ("b", file("2"))]).unwrap();
        assert_eq!(look(tree.join("a")), kept);
        assert_eq!(fs::read(tree.join("b")).unwrap(), b"2");
    }

    #[test]
    fn a_folder_is_taken_over_by_content() {
        let (folder, tree) = room();
        let fresh = folder.path().join("fresh");
        fs::create_dir_all(fresh.join("d/.git")).unwrap();
        fs::create_dir_all(fresh.join(".git")).unwrap();
        fs::write(fresh.join(".git/x"), "x").unwrap();
        fs::write(fresh.join("d/f"), "1").unwrap();
        symlink("d/f", fresh.join("l")).unwrap();
        sync(
            &tree,
            &of_folder(&fresh).unwrap(),
            &ContentOrigin::Folder(&fresh),
        )
        .unwrap();
        let kept = look(tree.join("d/f"));
        fs::write(fresh.join("d/f"), "1").unwrap();
        fs::write(fresh.join("g"), "2").unwrap();
        // Times of an archive's files lie in the past; a changed file must have one of now.
        let old = std::time::SystemTime::UNIX_EPOCH;
        File::options()
            .write(true)
            .open(fresh.join("g"))
            .unwrap()
            .set_modified(old)
            .unwrap();
        sync(
            &tree,
            &of_folder(&fresh).unwrap(),
            &ContentOrigin::Spare(&fresh),
        )
        .unwrap();
        assert!(look(tree.join("g")).1.modified >= kept.1.modified);
        assert!(!fresh.join("g").exists());
        assert_eq!(look(tree.join("d/f")), kept);
        assert_eq!(fs::read_link(tree.join("l")).unwrap(), Path::new("d/f"));
        assert!(!tree.join(".git").exists());
    }

    /// Whatever lies in the tree that isn't a folder.
    fn lies_there(tree: &Path) -> BTreeMap<Vec<u8>, (PathKind, Vec<u8>)> {
        let files = of_folder(tree).unwrap();
        let content = |path: &[u8], kind| content_of(&join(tree, path), kind).unwrap();
        files
            .into_iter()
            .map(|(path, wanted)| (path.clone(), (wanted.kind, content(&path, wanted.kind))))
            .collect()
    }

    /// A path and a content, by number.
    type BuildLocation = (usize, usize);

    fn versions() -> impl Strategy<Value = Vec<(Vec<BuildLocation>, Option<BuildLocation>)>> {
        let files = proptest::collection::vec((0..8_usize, 0..4_usize), 0..6);
        proptest::collection::vec(
            (files, proptest::option::of((0..8_usize, 0..4_usize))),
            1..6,
        )
    }

    proptest! {
        /// Versions of few paths that get into each other's way, each followed by somebody meddling with one of them.
        #[test]
        fn the_tree_holds_exactly_the_version(versions in versions()) {
            const PATHS: [&str; 8] = ["a", "a/b", "a/b/c", "b", "b/a", "c", "d/e/f", "d/e"];
            const CONTENTS: [&str; 4] = ["1", "2", "a", "../outside"];
            let (folder, tree) = room();
            fs::create_dir(folder.path().join("outside")).unwrap();
            for (files, meddled) in versions {
                let mut wanted = Files::new();
                for (path, content) in files {
                    let kind = [PathKind::File, PathKind::Program, PathKind::Link, PathKind::Link][content];
                    let id = CONTENTS[content].to_owned();
                    wanted.insert(PATHS[path].as_bytes().to_vec(), WantedPath { kind, id });
                }
                let clash = wanted.keys().any(|path| parents(path).any(|above| wanted.contains_key(above)));
                if clash {
                    continue;
                }
                sync(&tree, &wanted, &ContentOrigin::Read(&|_, wanted| Ok(wanted.id.clone().into_bytes()))).unwrap();
                let expected: BTreeMap<_, _> = wanted
                    .iter()
                    .map(|(path, wanted)| (path.clone(), (wanted.kind, wanted.id.clone().into_bytes())))
                    .collect();
                prop_assert_eq!(lies_there(&tree), expected);
                if let Some((path, content)) = meddled {
                    let place = tree.join(PATHS[path]);
                    let tracked = wanted.contains_key(PATHS[path].as_bytes());
                    if tracked && fs::remove_file(&place).is_ok() {
                        symlink(CONTENTS[content], &place).unwrap();
                    }
                }
            }
            prop_assert_eq!(fs::read_dir(folder.path().join("outside")).unwrap().count(), 0);
        }

        #[test]
        fn a_record_says_what_was_written(
            files in proptest::collection::btree_map(
                proptest::collection::vec(1_u8.., 1..20),
                (0..4_usize, "[0-9a-f]{4}", any::<(u64, i64)>()),
                0..20,
            ),
            whole: bool,
        ) {
            let folder = tempfile::tempdir().unwrap();
            let place = folder.path().join("record");
            let record = Record {
                whole,
                at: 0,
                files: files.into_iter().map(|(path, (kind, id, (size, modified)))| {
                    let kind = [PathKind::File, PathKind::Program, PathKind::Link, PathKind::Folder][kind];
                    let look = Look { size, modified: modified.into(), changed: 0 };
                    (path, Written { wanted: WantedPath { kind, id }, look })
                }).collect(),
            };
            record.write(&place).unwrap();
            let mut read = Record::read(&place);
            read.at = 0;
            prop_assert_eq!(read, record);
        }

        #[test]
        fn no_record_upsets_the_reader(bytes: Vec<u8>) {
            Record::parse(&bytes);
            let mut framed = format!("{RECORD} whole\0").into_bytes();
            framed.extend(bytes);
            framed.push(0);
            Record::parse(&framed);
        }
    }
}
