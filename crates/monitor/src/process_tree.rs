//! Which processes are watched now: a process and what descends from it, without monitors.

use std::{fmt::Write as _, fs, path::PathBuf};

use crate::{
    files::KernelFile,
    sampler::{ProcessTree, SamplerError, Scratch},
    shape::{number, words},
};

/// A watched process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) pid: i32,
    /// Whether the root has started it.
    pub(crate) of_root: bool,
    /// Whether it is old enough to have the environment that says whether it is left out: not between `fork` and `exec`.
    settled: bool,
}

/// The watched processes, which are looked for only when the machine has new ones.
#[derive(Debug)]
pub(crate) struct Members {
    tree: ProcessTree,
    /// It ends with the number of the newest process or thread.
    load: KernelFile,
    newest: i64,
    members: Vec<Member>,
    left_out: Vec<i32>,
}

impl Members {
    /// # Errors
    /// There is no such process, or the kernel doesn't tell children.
    pub(crate) fn new(tree: Option<&ProcessTree>) -> Result<Self, SamplerError> {
        let missing =
            "there are no processes to watch: no agent has started this; `--pid PID` names one";
        let tree = *tree.ok_or_else(|| SamplerError::Missing(missing.into()))?;
        KernelFile::open(format!("/proc/{0}/task/{0}/children", tree.root))?;
        Ok(Self {
            tree,
            load: KernelFile::open("/proc/loadavg")?,
            newest: -1,
            members: Vec::new(),
            left_out: Vec::new(),
        })
    }

    pub(crate) fn tree(&self) -> &ProcessTree {
        &self.tree
    }

    /// Looks for new processes; says whether there may be some, or new threads.
    ///
    /// # Errors
    /// /proc can't be read.
    pub(crate) fn refresh(&mut self, scratch: &mut Scratch) -> Result<bool, SamplerError> {
        let load = self.load.read(&mut scratch.bytes)?;
        let newest = words(load).last().and_then(number).unwrap_or(-1);
        if newest == self.newest && self.members.iter().all(|member| member.settled) {
            return Ok(false);
        }
        self.newest = newest;
        let known = std::mem::take(&mut self.members);
        let left_out = std::mem::take(&mut self.left_out);
        let mut found = vec![(self.tree.root, 0_u32)];
        let mut path = String::new();
        while let Some((pid, generation)) = found.pop() {
            if generation > 0 || self.tree.with_root {
                let before = known.iter().find(|member| member.pid == pid);
                let settled = before.is_some_and(|member| member.settled);
                if !settled && (left_out.contains(&pid) || (self.tree.leaves_out)(pid)) {
                    self.left_out.push(pid);
                    continue;
                }
                self.members.push(Member {
                    pid,
                    of_root: generation == 1,
                    settled: before.is_some(),
                });
            }
            for_each_task(pid, |tid| {
                path.clear();
                let _ = write!(path, "/proc/{pid}/task/{tid}/children");
                let children = fs::read(&path).unwrap_or_default();
                let children = words(&children).filter_map(number);
                found.extend(
                    children.filter_map(|pid| Some((pid.try_into().ok()?, generation + 1))),
                );
            });
        }
        Ok(true)
    }

    /// Those of the last refresh, parents before their children. Some may have ended.
    pub(crate) fn members(&self) -> &[Member] {
        &self.members
    }
}

/// The threads of a process; none if it has ended.
pub(crate) fn for_each_task(pid: i32, mut each: impl FnMut(i32)) {
    let folder: PathBuf = format!("/proc/{pid}/task").into();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let tid = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        if let Some(tid) = tid {
            each(tid);
        }
    }
}
