//! What Debian's packages say of themselves: versions that can be ordered, and change logs.
//!
//! A version of any form has its place in the order; text that is no entry of a log is left out.

use crate::program::printable;
use backsight_model::Change;
use jiff::{Timestamp, fmt::rfc2822};
use std::cmp::Ordering;

/// The order of two versions as Debian's policy has it (Debian Policy Manual, 5.6.12).
pub(super) fn compare(a: &str, b: &str) -> Ordering {
    let ((epoch_a, a), (epoch_b, b)) = (epoch(a), epoch(b));
    let ((upstream_a, revision_a), (upstream_b, revision_b)) = (revision(a), revision(b));
    numbers(epoch_a, epoch_b)
        .then_with(|| parts(upstream_a, upstream_b))
        .then_with(|| parts(revision_a, revision_b))
}

fn epoch(version: &str) -> (&str, &str) {
    version.split_once(':').unwrap_or(("0", version))
}

fn revision(version: &str) -> (&str, &str) {
    version.rsplit_once('-').unwrap_or((version, "0"))
}

/// Words and numbers by turns, beginning with a word.
fn parts(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a, b);
    while !a.is_empty() || !b.is_empty() {
        let (word_a, rest_a) = leading(a, |c| !c.is_ascii_digit());
        let (word_b, rest_b) = leading(b, |c| !c.is_ascii_digit());
        let (number_a, rest_a) = leading(rest_a, |c| c.is_ascii_digit());
        let (number_b, rest_b) = leading(rest_b, |c| c.is_ascii_digit());
        let order = words(word_a, word_b).then_with(|| numbers(number_a, number_b));
        if order.is_ne() {
            return order;
        }
        (a, b) = (rest_a, rest_b);
    }
    Ordering::Equal
}

fn leading(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !belongs(c)).unwrap_or(text.len()))
}

/// A tilde comes before the end, the end before letters, and letters before anything else.
fn words(a: &str, b: &str) -> Ordering {
    let rank = |c: Option<char>| match c {
        Some('~') => (0, ' '),
        None => (1, ' '),
        Some(c) if c.is_ascii_alphabetic() => (2, c),
        Some(c) => (3, c),
    };
    let (mut a, mut b) = (a.chars(), b.chars());
    loop {
        let (next_a, next_b) = (a.next(), b.next());
        let order = rank(next_a).cmp(&rank(next_b));
        if order.is_ne() || next_a.is_none() {
            return order;
        }
    }
}

/// Numbers of any length.
fn numbers(a: &str, b: &str) -> Ordering {
    let (a, b) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

/// The entries of a change log, newest first as they stand there.
pub(super) fn entries(log: &str) -> Vec<Change> {
    let mut entries = Vec::new();
    let mut open: Option<(&str, Vec<&str>)> = None;
    for line in log.lines() {
        if let Some(version) = heading(line) {
            open = Some((version, Vec::new()));
        } else if let Some(signed) = line.strip_prefix(" -- ") {
            if let Some((version, lines)) = open.take() {
                entries.push(entry(version, &lines, signed));
            }
        } else if let Some((_, lines)) = &mut open {
            lines.push(line.strip_prefix("  ").unwrap_or(line));
        }
    }
    entries
}

/// The version in `name (version) distribution; urgency=…`.
fn heading(line: &str) -> Option<&str> {
    let (name, rest) = line.split_once(" (")?;
    let (version, rest) = rest.split_once(')')?;
    let named = !name.is_empty() && !name.contains(char::is_whitespace) && rest.contains(';');
    named.then_some(version)
}

fn entry(version: &str, lines: &[&str], signed: &str) -> Change {
    let (author, date) = signed.rsplit_once("  ").unwrap_or((signed, ""));
    Change {
        id: printable(version),
        name: printable(version),
        author: printable(author.trim()),
        at: date_of(date),
        message: printable(lines.join("\n").trim()),
        parents: Vec::new(),
        files: Vec::new(),
    }
}

fn date_of(date: &str) -> Option<Timestamp> {
    // Days of the week are written by hand, and wrong now and then.
    rfc2822::DateTimeParser::new()
        .relaxed_weekday(true)
        .parse_timestamp(date.trim())
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn versions_are_ordered_as_the_policy_says() {
        let sorted = [
            "0~rc1",
            "0",
            "0-1",
            "1.0~~",
            "1.0~~a",
            "1.0~",
            "1.0",
            "1.0-1~bpo1",
            "1.0-1",
            "1.0-1+b1",
            "1.0-2",
            "1.0-10",
            "1.0a",
            "1.0+dfsg",
            "1.0.1",
            "1.9",
            "1.10",
            "6.1.9-1",
            "6.1.10-1",
            "6.12.107-1",
            "1:0.1",
            "10:0",
        ];
        for pair in sorted.windows(2) {
            assert_eq!(compare(pair[0], pair[1]), Ordering::Less, "{pair:?}");
            assert_eq!(compare(pair[1], pair[0]), Ordering::Greater, "{pair:?}");
        }
        for (a, b) in [
            ("1.0", "0:1.0"),
            ("1.01", "1.1"),
            ("1.0", "1.0-0"),
            ("a", "a"),
        ] {
            assert_eq!(compare(a, b), Ordering::Equal, "{a} {b}");
        }
    }

    #[test]
    fn entries_of_a_change_log_are_read() {
        let log = "linux (6.1.176-1) bookworm; urgency=medium\n\n  * New upstream:\n    - fix\n\n  [ Anna ]\n  * More\n\n -- Anna B <a@b>  Sun, 01 Feb 2026 10:00:00 +0100\n\nlinux (6.1.170-3) bookworm; urgency=low\n\n  * Old\n\n -- Bert <b@c>  sometime\n";
        let found = entries(log);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].id, "6.1.176-1");
        assert_eq!(found[0].author, "Anna B <a@b>");
        assert_eq!(found[0].at.unwrap().to_string(), "2026-02-01T09:00:00Z");
        assert_eq!(
            found[0].message,
            "* New upstream:\n  - fix\n\n[ Anna ]\n* More"
        );
        assert_eq!((found[1].at, found[1].message.as_str()), (None, "* Old"));
    }

    proptest! {
        #[test]
        fn the_order_is_one(versions in proptest::collection::vec("[0-9a-c.~:+-]{0,8}", 3)) {
            let [a, b, c] = &versions[..] else { unreachable!() };
            prop_assert_eq!(compare(a, b), compare(b, a).reverse());
            prop_assert_eq!(compare(a, a), Ordering::Equal);
            if compare(a, b).is_le() && compare(b, c).is_le() {
                prop_assert!(compare(a, c).is_le());
            }
        }

        #[test]
        fn no_log_upsets_the_reader(log: String) {
            entries(&log);
        }
    }
}
