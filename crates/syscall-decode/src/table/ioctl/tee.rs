//! Requests of trusted execution environments. What sessions are asked lies behind a second pointer.

use backsight_syscall_tables::sets::{
    IOCTL_TEE_CAPABILITIES as CAPABILITIES, IOCTL_TEE_KIND as KIND, IOCTL_TEE_LOGIN as LOGIN,
    IOCTL_TEE_MEMORY as MEMORY, IOCTL_TEE_OPEN as OPEN, IOCTL_TEE_PARAMETER as PARAMETER_KIND,
    IOCTL_TEE_PARAMETER_MORE as PARAMETER_MORE,
};

use super::*;
use crate::table::TeeSessionLayout;

structure!(VERSION 12 {
    field impl_id 0 One(Four, &KIND), field gen_caps 8 Flags(Four, &CAPABILITIES),
    field impl_caps 4 ByField(0, Four, &[(1, Flags(Four, &OPEN))], &BITS),
});
/// Where an error came from; only the interface of programs names these.
static ORIGIN: Names = Names {
    unknown: "TEEC_ORIGIN_???",
    zero: "",
    list: &[
        ("TEEC_ORIGIN_API", 1),
        ("TEEC_ORIGIN_COMMS", 2),
        ("TEEC_ORIGIN_TEE", 3),
        ("TEEC_ORIGIN_TRUSTED_APP", 4),
    ],
};

const META: u64 = 0x100;
static PARAMETER_PARTS: [BitField; 2] = [
    BitField {
        mask: !META,
        shown: BitFieldStyle::One(&PARAMETER_KIND),
    },
    BitField {
        mask: META,
        shown: BitFieldStyle::Flags(&PARAMETER_MORE),
    },
];
const VALUES: FieldCondition = FieldCondition::Not(0, Eight, &[0, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
const MEMORY_REFERENCE: FieldCondition = FieldCondition::Is(0, Eight, &[5, 6, 7]);
const USER_BUFFER: FieldCondition = FieldCondition::Is(0, Eight, &[8, 9, 10]);
const OBJECT_REFERENCE: FieldCondition = FieldCondition::Is(0, Eight, &[11, 12, 13]);
structure!(PARAMETER 32 {
    field attr 0 Joined(Eight, &PARAMETER_PARTS), field a 8 Only(VALUES, &LONG_BITS), field b 16 Only(VALUES, &LONG_BITS),
    field c 24 Only(VALUES, &LONG_BITS), field shm_offs 8 Only(MEMORY_REFERENCE, &LONG_BITS),
    field size 16 Only(MEMORY_REFERENCE, &LONG_BITS), field shm_id 24 Only(MEMORY_REFERENCE, &ULONG),
    field buf 8 Only(USER_BUFFER, &LONG_BITS), field size 16 Only(USER_BUFFER, &LONG_BITS),
    field obj_id 8 Only(OBJECT_REFERENCE, &LONG_BITS), field flags 16 Only(OBJECT_REFERENCE, &LONG_BITS),
});
static NOTHING: CustomFormat = CustomFormat {
    write: |out, _| out.extend_from_slice(b"NULL"),
    number: UnnamedStyle::Words,
};
const NO_PARAMETERS: ValueKind = Worded(Four, &NOTHING);
/// A head in both of its forms, and the parameters behind it.
macro_rules! session {
    ($name:ident $asked:ident $answered:ident $size:literal count $count:literal {
        $(field $field:ident $at:literal $kind:expr),* $(,)?
    } => { $(field $out:ident $out_at:literal $out_kind:expr),* $(,)? }) => {
        structure!($asked $size {
            $(field $field $at $kind,)* field num_params $count UINT,
            field params $count Only(FieldCondition::Is($count, Four, &[0]), &NO_PARAMETERS),
            field params $size Only(FieldCondition::Not($count, Four, &[0]), &Tail(&Many(
                In, &Structure(&PARAMETER), LengthSource::Field($count, Four, 1),
            ))),
        });
        structure!($answered $size {
            $(field $out $out_at $out_kind,)*
            field params $count Only(FieldCondition::Is($count, Four, &[0]), &NO_PARAMETERS),
            field params $size Only(FieldCondition::Not($count, Four, &[0]), &Tail(&Many(
                Out, &Structure(&PARAMETER), LengthSource::Field($count, Four, 1),
            ))),
        });
        static $name: TeeSessionLayout = TeeSessionLayout {
            asked: Structure(&$asked),
            answered: Structure(&$answered),
            head: $size,
            count_at: $count,
            parameter: 32,
        };
    };
}
/// Who logs in as whom needs no number, needs that of a group, or one of its own.
const NAMED_LOGINS: &[u64] = &[0, 1, 2, 4, 5, 6];
const GROUP_LOGINS: &[u64] = &[2, 6];
session!(OPENS OPENS_ASKED OPENS_ANSWERED 56 count 52 {
    field uuid 0 Wire(NetworkKind::Uuid), field clnt_login 32 One(Four, &LOGIN),
    field clnt_uuid 16 Only(FieldCondition::Is(32, Four, GROUP_LOGINS), &Id),
    field clnt_uuid 16 Only(FieldCondition::Not(32, Four, NAMED_LOGINS), &Array(&Hex(Byte), 16)),
    field cancel_id 36 UINT,
} => { field session 40 BITS, field ret 44 UINT, field ret_origin 48 One(Four, &ORIGIN) });
session!(INVOKES INVOKES_ASKED INVOKES_ANSWERED 24 count 20 {
    field func 0 UINT, field session 4 BITS, field cancel_id 8 UINT,
} => { field ret 12 UINT, field ret_origin 16 One(Four, &ORIGIN) });
session!(RECEIVES RECEIVES_ASKED RECEIVES_ANSWERED 8 count 4 { field func 0 UINT } => { field num_params 4 UINT });
session!(SENDS SENDS_ASKED SENDS_ANSWERED 8 count 4 {} => { field ret 0 UINT });
macro_rules! buffers {
    ($($name:ident of $session:ident),* $(,)?) => {
        $(structure!($name 16 { field buf_len 8 ULONG, field buf_ptr 0 Special(S::TeeSession(&$session)) });)*
    };
}
buffers!(OPEN_BUFFER of OPENS, INVOKE_BUFFER of INVOKES, RECEIVE_BUFFER of RECEIVES, SEND_BUFFER of SENDS);
structure!(CANCELLED 8 { field cancel_id 0 UINT, field session 4 BITS });
structure!(CLOSED 4 { field session 0 BITS });
structure!(ALLOCATED 16 { field size 0 LONG_BITS, field flags 8 Flags(Four, &MEMORY) });
structure!(ALLOCATED_OUT 16 {
    field size 0 LONG_BITS, field flags 8 Flags(Four, &MEMORY), field id 12 INT,
});
structure!(REGISTERED 24 {
    field addr 0 Address, field length 8 LONG_BITS, field flags 16 Flags(Four, &MEMORY),
});
structure!(REGISTERED_OUT 24 {
    field length 8 LONG_BITS, field flags 16 Flags(Four, &MEMORY), field id 20 INT,
});
structure!(FILE 24 { field fd 0 Fd, field flags 16 Flags(Four, &MEMORY) });
structure!(FILE_OUT 24 { field size 8 LONG_BITS, field id 20 INT });

pub(super) static ARGUMENTS: Family = &[
    ("TEE_IOC_VERSION", pointer_out(&Structure(&VERSION))),
    ("TEE_IOC_OPEN_SESSION", pointer_in(&Structure(&OPEN_BUFFER))),
    ("TEE_IOC_INVOKE", pointer_in(&Structure(&INVOKE_BUFFER))),
    (
        "TEE_IOC_SUPPL_RECV",
        pointer_in(&Structure(&RECEIVE_BUFFER)),
    ),
    ("TEE_IOC_SUPPL_SEND", pointer_in(&Structure(&SEND_BUFFER))),
    ("TEE_IOC_CANCEL", pointer_in(&Structure(&CANCELLED))),
    ("TEE_IOC_CLOSE_SESSION", pointer_in(&Structure(&CLOSED))),
    (
        "TEE_IOC_SHM_ALLOC",
        Exchange(&Structure(&ALLOCATED), &Structure(&ALLOCATED_OUT)),
    ),
    (
        "TEE_IOC_SHM_REGISTER",
        Exchange(&Structure(&REGISTERED), &Structure(&REGISTERED_OUT)),
    ),
    (
        "TEE_IOC_SHM_REGISTER_FD",
        Exchange(&Structure(&FILE), &Structure(&FILE_OUT)),
    ),
];
