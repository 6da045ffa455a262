//! The page of a matrix of tests, as one self-contained file: totals by column and host, and every test with what came of it.
//!
//! The worst tests are a table in the page; its script draws all of them from JSON beside it.

use askama::Template;
use backsight_policy::{TestConcern, TestHistory};
use backsight_report::{
    clipped, json_line,
    numbers::{counted, grouped},
    test_matrix::{
        ClusterView, ColumnView, DurationView, HostTotals, OutcomeTotals, TestFilter, TestMatrix,
        TestView,
    },
};
use std::collections::BTreeMap;

use crate::{
    PageError,
    crumb::Crumb,
    test_matrix_data::{MatrixData, PageLinks},
};

const STYLE: &str = concat!(
    include_str!("../templates/report.css"),
    include_str!("../templates/tests.css")
);
const SCRIPT: &str = include_str!("../templates/tests.js");
/// The SHA-256 of the script, as a content security policy names it.
const SCRIPT_HASH: &str = "sha256-Izog8ySBB0U76T3yKdqKPSjw91CMie4KPK9eYUpMU/0=";

/// Tests that are a table without scripts.
const MOST_ROWS: usize = 200;
/// Columns whose letters that table has, the newest.
const MOST_LETTERS: usize = 120;
/// Clusters of failures that are told, the largest.
const MOST_CLUSTERS: usize = 50;
/// Longest name of a test in that table, in characters.
const NAME_WIDTH: usize = 200;

#[derive(Template)]
#[template(path = "tests.html")]
struct TestMatrixPage {
    title: String,
    style: &'static str,
    script: &'static str,
    script_hash: &'static str,
    version: &'static str,
    crumbs: Vec<Crumb>,
    sentences: Vec<String>,
    /// `version`, or `study`.
    column_word: &'static str,
    chart: String,
    chart_top: String,
    most_tests: String,
    /// The names of the first and of the last column.
    ends: (String, String),
    hosts: Vec<HostRow>,
    clusters: Vec<ClusterView>,
    clusters_left_out: usize,
    durations: Vec<DurationLine>,
    rows: Vec<TestLine>,
    left_out: usize,
    data: String,
}

/// How the tests of a host stand, or those of all hosts of an architecture.
struct HostRow {
    host: String,
    architecture: String,
    is_sum: bool,
    numbers: [String; 4],
}

/// A test that became slower or faster.
struct DurationLine {
    test: String,
    suite: String,
    since: String,
    class: &'static str,
    change: String,
}

/// A test in the table without scripts.
struct TestLine {
    test: String,
    suite: String,
    class: &'static str,
    stands: String,
    since: String,
    /// The page of the commits that may have done it; empty where there is none.
    commits: String,
    failed: String,
    letters: String,
}

/// The page of the tests of a history that a filter takes, which stands alone.
///
/// # Errors
/// The template fails; no input is known that makes it.
pub fn test_matrix_page(
    title: &str,
    history: &TestHistory,
    filter: &TestFilter,
) -> Result<String, PageError> {
    linked_page(title, history, filter, PageLinks::default())
}

/// The page of all tests of a target, with links to other pages of its site.
pub(crate) fn published_test_matrix(
    title: &str,
    history: &TestHistory,
    links: PageLinks<'_>,
) -> Result<String, PageError> {
    let all = TestFilter {
        concerns: TestConcern::ALL.to_vec(),
        ..TestFilter::default()
    };
    linked_page(title, history, &all, links)
}

fn linked_page(
    title: &str,
    history: &TestHistory,
    filter: &TestFilter,
    links: PageLinks<'_>,
) -> Result<String, PageError> {
    let matrix = TestMatrix::new(history, filter);
    let data =
        json_line(&MatrixData::new(history, &matrix, &links)).map_err(askama::Error::custom)?;
    let most_failed = (matrix.by_column.iter())
        .map(|totals| totals.failed + totals.not_run)
        .max();
    let most_failed = most_failed.unwrap_or_default().max(1);
    let most_tests = matrix.by_column.iter().map(all_of).max();
    let name = |column: Option<&ColumnView>| {
        column.map_or(String::new(), |column| clipped(&column.name, 40))
    };
    let is_of_target = history.columns.iter().any(|column| !column.id.is_empty());
    let page = TestMatrixPage {
        title: clipped(title, 120),
        style: STYLE,
        script: SCRIPT,
        script_hash: SCRIPT_HASH,
        version: env!("CARGO_PKG_VERSION"),
        sentences: vec![matrix.sentence().0],
        column_word: if is_of_target { "version" } else { "study" },
        chart: totals_chart(&matrix.by_column, most_failed),
        chart_top: grouped(most_failed as u64),
        most_tests: counted(most_tests.unwrap_or_default(), "test"),
        ends: (name(matrix.columns.first()), name(matrix.columns.last())),
        hosts: host_rows(&matrix.by_host),
        clusters_left_out: matrix.clusters.len().saturating_sub(MOST_CLUSTERS),
        clusters: (matrix.clusters.iter().take(MOST_CLUSTERS))
            .map(|cluster| ClusterView {
                message: clipped(&cluster.message, NAME_WIDTH),
                examples: (cluster.examples.iter())
                    .map(|name| clipped(name, NAME_WIDTH))
                    .collect(),
                ..*cluster
            })
            .collect(),
        durations: (matrix.durations.iter().take(MOST_ROWS))
            .map(duration_line)
            .collect(),
        rows: (matrix.tests.iter().take(MOST_ROWS))
            .map(|test| test_line(history, test, &links))
            .collect(),
        left_out: matrix.tests.len().saturating_sub(MOST_ROWS),
        // Nothing in it ends the element that it is in.
        data: data.replace('<', "\\u003c"),
        crumbs: links.crumbs,
    };
    Ok(page.render()?)
}

fn all_of(totals: &OutcomeTotals) -> usize {
    totals.passed + totals.failed + totals.skipped + totals.not_run
}

/// Bars of what failed, and on them of what wasn't run, a column each.
fn totals_chart(by_column: &[OutcomeTotals], most: usize) -> String {
    let (mut failed, mut idle) = (String::new(), String::new());
    let height = |count: usize| count as f64 / most as f64 * 100.0;
    for (column, totals) in by_column.iter().enumerate() {
        let bar = |path: &mut String, from: usize, count: usize| {
            if count > 0 {
                let (bottom, tall) = (100.0 - height(from), height(count));
                path.push_str(&format!("M{column}.1 {bottom:.1}h.8v-{tall:.1}h-.8z"));
            }
        };
        bar(&mut failed, 0, totals.failed);
        bar(&mut idle, totals.failed, totals.not_run);
    }
    format!(
        "<svg viewBox=\"0 0 {} 100\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"Tests that failed or weren't run, by column\">\
         <path class=\"failed\" d=\"{failed}\"/><path class=\"idle\" d=\"{idle}\"/></svg>",
        by_column.len().max(1)
    )
}

/// A row for each host, and one for each architecture that several have.
fn host_rows(by_host: &[HostTotals]) -> Vec<HostRow> {
    let numbers = |counts: [usize; 4]| counts.map(|count| grouped(count as u64));
    let mut sums: BTreeMap<&str, (usize, [usize; 4])> = BTreeMap::new();
    for of_host in by_host {
        if let Some(architecture) = &of_host.architecture {
            let (hosts, sum) = sums.entry(architecture).or_default();
            *hosts += 1;
            for (sum, count) in sum.iter_mut().zip(of_host.totals.counts()) {
                *sum += count;
            }
        }
    }
    let hosts = by_host.iter().map(|of_host| HostRow {
        host: of_host.host.clone(),
        architecture: of_host.architecture.clone().unwrap_or_default(),
        is_sum: false,
        numbers: numbers(of_host.totals.counts()),
    });
    let sums = sums.into_iter().filter(|(_, (hosts, _))| *hosts > 1);
    let sums = sums.map(|(architecture, (hosts, sum))| HostRow {
        host: counted(hosts, "host"),
        architecture: architecture.to_owned(),
        is_sum: true,
        numbers: numbers(sum),
    });
    hosts.chain(sums).collect()
}

fn duration_line(test: &DurationView) -> DurationLine {
    DurationLine {
        test: clipped(&test.test, NAME_WIDTH),
        suite: format!("{} on {}", test.suite, test.host),
        since: test.change.since.clone(),
        class: if test.change.percent > 0.0 {
            "bad"
        } else {
            "good"
        },
        change: test.change.amount(),
    }
}

fn test_line(history: &TestHistory, test: &TestView, links: &PageLinks<'_>) -> TestLine {
    let since = history.since(&history.rows[test.row]);
    let commits = since.and_then(|at| links.columns.get(at));
    TestLine {
        test: clipped(&test.test, NAME_WIDTH),
        suite: format!("{} on {}", test.suite, test.host),
        class: match test.stands {
            "failing" => "bad",
            "flaky" => "unsure",
            _ => "",
        },
        stands: test.standing(),
        since: test.since.clone().unwrap_or_default(),
        commits: commits.map_or(String::new(), |(_, commits)| commits.clone()),
        failed: format!("{} of {}", test.failed, test.runs),
        letters: test.newest_letters(MOST_LETTERS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use sha2::Digest as _;

    #[test]
    fn the_policy_names_the_script() {
        let hash = base64::engine::general_purpose::STANDARD.encode(sha2::Sha256::digest(SCRIPT));
        assert_eq!(
            SCRIPT_HASH,
            format!("sha256-{hash}"),
            "put the new hash into SCRIPT_HASH"
        );
    }
}
