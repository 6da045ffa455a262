//! What a debugger asks about a thread that it has stopped: its registers, and what it stopped at.
//!
//! Registers are shown only of processors whose structures are known.

use super::sink::{Bracket, ValueSink};
use super::{Walk, int_at, long_at};
use crate::Abi;
use crate::format::{self, ConstantStyle, NamedNumber};
use crate::table::tracing::{FLOATING, GENERAL, STOPPED, USER};
use crate::table::{DataDirection, IntegerWidth, StructureLayout, ValueKind};

const VECTOR: usize = 16;
const WORD: usize = 8;

impl<'a, S: ValueSink> Walk<'a, S> {
    /// Where a part of what is seen of a thread begins, by the part that it lies in.
    pub(super) fn user_offset(&mut self, raw: u64) {
        let before = USER.list.iter().filter(|(_, at)| *at <= raw);
        let part = before.max_by_key(|(_, at)| *at);
        let last = USER.list.last().map_or(0, |(_, at)| *at);
        let part =
            part.filter(|(_, at)| self.call.abi == Abi::X86_64 && (*at == raw || *at != last));
        let Some((name, at)) = part else {
            return self.address(raw);
        };
        let write = |out: &mut Vec<u8>| {
            out.extend_from_slice(name.as_bytes());
            if raw != *at {
                out.push(b'+');
                format::unsigned(out, raw - at);
            }
        };
        match self.sink.constants() {
            ConstantStyle::Names => self.sink.word(write),
            ConstantStyle::Numbers => self.address(raw),
            ConstantStyle::Both => {
                self.address(raw);
                self.sink.aside(write);
            }
        }
    }

    fn layout(&self, floating: bool) -> Option<&'static StructureLayout> {
        let layout = if floating { &FLOATING } else { &GENERAL };
        (self.call.abi == Abi::X86_64).then_some(layout)
    }

    /// All registers.
    pub(super) fn registers(&mut self, raw: u64, way: DataDirection, floating: bool) {
        match self.layout(floating) {
            Some(layout) => self.registers_of(raw, layout.size, way, layout),
            None => self.address(raw),
        }
    }

    /// So many bytes of them.
    fn registers_of(
        &mut self,
        raw: u64,
        size: usize,
        way: DataDirection,
        layout: &'static StructureLayout,
    ) {
        let known = size.min(layout.size);
        let bytes = match size > 0 && size.is_multiple_of(WORD) {
            true => self.read(raw, known, way),
            false => None,
        };
        let Some(bytes) = bytes.filter(|bytes| bytes.len() >= known) else {
            return self.address(raw);
        };
        self.sink.begin(Bracket::Structure);
        for (index, field) in layout.fields.iter().enumerate() {
            let Some(rest) = bytes[..known]
                .get(field.at..)
                .filter(|rest| !rest.is_empty())
            else {
                break;
            };
            self.sink.field(index == 0, field.name);
            match field.kind {
                ValueKind::Array(inner, count) => {
                    let count = count.min(rest.len() / self.size(*inner));
                    let shown = self.allow(count);
                    self.in_place(*inner, rest, (count, shown), 3);
                }
                kind => self.place(kind, &rest[..rest.len().min(self.size(kind))], 3),
            }
        }
        if size > layout.size {
            self.sink.more(Bracket::Structure, false);
        }
        self.sink.end(Bracket::Structure);
    }

    /// A set of registers by a vector, as long as that was and became.
    pub(super) fn register_set(&mut self, raw: u64, way: DataDirection) {
        let whole = |bytes: &&[u8]| bytes.len() == VECTOR;
        let before = self.read(raw, VECTOR, DataDirection::In).filter(whole);
        let after = self
            .read_always(raw, VECTOR, DataDirection::Out)
            .filter(whole);
        let Some(before) = before else {
            return self.address(raw);
        };
        let now = match way {
            DataDirection::In => before,
            DataDirection::Out => after.unwrap_or(before),
        };
        let (base, length) = (long_at(now, 0), long_at(now, 8));
        self.sink.begin(Bracket::Structure);
        self.sink.field(true, "iov_base");
        let layout = match self.call.arguments[2] {
            1 => self.layout(false),
            2 => self.layout(true),
            _ => None,
        };
        match (layout, usize::try_from(length)) {
            (Some(layout), Ok(size)) => self.registers_of(base, size, way, layout),
            _ => self.address(base),
        }
        self.sink.field(false, "iov_len");
        let start = self.sink.begins();
        self.sink.unsigned(long_at(before, 8));
        let became = after.map(|after| long_at(after, 8));
        if let Some(became) = became.filter(|became| *became != long_at(before, 8)) {
            let middle = self.sink.turns();
            self.sink.unsigned(became);
            self.sink.turned(start, middle);
        }
        self.sink.end(Bracket::Structure);
    }

    /// At what a thread has stopped, as far as there was room for it.
    pub(super) fn stop_information(&mut self, raw: u64, way: DataDirection) {
        /// What is known of it, and the whole with what fills it up.
        const KNOWN: usize = 84;
        const WHOLE: usize = 88;
        const BEGINS: usize = 24;
        const NUMBERED: usize = 32;
        let room = self.size_of_argument(2);
        let size = match way {
            DataDirection::In => room.min(WHOLE),
            DataDirection::Out => usize::try_from(self.result())
                .unwrap_or(0)
                .min(room)
                .min(KNOWN),
        };
        let bytes = match size {
            0 => None,
            _ => self.read(raw, size, way),
        };
        let Some(bytes) = bytes.filter(|bytes| bytes.len() >= size) else {
            return self.address(raw);
        };
        self.sink.begin(Bracket::Structure);
        self.fields(&STOPPED, bytes, 3, true);
        if size >= NUMBERED {
            let rest = &bytes[BEGINS..];
            match bytes[0] {
                1 => self.stopped_at_entry("entry", rest, int_at(bytes, 4)),
                2 => self.stopped_at_exit(rest),
                3 => self.stopped_at_entry("seccomp", rest, int_at(bytes, 4)),
                _ => {}
            }
        }
        self.sink.end(Bracket::Structure);
    }

    fn stopped_at_entry(&mut self, name: &str, bytes: &'a [u8], arch: u32) {
        const ARGUMENTS: usize = 6;
        const LAST: usize = 56;
        self.sink.field(false, name);
        self.sink.begin(Bracket::Structure);
        self.sink.field(true, "nr");
        super::signal::call_name(self.sink, long_at(bytes, 0), arch);
        let count = (bytes.len() / WORD).saturating_sub(1).min(ARGUMENTS);
        if count > 0 {
            self.sink.field(false, "args");
            let kind = ValueKind::Hex(IntegerWidth::Eight);
            self.in_place(kind, &bytes[WORD..], (count, count), 3);
        }
        if name == "seccomp" && bytes.len() >= LAST + 4 {
            self.sink.field(false, "ret_data");
            self.sink.unsigned(u64::from(int_at(bytes, LAST)));
        }
        self.sink.end(Bracket::Structure);
    }

    fn stopped_at_exit(&mut self, bytes: &[u8]) {
        let value = long_at(bytes, 0).cast_signed();
        let failed = bytes.get(WORD).copied();
        self.sink.field(false, "exit");
        self.sink.begin(Bracket::Structure);
        self.sink.field(true, "rval");
        if failed.is_some_and(|failed| failed != 0) && (-4095..0).contains(&value) {
            self.sink.constant(NamedNumber::Signed(value), |out| {
                out.push(b'-');
                format::error_name(out, -value);
            });
        } else {
            self.sink.signed(value);
        }
        if let Some(failed) = failed {
            self.sink.field(false, "is_error");
            self.sink.unsigned(u64::from(failed));
        }
        self.sink.end(Bracket::Structure);
    }
}
