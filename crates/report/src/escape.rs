//! Text that somebody else wrote, made fit to be shown: what it says is seen, what it tries isn't done.
//!
//! Everything that is invisible or moves other text about (control characters and so terminal sequences, bidirectional
//! controls, zero-width and tag characters, bytes that are no UTF-8) is replaced with a mark that can be seen: `␛` for the
//! escape character, `⟨U+202E⟩` for what has no picture. Terminals, pipes, Markdown and pages show the same marks.

use std::fmt::{self, Write};

/// Most bytes that [`html_bytes`] writes for one byte of its input.
const DEAREST: usize = 8;

/// Ranges of characters that are invisible, or that change how others are shown.
const UNSEEN: &[(char, char)] = &[
    ('\u{00ad}', '\u{00ad}'),
    ('\u{034f}', '\u{034f}'),
    ('\u{0600}', '\u{0605}'),
    ('\u{061c}', '\u{061c}'),
    ('\u{06dd}', '\u{06dd}'),
    ('\u{070f}', '\u{070f}'),
    ('\u{0890}', '\u{0891}'),
    ('\u{08e2}', '\u{08e2}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{110bd}', '\u{110bd}'),
    ('\u{110cd}', '\u{110cd}'),
    ('\u{13430}', '\u{1343f}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// `text` with its lines and tabs, everything else that isn't seen as a mark.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    // Writing to a String doesn't fail.
    let _ = push_visible(&mut shown, text);
    shown
}

/// `bytes` as [`visible`] shows UTF-8, every other byte as `⟨9F⟩`.
pub fn visible_bytes(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        let _ = push_visible(&mut shown, chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(shown, "⟨{byte:02X}⟩");
        }
    }
    shown
}

/// `text` on one line: ends of lines and tabs are marks too.
pub fn line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        let _ = match c {
            '\n' | '\t' | '\r' => shown.write_char(picture(c)),
            _ => push_char(&mut shown, c),
        };
    }
    shown
}

fn push_visible(dest: &mut impl Write, text: &str) -> fmt::Result {
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' | '\t' => dest.write_char(c)?,
            // A progress display that returns to the start of its line: every state of it is shown.
            '\r' if chars.peek() != Some(&'\n') => dest.write_str("␍\n")?,
            _ => push_char(dest, c)?,
        }
    }
    Ok(())
}

fn push_char(dest: &mut impl Write, c: char) -> fmt::Result {
    match c {
        '\u{7f}' => dest.write_char('␡'),
        '\0'..' ' => dest.write_char(picture(c)),
        _ if is_unseen(c) => write!(dest, "⟨U+{:04X}⟩", u32::from(c)),
        _ => dest.write_char(c),
    }
}

/// The picture of a control character below U+0020.
fn picture(control: char) -> char {
    char::from_u32(0x2400 + u32::from(control)).unwrap_or('\u{fffd}')
}

/// Whether a character is invisible, or changes how others are shown.
pub fn is_unseen(c: char) -> bool {
    c.is_control() || (c >= '\u{ad}' && UNSEEN.iter().any(|&(first, last)| first <= c && c <= last))
}

/// `text` for an element's content or a quoted attribute of HTML or SVG.
pub fn html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let _ = push_html(&mut escaped, text);
    escaped
}

/// `bytes` for an element's content: UTF-8 as [`html`] shows it, every other byte as `⟨9F⟩`.
pub fn html_bytes(bytes: &[u8]) -> String {
    html(&visible_bytes(bytes))
}

/// Writes `text` as [`html`] does.
///
/// # Errors
/// Those of `dest`.
pub fn push_html(dest: &mut impl Write, text: &str) -> fmt::Result {
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '&' => dest.write_str("&amp;")?,
            '<' => dest.write_str("&lt;")?,
            '>' => dest.write_str("&gt;")?,
            '"' => dest.write_str("&#34;")?,
            '\'' => dest.write_str("&#39;")?,
            '\n' | '\t' => dest.write_char(c)?,
            '\r' if chars.peek() != Some(&'\n') => dest.write_str("␍\n")?,
            _ => push_char(dest, c)?,
        }
    }
    Ok(())
}

/// An upper bound of the length of [`html_bytes`] of this byte among others, in bytes.
pub fn html_cost(byte: u8) -> usize {
    match byte {
        b'\n' | b'\t' => 1,
        b'<' | b'>' => 4,
        b'&' | b'"' | b'\'' => 5,
        b'\r' => 4,
        0x20..0x7f => 1,
        0..0x20 | 0x7f => 3,
        0x80.. => DEAREST,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        for shown in [visible, html, line] {
            assert_eq!(shown("\u{1b}[31mred\0"), "␛[31mred␀");
            assert_eq!(shown("\u{9b}2J"), "⟨U+009B⟩2J");
        }
        assert_eq!(html("10%\r20%\r\n"), "10%␍\n20%␍\n");
        assert_eq!(visible("10%\r20%\r\n"), "10%␍\n20%␍\n");
        assert_eq!(line("a\n\tb\r"), "a␊␉b␍");
    }

    #[test]
    fn what_would_reorder_a_text_is_shown() {
        for shown in [visible, html, line] {
            assert_eq!(
                shown("a\u{202e}b\u{2066}c\u{200b}d"),
                "a⟨U+202E⟩b⟨U+2066⟩c⟨U+200B⟩d"
            );
            assert_eq!(shown("tag\u{e0041}"), "tag⟨U+E0041⟩");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_as_bytes() {
        assert_eq!(html_bytes(b"a\xff\xfeb\xc3"), "a⟨FF⟩⟨FE⟩b⟨C3⟩");
        assert_eq!(html_bytes("Größe µs ±".as_bytes()), "Größe µs ±");
    }

    #[test]
    fn markup_is_text() {
        assert_eq!(
            html("</pre><script>alert('&\"')</script>"),
            "&lt;/pre&gt;&lt;script&gt;alert(&#39;&amp;&#34;&#39;)&lt;/script&gt;"
        );
    }

    proptest! {
        #[test]
        fn nothing_that_is_not_seen_gets_out(raw in prop::collection::vec(any::<u8>(), 0..300), words in ".{0,80}") {
            let shown = [visible_bytes(&raw), html_bytes(&raw), visible(&words), html(&words)];
            for shown in shown {
                prop_assert!(shown.chars().all(|c| c == '\n' || c == '\t' || !is_unseen(c)));
            }
            prop_assert!(!line(&words).contains(is_unseen));
        }

        #[test]
        fn nothing_that_was_written_can_end_its_element(raw in prop::collection::vec(any::<u8>(), 0..300)) {
            let escaped = html_bytes(&raw);
            prop_assert!(!escaped.contains(['<', '>', '"', '\'']));
            for (at, _) in escaped.match_indices('&') {
                let rest = &escaped[at..];
                let known = ["&amp;", "&lt;", "&gt;", "&#34;", "&#39;"];
                prop_assert!(known.iter().any(|entity| rest.starts_with(entity)));
            }
        }

        #[test]
        fn the_cost_bounds_the_length(raw in prop::collection::vec(any::<u8>(), 0..300), words in ".{0,80}") {
            for input in [raw.as_slice(), words.as_bytes()] {
                let bound: usize = input.iter().map(|byte| html_cost(*byte)).sum();
                prop_assert!(html_bytes(input).len() <= bound);
            }
        }

        #[test]
        fn plain_words_stay_as_they_are(words in "[a-zäöü0-9 .,;:(){}\\[\\]\n\t]{0,200}") {
            prop_assert_eq!(html(&words), words.clone());
            prop_assert_eq!(visible(&words), words);
        }
    }
}
