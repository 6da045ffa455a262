//! Going into the network namespace that an agent is to live in.
//!
//! As `ip netns exec` does, but that what is mounted below `/sys` stays there: without the cgroups an agent couldn't
//! say what its steps used.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};

const SYS: &str = "/sys";

/// Goes into the network namespace of this file (`/run/netns/NAME`, `/proc/PID/ns/net`). `/sys` then shows its
/// interfaces; that is seen by this process and its children alone. To be called while the process has one thread.
///
/// # Errors
///
/// The system's: no such namespace, no right to enter it.
pub(crate) fn enter(namespace: &Path) -> io::Result<()> {
    setns(File::open(namespace)?, CloneFlags::CLONE_NEWNET)?;
    unshare(CloneFlags::CLONE_NEWNS)?;
    let none = None::<&str>;
    // What the machine mounts from now on is seen here too, and not the other way round.
    mount(none, "/", none, MsFlags::MS_SLAVE | MsFlags::MS_REC, none)?;
    let below = mounted_below_sys()?;
    mount(Some("sysfs"), SYS, Some("sysfs"), MsFlags::empty(), none)?;
    for (mounted, place) in below {
        let source = format!("/proc/self/fd/{}", mounted.as_raw_fd());
        let again = MsFlags::MS_BIND | MsFlags::MS_REC;
        // A place that the namespace's own /sys doesn't have is none of ours.
        let _missing_here = mount(Some(&*source), &*place, none, again, none);
    }
    Ok(())
}

/// What is mounted directly below `/sys`, held open: once `/sys` is covered, no path leads there.
fn mounted_below_sys() -> io::Result<Vec<(File, String)>> {
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    let mut found: Vec<(File, String)> = Vec::new();
    for place in mounts.lines().filter_map(|line| line.split(' ').nth(4)) {
        let inside = |(_, above): &(File, String)| {
            let rest = place.strip_prefix(above.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        // A mount comes after the one that it is on.
        if place.starts_with("/sys/")
            && !found.iter().any(inside)
            && let Ok(mounted) = File::open(place)
        {
            found.push((mounted, place.to_owned()));
        }
    }
    Ok(found)
}
