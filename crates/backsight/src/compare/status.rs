//! What a comparison means to a script: its exit status.
//!
//! Refuses: to call it a failure that one part of a study differs from another. Nobody made it worse.

use backsight_policy::{Comparison, Difference};
use clap::ValueEnum;

use crate::exit_status::ExitStatus;

/// What makes the exit status another than 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// Status 1 if a cell is worse by more than the threshold; else 3 if it can't be known: what both sides asked for wasn't
    /// measured on one, or isn't comparable
    Worse,
    /// Status 1 if a cell is better or worse by more than the threshold; else 3 likewise
    AnyChange,
    /// Status 3 if a cell has no answer: can't tell, not comparable, or missing on a side
    CantTell,
    /// Status 0 whatever the verdicts are
    Never,
}

/// What was asked of the exit status.
#[derive(Debug, Clone, PartialEq, clap::Args)]
pub struct Asked {
    /// What makes the exit status 1 or 3; may be several, with commas. Unless said it is `worse`; with --by, nothing
    #[arg(long, value_enum, value_name = "WHAT", value_delimiter = ',')]
    fail_on: Vec<FailOn>,
    /// What is worse by no more than this doesn't count for the exit status; with --by it means --fail-on worse
    #[arg(long, value_name = "PERCENT", value_parser = super::percent)]
    threshold: Option<f64>,
}

impl Asked {
    /// The exit status: 0, 1 or 3; by the primary metrics unless every one is to count.
    pub fn status(&self, comparison: &Comparison, all_metrics: bool) -> ExitStatus {
        let threshold = self.threshold.unwrap_or(0.0);
        let asked = |what| match self.fail_on[..] {
            [] => what == FailOn::Worse && (comparison.by.is_none() || self.threshold.is_some()),
            _ => self.fail_on.contains(&what) && !self.fail_on.contains(&FailOn::Never),
        };
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
        if asked(FailOn::Worse) && worse() || asked(FailOn::AnyChange) && changed() {
            ExitStatus::Failed
        } else if (asked(FailOn::Worse) || asked(FailOn::AnyChange))
            && comparison.unjudged(all_metrics) > 0
            || asked(FailOn::CantTell) && others.any(|side| without_answer(side) > 0)
        {
            ExitStatus::Undecided
        } else {
            ExitStatus::Success
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_policy::{CompareOptions, NumberList, compare_lists};
    use backsight_stats::Better;

    const SLOW: &[f64] = &[4.5, 4.1, 4.9, 4.4, 4.6];
    const FAST: &[f64] = &[3.5, 3.1, 3.9, 3.4, 3.6];
    const ONE: &[f64] = &[3.5];

    fn status(base: &[f64], new: &[f64], fail_on: &[FailOn], threshold: Option<f64>) -> u8 {
        let lists = [base, new].map(|values| NumberList {
            name: "x".into(),
            cells: vec![(String::new(), values.to_vec())],
        });
        let options = CompareOptions::default();
        let comparison = compare_lists(lists.to_vec(), Better::Lower, None, options);
        let asked = Asked {
            fail_on: fail_on.to_vec(),
            threshold,
        };
        asked.status(&comparison, false).code()
    }

    #[test]
    fn worse_is_1_unless_something_else_was_asked_for() {
        assert_eq!(status(FAST, SLOW, &[], None), 1);
        assert_eq!(status(SLOW, FAST, &[], None), 0);
        assert_eq!(status(FAST, ONE, &[], None), 0);
        assert_eq!(status(FAST, SLOW, &[FailOn::CantTell], None), 0);
        assert_eq!(status(FAST, SLOW, &[FailOn::Never, FailOn::Worse], None), 0);
    }

    #[test]
    fn worse_is_1_beyond_the_threshold() {
        assert_eq!(status(FAST, SLOW, &[FailOn::Worse], None), 1);
        assert_eq!(status(FAST, SLOW, &[], Some(20.0)), 1);
        assert_eq!(status(FAST, SLOW, &[], Some(50.0)), 0);
        assert_eq!(status(SLOW, FAST, &[FailOn::Worse], None), 0);
        assert_eq!(status(SLOW, FAST, &[FailOn::AnyChange], None), 1);
        assert_eq!(status(SLOW, FAST, &[FailOn::AnyChange], Some(50.0)), 0);
    }

    #[test]
    fn no_answer_is_3_when_asked_for() {
        assert_eq!(status(FAST, ONE, &[FailOn::Worse], None), 0);
        assert_eq!(
            status(FAST, ONE, &[FailOn::Worse, FailOn::CantTell], None),
            3
        );
        // What is worse outweighs what can't be told.
        assert_eq!(
            status(FAST, SLOW, &[FailOn::CantTell, FailOn::Worse], None),
            1
        );
        assert_eq!(
            status(FAST, FAST, &[FailOn::CantTell], None),
            3,
            "five can't tell ±1%"
        );
    }
}
