//! Moments, times of files, clocks, sleeps and timers.

use super::sink::{Bracket, ValueSink};
use super::{Walk, int_at, long_at};
use crate::format::{has_words, moment};
use crate::table::{DataDirection, flags};

const NOW: u64 = 0x3fff_ffff;
const OMIT: u64 = 0x3fff_fffe;

impl<'a, S: ValueSink> Walk<'a, S> {
    /// Seconds since 1970, with the moment in words behind them.
    pub fn moment_in_words(&mut self, seconds: i64, fraction: u64, digits: usize) {
        if seconds == 0 && fraction == 0 {
            self.sink.signed(0);
            return;
        }
        if !has_words(seconds) {
            return self.sink.signed(seconds);
        }
        self.sink
            .remarked(seconds, |out| moment(out, seconds, fraction, digits));
    }

    /// The two times of `utimensat`.
    pub fn times(&mut self, raw: u64) {
        if raw == 0 {
            self.sink.null();
            return;
        }
        let Some(bytes) = self
            .read(raw, 32, DataDirection::In)
            .filter(|bytes| bytes.len() == 32)
        else {
            self.address(raw);
            return;
        };
        self.sink.begin(Bracket::Array);
        for (index, time) in bytes.chunks_exact(16).enumerate() {
            self.sink.item(index == 0);
            let (seconds, nanoseconds) = (long_at(time, 0) as i64, long_at(time, 8));
            match nanoseconds {
                NOW | OMIT => {
                    let name: &[u8] = if nanoseconds == NOW {
                        b"UTIME_NOW"
                    } else {
                        b"UTIME_OMIT"
                    };
                    self.sink.named(
                        |sink| seconds_and(sink, seconds, nanoseconds, "tv_nsec"),
                        |out| out.extend_from_slice(name),
                    );
                }
                _ => self.dated(seconds, nanoseconds, "tv_nsec", 9),
            }
        }
        self.sink.end(Bracket::Array);
    }

    /// A `timeval` that says a moment.
    pub fn timeval_moment(&mut self, bytes: &[u8]) {
        self.dated(long_at(bytes, 0) as i64, long_at(bytes, 8), "tv_usec", 6);
    }

    fn dated(&mut self, seconds: i64, fraction: u64, name: &str, digits: usize) {
        seconds_and(self.sink, seconds, fraction, name);
        let whole = 10_u64.pow(digits as u32);
        // Further away than years are counted.
        const FARTHEST: u64 = (i32::MAX as u64) * 31_556_952;
        let near = seconds.unsigned_abs() < FARTHEST;
        if (seconds != 0 || fraction != 0) && fraction < whole && near {
            self.sink
                .aside(|out| moment(out, seconds, fraction, digits));
        }
    }

    /// What is left of a sleep: said only when a signal ended it.
    pub fn remainder(&mut self, raw: u64, _number: usize) {
        let interrupted = matches!(
            self.call.outcome,
            crate::SyscallOutcome::Returned {
                value: -4 | -516,
                ..
            }
        );
        if raw == 0 {
            self.sink.null();
        } else if interrupted
            && let Some(bytes) = self
                .read_always(raw, 16, DataDirection::Out)
                .filter(|bytes| bytes.len() == 16)
        {
            self.structure(&crate::table::structure::TIMESPEC, bytes, 0);
        } else {
            self.sink.address(raw);
        }
    }

    /// Whose events a timer raises.
    pub fn signal_event(&mut self, raw: u64) {
        if raw == 0 {
            self.sink.null();
            return;
        }
        let Some(bytes) = self
            .read(raw, 32, DataDirection::In)
            .filter(|bytes| bytes.len() == 32)
        else {
            self.address(raw);
            return;
        };
        self.sink.begin(Bracket::Structure);
        let how = int_at(bytes, 12);
        let value = long_at(bytes, 0);
        if value != 0 {
            self.sink.field(true, "sigev_value");
            self.sigval(value);
        }
        self.sink.field(value == 0, "sigev_signo");
        let signal = int_at(bytes, 8) as i32;
        // Without a signal it is nothing but a number.
        if matches!(how, 0 | 2 | 4) {
            self.signal_number(signal)
        } else {
            self.sink.unsigned(u64::from(signal.cast_unsigned()))
        }
        self.sink.field(false, "sigev_notify");
        self.one(u64::from(how), &flags::SIGEV);
        if how == 4 {
            self.sink.field(false, "sigev_notify_thread_id");
            self.sink.signed(i64::from(int_at(bytes, 16) as i32));
        } else if how == 2 {
            self.sink.field(false, "sigev_notify_function");
            self.address(long_at(bytes, 16));
            self.sink.field(false, "sigev_notify_attributes");
            self.address(long_at(bytes, 24));
        }
        self.sink.end(Bracket::Structure);
    }

    /// A value that goes with a signal, as number and as pointer.
    fn sigval(&mut self, value: u64) {
        self.sink.begin(Bracket::Structure);
        self.sink.field(true, "sival_int");
        self.sink.signed(i64::from(value as i32));
        self.sink.field(false, "sival_ptr");
        self.address(value);
        self.sink.end(Bracket::Structure);
    }
}

fn seconds_and<S: ValueSink>(sink: &mut S, seconds: i64, fraction: u64, name: &str) {
    sink.begin(Bracket::Structure);
    sink.field(true, "tv_sec");
    sink.signed(seconds);
    sink.field(false, name);
    sink.unsigned(fraction);
    sink.end(Bracket::Structure);
}
