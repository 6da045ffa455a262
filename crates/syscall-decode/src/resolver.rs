//! Resolver of a program's descriptors, processes and threads to names. Its implementation knows the machine that the program runs
//! on; without one, numbers are shown alone.

use crate::table::PidKind;
use crate::{SyscallRecord, TraceEvent};

/// Says what a file descriptor is: what stands between `<` and `>` with `-y` and `-yy`.
pub trait Resolver: Send {
    /// What the descriptor is; nothing where nothing is known, as of one that was closed. The current directory's
    /// descriptor is [`CURRENT_DIRECTORY`].
    fn describe_descriptor(&mut self, pid: i32, fd: i32, call: &SyscallRecord) -> DescriptorInfo;

    /// Learns from an event before it is shown: what it is about may be gone when it is asked for.
    fn note_event(&mut self, event: &TraceEvent) {
        let _nothing_is_kept = event;
    }

    /// What stands behind the number of a process, as `pid` knows it: `<sh>`, and the number that it has here where that is
    /// another one.
    fn describe_pid(&mut self, pid: i32, number: i32, whose: PidKind) -> Vec<u8> {
        let _nothing_is_known = (pid, number, whose);
        Vec::new()
    }

    /// The number here of a process that `pid` calls so.
    fn translate_pid(&mut self, pid: i32, number: i32) -> Option<i32> {
        let _nothing_is_known = (pid, number);
        None
    }

    /// The number here of the process that a descriptor of `pid` means.
    fn pid_of_descriptor(&mut self, pid: i32, descriptor: i32) -> Option<i32> {
        let _nothing_is_known = (pid, descriptor);
        None
    }

    /// What stands in parentheses behind the result of a call that came back: as which kind of exit a virtual processor had.
    fn describe_result(&mut self, tid: i32, call: &SyscallRecord) -> Option<Vec<u8>> {
        let _nothing_is_known = (tid, call);
        None
    }

    /// The name of a family of generic netlink, whose number this kernel chose.
    fn generic_family(&mut self, number: u16) -> Option<String> {
        let _nothing_is_known = number;
        None
    }

    /// The name of a network interface, as `pid` numbers it.
    fn interface_name(&mut self, pid: i32, number: u32) -> Option<String> {
        let _nothing_is_known = (pid, number);
        None
    }

    /// When the machine was started, in nanoseconds since 1970.
    fn machine_start(&mut self) -> Option<i64> {
        None
    }

    /// What stands behind the number of a traced thread at the beginning of a line.
    fn describe_thread(&mut self, tid: i32) -> Vec<u8> {
        let _nothing_is_known = tid;
        Vec::new()
    }
}

/// What a file descriptor is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DescriptorInfo {
    /// A path, or what the kernel has instead, as `socket:[1234]`; unquoted and unescaped.
    pub path: Vec<u8>,
    /// Whether the file has that path no longer.
    pub deleted: bool,
    /// What is known beside or instead of it, as it is shown: `TCP:[127.0.0.1:80]`, `<char 1:3>`.
    pub detail: Vec<u8>,
}

/// The number that stands for the current directory.
pub const CURRENT_DIRECTORY: i32 = -100;
