//! Layout of the ring's records, and of what the programs are told when they are loaded: the twin of `bpf/wire.h`. A record that is
//! shorter than it says is dropped.

use nix::errno::Errno;
use std::io;

/// Bits of a call's record.
pub(super) mod flag {
    /// It didn't come back, or hasn't.
    pub const OPEN: u16 = 1;
    /// Memory that was wanted is missing.
    pub const CUT: u16 = 4;
    /// It was under way when tracing began.
    pub const JOINED: u16 = 8;
    /// It goes on, and is told again when it comes back.
    pub const BEGUN: u16 = 16;

    /// The protocol of the netlink socket that it is about.
    pub fn netlink(flags: u16) -> Option<u8> {
        flags.to_be_bytes()[0].checked_sub(1)
    }
}

/// Most bytes of one piece.
pub(super) const PIECE_MOST: usize = 33024;

/// States of a thread's storage.
pub(super) mod state {
    /// In no call.
    pub const OUTSIDE: u32 = 0;
    /// Attached to in the middle of things.
    pub const JOINED: u32 = 2;
    /// In a call.
    pub const INSIDE: u32 = 3;
    /// Never told of: the tracer's own.
    pub const EXCLUDED: u32 = 5;
    /// In a call that isn't told.
    pub const UNTOLD: u32 = 6;
}

const HEAD: usize = 24;
const CALL: usize = HEAD + 24 + 48 + 8;
const PIECE: usize = 16;
/// What stands before a call in a thread's storage.
const THREAD: usize = 32;
/// The size of a thread's storage: its room for pieces, and what a piece that begins there may take as far as the verifier knows.
pub(super) const STORAGE: usize = THREAD + CALL + 1024 + 512;

/// What all records begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecordHeader {
    pub abi: u8,
    pub flags: u16,
    /// Counts a thread's records.
    pub sequence: u32,
    pub pid: i32,
    pub tid: i32,
    pub at: u64,
}

/// A record.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum RingRecord<'a> {
    Call(CallRecord<'a>),
    /// A piece of the call that this thread is in.
    Fragment(PieceRecord<'a>),
    Forked {
        child: i32,
        process: i32,
    },
    Exited {
        status: i32,
    },
    Executed {
        before: i32,
    },
    Signalled {
        number: i32,
        info: &'a [u8],
    },
}

/// A call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CallRecord<'a> {
    pub number: u32,
    pub entered: u64,
    pub value: i64,
    pub arguments: [u64; 6],
    /// How long a processor worked on it, where that was asked for.
    pub worked: u64,
    pub pieces: Pieces<'a>,
}

/// A stretch of memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PieceRecord<'a> {
    pub address: u64,
    /// As the call was entered, rather than as it came back.
    pub entered: bool,
    /// Nobody asked for it, and it may go on.
    pub guessed: bool,
    pub bytes: &'a [u8],
}

/// Pieces one after the other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pieces<'a>(&'a [u8]);

impl<'a> Iterator for Pieces<'a> {
    type Item = PieceRecord<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let piece = piece(self.0)?;
        let whole = PIECE + piece.bytes.len().next_multiple_of(8);
        self.0 = self.0.get(whole..).unwrap_or_default();
        Some(piece)
    }
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_ne_bytes)
}

fn i32_at(bytes: &[u8], at: usize) -> Option<i32> {
    array(bytes, at).map(i32::from_ne_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    array(bytes, at).map(u64::from_ne_bytes)
}

/// Of a piece's `when`.
const ENTERED: u32 = 1;
const GUESSED: u32 = 8;

fn piece(bytes: &[u8]) -> Option<PieceRecord<'_>> {
    let length = usize::try_from(u32_at(bytes, 8)?).ok()?;
    let when = u32_at(bytes, 12)?;
    Some(PieceRecord {
        address: u64_at(bytes, 0)?,
        entered: when & ENTERED != 0,
        guessed: when & GUESSED != 0,
        bytes: bytes.get(PIECE..PIECE + length)?,
    })
}

fn head(bytes: &[u8]) -> Option<RecordHeader> {
    Some(RecordHeader {
        abi: *bytes.get(1)?,
        flags: u16::from_ne_bytes(array(bytes, 2)?),
        sequence: u32_at(bytes, 4)?,
        pid: i32_at(bytes, 8)?,
        tid: i32_at(bytes, 12)?,
        at: u64_at(bytes, 16)?,
    })
}

fn call(bytes: &[u8]) -> Option<CallRecord<'_>> {
    let length = usize::try_from(u32_at(bytes, 28)?).ok()?;
    let mut arguments = [0; 6];
    for (index, argument) in arguments.iter_mut().enumerate() {
        *argument = u64_at(bytes, 48 + index * 8)?;
    }
    Some(CallRecord {
        number: u32_at(bytes, 24)?,
        entered: u64_at(bytes, 32)?,
        value: i64::from_ne_bytes(array(bytes, 40)?),
        arguments,
        worked: u64_at(bytes, 96)?,
        pieces: Pieces(bytes.get(CALL..CALL + length)?),
    })
}

/// Reads a record; nothing if it isn't one.
pub(super) fn record(bytes: &[u8]) -> Option<(RecordHeader, RingRecord<'_>)> {
    let head = head(bytes)?;
    let record = match bytes[0] {
        1 => RingRecord::Call(call(bytes)?),
        2 => RingRecord::Fragment(piece(&bytes[HEAD..])?),
        3 => RingRecord::Forked {
            child: i32_at(bytes, HEAD)?,
            process: i32_at(bytes, HEAD + 4)?,
        },
        4 => RingRecord::Exited {
            status: i32_at(bytes, HEAD + 4)?,
        },
        5 => RingRecord::Executed {
            before: i32_at(bytes, HEAD)?,
        },
        6 => RingRecord::Signalled {
            number: i32_at(bytes, HEAD)?,
            info: bytes.get(HEAD + 8..HEAD + 56)?,
        },
        _ => return None,
    };
    Some((head, record))
}

/// A thread's storage as it is when the thread is attached to, and whether that is a command that hasn't begun.
pub(super) fn storage(state: u32, waits: bool, now: u64) -> Vec<u8> {
    let mut bytes = vec![0; STORAGE];
    bytes[..4].copy_from_slice(&state.to_ne_bytes());
    bytes[16..20].copy_from_slice(&u32::from(waits).to_ne_bytes());
    bytes[THREAD + 32..THREAD + 40].copy_from_slice(&now.to_ne_bytes());
    bytes
}

/// What a visit does with a thread's storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum VisitAction {
    Set = 0,
    Get = 1,
    Delete = 2,
}

/// What stands before the storage in what is asked of a visit.
const VISIT: usize = 16;

/// What is asked of a visit; `storage` is what is set, or nothing.
pub(super) fn visit(tid: i32, action: VisitAction, storage: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(VISIT + STORAGE);
    bytes.extend_from_slice(&tid.to_ne_bytes());
    bytes.extend_from_slice(&(action as u32).to_ne_bytes());
    bytes.resize(VISIT, 0);
    bytes.extend_from_slice(storage);
    bytes.resize(VISIT + STORAGE, 0);
    bytes
}

/// The storage that a visit found, or why there is none.
pub(super) fn visited(mut visit: Vec<u8>) -> io::Result<Vec<u8>> {
    match u32_at(&visit, 8) {
        Some(2) => Ok(visit.split_off(VISIT)),
        Some(1) => Err(Errno::ENOENT.into()),
        _ => Err(Errno::ESRCH.into()),
    }
}

/// The call that a thread is in, by its storage; nothing if it is in none.
pub(super) fn under_way(storage: &[u8]) -> Option<(RecordHeader, CallRecord<'_>)> {
    if u32_at(storage, 0)? != state::INSIDE {
        return None;
    }
    let bytes = storage.get(THREAD..)?;
    Some((head(bytes)?, call(bytes)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn call_bytes(pieces: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; CALL];
        bytes[0] = 1;
        bytes[28..32].copy_from_slice(&u32::try_from(pieces.len()).unwrap().to_ne_bytes());
        bytes.extend_from_slice(pieces);
        bytes
    }

    #[test]
    fn pieces_follow_one_another_filled_up_to_eight() {
        let mut pieces = Vec::new();
        for (address, bytes) in [(10_u64, &b"abc"[..]), (20, b"12345678"), (30, b"")] {
            pieces.extend_from_slice(&address.to_ne_bytes());
            pieces.extend_from_slice(&u32::try_from(bytes.len()).unwrap().to_ne_bytes());
            pieces.extend_from_slice(&1_u32.to_ne_bytes());
            pieces.extend_from_slice(bytes);
            pieces.resize(pieces.len().next_multiple_of(8), 0);
        }
        let bytes = call_bytes(&pieces);
        let Some((_, RingRecord::Call(call))) = record(&bytes) else {
            panic!("a call was written")
        };
        let found: Vec<_> = call
            .pieces
            .map(|piece| (piece.address, piece.bytes.to_vec()))
            .collect();
        assert_eq!(
            found,
            [
                (10, b"abc".to_vec()),
                (20, b"12345678".to_vec()),
                (30, vec![])
            ]
        );
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            if let Some((_, RingRecord::Call(call))) = record(&bytes) {
                prop_assert!(call.pieces.take(1000).count() < 1000);
            }
        }
    }
}
