//! Text of the values that a walk reports.

use crate::SyscallRecord;
use crate::decode::{Bracket, ValueSink};
use crate::format::{self, ConstantStyle, EscapeStyle, NamedNumber};
use crate::resolver::{CURRENT_DIRECTORY, DescriptorInfo, Resolver};
use crate::table::PidKind;

/// Writes text to the end of a buffer.
pub(super) struct TextSink<'o, 'd> {
    pub out: &'o mut Vec<u8>,
    escapes: EscapeStyle,
    constants: ConstantStyle,
    descriptors: Option<&'o mut (dyn Resolver + 'd)>,
    pid: i32,
    beside: bool,
}

impl<'o, 'd> TextSink<'o, 'd> {
    pub fn new(
        out: &'o mut Vec<u8>,
        (escapes, constants): (EscapeStyle, ConstantStyle),
        descriptors: Option<&'o mut (dyn Resolver + 'd)>,
        pid: i32,
    ) -> Self {
        TextSink {
            out,
            escapes,
            constants,
            descriptors,
            pid,
            beside: false,
        }
    }

    fn separate(&mut self, first: bool) {
        if !first {
            self.out.extend_from_slice(b", ");
        }
    }

    /// Writes what is known of a process behind its number.
    pub fn explain(&mut self, number: i32, whose: PidKind) {
        if let Some(descriptors) = &mut self.descriptors
            && number != 0
        {
            let known = descriptors.describe_pid(self.pid, number, whose);
            self.out.extend_from_slice(&known);
        }
    }

    /// Writes what a descriptor is behind its number.
    pub fn describe(&mut self, fd: i32, call: &SyscallRecord) {
        let Some(descriptors) = &mut self.descriptors else {
            return;
        };
        let DescriptorInfo {
            path,
            deleted: gone,
            detail,
        } = descriptors.describe_descriptor(self.pid, fd, call);
        if !(path.is_empty() && detail.is_empty()) {
            self.out.push(b'<');
            format::escaped(self.out, &path, self.escapes, b"<>\"\\");
            self.out.extend_from_slice(&detail);
            self.out.push(b'>');
            if gone {
                self.out.extend_from_slice(b"(deleted)");
            }
        }
    }

    /// The same of another process's.
    fn describe_of(&mut self, other: i32, fd: i32, call: &SyscallRecord) {
        if fd >= 0 {
            let pid = std::mem::replace(&mut self.pid, other);
            self.describe(fd, call);
            self.pid = pid;
        }
    }
}

impl ValueSink for TextSink<'_, '_> {
    fn signed(&mut self, value: i64) {
        format::signed(self.out, value);
    }

    fn unsigned(&mut self, value: u64) {
        format::unsigned(self.out, value);
    }

    fn hex(&mut self, value: u64) {
        format::hex(self.out, value);
    }

    fn address(&mut self, value: u64) {
        format::hex(self.out, value);
    }

    fn null(&mut self) {
        self.out.extend_from_slice(b"NULL");
    }

    fn word(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(self.out);
    }

    fn constant(&mut self, number: NamedNumber, write: impl FnOnce(&mut Vec<u8>)) {
        format::constant(self.out, self.constants, number, write);
    }

    fn constant_with_number(&mut self, number: NamedNumber, write: impl FnOnce(&mut Vec<u8>)) {
        let constants = match self.constants {
            ConstantStyle::Names => ConstantStyle::Both,
            other => other,
        };
        format::constant(self.out, constants, number, write);
    }

    fn constant_bytes(&mut self, bytes: &[u8], write: impl FnOnce(&mut Vec<u8>, EscapeStyle)) {
        if self.constants != ConstantStyle::Names {
            format::quoted(self.out, bytes, EscapeStyle::Hex);
        }
        match self.constants {
            ConstantStyle::Names => write(self.out, self.escapes),
            ConstantStyle::Numbers => {}
            ConstantStyle::Both => {
                let escapes = self.escapes;
                self.aside(|out| write(out, escapes));
            }
        }
    }

    fn constants(&self) -> ConstantStyle {
        self.constants
    }

    fn named(&mut self, number: impl FnOnce(&mut Self), write: impl FnOnce(&mut Vec<u8>)) {
        match self.constants {
            ConstantStyle::Names => write(self.out),
            ConstantStyle::Numbers => number(self),
            ConstantStyle::Both => {
                number(self);
                self.aside(write);
            }
        }
    }

    fn fd_of(&mut self, process: i32, fd: i32, call: &SyscallRecord) {
        format::signed(self.out, i64::from(fd));
        let pid = self.pid;
        if process > 0
            && let Some(here) = self
                .descriptors
                .as_mut()
                .and_then(|it| it.translate_pid(pid, process))
        {
            self.describe_of(here, fd, call);
        }
    }

    fn fd_behind(&mut self, descriptor: i32, fd: i32, call: &SyscallRecord) {
        format::signed(self.out, i64::from(fd));
        let pid = self.pid;
        let meant = self
            .descriptors
            .as_mut()
            .and_then(|it| it.pid_of_descriptor(pid, descriptor));
        if let Some(meant) = meant {
            self.describe_of(meant, fd, call);
        }
    }

    fn words(&mut self, write: impl FnOnce(&mut Vec<u8>, ConstantStyle, EscapeStyle)) {
        write(self.out, self.constants, self.escapes);
    }

    fn ended_text(&mut self, bytes: &[u8]) {
        let shown = match self.escapes {
            EscapeStyle::Octal | EscapeStyle::HexAlone => bytes.strip_suffix(&[0]),
            // Where the end is shown, that it is one isn't seen.
            EscapeStyle::HexWhereNeeded | EscapeStyle::Hex => None,
        };
        self.text(shown.unwrap_or(bytes), shown.is_none());
    }

    fn names(&self) -> bool {
        self.constants == ConstantStyle::Names
    }

    fn place(&mut self, index: usize, write: impl FnOnce(&mut Vec<u8>)) {
        self.out.push(b'[');
        self.constant(NamedNumber::Unsigned(index as u64), write);
        self.out.extend_from_slice(b"]=");
    }

    fn note(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(self.out);
    }

    fn zero_ended(&mut self, bytes: &[u8]) {
        let shown = if self.escapes == EscapeStyle::Octal {
            bytes.strip_suffix(&[0])
        } else {
            None
        };
        self.text(shown.unwrap_or(bytes), false);
    }

    fn remarked(&mut self, value: i64, remark: impl FnOnce(&mut Vec<u8>)) {
        format::signed(self.out, value);
        self.aside(remark);
    }

    fn aside(&mut self, remark: impl FnOnce(&mut Vec<u8>)) {
        self.out.extend_from_slice(b" /* ");
        remark(self.out);
        self.out.extend_from_slice(b" */");
    }

    fn counted(&mut self, address: u64, count: u64, what: &str) {
        format::hex(self.out, address);
        self.aside(|out| {
            format::unsigned(out, count);
            out.push(b' ');
            out.extend_from_slice(what.as_bytes());
        });
    }

    fn text(&mut self, bytes: &[u8], cut: bool) {
        format::quoted(self.out, bytes, self.escapes);
        if cut {
            self.out.extend_from_slice(b"...");
        }
    }

    fn abstract_text(&mut self, bytes: &[u8]) {
        self.out.push(b'@');
        self.text(bytes, false);
    }

    fn binary(&mut self, bytes: &[u8], cut: bool) {
        format::quoted(self.out, bytes, EscapeStyle::Hex);
        if cut {
            self.out.extend_from_slice(b"...");
        }
    }

    fn fd(&mut self, fd: i32, call: &SyscallRecord) {
        format::signed(self.out, i64::from(fd));
        if fd >= 0 {
            self.describe(fd, call);
        }
    }

    fn process(&mut self, number: i32, whose: PidKind) {
        format::signed(self.out, i64::from(number));
        self.explain(number, whose);
    }

    fn interface_name(&mut self, number: u32) -> Option<String> {
        self.descriptors.as_mut()?.interface_name(self.pid, number)
    }

    fn generic_family(&mut self, number: u16) -> Option<String> {
        self.descriptors.as_mut()?.generic_family(number)
    }

    fn machine_start(&mut self) -> Option<i64> {
        self.descriptors.as_mut()?.machine_start()
    }

    fn dir_fd(&mut self, fd: i32, call: &SyscallRecord) {
        if fd == CURRENT_DIRECTORY {
            self.constant(NamedNumber::Signed(i64::from(fd)), |out| {
                out.extend_from_slice(b"AT_FDCWD")
            });
            self.describe(fd, call);
        } else {
            self.fd(fd, call);
        }
    }

    fn begin(&mut self, bracket: Bracket) {
        self.out.push(if bracket == Bracket::Structure {
            b'{'
        } else {
            b'['
        });
    }

    fn end(&mut self, bracket: Bracket) {
        self.out.push(if bracket == Bracket::Structure {
            b'}'
        } else {
            b']'
        });
    }

    fn field(&mut self, first: bool, name: &str) {
        self.separate(first);
        self.out.extend_from_slice(name.as_bytes());
        self.out.push(b'=');
    }

    fn nameless(&mut self, first: bool, _: &str) {
        self.separate(first);
    }

    fn item(&mut self, first: bool) {
        self.separate(first);
    }

    fn member(&mut self, first: bool) {
        if !first {
            self.out.push(b' ');
        }
    }

    fn more(&mut self, _: Bracket, first: bool) {
        self.separate(first);
        self.out.extend_from_slice(b"...");
    }

    fn unreadable(&mut self, address: u64) {
        self.out.extend_from_slice(b"... /* ");
        format::hex(self.out, address);
        self.out.extend_from_slice(b" */");
    }

    fn beside(&mut self, first: bool, name: &str) {
        self.beside = true;
        self.out
            .extend_from_slice(if first { b" (" } else { b", " });
        if !name.is_empty() {
            self.out.extend_from_slice(name.as_bytes());
            self.out.push(b' ');
        }
    }

    fn beside_end(&mut self) {
        if std::mem::take(&mut self.beside) {
            self.out.push(b')');
        }
    }

    fn became(&mut self) {
        self.out.extend_from_slice(b" => ");
    }

    fn field_became(&mut self, name: &str) {
        self.became();
        self.field(true, name);
    }

    fn names_and_numbers(&self) -> (bool, bool) {
        (
            self.constants != ConstantStyle::Numbers,
            self.constants != ConstantStyle::Names,
        )
    }

    fn turns(&mut self) -> usize {
        self.became();
        0
    }
}
