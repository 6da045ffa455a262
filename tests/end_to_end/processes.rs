//! Finding processes, and waiting for what has no event to await.

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::{
    fs,
    time::{Duration, Instant},
};

use crate::place::MARK;

/// Longest wait for anything, on a machine that is busy with other tests.
pub const LIMIT: Duration = Duration::from_secs(60);

/// A living process.
#[derive(Debug, Clone)]
pub struct Process {
    pub pid: i32,
    pub parent: i32,
    pub command: String,
}

/// Waits until it is so.
pub fn until(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + LIMIT;
    while !is_so() {
        assert!(
            Instant::now() < end,
            "waited {LIMIT:?} in vain until {what}"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Every living process. One that only waits to be reaped isn't.
pub fn all() -> Vec<Process> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter_map(|entry| one(entry.file_name().to_str()?.parse().ok()?))
        .collect()
}

fn one(pid: i32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let command = String::from_utf8_lossy(&command).replace('\0', " ");
    (!matches!(state, "Z" | "X")).then_some(Process {
        pid,
        parent,
        command,
    })
}

/// Processes that belong to a place: they have its mark in their environment, or its name in their command.
pub fn of_place(name: &str) -> Vec<Process> {
    let mark = format!("{MARK}={name}\0");
    let me = std::process::id().cast_signed();
    all()
        .into_iter()
        .filter(|process| {
            let environment =
                fs::read(format!("/proc/{}/environ", process.pid)).unwrap_or_default();
            // A name is no other's beginning: it is followed by something that no name has.
            let named = process
                .command
                .split(|c: char| !c.is_ascii_alphanumeric() && c != '-')
                .any(|w| w.ends_with(name));
            process.pid != me && (named || contains(&environment, mark.as_bytes()))
        })
        .collect()
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// Waits until nothing of a place is left.
pub fn until_gone(name: &str) {
    let end = Instant::now() + LIMIT;
    loop {
        let left = of_place(name);
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < end, "still there: {left:#?}");
        until_ended(left[0].pid, Duration::from_secs(1));
    }
}

/// Waits until this process has ended, at most this long.
pub fn until_ended(pid: i32, limit: Duration) {
    let Some(raw) = rustix::process::Pid::from_raw(pid) else {
        return;
    };
    let Ok(handle) = rustix::process::pidfd_open(raw, rustix::process::PidfdFlags::empty()) else {
        return;
    };
    let limit = Timespec {
        tv_sec: limit.as_secs().cast_signed(),
        tv_nsec: limit.subsec_nanos().into(),
    };
    let _ = poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&limit));
}

/// Kills what is left of a place.
pub fn end_all(name: &str) {
    for _ in 0..20 {
        let left = of_place(name);
        if left.is_empty() {
            return;
        }
        for process in left {
            let _ = kill(Pid::from_raw(process.pid), Signal::SIGKILL);
            until_ended(process.pid, Duration::from_millis(200));
        }
    }
}

/// The supervisors of agents that a conductor has started.
pub fn supervisors_of(conductor: Pid) -> Vec<Process> {
    agents_below(conductor.as_raw(), &all())
}

/// The agents that a conductor has started: children of their supervisors.
pub fn agents_of(conductor: Pid) -> Vec<Process> {
    let all = all();
    let supervisors = agents_below(conductor.as_raw(), &all);
    let agents = supervisors.iter().flat_map(|s| agents_below(s.pid, &all));
    agents.collect()
}

fn agents_below(parent: i32, all: &[Process]) -> Vec<Process> {
    let is_agent = |process: &&Process| {
        process.parent == parent && process.command.split(' ').nth(1) == Some("agent")
    };
    all.iter().filter(is_agent).cloned().collect()
}

/// The only agent of a conductor.
pub fn agent_of(conductor: Pid) -> Pid {
    let agents = agents_of(conductor);
    assert_eq!(agents.len(), 1, "{agents:#?}");
    Pid::from_raw(agents[0].pid)
}

/// The processes below one.
pub fn below(ancestor: i32) -> Vec<Process> {
    let all = all();
    let mut found: Vec<Process> = Vec::new();
    let mut parents = vec![ancestor];
    while let Some(parent) = parents.pop() {
        for child in all.iter().filter(|process| process.parent == parent) {
            parents.push(child.pid);
            found.push(child.clone());
        }
    }
    found
}
