//! How long it takes until what was written is on the disk, where the files of trials are.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use backsight_model::Measure;
use rustix::fs::statfs;

use super::disk_writers::{DiskWriters, WriteCounters};
use super::{StopFlag, TimesOfTurn, TurnMeasure, measured_times, not_measured, numbers};

/// Bytes that are written before each fsync.
const BLOCK: [u8; 4096] = [0xb5; 4096];
/// Parts of a turn, each with a median of its own, and fsyncs in each at least.
const PARTS: u32 = 3;
const LEAST: usize = 3;
/// Magic numbers of file systems in memory (`TMPFS_MAGIC`, `RAMFS_MAGIC`; statfs(2)).
const IN_MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58f6];

/// The measure.
pub(super) struct Fsync {
    path: PathBuf,
    /// Each fsync.
    turns: Vec<TimesOfTurn>,
    fault: Option<String>,
    /// Who else wrote meanwhile.
    pub(super) writers: DiskWriters,
}

impl Fsync {
    pub(super) fn new(folder: &Path) -> Self {
        let in_memory = statfs(folder).is_ok_and(|on| {
            let magic = on.f_type as u64 & 0xffff_ffff;
            IN_MEMORY.contains(&magic)
        });
        let fault = format!(
            "{} is in memory: nothing is written to a disk",
            folder.display()
        );
        Self {
            path: folder.join("self-test"),
            turns: Vec::new(),
            fault: in_memory.then_some(fault),
            writers: DiskWriters::default(),
        }
    }

    fn write(&mut self, length: Duration, stop: &StopFlag) -> io::Result<()> {
        let options = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .clone();
        let file = options.open(&self.path)?;
        let mut turn = TimesOfTurn::default();
        for _ in 0..PARTS {
            let part = fsyncs(&file, length / PARTS, stop)?;
            turn.medians.extend(numbers::median(&part));
            turn.times.extend(part);
        }
        self.writers.own += (turn.times.len() * BLOCK.len()) as u64;
        self.turns.push(turn);
        Ok(())
    }
}

fn fsyncs(file: &File, length: Duration, stop: &StopFlag) -> io::Result<Vec<f64>> {
    let mut times = Vec::new();
    let begun = Instant::now();
    while !stop.is_set() && (begun.elapsed() < length || times.len() < LEAST) {
        file.write_all_at(&BLOCK, 0)?;
        let begun = Instant::now();
        file.sync_all()?;
        times.push(begun.elapsed().as_secs_f64());
    }
    Ok(times)
}

impl TurnMeasure for Fsync {
    fn share(&self) -> f64 {
        0.1
    }

    fn take_turn(&mut self, length: Duration, stop: &StopFlag) {
        if self.fault.is_none() {
            let before = WriteCounters::read();
            let written = self.write(length, stop);
            let own = std::process::id().cast_signed();
            self.writers.add(&before, &WriteCounters::read(), own);
            self.fault = written.err().map(|error| error.to_string());
            // The agent removes its folder, whatever is in it.
            let _with_the_folder = fs::remove_file(&self.path);
        }
    }

    fn finish(self: Box<Self>) -> Measure {
        const NAME: &str = "fsync";
        if let Some(fault) = &self.fault {
            return not_measured(NAME, fault.clone());
        }
        measured_times(NAME, &self.turns)
            .unwrap_or_else(|| not_measured(NAME, "too few were made in the time"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_gone_is_said_and_is_no_pass() {
        let mut fsync = Box::new(Fsync::new(Path::new("/nonexistent")));
        fsync.take_turn(Duration::from_millis(1), &StopFlag::default());
        let measure = (fsync as Box<dyn TurnMeasure>).finish();
        let backsight_model::MeasureOutcome::NotMeasured(why) = &measure.outcome else {
            panic!("{measure:?}");
        };
        assert!(why.contains("No such file"), "{why}");
    }

    #[test]
    fn parts_have_medians_and_no_file_stays() {
        let folder = tempfile::tempdir().unwrap();
        let mut fsync = Fsync::new(folder.path());
        fsync.fault = None;
        fsync.take_turn(Duration::ZERO, &StopFlag::default());
        assert_eq!(fsync.turns[0].medians.len(), PARTS as usize);
        assert_eq!(fsync.turns[0].times.len(), PARTS as usize * LEAST);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
