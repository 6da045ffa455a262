//! Waking at an instant of `CLOCK_MONOTONIC`, as exactly as the kernel can.

use nix::errno::Errno;
use nix::sys::time::{TimeSpec, TimeValLike};
use nix::time::{ClockId, ClockNanosleepFlags, clock_nanosleep};

pub(crate) use backsight_platform::{become_ordinary, become_real_time};

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
