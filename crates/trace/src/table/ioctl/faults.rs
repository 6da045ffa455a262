//! Requests of descriptors by which a program answers page faults itself.

use super::*;

named!(FEATURE "UFFD_FEATURE_???" "0" {
    "UFFD_FEATURE_PAGEFAULT_FLAG_WP" = 1, "UFFD_FEATURE_EVENT_FORK" = 2, "UFFD_FEATURE_EVENT_REMAP" = 4,
    "UFFD_FEATURE_EVENT_REMOVE" = 8, "UFFD_FEATURE_MISSING_HUGETLBFS" = 0x10, "UFFD_FEATURE_MISSING_SHMEM" = 0x20,
    "UFFD_FEATURE_EVENT_UNMAP" = 0x40, "UFFD_FEATURE_SIGBUS" = 0x80, "UFFD_FEATURE_THREAD_ID" = 0x100,
    "UFFD_FEATURE_MINOR_HUGETLBFS" = 0x200, "UFFD_FEATURE_MINOR_SHMEM" = 0x400, "UFFD_FEATURE_EXACT_ADDRESS" = 0x800,
    "UFFD_FEATURE_WP_HUGETLBFS_SHMEM" = 0x1000,
});
named!(OPERATION "_UFFDIO_???" "0" { "1<<_UFFDIO_REGISTER" = 1, "1<<_UFFDIO_UNREGISTER" = 2, "1<<_UFFDIO_API" = 0x8000_0000_0000_0000 });
named!(COPYING "UFFDIO_COPY_???" "0" { "UFFDIO_COPY_MODE_DONTWAKE" = 1, "UFFDIO_COPY_MODE_WP" = 2 });
named!(RANGED "UFFDIO_???" "0" {
    "1<<_UFFDIO_WAKE" = 4, "1<<_UFFDIO_COPY" = 8, "1<<_UFFDIO_ZEROPAGE" = 0x10, "1<<_UFFDIO_WRITEPROTECT" = 0x40,
    "1<<_UFFDIO_CONTINUE" = 0x80,
});
named!(REGISTERING "UFFDIO_REGISTER_MODE_???" "0" {
    "UFFDIO_REGISTER_MODE_MISSING" = 1, "UFFDIO_REGISTER_MODE_WP" = 2, "UFFDIO_REGISTER_MODE_MINOR" = 4,
});
named!(ZEROING "UFFDIO_ZEROPAGE_???" "0" { "UFFDIO_ZEROPAGE_MODE_DONTWAKE" = 1 });

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

pub(super) static GIVEN: Family = &[
    ("UFFDIO_API", InOut(&ASKED)),
    ("UFFDIO_COPY", InOut(&COPIED)),
    ("UFFDIO_REGISTER", InOut(&REGISTERED)),
    ("UFFDIO_UNREGISTER UFFDIO_WAKE", says(&Structure(&RANGE))),
    ("UFFDIO_ZEROPAGE", InOut(&ZEROED)),
];
