//! Who else wrote to disks while fsyncs were timed: what the kernel counts of each process's writes (`write_bytes` in proc_pid_io(5)).
//!
//! A program that writes takes little time of processors, so that it isn't among those that are seen by it. Which disk it was isn't
//! counted, and of other users' programs only root can read it.

use std::collections::{BTreeMap, HashMap};
use std::fs;

use backsight_model::{NoiseKind, NoiseSource};
use backsight_platform::stat_fields;

use super::attribution::{LEAST, service, source};
use super::noise::nearest_living;
use crate::machine_files::MachineFiles;

/// Most programs that are named.
const MOST: usize = 4;

/// What a process has had written, its children that ended included.
#[derive(Debug, Clone, PartialEq)]
struct ProcessWrites {
    name: String,
    parent: i32,
    started: u64,
    bytes: u64,
}

/// What each process has had written at an instant.
#[derive(Debug, Clone, Default)]
pub(super) struct WriteCounters(HashMap<i32, ProcessWrites>);

impl WriteCounters {
    /// Reads them now; of the processes that may be read.
    pub(super) fn read() -> Self {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let read = |pid: i32| {
            let text = |file: &str| {
                let bytes = fs::read(format!("/proc/{pid}/{file}")).ok()?;
                Some(String::from_utf8_lossy(&bytes).into_owned())
            };
            let stat = text("stat")?;
            let (_, name, fields) = stat_fields(&stat)?;
            let written = ProcessWrites {
                name: name.to_owned(),
                parent: fields.get(1)?.parse().ok()?,
                started: fields.get(19)?.parse().ok()?,
                bytes: written_bytes(&text("io")?)?,
            };
            Some((pid, written))
        };
        Self(pids.filter_map(read).collect())
    }
}

/// The number behind `write_bytes:`.
fn written_bytes(io: &str) -> Option<u64> {
    let line = io
        .lines()
        .find_map(|line| line.strip_prefix("write_bytes:"))?;
    line.trim().parse().ok()
}

/// What a program's processes had written.
#[derive(Debug, Clone, Default, PartialEq)]
struct ProgramWrites {
    bytes: u64,
    /// The process that wrote most, and how much.
    busiest: (i32, u64),
}

/// What was written while fsyncs were timed.
#[derive(Debug, Clone, Default)]
pub(super) struct DiskWriters {
    programs: BTreeMap<String, ProgramWrites>,
    /// What the test itself wrote, in bytes.
    pub(super) own: u64,
}

impl DiskWriters {
    /// Adds what was written between two readings by others than this process.
    pub(super) fn add(&mut self, before: &WriteCounters, after: &WriteCounters, own: i32) {
        // What processes that ended had before is in the account of an ancestor now.
        let processes: HashMap<i32, (u64, i32)> = before
            .0
            .iter()
            .map(|(pid, it)| (*pid, (it.started, it.parent)))
            .collect();
        let lives = |pid: i32| {
            let (was, is) = (before.0.get(&pid), after.0.get(&pid));
            was.zip(is)
                .is_some_and(|(was, is)| was.started == is.started)
        };
        let mut inherited: HashMap<i32, u64> = HashMap::new();
        for (_, ended) in before.0.iter().filter(|(pid, _)| !lives(**pid)) {
            let heir = nearest_living(&processes, lives, ended.parent);
            *inherited.entry(heir).or_default() += ended.bytes;
        }
        for (pid, now) in after.0.iter().filter(|(pid, _)| **pid != own) {
            let earlier = before.0.get(pid).filter(|_| lives(*pid));
            let earlier = earlier.map_or(0, |it| it.bytes) + inherited.get(pid).unwrap_or(&0);
            let bytes = now.bytes.saturating_sub(earlier);
            if bytes > 0 {
                let program = self.programs.entry(now.name.clone()).or_default();
                program.bytes += bytes;
                if bytes > program.busiest.1 {
                    program.busiest = (*pid, bytes);
                }
            }
        }
    }

    /// The programs that wrote a share of all that was written, the largest first.
    pub(super) fn sources(&self, machine: &MachineFiles) -> Vec<NoiseSource> {
        let others: u64 = self.programs.values().map(|it| it.bytes).sum();
        let least = LEAST * (others + self.own) as f64;
        let mut programs: Vec<_> = self.programs.iter().collect();
        programs.retain(|(_, writes)| writes.bytes as f64 >= least);
        programs.sort_by_key(|(_, writes)| std::cmp::Reverse(writes.bytes));
        programs.truncate(MOST);
        let named = programs.into_iter().map(|(name, writes)| NoiseSource {
            pid: Some(writes.busiest.0),
            service: service(machine, writes.busiest.0),
            bytes: Some(writes.bytes),
            ..source(NoiseKind::DiskWriter, name, &[].into())
        });
        named.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(processes: &[(i32, i32, &str, u64)]) -> WriteCounters {
        let all = processes.iter().map(|&(pid, parent, name, bytes)| {
            let written = ProcessWrites {
                name: name.to_owned(),
                parent,
                started: 7,
                bytes,
            };
            (pid, written)
        });
        WriteCounters(all.collect())
    }

    fn named(writers: &DiskWriters) -> Vec<(String, Option<i32>, Option<u64>)> {
        let nowhere = MachineFiles::new(std::path::Path::new("/nonexistent"));
        let sources = writers.sources(&nowhere).into_iter();
        sources.map(|it| (it.name, it.pid, it.bytes)).collect()
    }

    #[test]
    fn who_wrote_most_comes_first_and_what_is_little_beside_the_test_itself_is_not_named() {
        let mut writers = DiskWriters {
            own: 100_000,
            ..DiskWriters::default()
        };
        let before = counters(&[
            (1, 0, "self", 0),
            (5, 1, "db", 1000),
            (6, 1, "db", 0),
            (8, 1, "log", 0),
        ]);
        let after = counters(&[
            (1, 0, "self", 99_999),
            (5, 1, "db", 9000),
            (6, 1, "db", 90_000),
            (8, 1, "log", 500),
            (9, 1, "new", 4096),
        ]);
        writers.add(&before, &after, 1);
        assert_eq!(
            named(&writers),
            [
                ("db".into(), Some(6), Some(98_000)),
                ("new".into(), Some(9), Some(4096))
            ]
        );
    }

    #[test]
    fn what_children_had_written_before_they_ended_is_not_their_parents_work_of_now() {
        let before = counters(&[(5, 1, "make", 0), (6, 5, "sh", 1000), (7, 6, "cc", 500_000)]);
        let after = counters(&[(5, 1, "make", 511_000)]);
        let mut writers = DiskWriters::default();
        writers.add(&before, &after, 1);
        assert_eq!(named(&writers), [("make".into(), Some(5), Some(10_000))]);
    }

    #[test]
    fn the_kernels_count_of_this_process_is_read() {
        let counters = WriteCounters::read();
        let own = std::process::id().cast_signed();
        assert!(counters.0.contains_key(&own));
        assert_eq!(written_bytes("rchar: 3\nwrite_bytes: 4096\n"), Some(4096));
        assert_eq!(written_bytes("rchar: 3\n"), None);
    }
}
