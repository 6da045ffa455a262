//! Contexts of security modules: heads with bytes behind them, one after the other, each of which says how long it is.
//!
//! No more is looked at than the program says that there is room for.

use super::sink::{Bracket, ValueSink};
use super::{Walk, int_at, long_at};
use crate::table::{DataDirection, security};

/// What each begins with.
const HEAD: u64 = 32;
const LENGTH_AT: usize = 16;
const BYTES_AT: usize = 24;
/// `LSM_FLAG_SINGLE`: one module alone is asked.
const SINGLE: u64 = 1;

impl<'a, S: ValueSink> Walk<'a, S> {
    /// All that the kernel says, as many bytes as the number behind the third argument says then.
    pub(super) fn security_contexts(&mut self, raw: u64, number: usize) {
        let (size_at, flags) = (self.call.arguments[2], self.call.arguments[3]);
        let size = self.read(size_at, 4, DataDirection::Out);
        let size = size.map_or(0, |bytes| u64::from(int_at(bytes, 0)));
        let start = self.sink.begins();
        let mut became = None;
        if flags & 0xffff_ffff == SINGLE
            && self.read(size_at, 4, DataDirection::In).is_some()
            && let Some(asked) = self.context_head(raw, DataDirection::In)
        {
            self.structure(&security::CONTEXT_ASKED, asked, number);
            became = Some(self.sink.turns());
        }
        let first = (!self.failed() && size >= HEAD)
            .then(|| self.context_head(raw, DataDirection::Out))
            .flatten();
        match first {
            Some(first) => self.contexts(raw, size, first, number),
            None => self.address(raw),
        }
        if let Some(middle) = became {
            self.sink.turned(start, middle);
        }
    }

    /// The contexts in memory of this size, of which this is the first one's head.
    fn contexts(&mut self, raw: u64, size: u64, first: &'a [u8], number: usize) {
        let (mut at, mut head, mut shown) = (0, first, 0);
        self.sink.begin(Bracket::Array);
        loop {
            self.sink.item(at == 0);
            let place = raw.wrapping_add(at);
            self.context(place, head, size - at, DataDirection::Out, number);
            shown += 1;
            let length = long_at(head, LENGTH_AT);
            let next = at.saturating_add(length);
            if length < HEAD || next.saturating_add(HEAD) > size {
                break;
            }
            at = next;
            if shown >= self.shown_elements() {
                self.sink.more(Bracket::Array, false);
                break;
            }
            match self.context_head(raw.wrapping_add(at), DataDirection::Out) {
                Some(there) => head = there,
                None => {
                    self.sink.item(false);
                    self.sink.unreadable(raw.wrapping_add(at));
                    break;
                }
            }
        }
        self.sink.end(Bracket::Array);
    }

    /// The one that the program says, as many bytes as the third argument says.
    pub(super) fn security_context(&mut self, raw: u64, number: usize) {
        let size = self.call.arguments[2] & 0xffff_ffff;
        let head = (size >= HEAD)
            .then(|| self.context_head(raw, DataDirection::In))
            .flatten();
        match head {
            Some(head) => self.context(raw, head, size, DataDirection::In, number),
            None => self.address(raw),
        }
    }

    fn context_head(&mut self, address: u64, way: DataDirection) -> Option<&'a [u8]> {
        let head = self.read(address, HEAD as usize, way)?;
        (head.len() == HEAD as usize).then_some(head)
    }

    fn context(
        &mut self,
        address: u64,
        head: &'a [u8],
        room: u64,
        way: DataDirection,
        number: usize,
    ) {
        let whole = long_at(head, LENGTH_AT).min(room).saturating_sub(HEAD);
        let length = long_at(head, BYTES_AT).min(whole) as usize;
        self.sink.begin(Bracket::Structure);
        self.fields(&security::CONTEXT, head, number, true);
        if length > 0 {
            self.sink.field(false, "ctx");
            let place = address.wrapping_add(HEAD);
            let shown = length.min(self.style.string);
            match self.read(place, shown, way) {
                Some(bytes) if bytes.len() == shown => self.sink.binary(bytes, length > shown),
                _ => self.address(place),
            }
        }
        self.sink.end(Bracket::Structure);
    }
}
