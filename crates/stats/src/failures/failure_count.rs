//! Number of failed runs among all, and the failure probability that it shows.

use std::{iter::Sum, ops::Add};

use serde::Serialize;

use crate::{Confidence, Interval, distributions::normal_quantile};

/// Runs of a test and how many of them failed. Runs that were skipped or broke off aren't counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct FailureCount {
    /// Failed runs; at most `runs`.
    pub failures: u64,
    /// All runs.
    pub runs: u64,
}

/// How often a test fails: the observed share with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct FailureRate {
    /// What it was computed from.
    pub count: FailureCount,
    /// Failures per run.
    pub rate: f64,
    /// Interval of the failure probability.
    pub interval: Interval,
}

impl FailureCount {
    /// The failures per run with Wilson's interval; `None` without a run.
    ///
    /// Sources: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", J. Am. Stat. Assoc. 22
    /// (1927); recommended for few runs by L. D. Brown, T. T. Cai, A. DasGupta, "Interval estimation for a binomial
    /// proportion", Statistical Science 16 (2001).
    #[must_use]
    pub fn rate(self, confidence: Confidence) -> Option<FailureRate> {
        if self.runs == 0 {
            return None;
        }
        let n = self.runs as f64;
        let rate = self.failures as f64 / n;
        let z = normal_quantile(1.0 - confidence.tail());
        let shrink = 1.0 + z * z / n;
        let centre = (rate + z * z / (2.0 * n)) / shrink;
        let half = z / shrink * (rate * (1.0 - rate) / n + z * z / (4.0 * n * n)).sqrt();
        Some(FailureRate {
            count: self,
            rate,
            // Exactly 0 and 1 at the ends, which rounding may miss.
            interval: Interval {
                low: if self.failures == 0 {
                    0.0
                } else {
                    centre - half
                },
                high: if self.passes() == 0 {
                    1.0
                } else {
                    centre + half
                },
            },
        })
    }

    /// Runs that passed.
    #[must_use]
    pub fn passes(self) -> u64 {
        self.runs - self.failures
    }

    /// Whether every run failed, and there was one.
    #[must_use]
    pub fn always_failed(self) -> bool {
        self.runs > 0 && self.passes() == 0
    }

    /// Whether every run passed, and there was one.
    #[must_use]
    pub fn always_passed(self) -> bool {
        self.runs > 0 && self.failures == 0
    }
}

impl Add for FailureCount {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            failures: self.failures + other.failures,
            runs: self.runs + other.runs,
        }
    }
}

impl Sum for FailureCount {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), Add::add)
    }
}
