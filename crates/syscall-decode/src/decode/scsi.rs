//! What `SG_IO` is given: a command for a SCSI device with what is sent along and what comes back.
//!
//! Commands and their answers are shown as bytes.

use super::sink::{Bracket, ValueSink};
use super::{Walk, int_at, long_at};
use crate::table::ioctl::scsi::{SgBuffer, SgVersion, VERSIONS};
use crate::table::{DataDirection, IntegerWidth, LengthSource};

impl<'a, S: ValueSink> Walk<'a, S> {
    /// The request, whichever version of it.
    pub(super) fn scsi(&mut self, raw: u64) {
        let sizes = VERSIONS.iter().map(|version| version.input.size);
        let most = sizes.max().unwrap_or(0);
        let before = self.read(raw, most, DataDirection::In);
        // The kernel tells how it went where the device refused, too.
        let after = self.read_always(raw, most, DataDirection::Out);
        let Some(before) = before.filter(|bytes| bytes.len() >= 4) else {
            return self.address(raw);
        };
        let letter = int_at(before, 0);
        let mut versions = VERSIONS.iter();
        match versions.find(|version| u32::from(version.letter) == letter) {
            Some(version) => self.scsi_version(raw, version, before, after),
            None => {
                self.sink.begin(Bracket::Array);
                self.sink.item(true);
                self.sink.unsigned(u64::from(letter));
                self.sink.end(Bracket::Array);
            }
        }
    }

    fn scsi_version(
        &mut self,
        raw: u64,
        version: &'static SgVersion,
        before: &'a [u8],
        after: Option<&'a [u8]>,
    ) {
        let whole = |bytes: &&[u8]| bytes.len() >= version.input.size;
        self.sink.begin(Bracket::Structure);
        self.sink.field(true, version.name);
        let letter = version.letter;
        self.sink
            .word(|out| out.extend_from_slice(&[b'\'', letter, b'\'']));
        match Some(before).filter(whole) {
            Some(before) => {
                self.fields(version.input, before, 0, false);
                let despite = std::mem::replace(&mut self.despite, true);
                self.scsi_answer(version, before, after.filter(whole));
                self.despite = despite;
            }
            None => {
                self.sink.nameless(false, "rest");
                self.address(raw.wrapping_add(4));
            }
        }
        self.sink.end(Bracket::Structure);
    }

    fn scsi_answer(
        &mut self,
        version: &'static SgVersion,
        before: &'a [u8],
        after: Option<&'a [u8]>,
    ) {
        if let Some(both) = &version.both {
            self.scsi_both(both, before, after);
        }
        match after {
            Some(after) if after[..4] == before[..4] => {
                self.fields(version.output, after, 0, false);
            }
            Some(after) => {
                self.sink.field_became(version.name);
                self.sink.unsigned(u64::from(int_at(after, 0)));
            }
            None => self.fields(version.unread, before, 0, false),
        }
    }

    /// The buffer that what goes to the device lies in, and what then came from it.
    fn scsi_both(&mut self, both: &'static SgBuffer, before: &'a [u8], after: Option<&'a [u8]>) {
        let direction = u64::from(int_at(before, both.direction));
        if direction != both.there && direction != both.there_and_back {
            return;
        }
        let outer = std::mem::replace(&mut self.within, before);
        self.sink.field(false, both.name);
        let start = self.sink.begins();
        self.value(both.sent, long_at(before, both.at), 0);
        if let Some(after) = after.filter(|after| {
            after[..4] == before[..4]
                && u64::from(int_at(after, both.direction)) == both.there_and_back
        }) {
            self.within = after;
            if self.length(both.length) > 0 {
                let middle = self.sink.turns();
                self.value(both.received, long_at(after, both.at), 0);
                self.sink.turned(start, middle);
            }
        }
        self.within = outer;
    }

    /// Bytes in one buffer or in several, as a field of the same structure says.
    pub(super) fn scattered(
        &mut self,
        raw: u64,
        way: DataDirection,
        (at, width): (usize, IntegerWidth),
        bytes: LengthSource,
    ) {
        if raw == 0 {
            return self.sink.null();
        }
        let count = self.sibling(at, width) as usize;
        match count {
            0 => self.binary(raw, way, bytes),
            count => {
                let bytes = self.length(bytes);
                self.vectors_of(raw, count, (way, way), Some(bytes));
            }
        }
    }
}
