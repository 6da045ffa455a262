//! Requests of descriptors by which a program answers page faults itself.

use backsight_syscall_tables::sets::IOCTL_FAULTS_RANGED as RANGED;
use backsight_syscall_tables::sets::{
    IOCTL_FAULTS_COPYING as COPYING, IOCTL_FAULTS_FEATURE as FEATURE,
    IOCTL_FAULTS_OPERATION as OPERATION, IOCTL_FAULTS_REGISTERING as REGISTERING,
    IOCTL_FAULTS_ZEROING as ZEROING,
};

use super::*;

structure!(ASKED 24 {
    field api 0 LONG_BITS, renewed features 8 Flags(Eight, &FEATURE), out ioctls 16 Flags(Eight, &OPERATION),
});
structure!(COPIED 40 {
    field dst 0 LONG_BITS, field src 8 LONG_BITS, field len 16 LONG_BITS, field mode 24 Flags(Eight, &COPYING),
    out copy 32 LONG_BITS,
});
structure!(RANGE 16 { field start 0 LONG_BITS, field len 8 LONG_BITS });
structure!(REGISTERED 32 {
    field range 0 Structure(&RANGE), field mode 16 Flags(Eight, &REGISTERING), out ioctls 24 Flags(Eight, &RANGED),
});
structure!(ZEROED 32 {
    field range 0 Structure(&RANGE), field mode 16 Flags(Eight, &ZEROING), out zeropage 24 LONG_BITS,
});

structure!(PROTECTED 24 {
    field range 0 Structure(&RANGE), field mode 16 Flags(Eight, &f::IOCTL_FAULTS_PROTECTING),
});
structure!(POISONED 32 {
    field range 0 Structure(&RANGE), field mode 16 Flags(Eight, &f::IOCTL_FAULTS_POISONING), out updated 24 ULONG,
});
structure!(CONTINUED 32 {
    field range 0 Structure(&RANGE), field mode 16 Flags(Eight, &f::IOCTL_FAULTS_CONTINUING), out mapped 24 ULONG,
});

pub(super) static ARGUMENTS: Family = &[
    ("UFFDIO_API", InOut(&ASKED)),
    ("UFFDIO_COPY", InOut(&COPIED)),
    ("UFFDIO_REGISTER", InOut(&REGISTERED)),
    (
        "UFFDIO_UNREGISTER UFFDIO_WAKE",
        pointer_in(&Structure(&RANGE)),
    ),
    ("UFFDIO_WRITEPROTECT", pointer_in(&Structure(&PROTECTED))),
    ("UFFDIO_POISON", InOut(&POISONED)),
    ("UFFDIO_CONTINUE", InOut(&CONTINUED)),
    ("UFFDIO_ZEROPAGE", InOut(&ZEROED)),
];
