//! The view of what monitors cost: its JSON.

use backsight_model::{MonitorName, ParamName, Unit, Value};
use backsight_policy::{CostCall, MonitorCost, MonitorSet, SideMean};
use backsight_stats::{Confidence, Interval};
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Serialize;

use super::OverheadStudy;
use crate::MoreRounds;

/// What monitors cost.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OverheadView<'a> {
    /// The study's name.
    pub name: &'a str,
    /// The monitors.
    pub monitors: &'a [MonitorName],
    /// Rounds that were measured.
    pub rounds: u32,
    /// Whether every cost on a primary metric is decided.
    pub decided: bool,
    /// The confidence of the intervals of primary metrics, in percent.
    pub confidence_percent: f64,
    /// About so many more rounds would decide the primary metrics, and the command that adds them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_rounds: Option<MoreRounds>,
    /// A monitor and a metric of a cell each.
    pub costs: Vec<OverheadCostView<'a>>,
}

/// What watching does to one metric of one cell.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OverheadCostView<'a> {
    /// The monitor; null where all watch together.
    pub monitor: Option<String>,
    /// Whether all watched together.
    pub together: bool,
    /// The cell's benchmark.
    pub benchmark: Option<&'a str>,
    /// The cell's variant.
    pub variant: Option<&'a str>,
    /// The cell's parameters.
    pub params: Option<&'a IndexMap<ParamName, Value>>,
    /// The metric.
    pub metric: &'a str,
    /// The unit of the means.
    pub unit: Option<Unit>,
    /// `higher` or `lower`.
    pub better: &'static str,
    /// Whether the benchmark is run for it.
    pub primary: bool,
    /// Rounds that it stands on.
    pub rounds: usize,
    /// What was measured unwatched.
    pub unwatched: Option<OverheadSideView>,
    /// What was measured watched.
    pub watched: Option<OverheadSideView>,
    /// watched − unwatched; null where it can't be estimated.
    pub difference: Option<f64>,
    /// The unit of the difference: `%`, or the metric's.
    pub difference_unit: Option<String>,
    /// The interval of the difference.
    pub interval: Option<Interval>,
    /// The confidence of the interval, from 0 to 1.
    pub interval_confidence: Confidence,
    /// Whether the interval excludes zero.
    pub excludes_zero: bool,
    /// `worse`, `better`, `no-effect`, `cannot-tell` or `missing`.
    pub is: &'static str,
    /// Bound of the difference in percent, where it has no effect.
    pub no_effect_larger_than_percent: Option<f64>,
    /// About so many more rounds would decide it, where that is known.
    pub more_rounds: Option<usize>,
}

/// What a side measured.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OverheadSideView {
    /// The mean, in the metric's unit.
    pub mean: f64,
    /// The coefficient of variation over the rounds, in percent.
    pub coeffvar_percent: Option<f64>,
}

impl<'a> OverheadView<'a> {
    /// The view of a study.
    pub fn new(study: &'a OverheadStudy) -> Self {
        let verdict = &study.verdict;
        Self {
            name: study.study.as_str(),
            monitors: &study.monitors,
            rounds: verdict.rounds,
            decided: verdict.decided,
            confidence_percent: verdict.confidence.share() * 100.0,
            more_rounds: study.more_rounds(),
            costs: verdict
                .costs
                .iter()
                .map(|cost| OverheadCostView::new(study, cost))
                .collect(),
        }
    }
}

impl<'a> OverheadCostView<'a> {
    fn new(study: &'a OverheadStudy, cost: &'a MonitorCost) -> Self {
        let (is, larger, more) = match cost.call {
            CostCall::Costs => ("worse", None, None),
            CostCall::Helps => ("better", None, None),
            CostCall::Nothing {
                larger_than_percent,
            } => ("no-effect", Some(larger_than_percent), None),
            CostCall::CannotTell { more } => ("cannot-tell", None, more),
            CostCall::Missing => ("missing", None, None),
        };
        let cell = study.cells.get(cost.cell);
        let unit = study.unit(cost);
        let effect = cost.effect.filter(|_| cost.is_estimable());
        let side = |side: SideMean| OverheadSideView {
            mean: side.mean,
            coeffvar_percent: side.spread.ok(),
        };
        Self {
            monitor: match cost.watched_by {
                MonitorSet::Together => None,
                watched => Some(study.name(watched)),
            },
            together: cost.watched_by == MonitorSet::Together,
            benchmark: cell.map(|cell| cell.benchmark.as_str()),
            variant: cell.map(|cell| cell.variant.as_str()),
            params: cell.map(|cell| &cell.params),
            metric: cost.metric.as_str(),
            unit,
            better: cost.better.as_str(),
            primary: cost.decides,
            rounds: cost.rounds,
            unwatched: cost.sides.map(|(unwatched, _)| side(unwatched)),
            watched: cost.sides.map(|(_, watched)| side(watched)),
            difference: effect.map(|effect| effect.change),
            difference_unit: effect.and_then(|effect| match effect.in_percent {
                true => Some("%".to_owned()),
                false => unit.map(|unit| unit.to_string()),
            }),
            interval: effect.and_then(|effect| effect.interval.ok()),
            interval_confidence: cost.confidence,
            excludes_zero: cost.is_real(),
            is,
            no_effect_larger_than_percent: larger,
            more_rounds: more,
        }
    }
}
