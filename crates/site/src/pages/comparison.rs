//! Versions of a target beside each other: every series as a row, with what became better, worse or neither first.
//!
//! The statistics are those of [`compare_versions`](backsight_policy::compare_versions); here is what a page shows of them.

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
    changed_facts::{ChangedFact, changed_facts},
};

/// Most rows of a page, and of those the most that open to distributions.
const MOST_ROWS: usize = 2000;
const MOST_DETAILS: usize = 24;
/// Most warnings of a page.
const MOST_WARNINGS: usize = 30;
/// Versions that the course of a series shows at least, and how many of them lie after the last that is compared.
const COURSE: usize = 30;
const COURSE_AFTER: usize = 5;

/// What a page has of a comparison.
pub(super) struct ComparedVersions {
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
    /// What is otherwise on the machines and in the builds; of two versions.
    pub changed: Vec<ChangedFact>,
    pub changed_left_out: usize,
    /// Columns in all.
    pub columns: usize,
}

/// The geometric mean of a side's ratios, of one direction.
pub(super) struct MeanRatio {
    pub side: String,
    pub direction: &'static str,
    pub total: RatioTotal,
}

/// A series.
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
    /// Its number.
    series: usize,
    pub details: Option<Details>,
}

/// What a row opens to.
pub(super) struct Details {
    pub distributions: String,
    pub course: String,
    /// How many versions the course shows.
    pub of: usize,
    pub sides: Vec<SideDetails>,
    pub interactive: String,
    pub command: String,
}

pub(super) struct SideDetails {
    pub letter: char,
    pub name: String,
    pub href: String,
    pub value: String,
    pub counts: String,
}

impl ComparedVersions {
    pub fn new(here: Here<'_>, versions: &[usize]) -> Self {
        let book = here.book;
        let comparison = book.evidence().compare(versions, CompareOptions::default());
        let shown = &comparison.rows[..comparison.rows.len().min(MOST_ROWS)];
        let reach = reach(shown);
        let mut rows: Vec<Row> = shown
            .iter()
            .filter_map(|row| Row::new(here, row, reach))
            .collect();
        // Of a benchmark what changed is first; so it is of all together.
        rows.sort_by_key(|row| !row.is_changed());
        for (number, row) in rows.iter_mut().enumerate().take(MOST_DETAILS) {
            let of_row = shown.iter().find(|it| it.series == Some(row.series));
            row.details = of_row.map(|it| Details::new(here, it, versions, number));
        }
        let [benchmarks, tags] = tags(&rows);
        let (changed, changed_left_out) = match versions {
            [from, to] => changed_facts(&book.builds(*from), &book.builds(*to)),
            _ => (Vec::new(), 0),
        };
        let names: Vec<String> = versions.iter().map(|at| book.name(*at)).collect();
        let others = names[1..].to_vec();
        let has_params = rows.iter().any(|row| !row.params.is_empty());
        let has_place = rows.iter().any(|row| !row.place.is_empty());
        Self {
            sentences: verdict_sentences(None, Some(&comparison), &[]),
            means: means(&comparison, &names),
            base: names[0].clone(),
            columns: 2 + others.len() * 4 + usize::from(has_params) + usize::from(has_place),
            others,
            left_out: comparison.rows.len() - rows.len(),
            has_params,
            has_place,
            benchmarks,
            tags,
            warnings: warnings(&comparison)
                .take(MOST_WARNINGS)
                .map(|warning| clipped(&warning, 600))
                .collect(),
            confidence: numbers::confidence(comparison.options.confidence),
            chance: numbers::value((1.0 - comparison.options.confidence.share()) * 100.0, 2),
            scope: comparison.scope().unwrap_or_default(),
            changed,
            changed_left_out,
            rows,
        }
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
    fn new(here: Here<'_>, row: &ComparisonRow, reach: f64) -> Option<Self> {
        let book = here.book;
        let number = row.series?;
        let series = &book.history.series[number];
        let set_up = series.cell.set_up();
        let set_up = if set_up == "default" { "" } else { &*set_up };
        let params = [&series.cell.chosen_params(), set_up].join(" ");
        let differences = row.entries.iter().filter_map(RowEntry::difference);
        let percents = differences.filter_map(|difference| difference.percent.ok());
        Some(Self {
            name: clipped(&format!("{}.{}", row.cell.benchmark, row.metric), 80),
            href: here.to_series(number),
            params: clipped(params.trim(), 60),
            place: clipped(&book.place_of(series), 40),
            benchmark: row.cell.benchmark.to_string(),
            call: call(row),
            size: percents.fold(0.0, |most: f64, percent| most.max(percent.abs())),
            values: TableRow::new(row, reach),
            series: number,
            details: None,
        })
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

impl Details {
    fn new(here: Here<'_>, row: &ComparisonRow, versions: &[usize], id: usize) -> Self {
        let book = here.book;
        let number = row.series.unwrap_or_default();
        let series = &book.history.series[number];
        let words = book.words(number);
        let values = |entry: &RowEntry| {
            let measured = entry.measured();
            let values = measured.map_or(&[][..], |measured| &measured.values[..]);
            values.iter().map(|value| words.scaled(*value)).collect()
        };
        let sides = versions.iter().zip(&row.entries);
        let side = |(at, entry): (&usize, &RowEntry)| Distribution {
            name: book.name(*at),
            values: values(entry),
        };
        let picture: Vec<Distribution> = sides.map(side).collect();
        let (course, of) = course(series, versions);
        Self {
            distributions: distributions(
                &format!("d{id}"),
                &format!("{}: values of trials", series.name()),
                &words.unit(),
                &picture,
            ),
            course,
            of,
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
            interactive: format!("{}#s={}", here.to_target(), book.slug(number)),
            command: format!(
                "backsight history --target {} --metric {}.{}",
                shell_quoted(book.target.as_str()),
                row.cell.benchmark,
                row.metric
            ),
        }
    }
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
    let names = versions.iter().map(|at| {
        let version = book.version(*at);
        // A name may be several versions'.
        let all = book.history.versions.iter();
        match all.filter(|it| it.version.name == version.name).count() {
            1 => shell_quoted(&version.name),
            _ => shell_quoted(&version.id),
        }
    });
    let names: Vec<_> = names.map(|name| name.to_string()).collect();
    let target = shell_quoted(book.target.as_str());
    format!("backsight compare --target {target} {}", names.join(" "))
}
