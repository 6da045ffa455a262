//! Lifecycle of traced threads: attach, creation, execve, exit, detach.

use std::path::Path;
use std::time::{Duration, Instant};

use backsight_syscall_decode::{EventKind, TraceEvent};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::tracee::{OngoingCall, Tracee};
use super::{Engine, MAKERS_TURNS, MANY, Next};
use crate::call_under_way::call_under_way;
use crate::clock::now;
use crate::error::TraceError;
use crate::options::CallStatus;
use crate::outcome::CommandExit;
use crate::processes::process_and_parent;
use crate::ptrace::requests::{self, Tid};
use crate::ptrace::tracee_status::TraceeStatus;

/// How often the threads of a process are looked through for new ones while they are attached to.
const SCANS: usize = 1000;
/// How long threads may take to stop for being detached from. The kernel detaches from the others as this thread ends.
const PATIENCE: Duration = Duration::from_secs(2);

impl Engine<'_> {
    /// Attaches to a process, and all its threads if they are followed.
    pub(super) fn attach(&mut self, pid: i32) -> Result<(), TraceError> {
        let failed = |why| TraceError::NotAttached { pid, why };
        let (process, _) = process_and_parent(pid).map_err(|_| failed(Errno::ESRCH.into()))?;
        self.hold_running(pid, process)
            .map_err(|errno| failed(errno.into()))?;
        if self.options.follows() {
            self.attach_threads(process, Self::seize);
        }
        // The first thread is told of last: how many others there are is known then.
        self.emit_event(process, pid, EventKind::Attached { parent: None });
        requests::interrupt(pid).map_err(|errno| failed(errno.into()))
    }

    /// Attaches to all threads of a process.
    fn attach_threads(
        &mut self,
        process: i32,
        seize: fn(&mut Self, Tid, i32) -> Result<(), Errno>,
    ) {
        for _ in 0..SCANS {
            let mut found = false;
            for tid in threads(process) {
                // One that was just made by a traced one is traced already; one that just ended never will be.
                found |= !self.tracees.contains_key(&tid) && seize(self, tid, process).is_ok();
            }
            if !found {
                break;
            }
        }
    }

    /// Follows a process for its children's sake.
    pub(super) fn follow_parent(&mut self, pid: i32) -> Result<(), TraceError> {
        let failed = |why: Errno| TraceError::NotAttached {
            pid,
            why: why.into(),
        };
        self.seize_passing(pid, pid).map_err(failed)?;
        self.attach_threads(pid, Self::seize_passing);
        self.emit_event(pid, pid, EventKind::Attached { parent: None });
        Ok(())
    }

    fn seize_passing(&mut self, tid: Tid, process: i32) -> Result<(), Errno> {
        requests::seize(tid, self.ptrace_options(false))?;
        self.tracees.insert(tid, Tracee::passing(process));
        Ok(())
    }

    /// Attaches to a thread that runs.
    fn hold_running(&mut self, tid: Tid, process: i32) -> Result<(), Errno> {
        // Stopping it interrupts the call, which is no longer said then.
        let interrupted = call_under_way(tid).map(|call| (call.abi, call.number));
        requests::seize(tid, self.ptrace_options(false))?;
        let tracee = Tracee {
            interrupted,
            ..Tracee::new(process)
        };
        self.tracees.insert(tid, tracee);
        Ok(())
    }

    fn seize(&mut self, tid: Tid, process: i32) -> Result<(), Errno> {
        self.hold_running(tid, process)?;
        self.emit_event(process, tid, EventKind::Attached { parent: None });
        requests::interrupt(tid)
    }

    /// A thread made a child or another thread.
    pub(super) fn child(&mut self, tid: Tid) -> Next {
        let Ok(child) = requests::event_message(tid) else {
            return Next::Go(0);
        };
        let (Ok(child), Some(parent)) = (Tid::try_from(child), self.tracees.get(&tid)) else {
            return Next::Go(0);
        };
        if self.tracees.contains_key(&child) {
            return Next::Go(0);
        }
        if self.tracees.len() >= MANY {
            self.maker = Some((tid, MAKERS_TURNS));
        }
        let (parent, passing) = (parent.pid, parent.passing);
        let process = if is_thread_of(child, parent) {
            parent
        } else {
            child
        };
        if passing {
            self.take_in_passing(child, process);
        } else {
            self.take_in(child, process, Some(tid));
        }
        Next::Go(0)
    }

    fn take_in_passing(&mut self, tid: Tid, process: i32) {
        self.tracees.insert(tid, Tracee::passing(process));
        if let Some(status) = self.early.remove(&tid) {
            self.serve(tid, status);
        }
    }

    fn take_in(&mut self, tid: Tid, process: i32, parent: Option<Tid>) {
        self.tracees.insert(tid, Tracee::new(process));
        self.note_thread(process, tid);
        self.emit_event(process, tid, EventKind::Attached { parent });
        if let Some(status) = self.early.remove(&tid) {
            self.serve(tid, status);
        }
    }

    /// A task whose maker gave it to the tracer, though no children are followed: it isn't kept.
    pub(super) fn pass_stranger(&mut self, tid: Tid, ended: bool) {
        // The command was detached from: its end is no surprise.
        if ended && self.command == Some(tid) {
            return;
        }
        if !ended {
            let _gone = requests::detach(tid, 0);
        }
        self.emit_event(tid, tid, EventKind::Stranger { ended });
    }

    /// Takes in threads whose makers were killed before they could tell of them; whether there were any.
    pub(super) fn adopt(&mut self) -> bool {
        let mut any = false;
        let early: Vec<Tid> = self.early.keys().copied().collect();
        for tid in early {
            let Ok((process, parent)) = process_and_parent(tid) else {
                self.early.remove(&tid);
                continue;
            };
            let ended = self
                .early
                .get(&tid)
                .is_none_or(|status| TraceeStatus::from_wait_status(*status).is_end());
            let expected = |pid: i32| {
                self.tracees.values().any(|tracee| tracee.pid == pid)
                    || self.successor.as_ref().is_some_and(|it| it.has(pid))
            };
            if ended || expected(parent) || expected(process) {
                continue;
            }
            if self.hands_over
                && let Some(successor) = &mut self.successor
                && let Some(status) = self.early.get(&tid)
                && successor.take_stray(tid, *status)
            {
                self.early.remove(&tid);
                continue;
            }
            self.take_in(tid, process, None);
            any = true;
        }
        any
    }

    /// A thread executes another program; it takes the number of its process, and the other threads are gone.
    pub(super) fn exec(&mut self, tid: Tid) -> Next {
        let before = requests::event_message(tid)
            .ok()
            .and_then(|before| Tid::try_from(before).ok())
            .unwrap_or(tid);
        if before != tid {
            self.supersede(tid, before);
        }
        self.stacks.forget(tid);
        if self.tracees.get(&tid).is_some_and(|it| it.passing) && !self.joins(tid) {
            return Next::Stay;
        }
        if let Some(tracee) = self.tracees.get_mut(&tid) {
            tracee.quiet = tracee.passing;
        }
        if self.command == Some(tid) {
            self.starting = None;
        }
        let tracee = self.tracees.get_mut(&tid);
        match tracee.and_then(|tracee| tracee.call.take_if(|open| open.leaves)) {
            Some(open) => self.detach_in(tid, open),
            None => Next::Go(0),
        }
    }

    /// A process that was passing became another program. Its own, and it is traced from now on; or it is let go, and
    /// false. Who is followed for its children's sake stays so.
    fn joins(&mut self, tid: Tid) -> bool {
        let Some(offspring) = self.options.children_of.filter(|it| it.parent != tid) else {
            return true;
        };
        if !(offspring.accepts)(tid) {
            self.let_be(tid, 0);
            return false;
        }
        self.tracees.insert(tid, Tracee::new(tid));
        self.emit_event(tid, tid, EventKind::Attached { parent: None });
        true
    }

    fn supersede(&mut self, leader: Tid, by: Tid) {
        self.held.retain(|held| held.tid != leader);
        if let Some(pid) = self.speaks(leader) {
            self.emit_unfinished(leader);
            if self.options.renumbering && self.options.statuses.is_all() {
                self.emit_execution(by);
            }
            self.emit_event(pid, leader, EventKind::Superseded { by });
        }
        self.finish_line(leader);
        self.tracees.remove(&leader);
        if let Some(tracee) = self.tracees.remove(&by) {
            self.tracees.insert(leader, tracee);
        }
    }

    /// Emits the `execve` that a thread is in as pending, if it wasn't.
    fn emit_execution(&mut self, tid: Tid) {
        let open = self.tracees.get(&tid).and_then(|it| it.call.as_ref());
        if let Some(open) = open.filter(|open| open.reported && !open.pending) {
            let call = open.call.clone();
            self.emit_pending(tid, call);
        }
    }

    /// A thread ended.
    pub(super) fn gone(&mut self, tid: Tid, halt: TraceeStatus) -> Next {
        let (what, finish) = match halt {
            TraceeStatus::Killed(signal, core) => (
                EventKind::Killed { signal, core },
                CommandExit::Killed(signal),
            ),
            TraceeStatus::Exited(status) => {
                (EventKind::Exited { status }, CommandExit::Exited(status))
            }
            _ => return Next::Stay,
        };
        self.held.retain(|held| held.tid != tid);
        // A command that can't be executed tells nothing but its tries and its end.
        let unfit = self.starting.is_some() && self.command == Some(tid);
        if let Some(pid) = self.speaks(tid).or(unfit.then_some(tid)) {
            self.emit_unfinished(tid);
            self.emit_event(pid, tid, what);
        }
        if let Some(tracee) = self.tracees.remove(&tid) {
            self.note_end(tracee.pid, tid);
        }
        self.stacks.forget(tid);
        self.placement.part();
        self.finish(tid, finish);
        if !self.early.is_empty() {
            self.adopt();
        }
        Next::Stay
    }

    /// Emits the call that a thread is in and doesn't return from.
    pub(super) fn emit_unfinished(&mut self, tid: Tid) {
        let open = self
            .tracees
            .get_mut(&tid)
            .and_then(|tracee| tracee.call.take());
        if let Some(open) = open.filter(|open| open.reported) {
            self.emit_call(tid, open.call, open.frames);
        }
    }

    /// Ends tracing as a signal would: the command gets it, everything else goes on. What has a filter can't go on without its
    /// tracer: who asks a second time wants its end.
    pub(super) fn end_by(&mut self, signal: i32) {
        if self.filtered {
            self.kill_all();
            return;
        }
        self.pass_to_command(signal);
        self.detach_all();
    }

    /// Sends the command a signal that tracing is to end by.
    pub(super) fn pass_to_command(&self, signal: i32) {
        if let (Some(command), Ok(signal)) = (self.command, Signal::try_from(signal))
            && self.tracees.contains_key(&command)
        {
            let command = Pid::from_raw(command);
            let _gone = kill(command, Signal::SIGCONT);
            let _gone = kill(command, signal);
        }
    }

    /// Kills every process that is traced, and waits for the end of each.
    fn kill_all(&mut self) {
        let until = Instant::now() + PATIENCE;
        while !self.tracees.is_empty() && Instant::now() < until {
            for tracee in self.tracees.values() {
                let _gone = kill(Pid::from_raw(tracee.pid), Signal::SIGKILL);
            }
            while let Ok(Some((tid, status))) = requests::wait(requests::WaitTarget::Any, false) {
                let halt = TraceeStatus::from_wait_status(status);
                if halt.is_end() {
                    self.gone(tid, halt);
                }
            }
            std::thread::sleep(super::LOOK_AGAIN);
        }
    }

    /// Detaches from every thread, which goes on as if nothing had been.
    pub(super) fn detach_all(&mut self) {
        self.placement.part();
        let stopped: Vec<Tid> = self
            .held
            .drain(..)
            .map(|held| held.tid)
            .chain(self.early.drain().map(|(tid, _)| tid))
            .collect();
        for tid in stopped {
            self.let_be(tid, 0);
        }
        for tid in self.tracees.keys() {
            let _gone = requests::interrupt(*tid);
        }
        let until = Instant::now() + PATIENCE;
        while !self.tracees.is_empty() && Instant::now() < until {
            match requests::wait(requests::WaitTarget::Any, false) {
                Ok(Some((tid, status))) => self.detach_at(tid, status),
                Ok(None) | Err(Errno::EINTR) => std::thread::sleep(super::LOOK_AGAIN),
                Err(_) => return,
            }
        }
    }

    /// Detaches from a thread at whatever it stopped for.
    fn detach_at(&mut self, tid: Tid, status: i32) {
        if self.is_successors(tid, TraceeStatus::from_wait_status(status)) {
            return;
        }
        match TraceeStatus::from_wait_status(status) {
            TraceeStatus::Signal(signal) => self.let_be(tid, signal),
            halt if halt.is_end() => {
                self.gone(tid, halt);
            }
            _ => self.let_be(tid, 0),
        }
    }

    /// Detaches from a stopped thread.
    fn let_be(&mut self, tid: Tid, signal: i32) {
        self.placement.part();
        if let Some(pid) = self.speaks(tid) {
            self.emit_detached(tid);
            // Another's call that was entered last stays on its line, where it is said that this one is detached from as well.
            if self.line == Some(tid) {
                self.line = None;
            }
            (self.emit)(TraceEvent {
                pid,
                tid,
                at: now(),
                kind: EventKind::Detached,
            });
        }
        if let Some(tracee) = self.tracees.remove(&tid) {
            self.note_end(tracee.pid, tid);
        }
        let _gone = requests::detach(tid, signal);
    }

    /// Emits the call that a thread is in when it is detached from.
    fn emit_detached(&mut self, tid: Tid) {
        let tracee = self.tracees.get_mut(&tid);
        let open = tracee.and_then(|tracee| tracee.call.take());
        if let Some(open) = open.filter(|open| open.reported && !open.pending)
            && self.options.statuses.contains(CallStatus::Detached)
        {
            self.emit_pending(tid, open.call);
        }
    }

    /// Detaches from a thread that enters a call.
    pub(super) fn detach_in(&mut self, tid: Tid, open: OngoingCall) -> Next {
        self.begin_line(tid, &open);
        if let Some(tracee) = self.tracees.get_mut(&tid) {
            tracee.call = Some(open);
        }
        self.let_be(tid, 0);
        Next::Stay
    }
}

/// The threads of a process.
fn threads(process: i32) -> Vec<Tid> {
    std::fs::read_dir(format!("/proc/{process}/task"))
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// Whether a thread is one of this process.
fn is_thread_of(tid: Tid, process: i32) -> bool {
    Path::new(&format!("/proc/{process}/task/{tid}")).exists()
}
