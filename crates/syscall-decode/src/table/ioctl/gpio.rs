//! Requests of the lines of general-purpose input and output.

use backsight_syscall_tables::sets::{
    IOCTL_GPIO_EVENT as EVENT, IOCTL_GPIO_HANDLE as HANDLE, IOCTL_GPIO_LINE as LINE,
    IOCTL_GPIO_LINE_2 as LINE_2,
};

use super::*;

const NAME: ValueKind = Characters(32);
const HANDLED: ValueKind = Flags(Four, &HANDLE);
const LINES: ValueKind = Flags(Eight, &LINE_2);
/// What an attribute is, with the filler behind it that has to be zero.
const KNOWN: &[u64] = &[1, 2, 3];

structure!(CHIP 68 { field name 0 NAME, field label 32 NAME, field lines 64 UINT });
structure!(INFO 72 { field line_offset 0 UINT });
structure!(INFO_OUT 72 { field flags 4 Flags(Four, &LINE), field name 8 NAME, field consumer 40 NAME });
structure!(UNWATCH 4 { field offset 0 UINT });
structure!(HANDLE_OF 364 {
    field lines 356 UINT, field lineoffsets 0 Counted(&UINT, LengthSource::Field(356, Four, 1), 64), field flags 256 HANDLED,
    field default_values 260 Counted(&U8, LengthSource::Field(356, Four, 1), 64), field consumer_label 324 NAME,
});
structure!(HANDLE_OUT 364 { field fd 360 Fd });
structure!(EVENT_OF 48 {
    field lineoffset 0 UINT, field handleflags 4 HANDLED, field eventflags 8 Flags(Four, &EVENT), field consumer_label 12 NAME,
});
structure!(EVENT_OUT 48 { field fd 44 Fd });
structure!(VALUES 64 { field values 0 Counted(&U8, LengthSource::Fixed(64), 64) });
structure!(CONFIGURATION 84 { field flags 0 HANDLED, field default_values 4 Counted(&U8, LengthSource::Fixed(64), 64) });
structure!(ATTRIBUTE 16 {
    field flags 8 Only(FieldCondition::Is(0, Eight, &[1]), &LINES),
    field values 8 Only(FieldCondition::Is(0, Eight, &[2]), &LONG_BITS),
    field debounce_period_us 8 Only(FieldCondition::Is(0, Eight, &[3]), &UINT),
    field id 0 Only(FieldCondition::Not(0, Eight, KNOWN), &UINT),
    set padding 4 BITS,
    field data 8 Only(FieldCondition::Not(0, Eight, KNOWN), &LONG_BITS),
});
structure!(MASKED_ATTRIBUTE 24 {
    field flags 8 Only(FieldCondition::Is(0, Eight, &[1]), &LINES),
    field values 8 Only(FieldCondition::Is(0, Eight, &[2]), &LONG_BITS),
    field debounce_period_us 8 Only(FieldCondition::Is(0, Eight, &[3]), &UINT),
    field attr 0 Only(FieldCondition::Not(0, Eight, KNOWN), &Structure(&ATTRIBUTE)),
    field mask 16 LONG_BITS,
});
structure!(INFO_2 256 { field offset 64 UINT });
structure!(INFO_2_OUT 256 {
    field name 0 NAME, field consumer 32 NAME, field flags 72 LINES, field num_attrs 68 UINT,
    field attrs 80 Only(FieldCondition::Not(68, Four, &[0]), &Counted(&Structure(&ATTRIBUTE), LengthSource::Field(68, Four, 1), 10)),
    set padding 240 Array(&BITS, 4),
});
structure!(CONFIGURATION_2 272 {
    field flags 0 LINES, field num_attrs 8 UINT, set padding 12 Array(&BITS, 5),
    field attrs 32 Only(FieldCondition::Not(8, Four, &[0]), &Counted(&Structure(&MASKED_ATTRIBUTE), LengthSource::Field(8, Four, 1), 10)),
});
structure!(REQUEST 592 {
    field num_lines 560 UINT, field offsets 0 Counted(&UINT, LengthSource::Field(560, Four, 1), 64), field consumer 256 NAME,
    field config 288 Structure(&CONFIGURATION_2), set event_buffer_size 564 UINT, set padding 568 Array(&BITS, 5),
});
structure!(REQUEST_OUT 592 { field fd 588 Fd });
structure!(WANTED 16 { field mask 8 LONG_BITS });
structure!(WANTED_OUT 16 { field bits 0 LONG_BITS });
structure!(VALUES_2 16 { field bits 0 LONG_BITS, field mask 8 LONG_BITS });

pub(super) static ARGUMENTS: Family = &[
    ("GPIO_GET_CHIPINFO_IOCTL", pointer_out(&Structure(&CHIP))),
    (
        "GPIO_GET_LINEINFO_IOCTL GPIO_GET_LINEINFO_WATCH_IOCTL",
        Exchange(&Structure(&INFO), &Structure(&INFO_OUT)),
    ),
    (
        "GPIO_GET_LINEINFO_UNWATCH_IOCTL",
        pointer_in(&Structure(&UNWATCH)),
    ),
    (
        "GPIO_GET_LINEHANDLE_IOCTL",
        Exchange(&Structure(&HANDLE_OF), &Structure(&HANDLE_OUT)),
    ),
    (
        "GPIO_GET_LINEEVENT_IOCTL",
        Exchange(&Structure(&EVENT_OF), &Structure(&EVENT_OUT)),
    ),
    (
        "GPIOHANDLE_GET_LINE_VALUES_IOCTL",
        pointer_out(&Structure(&VALUES)),
    ),
    (
        "GPIOHANDLE_SET_LINE_VALUES_IOCTL",
        pointer_in(&Structure(&VALUES)),
    ),
    (
        "GPIOHANDLE_SET_CONFIG_IOCTL",
        pointer_in(&Structure(&CONFIGURATION)),
    ),
    (
        "GPIO_V2_GET_LINEINFO_IOCTL GPIO_V2_GET_LINEINFO_WATCH_IOCTL",
        Exchange(&Structure(&INFO_2), &Structure(&INFO_2_OUT)),
    ),
    (
        "GPIO_V2_GET_LINE_IOCTL",
        Exchange(&Structure(&REQUEST), &Structure(&REQUEST_OUT)),
    ),
    (
        "GPIO_V2_LINE_GET_VALUES_IOCTL",
        Exchange(&Structure(&WANTED), &Structure(&WANTED_OUT)),
    ),
    (
        "GPIO_V2_LINE_SET_VALUES_IOCTL",
        pointer_in(&Structure(&VALUES_2)),
    ),
    (
        "GPIO_V2_LINE_SET_CONFIG_IOCTL",
        pointer_in(&Structure(&CONFIGURATION_2)),
    ),
];
