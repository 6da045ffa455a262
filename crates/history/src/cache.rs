//! The cache of builds: a folder each, named by what went into it.
//!
//! A build is put together beside its place and moved there when it is whole.

use backsight_model::Layout;
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File},
    io,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use crate::{
    compilers::compilers_in,
    file_lock::{lock_within, lock_within_blocking},
    workshop_error::{WorkshopError, file},
};

/// What is known of a build besides its files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// The version's identity.
    pub version: String,
    /// The layout.
    pub layout: Layout,
    /// The compilers that made it; none in builds from before that was kept.
    #[serde(default)]
    pub compilers: Option<Vec<String>>,
    /// What its commands were and printed.
    #[serde(skip)]
    pub log: Vec<u8>,
}

/// The builds of one target; as long as it is open, none is removed.
#[derive(Debug, Clone)]
pub(crate) struct Cache {
    folder: PathBuf,
    _in_use: Arc<File>,
}

/// So long a study waits for whoever removes builds.
const WAIT: Duration = Duration::from_secs(600);

/// The folder of builds below the target's own.
pub(crate) const BUILDS: &str = "builds";

/// The folder of a build's files, below the target's own folder.
pub(crate) fn files_of_build(place: &Path, key: &str) -> PathBuf {
    place.join(BUILDS).join(key).join("files")
}

impl Cache {
    /// The cache in a target's place; made if it isn't there.
    pub(crate) async fn open(place: &Path) -> Result<Self, WorkshopError> {
        let folder = place.join(BUILDS);
        fs::create_dir_all(&folder).map_err(file("make", &folder))?;
        let lock = lock_path(place);
        let in_use = lock_within(&lock, WAIT, File::try_lock_shared).await;
        let in_use = in_use.map_err(file("lock", &lock))?.ok_or_else(|| {
            WorkshopError::Recipe(format!(
                "builds in {} have been removed for {} minutes: wait until that has ended",
                folder.display(),
                WAIT.as_secs() / 60
            ))
        })?;
        Ok(Self {
            folder,
            _in_use: Arc::new(in_use),
        })
    }

    /// Keeps studies from a target's builds until the file is closed.
    ///
    /// # Errors
    /// A study uses them.
    pub(crate) fn lock_for_removal(place: &Path) -> Result<File, WorkshopError> {
        let lock = lock_path(place);
        let unused = lock_within_blocking(&lock, Duration::ZERO, File::try_lock);
        unused.map_err(file("lock", &lock))?.ok_or_else(|| {
            let builds = place.join(BUILDS);
            WorkshopError::Recipe(format!("a study uses those in {}", builds.display()))
        })
    }

    /// The folder of a build's files.
    pub(crate) fn files(&self, key: &str) -> PathBuf {
        self.folder.join(key).join("files")
    }

    /// The build of this key, if it is there.
    pub(crate) fn find(&self, key: &str) -> Result<Option<Entry>, WorkshopError> {
        let path = self.folder.join(key).join("build.json");
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(file("read", &path)(error)),
        };
        let Ok(mut entry) = serde_json::from_slice::<Entry>(&text) else {
            // Not ours, or cut off by a crash before it was on disk: made again.
            return Ok(None);
        };
        if entry.compilers.is_none() {
            entry.compilers = Some(compilers_in(&self.files(key)));
        }
        let log = self.folder.join(key).join("log");
        entry.log = fs::read(&log).unwrap_or_default();
        Ok(Some(entry))
    }

    /// Keeps these files and folders of a tree, or all of it, as the build of this key.
    pub(crate) fn keep(
        &self,
        key: &str,
        tree: &Path,
        kept: &[String],
        entry: &Entry,
    ) -> Result<(), WorkshopError> {
        let beside = self.folder.join(format!("{key}.{}", std::process::id()));
        let made = self.put_together(&beside, tree, kept, entry);
        let place = self.folder.join(key);
        let moved = made.and_then(|()| {
            // What stands there is damaged, or was made by another process meanwhile.
            remove(&place).map_err(file("remove", &place))?;
            fs::rename(&beside, &place).map_err(file("move a build to", &place))
        });
        if moved.is_err() {
            let _ = fs::remove_dir_all(&beside);
        }
        moved
    }

    fn put_together(
        &self,
        beside: &Path,
        tree: &Path,
        kept: &[String],
        entry: &Entry,
    ) -> Result<(), WorkshopError> {
        remove(beside).map_err(file("remove", beside))?;
        let files = beside.join("files");
        fs::create_dir_all(&files).map_err(file("make", &files))?;
        if kept.is_empty() {
            copy(tree, &files).map_err(file("copy the tree to", &files))?;
        }
        for name in kept {
            let to = files.join(name);
            if let Some(parent) = to.parent() {
                fs::create_dir_all(parent).map_err(file("make", parent))?;
            }
            copy(&tree.join(name), &to).map_err(file("copy to", &to))?;
        }
        let log = beside.join("log");
        fs::write(&log, &entry.log).map_err(file("write", &log))?;
        let path = beside.join("build.json");
        let entry = Entry {
            compilers: Some(compilers_in(&files)),
            ..entry.clone()
        };
        let text = serde_json::to_vec(&entry).unwrap_or_default();
        fs::write(&path, text).map_err(file("write", &path))
    }
}

/// The file that is locked by who uses builds, or removes them.
fn lock_path(place: &Path) -> PathBuf {
    place.join("builds.lock")
}

pub(crate) fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Copies a file, a link or a folder with all that is in it.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let kind = fs::symlink_metadata(from)?;
    if kind.is_symlink() {
        symlink(fs::read_link(from)?, to)
    } else if kind.is_dir() {
        match fs::create_dir(to) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
        // Last, or a folder that can't be written couldn't be filled.
        fs::set_permissions(to, fs::Permissions::from_mode(kind.permissions().mode()))
    } else if kind.is_file() {
        fs::copy(from, to).map(drop)
    } else {
        // Sockets and pipes that a build left are nothing to keep.
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Entry {
        Entry {
            version: "v1".into(),
            layout: Layout::default(),
            compilers: Some(Vec::new()),
            log: b"$ make\n".to_vec(),
        }
    }

    #[tokio::test]
    async fn what_is_kept_is_found_with_its_log_modes_and_links() {
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().join("tree");
        fs::create_dir_all(tree.join("bin")).unwrap();
        fs::write(tree.join("bin/tool"), "x").unwrap();
        fs::set_permissions(tree.join("bin/tool"), fs::Permissions::from_mode(0o755)).unwrap();
        symlink("tool", tree.join("bin/alias")).unwrap();
        fs::write(tree.join("other"), "y").unwrap();
        let cache = Cache::open(dir.path()).await.unwrap();
        assert_eq!(cache.find("k").unwrap(), None);
        cache.keep("k", &tree, &["bin".into()], &entry()).unwrap();
        assert_eq!(cache.find("k").unwrap(), Some(entry()));
        let files = cache.files("k");
        let mode = fs::metadata(files.join("bin/tool"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o755);
        assert_eq!(
            fs::read_link(files.join("bin/alias")).unwrap(),
            Path::new("tool")
        );
        assert!(!files.join("other").exists());
        // Once more is no error, and all of the tree is kept where nothing is named.
        cache.keep("k", &tree, &[], &entry()).unwrap();
        assert!(files.join("other").exists());
    }

    #[tokio::test]
    async fn half_a_build_is_no_build_and_is_cleared_away() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(dir.path()).await.unwrap();
        let missing = dir.path().join("nothing");
        assert!(
            cache
                .keep("k", &missing, &["linux".into()], &entry())
                .is_err()
        );
        assert_eq!(cache.find("k").unwrap(), None);
        assert_eq!(fs::read_dir(dir.path().join("builds")).unwrap().count(), 0);
    }
}
