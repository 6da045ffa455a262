//! Folders of the agent: their removal, whatever steps did to them, and errors that name the path.

use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::mounts;

/// In a trial's folder: where its programs come to barriers.
pub(crate) const BARRIER_SOCKET: &str = "barrier";
/// In a trial's folder: the programs that its steps find first.
pub(crate) const PROGRAMS: &str = "bin";

/// Where files are kept on this machine that can be made again: `$XDG_CACHE_HOME/backsight`, else below `~/.cache`.
pub fn cache_folder() -> PathBuf {
    let home = || Some(PathBuf::from(env::var_os("HOME")?).join(".cache"));
    let cache = env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(home)
        .unwrap_or_else(|| PathBuf::from("/var/tmp"));
    cache.join("backsight")
}

/// Removes a folder, with what a step made to stay: mounts, files that can't be changed. Says what is left of it and why.
pub(crate) fn remove_tree(folder: &Path) -> Option<String> {
    if let Err(error) = mounts::undo_below(folder) {
        return Some(error.to_string());
    }
    match fs::remove_dir_all(folder) {
        Ok(()) => return None,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(_) => {}
    }
    unlock(folder);
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Some(format!("{}: {error}", folder.display()))
        }
        _ => None,
    }
}

/// Makes all in a folder removable: takes the flags away by which files can't be changed, and gives its folders' owner the
/// right to change them. What can't be changed is left as it is.
fn unlock(folder: &Path) {
    let is_folder = fs::symlink_metadata(folder).is_ok_and(|meta| meta.is_dir());
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    if is_folder {
        // First: without it nothing in it can be opened.
        let _not_ours = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    }
    if let Ok(file) = rustix::fs::open(folder, flags, Mode::empty()) {
        backsight_platform::clear_immutable(file);
    }
    if is_folder {
        let _again = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            unlock_entry(&entry);
        }
    }
}

/// Only folders and regular files have flags; to open something else may have effects.
fn unlock_entry(entry: &fs::DirEntry) {
    if entry
        .file_type()
        .is_ok_and(|kind| kind.is_dir() || kind.is_file())
    {
        unlock(&entry.path());
    }
}

/// An error with the path that it is about.
pub(crate) fn with_path(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
