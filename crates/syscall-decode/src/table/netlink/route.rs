//! Messages about addresses, routes, neighbours, rules and queues, and which message of that family holds what.
//!
//! Options of single queueing disciplines and encapsulations aren't described.

use super::AttributeKind::{
    Address, Attributes as Nested, Before, Grown, Hardware, Is, Listed, Milliseconds, Named, Own,
    Several, Text, Ticks,
};
use super::SpecialAttribute as Code;
use super::held::*;
use super::link::{LINK_MESSAGE, STATISTICS_MESSAGE};
use super::names::route as n;
use super::{
    AttributeKind, AttributeSet, HardwareLength, MessageAttributes, MessageLayout, attributes,
};
use crate::table::flags::{DOMAIN, IPPROTO};
use crate::table::kind::IntegerWidth::{Four, One, Two};
use crate::table::kind::ValueKind::{Flags, Hex, One as Value, Signed, Structure, Unsigned};
use crate::table::kind::{NetworkKind, StructureLayout as Layout, ValueKind};
use crate::table::structure::{INT, UINT, ULONG, field, set, structure};

const BYTE: ValueKind = Unsigned(One);
const HALF: ValueKind = Unsigned(Two);
const FAMILY: ValueKind = Value(One, &DOMAIN);
const DEVICE: ValueKind = ValueKind::Wire(NetworkKind::Interface);

structure!(ADDRESS_HEAD 8 {
    field ifa_family 0 FAMILY, field ifa_prefixlen 1 BYTE, field ifa_flags 2 Flags(One, &n::ADDRESS_FLAGS),
    field ifa_scope 3 Value(One, &n::SCOPE), field ifa_index 4 DEVICE,
});
structure!(LABEL_HEAD 12 {
    field ifal_family 0 FAMILY, field ifal_prefixlen 2 BYTE, field ifal_flags 3 BYTE, field ifal_index 4 DEVICE,
    field ifal_seq 8 UINT,
});
structure!(REPORT_HEAD 1 { field rtgen_family 0 Value(One, &n::ROUTING_FAMILY) });
structure!(DCB_HEAD 4 { field dcb_family 0 FAMILY, field cmd 1 Value(One, &n::DCB_COMMAND) });
structure!(MDB_HEAD 8 { field family 0 FAMILY, field ifindex 4 DEVICE });
structure!(NEIGHBOUR_HEAD 12 {
    field ndm_family 0 FAMILY, field ndm_ifindex 4 DEVICE, field ndm_state 8 Flags(Two, &n::NEIGHBOUR_STATE),
    field ndm_flags 10 Flags(One, &n::NEIGHBOUR_FLAGS), field ndm_type 11 Value(One, &n::ROUTE_TYPE),
});
structure!(NEIGHBOURS_HEAD 1 { field ndtm_family 0 FAMILY });
structure!(CONFIGURATION_HEAD 1 { field ncm_family 0 FAMILY });
structure!(NAMESPACE_HEAD 1 { field rtgen_family 0 FAMILY });
structure!(NEXT_HOP_HEAD 8 {
    field nh_family 0 FAMILY, field nh_scope 1 Value(One, &n::SCOPE), field nh_protocol 2 Value(One, &n::PROTOCOL),
    set resvd 3 Hex(One), field nh_flags 4 Flags(Four, &n::NEXT_HOP_FLAGS),
});
structure!(ROUTE_HEAD 12 {
    field rtm_family 0 FAMILY, field rtm_dst_len 1 BYTE, field rtm_src_len 2 BYTE,
    field rtm_tos 3 Flags(One, &n::SERVICE), field rtm_table 4 Value(One, &n::TABLE),
    field rtm_protocol 5 Value(One, &n::PROTOCOL), field rtm_scope 6 Value(One, &n::SCOPE),
    field rtm_type 7 Value(One, &n::ROUTE_TYPE), field rtm_flags 8 Flags(Four, &n::ROUTE_FLAGS),
});
structure!(RULE_HEAD 12 {
    field family 0 FAMILY, field dst_len 1 BYTE, field src_len 2 BYTE, field tos 3 Flags(One, &n::SERVICE),
    field table 4 Value(One, &n::RULE_TABLE), field action 7 Value(One, &n::RULE_ACTION),
    field flags 8 Flags(Four, &n::RULE_FLAGS),
});
structure!(TRAFFIC_HEAD 20 {
    field tcm_family 0 FAMILY, field tcm_ifindex 4 DEVICE, field tcm_handle 8 UINT, field tcm_parent 12 UINT,
    field tcm_info 16 UINT,
});
structure!(ACTION_HEAD 1 { field tca_family 0 FAMILY });

structure!(ADDRESS_CACHE 16 {
    field ifa_prefered 0 UINT, field ifa_valid 4 UINT, field cstamp 8 UINT, field tstamp 12 UINT,
});
structure!(NEIGHBOUR_CACHE 16 {
    field ndm_confirmed 0 UINT, field ndm_used 4 UINT, field ndm_updated 8 UINT, field ndm_refcnt 12 UINT,
});
structure!(NEIGHBOURS_CONFIGURATION 32 {
    field ndtc_key_len 0 HALF, field ndtc_entry_size 2 HALF, field ndtc_entries 4 UINT, field ndtc_last_flush 8 UINT,
    field ndtc_last_rand 12 UINT, field ndtc_hash_rnd 16 UINT, field ndtc_hash_mask 20 ValueKind::Wire(NetworkKind::Padded(Four)),
    field ndtc_hash_chain_gc 24 UINT, field ndtc_proxy_qlen 28 UINT,
});
structure!(NEIGHBOURS_COUNTS 88 {
    field ndts_allocs 0 ULONG, field ndts_destroys 8 ULONG, field ndts_hash_grows 16 ULONG, field ndts_res_failed 24 ULONG,
    field ndts_lookups 32 ULONG, field ndts_hits 40 ULONG, field ndts_rcv_probes_mcast 48 ULONG,
    field ndts_rcv_probes_ucast 56 ULONG, field ndts_periodic_gc_runs 64 ULONG, field ndts_forced_gc_runs 72 ULONG,
    field ndts_table_fulls 80 ULONG,
});
structure!(GROUP 8 { field id 0 UINT, field weight 4 BYTE, field weight_high 5 BYTE, set resvd2 6 Hex(Two) });
structure!(ROUTE_CACHE 32 {
    field rta_clntref 0 UINT, field rta_lastuse 4 UINT, field rta_expires 8 UINT, field rta_error 12 UINT,
    field rta_used 16 UINT, field rta_id 20 Hex(Four), field rta_ts 24 UINT, field rta_tsage 28 UINT,
});
structure!(FORWARDED 24 { field mfcs_packets 0 ULONG, field mfcs_bytes 8 ULONG, field mfcs_wrong_if 16 ULONG });
structure!(
    /// What stands before the attributes of one of several ways.
    NEXT_HOP 8 {
        field rtnh_len 0 HALF, field rtnh_flags 2 Flags(One, &n::NEXT_HOP_FLAGS), field rtnh_hops 3 BYTE,
        field rtnh_ifindex 4 DEVICE,
    }
);
structure!(
    /// What stands before an address of another family.
    VIA_FAMILY 2 { field rtvia_family 0 Value(Two, &DOMAIN) }
);
structure!(USERS 8 { field start 0 UINT, field end 4 UINT });
structure!(PORTS 4 { field start 0 HALF, field end 2 HALF });
structure!(TRAFFIC_COUNTS 36 {
    field bytes 0 ULONG, field packets 8 UINT, field drops 12 UINT, field overlimits 16 UINT, field bps 20 UINT,
    field pps 24 UINT, field qlen 28 UINT, field backlog 32 UINT,
});
structure!(ESTIMATOR 2 { field interval 0 Signed(One), field ewma_log 1 BYTE });
structure!(BASIC 12 { field bytes 0 ULONG, field packets 8 UINT });
structure!(RATE 8 { field bps 0 UINT, field pps 4 UINT });
structure!(RATE64 16 { field bps 0 ULONG, field pps 8 ULONG });
structure!(QUEUE 20 {
    field qlen 0 UINT, field backlog 4 UINT, field drops 8 UINT, field requeues 12 UINT, field overlimits 16 UINT,
});
structure!(SIZES 24 {
    field cell_log 0 BYTE, field size_log 1 BYTE, field cell_align 2 Signed(Two), field overhead 4 INT,
    field linklayer 8 UINT, field mpu 12 UINT, field mtu 16 UINT, field tsize 20 UINT,
});

attributes!(ADDRESS = n::ADDRESS, "IFA_" {
    "ADDRESS LOCAL BROADCAST ANYCAST MULTICAST": Address,
    "LABEL": Text,
    "CACHEINFO": Is(Structure(&ADDRESS_CACHE)),
    "FLAGS": Is(Flags(Four, &n::ADDRESS_FLAGS)),
    "RT_PRIORITY": U32,
    "TARGET_NETNSID": S32,
});
attributes!(LABEL = n::LABEL, "IFAL_" { "ADDRESS": Address, "LABEL": U32 });
attributes!(REPORT = n::REPORT, "IPMRA_CREPORT_" {
    "MSGTYPE": one8(&n::REPORT_TYPE),
    "VIF_ID TABLE": U32,
    "SRC_ADDR DST_ADDR": INET,
});
attributes!(REPORT6 = n::REPORT6, "IP6MRA_CREPORT_" {
    "MSGTYPE": one8(&n::REPORT6_TYPE),
    "MIF_ID": U32,
    "SRC_ADDR DST_ADDR": INET6,
});
attributes!(DCB = n::DCB, "DCB_ATTR_" {});
attributes!(MDB_TIMES = n::MDB_TIMES, "MDBA_MDB_EATTR_" { "TIMER": Ticks });
attributes!(MDB_ENTRY = n::MDB_ENTRY, "MDBA_MDB_ENTRY_" { "INFO": Own(Code::Group) });
attributes!(MDB_ENTRIES = n::MDB_ENTRIES, "MDBA_MDB_" { "ENTRY": Nested(&MDB_ENTRY) });
attributes!(ROUTER_PORT = n::ROUTER_PORT, "MDBA_ROUTER_PATTR_" {
    "TIMER INET_TIMER INET6_TIMER": Ticks,
    "TYPE": Is(Value(One, &n::ROUTER_TYPE)),
});
attributes!(ROUTER = n::ROUTER, "MDBA_ROUTER_" { "PORT": Before(DEVICE, &ROUTER_PORT) });
attributes!(MDB = n::MDB, "MDBA_" { "MDB": Nested(&MDB_ENTRIES), "ROUTER": Nested(&ROUTER) });
attributes!(FDB = n::FDB, "NFEA_" { "ACTIVITY_NOTIFY": flags8(&n::FDB_FLAGS) });
attributes!(NEIGHBOUR = n::NEIGHBOUR, "NDA_" {
    "DST": Address,
    "LLADDR": Hardware(HardwareLength::No),
    "CACHEINFO": Is(Structure(&NEIGHBOUR_CACHE)),
    "PROBES VNI LINK_NETNSID SRC_VNI NH_ID": U32,
    "VLAN": U16,
    "PORT": Is(ValueKind::Wire(NetworkKind::Short)),
    "IFINDEX MASTER": INTERFACE,
    "PROTOCOL": Named(&IPPROTO),
    "FDB_EXT_ATTRS": Nested(&FDB),
    "FLAGS_EXT": flags32(&n::NEIGHBOUR_MORE_FLAGS),
    "NDM_STATE_MASK": flags16(&n::NEIGHBOUR_STATE),
    "NDM_FLAGS_MASK": flags8(&n::NEIGHBOUR_FLAGS),
});
attributes!(NEIGHBOURS_SETTING = n::NEIGHBOURS_SETTING, "NDTPA_" {
    "IFINDEX": INTERFACE,
    "REFCNT QUEUE_LEN APP_PROBES UCAST_PROBES MCAST_PROBES PROXY_QLEN QUEUE_LENBYTES MCAST_REPROBES": U32,
    "REACHABLE_TIME BASE_REACHABLE_TIME RETRANS_TIME GC_STALETIME DELAY_PROBE_TIME ANYCAST_DELAY PROXY_DELAY": U64,
    "LOCKTIME INTERVAL_PROBE_TIME_MS": U64,
});
attributes!(NEIGHBOURS = n::NEIGHBOURS, "NDTA_" {
    "NAME": Text,
    "THRESH1 THRESH2 THRESH3": U32,
    "CONFIG": Is(Structure(&NEIGHBOURS_CONFIGURATION)),
    "PARMS": Nested(&NEIGHBOURS_SETTING),
    "STATS": Grown(&NEIGHBOURS_COUNTS, &[80]),
    "GC_INTERVAL": U64,
});
attributes!(CONFIGURATION = n::CONFIGURATION, "NETCONFA_" {
    "IFINDEX": INTERFACE,
    "FORWARDING RP_FILTER MC_FORWARDING PROXY_NEIGH IGNORE_ROUTES_WITH_LINKDOWN INPUT BC_FORWARDING": S32,
    "FORCE_FORWARDING": S32,
});
attributes!(NAMESPACE = n::NAMESPACE, "NETNSA_" {
    "NSID TARGET_NSID CURRENT_NSID": S32,
    "PID": U32,
    "FD": DESCRIPTOR,
});
attributes!(NEXT_HOP_RESILIENT = n::NEXT_HOP_RESILIENT, "NHA_RES_GROUP_" {
    "BUCKETS": U16,
    "IDLE_TIMER UNBALANCED_TIMER UNBALANCED_TIME": Ticks,
});
attributes!(NEXT_HOP_BUCKET = n::NEXT_HOP_BUCKET, "NHA_RES_BUCKET_" {
    "INDEX": U16,
    "IDLE_TIME": Ticks,
    "NH_ID": U32,
});
attributes!(NEXT_HOPS = n::NEXT_HOP, "NHA_" {
    "ID BLACKHOLE GROUPS FDB": U32,
    "GROUP": Several(Structure(&GROUP)),
    "GROUP_TYPE": one16(&n::NEXT_HOP_GROUP),
    "OIF MASTER": INTERFACE,
    "GATEWAY": Address,
    "ENCAP_TYPE": Is(Value(Two, &n::ENCAPSULATION)),
    "RES_GROUP": Nested(&NEXT_HOP_RESILIENT),
    "RES_BUCKET": Nested(&NEXT_HOP_BUCKET),
});
attributes!(METRICS = n::METRIC, "RTAX_" {
    "LOCK MTU WINDOW RTT RTTVAR SSTHRESH CWND ADVMSS REORDERING HOPLIMIT INITCWND FEATURES RTO_MIN INITRWND": U32,
    "QUICKACK": U32,
    "CC_ALGO": Text,
});
attributes!(
    /// Those of a route, and of each of its ways.
    pub(crate) MULTIPATH = n::ROUTE, "RTA_" {
        "DST SRC GATEWAY PREFSRC NEWDST": Address,
        "IIF OIF": INTERFACE,
        "PRIORITY PROTOINFO FLOW MP_ALGO MARK UID NH_ID": U32,
        "FLOWLABEL": BE32,
        "METRICS": Nested(&METRICS),
        "MULTIPATH": Own(Code::Multipath),
        "CACHEINFO": Is(Structure(&ROUTE_CACHE)),
        "TABLE": Is(Value(Four, &n::TABLE)),
        "MFC_STATS": Is(Structure(&FORWARDED)),
        "VIA": Own(Code::Via),
        "PREF TTL_PROPAGATE IP_PROTO": U8,
        "ENCAP_TYPE": Is(Value(Two, &n::ENCAPSULATION)),
        "EXPIRES": U64,
        "SPORT DPORT": U16,
    }
);
attributes!(RULE = n::RULE, "FRA_" {
    "DST SRC": Address,
    "IIFNAME OIFNAME": Text,
    "GOTO PRIORITY FWMARK FLOW SUPPRESS_IFGROUP SUPPRESS_PREFIXLEN FWMASK": U32,
    "TUN_ID": Is(ValueKind::Wire(NetworkKind::Long)),
    "TABLE": Is(Value(Four, &n::TABLE)),
    "L3MDEV DSCP": U8,
    "DSCP_MASK": X8,
    "FLOWLABEL FLOWLABEL_MASK": BE32,
    "SPORT_MASK DPORT_MASK": X16,
    "UID_RANGE": Is(Structure(&USERS)),
    "PROTOCOL": Is(Value(One, &n::PROTOCOL)),
    "IP_PROTO": Named(&IPPROTO),
    "SPORT_RANGE DPORT_RANGE": Is(Structure(&PORTS)),
});
attributes!(TRAFFIC_COUNT = n::TRAFFIC_COUNT, "TCA_STATS_" {
    "BASIC BASIC_HW": Is(Structure(&BASIC)),
    "RATE_EST": Is(Structure(&RATE)),
    "QUEUE": Is(Structure(&QUEUE)),
    "RATE_EST64": Is(Structure(&RATE64)),
    "PKT64": U64,
});
attributes!(TRAFFIC_SIZES = n::TRAFFIC_SIZES, "TCA_STAB_" {
    "BASE": Is(Structure(&SIZES)),
    "DATA": Several(HALF),
});
attributes!(TRAFFIC = n::TRAFFIC, "TCA_" {
    "KIND EXT_WARN_MSG": Text,
    "STATS": Is(Structure(&TRAFFIC_COUNTS)),
    "RATE": Is(Structure(&ESTIMATOR)),
    "FCNT CHAIN INGRESS_BLOCK EGRESS_BLOCK DUMP_FLAGS": U32,
    "STATS2": Nested(&TRAFFIC_COUNT),
    "STAB": Nested(&TRAFFIC_SIZES),
    "HW_OFFLOAD": U8,
});
static ACTIONS: AttributeKind = Nested(&ACTION);
attributes!(ROOT = n::ACTION_ROOT, "TCA_ROOT_" {
    "TAB": Listed(&ACTIONS),
    "FLAGS": flags32(&n::ACTION_ROOT_FLAGS),
    "COUNT": U32,
    "TIME_DELTA": Milliseconds,
    "EXT_WARN_MSG": Text,
});
attributes!(ACTION = n::ACTION, "TCA_ACT_" {
    "KIND": Text,
    "INDEX IN_HW_COUNT": U32,
    "STATS": Nested(&TRAFFIC_COUNT),
    "FLAGS": flags32(&n::ACTION_FLAGS),
    "HW_STATS USED_HW_STATS": flags32(&n::ACTION_COUNT),
});

const fn message(head: &'static Layout, attributes: &'static AttributeSet) -> MessageLayout {
    MessageLayout {
        head,
        attributes: MessageAttributes::Attributes(attributes),
    }
}

const REPORTS: &[(u8, &AttributeSet)] = &[(128, &REPORT), (129, &REPORT6)];

static ADDRESS_MESSAGE: MessageLayout = message(&ADDRESS_HEAD, &ADDRESS);
static LABEL_MESSAGE: MessageLayout = message(&LABEL_HEAD, &LABEL);
static REPORT_MESSAGE: MessageLayout = MessageLayout {
    head: &REPORT_HEAD,
    attributes: MessageAttributes::ByFamily(REPORTS),
};
static DCB_MESSAGE: MessageLayout = message(&DCB_HEAD, &DCB);
static MDB_MESSAGE: MessageLayout = message(&MDB_HEAD, &MDB);
static NEIGHBOUR_MESSAGE: MessageLayout = message(&NEIGHBOUR_HEAD, &NEIGHBOUR);
static NEIGHBOURS_MESSAGE: MessageLayout = message(&NEIGHBOURS_HEAD, &NEIGHBOURS);
static CONFIGURATION_MESSAGE: MessageLayout = message(&CONFIGURATION_HEAD, &CONFIGURATION);
static NAMESPACE_MESSAGE: MessageLayout = message(&NAMESPACE_HEAD, &NAMESPACE);
static NEXT_HOP_MESSAGE: MessageLayout = message(&NEXT_HOP_HEAD, &NEXT_HOPS);
static ROUTE_MESSAGE: MessageLayout = message(&ROUTE_HEAD, &MULTIPATH);
static RULE_MESSAGE: MessageLayout = message(&RULE_HEAD, &RULE);
static TRAFFIC_MESSAGE: MessageLayout = message(&TRAFFIC_HEAD, &TRAFFIC);
static ACTION_MESSAGE: MessageLayout = message(&ACTION_HEAD, &ROOT);

/// What is asked of neighbours of bridges begins as what is asked of interfaces does.
const GET_NEIGHBOUR: u16 = 30;
const BRIDGE: u8 = 7;

/// By the words that their names end with, what the messages of routing hold.
static MESSAGES: &[(&str, &MessageLayout)] = &[
    ("NEWLINK DELLINK GETLINK SETLINK", &LINK_MESSAGE),
    ("NEWADDR DELADDR GETADDR", &ADDRESS_MESSAGE),
    (
        "NEWMULTICAST DELMULTICAST GETMULTICAST NEWANYCAST DELANYCAST GETANYCAST",
        &ADDRESS_MESSAGE,
    ),
    ("NEWROUTE DELROUTE GETROUTE", &ROUTE_MESSAGE),
    ("NEWNEIGH DELNEIGH GETNEIGH", &NEIGHBOUR_MESSAGE),
    ("NEWRULE DELRULE GETRULE", &RULE_MESSAGE),
    (
        "NEWQDISC DELQDISC GETQDISC NEWTCLASS DELTCLASS GETTCLASS",
        &TRAFFIC_MESSAGE,
    ),
    (
        "NEWTFILTER DELTFILTER GETTFILTER NEWCHAIN DELCHAIN GETCHAIN",
        &TRAFFIC_MESSAGE,
    ),
    ("NEWACTION DELACTION GETACTION", &ACTION_MESSAGE),
    ("NEWNEIGHTBL GETNEIGHTBL SETNEIGHTBL", &NEIGHBOURS_MESSAGE),
    ("NEWADDRLABEL DELADDRLABEL GETADDRLABEL", &LABEL_MESSAGE),
    ("GETDCB SETDCB", &DCB_MESSAGE),
    ("NEWNETCONF DELNETCONF GETNETCONF", &CONFIGURATION_MESSAGE),
    ("NEWMDB DELMDB GETMDB", &MDB_MESSAGE),
    ("NEWNSID DELNSID GETNSID", &NAMESPACE_MESSAGE),
    ("NEWSTATS GETSTATS", &STATISTICS_MESSAGE),
    ("NEWCACHEREPORT", &REPORT_MESSAGE),
    ("NEWNEXTHOP DELNEXTHOP GETNEXTHOP", &NEXT_HOP_MESSAGE),
];

/// What a message of routing holds, by its kind and its family.
pub(crate) struct Routing;

/// The one that there is.
pub(crate) static ROUTING: Routing = Routing;

impl Routing {
    /// The message; nothing if nothing but its family is known.
    pub fn message(&self, kind: u16, family: u8) -> Option<&'static MessageLayout> {
        if kind == GET_NEIGHBOUR && family == BRIDGE {
            return Some(&LINK_MESSAGE);
        }
        let name = super::names::message::ROUTE.name(u64::from(kind))?;
        let name = name.strip_prefix("RTM_")?;
        let known =
            |(names, _): &&(&str, &MessageLayout)| names.split(' ').any(|known| known == name);
        MESSAGES.iter().find(known).map(|(_, message)| *message)
    }

    /// The multicast group's times and a port's, behind what stands before them.
    pub fn group_times(&self) -> &'static AttributeSet {
        &MDB_TIMES
    }
}

/// What an address of a group is, beside itself.
pub(crate) static GROUP_HEAD: &Layout = &GROUP_FIELDS;
structure!(GROUP_FIELDS 12 {
    field ifindex 0 DEVICE, field state 4 Value(One, &n::MDB_STATE), field flags 5 Flags(One, &n::MDB_FLAGS),
    field vid 6 HALF,
});
