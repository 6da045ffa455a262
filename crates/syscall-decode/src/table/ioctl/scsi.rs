//! Requests of SCSI devices: those of the generic driver, and what `SG_IO` is given in both of its versions.

use backsight_syscall_tables::sets::IOCTL_SCSI_FLAGS as FLAGS;
use backsight_syscall_tables::sets::{
    IOCTL_SCSI_ALONE as ALONE, IOCTL_SCSI_BLOCK_FLAGS as BLOCK_FLAGS,
    IOCTL_SCSI_DIRECTION as DIRECTION, IOCTL_SCSI_INFO as INFO, IOCTL_SCSI_PROTOCOL as PROTOCOL,
    IOCTL_SCSI_RESET as RESET, IOCTL_SCSI_SUBPROTOCOL as SUBPROTOCOL,
};

use super::*;

static RESETTING: [BitField; 2] = [
    BitField {
        mask: 0x100,
        shown: BitFieldStyle::Flags(&ALONE),
    },
    BitField {
        mask: !0x100,
        shown: BitFieldStyle::One(&RESET),
    },
];

const U8: ValueKind = Unsigned(Byte);
const BYTE_BITS: ValueKind = Hex(Byte);
const SHORT_BITS: ValueKind = Hex(Two);

/// One version of what `SG_IO` is given.
pub struct SgVersion {
    /// The number that it begins with, as a letter.
    pub letter: u8,
    /// That field.
    pub name: &'static str,
    /// What the program passes in.
    pub input: &'static crate::table::StructureLayout,
    /// What the kernel writes.
    pub output: &'static crate::table::StructureLayout,
    /// What is shown in place of that where it isn't there.
    pub unread: &'static crate::table::StructureLayout,
    /// What goes there and comes back in one buffer.
    pub both: Option<SgBuffer>,
}

/// A buffer for both ways.
pub struct SgBuffer {
    /// Its field.
    pub name: &'static str,
    /// Where its address lies.
    pub at: usize,
    /// Where the direction lies, which is so if something goes there, and so if it goes both ways.
    pub direction: usize,
    /// Only there.
    pub there: u64,
    /// There and back.
    pub there_and_back: u64,
    /// What goes there.
    pub sent: ValueKind,
    /// What comes back, and how much that is.
    pub received: ValueKind,
    /// How much that is.
    pub length: LengthSource,
}

const TO: u64 = 0xffff_fffe;
const FROM: u64 = 0xffff_fffd;
const TO_AND_FROM: u64 = 0xffff_fffc;
const LEFT: LengthSource = LengthSource::Without(12, 72);
const SENT: ValueKind = Special(S::Scattered(In, 10, Two, LengthSource::Field(12, Four, 1)));
const RECEIVED: ValueKind = Special(S::Scattered(Out, 10, Two, LEFT));
const IS_FROM: FieldCondition = FieldCondition::Is(4, Four, &[FROM]);

structure!(HEADER 88 {
    field dxfer_direction 4 One(Four, &DIRECTION), field cmd_len 8 U8,
    field cmdp 24 Binary(In, LengthSource::Field(8, Byte, 1)), field mx_sb_len 9 U8, field iovec_count 10 U16,
    field dxfer_len 12 UINT, field timeout 40 UINT, field flags 44 Flags(Four, &FLAGS),
});
structure!(HEADER_OUT 88 {
    field dxferp 16 Only(IS_FROM, &RECEIVED),
    field status 64 BYTE_BITS, field masked_status 65 BYTE_BITS, field msg_status 66 BYTE_BITS, field sb_len_wr 67 U8,
    field sbp 32 Binary(Out, LengthSource::Field(67, Byte, 1)), field host_status 68 SHORT_BITS,
    field driver_status 70 SHORT_BITS, field resid 72 INT, field duration 76 UINT, field info 80 Flags(Four, &INFO),
});
structure!(HEADER_UNREAD 88 { field dxferp 16 Only(IS_FROM, &Address), field sbp 32 Address });

structure!(BLOCK 160 {
    field protocol 4 One(Four, &PROTOCOL), field subprotocol 8 One(Four, &SUBPROTOCOL), field request_len 12 UINT,
    field request 16 Binary(In, LengthSource::Field(12, Four, 1)), field request_tag 24 LONG_BITS, field request_attr 32 UINT,
    field request_priority 36 UINT, field request_extra 40 UINT, field max_response_len 44 UINT,
    field dout_iovec_count 56 UINT, field dout_xfer_len 60 UINT, field din_iovec_count 64 UINT,
    field din_xfer_len 68 UINT,
    field dout_xferp 72 Special(S::Scattered(In, 56, Four, LengthSource::Field(60, Four, 1))),
    field timeout 88 UINT, field flags 92 Flags(Four, &BLOCK_FLAGS), field usr_ptr 96 LONG_BITS,
});
structure!(BLOCK_OUT 160 {
    field response_len 132 UINT, field response 48 Binary(Out, LengthSource::Field(132, Four, 1)),
    field din_xferp 80 Special(S::Scattered(Out, 64, Four, LengthSource::Without(68, 136))),
    field driver_status 108 BITS, field transport_status 112 BITS, field device_status 116 BITS,
    field retry_delay 120 UINT, field info 124 Flags(Four, &INFO), field duration 128 UINT, field response_len 132 UINT,
    field din_resid 136 INT, field dout_resid 140 INT, field generated_tag 144 LONG_BITS,
});
structure!(BLOCK_UNREAD 160 { field response 48 LONG_BITS, field din_xferp 80 LONG_BITS });

/// The versions that there are.
pub static VERSIONS: [SgVersion; 2] = [
    SgVersion {
        letter: b'S',
        name: "interface_id",
        input: &HEADER,
        output: &HEADER_OUT,
        unread: &HEADER_UNREAD,
        both: Some(SgBuffer {
            name: "dxferp",
            at: 16,
            direction: 4,
            there: TO,
            there_and_back: TO_AND_FROM,
            sent: SENT,
            received: RECEIVED,
            length: LEFT,
        }),
    },
    SgVersion {
        letter: b'Q',
        name: "guard",
        input: &BLOCK,
        output: &BLOCK_OUT,
        unread: &BLOCK_UNREAD,
        both: None,
    },
];

structure!(WHICH 32 {
    field host_no 0 INT, field channel 4 INT, field scsi_id 8 BITS, field lun 12 INT, field scsi_type 16 BITS,
    field h_cmd_per_lun 20 Signed(Two), field d_queue_depth 22 Signed(Two),
});

pub(super) static ARGUMENTS: Family = &[
    ("SG_SET_TRANSFORM", BITS),
    ("SG_IO", Special(S::Scsi)),
    ("SG_GET_TIMEOUT", Hidden),
    (
        "SG_NEXT_CMD_LEN SG_SET_COMMAND_Q SG_SET_DEBUG SG_SET_FORCE_LOW_DMA SG_SET_FORCE_PACK_ID SG_SET_KEEP_ORPHAN \
         SG_SET_RESERVED_SIZE SG_SET_TIMEOUT",
        INT_IN,
    ),
    (
        "SG_EMULATED_HOST SG_GET_ACCESS_COUNT SG_GET_COMMAND_Q SG_GET_KEEP_ORPHAN SG_GET_LOW_DMA SG_GET_NUM_WAITING \
         SG_GET_PACK_ID SG_GET_RESERVED_SIZE SG_GET_SG_TABLESIZE SG_GET_TRANSFORM SG_GET_VERSION_NUM",
        INT_OUT,
    ),
    ("SG_GET_SCSI_ID", pointer_out(&Structure(&WHICH))),
    ("SG_GET_REQUEST_TABLE", Address),
    ("SG_SCSI_RESET", pointer_in(&Several(Four, &RESETTING))),
];
