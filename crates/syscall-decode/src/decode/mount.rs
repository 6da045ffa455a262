//! What is mounted and swapped on: flags that hold more than flags, and texts that are there only sometimes.
//!
//! Arguments that the kernel ignores aren't read.

use super::Walk;
use super::sink::ValueSink;
use crate::format::{self, NamedNumber};
use crate::table::DataDirection;

/// What stood in the upper half of `mount`'s flags once, and still may.
const MOUNT_MAGIC: u64 = 0xc0ed_0000;

impl<'a, S: ValueSink> Walk<'a, S> {
    pub(super) fn mount_flags(&mut self, raw: u64) {
        let names = &crate::table::flags::MOUNT;
        self.sink.words(|out, constants, _| {
            let mut rest = raw;
            if raw & 0xffff_0000 == MOUNT_MAGIC {
                format::constant(out, constants, NamedNumber::Hex(MOUNT_MAGIC), |out| {
                    out.extend_from_slice(b"MS_MGC_VAL")
                });
                rest = raw & 0xffff;
                if rest == 0 {
                    return;
                }
                out.push(b'|');
            }
            format::constant(out, constants, NamedNumber::Hex(rest), |out| {
                format::flags(out, rest, names)
            });
        });
    }

    /// A text of `mount` that is looked at only where something new is mounted.
    pub(super) fn mount_text(&mut self, raw: u64, data: bool) {
        const REMOUNT: u64 = 32;
        const MOVED_OR_SHARED: u64 = 8192 | 0x2_0000 | 0x4_0000 | 0x8_0000 | 0x10_0000;
        const BIND: u64 = 4096;
        let given = self.call.arguments[3];
        let bits = if given & 0xffff_0000 == MOUNT_MAGIC {
            given & 0xffff
        } else {
            given
        };
        let ignored = bits & (MOVED_OR_SHARED | BIND) != 0 || (!data && bits & REMOUNT != 0);
        let remounted = data && bits & REMOUNT != 0;
        if raw != 0 && (!ignored || remounted) {
            self.text(raw, DataDirection::In);
        } else {
            self.address(raw);
        }
    }

    /// The flags of `swapon`, with the priority in their last bits.
    pub(super) fn swap_flags(&mut self, raw: u64) {
        const PRIORITY: u64 = 0x7fff;
        let (bits, priority) = (raw & 0xffff_ffff & !PRIORITY, raw & PRIORITY);
        let constants = self.sink.constants();
        self.sink.word(|out| {
            if bits != 0 {
                format::constant(out, constants, NamedNumber::Hex(bits), |out| {
                    format::flags(out, bits, &crate::table::flags::SWAP);
                });
                out.push(b'|');
            }
            format::unsigned(out, priority);
        });
    }
}
