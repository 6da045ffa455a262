//! Policy of `step`: measures the versions of a history, both ends first, each as often as its modes say.
//!
//! Repeats are nested: layouts of a version, boots of a build, trials on a boot. They are measured in passes over all versions,
//! so that a drift of the machine doesn't look like a history: a pass is one boot of one layout of every version (with all its
//! trials where a boot can't be used again), and every pass but the first is shuffled.
//!
//! A version that doesn't build or boot is noted and not requested again; a neighbour may stand in for it.

use backsight_model::MetricName;
use backsight_stats::changes::{DetectedChange, DetectionOptions, detect};
use rand::{SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, HashSet};

use crate::{
    Decision, Evidence, Observation, Policy, Request, RequestOutcome, evidence_index::EvidenceIndex,
};

/// Boots of a version that may fail before it counts as one that doesn't boot.
const MAX_FAILED_BOOTS: usize = 2;
/// How far from a broken version a neighbour is looked for, in versions.
const MAX_NEIGHBOUR_DISTANCE: usize = 16;

/// In which order the first pass goes through the versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepOrder {
    /// Both ends, then the middle of the widest gap, and so on: the outline is there early.
    #[default]
    Halving,
    /// From the oldest to the newest.
    Forward,
    /// From the newest to the oldest.
    Backward,
}

/// Versions along a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepPolicy {
    /// How many versions the history has.
    pub versions: usize,
    /// Positions of those that are wanted, ascending; the others only stand in for broken ones.
    pub wanted: Vec<usize>,
    /// Positions of those that the target says aren't built: that nothing is measured of them is no failure.
    pub skipped: Vec<usize>,
    /// How many layouts of each version; at least one.
    pub layouts: usize,
    /// How many boots of each build; at least one.
    pub boots: u32,
    /// How many trials of each cell on each boot; at least one.
    pub rounds: u32,
    /// The primary metrics of each cell of the plan, by which changes are stable or not.
    pub cells: Vec<Vec<MetricName>>,
    /// The order of the first pass.
    pub order: StepOrder,
    /// Whether a boot can be gone back to after others: nothing is started, programs are just run.
    pub revisits: bool,
    /// Whether a neighbour is measured in place of a version that doesn't build or boot.
    pub skip_broken: bool,
    /// Whether it is enough when two passes one after the other see the same change points.
    pub until_stable: bool,
    /// Seed of the orders.
    pub seed: u32,
}

/// What a step came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepVerdict {
    /// Trials that gave samples.
    pub measured: usize,
    /// Trials that failed.
    pub failed: usize,
    /// Versions that don't build or boot.
    pub broken: Vec<usize>,
    /// The newest wanted version that isn't skipped, if neither it nor a neighbour in its place was measured.
    pub newest_missing: Option<usize>,
    /// Whether it ended early because the change points were stable.
    pub stable: bool,
}

/// What the evidence says of requests and versions.
struct Seen<'a> {
    settled: EvidenceIndex<'a>,
    /// Versions on which a trial was begun.
    alive: HashSet<usize>,
    failed_boots: HashMap<usize, usize>,
}

impl<'a> Seen<'a> {
    fn from_evidence(evidence: &'a Evidence) -> Self {
        let settled = EvidenceIndex::new(evidence);
        let mut failed_boots: HashMap<usize, usize> = HashMap::new();
        for (version, ..) in &settled.unbooted {
            *failed_boots.entry(*version).or_default() += 1;
        }
        Self {
            alive: settled.trials.keys().map(|trial| trial.version).collect(),
            settled,
            failed_boots,
        }
    }

    /// Whether nothing more is to be had of the version.
    fn broken(&self, version: usize) -> bool {
        if self.alive.contains(&version) {
            return false;
        }
        self.settled.unbuilt.contains(&(version, 0))
            || self.failed_boots.get(&version).copied().unwrap_or(0) >= MAX_FAILED_BOOTS
    }
}

/// One pass over the versions: a layout, a boot of it, and the rounds on that boot.
struct Pass {
    layout: usize,
    boot: u32,
    rounds: std::ops::RangeInclusive<u32>,
}

impl StepPolicy {
    fn passes(&self) -> Vec<Pass> {
        let mut passes = Vec::new();
        let rounds = self.rounds.max(1);
        for boot in 1..=self.boots.max(1) {
            if self.revisits {
                for round in 1..=rounds {
                    passes.extend((0..self.layouts.max(1)).map(|layout| Pass {
                        layout,
                        boot,
                        rounds: round..=round,
                    }));
                }
            } else {
                passes.extend((0..self.layouts.max(1)).map(|layout| Pass {
                    layout,
                    boot,
                    rounds: 1..=rounds,
                }));
            }
        }
        passes
    }

    /// The versions that are measured: the wanted ones, or what stands in for them.
    fn measured_versions(&self, seen: &Seen<'_>) -> Vec<usize> {
        let mut taken: HashSet<usize> = self.wanted.iter().copied().collect();
        let mut versions = Vec::with_capacity(self.wanted.len());
        for (n, version) in self.wanted.iter().copied().enumerate() {
            if !seen.broken(version) {
                versions.push(version);
            } else if self.skip_broken
                && let Some(neighbour) = self.neighbour(n, seen, &taken)
            {
                taken.insert(neighbour);
                versions.push(neighbour);
            }
        }
        versions.sort_unstable();
        versions
    }

    /// The nearest version that isn't known to be broken, between the wanted ones on both sides.
    fn neighbour(&self, n: usize, seen: &Seen<'_>, taken: &HashSet<usize>) -> Option<usize> {
        let version = self.wanted[n];
        let first = n.checked_sub(1).map_or(0, |n| self.wanted[n] + 1);
        let end = self.wanted.get(n + 1).copied().unwrap_or(self.versions);
        (1..=MAX_NEIGHBOUR_DISTANCE)
            .flat_map(|far| [version.checked_add(far), version.checked_sub(far)])
            .flatten()
            .filter(|v| (first..end).contains(v))
            .find(|v| !taken.contains(v) && !seen.broken(*v))
    }

    /// See [`StepVerdict::newest_missing`].
    fn newest_missing(&self, evidence: &Evidence, seen: &Seen<'_>) -> Option<usize> {
        let is_built = |version: &usize| !self.skipped.contains(version);
        let newest = self.wanted.iter().copied().rfind(is_built)?;
        let before = self.wanted.iter().copied().rfind(|it| *it < newest);
        let stand_ins = match self.skip_broken && seen.broken(newest) {
            true => before.map_or(0, |before| before + 1)..self.versions,
            false => newest..newest + 1,
        };
        let mut measured = evidence.observations.iter().filter(|o| o.measured());
        let found = measured.any(|o| stand_ins.contains(&o.request.version));
        (!found).then_some(newest)
    }

    /// The order of the versions in a pass.
    fn ordered(&self, pass: usize, mut versions: Vec<usize>) -> Vec<usize> {
        match (pass, self.order) {
            (0, StepOrder::Forward) => versions,
            (0, StepOrder::Backward) => {
                versions.reverse();
                versions
            }
            (0, StepOrder::Halving) => halving(&versions),
            _ => {
                versions.shuffle(&mut self.random(&[pass as u64]));
                versions
            }
        }
    }

    fn random(&self, place: &[u64]) -> ChaCha8Rng {
        let mixed = place.iter().fold(u64::from(self.seed), |mixed, part| {
            // Knuth's multiplicative constant spreads small numbers over all bits.
            (mixed ^ part)
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .rotate_left(29)
        });
        ChaCha8Rng::seed_from_u64(mixed)
    }

    fn cells_in_order(&self, version: usize, pass: &Pass, round: u32) -> Vec<usize> {
        let mut cells: Vec<usize> = (0..self.cells.len()).collect();
        let place = [
            version as u64,
            pass.layout as u64,
            u64::from(pass.boot),
            u64::from(round),
        ];
        cells.shuffle(&mut self.random(&place));
        cells
    }

    fn requests_of(&self, version: usize, pass: &Pass) -> impl Iterator<Item = Request> {
        let (layout, boot) = (pass.layout, pass.boot);
        pass.rounds.clone().flat_map(move |round| {
            let cells = self.cells_in_order(version, pass, round);
            cells.into_iter().map(move |cell| Request {
                testbed: 0,
                version,
                layout,
                boot,
                cell,
                round,
            })
        })
    }

    /// What is asked next of each version in a pass, in the pass's order; nothing of those where all is settled.
    fn open_in<'a>(
        &'a self,
        (n, pass): (usize, &'a Pass),
        versions: &[usize],
        seen: &'a Seen<'a>,
    ) -> impl Iterator<Item = Request> + use<'a> {
        let versions = self.ordered(n, versions.to_vec()).into_iter();
        versions.filter_map(move |version| {
            let mut requests = self.requests_of(version, pass);
            requests.find(|request| !seen.settled.is_settled(request))
        })
    }

    /// The change points of each cell's primary metrics, by the first passes alone.
    fn changes(&self, evidence: &Evidence, passes: &[Pass]) -> Vec<Vec<DetectedChange>> {
        let mut values: BTreeMap<(usize, &str), BTreeMap<usize, Vec<f64>>> = BTreeMap::new();
        for observation in evidence.observations.iter().filter(|o| o.measured()) {
            let Request {
                version,
                layout,
                boot,
                cell,
                round,
                ..
            } = observation.request;
            let within = passes.iter().any(|pass| {
                pass.layout == layout && pass.boot == boot && pass.rounds.contains(&round)
            });
            if within {
                let primary = self.cells.get(cell).into_iter().flatten();
                for metric in primary {
                    let Some(value) = observation.figures.get(metric) else {
                        continue;
                    };
                    let series = values.entry((cell, metric.as_str())).or_default();
                    series.entry(version).or_default().push(*value);
                }
            }
        }
        values
            .values()
            .map(|series| {
                let means: Vec<f64> = series
                    .values()
                    .map(|values| values.iter().sum::<f64>() / values.len() as f64)
                    .collect();
                detect(&means, &DetectionOptions::default())
                    .map_or(Vec::new(), |found| found.changes)
            })
            .collect()
    }

    fn is_stable(&self, evidence: &Evidence, done: usize, passes: &[Pass]) -> bool {
        if done < 2 {
            return false;
        }
        let (before, now) = (
            self.changes(evidence, &passes[..done - 1]),
            self.changes(evidence, &passes[..done]),
        );
        before.len() == now.len() && before.iter().zip(&now).all(|(b, n)| same_changes(b, n))
    }
}

fn same_changes(before: &[DetectedChange], now: &[DetectedChange]) -> bool {
    let same = |(b, n): (&DetectedChange, &DetectedChange)| {
        (b.earliest..=b.latest).contains(&n.at) && (b.size > 0.0) == (n.size > 0.0)
    };
    before.len() == now.len() && before.iter().zip(now).all(same)
}

/// Both ends, then the middles of the gaps, level by level: all of a level are about as wide. A level begins at the end
/// that is nearer to where the one before ended, so that a tree in which one version is built after the other goes to
/// and fro, not back to the beginning each time.
fn halving(versions: &[usize]) -> Vec<usize> {
    let Some(last) = versions.len().checked_sub(1) else {
        return Vec::new();
    };
    let mut order = vec![0];
    if last > 0 {
        order.push(last);
    }
    let mut gaps = vec![(0, last)];
    while let Some(here) = order.last().copied() {
        gaps.retain(|(from, to)| to - from > 1);
        let mut middles: Vec<usize> = gaps.iter().map(|(from, to)| from.midpoint(*to)).collect();
        let (Some(first), Some(last)) = (middles.first(), middles.last()) else {
            break;
        };
        if last.abs_diff(here) < first.abs_diff(here) {
            middles.reverse();
        }
        order.extend(middles);
        gaps = gaps
            .iter()
            .map(|(from, to)| (*from, from.midpoint(*to), *to))
            .flat_map(|(from, middle, to)| [(from, middle), (middle, to)])
            .collect();
    }
    order.into_iter().map(|at| versions[at]).collect()
}

impl Policy for StepPolicy {
    type Verdict = StepVerdict;

    fn decide(&self, evidence: &Evidence) -> Decision<StepVerdict> {
        let seen = Seen::from_evidence(evidence);
        let versions = self.measured_versions(&seen);
        let passes = self.passes();
        let mut stable = false;
        for (n, pass) in passes.iter().enumerate() {
            if self.until_stable && self.is_stable(evidence, n, &passes) {
                stable = true;
                break;
            }
            if let Some(request) = self.open_in((n, pass), &versions, &seen).next() {
                return Decision::Measure(request);
            }
        }
        let count = |outcome| {
            let with = |o: &&Observation| o.outcome == outcome;
            evidence.observations.iter().filter(with).count()
        };
        Decision::Done(StepVerdict {
            measured: count(RequestOutcome::Measured),
            failed: count(RequestOutcome::Failed),
            broken: (0..self.versions).filter(|v| seen.broken(*v)).collect(),
            newest_missing: self.newest_missing(evidence, &seen),
            stable,
        })
    }

    fn remaining_trials(&self, evidence: &Evidence) -> usize {
        let seen = Seen::from_evidence(evidence);
        let versions = self.measured_versions(&seen);
        let of_pass = |pass: &Pass| -> usize {
            let requests = |version: &usize| {
                let requests = self.requests_of(*version, pass);
                requests
                    .filter(|request| !seen.settled.is_settled(request))
                    .count()
            };
            versions.iter().map(requests).sum()
        };
        self.passes().iter().map(of_pass).sum()
    }

    fn upcoming_builds(&self, evidence: &Evidence, most: usize) -> Vec<Request> {
        let seen = Seen::from_evidence(evidence);
        let versions = self.measured_versions(&seen);
        let mut builds = HashSet::new();
        let passes = self.passes();
        let requests = passes
            .iter()
            .enumerate()
            .flat_map(|pass| self.open_in(pass, &versions, &seen))
            .filter(|request| builds.insert((request.version, request.layout)));
        requests.take(most).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn policy(versions: usize) -> StepPolicy {
        StepPolicy {
            versions,
            wanted: (0..versions).collect(),
            skipped: Vec::new(),
            layouts: 1,
            boots: 2,
            rounds: 2,
            cells: vec![vec![value()]; 2],
            order: StepOrder::Halving,
            revisits: false,
            skip_broken: false,
            until_stable: false,
            seed: 3,
        }
    }

    fn value() -> MetricName {
        MetricName::new("m").unwrap()
    }

    fn seen(request: Request, outcome: RequestOutcome, value: f64) -> Observation {
        let metric = MetricName::new("m").unwrap();
        Observation {
            request,
            outcome,
            figures: BTreeMap::from([(metric, value)]),
            took: std::time::Duration::ZERO,
        }
    }

    /// Asks until it is done; `world` says what comes of a request.
    fn pursue(
        policy: &StepPolicy,
        mut evidence: Evidence,
        world: impl Fn(Request) -> (RequestOutcome, f64),
    ) -> (Evidence, StepVerdict) {
        loop {
            match policy.decide(&evidence) {
                Decision::Done(verdict) => {
                    assert!(verdict.stable || policy.remaining_trials(&evidence) == 0);
                    return (evidence, verdict);
                }
                Decision::Measure(request) => {
                    assert!(policy.remaining_trials(&evidence) > 0);
                    let (outcome, value) = world(request);
                    evidence.observations.push(seen(request, outcome, value));
                    assert!(evidence.observations.len() < 100_000, "asks for ever");
                }
            }
        }
    }

    #[test]
    fn both_ends_come_first_and_then_the_middles() {
        assert_eq!(halving(&[10, 11, 12, 13, 14]), [10, 14, 12, 11, 13]);
        let nine: Vec<usize> = (0..9).collect();
        assert_eq!(halving(&nine), [0, 8, 4, 2, 6, 7, 5, 3, 1]);
        assert_eq!(halving(&[7]), [7]);
        assert_eq!(halving(&[]), [0; 0]);
    }

    #[test]
    fn a_newest_version_without_measurement_is_named_unless_it_is_skipped_or_stood_in_for() {
        let ends = |policy: &StepPolicy, broken: &[usize]| {
            let world = |request: Request| match broken.contains(&request.version) {
                true => (RequestOutcome::NoBuild, 0.0),
                false => (RequestOutcome::Measured, 1.0),
            };
            let (_, verdict) = pursue(policy, Evidence::default(), world);
            (verdict.newest_missing, verdict.measured > 0)
        };
        let all = policy(5);
        assert_eq!(ends(&all, &[]), (None, true));
        assert_eq!(ends(&all, &[1]), (None, true));
        assert_eq!(ends(&all, &[4]), (Some(4), true));
        assert_eq!(ends(&all, &[0, 1, 2, 3, 4]), (Some(4), false));
        let skipped = StepPolicy {
            skipped: vec![4],
            ..all.clone()
        };
        assert_eq!(ends(&skipped, &[4]), (None, true));
        assert_eq!(ends(&skipped, &[3, 4]), (Some(3), true));
        let stands_in = StepPolicy {
            wanted: vec![0, 2, 4],
            skip_broken: true,
            ..all
        };
        assert_eq!(ends(&stands_in, &[4]), (None, true), "3 stands in");
        assert_eq!(ends(&stands_in, &[3, 4]), (Some(4), true));
        let fails = |request: Request| match request.version {
            4 => (RequestOutcome::Failed, 0.0),
            _ => (RequestOutcome::Measured, 1.0),
        };
        let (_, verdict) = pursue(&policy(5), Evidence::default(), fails);
        assert_eq!(verdict.newest_missing, Some(4));
    }

    #[test]
    fn all_trials_of_a_boot_come_together_and_all_versions_before_the_next_boot() {
        let (evidence, verdict) = pursue(&policy(5), Evidence::default(), |_| {
            (RequestOutcome::Measured, 1.0)
        });
        assert_eq!((verdict.measured, verdict.failed), (5 * 2 * 2 * 2, 0));
        let boots: Vec<(usize, u32)> = evidence
            .observations
            .chunks(4)
            .map(|boot| {
                assert!(
                    boot.iter()
                        .all(|o| o.request.version == boot[0].request.version)
                );
                (boot[0].request.version, boot[0].request.boot)
            })
            .collect();
        assert_eq!(
            boots[..5].iter().map(|b| b.0).collect::<Vec<_>>(),
            [0, 4, 2, 1, 3]
        );
        assert!(boots.iter().map(|b| b.1).is_sorted());
    }

    #[test]
    fn where_nothing_is_booted_every_round_goes_over_all_versions() {
        let policy = StepPolicy {
            boots: 1,
            rounds: 3,
            revisits: true,
            ..policy(4)
        };
        let (evidence, _) = pursue(&policy, Evidence::default(), |_| {
            (RequestOutcome::Measured, 1.0)
        });
        assert!(evidence.observations.is_sorted_by_key(|o| o.request.round));
        assert_eq!(evidence.observations.len(), 4 * 3 * 2);
    }

    #[test]
    fn a_version_that_does_not_build_is_asked_once_and_a_neighbour_stands_in() {
        let policy = StepPolicy {
            wanted: vec![0, 5, 10],
            skip_broken: true,
            boots: 1,
            ..policy(11)
        };
        let world = |request: Request| match request.version {
            5 | 6 => (RequestOutcome::NoBuild, 0.0),
            _ => (RequestOutcome::Measured, 1.0),
        };
        let (evidence, verdict) = pursue(&policy, Evidence::default(), world);
        assert_eq!(verdict.broken, [5, 6]);
        let of = |version| {
            let with = |o: &&Observation| o.request.version == version;
            evidence.observations.iter().filter(with).count()
        };
        assert_eq!((of(5), of(6), of(4), of(0)), (1, 1, 4, 4));
        // Without leave to, nobody stands in.
        let (_, verdict) = pursue(
            &StepPolicy {
                skip_broken: false,
                ..policy
            },
            Evidence::default(),
            world,
        );
        assert_eq!((verdict.broken, verdict.measured), (vec![5], 8));
    }

    #[test]
    fn a_boot_that_fails_once_is_a_boot_less_and_one_that_fails_twice_breaks_the_version() {
        let once = |request: Request| match (request.version, request.boot) {
            (1, 1) => (RequestOutcome::NoBoot, 0.0),
            _ => (RequestOutcome::Measured, 1.0),
        };
        let (_, verdict) = pursue(&policy(3), Evidence::default(), once);
        assert_eq!((verdict.broken.len(), verdict.measured), (0, 5 * 4));
        let always = |request: Request| match request.version {
            1 => (RequestOutcome::NoBoot, 0.0),
            _ => (RequestOutcome::Measured, 1.0),
        };
        let (evidence, verdict) = pursue(&policy(3), Evidence::default(), always);
        assert_eq!(verdict.broken, [1]);
        assert_eq!(
            evidence
                .observations
                .iter()
                .filter(|o| o.outcome == RequestOutcome::NoBoot)
                .count(),
            2
        );
    }

    #[test]
    fn a_relink_that_fails_takes_only_its_layout() {
        let policy = StepPolicy {
            layouts: 3,
            boots: 1,
            ..policy(2)
        };
        let world = |request: Request| match request.layout {
            1 => (RequestOutcome::NoBuild, 0.0),
            _ => (RequestOutcome::Measured, 1.0),
        };
        let (_, verdict) = pursue(&policy, Evidence::default(), world);
        assert_eq!((verdict.measured, verdict.broken.len()), (2 * 2 * 4, 0));
    }

    #[test]
    fn it_ends_early_when_two_passes_see_the_same_changes() {
        let policy = StepPolicy {
            until_stable: true,
            boots: 10,
            cells: vec![vec![value()]],
            rounds: 1,
            ..policy(20)
        };
        let world = |request: Request| {
            let level = if request.version < 10 { 100.0 } else { 120.0 };
            let place = [request.version as u64, u64::from(request.boot)];
            let noise = (policy.random(&place).next_u32() % 1000) as f64 / 1000.0;
            (RequestOutcome::Measured, level + noise)
        };
        let (evidence, verdict) = pursue(&policy, Evidence::default(), world);
        assert!(verdict.stable);
        assert_eq!(evidence.observations.len(), 40);
    }

    /// A secondary metric whose change points come and go with the noise keeps no study going.
    #[test]
    fn secondary_metrics_are_no_reason_to_go_on() {
        let world = |policy: &StepPolicy, noisy: &str| {
            let mut evidence = Evidence::default();
            while let Decision::Measure(request) = policy.decide(&evidence) {
                let place = [request.version as u64, u64::from(request.boot)];
                let noise = (policy.random(&place).next_u32() % 1000) as f64 / 1000.0;
                let level = |at| if request.version >= at { 120.0 } else { 100.0 };
                let mut observation = seen(request, RequestOutcome::Measured, level(10) + noise);
                // Its step is in another place with every pass.
                let moving = level(3 + 4 * (request.boot as usize % 4)) + noise;
                let noisy = MetricName::new(noisy).unwrap();
                observation.figures.insert(noisy, moving);
                evidence.observations.push(observation);
            }
            evidence.observations.len()
        };
        let policy = |primary: &[&str]| StepPolicy {
            until_stable: true,
            boots: 6,
            rounds: 1,
            cells: vec![
                primary
                    .iter()
                    .map(|it| MetricName::new(*it).unwrap())
                    .collect(),
            ],
            ..policy(20)
        };
        assert_eq!(world(&policy(&["m"]), "cpu"), 40, "two passes");
        assert!(world(&policy(&["m", "cpu"]), "cpu") > 40);
    }

    #[test]
    fn what_is_coming_begins_with_what_is_asked_now_and_is_asked_in_that_order() {
        let policy = StepPolicy {
            wanted: vec![0, 2, 4, 6, 8],
            layouts: 2,
            skip_broken: true,
            ..policy(9)
        };
        let world = |request: Request| match request.version {
            4 => (RequestOutcome::NoBuild, 0.0),
            _ => (RequestOutcome::Measured, 1.0),
        };
        let mut evidence = Evidence::default();
        let mut asked: Vec<(usize, usize)> = Vec::new();
        let mut foreseen: Vec<Vec<(usize, usize)>> = Vec::new();
        while let Decision::Measure(request) = policy.decide(&evidence) {
            let coming = policy.upcoming_builds(&evidence, 3);
            assert_eq!(coming.first(), Some(&request));
            assert!(coming.len() <= 3);
            let build = (request.version, request.layout);
            if !asked.contains(&build) {
                asked.push(build);
                foreseen.push(coming.iter().map(|r| (r.version, r.layout)).collect());
            }
            let (outcome, value) = world(request);
            evidence.observations.push(seen(request, outcome, value));
        }
        assert!(policy.upcoming_builds(&evidence, 3).is_empty());
        // 4 doesn't build: what stands in for it wasn't foreseen before that was known.
        let builds: Vec<(usize, usize)> = asked.iter().copied().filter(|b| b.0 != 5).collect();
        for (at, foreseen) in foreseen.iter().enumerate().take(3) {
            assert_eq!(foreseen[..], builds[at..at + 3]);
        }
        assert!(asked.contains(&(5, 0)) && asked.contains(&(5, 1)));
    }

    proptest! {
        #[test]
        fn nothing_is_asked_twice_and_evidence_from_elsewhere_is_not_asked_again(
            versions in 1usize..9, layouts in 1usize..3, boots in 1u32..3, rounds in 1u32..3, cells in 1usize..3,
            revisits: bool, seed: u32, cut in 0usize..40,
        ) {
            let boots = if revisits { 1 } else { boots };
            let of_cells = vec![vec![value()]; cells];
            let policy = StepPolicy { layouts, boots, rounds, cells: of_cells, revisits, seed, ..policy(versions) };
            let (all, verdict) = pursue(&policy, Evidence::default(), |_| (RequestOutcome::Measured, 1.0));
            prop_assert_eq!(verdict.measured, versions * layouts * boots as usize * rounds as usize * cells);
            let distinct: HashSet<Request> = all.observations.iter().map(|o| o.request).collect();
            prop_assert_eq!(distinct.len(), all.observations.len());
            // The first part of the evidence in another order: the rest is asked, and only the rest.
            let mut before: Vec<Observation> = all.observations.iter().take(cut).cloned().collect();
            before.reverse();
            let known = before.len();
            let (again, _) = pursue(&policy, Evidence::from_observations(before), |_| (RequestOutcome::Measured, 1.0));
            let asked: HashSet<Request> = again.observations.iter().map(|o| o.request).collect();
            prop_assert_eq!(&asked, &distinct);
            prop_assert_eq!(again.observations.len() - known, distinct.len() - known);
        }
    }
}
