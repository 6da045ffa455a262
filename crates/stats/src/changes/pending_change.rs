//! Pending changes: the newest one or two points lie where the level hasn't been. That isn't a change of level yet, but it is
//! reported at once.
//!
//! In: a series with its changes. Out: how far the newest points are off, and how many more like them make a change. One point
//! is never a change: an outlier looks the same.

use serde::{Deserialize, Serialize};

use crate::distributions::two_sided_p;

use super::change_size::{Beside, Size, error_of_difference, independent};
use super::rank_scan::Stretch;
use super::split_selection::stretches;
use super::step_likelihood::{MIN_POINTS, steps, tail_evidence};
use super::{ChangeKind, DetectedChange, DetectionOptions};

/// What the newest points need to be said.
struct PendingParameters {
    /// The largest p-value of Student's t for a new point of the latest level.
    most_p: f64,
    /// What the tail of the noise must leave, as for a step, beside the logarithm of the number of points.
    evidence_of_tail: f64,
    /// More points than this at the new level, and nothing is pending yet: it would be too small.
    most_to_come: usize,
    /// The fewest points of the latest level.
    fewest_before: usize,
}

const PENDING: PendingParameters = PendingParameters {
    most_p: 1e-4,
    evidence_of_tail: 4.0,
    most_to_come: 3,
    fewest_before: 4,
};

/// The newest points that may be the beginning of another level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PendingLevel {
    /// The change that it would be. Its `p` is the probability that new points of the latest level are all so far off, by
    /// its noise alone; its `probability` says nothing.
    pub change: DetectedChange,
    /// So many more points like them would make it a change.
    pub to_come: usize,
}

/// What is pending at the end of a series with these changes, whose noise keeps so much of its predecessor's.
pub(crate) fn pending(
    values: &[f64],
    changes: &[usize],
    kept: f64,
    search: &DetectionOptions,
) -> Option<PendingLevel> {
    [1, 2]
        .into_iter()
        .find_map(|newest| of_newest(values, changes, newest, kept, search))
}

fn of_newest(
    values: &[f64],
    changes: &[usize],
    newest: usize,
    kept: f64,
    search: &DetectionOptions,
) -> Option<PendingLevel> {
    let n = values.len();
    let at = n.checked_sub(newest)?;
    let start = changes.last().copied().unwrap_or(0);
    if n < MIN_POINTS || at < start + PENDING.fewest_before {
        return None;
    }
    let mut known = changes.to_vec();
    known.push(at);
    let (mut squares, mut before) = (0.0, 0.0);
    let segments = stretches(&known, n, 1);
    for segment in &segments[..known.len()] {
        let points = &values[segment.start..segment.end];
        before = crate::sums::mean(points);
        squares += points.iter().map(|x| (x - before).powi(2)).sum::<f64>();
    }
    let new = &values[at..];
    let after = crate::sums::mean(new);
    let size = after - before;
    let freedom = (at as f64 - known.len() as f64).max(1.0);
    let deviation = (squares / freedom).sqrt();
    let of_level = 1.0 / (at - start) as f64;
    let nearest = new
        .iter()
        .map(|x| (x - before) * size.signum())
        .fold(f64::INFINITY, f64::min);
    let p = two_sided_p(
        nearest.max(0.0) / (deviation * (1.0 + of_level).sqrt()),
        freedom,
    );
    let newest_points = Stretch { start: at, end: n };
    let tail = tail_evidence(values, &known, newest_points, before, size.signum());
    // NaN, where nothing varies and nothing is off, is no evidence.
    let p = p.powi(newest as i32);
    let is_off =
        p <= PENDING.most_p && nearest > 0.0 && tail >= PENDING.evidence_of_tail + (n as f64).ln();
    if !is_off {
        return None;
    }
    let mut series = values.to_vec();
    let to_come = (1..=PENDING.most_to_come).find(|_| {
        series.push(after);
        let found = steps(&series, search.false_per_point);
        found.last().is_some_and(|step| step.at.abs_diff(at) <= 1)
    })?;
    let beside = |points| Beside {
        points,
        variance: deviation * deviation,
    };
    let difference = Size {
        value: size,
        error: error_of_difference(beside(at - start), beside(newest), kept),
        freedom: independent(freedom as usize, kept),
    };
    Some(PendingLevel {
        change: DetectedChange {
            at,
            earliest: at,
            latest: at,
            kind: ChangeKind::Level,
            before,
            after,
            size,
            size_interval: difference.interval(search.confidence),
            p,
            probability: 0.5,
        },
        to_come,
    })
}
