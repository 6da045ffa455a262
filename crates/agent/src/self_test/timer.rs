//! How late timers are: threads on every CPU sleep until instants a millisecond apart, as `cyclictest` does, with the priority that a
//! benchmark has.

use std::time::Duration;

use backsight_model::Measure;
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};

use super::numbers::Estimate;
use super::{StopFlag, TurnMeasure, cpus, measured, not_measured, numbers};

/// From one wake-up to the next, in nanoseconds.
const INTERVAL: i64 = 1_000_000;

/// The measure.
pub(super) struct Timer {
    cpus: Vec<u32>,
    /// Seconds by which each wake-up was late, by turn.
    turns: Vec<Vec<f64>>,
}

impl Timer {
    pub(super) fn new(cpus: &[u32]) -> Self {
        Self {
            cpus: cpus.to_vec(),
            turns: Vec::new(),
        }
    }
}

impl TurnMeasure for Timer {
    fn share(&self) -> f64 {
        0.15
    }

    fn take_turn(&mut self, length: Duration, stop: &StopFlag) {
        let count = length.as_nanos() / u128::from(INTERVAL.unsigned_abs());
        let late = cpus::on_each(&self.cpus, |_| late_wakeups(count, stop));
        self.turns.push(late.concat());
    }

    fn finish(self: Box<Self>) -> Measure {
        let late = self.turns.concat();
        let quantile = |share| numbers::quantile(&late, share);
        let jitter = Estimate::of_turns(&self.turns, |turns| {
            let late: Vec<f64> = turns.iter().copied().flatten().copied().collect();
            Some(numbers::quantile(&late, 0.99)? - numbers::quantile(&late, 0.5)?)
        });
        let (Some(median), Some(p99), Some(max), Some(jitter)) =
            (quantile(0.5), quantile(0.99), quantile(1.0), jitter)
        else {
            return not_measured("timer", "no timer could be set");
        };
        measured(
            "timer",
            &[
                ("median", median.into(), "s"),
                ("p99", p99.into(), "s"),
                ("max", max.into(), "s"),
                ("jitter", jitter, "s"),
            ],
        )
    }
}

fn nanoseconds(time: Timespec) -> i64 {
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// How late each of so many wake-ups is, in seconds.
fn late_wakeups(count: u128, stop: &StopFlag) -> Vec<f64> {
    // Without it the kernel may wait 50 µs longer, to serve several timers at once. It is the thread's own, and ends with it.
    let _usual_slack = nix::sys::prctl::set_timerslack(1);
    let mut next = nanoseconds(clock_gettime(ClockId::Monotonic));
    let mut late = Vec::new();
    for _ in 0..count {
        next += INTERVAL;
        let until = Timespec {
            tv_sec: next / 1_000_000_000,
            tv_nsec: next % 1_000_000_000,
        };
        if stop.is_set() || clock_nanosleep_absolute(ClockId::Monotonic, &until).is_err() {
            break;
        }
        let now = nanoseconds(clock_gettime(ClockId::Monotonic));
        late.push((now - next) as f64 / 1e9);
        // One that is late by more than an interval isn't followed by a row of instants that have passed.
        next = next.max(now - INTERVAL);
    }
    late
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_is_what_the_last_percent_is_later_than_the_median() {
        let mut timer = Timer::new(&[]);
        timer.turns = vec![(0..101).map(|n| f64::from(n) * 1e-6).collect()];
        let measure = (Box::new(timer) as Box<dyn TurnMeasure>).finish();
        let jitter = measure.worst().unwrap();
        assert_eq!(jitter.figure.name, "jitter");
        assert!((jitter.figure.value - 49e-6).abs() < 1e-12);
        let none = Box::new(Timer::new(&[])) as Box<dyn TurnMeasure>;
        assert_eq!(none.finish().grade(), None);
    }

    #[test]
    fn timers_of_this_machine_are_late_and_not_early() {
        let late = late_wakeups(20, &StopFlag::default());
        assert_eq!(late.len(), 20);
        assert!(late.iter().all(|late| *late >= 0.0), "{late:?}");
    }
}
