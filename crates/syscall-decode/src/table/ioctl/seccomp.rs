//! Requests of those who decide about others' system calls.

use backsight_syscall_tables::sets::{
    IOCTL_SECCOMP_ADDING as ADDING, IOCTL_SECCOMP_ANSWER as ANSWER,
    IOCTL_SECCOMP_MACHINE as MACHINE,
};

use super::*;
use crate::Abi;

fn put_call(out: &mut Vec<u8>, abi: Abi, number: u64) {
    match crate::table::find_syscall(abi, number) {
        Some(row) => {
            out.extend_from_slice(b"__NR_");
            out.extend_from_slice(row.name.as_bytes());
        }
        None => format::unsigned(out, number),
    }
}

static CALL_X86_64: CustomFormat = CustomFormat {
    write: |out, number| put_call(out, Abi::X86_64, number),
    number: UnnamedStyle::Unsigned,
};
static CALL_I386: CustomFormat = CustomFormat {
    write: |out, number| put_call(out, Abi::I386, number),
    number: UnnamedStyle::Unsigned,
};
static CALL_AARCH64: CustomFormat = CustomFormat {
    write: |out, number| put_call(out, Abi::Aarch64, number),
    number: UnnamedStyle::Unsigned,
};

/// A call's number, by the machine beside it.
const CALL: ValueKind = ByField(
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
    field id 0 LONG_BITS, field pid 8 Process(PidKind::Thread), field flags 12 BITS, field data 16 Structure(&CALLED),
});
structure!(REPLY 24 {
    field id 0 LONG_BITS, field val 8 LONG, field error 16 Worded(Four, &crate::table::ERROR_OR_NUMBER), field flags 20 Flags(Four, &ANSWER),
});
structure!(DESCRIPTOR 24 {
    field id 0 LONG_BITS, field flags 8 Flags(Four, &ADDING), field srcfd 12 Fd, field newfd 16 INT,
    field newfd_flags 20 Flags(Four, &f::OPEN),
});

pub(super) static ARGUMENTS: Family = &[
    (
        "SECCOMP_IOCTL_NOTIF_RECV",
        Cleared(&Structure(&NOTIFICATION), &Structure(&NOTIFICATION)),
    ),
    ("SECCOMP_IOCTL_NOTIF_SEND", pointer_in(&Structure(&REPLY))),
    (
        "SECCOMP_IOCTL_NOTIF_ID_VALID SECCOMP_IOCTL_NOTIF_ID_VALID_WRONG_DIR",
        pointer_in(&LONG_BITS),
    ),
    (
        "SECCOMP_IOCTL_NOTIF_SET_FLAGS",
        Flags(Eight, &f::IOCTL_SECCOMP_TELLING),
    ),
    (
        "SECCOMP_IOCTL_NOTIF_ADDFD",
        pointer_in(&Structure(&DESCRIPTOR)),
    ),
];
