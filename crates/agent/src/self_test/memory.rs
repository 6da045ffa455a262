//! Copies of a block of memory that is larger than the last cache: how fast, and how much that varies.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use backsight_model::Measure;

use super::numbers::Estimate;
use super::{StopFlag, TurnMeasure, cpus, measured, not_measured, numbers};
use crate::machine_files::MachineFiles;

/// The block, in sizes of the last cache, and its bounds in bytes.
const CACHES: u64 = 4;
const SMALLEST: u64 = 32 << 20;
const LARGEST: u64 = 512 << 20;
/// The part of the memory that is free that a block and its copy may take.
const PART: u64 = 4;

/// The measure.
pub(super) struct MemoryCopy {
    cpu: Option<u32>,
    /// Bytes of the block.
    size: Option<usize>,
    block: Vec<u8>,
    copy: Vec<u8>,
    /// Bytes per second of each copy, by turn.
    turns: Vec<Vec<f64>>,
}

impl MemoryCopy {
    pub(super) fn new(cpus: &[u32], sizes: &BTreeMap<String, u64>, machine: &MachineFiles) -> Self {
        let cache = ["cache.l3", "cache.l2"]
            .iter()
            .find_map(|it| sizes.get(*it));
        let size = size(cache.copied(), available(machine).unwrap_or_default());
        Self {
            cpu: cpus.first().copied(),
            size: size.and_then(|size| usize::try_from(size).ok()),
            block: Vec::new(),
            copy: Vec::new(),
            turns: Vec::new(),
        }
    }
}

/// Bytes of a block that no cache holds, with room for it and its copy; none where there is no such room.
fn size(cache: Option<u64>, available: u64) -> Option<u64> {
    let wanted = (cache.unwrap_or(SMALLEST / CACHES) * CACHES).clamp(SMALLEST, LARGEST);
    let room = available / PART / 2;
    let size = wanted.min(room);
    (size >= SMALLEST && cache.is_none_or(|cache| size >= 2 * cache)).then_some(size)
}

/// Bytes that programs can have without swapping.
fn available(machine: &MachineFiles) -> Option<u64> {
    let text = machine.text("proc/meminfo")?;
    let line = text
        .lines()
        .find_map(|it| it.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes * 1024)
}

impl TurnMeasure for MemoryCopy {
    fn share(&self) -> f64 {
        0.12
    }

    fn take_turn(&mut self, length: Duration, stop: &StopFlag) {
        let (Some(size), Some(cpu)) = (self.size, self.cpu) else {
            return;
        };
        if self.block.is_empty() {
            // Every page is written once: pages of zeros are one page.
            (self.block, self.copy) = (vec![1; size], vec![2; size]);
        }
        let (block, copy) = (&self.block, std::sync::Mutex::new(&mut self.copy));
        let speeds = cpus::on_one(cpu, |_| {
            let mut speeds = Vec::new();
            let Ok(mut copy) = copy.lock() else {
                return speeds;
            };
            let begun = Instant::now();
            while !stop.is_set() && (begun.elapsed() < length || speeds.len() < 3) {
                let begun = Instant::now();
                copy.copy_from_slice(black_box(block));
                black_box(&mut **copy);
                speeds.push(size as f64 / begun.elapsed().as_secs_f64());
            }
            speeds
        });
        self.turns.push(speeds.unwrap_or_default());
    }

    fn finish(self: Box<Self>) -> Measure {
        const NAME: &str = "memory";
        let spread = Estimate::of_turns(&self.turns, |turns| {
            numbers::spread(&turns.iter().copied().flatten().copied().collect::<Vec<_>>())
        });
        let (Some(median), Some(spread)) = (numbers::median(&self.turns.concat()), spread) else {
            return not_measured(
                NAME,
                "too little memory is free for a block larger than the last cache",
            );
        };
        measured(
            NAME,
            &[
                ("bandwidth", median.into(), "B/s"),
                ("spread", spread, "ratio"),
            ],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_is_larger_than_the_last_cache_and_leaves_memory_to_others() {
        const M: u64 = 1 << 20;
        for (cache, available, expected) in [
            (Some(32 * M), 16384 * M, Some(128 * M)),
            (Some(M), 16384 * M, Some(32 * M)),
            (Some(384 * M), 1 << 40, None),
            (Some(256 * M), 1 << 40, Some(512 * M)),
            (None, 16384 * M, Some(32 * M)),
            (Some(32 * M), 800 * M, Some(100 * M)),
            (Some(32 * M), 400 * M, None),
            (None, 100 * M, None),
        ] {
            assert_eq!(size(cache, available), expected, "{cache:?} {available}");
        }
    }
}
