//! Files of numbers, from any program: `VALUE` or `CELL VALUE` a line, or a [table](crate::table) whose first line names its
//! columns. Numbers come by cell, each cell's in order.
//!
//! A line that can't be read is an error, and so is one without an end.

use indexmap::IndexMap;
use std::io::{self, BufRead, BufReader, Read};

use crate::table::{
    self, ColumnContent, ColumnRoles, ReadOptions, TableError, TableReader, TableSource,
};

/// Longest line, in bytes.
const LONGEST_LINE: u64 = 4096;
/// Most cells of a file: more is a column that holds no cells.
const MOST_CELLS: usize = 100_000;

/// Numbers by cell, in the order in which the cells were first named; one cell without a name where no line names any.
pub type NumbersByCell = Vec<(String, Vec<f64>)>;

/// Reads all numbers of a file.
///
/// # Errors
/// It can't be read, a line is wrong, there is no number in it, or a column isn't there.
pub fn read_numbers(
    source: &TableSource,
    columns: &NumberColumns,
) -> Result<NumbersByCell, NumberFileError> {
    let name = source.to_string();
    match source {
        TableSource::Stdin => read(&name, Box::new(BufReader::new(io::stdin())), columns),
        TableSource::Path(path) => {
            let file = std::fs::File::open(path).map_err(|why| NumberFileError::Unreadable {
                name: name.clone(),
                why,
            })?;
            let file = BufReader::with_capacity(1 << 17, file);
            read(&name, Box::new(file), columns)
        }
    }
}

/// Which columns of a table are what.
#[derive(Debug, Clone, Default)]
pub struct NumberColumns {
    /// Those with the numbers; none: every column of numbers.
    pub values: Vec<String>,
    /// Those that name the cells; none: every column of text.
    pub keys: Vec<String>,
}

impl NumberColumns {
    fn is_given(&self) -> bool {
        !(self.values.is_empty() && self.keys.is_empty())
    }
}

/// Why a file gave no numbers.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum NumberFileError {
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
    /// A table has more cells than any comparison is read.
    #[error("{name}: more than {MOST_CELLS} cells: is it a column of names?")]
    #[diagnostic(help("`--series NAME` says which columns name what was measured"))]
    Cells {
        /// What was read.
        name: String,
    },
    /// A table isn't what it should be.
    #[error(transparent)]
    #[diagnostic(help(
        "`--column NAME` says which column has the numbers, `--series NAME` which ones name what was measured"
    ))]
    Table(#[from] TableError),
}

fn read(
    name: &str,
    mut from: Box<dyn BufRead + Send>,
    columns: &NumberColumns,
) -> Result<NumbersByCell, NumberFileError> {
    let beginning = from.fill_buf().map_err(|why| NumberFileError::Unreadable {
        name: name.to_owned(),
        why,
    })?;
    if columns.is_given() || names_columns(beginning) {
        return table(name, from, columns);
    }
    read_lines(name, &mut from)
}

/// Whether the first line of a text with more lines names columns: no field of it is a number.
fn names_columns(beginning: &[u8]) -> bool {
    let text = String::from_utf8_lossy(beginning);
    let mut lines = text
        .lines()
        .map(|line| line.trim_start_matches('\u{feff}').trim())
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let (Some(first), Some(_)) = (lines.next(), lines.next()) else {
        return false;
    };
    let delimiter = [',', '\t', ';'];
    let is_name = |field: &str| !field.is_empty() && field.parse::<f64>().is_err();
    match first.contains(delimiter) {
        true => first.split(delimiter).map(str::trim).all(is_name),
        false => is_name(first) && !first.contains(char::is_whitespace),
    }
}

/// A cell is what its columns of text say and, where there are several columns of numbers, the column's name.
fn table(
    name: &str,
    from: Box<dyn BufRead + Send>,
    columns: &NumberColumns,
) -> Result<NumbersByCell, NumberFileError> {
    let table = TableReader::from_lines(from, name, ReadOptions::default())?;
    let mut keys = columns.keys.clone();
    if keys.is_empty() {
        let held = table.columns().iter().zip(table.holds());
        let texts = held.filter(|(name, holds)| {
            **holds == ColumnContent::Text && !columns.values.contains(name)
        });
        keys = texts.map(|(name, _)| name.clone()).collect();
    }
    let columns = ColumnRoles {
        keys,
        values: columns.values.clone(),
        ..ColumnRoles::default()
    };
    let series = table::series(table, &columns)?;
    let several = series.values().len() > 1;
    let mut cells: IndexMap<String, Vec<f64>> = IndexMap::new();
    for series in series {
        let series = series?;
        if series.values.is_empty() {
            continue;
        }
        let mut named = series.keys;
        if several {
            named.push(series.column);
        }
        let named = named.iter().filter(|part| !part.is_empty());
        let cell = named.map(String::as_str).collect::<Vec<_>>().join(" ");
        if cells.len() == MOST_CELLS && !cells.contains_key(&cell) {
            let place = name.to_owned();
            return Err(NumberFileError::Cells { name: place });
        }
        cells.entry(cell).or_default().extend(series.values);
    }
    if cells.is_empty() {
        return Err(NumberFileError::Empty {
            name: name.to_owned(),
        });
    }
    Ok(cells.into_iter().collect())
}

fn read_lines(name: &str, from: &mut impl BufRead) -> Result<NumbersByCell, NumberFileError> {
    let mut cells: IndexMap<String, Vec<f64>> = IndexMap::new();
    let (mut line, mut number, mut last) = (Vec::new(), 0, 0);
    loop {
        line.clear();
        let length = Read::take(&mut *from, LONGEST_LINE).read_until(b'\n', &mut line);
        let length = length.map_err(|why| NumberFileError::Unreadable {
            name: name.to_owned(),
            why,
        })?;
        if length == 0 {
            break;
        }
        number += 1;
        let wrong = |what: String| NumberFileError::Line {
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
        return Err(NumberFileError::Empty {
            name: name.to_owned(),
        });
    }
    Ok(cells.into_iter().collect())
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

    fn read_text(text: &str) -> Result<Vec<(String, Vec<f64>)>, String> {
        of_columns(text, &NumberColumns::default())
    }

    fn of_columns(text: &str, columns: &NumberColumns) -> Result<Vec<(String, Vec<f64>)>, String> {
        let from = io::Cursor::new(text.to_owned());
        read("f.txt", Box::new(from), columns).map_err(|error| error.to_string())
    }

    fn cell(name: &str, values: &[f64]) -> (String, Vec<f64>) {
        (name.to_owned(), values.to_vec())
    }

    #[test]
    fn a_value_a_line_is_read_in_order() {
        let read = read_text("# milliseconds\n3.5\n\n 3.1 \r\n3.9e0 # cold\n");
        assert_eq!(read, Ok(vec![cell("", &[3.5, 3.1, 3.9])]));
    }

    #[test]
    fn cells_may_be_mixed_and_separated_by_spaces_tabs_and_commas() {
        assert_eq!(
            read_text("a 1\nb,2\n\"read 4k\",3\na\t4\nread 4k,5\n"),
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
            let error = read_text(text).unwrap_err();
            assert!(error.contains(said), "{text:?}: {error}");
        }
        let long = format!("1\n{}\n", "9".repeat(5000));
        assert!(
            read_text(&long)
                .unwrap_err()
                .contains("line 2: longer than")
        );
        let binary = Box::new(&b"1\n\xff\xfe\n"[..]);
        let binary = read("f", binary, &NumberColumns::default()).unwrap_err();
        assert!(binary.to_string().contains("line 2: not UTF-8"));
    }

    #[test]
    fn a_table_with_names_above_its_columns_is_read_by_them() {
        let one = |text: &str| read_text(text).unwrap();
        assert_eq!(one("ms\n1\n2\n"), [cell("", &[1.0, 2.0])]);
        assert_eq!(
            one("# made today\nname;ms\n\"read 4k\";1\nsync;5\nread 4k;2\n"),
            [cell("read 4k", &[1.0, 2.0]), cell("sync", &[5.0])]
        );
        assert_eq!(
            one("host,name,ms,rss\na,sort,1,10\na,sort,2,\nb,sort,3,30\n"),
            [
                cell("a sort ms", &[1.0, 2.0]),
                cell("a sort rss", &[10.0]),
                cell("b sort ms", &[3.0]),
                cell("b sort rss", &[30.0]),
            ]
        );
        let columns = NumberColumns {
            values: vec!["rss".into()],
            keys: vec!["n".into()],
        };
        let text = "n,name,ms,rss\n1,x,1,10\n2,x,2,20\n1,x,3,30\n";
        assert_eq!(
            of_columns(text, &columns),
            Ok(vec![cell("1", &[10.0, 30.0]), cell("2", &[20.0])])
        );
        let missing = NumberColumns {
            values: vec!["speed".into()],
            ..columns
        };
        let error = of_columns(text, &missing).unwrap_err();
        assert!(
            error.contains("speed") && error.contains("f.txt"),
            "{error}"
        );
        for (text, said) in [
            ("name,ms\nsort,fast\n", "f.txt"),
            ("name,ms\nsort,1\nsort,2,3\n", "line 3"),
            ("name,ms\nsort,nan\n", "line 2"),
        ] {
            let error = read_text(text).unwrap_err();
            assert!(error.contains(said), "{text:?}: {error}");
        }
    }

    proptest! {
        #[test]
        fn what_was_written_is_what_is_read(values in prop::collection::vec(-1e300..1e300f64, 1..50)) {
            let text: String = values.iter().map(|value| format!("x {value}\n")).collect();
            prop_assert_eq!(read_text(&text).unwrap(), vec![cell("x", &values)]);
        }

        #[test]
        fn any_text_is_read_or_refused_with_its_line(text in "\\PC{0,200}") {
            if let Err(error) = read_text(&text) {
                prop_assert!(error.starts_with("f.txt"));
            }
        }
    }
}
