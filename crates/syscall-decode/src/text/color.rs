//! Colours of a terminal, by the sequences of ECMA-48 that select a graphic rendition.

/// What begins such a sequence.
const START: &[u8] = b"\x1b[";
/// What ends one.
const END: u8 = b'm';
/// The terminal's own colours again.
const OFF: &[u8] = b"\x1b[0m";

/// A colour.
#[derive(Debug, Clone, Copy)]
pub(super) struct Color(&'static [u8]);

impl Color {
    /// Of a call's name.
    pub const NAME: Self = Self(b"\x1b[36m");
    /// Of the result of a call that succeeded.
    pub const RESULT: Self = Self(b"\x1b[32m");
    /// Of an error.
    pub const ERROR: Self = Self(b"\x1b[31m");

    /// Colours what was written from a place on.
    pub fn surround(self, out: &mut Vec<u8>, from: usize) {
        out.splice(from..from, self.0.iter().copied());
        out.extend_from_slice(OFF);
    }
}

/// How many bytes of a text only change its colours.
pub(super) fn width_of_changes(text: &[u8]) -> usize {
    let mut width = 0;
    let mut rest = text;
    while let Some(at) = rest.windows(START.len()).position(|two| two == START) {
        let sequence = &rest[at..];
        let Some(end) = sequence.iter().position(|byte| *byte == END) else {
            break;
        };
        width += end + 1;
        rest = &sequence[end + 1..];
    }
    width
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_changes_colours_has_a_width_of_its_own() {
        let mut out = b"1  ".to_vec();
        out.extend_from_slice(b"read");
        Color::NAME.surround(&mut out, 3);
        assert_eq!(out, b"1  \x1b[36mread\x1b[0m");
        assert_eq!(out.len() - width_of_changes(&out), "1  read".len());
        assert_eq!(width_of_changes(b"\x1b[never ended"), 0);
    }
}
