//! What `ioctl` is asked and given: requests by their names, and what needs more than the table of requests says.
//!
//! The argument of an unknown request is shown as a number.

use backsight_syscall_tables::sets::IOCTL_LINE_DISCIPLINE as LINE;

use super::sink::{Bracket, ValueSink};
use super::{Walk, int_at, short_at};
use crate::SyscallOutcome;
use crate::format::{self, ConstantStyle, NamedNumber};
use crate::table::ioctl::{self, RequestResult};
use crate::table::kind::TermiosVersion;
use crate::table::{DataDirection, IntegerWidth, Names, TeeSessionLayout, ValueKind, flags};

/// Drivers, as requests have them, whose requests are known one by one: of their others nothing but the address is shown.
const KNOWN: [u8; 28] = [
    0x12, 0x15, 0x21, 0x3d, 0x3e, 0x45, 0x4b, 0x4c, 0x4d, 0x4f, 0x52, 0x54, 0x56, 0x57, 0x58, 0x66,
    0x69, 0x6f, 0x70, 0x75, 0x89, 0x94, 0xa4, 0xaa, 0xae, 0xb4, 0xb7, 0xfd,
];

impl<S: ValueSink> Walk<'_, S> {
    /// What a request carries of which nothing is known but its number, which says how much it is and which way it goes: shown
    /// where everything is asked for.
    pub fn carried(&mut self, raw: u64) {
        let request = self.call.arguments[1];
        let (writes, reads) = (request >> 30 & 1 != 0, request >> 31 & 1 != 0);
        // What goes neither way, and yet has a size, goes both.
        let (writes, reads) = (writes || !reads, reads || !writes);
        let size = (request >> 16 & 0x3fff) as usize;
        let driver = (request >> 8 & 0xff) as u8;
        if !self.style.verbose || size == 0 || KNOWN.contains(&driver) {
            return self.sink.hex(raw);
        }
        let looked_at = size.min(self.style.string.saturating_add(1));
        let whole = |bytes: &&[u8]| bytes.len() == looked_at;
        let before = self.read(raw, looked_at, DataDirection::In).filter(whole);
        // What is there then is shown of a call that failed, too.
        let after = self.read_always(raw, looked_at, DataDirection::Out);
        let after = after.filter(whole);
        match (writes, before, after) {
            (true, Some(before), after) => {
                let start = self.sink.begins();
                self.limited_binary(before, size);
                if let Some(after) = after.filter(|_| reads) {
                    let middle = self.sink.turns();
                    self.limited_binary(after, size);
                    self.sink.turned(start, middle);
                }
            }
            (false, _, Some(after)) => self.limited_binary(after, size),
            _ => self.sink.hex(raw),
        }
    }

    fn limited_binary(&mut self, bytes: &[u8], size: usize) {
        let shown = bytes.len().min(self.style.string);
        self.sink.binary(&bytes[..shown], shown < size);
    }

    /// What a session of a trusted execution environment is asked and answers, where it is as long as its parameters have it.
    pub fn tee_session(&mut self, raw: u64, layout: &'static TeeSessionLayout, number: usize) {
        const LENGTH_AT: usize = 8;
        let length = self.sibling(LENGTH_AT, IntegerWidth::Eight);
        let head = self.read(raw, layout.head, DataDirection::In);
        let fits = head
            .filter(|head| head.len() == layout.head)
            .is_some_and(|head| {
                let count = u64::from(int_at(head, layout.count_at));
                length == layout.head as u64 + count * layout.parameter as u64
            });
        match fits {
            true => self.exchange(raw, (&layout.asked, &layout.answered), false, number),
            false => self.address(raw),
        }
    }

    /// Whether the descriptor is known to be a terminal: no other kind of file that is open takes the requests that
    /// terminals share with timers of sound devices.
    fn is_terminal(&self) -> bool {
        const EBADF: i64 = 9;
        const ENOTTY: i64 = 25;
        match self.call.outcome {
            SyscallOutcome::Returned { value, .. } => ![-EBADF, -ENOTTY].contains(&value),
            _ => false,
        }
    }

    pub fn request(&mut self, raw: u64) {
        let raw = raw & 0xffff_ffff;
        // What has no name within the name of a request says so only where the name stands alone.
        let (_, numbers) = self.sink.names_and_numbers();
        let terminal = self.is_terminal();
        self.sink.constant(NamedNumber::Hex(raw), |out| {
            let name = ioctl::terminal_name(raw as u32).filter(|_| terminal);
            if let Some(name) = name {
                out.extend_from_slice(name.as_bytes());
            } else if !ioctl::put_name(out, raw as u32, !numbers) {
                put_request(out, raw);
            }
        });
    }

    /// What the third argument means by what is asked.
    pub fn requested_kind(&self) -> ValueKind {
        ioctl::argument_kind(self.call.arguments[1] as u32, self.style.opaque)
    }

    /// What stands beside the result.
    pub fn requested_result(&mut self) {
        let Some(answered) = ioctl::result_kind(self.call.arguments[1] as u32) else {
            return;
        };
        match answered {
            RequestResult::Descriptor => {}
            RequestResult::Named(names) => {
                if let Some(name) = names.name(self.result() as u64) {
                    self.sink.beside(true, "");
                    self.sink.word(|out| out.extend_from_slice(name.as_bytes()));
                    self.sink.beside_end();
                }
            }
            RequestResult::Behind(structure) => {
                let address = self.call.arguments[2];
                if let Some(bytes) = self
                    .read(address, structure.size, DataDirection::Out)
                    .filter(|bytes| bytes.len() == structure.size)
                {
                    self.sink.beside(true, "");
                    self.structure(structure, bytes, 2);
                    self.sink.beside_end();
                }
            }
        }
    }

    /// A terminal's settings.
    pub fn terminal(&mut self, raw: u64, way: DataDirection, settings: TermiosVersion) {
        let size = settings.bytes();
        let Some(bytes) = self
            .read(raw, size, way)
            .filter(|bytes| bytes.len() == size)
        else {
            self.address(raw);
            return;
        };
        let modes = |place: usize| match settings {
            TermiosVersion::Old => u32::from(short_at(bytes, 2 * place)),
            TermiosVersion::Usual | TermiosVersion::Speeds => int_at(bytes, 4 * place),
        };
        self.sink.begin(Bracket::Structure);
        self.sink.field(true, "c_iflag");
        self.modes(modes(0), &flags::TTY_IN);
        self.sink.field(false, "c_oflag");
        self.sink
            .words(|out, constants, _| put_output_modes(out, modes(1), constants));
        self.sink.field(false, "c_cflag");
        self.sink
            .words(|out, constants, _| put_control_modes(out, modes(2), constants));
        self.sink.field(false, "c_lflag");
        self.modes(modes(3), &flags::TTY_LOCAL);
        if self.style.verbose {
            self.terminal_characters(bytes, settings);
        } else {
            self.sink.more(Bracket::Structure, false);
        }
        self.sink.end(Bracket::Structure);
    }

    fn modes(&mut self, modes: u32, names: &'static Names) {
        self.sink
            .words(|out, constants, _| put_more_modes(out, modes, names, constants));
    }

    fn terminal_characters(&mut self, bytes: &[u8], settings: TermiosVersion) {
        let (line, characters) = match settings {
            TermiosVersion::Old => (bytes[8], &bytes[9..17]),
            TermiosVersion::Usual | TermiosVersion::Speeds => (bytes[16], &bytes[17..36]),
        };
        self.sink.field(false, "c_line");
        self.one(u64::from(line), &LINE);
        self.sink.field(false, "c_cc");
        self.sink.begin(Bracket::Array);
        for (index, character) in characters.iter().enumerate() {
            self.sink.item(index == 0);
            self.sink.word(|out| {
                out.push(b'[');
                match CHARACTERS.get(index) {
                    Some(name) => out.extend_from_slice(name.as_bytes()),
                    None => format::unsigned(out, index as u64),
                }
                out.extend_from_slice(b"]=");
                format::hex(out, u64::from(*character));
            });
        }
        self.sink.end(Bracket::Array);
        if settings == TermiosVersion::Speeds {
            for (at, name) in [(36, "c_ispeed"), (40, "c_ospeed")] {
                self.sink.field(false, name);
                self.sink.unsigned(u64::from(int_at(bytes, at)));
            }
        }
    }
}

/// A request that has no name, by its parts.
fn put_request(out: &mut Vec<u8>, raw: u64) {
    let direction: &[u8] = match raw >> 30 {
        0 => b"_IOC_NONE",
        1 => b"_IOC_WRITE",
        2 => b"_IOC_READ",
        _ => b"_IOC_READ|_IOC_WRITE",
    };
    out.extend_from_slice(b"_IOC(");
    out.extend_from_slice(direction);
    for part in [(raw >> 8) & 0xff, raw & 0xff, (raw >> 16) & 0x3fff] {
        out.extend_from_slice(b", ");
        format::hex(out, part);
    }
    out.push(b')');
}

/// The names of a terminal's special characters, in the order in which they lie in memory.
const CHARACTERS: [&str; 17] = [
    "VINTR", "VQUIT", "VERASE", "VKILL", "VEOF", "VTIME", "VMIN", "VSWTC", "VSTART", "VSTOP",
    "VSUSP", "VEOL", "VREPRINT", "VDISCARD", "VWERASE", "VLNEXT", "VEOL2",
];

const SPEEDS: [&str; 16] = [
    "B0", "B50", "B75", "B110", "B134", "B150", "B200", "B300", "B600", "B1200", "B1800", "B2400",
    "B4800", "B9600", "B19200", "B38400",
];
const HIGH_SPEEDS: [&str; 16] = [
    "BOTHER", "B57600", "B115200", "B230400", "B460800", "B500000", "B576000", "B921600",
    "B1000000", "B1152000", "B1500000", "B2000000", "B2500000", "B3000000", "B3500000", "B4000000",
];

fn speed(modes: u32) -> &'static str {
    let table = if modes & 0o10_000 == 0 {
        &SPEEDS
    } else {
        &HIGH_SPEEDS
    };
    table[(modes & 15) as usize]
}

fn put_output_modes(out: &mut Vec<u8>, modes: u32, constants: ConstantStyle) {
    const DELAYS: [(u32, &[&str]); 6] = [
        (8, &["NL0", "NL1"]),
        (9, &["CR0", "CR1", "CR2", "CR3"]),
        (11, &["TAB0", "TAB1", "TAB2", "XTABS"]),
        (13, &["BS0", "BS1"]),
        (14, &["VT0", "VT1"]),
        (15, &["FF0", "FF1"]),
    ];
    for (shift, names) in DELAYS {
        let place = modes >> shift & (names.len() as u32 - 1);
        put_mode(out, constants, place << shift, names[place as usize]);
        out.push(b'|');
    }
    put_more_modes(out, modes & !0xff00, &flags::TTY_OUT, constants);
}

fn put_control_modes(out: &mut Vec<u8>, modes: u32, constants: ConstantStyle) {
    const INPUT_SPEED: u32 = 16;
    const SPEED: u32 = 0o10_017;
    const SIZES: [&str; 4] = ["CS5", "CS6", "CS7", "CS8"];
    put_mode(out, constants, modes & SPEED, speed(modes));
    out.push(b'|');
    let input = modes >> INPUT_SPEED & SPEED;
    if input != 0 {
        put_mode(out, constants, input, speed(input));
        out.extend_from_slice(b"<<");
        put_mode(out, constants, INPUT_SPEED, "IBSHIFT");
        out.push(b'|');
    }
    let size = modes >> 4 & 3;
    put_mode(out, constants, size << 4, SIZES[size as usize]);
    out.push(b'|');
    let rest = modes & !(SPEED | SPEED << INPUT_SPEED | 0x30);
    put_more_modes(out, rest, &flags::TTY_CONTROL, constants);
}

fn put_mode(out: &mut Vec<u8>, constants: ConstantStyle, value: u32, name: &str) {
    format::constant(out, constants, NamedNumber::Hex(u64::from(value)), |out| {
        out.extend_from_slice(name.as_bytes())
    });
}

/// What else is set, if anything: strace says nothing where nothing is.
fn put_more_modes(out: &mut Vec<u8>, modes: u32, names: &'static Names, constants: ConstantStyle) {
    let modes = u64::from(modes);
    if modes != 0 {
        format::constant(out, constants, NamedNumber::Hex(modes), |out| {
            format::some_flags(out, modes, names)
        });
    }
}
