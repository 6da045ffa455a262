//! Attributes of files that are named by their folders: extended ones, and what else is asked of files by newer calls.

use backsight_syscall_tables::sets::IOCTL_FILESYSTEM_EXTENDED as FLAGS;

use super::*;
use crate::table::structure::{field, structure};

structure!(SET 16 {
    field value 0 Value(In, LengthSource::Field(8, Four, 1)), field size 8 UINT, field flags 12 Flags(Four, &f::XATTR),
});
structure!(GOT 16 {
    field value 0 Value(Out, LengthSource::Result), field size 8 UINT, field flags 12 Flags(Four, &f::XATTR),
});
structure!(FILE 24 {
    field fa_xflags 0 Flags(Eight, &FLAGS), field fa_extsize 8 UINT, field fa_nextents 12 UINT, field fa_projid 16 Hex(Four),
    field fa_cowextsize 20 UINT,
});
structure!(FILE_SET 24 {
    field fa_xflags 0 Flags(Eight, &FLAGS), field fa_extsize 8 UINT, field fa_projid 16 Hex(Four), field fa_cowextsize 20 UINT,
});
structure!(STRETCH 16 { field off 0 Hex(Eight), field len 8 SIZE });
structure!(CACHED 40 {
    field nr_cache 0 SIZE, field nr_dirty 8 SIZE, field nr_writeback 16 SIZE, field nr_evicted 24 SIZE,
    field nr_recently_evicted 32 SIZE,
});

const LISTED_AT: ValueKind = Within(4, 1, u64::MAX, &Bytes(Out, LengthSource::Result));
/// The kernel takes no longer ones.
const PAGE: u64 = 4096;
const AT: ValueKind = Flags(Four, &f::AT_LINK);

pub(super) static MEANINGS: &[Meaning] = &[
    m(
        "setxattrat",
        &[
            DirFd,
            PATH,
            AT,
            TEXT,
            Sized(In, &SET, 16, LengthSource::Argument(5)),
            SIZE,
        ],
    ),
    m(
        "getxattrat",
        &[
            DirFd,
            PATH,
            AT,
            TEXT,
            Sized(In, &GOT, 16, LengthSource::Argument(5)),
            SIZE,
        ],
    ),
    m("listxattrat", &[DirFd, PATH, AT, LISTED_AT, SIZE]),
    m("removexattrat", &[DirFd, PATH, AT, TEXT]),
    m(
        "file_getattr",
        &[
            DirFd,
            PATH,
            Within(
                3,
                24,
                PAGE,
                &Sized(Out, &FILE, 24, LengthSource::Argument(3)),
            ),
            SIZE,
            AT,
        ],
    ),
    m(
        "file_setattr",
        &[
            DirFd,
            PATH,
            Within(
                3,
                24,
                PAGE,
                &Sized(In, &FILE_SET, 24, LengthSource::Argument(3)),
            ),
            SIZE,
            AT,
        ],
    ),
    m(
        "cachestat",
        &[
            Fd,
            To(In, &Structure(&STRETCH)),
            To(Out, &Structure(&CACHED)),
            Hex(Four),
        ],
    ),
];
