//! The gate of a comparison: what a script wants to fail on.
//!
//! That one part of a study differs from another fails nothing unless it is asked for: nobody made it worse.

use super::{Comparison, Difference};

/// A condition on which a comparison fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateCondition {
    /// A cell is worse by more than the threshold; undecided if that can't be known, since what both sides asked for wasn't
    /// measured on one, or isn't comparable.
    Worse,
    /// A cell is better or worse by more than the threshold; undecided likewise.
    AnyChange,
    /// Undecided if a cell has no answer: can't tell, not comparable, or missing on a side.
    CantTell,
    /// None, whatever else is named.
    Never,
}

/// How a gate ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateResult {
    /// Nothing that was looked for was found.
    Passed,
    /// A condition holds.
    Failed,
    /// It can't be known whether one holds.
    Undecided,
}

/// What a comparison fails on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ComparisonGate {
    /// The conditions. None: [`Worse`](GateCondition::Worse), unless parts of one study are compared without a threshold.
    pub conditions: Vec<GateCondition>,
    /// What is worse by no more than this, in percent, doesn't count.
    pub threshold: Option<f64>,
    /// Every metric counts; else the primary ones.
    pub all_metrics: bool,
}

impl ComparisonGate {
    /// Whether a comparison passes.
    pub fn judge(&self, comparison: &Comparison) -> GateResult {
        let threshold = self.threshold.unwrap_or(0.0);
        let asked = |what| match self.conditions[..] {
            [] => {
                what == GateCondition::Worse
                    && (comparison.by.is_none() || self.threshold.is_some())
            }
            _ => {
                self.conditions.contains(&what) && !self.conditions.contains(&GateCondition::Never)
            }
        };
        let all_metrics = self.all_metrics;
        let some = |holds: &dyn Fn(&Difference) -> bool| {
            comparison
                .differences()
                .any(|(row, _, difference)| (row.primary || all_metrics) && holds(difference))
        };
        let worse = || some(&|difference| difference.worse_beyond(threshold));
        let changed = || some(&|difference| difference.changed_beyond(threshold));
        let without_answer = |side: usize| {
            let secondary = comparison.tally_of_secondary(side).without_answer();
            comparison.tally(side).without_answer() + if all_metrics { secondary } else { 0 }
        };
        let mut others = 1..comparison.sides.len();
        if asked(GateCondition::Worse) && worse() || asked(GateCondition::AnyChange) && changed() {
            GateResult::Failed
        } else if (asked(GateCondition::Worse) || asked(GateCondition::AnyChange))
            && comparison.unjudged(all_metrics) > 0
            || asked(GateCondition::CantTell) && others.any(|side| without_answer(side) > 0)
        {
            GateResult::Undecided
        } else {
            GateResult::Passed
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CompareOptions, NumberList, compare_lists};
    use backsight_stats::Better;

    const SLOW: &[f64] = &[4.5, 4.1, 4.9, 4.4, 4.6];
    const FAST: &[f64] = &[3.5, 3.1, 3.9, 3.4, 3.6];
    const ONE: &[f64] = &[3.5];

    fn status(
        base: &[f64],
        new: &[f64],
        conditions: &[GateCondition],
        threshold: Option<f64>,
    ) -> u8 {
        let lists = [base, new].map(|values| NumberList {
            name: "x".into(),
            cells: vec![(String::new(), values.to_vec())],
        });
        let options = CompareOptions::default();
        let comparison = compare_lists(lists.to_vec(), Better::Lower, None, options);
        let gate = ComparisonGate {
            conditions: conditions.to_vec(),
            threshold,
            all_metrics: false,
        };
        match gate.judge(&comparison) {
            GateResult::Passed => 0,
            GateResult::Failed => 1,
            GateResult::Undecided => 3,
        }
    }

    #[test]
    fn worse_is_1_unless_something_else_was_asked_for() {
        assert_eq!(status(FAST, SLOW, &[], None), 1);
        assert_eq!(status(SLOW, FAST, &[], None), 0);
        assert_eq!(status(FAST, ONE, &[], None), 0);
        assert_eq!(status(FAST, SLOW, &[GateCondition::CantTell], None), 0);
        assert_eq!(
            status(
                FAST,
                SLOW,
                &[GateCondition::Never, GateCondition::Worse],
                None
            ),
            0
        );
    }

    #[test]
    fn worse_is_1_beyond_the_threshold() {
        assert_eq!(status(FAST, SLOW, &[GateCondition::Worse], None), 1);
        assert_eq!(status(FAST, SLOW, &[], Some(20.0)), 1);
        assert_eq!(status(FAST, SLOW, &[], Some(50.0)), 0);
        assert_eq!(status(SLOW, FAST, &[GateCondition::Worse], None), 0);
        assert_eq!(status(SLOW, FAST, &[GateCondition::AnyChange], None), 1);
        assert_eq!(
            status(SLOW, FAST, &[GateCondition::AnyChange], Some(50.0)),
            0
        );
    }

    #[test]
    fn no_answer_is_3_when_asked_for() {
        assert_eq!(status(FAST, ONE, &[GateCondition::Worse], None), 0);
        assert_eq!(
            status(
                FAST,
                ONE,
                &[GateCondition::Worse, GateCondition::CantTell],
                None
            ),
            3
        );
        // What is worse outweighs what can't be told.
        assert_eq!(
            status(
                FAST,
                SLOW,
                &[GateCondition::CantTell, GateCondition::Worse],
                None
            ),
            1
        );
        assert_eq!(
            status(FAST, FAST, &[GateCondition::CantTell], None),
            3,
            "five can't tell ±1%"
        );
    }
}
