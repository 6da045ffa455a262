//! The cgroup of the benchmark: that of the agent and of everything that it has started, this monitor included.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    files::{Files, ReadShape},
    sampler::{ProcessTree, SamplerError, Scratch},
    shape::{cgroup_blkio, cgroup_io, prefixed_pairs, single},
};

/// Files of a cgroup of version 2.
const UNIFIED: &[(&str, ReadShape)] = &[
    ("cpu.stat", |text, series| {
        prefixed_pairs(b"cpu.", text, series)
    }),
    ("memory.current", |text, series| {
        single(b"memory.current", text, series)
    }),
    ("memory.events", |text, series| {
        prefixed_pairs(b"memory.events.", text, series)
    }),
    ("memory.stat", |text, series| {
        prefixed_pairs(b"memory.", text, series)
    }),
    ("io.stat", cgroup_io),
    ("pids.current", |text, series| {
        single(b"pids.current", text, series)
    }),
];

/// Files of version 1, each with its controller.
const BY_CONTROLLER: &[(&str, &str, ReadShape)] = &[
    ("cpuacct", "cpuacct.usage", |text, series| {
        single(b"cpuacct.usage_ns", text, series)
    }),
    ("cpuacct", "cpuacct.stat", |text, series| {
        prefixed_pairs(b"cpuacct.", text, series)
    }),
    ("cpu", "cpu.stat", |text, series| {
        prefixed_pairs(b"cpu.", text, series)
    }),
    ("memory", "memory.usage_in_bytes", |text, series| {
        single(b"memory.current", text, series)
    }),
    ("memory", "memory.failcnt", |text, series| {
        single(b"memory.events.max", text, series)
    }),
    ("memory", "memory.stat", |text, series| {
        prefixed_pairs(b"memory.", text, series)
    }),
    (
        "blkio",
        "blkio.throttle.io_service_bytes",
        |text, series| {
            cgroup_blkio(b"io.bytes.", text, series);
        },
    ),
    ("blkio", "blkio.throttle.io_serviced", |text, series| {
        cgroup_blkio(b"io.requests.", text, series);
    }),
    ("pids", "pids.current", |text, series| {
        single(b"pids.current", text, series)
    }),
];

/// Opens the files of the cgroups of a process: the root of the watched ones, or this one.
pub(crate) fn open(
    tree: Option<&ProcessTree>,
    scratch: &mut Scratch,
) -> Result<Files, SamplerError> {
    let process = tree.map_or("self".to_owned(), |tree| tree.root.to_string());
    let read = |path: PathBuf| {
        fs::read_to_string(&path).map_err(|cause| SamplerError::Unreadable { path, cause })
    };
    let groups = read(format!("/proc/{process}/cgroup").into())?;
    let mounts = read("/proc/self/mountinfo".into())?;
    let files = files_of(&groups, &mounts);
    if files.is_empty() {
        return Err(SamplerError::Missing("no cgroups are mounted here".into()));
    }
    Files::open(Path::new("/"), &files, scratch)
}

/// The files of the cgroups that /proc/PID/cgroup names, by what /proc/self/mountinfo says of where they are.
fn files_of(groups: &str, mounts: &str) -> Vec<(PathBuf, ReadShape)> {
    let mut files = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else {
            continue;
        };
        if controllers.is_empty() {
            if let Some(folder) = folder(mounts, "cgroup2", "", path) {
                files.extend(
                    UNIFIED
                        .iter()
                        .map(|(file, shape)| (folder.join(file), *shape)),
                );
            }
            continue;
        }
        for (controller, file, shape) in BY_CONTROLLER {
            if controllers.split(',').any(|name| name == *controller)
                && let Some(folder) = folder(mounts, "cgroup", controller, path)
            {
                files.push((folder.join(file), *shape));
            }
        }
    }
    // Where both versions are mounted, a controller is in one of them, and version 2 has the rest of its files.
    let by_controller = files
        .iter()
        .any(|(path, _)| path.ends_with("cpuacct.usage"));
    files.retain(|(path, _)| !by_controller || path.exists());
    files
}

/// The folder of a cgroup.
fn folder(mounts: &str, system: &str, controller: &str, path: &str) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (mount, options) = line.split_once(" - ")?;
        let mut options = options.split(' ');
        let (is, has) = (options.next()? == system, options.nth(1)?);
        if !is || !(controller.is_empty() || has.split(',').any(|name| name == controller)) {
            return None;
        }
        let mut mount = mount.split(' ').skip(3);
        let (root, point) = (mount.next()?, mount.next()?);
        let below = path.strip_prefix(root.trim_end_matches('/'))?;
        Some(Path::new(point).join(below.trim_start_matches('/')))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(groups: &str, mounts: &str) -> Vec<String> {
        let files = files_of(groups, mounts);
        let paths = files.iter().map(|(path, _)| path.display().to_string());
        paths.collect()
    }

    #[test]
    fn a_cgroup_is_found_below_its_mount() {
        let mounts =
            "29 23 0:26 / /no-such-place/cg rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
        let found = paths("0::/a/steps\n", mounts);
        assert_eq!(found[0], "/no-such-place/cg/a/steps/cpu.stat");
        assert_eq!(found.len(), UNIFIED.len());
        // Of a cgroup namespace the mount shows a part.
        let part = mounts.replace("0:26 / ", "0:26 /a ");
        assert_eq!(
            paths("0::/a/steps\n", &part)[0],
            "/no-such-place/cg/steps/cpu.stat"
        );
        assert!(paths("0::/a\n", "").is_empty());
    }
}
