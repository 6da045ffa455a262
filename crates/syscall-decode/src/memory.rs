//! Pieces of a program's memory: those that an engine is to read for a call, and those that came with it.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

/// Most elements of an array that are looked at, whatever is asked for.
pub const MAX_ELEMENTS: usize = 4096;

/// Most bytes of a set of descriptors that are looked at: what programs in the kernel capture of one piece.
pub const MOST_OF_DESCRIPTOR_SET: usize = 33_024;

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

impl MemoryPiece {
    /// What it holds from an address on; nothing where that lies outside it.
    pub fn rest_from(&self, address: u64) -> Option<&[u8]> {
        let offset = usize::try_from(address.checked_sub(self.address)?).ok()?;
        self.bytes.get(offset..)
    }
}

/// The memory that came with a call.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CapturedMemory {
    pieces: Vec<MemoryPiece>,
    netlink: Option<u8>,
    #[serde(skip)]
    index: PieceIndex,
}

impl CapturedMemory {
    /// Adds a piece.
    pub fn add(&mut self, piece: MemoryPiece) {
        self.pieces.push(piece);
        self.index = PieceIndex::default();
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
        let said = self.at(address, usize::MAX, CapturePoint::Entered)?;
        let (head, names) = said.split_at_checked(DESCRIPTOR_HEAD)?;
        let (length, rest) = names.split_first()?;
        let name = rest.get(..usize::from(*length))?;
        (head[DESCRIPTOR_HEAD - 1] != 0).then_some(name)
    }

    /// Every piece, in the order in which they were read.
    pub fn pieces(&self) -> &[MemoryPiece] {
        &self.pieces
    }

    /// What was at an address, up to so many bytes: of one piece that holds them all, else of the longest that was read
    /// from there on. Nothing if there is none.
    pub fn at(&self, address: u64, most: usize, when: CapturePoint) -> Option<&[u8]> {
        let mut longest: Option<&[u8]> = None;
        self.each_near(address, when, |piece, rest| {
            if (piece.address == address || rest.len() >= most)
                && longest.is_none_or(|longest| longest.len() < rest.len())
            {
                longest = Some(rest);
            }
        });
        longest.map(|longest| &longest[..longest.len().min(most)])
    }

    /// The longest stretch that is held from an address on, whichever piece holds it. Nothing if none does.
    pub fn longest(&self, address: u64, when: CapturePoint) -> Option<&[u8]> {
        let mut longest: Option<&[u8]> = None;
        self.each_near(address, when, |_, rest| {
            if longest.is_none_or(|longest| longest.len() < rest.len()) {
                longest = Some(rest);
            }
        });
        longest
    }

    /// Takes the pieces of this time among which the longest are that begin at an address, or hold it, each with what it
    /// holds from there on: all that hold it where there are few pieces.
    #[inline]
    fn each_near<'a>(
        &'a self,
        address: u64,
        when: CapturePoint,
        mut take: impl FnMut(&'a MemoryPiece, &'a [u8]),
    ) {
        let mut look_at = |piece: &'a MemoryPiece| {
            if piece.when == when
                && let Some(rest) = piece.rest_from(address)
            {
                take(piece, rest);
            }
        };
        if self.pieces.len() <= FEW_PIECES {
            self.pieces.iter().for_each(look_at);
            return;
        }
        let found = self.index.near(&self.pieces, address, when);
        for number in found.into_iter().flatten() {
            look_at(&self.pieces[number]);
        }
    }
}

/// So many pieces are looked through faster than they are sorted.
const FEW_PIECES: usize = 32;

/// Pieces by their address: made as one is looked for, since most calls have few pieces.
#[derive(Debug, Clone, Default)]
struct PieceIndex(OnceLock<Vec<IndexedPiece>>);

#[derive(Debug, Clone, Copy)]
struct IndexedPiece {
    /// When it was read, where it begins, and how long it is: what they are sorted by.
    place: (CapturePoint, u64, usize),
    /// Which one it is.
    number: usize,
    /// Of those up to here that were read at its time, the one that goes furthest, and how far.
    furthest: (u128, usize),
}

/// An index says nothing that the pieces don't.
impl PartialEq for PieceIndex {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for PieceIndex {}

impl PieceIndex {
    /// The longest piece that begins at an address, and the one that goes furthest of all that begin there or before.
    fn near(&self, pieces: &[MemoryPiece], address: u64, when: CapturePoint) -> [Option<usize>; 2] {
        let sorted = self.0.get_or_init(|| sorted(pieces));
        let until = sorted.partition_point(|piece| piece.place <= (when, address, usize::MAX));
        let last = until.checked_sub(1).and_then(|at| sorted.get(at));
        let last = last.filter(|piece| piece.place.0 == when);
        let there = last.filter(|piece| piece.place.1 == address);
        [
            there.map(|piece| piece.number),
            last.map(|piece| piece.furthest.1),
        ]
    }
}

fn sorted(pieces: &[MemoryPiece]) -> Vec<IndexedPiece> {
    let numbered = pieces.iter().enumerate();
    let mut sorted: Vec<IndexedPiece> = numbered
        .map(|(number, piece)| IndexedPiece {
            place: (piece.when, piece.address, piece.bytes.len()),
            number,
            furthest: (
                u128::from(piece.address) + piece.bytes.len() as u128,
                number,
            ),
        })
        .collect();
    sorted.sort_unstable_by_key(|piece| (piece.place, piece.number));
    let mut before: Option<IndexedPiece> = None;
    for piece in &mut sorted {
        if let Some(before) = before
            && before.place.0 == piece.place.0
            && before.furthest.0 > piece.furthest.0
        {
            piece.furthest = before.furthest;
        }
        before = Some(*piece);
    }
    sorted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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

    proptest! {
        #[test]
        fn many_pieces_are_found_as_few_are(
            pieces in proptest::collection::vec((0_u64..200, 0_usize..40, any::<bool>()), 1..100),
            asked in proptest::collection::vec((0_u64..260, 0_usize..50, any::<bool>()), 50),
            base in prop_oneof![Just(0_u64), Just(u64::MAX - 270)],
        ) {
            let when = |left: bool| if left { CapturePoint::Left } else { CapturePoint::Entered };
            let mut memory = CapturedMemory::default();
            for (address, length, left) in pieces {
                // What is at an address is the same in every piece of this time.
                let bytes = (address..).take(length).map(|at| at as u8 ^ u8::from(left));
                let (address, bytes) = (base + address, bytes.collect());
                memory.add(MemoryPiece { address, when: when(left), bytes });
            }
            for (address, most, left) in asked {
                let (address, when) = (base + address, when(left));
                let same = || memory.pieces.iter().filter(|piece| piece.when == when);
                let longest = same().filter_map(|piece| piece.rest_from(address)).max_by_key(|rest| rest.len());
                prop_assert_eq!(memory.longest(address, when), longest);
                let there = same().filter(|piece| piece.address == address).map(|piece| &piece.bytes[..]).max_by_key(|rest| rest.len());
                let whole = longest.filter(|rest| rest.len() >= most).or(there);
                prop_assert_eq!(memory.at(address, most, when), whole.map(|rest| &rest[..rest.len().min(most)]));
            }
        }
    }
}
