//! The page of a target: its series as charts, what changed, and every version.

use askama::Template;
use backsight_model::MetricFamily;
use backsight_policy::{ChangeDirection, HistoryVersion, TestConcern, TestHistory, VersionSeries};
use backsight_report::{
    SeriesText,
    chart::{AxisName, HistoryChart, axis_names},
    clipped,
    history::reference_sentences,
    numbers::{counted, grouped},
};
use std::collections::HashMap;

use super::{
    book::{Book, Here},
    frame::{Frame, SCRIPT},
    site::Press,
};

/// Points of all charts of a page.
const MOST_POINTS: usize = 40_000;
/// Most series that have a column in the table of versions.
const MOST_COLUMNS: usize = 4;
/// A fold of the table has about so many versions where releases don't divide it.
const FOLD: usize = 25;

#[derive(Template)]
#[template(path = "pages/target.html")]
pub(super) struct TargetPage {
    frame: Frame,
    counts: String,
    /// How its tests stand; none without tests.
    tests: Option<TestsLink>,
    charts: Vec<ChartView>,
    /// How many of the charts, the last ones, are of secondary metrics without a change.
    folded: usize,
    charts_left_out: usize,
    /// Whether references that were measured beside moved, a sentence each.
    references: Vec<String>,
    names: Vec<AxisName>,
    columns: Vec<Column>,
    folds: Vec<Fold>,
    count: usize,
    script: &'static str,
}

struct ChartView {
    id: String,
    name: String,
    axis: String,
    coverage: String,
    /// The column of the table, if it has one.
    column: Option<usize>,
    course: Option<HistoryChart>,
    changes: Vec<ChangeSentence>,
    notes: Vec<String>,
}

struct Column {
    name: String,
    unit: String,
}

/// Versions of the table under one heading.
struct Fold {
    heading: String,
    counts: String,
    open: bool,
    rows: Vec<Row>,
}

struct Row {
    at: usize,
    name: String,
    href: String,
    release: bool,
    date: String,
    title: String,
    /// Why nothing was measured, or quirks; empty if there is nothing to say.
    standing: &'static str,
    why: String,
    quirks: String,
    range: String,
    /// The measured version before.
    since: String,
    values: Vec<Value>,
}

struct Value {
    text: String,
    change: String,
    class: &'static str,
    /// What a bisection named here.
    named: String,
}

/// How the tests of a target stand, and their page.
pub(super) struct TestsLink {
    pub counts: String,
    pub href: String,
}

/// A change of a series as a sentence.
#[derive(Clone)]
pub(super) struct ChangeSentence {
    pub series: String,
    pub sentence: String,
    /// `good`, `bad` or `soft-word`.
    pub class: &'static str,
    /// The page of the interval that may hold it, if there is one.
    pub href: String,
}

/// How a change is coloured.
pub(super) fn class(direction: ChangeDirection) -> &'static str {
    match direction {
        ChangeDirection::Better => "good",
        ChangeDirection::Worse => "bad",
        ChangeDirection::Up | ChangeDirection::Down => "unsure",
    }
}

/// A change of a series, found or named by a bisection, that pages tell.
pub(super) struct ShownChange {
    /// The last version before it, and the last one that may be the first after it.
    pub after: Option<usize>,
    pub until: usize,
    pub at: usize,
    /// Whether it is believed: what a bisection named is.
    pub believed: bool,
    pub sentence: ChangeSentence,
}

/// The changes of a series as sentences: those that were found, then those that bisections named.
pub(super) fn change_sentences(here: Here<'_>, series: &VersionSeries) -> Vec<ShownChange> {
    let words = SeriesText::new(&here.book.history, series);
    let sentence = |at: usize, sentence: String, class: &'static str| ChangeSentence {
        series: series.name(),
        sentence,
        class,
        href: here.to_interval(at).unwrap_or_default(),
    };
    let found = series.found.changes.iter().map(|point| {
        let class = match point.believed && !point.is_accepted() {
            true => class(point.direction),
            false => "soft-word",
        };
        ShownChange {
            after: point.after,
            until: point.until,
            at: point.at,
            believed: point.believed,
            sentence: sentence(point.at, words.change(point), class),
        }
    });
    let named = series.named.iter().map(|named| ShownChange {
        after: Some(named.after),
        until: named.at,
        at: named.at,
        believed: true,
        sentence: sentence(
            named.at,
            words.named(named),
            named.direction.map_or("unsure", class),
        ),
    });
    found.chain(named).collect()
}

impl Press<'_> {
    pub(super) fn target(&self, here: Here<'_>) -> TargetPage {
        let book = here.book;
        let history = &book.history;
        let mut room = MOST_POINTS;
        let mut charts = Vec::new();
        let is_quiet = |series: &VersionSeries| match series.metric.family() {
            MetricFamily::Primary => false,
            MetricFamily::Secondary => !series.has_changes(),
            MetricFamily::Monitored => true,
        };
        let mut all: Vec<(usize, &VersionSeries)> = history.series.iter().enumerate().collect();
        all.sort_by_key(|(_, series)| is_quiet(series));
        let mut folded = 0;
        for (number, series) in all {
            if series.points.len() > room {
                break;
            }
            room -= series.points.len();
            charts.push(chart(here, series, number));
            folded += usize::from(is_quiet(series));
        }
        let mut crumbs = here.crumbs();
        crumbs.pop();
        TargetPage {
            frame: Frame::new(book.target.as_str(), here.page, crumbs),
            counts: counts(book),
            tests: tests_link(here),
            charts_left_out: history.series.len() - charts.len(),
            references: reference_sentences(history),
            charts,
            folded,
            names: if history.versions.is_empty() {
                Vec::new()
            } else {
                axis_names(history, |at| here.to_version(at))
            },
            columns: columns(book),
            folds: folds(here),
            count: history.versions.len(),
            script: SCRIPT,
        }
    }
}

/// `30 versions, 27 measured, 1 broken; 3 series of 2 studies`.
pub(super) fn counts(book: &Book) -> String {
    let history = &book.history;
    let mut text = counted(history.versions.len(), "version");
    for standing in ["measured", "broken", "skipped", "unbootable", "failed"] {
        let versions = history.versions.iter();
        match versions.filter(|v| v.standing.as_str() == standing).count() {
            0 => {}
            count => text.push_str(&format!(", {} {standing}", grouped(count as u64))),
        }
    }
    if history.failed > 0 {
        text.push_str(&format!("; {} failed", counted(history.failed, "trial")));
    }
    if history.unplaced > 0 {
        let trials = counted(history.unplaced, "trial");
        text.push_str(&format!("; {trials} of no known boot left out"));
    }
    let studies = match book.studies.len() {
        1 => "1 study".to_owned(),
        count => format!("{count} studies"),
    };
    format!("{text}; {} series of {studies}", history.series.len())
}

/// How the tests of a target stand, if it has some: `3 failing, 1 flaky of 120 tests`.
pub(super) fn tests_link(here: Here<'_>) -> Option<TestsLink> {
    let href = here.to_tests()?;
    let counts = test_counts(here.book.tests.as_ref()?);
    Some(TestsLink { counts, href })
}

fn test_counts(tests: &TestHistory) -> String {
    let count = |concern| {
        (tests.rows.iter())
            .filter(|row| row.concern() == concern)
            .count()
    };
    let (failing, flaky) = (count(TestConcern::Failing), count(TestConcern::Flaky));
    format!(
        "{failing} failing, {flaky} flaky of {}",
        counted(tests.rows.len(), "test")
    )
}

fn chart(here: Here<'_>, series: &VersionSeries, number: usize) -> ChartView {
    let book = here.book;
    let words = SeriesText::new(&book.history, series);
    let id = format!("series-{number}");
    ChartView {
        name: series.name(),
        axis: words.axis(),
        coverage: words.coverage(),
        column: (number < MOST_COLUMNS).then_some(number),
        course: HistoryChart::new(&book.history, series, &words, &id, |at| {
            here.to_interval(at)
        }),
        changes: change_sentences(here, series)
            .into_iter()
            .map(|it| it.sentence)
            .collect(),
        notes: words.notes(),
        id,
    }
}

fn columns(book: &Book) -> Vec<Column> {
    let shown = book.history.series.iter().take(MOST_COLUMNS);
    shown
        .map(|series| Column {
            name: clipped(&series.name(), 60),
            unit: SeriesText::new(&book.history, series).unit(),
        })
        .collect()
}

fn folds(here: Here<'_>) -> Vec<Fold> {
    let book = here.book;
    let count = book.history.versions.len();
    let shown: Vec<&VersionSeries> = book.history.series.iter().take(MOST_COLUMNS).collect();
    let points: Vec<HashMap<usize, usize>> = shown
        .iter()
        .map(|series| {
            let points = series.points.iter().enumerate();
            points
                .map(|(place, point)| (point.version, place))
                .collect()
        })
        .collect();
    let starts = starts(book);
    starts
        .iter()
        .enumerate()
        .map(|(number, &start)| {
            let end = starts.get(number + 1).copied().unwrap_or(count);
            fold(here, &shown, &points, start..end)
        })
        .collect()
}

/// Where folds begin: at releases, if that makes folds worth the name; else every so many versions.
fn starts(book: &Book) -> Vec<usize> {
    let count = book.history.versions.len();
    let versions = book.history.versions.iter().enumerate();
    let mut starts: Vec<usize> = versions
        .filter(|(_, version)| version.version.release)
        .map(|(at, _)| at)
        .collect();
    let releases_divide =
        starts.len() > 1 && starts.len() * 3 <= count && count / starts.len() <= 200;
    if !releases_divide {
        starts = (0..count).step_by(FOLD).collect();
    }
    if starts.first() != Some(&0) && count > 0 {
        starts.insert(0, 0);
    }
    starts
}

fn fold(
    here: Here<'_>,
    shown: &[&VersionSeries],
    points: &[HashMap<usize, usize>],
    range: std::ops::Range<usize>,
) -> Fold {
    let book = here.book;
    let versions = &book.history.versions[range.clone()];
    let places = book.history.series.iter().flat_map(|series| {
        let found = series.believed().map(|change| change.at);
        found.chain(series.only_named().map(|named| named.at))
    });
    let changes = places.filter(|at| range.contains(at)).count();
    let unmeasured = versions
        .iter()
        .filter(|v| v.standing.reason().is_some())
        .count();
    let mut parts = vec![counted(versions.len(), "version")];
    if changes > 0 {
        parts.push(counted(changes, "change"));
    }
    if unmeasured > 0 {
        parts.push(format!("{unmeasured} not measured"));
    }
    Fold {
        heading: format!("{} to {}", book.name(range.start), book.name(range.end - 1)),
        counts: parts.join(", "),
        open: changes > 0 || range.end == book.history.versions.len(),
        rows: range.map(|at| row(here, shown, points, at)).collect(),
    }
}

fn row(
    here: Here<'_>,
    shown: &[&VersionSeries],
    points: &[HashMap<usize, usize>],
    at: usize,
) -> Row {
    let book = here.book;
    let HistoryVersion {
        version,
        quirks,
        standing,
        ..
    } = &book.history.versions[at];
    let values = shown.iter().zip(points).map(|(series, points)| {
        let words = SeriesText::new(&book.history, series);
        let point = points.get(&at).map(|place| &series.points[*place]);
        let change = series.believed().find(|change| change.at == at);
        let named = series.named.iter().find(|named| named.at == at);
        Value {
            text: point.map_or(String::new(), |point| words.value(point)),
            change: change.map_or(String::new(), |change| words.size(change)),
            class: change.map_or("", |change| class(change.direction)),
            named: named.map_or(String::new(), SeriesText::mark),
        }
    });
    Row {
        at,
        name: book.name(at),
        href: here.to_version(at),
        release: version.release,
        date: version
            .at
            .map_or(String::new(), |at| at.strftime("%Y-%m-%d").to_string()),
        title: clipped(version.title.lines().next().unwrap_or_default(), 90),
        standing: match standing.reason() {
            Some(_) => standing.as_str(),
            None => "",
        },
        why: standing.reason().map_or(String::new(), |why| {
            clipped(why.lines().next().unwrap_or_default(), 120)
        }),
        quirks: clipped(&quirks.join("; "), 120),
        range: match book.measured.binary_search(&at) {
            Ok(_) => here.to_interval(at).unwrap_or_default(),
            Err(_) => String::new(),
        },
        since: book.before(at).map_or(String::new(), |at| book.name(at)),
        values: values.collect(),
    }
}
