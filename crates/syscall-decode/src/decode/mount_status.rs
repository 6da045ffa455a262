//! What `statmount` says of a mount, and the numbers that `listmount` and `listns` list.
//!
//! What isn't in the mask wasn't said. Texts lie behind the structure, and their places stand in it.

use backsight_syscall_tables::sets::{
    MOUNT as FLAGS, RARE_MOUNT_ATTR as ATTRIBUTES, RARE_PROPAGATION as PROPAGATION,
    RARE_STATMOUNT as MASK,
};

use super::sink::{Bracket, ValueSink};
use super::{Walk, int_at, long_at};
use crate::table::{DataDirection, IntegerWidth, ValueKind, flags};

/// As many bytes are known of it.
const KNOWN: usize = 168;
/// Where the texts begin.
const TEXTS: usize = 512;
/// Most bytes of a mount's texts that are looked at.
const MOST: usize = 4096;

/// `STATMOUNT_MNT_OPTS`: the options, which lie before the mask.
const OPTIONS: u64 = 0x80;

/// What a member is.
enum Member {
    /// Four bytes, a number.
    Number,
    /// Four bytes in hexadecimal.
    Bits,
    /// Eight bytes in hexadecimal.
    LongBits,
    /// What a value kind says.
    Kind(ValueKind),
    /// The number of a kind of file systems; none without a remark.
    Magic,
    /// The place of a text.
    Text,
    /// The place of as many texts as the four bytes before it say.
    Texts,
}

/// The members in the order in which they are told: the bits of the mask that they are said with, their names, their places.
static MEMBERS: &[(u64, &str, usize, Member)] = &[
    (1, "sb_dev_major", 16, Member::Number),
    (1, "sb_dev_minor", 20, Member::Number),
    (1, "sb_magic", 24, Member::Magic),
    (
        1,
        "sb_flags",
        32,
        Member::Kind(ValueKind::Flags(IntegerWidth::Four, &FLAGS)),
    ),
    (0x20, "fs_type", 36, Member::Text),
    (2, "mnt_id", 40, Member::LongBits),
    (2, "mnt_parent_id", 48, Member::LongBits),
    (2, "mnt_id_old", 56, Member::Bits),
    (2, "mnt_parent_id_old", 60, Member::Bits),
    (
        2,
        "mnt_attr",
        64,
        Member::Kind(ValueKind::Flags(IntegerWidth::Eight, &ATTRIBUTES)),
    ),
    (
        2,
        "mnt_propagation",
        72,
        Member::Kind(ValueKind::One(IntegerWidth::Eight, &PROPAGATION)),
    ),
    (2, "mnt_peer_group", 80, Member::LongBits),
    (2, "mnt_master", 88, Member::LongBits),
    (4, "propagate_from", 96, Member::LongBits),
    (8, "mnt_root", 104, Member::Text),
    (0x10, "mnt_point", 108, Member::Text),
    (0x40, "mnt_ns_id", 112, Member::LongBits),
    (0x100, "fs_subtype", 120, Member::Text),
    (0x200, "sb_source", 124, Member::Text),
    (0x400, "opt_num", 128, Member::Number),
    (0x400, "opt_array", 132, Member::Texts),
    (0x800, "opt_sec_num", 136, Member::Number),
    (0x800, "opt_sec_array", 140, Member::Texts),
    (
        0x1000,
        "supported_mask",
        144,
        Member::Kind(ValueKind::Flags(IntegerWidth::Eight, &MASK)),
    ),
    (0x2000, "mnt_uidmap_num", 152, Member::Number),
    (0x2000, "mnt_uidmap", 156, Member::Texts),
    (0x4000, "mnt_gidmap_num", 160, Member::Number),
    (0x4000, "mnt_gidmap", 164, Member::Texts),
];

impl<'a, S: ValueSink> Walk<'a, S> {
    /// What `statmount` says.
    pub(super) fn mount_status(&mut self, raw: u64) {
        // What there was no room for is nothing.
        let room = self.size_of_argument(2);
        let wanted = room.min(TEXTS + MOST);
        let bytes = self.read(raw, wanted, DataDirection::Out);
        let Some(bytes) = bytes.filter(|bytes| bytes.len() >= wanted.min(KNOWN)) else {
            return self.address(raw);
        };
        let mut told = bytes.to_vec();
        told.resize(told.len().max(KNOWN), 0);
        let bytes = told.as_slice();
        let size = int_at(bytes, 0) as usize;
        let mask = long_at(bytes, 8);
        self.sink.begin(Bracket::Structure);
        self.sink.field(true, "size");
        self.sink.unsigned(size as u64);
        if mask & OPTIONS != 0 {
            self.sink.field(false, "mnt_opts");
            self.mount_member(bytes, 4, &Member::Text);
        }
        self.sink.field(false, "mask");
        self.flags(mask, &MASK);
        for (bits, name, at, member) in MEMBERS {
            if mask & bits != 0 {
                self.sink.field(false, name);
                self.mount_member(bytes, *at, member);
            }
        }
        self.sink.end(Bracket::Structure);
    }

    fn mount_member(&mut self, bytes: &[u8], at: usize, member: &Member) {
        let four = u64::from(int_at(bytes, at));
        match member {
            Member::Number => self.sink.unsigned(four),
            Member::Bits => self.sink.hex(four),
            Member::LongBits => self.sink.hex(long_at(bytes, at)),
            Member::Magic => match long_at(bytes, at) {
                0 => self.sink.hex(0),
                magic => self.one(magic, &flags::FS_MAGIC),
            },
            Member::Kind(kind) => {
                let raw = match kind {
                    ValueKind::Flags(IntegerWidth::Four, _) => four,
                    _ => long_at(bytes, at),
                };
                self.value(*kind, raw, 1);
            }
            Member::Text => {
                let texts = bytes.get(TEXTS..).unwrap_or(&[]);
                match text_at(texts, four as usize) {
                    Some((text, _)) => self.sink.text(text, false),
                    None => self.sink.hex(four),
                }
            }
            Member::Texts => {
                let texts = bytes.get(TEXTS..).unwrap_or(&[]);
                let count = int_at(bytes, at - 4) as usize;
                if text_at(texts, four as usize).is_none() {
                    return self.sink.hex(four);
                }
                let mut place = four as usize;
                let shown = self.allow(count);
                self.sink.begin(Bracket::Array);
                for index in 0..shown {
                    let Some((text, next)) = text_at(texts, place) else {
                        break;
                    };
                    self.sink.item(index == 0);
                    self.sink.text(text, false);
                    place = next;
                }
                if count > shown {
                    self.sink.more(Bracket::Array, shown == 0);
                }
                self.sink.end(Bracket::Array);
            }
        }
    }

    /// Numbers of mounts or of name spaces.
    pub(super) fn listed(&mut self, raw: u64) {
        if raw == 0 {
            return self.sink.null();
        }
        if self.call.arguments[2] == 0 {
            self.sink.begin(Bracket::Array);
            return self.sink.end(Bracket::Array);
        }
        if self.failed() {
            return self.address(raw);
        }
        let count = usize::try_from(self.result()).unwrap_or(0);
        let number = ValueKind::Hex(IntegerWidth::Eight);
        self.elements(raw, DataDirection::Out, number, count, 1);
    }
}

/// A text up to a zero byte, and where the next begins.
fn text_at(texts: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let rest = texts.get(at..)?;
    let end = rest.iter().position(|byte| *byte == 0)?;
    Some((&rest[..end], at + end + 1))
}
