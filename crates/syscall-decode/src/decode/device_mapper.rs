//! Requests of the device mapper: a header that says where in the same stretch of memory what belongs to it lies.
//!
//! A place beyond the size that the program gives, or not after the last one, isn't followed.

use super::sink::{Bracket, ValueSink};
use super::{Walk, int_at, long_at};
use crate::table::ioctl::device_mapper as layout;
use crate::table::{DataDirection, StructureLayout, ValueKind};

/// What of the header is looked at; behind it there may be data at once.
const HEADER: usize = 305;
/// The structures are those of this version.
const MAJOR: u32 = 4;
/// Since this one an event's number follows a name.
const WITH_EVENTS: u32 = 37;

mod request {
    //! The numbers of the requests.
    pub const VERSION: u32 = 0;
    pub const REMOVE_ALL: u32 = 1;
    pub const LIST_DEVICES: u32 = 2;
    pub const DEV_CREATE: u32 = 3;
    pub const DEV_REMOVE: u32 = 4;
    pub const DEV_RENAME: u32 = 5;
    pub const DEV_SUSPEND: u32 = 6;
    pub const DEV_STATUS: u32 = 7;
    pub const DEV_WAIT: u32 = 8;
    pub const TABLE_LOAD: u32 = 9;
    pub const TABLE_CLEAR: u32 = 10;
    pub const TABLE_DEPS: u32 = 11;
    pub const TABLE_STATUS: u32 = 12;
    pub const LIST_VERSIONS: u32 = 13;
    pub const TARGET_MSG: u32 = 14;
    pub const DEV_SET_GEOMETRY: u32 = 15;
    pub const DEV_ARM_POLL: u32 = 16;
}
use request::*;

const SUSPEND: u32 = 1 << 1;
const DATA_OUT: u32 = 1 << 16;

/// A header as it lies in memory.
#[derive(Clone, Copy)]
struct Header<'a> {
    request: u32,
    /// Where it lies.
    at: u64,
    bytes: &'a [u8],
    way: DataDirection,
}

impl Header<'_> {
    fn version(self, place: usize) -> u32 {
        int_at(self.bytes, 4 * place)
    }

    fn size(self) -> u32 {
        int_at(self.bytes, 12)
    }

    fn start(self) -> u32 {
        int_at(self.bytes, 16)
    }

    fn targets(self) -> u32 {
        int_at(self.bytes, 20)
    }

    fn flags(self) -> u32 {
        int_at(self.bytes, 28)
    }

    /// Where something ends that begins there and is so long; nothing where there is no room for it.
    fn end(self, offset: u32, length: u32) -> Option<u32> {
        let end = offset.checked_add(length)?;
        (end <= self.size()).then_some(end)
    }

    fn address(self, offset: u32) -> u64 {
        self.at.wrapping_add(u64::from(offset))
    }

    /// Whether the kernel changed what it says of itself.
    fn differs(self, other: Self) -> bool {
        self.bytes[..20] != other.bytes[..20] || self.flags() != other.flags()
    }
}

impl<'a, S: ValueSink> Walk<'a, S> {
    /// What a request of the device mapper is given, and what it became.
    pub(super) fn mapper(&mut self, raw: u64) {
        let request = self.call.arguments[1] as u32 & 0xff;
        let header = |bytes: &'a [u8], way| {
            let header = Header {
                request,
                at: raw,
                bytes,
                way,
            };
            (bytes.len() >= HEADER && header.size() >= 12).then_some(header)
        };
        // strace shows the header wherever no structures are wanted, too.
        let before = self.read_text(raw, HEADER, DataDirection::In);
        let after = self.read_text_always(raw, HEADER, DataDirection::Out);
        let Some(before) = before.and_then(|bytes| header(bytes, DataDirection::In)) else {
            return self.sink.address(raw);
        };
        let start = self.sink.begins();
        self.mapped(before);
        let after = after.and_then(|bytes| header(bytes, DataDirection::Out));
        if let Some(after) = after.filter(|after| !self.failed() || after.differs(before)) {
            let middle = self.sink.turns();
            self.mapped(after);
            self.sink.turned(start, middle);
        }
    }

    fn mapped(&mut self, header: Header<'a>) {
        self.sink.begin(Bracket::Array);
        self.sink.item(true);
        self.sink.begin(Bracket::Structure);
        let known = self.mapper_fields(header);
        self.sink.end(Bracket::Structure);
        if known {
            self.mapper_data(header);
        }
        self.sink.end(Bracket::Array);
    }

    /// The fields of the header; whether what follows it is known.
    fn mapper_fields(&mut self, header: Header<'a>) -> bool {
        self.fields(&layout::VERSION, header.bytes, 0, true);
        if header.version(0) != MAJOR {
            self.remark("unsupported device mapper ABI version");
            return false;
        }
        self.fields(&layout::SIZE, header.bytes, 0, false);
        if (header.size() as usize) < HEADER {
            self.remark("data_size too small");
            return false;
        }
        let of = |request, structure: &'static StructureLayout| (request, structure);
        let shown = [
            of(header.has_data(), &layout::START),
            of(header.has_device(), &layout::DEVICE),
            of(header.has_target_count(), &layout::TARGETS),
            of(header.has_event_number(), &layout::EVENT),
            of(header.is_answer() && !self.failed(), &layout::ANSWERED),
            of(true, &layout::FLAGS),
        ];
        for (_, structure) in shown.into_iter().filter(|(is_shown, _)| *is_shown) {
            self.fields(structure, header.bytes, 0, false);
        }
        true
    }

    fn remark(&mut self, remark: &'static str) {
        self.sink
            .aside(|out| out.extend_from_slice(remark.as_bytes()));
    }

    fn misplaced(&mut self, what: &'static str) {
        self.sink.word(|out| out.extend_from_slice(b"???"));
        self.remark(what);
    }

    /// What belongs to a header.
    fn mapper_data(&mut self, header: Header<'a>) {
        let is_empty = header.start() == header.size();
        let answered = header.way == DataDirection::Out && !self.failed();
        let is_said = header.way == DataDirection::In;
        let (there, show): (bool, fn(&mut Self, Header<'a>)) = match header.request {
            DEV_WAIT | TABLE_STATUS => (answered && header.targets() > 0, Self::mapper_targets),
            TABLE_LOAD => (is_said && header.targets() > 0, Self::mapper_targets),
            TABLE_DEPS => (answered && !is_empty, Self::mapper_devices),
            LIST_DEVICES => (answered && !is_empty, Self::mapper_names),
            LIST_VERSIONS => (answered && !is_empty, Self::mapper_versions),
            TARGET_MSG if is_said => (!is_empty, Self::mapper_message),
            TARGET_MSG => (
                answered && header.flags() & DATA_OUT != 0,
                Self::mapper_text,
            ),
            DEV_RENAME | DEV_SET_GEOMETRY => (is_said, Self::mapper_text),
            _ => (false, Self::mapper_text),
        };
        match (there, self.style.verbose) {
            (false, _) => {}
            (true, true) => show(self, header),
            (true, false) => self.sink.more(Bracket::Array, false),
        }
    }

    /// What lies at a place, of which the program says that there is so much; nothing, and its address shown, where it can't be
    /// read.
    fn mapper_part(&mut self, header: Header<'a>, offset: u32, size: usize) -> Option<&'a [u8]> {
        let address = header.address(offset);
        let bytes = self.read(address, size, header.way);
        let bytes = bytes.filter(|bytes| bytes.len() >= size);
        if bytes.is_none() {
            self.address(address);
        }
        bytes
    }

    /// Text from a place to its end or that of all.
    fn mapper_string(&mut self, header: Header<'a>, first: bool, name: &str, offset: u32) {
        self.sink.field(first, name);
        let most = header.size().saturating_sub(offset) as usize;
        let shown = self.style.string.min(most);
        match most {
            0 => self.sink.text(&[], false),
            _ => self.zero_terminated(
                header.address(offset),
                header.way,
                shown,
                (shown + 1).min(most),
            ),
        }
    }

    fn mapper_targets(&mut self, header: Header<'a>) {
        let (mut offset, mut last) = (header.start(), 0);
        for number in 0..header.targets() {
            self.sink.item(false);
            let end = header.end(offset, 40);
            let Some(end) = end.filter(|_| number == 0 || offset > last) else {
                return self.misplaced("misplaced struct dm_target_spec");
            };
            last = end;
            let Some(target) = self.mapper_part(header, offset, 40) else {
                return;
            };
            // Whether it is there is looked at before it is left out.
            if number as usize >= self.style.string {
                return self.sink.more(Bracket::Array, true);
            }
            self.sink.begin(Bracket::Structure);
            let shown = match header.way {
                DataDirection::In => &layout::TARGET,
                DataDirection::Out => &layout::TARGET_STATUS,
            };
            self.fields(shown, target, 0, true);
            self.mapper_string(header, false, "string", end);
            self.sink.end(Bracket::Structure);
            let next = int_at(target, 20);
            offset = match header.way {
                DataDirection::In => offset.wrapping_add(next),
                DataDirection::Out => header.start().wrapping_add(next),
            };
        }
    }

    fn mapper_devices(&mut self, header: Header<'a>) {
        const MISPLACED: &str = "misplaced struct dm_target_deps";
        self.sink.item(false);
        let offset = header.start();
        let Some(end) = header.end(offset, 8) else {
            return self.misplaced(MISPLACED);
        };
        let Some(head) = self.mapper_part(header, offset, 8) else {
            return;
        };
        let count = int_at(head, 0);
        if count > (header.size() - end) / 8 {
            return self.misplaced(MISPLACED);
        }
        self.sink.begin(Bracket::Structure);
        self.sink.field(true, "count");
        self.sink.unsigned(u64::from(count));
        self.sink.field(false, "deps");
        self.elements(
            header.address(end),
            header.way,
            ValueKind::Device,
            count as usize,
            0,
        );
        self.sink.end(Bracket::Structure);
    }

    /// A list whose elements say how far away the next is: what each begins with is so long, and its text begins there.
    fn mapper_list(
        &mut self,
        header: Header<'a>,
        (text, next, misplaced): (u32, usize, &'static str),
        mut show: impl FnMut(&mut Self, &'a [u8], u32),
    ) {
        let (mut offset, mut last) = (header.start(), 0);
        for number in 0.. {
            if number >= self.style.string {
                return self.sink.more(Bracket::Array, false);
            }
            self.sink.item(false);
            let end = header.end(offset, text);
            let Some(end) = end.filter(|_| number == 0 || offset > last) else {
                return self.misplaced(misplaced);
            };
            last = end;
            let Some(head) = self.mapper_part(header, offset, 16) else {
                return;
            };
            self.sink.begin(Bracket::Structure);
            show(self, head, offset);
            self.sink.end(Bracket::Structure);
            match int_at(head, next) {
                0 => return,
                next => offset = offset.wrapping_add(next),
            }
        }
    }

    fn mapper_names(&mut self, header: Header<'a>) {
        let kind = (12, 8, "misplaced struct dm_name_list");
        self.mapper_list(header, kind, |walk, head, offset| {
            let name = offset + 12;
            walk.fields(&layout::NAME, head, 0, true);
            walk.mapper_string(header, false, "name", name);
            if header.version(1) < WITH_EVENTS {
                return;
            }
            let most = (header.size() - name) as usize;
            let shown = most.min(walk.style.string + 1);
            let text = walk.read(header.address(name), shown, header.way);
            let ends = text.and_then(|text| text.iter().position(|byte| *byte == 0));
            let Some(length) = ends else {
                return;
            };
            // It is aligned, and there only where there is room before the next.
            let event = header.address(name).wrapping_add(length as u64 + 8) & !7;
            let next = header
                .address(offset)
                .wrapping_add(u64::from(int_at(head, 8)));
            if event.wrapping_add(4) > next {
                return;
            }
            if let Some(number) = walk.read(event, 4, header.way).filter(|it| it.len() == 4) {
                walk.sink.field(false, "event_nr");
                walk.sink.unsigned(u64::from(int_at(number, 0)));
            }
        });
    }

    fn mapper_versions(&mut self, header: Header<'a>) {
        let kind = (16, 0, "misplaced struct dm_target_versions");
        self.mapper_list(header, kind, |walk, head, offset| {
            walk.mapper_string(header, true, "name", offset + 16);
            walk.fields(&layout::TARGET_VERSION, head, 0, false);
        });
    }

    fn mapper_message(&mut self, header: Header<'a>) {
        self.sink.item(false);
        let Some(end) = header.end(header.start(), 8) else {
            return self.misplaced("misplaced struct dm_target_msg");
        };
        let Some(head) = self.mapper_part(header, header.start(), 8) else {
            return;
        };
        self.sink.begin(Bracket::Structure);
        self.sink.field(true, "sector");
        self.sink.unsigned(long_at(head, 0));
        self.mapper_string(header, false, "message", end);
        self.sink.end(Bracket::Structure);
    }

    fn mapper_text(&mut self, header: Header<'a>) {
        self.sink.item(false);
        if header.start() > header.size() {
            return self.misplaced("misplaced string");
        }
        self.sink.begin(Bracket::Structure);
        self.mapper_string(header, true, "string", header.start());
        self.sink.end(Bracket::Structure);
    }
}

impl Header<'_> {
    /// Whether data belong to it.
    fn has_data(self) -> bool {
        !matches!(
            self.request,
            VERSION
                | REMOVE_ALL
                | DEV_CREATE
                | DEV_REMOVE
                | DEV_SUSPEND
                | DEV_STATUS
                | TABLE_CLEAR
                | DEV_ARM_POLL
        )
    }

    /// Whether it is about one device.
    fn has_device(self) -> bool {
        !matches!(self.request, REMOVE_ALL | LIST_DEVICES | LIST_VERSIONS)
    }

    fn has_target_count(self) -> bool {
        self.way == DataDirection::In && self.request == TABLE_LOAD
    }

    fn has_event_number(self) -> bool {
        let resumes = self.flags() & SUSPEND == 0;
        self.way == DataDirection::In
            && match self.request {
                DEV_SUSPEND => resumes,
                request => matches!(request, DEV_RENAME | DEV_REMOVE | DEV_WAIT),
            }
    }

    /// Whether the kernel says of a device how it is.
    fn is_answer(self) -> bool {
        self.way == DataDirection::Out
            && matches!(
                self.request,
                DEV_CREATE
                    | DEV_RENAME
                    | DEV_SUSPEND
                    | DEV_STATUS
                    | DEV_WAIT
                    | TABLE_LOAD
                    | TABLE_CLEAR
                    | TABLE_DEPS
                    | TABLE_STATUS
                    | TARGET_MSG
            )
    }
}
