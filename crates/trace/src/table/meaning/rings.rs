//! Rings of input and output (`io_uring_setup`, `io_uring_register`) and `seccomp`: what their arguments mean.

use super::*;
use crate::table::kind::{Test, Width::One as Byte, names};
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

names!(REGISTERED "IORING_REGISTER_???" "" {
    "IORING_REGISTER_BUFFERS" = 0, "IORING_UNREGISTER_BUFFERS" = 1, "IORING_REGISTER_FILES" = 2,
    "IORING_UNREGISTER_FILES" = 3, "IORING_REGISTER_EVENTFD" = 4, "IORING_UNREGISTER_EVENTFD" = 5,
    "IORING_REGISTER_FILES_UPDATE" = 6, "IORING_REGISTER_EVENTFD_ASYNC" = 7, "IORING_REGISTER_PROBE" = 8,
    "IORING_REGISTER_PERSONALITY" = 9, "IORING_UNREGISTER_PERSONALITY" = 10, "IORING_REGISTER_RESTRICTIONS" = 11,
    "IORING_REGISTER_ENABLE_RINGS" = 12, "IORING_REGISTER_FILES2" = 13, "IORING_REGISTER_FILES_UPDATE2" = 14,
    "IORING_REGISTER_BUFFERS2" = 15, "IORING_REGISTER_BUFFERS_UPDATE" = 16, "IORING_REGISTER_IOWQ_AFF" = 17,
    "IORING_UNREGISTER_IOWQ_AFF" = 18, "IORING_REGISTER_IOWQ_MAX_WORKERS" = 19, "IORING_REGISTER_RING_FDS" = 20,
    "IORING_UNREGISTER_RING_FDS" = 21, "IORING_REGISTER_PBUF_RING" = 22, "IORING_UNREGISTER_PBUF_RING" = 23,
});
names!(pub(crate) OPERATIONS "IORING_OP_???" "" {
    "IORING_OP_NOP" = 0, "IORING_OP_READV" = 1, "IORING_OP_WRITEV" = 2, "IORING_OP_FSYNC" = 3,
    "IORING_OP_READ_FIXED" = 4, "IORING_OP_WRITE_FIXED" = 5, "IORING_OP_POLL_ADD" = 6, "IORING_OP_POLL_REMOVE" = 7,
    "IORING_OP_SYNC_FILE_RANGE" = 8, "IORING_OP_SENDMSG" = 9, "IORING_OP_RECVMSG" = 10, "IORING_OP_TIMEOUT" = 11,
    "IORING_OP_TIMEOUT_REMOVE" = 12, "IORING_OP_ACCEPT" = 13, "IORING_OP_ASYNC_CANCEL" = 14,
    "IORING_OP_LINK_TIMEOUT" = 15, "IORING_OP_CONNECT" = 16, "IORING_OP_FALLOCATE" = 17, "IORING_OP_OPENAT" = 18,
    "IORING_OP_CLOSE" = 19, "IORING_OP_FILES_UPDATE" = 20, "IORING_OP_STATX" = 21, "IORING_OP_READ" = 22,
    "IORING_OP_WRITE" = 23, "IORING_OP_FADVISE" = 24, "IORING_OP_MADVISE" = 25, "IORING_OP_SEND" = 26,
    "IORING_OP_RECV" = 27, "IORING_OP_OPENAT2" = 28, "IORING_OP_EPOLL_CTL" = 29, "IORING_OP_SPLICE" = 30,
    "IORING_OP_PROVIDE_BUFFERS" = 31, "IORING_OP_REMOVE_BUFFERS" = 32, "IORING_OP_TEE" = 33,
    "IORING_OP_SHUTDOWN" = 34, "IORING_OP_RENAMEAT" = 35, "IORING_OP_UNLINKAT" = 36, "IORING_OP_MKDIRAT" = 37,
    "IORING_OP_SYMLINKAT" = 38, "IORING_OP_LINKAT" = 39, "IORING_OP_MSG_RING" = 40, "IORING_OP_FSETXATTR" = 41,
    "IORING_OP_SETXATTR" = 42, "IORING_OP_FGETXATTR" = 43, "IORING_OP_GETXATTR" = 44, "IORING_OP_SOCKET" = 45,
    "IORING_OP_URING_CMD" = 46,
});
names!(pub(crate) RESTRICTIONS "IORING_RESTRICTION_???" "" {
    "IORING_RESTRICTION_REGISTER_OP" = 0, "IORING_RESTRICTION_SQE_OP" = 1, "IORING_RESTRICTION_SQE_FLAGS_ALLOWED" = 2,
    "IORING_RESTRICTION_SQE_FLAGS_REQUIRED" = 3,
});
names!(ENTRY_FLAGS "IOSQE_???" "0" {
    "IOSQE_FIXED_FILE" = 1, "IOSQE_IO_DRAIN" = 2, "IOSQE_IO_LINK" = 4, "IOSQE_IO_HARDLINK" = 8, "IOSQE_ASYNC" = 16,
    "IOSQE_BUFFER_SELECT" = 32, "IOSQE_CQE_SKIP_SUCCESS" = 0x40,
});
names!(pub(crate) SUPPORTED "IO_URING_OP_???" "0" { "IO_URING_OP_SUPPORTED" = 1 });
names!(pub(crate) WORKERS "IO_WQ_???" "" { "IO_WQ_BOUND" = 0, "IO_WQ_UNBOUND" = 1 });
names!(SPARSE "IORING_RSRC_REGISTER_???" "0" { "IORING_RSRC_REGISTER_SPARSE" = 1 });
names!(SKIPPED "" "" { "IORING_REGISTER_FILES_SKIP" = 0xffff_ffff_ffff_fffe });

const UPDATED: Kind = FdOr(&SKIPPED);
const TAGS: Kind = Many(In, &Hex(Eight), Length::Field(0, Four, 1));
const UPDATED_TAGS: Kind = Many(In, &Hex(Eight), Length::Field(24, Four, 1));

structure!(PLACE 16 { field iov_base 0 Address, field iov_len 8 SIZE });
structure!(FILES_UPDATE 16 {
    field offset 0 UINT, set resv 4 Hex(Four), field fds 8 Many(In, &UPDATED, Length::Argument(3)),
});
structure!(RESTRICTION 16 {
    field opcode 0 Special(S::Restriction), field register_op 2 Only(Test::Is(0, Two, &[0]), &One(Byte, &REGISTERED)),
    field sqe_op 2 Only(Test::Is(0, Two, &[1]), &One(Byte, &OPERATIONS)),
    field sqe_flags 2 Only(Test::Is(0, Two, &[2, 3]), &Flags(Byte, &ENTRY_FLAGS)), set resv 3 Hex(Byte),
    set resv2 4 Array(&Hex(Four), 3),
});
structure!(FILES 32 {
    field nr 0 UINT, field flags 4 Flags(Four, &SPARSE), set resv2 8 Hex(Eight),
    field data 16 Many(In, &Fd, Length::Field(0, Four, 1)), field tags 24 TAGS,
});
structure!(BUFFERS 32 {
    field nr 0 UINT, field flags 4 Flags(Four, &SPARSE), set resv2 8 Hex(Eight),
    field data 16 Many(In, &Structure(&PLACE), Length::Field(0, Four, 1)), field tags 24 TAGS,
});
structure!(UPDATED_FILES 32 {
    field offset 0 UINT, set resv 4 Hex(Four), field data 8 Many(In, &UPDATED, Length::Field(24, Four, 1)),
    field tags 16 UPDATED_TAGS, field nr 24 UINT, set resv2 28 Hex(Four),
});
structure!(UPDATED_BUFFERS 32 {
    field offset 0 UINT, set resv 4 Hex(Four), field data 8 Many(In, &Structure(&PLACE), Length::Field(24, Four, 1)),
    field tags 16 UPDATED_TAGS, field nr 24 UINT, set resv2 28 Hex(Four),
});
structure!(RING_ADDED 16 { field offset 0 Id, set resv 4 Hex(Four), field data 8 Fd });
structure!(RING_TAKEN 16 { field offset 0 UINT, set resv 4 Hex(Four), set data 8 Hex(Eight) });
structure!(RING_OF_BUFFERS 40 {
    field ring_addr 0 Address, field ring_entries 8 UINT, field bgid 12 Unsigned(Two), set pad 14 Hex(Two),
    set resv 16 Array(&Hex(Eight), 3),
});

/// What is registered, by what is asked.
static RESOURCES: &[(u64, Kind)] = &[
    (0, Many(In, &Structure(&PLACE), Length::Argument(3))),
    (2, Many(In, &Fd, Length::Argument(3))),
    (4, Many(In, &Fd, Length::Argument(3))),
    (6, To(In, &Structure(&FILES_UPDATE))),
    (7, Many(In, &Fd, Length::Argument(3))),
    (8, Special(S::Probe)),
    (11, Many(In, &Structure(&RESTRICTION), Length::Argument(3))),
    (13, Sized(In, &FILES, 32, Length::Argument(3))),
    (14, Sized(In, &UPDATED_FILES, 32, Length::Argument(3))),
    (15, Sized(In, &BUFFERS, 32, Length::Argument(3))),
    (16, Sized(In, &UPDATED_BUFFERS, 32, Length::Argument(3))),
    (17, Special(S::ProcessorsOf(3))),
    (19, Special(S::Workers)),
    (20, Many(In, &Structure(&RING_ADDED), Length::Argument(3))),
    (21, Many(In, &Structure(&RING_TAKEN), Length::Argument(3))),
    (22, To(In, &Structure(&RING_OF_BUFFERS))),
    (23, To(In, &Structure(&RING_OF_BUFFERS))),
];

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
    m(
        "io_uring_register",
        &[Fd, One(Four, &REGISTERED), By(1, RESOURCES, &Address), UINT],
    ),
    m("seccomp", &[One(Four, &f::SECCOMP), DECIDED, DECIDED]),
];
