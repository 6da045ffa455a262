//! Instructions of filters in the machine language of old, and of those that decide about system calls.

use super::*;
use crate::table::kind::{Bare, Names, Wording, names};
use crate::table::structure::{field, structure};
use crate::text::put;

names!(pub(crate) CLASS "BPF_???" "" {
    "BPF_LD" = 0, "BPF_LDX" = 1, "BPF_ST" = 2, "BPF_STX" = 3, "BPF_ALU" = 4, "BPF_JMP" = 5, "BPF_RET" = 6, "BPF_MISC" = 7,
});
names!(SIZE_OF "BPF_???" "" { "BPF_W" = 0, "BPF_H" = 8, "BPF_B" = 0x10 });
names!(MODE "BPF_???" "" {
    "BPF_IMM" = 0, "BPF_ABS" = 0x20, "BPF_IND" = 0x40, "BPF_MEM" = 0x60, "BPF_LEN" = 0x80, "BPF_MSH" = 0xa0,
});
names!(OPERATION "BPF_???" "" {
    "BPF_ADD" = 0, "BPF_SUB" = 0x10, "BPF_MUL" = 0x20, "BPF_DIV" = 0x30, "BPF_OR" = 0x40, "BPF_AND" = 0x50,
    "BPF_LSH" = 0x60, "BPF_RSH" = 0x70, "BPF_NEG" = 0x80, "BPF_MOD" = 0x90, "BPF_XOR" = 0xa0,
});
names!(JUMP "BPF_???" "" {
    "BPF_JA" = 0, "BPF_JEQ" = 0x10, "BPF_JGT" = 0x20, "BPF_JGE" = 0x30, "BPF_JSET" = 0x40,
});
names!(pub(crate) SOURCE "BPF_???" "" { "BPF_K" = 0, "BPF_X" = 8 });
names!(RETURNED "BPF_???" "" { "BPF_K" = 0, "BPF_X" = 8, "BPF_A" = 0x10 });
names!(OTHER "BPF_???" "" { "BPF_TAX" = 0, "BPF_TXA" = 0x80 });
names!(pub(super) VERDICT "SECCOMP_RET_???" "" {
    "SECCOMP_RET_KILL_PROCESS" = 0x8000_0000, "SECCOMP_RET_KILL_THREAD" = 0, "SECCOMP_RET_TRAP" = 0x0003_0000,
    "SECCOMP_RET_ERRNO" = 0x0005_0000, "SECCOMP_RET_USER_NOTIF" = 0x7fc0_0000, "SECCOMP_RET_TRACE" = 0x7ff0_0000,
    "SECCOMP_RET_LOG" = 0x7ffc_0000, "SECCOMP_RET_ALLOW" = 0x7fff_0000,
});

const LOAD: u64 = 0;
const LOAD_INDEX: u64 = 1;
const ARITHMETIC: u64 = 4;
const JUMPS: u64 = 5;
const RETURN: u64 = 6;
const MISCELLANEOUS: u64 = 7;

/// Some of an instruction's bits, and their names.
pub(crate) type Bits = (u64, &'static Names);
const LOADED: &[Bits] = &[(0x18, &SIZE_OF), (0xe0, &MODE)];
const COMPUTED: &[Bits] = &[(8, &SOURCE), (0xf0, &OPERATION)];
const COMPARED: &[Bits] = &[(8, &SOURCE), (0xf0, &JUMP)];
const DECIDED: &[Bits] = &[(0x18, &RETURNED)];
const MOVED: &[Bits] = &[(0xf8, &OTHER)];

/// The parts of an instruction's code by its class.
pub(crate) fn parts(class: u64) -> &'static [Bits] {
    match class {
        LOAD | LOAD_INDEX => LOADED,
        ARITHMETIC => COMPUTED,
        JUMPS => COMPARED,
        RETURN => DECIDED,
        MISCELLANEOUS => MOVED,
        _ => &[],
    }
}

static INSTRUCTION: Wording = Wording {
    put: |out, value| {
        let (code, operand) = (value & 0xffff, value >> 32);
        let (taken, otherwise) = (value >> 16 & 0xff, value >> 24 & 0xff);
        let jumps = taken != 0 || otherwise != 0;
        out.extend_from_slice(if jumps { b"BPF_JUMP(" } else { b"BPF_STMT(" });
        let class = code & 7;
        put::one(out, class, &CLASS);
        let mut rest = code & !7;
        for (mask, names) in parts(class) {
            out.push(b'|');
            put::one(out, code & mask, names);
            rest &= !mask;
        }
        if rest != 0 {
            out.push(b'|');
            put::hex(out, rest);
            put::remark(out, "BPF_???");
        }
        out.extend_from_slice(b", ");
        if class == RETURN && code & 0x18 == 0 {
            put_verdict(out, operand);
        } else {
            put::hex(out, operand);
        }
        if jumps {
            for where_to in [taken, otherwise] {
                out.extend_from_slice(b", ");
                put::hex(out, where_to);
            }
        }
        out.push(b')');
    },
    number: Bare::Words,
};

fn put_verdict(out: &mut Vec<u8>, operand: u64) {
    const ACTION: u64 = 0xffff_0000;
    match VERDICT.name(operand & ACTION) {
        Some(name) => {
            out.extend_from_slice(name.as_bytes());
            if operand & !ACTION != 0 {
                out.push(b'|');
                put::hex(out, operand & !ACTION);
            }
        }
        None => put::one(out, operand, &VERDICT),
    }
}

/// One of its operations.
pub(super) const OPERATION_OF: Kind = Worded(Eight, &INSTRUCTION);

structure!(PROGRAM_OF 16 {
    field len 0 Unsigned(Two),
    field filter 8 Verbose(&Many(In, &OPERATION_OF, Length::Field(0, Two, 1))),
});

/// A filter that is handed to the kernel.
pub(super) const PROGRAM: Kind = To(In, &Structure(&PROGRAM_OF));
