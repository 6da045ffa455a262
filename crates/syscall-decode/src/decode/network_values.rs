//! What networks have in forms of their own: addresses, ports, interfaces, numbers in the network's order of bytes.
//!
//! Names of interfaces are the resolver's, since they are the machine's. Only the loopback's number is the same everywhere.

use super::sink::{Bracket, ValueSink};
use super::{Walk, device_major, device_minor, int_at, load, long_at, short_at, ticks};
use crate::format::{self, NamedNumber};
use crate::table::netlink::names::diag::ETHERNET;
use crate::table::{IntegerWidth, NetworkKind, ValueKind};

/// The number that the kernel gives the loopback interface of each network.
const LOOPBACK: u32 = 1;

impl NetworkKind {
    /// How many bytes it takes.
    pub(super) fn size(self, narrow: bool) -> usize {
        match self {
            NetworkKind::Interface
            | NetworkKind::Int
            | NetworkKind::Bits
            | NetworkKind::Inet
            | NetworkKind::Device => 4,
            NetworkKind::Hardware(size) | NetworkKind::Bytes(size) => size,
            NetworkKind::Short | NetworkKind::Port | NetworkKind::Protocol(_) => 2,
            NetworkKind::Long => 8,
            NetworkKind::WideInet | NetworkKind::Inet6 | NetworkKind::Uuid => 16,
            NetworkKind::Padded(IntegerWidth::Eight) if narrow => 4,
            NetworkKind::Padded(width)
            | NetworkKind::Named(width, _)
            | NetworkKind::Flags(width, _)
            | NetworkKind::Ticks(width) => width.bytes(),
            NetworkKind::Indexed(width, count, _) => width.bytes() * count,
        }
    }
}

impl<'a, S: ValueSink> Walk<'a, S> {
    /// Shows such a thing.
    pub(super) fn wire(&mut self, wire: NetworkKind, bytes: &'a [u8]) {
        match wire {
            NetworkKind::Interface => self.interface(int_at(bytes, 0)),
            NetworkKind::Padded(_) => {
                let (value, width) = (load(bytes, bytes.len()), 2 * bytes.len());
                self.sink.word(|out| put_padded(out, value, width));
            }
            NetworkKind::Hardware(_) => self.hardware(bytes, bytes.len()),
            NetworkKind::Bytes(size) if self.pads_texts && bytes.len() < size && size <= 16 => {
                let mut whole = [0; 16];
                whole[..bytes.len()].copy_from_slice(bytes);
                self.sink.binary(&whole[..size], false);
            }
            NetworkKind::Bytes(_) => self.sink.binary(bytes, false),
            NetworkKind::Uuid => self.sink.word(|out| format::uuid(out, bytes)),
            NetworkKind::Short => {
                self.network_order("htons", u64::from(short_at(bytes, 0).swap_bytes()))
            }
            NetworkKind::Int => {
                self.network_order("htonl", u64::from(int_at(bytes, 0).swap_bytes()))
            }
            NetworkKind::Port => self.port_number(bytes),
            NetworkKind::Long => self.network_order("htobe64", long_at(bytes, 0).swap_bytes()),
            NetworkKind::Bits => {
                let value = u64::from(int_at(bytes, 0).swap_bytes());
                self.sink.word(|out| {
                    out.extend_from_slice(b"htonl(");
                    format::hex(out, value);
                    out.push(b')');
                });
            }
            NetworkKind::Protocol(unknown) => {
                self.packet_protocol(short_at(bytes, 0).swap_bytes(), unknown)
            }
            NetworkKind::Inet | NetworkKind::Inet6 => self.internet_address(None, true, bytes),
            NetworkKind::WideInet => self.internet_address_in(None, true, &bytes[..4], bytes),
            NetworkKind::Named(..) | NetworkKind::Flags(..) => {
                let value = load(bytes, bytes.len());
                self.sink
                    .constant_with_number(NamedNumber::Hex(value), |out| match wire {
                        NetworkKind::Flags(_, names) => format::flags(out, value, names),
                        NetworkKind::Named(_, names) => format::one(out, value, names),
                        _ => {}
                    });
            }
            NetworkKind::Indexed(width, _, names) => {
                self.sink.begin(Bracket::Array);
                for (index, element) in bytes.chunks_exact(width.bytes()).enumerate() {
                    self.sink.item(index == 0);
                    self.place_name(index, names);
                    self.place(ValueKind::Unsigned(width), element, 0);
                }
                self.sink.end(Bracket::Array);
            }
            NetworkKind::Device => {
                let device = u64::from(int_at(bytes, 0));
                self.device(device_major(device), device_minor(device));
            }
            NetworkKind::Ticks(_) => ticks(self.sink, load(bytes, bytes.len())),
        }
    }

    /// An interface's number.
    pub(super) fn interface(&mut self, number: u32) {
        let name = match number {
            0 => None,
            LOOPBACK => Some("lo".to_owned()),
            _ => self.sink.interface_name(number),
        };
        let Some(name) = name else {
            return self.sink.unsigned(u64::from(number));
        };
        let value = NamedNumber::Unsigned(u64::from(number));
        self.sink.words(|out, constants, escapes| {
            format::constant(out, constants, value, |out| {
                out.extend_from_slice(b"if_nametoindex(");
                format::quoted(out, name.as_bytes(), escapes);
                out.push(b')');
            })
        });
    }

    /// A port, as two bytes in the network's order.
    pub(super) fn port_number(&mut self, bytes: &[u8]) {
        let port = u64::from(short_at(bytes, 0).swap_bytes());
        self.sink.constant_bytes(&bytes[..2], |out, _| {
            out.extend_from_slice(b"htons(");
            format::unsigned(out, port);
            out.push(b')');
        });
    }

    fn network_order(&mut self, called: &str, value: u64) {
        self.sink.word(|out| {
            out.extend_from_slice(called.as_bytes());
            out.push(b'(');
            format::unsigned(out, value);
            out.push(b')');
        });
    }

    /// The protocol of a packet.
    pub(super) fn packet_protocol(&mut self, protocol: u16, unknown: &'static str) {
        let value = u64::from(protocol);
        self.sink.words(|out, constants, _| {
            out.extend_from_slice(b"htons(");
            format::constant(
                out,
                constants,
                NamedNumber::Hex(value),
                |out| match ETHERNET.name(value) {
                    Some(name) => out.extend_from_slice(name.as_bytes()),
                    None => {
                        format::hex(out, value);
                        format::remark(out, unknown);
                    }
                },
            );
            out.push(b')');
        });
    }

    /// A device's address, no more than so many bytes of it in words.
    pub(super) fn hardware(&mut self, bytes: &[u8], most: usize) {
        let shown = &bytes[..bytes.len().min(most)];
        self.sink.constant_bytes(bytes, |out, _| {
            for (index, byte) in shown.iter().enumerate() {
                if index > 0 {
                    out.push(b':');
                }
                format::hex_padded(out, u64::from(*byte), 2);
            }
        });
    }

    /// An address of four bytes or sixteen, with the name of its field where it has one.
    pub(super) fn internet_address(&mut self, name: Option<&str>, first: bool, bytes: &[u8]) {
        self.internet_address_in(name, first, bytes, bytes);
    }

    /// The same, of an address that more bytes than its own are there for.
    pub(super) fn internet_address_in(
        &mut self,
        name: Option<&str>,
        first: bool,
        bytes: &[u8],
        whole: &[u8],
    ) {
        use std::io::Write as _;
        let mut text = [0; 46];
        let mut rest = &mut text[..];
        // No address is longer than this.
        let four = bytes.len() == 4;
        let _ = match <[u8; 16]>::try_from(bytes) {
            Ok(six) => write!(rest, "{}", std::net::Ipv6Addr::from(six)),
            Err(_) => write!(rest, "{}.{}.{}.{}", bytes[0], bytes[1], bytes[2], bytes[3]),
        };
        let length = 46 - rest.len();
        let text = &text[..length];
        // The expression names the field itself, where it is shown.
        match name {
            Some(name) if !four && self.sink.names() => self.sink.nameless(first, name),
            Some(name) => self.sink.field(first, name),
            None => {}
        }
        let within = name.filter(|_| self.sink.names());
        self.sink.constant_bytes(whole, |out, escapes| {
            out.extend_from_slice(if four {
                b"inet_addr("
            } else {
                b"inet_pton(AF_INET6, "
            });
            format::quoted(out, text, escapes);
            if let (Some(name), false) = (within, four) {
                out.extend_from_slice(b", &");
                out.extend_from_slice(name.as_bytes());
            }
            out.push(b')');
        });
    }
}

/// A number with zeros before it up to this width, its prefix among that.
fn put_padded(out: &mut Vec<u8>, value: u64, width: usize) {
    if value == 0 {
        out.extend(std::iter::repeat_n(b'0', width));
    } else {
        out.extend_from_slice(b"0x");
        format::hex_padded(out, value, width - 2);
    }
}
