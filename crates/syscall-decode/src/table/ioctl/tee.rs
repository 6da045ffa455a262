//! Requests of trusted execution environments. What sessions are asked lies behind a second pointer, and isn't looked at.

use backsight_syscall_tables::sets::{
    IOCTL_TEE_CAPABILITIES as CAPABILITIES, IOCTL_TEE_KIND as KIND, IOCTL_TEE_MEMORY as MEMORY,
    IOCTL_TEE_OPEN as OPEN,
};

use super::*;

structure!(VERSION 12 {
    field impl_id 0 One(Four, &KIND), field gen_caps 8 Flags(Four, &CAPABILITIES),
    field impl_caps 4 ByField(0, Four, &[(1, Flags(Four, &OPEN))], &BITS),
});
structure!(ASKED 16 { field buf_len 8 ULONG, field buf_ptr 0 Address });
structure!(CANCELLED 8 { field cancel_id 0 UINT, field session 4 BITS });
structure!(CLOSED 4 { field session 0 BITS });
structure!(ALLOCATED 16 { field size 0 LONG_BITS, field flags 8 Flags(Four, &MEMORY) });
structure!(ALLOCATED_OUT 16 {
    field size 0 LONG_BITS, field flags 8 Flags(Four, &MEMORY), field id 12 INT,
});
structure!(REGISTERED 24 {
    field addr 0 Address, field length 8 LONG_BITS, field flags 16 Flags(Four, &MEMORY),
});
structure!(REGISTERED_OUT 24 {
    field length 8 LONG_BITS, field flags 16 Flags(Four, &MEMORY), field id 20 INT,
});
structure!(FILE 24 { field fd 0 Fd, field flags 16 Flags(Four, &MEMORY) });
structure!(FILE_OUT 24 { field size 8 LONG_BITS, field id 20 INT });

pub(super) static ARGUMENTS: Family = &[
    ("TEE_IOC_VERSION", pointer_out(&Structure(&VERSION))),
    (
        "TEE_IOC_OPEN_SESSION TEE_IOC_INVOKE TEE_IOC_SUPPL_RECV TEE_IOC_SUPPL_SEND",
        pointer_in(&Structure(&ASKED)),
    ),
    ("TEE_IOC_CANCEL", pointer_in(&Structure(&CANCELLED))),
    ("TEE_IOC_CLOSE_SESSION", pointer_in(&Structure(&CLOSED))),
    (
        "TEE_IOC_SHM_ALLOC",
        Exchange(&Structure(&ALLOCATED), &Structure(&ALLOCATED_OUT)),
    ),
    (
        "TEE_IOC_SHM_REGISTER",
        Exchange(&Structure(&REGISTERED), &Structure(&REGISTERED_OUT)),
    ),
    (
        "TEE_IOC_SHM_REGISTER_FD",
        Exchange(&Structure(&FILE), &Structure(&FILE_OUT)),
    ),
];
