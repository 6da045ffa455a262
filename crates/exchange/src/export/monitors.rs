//! What samplers saw, a row for each value: trial, host, monitor, series, instant, value.

use super::{ExportError, ExportFormat, table_format};
use crate::table::{ColumnKind, TableCell, TableOutput, TableWriter};
use backsight_catalog::sampled_series::{MISSING, SampledSeries};

const COLUMNS: &[(&str, ColumnKind)] = &[
    ("trial", ColumnKind::Integer),
    ("host", ColumnKind::Text),
    ("monitor", ColumnKind::Text),
    ("series", ColumnKind::Text),
    ("at_ns", ColumnKind::Integer),
    ("value", ColumnKind::Integer),
];

/// Writes the series of samplers, one after the other.
pub struct MonitorWriter {
    writer: TableWriter,
    values: u64,
}

impl MonitorWriter {
    /// Begins a table in this format.
    ///
    /// # Errors
    /// The format is no table; it can't be written.
    pub fn new(form: ExportFormat, out: TableOutput) -> Result<Self, ExportError> {
        let format = table_format(form).ok_or(ExportError::NoTable(form.name()))?;
        Ok(Self {
            writer: TableWriter::new(out, format, COLUMNS)?,
            values: 0,
        })
    }

    /// Writes what one monitor saw on a host in a trial: each series whole, in the order of time.
    ///
    /// # Errors
    /// It can't be written.
    pub fn write(
        &mut self,
        trial: u32,
        host: &str,
        monitor: &str,
        sampled: &SampledSeries,
    ) -> Result<(), ExportError> {
        for (name, values) in &sampled.series {
            let there = sampled.at_ns.iter().zip(values);
            for (at, value) in there.filter(|(_, value)| **value != MISSING) {
                self.writer.row(&[
                    TableCell::Integer(i64::from(trial)),
                    TableCell::Text(host),
                    TableCell::Text(monitor),
                    TableCell::Text(name),
                    TableCell::Integer(i64::try_from(*at).unwrap_or(i64::MAX)),
                    TableCell::Integer(*value),
                ])?;
                self.values += 1;
            }
        }
        Ok(())
    }

    /// Whether it has no value yet. A file that isn't finished isn't there.
    pub fn is_empty(&self) -> bool {
        self.values == 0
    }

    /// Ends the table; how many values it has.
    ///
    /// # Errors
    /// It can't be written.
    pub fn finish(self) -> Result<u64, ExportError> {
        self.writer.finish()?;
        Ok(self.values)
    }
}
