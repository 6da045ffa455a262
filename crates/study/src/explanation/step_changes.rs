//! The changes that a study of `step` found by its own trials.

use backsight_model::StudyHistory;
use backsight_policy::history;

use super::HistoryChange;

/// The changes of each primary metric, each with the versions up to its neighbours. Changes of several metrics at one place with the
/// same neighbours are one.
pub(super) fn changes_found(study: &StudyHistory) -> Vec<HistoryChange> {
    let found = history(std::slice::from_ref(study));
    let mut changes: Vec<HistoryChange> = Vec::new();
    for series in found.series.iter().filter(|series| series.metric.primary) {
        let points: Vec<_> = series.believed().collect();
        for (number, point) in points.iter().enumerate() {
            let last = number.checked_sub(1).map_or(0, |last| points[last].at);
            let next = points.get(number + 1);
            let next = next.map_or(study.versions.len(), |next| next.at);
            // Where it isn't known how far back it may lie, the version before it stands for that.
            let after = point.after.unwrap_or(point.at - 1);
            let change = HistoryChange {
                before: last..point.at,
                after: point.at..next,
                between: after + 1..point.until + 1,
                about: vec![(series.cell.clone(), series.metric.name.clone())],
            };
            match changes.iter_mut().find(|known| known.is_at(&change)) {
                Some(known) => known.about.extend(change.about),
                None => changes.push(change),
            }
        }
    }
    changes
}
