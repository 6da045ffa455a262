//! Walks over the arguments of a call and says to a [`Sink`] what they are; what memory that takes is found out on the
//! same walk, so that what is captured and what is shown can't differ.
//!
//! Refuses: to allocate, and to trust a length that a program says.

mod ancillary;
mod control;
mod filter;
mod futex;
mod ioctl;
mod netlink;
mod option;
mod parts;
mod process;
mod sets;
mod signal;
mod sink;
mod sized;
mod socket;
mod stat;
mod time;
mod wait;
mod wire;

pub(crate) use parts::put_parts;
pub(crate) use process::{put_persona, put_priority};
pub(crate) use signal::{information as signal_information, name as signal_name};
pub(crate) use sink::{Bracket, Nothing, Number, Sink};
pub use sink::{CURRENT_DIRECTORY, Described, Descriptors};
pub(crate) use time::moment;

use crate::table::{Answer, Extent, Kind, Length, Names, Row, Special, Want, Way, Width};
use crate::text::put;
use crate::{Abi, Call, Memory, Outcome, When};

/// The longest path there is.
const PATH_MAX: usize = 4096;
/// Most bytes that are captured of one structure or array, whatever is asked for.
const MOST_BYTES: usize = 1 << 16;
/// Most bytes that are captured of one buffer.
const MOST_OF_BUFFER: usize = 1 << 24;
/// Most elements of an array that are looked at, whatever is asked for.
const MOST_ELEMENTS: usize = 4096;
/// What stood in the upper half of `mount`'s flags once, and still may.
const MOUNT_MAGIC: u64 = 0xc0ed_0000;
/// Most elements of all arrays of one call together.
const MOST_ALTOGETHER: usize = 4096;
/// Most stretches of memory that are wanted for one call.
const MOST_WANTS: usize = 256;

/// How much is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    /// Most bytes of a string.
    pub string: usize,
    /// Most elements of an array.
    pub elements: usize,
    /// Whether everything of structures is shown.
    pub verbose: bool,
    /// Whether structures are shown as addresses.
    pub opaque: bool,
    /// Whether what was captured of a string is shown where less was captured than is to be shown.
    pub partial: bool,
}

/// A walk over one call.
pub(crate) struct Walk<'a, S> {
    pub call: &'a Call,
    pub row: &'static Row,
    pub sink: &'a mut S,
    pub style: Style,
    /// The pass that asks what memory is needed: when it is read, and what is missing so far.
    missing: Option<(When, &'a mut Vec<Want>)>,
    /// Whether the argument is one that strace shows only when the call came back; of a call that failed it shows then
    /// where structures are, not what is in them.
    late: bool,
    /// Whether what the kernel says is read though the call failed.
    despite: bool,
    /// Whether something couldn't be read to its end.
    partly: bool,
    /// How many elements of arrays may still be shown: arrays of arrays that lead to each other are endless.
    left: usize,
    /// The structure whose fields are walked over.
    within: &'a [u8],
    /// Where that lies.
    base: u64,
}

impl<'a, S: Sink> Walk<'a, S> {
    /// A walk that shows.
    pub fn showing(call: &'a Call, row: &'static Row, sink: &'a mut S, style: Style) -> Self {
        Walk {
            call,
            row,
            sink,
            style,
            missing: None,
            late: false,
            despite: false,
            partly: false,
            left: MOST_ALTOGETHER,
            within: &[],
            base: 0,
        }
    }

    /// A walk that finds out what memory isn't there yet.
    pub fn asking(
        call: &'a Call,
        row: &'static Row,
        sink: &'a mut S,
        style: Style,
        when: When,
        missing: &'a mut Vec<Want>,
    ) -> Self {
        Walk {
            call,
            row,
            sink,
            style,
            missing: Some((when, missing)),
            late: false,
            despite: false,
            partly: false,
            left: MOST_ALTOGETHER,
            within: &[],
            base: 0,
        }
    }

    /// Walks over every argument and over what the result shows besides.
    pub fn everything(&mut self) {
        let (shown, count) = self.shown();
        for number in &shown[..count] {
            self.argument(*number);
            self.became(*number);
        }
        self.beside_result();
    }

    /// Which arguments are shown, in this order: some calls have fewer, by what they are asked to do.
    pub fn shown(&self) -> ([usize; 6], usize) {
        const ALL: [usize; 6] = [0, 1, 2, 3, 4, 5];
        let most = self.row.arguments.len().min(6);
        match self.row.kinds {
            [_, Kind::Special(Special::FutexOperation), ..] => {
                let mut shown = ALL;
                let places = self.futex_arguments();
                shown[..places.len()].copy_from_slice(places);
                (shown, places.len())
            }
            [_, _, Kind::Special(Special::Fcntl), ..] => (ALL, self.fcntl_count()),
            [_, _, Kind::Special(Special::NodeDevice(mode)), ..]
            | [_, _, _, Kind::Special(Special::NodeDevice(mode)), ..] => (
                ALL,
                if self.makes_device(mode) {
                    mode + 2
                } else {
                    mode + 1
                },
            ),
            _ if let Some(count) = self.asked_count() => (ALL, count),
            [_, _, _, _, Kind::Hidden, Kind::Flags(..)] if most == 6 => ([0, 1, 2, 3, 5, 4], 5),
            [_, _, _, _, Kind::Hidden, _] if most == 5 => (ALL, 4),
            [_, _, Kind::Special(Special::OpenMode(_)), ..]
            | [_, _, _, Kind::Special(Special::OpenMode(_)), ..] => (ALL, self.open_count(most)),
            [_, _, _, _, Kind::Special(Special::NewAddress), _]
                if self.call.arguments[3] & 6 == 0 =>
            {
                (ALL, 4)
            }
            _ if self.is_clone() => {
                let (places, count) = self.clone_arguments();
                let mut shown = ALL;
                shown[..5].copy_from_slice(&places);
                (shown, count)
            }
            _ => {
                let there = |number: &usize| {
                    let depends = matches!(
                        self.row.kinds[*number],
                        Kind::By(..) | Kind::Per(..) | Kind::Special(Special::Requested)
                    );
                    !(depends && self.kind(*number) == Kind::Hidden)
                };
                let mut shown = ALL;
                let mut count = 0;
                for number in (0..most).take_while(there) {
                    if self.kind(number) != Kind::Skipped {
                        shown[count] = number;
                        count += 1;
                    }
                }
                (shown, count)
            }
        }
    }

    /// How many arguments are shown where that depends on the first.
    fn asked_count(&self) -> Option<usize> {
        let first = self.call.arguments[0] & 0xffff_ffff;
        match self.row.name {
            "syslog" if matches!(first, 0 | 1 | 5..=7 | 9 | 10) => Some(1),
            "membarrier" => Some(2),
            "arch_prctl" if first == 0x1011 => Some(1),
            _ => None,
        }
    }

    /// Whether this is `clone`, whose arguments are said with their names.
    pub fn is_clone(&self) -> bool {
        self.row.answer == Answer::Child
    }

    /// How many arguments are known as the call is entered, before the first that it fills in.
    pub fn known_at_entry(&self) -> usize {
        let (shown, count) = self.shown();
        if self.is_clone() {
            return 2;
        }
        let filled = shown[..count]
            .iter()
            .position(|number| self.filled_in(*number))
            .unwrap_or(count);
        let becomes = shown[..count]
            .iter()
            .position(|number| self.becomes(*number))
            .map_or(count, |at| at + 1);
        filled.min(becomes)
    }

    /// What an argument means, given the others.
    fn kind(&self, number: usize) -> Kind {
        self.meant(self.row.kinds[number], number)
    }

    fn meant(&self, kind: Kind, number: usize) -> Kind {
        match kind {
            Kind::By(place, cases, otherwise) => {
                let asked = self.call.arguments[place] & 0xffff_ffff;
                let case = cases.iter().find(|(value, _)| *value == asked);
                self.meant(case.map_or(*otherwise, |(_, kind)| *kind), number)
            }
            Kind::Per(place, shift, cases) => {
                let asked = (self.call.arguments[place] & 0xffff_ffff) >> shift;
                let case = |asked| cases.iter().find(|(value, _)| *value == asked);
                match case(asked).or_else(|| case(u64::MAX)) {
                    Some((_, kinds)) => {
                        let kind = kinds.get(number.wrapping_sub(place + 1));
                        self.meant(kind.copied().unwrap_or(Kind::Hidden), number)
                    }
                    None => Kind::Hex(Width::Eight),
                }
            }
            Kind::Special(Special::Requested) => self.requested_kind(),
            kind => kind,
        }
    }

    fn filled_in(&self, number: usize) -> bool {
        match self.kind(number) {
            Kind::To(Way::Out, _)
            | Kind::Sized(Way::Out, ..)
            | Kind::InOut(_)
            | Kind::Exchange(..)
            | Kind::Answered(..)
            | Kind::Cleared(..)
            | Kind::Despite(_)
            | Kind::Many(Way::Out, ..)
            | Kind::Bytes(Way::Out, _)
            | Kind::Binary(Way::Out, _)
            | Kind::Value(Way::Out, _)
            | Kind::Path(Way::Out)
            | Kind::Name(Way::Out, _)
            | Kind::Text(Way::Out) => true,
            Kind::Within(
                ..,
                Kind::Bytes(Way::Out, _) | Kind::Value(Way::Out, _) | Kind::To(Way::Out, _),
            ) => true,
            Kind::Special(special) => match special {
                Special::Signals(way)
                | Special::Schedule(way)
                | Special::Spoken(way, _)
                | Special::Queued(way)
                | Special::Message(way)
                | Special::Information(way)
                | Special::Option(way)
                | Special::Action(way)
                | Special::Capabilities(way)
                | Special::Processors(way)
                | Special::Nodes(way, _)
                | Special::Vectors(way, _) => way == Way::Out,
                Special::Status
                | Special::Messages(_)
                | Special::AddressOut(_)
                | Special::AddressLength
                | Special::OptionLength
                | Special::Remainder
                | Special::Entries
                | Special::Usage
                | Special::Random
                | Special::BitSet(_)
                | Special::Slots(_)
                | Special::Resident => true,
                Special::Terminal(way, _) => way == Way::Out,
                Special::Fcntl => self.fcntl_fills_in(),
                Special::ArchPrctl => self.arch_prctl_fills_in(),
                Special::ThreadName(way) => way == Way::Out,
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether an argument is shown as it was and as it became.
    pub fn becomes(&self, number: usize) -> bool {
        match self.row.kinds[number] {
            Kind::Special(Special::Clone) => self.clone3_becomes(),
            Kind::Special(Special::Offset | Special::Schedule(Way::In)) => true,
            _ => false,
        }
    }

    /// Shows what became of an argument.
    pub fn became(&mut self, number: usize) {
        match self.row.kinds[number] {
            Kind::Special(Special::Clone) => self.clone3_became(self.call.arguments[number]),
            Kind::Special(Special::Offset) => self.offset_became(self.call.arguments[number]),
            Kind::Special(Special::Schedule(Way::In)) => {
                self.schedule_became(self.call.arguments[number])
            }
            _ => {}
        }
    }

    /// Walks over one argument.
    pub fn argument(&mut self, number: usize) {
        if self.is_clone() {
            self.clone_argument(number);
            return;
        }
        self.late = !self.is_asking()
            && matches!(self.call.outcome, Outcome::Returned { .. })
            && self.failed()
            && self.is_late(number);
        self.value(self.kind(number), self.call.arguments[number], number);
    }

    fn is_late(&self, number: usize) -> bool {
        // Of these strace remembers the time from before.
        if self.row.answer == Answer::Signal
            || self.keeps_time()
            || matches!(
                self.kind(number),
                Kind::InOut(_)
                    | Kind::Exchange(..)
                    | Kind::Answered(..)
                    | Kind::Cleared(..)
                    | Kind::Despite(_)
            )
        {
            return false;
        }
        let (shown, count) = self.shown();
        shown[..count].iter().position(|place| *place == number) >= Some(self.known_at_entry())
    }

    /// Whether a call's time is shown as it was, whatever came of it.
    fn keeps_time(&self) -> bool {
        matches!(self.row.name, "recvmmsg" | "mq_timedreceive")
    }

    /// What the program says in a structure; nothing where strace wouldn't look at it any longer.
    pub fn read_in_time(&mut self, address: u64, length: usize, way: Way) -> Option<&'a [u8]> {
        if self.late && way == Way::In {
            None
        } else {
            self.read(address, length, way)
        }
    }

    /// Whether this walk is to find out what memory is needed.
    pub fn is_asking(&self) -> bool {
        self.missing.is_some()
    }

    /// Whether the call failed, or what came of it isn't known.
    pub fn failed(&self) -> bool {
        match self.call.outcome {
            Outcome::Returned { .. } => self.call.error().is_some(),
            Outcome::Open => true,
        }
    }

    /// What came back; nothing for errors.
    pub fn result(&self) -> i64 {
        match self.call.outcome {
            Outcome::Returned { value, .. } if !self.failed() => value,
            _ => 0,
        }
    }

    /// An argument as a number of elements or bytes.
    pub fn size_of_argument(&self, number: usize) -> usize {
        let raw = self.call.arguments[number];
        // Of a narrow one, the kernel doesn't look at the rest of the register.
        let size = match self.row.kinds[number] {
            Kind::Signed(width) | Kind::Unsigned(width) => self.unsigned(raw, width),
            _ => raw,
        };
        usize::try_from(size).unwrap_or(usize::MAX)
    }

    pub fn narrow(&self) -> bool {
        self.call.abi == Abi::I386
    }

    /// Shows a value that stands in a register or was loaded from memory; `number` is the argument that it belongs to.
    pub fn value(&mut self, kind: Kind, raw: u64, number: usize) {
        match kind {
            Kind::Signed(width) => self.sink.signed(self.signed(raw, width)),
            Kind::Unsigned(width) => self.sink.unsigned(self.unsigned(raw, width)),
            Kind::Hex(width) => {
                let value = self.unsigned(raw, width);
                self.sink.hex(value);
            }
            Kind::Octal(width) => {
                let value = self.unsigned(raw, width);
                self.sink.word(|out| put::octal(out, value));
            }
            Kind::Address => self.address(raw),
            Kind::Fd => self.sink.fd(raw as i32, self.call),
            Kind::DirFd => self.sink.dir_fd(raw as i32, self.call),
            Kind::FdOf(process) => {
                let process = self.call.arguments[process] as i32;
                self.sink.fd_of(process, raw as i32, self.call);
            }
            Kind::Id => self.id(raw),
            Kind::Process(whose) => self.sink.process(raw as i32, whose),
            Kind::Permissions => self.sink.word(|out| put::permissions(out, raw & 0xffff)),
            Kind::FileMode => self.file_mode(raw as u32 & 0xffff),
            Kind::Device => self.device(device_major(raw), device_minor(raw)),
            Kind::Halves => self.device(raw & 0xffff_ffff, raw >> 32),
            Kind::Signal => self.signal_number(raw as i32),
            Kind::Flags(width, names) => {
                let value = self.unsigned(raw, width);
                self.flags(value, names);
            }
            Kind::One(width, names) => {
                let value = self.unsigned(raw, width);
                self.one(value, names);
            }
            Kind::OneAndFlags(width, mask, ones, names) => {
                let value = self.unsigned(raw, width);
                self.one_and_flags(value, mask, ones, names);
            }
            Kind::Named(width, names) => {
                let value = self.signed(raw, width);
                match names.name(value as u64) {
                    Some(name) => self.sink.constant(Number::Signed(value), |out| {
                        out.extend_from_slice(name.as_bytes())
                    }),
                    None if names.unknown.is_empty() => self.sink.signed(value),
                    None => self.sink.constant(Number::Signed(value), |out| {
                        put::signed(out, value);
                        put::remark(out, names.unknown);
                    }),
                }
            }
            Kind::Moment => self.moment_in_words(raw as i64, 0, 0),
            Kind::Hidden | Kind::Skipped | Kind::Unsaid | Kind::Gap => self.sink.hex(raw),
            Kind::Dots(length) => {
                let count = self.length(length);
                self.sink.begin(Bracket::Array);
                if count > 0 {
                    self.sink.more(Bracket::Array, true);
                }
                self.sink.end(Bracket::Array);
            }
            Kind::ByAbi(x86_64, elsewhere) => {
                let kind = if self.call.abi == Abi::X86_64 {
                    *x86_64
                } else {
                    *elsewhere
                };
                self.value(kind, raw, number);
            }
            Kind::Special(special) => self.special(special, raw, number),
            Kind::Parts(width, parts) => {
                let value = self.unsigned(raw, width);
                self.parts(value, parts);
            }
            Kind::Several(width, parts) => {
                let value = self.unsigned(raw, width);
                self.several(value, parts);
            }
            Kind::Joined(width, parts) => {
                let value = self.unsigned(raw, width);
                self.joined(value, parts);
            }
            Kind::Worded(width, wording) => {
                let value = self.unsigned(raw, width);
                self.worded(value, wording);
            }
            Kind::ByField(..) | Kind::Only(..) => {
                let kind = self.in_structure(kind).unwrap_or(Kind::Hidden);
                self.value(kind, raw, number);
            }
            _ if raw == 0 => self.sink.null(),
            Kind::Within(argument, least, most, inner) => {
                match (least..=most).contains(&(self.size_of_argument(argument) as u64)) {
                    true => self.value(*inner, raw, number),
                    false => self.address(raw),
                }
            }
            Kind::Name(way, most) => {
                let shown = self.style.string.min(most);
                self.zero_terminated(raw, way, shown, (shown + 1).min(most));
            }
            Kind::Path(way) => self.path(raw, way),
            Kind::Text(way) => self.text(raw, way),
            Kind::Bytes(way, length) => self.bytes(raw, way, length),
            Kind::Binary(way, length) => self.binary(raw, way, length),
            Kind::Value(way, length) => self.text_value(raw, way, length),
            Kind::To(way, inner) => self.to(raw, way, inner, number),
            Kind::Sized(way, structure, least, length) => {
                self.sized(raw, way, structure, least, length)
            }
            Kind::Many(way, inner, length) => self.many(raw, way, inner, length, number),
            Kind::InOut(structure) => self.in_and_out(raw, structure, number),
            Kind::Exchange(before, after) => self.exchange(raw, (before, after), false, number),
            Kind::Despite(inner) => self.despite(*inner, raw, number),
            Kind::Answered(before, after) => self.exchange(raw, (before, after), true, number),
            Kind::Cleared(before, after) => self.cleared(raw, before, after, number),
            Kind::Tail(inner) => self.value(*inner, raw, number),
            Kind::Verbose(inner) if self.style.verbose => self.value(*inner, raw, number),
            Kind::Verbose(_) => self.sink.address(raw),
            Kind::Structure(_)
            | Kind::Array(..)
            | Kind::Characters(_)
            | Kind::Letters(..)
            | Kind::Octets(..)
            | Kind::Counted(..)
            | Kind::By(..)
            | Kind::Per(..)
            | Kind::Wire(_) => self.sink.hex(raw),
        }
    }

    pub fn signed(&self, raw: u64, width: Width) -> i64 {
        match width {
            Width::One => i64::from(raw as i8),
            Width::Two => i64::from(raw as i16),
            Width::Four => i64::from(raw as i32),
            Width::Eight if self.narrow() => i64::from(raw as i32),
            Width::Eight => raw as i64,
        }
    }

    pub fn unsigned(&self, raw: u64, width: Width) -> u64 {
        match width {
            Width::One => raw & 0xff,
            Width::Two => raw & 0xffff,
            Width::Four => raw & 0xffff_ffff,
            Width::Eight if self.narrow() => raw & 0xffff_ffff,
            Width::Eight => raw,
        }
    }

    pub fn address(&mut self, raw: u64) {
        if raw == 0 {
            self.sink.null();
        } else {
            self.sink.address(raw);
        }
    }

    fn id(&mut self, raw: u64) {
        match raw as u32 {
            u32::MAX => self.sink.signed(-1),
            id => self.sink.unsigned(u64::from(id)),
        }
    }

    pub fn device(&mut self, major: u64, minor: u64) {
        self.sink
            .constant(Number::Hex(device_of(major, minor)), |out| {
                out.extend_from_slice(b"makedev(");
                put::hex(out, major);
                out.extend_from_slice(b", ");
                put::hex(out, minor);
                out.push(b')');
            });
    }

    pub fn flags(&mut self, value: u64, names: &'static Names) {
        let sized = std::ptr::eq(names, &crate::table::flags::MEMFD);
        if sized && value >> 26 != 0 {
            self.sink.constant(Number::Hex(value), |out| {
                let bits = value & 0x3ff_ffff;
                if bits != 0 {
                    put::flags(out, bits, names);
                    out.push(b'|');
                }
                put::unsigned(out, value >> 26 & 63);
                out.extend_from_slice(b"<<MFD_HUGE_SHIFT");
            });
            return;
        }
        self.sink
            .constant(Number::Hex(value), |out| put::flags(out, value, names));
    }

    pub fn one(&mut self, value: u64, names: &'static Names) {
        self.sink
            .constant(Number::Hex(value), |out| put::one(out, value, names));
    }

    fn one_and_flags(
        &mut self,
        value: u64,
        mask: u64,
        ones: &'static Names,
        names: &'static Names,
    ) {
        self.sink.constant(Number::Hex(value), |out| {
            let (one, mut rest) = (value & mask, value & !mask);
            // A size of huge pages stands in the last bits.
            let huge = if rest & 0x40000 != 0 && names.unknown == "MAP_???" {
                rest >> 26 & 63
            } else {
                0
            };
            rest &= !(huge << 26);
            match ones.name(one) {
                Some(name) => out.extend_from_slice(name.as_bytes()),
                None if rest == 0 || mask == 15 && names.unknown == "MAP_???" => {
                    put::one(out, one, ones)
                }
                None => {
                    let left = put::named_bits(out, rest, names, b"");
                    if left | one == value {
                        put::hex(out, value);
                        put::remark(out, ones.unknown);
                    } else if left | one != 0 {
                        out.push(b'|');
                        put::hex(out, left | one);
                    }
                    return;
                }
            }
            if rest != 0 {
                out.push(b'|');
                put::some_flags(out, rest, names);
            }
            if huge != 0 {
                out.push(b'|');
                put::unsigned(out, huge);
                out.extend_from_slice(b"<<MAP_HUGE_SHIFT");
            }
        });
    }

    /// Memory that was there when it is to be shown, up to so many bytes; what isn't there is asked for on a walk that asks.
    pub fn read(&mut self, address: u64, length: usize, way: Way) -> Option<&'a [u8]> {
        if self.style.opaque {
            return None;
        }
        self.read_text(address, length.min(MOST_BYTES), way)
    }

    /// The same of what is shown wherever structures aren't, as text.
    pub fn read_text(&mut self, address: u64, length: usize, way: Way) -> Option<&'a [u8]> {
        let length = length.min(MOST_OF_BUFFER);
        self.fetch(address, Extent::Bytes(length), length, way)
    }

    fn fetch(&mut self, address: u64, extent: Extent, length: usize, way: Way) -> Option<&'a [u8]> {
        if address == 0 || (way == Way::Out && self.failed() && !self.reads_failures()) {
            return None;
        }
        self.fetch_always(address, extent, length, way)
    }

    /// Like [`Self::read`], also where the call failed.
    pub fn read_always(&mut self, address: u64, length: usize, way: Way) -> Option<&'a [u8]> {
        if self.style.opaque {
            return None;
        }
        self.fetch_always(
            address,
            Extent::Bytes(length.min(MOST_BYTES)),
            length.min(MOST_BYTES),
            way,
        )
    }

    fn fetch_always(
        &mut self,
        address: u64,
        extent: Extent,
        length: usize,
        way: Way,
    ) -> Option<&'a [u8]> {
        let when = match way {
            Way::In => When::Entered,
            Way::Out => When::Left,
        };
        let call = self.call;
        if let Some(bytes) = call.memory.at(address, length, when) {
            return Some(bytes);
        }
        if let Some((asked, missing)) = &mut self.missing {
            if *asked == when && missing.len() < MOST_WANTS && length > 0 {
                let want = Want { address, extent };
                if !missing.contains(&want) {
                    missing.push(want);
                }
            }
            return None;
        }
        // What couldn't be read as the call was entered may have been as it came back: pages that it brought in.
        if way == Way::In {
            call.memory.at(address, length, When::Left)
        } else {
            None
        }
    }

    fn reads_failures(&self) -> bool {
        self.despite
            || matches!(self.row.kinds[1], Kind::Special(Special::Remainder))
            || matches!(self.row.kinds[3], Kind::Special(Special::Remainder))
    }

    /// Text up to a zero byte, in full.
    fn path(&mut self, address: u64, way: Way) {
        self.zero_terminated(address, way, PATH_MAX - 1, PATH_MAX);
    }

    /// Text up to a zero byte, cut.
    pub fn text(&mut self, address: u64, way: Way) {
        let most = self.style.string.min(MOST_BYTES);
        self.zero_terminated(address, way, most, most + 1);
    }

    fn zero_terminated(&mut self, address: u64, way: Way, shown: usize, read: usize) {
        match self.fetch(address, Extent::Text(read), read, way) {
            Some(bytes) if !bytes.is_empty() => {
                let length = bytes.iter().position(|byte| *byte == 0);
                let all = &bytes[..length.unwrap_or(bytes.len())];
                let cut = all.len() > shown || (length.is_none() && read == shown);
                // Neither its end nor as much as is wanted: it runs into memory that isn't there.
                if length.is_none() && bytes.len() < read {
                    if self.style.partial {
                        self.sink.text(all, true)
                    } else {
                        self.sink.address(address)
                    }
                } else {
                    self.sink.text(&all[..all.len().min(shown)], cut);
                }
            }
            _ => self.sink.address(address),
        }
    }

    /// A length that lies behind an argument; nothing where it can't be read.
    fn length_at(&mut self, number: usize, at: usize, size: usize) -> Option<usize> {
        let bytes = self.read(self.call.arguments[number], size, Way::In)?;
        (bytes.len() >= size).then(|| int_at(bytes, at) as usize)
    }

    fn bytes(&mut self, address: u64, way: Way, length: Length) {
        if let Length::At(number, at, size) = length
            && self.length_at(number, at, size).is_none()
        {
            self.address(address);
            return;
        }
        let length = self.length(length);
        self.buffer(address, length, way);
    }

    fn binary(&mut self, address: u64, way: Way, length: Length) {
        let length = self.length(length);
        let shown = length.min(self.style.string);
        let whole = self.read_text(address, shown, way);
        match whole.filter(|bytes| bytes.len() == shown) {
            Some(bytes) => self.sink.binary(bytes, length > shown),
            None if length == 0 => self.sink.text(&[], false),
            None => self.address(address),
        }
    }

    /// A buffer that is text more often than not: the zero byte at its end isn't shown.
    fn text_value(&mut self, address: u64, way: Way, length: Length) {
        let length = self.length(length);
        if length == 0 || length > self.style.string || (way == Way::Out && self.failed()) {
            self.buffer(address, length, way);
            return;
        }
        match self
            .read_text(address, length, way)
            .filter(|bytes| bytes.len() == length)
        {
            Some(bytes) => self.sink.zero_ended(bytes),
            None => self.address(address),
        }
    }

    /// A buffer of this length, cut where it is longer than what is shown.
    pub fn buffer(&mut self, address: u64, length: usize, way: Way) {
        if way == Way::Out && self.failed() && !self.despite {
            self.address(address);
            return;
        }
        let shown = length.min(self.style.string);
        if length == 0 {
            if address == 0 {
                self.sink.null()
            } else {
                self.sink.text(&[], false)
            }
            return;
        }
        // Whether there is another byte is looked at before it is left out.
        let looked_at = length
            .min(self.style.string.saturating_add(1))
            .min(MOST_OF_BUFFER);
        match self.read_text(address, looked_at, way) {
            Some(bytes) if bytes.len() >= looked_at => {
                let shown = shown.min(bytes.len());
                self.sink.text(&bytes[..shown], length > shown)
            }
            Some(bytes) if self.style.partial && !bytes.is_empty() => self.sink.text(bytes, true),
            _ => self.address(address),
        }
    }

    pub fn length(&mut self, length: Length) -> usize {
        match length {
            Length::Fixed(bytes) => bytes,
            Length::Argument(number) => self.size_of_argument(number),
            Length::UpTo(number, most) => match self.size_of_argument(number) {
                size if size > most => usize::MAX,
                size => size,
            },
            Length::Result => usize::try_from(self.result()).unwrap_or(0),
            Length::ResultWithin(number) => {
                let result = usize::try_from(self.result()).unwrap_or(0);
                result.min(self.size_of_argument(number))
            }
            Length::Behind(number) => self.behind(number),
            Length::At(number, at, size) => self.length_at(number, at, size).unwrap_or(0),
            Length::Most(at, width, most) => {
                let value = self.sibling(at, width);
                usize::try_from(value).unwrap_or(usize::MAX).min(most)
            }
            Length::Pairs(at, most) => {
                let value = self.sibling(at, Width::Four).saturating_mul(2) + 1;
                usize::try_from(value).unwrap_or(usize::MAX).min(most)
            }
            Length::Whole(at, width, size) => {
                let value = self.signed(self.sibling(at, width), width).max(0);
                usize::try_from(value).unwrap_or(0) / size
            }
            Length::Positive(at, width, more) => {
                let value = self.signed(self.sibling(at, width), width).max(0);
                usize::try_from(value).unwrap_or(0).saturating_add(more)
            }
            Length::Field(at, width, unit) => {
                let value = self.sibling(at, width);
                usize::try_from(value)
                    .unwrap_or(usize::MAX)
                    .saturating_mul(unit)
            }
        }
    }

    /// The 32-bit number that an argument points to.
    pub fn behind(&mut self, number: usize) -> usize {
        let address = self.call.arguments[number];
        let before = self.read(address, 4, Way::In).and_then(word32);
        let after = self.read(address, 4, Way::Out).and_then(word32);
        match (before, after) {
            (Some(before), Some(after)) => before.min(after) as usize,
            (Some(one), None) | (None, Some(one)) => one as usize,
            (None, None) => 0,
        }
    }

    fn to(&mut self, address: u64, way: Way, inner: &'static Kind, number: usize) {
        let size = self.size(*inner);
        let outer = std::mem::replace(&mut self.base, address);
        self.behind_pointer(address, size, way, inner, number);
        self.base = outer;
    }

    fn behind_pointer(
        &mut self,
        address: u64,
        size: usize,
        way: Way,
        inner: &'static Kind,
        number: usize,
    ) {
        match self.read_in_time(address, size, way) {
            Some(bytes) if bytes.len() >= size => {
                if self.bracketed(*inner) {
                    self.sink.begin(Bracket::Array);
                    self.sink.item(true);
                    self.place(*inner, bytes, number);
                    self.sink.end(Bracket::Array);
                } else {
                    self.place(*inner, bytes, number);
                }
            }
            _ => self.sink.address(address),
        }
    }

    fn bracketed(&self, kind: Kind) -> bool {
        match kind {
            Kind::Structure(_)
            | Kind::Array(..)
            | Kind::Counted(..)
            | Kind::Characters(_)
            | Kind::ByAbi(..) => false,
            Kind::Special(special) => !matches!(
                special,
                Special::Stat
                    | Special::Statx
                    | Special::TimevalMoment
                    | Special::Instant(_)
                    | Special::Pair(..)
            ),
            _ => true,
        }
    }

    fn many(
        &mut self,
        address: u64,
        way: Way,
        inner: &'static Kind,
        length: Length,
        number: usize,
    ) {
        // Of nothing it is known how it looks.
        let nothing =
            matches!(length, Length::Argument(number) if self.size_of_argument(number) == 0);
        if way == Way::Out && self.failed() && !self.despite && !nothing {
            self.address(address);
            return;
        }
        let count = self.length(length);
        // More than the kernel would look at.
        if count > MOST_BYTES {
            self.partly = true;
            self.address(address);
            return;
        }
        self.elements(address, way, *inner, count, number);
    }

    /// So many elements from an address on.
    pub fn elements(&mut self, address: u64, way: Way, inner: Kind, count: usize, number: usize) {
        let size = self.size(inner);
        let shown = self.allow(count.min(MOST_BYTES / size.max(1)));
        // Whether there is another is looked at before it is left out.
        let looked_at = count.min(shown + 1);
        if count == 0 {
            self.partly = true;
            self.sink.begin(Bracket::Array);
            self.sink.end(Bracket::Array);
            return;
        }
        let Some(bytes) = self
            .read(address, looked_at * size, way)
            .filter(|bytes| bytes.len() >= size)
        else {
            self.partly = true;
            self.address(address);
            return;
        };
        self.sink.begin(Bracket::Array);
        for (index, element) in bytes.chunks_exact(size).take(shown).enumerate() {
            self.sink.item(index == 0);
            self.place(inner, element, number);
        }
        if bytes.len() < looked_at * size {
            self.partly = true;
            self.rest_of(address, bytes.len(), size, looked_at, count);
        } else if count > shown {
            self.sink.more(Bracket::Array, shown == 0);
        }
        self.sink.end(Bracket::Array);
    }

    /// How many of so many elements are shown, as long as there is room.
    pub fn allow(&mut self, count: usize) -> usize {
        let shown = count.min(self.shown_elements()).min(self.left);
        self.left -= shown;
        shown
    }

    pub fn shown_elements(&self) -> usize {
        if self.style.verbose {
            MOST_ELEMENTS
        } else {
            self.style.elements.min(MOST_ELEMENTS)
        }
    }

    /// Shows what lies in memory.
    pub fn place(&mut self, kind: Kind, bytes: &'a [u8], number: usize) {
        match kind {
            Kind::Structure(structure) => self.structure(structure, bytes, number),
            Kind::Array(inner, count) => self.in_place(*inner, bytes, (count, count), number),
            Kind::Counted(inner, length, most) => {
                let count = self.length(length).min(most);
                let shown = self.allow(count);
                self.in_place(*inner, bytes, (count, shown), number);
            }
            Kind::Octets(length, _) => {
                let length = self.length(length).min(bytes.len());
                self.sink.text(&bytes[..length], false);
            }
            Kind::Letters(length, _) => {
                let size = self.length(length).min(bytes.len());
                self.place(Kind::Characters(size), &bytes[..size], number);
            }
            Kind::Characters(size) => {
                let length = bytes.iter().position(|byte| *byte == 0);
                // Without an end, the last place is kept for one.
                let shown = length.unwrap_or(bytes.len().min(size.saturating_sub(1)));
                self.sink.text(&bytes[..shown], length.is_none());
            }
            Kind::ByField(..) | Kind::Only(..) => {
                if let Some(kind) = self.in_structure(kind) {
                    self.place(kind, bytes, number);
                }
            }
            Kind::ByAbi(x86_64, elsewhere) => {
                let kind = if self.call.abi == Abi::X86_64 {
                    *x86_64
                } else {
                    *elsewhere
                };
                self.place(kind, bytes, number);
            }
            Kind::Wire(wire) => self.wire(wire, bytes),
            Kind::Special(Special::InPlaceAddress) => self.socket_address_at(bytes),
            Kind::Special(Special::Pair(one, other)) => self.pair(*one, *other, bytes, number),
            Kind::Special(Special::Instant(structure)) => self.instant(structure, bytes, number),
            Kind::Special(Special::Stat) => self.stat(bytes),
            Kind::Special(Special::Statx) => self.statx(bytes),
            Kind::Special(Special::TimevalMoment) => self.timeval_moment(bytes),
            _ => {
                let raw = load(bytes, self.size(kind));
                self.value(kind, raw, number);
            }
        }
    }

    /// How many bytes something takes in memory.
    pub fn size(&self, kind: Kind) -> usize {
        match kind {
            Kind::Signed(width)
            | Kind::Unsigned(width)
            | Kind::Hex(width)
            | Kind::Octal(width)
            | Kind::Flags(width, _)
            | Kind::Named(width, _)
            | Kind::One(width, _)
            | Kind::Parts(width, _)
            | Kind::Several(width, _)
            | Kind::Joined(width, _)
            | Kind::Worded(width, _)
            | Kind::OneAndFlags(width, ..) => {
                if self.narrow() && width == Width::Eight {
                    4
                } else {
                    width.bytes()
                }
            }
            Kind::Fd
            | Kind::FdOf(_)
            | Kind::DirFd
            | Kind::Id
            | Kind::Process(_)
            | Kind::Signal
            | Kind::FileMode => 4,
            Kind::Permissions => 2,
            Kind::Structure(structure) => structure.size,
            Kind::Array(inner, count) | Kind::Counted(inner, _, count) => self.size(*inner) * count,
            Kind::Characters(size) | Kind::Octets(_, size) | Kind::Letters(_, size) => size,
            Kind::ByField(.., otherwise) => self.size(*otherwise),
            Kind::Only(_, inner) => self.size(*inner),
            Kind::Tail(_) | Kind::Unsaid | Kind::Gap | Kind::Dots(_) => 0,
            Kind::ByAbi(x86_64, elsewhere) => self.size(if self.call.abi == Abi::X86_64 {
                *x86_64
            } else {
                *elsewhere
            }),
            Kind::Wire(wire) => wire.size(self.narrow()),
            Kind::Special(Special::Pair(one, other)) => self.size(*one) + self.size(*other),
            Kind::Special(Special::Instant(structure)) => structure.size,
            Kind::Special(Special::Stat) => self.stat_size(),
            Kind::Special(Special::Statx) => 256,
            Kind::Special(Special::TimevalMoment | Special::InPlaceAddress) => 16,
            _ => 8,
        }
    }

    fn special(&mut self, special: Special, raw: u64, number: usize) {
        match special {
            Special::OpenFlags => self.open_flags(raw & 0xffff_ffff),
            Special::HowFlags => self.open_flags(raw),
            Special::WideFd => match i32::try_from(raw) {
                Ok(fd) => self.sink.fd(fd, self.call),
                Err(_) => self.sink.unsigned(raw),
            },
            Special::Schedule(way) => self.schedule(raw, way),
            Special::OpenMode(_) => self.sink.word(|out| put::permissions(out, raw & 0xffff)),
            Special::HowMode => self.sink.word(|out| put::permissions(out, raw)),
            Special::Arguments => self.program_arguments(raw),
            Special::Environment => self.program_environment(raw),
            Special::Status => self.wait_status(raw),
            Special::Usage => self.wait_usage(raw, number),
            Special::Signals(way) => self.signal_set(raw, way, number),
            Special::SignalsAndSize => self.signals_and_size(raw),
            Special::SignalFrame => self.signal_frame(raw),
            Special::Action(way) => self.signal_action(raw, way),
            Special::Information(way) => self.signal_information(raw, way),
            Special::Event => self.signal_event(raw),
            Special::Address(length) => self.socket_address(raw, self.call.arguments[length]),
            Special::AddressOut(length) => self.socket_address_out(raw, length),
            Special::AddressLength | Special::OptionLength => self.socket_length(raw),
            Special::Spoken(way, length) => {
                let length = self.length(length);
                self.spoken(raw, length, way);
            }
            Special::Queued(way) => self.queued(raw, way),
            Special::Message(way) => self.message(raw, way),
            Special::Messages(way) => self.messages(raw, way),
            Special::Vectors(way, count) => self.vectors(raw, self.size_of_argument(count), way),
            Special::Option(way) => self.socket_option(raw, way),
            Special::OptionName => self.socket_option_name(raw),
            Special::Protocol => self.socket_protocol(raw),
            Special::Descriptors => self.descriptor_set(raw),
            Special::Polled => self.polled(raw),
            Special::Watched => self.watched(raw, number),
            Special::Request => self.request(raw),
            Special::Requested => self.sink.hex(raw),
            Special::Fcntl => self.fcntl(raw, number),
            Special::ThreadName(way) => self.thread_name(raw, way),
            Special::Terminal(way, settings) => self.terminal(raw, way, settings),
            Special::BitSet(names) => self.bit_set(raw, names),
            Special::Slots(names) => self.slots(raw, names),
            Special::Nodes(way, count) => self.nodes(raw, way, self.size_of_argument(count)),
            Special::Pair(..) => self.sink.hex(raw),
            Special::ArchPrctl => self.arch_prctl(raw),
            Special::FutexOperation => self.futex_operation(raw),
            Special::FutexValue => self.futex_value(raw),
            Special::FutexTimeout => self.futex_timeout(raw, number),
            Special::FutexLast => self.futex_last(raw),
            Special::Clone => self.clone3(raw),
            Special::Entries => self.entries(raw),
            Special::CapabilityHeader => self.capability_header(raw),
            Special::Capabilities(way) => self.capabilities(raw, way),
            Special::Times => self.times(raw),
            Special::InPlaceAddress
            | Special::TimevalMoment
            | Special::Stat
            | Special::Statx
            | Special::Instant(_) => self.address(raw),
            Special::Remainder => self.remainder(raw, number),
            Special::Processors(way) => self.processors(raw, way),
            Special::Limit => self.limit(raw),
            Special::NodeDevice(mode) => self.node_device(raw, mode),
            Special::MountData => self.mount_text(raw, true),
            Special::Persona => self.persona(raw),
            Special::Random => self.random(raw),
            Special::NewAddress => self.address(raw),
            Special::Resident => self.resident(raw),
            Special::IpcKey => self.ipc_key(raw),
            Special::IpcMode => self.ipc_mode(raw),
            Special::Offset => self.offset(raw),
            Special::Priority => self.input_priority(raw),
            Special::SwapFlags => self.swap_flags(raw),
            Special::ShortDevice => self.value(Kind::Device, raw & 0xffff_ffff, number),
            Special::LogLevel => self.leveled(raw as i32, &crate::table::flags::LOG_LEVEL),
            Special::Ticks => ticks(self.sink, raw),
            Special::MountFlags => self.mount_flags(raw),
            Special::MountType => self.mount_text(raw, false),
            Special::SyslogType => self.leveled(raw as i32, &crate::table::flags::SYSLOG),
            Special::Membarrier => self.one(raw & 0xffff_ffff, &crate::table::flags::MEMBARRIER),
        }
    }

    /// A position in a file that the kernel moves on.
    fn offset(&mut self, raw: u64) {
        if raw == 0 {
            self.sink.null();
            return;
        }
        self.to(raw, Way::In, &Kind::Unsigned(Width::Eight), 0);
    }

    fn offset_became(&mut self, raw: u64) {
        if let Some(bytes) = self.read(raw, 8, Way::Out).filter(|bytes| bytes.len() == 8) {
            let (before, after) = (
                self.read(raw, 8, Way::In).map(|bytes| load(bytes, 8)),
                load(bytes, 8),
            );
            if before == Some(after) {
                return;
            }
            self.sink.became();
            self.sink.begin(Bracket::Array);
            self.sink.item(true);
            self.sink.unsigned(after);
            self.sink.end(Bracket::Array);
        }
    }

    fn mount_flags(&mut self, raw: u64) {
        let names = &crate::table::flags::MOUNT;
        self.sink.words(|out, constants, _| {
            let mut rest = raw;
            if raw & 0xffff_0000 == MOUNT_MAGIC {
                put::constant(out, constants, Number::Hex(MOUNT_MAGIC), |out| {
                    out.extend_from_slice(b"MS_MGC_VAL")
                });
                rest = raw & !MOUNT_MAGIC;
                if rest == 0 {
                    return;
                }
                out.push(b'|');
            }
            put::constant(out, constants, Number::Hex(rest), |out| {
                put::flags(out, rest, names)
            });
        });
    }

    /// A text of `mount` that is looked at only where something new is mounted.
    fn mount_text(&mut self, raw: u64, data: bool) {
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
        let remounted = data && bits & REMOUNT != 0 && bits & MOVED_OR_SHARED == 0;
        if raw != 0 && (!ignored || remounted) {
            self.text(raw, Way::In);
        } else {
            self.address(raw);
        }
    }

    /// A number with its name as a remark, whether or not names are asked for.
    fn leveled(&mut self, value: i32, names: &'static Names) {
        let name = names.name(u64::from(value as u32)).unwrap_or(names.unknown);
        self.sink.word(|out| {
            put::signed(out, i64::from(value));
            put::remark(out, name);
        });
    }

    /// The flags of `swapon`, with the priority in their last bits.
    fn swap_flags(&mut self, raw: u64) {
        const PRIORITY: u64 = 0x7fff;
        let (bits, priority) = (raw & 0xffff_ffff & !PRIORITY, raw & PRIORITY);
        let constants = self.sink.constants();
        self.sink.word(|out| {
            if bits != 0 {
                put::constant(out, constants, Number::Hex(bits), |out| {
                    put::flags(out, bits, &crate::table::flags::SWAP);
                });
                out.push(b'|');
            }
            put::unsigned(out, priority);
        });
    }
}

/// The longest stretch that is held from an address on, however much of it.
fn held(memory: &Memory, address: u64, when: When) -> Option<&[u8]> {
    let pieces = memory.pieces().iter().filter(|piece| piece.when == when);
    let rests = pieces.filter_map(|piece| {
        let from = usize::try_from(address.checked_sub(piece.address)?).ok()?;
        piece.bytes.get(from..)
    });
    rests.max_by_key(|rest| rest.len())
}

/// A time in hundredths of a second.
fn ticks<S: Sink>(sink: &mut S, value: u64) {
    sink.constant(Number::Unsigned(value), |out| put_ticks(out, value));
}

/// The same with what it is in seconds behind it.
fn put_ticks(out: &mut Vec<u8>, value: u64) {
    put::unsigned(out, value);
    if value > 0 {
        out.extend_from_slice(b" /* ");
        put::unsigned(out, value / 100);
        out.push(b'.');
        put::padded(out, value % 100, 2);
        out.extend_from_slice(b" s */");
    }
}

/// A number in the order of bytes that every supported machine has; what is missing of it is zero.
pub(crate) fn load(bytes: &[u8], size: usize) -> u64 {
    let mut number = [0; 8];
    let size = size.min(8).min(bytes.len());
    number[..size].copy_from_slice(&bytes[..size]);
    u64::from_le_bytes(number)
}

/// A number of eight bytes at a place.
pub(crate) fn long_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).map_or(0, |rest| load(rest, 8))
}

/// A number of four bytes at a place.
pub(crate) fn int_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).map_or(0, |rest| load(rest, 4)) as u32
}

/// A number of two bytes at a place.
pub(crate) fn short_at(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..).map_or(0, |rest| load(rest, 2)) as u16
}

fn word32(bytes: &[u8]) -> Option<u32> {
    (bytes.len() >= 4).then(|| int_at(bytes, 0))
}

/// A device's number of its halves, as user space has it.
fn device_of(major: u64, minor: u64) -> u64 {
    ((major & 0xffff_f000) << 32)
        | ((major & 0xfff) << 8)
        | ((minor & 0xffff_ff00) << 12)
        | (minor & 0xff)
}

/// The first half of a device's number as user space has it.
fn device_major(device: u64) -> u64 {
    ((device >> 8) & 0xfff) | ((device >> 32) & 0xffff_f000)
}

/// The second half.
fn device_minor(device: u64) -> u64 {
    (device & 0xff) | ((device >> 12) & 0xffff_ff00)
}
