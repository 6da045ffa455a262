//! Processes: what `clone`, `execve`, `wait4` and scheduling are told.

use backsight_syscall_tables::sets::PTRACE_EVENTS;

use super::netlink::Span;
use super::sink::{Bracket, ValueSink};
use super::{Walk, int_at, long_at};
use crate::format::{self, ConstantStyle, NamedNumber};
use crate::memory::MAX_ELEMENTS;
use crate::table::{DataDirection, PidKind, flags, structure};
use crate::{Abi, CapturePoint};

const PIDFD: u64 = 0x1000;
const SETTLS: u64 = 0x8_0000;
const PARENT_SETTID: u64 = 0x10_0000;
const CHILD_CLEARTID: u64 = 0x20_0000;
const CHILD_SETTID: u64 = 0x100_0000;

const INTO_CGROUP: u64 = 0x2_0000_0000;
/// What is known of what `clone3` is asked, and what it was at first.
const CLONE_ARGUMENTS: usize = 88;
const CLONE_LEAST: usize = 64;
const MOST_TIDS: u64 = 32;
const PAGE: usize = 4096;

impl<'a, S: ValueSink> Walk<'a, S> {
    /// Where `clone`'s arguments stand: stack, flags, the parent's number, thread-local storage, the child's number.
    fn clone_places(&self) -> [usize; 5] {
        match self.call.abi {
            Abi::X86_64 => [1, 0, 2, 4, 3],
            Abi::I386 | Abi::Aarch64 => [1, 0, 2, 3, 4],
        }
    }

    /// Which arguments of `clone` are shown, in this order: those that its flags make mean something.
    pub fn clone_arguments(&self) -> ([usize; 5], usize) {
        let places = self.clone_places();
        let bits = self.call.arguments[0];
        let mut shown = [places[0], places[1], 0, 0, 0];
        let mut count = 2;
        for (wanted, place) in [
            (PARENT_SETTID | PIDFD, places[2]),
            (SETTLS, places[3]),
            (CHILD_SETTID | CHILD_CLEARTID, places[4]),
        ] {
            if bits & wanted != 0 {
                shown[count] = place;
                count += 1;
            }
        }
        (shown, count)
    }

    /// What one of `clone`'s arguments is called.
    pub fn clone_name(&self, place: usize) -> &'static str {
        let places = self.clone_places();
        match places.iter().position(|known| *known == place) {
            Some(0) => "child_stack",
            Some(1) => "flags",
            Some(2) => "parent_tid",
            Some(3) => "tls",
            _ => "child_tidptr",
        }
    }

    /// One of `clone`'s arguments.
    pub fn clone_argument(&mut self, place: usize) {
        let places = self.clone_places();
        let raw = self.call.arguments[place];
        if place == places[1] {
            self.sink
                .words(|out, constants, _| clone_flags(out, raw, constants));
        } else if place == places[2] {
            self.child_out(raw);
        } else {
            self.address(raw);
        }
    }

    /// The number of a child, or a descriptor of it.
    fn child_out(&mut self, raw: u64) {
        let bits = self.call.arguments[0];
        if bits & PIDFD != 0 && bits & PARENT_SETTID == 0 {
            let kind =
                crate::table::ValueKind::To(DataDirection::Out, &crate::table::ValueKind::Fd);
            self.value(kind, raw, 2);
        } else {
            self.number_out(raw);
        }
    }

    /// A number that the kernel writes.
    fn number_out(&mut self, raw: u64) {
        match self
            .read(raw, 4, DataDirection::Out)
            .filter(|bytes| bytes.len() == 4)
        {
            Some(bytes) => {
                self.sink.begin(Bracket::Array);
                self.sink.item(true);
                self.sink.process(int_at(bytes, 0) as i32, PidKind::Thread);
                self.sink.end(Bracket::Array);
            }
            None => self.address(raw),
        }
    }

    /// What `clone3` is asked, as long as is said.
    pub fn clone3(&mut self, raw: u64) {
        let size = self.size_of_argument(1);
        let known = size.min(CLONE_ARGUMENTS);
        let all = if known < CLONE_LEAST {
            None
        } else {
            self.read(raw, size.min(PAGE), DataDirection::In)
        };
        let Some(all) = all.filter(|bytes| bytes.len() >= known) else {
            self.address(raw);
            return;
        };
        let bytes = &all[..known];
        let bits = long_at(bytes, 0);
        self.sink.begin(Bracket::Structure);
        self.sink.field(true, "flags");
        self.flags(bits, &flags::CLONE3);
        if bits & PIDFD != 0 {
            self.sink.field(false, "pidfd");
            self.address(long_at(bytes, 8));
        }
        if bits & (CHILD_SETTID | CHILD_CLEARTID) != 0 {
            self.sink.field(false, "child_tid");
            self.address(long_at(bytes, 16));
        }
        if bits & PARENT_SETTID != 0 {
            self.sink.field(false, "parent_tid");
            self.address(long_at(bytes, 24));
        }
        self.sink.field(false, "exit_signal");
        match i32::try_from(long_at(bytes, 32)) {
            Ok(signal) if signal != i32::MAX => self.signal_number(signal),
            _ => self.sink.unsigned(long_at(bytes, 32)),
        }
        self.sink.field(false, "stack");
        self.address(long_at(bytes, 40));
        self.sink.field(false, "stack_size");
        self.sink.hex(long_at(bytes, 48));
        if bits & SETTLS != 0 {
            self.sink.field(false, "tls");
            self.address(long_at(bytes, 56));
        }
        let (set, count) = (long_at(bytes, 64), long_at(bytes, 72));
        if set != 0 || count != 0 {
            self.sink.field(false, "set_tid");
            if set == 0 || !(1..=MOST_TIDS).contains(&count) {
                self.address(set);
            } else {
                let number = crate::table::ValueKind::Signed(crate::table::IntegerWidth::Four);
                self.elements(set, DataDirection::In, number, count as usize, 0);
            }
            self.sink.field(false, "set_tid_size");
            self.sink.unsigned(count);
        }
        let group = long_at(bytes, 80);
        if bytes.len() > 80 && (group != 0 || bits & INTO_CGROUP != 0) {
            self.sink.field(false, "cgroup");
            self.sink.unsigned(group);
        }
        self.rest_in_hex(Span::new(raw, size, all), known, false);
        self.sink.end(Bracket::Structure);
    }

    pub fn clone3_becomes(&self) -> bool {
        self.call.arguments[0] != 0
    }

    /// What `clone3` says, and what stands behind what is known of it.
    pub fn clone3_became(&mut self, raw: u64) {
        let size = self.size_of_argument(1);
        let known = size.min(CLONE_ARGUMENTS);
        if self.failed() || known < CLONE_LEAST || self.style.opaque {
            return;
        }
        let asked = self.read(raw, size.min(PAGE), DataDirection::In);
        let Some(asked) = asked.filter(|bytes| bytes.len() >= known) else {
            return;
        };
        let bits = long_at(asked, 0);
        let says = bits & (PIDFD | PARENT_SETTID) != 0;
        let rest = self.has_rest(Span::new(raw, size, asked), known);
        if !says && !rest {
            return;
        }
        self.sink.became();
        self.sink.begin(Bracket::Structure);
        let mut first = true;
        for (bit, name, at) in [(PIDFD, "pidfd", 8), (PARENT_SETTID, "parent_tid", 24)] {
            if bits & bit != 0 {
                self.sink.field(first, name);
                first = false;
                self.number_out(long_at(asked, at));
            }
        }
        self.rest_in_hex(Span::new(raw, size, asked), known, first);
        self.sink.end(Bracket::Structure);
    }

    /// Addresses of strings up to the one that is nothing; where there is none, those that could be read, and where that
    /// ended.
    fn string_addresses(&mut self, address: u64) -> Option<(Vec<u64>, Option<u64>)> {
        const STEP: usize = 64;
        if self.style.opaque {
            return None;
        }
        let width = if self.narrow() { 4 } else { 8 };
        let (mut all, mut at) = (Vec::new(), address);
        while all.len() < MAX_ELEMENTS {
            // An engine may have read all of them at once, or a step at a time.
            let held = self.call.memory.longest(at, CapturePoint::Entered);
            let bytes = match held.filter(|bytes| bytes.len() >= width) {
                Some(bytes) => Some(bytes),
                None => self.read(at, STEP * width, DataDirection::In),
            };
            let Some(bytes) = bytes.filter(|bytes| bytes.len() >= width) else {
                break;
            };
            for one in bytes.chunks_exact(width).take(STEP) {
                match super::load(one, width) {
                    0 => return Some((all, None)),
                    string => all.push(string),
                }
                at = at.wrapping_add(width as u64);
            }
        }
        (!all.is_empty()).then_some((all, Some(at)))
    }

    /// The arguments of a program.
    pub fn program_arguments(&mut self, raw: u64) {
        if raw == 0 {
            self.sink.null();
            return;
        }
        let Some((addresses, end)) = self.string_addresses(raw) else {
            self.sink.address(raw);
            return;
        };
        let count = addresses.len();
        let shown = self.allow(count);
        self.sink.begin(Bracket::Array);
        for (index, address) in addresses.into_iter().take(shown).enumerate() {
            self.sink.item(index == 0);
            self.text(address, DataDirection::In);
        }
        if count > shown {
            self.sink.more(Bracket::Array, shown == 0);
        } else if let Some(end) = end {
            self.sink.item(false);
            self.sink.unreadable(end);
        }
        self.sink.end(Bracket::Array);
    }

    /// The environment of a program: how many variables, or which.
    pub fn program_environment(&mut self, raw: u64) {
        if self.style.verbose || raw == 0 {
            self.program_arguments(raw);
            return;
        }
        match self.string_addresses(raw) {
            Some((all, end)) => {
                let what = match (all.len(), end) {
                    (1, None) => "var",
                    (1, Some(_)) => "var, unterminated",
                    (_, None) => "vars",
                    (_, Some(_)) => "vars, unterminated",
                };
                self.sink.counted(raw, all.len() as u64, what);
            }
            None => self.sink.address(raw),
        }
    }

    /// A wait status in place.
    pub(super) fn wait_status_in_place(&mut self, status: u32) {
        self.sink.begin(Bracket::Array);
        self.sink.item(true);
        self.sink
            .words(|out, constants, _| put_status(out, status, constants));
        self.sink.end(Bracket::Array);
    }

    /// How a process ended or stopped.
    pub fn wait_status(&mut self, raw: u64) {
        if raw == 0 {
            self.sink.null();
            return;
        }
        if self.result() <= 0 {
            self.sink.address(raw);
            return;
        }
        match self
            .read(raw, 4, DataDirection::Out)
            .filter(|bytes| bytes.len() == 4)
        {
            Some(bytes) => {
                self.wait_status_in_place(int_at(bytes, 0));
            }
            None => self.sink.address(raw),
        }
    }

    /// What a process that ended had used up.
    pub fn wait_usage(&mut self, raw: u64, number: usize) {
        if raw == 0 {
            self.sink.null();
        } else if self.result() <= 0 {
            self.sink.address(raw);
        } else {
            match self
                .read(raw, structure::RUSAGE.size, DataDirection::Out)
                .filter(|bytes| bytes.len() == structure::RUSAGE.size)
            {
                Some(bytes) => self.structure(&structure::RUSAGE, bytes, number),
                None => self.sink.address(raw),
            }
        }
    }

    /// An execution domain.
    pub fn persona(&mut self, raw: u64) {
        let raw = raw & 0xffff_ffff;
        if raw == 0xffff_ffff {
            self.sink.word(|out| out.extend_from_slice(b"0xffffffff"));
            return;
        }
        let constants = self.sink.constants();
        self.sink.word(|out| format::persona(out, raw, constants));
    }

    /// The priority of input and output: its class, and its level within that.
    pub fn input_priority(&mut self, raw: u64) {
        let value = raw as i32;
        let constants = self.sink.constants();
        self.sink.named(
            |sink| sink.signed(i64::from(value)),
            |out| format::io_priority(out, value, constants),
        );
    }
}

/// The flags of `clone` with the signal that stands in their last byte.
fn clone_flags(out: &mut Vec<u8>, raw: u64, constants: ConstantStyle) {
    let (bits, signal) = (raw & !0xff, (raw & 0xff) as i32);
    if bits != 0 {
        format::constant(out, constants, NamedNumber::Hex(bits), |out| {
            format::flags(out, bits, &flags::CLONE)
        });
    }
    if signal != 0 {
        if bits != 0 {
            out.push(b'|');
        }
        let number = NamedNumber::Signed(i64::from(signal));
        format::constant(out, constants, number, |out| {
            format::signal_name(out, signal)
        });
    } else if bits == 0 {
        out.push(b'0');
    }
}

fn put_status(out: &mut Vec<u8>, status: u32, constants: ConstantStyle) {
    let (low, high) = (status & 0x7f, i64::from((status >> 8) & 0xff));
    if status == 0xffff {
        out.extend_from_slice(b"{WIFCONTINUED(s)}");
        return;
    }
    if status & 0xff == 0xff {
        return format::hex(out, u64::from(status));
    }
    out.push(b'{');
    // What of the lower half isn't said in words.
    let mut rest = 0;
    if low == 0 {
        out.extend_from_slice(b"WIFEXITED(s) && WEXITSTATUS(s) == ");
        format::signed(out, high);
        rest = status & 0x80;
    } else if low == 0x7f {
        out.extend_from_slice(b"WIFSTOPPED(s) && WSTOPSIG(s) == ");
        format::signal_name(out, (high & 0x7f) as i32);
        if high & 0x80 != 0 {
            out.extend_from_slice(b" | 0x80");
        }
    } else {
        out.extend_from_slice(b"WIFSIGNALED(s) && WTERMSIG(s) == ");
        format::signal_name(out, low as i32);
        if status & 0x80 != 0 {
            out.extend_from_slice(b" && WCOREDUMP(s)");
        }
        rest = status & 0xff00;
    }
    out.push(b'}');
    let event = u64::from(status >> 16);
    if event != 0 {
        out.push(b'|');
        format::constant(out, constants, NamedNumber::Hex(event), |out| {
            format::one(out, event, &PTRACE_EVENTS);
        });
        out.extend_from_slice(b"<<16");
    }
    if rest != 0 {
        out.push(b'|');
        format::hex(out, u64::from(rest));
    }
}
