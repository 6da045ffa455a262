//! Files of numbers: `VALUE` or `CELL VALUE` a line, from any program, without a store.
//!
//! Refuses: to skip a line that it can't read, to guess what a number means, and to take a line without an end into
//! memory.

use backsight_policy::Listed;
use indexmap::IndexMap;
use std::{
    fmt,
    io::{self, BufRead, BufReader, Read},
    path::PathBuf,
};

/// Longest line, in bytes.
const LONGEST_LINE: u64 = 4096;
/// Most cells of a file: more is a column that holds no cells.
const MOST_CELLS: usize = 100_000;

/// Where numbers are read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A file, or whatever a path leads to.
    File(PathBuf),
    /// What is piped into this program.
    StandardInput,
}

impl Source {
    /// What an argument means: `-` is standard input.
    pub fn of(argument: &str) -> Self {
        match argument {
            "-" => Self::StandardInput,
            path => Self::File(PathBuf::from(path)),
        }
    }

    /// Reads all of it.
    ///
    /// # Errors
    /// It can't be read, a line is wrong, or there is no number in it.
    pub fn read(&self) -> Result<Listed, FileError> {
        let name = self.to_string();
        let unreadable = |why| FileError::Unreadable {
            name: name.clone(),
            why,
        };
        match self {
            Self::StandardInput => read(&name, &mut io::stdin().lock()),
            Self::File(path) => {
                let file = std::fs::File::open(path).map_err(unreadable)?;
                read(&name, &mut BufReader::with_capacity(1 << 17, file))
            }
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::StandardInput => f.write_str("standard input"),
        }
    }
}

/// Why a file gave no numbers.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum FileError {
    /// The system says no.
    #[error("can't read {name}")]
    Unreadable {
        /// What was to be read.
        name: String,
        /// What the system says.
        #[source]
        why: io::Error,
    },
    /// It holds nothing.
    #[error("{name} has no numbers")]
    #[diagnostic(help("expected `VALUE` or `CELL VALUE` a line"))]
    Empty {
        /// What was read.
        name: String,
    },
    /// A line isn't what it should be.
    #[error("{name}, line {line}: {what}")]
    #[diagnostic(help(
        "expected `VALUE` or `CELL VALUE` a line, separated by a space, a tab or a comma, such as `read-4k 12.5`; a line \
         that begins with # is a remark"
    ))]
    Line {
        /// What was read.
        name: String,
        /// Which line, from 1.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
}

fn read(name: &str, from: &mut impl BufRead) -> Result<Listed, FileError> {
    let mut cells: IndexMap<String, Vec<f64>> = IndexMap::new();
    let (mut line, mut number, mut last) = (Vec::new(), 0, 0);
    loop {
        line.clear();
        let length = Read::take(&mut *from, LONGEST_LINE).read_until(b'\n', &mut line);
        let length = length.map_err(|why| FileError::Unreadable {
            name: name.to_owned(),
            why,
        })?;
        if length == 0 {
            break;
        }
        number += 1;
        let wrong = |what: String| FileError::Line {
            name: name.to_owned(),
            line: number,
            what,
        };
        if length as u64 == LONGEST_LINE && !line.ends_with(b"\n") {
            return Err(wrong(format!("longer than {LONGEST_LINE} bytes")));
        }
        let text = std::str::from_utf8(&line).map_err(|_| wrong("not UTF-8 text".to_owned()))?;
        let Some((cell, value)) = sample(text).map_err(wrong)? else {
            continue;
        };
        // Samples of one cell mostly follow each other.
        if cells.get_index(last).is_none_or(|(known, _)| known != cell) {
            last = place(&mut cells, cell).map_err(wrong)?;
        }
        cells[last].push(value);
    }
    if cells.is_empty() {
        return Err(FileError::Empty {
            name: name.to_owned(),
        });
    }
    Ok(Listed {
        name: name.to_owned(),
        cells: cells.into_iter().collect(),
    })
}

/// The cell's place, made if it isn't there.
fn place(cells: &mut IndexMap<String, Vec<f64>>, cell: &str) -> Result<usize, String> {
    if let Some(place) = cells.get_index_of(cell) {
        return Ok(place);
    }
    // Either all lines name their cell or none does: else one of them is half a line.
    let other = cells.keys().next();
    if other.is_some_and(|other| other.is_empty() != cell.is_empty()) {
        let before = if cell.is_empty() {
            "`CELL VALUE`"
        } else {
            "`VALUE`"
        };
        return Err(format!("the lines before it are {before}, this one isn't"));
    }
    if cells.len() == MOST_CELLS {
        return Err(format!(
            "more than {MOST_CELLS} cells: is it the cell that stands first?"
        ));
    }
    Ok(cells.insert_full(cell.to_owned(), Vec::new()).0)
}

/// The cell (empty if the line names none) and the value of a line; nothing for remarks and blank lines.
fn sample(line: &str) -> Result<Option<(&str, f64)>, String> {
    let line = line.trim_start_matches('\u{feff}').trim();
    let line = match line.find(" #").or_else(|| line.find("\t#")) {
        Some(remark) => line[..remark].trim_end(),
        None => line,
    };
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let (cell, value) = match line.rsplit_once([',', '\t']) {
        Some((cell, value)) => (unquoted(cell.trim()), value.trim()),
        None => {
            let mut words = line.split_whitespace();
            match (words.next(), words.next(), words.next()) {
                (Some(value), None, _) => ("", value),
                (Some(cell), Some(value), None) => (cell, value),
                _ => return Err(format!("`{}` has more than two fields", shortened(line))),
            }
        }
    };
    match value.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(Some((cell, value))),
        Ok(_) => Err(format!(
            "`{}` is no measured value: leave out what is missing",
            shortened(value)
        )),
        Err(_) => Err(format!("`{}` is no number", shortened(value))),
    }
}

fn unquoted(text: &str) -> &str {
    text.strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
        .unwrap_or(text)
}

fn shortened(text: &str) -> String {
    const MOST: usize = 60;
    let shown: String = text
        .chars()
        .take(MOST)
        .flat_map(char::escape_debug)
        .collect();
    if text.chars().count() > MOST {
        shown + "…"
    } else {
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(text: &str) -> Result<Vec<(String, Vec<f64>)>, String> {
        read("f.txt", &mut text.as_bytes())
            .map(|list| list.cells)
            .map_err(|error| error.to_string())
    }

    fn cell(name: &str, values: &[f64]) -> (String, Vec<f64>) {
        (name.to_owned(), values.to_vec())
    }

    #[test]
    fn a_value_a_line_is_read_in_order() {
        let read = of("# milliseconds\n3.5\n\n 3.1 \r\n3.9e0 # cold\n");
        assert_eq!(read, Ok(vec![cell("", &[3.5, 3.1, 3.9])]));
    }

    #[test]
    fn cells_may_be_mixed_and_separated_by_spaces_tabs_and_commas() {
        assert_eq!(
            of("a 1\nb,2\n\"read 4k\",3\na\t4\nread 4k,5\n"),
            Ok(vec![
                cell("a", &[1.0, 4.0]),
                cell("b", &[2.0]),
                cell("read 4k", &[3.0, 5.0])
            ])
        );
    }

    #[test]
    fn a_broken_line_is_named_with_what_is_wrong() {
        for (text, said) in [
            (
                "1\n2\n3\n4\n5\n6\nseven\n",
                "f.txt, line 7: `seven` is no number",
            ),
            ("1\nnan\n", "f.txt, line 2: `nan` is no measured value"),
            ("inf", "line 1: `inf` is no measured value"),
            ("1e999", "line 1: `1e999` is no measured value"),
            ("a b 1\n", "line 1: `a b 1` has more than two fields"),
            ("a,\n", "line 1: `` is no number"),
            ("a 1\n2\n", "line 2: the lines before it are `CELL VALUE`"),
            ("1\na 2\n", "line 2: the lines before it are `VALUE`"),
            ("", "f.txt has no numbers"),
            ("# nothing\n\n", "f.txt has no numbers"),
        ] {
            let error = of(text).unwrap_err();
            assert!(error.contains(said), "{text:?}: {error}");
        }
        let long = format!("1\n{}\n", "9".repeat(5000));
        assert!(of(&long).unwrap_err().contains("line 2: longer than"));
        let binary = read("f", &mut &b"1\n\xff\xfe\n"[..]).unwrap_err();
        assert!(binary.to_string().contains("line 2: not UTF-8"));
    }

    proptest! {
        #[test]
        fn what_was_written_is_what_is_read(values in prop::collection::vec(-1e300..1e300f64, 1..50)) {
            let text: String = values.iter().map(|value| format!("x {value}\n")).collect();
            prop_assert_eq!(of(&text).unwrap(), vec![cell("x", &values)]);
        }

        #[test]
        fn any_text_is_read_or_refused_with_its_line(text in "\\PC{0,200}") {
            if let Err(error) = of(&text) {
                prop_assert!(error.starts_with("f.txt"));
            }
        }
    }
}
