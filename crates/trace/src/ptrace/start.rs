//! A command's way from nothing to its first call under the tracer's eyes.

use nix::{errno::Errno, libc, sys::signal::SigSet, unistd::Pid};
use std::{
    io::{self, PipeReader, PipeWriter, Read as _, Write as _},
    os::{
        fd::AsRawFd as _,
        unix::process::{CommandExt as _},
    },
    process,
    thread::JoinHandle,
};

use super::{
    filter::Filter,
    halt::Halt,
    kernel::{self, Tid},
};
use crate::{Command, asked::User, error::TraceError};

/// A command that is traced and about to be executed.
pub struct Starting {
    /// Its number.
    pub tid: Tid,
    program: std::ffi::OsString,
    spawning: JoinHandle<io::Result<process::Child>>,
    go: PipeWriter,
}

impl Starting {
    /// Lets it go on to its `execve`: it waits stopped.
    pub fn release(&mut self) {
        // Should it be gone already, its end tells.
        let _gone = self.go.write_all(&[1]);
    }

    /// Why it didn't get to its `execve`, once it ended without.
    pub fn failure(self) -> TraceError {
        drop(self.go);
        let why = match self.spawning.join() {
            Ok(Err(why)) => why,
            _ => io::Error::other("it was killed before it began"),
        };
        TraceError::NotStarted {
            program: self.program,
            why,
        }
    }
}

/// Starts a command as a tracee that is stopped before its `execve`.
pub fn start(
    command: &Command,
    filter: Option<Filter>,
    options: usize,
    mask: Option<SigSet>,
) -> Result<Starting, TraceError> {
    let program = command.program.clone();
    let Some(file) = command.file() else {
        return Err(TraceError::NotFound { program });
    };
    let failed = |why: io::Error| TraceError::NotStarted {
        program: program.clone(),
        why,
    };
    let mut prepared = process::Command::new(&file);
    prepared.arg0(&command.program).args(&command.arguments);
    for (name, value) in &command.environment {
        match value {
            Some(value) => prepared.env(name, value),
            None => prepared.env_remove(name),
        };
    }
    let (mut arrivals, arrived) = io::pipe().map_err(failed)?;
    let (door, go) = io::pipe().map_err(failed)?;
    let child = Between {
        arrived: arrived.as_raw_fd(),
        door: door.as_raw_fd(),
        go: go.as_raw_fd(),
        user: command.user.clone(),
        filter,
        mask,
    };
    // SAFETY: between fork and exec the closure makes only system calls, on memory that was made before.
    unsafe { prepared.pre_exec(move || child.prepare()) };
    // `spawn` comes back only after the `execve`, which this thread is to trace.
    let spawning = std::thread::Builder::new()
        .name("start".to_owned())
        .spawn(move || {
            let child = prepared.spawn();
            drop((arrived, door));
            child
        })
        .map_err(failed)?;
    let Some(tid) = arrival(&mut arrivals) else {
        let why = match spawning.join() {
            Ok(Err(why)) => why,
            _ => io::Error::other("it was killed before it began"),
        };
        return Err(failed(why));
    };
    let starting = Starting {
        tid,
        program: program.clone(),
        spawning,
        go,
    };
    match hold(tid, options) {
        Ok(()) => Ok(starting),
        Err(errno) => {
            let _gone = nix::sys::signal::kill(Pid::from_raw(tid), nix::sys::signal::SIGKILL);
            let _its_own_failure = starting.failure();
            Err(TraceError::Refused {
                what: "trace the command",
                why: errno.into(),
            })
        }
    }
}

/// Traces a process and stops it.
fn hold(tid: Tid, options: usize) -> Result<(), Errno> {
    kernel::seize(tid, options)?;
    kernel::interrupt(tid)?;
    loop {
        match Halt::of(kernel::wait_for(tid)?) {
            Halt::Trap => return Ok(()),
            halt if halt.is_end() => return Err(Errno::ESRCH),
            Halt::Signal(signal) => kernel::go(tid, kernel::Go::On, signal)?,
            _ => kernel::go(tid, kernel::Go::On, 0)?,
        }
    }
}

/// The number of the child that waits, or nothing if there is none.
fn arrival(arrivals: &mut PipeReader) -> Option<Tid> {
    let mut number = [0_u8; size_of::<Tid>()];
    arrivals.read_exact(&mut number).ok()?;
    Some(Tid::from_ne_bytes(number))
}

/// What the child does between `fork` and `execve`.
struct Between {
    arrived: i32,
    door: i32,
    go: i32,
    user: Option<User>,
    filter: Option<Filter>,
    mask: Option<SigSet>,
}

impl Between {
    fn prepare(&self) -> io::Result<()> {
        // SAFETY: system calls on numbers and on memory of this process's own.
        unsafe {
            // Else it would never see the door closed.
            libc::close(self.go);
            let pid = libc::getpid().to_ne_bytes();
            whole(libc::write(self.arrived, pid.as_ptr().cast(), pid.len()), pid.len())?;
            let mut byte = 0_u8;
            whole(libc::read(self.door, (&raw mut byte).cast(), 1), 1)?;
        }
        if let Some(mask) = &self.mask {
            mask.thread_set_mask()?;
        }
        // Before rights are given up: afterwards it would cost the promise to get none by `execve`.
        if let Some(filter) = &self.filter {
            filter.install()?;
        }
        if let Some(user) = &self.user {
            become_user(user)?;
        }
        Ok(())
    }
}

/// Takes a user's rights, in a process of one thread.
fn become_user(user: &User) -> io::Result<()> {
    // SAFETY: the groups are as many as said.
    unsafe {
        Errno::result(libc::setgroups(user.groups.len() as _, user.groups.as_ptr()))?;
        Errno::result(libc::setgid(user.gid))?;
        Errno::result(libc::setuid(user.uid))?;
    }
    Ok(())
}

fn whole(done: isize, all: usize) -> io::Result<()> {
    if done.cast_unsigned() == all {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
