use super::*;
use crate::{Observation, RequestOutcome};
use backsight_stats::{Random, simulation::NoiseShape};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn metric(name: &str, decides: bool) -> RequestedMetric {
    RequestedMetric {
        name: name.parse().unwrap(),
        better: Better::Lower,
        decides,
    }
}

fn policy(sides: usize) -> TryPolicy {
    TryPolicy {
        sides,
        layouts: 1,
        trials: 1,
        cells: vec![vec![metric("time", true)]],
        absent: Vec::new(),
        revisits: true,
        first_boot: 1,
        budget: None,
        most: 200,
        equal: None,
        tolerates: false,
        confidence: Confidence::USUAL,
        seed: 1,
    }
}

fn observation(request: Request, outcome: RequestOutcome, value: f64) -> Observation {
    let figures = match outcome {
        RequestOutcome::Measured => BTreeMap::from([("time".parse().unwrap(), value)]),
        _ => BTreeMap::new(),
    };
    Observation {
        request,
        outcome,
        figures,
        took: Duration::from_secs(1),
    }
}

/// Asks until it is done; `world` says what comes of a request.
fn pursue(
    policy: &TryPolicy,
    mut world: impl FnMut(Request) -> (RequestOutcome, f64),
) -> (Vec<Observation>, TryVerdict) {
    let mut evidence = Evidence::default();
    loop {
        match policy.decide(&evidence) {
            Decision::Done(verdict) => return (evidence.observations, verdict),
            Decision::Measure(request) => {
                assert!(policy.remaining_trials(&evidence) > 0);
                assert_eq!(policy.upcoming_builds(&evidence, 2).first(), Some(&request));
                let (outcome, value) = world(request);
                let seen = observation(request, outcome, value);
                evidence.observations.push(seen);
            }
        }
    }
}

/// A world in which side n takes this many times as long as the base; noise in percent.
fn noisy(
    times: &[f64],
    percent: f64,
    noise: NoiseShape,
    seed: u64,
) -> impl FnMut(Request) -> (RequestOutcome, f64) + use<> {
    let times = times.to_vec();
    let mut values = noise.draw(10_000, &mut Random::seeded(seed)).into_iter();
    move |request| {
        let level = 100.0 * times[request.version];
        let noise = values.next().unwrap_or(0.0);
        (RequestOutcome::Measured, level + percent * noise)
    }
}

#[test]
fn sides_are_gone_through_forth_and_back() {
    let one = policy(1);
    let order: Vec<usize> = (0..4).flat_map(|turn| one.order(turn)).collect();
    assert_eq!(order, [0, 1, 1, 0, 1, 0, 0, 1]);
    let two = policy(2);
    let order: Vec<usize> = (0..4).flat_map(|turn| two.order(turn)).collect();
    assert_eq!(order, [0, 1, 2, 2, 1, 0, 1, 2, 0, 0, 2, 1]);
}

#[test]
fn a_slower_side_is_worse_and_a_faster_one_better() {
    let world = noisy(&[1.0, 1.03, 0.97], 0.7, NoiseShape::Gauss, 1);
    let (asked, verdict) = pursue(&policy(2), world);
    assert_eq!(verdict.ended, Some(TryEnd::Decided));
    let calls: Vec<TryCall> = verdict.compared.iter().map(|tried| tried.call).collect();
    assert_eq!(calls, [TryCall::Worse, TryCall::Better]);
    assert!(asked.len() < 60, "{}", asked.len());
    let tried = &verdict.compared[0];
    assert!(tried.percent_interval.unwrap().contains(3.0), "{tried:?}");
}

#[test]
fn sides_that_are_alike_are_decided_only_where_equality_is_asked_for() {
    let world = || noisy(&[1.0, 1.0], 1.0, NoiseShape::Gauss, 2);
    let (_, verdict) = pursue(&policy(1), world());
    assert_eq!(verdict.ended, Some(TryEnd::Passes));
    assert!(matches!(
        verdict.compared[0].call,
        TryCall::Undecided { more: Some(_) }
    ));
    let equal = TryPolicy {
        equal: Some(0.01),
        ..policy(1)
    };
    let (asked, verdict) = pursue(&equal, world());
    assert!(
        matches!(verdict.compared[0].call, TryCall::Equal { larger_than_percent } if larger_than_percent <= 1.0),
        "{:?}",
        verdict.compared[0]
    );
    assert!(asked.len() < 200, "{}", asked.len());
}

/// A check that passes what is worse by up to 2 %.
fn tolerant() -> TryPolicy {
    TryPolicy {
        equal: Some(0.02),
        tolerates: true,
        most: 2000,
        ..policy(1)
    }
}

#[test]
fn what_is_worse_within_the_tolerance_is_not_called_worse_and_what_lies_beyond_is() {
    for (times, wanted) in [
        (1.0, "equal"),
        // Surely no improvement, and surely less than 2 %.
        (1.008, "equal"),
        (1.05, "worse"),
        (0.95, "better"),
    ] {
        let world = noisy(&[1.0, times], 1.0, NoiseShape::Gauss, 5);
        let (_, verdict) = pursue(&tolerant(), world);
        let tried = &verdict.compared[0];
        let came = match tried.call {
            TryCall::Better => "better",
            TryCall::Worse => "worse",
            TryCall::Equal { .. } => "equal",
            _ => "open",
        };
        assert_eq!(came, wanted, "{tried:?}");
        let interval = tried.percent_interval.unwrap();
        match tried.call {
            TryCall::Worse => assert!(interval.low > 2.0, "{interval:?}"),
            TryCall::Equal { .. } => assert!(interval.high <= 2.0, "{interval:?}"),
            _ => {}
        }
    }
}

#[test]
fn a_side_at_the_tolerance_stays_open_and_says_what_it_would_take() {
    let few = TryPolicy {
        most: 40,
        ..tolerant()
    };
    let (_, verdict) = pursue(&few, noisy(&[1.0, 1.02], 1.0, NoiseShape::Gauss, 6));
    assert_eq!(verdict.ended, Some(TryEnd::Passes));
    assert!(
        matches!(verdict.compared[0].call, TryCall::Undecided { .. }),
        "{:?}",
        verdict.compared[0]
    );
}

/// The forecast is about the median: of a hundred sides that make no difference about half are decided within it, and nearly all
/// within one and a half times as many passes.
#[test]
fn a_forecast_is_what_it_takes() {
    let policy = tolerant();
    // Two values with 1 % of noise each.
    let noise = [ForecastNoise {
        cell: 0,
        deviation: 0.01 * 2f64.sqrt(),
    }];
    let forecast = policy.forecast(&noise, 0.02).unwrap().passes.unwrap();
    assert!((10..30).contains(&forecast), "{forecast}");
    let mut taken: Vec<u32> = (0..100)
        .map(|seed| {
            let world = noisy(&[1.0, 1.0], 1.0, NoiseShape::Gauss, 100 + seed);
            pursue(&policy, world).1.passes
        })
        .collect();
    taken.sort_unstable();
    let median = f64::from(taken[50]);
    let ratio = median / forecast as f64;
    assert!((0.6..1.4).contains(&ratio), "{median} {forecast}");
    assert!(f64::from(taken[95]) <= 2.5 * forecast as f64, "{taken:?}");
    let visible = policy.visible_after(&noise, forecast).unwrap();
    assert!((0.015..=0.02).contains(&visible), "{visible}");
    assert_eq!(policy.visible_after(&noise, 3), None);
    assert_eq!(policy.forecast(&[], 0.02), None);
    assert_eq!(policy.forecast(&noise, 1e-9).unwrap().passes, None);
}

/// How many of 400 studies of sides that are alike say that some side isn't, at whatever moment: what is decided stays so,
/// and all passes are replayed.
fn false_decisions(policy: &TryPolicy, noise: NoiseShape) -> usize {
    let times = vec![1.0; policy.sides + 1];
    (0..400)
        .filter(|seed| {
            let mut world = noisy(&times, 2.0, noise, *seed);
            let requests =
                (1..=policy.most).flat_map(|number| policy.requests(policy.pass(number)));
            let all = requests.map(|request| {
                let (outcome, value) = world(request);
                observation(request, outcome, value)
            });
            let verdict = policy.verdict(&Evidence::from_observations(all.collect()));
            let false_one =
                |tried: &TryComparison| matches!(tried.call, TryCall::Better | TryCall::Worse);
            verdict.compared.iter().any(false_one)
        })
        .count()
}

#[test]
fn looking_after_every_pass_makes_no_more_false_decisions_than_asked() {
    let few = TryPolicy {
        most: 60,
        ..policy(1)
    };
    for noise in [
        NoiseShape::Gauss,
        NoiseShape::Lognormal { sigma: 0.5 },
        NoiseShape::Bimodal {
            upper_share: 0.3,
            apart: 5.0,
        },
        NoiseShape::Autoregressive { keep: 0.5 },
        NoiseShape::Outliers {
            share: 0.05,
            far: 10.0,
        },
    ] {
        let wrong = false_decisions(&few, noise);
        assert!(wrong <= 20, "{noise:?}: {wrong} of 400");
    }
    let wrong = false_decisions(&TryPolicy { sides: 4, ..few }, NoiseShape::Gauss);
    assert!(wrong <= 20, "four sides: {wrong} of 400");
}

#[test]
fn a_side_that_does_not_build_or_boot_is_given_up_and_the_others_go_on() {
    let mut world = noisy(&[1.0, 1.0, 1.05], 0.5, NoiseShape::Gauss, 3);
    let (asked, verdict) = pursue(&policy(2), |request| match request.version {
        1 => (RequestOutcome::NoBuild, 0.0),
        _ => world(request),
    });
    assert_eq!(verdict.dead, [false, true, false]);
    assert_eq!(verdict.compared[0].call, TryCall::Missing);
    assert_eq!(verdict.compared[1].call, TryCall::Worse);
    assert_eq!(
        asked
            .iter()
            .filter(|seen| seen.request.version == 1)
            .count(),
        1
    );

    let booting = TryPolicy {
        revisits: false,
        first_boot: 5,
        ..policy(1)
    };
    let (asked, verdict) = pursue(&booting, |request| match request.version {
        1 => (RequestOutcome::NoBoot, 0.0),
        _ => (RequestOutcome::Measured, 1.0),
    });
    assert_eq!(verdict.ended, Some(TryEnd::Dead));
    let boots: Vec<u32> = asked
        .iter()
        .filter(|seen| seen.request.version == 1)
        .map(|seen| seen.request.boot)
        .collect();
    assert_eq!(boots, [5, 6, 7]);
}

#[test]
fn nothing_is_to_be_had_without_a_base() {
    let (asked, verdict) = pursue(&policy(3), |request| match request.version {
        0 => (RequestOutcome::NoBuild, 0.0),
        _ => (RequestOutcome::Measured, 1.0),
    });
    assert_eq!(verdict.ended, Some(TryEnd::Dead));
    assert_eq!(asked.len(), 1);
}

#[test]
fn what_never_varies_is_decided_after_four_passes() {
    for (new, call) in [
        (1000.0, TryCall::Undecided { more: Some(1) }),
        (1001.0, TryCall::Worse),
    ] {
        let four = TryPolicy {
            most: 4,
            ..policy(1)
        };
        let (_, verdict) = pursue(&four, |request| match request.version {
            0 => (RequestOutcome::Measured, 1000.0),
            _ => (RequestOutcome::Measured, new),
        });
        assert_eq!(verdict.compared[0].call, call);
    }
    let equal = TryPolicy {
        equal: Some(0.01),
        ..policy(1)
    };
    let (asked, verdict) = pursue(&equal, |_| (RequestOutcome::Measured, 0.0));
    assert!(matches!(verdict.compared[0].call, TryCall::Equal { .. }));
    assert_eq!(asked.len(), 8);
}

#[test]
fn the_budget_ends_it_with_what_is_known() {
    let short = TryPolicy {
        budget: Some(Duration::from_secs(9)),
        ..policy(1)
    };
    let (asked, verdict) = pursue(&short, noisy(&[1.0, 1.0], 1.0, NoiseShape::Gauss, 4));
    assert_eq!(verdict.ended, Some(TryEnd::Budget));
    assert_eq!((asked.len(), verdict.compared[0].pairs), (9, 4));
    let nothing = TryPolicy {
        budget: Some(Duration::ZERO),
        ..policy(1)
    };
    let (_, verdict) = pursue(&nothing, |_| (RequestOutcome::Measured, 1.0));
    assert_eq!(verdict.compared[0].call, TryCall::Missing);
}

#[test]
fn each_layout_is_a_pass_of_its_own() {
    let relinked = TryPolicy {
        layouts: 6,
        trials: 2,
        revisits: false,
        ..policy(1)
    };
    let (asked, verdict) = pursue(&relinked, noisy(&[1.0, 1.0], 1.0, NoiseShape::Gauss, 5));
    assert_eq!(verdict.ended, Some(TryEnd::Passes));
    assert_eq!(verdict.compared[0].pairs, 6);
    assert_eq!(asked.len(), 6 * 2 * 2);
    assert!(asked.iter().all(|seen| seen.request.boot == 1));
    assert!(asked.is_sorted_by_key(|seen| seen.request.layout));
}

#[test]
fn a_metric_that_does_not_decide_is_only_shown() {
    let mut shown = policy(1);
    shown.cells[0].push(metric("other", false));
    let (_, verdict) = pursue(&shown, noisy(&[1.0, 1.2], 0.5, NoiseShape::Gauss, 6));
    assert_eq!(verdict.ended, Some(TryEnd::Decided));
    assert_eq!(verdict.compared[1].call, TryCall::Missing);
}

/// A share that is lost now and then and mostly isn't: in percent of that the difference may be less than all of it.
#[test]
fn what_is_as_good_as_zero_is_no_base_for_a_percentage() {
    let lossy = TryPolicy {
        most: 8,
        ..policy(1)
    };
    let (_, verdict) = pursue(&lossy, |request| {
        let lost = request.version == 0 && request.round % 3 == 1;
        (RequestOutcome::Measured, if lost { 60.0 } else { 0.0 })
    });
    let tried = &verdict.compared[0];
    assert_eq!((tried.percent, tried.percent_interval), (None, None));
    let (by, interval) = tried.difference.unwrap();
    assert!(by < 0.0 && interval.unwrap().contains(by), "{tried:?}");
    // A loss that is there each time is one, though a side has none.
    let (_, verdict) = pursue(&lossy, |request| {
        let noise = f64::from(request.round % 2);
        (
            RequestOutcome::Measured,
            if request.version == 0 {
                60.0 + noise
            } else {
                0.0
            },
        )
    });
    let tried = &verdict.compared[0];
    assert_eq!((tried.call, tried.percent), (TryCall::Better, Some(-100.0)));
    assert!(
        tried.percent_interval.is_none_or(|ends| ends.low >= -101.0),
        "{tried:?}"
    );
}

/// Nothing is lost in four passes, and something in the fifth.
#[test]
fn what_never_varied_is_not_decided_any_more_when_it_does() {
    let lossy = TryPolicy {
        most: 6,
        equal: Some(0.05),
        cells: vec![vec![metric("lost", true), metric("time", true)]],
        ..policy(1)
    };
    let evidence = |passes: u32| {
        let sides = (1..=passes).flat_map(|pass| [0, 1].map(|side| (pass, side)));
        let seen = sides.map(|(pass, side)| {
            let request = Request {
                testbed: 0,
                version: side,
                layout: 0,
                boot: 1,
                cell: 0,
                round: pass,
            };
            let lost = if side == 1 && pass > 4 {
                f64::from(pass)
            } else {
                0.0
            };
            let mut seen = observation(
                request,
                RequestOutcome::Measured,
                10.0 + f64::from(pass * pass % 7),
            );
            seen.figures = BTreeMap::from([
                ("lost".parse().unwrap(), lost),
                (
                    "time".parse().unwrap(),
                    10.0 + f64::from(pass * (1 + side as u32) % 7),
                ),
            ]);
            seen
        });
        Evidence::from_observations(seen.collect())
    };
    let of = |passes| lossy.verdict(&evidence(passes)).compared[0].clone();
    assert!(matches!(of(4).call, TryCall::Equal { .. }), "{:?}", of(4));
    let later = of(6);
    assert!(matches!(later.call, TryCall::Undecided { .. }), "{later:?}");
    let (by, interval) = later.difference.unwrap();
    assert!(interval.is_none_or(|ends| ends.contains(by)), "{later:?}");
}

#[test]
fn a_ratio_that_may_be_anything_is_told_as_a_difference() {
    let few = TryPolicy {
        most: 4,
        ..policy(1)
    };
    let mut random = Random::seeded(4);
    let (_, verdict) = pursue(&few, |_| {
        (RequestOutcome::Measured, (4.0 * random.normal()).exp())
    });
    let tried = &verdict.compared[0];
    assert!(!tried.call.is_decided(), "{tried:?}");
    assert_eq!((tried.percent, tried.percent_interval), (None, None));
    assert!(tried.difference.is_some(), "{tried:?}");
}

proptest! {
    #[test]
    fn any_prefix_of_the_evidence_in_any_order_gives_the_same_next_request(
        sides in 1usize..4, cells in 1usize..3, trials in 1u32..3, revisits: bool, layouts in 1usize..5, seed: u32,
        cut in 0usize..80,
    ) {
        let policy = TryPolicy {
            cells: vec![vec![metric("time", true)]; cells],
            trials, revisits, layouts, seed, most: 5,
            ..policy(sides)
        };
        let mut world = noisy(&vec![1.0; sides + 1], 1.0, NoiseShape::Gauss, u64::from(seed));
        let (asked, verdict) = pursue(&policy, |request| match request.cell + request.version {
            3 => (RequestOutcome::Failed, 0.0),
            _ => world(request),
        });
        let distinct: HashSet<Request> = asked.iter().map(|seen| seen.request).collect();
        prop_assert_eq!(distinct.len(), asked.len());
        let mut before = asked[..cut.min(asked.len())].to_vec();
        before.reverse();
        match policy.decide(&Evidence::from_observations(before)) {
            Decision::Measure(request) => prop_assert_eq!(request, asked[cut].request),
            Decision::Done(again) => prop_assert_eq!(again, verdict),
        }
    }
}
