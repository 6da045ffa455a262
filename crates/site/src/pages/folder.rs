//! The folder that pages are published into: each file whole or not at all, what is the same left alone, what nobody
//! needs any more removed at the end.
//!
//! Of pages whose inputs are known the folder keeps a fingerprint of them, so that a page of the same inputs needn't be made
//! again. A fingerprint is written once its page is there, and taken away before the page becomes another.
//!
//! A folder with files of others is an error, and nothing that may be theirs is removed.

use backsight_store::RawRef;
use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    fmt::Write as _,
    fs, io,
    io::Write as _,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::inputs::Fingerprint;

/// The file that says that a folder is ours, and which files of it are: their addresses, a line each after the first, with
/// what a page was made of where that is known ([`Made`]). It has all that a publisher is about to write before the first one
/// is there.
const MARK: &str = "published-by-backsight.txt";
const MARK_TEXT: &str = "This folder is written by `backsight publish`: it replaces and removes these files and those in `raw`.";
/// What the name of a file begins with that is being written.
const PART: &str = ".part-";

/// Why pages can't be published.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The disk.
    #[error("can't write {}: {source}", .path.display())]
    Disk {
        /// Which file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Other things are in the folder.
    #[error("{} has files that `backsight publish` hasn't written; name a new or an empty folder", .0.display())]
    NotOurs(PathBuf),
}

/// How many files were written, left alone and removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PublishedFiles {
    /// Files that are new or have changed.
    pub written: usize,
    /// Files that are as they were.
    pub unchanged: usize,
    /// Of these, pages that weren't made again, since their inputs are the same.
    pub left: usize,
    /// Files that nothing leads to any more.
    pub removed: usize,
}

/// What a page that is there was made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Made {
    /// Of its inputs.
    pub fingerprint: Fingerprint,
    /// How long it is, in bytes.
    pub length: u64,
    /// The raw outputs that it leads to.
    pub raw: Vec<RawRef>,
    /// Those that were pruned.
    pub pruned: Vec<RawRef>,
}

impl Made {
    /// `fingerprint length raw… -pruned…`.
    fn write(&self, line: &mut String) {
        let _ = write!(line, " {} {}", self.fingerprint, self.length);
        for raw in &self.raw {
            let _ = write!(line, " {raw}");
        }
        for raw in &self.pruned {
            let _ = write!(line, " -{raw}");
        }
    }

    /// None of a line of the mark that somebody has written something else into.
    fn read<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<Self> {
        let mut made = Self {
            fingerprint: words.next()?.parse().ok()?,
            length: words.next()?.parse().ok()?,
            raw: Vec::new(),
            pruned: Vec::new(),
        };
        for word in words {
            match word.strip_prefix('-') {
                Some(raw) => made.pruned.push(raw.parse().ok()?),
                None => made.raw.push(word.parse().ok()?),
            }
        }
        Some(made)
    }
}

pub(crate) struct Folder {
    root: PathBuf,
    /// The files that were ours before, by their addresses.
    earlier: BTreeSet<String>,
    /// The files that will be there.
    addresses: BTreeSet<String>,
    /// Files are written by several threads.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// What was written or left alone.
    kept: HashSet<PathBuf>,
    folders: HashSet<PathBuf>,
    /// What pages that are there were made of.
    made: BTreeMap<String, Made>,
    counts: PublishedFiles,
}

impl Folder {
    /// The folder, made if it isn't there, for files of these addresses. What it knows of how pages were made is true of those
    /// alone for which `is_current` says so.
    pub fn open(
        root: &Path,
        addresses: &[&str],
        is_current: impl Fn(&str, &Made) -> bool,
    ) -> Result<Self, FolderError> {
        let fault = |source| disk(root, source);
        fs::create_dir_all(root).map_err(fault)?;
        let mut earlier = BTreeSet::new();
        let mut state = State::default();
        if let Ok(text) = fs::read_to_string(root.join(MARK)) {
            for line in text.lines().skip(1) {
                let mut words = line.split(' ');
                let address = words.next().unwrap_or_default();
                if !is_inside(address) {
                    continue;
                }
                earlier.insert(address.to_owned());
                let made = Made::read(words).filter(|made| {
                    let file = fs::metadata(root.join(address));
                    file.is_ok_and(|file| file.is_file() && file.len() == made.length)
                        && is_current(address, made)
                });
                state
                    .made
                    .extend(made.map(|made| (address.to_owned(), made)));
            }
        } else {
            let mut entries = fs::read_dir(root).map_err(fault)?;
            // Killed before the mark was there, it may have left a part of the mark.
            if entries.any(|entry| entry.is_ok_and(|e| !name_of(&e.path()).starts_with(PART))) {
                return Err(FolderError::NotOurs(root.to_owned()));
            }
        }
        let folder = Self {
            root: root.to_owned(),
            earlier,
            addresses: addresses.iter().map(|&it| it.to_owned()).collect(),
            state: Mutex::new(state),
        };
        folder.write_mark(&(&folder.earlier | &folder.addresses))?;
        Ok(folder)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_mark(&self, addresses: &BTreeSet<String>) -> Result<(), FolderError> {
        let path = self.root.join(MARK);
        let mut text = MARK_TEXT.to_owned();
        let state = self.state();
        for address in addresses {
            text.push('\n');
            text.push_str(address);
            if let Some(made) = state.made.get(address) {
                made.write(&mut text);
            }
        }
        text.push('\n');
        if fs::read(&path).is_ok_and(|known| known == text.as_bytes()) {
            return Ok(());
        }
        write(&path, text.as_bytes()).map_err(|e| disk(&path, e))
    }

    /// The raw outputs that a page leads to which is there as it would be made; it is needed.
    pub fn keeps_page(&self, address: &str) -> Option<Vec<RawRef>> {
        let mut state = self.state();
        let raw = state.made.get(address)?.raw.clone();
        state.counts.unchanged += 1;
        state.counts.left += 1;
        state.kept.insert(self.root.join(address));
        Some(raw)
    }

    /// Notes what a page that was written was made of.
    pub fn note_made(&self, address: &str, made: Made) {
        self.state().made.insert(address.to_owned(), made);
    }

    /// Makes the file have this content.
    pub fn write_file(&self, file: &str, content: &[u8]) -> Result<(), FolderError> {
        let path = self.root.join(file);
        let same = fs::metadata(&path).is_ok_and(|known| known.len() == content.len() as u64)
            && fs::read(&path).is_ok_and(|known| known == content);
        if !same {
            if let Some(parent) = path.parent()
                && !self.state().folders.contains(parent)
            {
                fs::create_dir_all(parent).map_err(|e| disk(parent, e))?;
                self.state().folders.insert(parent.to_owned());
            }
            write(&path, content).map_err(|e| disk(&path, e))?;
        }
        let mut state = self.state();
        match same {
            true => state.counts.unchanged += 1,
            false => state.counts.written += 1,
        }
        state.kept.insert(path);
        Ok(())
    }

    /// Whether there is such a file, or is about to be; it is needed. Only for files whose name says their content.
    pub fn keeps(&self, file: &str) -> bool {
        let path = self.root.join(file);
        let mut state = self.state();
        if !state.kept.insert(path.clone()) {
            return true;
        }
        let there = path.is_file();
        state.counts.unchanged += usize::from(there);
        there
    }

    /// Removes files of ours that weren't written or kept, parts that a killed publisher has left, and folders that are
    /// empty then.
    pub fn sweep(&self) -> Result<PublishedFiles, FolderError> {
        let mut folders = BTreeSet::from([self.root.clone()]);
        for address in &self.earlier | &self.addresses {
            let path = self.root.join(&address);
            let parents = path.ancestors().skip(1);
            folders.extend(
                parents
                    .take_while(|parent| *parent != self.root)
                    .map(Path::to_owned),
            );
            if !self.is_kept(&path) {
                self.remove(&path)?;
            }
        }
        folders.extend(self.sweep_raw()?);
        // The deepest first: what is in a folder goes before it.
        for folder in folders.iter().rev() {
            for path in entries(folder)? {
                if name_of(&path).starts_with(PART) {
                    self.remove(&path)?;
                }
            }
            if *folder != self.root {
                // It stays if anything is in it.
                let _ = fs::remove_dir(folder);
            }
        }
        self.write_mark(&self.addresses)?;
        Ok(self.state().counts)
    }

    fn is_kept(&self, path: &Path) -> bool {
        self.state().kept.contains(path)
    }

    /// Removes raw outputs that nothing leads to, whose names say that they are ours; returns their folders.
    fn sweep_raw(&self) -> Result<Vec<PathBuf>, FolderError> {
        let raw = self.root.join("raw");
        let mut folders = vec![raw.clone()];
        for folder in entries(&raw)? {
            let digits = name_of(&folder);
            if !is_hex(&digits, 2) || !folder.is_dir() {
                continue;
            }
            for path in entries(&folder)? {
                let name = name_of(&path);
                let is_ours = name
                    .strip_suffix(".txt")
                    .is_some_and(|hash| is_hex(hash, 64));
                if is_ours && !self.is_kept(&path) {
                    self.remove(&path)?;
                }
            }
            folders.push(folder);
        }
        Ok(folders)
    }

    fn remove(&self, path: &Path) -> Result<(), FolderError> {
        match fs::remove_file(path) {
            Ok(()) => self.state().counts.removed += 1,
            Err(gone) if gone.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(disk(path, error)),
        }
        Ok(())
    }
}

/// What is in a folder; nothing if there is no such folder.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, FolderError> {
    let fault = |source| disk(folder, source);
    match fs::read_dir(folder) {
        Ok(entries) => entries
            .map(|entry| Ok(entry.map_err(fault)?.path()))
            .collect(),
        Err(gone) if gone.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(fault(error)),
    }
}

/// Whether a line of the mark is an address: somebody may have written something else into it.
fn is_inside(address: &str) -> bool {
    let mut parts = Path::new(address).components();
    !address.is_empty() && parts.all(|part| matches!(part, std::path::Component::Normal(_)))
}

/// Writes a file, whole or not at all.
fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let parent = path.parent().unwrap_or(Path::new("."));
    let mut part = tempfile::Builder::new().prefix(PART).tempfile_in(parent)?;
    part.write_all(content)?;
    // Others read what is published.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let everybody = fs::Permissions::from_mode(0o644);
        part.as_file().set_permissions(everybody)?;
    }
    part.persist(path)?;
    Ok(())
}

fn disk(path: &Path, source: io::Error) -> FolderError {
    FolderError::Disk {
        path: path.to_owned(),
        source,
    }
}

fn name_of(path: &Path) -> String {
    path.file_name()
        .map_or(String::new(), |name| name.to_string_lossy().into_owned())
}

fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn publish(root: &Path, pages: &[(&str, &str)]) -> PublishedFiles {
        let addresses: Vec<&str> = pages.iter().map(|(file, _)| *file).collect();
        let folder = Folder::open(root, &addresses, |_, _| true).unwrap();
        for (file, content) in pages {
            folder.write_file(file, content.as_bytes()).unwrap();
        }
        folder.sweep().unwrap()
    }

    const PAGE: &str = "linux/index.html";
    const OTHER: &str = "linux/v-1.html";

    #[test]
    fn what_is_the_same_is_left_alone_and_what_nobody_needs_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("site");
        let first = publish(&root, &[(PAGE, "one"), (OTHER, "two")]);
        assert_eq!((first.written, first.removed), (2, 0));
        let second = publish(&root, &[(PAGE, "one"), (OTHER, "two")]);
        assert_eq!(
            (second.written, second.unchanged, second.removed),
            (0, 2, 0)
        );
        let third = publish(&root, &[(PAGE, "new")]);
        assert_eq!((third.written, third.removed), (1, 1));
        assert!(!root.join(OTHER).exists());
        assert_eq!(fs::read_to_string(root.join(PAGE)).unwrap(), "new");
    }

    #[test]
    fn a_page_that_is_being_made_anew_is_not_taken_for_the_one_before() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("site");
        let open = |is_current: bool| Folder::open(&root, &[PAGE], |_, _| is_current).unwrap();
        let raw = RawRef::from_content(b"printed");
        let made = Made {
            fingerprint: "1f".parse().unwrap(),
            length: 3,
            raw: vec![raw],
            pruned: vec![RawRef::from_content(b"gone")],
        };
        let folder = open(true);
        folder.write_file(PAGE, b"one").unwrap();
        folder.note_made(PAGE, made.clone());
        folder.sweep().unwrap();
        let again = open(true);
        assert_eq!(again.state().made.get(PAGE), Some(&made));
        assert_eq!(again.keeps_page(PAGE), Some(vec![raw]));
        // Killed before it was made: whatever is there may be either.
        drop(open(false));
        assert_eq!(open(true).keeps_page(PAGE), None);
    }

    #[test]
    fn files_of_others_are_not_touched() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("thesis.tex"), "all of it").unwrap();
        assert!(matches!(
            Folder::open(dir.path(), &[], |_, _| true),
            Err(FolderError::NotOurs(_))
        ));
        let root = dir.path().join("site");
        publish(&root, &[(PAGE, "one")]);
        fs::write(root.join("CNAME"), "example.org").unwrap();
        fs::create_dir(root.join("notes")).unwrap();
        fs::write(root.join("notes/a.html"), "mine").unwrap();
        publish(&root, &[]);
        assert!(!root.join(PAGE).exists());
        assert!(root.join("CNAME").exists() && root.join("notes/a.html").exists());
    }

    #[test]
    fn parts_of_a_killed_publisher_are_removed_by_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("site");
        fs::create_dir_all(root.join("linux")).unwrap();
        fs::remove_dir(root.join("linux")).unwrap();
        fs::write(root.join(".part-mark"), "This fol").unwrap();
        publish(&root, &[(PAGE, "one")]);
        fs::write(root.join("linux/.part-x1"), "<!doc").unwrap();
        publish(&root, &[(PAGE, "one")]);
        assert!(!root.join(".part-mark").exists());
        assert!(!root.join("linux/.part-x1").exists());
    }
}
