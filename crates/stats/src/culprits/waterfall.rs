//! Sizes of the steps, and how they add up: total change = steps + remainder.

use super::{ChangeLocation, PooledVersionMeans};
use crate::{Confidence, Interval, distributions::t_quantile};

/// A number with its interval.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(
    feature = "schemars",
    derive(schemars::JsonSchema),
    schemars(rename = "Estimate")
)]
pub struct IntervalEstimate {
    /// Estimate.
    pub value: f64,
    /// Its interval.
    pub interval: Interval,
}

/// The change from the first version to the last, split into steps.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Waterfall {
    /// Mean of the measurements before the first step.
    pub level: IntervalEstimate,
    /// The last version less the first, from their own measurements only.
    pub total: IntervalEstimate,
    /// Size of each step: mean of the stretch after it less mean of the stretch before it.
    pub steps: Vec<IntervalEstimate>,
    /// The part of the total that the steps don't explain.
    pub remainder: IntervalEstimate,
}

/// Mean of a stretch and its number of measurements.
#[derive(Clone, Copy)]
struct Weighted {
    mean: f64,
    n: f64,
    /// The first and the last position.
    of: (usize, usize),
}

/// Sizes of these steps, ascending, with Student's intervals from the variance pooled within versions, widened by the variance
/// of the testbeds' offsets; `None` if an end has no measurement or no version has two.
#[must_use]
pub fn waterfall(
    measurements: &PooledVersionMeans,
    steps: &[ChangeLocation],
    confidence: Confidence,
) -> Option<Waterfall> {
    let points = measurements.means().points();
    let (first, last) = (points.first()?, points.last()?);
    let (variance, freedom) = measurements.pooled()?;
    let reach = t_quantile(confidence, freedom);
    let estimate = |value: f64, over: f64, doubt: f64| {
        let half = reach * (variance * over + doubt).sqrt();
        let interval = Interval {
            low: value - half,
            high: value + half,
        };
        IntervalEstimate { value, interval }
    };
    let mut begin = 0;
    let ends = steps.iter().map(|step| step.after).chain([last.at]);
    let stretches: Vec<Weighted> = ends
        .map(|end| {
            let of = (begin, end);
            let within = points.iter().filter(|p| (begin..=end).contains(&p.at));
            let (n, sum) = within.fold((0.0, 0.0), |(n, sum), p| (n + p.n, sum + p.n * p.mean));
            begin = end + 1;
            Weighted {
                mean: sum / n,
                n,
                of,
            }
        })
        .collect();
    let total = last.mean - first.mean;
    let sizes = stretches.windows(2).map(|pair| {
        estimate(
            pair[1].mean - pair[0].mean,
            1.0 / pair[0].n + 1.0 / pair[1].n,
            measurements.offset_variance(pair[1].of, pair[0].of),
        )
    });
    let (head, tail) = (stretches[0], stretches[stretches.len() - 1]);
    // The measurements of the ends are part of their stretches: only the weight of the others is left over.
    let off = |end: f64, stretch: f64| (1.0 / end - 1.0 / stretch).max(0.0);
    let whole = points.len() > 1 && stretches.len() == 1;
    let of_ends = measurements.offset_variance((last.at, last.at), (first.at, first.at));
    let (remainder, over, doubt) = match whole {
        true => (total, 1.0 / first.n + 1.0 / last.n, of_ends),
        false => (
            total - (tail.mean - head.mean),
            off(first.n, head.n) + off(last.n, tail.n),
            measurements.offset_variance((last.at, last.at), tail.of)
                + measurements.offset_variance((first.at, first.at), head.of),
        ),
    };
    Some(Waterfall {
        level: estimate(head.mean, 1.0 / head.n, 0.0),
        total: estimate(total, 1.0 / first.n + 1.0 / last.n, of_ends),
        steps: sizes.collect(),
        remainder: estimate(remainder, over, doubt),
    })
}
