//! Lines out of pieces of bytes.

use crate::{
    result::ProblemKind,
    sink::{Decoder, Sink},
};

/// Longest line, in bytes. The rest of a longer one is left out, and that is said.
pub(crate) const MAX_LINE: usize = 1 << 20;
/// An unfinished line is shown to decoders as long as it is no longer than this: results don't hide in longer ones.
const MAX_UNFINISHED: usize = 4 << 10;

/// Reads a format that is made of lines.
pub(crate) trait LineDecoder {
    /// A line, without its end.
    fn line(&mut self, line: &str, to: &mut Sink<'_>);
    /// A line whose end hasn't come. It is seen again when more of it comes, and as a whole.
    fn unfinished(&mut self, _line: &str, _to: &mut Sink<'_>) {}
    /// Nothing more comes.
    fn finish(&mut self, _to: &mut Sink<'_>) {}
    /// Results that are known and not handed over.
    fn held(&self) -> u64 {
        0
    }
}

/// Lines of pieces of bytes, for a [`LineDecoder`].
pub(crate) struct Lines<D> {
    decoder: D,
    unfinished: Vec<u8>,
    number: u64,
    too_long: bool,
}

impl<D: LineDecoder> Lines<D> {
    pub(crate) fn new(decoder: D) -> Lines<D> {
        Lines {
            decoder,
            unfinished: Vec::new(),
            number: 0,
            too_long: false,
        }
    }

    fn line(&mut self, line: &[u8], to: &mut Sink<'_>) {
        self.number += 1;
        to.at_line(self.number);
        if self.too_long {
            to.problem(ProblemKind::TooLong {
                what: "a line",
                limit: MAX_LINE,
            });
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let text = String::from_utf8_lossy(line);
        if let std::borrow::Cow::Owned(_) = text {
            to.problem(ProblemKind::NotUtf8);
        }
        self.decoder.line(&text, to);
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = MAX_LINE - self.unfinished.len();
        self.too_long |= bytes.len() > room;
        self.unfinished
            .extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}

impl<D: LineDecoder> Decoder for Lines<D> {
    fn feed(&mut self, mut bytes: &[u8], to: &mut Sink<'_>) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            if self.unfinished.is_empty() && end <= MAX_LINE {
                self.line(&bytes[..end], to);
            } else {
                self.keep(&bytes[..end]);
                let line = std::mem::take(&mut self.unfinished);
                self.line(&line, to);
                self.unfinished = line;
                self.unfinished.clear();
            }
            self.too_long = false;
            bytes = &bytes[end + 1..];
        }
        if !bytes.is_empty() {
            self.keep(bytes);
            if self.unfinished.len() <= MAX_UNFINISHED {
                to.at_line(self.number + 1);
                let text = String::from_utf8_lossy(&self.unfinished);
                self.decoder.unfinished(&text, to);
            }
        }
    }

    fn finish(&mut self, to: &mut Sink<'_>) {
        if !self.unfinished.is_empty() {
            let line = std::mem::take(&mut self.unfinished);
            self.line(&line, to);
        }
        self.decoder.finish(to);
    }

    fn held(&self) -> u64 {
        self.decoder.held()
    }
}
