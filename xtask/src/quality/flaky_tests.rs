//! How often changes of a test's failure probability are told, and how often where nothing changed: simulated tests.

use backsight_stats::{
    Random,
    failures::{
        FailureCount, FailureDetectionOptions, FailureFindings, control_false_discoveries,
        failure_changes,
    },
};

use super::parallel::simulate;

/// Tests of each cell.
const TESTS: u64 = 1000;
/// Tests of a cell with a look after each run.
const RETRIED_TESTS: u64 = 200;
/// Versions of a test that doesn't change.
const VERSIONS: usize = 200;
/// Versions before a change, and the most after it.
const BEFORE: usize = 100;
const AFTER: usize = 100;
/// Versions after a change was told, after which its location is looked at.
const LATER: usize = 20;
/// Runs of each version.
const RUNS: [u64; 3] = [1, 2, 5];
const FALSE_DISCOVERIES: f64 = 0.05;

fn found(counts: &[FailureCount]) -> FailureFindings {
    failure_changes(counts, &FailureDetectionOptions::default())
}

fn run(rate: f64, runs: u64, random: &mut Random) -> FailureCount {
    let failures = (0..runs).filter(|_| random.uniform() < rate).count() as u64;
    FailureCount { failures, runs }
}

fn share(all: &[bool]) -> f64 {
    all.iter().filter(|is| **is).count() as f64 / all.len() as f64
}

/// Whether anything is told of a test that doesn't change, after any version.
fn false_alarm(rate: f64, runs: u64, test: u64) -> bool {
    let mut random = Random::seeded(test * 7919 + runs);
    let mut counts = Vec::new();
    (0..VERSIONS).any(|_| {
        counts.push(run(rate, runs, &mut random));
        !found(&counts).changes.is_empty()
    })
}

/// The same where each of five runs of a version is looked at as it comes.
fn false_alarm_of_retries(rate: f64, test: u64) -> bool {
    let mut random = Random::seeded(test * 7919 + 6);
    let mut counts = Vec::new();
    (0..VERSIONS).any(|_| {
        counts.push(FailureCount::default());
        (0..5).any(|_| {
            let newest = counts.len() - 1;
            counts[newest] = counts[newest] + run(rate, 1, &mut random);
            !found(&counts).changes.is_empty()
        })
    })
}

/// Whether so many failed versions in a row, after a version that passed, come up anywhere.
fn failures_in_a_row(rate: f64, row: usize, test: u64) -> bool {
    let mut random = Random::seeded(test * 7919 + 1);
    let failed = (0..VERSIONS).map(|_| run(rate, 1, &mut random).failures > 0);
    let failed: Vec<bool> = failed.collect();
    failed
        .windows(row + 1)
        .any(|versions| !versions[0] && versions[1..].iter().all(|failed| *failed))
}

/// What became of a change.
struct Told {
    /// Versions since the change when it was told.
    delay: Option<usize>,
    /// Whether the location held it, some versions later.
    is_located: Option<bool>,
}

fn told(before: f64, after: f64, runs: u64, test: u64) -> Told {
    let mut random = Random::seeded(test * 104_729 + runs);
    let draw = |n: usize| if n < BEFORE { before } else { after };
    let counts = (0..BEFORE + AFTER + LATER).map(|n| run(draw(n), runs, &mut random));
    let counts: Vec<FailureCount> = counts.collect();
    let is_true = |findings: &FailureFindings| {
        let last = findings.changes.last();
        last.is_some_and(|change| change.is_worse() == (after > before))
    };
    let delay = (1..=AFTER).find(|delay| is_true(&found(&counts[..BEFORE + delay])));
    let is_located = delay.map(|delay| {
        let changes = found(&counts[..BEFORE + delay + LATER]).changes;
        let mut changes = changes.iter();
        changes.any(|change| change.location.after < BEFORE && BEFORE <= change.location.until)
    });
    Told { delay, is_located }
}

pub fn print() {
    println!(
        "## Flaky tests\n\n{TESTS} tests a cell that fail with a probability that never changes, {VERSIONS} versions, looked at after each: the share \
         of which a change is told at any time (asked: at most .05). *As they come*: after each of five runs of a version, {RETRIED_TESTS} tests. Beside it the share \
         of which two, and three, versions in a row fail after one that passed, with a run each, which is often taken for a regression.\n\n\
         | fails with | 1 run a version | 2 runs | 5 runs | 5 runs, as they come | two in a row | three in a row |\n|---|---|---|---|---|---|---|"
    );
    for rate in [0.01, 0.03, 0.1, 0.5, 0.97] {
        let judged = |alarms: Vec<bool>| match share(&alarms) {
            share if share <= 0.05 => format!("{share:.3}"),
            share => format!("{share:.3} **missed**"),
        };
        let looks = RUNS.map(|runs| judged(simulate(TESTS, |test| false_alarm(rate, runs, test))));
        let retries = judged(simulate(RETRIED_TESTS, |test| {
            false_alarm_of_retries(rate, test)
        }));
        let rows = [2, 3].map(|row| {
            let alarms = simulate(TESTS, |test| failures_in_a_row(rate, row, test));
            format!("{:.3}", share(&alarms))
        });
        println!(
            "| {rate} | {} | {retries} | {} |",
            looks.join(" | "),
            rows.join(" | ")
        );
    }
    println!(
        "\nOne change after {BEFORE} versions, {TESTS} tests a cell: the share of which it is told within {AFTER} versions, and after how \
         many, the median and the 90th percentile; the share whose location, {LATER} versions later, holds the change (asked: .95).\n\n\
         | fails with | 1 run a version | 2 runs | 5 runs |\n|---|---|---|---|"
    );
    let changes = [
        (0.0, 1.0),
        (0.0, 0.3),
        (0.02, 0.3),
        (0.05, 0.5),
        (0.1, 0.3),
        (0.5, 0.9),
        (0.3, 0.0),
        (1.0, 0.0),
    ];
    for (before, after) in changes {
        let cells = RUNS.map(|runs| {
            let all = simulate(TESTS, |test| told(before, after, runs, test));
            let mut delays: Vec<usize> = all
                .iter()
                .map(|told| told.delay.unwrap_or(usize::MAX))
                .collect();
            delays.sort_unstable();
            let within = |share: f64| match delays[(share * delays.len() as f64) as usize] {
                usize::MAX => format!("> {AFTER}"),
                delay => delay.to_string(),
            };
            let known = share(
                &all.iter()
                    .map(|told| told.delay.is_some())
                    .collect::<Vec<_>>(),
            );
            let located: Vec<bool> = all.iter().filter_map(|told| told.is_located).collect();
            format!(
                "{known:.3}, {} / {}, {:.3}",
                within(0.5),
                within(0.9),
                share(&located)
            )
        });
        println!("| {before} → {after} | {} |", cells.join(" | "));
    }
    print_false_discoveries();
}

/// A thousand tests together, of which some change.
fn print_false_discoveries() {
    const CHANGED: u64 = 50;
    const SUITES: u64 = 20;
    let suites = simulate(SUITES, |suite| {
        let mut random = Random::seeded(suite * 31 + 7);
        let mut tests: Vec<FailureFindings> = (0..TESTS)
            .map(|test| {
                let before = 0.01 + 0.3 * random.uniform();
                let after = if test < CHANGED { before + 0.5 } else { before };
                let rate = |n: usize| if n < VERSIONS - 20 { before } else { after };
                let counts: Vec<FailureCount> = (0..VERSIONS)
                    .map(|n| run(rate(n), 2, &mut random))
                    .collect();
                found(&counts)
            })
            .collect();
        control_false_discoveries(&mut tests, FALSE_DISCOVERIES);
        let told = |tests: &[FailureFindings]| {
            tests.iter().filter(|test| !test.changes.is_empty()).count()
        };
        let (changed, same) = tests.split_at(CHANGED as usize);
        (told(changed), told(same))
    });
    let (right, wrong) = suites
        .iter()
        .fold((0, 0), |sum, suite| (sum.0 + suite.0, sum.1 + suite.1));
    println!(
        "\n{SUITES} suites of {TESTS} tests that fail with .01 to .31, of which {CHANGED} fail .5 more often in the newest 20 of {VERSIONS} versions, 2 runs \
         each, judged together: {:.3} of the changes are told, and {:.4} of what is told is false (asked: at most {FALSE_DISCOVERIES}).",
        right as f64 / (SUITES * CHANGED) as f64,
        wrong as f64 / (right + wrong) as f64,
    );
}
