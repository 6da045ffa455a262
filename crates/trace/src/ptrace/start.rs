//! A command's way from nothing to its first call under the tracer's eyes.
//!
//! By hand, since who else starts commands here also waits for those that can't be executed, and so does the engine.

use nix::{
    errno::Errno,
    libc,
    sys::signal::{SigSet, Signal, kill},
    unistd::{ForkResult, Pid, fork},
};
use std::{
    ffi::{CString, OsString},
    io::{self, PipeReader, PipeWriter, Read as _, Write as _},
    os::{fd::AsRawFd as _, unix::ffi::OsStringExt as _},
    ptr,
};

use super::{
    filter::Filter,
    halt::Halt,
    inherited,
    kernel::{self, Tid},
};
use crate::{Command, asked::User, error::TraceError};

/// A command that is traced and about to be executed.
pub struct Starting {
    /// Its number.
    pub tid: Tid,
    program: OsString,
    go: PipeWriter,
    faults: PipeReader,
}

impl Starting {
    /// Lets it go on to its `execve`: it waits stopped.
    pub fn release(&mut self) {
        // Should it be gone already, its end tells.
        let _gone = self.go.write_all(&[1]);
    }

    /// Why it didn't get to its `execve`, once it ended without.
    pub fn failure(mut self) -> TraceError {
        let mut number = [0_u8; size_of::<i32>()];
        let why = match self.faults.read_exact(&mut number) {
            Ok(()) => io::Error::from_raw_os_error(i32::from_ne_bytes(number)),
            Err(_) => io::Error::other("it was killed before it began"),
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
    let failed = |why: io::Error| TraceError::NotStarted {
        program: program.clone(),
        why,
    };
    let image = Image::of(command)?;
    let (door, go) = io::pipe().map_err(failed)?;
    let (faults, fault) = io::pipe().map_err(failed)?;
    let child = Child {
        door: door.as_raw_fd(),
        go: go.as_raw_fd(),
        fault: fault.as_raw_fd(),
        user: command.user.clone(),
        filter,
        mask,
        ignores_broken_pipes: inherited::ignores_broken_pipes(),
        closed: inherited::closed(),
        image: image.pointers(),
    };
    // SAFETY: the child makes only system calls, on memory that was made before, until it is another program or ends.
    let tid = match unsafe { fork() } {
        Ok(ForkResult::Child) => child.run(),
        Ok(ForkResult::Parent { child }) => child.as_raw(),
        Err(errno) => return Err(failed(errno.into())),
    };
    drop(fault);
    if let Some(started) = command.started {
        started();
    }
    if let Err(errno) = hold(tid, options) {
        let _gone = kill(Pid::from_raw(tid), Signal::SIGKILL);
        let _reaped = kernel::wait_for(tid);
        return Err(TraceError::Refused {
            what: "trace the command",
            why: errno.into(),
        });
    }
    Ok(Starting {
        tid,
        program,
        go,
        faults,
    })
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

/// What is executed, as the kernel takes it.
struct Image {
    file: CString,
    arguments: Vec<CString>,
    environment: Vec<CString>,
}

impl Image {
    fn of(command: &Command) -> Result<Self, TraceError> {
        let program = || command.program.clone();
        let file = command
            .file()
            .ok_or_else(|| TraceError::NotFound { program: program() })?;
        let text = |text: Vec<u8>| {
            CString::new(text).map_err(|why| TraceError::NotStarted {
                program: program(),
                why: why.into(),
            })
        };
        let mut variables: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        for (name, value) in &command.environment {
            variables.retain(|(other, _)| other != name);
            variables.extend(value.iter().map(|value| (name.clone(), value.clone())));
        }
        let arguments = std::iter::once(&command.program).chain(&command.arguments);
        Ok(Self {
            file: text(file.into_os_string().into_vec())?,
            arguments: arguments
                .map(|it| text(it.clone().into_vec()))
                .collect::<Result<_, _>>()?,
            environment: variables
                .into_iter()
                .map(|(name, value)| text([name.into_vec(), value.into_vec()].join(&b'=')))
                .collect::<Result<_, _>>()?,
        })
    }

    fn pointers(&self) -> Pointers<'_> {
        let list = |texts: &[CString]| {
            let all = texts.iter().map(|text| text.as_ptr());
            all.chain([ptr::null()]).collect()
        };
        Pointers {
            image: self,
            arguments: list(&self.arguments),
            environment: list(&self.environment),
        }
    }
}

/// An image with the lists of pointers that `execve` takes.
struct Pointers<'a> {
    image: &'a Image,
    arguments: Vec<*const libc::c_char>,
    environment: Vec<*const libc::c_char>,
}

/// What happens between `fork` and `execve`.
struct Child<'a> {
    door: i32,
    go: i32,
    fault: i32,
    user: Option<User>,
    filter: Option<Filter>,
    mask: Option<SigSet>,
    ignores_broken_pipes: bool,
    /// Which standard streams it has none of.
    closed: [bool; 3],
    image: Pointers<'a>,
}

impl Child<'_> {
    fn run(&self) -> ! {
        let number = match self.execute() {
            Err(errno) => (errno as i32).to_ne_bytes(),
            Ok(never) => match never {},
        };
        // SAFETY: system calls on numbers and on memory of this process's own.
        unsafe {
            libc::write(self.fault, number.as_ptr().cast(), number.len());
            libc::_exit(127)
        }
    }

    fn execute(&self) -> Result<std::convert::Infallible, Errno> {
        let mut byte = 0_u8;
        // SAFETY: system calls on numbers and on memory of this process's own.
        unsafe {
            // Else it would never see the door closed.
            libc::close(self.go);
            if libc::read(self.door, (&raw mut byte).cast(), 1) != 1 {
                return Err(Errno::EPIPE);
            }
            // Ours ignores it.
            if !self.ignores_broken_pipes {
                libc::signal(libc::SIGPIPE, libc::SIG_DFL);
            }
            for (number, _) in (0..).zip(self.closed).filter(|(_, closed)| *closed) {
                libc::close(number);
            }
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
        // SAFETY: the texts and the lists of pointers to them, which end in a null, live on in this process's memory.
        unsafe {
            libc::execve(
                self.image.image.file.as_ptr(),
                self.image.arguments.as_ptr(),
                self.image.environment.as_ptr(),
            );
        }
        Err(Errno::last())
    }
}

/// Takes a user's rights, in a process of one thread.
fn become_user(user: &User) -> Result<(), Errno> {
    // SAFETY: the groups are as many as said.
    unsafe {
        Errno::result(libc::setgroups(
            user.groups.len() as _,
            user.groups.as_ptr(),
        ))?;
        Errno::result(libc::setgid(user.gid))?;
        Errno::result(libc::setuid(user.uid))?;
    }
    Ok(())
}
