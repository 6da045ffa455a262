//! CSV and TSV, with or without a header, and one number a line, which is a CSV of one column. Quoting is that of
//! RFC 4180, by `csv-core`; lines are counted here, so that a message can name the right one.
//!
//! Blank lines and comments (`# …`) are skipped.

use csv_core::{ReadRecordResult, ReaderBuilder};

use super::{
    Body, ColumnContent, TableError, TableField, TableReader,
    lines::{Lines, is_comment},
};

/// Rows of fields between delimiters.
#[derive(Debug)]
pub(super) struct Delimited {
    lines: Lines,
    delimiter: u8,
    parser: Box<csv_core::Reader>,
    /// The row's line as it was read.
    raw: Vec<u8>,
    /// The row's text; fields are parts of it.
    text: String,
    fields: Vec<(usize, usize)>,
    columns: usize,
    /// The line where the row begins.
    line: u64,
    /// The first row was read already when the table was opened.
    first_waits: bool,
}

/// The delimiter of a text without one that was promised: whichever of tab, comma and semicolon is there.
pub(super) fn likely_delimiter(beginning: &[u8]) -> u8 {
    [b'\t', b',', b';']
        .into_iter()
        .find(|delimiter| beginning.contains(delimiter))
        .unwrap_or(b',')
}

impl Delimited {
    pub fn open(
        lines: Lines,
        delimiter: u8,
        header: Option<bool>,
    ) -> Result<TableReader, TableError> {
        let mut rows = Self {
            lines,
            delimiter,
            parser: Box::new(ReaderBuilder::new().delimiter(delimiter).build()),
            raw: Vec::new(),
            text: String::new(),
            fields: Vec::new(),
            columns: 0,
            line: 0,
            first_waits: false,
        };
        if !rows.read()? {
            return Err(rows.lines.empty());
        }
        rows.columns = rows.fields.len();
        let place = rows.lines.place.clone();
        let is_number = |field: TableField<'_>| matches!(field.number(), Ok(Some(_)));
        let has_header =
            header.unwrap_or_else(|| !(0..rows.columns).any(|i| is_number(rows.field(i))));
        let columns = if has_header {
            let names = (0..rows.columns).map(|i| match rows.field(i) {
                TableField::Text(name) => name.to_owned(),
                _ => (i + 1).to_string(),
            });
            let names = names.collect();
            rows.first_waits = rows.advance()?;
            names
        } else {
            rows.first_waits = true;
            if rows.columns == 1 {
                vec!["value".to_owned()]
            } else {
                (1..=rows.columns).map(|i| i.to_string()).collect()
            }
        };
        let holds = |i| match rows.field(i) {
            _ if !rows.first_waits => ColumnContent::Unknown,
            TableField::Missing => ColumnContent::Unknown,
            field if is_number(field) => ColumnContent::Numbers,
            TableField::Text(text) if text.parse::<f64>().is_ok() => ColumnContent::Numbers,
            _ => ColumnContent::Text,
        };
        Ok(TableReader {
            place,
            holds: (0..rows.columns).map(holds).collect(),
            columns,
            body: Body::Delimited(rows),
        })
    }

    pub fn advance(&mut self) -> Result<bool, TableError> {
        if std::mem::take(&mut self.first_waits) {
            return Ok(true);
        }
        if !self.read()? {
            return Ok(false);
        }
        if self.fields.len() == self.columns {
            return Ok(true);
        }
        let (has, wants) = (self.fields.len(), self.columns);
        let fields = if has == 1 { "field" } else { "fields" };
        Err(self.lines.broken_at(
            self.line,
            format!("{has} {fields} where the first line has {wants}: is something missing, or a field with a delimiter not quoted?"),
        ))
    }

    pub fn field(&self, i: usize) -> TableField<'_> {
        let Some(&(start, end)) = self.fields.get(i) else {
            return TableField::Missing;
        };
        match self.text[start..end].trim() {
            "" | "NA" | "null" => TableField::Missing,
            text => TableField::Text(text),
        }
    }

    pub fn line(&self) -> u64 {
        self.line
    }

    /// Reads the next row, whatever its number of fields.
    fn read(&mut self) -> Result<bool, TableError> {
        loop {
            self.raw.clear();
            if !self.lines.append(&mut self.raw)? {
                self.fields.clear();
                return Ok(false);
            }
            let line = self.raw.trim_ascii();
            // A line of tabs is a row with nothing in it, not a blank one.
            let blank = line.is_empty() && !self.raw.contains(&self.delimiter);
            if !blank && !is_comment(line) {
                break;
            }
        }
        self.line = self.lines.number;
        self.fields.clear();
        if self.raw.contains(&b'"') {
            self.split_quoted()?;
        } else {
            let mut text = std::mem::take(&mut self.text).into_bytes();
            text.clear();
            text.extend_from_slice(&self.raw);
            self.text = self.utf8(text)?;
            let mut start = 0;
            for (end, _) in self.text.match_indices(char::from(self.delimiter)) {
                self.fields.push((start, end));
                start = end + 1;
            }
            self.fields.push((start, self.text.len()));
        }
        Ok(true)
    }

    /// A row with quotes, which may go on over several lines.
    fn split_quoted(&mut self) -> Result<(), TableError> {
        self.parser.reset();
        let (mut text, mut ends) = (Vec::new(), vec![0; self.columns + 8]);
        let (mut written, mut ended) = (0, 0);
        let mut whole = self.raw.len();
        loop {
            // Within quotes it is a part of the field.
            self.raw.extend_from_slice(self.lines.end);
            let mut input = &self.raw[..];
            while !input.is_empty() {
                text.resize(written + input.len() + 1, 0);
                let (result, read, wrote, ends_found) =
                    self.parser
                        .read_record(input, &mut text[written..], &mut ends[ended..]);
                input = &input[read..];
                written += wrote;
                ended += ends_found;
                match result {
                    ReadRecordResult::Record => {
                        text.truncate(written);
                        self.text = self.utf8(text)?;
                        let mut start = 0;
                        for &end in &ends[..ended] {
                            // Two fields that are no UTF-8 may be some without what stood between them.
                            if !self.text.is_char_boundary(end) {
                                return Err(self.no_utf8());
                            }
                            self.fields.push((start, end));
                            start = end;
                        }
                        return Ok(());
                    }
                    ReadRecordResult::OutputEndsFull => ends.resize(2 * ends.len(), 0),
                    ReadRecordResult::OutputFull | ReadRecordResult::InputEmpty => {}
                    ReadRecordResult::End => break,
                }
            }
            self.raw.clear();
            whole += 1;
            if !self.lines.append(&mut self.raw)? || whole + self.raw.len() > super::lines::LONGEST
            {
                return Err(self.lines.broken_at(
                    self.line,
                    "a quote is opened that isn't closed: write a quote within a field twice",
                ));
            }
            whole += self.raw.len();
        }
    }

    fn utf8(&self, text: Vec<u8>) -> Result<String, TableError> {
        String::from_utf8(text).map_err(|_| self.no_utf8())
    }

    fn no_utf8(&self) -> TableError {
        self.lines
            .broken_at(self.line, "this is no UTF-8: is it a text?")
    }
}
