//! Waking at an instant of `CLOCK_MONOTONIC`, as exactly as the kernel can.

use nix::errno::Errno;
use nix::libc;
use nix::sys::time::{TimeSpec, TimeValLike};
use nix::time::{ClockId, ClockNanosleepFlags, clock_nanosleep};

/// Makes this thread one that wakes exactly: a real-time one where that is permitted, whose timers aren't put off.
pub(crate) fn become_real_time() {
    let _inexact_then = nix::sys::prctl::set_timerslack(1);
    schedule(libc::SCHED_FIFO, 1);
}

/// Makes this thread an ordinary one again.
pub(crate) fn become_ordinary() {
    schedule(libc::SCHED_OTHER, 0);
}

/// Sets how this thread is scheduled; without the right to, it stays as it was.
fn schedule(policy: i32, priority: i32) {
    // SAFETY: zeroes are a valid parameter, and the pointer is to a live one.
    unsafe {
        let mut parameter = std::mem::zeroed::<libc::sched_param>();
        parameter.sched_priority = priority;
        // Not by the C library's function, which musl doesn't have.
        libc::syscall(
            libc::SYS_sched_setscheduler,
            0,
            policy,
            &raw const parameter,
        );
    }
}

/// Sleeps until the monotonic clock reaches an instant, in nanoseconds.
pub(crate) fn sleep_until(monotonic_ns: u64) {
    let until = TimeSpec::nanoseconds(i64::try_from(monotonic_ns).unwrap_or(i64::MAX));
    while clock_nanosleep(
        ClockId::CLOCK_MONOTONIC,
        ClockNanosleepFlags::TIMER_ABSTIME,
        &until,
    ) == Err(Errno::EINTR)
    {}
}
