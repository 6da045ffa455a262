//! The signals that end a profile, as something that is waited for beside the rings.

#![allow(
    unsafe_code,
    reason = "system calls that no library here has a function for"
)]

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, FromRawFd as _, OwnedFd},
};

/// SIGINT, SIGTERM and SIGHUP, which from now on do nothing else to this thread and those that it starts.
#[derive(Debug)]
pub(crate) struct StopSignals(OwnedFd);

impl StopSignals {
    pub fn block() -> io::Result<Self> {
        // SAFETY: the set is initialised by the first call and only then used; the descriptor is a new one, for nobody else.
        unsafe {
            let mut signals = std::mem::zeroed();
            libc::sigemptyset(&raw mut signals);
            for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
                libc::sigaddset(&raw mut signals, signal);
            }
            match libc::pthread_sigmask(libc::SIG_BLOCK, &raw const signals, std::ptr::null_mut()) {
                0 => {}
                error => return Err(io::Error::from_raw_os_error(error)),
            }
            match libc::signalfd(-1, &raw const signals, libc::SFD_CLOEXEC) {
                -1 => Err(io::Error::last_os_error()),
                opened => Ok(Self(OwnedFd::from_raw_fd(opened))),
            }
        }
    }
}

impl AsFd for StopSignals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
