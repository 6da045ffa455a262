//! Records of perf_event_open(2), read from their bytes. Samples and all else end with, or begin with, whose they are and when.

use crate::perf_event::SAMPLED_REGISTERS;

use std::sync::Arc;

use backsight_stack_unwinder::{MappedFile, Registers};

/// Bytes behind every record but samples: process and thread, time, processor.
const TRAILER: usize = 24;

/// A record, of which only those are read that this profiler needs.
#[derive(Debug)]
pub(crate) enum Record<'a> {
    /// Something that can be executed was mapped into a process.
    Mapped { pid: i32, mapped: MappedFile },
    /// A thread has a name; where `by_exec`, its process has another program.
    Named {
        pid: i32,
        tid: i32,
        name: String,
        by_exec: bool,
    },
    /// A thread or a process began.
    Forked {
        pid: i32,
        tid: i32,
        parent_pid: i32,
        parent_tid: i32,
    },
    /// A thread ended.
    Exited { pid: i32, tid: i32 },
    /// A thread begins to run on a processor, or another one comes after it there: `ends`.
    Switched {
        pid: i32,
        tid: i32,
        cpu: u32,
        ends: bool,
    },
    /// So many records had no room.
    Lost(u64),
    /// A sample.
    Sampled(Sampled<'a>),
    /// Anything else.
    Other,
}

/// A sample.
#[derive(Debug)]
pub(crate) struct Sampled<'a> {
    pub pid: i32,
    pub tid: i32,
    pub cpu: u32,
    /// Addresses in the kernel, the innermost first, with marks among them; eight bytes each.
    pub kernel: &'a [u8],
    /// What a tracepoint says.
    pub raw: &'a [u8],
    /// Where the thread is in its program; none for a thread of the kernel, or where it can't be unwound.
    pub user: Option<UserStack<'a>>,
}

/// A copy of a stack.
#[derive(Debug)]
pub(crate) struct UserStack<'a> {
    pub registers: Registers,
    /// Whether it is one of this machine's own kind, which can be unwound.
    pub native: bool,
    /// The stack from where it ends.
    pub copy: &'a [u8],
}

impl UserStack<'_> {
    /// Eight bytes of the copy.
    pub fn read(&self, address: u64) -> Result<u64, ()> {
        let at = address.checked_sub(self.registers.stack).ok_or(())?;
        let at = usize::try_from(at).map_err(drop)?;
        let word = self.copy.get(at..).and_then(|rest| rest.first_chunk());
        word.map(|word| u64::from_ne_bytes(*word)).ok_or(())
    }
}

/// Reads numbers one after the other; a record that is too short has no more.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn u32(&mut self) -> Option<u32> {
        let (value, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_ne_bytes(*value))
    }

    fn id(&mut self) -> Option<i32> {
        self.u32().map(u32::cast_signed)
    }

    fn u64(&mut self) -> Option<u64> {
        let (value, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_ne_bytes(*value))
    }

    fn bytes(&mut self, length: u64) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        Some(bytes)
    }

    /// A text that ends with a zero.
    fn text(&self) -> &'a [u8] {
        self.0.split(|byte| *byte == 0).next().unwrap_or_default()
    }
}

const LOST: u32 = 2;
const COMM: u32 = 3;
const EXIT: u32 = 4;
const FORK: u32 = 7;
const SAMPLE: u32 = 9;
const MMAP2: u32 = 10;
const SWITCH_CPU_WIDE: u32 = 15;
/// Flag of a name that a thread has by execve(2).
const BY_EXEC: u16 = 1 << 13;
/// Flag of a switch at which a thread ceases to run.
const OUT: u16 = 1 << 13;

/// When a record was written; none of one that is too short.
pub(crate) fn time(record: &[u8]) -> Option<u64> {
    let (kind, _, body) = split(record)?;
    let at = match kind {
        SAMPLE => 8,
        _ => body.len().checked_sub(TRAILER)? + 8,
    };
    Fields(body.get(at..)?).u64()
}

fn split(record: &[u8]) -> Option<(u32, u16, &[u8])> {
    let mut fields = Fields(record);
    let (kind, flags) = (fields.u32()?, fields.u32()? as u16);
    Some((kind, flags, fields.0))
}

/// Reads a record; `with_raw` says whether samples hold what a tracepoint says.
pub(crate) fn parse(record: &[u8], with_raw: bool) -> Option<Record<'_>> {
    let (kind, flags, body) = split(record)?;
    if kind == SAMPLE {
        return parse_sample(body, with_raw).map(Record::Sampled);
    }
    let (body, trailer) = body.split_at(body.len().checked_sub(TRAILER)?);
    let mut fields = Fields(body);
    Some(match kind {
        MMAP2 => {
            let (pid, _tid) = (fields.id()?, fields.id()?);
            let (start, length, offset) = (fields.u64()?, fields.u64()?, fields.u64()?);
            let file = (fields.u32()?, fields.u32()?, fields.u64()?);
            // The inode's generation, protection, flags.
            fields.bytes(16)?;
            let range = start..start.checked_add(length)?;
            Record::Mapped {
                pid,
                mapped: MappedFile {
                    range,
                    offset,
                    file,
                    path: Arc::from(fields.text()),
                },
            }
        }
        COMM => Record::Named {
            pid: fields.id()?,
            tid: fields.id()?,
            name: String::from_utf8_lossy(fields.text()).into_owned(),
            by_exec: flags & BY_EXEC != 0,
        },
        FORK | EXIT => {
            let (pid, parent_pid) = (fields.id()?, fields.id()?);
            let (tid, parent_tid) = (fields.id()?, fields.id()?);
            match kind {
                EXIT => Record::Exited { pid, tid },
                _ => Record::Forked {
                    pid,
                    tid,
                    parent_pid,
                    parent_tid,
                },
            }
        }
        SWITCH_CPU_WIDE => {
            // Before the trailer are the numbers of the thread on the other side of the switch.
            let mut fields = Fields(trailer);
            let (pid, tid, _time) = (fields.id()?, fields.id()?, fields.u64()?);
            Record::Switched {
                pid,
                tid,
                cpu: fields.u32()?,
                ends: flags & OUT != 0,
            }
        }
        LOST => {
            let _event = fields.u64()?;
            Record::Lost(fields.u64()?)
        }
        _ => Record::Other,
    })
}

fn parse_sample(body: &[u8], with_raw: bool) -> Option<Sampled<'_>> {
    const NATIVE: u64 = 2;
    let mut fields = Fields(body);
    let (pid, tid) = (fields.id()?, fields.id()?);
    let _time = fields.u64()?;
    let (cpu, _) = (fields.u32()?, fields.u32()?);
    let addresses = fields.u64()?;
    let kernel = fields.bytes(addresses.checked_mul(8)?)?;
    let raw = match with_raw {
        true => {
            let length = fields.u32()?;
            fields.bytes(length.into())?
        }
        false => &[],
    };
    let mut sampled = Sampled {
        pid,
        tid,
        cpu,
        kernel,
        raw,
        user: None,
    };
    let abi = fields.u64()?;
    if abi == 0 {
        return Some(sampled);
    }
    let registers = registers(&mut fields)?;
    let size = fields.u64()?;
    let room = fields.bytes(size)?;
    // How much of the room was filled; without a stack there is no such number.
    let filled = match size {
        0 => 0,
        _ => fields.u64()?.min(size),
    };
    sampled.user = Some(UserStack {
        registers,
        native: abi == NATIVE,
        copy: &room[..filled as usize],
    });
    Some(sampled)
}

/// The registers of [`SAMPLED_REGISTERS`].
#[cfg(target_arch = "x86_64")]
fn registers(fields: &mut Fields<'_>) -> Option<Registers> {
    const { assert!(SAMPLED_REGISTERS.count_ones() == 3) };
    Some(Registers {
        frame: fields.u64()?,
        stack: fields.u64()?,
        instruction: fields.u64()?,
    })
}

/// The registers of [`SAMPLED_REGISTERS`].
#[cfg(target_arch = "aarch64")]
fn registers(fields: &mut Fields<'_>) -> Option<Registers> {
    const { assert!(SAMPLED_REGISTERS.count_ones() == 4) };
    Some(Registers {
        frame: fields.u64()?,
        link: fields.u64()?,
        stack: fields.u64()?,
        instruction: fields.u64()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record of numbers of 4 and 8 bytes, and text.
    fn record(kind: u32, flags: u16, body: &[&[u8]]) -> Vec<u8> {
        let body = body.concat();
        let mut record = kind.to_ne_bytes().to_vec();
        record.extend(flags.to_ne_bytes());
        record.extend((8 + body.len() as u16).to_ne_bytes());
        record.extend(body);
        record
    }

    fn trailer(time: u64) -> Vec<u8> {
        [&[0; 8][..], &time.to_ne_bytes(), &[0; 8]].concat()
    }

    #[test]
    fn names_forks_and_losses_are_read_with_their_times() {
        let ids = [7_u32, 8].map(u32::to_ne_bytes).concat();
        let comm = record(COMM, BY_EXEC, &[&ids, b"work\0\0\0\0", &trailer(5)]);
        assert_eq!(time(&comm), Some(5));
        let Some(Record::Named {
            tid: 8,
            name,
            by_exec: true,
            ..
        }) = parse(&comm, false)
        else {
            panic!("{comm:?}");
        };
        assert_eq!(name, "work");
        let four = [7_u32, 1, 9, 2].map(u32::to_ne_bytes).concat();
        let fork = record(FORK, 0, &[&four, &[0; 8], &trailer(6)]);
        let read = parse(&fork, false);
        let Some(Record::Forked {
            pid: 7,
            tid: 9,
            parent_pid: 1,
            parent_tid: 2,
        }) = read
        else {
            panic!("{read:?}");
        };
        let lost = record(LOST, 0, &[&[0; 8], &3_u64.to_ne_bytes(), &trailer(7)]);
        assert!(matches!(parse(&lost, false), Some(Record::Lost(3))));
    }

    #[test]
    fn a_switch_is_of_the_thread_that_its_trailer_names() {
        let other = [7_u32, 8].map(u32::to_ne_bytes).concat();
        let own = [1_u32, 2].map(u32::to_ne_bytes).concat();
        let (when, cpu) = (5_u64.to_ne_bytes(), 3_u64.to_ne_bytes());
        for (flags, ended) in [(0, false), (OUT, true)] {
            let switch = record(SWITCH_CPU_WIDE, flags, &[&other, &own, &when, &cpu]);
            assert_eq!(time(&switch), Some(5));
            let read = parse(&switch, true);
            let Some(Record::Switched {
                pid: 1,
                tid: 2,
                cpu: 3,
                ends,
            }) = read
            else {
                panic!("{read:?}");
            };
            assert_eq!(ends, ended);
        }
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_are_read_beyond_their_end(
            kind in 0_u32..17,
            body in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200),
            small in proptest::prelude::any::<bool>(),
        ) {
            let mut bytes = record(kind, 0, &[&body]);
            if small && bytes.len() > 40 {
                // A number of addresses that may fit.
                bytes[32..40].copy_from_slice(&1_u64.to_ne_bytes());
            }
            let _ = (time(&bytes), parse(&bytes, false), parse(&bytes, true));
        }
    }
}
