//! Writes tables row by row, into a file that appears whole or not at all, or to standard output.
//!
//! A number that isn't finite is an error: what wasn't measured is [`TableCell::Missing`].

use std::{
    fs::File,
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};
use tempfile::NamedTempFile;

use super::{ColumnKind, TableCell, TableError, TableFormat, parquet::ParquetWriter};

/// Where bytes go.
#[derive(Debug)]
pub enum TableOutput {
    /// A file that gets its name when all of it is there.
    File {
        /// Its name.
        path: PathBuf,
        /// What there is of it.
        file: BufWriter<NamedTempFile>,
    },
    /// Standard output.
    Stdout(BufWriter<std::io::Stdout>),
    /// What is no file, such as a pipe that has a name: it is written into as it is.
    Device {
        /// Its name.
        path: PathBuf,
        /// Open for writing.
        file: BufWriter<File>,
    },
}

impl TableOutput {
    /// A file, or standard output if there is no path.
    ///
    /// # Errors
    /// The folder can't be written.
    pub fn to(path: Option<&Path>) -> Result<Self, TableError> {
        let Some(path) = path else {
            return Ok(Self::Stdout(BufWriter::new(std::io::stdout())));
        };
        if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            let file = File::options().write(true).open(path);
            let file = file.map_err(|error| unwritable(&path.display(), &error))?;
            return Ok(Self::Device {
                path: path.to_owned(),
                file: BufWriter::new(file),
            });
        }
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        // As readable as a file that was made in the usual way.
        let mut builder = tempfile::Builder::new();
        builder.prefix(".backsight-");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        let file = builder
            .tempfile_in(folder.unwrap_or(Path::new(".")))
            .map_err(|error| unwritable(&path.display(), &error))?;
        Ok(Self::File {
            path: path.to_owned(),
            file: BufWriter::with_capacity(1 << 16, file),
        })
    }

    fn place(&self) -> String {
        match self {
            Self::File { path, .. } | Self::Device { path, .. } => path.display().to_string(),
            Self::Stdout(_) => "to standard output".to_owned(),
        }
    }

    /// Makes it last: a file gets its name.
    ///
    /// # Errors
    /// The disk is full, or the like.
    pub fn finish(mut self) -> Result<(), TableError> {
        let place = self.place();
        let fault = |error: std::io::Error| unwritable(&place, &error);
        self.flush().map_err(fault)?;
        if let Self::File { path, file } = self {
            let file = file
                .into_inner()
                .map_err(|error| fault(error.into_error()))?;
            file.persist(path).map_err(|error| fault(error.error))?;
        }
        Ok(())
    }
}

impl Write for TableOutput {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Self::File { file, .. } => file.write(bytes),
            Self::Device { file, .. } => file.write(bytes),
            Self::Stdout(out) => unless_gone(out.write(bytes), bytes.len()),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Self::File { file, .. } => file.flush(),
            Self::Device { file, .. } => file.flush(),
            Self::Stdout(out) => unless_gone(out.flush(), ()),
        }
    }
}

/// A reader that has seen enough (`| head`) is no fault.
fn unless_gone<T>(result: std::io::Result<T>, instead: T) -> std::io::Result<T> {
    match result {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(instead),
        result => result,
    }
}

/// A table that is being written.
pub struct TableWriter {
    place: String,
    columns: usize,
    form: ExportFormat,
}

enum ExportFormat {
    Delimited(Box<csv::Writer<TableOutput>>),
    JsonLines {
        out: TableOutput,
        names: Vec<String>,
    },
    Parquet(Box<ParquetWriter<TableOutput>>),
}

impl TableWriter {
    /// Begins a table with these columns.
    ///
    /// # Errors
    /// It can't be written.
    pub fn new(
        out: TableOutput,
        format: TableFormat,
        columns: &[(&str, ColumnKind)],
    ) -> Result<Self, TableError> {
        let place = out.place();
        let names = columns.iter().map(|(name, _)| *name);
        let form = match format {
            TableFormat::Csv | TableFormat::Tsv => {
                let delimiter = if format == TableFormat::Csv {
                    b','
                } else {
                    b'\t'
                };
                let mut writer = csv::WriterBuilder::new()
                    .delimiter(delimiter)
                    .from_writer(out);
                writer
                    .write_record(names)
                    .map_err(|error| unwritable(&place, &error))?;
                ExportFormat::Delimited(Box::new(writer))
            }
            TableFormat::JsonLines => ExportFormat::JsonLines {
                out,
                names: names
                    .map(|name| serde_json::Value::from(name).to_string())
                    .collect(),
            },
            TableFormat::Parquet => ExportFormat::Parquet(Box::new(
                ParquetWriter::new(out, columns).map_err(|error| unwritable(&place, &error))?,
            )),
        };
        Ok(Self {
            place,
            columns: columns.len(),
            form,
        })
    }

    /// Writes a row, a cell a column.
    ///
    /// # Errors
    /// It can't be written, has another number of cells than there are columns, or a number that isn't finite.
    pub fn row(&mut self, cells: &[TableCell<'_>]) -> Result<(), TableError> {
        let refused = |what: String| TableError::Unwritable {
            place: self.place.clone(),
            error: what,
        };
        if cells.len() != self.columns {
            let (has, wants) = (cells.len(), self.columns);
            return Err(refused(format!("a row of {has} cells for {wants} columns")));
        }
        let endless = cells.iter().find_map(|cell| match cell {
            TableCell::Number(number) if !number.is_finite() => Some(*number),
            _ => None,
        });
        if let Some(number) = endless {
            return Err(refused(format!("{number} is no measured value")));
        }
        let written = match &mut self.form {
            ExportFormat::Delimited(writer) => delimited(writer, cells).map_err(|e| e.to_string()),
            ExportFormat::JsonLines { out, names } => {
                object(out, names, cells).map_err(|e| e.to_string())
            }
            ExportFormat::Parquet(writer) => writer.row(cells).map_err(|e| e.to_string()),
        };
        written.map_err(|error| TableError::Unwritable {
            place: self.place.clone(),
            error,
        })
    }

    /// Ends the table: a file gets its name.
    ///
    /// # Errors
    /// It can't be written; nothing is left of a file.
    pub fn finish(self) -> Result<(), TableError> {
        let place = &self.place;
        let out = match self.form {
            ExportFormat::Delimited(writer) => writer
                .into_inner()
                .map_err(|error| unwritable(place, error.error()))?,
            ExportFormat::JsonLines { out, .. } => out,
            ExportFormat::Parquet(writer) => {
                writer.finish().map_err(|error| unwritable(place, &error))?
            }
        };
        out.finish()
    }
}

fn delimited(
    writer: &mut csv::Writer<TableOutput>,
    cells: &[TableCell<'_>],
) -> Result<(), csv::Error> {
    for cell in cells {
        match cell {
            TableCell::Missing => writer.write_field(b"")?,
            TableCell::Number(number) => writer.write_field(shortest(*number))?,
            TableCell::Integer(number) => writer.write_field(number.to_string())?,
            TableCell::Text(text) => writer.write_field(text)?,
        }
    }
    writer.write_record(None::<&[u8]>)
}

/// The shortest text that is read back as the same number.
fn shortest(number: f64) -> String {
    if number == 0.0 || (1e-5..1e16).contains(&number.abs()) {
        number.to_string()
    } else {
        format!("{number:e}")
    }
}

fn object(out: &mut TableOutput, names: &[String], cells: &[TableCell<'_>]) -> std::io::Result<()> {
    for (i, (name, cell)) in names.iter().zip(cells).enumerate() {
        let before = if i == 0 { '{' } else { ',' };
        write!(out, "{before}{name}:")?;
        match cell {
            TableCell::Missing => out.write_all(b"null")?,
            TableCell::Number(number) => serde_json::to_writer(&mut *out, number)?,
            TableCell::Integer(number) => write!(out, "{number}")?,
            TableCell::Text(text) => serde_json::to_writer(&mut *out, text)?,
        }
    }
    out.write_all(b"}\n")
}

fn unwritable(place: &dyn std::fmt::Display, error: &dyn std::fmt::Display) -> TableError {
    TableError::Unwritable {
        place: place.to_string(),
        error: error.to_string(),
    }
}
