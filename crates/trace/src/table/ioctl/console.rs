//! Requests of the console: its keyboard, its lights, its sound. What keys and fonts are made of isn't told.

use super::*;

named!(LEDS "LED_???" "0" { "LED_SCR" = 1, "LED_NUM" = 2, "LED_CAP" = 4 });
named!(DEFAULT_LEDS "LED_???" "0" {
    "LED_SCR" = 1, "LED_NUM" = 2, "LED_CAP" = 4, "LED_SCR<<4" = 0x10, "LED_NUM<<4" = 0x20, "LED_CAP<<4" = 0x40,
});
named!(KEYBOARD "KB_???" "" { "KB_84" = 1, "KB_101" = 2, "KB_OTHER" = 3 });
named!(MODE "KD_???" "" { "KD_TEXT" = 0, "KD_GRAPHICS" = 1, "KD_TEXT0" = 2, "KD_TEXT1" = 3 });
named!(KEYBOARD_MODE "K_???" "" { "K_RAW" = 0, "K_XLATE" = 1, "K_MEDIUMRAW" = 2, "K_UNICODE" = 3, "K_OFF" = 4 });
named!(META "K_???" "" { "K_METABIT" = 3, "K_ESCPREFIX" = 4 });

/// So often a second its timer counts.
const TICKS: u64 = 1_193_182;
static SOUNDING: Wording = Wording {
    put: |out, value| match TICKS.checked_div(value) {
        None | Some(0) => out.extend_from_slice(b"off"),
        Some(frequency) => {
            put::unsigned(out, frequency);
            out.extend_from_slice(b" Hz");
        }
    },
    number: Bare::Remarked,
};
/// The ports of graphics cards.
const FIRST_PORT: u64 = 0x3b4;
const LAST_PORT: u64 = 0x3df;
static PORT: Wording = Wording {
    put: |out, value| {
        put::hex(out, value);
        if (FIRST_PORT..=LAST_PORT).contains(&value) {
            out.extend_from_slice(b" /* GPFIRST + ");
            put::unsigned(out, value - FIRST_PORT);
            out.extend_from_slice(b" */");
        }
    },
    number: Bare::Hex,
};

structure!(KEY_ASKED 8 { field scancode 0 BITS, both keycode 4 BITS });
structure!(KEY_SET 8 { field scancode 0 BITS, field keycode 4 BITS });
structure!(REPETITION 8 { field delay 0 INT, field period 4 INT });
structure!(HASHED 6 { field advised_hashsize 0 U16, field advised_hashstep 2 U16, field advised_hashlevel 4 U16 });

pub(super) static GIVEN: Family = &[
    ("KIOCSOUND", Worded(Eight, &SOUNDING)),
    ("KDGETLED", hears(&Flags(Byte, &LEDS))),
    ("KDSETLED", Flags(Byte, &LEDS)),
    ("KDGKBLED", hears(&Flags(Byte, &DEFAULT_LEDS))),
    ("KDSKBLED", Flags(Byte, &DEFAULT_LEDS)),
    ("KDGKBTYPE", hears(&One(Byte, &KEYBOARD))),
    ("KDADDIO KDDELIO", Worded(Eight, &PORT)),
    ("KDGETMODE", hears(&One(Four, &MODE))),
    ("KDSETMODE", One(Four, &MODE)),
    ("KDGKBMODE", hears(&Named(Four, &KEYBOARD_MODE))),
    ("KDSKBMODE", Named(Four, &KEYBOARD_MODE)),
    ("KDGKBMETA", hears(&One(Four, &META))),
    ("KDSKBMETA", One(Four, &META)),
    ("KDGETKEYCODE", InOut(&KEY_ASKED)),
    ("KDSETKEYCODE", says(&Structure(&KEY_SET))),
    (
        "KDKBDREP",
        Exchange(&Structure(&REPETITION), &Structure(&REPETITION)),
    ),
    ("GIO_CMAP", Binary(Out, Length::Fixed(48))),
    ("PIO_CMAP", Binary(In, Length::Fixed(48))),
    ("GIO_SCRNMAP", Binary(Out, Length::Fixed(256))),
    ("PIO_SCRNMAP", Binary(In, Length::Fixed(256))),
    ("GIO_FONT", Binary(Out, Length::Fixed(8192))),
    ("PIO_FONT", Binary(In, Length::Fixed(8192))),
    ("PIO_UNIMAPCLR", says(&Structure(&HASHED))),
    (
        "KDENABIO KDDISABIO KDMAPDISP KDUNMAPDISP PIO_FONTRESET",
        Hidden,
    ),
];
