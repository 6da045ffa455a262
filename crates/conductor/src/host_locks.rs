//! Locks of hosts that are parts of this machine, or that this machine reaches: which file is whose, and who has one.

use backsight_agent::{LeaseFault, LeaseHolder, lease_folder, try_lease_file};
use backsight_model::{HostKind, HostName, Lab, LabName};
use std::{fs::File, path::PathBuf, time::Duration};

/// How long somebody else may take to make or remove a lab.
const OTHERS_LIMIT: Duration = Duration::from_secs(30);
/// How long the agents of a conductor that was killed may take to put their hosts back.
pub(crate) const AGENTS_LIMIT: Duration = Duration::from_secs(3);

/// Why a host's lock can't be had.
#[derive(Debug, thiserror::Error)]
pub enum HostLockError {
    /// Somebody else measures on a host.
    #[error("host `{host}` is leased to {holder}")]
    Taken {
        /// The host.
        host: HostName,
        /// Who says to hold it, and since when.
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

impl HostLockError {
    pub(crate) fn new(host: &HostName, fault: LeaseFault) -> Self {
        match fault {
            LeaseFault::Taken(in_force) => Self::Taken {
                host: host.clone(),
                holder: in_force.to_string(),
            },
            LeaseFault::File { path, cause } => Self::Lock { path, cause },
        }
    }

    /// The system refused something that every lock needs.
    pub(crate) fn system(cause: std::io::Error) -> Self {
        Self::Lock {
            path: "/dev/urandom".into(),
            cause,
        }
    }
}

/// Takes these namespaces, to remove them, as soon as the agents of a study that was just killed have gone. That disturbs
/// nobody on the rest of the machine.
///
/// # Errors
/// [`HostLockError::Taken`] when somebody still has one after that.
pub(crate) fn take_soon(
    lab: &Lab,
    hosts: &[HostName],
    work: &str,
) -> Result<Vec<File>, HostLockError> {
    let until = std::time::Instant::now() + AGENTS_LIMIT;
    let holder = LeaseHolder::new(work.to_owned()).map_err(HostLockError::system)?;
    let mut files = Vec::new();
    for (name, host) in own_locks(lab, hosts) {
        loop {
            let folder = lease_folder().map_err(|fault| HostLockError::new(host, fault))?;
            match try_lease_file(&folder.join(&name), &holder) {
                Err(LeaseFault::Taken(_)) if std::time::Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                leased => {
                    files.push(leased.map_err(|fault| HostLockError::new(host, fault))?);
                    break;
                }
            }
        }
    }
    Ok(files)
}

/// The longest name of a lock's file before its ending, in characters.
const LOCK_NAME: usize = 200;

/// The files of hosts' own locks, in one order for everybody.
pub(crate) fn own_locks<'a>(lab: &Lab, hosts: &'a [HostName]) -> Vec<(String, &'a HostName)> {
    let names = hosts.iter().map(|host| (lock_name(lab, host), host));
    let mut wanted: Vec<_> = names
        .filter_map(|(name, host)| name.map(|name| (name, host)))
        .collect();
    wanted.sort();
    wanted.dedup_by(|a, b| a.0 == b.0);
    wanted
}

/// The file of a host's own lock; none of this machine itself.
fn lock_name(lab: &Lab, host: &HostName) -> Option<String> {
    let settings = lab.host.get(host);
    let name = match settings.map(|h| h.kind) {
        // The same machine, whatever labs call it.
        Some(HostKind::Ssh) => {
            let words = settings.map(|s| {
                let options = s.options.iter().map(|option| option.as_str());
                std::iter::once(s.login(host))
                    .chain(options)
                    .collect::<Vec<_>>()
                    .join("-")
            });
            format!("ssh-{}.lock", plain(&words.unwrap_or_default()))
        }
        Some(HostKind::Domain) => {
            let words = settings.map(|s| {
                let words = s.connect.iter().chain(&s.domain);
                words.map(|it| it.as_str()).collect::<Vec<_>>().join("-")
            });
            format!("domain-{}.lock", plain(&words.unwrap_or_default()))
        }
        Some(HostKind::Netns | HostKind::Container) => format!("netns-{}-{host}.lock", lab.name),
        Some(HostKind::Uml | HostKind::Qemu | HostKind::Vm) => {
            format!("guest-{}-{host}.lock", lab.name)
        }
        Some(HostKind::Local) | None => return None,
    };
    Some(name)
}

/// A text as a part of a file's name.
fn plain(text: &str) -> String {
    let plain = |c: char| match c.is_ascii_alphanumeric() || c == '.' {
        true => c,
        false => '-',
    };
    text.chars().map(plain).take(LOCK_NAME).collect()
}

/// Keeps others from making or removing the namespaces of this lab, for as long as the file is there. Waits for them:
/// it takes seconds.
pub(crate) fn alone_in(lab: &Lab) -> Result<File, HostLockError> {
    let fault = |fault| match fault {
        LeaseFault::File { path, cause } => HostLockError::Lock { path, cause },
        LeaseFault::Taken(_) => HostLockError::Busy {
            lab: lab.name.clone(),
        },
    };
    let path = lease_folder()
        .map_err(fault)?
        .join(format!("lab-{}.lock", lab.name));
    let holder = LeaseHolder::new("`backsight lab`".to_owned()).map_err(HostLockError::system)?;
    let until = std::time::Instant::now() + OTHERS_LIMIT;
    loop {
        match try_lease_file(&path, &holder) {
            Err(LeaseFault::Taken(_)) if std::time::Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(20));
            }
            leased => return leased.map_err(fault),
        }
    }
}
