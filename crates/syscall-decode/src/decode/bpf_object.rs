//! What `bpf` says of a map or a program: which of them a descriptor is says the file that it is of.

use super::Walk;
use super::sink::ValueSink;
use crate::format::{has_words, moment};
use crate::table::{IntegerWidth, bpf};

impl<S: ValueSink> Walk<'_, S> {
    /// What is said behind an address, where everything is asked for and the descriptor is one of a map or a program.
    pub(super) fn bpf_object(&mut self, raw: u64, number: usize) {
        if !self.style.verbose {
            return self.address(raw);
        }
        let descriptor = self.sibling(0, IntegerWidth::Four) as i32;
        let length = self.sibling(4, IntegerWidth::Four) as usize;
        match self.anonymous_file(descriptor) {
            Some(b"bpf-map") => self.grown(raw, &bpf::MAP_OBJECT, length, number),
            Some(b"bpf-prog") => self.grown(raw, &bpf::PROGRAM_OBJECT, length, number),
            _ => self.address(raw),
        }
    }

    /// Nanoseconds since the machine was started, with the moment that they are, where it is known when that was.
    pub(super) fn since_start(&mut self, value: u64) {
        const SECOND: i128 = 1_000_000_000;
        self.sink.unsigned(value);
        let Some(started) = self.sink.machine_start() else {
            return;
        };
        let seconds = (i128::from(started) + i128::from(value)).div_euclid(SECOND);
        if let Some(seconds) = i64::try_from(seconds).ok().filter(|it| has_words(*it)) {
            self.sink.aside(|out| moment(out, seconds, 0, 0));
        }
    }
}
