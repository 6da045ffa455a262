//! What goes along with a change of a metric: monitors' metrics, functions, system calls, each with its effect and how well it
//! follows the metric from trial to trial. It goes along with the change; whether it is its cause, nobody here knows.
//!
//! A benchmark that became slower does less in the same time, so that every count of its work falls; what goes on beside it
//! (timers, say) goes on as before, so that there is more of it for each piece of work. Neither says why. A candidate that is
//! counted is therefore looked at both for each second and for each piece of work, and is named only if it changed in both ways: its
//! p-value is the larger one (an intersection-union test; R. L. Berger, "Multiparameter Hypothesis Testing and Acceptance Sampling",
//! Technometrics 24, 1982). What is the same number in all trials of a side needs no such care: the other side's differs or doesn't.
//!
//! Time that the benchmark's programs spend is looked at for each piece of work alone: what takes longer for the same work is where the
//! time went. A slower machine makes all of their functions take longer, so that a function has to have another share of the time, too, or
//! a p-value that is five times smaller.
//!
//! A machine whose speed varies hides a small change of the metric, and not what the benchmark's programs do: how often they call, and
//! which share of their time each function has, vary far less. Where the metric itself isn't told to differ these are looked at all the
//! same, at a smaller share of chance: a difference of them is one of the program. Where both sides were measured in turns, the time of
//! each function for the same work is looked at as well: the machine's speed is no difference between them.
//!
//! Over the candidates of a kind the p-values are adjusted after Benjamini and Hochberg.

use backsight_stats::{Confidence, Interval, Samples, Undefined, benjamini_hochberg, welch};
use indexmap::IndexMap;
use std::{collections::HashMap, ops::RangeInclusive};

/// The value of each trial, by the trial's number.
pub type TrialValues = IndexMap<u32, f64>;

/// What the metric that changed says of a piece of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkMeasure {
    /// How long one takes: durations.
    TimePerWork,
    /// How many there are in a time: rates.
    WorkPerTime,
    /// Neither: a share, a size.
    None,
}

/// The change that is looked at: one metric of one cell, the baseline first.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeSides {
    /// The metric's value in each trial.
    pub values: [TrialValues; 2],
    /// How long each trial ran, in seconds, where that is known. A metric that is a time is in seconds, too.
    pub seconds: [HashMap<u32, f64>; 2],
    /// What the metric says of a piece of work.
    pub work: WorkMeasure,
    /// Whether the metric itself is said to differ.
    pub is_told: bool,
    /// Whether both sides were measured in turns, so that a machine that becomes slower meanwhile is no difference of them.
    pub in_turns: bool,
}

/// What is of a kind: the candidates that are believed or not among each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CandidateKind {
    /// A function, by the processor time spent in it.
    Function,
    /// A metric that a monitor or the benchmark itself measures.
    Metric,
}

/// How a candidate's values depend on how long a trial is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scaling {
    /// They are for each second.
    Rate,
    /// They add up over the trial.
    Total,
    /// They don't: sizes, shares, percentiles.
    Level,
}

/// Something that may have moved with the change, in the trials of both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Of which kind it is.
    pub kind: CandidateKind,
    /// Its name: `getppid.calls`, a function's.
    pub name: String,
    /// How its values depend on how long a trial is.
    pub scaling: Scaling,
    /// Where it is time that the benchmark's programs spend: how many seconds one of its units is, in a second or in all.
    pub seconds: Option<f64>,
    /// Whether it is of the benchmark's programs alone: not of the whole machine.
    pub is_of_programs: bool,
    /// Of a function: how its share of the time of all functions differs.
    pub share: Option<ShareChange>,
    /// Where it is one of several that add up, such as the calls of one system call: what they add up to.
    pub part_of: Option<String>,
    /// What its score is multiplied by, from 0 to 1: less than 1 of what says less of the benchmark than others do.
    pub weight: f64,
    /// Its value in each trial, the baseline's side first.
    pub values: [TrialValues; 2],
}

/// How the share that a function has of the time of all functions differs, in percent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShareChange {
    /// The baseline's.
    pub base: f64,
    /// new − base, in points.
    pub points: f64,
    /// Its interval.
    pub interval: Result<Interval, Undefined>,
    /// The p-value of "the shares are equal".
    pub p: f64,
}

/// What the percentages of a correlate are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeBasis {
    /// Its values as they are, or by the second.
    Itself,
    /// What there is for each piece of work.
    PerWork,
    /// The share of the time of all functions.
    ShareOfTime,
}

/// A candidate that goes along with the change.
#[derive(Debug, Clone, PartialEq)]
pub struct Correlate {
    /// Which candidate, by its place among those that were given.
    pub candidate: usize,
    /// The mean of the baseline's trials, as the candidate's values are.
    pub base: f64,
    /// The mean of the new side's trials.
    pub new: f64,
    /// What the percentages below are of.
    pub basis: ChangeBasis,
    /// new − base in percent of the base; undefined where the base has none of it.
    pub percent: Result<f64, Undefined>,
    /// The interval of that.
    pub percent_interval: Result<Interval, Undefined>,
    /// The p-value, adjusted over the candidates of its kind.
    pub p: f64,
    /// The correlation with the metric (with the time that a piece of work takes, where the metric says it) over the trials of both
    /// sides.
    pub correlation: f64,
    /// Where it is time: the share of the change that it accounts for; negative where it works against it.
    pub share: Option<f64>,
    /// How well it goes along with the change, from 0 to 1: see [`score`].
    pub score: f64,
}

/// What decides which candidates are named.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExplainOptions {
    /// The confidence of the intervals; what is left of it is the share of chance among those that are named.
    pub confidence: Confidence,
    /// Changes within this, in percent, are no matter.
    pub margin_percent: f64,
}

impl Default for ExplainOptions {
    fn default() -> Self {
        Self {
            confidence: Confidence::USUAL,
            margin_percent: 1.0,
        }
    }
}

/// The change of a candidate, as the logarithm of its ratio, at which its size counts for a half: a third as much again.
const TELLING_CHANGE: f64 = 0.33;

/// Trials that a side needs for what never varies to be no matter of chance.
const ENOUGH_ALIKE: usize = 3;

/// What the score of a level is multiplied by: percentiles and sizes follow from what happens, counts are what happens.
const LEVEL_WEIGHT: f64 = 0.5;

/// What the score is multiplied by of what is seen of the whole machine, other programs included.
const MACHINE_WEIGHT: f64 = 0.9;

/// What takes more of the time than this takes all of it.
const LARGEST_PART: f64 = 0.99;

/// Below this nothing is named.
const LEAST_SCORE: f64 = 0.05;

/// A metric that is such a part of the time of each trial is that of the whole run: programs begin and end besides.
const PARTS_OF_RUN: RangeInclusive<f64> = 0.5..=1.05;

/// Functions with a smaller share on a side, in percent, vary too much to say how most of them grew.
const LEAST_USUAL_PERCENT: f64 = 1.0;

/// How much surer a function's time has to have changed whose share of all time hasn't.
const SURER_WITHOUT_SHARE: f64 = 5.0;

/// How much surer what programs do has to have changed where the metric isn't told to differ: for each of two kinds that leaves less than
/// half of the chance.
const SURER_UNTOLD: f64 = 2.5;

/// How well a candidate goes along with a change: |correlation| · size · √part, of what is counted. Its size is |ln ratio| over the same
/// plus 0.33: a small part of the whole that always moves with it is below what became half as much again. `part`, from 0 to 1, is how
/// much of what moved in the whole is this one: a call that a thread makes once as it begins is below those that it makes all the time.
#[must_use]
pub fn score(correlation: f64, ratio: Result<f64, Undefined>, part: f64) -> f64 {
    let size = match ratio {
        Ok(ratio) if ratio > 0.0 => ratio.ln().abs() / (ratio.ln().abs() + TELLING_CHANGE),
        _ => 1.0,
    };
    correlation.abs() * size * part.sqrt()
}

/// The same of time, which accounts for a `share` of the change and was `before` of all time, both from 0 to 1: |correlation| · the larger
/// one of (share − before) / (1 − before) · (1 − p) and of share · before². A part of the time that grew as all of it did says nothing of
/// where the change is, unless it is nearly all of it; p is that of its part being as large as before.
#[must_use]
pub fn score_of_time(correlation: f64, share: f64, before: f64, p: f64) -> f64 {
    let before = before.clamp(0.0, LARGEST_PART);
    let share = share.clamp(0.0, 1.0);
    let excess = (share - before) / (1.0 - before) * (1.0 - p);
    correlation.abs() * excess.max(share * before * before)
}

/// The candidates that go along with a change, best first. Where nothing goes along with a metric that is told to differ, it is what
/// programs did.
#[must_use]
pub fn correlates(
    change: &ChangeSides,
    candidates: &[Candidate],
    options: ExplainOptions,
) -> Vec<Correlate> {
    let usual = match change.in_turns {
        true => None,
        false => Some(usual_growth(candidates)),
    };
    let is_of_whole_run = change.is_of_whole_run();
    let joined: Vec<Joined> = (candidates.iter())
        .map(|candidate| change.joined(candidate, is_of_whole_run))
        .collect();
    let parts = parts_of_wholes(candidates, &joined, usual);
    let chance = 1.0 - options.confidence.share();
    let tested = |test: &dyn Fn(&Candidate, &Joined, f64) -> Option<Correlate>, chance: f64| {
        let tested = (candidates.iter().zip(&joined).zip(&parts))
            .enumerate()
            .filter_map(|(place, ((candidate, joined), part))| {
                let correlate = Correlate {
                    candidate: place,
                    ..test(candidate, joined, *part)?
                };
                Some((candidate.kind, correlate))
            });
        named(tested.collect(), chance, options.margin_percent)
    };
    let mut named = Vec::new();
    if change.is_told {
        named = tested(
            &|candidate, joined, part| candidate.test(joined, part, options),
            chance,
        );
    }
    if named.is_empty() {
        named = tested(
            &|candidate, joined, part| {
                candidate.test_untold(joined, part, change.in_turns, options)
            },
            chance / SURER_UNTOLD,
        );
    }
    named
}

/// How much of what moved in its whole each candidate is, from 0 to 1; those that are of no whole are all of it.
fn parts_of_wholes(candidates: &[Candidate], joined: &[Joined], usual: Option<f64>) -> Vec<f64> {
    let moved: Vec<f64> = (candidates.iter().zip(joined))
        .map(|(candidate, joined)| candidate.moved(joined, usual))
        .collect();
    let mut together: HashMap<_, f64> = HashMap::new();
    for (candidate, moved) in candidates.iter().zip(&moved) {
        if let Some(whole) = candidate.whole() {
            *together.entry(whole).or_default() += moved;
        }
    }
    let part = |(candidate, moved): (&Candidate, &f64)| {
        let Some(whole) = candidate.whole() else {
            return 1.0;
        };
        let part = moved / together[&whole];
        if part.is_finite() { part } else { 0.0 }
    };
    candidates.iter().zip(&moved).map(part).collect()
}

/// By which factor the share of most functions grew: the median of those that both sides have. Shares are of one whole, so that one
/// function that takes longer makes those of all others less; that they are as long as before is likelier than that all of them became
/// faster by the same. Source: S. Anders, W. Huber, "Differential expression analysis for sequence count data", Genome Biology 11
/// (2010), R106, section "Library size".
fn usual_growth(candidates: &[Candidate]) -> f64 {
    let growths = (candidates.iter())
        .filter_map(|candidate| candidate.share)
        .map(|share| (share.base, share.base + share.points))
        .filter(|(base, new)| base.min(*new) >= LEAST_USUAL_PERCENT)
        .map(|(base, new)| new / base);
    Samples::new(growths.collect()).map_or(1.0, |growths| growths.median())
}

/// Those that are named, best first, with p-values that are adjusted over the candidates of each kind.
fn named(
    mut tested: Vec<(CandidateKind, Correlate)>,
    chance: f64,
    margin_percent: f64,
) -> Vec<Correlate> {
    for kind in [CandidateKind::Function, CandidateKind::Metric] {
        let mut family: Vec<&mut Correlate> = tested
            .iter_mut()
            .filter(|(of, _)| *of == kind)
            .map(|(_, correlate)| correlate)
            .collect();
        let p: Vec<f64> = family.iter().map(|correlate| correlate.p).collect();
        for (correlate, adjusted) in family.iter_mut().zip(benjamini_hochberg(&p)) {
            correlate.p = adjusted;
        }
    }
    let is_named = |it: &Correlate| {
        let is_small = it
            .percent
            .is_ok_and(|percent| percent.abs() < margin_percent);
        it.p <= chance && !is_small && it.score >= LEAST_SCORE
    };
    let tested = tested.into_iter().map(|(_, correlate)| correlate);
    let mut named: Vec<Correlate> = tested.filter(is_named).collect();
    named.sort_by(|one, other| other.score.total_cmp(&one.score));
    named
}

/// The trials of both sides in which a candidate and the metric were measured.
struct Joined {
    /// As they are.
    values: [Vec<f64>; 2],
    /// For each second, or as it is.
    rates: [Vec<f64>; 2],
    /// In the whole trial, where that can be said.
    totals: Option<[Vec<f64>; 2]>,
    /// For each piece of work, where that can be said.
    work: Option<[Vec<f64>; 2]>,
    /// The metric: the time that a piece of work takes, where it says that.
    metric: [Vec<f64>; 2],
}

impl Joined {
    /// The correlation with the metric of what there is for each piece of work, else by the second.
    fn correlation(&self) -> f64 {
        let values = self.work.as_ref().unwrap_or(&self.rates);
        correlation(&values.concat(), &self.metric.concat()).unwrap_or(0.0)
    }
}

impl ChangeSides {
    /// Whether the metric's trials differ by more than chance does. A verdict may know more of how trials depend on each other, and
    /// say that it can't tell; what goes along is worth seeing all the same.
    #[must_use]
    pub fn differ(&self, confidence: Confidence) -> bool {
        let sides = self
            .values
            .each_ref()
            .map(|side| side.values().copied().collect());
        Tested::new(&sides, confidence).is_some_and(|it| it.p <= 1.0 - confidence.share())
    }

    /// Whether the metric is the time of the whole run: then all of a trial is one piece of work.
    fn is_of_whole_run(&self) -> bool {
        let mut parts = (self.values.iter().zip(&self.seconds)).flat_map(|(values, seconds)| {
            let part = |(trial, value): (&u32, &f64)| value / seconds.get(trial).unwrap_or(&0.0);
            values.iter().map(part)
        });
        self.work == WorkMeasure::TimePerWork && parts.all(|part| PARTS_OF_RUN.contains(&part))
    }

    /// What `follows` compares in the baseline's trials: the trial, how much there is of a candidate, and the metric.
    #[must_use]
    pub fn followed(&self, candidate: &Candidate) -> Vec<(u32, f64, f64)> {
        let joined = self.joined(candidate, self.is_of_whole_run());
        let values = &joined.work.as_ref().unwrap_or(&joined.rates)[0];
        let trials = candidate.values[0].keys().copied();
        let trials = trials.filter(|trial| self.values[0].contains_key(trial));
        let both = values.iter().zip(&joined.metric[0]);
        trials
            .zip(both)
            .map(|(trial, (value, metric))| (trial, *value, *metric))
            .collect()
    }

    fn joined(&self, candidate: &Candidate, is_of_whole_run: bool) -> Joined {
        let mut joined = Joined {
            values: Default::default(),
            rates: Default::default(),
            totals: Some(Default::default()),
            work: Some(Default::default()),
            metric: Default::default(),
        };
        for side in 0..2 {
            for (trial, value) in &candidate.values[side] {
                let Some(metric) = self.values[side].get(trial) else {
                    continue;
                };
                let time_per_work = match self.work {
                    WorkMeasure::TimePerWork => Some(*metric),
                    WorkMeasure::WorkPerTime if *metric > 0.0 => Some(1.0 / metric),
                    _ => None,
                };
                let seconds = self.seconds[side].get(trial).copied();
                let rate = match (candidate.scaling, seconds) {
                    (Scaling::Rate, _) => Some(*value),
                    (Scaling::Total, Some(seconds)) if seconds > 0.0 => Some(value / seconds),
                    _ => None,
                };
                let total = match (candidate.scaling, seconds) {
                    (Scaling::Total, _) => Some(*value),
                    (Scaling::Rate, Some(seconds)) => Some(value * seconds),
                    _ => None,
                };
                joined.values[side].push(*value);
                joined.rates[side].push(rate.unwrap_or(*value));
                joined.metric[side].push(time_per_work.unwrap_or(*metric));
                match (total, &mut joined.totals) {
                    (Some(total), Some(totals)) => totals[side].push(total),
                    (_, totals) => *totals = None,
                }
                let of_work = match is_of_whole_run {
                    true => total,
                    false => rate.zip(time_per_work).map(|(rate, time)| rate * time),
                };
                match (of_work, &mut joined.work) {
                    (Some(of_work), Some(work)) => work[side].push(of_work),
                    (_, work) => *work = None,
                }
            }
        }
        joined
    }
}

impl ShareChange {
    /// So many points in percent of the baseline's share.
    fn percent(&self, points: f64) -> Result<f64, Undefined> {
        backsight_stats::ratio(self.base, points).map(|ratio| 100.0 * ratio)
    }

    fn percent_interval(&self) -> Result<Interval, Undefined> {
        let interval = self.interval?;
        Ok(Interval {
            low: self.percent(interval.low)?,
            high: self.percent(interval.high)?,
        })
    }
}

impl Candidate {
    /// What it is a part of: functions are of all time.
    fn whole(&self) -> Option<(CandidateKind, &str)> {
        match self.kind {
            CandidateKind::Function => Some((self.kind, "")),
            CandidateKind::Metric => Some((self.kind, self.part_of.as_deref()?)),
        }
    }

    /// How much more or less of it there is, beside others of the same whole. `usual` is by which factor shares of functions grew, where
    /// their times say less.
    fn moved(&self, joined: &Joined, usual: Option<f64>) -> f64 {
        if let Some((share, usual)) = self.share.zip(usual) {
            return (share.base + share.points - usual * share.base).abs();
        }
        let values = joined.work.as_ref().unwrap_or(&joined.rates);
        (mean(&values[1]) - mean(&values[0])).abs()
    }

    /// `part` is how much of what moved in the whole is this one.
    fn test(&self, joined: &Joined, part: f64, options: ExplainOptions) -> Option<Correlate> {
        let rates = Tested::new(&joined.rates, options.confidence)?;
        let work = match &joined.work {
            Some(work) => Some(Tested::new(work, options.confidence)?),
            None => None,
        };
        let p_of_share = self.share.map_or(rates.p, |share| share.p);
        let totals = (joined.totals.as_ref()).and_then(|it| Tested::new(it, options.confidence));
        let p = match (&work, self.seconds, self.kind) {
            _ if totals.as_ref().is_some_and(|it| it.is_exact) => totals.map_or(1.0, |it| it.p),
            (None, ..) => rates.p,
            (Some(work), Some(_), CandidateKind::Function) => (SURER_WITHOUT_SHARE * work.p)
                .min(work.p.max(p_of_share))
                .min(1.0),
            (Some(work), Some(_), CandidateKind::Metric) => work.p,
            (Some(work), None, _) => work.p.max(rates.p),
        };
        let correlation = joined.correlation();
        let share = (joined.work.as_ref().zip(self.seconds)).map(|(work, seconds)| {
            let more = |sides: &[Vec<f64>; 2]| mean(&sides[1]) - mean(&sides[0]);
            seconds * more(work) / more(&joined.metric)
        });
        let share = share.filter(|share| share.is_finite());
        let before = self
            .seconds
            .zip(joined.work.as_ref())
            .map(|(seconds, work)| seconds * mean(&work[0]) / mean(&joined.metric[0]));
        let shown = work.as_ref().unwrap_or(&rates);
        let score = match share.zip(before) {
            Some((share, before)) => score_of_time(correlation, share, before, p_of_share),
            None => score(correlation, shown.ratio, part),
        };
        Some(Correlate {
            p,
            share,
            score: self.weight() * score,
            ..shown.correlate(joined)
        })
    }

    /// The same where the metric isn't told to differ: only what the benchmark's programs do; time only where sides were measured in
    /// turns, else each function by its share of it.
    fn test_untold(
        &self,
        joined: &Joined,
        part: f64,
        in_turns: bool,
        options: ExplainOptions,
    ) -> Option<Correlate> {
        if !self.is_of_programs {
            return None;
        }
        let work = Tested::new(joined.work.as_ref()?, options.confidence)?;
        let totals = Tested::new(joined.totals.as_ref()?, options.confidence)?;
        let p = match totals.is_exact {
            true => totals.p,
            false => work.p.max(totals.p),
        };
        let found = work.correlate(joined);
        let weight = self.weight();
        match (self.share, self.seconds) {
            // The smaller one of two p-values, after Bonferroni.
            (Some(share), _) if in_turns && p <= share.p => Some(Correlate {
                p: (2.0 * p).min(1.0),
                score: weight * part,
                ..found
            }),
            (Some(share), _) => Some(Correlate {
                basis: ChangeBasis::ShareOfTime,
                percent: share.percent(share.points),
                percent_interval: share.percent_interval(),
                p: (share.p * if in_turns { 2.0 } else { 1.0 }).min(1.0),
                score: weight * part,
                ..found
            }),
            (None, Some(_)) if in_turns => Some(Correlate {
                p,
                score: weight * part,
                ..found
            }),
            (None, Some(_)) => None,
            (None, None) => Some(Correlate {
                p,
                score: weight * score(1.0, work.ratio, part),
                ..found
            }),
        }
    }

    /// What its score is multiplied by.
    fn weight(&self) -> f64 {
        let level = match self.scaling {
            Scaling::Level => LEVEL_WEIGHT,
            Scaling::Rate | Scaling::Total => 1.0,
        };
        let machine = match self.is_of_programs {
            true => 1.0,
            false => MACHINE_WEIGHT,
        };
        level * machine * self.weight
    }
}

/// Two sides against each other.
struct Tested {
    ratio: Result<f64, Undefined>,
    ratio_interval: Result<Interval, Undefined>,
    p: f64,
    /// Whether the trials of each side are all alike.
    is_exact: bool,
}

impl Tested {
    fn new(sides: &[Vec<f64>; 2], confidence: Confidence) -> Option<Self> {
        let base = Samples::new(sides[0].clone()).ok()?;
        let new = Samples::new(sides[1].clone()).ok()?;
        let fewest = base.n().min(new.n());
        let (mean_of_base, mean_of_new) = (base.amean(), new.amean());
        let ratio = backsight_stats::ratio(mean_of_base, mean_of_new);
        let (ratio_interval, p, is_exact) = match welch(&base, &new, confidence) {
            Ok(found) => (found.ratio_interval, found.p, false),
            Err(Undefined::NoSpread) if fewest >= ENOUGH_ALIKE => {
                let alike = mean_of_base == mean_of_new;
                let exact = ratio.map(|ratio| Interval {
                    low: ratio,
                    high: ratio,
                });
                (exact, if alike { 1.0 } else { 0.0 }, true)
            }
            Err(_) => return None,
        };
        Some(Self {
            ratio,
            ratio_interval,
            p,
            is_exact,
        })
    }

    /// The figures of a candidate of which this is shown.
    fn correlate(&self, joined: &Joined) -> Correlate {
        Correlate {
            candidate: 0,
            basis: match joined.work {
                Some(_) => ChangeBasis::PerWork,
                None => ChangeBasis::Itself,
            },
            base: mean(&joined.values[0]),
            new: mean(&joined.values[1]),
            percent: self.ratio.map(|ratio| 100.0 * (ratio - 1.0)),
            percent_interval: self.ratio_interval.map(|ratio| Interval {
                low: 100.0 * (ratio.low - 1.0),
                high: 100.0 * (ratio.high - 1.0),
            }),
            p: self.p,
            correlation: joined.correlation(),
            share: None,
            score: 0.0,
        }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Pearson's correlation coefficient; none where one of them never varies.
fn correlation(x: &[f64], y: &[f64]) -> Option<f64> {
    let (middle_x, middle_y) = (mean(x), mean(y));
    let (mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0);
    for (x, y) in x.iter().zip(y) {
        let (x, y) = (x - middle_x, y - middle_y);
        (xx, yy, xy) = (xx + x * x, yy + y * y, xy + x * y);
    }
    let found = xy / (xx * yy).sqrt();
    found.is_finite().then(|| found.clamp(-1.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ProfileDifference, ProfileOptions};
    use backsight_profile::FunctionWeights;
    use backsight_stats::Random;

    /// A benchmark that does as much as it can in two seconds, and what is counted meanwhile.
    struct Bench {
        random: Random,
        /// How the machine's speed varies, as a share.
        noise: f64,
        is_told: bool,
        in_turns: bool,
    }

    #[derive(Clone, Copy)]
    struct Side {
        /// Seconds for one piece of work.
        time: f64,
        /// System calls for each.
        calls: f64,
        /// Page faults for each.
        faults: f64,
        /// The share of the time in a function of interest.
        share: f64,
        /// The share of the time in the kernel.
        kernel: f64,
    }

    const BASE: Side = Side {
        time: 1e-3,
        calls: 10.0,
        faults: 3.0,
        share: 0.4,
        kernel: 0.1,
    };

    impl Bench {
        fn seeded(seed: u64) -> Self {
            Self {
                random: Random::seeded(seed),
                noise: 0.01,
                is_told: true,
                in_turns: true,
            }
        }

        fn near(&mut self, value: f64, spread: f64) -> f64 {
            value * (1.0 + spread * self.random.normal())
        }

        fn measure(&mut self, sides: [&Side; 2], trials: u32) -> (ChangeSides, Vec<Candidate>) {
            let mut change = ChangeSides {
                values: Default::default(),
                seconds: Default::default(),
                work: WorkMeasure::WorkPerTime,
                is_told: self.is_told,
                in_turns: self.in_turns,
            };
            let names = [
                ("calls", Scaling::Total),
                ("faults", Scaling::Rate),
                ("ticks", Scaling::Rate),
                ("busy", Scaling::Rate),
                ("function", Scaling::Total),
                ("other-function", Scaling::Total),
                ("kernel-function", Scaling::Total),
            ];
            let mut candidates: Vec<Candidate> = names
                .iter()
                .map(|(name, scaling)| Candidate {
                    kind: match name.ends_with("function") {
                        true => CandidateKind::Function,
                        false => CandidateKind::Metric,
                    },
                    name: (*name).to_owned(),
                    scaling: *scaling,
                    seconds: name.ends_with("function").then_some(1.0 / 999.0),
                    is_of_programs: *name != "ticks",
                    share: None,
                    part_of: None,
                    weight: 1.0,
                    values: Default::default(),
                })
                .collect();
            for unrelated in 0..60 {
                candidates.push(Candidate {
                    kind: CandidateKind::Metric,
                    name: format!("unrelated{unrelated}"),
                    scaling: [Scaling::Rate, Scaling::Total, Scaling::Level][unrelated % 3],
                    seconds: None,
                    is_of_programs: true,
                    share: None,
                    part_of: None,
                    weight: 1.0,
                    values: Default::default(),
                });
            }
            for (place, side) in sides.into_iter().enumerate() {
                for trial in 1..=trials {
                    let time = self.near(side.time, self.noise);
                    let works = 2.0 / time;
                    change.values[place].insert(trial, 1.0 / time);
                    change.seconds[place].insert(trial, 2.0);
                    let samples = 2.0 * 999.0;
                    let mut sampled = |share: f64| {
                        let mean = samples * share;
                        mean + mean.sqrt() * self.random.normal()
                    };
                    let in_function = sampled(side.share);
                    let in_kernel = sampled(side.kernel);
                    let figures = [
                        (works * side.calls).round(),
                        works * side.faults / 2.0,
                        self.near(250.0, 0.001),
                        self.near(99.0, 0.002),
                        in_function,
                        samples - in_function - in_kernel,
                        in_kernel,
                    ];
                    for (candidate, figure) in candidates.iter_mut().zip(figures) {
                        candidate.values[place].insert(trial, figure);
                    }
                    for candidate in &mut candidates[figures.len()..] {
                        let unrelated = self.near(50.0, 0.1);
                        candidate.values[place].insert(trial, unrelated);
                    }
                }
            }
            let mut functions = (candidates.iter_mut())
                .filter(|candidate| candidate.kind == CandidateKind::Function)
                .collect::<Vec<_>>();
            let weights = |place: usize| -> Vec<FunctionWeights> {
                let of_trial = |trial: u32| {
                    let itself = functions.iter().map(|it| it.values[place][&trial] as u64);
                    let itself: Vec<u64> = itself.collect();
                    FunctionWeights {
                        total: itself.iter().sum(),
                        inclusive: itself.clone(),
                        itself,
                    }
                };
                (1..=trials).map(of_trial).collect()
            };
            let difference =
                ProfileDifference::new(Some(&weights(0)), &weights(1), ProfileOptions::default());
            for found in &difference.functions {
                let share = found.itself.difference.zip(found.itself.base);
                let (of_function, base) = share.expect("both sides are there");
                functions[found.function].share = Some(ShareChange {
                    base: base.percent,
                    points: of_function.points,
                    interval: of_function.interval,
                    p: of_function.p.expect("there are trials"),
                });
            }
            (change, candidates)
        }

        fn first(&mut self, new: &Side) -> Option<String> {
            let (change, candidates) = self.measure([&BASE, new], 10);
            let found = correlates(&change, &candidates, ExplainOptions::default());
            Some(candidates[found.first()?.candidate].name.clone())
        }
    }

    #[test]
    fn what_was_made_different_is_named_first() {
        let slower = BASE.time * 1.05;
        // Of a hundred and five: what took more, and what took as much as before.
        let (grown, same) = (
            |share: f64| (share + 0.05) / 1.05,
            |share: f64| share / 1.05,
        );
        let in_kernel = Side {
            time: slower,
            share: same(BASE.share),
            kernel: grown(BASE.kernel),
            ..BASE
        };
        let in_function = Side {
            share: grown(BASE.share),
            kernel: same(BASE.kernel),
            ..in_kernel
        };
        for (expected, new) in [
            (
                "calls",
                Side {
                    calls: 30.0,
                    ..in_kernel
                },
            ),
            (
                "faults",
                Side {
                    faults: 9.0,
                    ..in_kernel
                },
            ),
            ("function", in_function),
        ] {
            let mut bench = Bench::seeded(7);
            let first: Vec<_> = (0..40).map(|_| bench.first(&new)).collect();
            // The function of the kernel that serves them is an answer as good.
            let is_right = |name: &&String| {
                *name == expected || (expected != "function" && *name == "kernel-function")
            };
            let right = first.iter().flatten().filter(is_right).count();
            assert!(right >= 36, "{expected}: {first:?}");
        }
    }

    #[test]
    fn nothing_is_named_where_nothing_differs_or_everything_as_the_work_does() {
        for time in [BASE.time, BASE.time * 1.2] {
            let mut bench = Bench::seeded(11);
            let new = Side { time, ..BASE };
            let named = (0..200).filter_map(|_| bench.first(&new));
            // Where all of it takes longer, its functions do.
            let named = named.filter(|name| time == BASE.time || !name.ends_with("function"));
            let named = named.count();
            // Benjamini and Hochberg promise 5 % for each of two kinds.
            assert!(named <= 20, "at {time}: {named} of 200");
        }
    }

    #[test]
    fn a_machine_whose_speed_varies_hides_the_metric_and_not_what_programs_do() {
        let slower = Side {
            time: BASE.time * 1.06,
            share: (BASE.share + 0.06) / 1.06,
            kernel: BASE.kernel / 1.06,
            ..BASE
        };
        let calls = Side {
            calls: 12.0,
            ..BASE
        };
        for in_turns in [true, false] {
            let mut bench = Bench {
                noise: 0.05,
                is_told: false,
                in_turns,
                ..Bench::seeded(5)
            };
            for (expected, new) in [("function", &slower), ("calls", &calls)] {
                let first: Vec<_> = (0..40).map(|_| bench.first(new)).collect();
                let right = first.iter().flatten().filter(|name| *name == expected);
                assert!(right.count() >= 36, "{expected}, {in_turns}: {first:?}");
            }
            let named = (0..400).filter(|_| bench.first(&BASE).is_some()).count();
            // 4 % for both kinds, and two standard errors of so many.
            assert!(named <= 24, "{in_turns}: {named} of 400");
        }
    }

    #[test]
    fn one_function_that_takes_longer_is_no_fall_of_all_others() {
        let share = |base: f64, points: f64| Candidate {
            kind: CandidateKind::Function,
            name: String::new(),
            scaling: Scaling::Total,
            seconds: Some(1.0),
            is_of_programs: true,
            share: Some(ShareChange {
                base,
                points,
                interval: Err(Undefined::NoSpread),
                p: 0.5,
            }),
            part_of: None,
            weight: 1.0,
            values: Default::default(),
        };
        // The second takes a tenth longer, and what is below a percent says nothing.
        let new = [30.0, 60.0 * 1.1, 10.0, 0.1].map(|it| 100.0 * it / 106.1);
        let base = [30.0, 60.0, 10.0, 0.0];
        let all: Vec<Candidate> = (base.iter().zip(new))
            .map(|(base, new)| share(*base, new - base))
            .collect();
        let usual = usual_growth(&all);
        assert!((usual - 100.0 / 106.1).abs() < 1e-9, "{usual}");
        assert_eq!(usual_growth(&[]), 1.0);
    }

    #[test]
    fn counts_that_never_vary_are_told_from_three_trials_on() {
        let values =
            |n: u32, value: f64| (1..=n).map(|trial| (trial, value)).collect::<TrialValues>();
        let change = |n: u32| ChangeSides {
            values: [values(n, 100.0), values(n, 90.0)],
            seconds: Default::default(),
            work: WorkMeasure::None,
            is_told: true,
            in_turns: true,
        };
        let named = |n: u32, new: f64| {
            let one = Candidate {
                kind: CandidateKind::Metric,
                name: "calls".into(),
                scaling: Scaling::Level,
                seconds: None,
                is_of_programs: true,
                share: None,
                part_of: None,
                weight: 1.0,
                values: [values(n, 0.0), values(n, new)],
            };
            correlates(&change(n), &[one], ExplainOptions::default())
        };
        assert!(named(2, 3.0).is_empty());
        assert!(named(3, 0.0).is_empty());
        let found = named(3, 3.0);
        assert_eq!((found[0].base, found[0].new), (0.0, 3.0));
        assert!(found[0].percent.is_err());
    }
}
