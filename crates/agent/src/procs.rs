//! The processes of this machine as `/proc` shows them, and killing the right ones among them.
//!
//! A process that is to be killed is named by number *and* start time, so that a number that was given to another
//! process meanwhile hurts nobody.

use std::collections::{HashMap, HashSet};
use std::fs;

use nix::libc;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// One process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    pub(crate) group: i32,
    pub(crate) zombie: bool,
    /// When it began, in ticks since the boot.
    pub(crate) start_ticks: u64,
    /// Processor time that it and the children that it waited for have used, in ticks.
    pub(crate) ticks: u64,
    /// The kernel's short name for it.
    pub(crate) name: String,
}

/// Every process; those that end meanwhile may be missing.
pub(crate) fn all() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let numbers = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter_map(one).collect()
}

/// The process with this number.
pub(crate) fn one(pid: i32) -> Option<Process> {
    parse(&String::from_utf8_lossy(
        &fs::read(format!("/proc/{pid}/stat")).ok()?,
    ))
}

/// A line of `/proc/<pid>/stat` (proc_pid_stat(5)): the number, the name, and the fields behind it. The name stands in parentheses and
/// may itself contain some.
pub(crate) fn stat_fields(line: &str) -> Option<(i32, &str, Vec<&str>)> {
    let (pid, rest) = line.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(") ")?;
    Some((
        pid.parse().ok()?,
        name,
        rest.split_ascii_whitespace().collect(),
    ))
}

fn parse(line: &str) -> Option<Process> {
    let (pid, name, fields) = stat_fields(line)?;
    Some(Process {
        pid,
        name: name.to_owned(),
        zombie: matches!(*fields.first()?, "Z" | "X"),
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        start_ticks: fields.get(19)?.parse().ok()?,
        ticks: (11..=14)
            .filter_map(|n| fields.get(n)?.parse::<u64>().ok())
            .sum(),
    })
}

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
    let Some(pid) = Pid::from_raw(process.pid) else {
        return false;
    };
    let handle = pidfd_open(pid, PidfdFlags::empty());
    // The handle is on whoever has the number now; only afterwards is it known to be the right one.
    if one(process.pid).is_none_or(|now| now.start_ticks != process.start_ticks) {
        return false;
    }
    match handle {
        Ok(handle) => pidfd_send_signal(handle, Signal::KILL).is_ok(),
        Err(rustix::io::Errno::NOSYS) => rustix::process::kill_process(pid, Signal::KILL).is_ok(),
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
    fn a_name_with_parentheses_and_spaces_is_read_whole() {
        let line = "42 (a) b (c) S 7 40 40 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 0 0";
        let process = parse(line).unwrap();
        assert_eq!(
            (
                process.pid,
                process.parent,
                process.group,
                process.start_ticks
            ),
            (42, 7, 40, 12345)
        );
        assert_eq!(process.name, "a) b (c");
        assert!(!process.zombie);
    }

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
