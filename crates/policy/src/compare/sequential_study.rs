//! The parts of a study that was measured until each difference was decided, with differences that hold at every look.
//!
//! Stopping as soon as an interval excludes zero finds a difference too often. So the answers and intervals of such a study are
//! those that it stopped by, which allow for the looks; they have no p-value, which would hold for a single look.

use backsight_model::{Cell, StudyName, VariantName};
use backsight_stats::{Interval, Level, Undefined};

use super::{
    BaselineRelation, Comparison, Difference, DifferenceCall, Doubt, RowEntry, Warning,
    changed_first, question, ratio_means,
};
use crate::{TryCall, TryComparison};

/// What a study came to that was measured until it was decided.
#[derive(Debug, Clone, Copy)]
pub struct SequentialStudy<'a> {
    /// The study.
    pub study: &'a StudyName,
    /// Its variants; the first is the base.
    pub variants: &'a [VariantName],
    /// What is asked of each of them, by the number that a verdict has for it.
    pub questions: &'a [Cell],
    /// The verdict's comparisons, whose sides are the variants from 1.
    pub tried: &'a [TryComparison],
    /// Up to how many percent a difference was no matter.
    pub margin_percent: f64,
}

impl Comparison {
    /// The comparison of a study's variants with the answers that hold at every look.
    #[must_use]
    pub fn at_every_look(mut self, looked: SequentialStudy<'_>) -> Self {
        let names: Vec<&str> = self.sides.iter().map(|side| side.name.as_str()).collect();
        let of_side = |name: &str| {
            let mut variants = looked.variants.iter();
            variants.position(|variant| variant.as_str() == name)
        };
        let sides: Vec<Option<usize>> = names.into_iter().map(of_side).collect();
        for row in &mut self.rows {
            let asked = question(&row.cell);
            let mut questions = looked.questions.iter();
            let cell = questions.position(|cell| question(cell) == asked);
            for (entry, side) in row.entries.iter_mut().zip(&sides) {
                let is_its = |tried: &&TryComparison| {
                    Some(tried.side) == *side
                        && Some(tried.cell) == cell
                        && tried.metric == row.metric
                };
                if let (Some(tried), RowEntry::Measured(measured)) =
                    (looked.tried.iter().find(is_its), entry)
                    && let Some(BaselineRelation::Compared(difference)) = &mut measured.against
                {
                    difference.hold_at_every_look(tried);
                }
            }
        }
        self.rows = changed_first(self.rows);
        // What was seen in single rows is of a single look, and their places are others now.
        self.remarks.clear();
        self.ratios = ratio_means(&self);
        self.warnings.push(Warning::Looks {
            study: looked.study.clone(),
            margin_percent: looked.margin_percent,
        });
        self
    }
}

impl Difference {
    fn hold_at_every_look(&mut self, tried: &TryComparison) {
        self.confidence = tried.confidence;
        self.p = Err(Undefined::Looks);
        self.adjusted_p = None;
        self.call = match tried.call {
            TryCall::Better => DifferenceCall::Better,
            TryCall::Worse => DifferenceCall::Worse,
            TryCall::Equal {
                larger_than_percent,
            } => DifferenceCall::NoChange {
                larger_than_percent,
            },
            TryCall::Undecided { more: Some(count) } => DifferenceCall::CannotTell(Doubt::More {
                count,
                level: Level::Trial,
            }),
            TryCall::Undecided { more: None } | TryCall::Missing => {
                DifferenceCall::CannotTell(Doubt::NoIdea)
            }
        };
        let base = tried.base.unwrap_or(0.0);
        let share = |percent: f64| percent / 100.0;
        let with = |of: fn(f64, f64) -> f64, interval: Interval| Interval {
            low: of(share(interval.low), base),
            high: of(share(interval.high), base),
        };
        let ratio: fn(f64, f64) -> f64 = |share, _| 1.0 + share;
        let absolute: fn(f64, f64) -> f64 = |share, base| share * base;
        self.percent = tried.percent.ok_or(Undefined::NotPositive);
        self.percent_interval = tried.percent_interval.ok_or(Undefined::Looks);
        self.ratio = self.percent.map(|percent| ratio(share(percent), base));
        self.ratio_interval = self.percent_interval.map(|ends| with(ratio, ends));
        self.absolute = match self.percent {
            Ok(percent) => absolute(share(percent), base),
            Err(_) => tried.new.unwrap_or(base) - base,
        };
        self.absolute_interval = self.percent_interval.map(|ends| with(absolute, ends));
        if let Some((by, interval)) = tried.difference {
            self.absolute = by;
            self.absolute_interval = interval.ok_or(Undefined::Looks);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Evidence, Observation, Request, RequestOutcome, RequestedMetric, RunUntilDecidedOptions,
        RunUntilDecidedPolicy,
        compare::{CompareOptions, SplitKey, compare_by},
    };
    use backsight_model::{Better, CellSeries, ResultSet, StudyState, TrialSamples, Unit};
    use backsight_stats::{Confidence, Random};
    use std::{collections::BTreeMap, time::Duration};

    const VARIANTS: [&str; 2] = ["plain", "other"];

    fn cells() -> Vec<Cell> {
        let cell = |variant: &str| Cell {
            benchmark: "work".parse().unwrap(),
            params: indexmap::IndexMap::new(),
            chosen: Vec::new(),
            variant: variant.parse().unwrap(),
            monitors: None,
        };
        VARIANTS.map(cell).to_vec()
    }

    fn set(values: &[(f64, f64)]) -> ResultSet {
        let series = |side: usize| CellSeries {
            cell: cells()[side].clone(),
            metric: "time".parse().unwrap(),
            unit: Unit::parse("s").unwrap(),
            better: Better::Lower,
            about: String::new(),
            primary: true,
            monitor: None,
            simulator: None,
            trials: values
                .iter()
                .zip(1..)
                .map(|(pair, round)| TrialSamples {
                    trial: 2 * round + side as u32,
                    round,
                    boot: 0,
                    session: 1,
                    host: 0,
                    values: vec![[pair.0, pair.1][side]],
                    each: Vec::new(),
                    neighbours: 0.0,
                })
                .collect(),
        };
        ResultSet {
            study: 1,
            name: "u".into(),
            study_name: "u".parse().unwrap(),
            began: "2024-03-01T12:34:56Z".parse().unwrap(),
            state: StudyState::Finished,
            interleaved: true,
            hosts: indexmap::IndexMap::new(),
            definitions: backsight_model::Definitions::default(),
            series: vec![series(0), series(1)],
            failed: Vec::new(),
        }
    }

    fn evidence(values: &[(f64, f64)]) -> Evidence {
        let observations = values.iter().zip(1..).flat_map(|(pair, round)| {
            [pair.0, pair.1]
                .into_iter()
                .enumerate()
                .map(move |(cell, value)| Observation {
                    request: Request::as_found(cell, round),
                    outcome: RequestOutcome::Measured,
                    figures: BTreeMap::from([("time".parse().unwrap(), value)]),
                    took: Duration::from_secs(1),
                })
        });
        Evidence::from_observations(observations.collect())
    }

    fn policy() -> RunUntilDecidedPolicy {
        let metrics = |_: &Cell| {
            vec![RequestedMetric {
                name: "time".parse().unwrap(),
                better: Better::Lower,
                decides: true,
            }]
        };
        let options = RunUntilDecidedOptions {
            budget: None,
            most: 40,
            margin: 0.001,
            confidence: Confidence::USUAL,
            seed: 1,
        };
        RunUntilDecidedPolicy::new(&cells(), metrics, options).unwrap()
    }

    /// The comparison as of one look, and with the answers that hold at every look.
    fn compared(values: &[(f64, f64)]) -> (Comparison, Comparison) {
        let options = CompareOptions::default();
        let once = compare_by(&set(values), &SplitKey::Variant, options).unwrap();
        let policy = policy();
        let verdict = policy.verdict(&evidence(values));
        let questions: Vec<Cell> = policy.questions().cloned().collect();
        let study: StudyName = "u".parse().unwrap();
        let variants = VARIANTS.map(|name| name.parse().unwrap());
        let looked = SequentialStudy {
            study: &study,
            variants: &variants,
            questions: &questions,
            tried: &verdict.compared,
            margin_percent: 0.1,
        };
        (once.clone(), once.at_every_look(looked))
    }

    /// Studies of two variants that are alike, looked at after every round from the fourth on, each ended when it says that
    /// they differ: so a comparison of one look is wrong far too often, and the one that allows for looks hardly ever.
    #[test]
    fn who_stops_when_a_difference_is_seen_is_rarely_wrong() {
        let mut wrong = (0, 0);
        let studies = 200;
        for seed in 0..studies {
            let mut random = Random::seeded(seed);
            let mut noisy = || 100.0 + 2.0 * random.normal();
            let values: Vec<(f64, f64)> = (0..20).map(|_| (noisy(), noisy())).collect();
            let changed = |comparison: &Comparison| {
                comparison.differences().any(|(_, _, it)| it.call.changed())
            };
            let mut seen = (false, false);
            for rounds in 4..=values.len() {
                let (once, looked) = compared(&values[..rounds]);
                seen = (seen.0 || changed(&once), seen.1 || changed(&looked));
            }
            wrong = (wrong.0 + u32::from(seen.0), wrong.1 + u32::from(seen.1));
        }
        println!("one look {}, every look {} of {studies}", wrong.0, wrong.1);
        assert!(wrong.0 > 20, "{wrong:?}");
        assert!(wrong.1 <= 10, "{wrong:?}");
    }

    #[test]
    fn answers_and_intervals_are_those_of_the_study_and_it_is_said() {
        let mut random = Random::seeded(3);
        let mut noisy = |level: f64| level + random.normal();
        let values: Vec<(f64, f64)> = (0..8).map(|_| (noisy(100.0), noisy(110.0))).collect();
        let verdict = policy().verdict(&evidence(&values));
        let (_, looked) = compared(&values);
        let (_, _, difference) = looked.differences().next().unwrap();
        assert_eq!(difference.call, DifferenceCall::Worse);
        assert_eq!(Ok(verdict.compared[0].percent.unwrap()), difference.percent);
        let ends = difference.percent_interval.unwrap();
        assert_eq!(Some(ends), verdict.compared[0].percent_interval);
        let absolute = difference.absolute_interval.unwrap();
        assert!(ends.low > 0.0 && absolute.low > 0.0 && absolute.contains(difference.absolute));
        assert!(difference.ratio_interval.unwrap().low > 1.0);
        assert_eq!(difference.p, Err(Undefined::Looks));
        let warning = looked.warnings.last().unwrap().to_string();
        assert!(warning.contains("until it was decided"), "{warning}");
        let few = compared(&values[..3]).1;
        let (_, _, difference) = few.differences().next().unwrap();
        assert!(matches!(difference.call, DifferenceCall::CannotTell(_)));
    }
}
