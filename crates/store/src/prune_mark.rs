//! When a raw object was removed, and by which rule, as values.

use jiff::{Timestamp, tz::TimeZone};
use std::fmt;

/// When a raw object was removed, and by which rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PruneMark {
    /// When.
    pub made: Timestamp,
    /// The rule as keep.toml has it: `outputs = "4 weeks"`.
    pub rule: String,
}

impl fmt::Display for PruneMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let day = self.made.to_zoned(TimeZone::system()).date();
        write!(f, "pruned on {day} by the rule `{}`", self.rule)
    }
}

/// What one rule removed so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RulePruning {
    /// How many objects.
    pub objects: u64,
    /// The last time, and the rule.
    pub last: PruneMark,
}
