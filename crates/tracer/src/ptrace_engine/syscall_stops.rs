//! Calls as they are entered and left.

use std::{
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::Path,
};

use super::page_cache::Pages;
use super::tracee::Open;
use super::{Engine, MANY, Next, OFTEN_ALONE, cpu_placement, now};
use crate::descriptors;
use crate::options::{Poke, Status, Tamper};
use crate::ptrace::requests;
use crate::ptrace::requests::{At, Entry, Tid};
use backsight_syscall_decode::capture::{waited_for, wants};
use backsight_syscall_decode::memory::{Extent, Limits, Want};
use backsight_syscall_decode::{
    Abi, Call, Event, Frame, Memory, Outcome, Piece, What, When, table,
};

/// The longest path there is.
const PATH_MAX: usize = 4096;
/// How often memory is looked into for one call: pointers to pointers, and an end for tables that want ever more.
const ROUNDS: usize = 16;

impl Engine<'_> {
    /// A thread stopped at the entry or at the end of a call.
    pub(super) fn call(&mut self, tid: Tid) -> Next {
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
            .is_some_and(|open| !open.told && open.result.is_none())
        {
            let hold = tracee.call.take().and_then(|open| open.hold);
            return self.go_after(tid, hold, 0);
        }
        match requests::call_info(tid) {
            Ok(At::Entry(entry)) => self.entered(tid, entry),
            Ok(At::Exit(value)) => self.left(tid, value),
            // Killed meanwhile.
            Ok(At::Nowhere) | Err(_) => Next::Go(0),
        }
    }

    /// The filter stopped a thread at the entry of a call.
    pub(super) fn filtered_call(&mut self, tid: Tid) -> Next {
        match requests::call_info(tid) {
            Ok(At::Entry(entry)) => self.entered(tid, entry),
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

    fn entered(&mut self, tid: Tid, entry: Entry) -> Next {
        let Some(tracee) = self.tracees.get_mut(&tid) else {
            return Next::Stay;
        };
        let pid = tracee.pid;
        let Some(abi) = entry.abi else {
            self.ended.lost += 1;
            self.say(pid, tid, What::Lost { number: 1 });
            return Next::Go(0);
        };
        let (number, mut arguments) = (entry.number, entry.arguments);
        if table::row(abi, number).is_some_and(|row| row.stacked) {
            arguments[0] = entry.stack;
        }
        let chosen = self.asked.calls.has(abi, number);
        let told = chosen && (!tracee.quiet || is_exec(abi, number));
        let mut open = Open {
            call: Call {
                abi,
                number,
                arguments,
                entered: now(),
                outcome: Outcome::Open,
                memory: Memory::default(),
                injected: false,
                rewritten: false,
                delayed: false,
                instruction: self.asked.instructions.then_some(entry.instruction),
                worked: None,
            },
            worked: tracee.worked,
            told,
            pending: false,
            result: None,
            hold: None,
            pokes: Vec::new(),
            frames: Vec::new(),
        };
        if told {
            if table::row(abi, number).is_some_and(table::Row::speaks) && self.captures() {
                let protocol = descriptors::netlink_protocol(pid, arguments[0] as i32);
                open.call.memory.set_netlink(protocol);
            }
            self.capture(tid, &mut open.call, When::Entered);
            open.told = self.concerns_paths(tid, &open.call);
        }
        // What the call does to the program's memory isn't done yet. Until the command is executed, its functions are ours.
        let is_ours = self.starting.is_some() && self.command == Some(tid);
        if open.told && !is_ours {
            open.frames = self.frames(pid, tid);
        }
        if self.asked.detach_on.has(abi, number) && !self.is_quiet(tid) {
            return self.detach_in(tid, open);
        }
        let path = arguments[cpu_placement::path_argument(abi, number)];
        self.placement.before(abi, number, || {
            let text = Want {
                address: path,
                extent: Extent::Text(PATH_MAX),
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
    fn enter(&mut self, tid: Tid, mut open: Open, tamper: Tamper) -> Next {
        if !tamper.poked_before.is_empty() && self.poke(tid, &open.call, &tamper.poked_before) {
            open.call.rewritten = true;
            if open.told {
                open.call.memory = Memory::default();
                self.capture(tid, &mut open.call, When::Entered);
            }
        }
        let instead = tamper
            .instead
            .and_then(|name| table::number(open.call.abi, name))
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
        let changes = open.told && changes_what_is(open.call.abi, open.call.number);
        if self.asked.early && changes && self.asked.statuses.is_all() {
            self.line = Some(tid);
            self.tell_pending(tid, open.call.clone());
        }
        if open.told && open.result.is_none() && never_returns(open.call.abi, open.call.number) {
            open.told = false;
            let (call, frames) = (open.call.clone(), std::mem::take(&mut open.frames));
            self.tell_call(tid, call, frames);
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
        if self.asked.work
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
        open.call.outcome = Outcome::Returned {
            value,
            took: at.saturating_sub(open.call.entered),
        };
        if !open.pokes.is_empty() {
            let pokes = std::mem::take(&mut open.pokes);
            open.call.rewritten |= self.poke(tid, &open.call, &pokes);
        }
        if open.told {
            if self.asked.statuses.has(Status::of(&open.call)) {
                self.capture(tid, &mut open.call, When::Left);
            }
            if self.asked.stacks && maps(open.call.abi, open.call.number) {
                self.forget_stacks(tid);
            }
            self.tell_call(tid, open.call, open.frames);
        }
        self.go_after(tid, open.hold, 0)
    }

    /// Tells a call, if calls that ended so are told.
    pub(super) fn tell_call(&mut self, tid: Tid, call: Call, frames: Vec<Frame>) {
        if !self.asked.statuses.has(Status::of(&call)) || self.is_at_limit() {
            return;
        }
        let Some(tracee) = self.tracees.get(&tid) else {
            return;
        };
        let pid = tracee.pid;
        let at = match call.outcome {
            Outcome::Returned { took, .. } => call.entered + took,
            Outcome::Open => now(),
        };
        self.finish_line(tid);
        self.ended.told += 1;
        (self.tell)(Event {
            pid,
            tid,
            at,
            what: What::Call(call),
        });
        self.tell_stack(pid, tid, frames);
    }

    /// The functions that a stopped thread is in, where that is asked for.
    pub(super) fn frames(&mut self, pid: i32, tid: Tid) -> Vec<Frame> {
        match self.asked.stacks {
            true => self.stacks.of(pid, tid, &mut self.pages),
            false => Vec::new(),
        }
    }

    /// Tells what was told last in which functions.
    pub(super) fn tell_stack(&mut self, pid: i32, tid: Tid, frames: Vec<Frame>) {
        if !frames.is_empty() {
            (self.tell)(Event {
                pid,
                tid,
                at: now(),
                what: What::Stack(frames),
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
        self.asked.limits.is_some()
    }

    /// Reads what a call is to be shown with.
    fn capture(&mut self, tid: Tid, call: &mut Call, when: When) {
        let limits = match (self.asked.limits, self.asked.paths.is_empty()) {
            (Some(limits), _) => limits,
            (None, true) => return,
            (None, false) => Limits::default(),
        };
        capture(&mut self.pages, tid, call, when, limits);
    }

    /// Writes behind a call's pointers; whether something of each was written.
    fn poke(&mut self, tid: Tid, call: &Call, pokes: &[Poke]) -> bool {
        let arguments = table::row(call.abi, call.number).map_or(0, |row| row.arguments.len());
        let mut done = true;
        for poke in pokes {
            let argument = poke.argument;
            let written =
                argument < arguments && self.write(tid, call.arguments[argument], &poke.bytes);
            if !written && let Some(tracee) = self.tracees.get(&tid) {
                (self.tell)(Event {
                    pid: tracee.pid,
                    tid,
                    at: now(),
                    what: What::Unchanged {
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

    /// The same word by word, also where the program itself may not write.
    fn force(&mut self, tid: Tid, address: u64, bytes: &[u8]) -> bool {
        const WORD: usize = size_of::<u64>();
        // Whole words that would reach beyond the last address.
        if address.checked_add((bytes.len() + WORD) as u64).is_none() {
            return false;
        }
        self.pages.forget();
        for (at, part) in (address..).step_by(WORD).zip(bytes.chunks(WORD)) {
            let mut word = [0; WORD];
            if part.len() < WORD {
                let extent = Extent::Bytes(WORD);
                let there = self.pages.read(
                    tid,
                    Want {
                        address: at,
                        extent,
                    },
                );
                // What lies behind the end of a page can't be written to with it.
                let Ok(there) = <[u8; WORD]>::try_from(there.as_slice()) else {
                    return self.force_end(tid, address, bytes);
                };
                word = there;
            }
            word[..part.len()].copy_from_slice(part);
            if requests::poke(tid, at, u64::from_ne_bytes(word)).is_err() {
                return false;
            }
        }
        true
    }

    /// Writes the last bytes before memory ends, by the word that ends there.
    fn force_end(&mut self, tid: Tid, address: u64, bytes: &[u8]) -> bool {
        const WORD: usize = size_of::<u64>();
        let Some(last) = (address + bytes.len() as u64).checked_sub(WORD as u64) else {
            return false;
        };
        let extent = Extent::Bytes(WORD);
        let there = self.pages.read(
            tid,
            Want {
                address: last,
                extent,
            },
        );
        let Ok(mut word) = <[u8; WORD]>::try_from(there.as_slice()) else {
            return false;
        };
        let new = bytes.len().min(WORD);
        word[WORD - new..].copy_from_slice(&bytes[bytes.len() - new..]);
        requests::poke(tid, last, u64::from_ne_bytes(word)).is_ok()
    }

    /// What is to be done to a call: nothing to those that aren't traced, as strace has it.
    fn tamper(&mut self, tid: Tid, open: &Open) -> Tamper {
        let asked = self.asked;
        let chosen = asked.calls.has(open.call.abi, open.call.number);
        let concerns = chosen && (asked.paths.is_empty() || open.told);
        let Some(tracee) = self
            .tracees
            .get_mut(&tid)
            .filter(|tracee| !tracee.quiet && concerns)
        else {
            return Tamper::default();
        };
        let (abi, number) = (open.call.abi, open.call.number);
        // What is said last of a call holds.
        let mut said = asked.injections.iter().enumerate().rev();
        match said.find(|(_, injection)| injection.calls.has(abi, number)) {
            Some((index, injection)) if injection.occasions.has(tracee.count(index, number)) => {
                injection.tamper.clone()
            }
            _ => Tamper::default(),
        }
    }

    /// Whether a call concerns one of the paths that are asked for, by name or by descriptor.
    fn concerns_paths(&self, tid: Tid, call: &Call) -> bool {
        let paths = &self.asked.paths;
        paths.is_empty()
            || paths.iter().any(|path| names(call, path))
            || files_of(call).chain(waited_for(call)).any(|descriptor| {
                let shown = crate::processes::shown_as(tid);
                let place = format!("/proc/{shown}/fd/{descriptor}");
                std::fs::read_link(&place).is_ok_and(|link| {
                    let link = link.into_os_string().into_vec();
                    let (path, _) = descriptors::path_of(&place, link);
                    paths
                        .iter()
                        .any(|asked| asked.as_os_str().as_bytes() == path)
                })
            })
    }
}

/// Whether a text behind one of a call's pointers is this path.
fn names(call: &Call, path: &Path) -> bool {
    let path = path.as_os_str().as_bytes();
    call.memory
        .pieces()
        .iter()
        .any(|piece| piece.bytes.split_last() == Some((&0, path)))
}

/// The descriptors among a call's arguments.
fn files_of(call: &Call) -> impl Iterator<Item = i32> {
    let arguments = table::row(call.abi, call.number).map_or(&[][..], |row| row.arguments);
    arguments
        .iter()
        .zip(call.arguments)
        .filter(|(argument, _)| is_descriptor(argument.name))
        .map(|(_, value)| value as i32)
}

/// Whether the kernel calls descriptors so.
fn is_descriptor(name: &str) -> bool {
    name.ends_with("fd") || matches!(name, "fildes" | "fd_in" | "fd_out" | "dfd")
}

/// Asks the table what a call is shown with and reads that, until nothing more is wanted.
fn capture(pages: &mut Pages, tid: Tid, call: &mut Call, when: When, limits: Limits) {
    for round in 0..ROUNDS {
        let wants = wants(call, when, limits);
        if wants.is_empty() {
            return;
        }
        if round == 0 {
            pages.forget();
        }
        for want in wants {
            call.memory.add(Piece {
                address: want.address,
                when,
                bytes: pages.read(tid, want),
            });
        }
    }
}

/// Whether this may make a descriptor, or a process, what it wasn't before.
fn changes_what_is(abi: Abi, number: u64) -> bool {
    let name = table::row(abi, number).map_or("", |row| row.name);
    matches!(
        name,
        "close" | "dup2" | "dup3" | "bind" | "connect" | "listen" | "waitid"
    )
}

/// Whether this maps what may be executed, or takes it away.
fn maps(abi: Abi, number: u64) -> bool {
    let name = table::row(abi, number).map_or("", |row| row.name);
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

/// Whether this is `exit` or `exit_group`.
fn never_returns(abi: Abi, number: u64) -> bool {
    match abi {
        Abi::X86_64 => matches!(number, 60 | 231),
        Abi::I386 => matches!(number, 1 | 252),
        Abi::Aarch64 => matches!(number, 93 | 94),
    }
}
