//! Rings of input and output (`io_uring_setup`, `io_uring_register`) and `seccomp`: what their arguments mean.

use backsight_syscall_tables::sets::RINGS_SKIPPED as SKIPPED;
use backsight_syscall_tables::sets::{
    RINGS_ENTRY_FLAGS as ENTRY_FLAGS, RINGS_FEATURES as FEATURES, RINGS_REGISTERED as REGISTERED,
    RINGS_RING as RING, RINGS_SPARSE as SPARSE,
};
pub(crate) use backsight_syscall_tables::sets::{
    RINGS_OPERATIONS as OPERATIONS, RINGS_RESTRICTIONS as RESTRICTIONS,
    RINGS_SUPPORTED as SUPPORTED, RINGS_WORKERS as WORKERS,
};

use super::*;
use crate::table::kind::{FieldCondition, IntegerWidth::One as Byte};
use crate::table::structure::{field, out, set, structure};

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
    field ring_addr 0 Address, field ring_entries 8 UINT, field bgid 12 Unsigned(Two), set pad 14 Hex(Two),
    set resv 16 Array(&Hex(Eight), 3),
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
    (22, To(In, &Structure(&RING_OF_BUFFERS))),
    (23, To(In, &Structure(&RING_OF_BUFFERS))),
];

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
        &[Fd, One(Four, &REGISTERED), By(1, RESOURCES, &Address), UINT],
    ),
    m("seccomp", &[One(Four, &f::SECCOMP), DECIDED, DECIDED]),
];
