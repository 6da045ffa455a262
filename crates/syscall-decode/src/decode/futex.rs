//! Futexes, whose arguments mean something else by operation.

use super::Walk;
use super::sink::ValueSink;
use crate::format::{self, NamedNumber};
use crate::table::{DataDirection, Names, flags, structure};

const PRIVATE: u64 = 128;
const REALTIME: u64 = 256;
/// What of the operation says which arguments there are.
const COMMAND: u64 = 127;

const DESCRIPTOR: u64 = 2;
const WAKE_OP: u64 = 5;
/// Operations that the clock may be said of.
const TIMED: [u64; 3] = [0, 9, 11];

impl<'a, S: ValueSink> Walk<'a, S> {
    fn futex_asked(&self) -> u64 {
        self.call.arguments[1] & COMMAND
    }

    /// Which arguments are shown, in order.
    pub fn futex_arguments(&self) -> &'static [usize] {
        match self.futex_asked() {
            0 => &[0, 1, 2, 3],
            1 | 2 => &[0, 1, 2],
            3 | 11 => &[0, 1, 2, 3, 4],
            6 | 13 => &[0, 1, 3],
            7 | 8 => &[0, 1],
            9 => &[0, 1, 2, 3, 5],
            10 => &[0, 1, 2, 5],
            _ => &[0, 1, 2, 3, 4, 5],
        }
    }

    pub fn futex_operation(&mut self, raw: u64) {
        let asked = self.futex_asked();
        let raw = raw & 0xffff_ffff;
        let timed = raw & REALTIME == 0 || TIMED.contains(&asked);
        let known = raw & !(COMMAND | PRIVATE | REALTIME) == 0 && timed;
        self.sink.constant(NamedNumber::Hex(raw), |out| {
            match flags::FUTEX.name(asked).filter(|_| known) {
                Some(name) => {
                    out.extend_from_slice(name.as_bytes());
                    if raw & PRIVATE != 0 {
                        let private: &[u8] = match asked {
                            DESCRIPTOR => b"|FUTEX_PRIVATE_FLAG",
                            _ => b"_PRIVATE",
                        };
                        out.extend_from_slice(private);
                    }
                    if raw & REALTIME != 0 {
                        out.extend_from_slice(b"|FUTEX_CLOCK_REALTIME");
                    }
                }
                None => {
                    format::hex(out, raw);
                    format::remark(out, "FUTEX_???");
                }
            }
        });
    }

    pub fn futex_value(&mut self, raw: u64) {
        self.sink.unsigned(raw & 0xffff_ffff);
    }

    /// A timeout, or for operations on two futexes how many are moved.
    pub fn futex_timeout(&mut self, raw: u64, number: usize) {
        match self.futex_asked() {
            0 | 6 | 9 | 11 | 13 => {
                if raw == 0 {
                    self.sink.null();
                } else if let Some(bytes) = self
                    .read(raw, 16, DataDirection::In)
                    .filter(|bytes| bytes.len() == 16)
                {
                    self.structure(&structure::TIMESPEC, bytes, number);
                } else {
                    self.sink.address(raw);
                }
            }
            3 | 4 | 5 | 12 => self.sink.unsigned(raw & 0xffff_ffff),
            _ => self.sink.hex(raw),
        }
    }

    pub fn futex_last(&mut self, raw: u64) {
        let value = raw as u32;
        match self.futex_asked() {
            9 | 10 if value == u32::MAX => self
                .sink
                .word(|out| out.extend_from_slice(b"FUTEX_BITSET_MATCH_ANY")),
            WAKE_OP => self.futex_wake_operation(value),
            4 | 12 => self.sink.unsigned(u64::from(value)),
            _ => self.sink.hex(u64::from(value)),
        }
    }

    /// What is done to the second futex and how it is compared, packed into one number.
    fn futex_wake_operation(&mut self, value: u32) {
        let (operation, compare) = (u64::from(value >> 28), u64::from((value >> 24) & 15));
        let (operand, with) = (u64::from((value >> 12) & 0xfff), u64::from(value & 0xfff));
        self.sink.word(|out| {
            if operation & 8 != 0 {
                out.extend_from_slice(b"FUTEX_OP_OPARG_SHIFT<<28|");
            }
            put_shifted(out, operation & 7, &flags::FUTEX_OP, b"<<28");
            out.push(b'|');
            format::hex(out, operand);
            out.extend_from_slice(b"<<12|");
            put_shifted(out, compare, &flags::FUTEX_CMP, b"<<24");
            out.push(b'|');
            format::hex(out, with);
        });
    }
}

/// A value that stands so far to the left, the remark on what has no name behind all of it.
fn put_shifted(out: &mut Vec<u8>, value: u64, names: &Names, shift: &[u8]) {
    match names.name(value) {
        Some(name) => {
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(shift);
        }
        None => {
            format::hex(out, value);
            out.extend_from_slice(shift);
            format::remark(out, names.unknown);
        }
    }
}
