//! What goes along with a change of a metric: monitors' metrics, functions, system calls, each with its effect and how well it
//! follows the metric from trial to trial. It goes along with the change; whether it is its cause, nobody here knows.
//!
//! A benchmark that became slower does less in the same time, so that every count of its work falls; what goes on beside it
//! (timers, say) goes on as before, so that there is more of it for each piece of work. Neither says why. A candidate that is
//! counted is therefore looked at both for each second and for each piece of work, and is named only if it changed in both ways: its
//! p-value is the larger one (an intersection-union test; R. L. Berger, "Multiparameter Hypothesis Testing and Acceptance Sampling",
//! Technometrics 24, 1982). Time that the benchmark's programs spend is looked at for each piece of work alone: what takes longer for the
//! same work is where the time went.
//!
//! Over the candidates of a kind the p-values are adjusted after Benjamini and Hochberg.

use backsight_stats::{Confidence, Interval, Samples, Undefined, benjamini_hochberg, welch};
use indexmap::IndexMap;
use std::collections::HashMap;

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
    /// How long each trial ran, in seconds, where that is known.
    pub seconds: [HashMap<u32, f64>; 2],
    /// What the metric says of a piece of work.
    pub work: WorkMeasure,
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
    /// What its score is multiplied by, from 0 to 1: less than 1 of what says less of the benchmark than others do.
    pub weight: f64,
    /// Its value in each trial, the baseline's side first.
    pub values: [TrialValues; 2],
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
    /// Whether the percentages below are of what there is for each piece of work.
    pub per_work: bool,
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

/// What takes more of the time than this takes all of it.
const LARGEST_PART: f64 = 0.99;

/// Below this nothing is named.
const LEAST_SCORE: f64 = 0.05;

/// How well a candidate goes along with a change: |correlation| · size, of what is counted |ln ratio| / (|ln ratio| + 0.33): a small
/// part of the whole that always moves with it is below what became half as much again.
#[must_use]
pub fn score(correlation: f64, ratio: Result<f64, Undefined>) -> f64 {
    let size = match ratio {
        Ok(ratio) if ratio > 0.0 => ratio.ln().abs() / (ratio.ln().abs() + TELLING_CHANGE),
        _ => 1.0,
    };
    correlation.abs() * size
}

/// The same of time, which accounts for a `share` of the change and was `before` of all time, both from 0 to 1: |correlation| · (share −
/// before) / (1 − before) · (1 − p). A part of the time that grew as all of it did says nothing of where the change is; p is that of its
/// part being as large as before.
#[must_use]
pub fn score_of_time(correlation: f64, share: f64, before: f64, p: f64) -> f64 {
    let before = before.clamp(0.0, LARGEST_PART);
    let excess = (share.min(1.0) - before) / (1.0 - before);
    correlation.abs() * excess.clamp(0.0, 1.0) * (1.0 - p)
}

/// The candidates that go along with a change, best first.
#[must_use]
pub fn correlates(
    change: &ChangeSides,
    candidates: &[Candidate],
    options: ExplainOptions,
) -> Vec<Correlate> {
    let mut tested: Vec<(CandidateKind, Correlate)> = candidates
        .iter()
        .enumerate()
        .filter_map(|(place, candidate)| {
            let correlate = change.test(candidate, place, options)?;
            Some((candidate.kind, correlate))
        })
        .collect();
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
    let mut named: Vec<Correlate> = tested.into_iter().map(|(_, correlate)| correlate).collect();
    let chance = 1.0 - options.confidence.share();
    named.retain(|it| {
        let is_small = it
            .percent
            .is_ok_and(|percent| percent.abs() < options.margin_percent);
        it.p <= chance && !is_small && it.score >= LEAST_SCORE
    });
    named.sort_by(|one, other| other.score.total_cmp(&one.score));
    named
}

/// The trials of both sides in which a candidate and the metric were measured.
struct Joined {
    /// As they are.
    values: [Vec<f64>; 2],
    /// For each second, or as it is.
    raw: [Vec<f64>; 2],
    /// For each piece of work, where that can be said.
    work: Option<[Vec<f64>; 2]>,
    /// The metric: the time that a piece of work takes, where it says that.
    metric: [Vec<f64>; 2],
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

    fn joined(&self, candidate: &Candidate) -> Joined {
        let mut joined = Joined {
            values: Default::default(),
            raw: Default::default(),
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
                joined.values[side].push(*value);
                joined.raw[side].push(rate.unwrap_or(*value));
                joined.metric[side].push(time_per_work.unwrap_or(*metric));
                match (rate, time_per_work, &mut joined.work) {
                    (Some(rate), Some(time), Some(work)) => work[side].push(rate * time),
                    (_, _, work) => *work = None,
                }
            }
        }
        joined
    }

    fn test(
        &self,
        candidate: &Candidate,
        place: usize,
        options: ExplainOptions,
    ) -> Option<Correlate> {
        let joined = self.joined(candidate);
        let raw = Tested::new(&joined.raw, options.confidence)?;
        let work = match &joined.work {
            Some(work) => Some(Tested::new(work, options.confidence)?),
            None => None,
        };
        let p = match (&work, candidate.seconds) {
            (None, _) => raw.p,
            (Some(work), Some(_)) => work.p,
            (Some(work), None) => work.p.max(raw.p),
        };
        let per_work = work.is_some();
        let shown = work.as_ref().unwrap_or(&raw);
        let values = joined.work.as_ref().unwrap_or(&joined.raw);
        let correlation = correlation(&values.concat(), &joined.metric.concat()).unwrap_or(0.0);
        let share = (joined.work.as_ref().zip(candidate.seconds)).map(|(work, seconds)| {
            let more = |sides: &[Vec<f64>; 2]| mean(&sides[1]) - mean(&sides[0]);
            seconds * more(work) / more(&joined.metric)
        });
        let share = share.filter(|share| share.is_finite());
        let before = candidate
            .seconds
            .zip(joined.work.as_ref())
            .map(|(seconds, work)| seconds * mean(&work[0]) / mean(&joined.metric[0]));
        let score = match share.zip(before) {
            Some((share, before)) => score_of_time(correlation, share, before, raw.p),
            None => score(correlation, shown.ratio),
        };
        let weight = match candidate.scaling {
            Scaling::Level => LEVEL_WEIGHT * candidate.weight,
            Scaling::Rate | Scaling::Total => candidate.weight,
        };
        Some(Correlate {
            candidate: place,
            per_work,
            base: mean(&joined.values[0]),
            new: mean(&joined.values[1]),
            percent: shown.ratio.map(|ratio| 100.0 * (ratio - 1.0)),
            percent_interval: shown.ratio_interval.map(|ratio| Interval {
                low: 100.0 * (ratio.low - 1.0),
                high: 100.0 * (ratio.high - 1.0),
            }),
            p,
            correlation,
            share,
            score: weight * score,
        })
    }
}

/// Two sides against each other.
struct Tested {
    ratio: Result<f64, Undefined>,
    ratio_interval: Result<Interval, Undefined>,
    p: f64,
}

impl Tested {
    fn new(sides: &[Vec<f64>; 2], confidence: Confidence) -> Option<Self> {
        let base = Samples::new(sides[0].clone()).ok()?;
        let new = Samples::new(sides[1].clone()).ok()?;
        let fewest = base.n().min(new.n());
        let (mean_of_base, mean_of_new) = (base.amean(), new.amean());
        let ratio = backsight_stats::ratio(mean_of_base, mean_of_new);
        let (ratio_interval, p) = match welch(&base, &new, confidence) {
            Ok(found) => (found.ratio_interval, found.p),
            Err(Undefined::NoSpread) if fewest >= ENOUGH_ALIKE => {
                let alike = mean_of_base == mean_of_new;
                let exact = ratio.map(|ratio| Interval {
                    low: ratio,
                    high: ratio,
                });
                (exact, if alike { 1.0 } else { 0.0 })
            }
            Err(_) => return None,
        };
        Some(Self {
            ratio,
            ratio_interval,
            p,
        })
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
    use backsight_stats::Random;

    /// A benchmark that does as much as it can in two seconds, and what is counted meanwhile.
    struct Bench {
        random: Random,
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
        fn near(&mut self, value: f64, spread: f64) -> f64 {
            value * (1.0 + spread * self.random.normal())
        }

        fn measure(&mut self, sides: [&Side; 2], trials: u32) -> (ChangeSides, Vec<Candidate>) {
            let mut change = ChangeSides {
                values: Default::default(),
                seconds: Default::default(),
                work: WorkMeasure::WorkPerTime,
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
                    weight: 1.0,
                    values: Default::default(),
                });
            }
            for (place, side) in sides.into_iter().enumerate() {
                for trial in 1..=trials {
                    let time = self.near(side.time, 0.01);
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
            let mut bench = Bench {
                random: Random::seeded(7),
            };
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
            let mut bench = Bench {
                random: Random::seeded(11),
            };
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
    fn counts_that_never_vary_are_told_from_three_trials_on() {
        let values =
            |n: u32, value: f64| (1..=n).map(|trial| (trial, value)).collect::<TrialValues>();
        let change = |n: u32| ChangeSides {
            values: [values(n, 100.0), values(n, 90.0)],
            seconds: Default::default(),
            work: WorkMeasure::None,
        };
        let named = |n: u32, new: f64| {
            let one = Candidate {
                kind: CandidateKind::Metric,
                name: "calls".into(),
                scaling: Scaling::Level,
                seconds: None,
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
