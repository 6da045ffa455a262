//! What goes through netlink sockets: messages one behind the other, each with what its family has in it.
//!
//! A message says its own length and an attribute does too; neither is believed further than memory goes that was sent or
//! received. Families whose numbers the running kernel chose are named by the resolver.

mod attributes;
mod span;
mod special_attributes;

use super::sink::{Bracket, ValueSink};
use super::{Walk, int_at, short_at};
use crate::format::{self, NamedNumber};
use crate::table::netlink::names::message as n;
use crate::table::netlink::{
    ALGORITHM, ALGORITHM_ATTRIBUTES, CONTROL_MESSAGE, ERROR, MessageAttributes, MessageLayout,
    NAMELESS, NETFILTER, OTHER_MESSAGE, ROUTING, SELINUX, Sockets, UDEV,
};
use crate::table::{DataDirection, Names, PidKind, StructureLayout, flags};
pub(super) use span::Span;

const HEAD: usize = 16;
/// Kinds of messages below this are the same in all families.
const FIRST_KIND: u16 = 16;
const ERROR_KIND: u16 = 2;
const DONE: u16 = 3;
const CAPPED: u16 = 0x100;
const REQUEST: u16 = 1;

const ROUTE: u8 = 0;
const SOCK_DIAG: u8 = 4;
const XFRM: u8 = 6;
const SELINUX_FAMILY: u8 = 7;
const AUDIT: u8 = 9;
const NETFILTER_FAMILY: u8 = 12;
const UEVENT: u8 = 15;
const GENERIC: u8 = 16;
const CRYPTO: u8 = 21;
/// The family that says what the others are.
const CONTROLLER: u16 = 16;

/// The parts of packet filtering, with what their messages are called.
static PARTS: &[(u8, &Names)] = &[
    (1, &n::CONNTRACK),
    (2, &n::EXPECTATION),
    (3, &n::QUEUE),
    (4, &n::ULOG),
    (5, &n::OSF),
    (6, &n::IPSET),
    (7, &n::ACCOUNT),
    (8, &n::TIMEOUT),
    (9, &n::HELPER),
    (10, &n::TABLES),
    (11, &n::COMPAT),
    (12, &n::HOOK),
];
const TABLES: u8 = 10;

/// What begins a message, and what it is about.
#[derive(Debug, Clone, Copy)]
struct Head {
    kind: u16,
    flags: u16,
    length: usize,
}

impl<'a, S: ValueSink> Walk<'a, S> {
    /// What goes through a socket.
    pub fn netlink_messages(&mut self, raw: u64, length: usize, way: DataDirection) {
        let received = way == DataDirection::In || !self.failed();
        match self.call.memory.netlink() {
            Some(protocol) if received && raw != 0 && !self.style.opaque => {
                let bytes = self.read_text(raw, length, way).unwrap_or(&[]);
                let span = Span::new(raw, length, bytes);
                if !self.is_capturing() {
                    self.netlink(span, protocol);
                }
            }
            _ => self.buffer(raw, length, way),
        }
    }

    fn netlink(&mut self, span: Span<'a>, protocol: u8) {
        if protocol == UEVENT {
            return self.device_event(span);
        }
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
            let length = int_at(head, 0) as usize;
            let next = next(rest, length, HEAD);
            if !list && next.is_some() {
                self.sink.begin(Bracket::Array);
            }
            if list {
                self.sink.item(false);
            } else if next.is_some() {
                self.sink.item(true);
            }
            self.netlink_message(rest, head, protocol);
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

    /// The beginning of one of several that stand behind each other; what is shown where there is none is said.
    fn head(&mut self, span: Span<'a>, size: usize, list: bool) -> Option<&'a [u8]> {
        if span.length < size {
            if list {
                self.sink.item(false);
            }
            self.span_in_hex(span);
            return None;
        }
        let head = span.first(size);
        if head.is_none() {
            if list {
                self.sink.item(false);
                self.sink.unreadable(span.address);
            } else {
                self.address(span.address);
            }
        }
        head
    }

    /// A message: alone, or with what it holds.
    fn netlink_message(&mut self, span: Span<'a>, head: &'a [u8], protocol: u8) {
        let said = Head {
            length: int_at(head, 0) as usize,
            kind: short_at(head, 4),
            flags: short_at(head, 6),
        };
        let length = said.length.min(span.length);
        let holds = length > HEAD;
        if holds {
            self.sink.begin(Bracket::Array);
            self.sink.item(true);
        }
        self.sink.begin(Bracket::Structure);
        self.sink.field(true, "nlmsg_len");
        self.sink.unsigned(said.length as u64);
        self.sink.field(false, "nlmsg_type");
        self.netlink_kind(said.kind, protocol);
        self.sink.field(false, "nlmsg_flags");
        self.netlink_flags(said, protocol);
        self.sink.field(false, "nlmsg_seq");
        self.sink.unsigned(u64::from(int_at(head, 8)));
        self.sink.field(false, "nlmsg_pid");
        let sender = int_at(head, 12) as i32;
        self.sink.process(sender, PidKind::Process);
        self.sink.end(Bracket::Structure);
        if holds {
            self.sink.item(false);
            self.netlink_payload(span.up_to(length).from(HEAD), said, protocol);
            self.sink.end(Bracket::Array);
        }
    }

    fn netlink_kind(&mut self, kind: u16, protocol: u8) {
        let value = u64::from(kind);
        if kind < FIRST_KIND {
            return self.one(value, &n::TYPES);
        }
        match protocol {
            ROUTE => self.one(value, &n::ROUTE),
            SOCK_DIAG => self.one(value, &n::DIAG),
            XFRM => self.one(value, &n::XFRM),
            SELINUX_FAMILY => self.one(value, &n::SELINUX),
            AUDIT => self.one(value, &n::AUDIT),
            CRYPTO => self.one(value, &n::CRYPTO),
            GENERIC => self.generic_family(kind),
            NETFILTER_FAMILY => self.filter_kind(kind),
            _ => self.one(value, &n::TYPES),
        }
    }

    /// A family whose number the kernel chose.
    fn generic_family(&mut self, kind: u16) {
        let value = u64::from(kind);
        match self.sink.generic_family(kind) {
            Some(name) if kind != CONTROLLER => {
                self.sink.constant(NamedNumber::Hex(value), |out| {
                    out.extend_from_slice(name.as_bytes())
                })
            }
            _ => self.one(value, &GENERIC_FAMILIES),
        }
    }

    /// A kind of packet filtering: a part and what that is asked.
    fn filter_kind(&mut self, kind: u16) {
        if n::NETFILTER.name(u64::from(kind)).is_some() {
            return self.one(u64::from(kind), &n::NETFILTER);
        }
        let [part, asked] = kind.to_be_bytes().map(u64::from);
        self.sink.words(|out, constants, _| {
            format::constant(out, constants, NamedNumber::Hex(part), |out| {
                format::one(out, part, &n::NETFILTER_PART)
            });
            out.extend_from_slice(b"<<8|");
            match part_names(part as u8) {
                Some(names) => format::constant(out, constants, NamedNumber::Hex(asked), |out| {
                    format::one(out, asked, names)
                }),
                None => format::hex(out, asked),
            }
        });
    }

    fn netlink_flags(&mut self, said: Head, protocol: u8) {
        let more = more_flags(said.kind, protocol);
        let value = u64::from(said.flags);
        self.sink.constant(NamedNumber::Hex(value), |out| {
            if value == 0 {
                out.push(b'0');
                return;
            }
            let mut rest = format::named_bits(out, value, &n::FLAGS, b"");
            if let Some(more) = more {
                let before: &[u8] = if rest == value { b"" } else { b"|" };
                rest = format::named_bits(out, rest, more, before);
            }
            if rest == value {
                format::hex(out, rest);
                format::remark(out, n::FLAGS.unknown);
            } else if rest != 0 {
                out.push(b'|');
                format::hex(out, rest);
            }
        });
    }

    fn netlink_payload(&mut self, span: Span<'a>, said: Head, protocol: u8) {
        if said.kind == ERROR_KIND {
            return self.netlink_error(span, said, protocol);
        }
        let own = said.kind >= FIRST_KIND || said.kind == DONE;
        if own && self.family_payload(span, said, protocol) {
            return;
        }
        if said.kind == DONE && span.length == 4 {
            match span.first(4) {
                Some(bytes) => self.sink.signed(i64::from(int_at(bytes, 0) as i32)),
                None => self.address(span.address),
            }
            return;
        }
        self.span_in_hex(span);
    }

    /// What a family has in its message; whether that is known.
    fn family_payload(&mut self, span: Span<'a>, said: Head, protocol: u8) -> bool {
        match (protocol, said.kind) {
            (CRYPTO, 16..=19) => self.algorithm(span),
            (SELINUX_FAMILY, kind) => {
                let Some((_, structure)) = SELINUX.iter().find(|(known, _)| *known == kind) else {
                    return false;
                };
                self.structure_or_hex(structure, span);
            }
            (_, DONE) => return false,
            (NETFILTER_FAMILY, kind) => self.filter(span, kind),
            (GENERIC, kind) => self.generic(span, kind),
            (ROUTE | SOCK_DIAG, _) => {
                let Some(family) = span.first(1).map(|bytes| bytes[0]) else {
                    self.address(span.address);
                    return true;
                };
                let message = if protocol == ROUTE {
                    ROUTING.message(said.kind, family)
                } else {
                    sockets_message(said, family, span.length)
                };
                match message {
                    Some(message) => self.begun_message(message, family, span),
                    None => self.family_alone(family, span),
                }
            }
            _ => return false,
        }
        true
    }

    /// A message that begins with a family and goes on with attributes.
    fn begun_message(&mut self, message: &'static MessageLayout, family: u8, span: Span<'a>) {
        let structure = message.head;
        let whole = span.first(structure.size);
        self.sink.begin(Bracket::Structure);
        match whole {
            Some(bytes) => {
                self.fields(structure, bytes, 0, true);
            }
            None => {
                if let Some(first) = span.first(1) {
                    self.fields(structure, first, 0, true);
                }
                if span.length < structure.size {
                    self.sink.more(Bracket::Structure, false);
                } else {
                    self.sink.nameless(false, "rest");
                    self.address(span.address.wrapping_add(1));
                }
            }
        }
        self.sink.end(Bracket::Structure);
        let at = structure.size.next_multiple_of(4);
        if whole.is_none() || span.length <= at {
            return;
        }
        let rest = span.from(at);
        match &message.attributes {
            MessageAttributes::Nothing => {}
            MessageAttributes::Attributes(attributes) => {
                self.sink.item(false);
                self.attributes(attributes, rest, family);
            }
            MessageAttributes::ByFamily(known) => {
                self.sink.item(false);
                self.attributes_of_family(known, rest, family);
            }
        }
    }

    fn family_alone(&mut self, family: u8, span: Span<'a>) {
        self.sink.begin(Bracket::Structure);
        self.sink.field(true, "family");
        self.one(u64::from(family), &flags::DOMAIN);
        if span.length > 1 {
            self.sink.field(false, "data");
            self.span_in_hex(span.from(1));
        }
        self.sink.end(Bracket::Structure);
    }

    /// A structure, or bytes where there are fewer than it has.
    fn structure_or_hex(&mut self, structure: &'static StructureLayout, span: Span<'a>) {
        if span.length < structure.size {
            self.span_in_hex(span);
        } else if let Some(bytes) = span.first(structure.size) {
            self.structure(structure, bytes, 0);
        } else {
            self.address(span.address);
        }
    }

    fn netlink_error(&mut self, span: Span<'a>, said: Head, protocol: u8) {
        const CODE: usize = 4;
        if span.length < CODE + HEAD {
            return self.span_in_hex(span);
        }
        let Some(bytes) = span.first(CODE + HEAD) else {
            return self.address(span.address);
        };
        let message = span.from(CODE);
        let asked = (int_at(bytes, CODE) as usize).max(HEAD);
        let length = if said.flags & CAPPED != 0 {
            HEAD
        } else {
            asked
        }
        .min(message.length);
        let more = message.length > length;
        if more {
            self.sink.begin(Bracket::Array);
            self.sink.item(true);
        }
        self.sink.begin(Bracket::Structure);
        self.sink.field(true, "error");
        let code = int_at(bytes, 0) as i32;
        self.sink
            .constant(NamedNumber::Signed(i64::from(code)), |out| {
                if code < 0 {
                    out.push(b'-');
                    format::error_name(out, -i64::from(code));
                } else {
                    format::signed(out, i64::from(code));
                }
            });
        self.sink.field(false, "msg");
        self.netlink_message(message.up_to(length), &bytes[CODE..], protocol);
        self.sink.end(Bracket::Structure);
        if more {
            self.sink.item(false);
            self.attributes(&ERROR, message.from(length), 0);
            self.sink.end(Bracket::Array);
        }
    }

    fn filter(&mut self, span: Span<'a>, kind: u16) {
        const BATCHES: std::ops::RangeInclusive<u16> = 16..=17;
        let Some(bytes) = span.first(NETFILTER.size) else {
            if span.length < NETFILTER.size {
                self.span_in_hex(span)
            } else {
                self.address(span.address)
            }
            return;
        };
        self.sink.begin(Bracket::Structure);
        self.fields(&NETFILTER, bytes, 0, true);
        self.sink.field(false, "res_id");
        let [part, _] = kind.to_be_bytes();
        let id = short_at(bytes, 2);
        let tables = |written: u16| part == TABLES && written == u16::from(TABLES);
        let number = NamedNumber::Hex(u64::from(id));
        if tables(id.swap_bytes()) {
            self.sink.constant(number, |out| {
                out.extend_from_slice(b"htons(NFNL_SUBSYS_NFTABLES)")
            });
        } else if tables(id) {
            // Some programs have it the wrong way round.
            self.sink
                .constant(number, |out| out.extend_from_slice(b"NFNL_SUBSYS_NFTABLES"));
        } else {
            self.sink.word(|out| {
                out.extend_from_slice(b"htons(");
                format::unsigned(out, u64::from(id.swap_bytes()));
                out.push(b')');
            });
        }
        self.sink.end(Bracket::Structure);
        if span.length > NETFILTER.size {
            self.sink.item(false);
            let rest = span.from(NETFILTER.size);
            if BATCHES.contains(&kind) {
                self.span_in_hex(rest);
            } else {
                self.attributes(&UNKNOWN, rest, 0);
            }
        }
    }

    /// A command of a family whose number the kernel chose.
    fn generic(&mut self, span: Span<'a>, kind: u16) {
        let message = if kind == CONTROLLER {
            &CONTROL_MESSAGE
        } else {
            &OTHER_MESSAGE
        };
        if span.length < message.head.size {
            self.span_in_hex(span);
        } else if span.first(message.head.size).is_none() {
            self.address(span.address);
        } else {
            self.begun_message(message, 0, span);
        }
    }

    fn algorithm(&mut self, span: Span<'a>) {
        let size = ALGORITHM.size;
        if span.length < size {
            return self.span_as_text(span);
        }
        let Some(bytes) = span.first(size) else {
            return self.address(span.address);
        };
        self.structure(&ALGORITHM, bytes, 0);
        if span.length > size {
            self.sink.item(false);
            self.attributes(&ALGORITHM_ATTRIBUTES, span.from(size), 0);
        }
    }

    /// What the device manager tells of a device, or the kernel in plain text.
    fn device_event(&mut self, span: Span<'a>) {
        let head = span
            .first(UDEV.size)
            .filter(|bytes| bytes.starts_with(b"libudev\0"));
        let Some(head) = head else {
            return self.span_as_text(span);
        };
        let more = span.length > UDEV.size;
        if more {
            self.sink.begin(Bracket::Array);
            self.sink.item(true);
        }
        self.structure(&UDEV, head, 0);
        if more {
            self.sink.item(false);
            self.span_as_text(span.from(UDEV.size));
            self.sink.end(Bracket::Array);
        }
    }
}

static GENERIC_FAMILIES: Names = Names {
    unknown: "GENERIC_FAMILY_???",
    zero: "0",
    list: &[("nlctrl", 16)],
};

/// Attributes of which nothing is known.
static UNKNOWN: crate::table::netlink::AttributeSet = crate::table::netlink::AttributeSet {
    names: &NAMELESS,
    prefix: "",
    kinds: &[],
};

/// Where the next one begins, of those that stand behind each other and say their lengths.
fn next(span: Span<'_>, length: usize, least: usize) -> Option<Span<'_>> {
    let step = length.next_multiple_of(4);
    (length >= least && span.length > step).then(|| span.from(step))
}

fn part_names(part: u8) -> Option<&'static Names> {
    let found = PARTS.iter().find(|(known, _)| *known == part);
    found.map(|(_, names)| *names)
}

fn sockets_message(said: Head, family: u8, length: usize) -> Option<&'static MessageLayout> {
    const OLD: std::ops::RangeInclusive<u16> = 18..=19;
    let sockets = Sockets::by_family(family).filter(|_| length > 1)?;
    Some(match &sockets.old_request {
        _ if said.flags & REQUEST == 0 => &sockets.answer,
        Some(old) if OLD.contains(&said.kind) => old,
        _ => &sockets.request,
    })
}

/// What the upper flags mean depends on whether something is made, deleted or asked for: that is in the name of a kind.
fn more_flags(kind: u16, protocol: u8) -> Option<&'static Names> {
    if kind < FIRST_KIND {
        return (kind == ERROR_KIND).then_some(&n::ACK_FLAGS);
    }
    let value = u64::from(kind);
    let by_name = |name: &str| {
        let said = |word: &str| name.contains(word);
        if said("DEFAULT") {
            // Defaults are neither made nor listed.
            None
        } else if said("NEW") {
            Some(&n::NEW_FLAGS)
        } else if said("DEL") || said("DESTROY") {
            Some(&n::DELETE_FLAGS)
        } else if said("GET") {
            Some(&n::GET_FLAGS)
        } else {
            None
        }
    };
    match protocol {
        // An action is deleted as what is asked for.
        ROUTE if n::ROUTE.name(value) == Some("RTM_DELACTION") => Some(&n::GET_FLAGS),
        ROUTE => match kind & 3 {
            0 => Some(&n::NEW_FLAGS),
            1 => Some(&n::DELETE_FLAGS),
            2 => Some(&n::GET_FLAGS),
            _ => None,
        },
        SOCK_DIAG | GENERIC => Some(&n::GET_FLAGS),
        XFRM => by_name(n::XFRM.name(value)?),
        CRYPTO => match n::CRYPTO.name(value)? {
            "CRYPTO_MSG_GETSTAT" => None,
            name => by_name(name),
        },
        NETFILTER_FAMILY => {
            let [part, asked] = kind.to_be_bytes();
            // Of these nothing is made or asked for by flags.
            if matches!(part, 3..=6) {
                return None;
            }
            by_name(part_names(part)?.name(u64::from(asked))?)
        }
        _ => None,
    }
}
