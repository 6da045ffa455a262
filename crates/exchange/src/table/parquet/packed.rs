//! Whole numbers as pages pack them: runs and bits ("RLE/bit-packing hybrid"), and differences ("delta binary packed").
//!
//! Source: <https://github.com/apache/parquet-format/blob/master/Encodings.md>. Numbers are unpacked one at a time, so that a
//! run of very many needs no memory.

use bytes::Bytes;

use super::error::PageError;

/// Values in a block of differences; writers have 128 to 2,048.
const LARGEST_BLOCK: u64 = 1 << 20;

/// Bytes that are read from the front.
#[derive(Debug)]
pub(super) struct Cursor {
    bytes: Bytes,
    at: usize,
    /// What the bytes are, for errors.
    what: &'static str,
}

impl Cursor {
    pub fn new(bytes: Bytes, what: &'static str) -> Self {
        Self { bytes, at: 0, what }
    }

    /// Bytes that were read.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The next `length` bytes.
    pub fn take(&mut self, length: usize) -> Result<Bytes, PageError> {
        let begins = self.at;
        self.skip(length as u64)?;
        Ok(self.bytes.slice(begins..self.at))
    }

    /// What is left.
    pub fn rest(self) -> Bytes {
        self.bytes.slice(self.at.min(self.bytes.len())..)
    }

    pub fn skip(&mut self, length: u64) -> Result<(), PageError> {
        let left = self.bytes.len() - self.at;
        match usize::try_from(length) {
            Ok(length) if length <= left => {
                self.at += length;
                Ok(())
            }
            _ => Err(PageError::Ends(self.what)),
        }
    }

    /// Skips `length` bytes, or those that are left.
    fn skip_at_most(&mut self, length: u64) {
        let left = self.bytes.len() - self.at;
        self.at += usize::try_from(length).unwrap_or(left).min(left);
    }

    pub fn byte(&mut self) -> Result<u8, PageError> {
        let byte = self.bytes.get(self.at).copied();
        self.at += usize::from(byte.is_some());
        byte.ok_or(PageError::Ends(self.what))
    }

    /// A length in four bytes.
    pub fn length(&mut self) -> Result<usize, PageError> {
        let bytes = self.bytes.get(self.at..).and_then(<[u8]>::first_chunk::<4>);
        let length = u32::from_le_bytes(*bytes.ok_or(PageError::Ends(self.what))?);
        self.at += 4;
        Ok(length as usize)
    }

    /// A number in seven bits a byte, the lowest first.
    pub fn varint(&mut self) -> Result<u64, PageError> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(PageError::implausible("a number of more than 64 bits", 64))
    }

    /// As [`Cursor::varint`], with the sign in the lowest bit.
    pub fn zigzag(&mut self) -> Result<i64, PageError> {
        let number = self.varint()?;
        Ok((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }
}

/// The number in `width` bits from bit `at` on, of which the lowest stands first; none where the bytes end before.
fn unpack(bytes: &[u8], at: usize, width: u32) -> Option<u64> {
    let end = (at + width as usize).div_ceil(8);
    let bytes = bytes.get(at / 8..end)?;
    let mut word = [0; 16];
    word[..bytes.len()].copy_from_slice(bytes);
    let word = u128::from_le_bytes(word) >> (at % 8);
    Some((word & ((1 << width) - 1)) as u64)
}

/// Numbers of up to 32 bits, as runs of one number and as bits.
#[derive(Debug)]
pub(super) struct Hybrid {
    from: Cursor,
    width: u32,
    run: Run,
}

#[derive(Debug)]
enum Run {
    Repeated { number: u32, left: u64 },
    Packed { bit: usize, left: u64 },
}

impl Hybrid {
    pub fn new(from: Cursor, width: u32) -> Result<Self, PageError> {
        if width > 32 {
            return Err(PageError::implausible("how many bits a number has", width));
        }
        let run = Run::Repeated { number: 0, left: 0 };
        Ok(Self { from, width, run })
    }

    pub fn next(&mut self) -> Result<u32, PageError> {
        // Numbers without bits are all 0, and not every writer has runs for them.
        if self.width == 0 {
            return Ok(0);
        }
        loop {
            match &mut self.run {
                Run::Repeated {
                    number,
                    left: left @ 1..,
                } => {
                    *left -= 1;
                    return Ok(*number);
                }
                Run::Packed {
                    bit,
                    left: left @ 1..,
                } => {
                    let number = unpack(&self.from.bytes, *bit, self.width);
                    *left -= 1;
                    *bit += self.width as usize;
                    return Ok(number.ok_or(PageError::Ends(self.from.what))? as u32);
                }
                _ => self.begin_run()?,
            }
        }
    }

    fn begin_run(&mut self) -> Result<(), PageError> {
        let head = self.from.varint()?;
        self.run = if head & 1 == 1 {
            let groups = head >> 1;
            let bit = self.from.at * 8;
            // The last run of a page may be cut off behind its last number.
            self.from
                .skip_at_most(groups.saturating_mul(self.width.into()));
            let left = groups.saturating_mul(8);
            Run::Packed { bit, left }
        } else {
            let bytes = self.from.take(self.width.div_ceil(8) as usize)?;
            let mut number = [0; 4];
            number[..bytes.len()].copy_from_slice(&bytes);
            let (number, left) = (u32::from_le_bytes(number), head >> 1);
            Run::Repeated { number, left }
        };
        Ok(())
    }
}

/// Numbers of up to 64 bits, as differences from one to the next.
#[derive(Debug)]
pub(super) struct Deltas {
    from: Cursor,
    /// Miniblocks in a block, and values in a miniblock.
    miniblocks: usize,
    values: u64,
    /// Values that weren't given yet.
    left: u64,
    /// The value that is given next.
    next: i64,
    block: Block,
}

/// The block that is being read.
#[derive(Debug, Default)]
struct Block {
    least: i64,
    /// Where the widths of the miniblocks that aren't begun yet stand, and how many they are.
    widths: usize,
    miniblocks: usize,
    /// The miniblock that is begun: bits of a value, the next one's place, values left.
    width: u32,
    bit: usize,
    left: u64,
}

impl Deltas {
    pub fn new(mut from: Cursor) -> Result<Self, PageError> {
        let block = from.varint()?;
        let miniblocks = from.varint()?;
        let left = from.varint()?;
        let next = from.zigzag()?;
        if !(1..=LARGEST_BLOCK).contains(&block) {
            return Err(PageError::implausible("how many values a block has", block));
        }
        // A miniblock's values take whole bytes, whatever their width.
        if miniblocks == 0 || block % miniblocks != 0 || (block / miniblocks) % 8 != 0 {
            let what = "how many miniblocks a block has";
            return Err(PageError::implausible(what, miniblocks));
        }
        Ok(Self {
            from,
            miniblocks: miniblocks as usize,
            values: block / miniblocks,
            left,
            next,
            block: Block::default(),
        })
    }

    pub fn next(&mut self) -> Result<i64, PageError> {
        let value = self.next;
        self.left = match self.left {
            0 => return Err(PageError::Ends(self.from.what)),
            left => left - 1,
        };
        if self.left > 0 {
            if self.block.left == 0 {
                self.begin_miniblock()?;
            }
            let Block {
                least, width, bit, ..
            } = self.block;
            let delta = unpack(&self.from.bytes, bit, width);
            let delta = delta.ok_or(PageError::Ends(self.from.what))?;
            self.block.bit += width as usize;
            self.block.left -= 1;
            self.next = value.wrapping_add(least).wrapping_add(delta.cast_signed());
        }
        Ok(value)
    }

    /// Where the bytes begin that follow the numbers; those that weren't given yet are skipped.
    pub fn end(mut self) -> Result<Cursor, PageError> {
        let mut left = self.left.saturating_sub(1);
        left = left.saturating_sub(self.block.left);
        while left > 0 {
            self.begin_miniblock()?;
            left = left.saturating_sub(self.values);
        }
        Ok(self.from)
    }

    fn begin_miniblock(&mut self) -> Result<(), PageError> {
        let block = &mut self.block;
        if block.miniblocks == 0 {
            block.least = self.from.zigzag()?;
            block.widths = self.from.at;
            block.miniblocks = self.miniblocks;
            self.from.skip(self.miniblocks as u64)?;
        }
        block.width = u32::from(self.from.bytes[block.widths]);
        if block.width > 64 {
            let what = "how many bits a difference has";
            return Err(PageError::implausible(what, block.width));
        }
        block.widths += 1;
        block.miniblocks -= 1;
        block.bit = self.from.at * 8;
        block.left = self.values;
        // The last one of a page may be cut off behind its last value.
        self.from
            .skip_at_most(self.values / 8 * u64::from(block.width));
        Ok(())
    }
}
