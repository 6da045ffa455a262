//! The pages of a column within a row group: read from the file, checked and decompressed.

use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use parquet::{basic::Compression, file::metadata::ColumnChunkMetaData};
use std::{fs::File, io::Read, os::unix::fs::FileExt as _, sync::Arc};

use super::{
    error::PageError,
    header::{Header, Kind},
    packed::{Cursor, Hybrid},
};

/// Bytes that are read for a header at first; it may be longer, because it may hold the least and the largest value.
const HEADER: usize = 1 << 10;
/// The longest header.
const LONGEST_HEADER: usize = 16 << 20;
/// The encoding of levels that is read; the other one was given up in 2013.
const RLE: i32 = 3;

/// The pages of a column that weren't read yet.
#[derive(Debug)]
pub(super) struct Pages {
    file: Arc<File>,
    /// Where the next one begins, and bytes from there to the end of the column.
    at: u64,
    left: u64,
    compression: Compression,
    /// The largest definition level: that of a value that is there.
    defined: u32,
}

/// A page.
#[derive(Debug)]
pub(super) enum Page {
    /// The values that indexes stand for.
    Dictionary {
        values: u32,
        encoding: i32,
        bytes: Bytes,
    },
    /// Values and, where they may be missing, the definition level of each row.
    Data {
        rows: u32,
        levels: Option<Hybrid>,
        encoding: i32,
        bytes: Bytes,
        /// Bytes of memory that it takes.
        memory: usize,
    },
}

impl Pages {
    /// The pages of a chunk in a file of so many bytes.
    pub fn new(
        file: Arc<File>,
        length: u64,
        chunk: &ColumnChunkMetaData,
        defined: u32,
    ) -> Result<Self, PageError> {
        let data = chunk.data_page_offset();
        // Some writers say 0 where there is no dictionary.
        let dictionary = chunk.dictionary_page_offset();
        let dictionary = dictionary.filter(|&offset| offset != 0 && offset < data);
        let (at, left) = (dictionary.unwrap_or(data), chunk.compressed_size());
        let begins = u64::try_from(at);
        let begins = begins.map_err(|_| PageError::implausible("where its column begins", at))?;
        let bytes = u64::try_from(left);
        let bytes = bytes.map_err(|_| PageError::implausible("how long its column is", left))?;
        if begins.checked_add(bytes).is_none_or(|end| end > length) {
            let what = "how long its column is, which is beyond the end of the file";
            return Err(PageError::implausible(what, left));
        }
        Ok(Self {
            file,
            at: begins,
            left: bytes,
            compression: chunk.compression(),
            defined,
        })
    }

    /// The next page, which may take `most` bytes; none at the end of the column.
    pub fn next(&mut self, most: usize) -> Result<Option<Page>, PageError> {
        while self.left > 0 {
            let header = self.header()?;
            if header.compressed as u64 > self.left {
                return Err(PageError::Ends("column"));
            }
            if header.kind == Kind::Other {
                self.pass(header.compressed);
                continue;
            }
            if header.compressed > most || header.uncompressed > most {
                return Err(PageError::TooLarge);
            }
            let bytes = self.read(header.compressed)?;
            self.pass(header.compressed);
            if header
                .checksum
                .is_some_and(|sum| sum != crc32fast::hash(&bytes))
            {
                return Err(PageError::Checksum);
            }
            return self.page(&header, bytes).map(Some);
        }
        Ok(None)
    }

    fn header(&mut self) -> Result<Header, PageError> {
        let mut length = HEADER;
        loop {
            let bytes = self.read(length)?;
            let all = bytes.len() as u64 == self.left;
            let mut from = Cursor::new(bytes, "header");
            match Header::read(&mut from) {
                Err(PageError::Ends(_)) if !all && length < LONGEST_HEADER => length *= 8,
                header => {
                    self.pass(from.position());
                    return header;
                }
            }
        }
    }

    /// Reads so many bytes of the column, or those that are left.
    fn read(&self, length: usize) -> Result<Bytes, PageError> {
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        let mut bytes = vec![0; length.min(left)];
        self.file.read_exact_at(&mut bytes, self.at)?;
        Ok(bytes.into())
    }

    fn pass(&mut self, length: usize) {
        self.at += length as u64;
        self.left -= length as u64;
    }

    fn page(&self, header: &Header, bytes: Bytes) -> Result<Page, PageError> {
        match header.kind {
            Kind::Dictionary { values, encoding } => Ok(Page::Dictionary {
                values,
                encoding,
                bytes: self.decompress(bytes, header.uncompressed)?,
            }),
            Kind::Data {
                rows,
                encoding,
                level_encoding,
            } => {
                let bytes = self.decompress(bytes, header.uncompressed)?;
                let memory = bytes.len();
                let mut from = Cursor::new(bytes, "definition levels");
                let mut levels = None;
                if self.defined > 0 {
                    if level_encoding != RLE {
                        return Err(PageError::Encoding(level_encoding));
                    }
                    let length = from.length()?;
                    levels = Some(self.levels(from.take(length)?)?);
                }
                Ok(Page::Data {
                    rows,
                    levels,
                    encoding,
                    bytes: from.rest(),
                    memory,
                })
            }
            Kind::DataV2 {
                rows,
                encoding,
                definition,
                repetition,
                compressed,
            } => {
                let memory = bytes.len().max(header.uncompressed);
                let mut from = Cursor::new(bytes, "levels");
                // Nothing repeats in columns that are read.
                from.skip(repetition as u64)?;
                let levels = from.take(definition)?;
                let levels = match self.defined {
                    0 => None,
                    _ => Some(self.levels(levels)?),
                };
                let before = repetition + definition;
                let uncompressed = header.uncompressed.checked_sub(before);
                let uncompressed = uncompressed.ok_or(PageError::Ends("levels"))?;
                let mut bytes = from.rest();
                if compressed {
                    bytes = self.decompress(bytes, uncompressed)?;
                }
                Ok(Page::Data {
                    rows,
                    levels,
                    encoding,
                    bytes,
                    memory,
                })
            }
            Kind::Other => Err(PageError::Header("a page that is passed over")),
        }
    }

    fn levels(&self, bytes: Bytes) -> Result<Hybrid, PageError> {
        let width = u32::BITS - self.defined.leading_zeros();
        Hybrid::new(Cursor::new(bytes, "definition levels"), width)
    }

    /// Decompresses to so many bytes, which may have been said by somebody who means ill: no memory is taken that the
    /// compressed bytes can't fill.
    fn decompress(&self, bytes: Bytes, length: usize) -> Result<Bytes, PageError> {
        /// Snappy's best: three bytes stand for 64.
        const MOST_SNAPPY: usize = 22;
        let failed = |error: &dyn std::fmt::Display| PageError::Decompress(error.to_string());
        let wrong =
            || PageError::Decompress(format!("it isn't {length} bytes, as its header says"));
        let read_all = |decoder: &mut dyn Read| {
            let mut decompressed = Vec::new();
            let read = decoder
                .take(length as u64 + 1)
                .read_to_end(&mut decompressed);
            if read.map_err(|error| failed(&error))? != length {
                return Err(wrong());
            }
            Ok(decompressed.into())
        };
        match self.compression {
            Compression::UNCOMPRESSED => Ok(bytes),
            // A page without values has nothing to decompress.
            Compression::SNAPPY | Compression::GZIP(_) | Compression::ZSTD(_) if length == 0 => {
                Ok(Bytes::new())
            }
            Compression::SNAPPY => {
                let says = snap::raw::decompress_len(&bytes).map_err(|error| failed(&error))?;
                if says != length || length / MOST_SNAPPY > bytes.len() {
                    return Err(wrong());
                }
                let mut decompressed = vec![0; length];
                let written = snap::raw::Decoder::new().decompress(&bytes, &mut decompressed);
                if written.map_err(|error| failed(&error))? != length {
                    return Err(wrong());
                }
                Ok(decompressed.into())
            }
            Compression::ZSTD(_) => {
                let decoder = zstd::stream::read::Decoder::with_buffer(&bytes[..]);
                read_all(&mut decoder.map_err(|error| failed(&error))?)
            }
            Compression::GZIP(_) => read_all(&mut MultiGzDecoder::new(&bytes[..])),
            other => Err(PageError::Compression(other.to_string())),
        }
    }
}
