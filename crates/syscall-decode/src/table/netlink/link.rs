//! Messages about interfaces, and their statistics.
//!
//! Attributes of single kinds of devices aren't described, but for bridges and tunnels.

use super::AttributeKind::{
    Attributes as Nested, BeforeBytes, ByFamily, ByText, Families, For, Grown, Hardware, Indexed,
    Is, Terminated, Text, Ticks, Word,
};
use super::held::*;
use super::names::link as n;
use super::{
    AttributeKind, AttributeSet, HardwareLength, MessageAttributes, MessageLayout, attributes,
};
use crate::table::flags::DOMAIN;
use crate::table::kind::IntegerWidth::{Eight, Four, One, Two};
use crate::table::kind::ValueKind::{Array, Flags, Hex, Signed, Structure, Unsigned};
use crate::table::kind::{NetworkKind, ValueKind};
use crate::table::structure::{UINT, ULONG, field, set, structure};

const BRIDGE: u8 = 7;
const INET: u8 = 2;
const INET6: u8 = 10;
const MPLS: u8 = 28;
const MCTP: u8 = 45;
const BYTE: ValueKind = Unsigned(One);
const FAMILY: ValueKind = ValueKind::One(One, &DOMAIN);
const HALF: ValueKind = Unsigned(Two);

structure!(LINK_HEAD 16 {
    field ifi_family 0 FAMILY, field ifi_type 2 ValueKind::One(Two, &n::HARDWARE), field ifi_index 4 ValueKind::Wire(NetworkKind::Interface),
    field ifi_flags 8 Flags(Four, &n::INTERFACE), field ifi_change 12 Hex(Four),
});
structure!(COUNTS 96 {
    field rx_packets 0 UINT, field tx_packets 4 UINT, field rx_bytes 8 UINT, field tx_bytes 12 UINT,
    field rx_errors 16 UINT, field tx_errors 20 UINT, field rx_dropped 24 UINT, field tx_dropped 28 UINT,
    field multicast 32 UINT, field collisions 36 UINT, field rx_length_errors 40 UINT, field rx_over_errors 44 UINT,
    field rx_crc_errors 48 UINT, field rx_frame_errors 52 UINT, field rx_fifo_errors 56 UINT,
    field rx_missed_errors 60 UINT, field tx_aborted_errors 64 UINT, field tx_carrier_errors 68 UINT,
    field tx_fifo_errors 72 UINT, field tx_heartbeat_errors 76 UINT, field tx_window_errors 80 UINT,
    field rx_compressed 84 UINT, field tx_compressed 88 UINT, field rx_nohandler 92 UINT,
});
structure!(COUNTS64 200 {
    field rx_packets 0 ULONG, field tx_packets 8 ULONG, field rx_bytes 16 ULONG, field tx_bytes 24 ULONG,
    field rx_errors 32 ULONG, field tx_errors 40 ULONG, field rx_dropped 48 ULONG, field tx_dropped 56 ULONG,
    field multicast 64 ULONG, field collisions 72 ULONG, field rx_length_errors 80 ULONG, field rx_over_errors 88 ULONG,
    field rx_crc_errors 96 ULONG, field rx_frame_errors 104 ULONG, field rx_fifo_errors 112 ULONG,
    field rx_missed_errors 120 ULONG, field tx_aborted_errors 128 ULONG, field tx_carrier_errors 136 ULONG,
    field tx_fifo_errors 144 ULONG, field tx_heartbeat_errors 152 ULONG, field tx_window_errors 160 ULONG,
    field rx_compressed 168 ULONG, field tx_compressed 176 ULONG, field rx_nohandler 184 ULONG,
    field rx_otherhost_dropped 192 ULONG,
});
structure!(MAP 28 {
    field mem_start 0 Hex(Eight), field mem_end 8 Hex(Eight), field base_addr 16 Hex(Eight), field irq 24 HALF,
    field dma 26 BYTE, field port 27 BYTE,
});
structure!(BRIDGE_ID 8 { field prio 0 Array(&BYTE, 2), field addr 2 ValueKind::Wire(NetworkKind::Hardware(6)) });
structure!(CACHE 16 {
    field max_reasm_len 0 UINT, field tstamp 4 UINT, field reachable_time 8 UINT, field retrans_time 12 UINT,
});
structure!(CAN 24 {
    field bus_error 0 UINT, field error_warning 4 UINT, field error_passive 8 UINT, field bus_off 12 UINT,
    field arbitration_lost 16 UINT, field restarts 20 UINT,
});
structure!(CHOICES 8 {
    field optval 0 Flags(Four, &n::BRIDGE_CHOICE), field optmask 4 Flags(Four, &n::BRIDGE_CHOICE),
});
structure!(FUNCTION_MAC 36 { field vf 0 UINT, field mac 4 ValueKind::Wire(NetworkKind::Hardware(32)) });
structure!(FUNCTION_VLAN 12 { field vf 0 UINT, field vlan 4 UINT, field qos 8 UINT });
structure!(FUNCTION_TX 8 { field vf 0 UINT, field rate 4 UINT });
structure!(FUNCTION_SETTING 8 { field vf 0 UINT, field setting 4 UINT });
structure!(FUNCTION_STATE 8 { field vf 0 UINT, field link_state 4 ValueKind::One(Four, &n::FUNCTION_STATE) });
structure!(FUNCTION_RATE 12 { field vf 0 UINT, field min_tx_rate 4 UINT, field max_tx_rate 8 UINT });
structure!(FUNCTION_GUID_PACKED 12 { field vf 0 UINT, field guid 4 Hex(Eight) });
structure!(FUNCTION_GUID 16 { field vf 0 UINT, field guid 8 Hex(Eight) });
structure!(FUNCTION_VLANS 16 {
    field vf 0 UINT, field vlan 4 UINT, field qos 8 UINT, field vlan_proto 12 ValueKind::Wire(NetworkKind::Protocol("ETH_P_???")),
});
structure!(FUNCTION_BROADCAST 32 { field broadcast 0 ValueKind::Wire(NetworkKind::Hardware(32)) });
structure!(STATION 8 {
    field vsi_mgr_id 0 BYTE, field vsi_type_id 1 ValueKind::Wire(NetworkKind::Bytes(3)), field vsi_type_version 4 BYTE,
    set pad 5 ValueKind::Wire(NetworkKind::Bytes(3)),
});
structure!(VLAN 4 { field flags 0 Flags(Two, &n::VLAN_FLAGS), field vid 2 HALF });
structure!(STATISTICS_HEAD 12 {
    field family 0 FAMILY, set pad1 1 Hex(One), set pad2 2 Hex(Two), field ifindex 4 ValueKind::Wire(NetworkKind::Interface),
    field filter_mask 8 Flags(Four, &n::STATISTICS_FLAGS),
});
structure!(VLAN_COUNTS 40 {
    field rx_bytes 0 ULONG, field rx_packets 8 ULONG, field tx_bytes 16 ULONG, field tx_packets 24 ULONG,
    field vid 32 HALF, field flags 34 Flags(Two, &n::VLAN_FLAGS), set pad2 36 Hex(Four),
});

const DIRECTIONS: ValueKind = ValueKind::Wire(NetworkKind::Indexed(Eight, 2, &n::MULTICAST));

structure!(MULTICAST_COUNTS 240 {
    field igmp_v1queries 0 DIRECTIONS, field igmp_v2queries 16 DIRECTIONS, field igmp_v3queries 32 DIRECTIONS,
    field igmp_leaves 48 DIRECTIONS, field igmp_v1reports 64 DIRECTIONS, field igmp_v2reports 80 DIRECTIONS,
    field igmp_v3reports 96 DIRECTIONS, field igmp_parse_errors 112 ULONG, field mld_v1queries 120 DIRECTIONS,
    field mld_v2queries 136 DIRECTIONS, field mld_leaves 152 DIRECTIONS, field mld_v1reports 168 DIRECTIONS,
    field mld_v2reports 184 DIRECTIONS, field mld_parse_errors 200 ULONG, field mcast_bytes 208 DIRECTIONS,
    field mcast_packets 224 DIRECTIONS,
});
structure!(TREE_COUNTS 48 {
    field transition_blk 0 ULONG, field transition_fwd 8 ULONG, field rx_bpdu 16 ULONG, field tx_bpdu 24 ULONG,
    field rx_tcn 32 ULONG, field tx_tcn 40 ULONG,
});
structure!(LABEL_COUNTS 72 {
    field rx_packets 0 ULONG, field tx_packets 8 ULONG, field rx_bytes 16 ULONG, field tx_bytes 24 ULONG,
    field rx_errors 32 ULONG, field tx_errors 40 ULONG, field rx_dropped 48 ULONG, field tx_dropped 56 ULONG,
    field rx_noroute 64 ULONG,
});

const ALL_COUNTS: AttributeKind = Grown(&COUNTS64, &[192, 184]);

attributes!(BRIDGE_PORT = n::BRIDGE_PORT, "IFLA_BRPORT_" {
    "STATE MODE GUARD PROTECT FAST_LEAVE LEARNING UNICAST_FLOOD PROXYARP LEARNING_SYNC PROXYARP_WIFI": U8,
    "TOPOLOGY_CHANGE_ACK CONFIG_PENDING MULTICAST_ROUTER MCAST_FLOOD MCAST_TO_UCAST VLAN_TUNNEL BCAST_FLOOD": U8,
    "NEIGH_SUPPRESS ISOLATED MRP_RING_OPEN MRP_IN_OPEN LOCKED MAB NEIGH_VLAN_SUPPRESS NEIGH_FORWARD_GRAT": U8,
    "PRIORITY DESIGNATED_PORT DESIGNATED_COST ID NO": U16,
    "COST MCAST_EHT_HOSTS_LIMIT MCAST_EHT_HOSTS_CNT MCAST_N_GROUPS MCAST_MAX_GROUPS BACKUP_NHID": U32,
    "ROOT_ID BRIDGE_ID": Is(Structure(&BRIDGE_ID)),
    "MESSAGE_AGE_TIMER FORWARD_DELAY_TIMER HOLD_TIMER": Ticks,
    "GROUP_FWD_MASK": X16,
    "BACKUP_PORT": INTERFACE,
});
attributes!(OF_INET6 = n::INET6, "IFLA_INET6_" {
    "FLAGS": flags32(&n::INET6_FLAGS),
    "CONF": Indexed(Signed(Four), &n::INET6_SETTING),
    "STATS": Indexed(ULONG, &n::IP_COUNT),
    "CACHEINFO": Is(Structure(&CACHE)),
    "ICMP6STATS": Indexed(ULONG, &n::ICMP6_COUNT),
    "TOKEN": super::held::INET6,
    "ADDR_GEN_MODE": one8(&n::ADDRESS_MODE),
    "RA_MTU": U32,
});
attributes!(OF_INET = n::INET, "IFLA_INET_" { "CONF": Indexed(Signed(Four), &n::INET_SETTING) });
attributes!(OF_MCTP = n::MCTP, "IFLA_MCTP_" { "NET": U32, "PHYS_BINDING": X8 });
attributes!(QUERIER = n::QUERIER, "BRIDGE_QUERIER_" {
    "IP_ADDRESS": super::held::INET,
    "IP_PORT IPV6_PORT": INTERFACE,
    "IP_OTHER_TIMER IPV6_OTHER_TIMER": Ticks,
    "IPV6_ADDRESS": super::held::INET6,
});
attributes!(OF_BRIDGE = n::BRIDGE, "IFLA_BR_" {
    "FORWARD_DELAY HELLO_TIME MAX_AGE AGEING_TIME HELLO_TIMER TCN_TIMER TOPOLOGY_CHANGE_TIMER GC_TIMER": Ticks,
    "MCAST_LAST_MEMBER_INTVL MCAST_MEMBERSHIP_INTVL MCAST_QUERIER_INTVL MCAST_QUERY_INTVL": Ticks,
    "MCAST_QUERY_RESPONSE_INTVL MCAST_STARTUP_QUERY_INTVL": Ticks,
    "STP_STATE ROOT_PATH_COST MCAST_HASH_ELASTICITY MCAST_HASH_MAX MCAST_LAST_MEMBER_CNT MCAST_STARTUP_QUERY_CNT": U32,
    "FDB_N_LEARNED FDB_MAX_LEARNED": U32,
    "STP_MODE": one32(&n::BRIDGE_TREE_MODE),
    "PRIORITY ROOT_PORT VLAN_DEFAULT_PVID": U16,
    "VLAN_FILTERING TOPOLOGY_CHANGE TOPOLOGY_CHANGE_DETECTED MCAST_ROUTER MCAST_SNOOPING MCAST_QUERY_USE_IFADDR": U8,
    "MCAST_QUERIER NF_CALL_IPTABLES NF_CALL_IP6TABLES NF_CALL_ARPTABLES VLAN_STATS_ENABLED MCAST_STATS_ENABLED": U8,
    "MCAST_IGMP_VERSION MCAST_MLD_VERSION VLAN_STATS_PER_PORT": U8,
    "VLAN_PROTOCOL": Word(ValueKind::Wire(NetworkKind::Protocol("ETHER_P_???"))),
    "GROUP_FWD_MASK": X16,
    "ROOT_ID BRIDGE_ID": Is(Structure(&BRIDGE_ID)),
    "GROUP_ADDR": Hardware(HardwareLength::No),
    "MULTI_BOOLOPT": Is(Structure(&CHOICES)),
    "MCAST_QUERIER_STATE": Nested(&QUERIER),
});
attributes!(OF_TUN = n::TUN, "IFLA_TUN_" {
    "OWNER GROUP": ID,
    "TYPE": one8(&n::TUN_TYPE),
    "PI VNET_HDR PERSIST MULTI_QUEUE": U8,
    "NUM_QUEUES NUM_DISABLED_QUEUES": U32,
});
attributes!(INFO = n::INFO, "IFLA_INFO_" {
    "KIND SLAVE_KIND": Terminated,
    "DATA": ByText("IFLA_INFO_KIND", &[("bridge", Nested(&OF_BRIDGE)), ("tun", Nested(&OF_TUN))]),
    "XSTATS": ByText("IFLA_INFO_KIND", &[("can", Is(Structure(&CAN)))]),
    "SLAVE_DATA": ByText("IFLA_INFO_SLAVE_KIND", &[("bridge", Nested(&BRIDGE_PORT))]),
});
attributes!(FUNCTION_COUNTS = n::FUNCTION_COUNT, "IFLA_VF_STATS_" {
    "RX_PACKETS TX_PACKETS RX_BYTES TX_BYTES BROADCAST MULTICAST RX_DROPPED TX_DROPPED": U64,
});
attributes!(FUNCTION_VLAN_LIST = n::FUNCTION_VLAN, "IFLA_VF_VLAN_" { "INFO": Is(Structure(&FUNCTION_VLANS)) });
attributes!(FUNCTION = n::FUNCTION, "IFLA_VF_" {
    "MAC": Is(Structure(&FUNCTION_MAC)),
    "VLAN": Is(Structure(&FUNCTION_VLAN)),
    "TX_RATE": Is(Structure(&FUNCTION_TX)),
    "SPOOFCHK RSS_QUERY_EN TRUST": Is(Structure(&FUNCTION_SETTING)),
    "LINK_STATE": Is(Structure(&FUNCTION_STATE)),
    "RATE": Is(Structure(&FUNCTION_RATE)),
    "STATS": Nested(&FUNCTION_COUNTS),
    "IB_NODE_GUID IB_PORT_GUID": AttributeKind::Sized(&[&FUNCTION_GUID, &FUNCTION_GUID_PACKED]),
    "VLAN_LIST": Nested(&FUNCTION_VLAN_LIST),
    "BROADCAST": Is(Structure(&FUNCTION_BROADCAST)),
});
attributes!(FUNCTIONS = n::FUNCTIONS, "IFLA_VF_" { "INFO": Nested(&FUNCTION) });
attributes!(PORT = n::PORT, "IFLA_PORT_" {
    "VF": U32,
    "PROFILE": Text,
    "VSI_TYPE": Is(Structure(&STATION)),
    "REQUEST": U8,
    "RESPONSE": U16,
});
attributes!(PORTS = n::PORTS, "IFLA_VF_" { "PORT": Nested(&PORT) });
attributes!(XDP = n::XDP, "IFLA_XDP_" {
    "FD EXPECTED_FD": DESCRIPTOR,
    "ATTACHED": one8(&n::XDP_ATTACHED),
    "FLAGS": Is(Flags(Four, &n::XDP_FLAGS)),
    "PROG_ID DRV_PROG_ID SKB_PROG_ID HW_PROG_ID": U32,
});
attributes!(VLAN_TUNNEL = n::VLAN_TUNNEL, "IFLA_BRIDGE_VLAN_TUNNEL_" {
    "ID": U32,
    "VID": U16,
    "FLAGS": flags16(&n::VLAN_FLAGS),
});
attributes!(BRIDGE_LINK = n::BRIDGE_LINK, "IFLA_BRIDGE_" {
    "FLAGS": flags16(&n::BRIDGE_FLAGS),
    "MODE": one16(&n::BRIDGE_MODE),
    "VLAN_INFO": BeforeBytes(Structure(&VLAN)),
    "VLAN_TUNNEL_INFO": Nested(&VLAN_TUNNEL),
});
attributes!(DOWN_REASON = n::DOWN_REASON, "IFLA_PROTO_DOWN_REASON_" { "MASK VALUE": X32 });
attributes!(PROPERTIES = n::LINK, "IFLA_" { "ALT_IFNAME": Text });

static OF_FAMILIES: AttributeKind =
    Families(&[(INET, &OF_INET), (INET6, &OF_INET6), (MCTP, &OF_MCTP)]);
static OF_BRIDGES: AttributeKind = Nested(&BRIDGE_LINK);

attributes!(LINK = n::LINK, "IFLA_" {
    "ADDRESS BROADCAST PERM_ADDRESS": Hardware(HardwareLength::ByFamily),
    "IFNAME QDISC IFALIAS PHYS_PORT_NAME ALT_IFNAME PARENT_DEV_NAME PARENT_DEV_BUS_NAME": Text,
    "MTU LINK MASTER TXQLEN WEIGHT NET_NS_PID NUM_VF GROUP PROMISCUITY NUM_TX_QUEUES NUM_RX_QUEUES": U32,
    "CARRIER_CHANGES GSO_MAX_SEGS GSO_MAX_SIZE CARRIER_UP_COUNT CARRIER_DOWN_COUNT MIN_MTU MAX_MTU": U32,
    "GRO_MAX_SIZE TSO_MAX_SIZE TSO_MAX_SEGS ALLMULTI GSO_IPV4_MAX_SIZE GRO_IPV4_MAX_SIZE DEVLINK_PORT": U32,
    "MAX_PACING_OFFLOAD_HORIZON": U64,
    "HEADROOM TAILROOM": U16,
    "OPERSTATE LINKMODE CARRIER PROTO_DOWN NETNS_IMMUTABLE": U8,
    "LINK_NETNSID NEW_NETNSID IF_NETNSID TARGET_NETNSID": S32,
    "NEW_IFINDEX": INTERFACE,
    "NET_NS_FD": DESCRIPTOR,
    "STATS": Grown(&COUNTS, &[92]),
    "STATS64": ALL_COUNTS,
    "PROTINFO": ByFamily(&[(BRIDGE, &BRIDGE_PORT), (INET6, &OF_INET6)]),
    "MAP": Is(Structure(&MAP)),
    "LINKINFO": Nested(&INFO),
    "VFINFO_LIST": Nested(&FUNCTIONS),
    "VF_PORTS": Nested(&PORTS),
    "PORT_SELF": Nested(&PORT),
    "AF_SPEC": For(BRIDGE, &OF_BRIDGES, &OF_FAMILIES),
    "EXT_MASK": flags32(&n::FILTER),
    "XDP": Nested(&XDP),
    "EVENT": Is(ValueKind::One(Four, &n::EVENT)),
    "PROP_LIST": Nested(&PROPERTIES),
    "PROTO_DOWN_REASON": Nested(&DOWN_REASON),
});

attributes!(EXTENDED_BRIDGE = n::EXTENDED_BRIDGE, "BRIDGE_XSTATS_" {
    "VLAN": BeforeBytes(Structure(&VLAN_COUNTS)),
    "MCAST": BeforeBytes(Structure(&MULTICAST_COUNTS)),
    "STP": BeforeBytes(Structure(&TREE_COUNTS)),
});
attributes!(BOND_3AD = n::BOND_3AD, "BOND_3AD_STAT_" {
    "LACPDU_RX LACPDU_TX LACPDU_UNKNOWN_RX LACPDU_ILLEGAL_RX MARKER_RX MARKER_TX MARKER_RESP_RX MARKER_RESP_TX": U64,
    "MARKER_UNKNOWN_RX": U64,
});
attributes!(EXTENDED_BOND = n::EXTENDED_BOND, "BOND_XSTATS_" { "3AD": Nested(&BOND_3AD) });
attributes!(EXTENDED = n::EXTENDED, "LINK_XSTATS_TYPE_" {
    "BRIDGE": Nested(&EXTENDED_BRIDGE),
    "BOND": Nested(&EXTENDED_BOND),
});
attributes!(OFFLOADED = n::OFFLOADED, "IFLA_OFFLOAD_XSTATS_" { "CPU_HIT": ALL_COUNTS });
attributes!(OF_MPLS = n::MPLS, "MPLS_STATS_" { "LINK": BeforeBytes(Structure(&LABEL_COUNTS)) });
attributes!(STATISTICS = n::STATISTICS, "IFLA_STATS_" {
    "LINK_64": ALL_COUNTS,
    "LINK_XSTATS LINK_XSTATS_SLAVE": Nested(&EXTENDED),
    "LINK_OFFLOAD_XSTATS": Nested(&OFFLOADED),
    "AF_SPEC": Families(&[(MPLS, &OF_MPLS)]),
});

pub(super) static LINK_MESSAGE: MessageLayout = MessageLayout {
    head: &LINK_HEAD,
    attributes: MessageAttributes::Attributes(&LINK),
};
pub(super) static STATISTICS_MESSAGE: MessageLayout = MessageLayout {
    head: &STATISTICS_HEAD,
    attributes: MessageAttributes::Attributes(&STATISTICS),
};
