//! What `cvs rlog` prints, read.
//!
//! What can't be read is left out, since a message may look like anything.

use crate::program::printable;
use jiff::{Timestamp, civil, tz::TimeZone};
use std::collections::BTreeMap;

/// The lines between revisions, and after the last one of a file.
const BETWEEN: &str = "----------------------------";
const AFTER: &str = "=============================================================================";

/// A file's number of a revision or branch: `1.2`, `1.2.4.1`.
pub(super) type Number = Vec<u32>;

/// What the log says of one file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct FileLog {
    /// Where it lies in the repository, without `,v` and `Attic`.
    pub(super) path: String,
    /// Tags and branches by their names; of branches the number that revisions on it begin with.
    pub(super) names: BTreeMap<String, Name>,
    pub(super) revisions: Vec<Revision>,
}

/// What a symbolic name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Name {
    Tag(Number),
    Branch(Number),
}

/// One revision of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Revision {
    pub(super) number: Number,
    pub(super) at: Timestamp,
    pub(super) author: String,
    /// Whether it takes the file away.
    pub(super) dead: bool,
    pub(super) lines: Option<(u64, u64)>,
    pub(super) commit: Option<String>,
    pub(super) message: String,
}

/// Reads a whole log.
pub(super) fn read(text: &str) -> Vec<FileLog> {
    let lines: Vec<&str> = text.lines().collect();
    let mut files = Vec::new();
    let mut place = 0;
    while place < lines.len() {
        let Some(path) = lines[place].strip_prefix("RCS file: ") else {
            place += 1;
            continue;
        };
        let mut file = FileLog {
            path: tree_path(path),
            ..FileLog::default()
        };
        place = head(&lines, place + 1, &mut file);
        place = revisions(&lines, place, &mut file);
        files.push(file);
    }
    files
}

fn tree_path(path: &str) -> String {
    let path = path.trim_end();
    let path = path.strip_suffix(",v").unwrap_or(path);
    match path.rsplit_once('/') {
        Some((folder, name)) => match folder.strip_suffix("/Attic") {
            Some(folder) => format!("{folder}/{name}"),
            None => path.to_owned(),
        },
        None => path.to_owned(),
    }
}

/// Reads names up to the first revision; gives the place of the line before that.
fn head(lines: &[&str], mut place: usize, file: &mut FileLog) -> usize {
    let mut among_names = false;
    while place < lines.len() && lines[place] != BETWEEN && lines[place] != AFTER {
        let line = lines[place];
        match line.strip_prefix('\t') {
            Some(pair) if among_names => {
                if let Some((name, number)) = pair.rsplit_once(": ")
                    && let Some(meant) = name_of(number)
                {
                    file.names.insert(name.to_owned(), meant);
                }
            }
            _ => among_names = line == "symbolic names:",
        }
        place += 1;
    }
    place
}

/// A branch has an odd count of numbers, or a nought before its last.
fn name_of(number: &str) -> Option<Name> {
    let mut number = parse_number(number.trim())?;
    if number.len() % 2 == 1 {
        return Some(Name::Branch(number));
    }
    let before_last = number.len() - 2;
    if number.len() >= 4 && number[before_last] == 0 {
        number.remove(before_last);
        return Some(Name::Branch(number));
    }
    Some(Name::Tag(number))
}

fn parse_number(text: &str) -> Option<Number> {
    text.split('.').map(|part| part.parse().ok()).collect()
}

/// Reads the revisions of a file; gives the place after its last line.
fn revisions(lines: &[&str], mut place: usize, file: &mut FileLog) -> usize {
    while place < lines.len() {
        if ends(lines, place) {
            return place + 1;
        }
        let Some(mut revision) = begins(lines, place) else {
            place += 1;
            continue;
        };
        place += 3;
        if lines
            .get(place)
            .is_some_and(|line| line.starts_with("branches: ") && line.ends_with(';'))
        {
            place += 1;
        }
        let start = place;
        while place < lines.len() && !ends(lines, place) && begins(lines, place).is_none() {
            place += 1;
        }
        revision.message = printable(lines[start..place].join("\n").trim());
        file.revisions.push(revision);
    }
    place
}

/// Whether a file's part of the log ends here: with a long line, and nothing or an empty line after it.
fn ends(lines: &[&str], place: usize) -> bool {
    let after = |offset: usize| lines.get(place + offset).copied().unwrap_or_default();
    lines[place] == AFTER
        && after(1).is_empty()
        && (place + 2 >= lines.len()
            || after(2).starts_with("RCS file: ")
            || after(2).starts_with("cvs "))
}

/// The revision that begins here, still without its message. A message with such a line in it is told from a
/// beginning by the two lines that follow one.
fn begins(lines: &[&str], place: usize) -> Option<Revision> {
    if lines[place] != BETWEEN {
        return None;
    }
    // A locked revision says so after its number.
    let number = lines
        .get(place + 1)?
        .strip_prefix("revision ")?
        .split_whitespace()
        .next()?;
    let number =
        parse_number(number).filter(|number| number.len() >= 2 && number.len() % 2 == 0)?;
    let fields: BTreeMap<&str, &str> = lines
        .get(place + 2)?
        .split(';')
        .filter_map(|field| field.trim().split_once(": "))
        .collect();
    Some(Revision {
        number,
        at: date(fields.get("date")?)?,
        author: printable(fields.get("author")?),
        dead: fields.get("state").is_some_and(|state| *state == "dead"),
        lines: fields.get("lines").and_then(|lines| counted(lines)),
        commit: fields.get("commitid").map(|id| (*id).to_owned()),
        message: String::new(),
    })
}

/// `2024/01/31 23:59:59`, or the same with dashes and an offset.
fn date(text: &str) -> Option<Timestamp> {
    let mut words = text.split_whitespace();
    let (day, time) = (words.next()?.replace('/', "-"), words.next()?);
    match words.next() {
        Some(offset) => format!("{day}T{time}{offset}").parse().ok(),
        None => {
            let civil: civil::DateTime = format!("{day}T{time}").parse().ok()?;
            Some(civil.to_zoned(TimeZone::UTC).ok()?.timestamp())
        }
    }
}

/// `+3 -1`
fn counted(text: &str) -> Option<(u64, u64)> {
    let (added, removed) = text.split_once(' ')?;
    Some((
        added.strip_prefix('+')?.parse().ok()?,
        removed.strip_prefix('-')?.parse().ok()?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LOG: &str = "\
cvs rlog: Logging app

RCS file: /repository/app/Attic/a b.c,v
head: 1.2
branch: 1.1.1
locks: strict
access list:
symbolic names:
\tBRANCH: 1.2.0.4
\tVENDOR: 1.1.1
\tREL: 1.1.1.1
keyword substitution: kv
total revisions: 2;\tselected revisions: 2
description:
----------------------------
revision 1.2
date: 2004/02/29 23:59:59;  author: anna;  state: dead;  lines: +3 -1;
----------------------------
revision 1.1
date: 2004-01-01 10:00:00 +0000;  author: bert;  state: Exp;  commitid: abc;
branches:  1.1.1;
a message
----------------------------
revision 7 of the plan
=============================================================================
that goes on
=============================================================================
";

    #[test]
    fn a_log_is_read() {
        let files = read(LOG);
        assert_eq!(files.len(), 1);
        let file = &files[0];
        assert_eq!(file.path, "/repository/app/a b.c");
        assert_eq!(file.names["BRANCH"], Name::Branch(vec![1, 2, 4]));
        assert_eq!(file.names["VENDOR"], Name::Branch(vec![1, 1, 1]));
        assert_eq!(file.names["REL"], Name::Tag(vec![1, 1, 1, 1]));
        let [new, old] = &file.revisions[..] else {
            panic!("{file:?}")
        };
        assert!(
            new.dead && new.lines == Some((3, 1)) && new.commit.is_none() && new.message.is_empty()
        );
        assert_eq!(new.at.to_string(), "2004-02-29T23:59:59Z");
        assert_eq!(old.commit.as_deref(), Some("abc"));
        assert!(old.message.starts_with("a message\n---") && old.message.ends_with("that goes on"));
    }

    proptest! {
        #[test]
        fn no_log_upsets_the_reader(
            cuts in proptest::collection::vec((0..LOG.len(), 0..40_usize), 0..6),
            junk in "\\PC*",
        ) {
            let mut text = LOG.to_owned();
            for (start, length) in cuts {
                let (start, end) = (start.min(text.len()), (start + length).min(text.len()));
                if text.is_char_boundary(start) && text.is_char_boundary(end) {
                    text.replace_range(start..end, &junk);
                }
            }
            for file in read(&text) {
                prop_assert!(file.revisions.iter().all(|revision| revision.number.len() >= 2));
            }
        }

        #[test]
        fn messages_survive(message in "[a-zA-Z0-9 .:;=\n-]{0,200}") {
            let text = format!(
                "RCS file: /r/f,v\n{BETWEEN}\nrevision 1.1\ndate: 2004/01/01 00:00:00;  author: a;  state: Exp;\n{message}\n{AFTER}\n"
            );
            let files = read(&text);
            prop_assert_eq!(files.len(), 1);
            prop_assert_eq!(files[0].revisions.len(), 1);
            prop_assert_eq!(&files[0].revisions[0].message, message.trim());
        }
    }
}
