//! Waiting for children: how each ended, what it used, and nobody left unwaited for.
//!
//! The agent is the subreaper of everything it starts, so that it also gets children that it never started. One place
//! waits for them all. Threads that trace a child wait for it themselves until they let it go.

use std::collections::HashMap;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use backsight_platform::{ALL_CHILDREN, CHILDREN_OF_THREAD, inherited_memory};
use nix::errno::Errno;
use nix::libc;
use nix::unistd::Pid;
use tokio::sync::oneshot;

use crate::clocks;
use crate::step::{Moment, ProcessExit, ProcessUsage};

/// The end of a child.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Death {
    pub(crate) exit: ProcessExit,
    pub(crate) usage: ProcessUsage,
    pub(crate) at: Moment,
}

/// Waits for the children of the main thread, and for those that a tracing thread has let go.
#[derive(Default)]
pub(crate) struct Reaper {
    awaited: Mutex<HashMap<i32, PendingCondition>>,
}

struct PendingCondition {
    sender: oneshot::Sender<Death>,
    /// It is waited for by its number: it is another thread's child, or threads have none of their own here.
    by_number: bool,
    /// How much memory it had of ours when it became its program, bytes: see [`inherited_memory`].
    inherited: u64,
}

impl Reaper {
    /// Starts a program whose end is then told.
    ///
    /// # Errors
    ///
    /// The system's.
    pub(crate) fn spawn(
        &self,
        command: &mut Command,
    ) -> io::Result<(Pid, oneshot::Receiver<Death>)> {
        let (sender, death) = oneshot::channel();
        // Locked over the start: its end can't be seen before it is expected.
        let mut awaited = self.awaited();
        let inherited = inherited_memory();
        // Something to do before the program makes it a copy of ours, which has our changed memory alone. Started otherwise it would
        // borrow all that we have, and the kernel count that as its own.
        // SAFETY: nothing is done between fork and exec.
        unsafe { command.pre_exec(|| Ok(())) };
        let pid = command.spawn()?.id().cast_signed();
        awaited.insert(
            pid,
            PendingCondition {
                sender,
                by_number: CHILDREN_OF_THREAD.is_none(),
                inherited: inherited.max(inherited_memory()),
            },
        );
        Ok((Pid::from_raw(pid), death))
    }

    /// Expects the end of a child that another thread traces and still waits for itself.
    pub(crate) fn expect(&self, pid: Pid) -> oneshot::Receiver<Death> {
        let (sender, death) = oneshot::channel();
        self.awaited().insert(
            pid.as_raw(),
            PendingCondition {
                sender,
                by_number: false,
                inherited: inherited_memory(),
            },
        );
        death
    }

    /// That thread will let it go and wait for it no more. It has to be expected before: once let go it may end at
    /// any moment, and with its thread gone it is the main thread's child.
    pub(crate) fn let_go(&self, pid: Pid) {
        if let Some(awaited) = self.awaited().get_mut(&pid.as_raw()) {
            awaited.by_number = true;
        }
        self.reap();
    }

    /// Expects it no more: its own thread saw its end.
    pub(crate) fn forget(&self, pid: Pid) {
        self.awaited().remove(&pid.as_raw());
    }

    /// Waits for all that have ended; to be called at each SIGCHLD.
    pub(crate) fn reap(&self) {
        // Other threads' children are theirs: the stops of those that they trace, the ends of those that they wait for.
        if let Some(of_thread) = CHILDREN_OF_THREAD {
            self.reap_any(of_thread);
        }
        let by_number: Vec<i32> = self
            .awaited()
            .iter()
            .filter(|(_, awaited)| awaited.by_number)
            .map(|(pid, _)| *pid)
            .collect();
        for pid in by_number {
            if let Ok(Some(waited)) = wait4(pid, libc::WNOHANG | ALL_CHILDREN) {
                self.report_death(waited);
            }
        }
    }

    /// The same at the end of a trial, also for orphans: where threads have no children of their own, these can't be told from
    /// children that another thread waits for, and by then none does.
    pub(crate) fn reap_all(&self) {
        self.reap();
        if CHILDREN_OF_THREAD.is_none() {
            self.reap_any(0);
        }
    }

    fn reap_any(&self, options: i32) {
        while let Ok(Some(waited)) = wait4(-1, libc::WNOHANG | ALL_CHILDREN | options) {
            self.report_death(waited);
        }
    }

    fn report_death(&self, (pid, status, mut usage): (i32, i32, ProcessUsage)) {
        let Some(exit) = exit(status) else { return };
        if let Some(awaited) = self.awaited().remove(&pid) {
            if usage.max_rss_bytes <= awaited.inherited {
                usage.max_rss_bytes = 0;
            }
            let _nobody_asks_any_more = awaited.sender.send(Death {
                exit,
                usage,
                at: clocks::now(),
            });
        }
    }

    fn awaited(&self) -> MutexGuard<'_, HashMap<i32, PendingCondition>> {
        self.awaited.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether this process has any child at all, dead ones that nobody waited for included.
pub(crate) fn childless() -> bool {
    let mut nothing = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT | ALL_CHILDREN;
    // SAFETY: the pointer is to a live variable of the right type.
    let waited = unsafe { libc::waitid(libc::P_ALL, 0, nothing.as_mut_ptr(), options) };
    Errno::result(waited) == Err(Errno::ECHILD)
}

/// None: it stopped or went on, it didn't end.
pub(crate) fn exit(status: i32) -> Option<ProcessExit> {
    if libc::WIFEXITED(status) {
        Some(ProcessExit::Code(libc::WEXITSTATUS(status)))
    } else if libc::WIFSIGNALED(status) {
        Some(ProcessExit::Signal(libc::WTERMSIG(status)))
    } else {
        None
    }
}

/// `wait4`, which alone tells what one child used. None: `WNOHANG`, and nothing has happened.
pub(crate) fn wait4(pid: i32, options: i32) -> nix::Result<Option<(i32, i32, ProcessUsage)>> {
    let mut status = 0;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: both pointers are to live variables of the right types.
        let waited = unsafe { libc::wait4(pid, &raw mut status, options, usage.as_mut_ptr()) };
        match Errno::result(waited) {
            Ok(0) => return Ok(None),
            // SAFETY: zeroes are a valid rusage, and so is what the kernel wrote.
            Ok(pid) => {
                return Ok(Some((
                    pid,
                    status,
                    used(unsafe { usage.assume_init_ref() }),
                )));
            }
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}

fn used(usage: &libc::rusage) -> ProcessUsage {
    ProcessUsage {
        user: duration(usage.ru_utime),
        system: duration(usage.ru_stime),
        max_rss_bytes: usage.ru_maxrss.unsigned_abs() * 1024,
        voluntary_switches: usage.ru_nvcsw.unsigned_abs(),
        involuntary_switches: usage.ru_nivcsw.unsigned_abs(),
    }
}

fn duration(time: libc::timeval) -> Duration {
    Duration::from_secs(time.tv_sec.unsigned_abs())
        + Duration::from_micros(time.tv_usec.unsigned_abs())
}

/// Takes in every child that has ended. For processes that adopt orphans and have nothing else to wait for.
pub(crate) fn reap_orphans() {
    // SAFETY: no pointer is given.
    while unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG | ALL_CHILDREN) } > 0 {}
}
