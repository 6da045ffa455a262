//! Parts of a line that need no captured memory: a call's name, its number, its place in the program.

use crate::table::{SyscallDefinition, ValueKind};
use crate::{EventKind, SyscallRecord, format};

/// The result of a call that is to be taken up again by another: `ERESTART_RESTARTBLOCK`.
pub(super) const TAKE_UP: i64 = -516;

/// Whether a call takes up another where that was interrupted.
pub(super) fn takes_up(row: &SyscallDefinition) -> bool {
    row.arguments.is_empty() && row.name == "restart_syscall"
}

/// Writes the number of the call that a line is about, or that its thread made last.
pub(super) fn put_number(number: Option<u64>, out: &mut Vec<u8>) {
    let Some(number) = number else {
        out.extend_from_slice(b"[????] ");
        return;
    };
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(number).as_bytes();
    out.push(b'[');
    out.extend(std::iter::repeat_n(
        b' ',
        4_usize.saturating_sub(digits.len()),
    ));
    out.extend_from_slice(digits);
    out.extend_from_slice(b"] ");
}

/// Writes where in the program it was that a line is about.
pub(super) fn place_of(what: &EventKind, out: &mut Vec<u8>) {
    let known = match what {
        EventKind::Call(call) | EventKind::Pending(call) => call.instruction,
        EventKind::Signal { instruction, .. } => *instruction,
        _ => None,
    };
    let place = known.map_or("?".repeat(16), |place| format!("{place:016x}"));
    out.extend_from_slice(format!("[{place}] ").as_bytes());
}

/// Where the last line begins, at or behind a place.
pub(super) fn line_start(out: &[u8], from: usize) -> usize {
    out[from..]
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(from, |at| from + at + 1)
}

pub(super) fn put_name(out: &mut Vec<u8>, call: &SyscallRecord, row: Option<&SyscallDefinition>) {
    match row {
        Some(row) => out.extend_from_slice(row.name.as_bytes()),
        None => {
            out.extend_from_slice(b"syscall_");
            format::hex(out, call.number);
        }
    }
}

pub(super) fn put_unknown(out: &mut Vec<u8>, call: &SyscallRecord) {
    put_numbers(out, &call.arguments, false);
}

/// How many arguments a call has where they are shown as numbers: one that is never used isn't counted.
pub(super) fn raw_arguments(row: &SyscallDefinition) -> usize {
    match row.kinds {
        _ if row.stacked => 0,
        [_, _, _, _, ValueKind::Hidden, _] if row.arguments.len() == 5 => 4,
        _ => row.arguments.len().min(6),
    }
}

/// Writes arguments as numbers, each by the name of its place where names are asked for.
pub(super) fn put_numbers(out: &mut Vec<u8>, numbers: &[u64], with_names: bool) {
    for (index, argument) in numbers.iter().enumerate() {
        if index > 0 {
            out.extend_from_slice(b", ");
        }
        if with_names {
            out.extend_from_slice(b"arg");
            format::unsigned(out, index as u64 + 1);
            out.push(b'=');
        }
        format::hex(out, *argument);
    }
}
