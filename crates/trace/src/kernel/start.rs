//! Starting a command so that its first call is seen: it waits until it is told to go on.
//!
//! Refuses: to look for the program; that is done before, so that only one `execve` is seen.

#![allow(
    unsafe_code,
    reason = "between fork and exec only plain system calls may be made"
)]

use std::ffi::{CString, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use nix::sys::signal::SigSet;
use rustix::pipe::{PipeFlags, pipe_with};

/// A command.
#[derive(Debug, Clone)]
pub struct Start {
    program: PathBuf,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    mask: Option<SigSet>,
}

impl Start {
    /// A program, found in `PATH` where its name has no slash, and its arguments, with this process's environment.
    ///
    /// # Errors
    ///
    /// Where there is no such program.
    pub fn new(
        program: impl Into<PathBuf>,
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> io::Result<Self> {
        let name = program.into();
        let mut all = vec![name.clone().into_os_string()];
        all.extend(arguments.into_iter().map(Into::into));
        Ok(Self {
            program: found(&name)?,
            arguments: all,
            environment: std::env::vars_os().collect(),
            mask: None,
        })
    }

    /// With this environment instead.
    #[must_use]
    pub fn environment(
        mut self,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Self {
        self.environment = environment.into_iter().collect();
        self
    }

    /// With these signals blocked, whatever the calling thread blocks.
    #[must_use]
    pub fn blocking(mut self, mask: Option<SigSet>) -> Self {
        self.mask = mask;
        self
    }

    /// The program's path.
    pub fn program(&self) -> &Path {
        &self.program
    }
}

fn found(name: &Path) -> io::Result<PathBuf> {
    let missing = || io::Error::new(io::ErrorKind::NotFound, "there is no such program");
    if name.as_os_str().as_bytes().contains(&b'/') {
        return if name.exists() {
            Ok(name.to_path_buf())
        } else {
            Err(missing())
        };
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|candidate| {
            candidate.is_file()
                && rustix::fs::access(candidate, rustix::fs::Access::EXEC_OK).is_ok()
        })
        .ok_or_else(missing)
}

/// A child that waits for [`Waiting::go`].
#[derive(Debug)]
pub(super) struct Waiting {
    pub pid: i32,
    gate: OwnedFd,
}

impl Waiting {
    /// Lets it start its program.
    pub fn go(self) {
        // If it is gone, that is seen elsewhere.
        let _ = rustix::io::write(&self.gate, &[1]);
    }
}

fn c_string(text: OsString) -> io::Result<CString> {
    CString::new(text.into_vec())
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "it holds a zero byte"))
}

/// A vector as `execve` wants it; it lives as long as what it points to.
fn pointers(strings: &[CString]) -> Vec<*const libc::c_char> {
    strings
        .iter()
        .map(|string| string.as_ptr())
        .chain([std::ptr::null()])
        .collect()
}

/// Makes the child. It is the child of the calling thread. If it is never told to go on, it ends as its gate is closed.
pub(super) fn fork(start: &Start) -> io::Result<Waiting> {
    let program = c_string(start.program.clone().into_os_string())?;
    let arguments = start
        .arguments
        .iter()
        .cloned()
        .map(c_string)
        .collect::<io::Result<Vec<_>>>()?;
    let environment = start.environment.iter().map(|(name, value)| {
        let mut whole = name.clone();
        whole.push("=");
        whole.push(value);
        c_string(whole)
    });
    let environment = environment.collect::<io::Result<Vec<_>>>()?;
    let (argument_pointers, environment_pointers) = (pointers(&arguments), pointers(&environment));
    let mask = start.mask.map(|mask| *mask.as_ref());
    let (wait, gate) = pipe_with(PipeFlags::CLOEXEC)?;
    let (read_end, write_end) = (wait.as_fd().as_raw_fd(), gate.as_fd().as_raw_fd());
    // SAFETY: the child makes nothing but system calls, on memory that was made before.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: as above; the vectors end with null and their strings live.
        0 => unsafe {
            libc::close(write_end);
            // The Rust runtime ignores SIGPIPE; programs expect its default.
            libc::signal(libc::SIGPIPE, libc::SIG_DFL);
            if let Some(mask) = mask {
                libc::sigprocmask(libc::SIG_SETMASK, &raw const mask, std::ptr::null_mut());
            }
            let mut byte = 0_u8;
            if libc::read(read_end, (&raw mut byte).cast(), 1) == 1 {
                libc::execve(
                    program.as_ptr(),
                    argument_pointers.as_ptr(),
                    environment_pointers.as_ptr(),
                );
            }
            libc::_exit(127)
        },
        pid => Ok(Waiting { pid, gate }),
    }
}
