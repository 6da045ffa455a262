//! Handles of files: `name_to_handle_at` says for how many bytes there is room and gets one, `open_by_handle_at` is given one.
//!
//! No more of a handle is looked at than the kernel would.

use super::sink::{Bracket, ValueSink};
use super::{Walk, int_at};
use crate::table::DataDirection;

/// How many bytes the handle has, and its type.
const HEAD: usize = 8;
/// `EOVERFLOW`: there was too little room, and how much it takes is said.
const TOO_LARGE: i64 = 75;
/// The longest handle that there is.
const MOST: usize = 128;

impl<S: ValueSink> Walk<'_, S> {
    /// A handle: as it is given, or as it becomes. Of a call that had too little room only how long it would have been is said.
    pub(super) fn file_handle(&mut self, raw: u64, way: DataDirection) {
        let whole = |bytes: &&[u8]| bytes.len() == HEAD;
        let before = self.read(raw, HEAD, DataDirection::In).filter(whole);
        let Some(before) = before else {
            return self.address(raw);
        };
        let mut head = before;
        self.sink.begin(Bracket::Structure);
        self.sink.field(true, "handle_bytes");
        let start = self.sink.begins();
        self.sink.unsigned(u64::from(int_at(before, 0)));
        if way == DataDirection::Out && (!self.failed() || self.call.error() == Some(TOO_LARGE)) {
            let after = self.read_always(raw, HEAD, DataDirection::Out);
            if let Some(after) = after.filter(whole) {
                if after[..4] != before[..4] {
                    let middle = self.sink.turns();
                    self.sink.unsigned(u64::from(int_at(after, 0)));
                    self.sink.turned(start, middle);
                }
                head = after;
            }
        }
        if way == DataDirection::In || !self.failed() {
            self.sink.field(false, "handle_type");
            self.sink.signed(i64::from(int_at(head, 4) as i32));
            self.sink.field(false, "f_handle");
            self.handle_bytes(raw.wrapping_add(HEAD as u64), int_at(head, 0) as usize, way);
        }
        self.sink.end(Bracket::Structure);
    }

    fn handle_bytes(&mut self, address: u64, length: usize, way: DataDirection) {
        let known = length.min(MOST);
        let bytes = match known {
            0 => Some(&[][..]),
            _ => self.read(address, known, way),
        };
        match bytes.filter(|bytes| bytes.len() == known) {
            Some(bytes) => self.sink.binary(bytes, length > known),
            None => self.sink.word(|out| out.extend_from_slice(b"???")),
        }
    }
}
