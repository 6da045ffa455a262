//! Probes: one small operation at every interval, and how long each took.
//!
//! A probe has load of its own, unlike a sampler: it tells what a program beside the benchmark would wait for. Its files have no names,
//! so that nothing of them is left whatever ends it.

use std::{
    fs::File,
    io::{self, Read as _, Write as _},
    os::unix::fs::FileExt as _,
    thread,
    time::Duration,
};

use hdrhistogram::Histogram;
use rustix::{
    fs::{Advice, fadvise},
    mm::{MapFlags, ProtFlags, mmap_anonymous, munmap},
    process::{Pid, WaitOptions, waitpid},
};
use serde::Serialize;

use crate::end_signals::{EndSignals, monotonic_ns};

const BLOCK: usize = 4096;
/// What is read from is larger than what a disk reads ahead.
const READ_BLOCKS: u64 = 16 << 10;
const WRITTEN_BLOCKS: u64 = 1 << 10;
const MAPPED_PAGES: usize = 16;
/// Latencies keep three digits.
const DIGITS: u8 = 3;

/// The probes, by their names.
const PROBES: &[(&str, Prepare)] = &[
    ("probe-fsync", fsync),
    ("probe-read", read),
    ("probe-write", write),
    ("probe-mmap", map),
    ("probe-fork", fork),
    ("probe-wakeup", wakeup),
    ("probe-timer", || {
        Ok(Box::new(|due_ns| Ok(monotonic_ns() - due_ns)))
    }),
];

/// Does it once, and says how long it took in nanoseconds. It is given the instant for which it was due.
type Operation = Box<dyn FnMut(u64) -> io::Result<u64>>;

/// Makes what the operation needs.
type Prepare = fn() -> io::Result<Operation>;

/// What a probe has found: times in seconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProbeReport {
    /// How many operations there were.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// Half of them took at most that long.
    pub p50: f64,
    /// 90 of 100.
    pub p90: f64,
    /// 99 of 100.
    pub p99: f64,
    /// 999 of 1000.
    pub p99_9: f64,
    /// The longest.
    pub max: f64,
    /// All of them: a time in nanoseconds, which is exact to three digits, and how many took that long.
    pub histogram: Vec<(u64, u64)>,
}

/// The names of all probes.
pub fn probe_names() -> impl Iterator<Item = &'static str> {
    PROBES.iter().map(|(name, _)| *name)
}

/// Probes now and at every interval from now on, until a signal ends it or it was done `count` times. `ready` is called as soon as
/// everything is prepared.
///
/// # Errors
/// The operation fails, or there is no such probe.
pub fn probe(
    name: &str,
    interval: Duration,
    count: Option<u64>,
    signals: &EndSignals,
    ready: impl FnOnce(),
) -> io::Result<ProbeReport> {
    let prepare = PROBES.iter().find(|(known, _)| *known == name);
    let mut operation = prepare.ok_or(io::ErrorKind::NotFound)?.1()?;
    let mut times = Histogram::<u64>::new(DIGITS).map_err(io::Error::other)?;
    let interval = u64::try_from(interval.as_nanos())
        .unwrap_or(u64::MAX)
        .max(1);
    ready();
    let mut due = monotonic_ns();
    while times.len() < count.unwrap_or(u64::MAX) && !signals.wait_until(due) {
        let took = operation(due)?;
        times.record(took.max(1)).map_err(io::Error::other)?;
        // What it was too late for is left out.
        let passed = monotonic_ns().saturating_sub(due) / interval;
        due = due.saturating_add(interval.saturating_mul(passed + 1));
    }
    Ok(ProbeReport::new(&times))
}

impl ProbeReport {
    fn new(times: &Histogram<u64>) -> Self {
        let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
        let quantile = |quantile| seconds(times.value_at_quantile(quantile));
        Self {
            count: times.len(),
            mean: times.mean() / 1e9,
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            p99_9: quantile(0.999),
            max: seconds(times.max()),
            histogram: times
                .iter_recorded()
                .map(|bucket| (bucket.value_iterated_to(), bucket.count_at_value()))
                .collect(),
        }
    }
}

/// Times something.
fn timed(operation: impl FnOnce() -> io::Result<()>) -> io::Result<u64> {
    let began = monotonic_ns();
    operation()?;
    Ok(monotonic_ns() - began)
}

/// A block written and brought to the disk.
fn fsync() -> io::Result<Operation> {
    let file = tempfile::tempfile()?;
    Ok(Box::new(move |_| {
        timed(|| {
            file.write_all_at(&[1; BLOCK], 0)?;
            file.sync_all()
        })
    }))
}

/// A block read from the disk, past the page cache.
fn read() -> io::Result<Operation> {
    let mut file = tempfile::tempfile()?;
    for _ in 0..READ_BLOCKS {
        file.write_all(&[1; BLOCK])?;
    }
    file.sync_all()?;
    let mut state = 1_u64;
    Ok(Box::new(move |_| {
        fadvise(&file, 0, None, Advice::DontNeed)?;
        // Another block each time, so that nothing is read ahead (Knuth's linear congruential generator).
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let block = (state >> 33) % READ_BLOCKS;
        timed(|| file.read_exact_at(&mut [0; BLOCK], block * BLOCK as u64))
    }))
}

/// A block written into the page cache.
fn write() -> io::Result<Operation> {
    let file = tempfile::tempfile()?;
    let mut block = 0;
    Ok(Box::new(move |_| {
        block = (block + 1) % WRITTEN_BLOCKS;
        timed(|| file.write_all_at(&[1; BLOCK], block * BLOCK as u64))
    }))
}

/// Some pages mapped, touched and unmapped.
fn map() -> io::Result<Operation> {
    let page = rustix::param::page_size();
    Ok(Box::new(move |_| {
        timed(|| {
            let protection = ProtFlags::READ | ProtFlags::WRITE;
            // SAFETY: the mapping is new, is written within its bounds, and nobody has it after its end.
            unsafe {
                let length = MAPPED_PAGES * page;
                let at =
                    mmap_anonymous(std::ptr::null_mut(), length, protection, MapFlags::PRIVATE)?;
                for touched in 0..MAPPED_PAGES {
                    at.cast::<u8>().add(touched * page).write_volatile(1);
                }
                Ok(munmap(at, length)?)
            }
        })
    }))
}

/// A process that ends at once.
fn fork() -> io::Result<Operation> {
    Ok(Box::new(|_| {
        timed(|| {
            // SAFETY: the child does nothing but end.
            match unsafe { libc::fork() } {
                -1 => Err(io::Error::last_os_error()),
                0 => unsafe { libc::_exit(0) },
                child => Ok(waitpid(Pid::from_raw(child), WaitOptions::empty()).map(drop)?),
            }
        })
    }))
}

/// A thread that waits for a pipe: from the write until it runs.
fn wakeup() -> io::Result<Operation> {
    let pipe = || -> io::Result<(File, File)> {
        let (read, write) = rustix::pipe::pipe()?;
        Ok((read.into(), write.into()))
    };
    let ((mut woken, mut wakes), (mut answers, mut answer)) = (pipe()?, pipe()?);
    thread::spawn(move || {
        // Ends as the other side is closed.
        while woken.read_exact(&mut [0]).is_ok() {
            let now = monotonic_ns().to_ne_bytes();
            if answer.write_all(&now).is_err() {
                return;
            }
        }
    });
    Ok(Box::new(move |_| {
        let began = monotonic_ns();
        wakes.write_all(&[1])?;
        let mut woke = [0; 8];
        answers.read_exact(&mut woke)?;
        Ok(u64::from_ne_bytes(woke).saturating_sub(began))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_probe_reports_as_many_times_as_it_took() {
        for name in probe_names() {
            let signals = EndSignals::block();
            let millisecond = Duration::from_millis(1);
            let report = probe(name, millisecond, Some(20), &signals, || ()).unwrap();
            assert_eq!(report.count, 20, "{name}");
            let counted: u64 = report.histogram.iter().map(|(_, count)| count).sum();
            assert_eq!(counted, 20, "{name}");
            let ordered = [report.p50, report.p90, report.p99, report.p99_9, report.max];
            assert!(
                report.p50 > 0.0 && ordered.is_sorted(),
                "{name}: {ordered:?}"
            );
        }
    }

    #[test]
    fn times_are_reported_in_seconds() {
        let mut times = Histogram::new(DIGITS).unwrap();
        for milliseconds in 1..=1000 {
            times.record(milliseconds * 1_000_000).unwrap();
        }
        let report = ProbeReport::new(&times);
        let near = |value: f64, wanted: f64| (value / wanted - 1.0).abs() < 0.002;
        assert!(near(report.mean, 0.5005) && near(report.p50, 0.5) && near(report.p99, 0.99));
        assert!(
            near(report.p99_9, 0.999) && near(report.max, 1.0),
            "{report:?}"
        );
    }
}
