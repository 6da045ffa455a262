//! Comparison of several runs of two sides, call by call: how many calls, how many errors, how much time, each with an interval and a
//! verdict. A run is one repetition.
//!
//! Over all calls and measures, p-values are adjusted for how many they are, as in a comparison of benchmarks: what may well be chance
//! among so many isn't called changed. With a single run on either side there is no verdict.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use backsight_stats::{
    Better, Confidence, Interval, NestedSamples, Samples, Undefined, Verdict, VerdictOptions,
    VerdictOutcome, benjamini_hochberg, verdict,
};
use serde::Serialize;

use super::changes::signed_duration;
use super::tables::{aligned, duration};
use super::{CallStatistics, CallSummary};

/// Fewest runs of each side that are judged.
pub const FEWEST_RUNS: usize = 2;

/// Two sides of several runs, compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct RunComparison {
    /// Runs of the first side, and of the second.
    pub runs: [usize; 2],
    /// The confidence of the intervals, and of the verdicts over all of them together.
    pub confidence: f64,
    /// The calls, those that cost most more time first.
    pub calls: Vec<CallComparison>,
}

/// One call, compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct CallComparison {
    /// Its name.
    pub call: String,
    /// How often it was made, per run.
    pub calls: MeasureComparison,
    /// How often it failed, per run.
    pub errors: MeasureComparison,
    /// How long all of them took together, in nanoseconds per run.
    pub time: MeasureComparison,
    /// The median of all runs of the first side, and of the second, in nanoseconds.
    pub p50: [u64; 2],
    /// The 99th percentile, likewise.
    pub p99: [u64; 2],
}

/// One measure of a call.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct MeasureComparison {
    /// The mean of the first side's runs.
    pub before: f64,
    /// The mean of the second side's.
    pub after: f64,
    /// after − before.
    pub difference: f64,
    /// The interval of the difference: its ends. Both are the difference itself where no run differs from others of its side.
    pub interval: Option<[f64; 2]>,
    /// The difference in percent of before.
    pub percent: Option<f64>,
    /// The verdict; none where a side has a single run.
    pub verdict: Option<MeasureVerdict>,
}

/// What is said of a measure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum MeasureVerdict {
    /// More than before.
    More,
    /// Less than before.
    Less,
    /// No change that matters.
    NoChange {
        /// No change larger than this, in percent of before.
        larger_than_percent: f64,
    },
    /// The runs don't tell.
    CannotTell {
        /// About so many more runs of each side would, if they go on as they are.
        more_runs: Option<usize>,
    },
}

impl MeasureVerdict {
    /// Whether it changed.
    pub fn is_change(self) -> bool {
        matches!(self, Self::More | Self::Less)
    }
}

/// The values of one measure of one call, a run each, and what is found.
struct Measured {
    before: NestedSamples,
    after: NestedSamples,
    found: Verdict,
}

impl Measured {
    fn new(before: Vec<f64>, after: Vec<f64>) -> Option<Self> {
        let side = |runs| Some(NestedSamples::from_independent(Samples::new(runs).ok()?));
        let (before, after) = (side(before)?, side(after)?);
        let found = verdict(&before, &after, &question(Confidence::USUAL));
        Some(Self {
            before,
            after,
            found,
        })
    }

    fn has_changed(&self) -> bool {
        !matches!(
            self.found.outcome,
            VerdictOutcome::NoChange { .. } | VerdictOutcome::CannotTell { .. }
        )
    }

    fn comparison(self, judged: bool) -> MeasureComparison {
        let found = self.found;
        let interval = match found.difference_interval {
            Ok(Interval { low, high }) => Some([low, high]),
            Err(Undefined::NoSpread) => Some([found.difference; 2]),
            Err(_) => None,
        };
        let outcome = match found.outcome {
            VerdictOutcome::NoChange {
                larger_than_percent,
            } => MeasureVerdict::NoChange {
                larger_than_percent,
            },
            VerdictOutcome::CannotTell { more } => MeasureVerdict::CannotTell { more_runs: more },
            _ if found.difference > 0.0 => MeasureVerdict::More,
            _ => MeasureVerdict::Less,
        };
        MeasureComparison {
            before: found.base,
            after: found.new,
            difference: found.difference,
            interval: interval.filter(|_| judged),
            percent: found.percent.ok(),
            verdict: judged.then_some(outcome),
        }
    }
}

/// More calls, or more time, is neither better nor worse by itself: what a program does in them may be what it is for.
fn question(confidence: Confidence) -> VerdictOptions {
    VerdictOptions {
        confidence,
        ..VerdictOptions::new(Better::Neither)
    }
}

/// Takes back what may well be chance among so many.
fn correct_for_many(measured: &mut [Measured]) {
    let level = 1.0 - Confidence::USUAL.share();
    let p: Vec<f64> = measured.iter().filter_map(|it| it.found.p.ok()).collect();
    let believed = benjamini_hochberg(&p);
    let believed = believed.iter().filter(|p| **p <= level).count();
    let share = believed.max(1) as f64 / p.len().max(1) as f64;
    let confidence = Confidence::new(1.0 - level * share).unwrap_or(Confidence::USUAL);
    // Differences without a p-value, as of counts that never vary, are no matter of chance.
    for one in measured {
        if one.has_changed() && one.found.p.is_ok() && p.len() > 1 {
            one.found = verdict(&one.before, &one.after, &question(confidence));
            if !one.has_changed() {
                one.found.outcome = VerdictOutcome::CannotTell { more: None };
            }
        }
    }
}

impl RunComparison {
    /// Compares two sides, of which each has at least one run. `units` is how much work each run of a side did, as of requests served:
    /// what the second did is scaled to the work of the first.
    pub fn new(before: &[CallSummary], after: &[CallSummary], units: (u64, u64)) -> Self {
        let sides = [
            (before, 1.0),
            (after, units.0 as f64 / units.1.max(1) as f64),
        ];
        let runs = sides.map(|(runs, _)| runs.len());
        let mut by_name: BTreeMap<String, [Vec<CallStatistics>; 2]> = BTreeMap::new();
        for (side, (summaries, _)) in sides.iter().enumerate() {
            for (run, summary) in summaries.iter().enumerate() {
                for (name, figures) in summary.calls() {
                    let of_call = by_name
                        .entry(name)
                        .or_insert_with(|| runs.map(|runs| vec![CallStatistics::default(); runs]));
                    of_call[side][run].merge(&figures);
                }
            }
        }
        let measures: [fn(&CallStatistics) -> u64; 3] = [
            |figures| figures.calls,
            |figures| figures.errors,
            |figures| figures.total,
        ];
        let mut measured = Vec::with_capacity(by_name.len() * measures.len());
        for of_call in by_name.values() {
            for measure in measures {
                let values = |side: usize| {
                    let runs = of_call[side].iter();
                    runs.map(|run| measure(run) as f64 * sides[side].1)
                        .collect()
                };
                measured.extend(Measured::new(values(0), values(1)));
            }
        }
        correct_for_many(&mut measured);
        let is_judged = runs.iter().all(|runs| *runs >= FEWEST_RUNS);
        let mut measured = measured.into_iter().map(|it| it.comparison(is_judged));
        let mut calls: Vec<CallComparison> = Vec::with_capacity(by_name.len());
        for (call, of_call) in by_name {
            let [Some(of_calls), Some(errors), Some(time)] =
                [measured.next(), measured.next(), measured.next()]
            else {
                break;
            };
            let together = of_call.map(|runs| {
                let mut all = CallStatistics::default();
                runs.iter().for_each(|run| all.merge(run));
                all
            });
            let quantiles = |part| [0, 1].map(|side: usize| together[side].quantile(part));
            calls.push(CallComparison {
                call,
                calls: of_calls,
                errors,
                time,
                p50: quantiles(0.5),
                p99: quantiles(0.99),
            });
        }
        calls.sort_by(|a, b| b.time.difference.total_cmp(&a.time.difference));
        Self {
            runs,
            confidence: Confidence::USUAL.share(),
            calls,
        }
    }

    /// The comparison as text: what changed, as a table; what didn't, and what can't be told, in a sentence each. Without verdicts,
    /// every call that differs.
    pub fn text(&self) -> String {
        let titles = ["calls", "errors", "time", "interval", "p50", "p99", "call"];
        let mut lines = vec![titles.map(str::to_owned).to_vec()];
        let (mut same, mut as_often, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
        for call in &self.calls {
            match call.state() {
                CallState::Changed => lines.push(call.cells()),
                CallState::Same => same.push(call),
                CallState::AsOften => as_often.push(call),
                CallState::Unknown => unknown.push(call),
            }
        }
        let [before, after] = self.runs;
        let confidence = self.confidence * 100.0;
        let mut text = match self.is_judged() {
            true => format!(
                "{before} runs before, {after} after: means of a run; what is called changed is so at {confidence} % over all calls\n"
            ),
            false => format!("{before} before, {after} after: means of a run, without verdicts\n"),
        };
        match lines.len() {
            1 => text.push_str("no call changed, as far as these runs tell\n"),
            _ => text.push_str(&aligned(&lines)),
        }
        if !same.is_empty() {
            let largest = same.iter().flat_map(|call| call.verdicts()).flatten();
            let largest = largest.filter_map(|verdict| match verdict {
                MeasureVerdict::NoChange {
                    larger_than_percent,
                } => Some(larger_than_percent),
                _ => None,
            });
            let largest = largest.fold(0.0, f64::max);
            let names = names(&same);
            let _ = writeln!(text, "no change larger than {largest:.2} %: {names}");
        }
        if !as_often.is_empty() {
            let names = names(&as_often);
            let _ = writeln!(
                text,
                "as many calls and errors, whether their time changed can't be told: {names}"
            );
        }
        if !unknown.is_empty() {
            let _ = writeln!(text, "can't tell: {}", names(&unknown));
        }
        let more = self.calls.iter().flat_map(CallComparison::verdicts);
        let more = more.flatten().filter_map(|verdict| match verdict {
            MeasureVerdict::CannotTell { more_runs } => more_runs,
            _ => None,
        });
        if let Some(more) = more.min() {
            let plural = if more == 1 { "" } else { "s" };
            let _ = writeln!(
                text,
                "the next verdict needs about {more} more run{plural} a side"
            );
        }
        text
    }

    fn is_judged(&self) -> bool {
        self.runs.iter().all(|runs| *runs >= FEWEST_RUNS)
    }
}

/// What is known of a call.
enum CallState {
    /// Something changed; without verdicts, something differs.
    Changed,
    /// Nothing did.
    Same,
    /// It is made and fails as often, and whether it takes as long isn't known.
    AsOften,
    /// Whether it is made or fails as often isn't known.
    Unknown,
}

/// The names of calls, of many the first.
fn names(calls: &[&CallComparison]) -> String {
    const MOST: usize = 12;
    let first: Vec<&str> = calls
        .iter()
        .take(MOST)
        .map(|call| call.call.as_str())
        .collect();
    let more = match calls.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", first.join(", "))
}

impl CallComparison {
    fn verdicts(&self) -> [Option<MeasureVerdict>; 3] {
        [&self.calls, &self.errors, &self.time].map(|measure| measure.verdict)
    }

    fn state(&self) -> CallState {
        let measures = [&self.calls, &self.errors, &self.time];
        let [Some(calls), Some(errors), Some(time)] = self.verdicts() else {
            return match measures.iter().any(|measure| measure.difference != 0.0) {
                true => CallState::Changed,
                false => CallState::Same,
            };
        };
        let is_same = |verdict| matches!(verdict, MeasureVerdict::NoChange { .. });
        match [calls, errors, time].map(is_same) {
            _ if [calls, errors, time].iter().any(|it| it.is_change()) => CallState::Changed,
            [true, true, true] => CallState::Same,
            [true, true, false] => CallState::AsOften,
            _ => CallState::Unknown,
        }
    }

    fn cells(&self) -> Vec<String> {
        let counts = |measure: &MeasureComparison| {
            format!("{} → {}", count(measure.before), count(measure.after))
        };
        let times =
            |[before, after]: [u64; 2]| format!("{} → {}", duration(before), duration(after));
        let interval = self.time.interval.map_or_else(String::new, |[low, high]| {
            format!(
                "{} to {}",
                signed_duration(low as i128),
                signed_duration(high as i128)
            )
        });
        vec![
            counts(&self.calls),
            counts(&self.errors),
            signed_duration(self.time.difference as i128),
            interval,
            times(self.p50),
            times(self.p99),
            match self.words() {
                words if words.is_empty() => self.call.clone(),
                words => format!("{}: {words}", self.call),
            },
        ]
    }

    /// What changed, in words.
    fn words(&self) -> String {
        let measures = [
            (&self.calls, "calls", "more", "fewer"),
            (&self.errors, "errors", "more", "fewer"),
            (&self.time, "time", "more", "less"),
        ];
        let changed = measures.iter().filter_map(|(measure, what, more, less)| {
            let word = match measure.verdict? {
                MeasureVerdict::More => more,
                MeasureVerdict::Less => less,
                MeasureVerdict::NoChange { .. } | MeasureVerdict::CannotTell { .. } => return None,
            };
            let percent = measure.percent.map_or_else(String::new, |percent| {
                let sign = if percent < 0.0 { "−" } else { "+" };
                format!(" ({sign}{:.1} %)", percent.abs())
            });
            Some(format!("{word} {what}{percent}"))
        });
        changed.collect::<Vec<_>>().join(", ")
    }
}

/// A mean of counts.
fn count(mean: f64) -> String {
    match mean.fract() == 0.0 {
        true => format!("{mean}"),
        false => format!("{mean:.1}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::summary;
    use proptest::prelude::*;

    /// A run with so many reads, of which each takes so long, and one `close` that fails.
    fn run(reads: usize, took: u64) -> CallSummary {
        let mut events = vec![(1, "read", 5, took); reads];
        events.push((1, "close", -9, 70));
        summary(&events)
    }

    fn verdict_of(comparison: &RunComparison, call: &str) -> [Option<MeasureVerdict>; 3] {
        let found = comparison.calls.iter().find(|it| it.call == call);
        found.unwrap().verdicts()
    }

    #[test]
    fn counts_that_never_vary_are_judged_by_three_runs() {
        let before: Vec<_> = [1000, 1010, 990, 1005].map(|took| run(5, took)).into();
        let after: Vec<_> = [1003, 1008, 992, 1001].map(|took| run(8, took)).into();
        let comparison = RunComparison::new(&before, &after, (1, 1));
        let [calls, errors, time] = verdict_of(&comparison, "read");
        assert_eq!(calls, Some(MeasureVerdict::More));
        assert_eq!(
            errors,
            Some(MeasureVerdict::NoChange {
                larger_than_percent: 0.0
            })
        );
        assert_eq!(time, Some(MeasureVerdict::More));
        assert!(
            verdict_of(&comparison, "close")
                .iter()
                .flatten()
                .all(|it| !it.is_change())
        );
        let text = comparison.text();
        assert!(
            text.contains("read: more calls (+60.0 %), more time (+"),
            "{text}"
        );
        assert!(
            text.contains("no change larger than 0.00 %: close\n"),
            "{text}"
        );
        // As much work for as many calls is no change.
        let scaled = RunComparison::new(&before, &after, (50, 80));
        assert!(
            verdict_of(&scaled, "read")
                .iter()
                .flatten()
                .all(|it| !it.is_change()),
            "{scaled:?}"
        );
    }

    #[test]
    fn a_single_run_of_a_side_is_not_judged() {
        let several: Vec<_> = [10, 20, 30].map(|took| run(5, took)).into();
        for (before, after) in [(&several[..1], &several[..]), (&several[..], &several[..1])] {
            let comparison = RunComparison::new(before, after, (1, 1));
            let verdicts = comparison.calls.iter().flat_map(CallComparison::verdicts);
            assert_eq!(verdicts.flatten().count(), 0);
            assert!(
                comparison
                    .calls
                    .iter()
                    .all(|call| call.time.interval.is_none())
            );
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn a_side_beside_itself_never_changed(times in proptest::collection::vec(1_u64..1 << 40, 2..9)) {
            let runs: Vec<_> = times.iter().map(|took| run(3, *took)).collect();
            let comparison = RunComparison::new(&runs, &runs, (1, 1));
            for call in &comparison.calls {
                prop_assert!(call.verdicts().iter().flatten().all(|it| !it.is_change()));
                prop_assert_eq!(call.time.difference, 0.0);
            }
        }
    }
}
