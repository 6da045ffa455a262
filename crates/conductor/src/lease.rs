//! Leases: two studies never disturb each other's measurements.
//!
//! A lease is a lock on small files, held by the process that measures and by the agents that it
//! starts; the system drops it when the last of them ends, however it ends. So when the conductor is killed,
//! nobody else gets the hosts before the agents have put them back.
//!
//! Every host of kind `local` is this machine, whatever labs call it: one lock for all of them. Namespaces and guests are
//! parts of this machine: each has a lock of its own, and they share the machine's, so that studies may measure in
//! different ones at once, and none while somebody measures on the machine itself. A host of kind `ssh` goes by its login
//! and options. Hosts of one study don't exclude each other.

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
    /// Takes these hosts for `holder` (shown to whoever comes next), waiting at most this long. `awaited` hears of each host
    /// and holder that is waited for.
    ///
    /// # Errors
    /// [`LeaseError::Taken`] when another process still has one of them at the end of the wait.
    #[tracing::instrument(name = "lease", level = "info", skip_all)]
    pub async fn take(
        lab: &Lab,
        hosts: &[HostName],
        holder: &str,
        wait: Duration,
        awaited: impl Fn(&HostName, &str),
    ) -> Result<Self, LeaseError> {
        let until = tokio::time::Instant::now() + wait;
        let mut told = None;
        loop {
            match Self::try_take(lab, hosts, holder) {
                Err(LeaseError::Taken { host, holder }) if tokio::time::Instant::now() < until => {
                    let taken = Some((host, holder));
                    if told != taken {
                        taken
                            .iter()
                            .for_each(|(host, holder)| awaited(host, holder));
                        told = taken;
                    }
                    // Locks have no event to await; the poll is for people, who wait minutes.
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
                result => return result,
            }
        }
    }

    /// Takes these namespaces, to remove them, as soon as the agents of a study that was just killed have gone.
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
            match Self::try_take_parts(lab, hosts, holder) {
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
        Self::try_take_in(&folder(), lab, hosts, holder)
    }

    fn try_take_in(
        folder: &Path,
        lab: &Lab,
        hosts: &[HostName],
        holder: &str,
    ) -> Result<Self, LeaseError> {
        let wanted = hosts.iter().flat_map(|host| {
            let on_machine = on_machine(lab, host).map(|mode| (MACHINE.to_owned(), mode, host));
            let own = lock_name(lab, host).map(|name| (name, Mode::Alone, host));
            on_machine.into_iter().chain(own)
        });
        Self::lock(folder, wanted.collect(), holder)
    }

    /// Takes these namespaces, to remove them: that disturbs nobody on the rest of the machine.
    fn try_take_parts(lab: &Lab, hosts: &[HostName], holder: &str) -> Result<Self, LeaseError> {
        let own = |host| lock_name(lab, host).map(|name| (name, Mode::Alone, host));
        Self::lock(&folder(), hosts.iter().filter_map(own).collect(), holder)
    }

    fn lock(
        folder: &Path,
        mut wanted: Vec<(String, Mode, &HostName)>,
        holder: &str,
    ) -> Result<Self, LeaseError> {
        // One order for everybody: two studies that want the same two hosts can't each hold one.
        wanted.sort();
        wanted.dedup_by(|a, b| a.0 == b.0);
        let mut files = Vec::new();
        for (name, mode, host) in wanted {
            files.push(lock(&folder.join(name), mode, host, holder)?);
        }
        Ok(Self { _files: files })
    }
}

/// How a lock is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Mode {
    Alone,
    Shared,
}

/// The environment variable that says where lock files live.
const FOLDER_VARIABLE: &str = "BACKSIGHT_LEASES";
/// The file of the lock of this machine.
const MACHINE: &str = "machine.lock";

/// Where lock files live: shared by all users of the machine where the system has such a place.
fn folder() -> PathBuf {
    if let Some(folder) = std::env::var_os(FOLDER_VARIABLE).filter(|folder| !folder.is_empty()) {
        return folder.into();
    }
    [Path::new("/run/lock"), Path::new("/tmp")]
        .into_iter()
        .find(|path| path.is_dir())
        .map_or_else(std::env::temp_dir, Path::to_path_buf)
        .join("backsight")
}

/// How a host takes part in the lock of this machine; none if it is another machine.
fn on_machine(lab: &Lab, host: &HostName) -> Option<Mode> {
    match lab.host.get(host).map(|settings| settings.kind) {
        Some(HostKind::Ssh) => None,
        Some(HostKind::Netns | HostKind::Uml | HostKind::Qemu) => Some(Mode::Shared),
        Some(HostKind::Local) | None => Some(Mode::Alone),
    }
}

/// The longest name of a lock's file before its ending, in characters.
const LOCK_NAME: usize = 200;

/// The file of a host's own lock; none of this machine itself.
fn lock_name(lab: &Lab, host: &HostName) -> Option<String> {
    let settings = lab.host.get(host);
    let name = match settings.map(|h| h.kind) {
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
        Some(HostKind::Local) | None => return None,
    };
    Some(name)
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

fn lock(path: &Path, mode: Mode, host: &HostName, holder: &str) -> Result<File, LeaseError> {
    let fault = |cause| LeaseError::Lock {
        path: path.to_path_buf(),
        cause,
    };
    let mut file = open(path).map_err(fault)?;
    let operation = match mode {
        Mode::Alone => FlockOperation::NonBlockingLockExclusive,
        Mode::Shared => FlockOperation::NonBlockingLockShared,
    };
    match flock(&file, operation) {
        Ok(()) => {
            file.set_len(0).map_err(fault)?;
            // Those who share it say who they are in their own locks.
            if mode == Mode::Alone {
                file.rewind().map_err(fault)?;
                file.write_all(holder.as_bytes()).map_err(fault)?;
            }
            // The agents inherit it.
            rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty())
                .map_err(|e| fault(e.into()))?;
            Ok(file)
        }
        Err(rustix::io::Errno::WOULDBLOCK) => Err(LeaseError::Taken {
            host: host.clone(),
            holder: written(file)
                .or_else(|| holder_of_part(path.parent()?))
                .unwrap_or_else(|| "somebody else".to_owned()),
        }),
        Err(errno) => Err(fault(errno.into())),
    }
}

/// What the holder of a lock has written into its file.
fn written(file: File) -> Option<String> {
    let mut holder = String::new();
    let _unreadable = file.take(500).read_to_string(&mut holder);
    Some(holder).filter(|holder| !holder.is_empty())
}

/// Who holds a part of this machine.
fn holder_of_part(folder: &Path) -> Option<String> {
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let parts = entries.filter(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.starts_with("netns-") || name.starts_with("guest-")
    });
    parts
        .filter_map(|part| File::open(part.path()).ok())
        .filter(|file| flock(file, FlockOperation::NonBlockingLockShared).is_err())
        .find_map(written)
        .map(|holder| format!("{holder}, in a part of this machine"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_model::TomlDocument;

    fn lab(name: &str, hosts: &[(&str, &str)]) -> (Lab, Vec<HostName>) {
        let mut text = format!("name = \"{name}\"\n");
        for (host, kind) in hosts {
            text.push_str(&format!("[host.{host}]\nkind = \"{kind}\"\n"));
        }
        let lab = Lab::read(&TomlDocument::new("lab.toml", text)).unwrap();
        let hosts = lab.host.keys().map(|h| (**h).clone()).collect();
        (lab, hosts)
    }

    /// Takes hosts with the locks in a folder of the test's own.
    fn take(
        folder: &Path,
        (lab, hosts): &(Lab, Vec<HostName>),
        holder: &str,
    ) -> Result<Lease, LeaseError> {
        Lease::try_take_in(folder, lab, hosts, holder)
    }

    #[test]
    fn a_namespace_is_leased_to_one_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let both = lab("one", &[("a", "netns"), ("b", "netns")]);
        let (lab, hosts) = &both;
        let first = take(folder.path(), &both, "study one").unwrap();
        let only_b = (lab.clone(), hosts[1..].to_vec());
        let refused = take(folder.path(), &only_b, "study two").unwrap_err();
        assert!(
            refused.to_string().contains("`b` is leased to study one"),
            "{refused}"
        );
        drop(first);
        take(folder.path(), &only_b, "study two").unwrap();
    }

    #[test]
    fn this_machine_is_one_host_whatever_labs_call_it() {
        let folder = tempfile::tempdir().unwrap();
        let (ours, theirs) = (
            lab("ours", &[("here", "local"), ("again", "local")]),
            lab("theirs", &[("there", "local")]),
        );
        let first = take(folder.path(), &ours, "study one").unwrap();
        let refused = take(folder.path(), &theirs, "study two").unwrap_err();
        assert!(
            refused
                .to_string()
                .contains("`there` is leased to study one"),
            "{refused}"
        );
        drop(first);
        take(folder.path(), &theirs, "study two").unwrap();
    }

    #[test]
    fn parts_of_this_machine_exclude_the_whole_and_not_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (lab("one", &[("a", "netns")]), lab("two", &[("a", "netns")]));
        let whole = lab("whole", &[("here", "local")]);
        let first = take(folder.path(), &one, "study one").unwrap();
        let second = take(folder.path(), &two, "study two").unwrap();
        drop(first);
        let refused = take(folder.path(), &whole, "study three").unwrap_err();
        assert!(
            refused
                .to_string()
                .contains("`here` is leased to study two, in a part of this machine"),
            "{refused}"
        );
        drop(second);
        let third = take(folder.path(), &whole, "study three").unwrap();
        let refused = take(folder.path(), &one, "study one").unwrap_err();
        assert!(
            refused.to_string().contains("leased to study three"),
            "{refused}"
        );
        drop(third);
        // One study may have both.
        take(
            folder.path(),
            &lab("both", &[("a", "netns"), ("here", "local")]),
            "study four",
        )
        .unwrap();
    }
}
