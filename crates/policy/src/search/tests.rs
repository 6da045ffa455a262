//! Searches on made-up devices: the answers are known, and so is what they cost.

use super::*;
use crate::{Request, RequestOutcome};
use backsight_model::{MetricName, VariantName};
use backsight_stats::Random;
use proptest::prelude::*;
use std::collections::BTreeMap;

const WIDTH: f64 = 0.005;

fn metric(text: &str) -> MetricName {
    MetricName::new(text).unwrap()
}

fn cell(variant: &str) -> Cell {
    Cell {
        benchmark: "flood".parse().unwrap(),
        params: [("size".parse().unwrap(), Value::Integer(64))].into(),
        chosen: Vec::new(),
        variant: VariantName::new(variant).unwrap(),
        monitors: None,
    }
}

fn policy() -> SearchPolicy {
    SearchPolicy {
        subjects: vec![SearchSubject {
            cell: cell("device"),
            baseline: None,
            is_baseline: false,
        }],
        load: "rate".parse().unwrap(),
        duration: Some("seconds".parse().unwrap()),
        grid: LoadGrid::new(1e6, 1e10, WIDTH, true).unwrap(),
        goals: vec![
            SearchGoal::Loss { ratio: 0.0 },
            SearchGoal::Loss { ratio: 0.01 },
        ],
        reading: FigureReading {
            loss: Some(LossReading::Share {
                metric: metric("loss"),
                per_unit: 0.01,
            }),
            sent: Some((metric("sent"), 1.0)),
        },
        phases: SearchPolicy::phases(1.0, 5.0, true),
        sum: 15.0,
        exceed: 0.5,
        repeat: 1,
        seed: 1,
    }
}

/// A device behind a generator.
#[derive(Debug, Clone, Copy)]
struct Device {
    /// What it carries without loss, for ever.
    capacity: f64,
    /// What is lost above that: 1 for everything that is too much, more for a curve that begins flat.
    hardness: f64,
    /// What its queue takes beside, in units of load times time.
    queue: f64,
    /// Standard deviation of its capacity from trial to trial, as a share.
    jitter: f64,
    /// How often a trial loses something for no reason.
    bursts: f64,
    /// What the generator can send.
    generator: f64,
}

impl Device {
    fn sharp(capacity: f64) -> Self {
        Self {
            capacity,
            hardness: 1.0,
            queue: 0.0,
            jitter: 0.0,
            bursts: 0.0,
            generator: f64::INFINITY,
        }
    }

    /// Loss and rate sent of a trial, without noise.
    fn plain(&self, load: f64, seconds: f64) -> (f64, f64) {
        let sent = load.min(self.generator);
        let over = ((sent - self.capacity) * seconds - self.queue).max(0.0);
        // Packets are whole: of less than one in a million none is lost.
        let loss = (over / (sent * seconds)).powf(self.hardness);
        (if loss < 1e-6 { 0.0 } else { loss }, sent)
    }

    fn trial(&self, load: f64, seconds: f64, random: &mut Random) -> BTreeMap<MetricName, f64> {
        let capacity = self.capacity * (1.0 + self.jitter * random.normal());
        let (mut loss, sent) = Self { capacity, ..*self }.plain(load, seconds);
        if random.uniform() < self.bursts {
            loss = (loss + 0.02 * random.uniform()).min(1.0);
        }
        BTreeMap::from([(metric("loss"), loss * 100.0), (metric("sent"), sent)])
    }

    /// The load at which the loss of a full trial is just this.
    fn truth(&self, ratio: f64, seconds: f64) -> f64 {
        let (mut low, mut high) = (1.0, 1e12);
        for _ in 0..200 {
            let middle = f64::midpoint(low, high);
            match self.plain(middle, seconds).0 <= ratio {
                true => low = middle,
                false => high = middle,
            }
        }
        low
    }
}

/// A search to its end: the requests, the evidence and the answer.
fn searched(
    policy: &SearchPolicy,
    device: impl Fn(&Cell) -> Device,
    seed: u64,
) -> (Evidence, SearchVerdict) {
    let loads = policy.grid.loads();
    let mut random = Random::seeded(seed);
    let mut replay = Replay::new(policy, &loads);
    let mut evidence = Evidence::default();
    while let Some(request) = replay.next() {
        assert!(replay.left() > 0, "asks for more than it said");
        assert!(evidence.observations.len() < 2000, "it doesn't end");
        let (subject, ask) = replay.cells[request.cell];
        let device = device(&policy.subjects[subject].cell);
        let seconds = policy.phases[ask.phase].seconds;
        let figures = device.trial(loads[ask.index], seconds, &mut random);
        let observation = Observation {
            request,
            outcome: RequestOutcome::Measured,
            figures,
            took: std::time::Duration::ZERO,
        };
        replay.add_trial(&observation);
        evidence.observations.push(observation);
    }
    let verdict = verdict::verdict(policy, &loads, &replay);
    assert!(verdict.complete);
    (evidence, verdict)
}

/// Bisection with full trials for each goal, best of three; trials and their seconds. A load is tried once for all goals.
fn bisected(policy: &SearchPolicy, device: &Device, seed: u64) -> (usize, f64) {
    let loads = policy.grid.loads();
    let mut random = Random::seeded(seed);
    let full = policy.phases.last().unwrap().seconds;
    let mut tried: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for goal in &policy.goals {
        let SearchGoal::Loss { ratio } = goal else {
            continue;
        };
        let mut meets = |index: usize| {
            let losses = tried.entry(index).or_default();
            loop {
                let good = losses.iter().filter(|loss| *loss <= ratio).count();
                if good >= 2 || losses.len() - good >= 2 {
                    break good >= 2;
                }
                let figures = device.trial(loads[index], full, &mut random);
                losses.push(figures["loss"] / 100.0);
            }
        };
        let (mut low, mut high) = (0, loads.len() - 1);
        while high - low > 1 {
            let middle = usize::midpoint(low, high);
            match meets(middle) {
                true => low = middle,
                false => high = middle,
            }
        }
    }
    let trials = tried.values().map(Vec::len).sum();
    (trials, trials as f64 * full)
}

/// The share of right bounds over these devices, and what they cost beside bisection.
fn compared(name: &str, searches: u64, slack: f64, device: impl Fn(&mut Random) -> Device) -> f64 {
    let policy = policy();
    let full = policy.phases.last().unwrap().seconds;
    let (mut right, mut asked) = (0, 0);
    let (mut trials, mut seconds, mut plain_trials, mut plain_seconds) = (0, 0.0, 0, 0.0);
    for seed in 0..searches {
        let device = device(&mut Random::seeded(seed));
        let (evidence, verdict) = searched(&policy, |_| device, seed);
        for (goal, answer) in policy.goals.iter().zip(&verdict.subjects[0].goals) {
            let SearchGoal::Loss { ratio } = goal else {
                continue;
            };
            let truth = device.truth(*ratio, full);
            let bounds = answer.searches[0];
            let (lower, upper) = (
                bounds.lower.unwrap_or(0.0),
                bounds.upper.unwrap_or(f64::INFINITY),
            );
            asked += 1;
            right += usize::from(lower <= truth * (1.0 + slack) && truth * (1.0 - slack) <= upper);
        }
        trials += evidence.observations.len();
        seconds += verdict.subjects[0]
            .loads
            .iter()
            .map(|point| point.seconds)
            .sum::<f64>();
        let plain = bisected(&policy, &device, seed);
        plain_trials += plain.0;
        plain_seconds += plain.1;
    }
    let share = right as f64 / asked as f64;
    let each = |n: f64| n / searches as f64;
    println!(
        "{name:<28} right {:5.1} %; trials {:5.1}, {:6.1} s; bisection {:5.1}, {:6.1} s",
        share * 100.0,
        each(trials as f64),
        each(seconds),
        each(plain_trials as f64),
        each(plain_seconds)
    );
    assert!(seconds < plain_seconds, "{name}: dearer than bisection");
    share
}

fn capacity(random: &mut Random) -> f64 {
    1e6 * 10f64.powf(0.1 + 3.8 * random.uniform())
}

#[test]
fn a_sharp_limit_is_always_found() {
    let share = compared("sharp", 600, 0.0, |random| Device::sharp(capacity(random)));
    assert_eq!(share, 1.0);
}

#[test]
fn a_soft_curve_is_always_found() {
    let share = compared("soft", 600, 0.0, |random| Device {
        hardness: 1.0 + 3.0 * random.uniform(),
        ..Device::sharp(capacity(random))
    });
    assert_eq!(share, 1.0);
}

#[test]
fn a_queue_that_hides_the_loss_from_short_trials_deceives_nobody() {
    let share = compared("queue of up to half a second", 600, 0.0, |random| {
        let capacity = capacity(random);
        Device {
            queue: capacity * 0.5 * random.uniform(),
            ..Device::sharp(capacity)
        }
    });
    assert_eq!(share, 1.0);
}

#[test]
fn a_noisy_capacity_is_found_within_its_noise() {
    let share = compared("capacity that varies by 0.2 %", 600, WIDTH, |random| {
        Device {
            jitter: 0.002,
            ..Device::sharp(capacity(random))
        }
    });
    assert!(share >= 0.95, "{share}");
}

#[test]
fn losses_for_no_reason_in_one_trial_of_twenty_dont_matter() {
    let share = compared("losses for no reason", 600, WIDTH, |random| Device {
        bursts: 0.05,
        ..Device::sharp(capacity(random))
    });
    assert!(share >= 0.95, "{share}");
}

fn with_baseline() -> SearchPolicy {
    let mut policy = policy();
    policy.subjects.push(SearchSubject {
        cell: cell("direct"),
        baseline: None,
        is_baseline: true,
    });
    policy.subjects[0].baseline = Some(1);
    policy
}

#[test]
fn a_generator_below_the_device_is_named_as_the_limit_and_one_above_it_is_not() {
    for seed in 0..300 {
        let mut random = Random::seeded(seed);
        let generator = (4.0 * capacity(&mut random)).min(5e9);
        let times = 0.3 + 1.4 * random.uniform();
        // The generator says what it sent, or drops it in silence.
        let says = seed % 2 == 0;
        let of = |cell: &Cell| {
            let carried = if cell.variant.as_str() == "device" {
                generator * times
            } else {
                f64::INFINITY
            };
            match says {
                true => Device {
                    generator,
                    ..Device::sharp(carried)
                },
                false => Device::sharp(carried.min(generator)),
            }
        };
        let (_, verdict) = searched(&with_baseline(), of, seed);
        let answer = &verdict.subjects[0].goals[0];
        let stands = answer.generator;
        let lower = answer.median().unwrap();
        match times {
            // Nearer to each other than the baseline's own bounds are, nobody can tell.
            t if (t - 1.0).abs() < 0.06 => {}
            t if t < 1.0 => {
                assert!(
                    matches!(stands, GeneratorLimit::Enough { .. }),
                    "{t} {stands:?}"
                );
                assert!((lower / (generator * t) - 1.0).abs() < 0.011);
            }
            t if says => assert!(
                matches!(stands, GeneratorLimit::FellShort { .. }),
                "{t} {stands:?}"
            ),
            t => assert!(
                matches!(stands, GeneratorLimit::IsTheLimit { .. }),
                "{t} {stands:?}"
            ),
        }
        let direct = verdict.subjects[1].goals[0].generator;
        let own = matches!(
            direct,
            GeneratorLimit::IsMeasured | GeneratorLimit::FellShort { .. }
        );
        assert!(own, "{direct:?}");
    }
}

#[test]
fn a_baseline_below_what_went_through_the_device_was_disturbed() {
    let of = |cell: &Cell| match cell.variant.as_str() {
        "device" => Device::sharp(2e9),
        _ => Device::sharp(1e9),
    };
    let (_, verdict) = searched(&with_baseline(), of, 1);
    let stands = verdict.subjects[0].goals[0].generator;
    assert!(
        matches!(stands, GeneratorLimit::Disturbed { .. }),
        "{stands:?}"
    );
}

#[test]
fn without_a_baseline_nobody_knows_the_generator() {
    let (_, verdict) = searched(&policy(), |_| Device::sharp(2e9), 1);
    assert_eq!(
        verdict.subjects[0].goals[0].generator,
        GeneratorLimit::Unknown
    );
}

#[test]
fn a_device_that_always_loses_is_below_the_minimum_and_one_that_never_does_at_least_at_the_maximum()
{
    let found = |capacity: f64| {
        let (evidence, verdict) = searched(&policy(), |_| Device::sharp(capacity), 1);
        let answer = verdict.subjects[0].goals[0].searches[0];
        (
            answer.found,
            answer.lower,
            answer.upper,
            evidence.observations.len(),
        )
    };
    let (kind, lower, upper, trials) = found(1e3);
    assert_eq!(
        (kind, lower, upper),
        (LoadAnswer::BelowMinimum, None, Some(1e6))
    );
    assert!(trials <= 8, "{trials}");
    let (kind, lower, upper, trials) = found(1e12);
    assert_eq!(
        (kind, lower, upper),
        (LoadAnswer::AtLeastMaximum, Some(1e10), None)
    );
    assert_eq!(trials, 3, "one short trial and two full ones");
}

#[test]
fn trials_that_fail_are_made_again_and_a_load_at_which_all_fail_is_not_carried() {
    let policy = policy();
    let device = Device::sharp(3e9);
    let loads = policy.grid.loads();
    let mut random = Random::seeded(1);
    let mut replay = Replay::new(&policy, &loads);
    let (mut evidence, mut failed) = (Evidence::default(), 0);
    while let Some(request) = replay.next() {
        let (_, ask) = replay.cells[request.cell];
        // The first attempt always fails, and above 4 Gbit/s every one.
        let outcome = match request.round == 1 || loads[ask.index] > 4e9 {
            true => RequestOutcome::Failed,
            false => RequestOutcome::Measured,
        };
        failed += usize::from(outcome == RequestOutcome::Failed);
        let figures = match outcome {
            RequestOutcome::Measured => device.trial(
                loads[ask.index],
                policy.phases[ask.phase].seconds,
                &mut random,
            ),
            _ => BTreeMap::new(),
        };
        let observation = Observation {
            request,
            outcome,
            figures,
            took: std::time::Duration::ZERO,
        };
        replay.add_trial(&observation);
        evidence.observations.push(observation);
        assert!(evidence.observations.len() < 500);
    }
    let bounds = policy.verdict(&evidence).subjects[0].goals[0].searches[0];
    assert!(failed > 5);
    assert!(
        bounds.lower.unwrap() <= 3e9 && bounds.upper.unwrap() > 3e9,
        "{bounds:?}"
    );
}

#[test]
fn repeated_searches_have_their_own_trials() {
    let policy = SearchPolicy {
        repeat: 3,
        ..policy()
    };
    let device = Device {
        jitter: 0.01,
        ..Device::sharp(3e9)
    };
    let (evidence, verdict) = searched(&policy, |_| device, 5);
    let answer = &verdict.subjects[0].goals[0];
    assert_eq!(answer.searches.len(), 3);
    let met = answer.met();
    assert!(met[0] < met[2], "noise shows: {met:?}");
    assert_eq!(answer.median(), Some(met[1]));
    let mut requests: Vec<Request> = evidence.observations.iter().map(|o| o.request).collect();
    requests.sort_by_key(|request| (request.cell, request.round));
    requests.dedup();
    assert_eq!(
        requests.len(),
        evidence.observations.len(),
        "no trial of a cell has another's number"
    );
}

#[test]
fn a_latency_goal_needs_no_loss() {
    let below = SearchGoal::Below {
        metric: metric("p99"),
        value: 2.0,
    };
    let policy = SearchPolicy {
        goals: vec![below],
        reading: FigureReading::default(),
        ..policy()
    };
    let loads = policy.grid.loads();
    let mut replay = Replay::new(&policy, &loads);
    let mut trials = 0;
    while let Some(request) = replay.next() {
        let load = loads[replay.cells[request.cell].1.index];
        // A queue's waiting time at a service rate of 1 GHz.
        let waits = if load < 1e9 {
            1.0 / (1.0 - load / 1e9)
        } else {
            1e9
        };
        replay.add_trial(&Observation {
            request,
            outcome: RequestOutcome::Measured,
            figures: BTreeMap::from([(metric("p99"), waits)]),
            took: std::time::Duration::ZERO,
        });
        trials += 1;
        assert!(trials < 100);
    }
    let verdict = verdict::verdict(&policy, &loads, &replay);
    let bounds = verdict.subjects[0].goals[0].searches[0];
    assert!(bounds.lower.unwrap() < 0.5e9 && bounds.upper.unwrap() >= 0.5e9);
    assert_eq!(bounds.throughput, None);
}

#[test]
fn phases_grow_to_the_last_one() {
    let seconds = |first, last| -> Vec<f64> {
        let phases = SearchPolicy::phases(first, last, true);
        phases.iter().map(|phase| phase.seconds).collect()
    };
    assert_eq!(seconds(1.0, 5.0), [1.0, 5.0]);
    assert_eq!(seconds(1.0, 60.0), [1.0, 4.0, 15.0, 60.0]);
    assert_eq!(seconds(1.0, 2.0), [1.0, 2.0]);
    assert_eq!(seconds(5.0, 5.0), [5.0]);
    assert!(
        SearchPolicy::phases(1.0, 60.0, true)
            .iter()
            .rev()
            .take(2)
            .all(|phase| phase.apart == 1)
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_prefix_of_the_evidence_gives_the_same_next_request(
        seed in 0u64..1000, cut in 0usize..200, bursts in 0.0f64..0.4,
    ) {
        let mut policy = with_baseline();
        policy.repeat = 2;
        let (evidence, whole) = searched(&policy, |_| Device { bursts, ..Device::sharp(2e9) }, seed);
        let cut = cut.min(evidence.observations.len() - 1);
        let prefix = Evidence { observations: evidence.observations[..cut].to_vec(), ..Evidence::default() };
        let request = evidence.observations[cut].request;
        prop_assert_eq!(policy.decide(&prefix), Decision::Measure(request));
        prop_assert!(policy.remaining_trials(&prefix) > 0);
        let cell = policy.cell(&prefix, request).unwrap();
        prop_assert!(cell.params.contains_key("rate") && cell.params.contains_key("seconds"));
        prop_assert_eq!(Some(cell), policy.cell(&evidence, request), "what a number means doesn't change");
        prop_assert_eq!(policy.decide(&evidence), Decision::Done(whole));
        prop_assert_eq!(policy.remaining_trials(&evidence), 0);
    }
}
