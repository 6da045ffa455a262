//! Tests that became slower or faster: changes of the level of their mean durations, column by column.
//!
//! Many tests are searched at once, so that a change is believed only where it stands after the false discovery rate of all of them is
//! bounded.

use backsight_stats::{
    Interval,
    changes::{ChangeKind, DetectedChange, DetectionOptions, MIN_POINTS, detect},
};

use crate::{
    TestHistory, TestRow,
    change_significance::{adjusted_tests, significance_tests},
};

/// Tests that take less on average, in seconds, aren't searched: starting a process takes as long.
const LEAST_MEAN: f64 = 0.01;
/// Tests that are searched, those that take longest: a year of nights of a thousand tests takes about half a second.
const MOST_SEARCHED: usize = 1000;
/// Changes that are told are believed at this share of false ones.
const FALSE_DISCOVERY_RATE: f64 = 0.05;

/// The last change of how long a test takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DurationChange {
    /// The first column after it.
    pub column: usize,
    /// What was added, as a share of the duration before: 0.1 is slower by 10 %.
    pub share: f64,
    /// Its interval.
    pub interval: Interval,
}

/// The last change of the duration of each test, by the number of its row; tests without one aren't there.
pub fn duration_changes(history: &TestHistory) -> Vec<(usize, DurationChange)> {
    let mut longest: Vec<(usize, f64)> = (history.rows.iter().enumerate())
        .filter_map(|(number, row)| Some((number, row.mean_seconds()?)))
        .filter(|(_, mean)| *mean >= LEAST_MEAN)
        .collect();
    longest.sort_by(|one, other| other.1.total_cmp(&one.1));
    longest.truncate(MOST_SEARCHED);
    let mut searched = Vec::new();
    for (number, _) in longest {
        let (columns, seconds) = durations(&history.rows[number]);
        if columns.len() < MIN_POINTS {
            continue;
        }
        if let Ok(found) = detect(&seconds, &DetectionOptions::default()) {
            searched.push((number, columns, found));
        }
    }
    let tests: Vec<Vec<f64>> = (searched.iter())
        .map(|(_, _, found)| {
            significance_tests(&found.changes, found.doubted.as_ref().map(|it| it.p))
        })
        .collect();
    let adjusted = adjusted_tests(&tests, &[]).unwrap_or(tests);
    let last = searched.into_iter().zip(adjusted);
    last.filter_map(|((number, columns, found), adjusted)| {
        let levels = (found.changes.iter()).filter(|change| change.kind == ChangeKind::Level);
        let (change, _) = levels
            .zip(adjusted)
            .filter(|(_, p)| *p <= FALSE_DISCOVERY_RATE)
            .last()?;
        Some((number, duration_change(change, columns[change.at])))
    })
    .collect()
}

/// The columns that say how long a test took, and the mean of each in seconds. A test that failed took as long as that takes.
fn durations(row: &TestRow) -> (Vec<usize>, Vec<f64>) {
    let cells = row.cells.iter().filter(|cell| cell.failed == 0);
    cells
        .filter_map(|cell| Some((cell.column as usize, cell.mean_seconds()?)))
        .unzip()
}

fn duration_change(change: &DetectedChange, column: usize) -> DurationChange {
    let share = |seconds: f64| seconds / change.before;
    DurationChange {
        column,
        share: share(change.size),
        interval: Interval {
            low: share(change.size_interval.low),
            high: share(change.size_interval.high),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SuiteOnHost, TestColumn, TestHistoryRun};
    use backsight_model::{HostName, Outcome};
    use backsight_stats::Random;
    use std::sync::Arc;

    /// Tests of 20 ms with two percent of noise, of which the first takes 30 % longer from column 25 on; the second does so too, but takes
    /// 1 ms.
    fn history(tests: usize) -> TestHistory {
        let mut random = Random::seeded(3);
        let names: Arc<[String]> = (0..tests).map(|test| format!("test {test:03}")).collect();
        let runs: Vec<TestHistoryRun> = (0..40)
            .map(|column| TestHistoryRun {
                suite: SuiteOnHost {
                    suite: "unit".to_owned(),
                    host: HostName::new("here").unwrap(),
                },
                column,
                study: 1,
                trial: column as u32 + 1,
                complete: true,
                names: Arc::clone(&names),
                outcomes: vec![Outcome::Pass; tests],
                seconds: (0..tests)
                    .map(|test| {
                        let usual = if test == 1 { 0.001 } else { 0.02 };
                        let change = if test < 2 && column >= 25 { 1.3 } else { 1.0 };
                        (usual * change * (1.0 + 0.02 * random.normal())) as f32
                    })
                    .collect(),
            })
            .collect();
        let column = |number| TestColumn {
            id: String::new(),
            name: format!("v{number}"),
            at: None,
            title: String::new(),
        };
        TestHistory::new((0..40).map(column).collect(), &runs)
    }

    #[test]
    fn of_many_tests_the_one_that_became_slower_is_told() {
        let history = history(150);
        let found = duration_changes(&history);
        assert_eq!(found.len(), 1, "{found:?}");
        let (row, change) = found[0];
        assert_eq!(history.rows[row].test, "test 000");
        assert_eq!(change.column, 25);
        assert!(
            change.interval.low < 0.3 && 0.3 < change.interval.high,
            "{change:?}"
        );
        assert!((change.share - 0.3).abs() < 0.05);
    }
}
