//! `ptrace`: what its arguments mean, by what is asked.

pub(crate) use backsight_syscall_tables::sets::TRACING_STOPS as STOPS;
pub(crate) use backsight_syscall_tables::sets::TRACING_USER as USER;
use backsight_syscall_tables::sets::{
    TRACING_OPTIONS as OPTIONS, TRACING_REQUESTS as REQUESTS, TRACING_SETS as SETS,
    TRACING_SHARED_QUEUE as SHARED_QUEUE,
};

use super::*;
use crate::table::kind::IntegerWidth::One as Byte;
use crate::table::structure::{field, out, set, structure};

// Where the parts of what a debugger sees of a thread on x86-64 begin (`struct user`).

structure!(PEEKED 16 { field off 0 ULONG, field flags 8 Flags(Four, &SHARED_QUEUE), field nr 12 UINT });
// The kernel's part lies behind what the program must say.
structure!(METADATA 8 { field filter_off 0 ULONG, out flags 8 Flags(Eight, &f::SECCOMP_FLAGS) });
structure!(GENERAL 216 {
    field r15 0 Hex(Eight), field r14 8 Hex(Eight), field r13 16 Hex(Eight), field r12 24 Hex(Eight), field rbp 32
    Hex(Eight), field rbx 40 Hex(Eight), field r11 48 Hex(Eight), field r10 56 Hex(Eight), field r9 64 Hex(Eight),
    field r8 72 Hex(Eight), field rax 80 Hex(Eight), field rcx 88 Hex(Eight), field rdx 96 Hex(Eight), field rsi 104
    Hex(Eight), field rdi 112 Hex(Eight), field orig_rax 120 Hex(Eight), field rip 128 Hex(Eight), field cs 136
    Hex(Eight), field eflags 144 Hex(Eight), field rsp 152 Hex(Eight), field ss 160 Hex(Eight), field fs_base 168
    Hex(Eight), field gs_base 176 Hex(Eight), field ds 184 Hex(Eight), field es 192 Hex(Eight), field fs 200
    Hex(Eight), field gs 208 Hex(Eight),
});
structure!(FLOATING 512 {
    field cwd 0 Hex(Two), field swd 2 Hex(Two), field ftw 4 Hex(Two), field fop 6 Hex(Two), field rip 8 Hex(Eight),
    field rdp 16 Hex(Eight), field mxcsr 24 Hex(Four), field mxcr_mask 28 Hex(Four), field st_space 32 Array(&Hex(Four), 32),
    field xmm_space 160 Array(&Hex(Four), 64), field padding 416 Array(&Hex(Four), 24),
});
structure!(STOPPED 24 {
    field op 0 One(Byte, &STOPS), set reserved 1 Hex(Byte), set flags 2 Hex(Two), field arch 4 One(Four, &f::AUDIT_ARCH), field instruction_pointer 8 Address,
    field stack_pointer 16 Address,
});

const ULONG: ValueKind = Unsigned(Eight);
const WORD: ValueKind = To(Out, &Address);
const GOES_ON: &[ValueKind] = &[PID, Address, Signal];
const SET_UP: &[ValueKind] = &[PID, Address, Flags(Eight, &OPTIONS)];

const fn registers(way: super::super::kind::DataDirection, floating: bool) -> [ValueKind; 3] {
    [PID, Skipped, Special(S::Registers(way, floating))]
}

static ASKED: &[(u64, &[ValueKind])] = &[
    (0, &[]),
    (1, &[PID, Address, WORD]),
    (2, &[PID, Address, WORD]),
    (3, &[PID, Special(S::UserOffset), WORD]),
    (6, &[PID, Special(S::UserOffset), Address]),
    (7, GOES_ON),
    (8, &[PID]),
    (9, GOES_ON),
    (0xc, &registers(Out, false)),
    (0xd, &registers(In, false)),
    (0xe, &registers(Out, true)),
    (0xf, &registers(In, true)),
    (0x10, &[PID]),
    (0x11, GOES_ON),
    (0x15, SET_UP),
    (0x18, GOES_ON),
    (0x1f, GOES_ON),
    (0x20, GOES_ON),
    (0x21, GOES_ON),
    (0x4200, SET_UP),
    (0x4201, &[PID, Address, To(Out, &ULONG)]),
    (0x4202, &[PID, Address, Special(S::Information(Out))]),
    (0x4203, &[PID, Address, Special(S::Information(In))]),
    (
        0x4204,
        &[PID, One(Four, &SETS), Special(S::RegisterSet(Out))],
    ),
    (
        0x4205,
        &[PID, One(Four, &SETS), Special(S::RegisterSet(In))],
    ),
    (0x4206, SET_UP),
    (0x4207, &[PID]),
    (0x4208, &[PID]),
    (
        0x4209,
        &[
            PID,
            To(In, &Structure(&PEEKED)),
            Many(Out, &Special(S::InformationInPlace), LengthSource::Result),
        ],
    ),
    (0x420a, &[PID, SIZE, Special(S::SizedSignals(Out, 2))]),
    (0x420b, &[PID, SIZE, Special(S::SizedSignals(In, 2))]),
    (
        0x420c,
        &[
            PID,
            SIZE,
            Verbose(&Many(Out, &filter::OPERATION_OF, LengthSource::Result)),
        ],
    ),
    (
        0x420d,
        &[PID, SIZE, Within(2, 8, u64::MAX, &InOut(&METADATA))],
    ),
    (0x420e, &[PID, SIZE, Special(S::StopInformation(Out))]),
    (0x4212, &[PID, SIZE, Special(S::StopInformation(In))]),
    (u64::MAX, &[PID, Address, Address]),
];

const ARGUMENT: ValueKind = Per(0, 0, ASKED);

pub(super) static MEANINGS: &[Meaning] = &[m(
    "ptrace",
    &[One(Eight, &REQUESTS), ARGUMENT, ARGUMENT, ARGUMENT],
)];
