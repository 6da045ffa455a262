//! Requests of devices for video: cameras, tuners, codecs.

mod names;

use self::names::*;
use super::*;

static PIXELS: CustomFormat = CustomFormat {
    write: |out, value| put_format(out, value, &PIXEL),
    number: UnnamedStyle::HexAlone,
};
static SAMPLED: CustomFormat = CustomFormat {
    write: |out, value| put_format(out, value, &SAMPLES),
    number: UnnamedStyle::HexAlone,
};
static METADATA: CustomFormat = CustomFormat {
    write: |out, value| put_format(out, value, &META),
    number: UnnamedStyle::HexAlone,
};
static RATIO: CustomFormat = CustomFormat {
    write: |out, value| {
        format::unsigned(out, value & 0xffff_ffff);
        out.push(b'/');
        format::unsigned(out, value >> 32);
    },
    number: UnnamedStyle::Words,
};
static VERSION: CustomFormat = CustomFormat {
    write: |out, value| {
        out.extend_from_slice(b"KERNEL_VERSION(");
        format::unsigned(out, value >> 16);
        for shift in [8, 0] {
            out.extend_from_slice(b", ");
            format::unsigned(out, value >> shift & 0xff);
        }
        out.push(b')');
    },
    number: UnnamedStyle::Hex,
};
static CONTROLLING: CustomFormat = CustomFormat {
    write: put_control,
    number: UnnamedStyle::Hex,
};

/// Four letters that name a format.
fn put_letters(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(b"v4l2_fourcc(");
    for (place, letter) in value.to_le_bytes()[..4].iter().enumerate() {
        if place > 0 {
            out.extend_from_slice(b", ");
        }
        out.push(b'\'');
        match letter {
            b'\'' | b'\\' => out.extend_from_slice(&[b'\\', *letter]),
            b' '..=b'~' => out.push(*letter),
            _ => {
                out.extend_from_slice(b"\\x");
                format::hex_padded(out, u64::from(*letter), 2);
            }
        }
        out.push(b'\'');
    }
    out.push(b')');
}

fn put_format(out: &mut Vec<u8>, value: u64, names: &Names) {
    put_letters(out, value);
    if let Some(name) = names.name(value) {
        format::remark(out, name);
    }
}

/// A control by its name, else by the class that it is of.
fn put_control(out: &mut Vec<u8>, value: u64) {
    const MOST: u64 = 0x10000;
    let of = |(_, class): &&(&str, u64)| (*class..*class + MOST).contains(&value);
    if let Some(name) = CONTROL.name(value) {
        out.extend_from_slice(name.as_bytes());
    } else if let Some((name, class)) = CLASS.list.iter().find(of) {
        out.extend_from_slice(name.as_bytes());
        out.push(b'+');
        format::hex(out, value - class);
    } else {
        format::hex(out, value);
        format::remark(out, CONTROL.unknown);
    }
}

const PIXEL_FORMAT: ValueKind = Worded(Four, &PIXELS);
const FRACTION: ValueKind = Worded(Eight, &RATIO);
const TYPE: ValueKind = One(Four, &BUFFER);
const WHERE: ValueKind = One(Four, &MEMORY);
const CONTROL_OF: ValueKind = Worded(Four, &CONTROLLING);

const NEXT_ONES: u64 = 0xc000_0000;
static NEXT_CONTROL: [BitField; 2] = [
    BitField {
        mask: NEXT_ONES,
        shown: BitFieldStyle::Bits(&NEXT),
    },
    BitField {
        mask: !NEXT_ONES,
        shown: BitFieldStyle::Worded(&CONTROLLING),
    },
];
const TIMESTAMPS: u64 = 0xe000;
const SOURCES: u64 = 0x7_0000;
static BUFFER_FLAGS: [BitField; 3] = [
    BitField {
        mask: !(TIMESTAMPS | SOURCES),
        shown: BitFieldStyle::Bits(&BUFFERED),
    },
    BitField {
        mask: TIMESTAMPS,
        shown: BitFieldStyle::One(&TIMESTAMP),
    },
    BitField {
        mask: SOURCES,
        shown: BitFieldStyle::One(&STAMPED),
    },
];

structure!(CAPABILITY 104 {
    field driver 0 Characters(16), field card 16 Characters(32), field bus_info 48 Characters(32),
    field version 80 Worded(Four, &VERSION), field capabilities 84 Flags(Four, &CAN), set device_caps 88 Flags(Four, &CAN),
});
structure!(FORMAT_OF 64 {
    field index 0 UINT, field r#type 4 TYPE, out flags 8 Flags(Four, &DESCRIBED), out description 12 Characters(32),
    out pixelformat 44 PIXEL_FORMAT,
});
structure!(RECTANGLE 16 { field left 0 INT, field top 4 INT, field width 8 UINT, field height 12 UINT });
structure!(CLIP 24 { field c 0 Structure(&RECTANGLE) });
structure!(PICTURE 48 {
    field width 0 UINT, field height 4 UINT, field pixelformat 8 PIXEL_FORMAT, field field 12 One(Four, &FIELD),
    field bytesperline 16 UINT, field sizeimage 20 UINT, field colorspace 24 One(Four, &COLORSPACE),
});
structure!(PLANE 20 { field sizeimage 0 UINT, field bytesperline 4 UINT });
structure!(PLANES 192 {
    field width 0 UINT, field height 4 UINT, field pixelformat 8 PIXEL_FORMAT, field field 12 One(Four, &FIELD),
    field colorspace 16 One(Four, &COLORSPACE), field plane_fmt 20 Counted(&Structure(&PLANE), LengthSource::Field(180, Byte, 1), 8),
    field num_planes 180 U8,
});
structure!(BLANKS 44 {
    field sampling_rate 0 UINT, field offset 4 UINT, field samples_per_line 8 UINT, field sample_format 12 PIXEL_FORMAT,
    field start 16 Array(&INT, 2), field count 24 Array(&UINT, 2), field flags 32 Flags(Four, &BLANKING),
});
structure!(SLICES 112 {
    field service_set 0 Flags(Two, &SLICED), field service_lines 2 Array(&Array(&Hex(Two), 24), 2), field io_size 100 UINT,
});
structure!(RADIO 32 { field pixelformat 0 Worded(Four, &SAMPLED), set buffersize 4 UINT });
structure!(BESIDE 8 { field dataformat 0 Worded(Four, &METADATA), field buffersize 4 UINT });

/// What a format is by its type, and the window that it may be: said by the program, or by the kernel.
macro_rules! formats {
    ($name:ident $window:ident $way:ident $how:ident { $($first:ident $field:ident $at:literal $kind:expr)? }) => {
        structure!($window 56 {
            field w 0 Structure(&RECTANGLE), field field 16 One(Four, &FIELD), field chromakey 20 BITS,
            field clips 24 Many($way, &Structure(&CLIP), LengthSource::Field(32, Four, 1)), field clipcount 32 UINT,
            field bitmap 40 Address, set global_alpha 48 Hex(Byte),
        });
        structure!($name 208 {
            $($first $field $at $kind,)?
            $how fmt.pix 8 Only(FieldCondition::Is(0, Four, &[1, 2]), &Structure(&PICTURE)),
            $how fmt.pix_mp 8 Only(FieldCondition::Is(0, Four, &[9, 10]), &Structure(&PLANES)),
            $how fmt.win 8 Only(FieldCondition::Is(0, Four, &[3, 8]), &Structure(&$window)),
            $how fmt.vbi 8 Only(FieldCondition::Is(0, Four, &[4, 5]), &Structure(&BLANKS)),
            $how fmt.sliced 8 Only(FieldCondition::Is(0, Four, &[6, 7]), &Structure(&SLICES)),
            $how fmt.sdr 8 Only(FieldCondition::Is(0, Four, &[11, 12]), &Structure(&RADIO)),
            $how fmt.meta 8 Only(FieldCondition::Is(0, Four, &[13, 14]), &Structure(&BESIDE)),
        });
    };
}
formats!(FORMAT WINDOW In field { field r#type 0 TYPE });
formats!(FORMAT_ASKED WINDOW_ASKED Out out { field r#type 0 TYPE });
formats!(FORMAT_OUT WINDOW_OUT Out field {});

structure!(BUFFERS 20 { field r#type 4 TYPE, field memory 8 WHERE, changed count 0 UINT });
const OFFSET: ValueKind = Only(FieldCondition::Is(60, Four, &[1]), &BITS);
const POINTER: ValueKind = Only(FieldCondition::Is(60, Four, &[2]), &Address);
const SET: ValueKind = Joined(Four, &BUFFER_FLAGS);
structure!(BUFFER_OF 88 {
    field r#type 4 TYPE, field index 0 UINT, out memory 60 WHERE, out m.offset 64 OFFSET, out m.userptr 64 POINTER,
    out length 72 UINT, out bytesused 8 UINT, out flags 12 SET, out rest 88 Unsaid,
});
structure!(BUFFER_TAKEN 88 {
    field r#type 4 TYPE, out index 0 UINT, out memory 60 WHERE, out m.offset 64 OFFSET, out m.userptr 64 POINTER,
    out length 72 UINT, out bytesused 8 UINT, out flags 12 SET, out timestamp 24 Structure(&s::TIMEVAL),
    out rest 88 Unsaid,
});
/// The same with a time of two numbers of four bytes.
const OFFSET_32: ValueKind = Only(FieldCondition::Is(48, Four, &[1]), &BITS);
const POINTER_32: ValueKind = Only(FieldCondition::Is(48, Four, &[2]), &Address);
structure!(TIME_32 8 { field tv_sec 0 INT, field tv_usec 4 INT });
structure!(BUFFER_OF_32 80 {
    field r#type 4 TYPE, field index 0 UINT, out memory 48 WHERE, out m.offset 56 OFFSET_32, out m.userptr 56 POINTER_32,
    out length 64 UINT, out bytesused 8 UINT, out flags 12 SET, out rest 80 Unsaid,
});
structure!(BUFFER_TAKEN_32 80 {
    field r#type 4 TYPE, out index 0 UINT, out memory 48 WHERE, out m.offset 56 OFFSET_32, out m.userptr 56 POINTER_32,
    out length 64 UINT, out bytesused 8 UINT, out flags 12 SET, out timestamp 20 Structure(&TIME_32), out rest 80 Unsaid,
});
structure!(FRAMES 48 { field capability 0 BITS, field flags 4 BITS, field base 8 Address });

structure!(CAPTURED 200 {
    field capability 0 Flags(Four, &STREAMS), field capturemode 4 Flags(Four, &CAPTURE), field timeperframe 8 FRACTION,
    field extendedmode 16 BITS, field readbuffers 20 UINT,
});
structure!(PUT_OUT 200 {
    field capability 0 Flags(Four, &STREAMS), field outputmode 4 Flags(Four, &CAPTURE), field timeperframe 8 FRACTION,
    field extendedmode 16 BITS, field writebuffers 20 UINT,
});
const CAPTURING: ValueKind = Only(FieldCondition::Is(0, Four, &[1]), &Structure(&CAPTURED));
const PUTTING: ValueKind = Only(FieldCondition::Is(0, Four, &[2]), &Structure(&PUT_OUT));
structure!(STREAM 204 { field r#type 0 TYPE, field parm.capture 4 CAPTURING, field parm.output 4 PUTTING });
structure!(STREAM_ASKED 204 { field r#type 0 TYPE, out parm.capture 4 CAPTURING, out parm.output 4 PUTTING });
structure!(STREAM_OUT 204 { field parm.capture 4 CAPTURING, field parm.output 4 PUTTING });

structure!(STANDARD 72 {
    field index 0 UINT, out name 16 Characters(24), out frameperiod 40 FRACTION, out framelines 48 UINT,
});
structure!(INPUT_OF 80 { field index 0 UINT, out name 4 Characters(32), out r#type 36 One(Four, &INPUT),
    out audioset 40 BITS, out tuner 44 UINT, out std 48 Flags(Eight, &f::IOCTL_VIDEO_STANDARD),
    out status 56 Flags(Four, &f::IOCTL_VIDEO_INPUT_STATUS), out capabilities 60 Flags(Four, &f::IOCTL_VIDEO_INPUT_CAN),
});
structure!(VALUE_ASKED 8 { field id 0 CONTROL_OF, out value 4 INT });
structure!(VALUE 8 { field id 0 CONTROL_OF, changed value 4 INT });

macro_rules! tuners {
    ($name:ident $how:ident { $($first:ident $field:ident $at:literal $kind:expr)? }) => {
        structure!($name 84 {
            $($first $field $at $kind,)?
            $how name 4 Characters(32), $how r#type 36 One(Four, &TUNER), $how capability 40 Flags(Four, &TUNES),
            $how rangelow 44 UINT, $how rangehigh 48 UINT, $how rxsubchans 52 Flags(Four, &RECEIVED),
            $how audmode 56 One(Four, &AUDIO), $how signal 60 INT, $how afc 64 INT,
        });
    };
}
tuners!(TUNER_OF field { field index 0 UINT });
tuners!(TUNER_ASKED out { field index 0 UINT });
tuners!(TUNER_OUT field {});

structure!(CONTROL_ASKED 68 {
    changed id 0 Joined(Four, &NEXT_CONTROL), out r#type 4 One(Four, &CONTROLLED), out name 8 Characters(32),
    more_out minimum 40 INT, more_out maximum 44 INT, more_out step 48 INT, more_out default_value 52 INT,
    more_out flags 56 Flags(Four, &CONTROLS), more_set_out reserved 60 Array(&BITS, 2),
});
structure!(LONG_CONTROL_ASKED 232 {
    changed id 0 Joined(Four, &NEXT_CONTROL), out r#type 4 One(Four, &CONTROLLED), out name 8 Characters(32),
    more_out minimum 40 LONG, more_out maximum 48 LONG, more_out step 56 ULONG, more_out default_value 64 LONG,
    more_out flags 72 Flags(Four, &CONTROLS), more_out elem_size 76 UINT, more_out elems 80 UINT,
    more_out nr_of_dims 84 UINT, more_out dims 88 Counted(&UINT, LengthSource::Field(84, Four, 1), 4),
    more_set_out reserved 104 Array(&BITS, 32),
});
structure!(CROPPING 44 {
    field r#type 0 TYPE, out bounds 4 Structure(&RECTANGLE), out defrect 20 Structure(&RECTANGLE),
    out pixelaspect 36 FRACTION,
});
structure!(CROP 20 { field r#type 0 TYPE, field c 4 Structure(&RECTANGLE) });
structure!(CROP_ASKED 20 { field r#type 0 TYPE, out c 4 Structure(&RECTANGLE) });

macro_rules! controls {
    ($name:ident $way:ident) => {
        structure!($name 20 {
            field id 0 One(Four, &CONTROL), field size 4 UINT,
            field string 12 Only(FieldCondition::Not(4, Four, &[0]), &Bytes($way, LengthSource::Field(4, Four, 1))),
            field value 12 Only(FieldCondition::Is(4, Four, &[0]), &INT),
            field value64 12 Only(FieldCondition::Is(4, Four, &[0]), &LONG),
        });
    };
}
controls!(LONG_VALUE In);
controls!(LONG_VALUE_OUT Out);
const SOME: FieldCondition = FieldCondition::Not(4, Four, &[0]);
const LONG_VALUES: ValueKind = Only(
    SOME,
    &Many(In, &Structure(&LONG_VALUE), LengthSource::Field(4, Four, 1)),
);
const LONG_VALUES_OUT: ValueKind = Only(
    SOME,
    &Many(
        Out,
        &Structure(&LONG_VALUE_OUT),
        LengthSource::Field(4, Four, 1),
    ),
);
const WRONG: ValueKind = Only(SOME, &Only(FieldCondition::Failed, &UINT));
structure!(VALUES 32 { field ctrl_class 0 One(Four, &CLASS), field count 4 UINT, field controls 24 LONG_VALUES });
structure!(VALUES_OUT 32 { field controls 24 LONG_VALUES_OUT, field error_idx 8 WRONG });
structure!(VALUES_ASKED 32 {
    field ctrl_class 0 One(Four, &CLASS), field count 4 UINT, out controls 24 LONG_VALUES_OUT, out error_idx 8 WRONG,
});

structure!(SIZE 8 { field width 0 UINT, field height 4 UINT });
structure!(SIZE_STEPS 24 {
    field min_width 0 UINT, field max_width 4 UINT, field step_width 8 UINT, field min_height 12 UINT,
    field max_height 16 UINT, field step_height 20 UINT,
});
structure!(SIZE_ASKED 44 {
    field index 0 UINT, field pixel_format 4 PIXEL_FORMAT, out r#type 8 One(Four, &SIZES),
    out discrete 12 Only(FieldCondition::Is(8, Four, &[1]), &Structure(&SIZE)),
    out stepwise 12 Only(FieldCondition::Is(8, Four, &[3]), &Structure(&SIZE_STEPS)),
});
structure!(INTERVAL_STEPS 24 { field min 0 FRACTION, field max 8 FRACTION, field step 16 FRACTION });
structure!(INTERVAL_ASKED 52 {
    field index 0 UINT, field pixel_format 4 PIXEL_FORMAT, field width 8 UINT, field height 12 UINT,
    out r#type 16 One(Four, &INTERVALS),
    out discrete 20 Only(FieldCondition::Is(16, Four, &[1]), &FRACTION),
    out stepwise 20 Only(FieldCondition::Is(16, Four, &[2, 3]), &Structure(&INTERVAL_STEPS)),
});
structure!(EXPORTED 64 {
    field r#type 0 TYPE, field index 4 UINT, field plane 8 UINT, field flags 12 Special(S::OpenFlags),
});
structure!(EXPORTED_OUT 64 { field fd 16 Fd });
structure!(MENU 44 { field id 0 CONTROL_OF, field index 4 UINT });
structure!(MENU_OUT 44 { field name 8 Characters(32), field value 8 LONG });
structure!(CREATED 256 { field count 4 UINT, field memory 8 WHERE, field format 16 Structure(&FORMAT) });
structure!(CREATED_OUT 256 { field index 0 UINT, field count 4 UINT });

pub(super) static ARGUMENTS: Family = &[
    ("VIDIOC_QUERYCAP", pointer_out(&Structure(&CAPABILITY))),
    ("VIDIOC_ENUM_FMT", InOut(&FORMAT_OF)),
    ("VIDIOC_G_FMT", InOut(&FORMAT_ASKED)),
    (
        "VIDIOC_S_FMT VIDIOC_TRY_FMT",
        Exchange(&Structure(&FORMAT), &Structure(&FORMAT_OUT)),
    ),
    ("VIDIOC_REQBUFS", InOut(&BUFFERS)),
    ("VIDIOC_QUERYBUF VIDIOC_QBUF", InOut(&BUFFER_OF)),
    ("VIDIOC_DQBUF", InOut(&BUFFER_TAKEN)),
    (
        "VIDIOC_QUERYBUF_TIME32 VIDIOC_QBUF_TIME32",
        InOut(&BUFFER_OF_32),
    ),
    ("VIDIOC_DQBUF_TIME32", InOut(&BUFFER_TAKEN_32)),
    ("VIDIOC_G_FBUF", pointer_out(&Structure(&FRAMES))),
    ("VIDIOC_S_FBUF", pointer_in(&Structure(&FRAMES))),
    ("VIDIOC_STREAMON VIDIOC_STREAMOFF", pointer_in(&TYPE)),
    ("VIDIOC_G_PARM", InOut(&STREAM_ASKED)),
    (
        "VIDIOC_S_PARM",
        Exchange(&Structure(&STREAM), &Structure(&STREAM_OUT)),
    ),
    ("VIDIOC_G_STD", pointer_out(&LONG_BITS)),
    ("VIDIOC_S_STD", pointer_in(&LONG_BITS)),
    ("VIDIOC_ENUMSTD", InOut(&STANDARD)),
    ("VIDIOC_ENUMINPUT", InOut(&INPUT_OF)),
    ("VIDIOC_G_CTRL", InOut(&VALUE_ASKED)),
    ("VIDIOC_S_CTRL", InOut(&VALUE)),
    ("VIDIOC_G_TUNER", InOut(&TUNER_ASKED)),
    (
        "VIDIOC_S_TUNER",
        Exchange(&Structure(&TUNER_OF), &Structure(&TUNER_OUT)),
    ),
    ("VIDIOC_QUERYCTRL", InOut(&CONTROL_ASKED)),
    ("VIDIOC_QUERY_EXT_CTRL", InOut(&LONG_CONTROL_ASKED)),
    (
        "VIDIOC_QUERYMENU",
        Exchange(&Structure(&MENU), &Structure(&MENU_OUT)),
    ),
    (
        "VIDIOC_EXPBUF",
        Exchange(&Structure(&EXPORTED), &Structure(&EXPORTED_OUT)),
    ),
    ("VIDIOC_G_INPUT", UINT_OUT),
    ("VIDIOC_S_INPUT", UINT_IN),
    ("VIDIOC_CROPCAP", InOut(&CROPPING)),
    ("VIDIOC_G_CROP", InOut(&CROP_ASKED)),
    ("VIDIOC_S_CROP", pointer_in(&Structure(&CROP))),
    ("VIDIOC_G_EXT_CTRLS", Despite(&InOut(&VALUES_ASKED))),
    (
        "VIDIOC_S_EXT_CTRLS VIDIOC_TRY_EXT_CTRLS",
        Despite(&Exchange(&Structure(&VALUES), &Structure(&VALUES_OUT))),
    ),
    ("VIDIOC_ENUM_FRAMESIZES", InOut(&SIZE_ASKED)),
    ("VIDIOC_ENUM_FRAMEINTERVALS", InOut(&INTERVAL_ASKED)),
    ("VIDIOC_CREATE_BUFS", pointer_in(&Structure(&CREATED))),
];

pub(super) static RESULTS: Results = &[("VIDIOC_CREATE_BUFS", RequestResult::Behind(&CREATED_OUT))];
