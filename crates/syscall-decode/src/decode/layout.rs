//! Things as they lie in memory: how long they are, behind pointers, and several of the same.
//!
//! No more elements are shown than there is room for.

use super::sink::{Bracket, ValueSink};
use super::{MOST_BYTES, Walk, load};
use crate::Abi;
use crate::memory::MAX_ELEMENTS;
use crate::table::{DataDirection, IntegerWidth, LengthSource, SpecialKind, ValueKind};

impl<'a, S: ValueSink> Walk<'a, S> {
    pub(super) fn to(
        &mut self,
        address: u64,
        way: DataDirection,
        inner: &'static ValueKind,
        number: usize,
    ) {
        let size = self.size(*inner);
        let outer = std::mem::replace(&mut self.base, address);
        self.behind_pointer(address, size, way, inner, number);
        self.base = outer;
    }

    fn behind_pointer(
        &mut self,
        address: u64,
        size: usize,
        way: DataDirection,
        inner: &'static ValueKind,
        number: usize,
    ) {
        match self.read_in_time(address, size, way) {
            Some(bytes) if bytes.len() >= size => {
                if self.bracketed(*inner) {
                    self.sink.begin(Bracket::Array);
                    self.sink.item(true);
                    self.place(*inner, bytes, number);
                    self.sink.end(Bracket::Array);
                } else {
                    self.place(*inner, bytes, number);
                }
            }
            _ => self.sink.address(address),
        }
    }

    fn bracketed(&self, kind: ValueKind) -> bool {
        match kind {
            ValueKind::Structure(_)
            | ValueKind::Array(..)
            | ValueKind::Counted(..)
            | ValueKind::Characters(_)
            | ValueKind::Plain(_)
            | ValueKind::ByAbi(..) => false,
            ValueKind::Special(special) => !matches!(
                special,
                SpecialKind::Stat
                    | SpecialKind::Statx
                    | SpecialKind::TimevalMoment
                    | SpecialKind::Instant(_)
                    | SpecialKind::Pair(..)
            ),
            _ => true,
        }
    }

    pub(super) fn many(
        &mut self,
        address: u64,
        way: DataDirection,
        inner: &'static ValueKind,
        length: LengthSource,
        number: usize,
    ) {
        let count = self.length(length);
        // Where the program said itself that there are none, none are shown.
        let none = count == 0
            && matches!(
                length,
                LengthSource::Field(..)
                    | LengthSource::Few(..)
                    | LengthSource::Capped(..)
                    | LengthSource::Argument(_)
            );
        if way == DataDirection::Out && self.failed() && !self.despite && !none {
            self.address(address);
            return;
        }
        if let LengthSource::Capped(.., most) = length
            && count > most
        {
            return self.elements_and_more(address, way, *inner, (most, true), number);
        }
        // So many that they would lie in no memory.
        if count.checked_mul(self.size(*inner)).is_none() {
            self.partly = true;
            self.address(address);
            return;
        }
        let style = self.style;
        match length {
            LengthSource::First(_, most) => {
                self.style.elements = self.shown_elements().min(most);
                self.style.verbose &= count <= most;
            }
            LengthSource::Few(.., most) if !self.style.verbose => {
                self.style.elements = self.shown_elements().min(most);
            }
            _ => {}
        }
        self.elements(address, way, *inner, count, number);
        self.style = style;
    }

    /// So many elements from an address on.
    pub fn elements(
        &mut self,
        address: u64,
        way: DataDirection,
        inner: ValueKind,
        count: usize,
        number: usize,
    ) {
        self.elements_and_more(address, way, inner, (count, false), number);
    }

    /// The same, and whether there are more that aren't looked at.
    fn elements_and_more(
        &mut self,
        address: u64,
        way: DataDirection,
        inner: ValueKind,
        (count, more): (usize, bool),
        number: usize,
    ) {
        let size = self.size(inner);
        let shown = self.allow(count.min(MOST_BYTES / size.max(1)));
        // Whether there is another is looked at before it is left out.
        let looked_at = count.min(shown + 1);
        if count == 0 {
            self.partly = true;
            self.sink.begin(Bracket::Array);
            self.sink.end(Bracket::Array);
            return;
        }
        let Some(bytes) = self
            .read(address, looked_at * size, way)
            .filter(|bytes| bytes.len() >= size)
        else {
            self.partly = true;
            self.address(address);
            return;
        };
        self.sink.begin(Bracket::Array);
        for (index, element) in bytes.chunks_exact(size).take(shown).enumerate() {
            self.sink.item(index == 0);
            self.place(inner, element, number);
        }
        if bytes.len() < looked_at * size {
            self.partly = true;
            self.array_rest(address, bytes.len(), size, looked_at, count);
        } else if count > shown || more {
            self.sink.more(Bracket::Array, shown == 0);
        }
        self.sink.end(Bracket::Array);
    }

    /// How many of so many elements are shown, as long as there is room.
    pub fn allow(&mut self, count: usize) -> usize {
        let shown = count.min(self.shown_elements()).min(self.left);
        self.left -= shown;
        shown
    }

    pub fn shown_elements(&self) -> usize {
        if self.style.verbose {
            MAX_ELEMENTS
        } else {
            self.style.elements.min(MAX_ELEMENTS)
        }
    }

    /// Shows what lies in memory.
    pub fn place(&mut self, kind: ValueKind, bytes: &'a [u8], number: usize) {
        match kind {
            ValueKind::Structure(structure) => self.structure(structure, bytes, number),
            ValueKind::Array(inner, count) => self.in_place(*inner, bytes, (count, count), number),
            ValueKind::Counted(inner, length, most) => {
                let count = self.length(length).min(most);
                let shown = self.allow(count);
                self.in_place(*inner, bytes, (count, shown), number);
            }
            ValueKind::Octets(length, _) => {
                let length = self.length(length).min(bytes.len());
                self.sink.text(&bytes[..length], false);
            }
            ValueKind::Letters(length, _) => {
                let size = self.length(length).min(bytes.len());
                self.place(ValueKind::Characters(size), &bytes[..size], number);
            }
            ValueKind::Characters(size) => {
                let length = bytes.iter().position(|byte| *byte == 0);
                let ends = self.pads_texts && bytes.len() < size;
                let length = length.or(ends.then_some(bytes.len()));
                // Without an end, the last place is kept for one.
                let shown = length.unwrap_or(bytes.len().min(size).saturating_sub(1));
                self.sink.text(&bytes[..shown], length.is_none());
            }
            ValueKind::ByField(..) | ValueKind::Only(..) => {
                if let Some(kind) = self.in_structure(kind) {
                    self.place(kind, bytes, number);
                }
            }
            ValueKind::Plain(inner) => self.place(*inner, bytes, number),
            ValueKind::ByAbi(x86_64, elsewhere) => {
                let kind = if self.call.abi == Abi::X86_64 {
                    *x86_64
                } else {
                    *elsewhere
                };
                self.place(kind, bytes, number);
            }
            ValueKind::Wire(wire) => self.wire(wire, bytes),
            ValueKind::Special(SpecialKind::Instruction) => self.instruction(bytes),
            ValueKind::Special(SpecialKind::Restriction) => self.restriction(bytes),
            ValueKind::Special(SpecialKind::InformationInPlace) => {
                super::signal_information(self.sink, bytes, Some(self.call));
            }
            ValueKind::Special(SpecialKind::InPlaceAddress(_)) => self.socket_address_at(bytes),
            ValueKind::Special(SpecialKind::Pair(one, other)) => {
                self.pair(*one, *other, bytes, number)
            }
            ValueKind::Special(SpecialKind::Instant(structure)) => {
                self.instant(structure, bytes, number)
            }
            ValueKind::Special(SpecialKind::Stat) => self.stat(bytes),
            ValueKind::Special(SpecialKind::Statx) => self.statx(bytes),
            ValueKind::Special(SpecialKind::TimevalMoment) => self.timeval_moment(bytes),
            _ => {
                let raw = load(bytes, self.size(kind));
                self.value(kind, raw, number);
            }
        }
    }

    /// How many bytes something takes in memory.
    pub fn size(&self, kind: ValueKind) -> usize {
        match kind {
            ValueKind::Signed(width)
            | ValueKind::Unsigned(width)
            | ValueKind::Hex(width)
            | ValueKind::Octal(width)
            | ValueKind::Flags(width, _)
            | ValueKind::Named(width, _)
            | ValueKind::Known(width, _)
            | ValueKind::One(width, _)
            | ValueKind::Parts(width, _)
            | ValueKind::Several(width, _)
            | ValueKind::Joined(width, _)
            | ValueKind::Worded(width, _)
            | ValueKind::OneAndFlags(width, ..) => {
                if self.narrow() && width == IntegerWidth::Eight {
                    4
                } else {
                    width.bytes()
                }
            }
            ValueKind::Fd
            | ValueKind::FdOf(_)
            | ValueKind::FdBehind(_)
            | ValueKind::FdOr(_)
            | ValueKind::DirFd
            | ValueKind::Id
            | ValueKind::Process(_)
            | ValueKind::Signal
            | ValueKind::FileMode
            | ValueKind::Special(SpecialKind::OpenFlags | SpecialKind::StatusInPlace) => 4,
            ValueKind::Permissions | ValueKind::Special(SpecialKind::Restriction) => 2,
            ValueKind::Structure(structure) => structure.size,
            ValueKind::Array(inner, count) | ValueKind::Counted(inner, _, count) => {
                self.size(*inner) * count
            }
            ValueKind::Characters(size)
            | ValueKind::Octets(_, size)
            | ValueKind::Letters(_, size) => size,
            ValueKind::ByField(.., otherwise) => self.size(*otherwise),
            ValueKind::Only(_, inner) | ValueKind::Plain(inner) => self.size(*inner),
            ValueKind::Tail(_) | ValueKind::Unsaid | ValueKind::Gap | ValueKind::Dots(_) => 0,
            ValueKind::ByAbi(x86_64, elsewhere) => self.size(if self.call.abi == Abi::X86_64 {
                *x86_64
            } else {
                *elsewhere
            }),
            ValueKind::Wire(wire) => wire.size(self.narrow()),
            ValueKind::Special(SpecialKind::Pair(one, other)) => {
                self.size(*one) + self.size(*other)
            }
            ValueKind::Special(SpecialKind::Instant(structure)) => structure.size,
            ValueKind::Special(SpecialKind::Stat) => self.stat_size(),
            ValueKind::Special(SpecialKind::Statx) => 256,
            ValueKind::Special(SpecialKind::InformationInPlace) => 128,
            ValueKind::Special(SpecialKind::TimevalMoment) => 16,
            ValueKind::Special(SpecialKind::InPlaceAddress(size)) => size,
            _ => 8,
        }
    }
}
