//! Waiting for files: `poll`, `select`, `epoll`; and what is said beside a result.

use backsight_syscall_tables::sets::WAIT_SHARED as SHARED;

use super::sink::{Bracket, ValueSink};
use super::{Walk, int_at, long_at, short_at};
use crate::format::{self, NamedNumber};
use crate::memory::{MAX_ELEMENTS, MOST_OF_DESCRIPTOR_SET};
use crate::table::{
    DataDirection, Names, PidKind, ResultKind, SpecialKind, ValueKind, flags, structure,
};

const POLLFD: usize = 8;

/// The version of capabilities that has 32 of them.
const FIRST_CAPABILITIES: u32 = 0x1998_0330;

impl<'a, S: ValueSink> Walk<'a, S> {
    /// What is polled, as it was asked.
    pub fn polled(&mut self, raw: u64) {
        let count = self.size_of_argument(1) & 0xffff_ffff;
        if raw == 0 {
            self.sink.null();
            return;
        }
        if count == 0 {
            self.sink.begin(Bracket::Array);
            self.sink.end(Bracket::Array);
            return;
        }
        let shown = self.allow(count);
        // Whether the next is there is told before there being more.
        let wanted = count.min(shown + 1);
        // By which descriptors a call is chosen isn't a matter of how many are shown.
        let asked = if self.is_capturing() {
            count.min(MAX_ELEMENTS)
        } else {
            wanted
        };
        let Some(bytes) = self
            .read(raw, asked * POLLFD, DataDirection::In)
            .filter(|bytes| bytes.len() >= POLLFD)
        else {
            self.address(raw);
            return;
        };
        self.sink.begin(Bracket::Array);
        for (index, element) in bytes.chunks_exact(POLLFD).take(shown).enumerate() {
            self.sink.item(index == 0);
            self.sink.begin(Bracket::Structure);
            self.sink.field(true, "fd");
            let fd = int_at(element, 0) as i32;
            self.sink.fd(fd, self.call);
            if fd >= 0 {
                self.sink.field(false, "events");
                self.flags(u64::from(short_at(element, 4)), &flags::POLL);
            }
            self.sink.end(Bracket::Structure);
        }
        if bytes.len() < wanted * POLLFD {
            self.array_rest(raw, bytes.len(), POLLFD, wanted, count);
        } else if count > shown {
            self.sink.more(Bracket::Array, shown == 0);
        }
        self.sink.end(Bracket::Array);
    }

    /// What stands behind the elements of an array that were read: where the others would be, or that there are more.
    pub fn array_rest(&mut self, raw: u64, read: usize, size: usize, shown: usize, count: usize) {
        if read < shown * size {
            self.sink.item(read < size);
            self.sink
                .unreadable(raw.wrapping_add((read - read % size) as u64));
        } else if count > shown {
            self.sink.more(Bracket::Array, shown == 0);
        }
    }

    /// What `epoll_ctl` watches.
    pub fn watched(&mut self, raw: u64, number: usize) {
        const DELETE: u64 = 2;
        if raw == 0 {
            self.sink.null();
        } else if self.call.arguments[1] & 0xffff_ffff == DELETE {
            self.sink.address(raw);
        } else {
            const EVENT: ValueKind = ValueKind::ByAbi(
                &ValueKind::Structure(&structure::EPOLL_EVENT_X86),
                &ValueKind::Structure(&structure::EPOLL_EVENT),
            );
            self.value(ValueKind::To(DataDirection::In, &EVENT), raw, number);
        }
    }

    /// How many bytes the sets of `select` are looked at.
    fn set_bytes(&self) -> usize {
        self.set_size().div_ceil(64) * 8
    }

    /// How many descriptors the sets of `select` hold, as the program says; no more than are looked at.
    fn set_size(&self) -> usize {
        const MOST: i32 = 8 * MOST_OF_DESCRIPTOR_SET as i32;
        (self.call.arguments[0] as i32).clamp(0, MOST) as usize
    }

    /// A set of file descriptors, as it was asked.
    pub fn descriptor_set(&mut self, raw: u64) {
        if raw == 0 {
            self.sink.null();
            return;
        }
        let length = self.set_bytes();
        let bytes = self
            .read(raw, length, DataDirection::In)
            .filter(|bytes| length > 0 && bytes.len() == length);
        let Some(bytes) = bytes else {
            self.address(raw);
            return;
        };
        self.descriptors_in(bytes, DataDirection::In);
    }

    fn descriptors_in(&mut self, bytes: &[u8], way: DataDirection) {
        let most = self.set_size();
        self.sink.begin(Bracket::Array);
        let mut first = true;
        for fd in (0..most).filter(|fd| bytes[fd / 8] & (1 << (fd % 8)) != 0) {
            self.sink.member(first);
            first = false;
            if way == DataDirection::In {
                self.sink.fd(fd as i32, self.call)
            } else {
                self.sink.unsigned(fd as u64)
            }
        }
        self.sink.end(Bracket::Array);
    }

    /// What is said in parentheses behind the result.
    pub fn beside_result(&mut self) {
        if self.failed() {
            return;
        }
        match self.row.result {
            ResultKind::Ready => self.polled_result(),
            ResultKind::Selected => self.selected_result(),
            ResultKind::Received => self.received_result(),
            _ if self.row.kinds[2] == ValueKind::Special(SpecialKind::Requested) => {
                self.requested_result()
            }
            _ => {}
        }
    }

    /// Whether anything is said there.
    fn timed_out(&mut self) -> bool {
        if self.result() != 0 {
            return false;
        }
        self.sink.beside(true, "");
        self.sink.word(|out| out.extend_from_slice(b"Timeout"));
        self.sink.beside_end();
        true
    }

    fn polled_result(&mut self) {
        if self.timed_out() {
            return;
        }
        let count = self.size_of_argument(1) & 0xffff_ffff;
        let address = self.call.arguments[0];
        let Some(bytes) = self.read(
            address,
            count.min(MAX_ELEMENTS) * POLLFD,
            DataDirection::Out,
        ) else {
            return;
        };
        self.sink.beside(true, "");
        self.sink.begin(Bracket::Array);
        let most = self.shown_elements();
        let mut first = true;
        let mut shown = 0;
        for element in bytes.chunks_exact(POLLFD) {
            let events = short_at(element, 6);
            let fd = int_at(element, 0) as i32;
            if events == 0 || fd < 0 {
                continue;
            }
            if shown >= most {
                self.sink.more(Bracket::Array, first);
                break;
            }
            shown += 1;
            self.sink.item(first);
            first = false;
            self.sink.begin(Bracket::Structure);
            self.sink.field(true, "fd");
            // What it is was said before.
            self.sink.signed(i64::from(fd));
            self.sink.field(false, "revents");
            self.flags(u64::from(events), &flags::POLL);
            self.sink.end(Bracket::Structure);
        }
        self.sink.end(Bracket::Array);
        if self.row.name == "ppoll" {
            self.time_left(2, &structure::TIMESPEC, false);
        }
        self.sink.beside_end();
    }

    fn received_result(&mut self) {
        if self.timed_out() {
            return;
        }
        if !self.style.opaque && self.call.arguments[4] != 0 {
            self.time_left(4, &structure::TIMESPEC, true);
            self.sink.beside_end();
        }
    }

    fn time_left(
        &mut self,
        argument: usize,
        structure: &'static crate::table::StructureLayout,
        first: bool,
    ) {
        let address = self.call.arguments[argument];
        if address != 0 && self.style.opaque {
            self.sink.beside(first, "left");
            self.address(address);
        } else if address != 0
            && let Some(bytes) = self
                .read(address, 16, DataDirection::Out)
                .filter(|bytes| bytes.len() == 16)
        {
            self.sink.beside(first, "left");
            self.structure(structure, bytes, argument);
        }
    }

    fn selected_result(&mut self) {
        if self.timed_out() {
            return;
        }
        let mut first = true;
        for (number, name) in [(1, "in"), (2, "out"), (3, "except")] {
            let address = self.call.arguments[number];
            let length = self.set_bytes();
            if address == 0 || length == 0 {
                continue;
            }
            // These are shown wherever sets that are asked for aren't.
            let Some(bytes) = self
                .read_text(address, length, DataDirection::Out)
                .filter(|bytes| bytes.len() == length)
            else {
                continue;
            };
            if bytes.iter().all(|byte| *byte == 0) {
                continue;
            }
            self.sink.beside(first, name);
            first = false;
            self.descriptors_in(bytes, DataDirection::Out);
        }
        let spec = if self.row.name == "select" {
            &structure::TIMEVAL
        } else {
            &structure::TIMESPEC
        };
        self.time_left(4, spec, first);
        if first && self.call.arguments[4] == 0 {
            // Nothing of what is ready is in the sets, and that is said.
            self.sink.beside(true, "");
        }
        self.sink.beside_end();
    }

    /// Bits of processors.
    pub fn processors(&mut self, raw: u64, way: DataDirection) {
        let length = if way == DataDirection::Out {
            self.result() as usize
        } else {
            self.size_of_argument(1)
        };
        self.processor_bits(raw, way, length);
    }

    /// The same of so many bytes.
    pub fn processor_bits(&mut self, raw: u64, way: DataDirection, length: usize) {
        if raw == 0 {
            self.sink.null();
            return;
        }
        if way == DataDirection::Out && self.failed() {
            self.address(raw);
            return;
        }
        let most = length.min(MAX_ELEMENTS);
        let bytes = match length {
            0 if way == DataDirection::In && !self.style.opaque => Some(&[][..]),
            _ => self
                .read(raw, most, way)
                .filter(|bytes| bytes.len() >= most && most > 0),
        };
        let Some(bytes) = bytes else {
            self.address(raw);
            return;
        };
        self.sink.begin(Bracket::Array);
        let mut first = true;
        for processor in (0..bytes.len() * 8).filter(|bit| bytes[bit / 8] & (1 << (bit % 8)) != 0) {
            self.sink.member(first);
            first = false;
            self.sink.unsigned(processor as u64);
        }
        self.sink.end(Bracket::Array);
    }

    /// Which pages are resident: one byte each.
    pub fn resident(&mut self, raw: u64) {
        let pages = self.size_of_argument(1).div_ceil(4096);
        if raw != 0 && pages == 0 {
            self.sink.begin(Bracket::Array);
            return self.sink.end(Bracket::Array);
        }
        if raw == 0 || self.failed() {
            self.address(raw);
            return;
        }
        let shown = self.allow(pages);
        let Some(bytes) = self
            .read(raw, shown, DataDirection::Out)
            .filter(|bytes| bytes.len() == shown && shown > 0)
        else {
            self.address(raw);
            return;
        };
        self.sink.begin(Bracket::Array);
        for (index, page) in bytes.iter().enumerate() {
            self.sink.item(index == 0);
            self.sink.unsigned(u64::from(page & 1));
        }
        if pages > shown {
            self.sink.more(Bracket::Array, shown == 0);
        }
        self.sink.end(Bracket::Array);
    }

    /// Random bytes.
    pub fn random(&mut self, raw: u64) {
        let length = usize::try_from(self.result()).unwrap_or(0);
        if raw == 0 || self.failed() {
            self.address(raw);
            return;
        }
        let shown = length.min(self.style.string);
        match self
            .read_text(raw, shown, DataDirection::Out)
            .filter(|bytes| bytes.len() == shown)
        {
            Some(bytes) => self.sink.binary(bytes, length > shown),
            None if shown == 0 => self.sink.text(&[], length > 0),
            None => self.address(raw),
        }
    }

    /// A key of inter-process communication.
    pub fn ipc_key(&mut self, raw: u64) {
        if raw as u32 == 0 {
            self.sink.constant(NamedNumber::Hex(0), |out| {
                out.extend_from_slice(b"IPC_PRIVATE")
            });
        } else {
            self.sink.hex(raw & 0xffff_ffff);
        }
    }

    /// What is asked of a queue, of semaphores or of memory, with the version of the structures before it.
    pub fn ipc_command(&mut self, raw: u64, names: &'static Names) {
        const NEW_STRUCTURES: u64 = 0x100;
        let command = raw & 0xffff_ffff & !NEW_STRUCTURES;
        self.sink.words(|out, constants, _| {
            if raw & NEW_STRUCTURES != 0 {
                format::constant(out, constants, NamedNumber::Hex(NEW_STRUCTURES), |out| {
                    out.extend_from_slice(b"IPC_64")
                });
                out.push(b'|');
            }
            format::constant(out, constants, NamedNumber::Hex(command), |out| {
                format::one(out, command, names)
            });
        });
    }

    /// Flags and permissions of inter-process communication.
    pub fn ipc_mode(&mut self, raw: u64) {
        const PERMISSIONS: u64 = 0o777;
        const HUGE_SHIFT: u64 = 26;
        let shared = self.row.name == "shmget";
        let huge = if shared {
            (raw & 0xffff_ffff) >> HUGE_SHIFT
        } else {
            0
        };
        let rest = raw & 0xffff_ffff & !PERMISSIONS & !(huge << HUGE_SHIFT);
        let names = if shared { &SHARED } else { &flags::IPC_FLAGS };
        self.sink.words(|out, constants, _| {
            if rest != 0 {
                format::constant(out, constants, NamedNumber::Hex(rest), |out| {
                    format::some_flags(out, rest, names)
                });
                // Of queues and semaphores, what has no name stands there without a sign between.
                if shared || names.list.iter().any(|(_, bit)| rest & bit != 0) {
                    out.push(b'|');
                }
            }
            if huge != 0 {
                format::unsigned(out, huge);
                out.extend_from_slice(b"<<");
                format::constant(out, constants, NamedNumber::Unsigned(HUGE_SHIFT), |out| {
                    out.extend_from_slice(b"SHM_HUGE_SHIFT")
                });
                out.push(b'|');
            }
            format::permissions(out, raw & PERMISSIONS);
        });
    }

    /// A message of a queue: its type, and as many bytes as it was sent or received with.
    pub fn queued(&mut self, raw: u64, way: DataDirection) {
        const TYPE: usize = 8;
        let length = match way {
            DataDirection::In => self.size_of_argument(2),
            DataDirection::Out => usize::try_from(self.result()).unwrap_or(0),
        };
        let shown = length.min(self.style.string);
        let bytes = self
            .read_in_time(raw, TYPE.saturating_add(shown), way)
            .filter(|bytes| bytes.len() >= TYPE && !self.narrow());
        let Some(bytes) = bytes else {
            return self.address(raw);
        };
        self.sink.begin(Bracket::Structure);
        self.sink.field(true, "mtype");
        self.sink.signed(long_at(bytes, 0) as i64);
        self.sink.field(false, "mtext");
        match bytes.get(TYPE..TYPE.saturating_add(shown)) {
            Some(text) => self.sink.text(text, length > shown),
            None => self.address(raw.wrapping_add(TYPE as u64)),
        }
        self.sink.end(Bracket::Structure);
    }

    /// A limit of a resource: 1024 times something where it is such a number.
    pub fn limit(&mut self, raw: u64) {
        if raw != u64::MAX && (raw <= 1024 || !raw.is_multiple_of(1024)) {
            self.sink.unsigned(raw);
            return;
        }
        let number = |sink: &mut S| sink.unsigned(raw);
        self.sink.named(number, |out| match raw {
            u64::MAX => out.extend_from_slice(b"RLIM64_INFINITY"),
            _ => {
                format::unsigned(out, raw / 1024);
                out.extend_from_slice(b"*1024");
            }
        });
    }

    /// Whose capabilities.
    pub fn capability_header(&mut self, raw: u64) {
        let Some(bytes) = self
            .read(raw, 8, DataDirection::In)
            .filter(|bytes| bytes.len() == 8)
        else {
            self.address(raw);
            return;
        };
        self.sink.begin(Bracket::Structure);
        self.sink.field(true, "version");
        self.one(u64::from(int_at(bytes, 0)), &flags::CAP_VERSION);
        self.sink.field(false, "pid");
        self.sink.process(int_at(bytes, 4) as i32, PidKind::Process);
        self.sink.end(Bracket::Structure);
    }

    /// Capabilities.
    pub fn capabilities(&mut self, raw: u64, way: DataDirection) {
        if raw == 0 || (way == DataDirection::Out && self.failed()) {
            self.address(raw);
            return;
        }
        // What is said is as long as the header's version has it.
        let header = self.read(self.call.arguments[0], 8, DataDirection::In);
        let length = match header
            .filter(|bytes| bytes.len() == 8)
            .map(|bytes| int_at(bytes, 0))
        {
            Some(FIRST_CAPABILITIES) => 12,
            Some(_) => 24,
            None => 0,
        };
        let bytes = self.read(raw, length, way);
        let Some(bytes) = bytes.filter(|bytes| length > 0 && bytes.len() == length) else {
            self.address(raw);
            return;
        };
        self.sink.begin(Bracket::Structure);
        for (index, name) in ["effective", "permitted", "inheritable"]
            .into_iter()
            .enumerate()
        {
            let bits = u64::from(int_at(bytes, 4 * index))
                | (u64::from(int_at(bytes, 12 + 4 * index)) << 32);
            self.sink.field(index == 0, name);
            self.sink.word(|out| capability_names(out, bits));
        }
        self.sink.end(Bracket::Structure);
    }
}

fn capability_names(out: &mut Vec<u8>, bits: u64) {
    if bits == 0 {
        out.push(b'0');
        return;
    }
    let mut left = bits;
    let mut first = true;
    for (name, number) in flags::CAP.list {
        if bits & (1 << number) != 0 {
            if !first {
                out.push(b'|');
            }
            first = false;
            left &= !(1 << number);
            out.extend_from_slice(b"1<<");
            out.extend_from_slice(name.as_bytes());
        }
    }
    if left != 0 {
        if !first {
            out.push(b'|');
        }
        format::hex(out, left);
    }
}
