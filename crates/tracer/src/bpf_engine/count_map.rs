//! Counts that the programs make in the kernel: calls, errors and times by number, one table a processor. Read after counting has
//! ended.
//!
//! A call that finds no room in the table comes through the ring instead.

use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;
use std::sync::atomic::Ordering;

use backsight_syscall_decode::Abi;

use super::capture_plan::ABIS;
use super::ring_buffer::SharedMemory;
use crate::summary::{CallStatistics, CallSummary};

const NUMBERS: usize = 512;
const FIGURES: usize = 2 * NUMBERS;
const FIGURES_BYTES: usize = 32;
const CELLS: usize = 1 << 14;
const CELL_BYTES: usize = 16;
/// The size of one processor's counts: `struct counts`.
const COUNTS: usize = FIGURES * FIGURES_BYTES + CELLS * CELL_BYTES;
/// Bits of a cell's key that say which bucket.
const BUCKET_BITS: u32 = 11;

/// The counts of all processors.
#[derive(Debug)]
pub(super) struct CountMap {
    memory: SharedMemory,
    processors: usize,
}

impl CountMap {
    /// Maps the map of so many processors.
    pub fn from_map(map: BorrowedFd<'_>, processors: u32) -> rustix::io::Result<Self> {
        let processors = processors as usize;
        let page = rustix::param::page_size();
        let length = (processors * COUNTS).next_multiple_of(page);
        Ok(Self {
            memory: SharedMemory::new(map, 0, length, false)?,
            processors,
        })
    }

    /// Adds them all to a summary; says how many calls there were.
    pub fn add_to(&self, summary: &mut CallSummary) -> u64 {
        let mut all = 0;
        for processor in 0..self.processors {
            for (row, figures) in self.of_processor(processor * COUNTS) {
                all += figures.calls;
                summary.merge(0, row.0, row.1, &figures);
            }
        }
        all
    }

    fn of_processor(&self, start: usize) -> BTreeMap<(Abi, u64), CallStatistics> {
        let word = |at: usize| self.memory.u64(at).load(Ordering::Relaxed);
        let mut counted = BTreeMap::new();
        for cell in 0..CELLS {
            let at = start + FIGURES * FIGURES_BYTES + cell * CELL_BYTES;
            let calls = word(at + 8);
            let Some(key) = self.memory.u32(at).load(Ordering::Relaxed).checked_sub(1) else {
                continue;
            };
            let row = (key >> BUCKET_BITS) as usize;
            let bucket = key as usize & ((1 << BUCKET_BITS) - 1);
            let figures = counted
                .entry((ABIS[(row / NUMBERS) & 1], (row % NUMBERS) as u64))
                .or_insert_with(|| {
                    let at = start + (row % FIGURES) * FIGURES_BYTES;
                    CallStatistics {
                        errors: word(at),
                        total: word(at + 8),
                        least: !word(at + 16),
                        most: word(at + 24),
                        ..CallStatistics::default()
                    }
                });
            figures.calls += calls;
            figures.times.fill(bucket, calls);
        }
        counted
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use crate::summary::bucket;

    #[test]
    fn the_programs_count_a_time_where_the_summary_does() {
        let folder = tempfile::tempdir().unwrap();
        let (source, program) = (
            folder.path().join("buckets.c"),
            folder.path().join("buckets"),
        );
        let text = "#include <stdio.h>\n#include \"bucket.h\"\nint main(void) { unsigned long long value; \
                    while (scanf(\"%llu\", &value) == 1) printf(\"%u\\n\", bucket(value)); return 0; }\n";
        std::fs::write(&source, text).unwrap();
        let built = Command::new("cc")
            .args(["-Wall", "-Wextra", "-Werror", "-I"])
            .args([concat!(env!("CARGO_MANIFEST_DIR"), "/bpf"), "-o"])
            .args([&program, &source])
            .status()
            .unwrap();
        assert!(built.success());
        // About every power of two, and all along in between.
        let around = (0..62).flat_map(|power| {
            let whole = 1_u64 << power;
            (0..64).flat_map(move |part| {
                let at = whole + (whole >> 6) * part;
                [at.saturating_sub(1), at, at + 1]
            })
        });
        let values: Vec<u64> = (0..5000).chain(around).collect();
        let lines: String = values.iter().map(|value| format!("{value}\n")).collect();
        let mut child = Command::new(&program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        let writes = std::thread::spawn(move || input.write_all(lines.as_bytes()).unwrap());
        let said = child.wait_with_output().unwrap();
        writes.join().unwrap();
        let said = String::from_utf8(said.stdout).unwrap();
        let said: Vec<usize> = said.lines().map(|line| line.parse().unwrap()).collect();
        let ours: Vec<usize> = values.iter().map(|value| bucket(*value)).collect();
        assert_eq!(said, ours);
    }
}
