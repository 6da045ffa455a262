//! Rows out of the columns of a Parquet file, value by value: only the wanted columns are read, and a page of each is held.
//!
//! Columns that repeat within a row, binary columns and damaged files are errors.

use parquet::{
    basic::{ConvertedType, LogicalType, TimeUnit, Type},
    errors::ParquetError,
    file::metadata::{ParquetMetaData, ParquetMetaDataReader},
    schema::types::ColumnDescriptor,
};
use std::{fs::File, sync::Arc};

use super::{
    super::{
        Body, ColumnContent, TableError, TableField, TableReader, error::FilePosition,
        lines::LONGEST,
    },
    MOST_HELD,
    error::PageError,
    packed::Hybrid,
    page::{Page, Pages},
    values::{Dictionary, Physical, Value, Values},
};

/// Rows of a Parquet file.
pub(in super::super) struct ParquetRows {
    file: Arc<File>,
    /// Bytes of the file.
    length: u64,
    metadata: ParquetMetaData,
    place: String,
    /// Which leaf of the schema each column of the table is.
    leaves: Vec<usize>,
    wanted: Vec<Column>,
    /// The row group that is read next.
    group: usize,
    /// Rows of the current group that weren't given yet.
    left: u64,
    /// Rows that were given so far.
    row: u64,
}

impl std::fmt::Debug for ParquetRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at row {}", self.place, self.row)
    }
}

/// A column that is read.
struct Column {
    leaf: usize,
    name: String,
    physical: Physical,
    /// How whole numbers are to be understood.
    reading: ReadOptions,
    /// The definition level of a value that is there; lower ones are missing, here or above.
    defined: u32,
    /// The pages of the current row group.
    pages: Option<Pages>,
    dictionary: Option<Dictionary>,
    page: DataPage,
    /// The value of the current row, and its text where it is one.
    cell: TableCell,
    text: String,
}

/// The page of values that is read.
struct DataPage {
    /// Rows that weren't given yet.
    rows: u32,
    levels: Option<Hybrid>,
    values: Values,
    memory: usize,
}

impl DataPage {
    const NONE: Self = Self {
        rows: 0,
        levels: None,
        values: Values::None,
        memory: 0,
    };
}

#[derive(Debug, Clone, Copy)]
enum TableCell {
    Missing,
    Number(f64),
    Integer(i64),
    Text,
}

/// Why a column can't be read.
enum ColumnError {
    /// It is damaged, or of a kind that isn't read.
    Page(PageError),
    /// It has fewer rows than its row group.
    FewerRows,
    /// It has more rows than its row group.
    MoreRows,
    /// It holds this, which is no cell.
    Unfit(&'static str),
}

impl From<PageError> for ColumnError {
    fn from(error: PageError) -> Self {
        Self::Page(error)
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum ReadOptions {
    AsItIs,
    Unsigned,
    /// A decimal: to be divided by this.
    Over(f64),
    /// An instant, in units of so many nanoseconds since 1970.
    Instant(i64),
    /// A time of day, in units of so many nanoseconds.
    TimeOfDay(i64),
    /// A date, in days since 1970.
    Date,
}

impl ParquetRows {
    pub fn open(file: File, place: String) -> Result<TableReader, TableError> {
        let damaged = |error: String| TableError::Parquet {
            place: place.clone(),
            error,
        };
        let length = file.metadata().map_err(|error| TableError::Unreadable {
            place: place.clone(),
            error,
        })?;
        let metadata = ParquetMetaDataReader::new().parse_and_finish(&file);
        let metadata = metadata.map_err(|error: ParquetError| damaged(error.to_string()))?;
        let mut groups = metadata.row_groups().iter();
        let groups = groups.try_fold(0_i64, |sum, group| match group.num_rows() {
            rows @ 0.. => sum.checked_add(rows),
            _ => None,
        });
        let rows = metadata.file_metadata().num_rows();
        if groups != Some(rows) {
            let what = format!("it says that it has {rows} rows, and its row groups say otherwise");
            return Err(damaged(what));
        }
        let schema = metadata.file_metadata().schema_descr();
        let leaves: Vec<usize> = (0..schema.num_columns())
            .filter(|&i| schema.column(i).max_rep_level() == 0)
            .collect();
        let columns = leaves.iter().map(|&i| schema.column(i).path().string());
        let columns = columns.collect();
        let holds = leaves.iter().map(|&i| holds(&schema.column(i))).collect();
        Ok(TableReader {
            columns,
            holds,
            place: place.clone(),
            body: Body::Parquet(Box::new(Self {
                file: Arc::new(file),
                length: length.len(),
                metadata,
                place,
                leaves,
                wanted: Vec::new(),
                group: 0,
                left: 0,
                row: 0,
            })),
        })
    }

    /// Chooses the columns that are read.
    ///
    /// # Errors
    /// One of them can't be cells.
    pub fn select(&mut self, wanted: &[usize]) -> Result<(), TableError> {
        let schema = self.metadata.file_metadata().schema_descr();
        let column = |&i: &usize| {
            let leaf = self.leaves[i];
            let description = schema.column(leaf);
            let name = description.path().string();
            let Some(physical) = Physical::new(description.physical_type()) else {
                let what = match description.physical_type() {
                    Type::INT96 => "times of 96 bits",
                    _ => "bytes of a fixed length",
                };
                return Err(self.unfit(name, what));
            };
            let reading = reading(&description);
            if physical == Physical::Text && reading != ReadOptions::AsItIs {
                return Err(self.unfit(name, "bytes"));
            }
            Ok(Column {
                leaf,
                name,
                physical,
                reading,
                defined: u32::try_from(description.max_def_level()).unwrap_or(0),
                pages: None,
                dictionary: None,
                page: DataPage::NONE,
                cell: TableCell::Missing,
                text: String::new(),
            })
        };
        self.wanted = wanted.iter().map(column).collect::<Result<_, _>>()?;
        Ok(())
    }

    pub fn advance(&mut self) -> Result<bool, TableError> {
        while self.left == 0 {
            let Some(group) = self.metadata.row_groups().get(self.group) else {
                return Ok(false);
            };
            self.group += 1;
            // Whoever opened the file has refused negative ones.
            self.left = u64::try_from(group.num_rows()).unwrap_or(0);
            for i in 0..self.wanted.len() {
                self.begin_group(i).map_err(|error| self.fault(i, error))?;
            }
        }
        self.left -= 1;
        self.row += 1;
        for i in 0..self.wanted.len() {
            while self.wanted[i].page.rows == 0 {
                self.read_page(i).map_err(|error| self.fault(i, error))?;
            }
            let stepped = self.wanted[i].step();
            stepped.map_err(|error| self.fault(i, error))?;
        }
        Ok(true)
    }

    pub fn field(&self, i: usize) -> TableField<'_> {
        let column = &self.wanted[i];
        match column.cell {
            TableCell::Number(number) => TableField::Number(number),
            TableCell::Integer(number) => TableField::Integer(number),
            TableCell::Text if !column.text.is_empty() => TableField::Text(&column.text),
            TableCell::Text | TableCell::Missing => TableField::Missing,
        }
    }

    pub fn row(&self) -> u64 {
        self.row
    }

    /// Goes to the pages that a column has in the current row group.
    fn begin_group(&mut self, i: usize) -> Result<(), ColumnError> {
        let group = self.group - 1;
        let column = &mut self.wanted[i];
        let chunk = self.metadata.row_groups().get(group);
        let chunk = chunk.and_then(|group| group.columns().get(column.leaf));
        let chunk = chunk.ok_or(ColumnError::FewerRows)?;
        column.dictionary = None;
        column.page = DataPage::NONE;
        let file = Arc::clone(&self.file);
        column.pages = Some(Pages::new(file, self.length, chunk, column.defined)?);
        Ok(())
    }

    /// Reads a page of a column.
    fn read_page(&mut self, i: usize) -> Result<(), ColumnError> {
        self.wanted[i].page = DataPage::NONE;
        let memory: usize = self.wanted.iter().map(Column::memory).sum();
        let column = &mut self.wanted[i];
        let pages = column.pages.as_mut().ok_or(ColumnError::FewerRows)?;
        match pages.next(MOST_HELD.saturating_sub(memory))? {
            None => Err(ColumnError::FewerRows),
            Some(Page::Dictionary {
                values,
                encoding,
                bytes,
            }) => {
                let dictionary = Dictionary::new(column.physical, encoding, bytes, values)?;
                column.dictionary = Some(dictionary);
                Ok(())
            }
            // The row that is read now has been taken from those that are left.
            Some(Page::Data { rows, .. }) if u64::from(rows) > self.left + 1 => {
                Err(ColumnError::MoreRows)
            }
            Some(Page::Data {
                rows,
                levels,
                encoding,
                bytes,
                memory,
            }) => {
                column.page = DataPage {
                    rows,
                    levels,
                    values: Values::new(column.physical, encoding, bytes)?,
                    memory,
                };
                Ok(())
            }
        }
    }

    fn fault(&self, i: usize, error: ColumnError) -> TableError {
        let name = self.wanted[i].name.clone();
        let what = match error {
            ColumnError::Unfit(what) => return self.unfit(name, what),
            ColumnError::Page(error) => {
                format!("it is damaged, or of a kind that isn't read: {error}")
            }
            ColumnError::FewerRows => {
                "it is damaged: it has fewer rows than its row group".to_owned()
            }
            ColumnError::MoreRows => {
                "it is damaged: it has more rows than its row group".to_owned()
            }
        };
        TableError::Broken {
            place: self.place.clone(),
            at: FilePosition::Row(self.row),
            column: Some(name),
            what,
        }
    }

    fn unfit(&self, column: String, what: &str) -> TableError {
        TableError::Unfit {
            place: self.place.clone(),
            column,
            what: what.to_owned(),
        }
    }
}

fn holds(leaf: &ColumnDescriptor) -> ColumnContent {
    match leaf.physical_type() {
        Type::INT32 | Type::INT64 | Type::FLOAT | Type::DOUBLE => match leaf.logical_type_ref() {
            Some(LogicalType::Timestamp(_) | LogicalType::Date | LogicalType::Time(_)) => {
                ColumnContent::Text
            }
            _ => ColumnContent::Numbers,
        },
        _ => ColumnContent::Text,
    }
}

fn reading(leaf: &ColumnDescriptor) -> ReadOptions {
    let nanoseconds = |unit: &TimeUnit| match unit {
        TimeUnit::MILLIS => 1_000_000,
        TimeUnit::MICROS => 1_000,
        TimeUnit::NANOS => 1,
    };
    match leaf.logical_type_ref() {
        Some(LogicalType::Timestamp(timestamp)) => {
            return ReadOptions::Instant(nanoseconds(&timestamp.unit));
        }
        Some(LogicalType::Time(time)) => return ReadOptions::TimeOfDay(nanoseconds(&time.unit)),
        Some(LogicalType::Date) => return ReadOptions::Date,
        _ => {}
    }
    match leaf.converted_type() {
        ConvertedType::TIMESTAMP_MILLIS => ReadOptions::Instant(1_000_000),
        ConvertedType::TIMESTAMP_MICROS => ReadOptions::Instant(1_000),
        ConvertedType::TIME_MILLIS => ReadOptions::TimeOfDay(1_000_000),
        ConvertedType::TIME_MICROS => ReadOptions::TimeOfDay(1_000),
        ConvertedType::DATE => ReadOptions::Date,
        ConvertedType::UINT_8
        | ConvertedType::UINT_16
        | ConvertedType::UINT_32
        | ConvertedType::UINT_64 => ReadOptions::Unsigned,
        ConvertedType::DECIMAL => ReadOptions::Over(10f64.powi(leaf.type_scale())),
        _ => ReadOptions::AsItIs,
    }
}

impl Column {
    /// Bytes of memory that it takes.
    fn memory(&self) -> usize {
        let dictionary = self.dictionary.as_ref().map_or(0, Dictionary::memory);
        self.page.memory + dictionary
    }

    /// Goes to the next row of the page.
    fn step(&mut self) -> Result<(), ColumnError> {
        self.page.rows -= 1;
        self.text.clear();
        self.cell = TableCell::Missing;
        if let Some(levels) = &mut self.page.levels {
            let level = levels.next()?;
            if level > self.defined {
                let what = "a definition level that its column doesn't have";
                return Err(PageError::implausible(what, level).into());
            }
            if level < self.defined {
                return Ok(());
            }
        }
        self.cell = match self.page.values.next(self.dictionary.as_ref())? {
            Value::Number(number) => TableCell::Number(number),
            Value::Truth(truth) => {
                self.text.push_str(if truth { "true" } else { "false" });
                TableCell::Text
            }
            Value::Integer(number) => self.integer(number),
            Value::Bytes(bytes) => {
                if bytes.len() > LONGEST {
                    return Err(PageError::implausible("how long a text is", bytes.len()).into());
                }
                let text = std::str::from_utf8(bytes);
                self.text
                    .push_str(text.map_err(|_| ColumnError::Unfit("bytes"))?);
                TableCell::Text
            }
        };
        Ok(())
    }

    fn integer(&mut self, number: i64) -> TableCell {
        match self.reading {
            ReadOptions::AsItIs => TableCell::Integer(number),
            ReadOptions::Unsigned if self.physical == Physical::Int32 => {
                TableCell::Integer((number as u32).into())
            }
            // Above what a signed number holds.
            ReadOptions::Unsigned if number < 0 => TableCell::Number(number.cast_unsigned() as f64),
            ReadOptions::Unsigned => TableCell::Integer(number),
            ReadOptions::Over(divisor) => TableCell::Number(number as f64 / divisor),
            ReadOptions::Instant(_) | ReadOptions::TimeOfDay(_) | ReadOptions::Date => {
                let moment = moment(number, self.reading);
                self.text = moment.unwrap_or_else(|| number.to_string());
                TableCell::Text
            }
        }
    }
}

/// An instant, a time of day or a date as ISO 8601 has it, which sorts as text; none if it is beyond the calendar.
fn moment(value: i64, reading: ReadOptions) -> Option<String> {
    let nanoseconds = match reading {
        ReadOptions::Instant(unit) | ReadOptions::TimeOfDay(unit) => {
            i128::from(value) * i128::from(unit)
        }
        _ => i128::from(value) * 86_400_000_000_000,
    };
    let instant = jiff::Timestamp::from_nanosecond(nanoseconds).ok()?;
    Some(match reading {
        ReadOptions::Date => instant.strftime("%Y-%m-%d").to_string(),
        ReadOptions::TimeOfDay(_) => instant.strftime("%H:%M:%S%.f").to_string(),
        _ => instant.to_string(),
    })
}
