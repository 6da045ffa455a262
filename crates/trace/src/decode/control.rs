//! Calls that mean something else by what they are asked: `open`'s flags, `fcntl`, `ioctl`, `prctl`, `arch_prctl`.

use super::sink::{Bracket, Number, Sink};
use super::{Walk, int_at, long_at};
use crate::Abi;
use crate::table::Width::{Eight, Four};
use crate::table::{Kind, Structure, Way, Whose, flags, structure};
use crate::text::{Constants, DUMPABLE, put};

const CREAT: u64 = 0o100;
const TMPFILE: u64 = 0o20_000_000;

/// What an `ioctl` is given, by its request; what isn't here is shown as an address.
static REQUESTS: &[(u32, Way, Kind)] = &[
    (0x5413, Way::Out, Kind::Structure(&structure::WINSIZE)),
    (0x5414, Way::In, Kind::Structure(&structure::WINSIZE)),
    (0x540f, Way::Out, Kind::Signed(Four)),
    (0x5410, Way::In, Kind::Signed(Four)),
    (0x5411, Way::Out, Kind::Signed(Four)),
    (0x5415, Way::Out, Kind::Hex(Four)),
    (0x541b, Way::Out, Kind::Signed(Four)),
    (0x5421, Way::In, Kind::Signed(Four)),
    (0x5429, Way::Out, Kind::Signed(Four)),
    (0x5452, Way::In, Kind::Signed(Four)),
    (0x8004_5430, Way::Out, Kind::Unsigned(Four)),
    (0x4004_5431, Way::In, Kind::Signed(Four)),
    (0x1260, Way::Out, Kind::Unsigned(Eight)),
    (0x1268, Way::Out, Kind::Signed(Four)),
    (0x8008_1272, Way::Out, Kind::Unsigned(Eight)),
];

/// Requests whose argument is a number, not an address.
static PLAIN: &[u32] = &[0x5409, 0x540a, 0x540b, 0x540e, 0x5425, 0x5426];

/// The second argument of `prctl`, by the first, where that says it all.
static PRCTL: &[(u64, Kind)] = &[
    (5, Kind::To(Way::Out, &Kind::Flags(Four, &flags::UNALIGN))),
    (6, Kind::Flags(Eight, &flags::UNALIGN)),
    (19, Kind::To(Way::Out, &Kind::Unsigned(Four))),
    (20, Kind::Unsigned(Eight)),
    (
        25,
        Kind::To(Way::Out, &Kind::One(Four, &flags::TIME_STAMPS)),
    ),
    (26, Kind::One(Four, &flags::TIME_STAMPS)),
    (40, Kind::To(Way::Out, &Kind::Address)),
    (45, Kind::Flags(Four, &flags::FLOATING)),
];

const CLONE_FILE: u32 = 0x4004_9409;
const GET_TERMINAL: u32 = 0x5401;
const SET_TERMINAL: std::ops::RangeInclusive<u32> = 0x5402..=0x5404;

impl<'a, S: Sink> Walk<'a, S> {
    pub fn open_flags(&mut self, raw: u64) {
        let arm = self.call.abi == Abi::Aarch64;
        self.sink
            .constant(Number::Hex(raw), |out| put::open_flags(out, raw, arm));
    }

    /// How many arguments of `open` are shown: the mode only where a file may be made.
    pub fn open_count(&self, most: usize) -> usize {
        let at = if self.row.name == "openat" { 2 } else { 1 };
        if self.call.arguments[at] & (CREAT | TMPFILE) != 0 {
            most
        } else {
            at + 1
        }
    }

    fn fcntl_asked(&self) -> u64 {
        self.call.arguments[1] & 0xffff_ffff
    }

    pub fn fcntl_count(&self) -> usize {
        match self.fcntl_asked() {
            1 | 3 | 9 | 11 | 1025 | 1032 | 1034 => 2,
            _ => 3,
        }
    }

    pub fn fcntl_fills_in(&self) -> bool {
        matches!(self.fcntl_asked(), 5 | 16 | 36 | 1035 | 1037 | 17)
    }

    pub fn fcntl(&mut self, raw: u64, number: usize) {
        let lock: (Way, &'static Structure) = match self.fcntl_asked() {
            0 | 1030 | 1031 => return self.sink.signed(i64::from(raw as i32)),
            2 => return self.flags(raw, &flags::FD_FLAGS),
            4 => return self.open_flags(raw),
            8 => return self.sink.process(raw as i32, Whose::ProcessOrGroup),
            10 => return self.signal_number(raw as i32),
            1024 => return self.one(raw, &flags::LOCK_TYPE),
            1026 => return self.flags(raw, &flags::NOTIFY),
            1033 => return self.flags(raw, &flags::SEALS),
            5 | 36 => (Way::Out, &structure::FLOCK_GET),
            6 | 7 | 37 | 38 => (Way::In, &structure::FLOCK),
            15 => return self.owner(raw, Way::In),
            16 => return self.owner(raw, Way::Out),
            1035 | 1037 => return self.hint(raw, Way::Out),
            1036 | 1038 => return self.hint(raw, Way::In),
            _ => return self.sink.hex(raw),
        };
        self.structure_behind(raw, lock.0, lock.1, number);
    }

    /// Who is told of what happens to a file.
    fn owner(&mut self, raw: u64, way: Way) {
        let bytes = self.read(raw, 8, way).filter(|bytes| bytes.len() == 8);
        let Some(bytes) = bytes.filter(|_| !self.narrow()) else {
            self.address(raw);
            return;
        };
        let kind = int_at(bytes, 0);
        self.sink.begin(Bracket::Structure);
        self.sink.field(true, "type");
        self.one(u64::from(kind), &flags::OWNER);
        self.sink.field(false, "pid");
        let whose = [Whose::Thread, Whose::Process, Whose::Group];
        let number = int_at(bytes, 4) as i32;
        match whose.get(kind as usize) {
            Some(whose) => self.sink.process(number, *whose),
            None => self.sink.signed(i64::from(number)),
        }
        self.sink.end(Bracket::Structure);
    }

    fn hint(&mut self, raw: u64, way: Way) {
        match self.read(raw, 8, way).filter(|bytes| bytes.len() == 8) {
            Some(bytes) => {
                self.sink.begin(Bracket::Array);
                self.sink.item(true);
                self.one(long_at(bytes, 0), &flags::RW_HINT);
                self.sink.end(Bracket::Array);
            }
            None => self.address(raw),
        }
    }

    fn structure_behind(
        &mut self,
        raw: u64,
        way: Way,
        structure: &'static Structure,
        number: usize,
    ) {
        match self
            .read(raw, structure.size, way)
            .filter(|bytes| bytes.len() == structure.size)
        {
            Some(bytes) if !self.narrow() => self.structure(structure, bytes, number),
            _ => self.address(raw),
        }
    }

    pub fn request(&mut self, raw: u64) {
        let raw = raw & 0xffff_ffff;
        self.sink
            .constant(Number::Hex(raw), |out| match flags::IOCTL.name(raw) {
                // One file system had them first.
                Some("FICLONE") => out.extend_from_slice(b"BTRFS_IOC_CLONE or FICLONE"),
                Some("FICLONERANGE") => {
                    out.extend_from_slice(b"BTRFS_IOC_CLONE_RANGE or FICLONERANGE")
                }
                // The sound driver has the same numbers.
                Some(name @ ("TCSETS" | "TCSETSW" | "TCSETSF")) => {
                    let other = ["SNDCTL_TMR_START", "SNDCTL_TMR_STOP", "SNDCTL_TMR_CONTINUE"]
                        [(raw - 0x5402) as usize];
                    out.extend_from_slice(other.as_bytes());
                    out.extend_from_slice(b" or ");
                    out.extend_from_slice(name.as_bytes());
                }
                Some(name) => out.extend_from_slice(name.as_bytes()),
                None => put_request(out, raw),
            });
    }

    fn requested_kind(&self) -> Option<(Way, &'static Kind)> {
        let request = self.call.arguments[1] as u32;
        REQUESTS
            .iter()
            .find(|(known, ..)| *known == request)
            .map(|(_, way, kind)| (*way, kind))
    }

    pub fn request_fills_in(&self) -> bool {
        let request = self.call.arguments[1] as u32;
        request == GET_TERMINAL || matches!(self.requested_kind(), Some((Way::Out, _)))
    }

    /// How many arguments of `ioctl` are shown: some requests have nothing to say.
    pub fn request_count(&self) -> usize {
        const CLOSE_ON_EXEC: std::ops::RangeInclusive<u32> = 0x5450..=0x5451;
        if CLOSE_ON_EXEC.contains(&(self.call.arguments[1] as u32)) {
            2
        } else {
            3
        }
    }

    pub fn requested(&mut self, raw: u64, number: usize) {
        let request = self.call.arguments[1] as u32;
        if request == GET_TERMINAL {
            self.terminal(raw, Way::Out);
        } else if SET_TERMINAL.contains(&request) {
            self.terminal(raw, Way::In);
        } else if request == CLONE_FILE {
            self.sink.fd(raw as i32, self.call);
        } else if PLAIN.contains(&request) {
            self.sink.hex(raw);
        } else if let Some((way, kind)) = self.requested_kind() {
            self.value(Kind::To(way, kind), raw, number);
        } else if flags::IOCTL.name(u64::from(request)).is_some() && raw == 0 {
            self.sink.null();
        } else {
            self.sink.hex(raw);
        }
    }

    /// A terminal's settings.
    fn terminal(&mut self, raw: u64, way: Way) {
        const SIZE: usize = 36;
        let Some(bytes) = self
            .read(raw, SIZE, way)
            .filter(|bytes| bytes.len() == SIZE)
        else {
            self.address(raw);
            return;
        };
        self.sink.begin(Bracket::Structure);
        self.sink.field(true, "c_iflag");
        self.flags(u64::from(int_at(bytes, 0)), &flags::TTY_IN);
        self.sink.field(false, "c_oflag");
        self.sink
            .word(|out| put_output_modes(out, int_at(bytes, 4)));
        self.sink.field(false, "c_cflag");
        self.sink
            .word(|out| put_control_modes(out, int_at(bytes, 8)));
        self.sink.field(false, "c_lflag");
        self.flags(u64::from(int_at(bytes, 12)), &flags::TTY_LOCAL);
        if self.style.verbose {
            self.terminal_characters(bytes);
        } else {
            self.sink.more(Bracket::Structure, false);
        }
        self.sink.end(Bracket::Structure);
    }

    fn terminal_characters(&mut self, bytes: &[u8]) {
        self.sink.field(false, "c_line");
        let line = u64::from(bytes[16]);
        self.sink.word(|out| {
            if line == 0 {
                out.extend_from_slice(b"N_TTY");
            } else {
                put::hex(out, line);
                put::remark(out, "N_???");
            }
        });
        self.sink.field(false, "c_cc");
        self.sink.begin(Bracket::Array);
        for (index, character) in bytes[17..36].iter().enumerate() {
            self.sink.item(index == 0);
            self.sink.word(|out| {
                out.push(b'[');
                match CHARACTERS.get(index) {
                    Some(name) => out.extend_from_slice(name.as_bytes()),
                    None => put::unsigned(out, index as u64),
                }
                out.extend_from_slice(b"]=");
                put::hex(out, u64::from(*character));
            });
        }
        self.sink.end(Bracket::Array);
    }

    fn prctl_asked(&self) -> u64 {
        self.call.arguments[0] & 0xffff_ffff
    }

    pub fn prctl_count(&self) -> usize {
        match self.prctl_asked() {
            3 | 7 | 13 | 21 | 27 | 30 | 31 | 32 | 34 | 46 | 51 | 56 | 58 => 1,
            1 | 2 | 4 | 5 | 6 | 8 | 9 | 10 | 11 | 12 | 14 | 15 | 16 | 20 | 23 | 24 | 25 | 26
            | 19 | 28 | 29 | 36 | 37 | 40 | 45 => 2,
            22 => 3,
            0x5961_6d61 => 2,
            _ => 5,
        }
    }

    pub fn prctl_fills_in(&self) -> bool {
        matches!(self.prctl_asked(), 2 | 5 | 9 | 11 | 16 | 19 | 25 | 37 | 40)
    }

    pub fn prctl(&mut self, raw: u64, number: usize) {
        const SET_VMA: u64 = 0x5356_4d41;
        let asked = self.prctl_asked();
        let known = PRCTL.iter().find(|(known, _)| *known == asked);
        if let (Some((_, kind)), 1) = (known, number) {
            return self.value(*kind, raw, number);
        }
        match (asked, number) {
            (0x5961_6d61, 1) if raw as i32 == -1 => self.sink.constant(Number::Signed(-1), |out| {
                out.extend_from_slice(b"PR_SET_PTRACER_ANY");
            }),
            (0x5961_6d61, 1) => self.sink.process(raw as i32, Whose::Process),
            (1, 1) if raw > u64::from(u32::MAX) => self.sink.unsigned(raw),
            (1, 1) => self.signal_number(raw as i32),
            (2, 1) => self.out_number(raw, |walk, value| walk.signal_number(value as i32)),
            (15, 1) => self.thread_name(raw, Way::In),
            (16, 1) => self.thread_name(raw, Way::Out),
            (9 | 11 | 37, 1) => {
                self.out_number(raw, |walk, value| walk.sink.unsigned(u64::from(value)))
            }
            (23 | 24, 1) => self.one(raw, &flags::CAP),
            (22, 1) => self.one(raw, &flags::SECCOMP_MODE),
            (22, 2) => self.address(raw),
            (47, 1) => self.one(raw, &flags::CAP_AMBIENT),
            (47, 2) if matches!(self.call.arguments[1] & 0xffff_ffff, 1..=3) => {
                self.one(raw, &flags::CAP)
            }
            (28, 1) => self.flags(raw, &flags::SECURE_BITS),
            (4, 1) => self.sink.word(|out| {
                match usize::try_from(raw).ok().and_then(|raw| DUMPABLE.get(raw)) {
                    Some(name) => out.extend_from_slice(name.as_bytes()),
                    None => {
                        put::hex(out, raw);
                        put::remark(out, "SUID_DUMP_???");
                    }
                }
            }),
            (SET_VMA, 1) if raw == 0 => self
                .sink
                .word(|out| out.extend_from_slice(b"PR_SET_VMA_ANON_NAME")),
            (SET_VMA, 2) => self.address(raw),
            (SET_VMA, 3) => self.sink.unsigned(raw),
            (SET_VMA, 4) if raw == 0 => self.sink.null(),
            (SET_VMA, 4) => self.text(raw, Way::In),
            (8 | 29 | 36 | 38 | 41, 1) => self.sink.unsigned(raw),
            _ => self.sink.hex(raw),
        }
    }

    fn thread_name(&mut self, raw: u64, way: Way) {
        const NAME: usize = 16;
        match self.read_text(raw, NAME, way) {
            Some(bytes) if bytes.contains(&0) || bytes.len() == NAME => {
                let length = bytes.iter().position(|byte| *byte == 0);
                // The kernel looks at no more than fifteen letters.
                let name = &bytes[..length.unwrap_or(NAME - 1)];
                let shown = name.len().min(self.style.string);
                self.sink
                    .text(&name[..shown], length.is_none() || shown < name.len());
            }
            _ => self.address(raw),
        }
    }

    fn out_number(&mut self, raw: u64, show: impl FnOnce(&mut Self, u32)) {
        match self.read(raw, 4, Way::Out).filter(|bytes| bytes.len() == 4) {
            Some(bytes) => {
                self.sink.begin(Bracket::Array);
                self.sink.item(true);
                show(self, int_at(bytes, 0));
                self.sink.end(Bracket::Array);
            }
            None => self.address(raw),
        }
    }

    pub fn arch_prctl_fills_in(&self) -> bool {
        matches!(
            self.call.arguments[0] & 0xffff_ffff,
            0x1003 | 0x1004 | 0x1021 | 0x1022 | 0x1024
        )
    }

    pub fn arch_prctl(&mut self, raw: u64) {
        match self.call.arguments[0] & 0xffff_ffff {
            0x1003 | 0x1004 => match self.read(raw, 8, Way::Out).filter(|bytes| bytes.len() == 8) {
                Some(bytes) => {
                    self.sink.begin(Bracket::Array);
                    self.sink.item(true);
                    let address = long_at(bytes, 0);
                    self.address(address);
                    self.sink.end(Bracket::Array);
                }
                None => self.address(raw),
            },
            0x1021 | 0x1022 | 0x1024 => self.features(raw),
            0x1023 | 0x1025 => self.feature(raw),
            _ => self.sink.hex(raw),
        }
    }

    /// Parts of the processor's state, as the kernel says them.
    fn features(&mut self, raw: u64) {
        let Some(bytes) = self.read(raw, 8, Way::Out).filter(|bytes| bytes.len() == 8) else {
            self.address(raw);
            return;
        };
        let bits = long_at(bytes, 0);
        let names = &flags::FEATURES;
        let known = names.list.iter().any(|(_, known)| bits & known != 0);
        let shown = self.sink.constants() != Constants::Numbers && bits != 0;
        self.sink.begin(Bracket::Array);
        self.sink.item(true);
        self.sink.hex(bits);
        if shown && known {
            self.sink.aside(|out| put::flags(out, bits, names));
        } else if shown {
            self.sink
                .aside(|out| out.extend_from_slice(names.unknown.as_bytes()));
        }
        self.sink.end(Bracket::Array);
    }

    /// One of them.
    fn feature(&mut self, raw: u64) {
        let names = &flags::FEATURE;
        self.sink.hex(raw);
        if self.sink.constants() != Constants::Numbers {
            let name = names.name(raw).unwrap_or(names.unknown);
            self.sink
                .aside(|out| out.extend_from_slice(name.as_bytes()));
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
        put::hex(out, part);
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

fn put_output_modes(out: &mut Vec<u8>, modes: u32) {
    const DELAYS: [(u32, &[&str]); 6] = [
        (8, &["NL0", "NL1"]),
        (9, &["CR0", "CR1", "CR2", "CR3"]),
        (11, &["TAB0", "TAB1", "TAB2", "XTABS"]),
        (13, &["BS0", "BS1"]),
        (14, &["VT0", "VT1"]),
        (15, &["FF0", "FF1"]),
    ];
    for (index, (shift, names)) in DELAYS.iter().enumerate() {
        if index > 0 {
            out.push(b'|');
        }
        out.extend_from_slice(names[(modes >> shift) as usize & (names.len() - 1)].as_bytes());
    }
    put_more_modes(out, modes & !0xff00, &flags::TTY_OUT);
}

fn put_control_modes(out: &mut Vec<u8>, modes: u32) {
    const INPUT_SPEED: u32 = 16;
    out.extend_from_slice(speed(modes).as_bytes());
    let input = modes >> INPUT_SPEED & 0o10_017;
    if input != 0 {
        out.push(b'|');
        out.extend_from_slice(speed(input).as_bytes());
        out.extend_from_slice(b"<<IBSHIFT");
    }
    out.extend_from_slice([b"|CS5", b"|CS6", b"|CS7", b"|CS8"][(modes >> 4) as usize & 3]);
    put_more_modes(
        out,
        modes & !(0o10_017 | 0o10_017 << INPUT_SPEED | 0x30),
        &flags::TTY_CONTROL,
    );
}

fn put_more_modes(out: &mut Vec<u8>, modes: u32, names: &'static crate::table::Names) {
    if modes != 0 {
        out.push(b'|');
        put::some_flags(out, u64::from(modes), names);
    }
}
