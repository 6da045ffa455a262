//! `keyctl`: what its arguments mean by the first of them.

pub(super) use backsight_syscall_tables::sets::KEYCTL_COMMAND as COMMAND;
use backsight_syscall_tables::sets::{
    KEYCTL_FIRST_CAPABILITIES as FIRST_CAPABILITIES, KEYCTL_MORE_CAPABILITIES as MORE_CAPABILITIES,
    KEYCTL_MOVING as MOVING, KEYCTL_OPERATIONS as OPERATIONS,
};
use backsight_syscall_tables::sets::{
    KEYCTL_KEY_NAMES as KEY_NAMES, KEYCTL_PERMISSIONS as PERMISSIONS, KEYCTL_REQUESTED as REQUESTED,
};

use super::*;
use crate::format;
use crate::table::kind::{CustomFormat, IntegerWidth, UnnamedStyle};
use crate::table::structure::{field, set, structure};

structure!(EXCHANGED 12 { field private 0 KEY, field prime 4 KEY, field base 8 KEY });
structure!(DERIVED 56 {
    field hashname 0 TEXT, field otherinfo 8 ByField(16, Four, &[(0, Address)], &Bytes(In, LengthSource::Field(16, Four, 1))),
    field otherinfolen 16 UINT, set __spare 20 Array(&Hex(Four), 8),
});
structure!(CIPHERED 40 {
    field key_id 0 KEY, field in_len 4 UINT, field out_len 8 UINT, set __spare 12 Array(&Hex(Four), 7),
});
structure!(VERIFIED 40 {
    field key_id 0 KEY, field in_len 4 UINT, field in2_len 8 UINT, set __spare 12 Array(&Hex(Four), 7),
});
structure!(QUERIED 56 {
    field supported_ops 0 Flags(Four, &OPERATIONS), field key_size 4 UINT, field max_data_size 8 Unsigned(Two),
    field max_sig_size 10 Unsigned(Two), field max_enc_size 12 Unsigned(Two), field max_dec_size 14 Unsigned(Two),
    set __spare 16 Array(&Hex(Four), 10),
});

static ERROR: CustomFormat = CustomFormat {
    write: |out, value| format::error_name(out, value.cast_signed()),
    number: UnnamedStyle::Decimal,
};

pub(super) const KEY: ValueKind = Named(Four, &KEY_NAMES);
const ANSWER: LengthSource = LengthSource::ResultWithin(3);
const CIPHER: &[ValueKind] = &[
    To(In, &Structure(&CIPHERED)),
    TEXT,
    Bytes(In, LengthSource::At(1, 4, 40)),
    Bytes(Out, LengthSource::Result),
];
const CAPABILITY: ValueKind = Flags(IntegerWidth::One, &FIRST_CAPABILITIES);
const CAPABLE: ValueKind = By(
    2,
    &[
        (0, Many(Out, &CAPABILITY, LengthSource::Fixed(0))),
        (1, To(Out, &Array(&CAPABILITY, 1))),
    ],
    &To(
        Out,
        &Special(S::Pair(
            &CAPABILITY,
            &Flags(IntegerWidth::One, &MORE_CAPABILITIES),
        )),
    ),
);

/// What each argument but the first means.
pub(super) const ARGUMENT: ValueKind = Per(0, 0, ASKED);

const ASKED: &[(u64, &[ValueKind])] = &[
    (0, &[KEY, INT]),
    (1, &[TEXT]),
    (2, &[KEY, Bytes(In, LengthSource::Argument(3)), SIZE]),
    (3, &[KEY]),
    (4, &[KEY, Id, Id]),
    (5, &[KEY, Flags(Four, &PERMISSIONS)]),
    (6, &[KEY, Value(Out, ANSWER), SIZE]),
    (7, &[KEY]),
    (8, &[KEY, KEY]),
    (9, &[KEY, KEY]),
    (10, &[KEY, TEXT, TEXT, KEY]),
    (11, &[KEY, Bytes(Out, ANSWER), SIZE]),
    (12, &[KEY, Bytes(In, LengthSource::Argument(3)), SIZE, KEY]),
    (13, &[KEY, UINT, KEY]),
    (14, &[Named(Four, &REQUESTED)]),
    (15, &[KEY, UINT]),
    (16, &[KEY]),
    (17, &[KEY, Value(Out, ANSWER), SIZE]),
    (18, &[]),
    (19, &[KEY, UINT, Worded(Four, &ERROR), KEY]),
    (20, &[KEY, Special(S::Vectors(In, 3)), SIZE, KEY]),
    (21, &[KEY]),
    (22, &[Id, KEY]),
    (
        23,
        &[
            To(In, &Structure(&EXCHANGED)),
            Bytes(Out, ANSWER),
            SIZE,
            To(In, &Structure(&DERIVED)),
        ],
    ),
    (24, &[KEY, Hex(Eight), TEXT, To(Out, &Structure(&QUERIED))]),
    (25, CIPHER),
    (26, CIPHER),
    (27, CIPHER),
    (
        28,
        &[
            To(In, &Structure(&VERIFIED)),
            TEXT,
            Bytes(In, LengthSource::At(1, 4, 40)),
            Bytes(In, LengthSource::At(1, 8, 40)),
        ],
    ),
    (29, &[KEY, TEXT, TEXT]),
    (30, &[KEY, KEY, KEY, Flags(Four, &MOVING)]),
    (31, &[CAPABLE, SIZE]),
];
