//! Accepted changes as text: those of a target, and what an acceptance does.

use backsight_model::{Acceptance, TargetName};
use backsight_policy::TargetHistory;
use jiff::{Timestamp, tz::TimeZone};

use crate::{escape, list_table};

/// Which changes are accepted by this.
pub fn acceptance_effect(history: &TargetHistory, acceptance: &Acceptance) -> String {
    let changes = history.series.iter().flat_map(|series| {
        let accepted = series.believed().filter(|change| change.accepted.is_some());
        accepted.map(move |_| series.name())
    });
    let changes: Vec<String> = changes.collect();
    match &changes[..] {
        [] => format!(
            "no study has seen a change at {}: it is accepted when one does",
            escape::line(&acceptance.name)
        ),
        some => format!(
            "accepted: what {} did to {}",
            escape::line(&acceptance.name),
            escape::line(&some.join(", "))
        ),
    }
}

/// What is accepted along the history of a target.
pub fn acceptances_table(
    target: &TargetName,
    all: &[Acceptance],
    now: Timestamp,
    width: Option<u16>,
) -> String {
    if all.is_empty() {
        return format!("nothing is accepted along the history of {target}\n");
    }
    let mut rows = list_table(
        &["version", "metric", "by", "until", "reason", "work-around"],
        width,
    );
    for one in all {
        let until = one.until.map_or_else(|| "for ever".to_owned(), day);
        let until = match one.holds(now) {
            true => until,
            false => format!("{until}, which is over"),
        };
        rows.add_row([
            escape::line(&one.name),
            one.metric
                .as_deref()
                .map_or_else(|| "all".to_owned(), escape::line),
            escape::line(&one.by),
            until,
            escape::line(&one.reason),
            one.work_around
                .as_deref()
                .map_or_else(String::new, escape::line),
        ]);
    }
    format!("{rows}\n")
}

fn day(at: Timestamp) -> String {
    at.to_zoned(TimeZone::system()).date().to_string()
}
