//! Small, fast versions of the quality table, and what must always hold.

use proptest::prelude::*;

use super::*;
use crate::Random;
use crate::simulation::{NoiseShape, steps};

fn found(series: &[f64]) -> Findings {
    detect(series, &DetectionOptions::default()).unwrap()
}

fn places(series: &[f64]) -> Vec<usize> {
    found(series)
        .changes
        .iter()
        .map(|change| change.at)
        .collect()
}

const SHAPES: [NoiseShape; 5] = [
    NoiseShape::Gauss,
    NoiseShape::Lognormal { sigma: 0.5 },
    NoiseShape::Bimodal {
        upper_share: 0.5,
        apart: 4.0,
    },
    NoiseShape::Autoregressive { keep: 0.5 },
    NoiseShape::Outliers {
        share: 0.05,
        far: 10.0,
    },
];

#[test]
fn what_is_no_number_is_refused() {
    assert_eq!(
        detect(&[], &DetectionOptions::default()),
        Err(SamplesError::Empty)
    );
    let bad = detect(&[1.0, f64::NAN], &DetectionOptions::default());
    assert!(matches!(bad, Err(SamplesError::NotFinite { index: 1, .. })));
}

#[test]
fn too_few_points_and_equal_points_have_no_changes() {
    for series in [
        vec![1.0],
        vec![1.0, 9.0],
        vec![1.0, 1.0, 9.0, 9.0, 9.0],
        vec![3.5; 200],
    ] {
        let findings = found(&series);
        assert_eq!(
            (findings.changes, findings.epochs),
            (vec![], vec![]),
            "{series:?}"
        );
    }
}

#[test]
fn a_step_without_any_noise_is_found_exactly() {
    let series: Vec<f64> = (0..70).map(|i| if i < 30 { 10.0 } else { 11.0 }).collect();
    let findings = found(&series);
    let change = &findings.changes[0];
    assert_eq!(
        (
            findings.changes.len(),
            change.at,
            change.before,
            change.after
        ),
        (1, 30, 10.0, 11.0)
    );
    assert_eq!(
        (change.earliest, change.latest, change.probability),
        (30, 30, 1.0)
    );
    assert_eq!(
        change.size_interval,
        Interval {
            low: 1.0,
            high: 1.0
        }
    );
}

#[test]
fn flat_series_seldom_have_changes_whatever_the_noise() {
    for noise in SHAPES {
        let mut random = Random::seeded(21);
        let wrong: usize = (0..150)
            .map(|_| places(&noise.draw(200, &mut random)).len())
            .sum();
        // At most 0.5 a thousand points were 15; with 0.1 a thousand, 3 are expected.
        assert!(wrong <= 9, "{noise:?}: {wrong} in 30,000 points");
    }
}

#[test]
fn a_step_of_two_deviations_is_found_where_it_is_whatever_the_noise() {
    for noise in SHAPES {
        let mut random = Random::seeded(22);
        let hits = (0..100)
            .filter(|_| {
                let series = steps(&[(100, 0.0), (100, 2.0)], noise, &mut random);
                places(&series).iter().any(|at| at.abs_diff(100) <= 5)
            })
            .count();
        assert!(hits >= 88, "{noise:?}: {hits} of 100");
    }
}

#[test]
fn nineteen_alternating_steps_are_all_found() {
    let levels: Vec<(usize, f64)> = (0..20)
        .map(|i| (50, if i % 2 == 0 { 0.0 } else { 3.0 }))
        .collect();
    let mut random = Random::seeded(23);
    for _ in 0..10 {
        let at = places(&steps(&levels, NoiseShape::Gauss, &mut random));
        for step in 1..20 {
            assert!(
                at.iter().any(|at| at.abs_diff(step * 50) <= 5),
                "{step}: {at:?}"
            );
        }
    }
}

#[test]
fn a_few_outliers_in_a_row_are_no_change() {
    let mut series = NoiseShape::Gauss.draw(200, &mut Random::seeded(24));
    series[90] = 40.0;
    series[91] = 35.0;
    assert_eq!(places(&series), Vec::<usize>::new());
}

#[test]
fn a_change_of_the_share_of_two_modes_is_a_change() {
    let mut random = Random::seeded(25);
    let mut mode =
        |share: f64| if random.uniform() < share { 4.4 } else { 1.6 } + 0.05 * random.normal();
    let series: Vec<f64> = (0..200)
        .map(|i| mode(if i < 120 { 0.8 } else { 0.3 }))
        .collect();
    let at = places(&series);
    assert_eq!(at.len(), 1);
    assert!(at[0].abs_diff(120) <= 8, "{at:?}");
}

#[test]
fn a_noisier_machine_is_an_epoch_and_no_change() {
    let mut random = Random::seeded(26);
    let mut series = NoiseShape::Gauss.draw(200, &mut random);
    series.extend(
        NoiseShape::Gauss
            .draw(100, &mut random)
            .iter()
            .map(|x| 4.0 * x),
    );
    let findings = found(&series);
    assert_eq!(findings.changes, vec![]);
    assert_eq!(findings.epochs.len(), 1);
    let epoch = &findings.epochs[0];
    assert!(
        epoch.at.abs_diff(200) <= 8 && epoch.after > 2.5 * epoch.before,
        "{epoch:?}"
    );
}

#[test]
fn a_wandering_level_is_described_by_few_lines() {
    let series: Vec<f64> = (0..80)
        .map(|i| {
            if i < 50 {
                2.0 * f64::from(i)
            } else {
                200.0 - f64::from(i)
            }
        })
        .collect();
    let findings = found(&series);
    assert_eq!(findings.changes.len(), 1);
    assert_eq!(
        (findings.changes[0].kind, findings.changes[0].at),
        (ChangeKind::Trend, 50)
    );
}

#[test]
fn short_stationary_series_seldom_look_restless() {
    let mut random = Random::seeded(30);
    for keep in [0.0, 0.5] {
        for n in [12, 20, 30, 60] {
            let wrong = (0..200)
                .filter(|_| {
                    !places(&NoiseShape::Autoregressive { keep }.draw(n, &mut random)).is_empty()
                })
                .count();
            assert!(wrong <= 8, "{keep} {n}: {wrong} of 200");
        }
    }
}

#[test]
fn a_steady_slope_has_no_change() {
    let mut random = Random::seeded(27);
    let series: Vec<f64> = (0..100).map(|i| f64::from(i) + random.normal()).collect();
    assert_eq!(places(&series), Vec::<usize>::new());
}

#[test]
fn places_and_sizes_lie_in_their_intervals_as_often_as_stated() {
    for (noise, step) in [
        (NoiseShape::Gauss, 1.0),
        (NoiseShape::Gauss, 2.0),
        (NoiseShape::Autoregressive { keep: 0.5 }, 2.0),
    ] {
        let mut random = Random::seeded(28);
        let (mut found_any, mut placed, mut sized) = (0.0, 0.0, 0.0);
        for _ in 0..200 {
            let series = steps(&[(80, 0.0), (120, step)], noise, &mut random);
            let findings = found(&series);
            let Some(change) = findings
                .changes
                .iter()
                .min_by_key(|change| change.at.abs_diff(80))
            else {
                continue;
            };
            found_any += 1.0;
            placed += f64::from(u8::from(change.earliest <= 80 && 80 <= change.latest));
            sized += f64::from(u8::from(change.size_interval.contains(step)));
        }
        assert!(
            placed / found_any >= 0.85,
            "{noise:?} {step}: place {}",
            placed / found_any
        );
        assert!(
            sized / found_any >= 0.85,
            "{noise:?} {step}: size {}",
            sized / found_any
        );
    }
}

#[test]
fn what_is_not_found_is_said() {
    let findings = found(&NoiseShape::Gauss.draw(200, &mut Random::seeded(29)));
    let least = findings.least_found.unwrap();
    assert!((0.5..1.2).contains(&least), "{least}");
    assert!(findings.doubted.unwrap().p > 0.03);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn unit_and_direction_change_nothing(seed in 0..1000_u64, scale in 1e-6..1e6f64, shift in -1e3..1e3f64) {
        let series = steps(&[(40, 0.0), (50, 2.0), (30, -1.0)], NoiseShape::Gauss, &mut Random::seeded(seed));
        let here = places(&series);
        let there: Vec<f64> = series.iter().map(|x| (x + shift) * -scale).collect();
        prop_assert_eq!(here, places(&there));
    }

    #[test]
    fn the_unit_of_a_short_history_changes_nothing(seed in 0..1000_u64, power in -9..9_i32) {
        let series = steps(&[(17, 0.0), (3, 4.5)], NoiseShape::Gauss, &mut Random::seeded(seed));
        // A power of two rounds nothing.
        let there: Vec<f64> = series.iter().map(|x| x * 16_f64.powi(power)).collect();
        prop_assert_eq!(places(&series), places(&there));
    }

    #[test]
    fn findings_are_in_order_and_in_the_series(values in prop::collection::vec(-5..5_i32, 1..120)) {
        let series: Vec<f64> = values.iter().map(|&x| f64::from(x)).collect();
        let findings = found(&series);
        let mut last = 0;
        for change in &findings.changes {
            prop_assert!(last < change.at && change.at < series.len());
            prop_assert!(change.earliest <= change.at && change.at <= change.latest);
            prop_assert!((0.0..=1.0).contains(&change.p) && (0.0..=1.0).contains(&change.probability));
            prop_assert!(change.size_interval.low <= change.size && change.size <= change.size_interval.high);
            last = change.at;
        }
    }

    #[test]
    fn no_finite_values_are_too_much(
        values in prop::collection::vec(prop::num::f64::NORMAL | prop::num::f64::ZERO | prop::num::f64::SUBNORMAL, 1..80),
    ) {
        prop_assert!(detect(&values, &DetectionOptions::default()).is_ok());
        let mut watch = OnlineDetector::new(Vec::new(), DetectionOptions::default()).unwrap();
        for value in values {
            prop_assert!(watch.push(value).is_ok());
        }
    }
}

#[test]
fn a_series_that_never_varies_keeps_nothing_of_a_deviation_that_it_has_not() {
    let findings = detect(&[5.0; 100], &DetectionOptions::default()).unwrap();
    assert_eq!((findings.kept, findings.noise), (0.0, 0.0));
    assert!(findings.changes.is_empty() && findings.epochs.is_empty());
}

/// Where the steps of such levels are.
fn true_places(levels: &[(usize, f64)]) -> Vec<usize> {
    let mut at = 0;
    let ends = levels[..levels.len() - 1].iter().map(|(points, _)| {
        at += points;
        at
    });
    ends.collect()
}

/// The share of 60 drawn series in which exactly these steps are found, within one version.
fn share_found(levels: &[(usize, f64)], noise: NoiseShape, seed: u64) -> f64 {
    let mut random = Random::seeded(seed);
    let truth = true_places(levels);
    let hits = (0..60).filter(|_| {
        let found = places(&steps(levels, noise, &mut random));
        found.len() == truth.len() && found.iter().zip(&truth).all(|(a, b)| a.abs_diff(*b) <= 1)
    });
    hits.count() as f64 / 60.0
}

#[test]
fn clear_steps_of_short_histories_are_found() {
    let histories: [&[(usize, f64)]; 9] = [
        &[(34, 0.0), (5, -17.0)],
        &[(35, 0.0), (5, 10.0)],
        &[(36, 0.0), (3, 10.0)],
        &[(20, 0.0), (5, 5.0)],
        &[(12, 0.0), (12, 5.0)],
        &[(5, 0.0), (15, 10.0)],
        &[(11, 0.0), (15, 10.0), (6, 40.0), (7, 18.0)],
        &[(10, 0.0), (10, 7.0), (10, 0.0), (10, 7.0)],
        &[(60, 0.0), (60, 3.0), (60, -2.0)],
    ];
    for levels in histories {
        let share = share_found(levels, NoiseShape::Gauss, 31);
        assert!(share >= 0.95, "{levels:?}: {share}");
    }
}

#[test]
fn a_step_before_the_last_few_versions_is_found_in_series_of_any_length() {
    for n in [20, 40, 80, 200] {
        for (behind, size) in [(2, 10.0), (3, 5.0), (5, 5.0), (10, 5.0)] {
            let share = share_found(&[(n - behind, 0.0), (behind, size)], NoiseShape::Gauss, 32);
            // Of 60, where .95 and more are found at length.
            assert!(share >= 0.88, "{behind} of {n} at {size}: {share}");
        }
    }
}

#[test]
fn short_flat_series_seldom_have_changes_whatever_the_noise() {
    for (noise, most) in [
        (NoiseShape::Gauss, 3),
        (NoiseShape::Lognormal { sigma: 1.0 }, 5),
        (NoiseShape::Autoregressive { keep: 0.5 }, 12),
        (NoiseShape::Autoregressive { keep: 0.8 }, 40),
        (
            NoiseShape::Outliers {
                share: 0.05,
                far: 10.0,
            },
            5,
        ),
    ] {
        let mut random = Random::seeded(33);
        let wrong: usize = [10, 20, 40, 80]
            .into_iter()
            .map(|n| {
                let series = (0..4000 / n).map(|_| noise.draw(n, &mut random));
                series.map(|series| places(&series).len()).sum::<usize>()
            })
            .sum();
        assert!(wrong <= most, "{noise:?}: {wrong} in 16,000 points");
    }
}

#[test]
fn one_version_far_off_is_pending_at_once_and_no_change() {
    let mut random = Random::seeded(34);
    for n in [20, 40, 200] {
        let said = (0..60).filter(|_| {
            let series = steps(
                &[(n - 1, 100.0), (1, 110.0)],
                NoiseShape::Gauss,
                &mut random,
            );
            let findings = found(&series);
            // One elsewhere, by chance, is another matter.
            assert!(findings.changes.iter().all(|change| change.at + 3 < n));
            findings.pending.is_some_and(|pending| {
                pending.change.at == n - 1 && pending.to_come <= 2 && pending.change.size > 6.0
            })
        });
        assert!(said.count() >= 57, "{n}");
        let flat = (0..100).filter(|_| {
            found(&NoiseShape::Gauss.draw(n, &mut random))
                .pending
                .is_some()
        });
        assert!(flat.count() <= 1, "{n}");
    }
}

#[test]
fn what_is_pending_is_a_change_when_as_many_more_as_were_said_have_come() {
    let mut random = Random::seeded(35);
    for _ in 0..40 {
        let mut series = steps(&[(30, 0.0), (1, 10.0)], NoiseShape::Gauss, &mut random);
        let Some(pending) = found(&series).pending else {
            continue;
        };
        series.extend(std::iter::repeat_n(pending.change.after, pending.to_come));
        let findings = found(&series);
        assert_eq!(findings.pending, None);
        assert_eq!(findings.changes.len(), 1, "{series:?}");
        assert!(findings.changes[0].at.abs_diff(30) <= 1);
    }
}

/// The yearly flow of the Nile at Aswan, 1871 to 1970 (G. W. Cobb, "The problem of the Nile", Biometrika 65, 1978).
const NILE: [f64; 100] = [
    1120., 1160., 963., 1210., 1160., 1160., 813., 1230., 1370., 1140., 995., 935., 1110., 994.,
    1020., 960., 1180., 799., 958., 1140., 1100., 1210., 1150., 1250., 1260., 1220., 1030., 1100.,
    774., 840., 874., 694., 940., 833., 701., 916., 692., 1020., 1050., 969., 831., 726., 456.,
    824., 702., 1120., 1100., 832., 764., 821., 768., 845., 864., 862., 698., 845., 744., 796.,
    1040., 759., 781., 865., 845., 944., 984., 897., 822., 1010., 771., 676., 649., 846., 812.,
    742., 801., 1040., 860., 874., 848., 890., 744., 749., 838., 1050., 918., 986., 797., 923.,
    975., 815., 1020., 906., 901., 1170., 912., 746., 919., 718., 714., 740.,
];

/// The population of the United States, in millions, every ten years from 1790 to 1990.
const POPULATION: [f64; 21] = [
    3.9, 5.3, 7.2, 9.6, 12.9, 17.1, 23.2, 31.4, 39.8, 50.2, 62.9, 76.0, 92.0, 105.7, 122.8, 131.7,
    151.3, 179.3, 203.3, 226.5, 248.7,
];

/// Airline passengers by month, in thousands, 1949 to 1960 (G. E. P. Box, G. M. Jenkins, *Time Series Analysis*, 1976).
const PASSENGERS: [f64; 144] = [
    112., 118., 132., 129., 121., 135., 148., 148., 136., 119., 104., 118., 115., 126., 141., 135.,
    125., 149., 170., 170., 158., 133., 114., 140., 145., 150., 178., 163., 172., 178., 199., 199.,
    184., 162., 146., 166., 171., 180., 193., 181., 183., 218., 230., 242., 209., 191., 172., 194.,
    196., 196., 236., 235., 229., 243., 264., 272., 237., 211., 180., 201., 204., 188., 235., 227.,
    234., 264., 302., 293., 259., 229., 203., 229., 242., 233., 267., 269., 270., 315., 364., 347.,
    312., 274., 237., 278., 284., 277., 317., 313., 318., 374., 413., 405., 355., 306., 271., 306.,
    315., 301., 356., 348., 355., 422., 465., 467., 404., 347., 305., 336., 340., 318., 362., 348.,
    363., 435., 491., 505., 404., 359., 310., 337., 360., 342., 406., 396., 420., 472., 548., 559.,
    463., 407., 362., 405., 417., 391., 419., 461., 472., 535., 622., 606., 508., 461., 390., 432.,
];

#[test]
fn the_nile_fell_once() {
    let findings = found(&NILE);
    let [change] = &findings.changes[..] else {
        panic!("{findings:?}")
    };
    assert!(change.at.abs_diff(28) <= 1, "{change:?}");
    assert_eq!((findings.trend, findings.period), (None, None));
}

#[test]
fn growth_is_a_trend_and_no_change() {
    let findings = found(&POPULATION);
    assert_eq!(findings.changes, vec![]);
    let trend = findings.trend.unwrap();
    assert!((230.0..290.0).contains(&trend.size), "{trend:?}");
    assert!(trend.size_interval.contains(trend.size));
}

#[test]
fn a_season_that_grows_with_the_level_is_taken_out_by_its_factors() {
    let findings = found(&PASSENGERS);
    assert_eq!(findings.period, Some(12));
    assert!(findings.changes.len() <= 1, "{:?}", findings.changes);
}

#[test]
fn a_slow_slope_is_a_trend_and_no_steps() {
    let mut random = Random::seeded(36);
    for (n, rise) in [(60, 5.0), (100, 4.0), (200, 3.0), (200, 8.0)] {
        let (mut stepped, mut trends) = (0, 0);
        for _ in 0..40 {
            let noise = NoiseShape::Gauss
                .draw(n, &mut random)
                .into_iter()
                .enumerate();
            let series: Vec<f64> = noise.map(|(i, x)| x + rise * i as f64 / n as f64).collect();
            let findings = found(&series);
            stepped += findings.changes.len();
            trends += usize::from(
                findings
                    .trend
                    .is_some_and(|trend| trend.size_interval.contains(rise)),
            );
        }
        // Two steps each, in a fifth of the series at most.
        assert!(stepped <= 16, "{rise} in {n}: {stepped} steps");
        assert!(trends >= 28, "{rise} in {n}: {trends} trends");
    }
}

#[test]
fn noise_is_told_around_the_trend() {
    let mut random = Random::seeded(38);
    let noise = NoiseShape::Gauss
        .draw(60, &mut random)
        .into_iter()
        .enumerate();
    let series: Vec<f64> = noise.map(|(i, x)| 100.0 * x + 27.0 * i as f64).collect();
    let findings = found(&series);
    assert!(findings.trend.is_some());
    assert_eq!(findings.epochs, vec![]);
    assert!(
        (80.0..120.0).contains(&findings.noise),
        "{}",
        findings.noise
    );
    assert!(findings.kept < 0.4, "{}", findings.kept);
}

#[test]
fn flat_noise_seldom_has_a_trend() {
    for noise in SHAPES {
        let mut random = Random::seeded(37);
        let trends = (0..200).filter(|_| found(&noise.draw(60, &mut random)).trend.is_some());
        assert!(trends.count() <= 2, "{noise:?}");
    }
}

#[test]
fn steps_that_hide_each_other_in_a_short_series_are_found_together() {
    let four: &[(usize, f64)] = &[(5, 0.0), (5, 10.0), (5, 0.0), (5, 10.0)];
    let three: &[(usize, f64)] = &[(6, 0.0), (8, 5.0), (6, 0.0)];
    for (levels, asked) in [(four, 190), (three, 100)] {
        let mut random = Random::seeded(31);
        let truth = true_places(levels);
        let found =
            (0..200).filter(|_| places(&steps(levels, NoiseShape::Gauss, &mut random)) == truth);
        let found = found.count();
        assert!(found >= asked, "{levels:?}: {found} of 200");
    }
}

#[test]
fn a_step_beside_a_slope_is_one_step_and_a_trend() {
    let mut random = Random::seeded(39);
    let (mut exact, mut trends) = (0, 0);
    for _ in 0..40 {
        let noise = NoiseShape::Gauss
            .draw(300, &mut random)
            .into_iter()
            .enumerate();
        let series: Vec<f64> = noise
            .map(|(i, x)| x + 0.01 * i as f64 + if i < 140 { 0.0 } else { 3.0 })
            .collect();
        let findings = found(&series);
        exact += usize::from(
            findings.changes.len() == 1
                && findings.changes[0].at.abs_diff(140) <= 5
                && findings.changes[0].size_interval.contains(3.0),
        );
        let rise = 0.01 * 299.0;
        trends += usize::from(
            findings
                .trend
                .is_some_and(|trend| trend.size_interval.contains(rise)),
        );
    }
    assert!(
        exact >= 26 && trends >= 26,
        "{exact} steps, {trends} trends"
    );
}

#[test]
fn a_level_that_wanders_has_no_steps() {
    let mut random = Random::seeded(40);
    let (mut steps, mut breaks) = (0, 0);
    for _ in 0..60 {
        let mut level = 0.0;
        let series: Vec<f64> = (0..200)
            .map(|_| {
                level += random.normal();
                level
            })
            .collect();
        let changes = found(&series).changes;
        steps += changes
            .iter()
            .filter(|c| c.kind == ChangeKind::Level)
            .count();
        breaks += changes
            .iter()
            .filter(|c| c.kind == ChangeKind::Trend)
            .count();
    }
    assert!(steps <= 3 && breaks <= 25, "{steps} {breaks}");
}

#[test]
fn a_level_that_begins_to_wander_changes_there() {
    let mut random = Random::seeded(41);
    let there = (0..40).filter(|_| {
        let mut level = 0.0;
        let series: Vec<f64> = (0..200)
            .map(|i| {
                level += random.normal() * if i < 80 { 0.02 } else { 1.0 };
                level
            })
            .collect();
        places(&series).iter().any(|at| at.abs_diff(80) <= 5)
    });
    let there = there.count();
    assert!(there >= 20, "{there}");
}

#[test]
fn a_smooth_curve_has_no_period_and_no_steps() {
    let series: Vec<f64> = (0..400)
        .map(|i| {
            let x = f64::from(i) / 400.0;
            100.0 + 80.0 * x + 20.0 * x * x - 30.0 * x * x * x
        })
        .collect();
    let findings = found(&series);
    assert_eq!((findings.period, findings.changes), (None, vec![]));
    assert!(findings.trend.is_some());
}
