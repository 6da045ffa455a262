//! Assembly of events from the ring's records: joins pieces to their calls, puts ends of threads into order, and counts what is
//! missing. The programs in the kernel have filtered already.

#![allow(
    unsafe_code,
    reason = "process_vm_readv(2) has no wrapper that stops where memory ends"
)]

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::time::{Duration, Instant};

use backsight_syscall_decode::capture::missing_memory;
use backsight_syscall_decode::memory::{CaptureLimits, MemoryRequest, ReadExtent};
use backsight_syscall_decode::{
    Abi, CapturePoint, CapturedMemory, EventKind, MemoryPiece, SyscallOutcome, SyscallRecord,
    TraceEvent, table,
};

use super::backpressure::TraceeReport;
use super::capture_plan::{self, ABIS};
use super::records::{self, CallRecord, PieceRecord, RecordHeader, RingRecord, flag};
use super::task_storage::TaskStorage;
use crate::captured_descriptors::describe_anonymous_file;
use crate::clock::now;
use crate::options::TraceOptions;

/// Numbers of threads are spread well enough as they are.
#[derive(Debug, Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_i32(&mut self, number: i32) {
        self.0 = (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

type ByNumber<T> = HashMap<i32, T, BuildHasherDefault<Spread>>;

/// A thread that is traced.
#[derive(Debug, Default)]
struct Thread {
    pid: i32,
    /// Of its last record.
    sequence: u32,
    /// When that was.
    at: u64,
    /// When the call was entered that was emitted as pending.
    pending: u64,
    /// Pieces of the call that it is in.
    pieces: Vec<Got>,
}

/// A piece as it came.
#[derive(Debug, Clone)]
struct Got {
    piece: MemoryPiece,
    /// Nobody asked for it, and it may go on.
    guessed: bool,
}

/// The end of a thread, and the call that it was in.
struct End {
    call: Option<TraceEvent>,
    end: TraceEvent,
}

impl End {
    fn emit_to(self, emit: &mut dyn FnMut(TraceEvent)) {
        self.call.into_iter().for_each(&mut *emit);
        emit(self.end);
    }
}

/// The time of a record.
pub(super) fn at(record: &[u8]) -> u64 {
    records::record(record).map_or(0, |(head, _)| head.at)
}

/// The events that are being assembled from records.
pub(super) struct EventAssembler {
    threads: ByNumber<Thread>,
    /// How many threads each process has.
    sizes: ByNumber<usize>,
    /// Calls that first threads were in as they ended, until that is emitted.
    last: ByNumber<TraceEvent>,
    /// The ends of first threads, emitted after the others'.
    ends: ByNumber<End>,
    /// First threads that are gone by another's `execve`, until that comes back and is emitted as it was begun.
    superseded: ByNumber<End>,
    /// Under which number threads that have a first thread's by now began the call by which they have it, until that has come back.
    executed: ByNumber<i32>,
    /// Whether that is to be waited for.
    waits: bool,
    /// Calls that threads were in as they were let go.
    left: ByNumber<TraceEvent>,
    /// Whether such calls are emitted.
    tells_left: bool,
    storages: TaskStorage,
    /// Nothing where only calls are counted.
    limits: Option<CaptureLimits>,
    /// Whether records say how long processors worked.
    works: bool,
    /// Whether calls that go on for long are emitted.
    pending: bool,
    /// Whether threads are found by what they do, and not attached to.
    finds: bool,
    looked: Instant,
    /// By way of calling and number, whether a plan says all that is wanted.
    planned: [Vec<bool>; 2],
}

/// After how long a call is emitted while it goes on. Looked for only while nothing else is emitted.
const PENDING: Duration = Duration::from_millis(50);
/// How often calls that are under way are looked for, and how many threads at most.
const LOOK: Duration = Duration::from_millis(20);
const LOOK_MOST: usize = 64;

impl EventAssembler {
    /// A new one.
    pub fn new(options: &TraceOptions, storages: TaskStorage) -> Self {
        let in_full = options.limits.is_some_and(|limits| limits.verbose);
        let planned = ABIS.map(|abi| {
            let rows = (0..512).map(|number| table::find_syscall(abi, number));
            rows.map(|row| row.is_some_and(|row| capture_plan::plan(abi, row).whole && !in_full))
                .collect()
        });
        Self {
            threads: ByNumber::default(),
            sizes: ByNumber::default(),
            last: ByNumber::default(),
            ends: ByNumber::default(),
            superseded: ByNumber::default(),
            executed: ByNumber::default(),
            waits: (options.pending || options.renumbering)
                && options.statuses.is_all()
                && executions_are_told(options),
            left: ByNumber::default(),
            tells_left: options.statuses.is_all() && options.limits.is_some(),
            storages,
            limits: options.limits,
            works: options.work,
            pending: options.pending,
            finds: options.scope.is_some(),
            looked: Instant::now(),
            planned,
        }
    }

    /// The storages of threads.
    pub fn storages(&self) -> TaskStorage {
        self.storages.clone()
    }

    /// Takes a record from the ring.
    pub fn record(&mut self, bytes: &[u8], emit: &mut dyn FnMut(TraceEvent)) {
        let Some((head, record)) = records::record(bytes) else {
            return;
        };
        if let RingRecord::Fragment(piece) = record {
            self.threads
                .entry(head.tid)
                .or_default()
                .pieces
                .push(got(piece));
            return;
        }
        if !self.superseded.is_empty() || !self.executed.is_empty() {
            self.emit_superseded(head, record, emit);
        }
        let executed = match record {
            RingRecord::Executed { before } => Some(before),
            _ => None,
        };
        if let Some(before) = executed.filter(|before| *before != head.tid) {
            self.supersede(head, before, emit);
        }
        self.count(head, emit);
        match record {
            RingRecord::Call(call) => self.call(head, call, emit),
            RingRecord::Forked { child, process } => self.forked(head, child, process, emit),
            RingRecord::Exited { status } => self.exited(head, status, emit),
            RingRecord::Signalled { number, info } => {
                // What stops a process or ends it is told as it does, too; both are wanted.
                emit(event(
                    head,
                    EventKind::Signal {
                        number,
                        info: info.to_vec(),
                        instruction: None,
                    },
                ));
            }
            RingRecord::Executed { .. } | RingRecord::Fragment(_) => {}
        }
    }

    /// Says what is missing before this record.
    fn count(&mut self, head: RecordHeader, emit: &mut dyn FnMut(TraceEvent)) {
        if self.finds {
            self.find(head, emit);
        }
        let sizes = &mut self.sizes;
        let thread = self.threads.entry(head.tid).or_default();
        if thread.pid == 0 {
            thread.pid = head.pid;
            *sizes.entry(head.pid).or_default() += 1;
        }
        let missing = head.sequence.wrapping_sub(thread.sequence).wrapping_sub(1);
        thread.sequence = head.sequence;
        thread.at = head.at;
        if missing != 0 {
            emit(event(
                head,
                EventKind::Lost {
                    number: u64::from(missing),
                },
            ));
        }
    }

    /// Says that there is a thread that wasn't known, or that another one has the number of one whose end was lost.
    fn find(&mut self, head: RecordHeader, emit: &mut dyn FnMut(TraceEvent)) {
        let known = self.threads.get(&head.tid);
        if known.is_some_and(|it| head.sequence.wrapping_sub(it.sequence).cast_signed() > 0) {
            return;
        }
        if let Some(before) = self.threads.remove(&head.tid) {
            self.without_one(before.pid);
            let end = RecordHeader {
                pid: before.pid,
                ..head
            };
            emit(event(end, EventKind::Detached));
        }
        emit(event(head, EventKind::Attached { parent: None }));
    }

    fn supersede(&mut self, head: RecordHeader, before: i32, emit: &mut dyn FnMut(TraceEvent)) {
        if let Some(End { call, end }) = self.ends.remove(&head.pid) {
            let end = TraceEvent {
                kind: EventKind::Superseded { by: before },
                ..end
            };
            let superseded = End { call, end };
            if self.waits {
                self.superseded.insert(head.tid, superseded);
            } else {
                superseded.emit_to(emit);
            }
        }
        if let Some(thread) = self.threads.remove(&before) {
            self.threads.insert(head.tid, thread);
        }
        if self.waits {
            self.executed.insert(head.tid, before);
        }
    }

    /// Emits that a first thread is gone, now that the call has come back by which it is: that was begun by another number.
    fn emit_superseded(
        &mut self,
        head: RecordHeader,
        record: RingRecord<'_>,
        emit: &mut dyn FnMut(TraceEvent),
    ) {
        // That one which stopped at its calls is gone is known before this is, or after.
        if let RingRecord::Executed { .. } = record {
            return;
        }
        self.executed.remove(&head.tid);
        let Some(mut superseded) = self.superseded.remove(&head.tid) else {
            return;
        };
        // Where each thread has a file, nothing comes between the call's beginning and that its thread has another number.
        if !self.pending
            && let Some(broken_off) = superseded.call.take()
        {
            emit(broken_off);
        }
        if let (EventKind::Superseded { by }, RingRecord::Call(call)) =
            (&superseded.end.kind, record)
        {
            let begun = RecordHeader { tid: *by, ..head };
            let pieces = self.threads.get(&head.tid);
            let pieces = pieces.map_or_else(Vec::new, |thread| thread.pieces.clone());
            let (call, _) = made(begun, call, pieces, SyscallOutcome::Open);
            emit(event(begun, EventKind::Pending(call)));
        }
        superseded.emit_to(emit);
    }

    fn call(
        &mut self,
        head: RecordHeader,
        record: CallRecord<'_>,
        emit: &mut dyn FnMut(TraceEvent),
    ) {
        let thread = self.threads.get_mut(&head.tid);
        if head.flags & flag::BEGUN != 0 {
            let pieces = thread.map_or_else(Vec::new, |thread| {
                thread.pending = record.entered;
                thread.pieces.clone()
            });
            let (call, _) = made(head, record, pieces, SyscallOutcome::Open);
            emit(event(head, EventKind::Pending(call)));
            return;
        }
        let pieces = thread
            .map(|thread| std::mem::take(&mut thread.pieces))
            .unwrap_or_default();
        if !self.left.is_empty() {
            self.left.remove(&head.tid);
        }
        let open = head.flags & flag::OPEN != 0;
        let outcome = if open {
            SyscallOutcome::Open
        } else {
            SyscallOutcome::Returned {
                value: record.value,
                took: head.at.saturating_sub(record.entered),
            }
        };
        let (mut call, guesses) = made(head, record, pieces, outcome);
        call.worked = (self.works && !open).then_some(record.worked);
        let planned = self.planned[usize::from(head.abi & 1)]
            .get(record.number as usize)
            .is_some_and(|planned| *planned);
        if let Some(limits) = self.limits
            && (!planned || head.flags & (flag::CUT | flag::JOINED) != 0)
        {
            complete(head.tid, &mut call, &guesses, !open, limits);
        }
        let event = event(head, EventKind::Call(call));
        // The end of a first thread is told after the others', and what it was in just before that.
        let others = || self.sizes.get(&head.pid).is_some_and(|size| *size > 1);
        if open && head.tid == head.pid && !ends_by_itself(head, record) && others() {
            self.last.insert(head.tid, event);
        } else {
            emit(event);
        }
    }

    fn forked(
        &mut self,
        head: RecordHeader,
        child: i32,
        process: i32,
        emit: &mut dyn FnMut(TraceEvent),
    ) {
        self.threads.insert(
            child,
            Thread {
                pid: process,
                at: head.at,
                ..Thread::default()
            },
        );
        *self.sizes.entry(process).or_default() += 1;
        let what = EventKind::Attached {
            parent: Some(head.tid),
        };
        emit(TraceEvent {
            pid: process,
            tid: child,
            at: head.at,
            kind: what,
        });
    }

    fn exited(&mut self, head: RecordHeader, status: i32, emit: &mut dyn FnMut(TraceEvent)) {
        self.threads.remove(&head.tid);
        let left = self.without_one(head.pid);
        let what = if status & 0x7f == 0 {
            EventKind::Exited {
                status: status >> 8 & 0xff,
            }
        } else {
            EventKind::Killed {
                signal: status & 0x7f,
                core: status & 0x80 != 0,
            }
        };
        let end = End {
            call: self.last.remove(&head.tid),
            end: event(head, what),
        };
        if head.tid == head.pid && left > 0 {
            // Its number is its process's, which goes on.
            self.ends.insert(head.pid, end);
            return;
        }
        end.emit_to(emit);
        if left == 0
            && let Some(mut first) = self.ends.remove(&head.pid)
        {
            first.end.at = head.at;
            first.emit_to(emit);
        }
    }

    fn note_thread(&mut self, pid: i32, tid: i32) {
        let thread = self.threads.entry(tid).or_default();
        if thread.pid == 0 {
            thread.pid = pid;
            *self.sizes.entry(pid).or_default() += 1;
        }
        thread.at = now();
    }

    /// How many threads a process has, now that one is gone.
    fn without_one(&mut self, pid: i32) -> usize {
        let Some(size) = self.sizes.get_mut(&pid) else {
            return 0;
        };
        *size = size.saturating_sub(1);
        let left = *size;
        if left == 0 {
            self.sizes.remove(&pid);
        }
        left
    }

    /// Takes an event of a thread that stops at its calls. What a first thread was in, and that it is gone, waits for the call of
    /// the thread by which it is, where that one's are told by records.
    fn take_event(&mut self, event: TraceEvent, emit: &mut dyn FnMut(TraceEvent)) {
        let tid = event.tid;
        // It was a thread of this side after all.
        if let Some(superseded) = self.superseded.remove(&tid) {
            superseded.emit_to(emit);
        }
        let call = self.last.remove(&tid);
        match event.kind {
            EventKind::Call(ref made) if self.waits && tid == event.pid && is_broken_off(made) => {
                self.last.insert(tid, event);
            }
            EventKind::Superseded { by }
                if self.waits
                    && (self.threads.contains_key(&by) || self.executed.get(&tid) == Some(&by)) =>
            {
                self.superseded.insert(tid, End { call, end: event });
            }
            _ => End { call, end: event }.emit_to(emit),
        }
    }

    /// Takes what the backpressure thread saw.
    pub fn report(&mut self, report: TraceeReport, emit: &mut dyn FnMut(TraceEvent)) {
        match report {
            TraceeReport::Event(event) => self.take_event(*event, emit),
            TraceeReport::Stopping { pid, tid } => self.note_thread(pid, tid),
            TraceeReport::Gone { pid, tid, replaced } => {
                if !replaced {
                    self.threads.remove(&tid);
                }
                if self.without_one(pid) == 0
                    && let Some(first) = self.ends.remove(&pid)
                {
                    first.emit_to(emit);
                }
            }
            TraceeReport::Executed { tid, before } => {
                if let Some(End { call, end }) = self.ends.remove(&tid) {
                    let kind = EventKind::Superseded { by: before };
                    let end = TraceEvent { kind, ..end };
                    End { call, end }.emit_to(emit);
                }
                if let Some(thread) = self.threads.remove(&before) {
                    self.threads.insert(tid, thread);
                }
            }
            TraceeReport::Attached { pid, tid } => {
                self.note_thread(pid, tid);
                emit(TraceEvent {
                    pid,
                    tid,
                    at: now(),
                    kind: EventKind::Attached { parent: None },
                });
            }
            TraceeReport::Within(within) => {
                let (pid, tid, mut call) = *within;
                if let Some(limits) = self.limits {
                    complete(tid, &mut call, &CapturedMemory::default(), false, limits);
                }
                emit(TraceEvent {
                    pid,
                    tid,
                    at: call.entered,
                    kind: EventKind::Pending(call),
                });
            }
            TraceeReport::Stopped { tid, signal, at } => {
                let pid = self.threads.get(&tid).map_or(tid, |thread| thread.pid);
                emit(TraceEvent {
                    pid,
                    tid,
                    at,
                    kind: EventKind::Stopped { signal },
                });
            }
        }
    }

    /// Nothing comes: emits the calls that have been under way for long.
    pub fn idle(&mut self, emit: &mut dyn FnMut(TraceEvent)) {
        if !self.pending || self.looked.elapsed() < LOOK {
            return;
        }
        self.looked = Instant::now();
        let now = now();
        let old = now.saturating_sub(u64::try_from(PENDING.as_nanos()).unwrap_or(u64::MAX));
        // One whose last record came after its call was told is in another call, or in none.
        let waiting = self
            .threads
            .iter_mut()
            .filter(|(_, thread)| thread.at < old && thread.pending <= thread.at);
        for (tid, thread) in waiting.take(LOOK_MOST) {
            let Ok(storage) = self.storages.get(*tid) else {
                continue;
            };
            let Some((head, record)) = records::under_way(&storage) else {
                continue;
            };
            if record.entered >= old || record.entered <= thread.at {
                continue;
            }
            thread.pending = record.entered;
            let head = RecordHeader {
                pid: thread.pid,
                tid: *tid,
                at: now,
                ..head
            };
            emit(event(
                head,
                EventKind::Pending(
                    made(head, record, thread.pieces.clone(), SyscallOutcome::Open).0,
                ),
            ));
        }
    }

    /// Threads are about to be let go: notes the calls that they are in.
    pub fn leave(&mut self) {
        if !self.tells_left {
            return;
        }
        for (tid, thread) in self.threads.iter() {
            let Ok(storage) = self.storages.get(*tid) else {
                continue;
            };
            let Some((head, record)) = records::under_way(&storage) else {
                continue;
            };
            // One that was told as going on, or that has come back since.
            if record.entered <= thread.at.max(thread.pending) {
                continue;
            }
            let head = RecordHeader {
                pid: thread.pid,
                tid: *tid,
                at: now(),
                ..head
            };
            let (call, _) = made(head, record, thread.pieces.clone(), SyscallOutcome::Open);
            self.left
                .insert(*tid, event(head, EventKind::Pending(call)));
        }
    }

    /// Tells what was held back.
    pub fn finish(&mut self, emit: &mut dyn FnMut(TraceEvent)) {
        self.last.drain().for_each(|(_, call)| emit(call));
        let superseded = self.superseded.drain();
        for (_, end) in superseded.chain(self.ends.drain()) {
            end.emit_to(emit);
        }
        for (tid, thread) in self.threads.drain() {
            if let Some(left) = self.left.remove(&tid) {
                emit(left);
            }
            emit(TraceEvent {
                pid: thread.pid,
                tid,
                at: now(),
                kind: EventKind::Detached,
            });
        }
    }
}

/// Whether a call is told that puts another program in a process.
fn executions_are_told(options: &TraceOptions) -> bool {
    let mut calls = table::named_syscalls(Abi::NATIVE);
    calls.any(|call| {
        capture_plan::replaces(call.name) && options.calls.contains(call.abi, call.number)
    })
}

/// Whether a call ends its thread, and not another's call.
fn ends_by_itself(head: RecordHeader, record: CallRecord<'_>) -> bool {
    let row = table::find_syscall(ABIS[usize::from(head.abi & 1)], u64::from(record.number));
    row.is_some_and(|row| capture_plan::ends(row.name))
}

/// Whether a call ended with its thread, which something else ended.
fn is_broken_off(call: &SyscallRecord) -> bool {
    let row = table::find_syscall(call.abi, call.number);
    call.outcome == SyscallOutcome::Open && !row.is_some_and(|row| capture_plan::ends(row.name))
}

fn event(head: RecordHeader, what: EventKind) -> TraceEvent {
    TraceEvent {
        pid: head.pid,
        tid: head.tid,
        at: head.at,
        kind: what,
    }
}

fn got(piece: PieceRecord<'_>) -> Got {
    Got {
        piece: MemoryPiece {
            address: piece.address,
            when: if piece.entered {
                CapturePoint::Entered
            } else {
                CapturePoint::Left
            },
            bytes: piece.bytes.to_vec(),
        },
        guessed: piece.guessed,
    }
}

/// The call, and what was captured that nobody asked for.
fn made(
    head: RecordHeader,
    record: CallRecord<'_>,
    fragments: Vec<Got>,
    outcome: SyscallOutcome,
) -> (SyscallRecord, CapturedMemory) {
    let mut memory = CapturedMemory::default();
    let mut guesses = CapturedMemory::default();
    for got in fragments.into_iter().chain(record.pieces.map(got)) {
        if got.guessed {
            guesses.add(got.piece);
        } else {
            memory.add(got.piece);
        }
    }
    memory.set_netlink(flag::netlink(head.flags));
    let call = SyscallRecord {
        abi: ABIS[usize::from(head.abi & 1)],
        number: u64::from(record.number),
        arguments: record.arguments,
        entered: record.entered,
        outcome,
        memory,
        injected: false,
        rewritten: false,
        delayed: false,
        instruction: None,
        worked: None,
    };
    (call, guesses)
}

/// Takes what is wanted from what was guessed, and reads the rest where the program is still there.
fn complete(
    tid: i32,
    call: &mut SyscallRecord,
    guesses: &CapturedMemory,
    left: bool,
    limits: CaptureLimits,
) {
    for when in [
        Some(CapturePoint::Entered),
        left.then_some(CapturePoint::Left),
    ]
    .into_iter()
    .flatten()
    {
        // Pieces may hold pointers to others; nothing goes deeper than this.
        for _ in 0..6 {
            let wanted = missing_memory(call, when, limits);
            if wanted.is_empty() {
                break;
            }
            let piece = |want: MemoryRequest| {
                let all = [guesses, &call.memory].into_iter();
                let held = all.filter_map(|memory| memory.longest(want.address, when));
                let guess = held.max_by_key(|bytes| bytes.len()).unwrap_or_default();
                let bytes = if holds(guess, want.extent) {
                    guess.to_vec()
                } else {
                    // Where less is there by now, the program is gone, or its memory another's.
                    let bytes = read(tid, want);
                    match guess.len() > bytes.len() {
                        true => guess.to_vec(),
                        false => bytes,
                    }
                };
                MemoryPiece {
                    address: want.address,
                    when,
                    bytes,
                }
            };
            let pieces: Vec<MemoryPiece> = wanted.into_iter().map(piece).collect();
            for piece in pieces {
                call.memory.add(piece);
            }
        }
    }
}

/// Whether this is all that is wanted.
fn holds(bytes: &[u8], extent: ReadExtent) -> bool {
    match extent {
        ReadExtent::Bytes(most) => bytes.len() >= most,
        ReadExtent::Text(most) => bytes.len() >= most || bytes.contains(&0),
        ReadExtent::Descriptor(_) => !bytes.is_empty(),
    }
}

/// Reads from a thread's memory as far as there is any; for text, up to its end.
fn read(tid: i32, want: MemoryRequest) -> Vec<u8> {
    const PAGE: u64 = 4096;
    let (most, text) = match want.extent {
        ReadExtent::Bytes(most) => (most, false),
        ReadExtent::Text(most) => (most, true),
        ReadExtent::Descriptor(fd) => return describe_anonymous_file(tid, fd),
    };
    let most = most.min(records::PIECE_MOST);
    let mut bytes = Vec::with_capacity(if text { most.min(256) } else { most });
    while bytes.len() < most {
        let Some(address) = want.address.checked_add(bytes.len() as u64) else {
            break;
        };
        let page_left = PAGE - address % PAGE;
        let size = (most - bytes.len()).min(usize::try_from(page_left).unwrap_or(0));
        let from = bytes.len();
        bytes.resize(from + size, 0);
        let got = read_once(tid, address, &mut bytes[from..]);
        bytes.truncate(from + got);
        if got < size {
            break;
        }
        if let Some(end) = bytes[from..]
            .iter()
            .position(|byte| *byte == 0)
            .filter(|_| text)
        {
            bytes.truncate(from + end + 1);
            break;
        }
    }
    bytes
}

fn read_once(tid: i32, address: u64, to: &mut [u8]) -> usize {
    let local = libc::iovec {
        iov_base: to.as_mut_ptr().cast(),
        iov_len: to.len(),
    };
    let remote = libc::iovec {
        iov_base: std::ptr::without_provenance_mut(address as usize),
        iov_len: to.len(),
    };
    // SAFETY: the kernel writes to `to` alone, and no more than its length; the other address is of another process.
    let got = unsafe { libc::process_vm_readv(tid, &raw const local, 1, &raw const remote, 1, 0) };
    usize::try_from(got).unwrap_or(0)
}
