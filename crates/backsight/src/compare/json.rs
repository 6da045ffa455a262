//! A comparison for programs. The types below are its shape; a field that isn't there is unknown or undefined, and
//! numbers are never rounded.
//!
//! Refuses: to be read without its `format`, which grows by one with every change that an old reader would trip over.

use backsight_model::Value;
use backsight_policy::{Against, Call, Comparison, Doubt, Entry, Measured, Row, Side, Tally};
use backsight_site::MoreRounds;
use backsight_stats::{Better, Beyond, Interval, Level, Mean, Modes, Undefined};
use indexmap::IndexMap;
use miette::IntoDiagnostic as _;
use serde::Serialize;

use super::{spreadsheet::unit_of, statistics};

/// The number of this shape.
const FORMAT: u32 = 3;

/// The whole.
#[derive(Serialize)]
struct Document<'a> {
    /// The number of this shape: 3.
    format: u32,
    /// The confidence of every interval, from 0 to 1.
    confidence: f64,
    /// A change within this percentage of the baseline is no matter.
    margin_percent: f64,
    /// What was not repeated, and so is as it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<&'static str>,
    /// What is compared; the first is the baseline.
    sides: Vec<SideShape>,
    /// One for each metric of each cell.
    rows: Vec<RowShape>,
    /// Geometric means of the ratios to the baseline.
    ratios: Vec<RatioShape>,
    /// What was seen in the samples of single rows.
    remarks: Vec<RemarkShape>,
    /// What a reader should know, as sentences.
    warnings: Vec<String>,
    /// About so many more rounds would tell what isn't decided of primary metrics, and the commands that add them.
    #[serde(skip_serializing_if = "Option::is_none")]
    more_rounds: Option<&'a MoreRounds>,
}

/// Something that was seen in the samples of a row.
#[derive(Serialize)]
struct RemarkShape {
    /// The row, counted from 0.
    row: usize,
    /// The side that is compared with the baseline.
    side: String,
    /// The sentence.
    text: String,
}

/// How many rows got which answer.
#[derive(Serialize)]
struct TallyShape {
    worse: usize,
    better: usize,
    no_change: usize,
    cannot_tell: usize,
    not_comparable: usize,
    missing: usize,
}

/// A side.
#[derive(Serialize)]
struct SideShape {
    /// Its name.
    name: String,
    /// The study; not there for a file of numbers.
    #[serde(flatten)]
    study: Option<StudyShape>,
    /// Trials that gave samples (numbers of a file), and that failed.
    trials: usize,
    failed_trials: usize,
    /// Sessions that its trials were measured in; not there for a file of numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    sessions: Option<usize>,
    /// The answers about it; not there for the baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    tally: Option<TallyShape>,
    /// The same of secondary metrics, which `tally` doesn't count.
    #[serde(skip_serializing_if = "Option::is_none")]
    tally_of_secondary: Option<TallyShape>,
}

/// The study that a side is of.
#[derive(Serialize)]
struct StudyShape {
    /// Its number and name.
    study: i64,
    study_name: String,
    /// When it began: RFC 3339.
    began: String,
    /// `running`, `stopped` or `finished`.
    state: String,
}

/// One metric of one cell.
#[derive(Serialize)]
struct RowShape {
    benchmark: String,
    params: IndexMap<String, Value>,
    /// The parameters that the plan chose.
    chosen: Vec<String>,
    variant: String,
    metric: String,
    /// Whether the benchmark is run for this metric. Others are secondary: corrected apart, and not counted in `tally`.
    primary: bool,
    about: String,
    /// Empty if nobody said it.
    unit: String,
    /// `higher` or `lower`.
    better: Better,
    /// `program` or `icount=N`; not there where a real machine's clock counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    simulator: Option<String>,
    /// `arithmetic` or `harmonic`: of every `mean` in this row.
    mean: &'static str,
    /// One for each side, in the same order.
    sides: Vec<EntryShape>,
}

/// What one side has in a row: either `missing`, or the rest.
#[derive(Serialize)]
#[serde(untagged)]
enum EntryShape {
    Missing {
        side: String,
        /// Why.
        missing: String,
    },
    Measured(Box<MeasuredShape>),
}

#[derive(Serialize)]
struct MeasuredShape {
    side: String,
    /// The unit of the numbers here.
    unit: String,
    /// How many trials gave samples, how many they gave, how many trials of this cell failed.
    trials: usize,
    samples: usize,
    failed_trials: usize,
    /// The mean of the trials' values.
    mean: f64,
    /// Their coefficient of variation, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    spread_percent: Option<f64>,
    /// `trials`; `samples` where there is one trial and that is the spread within it.
    spread_of: &'static str,
    /// Percent of the processors that others took meanwhile.
    neighbours_percent: f64,
    /// The summaries of all samples, those that are defined: `min` … `pctile_99`.
    summary: IndexMap<String, f64>,
    /// Why the others are not.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    undefined: IndexMap<String, String>,
    /// How it differs from the baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<DifferenceShape>,
}

/// A difference, or why there is none.
#[derive(Serialize)]
#[serde(untagged)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly every difference is the large one"
)]
enum DifferenceShape {
    NotComparable {
        not_comparable: String,
    },
    Compared {
        /// new − base in percent of the baseline's mean; `verdict` says whether that is better.
        percent: Number,
        /// new/base.
        ratio: Number,
        /// Of the arithmetic means, in the row's unit.
        absolute: Number,
        /// Two-sided, of what the verdict says: of equal means, or of equal shares of two modes.
        #[serde(skip_serializing_if = "Option::is_none")]
        p: Option<f64>,
        /// The same over the whole table (Benjamini and Hochberg).
        #[serde(skip_serializing_if = "Option::is_none")]
        p_over_table: Option<f64>,
        /// Of the rank test (Mann and Whitney).
        p_ranks: f64,
        /// `better`, `worse`, `no change` or `can't tell`.
        verdict: &'static str,
        /// The verdict with its numbers: `no change larger than 0.52%`.
        sentence: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        no_change_larger_than_percent: Option<f64>,
        /// The confidence of these intervals: more than what was asked for where the table's correction for many comparisons
        /// asks for it (Benjamini and Yekutieli).
        confidence: f64,
        /// About so many more of the unit of replication would tell.
        #[serde(skip_serializing_if = "Option::is_none")]
        more: Option<usize>,
        /// What was repeated on each side: `sample` (iterations of single runs), `trial`, `session`, `boot` or `layout`; and
        /// how often on either side.
        unit_of_replication: Level,
        units: (usize, usize),
        /// What the sides differ by beyond these: `nothing`; `like-units`, if each has sessions of its own and it isn't known
        /// how much sessions differ; `known`, with its relative standard deviation and degrees of freedom.
        beyond: Beyond,
        /// From what that is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        known: Option<KnownShape>,
        /// Single runs: the interval of the difference within these very runs, in percent.
        #[serde(skip_serializing_if = "Option::is_none")]
        within_the_runs: Option<Interval>,
        /// How many leading units were left out because they are unlike the rest.
        #[serde(skip_serializing_if = "Option::is_none")]
        left_out: Option<(usize, usize)>,
        /// Two modes, and the share of each side in the upper one.
        #[serde(skip_serializing_if = "Option::is_none")]
        modes: Option<Modes>,
        /// Places of units far from the bulk, counted from 0; they are not left out.
        outliers: (Vec<usize>, Vec<usize>),
    },
}

/// From what it is known how much sides differ.
#[derive(Serialize)]
struct KnownShape {
    /// `trial` or `session`.
    level: Level,
    /// How many of these, in how many studies.
    units: usize,
    studies: usize,
}

/// A number with its interval.
#[derive(Serialize)]
struct Number {
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interval: Option<Interval>,
    /// Why the value or its interval isn't there.
    #[serde(skip_serializing_if = "Option::is_none")]
    undefined: Option<String>,
}

/// A geometric mean of ratios.
#[derive(Serialize)]
struct RatioShape {
    side: String,
    /// The direction of the rows that it is of.
    better: Better,
    /// Of how many rows, and how many of that direction have no ratio.
    rows: usize,
    rows_without: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    geometric_mean: Option<f64>,
    /// Its interval, over these rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    interval: Option<Interval>,
    /// The smallest and the largest ratio.
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<Interval>,
}

pub fn render(comparison: &Comparison, more_rounds: Option<&MoreRounds>) -> miette::Result<String> {
    let document = Document {
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
            .map(|mean| RatioShape {
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
            .map(|remark| RemarkShape {
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
        more_rounds,
    };
    backsight_report::json(&document).into_diagnostic()
}

fn side(comparison: &Comparison, number: usize) -> SideShape {
    let side = &comparison.sides[number];
    SideShape {
        name: side.name.clone(),
        study: side.study.as_ref().map(|study| StudyShape {
            study: study.number,
            study_name: study.name.to_string(),
            began: study.began.to_string(),
            state: study.state.to_string(),
        }),
        trials: side.measured,
        failed_trials: side.failed,
        sessions: side.study.as_ref().map(|_| side.sessions),
        tally: (number > 0).then(|| comparison.tally(number).into()),
        tally_of_secondary: (number > 0).then(|| comparison.tally_of_secondary(number).into()),
    }
}

impl From<Tally> for TallyShape {
    fn from(tally: Tally) -> Self {
        Self {
            worse: tally.worse,
            better: tally.better,
            no_change: tally.no_change,
            cannot_tell: tally.cannot_tell,
            not_comparable: tally.not_comparable,
            missing: tally.missing,
        }
    }
}

fn row(row: &Row, sides: &[Side]) -> RowShape {
    RowShape {
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
                Entry::Missing(why) => EntryShape::Missing {
                    side: side.name.clone(),
                    missing: why.to_string(),
                },
                Entry::Measured(measured) => {
                    EntryShape::Measured(Box::new(shape(row, measured, side)))
                }
            })
            .collect(),
    }
}

fn shape(row: &Row, measured: &Measured, side: &Side) -> MeasuredShape {
    let mut summary = IndexMap::new();
    let mut undefined = IndexMap::new();
    for statistic in statistics::of(&measured.of_samples) {
        match statistic.value {
            Ok(value) => {
                summary.insert(statistic.key, value);
            }
            Err(why) => {
                undefined.insert(statistic.key, why.to_string());
            }
        }
    }
    MeasuredShape {
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

fn difference(against: &Against) -> DifferenceShape {
    match against {
        Against::NotComparable(why) => DifferenceShape::NotComparable {
            not_comparable: why.to_string(),
        },
        Against::Compared(difference) => DifferenceShape::Compared {
            percent: number(difference.percent, difference.percent_interval),
            ratio: number(difference.ratio, difference.ratio_interval),
            absolute: number(Ok(difference.absolute), difference.absolute_interval),
            p: difference.p.ok(),
            p_over_table: difference.adjusted_p,
            p_ranks: difference.verdict.ranks.p,
            verdict: difference.call.word(),
            sentence: difference.call.to_string(),
            no_change_larger_than_percent: match difference.call {
                Call::NoChange {
                    larger_than_percent,
                } => Some(larger_than_percent),
                _ => None,
            },
            more: match difference.call {
                Call::CannotTell(Doubt::More { count, .. } | Doubt::OneRun { more: count, .. }) => {
                    Some(count)
                }
                _ => None,
            },
            confidence: difference.confidence.share(),
            beyond: difference.verdict.beyond,
            known: difference.known.map(|known| KnownShape {
                level: known.level,
                units: known.units,
                studies: known.studies,
            }),
            within_the_runs: match difference.call {
                Call::CannotTell(Doubt::OneRun { within, .. }) => within,
                _ => None,
            },
            unit_of_replication: difference.verdict.level,
            units: difference.verdict.units,
            left_out: difference.verdict.settled.map(|settled| settled.dropped),
            modes: difference.verdict.modes,
            outliers: difference.verdict.outliers.clone(),
        },
    }
}

fn number(value: Result<f64, Undefined>, interval: Result<Interval, Undefined>) -> Number {
    Number {
        value: value.ok(),
        interval: interval.ok(),
        undefined: value.err().or(interval.err()).map(|why| why.to_string()),
    }
}
