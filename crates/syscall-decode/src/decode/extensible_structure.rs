//! Structures that calls are asked with and that have grown over time: as far as the caller says that they go, and what of
//! them the kernel changed.
//!
//! Bytes beyond the known fields are shown; no more is read than the kernel would read.

use super::sink::{Bracket, ValueSink};
use super::{Walk, load};
use crate::format;
use crate::table::{
    DataDirection, ExtensibleStructure, FieldSource, FieldVisibility, StructureField,
};

/// The kernel takes no more.
const PAGE: usize = 4096;
/// As long is at least what was there first of a structure of which more is only told.
const FIRST: usize = 8;

impl ExtensibleStructure {
    /// Whether the kernel says something in it.
    pub(super) fn changes(&self) -> bool {
        let by_kernel = |field: &StructureField| field.source != FieldSource::Before;
        self.structure.fields.iter().any(by_kernel)
    }

    /// What stands there, by what is said in it and how far it goes.
    fn chosen(&'static self, bytes: &[u8]) -> &'static Self {
        let Some(instead) = self.instead else {
            return self;
        };
        if bytes.len() <= instead.beyond {
            return self;
        }
        let value = bytes.get(instead.at..).map_or(0, |rest| load(rest, 4)) & instead.bits;
        let mut cases = instead.cases.iter();
        let case = cases.find(|(values, _)| values.contains(&value));
        case.map_or(self, |(_, other)| other.chosen(bytes))
    }

    /// Whether a field is there where the structure goes so far.
    fn has(&self, field: &StructureField, length: usize) -> bool {
        if let Some((at, since)) = self.late
            && field.at == at
        {
            return length > since;
        }
        let mut added = self.since.iter().rev();
        added
            .find(|since| **since <= field.at)
            .is_none_or(|since| length > *since)
    }
}

impl<'a, S: ValueSink> Walk<'a, S> {
    /// Such a structure.
    pub(super) fn growing(
        &mut self,
        raw: u64,
        growing: &'static ExtensibleStructure,
        length: usize,
        number: usize,
    ) {
        self.grown(raw, growing, self.size_of_argument(length), number);
    }

    /// The same of a length that is known.
    pub(super) fn grown(
        &mut self,
        raw: u64,
        growing: &'static ExtensibleStructure,
        said: usize,
        number: usize,
    ) {
        let length = if growing.brief {
            said.min(growing.structure.size)
        } else {
            said
        };
        let least = if growing.brief { FIRST } else { 1 };
        if !(least..=PAGE).contains(&length) {
            return self.address(raw);
        }
        let whole = |bytes: &&[u8]| bytes.len() >= length;
        let before = self.read(raw, length, DataDirection::In).filter(whole);
        let after = if growing.changes() {
            self.read_always(raw, length, DataDirection::Out)
                .filter(whole)
        } else {
            None
        };
        let Some(bytes) = before else {
            return self.address(raw);
        };
        let growing = growing.chosen(bytes);
        self.sink.begin(Bracket::Structure);
        let within = !growing.member.is_empty();
        if within {
            self.sink.field(true, growing.member);
            self.sink.begin(Bracket::Structure);
        }
        self.grown_fields(growing, (bytes, after), number);
        if within {
            self.sink.end(Bracket::Structure);
        }
        if said > length {
            self.sink.more(Bracket::Structure, false);
        }
        self.unknown_rest(bytes, growing.structure.size);
        self.sink.end(Bracket::Structure);
    }

    /// The fields that are there; what isn't there of the last of them is zero.
    pub(super) fn grown_fields(
        &mut self,
        growing: &'static ExtensibleStructure,
        (before, after): (&'a [u8], Option<&'a [u8]>),
        number: usize,
    ) {
        let outer = (self.within, self.before, self.pads_fields, self.pads_texts);
        (self.before, self.pads_fields, self.pads_texts) = (before, true, growing.pads_texts);
        let mut first = true;
        for field in growing.structure.fields {
            let bytes = match field.source {
                FieldSource::After | FieldSource::Awaited => after.unwrap_or(before),
                FieldSource::Before
                | FieldSource::Both
                | FieldSource::Changed
                | FieldSource::Renewed => before,
            };
            self.within = bytes;
            let Some(kind) = self
                .in_structure(field.kind)
                .filter(|_| growing.has(field, bytes.len()))
            else {
                continue;
            };
            let size = self.size(kind);
            let at = |bytes: &'a [u8]| {
                let rest = bytes.get(field.at..).unwrap_or(&[]);
                &rest[..rest.len().min(size)]
            };
            let there = at(bytes);
            if field.shown == FieldVisibility::NotZero && there.iter().all(|byte| *byte == 0) {
                continue;
            }
            let name = field.name.strip_prefix("r#").unwrap_or(field.name);
            self.sink.field(std::mem::take(&mut first), name);
            let start = self.sink.begins();
            self.place(kind, there, number);
            let became = after.map(at).filter(|became| *became != there);
            if let (FieldSource::Changed, Some(became)) = (field.source, became) {
                let middle = self.sink.turns();
                self.place(kind, became, number);
                self.sink.turned(start, middle);
            }
        }
        (self.within, self.before, self.pads_fields, self.pads_texts) = outer;
    }

    /// What stands behind all that is known, where that is something.
    pub(super) fn unknown_rest(&mut self, bytes: &[u8], known: usize) {
        let Some(rest) = bytes
            .get(known..)
            .filter(|rest| rest.iter().any(|byte| *byte != 0))
        else {
            return;
        };
        if !self.style.verbose {
            return self.sink.more(Bracket::Structure, false);
        }
        self.sink.field(false, "extra_data");
        self.sink.binary(rest, false);
        self.sink.aside(|out| {
            out.extend_from_slice(b"bytes ");
            format::unsigned(out, known as u64);
            out.extend_from_slice(b"..");
            format::unsigned(out, bytes.len() as u64 - 1);
        });
    }

    /// What the kernel made of it, where that is told behind it.
    pub(super) fn grew(&mut self, raw: u64, growing: &'static ExtensibleStructure, length: usize) {
        let length = self.size_of_argument(length);
        let Some(field) = growing.anew.filter(|_| (1..=PAGE).contains(&length)) else {
            return;
        };
        let number = |bytes: &[u8]| {
            let whole = bytes.len() >= length;
            whole.then(|| bytes.get(field.at..).map_or(0, |rest| load(rest, 4)))
        };
        let before = self.read(raw, length, DataDirection::In).and_then(number);
        let after = self
            .read_always(raw, length, DataDirection::Out)
            .and_then(number);
        if let (Some(before), Some(after)) = (before, after)
            && before != after
        {
            self.sink.became();
            self.sink.begin(Bracket::Structure);
            self.sink.field(true, growing.member);
            self.sink.begin(Bracket::Structure);
            self.sink.field(true, field.name);
            self.sink.unsigned(after);
            self.sink.end(Bracket::Structure);
            self.sink.end(Bracket::Structure);
        }
    }
}
