//! Segments of memory as 32-bit programs on x86 have them, and the parameters of the kernel before there were files for them.

use super::*;
use crate::format;
use crate::table::kind::{CustomFormat, IntegerWidth::One as Byte, NetworkKind as W, UnnamedStyle};
use crate::table::structure::{awaited, changed, field, out, structure};

/// A number in some bits of another.
macro_rules! bits {
    ($($name:ident = $shift:literal & $mask:literal),* $(,)?) => {
        $(static $name: CustomFormat = CustomFormat {
            write: |out, value| format::unsigned(out, value >> $shift & $mask),
            number: UnnamedStyle::Words,
        };)*
    };
}

bits! {
    WIDE = 0 & 1, CONTENTS = 1 & 3, READ_OR_EXECUTE = 3 & 1, IN_PAGES = 4 & 1, ABSENT = 5 & 1, USABLE = 6 & 1, LONG_MODE = 7 & 1,
}

const HEX: ValueKind = Wire(W::Padded(Four));

structure!(SEGMENT 16 {
    field entry_number 0 Id, field base_addr 4 HEX, field limit 8 HEX, field seg_32bit 12 Worded(Byte, &WIDE),
    field contents 12 Worded(Byte, &CONTENTS), field read_exec_only 12 Worded(Byte, &READ_OR_EXECUTE),
    field limit_in_pages 12 Worded(Byte, &IN_PAGES), field seg_not_present 12 Worded(Byte, &ABSENT),
    field useable 12 Worded(Byte, &USABLE), field lm 12 Worded(Byte, &LONG_MODE),
});
structure!(ASKED 16 {
    changed entry_number 0 Id, awaited base_addr 4 HEX, out limit 8 HEX, out seg_32bit 12 Worded(Byte, &WIDE),
    out contents 12 Worded(Byte, &CONTENTS), out read_exec_only 12 Worded(Byte, &READ_OR_EXECUTE),
    out limit_in_pages 12 Worded(Byte, &IN_PAGES), out seg_not_present 12 Worded(Byte, &ABSENT),
    out useable 12 Worded(Byte, &USABLE), out lm 12 Worded(Byte, &LONG_MODE),
});
structure!(PARAMETERS 80 {
    field name 0 Address, field nlen 8 INT, field oldval 16 Address, field oldlenp 24 Address, field newval 32 Address,
    field newlen 40 SIZE,
});

pub(super) static MEANINGS: &[Meaning] = &[
    other(
        "modify_ldt",
        &[
            INT,
            By(2, &[(16, To(In, &Structure(&SEGMENT)))], &Address),
            SIZE,
        ],
        ResultKind::Short,
    ),
    m("set_thread_area", &[To(In, &Structure(&SEGMENT))]),
    m("get_thread_area", &[InOut(&ASKED)]),
    m("_sysctl", &[To(In, &Structure(&PARAMETERS))]),
];
