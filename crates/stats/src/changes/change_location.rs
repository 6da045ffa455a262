//! Location of a change: the likelihood of every place under the noise of the series, and how certain the best one is.

use super::noise::Density;
use super::rank_scan::Stretch;

/// A change's likelihood over the places between its neighbours.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    /// The first place that `probability` is about.
    first: usize,
    /// The share of each place, of a change somewhere among them.
    share: Vec<f64>,
    /// ln of the mean likelihood of a change in each place, relative to `new` everywhere.
    pub evidence: f64,
}

/// Versions within which it doesn't matter which one is named: somebody looks at all of them.
const EQUIVALENT_VERSIONS: usize = 5;

/// What the series is like on one side of a change.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StretchSide<'a> {
    pub level: f64,
    /// Of the innovations.
    pub noise: &'a Density,
}

impl Places {
    /// Of a change from `old` to `new` somewhere in `stretch`, with at least two points on either side. `None` if the
    /// stretch is too short.
    ///
    /// The noise is a first-order autoregression whose innovations have the density that was estimated; so the
    /// place is as sharp as the noise's own shape allows (a lower edge, two modes), not as a Gaussian would have it.
    pub(crate) fn from_sides(
        values: &[f64],
        stretch: Stretch,
        kept: f64,
        old: StretchSide<'_>,
        new: StretchSide<'_>,
    ) -> Option<Self> {
        let Stretch { start, end } = stretch;
        let first = start + 2;
        if first + 2 > end {
            return None;
        }
        let log = |i: usize, side: StretchSide<'_>, before: StretchSide<'_>| {
            side.noise
                .log_at((values[i] - side.level) - kept * (values[i - 1] - before.level))
        };
        // The likelihood of "all new from the second point on" is the zero that all places are relative to.
        let mut moved = log(start + 1, old, old) - log(start + 1, new, new);
        let mut profile = Vec::with_capacity(end - first);
        for at in first..end - 1 {
            let all_new = log(at, new, new);
            profile.push(moved + log(at, new, old) - all_new);
            moved += log(at, old, old) - all_new;
        }
        let most = profile.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut share: Vec<f64> = profile.iter().map(|l| (l - most).exp()).collect();
        let total: f64 = share.iter().sum();
        share.iter_mut().for_each(|s| *s /= total);
        Some(Places {
            first,
            share,
            evidence: most + (total / profile.len() as f64).ln(),
        })
    }

    /// The place with the most probability within [`EQUIVALENT_VERSIONS`] versions of it, the likeliest place among equals.
    pub(crate) fn best(&self) -> usize {
        let near = |place: usize| {
            let (low, high) = (
                place.saturating_sub(EQUIVALENT_VERSIONS),
                (place + EQUIVALENT_VERSIONS + 1).min(self.share.len()),
            );
            let weight = |other: usize| {
                1.0 - 0.1 * place.abs_diff(other) as f64 / EQUIVALENT_VERSIONS as f64
            };
            (low..high)
                .map(|other| self.share[other] * weight(other))
                .sum::<f64>()
        };
        let mut best = (0, 0.0);
        for place in 0..self.share.len() {
            let near = near(place);
            if near > best.1 {
                best = (place, near);
            }
        }
        self.first + best.0
    }

    /// The first and the last place that are left when `tail` of the probability is cut from either end.
    pub(crate) fn within(&self, tail: f64) -> (usize, usize) {
        let mut sum = 0.0;
        let (mut low, mut high) = (None, self.share.len() - 1);
        for (place, share) in self.share.iter().enumerate() {
            sum += share;
            if low.is_none() && sum > tail {
                low = Some(place);
            }
            if sum >= 1.0 - tail {
                high = place;
                break;
            }
        }
        (self.first + low.unwrap_or(0), self.first + high)
    }
}
