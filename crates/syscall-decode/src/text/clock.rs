//! Times as text: the time of day before a line, how long after the line before, how long a call took.

use super::TextOptions;
use crate::format;

/// How the time of day is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimestampFormat {
    /// Seconds since 1970 instead of hours, minutes and seconds.
    pub epoch: bool,
    /// How exactly.
    pub precision: TimePrecision,
}

impl TimestampFormat {
    /// `13:51:09`
    pub const SECONDS: Self = Self {
        epoch: false,
        precision: TimePrecision::Seconds,
    };
    /// `13:51:09.800511`
    pub const MICROSECONDS: Self = Self {
        epoch: false,
        precision: TimePrecision::Micro,
    };
    /// `1795355469.800511`
    pub const EPOCH: Self = Self {
        epoch: true,
        precision: TimePrecision::Micro,
    };
}

/// What strace's `--absolute-timestamps=` says of the time of day: all of it, or a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TimestampWords {
    clock: Option<TimestampClock>,
    precision: Option<TimePrecision>,
}

/// The clock of a time before a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TimestampClock {
    None,
    Day,
    Epoch,
}

impl TimestampWords {
    /// What these say together; what is said later holds.
    #[must_use]
    pub fn then(self, later: Self) -> Self {
        Self {
            clock: later.clock.or(self.clock),
            precision: later.precision.or(self.precision),
        }
    }

    /// The format; nothing where no time is wanted.
    pub fn format(self) -> Option<TimestampFormat> {
        let clock = self.clock.unwrap_or(TimestampClock::Day);
        (clock != TimestampClock::None).then_some(TimestampFormat {
            epoch: clock == TimestampClock::Epoch,
            precision: self.precision.unwrap_or(TimePrecision::Seconds),
        })
    }
}

impl std::str::FromStr for TimestampWords {
    type Err = String;

    /// Words with commas between: `none`, `time`, `unix`, and the name of a precision.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = Self::default();
        for word in text.split(',').filter(|word| !word.is_empty()) {
            let (clock, precision) = match word.split_once(':') {
                Some(("format", name)) => (name, ""),
                Some(("precision", name)) => ("", name),
                _ => (word, word),
            };
            if let Some(precision) = TimePrecision::from_name(precision) {
                words.precision = Some(precision);
                continue;
            }
            words.clock = Some(match clock {
                "none" => TimestampClock::None,
                "time" => TimestampClock::Day,
                "unix" => TimestampClock::Epoch,
                _ => return Err(format!("no format of times is named `{word}`")),
            });
        }
        Ok(words)
    }
}

/// How exactly a time is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimePrecision {
    /// Whole seconds.
    Seconds,
    /// Three digits.
    Milli,
    /// Six digits.
    Micro,
    /// Nine digits.
    Nano,
}

impl TimePrecision {
    /// As strace names it: `s`, `ms`, `us`, `ns`.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "s" => Self::Seconds,
            "ms" => Self::Milli,
            "us" => Self::Micro,
            "ns" => Self::Nano,
            _ => return None,
        })
    }

    /// Writes the part of a second that so many nanoseconds are, with the point before it.
    fn fraction(self, out: &mut Vec<u8>, nanoseconds: u64) {
        let (unit, digits) = match self {
            Self::Seconds => return,
            Self::Milli => (1_000_000, 3),
            Self::Micro => (1000, 6),
            Self::Nano => (1, 9),
        };
        out.push(b'.');
        format::padded(out, nanoseconds / unit, digits);
    }
}

/// Writes what time stands before a line that begins at `at`, where the line before began at `last`.
pub(super) fn leader(options: &TextOptions, at: u64, last: Option<u64>, out: &mut Vec<u8>) {
    if let Some(time) = options.time {
        of_day(options, time, at, out);
        if options.since.is_none() {
            out.push(b' ');
        }
    }
    let Some(precision) = options.since else {
        return;
    };
    let (before, after): (&[u8], &[u8]) = if options.time.is_some() {
        (b" (+", b") ")
    } else {
        (b"", b" ")
    };
    let passed = at.saturating_sub(last.unwrap_or(at));
    out.extend_from_slice(before);
    let mut buffer = itoa::Buffer::new();
    let seconds = buffer.format(passed / 1_000_000_000).as_bytes();
    out.extend(std::iter::repeat_n(
        b' ',
        6_usize.saturating_sub(seconds.len()),
    ));
    out.extend_from_slice(seconds);
    precision.fraction(out, passed % 1_000_000_000);
    out.extend_from_slice(after);
}

fn of_day(options: &TextOptions, time: TimestampFormat, at: u64, out: &mut Vec<u8>) {
    let wall = i128::from(at) + i128::from(options.wall);
    let seconds = wall.div_euclid(1_000_000_000) as i64;
    if time.epoch {
        format::signed(out, seconds);
    } else {
        let local = (seconds + options.zone).rem_euclid(86_400) as u64;
        for (index, part) in [local / 3600, local / 60 % 60, local % 60]
            .into_iter()
            .enumerate()
        {
            if index > 0 {
                out.push(b':');
            }
            format::padded(out, part, 2);
        }
    }
    time.precision
        .fraction(out, wall.rem_euclid(1_000_000_000) as u64);
}

/// Writes how long a call took.
pub(super) fn took(precision: TimePrecision, nanoseconds: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(b" <");
    format::unsigned(out, nanoseconds / 1_000_000_000);
    precision.fraction(out, nanoseconds % 1_000_000_000);
    out.push(b'>');
}
