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
    bound::{Standing, Tally, conditional_throughput},
    goal::{SearchGoal, TrialReadings},
};

/// Trials of one length at one load that may fail before the load counts as one that can't be carried.
const MAX_FAILED_TRIALS: u32 = 3;

/// A load, by its rung, and how long it is offered, by its phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct LoadRequest {
    pub rung: usize,
    pub phase: usize,
}

/// The relevant bounds of a goal, by their rungs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Bracket {
    /// The greatest lower bound below the upper one.
    pub lower: Option<usize>,
    /// The least upper bound.
    pub upper: Option<usize>,
}

/// A trial that was made.
#[derive(Debug, Clone)]
pub(super) struct Sighting {
    pub ask: LoadRequest,
    pub told: TrialReadings,
}

/// A search that is under way.
pub(super) struct LoadSearch<'a> {
    policy: &'a SearchPolicy,
    rungs: &'a [f64],
    /// How many times as far apart its bounds may be as those of the policy's phases.
    coarse: usize,
    /// Its trials, in order of time.
    pub seen: Vec<Sighting>,
    /// Failed trials since the last that was measured.
    failed: HashMap<LoadRequest, u32>,
    /// Phase and goal that are looked at; all goals of a phase before the next.
    stage: usize,
    /// The bounds with which each stage before ended.
    ended: Vec<Bracket>,
}

impl<'a> LoadSearch<'a> {
    pub fn new(policy: &'a SearchPolicy, rungs: &'a [f64], coarse: usize) -> Self {
        Self {
            policy,
            rungs,
            coarse,
            seen: Vec::new(),
            failed: HashMap::new(),
            stage: 0,
            ended: Vec::new(),
        }
    }

    /// Counts a trial; `None` where it failed.
    pub fn absorb(&mut self, ask: LoadRequest, told: Option<TrialReadings>) {
        let told = match told {
            Some(told) => {
                self.failed.remove(&ask);
                told
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
        self.seen.push(Sighting { ask, told });
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

    /// The rungs' standings for a goal with the trials of this phase.
    fn standings(&self, phase: usize, goal: usize) -> BTreeMap<usize, Standing> {
        let asked = self.policy.asked(phase);
        let mut tallies: BTreeMap<usize, Tally> = BTreeMap::new();
        for Sighting { ask, told } in &self.seen {
            let seconds = self.policy.phases[ask.phase].seconds;
            let tally = tallies.entry(ask.rung).or_default();
            tally.add(&asked, seconds, told.good[goal]);
        }
        let standing = |(rung, tally): (usize, Tally)| (rung, tally.standing(&asked));
        tallies.into_iter().map(standing).collect()
    }

    /// The relevant bounds of a goal with the trials of this phase.
    pub fn bracket(&self, phase: usize, goal: usize) -> Bracket {
        let standings = self.standings(phase, goal);
        let of = |wanted: Standing| {
            let standings = standings.iter();
            standings
                .filter(move |(_, s)| **s == wanted)
                .map(|(rung, _)| *rung)
        };
        let upper = of(Standing::Upper).next();
        let below = |rung: &usize| upper.is_none_or(|upper| *rung < upper);
        Bracket {
            lower: of(Standing::Lower).rfind(below),
            upper,
        }
    }

    /// How many rungs bounds are apart at most.
    fn apart(&self, phase: usize) -> usize {
        self.policy.phases[phase].apart * self.coarse
    }

    /// Whether these bounds are an answer in this phase.
    pub fn is_settled(&self, phase: usize, bracket: Bracket) -> bool {
        match (bracket.lower, bracket.upper) {
            (Some(lower), Some(upper)) => upper - lower <= self.apart(phase),
            (None, Some(upper)) => upper == 0,
            (Some(lower), None) => lower + 1 == self.rungs.len(),
            (None, None) => false,
        }
    }

    /// The next load of this stage; nothing when its bounds are near enough.
    fn wanted(&self, phase: usize, goal: usize, bracket: Bracket) -> Option<LoadRequest> {
        if self.is_settled(phase, bracket) {
            return None;
        }
        let rung = self.rung(phase, goal, bracket);
        Some(LoadRequest { rung, phase })
    }

    /// A rung strictly between the bounds.
    fn rung(&self, phase: usize, goal: usize, Bracket { lower, upper }: Bracket) -> usize {
        let top = self.rungs.len() - 1;
        let inside =
            |rung: &usize| lower.is_none_or(|l| *rung > l) && upper.is_none_or(|u| *rung < u);
        let (low, high) = self.anchors(phase, goal);
        if let Some(anchor) = [low, high].into_iter().flatten().find(inside) {
            return anchor;
        }
        let standings = self.standings(phase, goal);
        let apart = self.apart(phase);
        // Once from the anchor, then twice as far each time.
        let step = |rungs: std::ops::RangeInclusive<usize>, standing: Standing| {
            let gone = standings.range(rungs);
            let gone = gone.filter(|(_, s)| **s == standing).count();
            apart << gone.saturating_sub(1).min(20)
        };
        let up = |from: usize| match high {
            Some(anchor) if anchor <= from => step(anchor..=from, Standing::Lower),
            _ => apart,
        };
        // What a trial forwarded that lost something says how far down at least.
        let down = |from: usize| match low {
            Some(anchor) if anchor >= from => {
                let forwarded = self.forwarded(phase, goal, from).unwrap_or(from);
                step(from..=anchor, Standing::Upper).max(from.saturating_sub(forwarded))
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

    /// The rung that would just carry what was forwarded at the first trial.
    fn guess(&self, goal: usize) -> Option<usize> {
        let first = self.seen.first()?;
        Some(self.rung_of(goal, first.ask.rung, first.told.loss?))
    }

    /// The rung that would just carry what the trials of this phase forwarded at most at a load.
    fn forwarded(&self, phase: usize, goal: usize, rung: usize) -> Option<usize> {
        let at = LoadRequest { rung, phase };
        let trials = self.seen.iter().filter(|sighting| sighting.ask == at);
        let least = trials.filter_map(|sighting| sighting.told.loss);
        Some(self.rung_of(goal, rung, least.reduce(f64::min)?))
    }

    /// The rung at which what is forwarded here with this loss would be the goal's share.
    fn rung_of(&self, goal: usize, rung: usize, loss: f64) -> usize {
        let allowed = match self.policy.goals[goal] {
            SearchGoal::Loss { ratio } => ratio,
            SearchGoal::Below { .. } => 0.0,
        };
        let load = self.rungs[rung] * (1.0 - loss) / (1.0 - allowed);
        let above = self.rungs.partition_point(|rung| *rung <= load);
        above.saturating_sub(1)
    }

    /// What arrives at the relevant lower bound, where a loss is read.
    pub fn throughput(&self, rung: usize) -> Option<f64> {
        let asked = self.policy.asked(self.policy.phases.len() - 1);
        let full = self.seen.iter().filter(|sighting| {
            let seconds = self.policy.phases[sighting.ask.phase].seconds;
            sighting.ask.rung == rung && seconds >= asked.full * (1.0 - 1e-9)
        });
        let trials = full.map(|sighting| {
            let seconds = self.policy.phases[sighting.ask.phase].seconds;
            Some((seconds, sighting.told.loss?))
        });
        let trials = trials.collect::<Option<Vec<_>>>()?;
        Some(conditional_throughput(self.rungs[rung], &asked, &trials))
    }

    /// What the generator sent at most in a trial at this load in which it fell short, where it did in most of them.
    pub fn shortfall(&self, rung: usize) -> Option<f64> {
        let at = || {
            self.seen
                .iter()
                .filter(|sighting| sighting.ask.rung == rung)
        };
        let short = || at().filter(|sighting| sighting.told.fell_short);
        let most = 2 * short().count() > at().count();
        let sent = short().filter_map(|sighting| sighting.told.sent);
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
