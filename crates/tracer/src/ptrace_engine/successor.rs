//! Handing over: threads that stop at their calls are taken, one after the other, by somebody who follows them without such stops.
//!
//! A thread is taken where it stands at the end of a call, whose event has been emitted: the next call is the successor's. What it
//! makes and how it ends is told by whoever has it at that moment, so that nothing is told twice and nothing is missing. Threads of
//! one process may be on both sides for as long as one of them stays in a call.

use super::{Engine, cpu_placement::CpuPlacement};
use crate::ptrace::requests::{self, Tid};
use crate::ptrace::tracee_status::TraceeStatus;
use backsight_syscall_decode::EventKind;

/// Who takes threads over. It lives in the engine's thread, as only that can ask for anything of its tracees.
pub(crate) trait Successor {
    /// Looks whether threads can be taken from now on; `stops` are those since the last time.
    fn is_ready(&mut self, stops: usize) -> bool;
    /// Takes a thread that is about to go on from the end of a call; false if it can't.
    fn take(&mut self, tid: Tid, is_command: bool) -> bool;
    /// Takes a thread that nobody has, if it follows it already.
    fn take_stray(&mut self, tid: Tid, status: i32) -> bool;
    /// Whether it has this thread or process.
    fn has(&self, tid: Tid) -> bool;
    /// Answers a stop of a thread that it has, or its end.
    fn answer(&mut self, tid: Tid, halt: TraceeStatus);
    /// Hears that a process whose threads it has is the command.
    fn note_command(&mut self, tid: Tid);
    /// Forgets a first thread: another one took its number.
    fn forget(&mut self, tid: Tid);
    /// Whether it has threads wait for something that isn't a stop.
    fn holds(&self) -> bool;
    /// Lets some of these go on, or waits for a moment.
    fn let_some_go(&mut self);
    /// Hears of a thread that stops at its calls still.
    fn note_thread(&mut self, pid: i32, tid: Tid);
    /// Hears that such a thread is gone; `replaced` if another one of its process has its number now.
    fn note_end(&mut self, pid: i32, tid: Tid, replaced: bool);
    /// Hears that such a thread has the number now that a first thread had which was taken.
    fn note_execution(&mut self, tid: Tid, before: Tid);
}

impl Engine<'_> {
    pub(super) fn with_successor(&mut self, act: impl FnOnce(&mut dyn Successor)) {
        if let Some(successor) = &mut self.successor {
            act(&mut **successor);
        }
    }

    /// Begins to hand over as soon as somebody takes.
    pub(super) fn look_for_successor(&mut self) {
        let Some(successor) = &mut self.successor else {
            return;
        };
        if self.hands_over || self.starting.is_some() || !successor.is_ready(self.queue.len()) {
            return;
        }
        self.hands_over = true;
        // What comes between is told by the other side from now on, which this one doesn't see.
        self.break_line();
        let Some(successor) = &mut self.successor else {
            return;
        };
        for (tid, tracee) in &self.tracees {
            successor.note_thread(tracee.pid, *tid);
        }
        self.placement.part();
        self.placement = CpuPlacement::new(false);
    }

    /// Hands over a thread that stands at the end of a call.
    pub(super) fn hand_over(&mut self, tid: Tid) -> bool {
        let between = |it: &super::Tracee| it.call.is_none() && !it.quiet && !it.passing;
        if !self.hands_over || !self.tracees.get(&tid).is_some_and(between) {
            return false;
        }
        let is_command = self.command == Some(tid);
        let Some(successor) = &mut self.successor else {
            return false;
        };
        if !successor.take(tid, is_command) {
            return false;
        }
        self.tracees.remove(&tid);
        self.stacks.forget(tid);
        true
    }

    /// Whether threads that showed themselves early have parents that were taken, and that tell of them yet.
    pub(super) fn expects_parents(&self) -> bool {
        self.hands_over && !self.early.is_empty()
    }

    /// Whether something happened to a thread that was taken; then it is answered.
    pub(super) fn is_successors(&mut self, tid: Tid, halt: TraceeStatus) -> bool {
        if !self.hands_over {
            return false;
        }
        if halt == TraceeStatus::Exec && self.is_executed_across(tid, halt) {
            return true;
        }
        let Some(successor) = self.successor.as_mut().filter(|it| it.has(tid)) else {
            return false;
        };
        let child = (halt == TraceeStatus::Child).then(|| requests::event_message(tid));
        successor.answer(tid, halt);
        // The child may have shown itself before.
        let child = child.and_then(Result::ok);
        let child = child.and_then(|child| Tid::try_from(child).ok());
        if let Some(child) = child
            && let Some(status) = self.early.remove(&child)
        {
            self.serve(child, status);
        }
        true
    }

    /// Whether a thread executed a program and took the number of a first thread that is on the other side; true if it was taken
    /// itself and is answered by this.
    fn is_executed_across(&mut self, tid: Tid, halt: TraceeStatus) -> bool {
        let before = requests::event_message(tid).ok();
        let before = before.and_then(|before| Tid::try_from(before).ok());
        let Some(before) = before.filter(|before| *before != tid) else {
            return false;
        };
        let taken = |engine: &Self, tid| engine.successor.as_ref().is_some_and(|it| it.has(tid));
        if taken(self, before) {
            if self.tracees.contains_key(&tid) {
                self.emit_replaced(tid, before);
            }
            let is_command = self.command == Some(tid);
            self.with_successor(|it| {
                if is_command {
                    it.note_command(tid);
                }
                it.answer(tid, halt);
            });
            return true;
        }
        if self.tracees.contains_key(&before) && taken(self, tid) {
            self.with_successor(|it| {
                it.forget(tid);
                it.note_execution(tid, before);
            });
        } else if let Some(pid) = self.tracees.get(&tid).map(|tracee| tracee.pid) {
            self.with_successor(|it| it.note_end(pid, before, false));
        }
        false
    }

    /// Emits that a first thread is gone, whose number a thread has that was taken.
    fn emit_replaced(&mut self, leader: Tid, by: Tid) {
        if let Some(pid) = self.speaks(leader) {
            self.emit_unfinished(leader);
            self.emit_event(pid, leader, EventKind::Superseded { by });
        }
        self.finish_line(leader);
        if let Some(tracee) = self.tracees.remove(&leader) {
            self.with_successor(|it| it.note_end(tracee.pid, leader, true));
        }
    }

    /// Tells the successor of a thread that stops at its calls.
    pub(super) fn note_thread(&mut self, pid: i32, tid: Tid) {
        if self.hands_over {
            self.with_successor(|it| it.note_thread(pid, tid));
        }
    }

    /// Tells the successor that such a thread is gone.
    pub(super) fn note_end(&mut self, pid: i32, tid: Tid) {
        if self.hands_over {
            self.with_successor(|it| it.note_end(pid, tid, false));
        }
    }
}
