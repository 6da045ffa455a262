//! References of a history as sentences: what was measured beside, and whether it moved.

use backsight_policy::{ReferenceSeries, TargetHistory};
use backsight_stats::changes::{DetectedChange, MIN_POINTS};
use jiff::tz::TimeZone;

use crate::numbers::{self, Scale, counted};

/// A sentence for each reference that moved, and one for those that rest or tell nothing.
pub fn sentences(history: &TargetHistory) -> Vec<String> {
    let references = || history.references.iter().filter(|it| !it.points.is_empty());
    let mut sentences: Vec<String> = references()
        .filter(|it| it.drifts())
        .map(|it| moved(it, history.is_drift_removed))
        .collect();
    let names = |is_meant: &dyn Fn(&ReferenceSeries) -> bool| {
        let meant = references().filter(|it| is_meant(it));
        let names: Vec<String> = meant.map(ReferenceSeries::name).collect();
        names.join("; ")
    };
    let resting = names(&|it| !it.drifts() && !it.is_too_short());
    if !resting.is_empty() {
        sentences.push(format!("References that rested: {resting}."));
    }
    let short = names(&ReferenceSeries::is_too_short);
    if !short.is_empty() {
        sentences.push(format!(
            "References with fewer than {MIN_POINTS} trials, which can't show a drift: {short}."
        ));
    }
    sentences
}

/// `The reference tbench throughput on guide moved: −4.1 % [−4.6, −3.6] at 2026-11-20 10:30; taken out here.`
fn moved(reference: &ReferenceSeries, is_removed: bool) -> String {
    let found = reference.found.as_ref();
    let changes = found.into_iter().flat_map(|found| &found.changes);
    let mut parts: Vec<String> = changes.map(|change| step(reference, change)).collect();
    if let Some(trend) = found.and_then(|found| found.trend.as_ref()) {
        let scale = Scale::fitting(reference.metric.unit, [trend.from]);
        let size = scale.difference(trend.size, Some(trend.size_interval));
        parts.push(format!("a trend, {size} in all"));
    }
    let end = match is_removed {
        true => "taken out here",
        false => "that is no version's doing (--correct-drift takes it out)",
    };
    format!(
        "The reference {} moved: {}; {end}. {}.",
        reference.name(),
        parts.join("; "),
        counted(reference.points.len(), "trial")
    )
}

fn step(reference: &ReferenceSeries, change: &DetectedChange) -> String {
    let at = reference.points.get(change.at).map(|point| {
        let at = point.at.to_zoned(TimeZone::UTC);
        at.strftime("%Y-%m-%d %H:%M").to_string()
    });
    let size = match backsight_policy::change_percent(change) {
        Some((percent, interval)) => numbers::percent_in(percent, Some(interval)),
        None => {
            let scale = Scale::fitting(reference.metric.unit, [change.after]);
            scale.difference(change.size, Some(change.size_interval))
        }
    };
    format!("{size} at {}", at.unwrap_or_default())
}
