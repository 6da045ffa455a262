//! Leases: two studies never measure on the same host at once.
//!
//! A lease is a lock on a small file a host, held by the process that measures and by the agents that it
//! starts; the system drops it when the last of them ends, however it ends. So when the conductor is killed,
//! nobody else gets the hosts before the agents have put them back. Hosts of one machine are hosts of their own here: who wants the
//! whole machine quiet leases every host of it.
//!
//! Refuses: to wait longer than it was told.

use backsight_model::{HostKind, HostName, Lab, LabName};
use rustix::fs::{FlockOperation, flock};
use std::{
    fs::File,
    io::{Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

/// How long somebody else may take to make or remove a lab.
const OTHERS_LIMIT: Duration = Duration::from_secs(30);
/// How long the agents of a conductor that was killed may take to put their hosts back.
const AGENTS_LIMIT: Duration = Duration::from_secs(3);

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
    /// Somebody else makes or removes the lab's namespaces.
    #[error(
        "somebody else is making or removing the namespaces of lab `{lab}`, and doesn't come to an end: see what `backsight lab` runs on this machine"
    )]
    Busy {
        /// The lab.
        lab: LabName,
    },
    /// The lock files can't be used.
    #[error("can't lock {path}: {cause}")]
    Lock {
        /// The lock's file.
        path: PathBuf,
        /// What the system said.
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

    /// Takes these hosts as soon as the agents of a study that was just killed have gone.
    ///
    /// # Errors
    /// As [`Lease::take`].
    pub(crate) fn take_soon(
        lab: &Lab,
        hosts: &[HostName],
        holder: &str,
    ) -> Result<Self, LeaseError> {
        let until = std::time::Instant::now() + AGENTS_LIMIT;
        loop {
            match Self::try_take(lab, hosts, holder) {
                Err(LeaseError::Taken { .. }) if std::time::Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(20));
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
        let mut paths: Vec<(PathBuf, &HostName)> = hosts
            .iter()
            .map(|host| (folder.join(lock_name(lab, host)), host))
            .collect();
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

/// The longest name of a lock's file before its ending, in characters.
const LOCK_NAME: usize = 200;

fn lock_name(lab: &Lab, host: &HostName) -> String {
    let settings = lab.host.get(host);
    match settings.map(|h| h.kind) {
        Some(HostKind::Ssh) => {
            // The same machine, whatever labs call it.
            let words = settings.map(|s| {
                let options = s.options.iter().map(|option| option.as_str());
                std::iter::once(s.login(host))
                    .chain(options)
                    .collect::<Vec<_>>()
                    .join("-")
            });
            let plain = |c: char| {
                if c.is_ascii_alphanumeric() || c == '.' {
                    c
                } else {
                    '-'
                }
            };
            let name: String = words
                .unwrap_or_default()
                .chars()
                .map(plain)
                .take(LOCK_NAME)
                .collect();
            format!("ssh-{name}.lock")
        }
        Some(HostKind::Netns) => format!("netns-{}-{host}.lock", lab.name),
        Some(HostKind::Uml | HostKind::Qemu) => format!("guest-{}-{host}.lock", lab.name),
        // Every local host is this machine, but several may be wanted at once by one study.
        Some(HostKind::Local) | None => format!("local-{host}.lock"),
    }
}

/// The lock's file, made if it isn't there, for every user to lock.
fn open(path: &Path) -> std::io::Result<File> {
    use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
        // Only the owner may set the mode; that it is already so for the others is all that matters to them.
        let _ = std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o1777));
    }
    let mut options = File::options();
    // In a folder that everybody may write to, somebody may have put a link in our way.
    options
        .read(true)
        .write(true)
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
    loop {
        // What another user made can be opened there, and can't be by whoever would also make it.
        match options.open(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            opened => return opened,
        }
        match options.clone().create_new(true).open(path) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(file) => {
                file.set_permissions(std::fs::Permissions::from_mode(0o666))?;
                return Ok(file);
            }
        }
    }
}

/// Keeps others from making or removing the namespaces of this lab, for as long as the file is there. Waits for them:
/// it takes seconds.
pub(crate) fn alone_in(lab: &Lab) -> Result<File, LeaseError> {
    let path = folder().join(format!("lab-{}.lock", lab.name));
    let fault = |cause| LeaseError::Lock {
        path: path.clone(),
        cause,
    };
    let file = open(&path).map_err(fault)?;
    let until = std::time::Instant::now() + OTHERS_LIMIT;
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(rustix::io::Errno::WOULDBLOCK) if std::time::Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(LeaseError::Busy {
                    lab: lab.name.clone(),
                });
            }
            Err(errno) => return Err(fault(errno.into())),
        }
    }
}

fn lock(path: &Path, host: &HostName, holder: &str) -> Result<File, LeaseError> {
    let fault = |cause| LeaseError::Lock {
        path: path.to_path_buf(),
        cause,
    };
    let mut file = open(path).map_err(fault)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {
            file.set_len(0).map_err(fault)?;
            file.rewind().map_err(fault)?;
            file.write_all(holder.as_bytes()).map_err(fault)?;
            // The agents inherit it.
            rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty())
                .map_err(|e| fault(e.into()))?;
            Ok(file)
        }
        Err(rustix::io::Errno::WOULDBLOCK) => {
            let mut holder = String::new();
            let _ = file.take(500).read_to_string(&mut holder);
            let holder = if holder.is_empty() {
                "somebody else".to_owned()
            } else {
                holder
            };
            Err(LeaseError::Taken {
                host: host.clone(),
                holder,
            })
        }
        Err(errno) => Err(fault(errno.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_model::Document;

    fn lab(name: &str) -> (Lab, Vec<HostName>) {
        let text =
            format!("name = \"{name}\"\n[host.a]\nkind = \"netns\"\n[host.b]\nkind = \"netns\"\n");
        let lab = Lab::read(&Document::new("lab.toml", text)).unwrap();
        let hosts = lab.host.keys().map(|h| (**h).clone()).collect();
        (lab, hosts)
    }

    #[test]
    fn a_host_is_leased_to_one_at_a_time() {
        let (lab, hosts) = lab(&format!("lease-test-{}", std::process::id()));
        let first = Lease::try_take(&lab, &hosts, "study one").unwrap();
        let refused = Lease::try_take(&lab, &hosts[1..], "study two").unwrap_err();
        assert!(
            refused.to_string().contains("`b` is leased to study one"),
            "{refused}"
        );
        drop(first);
        Lease::try_take(&lab, &hosts, "study two").unwrap();
    }
}
