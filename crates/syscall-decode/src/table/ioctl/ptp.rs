//! Requests of clocks of the precision time protocol. The second form of a request is the first with what was filler then.

use backsight_syscall_tables::sets::{
    IOCTL_PTP_FUNCTION as FUNCTION, IOCTL_PTP_OUTPUT as OUTPUT, IOCTL_PTP_STAMPS as STAMPS,
};

use super::*;

structure!(TIME 16 { field sec 0 LONG, field nsec 8 UINT, set reserved 12 BITS });
/// A time of day, with the moment that it is.
const INSTANT: ValueKind = Special(S::Instant(&TIME));
const SPAN: ValueKind = Structure(&TIME);
/// Nanoseconds, with what they are in seconds.
static NANOSECONDS: CustomFormat = CustomFormat {
    write: |out, value| {
        let value = value as u32 as i32;
        format::signed(out, i64::from(value));
        if value != 0 {
            let (sign, size) = (if value < 0 { "-" } else { "" }, value.unsigned_abs());
            let (seconds, rest) = (size / 1_000_000_000, size % 1_000_000_000);
            format::remark(out, &format!("{sign}{seconds}.{rest:09} s"));
        }
    },
    number: UnnamedStyle::Decimal,
};
structure!(CAPABILITIES 80 {
    field max_adj 0 INT, field n_alarm 4 INT, field n_ext_ts 8 INT, field n_per_out 12 INT, field pps 16 INT,
    field n_pins 20 INT, field cross_timestamping 24 INT, field adjust_phase 28 INT,
    field max_phase_adj 32 Worded(Four, &NANOSECONDS), set rsv 36 Array(&BITS, 11),
});
structure!(STAMP 16 { field index 0 UINT, field flags 4 Flags(Four, &STAMPS) });
structure!(STAMP_2 16 { field index 0 UINT, field flags 4 Flags(Four, &STAMPS), set rsv 8 Array(&BITS, 2) });
const STARTED: FieldCondition = FieldCondition::Lacks(36, Four, 4);
const PHASED: FieldCondition = FieldCondition::Has(36, Four, 4);
structure!(PULSE 56 {
    field start 0 Only(STARTED, &INSTANT), field phase 0 Only(PHASED, &SPAN), field period 16 SPAN, field index 32 UINT,
    field flags 36 Flags(Four, &OUTPUT), field on 40 Only(FieldCondition::Has(36, Four, 2), &SPAN),
});
structure!(PULSE_2 56 {
    field start 0 Only(STARTED, &INSTANT), field phase 0 Only(PHASED, &SPAN), field period 16 SPAN, field index 32 UINT,
    field flags 36 Flags(Four, &OUTPUT), field on 40 Only(FieldCondition::Has(36, Four, 2), &SPAN),
    set rsv 40 Only(FieldCondition::Lacks(36, Four, 2), &Array(&BITS, 4)),
});
structure!(OFFSET 832 {
    field n_samples 0 UINT, set rsv 4 Array(&BITS, 3), out ts 16 Counted(&INSTANT, LengthSource::Pairs(0, 51), 51),
});
structure!(OFFSET_EXTENDED 1216 {
    field n_samples 0 UINT, field clockid 4 One(Four, &f::CLOCK), set rsv 8 Array(&BITS, 2),
    out ts 16 Counted(&Array(&INSTANT, 3), LengthSource::Most(0, Four, 25), 25),
});
structure!(OFFSET_PRECISE 64 {
    field device 0 INSTANT, field sys_realtime 16 INSTANT, field sys_monoraw 32 SPAN, set rsv 48 Array(&BITS, 4),
});
structure!(PIN_ASKED 96 {
    field index 64 UINT, out name 0 Characters(64), out func 68 One(Four, &FUNCTION), out chan 72 UINT,
});
structure!(PIN_ASKED_2 96 {
    field index 64 UINT, set rsv 76 Array(&BITS, 5), out name 0 Characters(64), out func 68 One(Four, &FUNCTION),
    out chan 72 UINT,
});
structure!(PIN 96 { field index 64 UINT, field func 68 One(Four, &FUNCTION), field chan 72 UINT });
structure!(PIN_2 96 {
    field index 64 UINT, field func 68 One(Four, &FUNCTION), field chan 72 UINT, set rsv 76 Array(&BITS, 5),
});

pub(super) static ARGUMENTS: Family = &[
    (
        "PTP_CLOCK_GETCAPS PTP_CLOCK_GETCAPS2",
        pointer_out(&Structure(&CAPABILITIES)),
    ),
    ("PTP_EXTTS_REQUEST", pointer_in(&Structure(&STAMP))),
    ("PTP_EXTTS_REQUEST2", pointer_in(&Structure(&STAMP_2))),
    ("PTP_PEROUT_REQUEST", pointer_in(&Structure(&PULSE))),
    ("PTP_PEROUT_REQUEST2", pointer_in(&Structure(&PULSE_2))),
    ("PTP_ENABLE_PPS PTP_ENABLE_PPS2", LONG_BITS),
    ("PTP_SYS_OFFSET PTP_SYS_OFFSET2", InOut(&OFFSET)),
    (
        "PTP_SYS_OFFSET_EXTENDED PTP_SYS_OFFSET_EXTENDED2 PTP_SYS_OFFSET_EXTENDED_CYCLES",
        InOut(&OFFSET_EXTENDED),
    ),
    (
        "PTP_SYS_OFFSET_PRECISE PTP_SYS_OFFSET_PRECISE2 PTP_SYS_OFFSET_PRECISE_CYCLES",
        pointer_out(&Structure(&OFFSET_PRECISE)),
    ),
    ("PTP_PIN_GETFUNC", InOut(&PIN_ASKED)),
    ("PTP_PIN_GETFUNC2", InOut(&PIN_ASKED_2)),
    ("PTP_PIN_SETFUNC", pointer_in(&Structure(&PIN))),
    ("PTP_PIN_SETFUNC2", pointer_in(&Structure(&PIN_2))),
];
