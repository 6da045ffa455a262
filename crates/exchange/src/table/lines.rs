//! Lines of a text, counted. A line that is too long is an error.

use std::io::{BufRead, Read as _};

use super::{TableError, error::FilePosition};

/// The longest line, in bytes.
pub(super) const LONGEST: usize = 16 << 20;

/// The lines of a text.
pub(super) struct Lines {
    input: Box<dyn BufRead + Send>,
    pub place: String,
    /// The number of the line that was read last, from 1.
    pub number: u64,
    /// How it ended; as most lines do where it is the last and has no end.
    pub end: &'static [u8],
}

impl std::fmt::Debug for Lines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at line {}", self.place, self.number)
    }
}

impl Lines {
    pub fn new(input: Box<dyn BufRead + Send>, place: String) -> Self {
        Self {
            input,
            place,
            number: 0,
            end: b"\n",
        }
    }

    /// Appends the next line to `text`, without its end; false at the end of the file.
    pub fn append(&mut self, text: &mut Vec<u8>) -> Result<bool, TableError> {
        let before = text.len();
        read_line(&mut self.input, text, &self.place)?;
        if text.len() == before {
            return Ok(false);
        }
        self.number += 1;
        if text.len() > LONGEST {
            return Err(self.broken("the line is longer than 16 MiB: is this a text?"));
        }
        self.end = match text.ends_with(b"\r\n") {
            true => b"\r\n",
            false => b"\n",
        };
        for end in [b'\n', b'\r'] {
            if text.len() > before && text.last() == Some(&end) {
                text.pop();
            }
        }
        if self.number == 1 && text.starts_with(b"\xef\xbb\xbf") {
            text.drain(..3);
        }
        Ok(true)
    }

    /// The fault of the line that was read last.
    pub fn broken(&self, what: impl Into<String>) -> TableError {
        self.broken_at(self.number, what)
    }

    /// The fault of a line.
    pub fn broken_at(&self, line: u64, what: impl Into<String>) -> TableError {
        TableError::Broken {
            place: self.place.clone(),
            at: FilePosition::Line(line),
            column: None,
            what: what.into(),
        }
    }

    pub fn empty(&self) -> TableError {
        TableError::Empty {
            place: self.place.clone(),
        }
    }
}

/// The first lines of a text up to one that says something, taken out of the input.
pub(super) fn beginning(input: &mut impl BufRead, place: &str) -> Result<Vec<u8>, TableError> {
    let mut text = Vec::new();
    loop {
        let before = text.len();
        read_line(input, &mut text, place)?;
        let line = &text[before..];
        let says = !line.trim_ascii().is_empty() && !is_comment(line.trim_ascii());
        if line.is_empty() || says || text.len() > LONGEST {
            return Ok(text);
        }
    }
}

/// Whether a line is a comment: `#` and then a space, or nothing. `#12,3.5` is none.
pub(super) fn is_comment(line: &[u8]) -> bool {
    line == b"#" || line.starts_with(b"# ")
}

fn read_line(input: &mut impl BufRead, text: &mut Vec<u8>, place: &str) -> Result<(), TableError> {
    let room = (LONGEST + 2).saturating_sub(text.len()) as u64;
    let read = input.take(room).read_until(b'\n', text);
    read.map(|_| ()).map_err(|error| TableError::Unreadable {
        place: place.to_owned(),
        error,
    })
}
