//! Guard process: ends when the backpressure thread asks it to, which wakes that thread; and, should the tracer be killed, resumes
//! threads that had just stopped by `SIGSTOP` (the kernel resumes all others).
//!
//! It is forked from a process of many threads, so that it makes plain system calls only.

#![allow(
    unsafe_code,
    reason = "between fork and the end only plain system calls may be made"
)]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use super::programs::ControlPage;

/// How often it looks for stopped threads after we were killed, and how long it waits in between.
const LOOKS: u32 = 20;
const PAUSE: libc::timespec = libc::timespec {
    tv_sec: 0,
    tv_nsec: 10_000_000,
};

/// Starts it; it ends when the other end of this pipe is closed.
pub(super) fn start(bell: &OwnedFd, control: &ControlPage) -> io::Result<i32> {
    let fd = bell.as_raw_fd();
    // SAFETY: the child makes nothing but system calls, on memory that was there before.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: as above.
        0 => unsafe {
            // Whatever it kept open would stay so when we are gone: the programs first of all.
            libc::syscall(libc::SYS_close_range, 0, fd - 1, 0);
            libc::syscall(libc::SYS_close_range, fd + 1, libc::c_int::MAX, 0);
            // What is meant for the terminal's foreground isn't meant for it.
            libc::setsid();
            let mut byte = 0_u8;
            if libc::read(fd, (&raw mut byte).cast(), 1) != 1 {
                for _ in 0..LOOKS {
                    control
                        .stopped()
                        .filter(|tid| *tid > 0 && is_stopped(*tid))
                        .for_each(|tid| {
                            libc::kill(tid, libc::SIGCONT);
                        });
                    libc::nanosleep(&PAUSE, std::ptr::null_mut());
                }
            }
            libc::_exit(0)
        },
        pid => Ok(pid),
    }
}

/// Whether a thread is stopped by a signal, with nobody holding it.
fn is_stopped(tid: i32) -> bool {
    let mut path = [0_u8; 24];
    let mut text = [0_u8; 512];
    write_path(tid, &mut path);
    // SAFETY: the path ends with zero, and the kernel writes no more than the length of `text`.
    let length = unsafe {
        let fd = libc::open(path.as_ptr().cast(), libc::O_RDONLY);
        if fd < 0 {
            return false;
        }
        let length = libc::read(fd, text.as_mut_ptr().cast(), text.len());
        libc::close(fd);
        length
    };
    let text = &text[..usize::try_from(length).unwrap_or(0).min(512)];
    state(text) == Some(b'T')
}

/// `/proc/TID/stat`, without asking for memory.
fn write_path(tid: i32, path: &mut [u8; 24]) {
    let mut digits = [0_u8; 10];
    let mut rest = tid.unsigned_abs();
    let mut first = digits.len();
    while rest > 0 && first > 0 {
        first -= 1;
        digits[first] = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        rest /= 10;
    }
    let parts = b"/proc/".iter().chain(&digits[first..]).chain(b"/stat");
    for (to, from) in path.iter_mut().zip(parts) {
        *to = *from;
    }
}

/// The state in the text of `/proc/TID/stat`: what follows the name in parentheses, which may hold any.
fn state(text: &[u8]) -> Option<u8> {
    let name_ends = text.iter().rposition(|byte| *byte == b')')?;
    text.get(name_ends + 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_follows_a_name_that_may_look_like_one() {
        assert_eq!(state(b"12 (a) T b) S 1 2"), Some(b'S'));
        assert_eq!(state(b"12 (true) T 1"), Some(b'T'));
        assert_eq!(state(b""), None);
    }

    #[test]
    fn the_path_is_that_of_the_thread() {
        let mut path = [0; 24];
        write_path(i32::MAX, &mut path);
        assert_eq!(&path[..21], b"/proc/2147483647/stat");
        assert_eq!(path[21..], [0; 3]);
    }
}
