//! What is said of files: `stat`, `statx`, directory entries, devices, modes.

use super::sink::{Bracket, ValueSink};
use super::{Walk, device_major, device_minor, int_at, load, long_at, short_at};
use crate::Abi;
use crate::format::{self, ConstantStyle, NamedNumber};
use crate::table::{DataDirection, flags};

/// Where the fields of `struct stat` lie.
struct Places {
    size: usize,
    mode: usize,
    links: (usize, usize),
    user: usize,
    device: usize,
    length: usize,
    block: (usize, usize),
    blocks: usize,
    times: usize,
}

const X86_64: Places = Places {
    size: 144,
    mode: 24,
    links: (16, 8),
    user: 28,
    device: 40,
    length: 48,
    block: (56, 8),
    blocks: 64,
    times: 72,
};
const GENERIC: Places = Places {
    size: 128,
    mode: 16,
    links: (20, 4),
    user: 24,
    device: 32,
    length: 48,
    block: (56, 4),
    blocks: 64,
    times: 72,
};

const TYPE: u32 = 0o170_000;
const CHARACTERS: u32 = 0o020_000;
const BLOCKS: u32 = 0o060_000;

fn is_device(mode: u32) -> bool {
    matches!(mode & TYPE, CHARACTERS | BLOCKS)
}

impl<'a, S: ValueSink> Walk<'a, S> {
    /// How it is to agree with a server, and other flags behind that. The former has a name where it is nothing, but no
    /// number.
    pub(super) fn statx_flags(&mut self, raw: u64) {
        const AGREEMENT: u64 = 0x6000;
        let (agreement, rest) = (raw & AGREEMENT, raw & !AGREEMENT);
        self.sink.words(|out, constants, _| {
            if agreement != 0 || constants != ConstantStyle::Numbers {
                format::constant(out, constants, NamedNumber::Hex(agreement), |out| {
                    format::one(out, agreement, &flags::STATX_SYNC)
                });
            }
            if rest != 0 {
                out.push(b'|');
                format::constant(out, constants, NamedNumber::Hex(rest), |out| {
                    format::some_flags(out, rest, &flags::AT_STATX)
                });
            }
        });
    }

    fn stat_places(&self) -> &'static Places {
        if self.call.abi == Abi::X86_64 {
            &X86_64
        } else {
            &GENERIC
        }
    }

    pub fn stat_size(&self) -> usize {
        self.stat_places().size
    }

    /// `struct stat`.
    pub fn stat(&mut self, bytes: &[u8]) {
        let places = self.stat_places();
        let mode = int_at(bytes, places.mode);
        self.sink.begin(Bracket::Structure);
        if self.style.verbose {
            self.sink.field(true, "st_dev");
            self.put_device(long_at(bytes, 0));
            self.sink.field(false, "st_ino");
            self.sink.unsigned(long_at(bytes, 8));
        }
        self.sink.field(!self.style.verbose, "st_mode");
        self.file_mode(mode);
        if self.style.verbose {
            self.sink.field(false, "st_nlink");
            self.sink
                .unsigned(load(&bytes[places.links.0..], places.links.1));
            self.sink.field(false, "st_uid");
            self.sink.unsigned(u64::from(int_at(bytes, places.user)));
            self.sink.field(false, "st_gid");
            self.sink
                .unsigned(u64::from(int_at(bytes, places.user + 4)));
            self.sink.field(false, "st_blksize");
            self.sink
                .unsigned(load(&bytes[places.block.0..], places.block.1));
            self.sink.field(false, "st_blocks");
            self.sink.unsigned(long_at(bytes, places.blocks));
        }
        if is_device(mode) {
            self.sink.field(false, "st_rdev");
            self.put_device(long_at(bytes, places.device));
        } else {
            self.sink.field(false, "st_size");
            self.sink.signed(long_at(bytes, places.length) as i64);
        }
        if self.style.verbose {
            for (number, (name, fraction)) in [
                ("st_atime", "st_atime_nsec"),
                ("st_mtime", "st_mtime_nsec"),
                ("st_ctime", "st_ctime_nsec"),
            ]
            .into_iter()
            .enumerate()
            {
                let at = places.times + 16 * number;
                let (seconds, nanoseconds) = (long_at(bytes, at) as i64, long_at(bytes, at + 8));
                self.sink.field(false, name);
                self.moment_in_words(seconds, nanoseconds, 9);
                self.sink.field(false, fraction);
                self.sink.unsigned(nanoseconds);
            }
        } else {
            self.sink.more(Bracket::Structure, false);
        }
        self.sink.end(Bracket::Structure);
    }

    /// A file's type and permissions.
    pub fn file_mode(&mut self, mode: u32) {
        self.sink
            .constant(NamedNumber::Octal(u64::from(mode)), |out| {
                format::file_mode(out, mode)
            });
    }

    fn put_device(&mut self, device: u64) {
        self.halves(device_major(device), device_minor(device));
    }

    fn halves(&mut self, major: u64, minor: u64) {
        self.value(crate::table::ValueKind::Halves, major | (minor << 32), 0);
    }

    /// `struct statx`.
    pub fn statx(&mut self, bytes: &[u8]) {
        let mode = u32::from(short_at(bytes, 28));
        self.sink.begin(Bracket::Structure);
        self.sink.field(true, "stx_mask");
        self.flags(u64::from(int_at(bytes, 0)), &flags::STATX_MASK);
        let verbose = self.style.verbose;
        let mask = int_at(bytes, 0);
        // What the mask doesn't have wasn't said.
        let number = |walk: &mut Self, bit, name, value| {
            if mask & bit != 0 {
                walk.sink.field(false, name);
                walk.sink.unsigned(value);
            }
        };
        let id = |walk: &mut Self, bit, name, at| {
            if mask & bit != 0 {
                walk.sink.field(false, name);
                walk.value(crate::table::ValueKind::Id, u64::from(int_at(bytes, at)), 0);
            }
        };
        if verbose {
            self.sink.field(false, "stx_blksize");
            self.sink.unsigned(u64::from(int_at(bytes, 4)));
        }
        self.sink.field(false, "stx_attributes");
        self.flags(long_at(bytes, 8), &flags::STATX_ATTR);
        if verbose {
            number(self, 4, "stx_nlink", u64::from(int_at(bytes, 16)));
            id(self, 8, "stx_uid", 20);
            id(self, 0x10, "stx_gid", 24);
        }
        if mask & 3 != 0 {
            self.sink.field(false, "stx_mode");
            self.file_mode(mode);
        }
        if verbose {
            number(self, 0x100, "stx_ino", long_at(bytes, 32));
        }
        number(self, 0x200, "stx_size", long_at(bytes, 40));
        if !verbose {
            self.sink.more(Bracket::Structure, false);
            self.sink.end(Bracket::Structure);
            return;
        }
        number(self, 0x400, "stx_blocks", long_at(bytes, 48));
        self.sink.field(false, "stx_attributes_mask");
        self.flags(long_at(bytes, 56), &flags::STATX_ATTR);
        for (bit, name, at) in [
            (0x20, "stx_atime", 64),
            (0x800, "stx_btime", 80),
            (0x80, "stx_ctime", 96),
            (0x40, "stx_mtime", 112),
        ] {
            if mask & bit != 0 {
                self.statx_time(name, long_at(bytes, at), int_at(bytes, at + 8));
            }
        }
        for (name, at) in [
            ("stx_rdev_major", 128),
            ("stx_rdev_minor", 132),
            ("stx_dev_major", 136),
            ("stx_dev_minor", 140),
        ] {
            self.sink.field(false, name);
            self.sink.unsigned(u64::from(int_at(bytes, at)));
        }
        if mask & 0x1000 != 0 {
            self.sink.field(false, "stx_mnt_id");
            self.sink.hex(long_at(bytes, 144));
        }
        for (name, at) in [("stx_dio_mem_align", 152), ("stx_dio_offset_align", 156)] {
            number(self, 0x2000, name, u64::from(int_at(bytes, at)));
        }
        self.sink.end(Bracket::Structure);
    }

    fn statx_time(&mut self, name: &str, seconds: u64, nanoseconds: u32) {
        let (seconds, nanoseconds) = (seconds as i64, u64::from(nanoseconds));
        self.sink.field(false, name);
        self.sink.begin(Bracket::Structure);
        self.sink.field(true, "tv_sec");
        self.sink.signed(seconds);
        self.sink.field(false, "tv_nsec");
        self.sink.unsigned(nanoseconds);
        self.sink.end(Bracket::Structure);
        if seconds != 0 || nanoseconds != 0 {
            self.sink
                .aside(|out| format::moment(out, seconds, nanoseconds, 9));
        }
    }

    /// Whether a mode makes a device.
    pub fn makes_device(&self, mode: usize) -> bool {
        is_device(self.call.arguments[mode] as u32)
    }

    pub fn node_device(&mut self, raw: u64, mode: usize) {
        if is_device(self.call.arguments[mode] as u32) {
            self.put_device(raw & 0xffff_ffff);
        } else {
            self.sink.hex(raw);
        }
    }

    /// Directory entries: how many, or what they say.
    pub fn entries(&mut self, raw: u64) {
        let length = usize::try_from(self.result()).unwrap_or(0);
        if self.failed() {
            self.address(raw);
            return;
        }
        let read = if length == 0 {
            Some(&[][..])
        } else {
            self.read(raw, length, DataDirection::Out)
        };
        let Some(bytes) = read.filter(|bytes| bytes.len() == length || length > super::MOST_BYTES)
        else {
            self.address(raw);
            return;
        };
        // There the kind stands behind the name, in the last byte.
        let old = self.row.name == "getdents";
        let entries = Entries { rest: bytes };
        if !self.style.verbose {
            let count = entries.count() as u64;
            self.sink.counted(raw, count, "entries");
            return;
        }
        self.sink.begin(Bracket::Array);
        for (index, entry) in entries.enumerate() {
            self.sink.item(index == 0);
            self.sink.begin(Bracket::Structure);
            self.sink.field(true, "d_ino");
            self.sink.unsigned(long_at(entry, 0));
            self.sink.field(false, "d_off");
            self.sink.signed(long_at(entry, 8) as i64);
            self.sink.field(false, "d_reclen");
            self.sink.unsigned(u64::from(short_at(entry, 16)));
            let name = match entry[if old { entry.len() - 1 } else { 18 }] {
                1 => "DT_FIFO",
                2 => "DT_CHR",
                4 => "DT_DIR",
                6 => "DT_BLK",
                8 => "DT_REG",
                10 => "DT_LNK",
                12 => "DT_SOCK",
                14 => "DT_WHT",
                _ => "DT_UNKNOWN",
            };
            let kind = name;
            let name = &entry[if old { 18 } else { 19 }..];
            let length = name.iter().position(|byte| *byte == 0);
            let name = &name[..length.unwrap_or(name.len())];
            let put_kind = |walk: &mut Self| {
                walk.sink.field(false, "d_type");
                walk.sink.word(|out| out.extend_from_slice(kind.as_bytes()));
            };
            if !old {
                put_kind(self);
            }
            self.sink.field(false, "d_name");
            self.sink.text(name, false);
            if old {
                put_kind(self);
            }
            self.sink.end(Bracket::Structure);
        }
        self.sink.end(Bracket::Array);
    }
}

/// Directory entries one after the other; ends at the first that says something impossible of its length.
struct Entries<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Entries<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let length = usize::from(short_at(self.rest, 16));
        if length < 20 || length > self.rest.len() {
            return None;
        }
        let (entry, rest) = self.rest.split_at(length);
        self.rest = rest;
        Some(entry)
    }
}
