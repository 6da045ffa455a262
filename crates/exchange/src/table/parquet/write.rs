//! Writes Parquet, a row group at a time, compressed with zstd.

use parquet::{
    basic::{Compression, LogicalType, Repetition, Type, ZstdLevel},
    data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type},
    errors::ParquetError,
    file::{
        properties::WriterProperties,
        writer::{SerializedColumnWriter, SerializedFileWriter},
    },
    schema::types::Type as SchemaType,
};
use std::{io::Write, sync::Arc};

use super::super::{ColumnKind, TableCell};

/// Rows of a group: what is held until it is written.
const GROUP: usize = 1 << 17;

/// A Parquet file that is being written.
pub(in super::super) struct ParquetWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    columns: Vec<Pending>,
    rows: usize,
}

/// The cells of one column that wait for their group to be full.
struct Pending {
    /// 1 where the row has a value, 0 where it is null.
    levels: Vec<i16>,
    values: Values,
}

enum Values {
    Numbers(Vec<f64>),
    Integers(Vec<i64>),
    Texts(Vec<ByteArray>),
}

impl<W: Write + Send> ParquetWriter<W> {
    pub fn new(to: W, columns: &[(&str, ColumnKind)]) -> Result<Self, ParquetError> {
        let field = |&(name, kind): &(&str, ColumnKind)| {
            let physical = match kind {
                ColumnKind::Number => Type::DOUBLE,
                ColumnKind::Integer => Type::INT64,
                ColumnKind::Text => Type::BYTE_ARRAY,
            };
            let logical = (kind == ColumnKind::Text).then_some(LogicalType::String);
            SchemaType::primitive_type_builder(name, physical)
                .with_repetition(Repetition::OPTIONAL)
                .with_logical_type(logical)
                .build()
                .map(Arc::new)
        };
        let fields = columns.iter().map(field).collect::<Result<_, _>>()?;
        let schema = SchemaType::group_type_builder("table")
            .with_fields(fields)
            .build()?;
        let properties = WriterProperties::builder()
            .set_created_by("backsight".to_owned())
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .build();
        Ok(Self {
            file: SerializedFileWriter::new(to, Arc::new(schema), Arc::new(properties))?,
            columns: columns
                .iter()
                .map(|&(_, kind)| Pending::new(kind))
                .collect(),
            rows: 0,
        })
    }

    pub fn row(&mut self, cells: &[TableCell<'_>]) -> Result<(), ParquetError> {
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            column.push(cell)?;
        }
        self.rows += 1;
        if self.rows == GROUP {
            self.flush()?;
        }
        Ok(())
    }

    pub fn finish(mut self) -> Result<W, ParquetError> {
        self.flush()?;
        self.file.into_inner()
    }

    fn flush(&mut self) -> Result<(), ParquetError> {
        if self.rows == 0 {
            return Ok(());
        }
        self.rows = 0;
        let mut group = self.file.next_row_group()?;
        for column in &mut self.columns {
            if let Some(writer) = group.next_column()? {
                column.write(writer)?;
            }
        }
        group.close()?;
        Ok(())
    }
}

impl Pending {
    fn new(kind: ColumnKind) -> Self {
        let values = match kind {
            ColumnKind::Number => Values::Numbers(Vec::new()),
            ColumnKind::Integer => Values::Integers(Vec::new()),
            ColumnKind::Text => Values::Texts(Vec::new()),
        };
        Self {
            levels: Vec::new(),
            values,
        }
    }

    fn push(&mut self, cell: &TableCell<'_>) -> Result<(), ParquetError> {
        match (&mut self.values, cell) {
            (_, TableCell::Missing) => {
                self.levels.push(0);
                return Ok(());
            }
            (Values::Numbers(values), TableCell::Number(number)) => values.push(*number),
            (Values::Numbers(values), TableCell::Integer(number)) => values.push(*number as f64),
            (Values::Integers(values), TableCell::Integer(number)) => values.push(*number),
            (Values::Texts(values), TableCell::Text(text)) => values.push(ByteArray::from(*text)),
            (_, cell) => {
                let what = format!("{cell:?} doesn't fit its column");
                return Err(ParquetError::General(what));
            }
        }
        self.levels.push(1);
        Ok(())
    }

    fn write(&mut self, mut writer: SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        let levels = Some(&self.levels[..]);
        match &self.values {
            Values::Numbers(values) => writer
                .typed::<DoubleType>()
                .write_batch(values, levels, None)?,
            Values::Integers(values) => writer
                .typed::<Int64Type>()
                .write_batch(values, levels, None)?,
            Values::Texts(values) => writer
                .typed::<ByteArrayType>()
                .write_batch(values, levels, None)?,
        };
        self.levels.clear();
        match &mut self.values {
            Values::Numbers(values) => values.clear(),
            Values::Integers(values) => values.clear(),
            Values::Texts(values) => values.clear(),
        }
        writer.close()
    }
}
