//! Sinks of the walk: what receives its values.

use crate::SyscallRecord;
use crate::format::{ConstantStyle, EscapeStyle, NamedNumber};
use crate::table::PidKind;

/// What is set between brackets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bracket {
    /// Fields with names.
    Structure,
    /// Elements in order.
    Array,
}

/// Takes what is found on a walk.
pub(crate) trait ValueSink {
    fn signed(&mut self, value: i64);
    fn unsigned(&mut self, value: u64);
    /// Bits: `0` without prefix if there are none.
    fn hex(&mut self, value: u64);
    fn address(&mut self, value: u64);
    fn null(&mut self);
    /// An expression: names of bits, a macro's call.
    fn word(&mut self, write: impl FnOnce(&mut Vec<u8>));
    /// A number that has a name, which `write` writes; what has none is written as a number with a remark.
    fn constant(&mut self, _: NamedNumber, write: impl FnOnce(&mut Vec<u8>)) {
        self.word(write);
    }
    /// A remark on what stood before.
    fn aside(&mut self, remark: impl FnOnce(&mut Vec<u8>));
    /// An address with how many of something are there.
    fn counted(&mut self, address: u64, count: u64, what: &str);
    /// Text whose last zero byte need not be shown.
    fn zero_ended(&mut self, bytes: &[u8]);
    /// Text that is to end with a zero byte, and whether it does.
    fn ended_text(&mut self, bytes: &[u8]) {
        let text = bytes.strip_suffix(&[0]);
        self.text(text.unwrap_or(bytes), text.is_none());
    }
    /// The same, of what only the kernel has a name for: the number is always there.
    fn constant_with_number(&mut self, _: NamedNumber, write: impl FnOnce(&mut Vec<u8>)) {
        self.word(write);
    }
    /// Bytes that are said by an expression, which `write` writes.
    fn constant_bytes(&mut self, _: &[u8], write: impl FnOnce(&mut Vec<u8>, EscapeStyle)) {
        self.word(|out| write(out, EscapeStyle::Octal));
    }
    /// An expression in which some parts have names and numbers.
    fn words(&mut self, write: impl FnOnce(&mut Vec<u8>, ConstantStyle, EscapeStyle)) {
        self.word(|out| write(out, ConstantStyle::Names, EscapeStyle::Octal));
    }
    /// Whether what has a name is shown by that alone.
    fn names(&self) -> bool {
        true
    }
    /// What the place in an array is called, before what stands there.
    fn place(&mut self, _: usize, _: impl FnOnce(&mut Vec<u8>)) {}
    /// What only a reader needs, before what stands there.
    fn note(&mut self, _: impl FnOnce(&mut Vec<u8>)) {}
    /// A number with a remark.
    fn remarked(&mut self, value: i64, remark: impl FnOnce(&mut Vec<u8>));
    fn text(&mut self, bytes: &[u8], cut: bool);
    /// Text in a name space of its own: `@"…"`.
    fn abstract_text(&mut self, bytes: &[u8]);
    /// Bytes that are never shown as letters.
    fn binary(&mut self, bytes: &[u8], cut: bool);
    fn fd(&mut self, fd: i32, call: &SyscallRecord);
    /// A descriptor of another process, whose number the program says.
    fn fd_of(&mut self, _process: i32, fd: i32, _: &SyscallRecord) {
        self.signed(i64::from(fd));
    }
    /// A descriptor of the process that a descriptor means.
    fn fd_behind(&mut self, _descriptor: i32, fd: i32, _: &SyscallRecord) {
        self.signed(i64::from(fd));
    }
    /// How what has a name is shown.
    fn constants(&self) -> ConstantStyle {
        ConstantStyle::Names
    }
    /// Something that is shown by `number` where names aren't, and that `write` writes in words.
    fn named(&mut self, _number: impl FnOnce(&mut Self), write: impl FnOnce(&mut Vec<u8>))
    where
        Self: Sized,
    {
        self.word(write);
    }
    /// The number of a process.
    fn process(&mut self, number: i32, _: PidKind) {
        self.signed(i64::from(number));
    }
    /// The name of a network interface, where it is known.
    fn interface_name(&mut self, _number: u32) -> Option<String> {
        None
    }
    /// The name of a family of generic netlink, where it is known.
    fn generic_family(&mut self, _number: u16) -> Option<String> {
        None
    }
    /// When the machine was started, in nanoseconds since 1970, where that is known.
    fn machine_start(&mut self) -> Option<i64> {
        None
    }
    fn dir_fd(&mut self, fd: i32, call: &SyscallRecord);
    fn begin(&mut self, bracket: Bracket);
    fn end(&mut self, bracket: Bracket);
    fn field(&mut self, first: bool, name: &str);
    /// A field whose value says its name itself.
    fn nameless(&mut self, first: bool, name: &str);
    fn item(&mut self, first: bool);
    /// An element in a list that is set apart by spaces.
    fn member(&mut self, first: bool);
    fn more(&mut self, bracket: Bracket, first: bool);
    /// The rest of an array is in memory that isn't there.
    fn unreadable(&mut self, address: u64);
    /// Begins what stands beside the result, with its name.
    fn beside(&mut self, first: bool, name: &str);
    /// Ends it.
    fn beside_end(&mut self);
    /// What became of what stood before.
    fn became(&mut self);
    /// What became of a field of the structure: its value follows.
    fn field_became(&mut self, name: &str);
    /// Whether names are shown, and whether numbers are.
    fn names_and_numbers(&self) -> (bool, bool) {
        (true, false)
    }
    /// Where something begins that may change.
    fn begins(&self) -> usize {
        0
    }
    /// What stood from that place on became what follows; where that begins.
    fn turns(&mut self) -> usize {
        0
    }
    /// The end of what something became, with the places where it began and where what it became did.
    fn turned(&mut self, _: usize, _: usize) {}
}

/// A sink that throws everything away: for walks that only ask for memory.
pub(crate) struct NullSink;

impl ValueSink for NullSink {
    fn signed(&mut self, _: i64) {}
    fn unsigned(&mut self, _: u64) {}
    fn hex(&mut self, _: u64) {}
    fn address(&mut self, _: u64) {}
    fn null(&mut self) {}
    fn word(&mut self, _: impl FnOnce(&mut Vec<u8>)) {}
    fn zero_ended(&mut self, _: &[u8]) {}
    fn remarked(&mut self, _: i64, _: impl FnOnce(&mut Vec<u8>)) {}
    fn aside(&mut self, _: impl FnOnce(&mut Vec<u8>)) {}
    fn counted(&mut self, _: u64, _: u64, _: &str) {}
    fn text(&mut self, _: &[u8], _: bool) {}
    fn abstract_text(&mut self, _: &[u8]) {}
    fn binary(&mut self, _: &[u8], _: bool) {}
    fn fd(&mut self, _: i32, _: &SyscallRecord) {}
    fn dir_fd(&mut self, _: i32, _: &SyscallRecord) {}
    fn begin(&mut self, _: Bracket) {}
    fn end(&mut self, _: Bracket) {}
    fn field(&mut self, _: bool, _: &str) {}
    fn nameless(&mut self, _: bool, _: &str) {}
    fn item(&mut self, _: bool) {}
    fn member(&mut self, _: bool) {}
    fn more(&mut self, _: Bracket, _: bool) {}
    fn unreadable(&mut self, _: u64) {}
    fn beside(&mut self, _: bool, _: &str) {}
    fn beside_end(&mut self) {}
    fn became(&mut self) {}
    fn field_became(&mut self, _: &str) {}
}
