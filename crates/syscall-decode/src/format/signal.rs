//! Names of signals, and of sets of them.

use super::{ConstantStyle, NamedNumber};

/// The names of signals without `SIG`, by number; real-time signals are numbered.
const NAMES: [&str; 32] = [
    "0", "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
    "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG",
    "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
];

/// Writes the name of a signal: `SIGINT`, `SIGRT_3`; the number where it has no name.
pub fn signal_name(out: &mut Vec<u8>, number: i32) {
    match number {
        1..=64 => {
            out.extend_from_slice(b"SIG");
            short(out, number);
        }
        _ => super::signed(out, i64::from(number)),
    }
}

fn short(out: &mut Vec<u8>, number: i32) {
    match number {
        1..=31 => out.extend_from_slice(NAMES[number as usize].as_bytes()),
        32 => out.extend_from_slice(b"RTMIN"),
        _ => {
            out.extend_from_slice(b"RT_");
            super::signed(out, i64::from(number - 32));
        }
    }
}

/// Writes a set of signals; what is not in it where more are in it than not.
pub fn signal_set(out: &mut Vec<u8>, constants: ConstantStyle, bits: u64) {
    let mut shown = bits;
    if bits.count_ones() >= 64 * 2 / 3 {
        out.push(b'~');
        shown = !bits;
    }
    out.push(b'[');
    let mut first = true;
    for number in 1..=64 {
        if shown & (1 << (number - 1)) != 0 {
            if !first {
                out.push(b' ');
            }
            first = false;
            super::constant(
                out,
                constants,
                NamedNumber::Signed(i64::from(number)),
                |out| short(out, number),
            );
        }
    }
    out.push(b']');
}
