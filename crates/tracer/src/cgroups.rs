//! Cgroups by their paths, in the hierarchy of the second version: what is traced together, whoever started it.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use backsight_platform::Mount;
use rustix::fs::{FsWord, Mode, OFlags, fstatfs, openat};

/// What file systems of cgroups say that they are (statfs(2)).
const SECOND_VERSION: FsWord = 0x6367_7270;
const FIRST_VERSION: FsWord = 0x0027_e0eb;

/// A cgroup of the second version. As long as it lives its number isn't another's.
#[derive(Debug, Clone)]
pub struct Cgroup {
    path: PathBuf,
    folder: Arc<File>,
}

/// Why a cgroup can't be traced.
#[derive(Debug, thiserror::Error)]
pub enum CgroupError {
    /// No hierarchy of the second version is mounted.
    #[error(
        "no cgroups of version 2 are mounted here: mount them with `mount -t cgroup2 none FOLDER`, or trace processes with `-f -p PID`"
    )]
    NoHierarchy,
    /// There is no such cgroup.
    #[error(
        "there is no cgroup `{}`: give its folder, or its path as /proc/PID/cgroup has it behind `0::`", .0.display()
    )]
    Missing(PathBuf),
    /// It belongs to a hierarchy of a controller.
    #[error(
        "`{}` is a cgroup of version 1, whose members the kernel engine can't tell: give the one of version 2 that its processes are in \
         (behind `0::` in /proc/PID/cgroup), or trace them with `-f -p PID`", .0.display()
    )]
    FirstVersion(PathBuf),
    /// It can't be opened.
    #[error("cgroup `{}` can't be opened", .path.display())]
    NotOpened {
        /// Its folder.
        path: PathBuf,
        /// Why.
        #[source]
        why: io::Error,
    },
}

impl Cgroup {
    /// A cgroup by its folder, or by its path below the first cgroup, as `/proc/PID/cgroup` has it.
    ///
    /// # Errors
    /// There is none of the second version there.
    pub fn open(path: &Path) -> Result<Self, CgroupError> {
        match Self::open_folder(path)? {
            Opened::Cgroup(cgroup) => return Ok(cgroup),
            Opened::FirstVersion => return Err(CgroupError::FirstVersion(path.to_owned())),
            Opened::Nothing => {}
        }
        // Only names: nothing leads out of the hierarchy.
        let mut below = hierarchy(backsight_platform::mounts()).ok_or(CgroupError::NoHierarchy)?;
        for part in path.components() {
            match part {
                Component::Normal(name) => below.push(name),
                Component::RootDir | Component::CurDir => {}
                _ => return Err(CgroupError::Missing(path.to_owned())),
            }
        }
        match Self::open_folder(&below)? {
            Opened::Cgroup(cgroup) => Ok(cgroup),
            _ => Err(CgroupError::Missing(path.to_owned())),
        }
    }

    fn open_folder(path: &Path) -> Result<Opened, CgroupError> {
        let folder = match File::open(path) {
            Ok(folder) => folder,
            Err(why) if why.kind() == io::ErrorKind::PermissionDenied => {
                let path = path.to_owned();
                return Err(CgroupError::NotOpened { path, why });
            }
            Err(_) => return Ok(Opened::Nothing),
        };
        let is_folder = folder.metadata().is_ok_and(|it| it.is_dir());
        let kind = fstatfs(&folder).map_or(0, |it| it.f_type);
        Ok(match kind {
            SECOND_VERSION if is_folder => Opened::Cgroup(Self {
                path: path.to_owned(),
                folder: Arc::new(folder),
            }),
            FIRST_VERSION => Opened::FirstVersion,
            _ => Opened::Nothing,
        })
    }

    /// Its folder's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it still is there: one that was removed has no processes and gets none.
    pub fn exists(&self) -> bool {
        // By its folder and not by its path, which may be another's now.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        openat(&self.folder, "cgroup.procs", flags, Mode::empty()).is_ok()
    }
}

impl AsFd for Cgroup {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }
}

/// What a path leads to.
enum Opened {
    Cgroup(Cgroup),
    FirstVersion,
    Nothing,
}

/// Where the whole hierarchy of the second version is mounted, and not a part of it.
fn hierarchy(mounts: Vec<Mount>) -> Option<PathBuf> {
    let is_whole = |mount: &Mount| mount.kind == "cgroup2" && mount.root == Path::new("/");
    Some(mounts.into_iter().find(is_whole)?.point)
}

/// The path of the cgroup of the second version that a process is in, below the first one.
pub fn path_of_process(pid: i32) -> Option<PathBuf> {
    let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    path_in_list(&text)
}

/// The same, by what `/proc/PID/cgroup` says.
fn path_in_list(text: &str) -> Option<PathBuf> {
    let path = text.lines().find_map(|line| line.strip_prefix("0::"))?;
    Some(PathBuf::from(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_hierarchy_is_found_among_mounts() {
        let mount = |kind: &str, root: &str, point: &str| Mount {
            id: 22,
            root: root.into(),
            point: point.into(),
            kind: kind.to_owned(),
        };
        let mounts = vec![
            mount("ext4", "/", "/"),
            mount("cgroup2", "/pods", "/mnt/part"),
            mount("cgroup2", "/", "/sys/fs/the cgroups"),
        ];
        let found = hierarchy(mounts).unwrap();
        assert_eq!(found, PathBuf::from("/sys/fs/the cgroups"));
        assert_eq!(hierarchy(Vec::new()), None);
    }

    #[test]
    fn a_process_has_one_cgroup_of_the_second_version() {
        let text = "4:memory:/other\n0::/machine.slice/a b\n";
        let found = path_in_list(text);
        assert_eq!(found, Some(PathBuf::from("/machine.slice/a b")));
        assert_eq!(path_in_list("4:memory:/other\n"), None);
    }

    #[test]
    fn what_is_no_cgroup_is_said() {
        for path in ["/", "/proc/self/status", "/no/such/cgroup", "../../etc", ""] {
            let found = Cgroup::open(Path::new(path));
            // The empty path and the root are the first cgroup's, where there is a hierarchy.
            if !matches!(path, "/" | "") {
                assert!(found.is_err(), "{path}");
            }
        }
    }
}
