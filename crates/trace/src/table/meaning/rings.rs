//! `io_uring_setup` and `seccomp`: what their arguments mean.

use super::*;
use crate::table::kind::{Test, names};
use crate::table::structure::{field, out, set, structure};

names!(RING "IORING_SETUP_???" "0" {
    "IORING_SETUP_IOPOLL" = 1, "IORING_SETUP_SQPOLL" = 2, "IORING_SETUP_SQ_AFF" = 4, "IORING_SETUP_CQSIZE" = 8,
    "IORING_SETUP_CLAMP" = 0x10, "IORING_SETUP_ATTACH_WQ" = 0x20, "IORING_SETUP_R_DISABLED" = 0x40,
    "IORING_SETUP_SUBMIT_ALL" = 0x80, "IORING_SETUP_COOP_TASKRUN" = 0x100, "IORING_SETUP_TASKRUN_FLAG" = 0x200,
    "IORING_SETUP_SQE128" = 0x400, "IORING_SETUP_CQE32" = 0x800,
});
names!(FEATURES "IORING_FEAT_???" "0" {
    "IORING_FEAT_SINGLE_MMAP" = 1, "IORING_FEAT_NODROP" = 2, "IORING_FEAT_SUBMIT_STABLE" = 4,
    "IORING_FEAT_RW_CUR_POS" = 8, "IORING_FEAT_CUR_PERSONALITY" = 0x10, "IORING_FEAT_FAST_POLL" = 0x20,
    "IORING_FEAT_POLL_32BITS" = 0x40, "IORING_FEAT_SQPOLL_NONFIXED" = 0x80, "IORING_FEAT_EXT_ARG" = 0x100,
    "IORING_FEAT_NATIVE_WORKERS" = 0x200, "IORING_FEAT_RSRC_TAGS" = 0x400, "IORING_FEAT_CQE_SKIP" = 0x800,
    "IORING_FEAT_LINKED_FILE" = 0x1000,
});

structure!(SUBMITTED 40 {
    field head 0 UINT, field tail 4 UINT, field ring_mask 8 UINT, field ring_entries 12 UINT, field flags 16 UINT,
    field dropped 20 UINT, field array 24 UINT, set resv1 28 Hex(Four), set resv2 32 Hex(Eight),
});
structure!(COMPLETED 40 {
    field head 0 UINT, field tail 4 UINT, field ring_mask 8 UINT, field ring_entries 12 UINT, field overflow 16 UINT,
    field cqes 20 UINT, field flags 24 UINT, set resv1 28 Hex(Four), set resv2 32 Hex(Eight),
});
structure!(PARAMETERS 120 {
    field flags 8 Flags(Four, &RING), field sq_thread_cpu 12 Hex(Four), field sq_thread_idle 16 UINT,
    field wq_fd 24 Only(Test::Has(8, Four, 0x20), &Fd), set resv 28 Array(&Hex(Four), 3), out sq_entries 0 UINT,
    out cq_entries 4 UINT, out features 20 Flags(Four, &FEATURES), out sq_off 40 Structure(&SUBMITTED),
    out cq_off 80 Structure(&COMPLETED),
});
structure!(NOTICES 6 {
    field seccomp_notif 0 Unsigned(Two), field seccomp_notif_resp 2 Unsigned(Two), field seccomp_data 4 Unsigned(Two),
});

const BITS: Kind = Hex(Four);
const DECIDED: Kind = Per(
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
    m("seccomp", &[One(Four, &f::SECCOMP), DECIDED, DECIDED]),
];
