//! State of this process before Rust's start-up code and this program change it: which of the signals that they take it
//! ignores, and which standard streams are closed. A command inherits both as if there were no tracer.

use std::sync::atomic::{AtomicBool, Ordering};

use nix::libc;

/// The signals that this program does something with: it ignores broken pipes, and its threads wake each other.
const CHANGED: [libc::c_int; 2] = [libc::SIGPIPE, libc::SIGURG];

static IGNORED: [AtomicBool; 2] = [const { AtomicBool::new(false) }; 2];
static CLOSED: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];

/// Called by the loader with the constructors of the program, which is before `main`.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    // SAFETY: system calls on numbers, and on memory of this function's own that is large enough for what is asked.
    unsafe {
        for (signal, ignored) in CHANGED.into_iter().zip(&IGNORED) {
            let mut action: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0 {
                ignored.store(action.sa_sigaction == libc::SIG_IGN, Ordering::Relaxed);
            }
        }
        for (number, closed) in (0..).zip(&CLOSED) {
            closed.store(libc::fcntl(number, libc::F_GETFD) == -1, Ordering::Relaxed);
        }
    }
}

/// The signals that this program changes, and whether each was ignored.
pub fn changed_signals() -> [(libc::c_int, bool); 2] {
    [0, 1].map(|place: usize| (CHANGED[place], IGNORED[place].load(Ordering::Relaxed)))
}

/// The standard streams that are closed.
pub fn closed() -> [bool; 3] {
    [0, 1, 2].map(|number: usize| CLOSED[number].load(Ordering::Relaxed))
}
