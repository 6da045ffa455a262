//! Mounts that a trial leaves: found by comparing the kernel's list before and after, and undone where they are surely the
//! trial's own, in its folder.
//!
//! A folder is never emptied through a mount: what is mounted in it is somebody else's. Elsewhere nothing is undone,
//! because the machine itself may have mounted it; whoever asks says that it is there.

use std::collections::HashSet;
use std::io;
use std::path::Path;

use backsight_platform::Mount;

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

/// The mounts that this process sees at some instant.
#[derive(Debug, Default)]
pub(crate) struct Mounts(Vec<Mount>);

impl Mounts {
    pub(crate) fn now() -> Self {
        Self(backsight_platform::mounts())
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
        backsight_platform::unmount(point).map_err(|error| {
            let said = format!("{} ({kind}) can't be unmounted: {error}", point.display());
            io::Error::new(error.kind(), said)
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mounts(all: &[(u64, &str, &str)]) -> Mounts {
        let mount = |(id, point, kind): &(u64, &str, &str)| Mount {
            id: *id,
            root: "/".into(),
            point: point.into(),
            kind: (*kind).to_owned(),
        };
        Mounts(all.iter().map(mount).collect())
    }

    #[test]
    fn a_mount_that_is_new_is_named_with_its_kind() {
        let before = mounts(&[(22, "/", "ext4")]);
        let after = mounts(&[
            (22, "/", "ext4"),
            (40, "/mnt/a b", "tmpfs"),
            (41, "/run/netns/x", "nsfs"),
            (42, "/run/user/0", "tmpfs"),
            (43, "/opt/x", "nsfs"),
            (44, "/tmp/backsight-0-71-4a/2/scratch/disk", "tmpfs"),
        ]);
        assert_eq!(after.new_beside(&before), ["/mnt/a b (tmpfs)"]);
        assert_eq!(before.new_beside(&after), [] as [String; 0]);
    }

    #[test]
    fn another_mount_at_the_same_place_is_new() {
        let before = mounts(&[(40, "/mnt", "tmpfs")]);
        let after = mounts(&[(41, "/mnt", "tmpfs")]);
        assert_eq!(after.new_beside(&before), ["/mnt (tmpfs)"]);
    }
}
