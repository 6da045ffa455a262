//! The history of a suite's tests: a matrix of tests and columns (versions, or studies in the order of time), the worst test first.
//!
//! In: the runs of suites. Out: a row for each test of each suite on each host, with what came of it in each column. A test that a run
//! should have had and hasn't, because the suite didn't come to its end, was not run there: it isn't missing silently.

use backsight_model::{HostName, Outcome, TestCount};
use backsight_stats::failures::{
    FailureChange, FailureCount, FailureDetectionOptions, FailureRate, TestState, failure_changes,
    test_state,
};
use jiff::Timestamp;
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

/// A version, or a study of the software as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestColumn {
    /// Identity of the version; empty for a study.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// When it was made; of a study, when it began.
    pub at: Option<Timestamp>,
    /// What it says of itself; may be empty.
    pub title: String,
}

/// A suite, with its parameters and its variant, on a host: tests of one are compared with each other.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SuiteOnHost {
    /// The suite as its cell is shown.
    pub suite: String,
    /// The host on which its tests run.
    pub host: HostName,
}

/// A run of a suite.
#[derive(Debug, Clone, PartialEq)]
pub struct TestHistoryRun {
    /// The suite.
    pub suite: SuiteOnHost,
    /// The number of its column, from 0.
    pub column: usize,
    /// The study's number in the store.
    pub study: i64,
    /// The trial's number in it.
    pub trial: u32,
    /// Whether it came to its end.
    pub complete: bool,
    /// The names of its tests, in their order; runs of the same tests share them.
    pub names: Arc<[String]>,
    /// The outcome of each.
    pub outcomes: Vec<Outcome>,
    /// How long each took, in seconds; not a number where nobody says it.
    pub seconds: Vec<f32>,
}

/// What came of a test in a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TestCell {
    /// The number of the column.
    pub column: u32,
    /// Runs in which it passed, or failed as was expected.
    pub passed: u32,
    /// Runs in which it failed, in whichever way.
    pub failed: u32,
    /// Runs in which it was skipped.
    pub skipped: u32,
    /// Runs in which it didn't run, because the suite didn't come to it.
    pub not_run: u32,
    /// The worst of its outcomes.
    pub worst: Outcome,
    /// Sum of its durations, in seconds, over the runs that say it.
    pub seconds: f32,
    /// How many runs say it.
    pub timed: u32,
    /// The study and the trial of its worst outcome.
    pub place: (i64, u32),
}

impl TestCell {
    fn new(column: usize) -> Self {
        Self {
            column: u32::try_from(column).unwrap_or(u32::MAX),
            passed: 0,
            failed: 0,
            skipped: 0,
            not_run: 0,
            worst: Outcome::Skip,
            seconds: 0.0,
            timed: 0,
            place: (0, 0),
        }
    }

    fn add(&mut self, outcome: Outcome, seconds: f32, place: (i64, u32)) {
        let first = self.runs() + self.skipped + self.not_run == 0;
        match TestCount::of(outcome) {
            TestCount::Passed => self.passed += 1,
            TestCount::Failed => self.failed += 1,
            TestCount::Skipped => self.skipped += 1,
            TestCount::NotRun => self.not_run += 1,
        }
        if seconds.is_finite() {
            self.seconds += seconds;
            self.timed += 1;
        }
        if first || outcome.severity() > self.worst.severity() {
            self.worst = outcome;
            self.place = place;
        }
    }

    /// Runs that say whether it works.
    pub fn runs(&self) -> u32 {
        self.passed + self.failed
    }

    /// Mean of its durations, in seconds.
    pub fn mean_seconds(&self) -> Option<f64> {
        (self.timed > 0).then(|| f64::from(self.seconds) / f64::from(self.timed))
    }
}

/// A test of a suite on a host.
#[derive(Debug, Clone, PartialEq)]
pub struct TestRow {
    /// The number of its suite, from 0.
    pub suite: usize,
    /// Its name.
    pub test: String,
    /// What came of it, by column; columns without a result are left out.
    pub cells: Vec<TestCell>,
    /// How it stands in the last column of its suite; none where it was skipped or not run there. Positions are those of the
    /// suite's columns.
    pub state: Option<TestState>,
    /// Where it began to fail more or less often than before, oldest first. Places are positions in the suite's columns.
    pub changes: Vec<FailureChange>,
}

impl TestRow {
    /// The row with how it stands in the last of its suite's columns.
    fn judged(self, columns: &[usize]) -> Self {
        let mut counts = vec![FailureCount::default(); columns.len()];
        for cell in &self.cells {
            if let Ok(place) = columns.binary_search(&(cell.column as usize)) {
                counts[place] = FailureCount {
                    failures: u64::from(cell.failed),
                    runs: u64::from(cell.runs()),
                };
            }
        }
        let options = FailureDetectionOptions::default();
        let changes = failure_changes(&counts, &options).changes;
        let last = self.cells.last();
        let is_silent = last.is_some_and(|last| {
            columns.last() == Some(&(last.column as usize)) && last.runs() == 0
        });
        Self {
            state: match is_silent {
                true => None,
                false => test_state(&counts, &options),
            },
            changes,
            ..self
        }
    }

    /// Runs that say whether it works, and those that failed.
    pub fn totals(&self) -> (u32, u32) {
        let count = |of: fn(&TestCell) -> u32| self.cells.iter().map(of).sum();
        (count(TestCell::runs), count(|cell| cell.failed))
    }

    /// Mean of its durations, in seconds.
    pub fn mean_seconds(&self) -> Option<f64> {
        let sum: f64 = self.cells.iter().map(|cell| f64::from(cell.seconds)).sum();
        let timed: u32 = self.cells.iter().map(|cell| cell.timed).sum();
        (timed > 0).then(|| sum / f64::from(timed))
    }

    /// The last column that says whether it works.
    pub fn last_verdict(&self) -> Option<&TestCell> {
        self.cells.iter().rfind(|cell| cell.runs() > 0)
    }

    /// The first of the last columns without a pass: since when it fails, if it does.
    pub fn fails_since(&self) -> Option<&TestCell> {
        let tell = self.cells.iter().rev().filter(|cell| cell.runs() > 0);
        tell.take_while(|cell| cell.passed == 0).last()
    }

    /// How often it fails, where its state says so.
    pub fn rate(&self) -> Option<FailureRate> {
        match self.state? {
            TestState::Flaky { rate }
            | TestState::Unstable { rate }
            | TestState::Regression { rate, .. }
            | TestState::Fixed { rate, .. } => Some(rate),
            _ => None,
        }
    }

    /// What of it is looked at first: failures of now, then what fails sometimes, what failed once, and the others.
    pub fn concern(&self) -> TestConcern {
        let last = self.last_verdict();
        let fails = last.is_some_and(|cell| cell.passed == 0);
        let is_mixed = last.is_some_and(|cell| cell.passed > 0 && cell.failed > 0);
        match self.state {
            Some(TestState::Regression { .. }) => TestConcern::Failing,
            Some(TestState::Flaky { .. }) => TestConcern::Flaky,
            // So few runs that a rate says nothing: what it did last counts.
            Some(TestState::Unstable { .. }) if is_mixed => TestConcern::Flaky,
            _ if fails => TestConcern::Failing,
            _ if self.totals().1 > 0 => TestConcern::Mended,
            _ => TestConcern::Passing,
        }
    }
}

/// What of a test is looked at first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TestConcern {
    /// It fails now, always or more often than before.
    Failing,
    /// It fails sometimes.
    Flaky,
    /// It failed, and passes now.
    Mended,
    /// It never failed, or says nothing.
    Passing,
}

impl TestConcern {
    /// All of them, the worst first.
    pub const ALL: [Self; 4] = [Self::Failing, Self::Flaky, Self::Mended, Self::Passing];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Failing => "failing",
            Self::Flaky => "flaky",
            Self::Mended => "mended",
            Self::Passing => "passing",
        }
    }
}

/// Tests × columns.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TestHistory {
    /// The columns, oldest first.
    pub columns: Vec<TestColumn>,
    /// The suites.
    pub suites: Vec<SuiteOnHost>,
    /// By suite, the columns in which it was run.
    pub suite_columns: Vec<Vec<usize>>,
    /// The tests, the worst first.
    pub rows: Vec<TestRow>,
    /// What failing tests said last, by the number of their row, where it is known.
    pub messages: BTreeMap<usize, String>,
    /// The architectures of hosts, where they are known.
    pub architectures: HashMap<HostName, String>,
}

impl TestHistory {
    /// The history that these runs make. Columns without any run are left out.
    #[must_use]
    pub fn new(columns: Vec<TestColumn>, runs: &[TestHistoryRun]) -> Self {
        let mut used: Vec<usize> = runs.iter().map(|run| run.column).collect();
        used.sort_unstable();
        used.dedup();
        let place = |column: usize| used.binary_search(&column).unwrap_or(0);
        let mut suites: Vec<SuiteOnHost> = runs.iter().map(|run| run.suite.clone()).collect();
        suites.sort();
        suites.dedup();
        let mut in_order: Vec<&TestHistoryRun> = runs.iter().collect();
        in_order.sort_by_key(|run| (run.column, run.study, run.trial));
        let (mut rows, mut suite_columns) = (Vec::new(), Vec::new());
        for (number, suite) in suites.iter().enumerate() {
            let mut builder = SuiteRows::new(number);
            let mut columns = Vec::new();
            for run in in_order.iter().filter(|run| run.suite == *suite) {
                let column = place(run.column);
                if columns.last() != Some(&column) {
                    columns.push(column);
                }
                builder.add(run, column);
            }
            rows.extend(builder.rows.into_iter().map(|row| row.judged(&columns)));
            suite_columns.push(columns);
        }
        rows.sort_by(worse);
        let columns = columns.into_iter().enumerate();
        Self {
            columns: columns
                .filter(|(column, _)| used.binary_search(column).is_ok())
                .map(|(_, column)| column)
                .collect(),
            suites,
            suite_columns,
            rows,
            messages: BTreeMap::new(),
            architectures: HashMap::new(),
        }
    }

    /// The rows of a suite on a host, by test.
    pub fn rows_of(&self, suite: &SuiteOnHost) -> HashMap<&str, &TestRow> {
        let number = self.suites.iter().position(|it| it == suite);
        let rows = self.rows.iter().filter(|row| Some(row.suite) == number);
        rows.map(|row| (row.test.as_str(), row)).collect()
    }

    /// The number of the column since which a test fails, or since which it is as its state says.
    pub fn since(&self, row: &TestRow) -> Option<usize> {
        let column = |position: usize| self.suite_columns.get(row.suite)?.get(position).copied();
        match row.state {
            Some(TestState::Regression { location, .. } | TestState::Fixed { location, .. }) => {
                column(location.until)
            }
            Some(TestState::Fail { since } | TestState::StillFailing { since }) => column(since),
            Some(TestState::Flaky { .. }) => column(row.changes.last()?.at),
            _ => row.fails_since().map(|cell| cell.column as usize),
        }
    }
}

/// The order of rows: by what is looked at first; within that by the share of failures.
fn worse(one: &TestRow, other: &TestRow) -> std::cmp::Ordering {
    let share = |row: &TestRow| {
        let (runs, failed) = row.totals();
        f64::from(failed) / f64::from(runs.max(1))
    };
    one.concern()
        .cmp(&other.concern())
        .then_with(|| share(other).total_cmp(&share(one)))
        .then_with(|| one.suite.cmp(&other.suite))
        .then_with(|| one.test.cmp(&other.test))
}

/// The rows of one suite, while its runs are added in the order of time.
struct SuiteRows<'a> {
    suite: usize,
    rows: Vec<TestRow>,
    by_name: HashMap<&'a str, usize>,
    /// The rows of the last list of names: most runs have the same one.
    last: Option<(Arc<[String]>, Vec<usize>)>,
    /// The rows that the last complete run had.
    expected: Vec<usize>,
}

impl<'a> SuiteRows<'a> {
    fn new(suite: usize) -> Self {
        Self {
            suite,
            rows: Vec::new(),
            by_name: HashMap::new(),
            last: None,
            expected: Vec::new(),
        }
    }

    fn add(&mut self, run: &'a TestHistoryRun, column: usize) {
        let places = self.places(run);
        let place = (run.study, run.trial);
        let results = places.iter().zip(&run.outcomes).zip(&run.seconds);
        for ((row, outcome), seconds) in results {
            self.cell(*row, column).add(*outcome, *seconds, place);
        }
        match run.complete {
            true => self.expected = places,
            false => {
                let mut had = vec![false; self.rows.len()];
                for row in places {
                    had[row] = true;
                }
                let missing = self.expected.iter().copied().filter(|row| !had[*row]);
                for row in missing.collect::<Vec<_>>() {
                    self.cell(row, column).add(Outcome::NotRun, f32::NAN, place);
                }
            }
        }
    }

    /// The rows of a run's tests.
    fn places(&mut self, run: &'a TestHistoryRun) -> Vec<usize> {
        if let Some((names, places)) = &self.last
            && Arc::ptr_eq(names, &run.names)
        {
            return places.clone();
        }
        let mut places = Vec::with_capacity(run.names.len());
        for name in run.names.iter() {
            let row = *self.by_name.entry(name).or_insert_with(|| {
                self.rows.push(TestRow {
                    suite: self.suite,
                    test: name.clone(),
                    cells: Vec::new(),
                    state: None,
                    changes: Vec::new(),
                });
                self.rows.len() - 1
            });
            places.push(row);
        }
        self.last = Some((Arc::clone(&run.names), places.clone()));
        places
    }

    fn cell(&mut self, row: usize, column: usize) -> &mut TestCell {
        let cells = &mut self.rows[row].cells;
        let is_there = cells
            .last()
            .is_some_and(|last| last.column as usize == column);
        if !is_there {
            cells.push(TestCell::new(column));
        }
        let last = cells.len() - 1;
        &mut cells[last]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(column: usize, complete: bool, results: &[(&str, Outcome)]) -> TestHistoryRun {
        TestHistoryRun {
            suite: SuiteOnHost {
                suite: "unit".to_owned(),
                host: HostName::new("here").unwrap(),
            },
            column,
            study: 1,
            trial: column as u32 + 1,
            complete,
            names: results.iter().map(|(name, _)| (*name).to_owned()).collect(),
            outcomes: results.iter().map(|(_, outcome)| *outcome).collect(),
            seconds: vec![f32::NAN; results.len()],
        }
    }

    fn columns(count: usize) -> Vec<TestColumn> {
        let column = |number| TestColumn {
            id: String::new(),
            name: format!("v{number}"),
            at: None,
            title: String::new(),
        };
        (0..count).map(column).collect()
    }

    const PASS: Outcome = Outcome::Pass;
    const FAIL: Outcome = Outcome::Fail;

    #[test]
    fn the_worst_test_is_first_and_says_since_when_it_fails() {
        let runs = [
            run(
                0,
                true,
                &[("a", PASS), ("b", PASS), ("c", PASS), ("d", FAIL)],
            ),
            run(
                2,
                true,
                &[("a", PASS), ("b", FAIL), ("c", FAIL), ("d", PASS)],
            ),
            run(
                3,
                true,
                &[("a", PASS), ("b", FAIL), ("c", PASS), ("d", PASS)],
            ),
        ];
        let history = TestHistory::new(columns(4), &runs);
        let names: Vec<&str> = history.columns.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["v0", "v2", "v3"], "nothing ran on v1");
        let order: Vec<&str> = history.rows.iter().map(|row| row.test.as_str()).collect();
        assert_eq!(order, ["b", "c", "d", "a"]);
        let since = |row: usize| history.rows[row].fails_since().map(|cell| cell.column);
        assert_eq!(since(0), Some(1));
        assert_eq!([since(1), since(2), since(3)], [None; 3]);
        let concerns: Vec<TestConcern> = history.rows.iter().map(TestRow::concern).collect();
        let expected = [
            TestConcern::Failing,
            TestConcern::Mended,
            TestConcern::Mended,
            TestConcern::Passing,
        ];
        assert_eq!(concerns, expected);
        assert_eq!(history.since(&history.rows[0]), Some(1));
    }

    #[test]
    fn a_test_that_a_broken_run_should_have_had_was_not_run() {
        let runs = [
            run(0, true, &[("a", PASS), ("b", PASS)]),
            run(1, false, &[("a", Outcome::Timeout)]),
            run(2, true, &[("a", PASS)]),
        ];
        let history = TestHistory::new(columns(3), &runs);
        let b = history.rows.iter().find(|row| row.test == "b").unwrap();
        let seen: Vec<(u32, u32)> = b.cells.iter().map(|it| (it.column, it.not_run)).collect();
        assert_eq!(seen, [(0, 0), (1, 1)], "a complete run without it has none");
        let a = history.rows.iter().find(|row| row.test == "a").unwrap();
        assert_eq!(a.cells[1].worst, Outcome::Timeout);
        assert_eq!(a.cells[1].place, (1, 2));
    }
}
