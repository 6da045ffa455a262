//! Calls that place memory on nodes, watch file systems, and load kernels: what their arguments mean.

use backsight_syscall_tables::sets::PLACEMENT_NO_DESCRIPTOR as NO_DESCRIPTOR;
use backsight_syscall_tables::sets::{
    PLACEMENT_BINDING as BINDING, PLACEMENT_EVENTS as EVENTS, PLACEMENT_GET_POLICY as GET_POLICY,
    PLACEMENT_LOADING as LOADING, PLACEMENT_MACHINE as MACHINE, PLACEMENT_MARK as MARK,
    PLACEMENT_MOVING as MOVING, PLACEMENT_POLICY as POLICY, PLACEMENT_POLICY_FLAGS as POLICY_FLAGS,
    PLACEMENT_WATCHING as WATCHING, PLACEMENT_WATCHING_FLAGS as WATCHING_FLAGS,
};

use super::*;
use crate::format;
use crate::table::kind::{BitField, BitFieldStyle, CustomFormat, UnnamedStyle};
use crate::table::structure::{field, structure};

structure!(SEGMENT 32 { field buf 0 Address, field bufsz 8 SIZE, field mem 16 Address, field memsz 24 SIZE });

static WATCH: [BitField; 2] = [
    BitField {
        mask: 0xc,
        shown: BitFieldStyle::One(&WATCHING),
    },
    BitField {
        mask: !0xc,
        shown: BitFieldStyle::Bits(&WATCHING_FLAGS),
    },
];
static LOAD: [BitField; 2] = [
    BitField {
        mask: 0xffff_0000,
        shown: BitFieldStyle::One(&MACHINE),
    },
    BitField {
        mask: !0xffff_0000,
        shown: BitFieldStyle::Bits(&LOADING),
    },
];

/// A number, or an error with its sign.
pub static ERROR_OR_NUMBER: CustomFormat = CustomFormat {
    write: |out, value| {
        let number = i64::from(value as u32 as i32);
        if number < 0 {
            out.push(b'-');
            format::error_name(out, -number);
        } else {
            format::signed(out, number);
        }
    },
    number: UnnamedStyle::Int,
};

const POLICY_OF: ValueKind = OneAndFlags(Eight, !0xe000, &POLICY, &POLICY_FLAGS);

pub(super) static MEANINGS: &[Meaning] = &[
    m(
        "mbind",
        &[
            Address,
            SIZE,
            POLICY_OF,
            Special(S::Nodes(In, 4)),
            SIZE,
            Flags(Four, &BINDING),
        ],
    ),
    m(
        "set_mempolicy",
        &[
            OneAndFlags(Four, 0xffff_1fff, &POLICY, &POLICY_FLAGS),
            Special(S::Nodes(In, 2)),
            SIZE,
        ],
    ),
    m(
        "get_mempolicy",
        &[
            To(Out, &One(Four, &POLICY)),
            Special(S::Nodes(Out, 2)),
            SIZE,
            Address,
            Flags(Eight, &GET_POLICY),
        ],
    ),
    m(
        "migrate_pages",
        &[
            PID,
            SIZE,
            Special(S::Nodes(In, 1)),
            Special(S::Nodes(In, 1)),
        ],
    ),
    m(
        "move_pages",
        &[
            PID,
            SIZE,
            Many(In, &Address, LengthSource::Argument(1)),
            Many(In, &INT, LengthSource::Argument(1)),
            Many(
                Out,
                &Worded(Four, &ERROR_OR_NUMBER),
                LengthSource::Argument(1),
            ),
            Flags(Four, &MOVING),
        ],
    ),
    fd(
        "fanotify_init",
        &[Several(Four, &WATCH), Special(S::OpenFlags)],
    ),
    m(
        "fanotify_mark",
        &[
            Fd,
            Flags(Four, &MARK),
            Flags(Eight, &EVENTS),
            By(3, &[(0xffff_ffff, Named(Four, &NO_DESCRIPTOR))], &DirFd),
            PATH,
        ],
    ),
    m(
        "kexec_load",
        &[
            Address,
            SIZE,
            Many(In, &Structure(&SEGMENT), LengthSource::UpTo(1, 16)),
            Several(Eight, &LOAD),
        ],
    ),
];
