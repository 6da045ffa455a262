//! The folder that pages are published into: each file whole or not at all, what is the same left alone, what nobody
//! needs any more removed at the end.
//!
//! A folder with files of others is an error, and nothing that may be theirs is removed.

use std::{
    collections::HashSet,
    fs, io,
    io::Write as _,
    path::{Path, PathBuf},
};

/// The file that says that a folder is ours.
const MARK: &str = "published-by-backsight.txt";
const MARK_TEXT: &str =
    "This folder is written by `backsight publish`: it replaces and removes its pages here.\n";
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
    kept: HashSet<PathBuf>,
    made: HashSet<PathBuf>,
    counts: PublishedFiles,
}

impl Folder {
    /// The folder, made if it isn't there.
    pub fn open(root: &Path) -> Result<Self, FolderError> {
        let fault = |source| disk(root, source);
        fs::create_dir_all(root).map_err(fault)?;
        let mut folder = Self {
            root: root.to_owned(),
            kept: HashSet::new(),
            made: HashSet::new(),
            counts: PublishedFiles::default(),
        };
        if !root.join(MARK).exists() {
            let mut entries = fs::read_dir(root).map_err(fault)?;
            // Killed before the mark was there, it may have left a part of the mark.
            if entries.any(|entry| entry.is_ok_and(|e| !name_of(&e.path()).starts_with(PART))) {
                return Err(FolderError::NotOurs(root.to_owned()));
            }
        }
        folder.write_file(MARK, MARK_TEXT.as_bytes())?;
        Ok(folder)
    }

    /// Makes the file have this content.
    pub fn write_file(&mut self, file: &str, content: &[u8]) -> Result<(), FolderError> {
        let path = self.root.join(file);
        let same = fs::metadata(&path).is_ok_and(|known| known.len() == content.len() as u64)
            && fs::read(&path).is_ok_and(|known| known == content);
        if same {
            self.counts.unchanged += 1;
        } else {
            self.write(&path, content).map_err(|e| disk(&path, e))?;
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

    fn write(&mut self, path: &Path, content: &[u8]) -> io::Result<()> {
        let parent = path.parent().unwrap_or(&self.root).to_owned();
        if !self.made.contains(&parent) {
            fs::create_dir_all(&parent)?;
            self.made.insert(parent.clone());
        }
        let mut part = tempfile::Builder::new().prefix(PART).tempfile_in(&parent)?;
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

    /// Removes pages that weren't put or kept, and parts that a killed publisher has left.
    pub fn sweep(mut self) -> Result<PublishedFiles, FolderError> {
        let root = self.root.clone();
        self.sweep_in(&root, 0)?;
        Ok(self.counts)
    }

    fn sweep_in(&mut self, folder: &Path, depth: usize) -> Result<(), FolderError> {
        let fault = |source| disk(folder, source);
        for entry in fs::read_dir(folder).map_err(fault)? {
            let entry = entry.map_err(fault)?;
            let (path, name) = (entry.path(), name_of(&entry.path()));
            let kind = entry.file_type().map_err(fault)?;
            if kind.is_dir() && depth < 2 && is_folder_of_ours(&name, depth, folder) {
                self.sweep_in(&path, depth + 1)?;
                // It stays if anything is in it.
                let _ = fs::remove_dir(&path);
            } else if kind.is_file() && !self.kept.contains(&path) && is_ours(&name, depth) {
                fs::remove_file(&path).map_err(|e| disk(&path, e))?;
                self.counts.removed += 1;
            }
        }
        Ok(())
    }
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

/// `raw`, in it two digits; a target's sixteen.
fn is_folder_of_ours(name: &str, depth: usize, parent: &Path) -> bool {
    match depth {
        0 => name == "raw" || is_hex(name, 16),
        _ => is_hex(name, 2) && name_of(parent) == "raw",
    }
}

fn is_ours(name: &str, depth: usize) -> bool {
    if name.starts_with(PART) {
        return true;
    }
    match depth {
        0 => false,
        1 => name.ends_with(".html"),
        _ => name
            .strip_suffix(".txt")
            .is_some_and(|hash| is_hex(hash, 64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn publish(root: &Path, pages: &[(&str, &str)]) -> PublishedFiles {
        let mut folder = Folder::open(root).unwrap();
        for (file, content) in pages {
            folder.write_file(file, content.as_bytes()).unwrap();
        }
        folder.sweep().unwrap()
    }

    const PAGE: &str = "0123456789abcdef/index.html";
    const OTHER: &str = "0123456789abcdef/v-1.html";

    #[test]
    fn what_is_the_same_is_left_alone_and_what_nobody_needs_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("site");
        let first = publish(&root, &[(PAGE, "one"), (OTHER, "two")]);
        assert_eq!((first.written, first.removed), (3, 0));
        let second = publish(&root, &[(PAGE, "one"), (OTHER, "two")]);
        assert_eq!(
            (second.written, second.unchanged, second.removed),
            (0, 3, 0)
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
            Folder::open(dir.path()),
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
        fs::create_dir_all(root.join("0123456789abcdef")).unwrap();
        fs::remove_dir(root.join("0123456789abcdef")).unwrap();
        fs::write(root.join(".part-mark"), "This fol").unwrap();
        publish(&root, &[(PAGE, "one")]);
        fs::write(root.join("0123456789abcdef/.part-x1"), "<!doc").unwrap();
        publish(&root, &[(PAGE, "one")]);
        assert!(!root.join(".part-mark").exists());
        assert!(!root.join("0123456789abcdef/.part-x1").exists());
    }
}
