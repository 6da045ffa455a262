//! Filters in the machine language of old (`struct sock_filter`), in the macros that they are written with, and programs in
//! the one that came after it.
//!
//! Jumps aren't followed.

use backsight_syscall_tables::sets::{
    FILTER_ANCILLARY as ANCILLARY, FILTER_EXTENDED_ARITHMETIC as EXTENDED_ARITHMETIC,
    FILTER_EXTENDED_CLASS as EXTENDED_CLASS, FILTER_EXTENDED_JUMP as EXTENDED_JUMP,
    FILTER_EXTENDED_MODE as EXTENDED_MODE, FILTER_EXTENDED_SIZE as EXTENDED_SIZE,
    FILTER_REGISTER as REGISTER,
};

use super::sink::{Bracket, ValueSink};
use super::{Walk, int_at, short_at};
use crate::format::{self, ConstantStyle, NamedNumber};
use crate::table::Names;
use crate::table::filter::{CLASS, SOURCE, parts};

/// Where what isn't in the packet itself is found.
const BESIDE: [(u32, &str); 3] = [
    (0xffff_f000, "SKF_AD_OFF"),
    (0xfff0_0000, "SKF_NET_OFF"),
    (0xffe0_0000, "SKF_LL_OFF"),
];

impl<'a, S: ValueSink> Walk<'a, S> {
    /// An instruction of the machine that came after that (`struct bpf_insn`).
    pub(super) fn instruction(&mut self, bytes: &[u8]) {
        let (code, registers) = (u64::from(bytes[0]), u64::from(bytes[1]));
        self.sink.begin(Bracket::Structure);
        self.sink.field(true, "code");
        self.sink
            .words(|out, constants, _| put_extended(out, constants, code));
        self.sink.field(false, "dst_reg");
        self.one(registers & 15, &REGISTER);
        self.sink.field(false, "src_reg");
        self.one(registers >> 4, &REGISTER);
        self.sink.field(false, "off");
        self.sink.signed(i64::from(short_at(bytes, 2) as i16));
        self.sink.field(false, "imm");
        self.sink.hex(u64::from(int_at(bytes, 4)));
        self.sink.end(Bracket::Structure);
    }

    /// An operation of a filter.
    pub(super) fn filter_operation(&mut self, bytes: &[u8]) {
        let (code, given) = (u64::from(short_at(bytes, 0)), int_at(bytes, 4));
        let (yes, no) = (u64::from(bytes[2]), u64::from(bytes[3]));
        self.sink.words(|out, constants, _| {
            let jumps = yes != 0 || no != 0;
            out.extend_from_slice(if jumps { b"BPF_JUMP(" } else { b"BPF_STMT(" });
            put_code(out, constants, code);
            out.extend_from_slice(b", ");
            if jumps {
                format::hex(out, u64::from(given));
                for place in [yes, no] {
                    out.extend_from_slice(b", ");
                    format::hex(out, place);
                }
            } else {
                put_given(out, constants, code, given);
            }
            out.push(b')');
        });
    }
}

fn put_part(out: &mut Vec<u8>, constants: ConstantStyle, value: u64, names: &'static Names) {
    format::constant(out, constants, NamedNumber::Hex(value), |out| {
        format::one(out, value, names)
    });
}

fn put_extended(out: &mut Vec<u8>, constants: ConstantStyle, code: u64) {
    let class = code & 7;
    put_part(out, constants, class, &EXTENDED_CLASS);
    let parts: &[(u64, &Names)] = match class {
        0..=3 => &[(0x18, &EXTENDED_SIZE), (0xe0, &EXTENDED_MODE)],
        4 | 7 => &[(8, &SOURCE), (0xf0, &EXTENDED_ARITHMETIC)],
        5 => &[(8, &SOURCE), (0xf0, &EXTENDED_JUMP)],
        _ => &[],
    };
    for (mask, names) in parts {
        out.push(b'|');
        put_part(out, constants, code & mask, names);
    }
    let rest = code & !7;
    if parts.is_empty() && rest != 0 {
        out.push(b'|');
        format::hex(out, rest);
        format::remark(out, EXTENDED_CLASS.unknown);
    }
}

fn put_code(out: &mut Vec<u8>, constants: ConstantStyle, code: u64) {
    let class = code & 7;
    put_part(out, constants, class, &CLASS);
    let mut rest = code & !7;
    for (mask, names) in parts(class) {
        out.push(b'|');
        put_part(out, constants, code & mask, names);
        rest &= !mask;
    }
    // What has a part for it is said there; the upper byte means nothing to the others.
    if rest != 0 && !matches!(class, 0 | 1 | 4 | 5) {
        out.push(b'|');
        format::hex(out, rest);
        format::remark(out, CLASS.unknown);
    }
}

/// What an operation is given: a place, where it loads from one.
fn put_given(out: &mut Vec<u8>, constants: ConstantStyle, code: u64, given: u32) {
    const LOADS: u64 = 0x20;
    let beside = BESIDE.iter().find(|(from, _)| given >= *from);
    let (Some((from, name)), true) = (beside, code & 0xe7 == LOADS) else {
        return format::hex(out, u64::from(given));
    };
    format::constant(out, constants, NamedNumber::Hex(u64::from(*from)), |out| {
        out.extend_from_slice(name.as_bytes())
    });
    out.push(b'+');
    let offset = u64::from(given - from);
    if *name == "SKF_AD_OFF" {
        put_part(out, constants, offset, &ANCILLARY);
    } else {
        format::unsigned(out, offset);
    }
}
