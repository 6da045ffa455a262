//! What can be wrong with a table: each fault with its place and the way out.

use std::fmt;

/// Where in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilePosition {
    /// A line of a text, from 1.
    Line(u64),
    /// A row of a Parquet, from 1.
    Row(u64),
}

impl fmt::Display for FilePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Row(row) => write!(f, "row {row}"),
        }
    }
}

/// Why a table couldn't be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// It isn't there, may not be read, or the disk failed.
    #[error("can't read {place}: {error}")]
    Unreadable {
        /// The file.
        place: String,
        /// What the system says.
        error: std::io::Error,
    },
    /// There is nothing in it.
    #[error("{place} is empty: there is no row in it")]
    Empty {
        /// The file.
        place: String,
    },
    /// A line or a cell isn't what it must be.
    #[error("{place}, {at}{}: {what}", column.as_ref().map(|c| format!(", column `{}`", c.escape_debug())).unwrap_or_default())]
    Broken {
        /// The file.
        place: String,
        /// The line or row.
        at: FilePosition,
        /// The column's name, where it is about a cell.
        column: Option<String>,
        /// What is wrong, and the way out.
        what: String,
    },
    /// A column was named that isn't there.
    #[error("{place} has no column `{}`: it has {}", name.escape_debug(), listed(columns))]
    NoColumn {
        /// The file.
        place: String,
        /// What was asked for.
        name: String,
        /// What there is.
        columns: Vec<String>,
    },
    /// A column was named that is there twice.
    #[error("{place} has several columns `{}`: say which by its number, from 1", name.escape_debug())]
    TwoColumns {
        /// The file.
        place: String,
        /// The name.
        name: String,
    },
    /// Nothing in it can be a series of numbers.
    #[error("no column of {place} holds numbers: it has {}", listed(columns))]
    NoNumbers {
        /// The file.
        place: String,
        /// What there is.
        columns: Vec<String>,
    },
    /// Several columns hold text, and none was said to be what names series or versions.
    #[error(
        "{place} has several columns of text ({}): say which names the series (--series) and which the versions (--label)",
        listed(columns)
    )]
    WhichText {
        /// The file.
        place: String,
        /// The columns of text.
        columns: Vec<String>,
    },
    /// The only column of text was taken for the versions' names, and they repeat.
    #[error("{place}, {at}: `{}` comes again in column `{}`: say `--series {column}` if it names series, or `--label {column}` if it names versions that were measured several times", label.escape_debug(), column.escape_debug())]
    Repeats {
        /// The file.
        place: String,
        /// The line or row.
        at: FilePosition,
        /// The column.
        column: String,
        /// What repeats.
        label: String,
    },
    /// Rows of a series aren't together in a table that was said to be sorted.
    #[error("{place}, {at}: rows of the series `{}` aren't together: sort the table by its series, or leave `--sorted` out if it fits into memory", name.escape_debug())]
    NotTogether {
        /// The file.
        place: String,
        /// The line or row.
        at: FilePosition,
        /// The series.
        name: String,
    },
    /// More than may be held in memory at once.
    #[error("{place} holds more than {} GiB of points, which is more than is held at once: sort the table by its series and say `--sorted`", most >> 30)]
    TooMuch {
        /// The file.
        place: String,
        /// The bound, in bytes.
        most: usize,
    },
    /// It isn't a Parquet file, or a damaged one.
    #[error("{place} can't be read as Parquet: {error}")]
    Parquet {
        /// The file.
        place: String,
        /// What the reader says.
        error: String,
    },
    /// The column holds what is neither number nor text.
    #[error("{place}: column `{}` holds {what}, which is neither a number nor a text a row", column.escape_debug())]
    Unfit {
        /// The file.
        place: String,
        /// The column.
        column: String,
        /// What it holds.
        what: String,
    },
    /// It couldn't be written.
    #[error("can't write {place}: {error}")]
    Unwritable {
        /// The file.
        place: String,
        /// Why.
        error: String,
    },
}

fn listed(columns: &[String]) -> String {
    const MOST: usize = 30;
    let mut shown: Vec<String> = columns
        .iter()
        .take(MOST)
        .map(|column| format!("`{}`", super::shortened(column)))
        .collect();
    if columns.len() > MOST {
        shown.push(format!("and {} more", columns.len() - MOST));
    }
    if shown.is_empty() {
        "none".to_owned()
    } else {
        shown.join(", ")
    }
}
