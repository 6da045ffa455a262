//! What descriptors were as a call was made, by what the kernel engine captured of them with the call's memory. Twin of `described` in
//! `bpf/wire.h`; bytes that aren't one say nothing.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt;

use backsight_syscall_decode::memory::{DESCRIPTOR_HEAD, descriptor_address};
use backsight_syscall_decode::{CapturePoint, SyscallRecord};

use crate::processes::shown_as;

const TYPE: u16 = 0o170_000;
const SOCKET: u16 = 0o140_000;
const PIPE: u16 = 0o010_000;
const BLOCK_DEVICE: u16 = 0o060_000;
const CHARACTER_DEVICE: u16 = 0o020_000;

/// A descriptor as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CapturedDescriptor {
    /// The number of what it is.
    pub inode: u64,
    /// As the link in `/proc` says it.
    pub path: Vec<u8>,
    /// Whether the file has that path no longer.
    pub deleted: bool,
    /// Whether `/proc` knows more of it than its path.
    pub has_details: bool,
    /// What it is as a device, with its numbers.
    pub device: Option<(&'static str, u32, u32)>,
}

impl CapturedDescriptor {
    /// What a descriptor was as a call was entered, or as it came back.
    pub fn from_call(call: &SyscallRecord, fd: i32, when: CapturePoint) -> Option<Self> {
        let address = descriptor_address(fd);
        Self::from_bytes(call.memory.at(address, usize::MAX, when)?)
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (head, names) = bytes.split_at_checked(DESCRIPTOR_HEAD)?;
        let inode = u64::from_ne_bytes(head[..8].try_into().ok()?);
        let number = u32::from_ne_bytes(head[8..12].try_into().ok()?);
        let mode = u16::from_ne_bytes([head[12], head[13]]);
        let (unlinked, placeless) = (head[14] != 0, head[15] != 0);
        let (path, deleted) = match placeless {
            true => placeless_path(inode, mode, name_at(names)?.0)?,
            false => (path_of(names)?, unlinked),
        };
        let device = match mode & TYPE {
            CHARACTER_DEVICE => Some("char"),
            BLOCK_DEVICE => Some("block"),
            _ => None,
        };
        Some(Self {
            inode,
            has_details: placeless && path != b"/" || mode & TYPE == SOCKET,
            path,
            deleted,
            // As the kernel keeps them: twelve bits and twenty.
            device: device.map(|kind| (kind, number >> 20, number & 0xf_ffff)),
        })
    }
}

/// The bytes of a thread's descriptor that is a file without a path, as `/proc` says it now; empty for every other.
pub(crate) fn describe_anonymous_file(tid: i32, fd: i32) -> Vec<u8> {
    let place = format!("/proc/{}/fd/{fd}", shown_as(tid));
    let link = fs::read_link(&place).unwrap_or_default();
    let name = link.as_os_str().as_bytes().strip_prefix(b"anon_inode:");
    let Some((name, length)) = name.and_then(|it| Some((it, u8::try_from(it.len()).ok()?))) else {
        return Vec::new();
    };
    let about = fs::metadata(&place);
    let inode = about.as_ref().map_or(0, MetadataExt::ino);
    let mode = about.as_ref().map_or(0, MetadataExt::mode) as u16;
    let mut bytes = inode.to_ne_bytes().to_vec();
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(&mode.to_ne_bytes());
    bytes.extend_from_slice(&[0, 1, length]);
    bytes.extend_from_slice(name);
    bytes
}

/// A name behind its length, and what comes behind it.
fn name_at(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first()?;
    rest.split_at_checked(usize::from(*length))
}

/// A path by its names, the last one first.
fn path_of(mut names: &[u8]) -> Option<Vec<u8>> {
    let mut all = Vec::new();
    while !names.is_empty() {
        let (name, rest) = name_at(names)?;
        all.push(name);
        names = rest;
    }
    let mut path = Vec::new();
    for name in all.iter().rev() {
        path.push(b'/');
        path.extend_from_slice(name);
    }
    Some(path)
}

/// What stands for a path where there is no folder, by the name that it has alone, and whether that is told as deleted.
fn placeless_path(inode: u64, mode: u16, name: &[u8]) -> Option<(Vec<u8>, bool)> {
    Some(match (mode & TYPE, name) {
        (_, b"/") => (b"/".to_vec(), false),
        (SOCKET, _) => (format!("socket:[{inode}]").into_bytes(), false),
        (PIPE, _) => (format!("pipe:[{inode}]").into_bytes(), false),
        (_, [b'[', ..]) => ([b"anon_inode:", name].concat(), false),
        _ if name.starts_with(b"memfd:") => ([b"/", name].concat(), true),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(mode: u16, unlinked: bool, placeless: bool, names: &[&str]) -> Vec<u8> {
        let mut bytes = 77_u64.to_ne_bytes().to_vec();
        bytes.extend_from_slice(&(1_u32 << 20 | 3).to_ne_bytes());
        bytes.extend_from_slice(&mode.to_ne_bytes());
        bytes.extend_from_slice(&[u8::from(unlinked), u8::from(placeless)]);
        for name in names {
            bytes.push(u8::try_from(name.len()).unwrap());
            bytes.extend_from_slice(name.as_bytes());
        }
        bytes
    }

    #[test]
    fn paths_are_told_as_proc_tells_them() {
        let told = |bytes: &[u8]| {
            let told = CapturedDescriptor::from_bytes(bytes)?;
            Some((String::from_utf8(told.path).unwrap(), told.deleted))
        };
        let is = |path: &str, deleted| Some((path.to_owned(), deleted));
        let file = 0o100_644;
        assert_eq!(
            told(&bytes(file, false, false, &["passwd", "etc"])),
            is("/etc/passwd", false)
        );
        assert_eq!(
            told(&bytes(file, true, false, &["gone"])),
            is("/gone", true)
        );
        assert_eq!(told(&bytes(0o040_755, false, true, &["/"])), is("/", false));
        assert_eq!(
            told(&bytes(SOCKET | 0o777, false, true, &[""])),
            is("socket:[77]", false)
        );
        assert_eq!(
            told(&bytes(PIPE, false, true, &[""])),
            is("pipe:[77]", false)
        );
        assert_eq!(
            told(&bytes(0o600, false, true, &["[eventfd]"])),
            is("anon_inode:[eventfd]", false)
        );
        assert_eq!(
            told(&bytes(file, false, true, &["memfd:x"])),
            is("/memfd:x", true)
        );
        assert_eq!(told(&bytes(file, false, true, &["other"])), None);
        let device = CapturedDescriptor::from_bytes(&bytes(
            CHARACTER_DEVICE,
            false,
            false,
            &["null", "dev"],
        ));
        assert_eq!(device.unwrap().device, Some(("char", 1, 3)));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _either = CapturedDescriptor::from_bytes(&bytes);
        }
    }
}
