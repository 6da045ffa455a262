//! Made-up histories of tests: most pass, some fail since a version, some now and then, and some have names that mean harm.

use backsight_model::{HostName, Outcome, StudyHistory};
use backsight_policy::{SuiteOnHost, TestColumn, TestConcern, TestHistory, TestHistoryRun};
use jiff::{SignedDuration, Timestamp};
use std::sync::Arc;

/// A name that a page must show as text.
pub const HOSTILE_TEST: &str =
    "net/</script><b>bold</b>\n<img src=x onerror=\"document.title='taken'\">";

/// Numbers that are the same each time.
struct Numbers(u64);

impl Numbers {
    /// From 0 up to 1.
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) as f64 / f64::from(1_u32 << 31)
    }
}

/// So many tests on so many nights, of two suites on two hosts.
pub fn nights(tests: usize, nights: usize) -> TestHistory {
    let first = Timestamp::from_second(1_735_689_600).unwrap_or_default();
    let columns = (0..nights).map(|night| TestColumn {
        id: format!("{night}"),
        name: format!("6.1.{night}"),
        at: Some(first + SignedDuration::from_hours(24 * night as i64)),
        title: format!("Merge of the branch of night {night}"),
    });
    let places = (0..nights).map(|night| (1, night as u32 + 1));
    made_up(columns.collect(), places.collect(), tests)
}

/// Tests on the versions of a study's history.
pub fn of_study(study: &StudyHistory, tests: usize) -> TestHistory {
    let columns = study.versions.iter().map(|version| TestColumn {
        id: version.id.clone(),
        name: version.name.clone(),
        at: version.at,
        title: version.title.clone(),
    });
    let trial = study.trials.first().map_or(1, |trial| trial.number);
    let places = vec![(study.study, trial); study.versions.len()];
    made_up(columns.collect(), places, tests)
}

fn made_up(columns: Vec<TestColumn>, places: Vec<(i64, u32)>, tests: usize) -> TestHistory {
    let mut numbers = Numbers(7);
    let mut runs = Vec::new();
    let suites = [
        ("kernel", "alpha", tests.div_ceil(2)),
        ("kernel", "beta", tests / 2),
    ];
    for (suite, host, tests) in suites {
        let Ok(host) = HostName::new(host) else {
            continue;
        };
        let names: Arc<[String]> = (0..tests).map(name).collect();
        for (column, (study, trial)) in places.iter().enumerate() {
            let results = (0..tests).map(|test| {
                (
                    outcome(test, column, columns.len(), &mut numbers),
                    seconds(test, column * 2 > columns.len(), &mut numbers),
                )
            });
            let (outcomes, seconds) = results.unzip();
            runs.push(TestHistoryRun {
                suite: SuiteOnHost {
                    suite: suite.to_owned(),
                    host: host.clone(),
                },
                column,
                study: *study,
                trial: *trial,
                complete: true,
                names: Arc::clone(&names),
                outcomes,
                seconds,
            });
        }
    }
    let mut history = TestHistory::new(columns, &runs);
    for suite in &history.suites {
        history
            .architectures
            .insert(suite.host.clone(), "x86_64".to_owned());
    }
    for (row, test) in history.rows.iter().enumerate() {
        if test.concern() == TestConcern::Failing {
            let message = match row % 3 {
                0 => format!("timed out after {} ms", row * 37),
                1 => format!("expected {row} <b>packets</b>, got 0"),
                _ => format!("no such device: {}", test.test),
            };
            history.messages.insert(row, message);
        }
    }
    history
}

fn name(test: usize) -> String {
    match test {
        0 => HOSTILE_TEST.to_owned(),
        1 => format!("long/{}", "x".repeat(10_000)),
        2 => "slashes/".repeat(2_000),
        _ => {
            let folder = ["net", "mm", "fs/ext4", "fs/xfs", "sched", "bpf/progs"][test % 6];
            format!("{folder}/group-{}/test_{test}_of_the_suite", test / 60)
        }
    }
}

/// One of fifty tests fails since a night of its own, another one now and then; one is skipped.
fn outcome(test: usize, column: usize, columns: usize, numbers: &mut Numbers) -> Outcome {
    let since = columns / 3 + test % (columns / 2).max(1);
    match test % 50 {
        0 if column >= since => Outcome::Fail,
        13 if numbers.next() < 0.2 => Outcome::Timeout,
        7 => Outcome::Skip,
        _ => Outcome::Pass,
    }
}

/// One of a hundred tests becomes slower by a half.
fn seconds(test: usize, is_late: bool, numbers: &mut Numbers) -> f32 {
    let change = if is_late && test % 100 == 90 {
        1.5
    } else {
        1.0
    };
    let usual = change * 0.004 * (1.0 + (test % 97) as f64);
    (usual * (0.9 + 0.2 * numbers.next())) as f32
}
