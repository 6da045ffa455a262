//! A stretch of memory that may be shorter than it is said to be, and how what is in it is shown where nothing is known of it.

use crate::decode::Walk;
use crate::decode::sink::ValueSink;

/// A stretch of memory, and what of it could be read.
#[derive(Debug, Clone, Copy)]
pub(in crate::decode) struct Span<'a> {
    /// Where it begins.
    pub address: u64,
    /// How long it is said to be.
    pub length: usize,
    bytes: &'a [u8],
}

impl<'a> Span<'a> {
    /// So many bytes from an address on, as far as they were read.
    pub fn new(address: u64, length: usize, bytes: &'a [u8]) -> Self {
        Span {
            address,
            length,
            bytes: &bytes[..bytes.len().min(length)],
        }
    }

    /// What is behind so many bytes.
    pub fn from(self, at: usize) -> Self {
        Span {
            address: self.address.wrapping_add(at as u64),
            length: self.length.saturating_sub(at),
            bytes: self.bytes.get(at..).unwrap_or(&[]),
        }
    }

    /// No more than so many bytes of it.
    pub fn up_to(self, length: usize) -> Self {
        Self::new(self.address, self.length.min(length), self.bytes)
    }

    /// Its first bytes, where they could be read.
    pub fn first(self, size: usize) -> Option<&'a [u8]> {
        self.bytes.get(..size).filter(|_| size <= self.length)
    }

    /// What could be read of it.
    pub fn readable(self) -> &'a [u8] {
        self.bytes
    }
}

impl<'a, S: ValueSink> Walk<'a, S> {
    /// Of a stretch what would be shown of a string: as many bytes, and whether there are more.
    fn shown_of(&mut self, span: Span<'a>) -> Option<(&'a [u8], bool)> {
        let most = self.style.string;
        // One more tells whether it goes on.
        let bytes = span.first(span.length.min(most.saturating_add(1)));
        if bytes.is_none() {
            self.address(span.address);
        }
        bytes.map(|bytes| (&bytes[..bytes.len().min(most)], span.length > most))
    }

    /// Bytes that nothing is known of.
    pub(super) fn span_in_hex(&mut self, span: Span<'a>) {
        if let Some((bytes, cut)) = self.shown_of(span) {
            self.sink.binary(bytes, cut);
        }
    }

    /// Bytes as text.
    pub(super) fn span_as_text(&mut self, span: Span<'a>) {
        if let Some((bytes, cut)) = self.shown_of(span) {
            self.sink.text(bytes, cut);
        }
    }

    /// Text that is to end with a zero byte; dots where it doesn't.
    pub(super) fn span_as_ended_text(&mut self, span: Span<'a>) {
        if let Some((bytes, _)) = self.shown_of(span) {
            self.sink.ended_text(bytes);
        }
    }

    /// Text up to a zero byte; dots where there is none.
    pub(super) fn span_up_to_zero(&mut self, span: Span<'a>) {
        let most = self.style.string;
        let wanted = span.length.min(most.saturating_add(1));
        let readable = span.readable();
        let bytes = &readable[..readable.len().min(wanted)];
        match bytes.iter().position(|byte| *byte == 0) {
            Some(end) => self.sink.text(&bytes[..end], false),
            None if bytes.len() < wanted => self.address(span.address),
            None => self.sink.text(&bytes[..bytes.len().min(most)], true),
        }
    }
}
