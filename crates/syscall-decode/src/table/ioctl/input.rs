//! Requests of input devices: keyboards, mice, joysticks.

use backsight_syscall_tables::sets::{
    IOCTL_INPUT_ABSOLUTE as ABSOLUTE, IOCTL_INPUT_EVENT as EVENT, IOCTL_INPUT_FORCE as FORCE,
    IOCTL_INPUT_KEY as KEY, IOCTL_INPUT_LIGHT as LIGHT, IOCTL_INPUT_MISCELLANEOUS as MISCELLANEOUS,
    IOCTL_INPUT_PROPERTY as PROPERTY, IOCTL_INPUT_RELATIVE as RELATIVE,
    IOCTL_INPUT_REPEAT as REPEAT, IOCTL_INPUT_SLOT as SLOT, IOCTL_INPUT_SOUND as SOUND,
    IOCTL_INPUT_STATUS as STATUS, IOCTL_INPUT_SWITCH as SWITCH,
};

use super::*;

structure!(IDENTITY 8 { field bustype 0 U16, field vendor 2 U16, field product 4 U16, field version 6 U16 });
structure!(KEY_OF 40 {
    field flags 0 U8, field len 1 U8, more index 2 U16, more keycode 4 One(Four, &KEY),
    more scancode 8 Array(&Hex(Byte), 32),
});
structure!(ENVELOPE 8 { field attack_length 0 U16, field attack_level 2 U16, field fade_length 4 U16, field fade_level 6 Hex(Two) });
structure!(TRIGGER 4 { field button 0 U16, field interval 2 U16 });
structure!(REPLAY 4 { field length 0 U16, field delay 2 U16 });
structure!(CONSTANT 10 { field level 0 Signed(Two), field envelope 2 Structure(&ENVELOPE) });
structure!(RAMP 12 { field start_level 0 Signed(Two), field end_level 2 Signed(Two), field envelope 4 Structure(&ENVELOPE) });
structure!(PERIODIC 32 {
    field waveform 0 U16, field period 2 U16, field magnitude 4 Signed(Two), field offset 6 Signed(Two), field phase 8 U16,
    field envelope 10 Structure(&ENVELOPE), field custom_len 20 UINT, field custom_data 24 Address,
});
structure!(RUMBLE 4 { field strong_magnitude 0 U16, field weak_magnitude 2 U16 });
structure!(EFFECT 48 {
    field r#type 0 One(Two, &FORCE), field id 2 Signed(Two), field direction 4 U16, more trigger 6 Structure(&TRIGGER),
    more replay 10 Structure(&REPLAY),
    more constant 16 Only(FieldCondition::Is(0, Two, &[0x52]), &Structure(&CONSTANT)),
    more ramp 16 Only(FieldCondition::Is(0, Two, &[0x57]), &Structure(&RAMP)),
    more periodic 16 Only(FieldCondition::Is(0, Two, &[0x51]), &Structure(&PERIODIC)),
    more rumble 16 Only(FieldCondition::Is(0, Two, &[0x50]), &Structure(&RUMBLE)),
});
structure!(AXIS 20 {
    field value 0 UINT, field minimum 4 UINT, more maximum 8 UINT, more fuzz 12 UINT, more flat 16 UINT,
});
structure!(AXIS_WITH_RESOLUTION 24 {
    field value 0 UINT, field minimum 4 UINT, more maximum 8 UINT, more fuzz 12 UINT, more flat 16 UINT,
    more resolution 20 UINT,
});

structure!(AXIS_AND_MORE 20 {
    field value 0 UINT, field minimum 4 UINT, more maximum 8 UINT, more fuzz 12 UINT, more flat 16 UINT, field rest 20 Unsaid,
});
structure!(AXIS_WITH_RESOLUTION_AND_MORE 24 {
    field value 0 UINT, field minimum 4 UINT, more maximum 8 UINT, more fuzz 12 UINT, more flat 16 UINT,
    more resolution 20 UINT, field rest 24 Unsaid,
});
const SHORT_AXIS_AND_MORE: ValueKind = Structure(&AXIS_AND_MORE);
const LONG_AXIS_AND_MORE: ValueKind = Structure(&AXIS_WITH_RESOLUTION_AND_MORE);
const SHORT_AXIS: ValueKind = Structure(&AXIS);
const LONG_AXIS: ValueKind = Structure(&AXIS_WITH_RESOLUTION);

/// A code and the key that it stands for.
const CODE: ValueKind = Special(S::Pair(&UINT, &One(Four, &KEY)));

pub(super) static ARGUMENTS: Family = &[
    ("EVIOCGVERSION", pointer_out(&BITS)),
    ("EVIOCGEFFECTS", UINT_OUT),
    ("EVIOCGID", pointer_out(&Structure(&IDENTITY))),
    ("EVIOCGKEYCODE", pointer_out(&CODE)),
    ("EVIOCSKEYCODE", pointer_in(&CODE)),
    ("EVIOCGKEYCODE_V2", pointer_out(&Structure(&KEY_OF))),
    ("EVIOCSKEYCODE_V2", pointer_in(&Structure(&KEY_OF))),
    ("EVIOCGREP", pointer_out(&Array(&UINT, 2))),
    ("EVIOCSREP", pointer_in(&Array(&UINT, 2))),
    ("EVIOCSFF", pointer_in(&Structure(&EFFECT))),
    ("EVIOCRMFF", INT),
    ("EVIOCGRAB EVIOCREVOKE", ULONG),
    ("EVIOCSCLOCKID", UINT_IN),
];

/// What is asked of which the request says the size: its number, its name, and what comes of it.
static SIZED: &[(u32, &str, ValueKind)] = &[
    (0x06, "EVIOCGNAME", Bytes(Out, LengthSource::Result)),
    (0x07, "EVIOCGPHYS", Bytes(Out, LengthSource::Result)),
    (0x08, "EVIOCGUNIQ", Bytes(Out, LengthSource::Result)),
    (0x09, "EVIOCGPROP", Special(S::BitSet(&PROPERTY))),
    (0x0a, "EVIOCGMTSLOTS", Special(S::Slots(&SLOT))),
    (0x18, "EVIOCGKEY", Special(S::BitSet(&KEY))),
    (0x19, "EVIOCGLED", Special(S::BitSet(&LIGHT))),
    (0x1a, "EVIOCGSND", Special(S::BitSet(&SOUND))),
    (0x1b, "EVIOCGSW", Special(S::BitSet(&SWITCH))),
];

/// The bits that there are of each kind of event.
static BITS_OF: &[(u32, &Names)] = &[
    (0, &EVENT),
    (1, &KEY),
    (2, &RELATIVE),
    (3, &ABSOLUTE),
    (4, &MISCELLANEOUS),
    (5, &SWITCH),
    (0x11, &LIGHT),
    (0x12, &SOUND),
    (0x14, &REPEAT),
    (0x15, &FORCE),
    (0x17, &STATUS),
];

const READ: u32 = 2;
const WRITE: u32 = 1;
const FIRST_BITS: u32 = 0x20;
const FIRST_AXIS: u32 = 0x40;
const FIRST_SET_AXIS: u32 = 0xc0;

/// The same of other drivers, by the letter of each, and of those that go both ways. What is told of a device and what it is told
/// of a feature have one number, of which strace says the latter.
static OTHER: &[(u32, u8, u32, &str)] = &[
    (READ, b'H', 0x04, "HIDIOCGRAWNAME"),
    (READ, b'H', 0x05, "HIDIOCGRAWPHYS"),
    (READ, b'H', 0x06, "HIDIOCSFEATURE"),
    (READ, b'H', 0x08, "HIDIOCGRAWUNIQ"),
    (READ, b'H', 0x12, "HIDIOCGPHYS"),
    (READ, b'U', 0x2c, "UI_GET_SYSNAME"),
    (READ, b'j', 0x13, "JSIOCGNAME"),
    (READ | WRITE, b'H', 0x06, "HIDIOCSFEATURE"),
    (READ | WRITE, b'H', 0x07, "HIDIOCGFEATURE"),
];

fn parts(request: u32) -> (u32, u32, u32) {
    (request >> 30, request >> 8 & 0xff, request & 0xff)
}

/// Writes the name of a request of sound mixers, by the number of the channel; whether it is one.
pub(super) fn put_mixer(out: &mut Vec<u8>, request: u32) -> bool {
    let name: &[u8] = match parts(request) {
        (READ, group, _) if group == u32::from(b'M') => b"MIXER_READ(",
        (WRITE, group, _) if group == u32::from(b'M') => b"MIXER_WRITE(",
        _ => return false,
    };
    out.extend_from_slice(name);
    format::unsigned(out, u64::from(request & 0xff));
    out.push(b')');
    true
}

enum InputRequest {
    Sized(&'static str, ValueKind),
    Bits(u32),
    Axis(&'static str, u32, DataDirection),
}

fn parse_request(request: u32) -> Option<InputRequest> {
    let (direction, group, number) = parts(request);
    let other = OTHER
        .iter()
        .find(|(way, of, known, _)| (*way, u32::from(*of), *known) == (direction, group, number));
    if let Some((.., name)) = other {
        return Some(InputRequest::Sized(name, Special(S::Carried)));
    }
    if group != u32::from(b'E') {
        return None;
    }
    let sized = SIZED.iter().find(|(known, ..)| *known == number);
    match direction {
        READ if sized.is_some() => sized.map(|(_, name, kind)| InputRequest::Sized(name, *kind)),
        READ if (FIRST_BITS..FIRST_AXIS).contains(&number) => {
            Some(InputRequest::Bits(number - FIRST_BITS))
        }
        READ if (FIRST_AXIS..2 * FIRST_AXIS).contains(&number) => {
            Some(InputRequest::Axis("EVIOCGABS", number - FIRST_AXIS, Out))
        }
        WRITE if number >= FIRST_SET_AXIS => {
            Some(InputRequest::Axis("EVIOCSABS", number - FIRST_SET_AXIS, In))
        }
        _ => None,
    }
}

fn size(request: u32) -> u64 {
    u64::from(request >> 16 & 0x3fff)
}

/// Writes the name of a request that says a size or an axis; whether it is one.
pub(super) fn put_name(out: &mut Vec<u8>, request: u32, remarks: bool) -> bool {
    let put_one = |out: &mut Vec<u8>, value: u32, names: &Names| match names.name(value.into()) {
        None if !remarks => format::hex(out, value.into()),
        _ => format::one(out, value.into(), names),
    };
    match parse_request(request) {
        Some(InputRequest::Sized(name, _)) => {
            out.extend_from_slice(name.as_bytes());
            out.push(b'(');
            format::unsigned(out, size(request));
        }
        Some(InputRequest::Bits(kind)) => {
            out.extend_from_slice(b"EVIOCGBIT(");
            if kind == 0 {
                out.push(b'0');
            } else {
                put_one(out, kind, &EVENT);
            }
            out.extend_from_slice(b", ");
            format::unsigned(out, size(request));
        }
        Some(InputRequest::Axis(name, axis, _)) => {
            out.extend_from_slice(name.as_bytes());
            out.push(b'(');
            put_one(out, axis, &ABSOLUTE);
        }
        None => return false,
    }
    out.push(b')');
    true
}

/// What such a request is given.
pub(super) fn argument_kind(request: u32) -> Option<ValueKind> {
    match parse_request(request)? {
        InputRequest::Sized(_, kind) => Some(kind),
        InputRequest::Bits(kind) => {
            let bits = BITS_OF.iter().find(|(known, _)| *known == kind);
            Some(bits.map_or(Address, |(_, names)| Special(S::BitSet(names))))
        }
        InputRequest::Axis(_, _, way) => Some(match size(request) {
            0..20 => Address,
            20 => To(way, &SHORT_AXIS),
            21..24 => To(way, &SHORT_AXIS_AND_MORE),
            24 => To(way, &LONG_AXIS),
            _ => To(way, &LONG_AXIS_AND_MORE),
        }),
    }
}
