//! Summary of files: time, calls, errors and bytes by path, or by descriptor of each process.
//!
//! A call that concerns two files, as `rename` or `sendfile`, counts for both of them, and once in the total.

use std::collections::HashMap;
use std::sync::Arc;

use backsight_syscall_decode::syscall_set::SyscallSet;
use backsight_syscall_decode::{EventKind, TraceEvent};

use super::{CallStatistics, SummaryRow, name_from_bytes, time_and_failure};
use crate::open_files::{ConcernedFile, OpenFiles};

/// Most rows: a program can name any number of files. What is beyond is counted together.
const MOST_ROWS: usize = 1 << 20;
/// Most files of a descriptor that are told apart.
const MOST_FILES_OF_DESCRIPTOR: usize = 1000;

/// What a file is counted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKey {
    /// Its path.
    Path,
    /// The process and the descriptor there.
    Descriptor,
}

/// Counts of the calls that concern files.
#[derive(Debug)]
pub struct FileSummary {
    files: OpenFiles,
    by: FileKey,
    /// The calls that are counted; others only say which file a descriptor is.
    counted: SyscallSet,
    /// Whether the distribution of times is kept.
    distributions: bool,
    rows: HashMap<RowKey, FileFigures>,
    total: FileFigures,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum RowKey {
    Path(Arc<[u8]>),
    Descriptor(i32, i32),
    Others,
}

#[derive(Debug, Clone, Default)]
struct FileFigures {
    figures: CallStatistics,
    read: u64,
    written: u64,
    /// What a descriptor was, with the number of calls each.
    names: HashMap<Arc<[u8]>, u64>,
}

/// A row with what it is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRow {
    /// The process and the descriptor, of a summary by descriptor.
    pub descriptor: Option<(i32, i32)>,
    /// How many files a descriptor was, one after the other.
    pub files: usize,
    /// The figures. The name is the file's; of a descriptor that was several, the one with most calls.
    pub row: SummaryRow,
}

impl FileSummary {
    /// Nothing counted yet. `live`: what is traced runs now, and what it has open already is looked up.
    pub fn new(by: FileKey, counted: SyscallSet, distributions: bool, live: bool) -> Self {
        Self {
            files: OpenFiles::new(live),
            by,
            counted,
            distributions,
            rows: HashMap::new(),
            total: FileFigures::default(),
        }
    }

    /// Counts what an event says.
    pub fn add(&mut self, event: &TraceEvent) {
        let concerned = self.files.add(event);
        let EventKind::Call(call) = &event.kind else {
            return;
        };
        if !self.counted.contains(call.abi, call.number) {
            return;
        }
        let (took, failed) = time_and_failure(call);
        let mut told: Vec<RowKey> = Vec::with_capacity(concerned.len());
        for file in concerned {
            let Some(key) = self.key(event.pid, &file) else {
                continue;
            };
            let full = self.rows.len() >= MOST_ROWS && !self.rows.contains_key(&key);
            let key = if full { RowKey::Others } else { key };
            let row = self.rows.entry(key.clone()).or_default();
            if !told.contains(&key) {
                row.figures.count(took, failed, self.distributions);
                if told.is_empty() {
                    self.total.figures.count(took, failed, self.distributions);
                }
                told.push(key);
            }
            for figures in [&mut *row, &mut self.total] {
                figures.read = figures.read.saturating_add(file.read);
                figures.written = figures.written.saturating_add(file.written);
            }
            if self.by == FileKey::Descriptor
                && (row.names.len() < MOST_FILES_OF_DESCRIPTOR
                    || row.names.contains_key(&file.name))
            {
                *row.names.entry(file.name).or_default() += 1;
            }
        }
    }

    fn key(&self, pid: i32, file: &ConcernedFile) -> Option<RowKey> {
        match self.by {
            FileKey::Path => Some(RowKey::Path(Arc::clone(&file.name))),
            FileKey::Descriptor => Some(RowKey::Descriptor(pid, file.descriptor?)),
        }
    }

    /// Every row, by name.
    pub fn rows(&self) -> Vec<FileRow> {
        let rows = self.rows.iter();
        let mut rows: Vec<FileRow> = rows
            .map(|(key, figures)| {
                let name = match key {
                    RowKey::Path(path) => name_from_bytes(path),
                    RowKey::Others => "(other files)".to_owned(),
                    RowKey::Descriptor(..) => {
                        let names = figures.names.iter();
                        let most =
                            names.max_by_key(|(name, calls)| (**calls, std::cmp::Reverse(*name)));
                        most.map_or_else(String::new, |(name, _)| name_from_bytes(name))
                    }
                };
                FileRow {
                    descriptor: match key {
                        RowKey::Descriptor(pid, fd) => Some((*pid, *fd)),
                        RowKey::Path(_) | RowKey::Others => None,
                    },
                    files: figures.names.len(),
                    row: figures.row(name),
                }
            })
            .collect();
        rows.sort_by(|a, b| a.row.name.cmp(&b.row.name));
        rows
    }

    /// All calls that concern files, each once.
    pub fn total(&self) -> SummaryRow {
        self.total.row("total".to_owned())
    }
}

impl FileFigures {
    fn row(&self, name: String) -> SummaryRow {
        SummaryRow {
            name,
            figures: self.figures.clone(),
            read: self.read,
            written: self.written,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_syscall_decode::{
        Abi, CapturePoint, CapturedMemory, MemoryPiece, SyscallOutcome, SyscallRecord, table,
    };

    /// Where a text lies, before and after a call.
    const BEFORE: u64 = 0x1000;
    const AFTER: u64 = 0x2000;

    fn call(pid: i32, name: &str, arguments: &[u64], value: i64, text: &[u8]) -> TraceEvent {
        let mut memory = CapturedMemory::default();
        for (address, when) in [(BEFORE, CapturePoint::Entered), (AFTER, CapturePoint::Left)] {
            memory.add(MemoryPiece {
                address,
                when,
                bytes: text.to_vec(),
            });
        }
        let mut all = [0; 6];
        all[..arguments.len()].copy_from_slice(arguments);
        let kind = EventKind::Call(SyscallRecord {
            abi: Abi::X86_64,
            number: table::syscall_number(Abi::X86_64, name).unwrap(),
            arguments: all,
            entered: 0,
            outcome: SyscallOutcome::Returned { value, took: 10 },
            memory,
            injected: false,
            rewritten: false,
            delayed: false,
            instruction: None,
            worked: None,
        });
        event(pid, kind)
    }

    fn event(pid: i32, kind: EventKind) -> TraceEvent {
        TraceEvent {
            pid,
            tid: pid,
            at: 0,
            kind,
        }
    }

    const HERE: u64 = -100_i64 as u64;
    const O_CLOEXEC: u64 = 0o2_000_000;

    fn summary(by: FileKey, events: &[TraceEvent]) -> Vec<(String, u64, u64, u64)> {
        let mut summary = FileSummary::new(by, SyscallSet::all(), true, false);
        for event in events {
            summary.add(event);
        }
        let rows = summary.rows().into_iter().map(|file| {
            let owner = file
                .descriptor
                .map_or_else(String::new, |(pid, fd)| format!("{pid}.{fd} "));
            let SummaryRow {
                name,
                figures,
                read,
                written,
            } = file.row;
            (format!("{owner}{name}"), figures.calls, read, written)
        });
        let mut rows: Vec<_> = rows.collect();
        rows.sort();
        rows
    }

    fn row(name: &str, calls: u64, read: u64, written: u64) -> (String, u64, u64, u64) {
        (name.to_owned(), calls, read, written)
    }

    #[test]
    fn calls_are_counted_to_the_files_behind_descriptors() {
        let events = [
            call(1, "chdir", &[BEFORE], 0, b"/tmp/\0"),
            call(1, "openat", &[HERE, BEFORE, O_CLOEXEC], 3, b"./a\0"),
            call(1, "read", &[3, AFTER, 100], 100, b""),
            call(1, "dup2", &[3, 7], 7, b""),
            call(1, "close", &[3], 0, b""),
            // A child has what its parent had, and loses none of it when that closes it.
            event(2, EventKind::Attached { parent: Some(1) }),
            call(1, "close", &[7], 0, b""),
            call(2, "write", &[7, BEFORE, 5], 5, b"hello"),
            call(2, "openat", &[HERE, BEFORE, O_CLOEXEC], 3, b"/b\0"),
            call(2, "execve", &[BEFORE, 0, 0], 0, b"/bin/x\0"),
            call(2, "read", &[3, AFTER, 9], -9, b""),
            call(2, "sendfile", &[7, 8, 0, 50], 50, b""),
        ];
        assert_eq!(
            summary(FileKey::Path, &events),
            [
                row("(descriptor 3, not open)", 1, 0, 0),
                row("(descriptor 8)", 1, 50, 0),
                row("/b", 1, 0, 0),
                row("/bin/x", 1, 0, 0),
                row("/tmp", 1, 0, 0),
                row("/tmp/a", 7, 100, 55),
            ]
        );
        let of_descriptors = summary(FileKey::Descriptor, &events);
        assert!(
            of_descriptors.contains(&row("1.3 /tmp/a", 3, 100, 0)),
            "{of_descriptors:?}"
        );
        assert!(
            of_descriptors.contains(&row("2.7 /tmp/a", 2, 0, 55)),
            "{of_descriptors:?}"
        );
    }

    #[test]
    fn what_has_no_path_is_named_by_what_it_is() {
        let pair = [[4, 0, 0, 0], [5, 0, 0, 0]].concat();
        let address = [2, 0, 0, 80, 10, 0, 0, 7];
        let events = [
            call(1, "pipe2", &[AFTER, 0], 0, &pair),
            call(1, "write", &[5, BEFORE, 3], 3, b"abc"),
            call(1, "socket", &[2, 1, 0], 6, b""),
            call(1, "connect", &[6, BEFORE, 8], -115, &address),
            call(1, "sendto", &[6, BEFORE, 9, 0, 0, 0], 9, b""),
            call(1, "memfd_create", &[BEFORE, 0], 8, b"x\ny\0"),
            call(1, "ftruncate", &[8, 100], 0, b""),
            call(1, "epoll_create1", &[0], 9, b""),
            call(1, "epoll_ctl", &[9, 1, 6, 0], 0, b""),
            call(1, "close_range", &[0, 100, 0], 0, b""),
            call(1, "read", &[8, AFTER, 9], 0, b""),
        ];
        assert_eq!(
            summary(FileKey::Path, &events),
            [
                row("(descriptor 8)", 1, 0, 0),
                row("(epoll_create1)", 1, 0, 0),
                row("memfd:x\ny", 1, 0, 0),
                row("pipe", 1, 0, 3),
                row("socket (AF_INET)", 1, 0, 0),
                row("socket:10.0.0.7:80", 2, 0, 9),
            ]
        );
    }

    #[test]
    fn a_descriptor_that_is_opened_again_before_its_close_is_told_is_both_files() {
        let timed = |mut event: TraceEvent, entered, at| {
            if let EventKind::Call(call) = &mut event.kind {
                call.entered = entered;
            }
            event.at = at;
            event
        };
        let events = [
            timed(call(1, "openat", &[HERE, BEFORE, 0], 3, b"/a\0"), 1, 2),
            // Two threads: this one could only get the descriptor after the other had closed it.
            timed(call(1, "openat", &[HERE, BEFORE, 0], 3, b"/b\0"), 11, 13),
            timed(call(1, "close", &[3], 0, b""), 10, 14),
            timed(call(1, "write", &[3, BEFORE, 5], 5, b"hello"), 15, 16),
            timed(call(1, "close", &[3], 0, b""), 17, 18),
            timed(call(1, "read", &[3, AFTER, 5], -9, b""), 19, 20),
        ];
        assert_eq!(
            summary(FileKey::Path, &events),
            [
                row("(descriptor 3, not open)", 1, 0, 0),
                row("/a", 2, 0, 0),
                row("/b", 3, 0, 5),
            ]
        );
    }

    #[test]
    fn a_call_of_two_files_is_one_call_in_the_total() {
        let mut summary = FileSummary::new(FileKey::Path, SyscallSet::all(), false, false);
        summary.add(&call(1, "symlink", &[BEFORE, BEFORE], 0, b"/x\0"));
        summary.add(&call(1, "rename", &[BEFORE, BEFORE + 1], 0, b"//x\0"));
        let mut two = call(1, "rename", &[BEFORE, AFTER], 0, b"/x\0");
        if let EventKind::Call(call) = &mut two.kind {
            call.memory.add(MemoryPiece {
                address: AFTER,
                when: CapturePoint::Entered,
                bytes: b"/y\0".to_vec(),
            });
        }
        summary.add(&two);
        assert_eq!(summary.total().figures.calls, 3);
        let mut rows: Vec<_> = summary
            .rows()
            .into_iter()
            .map(|it| (it.row.name, it.row.figures.calls))
            .collect();
        rows.sort();
        assert_eq!(rows, [("/x".to_owned(), 3), ("/y".to_owned(), 1)]);
    }
}
