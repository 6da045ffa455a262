//! The table of samplers, and taking samples by one of them.

use rustix::{
    fs::Timespec,
    thread::clock_nanosleep_absolute,
    time::{ClockId, clock_gettime},
};
use serde::Serialize;
use serde_json::{Map, Value};
use std::{
    fs,
    io::{self, Write},
    time::Duration,
};

use crate::shape::Shape;

/// A file of /proc and its shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Source {
    path: &'static str,
    shape: Shape,
}

const fn file(path: &'static str, shape: Shape) -> Source {
    Source { path, shape }
}

/// What samples some files of /proc.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sampler {
    /// Its name: that of the monitor which is this sampler.
    pub name: &'static str,
    sources: &'static [Source],
}

/// Every sampler.
const SAMPLERS: &[Sampler] = &[
    Sampler {
        name: "proc-stat",
        sources: &[
            file("/proc/stat", Shape::Stat),
            file("/proc/loadavg", Shape::Load),
        ],
    },
    Sampler {
        name: "proc-meminfo",
        sources: &[file("/proc/meminfo", Shape::Pairs)],
    },
    Sampler {
        name: "proc-vmstat",
        sources: &[file("/proc/vmstat", Shape::Pairs)],
    },
    Sampler {
        name: "proc-net",
        sources: &[
            file("/proc/net/dev", Shape::Interfaces),
            file("/proc/net/snmp", Shape::Protocols),
            file("/proc/net/netstat", Shape::Protocols),
            file("/proc/net/softnet_stat", Shape::Softnet),
        ],
    },
    Sampler {
        name: "proc-interrupts",
        sources: &[
            file("/proc/interrupts", Shape::PerProcessor),
            file("/proc/softirqs", Shape::PerProcessor),
        ],
    },
    Sampler {
        name: "proc-diskstats",
        sources: &[file("/proc/diskstats", Shape::Disks)],
    },
    Sampler {
        name: "proc-pressure",
        sources: &[
            file("/proc/pressure/cpu", Shape::Pressure("cpu")),
            file("/proc/pressure/memory", Shape::Pressure("memory")),
            file("/proc/pressure/io", Shape::Pressure("io")),
        ],
    },
];

/// Every sampler there is.
#[must_use]
pub fn samplers() -> &'static [Sampler] {
    SAMPLERS
}

/// The sampler of this name, if there is one.
#[must_use]
pub fn sampler(name: &str) -> Option<&'static Sampler> {
    SAMPLERS.iter().find(|sampler| sampler.name == name)
}

/// What a sampler's files said at one instant.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sample {
    /// When reading them began: `CLOCK_MONOTONIC` of the machine, in nanoseconds.
    pub at_ns: u64,
    /// Names and numbers, in the order of the files.
    pub values: Map<String, Value>,
}

/// A file that can't be read.
#[derive(Debug, thiserror::Error)]
#[error("can't read {path}: {cause}: this kernel doesn't have it, or doesn't show it here")]
pub struct SamplerError {
    /// Which.
    pub path: &'static str,
    /// What the system said.
    pub cause: io::Error,
}

impl Sampler {
    /// What its files say now.
    ///
    /// # Errors
    /// One of them can't be read.
    pub fn sample(&self) -> Result<Sample, SamplerError> {
        let at_ns = nanoseconds(clock_gettime(ClockId::Monotonic));
        let mut values = Map::new();
        for Source { path, shape } in self.sources {
            let bytes = fs::read(path).map_err(|cause| SamplerError { path, cause })?;
            shape.read(&String::from_utf8_lossy(&bytes), &mut values);
        }
        Ok(Sample { at_ns, values })
    }
}

/// Why recording has ended.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// A file can't be read.
    #[error(transparent)]
    SamplerError(#[from] SamplerError),
    /// What was sampled can't be written.
    #[error("can't write a sample: {0}")]
    Unwritten(#[from] io::Error),
}

/// Takes a sample now and then one at every interval from now on, each a line of JSON, written whole before the next:
/// `count` of them, or until it is killed. An instant that it was too late for is left out.
///
/// # Errors
/// A file can't be read, or the sample not written.
pub fn record(
    sampler: &Sampler,
    interval: Duration,
    count: Option<u64>,
    out: &mut impl Write,
) -> Result<(), RecordError> {
    let interval = u64::try_from(interval.as_nanos())
        .unwrap_or(u64::MAX)
        .max(1);
    let mut due = nanoseconds(clock_gettime(ClockId::Monotonic));
    let mut taken = 0;
    while count.is_none_or(|count| taken < count) {
        if taken > 0 {
            let now = nanoseconds(clock_gettime(ClockId::Monotonic));
            due = next(due, interval, now);
            sleep_until(due);
        }
        let sample = sampler.sample()?;
        let mut line = serde_json::to_vec(&sample).map_err(io::Error::from)?;
        line.push(b'\n');
        out.write_all(&line)?;
        out.flush()?;
        taken += 1;
    }
    Ok(())
}

/// The first instant of the grid through `due` after `now`.
fn next(due: u64, interval: u64, now: u64) -> u64 {
    let passed = now.saturating_sub(due) / interval;
    due.saturating_add(interval.saturating_mul(passed.saturating_add(1)))
}

fn sleep_until(due: u64) {
    let until = Timespec {
        tv_sec: i64::try_from(due / 1_000_000_000).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(due % 1_000_000_000).unwrap_or(0),
    };
    // A signal that doesn't end us makes it sleep on.
    while let Err(rustix::io::Errno::INTR) = clock_nanosleep_absolute(ClockId::Monotonic, &until) {}
}

fn nanoseconds(at: Timespec) -> u64 {
    let seconds = u64::try_from(at.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(at.tv_nsec).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_is_a_line_a_sample_in_the_order_of_time() {
        let sampler = sampler("proc-stat").unwrap();
        let mut out = Vec::new();
        record(sampler, Duration::from_millis(1), Some(3), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines.len(), 3);
        assert!(lines.is_sorted_by_key(|line| line["at_ns"].as_u64().unwrap()));
        assert!(lines[0]["values"]["cpu.user"].is_u64());
        assert!(lines[0]["values"]["load.1min"].is_number());
    }

    #[test]
    fn a_reader_that_has_gone_ends_the_recording() {
        struct Gone;
        impl Write for Gone {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let sampler = sampler("proc-meminfo").unwrap();
        let ended = record(sampler, Duration::from_secs(3600), None, &mut Gone);
        assert!(matches!(ended, Err(RecordError::Unwritten(_))));
    }

    #[test]
    fn instants_that_passed_are_left_out_and_the_grid_stays() {
        assert_eq!(next(1000, 100, 1010), 1100);
        assert_eq!(next(1000, 100, 1350), 1400);
        assert_eq!(next(1000, 100, 1400), 1500);
    }

    #[test]
    fn a_file_that_this_kernel_lacks_is_named() {
        const MISSING: Sampler = Sampler {
            name: "missing",
            sources: &[file("/proc/no-such-file", Shape::Pairs)],
        };
        let fault = MISSING.sample().unwrap_err().to_string();
        assert!(fault.contains("/proc/no-such-file"), "{fault}");
    }
}
