//! Result of a load search: bounds for each goal, subject and repetition, and whether device or generator sets the limit.
//!
//! Repetitions aren't merged into one number without spread, and a device gets no limit beyond the generator's.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Replay, SearchPolicy, load_search::LoadSearch};

/// What one search found for one goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Found")]
pub enum LoadAnswer {
    /// The goal is met at the lower bound and missed at the upper one.
    Between,
    /// The goal is missed even at the least load.
    BelowMinimum,
    /// The goal is met even at the greatest load.
    AtLeastMaximum,
    /// The search isn't over.
    Unsettled,
}

/// The bounds of one search for one goal.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Bounds")]
pub struct LoadBounds {
    /// What kind of answer it is.
    pub found: LoadAnswer,
    /// The relevant lower bound: the greatest load that met the goal below the least that missed it.
    pub lower: Option<f64>,
    /// The relevant upper bound: the least load that missed the goal.
    pub upper: Option<f64>,
    /// What arrives at the lower bound (the draft's conditional throughput); nothing where no loss is read.
    pub throughput: Option<f64>,
    /// What the generator sent at the upper bound, where it fell short of it.
    pub sent_only: Option<f64>,
}

/// Whether an answer is the device's or the generator's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "generator")]
#[schemars(rename = "GeneratorStands")]
pub enum GeneratorLimit {
    /// There is no baseline, or none was found: nobody knows what the generator can do.
    Unknown,
    /// The subject is the baseline: what was found is the generator's limit.
    IsMeasured,
    /// The generator alone met the goal at the load where the device missed it.
    Enough {
        /// The load up to which it did; at least.
        alone: f64,
    },
    /// The generator alone wasn't shown to meet the goal at the load where the device missed it: it is the limit.
    IsTheLimit {
        /// The load up to which it did; nothing if it did at none.
        alone: Option<f64>,
    },
    /// More went through the device than the baseline missed the goal at: something disturbed the baseline.
    Disturbed {
        /// The load at which the baseline missed the goal.
        missed: f64,
    },
    /// The generator sent less than it was asked to: it is the limit.
    FellShort {
        /// What it sent, at the load that was missed.
        sent: f64,
    },
}

/// The answer for one goal on one subject.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GoalAnswer {
    /// The goal, by its number in the policy.
    pub goal: usize,
    /// The bounds of each search that was begun, in order of time.
    pub searches: Vec<LoadBounds>,
    /// Whose limit it is.
    pub generator: GeneratorLimit,
}

/// The trials at one load on one subject.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LoadPoint {
    /// The load.
    pub load: f64,
    /// How many trials were made, those not counted that failed and were made again.
    pub trials: usize,
    /// How long they were together, in the duration's unit.
    pub seconds: f64,
    /// The shares that were lost, in order of time, of the trials of which they are known.
    pub losses: Vec<f64>,
    /// For each goal, how many of the trials met it.
    pub good: Vec<usize>,
    /// For each goal about a metric, its values, in order of time.
    pub values: Vec<Vec<f64>>,
    /// In how many of them the generator fell short.
    pub short: usize,
}

/// The answers on one subject.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SubjectAnswer {
    /// The subject, by its number in the policy.
    pub subject: usize,
    /// One for each goal.
    pub goals: Vec<GoalAnswer>,
    /// What was seen at each load, ascending, over all repetitions.
    pub loads: Vec<LoadPoint>,
    /// How many trials its searches took, failed ones too.
    pub trials: usize,
}

/// What a search came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SearchVerdict {
    /// One for each subject that was begun, in the policy's order.
    pub subjects: Vec<SubjectAnswer>,
    /// Whether every search is over.
    pub complete: bool,
}

impl GoalAnswer {
    /// The loads up to which the goal was met, least to greatest, of the searches that found one.
    pub fn met(&self) -> Vec<f64> {
        let mut met: Vec<f64> = self.searches.iter().filter_map(|s| s.lower).collect();
        met.sort_by(f64::total_cmp);
        met
    }

    /// The median of [`met`](Self::met), the lower of two in the middle: a load that was offered.
    pub fn median(&self) -> Option<f64> {
        let met = self.met();
        met.get(met.len().saturating_sub(1) / 2).copied()
    }

    /// Whether each of its searches has an answer.
    pub fn is_settled(&self) -> bool {
        !self.searches.is_empty()
            && self
                .searches
                .iter()
                .all(|s| s.found != LoadAnswer::Unsettled)
    }
}

/// Puts the answers of all searches together.
pub(super) fn verdict(policy: &SearchPolicy, loads: &[f64], replay: &Replay<'_>) -> SearchVerdict {
    let mut subjects: Vec<SubjectAnswer> = Vec::new();
    for subject in 0..policy.subjects.len() {
        let begun = replay.order.iter().zip(&replay.searches_begun);
        let begun: Vec<&LoadSearch<'_>> = begun
            .filter(|((of, _), _)| *of == subject)
            .map(|(_, search)| search)
            .collect();
        if begun.is_empty() {
            continue;
        }
        let answer = |goal| GoalAnswer {
            goal,
            searches: begun
                .iter()
                .map(|search| bounds(policy, loads, search, goal))
                .collect(),
            generator: GeneratorLimit::Unknown,
        };
        let cells = replay.cells.iter().zip(&replay.rounds);
        let of_subject = cells.filter(|((of, _), _)| *of == subject);
        subjects.push(SubjectAnswer {
            subject,
            goals: (0..policy.goals.len()).map(answer).collect(),
            loads: points(policy, loads, &begun),
            trials: of_subject.map(|(_, trials)| *trials as usize).sum(),
        });
    }
    for at in 0..subjects.len() {
        for goal in 0..policy.goals.len() {
            subjects[at].goals[goal].generator = stands(policy, &subjects, at, goal);
        }
    }
    let settled = |subject: &SubjectAnswer| subject.goals.iter().all(GoalAnswer::is_settled);
    SearchVerdict {
        complete: replay.searches_begun.len() == replay.order.len() && subjects.iter().all(settled),
        subjects,
    }
}

fn bounds(
    policy: &SearchPolicy,
    loads: &[f64],
    search: &LoadSearch<'_>,
    goal: usize,
) -> LoadBounds {
    let last = policy.phases.len() - 1;
    let bracket = search.bracket(last, goal);
    let found = match (
        search.is_settled(last, bracket),
        bracket.lower,
        bracket.upper,
    ) {
        (false, ..) => LoadAnswer::Unsettled,
        (true, None, _) => LoadAnswer::BelowMinimum,
        (true, _, None) => LoadAnswer::AtLeastMaximum,
        (true, ..) => LoadAnswer::Between,
    };
    LoadBounds {
        found,
        lower: bracket.lower.map(|index| loads[index]),
        upper: bracket.upper.map(|index| loads[index]),
        throughput: bracket.lower.and_then(|index| search.throughput(index)),
        sent_only: bracket.upper.and_then(|index| search.shortfall(index)),
    }
}

fn points(policy: &SearchPolicy, loads: &[f64], begun: &[&LoadSearch<'_>]) -> Vec<LoadPoint> {
    let mut points: Vec<LoadPoint> = Vec::new();
    for trial in begun.iter().flat_map(|search| &search.seen) {
        let load = loads[trial.ask.index];
        let at = points.partition_point(|point| point.load < load);
        if points.get(at).is_none_or(|point| point.load != load) {
            let point = LoadPoint {
                load,
                trials: 0,
                seconds: 0.0,
                losses: Vec::new(),
                good: vec![0; policy.goals.len()],
                values: vec![Vec::new(); policy.goals.len()],
                short: 0,
            };
            points.insert(at, point);
        }
        let point = &mut points[at];
        point.trials += 1;
        point.seconds += policy.phases[trial.ask.phase].seconds;
        point.losses.extend(trial.readings.loss);
        point.short += usize::from(trial.readings.fell_short);
        for (count, good) in point.good.iter_mut().zip(&trial.readings.good) {
            *count += usize::from(*good);
        }
        for (values, value) in point.values.iter_mut().zip(&trial.readings.values) {
            values.extend(value);
        }
    }
    points
}

/// Whose limit an answer is.
fn stands(
    policy: &SearchPolicy,
    subjects: &[SubjectAnswer],
    at: usize,
    goal: usize,
) -> GeneratorLimit {
    let subject = &policy.subjects[subjects[at].subject];
    let searches = &subjects[at].goals[goal].searches;
    // One search in which the generator was the limit makes the whole answer its own.
    let sent = searches.iter().filter_map(|search| search.sent_only);
    if let Some(sent) = sent.reduce(f64::max) {
        return GeneratorLimit::FellShort { sent };
    }
    if subject.is_baseline {
        return GeneratorLimit::IsMeasured;
    }
    let baseline = subjects
        .iter()
        .find(|answer| Some(answer.subject) == subject.baseline)
        .map(|answer| &answer.goals[goal])
        .filter(|answer| answer.is_settled());
    let Some(baseline) = baseline else {
        return GeneratorLimit::Unknown;
    };
    let alone = baseline.met().first().copied();
    let missed = searches
        .iter()
        .filter_map(|search| search.upper)
        .reduce(f64::max);
    let alone_missed = baseline.searches.iter().filter_map(|search| search.upper);
    let least_met = subjects[at].goals[goal].met().first().copied();
    if let (Some(missed), Some(met)) = (alone_missed.reduce(f64::max), least_met)
        && met >= missed
    {
        return GeneratorLimit::Disturbed { missed };
    }
    match (alone, missed) {
        (Some(alone), Some(missed)) if missed <= alone => GeneratorLimit::Enough { alone },
        (Some(alone), None) => GeneratorLimit::Enough { alone },
        (alone, _) => GeneratorLimit::IsTheLimit { alone },
    }
}
