//! What lies behind pointers: read as it was when it is to be shown, and shown as text or bytes.
//!
//! No more is read than is shown, and a part is always marked as a part.

use super::sink::ValueSink;
use super::{MOST_BYTES, MOST_OF_BUFFER, MOST_WANTS, PATH_MAX, Walk, int_at, word32};
use crate::memory::{CapturePoint, MemoryRequest, ReadExtent, descriptor_address};
use crate::table::{DataDirection, IntegerWidth, LengthSource, SpecialKind, ValueKind};

impl<'a, S: ValueSink> Walk<'a, S> {
    /// Memory that was there when it is to be shown, up to so many bytes; what isn't there is asked for on a walk that asks.
    pub fn read(&mut self, address: u64, length: usize, way: DataDirection) -> Option<&'a [u8]> {
        if self.style.opaque {
            return None;
        }
        let length = length.min(MOST_BYTES);
        self.take_room(length)?;
        self.read_text(address, length, way)
    }

    /// Takes so many bytes of what may be looked at of a call's structures; nothing where there aren't as many left.
    pub(super) fn take_room(&mut self, bytes: usize) -> Option<()> {
        self.room = self.room.checked_sub(bytes)?;
        Some(())
    }

    /// The same of what is shown wherever structures aren't, as text.
    pub fn read_text(
        &mut self,
        address: u64,
        length: usize,
        way: DataDirection,
    ) -> Option<&'a [u8]> {
        let length = length.min(MOST_OF_BUFFER);
        self.fetch(address, ReadExtent::Bytes(length), length, way)
    }

    fn fetch(
        &mut self,
        address: u64,
        extent: ReadExtent,
        length: usize,
        way: DataDirection,
    ) -> Option<&'a [u8]> {
        if address == 0 || (way == DataDirection::Out && self.failed() && !self.reads_failures()) {
            return None;
        }
        self.fetch_always(address, extent, length, way)
    }

    /// Like [`Self::read`], also where the call failed.
    pub fn read_always(
        &mut self,
        address: u64,
        length: usize,
        way: DataDirection,
    ) -> Option<&'a [u8]> {
        if self.style.opaque {
            return None;
        }
        let length = length.min(MOST_BYTES);
        self.take_room(length)?;
        self.read_text_always(address, length, way)
    }

    /// Like [`Self::read_text`], also where the call failed.
    pub fn read_text_always(
        &mut self,
        address: u64,
        length: usize,
        way: DataDirection,
    ) -> Option<&'a [u8]> {
        self.fetch_always(address, ReadExtent::Bytes(length), length, way)
    }

    fn fetch_always(
        &mut self,
        address: u64,
        extent: ReadExtent,
        length: usize,
        way: DataDirection,
    ) -> Option<&'a [u8]> {
        let when = match way {
            DataDirection::In => CapturePoint::Entered,
            DataDirection::Out => CapturePoint::Left,
        };
        let call = self.call;
        if let Some(bytes) = call.memory.at(address, length, when) {
            return Some(bytes);
        }
        if let Some((asked, missing)) = &mut self.missing {
            if *asked == when && missing.len() < MOST_WANTS && length > 0 {
                let want = MemoryRequest { address, extent };
                if !missing.contains(&want) {
                    missing.push(want);
                }
            }
            return None;
        }
        // What couldn't be read as the call was entered may have been as it came back: pages that it brought in.
        if way == DataDirection::In {
            call.memory.at(address, length, CapturePoint::Left)
        } else {
            None
        }
    }

    /// The name of the file without a path that a descriptor is.
    pub(super) fn anonymous_file(&mut self, fd: i32) -> Option<&'a [u8]> {
        let (address, when) = (descriptor_address(fd), CapturePoint::Entered);
        if let Some((CapturePoint::Entered, missing)) = &mut self.missing
            && self.call.memory.at(address, usize::MAX, when).is_none()
        {
            let extent = ReadExtent::Descriptor(fd);
            missing.push(MemoryRequest { address, extent });
        }
        self.call.memory.anonymous_file(fd)
    }

    fn reads_failures(&self) -> bool {
        self.despite
            || matches!(
                self.row.kinds[1],
                ValueKind::Special(SpecialKind::Remainder)
            )
            || matches!(
                self.row.kinds[3],
                ValueKind::Special(SpecialKind::Remainder)
            )
    }

    /// Text up to a zero byte, in full.
    pub(super) fn path(&mut self, address: u64, way: DataDirection) {
        self.zero_terminated(address, way, PATH_MAX - 1, PATH_MAX);
    }

    /// Text up to a zero byte, cut.
    pub fn text(&mut self, address: u64, way: DataDirection) {
        let most = self.style.string.min(MOST_BYTES);
        self.zero_terminated(address, way, most, most + 1);
    }

    pub(super) fn zero_terminated(
        &mut self,
        address: u64,
        way: DataDirection,
        shown: usize,
        read: usize,
    ) {
        match self.fetch(address, ReadExtent::Text(read), read, way) {
            Some(bytes) if !bytes.is_empty() => {
                let length = bytes.iter().position(|byte| *byte == 0);
                let all = &bytes[..length.unwrap_or(bytes.len())];
                let cut = all.len() > shown || (length.is_none() && read == shown);
                // Neither its end nor as much as is wanted: it runs into memory that isn't there.
                if length.is_none() && bytes.len() < read {
                    if self.style.partial {
                        self.sink.text(all, true)
                    } else {
                        self.sink.address(address)
                    }
                } else {
                    self.sink.text(&all[..all.len().min(shown)], cut);
                }
            }
            _ => self.sink.address(address),
        }
    }

    /// A length that lies behind an argument; nothing where it can't be read.
    fn length_at(&mut self, number: usize, at: usize, size: usize) -> Option<usize> {
        let bytes = self.read(self.call.arguments[number], size, DataDirection::In)?;
        (bytes.len() >= size).then(|| int_at(bytes, at) as usize)
    }

    pub(super) fn bytes(&mut self, address: u64, way: DataDirection, length: LengthSource) {
        if let LengthSource::At(number, at, size) = length
            && self.length_at(number, at, size).is_none()
        {
            self.address(address);
            return;
        }
        let length = self.length(length);
        self.buffer(address, length, way);
    }

    pub(super) fn binary(&mut self, address: u64, way: DataDirection, length: LengthSource) {
        let length = self.length(length);
        let shown = length.min(self.style.string);
        // Whether there is another byte is looked at before it is left out.
        let looked_at = length.min(self.style.string.saturating_add(1));
        let whole = self.read_text(address, looked_at, way);
        match whole.filter(|bytes| bytes.len() == looked_at) {
            Some(bytes) => self.sink.binary(&bytes[..shown], length > shown),
            None if length == 0 => self.sink.text(&[], false),
            None => self.address(address),
        }
    }

    /// A buffer that is text more often than not: the zero byte at its end isn't shown, nor one at the end of what is shown of
    /// a longer one, which then looks whole.
    pub(super) fn text_value(&mut self, address: u64, way: DataDirection, length: LengthSource) {
        let length = self.length(length);
        let shown = self.style.string;
        if length == 0 || (way == DataDirection::Out && self.failed()) {
            return self.buffer(address, length, way);
        }
        if length > shown {
            let start = self.read_text(address, shown.saturating_add(1), way);
            let start = start.and_then(|bytes| bytes.get(..shown));
            match start.filter(|bytes| bytes.ends_with(&[0])) {
                Some(bytes) => self.sink.zero_ended(bytes),
                None => self.buffer(address, length, way),
            }
            return;
        }
        match self
            .read_text(address, length, way)
            .filter(|bytes| bytes.len() == length)
        {
            Some(bytes) => self.sink.zero_ended(bytes),
            None => self.address(address),
        }
    }

    /// A buffer of this length, cut where it is longer than what is shown.
    pub fn buffer(&mut self, address: u64, length: usize, way: DataDirection) {
        if way == DataDirection::Out && self.failed() && !self.despite {
            self.address(address);
            return;
        }
        let shown = length.min(self.style.string);
        if length == 0 {
            if address == 0 {
                self.sink.null()
            } else {
                self.sink.text(&[], false)
            }
            return;
        }
        // Whether there is another byte is looked at before it is left out.
        let looked_at = length
            .min(self.style.string.saturating_add(1))
            .min(MOST_OF_BUFFER);
        match self.read_text(address, looked_at, way) {
            Some(bytes) if bytes.len() >= looked_at => {
                let shown = shown.min(bytes.len());
                self.sink.text(&bytes[..shown], length > shown)
            }
            Some(bytes) if self.style.partial && !bytes.is_empty() => self.sink.text(bytes, true),
            _ => self.address(address),
        }
    }

    pub fn length(&mut self, length: LengthSource) -> usize {
        match length {
            LengthSource::Fixed(bytes) => bytes,
            LengthSource::Argument(number) | LengthSource::First(number, _) => {
                self.size_of_argument(number)
            }
            LengthSource::UpTo(number, most) => match self.size_of_argument(number) {
                size if size > most => usize::MAX,
                size => size,
            },
            LengthSource::Result => usize::try_from(self.result()).unwrap_or(0),
            LengthSource::ResultWithin(number) => {
                let result = usize::try_from(self.result()).unwrap_or(0);
                result.min(self.size_of_argument(number))
            }
            LengthSource::Behind(number) => self.behind(number),
            LengthSource::At(number, at, size) => self.length_at(number, at, size).unwrap_or(0),
            LengthSource::Few(at, width, _) | LengthSource::Capped(at, width, _) => {
                self.length(LengthSource::Field(at, width, 1))
            }
            LengthSource::Most(at, width, most) => {
                let value = self.sibling(at, width);
                usize::try_from(value).unwrap_or(usize::MAX).min(most)
            }
            LengthSource::Pairs(at, most) => {
                let value = self.sibling(at, IntegerWidth::Four).saturating_mul(2) + 1;
                usize::try_from(value).unwrap_or(usize::MAX).min(most)
            }
            LengthSource::Whole(at, width, size) => {
                let value = self.signed(self.sibling(at, width), width).max(0);
                usize::try_from(value).unwrap_or(0) / size
            }
            LengthSource::Positive(at, width, more) => {
                let value = self.signed(self.sibling(at, width), width).max(0);
                usize::try_from(value).unwrap_or(0).saturating_add(more)
            }
            LengthSource::Without(at, remained) => {
                let all = self.sibling(at, IntegerWidth::Four) as u32;
                let remained = self.sibling(remained, IntegerWidth::Four) as u32;
                // More than there was, or less than nothing, is no remainder.
                let remained = if remained <= all { remained } else { 0 };
                (all - remained) as usize
            }
            LengthSource::Both(at, unit) => {
                let before = int_at(self.before, at);
                let after = self.sibling(at, IntegerWidth::Four) as u32;
                before.min(after) as usize / unit
            }
            LengthSource::Glyphs(width, count) => {
                let of = |at| self.sibling(at, IntegerWidth::Four) as usize;
                // Wider or more than that there are none.
                of(width).min(32).div_ceil(8) * 32 * of(count).min(512)
            }
            LengthSource::Field(at, width, unit) => {
                let value = self.sibling(at, width);
                usize::try_from(value)
                    .unwrap_or(usize::MAX)
                    .saturating_mul(unit)
            }
        }
    }

    /// The 32-bit number that an argument points to.
    pub fn behind(&mut self, number: usize) -> usize {
        let address = self.call.arguments[number];
        let before = self.read(address, 4, DataDirection::In).and_then(word32);
        let after = self.read(address, 4, DataDirection::Out).and_then(word32);
        match (before, after) {
            (Some(before), Some(after)) => before.min(after) as usize,
            (Some(one), None) | (None, Some(one)) => one as usize,
            (None, None) => 0,
        }
    }
}
