//! Sets of bits: which of an input device's are set, which nodes of memory; and what the contacts of a touch screen do.
//!
//! No more bits are shown than the kernel has.

use super::sink::{Bracket, ValueSink};
use super::{Walk, int_at, long_at};
use crate::format::{self, NamedNumber};
use crate::table::{DataDirection, Names, ValueKind};

/// As many names of bits are shown where not everything is asked for.
const FEW: usize = 4;

impl<'a, S: ValueSink> Walk<'a, S> {
    /// Two things in brackets.
    pub fn pair(&mut self, one: ValueKind, other: ValueKind, bytes: &'a [u8], number: usize) {
        let (first, second) = bytes.split_at(self.size(one).min(bytes.len()));
        self.sink.begin(Bracket::Array);
        self.sink.item(true);
        self.place(one, first, number);
        self.sink.item(false);
        self.place(other, second, number);
        self.sink.end(Bracket::Array);
    }

    /// The size of what is given, as the request says it.
    fn requested_size(&self) -> usize {
        (self.call.arguments[1] >> 16 & 0x3fff) as usize
    }

    /// The bits that are set.
    pub fn bit_set(&mut self, raw: u64, names: &'static Names) {
        const WORD: usize = 8;
        let length = usize::try_from(self.result()).unwrap_or(0);
        let most = names.list.iter().map(|(_, bit)| *bit).max().unwrap_or(0) as usize / 8 + 1;
        let words = length.min(most).div_ceil(WORD);
        let bytes = self.read(raw, words * WORD, DataDirection::Out);
        let Some(bytes) =
            bytes.filter(|bytes| length > 0 && bytes.len() >= length.min(words * WORD))
        else {
            self.address(raw);
            return;
        };
        let shown = &bytes[..length.min(bytes.len())];
        let (names_shown, numbers) = self.sink.names_and_numbers();
        if !names_shown {
            self.words(bytes);
            return;
        }
        let few = if self.style.verbose { usize::MAX } else { FEW };
        let set = (0..shown.len() * 8).filter(|bit| shown[bit / 8] >> (bit % 8) & 1 != 0);
        self.sink.begin(Bracket::Array);
        for (index, bit) in set.enumerate() {
            self.sink.member(index == 0);
            if index >= few {
                self.sink.more(Bracket::Array, true);
                break;
            }
            self.one(bit as u64, names);
        }
        self.sink.end(Bracket::Array);
        if numbers {
            self.sink.aside(|out| put_words(out, bytes));
        }
    }

    fn words(&mut self, bytes: &[u8]) {
        self.sink.word(|out| put_words(out, bytes));
    }

    /// What each contact says, behind what it is that they say.
    pub fn slots(&mut self, raw: u64, names: &'static Names) {
        const CODE: usize = 4;
        let size = self.requested_size() / CODE * CODE;
        let bytes = self.read(raw, size, DataDirection::Out);
        let Some(bytes) = bytes.filter(|bytes| size >= CODE && bytes.len() == size) else {
            self.address(raw);
            return;
        };
        self.sink.begin(Bracket::Structure);
        self.sink.field(true, "code");
        let code = u64::from(int_at(bytes, 0));
        self.sink
            .constant(NamedNumber::Hex(code), |out| format::one(out, code, names));
        self.sink.field(false, "values");
        self.sink.begin(Bracket::Array);
        for (index, value) in bytes[CODE..].chunks_exact(4).enumerate() {
            self.sink.item(index == 0);
            self.sink.signed(i64::from(int_at(value, 0).cast_signed()));
        }
        self.sink.end(Bracket::Array);
        self.sink.end(Bracket::Structure);
    }

    /// Sets of bits as words with all of their digits.
    pub fn nodes(&mut self, raw: u64, way: DataDirection, count: usize) {
        const WORD: usize = 8;
        const MOST: usize = 4096;
        if raw == 0 {
            self.sink.null();
            return;
        }
        // One bit is none, and so many that their number overflows are none either.
        if count == 1 || count.checked_add(62).is_none() {
            return self.address(raw);
        }
        let words = count.saturating_sub(1).div_ceil(64);
        // Into more than a page the kernel writes nothing.
        if way == DataDirection::Out && (words == 0 || words * WORD > MOST) {
            self.address(raw);
            return;
        }
        if words == 0 {
            self.sink.begin(Bracket::Array);
            self.sink.end(Bracket::Array);
            return;
        }
        let shown = self.allow(words);
        // Whether there is another is looked at before it is left out.
        let looked_at = words.min(shown + 1);
        let bytes = self.read(raw, looked_at * WORD, way);
        let Some(bytes) = bytes.filter(|bytes| bytes.len() >= WORD) else {
            self.address(raw);
            return;
        };
        self.sink.begin(Bracket::Array);
        for (index, word) in bytes.chunks_exact(WORD).take(shown).enumerate() {
            self.sink.item(index == 0);
            let bits = long_at(word, 0);
            self.sink.word(|out| {
                // As wide with a prefix as without.
                if bits == 0 {
                    format::hex_padded(out, bits, 16);
                } else {
                    out.extend_from_slice(b"0x");
                    format::hex_padded(out, bits, 14);
                }
            });
        }
        if bytes.len() < looked_at * WORD {
            self.array_rest(raw, bytes.len(), WORD, looked_at, words);
        } else if words > shown {
            self.sink.more(Bracket::Array, shown == 0);
        }
        self.sink.end(Bracket::Array);
    }
}

/// Words of bits in brackets.
fn put_words(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'[');
    for (index, word) in bytes.chunks_exact(8).enumerate() {
        if index > 0 {
            out.extend_from_slice(b", ");
        }
        format::hex(out, long_at(word, 0));
    }
    out.push(b']');
}
