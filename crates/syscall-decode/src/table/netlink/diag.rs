//! Messages about sockets (sock_diag(7)), by their family: what is asked and what is answered.
//!
//! The state of a TCP connection (`struct tcp_info`) is shown as bytes.

use super::AttributeKind::{Attributes as Nested, Is, Named, Number, Own, Several, Text, Word};
use super::SpecialAttribute as Code;
use super::held::*;
use super::names::diag as n;
use super::{AttributeKind, AttributeSet, MessageAttributes, MessageLayout, attributes};
use crate::table::flags::{DOMAIN, IPPROTO, NETLINK as PROTOCOLS};
use crate::table::kind::IntegerWidth::{Eight, Four, One, Two};
use crate::table::kind::ValueKind::{
    Array, Characters, Flags, Hex, Id, One as Value, Structure, Unsigned,
};
use crate::table::kind::{NetworkKind, StructureLayout as Layout, ValueKind};
use crate::table::structure::{UINT, field, structure};

const BYTE: ValueKind = Unsigned(One);
const HALF: ValueKind = Unsigned(Two);
const FAMILY: ValueKind = Value(One, &DOMAIN);
const DEVICE: ValueKind = ValueKind::Wire(NetworkKind::Interface);
const COOKIE: ValueKind = Array(&UINT, 2);
const PORT: ValueKind = ValueKind::Wire(NetworkKind::Port);
const STATES: ValueKind = Flags(Four, &n::STATES);
const STATE: ValueKind = Value(One, &n::STATE);
const KIND: ValueKind = Value(One, &n::SOCKET);
const EXTENSIONS: ValueKind = Flags(One, &n::INET_EXTENSIONS);
const IP: ValueKind = ValueKind::Wire(NetworkKind::WideInet);
const IP6: ValueKind = ValueKind::Wire(NetworkKind::Inet6);

structure!(ENDS 48 {
    field idiag_sport 0 PORT, field idiag_dport 2 PORT, field idiag_src 4 IP, field idiag_dst 20 IP,
    field idiag_if 36 DEVICE, field idiag_cookie 40 COOKIE,
});
structure!(ENDS6 48 {
    field idiag_sport 0 PORT, field idiag_dport 2 PORT, field idiag_src 4 IP6, field idiag_dst 20 IP6,
    field idiag_if 36 DEVICE, field idiag_cookie 40 COOKIE,
});

/// The same with one kind of address and the other.
macro_rules! both {
    ($four:ident $six:ident $size:literal { $($before:ident $a:literal $b:expr),* } id $at:literal { $($after:ident $c:literal $d:expr),* }) => {
        structure!($four $size {
            $(field $before $a $b,)* field id $at Structure(&ENDS), $(field $after $c $d,)*
        });
        structure!($six $size {
            $(field $before $a $b,)* field id $at Structure(&ENDS6), $(field $after $c $d,)*
        });
    };
}

both!(OLD_REQUEST OLD_REQUEST6 60 {
    idiag_family 0 FAMILY, idiag_src_len 1 BYTE, idiag_dst_len 2 BYTE, idiag_ext 3 EXTENSIONS
} id 4 { idiag_states 52 STATES, idiag_dbs 56 UINT });
both!(REQUEST REQUEST6 56 {
    sdiag_family 0 FAMILY, sdiag_protocol 1 Value(One, &IPPROTO), idiag_ext 2 EXTENSIONS, idiag_states 4 STATES
} id 8 {});
both!(ANSWER ANSWER6 72 {
    idiag_family 0 FAMILY, idiag_state 1 STATE, idiag_timer 2 BYTE, idiag_retrans 3 BYTE
} id 4 {
    idiag_expires 52 UINT, idiag_rqueue 56 UINT, idiag_wqueue 60 UINT, idiag_uid 64 UINT, idiag_inode 68 UINT
});

structure!(UNIX_REQUEST 24 {
    field sdiag_family 0 FAMILY, field sdiag_protocol 1 BYTE, field udiag_states 4 STATES, field udiag_ino 8 UINT,
    field udiag_show 12 Flags(Four, &n::UNIX_SHOW), field udiag_cookie 16 COOKIE,
});
structure!(UNIX_ANSWER 16 {
    field udiag_family 0 FAMILY, field udiag_type 1 KIND, field udiag_state 2 STATE, field udiag_ino 4 UINT,
    field udiag_cookie 8 COOKIE,
});
structure!(NETLINK_REQUEST 20 {
    field sdiag_family 0 FAMILY, field sdiag_protocol 1 Value(One, &n::NETLINK_PROTOCOL), field ndiag_ino 4 UINT,
    field ndiag_show 8 Flags(Four, &n::NETLINK_SHOW), field ndiag_cookie 12 COOKIE,
});
structure!(NETLINK_ANSWER 28 {
    field ndiag_family 0 FAMILY, field ndiag_type 1 KIND, field ndiag_protocol 2 Value(One, &PROTOCOLS),
    field ndiag_state 3 Value(One, &n::NETLINK_STATE), field ndiag_portid 4 UINT, field ndiag_dst_portid 8 UINT,
    field ndiag_dst_group 12 UINT, field ndiag_ino 16 UINT, field ndiag_cookie 20 COOKIE,
});
structure!(PACKET_REQUEST 20 {
    field sdiag_family 0 FAMILY, field sdiag_protocol 1 Hex(One), field pdiag_ino 4 UINT,
    field pdiag_show 8 Flags(Four, &n::PACKET_SHOW), field pdiag_cookie 12 COOKIE,
});
structure!(PACKET_ANSWER 16 {
    field pdiag_family 0 FAMILY, field pdiag_type 1 KIND, field pdiag_num 2 Value(Two, &n::ETHERNET),
    field pdiag_ino 4 UINT, field pdiag_cookie 8 COOKIE,
});
structure!(SMC_REQUEST 52 {
    field diag_family 0 FAMILY, field diag_ext 3 Flags(One, &n::SMC_EXTENSIONS), field id 4 Structure(&ENDS),
});
structure!(SMC_ANSWER 64 {
    field diag_family 0 FAMILY, field diag_state 1 Value(One, &n::SMC_STATE),
    field diag_fallback 2 Value(One, &n::SMC_MODE), field diag_shutdown 3 BYTE, field id 4 Structure(&ENDS),
    field diag_uid 52 UINT, field diag_inode 56 Unsigned(Eight),
});

structure!(USE 16 { field idiag_rmem 0 UINT, field idiag_wmem 4 UINT, field idiag_fmem 8 UINT, field idiag_tmem 12 UINT });
structure!(VEGAS 16 {
    field tcpv_enabled 0 UINT, field tcpv_rttcnt 4 UINT, field tcpv_rtt 8 UINT, field tcpv_minrtt 12 UINT,
});
structure!(DCTCP 16 {
    field dctcp_enabled 0 HALF, field dctcp_ce_state 2 HALF, field dctcp_alpha 4 UINT, field dctcp_ab_ecn 8 UINT,
    field dctcp_ab_tot 12 UINT,
});
structure!(BBR 20 {
    field bbr_bw_lo 0 Hex(Four), field bbr_bw_hi 4 Hex(Four), field bbr_min_rtt 8 UINT, field bbr_pacing_gain 12 UINT,
    field bbr_cwnd_gain 16 UINT,
});
structure!(VFS 8 { field udiag_vfs_dev 4 ValueKind::Wire(NetworkKind::Device), field udiag_vfs_ino 0 UINT });
structure!(QUEUES 8 { field udiag_rqueue 0 UINT, field udiag_wqueue 4 UINT });
structure!(RING 16 {
    field ndr_block_size 0 UINT, field ndr_block_nr 4 UINT, field ndr_frame_size 8 UINT, field ndr_frame_nr 12 UINT,
});
structure!(PACKET_INFO 24 {
    field pdi_index 0 DEVICE, field pdi_version 4 Value(Four, &n::PACKET_VERSION), field pdi_reserve 8 UINT,
    field pdi_copy_thresh 12 UINT, field pdi_tstamp 16 UINT, field pdi_flags 20 Flags(Four, &n::PACKET_FLAGS),
});
structure!(PACKET_RING 28 {
    field pdr_block_size 0 UINT, field pdr_block_nr 4 UINT, field pdr_frame_size 8 UINT, field pdr_frame_nr 12 UINT,
    field pdr_retire_tmo 16 UINT, field pdr_sizeof_priv 20 UINT, field pdr_features 24 UINT,
});
structure!(CURSOR 8 { field reserved 0 HALF, field wrap 2 HALF, field count 4 UINT });

const PADDED: ValueKind = ValueKind::Wire(NetworkKind::Padded(One));

structure!(SMC_CONNECTION 76 {
    field token 0 UINT, field sndbuf_size 4 UINT, field rmbe_size 8 UINT, field peer_rmbe_size 12 UINT,
    field rx_prod 16 Structure(&CURSOR), field rx_cons 24 Structure(&CURSOR), field tx_prod 32 Structure(&CURSOR),
    field tx_cons 40 Structure(&CURSOR), field rx_prod_flags 48 PADDED, field rx_conn_state_flags 49 PADDED,
    field tx_prod_flags 50 PADDED, field tx_conn_state_flags 51 PADDED, field tx_prep 52 Structure(&CURSOR),
    field tx_sent 60 Structure(&CURSOR), field tx_fin 68 Structure(&CURSOR),
});
structure!(SMC_LINK 146 {
    field link_id 0 BYTE, field ibname 1 Characters(64), field ibport 65 BYTE, field gid 66 Characters(40),
    field peer_gid 106 Characters(40),
});
structure!(SMC_GROUP 147 { field lnk 0 Array(&Structure(&SMC_LINK), 1), field role 146 Value(One, &n::SMC_ROLE) });
structure!(
    /// A buffer that both ends of a connection share, without what newer kernels say behind it.
    SMC_BUFFER 40 {
        field linkid 0 UINT, field peer_gid 8 Hex(Eight), field my_gid 16 Hex(Eight), field token 24 Hex(Eight),
        field peer_token 32 Hex(Eight),
    }
);

const DECLINED: ValueKind = ValueKind::Wire(NetworkKind::Named(Four, &n::SMC_DECLINED));

structure!(SMC_FALLBACK 8 { field reason 0 DECLINED, field peer_diagnosis 4 DECLINED });

const MEMORY: AttributeKind = AttributeKind::Indexed(UINT, &n::MEMORY);

attributes!(ASKED = n::INET_REQUEST, "INET_DIAG_REQ_" { "BYTECODE": Own(Code::Bytecode), "PROTOCOL": Named(&IPPROTO) });
attributes!(TLS = n::TLS, "TLS_INFO_" {
    "VERSION": one16(&n::TLS_VERSION),
    "CIPHER": one16(&n::TLS_CIPHER),
    "TXCONF RXCONF": one16(&n::TLS_CONFIG),
});
attributes!(MPTCP = n::MPTCP, "MPTCP_SUBFLOW_ATTR_" {
    "TOKEN_REM TOKEN_LOC": X32,
    "RELWRITE_SEQ MAP_SFSEQ SSN_OFFSET": U32,
    "MAP_SEQ": U64,
    "MAP_DATALEN": U16,
    "FLAGS": flags32(&n::MPTCP_FLAGS),
    "ID_REM ID_LOC": U8,
});
attributes!(UPPER = n::UPPER, "INET_ULP_INFO_" { "NAME": Text, "TLS": Nested(&TLS), "MPTCP": Nested(&MPTCP) });
attributes!(STORAGE = n::STORAGE, "SK_DIAG_BPF_STORAGE_" { "MAP_ID": U32, "MAP_VALUE": Number });
attributes!(STORAGES = n::STORAGES, "SK_DIAG_BPF_" { "STORAGE": Nested(&STORAGE) });
attributes!(TOLD = n::INET, "INET_DIAG_" {
    "MEMINFO": Is(Structure(&USE)),
    "VEGASINFO": Is(Structure(&VEGAS)),
    "CONG": Text,
    "TOS TCLASS SKV6ONLY": U8,
    "SKMEMINFO": MEMORY,
    "SHUTDOWN": Word(ValueKind::Wire(NetworkKind::Flags(One, &n::SHUTDOWN))),
    "DCTCPINFO": Is(Structure(&DCTCP)),
    "PROTOCOL": Named(&IPPROTO),
    "LOCALS PEERS": Own(Code::Sockets),
    "MARK CLASS_ID": U32,
    "BBRINFO": Is(Structure(&BBR)),
    "MD5SIG": Own(Code::Keys),
    "ULP_INFO": Nested(&UPPER),
    "SK_BPF_STORAGES": Nested(&STORAGES),
    "CGROUP_ID": U64,
    "SOCKOPT": Own(Code::Settings),
});
attributes!(UNIX = n::UNIX, "UNIX_DIAG_" {
    "NAME": Text,
    "VFS": Is(Structure(&VFS)),
    "PEER": U32,
    "ICONS": Several(UINT),
    "RQLEN": Is(Structure(&QUEUES)),
    "MEMINFO": MEMORY,
    "SHUTDOWN": U8,
    "UID": Is(Id),
});
attributes!(NETLINK = n::NETLINK, "NETLINK_DIAG_" {
    "MEMINFO": MEMORY,
    "GROUPS": Several(ValueKind::Wire(NetworkKind::Padded(Eight))),
    "RX_RING TX_RING": Is(Structure(&RING)),
    "FLAGS": Is(Flags(Four, &n::NETLINK_FLAGS)),
});
attributes!(PACKET = n::PACKET, "PACKET_DIAG_" {
    "INFO": Is(Structure(&PACKET_INFO)),
    "MCLIST": Own(Code::Groups),
    "RX_RING TX_RING": Is(Structure(&PACKET_RING)),
    "FANOUT": U32,
    "UID": Is(Id),
    "MEMINFO": MEMORY,
    "FILTER": Own(Code::Filter),
});
attributes!(SMC = n::SMC, "SMC_DIAG_" {
    "CONNINFO": Is(Structure(&SMC_CONNECTION)),
    "LGRINFO": Is(Structure(&SMC_GROUP)),
    "SHUTDOWN": flags8(&n::SHUTDOWN),
    "DMBINFO": Own(Code::SharedBuffer),
    "FALLBACK": Is(Structure(&SMC_FALLBACK)),
});

/// What is said of the sockets of a family.
#[derive(Debug)]
pub(crate) struct Sockets {
    family: u8,
    /// What is asked.
    pub request: MessageLayout,
    /// What was asked by messages of an older kind.
    pub old_request: Option<MessageLayout>,
    /// What is answered.
    pub answer: MessageLayout,
}

impl Sockets {
    /// Those of a family.
    pub fn by_family(family: u8) -> Option<&'static Self> {
        SOCKETS.iter().find(|sockets| sockets.family == family)
    }
}

const fn with(head: &'static Layout, attributes: &'static AttributeSet) -> MessageLayout {
    MessageLayout {
        head,
        attributes: MessageAttributes::Attributes(attributes),
    }
}

const fn alone(head: &'static Layout) -> MessageLayout {
    MessageLayout {
        head,
        attributes: MessageAttributes::Nothing,
    }
}

const fn sockets(family: u8, request: MessageLayout, answer: MessageLayout) -> Sockets {
    Sockets {
        family,
        request,
        old_request: None,
        answer,
    }
}

static SOCKETS: &[Sockets] = &[
    sockets(1, alone(&UNIX_REQUEST), with(&UNIX_ANSWER, &UNIX)),
    Sockets {
        family: 2,
        request: with(&REQUEST, &ASKED),
        old_request: Some(with(&OLD_REQUEST, &ASKED)),
        answer: with(&ANSWER, &TOLD),
    },
    Sockets {
        family: 10,
        request: with(&REQUEST6, &ASKED),
        old_request: Some(with(&OLD_REQUEST6, &ASKED)),
        answer: with(&ANSWER6, &TOLD),
    },
    sockets(16, alone(&NETLINK_REQUEST), with(&NETLINK_ANSWER, &NETLINK)),
    sockets(17, alone(&PACKET_REQUEST), with(&PACKET_ANSWER, &PACKET)),
    sockets(43, alone(&SMC_REQUEST), with(&SMC_ANSWER, &SMC)),
];
