//! A comparison on a page: every metric of a cell as a row, with what became better, worse or neither first; of versions of a
//! target each row is a series of its history.
//!
//! The statistics are those of [`Comparison`]; here is what a page shows of them.

use backsight_model::shell_quoted;
use backsight_policy::{
    BaselineRelation, CompareOptions, Comparison, ComparisonRow, DifferenceCall, RowEntry,
    VersionSeries,
};
use backsight_report::{
    SeriesText,
    chart::{Distribution, distributions, marked_course},
    clipped,
    comparison::page::{RatioTotal, RichSentence, TableRow, reach, verdict_sentences, warnings},
    numbers,
};
use backsight_stats::Better;

use super::{
    book::{Book, Here},
    differing_facts::DifferingFacts,
};

/// Most rows of a page, and of those the most that open to distributions.
const MOST_ROWS: usize = 2000;
const MOST_DETAILS: usize = 24;
/// Most metrics of monitors that a row opens to.
const MOST_MONITORED: usize = 12;
/// Most warnings of a page.
const MOST_WARNINGS: usize = 30;
/// Versions that the course of a series shows at least, and how many of them lie after the last that is compared.
const COURSE: usize = 30;
const COURSE_AFTER: usize = 5;

/// What a page has of a comparison.
pub(super) struct ComparedSides {
    pub sentences: Vec<RichSentence>,
    pub means: Vec<MeanRatio>,
    /// The baseline's name, and the others'.
    pub base: String,
    pub others: Vec<String>,
    pub rows: Vec<Row>,
    pub left_out: usize,
    /// Which columns the table has.
    pub has_params: bool,
    pub has_place: bool,
    /// What rows are filtered by.
    pub benchmarks: Vec<String>,
    pub tags: Vec<String>,
    pub warnings: Vec<String>,
    pub confidence: String,
    pub chance: String,
    pub scope: &'static str,
    /// What is otherwise on the machines and in the builds.
    pub facts: DifferingFacts,
    /// Columns in all.
    pub columns: usize,
}

/// As [`CompareOptions::default`], with what monitors measured.
const WITH_MONITORS: CompareOptions = CompareOptions {
    monitors: true,
    ..CompareOptions::USUAL
};

/// What a page knows of rows beside the comparison.
pub(super) trait DescribesRows {
    /// Where a row leads, and where it was measured if others have the same name; none where the row isn't shown.
    fn place(&self, row: &ComparisonRow) -> Option<RowPlace>;

    /// What a row opens to; the number is its own on the page.
    fn details(&self, row: &ComparisonRow, number: usize) -> Details;
}

/// See [`DescribesRows::place`].
#[derive(Default)]
pub(super) struct RowPlace {
    /// Empty where it leads nowhere.
    pub href: String,
    pub place: String,
}

/// The geometric mean of a side's ratios, of one direction.
pub(super) struct MeanRatio {
    pub side: String,
    pub direction: &'static str,
    pub total: RatioTotal,
}

/// A metric of a cell.
pub(super) struct Row {
    pub name: String,
    pub href: String,
    pub params: String,
    pub place: String,
    pub benchmark: String,
    /// `worse`, `better`, `changed`, `same`, `undecided` or `none`: what rows are filtered by.
    pub call: &'static str,
    /// How far it is from the baseline at most, in percent.
    pub size: f64,
    pub values: TableRow,
    /// Its place in the comparison.
    number: usize,
    pub details: Option<Details>,
}

/// What a row opens to.
pub(super) struct Details {
    pub distributions: String,
    pub course: String,
    /// How many versions the course shows.
    pub of: usize,
    pub sides: Vec<SideDetails>,
    /// The link to the chart that is interactive; empty where there is none.
    pub interactive: String,
    pub command: String,
    /// What measures the sides again; empty where that isn't one command.
    pub measure: String,
    /// What monitors measured differently meanwhile.
    pub monitored: Vec<MonitoredRow>,
    /// How the profiles of both sides differ, where trials have some.
    pub profile: Option<ProfileDetails>,
}

/// A metric of a monitor.
pub(super) struct MonitoredRow {
    pub name: String,
    pub values: TableRow,
}

/// How profiles differ.
pub(super) struct ProfileDetails {
    pub sentences: Vec<String>,
    /// What shows their functions and flame graphs.
    pub command: String,
}

/// What monitors measured differently on the sides of a comparison.
#[derive(Default)]
pub(super) struct Monitored(Vec<ComparisonRow>);

impl Monitored {
    /// The same sides compared with what monitors measured.
    pub fn new(with_monitors: Comparison) -> Self {
        let rows = with_monitors.rows.into_iter();
        Self(
            rows.filter(|row| row.monitor.is_some() && row.has_changed())
                .collect(),
        )
    }

    /// Those that were measured with this row.
    pub fn beside(&self, row: &ComparisonRow) -> Vec<MonitoredRow> {
        let of_cell = |other: &&ComparisonRow| {
            let (one, other) = (&row.cell, &other.cell);
            (&one.benchmark, &one.params, &one.variant)
                == (&other.benchmark, &other.params, &other.variant)
        };
        let rows = self.0.iter().filter(of_cell).take(MOST_MONITORED);
        let shown = rows.map(|row| MonitoredRow {
            name: row.metric.to_string(),
            values: TableRow::new(row, reach(std::slice::from_ref(row))),
        });
        shown.collect()
    }
}

pub(super) struct SideDetails {
    pub letter: char,
    pub name: String,
    pub href: String,
    pub value: String,
    pub counts: String,
}

impl ComparedSides {
    pub fn new(
        comparison: &Comparison,
        names: &[String],
        described: &dyn DescribesRows,
        facts: DifferingFacts,
    ) -> Self {
        let shown = &comparison.rows[..comparison.rows.len().min(MOST_ROWS)];
        let reach = reach(shown);
        let numbered = shown.iter().enumerate();
        let mut rows: Vec<Row> = numbered
            .filter_map(|(number, row)| Some(Row::new(described.place(row)?, row, number, reach)))
            .collect();
        // Of a benchmark what changed is first; so it is of all together.
        rows.sort_by_key(|row| !row.is_changed());
        for (number, row) in rows.iter_mut().enumerate().take(MOST_DETAILS) {
            row.details = Some(described.details(&shown[row.number], number));
        }
        let [benchmarks, tags] = tags(&rows);
        let others = names[1..].to_vec();
        let has_params = rows.iter().any(|row| !row.params.is_empty());
        let has_place = rows.iter().any(|row| !row.place.is_empty());
        Self {
            sentences: verdict_sentences(None, Some(comparison), &[]),
            means: means(comparison, names),
            base: names[0].clone(),
            columns: 2 + others.len() * 4 + usize::from(has_params) + usize::from(has_place),
            others,
            left_out: comparison.rows.len() - rows.len(),
            has_params,
            has_place,
            benchmarks,
            tags,
            warnings: warnings(comparison)
                .take(MOST_WARNINGS)
                .map(|warning| clipped(&warning, 600))
                .collect(),
            confidence: numbers::confidence(comparison.options.confidence),
            chance: numbers::value((1.0 - comparison.options.confidence.share()) * 100.0, 2),
            scope: comparison.scope().unwrap_or_default(),
            facts,
            rows,
        }
    }

    /// Versions of a target, by their places.
    pub fn of_versions(here: Here<'_>, versions: &[usize]) -> Self {
        let book = here.book;
        let comparison = book.evidence().compare(versions, CompareOptions::default());
        let names: Vec<String> = versions.iter().map(|at| book.name(*at)).collect();
        let facts = match versions {
            [from, to] => DifferingFacts::of_builds(&book.builds(*from), &book.builds(*to)),
            _ => DifferingFacts::default(),
        };
        let monitored = match comparison.left_out_monitor_metrics {
            0 => Monitored::default(),
            _ => Monitored::new(book.evidence().compare(versions, WITH_MONITORS)),
        };
        let rows = VersionRows {
            here,
            versions,
            monitored,
        };
        Self::new(&comparison, &names, &rows, facts)
    }
}

/// The benchmarks and the parameters that tell rows apart.
fn tags(rows: &[Row]) -> [Vec<String>; 2] {
    let all = |of: &dyn Fn(&Row) -> Vec<String>| {
        let mut all: Vec<String> = rows.iter().flat_map(of).collect();
        all.sort_unstable();
        all.dedup();
        match all.len() {
            1 => Vec::new(),
            _ => all,
        }
    };
    let words = |row: &Row| row.params.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let mut tags = all(&words);
    tags.retain(|tag| !tag.is_empty());
    [all(&|row| vec![row.benchmark.clone()]), tags]
}

fn means(comparison: &Comparison, names: &[String]) -> Vec<MeanRatio> {
    let means = comparison.ratios.iter().map(|mean| MeanRatio {
        side: names[mean.side].clone(),
        direction: match mean.better {
            Better::Higher => "higher is better",
            Better::Lower => "lower is better",
            _ => "neither is better",
        },
        total: RatioTotal::new(comparison, mean.side, mean.better),
    });
    means.collect()
}

impl Row {
    fn new(place: RowPlace, row: &ComparisonRow, number: usize, reach: f64) -> Self {
        let set_up = row.cell.set_up();
        let set_up = if set_up == "default" { "" } else { &*set_up };
        let params = [&row.cell.chosen_params(), set_up].join(" ");
        let differences = row.entries.iter().filter_map(RowEntry::difference);
        let percents = differences.filter_map(|difference| difference.percent.ok());
        Self {
            name: clipped(&format!("{}.{}", row.cell.benchmark, row.metric), 80),
            href: place.href,
            params: clipped(params.trim(), 60),
            place: clipped(&place.place, 40),
            benchmark: row.cell.benchmark.to_string(),
            call: call(row),
            size: percents.fold(0.0, |most: f64, percent| most.max(percent.abs())),
            values: TableRow::new(row, reach),
            number,
            details: None,
        }
    }

    fn is_changed(&self) -> bool {
        matches!(self.call, "worse" | "better" | "changed")
    }
}

/// What is most of interest in a row.
fn call(row: &ComparisonRow) -> &'static str {
    let relation = |entry: &RowEntry| match entry.measured()?.against.as_ref()? {
        BaselineRelation::NotComparable(_) => None,
        BaselineRelation::Compared(difference) => Some(match difference.call {
            DifferenceCall::Worse => (0, "worse"),
            DifferenceCall::Better => (1, "better"),
            DifferenceCall::Changed => (2, "changed"),
            DifferenceCall::CannotTell(_) => (3, "undecided"),
            DifferenceCall::NoChange { .. } => (4, "same"),
        }),
    };
    let relations = row.entries.iter().filter_map(relation);
    relations.min().map_or("none", |(_, call)| call)
}

/// Rows that are series of a target's history.
struct VersionRows<'a> {
    here: Here<'a>,
    versions: &'a [usize],
    monitored: Monitored,
}

impl VersionRows<'_> {
    /// The command that measures the first and the last of the versions in turn, until it is known how they differ by this.
    fn measure(&self, row: &ComparisonRow) -> String {
        let book = self.here.book;
        let (Some(base), Some(last)) = (self.versions.first(), self.versions.last()) else {
            return String::new();
        };
        format!(
            "backsight try --use {benchmark} --target {} --base {} --at {} --metric {benchmark}.{}",
            shell_quoted(book.target.as_str()),
            version_argument(book, *base),
            version_argument(book, *last),
            row.metric,
            benchmark = row.cell.benchmark,
        )
    }
}

impl DescribesRows for VersionRows<'_> {
    fn place(&self, row: &ComparisonRow) -> Option<RowPlace> {
        let number = row.series?;
        let series = &self.here.book.history.series[number];
        Some(RowPlace {
            href: self.here.to_series(number),
            place: self.here.book.place_of(series),
        })
    }

    fn details(&self, row: &ComparisonRow, number: usize) -> Details {
        let (here, versions) = (self.here, self.versions);
        let book = here.book;
        let of = row.series.unwrap_or_default();
        let series = &book.history.series[of];
        let words = book.words(of);
        let (course, of_versions) = course(series, versions);
        let names: Vec<String> = versions.iter().map(|at| book.name(*at)).collect();
        Details {
            distributions: distributions(
                &format!("d{number}"),
                &format!("{}: values of trials", series.name()),
                &words.unit(),
                &values_of_sides(row, &names, |value| words.scaled(value)),
            ),
            course,
            of: of_versions,
            sides: ('A'..)
                .zip(versions)
                .map(|(letter, at)| {
                    let point = series.points.iter().find(|point| point.version == *at);
                    SideDetails {
                        letter,
                        name: book.name(*at),
                        href: here.to_version(*at),
                        value: point.map_or("not measured".to_owned(), |it| {
                            format!("{} {}", words.value(it), words.unit())
                        }),
                        counts: point.map_or(String::new(), SeriesText::counts),
                    }
                })
                .collect(),
            interactive: format!("{}#s={}", here.to_target(), book.slug(of)),
            command: format!(
                "backsight history --target {} --metric {}.{}",
                shell_quoted(book.target.as_str()),
                row.cell.benchmark,
                row.metric
            ),
            measure: self.measure(row),
            monitored: self.monitored.beside(row),
            profile: None,
        }
    }
}

/// The values of each side's trials, to be drawn.
pub(super) fn values_of_sides(
    row: &ComparisonRow,
    names: &[String],
    scaled: impl Fn(f64) -> f64,
) -> Vec<Distribution> {
    let sides = names.iter().zip(&row.entries);
    let drawn = sides.map(|(name, entry)| {
        let measured = entry.measured();
        let values = measured.map_or(&[][..], |measured| &measured.values[..]);
        Distribution {
            name: name.clone(),
            values: values.iter().map(|value| scaled(*value)).collect(),
        }
    });
    drawn.collect()
}

/// The course of a series around the versions that are compared, and how many versions that is.
fn course(series: &VersionSeries, versions: &[usize]) -> (String, usize) {
    let points = series.points.iter();
    let valued: Vec<(usize, f64)> = points
        .filter_map(|point| Some((point.version, point.value?)))
        .collect();
    let place = |at: &usize| valued.iter().position(|(version, _)| version == at);
    let places: Vec<Option<usize>> = versions.iter().map(place).collect();
    let known = || places.iter().flatten().copied();
    let last = known().max().unwrap_or(valued.len().saturating_sub(1));
    let end = valued.len().min(last + 1 + COURSE_AFTER);
    let first = known().min().unwrap_or(last);
    let start = end.saturating_sub(COURSE).min(first.saturating_sub(2));
    let values: Vec<f64> = valued[start..end].iter().map(|(_, value)| *value).collect();
    let marks: Vec<Option<usize>> = places.iter().map(|it| it.map(|it| it - start)).collect();
    (marked_course(&values, &marks), values.len())
}

/// The command that shows the comparison in a terminal.
pub(super) fn command(book: &Book, versions: &[usize]) -> String {
    let names = versions.iter().map(|at| version_argument(book, *at));
    let names: Vec<String> = names.collect();
    let target = shell_quoted(book.target.as_str());
    format!("backsight compare --target {target} {}", names.join(" "))
}

/// A version as an argument of commands.
pub(super) fn version_argument(book: &Book, at: usize) -> String {
    shell_quoted(book.unique_name(at)).to_string()
}
