//! Attributes: each says its length and its number, and holds what its description says, attributes again among that.
//!
//! An attribute that is too short for its kind is shown as bytes.

use super::{Span, next};
use crate::decode::sink::{Bracket, ValueSink};
use crate::decode::{Walk, load, short_at, ticks, time_in_parts};
use crate::format::{self, NamedNumber};
use crate::table::netlink::{AttributeKind, AttributeSet, HardwareLength, NAMELESS};
use crate::table::{Names, StructureLayout, ValueKind, flags};

/// What begins an attribute.
const HEAD: usize = 4;
/// The bits beside its number.
const NESTED: u16 = 0x8000;
const NETWORK_ORDER: u16 = 0x4000;
/// The longest hardware address there is.
const HARDWARE: usize = 32;

/// The lengths of hardware addresses by the number that stands for the type.
const HARDWARE_LENGTHS: &[(u8, usize)] = &[
    (0, 7),
    (1, 6),
    (3, 7),
    (6, 6),
    (7, 1),
    (15, 2),
    (24, 16),
    (27, 8),
    (32, 20),
];

/// What else an attribute's meaning may depend on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Around<'a> {
    /// The family that the message is about.
    pub family: u8,
    /// The list that the attribute stands in.
    list: Span<'a>,
    /// How much of it stands before the attribute.
    before: usize,
    attributes: &'static AttributeSet,
}

/// Most bytes of the name of a kind of links or of traffic control, its end included.
const LONGEST_KIND: usize = 16;

impl<'a> Around<'a> {
    /// What the last attribute of this name said before, up to its zero byte, which may lie behind it.
    fn text(&self, name: &str) -> &'a [u8] {
        let mut said: &[u8] = &[];
        let mut rest = self.list.up_to(self.before);
        while let Some(head) = rest.first(HEAD) {
            let length = usize::from(short_at(head, 0));
            let number = u64::from(short_at(head, 2) & !(NESTED | NETWORK_ORDER));
            if self.attributes.names.name(number) == Some(name) {
                let bytes = rest.from(HEAD).readable();
                let bytes = &bytes[..bytes.len().min(LONGEST_KIND)];
                let end = bytes.iter().position(|byte| *byte == 0);
                said = end.map_or(&[], |end| &bytes[..end]);
            }
            match next(rest, length, HEAD) {
                Some(next) => rest = next,
                None => break,
            }
        }
        said
    }
}

impl<'a, S: ValueSink> Walk<'a, S> {
    /// Attributes one behind the other.
    pub(super) fn attributes(
        &mut self,
        attributes: &'static AttributeSet,
        span: Span<'a>,
        family: u8,
    ) {
        self.each_attribute(
            span,
            &mut |walk, number, payload, before| {
                let around = Around {
                    family,
                    list: span,
                    before,
                    attributes,
                };
                let held = attributes.kind(number);
                held.is_some_and(|held| walk.held(held, payload, around))
            },
            attributes.names,
        );
    }

    /// Attributes by family; bytes where none are known.
    pub(super) fn attributes_of_family(
        &mut self,
        known: &'static [(u8, &'static AttributeSet)],
        span: Span<'a>,
        family: u8,
    ) {
        match known.iter().find(|(of, _)| *of == family) {
            Some((_, attributes)) => self.attributes(attributes, span, family),
            None => self.span_in_hex(span),
        }
    }

    /// Walks over attributes; what they hold is shown by `show`, unless it says that it can't.
    fn each_attribute(
        &mut self,
        span: Span<'a>,
        show: &mut dyn FnMut(&mut Self, u16, Span<'a>, usize) -> bool,
        names: &'static Names,
    ) {
        let mut rest = span;
        let mut count = 0;
        loop {
            let list = count > 0;
            let Some(head) = self.head(rest, HEAD, list) else {
                break;
            };
            if !self.style.verbose && count == self.style.elements {
                self.sink.more(Bracket::Array, false);
                break;
            }
            let length = usize::from(short_at(head, 0));
            let next = next(rest, length, HEAD);
            if !list && next.is_some() {
                self.sink.begin(Bracket::Array);
            }
            if list {
                self.sink.item(false);
            } else if next.is_some() {
                self.sink.item(true);
            }
            let payload = rest.up_to(length).from(HEAD);
            let number = short_at(head, 2);
            if payload.length > 0 {
                self.sink.begin(Bracket::Array);
                self.sink.item(true);
            }
            self.attribute_head(length, number, names);
            if payload.length > 0 {
                self.sink.item(false);
                let number = number & !(NESTED | NETWORK_ORDER);
                if !show(self, number, payload, span.length - rest.length) {
                    self.span_in_hex(payload);
                }
                self.sink.end(Bracket::Array);
            }
            count += 1;
            match next {
                Some(next) => rest = next,
                None if list => break,
                None => return,
            }
        }
        if count > 0 {
            self.sink.end(Bracket::Array);
        }
    }

    fn attribute_head(&mut self, length: usize, number: u16, names: &'static Names) {
        self.sink.begin(Bracket::Structure);
        self.sink.field(true, "nla_len");
        self.sink.unsigned(length as u64);
        self.sink.field(false, "nla_type");
        let plain = u64::from(number & !(NESTED | NETWORK_ORDER));
        self.sink.words(|out, constants, _| {
            for (bit, name) in [
                (NESTED, "NLA_F_NESTED"),
                (NETWORK_ORDER, "NLA_F_NET_BYTEORDER"),
            ] {
                if number & bit != 0 {
                    format::constant(out, constants, NamedNumber::Hex(u64::from(bit)), |out| {
                        out.extend_from_slice(name.as_bytes())
                    });
                    out.push(b'|');
                }
            }
            format::constant(out, constants, NamedNumber::Hex(plain), |out| {
                format::one(out, plain, names)
            });
        });
        self.sink.end(Bracket::Structure);
    }

    /// Shows what an attribute holds; whether it can be that.
    fn held(&mut self, held: &'static AttributeKind, span: Span<'a>, around: Around<'a>) -> bool {
        const WORD: usize = 8;
        match held {
            AttributeKind::Is(kind) => return self.held_kind(*kind, span),
            AttributeKind::Word(kind) => return span.length <= WORD && self.held_kind(*kind, span),
            AttributeKind::Named(names) => {
                return span.length <= WORD && self.held_name(names, span);
            }
            AttributeKind::Number => return self.held_number(span),
            AttributeKind::Ticks => return span.length <= WORD && self.held_ticks(span),
            AttributeKind::Milliseconds => {
                return span.length <= WORD && self.held_milliseconds(span);
            }
            AttributeKind::Grown(structure, sizes) => {
                return self.held_grown(structure, sizes, span);
            }
            AttributeKind::Sized(structures) => {
                let fits = |structure: &&&StructureLayout| structure.size == span.length;
                let Some(structure) = structures.iter().find(fits) else {
                    return false;
                };
                return self.held_kind(ValueKind::Structure(structure), span);
            }
            AttributeKind::OrBytes(structure) => {
                if !self.held_kind(ValueKind::Structure(structure), span) {
                    self.span_as_text(span);
                }
            }
            AttributeKind::Several(kind) => return self.held_several(*kind, span, None),
            AttributeKind::AnySeveral(kind) => {
                self.held_several(*kind, span, None);
            }
            AttributeKind::Indexed(kind, names) => {
                return self.held_several(*kind, span, Some(names));
            }
            AttributeKind::Text => self.span_as_ended_text(span),
            AttributeKind::Terminated => self.span_up_to_zero(span),
            AttributeKind::Attributes(attributes) => {
                self.attributes(attributes, span, around.family)
            }
            AttributeKind::ByFamily(known) => self.attributes_of_family(known, span, around.family),
            AttributeKind::Families(known) => self.each_attribute(
                span,
                &mut |walk, number, payload, _| {
                    let family = number.to_le_bytes()[0];
                    walk.attributes_of_family(known, payload, family);
                    true
                },
                &flags::DOMAIN,
            ),
            AttributeKind::Listed(held) => self.each_attribute(
                span,
                &mut |walk, _, payload, _| walk.held(held, payload, around),
                &NAMELESS,
            ),
            AttributeKind::For(family, this, other) => {
                let held = if around.family == *family {
                    this
                } else {
                    other
                };
                return self.held(held, span, around);
            }
            AttributeKind::Before(kind, attributes) => {
                return self.held_before(*kind, span, |walk, rest| {
                    walk.attributes(attributes, rest, around.family)
                });
            }
            AttributeKind::BeforeBytes(kind) => {
                return self.held_before(*kind, span, Self::span_in_hex);
            }
            AttributeKind::Address => self.address_of_family(None, around.family, span),
            AttributeKind::Hardware(typed) => {
                return self.held_hardware(*typed, around.family, span);
            }
            AttributeKind::ByText(name, cases) => {
                let text = around.text(name);
                let Some((_, held)) = cases.iter().find(|(known, _)| known.as_bytes() == text)
                else {
                    return false;
                };
                return self.held(held, span, around);
            }
            AttributeKind::ByTextOr(name, cases, otherwise) => {
                let text = around.text(name);
                let found = cases.iter().find(|(known, _)| known.as_bytes() == text);
                let held = found.map_or(*otherwise, |(_, held)| held);
                return self.held(held, span, around);
            }
            AttributeKind::ByWay { received, sent } => {
                let receives = ["recv", "read"]
                    .iter()
                    .any(|word| self.row.name.starts_with(word));
                return self.held(if receives { received } else { sent }, span, around);
            }
            AttributeKind::Own(own) => return self.held_own(*own, span, around),
        }
        true
    }

    pub(super) fn held_kind(&mut self, kind: ValueKind, span: Span<'a>) -> bool {
        let size = self.size(kind);
        if span.length < size {
            return false;
        }
        match span.first(size) {
            Some(bytes) => self.place(kind, bytes, 0),
            None => self.address(span.address),
        }
        true
    }

    fn held_name(&mut self, names: &'static Names, span: Span<'a>) -> bool {
        match span.first(span.length) {
            Some(bytes) => self.one(load(bytes, span.length), names),
            None => self.address(span.address),
        }
        true
    }

    fn held_number(&mut self, span: Span<'a>) -> bool {
        if !matches!(span.length, 1 | 2 | 4 | 8) {
            return false;
        }
        match span.first(span.length) {
            Some(bytes) => self.sink.hex(load(bytes, span.length)),
            None => self.address(span.address),
        }
        true
    }

    fn held_ticks(&mut self, span: Span<'a>) -> bool {
        match span.first(span.length) {
            Some(bytes) => ticks(self.sink, load(bytes, span.length)),
            None => self.address(span.address),
        }
        true
    }

    fn held_milliseconds(&mut self, span: Span<'a>) -> bool {
        match span.first(span.length) {
            Some(bytes) => time_in_parts(self.sink, load(bytes, span.length), 3),
            None => self.address(span.address),
        }
        true
    }

    fn held_grown(
        &mut self,
        structure: &'static StructureLayout,
        sizes: &[usize],
        span: Span<'a>,
    ) -> bool {
        let size = if span.length >= structure.size {
            structure.size
        } else if sizes.contains(&span.length) {
            span.length
        } else {
            return false;
        };
        match span.first(size) {
            Some(bytes) => self.structure(structure, bytes, 0),
            None => self.address(span.address),
        }
        true
    }

    fn held_before(
        &mut self,
        kind: ValueKind,
        span: Span<'a>,
        behind: impl FnOnce(&mut Self, Span<'a>),
    ) -> bool {
        let size = self.size(kind);
        if !self.held_kind(kind, span) {
            return false;
        }
        if span.length > size {
            self.sink.item(false);
            behind(self, span.from(size));
        }
        true
    }

    /// So many elements as there is room for, with names of their places where they have any.
    pub(super) fn held_several(
        &mut self,
        kind: ValueKind,
        span: Span<'a>,
        names: Option<&'static Names>,
    ) -> bool {
        let size = self.size(kind).max(1);
        self.each_element(span, size, &mut |walk, index, bytes| {
            walk.sink.item(index == 0);
            if let Some(names) = names {
                walk.place_name(index, names);
            }
            walk.place(kind, bytes, 0);
        })
    }

    /// Walks over elements; whether there is room for one.
    pub(in crate::decode) fn each_element(
        &mut self,
        span: Span<'a>,
        size: usize,
        show: &mut dyn FnMut(&mut Self, usize, &'a [u8]),
    ) -> bool {
        let count = span.length / size;
        if count == 0 {
            return false;
        }
        if span.first(size).is_none() {
            self.address(span.address);
            return true;
        }
        let shown = count.min(self.shown_elements());
        self.sink.begin(Bracket::Array);
        for index in 0..shown {
            let element = span.from(index * size);
            match element.first(size) {
                Some(bytes) => show(self, index, bytes),
                None => {
                    self.sink.item(false);
                    self.sink.unreadable(element.address);
                    self.sink.end(Bracket::Array);
                    return true;
                }
            }
        }
        if count > shown {
            self.sink.more(Bracket::Array, shown == 0);
        }
        self.sink.end(Bracket::Array);
        true
    }

    /// What a place in an array is called, before what stands there.
    pub(in crate::decode) fn place_name(&mut self, index: usize, names: &'static Names) {
        self.sink
            .place(index, |out| match names.name(index as u64) {
                Some(name) => out.extend_from_slice(name.as_bytes()),
                None => {
                    format::unsigned(out, index as u64);
                    format::remark(out, names.unknown);
                }
            });
    }

    fn held_hardware(&mut self, typed: HardwareLength, family: u8, span: Span<'a>) -> bool {
        if span.length > HARDWARE {
            return false;
        }
        let Some(bytes) = span.first(span.length) else {
            self.address(span.address);
            return true;
        };
        let known = HARDWARE_LENGTHS.iter().find(|(of, _)| *of == family);
        let most = match (typed, known) {
            (HardwareLength::ByFamily, Some((_, most))) => *most,
            _ => HARDWARE,
        };
        self.hardware(bytes, most);
        true
    }
}
