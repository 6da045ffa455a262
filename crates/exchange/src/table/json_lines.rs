//! JSON lines: an object a line, of which the wanted members are read and the others skipped; or a bare number a line.

use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use std::fmt;

use super::{
    Body, ColumnContent, TableError, TableField, TableReader,
    lines::{Lines, is_comment},
};

/// Rows out of lines of JSON.
#[derive(Debug)]
pub(super) struct JsonLines {
    lines: Lines,
    raw: Vec<u8>,
    /// Names of the wanted members, and what the row has there.
    names: Vec<String>,
    cells: Vec<TableCell>,
    first_waits: bool,
}

/// A value of a row, owned: it is read while the line is parsed.
#[derive(Debug, Clone, PartialEq)]
enum TableCell {
    Missing,
    Number(f64),
    Integer(i64),
    Text(String),
}

/// The name of the only column of bare numbers.
const BARE: &str = "value";

impl JsonLines {
    pub fn open(lines: Lines) -> Result<TableReader, TableError> {
        let mut rows = Self {
            lines,
            raw: Vec::new(),
            names: Vec::new(),
            cells: Vec::new(),
            first_waits: false,
        };
        if !rows.read()? {
            return Err(rows.lines.empty());
        }
        rows.first_waits = true;
        if rows.raw.trim_ascii_start().starts_with(b"[") {
            return Err(rows.lines.broken(
                "an array, where an object or a number a line is wanted: `jq -c '.[]'` makes lines of an array",
            ));
        }
        let first: serde_json::Value = serde_json::from_slice(&rows.raw).map_err(|error| {
            let whole = rows.raw.trim_ascii() == b"{";
            let hint = if whole {
                ": `jq -c .` puts an object on a line"
            } else {
                ""
            };
            rows.lines
                .broken(format!("this is no JSON ({}){hint}", without_place(&error)))
        })?;
        let holds = |value: &serde_json::Value| match value {
            serde_json::Value::Number(_) => ColumnContent::Numbers,
            serde_json::Value::Null => ColumnContent::Unknown,
            _ => ColumnContent::Text,
        };
        let (columns, holds) = match &first {
            serde_json::Value::Object(members) => (
                members.keys().cloned().collect(),
                members.values().map(holds).collect(),
            ),
            other => (vec![BARE.to_owned()], vec![holds(other)]),
        };
        Ok(TableReader {
            place: rows.lines.place.clone(),
            columns,
            holds,
            body: Body::JsonLines(rows),
        })
    }

    pub fn select(&mut self, wanted: &[usize], columns: &[String]) {
        self.names = wanted.iter().map(|&i| columns[i].clone()).collect();
        self.cells = vec![TableCell::Missing; wanted.len()];
    }

    pub fn advance(&mut self) -> Result<bool, TableError> {
        if !std::mem::take(&mut self.first_waits) && !self.read()? {
            return Ok(false);
        }
        self.cells.fill(TableCell::Missing);
        let row = RowSeed {
            names: &self.names,
            cells: &mut self.cells,
        };
        let mut parser = serde_json::Deserializer::from_slice(&self.raw);
        row.deserialize(&mut parser)
            .and_then(|()| parser.end())
            .map_err(|error| {
                let what = if error.is_data() {
                    "not as it should be"
                } else {
                    "no JSON"
                };
                self.lines
                    .broken(format!("this is {what}: {}", without_place(&error)))
            })?;
        Ok(true)
    }

    pub fn field(&self, i: usize) -> TableField<'_> {
        match &self.cells[i] {
            TableCell::Missing => TableField::Missing,
            TableCell::Number(number) => TableField::Number(*number),
            TableCell::Integer(number) => TableField::Integer(*number),
            TableCell::Text(text) => TableField::Text(text),
        }
    }

    pub fn line(&self) -> u64 {
        self.lines.number
    }

    fn read(&mut self) -> Result<bool, TableError> {
        loop {
            self.raw.clear();
            if !self.lines.append(&mut self.raw)? {
                return Ok(false);
            }
            let line = self.raw.trim_ascii();
            if !line.is_empty() && !is_comment(line) {
                return Ok(true);
            }
        }
    }
}

/// The message without "at line 1 column 7": the line is another one in the file.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(" at line ") {
        Some((what, _)) if error.line() > 0 => format!("{what}, at character {}", error.column()),
        _ => text,
    }
}

struct RowSeed<'a> {
    names: &'a [String],
    cells: &'a mut [TableCell],
}

impl<'de> DeserializeSeed<'de> for RowSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl RowSeed<'_> {
    /// A bare number counts if it is asked for by the name that it was given.
    fn bare(self, cell: TableCell) {
        for (name, place) in self.names.iter().zip(self.cells) {
            if name == BARE {
                *place = cell.clone();
            }
        }
    }
}

impl<'de> Visitor<'de> for RowSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or a number")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(name) = members.next_key::<std::borrow::Cow<'de, str>>()? {
            match self.names.iter().position(|wanted| *wanted == name) {
                Some(i) => {
                    let cell: TableCell = members.next_value()?;
                    // The same column may be wanted twice.
                    for (wanted, place) in self.names.iter().zip(self.cells.iter_mut()).skip(i) {
                        if *wanted == name {
                            *place = cell.clone();
                        }
                    }
                }
                None => {
                    members.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }

    fn visit_f64<E>(self, number: f64) -> Result<(), E> {
        self.bare(TableCell::Number(number));
        Ok(())
    }

    fn visit_i64<E>(self, number: i64) -> Result<(), E> {
        self.bare(TableCell::Integer(number));
        Ok(())
    }

    fn visit_u64<E>(self, number: u64) -> Result<(), E> {
        self.bare(whole(number));
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

fn whole(number: u64) -> TableCell {
    i64::try_from(number).map_or(TableCell::Number(number as f64), TableCell::Integer)
}

impl<'de> Deserialize<'de> for TableCell {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CellVisitor)
    }
}

struct CellVisitor;

impl<'de> Visitor<'de> for CellVisitor {
    type Value = TableCell;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number or a text")
    }

    fn visit_f64<E>(self, number: f64) -> Result<TableCell, E> {
        Ok(TableCell::Number(number))
    }

    fn visit_i64<E>(self, number: i64) -> Result<TableCell, E> {
        Ok(TableCell::Integer(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<TableCell, E> {
        Ok(whole(number))
    }

    fn visit_bool<E>(self, truth: bool) -> Result<TableCell, E> {
        Ok(TableCell::Text(truth.to_string()))
    }

    fn visit_str<E>(self, text: &str) -> Result<TableCell, E> {
        Ok(match text.trim() {
            "" => TableCell::Missing,
            text => TableCell::Text(text.to_owned()),
        })
    }

    fn visit_unit<E>(self) -> Result<TableCell, E> {
        Ok(TableCell::Missing)
    }
}
