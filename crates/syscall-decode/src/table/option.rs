//! Sockets' options: what they are called at each level, and what they are set to.
//!
//! An option has the form of its value here, no meaning; most are a number.

pub(crate) mod names;

use super::flags::IPPROTO;
use super::kind::IntegerWidth::Four;
use super::kind::{Names, NetworkKind, SpecialKind, StructureLayout as Layout, ValueKind};
use super::structure::{LINGER, UCRED, UINT, field, structure};
use names as n;

/// What an option is set to.
#[derive(Debug)]
pub(crate) enum OptionKind {
    /// A number.
    Number,
    /// A number, however long it is said to be.
    Always,
    /// Several numbers.
    Numbers,
    /// A number with a name.
    Named(&'static Names),
    /// A number of exactly its size, with a name; anything else are bytes.
    ExactName(&'static Names),
    /// A number of its size or more; an address where there are fewer bytes.
    LongNumber,
    /// The same with a name.
    LongName(&'static Names),
    /// The first and the last of a range of ports.
    PortRange,
    /// A key that signs a connection's segments (`struct tcp_ao_add`).
    SegmentKey,
    /// The number of an error.
    Error,
    /// A structure, as much of it as is said: the kernel's may be longer, and a program may ask for less.
    Partial(&'static Layout),
    /// A structure, or more.
    Whole(&'static Layout),
    /// A structure of exactly this size.
    Exact(&'static Layout),
    /// Which groups of a link layer one belongs to.
    Member,
    /// Where a filter of packets is.
    Filter,
    /// As many operations of a filter as the length says.
    Operations,
    /// Which messages are let through, a bit each.
    Messages,
}

structure!(MULTICAST 8 {
    field imr_multiaddr 0 ValueKind::Wire(NetworkKind::Inet), field imr_interface 4 ValueKind::Wire(NetworkKind::Inet),
});
structure!(MULTICAST6 20 {
    field ipv6mr_multiaddr 0 ValueKind::Wire(NetworkKind::Inet6), field ipv6mr_interface 16 ValueKind::Wire(NetworkKind::Interface),
});
structure!(GROUP 136 {
    field gr_interface 0 ValueKind::Wire(NetworkKind::Interface), field gr_group 8 ValueKind::Special(SpecialKind::InPlaceAddress(128)),
});
structure!(RING 16 {
    field tp_block_size 0 UINT, field tp_block_nr 4 UINT, field tp_frame_size 8 UINT, field tp_frame_nr 12 UINT,
});
structure!(TIPC_GROUP 16 {
    field r#type 0 UINT, field instance 4 UINT, field scope 8 ValueKind::One(Four, &n::TIPC_SCOPE),
    field flags 12 ValueKind::Flags(Four, &n::TIPC_GROUP),
});
structure!(PACKETS 12 { field tp_packets 0 UINT, field tp_drops 4 UINT, field tp_freeze_q_cnt 8 UINT });
const SOCKET: u32 = 1;
const IP: u32 = 0;
const IPV6: u32 = 41;
const RAW: u32 = 255;
const PACKET: u32 = 263;
const NETLINK: u32 = 270;
const TCP: u32 = 6;
const TIPC: u32 = 271;

/// Options of sockets of every kind that are numbers.
const NUMBERS: &[u32] = &[
    1, 2, 5, 6, 7, 8, 9, 10, 11, 12, 14, 15, 16, 18, 19, 27, 29, 30, 32, 33, 34, 35, 36, 37, 40,
    41, 42, 43, 44, 45, 46, 49, 53, 56, 60, 63, 64, 65, 68, 69, 70, 73, 75, 76, 82, 83, 84,
];
const LINGERS: &[u32] = &[13];
const FILTERS: &[u32] = &[26];

static GOT: &[(u32, &[u32], OptionKind)] = &[
    (SOCKET, NUMBERS, OptionKind::Number),
    (SOCKET, LINGERS, OptionKind::Partial(&LINGER)),
    (SOCKET, &[17], OptionKind::Partial(&UCRED)),
    (SOCKET, &[77], OptionKind::Number),
    (SOCKET, FILTERS, OptionKind::Operations),
    (SOCKET, &[4], OptionKind::Error),
    (SOCKET, &[74], OptionKind::Named(&n::REHASH)),
    (IP, &[51], OptionKind::PortRange),
    (IP, &[52], OptionKind::ExactName(&IPPROTO)),
    (PACKET, &[6], OptionKind::Partial(&PACKETS)),
    (RAW, &[1], OptionKind::Messages),
    (NETLINK, &[9], OptionKind::Numbers),
    (NETLINK, &[], OptionKind::Always),
    (TIPC, &[127], OptionKind::LongName(&n::TIPC_IMPORTANCE)),
    (TIPC, &[135], OptionKind::Whole(&TIPC_GROUP)),
    (TIPC, &[], OptionKind::LongNumber),
];
static SET: &[(u32, &[u32], OptionKind)] = &[
    (SOCKET, NUMBERS, OptionKind::Number),
    (SOCKET, LINGERS, OptionKind::Whole(&LINGER)),
    (SOCKET, &[26, 51], OptionKind::Filter),
    (SOCKET, &[74], OptionKind::Named(&n::REHASH)),
    (IP, &[35, 36], OptionKind::Whole(&MULTICAST)),
    (IP, &[42, 45], OptionKind::Whole(&GROUP)),
    (IP, &[51], OptionKind::PortRange),
    (TCP, &[38], OptionKind::SegmentKey),
    (IPV6, &[20, 21, 27, 28], OptionKind::Whole(&MULTICAST6)),
    (IPV6, &[42, 45], OptionKind::Whole(&GROUP)),
    (PACKET, &[5, 13], OptionKind::Exact(&RING)),
    (PACKET, &[1, 2], OptionKind::Member),
    (RAW, &[1], OptionKind::Messages),
    (NETLINK, &[], OptionKind::Number),
    (TIPC, &[127], OptionKind::LongName(&n::TIPC_IMPORTANCE)),
    (TIPC, &[135], OptionKind::Whole(&TIPC_GROUP)),
    (TIPC, &[], OptionKind::LongNumber),
];

/// What an option is set to, of those that aren't shown by their length.
pub(crate) fn setting(level: u32, option: u32, set: bool) -> Option<&'static OptionKind> {
    let known = if set { SET } else { GOT };
    let found = known
        .iter()
        .find(|(of, options, _)| *of == level && (options.is_empty() || options.contains(&option)));
    found.map(|(_, _, setting)| setting)
}

/// What the options of a level are called.
pub(crate) fn names_of(level: u32, set: bool) -> Option<&'static Names> {
    Some(match (level, set) {
        (SOCKET, false) => &n::SOCKET_GET,
        (SOCKET, true) => &n::SOCKET_SET,
        (IP, false) => &n::IP_GET,
        (IP, true) => &n::IP_SET,
        (IPV6, false) => &n::IPV6_GET,
        (IPV6, true) => &n::IPV6_SET,
        _ => LEVELS.iter().find(|(known, _)| *known == level)?.1,
    })
}

/// The levels whose options are the same for both.
static LEVELS: &[(u32, &Names)] = &[
    (TCP, &n::TCP),
    (17, &n::UDP),
    (40, &n::VSOCK),
    (101, &n::CAN_RAW),
    (132, &n::SCTP),
    (RAW, &n::RAW),
    (256, &n::IPX),
    (257, &n::AX25),
    (PACKET, &n::PACKET),
    (266, &n::IRDA),
    (268, &n::LLC),
    (269, &n::DCCP),
    (NETLINK, &n::NETLINK),
    (TIPC, &n::TIPC),
    (272, &n::RXRPC),
    (273, &n::PPPOL2TP),
    (274, &n::BLUETOOTH),
    (275, &n::PNPIPE),
    (276, &n::RDS),
    (277, &n::IUCV),
    (278, &n::CAIF),
    (279, &n::ALG),
    (280, &n::NFC),
    (281, &n::KCM),
    (282, &n::TLS),
    (283, &n::XDP),
];
