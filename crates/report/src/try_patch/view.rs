//! The view of a try: its JSON.

use backsight_model::Unit;
use backsight_policy::{TryCall, TryComparison};
use backsight_stats::{Better, Confidence, Interval, UnrepeatedVariation};
use schemars::JsonSchema;
use serde::Serialize;

use super::TryStudy;
use crate::MoreRounds;

/// A try: sides compared with a base.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TryView<'a> {
    /// The study's number.
    pub study: i64,
    /// The study's name.
    pub name: &'a str,
    /// The version that the sides are compared with.
    pub base: String,
    /// `equal`, `better`, `undecided`, `broken` or `worse`: the worst of the sides.
    pub came: &'static str,
    /// Passes over all sides.
    pub passes: u32,
    /// Trials that gave samples.
    pub measured: usize,
    /// Trials that failed.
    pub failed: usize,
    /// Seconds that builds, boots and trials took.
    pub seconds: f64,
    /// `decided`, `dead`, `passes` or `budget`; null where it was stopped before its end.
    pub ended: Option<String>,
    /// The confidence of all decisions together, from 0 to 1.
    pub confidence: f64,
    /// What the sides differ by beyond what is repeated: nothing, as they are measured in turn and share their sessions.
    pub beyond: UnrepeatedVariation,
    /// About so many more rounds would tell, and the command that adds them, where rounds can be added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_rounds: Option<MoreRounds>,
    /// What `check` asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckView<'a>>,
    /// The sides.
    pub sides: Vec<TrySideView>,
    /// The verdict as sentences.
    pub sentences: Vec<String>,
}

/// What `check` asked for, and what to do next.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CheckView<'a> {
    /// The base as it was asked for: `origin/main`.
    pub base: &'a str,
    /// Whether that version itself is compared with, and not where the change left it.
    pub tip: bool,
    /// The identity of the commit that is compared with.
    pub base_commit: &'a str,
    /// The identity of the commit that was checked out.
    pub head_commit: &'a str,
    /// Up to how many percent worse is passed.
    pub tolerance: Option<f64>,
    /// What to do next, a sentence each.
    pub next: Vec<String>,
}

/// A side of a try.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TrySideView {
    /// Its name.
    pub side: String,
    /// `equal`, `better`, `undecided`, `broken` or `worse`.
    pub came: &'static str,
    /// A metric of a cell each.
    pub compared: Vec<TryDifferenceView>,
}

/// A side against the base by one metric of one cell.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TryDifferenceView {
    /// The cell.
    pub cell: Option<String>,
    /// The metric.
    pub metric: String,
    /// The unit of `base`, `side` and `difference`.
    pub unit: Option<Unit>,
    /// Which direction of it is good.
    pub better: Better,
    /// Whether it counts for what the side came to.
    pub decides: bool,
    /// `better`, `worse`, `equal`, `undecided` or `missing`.
    pub call: &'static str,
    /// Differences that it stands on.
    pub passes: usize,
    /// About so many more passes would decide it, where that is known.
    pub more: Option<usize>,
    /// The mean of the base.
    pub base: Option<f64>,
    /// The mean of the side.
    pub side: Option<f64>,
    /// side − base in percent of the base.
    pub percent: Option<f64>,
    /// Its interval, which holds at every look.
    pub interval: Option<Interval>,
    /// side − base in the metric's unit, where there is no ratio.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<f64>,
    /// Its interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference_interval: Option<Interval>,
    /// The confidence of the intervals, from 0 to 1.
    pub interval_confidence: Confidence,
}

impl<'a> TryView<'a> {
    /// The view of a study.
    pub fn new(study: &TryStudy<'a>) -> Self {
        let verdict = study.verdict;
        let sides = (1..=study.sides()).map(|side| {
            let compared = verdict.compared.iter().filter(|t| t.side == side);
            TrySideView {
                side: study.side(side),
                came: study.side_outcome(side).as_str(),
                compared: compared
                    .map(|tried| TryDifferenceView::new(study, tried))
                    .collect(),
            }
        });
        Self {
            study: study.history.study,
            name: study.history.name.as_str(),
            base: study.base(),
            came: study.overall().as_str(),
            passes: verdict.passes,
            measured: verdict.measured,
            failed: verdict.failed,
            seconds: verdict.spent.as_secs_f64(),
            ended: verdict
                .ended
                .map(|ended| format!("{ended:?}").to_lowercase()),
            confidence: study.confidence,
            beyond: UnrepeatedVariation::Nothing,
            more_rounds: study.more_rounds(),
            check: study.checked.map(|checked| {
                let history = study.history;
                let commit = |version: usize| {
                    let found = history.versions.get(version);
                    found.map_or("", |version| version.id.as_str())
                };
                CheckView {
                    base: checked.base,
                    tip: checked.tip,
                    base_commit: commit(0),
                    head_commit: commit(1),
                    tolerance: study.equal,
                    next: study.next_steps(),
                }
            }),
            sides: sides.collect(),
            sentences: study.sentences(),
        }
    }
}

impl TryDifferenceView {
    fn new(study: &TryStudy<'_>, tried: &TryComparison) -> Self {
        let cell = study.history.cells.get(tried.cell);
        let metric = cell.and_then(|cell| cell.metrics.iter().find(|m| m.name == tried.metric));
        let (call, more) = match tried.call {
            TryCall::Better => ("better", None),
            TryCall::Worse => ("worse", None),
            TryCall::Equal { .. } => ("equal", None),
            TryCall::Undecided { more } => ("undecided", more),
            TryCall::Missing => ("missing", None),
        };
        Self {
            cell: cell.map(|cell| cell.cell.to_string()),
            metric: tried.metric.to_string(),
            unit: metric.map(|metric| metric.unit),
            better: tried.better,
            decides: tried.decides,
            call,
            passes: tried.pairs,
            more,
            base: tried.base,
            side: tried.new,
            percent: tried.percent,
            interval: tried.percent_interval,
            difference: tried.difference.map(|(by, _)| by),
            difference_interval: tried.difference.and_then(|(_, interval)| interval),
            interval_confidence: tried.confidence,
        }
    }
}
