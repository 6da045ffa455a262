use super::*;
use crate::{Confidence, Random, simulation::NoiseShape};
use proptest::prelude::*;

/// What a measurement costs where nothing is under way, before the first of each version this.
fn costs(first: &[f64]) -> MeasurementCosts<'_> {
    MeasurementCosts {
        repeat: 1.0,
        first,
        avoid: &[],
        avoid_unless: f64::INFINITY,
        testbed: 0,
        under_way: &[],
    }
}

/// Measures versions of these levels until the posterior is settled.
fn settle(
    levels: &[f64],
    noise: f64,
    goal: &BisectionGoal,
    seed: u64,
) -> (VersionMeans, Posterior) {
    let mut random = Random::seeded(seed);
    let mut means = VersionMeans::new(levels.len());
    let mut measure = |means: &mut VersionMeans, at: usize| {
        let value = levels[at] + noise * NoiseShape::Gauss.draw(1, &mut random)[0];
        means.add(at, value);
    };
    for end in [0, levels.len() - 1].repeat(4) {
        measure(&mut means, end);
    }
    let first = vec![2.0; levels.len()];
    for turn in 0..2000 {
        let posterior =
            Posterior::from_measurements(std::slice::from_ref(&means), goal, seed + turn).unwrap();
        let costs = costs(&first);
        match posterior.next(&costs) {
            Some(ask) => measure(&mut means, ask.at),
            None => return (means, posterior),
        }
    }
    panic!("asks for ever: {means:?}");
}

fn stairs(versions: usize, steps: &[(usize, f64)]) -> Vec<f64> {
    let level = |at| {
        let before = steps.iter().filter(|(step, _)| *step <= at);
        50.0 + before.map(|(_, size)| size).sum::<f64>()
    };
    (0..versions).map(level).collect()
}

fn untils(posterior: &Posterior) -> Vec<usize> {
    posterior
        .most_probable()
        .0
        .iter()
        .map(|place| place.until)
        .collect()
}

#[test]
fn one_step_is_found_and_so_are_three() {
    let one = stairs(200, &[(61, 3.0)]);
    assert_eq!(
        untils(&settle(&one, 1.0, &BisectionGoal::default(), 1).1),
        [61]
    );
    let three = stairs(100, &[(20, 4.0), (50, 4.0), (77, 4.0)]);
    let (_, posterior) = settle(&three, 1.0, &BisectionGoal::default(), 2);
    assert_eq!(untils(&posterior), [20, 50, 77]);
    let sizes = waterfall(
        posterior.measurements(),
        &posterior.most_probable().0,
        Confidence::USUAL,
    )
    .unwrap();
    assert_eq!(sizes.steps.len(), 3);
    let sum: f64 = sizes.steps.iter().map(|step| step.value).sum();
    assert!((sum + sizes.remainder.value - sizes.total.value).abs() < 1e-9);
    assert!(sizes.total.interval.contains(12.0));
}

#[test]
fn what_cancels_is_found_where_it_is_looked_for() {
    let levels = stairs(100, &[(40, 4.0), (60, -4.0)]);
    let looking = BisectionGoal {
        cancelling: true,
        ..BisectionGoal::default()
    };
    assert_eq!(untils(&settle(&levels, 1.0, &looking, 3).1), [40, 60]);
    // Otherwise that nothing changed is said by the ends alone, or what was seen by the way.
    for seed in 0..20 {
        let (means, posterior) = settle(&levels, 1.0, &BisectionGoal::default(), seed);
        let found = untils(&posterior);
        match means.points().len() {
            2 => assert!(
                found.is_empty()
                    && posterior.change_probability() < 0.05
                    && posterior.hidden_probability() > 0.2
            ),
            _ => assert!(found.is_empty() || found == [40, 60], "{found:?}"),
        }
    }
}

#[test]
fn one_look_that_is_off_is_repeated_where_changes_that_cancel_are_looked_for() {
    let levels = stairs(40, &[(20, 3.0)]);
    let mut means = VersionMeans::new(40);
    for (at, level) in levels.iter().enumerate().filter(|(at, _)| *at != 30) {
        for off in [0.0, -1.0, 1.0] {
            means.add(at, level + off);
        }
    }
    means.add(30, levels[30] - 2.0);
    let first = vec![0.0; 40];
    let costs = costs(&first);
    let believed = |means: &VersionMeans| {
        Posterior::from_measurements(std::slice::from_ref(means), &BisectionGoal::default(), 1)
    };
    let posterior = believed(&means).unwrap();
    assert_eq!(untils(&posterior), [20]);
    assert!(posterior.is_settled());
    let looking = posterior.with_left_hidden(0.015);
    assert!(!looking.is_settled());
    assert_eq!(looking.next(&costs).map(|ask| ask.at), Some(30));
    // It was chance.
    means.add(30, levels[30]);
    let posterior = believed(&means).unwrap().with_left_hidden(0.015);
    assert!(posterior.is_settled());
    assert_eq!(untils(&posterior), [20]);
}

#[test]
fn numbers_without_noise_are_halved_exactly() {
    let levels = stairs(1000, &[(512, 1e-3)]);
    let (means, posterior) = settle(&levels, 0.0, &BisectionGoal::default(), 4);
    assert_eq!(untils(&posterior), [512]);
    assert!(means.points().len() < 24, "{}", means.points().len());
}

#[test]
fn what_cant_be_measured_widens_the_answer_and_isnt_asked_for() {
    let levels = stairs(64, &[(30, 5.0)]);
    let mut means = VersionMeans::new(64);
    let mut random = Random::seeded(9);
    for end in [0, 63].repeat(4) {
        means.add(end, levels[end] + random.normal());
    }
    (28..=31).for_each(|at| means.rule_out(at));
    let first = vec![2.0; 64];
    let posterior = (0..500).find_map(|turn| {
        let posterior = Posterior::from_measurements(
            std::slice::from_ref(&means),
            &BisectionGoal::default(),
            turn,
        )
        .unwrap();
        let costs = costs(&first);
        let Some(ask) = posterior.next(&costs) else {
            return Some(posterior);
        };
        assert!(!(28..=31).contains(&ask.at));
        means.add(ask.at, levels[ask.at] + random.normal());
        None
    });
    let place = posterior.unwrap().most_probable().0[0];
    assert_eq!((place.after, place.until), (27, 32));
}

#[test]
fn with_a_resolution_it_ends_earlier() {
    let levels = stairs(512, &[(200, 3.0)]);
    let coarse = BisectionGoal {
        resolution: 32,
        ..BisectionGoal::default()
    };
    let (means, posterior) = settle(&levels, 1.0, &coarse, 5);
    let place = posterior.most_probable().0[0];
    assert!(place.after < 200 && 200 <= place.until && place.until - place.after <= 32);
    let (closer, _) = settle(&levels, 1.0, &BisectionGoal::default(), 5);
    assert!(means.points().len() < closer.points().len());
}

#[test]
fn nothing_is_believed_before_both_ends_are_known() {
    let mut means = VersionMeans::new(10);
    let none = |means: &VersionMeans| {
        Posterior::from_measurements(std::slice::from_ref(means), &BisectionGoal::default(), 1)
            .is_none()
    };
    assert!(none(&means));
    means.add(0, 1.0);
    means.add(9, 2.0);
    // Nothing was measured twice: the noise could be anything.
    assert!(none(&means));
    means.add(9, 2.1);
    assert!(!none(&means));
}

#[test]
fn the_sum_over_all_cuts_is_that_of_their_enumeration() {
    use super::segmentation::{NoiseScale, SegmentSums, Segmentations, densities, ln_sum};
    let mut means = VersionMeans::new(20);
    for (at, value) in [(0, 1.0), (3, 1.4), (7, 3.0), (12, 2.8), (19, 3.3)] {
        means.add(at, value);
        means.add(at, value + 0.3);
    }
    let scale = NoiseScale {
        noise: 0.2,
        levels: 1.5,
    };
    let sums = SegmentSums::new(&means, 2.0);
    let density = densities(&sums, 5, &scale);
    let chance: f64 = 0.07;
    let every: Vec<f64> = (0..16u32)
        .map(|cut| {
            let (mut ln, mut begin) = (0.0, 0);
            for gap in 0..4 {
                let stay = (1.0 - chance).powi(means.places(gap) as i32);
                if cut & (1 << gap) != 0 {
                    ln += (1.0 - stay).ln() + density[begin * 5 + gap];
                    begin = gap + 1;
                } else {
                    ln += stay.ln();
                }
            }
            ln + density[begin * 5 + 4]
        })
        .collect();
    let cuts = Segmentations::new(&means, density, chance);
    assert!((cuts.total_density() - ln_sum(&every)).abs() < 1e-9);
    assert!((cuts.density_without_step() - every[0]).abs() < 1e-9);
}

#[test]
fn cuts_are_drawn_as_often_as_they_are_probable() {
    use super::segmentation::{NoiseScale, SegmentSums, Segmentations, densities};
    let mut means = VersionMeans::new(9);
    for (at, value) in [(0, 0.0), (4, 0.9), (8, 1.2)] {
        means.add(at, value);
    }
    let scale = NoiseScale {
        noise: 0.5,
        levels: 1.0,
    };
    let sums = SegmentSums::new(&means, 0.5);
    let mut cuts = Segmentations::new(&means, densities(&sums, 3, &scale), 0.2);
    let whole = (cuts.density_without_step() - cuts.total_density()).exp();
    let mut random = Random::seeded(6);
    let without = (0..20_000).filter(|_| cuts.draw(&mut random).is_empty());
    let share = without.count() as f64 / 20_000.0;
    assert!((share - whole).abs() < 0.012, "{share} {whole}");
}

/// What two testbeds measured of these versions, of which the second adds something.
fn on_two(
    measured: &[(usize, usize)],
    levels: &[f64],
    offsets: f64,
    seed: u64,
) -> Vec<VersionMeans> {
    let mut random = Random::seeded(seed);
    let mut by_testbed = vec![VersionMeans::new(levels.len()); 2];
    for (testbed, at) in measured {
        let value = levels[*at] + random.normal() + offsets * *testbed as f64;
        by_testbed[*testbed].add(*at, value);
    }
    by_testbed
}

/// Both ends, so many times on each testbed.
fn ends(last: usize, times: usize) -> Vec<(usize, usize)> {
    [(0, 0), (0, last), (1, 0), (1, last)].repeat(times)
}

#[test]
fn what_a_testbed_adds_is_learnt_from_what_both_measured() {
    let levels = stairs(40, &[(20, 5.0)]);
    let by_testbed = on_two(&ends(39, 30), &levels, -8.0, 1);
    let measurements = PooledVersionMeans::from_testbeds(&by_testbed);
    assert!(
        (measurements.offsets()[1] + 8.0).abs() < 0.5,
        "{:?}",
        measurements.offsets()
    );
    // Both have measured the same share of either end: nothing of it is left in their difference.
    assert!(measurements.offset_variance((0, 0), (39, 39)) < 1e-12);
    let difference =
        measurements.means().point(39).unwrap().mean - measurements.means().point(0).unwrap().mean;
    assert!((difference - 5.0).abs() < 0.7, "{difference}");
    // It is where they measured other versions.
    let mut apart = by_testbed;
    apart[0].add(10, levels[10]);
    apart[1].add(30, levels[30] - 8.0);
    let measurements = PooledVersionMeans::from_testbeds(&apart);
    let exactly = 1.0 / 60.0 + 1.0 / 60.0;
    let doubt = measurements.offset_variance((30, 30), (10, 10));
    assert!((0.5 * exactly..2.0 * exactly).contains(&doubt), "{doubt}");
}

#[test]
fn a_testbed_that_shares_no_version_is_left_out() {
    let levels = stairs(40, &[]);
    let mut by_testbed = on_two(&ends(39, 3), &levels, 0.0, 2);
    by_testbed.push(VersionMeans::new(40));
    by_testbed[2].add(7, 1e6);
    let measurements = PooledVersionMeans::from_testbeds(&by_testbed);
    assert!(measurements.means().point(7).is_none());
    by_testbed[2].add(0, 1e6);
    let measurements = PooledVersionMeans::from_testbeds(&by_testbed);
    assert!((measurements.means().point(7).unwrap().mean - 50.0).abs() < 3.0);
}

#[test]
fn machines_are_no_steps_although_each_measured_a_half_of_the_history() {
    let levels = stairs(64, &[]);
    let mut measured = ends(63, 3);
    measured.extend((1..32).map(|at| (0, at)));
    measured.extend((32..63).map(|at| (1, at)));
    let mut blamed = 0;
    for seed in 0..20 {
        let by_testbed = on_two(&measured, &levels, 6.0, seed);
        let posterior =
            Posterior::from_measurements(&by_testbed, &BisectionGoal::default(), seed).unwrap();
        blamed += usize::from(
            !posterior.most_probable().0.is_empty() && posterior.most_probable().1 > 0.9,
        );
    }
    assert!(blamed <= 1, "{blamed}");
    // A step there is one all the same.
    let levels = stairs(64, &[(32, 6.0)]);
    let by_testbed = on_two(&measured, &levels, 6.0, 1);
    let posterior =
        Posterior::from_measurements(&by_testbed, &BisectionGoal::default(), 1).unwrap();
    assert_eq!(untils(&posterior), [32]);
}

#[test]
fn another_testbed_cuts_what_the_first_one_leaves() {
    let levels = stairs(129, &[(100, 5.0)]);
    let mut by_testbed = vec![VersionMeans::new(129); 2];
    for (testbed, at) in ends(128, 2) {
        by_testbed[testbed].add(at, levels[at]);
    }
    let posterior =
        Posterior::from_measurements(&by_testbed, &BisectionGoal::default(), 1).unwrap();
    let first = vec![1.0; 129];
    let next = |under_way: &[usize]| {
        let costs = MeasurementCosts {
            testbed: 1,
            under_way,
            ..costs(&first)
        };
        posterior.next(&costs).unwrap().at
    };
    assert_eq!(next(&[]), 64);
    let beside = next(&[64]);
    assert!(
        (20..=44).contains(&beside) || (84..=108).contains(&beside),
        "{beside}"
    );
    let third = next(&[64, beside]);
    assert!(
        third.abs_diff(64) > 8 && third.abs_diff(beside) > 8,
        "{third} {beside}"
    );
}

proptest! {
    #[test]
    fn what_a_testbed_adds_changes_nothing_of_the_belief(
        more in prop::collection::vec((0usize..2, 1usize..29), 0..40), offsets in -1e3f64..1e3, seed: u64,
    ) {
        let levels = stairs(30, &[(12, 4.0)]);
        let mut measured = ends(29, 2);
        measured.extend(more);
        let believed = |offsets: f64| {
            let by_testbed = on_two(&measured, &levels, offsets, seed);
            Posterior::from_measurements(&by_testbed, &BisectionGoal::default(), seed).unwrap()
        };
        let (without, with) = (believed(0.0), believed(offsets));
        prop_assert!((without.deviation() / with.deviation() - 1.0).abs() < 0.02);
        let chance = |posterior: &Posterior, of: &[ChangeLocation]| {
            let places = posterior.locations();
            let found = of.iter().map(|of| places.iter().find(|(place, _)| place == of));
            found.map(|found| found.map_or(0.0, |(_, chance)| *chance)).sum::<f64>()
        };
        let best = without.most_probable().0;
        prop_assert!((chance(&without, &best) - chance(&with, &best)).abs() < 0.05);
    }
}

proptest! {
    #[test]
    fn whatever_was_measured_the_belief_is_sound(
        values in prop::collection::vec((0usize..30, -1e6f64..1e6), 0..60),
        ends in prop::array::uniform4(-1e3f64..1e3), ruled_out in prop::collection::vec(1usize..29, 0..10),
        cancelling: bool, seed: u64,
    ) {
        let mut means = VersionMeans::new(30);
        for (at, value) in [(0, ends[0]), (0, ends[1]), (29, ends[2]), (29, ends[3])].into_iter().chain(values) {
            means.add(at, value);
        }
        for at in ruled_out {
            if means.point(at).is_none() {
                means.rule_out(at);
            }
        }
        let goal = BisectionGoal { cancelling, ..BisectionGoal::default() };
        let posterior = Posterior::from_measurements(std::slice::from_ref(&means), &goal, seed).unwrap();
        let (places, probability) = posterior.most_probable();
        prop_assert!(probability > 0.0 && probability <= 1.0 + 1e-9);
        prop_assert!(places.is_sorted());
        prop_assert!((0.0..=1.0).contains(&posterior.change_probability()) && posterior.smallest_step() > 0.0);
        let first = vec![1.0; 30];
        match posterior.next(&costs(&first)) {
            None => prop_assert!(posterior.is_settled()),
            Some(ask) => prop_assert!(ask.at < 30 && means.is_open(ask.at) && ask.times >= 1),
        }
        let sizes = waterfall(posterior.measurements(), &places, Confidence::USUAL).unwrap();
        let sum: f64 = sizes.steps.iter().map(|step| step.value).sum();
        prop_assert!((sum + sizes.remainder.value - sizes.total.value).abs() < 1e-3);
    }
}
