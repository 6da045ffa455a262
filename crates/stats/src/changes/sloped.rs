//! Steps of a level with a steady slope: one slope for the whole series, and jumps beside it.
//!
//! The search for levels takes a slope beside a step for a staircase. The slope shows within the stretches between the steps:
//! if a common slope explains what is left there, it is removed and the levels are searched again, until the steps stay. The
//! result holds if it describes the series better than steps alone, with fewer of them.
//!
//! In: a series and its levels. Out: a trend with the levels around it.

use crate::Interval;

use super::levels::Levels;
use super::rank_scan::Stretch;
use super::split_selection::stretches;
use super::trend::{self, Memory, Shape, fitted};
use super::{DetectedChange, DetectionOptions, Findings};

/// Rounds of estimating the slope and the steps in turn; they settle in two or three.
const MAX_ROUNDS: usize = 5;

/// A slope and the levels of what lies around it.
pub(crate) struct SlopedLevels {
    slope: f64,
    rest: Vec<f64>,
    levels: Levels,
}

/// One slope with fewer steps, where that describes a series better than the steps of `stairs`.
pub(crate) fn levels(
    series: &[f64],
    stairs: &Levels,
    search: &DetectionOptions,
) -> Option<SlopedLevels> {
    if stairs.changes.len() < 2 {
        return None;
    }
    let mut steps = stairs.changes.clone();
    let of = |shape| fitted(series, &steps, shape, Memory::OfNoise).likelihood;
    // The stairs have taken nearly all that the slope explains.
    if of(Shape::SlopedLevels) <= of(Shape::Levels) {
        return None;
    }
    let mut settled = None;
    for _ in 0..MAX_ROUNDS {
        let slope = fitted(series, &steps, Shape::SlopedLevels, Memory::OfNoise).slope;
        let rest = trend::without_slope(series, slope);
        let levels = Levels::from_series(&rest, search);
        let is_settled = levels.changes == steps;
        steps.clone_from(&levels.changes);
        settled = Some(SlopedLevels {
            slope,
            rest,
            levels,
        });
        if is_settled {
            break;
        }
    }
    settled.filter(|_| {
        (1..stairs.changes.len()).contains(&steps.len())
            && trend::explains_stairs(series, &steps, &stairs.changes)
    })
}

impl SlopedLevels {
    pub(crate) fn findings(self, series: &[f64], search: &DetectionOptions) -> Findings {
        let middle = (series.len() - 1) as f64 / 2.0;
        let slope = self.slope;
        let along = |point: f64| slope * (point - middle);
        let around = self.levels.findings(&self.rest, search);
        let first = around.changes.first().map_or(0.0, |change| change.before);
        let trend = trend::of_sloped_levels(series, &around.changes, first, search);
        let steps: Vec<usize> = around.changes.iter().map(|change| change.at).collect();
        let of_slope = (trend.size_interval.high - trend.size) / (series.len() - 1) as f64;
        let sloping = |(change, sides): (DetectedChange, Stretch)| {
            // Half of what lies between the changes before and after is between the middles of the two levels.
            let reach = of_slope * sides.points() as f64 / 2.0;
            let interval = change.size_interval;
            DetectedChange {
                before: change.before + along(change.at as f64 - 0.5),
                after: change.after + along(change.at as f64 - 0.5),
                size_interval: Interval {
                    low: change.size - (change.size - interval.low).hypot(reach),
                    high: change.size + (interval.high - change.size).hypot(reach),
                },
                ..change
            }
        };
        let sides = stretches(&steps, series.len(), 2);
        Findings {
            changes: around.changes.into_iter().zip(sides).map(sloping).collect(),
            trend: Some(trend),
            ..around
        }
    }
}
