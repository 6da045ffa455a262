//! The mark of an agent in its UTS namespace: the NIS domain name, which hardly anything uses.
//!
//! A process gives up its environment, its cgroup and its parents easily; its namespaces only by asking the kernel for
//! others. So steps of root are found even when all who knew them are dead. A step that changes the host's name changes it
//! for its own host's steps only.
//!
//! Without the right to make namespaces there is no such mark. Where the system has a NIS domain, it is left alone.

use std::collections::HashMap;
use std::fs::{self, File};
use std::path::PathBuf;

use nix::sched::{CloneFlags, setns, unshare};
use rustix::system::{setdomainname, uname};

use crate::agent_mark::PREFIX;

/// What the kernel calls a domain that nobody has set.
const NO_DOMAIN: &[u8] = b"(none)";

/// Gives this process, and all that it starts, a UTS namespace with this mark; leaves things as they are where that
/// isn't possible. To be called while the process has one thread.
pub(crate) fn bear(mark: &str) {
    let domain = uname().domainname().to_bytes().to_vec();
    let free = domain.is_empty() || domain == NO_DOMAIN || domain.starts_with(PREFIX.as_bytes());
    if free && unshare(CloneFlags::CLONE_NEWUTS).is_ok() {
        let _without_it = setdomainname(mark.as_bytes());
    }
}

/// Tells which processes bear a mark. Each namespace is entered once.
pub(crate) struct MarkBearers<'m> {
    mark: &'m str,
    /// By the kernel's name of the namespace.
    known: HashMap<PathBuf, bool>,
}

impl<'m> MarkBearers<'m> {
    pub(crate) fn new(mark: &'m str) -> Self {
        let own = fs::read_link("/proc/self/ns/uts");
        Self {
            mark,
            known: own.map(|own| (own, false)).into_iter().collect(),
        }
    }

    /// Whether the process with this number does. False where it can't be looked into.
    pub(crate) fn include(&mut self, pid: i32) -> bool {
        let place = format!("/proc/{pid}/ns/uts");
        let Ok(namespace) = fs::read_link(&place) else {
            return false;
        };
        if let Some(known) = self.known.get(&namespace) {
            return *known;
        }
        let found = File::open(place)
            .ok()
            .and_then(domain)
            .is_some_and(|domain| domain == self.mark.as_bytes());
        self.known.insert(namespace, found);
        found
    }
}

/// The domain name in a namespace, which a thread enters that ends with that.
fn domain(namespace: File) -> Option<Vec<u8>> {
    let look = move || {
        setns(namespace, CloneFlags::CLONE_NEWUTS).ok()?;
        Some(uname().domainname().to_bytes().to_vec())
    };
    std::thread::spawn(look).join().ok()?
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_process_is_known_by_the_domain_of_its_namespace_alone() {
        if backsight_test_needs::Need::Root.is_missing() {
            return;
        }
        let marked = |domain: &str| {
            let script =
                format!("echo {domain} > /proc/sys/kernel/domainname; echo; exec sleep 60");
            let mut child = Command::new("unshare")
                .args(["--uts", "sh", "-c", &script])
                .env_clear()
                .env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin")
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut ready = [0];
            std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
            child
        };
        let (mut ours, mut theirs) = (marked("backsight-1-a"), marked("backsight-1-b"));
        let mut bearers = MarkBearers::new("backsight-1-a");
        assert!(bearers.include(ours.id().cast_signed()));
        assert!(!bearers.include(theirs.id().cast_signed()));
        assert!(!bearers.include(std::process::id().cast_signed()));
        for child in [&mut ours, &mut theirs] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}
