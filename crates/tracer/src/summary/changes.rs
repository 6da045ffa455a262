//! Differences of two summaries by call: how often, how long, and how much of the time is due to either. Two runs can't tell whether
//! a difference is chance.

use std::{collections::BTreeMap, fmt::Write as _};

use super::tables::{aligned, duration};
use super::{CallStatistics, CallSummary};

/// What changed of one call from one run to another.
#[derive(Debug, Clone, PartialEq)]
pub struct CallChange {
    /// The call.
    pub name: String,
    /// Before; no calls if there were none.
    pub before: CallStatistics,
    /// After; no calls if there are none.
    pub after: CallStatistics,
}

impl CallChange {
    /// How much longer all calls of this name took, in nanoseconds.
    pub fn time(&self) -> i128 {
        i128::from(self.after.total) - i128::from(self.before.total)
    }

    /// How much of that is because it was called more often, at the price of before; the rest is because calls took longer.
    pub fn by_calls(&self) -> i128 {
        let more = i128::from(self.after.calls) - i128::from(self.before.calls);
        let price = if self.before.calls == 0 {
            self.after.mean()
        } else {
            self.before.mean()
        };
        more * i128::from(price)
    }

    /// In words: what is new, gone, called more or less often, slower or faster, failing more often.
    pub fn describe(&self) -> String {
        let (before, after) = (&self.before, &self.after);
        if before.calls == 0 {
            return "new".to_owned();
        }
        if after.calls == 0 {
            return "gone".to_owned();
        }
        let mut words = Vec::new();
        if before.calls != after.calls {
            words.push(format!(
                "{} as often",
                times(after.calls as f64 / before.calls as f64)
            ));
        }
        // A call that changed by less than what the histogram can tell hasn't changed.
        let (old, new) = (before.quantile(0.5) as f64, after.quantile(0.5) as f64);
        if old > 0.0 && (new / old - 1.0).abs() > 0.1 {
            words.push(format!("{} as long (median)", times(new / old)));
        }
        let (old, new) = (before.quantile(0.99) as f64, after.quantile(0.99) as f64);
        if old > 0.0 && !(0.67..1.5).contains(&(new / old)) {
            words.push(format!("{} as long (p99)", times(new / old)));
        }
        if before.errors * after.calls != after.errors * before.calls {
            words.push(format!(
                "{} errors instead of {}",
                after.errors, before.errors
            ));
        }
        if words.is_empty() {
            "as before".to_owned()
        } else {
            words.join(", ")
        }
    }
}

fn times(ratio: f64) -> String {
    format!("{ratio:.2}×")
}

/// What changed from one run to another, per unit of work: what cost most more time first, what saved most last.
///
/// `units` is how much work each did, as of requests served: counts and times of the second are scaled to the work of the
/// first. `(1, 1)` compares as they are.
pub fn compare_summaries(
    before: &CallSummary,
    after: &CallSummary,
    units: (u64, u64),
) -> Vec<CallChange> {
    let mut by_name: BTreeMap<String, (CallStatistics, CallStatistics)> = BTreeMap::new();
    for (name, figures) in before.calls() {
        by_name.entry(name).or_default().0.merge(&figures);
    }
    for (name, figures) in after.calls() {
        by_name
            .entry(name)
            .or_default()
            .1
            .merge(&scaled(&figures, units));
    }
    let mut changes: Vec<_> = by_name
        .into_iter()
        .map(|(name, (before, after))| CallChange {
            name,
            before,
            after,
        })
        .collect();
    changes.sort_by(|a, b| b.time().cmp(&a.time()).then_with(|| a.name.cmp(&b.name)));
    changes
}

fn scaled(figures: &CallStatistics, (before, after): (u64, u64)) -> CallStatistics {
    let scale = |value: u64| {
        u64::try_from(u128::from(value) * u128::from(before) / u128::from(after.max(1)))
            .unwrap_or(u64::MAX)
    };
    if before == after {
        return figures.clone();
    }
    CallStatistics {
        calls: scale(figures.calls),
        errors: scale(figures.errors),
        total: scale(figures.total),
        ..figures.clone()
    }
}

/// What changed, as a table; what stayed as it was is only counted.
pub fn format_changes(changes: &[CallChange]) -> String {
    let mut lines = vec![
        ["calls", "time", "of that by number", "p50", "p99", "call"]
            .map(str::to_owned)
            .to_vec(),
    ];
    let mut same = 0;
    for change in changes {
        let words = change.describe();
        if words == "as before" {
            same += 1;
            continue;
        }
        let arrow = |before: String, after: String| format!("{before} → {after}");
        let (before, after) = (&change.before, &change.after);
        lines.push(vec![
            arrow(before.calls.to_string(), after.calls.to_string()),
            signed_duration(change.time()),
            signed_duration(change.by_calls()),
            arrow(
                duration(before.quantile(0.5)),
                duration(after.quantile(0.5)),
            ),
            arrow(
                duration(before.quantile(0.99)),
                duration(after.quantile(0.99)),
            ),
            format!("{}: {words}", change.name),
        ]);
    }
    let mut text = if lines.len() > 1 {
        aligned(&lines)
    } else {
        String::new()
    };
    if same > 0 {
        let _ = writeln!(text, "{same} other calls as before");
    }
    text
}

pub(super) fn signed_duration(nanoseconds: i128) -> String {
    let sign = if nanoseconds < 0 { "−" } else { "+" };
    format!(
        "{sign}{}",
        duration(u64::try_from(nanoseconds.unsigned_abs()).unwrap_or(u64::MAX))
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::summary;

    #[test]
    fn what_changed_is_said_in_words() {
        let before = summary(&[
            (1, "read", 5, 1000),
            (1, "close", 0, 10),
            (1, "open", 1, 5),
            (1, "stat", 0, 70),
        ]);
        let after = summary(&[
            (1, "read", 5, 2000),
            (1, "read", 5, 2000),
            (1, "close", -9, 10),
            (1, "mmap", 0, 5),
            (1, "stat", 0, 70),
        ]);
        let changes = compare_summaries(&before, &after, (1, 1));
        let said: Vec<_> = changes
            .iter()
            .map(|change| (change.name.as_str(), change.describe()))
            .collect();
        assert_eq!(
            said,
            [
                (
                    "read",
                    "2.00× as often, 2.00× as long (median), 2.00× as long (p99)".to_owned()
                ),
                ("mmap", "new".to_owned()),
                ("close", "1 errors instead of 0".to_owned()),
                ("stat", "as before".to_owned()),
                ("open", "gone".to_owned()),
            ]
        );
        assert_eq!((changes[0].time(), changes[0].by_calls()), (3000, 1000));
        assert!(format_changes(&changes).ends_with("1 other calls as before\n"));
    }

    #[test]
    fn runs_of_different_length_are_compared_by_their_work() {
        let before = summary(&[(1, "read", 5, 1000)]);
        let after = summary(&[(1, "read", 5, 1000), (1, "read", 5, 1000)]);
        assert_eq!(
            compare_summaries(&before, &after, (10, 20))[0].describe(),
            "as before"
        );
    }
}
