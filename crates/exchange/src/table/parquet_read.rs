//! Parquet, column by column, a batch of rows at a time: only the wanted columns are read, and no more than a batch of
//! each is held.
//!
//! Refuses columns that repeat within a row, and binary ones.

use parquet::{
    basic::{ConvertedType, LogicalType, TimeUnit, Type},
    column::reader::{ColumnReader, ColumnReaderImpl},
    data_type::{ByteArrayType, DataType},
    errors::ParquetError,
    file::reader::{FileReader as _, SerializedFileReader},
    schema::types::ColumnDescriptor,
};
use std::fs::File;

use super::{Body, Field, Holds, Table, TableError};

/// Rows that are decoded at once.
const BATCH: usize = 8192;

/// Rows of a Parquet file.
pub(super) struct ParquetRows {
    file: SerializedFileReader<File>,
    place: String,
    /// Which leaf of the schema each column of the table is.
    leaves: Vec<usize>,
    wanted: Vec<Column>,
    /// The row group that is read next.
    group: usize,
    /// Rows of the current group that aren't decoded yet.
    left: usize,
    /// Rows in the batch, and the next of them.
    batch: usize,
    next: usize,
    /// Rows that were given so far.
    row: u64,
}

impl std::fmt::Debug for ParquetRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at row {}", self.place, self.row)
    }
}

/// A column that is read, with its batch.
struct Column {
    leaf: usize,
    /// The definition level of a value that is there; lower ones are null, here or above.
    defined: i16,
    reader: Option<ColumnReader>,
    /// How whole numbers are to be understood.
    reading: Reading,
    /// Whether each row of the batch has a value.
    present: Vec<bool>,
    /// The values of the batch, one a row.
    values: Values,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Reading {
    AsItIs,
    Unsigned,
    /// A decimal: to be divided by this.
    Over(f64),
    /// An instant, in units of so many nanoseconds since 1970.
    Instant(i64),
    /// A date, in days since 1970.
    Date,
}

enum Values {
    None,
    Numbers(Vec<f64>),
    Integers(Vec<i64>),
    Texts { text: String, ends: Vec<usize> },
}

impl ParquetRows {
    pub fn open(file: File, place: String) -> Result<Table, TableError> {
        let file = SerializedFileReader::new(file).map_err(|error| fault(&place, &error))?;
        let schema = file.metadata().file_metadata().schema_descr();
        let leaves: Vec<usize> = (0..schema.num_columns())
            .filter(|&i| schema.column(i).max_rep_level() == 0)
            .collect();
        let columns = leaves.iter().map(|&i| schema.column(i).path().string());
        let columns = columns.collect();
        let holds = leaves.iter().map(|&i| holds(&schema.column(i))).collect();
        Ok(Table {
            columns,
            holds,
            place: place.clone(),
            body: Body::Parquet(Box::new(Self {
                file,
                place,
                leaves,
                wanted: Vec::new(),
                group: 0,
                left: 0,
                batch: 0,
                next: 0,
                row: 0,
            })),
        })
    }

    pub fn want(&mut self, wanted: &[usize]) {
        let schema = self.file.metadata().file_metadata().schema_descr();
        let column = |&i: &usize| Column {
            leaf: self.leaves[i],
            defined: schema.column(self.leaves[i]).max_def_level(),
            reader: None,
            reading: reading(&schema.column(self.leaves[i])),
            present: Vec::new(),
            values: Values::None,
        };
        self.wanted = wanted.iter().map(column).collect();
    }

    pub fn advance(&mut self) -> Result<bool, TableError> {
        if self.row > 0 || self.batch > 0 {
            self.next += 1;
        }
        while self.next >= self.batch {
            if !self.decode()? {
                return Ok(false);
            }
            self.next = 0;
        }
        self.row += 1;
        Ok(true)
    }

    pub fn field(&self, i: usize) -> Field<'_> {
        let column = &self.wanted[i];
        if !column.present.get(self.next).copied().unwrap_or(false) {
            return Field::Missing;
        }
        match &column.values {
            Values::None => Field::Missing,
            Values::Numbers(numbers) => Field::Number(numbers[self.next]),
            Values::Integers(numbers) => Field::Integer(numbers[self.next]),
            Values::Texts { text, ends } => {
                let start = if self.next == 0 {
                    0
                } else {
                    ends[self.next - 1]
                };
                match &text[start..ends[self.next]] {
                    "" => Field::Missing,
                    text => Field::Text(text),
                }
            }
        }
    }

    pub fn row(&self) -> u64 {
        self.row
    }

    /// Decodes the next batch of rows; false if there is none. A batch may be empty.
    fn decode(&mut self) -> Result<bool, TableError> {
        let fault = |error| fault(&self.place, &error);
        if self.left == 0 {
            if self.group == self.file.metadata().num_row_groups() {
                self.batch = 0;
                return Ok(false);
            }
            let group = self.file.get_row_group(self.group).map_err(fault)?;
            self.group += 1;
            self.left = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
            for column in &mut self.wanted {
                // The library takes these for granted.
                let chunk = group.metadata().column(column.leaf);
                let begins = chunk
                    .dictionary_page_offset()
                    .unwrap_or(chunk.data_page_offset());
                if begins < 0 || chunk.compressed_size() < 0 {
                    let what = "a column begins before the file, or has fewer bytes than none";
                    return Err(fault(ParquetError::General(what.to_owned())));
                }
                column.reader = Some(group.get_column_reader(column.leaf).map_err(fault)?);
            }
        }
        self.batch = self.left.min(BATCH);
        for column in &mut self.wanted {
            let decoded = column.decode(self.batch).map_err(fault)?;
            if let Err(what) = decoded {
                let schema = self.file.metadata().file_metadata().schema_descr();
                return Err(TableError::Unfit {
                    place: self.place.clone(),
                    column: schema.column(column.leaf).path().string(),
                    what,
                });
            }
        }
        self.left -= self.batch;
        Ok(true)
    }
}

fn fault(place: &str, error: &ParquetError) -> TableError {
    let mut text = error.to_string();
    if text.contains("Disabled feature") {
        text.push_str(": write the file uncompressed, or compressed with snappy or zstd");
    }
    TableError::Parquet {
        place: place.to_owned(),
        error: text,
    }
}

fn holds(leaf: &ColumnDescriptor) -> Holds {
    match leaf.physical_type() {
        Type::INT32 | Type::INT64 | Type::FLOAT | Type::DOUBLE => match leaf.logical_type_ref() {
            Some(LogicalType::Timestamp(_) | LogicalType::Date | LogicalType::Time(_)) => {
                Holds::Text
            }
            _ => Holds::Numbers,
        },
        _ => Holds::Text,
    }
}

fn reading(leaf: &ColumnDescriptor) -> Reading {
    match leaf.logical_type_ref() {
        Some(LogicalType::Timestamp(timestamp)) => {
            return Reading::Instant(match timestamp.unit {
                TimeUnit::MILLIS => 1_000_000,
                TimeUnit::MICROS => 1_000,
                TimeUnit::NANOS => 1,
            });
        }
        Some(LogicalType::Date) => return Reading::Date,
        _ => {}
    }
    match leaf.converted_type() {
        ConvertedType::TIMESTAMP_MILLIS => Reading::Instant(1_000_000),
        ConvertedType::TIMESTAMP_MICROS => Reading::Instant(1_000),
        ConvertedType::DATE => Reading::Date,
        ConvertedType::UINT_8
        | ConvertedType::UINT_16
        | ConvertedType::UINT_32
        | ConvertedType::UINT_64 => Reading::Unsigned,
        ConvertedType::DECIMAL => Reading::Over(10f64.powi(leaf.type_scale())),
        _ => Reading::AsItIs,
    }
}

impl Column {
    /// Decodes `rows` rows; the inner error says what the column holds that is no cell.
    fn decode(&mut self, rows: usize) -> Result<Result<(), String>, ParquetError> {
        let Some(reader) = &mut self.reader else {
            return Ok(Ok(()));
        };
        let present = &mut self.present;
        let (reading, defined) = (self.reading, self.defined);
        self.values = match reader {
            ColumnReader::DoubleColumnReader(reader) => Values::Numbers({
                let values = read(reader, rows, defined, present)?;
                spread(rows, present, values)
            }),
            ColumnReader::FloatColumnReader(reader) => {
                let values = read(reader, rows, defined, present)?;
                Values::Numbers(spread(rows, present, values.into_iter().map(f64::from)))
            }
            ColumnReader::Int32ColumnReader(reader) => {
                let values = read(reader, rows, defined, present)?.into_iter();
                let whole = values.map(|x| match reading {
                    Reading::Unsigned => i64::from(x.cast_unsigned()),
                    _ => i64::from(x),
                });
                integers(spread(rows, present, whole), reading)
            }
            ColumnReader::Int64ColumnReader(reader) => {
                let values = read(reader, rows, defined, present)?;
                integers(spread(rows, present, values), reading)
            }
            ColumnReader::ByteArrayColumnReader(reader) => {
                let values = read::<ByteArrayType>(reader, rows, defined, present)?;
                let (mut text, mut ends) = (String::new(), Vec::with_capacity(rows));
                let mut values = values.iter();
                for &there in present.iter() {
                    if there && let Some(value) = values.next() {
                        match std::str::from_utf8(value.data()) {
                            Ok(value) if reading == Reading::AsItIs => text.push_str(value),
                            _ => return Ok(Err("bytes".to_owned())),
                        }
                    }
                    ends.push(text.len());
                }
                Values::Texts { text, ends }
            }
            ColumnReader::BoolColumnReader(reader) => {
                let values = read(reader, rows, defined, present)?;
                let (mut text, mut ends) = (String::new(), Vec::with_capacity(rows));
                for truth in spread(rows, present, values) {
                    text.push_str(if truth { "true" } else { "false" });
                    ends.push(text.len());
                }
                Values::Texts { text, ends }
            }
            ColumnReader::Int96ColumnReader(_) => {
                return Ok(Err("times of 96 bits".to_owned()));
            }
            ColumnReader::FixedLenByteArrayColumnReader(_) => {
                return Ok(Err("bytes of a fixed length".to_owned()));
            }
        };
        Ok(Ok(()))
    }
}

fn integers(values: Vec<i64>, reading: Reading) -> Values {
    let beyond = |x: &i64| *x < 0 && reading == Reading::Unsigned;
    match reading {
        Reading::Over(divisor) => {
            Values::Numbers(values.into_iter().map(|x| x as f64 / divisor).collect())
        }
        // Above what a signed number holds; rare enough for the whole batch to become floats.
        Reading::Unsigned if values.iter().any(beyond) => Values::Numbers(
            values
                .into_iter()
                .map(|x| x.cast_unsigned() as f64)
                .collect(),
        ),
        Reading::Instant(_) | Reading::Date => {
            let (mut text, mut ends) = (String::new(), Vec::with_capacity(values.len()));
            for value in values {
                text.push_str(&moment(value, reading).unwrap_or_else(|| value.to_string()));
                ends.push(text.len());
            }
            Values::Texts { text, ends }
        }
        _ => Values::Integers(values),
    }
}

/// An instant or a date as ISO 8601 has it, which sorts as text; none if it is beyond the calendar.
fn moment(value: i64, reading: Reading) -> Option<String> {
    let nanoseconds = match reading {
        Reading::Instant(unit) => i128::from(value) * i128::from(unit),
        _ => i128::from(value) * 86_400_000_000_000,
    };
    let instant = jiff::Timestamp::from_nanosecond(nanoseconds).ok()?;
    Some(match reading {
        Reading::Date => instant.strftime("%Y-%m-%d").to_string(),
        _ => instant.to_string(),
    })
}

/// Reads the values of `rows` rows, and which rows have one.
fn read<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    defined: i16,
    present: &mut Vec<bool>,
) -> Result<Vec<T::T>, ParquetError> {
    let (mut values, mut levels) = (Vec::with_capacity(rows), Vec::new());
    let mut done = 0;
    while done < rows {
        let (records, _, _) =
            reader.read_records(rows - done, Some(&mut levels), None, &mut values)?;
        if records == 0 {
            return Err(ParquetError::General(
                "a column has fewer rows than its row group".to_owned(),
            ));
        }
        done += records;
    }
    present.clear();
    if levels.is_empty() {
        present.resize(rows, true);
    } else {
        present.extend(levels.iter().map(|&level| level == defined));
    }
    // Else a value would stand in another's row, or none where one was measured.
    let promised = present.iter().filter(|there| **there).count();
    if present.len() != rows || values.len() != promised {
        return Err(ParquetError::General(format!(
            "a column says that it has {promised} values in {rows} rows, and has {}",
            values.len()
        )));
    }
    Ok(values)
}

/// Puts the values where their rows are; elsewhere stands what isn't looked at.
fn spread<T: Default>(
    rows: usize,
    present: &[bool],
    values: impl IntoIterator<Item = T>,
) -> Vec<T> {
    let mut values = values.into_iter();
    let mut spread = Vec::with_capacity(rows);
    for &there in present {
        let value = if there { values.next() } else { None };
        spread.push(value.unwrap_or_default());
    }
    spread
}
