//! The matrix of tests: rows are tests, the worst first; columns are versions or studies; a letter says what came of it.

use backsight_model::{HostName, Outcome, counted, numbers::share};
use backsight_policy::{
    DurationChange, TestCell, TestConcern, TestHistory, TestRow, duration_changes, failure_clusters,
};
use backsight_stats::{Interval, failures::FailureRate};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

use crate::{Document, Render, Section, Table, Tone, clipped, field, left, right};

/// Columns that a terminal's line of letters has at most.
const MOST_LETTERS: usize = 60;
/// Tests that a table lists; the JSON and pages have all.
const MOST_LISTED: usize = 300;

/// Names of a cluster's tests that are told.
const MOST_EXAMPLES: usize = 20;
/// Names of a cluster's tests in a table.
const FEW_EXAMPLES: usize = 3;
/// Longest message in a table, in characters.
const MESSAGE_WIDTH: usize = 100;

/// Which tests are shown.
#[derive(Debug, Clone, Default)]
pub struct TestFilter {
    /// Those that stand so.
    pub concerns: Vec<TestConcern>,
    /// Those of this host; of all unless said.
    pub host: Option<HostName>,
    /// Those with this text in their names.
    pub test: Option<String>,
    /// Those that take so many seconds or more, on average.
    pub slower_than: Option<f64>,
}

impl TestFilter {
    fn takes(&self, history: &TestHistory, row: &TestRow) -> bool {
        let host = &history.suites[row.suite].host;
        self.concerns.contains(&row.concern())
            && self.host.as_ref().is_none_or(|wanted| wanted == host)
            && (self.test.as_ref()).is_none_or(|text| row.test.contains(text.as_str()))
            && (self.slower_than)
                .is_none_or(|least| row.mean_seconds().is_some_and(|it| it >= least))
    }
}

/// Tests × columns.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TestMatrix {
    /// The columns, oldest first.
    pub columns: Vec<ColumnView>,
    /// The tests that were asked for, the worst first.
    pub tests: Vec<TestView>,
    /// How many tests are failing, flaky, mended and passing, of all.
    pub totals: TotalsView,
    /// By column, how many tests passed, failed, were skipped and weren't run, of all.
    pub by_column: Vec<OutcomeTotals>,
    /// Tests that fail and say the same, of all: numbers, addresses, paths and durations aside.
    pub clusters: Vec<ClusterView>,
    /// Tests that became slower or faster, of those of the host and the name that were asked for.
    pub durations: Vec<DurationView>,
    /// By host, how many tests are failing, flaky, mended and passing, of all.
    pub by_host: Vec<HostTotals>,
}

/// A version, or a study.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ColumnView {
    /// What people call it.
    pub name: String,
    /// When it was made, or began.
    #[schemars(with = "Option<String>")]
    pub at: Option<jiff::Timestamp>,
    /// What it says of itself.
    pub title: String,
}

/// How many tests stand how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct TotalsView {
    /// Those that fail now.
    pub failing: usize,
    /// Those that fail sometimes.
    pub flaky: usize,
    /// Those that failed, and pass now.
    pub mended: usize,
    /// Those that never failed.
    pub passing: usize,
}

/// Tests that fail and say the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ClusterView {
    /// What the first one says.
    pub message: String,
    /// How many they are.
    pub tests: usize,
    /// The names of some.
    pub examples: Vec<String>,
}

/// A test that became slower or faster.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DurationView {
    /// The number of its row in the history.
    #[serde(skip)]
    pub row: usize,
    /// The suite, with its parameters and its variant.
    pub suite: String,
    /// The host.
    pub host: String,
    /// Its name.
    pub test: String,
    /// How much.
    pub change: SlowerView,
}

/// How much slower a test became when its duration changed last.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SlowerView {
    /// The first column after the change.
    pub since: String,
    /// By how many percent it takes longer; below 0 it became faster.
    pub percent: f64,
    /// The interval of `percent`.
    pub interval: Interval,
}

impl SlowerView {
    fn new(history: &TestHistory, change: &DurationChange) -> Self {
        Self {
            since: history.columns[change.column].name.clone(),
            percent: change.share * 100.0,
            interval: Interval {
                low: change.interval.low * 100.0,
                high: change.interval.high * 100.0,
            },
        }
    }

    /// `+12.0 % [8.1, 16.3]`.
    pub fn amount(&self) -> String {
        let Interval { low, high } = self.interval;
        format!("{:+.1} % [{low:+.1}, {high:+.1}]", self.percent)
    }
}

/// How many tests of a host stand how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HostTotals {
    /// The host.
    pub host: String,
    /// Its architecture, where it is known.
    pub architecture: Option<String>,
    /// How many of its tests stand how.
    pub totals: TotalsView,
}

/// How many tests of a column came to what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct OutcomeTotals {
    /// Passed in each run.
    pub passed: usize,
    /// Failed in some run.
    pub failed: usize,
    /// Only skipped.
    pub skipped: usize,
    /// Not run.
    pub not_run: usize,
}

/// A test with what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TestView {
    /// The number of its row in the history.
    #[serde(skip)]
    pub row: usize,
    /// The suite, with its parameters and its variant.
    pub suite: String,
    /// The host.
    pub host: String,
    /// Its name.
    pub test: String,
    /// `failing`, `flaky`, `mended` or `passing`.
    pub stands: &'static str,
    /// Its state at the newest column: `regression`, `still failing`, `flaky`, …; none where it was skipped or not run.
    pub state: Option<&'static str>,
    /// The column since which it fails or is as its state says.
    pub since: Option<String>,
    /// Runs that say whether it works.
    pub runs: u32,
    /// Those that failed.
    pub failed: u32,
    /// How often it fails, since it changed last.
    pub rate: Option<FailureRate>,
    /// Mean of its durations, in seconds.
    pub seconds: Option<f64>,
    /// What it said when it failed last, where it fails now.
    pub message: Option<String>,
    /// The cluster that says the same, by its place.
    pub cluster: Option<usize>,
    /// How much slower it became when its duration changed last.
    pub slower: Option<SlowerView>,
    /// A letter a column: `.` passed, `F` failed, `~` both, `C` crashed, `T` timed out, `E` error or no exit, `x` failed as
    /// expected, `X` passed unexpectedly, `s` skipped, `-` not run, a blank where there is no result.
    pub letters: String,
}

/// The letter of a column.
pub fn letter(cell: &TestCell) -> char {
    if cell.passed > 0 && cell.failed > 0 {
        return '~';
    }
    match cell.worst {
        Outcome::Pass => '.',
        Outcome::Fail => 'F',
        Outcome::Error | Outcome::NoExit | Outcome::NoLog => 'E',
        Outcome::ExpectedFail => 'x',
        Outcome::UnexpectedPass => 'X',
        Outcome::Skip => 's',
        Outcome::Timeout => 'T',
        Outcome::Crash(_) => 'C',
        Outcome::NotRun => '-',
    }
}

impl TestMatrix {
    /// The tests of a history that a filter takes.
    #[must_use]
    pub fn new(history: &TestHistory, filter: &TestFilter) -> Self {
        let columns = history.columns.iter().map(|column| ColumnView {
            name: column.name.clone(),
            at: column.at,
            title: column.title.clone(),
        });
        let mut totals = TotalsView::default();
        let mut by_column = vec![OutcomeTotals::default(); history.columns.len()];
        let mut by_host: BTreeMap<&HostName, TotalsView> = BTreeMap::new();
        for row in &history.rows {
            let host = &history.suites[row.suite].host;
            *totals.of(row.concern()) += 1;
            *by_host.entry(host).or_default().of(row.concern()) += 1;
            for cell in &row.cells {
                by_column[cell.column as usize].add(cell);
            }
        }
        let messages = history.messages.iter();
        let clusters = failure_clusters(messages.map(|(row, said)| (*row, said.as_str())));
        let in_clusters: HashMap<usize, usize> = (clusters.iter().enumerate())
            .flat_map(|(place, cluster)| cluster.tests.iter().map(move |row| (*row, place)))
            .collect();
        let slower: BTreeMap<usize, SlowerView> = (duration_changes(history).iter())
            .map(|(row, change)| (*row, SlowerView::new(history, change)))
            .collect();
        let everything = TestFilter {
            concerns: TestConcern::ALL.to_vec(),
            ..filter.clone()
        };
        let durations = (slower.iter())
            .filter(|(row, _)| everything.takes(history, &history.rows[**row]))
            .map(|(row, change)| DurationView {
                row: *row,
                suite: history.suites[history.rows[*row].suite].suite.clone(),
                host: history.suites[history.rows[*row].suite].host.to_string(),
                test: history.rows[*row].test.clone(),
                change: change.clone(),
            });
        let mut durations: Vec<DurationView> = durations.collect();
        durations.sort_by(|one, other| other.change.percent.total_cmp(&one.change.percent));
        let rows = history.rows.iter().enumerate();
        let rows = rows.filter(|(_, row)| filter.takes(history, row));
        let by_host = by_host.into_iter().map(|(host, totals)| HostTotals {
            host: host.to_string(),
            architecture: history.architectures.get(host).cloned(),
            totals,
        });
        Self {
            columns: columns.collect(),
            tests: rows
                .map(|(number, row)| TestView {
                    cluster: in_clusters.get(&number).copied(),
                    slower: slower.get(&number).cloned(),
                    ..TestView::new(history, number, row)
                })
                .collect(),
            totals,
            by_column,
            clusters: clusters
                .into_iter()
                .map(|cluster| ClusterView {
                    tests: cluster.tests.len(),
                    examples: (cluster.tests.iter().take(MOST_EXAMPLES))
                        .map(|row| history.rows[*row].test.clone())
                        .collect(),
                    message: cluster.message,
                })
                .collect(),
            durations,
            by_host: by_host.collect(),
        }
    }

    /// How many tests of how many columns stand how.
    pub fn sentence(&self) -> (String, Tone) {
        let TotalsView {
            failing,
            flaky,
            mended,
            passing,
        } = self.totals;
        let tests = counted(failing + flaky + mended + passing, "test");
        let columns = self.columns.len();
        let tone = match (failing, flaky) {
            (0, 0) => Tone::Good,
            (0, _) => Tone::Changed,
            _ => Tone::Bad,
        };
        let text = format!(
            "{tests} in {columns} columns: {failing} failing, {flaky} flaky, {mended} mended, {passing} never failed"
        );
        (text, tone)
    }

    fn table(&self) -> Table {
        let mut table = Table::new(vec![
            left("test"),
            left("stands"),
            left("since"),
            right("failed"),
            left("oldest to newest"),
        ]);
        let mut last = None;
        for test in self.tests.iter().take(MOST_LISTED) {
            let suite = format!("{} on {}", test.suite, test.host);
            if last.as_ref() != Some(&suite) {
                table.group(suite.clone());
                last = Some(suite);
            }
            let tone = match test.stands {
                "failing" => Tone::Bad,
                "flaky" => Tone::Changed,
                _ => Tone::Plain,
            };
            table.row(vec![
                field(test.test.clone()),
                field(test.standing()).with_tone(tone),
                field(test.since.clone().unwrap_or_default()),
                field(format!("{} of {}", test.failed, test.runs)),
                field(test.newest_letters(MOST_LETTERS)),
            ]);
        }
        table
    }
}

impl TestMatrix {
    fn cluster_table(&self) -> Table {
        let mut table = Table::new(vec![right("tests"), left("message"), left("of")]);
        for cluster in &self.clusters {
            let mut names = cluster.examples.clone();
            names.truncate(FEW_EXAMPLES);
            if cluster.tests > names.len() {
                names.push("…".to_owned());
            }
            table.row(vec![
                field(cluster.tests.to_string()),
                field(clipped(&cluster.message, MESSAGE_WIDTH)),
                field(names.join(", ")),
            ]);
        }
        table
    }

    fn duration_table(&self) -> Table {
        let columns = ["test", "suite", "since"].map(left);
        let mut table = Table::new(columns.into_iter().chain([right("duration")]).collect());
        for test in self.durations.iter().take(MOST_LISTED) {
            let tone = match test.change.percent > 0.0 {
                true => Tone::Bad,
                false => Tone::Good,
            };
            table.row(vec![
                field(test.test.clone()),
                field(format!("{} on {}", test.suite, test.host)),
                field(test.change.since.clone()),
                field(test.change.amount()).with_tone(tone),
            ]);
        }
        table
    }
}

impl TotalsView {
    /// The tests that stand so, in the order of [`TestConcern::ALL`].
    pub fn counts(self) -> [usize; 4] {
        [self.failing, self.flaky, self.mended, self.passing]
    }

    fn of(&mut self, concern: TestConcern) -> &mut usize {
        match concern {
            TestConcern::Failing => &mut self.failing,
            TestConcern::Flaky => &mut self.flaky,
            TestConcern::Mended => &mut self.mended,
            TestConcern::Passing => &mut self.passing,
        }
    }
}

impl OutcomeTotals {
    fn add(&mut self, cell: &TestCell) {
        let place = match (cell.failed, cell.passed, cell.skipped) {
            (0, 0, 0) => &mut self.not_run,
            (0, 0, _) => &mut self.skipped,
            (0, _, _) => &mut self.passed,
            _ => &mut self.failed,
        };
        *place += 1;
    }
}

impl TestView {
    fn new(history: &TestHistory, number: usize, row: &TestRow) -> Self {
        let suite = &history.suites[row.suite];
        let mut letters = vec![' '; history.columns.len()];
        for cell in &row.cells {
            letters[cell.column as usize] = letter(cell);
        }
        let (runs, failed) = row.totals();
        let since = history.since(row).map(|at| &history.columns[at]);
        Self {
            row: number,
            suite: suite.suite.clone(),
            host: suite.host.to_string(),
            test: row.test.clone(),
            stands: row.concern().word(),
            state: row.state.map(|state| state.word()),
            since: since.map(|column| column.name.clone()),
            runs,
            failed,
            rate: row.rate(),
            seconds: row.mean_seconds(),
            message: history.messages.get(&number).cloned(),
            cluster: None,
            slower: None,
            letters: letters.into_iter().collect(),
        }
    }
}

impl TestView {
    /// Its state, and how often it fails.
    pub fn standing(&self) -> String {
        let rate = self.rate.map(|rate| {
            let (low, high) = (rate.interval.low, rate.interval.high);
            format!(" {} [{}, {}]", share(rate.rate), share(low), share(high))
        });
        let state = self.state.unwrap_or(self.stands);
        format!("{state}{}", rate.unwrap_or_default())
    }

    /// The letters of so many of the newest columns.
    pub fn newest_letters(&self, most: usize) -> String {
        let skipped = self.letters.chars().count().saturating_sub(most);
        self.letters.chars().skip(skipped).collect()
    }
}

impl Render for TestMatrix {
    type View<'v> = &'v Self;

    fn view(&self) -> &Self {
        self
    }

    fn document(&self) -> Document {
        let (text, tone) = self.sentence();
        let mut document = Document::new("Tests").with_sentence(text, tone);
        let left_out = self.tests.len().saturating_sub(MOST_LISTED);
        if left_out > 0 {
            let more = format!("{} more: --format json has all", counted(left_out, "test"));
            document = document.with_sentence(more, Tone::Plain);
        }
        let document = document.with_section(Section::table("", self.table()).with_about(
            "A letter a column, oldest first: . passed, F failed, ~ both, C crashed, T timed out, E error or no end, x failed as \
             expected, X passed unexpectedly, s skipped, - not run.",
        ));
        let document = match self.clusters.is_empty() {
            true => document,
            false => document.with_section(
                Section::table("Failures that say the same", self.cluster_table()).with_about(
                    "Numbers, addresses, paths and durations aside. Probably one cause each.",
                ),
            ),
        };
        match self.durations.is_empty() {
            true => document,
            false => document.with_section(
                Section::table("Slower or faster", self.duration_table()).with_about(
                    "The last change of the mean duration, with its 95 % interval; at most one in twenty of these is expected to be none.",
                ),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TerminalStyle;
    use backsight_policy::{SuiteOnHost, TestColumn, TestHistoryRun};
    use std::sync::Arc;

    /// Twelve versions: two tests fail since the seventh and say the same but for a number; one takes twice as long since then.
    fn history() -> TestHistory {
        let names: Arc<[String]> = ["net/close", "net/open", "disk/read"]
            .map(str::to_owned)
            .into();
        let run = |column: usize| {
            let is_late = column >= 6;
            let outcome = if is_late {
                Outcome::Fail
            } else {
                Outcome::Pass
            };
            let noise = [0.0, 0.4, -0.3, 0.1, -0.5, 0.2][column % 6] as f32 / 1000.0;
            TestHistoryRun {
                suite: SuiteOnHost {
                    suite: "unit".to_owned(),
                    host: HostName::new("here").unwrap(),
                },
                column,
                study: 1,
                trial: column as u32 + 1,
                complete: true,
                names: Arc::clone(&names),
                outcomes: vec![outcome, outcome, Outcome::Pass],
                seconds: vec![
                    f32::NAN,
                    f32::NAN,
                    if is_late { 0.08 } else { 0.04 } + noise,
                ],
            }
        };
        let column = |number| TestColumn {
            id: format!("{number}"),
            name: format!("v{number}"),
            at: None,
            title: String::new(),
        };
        let runs: Vec<TestHistoryRun> = (0..12).map(run).collect();
        let mut history = TestHistory::new((0..12).map(column).collect(), &runs);
        for (row, test) in history.rows.iter().enumerate() {
            if test.test.starts_with("net") {
                let said = format!("connection {row} refused after {} ms", 40 + row);
                history.messages.insert(row, said);
            }
        }
        history
    }

    #[test]
    fn what_says_the_same_and_what_became_slower_stands_below_the_tests() {
        let failing = TestFilter {
            concerns: vec![TestConcern::Failing, TestConcern::Flaky],
            ..TestFilter::default()
        };
        let matrix = TestMatrix::new(&history(), &failing);
        assert_eq!(matrix.clusters.len(), 1);
        assert!(matrix.tests.iter().all(|test| test.cluster == Some(0)));
        let slower = &matrix.durations[0].change;
        assert_eq!((matrix.durations.len(), slower.since.as_str()), (1, "v6"));
        assert!(
            slower.interval.low < 100.0 && 100.0 < slower.interval.high,
            "{slower:?}"
        );
        let text = matrix.document().text(&TerminalStyle::default());
        let (_, below) = text.split_once("not run.\n\n").unwrap();
        let (below, _) = below.rsplit_once("\n\n").unwrap();
        insta::assert_snapshot!(below);
    }
}
