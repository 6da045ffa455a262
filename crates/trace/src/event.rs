//! What an engine tells, in the order of time.

use serde::{Deserialize, Serialize};

use crate::table;

/// Something that happened to a traced task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The process: its thread group.
    pub pid: i32,
    /// The thread.
    pub tid: i32,
    /// When it happened; for a call, when it was told: as it came back. Nanoseconds of the monotonic clock.
    pub at: u64,
    /// What.
    pub what: What,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum What {
    /// A call came back, or never will: `exit`, or a thread that is gone.
    Call(Call),
    /// A call that takes long enough to be told while it goes on; it is told again when it comes back.
    Pending(Call),
    /// A signal was delivered.
    Signal {
        /// Its number.
        number: i32,
        /// The kernel's `siginfo`, as it lies in memory; empty where it wasn't to be had.
        info: Vec<u8>,
        /// Where in the program the thread was: the instruction's address, where that was asked for.
        instruction: Option<u64>,
    },
    /// The thread's process was stopped by a signal, as by ^Z.
    Stopped {
        /// Which.
        signal: i32,
    },
    /// The thread ended.
    Exited {
        /// Its status.
        status: i32,
    },
    /// The thread was ended by a signal.
    Killed {
        /// Which.
        signal: i32,
        /// Whether memory was dumped.
        core: bool,
    },
    /// The thread vanished because another thread of its process did `execve`.
    Superseded {
        /// The thread that did it, by its number before.
        by: i32,
    },
    /// The thread was attached to, by number or as a child of a traced one.
    Attached {
        /// The thread that made it, if it was traced.
        parent: Option<i32>,
    },
    /// It isn't traced any longer, and goes on.
    Detached,
    /// Events were lost here: never, unless the counter that this is made of says so.
    Lost {
        /// How many.
        number: u64,
    },
    /// What lies behind an argument of the call that the thread is in wasn't changed, as was asked.
    Unchanged {
        /// How the call was made.
        abi: Abi,
        /// Its number there.
        number: u64,
        /// The argument, from 0.
        argument: usize,
    },
    /// In which functions of its program the thread is that made the call, or got the signal, that was told last: the innermost
    /// first. Only where that was asked for.
    Stack(Vec<Frame>),
}

/// A place in a program, as one on a thread's stack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// The file that is mapped there, or what the kernel calls it, as `[vdso]`.
    pub file: Vec<u8>,
    /// The function by its symbol, and how many bytes from its beginning; nothing where no symbol's range holds the place.
    pub function: Option<(Vec<u8>, u64)>,
    /// Where it lies in the file, in bytes.
    pub offset: u64,
}

/// How a program calls the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Abi {
    /// 64-bit calls on x86.
    X86_64,
    /// 32-bit calls on x86, of 32-bit programs and of `int $0x80` in 64-bit ones.
    I386,
    /// 64-bit calls on ARM.
    Aarch64,
}

impl Abi {
    /// The way of this machine's own programs.
    pub const NATIVE: Self = if cfg!(target_arch = "aarch64") {
        Self::Aarch64
    } else {
        Self::X86_64
    };
}

/// One system call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// How it was made.
    pub abi: Abi,
    /// Its number there.
    pub number: u64,
    /// Its arguments as they were in the registers when it was entered.
    pub arguments: [u64; 6],
    /// When it was entered, in nanoseconds of the monotonic clock.
    pub entered: u64,
    /// What came of it.
    pub outcome: Outcome,
    /// What lay behind its pointers.
    pub memory: Memory,
    /// Whether its result was made up by who traces.
    pub injected: bool,
    /// Whether who traces changed what lay behind its pointers.
    pub rewritten: bool,
    /// Whether who traces held the thread before it or after it.
    pub delayed: bool,
    /// Where in the program it was made: the instruction's address, where that was asked for.
    pub instruction: Option<u64>,
    /// How many nanoseconds of it a processor worked on it, where that was asked for.
    pub worked: Option<u64>,
}

impl Call {
    /// The number of the error that it came back with; nothing if it succeeded, or hasn't come back.
    pub fn error(&self) -> Option<i64> {
        const LAST: i64 = 4095;
        let Outcome::Returned { value, .. } = self.outcome else {
            return None;
        };
        let error = (-LAST..0).contains(&value).then(|| -value)?;
        let succeeds = table::row(self.abi, self.number).is_some_and(|row| row.succeeds);
        (!succeeds).then_some(error)
    }
}

/// What came of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// It came back with this in the result's register, -errno for errors, after so many nanoseconds.
    Returned {
        /// The register.
        value: i64,
        /// How long it took.
        took: u64,
    },
    /// It doesn't come back, or hasn't yet.
    Open,
}

/// When a piece of memory was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum When {
    /// As the call was entered.
    Entered,
    /// As it came back.
    Left,
}

/// A stretch of the program's memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// Where it begins.
    pub address: u64,
    /// When it was read.
    pub when: When,
    /// What was there, as far as it could be read: shorter than what was wanted where memory ends, empty where there is
    /// none.
    pub bytes: Vec<u8>,
}

/// The memory that came with a call.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Memory {
    pieces: Vec<Piece>,
    netlink: Option<u8>,
}

impl Memory {
    /// Adds a piece.
    pub fn add(&mut self, piece: Piece) {
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

    /// Every piece, in the order in which they were read.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// What was at an address, up to so many bytes: of the pieces that were read there at this time the longest, else of
    /// one that holds them all. Nothing if there is none.
    pub fn at(&self, address: u64, most: usize, when: When) -> Option<&[u8]> {
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
        let mut memory = Memory::default();
        memory.add(Piece {
            address: 100,
            when: When::Entered,
            bytes: vec![1, 2, 3, 4],
        });
        memory.add(Piece {
            address: 100,
            when: When::Left,
            bytes: vec![9],
        });
        assert_eq!(memory.at(101, 2, When::Entered), Some(&[2, 3][..]));
        assert_eq!(memory.at(100, 20, When::Entered), Some(&[1, 2, 3, 4][..]));
        assert_eq!(memory.at(102, 20, When::Entered), None);
        assert_eq!(memory.at(100, 20, When::Left), Some(&[9][..]));
        assert_eq!(memory.at(99, 1, When::Entered), None);
        assert_eq!(memory.at(105, 1, When::Entered), None);
    }
}
