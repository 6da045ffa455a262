//! Histogram of times with buckets that grow with them: 32 for each doubling, so that a percentile is wrong by 3 % at most.

use serde::{Deserialize, Serialize};

/// Buckets of each doubling, as a power of two.
const FINE: u32 = 5;

/// Counts of times in buckets that grow with them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Histogram {
    buckets: Vec<u64>,
}

impl Histogram {
    /// Counts a time in nanoseconds.
    pub fn add(&mut self, value: u64) {
        self.fill(bucket(value), 1);
    }

    /// Counts so many times that belong into this bucket.
    pub(crate) fn fill(&mut self, bucket: usize, times: u64) {
        if bucket >= self.buckets.len() {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] += times;
    }

    /// Counts what another counted.
    pub fn merge(&mut self, other: &Histogram) {
        if other.buckets.len() > self.buckets.len() {
            self.buckets.resize(other.buckets.len(), 0);
        }
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine += theirs;
        }
    }

    /// The time that this part of all, from 0 to 1, didn't exceed; the middle of its bucket, in nanoseconds. Nothing if
    /// nothing was counted.
    pub fn quantile(&self, part: f64) -> Option<u64> {
        let all: u64 = self.buckets.iter().sum();
        if all == 0 {
            return None;
        }
        let rank = ((part * all as f64).ceil() as u64).clamp(1, all);
        let mut seen = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return Some(middle(bucket));
            }
        }
        None
    }
}

impl Histogram {
    /// How many times there are in each doubling, from the one with the shortest to the one with the longest: where it begins, where it
    /// ends (exclusive), both in nanoseconds, and the count.
    pub fn doublings(&self) -> Vec<(u64, u64, u64)> {
        let mut counts: Vec<(u64, u64, u64)> = Vec::new();
        for (bucket, &count) in self.buckets.iter().enumerate() {
            let power = middle(bucket).max(1).ilog2();
            let start = if power == 0 { 0 } else { 1 << power };
            match counts.last_mut() {
                Some(last) if last.0 == start => last.2 += count,
                _ => counts.push((start, 2_u64.saturating_mul(1 << power), count)),
            }
        }
        let is_counted = |row: &(u64, u64, u64)| row.2 > 0;
        let last = counts.iter().rposition(is_counted).map_or(0, |at| at + 1);
        counts.truncate(last);
        let first = counts.iter().position(is_counted).unwrap_or(0);
        counts.split_off(first)
    }
}

/// Where a time is counted; `bpf/bucket.h` is its twin.
pub(crate) fn bucket(value: u64) -> usize {
    let doublings = (63 - (value | 1).leading_zeros()).saturating_sub(FINE);
    ((u64::from(doublings) << FINE) + (value >> doublings)) as usize
}

/// The middle of a bucket.
fn middle(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let doublings = (bucket >> FINE).saturating_sub(1);
    let start = (bucket - (doublings << FINE)) << doublings;
    start + ((1 << doublings) - 1) / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_time_is_within_its_doubling(times in proptest::collection::vec(0_u64..1 << 62, 1..50)) {
            let mut histogram = Histogram::default();
            for time in &times {
                histogram.add(*time);
            }
            let doublings = histogram.doublings();
            for (start, end, count) in &doublings {
                let within = times.iter().filter(|time| (start..end).contains(time)).count();
                prop_assert_eq!(within as u64, *count);
            }
            prop_assert!(doublings.windows(2).all(|pair| pair[0].1 == pair[1].0));
            prop_assert!(doublings.first().unwrap().2 > 0 && doublings.last().unwrap().2 > 0);
        }
    }
}
