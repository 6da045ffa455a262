//! Policy of `bisect`: finds the changes along a history that moved a metric, with as few builds and measurements as the
//! confidence allows.
//!
//! A measurement is one unit of the highest level that is repeated: a layout where layouts are sampled, a boot where each
//! measurement boots, a trial where programs run from their folder; or the best of several trials where the trials themselves
//! show that it tells more ([`Estimator`]). Both ends are measured first, until the noise is known. Then [`Posterior::next`]
//! chooses the version with the most information for its cost, which is learnt from the builds, boots and trials so far. Before
//! the answer, both ends are measured again unless they were in the second half of the study: a drift of the machine names no
//! culprit.
//!
//! Several testbeds measure at once. Each measures both ends, so that its offset is known, and then what the others leave open.
//!
//! A version that doesn't build, boot or run is passed over; the answer then names the stretch of versions around it.

use backsight_model::MetricName;
use backsight_stats::{
    Better, Confidence, Estimator,
    culprits::{
        BisectionGoal, ChangeLocation, MeasurementCosts, PooledVersionMeans, Posterior,
        VersionMeans, Waterfall, waterfall,
    },
};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    time::Duration,
};

use crate::{Decision, Evidence, Policy, Request, evidence_index::EvidenceIndex};
use interleaving::{Interleaving, serial_dependence};
use parameters::{EFFORT, ENDS, HIDDEN_CHANGES, PACE, SEVERAL_CHANGES};

mod interleaving;
mod parameters;

/// A bisection of one metric along a history.
#[derive(Debug, Clone, PartialEq)]
pub struct BisectPolicy {
    /// Number of versions; the first and the last are the ends.
    pub versions: usize,
    /// Number of the measured cell, in the plan's order.
    pub cell: usize,
    /// The metric.
    pub metric: MetricName,
    /// Which direction is good.
    pub better: Better,
    /// Number of testbeds that measure at once; at least one.
    pub testbeds: usize,
    /// Number of layouts of each version; one where it keeps its own.
    pub layouts: usize,
    /// Trials of a measurement, which takes their mean; if absent, learnt from the trials.
    pub trials: Option<u32>,
    /// Whether a boot can be used again after others: programs run from their folder, and nothing is started.
    pub revisits: bool,
    /// What the bisection wants to know.
    pub goal: BisectionGoal,
    /// The smallest change that counts, as a share of the first version. If absent, the goal decides, and the search ends when
    /// changes of one percent are ruled out.
    pub smallest: Option<f64>,
    /// Limit of the time of builds, boots and trials together.
    pub budget: Option<Duration>,
    /// Maximum number of measurements.
    pub most: usize,
    /// Seed of random draws.
    pub seed: u32,
}

/// Result of a bisection, final or so far.
#[derive(Debug, Clone, PartialEq)]
pub struct BisectVerdict {
    /// Why the bisection ended; `None` while it goes on.
    pub ended: Option<BisectEnd>,
    /// The changes, in the order of the history; before the end, those that won't be taken back.
    pub culprits: Vec<Culprit>,
    /// Probability that these are the changes that count, and no others.
    pub probability: f64,
    /// The change from the first version to the last, its steps and its remainder; `None` before the ends are measured.
    pub waterfall: Option<Waterfall>,
    /// Each stretch of versions that may have a change, with its probability.
    pub places: Vec<(ChangeLocation, f64)>,
    /// What is measured next; `None` when it has ended.
    pub next: Option<NextVersion>,
    /// Probability that the ends differ.
    pub changed: f64,
    /// Probability, before any measurement there, that two changes cancel within a stretch without a measurement.
    pub hidden: f64,
    /// The smallest change that counts, in the metric's unit.
    pub smallest: Option<f64>,
    /// Upper limit of every change with the goal's confidence, in the metric's unit.
    pub ruled_out: Option<f64>,
    /// Standard deviation of one measurement.
    pub noise: Option<f64>,
    /// Offset of each testbed relative to the first, in the metric's unit.
    pub testbed_offsets: Vec<f64>,
    /// How a measurement is computed from trials.
    pub estimator: Estimator,
    /// Whether the trials of several versions took turns.
    pub interleaved: bool,
    /// Position, number of measurements and mean of each measured version.
    pub measured: Vec<(usize, usize, f64)>,
    /// Versions that can't be measured.
    pub broken: Vec<usize>,
    /// Number of trials with samples, and of failed ones.
    pub trials: (usize, usize),
    /// Time of builds, boots and trials.
    pub spent: Duration,
}

/// The version that a bisection measures next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NextVersion {
    /// Its position.
    pub version: usize,
    /// Why it is this one.
    pub reason: NextReason,
}

/// Why a version is measured next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NextReason {
    /// The ends come first, until it is known how much measurements vary.
    Ends,
    /// It lies in a stretch that has a change with this probability: measured, it halves the doubt.
    Suspected(f64),
    /// Nothing is suspected at it: its level, or that of its neighbours, isn't known well enough.
    Level,
}

/// One change.
#[derive(Debug, Clone, PartialEq)]
pub struct Culprit {
    /// Where it is: one of the versions after `after`, up to `until`.
    pub place: ChangeLocation,
    /// Probability that there is a change.
    pub probability: f64,
    /// after − before in percent of the level before the first change, whatever is better; `None` where that isn't defined.
    pub percent: Option<f64>,
}

/// Why a bisection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BisectEnd {
    /// The changes are known, or that there is none.
    Decided,
    /// The budget is spent.
    Budget,
    /// The maximum number of measurements was made.
    Most,
    /// This end, by position, can't be measured.
    End(usize),
    /// There are fewer than two versions.
    Short,
}

/// The evidence, indexed for one decision.
struct BisectEvidence<'a> {
    estimator: Estimator,
    /// Variance of a measurement, from the spread of trials.
    variance: Option<f64>,
    /// Measurements by testbed.
    by_testbed: Vec<VersionMeans>,
    /// Number of trials, by testbed and version.
    trial_counts: HashMap<(usize, usize), usize>,
    index: EvidenceIndex<'a>,
    /// Versions with a trial: their build is there.
    begun: HashSet<usize>,
    measurements: usize,
    /// Mean duration of a trial.
    trial_seconds: f64,
    trials: (usize, usize),
    /// Whether both ends were measured in the second half of each testbed's measurements. True for an unused testbed but the
    /// first, which has nothing that could be stale.
    fresh: Vec<[bool; 2]>,
    broken: Vec<usize>,
    /// The last measured version, by testbed.
    last_versions: Vec<Option<usize>>,
}

impl BisectEvidence<'_> {
    /// Number of measurements of a version on a testbed.
    fn times(&self, testbed: usize, version: usize) -> usize {
        let point = self.by_testbed[testbed].point(version);
        point.map_or(0, |point| point.n as usize)
    }

    /// Number of trials of a version on a testbed.
    fn tried(&self, testbed: usize, version: usize) -> usize {
        self.trial_counts
            .get(&(testbed, version))
            .copied()
            .unwrap_or(0)
    }

    fn is_measured(&self, version: usize) -> bool {
        let mut by_testbed = self.by_testbed.iter();
        by_testbed.any(|means| means.point(version).is_some())
    }
}

/// An idle testbed, and the requests under way on the others.
#[derive(Clone, Copy)]
struct Idle<'a> {
    testbed: usize,
    under_way: &'a [Request],
}

/// The first testbed alone.
const ALONE: Idle<'_> = Idle {
    testbed: 0,
    under_way: &[],
};

/// A measurement: testbed, version, layout, boot, turn.
type Measurement = (usize, usize, usize, u32, u32);

impl BisectPolicy {
    /// Whether a version is measured again without a boot or a build.
    fn is_run_without_boot(&self) -> bool {
        self.revisits && self.layouts <= 1
    }

    /// Whether trials of several versions take turns: where disturbances last.
    fn is_interleaved(&self, estimator: Estimator) -> bool {
        self.is_run_without_boot() && self.trials.is_none() && estimator.trials > 1
    }

    /// The estimator and the variance of its measurements. It is chosen anew each time the number of trials has grown by half,
    /// so that it seldom changes.
    fn estimator(&self, evidence: &Evidence) -> (Estimator, Option<f64>) {
        match self.trials {
            Some(trials) => return (Estimator::mean(trials.max(1) as usize), None),
            None if !self.is_run_without_boot() => return (Estimator::EACH, None),
            None => {}
        }
        let trials = evidence.observations.iter().filter(|o| o.measured());
        let values = trials.filter_map(|o| match o.request.cell == self.cell {
            true => Some((
                o.request.version,
                o.value(&self.metric)?,
                o.took.as_secs_f64(),
            )),
            false => None,
        });
        let values: Vec<(usize, f64, f64)> = values.collect();
        let looks = std::iter::successors(Some(PACE.first_estimator_trials), |n| Some(n + n / 2));
        let mut learnt = (Estimator::EACH, None);
        let mut series: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        let mut from = 0;
        for look in looks.take_while(|n| *n <= values.len()) {
            for (version, value, _) in &values[from..look] {
                series.entry(*version).or_default().push(*value);
            }
            from = look;
            let dependence = serial_dependence(&values[..look], self.allowance());
            let series: Vec<&[f64]> = series.values().map(Vec::as_slice).collect();
            learnt = Estimator::choose(&series, self.better, learnt.0, dependence);
        }
        learnt
    }

    fn measurement_of(&self, request: &Request, estimator: Estimator) -> Measurement {
        let turn = match self.is_run_without_boot() {
            true => request.round.saturating_sub(1) / estimator.trials as u32,
            false => 0,
        };
        let Request {
            testbed,
            version,
            layout,
            boot,
            ..
        } = *request;
        (testbed, version, layout, boot, turn)
    }

    /// The requests of a version's measurement with this number, from 0.
    fn requests(
        &self,
        testbed: usize,
        version: usize,
        number: usize,
        estimator: Estimator,
    ) -> impl Iterator<Item = Request> + use<> {
        let trials = estimator.trials as u32;
        let layouts = self.layouts.max(1);
        let (layout, turn) = (number % layouts, (number / layouts) as u32);
        let (boot, before) = match self.revisits {
            true => (1, turn.saturating_mul(trials)),
            false => (turn + 1, 0),
        };
        let cell = self.cell;
        (1..=trials).map(move |trial| Request {
            testbed,
            version,
            layout,
            boot,
            cell,
            round: before + trial,
        })
    }

    fn index_evidence<'a>(&self, evidence: &'a Evidence) -> BisectEvidence<'a> {
        let (estimator, variance) = self.estimator(evidence);
        let mut seen = BisectEvidence {
            estimator,
            variance,
            by_testbed: vec![VersionMeans::new(self.versions); self.testbeds()],
            trial_counts: HashMap::new(),
            index: EvidenceIndex::new(evidence),
            begun: HashSet::new(),
            measurements: 0,
            trial_seconds: 1.0,
            trials: (0, 0),
            fresh: Vec::new(),
            broken: Vec::new(),
            last_versions: Vec::new(),
        };
        let mut units: BTreeMap<Measurement, Vec<f64>> = BTreeMap::new();
        let mut trials_of: HashMap<Measurement, usize> = HashMap::new();
        let mut order: Vec<Measurement> = Vec::new();
        let (mut took, mut timed) = (Duration::ZERO, 0);
        for observation in evidence.observations.iter().filter(|o| o.is_trial()) {
            let request = observation.request;
            seen.begun.insert(request.version);
            if request.cell != self.cell {
                continue;
            }
            // Trials of other studies cost nothing.
            took += observation.took;
            timed += usize::from(!observation.took.is_zero());
            let unit = self.measurement_of(&request, seen.estimator);
            *trials_of.entry(unit).or_default() += 1;
            *seen.trial_counts.entry((unit.0, unit.1)).or_default() += 1;
            let values = units.entry(unit).or_insert_with(|| {
                order.push(unit);
                Vec::new()
            });
            match observation.value(&self.metric) {
                Some(value) if observation.measured() => {
                    seen.trials.0 += 1;
                    values.push(value);
                }
                _ => seen.trials.1 += 1,
            }
        }
        if timed > 0 {
            seen.trial_seconds = took.as_secs_f64() / timed as f64;
        }
        if self.is_interleaved(seen.estimator) {
            // Measurements in work have no value yet.
            order.retain(|unit| trials_of[unit] >= seen.estimator.trials);
        }
        let mut fruitless: HashMap<usize, usize> = HashMap::new();
        for unit in &order {
            match seen.estimator.estimate(&units[unit], self.better) {
                None => *fruitless.entry(unit.1).or_default() += 1,
                Some(value) => seen.by_testbed[unit.0].add(unit.1, value),
            }
        }
        for (version, ..) in &seen.index.unbooted {
            *fruitless.entry(*version).or_default() += 1;
        }
        seen.measurements = order.len();
        let ends = [0, self.versions.saturating_sub(1)];
        for testbed in 0..self.testbeds() {
            let own = order.iter().filter(|unit| unit.0 == testbed);
            let own: Vec<usize> = own.map(|unit| unit.1).collect();
            seen.last_versions.push(own.last().copied());
            let second_half = &own[own.len() / 2..];
            let is_unused = own.is_empty() && testbed > 0;
            let fresh = ends.map(|end| is_unused || second_half.contains(&end));
            seen.fresh.push(fresh);
        }
        for version in 0..self.versions {
            let unbuilt = seen.index.unbuilt.contains(&(version, 0));
            let dead = fruitless
                .get(&version)
                .is_some_and(|n| *n >= PACE.max_fruitless);
            if !seen.is_measured(version) && (unbuilt || dead) {
                for means in &mut seen.by_testbed {
                    means.rule_out(version);
                }
                seen.broken.push(version);
            }
        }
        seen
    }

    fn testbeds(&self) -> usize {
        self.testbeds.max(1)
    }

    /// The next trial of a version: the rest of a measurement in work, or the next one. A boot or a layout is measured on one
    /// testbed only; a program that runs from its folder on each.
    fn next_trial_of(
        &self,
        version: usize,
        seen: &BisectEvidence<'_>,
        idle: Idle<'_>,
    ) -> Option<Request> {
        let others = (0..self.testbeds()).filter(|testbed| *testbed != idle.testbed);
        let others: Vec<usize> = others.collect();
        let is_of_another = |request: &Request| {
            let mut there = others.iter().map(|testbed| Request {
                testbed: *testbed,
                ..*request
            });
            there.any(|r| seen.index.trials.contains_key(&r) || idle.under_way.contains(&r))
        };
        (0..self.most.max(1) + seen.measurements + others.len() + 1).find_map(|number| {
            let requests = || self.requests(idle.testbed, version, number, seen.estimator);
            if !self.is_run_without_boot() && requests().any(|request| is_of_another(&request)) {
                return None;
            }
            requests().find(|request| !seen.index.is_settled(request))
        })
    }

    /// The next trial of the measurement that a testbed has in work.
    fn rest_of_measurement(
        &self,
        evidence: &Evidence,
        seen: &BisectEvidence<'_>,
        testbed: usize,
    ) -> Option<Request> {
        let mut backwards = evidence.observations.iter().rev();
        let own = backwards.find(|o| o.request.testbed == testbed);
        let last = own.filter(|o| o.is_trial())?.request;
        if last.cell != self.cell || last.version >= self.versions {
            return None;
        }
        let next = Request {
            round: last.round + 1,
            ..last
        };
        let unit = |request| self.measurement_of(request, seen.estimator);
        let within = match self.is_run_without_boot() {
            true => !self.is_interleaved(seen.estimator) && unit(&next) == unit(&last),
            false => next.round <= seen.estimator.trials as u32,
        };
        (within && !seen.index.trials.contains_key(&next)).then_some(next)
    }

    /// The version that a testbed repeats without a decision, which would take longer than it is worth.
    fn version_to_repeat(
        &self,
        evidence: &Evidence,
        seen: &BisectEvidence<'_>,
        testbed: usize,
    ) -> Option<usize> {
        if !self.is_run_without_boot() || self.is_interleaved(seen.estimator) {
            return None;
        }
        let backwards = evidence.observations.iter().rev().filter(|o| o.is_trial());
        let mut own = backwards
            .filter(|o| o.request.testbed == testbed)
            .peekable();
        let version = own.peek()?.request.version;
        let in_a_row = own
            .take_while(|o| o.measured() && o.request.version == version)
            .count();
        let meanwhile = PACE.decision_seconds / seen.trial_seconds;
        let times = seen.estimator.trials * seen.times(testbed, version);
        let share = (PACE.repeat_share * times as f64).min(PACE.max_repeat_decisions * meanwhile);
        let at_once = meanwhile.min(PACE.max_in_a_row).max(share);
        (in_a_row > 0 && (in_a_row as f64) < at_once).then_some(version)
    }

    fn estimate_posterior(
        &self,
        evidence: &Evidence,
        seen: &BisectEvidence<'_>,
    ) -> Option<Posterior> {
        let (again, first) = self.measurement_costs(evidence, seen);
        let allowance = self.allowance();
        let trial = again / seen.estimator.trials as f64;
        let open = (0..self.versions).filter(|at| seen.by_testbed[0].is_open(*at));
        let everywhere: f64 = open.map(|at| first[at] + trial).sum();
        let is_cheap = everywhere <= SEVERAL_CHANGES.cheap_share * allowance;
        let hidden = match self.goal.cancelling || is_cheap {
            true => HIDDEN_CHANGES.where_searched,
            false => self.goal.hidden,
        };
        let known = seen.by_testbed.iter().find_map(|means| means.point(0));
        let level = known?.mean.abs();
        let smallest = self.smallest.map(|share| share * level);
        let goal = BisectionGoal {
            smallest: smallest.filter(|size| *size > 0.0).or(self.goal.smallest),
            margin: Some(self.smallest.unwrap_or(EFFORT.margin) * level)
                .filter(|margin| *margin > 0.0),
            tellable: (EFFORT.measurements_of_one_sigma * again / allowance)
                .sqrt()
                .clamp(EFFORT.min_tellable, EFFORT.max_tellable),
            hidden,
            noise: seen
                .variance
                .map(|variance| (variance, PACE.estimator_freedom)),
            ..self.goal
        };
        let seed = u64::from(self.seed) << 32 | seen.measurements as u64;
        let posterior = Posterior::from_measurements(&seen.by_testbed, &goal, seed)?;
        if !is_cheap || posterior.most_probable().0.is_empty() {
            let posterior = match several_changes_prior(&posterior, goal.several) {
                several if several < goal.several => Posterior::from_measurements(
                    &seen.by_testbed,
                    &BisectionGoal { several, ..goal },
                    seed,
                )?,
                _ => posterior,
            };
            let build = first.iter().copied().fold(0.0, f64::max);
            let left_hidden = self.allowed_hidden(&posterior, build / again, hidden);
            return Some(posterior.with_left_hidden(left_hidden));
        }
        // Given one change there may be more, and the search for them is cheap.
        let goal = BisectionGoal {
            several: SEVERAL_CHANGES.where_cheap,
            ..goal
        };
        Posterior::from_measurements(&seen.by_testbed, &goal, seed)
    }

    /// Allowed probability of changes that cancel at the end of the search, where a build costs this many measurements: it is
    /// small where one look at a version shows a change like the largest.
    fn allowed_hidden(&self, posterior: &Posterior, build: f64, hidden: f64) -> f64 {
        let told = (HIDDEN_CHANGES.sigmas_of_one_look * posterior.deviation()
            / posterior.largest_step())
        .powi(2)
        .max(1.0);
        let (cheap, expensive) = (HIDDEN_CHANGES.cheap_look, HIDDEN_CHANGES.expensive_look);
        let how_expensive = ((build + told - cheap) / (expensive - cheap)).clamp(0.0, 1.0);
        let least = HIDDEN_CHANGES.where_one_look_decides.min(hidden);
        least * (hidden / least).powf(how_expensive)
    }

    /// An end that a testbed measures before anything else.
    fn end_to_measure(&self, seen: &BisectEvidence<'_>, testbed: usize) -> Option<usize> {
        let wanted = match self.is_counted(seen, testbed) {
            true => ENDS.counted_measurements,
            false if self.is_interleaved(seen.estimator) => ENDS.measurements_per_testbed,
            false => ENDS
                .measurements
                .div_ceil(self.testbeds())
                .max(ENDS.measurements_per_testbed),
        };
        // In turn: a drift of the machine makes no difference between them.
        self.ends(testbed)
            .into_iter()
            .filter(|end| seen.times(testbed, *end) < wanted)
            .min_by_key(|end| seen.times(testbed, *end))
    }

    /// Whether the metric is counted: the same each time.
    fn is_counted(&self, seen: &BisectEvidence<'_>, testbed: usize) -> bool {
        let same = |end: usize| {
            let point = seen.by_testbed[testbed].point(end);
            point.is_some_and(|point| {
                point.n >= ENDS.counted_measurements as f64
                    && (point.squares / point.n).sqrt() <= ENDS.counted_tolerance * point.mean.abs()
            })
        };
        same(0) && same(self.versions - 1)
    }

    /// Whether more trials of the ends come first, so that the noise is known.
    fn must_learn_noise(&self, seen: &BisectEvidence<'_>, testbed: usize) -> bool {
        if !self.is_run_without_boot() || self.trials.is_some() || self.is_counted(seen, testbed) {
            return false;
        }
        let most = match seen.estimator.trials {
            1 => ENDS.noise_trials,
            _ => ENDS.noise_trials_one_sided,
        };
        let share = (ENDS.max_noise_share * self.allowance() / 2.0 / seen.trial_seconds) as usize;
        let end = self.end_with_fewer_trials(seen, testbed);
        seen.tried(testbed, end) < (share / self.testbeds()).min(most)
    }

    /// Order of the ends on a testbed: one builds the last while another measures the first.
    fn ends(&self, testbed: usize) -> [usize; 2] {
        match testbed % 2 {
            0 => [0, self.versions - 1],
            _ => [self.versions - 1, 0],
        }
    }

    fn end_with_fewer_trials(&self, seen: &BisectEvidence<'_>, testbed: usize) -> usize {
        let [one, other] = self.ends(testbed);
        match seen.tried(testbed, other) < seen.tried(testbed, one) {
            true => other,
            false => one,
        }
    }

    /// Time for the search of small changes, in seconds.
    fn allowance(&self) -> f64 {
        let allowance = self
            .budget
            .map_or(EFFORT.allowance, |budget| budget.min(EFFORT.allowance));
        allowance.as_secs_f64().max(1e-3)
    }

    fn measurement_costs(&self, evidence: &Evidence, seen: &BisectEvidence<'_>) -> (f64, Vec<f64>) {
        let (build, boot) = (evidence.mean_build(), evidence.mean_boot());
        let again = seen.estimator.trials as f64 * seen.trial_seconds
            + if self.revisits { 0.0 } else { boot }
            + if self.layouts > 1 { build } else { 0.0 };
        // A new version always has a cost: it may be broken.
        let new = build.max(again);
        let first = (0..self.versions)
            .map(|version| match seen.begun.contains(&version) {
                true => 0.0,
                false => new,
            })
            .collect();
        (again, first)
    }

    /// The next trial on a testbed; `None` while it waits for another testbed; the reason if the bisection ends.
    fn next(
        &self,
        evidence: &Evidence,
        seen: &BisectEvidence<'_>,
        idle: Idle<'_>,
    ) -> Result<Option<Request>, BisectEnd> {
        if self.versions < 2 {
            return Err(BisectEnd::Short);
        }
        if self.budget.is_some_and(|budget| evidence.spent() >= budget) {
            return Err(BisectEnd::Budget);
        }
        if let Some(end) = [0, self.versions - 1]
            .into_iter()
            .find(|end| seen.broken.contains(end))
        {
            return Err(BisectEnd::End(end));
        }
        if let Some(request) = self.rest_of_measurement(evidence, seen, idle.testbed) {
            return Ok(Some(request));
        }
        if seen.measurements + idle.under_way.len() >= self.most {
            return Err(BisectEnd::Most);
        }
        let ask = |version| {
            let request = self.next_trial_of(version, seen, idle);
            request.map(Some).ok_or(BisectEnd::Most)
        };
        let interleaving = Interleaving::from_evidence(self, evidence, seen, idle.testbed);
        if let Some(version) = interleaving.next_without_decision() {
            return ask(version);
        }
        // A version in work has its turn already.
        let take_up = |version| ask(interleaving.in_turn_or(version));
        if self.must_learn_noise(seen, idle.testbed) {
            return ask(self.end_with_fewer_trials(seen, idle.testbed));
        }
        if let Some(end) = self.end_to_measure(seen, idle.testbed)
            && !interleaving.contains(end)
        {
            return ask(end);
        }
        if let Some(version) = self.version_to_repeat(evidence, seen, idle.testbed) {
            return ask(version);
        }
        let Some(posterior) = self.estimate_posterior(evidence, seen) else {
            return take_up(0);
        };
        let (again, first) = self.measurement_costs(evidence, seen);
        let under_way = idle.under_way.iter().filter(|r| r.cell == self.cell);
        let others = under_way.map(|r| r.version);
        let under_way: Vec<usize> = others.chain(interleaving.versions()).collect();
        let avoid: Vec<usize> = match interleaving.is_empty() {
            true => seen.last_versions[idle.testbed].into_iter().collect(),
            false => interleaving.versions().collect(),
        };
        let costs = MeasurementCosts {
            repeat: again,
            first: &first,
            avoid: &avoid,
            avoid_unless: interleaving.min_gain(),
            testbed: idle.testbed,
            under_way: &under_way,
        };
        if let Some(asked) = posterior.next(&costs) {
            return take_up(asked.at);
        }
        match seen.fresh[idle.testbed] {
            [true, true] if seen.fresh.iter().flatten().all(|fresh| *fresh) => {
                Err(BisectEnd::Decided)
            }
            // Another testbed measures its ends again.
            [true, true] => Ok(None),
            [false, _] => take_up(0),
            [true, false] => take_up(self.versions - 1),
        }
    }

    /// Computes the verdict so far.
    pub fn verdict(&self, evidence: &Evidence) -> BisectVerdict {
        let seen = self.index_evidence(evidence);
        let next = self.next(evidence, &seen, ALONE);
        let ended = next.as_ref().err().copied();
        let posterior = match self.versions {
            0 | 1 => None,
            _ => self.estimate_posterior(evidence, &seen),
        };
        let (steps, probability) = posterior
            .as_ref()
            .map_or((Vec::new(), 0.0), Posterior::most_probable);
        let places = posterior.as_ref().map_or(Vec::new(), Posterior::locations);
        // Before the end only steps that won't be taken back are named, and none before the noise is known.
        let is_beginning = self.must_learn_noise(&seen, ALONE.testbed)
            || self.end_to_measure(&seen, ALONE.testbed).is_some();
        let is_found = |place: &ChangeLocation| {
            let mut known = places.iter().filter(|(other, _)| other == place);
            let is_sure = known.any(|(_, probability)| *probability >= self.goal.confidence);
            let is_worth = posterior.as_ref().is_some_and(|it| !it.is_below_margin());
            ended == Some(BisectEnd::Decided) || (is_sure && is_worth && !is_beginning)
        };
        let mut steps = steps;
        steps.retain(is_found);
        let confidence = Confidence::new(self.goal.confidence).unwrap_or_default();
        let measurements = match &posterior {
            Some(posterior) => posterior.measurements().clone(),
            None => PooledVersionMeans::from_testbeds(&seen.by_testbed),
        };
        let sizes = waterfall(&measurements, &steps, confidence);
        let culprit = |(n, place): (usize, &ChangeLocation)| {
            let of = places.iter().find(|(other, _)| other == place);
            let percent = sizes.as_ref().and_then(|sizes| {
                let share = 100.0 * sizes.steps.get(n)?.value / sizes.level.value.abs();
                share.is_finite().then_some(share)
            });
            Culprit {
                place: *place,
                probability: of.map_or(0.0, |(_, probability)| *probability),
                percent,
            }
        };
        let reason = |version: usize| {
            // A measurement tells of the stretch that ends at it too.
            let around = |place: &ChangeLocation| (place.after..=place.until).contains(&version);
            let around = places.iter().filter(|(place, _)| around(place));
            let suspected = around.map(|(_, probability)| *probability);
            match suspected.max_by(f64::total_cmp) {
                _ if is_beginning => NextReason::Ends,
                Some(probability) => NextReason::Suspected(probability),
                None => NextReason::Level,
            }
        };
        let next = next.ok().flatten().map(|request| NextVersion {
            version: request.version,
            reason: reason(request.version),
        });
        BisectVerdict {
            ended,
            next,
            culprits: steps.iter().enumerate().map(culprit).collect(),
            probability,
            waterfall: sizes,
            changed: posterior
                .as_ref()
                .map_or(0.0, Posterior::change_probability),
            hidden: posterior
                .as_ref()
                .map_or(1.0, Posterior::hidden_probability),
            smallest: posterior.as_ref().map(Posterior::smallest_step),
            ruled_out: posterior.as_ref().map(Posterior::ruled_out),
            noise: posterior.as_ref().map(Posterior::deviation),
            estimator: seen.estimator,
            interleaved: self.is_interleaved(seen.estimator),
            places,
            testbed_offsets: measurements.offsets().to_vec(),
            measured: measurements
                .means()
                .points()
                .iter()
                .map(|point| (point.at, point.n as usize, point.mean))
                .collect(),
            broken: seen.broken,
            trials: seen.trials,
            spent: evidence.spent(),
        }
    }
}

/// Prior probability of several changes: `several` where a second change beside the largest is cheap to rule out, less where it
/// is expensive.
fn several_changes_prior(posterior: &Posterior, several: f64) -> f64 {
    let (small, large) = (SEVERAL_CHANGES.small_step, SEVERAL_CHANGES.large_step);
    let least = SEVERAL_CHANGES.of_small.min(several);
    let how_large = (posterior.largest_step() / posterior.deviation() - small) / (large - small);
    least * (several / least).powf(how_large.clamp(0.0, 1.0))
}

impl Policy for BisectPolicy {
    type Verdict = BisectVerdict;

    fn decide(&self, evidence: &Evidence) -> Decision<BisectVerdict> {
        let decided =
            (0..self.testbeds()).find_map(|at| self.decide_for_testbed(evidence, at, &[]));
        decided.unwrap_or_else(|| Decision::Done(self.verdict(evidence)))
    }

    fn decide_for_testbed(
        &self,
        evidence: &Evidence,
        testbed: usize,
        under_way: &[Request],
    ) -> Option<Decision<BisectVerdict>> {
        let idle = Idle { testbed, under_way };
        match self.next(evidence, &self.index_evidence(evidence), idle) {
            Ok(request) => request.map(Decision::Measure),
            // The requests under way may be evidence against it.
            Err(_) if !under_way.is_empty() => None,
            Err(_) => Some(Decision::Done(self.verdict(evidence))),
        }
    }

    fn remaining_trials(&self, evidence: &Evidence) -> usize {
        let seen = self.index_evidence(evidence);
        if self.next(evidence, &seen, ALONE).is_err() {
            return 0;
        }
        let places = (self.versions as f64).ln();
        let unknown = match self.estimate_posterior(evidence, &seen) {
            Some(posterior) => posterior.entropy(),
            None => {
                places
                    + EFFORT.nats_per_measurement
                        * (2 * ENDS.measurements).saturating_sub(seen.measurements) as f64
            }
        };
        let units = (unknown / EFFORT.nats_per_measurement).ceil().max(1.0) as usize;
        units.min(self.most.saturating_sub(seen.measurements).max(1)) * seen.estimator.trials
    }

    fn suspects(&self, evidence: &Evidence) -> Vec<(ChangeLocation, f64)> {
        let posterior = self.estimate_posterior(evidence, &self.index_evidence(evidence));
        let mut places = posterior.map_or(Vec::new(), |posterior| posterior.locations());
        places.sort_by(|a, b| b.1.total_cmp(&a.1));
        places
    }
}

#[cfg(test)]
mod tests;
