//! Start of a command up to its first call under the tracer: as a child of the tracer, or as the process that was there before the
//! tracer and that its parent waits for.
//!
//! `std::process` would wait for commands that can't be executed, as the engine does.

use nix::{
    errno::Errno,
    libc,
    sys::{
        signal::{SigSet, Signal, kill},
        wait::{WaitStatus, waitpid},
    },
    unistd::{ForkResult, Pid, fork, getpid, setpgid, setsid},
};
use std::{
    ffi::{CString, OsString},
    io::{self, Read as _, Write as _},
    os::{
        fd::AsRawFd,
        unix::{ffi::OsStringExt as _, net::UnixStream},
    },
    ptr,
    sync::Arc,
};

use super::requests::Tid;
use super::seccomp_filter::SeccompFilter;
use super::tracee_status::TraceeStatus;
use super::{requests, startup_state};
use crate::command::{TracedCommand, UserRights, WaitingProcess};
use crate::error::TraceError;

/// A command that is traced and about to be executed.
pub struct StartedCommand {
    /// Its number.
    pub tid: Tid,
    program: OsString,
    door: Arc<UnixStream>,
}

impl StartedCommand {
    /// Lets it go on to its `execve`: it waits stopped.
    pub fn release(&self) {
        // Should it be gone already, its end tells.
        let _gone = (&*self.door).write_all(&[1]);
    }

    /// Why it didn't get to its `execve`, once it ended without.
    pub fn failure(self) -> TraceError {
        let mut number = [0_u8; size_of::<i32>()];
        let why = match (&*self.door).read_exact(&mut number) {
            Ok(()) => io::Error::from_raw_os_error(i32::from_ne_bytes(number)),
            Err(_) => io::Error::other("it was killed before it began"),
        };
        TraceError::NotStarted {
            program: self.program,
            why,
        }
    }
}

/// How far a tracer is from a command that isn't its child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TracerPlacement {
    /// In the same group of processes.
    Near,
    /// In a group of its own.
    Group,
    /// In a session of its own.
    Session,
}

/// Has this process wait to become the command, under its number and as its parent's child. What comes back is its
/// grandchild, which is to trace it and has everything that it had. Only while this process has no other thread: threads
/// wouldn't go along.
///
/// # Errors
///
/// In this process, if there is no such program or no process can be made; then nothing is different.
pub fn detach_from_command(
    command: &mut TracedCommand,
    apart: TracerPlacement,
) -> Result<(), TraceError> {
    let failed = failure_of(command);
    let image = Image::from_command(command)?;
    let (door, theirs) = UnixStream::pair().map_err(&failed)?;
    let tid = getpid().as_raw();
    // SAFETY: this process has one thread, says the caller, so that a child may do whatever it may.
    match unsafe { fork() }.map_err(|errno| failed(errno.into()))? {
        ForkResult::Parent { child } => {
            drop(door);
            match waitpid(child, None) {
                Ok(WaitStatus::Exited(_, 0)) => {}
                _ => {
                    return Err(failed(io::Error::other(
                        "no process can be made to trace it",
                    )));
                }
            }
            let_trace(&theirs);
            Child::new(command, &theirs, None, None, None, &image.pointers()).run()
        }
        ForkResult::Child => {
            // Nobody waits for a grandchild but who waits for orphans.
            // SAFETY: as above; the process in between makes only system calls.
            match unsafe { fork() } {
                Ok(ForkResult::Child) => {}
                // SAFETY: a system call.
                other => unsafe { libc::_exit(i32::from(other.is_err())) },
            }
        }
    }
    drop(theirs);
    let left = match apart {
        TracerPlacement::Near => Ok(()),
        TracerPlacement::Group => setpgid(Pid::from_raw(0), Pid::from_raw(0)),
        TracerPlacement::Session => setsid().map(drop),
    };
    left.map_err(|errno| failed(errno.into()))?;
    let told = (&door).write_all(&getpid().as_raw().to_ne_bytes());
    told.and_then(|()| (&door).read_exact(&mut [0]))
        .map_err(failed)?;
    command.waiting_process = Some(WaitingProcess {
        tid,
        door: Arc::new(door),
    });
    Ok(())
}

/// Lets the tracer trace this process, where only parents may; it says who it is.
fn let_trace(mut door: &UnixStream) {
    let mut tracer = [0_u8; size_of::<i32>()];
    // Should it be gone, what is waited for next never comes.
    if door.read_exact(&mut tracer).is_ok() {
        // Where everybody may, the kernel doesn't know of it.
        // SAFETY: a system call on numbers.
        unsafe { libc::prctl(libc::PR_SET_PTRACER, i32::from_ne_bytes(tracer), 0, 0, 0) };
        let _gone = door.write_all(&[1]);
    }
}

/// What is said if a command can't be started.
fn failure_of(command: &TracedCommand) -> impl Fn(io::Error) -> TraceError + use<> {
    let program = command.program.clone();
    move |why| TraceError::NotStarted {
        program: program.clone(),
        why,
    }
}

/// Starts a command as a tracee that is stopped before its `execve`. One that somebody stands in for gets no filter, and
/// its signals are as they were when it was made to.
pub fn start(
    command: &TracedCommand,
    filter: Option<SeccompFilter>,
    options: usize,
    mask: Option<SigSet>,
) -> Result<StartedCommand, TraceError> {
    let WaitingProcess { tid, door } = match &command.waiting_process {
        Some(stand_in) => stand_in.clone(),
        None => child(command, filter, mask)?,
    };
    if let Some(started) = command.before_execve {
        started();
    }
    if let Err(errno) = hold(tid, options) {
        let _gone = kill(Pid::from_raw(tid), Signal::SIGKILL);
        let _reaped = requests::wait_for(tid);
        return Err(TraceError::Refused {
            what: "trace the command",
            why: errno.into(),
        });
    }
    Ok(StartedCommand {
        tid,
        program: command.program.clone(),
        door,
    })
}

/// A child that waits to become the command.
fn child(
    command: &TracedCommand,
    filter: Option<SeccompFilter>,
    mask: Option<SigSet>,
) -> Result<WaitingProcess, TraceError> {
    let failed = failure_of(command);
    let image = Image::from_command(command)?;
    let pointers = image.pointers();
    let (door, theirs) = UnixStream::pair().map_err(&failed)?;
    let child = Child::new(command, &theirs, Some(&door), filter, mask, &pointers);
    // SAFETY: the child makes only system calls, on memory that was made before, until it is another program or ends.
    match unsafe { fork() } {
        Ok(ForkResult::Child) => child.run(),
        Ok(ForkResult::Parent { child }) => Ok(WaitingProcess {
            tid: child.as_raw(),
            door: Arc::new(door),
        }),
        Err(errno) => Err(failed(errno.into())),
    }
}

/// Traces a process and stops it.
fn hold(tid: Tid, options: usize) -> Result<(), Errno> {
    requests::seize(tid, options)?;
    requests::interrupt(tid)?;
    loop {
        match TraceeStatus::from_wait_status(requests::wait_for(tid)?) {
            TraceeStatus::Trap => return Ok(()),
            halt if halt.is_end() => return Err(Errno::ESRCH),
            TraceeStatus::Signal(signal) => {
                requests::resume(tid, requests::ResumeMode::On, signal)?
            }
            _ => requests::resume(tid, requests::ResumeMode::On, 0)?,
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
    fn from_command(command: &TracedCommand) -> Result<Self, TraceError> {
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
        let own_name = command.own_name.as_ref().unwrap_or(&command.program);
        let arguments = std::iter::once(own_name).chain(&command.arguments);
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

impl Pointers<'_> {
    /// Reads a byte of every page of it. Arm's processors before 8.1 don't note that a page was used: after `fork` the kernel lets them
    /// into none before it has noted that itself, and what reads the memory of an `execve` from within the kernel can't wait for it.
    fn touch(&self) {
        let texts = [&self.image.arguments, &self.image.environment];
        let texts = texts.into_iter().flatten().chain([&self.image.file]);
        for text in texts {
            touch_pages(text.as_bytes_with_nul());
        }
        touch_pages(&self.arguments);
        touch_pages(&self.environment);
    }
}

fn touch_pages<T: Copy>(all: &[T]) {
    for item in all.iter().step_by(2048 / size_of::<T>()).chain(all.last()) {
        std::hint::black_box(*item);
    }
}

/// What happens between `fork` and `execve`.
struct Child<'a> {
    door: i32,
    /// The tracer's end of it, which isn't the command's to hold: it would never see it closed.
    other: Option<i32>,
    user: Option<&'a UserRights>,
    filter: Option<SeccompFilter>,
    mask: Option<SigSet>,
    /// The signals that this process took, and whether they were ignored before.
    signals: [(libc::c_int, bool); 2],
    /// Which standard streams it has none of.
    closed: [bool; 3],
    image: &'a Pointers<'a>,
}

impl<'a> Child<'a> {
    fn new(
        command: &'a TracedCommand,
        door: &UnixStream,
        other: Option<&UnixStream>,
        filter: Option<SeccompFilter>,
        mask: Option<SigSet>,
        image: &'a Pointers<'a>,
    ) -> Self {
        Self {
            door: door.as_raw_fd(),
            other: other.map(AsRawFd::as_raw_fd),
            user: command.user.as_ref(),
            filter,
            mask,
            signals: startup_state::changed_signals(),
            closed: startup_state::closed(),
            image,
        }
    }

    fn run(&self) -> ! {
        let number = match self.execute() {
            Err(errno) => (errno as i32).to_ne_bytes(),
            Ok(never) => match never {},
        };
        // SAFETY: system calls on numbers and on memory of this process's own.
        unsafe {
            libc::send(
                self.door,
                number.as_ptr().cast(),
                number.len(),
                libc::MSG_NOSIGNAL,
            );
            libc::_exit(1)
        }
    }

    fn execute(&self) -> Result<std::convert::Infallible, Errno> {
        let mut byte = 0_u8;
        // SAFETY: system calls on numbers and on memory of this process's own.
        unsafe {
            if let Some(other) = self.other {
                libc::close(other);
            }
            if libc::read(self.door, (&raw mut byte).cast(), 1) != 1 {
                return Err(Errno::EPIPE);
            }
            for (signal, ignored) in self.signals {
                let action = if ignored {
                    libc::SIG_IGN
                } else {
                    libc::SIG_DFL
                };
                libc::signal(signal, action);
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
        if let Some(user) = self.user {
            become_user(user)?;
        }
        self.image.touch();
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
fn become_user(user: &UserRights) -> Result<(), Errno> {
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
