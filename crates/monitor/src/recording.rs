//! Taking samples on a grid of the monotonic clock, and writing them as JSON lines.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::{
    io::{self, Write},
    time::Duration,
};

use crate::{
    end_signals::{EndSignals, monotonic_ns},
    sampler::{ProcessTree, Sampler, SamplerError, Scratch},
    samplers,
    series::Series,
};

/// A sample is written at the latest so long after it was taken.
const LATEST_WRITE_NS: u64 = 1_000_000_000;
/// What is written at once, unless time makes it less.
const WRITE_BYTES: usize = 64 << 10;

/// Why a recording has ended.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// No sampler goes on.
    #[error("{}", faults.join("\n"))]
    NoneLeft {
        /// What each said, its name before.
        faults: Vec<String>,
    },
    /// What was sampled can't be written.
    #[error("can't write a sample: {0}")]
    Unwritten(#[from] io::Error),
}

/// A sampler that takes part in a recording.
struct Running {
    place: usize,
    name: String,
    sampler: Box<dyn Sampler>,
    series: Series,
    /// The last sample: its numbers, and when it was.
    last: Vec<i64>,
    last_at_ns: u64,
}

/// Records what these samplers say: now, then at every interval from now on, and once more when a signal ends it; `count` times at
/// most. An instant that it was too late for is left out. `tree` are the processes for samplers of processes.
///
/// Files that this kernel lacks are told on standard error, if their sampler has others.
///
/// # Errors
/// All samplers have ended early, or the samples can't be written.
pub fn record(
    names: &[&str],
    tree: Option<&ProcessTree>,
    interval: Duration,
    count: Option<u64>,
    signals: &EndSignals,
    out: &mut impl Write,
) -> Result<(), RecordError> {
    allow_open_files();
    let mut recording = Recording::new(names, tree);
    let interval = u64::try_from(interval.as_nanos())
        .unwrap_or(u64::MAX)
        .max(1);
    let mut due = monotonic_ns();
    let mut oldest = due;
    let mut left = count.unwrap_or(u64::MAX);
    let mut ended = false;
    while left > 0 && !ended {
        recording.sample();
        left -= 1;
        due = next(due, interval, monotonic_ns());
        // Whoever started it waits for the first sample.
        let first = recording.written == 0;
        if first
            || recording.lines.len() >= WRITE_BYTES
            || due.saturating_sub(oldest) > LATEST_WRITE_NS
        {
            recording.write(out)?;
            oldest = due;
        }
        if left > 0 && signals.wait_until(due) {
            recording.sample();
            ended = true;
        }
    }
    recording.write(out)?;
    Ok(())
}

/// Lets this process have as many open files as it may: some of every thread that it watches, some of every processor.
fn allow_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let current = limit.maximum;
    // Where it isn't allowed, what can't be opened says so.
    let _ = setrlimit(Resource::Nofile, Rlimit { current, ..limit });
}

struct Recording {
    running: Vec<Running>,
    faults: Vec<String>,
    scratch: Scratch,
    lines: Vec<u8>,
    written: u64,
}

impl Recording {
    fn new(names: &[&str], tree: Option<&ProcessTree>) -> Self {
        let mut recording = Self {
            running: Vec::new(),
            faults: Vec::new(),
            scratch: Scratch::default(),
            lines: Vec::with_capacity(2 * WRITE_BYTES),
            written: 0,
        };
        for (place, name) in names.iter().enumerate() {
            match samplers::open(name, tree, &mut recording.scratch) {
                Ok(sampler) => recording.running.push(Running {
                    place,
                    name: (*name).to_owned(),
                    sampler,
                    series: Series::default(),
                    last: Vec::new(),
                    last_at_ns: 0,
                }),
                Err(error) => recording.note_fault(place, name, &error),
            }
            recording.say_notes(name);
        }
        recording
    }

    /// A sample of every sampler; those that can't go on are left out from now on.
    fn sample(&mut self) {
        let mut at = 0;
        while let Some(running) = self.running.get_mut(at) {
            match running.sample(&mut self.scratch, &mut self.lines) {
                Ok(()) => {
                    at += 1;
                    if !self.scratch.notes.is_empty() {
                        let name = self.running[at - 1].name.clone();
                        self.say_notes(&name);
                    }
                }
                Err(error) => {
                    let ended = self.running.remove(at);
                    self.note_fault(ended.place, &ended.name, &error);
                    self.say_notes(&ended.name);
                }
            }
        }
    }

    fn note_fault(&mut self, place: usize, name: &str, error: &SamplerError) {
        let fault = error.to_string();
        let name_json = json_string(name.as_bytes());
        let fault_json = json_string(fault.as_bytes());
        let line =
            format!("{{\"sampler\": {place}, \"name\": {name_json}, \"fault\": {fault_json}}}\n");
        self.lines.extend_from_slice(line.as_bytes());
        self.faults.push(format!("{name}: {fault}"));
    }

    fn say_notes(&mut self, name: &str) {
        for note in self.scratch.notes.drain(..) {
            eprintln!("{name}: {note}");
        }
    }

    /// Writes what there is: whole lines.
    fn write(&mut self, out: &mut impl Write) -> Result<(), RecordError> {
        out.write_all(&self.lines)?;
        out.flush()?;
        self.lines.clear();
        self.written += 1;
        if self.running.is_empty() {
            return Err(RecordError::NoneLeft {
                faults: std::mem::take(&mut self.faults),
            });
        }
        Ok(())
    }
}

impl Running {
    fn sample(&mut self, scratch: &mut Scratch, lines: &mut Vec<u8>) -> Result<(), SamplerError> {
        let at_ns = monotonic_ns();
        self.series.begin();
        self.sampler.sample(scratch, &mut self.series)?;
        let changed = self.series.end() || self.last_at_ns == 0;
        if changed {
            self.write_header(lines);
            self.last_at_ns = 0;
            self.last.clear();
            self.last.resize(self.series.values().len(), 0);
        }
        let mut digits = itoa::Buffer::new();
        lines.push(b'[');
        lines.extend_from_slice(digits.format(self.place).as_bytes());
        lines.push(b',');
        lines.extend_from_slice(digits.format(at_ns - self.last_at_ns).as_bytes());
        self.last_at_ns = at_ns;
        for (value, last) in self.series.values().iter().zip(&mut self.last) {
            let difference = value.wrapping_sub(*last);
            *last = *value;
            // Most numbers haven't changed.
            match difference {
                0 => lines.extend_from_slice(b",0"),
                _ => {
                    lines.push(b',');
                    lines.extend_from_slice(digits.format(difference).as_bytes());
                }
            }
        }
        lines.extend_from_slice(b"]\n");
        Ok(())
    }

    fn write_header(&self, lines: &mut Vec<u8>) {
        let names: Vec<String> = self.series.names().map(json_string).collect();
        let header = format!(
            "{{\"sampler\": {}, \"name\": {}, \"series\": [{}]}}\n",
            self.place,
            json_string(self.name.as_bytes()),
            names.join(", ")
        );
        lines.extend_from_slice(header.as_bytes());
    }
}

fn json_string(text: &[u8]) -> String {
    serde_json::Value::from(String::from_utf8_lossy(text)).to_string()
}

/// The first instant of the grid through `due` after `now`.
fn next(due: u64, interval: u64, now: u64) -> u64 {
    let passed = now.saturating_sub(due) / interval;
    due.saturating_add(interval.saturating_mul(passed.saturating_add(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    /// A sampler whose names and numbers a test gives.
    struct Given(Vec<Result<Vec<(&'static str, i64)>, SamplerError>>);

    impl Sampler for Given {
        fn sample(&mut self, _: &mut Scratch, series: &mut Series) -> Result<(), SamplerError> {
            for (name, value) in self.0.remove(0)? {
                series.push(&[name.as_bytes()], value);
            }
            Ok(())
        }
    }

    fn lines_of(samples: Vec<Result<Vec<(&'static str, i64)>, SamplerError>>) -> Vec<Value> {
        let mut recording = Recording::new(&[], None);
        let count = samples.len();
        recording.running.push(Running {
            place: 3,
            name: "given".into(),
            sampler: Box::new(Given(samples)),
            series: Series::default(),
            last: Vec::new(),
            last_at_ns: 0,
        });
        for _ in 0..count {
            recording.sample();
        }
        let text = String::from_utf8(recording.lines).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    #[test]
    fn samples_are_differences_until_the_names_change() {
        let lines = lines_of(vec![
            Ok(vec![("a", 5), ("b\"", -1)]),
            Ok(vec![("a", 8), ("b\"", -3)]),
            Ok(vec![("a", 9)]),
            Ok(vec![("a", i64::MIN)]),
        ]);
        let numbers = |at: usize| lines[at].as_array().unwrap()[2..].to_vec();
        assert_eq!(lines[0]["series"], serde_json::json!(["a", "b\""]));
        assert_eq!(lines[0]["sampler"], 3);
        assert_eq!(numbers(1), [5, -1]);
        assert_eq!(numbers(2), [3, -2]);
        assert_eq!(lines[3]["series"], serde_json::json!(["a"]));
        assert_eq!(numbers(4), [9]);
        // What doesn't fit wraps, so that adding with wrapping gives it back.
        assert_eq!(numbers(5), [i64::MIN.wrapping_sub(9)]);
        let at: Vec<i64> = [1, 2, 4, 5].map(|at| lines[at][1].as_i64().unwrap()).into();
        assert!(at[0] <= at[2] && at[1] < at[0] && at[3] < at[2], "{at:?}");
    }

    #[test]
    fn a_sampler_that_ends_says_why() {
        let fault = SamplerError::Missing("no \"paper\"".into());
        let lines = lines_of(vec![Ok(vec![("a", 1)]), Err(fault)]);
        assert_eq!(lines.len(), 3);
        let fault = serde_json::json!({"sampler": 3, "name": "given", "fault": "no \"paper\""});
        assert_eq!(lines[2], fault);
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
        let signals = EndSignals::block();
        let hour = Duration::from_secs(3600);
        let ended = record(&["memory"], None, hour, None, &signals, &mut Gone);
        assert!(matches!(ended, Err(RecordError::Unwritten(_))));
    }

    #[test]
    fn instants_that_passed_are_left_out_and_the_grid_stays() {
        assert_eq!(next(1000, 100, 1010), 1100);
        assert_eq!(next(1000, 100, 1350), 1400);
        assert_eq!(next(1000, 100, 1400), 1500);
    }
}
