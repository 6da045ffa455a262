//! Leases: two studies never measure on the same host at once.
//!
//! A lease is a lock on a small file a host, held by the process that measures and by the agents that it
//! starts; the system drops it when the last of them ends, however it ends. So when the conductor is killed,
//! nobody else gets the hosts before the agents have put them back. Hosts of one machine are hosts of their own here: who wants the
//! whole machine quiet leases every host of it.
//!
//! Refuses: to wait longer than it was told.

use backsight_model::{HostKind, HostName, Lab};
use rustix::fs::{FlockOperation, flock};
use std::{
    fs::File,
    io::{Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

/// Why hosts can't be had.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    /// Somebody else measures on a host.
    #[error("host `{host}` is leased to {holder}")]
    Taken {
        /// The host.
        host: HostName,
        /// Who says to hold it.
        holder: String,
    },
    /// The lock files can't be used.
    #[error("can't lock {path}: {cause}")]
    Lock {
        /// The lock's file.
        path: PathBuf,
        /// What the system said.
        #[source]
        cause: std::io::Error,
    },
}

/// Hosts that are ours until this is dropped.
#[derive(Debug)]
pub struct Lease {
    _files: Vec<File>,
}

impl Lease {
    /// Takes these hosts for `holder` (shown to whoever comes next), waiting at most this long.
    ///
    /// # Errors
    /// [`LeaseError::Taken`] when another process still has one of them at the end of the wait.
    pub async fn take(
        lab: &Lab,
        hosts: &[HostName],
        holder: &str,
        wait: Duration,
    ) -> Result<Self, LeaseError> {
        let until = tokio::time::Instant::now() + wait;
        loop {
            match Self::try_take(lab, hosts, holder) {
                // Locks have no event to await; the poll is for people, who wait minutes.
                Err(LeaseError::Taken { .. }) if tokio::time::Instant::now() < until => {
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
                result => return result,
            }
        }
    }

    /// Takes these hosts now or not at all.
    ///
    /// # Errors
    /// As [`Lease::take`].
    pub fn try_take(lab: &Lab, hosts: &[HostName], holder: &str) -> Result<Self, LeaseError> {
        let folder = folder();
        // One order for everybody: two studies that want the same two hosts can't each hold one.
        let mut paths: Vec<(PathBuf, &HostName)> =
            hosts.iter().map(|host| (folder.join(lock_name(lab, host)), host)).collect();
        paths.sort();
        paths.dedup_by(|a, b| a.0 == b.0);
        let mut files = Vec::new();
        for (path, host) in paths {
            files.push(lock(&path, host, holder)?);
        }
        Ok(Self { _files: files })
    }
}

/// Where lock files live: shared by all users of the machine where the system has such a place.
fn folder() -> PathBuf {
    [Path::new("/run/lock"), Path::new("/tmp")]
        .into_iter()
        .find(|path| path.is_dir())
        .map_or_else(std::env::temp_dir, Path::to_path_buf)
        .join("backsight")
}

fn lock_name(lab: &Lab, host: &HostName) -> String {
    match lab.host.get(host).map(|h| h.kind) {
        Some(HostKind::Netns) => format!("netns-{}-{host}.lock", lab.name),
        // Every local host is this machine, but several may be wanted at once by one study.
        Some(HostKind::Local) | None => format!("local-{host}.lock"),
    }
}

fn lock(path: &Path, host: &HostName, holder: &str) -> Result<File, LeaseError> {
    let fault = |cause| LeaseError::Lock { path: path.to_path_buf(), cause };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(fault)?;
        share(folder, 0o1777);
    }
    let mut file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .map_err(fault)?;
    share(path, 0o666);
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {
            file.set_len(0).map_err(fault)?;
            file.rewind().map_err(fault)?;
            file.write_all(holder.as_bytes()).map_err(fault)?;
            // The agents inherit it.
            rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).map_err(|e| fault(e.into()))?;
            Ok(file)
        }
        Err(rustix::io::Errno::WOULDBLOCK) => {
            let mut holder = String::new();
            let _ = file.take(500).read_to_string(&mut holder);
            let holder = if holder.is_empty() { "somebody else".to_owned() } else { holder };
            Err(LeaseError::Taken { host: host.clone(), holder })
        }
        Err(errno) => Err(fault(errno.into())),
    }
}

/// Other users must be able to lock here too. Only the owner may set the mode; that it is already so for
/// the others is all that matters to them.
fn share(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    let _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode));
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_model::Document;

    fn lab(name: &str) -> (Lab, Vec<HostName>) {
        let text = format!("name = \"{name}\"\n[host.a]\nkind = \"netns\"\n[host.b]\nkind = \"netns\"\n");
        let lab = Lab::read(&Document::new("lab.toml", text)).unwrap();
        let hosts = lab.host.keys().map(|h| (**h).clone()).collect();
        (lab, hosts)
    }

    #[test]
    fn a_host_is_leased_to_one_at_a_time() {
        let (lab, hosts) = lab(&format!("lease-test-{}", std::process::id()));
        let first = Lease::try_take(&lab, &hosts, "study one").unwrap();
        let refused = Lease::try_take(&lab, &hosts[1..], "study two").unwrap_err();
        assert!(refused.to_string().contains("`b` is leased to study one"), "{refused}");
        drop(first);
        Lease::try_take(&lab, &hosts, "study two").unwrap();
    }
}
