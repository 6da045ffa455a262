//! Instructions of filters in the machine language of old, and of those that decide about system calls.

pub(super) use backsight_syscall_tables::sets::FILTER_VERDICT as VERDICT;
pub(crate) use backsight_syscall_tables::sets::{FILTER_CLASS as CLASS, FILTER_SOURCE as SOURCE};
use backsight_syscall_tables::sets::{
    FILTER_JUMP as JUMP, FILTER_MODE as MODE, FILTER_OPERATION as OPERATION, FILTER_OTHER as OTHER,
    FILTER_RETURNED as RETURNED, FILTER_SIZE_OF as SIZE_OF,
};

use super::*;
use crate::format;
use crate::table::kind::{CustomFormat, Names, UnnamedStyle};
use crate::table::structure::{field, structure};

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

static INSTRUCTION: CustomFormat = CustomFormat {
    write: |out, value| {
        let (code, operand) = (value & 0xffff, value >> 32);
        let (taken, otherwise) = (value >> 16 & 0xff, value >> 24 & 0xff);
        let jumps = taken != 0 || otherwise != 0;
        out.extend_from_slice(if jumps { b"BPF_JUMP(" } else { b"BPF_STMT(" });
        let class = code & 7;
        format::one(out, class, &CLASS);
        let mut rest = code & !7;
        for (mask, names) in parts(class) {
            out.push(b'|');
            format::one(out, code & mask, names);
            rest &= !mask;
        }
        if rest != 0 {
            out.push(b'|');
            format::hex(out, rest);
            format::remark(out, "BPF_???");
        }
        out.extend_from_slice(b", ");
        if class == RETURN && code & 0x18 == 0 {
            put_verdict(out, operand);
        } else {
            format::hex(out, operand);
        }
        if jumps {
            for where_to in [taken, otherwise] {
                out.extend_from_slice(b", ");
                format::hex(out, where_to);
            }
        }
        out.push(b')');
    },
    number: UnnamedStyle::Words,
};

fn put_verdict(out: &mut Vec<u8>, operand: u64) {
    const ACTION: u64 = 0xffff_0000;
    match VERDICT.name(operand & ACTION) {
        Some(name) => {
            out.extend_from_slice(name.as_bytes());
            if operand & !ACTION != 0 {
                out.push(b'|');
                format::hex(out, operand & !ACTION);
            }
        }
        None => format::one(out, operand, &VERDICT),
    }
}

/// One of its operations.
pub(super) const OPERATION_OF: ValueKind = Worded(Eight, &INSTRUCTION);

structure!(PROGRAM_OF 16 {
    field len 0 Unsigned(Two),
    field filter 8 Verbose(&Many(In, &OPERATION_OF, LengthSource::Field(0, Two, 1))),
});

/// A filter that is handed to the kernel.
pub(super) const PROGRAM: ValueKind = To(In, &Structure(&PROGRAM_OF));
