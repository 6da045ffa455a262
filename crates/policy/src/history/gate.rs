//! The gate of a history: what a script wants to fail on.

use jiff::Timestamp;

use super::{ChangePoint, HistoryGap, TargetHistory, VersionSeries};
use crate::{ChangeDirection, GateResult};

/// A condition on which a history fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HistoryCondition {
    /// A change for the worse that isn't accepted; undecided if a series is too short to show one.
    Worse,
    /// Any change that isn't accepted; undecided likewise.
    AnyChange,
    /// The newest version that was tried doesn't build or boot, or all trials of a cell failed there.
    Broken,
    /// A cell of which nothing was measured at any version.
    Missing,
    /// The newest measured version of a series isn't the newest that is known, or is from before `oldest`.
    Stale,
    /// A reference that was measured beside moved; undecided if it has too few trials to tell, or there is none.
    Drift,
}

/// What a history fails on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HistoryGate {
    /// The conditions.
    pub conditions: Vec<HistoryCondition>,
    /// A series whose newest measured version is from before is stale.
    pub oldest: Option<Timestamp>,
    /// Changes of every metric count; else those of the primary ones.
    pub all_metrics: bool,
}

impl HistoryGate {
    /// Whether these series of a history pass, and the gaps that say why not.
    pub fn judge(
        &self,
        history: &TargetHistory,
        series: &[&VersionSeries],
    ) -> (GateResult, Vec<HistoryGap>) {
        let asks = |condition| self.conditions.contains(&condition);
        let mut gaps = Vec::new();
        if asks(HistoryCondition::Broken) {
            gaps.extend(history.broken(series));
        }
        if asks(HistoryCondition::Missing) {
            gaps.extend(history.missing(series));
        }
        if asks(HistoryCondition::Stale) {
            gaps.extend(history.stale(series, self.oldest));
        }
        if asks(HistoryCondition::Drift) {
            gaps.extend(history.drifts(series, self.all_metrics));
        }
        let counts = |one: &&VersionSeries| one.metric.primary || self.all_metrics;
        let judged: Vec<&VersionSeries> = series.iter().copied().filter(counts).collect();
        let alarming = |change: &ChangePoint| {
            asks(HistoryCondition::AnyChange)
                || asks(HistoryCondition::Worse) && change.direction == ChangeDirection::Worse
        };
        let mut changes = judged.iter().flat_map(|series| series.believed());
        if !gaps.is_empty() || changes.any(|change| !change.is_accepted() && alarming(change)) {
            return (GateResult::Failed, gaps);
        }
        // Whether the changes that were asked for could be seen at all.
        let mut unseen = match asks(HistoryCondition::Worse) || asks(HistoryCondition::AnyChange) {
            true => history.too_short(&judged),
            false => Vec::new(),
        };
        if asks(HistoryCondition::Drift) {
            unseen.extend(history.unseen_drift(series));
        }
        match unseen.is_empty() {
            true => (GateResult::Passed, unseen),
            false => (GateResult::Undecided, unseen),
        }
    }
}
