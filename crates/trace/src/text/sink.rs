//! What is found on a walk as strace's text.

use super::Constants;
use super::put::{self, Escapes};
use crate::Call;
use crate::decode::{Bracket, Described, Descriptors, Number, Sink};

/// Writes text to the end of a buffer.
pub(super) struct TextSink<'o, 'd> {
    pub out: &'o mut Vec<u8>,
    escapes: Escapes,
    constants: Constants,
    descriptors: Option<&'o mut (dyn Descriptors + 'd)>,
    pid: i32,
    beside: bool,
}

impl<'o, 'd> TextSink<'o, 'd> {
    pub fn new(
        out: &'o mut Vec<u8>,
        (escapes, constants): (Escapes, Constants),
        descriptors: Option<&'o mut (dyn Descriptors + 'd)>,
        pid: i32,
    ) -> Self {
        TextSink {
            out,
            escapes,
            constants,
            descriptors,
            pid,
            beside: false,
        }
    }

    fn separate(&mut self, first: bool) {
        if !first {
            self.out.extend_from_slice(b", ");
        }
    }

    /// Writes what a descriptor is behind its number.
    pub fn describe(&mut self, fd: i32, call: &Call) {
        let Some(descriptors) = &mut self.descriptors else {
            return;
        };
        let Described { path: what, detail } = descriptors.describe(self.pid, fd, call);
        if !(what.is_empty() && detail.is_empty()) {
            // What the kernel adds to the path of a file that is gone.
            let path = what.strip_suffix(b" (deleted)");
            self.out.push(b'<');
            put::escaped(self.out, path.unwrap_or(&what), self.escapes, b"<>\"\\");
            self.out.extend_from_slice(&detail);
            self.out.push(b'>');
            if path.is_some() {
                self.out.extend_from_slice(b"(deleted)");
            }
        }
    }
}

impl Sink for TextSink<'_, '_> {
    fn signed(&mut self, value: i64) {
        put::signed(self.out, value);
    }

    fn unsigned(&mut self, value: u64) {
        put::unsigned(self.out, value);
    }

    fn hex(&mut self, value: u64) {
        put::hex(self.out, value);
    }

    fn address(&mut self, value: u64) {
        put::hex(self.out, value);
    }

    fn null(&mut self) {
        self.out.extend_from_slice(b"NULL");
    }

    fn word(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(self.out);
    }

    fn constant(&mut self, number: Number, write: impl FnOnce(&mut Vec<u8>)) {
        if self.constants == Constants::Names {
            write(self.out);
            return;
        }
        let start = self.out.len();
        match number {
            Number::Hex(value) => put::hex(self.out, value),
            Number::Signed(value) => put::signed(self.out, value),
            Number::Unsigned(value) => put::unsigned(self.out, value),
            Number::Octal(value) => put::octal(self.out, value),
        }
        if self.constants == Constants::Numbers {
            return;
        }
        self.out.extend_from_slice(b" /* ");
        let named = self.out.len();
        write(self.out);
        // What has no name says its number itself; parts of a number don't.
        let words = self.out.get(named..).unwrap_or_default();
        let parts = words.contains(&b'|') && !words.contains(&b'*');
        if is_number(words) && !parts {
            self.out.drain(start..named);
            if self.out.len() == start {
                put::hex(self.out, 0);
            }
        } else {
            self.out.extend_from_slice(b" */");
        }
    }

    fn zero_ended(&mut self, bytes: &[u8]) {
        let shown = if self.escapes == Escapes::Octal {
            bytes.strip_suffix(&[0])
        } else {
            None
        };
        self.text(shown.unwrap_or(bytes), false);
    }

    fn quoting(&mut self, before: &[u8], text: &[u8], after: &[u8]) {
        self.out.extend_from_slice(before);
        put::quoted(self.out, text, self.escapes);
        self.out.extend_from_slice(after);
    }

    fn remarked(&mut self, value: i64, remark: impl FnOnce(&mut Vec<u8>)) {
        put::signed(self.out, value);
        self.aside(remark);
    }

    fn aside(&mut self, remark: impl FnOnce(&mut Vec<u8>)) {
        self.out.extend_from_slice(b" /* ");
        remark(self.out);
        self.out.extend_from_slice(b" */");
    }

    fn counted(&mut self, address: u64, count: u64, what: &str) {
        put::hex(self.out, address);
        self.aside(|out| {
            put::unsigned(out, count);
            out.push(b' ');
            out.extend_from_slice(what.as_bytes());
        });
    }

    fn text(&mut self, bytes: &[u8], cut: bool) {
        put::quoted(self.out, bytes, self.escapes);
        if cut {
            self.out.extend_from_slice(b"...");
        }
    }

    fn abstract_text(&mut self, bytes: &[u8]) {
        self.out.push(b'@');
        self.text(bytes, false);
    }

    fn binary(&mut self, bytes: &[u8], cut: bool) {
        put::quoted(self.out, bytes, Escapes::Hex);
        if cut {
            self.out.extend_from_slice(b"...");
        }
    }

    fn fd(&mut self, fd: i32, call: &Call) {
        put::signed(self.out, i64::from(fd));
        if fd >= 0 {
            self.describe(fd, call);
        }
    }

    fn dir_fd(&mut self, fd: i32, call: &Call) {
        if super::is_current(fd) {
            self.constant(Number::Signed(i64::from(fd)), |out| {
                out.extend_from_slice(b"AT_FDCWD")
            });
            self.describe(fd, call);
        } else {
            self.fd(fd, call);
        }
    }

    fn begin(&mut self, bracket: Bracket) {
        self.out.push(if bracket == Bracket::Structure {
            b'{'
        } else {
            b'['
        });
    }

    fn end(&mut self, bracket: Bracket) {
        self.out.push(if bracket == Bracket::Structure {
            b'}'
        } else {
            b']'
        });
    }

    fn field(&mut self, first: bool, name: &str) {
        self.separate(first);
        self.out.extend_from_slice(name.as_bytes());
        self.out.push(b'=');
    }

    fn nameless(&mut self, first: bool, _: &str) {
        self.separate(first);
    }

    fn item(&mut self, first: bool) {
        self.separate(first);
    }

    fn member(&mut self, first: bool) {
        if !first {
            self.out.push(b' ');
        }
    }

    fn more(&mut self, _: Bracket, first: bool) {
        self.separate(first);
        self.out.extend_from_slice(b"...");
    }

    fn unreadable(&mut self, address: u64) {
        self.out.extend_from_slice(b"... /* ");
        put::hex(self.out, address);
        self.out.extend_from_slice(b" */");
    }

    fn beside(&mut self, first: bool, name: &str) {
        self.beside = true;
        self.out
            .extend_from_slice(if first { b" (" } else { b", " });
        if !name.is_empty() {
            self.out.extend_from_slice(name.as_bytes());
            self.out.push(b' ');
        }
    }

    fn beside_end(&mut self) {
        if std::mem::take(&mut self.beside) {
            self.out.push(b')');
        }
    }

    fn became(&mut self) {
        self.out.extend_from_slice(b" => ");
    }

    fn names_and_numbers(&self) -> (bool, bool) {
        (
            self.constants != Constants::Numbers,
            self.constants != Constants::Names,
        )
    }

    fn turns(&mut self) -> usize {
        self.became();
        0
    }
}

/// Whether words are a number, with a remark or not, or none at all: `1<<5` is not.
fn is_number(words: &[u8]) -> bool {
    let digits = words.strip_prefix(b"-").unwrap_or(words);
    if !digits.first().is_none_or(u8::is_ascii_digit) {
        return false;
    }
    let end = digits.iter().position(|byte| !byte.is_ascii_alphanumeric());
    let rest = &digits[end.unwrap_or(digits.len())..];
    rest.is_empty() || rest.starts_with(b" /*") || rest.starts_with(b"|")
}
