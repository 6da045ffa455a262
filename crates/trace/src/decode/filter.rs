//! Filters in the machine language of old (`struct sock_filter`), in the macros that they are written with, and programs in
//! the one that came after it.
//!
//! Refuses: to follow their jumps.

use super::sink::{Bracket, Number, Sink};
use super::{Walk, int_at, short_at};
use crate::table::Names;
use crate::table::filter::{CLASS, SOURCE, parts};
use crate::table::kind::names;
use crate::text::{Constants, put};

names!(ANCILLARY "SKF_AD_???" "SKF_AD_PROTOCOL" {
    "SKF_AD_PROTOCOL" = 0, "SKF_AD_PKTTYPE" = 4, "SKF_AD_IFINDEX" = 8, "SKF_AD_NLATTR" = 12, "SKF_AD_NLATTR_NEST" = 16,
    "SKF_AD_MARK" = 20, "SKF_AD_QUEUE" = 24, "SKF_AD_HATYPE" = 28, "SKF_AD_RXHASH" = 32, "SKF_AD_CPU" = 36,
    "SKF_AD_ALU_XOR_X" = 40, "SKF_AD_VLAN_TAG" = 44, "SKF_AD_VLAN_TAG_PRESENT" = 48, "SKF_AD_PAY_OFFSET" = 52,
    "SKF_AD_RANDOM" = 56, "SKF_AD_VLAN_TPID" = 60,
});

/// Where what isn't in the packet itself is found.
const BESIDE: [(u32, &str); 3] = [
    (0xffff_f000, "SKF_AD_OFF"),
    (0xfff0_0000, "SKF_NET_OFF"),
    (0xffe0_0000, "SKF_LL_OFF"),
];

names!(EXTENDED_CLASS "BPF_???" "BPF_LD" {
    "BPF_LD" = 0, "BPF_LDX" = 1, "BPF_ST" = 2, "BPF_STX" = 3, "BPF_ALU" = 4, "BPF_JMP" = 5, "BPF_JMP32" = 6,
    "BPF_ALU64" = 7,
});
names!(EXTENDED_SIZE "BPF_???" "BPF_W" { "BPF_W" = 0, "BPF_H" = 8, "BPF_B" = 0x10, "BPF_DW" = 0x18 });
names!(EXTENDED_MODE "BPF_???" "BPF_IMM" {
    "BPF_IMM" = 0, "BPF_ABS" = 0x20, "BPF_IND" = 0x40, "BPF_MEM" = 0x60, "BPF_XADD" = 0xc0,
});
names!(EXTENDED_ARITHMETIC "BPF_???" "BPF_ADD" {
    "BPF_ADD" = 0, "BPF_SUB" = 0x10, "BPF_MUL" = 0x20, "BPF_DIV" = 0x30, "BPF_OR" = 0x40, "BPF_AND" = 0x50,
    "BPF_LSH" = 0x60, "BPF_RSH" = 0x70, "BPF_NEG" = 0x80, "BPF_MOD" = 0x90, "BPF_XOR" = 0xa0, "BPF_MOV" = 0xb0,
    "BPF_ARSH" = 0xc0, "BPF_END" = 0xd0,
});
names!(EXTENDED_JUMP "BPF_???" "BPF_JA" {
    "BPF_JA" = 0, "BPF_JEQ" = 0x10, "BPF_JGT" = 0x20, "BPF_JGE" = 0x30, "BPF_JSET" = 0x40, "BPF_JNE" = 0x50,
    "BPF_JSGT" = 0x60, "BPF_JSGE" = 0x70, "BPF_CALL" = 0x80, "BPF_EXIT" = 0x90, "BPF_JLT" = 0xa0, "BPF_JLE" = 0xb0,
    "BPF_JSLT" = 0xc0, "BPF_JSLE" = 0xd0,
});
names!(REGISTER "BPF_REG_???" "BPF_REG_0" {
    "BPF_REG_0" = 0, "BPF_REG_1" = 1, "BPF_REG_2" = 2, "BPF_REG_3" = 3, "BPF_REG_4" = 4, "BPF_REG_5" = 5, "BPF_REG_6" = 6,
    "BPF_REG_7" = 7, "BPF_REG_8" = 8, "BPF_REG_9" = 9, "BPF_REG_10" = 10,
});

impl<'a, S: Sink> Walk<'a, S> {
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
                put::hex(out, u64::from(given));
                for place in [yes, no] {
                    out.extend_from_slice(b", ");
                    put::hex(out, place);
                }
            } else {
                put_given(out, constants, code, given);
            }
            out.push(b')');
        });
    }
}

fn put_part(out: &mut Vec<u8>, constants: Constants, value: u64, names: &'static Names) {
    put::constant(out, constants, Number::Hex(value), |out| {
        put::one(out, value, names)
    });
}

fn put_extended(out: &mut Vec<u8>, constants: Constants, code: u64) {
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
        put::hex(out, rest);
        put::remark(out, EXTENDED_CLASS.unknown);
    }
}

fn put_code(out: &mut Vec<u8>, constants: Constants, code: u64) {
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
        put::hex(out, rest);
        put::remark(out, CLASS.unknown);
    }
}

/// What an operation is given: a place, where it loads from one.
fn put_given(out: &mut Vec<u8>, constants: Constants, code: u64, given: u32) {
    const LOADS: u64 = 0x20;
    let beside = BESIDE.iter().find(|(from, _)| given >= *from);
    let (Some((from, name)), true) = (beside, code & 0xe7 == LOADS) else {
        return put::hex(out, u64::from(given));
    };
    put::constant(out, constants, Number::Hex(u64::from(*from)), |out| {
        out.extend_from_slice(name.as_bytes())
    });
    out.push(b'+');
    let offset = u64::from(given - from);
    if *name == "SKF_AD_OFF" {
        put_part(out, constants, offset, &ANCILLARY);
    } else {
        put::unsigned(out, offset);
    }
}
