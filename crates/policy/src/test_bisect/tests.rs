use super::*;
use crate::{Observation, RequestOutcome};
use backsight_stats::Random;
use std::collections::HashSet;

/// A history in which the failure probability changes once, and versions that don't build.
struct World {
    versions: usize,
    /// The first version after the change.
    at: usize,
    before: f64,
    after: f64,
    broken: HashSet<usize>,
    seed: u64,
}

impl World {
    fn new(versions: usize, at: usize, before: f64, after: f64) -> Self {
        Self {
            versions,
            at,
            before,
            after,
            broken: HashSet::new(),
            seed: 3,
        }
    }

    fn policy(&self) -> TestBisectPolicy {
        TestBisectPolicy {
            versions: self.versions,
            cell: 0,
            metric: metric(),
            revisits: true,
            priors: FailurePriors::default(),
            confidence: Confidence::USUAL,
            budget: None,
            most: 2000,
        }
    }

    /// The same request gives the same answer, whenever it is asked.
    fn answer(&self, request: Request) -> Observation {
        let place = (request.version as u64) << 40
            | u64::from(request.boot) << 20
            | u64::from(request.round);
        let mut random = Random::seeded(self.seed ^ place.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let rate = if request.version < self.at {
            self.before
        } else {
            self.after
        };
        let failed = random.uniform() < rate;
        let outcome = match self.broken.contains(&request.version) {
            true => RequestOutcome::NoBuild,
            false => RequestOutcome::Measured,
        };
        observation(request, outcome, Some(f64::from(u8::from(failed))))
    }

    fn bisect(&self, policy: &TestBisectPolicy) -> (TestBisectVerdict, Evidence) {
        bisect(policy, |request| self.answer(request))
    }
}

fn metric() -> MetricName {
    MetricName::new("failed").unwrap()
}

fn observation(request: Request, outcome: RequestOutcome, figure: Option<f64>) -> Observation {
    Observation {
        request,
        outcome,
        figures: figure
            .map(|figure| (metric(), figure))
            .into_iter()
            .collect(),
        took: Duration::from_secs(1),
    }
}

fn bisect(
    policy: &TestBisectPolicy,
    mut answer: impl FnMut(Request) -> Observation,
) -> (TestBisectVerdict, Evidence) {
    let mut evidence = Evidence::default();
    let mut built = HashSet::new();
    loop {
        match policy.decide(&evidence) {
            Decision::Done(verdict) => return (verdict, evidence),
            Decision::Measure(request) => {
                if built.insert(request.version) {
                    evidence.builds.push(Duration::from_secs(5));
                }
                evidence.observations.push(answer(request));
            }
        }
    }
}

fn place(verdict: &TestBisectVerdict) -> Option<ChangeLocation> {
    verdict.culprit.map(|culprit| culprit.place)
}

#[test]
fn a_break_is_found_in_few_runs() {
    let world = World::new(128, 77, 0.0, 1.0);
    let (verdict, _) = world.bisect(&world.policy());
    assert_eq!(verdict.ended, Some(BisectEnd::Decided));
    assert_eq!(
        place(&verdict),
        Some(ChangeLocation {
            after: 76,
            until: 77
        })
    );
    let culprit = verdict.culprit.unwrap();
    assert_eq!((culprit.before.rate, culprit.after.rate), (0.0, 1.0));
    assert!(culprit.probability >= 0.95);
    assert!(verdict.trials.0 <= 24, "{:?}", verdict.measured);
}

#[test]
fn a_test_that_fails_sometimes_is_bisected() {
    let mut right = 0;
    for seed in 0..40 {
        let at = 1 + (seed as usize * 13) % 63;
        let world = World {
            seed,
            ..World::new(64, at, 0.0, 0.3)
        };
        let (verdict, _) = world.bisect(&world.policy());
        assert_eq!(verdict.ended, Some(BisectEnd::Decided));
        right += usize::from(
            place(&verdict)
                == Some(ChangeLocation {
                    after: at - 1,
                    until: at,
                }),
        );
    }
    assert!(right >= 36, "{right} of 40");
}

#[test]
fn a_mended_test_is_bisected() {
    let world = World::new(32, 20, 0.5, 0.0);
    let (verdict, _) = world.bisect(&world.policy());
    assert_eq!(
        place(&verdict),
        Some(ChangeLocation {
            after: 19,
            until: 20
        })
    );
}

#[test]
fn nothing_is_named_where_nothing_changed() {
    let mut named = 0;
    for seed in 0..40 {
        let rate = [0.0, 0.05, 0.3, 1.0][seed as usize % 4];
        let world = World {
            seed,
            ..World::new(64, 0, rate, rate)
        };
        let (verdict, _) = world.bisect(&world.policy());
        assert!(verdict.ended.is_some());
        named += usize::from(verdict.culprit.is_some());
    }
    assert!(named <= 3, "{named} of 40");
}

#[test]
fn broken_versions_make_the_answer_a_stretch() {
    let mut world = World::new(32, 12, 0.0, 1.0);
    world.broken = HashSet::from([11, 12, 13, 25]);
    let (verdict, _) = world.bisect(&world.policy());
    assert_eq!(
        place(&verdict),
        Some(ChangeLocation {
            after: 10,
            until: 14
        })
    );
    world.broken = HashSet::from([31]);
    let (verdict, _) = world.bisect(&world.policy());
    assert_eq!(verdict.ended, Some(BisectEnd::End(31)));
    assert_eq!(verdict.culprit, None);
}

#[test]
fn skipped_runs_say_nothing_and_a_version_that_only_skips_is_passed_over() {
    let world = World::new(16, 9, 0.0, 1.0);
    let (verdict, _) = bisect(&world.policy(), |request| match request.version {
        8 => observation(request, RequestOutcome::Measured, None),
        _ => world.answer(request),
    });
    assert_eq!(place(&verdict), Some(ChangeLocation { after: 7, until: 9 }));
    assert_eq!(verdict.broken, [8]);
    assert_eq!(verdict.trials.1, 2);
}

#[test]
fn each_run_boots_where_builds_are_booted() {
    let world = World::new(16, 5, 0.0, 1.0);
    let policy = TestBisectPolicy {
        revisits: false,
        ..world.policy()
    };
    let (verdict, evidence) = world.bisect(&policy);
    assert_eq!(place(&verdict), Some(ChangeLocation { after: 4, until: 5 }));
    let mut boots = HashSet::new();
    for seen in &evidence.observations {
        assert_eq!(seen.request.round, 1);
        assert!(boots.insert((seen.request.version, seen.request.boot)));
    }
}

#[test]
fn limits_end_it_without_an_answer() {
    let world = World::new(128, 40, 0.0, 0.3);
    let policy = TestBisectPolicy {
        most: 10,
        ..world.policy()
    };
    let (verdict, evidence) = world.bisect(&policy);
    assert_eq!(
        (verdict.ended, verdict.culprit),
        (Some(BisectEnd::Most), None)
    );
    assert_eq!(evidence.observations.len(), 10);
    let policy = TestBisectPolicy {
        budget: Some(Duration::from_secs(20)),
        ..world.policy()
    };
    assert_eq!(world.bisect(&policy).0.ended, Some(BisectEnd::Budget));
    let policy = TestBisectPolicy {
        versions: 1,
        ..world.policy()
    };
    assert_eq!(world.bisect(&policy).0.ended, Some(BisectEnd::Short));
}

#[test]
fn a_machine_on_which_everything_fails_since_noon_names_no_culprit() {
    let world = World::new(64, 40, 0.0, 1.0);
    let (_, evidence) = world.bisect(&world.policy());
    // All failures are of the second half of the study: what fails since noon looks like that.
    let is_morning = |n: usize| n < 8;
    let mut runs = 0;
    let (verdict, _) = bisect(&world.policy(), |request| {
        runs += 1;
        let fails = !is_morning(runs) || (request.version >= 40);
        observation(
            request,
            RequestOutcome::Measured,
            Some(f64::from(u8::from(fails))),
        )
    });
    assert!(evidence.observations.len() > 8);
    assert_eq!(verdict.culprit, None, "{verdict:?}");
}

#[test]
fn the_same_evidence_gives_the_same_decision() {
    let world = World::new(64, 30, 0.05, 0.4);
    let policy = world.policy();
    let (verdict, evidence) = world.bisect(&policy);
    for n in 0..evidence.observations.len() {
        let known = Evidence {
            observations: evidence.observations[..n].to_vec(),
            builds: evidence.builds.clone(),
            ..Evidence::default()
        };
        // Costs are those of the end here; what is asked is that a replay doesn't differ from itself.
        assert_eq!(policy.decide(&known), policy.decide(&known));
    }
    assert_eq!(policy.decide(&evidence), Decision::Done(verdict));
    assert_eq!(policy.remaining_trials(&evidence), 0);
    let early = Evidence::from_observations(evidence.observations[..8].to_vec());
    assert!(policy.remaining_trials(&early) > 0);
    let suspects: f64 = policy.suspects(&early).iter().map(|(_, p)| p).sum();
    let no_change = policy.verdict(&early).no_change;
    assert!((suspects + no_change - 1.0).abs() < 1e-9);
}
