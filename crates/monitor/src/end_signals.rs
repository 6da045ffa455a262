//! SIGTERM and SIGINT as the end of a wait.

use rustix::time::{ClockId, clock_gettime};
use std::{mem::MaybeUninit, ptr::null_mut};

/// SIGTERM and SIGINT, blocked in this thread: they end a recording after its last sample, and nothing in the middle of one.
#[derive(Debug)]
pub struct EndSignals {
    set: libc::sigset_t,
}

impl EndSignals {
    /// Blocks them, in this thread and those that it starts.
    #[must_use]
    pub fn block() -> Self {
        let mut set = MaybeUninit::uninit();
        // SAFETY: the first call fills the set, before the others read it.
        let set = unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            libc::sigaddset(set.as_mut_ptr(), libc::SIGTERM);
            libc::sigaddset(set.as_mut_ptr(), libc::SIGINT);
            libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), null_mut());
            set.assume_init()
        };
        Self { set }
    }

    /// Waits until an instant of the monotonic clock, in nanoseconds; or until one of the signals: then it says so.
    pub(crate) fn wait_until(&self, due_ns: u64) -> bool {
        loop {
            let left = due_ns.saturating_sub(monotonic_ns());
            let timeout = libc::timespec {
                tv_sec: (left / 1_000_000_000).try_into().unwrap_or(i32::MAX.into()),
                tv_nsec: (left % 1_000_000_000).try_into().unwrap_or(0),
            };
            // SAFETY: both are read during the call alone, and nothing is written.
            if unsafe { libc::sigtimedwait(&raw const self.set, null_mut(), &raw const timeout) }
                > 0
            {
                return true;
            }
            // The time is over, or another signal was handled.
            if monotonic_ns() >= due_ns {
                return false;
            }
        }
    }
}

/// The monotonic clock.
pub(crate) fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}
