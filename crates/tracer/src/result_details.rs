//! What is told beside a call's result, looked up while the program is stopped: why a virtual processor came back (`-e kvm=vcpu`),
//! and which name spaces a process entered (`-e namespace=new`).

use std::fs;

use crate::processes::shown_as;
use crate::ptrace::requests;
use backsight_syscall_decode::table;
use backsight_syscall_decode::{SyscallOutcome, SyscallRecord};

/// What of that is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResultDetails {
    /// Why a virtual processor came back.
    pub processor_exits: bool,
    /// Which name spaces a process entered.
    pub name_spaces: bool,
}

/// Runs a virtual processor.
const KVM_RUN: u64 = 0xae80;
/// Where in what it shares with the program the reason stands for which it came back.
const EXIT_REASON: u64 = 8;

/// Bits of `clone` by the name space that they make, in the order in which these are told.
const NAME_SPACES: [(u64, &str); 8] = [
    (0x0200_0000, "cgroup"),
    (0x0800_0000, "ipc"),
    (0x0002_0000, "mnt"),
    (0x4000_0000, "net"),
    (0x2000_0000, "pid"),
    (0x0000_0080, "time"),
    (0x0400_0000, "uts"),
    (0x1000_0000, "user"),
];

impl ResultDetails {
    /// Whether nothing is told.
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }

    /// What stands beside the result of a call that came back.
    pub(crate) fn describe(self, tid: i32, call: &SyscallRecord) -> Option<Vec<u8>> {
        let SyscallOutcome::Returned { value, .. } = call.outcome else {
            return None;
        };
        if self.is_empty() || value < 0 {
            return None;
        }
        let name = table::find_syscall(call.abi, call.number)?.name;
        match name {
            "ioctl" if self.processor_exits && call.arguments[1] & 0xffff_ffff == KVM_RUN => {
                processor_exit(tid, call.arguments[0] as i32)
            }
            "setns" if self.name_spaces => name_spaces(tid, call.arguments[1]),
            "unshare" if self.name_spaces => name_spaces(tid, call.arguments[0]),
            "clone" if self.name_spaces => {
                // The last byte is a signal.
                name_spaces(i32::try_from(value).ok()?, call.arguments[0] & !0xff)
            }
            "clone3" if self.name_spaces => {
                let asked = long_of(tid, call.arguments[0])?;
                name_spaces(i32::try_from(value).ok()?, asked)
            }
            _ => None,
        }
    }
}

/// Why a virtual processor came back, by the page that it shares with the program.
fn processor_exit(tid: i32, descriptor: i32) -> Option<Vec<u8>> {
    let shown = shown_as(tid);
    let link = fs::read_link(format!("/proc/{shown}/fd/{descriptor}")).ok()?;
    let processor = link
        .to_str()
        .filter(|name| name.starts_with("anon_inode:kvm-vcpu"))?;
    let maps = fs::read_to_string(format!("/proc/{shown}/maps")).ok()?;
    let place = maps
        .lines()
        .find_map(|line| start_of_mapping(line, processor))?;
    let reason = long_of(tid, place + EXIT_REASON)? & 0xffff_ffff;
    Some(table::processor_exit(reason).into_bytes())
}

/// Eight bytes of a stopped thread's memory.
fn long_of(tid: i32, address: u64) -> Option<u64> {
    let mut bytes = [0; 8];
    requests::peek(tid, address, &mut bytes).then(|| u64::from_le_bytes(bytes))
}

/// Where a file's first page is mapped, if a line of `/proc/PID/maps` says that.
fn start_of_mapping(line: &str, file: &str) -> Option<u64> {
    let mut words = line.split_ascii_whitespace();
    let (range, _rights, offset) = (words.next()?, words.next()?, words.next()?);
    let (_device, _inode, name) = (words.next()?, words.next()?, words.next()?);
    let first = u64::from_str_radix(offset, 16) == Ok(0) && name == file;
    let start = range.split_once('-')?.0;
    first.then(|| u64::from_str_radix(start, 16).ok())?
}

/// The name spaces that a process has for these bits.
fn name_spaces(pid: i32, bits: u64) -> Option<Vec<u8>> {
    let shown = shown_as(pid);
    let entered = NAME_SPACES.iter().filter(|(bit, _)| bits & bit != 0);
    let links = entered.filter_map(|(_, name)| {
        let link = fs::read_link(format!("/proc/{shown}/ns/{name}")).ok()?;
        Some(link.to_str()?.to_owned())
    });
    let links: Vec<String> = links.collect();
    (!links.is_empty()).then(|| links.join(", ").into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_page_of_a_file_is_found_among_mappings() {
        let line = "7f00a0000000-7f00a0003000 rw-s 00000000 00:0f 1041    anon_inode:kvm-vcpu:0";
        let file = "anon_inode:kvm-vcpu:0";
        assert_eq!(start_of_mapping(line, file), Some(0x7f00_a000_0000));
        assert_eq!(start_of_mapping(line, "anon_inode:kvm-vcpu:1"), None);
        let later = line.replace(" 00000000 ", " 00001000 ");
        assert_eq!(start_of_mapping(&later, file), None);
        assert_eq!(start_of_mapping("7f00-", file), None);
    }

    #[test]
    fn a_process_has_the_name_spaces_that_bits_name() {
        let said = name_spaces(std::process::id().cast_signed(), 0x2000_0000 | 0x0400_0000);
        let said = String::from_utf8(said.unwrap()).unwrap();
        assert!(
            said.starts_with("pid:[") && said.contains(", uts:["),
            "{said}"
        );
        assert_eq!(name_spaces(1, 0x400), None);
    }
}
