//! Requests of the console: its keyboard, its lights, its sound, its letters.

use backsight_syscall_tables::sets::IOCTL_CONSOLE_HELD as HELD;
use backsight_syscall_tables::sets::{
    IOCTL_CONSOLE_DEFAULT_LEDS as DEFAULT_LEDS, IOCTL_CONSOLE_FONT_DOES as FONT_DOES,
    IOCTL_CONSOLE_FONT_FLAGS as FONT_FLAGS, IOCTL_CONSOLE_KEYBOARD as KEYBOARD,
    IOCTL_CONSOLE_KEYBOARD_MODE as KEYBOARD_MODE, IOCTL_CONSOLE_LEDS as LEDS,
    IOCTL_CONSOLE_META as META, IOCTL_CONSOLE_MODE as MODE, IOCTL_CONSOLE_TABLE as TABLE,
};

use super::*;

/// So often a second its timer counts.
const TICKS: u64 = 1_193_182;
static SOUNDING: CustomFormat = CustomFormat {
    write: |out, value| match TICKS.checked_div(value) {
        None | Some(0) => out.extend_from_slice(b"off"),
        Some(frequency) => {
            format::unsigned(out, frequency);
            out.extend_from_slice(b" Hz");
        }
    },
    number: UnnamedStyle::Remarked,
};
/// The ports of graphics cards.
const FIRST_PORT: u64 = 0x3b4;
const LAST_PORT: u64 = 0x3df;
static PORT: CustomFormat = CustomFormat {
    write: |out, value| {
        format::hex(out, value);
        if (FIRST_PORT..=LAST_PORT).contains(&value) {
            out.extend_from_slice(b" /* GPFIRST + ");
            format::unsigned(out, value - FIRST_PORT);
            out.extend_from_slice(b" */");
        }
    },
    number: UnnamedStyle::Hex,
};

structure!(KEY_ASKED 8 { field scancode 0 BITS, both keycode 4 BITS });
structure!(KEY_SET 8 { field scancode 0 BITS, field keycode 4 BITS });
structure!(REPETITION 8 { field delay 0 INT, field period 4 INT });
structure!(HASHED 6 { field advised_hashsize 0 U16, field advised_hashstep 2 U16, field advised_hashlevel 4 U16 });

const IN_TABLE: ValueKind = One(Byte, &TABLE);
const U8: ValueKind = Unsigned(Byte);

structure!(
    /// Which key: what it does stands behind that.
    KEY_OF 2 {
        field kb_table 0 ByField(0, Byte, &[(0, IN_TABLE), (1, IN_TABLE), (2, IN_TABLE), (3, IN_TABLE)], &Flags(Byte, &HELD)),
        field kb_index 1 U8,
    }
);
structure!(
    /// The same of a key that says a text.
    KEY_STRING 1 { field kb_func 0 Worded(Byte, &keys::STRING_KEY) }
);
structure!(KEY_DOES 2 { field kb_value 0 Worded(Two, &keys::KEY) });

const LETTER: ValueKind = Worded(Byte, &keys::LETTERS);
structure!(ACCENT 3 { field diacr 0 LETTER, field base 1 LETTER, field result 2 LETTER });
structure!(WIDE_ACCENT 12 { field diacr 0 BITS, field base 4 BITS, field result 8 BITS });
const ACCENTS_MOST: LengthSource = LengthSource::Capped(0, Four, 256);
structure!(ACCENTS 4 { field kb_cnt 0 UINT, field kbdiacr 4 Tail(&Many(In, &Structure(&ACCENT), ACCENTS_MOST)) });
structure!(ACCENTS_OUT 4 { field kb_cnt 0 UINT, field kbdiacr 4 Tail(&Many(Out, &Structure(&ACCENT), ACCENTS_MOST)) });
structure!(WIDE_ACCENTS 4 {
    field kb_cnt 0 UINT, field kbdiacruc 4 Tail(&Many(In, &Structure(&WIDE_ACCENT), ACCENTS_MOST)),
});
structure!(WIDE_ACCENTS_OUT 4 {
    field kb_cnt 0 UINT, field kbdiacruc 4 Tail(&Many(Out, &Structure(&WIDE_ACCENT), ACCENTS_MOST)),
});

/// Where in Unicode the letters of a font lie that have no place there.
const DIRECT: u64 = 0xf000;
const DIRECT_MASK: u64 = 0x1ff;
static PLACE: CustomFormat = CustomFormat {
    write: |out, value| {
        if value & !DIRECT_MASK == DIRECT {
            out.extend_from_slice(b"UNI_DIRECT_BASE+");
            format::hex(out, value & DIRECT_MASK);
        } else {
            format::hex(out, value);
        }
    },
    number: UnnamedStyle::Hex,
};
const PLACES: ValueKind = Worded(Two, &PLACE);
const SHORT_BITS: ValueKind = Hex(Two);
structure!(
    /// Which place of a font shows which letter.
    MAPPING 4 { field unicode 0 SHORT_BITS, field fontpos 2 SHORT_BITS }
);
structure!(MAPPINGS 16 {
    field entry_ct 0 U16, field entries 8 Many(In, &Structure(&MAPPING), LengthSource::Field(0, Two, 1)),
});

const GLYPHS: LengthSource = LengthSource::Field(0, Two, 32);
structure!(FONT 16 { field charcount 0 U16, field charheight 2 U16, field chardata 8 Binary(In, GLYPHS) });
structure!(FONT_ASKED 16 { field charcount 0 U16, field charheight 2 U16, field chardata 8 Address });
structure!(FONT_OUT 16 { field charcount 0 U16, field charheight 2 U16, field chardata 8 Binary(Out, GLYPHS) });

const BY_SIZE: LengthSource = LengthSource::Glyphs(8, 16);
const NOT_COPY: FieldCondition = FieldCondition::Not(0, Four, &[3]);
const NOT_BY_NAME: FieldCondition = FieldCondition::Not(0, Four, &[2, 3]);
const ANSWERS: FieldCondition = FieldCondition::Not(0, Four, &[0, 3]);
const ANSWERS_IN_FULL: FieldCondition = FieldCondition::Not(0, Four, &[0, 2, 3]);
structure!(FONT_OPERATION 32 {
    field op 0 One(Four, &FONT_DOES), field flags 4 Only(NOT_BY_NAME, &Flags(Four, &FONT_FLAGS)),
    field width 8 Only(NOT_COPY, &UINT), field height 12 UINT, field charcount 16 Only(NOT_BY_NAME, &UINT),
    field data 24 Only(NOT_COPY, &ByField(0, Four, &[(0, Binary(In, BY_SIZE)), (2, Special(S::FontName))], &Address)),
});
structure!(FONT_OPERATION_OUT 32 {
    field width 8 Only(ANSWERS, &UINT), field height 12 Only(ANSWERS, &UINT),
    field charcount 16 Only(ANSWERS_IN_FULL, &UINT),
    field data 24 Only(ANSWERS_IN_FULL, &ByField(0, Four, &[(1, Binary(Out, BY_SIZE))], &Address)),
});

pub(super) static ARGUMENTS: Family = &[
    ("KIOCSOUND", Worded(Eight, &SOUNDING)),
    ("KDGETLED", pointer_out(&Flags(Byte, &LEDS))),
    ("KDSETLED", Flags(Byte, &LEDS)),
    ("KDGKBLED", pointer_out(&Flags(Byte, &DEFAULT_LEDS))),
    ("KDSKBLED", Flags(Byte, &DEFAULT_LEDS)),
    ("KDGKBTYPE", pointer_out(&One(Byte, &KEYBOARD))),
    ("KDADDIO KDDELIO", Worded(Eight, &PORT)),
    ("KDGETMODE", pointer_out(&One(Four, &MODE))),
    ("KDSETMODE", One(Four, &MODE)),
    ("KDGKBMODE", pointer_out(&Named(Four, &KEYBOARD_MODE))),
    ("KDSKBMODE", Named(Four, &KEYBOARD_MODE)),
    ("KDGKBMETA", pointer_out(&One(Four, &META))),
    ("KDSKBMETA", One(Four, &META)),
    ("KDGETKEYCODE", InOut(&KEY_ASKED)),
    ("KDSETKEYCODE", pointer_in(&Structure(&KEY_SET))),
    (
        "KDKBDREP",
        Exchange(&Structure(&REPETITION), &Structure(&REPETITION)),
    ),
    ("KDMKTONE", Special(S::Tone)),
    ("KDSIGACCEPT", Special(S::WideSignal)),
    ("KDGKBENT", Special(S::Key(Out))),
    ("KDSKBENT", Special(S::Key(In))),
    ("KDGKBSENT", Special(S::KeyString(Out))),
    ("KDSKBSENT", Special(S::KeyString(In))),
    ("KDGKBDIACR", pointer_out(&Structure(&ACCENTS_OUT))),
    ("KDSKBDIACR", pointer_in(&Structure(&ACCENTS))),
    ("KDGKBDIACRUC", pointer_out(&Structure(&WIDE_ACCENTS_OUT))),
    ("KDSKBDIACRUC", pointer_in(&Structure(&WIDE_ACCENTS))),
    (
        "GIO_UNISCRNMAP",
        Many(Out, &PLACES, LengthSource::Fixed(256)),
    ),
    (
        "PIO_UNISCRNMAP",
        Many(In, &PLACES, LengthSource::Fixed(256)),
    ),
    ("GIO_UNIMAP", Special(S::Mappings)),
    ("PIO_UNIMAP", pointer_in(&Structure(&MAPPINGS))),
    (
        "GIO_FONTX",
        Exchange(&Structure(&FONT_ASKED), &Structure(&FONT_OUT)),
    ),
    ("PIO_FONTX", pointer_in(&Structure(&FONT))),
    (
        "KDFONTOP",
        Exchange(&Structure(&FONT_OPERATION), &Structure(&FONT_OPERATION_OUT)),
    ),
    ("GIO_CMAP", Binary(Out, LengthSource::Fixed(48))),
    ("PIO_CMAP", Binary(In, LengthSource::Fixed(48))),
    ("GIO_SCRNMAP", Binary(Out, LengthSource::Fixed(256))),
    ("PIO_SCRNMAP", Binary(In, LengthSource::Fixed(256))),
    ("GIO_FONT", Binary(Out, LengthSource::Fixed(8192))),
    ("PIO_FONT", Binary(In, LengthSource::Fixed(8192))),
    ("PIO_UNIMAPCLR", pointer_in(&Structure(&HASHED))),
    (
        "KDENABIO KDDISABIO KDMAPDISP KDUNMAPDISP PIO_FONTRESET",
        Hidden,
    ),
];
