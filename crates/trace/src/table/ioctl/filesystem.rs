//! Requests of file systems.

use super::*;

named!(MAP "FIEMAP_FLAG_???" "0" {
    "FIEMAP_FLAG_SYNC" = 1, "FIEMAP_FLAG_XATTR" = 2, "FIEMAP_FLAG_CACHE" = 4,
});
named!(EXTENT "FIEMAP_EXTENT_???" "0" {
    "FIEMAP_EXTENT_LAST" = 1, "FIEMAP_EXTENT_UNKNOWN" = 2, "FIEMAP_EXTENT_DELALLOC" = 4, "FIEMAP_EXTENT_ENCODED" = 8,
    "FIEMAP_EXTENT_DATA_ENCRYPTED" = 0x80, "FIEMAP_EXTENT_NOT_ALIGNED" = 0x100, "FIEMAP_EXTENT_DATA_INLINE" = 0x200,
    "FIEMAP_EXTENT_DATA_TAIL" = 0x400, "FIEMAP_EXTENT_UNWRITTEN" = 0x800, "FIEMAP_EXTENT_MERGED" = 0x1000,
    "FIEMAP_EXTENT_SHARED" = 0x2000,
});
named!(FLAGS "FS_???_FL" "0" {
    "FS_SECRM_FL" = 1, "FS_UNRM_FL" = 2, "FS_COMPR_FL" = 4, "FS_SYNC_FL" = 8, "FS_IMMUTABLE_FL" = 0x10,
    "FS_APPEND_FL" = 0x20, "FS_NODUMP_FL" = 0x40, "FS_NOATIME_FL" = 0x80, "FS_DIRTY_FL" = 0x100,
    "FS_COMPRBLK_FL" = 0x200, "FS_NOCOMP_FL" = 0x400, "FS_ENCRYPT_FL" = 0x800, "FS_INDEX_FL" = 0x1000,
    "FS_IMAGIC_FL" = 0x2000, "FS_JOURNAL_DATA_FL" = 0x4000, "FS_NOTAIL_FL" = 0x8000, "FS_DIRSYNC_FL" = 0x0001_0000,
    "FS_TOPDIR_FL" = 0x0002_0000, "FS_HUGE_FILE_FL" = 0x0004_0000, "FS_EXTENT_FL" = 0x0008_0000,
    "FS_VERITY_FL" = 0x0010_0000, "FS_EA_INODE_FL" = 0x0020_0000, "FS_EOFBLOCKS_FL" = 0x0040_0000,
    "FS_NOCOW_FL" = 0x0080_0000, "FS_DAX_FL" = 0x0200_0000, "FS_INLINE_DATA_FL" = 0x1000_0000,
    "FS_PROJINHERIT_FL" = 0x2000_0000, "FS_CASEFOLD_FL" = 0x4000_0000, "FS_RESERVED_FL" = 0x8000_0000,
});
named!(EXTENDED "FS_XFLAG_???" "0" {
    "FS_XFLAG_REALTIME" = 1, "FS_XFLAG_PREALLOC" = 2, "FS_XFLAG_IMMUTABLE" = 8, "FS_XFLAG_APPEND" = 0x10,
    "FS_XFLAG_SYNC" = 0x20, "FS_XFLAG_NOATIME" = 0x40, "FS_XFLAG_NODUMP" = 0x80, "FS_XFLAG_RTINHERIT" = 0x100,
    "FS_XFLAG_PROJINHERIT" = 0x200, "FS_XFLAG_NOSYMLINKS" = 0x400, "FS_XFLAG_EXTSIZE" = 0x800,
    "FS_XFLAG_EXTSZINHERIT" = 0x1000, "FS_XFLAG_NODEFRAG" = 0x2000, "FS_XFLAG_FILESTREAM" = 0x4000,
    "FS_XFLAG_DAX" = 0x8000, "FS_XFLAG_COWEXTSIZE" = 0x0001_0000, "FS_XFLAG_HASATTR" = 0x8000_0000,
});

structure!(ASKED 32 {
    field fm_start 0 ULONG, field fm_length 8 ULONG, field fm_flags 16 Flags(Four, &MAP), field fm_extent_count 24 UINT,
});
structure!(MAPPED 32 {
    field fm_flags 16 Flags(Four, &MAP), field fm_mapped_extents 20 UINT,
    more fm_extents 32 Tail(&Many(Out, &Structure(&EXTENT_OF), Length::Field(20, Four, 1))),
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

pub(super) static GIVEN: Family = &[
    (
        "FS_IOC_FIEMAP",
        Exchange(&Structure(&ASKED), &Structure(&MAPPED)),
    ),
    ("FIFREEZE FITHAW", Hidden),
    ("FITRIM", says(&Structure(&TRIMMED))),
    ("FS_IOC_FSSETXATTR", says(&Structure(&ATTRIBUTES))),
    ("FS_IOC_FSGETXATTR", hears(&Structure(&ATTRIBUTES_OUT))),
    (
        "FS_IOC_GETFLAGS FS_IOC32_GETFLAGS",
        hears(&Flags(Four, &FLAGS)),
    ),
    (
        "FS_IOC_SETFLAGS FS_IOC32_SETFLAGS",
        says(&Flags(Four, &FLAGS)),
    ),
];
