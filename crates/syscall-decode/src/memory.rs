//! Pieces of a program's memory: those that an engine is to read for a call, and those that came with it.

use serde::{Deserialize, Serialize};

/// Most elements of an array that are looked at, whatever is asked for.
pub const MAX_ELEMENTS: usize = 4096;

/// A stretch of memory that a call is to be shown with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryRequest {
    /// Where it begins.
    pub address: u64,
    /// How much of it.
    pub extent: ReadExtent,
}

/// How much is read from an address on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadExtent {
    /// So many bytes.
    Bytes(usize),
    /// Up to the first zero byte, that included, but no more than so many bytes.
    Text(usize),
    /// No memory: what this descriptor is, as [`CapturedMemory::anonymous_file`] reads it.
    Descriptor(i32),
}

/// Where a call's memory holds what a descriptor is, with its number: no program has anything there.
const DESCRIPTORS: u64 = 0xffff_ffff_0000_0000;
/// What stands there before names: an inode, a device, a mode, and whether it is deleted and has no path.
pub const DESCRIPTOR_HEAD: usize = 16;

/// Where a call's memory holds what a descriptor is.
pub fn descriptor_address(fd: i32) -> u64 {
    DESCRIPTORS | u64::from(fd.cast_unsigned())
}

/// How much of what lies behind pointers is captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CaptureLimits {
    /// Most bytes of a string or a buffer.
    pub string: usize,
    /// Most elements of an array.
    pub elements: usize,
    /// Also what only `-v` shows: the environment of a program.
    pub verbose: bool,
}

impl Default for CaptureLimits {
    fn default() -> Self {
        CaptureLimits {
            string: 32,
            elements: 32,
            verbose: false,
        }
    }
}

/// When a piece of memory was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum CapturePoint {
    /// As the call was entered.
    Entered,
    /// As it came back.
    Left,
}

/// A stretch of the program's memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryPiece {
    /// Where it begins.
    pub address: u64,
    /// When it was read.
    pub when: CapturePoint,
    /// What was there, as far as it could be read: shorter than what was wanted where memory ends, empty where there is
    /// none.
    pub bytes: Vec<u8>,
}

/// The memory that came with a call.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CapturedMemory {
    pieces: Vec<MemoryPiece>,
    netlink: Option<u8>,
}

impl CapturedMemory {
    /// Adds a piece.
    pub fn add(&mut self, piece: MemoryPiece) {
        self.pieces.push(piece);
    }

    /// Says which protocol the netlink socket speaks that the call is about; nothing where it is about none.
    pub fn set_netlink(&mut self, protocol: Option<u8>) {
        self.netlink = protocol;
    }

    /// Which protocol the netlink socket speaks that the call is about: what memory means there depends on it.
    pub fn netlink(&self) -> Option<u8> {
        self.netlink
    }

    /// The name of the file without a path that a descriptor was as the call was entered: `bpf-map` of
    /// `anon_inode:bpf-map`. Nothing where that wasn't captured or the file has a path.
    pub fn anonymous_file(&self, fd: i32) -> Option<&[u8]> {
        let address = descriptor_address(fd);
        let mut pieces = self.pieces.iter();
        let piece =
            pieces.find(|piece| piece.address == address && piece.when == CapturePoint::Entered)?;
        let (head, names) = piece.bytes.split_at_checked(DESCRIPTOR_HEAD)?;
        let (length, rest) = names.split_first()?;
        let name = rest.get(..usize::from(*length))?;
        (head[DESCRIPTOR_HEAD - 1] != 0).then_some(name)
    }

    /// Every piece, in the order in which they were read.
    pub fn pieces(&self) -> &[MemoryPiece] {
        &self.pieces
    }

    /// What was at an address, up to so many bytes: of the pieces that were read there at this time the longest, else of
    /// one that holds them all. Nothing if there is none.
    pub fn at(&self, address: u64, most: usize, when: CapturePoint) -> Option<&[u8]> {
        let mut found: Option<&[u8]> = None;
        for piece in self.pieces.iter().filter(|piece| piece.when == when) {
            let Some(from) = address
                .checked_sub(piece.address)
                .and_then(|from| usize::try_from(from).ok())
            else {
                continue;
            };
            let Some(rest) = piece.bytes.get(from..) else {
                continue;
            };
            let better = match from {
                0 => found.is_none_or(|found| found.len() < rest.len()),
                _ => found.is_none() && rest.len() >= most,
            };
            if better {
                found = Some(rest);
            }
        }
        found.map(|found| &found[..found.len().min(most)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_found_by_where_and_when() {
        let mut memory = CapturedMemory::default();
        memory.add(MemoryPiece {
            address: 100,
            when: CapturePoint::Entered,
            bytes: vec![1, 2, 3, 4],
        });
        memory.add(MemoryPiece {
            address: 100,
            when: CapturePoint::Left,
            bytes: vec![9],
        });
        assert_eq!(memory.at(101, 2, CapturePoint::Entered), Some(&[2, 3][..]));
        assert_eq!(
            memory.at(100, 20, CapturePoint::Entered),
            Some(&[1, 2, 3, 4][..])
        );
        assert_eq!(memory.at(102, 20, CapturePoint::Entered), None);
        assert_eq!(memory.at(100, 20, CapturePoint::Left), Some(&[9][..]));
        assert_eq!(memory.at(99, 1, CapturePoint::Entered), None);
        assert_eq!(memory.at(105, 1, CapturePoint::Entered), None);
    }
}
