//! Rings of input and output (`io_uring_setup`, `io_uring_register`) and `seccomp`: what their arguments mean.

use backsight_syscall_tables::sets::{
    RINGS_ACCEPTED as ACCEPTED, RINGS_ATTRIBUTES as ATTRIBUTES, RINGS_CANCELLED as CANCELLED,
    RINGS_CLONED as CLONED, RINGS_ENTRY_FLAGS as ENTRY_FLAGS, RINGS_FEATURES as FEATURES,
    RINGS_INSTALLED as INSTALLED, RINGS_MESSAGE as MESSAGE, RINGS_NAPI as NAPI_ASKED,
    RINGS_NAPI_TRACKING as NAPI_TRACKING, RINGS_NOTHING as NOTHING, RINGS_QUERY as QUERY,
    RINGS_RECEIVE as RECEIVE, RINGS_RECEIVE_AREA as RECEIVE_AREA,
    RINGS_RECEIVE_CONTROL as RECEIVE_CONTROL, RINGS_RECEIVE_EVENT as RECEIVE_EVENT,
    RINGS_REGION as REGION, RINGS_REGISTERED as REGISTERED,
    RINGS_REGISTERED_RING as REGISTERED_RING, RINGS_RING as RING, RINGS_SENT as SENT,
    RINGS_SKIPPED as SKIPPED, RINGS_SPARSE as SPARSE,
};
pub(crate) use backsight_syscall_tables::sets::{
    RINGS_OPERATIONS as OPERATIONS, RINGS_RESTRICTIONS as RESTRICTIONS,
    RINGS_SUPPORTED as SUPPORTED, RINGS_WORKERS as WORKERS,
};

use super::*;
use crate::format;
use crate::table::kind::{FieldCondition, IntegerWidth::One as Byte};
use crate::table::structure::{TIMESPEC, field, out, set, structure};
use crate::table::{BitField, BitFieldStyle, CustomFormat, UnnamedStyle};

structure!(SUBMITTED 40 {
    field head 0 UINT, field tail 4 UINT, field ring_mask 8 UINT, field ring_entries 12 UINT, field flags 16 UINT,
    field dropped 20 UINT, field array 24 UINT, set resv1 28 Hex(Four), field user_addr 32 Hex(Eight),
});
structure!(COMPLETED 40 {
    field head 0 UINT, field tail 4 UINT, field ring_mask 8 UINT, field ring_entries 12 UINT, field overflow 16 UINT,
    field cqes 20 UINT, field flags 24 UINT, set resv1 28 Hex(Four), field user_addr 32 Hex(Eight),
});
structure!(PARAMETERS 120 {
    field flags 8 Flags(Four, &RING), field sq_thread_cpu 12 Hex(Four), field sq_thread_idle 16 UINT,
    field wq_fd 24 Only(FieldCondition::Has(8, Four, 0x20), &Fd), set resv 28 Array(&Hex(Four), 3), out sq_entries 0 UINT,
    out cq_entries 4 UINT, out features 20 Flags(Four, &FEATURES), out sq_off 40 Structure(&SUBMITTED),
    out cq_off 80 Structure(&COMPLETED),
});
structure!(NOTICES 6 {
    field seccomp_notif 0 Unsigned(Two), field seccomp_notif_resp 2 Unsigned(Two), field seccomp_data 4 Unsigned(Two),
});

const UPDATED: ValueKind = FdOr(&SKIPPED);
const TAGS: ValueKind = Many(In, &Hex(Eight), LengthSource::Field(0, Four, 1));
const UPDATED_TAGS: ValueKind = Many(In, &Hex(Eight), LengthSource::Field(24, Four, 1));

structure!(PLACE 16 { field iov_base 0 Address, field iov_len 8 SIZE });
structure!(FILES_UPDATE 16 {
    field offset 0 UINT, set resv 4 Hex(Four), field fds 8 Many(In, &UPDATED, LengthSource::Argument(3)),
});
structure!(RESTRICTION 16 {
    field opcode 0 Special(S::Restriction), field register_op 2 Only(FieldCondition::Is(0, Two, &[0]), &One(Byte, &REGISTERED)),
    field sqe_op 2 Only(FieldCondition::Is(0, Two, &[1]), &One(Byte, &OPERATIONS)),
    field sqe_flags 2 Only(FieldCondition::Is(0, Two, &[2, 3]), &Flags(Byte, &ENTRY_FLAGS)), set resv 3 Hex(Byte),
    set resv2 4 Array(&Hex(Four), 3),
});
structure!(FILES 32 {
    field nr 0 UINT, field flags 4 Flags(Four, &SPARSE), set resv2 8 Hex(Eight),
    field data 16 Many(In, &Fd, LengthSource::Field(0, Four, 1)), field tags 24 TAGS,
});
structure!(BUFFERS 32 {
    field nr 0 UINT, field flags 4 Flags(Four, &SPARSE), set resv2 8 Hex(Eight),
    field data 16 Many(In, &Structure(&PLACE), LengthSource::Field(0, Four, 1)), field tags 24 TAGS,
});
structure!(UPDATED_FILES 32 {
    field offset 0 UINT, set resv 4 Hex(Four), field data 8 Many(In, &UPDATED, LengthSource::Field(24, Four, 1)),
    field tags 16 UPDATED_TAGS, field nr 24 UINT, set resv2 28 Hex(Four),
});
structure!(UPDATED_BUFFERS 32 {
    field offset 0 UINT, set resv 4 Hex(Four), field data 8 Many(In, &Structure(&PLACE), LengthSource::Field(24, Four, 1)),
    field tags 16 UPDATED_TAGS, field nr 24 UINT, set resv2 28 Hex(Four),
});
structure!(RING_ADDED 16 { field offset 0 Id, set resv 4 Hex(Four), field data 8 Fd });
structure!(RING_TAKEN 16 { field offset 0 UINT, set resv 4 Hex(Four), set data 8 Hex(Eight) });
structure!(RING_OF_BUFFERS 40 {
    field ring_addr 0 Address, field ring_entries 8 UINT, field bgid 12 Unsigned(Two), field flags 14 Hex(Two),
    field min_left 16 UINT, set resv 20 Array(&Hex(Four), 5),
});
structure!(DURATION 16 { field tv_sec 0 Signed(Eight), field tv_nsec 8 Signed(Eight) });
structure!(CANCEL 64 {
    field addr 0 Address, field fd 8 Fd, field flags 12 Flags(Four, &CANCELLED), field timeout 16 Structure(&DURATION),
    field opcode 32 One(Byte, &OPERATIONS), set pad 33 Array(&Hex(Byte), 7), set pad2 40 Array(&Hex(Eight), 3),
});
structure!(FILE_RANGE 16 { field off 0 UINT, field len 4 UINT, set resv 8 Hex(Eight) });
structure!(BUFFERS_STATUS 40 { field buf_group 0 Hex(Four), field head 4 Hex(Four), set resv 8 Array(&Hex(Four), 8) });
structure!(NAPI 16 {
    field busy_poll_to 0 Hex(Four), field prefer_busy_poll 4 Hex(Byte), field opcode 5 One(Byte, &NAPI_ASKED),
    set pad 6 Array(&Hex(Byte), 2),
    field op_param 8 ByField(5, Byte, &[(0, One(Four, &NAPI_TRACKING))], &Hex(Four)), set resv 12 Hex(Four),
});
structure!(CLOCK 16 { field clockid 0 One(Four, &f::CLOCK), set __resv 4 Array(&Hex(Four), 3) });
structure!(CLONE 32 {
    field src_fd 0 Fd, field flags 4 Flags(Four, &CLONED), field src_off 8 UINT, field dst_off 12 UINT, field nr 16 UINT,
    set pad 20 Array(&Hex(Four), 3),
});
structure!(REGION_ADDED 32 {
    field region_uptr 0 Address, field flags 8 Flags(Eight, &REGION), set __resv 16 Array(&Hex(Eight), 2),
});
structure!(USER_ADDRESS 40 { field user_addr 32 Hex(Eight) });
structure!(RESIZED 120 {
    field sq_entries 0 UINT, field cq_entries 4 UINT, field flags 8 Flags(Four, &RING),
    field sq_off 40 Only(FieldCondition::Not(72, Eight, &[0]), &Structure(&USER_ADDRESS)),
    field cq_off 80 Only(FieldCondition::Not(112, Eight, &[0]), &Structure(&USER_ADDRESS)),
    set resv 28 Array(&Hex(Four), 3),
});
structure!(RECEIVE_OFFSETS 32 {
    field head 0 UINT, field tail 4 UINT, field rqes 8 UINT, set __resv2 12 Hex(Four), set __resv 16 Array(&Hex(Eight), 2),
});
structure!(RECEIVE_QUEUE 96 {
    field if_idx 0 UINT, field if_rxq 4 UINT, field rq_entries 8 UINT, field flags 12 Flags(Four, &RECEIVE),
    field area_ptr 16 Address, field region_ptr 24 Address, field offsets 32 Structure(&RECEIVE_OFFSETS),
    field zcrx_id 64 UINT, field rx_buf_len 68 UINT, field event_desc 72 Address, set __resv 80 Array(&Hex(Eight), 2),
});
structure!(RECEIVE_FLUSHED 48 { set __resv 0 Array(&Hex(Eight), 6) });
structure!(RECEIVE_EXPORTED 48 { field zcrx_fd 0 Fd, set __resv1 4 Array(&Hex(Four), 11) });
structure!(RECEIVE_ARMED 48 { field event_type 0 One(Four, &RECEIVE_EVENT), set __resv 4 Array(&Hex(Four), 11) });
structure!(RECEIVE_CONTROLLED 72 {
    field zcrx_id 0 UINT, field op 4 One(Four, &RECEIVE_CONTROL), set __resv 8 Array(&Hex(Eight), 2),
    field zc_flush 24 Only(FieldCondition::Is(4, Four, &[0]), &Structure(&RECEIVE_FLUSHED)),
    out zc_export 24 Only(FieldCondition::Is(4, Four, &[1]), &Structure(&RECEIVE_EXPORTED)),
    field zc_arm_event 24 Only(FieldCondition::Is(4, Four, &[2]), &Structure(&RECEIVE_ARMED)),
});

/// An operation by its name, else by its number in decimal.
pub(crate) static OPERATION: CustomFormat = CustomFormat {
    write: |out, value| match OPERATIONS.name(value) {
        Some(name) => out.extend_from_slice(name.as_bytes()),
        None => {
            format::unsigned(out, value);
            format::remark(out, OPERATIONS.unknown);
        }
    },
    number: UnnamedStyle::Unsigned,
};

structure!(PROTECTION 32 {
    field flags 0 Hex(Two), field app_tag 2 Hex(Two), field len 4 UINT, field addr 8 Hex(Eight), field seed 16 Hex(Eight),
    field rsvd 24 Hex(Eight),
});

/// Operations that read, write, send or receive.
const TRANSFERS: &[u64] = &[1, 2, 4, 5, 9, 10, 22, 23, 26, 27, 47, 49, 58, 60, 61];
/// Those that send or receive through sockets.
const SENDS: &[u64] = &[9, 10, 26, 27, 47, 48, 58];
const NOTHINGS: &[u64] = &[0, 63];
const ACCEPTS: &[u64] = &[13];
const MESSAGES: &[u64] = &[40];
const INSTALLS: &[u64] = &[54];
/// Operations of 128 bytes.
const LARGE: &[u64] = &[63, 64];

const fn of(operations: &'static [u64], kind: &'static ValueKind) -> ValueKind {
    Only(FieldCondition::Is(0, Byte, operations), kind)
}

const fn but(operations: &'static [u64], kind: &'static ValueKind) -> ValueKind {
    Only(FieldCondition::Not(0, Byte, operations), kind)
}

const HAS_ATTRIBUTES: FieldCondition = FieldCondition::Not(56, Eight, &[0]);
const HAS_PROTECTION: FieldCondition = FieldCondition::Has(56, Eight, 1);
const LACKS_PROTECTION: FieldCondition = FieldCondition::Lacks(56, Eight, 1);
const LACKS_ATTRIBUTES: FieldCondition = FieldCondition::Is(56, Eight, &[0]);

structure!(
    /// An operation as it is submitted.
    SUBMISSION 64 {
    field opcode 0 Worded(Byte, &OPERATION), field flags 1 Flags(Byte, &ENTRY_FLAGS),
    field ioprio 2 of(ACCEPTS, &Flags(Two, &ACCEPTED)), field ioprio 2 of(SENDS, &Flags(Two, &SENT)),
    field ioprio 2 but(ACCEPTS, &but(SENDS, &Unsigned(Two))), field fd 4 Fd,
    field off 8 Hex(Eight),
    field addr 16 Hex(Eight), field len 24 UINT, field nop_flags 28 of(NOTHINGS, &Flags(Four, &NOTHING)),
    field install_fd_flags 28 of(INSTALLS, &Flags(Four, &INSTALLED)),
    field msg_ring_flags 28 of(MESSAGES, &Flags(Four, &MESSAGE)),
    field rw_flags 28 but(NOTHINGS, &but(INSTALLS, &but(MESSAGES, &Hex(Four)))), field user_data 32 Hex(Eight),
    field buf_index 40 Hex(Two), field personality 42 Unsigned(Two), field file_index 44 Hex(Four),
    field attr_type_mask 56 of(TRANSFERS, &Only(HAS_ATTRIBUTES, &Flags(Eight, &ATTRIBUTES))),
    field attr_ptr 48 of(TRANSFERS, &Only(HAS_PROTECTION, &To(In, &Structure(&PROTECTION)))),
    field attr_ptr 48 of(TRANSFERS, &Only(HAS_ATTRIBUTES, &Only(LACKS_PROTECTION, &Address))),
    field optval 48 of(TRANSFERS, &Only(LACKS_ATTRIBUTES, &Hex(Eight))), field optval 48 but(TRANSFERS, &Hex(Eight)),
    field cmd 64 of(LARGE, &Tail(&Many(In, &Hex(Byte), LengthSource::Fixed(64)))),
});

structure!(QUERIED_OPERATIONS 48 {
    field nr_request_opcodes 0 UINT, field nr_register_opcodes 4 UINT, field feature_flags 8 Flags(Eight, &FEATURES),
    field ring_setup_flags 16 Flags(Eight, &RING), field enter_flags 24 Flags(Eight, &f::URING_ENTER),
    field sqe_flags 32 Flags(Eight, &ENTRY_FLAGS), field nr_query_opcodes 40 UINT, set __pad 44 Hex(Four),
});
structure!(QUERIED_RECEIVE 40 {
    field register_flags 0 Flags(Eight, &RECEIVE), field area_flags 8 Flags(Eight, &RECEIVE_AREA),
    field nr_ctrl_opcodes 16 UINT, field features 20 Hex(Four), field rq_hdr_size 24 UINT, field rq_hdr_alignment 28 UINT,
    set __resv2 32 Hex(Eight),
});
structure!(QUERIED_QUEUES 16 { field hdr_size 0 SIZE, field hdr_alignment 8 SIZE });
structure!(QUERIED_EVENTS 48 {
    field event_flags 0 Hex(Four), field stats_size 4 UINT, field stats_off_alignment 8 UINT, set __resv1 12 Hex(Four),
    set __resv2 16 Array(&Hex(Eight), 4),
});
/// What is said of rings, by what is asked.
const ANSWER: ValueKind = ByField(
    16,
    Four,
    &[
        (0, To(In, &Structure(&QUERIED_OPERATIONS))),
        (1, To(In, &Structure(&QUERIED_RECEIVE))),
        (2, To(In, &Structure(&QUERIED_QUEUES))),
        (3, To(In, &Structure(&QUERIED_EVENTS))),
    ],
    &Address,
);
structure!(
    /// A question about rings, without the place of the next at byte 0.
    QUESTION 40 {
    field query_data 8 Address, field query_op 16 One(Four, &QUERY), field size 20 UINT, field result 24 INT,
    set __resv 28 Array(&Hex(Four), 3),
    field query_data 8 Only(FieldCondition::Not(8, Eight, &[0]), &Only(FieldCondition::Not(20, Four, &[0]), &ANSWER)),
});

/// What is registered, by what is asked.
static RESOURCES: &[(u64, ValueKind)] = &[
    (0, Many(In, &Structure(&PLACE), LengthSource::Argument(3))),
    (2, Many(In, &Fd, LengthSource::Argument(3))),
    (4, Many(In, &Fd, LengthSource::Argument(3))),
    (6, To(In, &Structure(&FILES_UPDATE))),
    (7, Many(In, &Fd, LengthSource::Argument(3))),
    (8, Special(S::Probe)),
    (
        11,
        Many(In, &Structure(&RESTRICTION), LengthSource::Argument(3)),
    ),
    (13, Sized(In, &FILES, 32, LengthSource::Argument(3))),
    (14, Sized(In, &UPDATED_FILES, 32, LengthSource::Argument(3))),
    (15, Sized(In, &BUFFERS, 32, LengthSource::Argument(3))),
    (
        16,
        Sized(In, &UPDATED_BUFFERS, 32, LengthSource::Argument(3)),
    ),
    (17, Special(S::ProcessorsOf(3))),
    (19, Special(S::Workers)),
    (
        20,
        Many(In, &Structure(&RING_ADDED), LengthSource::Argument(3)),
    ),
    (
        21,
        Many(In, &Structure(&RING_TAKEN), LengthSource::Argument(3)),
    ),
    (
        22,
        By(3, &[(1, To(In, &Structure(&RING_OF_BUFFERS)))], &Address),
    ),
    (
        23,
        By(3, &[(1, To(In, &Structure(&RING_OF_BUFFERS)))], &Address),
    ),
    (24, By(3, &[(1, To(In, &Structure(&CANCEL)))], &Address)),
    (25, By(3, &[(1, To(In, &Structure(&FILE_RANGE)))], &Address)),
    (
        26,
        By(3, &[(1, To(Out, &Structure(&BUFFERS_STATUS)))], &Address),
    ),
    (
        27,
        By(
            3,
            &[(1, Exchange(&Structure(&NAPI), &Structure(&NAPI)))],
            &Address,
        ),
    ),
    (28, By(3, &[(1, To(Out, &Structure(&NAPI)))], &Address)),
    (29, By(3, &[(0, To(In, &Structure(&CLOCK)))], &Address)),
    (30, By(3, &[(1, To(In, &Structure(&CLONE)))], &Address)),
    (31, By(3, &[(1, To(In, &Structure(&SUBMISSION)))], &Address)),
    (
        32,
        By(3, &[(1, To(In, &Structure(&RECEIVE_QUEUE)))], &Address),
    ),
    (33, By(3, &[(1, To(In, &Structure(&RESIZED)))], &Address)),
    (
        34,
        By(3, &[(1, To(In, &Structure(&REGION_ADDED)))], &Address),
    ),
    (35, By(3, &[(0, Special(S::RingQueries))], &Address)),
    (36, By(3, &[(1, InOut(&RECEIVE_CONTROLLED))], &Address)),
];

/// The ring's own number where it was registered, its descriptor elsewhere.
const REGISTERED_BY_NUMBER: u64 = 1 << 31;
const RING_OR_NUMBER: ValueKind = ByBits(
    1,
    REGISTERED_BY_NUMBER,
    &[(REGISTERED_BY_NUMBER, UINT)],
    &Fd,
);

/// What is registered, and how the ring is named.
const REGISTERED_WHAT: ValueKind = Several(
    Four,
    &[
        BitField {
            mask: REGISTERED_BY_NUMBER ^ 0xffff_ffff,
            shown: BitFieldStyle::One(&REGISTERED),
        },
        BitField {
            mask: REGISTERED_BY_NUMBER,
            shown: BitFieldStyle::Flags(&REGISTERED_RING),
        },
    ],
);

structure!(WAIT 24 {
    field sigmask 0 Special(S::FieldSignals(8)), field sigmask_sz 8 UINT, field min_wait_usec 12 UINT, field ts 16 To(In, &Structure(&TIMESPEC)),
});
/// How a ring is waited for: by a set of signals, by a structure, or by a place in a registered region.
const EXTENDED: u64 = 8;
const IN_REGION: u64 = 1 << 6;
const WAITED: ValueKind = ByBits(
    3,
    EXTENDED | IN_REGION,
    &[(EXTENDED, To(In, &Structure(&WAIT))), (IN_REGION, SIZE)],
    &Special(S::Signals(In)),
);

const BITS: ValueKind = Hex(Four);
const DECIDED: ValueKind = Per(
    0,
    0,
    &[
        (1, &[Flags(Four, &f::SECCOMP_FLAGS), filter::PROGRAM]),
        (2, &[BITS, To(In, &One(Four, &filter::VERDICT))]),
        (3, &[BITS, To(Out, &Structure(&NOTICES))]),
        (u64::MAX, &[BITS, Address]),
    ],
);

pub(super) static MEANINGS: &[Meaning] = &[
    fd("io_uring_setup", &[UINT, InOut(&PARAMETERS)]),
    m(
        "io_uring_register",
        &[
            RING_OR_NUMBER,
            REGISTERED_WHAT,
            ByBits(1, REGISTERED_BY_NUMBER ^ 0xffff_ffff, RESOURCES, &Address),
            UINT,
        ],
    ),
    m(
        "io_uring_enter",
        &[Fd, UINT, UINT, Flags(Four, &f::URING_ENTER), WAITED, SIZE],
    ),
    m("seccomp", &[One(Four, &f::SECCOMP), DECIDED, DECIDED]),
];
