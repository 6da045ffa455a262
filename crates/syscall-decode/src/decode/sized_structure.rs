//! Structures that grew and say how long they are: by an argument, or by their first number.
//!
//! Bytes beyond the known fields are shown as bytes.

use super::netlink::Span;
use super::sink::{Bracket, ValueSink};
use super::{Walk, int_at, long_at};
use crate::SyscallOutcome;
use crate::format::{self, NamedNumber};
use crate::table::{DataDirection, LengthSource, StructureLayout, structure};

/// More is never looked at.
const PAGE: usize = 4096;

/// Of `sched_setattr`: what begins it, and what it was at first.
const SCHEDULE_LEAST: usize = 48;
const KEEP_POLICY: u64 = 8;
const KEEP_PARAMETERS: u64 = 16;

impl<'a, S: ValueSink> Walk<'a, S> {
    /// A structure of a length that is said elsewhere.
    pub(super) fn sized(
        &mut self,
        raw: u64,
        way: DataDirection,
        structure: &'static StructureLayout,
        least: usize,
        length: LengthSource,
    ) {
        let length = self.length(length);
        let failed = way == DataDirection::Out && self.failed();
        let known = length.min(structure.size);
        let bytes = if length < least || failed {
            None
        } else {
            self.read_in_time(raw, length.min(PAGE), way)
        };
        let Some(bytes) = bytes.filter(|bytes| bytes.len() >= known) else {
            return self.address(raw);
        };
        self.sink.begin(Bracket::Structure);
        self.fields(structure, &bytes[..known], 0, true);
        self.rest_in_hex(Span::new(raw, length, bytes), structure.size, false);
        self.sink.end(Bracket::Structure);
    }

    /// A structure that says first how long it is; of one that is shorter than it was at first, nothing else is looked at.
    pub(super) fn measured(&mut self, raw: u64, structure: &'static StructureLayout, least: usize) {
        // How long it is stands in it: a page at once, as far as it can be read.
        let all = self.read_in_time(raw, PAGE, DataDirection::In);
        let Some(all) = all.filter(|bytes| bytes.len() >= 4) else {
            return self.address(raw);
        };
        let length = int_at(all, 0) as usize;
        let known = length.min(structure.size);
        self.sink.begin(Bracket::Structure);
        if known >= least && all.len() >= known {
            self.fields(structure, &all[..known], 0, true);
            let bytes = &all[..all.len().min(length)];
            self.rest_in_hex(Span::new(raw, length, bytes), structure.size, false);
        } else {
            self.sink.field(true, structure.fields[0].name);
            self.sink.unsigned(length as u64);
            if known >= least {
                self.sink.nameless(false, "rest");
                self.sink.word(|out| out.extend_from_slice(b"???"));
            }
        }
        self.sink.end(Bracket::Structure);
    }

    /// How a thread is scheduled, with whether its children aren't.
    pub(super) fn policy(&mut self, value: u64) {
        const RESET: u64 = 0x4000_0000;
        const NEGATIVE: u64 = 0x8000_0000;
        let names = &crate::table::flags::SCHED;
        self.sink.constant(NamedNumber::Hex(value), |out| {
            let rest = value & !RESET;
            // A negative number is none of both.
            if rest == value || value & NEGATIVE != 0 {
                return format::one(out, value, names);
            }
            out.extend_from_slice(b"SCHED_RESET_ON_FORK|");
            match names.name(rest) {
                Some(name) => out.extend_from_slice(name.as_bytes()),
                None => format::hex(out, rest),
            }
        });
    }

    /// What is said of a thread's schedule.
    pub(super) fn schedule(&mut self, raw: u64, way: DataDirection) {
        let whole = &structure::SCHED_ATTR;
        let most = match way {
            DataDirection::Out => (self.size_of_argument(2) & 0xffff_ffff).min(whole.size),
            DataDirection::In => whole.size,
        };
        let least = if way == DataDirection::Out {
            most.max(SCHEDULE_LEAST)
        } else {
            4
        };
        let Some(bytes) = self
            .read(raw, most, way)
            .filter(|bytes| bytes.len() >= least)
        else {
            return self.address(raw);
        };
        let size = match (int_at(bytes, 0) as usize, way) {
            (0, DataDirection::In) => SCHEDULE_LEAST,
            (size, _) => size,
        };
        let known = size.min(whole.size);
        if way == DataDirection::In && size >= SCHEDULE_LEAST && bytes.len() < known {
            return self.address(raw);
        }
        let bytes = &bytes[..bytes.len().min(known.max(4))];
        self.sink.begin(Bracket::Structure);
        self.sink.field(true, "size");
        self.sink.unsigned(u64::from(int_at(bytes, 0)));
        if bytes.len() >= SCHEDULE_LEAST {
            self.schedule_fields(whole, bytes, way);
            if size > whole.size {
                self.sink.more(Bracket::Structure, false);
            }
        }
        self.sink.end(Bracket::Structure);
    }

    fn schedule_fields(
        &mut self,
        whole: &'static StructureLayout,
        bytes: &'a [u8],
        way: DataDirection,
    ) {
        let bits = long_at(bytes, 8);
        let keeps = |bit| way == DataDirection::In && bits & bit != 0;
        // The bounds of a thread's use of processors came together: neither is there without the other.
        let bytes = match bytes.len() < whole.size {
            true => &bytes[..SCHEDULE_LEAST],
            false => bytes,
        };
        for field in &whole.fields[1..] {
            let size = self.size(field.kind);
            let Some(there) = bytes.get(field.at..field.at + size) else {
                break;
            };
            let hidden = match field.name {
                "sched_policy" => {
                    let named = int_at(there, 0) as i32 >= 0;
                    named && (keeps(KEEP_POLICY) || keeps(KEEP_PARAMETERS))
                }
                "sched_nice" | "sched_priority" | "sched_runtime" | "sched_deadline"
                | "sched_period" => keeps(KEEP_PARAMETERS),
                _ => false,
            };
            if !hidden {
                self.sink.field(false, field.name);
                self.place(field.kind, there, 0);
            }
        }
    }

    /// How long the kernel would have had it, where it was too long or too short.
    pub(super) fn schedule_became(&mut self, raw: u64) {
        const TOO_BIG: i64 = 7;
        let too_big = matches!(self.call.outcome, SyscallOutcome::Returned { value, .. } if value == -TOO_BIG);
        if !too_big || self.read(raw, 4, DataDirection::In).is_none() {
            return;
        }
        if let Some(bytes) = self
            .read_always(raw, 4, DataDirection::Out)
            .filter(|bytes| bytes.len() == 4)
        {
            self.sink.became();
            self.sink.begin(Bracket::Structure);
            self.sink.field(true, "size");
            self.sink.unsigned(u64::from(int_at(bytes, 0)));
            self.sink.end(Bracket::Structure);
        }
    }
}
