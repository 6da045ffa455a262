//! Parquet: [`ParquetRows`] reads, [`ParquetWriter`] writes.
//!
//! The library reads the footer and writes files. Pages are read here, because the library takes lengths, counts and indexes
//! of a page for granted, and panics where they are damaged. Every length is checked here against the bytes that are there,
//! and memory is bounded: at most [`MOST_HELD`] bytes of pages, for all columns together.
//!
//! - `header`: what stands before a page.
//! - `page`: the pages of a column, unpacked.
//! - `packed`: whole numbers as pages pack them.
//! - `values`: the values of a page, one after the other.
//! - `rows`: rows out of columns.

mod error;
mod header;
mod packed;
mod page;
mod rows;
#[cfg(test)]
mod tests;
mod values;
mod write;

pub(super) use rows::ParquetRows;
pub(super) use write::ParquetWriter;

/// Bytes of pages that are held at once, for all columns that are read.
const MOST_HELD: usize = 512 << 20;
