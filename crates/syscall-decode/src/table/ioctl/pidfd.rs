//! Requests of descriptors of processes. What is known of a process grew with time: the request says how much the program
//! has room for.

use backsight_syscall_tables::sets::{IOCTL_PIDFD_CORE as CORE, IOCTL_PIDFD_SAID as SAID};

use super::*;

const fn said(bit: u64, kind: &'static ValueKind) -> ValueKind {
    Only(FieldCondition::Has(0, Eight, bit), kind)
}

const PROCESS: ValueKind = Process(PidKind::Process);

/// What is known of a process: what always was, and what was added.
macro_rules! information {
    ($name:ident $size:literal { $($how:ident $field:ident $at:literal $kind:expr),* $(,)? }) => {
        structure!($name $size {
            changed mask 0 Flags(Eight, &SAID), out cgroupid 8 said(4, &ULONG), out pid 16 said(1, &Process(PidKind::Thread)),
            out tgid 20 said(1, &PROCESS), out ppid 24 said(1, &PROCESS), out ruid 28 said(2, &Id), out rgid 32 said(2, &Id),
            out euid 36 said(2, &Id), out egid 40 said(2, &Id), out suid 44 said(2, &Id), out sgid 48 said(2, &Id),
            out fsuid 52 said(2, &Id), out fsgid 56 said(2, &Id), out exit_code 60 said(8, &Special(S::StatusInPlace)),
            $($how $field $at $kind),*
        });
    };
}
const CORE_FLAGS: ValueKind = Only(FieldCondition::Has(0, Eight, 0x10), &Flags(Four, &CORE));
const CORE_SIGNAL: ValueKind = Only(FieldCondition::Has(0, Eight, 0x40), &Signal);
const CORE_CODE: ValueKind = Only(FieldCondition::Has(0, Eight, 0x80), &UINT);
information!(SINCE_6_13 64 {});
information!(SINCE_6_16 72 { out coredump_mask 64 CORE_FLAGS, out coredump_signal 68 CORE_SIGNAL });
information!(SINCE_6_18 80 {
    out coredump_mask 64 CORE_FLAGS, out coredump_signal 68 CORE_SIGNAL, out coredump_code 72 CORE_CODE,
});
information!(SINCE_6_19 88 {
    out coredump_mask 64 CORE_FLAGS, out coredump_signal 68 CORE_SIGNAL, out coredump_code 72 CORE_CODE,
    out supported_mask 80 said(0x20, &Flags(Eight, &SAID)),
});

pub(super) static ARGUMENTS: Family = &[("PIDFD_GET_INFO", InOut(&SINCE_6_19))];

/// What a request is given that asks what is known of a process: by how much room for it there is.
pub(super) fn argument_kind(request: u32) -> Option<ValueKind> {
    const MAGIC: u32 = 0xff;
    const GET_INFO: u32 = 11;
    let (number, magic, size) = (request & 0xff, request >> 8 & 0xff, request >> 16 & 0x3fff);
    if (magic, number) != (MAGIC, GET_INFO) {
        return None;
    }
    Some(match size {
        ..64 => Address,
        64..72 => InOut(&SINCE_6_13),
        72..80 => InOut(&SINCE_6_16),
        80..88 => InOut(&SINCE_6_18),
        _ => InOut(&SINCE_6_19),
    })
}
