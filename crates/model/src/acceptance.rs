//! Changes that somebody knows of and lives with.
//!
//! An accepted change stays in the history, with its reason.

use jiff::Timestamp;
use serde::Serialize;

use crate::TargetName;

/// That a change is accepted: it is no reason for alarm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Acceptance {
    /// The target along whose history it lies.
    pub target: TargetName,
    /// The identity of the version that made the change.
    pub version: String,
    /// Its name when it was accepted.
    pub name: String,
    /// Of this metric alone, `time` or `work.time`; of all if none is named.
    pub metric: Option<String>,
    /// Why it is accepted.
    pub reason: String,
    /// What those do who can't live with it.
    pub work_around: Option<String>,
    /// Who accepted it.
    pub by: String,
    /// When.
    pub at: Timestamp,
    /// Until when; for ever if nothing is said.
    pub until: Option<Timestamp>,
}

impl Acceptance {
    /// Whether it counts at this time.
    pub fn holds(&self, now: Timestamp) -> bool {
        self.until.is_none_or(|until| now < until)
    }

    /// Whether it is about this metric of this benchmark.
    pub fn covers(&self, benchmark: &str, metric: &str) -> bool {
        let full = || format!("{benchmark}.{metric}");
        let named = self.metric.as_deref();
        named.is_none_or(|named| named == metric || named == full())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_covers_what_it_names_and_holds_until_its_end() {
        let second = |second| Timestamp::from_second(second).unwrap();
        let mut acceptance = Acceptance {
            target: "app".parse().unwrap(),
            version: "abc".to_owned(),
            name: "v2".to_owned(),
            metric: None,
            reason: "safer".to_owned(),
            work_around: None,
            by: "Ann".to_owned(),
            at: second(0),
            until: None,
        };
        assert!(acceptance.covers("work", "time") && acceptance.holds(second(1 << 33)));
        acceptance.until = Some(second(100));
        assert!(acceptance.holds(second(99)) && !acceptance.holds(second(100)));
        for (named, covers) in [
            ("time", true),
            ("work.time", true),
            ("other.time", false),
            ("rate", false),
        ] {
            acceptance.metric = Some(named.to_owned());
            assert_eq!(acceptance.covers("work", "time"), covers, "{named}");
        }
    }
}
