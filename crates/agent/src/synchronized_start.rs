//! Starting a program *held*: loaded, linked, stopped at its first instruction, and let go at an agreed instant.
//!
//! The child asks to be traced, so that the kernel stops it at its `exec`. A breakpoint is put on the program's entry
//! point and the child runs up to it: by then the dynamic linker has done its work. The breakpoint is taken away, and at
//! the agreed instant the tracer detaches. From then on the program runs as if it had never been traced.
//!
//! Everything here blocks, and the kernel ties a traced child to the thread that traces it: a held step has a thread of
//! its own until its end. Where tracing isn't permitted, the child waits just before its `exec` instead.
//!
//! Not here: steps and streams.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::mpsc as blocking;
use std::time::Duration;

use backsight_platform::ProcessHandle;
use nix::libc;
use nix::unistd::Pid;
use tokio::sync::mpsc;

use crate::clocks;
use crate::reap::Death;
use crate::step::{HoldState, Moment};
use crate::timed_wake;
use crate::tracee::{Loaded, Tracee};

/// How long the agent keeps still after it let a program go: other programs of this machine begin at the same instant,
/// and nothing that it could do now is worth making one of them wait for a processor. As long as it had notice, within
/// these bounds: who starts many at once gives a long one.
const SHORTEST_QUIET_PERIOD: Duration = Duration::from_millis(5);
const LONGEST_QUIET_PERIOD: Duration = Duration::from_millis(50);

/// A message of a held program's thread, in this order; `Died` and `Failed` come last, at any time.
pub(crate) enum StartMessage {
    /// Its process exists.
    Started(Started),
    /// It waits for its release.
    Held(HoldState),
    /// It was let go, a quiet_period ago.
    Begun(Moment),
    /// It ended before it was let go.
    Died(Death),
    /// It couldn't be started.
    Failed(io::Error),
}

/// A process that isn't let go yet.
pub(crate) struct Started {
    pub(crate) pid: Pid,
    /// A handle to kill it by: its thread may already have waited for it, and its number be another's.
    handle: Option<ProcessHandle>,
    pub(crate) at: Moment,
}

impl Started {
    /// Sends it SIGKILL. Nothing else reaches a program that is held.
    pub(crate) fn kill(&self) {
        let _dead_already = match &self.handle {
            Some(handle) => handle.kill(),
            None => {
                nix::sys::signal::kill(self.pid, nix::sys::signal::SIGKILL).map_err(io::Error::from)
            }
        };
    }
}

/// The door of a held program: the instant to let it go at is sent through it. Closed, the thread waits for the
/// process's end, which is then to be brought about.
pub(crate) type ReleaseSender = blocking::Sender<u64>;

/// Starts a program in a thread of its own, and holds it.
///
/// # Errors
///
/// The system's, if there can be no more threads.
pub(crate) fn start_held(
    make: impl Fn() -> io::Result<Command> + Send + 'static,
) -> io::Result<(ReleaseSender, mpsc::UnboundedReceiver<StartMessage>)> {
    let (door, opened) = blocking::channel();
    let (sender, messages) = mpsc::unbounded_channel();
    let body = move || {
        let send = &mut |message| {
            let _nobody_listens = sender.send(message);
        };
        let ended = match make().and_then(|command| held_by_tracing(command, &opened, send)) {
            // No tracing here, or not of this program.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                make().and_then(|command| held_before_exec(command, &opened, send))
            }
            ended => ended,
        };
        if let Err(error) = ended {
            send(StartMessage::Failed(error));
        }
    };
    std::thread::Builder::new()
        .name("held".into())
        .spawn(body)?;
    Ok((door, messages))
}

fn held_by_tracing(
    mut command: Command,
    opened: &blocking::Receiver<u64>,
    send: &mut impl FnMut(StartMessage),
) -> io::Result<()> {
    let tracee = Tracee::start(&mut command)?;
    // The child's ends of its streams are the child's alone.
    drop(command);
    send(StartMessage::Started(started(tracee.pid())));
    let (tracee, held) = match tracee.load()? {
        Loaded::Died(death) => {
            send(StartMessage::Died(death));
            return Ok(());
        }
        Loaded::Waits(tracee, held) => (tracee, held),
    };
    send(StartMessage::Held(held));
    match wait_for_release(opened) {
        Some(release) => {
            let begun = at_instant(release, || tracee.detach());
            send(StartMessage::Begun(begun));
        }
        None => send(StartMessage::Died(tracee.bury()?)),
    }
    Ok(())
}

fn started(pid: Pid) -> Started {
    Started {
        pid,
        handle: ProcessHandle::open(pid.as_raw()).ok(),
        at: clocks::now(),
    }
}

/// When to let a program go, on the monotonic clock, and how long to keep still then.
#[derive(Clone, Copy)]
struct Release {
    at_ns: u64,
    quiet_period: Duration,
}

/// Waits until shortly before the instant of the release; none if there will be no release.
fn wait_for_release(opened: &blocking::Receiver<u64>) -> Option<Release> {
    const SHORTLY: Duration = Duration::from_millis(2);
    let at_ns = opened.recv().ok()?;
    let left = Duration::from_nanos(at_ns.saturating_sub(clocks::monotonic_ns()));
    let quiet_period = left.clamp(SHORTEST_QUIET_PERIOD, LONGEST_QUIET_PERIOD);
    // The door may still be closed until then: a far release must not keep a trial from ending.
    match opened.recv_timeout(left.saturating_sub(SHORTLY)) {
        Err(blocking::RecvTimeoutError::Disconnected) => None,
        Err(blocking::RecvTimeoutError::Timeout) => Some(Release {
            at_ns,
            quiet_period,
        }),
        Ok(changed) => Some(Release {
            at_ns: changed,
            quiet_period,
        }),
    }
}

/// Lets something go when `CLOCK_MONOTONIC` reaches an instant, as exactly as the kernel can. Says when it was.
///
/// For that moment the thread is a real-time one, where that is permitted: on a busy machine it would else wait until
/// somebody's time slice ends, milliseconds after the others. What it lets go is not: children inherit how they are
/// scheduled when they are started, and these were started before.
fn at_instant(release: Release, let_go: impl FnOnce()) -> Moment {
    timed_wake::become_real_time();
    timed_wake::sleep_until(release.at_ns);
    let begun = clocks::now();
    let_go();
    std::thread::sleep(release.quiet_period);
    timed_wake::become_ordinary();
    begun
}

/// Holds a child between `fork` and `exec`, where it waits for a byte.
fn held_before_exec(
    mut command: Command,
    opened: &blocking::Receiver<u64>,
    send: &mut impl FnMut(StartMessage),
) -> io::Result<()> {
    let (mut there, here) = io::pipe()?;
    let (wait, mut open) = io::pipe()?;
    wait_at(&mut command, &here, &wait, &open);
    std::thread::scope(|scope| {
        // `spawn` comes back only after the `exec`: the door needs a thread of its own.
        let starting = scope.spawn(move || {
            let child = command.spawn();
            drop((command, here, wait));
            child.map(|child| Pid::from_raw(child.id().cast_signed()))
        });
        let Some(pid) = arrival(&mut there) else {
            return joined(starting).map(drop);
        };
        send(StartMessage::Started(started(pid)));
        send(StartMessage::Held(HoldState::BeforeExec));
        match wait_for_release(opened) {
            Some(release) => {
                let begun = at_instant(release, || {
                    let _killed_meanwhile = open.write_all(&[1]);
                });
                drop(open);
                joined(starting)?;
                send(StartMessage::Begun(begun));
            }
            None => {
                drop(open);
                // It gives up by itself: nobody can let it go any more.
                let _its_own_failure = joined(starting);
                send(StartMessage::Failed(io::ErrorKind::Interrupted.into()));
            }
        }
        Ok(())
    })
}

/// Makes the child say that it is there, and wait until it may go on. The door's far end isn't the child's: it would
/// never see the door closed.
fn wait_at(command: &mut Command, here: &PipeWriter, wait: &PipeReader, open: &PipeWriter) {
    let (here, wait, open) = (here.as_raw_fd(), wait.as_raw_fd(), open.as_raw_fd());
    // SAFETY: between fork and exec the closure makes system calls on descriptors that live until `spawn` is back.
    unsafe {
        command.pre_exec(move || {
            libc::close(open);
            let pid = libc::getpid().to_ne_bytes();
            whole(libc::write(here, pid.as_ptr().cast(), pid.len()), pid.len())?;
            let mut byte = 0_u8;
            whole(libc::read(wait, (&raw mut byte).cast(), 1), 1)
        })
    };
}

fn whole(done: isize, all: usize) -> io::Result<()> {
    if done.cast_unsigned() == all {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(libc::ECANCELED))
    }
}

/// The child's process id, once it waits; none if it never comes to that.
fn arrival(there: &mut PipeReader) -> Option<Pid> {
    let mut pid = [0_u8; size_of::<i32>()];
    there.read_exact(&mut pid).ok()?;
    Some(Pid::from_raw(i32::from_ne_bytes(pid)))
}

fn joined<T>(thread: std::thread::ScopedJoinHandle<'_, io::Result<T>>) -> io::Result<T> {
    thread
        .join()
        .unwrap_or_else(|_| Err(io::Error::other("the starting thread failed")))
}
