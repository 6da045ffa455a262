//! What a standing job does with evidence made by hand. How often it is right is measured by `cargo xtask quality watch`.

use super::*;
use backsight_stats::Random;

const HOUR: Duration = Duration::from_secs(3600);

/// Two cells on one testbed, the first of them the sentinel; commits every ten minutes.
fn job(budget: Duration) -> (WatchPolicy, WatchEvidence) {
    let cell = |in_sentinel| WatchCell {
        testbed: 0,
        in_sentinel,
    };
    let policy = WatchPolicy {
        cells: vec![cell(true), cell(false)],
        plan_rounds: 3,
        sentinel_rounds: 2,
        budget,
    };
    let evidence = WatchEvidence {
        series: vec![WatchSeries::default(); 2],
        build: Duration::from_secs(60),
        trials: vec![Duration::from_secs(10); 2],
        ..WatchEvidence::default()
    };
    (policy, evidence)
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).expect("a time in range")
}

/// Commits until this version has come, ten minutes apart; when the last one came.
fn come(evidence: &mut WatchEvidence, versions: usize) -> Timestamp {
    let known = evidence.arrivals.len();
    let times = (known..versions).map(|version| at(600 * version as i64));
    evidence.arrivals.extend(times);
    at(600 * (versions as i64 - 1))
}

fn measure(evidence: &mut WatchEvidence, version: usize, cells: &[usize], level: f64) {
    let mut random = Random::seeded(version as u64);
    for cell in cells {
        for _ in 0..3 {
            evidence.series[*cell].add(version, level + random.normal());
        }
    }
}

/// Thirty versions measured, the last ten of them six deviations above the others.
fn changed(budget: Duration) -> (WatchPolicy, WatchEvidence, Timestamp) {
    let (policy, mut evidence) = job(budget);
    let now = come(&mut evidence, 291);
    for n in 0..30 {
        let level = if n < 20 { 100.0 } else { 106.0 };
        measure(&mut evidence, 10 * n, &[0, 1], level);
    }
    (policy, evidence, now)
}

fn question_of(action: WatchAction) -> ChangeQuestion {
    match action {
        WatchAction::Bisect { question, .. } => question,
        other => panic!("{other:?} instead of a bisection"),
    }
}

fn named(version: usize) -> NamedStep {
    NamedStep {
        place: ChangeLocation {
            after: version - 1,
            until: version,
        },
        probability: 0.97,
        percent: 6.0,
    }
}

#[test]
fn the_first_version_is_measured_with_the_whole_plan() {
    let (policy, mut evidence) = job(HOUR);
    assert!(matches!(
        policy.decide(&evidence, at(0), 0),
        WatchAction::Wait {
            reason: WaitReason::NothingNew,
            ..
        }
    ));
    let now = come(&mut evidence, 1);
    assert_eq!(
        policy.decide(&evidence, now, 0),
        WatchAction::Measure {
            version: 0,
            cells: vec![0, 1],
            rounds: 3,
            reason: MeasureReason::First
        }
    );
}

#[test]
fn the_sentinel_is_as_dense_as_the_budget_pays_for() {
    let first_after = |budget: Duration| {
        let (policy, mut evidence) = job(budget);
        // A week tells how many versions come a day.
        come(&mut evidence, 1008);
        measure(&mut evidence, 1007, &[0, 1], 100.0);
        (1009..2000).find_map(|versions| {
            let now = come(&mut evidence, versions);
            match policy.decide(&evidence, now, 0) {
                WatchAction::Measure {
                    cells,
                    reason: MeasureReason::Sentinel(_),
                    version,
                    ..
                } => {
                    assert_eq!(cells, [0], "only its cells");
                    Some(version - 1007)
                }
                _ => None,
            }
        })
    };
    // A build and two trials are 80 s: a fifth of ten hours pays for 90 a day, of 144 versions; a fifth of a hundred hours for all.
    assert_eq!(first_after(100 * HOUR), Some(1));
    let sparse = first_after(10 * HOUR).expect("a sentinel");
    assert_eq!(sparse, 2);
}

#[test]
fn a_day_takes_no_more_than_its_budget() {
    let budget = HOUR;
    let (policy, mut evidence) = job(budget);
    let mut now = at(0);
    let mut by_day: std::collections::BTreeMap<i64, Duration> = Default::default();
    while now < at(5 * DAY_SECONDS) {
        let came = (now.as_second() / 600) as usize + 1;
        come(&mut evidence, came);
        match policy.decide(&evidence, now, 0) {
            WatchAction::Measure {
                version,
                cells,
                rounds,
                ..
            } => {
                let took = WatchPolicy::cost(&evidence, &cells, rounds);
                measure(&mut evidence, version, &cells, 100.0);
                evidence.spent.push(WatchSpending {
                    at: now,
                    testbed: 0,
                    purpose: WatchPurpose::Schedule,
                    took,
                });
                *by_day.entry(day(now)).or_default() += took;
                now += took;
            }
            WatchAction::Wait { until, .. } => now = until.min(at(600 * came as i64)),
            other => panic!("nothing changed, and yet: {other:?}"),
        }
    }
    assert_eq!(by_day.len(), 5);
    for (day, spent) in by_day {
        assert!(spent <= budget, "day {day}: {spent:?}");
        assert!(spent >= budget / 4, "day {day}: {spent:?}");
    }
}

#[test]
fn a_step_becomes_a_question_with_ends_that_surely_hold_it() {
    let (policy, evidence, now) = changed(100 * HOUR);
    let question = question_of(policy.decide(&evidence, now, 0));
    assert!(question.good < 190 && question.bad > 200, "{question:?}");
    assert!(
        question.good >= 150 && question.bad <= 240,
        "no wider than needed: {question:?}"
    );
    assert!((question.size - 6.0).abs() < 1.5, "{question:?}");
    assert_eq!(
        policy.decide(&evidence, now, 0),
        policy.decide(&evidence.clone(), now, 0),
        "the same evidence, the same action"
    );
}

#[test]
fn nothing_is_told_before_it_is_verified() {
    let (policy, mut evidence, now) = changed(100 * HOUR);
    let question = question_of(policy.decide(&evidence, now, 0));
    evidence.bisections.push(WatchBisection {
        question,
        spent: HOUR,
        state: WatchBisectionState::Decided(vec![named(197)]),
    });
    let WatchAction::Verify {
        version: 197, cell, ..
    } = policy.decide(&evidence, now, 0)
    else {
        panic!("{:?}", policy.decide(&evidence, now, 0));
    };
    let mut verified = |state| {
        evidence.verifications = vec![WatchVerification {
            version: 197,
            cell,
            spent: HOUR,
            state,
        }];
        policy.decide(&evidence, now, 0)
    };
    assert!(matches!(
        verified(VerificationState::Open),
        WatchAction::Verify { version: 197, .. }
    ));
    // The other way round, or not at all: the bisection was wrong.
    for refuted in [VerificationState::Equal, VerificationState::Differs(-6.0)] {
        assert!(!matches!(
            verified(refuted),
            WatchAction::Tell(_) | WatchAction::Verify { version: 197, .. }
        ));
    }
    let WatchAction::Tell(told) = verified(VerificationState::Differs(5.5)) else {
        panic!("it is verified");
    };
    assert!(told.is_verified && told.place == named(197).place);
    evidence.told.push(told);
    // The other cell's step is explained by it, and nothing is told twice.
    let next = policy.decide(&evidence, now, 0);
    assert!(
        matches!(
            next,
            WatchAction::Wait {
                reason: WaitReason::NothingNew,
                ..
            }
        ),
        "{next:?}"
    );
}

#[test]
fn what_the_bisection_dismissed_isnt_asked_again() {
    let (policy, mut evidence, now) = changed(100 * HOUR);
    let mut asked = Vec::new();
    while let WatchAction::Bisect { question, .. } = policy.decide(&evidence, now, 0) {
        assert!(asked.len() < 4, "{asked:?}");
        asked.push(question);
        evidence.bisections.push(WatchBisection {
            question,
            spent: HOUR,
            state: WatchBisectionState::Decided(Vec::new()),
        });
    }
    assert_eq!(asked.len(), 2, "once for each cell: {asked:?}");
}

#[test]
fn what_isnt_decided_within_days_is_told_as_a_stretch() {
    let budget = 10 * HOUR;
    let (policy, mut evidence, now) = changed(budget);
    let question = question_of(policy.decide(&evidence, now, 0));
    let place = ChangeLocation {
        after: 190,
        until: 199,
    };
    let mut after = |spent| {
        evidence.bisections = vec![WatchBisection {
            question,
            spent,
            state: WatchBisectionState::Open(Some(place)),
        }];
        policy.decide(&evidence, now, 0)
    };
    assert!(matches!(after(HOUR), WatchAction::Bisect { number: 0, .. }));
    let WatchAction::Tell(told) = after(budget * SCHEDULE.days_of_a_change) else {
        panic!("its limit is reached");
    };
    assert!(!told.is_verified && told.place == place);
}

#[test]
fn questions_leave_the_schedule_its_share() {
    let (policy, mut evidence, _) = changed(HOUR);
    // At the beginning of a day half of its budget is for the versions that are to come.
    let morning = at(2 * DAY_SECONDS);
    evidence.spent.push(WatchSpending {
        at: morning,
        testbed: 0,
        purpose: WatchPurpose::Question,
        took: HOUR / 2,
    });
    let newest = evidence.arrivals.len() - 1;
    measure(&mut evidence, newest, &[0, 1], 106.0);
    assert!(matches!(
        policy.decide(&evidence, morning, 0),
        WatchAction::Wait {
            reason: WaitReason::Budget,
            ..
        }
    ));
    let evening = at(3 * DAY_SECONDS - 600);
    assert!(matches!(
        policy.decide(&evidence, evening, 0),
        WatchAction::Bisect { .. }
    ));
}

#[test]
fn each_testbed_has_its_own_cells_and_budget() {
    let (mut policy, mut evidence, now) = changed(100 * HOUR);
    policy.cells[1].testbed = 1;
    for testbed in [0, 1] {
        let question = question_of(policy.decide(&evidence, now, testbed));
        assert_eq!(question.cell, testbed);
    }
    evidence.spent.push(WatchSpending {
        at: now,
        testbed: 0,
        purpose: WatchPurpose::Question,
        took: 100 * HOUR,
    });
    assert!(matches!(
        policy.decide(&evidence, now, 0),
        WatchAction::Wait {
            reason: WaitReason::Budget,
            ..
        }
    ));
    question_of(policy.decide(&evidence, now, 1));
}

#[test]
fn broken_versions_arent_measured() {
    let (policy, mut evidence) = job(HOUR);
    let now = come(&mut evidence, 5);
    evidence.broken.extend([3, 4]);
    let action = policy.decide(&evidence, now, 0);
    assert!(
        matches!(action, WatchAction::Measure { version: 2, .. }),
        "{action:?}"
    );
}
