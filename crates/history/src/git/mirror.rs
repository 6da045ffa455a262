//! A repository elsewhere, mirrored bare into our own folder: cloned once, then fetched whenever it is opened.
//!
//! The transports of `git` itself are used, with the keys and proxies that its user has set up for it; what is
//! fetched is read without it.
//!
//! No password is asked for. Where fetching fails, the old mirror isn't used.

use crate::HistoryError;
use crate::file_lock::lock_within_blocking;
use crate::program::{FETCHING, run};
use crate::temp_dirs;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Whether a text is the address of a repository rather than a path: `https://…`, `host:path`.
pub(super) fn is_address(url: &str) -> bool {
    url.contains("://")
        || url
            .split_once(':')
            .is_some_and(|(host, _)| !host.contains('/'))
}

/// Where the mirror of this address lies, brought up to date.
pub(super) fn up_to_date(url: &str, work: &Path) -> Result<PathBuf, HistoryError> {
    let hash = blake3::hash(url.as_bytes()).to_hex();
    let mirror = work.join(format!("mirror-{}.git", &hash[..16]));
    let what = format!("fetching {url}");
    let _alone = lock(&mirror)?;
    if mirror.exists() {
        let mut fetch = git();
        fetch.arg("--git-dir").arg(&mirror);
        fetch.args([
            "-c",
            "fetch.writeCommitGraph=true",
            "fetch",
            "--quiet",
            "--prune",
            "--force",
            "--no-auto-maintenance",
            "origin",
        ]);
        run(&mut fetch, &what, FETCHING)?;
        return Ok(mirror);
    }
    // Under its name only once it is whole.
    let draft = temp_dirs::temp_dir(work)?;
    let place = draft.path().join("git");
    let mut clone = git();
    clone
        .args(["clone", "--quiet", "--mirror", "--", url])
        .arg(&place);
    run(&mut clone, &what, FETCHING)?;
    let mut commit_graph = git();
    commit_graph.arg("--git-dir").arg(&place);
    commit_graph.args(["commit-graph", "write", "--reachable", "--split"]);
    // Without it only reading the history takes longer.
    let _ = run(&mut commit_graph, &what, FETCHING);
    fs::rename(&place, &mirror)
        .map_err(|error| HistoryError::Other(format!("{}: {error}", mirror.display())))?;
    Ok(mirror)
}

/// Lets one process at a time fetch into a mirror, or make it: two at once would refuse each other. Until the file is closed.
fn lock(mirror: &Path) -> Result<File, HistoryError> {
    let path = mirror.with_extension("lock");
    let fault = |error: std::io::Error| HistoryError::Other(format!("{}: {error}", path.display()));
    if let Some(work) = mirror.parent() {
        fs::create_dir_all(work).map_err(fault)?;
    }
    let locked = lock_within_blocking(&path, FETCHING, File::try_lock).map_err(fault)?;
    locked.ok_or_else(|| {
        HistoryError::Other(format!(
            "{}: another process has been fetching for {} minutes",
            mirror.display(),
            FETCHING.as_secs() / 60
        ))
    })
}

/// The `git` program, which asks for no password.
pub(super) fn git() -> Command {
    let mut command = Command::new("git");
    command
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_SSH_COMMAND", "ssh -o BatchMode=yes")
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE");
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_paths_are_told_apart() {
        for address in ["https://host/x.git", "host:x.git", "me@host:x", "file:///x"] {
            assert!(is_address(address), "{address}");
        }
        for path in [".", "../x", "/srv/x.git", "./a:b", "x"] {
            assert!(!is_address(path), "{path}");
        }
    }
}
