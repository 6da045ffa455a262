//! The control groups that keep the limits of a trial (`process.limits.*`), and their removal after a dead agent.
//!
//! Their folders are written into a file of the agent's folder before they are made: whoever sweeps after the agent removes them,
//! whichever group it is in itself.

use std::ffi::CString;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use backsight_settings::{LimitGroups, LimitHit, MachineRoot, StandingPreparation, WantedLimit};

use crate::{agent_mark, cgroup};

/// The list of folders in the agent's folder.
const LIST: &str = "limits";
/// How long the groups' dead may take to be gone.
const LIMIT: Duration = Duration::from_secs(2);

/// The groups of a trial.
#[derive(Debug)]
pub(crate) struct TrialLimits(LimitGroups);

impl TrialLimits {
    /// Makes those of the agent's `number`th trial; none where no limit is asked for.
    ///
    /// # Errors
    ///
    /// What the machine said.
    pub(crate) fn make(
        preparation: &StandingPreparation,
        mark: &str,
        folder: &Path,
        number: u64,
    ) -> Result<Option<Self>, String> {
        let wanted: Vec<WantedLimit<'_>> = preparation.limits().collect();
        if wanted.is_empty() {
            return Ok(None);
        }
        let (machine, name) = (MachineRoot::this_machine(), format!("{mark}.{number}"));
        let folders = LimitGroups::folders_for(&machine, &name, &wanted);
        let list = folder.join(LIST);
        let written = OpenOptions::new().create(true).append(true).open(&list);
        let written = written.and_then(|mut file| {
            let mut lines = Vec::new();
            for folder in &folders {
                lines.extend_from_slice(folder.as_os_str().as_bytes());
                lines.push(b'\n');
            }
            file.write_all(&lines)
        });
        written.map_err(|error| format!("{}: {error}", list.display()))?;
        LimitGroups::make(&machine, &name, &wanted).map(|groups| Some(Self(groups)))
    }

    /// The files into which a process writes `0` to be limited.
    pub(crate) fn member_files(&self) -> Vec<CString> {
        let files = self.0.member_files();
        files
            .filter_map(|file| CString::new(file.as_os_str().as_bytes()).ok())
            .collect()
    }

    /// The processes in them.
    pub(crate) fn members(&self) -> Vec<i32> {
        self.0.members()
    }

    /// CPU seconds that the agent's own group doesn't count.
    pub(crate) fn cpu_seconds(&self) -> f64 {
        let unified = self.0.unified().and_then(cgroup::cpu_seconds);
        unified.unwrap_or_default()
    }

    /// What the limits did so far.
    pub(crate) fn hits(&self) -> Vec<LimitHit> {
        self.0.hits()
    }

    /// Kills all that is in them at once.
    pub(crate) fn kill(&self) {
        for folder in self.0.folders() {
            // Before Linux 5.14, and in version 1, one by one by whoever asks.
            let _ = fs::write(folder.join("cgroup.kill"), "1");
        }
    }

    /// Removes them.
    pub(crate) fn remove(&self) {
        for folder in self.0.folders() {
            cgroup::destroy(folder, LIMIT);
        }
    }
}

/// Kills all that is in the groups of a dead agent with this mark and folder, and removes them.
pub(crate) fn remove_of_dead(mark: &str, folder: &Path) {
    let list = fs::read_to_string(folder.join(LIST)).unwrap_or_default();
    for group in list.lines().map(PathBuf::from) {
        if is_ours(mark, &group) && group.is_dir() {
            cgroup::destroy(&group, LIMIT);
        }
    }
}

/// Whether it can be a group of the agent with this mark: steps may have written into the list.
fn is_ours(mark: &str, group: &Path) -> bool {
    let name = group.file_name().and_then(|name| name.to_str());
    let number = name.and_then(|name| name.strip_prefix(mark)?.strip_prefix('.'));
    let is_numbered = number.is_some_and(|number| number.parse::<u64>().is_ok());
    group.starts_with("/sys/fs/cgroup")
        && is_numbered
        && mark.starts_with(agent_mark::PREFIX)
        && group
            .components()
            .all(|it| it != std::path::Component::ParentDir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_groups_with_the_agents_mark_are_removed_after_it() {
        let ours = |path: &str| is_ours("backsight-1-ab", Path::new(path));
        assert!(ours("/sys/fs/cgroup/memory/box/backsight-1-ab.7"));
        for other in [
            "/sys/fs/cgroup/memory/backsight-1-ab",
            "/sys/fs/cgroup/memory/backsight-1-ab.x",
            "/sys/fs/cgroup/system.slice",
            "/sys/fs/cgroup/../../../home/backsight-1-ab.7",
            "/home/backsight-1-ab.7",
        ] {
            assert!(!ours(other), "{other}");
        }
    }
}
