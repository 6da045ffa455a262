//! Stops at the entry and at the end of calls: capture of memory, injections, filters, events.

use std::{
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::Path,
};

use super::page_cache::PageCache;
use super::tracee::OngoingCall;
use super::{Engine, MANY, Next, OFTEN_ALONE, cpu_placement};
use crate::clock::now;
use crate::descriptors;
use crate::options::{CallStatus, MemoryPoke, SyscallTampering};
use crate::ptrace::requests;
use crate::ptrace::requests::{SyscallEntry, SyscallStop, Tid};
use backsight_syscall_decode::capture::{missing_memory, polled_descriptors};
use backsight_syscall_decode::memory::{CaptureLimits, MemoryRequest, ReadExtent};
use backsight_syscall_decode::{
    Abi, CapturePoint, CapturedMemory, EventKind, MemoryPiece, StackFrame, SyscallOutcome,
    SyscallRecord, TraceEvent, table,
};

/// The longest path there is.
const PATH_MAX: usize = 4096;
/// How often memory is looked into for one call: pointers to pointers, and an end for tables that want ever more.
const ROUNDS: usize = 16;

impl Engine<'_> {
    /// A thread stopped at the entry or at the end of a call.
    pub(super) fn call(&mut self, tid: Tid) -> Next {
        match self.call_stop(tid) {
            Next::Go(0) if self.hands_over && self.hand_over(tid) => Next::Stay,
            next => next,
        }
    }

    fn call_stop(&mut self, tid: Tid) -> Next {
        match self.is_alone(tid) {
            true => self.placement.stopped(tid),
            false => self.placement.crowded(),
        }
        let Some(tracee) = self.tracees.get_mut(&tid) else {
            return Next::Stay;
        };
        // What isn't told needs no look at its result.
        if tracee
            .call
            .as_ref()
            .is_some_and(|open| !open.reported && open.result.is_none())
        {
            let hold = tracee.call.take().and_then(|open| open.hold);
            return self.go_after(tid, hold, 0);
        }
        match requests::call_info(tid) {
            Ok(SyscallStop::Entry(entry)) => self.entered(tid, entry),
            Ok(SyscallStop::Exit(value)) => self.left(tid, value),
            // Killed meanwhile.
            Ok(SyscallStop::Nowhere) | Err(_) => Next::Go(0),
        }
    }

    /// The filter stopped a thread at the entry of a call.
    pub(super) fn filtered_call(&mut self, tid: Tid) -> Next {
        match requests::call_info(tid) {
            Ok(SyscallStop::Entry(entry)) => self.entered(tid, entry),
            _ => Next::Go(0),
        }
    }

    /// Whether nobody but this process runs, as far as can be seen: nothing else happened for a while, and all others
    /// are in calls.
    fn is_alone(&self, tid: Tid) -> bool {
        if self.filtered || !self.early.is_empty() {
            return false;
        }
        let others = || self.tracees.iter().filter(|(other, _)| **other != tid);
        self.tracees.len() == 1
            || self.alone_for >= OFTEN_ALONE
                && self.tracees.len() <= MANY
                // One that executes a program would get another number.
                && self.tracees.get(&tid).is_some_and(|it| it.pid == tid)
                && others().all(|(_, other)| other.call.is_some())
    }

    fn go_after(&mut self, tid: Tid, hold: Option<std::time::Duration>, signal: i32) -> Next {
        match hold {
            Some(how_long) => self.hold(tid, how_long, signal),
            None => Next::Go(signal),
        }
    }

    fn entered(&mut self, tid: Tid, entry: SyscallEntry) -> Next {
        let Some(tracee) = self.tracees.get_mut(&tid) else {
            return Next::Stay;
        };
        let pid = tracee.pid;
        let Some(abi) = entry.abi else {
            self.ended.lost += 1;
            self.emit_event(pid, tid, EventKind::Lost { number: 1 });
            return Next::Go(0);
        };
        let (number, mut arguments) = (entry.number, entry.arguments);
        if table::find_syscall(abi, number).is_some_and(|row| row.stacked) {
            arguments[0] = entry.stack;
        }
        let chosen = self.options.calls.contains(abi, number);
        let reported = chosen && (!tracee.quiet || is_exec(abi, number));
        let worked = tracee.worked;
        if let Some((abi, resumed)) = tracee.interrupted.take()
            && reported
            && is_restart(abi, number)
        {
            let number = resumed;
            self.emit_event(pid, tid, EventKind::Interrupted { abi, number });
        }
        let mut open = OngoingCall {
            call: SyscallRecord {
                instruction: self.options.instructions.then_some(entry.instruction),
                ..SyscallRecord::open(abi, number, arguments, now())
            },
            worked,
            reported,
            pending: false,
            leaves: false,
            result: None,
            hold: None,
            pokes: Vec::new(),
            frames: Vec::new(),
        };
        if reported {
            if table::find_syscall(abi, number)
                .is_some_and(table::SyscallDefinition::uses_socket_data)
                && self.captures()
            {
                let protocol = descriptors::netlink_protocol(pid, arguments[0] as i32);
                open.call.memory.set_netlink(protocol);
            }
            self.capture(tid, &mut open.call, CapturePoint::Entered);
            open.reported = self.concerns_files(tid, &open.call);
        }
        // What the call does to the program's memory isn't done yet. Until the command is executed, its functions are ours.
        let is_ours = self.starting.is_some() && self.command == Some(tid);
        if open.reported && !is_ours {
            open.frames = self.frames(pid, tid);
        }
        // Of one that replaces the program it is detached when that is done: the search of a path fails until it finds one.
        open.leaves = self.options.detach_on.contains(abi, number) && !self.is_quiet(tid);
        if open.leaves && !is_exec(abi, number) {
            return self.detach_in(tid, open);
        }
        let path = arguments[cpu_placement::path_argument(abi, number)];
        self.placement.before(abi, number, || {
            let text = MemoryRequest {
                address: path,
                extent: ReadExtent::Text(PATH_MAX),
            };
            self.pages.forget();
            self.pages.read(tid, text).ends_with(b"status\0")
        });
        let tamper = self.tamper(tid, &open);
        self.enter(tid, open, tamper)
    }

    fn is_quiet(&self, tid: Tid) -> bool {
        self.tracees.get(&tid).is_some_and(|tracee| tracee.quiet)
    }

    /// Tells what is to be told at the entry, does what is to be done to the call, and lets it be made.
    fn enter(&mut self, tid: Tid, mut open: OngoingCall, tamper: SyscallTampering) -> Next {
        if !tamper.poked_before.is_empty() && self.poke(tid, &open.call, &tamper.poked_before) {
            open.call.rewritten = true;
            if open.reported {
                open.call.memory = CapturedMemory::default();
                self.capture(tid, &mut open.call, CapturePoint::Entered);
            }
        }
        let instead = tamper
            .instead
            .and_then(|name| table::syscall_number(open.call.abi, name))
            .and_then(|number| i64::try_from(number).ok());
        if let Some(number) = instead {
            // Should it fail, the call is made as it is.
            let _made_as_it_is = requests::make_call(tid, number);
        }
        if tamper.result.is_some() && (instead.is_some() || requests::skip_call(tid).is_ok()) {
            open.result = tamper.result;
            open.call.injected = true;
        } else if instead.is_some() {
            // What the other call would say is none of the program's business.
            open.result = Some(0);
        }
        open.call.delayed = tamper.before.is_some() || tamper.after.is_some();
        open.pokes = tamper.poked_after;
        open.hold = tamper.after;
        self.begin_line(tid, &open);
        let early = self.options.early && open.reported;
        let changes = early && changes_what_is(tid, &open.call);
        if changes && self.options.statuses.is_all() {
            self.line = Some(tid);
            self.emit_pending(tid, open.call.clone());
        }
        if open.reported && open.result.is_none() && never_returns(open.call.abi, open.call.number)
        {
            open.reported = false;
            let (call, frames) = (open.call.clone(), std::mem::take(&mut open.frames));
            self.emit_call(tid, call, frames);
        }
        if let Some(tracee) = self.tracees.get_mut(&tid) {
            tracee.call = Some(open);
        }
        self.go_after(tid, tamper.before, tamper.signal.unwrap_or(0))
    }

    fn left(&mut self, tid: Tid, value: i64) -> Next {
        let Some(mut open) = self
            .tracees
            .get_mut(&tid)
            .and_then(|tracee| tracee.call.take())
        else {
            // Entered before it was attached to.
            return Next::Go(0);
        };
        let at = now();
        if self.options.work
            && let Some(tracee) = self.tracees.get(&tid)
        {
            open.call.worked = Some(tracee.worked.saturating_sub(open.worked));
        }
        let mut value = value;
        if let Some(result) = open.result
            && requests::set_result(tid, result).is_ok()
        {
            value = result;
        }
        open.call.outcome = SyscallOutcome::Returned {
            value,
            took: at.saturating_sub(open.call.entered),
        };
        if !open.pokes.is_empty() {
            let pokes = std::mem::take(&mut open.pokes);
            open.call.rewritten |= self.poke(tid, &open.call, &pokes);
        }
        if open.reported {
            if self
                .options
                .statuses
                .contains(CallStatus::from_call(&open.call))
            {
                self.capture(tid, &mut open.call, CapturePoint::Left);
            }
            if self.options.stacks && maps(open.call.abi, open.call.number) {
                self.forget_stacks(tid);
            }
            self.emit_call(tid, open.call, open.frames);
        }
        self.go_after(tid, open.hold, 0)
    }

    /// Emits a call, if calls that ended so are asked for.
    pub(super) fn emit_call(&mut self, tid: Tid, call: SyscallRecord, frames: Vec<StackFrame>) {
        if !self.options.statuses.contains(CallStatus::from_call(&call)) || self.is_at_limit() {
            return;
        }
        let Some(tracee) = self.tracees.get(&tid) else {
            return;
        };
        let pid = tracee.pid;
        let at = match call.outcome {
            SyscallOutcome::Returned { took, .. } => call.entered + took,
            SyscallOutcome::Open => now(),
        };
        self.finish_line(tid);
        self.ended.calls += 1;
        (self.emit)(TraceEvent {
            pid,
            tid,
            at,
            kind: EventKind::Call(call),
        });
        self.emit_stack(pid, tid, frames);
    }

    /// The functions that a stopped thread is in, where that is asked for.
    pub(super) fn frames(&mut self, pid: i32, tid: Tid) -> Vec<StackFrame> {
        if !self.options.stacks {
            return Vec::new();
        }
        let mut frames = self.stacks.unwind(pid, tid, &mut self.pages);
        frames.truncate(self.options.stack_frames);
        frames
    }

    /// Emits the stack of the last event.
    pub(super) fn emit_stack(&mut self, pid: i32, tid: Tid, frames: Vec<StackFrame>) {
        if !frames.is_empty() {
            (self.emit)(TraceEvent {
                pid,
                tid,
                at: now(),
                kind: EventKind::Stack(frames),
            });
        }
    }

    fn forget_stacks(&mut self, tid: Tid) {
        if let Some(tracee) = self.tracees.get(&tid) {
            self.stacks.forget(tracee.pid);
        }
    }

    /// Whether anything of a call's memory is told.
    fn captures(&self) -> bool {
        self.options.limits.is_some()
    }

    /// Reads what a call is to be shown with.
    fn capture(&mut self, tid: Tid, call: &mut SyscallRecord, when: CapturePoint) {
        let limits = match (self.options.limits, self.options.chooses_files()) {
            (Some(limits), _) => limits,
            (None, false) => return,
            (None, true) => CaptureLimits::default(),
        };
        capture(&mut self.pages, tid, call, when, limits);
    }

    /// Writes behind a call's pointers; whether something of each was written.
    fn poke(&mut self, tid: Tid, call: &SyscallRecord, pokes: &[MemoryPoke]) -> bool {
        let arguments =
            table::find_syscall(call.abi, call.number).map_or(0, |row| row.arguments.len());
        let mut done = true;
        for poke in pokes {
            let argument = poke.argument;
            let written =
                argument < arguments && self.write(tid, call.arguments[argument], &poke.bytes);
            if !written && let Some(tracee) = self.tracees.get(&tid) {
                (self.emit)(TraceEvent {
                    pid: tracee.pid,
                    tid,
                    at: now(),
                    kind: EventKind::Unchanged {
                        abi: call.abi,
                        number: call.number,
                        argument,
                    },
                });
            }
            done &= written;
        }
        self.pages.forget();
        done
    }

    /// Writes into a thread's memory; whether any of it could be.
    fn write(&mut self, tid: Tid, address: u64, bytes: &[u8]) -> bool {
        requests::write(tid, address, bytes) > 0 || self.force(tid, address, bytes)
    }

    /// The same word by word, also where the program itself may not write. A word at a multiple of its size is in one page.
    fn force(&mut self, tid: Tid, address: u64, bytes: &[u8]) -> bool {
        const WORD: u64 = size_of::<u64>() as u64;
        self.pages.forget();
        let mut done = 0;
        while done < bytes.len() {
            let Some(to) = address.checked_add(done as u64) else {
                break;
            };
            let within = (to % WORD) as usize;
            let at = to - to % WORD;
            let extent = ReadExtent::Bytes(WORD as usize);
            let there = self.pages.read(
                tid,
                MemoryRequest {
                    address: at,
                    extent,
                },
            );
            let Ok(mut word) = <[u8; WORD as usize]>::try_from(there.as_slice()) else {
                break;
            };
            let part = (WORD as usize - within).min(bytes.len() - done);
            word[within..within + part].copy_from_slice(&bytes[done..done + part]);
            if requests::poke(tid, at, u64::from_ne_bytes(word)).is_err() {
                break;
            }
            done += part;
        }
        done > 0
    }

    /// What is to be done to a call: nothing to those that aren't traced, as strace has it.
    fn tamper(&mut self, tid: Tid, open: &OngoingCall) -> SyscallTampering {
        let options = self.options;
        let chosen = options.calls.contains(open.call.abi, open.call.number);
        let concerns = chosen && (!options.chooses_files() || open.reported);
        let Some(tracee) = self
            .tracees
            .get_mut(&tid)
            .filter(|tracee| !tracee.quiet && concerns)
        else {
            return SyscallTampering::default();
        };
        let (abi, number) = (open.call.abi, open.call.number);
        // What is said last of a call holds.
        let mut said = options.injections.iter().enumerate().rev();
        match said.find(|(_, injection)| injection.calls.contains(abi, number)) {
            Some((index, injection))
                if injection.schedule.contains(tracee.count(index, number)) =>
            {
                injection.tamper.clone()
            }
            _ => SyscallTampering::default(),
        }
    }

    /// Whether a call concerns one of the paths or descriptors that are asked for: a path by name or by descriptor.
    fn concerns_files(&self, tid: Tid, call: &SyscallRecord) -> bool {
        let options = self.options;
        if !options.chooses_files() || options.paths.iter().any(|path| names(call, path)) {
            return true;
        }
        let mut all = files_of(call).chain(polled_descriptors(call));
        all.any(|descriptor| {
            let number = u64::from(descriptor.cast_unsigned());
            options.traced_descriptors.contains(number)
                || !options.paths.is_empty() && self.has_path(tid, descriptor)
        })
    }

    /// Whether a descriptor is of one of the paths that are asked for.
    fn has_path(&self, tid: Tid, descriptor: i32) -> bool {
        let shown = crate::processes::shown_as(tid);
        let place = format!("/proc/{shown}/fd/{descriptor}");
        std::fs::read_link(&place).is_ok_and(|link| {
            let link = link.into_os_string().into_vec();
            let (path, _) = descriptors::path_of(&place, link);
            let mut paths = self.options.paths.iter();
            paths.any(|asked| asked.as_os_str().as_bytes() == path)
        })
    }
}

/// Whether a text behind one of a call's pointers is this path; of `fsconfig` only the path that it sets.
fn names(call: &SyscallRecord, path: &Path) -> bool {
    let path = path.as_os_str().as_bytes();
    let setting = setting_of(call);
    call.memory
        .pieces()
        .iter()
        .filter(|piece| match setting {
            Some(command) => SETS_PATH.contains(&command) && piece.address == call.arguments[3],
            None => true,
        })
        .any(|piece| piece.bytes.split_last() == Some((&0, path)))
}

/// The descriptors among a call's arguments; of `fsconfig` only the one that it sets, or that a path begins at.
fn files_of(call: &SyscallRecord) -> impl Iterator<Item = i32> {
    let arguments = table::find_syscall(call.abi, call.number).map_or(&[][..], |row| row.arguments);
    let setting = setting_of(call);
    let concerns = move |name: &str| match setting {
        Some(command) => {
            name == "aux" && (command == SETS_DESCRIPTOR || SETS_PATH.contains(&command))
        }
        None => is_descriptor(name),
    };
    arguments
        .iter()
        .zip(call.arguments)
        .filter(move |(argument, _)| concerns(argument.name))
        .map(|(_, value)| value as i32)
}

/// The commands of `fsconfig` that set a path, `FSCONFIG_SET_PATH` and `FSCONFIG_SET_PATH_EMPTY`.
const SETS_PATH: std::ops::RangeInclusive<u64> = 3..=4;
/// The one that sets a descriptor, `FSCONFIG_SET_FD`.
const SETS_DESCRIPTOR: u64 = 5;

/// The command of `fsconfig`; nothing of other calls.
fn setting_of(call: &SyscallRecord) -> Option<u64> {
    let row = table::find_syscall(call.abi, call.number)?;
    (row.name == "fsconfig").then_some(call.arguments[1] & 0xffff_ffff)
}

/// Whether the kernel calls descriptors so.
fn is_descriptor(name: &str) -> bool {
    name.ends_with("fd") || matches!(name, "fildes" | "fd_in" | "fd_out" | "dfd")
}

/// Asks the table what a call is shown with and reads that, until nothing more is wanted.
fn capture(
    pages: &mut PageCache,
    tid: Tid,
    call: &mut SyscallRecord,
    when: CapturePoint,
    limits: CaptureLimits,
) {
    for round in 0..ROUNDS {
        let wanted = missing_memory(call, when, limits);
        if wanted.is_empty() {
            return;
        }
        if round == 0 {
            pages.forget();
        }
        for want in wanted {
            call.memory.add(MemoryPiece {
                address: want.address,
                when,
                bytes: pages.read(tid, want),
            });
        }
    }
}

/// Whether this may make a descriptor, or a process, what it wasn't before. What goes through an event descriptor changes its
/// count.
fn changes_what_is(tid: Tid, call: &SyscallRecord) -> bool {
    let name = table::find_syscall(call.abi, call.number).map_or("", |row| row.name);
    match name {
        "close" | "dup2" | "dup3" | "bind" | "connect" | "listen" | "waitid" => true,
        "read" | "readv" | "write" | "writev" => {
            descriptors::is_event_descriptor(tid, call.arguments[0] as i32)
        }
        _ => false,
    }
}

/// Whether this maps what may be executed, or takes it away.
fn maps(abi: Abi, number: u64) -> bool {
    let name = table::find_syscall(abi, number).map_or("", |row| row.name);
    matches!(
        name,
        "mmap" | "mmap2" | "munmap" | "mprotect" | "pkey_mprotect" | "mremap" | "shmat" | "shmdt"
    )
}

/// Whether this is `execve` or `execveat`.
fn is_exec(abi: Abi, number: u64) -> bool {
    match abi {
        Abi::X86_64 => matches!(number, 59 | 322),
        Abi::I386 => matches!(number, 11 | 358),
        Abi::Aarch64 => matches!(number, 221 | 281),
    }
}

/// Whether this is `restart_syscall`, by which a thread takes up a call that was interrupted.
fn is_restart(abi: Abi, number: u64) -> bool {
    match abi {
        Abi::X86_64 => number == 219,
        Abi::I386 => number == 0,
        Abi::Aarch64 => number == 128,
    }
}

/// Whether this is `exit` or `exit_group`.
fn never_returns(abi: Abi, number: u64) -> bool {
    match abi {
        Abi::X86_64 => matches!(number, 60 | 231),
        Abi::I386 => matches!(number, 1 | 252),
        Abi::Aarch64 => matches!(number, 93 | 94),
    }
}
