//! The names of the keys of a console: a kind in the upper byte, which key of that in the lower.

use backsight_syscall_tables::sets::{IOCTL_KEYS_KEYS as KEYS, IOCTL_KEYS_KINDS as KINDS};

use super::*;

/// Kinds whose keys are letters.
const LATIN: u64 = 0;
const META: u64 = 8;
const LETTER: u64 = 11;
const DEAD: u64 = 13;
/// The kind of those that say a text.
const STRING: u64 = 1;

/// A letter between quotes.
pub static LETTERS: CustomFormat = CustomFormat {
    write: put_letter,
    number: UnnamedStyle::Words,
};

fn put_letter(out: &mut Vec<u8>, value: u64) {
    const SPACES: [u8; 5] = *b"tnvfr";
    let letter = value as u8;
    out.push(b'\'');
    match letter {
        b'\'' | b'\\' => out.extend_from_slice(&[b'\\', letter]),
        b'\t'..=b'\r' => out.extend_from_slice(&[b'\\', SPACES[usize::from(letter - b'\t')]]),
        b' '..=b'~' => out.push(letter),
        _ => out.extend_from_slice(format!("\\x{letter:02x}").as_bytes()),
    }
    out.push(b'\'');
}

/// A key, beside its number.
pub static KEY: CustomFormat = CustomFormat {
    write: put_key,
    number: UnnamedStyle::HexBeside,
};

fn put_key(out: &mut Vec<u8>, value: u64) {
    if let Some(name) = KEYS.name(value) {
        out.extend_from_slice(name.as_bytes());
        return;
    }
    let (kind, key) = (value >> 8, value & 0xff);
    out.extend_from_slice(b"K(");
    match KINDS.name(kind) {
        Some(name) => out.extend_from_slice(name.as_bytes()),
        None => format::hex(out, kind),
    }
    out.extend_from_slice(b", ");
    match kind {
        LATIN | META | LETTER | DEAD => put_letter(out, key),
        _ => format::hex(out, key),
    }
    out.push(b')');
}

/// A key that says a text.
pub static STRING_KEY: CustomFormat = CustomFormat {
    write: |out, value| {
        out.extend_from_slice(b"KVAL(");
        let name = KEYS.name(STRING << 8 | value).unwrap_or("K_???");
        out.extend_from_slice(name.as_bytes());
        out.push(b')');
    },
    number: UnnamedStyle::Hex,
};
