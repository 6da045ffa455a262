//! The better direction of a metric, or that it has none. There is no default.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The direction in which a metric gets better, as a definition says it: `higher` (rates), `lower` (durations) or `neither`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// More is better: throughput, operations per second.
    Higher,
    /// Less is better: latency, run time, loss.
    Lower,
    /// Neither: context switches, memory in use. It changes, and is neither better nor worse; where samples are put in order, the
    /// least is first.
    Neither,
}

impl Better {
    /// The word for it in files and tables: `higher`, `lower` or `neither`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Better::Higher => "higher",
            Better::Lower => "lower",
            Better::Neither => "neither",
        }
    }

    /// Whether `new` is a better value than `base`; equal values are not better.
    #[must_use]
    pub fn prefers(self, new: f64, base: f64) -> bool {
        self != Better::Neither && self.best_first(&new, &base) == Ordering::Less
    }

    /// The order that puts the best value first.
    #[must_use]
    pub fn best_first(self, a: &f64, b: &f64) -> Ordering {
        match self {
            Better::Higher => b.total_cmp(a),
            Better::Lower | Better::Neither => a.total_cmp(b),
        }
    }
}

impl fmt::Display for Better {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A direction was asked for by a word that is none of `higher`, `lower` and `neither`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no direction: say `higher` (more is better), `lower` (less is better) or `neither`"
)]
pub struct ParseBetterError(pub String);

impl FromStr for Better {
    type Err = ParseBetterError;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "higher" => Ok(Better::Higher),
            "lower" => Ok(Better::Lower),
            "neither" => Ok(Better::Neither),
            other => Err(ParseBetterError(other.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_of_a_direction_is_read_back() {
        for better in [Better::Higher, Better::Lower, Better::Neither] {
            assert_eq!(better.as_str().parse(), Ok(better));
            assert_eq!(better.to_string(), better.as_str());
        }
    }

    #[test]
    fn a_wrong_word_is_told_what_to_say() {
        let error = "bigger".parse::<Better>().unwrap_err();
        assert!(error.to_string().contains("`higher`"), "{error}");
    }

    #[test]
    fn a_direction_prefers_what_is_better() {
        assert!(Better::Higher.prefers(2.0, 1.0));
        assert!(!Better::Higher.prefers(1.0, 1.0));
        assert!(Better::Lower.prefers(1.0, 2.0));
        assert!(!Better::Lower.prefers(2.0, 1.0));
        assert!(!Better::Neither.prefers(2.0, 1.0) && !Better::Neither.prefers(1.0, 2.0));
    }
}
