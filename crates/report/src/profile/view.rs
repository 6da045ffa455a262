//! The view of profiles: their JSON.

use backsight_policy::{ComparedShare, FunctionDifference, ProfileSide, SideShare};
use backsight_stats::Interval;
use schemars::JsonSchema;
use serde::Serialize;

use super::{ProfileReport, ProfiledTrials, report::change_word};

/// Where the time of trials goes, and what changed beside a base.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ProfileView<'a> {
    /// What was sampled: `cpu-clock`, `task-clock`, `cycles`, `off-cpu` or `system-calls`.
    pub event: &'static str,
    /// The unit of weights: `samples` or `ns`.
    pub unit: &'static str,
    /// The base, if there is one.
    pub base: Option<ProfileSideView<'a>>,
    /// The new side, or the only one.
    pub new: ProfileSideView<'a>,
    /// Whether there are enough trials to call changes.
    pub judged: bool,
    /// Confidence of each interval, in percent.
    pub confidence_percent: f64,
    /// Expected share of false ones among the functions that are called changed, in percent.
    pub false_percent: f64,
    /// Functions with less than this share on both sides are put together, in percent.
    pub floor_percent: f64,
    /// Functions, changed ones first.
    pub functions: Vec<FunctionView<'a>>,
    /// Functions below the floor, together.
    pub below_floor: Option<BelowFloorView>,
    /// What else a reader should know.
    pub notes: &'a [String],
}

/// The trials of a side.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ProfileSideView<'a> {
    /// The study, version or file.
    pub name: &'a str,
    /// The cell, where there is one.
    pub cell: Option<&'a str>,
    /// Trials with samples.
    pub trials: usize,
    /// Trials without samples, which are left out.
    pub empty_trials: usize,
    /// Mean weight of a trial.
    pub weight: f64,
    /// Samples that the kernel dropped, in all trials.
    pub lost: u64,
    /// Samples whose stack wasn't unwound to its root, in all trials.
    pub truncated: u64,
}

/// A function.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FunctionView<'a> {
    /// Its name.
    pub function: &'a str,
    /// File name of its module.
    pub module: &'a str,
    /// `grew`, `shrank`, `appeared` or `disappeared`, where it is called changed.
    pub change: Option<&'static str>,
    /// The share of samples that were in it.
    #[serde(rename = "self")]
    pub itself: ShareView,
    /// The share of samples that were in it or in what it called.
    pub total: ShareView,
}

/// Functions that are too small to be listed each.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BelowFloorView {
    /// How many.
    pub functions: usize,
    /// The share of samples that were in one of them.
    #[serde(rename = "self")]
    pub itself: ShareView,
}

/// A share on both sides.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ShareView {
    /// The base's, if there is a base.
    pub base: Option<SideShareView>,
    /// That of the new side, or of the only one.
    pub new: SideShareView,
    /// new − base, if there is a base.
    pub difference: Option<ShareDifferenceView>,
}

/// A share on one side.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SideShareView {
    /// The mean of the trials' shares, in percent.
    pub percent: f64,
    /// Its interval; null where there are too few trials.
    pub interval: Option<Interval>,
    /// The mean of the trials' weights.
    pub weight: f64,
}

/// The difference of two shares.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ShareDifferenceView {
    /// new − base, in points of percent.
    pub points: f64,
    /// Its interval; null where there are too few trials, or none varies.
    pub interval: Option<Interval>,
    /// The p-value of "the shares are equal".
    pub p: Option<f64>,
    /// The same, adjusted for all shares that were compared.
    pub adjusted_p: Option<f64>,
    /// Whether it is called a change.
    pub changed: bool,
}

impl<'a> ProfileView<'a> {
    /// The view of a report.
    pub fn new(report: &'a ProfileReport) -> Self {
        let found = &report.difference;
        Self {
            event: report.event.name(),
            unit: report.unit.name(),
            base: report
                .base
                .as_ref()
                .zip(found.base)
                .map(|(named, side)| ProfileSideView::new(named, &side)),
            new: ProfileSideView::new(&report.new, &found.new),
            judged: found.is_judged(),
            confidence_percent: found.options.confidence.share() * 100.0,
            false_percent: found.options.false_share * 100.0,
            floor_percent: found.options.floor_percent,
            functions: found
                .functions
                .iter()
                .map(|function| FunctionView::new(report, function))
                .collect(),
            below_floor: found.rest.as_ref().map(|rest| BelowFloorView {
                functions: rest.functions,
                itself: ShareView::new(&rest.itself),
            }),
            notes: &report.notes,
        }
    }
}

impl<'a> ProfileSideView<'a> {
    fn new(named: &'a ProfiledTrials, side: &ProfileSide) -> Self {
        Self {
            name: &named.name,
            cell: named.cell.as_deref(),
            trials: side.trials,
            empty_trials: side.empty_trials,
            weight: side.weight,
            lost: named.lost,
            truncated: named.truncated,
        }
    }
}

impl<'a> FunctionView<'a> {
    fn new(report: &'a ProfileReport, found: &FunctionDifference) -> Self {
        let key = report.function(found.function);
        Self {
            function: &key.function,
            module: &key.module,
            change: found.is_changed().then(|| change_word(found)),
            itself: ShareView::new(&found.itself),
            total: ShareView::new(&found.inclusive),
        }
    }
}

impl ShareView {
    fn new(share: &ComparedShare) -> Self {
        let side = |side: &SideShare| SideShareView {
            percent: side.percent,
            interval: side.interval.ok(),
            weight: side.weight,
        };
        Self {
            base: share.base.as_ref().map(side),
            new: side(&share.new),
            difference: share.difference.map(|found| ShareDifferenceView {
                points: found.points,
                interval: found.interval.ok(),
                p: found.p,
                adjusted_p: found.adjusted_p,
                changed: found.is_changed,
            }),
        }
    }
}
