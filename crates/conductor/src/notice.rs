//! Notice: how long before an instant it is agreed, so that every host hears of it in time.

use std::{collections::VecDeque, time::Duration};

/// What telling one host of an instant takes at most, mostly, on a machine that has other work too. An instant that is
/// past when a host hears of it is worse than one that is waited for.
const FIRST: Duration = Duration::from_millis(3);
/// The same for each further host: where hosts share processors, one after the other hears of it.
const EACH: Duration = Duration::from_millis(1);
/// Instants that count for the next.
const RECENT: usize = 32;
/// Added to the slowest of them, and its share that is added.
const MARGIN_NS: u64 = 500_000;
const SHARE: u64 = 2;
/// However slow hosts are: who waits longer than that for a host that is late has lost more than exactness.
const LONGEST_NS: u64 = 500_000_000;

/// How long telling hosts of an instant takes, as far as it is known.
#[derive(Debug, Clone, Default)]
pub(crate) struct Notice {
    /// What an answer of the slowest host takes at least, in nanoseconds.
    round_trip_ns: u64,
    /// How long the slowest host took to hear of the last instants, in nanoseconds.
    recent_ns: VecDeque<u64>,
}

impl Notice {
    /// Answers of the hosts take so long at least, in nanoseconds.
    pub(crate) fn set_round_trips(&mut self, round_trips_ns: impl IntoIterator<Item = u64>) {
        self.round_trip_ns = round_trips_ns.into_iter().max().unwrap_or(0);
    }

    /// For the same hosts, with nothing known of how long they took.
    pub(crate) fn anew(&self) -> Self {
        Self {
            round_trip_ns: self.round_trip_ns,
            recent_ns: VecDeque::new(),
        }
    }

    /// The slowest host took so long to hear of an instant.
    pub(crate) fn observe(&mut self, took_ns: u64) {
        if self.recent_ns.len() == RECENT {
            self.recent_ns.pop_front();
        }
        self.recent_ns.push_back(took_ns);
    }

    /// For so many hosts: as long as news took of late, and some more.
    pub(crate) fn length_ns(&self, parties: usize) -> u64 {
        let known = self.known_ns();
        known
            .unwrap_or_else(|| self.guess_ns(parties))
            .min(LONGEST_NS)
    }

    /// The same, and no shorter than for hosts that nothing is known of: where it is given once and not in a loop, a longer
    /// one costs nothing, and hosts that share processors keep still for as long.
    pub(crate) fn unhurried_ns(&self, parties: usize) -> u64 {
        let guess = self.guess_ns(parties);
        self.known_ns().unwrap_or(0).max(guess).min(LONGEST_NS)
    }

    fn known_ns(&self) -> Option<u64> {
        let slowest = self.recent_ns.iter().max()?;
        Some(slowest + slowest / SHARE + MARGIN_NS)
    }

    fn guess_ns(&self, parties: usize) -> u64 {
        let others = u32::try_from(parties.saturating_sub(1)).unwrap_or(u32::MAX);
        let telling = (FIRST + EACH.saturating_mul(others)).as_nanos();
        let telling = u64::try_from(telling).unwrap_or(u64::MAX);
        telling.saturating_add(self.round_trip_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notice_follows_what_hearing_took_and_has_a_limit() {
        let mut notice = Notice::default();
        assert_eq!(notice.length_ns(3), 5_000_000);
        notice.observe(1_000_000);
        assert_eq!(notice.length_ns(3), 2_000_000);
        assert_eq!(notice.unhurried_ns(3), 5_000_000);
        notice.observe(40_000_000);
        assert_eq!(notice.length_ns(3), 60_500_000);
        assert_eq!(notice.unhurried_ns(3), 60_500_000);
        for _ in 0..RECENT {
            notice.observe(1_000_000);
        }
        assert_eq!(notice.length_ns(3), 2_000_000);
        notice.observe(u64::from(u32::MAX));
        assert_eq!(notice.length_ns(2), LONGEST_NS);
    }

    #[test]
    fn hosts_that_are_far_away_have_longer_notice_from_the_first_instant_on() {
        let mut far = Notice::default();
        far.set_round_trips([0, 200_000_000, 40_000]);
        assert_eq!(far.length_ns(1), 203_000_000);
        assert_eq!(far.unhurried_ns(2), 204_000_000);
    }
}
