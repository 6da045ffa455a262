//! Things as they lie in memory: how long they are, behind pointers, and several of the same.
//!
//! Refuses: to show more elements than there is room for.

use super::sink::{Bracket, Sink};
use super::{MOST_BYTES, Walk, load};
use crate::Abi;
use crate::memory::MOST_ELEMENTS;
use crate::table::{Kind, Length, Special, Way, Width};

impl<'a, S: Sink> Walk<'a, S> {
    pub(super) fn to(&mut self, address: u64, way: Way, inner: &'static Kind, number: usize) {
        let size = self.size(*inner);
        let outer = std::mem::replace(&mut self.base, address);
        self.behind_pointer(address, size, way, inner, number);
        self.base = outer;
    }

    fn behind_pointer(
        &mut self,
        address: u64,
        size: usize,
        way: Way,
        inner: &'static Kind,
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

    fn bracketed(&self, kind: Kind) -> bool {
        match kind {
            Kind::Structure(_)
            | Kind::Array(..)
            | Kind::Counted(..)
            | Kind::Characters(_)
            | Kind::Plain(_)
            | Kind::ByAbi(..) => false,
            Kind::Special(special) => !matches!(
                special,
                Special::Stat
                    | Special::Statx
                    | Special::TimevalMoment
                    | Special::Instant(_)
                    | Special::Pair(..)
            ),
            _ => true,
        }
    }

    pub(super) fn many(
        &mut self,
        address: u64,
        way: Way,
        inner: &'static Kind,
        length: Length,
        number: usize,
    ) {
        let count = self.length(length);
        // Where the program said itself that there are none, none are shown.
        let none = count == 0
            && matches!(
                length,
                Length::Field(..) | Length::Few(..) | Length::Capped(..) | Length::Argument(_)
            );
        if way == Way::Out && self.failed() && !self.despite && !none {
            self.address(address);
            return;
        }
        if let Length::Capped(.., most) = length
            && count > most
        {
            return self.elements_and_more(address, way, *inner, (most, true), number);
        }
        // More than the kernel would look at.
        if count > MOST_BYTES {
            self.partly = true;
            self.address(address);
            return;
        }
        let style = self.style;
        match length {
            Length::First(_, most) => {
                self.style.elements = self.shown_elements().min(most);
                self.style.verbose &= count <= most;
            }
            Length::Few(.., most) if !self.style.verbose => {
                self.style.elements = self.shown_elements().min(most);
            }
            _ => {}
        }
        self.elements(address, way, *inner, count, number);
        self.style = style;
    }

    /// So many elements from an address on.
    pub fn elements(&mut self, address: u64, way: Way, inner: Kind, count: usize, number: usize) {
        self.elements_and_more(address, way, inner, (count, false), number);
    }

    /// The same, and whether there are more that aren't looked at.
    fn elements_and_more(
        &mut self,
        address: u64,
        way: Way,
        inner: Kind,
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
            self.rest_of(address, bytes.len(), size, looked_at, count);
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
            MOST_ELEMENTS
        } else {
            self.style.elements.min(MOST_ELEMENTS)
        }
    }

    /// Shows what lies in memory.
    pub fn place(&mut self, kind: Kind, bytes: &'a [u8], number: usize) {
        match kind {
            Kind::Structure(structure) => self.structure(structure, bytes, number),
            Kind::Array(inner, count) => self.in_place(*inner, bytes, (count, count), number),
            Kind::Counted(inner, length, most) => {
                let count = self.length(length).min(most);
                let shown = self.allow(count);
                self.in_place(*inner, bytes, (count, shown), number);
            }
            Kind::Octets(length, _) => {
                let length = self.length(length).min(bytes.len());
                self.sink.text(&bytes[..length], false);
            }
            Kind::Letters(length, _) => {
                let size = self.length(length).min(bytes.len());
                self.place(Kind::Characters(size), &bytes[..size], number);
            }
            Kind::Characters(size) => {
                let length = bytes.iter().position(|byte| *byte == 0);
                // Without an end, the last place is kept for one.
                let shown = length.unwrap_or(bytes.len().min(size).saturating_sub(1));
                self.sink.text(&bytes[..shown], length.is_none());
            }
            Kind::ByField(..) | Kind::Only(..) => {
                if let Some(kind) = self.in_structure(kind) {
                    self.place(kind, bytes, number);
                }
            }
            Kind::Plain(inner) => self.place(*inner, bytes, number),
            Kind::ByAbi(x86_64, elsewhere) => {
                let kind = if self.call.abi == Abi::X86_64 {
                    *x86_64
                } else {
                    *elsewhere
                };
                self.place(kind, bytes, number);
            }
            Kind::Wire(wire) => self.wire(wire, bytes),
            Kind::Special(Special::Instruction) => self.instruction(bytes),
            Kind::Special(Special::Restriction) => self.restriction(bytes),
            Kind::Special(Special::InformationInPlace) => {
                super::signal_information(self.sink, bytes, Some(self.call));
            }
            Kind::Special(Special::InPlaceAddress(_)) => self.socket_address_at(bytes),
            Kind::Special(Special::Pair(one, other)) => self.pair(*one, *other, bytes, number),
            Kind::Special(Special::Instant(structure)) => self.instant(structure, bytes, number),
            Kind::Special(Special::Stat) => self.stat(bytes),
            Kind::Special(Special::Statx) => self.statx(bytes),
            Kind::Special(Special::TimevalMoment) => self.timeval_moment(bytes),
            _ => {
                let raw = load(bytes, self.size(kind));
                self.value(kind, raw, number);
            }
        }
    }

    /// How many bytes something takes in memory.
    pub fn size(&self, kind: Kind) -> usize {
        match kind {
            Kind::Signed(width)
            | Kind::Unsigned(width)
            | Kind::Hex(width)
            | Kind::Octal(width)
            | Kind::Flags(width, _)
            | Kind::Named(width, _)
            | Kind::Known(width, _)
            | Kind::One(width, _)
            | Kind::Parts(width, _)
            | Kind::Several(width, _)
            | Kind::Joined(width, _)
            | Kind::Worded(width, _)
            | Kind::OneAndFlags(width, ..) => {
                if self.narrow() && width == Width::Eight {
                    4
                } else {
                    width.bytes()
                }
            }
            Kind::Fd
            | Kind::FdOf(_)
            | Kind::FdBehind(_)
            | Kind::FdOr(_)
            | Kind::DirFd
            | Kind::Id
            | Kind::Process(_)
            | Kind::Signal
            | Kind::FileMode => 4,
            Kind::Permissions | Kind::Special(Special::Restriction) => 2,
            Kind::Structure(structure) => structure.size,
            Kind::Array(inner, count) | Kind::Counted(inner, _, count) => self.size(*inner) * count,
            Kind::Characters(size) | Kind::Octets(_, size) | Kind::Letters(_, size) => size,
            Kind::ByField(.., otherwise) => self.size(*otherwise),
            Kind::Only(_, inner) | Kind::Plain(inner) => self.size(*inner),
            Kind::Tail(_) | Kind::Unsaid | Kind::Gap | Kind::Dots(_) => 0,
            Kind::ByAbi(x86_64, elsewhere) => self.size(if self.call.abi == Abi::X86_64 {
                *x86_64
            } else {
                *elsewhere
            }),
            Kind::Wire(wire) => wire.size(self.narrow()),
            Kind::Special(Special::Pair(one, other)) => self.size(*one) + self.size(*other),
            Kind::Special(Special::Instant(structure)) => structure.size,
            Kind::Special(Special::Stat) => self.stat_size(),
            Kind::Special(Special::Statx) => 256,
            Kind::Special(Special::InformationInPlace) => 128,
            Kind::Special(Special::TimevalMoment) => 16,
            Kind::Special(Special::InPlaceAddress(size)) => size,
            _ => 8,
        }
    }
}
