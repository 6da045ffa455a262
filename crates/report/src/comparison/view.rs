//! The view of a comparison: its JSON. A field that isn't there is unknown or undefined; numbers are never rounded.
//!
//! `format` grows by one with every change that breaks an old reader.

use backsight_model::Value;
use backsight_policy::{
    BaselineRelation, Comparison, ComparisonRow, ComparisonSide, DifferenceCall, Doubt,
    MeasuredEntry, RowEntry, Tally,
};
use backsight_stats::{Better, Interval, Level, Mean, ModeShares, Undefined, UnrepeatedVariation};
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Serialize;

use super::{ComparedBackground, spreadsheet::unit_of, statistics};
use crate::{MoreRounds, instances::StudyInstances};

/// The number of this format.
const FORMAT: u32 = 3;

/// A comparison of result sets.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ComparisonView<'a> {
    /// The number of this format: 3.
    pub format: u32,
    /// The confidence of every interval, from 0 to 1.
    pub confidence: f64,
    /// A change within this percentage of the baseline is no matter.
    pub margin_percent: f64,
    /// What was not repeated, and so is as it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<&'static str>,
    /// What is compared; the first is the baseline.
    pub sides: Vec<ComparisonSideView>,
    /// One for each metric of each cell.
    pub rows: Vec<ComparisonRowView>,
    /// Geometric means of the ratios to the baseline.
    pub ratios: Vec<RatioView>,
    /// What was seen in the samples of single rows.
    pub remarks: Vec<RemarkView>,
    /// Warnings, as sentences.
    pub warnings: Vec<String>,
    /// About so many more rounds would tell what isn't decided of primary metrics, and the commands that add them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_rounds: Option<&'a MoreRounds>,
    /// What several hosts did beside each other, of each study in which they did: what each measured, how evenly they shared,
    /// how exactly they began together, and their clocks.
    #[serde(skip_serializing_if = "<[StudyInstances]>::is_empty")]
    pub instances: &'a [StudyInstances],
}

/// Something that was seen in the samples of a row.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RemarkView {
    /// The row, counted from 0.
    pub row: usize,
    /// The side that is compared with the baseline.
    pub side: String,
    /// The sentence.
    pub text: String,
}

/// How many rows got which answer.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TallyView {
    /// Worse than the baseline.
    pub worse: usize,
    /// Better than the baseline.
    pub better: usize,
    /// Another than the baseline, of what is neither better nor worse.
    pub changed: usize,
    /// No change larger than the margin.
    pub no_change: usize,
    /// Too few measurements for an answer.
    pub cannot_tell: usize,
    /// Measured differently.
    pub not_comparable: usize,
    /// Not measured on one side.
    pub missing: usize,
}

/// A side.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ComparisonSideView {
    /// Its name.
    pub name: String,
    /// The study; not there for a file of numbers.
    #[serde(flatten)]
    pub study: Option<SideStudyView>,
    /// Trials that gave samples; of a file, its numbers.
    pub trials: usize,
    /// Trials that failed.
    pub failed_trials: usize,
    /// Sessions that its trials were measured in; not there for a file of numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions: Option<usize>,
    /// The hosts of which each trial was measured on one, as far as that is known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// The answers about it; not there for the baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tally: Option<TallyView>,
    /// The same of secondary metrics, which `tally` doesn't count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tally_of_secondary: Option<TallyView>,
}

/// The study that a side is of.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SideStudyView {
    /// Its number.
    pub study: i64,
    /// Its name.
    pub study_name: String,
    /// When it began: RFC 3339.
    pub began: String,
    /// `running`, `stopped` or `finished`.
    pub state: String,
}

/// One metric of one cell.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ComparisonRowView {
    /// The cell's benchmark.
    pub benchmark: String,
    /// The cell's parameters.
    pub params: IndexMap<String, Value>,
    /// The parameters that the plan chose.
    pub chosen: Vec<String>,
    /// The cell's variant.
    pub variant: String,
    /// The metric.
    pub metric: String,
    /// Whether the benchmark is run for this metric. Others are secondary: corrected apart, and not counted in `tally`.
    pub primary: bool,
    /// The monitor that measured it; not there where its benchmark declares it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub monitor: Option<String>,
    /// The metric's description.
    pub about: String,
    /// Empty if nobody said it.
    pub unit: String,
    /// `higher`, `lower` or `neither`.
    pub better: Better,
    /// `program` or `icount=N`; not there where a real machine's clock counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulator: Option<String>,
    /// `arithmetic` or `harmonic`: of every `mean` in this row.
    pub mean: &'static str,
    /// One for each side, in the same order.
    pub sides: Vec<ComparisonEntryView>,
}

/// What one side has in a row: either `missing`, or the rest.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ComparisonEntryView {
    /// Nothing.
    Missing {
        /// The side's name.
        side: String,
        /// The reason.
        missing: String,
    },
    /// Samples.
    Measured(Box<ComparisonMeasurementView>),
}

/// What was measured of one side in a row.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ComparisonMeasurementView {
    /// The side's name.
    pub side: String,
    /// The unit of the numbers here.
    pub unit: String,
    /// Trials that gave samples.
    pub trials: usize,
    /// Samples that they gave.
    pub samples: usize,
    /// Trials of this cell that failed.
    pub failed_trials: usize,
    /// The mean of the trials' values.
    pub mean: f64,
    /// Their coefficient of variation, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread_percent: Option<f64>,
    /// `trials`; `samples` where there is one trial and that is the spread within it.
    pub spread_of: &'static str,
    /// Percent of the processors that others took meanwhile.
    pub neighbours_percent: f64,
    /// The summaries of all samples, those that are defined: `min` … `pctile_99`.
    pub summary: IndexMap<String, f64>,
    /// Why the others are not.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub undefined: IndexMap<String, String>,
    /// How it differs from the baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<ComparisonDifferenceView>,
}

/// A difference, or why there is none.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(untagged)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly every difference is the large one"
)]
pub enum ComparisonDifferenceView {
    /// None: measured differently.
    NotComparable {
        /// The reason.
        not_comparable: String,
    },
    /// A difference.
    Compared {
        /// new − base in percent of the baseline's mean; `verdict` says whether that is better.
        percent: NumberView,
        /// new/base.
        ratio: NumberView,
        /// Of the arithmetic means, in the row's unit.
        absolute: NumberView,
        /// Two-sided, of what the verdict says: of equal means, or of equal shares of two modes.
        #[serde(skip_serializing_if = "Option::is_none")]
        p: Option<f64>,
        /// The same over the whole table (Benjamini and Hochberg).
        #[serde(skip_serializing_if = "Option::is_none")]
        p_over_table: Option<f64>,
        /// Of the rank test (Mann and Whitney).
        p_ranks: f64,
        /// `better`, `worse`, `changed`, `no change` or `can't tell`.
        verdict: &'static str,
        /// The verdict with its numbers: `no change larger than 0.52%`.
        sentence: String,
        /// Bound of the difference in percent, where the verdict is `no change`.
        #[serde(skip_serializing_if = "Option::is_none")]
        no_change_larger_than_percent: Option<f64>,
        /// The confidence of these intervals: more than what was asked for where the table's correction for many comparisons
        /// asks for it (Benjamini and Yekutieli).
        confidence: f64,
        /// About so many more of the unit of replication would tell.
        #[serde(skip_serializing_if = "Option::is_none")]
        more: Option<usize>,
        /// The level that was repeated on each side: `sample` (iterations of single runs), `trial`, `session`, `boot`, `layout` or
        /// `host`.
        unit_of_replication: Level,
        /// How often it was repeated on the baseline and on this side.
        units: (usize, usize),
        /// Whether each host of one side was compared with itself on the other.
        paired_by_host: bool,
        /// What the sides differ by beyond these: `nothing`; `like-units`, if each has sessions of its own and it isn't known
        /// how much sessions differ; `known`, with its relative standard deviation and degrees of freedom.
        beyond: UnrepeatedVariation,
        /// From what that is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        known: Option<KnownView>,
        /// Single runs: the interval of the difference within these very runs, in percent.
        #[serde(skip_serializing_if = "Option::is_none")]
        within_the_runs: Option<Interval>,
        /// How many leading units were left out because they are unlike the rest.
        #[serde(skip_serializing_if = "Option::is_none")]
        left_out: Option<(usize, usize)>,
        /// Two modes, and the share of each side in the upper one.
        #[serde(skip_serializing_if = "Option::is_none")]
        modes: Option<ModeShares>,
        /// Places of units far from the bulk, counted from 0; they are not left out.
        outliers: (Vec<usize>, Vec<usize>),
    },
}

/// From what it is known how much sides differ.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct KnownView {
    /// `trial` or `session`.
    pub level: Level,
    /// How many of these.
    pub units: usize,
    /// In how many studies.
    pub studies: usize,
}

/// A number with its interval.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct NumberView {
    /// The number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Its interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
    /// Why the value or its interval isn't there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undefined: Option<String>,
}

/// A geometric mean of ratios.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RatioView {
    /// The side's name.
    pub side: String,
    /// The direction of the rows that it is of.
    pub better: Better,
    /// Rows of that direction with a ratio.
    pub rows: usize,
    /// Rows of that direction without one.
    pub rows_without: usize,
    /// Geometric mean of new/base over these rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub geometric_mean: Option<f64>,
    /// Its interval, over these rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
    /// The smallest and the largest ratio.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<Interval>,
}

impl<'a> ComparisonView<'a> {
    /// The view of a comparison, with what is known of its studies.
    pub fn new(comparison: &Comparison, background: &'a ComparedBackground) -> Self {
        Self {
            format: FORMAT,
            confidence: comparison.options.confidence.share(),
            margin_percent: comparison.options.margin_percent,
            scope: comparison.scope(),
            sides: (0..comparison.sides.len())
                .map(|number| side(comparison, number))
                .collect(),
            rows: comparison
                .rows
                .iter()
                .map(|r| row(r, &comparison.sides))
                .collect(),
            ratios: comparison
                .ratios
                .iter()
                .map(|mean| RatioView {
                    side: comparison.sides[mean.side].name.clone(),
                    better: mean.better,
                    rows: mean.rows,
                    rows_without: mean.left_out,
                    geometric_mean: mean.gmean.ok(),
                    interval: mean.interval.ok(),
                    range: mean.range,
                })
                .collect(),
            remarks: comparison
                .remarks
                .iter()
                .map(|remark| RemarkView {
                    row: remark.row,
                    side: comparison.sides[remark.side].name.clone(),
                    text: remark.text.clone(),
                })
                .collect(),
            warnings: comparison
                .warnings
                .iter()
                .map(ToString::to_string)
                .collect(),
            more_rounds: background.more_rounds.as_ref(),
            instances: &background.instances,
        }
    }
}

fn side(comparison: &Comparison, number: usize) -> ComparisonSideView {
    let side = &comparison.sides[number];
    ComparisonSideView {
        name: side.name.clone(),
        study: side.study.as_ref().map(|study| SideStudyView {
            study: study.number,
            study_name: study.name.to_string(),
            began: study.began.to_string(),
            state: study.state.to_string(),
        }),
        trials: side.measured,
        failed_trials: side.failed,
        sessions: side.study.as_ref().map(|_| side.sessions),
        hosts: side.hosts.iter().map(ToString::to_string).collect(),
        tally: (number > 0).then(|| comparison.tally(number).into()),
        tally_of_secondary: (number > 0).then(|| comparison.tally_of_secondary(number).into()),
    }
}

impl From<Tally> for TallyView {
    fn from(tally: Tally) -> Self {
        Self {
            worse: tally.worse,
            better: tally.better,
            changed: tally.changed,
            no_change: tally.no_change,
            cannot_tell: tally.cannot_tell,
            not_comparable: tally.not_comparable,
            missing: tally.missing,
        }
    }
}

fn row(row: &ComparisonRow, sides: &[ComparisonSide]) -> ComparisonRowView {
    ComparisonRowView {
        benchmark: row.cell.benchmark.to_string(),
        params: row
            .cell
            .params
            .iter()
            .map(|(name, value)| (name.to_string(), value.clone()))
            .collect(),
        chosen: row.cell.chosen.iter().map(ToString::to_string).collect(),
        variant: row.cell.set_up().into_owned(),
        metric: row.metric.to_string(),
        primary: row.primary,
        monitor: row.monitor.as_ref().map(ToString::to_string),
        about: row.about.clone(),
        unit: unit_of(row, None),
        better: row.better,
        simulator: row.simulator.map(|simulator| simulator.to_string()),
        mean: match row.mean {
            Mean::Arithmetic => "arithmetic",
            Mean::Harmonic => "harmonic",
        },
        sides: row
            .entries
            .iter()
            .zip(sides)
            .map(|(entry, side)| match entry {
                RowEntry::Missing(why) => ComparisonEntryView::Missing {
                    side: side.name.clone(),
                    missing: why.to_string(),
                },
                RowEntry::Measured(measured) => {
                    ComparisonEntryView::Measured(Box::new(shape(row, measured, side)))
                }
            })
            .collect(),
    }
}

fn shape(
    row: &ComparisonRow,
    measured: &MeasuredEntry,
    side: &ComparisonSide,
) -> ComparisonMeasurementView {
    let mut summary = IndexMap::new();
    let mut undefined = IndexMap::new();
    for statistic in statistics::summary_statistics(&measured.of_samples) {
        match statistic.value {
            Ok(value) => {
                summary.insert(statistic.key, value);
            }
            Err(why) => {
                undefined.insert(statistic.key, why.to_string());
            }
        }
    }
    ComparisonMeasurementView {
        side: side.name.clone(),
        unit: unit_of(row, Some(measured)),
        trials: measured.trials,
        samples: measured.samples,
        failed_trials: measured.failed,
        mean: measured.mean,
        spread_percent: measured.spread.ok(),
        spread_of: match measured.level {
            Level::Sample => "samples",
            _ => "trials",
        },
        neighbours_percent: measured.neighbours * 100.0,
        summary,
        undefined,
        difference: measured.against.as_ref().map(difference),
    }
}

fn difference(against: &BaselineRelation) -> ComparisonDifferenceView {
    match against {
        BaselineRelation::NotComparable(why) => ComparisonDifferenceView::NotComparable {
            not_comparable: why.to_string(),
        },
        BaselineRelation::Compared(difference) => ComparisonDifferenceView::Compared {
            percent: number(difference.percent, difference.percent_interval),
            ratio: number(difference.ratio, difference.ratio_interval),
            absolute: number(Ok(difference.absolute), difference.absolute_interval),
            p: difference.p.ok(),
            p_over_table: difference.adjusted_p,
            p_ranks: difference.verdict.ranks.p,
            verdict: difference.call.as_str(),
            sentence: difference.call.to_string(),
            no_change_larger_than_percent: match difference.call {
                DifferenceCall::NoChange {
                    larger_than_percent,
                } => Some(larger_than_percent),
                _ => None,
            },
            more: match difference.call {
                DifferenceCall::CannotTell(
                    Doubt::More { count, .. } | Doubt::OneRun { more: count, .. },
                ) => Some(count),
                _ => None,
            },
            confidence: difference.confidence.share(),
            beyond: difference.verdict.beyond,
            known: difference.known.map(|known| KnownView {
                level: known.level,
                units: known.units,
                studies: known.studies,
            }),
            within_the_runs: match difference.call {
                DifferenceCall::CannotTell(Doubt::OneRun { within, .. }) => within,
                _ => None,
            },
            unit_of_replication: difference.verdict.level,
            units: difference.verdict.units,
            paired_by_host: difference.verdict.paired,
            left_out: difference.verdict.settled.map(|settled| settled.dropped),
            modes: difference.verdict.modes,
            outliers: difference.verdict.outliers.clone(),
        },
    }
}

fn number(value: Result<f64, Undefined>, interval: Result<Interval, Undefined>) -> NumberView {
    NumberView {
        value: value.ok(),
        interval: interval.ok(),
        undefined: value.err().or(interval.err()).map(|why| why.to_string()),
    }
}
