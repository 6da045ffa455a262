//! Fields of structures whose meaning hangs on others, what becomes of them, and numbers that consist of parts.

use super::sink::{Bracket, ValueSink};
use super::{Walk, int_at, load, long_at};
use crate::format::{self, NamedNumber, has_words, moment};
use crate::table::{
    BitField, BitFieldStyle, CustomFormat, DataDirection, FieldCondition, FieldSource,
    FieldVisibility, IntegerWidth, NetworkKind, StructureField, StructureLayout, UnnamedStyle,
    ValueKind,
};

impl<'a, S: ValueSink> Walk<'a, S> {
    /// The fields of a structure in braces.
    pub fn structure(
        &mut self,
        structure: &'static StructureLayout,
        bytes: &'a [u8],
        number: usize,
    ) {
        self.structure_fields(structure, bytes, None, number);
    }

    fn structure_fields(
        &mut self,
        structure: &'static StructureLayout,
        before: &'a [u8],
        after: Option<&'a [u8]>,
        number: usize,
    ) {
        self.sink.begin(Bracket::Structure);
        let (elided, first) = self.fields_of(structure, (before, after), number, true);
        if elided {
            self.sink.more(Bracket::Structure, first);
        }
        self.sink.end(Bracket::Structure);
    }

    /// The fields of a structure, without braces.
    pub fn fields(
        &mut self,
        structure: &'static StructureLayout,
        bytes: &'a [u8],
        number: usize,
        first: bool,
    ) {
        self.fields_of(structure, (bytes, None), number, first);
    }

    /// The same, as they were and as they became; whether some weren't shown, and whether nothing was shown at all.
    fn fields_of(
        &mut self,
        structure: &'static StructureLayout,
        (before, after): (&'a [u8], Option<&'a [u8]>),
        number: usize,
        mut first: bool,
    ) -> (bool, bool) {
        let outer = self.within;
        let mut elided = false;
        for StructureField {
            name,
            at,
            kind,
            shown,
            source,
        } in structure.fields
        {
            let Some(bytes) = (match source {
                FieldSource::After | FieldSource::Awaited => after,
                FieldSource::Before
                | FieldSource::Both
                | FieldSource::Changed
                | FieldSource::Renewed => Some(before),
            }) else {
                elided |= *source == FieldSource::Awaited;
                continue;
            };
            self.within = bytes;
            let Some(kind) = self.in_structure(*kind) else {
                continue;
            };
            if kind == ValueKind::Unsaid {
                elided = true;
                continue;
            }
            if kind == ValueKind::Gap {
                if !self.style.verbose {
                    self.sink.more(Bracket::Structure, first);
                    first = false;
                }
                continue;
            }
            let size = self.size(kind);
            let field = match bytes.get(*at..at + size) {
                Some(field) => field,
                None if self.pads_fields
                    && (*shown != FieldVisibility::Reached || bytes.len() > *at) =>
                {
                    bytes.get(*at..).unwrap_or_default()
                }
                None => break,
            };
            match shown {
                FieldVisibility::Verbose if !self.style.verbose => {
                    elided = true;
                    continue;
                }
                FieldVisibility::VerboseNotZero if !self.style.verbose => {
                    elided = true;
                    continue;
                }
                FieldVisibility::NotZero | FieldVisibility::VerboseNotZero
                    if field.iter().all(|byte| *byte == 0) =>
                {
                    continue;
                }
                FieldVisibility::With(bits)
                    if field.iter().all(|byte| *byte == 0) && long_at(bytes, 0) & bits == 0 =>
                {
                    continue;
                }
                _ => {}
            }
            let name = name.strip_prefix("r#").unwrap_or(name);
            if let ValueKind::Wire(
                wire @ (NetworkKind::Inet | NetworkKind::WideInet | NetworkKind::Inet6),
            ) = kind
            {
                let address = if wire == NetworkKind::WideInet {
                    &field[..4]
                } else {
                    field
                };
                self.internet_address_in(Some(name), first, address, field);
                first = false;
                continue;
            }
            self.sink.field(first, name);
            first = false;
            let start = self.sink.begins();
            let base = self.base;
            self.base = base.wrapping_add(*at as u64);
            match kind {
                ValueKind::Tail(_) => self.value(kind, self.base, number),
                _ => self.place(kind, field, number),
            }
            self.base = base;
            let became = after.and_then(|after| after.get(*at..at + size));
            let turns = became.filter(|became| match source {
                FieldSource::Both => true,
                FieldSource::Changed | FieldSource::Renewed => *became != field,
                FieldSource::Before | FieldSource::After | FieldSource::Awaited => false,
            });
            if let Some(became) = turns {
                let middle = self.sink.turns();
                if *source == FieldSource::Renewed {
                    self.sink.note(|out| {
                        out.extend_from_slice(name.as_bytes());
                        out.push(b'=');
                    });
                }
                self.place(kind, became, number);
                self.sink.turned(start, middle);
            }
        }
        self.within = outer;
        (elided, first)
    }

    /// A number of the structure that is walked over.
    pub fn sibling(&self, at: usize, width: IntegerWidth) -> u64 {
        self.within
            .get(at..)
            .map_or(0, |rest| load(rest, width.bytes()))
    }

    /// What a field means, given the others; nothing where it isn't there.
    pub fn in_structure(&self, kind: ValueKind) -> Option<ValueKind> {
        match kind {
            ValueKind::ByField(at, width, cases, otherwise) => {
                let value = self.sibling(at, width);
                let case = cases.iter().find(|(known, _)| *known == value);
                self.in_structure(case.map_or(*otherwise, |(_, kind)| *kind))
            }
            ValueKind::Only(test, inner) => {
                let there = match test {
                    FieldCondition::Is(at, width, values) => {
                        values.contains(&self.sibling(at, width))
                    }
                    FieldCondition::Not(at, width, values) => {
                        !values.contains(&self.sibling(at, width))
                    }
                    FieldCondition::Has(at, width, bits) => self.sibling(at, width) & bits != 0,
                    FieldCondition::Lacks(at, width, bits) => self.sibling(at, width) & bits == 0,
                    FieldCondition::Failed => self.failed(),
                    FieldCondition::Verbose => self.style.verbose,
                    FieldCondition::Brief => !self.style.verbose,
                };
                if there {
                    self.in_structure(*inner)
                } else {
                    None
                }
            }
            kind => Some(kind),
        }
    }

    /// So many elements that lie in place, and how many of them are shown.
    pub fn in_place(
        &mut self,
        inner: ValueKind,
        bytes: &'a [u8],
        (count, shown): (usize, usize),
        number: usize,
    ) {
        let size = self.size(inner).max(1);
        self.sink.begin(Bracket::Array);
        for (index, element) in bytes.chunks_exact(size).take(shown).enumerate() {
            self.sink.item(index == 0);
            self.place(inner, element, number);
        }
        if shown < count {
            self.sink.more(Bracket::Array, shown == 0);
        }
        self.sink.end(Bracket::Array);
    }

    /// A structure behind a pointer, of which the program says one part and the kernel the other.
    pub fn in_and_out(&mut self, address: u64, structure: &'static StructureLayout, number: usize) {
        let said = |field: &&StructureField| {
            !matches!(field.source, FieldSource::After | FieldSource::Awaited)
        };
        let ends = structure.fields.iter().filter(said);
        let ends = ends.map(|field| field.at + self.size(field.kind));
        let awaits = structure
            .fields
            .iter()
            .any(|it| it.source == FieldSource::Awaited);
        let least = match ends.max() {
            Some(end) if awaits => end,
            _ => structure.size,
        };
        let before = self.read(address, structure.size, DataDirection::In);
        let before = before.filter(|bytes| bytes.len() >= least);
        let whole = |bytes: &&[u8]| bytes.len() >= structure.size;
        let all = structure.fields.iter();
        let end = all.map(|field| field.at + self.size(field.kind)).max();
        let most = end.unwrap_or(0).max(structure.size);
        let after = self.read(address, most, DataDirection::Out).filter(whole);
        let outer = std::mem::replace(&mut self.base, address);
        match before {
            Some(before) => self.structure_fields(structure, before, after, number),
            None => self.address(address),
        }
        self.base = outer;
    }

    /// What the program says behind a pointer, and what the kernel says there then.
    pub fn exchange(
        &mut self,
        address: u64,
        (before, after): (&'static ValueKind, &'static ValueKind),
        always: bool,
        number: usize,
    ) {
        let size = self.size(*before);
        let said = self.read(address, size, DataDirection::In);
        let start = self.sink.begins();
        let outer = std::mem::take(&mut self.partly);
        self.value(ValueKind::To(DataDirection::In, before), address, number);
        // What was said in part, or is nothing that the kernel would answer to, is all there is.
        let partly = std::mem::replace(&mut self.partly, outer);
        let there = said.is_some_and(|bytes| bytes.len() >= size) && !partly;
        let answers = always || self.despite || !self.failed();
        if there && answers && self.has_any_field(after, said.unwrap_or_default()) {
            let middle = self.sink.turns();
            self.value(ValueKind::To(DataDirection::Out, after), address, number);
            self.sink.turned(start, middle);
        }
    }

    /// Whether any field of this is there.
    fn has_any_field(&mut self, kind: &'static ValueKind, bytes: &'a [u8]) -> bool {
        let ValueKind::Structure(structure) = kind else {
            return true;
        };
        let outer = std::mem::replace(&mut self.within, bytes);
        let something = structure
            .fields
            .iter()
            .any(|field| self.in_structure(field.kind).is_some());
        self.within = outer;
        something
    }

    /// What the kernel says even where the call failed.
    pub fn despite(&mut self, inner: ValueKind, raw: u64, number: usize) {
        let outer = std::mem::replace(&mut self.despite, true);
        self.value(inner, raw, number);
        self.despite = outer;
    }

    /// What the kernel says, behind what the program left there if that wasn't zeros.
    pub fn cleared(
        &mut self,
        address: u64,
        before: &'static ValueKind,
        after: &'static ValueKind,
        number: usize,
    ) {
        let said = self.read(address, self.size(*before), DataDirection::In);
        if said.is_none_or(|said| said.iter().all(|byte| *byte == 0)) {
            self.value(ValueKind::To(DataDirection::Out, after), address, number);
        } else {
            self.exchange(address, (before, after), true, number);
        }
    }

    /// Seconds and nanoseconds, with the moment that they are behind them.
    pub fn instant(&mut self, structure: &'static StructureLayout, bytes: &'a [u8], number: usize) {
        const SECOND: u32 = 1_000_000_000;
        self.structure(structure, bytes, number);
        let (seconds, fraction) = (long_at(bytes, 0).cast_signed(), int_at(bytes, 8));
        let (words, _) = self.sink.names_and_numbers();
        let told = (seconds != 0 || fraction != 0) && fraction < SECOND && has_words(seconds);
        if words && told {
            self.sink
                .aside(|out| moment(out, seconds, u64::from(fraction), 9));
        }
    }

    /// A number that consists of parts.
    pub fn parts(&mut self, value: u64, parts: &'static [BitField]) {
        self.sink
            .constant(NamedNumber::Hex(value), |out| put_parts(out, value, parts));
    }

    /// A number that consists of numbers, as long as there are names for them.
    pub fn joined(&mut self, value: u64, parts: &'static [BitField]) {
        if self.sink.names_and_numbers().0 {
            self.several(value, parts);
        } else {
            self.parts(value, parts);
        }
    }

    /// A number that consists of numbers.
    pub fn several(&mut self, value: u64, parts: &'static [BitField]) {
        if !self.sink.names_and_numbers().1 {
            return self.parts(value, parts);
        }
        let mut first = true;
        for part in parts {
            let value = value & part.mask;
            if value == 0 && !part.shown.always() {
                continue;
            }
            if !std::mem::take(&mut first) {
                self.sink.word(|out| out.push(b'|'));
            }
            match part.shown {
                BitFieldStyle::Worded(wording) => self.worded(value, wording),
                shown => self
                    .sink
                    .constant(NamedNumber::Hex(value), |out| put_part(out, value, shown)),
            }
        }
    }

    /// A number that is put in words.
    pub fn worded(&mut self, value: u64, wording: &'static CustomFormat) {
        let number = match wording.number {
            UnnamedStyle::Words => return self.sink.word(|out| (wording.write)(out, value)),
            UnnamedStyle::HexAlone if self.sink.names_and_numbers().0 => {
                return self.sink.word(|out| (wording.write)(out, value));
            }
            UnnamedStyle::Hex | UnnamedStyle::HexAlone => NamedNumber::Hex(value),
            UnnamedStyle::Decimal => NamedNumber::Signed(value.cast_signed()),
            UnnamedStyle::Int => NamedNumber::Signed(i64::from(value as u32 as i32)),
            UnnamedStyle::Unsigned => NamedNumber::Unsigned(value),
            UnnamedStyle::Remarked => return self.remarked(value, wording),
            UnnamedStyle::HexBeside => {
                let number = NamedNumber::Hex(value);
                return self
                    .sink
                    .constant_with_number(number, |out| (wording.write)(out, value));
            }
        };
        self.sink
            .constant(number, |out| (wording.write)(out, value));
    }

    fn remarked(&mut self, value: u64, wording: &'static CustomFormat) {
        self.sink.constant(NamedNumber::Unsigned(value), |out| {
            format::unsigned(out, value);
            let start = out.len();
            out.extend_from_slice(b" /* ");
            let begun = out.len();
            (wording.write)(out, value);
            if out.len() == begun {
                out.truncate(start);
            } else {
                out.extend_from_slice(b" */");
            }
        });
    }
}

/// A number by its parts.
pub(crate) fn put_parts(out: &mut Vec<u8>, value: u64, parts: &[BitField]) {
    let start = out.len();
    for part in parts {
        let value = value & part.mask;
        if value == 0 && !part.shown.always() {
            continue;
        }
        if out.len() > start {
            out.push(b'|');
        }
        put_part(out, value, part.shown);
    }
    if out.len() == start {
        out.push(b'0');
    }
}

fn put_part(out: &mut Vec<u8>, value: u64, shown: BitFieldStyle) {
    match shown {
        BitFieldStyle::One(names) => format::one(out, value, names),
        BitFieldStyle::Worded(wording) => (wording.write)(out, value),
        BitFieldStyle::Flags(names) => format::some_flags(out, value, names),
        BitFieldStyle::Bits(names) => format::flags(out, value, names),
        BitFieldStyle::Number | BitFieldStyle::Rest => format::hex(out, value),
        BitFieldStyle::Shifted(bits, name) => {
            format::hex(out, value >> bits);
            out.extend_from_slice(b"<<");
            out.extend_from_slice(name.as_bytes());
        }
    }
}
