//! Counters of who used the processors, read around each watch: threads, interrupts, softirqs, steal. Their differences name what took
//! the time that the watch lost.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;

use backsight_platform::stat_fields;
use nix::unistd::{SysconfVar, sysconf};

use crate::machine_files::MachineFiles;

/// A thread of a process, for good: its number, the process's, and when it began.
type ThreadId = (i32, i32, u64);

/// What a thread has used.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ThreadUse {
    /// The name of its process; of the kernel's threads their own.
    pub(super) name: String,
    pub(super) is_kernel: bool,
    pub(super) parent: i32,
    /// Processor time, in seconds.
    pub(super) seconds: f64,
    /// How often it was given a processor, where the kernel counts that.
    pub(super) turns: u64,
    /// Processor time of its process's children that ended and were waited for, in seconds; of the main thread only.
    pub(super) of_children: f64,
    /// Where it ran last.
    pub(super) cpu: u32,
}

/// Counts of one row of `/proc/interrupts` or `/proc/softirqs`, by CPU.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct CountRow {
    counts: BTreeMap<u32, u64>,
    /// What serves it: the kernel's words.
    description: String,
}

/// The counters at an instant.
#[derive(Debug, Clone, Default)]
pub(super) struct NoiseCounters {
    pub(super) threads: HashMap<ThreadId, ThreadUse>,
    pub(super) interrupts: BTreeMap<String, CountRow>,
    pub(super) softirqs: BTreeMap<String, CountRow>,
    /// Seconds by CPU.
    pub(super) steal: BTreeMap<u32, f64>,
}

impl NoiseCounters {
    /// Reads them now.
    pub(super) fn read() -> Self {
        let ticks = sysconf(SysconfVar::CLK_TCK).ok().flatten().unwrap_or(100) as f64;
        let text = |path: &str| MachineFiles::here().text(path).unwrap_or_default();
        Self {
            threads: threads(ticks),
            interrupts: count_rows(&text("/proc/interrupts")),
            softirqs: count_rows(&text("/proc/softirqs")),
            steal: steal_by_cpu(&text("/proc/stat"), ticks),
        }
    }
}

/// Every thread of this machine; those that end meanwhile may be missing.
fn threads(ticks: f64) -> HashMap<ThreadId, ThreadUse> {
    let numbers = |folder: &str| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        numbers.collect::<Vec<_>>()
    };
    let mut found = HashMap::new();
    for pid in numbers("/proc") {
        let name = fs::read_to_string(format!("/proc/{pid}/comm"));
        let name = name
            .map(|name| name.trim_end().to_owned())
            .unwrap_or_default();
        for tid in numbers(&format!("/proc/{pid}/task")) {
            let read = |file: &str| {
                let bytes = fs::read(format!("/proc/{pid}/task/{tid}/{file}")).ok()?;
                Some(String::from_utf8_lossy(&bytes).into_owned())
            };
            let Some(stat) = read("stat") else { continue };
            let precise = read("schedstat");
            if let Some((start, thread)) = thread_use(&name, &stat, precise.as_deref(), ticks) {
                found.insert((pid, tid, start), thread);
            }
        }
    }
    found
}

/// The kernel's mark of its own threads among a process's flags (`PF_KTHREAD`).
const KERNEL_THREAD: u32 = 0x0020_0000;

/// A thread as its files `stat` (proc_pid_stat(5)) and `schedstat` say it, the latter to the nanosecond; and when it began.
fn thread_use(
    process: &str,
    stat: &str,
    schedstat: Option<&str>,
    ticks: f64,
) -> Option<(u64, ThreadUse)> {
    let (_, name, fields) = stat_fields(stat)?;
    let number = |n: usize| fields.get(n)?.parse::<u64>().ok();
    let scheduled = |n: usize| {
        schedstat?
            .split_ascii_whitespace()
            .nth(n)?
            .parse::<u64>()
            .ok()
    };
    let precise = scheduled(0).map(|nanoseconds| nanoseconds as f64);
    let seconds = match precise {
        Some(nanoseconds) => nanoseconds / 1e9,
        None => (number(11)? + number(12)?) as f64 / ticks,
    };
    let is_kernel = fields.get(6)?.parse::<u32>().ok()? & KERNEL_THREAD != 0;
    let shown = if is_kernel || process.is_empty() {
        name
    } else {
        process
    };
    let thread = ThreadUse {
        name: shown.to_owned(),
        is_kernel,
        parent: fields.get(1)?.parse().ok()?,
        seconds,
        turns: scheduled(2).unwrap_or_default(),
        of_children: (number(13)? + number(14)?) as f64 / ticks,
        cpu: u32::try_from(number(36)?).ok()?,
    };
    Some((number(19)?, thread))
}

/// Rows of counts by CPU: `/proc/interrupts` and `/proc/softirqs` are alike. Rows that aren't by CPU are left out.
fn count_rows(text: &str) -> BTreeMap<String, CountRow> {
    let mut lines = text.lines();
    let header = lines.next().unwrap_or_default();
    let cpus = header
        .split_ascii_whitespace()
        .filter_map(|word| word.strip_prefix("CPU")?.parse::<u32>().ok());
    let cpus: Vec<u32> = cpus.collect();
    let rows = lines.filter_map(|line| {
        let (name, rest) = line.split_once(':')?;
        let words: Vec<&str> = rest.split_ascii_whitespace().collect();
        let counts: Option<Vec<u64>> = (words.get(..cpus.len())?.iter())
            .map(|word| word.parse().ok())
            .collect();
        let row = CountRow {
            counts: cpus.iter().copied().zip(counts?).collect(),
            description: words[cpus.len()..].join(" "),
        };
        Some((name.trim().to_owned(), row))
    });
    rows.collect()
}

/// Stolen seconds in the lines `cpu0`, `cpu1`, … of `/proc/stat`.
fn steal_by_cpu(stat: &str, ticks: f64) -> BTreeMap<u32, f64> {
    let of_line = |line: &str| {
        let (cpu, fields) = line.strip_prefix("cpu")?.split_once(' ')?;
        let stolen: f64 = fields.split_ascii_whitespace().nth(7)?.parse().ok()?;
        Some((cpu.parse().ok()?, stolen / ticks))
    };
    stat.lines().filter_map(of_line).collect()
}

/// A program: its process, its name, and whether it is a thread of the kernel.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ProgramKey {
    pub(super) pid: i32,
    pub(super) name: String,
    pub(super) is_kernel: bool,
    /// Whether it is its children that ended, which are known by what they used only.
    pub(super) is_children: bool,
}

/// Time and where it was used.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Used {
    pub(super) seconds: f64,
    /// How often a processor was given for it; zero where nobody counts that.
    pub(super) turns: u64,
    pub(super) cpus: BTreeSet<u32>,
}

/// How often something came, and where.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Counted {
    pub(super) count: u64,
    pub(super) cpus: BTreeSet<u32>,
    pub(super) description: String,
}

/// What was used while the watch lasted.
#[derive(Debug, Clone, Default)]
pub(super) struct NoiseTotals {
    pub(super) programs: BTreeMap<ProgramKey, Used>,
    pub(super) interrupts: BTreeMap<String, Counted>,
    pub(super) softirqs: BTreeMap<String, Counted>,
    pub(super) steal: Used,
}

impl NoiseTotals {
    /// Adds what was used between two readings on these CPUs by others than this process.
    pub(super) fn add(
        &mut self,
        before: &NoiseCounters,
        after: &NoiseCounters,
        cpus: &[u32],
        own: i32,
    ) {
        let mut add = |key: ProgramKey, seconds: f64, turns: u64, cpu: Option<u32>| {
            if seconds > 0.0 && key.pid != own {
                let used = self.programs.entry(key).or_default();
                used.seconds += seconds;
                used.turns += turns;
                used.cpus.extend(cpu);
            }
        };
        let key = |pid, thread: &ThreadUse, is_children| ProgramKey {
            pid,
            name: thread.name.clone(),
            is_kernel: thread.is_kernel,
            is_children,
        };
        let inherited = inherited(before, after);
        for (id, thread) in &after.threads {
            let (pid, tid, _) = *id;
            let earlier = before.threads.get(id);
            if cpus.contains(&thread.cpu) {
                let seconds = thread.seconds - earlier.map_or(0.0, |it| it.seconds);
                let turns = thread.turns - earlier.map_or(0, |it| it.turns.min(thread.turns));
                add(key(pid, thread, false), seconds, turns, Some(thread.cpu));
            }
            if pid == tid {
                // A process that is new has children of its own time only.
                let earlier = earlier.map_or(0.0, |it| it.of_children);
                let seconds = thread.of_children - earlier - inherited.get(&pid).unwrap_or(&0.0);
                // Ticks: less than one is an error of rounding.
                if seconds > 0.02 {
                    // Where they ran isn't known.
                    add(key(pid, thread, true), seconds, 0, None);
                }
            }
        }
        add_counts(
            &mut self.interrupts,
            &before.interrupts,
            &after.interrupts,
            cpus,
        );
        add_counts(&mut self.softirqs, &before.softirqs, &after.softirqs, cpus);
        for cpu in cpus {
            let of = |counters: &NoiseCounters| counters.steal.get(cpu).copied().unwrap_or(0.0);
            let stolen = of(after) - of(before);
            if stolen > 0.0 {
                self.steal.seconds += stolen;
                self.steal.cpus.insert(*cpu);
            }
        }
    }
}

/// What processes that ended since then had used before, by the living process whose account has it now: that of the nearest ancestor.
fn inherited(before: &NoiseCounters, after: &NoiseCounters) -> HashMap<i32, f64> {
    let main_threads = before
        .threads
        .iter()
        .filter(|((pid, tid, _), _)| pid == tid);
    let processes: HashMap<i32, (u64, i32)> = main_threads
        .map(|((pid, _, start), thread)| (*pid, (*start, thread.parent)))
        .collect();
    let lives = |pid: i32| {
        let known = processes.get(&pid);
        known.is_some_and(|(start, _)| after.threads.contains_key(&(pid, pid, *start)))
    };
    let mut inherited: HashMap<i32, f64> = HashMap::new();
    for ((pid, tid, _), thread) in before.threads.iter().filter(|((pid, ..), _)| !lives(*pid)) {
        let heir = nearest_living(&processes, lives, thread.parent);
        let of_children = if pid == tid { thread.of_children } else { 0.0 };
        *inherited.entry(heir).or_default() += thread.seconds + of_children;
    }
    inherited
}

/// A process if it lives, else the nearest of its ancestors that does. Processes are known by their beginning and their parent.
pub(super) fn nearest_living(
    processes: &HashMap<i32, (u64, i32)>,
    lives: impl Fn(i32) -> bool,
    process: i32,
) -> i32 {
    let mut found = process;
    // A number that was given again may make a circle.
    for _ in 0..processes.len() {
        match processes.get(&found) {
            Some((_, parent)) if !lives(found) => found = *parent,
            _ => break,
        }
    }
    found
}

fn add_counts(
    totals: &mut BTreeMap<String, Counted>,
    before: &BTreeMap<String, CountRow>,
    after: &BTreeMap<String, CountRow>,
    cpus: &[u32],
) {
    for (name, row) in after {
        for (cpu, count) in row.counts.iter().filter(|(cpu, _)| cpus.contains(cpu)) {
            let earlier = before.get(name).and_then(|row| row.counts.get(cpu));
            let came = count.saturating_sub(earlier.copied().unwrap_or(0));
            if came > 0 {
                let total = totals.entry(name.clone()).or_default();
                total.count += came;
                total.cpus.insert(*cpu);
                total.description.clone_from(&row.description);
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    const INTERRUPTS: &str = "           CPU0       CPU3       \n 26:          0         15  IO-APIC   4-edge      ttyS0\n LOC:     100   200   Local timer interrupts\n ERR:          0\n MIS:          0\n";

    pub(crate) fn thread(name: &str, seconds: f64, cpu: u32) -> ThreadUse {
        ThreadUse {
            name: name.into(),
            is_kernel: false,
            parent: 1,
            seconds,
            turns: (seconds * 1000.0) as u64,
            of_children: 0.0,
            cpu,
        }
    }

    #[test]
    fn rows_of_counts_are_read_by_the_cpus_of_their_header() {
        let rows = count_rows(INTERRUPTS);
        assert_eq!(rows.keys().collect::<Vec<_>>(), ["26", "LOC"]);
        assert_eq!(rows["26"].counts, [(0, 0), (3, 15)].into());
        assert_eq!(rows["26"].description, "IO-APIC 4-edge ttyS0");
        let rows = count_rows("     CPU0  CPU1\n   TIMER:   148   203\n");
        assert_eq!(rows["TIMER"].counts, [(0, 148), (1, 203)].into());
        assert!(count_rows("").is_empty());
    }

    #[test]
    fn a_thread_is_read_to_the_nanosecond_and_by_ticks_where_it_must_be() {
        let line = "42 (cc1 (x)) R 7 40 40 0 -1 4194560 1 2 3 4 150 50 300 0 20 0 1 0 12345 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 5 0 0";
        let (start, thread) = thread_use("cc1", line, Some("1234567890 5 6"), 100.0).unwrap();
        assert_eq!(start, 12345);
        assert_eq!((thread.seconds, thread.turns), (1.23456789, 6));
        assert_eq!((thread.cpu, thread.parent, thread.is_kernel), (5, 7, false));
        assert_eq!(thread.of_children, 3.0);
        let (_, coarse) = thread_use("", line, None, 100.0).unwrap();
        assert_eq!((coarse.seconds, coarse.name.as_str()), (2.0, "cc1 (x)"));
        let kernel = line.replace("4194560", "2129984");
        assert!(
            thread_use("kworker", &kernel, None, 100.0)
                .unwrap()
                .1
                .is_kernel
        );
        assert_eq!(thread_use("x", "42 (x) R 1", None, 100.0), None);
    }

    #[test]
    fn stolen_time_is_read_by_cpu() {
        let stat = "cpu  1 2 3 4 5 6 7 90 0 0\ncpu0 1 2 3 4 5 6 7 40 0 0\ncpu12 1 2 3 4 5 6 7 50 0 0\nintr 4\n";
        assert_eq!(steal_by_cpu(stat, 100.0), [(0, 0.4), (12, 0.5)].into());
    }

    #[test]
    fn what_others_used_on_the_tested_cpus_is_added_up() {
        let counters = |own, busy, elsewhere, timer| NoiseCounters {
            threads: [
                ((1, 1, 1), thread("agent", own, 0)),
                ((7, 7, 5), thread("busy", busy, 1)),
                ((7, 8, 5), thread("busy", 0.5 * busy, 0)),
                ((9, 9, 5), thread("far", elsewhere, 4)),
            ]
            .into(),
            interrupts: count_rows(&format!("  CPU0 CPU4\n 9: {timer} 100 dev\n")),
            ..NoiseCounters::default()
        };
        let mut totals = NoiseTotals::default();
        let (before, after) = (counters(0.0, 1.0, 0.0, 10), counters(5.0, 3.0, 9.0, 14));
        totals.add(&before, &after, &[0, 1], 1);
        totals.add(&before, &after, &[0, 1], 1);
        let programs: Vec<_> = totals.programs.iter().collect();
        assert_eq!(programs.len(), 1, "{programs:?}");
        let (key, used) = programs[0];
        assert_eq!((key.pid, key.name.as_str()), (7, "busy"));
        assert_eq!((used.seconds, used.turns), (6.0, 6000));
        assert_eq!(used.cpus, [0, 1].into());
        assert_eq!(
            (totals.interrupts["9"].count, &totals.interrupts["9"].cpus),
            (8, &[0].into())
        );
    }

    #[test]
    fn what_began_and_ended_between_is_said_of_its_parent_once() {
        let parent = |of_children| ThreadUse {
            of_children,
            ..thread("make", 0.1, 0)
        };
        // What the compiler and its shell used before comes into the account of `make` when they end, as does a thread's.
        let below = |parent, seconds, of_children| ThreadUse {
            parent,
            of_children,
            ..thread("cc1", seconds, 0)
        };
        let before = NoiseCounters {
            threads: [
                ((5, 5, 1), parent(1.0)),
                ((6, 6, 1), below(5, 0.25, 0.5)),
                ((7, 7, 1), below(6, 1.0, 0.0)),
                ((7, 8, 2), below(6, 0.25, 0.0)),
                // A thread of its own that ended isn't in it.
                ((5, 9, 2), below(1, 50.0, 0.0)),
            ]
            .into(),
            ..NoiseCounters::default()
        };
        let after = NoiseCounters {
            threads: [((5, 5, 1), parent(4.5))].into(),
            ..NoiseCounters::default()
        };
        let mut totals = NoiseTotals::default();
        totals.add(&before, &after, &[0], 99);
        let (key, used) = totals.programs.iter().next().unwrap();
        assert!(key.is_children && key.name == "make");
        // 3.5 s came into the account; 2 of them were used before.
        assert_eq!((used.seconds, used.cpus.is_empty()), (1.5, true));
    }
}
