//! The standing job on a simulated tree: each action of its policy is carried out by the policies of the verbs that do it.

use backsight_model::{Better, MetricName};
use backsight_policy::{
    BisectPolicy, ChangeLocation, ChangeQuestion, Decision, Evidence, Observation, Policy as _,
    Request, RequestOutcome, RequestedMetric, TryPolicy, VerificationState, WatchAction,
    WatchBisection, WatchBisectionState, WatchCell, WatchEvidence, WatchPolicy, WatchPurpose,
    WatchSpending, WatchVerification,
};
use backsight_stats::{Confidence, culprits::BisectionGoal};
use jiff::Timestamp;
use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use super::world::{BETWEEN, BUILD, COMMITS, DAYS, TRIAL, Told, World};

/// Trials of each benchmark where a commit is measured with the whole plan, and of the sentinel's.
const PLAN_ROUNDS: u32 = 4;
const SENTINEL_ROUNDS: u32 = 4;
/// The first benchmarks are the sentinel.
const SENTINEL: usize = 2;
/// Measurements, and passes, at most.
const MOST: usize = 20_000;

/// A trial of a benchmark.
struct Trial {
    version: usize,
    value: f64,
    /// The bisection that made it, if one did.
    made_by: Option<usize>,
}

/// The job with what it knows.
struct StandingJob {
    world: World,
    policy: WatchPolicy,
    known: WatchEvidence,
    /// By benchmark, in the order of time.
    trials: Vec<Vec<Trial>>,
    /// Builds that each bisection made.
    builds: Vec<Vec<Duration>>,
    /// Evidence of verifications, in their order.
    tries: Vec<Evidence>,
    now: f64,
    told: Told,
    metric: MetricName,
    seed: u64,
}

/// What a standing job with so many hours of the machine a day tells of the tree of this seed.
pub(super) fn watched(seed: u64, hours_a_day: f64) -> Told {
    let world = World::new(seed);
    let cells = world.cells();
    let told = Told::new(&world);
    let mut job = StandingJob {
        policy: WatchPolicy {
            cells: (0..cells)
                .map(|cell| WatchCell {
                    testbed: 0,
                    in_sentinel: cell < SENTINEL,
                })
                .collect(),
            plan_rounds: PLAN_ROUNDS,
            sentinel_rounds: SENTINEL_ROUNDS,
            budget: Duration::from_secs_f64(hours_a_day * 3600.0),
        },
        known: WatchEvidence {
            series: vec![Default::default(); cells],
            build: Duration::from_secs_f64(BUILD),
            trials: vec![Duration::from_secs_f64(TRIAL); cells],
            ..WatchEvidence::default()
        },
        trials: (0..cells).map(|_| Vec::new()).collect(),
        builds: Vec::new(),
        tries: Vec::new(),
        now: 0.0,
        told,
        metric: MetricName::new("m").expect("a name"),
        seed,
        world,
    };
    while job.now < DAYS as f64 * 86_400.0 {
        job.step();
    }
    job.told.hours = job.world.spent / 3600.0;
    job.told
}

fn timestamp(seconds: f64) -> Timestamp {
    Timestamp::from_second(seconds as i64).expect("a time in range")
}

impl StandingJob {
    fn step(&mut self) {
        while self.known.arrivals.len() < COMMITS
            && self.known.arrivals.len() as f64 * BETWEEN <= self.now
        {
            let at = timestamp(self.known.arrivals.len() as f64 * BETWEEN);
            self.known.arrivals.push(at);
        }
        let (began, before) = (self.now, self.world.spent);
        let purpose = match self.policy.decide(&self.known, timestamp(self.now), 0) {
            WatchAction::Measure {
                version,
                cells,
                rounds,
                ..
            } => {
                self.world.build(version);
                for _ in 0..rounds {
                    for cell in &cells {
                        self.measure(*cell, version, None);
                    }
                }
                WatchPurpose::Schedule
            }
            WatchAction::Bisect {
                number,
                question,
                smallest,
                budget,
            } => {
                self.bisect(number, question, smallest, budget);
                WatchPurpose::Question
            }
            WatchAction::Verify {
                version,
                cell,
                equal,
                budget,
            } => {
                self.verify(version, cell, equal, budget);
                WatchPurpose::Question
            }
            WatchAction::Tell(change) => {
                let ChangeLocation { after, until } = change.place;
                match change.is_verified {
                    true => self.told.name(&self.world, until, self.now),
                    false => self.told.tell_stretch(&self.world, after, until),
                }
                self.known.told.push(change);
                return;
            }
            WatchAction::Wait { until, .. } => {
                self.now = (self.now + BETWEEN).min(until.as_second() as f64);
                return;
            }
        };
        let took = self.world.spent - before;
        self.now += took;
        self.known.spent.push(WatchSpending {
            at: timestamp(began),
            testbed: 0,
            purpose,
            took: Duration::from_secs_f64(took),
        });
    }

    fn measure(&mut self, cell: usize, version: usize, made_by: Option<usize>) -> f64 {
        let value = self.world.measure(version, cell);
        self.known.series[cell].add(version, value);
        self.trials[cell].push(Trial {
            version,
            value,
            made_by,
        });
        value
    }

    fn observation(&self, request: Request, value: f64, took: f64) -> Observation {
        Observation {
            request,
            outcome: RequestOutcome::Measured,
            figures: BTreeMap::from([(self.metric.clone(), value)]),
            took: Duration::from_secs_f64(took),
        }
    }

    /// All trials between the ends as evidence of a bisection; only its own cost something.
    fn evidence_of(&self, number: usize, question: &ChangeQuestion) -> Evidence {
        let mut rounds: HashMap<usize, u32> = HashMap::new();
        let within = self.trials[question.cell]
            .iter()
            .filter(|trial| (question.good..=question.bad).contains(&trial.version));
        let observations = within.map(|trial| {
            let round = rounds.entry(trial.version).or_default();
            *round += 1;
            let request = Request {
                version: trial.version - question.good,
                boot: 1,
                ..Request::as_found(0, *round)
            };
            let took = match trial.made_by == Some(number) {
                true => TRIAL,
                false => 0.0,
            };
            self.observation(request, trial.value, took)
        });
        Evidence {
            observations: observations.collect(),
            builds: self.builds[number].clone(),
            ..Evidence::default()
        }
    }

    fn bisect(&mut self, number: usize, question: ChangeQuestion, smallest: f64, budget: Duration) {
        if number == self.builds.len() {
            self.builds.push(Vec::new());
            self.known.bisections.push(WatchBisection {
                question,
                spent: Duration::ZERO,
                state: WatchBisectionState::Open(None),
            });
        }
        let mut evidence = self.evidence_of(number, &question);
        let policy = BisectPolicy {
            versions: question.bad - question.good + 1,
            cell: 0,
            metric: self.metric.clone(),
            better: Better::Lower,
            testbeds: 1,
            layouts: 1,
            trials: None,
            revisits: true,
            goal: BisectionGoal::default(),
            smallest: Some(smallest),
            budget: Some(evidence.spent() + budget),
            most: MOST,
            seed: (self.seed * 1000 + number as u64) as u32,
        };
        let verdict = loop {
            match policy.decide(&evidence) {
                Decision::Done(verdict) => break verdict,
                Decision::Measure(request) => {
                    let version = question.good + request.version;
                    if self.world.build(version) > 0.0 {
                        self.builds[number].push(Duration::from_secs_f64(BUILD));
                        evidence.builds.push(Duration::from_secs_f64(BUILD));
                    }
                    let value = self.measure(question.cell, version, Some(number));
                    let seen = self.observation(request, value, TRIAL);
                    evidence.observations.push(seen);
                }
            }
        };
        let moved = |place: ChangeLocation| {
            Some(ChangeLocation {
                after: question.good + place.after,
                until: question.good + place.until,
            })
        };
        self.known.bisections[number] = WatchBisection {
            question,
            spent: evidence.spent(),
            state: WatchBisectionState::new(&verdict, policy.goal.confidence, moved),
        };
    }

    fn verify(&mut self, version: usize, cell: usize, equal: f64, budget: Duration) {
        let mut known = self.known.verifications.iter();
        let known = known.position(|it| it.version == version && it.cell == cell);
        let number = known.unwrap_or_else(|| {
            self.tries.push(Evidence::default());
            self.known.verifications.push(WatchVerification {
                version,
                cell,
                spent: Duration::ZERO,
                state: VerificationState::Open,
            });
            self.tries.len() - 1
        });
        let mut evidence = std::mem::take(&mut self.tries[number]);
        let policy = TryPolicy {
            sides: 1,
            layouts: 1,
            trials: 1,
            cells: vec![vec![RequestedMetric {
                name: self.metric.clone(),
                better: Better::Lower,
                decides: true,
            }]],
            absent: Vec::new(),
            revisits: true,
            first_boot: 1,
            budget: Some(evidence.spent() + budget),
            most: MOST as u32,
            equal: Some(equal),
            tolerates: false,
            confidence: Confidence::USUAL,
            seed: self.seed as u32,
        };
        let verdict = loop {
            match policy.decide(&evidence) {
                Decision::Done(verdict) => break verdict,
                Decision::Measure(request) => {
                    let of = version - 1 + request.version;
                    if self.world.build(of) > 0.0 {
                        evidence.builds.push(Duration::from_secs_f64(BUILD));
                    }
                    let value = self.measure(cell, of, None);
                    let seen = self.observation(request, value, TRIAL);
                    evidence.observations.push(seen);
                }
            }
        };
        let state = VerificationState::new(verdict.compared.first(), verdict.ended);
        let verification = &mut self.known.verifications[number];
        (verification.spent, verification.state) = (evidence.spent(), state);
        self.tries[number] = evidence;
    }
}
