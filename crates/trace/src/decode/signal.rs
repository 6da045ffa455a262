//! Signals: their names, sets, actions and circumstances.

use super::sink::{Bracket, Number, Sink};
use super::{Walk, int_at, long_at};
use crate::Abi;
use crate::table::{Kind, Names, Way, Whose, Width, flags};
use crate::text::put;

/// The names of signals without `SIG`, by number; real-time signals are numbered.
const NAMES: [&str; 32] = [
    "0", "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
    "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG",
    "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
];

/// Writes the name of a signal: `SIGINT`, `SIGRT_3`; the number where it has no name.
pub(crate) fn name(out: &mut Vec<u8>, number: i32) {
    match number {
        1..=64 => {
            out.extend_from_slice(b"SIG");
            short(out, number);
        }
        _ => put::signed(out, i64::from(number)),
    }
}

fn short(out: &mut Vec<u8>, number: i32) {
    match number {
        1..=31 => out.extend_from_slice(NAMES[number as usize].as_bytes()),
        32 => out.extend_from_slice(b"RTMIN"),
        _ => {
            out.extend_from_slice(b"RT_");
            put::signed(out, i64::from(number - 32));
        }
    }
}

/// Writes a set of signals; what is not in it where more are in it than not.
pub(crate) fn set(out: &mut Vec<u8>, bits: u64) {
    let mut shown = bits;
    if bits.count_ones() >= 64 * 2 / 3 {
        out.push(b'~');
        shown = !bits;
    }
    out.push(b'[');
    let mut first = true;
    for number in 1..=64 {
        if shown & (1 << (number - 1)) != 0 {
            if !first {
                out.push(b' ');
            }
            first = false;
            short(out, number);
        }
    }
    out.push(b']');
}

fn codes(signal: i32) -> Option<&'static Names> {
    Some(match signal {
        4 => &flags::CODE_ILL,
        8 => &flags::CODE_FPE,
        11 => &flags::CODE_SEGV,
        7 => &flags::CODE_BUS,
        5 => &flags::CODE_TRAP,
        17 => &flags::CODE_CHLD,
        29 => &flags::CODE_POLL,
        31 => &flags::CODE_SYS,
        _ => return None,
    })
}

/// Shows the kernel's `siginfo`.
pub(crate) fn information<S: Sink>(sink: &mut S, bytes: &[u8], abi: Abi) {
    let int = |at| i64::from(int_at(bytes, at) as i32);
    let (signal, error, code) = (int(0) as i32, int(4), int(8) as i32);
    sink.begin(Bracket::Structure);
    sink.field(true, "si_signo");
    sink.constant(Number::Signed(i64::from(signal)), |out| name(out, signal));
    sink.field(false, "si_code");
    sink.constant(Number::Signed(i64::from(code)), |out| {
        code_name(out, signal, code)
    });
    if error != 0 {
        sink.field(false, "si_errno");
        sink.word(|out| put::error_name(out, error & 0xffff_ffff));
    }
    circumstances(sink, bytes, signal, code, abi);
    sink.end(Bracket::Structure);
}

fn code_name(out: &mut Vec<u8>, signal: i32, code: i32) {
    let value = u64::from(code as u32);
    let found = flags::CODE_ANY
        .name(value)
        .or_else(|| codes(signal).and_then(|names| names.name(value)));
    match found {
        Some(name) => out.extend_from_slice(name.as_bytes()),
        None => {
            put::hex(out, value);
            put::remark(out, "SI_???");
        }
    }
}

fn circumstances<S: Sink>(sink: &mut S, bytes: &[u8], signal: i32, code: i32, abi: Abi) {
    let int = |at| i64::from(int_at(bytes, at) as i32);
    let number = |sink: &mut S, name, value| {
        sink.field(false, name);
        sink.signed(value);
    };
    let sender = |sink: &mut S| {
        sink.field(false, "si_pid");
        sink.process(int_at(bytes, 16) as i32, Whose::Process);
        sink.field(false, "si_uid");
        match int_at(bytes, 20) {
            u32::MAX => sink.signed(-1),
            user => sink.unsigned(u64::from(user)),
        }
    };
    let value = |sink: &mut S| {
        number(sink, "si_int", int(24));
        sink.field(false, "si_ptr");
        pointer(sink, long_at(bytes, 24));
    };
    match (signal, code) {
        (_, 0x80) => {
            // From the kernel without circumstances, unless something is there.
            if int(16) != 0 || int(20) != 0 {
                sender(sink);
            }
        }
        (_, 0 | -6) => sender(sink),
        (_, -2) => {
            number(sink, "si_timerid", int(16));
            number(sink, "si_overrun", int(20));
            value(sink);
        }
        (17, 1..) => {
            sender(sink);
            sink.field(false, "si_status");
            if code == 1 {
                sink.signed(int(24));
            } else {
                sink.word(|out| name(out, int(24) as i32));
            }
            sink.field(false, "si_utime");
            super::ticks(sink, long_at(bytes, 32));
            sink.field(false, "si_stime");
            super::ticks(sink, long_at(bytes, 40));
        }
        (4 | 7 | 8 | 11 | 5, 1..) => {
            sink.field(false, "si_addr");
            pointer(sink, long_at(bytes, 16));
        }
        (29, 1..) => {
            number(sink, "si_band", long_at(bytes, 16) as i64);
            number(sink, "si_fd", int(24));
        }
        (31, 1..) => {
            sink.field(false, "si_call_addr");
            pointer(sink, long_at(bytes, 16));
            sink.field(false, "si_syscall");
            let call = u64::from(int_at(bytes, 24));
            sink.word(|out| match crate::table::row(abi, call) {
                Some(row) => {
                    out.extend_from_slice(b"__NR_");
                    out.extend_from_slice(row.name.as_bytes());
                }
                None => put::unsigned(out, call),
            });
            sink.field(false, "si_arch");
            let arch = int_at(bytes, 28);
            sink.word(|out| {
                let name: &[u8] = match arch {
                    0xc000_003e => b"AUDIT_ARCH_X86_64",
                    0x4000_0003 => b"AUDIT_ARCH_I386",
                    0xc000_00b7 => b"AUDIT_ARCH_AARCH64",
                    _ => return put::hex(out, u64::from(arch)),
                };
                out.extend_from_slice(name);
            });
        }
        _ => {
            sender(sink);
            if long_at(bytes, 24) != 0 || code == -1 || code == -3 {
                value(sink);
            }
        }
    }
}

fn pointer<S: Sink>(sink: &mut S, address: u64) {
    if address == 0 {
        sink.null()
    } else {
        sink.address(address)
    }
}

impl<'a, S: Sink> Walk<'a, S> {
    pub fn signal_number(&mut self, number: i32) {
        self.sink
            .constant(Number::Signed(i64::from(number)), |out| name(out, number));
    }

    /// A set of signals behind a pointer.
    pub fn signal_set(&mut self, raw: u64, way: Way, number: usize) {
        const SIZE: Kind = Kind::Unsigned(Width::Eight);
        // The size of the set stands in the next argument that is one.
        let size = (number + 1..6).find(|place| self.row.kinds[*place] == SIZE);
        let size = size.map_or(8, |place| self.size_of_argument(place));
        // Only what is pending may be asked for in part.
        let least = if self.row.name == "rt_sigpending" {
            1
        } else {
            8
        };
        if raw == 0 || !(least..=8).contains(&size) {
            self.address(raw);
            return;
        }
        self.set_behind(raw, size, way);
    }

    /// A set of signals of so many bytes.
    fn set_behind(&mut self, raw: u64, size: usize, way: Way) {
        match self.read_in_time(raw, size, way) {
            Some(bytes) if bytes.len() == size => self.sink.word(|out| set(out, long_at(bytes, 0))),
            _ => self.sink.address(raw),
        }
    }

    /// What the kernel put on the stack for a signal's handler.
    pub fn signal_frame(&mut self, raw: u64) {
        // Behind the kernel's `ucontext` and, on ARM, the signal's circumstances.
        let mask = match self.call.abi {
            Abi::Aarch64 => 168,
            Abi::X86_64 | Abi::I386 => 296,
        };
        self.sink.begin(Bracket::Structure);
        self.sink.field(true, "mask");
        self.set_behind(raw.wrapping_add(mask), 8, Way::In);
        self.sink.end(Bracket::Structure);
    }

    /// A set of signals and its size behind one pointer.
    pub fn signals_and_size(&mut self, raw: u64) {
        if raw == 0 {
            self.sink.null();
            return;
        }
        let Some(bytes) = self
            .read(raw, 16, Way::In)
            .filter(|bytes| bytes.len() == 16)
        else {
            self.sink.address(raw);
            return;
        };
        self.sink.begin(Bracket::Structure);
        self.sink.field(true, "sigmask");
        let (set, size) = (long_at(bytes, 0), long_at(bytes, 8));
        if set == 0 || size != 8 {
            self.address(set);
        } else {
            self.set_behind(set, 8, Way::In);
        }
        self.sink.field(false, "sigsetsize");
        self.sink.unsigned(long_at(bytes, 8));
        self.sink.end(Bracket::Structure);
    }

    /// What is done with a signal.
    pub fn signal_action(&mut self, raw: u64, way: Way) {
        if raw == 0 {
            self.sink.null();
            return;
        }
        let Some(bytes) = self.read(raw, 32, way).filter(|bytes| bytes.len() == 32) else {
            self.sink.address(raw);
            return;
        };
        let bits = long_at(bytes, 8);
        self.sink.begin(Bracket::Structure);
        self.sink.field(true, "sa_handler");
        match long_at(bytes, 0) {
            0 => self
                .sink
                .constant(Number::Hex(0), |out| out.extend_from_slice(b"SIG_DFL")),
            1 => self
                .sink
                .constant(Number::Hex(1), |out| out.extend_from_slice(b"SIG_IGN")),
            address => self.sink.address(address),
        }
        self.sink.field(false, "sa_mask");
        self.sink.word(|out| set(out, long_at(bytes, 24)));
        self.sink.field(false, "sa_flags");
        self.flags(bits, &flags::SA);
        if bits & 0x0400_0000 != 0 {
            self.sink.field(false, "sa_restorer");
            self.address(long_at(bytes, 16));
        }
        self.sink.end(Bracket::Structure);
    }

    /// A signal's circumstances behind a pointer.
    pub fn signal_information(&mut self, raw: u64, way: Way) {
        if raw == 0 {
            self.sink.null();
            return;
        }
        let abi = self.call.abi;
        // `waitid` that found nothing leaves nothing.
        match self.read(raw, 128, way) {
            Some(bytes) if bytes.len() == 128 => {
                if bytes[..12].iter().all(|byte| *byte == 0) {
                    self.sink.begin(Bracket::Structure);
                    self.sink.end(Bracket::Structure);
                } else {
                    information(self.sink, bytes, abi);
                }
            }
            _ => self.sink.address(raw),
        }
    }
}
