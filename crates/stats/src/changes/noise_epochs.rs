//! Noise epochs: changes in the size of the residuals, not in the level. They are breaks, not regressions.

use super::change_location::{Places, StretchSide};
use super::noise::{self, Density};
use super::residuals::{deviation, residuals};
use super::split_selection::{Selection, SplitAcceptance, stretches};
use super::{DetectionOptions, VarianceChange, in_series};

/// Where the sizes of the residuals change.
pub(crate) fn epochs(deviations: &[f64], search: &DetectionOptions) -> Vec<VarianceChange> {
    let sizes: Vec<f64> = deviations.iter().map(|r| r.abs()).collect();
    let n = sizes.len();
    let mut selection = Selection::new(&sizes);
    let kept = noise::kept_by_differences(&sizes);
    let belief = SplitAcceptance {
        false_per_point: search.false_per_point / 3.0,
        kept,
    };
    let changes = selection.changes(&[], belief);
    if changes.is_empty() {
        return Vec::new();
    }
    // Logarithms make a wider epoch a shifted one.
    let floor = deviation(deviations).max(f64::MIN_POSITIVE) * 0.05;
    let logs: Vec<f64> = sizes.iter().map(|size| (size + floor).ln()).collect();
    let (level, around_level) = residuals(&logs, &stretches(&changes, n, 1));
    let density = Density::from_residuals(&around_level);
    let neighbourhoods = stretches(&changes, n, 2);
    neighbourhoods
        .into_iter()
        .enumerate()
        .map(|(i, around)| {
            let found = changes[i];
            let side = |level| density.as_ref().map(|noise| StretchSide { level, noise });
            let places = side(level[i])
                .zip(side(level[i + 1]))
                .and_then(|(old, new)| Places::from_sides(&logs, around, kept, old, new));
            let at = places.as_ref().map_or(found, Places::best);
            let (earliest, latest) =
                places.map_or((at, at), |p| p.within(search.confidence.tail()));
            VarianceChange {
                at,
                earliest: earliest.min(at),
                latest: latest.max(at),
                before: deviation(&deviations[around.start..at]),
                after: deviation(&deviations[at..around.end]),
                p: selection
                    .significance(around, kept)
                    .map_or(1.0, |s| in_series(s.p, around, n)),
            }
        })
        .collect()
}
