//! The data of the page of tests, as its script reads it: lists by column of the table of tests, packed so that thousands of tests over
//! a year of versions take few megabytes.
//!
//! What came of a test is a list of runs of equal outcomes. Its mean durations are a digit each, on a scale of their own.

use backsight_policy::{TestCell, TestColumn, TestConcern, TestHistory, TestRow};
use backsight_report::{
    escape,
    test_matrix::{TestMatrix, letter},
};
use serde::Serialize;
use std::collections::HashMap;

use crate::crumb::Crumb;

/// Digits of durations, none of which JSON or HTML escapes. A blank is no duration.
const DIGITS: &str =
    "#$%'()*+,-./0123456789:;=?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_`abcdefghijklmnopqrstuvwxyz{|}~";
/// Durations on a page, each a byte; those of the tests that take longest. Others have their test's mean.
const MOST_DURATIONS: usize = 1_000_000;
/// Longest title of a column, in characters.
const TITLE_WIDTH: usize = 200;

/// Pages that the page leads to; none if it stands alone.
#[derive(Default)]
pub struct PageLinks<'a> {
    /// The pages above it.
    pub crumbs: Vec<Crumb>,
    /// By column, the page of the version and that of the commits since the version before it; empty where there is none.
    pub columns: Vec<(String, String)>,
    /// The page of a trial, by its study's number and its own.
    pub trial: Option<&'a dyn Fn(i64, u32) -> String>,
}

/// Everything that the script draws.
#[derive(Serialize)]
pub struct MatrixData {
    columns: Vec<ColumnData>,
    suites: Vec<SuiteData>,
    /// Trials: the study's number, their own, and their page.
    trials: Vec<(i64, u32, String)>,
    outcomes: Vec<OutcomeData>,
    tests: TestsData,
    /// By test and column, the trial of the worst outcome where it isn't the suite's.
    elsewhere: Vec<(usize, u32, usize)>,
    digits: &'static str,
}

#[derive(Serialize)]
struct ColumnData {
    name: String,
    date: String,
    title: String,
    /// The version's page, and that of the commits before it; empty where there are none.
    version: String,
    commits: String,
}

#[derive(Serialize)]
struct SuiteData {
    suite: String,
    host: String,
    /// By column, the trial of most of its tests; -1 where there is none.
    trials: Vec<i64>,
}

/// What came of a test in a column; the first one stands for nothing.
#[derive(Serialize, Default, PartialEq, Eq, Hash, Clone)]
struct OutcomeData {
    letter: String,
    word: String,
    /// How it is coloured.
    class: &'static str,
    passed: u32,
    failed: u32,
    skipped: u32,
    idle: u32,
}

/// The tests, by column; the worst first.
#[derive(Serialize, Default)]
struct TestsData {
    name: Vec<String>,
    suite: Vec<usize>,
    /// What is looked at first: a place in `failing, flaky, mended, passing`.
    stands: Vec<usize>,
    state: Vec<String>,
    /// The number of a column, or -1.
    since: Vec<i64>,
    runs: Vec<u32>,
    failed: Vec<u32>,
    /// Mean of its durations in seconds.
    mean: Vec<Option<f32>>,
    /// What it said when it failed last; may be empty.
    message: Vec<String>,
    /// The number of the cluster of tests that say the same, or -1.
    cluster: Vec<i64>,
    /// How much slower it became, and since when; may be empty.
    slower: Vec<String>,
    /// Outcomes by their numbers, each followed by the number of columns in a row that have it.
    cells: Vec<Vec<usize>>,
    seconds: Vec<String>,
    /// What the first and the last digit stand for, in seconds.
    range: Vec<(f32, f32)>,
}

impl MatrixData {
    pub fn new(history: &TestHistory, matrix: &TestMatrix, links: &PageLinks<'_>) -> Self {
        let columns = (history.columns.iter().enumerate())
            .map(|(at, column)| ColumnData::new(column, links.columns.get(at)));
        let mut trials = Trials::default();
        let rows: Vec<&TestRow> = (matrix.tests.iter())
            .map(|test| &history.rows[test.row])
            .collect();
        let suites = suites(history, &rows, &mut trials);
        let mut elsewhere = Vec::new();
        let mut outcomes = Outcomes::new();
        let mut tests = TestsData::default();
        let is_timed = longest(&rows, history.columns.len());
        for (number, (test, row)) in matrix.tests.iter().zip(&rows).enumerate() {
            for cell in &row.cells {
                let trial = trials.number(cell.place);
                if suites[row.suite].trials[cell.column as usize] != trial as i64 {
                    elsewhere.push((number, cell.column, trial));
                }
            }
            let stands = TestConcern::ALL.iter().position(|it| *it == row.concern());
            let (seconds, range) = match is_timed[number] {
                true => digits(row, history.columns.len()),
                false => (String::new(), (0.0, 0.0)),
            };
            tests.name.push(escape::line(&row.test));
            tests.suite.push(row.suite);
            tests.stands.push(stands.unwrap_or_default());
            tests.state.push(test.standing());
            let since = history.since(row);
            tests.since.push(since.map_or(-1, |at| at as i64));
            tests.runs.push(test.runs);
            tests.failed.push(test.failed);
            tests.mean.push(test.seconds.map(|it| rounded(it as f32)));
            let cells = packed_cells(row, history.columns.len(), &mut outcomes);
            tests.cells.push(cells);
            let message = test.message.as_deref().map(escape::line);
            tests.message.push(message.unwrap_or_default());
            let cluster = test.cluster.map_or(-1, |place| place as i64);
            tests.cluster.push(cluster);
            let slower = test.slower.as_ref();
            let slower =
                slower.map(|it| format!("{} since {}", it.amount(), escape::line(&it.since)));
            tests.slower.push(slower.unwrap_or_default());
            tests.seconds.push(seconds);
            tests.range.push(range);
        }
        let trials = trials.all.into_iter().map(|(study, trial)| {
            let page = links.trial.map(|page| page(study, trial));
            (study, trial, page.unwrap_or_default())
        });
        Self {
            columns: columns.collect(),
            suites,
            trials: trials.collect(),
            outcomes: outcomes.all,
            tests,
            elsewhere,
            digits: DIGITS,
        }
    }
}

impl ColumnData {
    fn new(column: &TestColumn, links: Option<&(String, String)>) -> Self {
        let (version, commits) = links.cloned().unwrap_or_default();
        Self {
            name: escape::line(&column.name),
            date: column
                .at
                .map_or(String::new(), |at| at.strftime("%Y-%m-%d").to_string()),
            title: backsight_report::clipped(&escape::line(&column.title), TITLE_WIDTH),
            version,
            commits,
        }
    }
}

/// Trials, each of which has a number.
#[derive(Default)]
struct Trials {
    all: Vec<(i64, u32)>,
    numbers: HashMap<(i64, u32), usize>,
}

impl Trials {
    fn number(&mut self, place: (i64, u32)) -> usize {
        *self.numbers.entry(place).or_insert_with(|| {
            self.all.push(place);
            self.all.len() - 1
        })
    }
}

/// The suites, each with the trial that most of its tests have in each column.
fn suites(history: &TestHistory, rows: &[&TestRow], trials: &mut Trials) -> Vec<SuiteData> {
    let mut counts: HashMap<(usize, u32), HashMap<usize, usize>> = HashMap::new();
    for row in rows {
        for cell in &row.cells {
            let of_column = counts.entry((row.suite, cell.column)).or_default();
            *of_column.entry(trials.number(cell.place)).or_default() += 1;
        }
    }
    let usual = |suite: usize, column: usize| {
        let of_column = counts.get(&(suite, column as u32))?;
        let most = of_column
            .iter()
            .max_by_key(|(trial, count)| (**count, **trial));
        most.map(|(trial, _)| *trial as i64)
    };
    let suites = history.suites.iter().enumerate();
    suites
        .map(|(number, suite)| SuiteData {
            suite: escape::line(&suite.suite),
            host: suite.host.to_string(),
            trials: (0..history.columns.len())
                .map(|column| usual(number, column).unwrap_or(-1))
                .collect(),
        })
        .collect()
}

/// What comes of tests, each of which has a number.
struct Outcomes {
    all: Vec<OutcomeData>,
    numbers: HashMap<OutcomeData, usize>,
}

impl Outcomes {
    fn new() -> Self {
        let nothing = OutcomeData::default();
        Self {
            all: vec![nothing.clone()],
            numbers: HashMap::from([(nothing, 0)]),
        }
    }

    fn number(&mut self, cell: &TestCell) -> usize {
        let letter = letter(cell);
        let outcome = OutcomeData {
            letter: letter.to_string(),
            word: match letter {
                '~' => format!("passed and failed ({})", cell.worst),
                _ => cell.worst.to_string(),
            },
            class: match letter {
                '.' => "",
                '~' => "unsure",
                's' | '-' | 'x' => "idle",
                _ => "bad",
            },
            passed: cell.passed,
            failed: cell.failed,
            skipped: cell.skipped,
            idle: cell.not_run,
        };
        let Self { all, numbers } = self;
        *numbers.entry(outcome).or_insert_with_key(|outcome| {
            all.push(outcome.clone());
            all.len() - 1
        })
    }
}

fn packed_cells(row: &TestRow, columns: usize, outcomes: &mut Outcomes) -> Vec<usize> {
    let mut numbers = vec![0; columns];
    // Cells in a row are mostly alike, and a number is looked up by a hash.
    let mut last: Option<(&TestCell, usize)> = None;
    for cell in &row.cells {
        let number = match last {
            Some((before, number)) if is_alike(before, cell) => number,
            _ => outcomes.number(cell),
        };
        numbers[cell.column as usize] = number;
        last = Some((cell, number));
    }
    let runs = numbers.chunk_by(|one, next| one == next);
    runs.flat_map(|run| [run[0], run.len()]).collect()
}

fn is_alike(one: &TestCell, other: &TestCell) -> bool {
    let counts = |cell: &TestCell| [cell.passed, cell.failed, cell.skipped, cell.not_run];
    counts(one) == counts(other) && one.worst == other.worst
}

/// Which tests have a duration in each column on the page.
fn longest(rows: &[&TestRow], columns: usize) -> Vec<bool> {
    let mut timed: Vec<(usize, f64)> = (rows.iter().enumerate())
        .filter_map(|(number, row)| Some((number, row.mean_seconds()?)))
        .collect();
    timed.sort_by(|one, other| other.1.total_cmp(&one.1));
    timed.truncate(MOST_DURATIONS / columns.max(1));
    let mut is_timed = vec![false; rows.len()];
    for (number, _) in timed {
        is_timed[number] = true;
    }
    is_timed
}

/// The mean durations of a test's columns, and what the first and the last digit stand for. Between them the scale is logarithmic.
fn digits(row: &TestRow, columns: usize) -> (String, (f32, f32)) {
    // Less than a microsecond is no measured duration of a test.
    let durations: Vec<(usize, f32)> = (row.cells.iter())
        .filter_map(|cell| Some((cell.column as usize, cell.mean_seconds()? as f32)))
        .map(|(column, seconds)| (column, seconds.max(1e-6)))
        .collect();
    let least = durations
        .iter()
        .map(|it| it.1)
        .fold(f32::INFINITY, f32::min);
    let most = durations.iter().map(|it| it.1).fold(0.0, f32::max);
    let mut text = vec![b' '; columns];
    for (column, seconds) in durations {
        let share = match most > least {
            true => (seconds / least).ln() / (most / least).ln(),
            false => 0.0,
        };
        let digit = (share * (DIGITS.len() - 1) as f32).round() as usize;
        text[column] = DIGITS.as_bytes()[digit.min(DIGITS.len() - 1)];
    }
    let text = String::from_utf8_lossy(&text).trim_end().to_owned();
    match least.is_finite() {
        true => (text, (rounded(least), rounded(most))),
        false => (String::new(), (0.0, 0.0)),
    }
}

/// To four digits: the others say nothing of a duration, and take room.
fn rounded(seconds: f32) -> f32 {
    format!("{seconds:.3e}").parse().unwrap_or(seconds)
}
