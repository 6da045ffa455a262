//! Requests of sockets: of network interfaces, and of who is told what happens.

use super::*;
use crate::table::netlink::names::link::{HARDWARE, INTERFACE};

const SIZE: usize = 40;

static ALL: CustomFormat = CustomFormat {
    write: |out, value| {
        let bytes = value as u32 as i32;
        format::signed(out, i64::from(bytes));
        let count = bytes / SIZE as i32;
        if count > 0 && bytes % SIZE as i32 == 0 {
            out.extend_from_slice(b" /* ");
            format::signed(out, i64::from(count));
            out.extend_from_slice(b" * sizeof(struct ifreq) */");
        }
    },
    number: UnnamedStyle::Words,
};

const NAME: ValueKind = Characters(16);
/// How many bytes of an address of that kind of hardware are told.
const BYTES: ValueKind = ByField(
    0,
    Two,
    &[
        (0, Wire(NetworkKind::Hardware(7))),
        (1, Wire(NetworkKind::Hardware(6))),
    ],
    &Wire(NetworkKind::Hardware(14)),
);
structure!(HARDWARE_ADDRESS 16 { field sa_family 0 One(Two, &HARDWARE), field sa_data 2 BYTES });
structure!(MAP 24 {
    field mem_start 0 LONG_BITS, field mem_end 8 LONG_BITS, field base_addr 16 Hex(Two), field irq 18 Hex(Byte),
    field dma 19 Hex(Byte), field port 20 Hex(Byte),
});
structure!(ADDRESS 40 { field ifr_name 0 NAME, field ifr_addr 16 Special(S::InPlaceAddress(16)) });
structure!(ADDRESS_ASKED 40 { field ifr_name 0 NAME, out ifr_addr 16 Special(S::InPlaceAddress(16)) });
structure!(DESTINATION 40 { field ifr_name 0 NAME, field ifr_dstaddr 16 Special(S::InPlaceAddress(16)) });
structure!(DESTINATION_ASKED 40 { field ifr_name 0 NAME, out ifr_dstaddr 16 Special(S::InPlaceAddress(16)) });
structure!(BROADCAST 40 { field ifr_name 0 NAME, field ifr_broadaddr 16 Special(S::InPlaceAddress(16)) });
structure!(BROADCAST_ASKED 40 { field ifr_name 0 NAME, out ifr_broadaddr 16 Special(S::InPlaceAddress(16)) });
structure!(MASK 40 { field ifr_name 0 NAME, field ifr_netmask 16 Special(S::InPlaceAddress(16)) });
structure!(MASK_ASKED 40 { field ifr_name 0 NAME, out ifr_netmask 16 Special(S::InPlaceAddress(16)) });
structure!(HARDWARE_OF 40 { field ifr_name 0 NAME, field ifr_hwaddr 16 Structure(&HARDWARE_ADDRESS) });
structure!(HARDWARE_OF_ASKED 40 { field ifr_name 0 NAME, out ifr_hwaddr 16 Structure(&HARDWARE_ADDRESS) });
structure!(FLAGS_OF 40 { field ifr_name 0 NAME, field ifr_flags 16 Flags(Two, &INTERFACE) });
structure!(FLAGS_OF_ASKED 40 { field ifr_name 0 NAME, out ifr_flags 16 Flags(Two, &INTERFACE) });
structure!(METRIC 40 { field ifr_name 0 NAME, field ifr_metric 16 INT });
structure!(METRIC_ASKED 40 { field ifr_name 0 NAME, out ifr_metric 16 INT });
structure!(LARGEST 40 { field ifr_name 0 NAME, field ifr_mtu 16 INT });
structure!(LARGEST_ASKED 40 { field ifr_name 0 NAME, out ifr_mtu 16 INT });
structure!(SLAVE 40 { field ifr_name 0 NAME, field ifr_slave 16 NAME });
structure!(SLAVE_ASKED 40 { field ifr_name 0 NAME, out ifr_slave 16 NAME });
structure!(QUEUE 40 { field ifr_name 0 NAME, field ifr_qlen 16 INT });
structure!(QUEUE_ASKED 40 { field ifr_name 0 NAME, out ifr_qlen 16 INT });
structure!(MAP_OF 40 { field ifr_name 0 NAME, field ifr_map 16 Structure(&MAP) });
structure!(MAP_OF_ASKED 40 { field ifr_name 0 NAME, out ifr_map 16 Structure(&MAP) });
structure!(RENAMED 40 { field ifr_name 0 NAME, field ifr_newname 16 NAME });
structure!(INDEX_ASKED 40 { field ifr_name 0 NAME, out ifr_ifindex 16 INT });
structure!(NAME_ASKED 40 { field ifr_ifindex 16 INT, out ifr_name 0 NAME });
structure!(BRIDGED 40 { field ifr_ifindex 16 Wire(NetworkKind::Interface) });

const SOMEWHERE: FieldCondition = FieldCondition::Not(8, Eight, &[0]);
const NOWHERE: FieldCondition = FieldCondition::Is(8, Eight, &[0]);
const LENGTH: ValueKind = Worded(Four, &ALL);
// Where nothing is said to be written, the length is what the kernel says it would be.
structure!(INTERFACES 16 {
    changed ifc_len 0 Only(SOMEWHERE, &LENGTH), out ifc_len 0 Only(NOWHERE, &LENGTH),
    field ifc_len 0 Only(FieldCondition::Failed, &Only(NOWHERE, &LENGTH)),
    out ifc_buf 8 Only(SOMEWHERE, &Many(Out, &Structure(&ADDRESS), LengthSource::Whole(0, Four, SIZE))),
    field ifc_buf 8 Only(NOWHERE, &Address), field ifc_buf 8 Only(FieldCondition::Failed, &Only(SOMEWHERE, &Address)),
});

pub(super) static ARGUMENTS: Family = &[
    ("SIOCGIFCONF", InOut(&INTERFACES)),
    ("SIOCBRADDBR SIOCBRDELBR", Name(In, 16)),
    (
        "FIOGETOWN SIOCATMARK SIOCGIFENCAP SIOCGPGRP SIOCOUTQNSD",
        INT_OUT,
    ),
    ("FIOSETOWN SIOCSIFENCAP SIOCSPGRP", INT_IN),
    ("SIOCBRADDIF SIOCBRDELIF", pointer_in(&Structure(&BRIDGED))),
    ("SIOCSIFADDR", pointer_in(&Structure(&ADDRESS))),
    ("SIOCGIFADDR", InOut(&ADDRESS_ASKED)),
    ("SIOCSIFDSTADDR", pointer_in(&Structure(&DESTINATION))),
    ("SIOCGIFDSTADDR", InOut(&DESTINATION_ASKED)),
    ("SIOCSIFBRDADDR", pointer_in(&Structure(&BROADCAST))),
    ("SIOCGIFBRDADDR", InOut(&BROADCAST_ASKED)),
    ("SIOCSIFNETMASK", pointer_in(&Structure(&MASK))),
    ("SIOCGIFNETMASK", InOut(&MASK_ASKED)),
    (
        "SIOCSIFHWADDR SIOCSIFHWBROADCAST SIOCADDMULTI SIOCDELMULTI",
        pointer_in(&Structure(&HARDWARE_OF)),
    ),
    ("SIOCGIFHWADDR", InOut(&HARDWARE_OF_ASKED)),
    ("SIOCSIFFLAGS", pointer_in(&Structure(&FLAGS_OF))),
    ("SIOCGIFFLAGS", InOut(&FLAGS_OF_ASKED)),
    ("SIOCSIFMETRIC", pointer_in(&Structure(&METRIC))),
    ("SIOCGIFMETRIC", InOut(&METRIC_ASKED)),
    ("SIOCSIFMTU", pointer_in(&Structure(&LARGEST))),
    ("SIOCGIFMTU", InOut(&LARGEST_ASKED)),
    ("SIOCSIFSLAVE", pointer_in(&Structure(&SLAVE))),
    ("SIOCGIFSLAVE", InOut(&SLAVE_ASKED)),
    ("SIOCSIFTXQLEN", pointer_in(&Structure(&QUEUE))),
    ("SIOCGIFTXQLEN", InOut(&QUEUE_ASKED)),
    ("SIOCSIFMAP", pointer_in(&Structure(&MAP_OF))),
    ("SIOCGIFMAP", InOut(&MAP_OF_ASKED)),
    ("SIOCSIFNAME", pointer_in(&Structure(&RENAMED))),
    ("SIOCGIFINDEX", InOut(&INDEX_ASKED)),
    ("SIOCGIFNAME", InOut(&NAME_ASKED)),
    (
        "SIOCADDDLCI SIOCADDRT SIOCBONDCHANGEACTIVE SIOCBONDENSLAVE SIOCBONDINFOQUERY SIOCBONDRELEASE \
         SIOCBONDSETHWADDR SIOCBONDSLAVEINFOQUERY SIOCDARP SIOCDELDLCI SIOCDELRT SIOCDIFADDR SIOCDRARP \
         SIOCETHTOOL SIOCGARP SIOCGHWTSTAMP SIOCGIFBR SIOCGIFCOUNT SIOCGIFMEM SIOCGIFPFLAGS SIOCGIFVLAN \
         SIOCGMIIPHY SIOCGMIIREG SIOCGRARP SIOCGSKNS SIOCGSTAMP_OLD SIOCGSTAMP_NEW SIOCGSTAMPNS_OLD \
         SIOCGSTAMPNS_NEW SIOCRTMSG SIOCSARP SIOCSHWTSTAMP SIOCSIFBR SIOCSIFLINK SIOCSIFMEM SIOCSIFPFLAGS \
         SIOCSIFVLAN SIOCSMIIREG SIOCSRARP SIOCWANDEV",
        Address,
    ),
];
