//! What a thread and the kernel share for sequences of instructions that begin anew where they were interrupted: `rseq`.

use super::sink::{Bracket, ValueSink};
use super::{Walk, int_at, long_at, short_at};
use crate::format::NamedNumber;
use crate::table::structure::SEQUENCE;
use crate::table::{DataDirection, flags};

/// What every kernel that has the call takes.
const LEAST: usize = 32;
/// With the byte that the newest one reserves.
const KNOWN: usize = 33;

impl<'a, S: ValueSink> Walk<'a, S> {
    /// What is shared, of the length in the next argument.
    pub(super) fn restartable_sequences(&mut self, raw: u64) {
        let length = self.size_of_argument(1).min(KNOWN);
        let bytes = match length < LEAST {
            true => None,
            false => self.read(raw, length, DataDirection::In),
        };
        let Some(bytes) = bytes.filter(|bytes| bytes.len() == length) else {
            return self.address(raw);
        };
        self.sink.begin(Bracket::Structure);
        self.sink.field(true, "cpu_id_start");
        self.processor_or_state(int_at(bytes, 0));
        self.sink.field(false, "cpu_id");
        self.processor_or_state(int_at(bytes, 4));
        self.sink.field(false, "rseq_cs");
        self.sequence(long_at(bytes, 8));
        self.sink.field(false, "flags");
        self.flags(u64::from(int_at(bytes, 16)), &flags::RSEQ_SEQUENCE);
        self.sink.field(false, "node_id");
        self.sink.unsigned(u64::from(int_at(bytes, 20)));
        self.sink.field(false, "mm_cid");
        self.sink.unsigned(u64::from(int_at(bytes, 24)));
        self.sink.field(false, "slice_ctrl");
        self.sink.begin(Bracket::Structure);
        self.sink.field(true, "request");
        self.sink.unsigned(u64::from(bytes[28]));
        self.sink.field(false, "granted");
        self.sink.unsigned(u64::from(bytes[29]));
        self.sink.field(false, "__reserved");
        self.sink.hex(u64::from(short_at(bytes, 30)));
        self.sink.end(Bracket::Structure);
        self.sink.field(false, "__reserved");
        self.sink
            .hex(bytes.get(LEAST).map_or(0, |byte| u64::from(*byte)));
        self.sink.end(Bracket::Structure);
    }

    /// A processor's number, or why there is none.
    fn processor_or_state(&mut self, number: u32) {
        let value = i64::from(number as i32);
        match flags::RSEQ_PROCESSOR.name(value as u64) {
            Some(name) => self.sink.constant(NamedNumber::Signed(value), |out| {
                out.extend_from_slice(name.as_bytes())
            }),
            None => self.sink.unsigned(u64::from(number)),
        }
    }

    /// The sequence that the thread is in, with where it is described.
    fn sequence(&mut self, raw: u64) {
        let bytes = match raw {
            0 => None,
            _ => self.read(raw, SEQUENCE.size, DataDirection::In),
        };
        match bytes.filter(|bytes| bytes.len() == SEQUENCE.size) {
            Some(bytes) => {
                self.structure(&SEQUENCE, bytes, 0);
                self.sink.aside(|out| crate::format::hex(out, raw));
            }
            None => self.address(raw),
        }
    }
}
