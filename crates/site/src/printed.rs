//! What a step printed, as much of it as a page can hold.
//!
//! The start and the end of an output that is too long stay: the start says what ran, the end how it came out.

use backsight_store::StoreError;
use std::fmt::Write;

use crate::escape;

/// Most bytes of a report.
pub const PAGE_LIMIT: usize = 20 * 1024 * 1024;

/// Lines of sixteen bytes of a binary output that are shown, in hexadecimal.
const GLIMPSE: usize = 16;

/// Most bytes of page that such a line takes.
const DUMP_LINE: usize = 140;

/// Bytes at the start by which text and other things are told apart.
const LOOKED_AT: usize = 8192;

/// One output stream of a step: what was printed, or its two ends.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PrintedOutput {
    /// The start, or all of it.
    head: Vec<u8>,
    /// The end; empty if `head` is all.
    tail: Vec<u8>,
    /// Bytes that the store has.
    kept: u64,
    /// Bytes that were printed: more than were kept when the step went over its limit.
    printed: u64,
    /// Why the store can't give it, in words, if so.
    unreadable: Option<String>,
    /// The trial that printed the same before, where it is shown.
    same_as: Option<u32>,
}

/// What is shown of an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shown {
    /// The start or all of it, fit for an element's content.
    pub head: String,
    /// The end, if something between is left out.
    pub tail: String,
    /// Bytes that are left out between the two.
    pub left_out: u64,
    /// Whether this is a dump in hexadecimal.
    pub binary: bool,
}

impl PrintedOutput {
    /// What the store has of an output of `printed` bytes; of a longer one than `most` bytes, only the two ends.
    pub fn new(mut kept: Vec<u8>, printed: u64, most: usize) -> Self {
        let length = kept.len() as u64;
        let mut tail = Vec::new();
        if kept.len() > most {
            tail = kept.split_off(kept.len() - most / 4);
            kept.truncate(most - most / 4);
            kept.shrink_to_fit();
        }
        Self {
            head: kept,
            tail,
            kept: length,
            printed: printed.max(length),
            ..Self::default()
        }
    }

    /// An output of which this trial, which is shown already, printed the same.
    pub(crate) fn same_as(trial: u32, kept: u64, printed: u64) -> Self {
        Self {
            kept,
            printed,
            same_as: Some(trial),
            ..Self::default()
        }
    }

    /// The trial that printed the same, and shows it.
    pub(crate) fn shown_by(&self) -> Option<u32> {
        self.same_as
    }

    /// An output that the store can't give: pruned, or lost.
    pub fn unreadable_because(error: &StoreError, printed: u64) -> Self {
        let why = match error {
            StoreError::Pruned { mark, .. } => mark.to_string(),
            error => format!("the store can't read it: {error}"),
        };
        Self {
            printed,
            kept: printed,
            unreadable: Some(why),
            ..Self::default()
        }
    }

    /// Whether nothing was printed.
    pub fn is_empty(&self) -> bool {
        self.printed == 0
    }

    /// Bytes that were printed.
    pub fn printed(&self) -> u64 {
        self.printed
    }

    /// Why the store can't give it.
    pub(crate) fn unreadable(&self) -> Option<&str> {
        self.unreadable.as_deref()
    }

    /// Bytes that were printed and not kept.
    pub(crate) fn lost(&self) -> u64 {
        self.printed - self.kept
    }

    /// How many bytes of page it takes to show all that is here, at most.
    pub(crate) fn cost(&self) -> usize {
        if self.is_binary() {
            return self.head.len().div_ceil(16).min(GLIMPSE) * DUMP_LINE;
        }
        [&self.head, &self.tail]
            .into_iter()
            .flatten()
            .map(|byte| escape::cost(*byte))
            .sum()
    }

    /// What a page shows of it within this many bytes.
    pub(crate) fn within(&self, allowance: usize) -> Shown {
        if self.is_binary() {
            let lines = GLIMPSE.min(allowance / DUMP_LINE);
            let glimpse = &self.head[..self.head.len().min(lines * 16)];
            return Shown {
                head: dump(glimpse),
                tail: String::new(),
                left_out: self.kept - glimpse.len() as u64,
                binary: true,
            };
        }
        let (head, tail) = if self.cost() <= allowance {
            (self.head.as_slice(), self.tail.as_slice())
        } else {
            self.ends(allowance)
        };
        Shown {
            head: escape::bytes(head),
            tail: escape::bytes(tail),
            left_out: self.kept - (head.len() + tail.len()) as u64,
            binary: false,
        }
    }

    /// A start of about three quarters of the allowance and an end of one quarter, at ends of lines where there are
    /// any near.
    fn ends(&self, allowance: usize) -> (&[u8], &[u8]) {
        let first = fitting(self.head.iter(), allowance - allowance / 4);
        let head = to_line_end(&self.head[..first]);
        // Without a tail of its own, the end is that of the head, as far as it isn't shown already.
        let rest = if self.tail.is_empty() {
            &self.head[head.len()..]
        } else {
            &self.tail
        };
        let last = fitting(rest.iter().rev(), allowance / 4);
        (head, from_line_start(&rest[rest.len() - last..]))
    }

    fn is_binary(&self) -> bool {
        let start = &self.head[..self.head.len().min(LOOKED_AT)];
        let odd = start
            .utf8_chunks()
            .map(|chunk| {
                let control = |byte: &u8| *byte < 0x20 && !b"\t\n\r\x1b\x08".contains(byte);
                chunk.invalid().len() + chunk.valid().bytes().filter(control).count()
            })
            .sum::<usize>();
        odd * 10 > start.len() && odd > 3
    }
}

/// The largest share that lets all of these lengths, each cut to it, fit into `room`.
pub(crate) fn share_out(lengths: &[usize], room: usize) -> usize {
    let mut ascending = lengths.to_vec();
    ascending.sort_unstable();
    let mut left = room;
    for (number, length) in ascending.iter().enumerate() {
        let share = left / (ascending.len() - number);
        if *length > share {
            return share;
        }
        left -= length;
    }
    usize::MAX
}

fn fitting<'a>(bytes: impl Iterator<Item = &'a u8>, allowance: usize) -> usize {
    let mut cost = 0;
    bytes
        .take_while(|byte| {
            cost += escape::cost(**byte);
            cost <= allowance
        })
        .count()
}

/// Lines longer than this are cut anywhere.
const LINE: usize = 400;

fn to_line_end(bytes: &[u8]) -> &[u8] {
    let near = bytes.len().saturating_sub(LINE);
    match bytes[near..].iter().rposition(|byte| *byte == b'\n') {
        Some(end) => &bytes[..=near + end],
        None => {
            // Not within a character.
            let start = (bytes.len().saturating_sub(4)..bytes.len())
                .rev()
                .find(|at| bytes[*at] >= 0xc0);
            &bytes[..start.unwrap_or(bytes.len())]
        }
    }
}

fn from_line_start(bytes: &[u8]) -> &[u8] {
    let near = bytes.len().min(LINE);
    let start = match bytes[..near].iter().position(|byte| *byte == b'\n') {
        Some(end) => end + 1,
        None => bytes
            .iter()
            .take_while(|byte| **byte & 0xc0 == 0x80)
            .count()
            .min(3),
    };
    &bytes[start..]
}

/// Sixteen bytes a line: offset, hexadecimal, and the printable ones of ASCII.
fn dump(bytes: &[u8]) -> String {
    let mut text = String::new();
    for (number, line) in bytes.chunks(16).enumerate() {
        let hex: Vec<String> = line.iter().map(|byte| format!("{byte:02x}")).collect();
        let ascii: String = line
            .iter()
            .map(|byte| match byte {
                0x20..0x7f => char::from(*byte),
                _ => '.',
            })
            .collect();
        let _ = writeln!(
            text,
            "{:06x}  {:<47}  {}",
            number * 16,
            hex.join(" "),
            escape::text(&ascii)
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn printed(bytes: &[u8]) -> PrintedOutput {
        PrintedOutput::new(bytes.to_vec(), bytes.len() as u64, usize::MAX)
    }

    #[test]
    fn a_short_output_is_shown_as_it_is() {
        let shown = printed(b"one\ntwo\n").within(1000);
        assert_eq!((shown.head.as_str(), shown.left_out), ("one\ntwo\n", 0));
        assert!(shown.tail.is_empty());
    }

    #[test]
    fn a_long_output_keeps_its_start_and_its_end() {
        let lines: String = (0..10_000).map(|n| format!("line {n}\n")).collect();
        for output in [
            printed(lines.as_bytes()),
            PrintedOutput::new(lines.clone().into_bytes(), lines.len() as u64, 5000),
        ] {
            let shown = output.within(2000);
            assert!(shown.head.starts_with("line 0\n") && shown.head.ends_with('\n'));
            assert!(shown.tail.ends_with("line 9999\n"));
            let gone = lines.len() - shown.head.len() - shown.tail.len();
            assert_eq!(shown.left_out, gone as u64);
            assert!(shown.head.len() + shown.tail.len() > 1000);
        }
    }

    #[test]
    fn a_binary_output_is_dumped() {
        let shown = printed(&[0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0]).within(10_000);
        assert!(shown.binary);
        assert_eq!(
            shown.head,
            "000000  7f 45 4c 46 02 01 01 00 00 00 00 00              .ELF........\n"
        );
    }

    #[test]
    fn colours_and_progress_bars_are_text() {
        let bar: Vec<u8> = (0..100)
            .flat_map(|n| format!("\r\x1b[32m{n}%\x1b[0m").into_bytes())
            .collect();
        assert!(!printed(&bar).within(100_000).binary);
    }

    #[test]
    fn short_outputs_leave_their_room_to_long_ones() {
        assert_eq!(share_out(&[10, 1000, 1000], 410), 200);
        assert_eq!(share_out(&[10, 20], 100), usize::MAX);
        assert_eq!(share_out(&[], 0), usize::MAX);
        assert_eq!(share_out(&[5, 5], 0), 0);
    }

    proptest! {
        #[test]
        fn what_is_shown_fits_and_the_rest_is_counted(
            bytes in prop::collection::vec(any::<u8>(), 0..3000),
            text in "[ -~\n]{0,2000}",
            allowance in 0usize..4000,
            most in 16usize..5000,
        ) {
            for bytes in [bytes, text.into_bytes()] {
                let output = PrintedOutput::new(bytes.clone(), bytes.len() as u64, most);
                let shown = output.within(allowance);
                prop_assert!(shown.head.len() + shown.tail.len() <= allowance);
                prop_assert!(shown.left_out <= bytes.len() as u64);
                prop_assert!(!shown.head.contains('<') && !shown.tail.contains('<'));
                if shown.left_out == 0 && !shown.binary {
                    prop_assert_eq!(shown.head + &shown.tail, escape::bytes(&bytes));
                }
            }
        }

        #[test]
        fn shares_fill_the_room_and_no_more(lengths in prop::collection::vec(0usize..1000, 0..20), room in 0usize..8000) {
            let share = share_out(&lengths, room);
            let used: usize = lengths.iter().map(|length| share.min(*length)).sum();
            prop_assert!(used <= room || share == 0);
            let all: usize = lengths.iter().sum();
            prop_assert!(used == all || used + lengths.len() >= room);
        }
    }
}
