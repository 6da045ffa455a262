use super::*;
use crate::{Confidence, Random, simulation::NoiseShape};
use proptest::prelude::*;

/// What a measurement costs where nothing is under way, before the first of each version this.
fn costs(first: &[f64]) -> MeasurementCosts<'_> {
    MeasurementCosts {
        again: 1.0,
        first,
        others_than: &[],
        unless: f64::INFINITY,
        testbed: 0,
        under_way: &[],
    }
}

/// Measures versions of these levels until the belief is settled.
fn settle(levels: &[f64], noise: f64, aim: &BisectionGoal, seed: u64) -> (VersionMeans, Posterior) {
    let mut random = Random::seeded(seed);
    let mut course = VersionMeans::new(levels.len());
    let mut measure = |course: &mut VersionMeans, at: usize| {
        let value = levels[at] + noise * NoiseShape::Gauss.draw(1, &mut random)[0];
        course.add(at, value);
    };
    for end in [0, levels.len() - 1].repeat(4) {
        measure(&mut course, end);
    }
    let first = vec![2.0; levels.len()];
    for turn in 0..2000 {
        let belief =
            Posterior::from_measurements(std::slice::from_ref(&course), aim, seed + turn).unwrap();
        let costs = costs(&first);
        match belief.next(&costs) {
            Some(ask) => measure(&mut course, ask.at),
            None => return (course, belief),
        }
    }
    panic!("asks for ever: {course:?}");
}

fn stairs(versions: usize, steps: &[(usize, f64)]) -> Vec<f64> {
    let level = |at| {
        let before = steps.iter().filter(|(step, _)| *step <= at);
        50.0 + before.map(|(_, size)| size).sum::<f64>()
    };
    (0..versions).map(level).collect()
}

fn untils(belief: &Posterior) -> Vec<usize> {
    belief.best().0.iter().map(|place| place.until).collect()
}

#[test]
fn one_step_is_found_and_so_are_three() {
    let one = stairs(200, &[(61, 3.0)]);
    assert_eq!(
        untils(&settle(&one, 1.0, &BisectionGoal::default(), 1).1),
        [61]
    );
    let three = stairs(100, &[(20, 4.0), (50, 4.0), (77, 4.0)]);
    let (_, belief) = settle(&three, 1.0, &BisectionGoal::default(), 2);
    assert_eq!(untils(&belief), [20, 50, 77]);
    let sizes = waterfall(belief.joined(), &belief.best().0, Confidence::USUAL).unwrap();
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
        let (course, belief) = settle(&levels, 1.0, &BisectionGoal::default(), seed);
        let found = untils(&belief);
        match course.points().len() {
            2 => assert!(found.is_empty() && belief.changed() < 0.05 && belief.hidden() > 0.2),
            _ => assert!(found.is_empty() || found == [40, 60], "{found:?}"),
        }
    }
}

#[test]
fn one_look_that_is_off_is_repeated_where_changes_that_cancel_are_looked_for() {
    let levels = stairs(40, &[(20, 3.0)]);
    let mut course = VersionMeans::new(40);
    for (at, level) in levels.iter().enumerate().filter(|(at, _)| *at != 30) {
        for off in [0.0, -1.0, 1.0] {
            course.add(at, level + off);
        }
    }
    course.add(30, levels[30] - 2.0);
    let first = vec![0.0; 40];
    let costs = costs(&first);
    let believed = |course: &VersionMeans| {
        Posterior::from_measurements(std::slice::from_ref(course), &BisectionGoal::default(), 1)
    };
    let belief = believed(&course).unwrap();
    assert_eq!(untils(&belief), [20]);
    assert!(belief.is_settled());
    let looking = belief.with_left_hidden(0.015);
    assert!(!looking.is_settled());
    assert_eq!(looking.next(&costs).map(|ask| ask.at), Some(30));
    // It was chance.
    course.add(30, levels[30]);
    let belief = believed(&course).unwrap().with_left_hidden(0.015);
    assert!(belief.is_settled());
    assert_eq!(untils(&belief), [20]);
}

#[test]
fn numbers_without_noise_are_halved_exactly() {
    let levels = stairs(1000, &[(512, 1e-3)]);
    let (course, belief) = settle(&levels, 0.0, &BisectionGoal::default(), 4);
    assert_eq!(untils(&belief), [512]);
    assert!(course.points().len() < 24, "{}", course.points().len());
}

#[test]
fn what_cant_be_measured_widens_the_answer_and_isnt_asked_for() {
    let levels = stairs(64, &[(30, 5.0)]);
    let mut course = VersionMeans::new(64);
    let mut random = Random::seeded(9);
    for end in [0, 63].repeat(4) {
        course.add(end, levels[end] + random.normal());
    }
    (28..=31).for_each(|at| course.rule_out(at));
    let first = vec![2.0; 64];
    let belief = (0..500).find_map(|turn| {
        let belief = Posterior::from_measurements(
            std::slice::from_ref(&course),
            &BisectionGoal::default(),
            turn,
        )
        .unwrap();
        let costs = costs(&first);
        let Some(ask) = belief.next(&costs) else {
            return Some(belief);
        };
        assert!(!(28..=31).contains(&ask.at));
        course.add(ask.at, levels[ask.at] + random.normal());
        None
    });
    let place = belief.unwrap().best().0[0];
    assert_eq!((place.after, place.until), (27, 32));
}

#[test]
fn with_a_resolution_it_ends_earlier() {
    let levels = stairs(512, &[(200, 3.0)]);
    let coarse = BisectionGoal {
        resolution: 32,
        ..BisectionGoal::default()
    };
    let (course, belief) = settle(&levels, 1.0, &coarse, 5);
    let place = belief.best().0[0];
    assert!(place.after < 200 && 200 <= place.until && place.until - place.after <= 32);
    let (closer, _) = settle(&levels, 1.0, &BisectionGoal::default(), 5);
    assert!(course.points().len() < closer.points().len());
}

#[test]
fn nothing_is_believed_before_both_ends_are_known() {
    let mut course = VersionMeans::new(10);
    let none = |course: &VersionMeans| {
        Posterior::from_measurements(std::slice::from_ref(course), &BisectionGoal::default(), 1)
            .is_none()
    };
    assert!(none(&course));
    course.add(0, 1.0);
    course.add(9, 2.0);
    // Nothing was measured twice: the noise could be anything.
    assert!(none(&course));
    course.add(9, 2.1);
    assert!(!none(&course));
}

#[test]
fn the_sum_over_all_cuts_is_that_of_their_enumeration() {
    use super::segmentation::{NoiseScale, SegmentSums, Segmentations, densities, ln_sum};
    let mut course = VersionMeans::new(20);
    for (at, value) in [(0, 1.0), (3, 1.4), (7, 3.0), (12, 2.8), (19, 3.3)] {
        course.add(at, value);
        course.add(at, value + 0.3);
    }
    let scale = NoiseScale {
        noise: 0.2,
        means: 1.5,
    };
    let sums = SegmentSums::new(&course, 2.0);
    let density = densities(&sums, 5, &scale);
    let chance: f64 = 0.07;
    let every: Vec<f64> = (0..16u32)
        .map(|cut| {
            let (mut ln, mut begin) = (0.0, 0);
            for gap in 0..4 {
                let stay = (1.0 - chance).powi(course.places(gap) as i32);
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
    let cuts = Segmentations::new(&course, density, chance);
    assert!((cuts.total() - ln_sum(&every)).abs() < 1e-9);
    assert!((cuts.whole() - every[0]).abs() < 1e-9);
}

#[test]
fn cuts_are_drawn_as_often_as_they_are_probable() {
    use super::segmentation::{NoiseScale, SegmentSums, Segmentations, densities};
    let mut course = VersionMeans::new(9);
    for (at, value) in [(0, 0.0), (4, 0.9), (8, 1.2)] {
        course.add(at, value);
    }
    let scale = NoiseScale {
        noise: 0.5,
        means: 1.0,
    };
    let sums = SegmentSums::new(&course, 0.5);
    let mut cuts = Segmentations::new(&course, densities(&sums, 3, &scale), 0.2);
    let whole = (cuts.whole() - cuts.total()).exp();
    let mut random = Random::seeded(6);
    let without = (0..20_000).filter(|_| cuts.draw(&mut random).is_empty());
    let share = without.count() as f64 / 20_000.0;
    assert!((share - whole).abs() < 0.012, "{share} {whole}");
}

/// What two testbeds measured of these versions, of which the second adds something.
fn on_two(measured: &[(usize, usize)], levels: &[f64], added: f64, seed: u64) -> Vec<VersionMeans> {
    let mut random = Random::seeded(seed);
    let mut courses = vec![VersionMeans::new(levels.len()); 2];
    for (testbed, at) in measured {
        let value = levels[*at] + random.normal() + added * *testbed as f64;
        courses[*testbed].add(*at, value);
    }
    courses
}

/// Both ends, so many times on each testbed.
fn ends(last: usize, times: usize) -> Vec<(usize, usize)> {
    [(0, 0), (0, last), (1, 0), (1, last)].repeat(times)
}

#[test]
fn what_a_testbed_adds_is_learnt_from_what_both_measured() {
    let levels = stairs(40, &[(20, 5.0)]);
    let courses = on_two(&ends(39, 30), &levels, -8.0, 1);
    let joined = PooledVersionMeans::from_testbeds(&courses);
    assert!(
        (joined.added()[1] + 8.0).abs() < 0.5,
        "{:?}",
        joined.added()
    );
    // Both have measured the same share of either end: nothing of it is left in their difference.
    assert!(joined.doubt((0, 0), (39, 39)) < 1e-12);
    let difference =
        joined.course().point(39).unwrap().mean - joined.course().point(0).unwrap().mean;
    assert!((difference - 5.0).abs() < 0.7, "{difference}");
    // It is where they measured other versions.
    let mut apart = courses;
    apart[0].add(10, levels[10]);
    apart[1].add(30, levels[30] - 8.0);
    let joined = PooledVersionMeans::from_testbeds(&apart);
    let exactly = 1.0 / 60.0 + 1.0 / 60.0;
    let doubt = joined.doubt((30, 30), (10, 10));
    assert!((0.5 * exactly..2.0 * exactly).contains(&doubt), "{doubt}");
}

#[test]
fn a_testbed_that_shares_no_version_is_left_out() {
    let levels = stairs(40, &[]);
    let mut courses = on_two(&ends(39, 3), &levels, 0.0, 2);
    courses.push(VersionMeans::new(40));
    courses[2].add(7, 1e6);
    let joined = PooledVersionMeans::from_testbeds(&courses);
    assert!(joined.course().point(7).is_none());
    courses[2].add(0, 1e6);
    let joined = PooledVersionMeans::from_testbeds(&courses);
    assert!((joined.course().point(7).unwrap().mean - 50.0).abs() < 3.0);
}

#[test]
fn machines_are_no_steps_although_each_measured_a_half_of_the_history() {
    let levels = stairs(64, &[]);
    let mut measured = ends(63, 3);
    measured.extend((1..32).map(|at| (0, at)));
    measured.extend((32..63).map(|at| (1, at)));
    let mut blamed = 0;
    for seed in 0..20 {
        let courses = on_two(&measured, &levels, 6.0, seed);
        let belief =
            Posterior::from_measurements(&courses, &BisectionGoal::default(), seed).unwrap();
        blamed += usize::from(!belief.best().0.is_empty() && belief.best().1 > 0.9);
    }
    assert!(blamed <= 1, "{blamed}");
    // A step there is one all the same.
    let levels = stairs(64, &[(32, 6.0)]);
    let courses = on_two(&measured, &levels, 6.0, 1);
    let belief = Posterior::from_measurements(&courses, &BisectionGoal::default(), 1).unwrap();
    assert_eq!(untils(&belief), [32]);
}

#[test]
fn another_testbed_cuts_what_the_first_one_leaves() {
    let levels = stairs(129, &[(100, 5.0)]);
    let mut courses = vec![VersionMeans::new(129); 2];
    for (testbed, at) in ends(128, 2) {
        courses[testbed].add(at, levels[at]);
    }
    let belief = Posterior::from_measurements(&courses, &BisectionGoal::default(), 1).unwrap();
    let first = vec![1.0; 129];
    let next = |under_way: &[usize]| {
        let costs = MeasurementCosts {
            testbed: 1,
            under_way,
            ..costs(&first)
        };
        belief.next(&costs).unwrap().at
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
        more in prop::collection::vec((0usize..2, 1usize..29), 0..40), added in -1e3f64..1e3, seed: u64,
    ) {
        let levels = stairs(30, &[(12, 4.0)]);
        let mut measured = ends(29, 2);
        measured.extend(more);
        let believed = |added: f64| {
            let courses = on_two(&measured, &levels, added, seed);
            Posterior::from_measurements(&courses, &BisectionGoal::default(), seed).unwrap()
        };
        let (without, with) = (believed(0.0), believed(added));
        prop_assert!((without.noise() / with.noise() - 1.0).abs() < 0.02);
        let chance = |belief: &Posterior, of: &[ChangeLocation]| {
            let places = belief.places();
            let found = of.iter().map(|of| places.iter().find(|(place, _)| place == of));
            found.map(|found| found.map_or(0.0, |(_, chance)| *chance)).sum::<f64>()
        };
        let best = without.best().0;
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
        let mut course = VersionMeans::new(30);
        for (at, value) in [(0, ends[0]), (0, ends[1]), (29, ends[2]), (29, ends[3])].into_iter().chain(values) {
            course.add(at, value);
        }
        for at in ruled_out {
            if course.point(at).is_none() {
                course.rule_out(at);
            }
        }
        let aim = BisectionGoal { cancelling, ..BisectionGoal::default() };
        let belief = Posterior::from_measurements(std::slice::from_ref(&course), &aim, seed).unwrap();
        let (places, probability) = belief.best();
        prop_assert!(probability > 0.0 && probability <= 1.0 + 1e-9);
        prop_assert!(places.is_sorted());
        prop_assert!((0.0..=1.0).contains(&belief.changed()) && belief.smallest() > 0.0);
        let first = vec![1.0; 30];
        match belief.next(&costs(&first)) {
            None => prop_assert!(belief.is_settled()),
            Some(ask) => prop_assert!(ask.at < 30 && course.is_open(ask.at) && ask.times >= 1),
        }
        let sizes = waterfall(belief.joined(), &places, Confidence::USUAL).unwrap();
        let sum: f64 = sizes.steps.iter().map(|step| step.value).sum();
        prop_assert!((sum + sizes.remainder.value - sizes.total.value).abs() < 1e-3);
    }
}
