//! Calls that place memory on nodes, watch file systems, and load kernels: what their arguments mean.

use super::*;
use crate::table::kind::{Bare, Part, PartShown, Wording, names};
use crate::table::structure::{field, structure};
use crate::text::put;

names!(POLICY "MPOL_???" "" {
    "MPOL_DEFAULT" = 0, "MPOL_PREFERRED" = 1, "MPOL_BIND" = 2, "MPOL_INTERLEAVE" = 3, "MPOL_LOCAL" = 4,
    "MPOL_PREFERRED_MANY" = 5,
});
names!(POLICY_FLAGS "MPOL_F_???" "0" {
    "MPOL_F_STATIC_NODES" = 0x8000, "MPOL_F_RELATIVE_NODES" = 0x4000, "MPOL_F_NUMA_BALANCING" = 0x2000,
});
names!(GET_POLICY "MPOL_???" "0" {
    "MPOL_F_NODE" = 1, "MPOL_F_ADDR" = 2, "MPOL_F_MEMS_ALLOWED" = 4,
});
names!(BINDING "MPOL_MF_???" "0" {
    "MPOL_MF_STRICT" = 1, "MPOL_MF_MOVE" = 2, "MPOL_MF_MOVE_ALL" = 4,
});
names!(MOVING "MPOL_???" "0" {
    "MPOL_MF_MOVE" = 2, "MPOL_MF_MOVE_ALL" = 4,
});
names!(WATCHING "FAN_CLASS_???" "" {
    "FAN_CLASS_NOTIF" = 0, "FAN_CLASS_CONTENT" = 4, "FAN_CLASS_PRE_CONTENT" = 8,
});
names!(WATCHING_FLAGS "FAN_???" "0" {
    "FAN_CLOEXEC" = 1, "FAN_NONBLOCK" = 2, "FAN_UNLIMITED_QUEUE" = 0x10, "FAN_UNLIMITED_MARKS" = 0x20,
    "FAN_ENABLE_AUDIT" = 0x40, "FAN_REPORT_PIDFD" = 0x80, "FAN_REPORT_TID" = 0x100, "FAN_REPORT_FID" = 0x200,
    "FAN_REPORT_DIR_FID" = 0x400, "FAN_REPORT_NAME" = 0x800, "FAN_REPORT_TARGET_FID" = 0x1000,
});
names!(MARK "FAN_MARK_???" "0" {
    "FAN_MARK_ADD" = 1, "FAN_MARK_REMOVE" = 2, "FAN_MARK_DONT_FOLLOW" = 4, "FAN_MARK_ONLYDIR" = 8,
    "FAN_MARK_MOUNT" = 0x10, "FAN_MARK_IGNORED_MASK" = 0x20, "FAN_MARK_IGNORED_SURV_MODIFY" = 0x40,
    "FAN_MARK_FLUSH" = 0x80, "FAN_MARK_FILESYSTEM" = 0x100, "FAN_MARK_EVICTABLE" = 0x200, "FAN_MARK_IGNORE" = 0x400,
});
names!(EVENTS "FAN_???" "0" {
    "FAN_ACCESS" = 1, "FAN_MODIFY" = 2, "FAN_ATTRIB" = 4, "FAN_CLOSE_WRITE" = 8, "FAN_CLOSE_NOWRITE" = 0x10,
    "FAN_OPEN" = 0x20, "FAN_MOVED_FROM" = 0x40, "FAN_MOVED_TO" = 0x80, "FAN_CREATE" = 0x100, "FAN_DELETE" = 0x200,
    "FAN_DELETE_SELF" = 0x400, "FAN_MOVE_SELF" = 0x800, "FAN_OPEN_EXEC" = 0x1000, "FAN_Q_OVERFLOW" = 0x4000,
    "FAN_FS_ERROR" = 0x8000, "FAN_OPEN_PERM" = 0x0001_0000, "FAN_ACCESS_PERM" = 0x0002_0000,
    "FAN_OPEN_EXEC_PERM" = 0x0004_0000, "FAN_DIR_MODIFY" = 0x0008_0000, "FAN_ONDIR" = 0x4000_0000,
    "FAN_EVENT_ON_CHILD" = 0x0800_0000, "FAN_RENAME" = 0x1000_0000,
});
names!(MACHINE "KEXEC_ARCH_???" "" {
    "KEXEC_ARCH_DEFAULT" = 0, "KEXEC_ARCH_386" = 0x0003_0000, "KEXEC_ARCH_68K" = 0x0004_0000,
    "KEXEC_ARCH_PARISC" = 0x000f_0000, "KEXEC_ARCH_X86_64" = 0x003e_0000, "KEXEC_ARCH_PPC" = 0x0014_0000,
    "KEXEC_ARCH_PPC64" = 0x0015_0000, "KEXEC_ARCH_IA_64" = 0x0032_0000, "KEXEC_ARCH_ARM" = 0x0028_0000,
    "KEXEC_ARCH_S390" = 0x0016_0000, "KEXEC_ARCH_SH" = 0x002a_0000, "KEXEC_ARCH_MIPS_LE" = 0x000a_0000,
    "KEXEC_ARCH_MIPS" = 0x0008_0000, "KEXEC_ARCH_AARCH64" = 0x00b7_0000, "KEXEC_ARCH_RISCV" = 0x00f3_0000,
    "KEXEC_ARCH_LOONGARCH" = 0x0102_0000,
});
names!(LOADING "KEXEC_???" "0" {
    "KEXEC_ON_CRASH" = 1, "KEXEC_PRESERVE_CONTEXT" = 2,
});
names!(NO_DESCRIPTOR "" "" { "FAN_NOFD" = u64::MAX });

structure!(SEGMENT 32 { field buf 0 Address, field bufsz 8 SIZE, field mem 16 Address, field memsz 24 SIZE });

static WATCH: [Part; 2] = [
    Part {
        mask: 0xc,
        shown: PartShown::One(&WATCHING),
    },
    Part {
        mask: !0xc,
        shown: PartShown::Bits(&WATCHING_FLAGS),
    },
];
static LOAD: [Part; 2] = [
    Part {
        mask: 0xffff_0000,
        shown: PartShown::One(&MACHINE),
    },
    Part {
        mask: !0xffff_0000,
        shown: PartShown::Bits(&LOADING),
    },
];

/// A number, or an error with its sign.
pub static ERROR_OR_NUMBER: Wording = Wording {
    put: |out, value| {
        let number = i64::from(value as u32 as i32);
        if number < 0 {
            out.push(b'-');
            put::error_name(out, -number);
        } else {
            put::signed(out, number);
        }
    },
    number: Bare::Int,
};

const POLICY_OF: Kind = OneAndFlags(Eight, !0xe000, &POLICY, &POLICY_FLAGS);

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
            Many(In, &Address, Length::Argument(1)),
            Many(In, &INT, Length::Argument(1)),
            Many(Out, &Worded(Four, &ERROR_OR_NUMBER), Length::Argument(1)),
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
            Many(In, &Structure(&SEGMENT), Length::UpTo(1, 16)),
            Several(Eight, &LOAD),
        ],
    ),
];
