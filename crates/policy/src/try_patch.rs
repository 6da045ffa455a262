//! Policy of `try`: measures a base and patched sides of one version side by side until each difference is decided.
//!
//! The sides are measured in passes: A B, B A, B A, A B, …: every second pass backwards, and the start moves by one side after
//! two passes, so that a drift of the machine favours no side. Each pass gives one difference between a side and the base, the
//! logarithm of their ratio: the unit of replication, at the highest level that is repeated (a trial where programs run from
//! their folder, a boot where each pass boots, a layout where each pass has its own). After every pass, [`ConfidenceSequence`]
//! gives the interval of each difference, which allows for repeated looks, until it excludes zero or lies within the margin.
//! Bonferroni's share of each deciding comparison bounds the chance of any false decision in the study.
//!
//! At least four differences precede a decision.

mod forecast;
mod state;

use backsight_model::MetricName;
use backsight_stats::{Better, Confidence, Interval};
use rand::{SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use std::{collections::HashSet, time::Duration};

pub use forecast::{ForecastNoise, TryForecast};

use crate::{Decision, Evidence, Policy, Request, evidence_index::EvidenceIndex};
use state::TryState;

/// Passes one after the other in which a side may give nothing until it is given up.
const MAX_FRUITLESS_PASSES: u32 = 3;
/// Passes that are expected while nothing is known yet.
const EXPECTED_PASSES: usize = 6;

/// A base and patched sides, side by side. The base is version 0, the sides are the versions after it.
#[derive(Debug, Clone, PartialEq)]
pub struct TryPolicy {
    /// How many patched sides; at least one.
    pub sides: usize,
    /// How many layouts of each side, a pass each; one where they aren't sampled, and then there are passes without end.
    pub layouts: usize,
    /// Trials of each cell on each side in a pass; at least one.
    pub trials: u32,
    /// What the cells measure, in the plan's order.
    pub cells: Vec<Vec<RequestedMetric>>,
    /// Sides, the base among them, that don't have a cell: `(side, cell)`.
    pub absent: Vec<(usize, usize)>,
    /// Whether a boot can be gone back to after others: nothing is started, programs are just run.
    pub revisits: bool,
    /// The first boot's ordinal, behind those of other studies.
    pub first_boot: u32,
    /// What builds, boots and trials may take together.
    pub budget: Option<Duration>,
    /// Passes at most.
    pub most: u32,
    /// The share up to which a difference is no matter, if equality is asked for: 0.01.
    pub equal: Option<f64>,
    /// Whether a side is called worse only where it is so by more than `equal`: its interval lies beyond that share. Otherwise
    /// whatever excludes no change is a difference.
    pub tolerates: bool,
    /// That no decision of the study is false.
    pub confidence: Confidence,
    /// Seed of the order of the cells.
    pub seed: u32,
}

/// A metric of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestedMetric {
    /// Its name.
    pub name: MetricName,
    /// Which direction is good.
    pub better: Better,
    /// Whether the study goes on until it is decided.
    pub decides: bool,
}

/// What a try came to, or where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct TryVerdict {
    /// Passes that were made, the last of them perhaps in part.
    pub passes: u32,
    /// Why nothing more is asked; nothing if more is.
    pub ended: Option<TryEnd>,
    /// Whether nothing is to be had of the base, and of each side after it.
    pub dead: Vec<bool>,
    /// Each side, cell and metric, in this order.
    pub compared: Vec<TryComparison>,
    /// Trials that gave samples.
    pub measured: usize,
    /// Trials that failed.
    pub failed: usize,
    /// What it took.
    pub spent: Duration,
}

/// What a side came to, by the metrics that decide; what comes last here outweighs what comes before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TrySideOutcome {
    /// No difference that matters, by each of them.
    Equal,
    /// Better by some, and worse by none.
    Better,
    /// Some can't be told.
    Undecided,
    /// It doesn't build, boot or run.
    Dead,
    /// Worse by some.
    Worse,
}

impl TrySideOutcome {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::Better => "better",
            Self::Undecided => "undecided",
            Self::Dead => "broken",
            Self::Worse => "worse",
        }
    }
}

impl TryVerdict {
    /// What a side, from 1, came to.
    pub fn side_outcome(&self, side: usize) -> TrySideOutcome {
        let of_side = self.compared.iter().filter(|tried| tried.side == side);
        let outcomes = of_side
            .filter(|tried| tried.decides)
            .map(|tried| match tried.call {
                TryCall::Better => TrySideOutcome::Better,
                TryCall::Worse => TrySideOutcome::Worse,
                TryCall::Equal { .. } => TrySideOutcome::Equal,
                TryCall::Undecided { .. } | TryCall::Missing => TrySideOutcome::Undecided,
            });
        let outcome = outcomes.max().unwrap_or(TrySideOutcome::Undecided);
        match self.is_dead(side) {
            true => outcome.max(TrySideOutcome::Dead),
            false => outcome,
        }
    }

    /// Whether the side or the base doesn't build, boot or run.
    pub fn is_dead(&self, side: usize) -> bool {
        let mut sides = [0, side].into_iter();
        sides.any(|side| self.dead.get(side) == Some(&true))
    }

    /// What all sides came to: the worst of them.
    pub fn overall(&self) -> TrySideOutcome {
        let sides = (1..self.dead.len()).map(|side| self.side_outcome(side));
        sides.max().unwrap_or(TrySideOutcome::Undecided)
    }
}

/// Why a try asks for nothing more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TryEnd {
    /// Each difference is decided.
    Decided,
    /// The budget is spent.
    Budget,
    /// All passes that were allowed are made.
    Passes,
    /// There is nothing left to compare: the base, or every side, doesn't build, boot or run.
    Dead,
}

/// One side against the base, by one metric of one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct TryComparison {
    /// The side, from 1.
    pub side: usize,
    /// The cell's number in the plan's order, from 0.
    pub cell: usize,
    /// The metric.
    pub metric: MetricName,
    /// Which direction is good.
    pub better: Better,
    /// Whether the study goes on until it is decided.
    pub decides: bool,
    /// The answer.
    pub call: TryCall,
    /// How many differences it stands on: passes in which both gave a figure.
    pub pairs: usize,
    /// The figures of base and side in each of those passes, in order of time.
    pub course: Vec<(f64, f64)>,
    /// The mean figure of the base in those passes, in the metric's unit.
    pub base: Option<f64>,
    /// The mean figure of the side, likewise.
    pub new: Option<f64>,
    /// side − base in percent of the base, whatever is better; nothing where that isn't defined or can't be estimated.
    pub percent: Option<f64>,
    /// Its interval, which holds at every look.
    pub percent_interval: Option<Interval>,
    /// side − base in the metric's unit with its interval, where there is no ratio: a value isn't positive, or the ratio may
    /// be anything.
    pub difference: Option<(f64, Option<Interval>)>,
    /// How sure its interval is: what the study is asked for, shared among the comparisons that decide.
    pub confidence: Confidence,
}

/// What is said of a side and a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TryCall {
    /// Better than the base.
    Better,
    /// Worse than the base.
    Worse,
    /// No difference larger than this, in percent of the base.
    Equal {
        /// The end of the interval further from no change.
        larger_than_percent: f64,
    },
    /// It can't be told yet.
    Undecided {
        /// About so many passes more would tell; nothing if they give no idea.
        more: Option<usize>,
    },
    /// Nothing was measured of it on both sides.
    Missing,
}

impl TryCall {
    /// Whether nothing more is to be found out.
    pub fn is_decided(self) -> bool {
        matches!(self, Self::Better | Self::Worse | Self::Equal { .. })
    }
}

/// One pass over the sides.
#[derive(Debug, Clone, Copy)]
struct Pass {
    /// From 1.
    number: u32,
    layout: usize,
    boot: u32,
}

/// How far the evidence goes.
struct Walk {
    standing: TryState,
    /// The first pass with something left to ask, with that; nothing if it is over.
    open: Option<(Pass, Vec<Request>)>,
    end: Option<TryEnd>,
    passes: u32,
}

impl TryPolicy {
    /// Whether a side has a cell that the base has too.
    fn is_compared(&self, side: usize, cell: usize) -> bool {
        let mut absent = self.absent.iter();
        !absent.any(|it| *it == (side, cell) || *it == (0, cell))
    }

    /// How sure each interval is: the chance of a false decision is shared among the comparisons that decide.
    fn confidence_each(&self) -> Confidence {
        let deciding: usize = (1..=self.sides)
            .flat_map(|side| self.cells.iter().enumerate().map(move |it| (side, it)))
            .filter(|(side, (cell, _))| self.is_compared(*side, *cell))
            .map(|(_, (_, metrics))| metrics.iter().filter(|m| m.decides).count())
            .sum();
        let alpha = (1.0 - self.confidence.share()) / deciding.max(1) as f64;
        Confidence::new(1.0 - alpha).unwrap_or(self.confidence)
    }

    fn most(&self) -> u32 {
        match self.layouts {
            0 | 1 => self.most,
            layouts => self.most.min(u32::try_from(layouts).unwrap_or(u32::MAX)),
        }
    }

    fn pass(&self, number: u32) -> Pass {
        if self.layouts > 1 {
            return Pass {
                number,
                layout: number as usize - 1,
                boot: self.first_boot,
            };
        }
        Pass {
            number,
            layout: 0,
            boot: match self.revisits {
                true => self.first_boot,
                false => self.first_boot.saturating_add(number - 1),
            },
        }
    }

    /// The round of a pass's trial: boots that are gone back to have all of them.
    fn round(&self, pass: Pass, trial: u32) -> u32 {
        match self.revisits && self.layouts <= 1 {
            true => (pass.number - 1).saturating_mul(self.trials.max(1)) + trial,
            false => trial,
        }
    }

    /// The sides of a pass in their order, the base among them: every second one backwards, the start moved on after two.
    fn order(&self, turn: u32) -> Vec<usize> {
        let all = self.sides + 1;
        let start = (turn / 2) as usize % all;
        let mut order: Vec<usize> = (0..all).map(|n| (start + n) % all).collect();
        if turn % 2 == 1 {
            order.reverse();
        }
        order
    }

    fn cells_in_order(&self, pass: Pass) -> Vec<usize> {
        let mut cells: Vec<usize> = (0..self.cells.len()).collect();
        let seed = u64::from(self.seed) << 32 | u64::from(pass.number);
        cells.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
        cells
    }

    /// Everything that a pass asks, in its order, if all sides and cells are asked.
    fn requests(&self, pass: Pass) -> Vec<Request> {
        let cells = self.cells_in_order(pass);
        let trials = 1..=self.trials.max(1);
        let of = |version: usize, cell: usize, trial: u32| Request {
            testbed: 0,
            version,
            layout: pass.layout,
            boot: pass.boot,
            cell,
            round: self.round(pass, trial),
        };
        let mut requests = Vec::new();
        if self.revisits {
            for cell in cells {
                for trial in trials.clone() {
                    let turn = (pass.number - 1) * self.trials.max(1) + trial - 1;
                    let order = self.order(turn).into_iter();
                    requests.extend(order.map(|side| of(side, cell, trial)));
                }
            }
        } else {
            for side in self.order(pass.number - 1) {
                for trial in trials.clone() {
                    requests.extend(cells.iter().map(|cell| of(side, *cell, trial)));
                }
            }
        }
        requests
    }

    /// Whether a side is to be had in a pass, as far as it is known.
    fn is_there(pass: Pass, side: usize, seen: &EvidenceIndex<'_>) -> bool {
        seen.is_there(side, pass.layout, pass.boot)
    }

    fn walk(&self, evidence: &Evidence) -> Walk {
        let seen = EvidenceIndex::new(evidence);
        let mut standing = TryState::new(self);
        let mut end = None;
        let mut passes = 0;
        for number in 1..=self.most() {
            if let Some(over) = standing.is_over() {
                end = Some(over);
                break;
            }
            let pass = self.pass(number);
            let wanted: HashSet<(usize, usize)> = (1..=self.sides)
                .flat_map(|side| (0..self.cells.len()).map(move |cell| (side, cell)))
                .filter(|(side, cell)| standing.wants(*side, *cell))
                .filter(|(side, _)| [0, *side].iter().all(|s| Self::is_there(pass, *s, &seen)))
                .collect();
            let asked = |request: &Request| match request.version {
                0 => wanted.iter().any(|(_, cell)| *cell == request.cell),
                side => wanted.contains(&(side, request.cell)),
            };
            let requests = self.requests(pass);
            standing.add(&requests, &seen.trials, |side| {
                Self::is_there(pass, side, &seen)
            });
            let left = requests
                .into_iter()
                .filter(asked)
                .filter(|request| !seen.trials.contains_key(request));
            let left: Vec<Request> = left.collect();
            passes += u32::from(standing.of_pass() > 0);
            if !left.is_empty() {
                return Walk {
                    standing,
                    open: Some((pass, left)),
                    end: None,
                    passes,
                };
            }
            standing.close_pass();
        }
        let end = end.or_else(|| standing.is_over());
        Walk {
            standing,
            open: None,
            end: Some(end.unwrap_or(TryEnd::Passes)),
            passes,
        }
    }

    fn is_spent(&self, evidence: &Evidence) -> bool {
        self.budget.is_some_and(|budget| evidence.spent() >= budget)
    }

    /// Where it stands.
    pub fn verdict(&self, evidence: &Evidence) -> TryVerdict {
        let walk = self.walk(evidence);
        let ended = match (walk.end, &walk.open) {
            (None, Some(_)) if self.is_spent(evidence) => Some(TryEnd::Budget),
            (end, _) => end,
        };
        let trials = evidence.observations.iter().filter(|seen| seen.is_trial());
        let (trials, measured) = trials.fold((0, 0), |(all, measured), seen| {
            (all + 1, measured + usize::from(seen.measured()))
        });
        TryVerdict {
            passes: walk.passes,
            ended,
            dead: walk.standing.dead().to_vec(),
            compared: walk.standing.compared(),
            measured,
            failed: trials - measured,
            spent: evidence.spent(),
        }
    }
}

impl Policy for TryPolicy {
    type Verdict = TryVerdict;

    fn decide(&self, evidence: &Evidence) -> Decision<TryVerdict> {
        let open = match self.is_spent(evidence) {
            true => None,
            false => self.walk(evidence).open,
        };
        match open.and_then(|(_, left)| left.first().copied()) {
            Some(request) => Decision::Measure(request),
            None => Decision::Done(self.verdict(evidence)),
        }
    }

    fn remaining_trials(&self, evidence: &Evidence) -> usize {
        if self.is_spent(evidence) {
            return 0;
        }
        let walk = self.walk(evidence);
        let Some((pass, left)) = walk.open else {
            return 0;
        };
        let made = pass.number - 1;
        let allowed = (self.most() - made) as usize;
        let more = match walk.standing.more() {
            Some(more) => more,
            None => EXPECTED_PASSES.saturating_sub(made as usize),
        };
        let mut passes = more.clamp(1, allowed.max(1));
        if let (Some(budget), true) = (self.budget, made > 0) {
            let each = evidence.spent().div_f64(f64::from(made));
            let rest = budget.saturating_sub(evidence.spent());
            let affordable = rest.as_secs_f64() / each.as_secs_f64().max(1e-9);
            passes = passes.min((affordable as usize).max(1));
        }
        let of_pass = (self.sides + 1) * self.cells.len() * self.trials.max(1) as usize;
        left.len() + (passes - 1) * of_pass
    }

    fn upcoming_builds(&self, evidence: &Evidence, most: usize) -> Vec<Request> {
        if self.is_spent(evidence) {
            return Vec::new();
        }
        let Some((pass, left)) = self.walk(evidence).open else {
            return Vec::new();
        };
        let mut coming: Vec<Request> = Vec::new();
        let next = (pass.number < self.most()).then(|| self.requests(self.pass(pass.number + 1)));
        for request in left.into_iter().chain(next.into_iter().flatten()) {
            let build = (request.version, request.layout);
            if coming.len() < most && !coming.iter().any(|r| (r.version, r.layout) == build) {
                coming.push(request);
            }
        }
        coming
    }
}

#[cfg(test)]
mod tests;
