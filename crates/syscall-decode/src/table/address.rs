//! What the addresses of sockets hold, by their family.
//!
//! What depends on an address's length is in the decoder.

pub(crate) use backsight_syscall_tables::sets::{
    ADDRESS_ALGORITHM as ALGORITHM, ADDRESS_BLUETOOTH as BLUETOOTH,
};
pub(crate) use backsight_syscall_tables::sets::{
    ADDRESS_CHANNEL as CHANNEL, ADDRESS_CLUSTER as CLUSTER, ADDRESS_CONNECTION as CONNECTION,
    ADDRESS_MULTIPLEXED as MULTIPLEXED,
};
use backsight_syscall_tables::sets::{
    ADDRESS_EXPRESS as EXPRESS, ADDRESS_MACHINE as MACHINE, ADDRESS_MACHINE_FLAGS as MACHINE_FLAGS,
    ADDRESS_MACHINE_PORT as MACHINE_PORT, ADDRESS_MANAGED as MANAGED,
    ADDRESS_MANAGED_NETWORK as MANAGED_NETWORK, ADDRESS_NEAR as NEAR, ADDRESS_PICKED as PICKED,
    ADDRESS_RADIO_ADDRESS as RADIO_ADDRESS, ADDRESS_RADIO_KIND as RADIO_KIND,
    ADDRESS_RADIO_NETWORK as RADIO_NETWORK, ADDRESS_ROUTED_NODE as ROUTED_NODE,
    ADDRESS_ROUTED_PORT as ROUTED_PORT,
};
use backsight_syscall_tables::sets::{
    ADDRESS_NEAR_POINT as NEAR_POINT, ADDRESS_SERVICE as SERVICE,
};

use super::kind::IntegerWidth::{Four, One as Byte, Two};
use super::kind::ValueKind::{
    Array, Characters, Fd, Flags, Hex, One, Only, Process, Structure as In, Unsigned, Wire,
};
use super::kind::{FieldCondition, NetworkKind as W, PidKind, StructureLayout, ValueKind};
use super::structure::{UINT, field, set, structure};

const BYTE_OF_ADDRESS: ValueKind = Wire(W::Padded(Byte));

structure!(IPX 16 {
    field sipx_port 2 Wire(W::Port), field sipx_network 4 Wire(W::Bits), field sipx_node 8 Array(&BYTE_OF_ADDRESS, 6),
    field sipx_type 14 BYTE_OF_ADDRESS, set sipx_zero 15 Hex(Byte),
});
structure!(X25_ADDRESS 16 { field x25_addr 0 Characters(16) });
structure!(X25 18 { field sx25_addr 2 In(&X25_ADDRESS) });
structure!(NETLINK 12 {
    set nl_pad 2 Hex(Two), field nl_pid 4 Process(PidKind::Process), field nl_groups 8 Wire(W::Padded(Four)),
});
structure!(VIRTUAL 16 {
    set svm_reserved1 2 Hex(Two), field svm_cid 8 One(Four, &MACHINE), field svm_port 4 One(Four, &MACHINE_PORT),
    field svm_flags 12 Flags(Byte, &MACHINE_FLAGS), set svm_zero 13 Wire(W::Bytes(3)),
});
structure!(ROUTED 12 { field sq_node 4 One(Four, &ROUTED_NODE), field sq_port 8 One(Four, &ROUTED_PORT) });
structure!(EXPRESS_DATA 16 {
    field sxdp_flags 2 Flags(Two, &EXPRESS), field sxdp_ifindex 4 Wire(W::Interface), field sxdp_queue_id 8 UINT,
    field sxdp_shared_umem_fd 12 Only(FieldCondition::Has(2, Two, 1), &Fd),
    set sxdp_shared_umem_fd 12 Only(FieldCondition::Lacks(2, Two, 1), &Hex(Four)),
});
structure!(MANAGED_ADDRESS 1 { field s_addr 0 One(Byte, &MANAGED) });
structure!(MANAGEMENT 12 {
    set __smctp_pad0 2 Hex(Two), field smctp_network 4 One(Four, &MANAGED_NETWORK),
    field smctp_addr 8 In(&MANAGED_ADDRESS), field smctp_type 9 Hex(Byte), field smctp_tag 10 Hex(Byte),
    set __smctp_pad1 11 Hex(Byte),
});
structure!(RADIO_PLACE 16 {
    field addr_type 0 Wire(W::Named(Four, &RADIO_KIND)), field pan_id 4 Wire(W::Named(Two, &RADIO_NETWORK)),
    field short_addr 6 Only(FieldCondition::Is(0, Four, &[2]), &Wire(W::Named(Two, &RADIO_ADDRESS))),
    field hwaddr 6 Only(FieldCondition::Not(0, Four, &[0, 2]), &Wire(W::Hardware(8))),
});
structure!(RADIO 20 { field addr 4 In(&RADIO_PLACE) });
structure!(NEAR_FIELD 16 {
    field dev_idx 4 Wire(W::Interface), field target_idx 8 Hex(Four), field nfc_protocol 12 One(Four, &NEAR),
});
structure!(NEAR_SERVICE 96 {
    field dsap 16 Wire(W::Named(Byte, &NEAR_POINT)), field ssap 17 Wire(W::Named(Byte, &NEAR_POINT)),
});
structure!(CLUSTER_RANGE_VALUE 12 { field r#type 0 UINT, field lower 4 UINT, field upper 8 UINT });
structure!(CLUSTER_SERVICE_VALUE 8 { field r#type 0 UINT, field instance 4 UINT });
structure!(CLUSTER_NAME 12 { field name 0 In(&CLUSTER_SERVICE_VALUE), field domain 8 Hex(Four) });
structure!(CLUSTER_SOCKET_VALUE 8 { field r#ref 0 UINT, field node 4 Hex(Four) });
structure!(CLUSTER_RANGE 12 { field nameseq 0 In(&CLUSTER_RANGE_VALUE) });
structure!(CLUSTER_SERVICE 12 { field name 0 In(&CLUSTER_NAME) });
structure!(CLUSTER_SOCKET 12 { field id 0 In(&CLUSTER_SOCKET_VALUE) });

/// What an address of a cluster is, by its type.
pub(crate) static CLUSTER_MEMBERS: &[(u8, &StructureLayout)] = &[
    (1, &CLUSTER_RANGE),
    (2, &CLUSTER_SERVICE),
    (3, &CLUSTER_SOCKET),
];

structure!(REMOTE 36 {
    field srx_service 2 Wire(W::Named(Two, &SERVICE)), field transport_type 4 One(Two, &super::flags::SOCK_TYPE),
    field transport_len 6 Unsigned(Two),
});
structure!(PACKET 20 {
    field sll_ifindex 4 Wire(W::Interface), field sll_hatype 8 One(Two, &super::netlink::names::link::HARDWARE),
    field sll_pkttype 10 One(Byte, &PICKED), field sll_halen 11 Unsigned(Byte),
});

/// Addresses of a family, where they are no shorter than that.
pub(crate) static FAMILIES: &[(u16, &StructureLayout)] = &[
    (4, &IPX),
    (9, &X25),
    (16, &NETLINK),
    (36, &RADIO),
    (40, &VIRTUAL),
    (42, &ROUTED),
    (44, &EXPRESS_DATA),
    (45, &MANAGEMENT),
];
