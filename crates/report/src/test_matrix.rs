//! The matrix of tests: rows are tests, the worst first; columns are versions or studies; a letter says what came of it.

use backsight_model::{HostName, Outcome, counted, numbers::share};
use backsight_policy::{TestCell, TestConcern, TestHistory, TestRow};
use backsight_stats::failures::FailureRate;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

use crate::{Document, Render, Section, Table, Tone, field, left, right};

/// Columns that a terminal's line of letters has at most.
const MOST_LETTERS: usize = 60;
/// Tests that a table lists; the JSON and pages have all.
const MOST_LISTED: usize = 300;

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
                .map(|(number, row)| TestView::new(history, number, row))
                .collect(),
            totals,
            by_column,
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
        document.with_section(Section::table("", self.table()).with_about(
            "A letter a column, oldest first: . passed, F failed, ~ both, C crashed, T timed out, E error or no end, x failed as \
             expected, X passed unexpectedly, s skipped, - not run.",
        ))
    }
}
