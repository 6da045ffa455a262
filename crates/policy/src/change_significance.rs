//! Which changes among many series are significant: Benjamini and Hochberg's false discovery rate over the changes of level. A
//! series without a change counts with the clearest change that it might have had.
//!
//! A single series isn't adjusted: its search has bounded its false changes already.

use backsight_stats::{
    Better, Interval, benjamini_hochberg,
    changes::{ChangeKind, DetectedChange},
};
use serde::{Deserialize, Serialize};

/// The p-values that a series has among those of all: its changes of level, or that of the clearest which is none.
pub fn significance_tests<'a>(
    changes: impl IntoIterator<Item = &'a DetectedChange>,
    doubted: Option<f64>,
) -> Vec<f64> {
    let levels: Vec<f64> = changes
        .into_iter()
        .filter(|change| change.kind == ChangeKind::Level)
        .map(|change| change.p)
        .collect();
    if levels.is_empty() {
        vec![doubted.unwrap_or(1.0)]
    } else {
        levels
    }
}

/// The tests of each series (see [`significance_tests`]), adjusted among those of all, of which `others` are those of series that
/// aren't listed. Nothing where there is one series alone.
pub fn adjusted_tests(series: &[Vec<f64>], others: &[f64]) -> Option<Vec<Vec<f64>>> {
    if series.len() + others.len() < 2 {
        return None;
    }
    let mut tests: Vec<f64> = series.concat();
    tests.extend_from_slice(others);
    let mut adjusted = benjamini_hochberg(&tests).into_iter();
    let of_series = series
        .iter()
        .map(|tests| adjusted.by_ref().take(tests.len()).collect());
    Some(of_series.collect())
}

/// In which direction something went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChangeDirection {
    /// For the better.
    Better,
    /// For the worse.
    Worse,
    /// To higher values, nobody having said what is good.
    Up,
    /// To lower values, likewise.
    Down,
}

impl ChangeDirection {
    /// The direction of a change.
    pub fn from_change(change: &DetectedChange, better: Option<Better>) -> Self {
        Self::from_size(change.size, better)
    }

    /// The direction of a change by so much.
    pub fn from_size(size: f64, better: Option<Better>) -> Self {
        match better {
            None | Some(Better::Neither) if size > 0.0 => Self::Up,
            None | Some(Better::Neither) => Self::Down,
            Some(better) if better.prefers(size, 0.0) => Self::Better,
            Some(_) => Self::Worse,
        }
    }

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Up => "up",
            Self::Down => "down",
        }
    }
}

/// The size of a change in percent of the level before, with its interval; undefined where that is zero.
pub fn change_percent(change: &DetectedChange) -> Option<(f64, Interval)> {
    let base = change.before.abs();
    let share = |x: f64| 100.0 * x / base;
    let interval = Interval {
        low: share(change.size_interval.low),
        high: share(change.size_interval.high),
    };
    let all = [share(change.size), interval.low, interval.high];
    (base > 0.0 && all.iter().all(|x| x.is_finite())).then(|| (share(change.size), interval))
}
