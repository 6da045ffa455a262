//! Comparison of result sets: for each metric of each cell the figures of every side, how the first side differs from the
//! others, and warnings to read before the verdicts.
//!
//! The unit of replication is the highest level that was repeated on each side: hosts, boots, sessions, or the trials of a
//! study, whose samples are averaged first; each number of a list. Hosts that both sides share are compared host by host. An
//! iteration of a single run is never a unit. Sides measured in separate sessions also differ by their sessions: by as much as
//! is known, otherwise as much as single runs of one session do. A verdict holds for the levels that weren't repeated as they
//! were: one boot of each side.
//!
//! The interval shown is the one that made the verdict: wider where the table's correction for multiple comparisons asks for
//! it.
//!
//! A row stays if a side lacks it. Sides with another unit, another direction or other processors aren't compared.

mod answer;
mod definition;
mod gate;
mod number_lists;
mod remark;
mod sequential_study;
mod split;
mod study_parts;
mod versions;
mod warning;

pub use answer::{Difference, DifferenceCall, Doubt, NotComparable};
pub use definition::{DefinitionChange, MeasurementPart};
pub use gate::{ComparisonGate, GateCondition, GateResult};
pub use number_lists::{NumberList, compare_lists};
pub use remark::Remark;
pub use sequential_study::SequentialStudy;
pub use split::{
    SplitError, SplitKey, VariantQuestion, combined_name, compare_by, parts_of_cells,
    questions_by_variant, split,
};
pub use study_parts::{
    MeasuredTestbeds, StudyPart, VERSION_AXIS, join_versions, parts_by_version,
    records_side_by_side,
};
pub use versions::{VersionEvidence, compare_versions};
pub use warning::{Warning, same_machine};

use backsight_model::{
    Better, Cell, CellSeries, HostName, KeyDifference, MetricFamily, MetricName, MonitorName,
    ParamName, ResultSet, Simulator, StudyName, StudyState, TrialSamples, Unit,
};
use backsight_stats::{
    Confidence, Interval, Level, Mean, NestedSample, Samples, SamplesError, Summary, Undefined,
    UnrepeatedVariation, VerdictOptions, benjamini_hochberg, gmean_of_ratios,
    gmean_of_ratios_interval, mean_interval, on_common_hosts, verdict, warm_up,
};
use indexmap::{IndexMap, IndexSet};
use std::{cmp::Ordering, collections::HashSet, fmt};

use crate::pooled_spread::{self, PooledSpread, is_one_machine};

/// More runs of a side that has one, for an interval that is worth looking at: of three in all it is twice as wide as of five.
const RUNS_FOR_INTERVAL: usize = 4;

/// What a comparison may be asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CompareOptions {
    /// The confidence of its intervals: 95% unless said. Over the table, the share of false changes among the changes
    /// is kept to what is left of it: 5%.
    pub confidence: Confidence,
    /// A change within this percentage of the baseline is no matter: 1% unless said.
    pub margin_percent: f64,
    /// Compare also what was measured on other processors: the machines are what is asked about.
    pub other_machines: bool,
    /// Compare also what was measured by another definition, version of the tool or with other monitors.
    pub other_definitions: bool,
    /// Compare also what monitors measured.
    pub monitors: bool,
}

impl CompareOptions {
    /// What is asked for unless somebody says otherwise.
    pub const USUAL: Self = Self {
        confidence: Confidence::USUAL,
        margin_percent: 1.0,
        other_machines: false,
        other_definitions: false,
        monitors: false,
    };
}

impl Default for CompareOptions {
    fn default() -> Self {
        Self::USUAL
    }
}

/// Where the numbers come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Studies, whose trials are what was repeated.
    Studies,
    /// Lists of numbers, each a repetition.
    Lists,
    /// The same, of which nobody said the unit.
    ListsWithoutUnit,
}

/// Result sets beside each other. The first side is the baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Where the numbers come from.
    pub origin: Origin,
    /// What the sides are parts by, if they are parts of one result set.
    pub by: Option<SplitKey>,
    /// What is compared.
    pub sides: Vec<ComparisonSide>,
    /// One row a metric and cell: those of a benchmark together, in the order in which the baseline's plan has the
    /// benchmarks, then what only others have; of a benchmark the primary metrics before the others, and of either first
    /// what became worse, then what became better, then the rest in the plan's order.
    pub rows: Vec<ComparisonRow>,
    /// The geometric means of the primary metrics' ratios of each side but the first, by direction.
    pub ratios: Vec<RatioMean>,
    /// What a reader should know before believing it.
    pub warnings: Vec<Warning>,
    /// What was seen in the samples of single rows.
    pub remarks: Vec<Remark>,
    /// How many metrics of monitors were left out, since nobody asked for them.
    pub left_out_monitor_metrics: usize,
    /// What was asked.
    pub options: CompareOptions,
}

/// How many rows of a side got which answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Worse than the baseline.
    pub worse: usize,
    /// Better.
    pub better: usize,
    /// Another, of what is neither better nor worse.
    pub changed: usize,
    /// No change larger than the margin.
    pub no_change: usize,
    /// Can't tell.
    pub cannot_tell: usize,
    /// Not comparable.
    pub not_comparable: usize,
    /// The side, the baseline or both have nothing.
    pub missing: usize,
}

impl Tally {
    /// Rows without an answer.
    pub fn without_answer(&self) -> usize {
        self.cannot_tell + self.not_comparable + self.missing
    }
}

impl Comparison {
    /// Without the rows of secondary metrics that every side has and none has differently; and how many those are.
    pub fn without_quiet_rows(&self) -> (Self, usize) {
        let mut shown = self.clone();
        let is_shown = |row: &ComparisonRow| !row.is_secondary_and_quiet();
        // Remarks are about rows by their place.
        let mut places = Vec::with_capacity(self.rows.len());
        let mut kept = 0;
        for row in &self.rows {
            places.push(is_shown(row).then_some(kept));
            kept += usize::from(is_shown(row));
        }
        shown.rows.retain(is_shown);
        shown.remarks = self
            .remarks
            .iter()
            .filter_map(|remark| {
                let row = places.get(remark.row).copied().flatten()?;
                Some(Remark {
                    row,
                    ..remark.clone()
                })
            })
            .collect();
        (shown, self.rows.len() - kept)
    }

    /// Every difference, with its row and the place of its side.
    pub fn differences(&self) -> impl Iterator<Item = (&ComparisonRow, usize, &Difference)> {
        self.rows.iter().flat_map(|row| {
            let sides = row.entries.iter().enumerate();
            sides.filter_map(move |(side, entry)| Some((row, side, entry.difference()?)))
        })
    }

    /// How many rows can't be judged though both sides asked for them: nothing was measured on one of them, or it isn't
    /// comparable. Also those of a side that has no row in common with the baseline. By
    /// primary metrics, or by all.
    pub fn unjudged(&self, all_metrics: bool) -> usize {
        let counts = |row: &&ComparisonRow| row.primary || all_metrics;
        let of_side = |side: usize| {
            let rows = || self.rows.iter().filter(counts);
            let unjudged = rows().filter(|row| row.is_unjudged(side)).count();
            let mut entries = rows().map(|row| &row.entries[side]);
            let apart =
                !entries.any(|entry| entry.measured().is_some_and(|it| it.against.is_some()));
            match (unjudged, apart) {
                (0, true) => self.rows.len().max(1),
                _ => unjudged,
            }
        };
        (1..self.sides.len()).map(of_side).sum()
    }

    /// The answers about one side by primary metrics, counted.
    pub fn tally(&self, side: usize) -> Tally {
        self.tally_of(side, |row| row.primary)
    }

    /// The same by secondary metrics.
    pub fn tally_of_secondary(&self, side: usize) -> Tally {
        self.tally_of(side, |row| row.family() == MetricFamily::Secondary)
    }

    /// The same by what monitors measured.
    pub fn tally_of_monitors(&self, side: usize) -> Tally {
        self.tally_of(side, |row| row.family() == MetricFamily::Monitored)
    }

    fn tally_of(&self, side: usize, of: impl Fn(&ComparisonRow) -> bool) -> Tally {
        let mut tally = Tally::default();
        for row in self.rows.iter().filter(|row| of(row)) {
            let against = row
                .entries
                .get(side)
                .and_then(RowEntry::measured)
                .and_then(|measured| measured.against.as_ref());
            *match against {
                None => &mut tally.missing,
                Some(BaselineRelation::NotComparable(_)) => &mut tally.not_comparable,
                Some(BaselineRelation::Compared(difference)) => match difference.call {
                    DifferenceCall::Worse => &mut tally.worse,
                    DifferenceCall::Better => &mut tally.better,
                    DifferenceCall::Changed => &mut tally.changed,
                    DifferenceCall::NoChange { .. } => &mut tally.no_change,
                    DifferenceCall::CannotTell(_) => &mut tally.cannot_tell,
                },
            } += 1;
        }
        tally
    }

    /// Whether something in it would be judged better if it were known how much runs or sessions differ.
    pub fn lacks_a_spread(&self) -> bool {
        self.differences().any(|(_, _, difference)| {
            difference.verdict.beyond == UnrepeatedVariation::LikeUnits
                || matches!(
                    difference.call,
                    DifferenceCall::CannotTell(Doubt::OneRun { .. })
                )
        })
    }

    /// What was not repeated, and so is as it was: a sentence; none if nothing is compared.
    pub fn scope(&self) -> Option<&'static str> {
        let levels = self.differences().map(|(_, _, d)| d.verdict.level);
        match (self.origin, levels.min()?) {
            (Origin::Lists | Origin::ListsWithoutUnit, _) => {
                Some("Each number counts as a repetition of its own.")
            }
            (_, Level::Sample) => Some(
                "Verdicts hold for this boot of each side; where a side has a single trial, for these trials only.",
            ),
            (_, Level::Session) => Some("Verdicts hold for this boot and build of each side."),
            (_, Level::Trial) => Some("Verdicts hold for this boot and build of each side."),
            (_, Level::Boot | Level::Host) => Some("Verdicts hold for this build of each side."),
            (_, Level::Layout) => None,
        }
    }
}

/// One of the things that are compared.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparisonSide {
    /// Its name: the study's, or the value that makes this part of the study.
    pub name: String,
    /// The study that it is or is a part of; none if it is a list of numbers.
    pub study: Option<SideStudy>,
    /// Trials that gave samples; numbers of a list.
    pub measured: usize,
    /// Trials that failed.
    pub failed: usize,
    /// How many sessions its trials were measured in; none of a list. Those of two hosts are two.
    pub sessions: usize,
    /// The hosts of which each trial was measured on one; none where that isn't known.
    pub hosts: Vec<HostName>,
}

/// The study that a side is or is a part of.
#[derive(Debug, Clone, PartialEq)]
pub struct SideStudy {
    /// Its number in the store.
    pub number: i64,
    /// Its name.
    pub name: StudyName,
    /// When it began.
    pub began: jiff::Timestamp,
    /// Where it stands.
    pub state: StudyState,
}

/// One metric of one cell on every side.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparisonRow {
    /// The cell, as the first side that has it says it.
    pub cell: Cell,
    /// The metric.
    pub metric: MetricName,
    /// Where versions are compared, the place of its series in [`TargetHistory::series`](crate::TargetHistory::series).
    pub series: Option<usize>,
    /// The unit of every number in this row, unless an entry is not comparable; none if nobody said it.
    pub unit: Option<Unit>,
    /// Which direction is good.
    pub better: Better,
    /// One line about the metric.
    pub about: String,
    /// Whether the benchmark is run for this metric, as some side says.
    pub primary: bool,
    /// The monitor that measured it; none if its benchmark declares it.
    pub monitor: Option<MonitorName>,
    /// What counted it on the first side that has it, where it wasn't a real machine's clock.
    pub simulator: Option<Simulator>,
    /// The mean that is shown: harmonic where higher is better, unless a sample is zero or negative.
    pub mean: Mean,
    /// One for each side.
    pub entries: Vec<RowEntry>,
}

impl ComparisonRow {
    /// The rows that it stands among.
    pub fn family(&self) -> MetricFamily {
        MetricFamily::new(self.primary, self.monitor.as_ref())
    }

    /// How far the furthest side is from the baseline, as the logarithm of their ratio; infinite where one of them is nothing.
    fn furthest(&self) -> f64 {
        let differences = self.entries.iter().filter_map(RowEntry::difference);
        let logarithms = differences.map(|difference| match difference.ratio {
            Ok(ratio) if ratio > 0.0 => ratio.ln().abs(),
            _ => f64::INFINITY,
        });
        logarithms.fold(0.0, f64::max)
    }

    /// Whether it is of a secondary metric that every side has and none has differently: of little interest.
    pub fn is_secondary_and_quiet(&self) -> bool {
        let is_quiet = |entry: &RowEntry| match entry {
            RowEntry::Missing(_) => false,
            RowEntry::Measured(measured) => match &measured.against {
                None => true,
                Some(BaselineRelation::NotComparable(_)) => false,
                Some(BaselineRelation::Compared(difference)) => !difference.call.changed(),
            },
        };
        !self.primary && self.entries.iter().all(is_quiet)
    }

    /// Whether a side differs from the baseline.
    pub fn has_changed(&self) -> bool {
        let mut differences = self.entries.iter().filter_map(RowEntry::difference);
        differences.any(|difference| difference.call.changed())
    }

    /// See [`Comparison::unjudged`].
    fn is_unjudged(&self, side: usize) -> bool {
        let entries = [&self.entries[0], &self.entries[side]];
        let lacks = |entry: &RowEntry| match entry {
            RowEntry::Missing(
                MissingReason::NotYet | MissingReason::Failed { .. } | MissingReason::NotANumber,
            ) => true,
            RowEntry::Missing(_) => false,
            RowEntry::Measured(side) => {
                matches!(side.against, Some(BaselineRelation::NotComparable(_)))
            }
        };
        let planned = |entry: &RowEntry| {
            !matches!(
                entry,
                RowEntry::Missing(MissingReason::NotInPlan | MissingReason::OtherParams { .. })
            )
        };
        entries.into_iter().all(planned) && entries.into_iter().any(lacks)
    }
}

/// What one side has in a row.
#[derive(Debug, Clone, PartialEq)]
pub enum RowEntry {
    /// Samples.
    Measured(Box<MeasuredEntry>),
    /// None, and why.
    Missing(MissingReason),
}

impl RowEntry {
    /// What was measured, if it was.
    pub fn measured(&self) -> Option<&MeasuredEntry> {
        match self {
            Self::Measured(measured) => Some(measured),
            Self::Missing(_) => None,
        }
    }

    fn difference_mut(&mut self) -> Option<&mut Difference> {
        match self {
            Self::Measured(measured) => match &mut measured.against {
                Some(BaselineRelation::Compared(difference)) => Some(difference),
                _ => None,
            },
            Self::Missing(_) => None,
        }
    }

    /// How it differs from the baseline, if that can be said.
    pub fn difference(&self) -> Option<&Difference> {
        match &self.measured()?.against {
            Some(BaselineRelation::Compared(difference)) => Some(difference),
            _ => None,
        }
    }
}

/// Why a side has nothing in a row.
#[derive(Debug, Clone, PartialEq)]
pub enum MissingReason {
    /// It wasn't asked for there.
    NotInPlan,
    /// It wasn't asked for with these parameters, but with others.
    OtherParams {
        /// Those in which the nearest cell differs, the baseline's value first.
        differing: Vec<KeyDifference>,
    },
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

impl fmt::Display for MissingReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotInPlan => f.pad("not in its plan"),
            Self::OtherParams { differing } => {
                let shown = |value: &Option<String>| value.clone().unwrap_or("nothing".into());
                let each = differing.iter().map(|param| {
                    let (base, new) = (shown(&param.base), shown(&param.new));
                    format!("{}: {base} → {new}", param.key)
                });
                let each: Vec<String> = each.collect();
                f.pad(&format!("parameters differ: {}", each.join("; ")))
            }
            Self::NotYet => f.pad("not measured yet"),
            Self::Failed { trials: 1 } => f.pad("its only trial failed"),
            Self::Failed { trials } => f.pad(&format!("all {trials} trials failed")),
            Self::NoSample => f.pad("printed no such value"),
            Self::NotANumber => f.pad("a sample is no finite number"),
        }
    }
}

/// What one side has measured in a row.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredEntry {
    /// The unit of the numbers here: the row's unless they are not comparable.
    pub unit: Unit,
    /// How many trials gave samples; of a list, how many numbers it has.
    pub trials: usize,
    /// How many samples they gave.
    pub samples: usize,
    /// How many trials of this cell failed.
    pub failed: usize,
    /// The mean of the trials' values: the row's [`Mean`].
    pub mean: f64,
    /// Half the width of the 95% interval of the trials' values' mean: how many digits of it mean something. None of a single one.
    pub reach: Option<f64>,
    /// The coefficient of variation, in percent.
    pub spread: Result<f64, Undefined>,
    /// What that is the spread of: [`Level::Trial`]; [`Level::Sample`] where there is one trial with several samples, or
    /// a list: another trial may differ by more.
    pub level: Level,
    /// One value a trial, each number of a list, in the order of measurement.
    pub values: Vec<f64>,
    /// The number of each of these trials in its study; nothing for a list.
    pub numbers: Vec<u32>,
    /// What the interval samples within trials show.
    pub within: Option<IntervalWarmUp>,
    /// Summaries of the trials' values.
    pub of_trials: Summary,
    /// Summaries of all samples; the same as of the trials where each gave one.
    pub of_samples: Summary,
    /// The share of the processors that others took, mean of the trials, from 0 to 1.
    pub neighbours: f64,
    /// How it differs from the baseline; `None` for the baseline, and where the baseline has nothing.
    pub against: Option<BaselineRelation>,
}

/// Trials whose first interval samples are unlike the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IntervalWarmUp {
    /// How many trials.
    pub trials: usize,
    /// Of how many with interval samples.
    pub of: usize,
    /// How many leading intervals at most.
    pub most: usize,
    /// Of how many intervals in that trial.
    pub intervals: usize,
}

/// A side's relation to the baseline.
#[derive(Debug, Clone, PartialEq)]
pub enum BaselineRelation {
    /// The difference.
    Compared(Box<Difference>),
    /// They can't be compared.
    NotComparable(NotComparable),
}

/// The geometric mean of a side's ratios to the baseline, over the rows of primary metrics of one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct RatioMean {
    /// Which side, by its place in [`Comparison::sides`].
    pub side: usize,
    /// The rows' direction: a mean over both would say nothing.
    pub better: Better,
    /// The geometric mean of new/base.
    pub gmean: Result<f64, Undefined>,
    /// Its interval, over these rows; undefined unless each of them has one.
    pub interval: Result<Interval, Undefined>,
    /// The smallest and the largest ratio.
    pub range: Option<Interval>,
    /// How many rows have a ratio.
    pub rows: usize,
    /// How many rows of this direction have none.
    pub left_out: usize,
}

/// Compares result sets; the first is the baseline.
pub fn compare(sets: &[ResultSet], options: CompareOptions) -> Comparison {
    compare_sets(sets, &[], options, Origin::Studies)
}

/// The same with other studies that may tell how much runs and sessions of the same benchmarks differ on this machine.
pub fn compare_with_spreads(
    sets: &[ResultSet],
    others: &[ResultSet],
    options: CompareOptions,
) -> Comparison {
    compare_sets(sets, others, options, Origin::Studies)
}

fn compare_sets(
    sets: &[ResultSet],
    others: &[ResultSet],
    options: CompareOptions,
    origin: Origin,
) -> Comparison {
    let hosts: IndexSet<&HostName> = sets.iter().flat_map(|set| set.hosts.keys()).collect();
    let context = RowContext {
        sets,
        hosts: &hosts,
        others: &others
            .iter()
            .filter(|other| sets.iter().all(|set| set.study != other.study))
            .filter(|other| sets.first().is_some_and(|base| is_one_machine(base, other)))
            .collect::<Vec<_>>(),
        tried: sets.iter().map(TriedCells::from_results).collect(),
        machines: sets
            .iter()
            .map(|set| warning::other_machine(sets.first()?, set))
            .collect(),
        definitions: sets
            .iter()
            .map(|set| definition::changes(&sets[0], set))
            .collect(),
        options,
        origin,
    };
    let drafts = context.drafts();
    let sides = sets.iter().map(|set| side(set, origin)).collect();
    context.comparison(drafts, sides)
}

/// How many metrics of monitors are there and weren't asked for.
fn left_out_monitor_metrics(sets: &[ResultSet], options: CompareOptions) -> usize {
    let series = sets.iter().flat_map(|set| &set.series);
    let left_out = series.filter(|series| series.monitor.is_some() && !options.monitors);
    let names: HashSet<&MetricName> = left_out.map(|series| &series.metric).collect();
    names.len()
}

fn side(set: &ResultSet, origin: Origin) -> ComparisonSide {
    let trials = || set.series.iter().flat_map(|series| &series.trials);
    let sessions: HashSet<(u32, u32)> = trials().map(|it| (it.host, it.session)).collect();
    let hosts: IndexSet<Option<&HostName>> = trials().map(|trial| set.host_of(trial)).collect();
    let hosts: Option<Vec<HostName>> = hosts.into_iter().map(Option::<&_>::cloned).collect();
    if origin != Origin::Studies {
        return ComparisonSide {
            name: set.name.clone(),
            study: None,
            measured: trials().map(|trial| trial.values.len()).sum(),
            failed: 0,
            sessions: 0,
            hosts: Vec::new(),
        };
    }
    let measured: HashSet<u32> = trials().map(|trial| trial.trial).collect();
    ComparisonSide {
        name: set.name.clone(),
        study: Some(SideStudy {
            number: set.study,
            name: set.study_name.clone(),
            began: set.began,
            state: set.state,
        }),
        measured: measured.len(),
        failed: set.failed.len(),
        sessions: sessions.len(),
        hosts: hosts.unwrap_or_default(),
    }
}

/// The rows of a benchmark together, primary metrics before the others; of either first those in which a side became worse, then better, then another, then all others.
fn changed_first(rows: Vec<ComparisonRow>) -> Vec<ComparisonRow> {
    let benchmarks: IndexSet<String> = rows
        .iter()
        .map(|row| row.cell.benchmark.to_string())
        .collect();
    let rank = |row: &ComparisonRow| {
        let calls = row.entries.iter().filter_map(RowEntry::difference);
        let least = calls.map(|difference| match difference.call {
            DifferenceCall::Worse => 0,
            DifferenceCall::Better => 1,
            DifferenceCall::Changed => 2,
            _ => 3,
        });
        least.min().unwrap_or(3)
    };
    let mut rows = rows;
    rows.sort_by_key(|row| {
        (
            benchmarks.get_index_of(row.cell.benchmark.as_str()),
            row.family(),
            rank(row),
        )
    });
    // Of what monitors saw, the largest change first: there is much of it, and its order says nothing.
    let by_size = |one: &ComparisonRow, other: &ComparisonRow| match one.family() {
        MetricFamily::Monitored if one.has_changed() && other.has_changed() => {
            other.furthest().total_cmp(&one.furthest())
        }
        _ => Ordering::Equal,
    };
    rows.chunk_by_mut(|one, other| {
        (one.family(), rank(one), &one.cell.benchmark)
            == (other.family(), rank(other), &other.cell.benchmark)
    })
    .for_each(|alike| alike.sort_by(by_size));
    rows
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
        "{}\0{}\0{}\0{:?}",
        cell.benchmark,
        cell.variant,
        params.join("\0"),
        cell.monitors
    )
}

/// A row with what it was made of, so that its intervals can be made again.
struct Draft {
    row: ComparisonRow,
    /// What each side has, if it has something.
    sides: Vec<Option<Gathered>>,
    /// How much single runs, and whole sessions, are known to differ.
    known: [Option<PooledSpread>; 2],
}

/// What every row needs to know of the whole.
struct RowContext<'a> {
    sets: &'a [ResultSet],
    /// The hosts of all sides: one of a name is one.
    hosts: &'a IndexSet<&'a HostName>,
    /// Other studies of the same machine.
    others: &'a [&'a ResultSet],
    tried: Vec<TriedCells>,
    /// How each side's machine differs from the baseline's.
    machines: Vec<Option<NotComparable>>,
    /// What differs in how each side was measured.
    definitions: Vec<Vec<DefinitionChange>>,
    options: CompareOptions,
    origin: Origin,
}

/// Which cells of a set were tried, and how often that failed.
struct TriedCells {
    measured: HashSet<String>,
    failed: IndexMap<String, usize>,
}

impl TriedCells {
    fn from_results(set: &ResultSet) -> Self {
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

    fn why_missing(&self, question: &str) -> MissingReason {
        match self.failed(question) {
            _ if self.measured.contains(question) => MissingReason::NoSample,
            0 => MissingReason::NotYet,
            trials => MissingReason::Failed { trials },
        }
    }
}

impl RowContext<'_> {
    /// Why a side has no such cell: it isn't in its plan, or nothing of this benchmark is there with parameters that
    /// another side has too.
    fn not_in_plan(&self, side: usize, shape: &CellSeries) -> MissingReason {
        let set = &self.sets[side];
        let is_alike = |series: &&CellSeries| {
            series.cell.benchmark == shape.cell.benchmark
                && series.cell.variant == shape.cell.variant
                && series.metric == shape.metric
        };
        let alike = || set.series.iter().filter(is_alike);
        // Parts of one study have one plan, and what is in it was asked with the same parameters.
        let others = self.sets.iter().filter(|other| other.study != set.study);
        let theirs: HashSet<String> = others
            .flat_map(|other| other.series.iter().filter(is_alike))
            .map(|series| question(&series.cell))
            .collect();
        if theirs.is_empty() || alike().any(|series| theirs.contains(&question(&series.cell))) {
            return MissingReason::NotInPlan;
        }
        // The base has what isn't asked for there, or the other way round.
        let differing = |series: &CellSeries| match side {
            0 => differing_params(&series.cell, &shape.cell),
            _ => differing_params(&shape.cell, &series.cell),
        };
        let nearest = alike()
            .map(differing)
            .filter(|differing| !differing.is_empty())
            .min_by_key(Vec::len);
        nearest.map_or(MissingReason::NotInPlan, |differing| {
            MissingReason::OtherParams { differing }
        })
    }

    /// The comparison that these rows make.
    fn comparison(&self, mut drafts: Vec<Draft>, sides: Vec<ComparisonSide>) -> Comparison {
        for family in MetricFamily::ALL {
            let drafts = drafts.iter_mut();
            let of_family = drafts.filter(|draft| draft.row.family() == family);
            self.correct_for_many(&mut of_family.collect::<Vec<_>>());
        }
        let rows = drafts.into_iter().map(|draft| draft.row).collect();
        let mut comparison = Comparison {
            origin: self.origin,
            by: None,
            sides,
            rows: changed_first(rows),
            ratios: Vec::new(),
            warnings: Vec::new(),
            remarks: Vec::new(),
            left_out_monitor_metrics: left_out_monitor_metrics(self.sets, self.options),
            options: self.options,
        };
        comparison.ratios = ratio_means(&comparison);
        comparison.warnings = warning::all(self.sets, &comparison);
        comparison.remarks = remark::all(&comparison);
        comparison
    }

    /// Whether nobody has measured this, and nobody asked for it: of each cell an import has the metrics that its files have, where a plan
    /// has all metrics of the benchmark.
    fn is_unasked(&self, question: &str, series: &[Vec<&CellSeries>]) -> bool {
        series.iter().enumerate().all(|(side, of_side)| {
            let tried = self.tried[side].measured.contains(question);
            !self.sets[side].interleaved
                && of_side.iter().all(|series| series.trials.is_empty())
                && (of_side.is_empty() || tried)
        })
    }

    fn drafts(&self) -> Vec<Draft> {
        let mut found: IndexMap<(String, &MetricName), Vec<Vec<&CellSeries>>> = IndexMap::new();
        for (side, set) in self.sets.iter().enumerate() {
            let asked = |series: &&CellSeries| self.options.monitors || series.monitor.is_none();
            for series in set.series.iter().filter(asked) {
                let key = (question(&series.cell), &series.metric);
                let sides = found
                    .entry(key)
                    .or_insert_with(|| vec![Vec::new(); self.sets.len()]);
                sides[side].push(series);
            }
        }
        let mut elsewhere: IndexMap<(String, &MetricName), Vec<&CellSeries>> = IndexMap::new();
        for series in self.others.iter().flat_map(|set| &set.series) {
            let key = (question(&series.cell), &series.metric);
            if found.contains_key(&key) {
                elsewhere.entry(key).or_default().push(series);
            }
        }
        found
            .into_iter()
            .filter(|(key, series)| !self.is_unasked(&key.0, series))
            .filter_map(|(key, series)| {
                let others = elsewhere.get(&key).map_or(&[][..], Vec::as_slice);
                self.draft(&key.0, &series, others)
            })
            .collect()
    }

    /// Adjusts the p-values over these rows, and takes back what may well be chance among so many. What is called changed,
    /// and what is taken back, gets the interval of the confidence that the table asks for: it excludes no change exactly
    /// where the change is believed. Differences without a p-value, such as counts that never vary, are no matter of
    /// chance.
    ///
    /// Source: Y. Benjamini, D. Yekutieli, "False discovery rate-adjusted multiple confidence intervals for selected
    /// parameters", JASA 100 (2005).
    fn correct_for_many(&self, drafts: &mut [&mut Draft]) {
        let level = 1.0 - self.options.confidence.share();
        let p: Vec<f64> = answer::differences(drafts.iter_mut().map(|draft| &mut draft.row))
            .filter_map(|difference| difference.p.ok())
            .collect();
        let adjusted = benjamini_hochberg(&p);
        let believed = adjusted.iter().filter(|p| **p <= level).count();
        let share = believed.max(1) as f64 / p.len().max(1) as f64;
        let confidence = Confidence::new(1.0 - level * share).unwrap_or(self.options.confidence);
        let mut adjusted = adjusted.into_iter();
        for draft in drafts {
            let places: Vec<usize> = (0..draft.row.entries.len()).collect();
            for place in places {
                let Some(difference) = draft.row.entries[place].difference() else {
                    continue;
                };
                let Ok(own) = difference.p else { continue };
                let Some(over_table) = adjusted.next() else {
                    return;
                };
                let changed = difference.call.changed();
                let again = (changed && p.len() > 1)
                    .then(|| self.difference_again(draft, place, confidence))
                    .flatten();
                let Some(difference) = draft.row.entries[place].difference_mut() else {
                    continue;
                };
                if let Some(mut again) = again {
                    if !again.call.changed() {
                        let comparisons = p.len();
                        again.call = DifferenceCall::CannotTell(Doubt::AmongMany { comparisons });
                    }
                    *difference = again;
                    difference.p = Ok(own);
                }
                difference.adjusted_p = Some(over_table);
            }
        }
    }

    /// The difference of a side, with intervals of this confidence.
    fn difference_again(
        &self,
        draft: &Draft,
        place: usize,
        confidence: Confidence,
    ) -> Option<Difference> {
        let (base, new) = (draft.sides[0].as_ref()?, draft.sides[place].as_ref()?);
        Some(self.difference(place, base, new, draft.row.mean, &draft.known, confidence))
    }

    fn draft(
        &self,
        question: &str,
        series: &[Vec<&CellSeries>],
        others: &[&CellSeries],
    ) -> Option<Draft> {
        let shape: &CellSeries = series.iter().flatten().next()?;
        let gathered: Vec<Result<Gathered, MissingReason>> = series
            .iter()
            .enumerate()
            .map(|(side, series)| self.gathered(side, series, shape, question))
            .collect();
        let all = || series.iter().flatten().chain(others).copied();
        let known = match self.origin {
            Origin::Studies => [Level::Trial, Level::Session].map(|level| {
                pooled_spread::pool_spread(all().map(pooled_spread::sessions_of_series), level)
            }),
            Origin::Lists | Origin::ListsWithoutUnit => [None; 2],
        };
        let primary = series.iter().flatten().any(|series| series.primary);
        Some(self.draft_of(shape, primary, gathered, known))
    }

    /// A row of a metric and cell of this shape, of what each side has.
    fn draft_of(
        &self,
        shape: &CellSeries,
        primary: bool,
        gathered: Vec<Result<Gathered, MissingReason>>,
        known: [Option<PooledSpread>; 2],
    ) -> Draft {
        let mean = match shape.better {
            Better::Higher if gathered.iter().flatten().all(Gathered::is_positive) => {
                Mean::Harmonic
            }
            _ => Mean::Arithmetic,
        };
        let base = gathered.first().and_then(|base| base.as_ref().ok());
        let entries = gathered.iter().enumerate().map(|(number, side)| {
            let side = match side {
                Ok(side) => side,
                Err(missing) => return RowEntry::Missing(missing.clone()),
            };
            let Some(mut measured) = side.measured(mean) else {
                return RowEntry::Missing(MissingReason::NotANumber);
            };
            measured.against = base
                .filter(|_| number > 0)
                .map(|base| self.against(number, base, side, shape, mean, &known));
            RowEntry::Measured(Box::new(measured))
        });
        let row = ComparisonRow {
            cell: shape.cell.clone(),
            metric: shape.metric.clone(),
            series: None,
            unit: (self.origin != Origin::ListsWithoutUnit).then_some(shape.unit),
            better: shape.better,
            about: shape.about.clone(),
            primary,
            monitor: shape.monitor.clone(),
            simulator: shape.simulator,
            mean,
            entries: entries.collect(),
        };
        Draft {
            row,
            sides: gathered.into_iter().map(Result::ok).collect(),
            known,
        }
    }

    fn gathered(
        &self,
        side: usize,
        series: &[&CellSeries],
        shape: &CellSeries,
        question: &str,
    ) -> Result<Gathered, MissingReason> {
        let own = series
            .first()
            .ok_or_else(|| self.not_in_plan(side, shape))?;
        let (unit, factor) = match own.unit.in_terms_of(shape.unit) {
            Some(factor) => (shape.unit, factor),
            None => (own.unit, 1.0),
        };
        let trials = || {
            let all = series.iter().flat_map(|series| &series.trials);
            all.filter(|trial| !trial.values.is_empty())
        };
        let count = trials().count();
        if count == 0 {
            return Err(self.tried[side].why_missing(question));
        }
        let all = series.iter().flat_map(|series| &series.trials);
        let set = &self.sets[side];
        let host = |trial: &TrialSamples| {
            let place = self.hosts.get_index_of(set.host_of(trial)?)?;
            Some(place as u64 + 1)
        };
        let samples = side_on(all, factor, |trial| host(trial).unwrap_or(0));
        let samples = samples.map_err(|_| MissingReason::NotANumber)?;
        let neighbours = trials().map(|trial| trial.neighbours).sum::<f64>();
        Ok(Gathered {
            trials: match self.origin {
                Origin::Studies => count,
                Origin::Lists | Origin::ListsWithoutUnit => samples.samples().n(),
            },
            numbers: match self.origin {
                Origin::Studies => trials().map(|trial| trial.trial).collect(),
                Origin::Lists | Origin::ListsWithoutUnit => Vec::new(),
            },
            within: within(trials().map(|trial| trial.each.as_slice())),
            samples,
            neighbours: neighbours / count as f64,
            failed: self.tried[side].failed(question),
            unit,
            better: own.better,
            simulator: own.simulator,
        })
    }

    fn against(
        &self,
        number: usize,
        base: &Gathered,
        new: &Gathered,
        shape: &CellSeries,
        mean: Mean,
        known: &[Option<PooledSpread>; 2],
    ) -> BaselineRelation {
        if new.unit.in_terms_of(base.unit).is_none() {
            return BaselineRelation::NotComparable(NotComparable::Units {
                base: base.unit,
                new: new.unit,
            });
        }
        if new.better != base.better {
            return BaselineRelation::NotComparable(NotComparable::Directions {
                base: base.better,
                new: new.better,
            });
        }
        let time_base = |side: &Gathered| side.simulator.and_then(Simulator::time_base);
        if time_base(base) != time_base(new) {
            return BaselineRelation::NotComparable(NotComparable::Clocks {
                base: base.simulator,
                new: new.simulator,
            });
        }
        if let Some(machine) = &self.machines[number]
            && !self.options.other_machines
        {
            return BaselineRelation::NotComparable(machine.clone());
        }
        let concerns =
            |change: &&DefinitionChange| change.concerns(&shape.cell, shape.metric.as_str());
        if let Some(change) = self.definitions[number].iter().find(concerns)
            && !self.options.other_definitions
        {
            return BaselineRelation::NotComparable(NotComparable::Definition(change.part));
        }
        let confidence = self.options.confidence;
        let difference = self.difference(number, base, new, mean, known, confidence);
        BaselineRelation::Compared(Box::new(difference))
    }

    /// What the sides differ by beyond the spread of what was repeated, and what is known of it.
    fn beyond(
        &self,
        number: usize,
        repeated: Level,
        known: &[Option<PooledSpread>; 2],
    ) -> (UnrepeatedVariation, Option<PooledSpread>) {
        if self.origin != Origin::Studies {
            return (UnrepeatedVariation::Nothing, None);
        }
        let (base, new) = (&self.sets[0], &self.sets[number]);
        let in_turn = base.study == new.study && base.interleaved;
        let known = match repeated {
            Level::Sample => known[0],
            Level::Trial if !in_turn => known[1],
            _ => return (UnrepeatedVariation::Nothing, None),
        };
        match (known, repeated) {
            (Some(found), _) => (UnrepeatedVariation::Known(found.spread), known),
            (None, Level::Trial) => (UnrepeatedVariation::LikeUnits, None),
            (None, _) => (UnrepeatedVariation::Nothing, None),
        }
    }

    fn difference(
        &self,
        number: usize,
        base: &Gathered,
        new: &Gathered,
        mean: Mean,
        known: &[Option<PooledSpread>; 2],
        confidence: Confidence,
    ) -> Difference {
        let common = on_common_hosts(&base.samples, &new.samples);
        let (of_base, of_new) = match &common {
            Some((base, new)) => (base, new),
            None => (&base.samples, &new.samples),
        };
        let repeated = of_base.replicated().min(of_new.replicated());
        let (beyond, known) = self.beyond(number, repeated, known);
        let simulated = base.simulator.is_some() && new.simulator.is_some();
        let question = VerdictOptions {
            better: base.better,
            mean,
            margin_percent: self.options.margin_percent,
            confidence,
            beyond,
            // What a simulator counts agrees by construction: a second trial that does has shown it.
            alike_enough: match simulated {
                true => 2,
                false => VerdictOptions::new(base.better).alike_enough,
            },
        };
        let found = verdict(of_base, of_new, &question);
        let mut difference = Difference::new(found, confidence, known);
        if self.origin == Origin::Studies && repeated == Level::Sample && known.is_none() {
            difference.doubt_single_runs(if simulated { 1 } else { RUNS_FOR_INTERVAL });
        }
        difference
    }
}

/// The samples of these trials, each with its place in the nesting, times a factor.
///
/// # Errors
/// There is no sample, or one is no finite number.
pub fn side_of<'a>(
    trials: impl Iterator<Item = &'a TrialSamples>,
    factor: f64,
) -> Result<backsight_stats::NestedSamples, SamplesError> {
    side_on(trials, factor, |trial| u64::from(trial.host))
}

/// The same with the host of each trial, by a number.
fn side_on<'a>(
    trials: impl Iterator<Item = &'a TrialSamples>,
    factor: f64,
    host: impl Fn(&TrialSamples) -> u64,
) -> Result<backsight_stats::NestedSamples, SamplesError> {
    let placed = trials.flat_map(|trial| {
        let host = host(trial);
        trial.values.iter().map(move |value| NestedSample {
            host,
            layout: 0,
            boot: u64::from(trial.boot),
            session: u64::from(trial.session),
            trial: u64::from(trial.trial),
            value: value * factor,
        })
    });
    backsight_stats::NestedSamples::new(placed.collect())
}

/// The parameters whose values two cells have not in common.
fn differing_params(base: &Cell, new: &Cell) -> Vec<KeyDifference> {
    let only_new = new.params.keys();
    let only_new = only_new.filter(|name| !base.params.contains_key(*name));
    let names = base.params.keys().chain(only_new);
    let differing = names.filter(|name| base.params.get(*name) != new.params.get(*name));
    let value = |cell: &Cell, name: &ParamName| cell.params.get(name).map(ToString::to_string);
    let differing = differing.map(|name| KeyDifference {
        key: name.to_string(),
        base: value(base, name),
        new: value(new, name),
    });
    differing.collect()
}

/// Trials whose interval samples begin unlike the rest.
fn within<'a>(trials: impl Iterator<Item = &'a [f64]>) -> Option<IntervalWarmUp> {
    let mut found = IntervalWarmUp {
        trials: 0,
        of: 0,
        most: 0,
        intervals: 0,
    };
    for each in trials.filter(|each| !each.is_empty()) {
        found.of += 1;
        let finite = each.iter().all(|value| value.is_finite());
        if let Some(begins) = finite.then(|| warm_up(each)).flatten() {
            found.trials += 1;
            if begins.drop > found.most {
                (found.most, found.intervals) = (begins.drop, each.len());
            }
        }
    }
    (found.trials > 0).then_some(found)
}

/// One side's samples in a row.
struct Gathered {
    samples: backsight_stats::NestedSamples,
    trials: usize,
    numbers: Vec<u32>,
    within: Option<IntervalWarmUp>,
    neighbours: f64,
    failed: usize,
    unit: Unit,
    better: Better,
    simulator: Option<Simulator>,
}

impl Gathered {
    fn is_positive(&self) -> bool {
        self.samples.samples().min() > 0.0
    }

    /// What was measured, compared with nothing; nothing if its values have no mean.
    fn measured(&self, mean: Mean) -> Option<MeasuredEntry> {
        let all = self.samples.samples();
        let level = match self.samples.replicated() {
            Level::Sample if all.n() > 1 => Level::Sample,
            _ => Level::Trial,
        };
        let of_samples = Summary::new(all, self.better);
        let one_each = self.trials == all.n();
        let trials = if one_each {
            all.clone()
        } else {
            let units = self.samples.units_by(Level::Trial, mean).ok()?;
            Samples::new(units.means).ok()?
        };
        let of_trials = if one_each {
            of_samples.clone()
        } else {
            Summary::new(&trials, self.better)
        };
        Some(MeasuredEntry {
            unit: self.unit,
            trials: self.trials,
            samples: all.n(),
            failed: self.failed,
            mean: mean.compute(&trials).ok()?,
            reach: mean_interval(&trials, Confidence::USUAL)
                .ok()
                .map(|interval| interval.width() / 2.0),
            spread: match level {
                Level::Sample => of_samples.coeffvar,
                _ => of_trials.coeffvar,
            },
            level,
            values: trials.measured().to_vec(),
            numbers: self.numbers.clone(),
            within: self.within,
            of_trials,
            of_samples,
            neighbours: self.neighbours,
            against: None,
        })
    }
}

fn ratio_means(comparison: &Comparison) -> Vec<RatioMean> {
    let sides = 1..comparison.sides.len();
    sides
        .flat_map(|side| [Better::Higher, Better::Lower].map(|better| (side, better)))
        .filter_map(|(side, better)| ratio_mean(&comparison.rows, side, better))
        .collect()
}

fn ratio_mean(rows: &[ComparisonRow], side: usize, better: Better) -> Option<RatioMean> {
    let of_direction = |row: &&ComparisonRow| row.primary && row.better == better;
    let rows: Vec<&ComparisonRow> = rows.iter().filter(of_direction).collect();
    let ratios: Vec<(f64, Option<Interval>)> = rows
        .iter()
        .filter_map(|row| row.entries[side].difference())
        .filter_map(|difference| Some((difference.ratio.ok()?, difference.ratio_interval.ok())))
        .collect();
    let centres: Vec<f64> = ratios.iter().map(|(ratio, _)| *ratio).collect();
    let with_intervals: Vec<(f64, Interval)> = ratios
        .iter()
        .filter_map(|(ratio, interval)| Some((*ratio, (*interval)?)))
        .collect();
    (!rows.is_empty()).then(|| RatioMean {
        side,
        better,
        gmean: gmean_of_ratios(&centres),
        interval: if with_intervals.len() == ratios.len() {
            gmean_of_ratios_interval(&with_intervals)
        } else {
            Err(Undefined::TooFew {
                needs: ratios.len(),
                has: with_intervals.len(),
            })
        },
        range: centres
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
