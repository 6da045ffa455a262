//! `keyctl`: what its arguments mean by the first of them.

pub(super) use backsight_syscall_tables::sets::KEYCTL_COMMAND as COMMAND;
use backsight_syscall_tables::sets::{
    KEYCTL_FIRST_CAPABILITIES as FIRST_CAPABILITIES, KEYCTL_MORE_CAPABILITIES as MORE_CAPABILITIES,
    KEYCTL_MOVING as MOVING, KEYCTL_OPERATIONS as OPERATIONS,
};

use super::*;
use crate::format;
use crate::table::kind::{CustomFormat, IntegerWidth, UnnamedStyle, names};
use crate::table::structure::{field, set, structure};

names!(KEY_NAMES "" "" {
    "KEY_SPEC_THREAD_KEYRING" = 0xffff_ffff_ffff_ffff, "KEY_SPEC_PROCESS_KEYRING" = 0xffff_ffff_ffff_fffe,
    "KEY_SPEC_SESSION_KEYRING" = 0xffff_ffff_ffff_fffd, "KEY_SPEC_USER_KEYRING" = 0xffff_ffff_ffff_fffc,
    "KEY_SPEC_USER_SESSION_KEYRING" = 0xffff_ffff_ffff_fffb, "KEY_SPEC_GROUP_KEYRING" = 0xffff_ffff_ffff_fffa,
    "KEY_SPEC_REQKEY_AUTH_KEY" = 0xffff_ffff_ffff_fff9, "KEY_SPEC_REQUESTOR_KEYRING" = 0xffff_ffff_ffff_fff8,
});
names!(PERMISSIONS "KEY_???" "0" {
    "KEY_POS_VIEW" = 0x0100_0000, "KEY_POS_READ" = 0x0200_0000, "KEY_POS_WRITE" = 0x0400_0000,
    "KEY_POS_SEARCH" = 0x0800_0000, "KEY_POS_LINK" = 0x1000_0000, "KEY_POS_SETATTR" = 0x2000_0000,
    "KEY_POS_ALL" = 0x3f00_0000, "KEY_USR_VIEW" = 0x0001_0000, "KEY_USR_READ" = 0x0002_0000,
    "KEY_USR_WRITE" = 0x0004_0000, "KEY_USR_SEARCH" = 0x0008_0000, "KEY_USR_LINK" = 0x0010_0000,
    "KEY_USR_SETATTR" = 0x0020_0000, "KEY_USR_ALL" = 0x003f_0000, "KEY_GRP_VIEW" = 0x100, "KEY_GRP_READ" = 0x200,
    "KEY_GRP_WRITE" = 0x400, "KEY_GRP_SEARCH" = 0x800, "KEY_GRP_LINK" = 0x1000, "KEY_GRP_SETATTR" = 0x2000,
    "KEY_GRP_ALL" = 0x3f00, "KEY_OTH_VIEW" = 1, "KEY_OTH_READ" = 2, "KEY_OTH_WRITE" = 4, "KEY_OTH_SEARCH" = 8,
    "KEY_OTH_LINK" = 0x10, "KEY_OTH_SETATTR" = 0x20, "KEY_OTH_ALL" = 0x3f,
});
names!(REQUESTED "KEY_REQKEY_DEFL_???" "" {
    "KEY_REQKEY_DEFL_NO_CHANGE" = 0xffff_ffff_ffff_ffff, "KEY_REQKEY_DEFL_DEFAULT" = 0,
    "KEY_REQKEY_DEFL_THREAD_KEYRING" = 1, "KEY_REQKEY_DEFL_PROCESS_KEYRING" = 2,
    "KEY_REQKEY_DEFL_SESSION_KEYRING" = 3, "KEY_REQKEY_DEFL_USER_KEYRING" = 4,
    "KEY_REQKEY_DEFL_USER_SESSION_KEYRING" = 5, "KEY_REQKEY_DEFL_GROUP_KEYRING" = 6,
    "KEY_REQKEY_DEFL_REQUESTOR_KEYRING" = 7,
});

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
    &[(1, To(Out, &Array(&CAPABILITY, 1)))],
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
