//! Checks of the changes that a bisection names: studies that measured a change side by side with the version before it, or a
//! version with itself without the change. They stand beside the bisection's own sizes and change none of them.

use backsight_model::StudyName;
use backsight_policy::{TryCall, TryComparison};
use backsight_stats::culprits::IntervalEstimate;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Tone, numbers};

/// What a check measured side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CulpritCheckKind {
    /// The version with the change, beside the version before it.
    Neighbour,
    /// A version without the change, beside itself.
    Revert,
}

/// A study that checked a change.
#[derive(Debug, Clone, PartialEq)]
pub struct CulpritCheck {
    /// The study's name.
    pub study: StudyName,
    /// What it measured side by side.
    pub kind: CulpritCheckKind,
    /// The name of the version that it compares with.
    pub base: String,
    /// What it came to, by the metric that was bisected: side − base.
    pub comparison: TryComparison,
}

impl CulpritCheck {
    /// What was measured: `c14 without it`, `beside c13`.
    pub fn what(&self) -> String {
        match self.kind {
            CulpritCheckKind::Neighbour => format!("beside {}", self.base),
            CulpritCheckKind::Revert => format!("{} without it", self.base),
        }
    }

    /// What it came to: `better`, `worse`, `no difference larger than 1 %`, `can't tell yet`.
    pub fn word(&self) -> String {
        match self.comparison.call {
            TryCall::Better => "better".to_owned(),
            TryCall::Worse => "worse".to_owned(),
            TryCall::Equal {
                larger_than_percent,
            } => format!(
                "no difference larger than {}",
                numbers::bound(larger_than_percent)
            ),
            TryCall::Undecided { .. } => "can't tell yet".to_owned(),
            TryCall::Missing => "not measured".to_owned(),
        }
    }

    /// The difference in percent of the base with its interval; nothing where that isn't defined.
    pub(super) fn difference(&self) -> String {
        let by = self.comparison.percent;
        by.map_or_else(String::new, |by| {
            numbers::percent_in(by, self.comparison.percent_interval)
        })
    }

    pub(super) fn tone(&self) -> Tone {
        match self.comparison.call {
            TryCall::Better => Tone::Good,
            TryCall::Worse => Tone::Bad,
            _ => Tone::Plain,
        }
    }
}

/// A check as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckRow {
    /// The number of the change that it checks, from 1.
    pub number: usize,
    /// The version or the stretch of that change.
    pub place: String,
    /// What was measured: `c14 without it`.
    pub what: String,
    /// `+3.10 % [+2.60, +3.60]`.
    pub difference: String,
    /// `better`, `worse`, or what else it came to.
    pub word: String,
    /// The study.
    pub study: String,
}

/// A check, for programs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CulpritCheckView<'a> {
    /// The study's name.
    pub study: &'a str,
    /// What it measured: `neighbour`, the change beside the version before it; `revert`, a version without the change beside itself.
    pub kind: CulpritCheckKind,
    /// The version that it compares with.
    pub base: &'a str,
    /// Side − base in percent of the base.
    pub percent: Option<IntervalEstimate>,
    /// `better`, `worse`, or what else it came to.
    pub came: String,
}

impl<'a> From<&'a CulpritCheck> for CulpritCheckView<'a> {
    fn from(check: &'a CulpritCheck) -> Self {
        let comparison = &check.comparison;
        let percent = comparison.percent.zip(comparison.percent_interval);
        Self {
            study: check.study.as_str(),
            kind: check.kind,
            base: &check.base,
            percent: percent.map(|(value, interval)| IntervalEstimate { value, interval }),
            came: check.word(),
        }
    }
}
