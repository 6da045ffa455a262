//! XML, fed in pieces: elements with their attributes, text, and where it is broken.
//!
//! The workspace's other reader of XML (`quick-xml`) pulls its input and holds each text as a whole. Here the input is pushed as it
//! arrives, text of any length comes in pieces, bytes that are no UTF-8 are replaced, and what precedes an error is kept. Entities
//! that a document declares are never expanded; a DOCTYPE is skipped.

use crate::{
    result::ProblemKind,
    sink::{Decoder, Sink},
};
use std::borrow::Cow;

/// Elements within each other.
const MAX_DEPTH: usize = 128;
/// Longest tag with all its attributes, in bytes.
const MAX_TAG: usize = 1 << 20;
/// Text is handed on in pieces of about this size.
const TEXT_PIECE: usize = 8 << 10;

/// Names and values of an element's attributes.
pub(crate) struct Attributes<'a>(Vec<(&'a str, Cow<'a, str>)>);

impl Attributes<'_> {
    /// The value, if there is one that isn't empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| *known == name);
        found
            .map(|(_, value)| &**value)
            .filter(|value| !value.is_empty())
    }
}

/// What is done with a document's elements. Names come without the prefixes of namespaces.
pub(crate) trait XmlHandler {
    fn open(&mut self, name: &str, attributes: &Attributes<'_>, to: &mut Sink<'_>);
    fn text(&mut self, text: &str);
    fn close(&mut self, name: &str, to: &mut Sink<'_>);
    /// The document is broken here, or at its end.
    fn end(&mut self, _to: &mut Sink<'_>) {}
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Text,
    /// After `<`, with the quote that is open.
    Tag(Option<u8>),
    Comment,
    Cdata,
    Instruction,
    /// With the number of open brackets.
    Doctype(usize),
    /// After an error.
    Broken,
}

/// Longest declaration `<?xml … ?>`, in bytes.
const MAX_DECLARATION: usize = 1 << 10;

/// How the document's bytes are its text.
enum Encoding {
    /// The declaration hasn't come as a whole.
    Unknown(Vec<u8>),
    Utf8,
    /// Another one, and whether a character that it doesn't have was said.
    Other(encoding_rs::Decoder, bool),
}

/// A document of pieces of bytes, for an [`XmlHandler`].
pub(crate) struct Xml<H> {
    handler: H,
    encoding: Encoding,
    within: Within,
    buffer: Vec<u8>,
    open: Vec<String>,
    line: u64,
    column: u64,
    /// Where the tag or text in the buffer began.
    begun: (u64, u64),
}

impl<H: XmlHandler> Xml<H> {
    pub(crate) fn new(handler: H) -> Xml<H> {
        Xml {
            handler,
            encoding: Encoding::Unknown(Vec::new()),
            within: Within::Text,
            buffer: Vec::new(),
            open: Vec::new(),
            line: 1,
            column: 1,
            begun: (1, 1),
        }
    }

    /// Looks for the document's encoding in its beginning, and reads that once it is known.
    fn begin(&mut self, end: bool, to: &mut Sink<'_>) {
        let Encoding::Unknown(start) = &mut self.encoding else {
            return;
        };
        let Some(name) = declared_encoding(start, end) else {
            return;
        };
        let start = std::mem::take(start);
        // A text whose declaration can be read byte by byte isn't UTF-16, whatever it says.
        let known = encoding_rs::Encoding::for_label(name.as_bytes());
        let known = known.map(encoding_rs::Encoding::output_encoding);
        self.encoding = match known {
            Some(known) if known != encoding_rs::UTF_8 => {
                Encoding::Other(known.new_decoder_without_bom_handling(), false)
            }
            _ => Encoding::Utf8,
        };
        if known.is_none() && !name.is_empty() {
            let what = format!("the encoding `{name}` isn't known: it is read as UTF-8");
            to.problem_at(1, None, ProblemKind::NotRead(what));
        }
        self.feed(&start, to);
    }

    fn fail(&mut self, (line, column): (u64, u64), what: impl Into<String>, to: &mut Sink<'_>) {
        let kind = ProblemKind::Invalid(format!("invalid XML: {}", what.into()));
        self.stop((line, column), kind, to);
    }

    fn stop(&mut self, (line, column): (u64, u64), kind: ProblemKind, to: &mut Sink<'_>) {
        to.problem_at(line, Some(column), kind);
        self.within = Within::Broken;
        self.buffer = Vec::new();
        self.handler.end(to);
    }

    /// Hands on the text in the buffer, but for a beginning of a reference or a character whose end hasn't come.
    fn flush_text(&mut self, all: bool, to: &mut Sink<'_>) {
        let mut end = self.buffer.len();
        if !all {
            let tail = end.saturating_sub(16);
            if let Some(at) = self.buffer[tail..].iter().rposition(|byte| *byte == b'&')
                && !self.buffer[tail + at..].contains(&b';')
            {
                end = tail + at;
            }
            end = end.min(whole_characters(&self.buffer));
        }
        if end > 0 {
            let text = lossy(&self.buffer[..end], self.begun, to);
            let cdata = self.within == Within::Cdata;
            let text = if cdata { text } else { unescape(text) };
            if !self.open.is_empty() {
                self.handler.text(&text);
            }
        }
        self.buffer.drain(..end);
    }

    fn tag(&mut self, to: &mut Sink<'_>) {
        let buffer = std::mem::take(&mut self.buffer);
        to.at_line(self.begun.0);
        let text = lossy(&buffer, self.begun, to);
        if let Err(what) = self.read_tag(&text, to) {
            match what {
                TagError::Invalid(what) => self.fail(self.begun, what, to),
                TagError::TooDeep => self.stop(self.begun, ProblemKind::TooDeep(MAX_DEPTH), to),
            }
            return;
        }
        self.within = Within::Text;
        self.buffer = buffer;
        self.buffer.clear();
    }

    fn read_tag(&mut self, tag: &str, to: &mut Sink<'_>) -> Result<(), TagError> {
        if let Some(name) = tag.strip_prefix('/') {
            let name = name.trim_end();
            let open = self.open.pop();
            return match open {
                Some(open) if open == name => {
                    self.handler.close(without_prefix(name), to);
                    Ok(())
                }
                Some(open) => Err(format!("`</{name}>` where `<{open}>` is open").into()),
                None => Err(format!("`</{name}>` where nothing is open").into()),
            };
        }
        let (tag, empty) = tag
            .strip_suffix('/')
            .map_or((tag, false), |tag| (tag, true));
        let end = tag
            .find(|c: char| c.is_ascii_whitespace())
            .unwrap_or(tag.len());
        let (name, rest) = tag.split_at(end);
        if !name.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | ':')) {
            return Err("`<` that begins no element".to_owned().into());
        }
        let attributes = attributes(rest)?;
        if self.open.len() >= MAX_DEPTH {
            return Err(TagError::TooDeep);
        }
        self.handler.open(without_prefix(name), &attributes, to);
        if empty {
            self.handler.close(without_prefix(name), to);
        } else {
            self.open.push(name.to_owned());
        }
        Ok(())
    }

    /// Counts the places of these bytes.
    fn advance(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if *byte == b'\n' {
                self.line += 1;
                self.column = 1;
            } else {
                self.column += 1;
            }
        }
    }

    /// Reads up to the next change of state; how many bytes that were.
    fn step(&mut self, bytes: &[u8], to: &mut Sink<'_>) -> usize {
        match self.within {
            Within::Text => {
                let end = bytes.iter().position(|byte| *byte == b'<');
                let text = &bytes[..end.unwrap_or(bytes.len()).min(TEXT_PIECE)];
                if self.open.is_empty() {
                    // A mark of the byte order is no text.
                    let is_stray = |byte: &u8| !byte.is_ascii_whitespace() && byte.is_ascii();
                    if let Some(at) = text.iter().position(is_stray) {
                        self.advance(&text[..at]);
                        self.fail((self.line, self.column), "text outside of any element", to);
                        return bytes.len();
                    }
                }
                if self.buffer.is_empty() {
                    self.begun = (self.line, self.column);
                }
                self.buffer.extend_from_slice(text);
                self.advance(text);
                if Some(text.len()) == end {
                    self.flush_text(true, to);
                    self.begun = (self.line, self.column);
                    self.advance(b"<");
                    self.within = Within::Tag(None);
                    return text.len() + 1;
                }
                if self.buffer.len() >= TEXT_PIECE {
                    self.flush_text(false, to);
                }
                text.len()
            }
            Within::Tag(quote) => {
                let byte = bytes[0];
                // Up to the next byte that matters at once: this is most of a document.
                let wanted = |b: &u8| match quote {
                    Some(quote) => *b == quote,
                    None => matches!(*b, b'>' | b'"' | b'\'' | b'<'),
                };
                let plain = bytes.iter().position(wanted).unwrap_or(bytes.len());
                if self.buffer.len() + plain >= MAX_TAG {
                    let kind = ProblemKind::TooLong {
                        what: "a tag",
                        limit: MAX_TAG,
                    };
                    self.stop(self.begun, kind, to);
                    return bytes.len();
                }
                let first = self.buffer.first().copied().unwrap_or(byte);
                if plain > 0 && !matches!(first, b'!' | b'?') {
                    self.buffer.extend_from_slice(&bytes[..plain]);
                    self.advance(&bytes[..plain]);
                    return plain;
                }
                self.advance(&bytes[..1]);
                match (quote, byte) {
                    (None, b'?') if self.buffer.is_empty() => {
                        self.within = Within::Instruction;
                        return 1;
                    }
                    (None, b'>') => {
                        if self.buffer.starts_with(b"!") {
                            self.buffer.clear();
                            self.within = Within::Text;
                        } else {
                            self.tag(to);
                        }
                        return 1;
                    }
                    (None, b'<') => {
                        self.fail((self.line, self.column - 1), "`<` within a tag", to);
                        return bytes.len();
                    }
                    (None, b'"' | b'\'') => self.within = Within::Tag(Some(byte)),
                    (Some(open), byte) if open == byte => self.within = Within::Tag(None),
                    _ => {}
                }
                self.buffer.push(byte);
                let special = match &self.buffer[..] {
                    b"!--" => Some(Within::Comment),
                    b"![CDATA[" => Some(Within::Cdata),
                    b"!DOCTYPE" | b"!doctype" => Some(Within::Doctype(0)),
                    _ => None,
                };
                if let Some(special) = special {
                    self.within = special;
                    self.buffer.clear();
                    self.begun = (self.line, self.column);
                }
                1
            }
            Within::Comment => self.skip_until(bytes, b"-->"),
            Within::Instruction => self.skip_until(bytes, b"?>"),
            Within::Doctype(depth) => {
                self.advance(&bytes[..1]);
                self.within = match (bytes[0], depth) {
                    (b'[', depth) => Within::Doctype(depth + 1),
                    (b']', depth) => Within::Doctype(depth.saturating_sub(1)),
                    (b'>', 0) => Within::Text,
                    (_, depth) => Within::Doctype(depth),
                };
                1
            }
            Within::Cdata => {
                let end = bytes.iter().position(|byte| *byte == b'>');
                let length = end.map_or(bytes.len(), |end| end + 1);
                self.buffer.extend_from_slice(&bytes[..length]);
                self.advance(&bytes[..length]);
                if self.buffer.ends_with(b"]]>") {
                    self.buffer.truncate(self.buffer.len() - 3);
                    self.flush_text(true, to);
                    self.within = Within::Text;
                } else if self.buffer.len() >= TEXT_PIECE {
                    // The end's beginning stays.
                    let kept = self.buffer.split_off(self.buffer.len() - 3);
                    self.flush_text(false, to);
                    self.buffer.extend_from_slice(&kept);
                }
                length
            }
            Within::Broken => bytes.len(),
        }
    }

    /// Skips up to this end. The buffer holds as much as may be its beginning.
    fn skip_until(&mut self, bytes: &[u8], end: &[u8]) -> usize {
        let last = end[end.len() - 1];
        let found = bytes.iter().position(|byte| *byte == last);
        let length = found.map_or(bytes.len(), |at| at + 1);
        self.advance(&bytes[..length]);
        let tail = &bytes[length.saturating_sub(end.len())..length];
        self.buffer.extend_from_slice(tail);
        if self.buffer.ends_with(end) {
            self.buffer.clear();
            self.within = Within::Text;
        } else {
            let surplus = self.buffer.len().saturating_sub(end.len());
            self.buffer.drain(..surplus);
        }
        length
    }
}

impl<H: XmlHandler> Decoder for Xml<H> {
    fn feed(&mut self, bytes: &[u8], to: &mut Sink<'_>) {
        let text;
        let mut rest = match &mut self.encoding {
            Encoding::Unknown(start) => {
                start.extend_from_slice(bytes);
                return self.begin(false, to);
            }
            Encoding::Utf8 => bytes,
            Encoding::Other(decoder, is_said) => {
                text = decoded(decoder, bytes, false, is_said, to);
                text.as_bytes()
            }
        };
        while !rest.is_empty() {
            let read = self.step(rest, to);
            rest = &rest[read..];
        }
    }

    fn finish(&mut self, to: &mut Sink<'_>) {
        self.begin(true, to);
        if let Encoding::Other(decoder, is_said) = &mut self.encoding {
            // A character whose end is missing.
            let text = decoded(decoder, &[], true, is_said, to);
            self.encoding = Encoding::Utf8;
            self.feed(text.as_bytes(), to);
        }
        if self.within == Within::Broken {
            return;
        }
        to.at_line(self.line);
        if self.within != Within::Text {
            self.fail(
                (self.line, self.column),
                "the document ends within a tag",
                to,
            );
        } else if let Some(open) = self.open.last() {
            let what = format!("the document ends within `<{open}>`");
            self.fail((self.line, self.column), what, to);
        } else {
            self.handler.end(to);
        }
    }
}

enum TagError {
    Invalid(String),
    TooDeep,
}

impl From<String> for TagError {
    fn from(what: String) -> TagError {
        TagError::Invalid(what)
    }
}

/// The encoding that the document's beginning declares, or an empty text where it declares none; nothing if more is needed.
fn declared_encoding(start: &[u8], end: bool) -> Option<String> {
    const BEGINNING: &[u8] = b"<?xml";
    let length = start.len().min(BEGINNING.len());
    if start[..length] != BEGINNING[..length] {
        return Some(String::new());
    }
    let text = String::from_utf8_lossy(&start[length..start.len().min(MAX_DECLARATION)]);
    match text.split_once("?>") {
        Some((declaration, _)) => {
            let declared = attributes(declaration).ok();
            let encoding = declared.as_ref().and_then(|known| known.get("encoding"));
            Some(encoding.unwrap_or_default().to_owned())
        }
        None => (end || start.len() >= MAX_DECLARATION).then(String::new),
    }
}

fn decoded(
    decoder: &mut encoding_rs::Decoder,
    bytes: &[u8],
    end: bool,
    is_said: &mut bool,
    to: &mut Sink<'_>,
) -> String {
    let room = decoder.max_utf8_buffer_length(bytes.len());
    let mut text = String::with_capacity(room.unwrap_or(3 * bytes.len() + 16));
    let (_, _, is_replaced) = decoder.decode_to_string(bytes, &mut text, end);
    if is_replaced && !std::mem::replace(is_said, true) {
        let what = format!("this isn't all {}", decoder.encoding().name());
        to.problem_at(1, None, ProblemKind::NotRead(what));
    }
    text
}

fn without_prefix(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(_, name)| name)
}

fn lossy<'a>(bytes: &'a [u8], (line, column): (u64, u64), to: &mut Sink<'_>) -> Cow<'a, str> {
    let text = String::from_utf8_lossy(bytes);
    if let Cow::Owned(_) = text {
        to.problem_at(line, Some(column), ProblemKind::NotUtf8);
    }
    text
}

/// Length without a last character whose end is missing.
fn whole_characters(bytes: &[u8]) -> usize {
    let last = bytes.iter().rev().take(3).position(|byte| *byte >= 0xc0);
    let Some(start) = last.map(|back| bytes.len() - 1 - back) else {
        return bytes.len();
    };
    let length = match bytes[start] {
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        _ => 4,
    };
    if start + length > bytes.len() {
        start
    } else {
        bytes.len()
    }
}

fn attributes(mut text: &str) -> Result<Attributes<'_>, TagError> {
    let mut all = Vec::new();
    loop {
        text = text.trim_start();
        if text.is_empty() {
            return Ok(Attributes(all));
        }
        let Some((name, rest)) = text.split_once('=') else {
            return Err(format!("attribute `{}` without a value", text.trim()).into());
        };
        let rest = rest.trim_start();
        let quote = rest
            .chars()
            .next()
            .filter(|quote| matches!(quote, '"' | '\''));
        let Some((value, rest)) = quote.and_then(|quote| rest[1..].split_once(quote)) else {
            return Err(format!("the value of `{}` isn't quoted", name.trim()).into());
        };
        all.push((name.trim(), unescape(Cow::Borrowed(value))));
        text = rest;
    }
}

/// With XML's five entities and references to characters replaced; every other reference stays as it is.
fn unescape(text: Cow<'_, str>) -> Cow<'_, str> {
    if !text.contains('&') {
        return text;
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some(at) = rest.find('&') {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.bytes().take(12).position(|byte| byte == b';');
        let character = end.and_then(|end| reference(&rest[1..end]).map(|c| (c, end)));
        match character {
            Some((character, end)) => {
                plain.push(character);
                rest = &rest[end + 1..];
            }
            None => {
                plain.push('&');
                rest = &rest[1..];
            }
        }
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

fn reference(name: &str) -> Option<char> {
    match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = name.strip_prefix('#')?;
            let number = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => number.parse(),
            };
            char::from_u32(number.ok()?)
        }
    }
}
