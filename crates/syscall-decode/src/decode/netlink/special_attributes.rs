//! Attributes that hold what no description says: routes of several ways, filters of sockets, keys, settings.
//!
//! Filters aren't disassembled; their parts are numbers.

use super::attributes::Around;
use super::{Span, next};
use crate::decode::sink::{Bracket, ValueSink};
use crate::decode::{Walk, int_at, load, short_at};
use crate::format::{self, NamedNumber};
use crate::table::netlink::names::diag as n;
use crate::table::netlink::{
    GROUP_HEAD, MULTIPATH, NEXT_HOP, ROUTING, SMC_BUFFER, SpecialAttribute, VIA_FAMILY,
};
use crate::table::{NetworkKind, ValueKind, flags};

const INET: u8 = 2;
const INET6: u8 = 10;
/// No more of a structure is looked at.
const PAGE: usize = 4096;

/// The settings of a socket that are a bit each, in their order.
const SETTINGS: [&str; 11] = [
    "recverr",
    "is_icsk",
    "freebind",
    "hdrincl",
    "mc_loop",
    "transparent",
    "mc_all",
    "nodefrag",
    "bind_address_no_port",
    "recverr_rfc4884",
    "defer_connect",
];

impl<'a, S: ValueSink> Walk<'a, S> {
    pub(super) fn held_own(
        &mut self,
        own: SpecialAttribute,
        span: Span<'a>,
        around: Around<'a>,
    ) -> bool {
        match own {
            SpecialAttribute::Multipath => self.ways(span, around),
            SpecialAttribute::Via => self.gateway(span),
            SpecialAttribute::Bytecode => self.bytecode(span),
            SpecialAttribute::SharedBuffer => self.shared_buffer(span),
            SpecialAttribute::Keys => self.keys(span),
            SpecialAttribute::Sockets => self.addresses(span),
            SpecialAttribute::Settings => self.settings(span),
            SpecialAttribute::Groups => self.groups(span),
            SpecialAttribute::Filter => self.filter_program(span),
            SpecialAttribute::Group => self.group(span),
            SpecialAttribute::Report => {
                self.sink.begin(Bracket::Structure);
                self.sink.field(true, "type");
                self.span_up_to_zero(span);
                self.sink.end(Bracket::Structure);
                true
            }
        }
    }

    /// An address of a family, with the name of the field that it is in, if it is in one.
    pub(super) fn address_of_family(&mut self, name: Option<&str>, family: u8, span: Span<'a>) {
        let size = match family {
            INET => 4,
            INET6 => 16,
            _ => 0,
        };
        match span.first(size).filter(|_| size > 0) {
            Some(bytes) => self.internet_address(name, false, bytes),
            None => {
                if let Some(name) = name {
                    self.sink.field(false, name);
                }
                if size == 0 || span.length < size {
                    self.span_in_hex(span);
                } else {
                    self.address(span.address);
                }
            }
        }
    }

    fn ways(&mut self, span: Span<'a>, around: Around<'a>) -> bool {
        let size = NEXT_HOP.size;
        if span.length < size {
            return false;
        }
        let mut rest = span;
        let mut list = false;
        loop {
            let Some(head) = rest.first(size) else {
                if list {
                    self.sink.item(false);
                }
                self.address(rest.address);
                break;
            };
            let length = usize::from(short_at(head, 0));
            if rest.length == span.length && length < span.length {
                self.sink.begin(Bracket::Array);
                list = true;
            }
            if list {
                self.sink.item(rest.length == span.length);
            }
            let held = rest.up_to(length);
            let more = held.length > size;
            if more {
                self.sink.begin(Bracket::Array);
                self.sink.item(true);
            }
            self.structure(&NEXT_HOP, head, 0);
            if more {
                self.sink.item(false);
                self.attributes(&MULTIPATH, held.from(size), around.family);
                self.sink.end(Bracket::Array);
            }
            // One that is shorter than its beginning leads nowhere.
            match next(rest, held.length, 1) {
                Some(next) => rest = next,
                None => break,
            }
        }
        if list {
            self.sink.end(Bracket::Array);
        }
        true
    }

    fn gateway(&mut self, span: Span<'a>) -> bool {
        let size = VIA_FAMILY.size;
        if span.length < size {
            return false;
        }
        let Some(bytes) = span.first(size) else {
            self.address(span.address);
            return true;
        };
        self.sink.begin(Bracket::Structure);
        self.fields(&VIA_FAMILY, bytes, 0, true);
        if span.length > size {
            let family = u8::try_from(short_at(bytes, 0)).unwrap_or(0);
            self.address_of_family(Some("rtvia_addr"), family, span.from(size));
        }
        self.sink.end(Bracket::Structure);
        true
    }

    /// An operation of a filter of sockets, and what it is given.
    fn bytecode(&mut self, span: Span<'a>) -> bool {
        const SIZE: usize = 4;
        if !self.bytecode_operation(span) {
            return false;
        }
        let code = span.first(1).map_or(0, |bytes| bytes[0]);
        if span.length > SIZE && span.first(SIZE).is_some() {
            self.sink.item(false);
            let given = span.from(SIZE);
            let shown = match code {
                // Comparisons of ports: another operation holds the port.
                2..=5 => self.bytecode_operation(given),
                7 | 8 => self.host(given),
                9 => self.held_kind(ValueKind::Wire(NetworkKind::Interface), given),
                10 => self.mark(given),
                _ => false,
            };
            if !shown {
                self.span_in_hex(given);
            }
        }
        true
    }

    fn bytecode_operation(&mut self, span: Span<'a>) -> bool {
        if span.length < 4 {
            return false;
        }
        let Some(bytes) = span.first(4) else {
            self.address(span.address);
            return true;
        };
        self.sink.begin(Bracket::Structure);
        self.sink.field(true, "code");
        self.one(u64::from(bytes[0]), &n::BYTECODE);
        self.sink.field(false, "yes");
        self.sink.unsigned(u64::from(bytes[1]));
        self.sink.field(false, "no");
        self.sink.unsigned(u64::from(short_at(bytes, 2)));
        self.sink.end(Bracket::Structure);
        true
    }

    fn mark(&mut self, span: Span<'a>) -> bool {
        if span.length < 8 {
            return false;
        }
        let Some(bytes) = span.first(8) else {
            self.address(span.address);
            return true;
        };
        self.sink.begin(Bracket::Structure);
        for (index, name) in ["mark", "mask"].into_iter().enumerate() {
            self.sink.field(index == 0, name);
            self.sink.unsigned(u64::from(int_at(bytes, 4 * index)));
        }
        self.sink.end(Bracket::Structure);
        true
    }

    fn host(&mut self, span: Span<'a>) -> bool {
        const SIZE: usize = 8;
        if span.length < SIZE {
            return false;
        }
        let Some(bytes) = span.first(SIZE) else {
            self.address(span.address);
            return true;
        };
        self.sink.begin(Bracket::Structure);
        self.sink.field(true, "family");
        self.one(u64::from(bytes[0]), &flags::DOMAIN);
        self.sink.field(false, "prefix_len");
        self.sink.unsigned(u64::from(bytes[1]));
        self.sink.field(false, "port");
        self.sink.unsigned(u64::from(int_at(bytes, 4)));
        if span.length > SIZE {
            self.address_of_family(Some("addr"), bytes[0], span.from(SIZE));
        }
        self.sink.end(Bracket::Structure);
        true
    }

    /// A buffer, with the upper halves of its identifiers where anything is behind it: what is missing of them is zero.
    fn shared_buffer(&mut self, span: Span<'a>) -> bool {
        const HALF: usize = 8;
        let size = SMC_BUFFER.size;
        if span.length < size {
            return false;
        }
        let there = span.up_to(size + 2 * HALF);
        let Some(bytes) = there.first(there.length) else {
            self.address(span.address);
            return true;
        };
        let (known, halves) = bytes.split_at(size);
        self.sink.begin(Bracket::Structure);
        self.fields(&SMC_BUFFER, known, 0, true);
        if !halves.is_empty() {
            let (first, second) = halves.split_at(halves.len().min(HALF));
            for (name, half) in [("peer_gid_ext", first), ("my_gid_ext", second)] {
                self.sink.field(false, name);
                self.sink.hex(load(half, HALF));
            }
        }
        self.sink.end(Bracket::Structure);
        true
    }

    fn keys(&mut self, span: Span<'a>) -> bool {
        const SIZE: usize = 100;
        const KEY: usize = 80;
        self.each_element(span, SIZE, &mut |walk, index, bytes| {
            walk.sink.item(index == 0);
            walk.sink.begin(Bracket::Structure);
            walk.sink.field(true, "tcpm_family");
            walk.one(u64::from(bytes[0]), &flags::DOMAIN);
            walk.sink.field(false, "tcpm_prefixlen");
            walk.sink.unsigned(u64::from(bytes[1]));
            walk.sink.field(false, "tcpm_keylen");
            let length = usize::from(short_at(bytes, 2));
            walk.sink.unsigned(length as u64);
            let address = Span::new(0, 16, &bytes[4..20]);
            walk.address_of_family(Some("tcpm_addr"), bytes[0], address);
            walk.sink.field(false, "tcpm_key");
            walk.sink.binary(&bytes[20..20 + length.min(KEY)], false);
            walk.sink.end(Bracket::Structure);
        })
    }

    fn addresses(&mut self, span: Span<'a>) -> bool {
        const SIZE: usize = 128;
        self.each_element(span, SIZE, &mut |walk, index, bytes| {
            walk.sink.item(index == 0);
            walk.socket_address_at(bytes);
        })
    }

    fn settings(&mut self, span: Span<'a>) -> bool {
        const SIZE: usize = 2;
        if span.length < SIZE {
            return false;
        }
        let Some(bytes) = span.first(SIZE) else {
            self.address(span.address);
            return true;
        };
        let bits = short_at(bytes, 0);
        self.sink.begin(Bracket::Structure);
        let mut first = true;
        for (place, name) in SETTINGS.into_iter().enumerate() {
            let bit = (bits >> place) & 1;
            if self.style.verbose || bit != 0 {
                self.sink.field(first, name);
                first = false;
                self.sink.unsigned(u64::from(bit));
            }
        }
        let unused = u64::from(bits >> SETTINGS.len());
        if self.style.verbose || unused != 0 {
            self.sink.field(first, "unused");
            self.sink.hex(unused);
            self.sink.aside(|out| out.extend_from_slice(b"bits 3..8"));
        }
        self.sink.end(Bracket::Structure);
        self.rest_in_hex(span, SIZE, false);
        true
    }

    fn groups(&mut self, span: Span<'a>) -> bool {
        const SIZE: usize = 44;
        const LONGEST: usize = 32;
        self.each_element(span, SIZE, &mut |walk, index, bytes| {
            walk.sink.item(index == 0);
            walk.sink.begin(Bracket::Structure);
            walk.sink.field(true, "pdmc_index");
            walk.interface(int_at(bytes, 0));
            walk.sink.field(false, "pdmc_count");
            walk.sink.unsigned(u64::from(int_at(bytes, 4)));
            walk.sink.field(false, "pdmc_type");
            walk.sink.unsigned(u64::from(short_at(bytes, 8)));
            walk.sink.field(false, "pdmc_alen");
            let length = usize::from(short_at(bytes, 10));
            walk.sink.unsigned(length as u64);
            walk.sink.field(false, "pdmc_addr");
            walk.sink
                .binary(&bytes[12..12 + length.min(LONGEST)], false);
            walk.sink.end(Bracket::Structure);
        })
    }

    fn filter_program(&mut self, span: Span<'a>) -> bool {
        const SIZE: usize = 8;
        let count = span.length / SIZE;
        if count == 0 || count > usize::from(u16::MAX) {
            return false;
        }
        if !self.style.verbose {
            self.address(span.address);
            return true;
        }
        self.each_element(span, SIZE, &mut |walk, index, bytes| {
            walk.sink.item(index == 0);
            walk.filter_operation(bytes);
        })
    }

    fn group(&mut self, span: Span<'a>) -> bool {
        const SIZE: usize = 28;
        if span.length < SIZE {
            return false;
        }
        match span.first(SIZE) {
            Some(bytes) => {
                self.sink.begin(Bracket::Structure);
                self.fields(GROUP_HEAD, bytes, 0, true);
                self.sink.field(false, "addr");
                self.sink.begin(Bracket::Structure);
                let protocol = short_at(bytes, 24).swap_bytes();
                self.group_address(protocol, &bytes[8..24]);
                self.sink.field(false, "proto");
                let family = u64::from(protocol);
                self.sink.words(|out, constants, _| {
                    out.extend_from_slice(b"htons(");
                    format::constant(out, constants, NamedNumber::Hex(family), |out| {
                        format::one(out, family, &flags::DOMAIN)
                    });
                    out.push(b')');
                });
                self.sink.end(Bracket::Structure);
                self.sink.end(Bracket::Structure);
            }
            None => self.address(span.address),
        }
        if span.length > SIZE {
            self.sink.item(false);
            self.attributes(ROUTING.group_times(), span.from(SIZE), 0);
        }
        true
    }

    fn group_address(&mut self, protocol: u16, bytes: &'a [u8]) {
        match u8::try_from(protocol) {
            Ok(INET) => self.internet_address(Some("u"), true, &bytes[..4]),
            Ok(INET6) => self.internet_address(Some("u"), true, bytes),
            _ => {
                self.sink.field(true, "u");
                self.sink.binary(bytes, false);
            }
        }
    }

    /// Whether there is anything but zeros behind a structure, or it can't be seen.
    pub(in crate::decode) fn has_rest(&self, span: Span<'a>, from: usize) -> bool {
        let whole = span.up_to(PAGE);
        let rest = whole.from(from);
        match rest.first(rest.length) {
            _ if whole.length <= from => false,
            Some(bytes) => bytes.iter().any(|byte| *byte != 0),
            None => true,
        }
    }

    /// What stands behind a structure where that isn't all zero, with where it stands.
    pub(in crate::decode) fn rest_in_hex(&mut self, span: Span<'a>, from: usize, first: bool) {
        let whole = span.up_to(PAGE);
        if whole.length <= from {
            return;
        }
        let rest = whole.from(from);
        let end = whole.length - 1;
        match rest.first(rest.length) {
            Some(bytes) if bytes.iter().all(|byte| *byte == 0) => {}
            Some(bytes) => {
                self.sink.nameless(first, "rest");
                self.sink.note(|out| {
                    out.extend_from_slice(b"/* bytes ");
                    format::unsigned(out, from as u64);
                    out.extend_from_slice(b"..");
                    format::unsigned(out, end as u64);
                    out.extend_from_slice(b" */ ");
                });
                let shown = bytes.len().min(self.style.string);
                self.sink.binary(&bytes[..shown], shown < bytes.len());
            }
            None => {
                self.sink.nameless(first, "rest");
                self.sink.word(|out| out.extend_from_slice(b"???"));
            }
        }
    }
}
