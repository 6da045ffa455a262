//! The supervisor: the parent process of an agent, which kills whatever the agent leaves when it ends.
//!
//! A step may leave its cgroup, empty its environment and kill its agent. Its processes then have no parent but the
//! nearest ancestor that adopts orphans: the supervisor, which does nothing else. It outlives the agent, and it outlives
//! the conductor too: an agent that stands still when its conductor dies is made to go on, so that it puts its host back
//! and ends.
//!
//! In: one agent. Out: the agent's exit status, when nothing of it runs. What doesn't belong here: ending steps of an
//! agent that lives (`trial.rs`), and the folders, which a conductor may still want to read (`mark.rs`).

use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsFd;

use backsight_platform::{ALL_CHILDREN, ProcessHandle, SignalQueue};
use nix::errno::Errno;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, dup2_stderr, dup2_stdin, dup2_stdout, fork, getppid};
use rustix::event::{PollFd, PollFlags, poll};

use crate::{agent_mark, cleanup};

/// The name of the process in `ps`: not that of the agent, so that `pkill backsight` in a step doesn't end both.
const NAME: &std::ffi::CStr = c"agent-guard";
/// Signals that ask an agent to end; the supervisor hands them on.
const ENDINGS: [Signal; 3] = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP];

/// Splits this process in two: the caller goes on as the agent, in a child; this process becomes its supervisor and never
/// returns from here. `token` is what makes the agent's mark unique.
///
/// To be called while the process has one thread.
///
/// # Errors
///
/// The system's.
pub(crate) fn supervise(token: u64) -> io::Result<()> {
    // None: its parent is in another PID namespace.
    let conductor = ProcessHandle::open(getppid().as_raw()).ok();
    let mut heard = SigSet::from_iter(ENDINGS);
    heard.add(Signal::SIGCHLD);
    let before = heard.thread_swap_mask(nix::sys::signal::SigmaskHow::SIG_BLOCK)?;
    backsight_platform::adopt_orphans()?;
    // SAFETY: this process has one thread, so that the child may do whatever the parent may.
    match unsafe { fork() }? {
        ForkResult::Child => {
            before.thread_set_mask()?;
            Ok(())
        }
        ForkResult::Parent { child } => {
            let supervisor = Supervisor {
                agent: child,
                conductor,
            };
            let status = supervisor.run(&heard).unwrap_or(1);
            cleanup::kill_orphans(&agent_mark::name(child.as_raw().unsigned_abs(), token));
            std::process::exit(status);
        }
    }
}

struct Supervisor {
    agent: Pid,
    /// The process that started the agent, until it ends.
    conductor: Option<ProcessHandle>,
}

impl Supervisor {
    /// Waits for the agent's end; returns its exit status, as a shell gives it.
    fn run(mut self, heard: &SigSet) -> io::Result<i32> {
        backsight_platform::set_process_name(NAME);
        let signals = SignalQueue::new(heard)?;
        release_standard_streams()?;
        loop {
            if let Some(status) = self.reap() {
                return Ok(status);
            }
            self.wait(&signals)?;
            while let Some(number) = signals.take() {
                if let Some(ending) = ENDINGS.into_iter().find(|s| *s as i32 == number) {
                    let _it_has_ended = kill(self.agent, ending);
                    self.let_agent_go_on();
                }
            }
        }
    }

    /// Until a child changes, a signal comes, or the conductor ends.
    fn wait(&mut self, signals: &SignalQueue) -> io::Result<()> {
        let mut awaited = vec![PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN)];
        if let Some(conductor) = &self.conductor {
            awaited.push(PollFd::from_borrowed_fd(conductor.as_fd(), PollFlags::IN));
        }
        match poll(&mut awaited, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        if awaited.get(1).is_some_and(|c| !c.revents().is_empty()) {
            self.conductor = None;
            self.let_agent_go_on();
        }
        Ok(())
    }

    /// Takes in all children that have changed. Some: the agent has ended, with this status.
    fn reap(&self) -> Option<i32> {
        let all = WaitPidFlag::from_bits_retain(ALL_CHILDREN);
        let flags = WaitPidFlag::WNOHANG | WaitPidFlag::WUNTRACED | all;
        loop {
            match waitpid(None, Some(flags)) {
                Ok(WaitStatus::StillAlive) => return None,
                Ok(WaitStatus::Exited(pid, code)) if pid == self.agent => return Some(code),
                Ok(WaitStatus::Signaled(pid, signal, _)) if pid == self.agent => {
                    return Some(128 + signal as i32);
                }
                // Nobody is there who would kill it for not answering.
                Ok(WaitStatus::Stopped(pid, _))
                    if pid == self.agent && self.conductor.is_none() =>
                {
                    self.let_agent_go_on();
                }
                Ok(_) | Err(Errno::EINTR) => {}
                Err(_) => return Some(1),
            }
        }
    }

    fn let_agent_go_on(&self) {
        let _it_has_ended = kill(self.agent, Signal::SIGCONT);
    }
}

/// The stream is the agent's alone: its end has to be seen when the agent ends.
fn release_standard_streams() -> io::Result<()> {
    let nothing = OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/null")?;
    dup2_stdin(&nothing)?;
    dup2_stdout(&nothing)?;
    dup2_stderr(&nothing)?;
    Ok(())
}
