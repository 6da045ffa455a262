//! The sizes of steps, and how they add up: total change = steps + remainder.

use super::{ChangeLocation, PooledVersionMeans};
use crate::{Confidence, Interval, distributions::t_quantile};

/// A number with its interval.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
#[cfg_attr(
    feature = "schemars",
    derive(schemars::JsonSchema),
    schemars(rename = "Estimate")
)]
pub struct IntervalEstimate {
    /// The estimate.
    pub value: f64,
    /// Its interval.
    pub interval: Interval,
}

/// How the change from the first version to the last is made up.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Waterfall {
    /// The mean of the measurements before the first step.
    pub level: IntervalEstimate,
    /// The last version less the first, by the measurements of these two alone.
    pub total: IntervalEstimate,
    /// The size of each step: the mean between it and the next less the mean before it.
    pub steps: Vec<IntervalEstimate>,
    /// What of the total the steps don't explain.
    pub remainder: IntervalEstimate,
}

/// Means over a stretch: value and variance in units of the noise's.
#[derive(Clone, Copy)]
struct Weighted {
    mean: f64,
    n: f64,
    /// The first and the last position.
    of: (usize, usize),
}

/// The sizes of these steps, ascending, by Student's intervals with the variance pooled within versions, wider by what isn't
/// known of what testbeds add; `None` if an end wasn't measured or nothing was measured twice.
#[must_use]
pub fn waterfall(
    joined: &PooledVersionMeans,
    steps: &[ChangeLocation],
    confidence: Confidence,
) -> Option<Waterfall> {
    let points = joined.course().points();
    let (first, last) = (points.first()?, points.last()?);
    let (variance, freedom) = joined.pooled()?;
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
            joined.doubt(pair[1].of, pair[0].of),
        )
    });
    let (head, tail) = (stretches[0], stretches[stretches.len() - 1]);
    // The ends' own measurements are among those of their stretches: what is left over is the others' weight.
    let off = |end: f64, stretch: f64| (1.0 / end - 1.0 / stretch).max(0.0);
    let whole = points.len() > 1 && stretches.len() == 1;
    let of_ends = joined.doubt((last.at, last.at), (first.at, first.at));
    let (remainder, over, doubt) = match whole {
        true => (total, 1.0 / first.n + 1.0 / last.n, of_ends),
        false => (
            total - (tail.mean - head.mean),
            off(first.n, head.n) + off(last.n, tail.n),
            joined.doubt((last.at, last.at), tail.of) + joined.doubt((first.at, first.at), head.of),
        ),
    };
    Some(Waterfall {
        level: estimate(head.mean, 1.0 / head.n, 0.0),
        total: estimate(total, 1.0 / first.n + 1.0 / last.n, of_ends),
        steps: sizes.collect(),
        remainder: estimate(remainder, over, doubt),
    })
}
