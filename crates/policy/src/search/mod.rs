//! Policy of `search`: the highest load that meets a goal, for several goals at once, on each subject of a plan.
//!
//! Multiple Loss Ratio Search (Konstantynowicz and Polák, IETF draft-ietf-bmwg-mlrsearch): a load is a lower or an upper bound
//! of a goal by the duration of its trials that met or missed it; the relevant bounds are the least upper one and the greatest
//! lower one below it; trials are short until the answer is near. A trial serves every goal.
//!
//! The search makes its cells, in the order in which they are first requested; the meaning of a cell's number follows from the
//! evidence before it.
//!
//! A load that the generator didn't send is never called carried, and a load that the generator alone wasn't shown to carry is
//! never blamed on the device.

mod bound;
mod goal;
mod load_grid;
mod load_search;
mod verdict;

pub use goal::{FigureReading, LossReading, MAX_UNSENT_SHARE, SearchGoal, TrialReadings};
pub use load_grid::{LoadGrid, LoadGridError};
pub use verdict::{
    GeneratorLimit, GoalAnswer, LoadAnswer, LoadBounds, LoadPoint, SearchVerdict, SubjectAnswer,
};

use backsight_model::{Cell, ParamName, Value};
use rand::{SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

use crate::{Decision, Evidence, Observation, Policy, Request};
use load_search::{LoadRequest, LoadSearch};

/// How many times as far apart the bounds of a baseline may be: whether the generator is above the device is the question,
/// and not by how much.
pub const BASELINE_WIDTH_RATIO: usize = 10;

/// Trials of one length, and how near to each other a goal's bounds come with them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SearchPhase {
    /// How long a trial is, in the duration's unit; 1 where a benchmark has no duration.
    pub seconds: f64,
    /// How many loads of the grid the bounds are apart at most.
    pub apart: usize,
}

/// What is searched: a cell of the plan without its load and its duration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchSubject {
    /// The cell; its load and duration are set by each trial.
    pub cell: Cell,
    /// The subject that is the same without the device, by its number; nothing if there is none.
    pub baseline: Option<usize>,
    /// Whether it is such a baseline itself: it is searched first, and once.
    pub is_baseline: bool,
}

/// The highest loads that meet goals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchPolicy {
    /// What is searched; at least one.
    pub subjects: Vec<SearchSubject>,
    /// The parameter that is the load.
    pub load: ParamName,
    /// The parameter that is a trial's duration; nothing if the benchmark has none.
    pub duration: Option<ParamName>,
    /// The loads.
    #[serde(rename = "ladder")]
    pub grid: LoadGrid,
    /// What is looked for; at least one.
    pub goals: Vec<SearchGoal>,
    /// How figures are read.
    pub reading: FigureReading,
    /// The phases, trials getting longer; at least one.
    pub phases: Vec<SearchPhase>,
    /// How long all trials of the last phase at a load are together, at least.
    pub sum: f64,
    /// The share of that time which may miss the goal; below 1.
    pub exceed: f64,
    /// How often everything is searched anew.
    pub repeat: u32,
    /// Seed of the order of the subjects.
    pub seed: u32,
}

impl SearchPolicy {
    /// Phases from a first to a last length of trials, each about four times the one before.
    ///
    /// Before the last one the bounds are found as near as at the end: short trials are cheap, and each that is made
    /// there spares several long ones.
    pub fn phases(first: f64, last: f64, whole: bool) -> Vec<SearchPhase> {
        let between = ((last / first).ln() / 4f64.ln()).round().max(0.0);
        let steps = if first < last { between.max(1.0) } else { 0.0 };
        let mut phases: Vec<SearchPhase> = Vec::new();
        for step in 0..=steps as u32 {
            let plain = match f64::from(step) == steps {
                true => last,
                false => first * (last / first).powf(f64::from(step) / steps),
            };
            let seconds = if whole { plain.round() } else { plain };
            let left = steps as u32 - step;
            let apart = 1 << left.saturating_sub(1).min(4);
            if phases.last().is_none_or(|phase| phase.seconds < seconds) {
                phases.push(SearchPhase { seconds, apart });
            }
        }
        phases
    }

    fn goal_times(&self, phase: usize) -> bound::GoalTimes {
        let full = self.phases[phase].seconds;
        let last = phase + 1 == self.phases.len();
        bound::GoalTimes {
            full,
            sum: if last { self.sum.max(full) } else { full },
            exceed: self.exceed,
        }
    }

    /// The searches in their order: subject and repetition. Baselines come first, and once.
    fn searches(&self) -> Vec<(usize, u32)> {
        let of = |baseline: bool| {
            let subjects = self.subjects.iter().enumerate();
            subjects
                .filter(move |(_, s)| s.is_baseline == baseline)
                .map(|(number, _)| number)
        };
        let mut order: Vec<(usize, u32)> = of(true).map(|subject| (subject, 1)).collect();
        for repetition in 1..=self.repeat {
            let mut subjects: Vec<usize> = of(false).collect();
            let seed = u64::from(self.seed) << 32 | u64::from(repetition);
            subjects.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
            order.extend(subjects.into_iter().map(|subject| (subject, repetition)));
        }
        order
    }

    /// The cell of a load and a phase.
    fn cell_of(&self, subject: usize, load: f64, phase: usize) -> Cell {
        let mut cell = self.subjects[subject].cell.clone();
        let mut set = |name: &ParamName, number: f64| {
            let value = match number.fract() == 0.0 && number.abs() < 9e15 {
                true => Value::Integer(number as i64),
                false => Value::Float(number),
            };
            cell.params.insert(name.clone(), value);
            if !cell.chosen.contains(name) {
                cell.chosen.push(name.clone());
            }
        };
        set(&self.load, load);
        if let Some(duration) = &self.duration {
            set(duration, self.phases[phase].seconds);
        }
        cell
    }

    /// A search on a subject, not begun yet.
    fn start_search<'a>(&'a self, loads: &'a [f64], subject: usize) -> LoadSearch<'a> {
        let coarse = match self.subjects[subject].is_baseline {
            true => BASELINE_WIDTH_RATIO,
            false => 1,
        };
        LoadSearch::new(self, loads, coarse)
    }

    fn replayed<'a>(&'a self, loads: &'a [f64], evidence: &Evidence) -> Replay<'a> {
        let mut replay = Replay::new(self, loads);
        for observation in &evidence.observations {
            replay.add_trial(observation);
        }
        replay
    }

    /// The answer as far as the evidence goes.
    pub fn verdict(&self, evidence: &Evidence) -> SearchVerdict {
        let loads = self.grid.loads();
        let mut replay = self.replayed(&loads, evidence);
        replay.next();
        verdict::verdict(self, &loads, &replay)
    }
}

/// The searches as they went so far.
struct Replay<'a> {
    policy: &'a SearchPolicy,
    loads: &'a [f64],
    /// Which search is which: subject and repetition.
    order: Vec<(usize, u32)>,
    /// The searches that were begun, in their order.
    searches_begun: Vec<LoadSearch<'a>>,
    /// Numbers of the cells that were asked for: subject, load, duration.
    numbers: HashMap<(usize, LoadRequest), usize>,
    /// What they are, by number.
    cells: Vec<(usize, LoadRequest)>,
    /// Trials of each cell.
    rounds: Vec<u32>,
}

impl<'a> Replay<'a> {
    fn new(policy: &'a SearchPolicy, loads: &'a [f64]) -> Self {
        let order = policy.searches();
        let first = order
            .first()
            .map(|(subject, _)| policy.start_search(loads, *subject));
        Self {
            policy,
            loads,
            order,
            searches_begun: first.into_iter().collect(),
            numbers: HashMap::new(),
            cells: Vec::new(),
            rounds: Vec::new(),
        }
    }

    /// What is asked next; nothing when all searches are over.
    fn next(&mut self) -> Option<Request> {
        loop {
            let (subject, _) = *self.order.get(self.searches_begun.len().checked_sub(1)?)?;
            if let Some(ask) = self.searches_begun.last_mut()?.next() {
                let place = (subject, ask);
                let number = *self.numbers.entry(place).or_insert(self.cells.len());
                if number == self.cells.len() {
                    self.cells.push(place);
                    self.rounds.push(0);
                }
                return Some(Request::as_found(number, self.rounds[number] + 1));
            }
            let (next, _) = *self.order.get(self.searches_begun.len())?;
            self.searches_begun
                .push(self.policy.start_search(self.loads, next));
        }
    }

    /// Counts what came of the next request.
    fn add_trial(&mut self, observation: &Observation) {
        // Which search it belongs to, and what its cell is, is known when it was asked for.
        self.next();
        let number = observation.request.cell;
        let Some(&(_, ask)) = self.cells.get(number) else {
            return;
        };
        self.rounds[number] += 1;
        let readings = match observation.measured() {
            true => {
                let load = self.loads[ask.index];
                let policy = self.policy;
                policy
                    .reading
                    .read(&policy.goals, load, &observation.figures)
            }
            false => None,
        };
        if let Some(search) = self.searches_begun.last_mut() {
            search.add_trial(ask, readings);
        }
    }

    fn left(&self) -> usize {
        let begun = self.searches_begun.last().map_or(0, LoadSearch::left);
        let empty = LoadSearch::new(self.policy, self.loads, 1).left();
        begun + (self.order.len() - self.searches_begun.len()) * empty
    }
}

impl Policy for SearchPolicy {
    type Verdict = SearchVerdict;

    fn decide(&self, evidence: &Evidence) -> Decision<SearchVerdict> {
        let loads = self.grid.loads();
        let mut replay = self.replayed(&loads, evidence);
        match replay.next() {
            Some(request) => Decision::Measure(request),
            None => Decision::Done(verdict::verdict(self, &loads, &replay)),
        }
    }

    fn remaining_trials(&self, evidence: &Evidence) -> usize {
        let loads = self.grid.loads();
        let mut replay = self.replayed(&loads, evidence);
        match replay.next() {
            Some(_) => replay.left(),
            None => 0,
        }
    }

    fn cell(&self, evidence: &Evidence, request: Request) -> Option<Cell> {
        let loads = self.grid.loads();
        let mut replay = self.replayed(&loads, evidence);
        replay.next();
        let (subject, ask) = *replay.cells.get(request.cell)?;
        Some(self.cell_of(subject, loads[ask.index], ask.phase))
    }
}

#[cfg(test)]
mod tests;
