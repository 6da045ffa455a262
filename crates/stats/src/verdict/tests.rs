//! The traps of the design, coverage and false alarms in small, and bad input.

use super::*;
use crate::simulation::NoiseShape;
use crate::{NestedSample, Random, intraclass_correlation};

fn plain(values: Vec<f64>) -> NestedSamples {
    NestedSamples::from_independent(Samples::new(values).unwrap())
}

fn around(mean: f64, deviation: f64, noise: &[f64]) -> Vec<f64> {
    noise.iter().map(|x| mean + deviation * x).collect()
}

fn lower() -> VerdictOptions {
    VerdictOptions::new(Better::Lower)
}

/// Blocks of samples that share their block's deviation, so that the intraclass correlation is `icc`.
fn clustered(
    blocks: u64,
    each: usize,
    mean: f64,
    deviation: f64,
    icc: f64,
    random: &mut Random,
) -> NestedSamples {
    let mut placed = Vec::new();
    for trial in 0..blocks {
        let shared = random.normal() * icc.sqrt();
        for _ in 0..each {
            let value = mean + deviation * (shared + (1.0 - icc).sqrt() * random.normal());
            placed.push(NestedSample {
                host: 0,
                layout: 0,
                boot: 0,
                session: 0,
                trial,
                value,
            });
        }
    }
    NestedSamples::new(placed).unwrap()
}

#[test]
fn a_clear_change_is_named_with_its_direction() {
    let mut random = Random::seeded(2);
    let base = plain(around(100.0, 1.0, &NoiseShape::Gauss.draw(20, &mut random)));
    let new = plain(around(105.0, 1.0, &NoiseShape::Gauss.draw(20, &mut random)));
    let slower = verdict(&base, &new, &lower());
    assert_eq!(slower.outcome, VerdictOutcome::Worse);
    assert!(slower.percent_interval.unwrap().contains(5.0), "{slower:?}");
    assert!(slower.p.unwrap() < 1e-6 && slower.ranks.p < 1e-6);
    assert_eq!(
        verdict(&base, &new, &VerdictOptions::new(Better::Higher)).outcome,
        VerdictOutcome::Better
    );
}

#[test]
fn rates_are_compared_by_their_harmonic_means() {
    // Jain (1991), section 12.4: 10 and 30 a second take as long as twice 15.
    let question = VerdictOptions {
        mean: Mean::Harmonic,
        ..VerdictOptions::new(Better::Higher)
    };
    let same = verdict(
        &plain(vec![10.0, 30.0]),
        &plain(vec![15.0, 15.0]),
        &question,
    );
    assert!((same.base - 15.0).abs() < 1e-12 && same.percent.unwrap().abs() < 1e-9);
    assert!(same.difference.abs() < 1e-9);
    let faster = verdict(
        &plain(vec![10.0, 10.4, 9.7, 10.1]),
        &plain(vec![20.0, 20.6, 19.5, 20.1]),
        &question,
    );
    assert_eq!(faster.outcome, VerdictOutcome::Better);
    assert!(
        faster
            .ratio_interval
            .unwrap()
            .contains(faster.ratio.unwrap())
    );
    // Of what stands still there is no harmonic mean.
    let stopped = verdict(
        &plain(vec![0.0, 10.0, 20.0]),
        &plain(vec![30.0, 31.0, 32.0]),
        &question,
    );
    assert_eq!((stopped.mean, stopped.base), (Mean::Arithmetic, 10.0));
}

#[test]
fn equal_samples_have_no_spread_whatever_their_mean_is_rounded_to() {
    let question = VerdictOptions {
        mean: Mean::Harmonic,
        ..VerdictOptions::new(Better::Higher)
    };
    for (value, n) in [(5.0, 3), (0.1, 3), (0.7, 10), (1e-300, 7)] {
        let side = plain(vec![value; n]);
        let same = verdict(&side, &side, &question);
        assert_eq!(
            same.outcome,
            VerdictOutcome::NoChange {
                larger_than_percent: 0.0
            }
        );
    }
}

#[test]
fn a_base_of_zero_leaves_the_difference_with_its_interval() {
    let found = verdict(
        &plain(vec![0.0, 0.0, 0.0]),
        &plain(vec![5.0, 6.0, 5.5]),
        &lower(),
    );
    assert_eq!(found.outcome, VerdictOutcome::Worse);
    assert!(found.percent.is_err() && found.difference == 5.5);
    assert!(found.difference_interval.unwrap().low > 0.0);
}

#[test]
fn many_samples_show_that_nothing_changed() {
    let mut random = Random::seeded(2);
    let mut side = || {
        plain(around(
            100.0,
            1.0,
            &NoiseShape::Gauss.draw(400, &mut random),
        ))
    };
    let same = verdict(&side(), &side(), &lower());
    let VerdictOutcome::NoChange {
        larger_than_percent,
    } = same.outcome
    else {
        panic!("{same:?}")
    };
    assert!(larger_than_percent < 0.5);
}

#[test]
fn few_samples_cannot_tell_and_say_how_many_would() {
    // The same three values again and again: difference and spread stay as they are.
    let side = |values: [f64; 3], n: usize| plain(values.into_iter().cycle().take(n).collect());
    let of = |n: usize| {
        verdict(
            &side([95.0, 100.0, 105.0], n),
            &side([97.0, 102.0, 107.0], n),
            &lower(),
        )
        .outcome
    };
    let VerdictOutcome::CannotTell { more: Some(more) } = of(12) else {
        panic!("{:?}", of(12))
    };
    assert!((10..100).contains(&more), "{more}");
    assert!(matches!(
        of(12 + more - 6),
        VerdictOutcome::CannotTell { .. }
    ));
    assert_eq!(of(12 + more + 6), VerdictOutcome::Worse);
}

#[test]
fn a_trap_a_hundred_samples_in_ten_blocks_are_ten() {
    let mut random = Random::seeded(4);
    let side = clustered(10, 10, 940.0, 20.0, 0.985, &mut random);
    assert!(intraclass_correlation(&side).unwrap() > 0.95);
    let units = side.units();
    assert_eq!((units.level, units.means.len()), (Level::Trial, 10));
    let naive = side.samples().stddev().unwrap() / 10.0;
    let honest = Samples::new(units.means).unwrap().stddev().unwrap() / 10.0_f64.sqrt();
    assert!((2.9..3.5).contains(&(honest / naive)), "{}", honest / naive);
    // Two such sides of one machine differ by chance only, and are not called different.
    let wrong = (0..200)
        .filter(|_| {
            let mut side = || clustered(10, 10, 940.0, 20.0, 0.985, &mut random);
            matches!(
                verdict(&side(), &side(), &lower()).outcome,
                VerdictOutcome::Better | VerdictOutcome::Worse
            )
        })
        .count();
    assert!(wrong <= 18, "{wrong} of 200");
}

#[test]
fn a_trap_two_runs_that_differ_by_their_warm_up() {
    // Packet rates that keep part of their predecessor's deviation; the new run's first four samples are slow.
    let mut random = Random::seeded(10);
    let noise = NoiseShape::Autoregressive { keep: 0.4 };
    let (mut named, mut same) = (0, 0);
    for _ in 0..50 {
        let base = around(1000.0, 10.0, &noise.draw(25, &mut random));
        let mut new = around(1000.0, 10.0, &noise.draw(26, &mut random));
        for (value, slow) in new.iter_mut().zip([150.0, 130.0, 120.0, 90.0]) {
            *value -= slow;
        }
        let found = verdict(
            &plain(base),
            &plain(new),
            &VerdictOptions::new(Better::Higher),
        );
        if let (Some(warm_up), Some(settled)) = (found.order.1.warm_up, found.settled) {
            named += usize::from((4..=6).contains(&warm_up.drop));
            same += usize::from(settled.ratio_interval.unwrap().contains(1.0));
            assert!(settled.ratio.unwrap() > found.ratio.unwrap());
        }
    }
    assert!(named >= 42 && same >= 38, "{named} and {same} of 50");
}

#[test]
fn a_change_of_the_share_of_two_modes_is_a_change() {
    let mut random = Random::seeded(5);
    let mut boots = |slow: usize| {
        let mut values: Vec<f64> = (0..24)
            .map(|i| if i < slow { 1.6 } else { 4.4 } + 0.05 * random.normal())
            .collect();
        random.shuffle(&mut values);
        plain(values)
    };
    let (base, new) = (boots(6), boots(18));
    let found = verdict(&base, &new, &VerdictOptions::new(Better::Higher));
    let modes = found.modes.unwrap();
    assert_eq!((modes.base_high_share, modes.new_high_share), (0.75, 0.25));
    assert_eq!(found.outcome, VerdictOutcome::Worse);
    // A shift of both sides' only mode is no second mode.
    let one = |mean: f64, random: &mut Random| {
        plain(around(mean, 0.05, &NoiseShape::Gauss.draw(24, random)))
    };
    let mut random = Random::seeded(6);
    assert_eq!(
        verdict(&one(1.6, &mut random), &one(4.4, &mut random), &lower()).modes,
        None
    );
}

#[test]
fn one_sample_a_side_cannot_tell() {
    let found = verdict(&plain(vec![1.0]), &plain(vec![2.0]), &lower());
    assert_eq!(found.outcome, VerdictOutcome::CannotTell { more: None });
    assert_eq!(found.ratio, Ok(2.0));
    assert_eq!(found.p, Err(Undefined::TooFew { needs: 2, has: 1 }));
}

#[test]
fn equal_samples_are_compared_as_they_are() {
    let side = |value: f64, n: usize| plain(vec![value; n]);
    let of = |base: NestedSamples, new: NestedSamples| verdict(&base, &new, &lower()).outcome;
    assert_eq!(
        of(side(5.0, 4), side(5.0, 4)),
        VerdictOutcome::NoChange {
            larger_than_percent: 0.0
        }
    );
    assert_eq!(of(side(5.0, 4), side(6.0, 3)), VerdictOutcome::Worse);
    assert_eq!(
        of(side(5.0, 2), side(6.0, 2)),
        VerdictOutcome::CannotTell { more: Some(1) }
    );
    assert_eq!(
        of(side(0.0, 4), side(0.0, 4)),
        VerdictOutcome::NoChange {
            larger_than_percent: 0.0
        }
    );
}

#[test]
fn a_base_of_zero_has_a_difference_but_no_ratio() {
    let mut random = Random::seeded(7);
    let base = plain(vec![0.0; 10]);
    let new = plain(around(5.0, 1.0, &NoiseShape::Gauss.draw(10, &mut random)));
    let lossy = verdict(&base, &new, &lower());
    assert_eq!(
        (lossy.outcome, lossy.ratio),
        (VerdictOutcome::Worse, Err(Undefined::NotPositive))
    );
}

#[test]
fn the_level_is_what_both_sides_repeated() {
    let mut random = Random::seeded(8);
    let mut boots = |count: u64| {
        let placed = (0..count).flat_map(|boot| (0..5).map(move |trial| (boot, trial)));
        NestedSamples::new(
            placed
                .map(|(boot, trial)| NestedSample {
                    host: 0,
                    layout: 0,
                    boot,
                    session: 0,
                    trial,
                    value: 10.0 + random.normal(),
                })
                .collect(),
        )
        .unwrap()
    };
    let (three, one) = (boots(3), boots(1));
    assert_eq!(verdict(&three, &three, &lower()).level, Level::Boot);
    let mixed = verdict(&three, &one, &lower());
    assert_eq!((mixed.level, mixed.units), (Level::Trial, (15, 5)));
}

#[test]
fn a_sorted_file_is_not_taken_for_autocorrelated() {
    let mut values = around(
        100.0,
        1.0,
        &NoiseShape::Gauss.draw(30, &mut Random::seeded(9)),
    );
    values.sort_by(f64::total_cmp);
    let found = verdict(&plain(values.clone()), &plain(values), &lower());
    assert_eq!((found.kept, found.order.0), (0.0, OrderEffects::default()));
}

proptest::proptest! {
    #[test]
    fn the_ratio_of_positive_quantities_is_positive_and_not_wider_than_an_estimate(
        base in proptest::collection::vec(1e-3..1e3f64, 2..8),
        new in proptest::collection::vec(1e-3..1e3f64, 2..8),
        higher in proptest::prelude::any::<bool>(),
    ) {
        let better = if higher { Better::Higher } else { Better::Lower };
        let found = verdict(&plain(base), &plain(new), &VerdictOptions::new(better));
        if let Ok(ratio) = found.ratio_interval {
            proptest::prop_assert!(ratio.low > 0.0, "{ratio:?}");
            proptest::prop_assert!(ratio.high <= 10.0 || ratio.high / ratio.low <= 100.0, "{ratio:?}");
            proptest::prop_assert!(found.percent_interval.unwrap().low > -100.0);
            proptest::prop_assert_eq!(found.percent.unwrap() > 0.0, found.ratio.unwrap() > 1.0);
        }
    }

    #[test]
    fn any_finite_samples_get_a_verdict(
        base in proptest::collection::vec(proptest::num::f64::NORMAL | proptest::num::f64::ZERO, 1..30),
        new in proptest::collection::vec(proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL, 1..30),
    ) {
        let found = verdict(&plain(base), &plain(new), &lower());
        proptest::prop_assert!(found.ratio_interval.is_err() || found.ratio_interval.unwrap().width() >= 0.0);
    }
}

/// How often the interval of the ratio holds 1, for two sides of the same noise.
fn coverage(runs: usize, mut side: impl FnMut() -> NestedSamples) -> f64 {
    let held = (0..runs).filter(|_| {
        verdict(&side(), &side(), &lower())
            .ratio_interval
            .is_ok_and(|ratio| ratio.contains(1.0))
    });
    held.count() as f64 / runs as f64
}

#[test]
fn intervals_hold_the_truth_as_often_as_stated() {
    let shapes = [
        NoiseShape::Gauss,
        NoiseShape::Lognormal { sigma: 0.5 },
        NoiseShape::Bimodal {
            upper_share: 0.5,
            apart: 4.0,
        },
        NoiseShape::Autoregressive { keep: 0.5 },
    ];
    for noise in shapes {
        for n in [10, 30] {
            let mut random = Random::seeded(11);
            let held = coverage(500, || {
                plain(around(100.0, 3.0, &noise.draw(n, &mut random)))
            });
            // 92–98% at ten samples, 93–97% beyond; and what 500 runs may miss of it.
            assert!((0.90..=0.985).contains(&held), "{noise:?} {n}: {held}");
        }
    }
    for icc in [0.5, 0.98] {
        let mut random = Random::seeded(12);
        let held = coverage(300, || clustered(10, 10, 100.0, 3.0, icc, &mut random));
        assert!((0.91..=0.99).contains(&held), "{icc}: {held}");
    }
}

/// Hosts of very different speed, each with a deviation of its own on this side and `each` trials around it; times `factor`.
fn hosts(
    numbers: std::ops::Range<u64>,
    each: u64,
    factor: f64,
    random: &mut Random,
) -> NestedSamples {
    let mut placed = Vec::new();
    for host in numbers {
        let speed = 10.0 * 1.7_f64.powi((host % 7) as i32);
        let centre = speed * factor * (1.0 + 0.01 * random.normal());
        for trial in 0..each {
            placed.push(NestedSample {
                host,
                layout: 0,
                boot: 0,
                session: 1,
                trial,
                value: centre * (1.0 + 0.001 * random.normal()),
            });
        }
    }
    NestedSamples::new(placed).unwrap()
}

#[test]
fn the_same_hosts_on_both_sides_are_each_compared_with_itself() {
    let mut random = Random::seeded(41);
    let base = hosts(0..5, 4, 1.0, &mut random);
    let mut new = hosts(0..5, 4, 1.05, &mut random).placed().to_vec();
    // In whatever order they were measured.
    new.reverse();
    let new = NestedSamples::new(new).unwrap();
    let found = verdict(&base, &new, &lower());
    assert_eq!(
        (found.level, found.units, found.paired),
        (Level::Host, (5, 5), true)
    );
    assert_eq!(found.outcome, VerdictOutcome::Worse, "{found:?}");
    assert!(found.percent_interval.unwrap().contains(5.0), "{found:?}");
    assert!(found.percent_interval.unwrap().width() < 6.0, "{found:?}");
    // A host says nothing of the next: no order, no modes.
    assert_eq!((found.kept, found.settled, found.modes), (0.0, None, None));
    // Many trials of few hosts are few.
    let many = hosts(0..2, 500, 1.0, &mut random);
    let again = hosts(0..2, 500, 1.02, &mut random);
    let two = verdict(&many, &again, &lower());
    assert!(
        matches!(two.outcome, VerdictOutcome::CannotTell { more: Some(_) }),
        "{two:?}"
    );
}

#[test]
fn hosts_that_the_sides_do_not_share_are_repeats_like_any_other() {
    let mut random = Random::seeded(42);
    let base = hosts(0..5, 4, 1.0, &mut random);
    let new = hosts(10..15, 4, 1.05, &mut random);
    let found = verdict(&base, &new, &lower());
    assert_eq!(
        (found.level, found.units, found.paired),
        (Level::Host, (5, 5), false)
    );
    assert!(matches!(found.outcome, VerdictOutcome::CannotTell { .. }));
}

#[test]
fn hosts_that_count_alike_are_alike_and_such_as_have_no_ratio_keep_their_difference() {
    let of = |values: &[f64]| {
        let placed = values.iter().zip(0..).map(|(value, host)| NestedSample {
            host,
            layout: 0,
            boot: 0,
            session: 1,
            trial: 1,
            value: *value,
        });
        NestedSamples::new(placed.collect()).unwrap()
    };
    let counts = of(&[1000.0, 2500.0, 700.0]);
    let same = verdict(&counts, &counts, &lower());
    let alike = VerdictOutcome::NoChange {
        larger_than_percent: 0.0,
    };
    assert_eq!(same.outcome, alike);
    let drops = verdict(&of(&[0.0, 2.0, 7.0]), &of(&[90.0, 93.0, 97.0]), &lower());
    assert_eq!(drops.outcome, VerdictOutcome::Worse, "{drops:?}");
    assert!(drops.ratio_interval.is_err() && drops.difference == 91.0 - 3.0 + 7.0 / 3.0);
    let lost = verdict(&of(&[0.0, 1.0]), &of(&[1.0, 2.0]), &lower());
    assert!(matches!(lost.outcome, VerdictOutcome::CannotTell { .. }));
}

#[test]
fn identical_code_on_the_same_hosts_is_rarely_called_different() {
    for count in [2, 3, 8] {
        let mut random = Random::seeded(43);
        let mut wrong = 0;
        const RUNS: usize = 1000;
        for _ in 0..RUNS {
            let base = hosts(0..count, 5, 1.0, &mut random);
            let new = hosts(0..count, 5, 1.0, &mut random);
            let found = verdict(&base, &new, &lower());
            let changed = matches!(
                found.outcome,
                VerdictOutcome::Better | VerdictOutcome::Worse
            );
            wrong += usize::from(changed);
        }
        // 5% asked for, and what 1000 runs may miss of it.
        assert!((25..=72).contains(&wrong), "{count} hosts: {wrong}");
    }
}

proptest::proptest! {
    #[test]
    fn of_hosts_verdict_interval_and_difference_say_the_same(
        pairs in proptest::collection::vec((1e-3..1e3f64, 0.8..1.25f64), 2..9),
        higher in proptest::prelude::any::<bool>(),
        harmonic in proptest::prelude::any::<bool>(),
    ) {
        let side = |of: &dyn Fn(&(f64, f64)) -> f64| {
            let placed = pairs.iter().zip(0..).map(|(pair, host)| NestedSample {
                host, layout: 0, boot: 0, session: 1, trial: 1, value: of(pair),
            });
            NestedSamples::new(placed.collect()).unwrap()
        };
        let question = VerdictOptions {
            mean: if harmonic { Mean::Harmonic } else { Mean::Arithmetic },
            ..VerdictOptions::new(if higher { Better::Higher } else { Better::Lower })
        };
        let found = verdict(&side(&|pair| pair.0), &side(&|pair| pair.0 * pair.1), &question);
        proptest::prop_assert!(found.paired && found.level == Level::Host);
        let (Ok(ratio), Ok(ends)) = (found.ratio, found.ratio_interval) else { return Ok(()) };
        proptest::prop_assert!(ends.contains(ratio));
        let (low, high) = pairs.iter().fold((f64::MAX, 0.0_f64), |(low, high), pair| (low.min(pair.1), high.max(pair.1)));
        proptest::prop_assert!((low - 1e-9..=high + 1e-9).contains(&ratio), "{ratio} of {pairs:?}");
        let difference = found.difference_interval.unwrap();
        proptest::prop_assert_eq!(difference.low > 0.0, ends.low > 1.0);
        proptest::prop_assert_eq!(difference.high < 0.0, ends.high < 1.0);
        let changed = matches!(found.outcome, VerdictOutcome::Better | VerdictOutcome::Worse);
        proptest::prop_assert_eq!(changed, !ends.contains(1.0), "{:?}", found);
        proptest::prop_assert_eq!(changed, found.p.unwrap() < 0.05, "{:?}", found);
    }
}
