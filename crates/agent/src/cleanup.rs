//! Cleanup after a dead agent: kills its processes, removes its cgroups, what its users made, its mounts and its folders.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use backsight_platform::environment;
use rustix::fs::{FlockOperation, flock};

use crate::agent_mark::{AgentMark, PREFIX};
use crate::cgroup::Cgroup;
use crate::folders::{remove_tree, with_path};
use crate::procs::Process;
use crate::reap::{childless, reap_orphans};
use crate::{MARK_VARIABLE, cgroup, clocks, procs, trial_limits, trial_user, uts_mark};

/// What a sweep found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SweptProcesses {
    /// Processes that were killed, the agent among them.
    pub killed: Vec<u32>,
    /// Processes that were still there when the time limit ended the sweep.
    pub left: Vec<u32>,
    /// What of its folders couldn't be removed, and why.
    pub folder: Option<String>,
}

/// How long a sweep may take.
const LIMIT: Duration = Duration::from_secs(10);
/// The pause between two looks at what is left.
const PAUSE: Duration = Duration::from_millis(2);
/// So many looks that find nothing are the end: one may miss a process that is started while it is taken.
const LOOKS_IN_VAIN: u32 = 2;

/// Kills what an agent on this machine left when it died or stopped answering, the agent itself included if it is
/// still there, and removes its cgroup and its folders. Nothing is left of it when this returns, unless
/// [`SweptProcesses`] says so. Blocking; takes milliseconds, at most some seconds. May be repeated.
#[must_use]
pub fn sweep(mark: &AgentMark) -> SweptProcesses {
    let mut swept = SweptProcesses::default();
    if clocks::boot_id().as_ref() == Some(&mark.boot_id) {
        kill_processes(mark, &mut swept, || marked(&mark.mark));
        trial_user::remove_of_dead(&mark.folder);
    }
    swept.folder = remove_folder(&mark.folder);
    swept
}

/// Kills what an agent left that was this process's child and has ended, whatever it did to hide: this process adopts
/// orphans. Its folder is removed too, unless its conductor lives and may want to read it.
pub(crate) fn kill_orphans(mark: &str) {
    if childless() {
        return;
    }
    let folder = folders().map(|folders| folders.join(folder_name(mark)));
    let left = AgentMark {
        mark: mark.to_owned(),
        // Waited for: the number may be another's.
        pid: 0,
        start_ticks: u64::MAX,
        boot_id: String::new(),
        cgroup: Cgroup::place(mark),
        folder: folder.unwrap_or_default(),
    };
    let look = || {
        reap_orphans();
        let mut found = marked(mark);
        let me = std::process::id().cast_signed();
        let orphans = procs::descendants(me, procs::all()).into_iter();
        found.extend(orphans.filter(|process| !process.zombie));
        found
    };
    kill_processes(&left, &mut SweptProcesses::default(), look);
    sweep_if_dead(&left.folder);
}

/// Kills the agent, all in its cgroup, and what `look` finds, again and again until it finds nothing.
fn kill_processes(mark: &AgentMark, swept: &mut SweptProcesses, look: impl Fn() -> Vec<Process>) {
    let until = Instant::now() + LIMIT;
    let mut killed = BTreeSet::new();
    let mut looks_in_vain = 0;
    // The agent first: it would go on starting steps.
    if let Some(agent) =
        procs::one(mark.pid.cast_signed()).filter(|process| process.start_ticks == mark.start_ticks)
    {
        killed.extend((!agent.zombie && procs::kill(&agent)).then_some(mark.pid));
    }
    if let Some(cgroup) = mark.cgroup.as_deref().filter(|root| root.is_dir()) {
        killed.extend(
            cgroup::destroy(cgroup, LIMIT)
                .into_iter()
                .map(i32::unsigned_abs),
        );
    }
    trial_limits::remove_of_dead(&mark.mark, &mark.folder);
    loop {
        let left = look();
        swept.left = left
            .iter()
            .map(|process| process.pid.unsigned_abs())
            .collect();
        looks_in_vain = if left.is_empty() {
            looks_in_vain + 1
        } else {
            0
        };
        if looks_in_vain == LOOKS_IN_VAIN || Instant::now() >= until {
            break;
        }
        killed.extend(
            left.iter()
                .filter(|process| procs::kill(process))
                .map(|process| process.pid.unsigned_abs()),
        );
        sleep(PAUSE);
    }
    swept.killed = killed.into_iter().collect();
}

/// The file in an agent's folder that the agent and its conductor keep locked for as long as they live, each by a lock
/// that it shares. It says where the agent's cgroup is.
const ALIVE: &str = "alive";

/// An agent that doesn't show within this time that it lives never will.
const STILLBORN: Duration = Duration::from_secs(60);

/// Shows others that the agent with this folder lives, until the file is dropped or the process ends, however it ends.
///
/// # Errors
///
/// The system's.
pub(crate) fn show_life(folder: &Path, cgroup: Option<&Path>) -> io::Result<File> {
    let hidden = folder.join("alive.new");
    let mut file = File::create_new(&hidden)?;
    flock(&file, FlockOperation::NonBlockingLockShared)?;
    file.write_all(cgroup.map_or(&[][..], |path| path.as_os_str().as_bytes()))?;
    // It is never seen unlocked while we live.
    fs::rename(hidden, folder.join(ALIVE))?;
    Ok(file)
}

/// Keeps others from sweeping after this agent, for as long as the file is there: a conductor wants to read what the
/// steps of a killed agent had written. None: the folder is not on this machine, or gone.
pub(crate) fn keep(mark: &AgentMark) -> Option<File> {
    let here = clocks::boot_id().is_some_and(|boot| boot == mark.boot_id);
    let file = File::open(mark.folder.join(ALIVE)).ok().filter(|_| here)?;
    flock(&file, FlockOperation::NonBlockingLockShared).ok()?;
    Some(file)
}

/// The name of the folder of the agent with this mark.
fn folder_name(mark: &str) -> &str {
    mark.strip_prefix(PREFIX).unwrap_or(mark)
}

/// Whether an agent's folder can be called so: by its process and its token.
fn is_folder_name(name: &str) -> bool {
    name.split_once('-').is_some_and(|(pid, token)| {
        pid.parse::<u32>().is_ok() && token.len() == 16 && u64::from_str_radix(token, 16).is_ok()
    })
}

/// The folder of agents' folders: one of the user's own in `TMPDIR`, which may have so many other entries that to list
/// them at every start takes too long.
///
/// # Errors
///
/// The system's: there is no working directory for a relative `TMPDIR`.
fn folders() -> io::Result<PathBuf> {
    let temporary = env::var_os("TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
    let own = format!("{PREFIX}{}", nix::unistd::getuid());
    Ok(std::path::absolute(temporary)?.join(own))
}

/// Whether the folder of agents' folders is there and nobody else's: what another user calls like ours isn't, and may lead
/// elsewhere.
///
/// # Errors
///
/// The system's: it isn't there.
fn is_ours(folders: &Path) -> io::Result<bool> {
    let found = fs::symlink_metadata(folders)?;
    let uid = nix::unistd::getuid().as_raw();
    Ok(found.is_dir() && found.uid() == uid && found.mode() & 0o022 == 0)
}

/// Makes the folder of the agent with this mark.
///
/// # Errors
///
/// The system's; the folder of agents' folders is another user's.
pub(crate) fn make_folder(mark: &str) -> io::Result<PathBuf> {
    make_folder_in(&folders()?, folder_name(mark))
}

fn make_folder_in(folders: &Path, name: &str) -> io::Result<PathBuf> {
    /// How often another agent that ends may remove the folder that ours is to be in.
    const TRIES: usize = 1000;
    let folder = folders.join(name);
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    for _ in 0..TRIES {
        match builder.create(folders) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(with_path(folders, &error));
            }
            _ => {}
        }
        match is_ours(folders) {
            Ok(false) => {
                let error = io::Error::other("it is there and isn't a folder of this user alone");
                return Err(with_path(folders, &error));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            owned => owned?,
        };
        match builder.create(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            made => {
                return match made {
                    Ok(()) => Ok(folder),
                    Err(error) => Err(with_path(&folder, &error)),
                };
            }
        }
    }
    Err(with_path(&folder, &io::ErrorKind::NotFound.into()))
}

/// Removes an agent's folder, and the folder of agents' folders if it was the last one. Says what is left of it and why.
pub(crate) fn remove_folder(folder: &Path) -> Option<String> {
    let left = remove_tree(folder);
    if let (Some(parent), Ok(folders)) = (folder.parent(), folders())
        && parent.file_name() == folders.file_name()
    {
        let _others_are_in_it = fs::remove_dir(parent);
    }
    left
}

/// Cleans up after the agents of this user on this machine that were killed together with their supervisors and their
/// conductors: kills what they had started, removes their cgroups and folders. Agents that live, or whose conductor
/// lives, are left alone. Takes microseconds when there is nothing to do.
pub fn sweep_dead_agents() {
    let Ok(folders) = folders() else { return };
    if !is_ours(&folders).unwrap_or(false) {
        return;
    }
    for entry in fs::read_dir(folders).into_iter().flatten().flatten() {
        sweep_if_dead(&entry.path());
    }
}

fn sweep_if_dead(folder: &Path) -> Option<SweptProcesses> {
    let unique = folder.file_name()?.to_str()?;
    if !is_folder_name(unique) {
        return None;
    }
    let Ok(mut alive) = File::open(folder.join(ALIVE)) else {
        // It died before it showed that it lived, and had started nothing; or it is about to.
        let age = fs::metadata(folder).ok()?.modified().ok()?.elapsed().ok()?;
        if age > STILLBORN {
            let _another_one_was_quicker = remove_folder(folder);
        }
        return None;
    };
    // Locked: it lives, or its conductor does, or somebody else sweeps.
    flock(&alive, FlockOperation::NonBlockingLockExclusive).ok()?;
    let mut cgroup = Vec::new();
    alive.read_to_end(&mut cgroup).ok()?;
    Some(sweep(&AgentMark {
        mark: format!("{PREFIX}{unique}"),
        // The agent itself is gone, and its number may be another's.
        pid: 0,
        start_ticks: u64::MAX,
        boot_id: clocks::boot_id()?,
        cgroup: (!cgroup.is_empty()).then(|| OsString::from_vec(cgroup).into()),
        folder: folder.to_owned(),
    }))
}

/// The living processes with the mark in their environment or in their UTS namespace. Those of other users can't be looked into, and can't be
/// ours.
fn marked(mark: &str) -> Vec<Process> {
    let variable = format!("{MARK_VARIABLE}={mark}/");
    let mut bearers = uts_mark::MarkBearers::new(mark);
    let mut bears = |process: &Process| {
        let environment = environment(process.pid);
        let named = environment
            .split(|byte| *byte == 0)
            .any(|entry| entry.starts_with(variable.as_bytes()));
        named || bearers.include(process.pid)
    };
    procs::all()
        .into_iter()
        .filter(|process| !process.zombie && bears(process))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The folder of agents' folders in this temporary folder.
    fn folders_in(temporary: &tempfile::TempDir) -> PathBuf {
        temporary
            .path()
            .join(folders().unwrap().file_name().unwrap())
    }

    #[test]
    fn folders_are_made_while_others_remove_theirs_and_the_last_one_leaves_nothing() {
        let temporary = tempfile::tempdir().unwrap();
        let folders = folders_in(&temporary);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let folders = &folders;
                scope.spawn(move || {
                    for round in 0..200_u64 {
                        let name = crate::agent_mark::name(thread, round);
                        let folder = make_folder_in(folders, folder_name(&name)).unwrap();
                        assert!(is_folder_name(
                            folder.file_name().unwrap().to_str().unwrap()
                        ));
                        assert_eq!(remove_folder(&folder), None);
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_that_another_user_may_have_put_there_is_refused() {
        let temporary = tempfile::tempdir().unwrap();
        let folders = folders_in(&temporary);
        let elsewhere = temporary.path().join("elsewhere");
        DirBuilder::new().mode(0o700).create(&elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &folders).unwrap();
        let error = make_folder_in(&folders, "1-0123456789abcdef").unwrap_err();
        assert!(
            error
                .to_string()
                .contains("isn't a folder of this user alone"),
            "{error}"
        );
        assert!(!is_ours(&folders).unwrap());
        fs::remove_file(&folders).unwrap();
        fs::create_dir(&folders).unwrap();
        let all = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        fs::set_permissions(&folders, all).unwrap();
        assert!(!is_ours(&folders).unwrap());
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    }

    #[test]
    fn what_is_not_called_like_an_agents_folder_is_left_alone() {
        let temporary = tempfile::tempdir().unwrap();
        let hour = Duration::from_secs(3600);
        for (name, stays) in [
            ("12-0123456789abcdef", false),
            ("notes", true),
            ("12-notes", true),
            ("x-0123456789abcdef", true),
        ] {
            let folder = temporary.path().join(name);
            fs::create_dir(&folder).unwrap();
            let file = File::open(&folder).unwrap();
            file.set_modified(std::time::SystemTime::now() - hour)
                .unwrap();
            assert_eq!(sweep_if_dead(&folder), None);
            assert_eq!(folder.is_dir(), stays, "{name}");
        }
    }
}
