//! The user that the steps of a trial run as (`process.user`): one that the machine knows, or a number that nobody has.
//!
//! A fresh user has no entry in `/etc/passwd`, so that nothing of the machine is changed: it is a number, a home in the trial's folder,
//! and what its processes make. All of it is gone after the trial, also after an agent that was killed.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use backsight_settings::{MachineRoot, UserChoice};

use crate::folders::{BARRIER_SOCKET, PROGRAMS, remove_tree, with_path};

/// Numbers for users that are made for a while: no system gives them to anybody else (systemd's `DynamicUser=`).
const FRESH: std::ops::RangeInclusive<u32> = 61_184..=65_519;
/// Folders in which every user may make files.
const OPEN_FOLDERS: [&str; 4] = ["/tmp", "/var/tmp", "/dev/shm", "/run/lock"];

/// The user of a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TrialUser {
    pub(crate) uid: u32,
    /// Its own first.
    pub(crate) groups: Vec<u32>,
    pub(crate) name: String,
    pub(crate) home: PathBuf,
    is_fresh: bool,
}

impl TrialUser {
    /// The one of this choice, for a trial with this folder. A fresh one is the same for the same seed where nobody has that number.
    ///
    /// # Errors
    ///
    /// The user isn't known; the folder can't be given to it, or it can't reach it.
    pub(crate) fn new(choice: &str, seed: &str, trial: &Path) -> Result<Self, String> {
        let choice = UserChoice::find(&MachineRoot::this_machine(), choice)?;
        let user = match choice.clone() {
            UserChoice::Named {
                name,
                uid,
                groups,
                home,
            } => Self {
                uid,
                groups,
                name,
                home: home.into(),
                is_fresh: false,
            },
            UserChoice::Fresh => {
                let uid = free_number(seed, &taken_numbers(trial))
                    .ok_or("all numbers for fresh users are taken")?;
                Self {
                    uid,
                    groups: vec![uid],
                    name: format!("fresh{uid}"),
                    home: trial.join("home"),
                    is_fresh: true,
                }
            }
        };
        let given = user.give_folders(trial);
        given.map_err(|error| format!("the trial's folder can't be given to its user: {error}"))?;
        choice.check_way_to(trial)?;
        Ok(user)
    }

    fn give_folders(&self, trial: &Path) -> io::Result<()> {
        let own = |folder: &Path| {
            chown(folder, Some(self.uid), self.groups.first().copied())
                .map_err(|error| with_path(folder, &error))
        };
        if self.is_fresh {
            DirBuilder::new().mode(0o700).create(&self.home)?;
            own(&self.home)?;
        }
        own(&trial.join("scratch"))?;
        own(&trial.join(BARRIER_SOCKET))?;
        // Others may go through the folders of agents, and see nothing in them.
        let programs = trial.join(PROGRAMS);
        for folder in trial.ancestors().take(3).chain([&*programs]) {
            fs::set_permissions(folder, Permissions::from_mode(0o711))
                .map_err(|error| with_path(folder, &error))?;
        }
        Ok(())
    }

    /// Variables that say who it is.
    pub(crate) fn environment(&self) -> [(String, String); 3] {
        let home = self.home.display().to_string();
        let of = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        [
            of("HOME", &home),
            of("USER", &self.name),
            of("LOGNAME", &self.name),
        ]
    }

    /// Removes what a fresh user made outside of its trial's folder, which is removed with the trial.
    pub(crate) fn remove_files(&self) {
        if self.is_fresh {
            remove_files_of(self.uid);
        }
    }
}

/// The number that a seed leads to, or the next one that nobody has.
fn free_number(seed: &str, taken: &BTreeSet<u32>) -> Option<u32> {
    let [a, b, c, d, ..] = *blake3::hash(seed.as_bytes()).as_bytes();
    let count = FRESH.end() - FRESH.start() + 1;
    let first = u32::from_le_bytes([a, b, c, d]) % count;
    let mut numbers = (0..count).map(|step| FRESH.start() + (first + step) % count);
    numbers.find(|uid| !taken.contains(uid))
}

/// Numbers that somebody has: users of the machine, of processes, and of other trials that are open.
fn taken_numbers(trial: &Path) -> BTreeSet<u32> {
    let mut taken = BTreeSet::new();
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let numbers = users.lines().filter_map(|line| line.split(':').nth(2));
    taken.extend(numbers.filter_map(|number| number.parse::<u32>().ok()));
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let is_one = process.file_name().to_string_lossy().parse::<u32>().is_ok();
        taken.extend(
            is_one
                .then(|| process.metadata().ok())
                .flatten()
                .map(|it| it.uid()),
        );
    }
    let agents = trial.ancestors().nth(2).map(fs::read_dir);
    for agent in agents.into_iter().flatten().flatten().flatten() {
        taken.extend(fresh_owners(&agent.path()));
    }
    taken
}

/// The fresh users of an agent's trials that weren't ended.
fn fresh_owners(agent: &Path) -> Vec<u32> {
    let trials = fs::read_dir(agent).into_iter().flatten().flatten();
    let homes = trials.filter_map(|trial| fs::symlink_metadata(trial.path().join("home")).ok());
    let owners = homes.filter(|home| home.is_dir()).map(|home| home.uid());
    owners.filter(|uid| FRESH.contains(uid)).collect()
}

/// Removes what fresh users of a dead agent made outside of its folder.
pub(crate) fn remove_of_dead(agent: &Path) {
    for uid in fresh_owners(agent) {
        remove_files_of(uid);
    }
}

fn remove_files_of(uid: u32) {
    let mut folders: BTreeSet<PathBuf> = OPEN_FOLDERS.map(PathBuf::from).into();
    folders.insert(std::env::temp_dir());
    for entry in folders
        .iter()
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flatten()
        .flatten()
    {
        let path = entry.path();
        match fs::symlink_metadata(&path) {
            Ok(found) if found.uid() != uid => {}
            Ok(found) if found.is_dir() => drop(remove_tree(&path)),
            Ok(_) => drop(fs::remove_file(&path)),
            Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fresh_user_has_a_number_that_nobody_has() {
        let first = free_number("study 1", &BTreeSet::new()).unwrap();
        assert_eq!(free_number("study 1", &BTreeSet::new()), Some(first));
        let next = free_number("study 1", &BTreeSet::from([first])).unwrap();
        assert!(next != first && FRESH.contains(&first) && FRESH.contains(&next));
        assert_eq!(free_number("study 1", &FRESH.collect()), None);
    }
}
