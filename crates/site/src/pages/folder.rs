//! The folder that pages are published into: each file whole or not at all, what is the same left alone, what nobody
//! needs any more removed at the end.
//!
//! A folder with files of others is an error, and nothing that may be theirs is removed.

use std::{
    collections::{BTreeSet, HashSet},
    fs, io,
    io::Write as _,
    path::{Path, PathBuf},
};

/// The file that says that a folder is ours, and which files of it are: their addresses, a line each after the first.
/// It has all that a publisher is about to write before the first one is there.
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
    /// Files that nothing leads to any more.
    pub removed: usize,
}

pub(crate) struct Folder {
    root: PathBuf,
    /// What was written or left alone.
    kept: HashSet<PathBuf>,
    made: HashSet<PathBuf>,
    /// The files that were ours before, by their addresses.
    earlier: BTreeSet<String>,
    /// The files that will be there.
    addresses: BTreeSet<String>,
    counts: PublishedFiles,
}

impl Folder {
    /// The folder, made if it isn't there, for files of these addresses.
    pub fn open(root: &Path, addresses: &[&str]) -> Result<Self, FolderError> {
        let fault = |source| disk(root, source);
        fs::create_dir_all(root).map_err(fault)?;
        let mut folder = Self {
            root: root.to_owned(),
            kept: HashSet::new(),
            made: HashSet::new(),
            earlier: BTreeSet::new(),
            addresses: addresses
                .iter()
                .map(|&address| address.to_owned())
                .collect(),
            counts: PublishedFiles::default(),
        };
        if let Ok(text) = fs::read_to_string(root.join(MARK)) {
            let lines = text.lines().skip(1).filter(|line| is_inside(line));
            folder.earlier = lines.map(str::to_owned).collect();
        } else {
            let mut entries = fs::read_dir(root).map_err(fault)?;
            // Killed before the mark was there, it may have left a part of the mark.
            if entries.any(|entry| entry.is_ok_and(|e| !name_of(&e.path()).starts_with(PART))) {
                return Err(FolderError::NotOurs(root.to_owned()));
            }
        }
        folder.write_mark(&(&folder.earlier | &folder.addresses))?;
        Ok(folder)
    }

    fn write_mark(&self, addresses: &BTreeSet<String>) -> Result<(), FolderError> {
        let path = self.root.join(MARK);
        let mut text = MARK_TEXT.to_owned();
        for address in addresses {
            text.push('\n');
            text.push_str(address);
        }
        text.push('\n');
        if fs::read(&path).is_ok_and(|known| known == text.as_bytes()) {
            return Ok(());
        }
        write(&path, text.as_bytes()).map_err(|e| disk(&path, e))
    }

    /// Makes the file have this content.
    pub fn write_file(&mut self, file: &str, content: &[u8]) -> Result<(), FolderError> {
        let path = self.root.join(file);
        let same = fs::metadata(&path).is_ok_and(|known| known.len() == content.len() as u64)
            && fs::read(&path).is_ok_and(|known| known == content);
        if same {
            self.counts.unchanged += 1;
        } else {
            if let Some(parent) = path.parent()
                && self.made.insert(parent.to_owned())
            {
                fs::create_dir_all(parent).map_err(|e| disk(parent, e))?;
            }
            write(&path, content).map_err(|e| disk(&path, e))?;
            self.counts.written += 1;
        }
        self.kept.insert(path);
        Ok(())
    }

    /// Whether there is such a file; it is needed. Only for files whose name says their content.
    pub fn keeps(&mut self, file: &str) -> bool {
        let path = self.root.join(file);
        if self.kept.contains(&path) {
            return true;
        }
        let there = path.is_file();
        if there {
            self.counts.unchanged += 1;
            self.kept.insert(path);
        }
        there
    }

    /// Removes files of ours that weren't written or kept, parts that a killed publisher has left, and folders that are
    /// empty then.
    pub fn sweep(mut self) -> Result<PublishedFiles, FolderError> {
        let mut folders = BTreeSet::from([self.root.clone()]);
        for address in &self.earlier | &self.addresses {
            let path = self.root.join(&address);
            let parents = path.ancestors().skip(1);
            folders.extend(
                parents
                    .take_while(|parent| *parent != self.root)
                    .map(Path::to_owned),
            );
            if !self.kept.contains(&path) {
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
        Ok(self.counts)
    }

    /// Removes raw outputs that nothing leads to, whose names say that they are ours; returns their folders.
    fn sweep_raw(&mut self) -> Result<Vec<PathBuf>, FolderError> {
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
                if is_ours && !self.kept.contains(&path) {
                    self.remove(&path)?;
                }
            }
            folders.push(folder);
        }
        Ok(folders)
    }

    fn remove(&mut self, path: &Path) -> Result<(), FolderError> {
        match fs::remove_file(path) {
            Ok(()) => self.counts.removed += 1,
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
        let mut folder = Folder::open(root, &addresses).unwrap();
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
    fn files_of_others_are_not_touched() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("thesis.tex"), "all of it").unwrap();
        assert!(matches!(
            Folder::open(dir.path(), &[]),
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
