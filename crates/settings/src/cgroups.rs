//! Where this process is among the control groups of its machine, by controller; both versions of them.

use std::path::{Path, PathBuf};

use crate::machine_root::MachineRoot;

/// The control groups that this process is in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnCgroups {
    /// In the one tree of version 2: the mount's root, and the group.
    pub unified: Option<(PathBuf, PathBuf)>,
    /// In the trees of version 1: the controllers of each, and the group.
    pub legacy: Vec<(Vec<String>, PathBuf)>,
}

impl OwnCgroups {
    /// Those of this process on its machine.
    pub fn read(machine: &MachineRoot) -> Self {
        let groups = machine.read("/proc/self/cgroup").unwrap_or_default();
        let mounts = machine.read("/proc/self/mountinfo").unwrap_or_default();
        Self::parse(&groups, &mounts)
    }

    /// From the texts of `/proc/self/cgroup` and `/proc/self/mountinfo`.
    fn parse(groups: &str, mounts: &str) -> Self {
        let mounts: Vec<CgroupMount> = mounts.lines().filter_map(CgroupMount::parse).collect();
        let mut own = Self::default();
        for line in groups.lines() {
            let mut fields = line.splitn(3, ':').skip(1);
            let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else {
                continue;
            };
            let mount = mounts.iter().find(|mount| mount.has(controllers));
            let Some(mount) = mount else { continue };
            let folder = mount.folder_of(path);
            match controllers {
                "" => own.unified = Some((mount.point.clone(), folder)),
                _ => {
                    let controllers = controllers.split(',').map(str::to_owned);
                    own.legacy.push((controllers.collect(), folder));
                }
            }
        }
        own
    }

    /// The group of version 1 that this process is in, in the tree of this controller.
    pub(crate) fn legacy_of(&self, controller: &str) -> Option<&Path> {
        let mut trees = self.legacy.iter();
        let tree = trees.find(|(names, _)| names.iter().any(|name| name == controller));
        tree.map(|(_, folder)| folder.as_path())
    }
}

/// A file system of control groups.
struct CgroupMount {
    /// What of the tree it shows.
    root: String,
    point: PathBuf,
    is_unified: bool,
    options: Vec<String>,
}

impl CgroupMount {
    /// A line of mountinfo (proc_pid_mountinfo(5)), if it is one.
    fn parse(line: &str) -> Option<Self> {
        let (mount, source) = line.split_once(" - ")?;
        let mut source = source.split(' ');
        let is_unified = match source.next()? {
            "cgroup2" => true,
            "cgroup" => false,
            _ => return None,
        };
        let mut fields = mount.split(' ').skip(3);
        Some(Self {
            root: fields.next()?.to_owned(),
            point: fields.next()?.replace("\\040", " ").into(),
            is_unified,
            options: source.nth(1)?.split(',').map(str::to_owned).collect(),
        })
    }

    /// Whether it shows the tree of these controllers; of version 2 where none is named.
    fn has(&self, controllers: &str) -> bool {
        match controllers {
            "" => self.is_unified,
            _ => {
                let mut names = controllers.split(',');
                !self.is_unified && names.all(|name| self.options.iter().any(|it| it == name))
            }
        }
    }

    /// Where a group is. A mount may show only a part of the tree (a container's): then the path begins with that part's, or is it.
    fn folder_of(&self, path: &str) -> PathBuf {
        let below = Path::new(path);
        let below = below.strip_prefix(&self.root).unwrap_or(below);
        self.point.join(below.strip_prefix("/").unwrap_or(below))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_groups_of_both_versions_are_found_where_they_are_mounted() {
        let groups = "8:pids:/\n5:cpu,cpuacct:/a\n4:memory:/box/7\n2:devices:/\n0::/part/x\n";
        let mounts = "37 31 0:35 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids\n\
            38 31 0:36 / /sys/fs/cgroup/cpu rw shared:1 - cgroup cgroup rw,cpu,cpuacct\n\
            39 31 0:37 /box /sys/fs/cgroup/memory rw - cgroup none rw,memory\n\
            41 31 0:38 /part /sys/fs/a\\040b rw,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n\
            42 31 0:39 / /proc rw - proc proc rw\n";
        let own = OwnCgroups::parse(groups, mounts);
        let unified = ("/sys/fs/a b".into(), "/sys/fs/a b/x".into());
        assert_eq!(own.unified, Some(unified));
        let of = |controller| own.legacy_of(controller).map(Path::to_path_buf);
        assert_eq!(of("pids"), Some("/sys/fs/cgroup/pids".into()));
        assert_eq!(of("cpu"), Some("/sys/fs/cgroup/cpu/a".into()));
        assert_eq!(of("memory"), Some("/sys/fs/cgroup/memory/7".into()));
        assert_eq!(of("devices"), None);
        assert_eq!(OwnCgroups::parse("", ""), OwnCgroups::default());
    }
}
