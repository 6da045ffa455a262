//! Numbers of others, in and out.
//!
//! [`table`] reads and writes tables of numbers, whoever made them: CSV, JSON lines, Parquet, one number a line.
//! [`number_file`] reads the plainest of files: a value a line, or a cell and a value.
//! [`inventory`] makes labs of lists of hosts that other tools have.
//! [`import`] makes trials of what other tools wrote, each format a data file; [`export`] writes a study for others.
//!
//! Directions of metrics are never guessed, an empty cell never becomes a number, and only the necessary part of a long table is
//! held.
//!
//! ```
//! use backsight_exchange::table::{ColumnRoles, ReadOptions, TableReader, series};
//!
//! let text = "version,seconds\nv1.0,2.5\nv1.1,\nv1.2,2.75\n";
//! let table = TableReader::from_lines(text.as_bytes(), "times.csv", ReadOptions::default())?;
//! let all: Vec<_> = series(table, &ColumnRoles::default())?.collect::<Result<_, _>>()?;
//! assert_eq!((all[0].values.as_slice(), all[0].missing), ([2.5, 2.75].as_slice(), 1));
//! # Ok::<(), backsight_exchange::table::TableError>(())
//! ```

pub mod export;
pub mod import;
pub mod inventory;
pub mod number_file;
pub mod table;
