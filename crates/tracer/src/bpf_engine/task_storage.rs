//! The storages that the programs keep for threads, as the engine reaches them: by the kernel's descriptors of threads, or, before
//! Linux 6.9, where only a process's first thread can be opened, by a program that visits the threads of a process.

#![allow(unsafe_code, reason = "pidfd_open(2) for threads has no safe wrapper")]

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use super::records::VisitAction;
use super::{bpf_syscall, records};
use crate::processes::process_and_parent;

/// The storages of threads.
#[derive(Debug, Clone)]
pub(super) struct TaskStorage {
    storages: Arc<OwnedFd>,
    /// Where threads can't be opened.
    visitor: Option<Arc<ThreadVisitor>>,
}

/// A program that visits the threads of a process.
#[derive(Debug)]
pub(super) struct ThreadVisitor {
    program: OwnedFd,
    /// What is asked of a visit and what came of it: one at a time.
    visits: Mutex<OwnedFd>,
}

impl ThreadVisitor {
    /// The program, and the map by which it is asked.
    pub fn new(program: OwnedFd, visits: OwnedFd) -> Self {
        Self {
            program,
            visits: Mutex::new(visits),
        }
    }

    /// Has the program do something with a thread's storage, and gives it back as it is in the request then.
    fn visit(&self, tid: i32, action: VisitAction, storage: &[u8]) -> io::Result<Vec<u8>> {
        let (process, _) = process_and_parent(tid)?;
        let visits = self.visits.lock().unwrap_or_else(PoisonError::into_inner);
        let mut visit = records::visit(tid, action, storage);
        bpf_syscall::update(visits.as_fd(), 0, &visit)?;
        bpf_syscall::visit_threads(self.program.as_fd(), process)?;
        bpf_syscall::look_up(visits.as_fd(), 0, &mut visit)?;
        records::visited(visit)
    }
}

impl TaskStorage {
    /// Those of no kernel: every look fails.
    pub fn none(nowhere: OwnedFd) -> Self {
        Self::new(nowhere, None)
    }

    /// Storages of threads that are opened ([`opens_threads`]), or visited by this program.
    pub fn new(storages: OwnedFd, visitor: Option<ThreadVisitor>) -> Self {
        Self {
            storages: Arc::new(storages),
            visitor: visitor.map(Arc::new),
        }
    }

    /// Has a thread's calls told from now on. `state` says where it is: see [`records::state`], 0 for a thread that is in no call.
    pub fn follow(&self, tid: i32, state: u32, now: u64) -> io::Result<()> {
        self.set(tid, &records::storage(state, false, now))
    }

    /// Has nothing told of a thread, nor of what it starts, in a scope that it may be in.
    pub fn exclude(&self, tid: i32) -> io::Result<()> {
        self.set(tid, &records::storage(records::state::EXCLUDED, false, 0))
    }

    /// The same of a command that hasn't begun: nothing of it is told but its `execve`, until that has come back well.
    pub fn follow_command(&self, tid: i32, now: u64) -> io::Result<()> {
        self.set(tid, &records::storage(records::state::OUTSIDE, true, now))
    }

    fn set(&self, tid: i32, storage: &[u8]) -> io::Result<()> {
        if let Some(visitor) = &self.visitor {
            return visitor.visit(tid, VisitAction::Set, storage).map(drop);
        }
        bpf_syscall::update(self.storages.as_fd(), thread_fd(tid)?.as_raw_fd(), storage)
    }

    /// Ends that.
    pub fn forget(&self, tid: i32) -> io::Result<()> {
        if let Some(visitor) = &self.visitor {
            return visitor.visit(tid, VisitAction::Delete, &[]).map(drop);
        }
        bpf_syscall::delete(self.storages.as_fd(), thread_fd(tid)?.as_raw_fd())
    }

    /// A thread's storage as it is now.
    pub fn get(&self, tid: i32) -> io::Result<Vec<u8>> {
        if let Some(visitor) = &self.visitor {
            return visitor.visit(tid, VisitAction::Get, &[]);
        }
        let mut value = vec![0; records::STORAGE];
        bpf_syscall::look_up(
            self.storages.as_fd(),
            thread_fd(tid)?.as_raw_fd(),
            &mut value,
        )?;
        Ok(value)
    }
}

/// Whether the kernel opens every thread, and not only the first of a process.
pub(super) fn opens_threads() -> bool {
    let own = thread_fd(rustix::thread::gettid().as_raw_nonzero().get());
    !own.is_err_and(|error| error.raw_os_error() == Some(libc::EINVAL))
}

/// Opens a thread, whether or not it is its process's first.
fn thread_fd(tid: i32) -> io::Result<OwnedFd> {
    const PIDFD_THREAD: libc::c_int = libc::O_EXCL;
    // SAFETY: two numbers in, a descriptor or an error out.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, tid, PIDFD_THREAD) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    let fd = i32::try_from(fd).map_err(io::Error::other)?;
    // SAFETY: the kernel just made it for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
