//! Numbers of others, in and out.
//!
//! [`table`] reads and writes tables of numbers, whoever made them: CSV, JSON lines, Parquet, one number a line.
//! [`number_file`] reads the plainest of files: a value a line, or a cell and a value.
//! [`import`] makes trials of what other tools wrote, each format a data file; [`export`] writes a study for others.
//!
//! This room refuses: to guess which direction of a metric is good, to take a file for something that it isn't, to put
//! a number where a table has none, and to hold more of a long table than it needs.

pub mod export;
pub mod import;
pub mod number_file;
pub mod table;
