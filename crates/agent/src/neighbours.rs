//! Who else uses the processors of a machine for a while, by name: what disturbs a measurement.
//!
//! A program that began and ended meanwhile is found in the account of the one that waited for it: of a compilation
//! it is `make` that is named, or the compiler, or both.
//!
//! Threads of the kernel aren't named: they work for everybody.

use std::collections::{BTreeMap, HashMap, HashSet};

use nix::unistd::{SysconfVar, sysconf};

use crate::account::{self, CpuCounters};
use crate::procs::{self, Process};
use crate::step::CpuAccount;

/// The parent of all of the kernel's threads, where they are seen.
const KERNEL_THREADS: i32 = 2;
/// Most names that are told.
const MOST: usize = 8;

/// The processes of this machine at an instant.
pub struct ProcessSnapshot {
    machine: CpuCounters,
    processes: Vec<Process>,
}

/// How the processors of this machine were used since then.
#[derive(Debug, Clone, PartialEq)]
pub struct CpuUse {
    /// In all; its own part is that of this process, of those of its name that it descends from, and of all that
    /// they started.
    pub account: CpuAccount,
    /// CPU seconds of others, the busiest first, at most eight; programs of one name are counted together.
    pub others: Vec<(String, f64)>,
}

impl ProcessSnapshot {
    /// Looks around now.
    #[must_use]
    pub fn now() -> Self {
        Self {
            machine: account::read(None),
            processes: procs::all(),
        }
    }

    /// What was used since then.
    #[must_use]
    pub fn since(&self) -> CpuUse {
        let own = i32::try_from(std::process::id()).unwrap_or_default();
        let ticks = sysconf(SysconfVar::CLK_TCK).ok().flatten().unwrap_or(100) as f64;
        let (ours, mut others) = used(&self.processes, &procs::all(), own, ticks);
        others.truncate(MOST);
        let account = CpuAccount {
            own: ours,
            ..self.machine.until(&account::read(None))
        };
        CpuUse { account, others }
    }
}

/// Seconds of ours and of others.
fn used(
    begun: &[Process],
    ended: &[Process],
    own: i32,
    ticks_a_second: f64,
) -> (f64, Vec<(String, f64)>) {
    let there: HashMap<i32, &Process> =
        ended.iter().map(|process| (process.pid, process)).collect();
    let mut spent: HashMap<i32, i64> = ended
        .iter()
        .map(|process| (process.pid, signed(process.ticks)))
        .collect();
    let before: HashMap<i32, &Process> =
        begun.iter().map(|process| (process.pid, process)).collect();
    for process in begun {
        // What had been spent before belongs to the process, or to the one that waited for it since.
        let mut heir = Some(process);
        while let Some(gone) = heir
            && there
                .get(&gone.pid)
                .is_none_or(|now| now.start_ticks != gone.start_ticks)
        {
            heir = before
                .get(&gone.parent)
                .copied()
                .filter(|parent| parent.pid != gone.pid);
        }
        if let Some(heir) = heir {
            *spent.entry(heir.pid).or_default() -= signed(process.ticks);
        }
    }
    let root = root(own, &there);
    let descendants = procs::descendants(root, ended.to_vec());
    let of_ours: HashSet<i32> = descendants
        .iter()
        .map(|process| process.pid)
        .chain([root])
        .collect();
    let mut ours = 0.0;
    let mut others: BTreeMap<&str, f64> = BTreeMap::new();
    for process in ended {
        let seconds = spent[&process.pid].max(0) as f64 / ticks_a_second;
        if of_ours.contains(&process.pid) {
            ours += seconds;
        } else if process.pid != KERNEL_THREADS && process.parent != KERNEL_THREADS && seconds > 0.0
        {
            *others.entry(&process.name).or_default() += seconds;
        }
    }
    let mut others: Vec<(String, f64)> = others
        .into_iter()
        .map(|(name, seconds)| (name.to_owned(), seconds))
        .collect();
    others.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    (ours, others)
}

fn signed(ticks: u64) -> i64 {
    i64::try_from(ticks).unwrap_or(i64::MAX)
}

/// The oldest of the processes of one name in a row: a conductor that has started an agent, and not its shell.
fn root(own: i32, there: &HashMap<i32, &Process>) -> i32 {
    let mut root = own;
    while let Some(process) = there.get(&root)
        && let Some(parent) = there.get(&process.parent)
        && parent.name == process.name
        && parent.pid != root
    {
        root = parent.pid;
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: i32, parent: i32, name: &str, ticks: u64) -> Process {
        Process {
            pid,
            parent,
            group: pid,
            zombie: false,
            start_ticks: u64::try_from(pid).unwrap(),
            ticks,
            name: name.into(),
        }
    }

    fn named(others: &[(String, f64)]) -> Vec<(&str, f64)> {
        others.iter().map(|(name, s)| (name.as_str(), *s)).collect()
    }

    #[test]
    fn others_are_named_and_ours_are_not() {
        let machine = |conductor, agent, benchmark, make, compiler, kernel| {
            vec![
                process(1, 0, "init", 500),
                process(2, 0, "kthreadd", 0),
                process(3, 2, "kworker/0:1", kernel),
                process(10, 1, "sh", 7),
                process(11, 10, "backsight", conductor),
                process(12, 11, "backsight", agent),
                process(13, 12, "iperf3", benchmark),
                process(20, 1, "make", make),
                process(21, 20, "cc1", compiler),
                process(22, 20, "cc1", compiler),
            ]
        };
        let (ours, others) = used(
            &machine(5, 6, 7, 8, 9, 10),
            &machine(15, 16, 107, 18, 209, 999),
            12,
            100.0,
        );
        assert_eq!(ours, 1.2);
        assert_eq!(named(&others), [("cc1", 4.0), ("make", 0.1)]);
    }

    #[test]
    fn what_ended_is_in_the_account_of_who_waited_for_it() {
        let begun = [
            process(1, 0, "init", 0),
            process(11, 1, "backsight", 0),
            process(20, 1, "make", 100),
            process(21, 20, "sh", 3),
            process(22, 21, "cc1", 50),
        ];
        // The compiler and its shell had 53 before, and 80 when make waited for them; another compiler came and went.
        let ended = [
            process(1, 0, "init", 0),
            process(11, 1, "backsight", 0),
            process(20, 1, "make", 100 + 80 + 40),
        ];
        let (_, others) = used(&begun, &ended, 11, 1.0);
        assert_eq!(named(&others), [("make", 67.0)]);
    }

    #[test]
    fn a_number_that_was_given_again_is_another_process() {
        let begun = [process(1, 0, "init", 0), process(20, 1, "old", 1000)];
        let mut new = process(20, 1, "new", 30);
        new.start_ticks = 99;
        let (ours, others) = used(&begun, &[process(1, 0, "init", 1000), new], 1, 1.0);
        assert_eq!(named(&others), []);
        assert_eq!(ours, 30.0);
    }

    #[test]
    fn a_busy_process_is_seen_for_real() {
        let watch = ProcessSnapshot::now();
        let mut busy = std::process::Command::new("sh")
            .args(["-c", "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done"])
            .spawn()
            .unwrap();
        busy.wait().unwrap();
        // On a machine with coarse ticks, until one has passed.
        while watch.since().account.own == 0.0 {}
    }
}
