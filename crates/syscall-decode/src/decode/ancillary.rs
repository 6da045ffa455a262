//! What rides along with messages: descriptors, credentials, times, where a packet came from.
//!
//! What has no form of its own, or is too short for it, is shown as bytes; the kinds of other levels than those of sockets
//! and IP are numbers.

use backsight_syscall_tables::sets::{
    ANCILLARY_IP_KINDS as IP_KINDS, ANCILLARY_SOCKET_KINDS as SOCKET_KINDS,
};

use super::sink::{Bracket, ValueSink};
use super::{Walk, int_at, long_at};
use crate::table::structure::{IP_ERROR, PACKET_INFORMATION, TIMESPEC, TIMEVAL, UCRED};
use crate::table::{DataDirection, IntegerWidth, Names, StructureLayout, ValueKind, flags};

const HEAD: usize = 16;
/// As much is captured of them.
const LONGEST: usize = 4096;
/// The same where everything is asked for: the kernel takes no more by default.
const LONGEST_OF_ALL: usize = 131_072;
const SOCKET: u32 = 1;
const IP: u32 = 0;

/// What one holds.
enum Data {
    /// Several of the same.
    Several(ValueKind),
    /// A structure, which is there as a whole.
    Whole(&'static StructureLayout),
    /// So many structures; a part of them is none.
    Times(&'static StructureLayout, usize),
    Text,
    Address,
    /// A number alone.
    One(ValueKind),
    /// One number with a name, in brackets as if there were several.
    Named(&'static Names),
}

/// The levels, where what is none of them is called otherwise than a socket option's.
static LEVELS: Names = Names {
    unknown: "SOL_???",
    ..flags::SOL
};
/// The protocols, where what is none of them is called after the level.
static PROTOCOLS: Names = Names {
    unknown: "IP_???",
    ..flags::IPPROTO
};

/// By level and kind, what they hold, in no less than so many bytes.
static HELD: &[(u32, u32, usize, Data)] = &[
    (SOCKET, 1, 4, Data::Several(ValueKind::Fd)),
    (SOCKET, 2, 12, Data::Whole(&UCRED)),
    (SOCKET, 3, 1, Data::Text),
    (SOCKET, 4, 4, Data::One(ValueKind::Fd)),
    (SOCKET, 29, 1, Data::Times(&TIMEVAL, 1)),
    (SOCKET, 35, 1, Data::Times(&TIMESPEC, 1)),
    (SOCKET, 37, 1, Data::Times(&TIMESPEC, 3)),
    (SOCKET, 63, 1, Data::Times(&TIMEVAL, 1)),
    (SOCKET, 64, 1, Data::Times(&TIMESPEC, 1)),
    (SOCKET, 65, 1, Data::Times(&TIMESPEC, 3)),
    (IP, 8, 12, Data::Whole(&PACKET_INFORMATION)),
    (
        IP,
        2,
        4,
        Data::Several(ValueKind::Unsigned(IntegerWidth::Four)),
    ),
    (IP, 1, 1, Data::Several(ValueKind::Hex(IntegerWidth::One))),
    (IP, 6, 1, Data::Several(ValueKind::Hex(IntegerWidth::One))),
    (IP, 7, 1, Data::Several(ValueKind::Hex(IntegerWidth::One))),
    (IP, 11, 32, Data::Whole(&IP_ERROR)),
    (IP, 20, 16, Data::Address),
    (
        IP,
        23,
        4,
        Data::Several(ValueKind::Unsigned(IntegerWidth::Four)),
    ),
    (IP, 3, 1, Data::Text),
    (IP, 52, 4, Data::Named(&PROTOCOLS)),
];

impl<'a, S: ValueSink> Walk<'a, S> {
    /// What rides along with a message.
    pub(super) fn control_messages(&mut self, address: u64, length: u64, way: DataDirection) {
        let said = usize::try_from(length).unwrap_or(usize::MAX);
        let everything = self.style.verbose;
        let all = everything
            .then(|| self.control_bytes(address, said.min(LONGEST_OF_ALL), way))
            .flatten()
            .or_else(|| self.control_bytes(address, said.min(LONGEST), way));
        let Some(all) = all else {
            return self.address(address);
        };
        let length = all.len();
        self.sink.begin(Bracket::Array);
        let mut rest = all;
        while rest.len() >= HEAD {
            let size = usize::try_from(long_at(rest, 0)).unwrap_or(usize::MAX);
            self.sink.item(rest.len() == all.len());
            self.control_message(&rest[..size.clamp(HEAD, rest.len())], rest);
            if size < HEAD {
                rest = &rest[HEAD..];
                break;
            }
            let step = size.checked_next_multiple_of(8).unwrap_or(usize::MAX);
            rest = rest.get(step..).unwrap_or(&[]);
        }
        if !rest.is_empty() {
            self.sink.item(false);
            let at = (all.len() - rest.len()) as u64;
            self.sink.unreadable(address.wrapping_add(at));
        } else if length < said {
            self.sink.more(Bracket::Array, false);
        }
        self.sink.end(Bracket::Array);
    }

    fn control_bytes(
        &mut self,
        address: u64,
        length: usize,
        way: DataDirection,
    ) -> Option<&'a [u8]> {
        self.take_room(length)?;
        let bytes = self.read_text(address, length, way)?;
        bytes.get(..length).filter(|_| length >= HEAD)
    }

    fn control_message(&mut self, message: &'a [u8], head: &'a [u8]) {
        let (level, kind) = (int_at(head, 8), int_at(head, 12));
        self.sink.begin(Bracket::Structure);
        self.sink.field(true, "cmsg_len");
        self.sink.unsigned(long_at(head, 0));
        self.sink.field(false, "cmsg_level");
        self.one(u64::from(level), &LEVELS);
        self.sink.field(false, "cmsg_type");
        match level {
            SOCKET => self.one(u64::from(kind), &SOCKET_KINDS),
            IP => self.one(u64::from(kind), &IP_KINDS),
            _ => self.sink.hex(u64::from(kind)),
        }
        let said = message.get(HEAD..).unwrap_or(&[]);
        let held = HELD
            .iter()
            .find(|(of, number, least, _)| (*of, *number) == (level, kind) && said.len() >= *least);
        if !said.is_empty() {
            self.sink.field(false, "cmsg_data");
            match held {
                Some((.., held)) => self.control_data(held, said),
                None => self.sink.binary(said, false),
            }
        }
        self.sink.end(Bracket::Structure);
    }

    fn control_data(&mut self, held: &'static Data, said: &'a [u8]) {
        match held {
            Data::Several(kind) => {
                let size = self.size(*kind);
                let count = said.len() / size;
                let most = if self.style.verbose {
                    count
                } else {
                    self.shown_elements()
                };
                self.sink.begin(Bracket::Array);
                for (index, element) in said.chunks_exact(size).take(most).enumerate() {
                    self.sink.item(index == 0);
                    self.place(*kind, element, 0);
                }
                if count > most {
                    self.sink.more(Bracket::Array, most == 0);
                }
                self.sink.end(Bracket::Array);
            }
            Data::Whole(structure) => self.structure(structure, said, 0),
            Data::Times(structure, count) => {
                let size = structure.size * count;
                match said.get(..size) {
                    Some(bytes) if *count == 1 => self.structure(structure, bytes, 0),
                    Some(bytes) => self.place(ValueKind::Array(&TIMES, *count), bytes, 0),
                    None => self.sink.word(|out| out.extend_from_slice(b"???")),
                }
            }
            Data::One(kind) => self.place(*kind, said, 0),
            Data::Named(names) => {
                self.sink.begin(Bracket::Array);
                self.sink.item(true);
                self.one(u64::from(int_at(said, 0)), names);
                self.sink.end(Bracket::Array);
            }
            Data::Text => self.sink.text(said, false),
            Data::Address => self.socket_address_at(&said[..said.len().min(128)]),
        }
    }
}

static TIMES: ValueKind = ValueKind::Structure(&TIMESPEC);
