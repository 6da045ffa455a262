//! Sockets: where their addresses are, messages with what rides along.

use super::sink::{Bracket, ValueSink};
use super::{Walk, int_at, long_at};
use crate::format;
use crate::table::option::names::{PROTOCOLS, PROTOCOLS_OF_AX25};
use crate::table::{DataDirection, flags};

const INET: u16 = 2;
const INET6: u16 = 10;
const NETLINK: u16 = 16;
const AX25: u16 = 3;
const PACKET: u16 = 17;
const RXRPC: u16 = 33;

/// The longest address of a socket.
const LONGEST: usize = 128;
const VECTOR: usize = 16;
const HEADER: usize = 56;
const MESSAGE: usize = 64;
/// The kernel takes no more at once.
const MOST_MESSAGES: usize = 1024;

impl<'a, S: ValueSink> Walk<'a, S> {
    /// A socket's address that the program says.
    pub fn socket_address(&mut self, raw: u64, length: u64) {
        if raw == 0 {
            self.sink.null();
            return;
        }
        self.address_of_length(raw, length as u32, DataDirection::In);
    }

    fn address_of_length(&mut self, raw: u64, length: u32, way: DataDirection) {
        let length = match usize::try_from(length as i32) {
            Ok(length) if length >= 2 => length.min(LONGEST),
            _ => return self.address(raw),
        };
        match self.read(raw, length, way) {
            Some(bytes) if bytes.len() == length => self.socket_address_at(bytes),
            _ => self.address(raw),
        }
    }

    /// A socket's address that the kernel says.
    pub fn socket_address_out(&mut self, raw: u64, length: usize) {
        let said = self.call.arguments[length];
        let room = self.read_always(said, 4, DataDirection::In);
        let unknown = said == 0
            || room.is_some_and(|bytes| bytes.len() == 4 && int_at(bytes, 0) as i32 <= 0)
            || self
                .read(said, 4, DataDirection::Out)
                .is_none_or(|bytes| bytes.len() < 4);
        let length = if said == 0 { 0 } else { self.behind(length) };
        if raw == 0 {
            self.sink.null();
        } else if self.failed() || self.style.opaque || unknown && !self.is_capturing() {
            self.address(raw);
        } else if length == 0 {
            self.sink.text(&[], false);
        } else {
            self.address_of_length(raw, length.min(LONGEST) as u32, DataDirection::Out);
        }
    }

    /// The length of such an address, or of an option: before and after.
    pub fn socket_length(&mut self, raw: u64) {
        if raw == 0 {
            self.sink.null();
            return;
        }
        // Where no address is asked for, its length is nobody's.
        let unasked = match self.row.name {
            "accept" | "accept4" | "getsockname" | "getpeername" => self.call.arguments[1] == 0,
            "recvfrom" => self.call.arguments[4] == 0,
            _ => false,
        };
        if unasked {
            return self.address(raw);
        }
        let number = |bytes: &[u8]| (bytes.len() == 4).then(|| int_at(bytes, 0));
        let before = self.read_always(raw, 4, DataDirection::In).and_then(number);
        // How long an option is, is said also where there was no place for it. Security modules do so too, and have sizes
        // without a sign.
        let unsigned = self.row.name.starts_with("lsm_");
        let after = if unsigned || self.row.name == "getsockopt" {
            self.read_always(raw, 4, DataDirection::Out)
        } else {
            self.read(raw, 4, DataDirection::Out)
        };
        let after = after.and_then(number);
        let (Some(before), after) = (before.or(after), after) else {
            self.address(raw);
            return;
        };
        let shown = |value: u32| match unsigned {
            true => i64::from(value),
            false => i64::from(value as i32),
        };
        let put_number = |out: &mut Vec<u8>, value: u32| format::signed(out, shown(value));
        self.sink.begin(Bracket::Array);
        self.sink.item(true);
        match after {
            Some(after) if after != before => self.sink.word(|out| {
                put_number(out, before);
                out.extend_from_slice(b" => ");
                put_number(out, after);
            }),
            _ => self.sink.signed(shown(before)),
        }
        self.sink.end(Bracket::Array);
    }

    /// Vectors of buffers; for what was received, no more than what came.
    pub fn vectors(&mut self, raw: u64, count: usize, way: DataDirection) {
        let came = if way == DataDirection::Out && !self.failed() {
            Some(self.result() as usize)
        } else {
            None
        };
        self.vectors_of(raw, count, (DataDirection::In, way), came);
    }

    /// The same, read as each of both says: the vectors, and what they hold, no more than so many bytes of it.
    pub fn vectors_of(
        &mut self,
        raw: u64,
        count: usize,
        (told, way): (DataDirection, DataDirection),
        came: Option<usize>,
    ) {
        if raw == 0 {
            self.sink.null();
            return;
        }
        if count == 0 {
            self.sink.begin(Bracket::Array);
            self.sink.end(Bracket::Array);
            return;
        }
        // So many that they would lie in no memory.
        if count.checked_mul(VECTOR).is_none() {
            return self.address(raw);
        }
        let shown = self.allow(count);
        // Whether there is another is looked at before it is left out.
        let looked_at = count.min(shown + 1);
        let Some(bytes) = self
            .read(raw, looked_at * VECTOR, told)
            .filter(|bytes| bytes.len() >= VECTOR)
        else {
            self.address(raw);
            return;
        };
        if way == DataDirection::Out && came.is_none() && !self.failed_shows_vectors() {
            self.address(raw);
            return;
        }
        let mut left = came.unwrap_or(0);
        self.sink.begin(Bracket::Array);
        for (index, vector) in bytes.chunks_exact(VECTOR).take(shown).enumerate() {
            let (base, length) = (long_at(vector, 0), long_at(vector, 8));
            self.sink.item(index == 0);
            self.sink.begin(Bracket::Structure);
            self.sink.field(true, "iov_base");
            let length_here = usize::try_from(length).unwrap_or(usize::MAX);
            match (way, came) {
                (_, Some(_)) => {
                    let here = length_here.min(left);
                    left -= here;
                    self.netlink_messages(base, here, way);
                }
                (DataDirection::Out, None) => self.address(base),
                _ => self.netlink_messages(base, length_here, DataDirection::In),
            }
            self.sink.field(false, "iov_len");
            self.sink.unsigned(length);
            self.sink.end(Bracket::Structure);
        }
        if bytes.len() < looked_at * VECTOR {
            self.array_rest(raw, bytes.len(), VECTOR, looked_at, count);
        } else if count > shown {
            self.sink.more(Bracket::Array, shown == 0);
        }
        self.sink.end(Bracket::Array);
    }

    fn failed_shows_vectors(&self) -> bool {
        matches!(
            self.row.name,
            "readv" | "preadv" | "preadv2" | "process_vm_readv"
        )
    }

    /// A message.
    pub fn message(&mut self, raw: u64, way: DataDirection) {
        if raw == 0 || (way == DataDirection::Out && self.failed() && !self.is_capturing()) {
            self.message_failed(raw);
            return;
        }
        let came = (way == DataDirection::Out && !self.failed()).then(|| self.result() as usize);
        self.message_of(raw, way, came, HEADER);
    }

    /// A message that wasn't received: only how long a name could have been.
    fn message_failed(&mut self, raw: u64) {
        match self
            .read(raw, HEADER, DataDirection::In)
            .filter(|bytes| bytes.len() == HEADER)
        {
            Some(bytes) => {
                self.sink.begin(Bracket::Structure);
                self.sink.field(true, "msg_namelen");
                self.sink.signed(i64::from(int_at(bytes, 8) as i32));
                self.sink.end(Bracket::Structure);
            }
            None => self.address(raw),
        }
    }

    fn message_of(&mut self, raw: u64, way: DataDirection, came: Option<usize>, size: usize) {
        let before = self
            .read(raw, size, DataDirection::In)
            .filter(|bytes| bytes.len() >= HEADER);
        let after = if way == DataDirection::Out {
            self.read(raw, size, DataDirection::Out)
                .filter(|bytes| bytes.len() >= HEADER)
        } else {
            None
        };
        let Some(now) = after.or(before) else {
            self.address(raw);
            return;
        };
        let asked = before.unwrap_or(now);
        let (name, length, before_length) = (long_at(now, 0), int_at(now, 8), int_at(asked, 8));
        self.sink.begin(Bracket::Structure);
        self.sink.field(true, "msg_name");
        if name == 0 {
            self.sink.null();
        } else {
            let readable = if way == DataDirection::Out {
                length.min(before_length)
            } else {
                length
            };
            self.address_of_length(name, readable, way);
        }
        self.sink.field(false, "msg_namelen");
        if way == DataDirection::Out && before_length != length {
            self.sink.word(|out| {
                format::signed(out, i64::from(before_length as i32));
                out.extend_from_slice(b" => ");
                format::signed(out, i64::from(length as i32));
            });
        } else {
            self.sink.signed(i64::from(length as i32));
        }
        self.sink.field(false, "msg_iov");
        let count = usize::try_from(long_at(now, 24)).unwrap_or(usize::MAX);
        self.vectors_of(long_at(now, 16), count, (DataDirection::In, way), came);
        self.sink.field(false, "msg_iovlen");
        self.sink.unsigned(long_at(now, 24));
        let (control, control_length) = (long_at(now, 32), long_at(now, 40));
        if control_length != 0 {
            self.sink.field(false, "msg_control");
            self.control_messages(control, control_length, way);
        }
        self.sink.field(false, "msg_controllen");
        self.sink.unsigned(control_length);
        self.sink.field(false, "msg_flags");
        self.flags(u64::from(int_at(now, 48)), &flags::MSG);
        self.sink.end(Bracket::Structure);
    }

    /// Several messages: of those that were sent, how long they were.
    pub fn messages(&mut self, raw: u64, way: DataDirection) {
        let gone = way == DataDirection::Out && self.failed() && !self.is_capturing();
        if raw == 0 || gone || self.style.opaque {
            self.address(raw);
            return;
        }
        let done = if self.failed() {
            0
        } else {
            self.result() as usize
        };
        let count = if way == DataDirection::In || self.failed() {
            self.size_of_argument(2) & 0xffff_ffff
        } else {
            done
        };
        let shown = self.allow(count.min(MOST_MESSAGES));
        let first = self.read(raw, MESSAGE, DataDirection::In);
        if shown > 0 && first.is_none_or(|bytes| bytes.len() < MESSAGE) {
            return self.address(raw);
        }
        self.sink.begin(Bracket::Array);
        for index in 0..shown {
            let address = raw.wrapping_add((index * MESSAGE) as u64);
            let there = self.read(address, MESSAGE, DataDirection::In);
            if !self.is_capturing() && there.is_none_or(|bytes| bytes.len() < MESSAGE) {
                self.sink.item(false);
                self.sink.unreadable(address);
                self.sink.end(Bracket::Array);
                return;
            }
            self.sink.item(index == 0);
            self.message_and_length(address, way, index < done);
        }
        if count > shown {
            self.sink.more(Bracket::Array, shown == 0);
        }
        self.sink.end(Bracket::Array);
    }

    fn message_and_length(&mut self, address: u64, way: DataDirection, done: bool) {
        let at = address.wrapping_add(HEADER as u64);
        let length = match done {
            true => self.read(at, 4, DataDirection::Out),
            false => None,
        };
        let length = length
            .filter(|bytes| bytes.len() == 4)
            .map(|bytes| int_at(bytes, 0));
        self.sink.begin(Bracket::Structure);
        self.sink.field(true, "msg_hdr");
        let came = length.filter(|_| way == DataDirection::Out);
        self.message_of(address, way, came.map(|length| length as usize), HEADER);
        if let Some(length) = length {
            self.sink.field(false, "msg_len");
            self.sink.unsigned(u64::from(length));
        }
        self.sink.end(Bracket::Structure);
    }

    /// The protocol of a socket, by its domain.
    pub fn socket_protocol(&mut self, raw: u64) {
        let low = raw & 0xffff_ffff;
        let family = self.call.arguments[0] as u16;
        if self.row.name != "socket" {
            // Of a pair nothing but the number is shown.
            return self.sink.unsigned(raw);
        }
        match family {
            INET | INET6 => self.one(low, &flags::IPPROTO),
            NETLINK => self.one(low, &flags::NETLINK),
            // In every style.
            AX25 => self.sink.word(|out| {
                format::hex(out, low);
                let name = PROTOCOLS_OF_AX25.name(low);
                format::remark(out, name.unwrap_or(PROTOCOLS_OF_AX25.unknown));
            }),
            PACKET => self.packet_protocol((low as u16).swap_bytes(), "ETH_P_???"),
            RXRPC => self.one(low, &flags::DOMAIN),
            _ => match PROTOCOLS.iter().find(|(known, _)| *known == family) {
                Some((_, names)) => self.one(low, names),
                None => self.sink.unsigned(raw),
            },
        }
    }
}
