//! The policy of `bisect`: which changes along a history made a metric better or worse, found with as little building and
//! measuring as the asked confidence allows.
//!
//! A measurement is one of the highest level that is repeated: a layout where layouts are sampled, a boot where each
//! measurement boots, a trial where programs are run from their folder; or, where the trials themselves show that it tells
//! more, the best of several trials ([`Estimator`]). Both ends are measured first, until the noise is
//! known; then [`Belief`] says which version tells most for its cost, learnt from what builds, boots and trials took. Before
//! an answer is given, both ends are measured once more if they weren't in the second half of the study, so that a machine
//! that drifted doesn't make a culprit.
//!
//! Refuses: to blame a version that can't be measured. One that doesn't build, boot or run is passed over, and the answer
//! is as wide as what couldn't be looked at.

use backsight_model::MetricName;
use backsight_stats::{
    Better, Confidence, Estimator, Statistic,
    culprits::{Aim, Belief, Costs, Course, Place, Waterfall, waterfall},
};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    time::Duration,
};

use crate::{Decision, Evidence, Policy, Request, settled::Settled};

/// What a bisection may take to tell changes that are small, unless it has a budget; and how many measurements it takes
/// about to tell one of a standard deviation.
const ALLOWANCE: Duration = Duration::from_secs(15 * 60);
const MEASUREMENTS: f64 = 100.0;
/// Steps of so many standard deviations are worth telling at any cost, and of so few at none.
const TOLD: (f64, f64) = (0.05, 1.0);
/// How probable hidden changes may remain where they are looked for, or looking everywhere is cheap.
const HIDDEN_STILL: f64 = 0.02;
/// How probable several changes are taken to be where looking everywhere is cheap.
const SEVERAL: f64 = 0.5;
/// It is cheap if a trial of every version takes this share of the allowance.
const CHEAP: f64 = 0.3;
/// Measurements of each end before anything else, where they differ from each other at all.
const ENDS: usize = 4;
/// And where they don't: numbers that were counted.
const COUNTED: usize = 2;
/// What counted numbers may differ, as a share.
const SAME: f64 = 1e-6;
/// Trials after which it is asked for the first time what is best made of them.
const FIRST_LOOK: usize = 32;
/// Boots that may fail, or measurements that may give nothing, before a version is passed over.
const FRUITLESS: usize = 2;
/// What is learnt by a measurement, in nats, as a rule: for telling how many are left.
const LEARNT: f64 = 0.12;

/// One metric along a history.
#[derive(Debug, Clone, PartialEq)]
pub struct BisectPolicy {
    /// How many versions the history has; the first and the last are the ends.
    pub versions: usize,
    /// The number of the cell that is measured, in the plan's order.
    pub cell: usize,
    /// Its metric.
    pub metric: MetricName,
    /// Which direction is good.
    pub better: Better,
    /// How many layouts a version is sampled in; one where it keeps its own.
    pub layouts: usize,
    /// Trials of a measurement, of which the mean is taken; learnt unless given.
    pub trials: Option<u32>,
    /// Whether a boot can be gone back to after others: nothing is started, programs are just run.
    pub revisits: bool,
    /// When it is enough.
    pub aim: Aim,
    /// Smaller changes than this don't count, as a share of the first version; unless that is left to the aim.
    pub smallest: Option<f64>,
    /// What builds, boots and trials may take together.
    pub budget: Option<Duration>,
    /// Measurements at most.
    pub most: usize,
    /// Seed of what is drawn.
    pub seed: u32,
}

/// What a bisection came to, or where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct BisectVerdict {
    /// Why nothing more is asked; nothing if more is.
    pub ended: Option<BisectEnd>,
    /// The changes, in the order of the history.
    pub culprits: Vec<Culprit>,
    /// How probable it is that it was these and no others, of those that count.
    pub probability: f64,
    /// The change from the first version to the last, its parts, and what remains; nothing before the ends are measured.
    pub waterfall: Option<Waterfall>,
    /// Each stretch that may have a change, and how probable that is.
    pub places: Vec<(Place, f64)>,
    /// How probable it is that the ends differ.
    pub changed: f64,
    /// How probable it is, before anything is measured there, that two changes that cancel lie in a stretch that wasn't
    /// looked into.
    pub hidden: f64,
    /// Smaller changes than this don't count, in the metric's unit.
    pub smallest: Option<f64>,
    /// The standard deviation of one measurement.
    pub noise: Option<f64>,
    /// How a measurement is made of trials.
    pub estimator: Estimator,
    /// What was measured, by version: position, how often, mean.
    pub measured: Vec<(usize, usize, f64)>,
    /// Versions that can't be measured.
    pub broken: Vec<usize>,
    /// Trials that gave samples, and that failed.
    pub trials: (usize, usize),
    /// What it took.
    pub spent: Duration,
}

/// One change.
#[derive(Debug, Clone, PartialEq)]
pub struct Culprit {
    /// Where it lies: one of the versions behind `after`, up to `until`.
    pub place: Place,
    /// How probable it is that there is a change.
    pub probability: f64,
    /// How much better (positive) or worse (negative), in percent of the level before the first change; nothing where that
    /// isn't defined.
    pub percent: Option<f64>,
}

/// Why a bisection asks for nothing more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BisectEnd {
    /// The changes are known, or that there is none.
    Decided,
    /// The budget is spent.
    Budget,
    /// As much was measured as was allowed.
    Most,
    /// This end, by position, can't be measured.
    End(usize),
    /// There are no two versions.
    Short,
}

/// What the evidence says.
struct Seen<'a> {
    estimator: Estimator,
    course: Course,
    settled: Settled<'a>,
    /// Versions on which something was begun.
    there: HashSet<usize>,
    units: usize,
    /// How long a trial takes.
    trial: f64,
    trials: (usize, usize),
    /// For both ends, whether they were measured in the second half.
    fresh: [bool; 2],
    broken: Vec<usize>,
    /// The version that was measured last.
    last: Option<usize>,
}

/// A measurement: version, layout, boot, turn.
type Unit = (usize, usize, u32, u32);

impl BisectPolicy {
    /// Whether a version can be measured again as often as one likes without a boot or a build.
    fn is_run(&self) -> bool {
        self.revisits && self.layouts <= 1
    }

    /// How a measurement is made of trials, by what was seen until the number of trials had last doubled: so that it
    /// seldom changes.
    fn estimator(&self, evidence: &Evidence) -> Estimator {
        match self.trials {
            Some(trials) => return Estimator::mean(trials.max(1) as usize),
            None if !self.is_run() => return Estimator::EACH,
            None => {}
        }
        let trials = evidence.observations.iter().filter(|o| o.measured());
        let values = trials.filter_map(|o| match o.request.cell == self.cell {
            true => Some((o.request.version, o.value(&self.metric)?)),
            false => None,
        });
        let values: Vec<(usize, f64)> = values.collect();
        let doublings = std::iter::successors(Some(FIRST_LOOK), |n| Some(2 * n));
        let looks = doublings.take_while(|n| *n <= values.len());
        let Some(last) = looks.last() else {
            return Estimator::EACH;
        };
        let mut series: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for (version, value) in &values[..last] {
            series.entry(*version).or_default().push(*value);
        }
        let series: Vec<Vec<f64>> = series.into_values().collect();
        Estimator::learnt(&series, self.better)
    }

    fn unit_of(&self, request: &Request, estimator: Estimator) -> Unit {
        let turn = match self.is_run() {
            true => request.round.saturating_sub(1) / estimator.trials as u32,
            false => 0,
        };
        (request.version, request.layout, request.boot, turn)
    }

    /// The trials of a version's measurement with this number, from 0.
    fn requests(
        &self,
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
            version,
            layout,
            boot,
            cell,
            round: before + trial,
        })
    }

    fn seen<'a>(&self, evidence: &'a Evidence) -> Seen<'a> {
        let mut seen = Seen {
            estimator: self.estimator(evidence),
            course: Course::new(self.versions),
            settled: Settled::of(evidence),
            there: HashSet::new(),
            units: 0,
            trial: 1.0,
            trials: (0, 0),
            fresh: [false; 2],
            broken: Vec::new(),
            last: None,
        };
        let mut units: BTreeMap<Unit, Vec<f64>> = BTreeMap::new();
        let mut trials_of: HashMap<Unit, usize> = HashMap::new();
        let mut order: Vec<Unit> = Vec::new();
        let (mut took, mut timed) = (Duration::ZERO, 0);
        for observation in evidence.observations.iter().filter(|o| o.is_trial()) {
            let request = observation.request;
            seen.there.insert(request.version);
            if request.cell != self.cell {
                continue;
            }
            // Trials of other studies are there for nothing.
            took += observation.took;
            timed += usize::from(!observation.took.is_zero());
            let unit = self.unit_of(&request, seen.estimator);
            *trials_of.entry(unit).or_default() += 1;
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
            seen.trial = took.as_secs_f64() / timed as f64;
        }
        if seen.estimator.statistic == Statistic::Best {
            // The best of fewer isn't as good.
            order.retain(|unit| trials_of[unit] >= seen.estimator.trials);
        }
        let mut fruitless: HashMap<usize, usize> = HashMap::new();
        for unit in &order {
            match seen.estimator.of(&units[unit], self.better) {
                None => *fruitless.entry(unit.0).or_default() += 1,
                Some(value) => seen.course.add(unit.0, value),
            }
        }
        for (version, ..) in &seen.settled.unbooted {
            *fruitless.entry(*version).or_default() += 1;
        }
        seen.units = order.len();
        seen.last = order.last().map(|unit| unit.0);
        let second_half = &order[order.len() / 2..];
        let ends = [0, self.versions.saturating_sub(1)];
        seen.fresh = ends.map(|end| second_half.iter().any(|unit| unit.0 == end));
        for version in 0..self.versions {
            let measured = seen.course.point(version).is_some();
            let unbuilt = seen.settled.unbuilt.contains(&(version, 0));
            let dead = fruitless.get(&version).is_some_and(|n| *n >= FRUITLESS);
            if !measured && (unbuilt || dead) {
                seen.course.rule_out(version);
                seen.broken.push(version);
            }
        }
        seen
    }

    /// The trial that is asked of a version next: what is left of a measurement that was begun, or the next one.
    fn next_of(&self, version: usize, seen: &Seen<'_>) -> Option<Request> {
        (0..self.most.max(1) + seen.units + 1).find_map(|number| {
            let mut requests = self.requests(version, number, seen.estimator);
            requests.find(|request| !seen.settled.is_settled(request))
        })
    }

    /// What is left of the measurement that is under way.
    fn under_way(&self, evidence: &Evidence, seen: &Seen<'_>) -> Option<Request> {
        let last = evidence
            .observations
            .last()
            .filter(|o| o.is_trial())?
            .request;
        if last.cell != self.cell || last.version >= self.versions {
            return None;
        }
        let next = Request {
            round: last.round + 1,
            ..last
        };
        let unit = |request| self.unit_of(request, seen.estimator);
        let within = match self.is_run() {
            true => unit(&next) == unit(&last),
            false => next.round <= seen.estimator.trials as u32,
        };
        (within && !seen.settled.trials.contains_key(&next)).then_some(next)
    }

    fn belief(&self, evidence: &Evidence, seen: &Seen<'_>) -> Option<Belief> {
        let (again, first) = self.costs_of_builds(evidence, seen);
        let allowance = self
            .budget
            .map_or(ALLOWANCE, |budget| budget.min(ALLOWANCE));
        let allowance = allowance.as_secs_f64().max(1e-3);
        let trial = again / seen.estimator.trials as f64;
        let open = (0..self.versions).filter(|at| seen.course.is_open(*at));
        let everywhere: f64 = open.map(|at| first[at] + trial).sum();
        let is_cheap = everywhere <= CHEAP * allowance;
        let hidden = match self.aim.cancelling || is_cheap {
            true => HIDDEN_STILL,
            false => self.aim.hidden,
        };
        let level = seen.course.point(0)?.mean.abs();
        let smallest = self.smallest.map(|share| share * level);
        let aim = Aim {
            smallest: smallest.filter(|size| *size > 0.0).or(self.aim.smallest),
            tellable: (MEASUREMENTS * again / allowance)
                .sqrt()
                .clamp(TOLD.0, TOLD.1),
            hidden,
            ..self.aim
        };
        let seed = u64::from(self.seed) << 32 | seen.units as u64;
        let belief = Belief::of(&seen.course, &aim, seed)?;
        if !is_cheap || belief.best().0.is_empty() {
            return Some(belief);
        }
        // Where there is one change there may be more, and it costs little to look.
        let aim = Aim {
            several: SEVERAL,
            ..aim
        };
        Belief::of(&seen.course, &aim, seed)
    }

    /// An end that must be measured before anything is believed.
    fn open_end(&self, seen: &Seen<'_>) -> Option<usize> {
        let ends = [0, self.versions - 1];
        let n = |end| seen.course.point(end).map_or(0, |point| point.n as usize);
        let counted = ends.iter().all(|end| {
            seen.course.point(*end).is_some_and(|point| {
                point.n >= COUNTED as f64
                    && (point.squares / point.n).sqrt() <= SAME * point.mean.abs()
            })
        });
        let wanted = if counted { COUNTED } else { ENDS };
        // In turn, so that a machine that drifts doesn't make them differ.
        ends.into_iter()
            .filter(|end| n(*end) < wanted)
            .min_by_key(|end| n(*end))
    }

    fn costs_of_builds(&self, evidence: &Evidence, seen: &Seen<'_>) -> (f64, Vec<f64>) {
        let mean = |took: &[Duration]| -> f64 {
            let sum: Duration = took.iter().sum();
            sum.as_secs_f64() / took.len().max(1) as f64
        };
        let (build, boot) = (mean(&evidence.builds), mean(&evidence.boots));
        let again = seen.estimator.trials as f64 * seen.trial
            + if self.revisits { 0.0 } else { boot }
            + if self.layouts > 1 { build } else { 0.0 };
        // Another version is never for nothing: each is one more that may be broken.
        let new = build.max(again);
        let first = (0..self.versions)
            .map(|version| match seen.there.contains(&version) {
                true => 0.0,
                false => new,
            })
            .collect();
        (again, first)
    }

    /// What comes next: a version to measure, or why nothing does.
    fn next(&self, evidence: &Evidence, seen: &Seen<'_>) -> Result<Request, BisectEnd> {
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
        if let Some(request) = self.under_way(evidence, seen) {
            return Ok(request);
        }
        if seen.units >= self.most {
            return Err(BisectEnd::Most);
        }
        let ask = |version| self.next_of(version, seen).ok_or(BisectEnd::Most);
        if let Some(end) = self.open_end(seen) {
            return ask(end);
        }
        let Some(belief) = self.belief(evidence, seen) else {
            return ask(0);
        };
        let (again, first) = self.costs_of_builds(evidence, seen);
        let costs = Costs {
            again,
            first: &first,
            last: seen.last,
        };
        match belief.next(&costs) {
            Some(asked) => ask(asked.at),
            None => match seen.fresh {
                [true, true] => Err(BisectEnd::Decided),
                [false, _] => ask(0),
                [true, false] => ask(self.versions - 1),
            },
        }
    }

    /// Where it stands.
    pub fn verdict(&self, evidence: &Evidence) -> BisectVerdict {
        let seen = self.seen(evidence);
        let ended = self.next(evidence, &seen).err();
        let belief = match self.versions {
            0 | 1 => None,
            _ => self.belief(evidence, &seen),
        };
        let (steps, probability) = belief.as_ref().map_or((Vec::new(), 0.0), Belief::best);
        let places = belief.as_ref().map_or(Vec::new(), Belief::places);
        let confidence = Confidence::new(self.aim.confidence).unwrap_or_default();
        let sizes = waterfall(&seen.course, &steps, confidence);
        let culprit = |(n, place): (usize, &Place)| {
            let of = places.iter().find(|(other, _)| other == place);
            let percent = sizes.as_ref().and_then(|sizes| {
                let share = 100.0 * sizes.steps.get(n)?.value / sizes.level.value.abs();
                let signed = match self.better {
                    Better::Higher => share,
                    Better::Lower => -share,
                };
                signed.is_finite().then_some(signed)
            });
            Culprit {
                place: *place,
                probability: of.map_or(0.0, |(_, probability)| *probability),
                percent,
            }
        };
        BisectVerdict {
            ended,
            culprits: steps.iter().enumerate().map(culprit).collect(),
            probability,
            waterfall: sizes,
            changed: belief.as_ref().map_or(0.0, Belief::changed),
            hidden: belief.as_ref().map_or(1.0, Belief::hidden),
            smallest: belief.as_ref().map(Belief::smallest),
            noise: belief.as_ref().map(Belief::noise),
            estimator: seen.estimator,
            places,
            measured: seen
                .course
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

impl Policy for BisectPolicy {
    type Verdict = BisectVerdict;

    fn decide(&self, evidence: &Evidence) -> Decision<BisectVerdict> {
        match self.next(evidence, &self.seen(evidence)) {
            Ok(request) => Decision::Measure(request),
            Err(_) => Decision::Done(self.verdict(evidence)),
        }
    }

    fn left(&self, evidence: &Evidence) -> usize {
        let seen = self.seen(evidence);
        if self.next(evidence, &seen).is_err() {
            return 0;
        }
        let places = (self.versions as f64).ln();
        let unknown = match self.belief(evidence, &seen) {
            Some(belief) => belief.unknown(),
            None => places + LEARNT * (2 * ENDS).saturating_sub(seen.units) as f64,
        };
        let units = (unknown / LEARNT).ceil().max(1.0) as usize;
        units.min(self.most.saturating_sub(seen.units).max(1)) * seen.estimator.trials
    }

    fn suspects(&self, evidence: &Evidence) -> Vec<(Place, f64)> {
        let belief = self.belief(evidence, &self.seen(evidence));
        let mut places = belief.map_or(Vec::new(), |belief| belief.places());
        places.sort_by(|a, b| b.1.total_cmp(&a.1));
        places
    }
}

#[cfg(test)]
mod tests;
