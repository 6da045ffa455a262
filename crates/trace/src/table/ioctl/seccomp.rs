//! Requests of those who decide about others' system calls.

use super::*;
use crate::Abi;

named!(MACHINE "AUDIT_ARCH_???" "" {
    "AUDIT_ARCH_AARCH64" = 0xc000_00b7, "AUDIT_ARCH_ALPHA" = 0xc000_9026, "AUDIT_ARCH_ARCOMPACT" = 0x4000_005d,
    "AUDIT_ARCH_ARCOMPACTBE" = 0x5d, "AUDIT_ARCH_ARCV2" = 0x4000_00c3, "AUDIT_ARCH_ARCV2BE" = 0xc3,
    "AUDIT_ARCH_ARM" = 0x4000_0028, "AUDIT_ARCH_ARMEB" = 0x28, "AUDIT_ARCH_C6X" = 0x4000_008c,
    "AUDIT_ARCH_C6XBE" = 0x8c, "AUDIT_ARCH_CRIS" = 0x4000_004c, "AUDIT_ARCH_CSKY" = 0x4000_00fc,
    "AUDIT_ARCH_FRV" = 0x5441, "AUDIT_ARCH_H8300" = 0x2e, "AUDIT_ARCH_HEXAGON" = 0xa4,
    "AUDIT_ARCH_I386" = 0x4000_0003, "AUDIT_ARCH_IA64" = 0xc000_0032, "AUDIT_ARCH_LOONGARCH32" = 0x4000_0102,
    "AUDIT_ARCH_LOONGARCH64" = 0xc000_0102, "AUDIT_ARCH_M32R" = 0x58, "AUDIT_ARCH_M68K" = 4,
    "AUDIT_ARCH_MICROBLAZE" = 0xbd, "AUDIT_ARCH_MIPS" = 8, "AUDIT_ARCH_MIPS64" = 0x8000_0008,
    "AUDIT_ARCH_MIPS64N32" = 0xa000_0008, "AUDIT_ARCH_MIPSEL" = 0x4000_0008, "AUDIT_ARCH_MIPSEL64" = 0xc000_0008,
    "AUDIT_ARCH_MIPSEL64N32" = 0xe000_0008, "AUDIT_ARCH_NDS32" = 0x4000_00a7, "AUDIT_ARCH_NDS32BE" = 0xa7,
    "AUDIT_ARCH_NIOS2" = 0x4000_0071, "AUDIT_ARCH_OPENRISC" = 0x5c, "AUDIT_ARCH_PARISC" = 0xf,
    "AUDIT_ARCH_PARISC64" = 0x8000_000f, "AUDIT_ARCH_PPC" = 0x14, "AUDIT_ARCH_PPC64" = 0x8000_0015,
    "AUDIT_ARCH_PPC64LE" = 0xc000_0015, "AUDIT_ARCH_RISCV32" = 0x4000_00f3, "AUDIT_ARCH_RISCV64" = 0xc000_00f3,
    "AUDIT_ARCH_S390" = 0x16, "AUDIT_ARCH_S390X" = 0x8000_0016, "AUDIT_ARCH_SH" = 0x2a,
    "AUDIT_ARCH_SH64" = 0x8000_002a, "AUDIT_ARCH_SHEL" = 0x4000_002a, "AUDIT_ARCH_SHEL64" = 0xc000_002a,
    "AUDIT_ARCH_SPARC" = 2, "AUDIT_ARCH_SPARC64" = 0x8000_002b, "AUDIT_ARCH_TILEGX" = 0xc000_00bf,
    "AUDIT_ARCH_TILEGX32" = 0x4000_00bf, "AUDIT_ARCH_TILEPRO" = 0x4000_00bc, "AUDIT_ARCH_UNICORE" = 0x4000_006e,
    "AUDIT_ARCH_V850" = 0x4000_0057, "AUDIT_ARCH_X86_64" = 0xc000_003e, "AUDIT_ARCH_XTENSA" = 0x5e,
});
named!(ANSWER "SECCOMP_USER_NOTIF_FLAG_???" "0" { "SECCOMP_USER_NOTIF_FLAG_CONTINUE" = 1 });
named!(ADDING "SECCOMP_ADDFD_FLAG_???" "0" { "SECCOMP_ADDFD_FLAG_SETFD" = 1, "SECCOMP_ADDFD_FLAG_SEND" = 2 });

fn put_call(out: &mut Vec<u8>, abi: Abi, number: u64) {
    match crate::table::row(abi, number) {
        Some(row) => {
            out.extend_from_slice(b"__NR_");
            out.extend_from_slice(row.name.as_bytes());
        }
        None => put::unsigned(out, number),
    }
}

static CALL_X86_64: Wording = Wording {
    put: |out, number| put_call(out, Abi::X86_64, number),
    number: Bare::Unsigned,
};
static CALL_I386: Wording = Wording {
    put: |out, number| put_call(out, Abi::I386, number),
    number: Bare::Unsigned,
};
static CALL_AARCH64: Wording = Wording {
    put: |out, number| put_call(out, Abi::Aarch64, number),
    number: Bare::Unsigned,
};

/// A call's number, by the machine beside it.
const CALL: Kind = ByField(
    4,
    Four,
    &[
        (0xc000_003e, Worded(Four, &CALL_X86_64)),
        (0x4000_0003, Worded(Four, &CALL_I386)),
        (0xc000_00b7, Worded(Four, &CALL_AARCH64)),
    ],
    &UINT,
);

structure!(CALLED 64 {
    field nr 0 CALL, field arch 4 One(Four, &MACHINE), field instruction_pointer 8 Address, field args 16 Array(&LONG_BITS, 6),
});
structure!(NOTIFICATION 80 {
    field id 0 LONG_BITS, field pid 8 Process(Whose::Thread), field flags 12 BITS, field data 16 Structure(&CALLED),
});
structure!(REPLY 24 {
    field id 0 LONG_BITS, field val 8 LONG, field error 16 Worded(Four, &crate::table::ERROR_OR_NUMBER), field flags 20 Flags(Four, &ANSWER),
});
structure!(DESCRIPTOR 24 {
    field id 0 LONG_BITS, field flags 8 Flags(Four, &ADDING), field srcfd 12 Fd, field newfd 16 INT,
    field newfd_flags 20 Flags(Four, &f::OPEN),
});

pub(super) static GIVEN: Family = &[
    (
        "SECCOMP_IOCTL_NOTIF_RECV",
        Cleared(&Structure(&NOTIFICATION), &Structure(&NOTIFICATION)),
    ),
    ("SECCOMP_IOCTL_NOTIF_SEND", says(&Structure(&REPLY))),
    (
        "SECCOMP_IOCTL_NOTIF_ID_VALID SECCOMP_IOCTL_NOTIF_ID_VALID_WRONG_DIR",
        says(&LONG_BITS),
    ),
    ("SECCOMP_IOCTL_NOTIF_ADDFD", says(&Structure(&DESCRIPTOR))),
];
