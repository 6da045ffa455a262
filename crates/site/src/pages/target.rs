//! The page of a target: the list of its series, and room for the chart that scripts make of those that are chosen.

use askama::Template;
use backsight_policy::{TestConcern, TestHistory};
use backsight_report::{
    history::reference_sentences,
    numbers::{counted, grouped},
};

use super::{
    assets,
    book::{Book, Here, MOST_LISTED},
    frame::Frame,
    series_list::{SeriesColumns, SeriesRow, in_order},
    site::Press,
};

#[derive(Template)]
#[template(path = "pages/target.html")]
pub(super) struct TargetPage {
    frame: Frame,
    counts: String,
    /// How its tests stand; none without tests.
    tests: Option<TestsLink>,
    versions: String,
    /// The form that asks which versions to compare, where pages are served.
    compare: Option<String>,
    /// The same for testbeds, where there are several.
    testbeds: Option<String>,
    columns: SeriesColumns,
    rows: Vec<SeriesRow>,
    /// The list of all series, if not all are here.
    all_series: Option<String>,
    count: usize,
    /// Whether references that were measured beside moved, a sentence each.
    references: Vec<String>,
    files: PageFiles,
}

/// Links to what the page needs.
struct PageFiles {
    style: String,
    script: String,
    versions: String,
    titles: String,
    /// The rest of the list, if not all series are here.
    list: Option<String>,
}

/// How the tests of a target stand, and their page.
pub(super) struct TestsLink {
    pub counts: String,
    pub href: String,
}

impl Press<'_> {
    pub(super) fn target(&self, here: Here<'_>) -> TargetPage {
        let book = here.book;
        let mut crumbs = here.crumbs();
        crumbs.pop();
        let mut frame = Frame::new(book.target.as_str(), here.page, crumbs);
        if here.page.is_live {
            frame = frame.with_data("History as JSON", &here.to_history_data());
            if let Some(tests) = here.to_tests_data() {
                frame = frame.with_data("Tests as JSON", &tests);
            }
        }
        frame = frame.with_data("Badge", &here.to_badge());
        let listed = in_order(book).into_iter().take(MOST_LISTED);
        let all_series = here.to_all_series();
        TargetPage {
            frame: frame.with_scripts(),
            counts: counts(book),
            tests: tests_link(here),
            versions: here.to_versions(),
            compare: here.page.is_live.then(|| here.to_compare_form()),
            testbeds: here.to_testbeds_form(),
            columns: SeriesColumns::new(book),
            rows: listed.map(|series| SeriesRow::new(here, series)).collect(),
            count: book.history.series.len(),
            references: reference_sentences(&book.history),
            files: PageFiles {
                style: here.link(assets::HISTORY_STYLE),
                script: here.link(assets::HISTORY_SCRIPT),
                versions: here.to_data("versions"),
                titles: here.to_data("titles"),
                list: all_series.as_ref().map(|_| here.to_data("series")),
            },
            all_series,
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
