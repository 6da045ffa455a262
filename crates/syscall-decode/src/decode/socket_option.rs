//! What sockets are set to: by level and option, as long as the program or the kernel says.
//!
//! A value that is too short is shown as bytes, or as an address.

use super::netlink::Span;
use super::sink::{Bracket, ValueSink};
use super::{Walk, int_at, load, long_at, short_at};
use crate::errno::error_by_number;
use crate::format::{self, ConstantStyle, NamedNumber};
use crate::table::option::names::{ICMP, PACKET_MEMBER, TCP_KEY_FLAGS};
use crate::table::option::{self, OptionKind};
use crate::table::{DataDirection, Names, StructureLayout};

const NUMBER: usize = 4;
const OPERATION: usize = 8;

impl<'a, S: ValueSink> Walk<'a, S> {
    fn option_asked(&self) -> (u32, u32, bool) {
        let [_, level, option, ..] = self.call.arguments;
        (level as u32, option as u32, self.row.name == "setsockopt")
    }

    /// The name of a socket's option.
    pub fn socket_option_name(&mut self, raw: u64) {
        let (level, option, set) = self.option_asked();
        match option::names_of(level, set) {
            Some(names) => self.one(u64::from(option), names),
            None => self.sink.unsigned(raw & 0xffff_ffff),
        }
    }

    /// How long an option is: nothing where that is no length.
    fn option_length(&mut self, way: DataDirection) -> Option<usize> {
        let length = self.call.arguments[4];
        if way == DataDirection::In {
            return usize::try_from(length as i32).ok();
        }
        if self.failed() {
            return None;
        }
        let number = |bytes: &[u8]| (bytes.len() == NUMBER).then(|| int_at(bytes, 0) as i32);
        let room = self
            .read_always(length, NUMBER, DataDirection::In)
            .and_then(number);
        let came = self
            .read(length, NUMBER, DataDirection::Out)
            .and_then(number);
        let (room, came) = (room.or(came)?, came?);
        (room > 0 && came > 0).then_some(came as usize)
    }

    /// What a socket is set to.
    pub fn socket_option(&mut self, raw: u64, way: DataDirection) {
        if raw == 0 || self.style.opaque {
            return self.address(raw);
        }
        let (level, option, set) = self.option_asked();
        let setting = option::setting(level, option, set);
        let length = match self.option_length(way) {
            Some(length) => length,
            // What was told may be longer than anything.
            None if way == DataDirection::In && takes_any_length(setting) => {
                self.size_of_argument(4)
            }
            None => return self.address(raw),
        };
        match setting {
            Some(setting) => self.setting(raw, way, length, setting),
            None if length == NUMBER => self.option_number(raw, way, None),
            None => self.buffer(raw, length, way),
        }
    }

    fn setting(
        &mut self,
        raw: u64,
        way: DataDirection,
        length: usize,
        setting: &'static OptionKind,
    ) {
        match setting {
            OptionKind::Number if length < NUMBER => self.short_option(raw, way, length),
            OptionKind::Named(_) if length < NUMBER => self.short_option(raw, way, length),
            OptionKind::Number | OptionKind::Always => self.option_number(raw, way, None),
            OptionKind::Named(names) => self.option_number(raw, way, Some(names)),
            OptionKind::ExactName(_) | OptionKind::PortRange if length != NUMBER => {
                self.option_in_hex(raw, way, length)
            }
            OptionKind::ExactName(names) => self.option_name(raw, way, names),
            OptionKind::PortRange => self.option_ports(raw, way),
            OptionKind::LongName(_) if length < NUMBER => self.address(raw),
            OptionKind::LongNumber if length < NUMBER && way == DataDirection::Out => {
                self.address(raw)
            }
            OptionKind::LongNumber => self.option_number(raw, way, None),
            OptionKind::LongName(names) => self.option_name(raw, way, names),
            OptionKind::SegmentKey => self.option_key(raw, way, length),
            OptionKind::Error if length < NUMBER => self.short_option(raw, way, length),
            OptionKind::Error => self.option_error(raw, way),
            OptionKind::Numbers => self.option_numbers(raw, way, length),
            OptionKind::Partial(structure) => self.option_part(raw, way, length, structure),
            OptionKind::Whole(structure) if length >= structure.size => {
                self.option_whole(raw, way, structure)
            }
            OptionKind::Exact(structure) if length == structure.size => {
                self.option_whole(raw, way, structure)
            }
            OptionKind::Whole(_) | OptionKind::Exact(_) => self.address(raw),
            OptionKind::Member => self.option_member(raw, way, length),
            OptionKind::Filter => self.option_filter(raw, way, length),
            OptionKind::Operations => self.option_operations(raw, way, length),
            OptionKind::Messages => self.option_messages(raw, way, length),
        }
    }

    fn option_bytes(&mut self, raw: u64, length: usize, way: DataDirection) -> Option<&'a [u8]> {
        let bytes = self.read(raw, length, way);
        let bytes = bytes.filter(|bytes| bytes.len() >= length);
        if bytes.is_none() {
            self.address(raw);
        }
        bytes.map(|bytes| &bytes[..length])
    }

    /// Of what is too short: what the kernel said of it; what a program said isn't looked at.
    fn short_option(&mut self, raw: u64, way: DataDirection, length: usize) {
        if way == DataDirection::In {
            return self.address(raw);
        }
        if let Some(bytes) = self.option_bytes(raw, length, way) {
            self.sink.binary(bytes, false);
        }
    }

    fn option_number(&mut self, raw: u64, way: DataDirection, names: Option<&'static Names>) {
        let Some(bytes) = self.option_bytes(raw, NUMBER, way) else {
            return;
        };
        let value = int_at(bytes, 0);
        self.sink.begin(Bracket::Array);
        self.sink.item(true);
        match names {
            Some(names) => {
                let number = NamedNumber::Signed(i64::from(value as i32));
                self.sink
                    .constant(number, |out| match names.name(u64::from(value)) {
                        Some(name) => out.extend_from_slice(name.as_bytes()),
                        None => {
                            format::signed(out, i64::from(value as i32));
                            format::remark(out, names.unknown);
                        }
                    });
            }
            None => self.sink.signed(i64::from(value as i32)),
        }
        self.sink.end(Bracket::Array);
    }

    /// Bytes that are never shown as text, as many as a string has.
    fn option_in_hex(&mut self, raw: u64, way: DataDirection, length: usize) {
        if length == 0 {
            return self.sink.binary(&[], false);
        }
        let shown = length.min(self.style.string);
        if let Some(bytes) = self.option_bytes(raw, shown, way) {
            self.sink.binary(bytes, shown < length);
        }
    }

    /// A number in brackets that has a name.
    fn option_name(&mut self, raw: u64, way: DataDirection, names: &'static Names) {
        if let Some(bytes) = self.option_bytes(raw, NUMBER, way) {
            self.sink.begin(Bracket::Array);
            self.sink.item(true);
            self.one(u64::from(int_at(bytes, 0)), names);
            self.sink.end(Bracket::Array);
        }
    }

    /// The first and the last port of a range; zero stands for no bound.
    fn option_ports(&mut self, raw: u64, way: DataDirection) {
        let Some(bytes) = self.option_bytes(raw, NUMBER, way) else {
            return;
        };
        let (first, last) = (short_at(bytes, 0), short_at(bytes, 2));
        self.sink.begin(Bracket::Array);
        self.sink.item(true);
        self.sink.hex(u64::from(int_at(bytes, 0)));
        let named = self.sink.constants() != ConstantStyle::Numbers;
        // A range that ends before it begins is none.
        let is_range = last == 0 && first != 0 || last != 0 && first <= last;
        if named && is_range {
            self.sink.aside(|out| {
                if first != 0 {
                    format::unsigned(out, u64::from(first));
                }
                out.extend_from_slice(b"..");
                if last != 0 {
                    format::unsigned(out, u64::from(last));
                }
            });
        }
        self.sink.end(Bracket::Array);
    }

    /// A key that signs a connection's segments; what a program leaves out of it is zero.
    fn option_key(&mut self, raw: u64, way: DataDirection, length: usize) {
        const SIZE: usize = 288;
        if length == 0 {
            return self.address(raw);
        }
        let Some(bytes) = self.option_bytes(raw, length.min(SIZE), way) else {
            return;
        };
        let mut whole = [0; SIZE];
        whole[..bytes.len()].copy_from_slice(bytes);
        let mut walk = Walk::showing(self.call, self.row, &mut *self.sink, self.style);
        walk.segment_key(&whole);
    }

    fn segment_key(&mut self, bytes: &'a [u8]) {
        const ADDRESS: usize = 128;
        const NAME: usize = 64;
        const KEY: usize = 80;
        self.sink.begin(Bracket::Structure);
        self.sink.field(true, "addr");
        self.socket_address_at(&bytes[..ADDRESS]);
        let number = |walk: &mut Self, name: &str, value: u64| {
            walk.sink.field(false, name);
            walk.sink.unsigned(value);
        };
        number(self, "prefix", u64::from(bytes[202]));
        self.ended("alg_name", &bytes[ADDRESS..ADDRESS + NAME]);
        self.sink.field(false, "ifindex");
        self.interface(int_at(bytes, 192));
        let bits = u64::from(int_at(bytes, 196));
        number(self, "set_current", bits & 1);
        number(self, "set_rnext", bits >> 1 & 1);
        number(self, "sndid", u64::from(bytes[203]));
        number(self, "rcvid", u64::from(bytes[204]));
        number(self, "maclen", u64::from(bytes[205]));
        self.sink.field(false, "keyflags");
        self.flags(u64::from(bytes[206]), &TCP_KEY_FLAGS);
        let length = usize::from(bytes[207]);
        self.sink.field(false, "key");
        self.sink.binary(&bytes[208..208 + length.min(KEY)], false);
        number(self, "keylen", length as u64);
        self.sink.end(Bracket::Structure);
    }

    fn option_error(&mut self, raw: u64, way: DataDirection) {
        if let Some(bytes) = self.option_bytes(raw, NUMBER, way) {
            let value = int_at(bytes, 0);
            self.sink.begin(Bracket::Array);
            self.sink.item(true);
            match error_by_number(i64::from(value)).filter(|_| value != 0) {
                Some((name, _)) => {
                    let number = NamedNumber::Unsigned(u64::from(value));
                    self.sink
                        .constant(number, |out| out.extend_from_slice(name.as_bytes()));
                }
                None => self.sink.unsigned(u64::from(value)),
            }
            self.sink.end(Bracket::Array);
        }
    }

    fn option_numbers(&mut self, raw: u64, way: DataDirection, length: usize) {
        const NUMBERS: crate::table::ValueKind =
            crate::table::ValueKind::Unsigned(crate::table::IntegerWidth::Four);
        let room = self.call.arguments[4];
        let room = self
            .read_always(room, NUMBER, DataDirection::In)
            .map_or(length, |bytes| int_at(bytes, 0) as usize);
        self.elements(raw, way, NUMBERS, length.min(room) / NUMBER, 0);
    }

    /// A structure as far as it goes: a field that is cut is shown as bytes.
    fn option_part(
        &mut self,
        raw: u64,
        way: DataDirection,
        length: usize,
        structure: &'static StructureLayout,
    ) {
        let length = length.min(structure.size);
        let Some(bytes) = self.option_bytes(raw, length, way) else {
            return;
        };
        self.sink.begin(Bracket::Structure);
        for (index, field) in structure.fields.iter().enumerate() {
            let Some(rest) = bytes.get(field.at..).filter(|rest| !rest.is_empty()) else {
                break;
            };
            self.sink.field(index == 0, field.name);
            match rest.get(..self.size(field.kind)) {
                Some(whole) => self.place(field.kind, whole, 0),
                None => self.sink.binary(rest, false),
            }
        }
        self.sink.end(Bracket::Structure);
    }

    fn option_whole(&mut self, raw: u64, way: DataDirection, structure: &'static StructureLayout) {
        if let Some(bytes) = self.option_bytes(raw, structure.size, way) {
            self.structure(structure, bytes, 0);
        }
    }

    fn option_member(&mut self, raw: u64, way: DataDirection, length: usize) {
        const SIZE: usize = 16;
        if length != SIZE {
            return self.address(raw);
        }
        let Some(bytes) = self.option_bytes(raw, SIZE, way) else {
            return;
        };
        self.sink.begin(Bracket::Structure);
        self.sink.field(true, "mr_ifindex");
        self.interface(int_at(bytes, 0));
        self.sink.field(false, "mr_type");
        self.one(u64::from(short_at(bytes, 4)), &PACKET_MEMBER);
        self.sink.field(false, "mr_alen");
        let length = short_at(bytes, 6);
        self.sink.unsigned(u64::from(length));
        self.sink.field(false, "mr_address");
        let address = &bytes[8..];
        let address = &address[..address.len().min(usize::from(length))];
        self.hardware(address, address.len());
        self.sink.end(Bracket::Structure);
    }

    fn option_filter(&mut self, raw: u64, way: DataDirection, length: usize) {
        const SIZE: usize = 16;
        if length != SIZE {
            return self.address(raw);
        }
        let Some(bytes) = self.option_bytes(raw, SIZE, way) else {
            return;
        };
        let count = usize::from(short_at(bytes, 0));
        self.sink.begin(Bracket::Structure);
        self.sink.field(true, "len");
        self.sink.unsigned(count as u64);
        self.sink.field(false, "filter");
        self.operations(long_at(bytes, 8), DataDirection::In, count);
        self.sink.end(Bracket::Structure);
    }

    fn option_operations(&mut self, raw: u64, way: DataDirection, count: usize) {
        if count > usize::from(u16::MAX) {
            return self.address(raw);
        }
        self.operations(raw, way, count);
    }

    /// Operations of a filter, where everything is asked for.
    fn operations(&mut self, raw: u64, way: DataDirection, count: usize) {
        if !self.style.verbose || raw == 0 {
            return self.address(raw);
        }
        let length = count * OPERATION;
        let bytes = self.read(raw, length, way).unwrap_or(&[]);
        if count == 0 {
            self.sink.begin(Bracket::Array);
            self.sink.end(Bracket::Array);
            return;
        }
        let span = Span::new(raw, length, bytes);
        self.each_element(span, OPERATION, &mut |walk, index, bytes| {
            walk.sink.item(index == 0);
            walk.filter_operation(bytes);
        });
    }

    /// Which messages are let through: those that aren't, where these are fewer.
    fn option_messages(&mut self, raw: u64, way: DataDirection, length: usize) {
        if length == 0 {
            return self.address(raw);
        }
        let Some(bytes) = self.option_bytes(raw, length.min(NUMBER), way) else {
            return;
        };
        // What isn't said lets nothing through.
        let said = load(bytes, bytes.len()) as u32;
        let bits = match bytes.len() {
            NUMBER => said,
            few => said | u32::MAX << (8 * few),
        };
        self.sink.words(|out, constants, _| {
            let mut shown = bits;
            if bits.count_ones() > u32::BITS / 2 {
                out.push(b'~');
                shown = !bits;
            }
            out.push(b'[');
            let mut first = true;
            for bit in (0..u32::BITS).filter(|bit| shown & (1 << bit) != 0) {
                if !first {
                    out.push(b' ');
                }
                first = false;
                let bit = u64::from(bit);
                format::constant(out, constants, NamedNumber::Hex(bit), |out| {
                    format::one(out, bit, &ICMP)
                });
            }
            out.push(b']');
        });
    }
}

/// Whether something is looked at although its length is no length.
fn takes_any_length(setting: Option<&OptionKind>) -> bool {
    matches!(
        setting,
        None | Some(OptionKind::LongNumber | OptionKind::PortRange)
    )
}
