//! The walk over a call's arguments: reports values to a [`ValueSink`], or collects the memory that it misses. One walk does both,
//! so that what is captured and what is shown can't differ.
//!
//! It allocates nothing, and trusts no length that a program says.

mod address;
mod ancillary;
mod arguments;
mod bit_sets;
mod bpf_filter;
mod bpf_object;
mod console;
mod control;
mod dependent_fields;
mod device_mapper;
mod extensible_structure;
mod file_handle;
mod futex;
mod io_uring;
mod ioctl;
mod layout;
mod memory;
mod mount;
mod mount_status;
mod netlink;
mod network_values;
mod perf_event;
mod process;
mod ptrace_call;
mod restartable;
mod scsi;
mod security_context;
mod signal;
mod sink;
mod sized_structure;
mod socket;
mod socket_option;
mod stat;
mod time;
mod wait;

use crate::format::{self, NamedNumber};
use crate::memory::{CapturePoint, MemoryRequest};
use crate::table::{DataDirection, IntegerWidth, Names, SpecialKind, SyscallDefinition, ValueKind};
use crate::{Abi, SyscallOutcome, SyscallRecord};
pub(crate) use dependent_fields::put_parts;
pub(crate) use signal::information as signal_information;
pub(crate) use sink::{Bracket, NullSink, ValueSink};

/// The longest path there is.
const PATH_MAX: usize = 4096;
/// Most bytes that are captured of one structure or array, whatever is asked for.
const MOST_BYTES: usize = 1 << 16;
/// Most bytes of all structures and arrays of one call together: several messages may lead to the same ones over and over.
const MOST_OF_STRUCTURES: usize = 8 * MOST_BYTES;
/// Most bytes that are captured of one buffer.
const MOST_OF_BUFFER: usize = 1 << 24;
/// Most elements of all arrays of one call together.
const MOST_ALTOGETHER: usize = 4096;
/// Most stretches of memory that are wanted for one call.
const MOST_WANTS: usize = 1024;

/// How much is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DecodeStyle {
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
    pub call: &'a SyscallRecord,
    pub row: &'static SyscallDefinition,
    pub sink: &'a mut S,
    pub style: DecodeStyle,
    /// The pass that asks what memory is needed: when it is read, and what is missing so far.
    missing: Option<(CapturePoint, &'a mut Vec<MemoryRequest>)>,
    /// Whether the argument is one that strace shows only when the call came back; of a call that failed it shows then
    /// where structures are, not what is in them.
    late: bool,
    /// Whether what the kernel says is read though the call failed.
    despite: bool,
    /// Whether something couldn't be read to its end.
    partly: bool,
    /// How many elements of arrays may still be shown: arrays of arrays that lead to each other are endless.
    left: usize,
    /// How many bytes of structures may still be looked at.
    room: usize,
    /// The structure whose fields are walked over.
    within: &'a [u8],
    /// Where that lies.
    base: u64,
    /// The structure as the program left it, where the kernel changes it.
    before: &'a [u8],
    /// Whether fields that a structure is too short for are zeros.
    pads_fields: bool,
    /// Whether texts and bytes that it is too short for go on with zeros, too.
    pads_texts: bool,
}

impl<'a, S: ValueSink> Walk<'a, S> {
    /// A walk that shows.
    pub fn showing(
        call: &'a SyscallRecord,
        row: &'static SyscallDefinition,
        sink: &'a mut S,
        style: DecodeStyle,
    ) -> Self {
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
            room: MOST_OF_STRUCTURES,
            within: &[],
            base: 0,
            before: &[],
            pads_fields: false,
            pads_texts: false,
        }
    }

    /// A walk that finds out what memory isn't there yet.
    pub fn capturing(
        call: &'a SyscallRecord,
        row: &'static SyscallDefinition,
        sink: &'a mut S,
        style: DecodeStyle,
        when: CapturePoint,
        missing: &'a mut Vec<MemoryRequest>,
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
            room: MOST_OF_STRUCTURES,
            within: &[],
            base: 0,
            before: &[],
            pads_fields: false,
            pads_texts: false,
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

    /// Whether this walk is to find out what memory is needed.
    pub fn is_capturing(&self) -> bool {
        self.missing.is_some()
    }

    /// Whether the call failed, or what came of it isn't known.
    pub fn failed(&self) -> bool {
        match self.call.outcome {
            SyscallOutcome::Returned { .. } => self.call.error().is_some(),
            SyscallOutcome::Open => true,
        }
    }

    /// What came back; nothing for errors.
    pub fn result(&self) -> i64 {
        match self.call.outcome {
            SyscallOutcome::Returned { value, .. } if !self.failed() => value,
            _ => 0,
        }
    }

    /// An argument as a number of elements or bytes.
    pub fn size_of_argument(&self, number: usize) -> usize {
        let raw = self.call.arguments[number];
        // Of a narrow one, the kernel doesn't look at the rest of the register.
        let kind = match self.row.kinds[number] {
            ValueKind::By(_, _, otherwise) => *otherwise,
            kind => kind,
        };
        let size = match kind {
            ValueKind::Signed(width) | ValueKind::Unsigned(width) => self.unsigned(raw, width),
            _ => raw,
        };
        usize::try_from(size).unwrap_or(usize::MAX)
    }

    pub fn narrow(&self) -> bool {
        self.call.abi.is_narrow()
    }

    /// Shows a value that stands in a register or was loaded from memory; `number` is the argument that it belongs to.
    pub fn value(&mut self, kind: ValueKind, raw: u64, number: usize) {
        match kind {
            ValueKind::Signed(width) => self.sink.signed(self.signed(raw, width)),
            ValueKind::Unsigned(width) => self.sink.unsigned(self.unsigned(raw, width)),
            ValueKind::Hex(width) => {
                let value = self.unsigned(raw, width);
                self.sink.hex(value);
            }
            ValueKind::Octal(width) => {
                let value = self.unsigned(raw, width);
                self.sink.word(|out| format::octal(out, value));
            }
            ValueKind::Address => self.address(raw),
            ValueKind::Fd => self.sink.fd(raw as i32, self.call),
            ValueKind::FdOr(names) => {
                let value = i64::from(raw as i32);
                match names.name(value as u64) {
                    Some(name) => self.sink.constant(NamedNumber::Signed(value), |out| {
                        out.extend_from_slice(name.as_bytes())
                    }),
                    None => self.sink.fd(raw as i32, self.call),
                }
            }
            ValueKind::DirFd => self.sink.dir_fd(raw as i32, self.call),
            ValueKind::FdOf(process) => {
                let process = self.call.arguments[process] as i32;
                self.sink.fd_of(process, raw as i32, self.call);
            }
            ValueKind::FdBehind(descriptor) => {
                let descriptor = self.call.arguments[descriptor] as i32;
                self.sink.fd_behind(descriptor, raw as i32, self.call);
            }
            ValueKind::Id => self.id(raw),
            ValueKind::Process(whose) => self.sink.process(raw as i32, whose),
            ValueKind::Permissions => self.sink.word(|out| format::permissions(out, raw & 0xffff)),
            ValueKind::FileMode => self.file_mode(raw as u32 & 0xffff),
            ValueKind::Device => self.device(device_major(raw), device_minor(raw)),
            ValueKind::Halves => self.device(raw & 0xffff_ffff, raw >> 32),
            ValueKind::Signal => self.signal_number(raw as i32),
            ValueKind::Flags(width, names) => {
                let value = self.unsigned(raw, width);
                self.flags(value, names);
            }
            ValueKind::One(width, names) => {
                let value = self.unsigned(raw, width);
                self.one(value, names);
            }
            ValueKind::OneAndFlags(width, mask, ones, names) => {
                let value = self.unsigned(raw, width);
                self.one_and_flags(value, mask, ones, names);
            }
            ValueKind::Named(width, names) => {
                let value = self.signed(raw, width);
                match names.name(value as u64) {
                    Some(name) => self.sink.constant(NamedNumber::Signed(value), |out| {
                        out.extend_from_slice(name.as_bytes())
                    }),
                    None if names.unknown.is_empty() => self.sink.signed(value),
                    None => self.sink.constant(NamedNumber::Signed(value), |out| {
                        format::signed(out, value);
                        format::remark(out, names.unknown);
                    }),
                }
            }
            ValueKind::Known(width, names) => {
                let value = self.unsigned(raw, width);
                match names.name(value) {
                    Some(name) => self.sink.constant(NamedNumber::Unsigned(value), |out| {
                        out.extend_from_slice(name.as_bytes())
                    }),
                    None => self.sink.unsigned(value),
                }
            }
            ValueKind::Moment => self.moment_in_words(raw as i64, 0, 0),
            ValueKind::Hidden | ValueKind::Skipped | ValueKind::Unsaid | ValueKind::Gap => {
                self.sink.hex(raw)
            }
            ValueKind::Dots(length) => {
                let count = self.length(length);
                self.sink.begin(Bracket::Array);
                if count > 0 {
                    self.sink.more(Bracket::Array, true);
                }
                self.sink.end(Bracket::Array);
            }
            ValueKind::ByAbi(x86_64, elsewhere) => {
                let kind = if self.call.abi == Abi::X86_64 {
                    *x86_64
                } else {
                    *elsewhere
                };
                self.value(kind, raw, number);
            }
            ValueKind::Special(special) => self.special(special, raw, number),
            ValueKind::Parts(width, parts) => {
                let value = self.unsigned(raw, width);
                self.parts(value, parts);
            }
            ValueKind::Several(width, parts) => {
                let value = self.unsigned(raw, width);
                self.several(value, parts);
            }
            ValueKind::Joined(width, parts) => {
                let value = self.unsigned(raw, width);
                self.joined(value, parts);
            }
            ValueKind::Worded(width, wording) => {
                let value = self.unsigned(raw, width);
                self.worded(value, wording);
            }
            ValueKind::ByField(..) | ValueKind::Only(..) => {
                let kind = self.in_structure(kind).unwrap_or(ValueKind::Hidden);
                self.value(kind, raw, number);
            }
            _ if raw == 0 => self.sink.null(),
            ValueKind::Within(argument, least, most, inner) => {
                match (least..=most).contains(&(self.size_of_argument(argument) as u64)) {
                    true => self.value(*inner, raw, number),
                    false => self.address(raw),
                }
            }
            ValueKind::Name(way, most) => {
                let shown = self.style.string.min(most);
                self.zero_terminated(raw, way, shown, (shown + 1).min(most));
            }
            ValueKind::Limited(way, length) => {
                let most = self.length(length);
                if most == 0 {
                    return self.sink.text(&[], false);
                }
                let shown = self.style.string.min(most);
                self.zero_terminated(raw, way, shown, (shown + 1).min(most));
            }
            ValueKind::Growing(growing, length) => self.growing(raw, growing, length, number),
            ValueKind::Path(way) => self.path(raw, way),
            ValueKind::Text(way) => self.text(raw, way),
            ValueKind::Bytes(way, length) => self.bytes(raw, way, length),
            ValueKind::Binary(way, length) => self.binary(raw, way, length),
            ValueKind::Value(way, length) => self.text_value(raw, way, length),
            ValueKind::To(way, inner) => self.to(raw, way, inner, number),
            ValueKind::Sized(way, structure, least, length) => {
                self.sized(raw, way, structure, least, length)
            }
            ValueKind::Many(way, inner, length) => self.many(raw, way, inner, length, number),
            ValueKind::InOut(structure) => self.in_and_out(raw, structure, number),
            ValueKind::Exchange(before, after) => {
                self.exchange(raw, (before, after), false, number)
            }
            ValueKind::Despite(inner) => self.despite(*inner, raw, number),
            ValueKind::Answered(before, after) => self.exchange(raw, (before, after), true, number),
            ValueKind::Cleared(before, after) => self.cleared(raw, before, after, number),
            ValueKind::Tail(inner) | ValueKind::Plain(inner) => self.value(*inner, raw, number),
            ValueKind::Verbose(inner) if self.style.verbose => self.value(*inner, raw, number),
            ValueKind::Verbose(_) => self.sink.address(raw),
            ValueKind::Structure(_)
            | ValueKind::Array(..)
            | ValueKind::Characters(_)
            | ValueKind::Letters(..)
            | ValueKind::Octets(..)
            | ValueKind::Counted(..)
            | ValueKind::By(..)
            | ValueKind::ByBits(..)
            | ValueKind::Per(..)
            | ValueKind::Wire(_) => self.sink.hex(raw),
        }
    }

    pub fn signed(&self, raw: u64, width: IntegerWidth) -> i64 {
        match width {
            IntegerWidth::One => i64::from(raw as i8),
            IntegerWidth::Two => i64::from(raw as i16),
            IntegerWidth::Four => i64::from(raw as i32),
            IntegerWidth::Eight if self.narrow() => i64::from(raw as i32),
            IntegerWidth::Eight => raw as i64,
        }
    }

    pub fn unsigned(&self, raw: u64, width: IntegerWidth) -> u64 {
        match width {
            IntegerWidth::One => raw & 0xff,
            IntegerWidth::Two => raw & 0xffff,
            IntegerWidth::Four => raw & 0xffff_ffff,
            IntegerWidth::Eight if self.narrow() => raw & 0xffff_ffff,
            IntegerWidth::Eight => raw,
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
            .constant(NamedNumber::Hex(device_of(major, minor)), |out| {
                out.extend_from_slice(b"makedev(");
                format::hex(out, major);
                out.extend_from_slice(b", ");
                format::hex(out, minor);
                out.push(b')');
            });
    }

    pub fn flags(&mut self, value: u64, names: &'static Names) {
        if std::ptr::eq(names, &crate::table::flags::MEMFD) {
            self.sink.constant(NamedNumber::HexAlways(value), |out| {
                let (bits, huge) = (value & 0x3ff_ffff, value >> 26 & 63);
                if bits != 0 || huge == 0 {
                    format::flags(out, bits, names);
                }
                if huge != 0 {
                    if bits != 0 {
                        out.push(b'|');
                    }
                    format::unsigned(out, huge);
                    out.extend_from_slice(b"<<MFD_HUGE_SHIFT");
                }
            });
            return;
        }
        self.sink.constant(NamedNumber::Hex(value), |out| {
            format::flags(out, value, names)
        });
    }

    pub fn one(&mut self, value: u64, names: &'static Names) {
        self.sink.constant(NamedNumber::Hex(value), |out| {
            format::one(out, value, names)
        });
    }

    fn one_and_flags(
        &mut self,
        value: u64,
        mask: u64,
        ones: &'static Names,
        names: &'static Names,
    ) {
        let number = match names.unknown {
            "MAP_???" => NamedNumber::HexAlways(value),
            _ => NamedNumber::Hex(value),
        };
        self.sink.constant(number, |out| {
            let (one, mut rest) = (value & mask, value & !mask);
            // A size of huge pages stands in the last bits.
            let huge = if names.unknown == "MAP_???" {
                rest >> 26 & 63
            } else {
                0
            };
            rest &= !(huge << 26);
            let socket = names.unknown == "SOCK_???";
            match ones.name(one) {
                // No type at all stands alone.
                _ if socket && value == 0 => out.push(b'0'),
                Some(name) => out.extend_from_slice(name.as_bytes()),
                None if rest == 0 || mask == 15 && names.unknown == "MAP_???" => {
                    format::one(out, one, ones)
                }
                None => {
                    let left = format::named_bits(out, rest, names, b"");
                    if left | one == value {
                        format::hex(out, value);
                        format::remark(out, ones.unknown);
                    } else if left | one != 0 {
                        out.push(b'|');
                        format::hex(out, left | one);
                    }
                    return;
                }
            }
            if rest != 0 {
                out.push(b'|');
                if socket {
                    format::flags(out, rest, names);
                } else {
                    format::some_flags(out, rest, names);
                }
            }
            if huge != 0 {
                out.push(b'|');
                format::unsigned(out, huge);
                out.extend_from_slice(b"<<MAP_HUGE_SHIFT");
            }
        });
    }

    fn special(&mut self, special: SpecialKind, raw: u64, number: usize) {
        match special {
            SpecialKind::OpenFlags => self.open_flags(raw & 0xffff_ffff),
            SpecialKind::HowFlags => self.open_flags(raw),
            SpecialKind::WideFd => match i32::try_from(raw) {
                Ok(fd) => self.sink.fd(fd, self.call),
                Err(_) => self.sink.unsigned(raw),
            },
            SpecialKind::Schedule(way) => self.schedule(raw, way),
            SpecialKind::Policy => self.policy(raw & 0xffff_ffff),
            SpecialKind::Measured(layout, least) => self.measured(raw, layout, least),
            SpecialKind::MountStatus => self.mount_status(raw),
            SpecialKind::Listed => self.listed(raw),
            SpecialKind::OpenMode(_) => {
                self.sink.word(|out| format::permissions(out, raw & 0xffff))
            }
            SpecialKind::HowMode => self.sink.word(|out| format::permissions(out, raw)),
            SpecialKind::Arguments => self.program_arguments(raw),
            SpecialKind::Environment => self.program_environment(raw),
            SpecialKind::Status => self.wait_status(raw),
            SpecialKind::StatusInPlace => self.wait_status_in_place(raw as u32),
            SpecialKind::Usage => self.wait_usage(raw, number),
            SpecialKind::Signals(way) => self.signal_set(raw, way, number),
            SpecialKind::SignalsAndSize => self.signals_and_size(raw),
            SpecialKind::SignalFrame => self.signal_frame(raw),
            SpecialKind::Action(way) => self.signal_action(raw, way),
            SpecialKind::Information(way) => self.signal_information(raw, way),
            SpecialKind::Event => self.signal_event(raw),
            SpecialKind::Address(length) => self.socket_address(raw, self.call.arguments[length]),
            SpecialKind::AddressOut(length) => self.socket_address_out(raw, length),
            SpecialKind::AddressLength | SpecialKind::OptionLength => self.socket_length(raw),
            SpecialKind::Spoken(way, length) => {
                let length = self.length(length);
                self.netlink_messages(raw, length, way);
            }
            SpecialKind::Queued(way) => self.queued(raw, way),
            SpecialKind::Message(way) => self.message(raw, way),
            SpecialKind::Messages(way) => self.messages(raw, way),
            SpecialKind::Vectors(way, count) => {
                self.vectors(raw, self.size_of_argument(count), way)
            }
            SpecialKind::Scattered(way, at, width, bytes) => {
                self.scattered(raw, way, (at, width), bytes)
            }
            SpecialKind::Scsi => self.scsi(raw),
            SpecialKind::Tone => self.tone(raw as u32),
            SpecialKind::WideSignal => match i32::try_from(raw) {
                Ok(signal) if signal != i32::MAX => self.signal_number(signal),
                _ => self.sink.unsigned(raw),
            },
            SpecialKind::Key(way) => self.key(raw, way),
            SpecialKind::KeyString(way) => self.key_string(raw, way),
            SpecialKind::Mappings => self.mappings(raw),
            SpecialKind::FontName => self.font_name(raw),
            SpecialKind::Mapper => self.mapper(raw),
            SpecialKind::Option(way) => self.socket_option(raw, way),
            SpecialKind::OptionName => self.socket_option_name(raw),
            SpecialKind::Protocol => self.socket_protocol(raw),
            SpecialKind::Descriptors => self.descriptor_set(raw),
            SpecialKind::Polled => self.polled(raw),
            SpecialKind::Watched => self.watched(raw, number),
            SpecialKind::Request => self.request(raw),
            SpecialKind::Requested => self.sink.hex(raw),
            SpecialKind::TeeSession(layout) => self.tee_session(raw, layout, number),
            SpecialKind::Carried => self.carried(raw),
            SpecialKind::Fcntl => self.fcntl(raw, number),
            SpecialKind::ThreadName(way) => self.thread_name(raw, way),
            SpecialKind::Terminal(way, settings) => self.terminal(raw, way, settings),
            SpecialKind::BitSet(names) => self.bit_set(raw, names),
            SpecialKind::Slots(names) => self.slots(raw, names),
            SpecialKind::Nodes(way, count) => self.nodes(raw, way, self.size_of_argument(count)),
            SpecialKind::Pair(..) => self.sink.hex(raw),
            SpecialKind::ArchPrctl => self.arch_prctl(raw),
            SpecialKind::FutexOperation => self.futex_operation(raw),
            SpecialKind::FutexValue => self.futex_value(raw),
            SpecialKind::FutexTimeout => self.futex_timeout(raw, number),
            SpecialKind::FutexLast => self.futex_last(raw),
            SpecialKind::Clone => self.clone3(raw),
            SpecialKind::Entries => self.entries(raw),
            SpecialKind::CapabilityHeader => self.capability_header(raw),
            SpecialKind::Capabilities(way) => self.capabilities(raw, way),
            SpecialKind::Times => self.times(raw),
            SpecialKind::InPlaceAddress(_)
            | SpecialKind::Instruction
            | SpecialKind::Restriction
            | SpecialKind::InformationInPlace
            | SpecialKind::TimevalMoment
            | SpecialKind::Stat
            | SpecialKind::Statx
            | SpecialKind::Instant(_) => self.address(raw),
            SpecialKind::Remainder => self.remainder(raw, number),
            SpecialKind::Processors(way) => self.processors(raw, way),
            SpecialKind::ProcessorsOf(length) => {
                let length = self.size_of_argument(length);
                self.processor_bits(raw, DataDirection::In, length);
            }
            SpecialKind::SizedSignals(way, size) => match self.size_of_argument(size) {
                8 => self.set_behind(raw, 8, way),
                _ => self.address(raw),
            },
            SpecialKind::FieldSignals(size) => match self.sibling(size, IntegerWidth::Four) {
                8 if raw != 0 => self.set_behind(raw, 8, DataDirection::In),
                _ => self.address(raw),
            },
            SpecialKind::RingQueries => self.ring_queries(raw),
            SpecialKind::UserOffset => self.user_offset(raw),
            SpecialKind::Registers(way, floating) => self.registers(raw, way, floating),
            SpecialKind::RegisterSet(way) => self.register_set(raw, way),
            SpecialKind::StopInformation(way) => self.stop_information(raw, way),
            SpecialKind::Counter => self.counter(raw),
            SpecialKind::Probe => self.probe(raw),
            SpecialKind::Workers => self.workers(raw),
            SpecialKind::BpfObject => self.bpf_object(raw, number),
            SpecialKind::SinceStart => self.since_start(raw),
            SpecialKind::SecurityContexts => self.security_contexts(raw, number),
            SpecialKind::SecurityContext => self.security_context(raw, number),
            SpecialKind::FileHandle(way) => self.file_handle(raw, way),
            SpecialKind::Limit => self.limit(raw),
            SpecialKind::NodeDevice(mode) => self.node_device(raw, mode),
            SpecialKind::MountData => self.mount_text(raw, true),
            SpecialKind::Persona => self.persona(raw),
            SpecialKind::Random => self.random(raw),
            SpecialKind::NewAddress => self.address(raw),
            SpecialKind::Resident => self.resident(raw),
            SpecialKind::IpcKey => self.ipc_key(raw),
            SpecialKind::StatxFlags => self.statx_flags(raw & 0xffff_ffff),
            SpecialKind::IpcMode => self.ipc_mode(raw),
            SpecialKind::IpcCommand(names) => self.ipc_command(raw, names),
            SpecialKind::RestartableSequences => self.restartable_sequences(raw),
            SpecialKind::Offset => self.offset(raw),
            SpecialKind::Priority => self.input_priority(raw),
            SpecialKind::SwapFlags => self.swap_flags(raw),
            SpecialKind::ShortDevice => self.value(ValueKind::Device, raw & 0xffff_ffff, number),
            SpecialKind::LogLevel => self.leveled(raw as i32, &crate::table::flags::LOG_LEVEL),
            SpecialKind::Ticks => ticks(self.sink, raw),
            SpecialKind::MountFlags => self.mount_flags(raw),
            SpecialKind::MountType => self.mount_text(raw, false),
            SpecialKind::SyslogType => self.leveled(raw as i32, &crate::table::flags::SYSLOG),
            SpecialKind::Membarrier => {
                self.one(raw & 0xffff_ffff, &crate::table::flags::MEMBARRIER)
            }
        }
    }

    /// A position in a file that the kernel moves on: as it was, and what became of it.
    fn offset(&mut self, raw: u64) {
        let number = |bytes: &[u8]| (bytes.len() == 8).then(|| load(bytes, 8));
        let before = self.read(raw, 8, DataDirection::In).and_then(number);
        let after = self.read(raw, 8, DataDirection::Out).and_then(number);
        let Some(before) = before else {
            return self.address(raw);
        };
        self.sink.begin(Bracket::Array);
        self.sink.item(true);
        match after.filter(|after| *after != before) {
            Some(after) => self.sink.word(|out| {
                format::unsigned(out, before);
                out.extend_from_slice(b" => ");
                format::unsigned(out, after);
            }),
            None => self.sink.unsigned(before),
        }
        self.sink.end(Bracket::Array);
    }

    /// A number with its name as a remark, whether or not names are asked for.
    fn leveled(&mut self, value: i32, names: &'static Names) {
        let name = names.name(u64::from(value as u32)).unwrap_or(names.unknown);
        self.sink.word(|out| {
            format::signed(out, i64::from(value));
            format::remark(out, name);
        });
    }
}

/// A time in hundredths of a second.
fn ticks<S: ValueSink>(sink: &mut S, value: u64) {
    time_in_parts(sink, value, 2);
}

/// A time in parts of a second, which has so many digits of them, with what it is in seconds behind it.
fn time_in_parts<S: ValueSink>(sink: &mut S, value: u64, digits: u32) {
    let second = 10_u64.pow(digits);
    sink.constant(NamedNumber::Unsigned(value), |out| {
        format::unsigned(out, value);
        if value > 0 {
            out.extend_from_slice(b" /* ");
            format::unsigned(out, value / second);
            out.push(b'.');
            format::padded(out, value % second, digits as usize);
            out.extend_from_slice(b" s */");
        }
    });
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
