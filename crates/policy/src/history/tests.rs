use super::*;
use backsight_model::{Better, Failure, Layout, LayoutKind, Simulator, StudyState, Unit, Value};
use backsight_stats::{Level, Random, changes::DetectedChange};
use proptest::prelude::*;
use std::time::Duration;

const EPOCH: i64 = 1_600_000_000;

pub(super) fn version(number: usize) -> Version {
    Version {
        id: format!("v{number}"),
        name: format!("1.{number}"),
        at: Timestamp::from_second(EPOCH + 86_400 * number as i64).ok(),
        title: String::new(),
        release: number.is_multiple_of(10),
        amendments: Vec::new(),
    }
}

pub(super) fn study(number: i64) -> StudyHistory {
    StudyHistory {
        study: number,
        name: format!("study-{number}").parse().unwrap(),
        began: Timestamp::from_second(EPOCH + number).unwrap(),
        state: StudyState::Finished,
        versions: Vec::new(),
        sides: false,
        testbeds: Vec::new(),
        builds: Vec::new(),
        boots: Vec::new(),
        cells: vec![cell("question")],
        trials: Vec::new(),
    }
}

fn cell(key: &str) -> HistoryCell {
    HistoryCell {
        cell: Cell {
            benchmark: "tbench".parse().unwrap(),
            params: [("clients".parse().unwrap(), Value::Integer(2))]
                .into_iter()
                .collect(),
            chosen: vec!["clients".parse().unwrap()],
            variant: "default".parse().unwrap(),
            monitors: None,
        },
        key: key.into(),
        metrics: vec![CellMetric {
            name: "throughput".parse().unwrap(),
            unit: Unit::parse("bit/s").unwrap(),
            better: Better::Higher,
            about: String::new(),
            primary: true,
            monitor: None,
            simulator: None,
        }],
    }
}

/// A number that looks like noise, between −1 and 1.
pub(super) fn noise(seed: usize) -> f64 {
    let mut x = (seed as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x ^= x >> 29;
    x = x.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x ^= x >> 32;
    (x >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

fn build(
    study: &mut StudyHistory,
    version: usize,
    layout: Layout,
    failure: Option<BuildFailure>,
) -> u32 {
    let number = study.builds.len() as u32 + 1;
    study.builds.push(Build {
        compilers: Vec::new(),
        number,
        version,
        layout,
        key: format!("{}-{layout}", study.versions[version].id),
        quirks: Vec::new(),
        failure,
        cached: false,
        began: study.began,
        took: Duration::ZERO,
        log: None,
    });
    number
}

fn boot(study: &mut StudyHistory, build: u32, ordinal: u32) -> u32 {
    let number = study.boots.len() as u32 + 1;
    study.boots.push(Boot {
        testbed: 0,
        number,
        build,
        ordinal,
        failure: None,
        began: study.began,
        took: Duration::ZERO,
        facts: Default::default(),
        log: None,
    });
    number
}

fn trial(study: &mut StudyHistory, boot: u32, value: Option<f64>) {
    let number = study.trials.len() as u32 + 1;
    study.trials.push(HistoryTrial {
        began: study.began,
        number,
        boot,
        cell: 0,
        round: number,
        failure: value.is_none().then(failure),
        samples: vec![value.into_iter().collect()],
        took: Duration::from_secs(1),
        neighbours: 0.0,
    });
}

fn failure() -> Failure {
    Failure {
        reason: "it crashed".into(),
        host: None,
        role: None,
        phase: None,
        host_lost: false,
    }
}

/// A study of these versions, of these boots of each, three trials a boot; 10 % slower from version `step` on.
pub(crate) fn measured(
    number: i64,
    versions: &[usize],
    boots: &[u32],
    step: usize,
) -> StudyHistory {
    let mut study = StudyHistory {
        versions: versions.iter().map(|at| version(*at)).collect(),
        ..study(number)
    };
    for (position, at) in versions.iter().enumerate() {
        let built = build(&mut study, position, Layout::default(), None);
        for ordinal in boots {
            let started = boot(&mut study, built, *ordinal);
            for repeat in 0..3 {
                let level = if *at >= step { 90.0 } else { 100.0 };
                let seed = at * 1000 + *ordinal as usize * 10 + repeat;
                trial(&mut study, started, Some(level + noise(seed)));
            }
        }
    }
    study
}

fn all(until: usize) -> Vec<usize> {
    (0..until).collect()
}

#[test]
fn a_planted_step_is_found_at_the_right_version() {
    let history = history(&[measured(1, &all(40), &[1, 2], 25)]);
    let [series] = &history.series[..] else {
        panic!("one question, one series")
    };
    assert_eq!(series.found.how, DetectionMethod::Searched);
    let changes: Vec<&ChangePoint> = series.believed().collect();
    assert_eq!(changes.len(), 1, "{changes:?}");
    assert_eq!(
        (changes[0].after, changes[0].at, changes[0].until),
        (Some(24), 25, 25)
    );
    assert_eq!(changes[0].direction, crate::ChangeDirection::Worse);
    let (percent, interval) = crate::change_percent(&changes[0].change).unwrap();
    assert!(
        (percent + 10.0).abs() < 1.0 && interval.contains(percent),
        "{percent}"
    );
}

#[test]
fn a_step_before_the_last_few_versions_is_in_the_history() {
    for (versions, step) in [(40, 35), (40, 37), (24, 21), (12, 9)] {
        let history = history(&[measured(1, &all(versions), &[1, 2], step)]);
        let found = &history.series[0].found;
        let places: Vec<usize> = found.changes.iter().map(|change| change.at).collect();
        assert_eq!(places, [step], "{versions}");
        assert!(found.changes[0].believed);
        assert_eq!(found.pending, None);
    }
}

#[test]
fn one_version_that_is_off_is_pending_and_no_change() {
    let history = history(&[measured(1, &all(40), &[1], 39)]);
    let found = &history.series[0].found;
    assert_eq!(found.changes, []);
    let pending = found.pending.as_ref().unwrap();
    assert_eq!((pending.point.at, pending.versions), (39, 1));
    assert_eq!(pending.point.direction, crate::ChangeDirection::Worse);
    assert!(!pending.point.believed && (1..=2).contains(&pending.to_come));
}

#[test]
fn five_versions_measured_repeatedly_show_a_step_too() {
    let history = history(&[measured(1, &all(5), &[1, 2, 3], 3)]);
    let series = &history.series[0];
    assert_eq!(series.found.how, DetectionMethod::Compared);
    let changes: Vec<&ChangePoint> = series.believed().collect();
    assert_eq!(changes.len(), 1, "{changes:?}");
    assert_eq!((changes[0].after, changes[0].until), (Some(2), 3));
}

#[test]
fn what_repeats_exactly_differs_by_any_difference() {
    let mut study = measured(1, &all(4), &[1], 99);
    for trial in &mut study.trials {
        trial.samples = vec![vec![if trial.boot > 2 { 1050.0 } else { 1000.0 }]];
    }
    let history = history(&[study]);
    let changes = &history.series[0].found.changes;
    assert_eq!(changes.len(), 1);
    assert_eq!((changes[0].at, changes[0].change.size), (2, 50.0));
    assert_eq!(changes[0].change.probability, 1.0);
}

/// A study whose only metric a simulator counts: these values, two trials on each of two boots of each version.
fn counted(values: &[f64]) -> StudyHistory {
    let versions: Vec<usize> = all(values.len());
    let mut study = measured(1, &versions, &[1, 2], usize::MAX);
    study.cells[0].metrics[0].simulator = Some(Simulator::Icount(2));
    for trial in &mut study.trials {
        // Two boots of each version, in order.
        let version = (trial.boot as usize - 1) / 2;
        trial.samples = vec![vec![values[version]]];
    }
    study
}

#[test]
fn a_version_that_a_simulator_counts_alike_has_a_value_and_no_interval() {
    let history = history(&[counted(&[828.813; 5])]);
    let series = &history.series[0];
    assert_eq!(
        (&series.found.changes[..], series.found.doubted),
        (&[][..], None)
    );
    for point in &series.points {
        assert_eq!(
            (point.value, point.interval, point.alike),
            (Some(828.813), None, true)
        );
        let spreads = [point.again, point.reboot].map(|spread| spread.unwrap().deviation);
        assert_eq!((spreads, point.unstable), ([0.0; 2], false));
    }
}

#[test]
fn fifty_instructions_more_in_one_of_five_versions_are_a_change_up_and_one_down() {
    let history = history(&[counted(&[828.813, 828.813, 1028.813, 828.813, 828.813])]);
    let changes: Vec<&ChangePoint> = history.series[0].believed().collect();
    let places: Vec<_> = changes.iter().map(|c| (c.after, c.at, c.until)).collect();
    assert_eq!(places, [(Some(1), 2, 2), (Some(2), 3, 3)]);
    assert!(changes.iter().all(|change| change.alike));
}

#[test]
fn long_series_without_any_spread_are_searched_as_others_are() {
    for (step, expected) in [(99, 0), (20, 1)] {
        let values: Vec<f64> = (0..40)
            .map(|at| if at < step { 100.1 } else { 100.2 })
            .collect();
        let history = history(&[counted(&values)]);
        let found = &history.series[0].found;
        assert_eq!(found.changes.len(), expected, "{found:?}");
        assert_eq!(found.epochs, []);
        for point in &found.changes {
            let DetectedChange {
                at,
                size,
                p,
                probability,
                ..
            } = point.change;
            assert_eq!(at, step);
            assert!(
                (size - 0.1).abs() < 1e-9 && p < 0.05 && probability > 0.9,
                "{found:?}"
            );
        }
    }
}

#[test]
fn every_level_of_a_metric_without_noise_is_told_from_the_next() {
    // Instructions of eleven releases of a compression library: up, five times down, and up again.
    let levels = [
        63_216.0, 63_216.9, 64_810.9, 61_541.8, 61_074.3, 60_228.2, 59_700.1, 63_224.1, 63_234.3,
        64_148.2, 66_426.9,
    ];
    let mut study = study(1);
    for (at, level) in levels.iter().enumerate() {
        study.versions.push(version(at));
        let number = build(&mut study, at, Layout::default(), None);
        for ordinal in 1..4 {
            let boot = boot(&mut study, number, ordinal);
            for repeat in 0..3 {
                let seed = at * 12 + ordinal as usize * 3 + repeat;
                trial(&mut study, boot, Some(level + 0.4 * noise(seed)));
            }
        }
    }
    let once = {
        let mut study = study.clone();
        study.trials.retain(|trial| trial.boot % 3 == 1);
        study
    };
    let history_of = |study| history(&[study]);
    let history = history_of(study);
    let changes = &history.series[0].found.changes;
    let places: Vec<usize> = changes.iter().map(|change| change.at).collect();
    assert_eq!(places, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], "{changes:#?}");
    // Of one session a version, only what no weather of sessions makes: not the 0.02 % at the eighth.
    let changes = &history_of(once).series[0].found.changes;
    let places: Vec<usize> = changes.iter().map(|change| change.at).collect();
    assert_eq!(places, [2, 3, 4, 5, 6, 7, 9, 10], "{changes:#?}");
}

#[test]
fn a_flat_history_has_no_change() {
    for versions in [6, 15, 60] {
        let history = history(&[measured(1, &all(versions), &[1, 2, 3], 99)]);
        assert_eq!(history.series[0].found.changes, [], "{versions}");
    }
}

#[test]
fn a_change_between_versions_that_were_not_measured_is_said_to_be_there() {
    let mut study = measured(1, &all(40), &[1], 20);
    study
        .trials
        .retain(|trial| !(18..22).contains(&(trial.boot as usize - 1)));
    let history = history(&[study]);
    let change = &history.series[0].found.changes[0];
    assert_eq!((change.after, change.at), (Some(17), 22));
    assert_eq!(history.versions[19].standing, VersionStanding::Pending);
}

#[test]
fn broken_versions_say_why_and_are_no_zeros() {
    let mut study = measured(1, &all(4), &[1], 99);
    let lost = |study: &mut StudyHistory, at: usize| {
        study.trials.retain(|trial| trial.boot as usize != at + 1);
    };
    lost(&mut study, 1);
    study.builds[1].failure = Some(BuildFailure::Broken("no rule to make target".into()));
    lost(&mut study, 2);
    study.boots[2].failure = Some("it panicked".into());
    study.builds[2].quirks = vec!["needs an older compiler".into()];
    let failed = study.trials.iter_mut().filter(|trial| trial.boot == 4);
    failed.for_each(|trial| trial.failure = Some(failure()));
    let history = history(&[study]);
    let standings: Vec<(&str, Option<&str>)> = history
        .versions
        .iter()
        .map(|version| (version.standing.as_str(), version.standing.reason()))
        .collect();
    assert_eq!(
        standings,
        [
            ("measured", None),
            ("broken", Some("no rule to make target")),
            ("unbootable", Some("it panicked")),
            ("failed", Some("it crashed")),
        ]
    );
    assert_eq!(history.versions[2].quirks, ["needs an older compiler"]);
    assert_eq!(history.failed, 3);
    let points = &history.series[0].points;
    assert_eq!(points.len(), 2);
    assert_eq!((points[1].value, points[1].counts.failed), (None, 3));
}

#[test]
fn trials_without_a_boot_are_left_out_and_counted() {
    let mut study = measured(1, &all(3), &[1], 99);
    trial(&mut study, 0, Some(1.0));
    trial(&mut study, 77, Some(1.0));
    let history = history(&[study]);
    assert_eq!(history.unplaced, 2);
    assert!(
        history.series[0]
            .points
            .iter()
            .all(|point| point.counts.samples == 3)
    );
}

#[test]
fn spreads_of_trials_boots_and_layouts_stand_beside_each_other() {
    let mut study = StudyHistory {
        versions: vec![version(0)],
        ..study(1)
    };
    for seed in 1..=4_u32 {
        let layout = Layout {
            kind: LayoutKind::Random,
            seed,
        };
        let built = build(&mut study, 0, layout, None);
        for ordinal in 1..=3 {
            let started = boot(&mut study, built, ordinal);
            for repeat in 0..3 {
                let value = 100.0
                    + 10.0 * f64::from(seed)
                    + 2.0 * f64::from(ordinal)
                    + 0.1 * f64::from(repeat);
                trial(&mut study, started, Some(value));
            }
        }
    }
    let history = history(&[study]);
    let point = &history.series[0].points[0];
    let deviation = |spread: Option<LevelSpread>| spread.unwrap().deviation;
    assert!((deviation(point.again) - 0.1).abs() < 1e-9);
    assert!((deviation(point.reboot) - 2.0).abs() < 1e-9);
    assert!((deviation(point.relink) - 12.909_944).abs() < 1e-5);
    assert_eq!(
        point.counts,
        RepeatCounts {
            layouts: 4,
            builds: 4,
            boots: 12,
            sessions: 12,
            trials: 36,
            samples: 36,
            failed: 0
        }
    );
    assert!((point.value.unwrap() - 129.1).abs() < 1e-9);
    assert!(point.interval.unwrap().width() > 4.0 * 12.9 / 2.0);
}

#[test]
fn a_restless_version_is_unstable() {
    let mut study = measured(1, &all(12), &[1], 99);
    for trial in study.trials.iter_mut().filter(|trial| trial.boot == 6) {
        for value in &mut trial.samples[0] {
            *value = 100.0 + 30.0 * (*value - 100.0);
        }
    }
    let history = history(&[study]);
    let unstable: Vec<usize> = history.series[0]
        .points
        .iter()
        .filter(|point| point.unstable)
        .map(|point| point.version)
        .collect();
    assert_eq!(unstable, [5]);
}

#[test]
fn another_definition_is_another_series_that_says_so() {
    let mut second = measured(2, &all(3), &[1], 99);
    second.cells = vec![cell("another question")];
    let history = history(&[measured(1, &all(3), &[1], 99), second]);
    let names: Vec<String> = history.series.iter().map(VersionSeries::name).collect();
    assert_eq!(
        names,
        [
            "tbench clients=2 throughput (as measured since study-1)",
            "tbench clients=2 throughput (as measured since study-2)"
        ]
    );
}

#[test]
fn no_studies_have_no_history() {
    assert_eq!(history(&[]), TargetHistory::default());
}

/// A study of forty versions and thirty metrics, of which the first has a step.
fn thirty_metrics() -> StudyHistory {
    let mut study = measured(1, &all(40), &[1], 25);
    let metric = study.cells[0].metrics[0].clone();
    study.cells[0].metrics = (0..30)
        .map(|n| CellMetric {
            name: format!("metric-{n}").parse().unwrap(),
            ..metric.clone()
        })
        .collect();
    for trial in &mut study.trials {
        let first = trial.samples[0].clone();
        trial.samples = (0..30)
            .map(|n| match n {
                0 => first.clone(),
                n => vec![noise(trial.number as usize * 100 + n)],
            })
            .collect();
    }
    study
}

#[test]
fn changes_are_doubted_among_many_series() {
    let history = history(&[thirty_metrics()]);
    assert!(
        history.series[0].found.changes[0].adjusted.unwrap()
            >= history.series[0].found.changes[0].change.p
    );
    assert!(history.series[0].found.changes[0].believed);
}

#[test]
fn threads_make_no_difference() {
    let studies = [thirty_metrics(), measured(2, &all(40), &[2, 3], 25)];
    let judged_by = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let judge = || {
            let mut history = history(&studies);
            history.look_for_states(&studies, &HashMap::new());
            history
        };
        // Numbers are written so that they come back bit by bit.
        format!("{:?}", pool.build().unwrap().install(judge))
    };
    assert_eq!(judged_by(1), judged_by(4));
}

#[test]
fn primary_metrics_come_first_and_are_doubted_only_among_themselves() {
    let mut studies = measured(1, &all(40), &[1], 25);
    let metric = studies.cells[0].metrics[0].clone();
    studies.cells[0].metrics = (0..30)
        .map(|n| CellMetric {
            name: format!("metric-{n}").parse().unwrap(),
            primary: n == 29,
            ..metric.clone()
        })
        .collect();
    for trial in &mut studies.trials {
        let last = trial.samples[0].clone();
        trial.samples = (0..30)
            .map(|n| match n {
                29 => last.clone(),
                n => vec![noise(trial.number as usize * 100 + n)],
            })
            .collect();
    }
    let history = history(&[studies]);
    assert_eq!(history.series[0].metric.name.as_str(), "metric-29");
    let change = &history.series[0].found.changes[0];
    assert!(change.believed && change.adjusted.is_none_or(|p| p == change.change.p));
}

/// What a history says without what tells studies apart.
fn said(history: &TargetHistory) -> Vec<(Vec<Option<f64>>, Vec<RepeatCounts>, SeriesFindings)> {
    let series = history.series.iter().map(|series| {
        let points = series.points.iter();
        let mut found = series.found.clone();
        // A change just where the studies meet says so.
        for change in &mut found.changes {
            change.studies = None;
        }
        (
            points.clone().map(|point| point.value).collect(),
            points.map(|point| point.counts).collect(),
            found,
        )
    });
    series.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn permuting_studies_changes_nothing(
        parts in prop::collection::vec(prop::collection::btree_set(0usize..30, 1..25), 1..5),
        turn in 0usize..5,
    ) {
        let studies: Vec<StudyHistory> = (1..)
            .zip(&parts)
            .map(|(number, part)| {
                let part: Vec<usize> = part.iter().copied().collect();
                measured(number, &part, &[number as u32], 15)
            })
            .collect();
        let mut turned = studies.clone();
        turned.rotate_left(turn % studies.len());
        prop_assert_eq!(history(&studies), history(&turned));
        turned.reverse();
        prop_assert_eq!(history(&studies), history(&turned));
    }

    #[test]
    fn one_study_split_in_two_gives_the_same_history(
        cut in 1usize..29,
        step in 0usize..30,
        boots in 1u32..4,
    ) {
        let whole = measured(1, &all(30), &(1..=boots).collect::<Vec<_>>(), step);
        let (early, late): (Vec<usize>, Vec<usize>) = all(30).into_iter().partition(|at| *at < cut);
        let by_version = [
            measured(1, &early, &(1..=boots).collect::<Vec<_>>(), step),
            measured(2, &late, &(1..=boots).collect::<Vec<_>>(), step),
        ];
        let by_boot: Vec<StudyHistory> = (1..=boots)
            .map(|boot| measured(i64::from(boot), &all(30), &[boot], step))
            .collect();
        prop_assert_eq!(said(&history(&by_version)), said(&history(std::slice::from_ref(&whole))));
        prop_assert_eq!(said(&history(&by_boot)), said(&history(&[whole])));
    }
}

/// What gates say of a history: broken, missing, stale, too short; each by the kinds of its gaps.
fn gaps(studies: &[StudyHistory], oldest: Option<Timestamp>) -> [Vec<String>; 4] {
    let history = history(studies);
    let series: Vec<&VersionSeries> = history.series.iter().collect();
    let said = |gaps: Vec<HistoryGap>| gaps.iter().map(ToString::to_string).collect();
    [
        said(history.broken(&series)),
        said(history.missing(&series)),
        said(history.stale(&series, oldest)),
        said(history.too_short(&series)),
    ]
}

const NONE: [String; 0] = [];

#[test]
fn a_history_that_lacks_nothing_has_no_gaps() {
    let study = measured(1, &all(10), &[1, 2], 99);
    assert_eq!(gaps(&[study], None), [NONE; 4].map(Vec::from));
}

#[test]
fn a_newest_version_that_does_not_build_is_broken_and_the_one_before_it_stale() {
    for (failure, broken) in [
        (BuildFailure::Broken("make: no".into()), true),
        (BuildFailure::Skipped("eats data".into()), false),
    ] {
        let mut study = measured(1, &all(10), &[1, 2], 99);
        study.versions.push(version(10));
        build(&mut study, 10, Layout::default(), Some(failure));
        let [said, missing, stale, short] = gaps(&[study], None);
        assert_eq!(
            (said.len(), stale.len()),
            match broken {
                true => (1, 1),
                false => (0, 0),
            }
        );
        assert_eq!((missing, short), (Vec::new(), Vec::new()));
        if broken {
            assert_eq!(
                said[0],
                "broken: the newest version, 1.10, doesn't build: make: no"
            );
            assert!(
                stale[0].ends_with("the newest measured version is 1.9, and 1.10 is known"),
                "{stale:?}"
            );
        }
    }
}

#[test]
fn a_newest_version_whose_trials_all_failed_is_broken() {
    let mut study = measured(1, &all(10), &[1, 2], 99);
    study.versions.push(version(10));
    let built = build(&mut study, 10, Layout::default(), None);
    let started = boot(&mut study, built, 1);
    trial(&mut study, started, None);
    let [broken, ..] = gaps(std::slice::from_ref(&study), None);
    assert!(
        broken[0].contains("1.10, has only failed trials: it crashed"),
        "{broken:?}"
    );
    // Another cell was measured there: only this one is broken.
    study.cells.push(HistoryCell {
        key: "another".into(),
        ..cell("another")
    });
    study.cells[1].cell.benchmark = "other".parse().unwrap();
    trial(&mut study, started, Some(1.0));
    study.trials.last_mut().unwrap().cell = 1;
    let [broken, _, stale, _] = gaps(&[study], None);
    assert_eq!(
        broken,
        ["broken: every trial of tbench clients=2 failed on 1.10"]
    );
    assert_eq!(stale.len(), 1, "{stale:?}");
}

#[test]
fn a_cell_of_which_nothing_was_measured_is_missing_and_its_other_metrics_speak_for_it() {
    let mut study = measured(1, &all(10), &[1, 2], 99);
    study.cells.push(cell("another"));
    study.cells[1].cell.benchmark = "other".parse().unwrap();
    let [_, missing, _, short] = gaps(std::slice::from_ref(&study), None);
    assert_eq!(
        missing,
        ["missing: nothing was measured of other clients=2"]
    );
    assert_eq!(missing, short);
    // A metric that is never printed isn't the whole cell.
    let mut optional = study.cells[0].metrics[0].clone();
    optional.name = "retransmits".parse().unwrap();
    study.cells.truncate(1);
    study.cells[0].metrics.push(optional);
    let [_, missing, _, short] = gaps(&[study], None);
    assert_eq!((missing, short), (Vec::new(), Vec::new()));
    let nothing = StudyHistory {
        cells: Vec::new(),
        ..measured(1, &[], &[1], 99)
    };
    let [_, missing, _, short] = gaps(&[nothing], None);
    assert_eq!((missing.len(), short.len()), (1, 1));
}

#[test]
fn a_definition_that_was_replaced_is_over_and_not_stale() {
    let old = measured(1, &all(10), &[1, 2], 99);
    let mut new = measured(2, &[8, 9, 10], &[1, 2], 99);
    new.cells = vec![cell("changed")];
    let [_, _, stale, short] = gaps(&[old, new], None);
    assert_eq!((stale, short), (Vec::new(), Vec::new()));
}

#[test]
fn a_version_is_stale_at_an_age_too() {
    let study = measured(1, &all(10), &[1, 2], 99);
    let at = |number| version(number).at;
    let [_, _, stale, _] = gaps(std::slice::from_ref(&study), at(9));
    assert_eq!(stale, NONE);
    let [_, _, stale, _] = gaps(std::slice::from_ref(&study), at(10));
    assert!(stale[0].contains("1.9, of 2020-"), "{stale:?}");
    let mut dateless = study;
    for version in &mut dateless.versions {
        version.at = None;
    }
    let [_, _, stale, _] = gaps(&[dateless], at(9));
    assert!(stale[0].contains("no date"), "{stale:?}");
}

#[test]
fn versions_measured_once_each_are_too_few_to_show_a_change() {
    let mut study = measured(1, &all(3), &[1], 99);
    study.trials.retain(|trial| trial.number % 3 == 1);
    let [_, missing, _, short] = gaps(&[study], None);
    assert_eq!(missing, NONE);
    assert!(
        short[0].contains("3 measured versions can't show a change"),
        "{short:?}"
    );
}

/// A bisection's answer about the series of [`cell`].
fn bisected(study: &str, (after, until): (usize, usize), probability: f64) -> BisectedChange {
    let about = cell("another machine's question");
    BisectedChange {
        study: study.parse().unwrap(),
        cell: about.cell,
        metric: about.metrics[0].clone(),
        after: version(after).id,
        until: version(until).id,
        probability,
        size: Some(backsight_stats::culprits::IntervalEstimate {
            value: -0.5,
            interval: backsight_stats::Interval {
                low: -0.7,
                high: -0.3,
            },
        }),
        percent: None,
    }
}

#[test]
fn what_a_bisection_named_is_on_the_series_whatever_the_search_says() {
    let mut history = history(&[measured(1, &all(40), &[1, 2], 25)]);
    let mut other_metric = bisected("other", (3, 4), 0.99);
    other_metric.metric.name = "latency".parse().unwrap();
    let mut unknown = bisected("unknown", (3, 4), 0.99);
    unknown.until = "elsewhere".to_owned();
    history.name_changes(&[
        bisected("unseen", (9, 10), 0.97),
        bisected("seen", (24, 25), 0.96),
        bisected("seen-surer", (24, 25), 0.99),
        other_metric,
        unknown,
    ]);
    let series = &history.series[0];
    let said: Vec<_> = series
        .named
        .iter()
        .map(|named| (named.study.as_str(), named.after, named.at, named.is_found))
        .collect();
    assert_eq!(
        said,
        [("unseen", 9, 10, false), ("seen-surer", 24, 25, true)]
    );
    assert_eq!(
        series.named[0].direction,
        Some(crate::ChangeDirection::Worse)
    );
    assert_eq!(series.only_named().count(), 1);
    // The search says what it said.
    assert_eq!(series.believed().map(|it| it.at).collect::<Vec<_>>(), [25]);
}

/// So many versions of identical code, each measured in one session that has a weather of its own: `apart` times as much as its
/// runs differ.
fn in_sessions(versions: usize, runs: usize, apart: f64, random: &mut Random) -> StudyHistory {
    let mut study = StudyHistory {
        versions: all(versions).into_iter().map(version).collect(),
        ..study(1)
    };
    for at in 0..versions {
        let built = build(&mut study, at, Layout::default(), None);
        let started = boot(&mut study, built, 1);
        let weather = 1000.0 + apart * random.normal();
        for _ in 0..runs {
            trial(&mut study, started, Some(weather + random.normal()));
        }
    }
    study
}

#[test]
fn identical_code_in_sessions_that_differ_shows_no_more_changes_than_promised() {
    let mut random = Random::seeded(19);
    for (versions, apart) in [
        (2, 1.0),
        (3, 1.0),
        (5, 1.0),
        (5, 3.0),
        (7, 3.0),
        (8, 3.0),
        (12, 1.0),
        (12, 3.0),
        (19, 3.0),
        (40, 3.0),
    ] {
        let series = 200;
        let wrong = (0..series).filter(|_| {
            let study = in_sessions(versions, 12, apart, &mut random);
            !history(&[study]).series[0].found.changes.is_empty()
        });
        let wrong = wrong.count();
        eprintln!("{versions} versions, sessions {apart}: {wrong} of {series}");
        // One in twenty, and a little for luck.
        assert!(
            wrong <= 18,
            "{versions} versions, sessions {apart}: {wrong} of {series}"
        );
    }
}

#[test]
fn iterations_of_one_run_a_version_show_no_change_and_no_interval() {
    let mut random = Random::seeded(20);
    let mut study = in_sessions(6, 1, 1.0, &mut random);
    for trial in &mut study.trials {
        let run = trial.samples[0][0];
        trial.samples[0] = (0..200).map(|_| run + 0.1 * random.normal()).collect();
    }
    let history = history(&[study]);
    let series = &history.series[0];
    assert_eq!(series.found.changes, []);
    for point in &series.points {
        assert_eq!((point.level, point.interval), (Some(Level::Sample), None));
    }
    assert!(series.is_of_single_sessions());
    assert_eq!(series.sessions(), Some((1, 1)));
}

#[test]
fn versions_of_one_session_have_the_error_that_sessions_of_others_show() {
    let mut random = Random::seeded(21);
    let (versions, apart) = (6, 5.0);
    let mut study = in_sessions(versions, 10, apart, &mut random);
    // Two of them were booted three more times.
    for at in [0, 1] {
        for ordinal in 2..5 {
            let started = boot(&mut study, at as u32 + 1, ordinal);
            let weather = 1000.0 + apart * random.normal();
            for _ in 0..10 {
                trial(&mut study, started, Some(weather + random.normal()));
            }
        }
    }
    let history = history(&[study]);
    let series = &history.series[0];
    let known = series.spread_of_sessions.unwrap();
    assert_eq!(
        (known.units, known.studies, known.spread.freedom),
        (8, 2, 6)
    );
    for point in &series.points[2..] {
        let width = point.interval.unwrap().width();
        // Runs alone would say ±0.7.
        assert!(width > 8.0, "{width}");
    }
    assert_eq!(series.sessions(), Some((1, 4)));
}

#[test]
fn two_studies_on_one_boot_are_two_sessions() {
    let studies = [1, 2].map(|number| measured(number, &all(3), &[1], 9));
    let history = history(&studies);
    let series = &history.series[0];
    assert!(!series.is_of_single_sessions());
    for point in &series.points {
        assert_eq!(point.level, Some(Level::Session));
        assert_eq!((point.counts.boots, point.counts.sessions), (1, 2));
    }
}

#[test]
fn any_two_versions_are_compared_as_studies_are() {
    use crate::{CompareOptions, DifferenceCall, MissingReason, RowEntry, compare_versions};
    let mut elsewhere = measured(2, &[3, 30], &[1, 2], 25);
    elsewhere.cells = vec![cell("question on another machine")];
    let history = history(&[measured(1, &all(40), &[1, 2], 25), elsewhere]);
    let calls = |versions: &[usize]| {
        let compared = compare_versions(&history, versions, CompareOptions::default());
        let call = |row: &crate::ComparisonRow| {
            let difference = row.entries[1].difference();
            (row.series, difference.map(|difference| difference.call))
        };
        compared.rows.iter().map(call).collect::<Vec<_>>()
    };
    // A question of another machine is a row of its own.
    let worse = Some(DifferenceCall::Worse);
    let mut apart = calls(&[3, 30]);
    apart.sort_by_key(|(series, _)| *series);
    assert_eq!(apart, [(Some(0), worse), (Some(1), worse)]);
    assert_eq!(calls(&[30, 3])[0].1, Some(DifferenceCall::Better));
    let [(Some(0), Some(same))] = calls(&[4, 5])[..] else {
        panic!("a series that neither has is no row")
    };
    assert!(!same.changed(), "{same:?}");
    let compared = compare_versions(&history, &[3, 4, 30], CompareOptions::default());
    let row = compared
        .rows
        .iter()
        .find(|row| row.series == Some(1))
        .unwrap();
    assert_eq!(row.entries[1], RowEntry::Missing(MissingReason::NotYet));
    let sides: Vec<_> = compared
        .sides
        .iter()
        .map(|it| (it.name.as_str(), it.measured, it.sessions))
        .collect();
    assert_eq!(sides, [("1.3", 12, 4), ("1.4", 6, 2), ("1.30", 12, 4)]);
}

#[test]
fn a_version_is_compared_with_itself_in_other_sessions_by_how_sessions_differ() {
    use crate::{CompareOptions, compare_versions};
    // Sessions differ by 2 %, the runs of one hardly: three of each are no proof of a difference.
    let mut histories = Vec::new();
    for number in 1..5 {
        let mut study = measured(number, &all(6), &[1], 100);
        for trial in &mut study.trials {
            let off = 2.0 * noise(trial.boot as usize * 7 + number as usize);
            trial.samples[0][0] = 100.0 + off + trial.samples[0][0] / 1e4;
        }
        if number > 1 {
            study.trials.retain(|trial| trial.boot < 5);
        }
        histories.push(study);
    }
    let history = history(&histories);
    let compared = compare_versions(&history, &[4, 5], CompareOptions::default());
    let difference = compared.rows[0].entries[1].difference().unwrap();
    assert!(difference.known.is_some(), "{difference:?}");
    assert!(!difference.call.changed(), "{difference:?}");
}
