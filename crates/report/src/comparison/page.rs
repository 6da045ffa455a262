//! The part of a page that compares: the sentences at the top, the table, the ratios. Every difference has its interval; a
//! row stays where a side has nothing in it.

use backsight_model::ResultSet;
use backsight_policy::{
    BaselineRelation, Comparison, ComparisonRow, Difference, DifferenceCall, MeasuredEntry,
    RowEntry, Tally,
};
use backsight_stats::{Better, Undefined};

use super::{bar_figures, tables::group_heading};
use crate::{
    chart,
    numbers::{self, Rounding, Scale},
    overhead::OverheadStudy,
};

/// Most rows of a table, and most numbers of all rows.
const MOST_ROWS: usize = 2000;
const MOST_ENTRIES: usize = 8000;
/// Sides that have a sentence of their own.
const MOST_SENTENCES: usize = 4;
/// Changes that a sentence names.
const MOST_NAMED: usize = 3;
/// Percent beyond which the picture of a difference is an arrow.
const FARTHEST: f64 = 100.0;

/// A piece of a sentence.
pub struct Piece {
    /// `good`, `bad`, `unsure`, or nothing.
    pub class: &'static str,
    /// The text.
    pub text: String,
}

/// A sentence.
pub type RichSentence = Vec<Piece>;

/// The tables of a comparison.
pub struct ComparisonTables {
    /// The baseline's name.
    pub base: String,
    /// The other sides' names.
    pub others: Vec<String>,
    /// Primary metrics, and others that differ or are missing somewhere.
    pub benchmarks: Vec<BenchmarkRows>,
    /// The rest.
    pub secondary: Vec<BenchmarkRows>,
    /// How many rows that is.
    pub folded: usize,
    /// The ratios of each direction.
    pub ratios: Vec<DirectionRatios>,
    /// Confidence of the intervals, in percent.
    pub confidence: String,
    /// What is left of it: how many of the changes may be chance.
    pub chance: String,
    /// What was not repeated.
    pub scope: &'static str,
    /// Rows that are left out.
    pub left_out: usize,
    /// Columns of the table in all.
    pub columns: usize,
}

/// The rows of one benchmark.
pub struct BenchmarkRows {
    /// Its name.
    pub name: String,
    /// Its rows.
    pub rows: Vec<TableRow>,
}

/// One metric of one cell.
pub struct TableRow {
    /// The cell.
    pub cell: String,
    /// The metric.
    pub metric: String,
    /// The baseline's name.
    pub base: SideFields,
    /// The other sides' names.
    pub others: Vec<OtherFields>,
}

/// The fields of a side in a row.
pub struct SideFields {
    /// The mean with its unit; or why there is none.
    pub mean: String,
    /// Whether it has nothing.
    pub missing: bool,
    /// Its spread and count.
    pub spread: String,
    /// Trials that failed, in words.
    pub failed: String,
    /// The mean as a number, to sort by.
    pub key: String,
}

/// What another side has in a row, and how it differs.
pub struct OtherFields {
    /// What it has.
    pub side: SideFields,
    /// new − base in the row's unit, with its interval.
    pub absolute: String,
    /// In percent of the base.
    pub difference: String,
    /// Its interval, or why there is none.
    pub interval: String,
    /// The difference as a number, to sort by.
    pub key: String,
    /// The difference on a line around zero, as SVG.
    pub mark: String,
    /// `good`, `bad`, `unsure`, `soft-word`, or nothing.
    pub class: &'static str,
    /// The verdict.
    pub word: String,
}

/// The ratios of the rows of one direction.
pub struct DirectionRatios {
    /// Its name.
    pub name: &'static str,
    /// Its rows.
    pub rows: Vec<RatioRow>,
    /// The geometric mean of each side.
    pub total: Vec<RatioTotal>,
}

/// One row's ratios to the base.
pub struct RatioRow {
    /// The cell.
    pub cell: String,
    /// The metric.
    pub metric: String,
    /// The ratios of each direction.
    pub ratios: Vec<BaseRatio>,
}

/// A ratio to the base.
pub struct BaseRatio {
    /// `good`, `bad`, `unsure`, `soft-word`, or nothing.
    pub class: &'static str,
    /// The ratio, or why there is none.
    pub ratio: String,
    /// Its interval, or why there is none.
    pub interval: String,
}

/// The geometric mean of one side's ratios.
pub struct RatioTotal {
    /// The geometric mean.
    pub gmean: String,
    /// Its interval and what it is of.
    pub about: String,
}

impl ComparisonTables {
    /// The tables of this comparison.
    pub fn new(comparison: &Comparison) -> Self {
        let mut names = comparison.sides.iter().map(|side| side.name.clone());
        let base = names.next().unwrap_or_default();
        let others: Vec<String> = names.collect();
        let most = MOST_ROWS.min(MOST_ENTRIES / comparison.sides.len().max(1));
        let rows = &comparison.rows[..comparison.rows.len().min(most)];
        let reach = reach(rows);
        let (quiet, shown): (Vec<&ComparisonRow>, Vec<&ComparisonRow>) =
            rows.iter().partition(|row| row.is_secondary_and_quiet());
        Self {
            columns: 3 + others.len() * 5,
            base,
            others,
            benchmarks: BenchmarkRows::each(&shown, reach),
            secondary: BenchmarkRows::each(&quiet, reach),
            folded: quiet.len(),
            ratios: ratios(comparison, rows),
            confidence: numbers::confidence(comparison.options.confidence),
            chance: format!(
                "{} %",
                numbers::value((1.0 - comparison.options.confidence.share()) * 100.0, 2)
            ),
            scope: comparison.scope().unwrap_or_default(),
            left_out: comparison.rows.len() - rows.len(),
        }
    }
}

impl BenchmarkRows {
    /// The rows of each benchmark, in their order.
    fn each(rows: &[&ComparisonRow], reach: f64) -> Vec<Self> {
        let of_one = rows.chunk_by(|a, b| group_heading(a) == group_heading(b));
        of_one
            .map(|rows| Self {
                name: group_heading(rows[0]),
                rows: rows.iter().map(|row| TableRow::new(row, reach)).collect(),
            })
            .collect()
    }
}

/// Everything of a cell but its benchmark.
fn question(row: &ComparisonRow) -> String {
    let params = row.cell.chosen_params();
    let set_up = row.cell.set_up();
    let set_up = match &*set_up {
        "default" => "",
        other => other,
    };
    [params.as_str(), set_up].join(" ").trim().to_owned()
}

impl TableRow {
    /// The row, with pictures of differences that reach so far, in percent.
    pub fn new(row: &ComparisonRow, reach: f64) -> Self {
        let measured = || row.entries.iter().filter_map(RowEntry::measured);
        let scale = Scale::fitting(row.unit, measured().map(|side| side.mean));
        let mut entries = row.entries.iter();
        let base = entries
            .next()
            .map_or_else(SideFields::nothing, |entry| SideFields::new(entry, &scale));
        Self {
            cell: question(row),
            metric: row.metric.to_string(),
            base,
            others: entries
                .map(|entry| OtherFields::new(entry, &scale, reach))
                .collect(),
        }
    }
}

impl SideFields {
    fn nothing() -> Self {
        Self {
            mean: "missing".into(),
            missing: true,
            spread: String::new(),
            failed: String::new(),
            key: String::new(),
        }
    }

    fn new(entry: &RowEntry, scale: &Scale) -> Self {
        match entry {
            RowEntry::Missing(why) => Self {
                mean: format!("missing: {why}"),
                ..Self::nothing()
            },
            RowEntry::Measured(side) => {
                // What isn't comparable has a unit of its own.
                let own = Scale::fitting(side.unit, [side.mean]);
                let comparable = |unit| side.unit.in_terms_of(unit).is_some();
                let scale = if scale.unit.is_none_or(comparable) {
                    scale
                } else {
                    &own
                };
                Self {
                    mean: format!(
                        "{}{}",
                        numbers::mean(
                            scale.convert(side.mean),
                            side.reach.map(|reach| scale.convert(reach))
                        ),
                        scale.unit_after()
                    ),
                    missing: false,
                    spread: spread(side),
                    failed: match side.failed {
                        0 => String::new(),
                        count => format!("{count} failed"),
                    },
                    key: side.mean.to_string(),
                }
            }
        }
    }
}

fn spread(side: &MeasuredEntry) -> String {
    let cv = match side.spread {
        Ok(percent) => format!("cv {percent:.1} %"),
        Err(Undefined::TooFew { .. }) => "no spread".to_owned(),
        Err(_) if side.of_samples.min == side.of_samples.max => "all alike".to_owned(),
        Err(_) => "cv undefined".to_owned(),
    };
    format!("{cv}, n={}", side.trials)
}

impl OtherFields {
    fn new(entry: &RowEntry, scale: &Scale, reach: f64) -> Self {
        let mut view = Self {
            side: SideFields::new(entry, scale),
            absolute: String::new(),
            difference: String::new(),
            interval: String::new(),
            key: String::new(),
            mark: String::new(),
            class: "",
            word: String::new(),
        };
        match entry.measured().map(|side| &side.against) {
            None => {}
            Some(None) => view.word = "nothing to compare with".into(),
            Some(Some(BaselineRelation::NotComparable(why))) => {
                view.class = "unsure";
                view.word = format!("not comparable: {why}");
            }
            Some(Some(BaselineRelation::Compared(difference))) => {
                view.compared(difference, scale, reach)
            }
        }
        view
    }

    fn compared(&mut self, difference: &Difference, scale: &Scale, reach: f64) {
        self.class = class(difference.call);
        self.word = difference.call.to_string();
        self.absolute = scale.difference(difference.absolute, difference.absolute_interval.ok());
        // A ratio to what may be anything is no estimate.
        let percent = match difference.percent_interval {
            Err(why @ (Undefined::Unbounded | Undefined::NotEstimable)) => Err(why),
            _ => difference.percent,
        };
        match percent {
            Ok(change) => {
                let ends = difference.percent_interval.ok();
                self.difference = numbers::percent_of_interval(change, ends);
                self.key = change.to_string();
                self.interval = match difference.percent_interval {
                    // An interval without a width would claim more than equal numbers can say.
                    Ok(interval) if interval.width() == 0.0 => "all alike".to_owned(),
                    Ok(interval) => numbers::percent_interval(change, interval),
                    Err(why) => unknown(why),
                };
                self.mark = chart::mark(change, ends.map(|ends| (ends.low, ends.high)), reach);
            }
            Err(why) => self.interval = numbers::no_ratio(why).to_owned(),
        }
    }
}

fn class(call: DifferenceCall) -> &'static str {
    match call {
        DifferenceCall::Better => "good",
        DifferenceCall::Worse => "bad",
        DifferenceCall::Changed => "changed",
        DifferenceCall::NoChange { .. } => "soft-word",
        DifferenceCall::CannotTell(_) => "unsure",
    }
}

fn unknown(_: Undefined) -> String {
    "no interval".to_owned()
}

/// How far the pictures of differences reach, in percent.
pub fn reach(rows: &[ComparisonRow]) -> f64 {
    let largest = rows
        .iter()
        .flat_map(differences)
        .flat_map(|(_, difference)| {
            let ends = difference.percent_interval.ok();
            [
                difference.percent.ok(),
                ends.map(|ends| ends.low),
                ends.map(|ends| ends.high),
            ]
        })
        .flatten()
        .fold(0.0, |largest: f64, change| largest.max(change.abs()));
    largest.clamp(1.0, FARTHEST)
}

/// The differences of a row, each with its side's place.
fn differences(row: &ComparisonRow) -> impl Iterator<Item = (usize, &Difference)> {
    let sides = row.entries.iter().enumerate();
    sides.filter_map(|(side, entry)| Some((side, entry.difference()?)))
}

/// The ratios of primary metrics.
fn ratios(comparison: &Comparison, rows: &[ComparisonRow]) -> Vec<DirectionRatios> {
    [
        (Better::Higher, "Higher is better"),
        (Better::Lower, "Lower is better"),
    ]
    .into_iter()
    .map(|(better, name)| DirectionRatios {
        name,
        rows: rows
            .iter()
            .filter(|row| row.primary && row.better == better)
            .map(RatioRow::new)
            .collect(),
        total: (1..comparison.sides.len())
            .map(|side| RatioTotal::new(comparison, side, better))
            .collect(),
    })
    .filter(|direction| !direction.rows.is_empty())
    .collect()
}

impl RatioRow {
    fn new(row: &ComparisonRow) -> Self {
        Self {
            cell: format!("{} {}", row.cell.benchmark, question(row))
                .trim()
                .to_owned(),
            metric: row.metric.to_string(),
            ratios: row.entries.iter().skip(1).map(BaseRatio::new).collect(),
        }
    }
}

impl BaseRatio {
    fn new(entry: &RowEntry) -> Self {
        let none = |why: &str| Self {
            class: "unsure",
            ratio: why.to_owned(),
            interval: String::new(),
        };
        let Some(side) = entry.measured() else {
            return Self {
                class: "bad",
                ..none("missing")
            };
        };
        match &side.against {
            None => none("no base"),
            Some(BaselineRelation::NotComparable(_)) => none("not comparable"),
            Some(BaselineRelation::Compared(difference)) => match difference.ratio {
                Err(_) => none("base is zero"),
                Ok(ratio) => Self {
                    class: class(difference.call),
                    ratio: Rounding::from_interval(ratio, difference.ratio_interval.ok())
                        .value(ratio),
                    interval: difference.ratio_interval.map_or_else(unknown, |ends| {
                        Rounding::from_interval(ratio, Some(ends)).interval(ends)
                    }),
                },
            },
        }
    }
}

impl RatioTotal {
    /// That of a side and direction; `none` where no row has a ratio.
    pub fn new(comparison: &Comparison, side: usize, better: Better) -> Self {
        let mean = comparison
            .ratios
            .iter()
            .find(|mean| mean.side == side && mean.better == better);
        let Some(mean) = mean else {
            return Self {
                gmean: "none".into(),
                about: String::new(),
            };
        };
        let rounding = Rounding::from_interval(mean.gmean.unwrap_or(1.0), mean.interval.ok());
        let mut about = mean
            .interval
            .map_or_else(unknown, |ends| rounding.interval(ends));
        about.push_str(&format!(" of {}", numbers::counted(mean.rows, "row")));
        if let Some(range) = mean.range {
            about.push_str(&format!(
                ", from {} to {}",
                rounding.value(range.low),
                rounding.value(range.high)
            ));
        }
        if mean.left_out > 0 {
            about.push_str(&format!("; {} without a ratio", mean.left_out));
        }
        Self {
            gmean: mean
                .gmean
                .map_or_else(|_| "none".to_owned(), |gmean| rounding.value(gmean)),
            about,
        }
    }
}

/// Warnings about the comparison, and remarks on single rows.
pub fn warnings(comparison: &Comparison) -> impl Iterator<Item = String> {
    let remarks = comparison.remarks.iter().map(|remark| {
        let row = &comparison.rows[remark.row];
        format!("{} {}: {}", row.cell, row.metric, remark.text)
    });
    let warnings = comparison.warnings.iter().map(ToString::to_string);
    warnings.chain(remarks)
}

/// The sentences at the top: what monitors cost, else what changed most, else how much was measured of these studies.
pub fn verdict_sentences(
    overhead: Option<&OverheadStudy>,
    comparison: Option<&Comparison>,
    sets: &[&ResultSet],
) -> Vec<RichSentence> {
    if let Some(overhead) = overhead {
        return overhead_sentences(overhead);
    }
    match comparison {
        Some(comparison) if comparison.sides.len() > 1 => {
            let others = 1..comparison.sides.len();
            let mut sentences: Vec<RichSentence> = others
                .take(MOST_SENTENCES)
                .map(|side| sentence(comparison, side))
                .collect();
            if comparison.sides.len() > 1 + MOST_SENTENCES {
                let more = comparison.sides.len() - 1 - MOST_SENTENCES;
                sentences.push(vec![Piece::plain(format!(
                    "{} more in the table.",
                    numbers::counted(more, "side")
                ))]);
            }
            sentences
        }
        _ => vec![vec![Piece::plain(alone(sets))]],
    }
}

fn overhead_sentences(overhead: &OverheadStudy) -> Vec<RichSentence> {
    let words = overhead.sentences().into_iter();
    words
        .map(|(text, class)| vec![Piece { class, text }])
        .collect()
}

impl Piece {
    fn plain(text: impl Into<String>) -> Self {
        Self {
            class: "",
            text: text.into(),
        }
    }
}

/// Studies that are compared with nothing: how much there is, and where it spreads most.
fn alone(sets: &[&ResultSet]) -> String {
    let series = || sets.iter().flat_map(|set| &set.series);
    let measured = series().filter(|series| !series.trials.is_empty()).count();
    let missing = series().count() - measured;
    let mut text = format!("{measured} series measured");
    if missing > 0 {
        text.push_str(&format!(", {missing} missing"));
    }
    let spreads = series().filter_map(|series| {
        let measured = bar_figures::estimate(series)?;
        let spread = measured.samples.coeffvar().ok()?;
        Some((series, measured, spread))
    });
    if let Some((series, measured, spread)) = spreads.max_by(|a, b| a.2.total_cmp(&b.2)) {
        let scale = Scale::fitting(series.unit, [measured.estimate.mean]);
        text.push_str(&format!(
            ". The widest spread: {} {} {}{}, cv {spread:.1} %, n={}",
            series.cell,
            series.metric,
            measured.estimate.shown(&scale),
            scale.unit_after(),
            measured.estimate.n
        ));
    }
    text.push('.');
    text
}

fn sentence(comparison: &Comparison, side: usize) -> RichSentence {
    let mut changes: Vec<Change<'_>> = comparison
        .differences()
        .filter(|(row, of, _)| *of == side && row.primary)
        .filter_map(|(row, _, difference)| Change::new(row, difference, side))
        .collect();
    changes.sort_by(|a, b| b.size.total_cmp(&a.size));
    let mut sentence = vec![
        Piece {
            class: "side-name",
            text: comparison.sides[side].name.clone(),
        },
        Piece::plain(format!(" against {}: ", comparison.sides[0].name)),
    ];
    sentence.extend(tally(comparison.tally(side)));
    let mut named: Vec<&str> = Vec::new();
    for change in changes {
        let benchmark = change.row.cell.benchmark.as_str();
        if named.len() < MOST_NAMED && !named.contains(&benchmark) {
            sentence.push(Piece::plain(if named.is_empty() {
                ". Most: "
            } else {
                "; "
            }));
            sentence.extend(change.named());
            named.push(benchmark);
        }
    }
    sentence.push(Piece::plain("."));
    sentence
}

/// A change that the interval is sure of.
struct Change<'a> {
    row: &'a ComparisonRow,
    difference: &'a Difference,
    side: usize,
    /// How far the end of the ratio's interval that is nearer to 1 is from it, so that a half and a double weigh the
    /// same and a wide interval doesn't win.
    size: f64,
}

impl<'a> Change<'a> {
    fn new(row: &'a ComparisonRow, difference: &'a Difference, side: usize) -> Option<Self> {
        let interval = difference
            .ratio_interval
            .ok()
            .filter(|ends| ends.low > 0.0)?;
        (difference.call.changed() && !difference.by_share()).then(|| Self {
            row,
            difference,
            side,
            size: interval.low.ln().abs().min(interval.high.ln().abs()),
        })
    }

    /// `ping-rtt rtt from 30.8 µs to 47.9 µs, +55.3 % [+50.8, +60.0] worse`.
    fn named(&self) -> RichSentence {
        let row = self.row;
        let cell = format!("{} {}", row.cell.benchmark, question(row));
        let means =
            [0, self.side].map(|side| row.entries[side].measured().map_or(0.0, |side| side.mean));
        let scale = Scale::fitting(row.unit, means);
        let [from, to] = means.map(|mean| numbers::value(scale.convert(mean), 3));
        let change = match self.difference.percent {
            Ok(change) => numbers::percent_in(change, self.difference.percent_interval.ok()),
            Err(_) => {
                let interval = self.difference.absolute_interval.ok();
                scale.difference(self.difference.absolute, interval)
            }
        };
        vec![
            Piece::plain(format!(
                "{} {} from {from} to {to}{}, ",
                cell.trim(),
                row.metric,
                scale.unit_after()
            )),
            Piece {
                class: class(self.difference.call),
                text: format!("{change} {}", self.difference.call.as_str()).replace(' ', "\u{a0}"),
            },
        ]
    }
}

/// `6 worse, 1 better, 2 without a change`.
fn tally(tally: Tally) -> Vec<Piece> {
    let words = [
        (tally.worse, "bad", "worse"),
        (tally.better, "good", "better"),
        (tally.changed, "changed", "changed"),
        (tally.no_change, "", "without a change"),
        (tally.cannot_tell, "", "undecided"),
        (tally.not_comparable, "", "not comparable"),
        (tally.missing, "", "missing on a side"),
    ];
    let mut pieces: Vec<Piece> = Vec::new();
    for (count, class, word) in words.into_iter().filter(|(count, ..)| *count > 0) {
        if !pieces.is_empty() {
            pieces.push(Piece::plain(", "));
        }
        pieces.push(Piece {
            class,
            text: format!("{count} {word}"),
        });
    }
    if pieces.is_empty() {
        pieces.push(Piece::plain("nothing measured"));
    }
    pieces
}
