//! State of this process before Rust's start-up code changes it: whether it ignores broken pipes, and which standard streams are
//! closed. A command inherits both as if there were no tracer.

use std::sync::atomic::{AtomicBool, Ordering};

use nix::libc;

static IGNORES_BROKEN_PIPES: AtomicBool = AtomicBool::new(false);
static CLOSED: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];

/// Called by the loader with the constructors of the program, which is before `main`.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    // SAFETY: system calls on numbers, and on memory of this function's own that is large enough for what is asked.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(libc::SIGPIPE, std::ptr::null(), &raw mut action) == 0 {
            IGNORES_BROKEN_PIPES.store(action.sa_sigaction == libc::SIG_IGN, Ordering::Relaxed);
        }
        for (number, closed) in (0..).zip(&CLOSED) {
            closed.store(libc::fcntl(number, libc::F_GETFD) == -1, Ordering::Relaxed);
        }
    }
}

/// Whether a broken pipe is ignored.
pub fn ignores_broken_pipes() -> bool {
    IGNORES_BROKEN_PIPES.load(Ordering::Relaxed)
}

/// The standard streams that are closed.
pub fn closed() -> [bool; 3] {
    [0, 1, 2].map(|number: usize| CLOSED[number].load(Ordering::Relaxed))
}
