//! Numbers of trials as ranges, for questions about some of a study's.

use std::ops::RangeInclusive;

/// Numbers between two wanted ones that are read along: a question takes longer than they do.
const MAX_GAP: u32 = 8;

/// Ranges that have all numbers that were added, and few others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NumberRanges(Vec<RangeInclusive<u32>>);

impl NumberRanges {
    /// Adds a number that isn't less than those before.
    pub fn add(&mut self, number: u32) {
        match self.0.last_mut() {
            Some(last) if number <= last.end().saturating_add(MAX_GAP) => {
                *last = *last.start()..=number;
            }
            _ => self.0.push(number..=number),
        }
    }

    /// The ranges, in their order; none overlaps another.
    pub fn as_slice(&self) -> &[RangeInclusive<u32>] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_near_each_other_are_one_range() {
        let mut ranges = NumberRanges::default();
        for number in [1, 2, 10, 19, 1000, u32::MAX - 1, u32::MAX] {
            ranges.add(number);
        }
        let expected = [1..=10, 19..=19, 1000..=1000, u32::MAX - 1..=u32::MAX];
        assert_eq!(ranges.as_slice(), expected);
    }
}
