//! What a console's keys do and say, its tones, and which places of its font show which letters.
//!
//! A key's value is not shown when the call failed.

use super::sink::{Bracket, ValueSink};
use super::{Walk, long_at, short_at};
use crate::table::ioctl::console as layout;
use crate::table::{DataDirection, StructureLayout, ValueKind};
use crate::{SyscallOutcome, format};

/// So often a second its timer counts.
const TICKS: u32 = 1_193_182;
/// Most bytes of what a key says.
const KEY_STRING_MAX: usize = 512;
/// Most bytes of a font's name.
const FONT_NAME: usize = 32;

impl<'a, S: ValueSink> Walk<'a, S> {
    /// How long a tone is, and after how many of its timer's ticks it begins anew.
    pub(super) fn tone(&mut self, raw: u32) {
        let (long, count) = (raw >> 16, raw & 0xffff);
        self.sink.word(|out| {
            if long != 0 {
                format::unsigned(out, u64::from(long));
                out.extend_from_slice(b"<<16|");
            }
            format::unsigned(out, u64::from(count));
        });
        if self.sink.names_and_numbers().0 {
            self.sink.aside(|out| match TICKS.checked_div(count) {
                Some(frequency) if long != 0 => {
                    out.extend_from_slice(format!("{frequency} Hz, {long} ms").as_bytes());
                }
                _ => out.extend_from_slice(b"off"),
            });
        }
    }

    /// What a key does.
    pub(super) fn key(&mut self, raw: u64, way: DataDirection) {
        self.key_of(raw, way, &layout::KEY_OF, 2, |walk, bytes| match bytes {
            Some(bytes) if bytes.len() >= 2 => {
                walk.fields(&layout::KEY_DOES, &bytes[..2], 0, false);
            }
            _ => walk.unavailable("kb_value"),
        });
    }

    /// What a key says.
    pub(super) fn key_string(&mut self, raw: u64, way: DataDirection) {
        // strace shows what a key does wherever no structures are wanted, too, but not what it says.
        if self.style.opaque {
            return self.address(raw);
        }
        let which = &layout::KEY_STRING;
        self.key_of(raw, way, which, KEY_STRING_MAX, |walk, bytes| {
            let bytes = bytes.unwrap_or_default();
            let end = bytes.iter().position(|byte| *byte == 0);
            if end.is_none() && bytes.len() < KEY_STRING_MAX {
                walk.sink.field(false, "kb_string");
                return walk.address(raw.wrapping_add(1));
            }
            let text = &bytes[..end.unwrap_or(bytes.len())];
            let string = walk.style.string;
            walk.sink.field(false, "kb_string");
            let cut = string < text.len() || end.is_none();
            walk.sink.text(&text[..text.len().min(string)], cut);
        });
    }

    /// Which key, and what lies behind that; read together, since what lies there first is looked for by where it begins.
    fn key_of(
        &mut self,
        raw: u64,
        way: DataDirection,
        which: &'static StructureLayout,
        more: usize,
        show: impl FnOnce(&mut Self, Option<&'a [u8]>),
    ) {
        let size = which.size;
        let before = self.read_text(raw, size + more, DataDirection::In);
        let after = self.read_text(raw, size + more, way);
        let Some(before) = before.filter(|bytes| bytes.len() >= size) else {
            return self.address(raw);
        };
        self.sink.begin(Bracket::Structure);
        self.fields(which, &before[..size], 0, true);
        if way == DataDirection::In || !self.failed() {
            show(self, after.and_then(|after| after.get(size..)));
        }
        self.sink.end(Bracket::Structure);
    }

    fn unavailable(&mut self, name: &str) {
        self.sink.field(false, name);
        self.sink.word(|out| out.extend_from_slice(b"???"));
    }

    /// Which places of a font show which letters, as the kernel says: it is told how much room there is, and says how much
    /// there would have to be.
    pub(super) fn mappings(&mut self, raw: u64) {
        const SIZE: usize = 16;
        const NO_ROOM: i64 = 12;
        let whole = |bytes: &&[u8]| bytes.len() >= SIZE;
        let before = self.read(raw, SIZE, DataDirection::In).filter(whole);
        let after = self
            .read_always(raw, SIZE, DataDirection::Out)
            .filter(whole);
        let Some(before) = before else {
            return self.address(raw);
        };
        let room = short_at(before, 0);
        self.sink.begin(Bracket::Structure);
        self.sink.field(true, "entry_ct");
        let start = self.sink.begins();
        self.sink.unsigned(u64::from(room));
        if let Some(after) = after {
            let cut = matches!(self.call.outcome, SyscallOutcome::Returned { value, .. } if value == -NO_ROOM);
            let answered = cut || !self.failed();
            if answered {
                let middle = self.sink.turns();
                self.sink.unsigned(u64::from(short_at(after, 0)));
                self.sink.turned(start, middle);
            }
            self.sink.field(false, "entries");
            let entries = long_at(after, 8);
            if !answered {
                self.address(entries);
            } else {
                let despite = std::mem::replace(&mut self.despite, true);
                let inner = ValueKind::Structure(&layout::MAPPING);
                self.elements(entries, DataDirection::Out, inner, usize::from(room), 0);
                self.despite = despite;
            }
        }
        self.sink.end(Bracket::Structure);
    }

    /// The name of a font, which has to end.
    pub(super) fn font_name(&mut self, raw: u64) {
        let bytes = self
            .read(raw, FONT_NAME, DataDirection::In)
            .unwrap_or_default();
        let end = bytes.iter().position(|byte| *byte == 0);
        let most = match end {
            Some(end) => end,
            None if bytes.len() == FONT_NAME => FONT_NAME - 1,
            None => return self.address(raw),
        };
        let shown = most.min(self.style.string);
        self.sink
            .text(&bytes[..shown], shown < most || end.is_none());
    }
}
