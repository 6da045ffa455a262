//! `prctl`: what its arguments mean by the first of them, and what its result means then.

use backsight_syscall_tables::sets::{
    PRCTL_CHECKED_TAGS as CHECKED_TAGS, PRCTL_DISPATCH as DISPATCH, PRCTL_DUMPABLE as DUMPABLE,
    PRCTL_ENABLED_KEYS as ENABLED_KEYS, PRCTL_EXECUTION as EXECUTION,
    PRCTL_EXECUTION_CONTROL as EXECUTION_CONTROL, PRCTL_FLUSH as FLUSH,
    PRCTL_FLUSH_SCOPE as FLUSH_SCOPE, PRCTL_MACHINE_CHECK as MACHINE_CHECK,
    PRCTL_MACHINE_CHECK_POLICY as MACHINE_CHECK_POLICY, PRCTL_MEMORY_MAP as MEMORY_MAP,
    PRCTL_POINTER_KEYS as POINTER_KEYS, PRCTL_SCHEDULING as SCHEDULING,
    PRCTL_SPECULATION as SPECULATION, PRCTL_SPECULATION_GET as SPECULATION_GET,
    PRCTL_SPECULATION_SET as SPECULATION_SET, PRCTL_STREAMING as STREAMING, PRCTL_TAGS as TAGS,
    PRCTL_VECTOR as VECTOR, PRCTL_VMA as VMA,
};
use backsight_syscall_tables::sets::{PRCTL_GROUPS as GROUPS, PRCTL_TRACERS as TRACERS};

use super::*;
use crate::format;
use crate::table::kind::{BitField, BitFieldStyle, CustomFormat, Names, UnnamedStyle};

/// How much of each processor's vectors may be used: bits with names above the length.
const fn vector_length(names: &'static Names) -> [BitField; 2] {
    [
        BitField {
            mask: !0xffff,
            shown: BitFieldStyle::Flags(names),
        },
        BitField {
            mask: 0xffff,
            shown: BitFieldStyle::Number,
        },
    ]
}

static VECTOR_LENGTH: [BitField; 2] = vector_length(&VECTOR);
static STREAMING_LENGTH: [BitField; 2] = vector_length(&STREAMING);
static TAGGED_ADDRESSES: [BitField; 4] = [
    BitField {
        mask: 1,
        shown: BitFieldStyle::One(&TAGS),
    },
    BitField {
        mask: 6,
        shown: BitFieldStyle::One(&CHECKED_TAGS),
    },
    BitField {
        mask: 0x7_fff8,
        shown: BitFieldStyle::Shifted(3, "PR_MTE_TAG_SHIFT"),
    },
    BitField {
        mask: !0x7_ffff,
        shown: BitFieldStyle::Rest,
    },
];

/// Whether vectors of RISC-V may be used: now, after the next program is started, and whether that is passed on.
static VECTOR_STATE: CustomFormat = CustomFormat {
    write: |out, value| {
        const INHERIT: u64 = 0x10;
        const STATES: [&str; 4] = [
            "PR_RISCV_V_VSTATE_CTRL_DEFAULT",
            "PR_RISCV_V_VSTATE_CTRL_OFF",
            "PR_RISCV_V_VSTATE_CTRL_ON",
            "0x3",
        ];
        let state = |shift: u32| STATES[(value >> shift & 3) as usize].as_bytes();
        out.extend_from_slice(state(0));
        out.push(b'|');
        out.extend_from_slice(state(2));
        out.extend_from_slice(b"<<2|");
        if value & INHERIT == 0 {
            out.push(b'!');
        }
        out.extend_from_slice(b"PR_RISCV_V_VSTATE_CTRL_INHERIT");
        let rest = value & !0x1f;
        if rest != 0 {
            out.push(b'|');
            format::hex(out, rest);
        }
    },
    number: UnnamedStyle::Hex,
};

/// Whom a core is shared with: what that number means stands behind it.
const SHARING: ValueKind = By(
    3,
    &[
        (0, TID),
        (1, PID),
        (2, super::GROUP),
        (3, Process(PidKind::Session)),
    ],
    &INT,
);

static GROUP: CustomFormat = CustomFormat {
    write: |out, value| {
        format::hex(out, value);
        format::remark(out, GROUPS.name(value).unwrap_or(GROUPS.unknown));
    },
    number: UnnamedStyle::Hex,
};

static SIGNAL: CustomFormat = CustomFormat {
    write: |out, value| match u32::try_from(value) {
        Ok(signal) => format::signal_name(out, signal.cast_signed()),
        Err(_) => format::unsigned(out, value),
    },
    number: UnnamedStyle::Decimal,
};

const TRACER: ValueKind = By(
    1,
    &[(0xffff_ffff, Named(Four, &TRACERS))],
    &Process(PidKind::Process),
);
const ANY: ValueKind = Hex(Eight);
const KEYS: ValueKind = Flags(Eight, &ENABLED_KEYS);
const SPECULATED: ValueKind = One(Eight, &SPECULATION);
const AMBIENT: ValueKind = By(
    1,
    &[(1, CAPABILITY), (2, CAPABILITY), (3, CAPABILITY)],
    &ANY,
);
const CAPABILITY: ValueKind = One(Eight, &f::CAP);
const COOKIE: ValueKind = By(1, &[(0, To(Out, &ANY))], &ANY);
const POLICY: ValueKind = By(1, &[(1, One(Eight, &MACHINE_CHECK_POLICY))], &ANY);
const SPECULATE: ValueKind = By(
    1,
    &[
        (0, SET_SPECULATION),
        (1, SET_SPECULATION),
        (2, SET_SPECULATION),
    ],
    &ANY,
);
const SET_SPECULATION: ValueKind = One(Eight, &SPECULATION_SET);
const SELECTOR: ValueKind = By(1, &[(0, ANY)], &Address);
const FILTER: ValueKind = By(1, &[(1, Hidden), (2, filter::PROGRAM)], &ANY);
const NOT_FILTER: ValueKind = By(1, &[(1, Hidden), (2, Hidden)], &ANY);
const LENGTH: ValueKind = By(1, &[(0, SIZE)], &ANY);

/// What each argument but the first means.
pub(super) const ARGUMENT: ValueKind = Per(0, 0, ASKED);

/// What each argument means by what is asked; those that aren't here aren't there.
const ASKED: &[(u64, &[ValueKind])] = &[
    (1, &[Worded(Eight, &SIGNAL)]),
    (2, &[To(Out, &Signal)]),
    (3, &[]),
    (4, &[One(Eight, &DUMPABLE)]),
    (5, &[To(Out, &Flags(Four, &f::UNALIGN))]),
    (6, &[Flags(Eight, &f::UNALIGN)]),
    (7, &[]),
    (8, &[SIZE]),
    (9, &[To(Out, &UINT)]),
    (10, &[SIZE]),
    (11, &[To(Out, &UINT)]),
    (12, &[SIZE]),
    (13, &[]),
    (14, &[SIZE]),
    (15, &[Special(S::ThreadName(In))]),
    (16, &[Special(S::ThreadName(Out))]),
    (19, &[To(Out, &UINT)]),
    (20, &[SIZE]),
    (21, &[]),
    (
        22,
        &[One(Eight, &f::SECCOMP_MODE), FILTER, NOT_FILTER, NOT_FILTER],
    ),
    (23, &[CAPABILITY]),
    (24, &[CAPABILITY]),
    (25, &[To(Out, &One(Four, &f::TIME_STAMPS))]),
    (26, &[One(Four, &f::TIME_STAMPS)]),
    (27, &[]),
    (28, &[Flags(Eight, &f::SECURE_BITS)]),
    (29, &[SIZE]),
    (30, &[]),
    (31, &[]),
    (32, &[]),
    (33, &[One(Eight, &MACHINE_CHECK), POLICY, ANY, ANY]),
    (34, &[ANY, ANY, ANY, ANY]),
    (35, &[One(Eight, &MEMORY_MAP), ANY, ANY, ANY]),
    (36, &[SIZE]),
    (37, &[To(Out, &UINT)]),
    (38, &[SIZE, ANY, ANY, ANY]),
    (40, &[To(Out, &Address)]),
    (41, &[SIZE, ANY, ANY, ANY]),
    (45, &[Flags(Four, &f::FLOATING)]),
    (46, &[]),
    (47, &[One(Eight, &f::CAP_AMBIENT), AMBIENT, ANY, ANY]),
    (50, &[Parts(Eight, &VECTOR_LENGTH)]),
    (51, &[]),
    (52, &[SPECULATED]),
    (53, &[SPECULATED, SPECULATE]),
    (54, &[Flags(Eight, &POINTER_KEYS), ANY, ANY, ANY]),
    (55, &[Parts(Eight, &TAGGED_ADDRESSES), ANY, ANY, ANY]),
    (56, &[ANY, ANY, ANY, ANY]),
    (57, &[SIZE, ANY, ANY, ANY]),
    (58, &[ANY, ANY, ANY, ANY]),
    (59, &[One(Eight, &DISPATCH), ANY, ANY, SELECTOR]),
    (60, &[KEYS, KEYS, ANY, ANY]),
    (61, &[ANY, ANY, ANY, ANY]),
    (
        62,
        &[
            One(Four, &SCHEDULING),
            SHARING,
            Worded(Four, &GROUP),
            COOKIE,
        ],
    ),
    (65, &[Flags(Eight, &f::PRCTL_WRITE_EXECUTE), ANY, ANY, ANY]),
    (66, &[ANY, ANY, ANY, ANY]),
    (67, &[ANY, ANY, ANY, ANY]),
    (68, &[ANY, ANY, ANY, ANY]),
    (63, &[Parts(Eight, &STREAMING_LENGTH)]),
    (64, &[]),
    (69, &[Worded(Eight, &VECTOR_STATE)]),
    (70, &[]),
    (71, &[One(Eight, &FLUSH), One(Eight, &FLUSH_SCOPE)]),
    (72, &[One(Eight, &EXECUTION), ANY, ANY, ANY]),
    (
        73,
        &[
            One(Eight, &EXECUTION),
            Flags(Eight, &EXECUTION_CONTROL),
            ANY,
            ANY,
        ],
    ),
    (0x5356_4d41, &[One(Eight, &VMA), Address, LENGTH, NAME]),
    (0x5961_6d61, &[TRACER]),
];

const NAME: ValueKind = By(1, &[(0, TEXT)], &ANY);

/// What a result that isn't an error means, by what was asked: in decimal or not, and the remark on it.
static ANSWERS: &[(u64, bool, ValueKind)] = &[
    (3, true, One(Eight, &DUMPABLE)),
    (27, false, Flags(Eight, &f::SECURE_BITS)),
    (34, true, One(Eight, &MACHINE_CHECK_POLICY)),
    (46, false, Flags(Eight, &f::FLOATING)),
    (50, false, Parts(Eight, &VECTOR_LENGTH)),
    (51, false, Parts(Eight, &VECTOR_LENGTH)),
    (52, false, Flags(Eight, &SPECULATION_GET)),
    (56, false, Parts(Eight, &TAGGED_ADDRESSES)),
    (61, false, Flags(Eight, &ENABLED_KEYS)),
    (63, false, Parts(Eight, &STREAMING_LENGTH)),
    (64, false, Parts(Eight, &STREAMING_LENGTH)),
];

/// What a result means, given the first two arguments: whether it is shown in decimal, and what the remark on it is.
pub fn answer(asked: u64, about: u64) -> Option<(bool, ValueKind)> {
    const SPECULATION_OF: u64 = 52;
    if asked == SPECULATION_OF && SPECULATION.name(about).is_none() {
        return None;
    }
    let found = ANSWERS.iter().find(|(known, ..)| *known == asked);
    found.map(|(_, decimal, kind)| (*decimal, *kind))
}
