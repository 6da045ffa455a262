//! Result sets beside each other: for each metric of each cell what every side measured, how the first differs from
//! the others, and what a reader should know before believing it.
//!
//! The unit of replication is the trial: several samples of one trial are averaged to one value before any mean,
//! spread or interval is made, because they are not independent of each other.
//!
//! Refuses: to leave a row out because a side lacks it, to put a number where nothing was measured, and to compare
//! what has another unit or another direction.

mod split;
mod warning;

pub use split::{By, NothingToSplit, compare_by, split};
pub use warning::Warning;

use backsight_model::{Better, Cell, MetricName, ResultSet, Series, StudyName, StudyState, Unit};
use backsight_stats::{
    Confidence, Interval, Samples, Summary, Undefined, Welch, difference_percent, gmean_of_ratios,
    ratio, welch,
};
use indexmap::IndexMap;
use std::{collections::HashSet, fmt};

/// What a comparison may be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CompareOptions {
    /// The confidence of its intervals: 95% unless said.
    pub confidence: Confidence,
}

/// Result sets beside each other. The first side is the baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// What the sides are parts by, if they are parts of one result set.
    pub by: Option<By>,
    /// What is compared.
    pub sides: Vec<Side>,
    /// One row a metric and cell: the baseline's in its plan's order, then what only others have.
    pub rows: Vec<Row>,
    /// The geometric means of the ratios of each side but the first, by direction.
    pub ratios: Vec<RatioMean>,
    /// What a reader should know before believing it.
    pub warnings: Vec<Warning>,
    /// The confidence of all intervals.
    pub confidence: Confidence,
}

/// One of the things that are compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Side {
    /// Its name: the study's, or the value that makes this part of the study.
    pub name: String,
    /// The study's number in the store.
    pub study: i64,
    /// The study's name.
    pub study_name: StudyName,
    /// When the study began.
    pub began: jiff::Timestamp,
    /// Where the study stands.
    pub state: StudyState,
    /// Trials that gave samples.
    pub measured: usize,
    /// Trials that failed.
    pub failed: usize,
}

/// Which mean a row shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mean {
    /// Σx/n, the mean of durations and of whatever may be zero.
    Arithmetic,
    /// n/Σ(1/x), the mean of rates.
    Harmonic,
}

impl Mean {
    /// Its name in tables: `Amean` or `Hmean`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Arithmetic => "Amean",
            Self::Harmonic => "Hmean",
        }
    }

    fn of(self, samples: &Samples) -> f64 {
        match self {
            Self::Arithmetic => samples.amean(),
            // Harmonic is only chosen where every sample is positive.
            Self::Harmonic => samples.hmean().unwrap_or_else(|_| samples.amean()),
        }
    }
}

/// One metric of one cell on every side.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The cell, as the first side that has it says it.
    pub cell: Cell,
    /// The metric.
    pub metric: MetricName,
    /// The unit of every number in this row, unless an entry is not comparable.
    pub unit: Unit,
    /// Which direction is good.
    pub better: Better,
    /// One line about the metric.
    pub about: String,
    /// The mean that is shown: harmonic where higher is better, unless a sample is zero or negative.
    pub mean: Mean,
    /// One for each side.
    pub entries: Vec<Entry>,
}

/// What one side has in a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    /// Samples.
    Measured(Box<Measured>),
    /// None, and why.
    Missing(Missing),
}

impl Entry {
    /// What was measured, if it was.
    pub fn measured(&self) -> Option<&Measured> {
        match self {
            Self::Measured(measured) => Some(measured),
            Self::Missing(_) => None,
        }
    }
}

/// Why a side has nothing in a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Missing {
    /// It wasn't asked for there.
    NotInPlan,
    /// It was asked for; no trial has been made yet.
    NotYet,
    /// Every trial failed.
    Failed {
        /// How many there were.
        trials: usize,
    },
    /// The trials gave samples of other metrics, of this one none.
    NoSample,
    /// A sample is no finite number.
    NotANumber,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotInPlan => f.pad("not in its plan"),
            Self::NotYet => f.pad("not measured yet"),
            Self::Failed { trials: 1 } => f.pad("its only trial failed"),
            Self::Failed { trials } => f.pad(&format!("all {trials} trials failed")),
            Self::NoSample => f.pad("printed no such value"),
            Self::NotANumber => f.pad("a sample is no finite number"),
        }
    }
}

/// What the spread beside a mean is the spread of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// The trials' values.
    Trials,
    /// The samples of the only trial: another trial may differ by more.
    Samples,
}

/// What one side has measured in a row.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The unit of the numbers here: the row's unless they are not comparable.
    pub unit: Unit,
    /// How many trials gave samples.
    pub trials: usize,
    /// How many samples they gave.
    pub samples: usize,
    /// How many trials of this cell failed.
    pub failed: usize,
    /// The mean of the trials' values: the row's [`Mean`].
    pub mean: f64,
    /// The coefficient of variation, in percent.
    pub spread: Result<f64, Undefined>,
    /// What that is the spread of.
    pub level: Level,
    /// Summaries of the trials' values.
    pub of_trials: Summary,
    /// Summaries of all samples; the same as of the trials where each gave one.
    pub of_samples: Summary,
    /// The share of the processors that others took, mean of the trials, from 0 to 1.
    pub neighbours: f64,
    /// How it differs from the baseline; `None` for the baseline, and where the baseline has nothing.
    pub against: Option<Against>,
}

/// A side's relation to the baseline.
#[derive(Debug, Clone, PartialEq)]
pub enum Against {
    /// The difference.
    Compared(Difference),
    /// They can't be compared.
    NotComparable(NotComparable),
}

/// Why numbers can't be compared.
#[derive(Debug, Clone, PartialEq)]
pub enum NotComparable {
    /// They count different things.
    Units {
        /// The baseline's unit.
        base: Unit,
        /// This side's.
        new: Unit,
    },
    /// More is better for one and worse for the other.
    Directions {
        /// The baseline's direction.
        base: Better,
        /// This side's.
        new: Better,
    },
}

impl fmt::Display for NotComparable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Units { base, new } => write!(f, "units differ: {base} and {new}"),
            Self::Directions { base, new } => {
                write!(f, "directions differ: {base} and {new} is better")
            }
        }
    }
}

/// A difference to the baseline with its uncertainty.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// How much better (positive) or worse (negative), in percent of the baseline's mean.
    pub percent: Result<f64, Undefined>,
    /// The interval of that.
    pub percent_interval: Result<Interval, Undefined>,
    /// new/base.
    pub ratio: Result<f64, Undefined>,
    /// The interval of that: Welch's degrees of freedom, Fieller's interval. Of rates, which have harmonic means, it
    /// is made from time per unit of work.
    pub ratio_interval: Result<Interval, Undefined>,
    /// The difference of the arithmetic means in the row's unit: what is left to say when the baseline is zero.
    pub absolute: f64,
    /// The interval of that, after Welch.
    pub absolute_interval: Result<Interval, Undefined>,
    /// The two-sided p-value of "the means are equal", after Welch.
    pub p: Result<f64, Undefined>,
    /// All of that in a word.
    pub word: Word,
}

/// A difference in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// The interval holds only better values.
    Better,
    /// The interval holds only worse values.
    Worse,
    /// The interval holds both. That is not yet "there is no difference".
    NoDifferenceSeen,
    /// There is no interval.
    CannotTell(Undefined),
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::NoDifferenceSeen => "no difference seen",
            Self::CannotTell(Undefined::TooFew { .. }) => "can't tell: too few trials",
            Self::CannotTell(Undefined::NoSpread) => "can't tell: too few, and all alike",
            Self::CannotTell(_) => "can't tell",
        })
    }
}

/// The geometric mean of a side's ratios to the baseline, over the rows of one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct RatioMean {
    /// Which side, by its place in [`Comparison::sides`].
    pub side: usize,
    /// The rows' direction: a mean over both would say nothing.
    pub better: Better,
    /// The geometric mean of new/base.
    pub gmean: Result<f64, Undefined>,
    /// The smallest and the largest ratio.
    pub range: Option<Interval>,
    /// How many rows have a ratio.
    pub rows: usize,
    /// How many rows of this direction have none.
    pub left_out: usize,
}

/// Compares result sets; the first is the baseline.
pub fn compare(sets: &[ResultSet], options: CompareOptions) -> Comparison {
    let mut comparison = Comparison {
        by: None,
        sides: sets.iter().map(side).collect(),
        rows: rows(sets, options.confidence),
        ratios: Vec::new(),
        warnings: Vec::new(),
        confidence: options.confidence,
    };
    comparison.ratios = ratio_means(&comparison);
    comparison.warnings = warning::all(sets, &comparison);
    comparison
}

fn side(set: &ResultSet) -> Side {
    let trials = set.series.iter().flat_map(|series| &series.trials);
    let measured: HashSet<u32> = trials.map(|trial| trial.trial).collect();
    Side {
        name: set.name.clone(),
        study: set.study,
        study_name: set.study_name.clone(),
        began: set.began,
        state: set.state,
        measured: measured.len(),
        failed: set.failed.len(),
    }
}

/// What makes two cells the same question, as a value that can be looked up: see [`Cell::same_question`].
fn question(cell: &Cell) -> String {
    let mut params: Vec<String> = cell
        .params
        .iter()
        .map(|(name, value)| format!("{name}={value:?}"))
        .collect();
    params.sort_unstable();
    format!(
        "{}\0{}\0{}",
        cell.benchmark,
        cell.variant,
        params.join("\0")
    )
}

fn rows(sets: &[ResultSet], confidence: Confidence) -> Vec<Row> {
    let mut found: IndexMap<(String, &MetricName), Vec<Vec<&Series>>> = IndexMap::new();
    for (side, set) in sets.iter().enumerate() {
        for series in &set.series {
            let key = (question(&series.cell), &series.metric);
            let sides = found
                .entry(key)
                .or_insert_with(|| vec![Vec::new(); sets.len()]);
            sides[side].push(series);
        }
    }
    let tried: Vec<Tried> = sets.iter().map(Tried::of).collect();
    found
        .into_iter()
        .filter_map(|((question, _), series)| row(&question, &series, &tried, confidence))
        .collect()
}

/// Which cells of a set were tried, and how often that failed.
struct Tried {
    measured: HashSet<String>,
    failed: IndexMap<String, usize>,
}

impl Tried {
    fn of(set: &ResultSet) -> Self {
        let mut failed = IndexMap::new();
        for (_, _, cell, _) in &set.failed {
            *failed.entry(question(cell)).or_insert(0) += 1;
        }
        let with_trials = set.series.iter().filter(|series| !series.trials.is_empty());
        Self {
            measured: with_trials.map(|series| question(&series.cell)).collect(),
            failed,
        }
    }

    fn failed(&self, question: &str) -> usize {
        self.failed.get(question).copied().unwrap_or(0)
    }

    fn why_missing(&self, question: &str) -> Missing {
        match self.failed(question) {
            _ if self.measured.contains(question) => Missing::NoSample,
            0 => Missing::NotYet,
            trials => Missing::Failed { trials },
        }
    }
}

fn row(
    question: &str,
    series: &[Vec<&Series>],
    tried: &[Tried],
    confidence: Confidence,
) -> Option<Row> {
    let shape: &Series = series.iter().flatten().next()?;
    let gathered: Vec<Result<Gathered, Missing>> = series
        .iter()
        .zip(tried)
        .map(|(series, tried)| Gathered::of(series, shape, question, tried))
        .collect();
    let measured = || gathered.iter().flatten();
    let mean = match shape.better {
        Better::Higher if measured().all(|side| side.samples.min() > 0.0) => Mean::Harmonic,
        _ => Mean::Arithmetic,
    };
    let trials: Vec<Option<Samples>> = gathered
        .iter()
        .map(|side| side.as_ref().ok().and_then(|side| side.by_trial(mean)))
        .collect();
    let base = gathered.first().zip(trials.first());
    let entries = gathered
        .iter()
        .zip(&trials)
        .enumerate()
        .map(|(number, (side, trials))| match (side, trials) {
            (Ok(side), Some(trials)) => {
                let base = base.filter(|_| number > 0);
                let against = base.and_then(|base| match base {
                    (Ok(base), Some(of_base)) => {
                        Some(side.against(base, of_base, trials, mean, confidence))
                    }
                    _ => None,
                });
                Entry::Measured(Box::new(side.measured(trials, mean, against)))
            }
            (Err(missing), _) => Entry::Missing(missing.clone()),
            (Ok(_), None) => Entry::Missing(Missing::NotANumber),
        })
        .collect();
    Some(Row {
        cell: shape.cell.clone(),
        metric: shape.metric.clone(),
        unit: shape.unit,
        better: shape.better,
        about: shape.about.clone(),
        mean,
        entries,
    })
}

/// One side's samples in a row.
struct Gathered {
    samples: Samples,
    /// The values of each trial that gave some.
    values: Vec<Vec<f64>>,
    neighbours: f64,
    failed: usize,
    unit: Unit,
    better: Better,
}

impl Gathered {
    fn of(
        series: &[&Series],
        shape: &Series,
        question: &str,
        tried: &Tried,
    ) -> Result<Self, Missing> {
        let own = series.first().ok_or(Missing::NotInPlan)?;
        let (unit, factor) = match own.unit.in_terms_of(shape.unit) {
            Some(factor) => (shape.unit, factor),
            None => (own.unit, 1.0),
        };
        let trials: Vec<_> = series
            .iter()
            .flat_map(|series| &series.trials)
            .filter(|trial| !trial.values.is_empty())
            .collect();
        if trials.is_empty() {
            return Err(tried.why_missing(question));
        }
        let values: Vec<Vec<f64>> = trials
            .iter()
            .map(|trial| trial.values.iter().map(|value| value * factor).collect())
            .collect();
        let neighbours = trials.iter().map(|trial| trial.neighbours).sum::<f64>();
        Ok(Self {
            samples: Samples::new(values.concat()).map_err(|_| Missing::NotANumber)?,
            neighbours: neighbours / trials.len() as f64,
            failed: tried.failed(question),
            values,
            unit,
            better: own.better,
        })
    }

    /// One value a trial.
    fn by_trial(&self, mean: Mean) -> Option<Samples> {
        if self.values.len() == self.samples.n() {
            return Some(self.samples.clone());
        }
        let values = self.values.iter().map(|values| match values[..] {
            [only] => Some(only),
            _ => Samples::try_from(values.as_slice())
                .ok()
                .map(|s| mean.of(&s)),
        });
        Samples::new(values.collect::<Option<_>>()?).ok()
    }

    fn measured(&self, trials: &Samples, mean: Mean, against: Option<Against>) -> Measured {
        let of_trials = Summary::of(trials, self.better);
        let of_samples = if trials.n() == self.samples.n() {
            of_trials.clone()
        } else {
            Summary::of(&self.samples, self.better)
        };
        let level = match trials.n() {
            1 if of_samples.n > 1 => Level::Samples,
            _ => Level::Trials,
        };
        Measured {
            unit: self.unit,
            trials: trials.n(),
            samples: self.samples.n(),
            failed: self.failed,
            mean: mean.of(trials),
            spread: match level {
                Level::Trials => of_trials.coeffvar,
                Level::Samples => of_samples.coeffvar,
            },
            level,
            of_trials,
            of_samples,
            neighbours: self.neighbours,
            against,
        }
    }

    fn against(
        &self,
        base: &Self,
        of_base: &Samples,
        trials: &Samples,
        mean: Mean,
        confidence: Confidence,
    ) -> Against {
        if self.unit.in_terms_of(base.unit).is_none() {
            return Against::NotComparable(NotComparable::Units {
                base: base.unit,
                new: self.unit,
            });
        }
        if self.better != base.better {
            return Against::NotComparable(NotComparable::Directions {
                base: base.better,
                new: self.better,
            });
        }
        Against::Compared(difference(of_base, trials, mean, base.better, confidence))
    }
}

fn difference(
    base: &Samples,
    new: &Samples,
    mean: Mean,
    better: Better,
    confidence: Confidence,
) -> Difference {
    let direct = welch(base, new, confidence);
    let (of_base, of_new) = (mean.of(base), mean.of(new));
    let relative = relative(base, new, mean, confidence).unwrap_or(direct);
    let ratio_interval = relative.and_then(|welch| welch.ratio_interval);
    let mut difference = Difference {
        percent: difference_percent(of_base, of_new, better),
        percent_interval: ratio_interval.map(|interval| in_percent(interval, better)),
        ratio: ratio(of_base, of_new),
        ratio_interval,
        absolute: new.amean() - base.amean(),
        absolute_interval: direct.map(|welch| welch.difference_interval),
        p: relative.map(|welch| welch.p),
        word: Word::NoDifferenceSeen,
    };
    difference.word = word(&difference, base, new, better, confidence);
    difference
}

/// Welch's comparison whose ratio is that of harmonic means. A rate's inverse is the time for one unit of work; the
/// ratio of harmonic means new/base is the ratio of the mean times base/new. `None` if the means aren't harmonic.
fn relative(
    base: &Samples,
    new: &Samples,
    mean: Mean,
    confidence: Confidence,
) -> Option<Result<Welch, Undefined>> {
    if mean == Mean::Arithmetic {
        return None;
    }
    let inverse = |rates: &Samples| {
        Samples::new(rates.measured().iter().map(|rate| 1.0 / rate).collect()).ok()
    };
    Some(welch(&inverse(new)?, &inverse(base)?, confidence))
}

/// The interval of a ratio as one of a difference in percent, positive is better.
fn in_percent(ratio: Interval, better: Better) -> Interval {
    match better {
        Better::Higher => Interval {
            low: 100.0 * ratio.low - 100.0,
            high: 100.0 * ratio.high - 100.0,
        },
        Better::Lower => Interval {
            low: 100.0 - 100.0 * ratio.high,
            high: 100.0 - 100.0 * ratio.low,
        },
    }
}

fn word(
    difference: &Difference,
    base: &Samples,
    new: &Samples,
    better: Better,
    confidence: Confidence,
) -> Word {
    let better_or_worse = || match better.prefers(new.amean(), base.amean()) {
        true => Word::Better,
        false => Word::Worse,
    };
    // Where a ratio has no interval (a baseline that may be zero), the difference itself may have one.
    let (interval, neutral) = match difference.ratio_interval {
        Ok(interval) => (Ok(interval), 1.0),
        Err(_) => (difference.absolute_interval, 0.0),
    };
    match interval {
        Ok(interval) if interval.contains(neutral) => Word::NoDifferenceSeen,
        Ok(interval) => match better.prefers(interval.low, neutral) {
            true => Word::Better,
            false => Word::Worse,
        },
        Err(Undefined::NoSpread) if base.amean() == new.amean() => Word::NoDifferenceSeen,
        Err(Undefined::NoSpread) if order_is_no_chance(base.n(), new.n(), confidence) => {
            better_or_worse()
        }
        Err(why) => Word::CannotTell(why),
    }
}

/// Whether two sides that are each constant, and differ, do so beyond chance: all of one side beyond all of the other
/// happens in 2 of C(n+m, n) orders (the exact rank test).
fn order_is_no_chance(n: usize, m: usize, confidence: Confidence) -> bool {
    let orders: f64 = (1..=n).map(|k| (m + k) as f64 / k as f64).product();
    2.0 / orders <= 1.0 - confidence.share()
}

fn ratio_means(comparison: &Comparison) -> Vec<RatioMean> {
    let sides = 1..comparison.sides.len();
    sides
        .flat_map(|side| [Better::Higher, Better::Lower].map(|better| (side, better)))
        .filter_map(|(side, better)| ratio_mean(&comparison.rows, side, better))
        .collect()
}

fn ratio_mean(rows: &[Row], side: usize, better: Better) -> Option<RatioMean> {
    let rows: Vec<&Row> = rows.iter().filter(|row| row.better == better).collect();
    let ratios: Vec<f64> = rows
        .iter()
        .filter_map(|row| row.entries[side].measured()?.against.as_ref())
        .filter_map(|against| match against {
            Against::Compared(difference) => difference.ratio.ok(),
            Against::NotComparable(_) => None,
        })
        .collect();
    (!rows.is_empty()).then(|| RatioMean {
        side,
        better,
        gmean: gmean_of_ratios(&ratios),
        range: ratios
            .iter()
            .copied()
            .map(|r| Interval { low: r, high: r })
            .reduce(|a, b| Interval {
                low: a.low.min(b.low),
                high: a.high.max(b.high),
            }),
        rows: ratios.len(),
        left_out: rows.len() - ratios.len(),
    })
}

#[cfg(test)]
mod tests;
