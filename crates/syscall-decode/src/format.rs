//! Numbers, names and quoted bytes, written to the end of a buffer without allocating.

mod date;
mod signal;

use backsight_syscall_tables::{Names, sets as flags};

use crate::errno;
pub use date::{has_words, moment};
pub use signal::{signal_name, signal_set};

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// How numbers are shown that have names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ConstantStyle {
    /// `O_RDONLY|O_CLOEXEC`
    #[default]
    Names,
    /// `0x80000`
    Numbers,
    /// `0x80000 /* O_RDONLY|O_CLOEXEC */`
    Both,
}

/// The number that something with a name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedNumber {
    /// Bits, and most values.
    Hex(u64),
    /// A number with a sign: of a signal, of a descriptor.
    Signed(i64),
    /// A number without: what is counted, a time.
    Unsigned(u64),
    /// Permissions.
    Octal(u64),
    /// Bits whose number stands before what is said of them also where none of them has a name.
    HexAlways(u64),
}

/// A number in decimal.
pub fn unsigned(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// A universal identifier, from its sixteen bytes.
pub fn uuid(out: &mut Vec<u8>, bytes: &[u8]) {
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        out.extend_from_slice(format!("{byte:02x}").as_bytes());
    }
}

/// A number in decimal with its sign.
pub fn signed(out: &mut Vec<u8>, value: i64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// A number in decimal, with zeros before it up to this width.
pub fn padded(out: &mut Vec<u8>, value: u64, width: usize) {
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(value).as_bytes();
    out.extend(std::iter::repeat_n(
        b'0',
        width.saturating_sub(digits.len()),
    ));
    out.extend_from_slice(digits);
}

/// Hexadecimal digits.
pub fn hex_digits(out: &mut Vec<u8>, value: u64) {
    let digits = (16 - value.leading_zeros() as usize / 4).max(1);
    for place in (0..digits).rev() {
        out.push(DIGITS[(value >> (4 * place)) as usize & 15]);
    }
}

/// A number in hexadecimal with its prefix; nothing but `0` for zero.
pub fn hex(out: &mut Vec<u8>, value: u64) {
    if value != 0 {
        out.extend_from_slice(b"0x");
    }
    hex_digits(out, value);
}

/// A number in octal with its prefix; nothing but `0` for zero.
pub fn octal(out: &mut Vec<u8>, value: u64) {
    if value != 0 {
        out.push(b'0');
    }
    octal_digits(out, value, 1);
}

fn octal_digits(out: &mut Vec<u8>, value: u64, least: u32) {
    let digits = (64 - value.leading_zeros()).div_ceil(3).max(least);
    for place in (0..digits).rev() {
        out.push(b'0' + ((value >> (3 * place)) & 7) as u8);
    }
}

/// Permissions: octal of at least three digits, with the prefix beside them.
pub fn permissions(out: &mut Vec<u8>, value: u64) {
    if value >= 0o100 {
        out.push(b'0');
    }
    octal_digits(out, value, 3);
}

/// A file's type by name and its permissions.
pub fn file_mode(out: &mut Vec<u8>, mode: u32) {
    let name: &[u8] = match mode & 0o170_000 {
        0o140_000 => b"S_IFSOCK",
        0o120_000 => b"S_IFLNK",
        0o100_000 => b"S_IFREG",
        0o060_000 => b"S_IFBLK",
        0o040_000 => b"S_IFDIR",
        0o020_000 => b"S_IFCHR",
        0o010_000 => b"S_IFIFO",
        0 => b"",
        _ => {
            permissions(out, u64::from(mode));
            return;
        }
    };
    let start = out.len();
    let word = |out: &mut Vec<u8>, name: &[u8]| {
        if out.len() > start {
            out.push(b'|');
        }
        out.extend_from_slice(name);
    };
    word(out, name);
    for (bit, name) in [
        (0o4000, b"S_ISUID"),
        (0o2000, b"S_ISGID"),
        (0o1000, b"S_ISVTX"),
    ] {
        if mode & bit != 0 {
            word(out, name);
        }
    }
    word(out, b"");
    permissions(out, u64::from(mode & 0o777));
}

/// Bits by their names, what has none in hexadecimal; where nothing has a name, with a remark of what names there are.
pub fn flags(out: &mut Vec<u8>, value: u64, names: &Names) {
    if value == 0 {
        out.extend_from_slice(names.zero.as_bytes());
        return;
    }
    let rest = named_bits(out, value, names, b"");
    if rest == value {
        hex(out, value);
        remark(out, names.unknown);
    } else if rest != 0 {
        out.push(b'|');
        hex(out, rest);
    }
}

/// Bits that stand beside something else: what has no name in hexadecimal, without a remark.
pub fn some_flags(out: &mut Vec<u8>, value: u64, names: &Names) {
    let rest = named_bits(out, value, names, b"");
    if rest == value {
        hex(out, rest);
    } else if rest != 0 {
        out.push(b'|');
        hex(out, rest);
    }
}

/// Writes the names, what stands before the first of them given; what is left has no name.
pub fn named_bits(out: &mut Vec<u8>, value: u64, names: &Names, before: &[u8]) -> u64 {
    let mut rest = value;
    let mut separator = before;
    for (name, bits) in names.list {
        if *bits != 0 && rest & bits == *bits {
            out.extend_from_slice(separator);
            out.extend_from_slice(name.as_bytes());
            separator = b"|";
            rest &= !bits;
            if rest == 0 {
                break;
            }
        }
    }
    rest
}

/// A constant as a name, as a number, or as both.
pub fn constant(
    out: &mut Vec<u8>,
    shown: ConstantStyle,
    number: NamedNumber,
    write: impl FnOnce(&mut Vec<u8>),
) {
    if shown == ConstantStyle::Names {
        write(out);
        return;
    }
    let start = out.len();
    match number {
        NamedNumber::Hex(value) | NamedNumber::HexAlways(value) => hex(out, value),
        NamedNumber::Signed(value) => signed(out, value),
        NamedNumber::Unsigned(value) => unsigned(out, value),
        NamedNumber::Octal(value) => octal(out, value),
    }
    if shown == ConstantStyle::Numbers {
        return;
    }
    out.extend_from_slice(b" /* ");
    let named = out.len();
    write(out);
    // What has no name at all says its number itself.
    if !matches!(number, NamedNumber::HexAlways(1..)) && !is_name(&out[named..]) {
        out.drain(start..named);
        if out.len() == start {
            hex(out, 0);
        }
    } else {
        out.extend_from_slice(b" */");
    }
}

/// A value by its name, else in hexadecimal with a remark of what names there are.
pub fn one(out: &mut Vec<u8>, value: u64, names: &Names) {
    match names.name(value) {
        Some(name) => out.extend_from_slice(name.as_bytes()),
        None => {
            hex(out, value);
            remark(out, names.unknown);
        }
    }
}

/// A remark as in C.
pub fn remark(out: &mut Vec<u8>, text: &str) {
    if text.is_empty() {
        return;
    }
    out.extend_from_slice(b" /* ");
    out.extend_from_slice(text.as_bytes());
    out.extend_from_slice(b" */");
}

/// The flags of `open`.
pub fn open_flags(out: &mut Vec<u8>, value: u64, arm: bool) {
    let names = if arm { &flags::OPEN_ARM } else { &flags::OPEN };
    one(out, value & 3, &flags::ACCESS_MODE);
    let rest = value & !3;
    if rest == 0 {
        return;
    }
    out.push(b'|');
    let left = named_bits(out, rest, names, b"");
    if left == rest {
        hex(out, rest);
    } else if left != 0 {
        out.push(b'|');
        hex(out, left);
    }
}

/// Which bytes are shown as `\x…`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EscapeStyle {
    /// None: what can't be shown is shown in octal.
    #[default]
    Octal,
    /// Those that can't be shown.
    HexAlone,
    /// All of a string in which one can't be shown.
    HexWhereNeeded,
    /// All.
    Hex,
}

/// Whether this is a name, or bits some of which have one: a bit's place too, `1<<TCP_LISTEN`, an error's with a sign,
/// `-EACCES`, and a product, but no number.
fn is_name(text: &[u8]) -> bool {
    match text {
        [b'-', rest @ ..] => is_name(rest),
        [b'0'..=b'9', ..] => {
            let has = |byte: u8| text.contains(&byte);
            // In a remark it says nothing.
            let said = text.split(|byte| *byte == b'/').next().unwrap_or(text);
            text.ends_with(b"*1024") || said.contains(&b'<') || has(b'|') && !has(b'*')
        }
        _ => !text.is_empty(),
    }
}

/// Bytes in quotes.
pub fn quoted(out: &mut Vec<u8>, bytes: &[u8], escapes: EscapeStyle) {
    out.push(b'"');
    escaped(out, bytes, escapes, b"\"\\");
    out.push(b'"');
}

/// Bytes with escapes for what can't be shown and for what is special where they stand.
pub fn escaped(out: &mut Vec<u8>, bytes: &[u8], escapes: EscapeStyle, special: &[u8]) {
    let all = match escapes {
        EscapeStyle::Octal | EscapeStyle::HexAlone => false,
        EscapeStyle::Hex => true,
        EscapeStyle::HexWhereNeeded => bytes.iter().any(|byte| !shown(*byte)),
    };
    if all {
        for byte in bytes {
            hex_escape(out, *byte);
        }
        return;
    }
    for (index, byte) in bytes.iter().enumerate() {
        match byte {
            b'"' | b'\\' if special.contains(byte) => out.extend_from_slice(&[b'\\', *byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\r' => out.extend_from_slice(b"\\r"),
            0x0b => out.extend_from_slice(b"\\v"),
            0x0c => out.extend_from_slice(b"\\f"),
            b' '..=b'~' if !special.contains(byte) => out.push(*byte),
            _ if escapes == EscapeStyle::HexAlone => hex_escape(out, *byte),
            _ => octal_escape(
                out,
                *byte,
                bytes
                    .get(index + 1)
                    .is_some_and(|next| (b'0'..=b'7').contains(next)),
            ),
        }
    }
}

/// Bytes that don't force a string to be shown in hexadecimal.
fn shown(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\n' | b'\t' | b'\r' | 0x0b | 0x0c)
}

fn hex_escape(out: &mut Vec<u8>, byte: u8) {
    let (high, low) = (usize::from(byte >> 4), usize::from(byte & 15));
    out.extend_from_slice(&[b'\\', b'x', DIGITS[high], DIGITS[low]]);
}

fn octal_escape(out: &mut Vec<u8>, byte: u8, digit_follows: bool) {
    out.push(b'\\');
    let least = if digit_follows { 3 } else { 1 };
    octal_digits(out, u64::from(byte), least);
}

/// Hexadecimal digits with zeros before them up to this width.
pub fn hex_padded(out: &mut Vec<u8>, value: u64, width: usize) {
    let digits = (16 - value.leading_zeros() as usize / 4).max(1);
    out.extend(std::iter::repeat_n(b'0', width.saturating_sub(digits)));
    hex_digits(out, value);
}

/// The name of an error; the number where it has none.
pub fn error_name(out: &mut Vec<u8>, number: i64) {
    let name = errno::error_by_number(number).map(|(name, _)| name);
    match name.or_else(|| errno::kernel_error_by_number(number)) {
        Some(name) => out.extend_from_slice(name.as_bytes()),
        None => signed(out, number),
    }
}

/// Writes an execution domain.
pub fn persona(out: &mut Vec<u8>, raw: u64, constants: ConstantStyle) {
    let (domain, bits) = (raw & 0xff, raw & !0xff);
    constant(out, constants, NamedNumber::Hex(domain), |out| {
        one(out, domain, &flags::PERSONA);
    });
    if bits != 0 {
        out.push(b'|');
        constant(out, constants, NamedNumber::Hex(bits), |out| {
            some_flags(out, bits, &flags::PERSONA_FLAGS);
        });
    }
}

/// Writes a priority of input and output.
pub fn io_priority(out: &mut Vec<u8>, value: i32, constants: ConstantStyle) {
    let class = u64::from(value as u32 >> 13);
    out.extend_from_slice(b"IOPRIO_PRIO_VALUE(");
    constant(out, constants, NamedNumber::Hex(class), |out| {
        one(out, class, &flags::INPUT_CLASS);
    });
    out.extend_from_slice(b", ");
    unsigned(out, u64::from(value as u32 & 0x1fff));
    out.push(b')');
}
