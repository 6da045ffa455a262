//! The values of a page, one after the other, and the dictionary that they may stand in.
//!
//! Source: <https://github.com/apache/parquet-format/blob/master/Encodings.md>.

use bytes::Bytes;
use parquet::basic::Type;

use super::{
    super::lines::LONGEST,
    error::PageError,
    packed::{Cursor, Deltas, Hybrid},
};

/// The types that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Physical {
    Truth,
    Int32,
    Int64,
    Float,
    Double,
    Text,
}

/// A value as it is stored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value<'a> {
    Truth(bool),
    Integer(i64),
    Number(f64),
    Bytes(&'a [u8]),
}

/// How values are encoded; the numbers are those of the format.
mod encoding {
    pub const PLAIN: i32 = 0;
    pub const PLAIN_DICTIONARY: i32 = 2;
    pub const RLE: i32 = 3;
    pub const DELTA_BINARY_PACKED: i32 = 5;
    pub const DELTA_LENGTH_BYTE_ARRAY: i32 = 6;
    pub const DELTA_BYTE_ARRAY: i32 = 7;
    pub const RLE_DICTIONARY: i32 = 8;
    pub const BYTE_STREAM_SPLIT: i32 = 9;
}

const WHAT: &str = "values";

impl Physical {
    /// The type of a column, if it is read.
    pub fn new(kind: Type) -> Option<Self> {
        Some(match kind {
            Type::BOOLEAN => Self::Truth,
            Type::INT32 => Self::Int32,
            Type::INT64 => Self::Int64,
            Type::FLOAT => Self::Float,
            Type::DOUBLE => Self::Double,
            Type::BYTE_ARRAY => Self::Text,
            Type::INT96 | Type::FIXED_LEN_BYTE_ARRAY => return None,
        })
    }

    /// Bytes of a value, where all have as many.
    fn width(self) -> Option<usize> {
        match self {
            Self::Int32 | Self::Float => Some(4),
            Self::Int64 | Self::Double => Some(8),
            Self::Truth | Self::Text => None,
        }
    }

    /// The value in the first bytes; none where there are too few.
    fn fixed(self, bytes: &[u8]) -> Option<Value<'static>> {
        Some(match self {
            Self::Int32 => Value::Integer(i32::from_le_bytes(*bytes.first_chunk()?).into()),
            Self::Int64 => Value::Integer(i64::from_le_bytes(*bytes.first_chunk()?)),
            Self::Float => Value::Number(f32::from_le_bytes(*bytes.first_chunk()?).into()),
            Self::Double => Value::Number(f64::from_le_bytes(*bytes.first_chunk()?)),
            Self::Truth | Self::Text => return None,
        })
    }
}

/// The values that indexes stand for.
#[derive(Debug)]
pub(super) struct Dictionary {
    kind: Physical,
    bytes: Bytes,
    values: u32,
    /// Where the length of each text stands; empty for other types.
    texts: Vec<u32>,
}

impl Dictionary {
    pub fn new(
        kind: Physical,
        encoding: i32,
        bytes: Bytes,
        values: u32,
    ) -> Result<Self, PageError> {
        if !matches!(encoding, encoding::PLAIN | encoding::PLAIN_DICTIONARY) {
            return Err(PageError::Encoding(encoding));
        }
        let mut texts = Vec::new();
        match kind.width() {
            Some(width) => {
                if (bytes.len() / width) < values as usize {
                    return Err(PageError::Ends("dictionary"));
                }
            }
            None if kind == Physical::Text => {
                let mut from = Cursor::new(bytes.clone(), "dictionary");
                for _ in 0..values {
                    // A page has fewer bytes than that, as its size is a number of 32 bits.
                    texts.push(from.position() as u32);
                    let length = from.length()?;
                    from.skip(length as u64)?;
                }
            }
            None => return Err(PageError::Encoding(encoding::PLAIN_DICTIONARY)),
        }
        Ok(Self {
            kind,
            bytes,
            values,
            texts,
        })
    }

    /// Bytes of memory that it takes.
    pub fn memory(&self) -> usize {
        self.bytes.len() + size_of_val(&self.texts[..])
    }

    fn get(&self, index: u32) -> Result<Value<'_>, PageError> {
        let beyond = || {
            let what = "which value of its dictionary is meant, which has fewer";
            PageError::implausible(what, index)
        };
        if index >= self.values {
            return Err(beyond());
        }
        match self.kind.width() {
            Some(width) => {
                let bytes = self.bytes.get(index as usize * width..);
                bytes
                    .and_then(|bytes| self.kind.fixed(bytes))
                    .ok_or_else(beyond)
            }
            None => {
                let begins = self.texts.get(index as usize).ok_or_else(beyond)?;
                let mut at = *begins as usize;
                Ok(Value::Bytes(plain_text(&self.bytes, &mut at)?))
            }
        }
    }
}

/// The text at `at`, behind its length in four bytes.
fn plain_text<'a>(bytes: &'a [u8], at: &mut usize) -> Result<&'a [u8], PageError> {
    let ends = PageError::Ends(WHAT);
    let Some((length, rest)) = bytes.get(*at..).and_then(<[u8]>::split_first_chunk::<4>) else {
        return Err(ends);
    };
    let text = rest
        .get(..u32::from_le_bytes(*length) as usize)
        .ok_or(ends)?;
    *at += 4 + text.len();
    Ok(text)
}

/// The values of a page that weren't given yet.
#[derive(Debug)]
pub(super) enum Values {
    /// None: a page in which all are missing may have no bytes.
    None,
    Plain {
        kind: Physical,
        bytes: Bytes,
        at: usize,
    },
    /// Truths, a bit each.
    Bits {
        bytes: Bytes,
        at: usize,
    },
    /// Truths in runs.
    Truths(Hybrid),
    Indexes(Hybrid),
    Deltas {
        kind: Physical,
        deltas: Deltas,
    },
    /// Texts one after the other, and their lengths.
    Lengths {
        lengths: Deltas,
        bytes: Bytes,
        at: usize,
    },
    /// Texts without what each has in common with the one before.
    Prefixes {
        prefixes: Deltas,
        suffixes: Deltas,
        bytes: Bytes,
        at: usize,
        text: Vec<u8>,
    },
    /// The first bytes of all numbers, then the second ones.
    Split {
        kind: Physical,
        width: usize,
        bytes: Bytes,
        next: usize,
    },
}

impl Values {
    pub fn new(kind: Physical, encoding: i32, bytes: Bytes) -> Result<Self, PageError> {
        if bytes.is_empty() {
            return Ok(Self::None);
        }
        Ok(match (encoding, kind) {
            (encoding::PLAIN, Physical::Truth) => Self::Bits { bytes, at: 0 },
            (encoding::PLAIN, _) => Self::Plain { kind, bytes, at: 0 },
            (encoding::PLAIN_DICTIONARY | encoding::RLE_DICTIONARY, _) => {
                let mut from = Cursor::new(bytes, WHAT);
                let width = from.byte()?;
                Self::Indexes(Hybrid::new(Cursor::new(from.rest(), WHAT), width.into())?)
            }
            (encoding::RLE, Physical::Truth) => {
                let mut from = Cursor::new(bytes, WHAT);
                let length = from.length()?;
                Self::Truths(Hybrid::new(Cursor::new(from.take(length)?, WHAT), 1)?)
            }
            (encoding::DELTA_BINARY_PACKED, Physical::Int32 | Physical::Int64) => Self::Deltas {
                kind,
                deltas: Deltas::new(Cursor::new(bytes, WHAT))?,
            },
            (encoding::DELTA_LENGTH_BYTE_ARRAY, Physical::Text) => {
                let (lengths, rest) = deltas_and_rest(bytes)?;
                Self::Lengths {
                    lengths,
                    bytes: rest,
                    at: 0,
                }
            }
            (encoding::DELTA_BYTE_ARRAY, Physical::Text) => {
                let (prefixes, rest) = deltas_and_rest(bytes)?;
                let (suffixes, rest) = deltas_and_rest(rest)?;
                Self::Prefixes {
                    prefixes,
                    suffixes,
                    bytes: rest,
                    at: 0,
                    text: Vec::new(),
                }
            }
            (encoding::BYTE_STREAM_SPLIT, _) => match kind.width() {
                Some(width) => Self::Split {
                    kind,
                    width,
                    bytes,
                    next: 0,
                },
                None => return Err(PageError::Encoding(encoding)),
            },
            _ => return Err(PageError::Encoding(encoding)),
        })
    }

    /// The next value.
    pub fn next<'a>(
        &'a mut self,
        dictionary: Option<&'a Dictionary>,
    ) -> Result<Value<'a>, PageError> {
        let ends = PageError::Ends(WHAT);
        match self {
            Self::None => Err(ends),
            Self::Plain { kind, bytes, at } => match kind.width() {
                Some(width) => {
                    let value = bytes.get(*at..).and_then(|bytes| kind.fixed(bytes));
                    *at += width;
                    value.ok_or(ends)
                }
                None => Ok(Value::Bytes(plain_text(bytes, at)?)),
            },
            Self::Bits { bytes, at } => {
                let byte = bytes.get(*at / 8).ok_or(ends)?;
                let truth = byte >> (*at % 8) & 1 == 1;
                *at += 1;
                Ok(Value::Truth(truth))
            }
            Self::Truths(truths) => Ok(Value::Truth(truths.next()? == 1)),
            Self::Indexes(indexes) => {
                let missing = PageError::Header("indexes without a dictionary");
                dictionary.ok_or(missing)?.get(indexes.next()?)
            }
            Self::Deltas { kind, deltas } => {
                let value = deltas.next()?;
                Ok(Value::Integer(match kind {
                    // Differences of 32 bits go round at 32 bits.
                    Physical::Int32 => (value as i32).into(),
                    _ => value,
                }))
            }
            Self::Lengths { lengths, bytes, at } => {
                let text = next_bytes(lengths, bytes, at)?;
                Ok(Value::Bytes(text))
            }
            Self::Prefixes {
                prefixes,
                suffixes,
                bytes,
                at,
                text,
            } => {
                let prefix = length(prefixes.next()?)?;
                if prefix > text.len() {
                    let what = "how much a text has in common with the one before";
                    return Err(PageError::implausible(what, prefix));
                }
                let suffix = next_bytes(suffixes, bytes, at)?;
                if prefix + suffix.len() > LONGEST {
                    return Err(PageError::implausible(
                        "how long a text is",
                        prefix + suffix.len(),
                    ));
                }
                text.truncate(prefix);
                text.extend_from_slice(suffix);
                Ok(Value::Bytes(text))
            }
            Self::Split {
                kind,
                width,
                bytes,
                next,
            } => {
                let count = bytes.len() / *width;
                if *next >= count {
                    return Err(ends);
                }
                let mut value = [0; 8];
                for (i, byte) in value.iter_mut().enumerate().take(*width) {
                    *byte = bytes[i * count + *next];
                }
                *next += 1;
                kind.fixed(&value).ok_or(ends)
            }
        }
    }
}

fn length(length: i64) -> Result<usize, PageError> {
    usize::try_from(length).map_err(|_| PageError::implausible("how long a text is", length))
}

/// The next bytes, as many as the next length says.
fn next_bytes<'a>(
    lengths: &mut Deltas,
    bytes: &'a [u8],
    at: &mut usize,
) -> Result<&'a [u8], PageError> {
    let length = length(lengths.next()?)?;
    let text = bytes.get(*at..).and_then(|rest| rest.get(..length));
    *at += length.min(bytes.len());
    text.ok_or(PageError::Ends(WHAT))
}

/// Numbers as differences, and the bytes behind them.
fn deltas_and_rest(bytes: Bytes) -> Result<(Deltas, Bytes), PageError> {
    let again = Deltas::new(Cursor::new(bytes.clone(), WHAT))?;
    let deltas = Deltas::new(Cursor::new(bytes, WHAT))?;
    Ok((deltas, again.end()?.rest()))
}
