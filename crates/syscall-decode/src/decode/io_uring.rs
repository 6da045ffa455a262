//! Rings of input and output: what one can do, what it is restricted to, and how many workers it has.
//!
//! Memory that the program left is never shown as the kernel's answer.

use super::sink::{Bracket, ValueSink};
use super::{Walk, int_at, long_at, short_at};
use crate::format;
use crate::table::rings::{OPERATION, QUESTION, RESTRICTIONS, SUPPORTED, WORKERS};
use crate::table::{DataDirection, IntegerWidth, ValueKind};

const HEADER: usize = 16;
const OPERATION_SIZE: usize = 8;
/// The most questions that are shown, however long their list.
const MOST_QUESTIONS: usize = 1000;
/// The kernel looks at no more of them.
const MOST: usize = 256;
const COUNT: usize = 4;

const SPARE: ValueKind = ValueKind::Array(&ValueKind::Hex(IntegerWidth::Four), 3);

impl<'a, S: ValueSink> Walk<'a, S> {
    /// What a ring can do: what the program left there, where that wasn't nothing, and what the kernel says.
    pub(super) fn probe(&mut self, raw: u64) {
        let count = self.size_of_argument(3);
        if count > MOST || raw == 0 {
            return self.address(raw);
        }
        let length = HEADER + OPERATION_SIZE * count;
        let whole = |bytes: &&[u8]| bytes.len() >= length;
        let before = self.read(raw, length, DataDirection::In).filter(whole);
        let after = self.read(raw, length, DataDirection::Out).filter(whole);
        let Some(before) = before else {
            return self.address(raw);
        };
        let said = before.iter().any(|byte| *byte != 0);
        let start = self.sink.begins();
        if said {
            self.probed(before, count, false);
        }
        match after {
            Some(after) if said => {
                let middle = self.sink.turns();
                self.probed(after, count, true);
                self.sink.turned(start, middle);
            }
            Some(after) => self.probed(after, count, true),
            None if said => {}
            None => self.address(raw),
        }
    }

    fn probed(&mut self, bytes: &'a [u8], room: usize, answered: bool) {
        let count = usize::from(bytes[1]);
        self.sink.begin(Bracket::Structure);
        self.sink.field(true, "last_op");
        self.worded(u64::from(bytes[0]), &OPERATION);
        self.sink.field(false, "ops_len");
        self.sink.unsigned(count as u64);
        self.spare("resv", u64::from(short_at(bytes, 2)));
        if bytes[4..HEADER].iter().any(|byte| *byte != 0) {
            self.sink.field(false, "resv2");
            self.place(SPARE, &bytes[4..HEADER], 2);
        }
        self.sink.field(false, "ops");
        let there = if answered { count.min(room) } else { room };
        let shown = self.allow(there);
        self.sink.begin(Bracket::Array);
        let operations = bytes[HEADER..].chunks_exact(OPERATION_SIZE);
        for (index, operation) in operations.take(shown).enumerate() {
            self.sink.item(index == 0);
            self.probed_operation(operation);
        }
        if there > shown || answered && count > room {
            self.sink.more(Bracket::Array, shown == 0);
        }
        self.sink.end(Bracket::Array);
        self.sink.end(Bracket::Structure);
    }

    fn probed_operation(&mut self, bytes: &[u8]) {
        self.sink.begin(Bracket::Structure);
        self.sink.field(true, "op");
        self.worded(u64::from(bytes[0]), &OPERATION);
        self.spare("resv", u64::from(bytes[1]));
        self.sink.field(false, "flags");
        self.flags(u64::from(short_at(bytes, 2)), &SUPPORTED);
        self.spare("resv2", u64::from(int_at(bytes, 4)));
        self.sink.end(Bracket::Structure);
    }

    /// What is to be zero, where it isn't.
    fn spare(&mut self, name: &str, value: u64) {
        if value != 0 {
            self.sink.field(false, name);
            self.sink.hex(value);
        }
    }

    /// What a ring is restricted to; of what isn't known, what else is said.
    pub(super) fn restriction(&mut self, bytes: &[u8]) {
        let asked = u64::from(short_at(bytes, 0));
        self.one(asked, &RESTRICTIONS);
        if RESTRICTIONS.name(asked).is_none() {
            let operation = self.sibling(2, IntegerWidth::One);
            self.sink.aside(|out| {
                out.extend_from_slice(b"op: ");
                format::hex(out, operation);
            });
        }
    }

    /// How many workers there are to be of each kind, and how many there may have been.
    pub(super) fn workers(&mut self, raw: u64) {
        let count = self.size_of_argument(3);
        if raw == 0 {
            return self.sink.null();
        }
        if count == 0 {
            self.sink.begin(Bracket::Array);
            return self.sink.end(Bracket::Array);
        }
        let looked_at = count.min(self.shown_elements() + 1);
        let before = self.read(raw, looked_at * COUNT, DataDirection::In);
        let after = self.read(raw, looked_at * COUNT, DataDirection::Out);
        let Some(bytes) = before.filter(|bytes| bytes.len() >= COUNT) else {
            return self.address(raw);
        };
        let start = self.sink.begins();
        self.each_worker(raw, bytes, count);
        if bytes.len() < looked_at * COUNT {
            return;
        }
        let middle = self.sink.turns();
        match after.filter(|bytes| bytes.len() >= COUNT) {
            Some(bytes) => self.each_worker(raw, bytes, count),
            None => self.address(raw),
        }
        self.sink.turned(start, middle);
    }

    fn each_worker(&mut self, raw: u64, bytes: &[u8], count: usize) {
        let shown = self.allow(count);
        let looked_at = count.min(shown + 1);
        self.sink.begin(Bracket::Array);
        for (index, element) in bytes.chunks_exact(COUNT).take(shown).enumerate() {
            self.sink.item(index == 0);
            self.place_name(index, &WORKERS);
            self.sink.unsigned(u64::from(int_at(element, 0)));
        }
        if bytes.len() < looked_at * COUNT {
            self.array_rest(raw, bytes.len(), COUNT, looked_at, count);
        } else if count > shown {
            self.sink.more(Bracket::Array, shown == 0);
        }
        self.sink.end(Bracket::Array);
    }

    /// What is asked about rings: a list of questions, of which each says where the next is.
    pub(super) fn ring_queries(&mut self, raw: u64) {
        let most = if self.style.verbose {
            MOST_QUESTIONS
        } else {
            self.shown_elements()
        };
        let mut address = raw;
        let mut open = 0;
        while address != 0 {
            let Some(bytes) = self
                .read(address, QUESTION.size, DataDirection::In)
                .filter(|bytes| bytes.len() == QUESTION.size)
            else {
                self.sink.address(address);
                break;
            };
            if open == most {
                self.sink.address(address);
                self.sink.aside(|out| out.extend_from_slice(b"..."));
                break;
            }
            self.sink.begin(Bracket::Structure);
            self.fields(&QUESTION, bytes, 2, true);
            self.sink.field(false, "next_entry");
            open += 1;
            address = long_at(bytes, 0);
        }
        if address == 0 {
            self.sink.null();
        }
        for _ in 0..open {
            self.sink.end(Bracket::Structure);
        }
    }
}
