//! Series as rows of a table: what each is, its newest value, its latest change and its course.

use backsight_model::MetricFamily;
use backsight_policy::VersionSeries;
use backsight_report::{SeriesText, clipped};
use serde::Serialize;
use std::fmt::Write as _;

use super::{
    book::{Book, Here},
    changes::change_sentences,
};

/// Points and size of a small course. Each point is four bytes of a page that must be there at once.
const SPARK_POINTS: usize = 16;
const SPARK_HEIGHT: f64 = 18.0;
const SPARK_STEP: f64 = 5.7;

/// Which columns the table has: what is the same for all series has none.
pub(super) struct SeriesColumns {
    pub params: bool,
    pub variant: bool,
    pub place: bool,
}

/// A series.
#[derive(Serialize)]
pub(super) struct SeriesRow {
    pub slug: String,
    pub name: String,
    pub benchmark: String,
    pub params: String,
    pub variant: String,
    /// The testbed, or since which study it is measured so.
    pub place: String,
    pub family: &'static str,
    pub value: String,
    pub unit: String,
    /// What the newest value is sorted by.
    pub number: Option<f64>,
    /// The latest change that is believed.
    pub change: Option<LatestChange>,
    /// How many changes there are.
    pub changes: usize,
    pub unstable: bool,
    /// The course as the data of a path.
    pub spark: String,
}

/// A change as a row has it.
#[derive(Serialize)]
pub(super) struct LatestChange {
    pub class: &'static str,
    pub mark: &'static str,
    pub word: &'static str,
    pub size: String,
    pub version: String,
    pub href: String,
    /// The version's place, by which it is sorted.
    pub at: usize,
}

/// The numbers of series in the order in which they are listed: what is of interest first.
pub(super) fn in_order(book: &Book) -> Vec<usize> {
    let is_quiet = |series: &VersionSeries| match series.metric.family() {
        MetricFamily::Primary => false,
        MetricFamily::Secondary => !series.has_changes(),
        MetricFamily::Monitored => true,
    };
    let mut all: Vec<usize> = (0..book.history.series.len()).collect();
    all.sort_by_key(|number| is_quiet(&book.history.series[*number]));
    all
}

impl SeriesColumns {
    pub fn new(book: &Book) -> Self {
        let any = |has: &dyn Fn(&VersionSeries) -> bool| book.history.series.iter().any(has);
        Self {
            params: any(&|series| !series.cell.chosen.is_empty()),
            variant: any(&|series| series.cell.set_up() != "default"),
            place: any(&|series| !book.place_of(series).is_empty()),
        }
    }
}

impl SeriesRow {
    pub fn new(here: Here<'_>, number: usize) -> Self {
        let book = here.book;
        let series = &book.history.series[number];
        let words = SeriesText::new(&book.history, series);
        let valued = || series.points.iter().filter(|point| point.value.is_some());
        let newest = valued().next_back();
        let set_up = series.cell.set_up();
        let changes = change_sentences(here, series);
        let believed = changes.into_iter().filter(|change| change.believed);
        let believed: Vec<_> = believed.collect();
        let latest = believed.iter().max_by_key(|change| change.at);
        Self {
            slug: book.slug(number).to_owned(),
            name: clipped(
                &format!("{}.{}", series.cell.benchmark, series.metric.name),
                80,
            ),
            benchmark: series.cell.benchmark.to_string(),
            params: clipped(&series.cell.chosen_params(), 60),
            variant: clipped(if set_up == "default" { "" } else { &set_up }, 40),
            place: clipped(&book.place_of(series), 40),
            family: match series.metric.family() {
                MetricFamily::Primary => "primary",
                MetricFamily::Secondary => "secondary",
                MetricFamily::Monitored => "monitored",
            },
            value: newest.map_or(String::new(), |point| words.value(point)),
            unit: words.unit(),
            number: newest.and_then(|point| sort_key(point.value?)),
            change: latest.map(|change| {
                let (mark, word) = match change.sentence.class {
                    "bad" => ("✗", "worse"),
                    "good" => ("✓", "better"),
                    "unsure" => ("○", "changed"),
                    _ => ("–", "accepted"),
                };
                LatestChange {
                    class: change.sentence.class,
                    mark: if change.named { "◆" } else { mark },
                    word,
                    size: change.size.clone(),
                    version: book.name(change.at),
                    href: change.sentence.href.clone(),
                    at: change.at,
                }
            }),
            changes: believed.len(),
            unstable: series.points.iter().any(|point| point.unstable),
            spark: spark(valued().filter_map(|point| point.value)),
        }
    }
}

/// A value with as many digits as are needed to sort by it.
fn sort_key(value: f64) -> Option<f64> {
    format!("{value:.6e}").parse().ok()
}

/// The course of these values as the data of a path: means of neighbours, whole pixels from one to the next.
fn spark(values: impl Iterator<Item = f64>) -> String {
    let values: Vec<f64> = values.collect();
    let points = values.len().min(SPARK_POINTS);
    if points < 2 {
        return String::new();
    }
    let mean = |i: usize| {
        let part = &values[i * values.len() / points..(i + 1) * values.len() / points];
        part.iter().map(|x| x / part.len() as f64).sum::<f64>()
    };
    let means: Vec<f64> = (0..points).map(mean).collect();
    let low = means.iter().copied().fold(f64::INFINITY, f64::min);
    let high = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let y = |value: f64| {
        let share = (value - low) / (high - low);
        let share = if share.is_finite() { share } else { 0.5 };
        (SPARK_HEIGHT - 1.0 - share * (SPARK_HEIGHT - 2.0)).round()
    };
    let step = SPARK_STEP * (SPARK_POINTS - 1) as f64 / (points - 1) as f64;
    let x = |number: usize| (number as f64 * step).round();
    let mut path = format!("M0 {}l", y(means[0]));
    for number in 1..points {
        let (dx, dy) = (
            x(number) - x(number - 1),
            y(means[number]) - y(means[number - 1]),
        );
        // The letter holds for all pairs, and a sign parts numbers.
        let before_x = if number > 1 { " " } else { "" };
        let before_y = if dy < 0.0 { "" } else { " " };
        let _ = write!(path, "{before_x}{dx}{before_y}{}", dy + 0.0);
    }
    path
}
