//! The addresses of sockets, by their family and as far as they go.
//!
//! An address that is shorter than its family's addresses is shown as bytes.

use super::sink::{Bracket, ValueSink};
use super::{Walk, int_at, long_at, short_at};
use crate::format::{self, ConstantStyle, NamedNumber};
use crate::table::address::{
    ALGORITHM, BLUETOOTH, CHANNEL, CLUSTER, CLUSTER_MEMBERS, CONNECTION, FAMILIES, MULTIPLEXED,
    NEAR_FIELD, NEAR_SERVICE, PACKET, REMOTE,
};
use crate::table::netlink::names::diag::ETHERNET;
use crate::table::option::names::TIPC_SCOPE;
use crate::table::{IntegerWidth, Names, NetworkKind, flags};

const INET: u16 = 2;
const INET6: u16 = 10;
const FAMILY: usize = 2;
/// As much of a path, and no more.
const PATH: usize = 108;
/// An address without the number of its interface.
const INET6_LEAST: usize = 24;
const CALL: usize = 7;
const RADIO: usize = 16;
/// The size of an address in a cluster (TIPC).
const CLUSTER_SIZE: usize = 16;

impl<'a, S: ValueSink> Walk<'a, S> {
    /// An address.
    pub(super) fn socket_address_at(&mut self, bytes: &'a [u8]) {
        self.sink.begin(Bracket::Structure);
        self.sink.field(true, "sa_family");
        let family = short_at(bytes, 0);
        self.one(u64::from(family), &flags::DOMAIN);
        if bytes.len() > FAMILY {
            self.family_address(family, bytes);
        }
        self.sink.end(Bracket::Structure);
    }

    fn family_address(&mut self, family: u16, bytes: &'a [u8]) {
        let known = FAMILIES.iter().find(|(known, _)| *known == family);
        match family {
            1 => self.unix_address(&bytes[FAMILY..]),
            INET if bytes.len() >= 16 => self.inet_address(bytes),
            3 if bytes.len() >= RADIO => self.amateur_address(bytes),
            INET6 if bytes.len() >= INET6_LEAST => self.inet6_address(bytes),
            17 if bytes.len() >= PACKET.size => self.packet_address(bytes),
            30 if bytes.len() >= CLUSTER_SIZE => self.cluster_address(bytes),
            31 => self.bluetooth_address(bytes),
            33 if bytes.len() >= REMOTE.size => self.remote_address(bytes),
            38 if bytes.len() > 24 => self.algorithm_address(bytes),
            39 if bytes.len() >= NEAR_FIELD.size => self.near_address(bytes),
            _ => match known {
                Some((_, structure)) if bytes.len() >= structure.size => {
                    self.fields(structure, bytes, 0, false);
                }
                _ => self.unknown_address(bytes),
            },
        }
    }

    fn unknown_address(&mut self, bytes: &[u8]) {
        self.sink.field(false, "sa_data");
        self.sink.text(&bytes[FAMILY..], false);
    }

    fn unix_address(&mut self, path: &[u8]) {
        let path = &path[..path.len().min(PATH)];
        self.sink.field(false, "sun_path");
        match path.split_first() {
            Some((0, name)) => self.sink.abstract_text(name),
            _ => {
                let length = path.iter().position(|byte| *byte == 0);
                self.sink.text(&path[..length.unwrap_or(path.len())], false);
            }
        }
    }

    fn port(&mut self, name: &str, bytes: &[u8]) {
        self.sink.field(false, name);
        self.port_number(&bytes[2..4]);
    }

    fn inet_address(&mut self, bytes: &[u8]) {
        self.port("sin_port", bytes);
        self.internet_address(Some("sin_addr"), false, &bytes[4..8]);
    }

    fn inet6_address(&mut self, bytes: &[u8]) {
        self.port("sin6_port", bytes);
        self.sink.field(false, "sin6_flowinfo");
        let flow = u64::from(int_at(bytes, 4).swap_bytes());
        self.sink.constant_bytes(&bytes[4..8], |out, _| {
            out.extend_from_slice(b"htonl(");
            format::unsigned(out, flow);
            out.push(b')');
        });
        self.internet_address(Some("sin6_addr"), false, &bytes[8..INET6_LEAST]);
        if bytes.len() > INET6_LEAST {
            self.sink.field(false, "sin6_scope_id");
            let scope = int_at(bytes, INET6_LEAST);
            // Only such addresses have an interface for a scope.
            let linked = bytes[8] == 0xfe && bytes[9] & 0xc0 == 0x80
                || bytes[8] == 0xff && bytes[9] & 0xf == 2;
            if linked {
                self.interface(scope);
            } else {
                self.sink.unsigned(u64::from(scope));
            }
        }
    }

    fn packet_address(&mut self, bytes: &'a [u8]) {
        const BEGINS: usize = 12;
        self.sink.field(false, "sll_protocol");
        let protocol = u64::from(short_at(bytes, 2).swap_bytes());
        self.sink.constant_bytes(&bytes[2..4], |out, _| {
            out.extend_from_slice(b"htons(");
            match ETHERNET.name(protocol) {
                Some(name) => out.extend_from_slice(name.as_bytes()),
                None => {
                    format::hex(out, protocol);
                    format::remark(out, "ETH_P_???");
                }
            }
            out.push(b')');
        });
        self.fields(&PACKET, bytes, 0, false);
        let (said, there) = (usize::from(bytes[11]), &bytes[BEGINS..]);
        if said == 0 {
            return;
        }
        self.sink.field(false, "sll_addr");
        self.sink.begin(Bracket::Array);
        for (index, byte) in there.chunks_exact(1).take(said).enumerate() {
            self.sink.item(index == 0);
            self.wire(NetworkKind::Padded(IntegerWidth::One), byte);
        }
        if said > there.len() {
            self.sink.more(Bracket::Array, false);
        }
        self.sink.end(Bracket::Array);
    }

    /// Bluetooth's, of which the length alone says what they are.
    fn bluetooth_address(&mut self, bytes: &[u8]) {
        const DEVICE: usize = 4;
        const CHANNEL_OF_DEVICE: usize = 6;
        const VOICE: usize = 8;
        const SERIAL: usize = 10;
        const LINK: usize = 12;
        const LINK_OF_KIND: usize = 14;
        match bytes.len() {
            DEVICE | CHANNEL_OF_DEVICE => {
                self.sink.field(false, "hci_dev");
                let device = u64::from(short_at(bytes, 2));
                self.sink.word(|out| {
                    out.extend_from_slice(b"htobs(");
                    format::unsigned(out, device);
                    out.push(b')');
                });
                if bytes.len() == CHANNEL_OF_DEVICE {
                    self.sink.field(false, "hci_channel");
                    self.one(u64::from(short_at(bytes, 4)), &CHANNEL);
                }
            }
            VOICE => {
                self.sink.field(false, "sco_bdaddr");
                self.hardware(&bytes[2..8], 6);
            }
            SERIAL => {
                self.sink.field(false, "rc_bdaddr");
                self.hardware(&bytes[2..8], 6);
                self.sink.field(false, "rc_channel");
                self.sink.unsigned(u64::from(bytes[8]));
            }
            LINK | LINK_OF_KIND => {
                self.sink.field(false, "l2_psm");
                self.little_endian(
                    short_at(bytes, 2),
                    &MULTIPLEXED,
                    &[(0x80, 0xff), (0x1001, 0xffff)],
                );
                self.sink.field(false, "l2_bdaddr");
                self.hardware(&bytes[4..10], 6);
                self.sink.field(false, "l2_cid");
                self.little_endian(short_at(bytes, 10), &CONNECTION, &[(0x40, 0xffff)]);
                if bytes.len() == LINK_OF_KIND {
                    self.sink.field(false, "l2_bdaddr_type");
                    self.one(u64::from(bytes[12]), &BLUETOOTH);
                }
            }
            _ => self.unknown_address(bytes),
        }
    }

    /// A number with a name, or at some distance from one where ranges of numbers begin that are given out.
    fn little_endian(&mut self, value: u16, names: &'static Names, ranges: &[(u16, u16)]) {
        let within = |(from, to): &&(u16, u16)| (*from..=*to).contains(&value);
        let range = ranges.iter().find(within);
        let value = u64::from(value);
        self.sink.words(|out, constants, _| {
            out.extend_from_slice(b"htobs(");
            let from = range.map(|(from, _)| u64::from(*from));
            match (from, from.and_then(|from| names.name(from))) {
                (Some(from), Some(name))
                    if names.name(value).is_none() && constants != ConstantStyle::Numbers =>
                {
                    let both = constants == ConstantStyle::Both;
                    if both {
                        format::hex(out, value);
                        out.extend_from_slice(b" /* ");
                    }
                    format::constant(out, constants, NamedNumber::Hex(from), |out| {
                        out.extend_from_slice(name.as_bytes())
                    });
                    out.push(b'+');
                    format::unsigned(out, value - from);
                    if both {
                        out.extend_from_slice(b" */");
                    }
                }
                _ => format::constant(out, constants, NamedNumber::Hex(value), |out| {
                    format::one(out, value, names)
                }),
            }
            out.push(b')');
        });
    }

    /// An address within another one, for calls of remote procedures.
    fn remote_address(&mut self, bytes: &'a [u8]) {
        const BEGINS: usize = 8;
        self.fields(&REMOTE, bytes, 0, false);
        self.sink.field(false, "transport");
        self.sink.begin(Bracket::Structure);
        let said = usize::from(short_at(bytes, 6));
        let all = &bytes[BEGINS..];
        let inner = &all[..all.len().min(said)];
        let family = short_at(all, 0);
        let (name, member, least) = match family {
            INET => ("sin", "sin_family", 16),
            INET6 => ("sin6", "sin6_family", INET6_LEAST),
            _ => ("", "family", usize::MAX),
        };
        if !name.is_empty() {
            self.sink.field(true, name);
            self.sink.begin(Bracket::Structure);
        }
        self.sink.field(true, member);
        self.one(u64::from(family), &flags::DOMAIN);
        if said >= least && all.len() >= least {
            if family == INET {
                self.inet_address(all);
            } else {
                self.inet6_address(inner);
            }
        } else if inner.len() > FAMILY {
            self.sink.item(false);
            self.sink.text(&inner[FAMILY..], false);
        }
        if !name.is_empty() {
            self.sink.end(Bracket::Structure);
        }
        self.sink.end(Bracket::Structure);
    }

    /// What the kernel's cryptography is asked for.
    fn algorithm_address(&mut self, bytes: &'a [u8]) {
        const KIND: usize = 14;
        const NAME: usize = 24;
        self.ended("salg_type", &bytes[2..2 + KIND]);
        for (name, at) in [("salg_feat", 16), ("salg_mask", 20)] {
            self.sink.field(false, name);
            self.wire(
                NetworkKind::Flags(IntegerWidth::Four, &ALGORITHM),
                &bytes[at..at + 4],
            );
        }
        self.ended("salg_name", &bytes[NAME..]);
    }

    /// Text that ends with a zero byte, its last place kept for that.
    pub(super) fn ended(&mut self, name: &str, bytes: &[u8]) {
        let most = bytes.len().saturating_sub(1);
        let length = bytes.iter().position(|byte| *byte == 0);
        self.sink.field(false, name);
        self.sink
            .text(&bytes[..length.unwrap_or(most)], length.is_none());
    }

    fn cluster_address(&mut self, bytes: &'a [u8]) {
        const ADDRESS: usize = 4;
        let (kind, scope) = (bytes[2], bytes[3] as i8);
        self.sink.field(false, "addrtype");
        self.one(u64::from(kind), &CLUSTER);
        self.sink.field(false, "scope");
        self.cluster_scope(scope);
        self.sink.field(false, "addr");
        let address = &bytes[ADDRESS..CLUSTER_SIZE];
        match CLUSTER_MEMBERS.iter().find(|(known, _)| *known == kind) {
            Some((_, structure)) => self.structure(structure, address, 0),
            None => self.sink.text(address, false),
        }
    }

    /// How far an address reaches: of a negative number the sign stands before the name of what it is without.
    fn cluster_scope(&mut self, scope: i8) {
        if scope >= 0 {
            return self.one(scope as u64, &TIPC_SCOPE);
        }
        let bits = u64::from(i32::from(scope.wrapping_neg()) as u32);
        self.sink.words(|out, constants, _| {
            out.push(b'-');
            format::constant(out, constants, NamedNumber::Hex(bits), |out| {
                format::one(out, bits, &TIPC_SCOPE)
            });
        });
    }

    fn near_address(&mut self, bytes: &'a [u8]) {
        const SERVICE: usize = 63;
        self.fields(&NEAR_FIELD, bytes, 0, false);
        if bytes.len() < NEAR_SERVICE.size {
            if bytes.len() > NEAR_FIELD.size {
                self.sink.more(Bracket::Structure, false);
            }
            return;
        }
        self.fields(&NEAR_SERVICE, bytes, 0, false);
        let length = long_at(bytes, 88);
        let most = usize::try_from(length).unwrap_or(SERVICE).min(SERVICE);
        self.sink.field(false, "service_name");
        self.sink.text(&bytes[18..18 + most], false);
        self.sink.field(false, "service_name_len");
        self.sink.unsigned(length);
    }

    /// An amateur radio's, with those that are to repeat what is sent.
    fn amateur_address(&mut self, bytes: &'a [u8]) {
        const MOST: usize = 8;
        let said = int_at(bytes, 12) as i32;
        let full = said != 0 || bytes.len() > RADIO;
        if full {
            self.sink.field(false, "fsa_ax25");
            self.sink.begin(Bracket::Structure);
        }
        self.sink.field(full, "sax25_call");
        self.call_sign(&bytes[2..2 + CALL]);
        self.sink.field(false, "sax25_ndigis");
        self.sink.signed(i64::from(said));
        if !full {
            return;
        }
        self.sink.end(Bracket::Structure);
        let repeaters = &bytes[RADIO..];
        let there = (repeaters.len() / CALL).min(MOST);
        let wanted = usize::try_from(said).unwrap_or(0).min(MOST);
        if wanted > 0 {
            self.sink.field(false, "fsa_digipeater");
            self.sink.begin(Bracket::Array);
            let shown = repeaters.chunks_exact(CALL).take(there.min(wanted));
            for (index, call) in shown.enumerate() {
                self.sink.item(index == 0);
                self.call_sign(call);
            }
            if wanted > there {
                self.sink.more(Bracket::Array, there == 0);
            }
            self.sink.end(Bracket::Array);
        }
        if repeaters.len() > there * CALL {
            self.sink.more(Bracket::Structure, false);
        }
    }

    /// A call sign, in words where it is one.
    pub(super) fn call_sign(&mut self, bytes: &[u8]) {
        let style = call_style(bytes).unwrap_or(self.sink.constants());
        if style != ConstantStyle::Names {
            self.sink.begin(Bracket::Structure);
            self.sink.field(true, "ax25_call");
            self.sink.binary(bytes, false);
            self.sink.end(Bracket::Structure);
        }
        match style {
            ConstantStyle::Names => self.sink.word(|out| put_call(out, bytes)),
            ConstantStyle::Numbers => {}
            ConstantStyle::Both => self.sink.aside(|out| put_call(out, bytes)),
        }
    }
}

/// How a call sign must be shown: what isn't one with its bytes, what can't be written by these alone.
fn call_style(bytes: &[u8]) -> Option<ConstantStyle> {
    const LAST: usize = CALL - 1;
    let mut style = None;
    let (mut blank, mut letters) = (false, false);
    for byte in &bytes[..LAST] {
        let letter = byte >> 1;
        let known = letter.is_ascii_digit() || letter.is_ascii_uppercase() || letter == b' ';
        blank |= letter == b' ';
        letters |= letter != b' ';
        if byte & 1 != 0 || !known || letter != b' ' && blank {
            style = Some(ConstantStyle::Both);
        }
        if !(b' '..=b'~').contains(&letter) || letter == b'*' || letter == b'/' {
            return Some(ConstantStyle::Numbers);
        }
    }
    if bytes[LAST] & !0x1e != 0 || !letters && bytes[LAST] != 0 {
        style = Some(ConstantStyle::Both);
    }
    style
}

/// Writes a call sign: letters that are shifted by one bit, and a number behind them.
fn put_call(out: &mut Vec<u8>, bytes: &[u8]) {
    const LAST: usize = CALL - 1;
    let end = bytes[..LAST].iter().rposition(|byte| byte >> 1 != b' ');
    let end = end.map_or(0, |last| last + 1);
    let number = bytes[LAST] >> 1 & 15;
    if end == 0 && number == 0 {
        return out.push(b'*');
    }
    out.extend(bytes[..end].iter().map(|byte| byte >> 1));
    out.push(b'-');
    format::unsigned(out, u64::from(number));
}
