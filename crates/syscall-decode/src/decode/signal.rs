//! Signals: their names, sets, actions and circumstances.

use super::sink::{Bracket, ValueSink};
use super::{Walk, int_at, long_at};
use crate::format::{self, NamedNumber};
use crate::table::{DataDirection, IntegerWidth, Names, PidKind, ValueKind, flags};
use crate::{Abi, SyscallRecord};

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

/// Shows the kernel's `siginfo`, and the call that it is said of.
pub(crate) fn information<S: ValueSink>(sink: &mut S, bytes: &[u8], call: Option<&SyscallRecord>) {
    let int = |at| i64::from(int_at(bytes, at) as i32);
    let (signal, error, code) = (int(0) as i32, int_at(bytes, 4), int(8) as i32);
    sink.begin(Bracket::Structure);
    sink.field(true, "si_signo");
    sink.constant(NamedNumber::Signed(i64::from(signal)), |out| {
        format::signal_name(out, signal)
    });
    sink.field(false, "si_code");
    let value = u64::from(code as u32);
    let known = flags::CODE_ANY
        .name(value)
        .or_else(|| codes(signal).and_then(|names| names.name(value)));
    match known {
        Some(name) => sink.constant(NamedNumber::Hex(value), |out| {
            out.extend_from_slice(name.as_bytes())
        }),
        None => sink.hex(value),
    }
    if error != 0 {
        sink.field(false, "si_errno");
        sink.constant(NamedNumber::Unsigned(u64::from(error)), |out| {
            format::error_name(out, i64::from(error))
        });
    }
    if code <= 0 {
        said_by_program(sink, bytes, code, call);
    } else {
        said_by_kernel(sink, bytes, (signal, code), call);
    }
    sink.end(Bracket::Structure);
}

fn number<S: ValueSink>(sink: &mut S, name: &str, value: i64) {
    sink.field(false, name);
    sink.signed(value);
}

fn place<S: ValueSink>(sink: &mut S, name: &str, address: u64) {
    sink.field(false, name);
    pointer(sink, address);
}

/// Who sent a signal.
fn sender<S: ValueSink>(sink: &mut S, bytes: &[u8]) {
    sink.field(false, "si_pid");
    sink.process(int_at(bytes, 16) as i32, PidKind::Process);
    sink.field(false, "si_uid");
    match int_at(bytes, 20) {
        u32::MAX => sink.signed(-1),
        user => sink.unsigned(u64::from(user)),
    }
}

/// What was sent with it.
fn value<S: ValueSink>(sink: &mut S, bytes: &[u8]) {
    number(sink, "si_int", i64::from(int_at(bytes, 24) as i32));
    place(sink, "si_ptr", long_at(bytes, 24));
}

/// What happened to a file.
fn band<S: ValueSink>(sink: &mut S, bytes: &[u8], call: Option<&SyscallRecord>) {
    number(sink, "si_band", long_at(bytes, 16) as i64);
    let fd = int_at(bytes, 24) as i32;
    sink.field(false, "si_fd");
    match call {
        Some(call) => sink.fd(fd, call),
        None => sink.signed(i64::from(fd)),
    }
}

fn said_by_program<S: ValueSink>(
    sink: &mut S,
    bytes: &[u8],
    code: i32,
    call: Option<&SyscallRecord>,
) {
    const TIMER: i32 = -2;
    const FILE: i32 = -5;
    const THREAD: i32 = -6;
    match code {
        0 | THREAD => sender(sink, bytes),
        TIMER => {
            sink.field(false, "si_timerid");
            sink.hex(u64::from(int_at(bytes, 16)));
            number(sink, "si_overrun", i64::from(int_at(bytes, 20) as i32));
            value(sink, bytes);
        }
        FILE => band(sink, bytes, call),
        _ => {
            sender(sink, bytes);
            if long_at(bytes, 24) != 0 {
                value(sink, bytes);
            }
        }
    }
}

fn said_by_kernel<S: ValueSink>(
    sink: &mut S,
    bytes: &[u8],
    (signal, code): (i32, i32),
    call: Option<&SyscallRecord>,
) {
    const EXITED: i32 = 1;
    const FILE_CODES: std::ops::RangeInclusive<i32> = 1..=6;
    match (signal, code) {
        // SIGCHLD
        (17, _) => {
            sender(sink, bytes);
            let status = int_at(bytes, 24) as i32;
            sink.field(false, "si_status");
            if code == EXITED {
                sink.signed(i64::from(status));
            } else {
                sink.constant(NamedNumber::Signed(i64::from(status)), |out| {
                    format::signal_name(out, status)
                });
            }
            sink.field(false, "si_utime");
            super::ticks(sink, long_at(bytes, 32));
            sink.field(false, "si_stime");
            super::ticks(sink, long_at(bytes, 40));
        }
        // SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV
        (4 | 5 | 7 | 8 | 11, _) => {
            place(sink, "si_addr", long_at(bytes, 16));
            match (signal, code) {
                // Of broken memory, how much.
                (7, 4 | 5) => {
                    sink.field(false, "si_addr_lsb");
                    sink.hex(u64::from(super::short_at(bytes, 24)));
                }
                // Of bounds, which.
                (11, 3) => {
                    place(sink, "si_lower", long_at(bytes, 32));
                    place(sink, "si_upper", long_at(bytes, 40));
                }
                // Of keys, which.
                (11, 4) => {
                    sink.field(false, "si_pkey");
                    sink.unsigned(u64::from(int_at(bytes, 32)));
                }
                _ => {}
            }
        }
        // SIGIO
        (29, _) => {
            if FILE_CODES.contains(&code) {
                band(sink, bytes, call);
            }
        }
        // SIGSYS
        (31, _) => {
            place(sink, "si_call_addr", long_at(bytes, 16));
            sink.field(false, "si_syscall");
            let arch = int_at(bytes, 28);
            call_name(sink, u64::from(int_at(bytes, 24)), arch);
            sink.field(false, "si_arch");
            sink.constant(NamedNumber::Hex(u64::from(arch)), |out| {
                format::one(out, u64::from(arch), &flags::AUDIT_ARCH)
            });
        }
        _ => {
            if int_at(bytes, 16) != 0 || int_at(bytes, 20) != 0 {
                sender(sink, bytes);
            }
            if long_at(bytes, 24) != 0 {
                value(sink, bytes);
            }
        }
    }
}

/// The name of a call of some way of calling, where there is one.
pub(super) fn call_name<S: ValueSink>(sink: &mut S, call: u64, arch: u32) {
    let abi = match arch {
        0xc000_003e => Some(Abi::X86_64),
        0x4000_0003 => Some(Abi::I386),
        0xc000_00b7 => Some(Abi::Aarch64),
        _ => None,
    };
    match abi.and_then(|abi| crate::table::find_syscall(abi, call)) {
        Some(row) => sink.constant(NamedNumber::Unsigned(call), |out| {
            out.extend_from_slice(b"__NR_");
            out.extend_from_slice(row.name.as_bytes());
        }),
        None => sink.unsigned(call),
    }
}

fn pointer<S: ValueSink>(sink: &mut S, address: u64) {
    if address == 0 {
        sink.null()
    } else {
        sink.address(address)
    }
}

impl<'a, S: ValueSink> Walk<'a, S> {
    pub fn signal_number(&mut self, number: i32) {
        self.sink
            .constant(NamedNumber::Signed(i64::from(number)), |out| {
                format::signal_name(out, number)
            });
    }

    /// A set of signals behind a pointer.
    pub fn signal_set(&mut self, raw: u64, way: DataDirection, number: usize) {
        const SIZE: ValueKind = ValueKind::Unsigned(IntegerWidth::Eight);
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
    pub(super) fn set_behind(&mut self, raw: u64, size: usize, way: DataDirection) {
        match self.read_in_time(raw, size, way) {
            Some(bytes) if bytes.len() == size => self
                .sink
                .words(|out, constants, _| format::signal_set(out, constants, long_at(bytes, 0))),
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
        self.set_behind(raw.wrapping_add(mask), 8, DataDirection::In);
        self.sink.end(Bracket::Structure);
    }

    /// A set of signals and its size behind one pointer.
    pub fn signals_and_size(&mut self, raw: u64) {
        if raw == 0 {
            self.sink.null();
            return;
        }
        let Some(bytes) = self
            .read(raw, 16, DataDirection::In)
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
            self.set_behind(set, 8, DataDirection::In);
        }
        self.sink.field(false, "sigsetsize");
        self.sink.unsigned(long_at(bytes, 8));
        self.sink.end(Bracket::Structure);
    }

    /// What is done with a signal.
    pub fn signal_action(&mut self, raw: u64, way: DataDirection) {
        if raw == 0 {
            self.sink.null();
            return;
        }
        let bytes = self.read(raw, 32, way);
        let Some(bytes) = bytes.filter(|bytes| bytes.len() == 32) else {
            self.sink.address(raw);
            return;
        };
        let bits = long_at(bytes, 8);
        self.sink.begin(Bracket::Structure);
        self.sink.field(true, "sa_handler");
        match long_at(bytes, 0) {
            0 => self
                .sink
                .constant(NamedNumber::Hex(0), |out| out.extend_from_slice(b"SIG_DFL")),
            1 => self
                .sink
                .constant(NamedNumber::Hex(1), |out| out.extend_from_slice(b"SIG_IGN")),
            u64::MAX => self.sink.constant(NamedNumber::Hex(u64::MAX), |out| {
                out.extend_from_slice(b"SIG_ERR")
            }),
            address => self.sink.address(address),
        }
        self.sink.field(false, "sa_mask");
        self.sink
            .words(|out, constants, _| format::signal_set(out, constants, long_at(bytes, 24)));
        self.sink.field(false, "sa_flags");
        self.flags(bits, &flags::SA);
        if bits & 0x0400_0000 != 0 {
            self.sink.field(false, "sa_restorer");
            self.address(long_at(bytes, 16));
        }
        self.sink.end(Bracket::Structure);
    }

    /// A signal's circumstances behind a pointer.
    pub fn signal_information(&mut self, raw: u64, way: DataDirection) {
        if raw == 0 {
            self.sink.null();
            return;
        }
        // `waitid` that found nothing leaves nothing.
        match self.read(raw, 128, way) {
            Some(bytes) if bytes.len() == 128 => {
                if int_at(bytes, 0) == 0 {
                    self.sink.begin(Bracket::Structure);
                    self.sink.end(Bracket::Structure);
                } else {
                    information(self.sink, bytes, Some(self.call));
                }
            }
            _ => self.sink.address(raw),
        }
    }
}
