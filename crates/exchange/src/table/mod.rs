//! Tables of numbers, read row by row and written row by row: CSV, TSV, JSON lines, Parquet, one number a line.
//!
//! [`TableReader::open`] finds out what a file is and which columns it has; [`TableReader::rows`] reads those that are wanted;
//! [`series`] makes series of numbers of them; [`TableWriter`] writes. None holds more than a row, or a batch of rows where the
//! format has batches.
//!
//! A cell that is empty, `NA` or `null` is missing, and never 0. NaN and infinities are no measured values and are
//! refused with their place: leave the cell empty.
//!
//! Lines longer than 16 MiB, rows with more or fewer fields than the header, text in a column of numbers, missing columns, and
//! columns that repeat within a row of a Parquet file are errors.

mod cell;
mod delimited;
mod error;
mod json_lines;
mod lines;
mod parquet;
mod series;
mod write;

pub use cell::{ColumnKind, TableCell};
pub use error::{FilePosition, TableError};
pub use series::{ColumnRoles, Labels, MOST_GATHERED, NumberSeries, SeriesStream, series};
pub use write::{TableOutput, TableWriter};

use std::{
    fs::File,
    io::{BufRead, BufReader, Cursor, Read},
    path::{Path, PathBuf},
};

use self::parquet::ParquetRows;
use delimited::Delimited;
use json_lines::JsonLines;
use lines::Lines;

/// What a table is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableFormat {
    /// Fields between commas (or semicolons, when read).
    Csv,
    /// Fields between tabs.
    Tsv,
    /// A JSON object, or a bare number, a line.
    JsonLines,
    /// Apache Parquet.
    Parquet,
}

impl TableFormat {
    /// The format that a file's name promises.
    #[must_use]
    pub fn from_name(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "csv" => Some(Self::Csv),
            "tsv" | "tab" => Some(Self::Tsv),
            "jsonl" | "ndjson" | "json" => Some(Self::JsonLines),
            "parquet" | "pq" => Some(Self::Parquet),
            _ => None,
        }
    }
}

/// Where a table is read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TableSource {
    /// A file.
    Path(PathBuf),
    /// Standard input.
    Stdin,
}

impl TableSource {
    /// What an argument of a command means: `-` is standard input.
    pub fn from_argument(argument: &str) -> Self {
        match argument {
            "-" => Self::Stdin,
            path => Self::Path(PathBuf::from(path)),
        }
    }
}

impl std::fmt::Display for TableSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Path(path) => path.display().fmt(f),
            Self::Stdin => f.write_str("standard input"),
        }
    }
}

/// How to read a table; the usual way is to find out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// Its format; else by the file's name, else by how it begins.
    pub format: Option<TableFormat>,
    /// Whether a CSV or TSV begins with the names of its columns; else it does if none of the first line's fields is a
    /// number.
    pub header: Option<bool>,
}

/// One cell of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TableField<'a> {
    /// Nothing was measured, or nothing is known.
    Missing,
    /// A number with a fraction.
    Number(f64),
    /// A whole number.
    Integer(i64),
    /// A text; in a CSV, numbers are texts too.
    Text(&'a str),
}

impl TableField<'_> {
    /// Writes the cell as a text into `text`, which is cleared first; a missing one leaves it empty.
    pub fn write_to(&self, text: &mut String) {
        use std::fmt::Write as _;
        text.clear();
        // Writing to a string can't fail.
        let _ = match self {
            Self::Missing => Ok(()),
            Self::Number(number) => write!(text, "{number}"),
            Self::Integer(number) => write!(text, "{number}"),
            Self::Text(said) => text.write_str(said),
        };
    }

    fn number(&self) -> Result<Option<f64>, String> {
        let number = match self {
            Self::Missing => return Ok(None),
            Self::Number(number) => *number,
            Self::Integer(number) => *number as f64,
            Self::Text(text) => text.parse().map_err(|_| {
                let comma = text.contains(',') && text.replace(',', ".").parse::<f64>().is_ok();
                let hint = if comma {
                    ": decimals stand after a point"
                } else {
                    ""
                };
                format!("`{}` is no number{hint}", shortened(text))
            })?,
        };
        if number.is_finite() {
            Ok(Some(number))
        } else {
            Err(format!(
                "{number} is no measured value: leave the cell empty where nothing was measured"
            ))
        }
    }
}

/// What a column holds, as far as its first row or its schema tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnContent {
    /// Numbers.
    Numbers,
    /// Text.
    Text,
    /// The first row has nothing there.
    Unknown,
}

/// A table that was opened: its columns are known, none of its rows are read.
#[derive(Debug)]
pub struct TableReader {
    place: String,
    columns: Vec<String>,
    holds: Vec<ColumnContent>,
    body: Body,
}

#[derive(Debug)]
enum Body {
    Delimited(Delimited),
    JsonLines(JsonLines),
    Parquet(Box<ParquetRows>),
}

impl TableReader {
    /// Opens a table and finds out its columns.
    ///
    /// # Errors
    /// It can't be read, is empty, or isn't what its name or `reading` says.
    pub fn open(source: &TableSource, reading: ReadOptions) -> Result<Self, TableError> {
        let place = source.to_string();
        let unreadable = |error| TableError::Unreadable {
            place: place.clone(),
            error,
        };
        let input: Box<dyn Read + Send> = match source {
            TableSource::Path(path) => Box::new(File::open(path).map_err(unreadable)?),
            TableSource::Stdin => Box::new(std::io::stdin()),
        };
        let mut input = BufReader::with_capacity(1 << 16, input);
        let beginning = lines::beginning(&mut input, &place)?;
        let promised = match source {
            TableSource::Path(path) => TableFormat::from_name(path),
            TableSource::Stdin => None,
        };
        let format = reading.format.or(promised);
        let is_parquet = beginning.starts_with(b"PAR1");
        if format == Some(TableFormat::Parquet) || format.is_none() && is_parquet {
            let file = match source {
                TableSource::Path(path) => File::open(path).map_err(unreadable)?,
                // The end of a Parquet says what is in it: it must be there whole.
                TableSource::Stdin => {
                    let mut file = tempfile::tempfile().map_err(unreadable)?;
                    let mut whole = Cursor::new(beginning).chain(input);
                    std::io::copy(&mut whole, &mut file).map_err(unreadable)?;
                    file
                }
            };
            return ParquetRows::open(file, place);
        }
        let input: Box<dyn BufRead + Send> = Box::new(Cursor::new(beginning.clone()).chain(input));
        Self::from_text(input, &beginning, place, format, reading.header)
    }

    /// A table out of any text.
    ///
    /// # Errors
    /// As [`TableReader::open`].
    pub fn from_lines(
        input: impl BufRead + Send + 'static,
        place: impl Into<String>,
        reading: ReadOptions,
    ) -> Result<Self, TableError> {
        let place = place.into();
        let mut input = input;
        let beginning = lines::beginning(&mut input, &place)?;
        let input: Box<dyn BufRead + Send> = Box::new(Cursor::new(beginning.clone()).chain(input));
        Self::from_text(input, &beginning, place, reading.format, reading.header)
    }

    fn from_text(
        input: Box<dyn BufRead + Send>,
        beginning: &[u8],
        place: String,
        format: Option<TableFormat>,
        header: Option<bool>,
    ) -> Result<Self, TableError> {
        let lines = Lines::new(input, place);
        let first = beginning.trim_ascii_start().first();
        match format {
            Some(TableFormat::JsonLines) => JsonLines::open(lines),
            None if matches!(first, Some(b'{' | b'[')) => JsonLines::open(lines),
            Some(TableFormat::Tsv) => Delimited::open(lines, b'\t', header),
            _ => {
                let delimiter = if format == Some(TableFormat::Csv) && beginning.contains(&b',') {
                    b','
                } else {
                    delimited::likely_delimiter(beginning)
                };
                Delimited::open(lines, delimiter, header)
            }
        }
    }

    /// What it is called in messages: the file's name.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.place
    }

    /// The names of its columns. Those of a CSV without a header are `1`, `2`, …; an only one is `value`.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// What each column holds.
    #[must_use]
    pub fn holds(&self) -> &[ColumnContent] {
        &self.holds
    }

    /// The index of a column, by its name, else by its number from 1.
    ///
    /// # Errors
    /// There is none, or there are several; the error says which there are.
    pub fn column(&self, name: &str) -> Result<usize, TableError> {
        let mut named = self.columns.iter().enumerate().filter(|(_, c)| *c == name);
        match (named.next(), named.next()) {
            (Some((index, _)), None) => return Ok(index),
            (Some(_), Some(_)) => {
                return Err(TableError::TwoColumns {
                    place: self.place.clone(),
                    name: name.to_owned(),
                });
            }
            (None, _) => {}
        }
        match name.parse::<usize>() {
            Ok(number @ 1..) if number <= self.columns.len() => Ok(number - 1),
            _ => Err(TableError::NoColumn {
                place: self.place.clone(),
                name: name.to_owned(),
                columns: self.columns.clone(),
            }),
        }
    }

    /// Reads the rows: of each the wanted columns, by index, in the order wanted.
    ///
    /// # Errors
    /// A wanted column can't be read as cells.
    ///
    /// # Panics
    /// If an index is out of bounds.
    pub fn rows(mut self, wanted: &[usize]) -> Result<TableRows, TableError> {
        let names = wanted.iter().map(|&i| self.columns[i].clone()).collect();
        match &mut self.body {
            Body::Delimited(_) => {}
            Body::JsonLines(rows) => rows.select(wanted, &self.columns),
            Body::Parquet(rows) => rows.select(wanted)?,
        }
        Ok(TableRows {
            place: self.place,
            names,
            wanted: wanted.to_vec(),
            body: self.body,
        })
    }
}

/// The rows of a table, one at a time.
#[derive(Debug)]
pub struct TableRows {
    place: String,
    names: Vec<String>,
    wanted: Vec<usize>,
    body: Body,
}

impl TableRows {
    /// Goes to the next row; false at the end.
    ///
    /// # Errors
    /// The row is broken, or the file can't be read any further.
    pub fn advance(&mut self) -> Result<bool, TableError> {
        match &mut self.body {
            Body::Delimited(rows) => rows.advance(),
            Body::JsonLines(rows) => rows.advance(),
            Body::Parquet(rows) => rows.advance(),
        }
    }

    /// A cell of the row: the `i`th of the columns wanted.
    ///
    /// # Panics
    /// If so many weren't wanted, or before the first [`TableRows::advance`].
    #[must_use]
    pub fn field(&self, i: usize) -> TableField<'_> {
        match &self.body {
            Body::Delimited(rows) => rows.field(self.wanted[i]),
            Body::JsonLines(rows) => rows.field(i),
            Body::Parquet(rows) => rows.field(i),
        }
    }

    /// A cell of the row as a number; none where it is missing.
    ///
    /// # Errors
    /// It is no finite number; the error says where.
    pub fn number(&self, i: usize) -> Result<Option<f64>, TableError> {
        self.field(i).number().map_err(|what| self.broken(i, what))
    }

    /// The fault of a cell, with its place.
    #[must_use]
    pub fn broken(&self, i: usize, what: impl Into<String>) -> TableError {
        TableError::Broken {
            place: self.place.clone(),
            at: self.at(),
            column: Some(self.names[i].clone()),
            what: what.into(),
        }
    }

    /// What the table is called in messages.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.place
    }

    fn at(&self) -> FilePosition {
        match &self.body {
            Body::Delimited(rows) => FilePosition::Line(rows.line()),
            Body::JsonLines(rows) => FilePosition::Line(rows.line()),
            Body::Parquet(rows) => FilePosition::Row(rows.row()),
        }
    }
}

/// The beginning of a text, for a message.
fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(40).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short.escape_debug().to_string()
}

#[cfg(test)]
mod tests;
