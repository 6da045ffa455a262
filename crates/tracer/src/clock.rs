//! The clock of events: the one by which the programs in the kernel tell time.

/// Nanoseconds of the monotonic clock.
pub(crate) fn now() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
