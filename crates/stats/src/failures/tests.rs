use super::*;
use crate::{Confidence, Random, culprits::ChangeLocation};
use proptest::prelude::*;

const PASS: FailureCount = FailureCount {
    failures: 0,
    runs: 1,
};
const FAIL: FailureCount = FailureCount {
    failures: 1,
    runs: 1,
};
const NOT_RUN: FailureCount = FailureCount {
    failures: 0,
    runs: 0,
};

fn count(failures: u64, runs: u64) -> FailureCount {
    FailureCount { failures, runs }
}

/// So many versions of each count.
fn history(stretches: &[(usize, FailureCount)]) -> Vec<FailureCount> {
    let counts = stretches.iter();
    counts
        .flat_map(|(versions, count)| std::iter::repeat_n(*count, *versions))
        .collect()
}

/// So many versions of each failure probability.
fn drawn(levels: &[(usize, f64)], runs: u64, random: &mut Random) -> Vec<FailureCount> {
    let rates = levels.iter();
    let rates = rates.flat_map(|(versions, rate)| std::iter::repeat_n(*rate, *versions));
    rates
        .map(|rate| {
            let failed = (0..runs).filter(|_| random.uniform() < rate).count();
            count(failed as u64, runs)
        })
        .collect()
}

fn found(counts: &[FailureCount]) -> FailureFindings {
    failure_changes(counts, &FailureDetectionOptions::default())
}

fn more_runs(counts: &[FailureCount]) -> Option<u64> {
    more_runs_needed(counts, &found(counts), &FailureDetectionOptions::default())
}

fn state(counts: &[FailureCount]) -> Option<TestState> {
    test_state(counts, &FailureDetectionOptions::default())
}

fn word(counts: &[FailureCount]) -> &'static str {
    state(counts).unwrap().word()
}

#[test]
fn the_interval_of_a_rate_is_wilsons() {
    // R: prop.test(k, 20, correct = FALSE)$conf.int.
    for (failures, low, high) in [
        (0, 0.0, 0.161_125_2),
        (5, 0.111_862_4, 0.468_700_9),
        (20, 0.838_874_8, 1.0),
    ] {
        let rate = count(failures, 20).rate(Confidence::USUAL).unwrap();
        assert!((rate.interval.low - low).abs() < 1e-6, "{rate:?}");
        assert!((rate.interval.high - high).abs() < 1e-6, "{rate:?}");
        assert!(rate.interval.contains(rate.rate));
    }
    assert_eq!(NOT_RUN.rate(Confidence::USUAL), None);
}

#[test]
fn one_failure_after_twenty_passes_is_not_told_and_three_are() {
    let once = history(&[(20, PASS), (1, FAIL)]);
    let findings = found(&once);
    assert_eq!(findings.changes, []);
    assert_eq!(findings.doubted.unwrap().at, 20);
    assert_eq!(more_runs(&once), Some(2));
    let repeated = history(&[(20, PASS), (1, count(3, 3))]);
    let change = found(&repeated).changes[0];
    assert_eq!(change.at, 20);
    // That version 19 passed by chance after the change isn't ruled out by three failures.
    assert_eq!(
        change.location,
        ChangeLocation {
            after: 18,
            until: 20
        }
    );
    assert_eq!((change.before.rate, change.after.rate), (0.0, 1.0));
    assert!(change.is_worse());
    assert_eq!(more_runs(&repeated), None);
}

#[test]
fn a_break_that_was_mended_is_two_changes() {
    let counts = history(&[(60, PASS), (5, FAIL), (60, PASS)]);
    let places: Vec<usize> = found(&counts)
        .changes
        .iter()
        .map(|change| change.at)
        .collect();
    assert_eq!(places, [60, 65]);
}

#[test]
fn versions_without_runs_widen_the_location() {
    let counts = history(&[(40, PASS), (5, NOT_RUN), (10, FAIL), (3, NOT_RUN)]);
    let change = found(&counts).changes[0];
    assert_eq!(
        change.location,
        ChangeLocation {
            after: 39,
            until: 45
        }
    );
    assert_eq!(change.at, 45);
}

#[test]
fn a_rise_of_the_failure_probability_is_told_within_few_versions() {
    let mut told = 0;
    for seed in 0..50 {
        let counts = drawn(&[(100, 0.02), (15, 0.3)], 3, &mut Random::seeded(seed));
        let findings = found(&counts);
        let is_near = |change: &FailureChange| change.is_worse() && (97..104).contains(&change.at);
        told += usize::from(findings.changes.len() == 1 && is_near(&findings.changes[0]));
    }
    assert!(told >= 45, "{told} of 50");
}

#[test]
fn a_test_that_does_not_change_has_few_false_alarms_though_each_version_is_looked_at() {
    for (rate, runs) in [(0.02, 1), (0.1, 2), (0.5, 1), (0.97, 3)] {
        let mut alarms = 0;
        for seed in 0..100 {
            let counts = drawn(&[(60, rate)], runs, &mut Random::seeded(seed));
            let looks = 2..=counts.len();
            alarms += usize::from(
                looks
                    .into_iter()
                    .any(|n| !found(&counts[..n]).changes.is_empty()),
            );
        }
        // 5 % and two standard errors.
        assert!(alarms <= 9, "{alarms} of 100 at {rate}");
    }
}

#[test]
fn many_more_runs_are_needed_for_a_small_difference() {
    let counts = history(&[(10, count(1, 10)), (1, count(4, 10))]);
    let needed = more_runs(&counts).unwrap();
    assert!((10..100).contains(&needed), "{needed}");
    assert_eq!(more_runs(&history(&[(20, PASS)])), None);
}

#[test]
fn of_many_tests_the_doubtful_changes_are_dropped() {
    let change = |p: f64| FailureFindings {
        changes: vec![FailureChange {
            p,
            ..found(&history(&[(40, PASS), (3, FAIL)])).changes[0]
        }],
        doubted: None,
    };
    let mut tests = vec![FailureFindings::default(); 1000];
    tests.extend([change(1e-3), change(1e-6), change(4e-5)]);
    control_false_discoveries(&mut tests, 0.05);
    let left: Vec<usize> = tests.iter().map(|test| test.changes.len()).collect();
    assert_eq!(left[1000..], [0, 1, 1]);
}

#[test]
fn states_are_those_of_dashboards() {
    assert_eq!(state(&[NOT_RUN, NOT_RUN]), None);
    assert_eq!(word(&[NOT_RUN, FAIL]), "appeared");
    assert_eq!(
        state(&[PASS, NOT_RUN]),
        Some(TestState::Disappeared { last: 0 })
    );
    assert_eq!(word(&history(&[(5, PASS)])), "pass");
    assert_eq!(
        state(&history(&[(1, NOT_RUN), (5, FAIL)])),
        Some(TestState::Fail { since: 1 })
    );
    let newly = state(&history(&[(20, PASS), (1, FAIL)]));
    assert_eq!(newly, Some(TestState::NewFailure { more_runs: Some(2) }));
    assert_eq!(word(&history(&[(20, FAIL), (1, PASS)])), "new pass");
    assert_eq!(word(&history(&[(40, PASS), (3, FAIL)])), "regression");
    let still = state(&history(&[(40, PASS), (4, FAIL)]));
    assert_eq!(still, Some(TestState::StillFailing { since: 40 }));
    assert_eq!(word(&history(&[(40, FAIL), (3, PASS)])), "fixed");
    assert_eq!(word(&history(&[(40, FAIL), (9, PASS)])), "pass");
    assert_eq!(word(&history(&[(20, count(1, 3))])), "flaky");
    assert_eq!(word(&[PASS, FAIL, PASS]), "unstable");
}

#[test]
fn the_posterior_is_one_of_all_places_and_none() {
    let counts = [
        count(0, 3),
        NOT_RUN,
        count(0, 2),
        NOT_RUN,
        NOT_RUN,
        count(2, 3),
    ];
    let posterior =
        FailurePosterior::from_counts(&counts, &[4], &FailurePriors::default()).unwrap();
    let places = posterior.locations();
    let total: f64 = places.iter().map(|(_, p)| p).sum();
    assert!((total + posterior.no_change_probability() - 1.0).abs() < 1e-12);
    let stretches: Vec<ChangeLocation> = places.iter().map(|(place, _)| *place).collect();
    let place = |after, until| ChangeLocation { after, until };
    assert_eq!(stretches, [place(0, 2), place(2, 5)]);
    // Version 3 can still be run.
    assert_eq!(posterior.most_probable(), None);
    let closed = FailurePosterior::from_counts(&counts, &[1, 3, 4], &FailurePriors::default());
    assert_eq!(closed.unwrap().most_probable().unwrap().0, place(2, 5));
    assert!(
        FailurePosterior::from_counts(&counts, &[0, 1, 2, 3, 4], &FailurePriors::default())
            .is_none()
    );
}

#[test]
fn the_next_version_halves_a_clear_break_and_builds_are_avoided_where_they_are_expensive() {
    let mut counts = vec![NOT_RUN; 101];
    (counts[0], counts[100]) = (count(0, 5), count(5, 5));
    let posterior = FailurePosterior::from_counts(&counts, &[], &FailurePriors::default()).unwrap();
    assert_eq!(posterior.next(1.0, &[1.0; 101]).at, 50);
    (counts[0], counts[100]) = (count(0, 5), count(2, 5));
    counts[50] = count(0, 2);
    let posterior = FailurePosterior::from_counts(&counts, &[], &FailurePriors::default()).unwrap();
    let cheap = posterior.next(1.0, &[0.0; 101]);
    let expensive = posterior.next(1.0, &[1000.0; 101]);
    assert!(
        counts[cheap.at].runs == 0 && counts[expensive.at].runs > 0,
        "{cheap:?} {expensive:?}"
    );
}

#[test]
fn a_small_difference_is_no_change_once_larger_ones_are_ruled_out() {
    let counts = [count(100, 400), count(102, 400)];
    let posterior = FailurePosterior::from_counts(&counts, &[], &FailurePriors::default()).unwrap();
    assert!(posterior.no_change_probability() > 0.95);
    let smallest = FailurePriors {
        smallest: 0.01,
        ..FailurePriors::default()
    };
    let posterior = FailurePosterior::from_counts(&counts, &[], &smallest).unwrap();
    assert!(posterior.no_change_probability() < 0.95);
}

proptest! {
    #[test]
    fn changes_are_in_order_and_passes_and_failures_may_be_exchanged(
        runs in prop::collection::vec((0_u64..4, 0_u64..4), 0..60)
    ) {
        let counts: Vec<FailureCount> = runs.iter().map(|(failures, passes)| count(*failures, failures + passes)).collect();
        let exchanged: Vec<FailureCount> = counts.iter().map(|it| count(it.passes(), it.runs)).collect();
        let findings = found(&counts);
        let other = found(&exchanged);
        prop_assert_eq!(findings.changes.len(), other.changes.len());
        for (one, other) in findings.changes.iter().zip(&other.changes) {
            prop_assert_eq!(one.location, other.location);
            prop_assert!((one.before.rate + other.before.rate - 1.0).abs() < 1e-12);
        }
        for pair in findings.changes.windows(2) {
            prop_assert!(pair[0].at < pair[1].at);
            prop_assert_eq!(pair[0].after, pair[1].before);
        }
        for change in &findings.changes {
            let ChangeLocation { after, until } = change.location;
            prop_assert!(after < change.at && change.at <= until && until < counts.len());
            prop_assert!(change.p <= FailureDetectionOptions::default().max_p);
        }
    }
}
