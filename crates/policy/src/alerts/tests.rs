use super::*;
use crate::{BisectedChange, SuiteOnHost, TestColumn, TestHistoryRun, history};
use backsight_model::{
    Better, Boot, Build, Cell, CellMetric, HistoryCell, HistoryTrial, HostName, Layout, Outcome,
    StudyHistory, StudyState, Unit, Version,
};
use backsight_stats::{Random, culprits::IntervalEstimate};
use proptest::prelude::*;
use std::{sync::Arc, time::Duration};

const EPOCH: i64 = 1_600_000_000;

fn version(number: usize) -> Version {
    Version {
        id: format!("v{number}"),
        name: format!("1.{number}"),
        at: Timestamp::from_second(EPOCH + 86_400 * number as i64).ok(),
        title: String::new(),
        release: false,
        amendments: Vec::new(),
    }
}

fn metric(number: usize) -> CellMetric {
    CellMetric {
        name: format!("m{number}").parse().unwrap(),
        unit: Unit::parse("s").unwrap(),
        better: Better::Lower,
        about: String::new(),
        primary: number == 0,
        monitor: None,
        simulator: None,
    }
}

/// A study that measured each version once: `value` of metric and version.
fn study(
    metrics: usize,
    versions: usize,
    mut value: impl FnMut(usize, usize) -> f64,
) -> StudyHistory {
    let began = Timestamp::from_second(EPOCH).unwrap();
    let numbers = 0..versions;
    StudyHistory {
        study: 1,
        name: "study".parse().unwrap(),
        began,
        state: StudyState::Finished,
        versions: numbers.clone().map(version).collect(),
        sides: false,
        testbeds: Vec::new(),
        builds: numbers
            .clone()
            .map(|at| Build {
                compilers: Vec::new(),
                number: at as u32 + 1,
                version: at,
                layout: Layout::default(),
                key: format!("build {at}"),
                quirks: Vec::new(),
                failure: None,
                cached: false,
                began,
                took: Duration::ZERO,
                log: None,
            })
            .collect(),
        boots: numbers
            .clone()
            .map(|at| Boot {
                testbed: 0,
                number: at as u32 + 1,
                build: at as u32 + 1,
                ordinal: 1,
                failure: None,
                began,
                took: Duration::ZERO,
                facts: Default::default(),
                log: None,
            })
            .collect(),
        cells: vec![HistoryCell {
            cell: Cell {
                benchmark: "work".parse().unwrap(),
                params: Default::default(),
                chosen: Vec::new(),
                variant: "default".parse().unwrap(),
                monitors: None,
            },
            key: "question".into(),
            metrics: (0..metrics).map(metric).collect(),
        }],
        trials: numbers
            .map(|at| HistoryTrial {
                began,
                number: at as u32 + 1,
                boot: at as u32 + 1,
                cell: 0,
                round: 1,
                failure: None,
                samples: (0..metrics).map(|metric| vec![value(metric, at)]).collect(),
                took: Duration::from_secs(1),
                neighbours: 0.0,
            })
            .collect(),
    }
}

/// Levels with noise: 100 at first, so much more from each of these versions on.
fn levels(steps: &[(usize, f64)], at: usize, random: &mut Random) -> f64 {
    let taken = steps.iter().filter(|(place, _)| at >= *place);
    100.0 + taken.map(|(_, size)| size).sum::<f64>() + random.normal()
}

fn acceptance(version: usize) -> Acceptance {
    Acceptance {
        target: "app".parse().unwrap(),
        version: format!("v{version}"),
        name: format!("1.{version}"),
        metric: None,
        reason: "safer".to_owned(),
        work_around: None,
        by: "Ann".to_owned(),
        at: Timestamp::from_second(EPOCH).unwrap(),
        until: None,
    }
}

#[test]
fn three_changes_of_sixty_metrics_are_three_alerts() {
    // Changes as large as five times the noise, and twice: whose stretches often miss them.
    for (size, most_alerts) in [(5.0, 4), (2.0, 5)] {
        for seed in 0..4 {
            let mut random = Random::seeded(seed);
            let steps = [80, 140, 220].map(|place| (place, size));
            let mut history = history(&[study(60, 300, |_, at| levels(&steps, at, &mut random))]);
            let mut alerts = alerts(&history, None);
            assert!(alerts.len() <= most_alerts, "{size} {seed}");
            alerts.sort_by_key(|alert| Reverse(alert.members.len()));
            let mut places: Vec<usize> = alerts.iter().map(|it| it.stretch.at).take(3).collect();
            places.sort_unstable();
            assert_eq!(places, [80, 140, 220], "{size} {seed}");
            assert!(alerts[2].members.len() >= 55, "{size} {seed}");
            // Members whose stretch misses the version are accepted with the others.
            let acceptance = acceptance(140);
            history.accept(std::slice::from_ref(&acceptance), acceptance.at);
            let accepted = super::alerts(&history, None).into_iter();
            let accepted = accepted.filter(|alert| alert.acceptance.is_some());
            let places: Vec<usize> = accepted.map(|it| it.stretch.at).collect();
            assert_eq!(places, [140], "{size} {seed}");
        }
    }
}

#[test]
fn the_worst_is_first_and_the_newest_of_alike_ones() {
    let mut random = Random::seeded(1);
    let history = history(&[study(1, 120, |_, at| {
        // Better by 20 %, worse by 4 %, by 10 %, by 13 %.
        levels(
            &[(20, -20.0), (45, 3.0), (70, 8.0), (95, 12.0)],
            at,
            &mut random,
        ) * 10.0
    })]);
    let alerts = alerts(&history, None);
    let found: Vec<(usize, AlertKind)> = alerts.iter().map(|it| (it.stretch.at, it.kind)).collect();
    let expected = [
        (95, AlertKind::Worse),
        (70, AlertKind::Worse),
        (45, AlertKind::Worse),
        (20, AlertKind::Better),
    ];
    assert_eq!(found, expected);
}

#[test]
fn what_came_back_is_fixed_and_last() {
    let mut random = Random::seeded(1);
    let steps = [(20, 10.0), (50, -10.0), (80, 5.0)];
    let mut history = history(&[study(3, 100, |_, at| levels(&steps, at, &mut random))]);
    let places = |history: &TargetHistory| -> Vec<(usize, bool, bool)> {
        let alerts = alerts(history, None).into_iter();
        let told = alerts.map(|it| (it.stretch.at, it.is_fixed, it.acceptance.is_some()));
        told.collect()
    };
    let first = [(80, false, false), (50, false, false), (20, true, false)];
    assert_eq!(places(&history), first);
    let acceptance = acceptance(80);
    history.accept(std::slice::from_ref(&acceptance), acceptance.at);
    let accepted = [(50, false, false), (20, true, false), (80, false, true)];
    assert_eq!(places(&history), accepted);
    let only_one = Acceptance {
        metric: Some("m1".to_owned()),
        ..acceptance
    };
    history.accept(std::slice::from_ref(&only_one), only_one.at);
    assert_eq!(places(&history), first, "two of three aren't accepted");
}

#[test]
fn what_was_said_is_about_the_alert_that_may_lie_at_its_version() {
    let mut random = Random::seeded(2);
    let steps = [(20, 2.0), (50, 8.0)];
    let history = history(&[study(3, 100, |_, at| levels(&steps, at, &mut random))]);
    let triage = |version: usize, state| Triage {
        target: "app".parse().unwrap(),
        version: format!("v{version}"),
        name: format!("1.{version}"),
        state,
        lies_at: None,
        note: None,
        by: "Ann".to_owned(),
        at: Timestamp::from_second(EPOCH).unwrap(),
    };
    let told = |said: &[Triage]| -> Vec<(usize, AlertState)> {
        let mut found = alerts(&history, None);
        triage_alerts(&mut found, &history, said);
        found.iter().map(|it| (it.stretch.at, it.state())).collect()
    };
    use {AlertState::*, TriageState as Said};
    assert_eq!(told(&[]), [(50, New), (20, New)]);
    let elsewhere = triage(70, Said::Invalid);
    assert_eq!(told(&[elsewhere]), [(50, New), (20, New)]);
    let looked = triage(50, Said::Investigating);
    assert_eq!(
        told(std::slice::from_ref(&looked)),
        [(50, Investigating), (20, New)]
    );
    let said = [triage(50, Said::Invalid), looked, triage(50, Said::Fixed)];
    assert_eq!(told(&said), [(20, New), (50, Fixed)], "the last counts");
    // Another version that it may lie at: it was its name when less was measured.
    let vague = alerts(&history, None).remove(1).stretch;
    assert!(vague.until > vague.after.unwrap() + 1, "{vague:?}");
    let other = triage(vague.until, Said::Confirmed);
    assert_eq!(
        told(std::slice::from_ref(&other)),
        [(50, New), (20, Confirmed)]
    );
    // Who says so may know better at which of them it lies; not at one that it can't.
    let moved = |to: usize| Triage {
        lies_at: Some(format!("v{to}")),
        ..other.clone()
    };
    assert_eq!(
        told(&[moved(vague.until)]),
        [(50, New), (vague.until, Confirmed)]
    );
    assert_eq!(told(&[moved(70)]), [(50, New), (20, Confirmed)]);
}

#[test]
fn a_bisection_names_the_place_of_what_was_found_and_adds_what_was_not() {
    let mut random = Random::seeded(3);
    let mut history = history(&[study(2, 60, |metric, at| {
        let steps: &[(usize, f64)] = if metric == 0 { &[(30, 2.5)] } else { &[] };
        levels(steps, at, &mut random)
    })]);
    let series = |name: &str| {
        history
            .series
            .iter()
            .find(|it| it.metric.name.as_str() == name)
    };
    let [found, other] = ["m0", "m1"].map(|name| series(name).unwrap().clone());
    let believed = found.believed().next().unwrap();
    let exact = believed.until;
    let bisected = |series: &VersionSeries, until: usize| BisectedChange {
        study: "bisection".parse().unwrap(),
        cell: series.cell.clone(),
        metric: series.metric.clone(),
        after: format!("v{}", until - 1),
        until: format!("v{until}"),
        probability: 0.97,
        size: Some(IntervalEstimate {
            value: 3.0,
            interval: Interval {
                low: 2.0,
                high: 4.0,
            },
        }),
        percent: Some((
            3.0,
            Interval {
                low: 2.0,
                high: 4.0,
            },
        )),
    };
    history.name_changes(&[bisected(&found, exact), bisected(&other, 10)]);
    let alerts = alerts(&history, None);
    let told: Vec<(usize, usize)> = (alerts.iter())
        .map(|alert| (alert.stretch.at, alert.members.len()))
        .collect();
    assert_eq!(told, [(exact, 1), (10, 1)], "the primary metric first");
    assert!(alerts.iter().all(|alert| alert.worst().is_named));
    assert!(matches!(
        alerts[0].worst().change,
        MemberChange::Found { .. }
    ));
    assert!(matches!(
        alerts[1].worst().change,
        MemberChange::Named { .. }
    ));
}

#[test]
fn a_test_that_fails_since_a_version_is_in_the_alert_of_what_moved_there() {
    let mut random = Random::seeded(1);
    let mut history = history(&[study(1, 100, |_, at| {
        levels(&[(70, 10.0)], at, &mut random)
    })]);
    let columns = (0..100).map(|at| TestColumn {
        id: format!("v{at}"),
        name: format!("1.{at}"),
        at: None,
        title: String::new(),
    });
    let names: Arc<[String]> = ["broken", "mended", "fine"].map(str::to_owned).into();
    let outcome = |fails| if fails { Outcome::Fail } else { Outcome::Pass };
    // Only every second version was tested.
    let runs = (0..100).step_by(2).map(|at| TestHistoryRun {
        suite: SuiteOnHost {
            suite: "unit".to_owned(),
            host: HostName::new("here").unwrap(),
        },
        column: at,
        study: 1,
        trial: at as u32,
        complete: true,
        names: Arc::clone(&names),
        outcomes: vec![
            outcome(at >= 70),
            outcome((20..50).contains(&at)),
            Outcome::Pass,
        ],
        seconds: vec![f32::NAN; 3],
    });
    let tests = TestHistory::new(columns.collect(), &runs.collect::<Vec<_>>());
    let told = |history: &TargetHistory| -> Vec<(usize, usize, AlertKind, bool)> {
        let alerts = alerts(history, Some(&tests)).into_iter();
        let told = alerts.map(|it| (it.stretch.at, it.members.len(), it.kind, it.is_fixed));
        told.collect()
    };
    let expected = [
        (70, 2, AlertKind::Worse, false),
        (50, 1, AlertKind::Better, false),
        (20, 1, AlertKind::Worse, true),
    ];
    assert_eq!(told(&history), expected);
    let first = &alerts(&history, Some(&tests))[0];
    assert_eq!(first.worst().rank.sort, MemberSort::FailingTest);
    history.series.clear();
    let expected = expected.map(|(at, _, kind, is_fixed)| (at, 1, kind, is_fixed));
    assert_eq!(told(&history), expected, "tests alone make alerts");
}

/// What moved where, whatever the order of the series.
fn told(history: &TargetHistory) -> Vec<(ChangeStretch, Vec<(String, ChangeStretch)>)> {
    let members = |alert: &Alert| {
        let named = alert.members.iter().map(|member| match member.change {
            MemberChange::Found { series, .. } => (
                history.series[series].metric.name.to_string(),
                member.stretch,
            ),
            _ => unreachable!("there is nothing else"),
        });
        named.collect()
    };
    let alerts = alerts(history, None);
    (alerts.iter())
        .map(|alert| (alert.stretch, members(alert)))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_believed_change_is_in_one_alert_whatever_the_order(
        seed in any::<u64>(),
        steps in prop::collection::vec((2_usize..38, -8.0..8.0_f64, 0_u8..16), 1..5),
    ) {
        let mut random = Random::seeded(seed);
        // Each step is one of some of the four metrics.
        let history = history(&[study(4, 40, |metric, at| {
            let of_metric = steps.iter().filter(|(_, _, of)| of >> metric & 1 == 1);
            let of_metric: Vec<(usize, f64)> = of_metric.map(|(at, size, _)| (*at, *size)).collect();
            levels(&of_metric, at, &mut random)
        })]);
        let alerts = alerts(&history, None);
        let mut members: Vec<(usize, usize)> = Vec::new();
        for alert in &alerts {
            prop_assert!(alert.stretch.contains(alert.stretch.at));
            for member in &alert.members {
                if let MemberChange::Found { series, change } = member.change {
                    members.push((series, change));
                }
            }
        }
        members.sort_unstable();
        let believed: Vec<(usize, usize)> = (history.series.iter().enumerate())
            .flat_map(|(series, it)| {
                let changes = it.found.changes.iter().enumerate();
                changes.filter(|(_, it)| it.believed).map(move |(change, _)| (series, change))
            })
            .collect();
        prop_assert_eq!(members, believed);
        let mut reversed = history.clone();
        reversed.series.reverse();
        prop_assert_eq!(told(&history), told(&reversed));
    }
}
