//! Requests of file systems.

use backsight_syscall_tables::sets::{
    IOCTL_FILESYSTEM_EXTENDED as EXTENDED, IOCTL_FILESYSTEM_EXTENT as EXTENT,
    IOCTL_FILESYSTEM_FLAGS as FLAGS, IOCTL_FILESYSTEM_MAP as MAP,
};

use super::*;

structure!(ASKED 32 {
    field fm_start 0 ULONG, field fm_length 8 ULONG, field fm_flags 16 Flags(Four, &MAP), field fm_extent_count 24 UINT,
});
structure!(MAPPED 32 {
    field fm_flags 16 Flags(Four, &MAP), field fm_mapped_extents 20 UINT,
    more fm_extents 32 Tail(&Many(Out, &Structure(&EXTENT_OF), LengthSource::Field(20, Four, 1))),
});
structure!(EXTENT_OF 56 {
    field fe_logical 0 ULONG, field fe_physical 8 ULONG, field fe_length 16 ULONG, field fe_flags 40 Flags(Four, &EXTENT),
});
structure!(TRIMMED 24 { field start 0 LONG_BITS, field len 8 ULONG, field minlen 16 ULONG });
structure!(ATTRIBUTES 28 {
    field fsx_xflags 0 Flags(Four, &EXTENDED), field fsx_extsize 4 UINT, field fsx_projid 12 BITS,
    field fsx_cowextsize 16 UINT,
});
structure!(ATTRIBUTES_OUT 28 {
    field fsx_xflags 0 Flags(Four, &EXTENDED), field fsx_extsize 4 UINT, field fsx_nextents 8 UINT,
    field fsx_projid 12 BITS, field fsx_cowextsize 16 UINT,
});

structure!(IDENTITY 17 { field len 0 U8, field uuid 1 Wire(NetworkKind::Bytes(16)) });
structure!(FOLDER 129 { field len 0 U8, field name 1 Characters(128) });

pub(super) static ARGUMENTS: Family = &[
    (
        "FS_IOC_FIEMAP",
        Exchange(&Structure(&ASKED), &Structure(&MAPPED)),
    ),
    ("FIFREEZE FITHAW", Hidden),
    ("FITRIM", pointer_in(&Structure(&TRIMMED))),
    (
        "FS_IOC_SHUTDOWN",
        pointer_in(&One(Four, &f::IOCTL_FILESYSTEM_SHUTDOWN)),
    ),
    ("FS_IOC_GETFSUUID", pointer_out(&Structure(&IDENTITY))),
    ("FS_IOC_GETFSSYSFSPATH", pointer_out(&Structure(&FOLDER))),
    ("FS_IOC_FSSETXATTR", pointer_in(&Structure(&ATTRIBUTES))),
    (
        "FS_IOC_FSGETXATTR",
        pointer_out(&Structure(&ATTRIBUTES_OUT)),
    ),
    (
        "FS_IOC_GETFLAGS FS_IOC32_GETFLAGS",
        pointer_out(&Flags(Four, &FLAGS)),
    ),
    (
        "FS_IOC_SETFLAGS FS_IOC32_SETFLAGS",
        pointer_in(&Flags(Four, &FLAGS)),
    ),
];
