//! The clocks against each other: what measures durations (`CLOCK_MONOTONIC`) against the raw counter, and jumps of the wall clock.

use backsight_model::Measure;
use rustix::time::{ClockId, Timespec, clock_gettime};

use super::{measured, not_measured};

/// The clocks at an instant, in seconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClockReading {
    monotonic: f64,
    raw: f64,
    wall: f64,
}

/// Readings of which the quickest counts: a gap between two clocks' readings would look like drift.
const TRIES: u32 = 5;

impl ClockReading {
    pub(super) fn now() -> Self {
        // Seconds since 1970 in a floating point number are exact to 0.2 µs; those since a recent second to far less.
        let seconds = |clock| {
            let Timespec { tv_sec, tv_nsec } = clock_gettime(clock);
            tv_sec as f64 + tv_nsec as f64 / 1e9
        };
        let reading = || {
            let before = seconds(ClockId::Monotonic);
            let (raw, wall) = (seconds(ClockId::MonotonicRaw), seconds(ClockId::Realtime));
            let after = seconds(ClockId::Monotonic);
            let monotonic = before.midpoint(after);
            (
                after - before,
                Self {
                    monotonic,
                    raw,
                    wall,
                },
            )
        };
        let readings = (0..TRIES).map(|_| reading());
        let quickest = readings.min_by(|(one, _), (other, _)| one.total_cmp(other));
        quickest.map_or_else(|| reading().1, |(_, reading)| reading)
    }

    pub(super) fn finish(self) -> Measure {
        outcome(self, Self::now())
    }
}

fn outcome(begun: ClockReading, ended: ClockReading) -> Measure {
    const NAME: &str = "clock";
    let raw = ended.raw - begun.raw;
    if raw <= 0.0 {
        return not_measured(NAME, "the raw clock stands still");
    }
    let monotonic = ended.monotonic - begun.monotonic;
    let wall = ended.wall - begun.wall;
    measured(
        NAME,
        &[
            ("drift", (monotonic / raw - 1.0).abs(), "ratio"),
            ("step", (wall - monotonic).abs(), "s"),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drift_is_a_share_and_a_step_is_seconds() {
        let begun = ClockReading {
            monotonic: 100.0,
            raw: 100.0,
            wall: 5000.0,
        };
        let ended = ClockReading {
            monotonic: 110.01,
            raw: 110.0,
            wall: 5012.01,
        };
        let measure = outcome(begun, ended);
        let values: Vec<f64> = measure.graded().map(|graded| graded.figure.value).collect();
        assert!((values[0] - 0.001).abs() < 1e-9, "{values:?}");
        assert!((values[1] - 2.0).abs() < 1e-6, "{values:?}");
        assert_eq!(outcome(begun, begun).grade(), None);
    }
}
