//! Files, folders and links that are sent to a host that doesn't see the files of the controller: those of a build, or those beside a
//! plan.
//!
//! Of a plan's folder that goes which its commands could need: what begins with a dot, stores of results, sockets and devices are left
//! out, and so that no home folder is sent by mistake, it has a limit.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::folders::with_path;

/// Most bytes of a plan's files.
const MOST_BYTES: u64 = 64 << 20;
/// Most files, folders and links of a plan.
const MOST_ENTRIES: usize = 10_000;
/// The file by which a store of results is known.
const STORE_MARK: &str = "backsight.db";
/// How many of the largest things are named where there are too many.
const NAMED: usize = 3;

/// Files, folders and links below a folder.
#[derive(Debug, Clone, Default)]
pub(crate) struct FileTree {
    pub(crate) entries: Vec<TreeEntry>,
}

/// One of them.
#[derive(Debug, Clone)]
pub(crate) struct TreeEntry {
    /// Below the folder.
    pub(crate) path: PathBuf,
    pub(crate) kind: EntryKind,
}

#[derive(Debug, Clone)]
pub(crate) enum EntryKind {
    Folder,
    /// A link, and where it leads.
    Link(PathBuf),
    File {
        /// Where its content is.
        source: PathBuf,
        mode: u32,
    },
}

/// The files beside a plan, with the name by which their content is known.
#[derive(Debug, Clone)]
pub struct PlanFiles {
    pub(crate) name: String,
    pub(crate) tree: FileTree,
}

/// Why a plan's files can't be sent.
#[derive(Debug, thiserror::Error)]
pub enum PlanFilesError {
    /// One can't be read.
    #[error("the plan's files can't be read: {0}")]
    Unreadable(#[from] io::Error),
    /// They are too large or too many.
    #[error(
        "the plan's folder {} is too large to be sent to a host that doesn't see it: over {} MiB or {MOST_ENTRIES} files; the largest that \
         were found: {largest}; name what its commands need in the plan, `files = [\"rules.nft\", \"scripts\"]`, or move the plan to a folder \
         of its own", .folder.display(), MOST_BYTES >> 20
    )]
    TooLarge {
        /// The plan's folder.
        folder: PathBuf,
        /// What is large in it.
        largest: String,
    },
    /// A link leads to a folder somewhere else.
    #[error(
        "{} is a link to the folder {}, which isn't in the plan's: name what its commands need in the plan, `files = [\"rules.nft\"]`, or \
         put the files themselves there", .link.display(), .to.display()
    )]
    LeadsOut {
        /// The link.
        link: PathBuf,
        /// Where it leads.
        to: PathBuf,
    },
}

impl PlanFiles {
    /// What of a plan's folder a host gets: these files and folders, or all but what is hidden. Blocking.
    ///
    /// # Errors
    ///
    /// One can't be read, they are too large, or a link leads to a folder somewhere else.
    pub fn read(folder: &Path, only: Option<&[String]>) -> Result<Self, PlanFilesError> {
        let mut walk = PlanWalk {
            root: folder,
            resolved: fs::canonicalize(folder).map_err(|error| with_path(folder, &error))?,
            tree: FileTree::default(),
            sizes: Vec::new(),
            bytes: 0,
        };
        match only {
            None => walk.folder(Path::new(""))?,
            Some(only) => {
                for path in only {
                    walk.chosen(Path::new(path))?;
                }
            }
        }
        let mut tree = walk.tree;
        // A folder before what is in it, and each once, also where the plan names it twice.
        tree.entries.sort_by(|one, other| one.path.cmp(&other.path));
        tree.entries.dedup_by(|one, other| one.path == other.path);
        Ok(Self {
            name: tree.name()?,
            tree,
        })
    }
}

struct PlanWalk<'a> {
    root: &'a Path,
    resolved: PathBuf,
    tree: FileTree,
    sizes: Vec<(u64, PathBuf)>,
    bytes: u64,
}

impl PlanWalk<'_> {
    /// A file or folder that the plan names, with the folders above it.
    fn chosen(&mut self, path: &Path) -> Result<(), PlanFilesError> {
        let above: Vec<&Path> = path.ancestors().skip(1).collect();
        for folder in above.into_iter().rev().filter(|it| *it != Path::new("")) {
            self.add(folder, EntryKind::Folder)?;
        }
        self.entry(path)
    }

    fn folder(&mut self, below: &Path) -> Result<(), PlanFilesError> {
        for name in names(&self.root.join(below))? {
            if !name.as_bytes().starts_with(b".") {
                self.entry(&below.join(name))?;
            }
        }
        Ok(())
    }

    fn entry(&mut self, path: &Path) -> Result<(), PlanFilesError> {
        let place = self.root.join(path);
        let own = fs::symlink_metadata(&place).map_err(|error| with_path(&place, &error))?;
        let meta = match own.is_symlink() {
            false => own,
            true => match fs::metadata(&place) {
                Ok(meta) => meta,
                // It leads nowhere here, and there.
                Err(_) => return self.link(path, &place),
            },
        };
        if meta.is_file() {
            self.bytes += meta.len();
            self.sizes.push((meta.len(), path.to_owned()));
            let mode = meta.permissions().mode() & 0o777;
            return self.add(
                path,
                EntryKind::File {
                    source: place,
                    mode,
                },
            );
        }
        if !meta.is_dir() {
            return Ok(());
        }
        if fs::symlink_metadata(&place).is_ok_and(|own| own.is_symlink()) {
            let to = fs::canonicalize(&place).map_err(|error| with_path(&place, &error))?;
            return match to.starts_with(&self.resolved) {
                true => self.link(path, &place),
                false => Err(PlanFilesError::LeadsOut { link: place, to }),
            };
        }
        if place.join(STORE_MARK).exists() {
            return Ok(());
        }
        self.add(path, EntryKind::Folder)?;
        self.folder(path)
    }

    fn link(&mut self, path: &Path, place: &Path) -> Result<(), PlanFilesError> {
        let to = fs::read_link(place).map_err(|error| with_path(place, &error))?;
        self.add(path, EntryKind::Link(to))
    }

    fn add(&mut self, path: &Path, kind: EntryKind) -> Result<(), PlanFilesError> {
        let path = path.to_owned();
        self.tree.entries.push(TreeEntry { path, kind });
        if self.bytes <= MOST_BYTES && self.tree.entries.len() <= MOST_ENTRIES {
            return Ok(());
        }
        self.sizes.sort_by_key(|(size, _)| std::cmp::Reverse(*size));
        let largest = self.sizes.iter().take(NAMED).map(|(size, path)| {
            let mebibytes = *size as f64 / f64::from(1 << 20);
            format!("{} ({mebibytes:.1} MiB)", path.display())
        });
        Err(PlanFilesError::TooLarge {
            folder: self.root.to_owned(),
            largest: largest.collect::<Vec<_>>().join(", "),
        })
    }
}

/// The names in a folder, sorted.
fn names(folder: &Path) -> io::Result<Vec<std::ffi::OsString>> {
    let listed = fs::read_dir(folder).and_then(|entries| {
        let names = entries.map(|entry| Ok(entry?.file_name()));
        names.collect::<io::Result<Vec<_>>>()
    });
    let mut names = listed.map_err(|error| with_path(folder, &error))?;
    names.sort();
    Ok(names)
}

impl FileTree {
    /// All files, folders and links below a folder. Blocking.
    ///
    /// # Errors
    ///
    /// What can't be read.
    pub(crate) fn whole(root: &Path) -> io::Result<Self> {
        let mut tree = Self::default();
        tree.walk(root, Path::new(""))?;
        Ok(tree)
    }

    fn walk(&mut self, root: &Path, below: &Path) -> io::Result<()> {
        for name in names(&root.join(below))? {
            let path = below.join(name);
            let source = root.join(&path);
            let meta = fs::symlink_metadata(&source).map_err(|error| with_path(&source, &error))?;
            let is_folder = meta.is_dir();
            let kind = if is_folder {
                EntryKind::Folder
            } else if meta.is_symlink() {
                EntryKind::Link(fs::read_link(&source).map_err(|error| with_path(&source, &error))?)
            } else if meta.is_file() {
                let mode = meta.permissions().mode() & 0o777;
                EntryKind::File { source, mode }
            } else {
                continue;
            };
            let entry = path.clone();
            self.entries.push(TreeEntry { path: entry, kind });
            if is_folder {
                self.walk(root, &path)?;
            }
        }
        Ok(())
    }

    /// A name that only the same paths, permissions and content have. Blocking.
    ///
    /// # Errors
    ///
    /// What can't be read.
    pub(crate) fn name(&self) -> io::Result<String> {
        let mut entries: Vec<&TreeEntry> = self.entries.iter().collect();
        entries.sort_by(|one, other| one.path.cmp(&other.path));
        let mut hasher = blake3::Hasher::new();
        for TreeEntry { path, kind } in entries {
            let mut part = |kind: &[u8], bytes: &[u8]| {
                hasher.update(kind);
                hasher.update(&(bytes.len() as u64).to_le_bytes());
                hasher.update(bytes);
            };
            part(b"path", path.as_os_str().as_bytes());
            match kind {
                EntryKind::Folder => part(b"folder", b""),
                EntryKind::Link(to) => part(b"link", to.as_os_str().as_bytes()),
                EntryKind::File { source, mode } => {
                    let content = fs::read(source).map_err(|error| with_path(source, &error))?;
                    part(b"mode", &mode.to_le_bytes());
                    part(b"file", &content);
                }
            }
        }
        Ok(format!("plan-{}", &hasher.finalize().to_hex()[..32]))
    }

    /// Copies all of it below a new folder, which others may read as far as its files let them. Blocking.
    ///
    /// # Errors
    ///
    /// What can't be read or written.
    pub(crate) fn copy_to(&self, folder: &Path) -> io::Result<()> {
        let make = |place: &Path| {
            fs::DirBuilder::new().mode(0o755).create(place)?;
            // Whatever mask we run under.
            fs::set_permissions(place, fs::Permissions::from_mode(0o755))
        };
        make(folder).map_err(|error| with_path(folder, &error))?;
        for TreeEntry { path, kind } in &self.entries {
            let place = folder.join(path);
            let done = match kind {
                EntryKind::Folder => make(&place),
                EntryKind::Link(to) => symlink::<&OsStr, _>(to.as_ref(), &place),
                EntryKind::File { source, .. } => fs::copy(source, &place).map(|_| ()),
            };
            done.map_err(|error| with_path(&place, &error))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(files: &PlanFiles) -> Vec<String> {
        let entries = files.tree.entries.iter();
        entries
            .map(|entry| entry.path.display().to_string())
            .collect()
    }

    /// A plan's folder with files, links, hidden things, a socket and a store.
    fn plan_folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        for made in ["scripts/deep", ".git", "store"] {
            fs::create_dir_all(at(made)).unwrap();
        }
        for (file, text) in [
            ("rules.nft", "flush ruleset"),
            ("scripts/on", "#!/bin/sh"),
            ("scripts/deep/x", "x"),
            (".git/config", "secret"),
            (".env", "secret"),
            ("store/backsight.db", "large"),
        ] {
            fs::write(at(file), text).unwrap();
        }
        fs::set_permissions(at("scripts/on"), fs::Permissions::from_mode(0o755)).unwrap();
        symlink("scripts", at("inside")).unwrap();
        symlink("nowhere", at("dangling")).unwrap();
        std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        folder
    }

    #[test]
    fn what_commands_could_need_is_sent_and_what_is_hidden_isnt() {
        let folder = plan_folder();
        let all = PlanFiles::read(folder.path(), None).unwrap();
        let expected = [
            "dangling",
            "inside",
            "rules.nft",
            "scripts",
            "scripts/deep",
            "scripts/deep/x",
            "scripts/on",
        ];
        assert_eq!(paths(&all), expected);
        let only = ["scripts/deep/x".to_owned(), ".env".to_owned()];
        let some = PlanFiles::read(folder.path(), Some(&only)).unwrap();
        assert_eq!(
            paths(&some),
            [".env", "scripts", "scripts/deep", "scripts/deep/x"]
        );
        assert!(PlanFiles::read(folder.path(), Some(&["gone".into()])).is_err());
    }

    #[test]
    fn a_link_to_a_file_elsewhere_is_its_content_and_one_to_a_folder_is_refused() {
        let (folder, other) = (plan_folder(), tempfile::tempdir().unwrap());
        fs::write(other.path().join("common"), "text").unwrap();
        symlink(other.path().join("common"), folder.path().join("linked")).unwrap();
        let read = PlanFiles::read(folder.path(), None).unwrap();
        let linked = read
            .tree
            .entries
            .iter()
            .find(|it| it.path == Path::new("linked"));
        assert!(matches!(linked.unwrap().kind, EntryKind::File { .. }));
        symlink(other.path(), folder.path().join("away")).unwrap();
        let fault = PlanFiles::read(folder.path(), None)
            .unwrap_err()
            .to_string();
        assert!(fault.contains("away is a link to the folder"), "{fault}");
        assert!(fault.contains("files = ["), "{fault}");
    }

    #[test]
    fn a_home_folder_isnt_sent_and_the_way_out_is_said() {
        let folder = plan_folder();
        let large = fs::File::create(folder.path().join("capture.pcap")).unwrap();
        large.set_len(MOST_BYTES + 1).unwrap();
        let fault = PlanFiles::read(folder.path(), None)
            .unwrap_err()
            .to_string();
        for words in [
            "over 64 MiB",
            "capture.pcap (64.0 MiB)",
            "files = [\"rules.nft\", \"scripts\"]",
        ] {
            assert!(fault.contains(words), "{words}: {fault}");
        }
        assert!(PlanFiles::read(folder.path(), Some(&["scripts".into()])).is_ok());
    }

    #[test]
    fn a_name_is_of_paths_permissions_and_content_and_a_copy_has_the_same() {
        let folder = plan_folder();
        let name = || PlanFiles::read(folder.path(), None).unwrap().name;
        let first = name();
        assert_eq!(name(), first);
        let copy = folder.path().join(".copy");
        let tree = PlanFiles::read(folder.path(), None).unwrap().tree;
        tree.copy_to(&copy).unwrap();
        assert_eq!(FileTree::whole(&copy).unwrap().name().unwrap(), first);
        let script = folder.path().join("scripts/on");
        fs::set_permissions(&script, fs::Permissions::from_mode(0o700)).unwrap();
        let second = name();
        fs::write(&script, "#!/bin/dash").unwrap();
        let third = name();
        assert!(first != second && second != third && first != third);
    }
}
