//! One search on one subject: the next load and the length of its trial.
//!
//! Phases have longer and longer trials. In each phase every goal gets a lower and an upper bound that are close enough; the
//! next phase begins with these bounds, tries them with its longer trials, and goes out from them in doubling steps where they
//! don't hold. So there are few long trials, all near the answer. The very first trial has the greatest load: its throughput is
//! the first guess.
//!
//! A phase with bounds is over, whatever longer trials say about them.

use std::collections::{BTreeMap, HashMap};

use super::{
    SearchPolicy,
    bound::{LoadClass, TrialTimes, conditional_throughput},
    goal::{SearchGoal, TrialReadings},
};

/// Trials of one length at one load that may fail before the load counts as one that can't be carried.
const MAX_FAILED_TRIALS: u32 = 3;

/// A load, by its index in the grid, and the duration of its trial, by its phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct LoadRequest {
    pub index: usize,
    pub phase: usize,
}

/// The relevant bounds of a goal, by their indices in the grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Bracket {
    /// The greatest lower bound below the upper one.
    pub lower: Option<usize>,
    /// The least upper bound.
    pub upper: Option<usize>,
}

/// A trial that was made.
#[derive(Debug, Clone)]
pub(super) struct LoadTrial {
    pub ask: LoadRequest,
    pub readings: TrialReadings,
}

/// A search that is under way.
pub(super) struct LoadSearch<'a> {
    policy: &'a SearchPolicy,
    loads: &'a [f64],
    /// How many times as far apart its bounds may be as those of the policy's phases.
    coarse: usize,
    /// Its trials, in order of time.
    pub seen: Vec<LoadTrial>,
    /// Failed trials since the last that was measured.
    failed: HashMap<LoadRequest, u32>,
    /// Phase and goal that are looked at; all goals of a phase before the next.
    stage: usize,
    /// The bounds with which each stage before ended.
    ended: Vec<Bracket>,
}

impl<'a> LoadSearch<'a> {
    pub fn new(policy: &'a SearchPolicy, loads: &'a [f64], coarse: usize) -> Self {
        Self {
            policy,
            loads,
            coarse,
            seen: Vec::new(),
            failed: HashMap::new(),
            stage: 0,
            ended: Vec::new(),
        }
    }

    /// Counts a trial; `None` where it failed.
    pub fn add_trial(&mut self, ask: LoadRequest, readings: Option<TrialReadings>) {
        let readings = match readings {
            Some(readings) => {
                self.failed.remove(&ask);
                readings
            }
            None => {
                let failed = self.failed.entry(ask).or_default();
                *failed += 1;
                if *failed < MAX_FAILED_TRIALS {
                    return;
                }
                *failed = 0;
                TrialReadings {
                    loss: None,
                    sent: None,
                    fell_short: false,
                    good: vec![false; self.policy.goals.len()],
                    values: vec![None; self.policy.goals.len()],
                }
            }
        };
        self.seen.push(LoadTrial { ask, readings });
    }

    /// What is to be tried next; nothing when every goal has its answer.
    pub fn next(&mut self) -> Option<LoadRequest> {
        let goals = self.policy.goals.len();
        let last = self.policy.phases.len() - 1;
        while self.stage < last * goals {
            let (phase, goal) = (self.stage / goals, self.stage % goals);
            let bracket = self.bracket(phase, goal);
            if let Some(ask) = self.wanted(phase, goal, bracket) {
                return Some(ask);
            }
            self.ended.push(bracket);
            self.stage += 1;
        }
        // A trial for a later goal may tell more about an earlier one, so that all are asked each time.
        (0..goals).find_map(|goal| self.wanted(last, goal, self.bracket(last, goal)))
    }

    /// The classes of the loads for a goal with the trials of this phase.
    fn classify_loads(&self, phase: usize, goal: usize) -> BTreeMap<usize, LoadClass> {
        let asked = self.policy.goal_times(phase);
        let mut tallies: BTreeMap<usize, TrialTimes> = BTreeMap::new();
        for LoadTrial { ask, readings } in &self.seen {
            let seconds = self.policy.phases[ask.phase].seconds;
            let tally = tallies.entry(ask.index).or_default();
            tally.add(&asked, seconds, readings.good[goal]);
        }
        let class = |(index, tally): (usize, TrialTimes)| (index, tally.classify(&asked));
        tallies.into_iter().map(class).collect()
    }

    /// The relevant bounds of a goal with the trials of this phase.
    pub fn bracket(&self, phase: usize, goal: usize) -> Bracket {
        let classes = self.classify_loads(phase, goal);
        let of = |wanted: LoadClass| {
            let classes = classes.iter();
            classes
                .filter(move |(_, s)| **s == wanted)
                .map(|(index, _)| *index)
        };
        let upper = of(LoadClass::Upper).next();
        let below = |index: &usize| upper.is_none_or(|upper| *index < upper);
        Bracket {
            lower: of(LoadClass::Lower).rfind(below),
            upper,
        }
    }

    /// How many loads bounds are apart at most.
    fn apart(&self, phase: usize) -> usize {
        self.policy.phases[phase].apart * self.coarse
    }

    /// Whether these bounds are an answer in this phase.
    pub fn is_settled(&self, phase: usize, bracket: Bracket) -> bool {
        match (bracket.lower, bracket.upper) {
            (Some(lower), Some(upper)) => upper - lower <= self.apart(phase),
            (None, Some(upper)) => upper == 0,
            (Some(lower), None) => lower + 1 == self.loads.len(),
            (None, None) => false,
        }
    }

    /// The next load of this stage; nothing when its bounds are near enough.
    fn wanted(&self, phase: usize, goal: usize, bracket: Bracket) -> Option<LoadRequest> {
        if self.is_settled(phase, bracket) {
            return None;
        }
        let index = self.next_index(phase, goal, bracket);
        Some(LoadRequest { index, phase })
    }

    /// The index of a load strictly between the bounds.
    fn next_index(&self, phase: usize, goal: usize, Bracket { lower, upper }: Bracket) -> usize {
        let top = self.loads.len() - 1;
        let inside =
            |index: &usize| lower.is_none_or(|l| *index > l) && upper.is_none_or(|u| *index < u);
        let (low, high) = self.anchors(phase, goal);
        if let Some(anchor) = [low, high].into_iter().flatten().find(inside) {
            return anchor;
        }
        let classes = self.classify_loads(phase, goal);
        let apart = self.apart(phase);
        // Once from the anchor, then twice as far each time.
        let step = |loads: std::ops::RangeInclusive<usize>, class: LoadClass| {
            let gone = classes.range(loads);
            let gone = gone.filter(|(_, s)| **s == class).count();
            apart << gone.saturating_sub(1).min(20)
        };
        let up = |from: usize| match high {
            Some(anchor) if anchor <= from => step(anchor..=from, LoadClass::Lower),
            _ => apart,
        };
        // What a trial forwarded that lost something says how far down at least.
        let down = |from: usize| match low {
            Some(anchor) if anchor >= from => {
                let forwarded = self.forwarded(phase, goal, from).unwrap_or(from);
                step(from..=anchor, LoadClass::Upper).max(from.saturating_sub(forwarded))
            }
            _ => apart,
        };
        match (lower, upper) {
            (None, None) => top,
            (Some(lower), None) => (lower + up(lower)).min(top),
            (None, Some(upper)) if low.is_none() => upper / 2,
            (None, Some(upper)) => upper.saturating_sub(down(upper)),
            (Some(lower), Some(upper)) => {
                let gap = upper - lower;
                let middle = lower + gap / 2;
                let (from_below, from_above) = (up(lower), down(upper));
                if high.is_some_and(|anchor| lower >= anchor) && 2 * from_below < gap {
                    lower + from_below
                } else if low.is_some_and(|anchor| upper <= anchor) && 2 * from_above < gap {
                    upper - from_above
                } else {
                    middle
                }
            }
        }
    }

    /// Where a stage begins: the bounds of the phase before, in the first phase what was forwarded at the first trial.
    fn anchors(&self, phase: usize, goal: usize) -> (Option<usize>, Option<usize>) {
        if phase > 0 {
            let before = self.ended[(phase - 1) * self.policy.goals.len() + goal];
            return (before.lower.or(before.upper), before.upper.or(before.lower));
        }
        let guess = self.guess(goal);
        (guess, guess)
    }

    /// The load that would just carry what was forwarded at the first trial.
    fn guess(&self, goal: usize) -> Option<usize> {
        let first = self.seen.first()?;
        Some(self.index_of(goal, first.ask.index, first.readings.loss?))
    }

    /// The load that would just carry what the trials of this phase forwarded at most at a load.
    fn forwarded(&self, phase: usize, goal: usize, index: usize) -> Option<usize> {
        let at = LoadRequest { index, phase };
        let trials = self.seen.iter().filter(|trial| trial.ask == at);
        let least = trials.filter_map(|trial| trial.readings.loss);
        Some(self.index_of(goal, index, least.reduce(f64::min)?))
    }

    /// The load at which what is forwarded here with this loss would be the goal's share.
    fn index_of(&self, goal: usize, index: usize, loss: f64) -> usize {
        let allowed = match self.policy.goals[goal] {
            SearchGoal::Loss { ratio } => ratio,
            SearchGoal::Below { .. } => 0.0,
        };
        let load = self.loads[index] * (1.0 - loss) / (1.0 - allowed);
        let above = self.loads.partition_point(|other| *other <= load);
        above.saturating_sub(1)
    }

    /// What arrives at the relevant lower bound, where a loss is read.
    pub fn throughput(&self, index: usize) -> Option<f64> {
        let asked = self.policy.goal_times(self.policy.phases.len() - 1);
        let full = self.seen.iter().filter(|trial| {
            let seconds = self.policy.phases[trial.ask.phase].seconds;
            trial.ask.index == index && seconds >= asked.full * (1.0 - 1e-9)
        });
        let trials = full.map(|trial| {
            let seconds = self.policy.phases[trial.ask.phase].seconds;
            Some((seconds, trial.readings.loss?))
        });
        let trials = trials.collect::<Option<Vec<_>>>()?;
        Some(conditional_throughput(self.loads[index], &asked, &trials))
    }

    /// What the generator sent at most in a trial at this load in which it fell short, where it did in most of them.
    pub fn shortfall(&self, index: usize) -> Option<f64> {
        let at = || self.seen.iter().filter(|trial| trial.ask.index == index);
        let short = || at().filter(|trial| trial.readings.fell_short);
        let most = 2 * short().count() > at().count();
        let sent = short().filter_map(|trial| trial.readings.sent);
        sent.reduce(f64::max).filter(|_| most)
    }

    /// How many trials it will still take, as far as can be told.
    pub fn left(&self) -> usize {
        const TRIALS_PER_PHASE_AND_GOAL: usize = 3;
        const FIRST_TRIALS: usize = 4;
        let goals = self.policy.goals.len();
        let stages = self.policy.phases.len() * goals;
        let begun = if self.seen.is_empty() {
            FIRST_TRIALS
        } else {
            0
        };
        begun + (stages - self.stage.min(stages - 1)) * TRIALS_PER_PHASE_AND_GOAL
    }
}
