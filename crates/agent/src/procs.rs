//! Processes of this machine by their kinship, and killing the right ones among them.
//!
//! A process that is to be killed is named by number *and* start time, so that a number that was given to another
//! process meanwhile hurts nobody.

use std::collections::{HashMap, HashSet};

use backsight_platform::ProcessHandle;
pub(crate) use backsight_platform::{Process, process as one, processes as all};
use nix::libc;
use rustix::process::{Pid, Signal};

/// Those that a process started, directly or not, as far as the chain of parents is unbroken.
pub(crate) fn descendants(ancestor: i32, all: Vec<Process>) -> Vec<Process> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for process in &all {
        children
            .entry(process.parent)
            .or_default()
            .push(process.pid);
    }
    let mut found = HashSet::new();
    let mut look = vec![ancestor];
    while let Some(parent) = look.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            found.insert(child);
            look.push(child);
        }
    }
    all.into_iter()
        .filter(|process| found.contains(&process.pid))
        .collect()
}

/// Sends SIGKILL, unless the process is gone. Says whether it was sent.
pub(crate) fn kill(process: &Process) -> bool {
    let handle = ProcessHandle::open(process.pid);
    // The handle is on whoever has the number now; only afterwards is it known to be the right one.
    if one(process.pid).is_none_or(|now| now.start_ticks != process.start_ticks) {
        return false;
    }
    match handle {
        Ok(handle) => handle.kill().is_ok(),
        Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => {
            let pid = Pid::from_raw(process.pid);
            pid.is_some_and(|pid| rustix::process::kill_process(pid, Signal::KILL).is_ok())
        }
        Err(_) => false,
    }
}

/// Sends a signal to every process of a group, which may be gone. The number is that of the group's leader, and that
/// the leader hasn't been waited for is the caller's promise: else the number may be another's.
pub(crate) fn signal_group(leader: i32, signal: i32) {
    // SAFETY: the call takes two numbers.
    unsafe { libc::kill(-leader, signal) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_are_found_over_generations_and_cycles_end() {
        let process = |pid, parent| Process {
            pid,
            parent,
            group: 1,
            zombie: false,
            ticks: 0,
            start_ticks: 0,
            name: String::new(),
        };
        let all = vec![
            process(1, 0),
            process(5, 1),
            process(6, 5),
            process(7, 6),
            process(8, 1),
            process(9, 9),
        ];
        let mut found: Vec<i32> = descendants(5, all)
            .into_iter()
            .map(|process| process.pid)
            .collect();
        found.sort_unstable();
        assert_eq!(found, [6, 7]);
    }

    #[test]
    fn a_number_that_belongs_to_another_process_now_is_not_killed() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let process = one(child.id().cast_signed()).unwrap();
        let earlier = Process {
            start_ticks: process.start_ticks - 1,
            ..process.clone()
        };
        assert!(!kill(&earlier));
        assert!(kill(&process));
        assert!(!child.wait().unwrap().success());
    }
}
