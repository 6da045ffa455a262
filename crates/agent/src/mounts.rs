//! Mounts that a trial leaves: found by comparing the kernel's list (`/proc/self/mountinfo`) before and after, and undone
//! where they are surely the trial's own, in its folder.
//!
//! A folder is never emptied through a mount: what is mounted in it is somebody else's. Elsewhere nothing is undone,
//! because the machine itself may have mounted it; whoever asks says that it is there.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use nix::mount::{MntFlags, umount2};

use crate::agent_mark::PREFIX;

/// Where the system mounts things by itself: for sessions and services, when a tracer looks there, for containers.
const OF_THE_SYSTEM: &[&str] = &[
    "/proc",
    "/run",
    "/snap",
    "/sys",
    "/var/lib/containers",
    "/var/lib/docker",
    "/var/lib/kubelet",
];
/// Kinds that hold nothing: handles of namespaces, and places where something is mounted on demand.
const HANDLES: &[&str] = &["autofs", "nsfs"];

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Mount {
    /// The kernel's number for it.
    id: u32,
    point: PathBuf,
    kind: String,
}

/// The mounts that this process sees at some instant.
#[derive(Debug, Default)]
pub(crate) struct Mounts(Vec<Mount>);

impl Mounts {
    pub(crate) fn now() -> Self {
        let text = fs::read("/proc/self/mountinfo").unwrap_or_default();
        let lines = text.split(|byte| *byte == b'\n');
        Self(lines.filter_map(mount).collect())
    }

    /// Those that are there now and weren't then, each as `/mnt (tmpfs)`; without those of the system itself.
    pub(crate) fn left_since(before: &Self) -> Vec<String> {
        Self::now().new_beside(before)
    }

    fn new_beside(&self, before: &Self) -> Vec<String> {
        let known: HashSet<&Mount> = before.0.iter().collect();
        let of_trial = |mount: &&Mount| {
            let of_the_system = OF_THE_SYSTEM
                .iter()
                .any(|place| mount.point.starts_with(place));
            !of_the_system && !in_agent_folder(&mount.point) && !HANDLES.contains(&&*mount.kind)
        };
        let new = self.0.iter().filter(|mount| !known.contains(mount));
        new.filter(of_trial)
            .map(|mount| format!("{} ({})", mount.point.display(), mount.kind))
            .collect()
    }
}

/// Whether a mount is in an agent's folder. That agent undoes it: another one's is no business of this trial.
fn in_agent_folder(point: &Path) -> bool {
    let mut parts = point.components();
    parts.any(|part| {
        let name = part.as_os_str().as_encoded_bytes();
        let user = name.strip_prefix(PREFIX.as_bytes());
        user.is_some_and(|user| user.first().is_some_and(u8::is_ascii_digit))
    })
}

/// Undoes every mount at or below a folder, the last one first.
///
/// # Errors
///
/// One can't be undone; names it.
pub(crate) fn undo_below(folder: &Path) -> io::Result<()> {
    // The kernel's list has no links in its paths.
    let Ok(folder) = folder.canonicalize() else {
        return Ok(());
    };
    let Mounts(mounts) = Mounts::now();
    let inside = mounts.iter().rev().filter(|m| m.point.starts_with(&folder));
    for Mount { point, kind, .. } in inside {
        let flags = MntFlags::MNT_DETACH | MntFlags::UMOUNT_NOFOLLOW;
        umount2(point, flags).map_err(|errno| {
            let error = io::Error::from(errno);
            let said = format!("{} ({kind}) can't be unmounted: {error}", point.display());
            io::Error::new(error.kind(), said)
        })?;
    }
    Ok(())
}

/// A line of mountinfo (proc_pid_mountinfo(5)).
fn mount(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|byte| *byte == b' ');
    let id = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    let point = unescaped(fields.nth(3)?);
    let kind = fields.skip_while(|field| *field != b"-").nth(1)?;
    Some(Mount {
        id,
        point,
        kind: String::from_utf8_lossy(kind).into_owned(),
    })
}

/// A path without the kernel's escapes: `\040` is a blank.
fn unescaped(path: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path;
    while let [first, after @ ..] = rest {
        let octal = (*first == b'\\')
            .then(|| std::str::from_utf8(after.get(..3)?).ok())
            .flatten()
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        bytes.push(octal.unwrap_or(*first));
        rest = match octal {
            Some(_) => &after[3..],
            None => after,
        };
    }
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mounts(lines: &[&str]) -> Mounts {
        let read = lines.iter().filter_map(|line| mount(line.as_bytes()));
        Mounts(read.collect())
    }

    #[test]
    fn a_mount_that_is_new_is_named_with_its_kind() {
        let before = mounts(&["22 1 8:1 / / rw - ext4 /dev/sda1 rw"]);
        let after = mounts(&[
            "22 1 8:1 / / rw - ext4 /dev/sda1 rw",
            "40 22 0:40 / /mnt/a\\040b rw,relatime shared:7 - tmpfs none rw",
            "41 22 0:4 net:[4026532] /run/netns/x rw - nsfs nsfs rw",
            "42 22 0:41 / /run/user/0 rw - tmpfs tmpfs rw",
            "43 22 0:42 / /opt/x rw - nsfs nsfs rw",
            "44 22 0:43 / /tmp/backsight-0-71-4a/2/scratch/disk rw - tmpfs disk rw",
        ]);
        assert_eq!(after.new_beside(&before), ["/mnt/a b (tmpfs)"]);
        assert_eq!(before.new_beside(&after), [] as [String; 0]);
    }

    #[test]
    fn another_mount_at_the_same_place_is_new() {
        let before = mounts(&["40 22 0:40 / /mnt rw - tmpfs none rw"]);
        let after = mounts(&["41 22 0:41 / /mnt rw - tmpfs none rw"]);
        assert_eq!(after.new_beside(&before), ["/mnt (tmpfs)"]);
    }
}
