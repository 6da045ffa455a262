//! Cells of a row that is written, and kinds of columns.

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// Numbers, with 64 bits.
    Number,
    /// Whole numbers.
    Integer,
    /// Text.
    Text,
}

/// A cell of a row that is written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TableCell<'a> {
    /// Nothing: an empty field, or null.
    Missing,
    /// A finite number.
    Number(f64),
    /// A whole number.
    Integer(i64),
    /// A text.
    Text(&'a str),
}

impl From<Option<f64>> for TableCell<'_> {
    fn from(number: Option<f64>) -> Self {
        number.map_or(TableCell::Missing, TableCell::Number)
    }
}

impl<'a> From<Option<&'a str>> for TableCell<'a> {
    fn from(text: Option<&'a str>) -> Self {
        text.map_or(TableCell::Missing, TableCell::Text)
    }
}
