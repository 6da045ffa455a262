//! The header of a page, in Thrift's compact protocol.
//!
//! The fields are those of `PageHeader` in
//! <https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift>; what isn't needed is skipped.

use super::{error::PageError, packed::Cursor};

/// Structs, lists and maps within each other; those of a page's header are two deep.
const DEEPEST: usize = 16;

/// What stands before a page.
#[derive(Debug)]
pub(super) struct Header {
    pub kind: Kind,
    /// Bytes in the file, without the header.
    pub compressed: usize,
    /// Bytes when decompressed.
    pub uncompressed: usize,
    /// CRC-32 of the bytes in the file.
    pub checksum: Option<u32>,
}

/// What a page is.
#[derive(Debug, PartialEq)]
pub(super) enum Kind {
    /// The values that the indexes of other pages stand for.
    Dictionary { values: u32, encoding: i32 },
    /// Levels and values, compressed as one.
    Data {
        rows: u32,
        encoding: i32,
        level_encoding: i32,
    },
    /// Levels, and values that are compressed alone.
    DataV2 {
        rows: u32,
        encoding: i32,
        definition: usize,
        repetition: usize,
        compressed: bool,
    },
    /// A page that isn't needed.
    Other,
}

/// Types of the compact protocol.
mod wire {
    pub const TRUE: u8 = 1;
    pub const FALSE: u8 = 2;
    pub const BYTE: u8 = 3;
    pub const I16: u8 = 4;
    pub const I32: u8 = 5;
    pub const I64: u8 = 6;
    pub const DOUBLE: u8 = 7;
    pub const BINARY: u8 = 8;
    pub const LIST: u8 = 9;
    pub const SET: u8 = 10;
    pub const MAP: u8 = 11;
    pub const STRUCT: u8 = 12;
    pub const UUID: u8 = 13;
}

/// The numbers of a struct, by the identifier of their field; `N` is one more than the largest.
struct Fields<const N: usize>([Option<i64>; N]);

impl<const N: usize> Fields<N> {
    fn number(&self, field: usize, name: &'static str) -> Result<i32, PageError> {
        let number = self.0[field].ok_or(PageError::Header(name))?;
        i32::try_from(number).map_err(|_| PageError::implausible(name, number))
    }

    fn count<T: TryFrom<i32>>(&self, field: usize, name: &'static str) -> Result<T, PageError> {
        let number = self.number(field, name)?;
        T::try_from(number).map_err(|_| PageError::implausible(name, number))
    }
}

impl Header {
    /// Reads a header; the cursor is at the page when it is read. [`PageError::Ends`] where there are too few bytes.
    pub fn read(from: &mut Cursor) -> Result<Self, PageError> {
        let (mut data, mut dictionary, mut data_v2) = (None, None, None);
        let page: Fields<5> = read_struct(from, &mut |field, from| {
            match field {
                5 => data = Some(read_struct::<5>(from, &mut skip_none)?),
                7 => dictionary = Some(read_struct::<4>(from, &mut skip_none)?),
                8 => data_v2 = Some(read_struct::<8>(from, &mut skip_none)?),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        let kind = match page.number(1, "it has no type")? {
            0 => {
                let data = data.ok_or(PageError::Header("a data page without its fields"))?;
                Kind::Data {
                    rows: data.count(1, "its number of values")?,
                    encoding: data.number(2, "its encoding")?,
                    level_encoding: data.number(3, "its encoding of levels")?,
                }
            }
            2 => {
                let dictionary =
                    dictionary.ok_or(PageError::Header("a dictionary without its fields"))?;
                Kind::Dictionary {
                    values: dictionary.count(1, "its number of values")?,
                    encoding: dictionary.number(2, "its encoding")?,
                }
            }
            3 => {
                let data = data_v2.ok_or(PageError::Header("a data page without its fields"))?;
                Kind::DataV2 {
                    rows: data.count(1, "its number of values")?,
                    encoding: data.number(4, "its encoding")?,
                    definition: data.count(5, "its length of definition levels")?,
                    repetition: data.count(6, "its length of repetition levels")?,
                    compressed: data.0[7] != Some(0),
                }
            }
            _ => Kind::Other,
        };
        Ok(Self {
            kind,
            uncompressed: page.count(2, "its size")?,
            compressed: page.count(3, "its size in the file")?,
            checksum: page.0[4].map(|sum| sum as u32),
        })
    }
}

fn skip_none(_: i64, _: &mut Cursor) -> Result<bool, PageError> {
    Ok(false)
}

/// Reads a struct: numbers and truths (as 0 or 1) are kept, structs are given to `inner`, which says whether it has read
/// them; the rest is skipped.
fn read_struct<const N: usize>(
    from: &mut Cursor,
    inner: &mut impl FnMut(i64, &mut Cursor) -> Result<bool, PageError>,
) -> Result<Fields<N>, PageError> {
    let mut fields = Fields([None; N]);
    let mut field = 0_i64;
    while let Some(kind) = next_field(from, &mut field)? {
        let slot = usize::try_from(field).ok().filter(|field| *field < N);
        match (kind, slot) {
            (wire::TRUE, Some(slot)) => fields.0[slot] = Some(1),
            (wire::FALSE, Some(slot)) => fields.0[slot] = Some(0),
            (wire::I16 | wire::I32 | wire::I64, Some(slot)) => {
                fields.0[slot] = Some(from.zigzag()?);
            }
            (wire::STRUCT, _) => {
                if !inner(field, from)? {
                    skip(from, kind, DEEPEST)?;
                }
            }
            _ => skip(from, kind, DEEPEST)?,
        }
    }
    Ok(fields)
}

/// The type of a struct's next field, whose identifier is put into `field`; none at the end.
fn next_field(from: &mut Cursor, field: &mut i64) -> Result<Option<u8>, PageError> {
    let head = from.byte()?;
    if head & 0xf == 0 {
        return Ok(None);
    }
    *field = match i64::from(head >> 4) {
        0 => from.zigzag()?,
        more => field.saturating_add(more),
    };
    Ok(Some(head & 0xf))
}

fn skip(from: &mut Cursor, kind: u8, deepest: usize) -> Result<(), PageError> {
    let Some(deeper) = deepest.checked_sub(1) else {
        return Err(PageError::Header("fields within fields without an end"));
    };
    match kind {
        wire::TRUE | wire::FALSE => {}
        wire::BYTE => from.skip(1)?,
        wire::I16 | wire::I32 | wire::I64 => drop(from.varint()?),
        wire::DOUBLE => from.skip(8)?,
        wire::UUID => from.skip(16)?,
        wire::BINARY => {
            let length = from.varint()?;
            from.skip(length)?;
        }
        wire::STRUCT => {
            let mut field = 0;
            while let Some(kind) = next_field(from, &mut field)? {
                skip(from, kind, deeper)?;
            }
        }
        wire::LIST | wire::SET => {
            let head = from.byte()?;
            let count = match head >> 4 {
                15 => from.varint()?,
                count => u64::from(count),
            };
            for _ in 0..count {
                skip_element(from, head & 0xf, deeper)?;
            }
        }
        wire::MAP => {
            let count = from.varint()?;
            if count > 0 {
                let kinds = from.byte()?;
                for _ in 0..count {
                    skip_element(from, kinds >> 4, deeper)?;
                    skip_element(from, kinds & 0xf, deeper)?;
                }
            }
        }
        _ => return Err(PageError::Header("a field of no known type")),
    }
    Ok(())
}

/// Skips an element of a list or map, where truths take a byte. Each element takes one at least.
fn skip_element(from: &mut Cursor, kind: u8, deepest: usize) -> Result<(), PageError> {
    match kind {
        wire::TRUE | wire::FALSE => from.skip(1),
        kind => skip(from, kind, deepest),
    }
}
