//! This machine's clocks and the boot that they belong to.

use nix::time::{ClockId, clock_gettime};

use crate::Moment;

/// `CLOCK_MONOTONIC`, nanoseconds. It can't fail on Linux; 0 stands for a system that has no such clock.
pub(crate) fn monotonic_ns() -> u64 {
    nanoseconds(ClockId::CLOCK_MONOTONIC).unsigned_abs()
}

/// Both clocks, one right after the other.
pub(crate) fn now() -> Moment {
    Moment {
        monotonic_ns: monotonic_ns(),
        wall_ns: nanoseconds(ClockId::CLOCK_REALTIME),
    }
}

fn nanoseconds(clock: ClockId) -> i64 {
    clock_gettime(clock).map_or(0, |time| time.tv_sec() * 1_000_000_000 + time.tv_nsec())
}

/// The kernel's id of this boot.
pub(crate) fn boot_id() -> Option<String> {
    backsight_platform::boot_id().ok()
}
