//! Levels with noise around them: the changes between them, and their probability.

use crate::distributions::normal_quantile;

use super::change_location::{Places, StretchSide};
use super::change_size::{self, Beside, Size, error_of_difference};
use super::noise::{self, Density};
use super::noise_epochs::epochs;
use super::pending_change::pending;
use super::rank_scan::Stretch;
use super::residuals::{deviation, residuals};
use super::split_selection::{Selection, SplitAcceptance, stretches};
use super::step_likelihood::{self, Step};
use super::variance_inflation::inflation;
use super::{ChangeKind, DetectedChange, DetectionOptions, DoubtedChange, Findings, in_series};

/// By how much a segment's own density must explain it better, in ln of the likelihood, to be used instead of the
/// common one; a tenth a point comes on top.
const EVIDENCE_OF_OWN_DENSITY: f64 = 10.0;

/// Levels with noise around them.
pub(crate) struct Levels {
    selection: Selection,
    /// Those of the changes that the likelihood of the whole series speaks for.
    steps: Vec<Step>,
    pub changes: Vec<usize>,
    /// One a segment.
    level: Vec<f64>,
    residuals: Vec<f64>,
    pub kept: f64,
    /// Of the innovations; `None` if there is no noise at all, or nothing to place.
    density: Option<Density>,
}

impl Levels {
    pub(crate) fn from_series(series: &[f64], search: &DetectionOptions) -> Self {
        let mut selection = Selection::new(series);
        let steps = step_likelihood::steps(series, search.false_per_point);
        let clear: Vec<usize> = steps.iter().map(|step| step.at).collect();
        let mut kept = match clear.is_empty() {
            true => noise::kept_by_differences(series),
            false => {
                let segments = stretches(&clear, series.len(), 1);
                noise::kept_by_residuals(&residuals(series, &segments).1, &segments)
            }
        };
        let mut changes: Option<Vec<usize>> = None;
        for _ in 0..3 {
            let belief = SplitAcceptance {
                false_per_point: search.false_per_point,
                kept,
            };
            let mut found = selection.changes(&clear, belief);
            step_likelihood::drop_stubs(&mut found, &clear, series.len());
            if changes.as_ref() == Some(&found) {
                break;
            }
            let segments = stretches(&found, series.len(), 1);
            kept = noise::kept_by_residuals(&residuals(series, &segments).1, &segments);
            changes = Some(found);
        }
        let changes = changes.unwrap_or_default();
        let mut levels = Levels {
            selection,
            steps,
            changes,
            level: Vec::new(),
            residuals: Vec::new(),
            kept,
            density: None,
        };
        levels.measure(series);
        for _ in 0..2 {
            if !levels.settle(series) {
                break;
            }
            levels.measure(series);
        }
        levels
    }

    fn segments(&self) -> Vec<Stretch> {
        stretches(&self.changes, self.residuals.len(), 1)
    }

    /// From the change before to the change after.
    fn around(&self, i: usize) -> Stretch {
        let start = if i == 0 { 0 } else { self.changes[i - 1] };
        let end = self
            .changes
            .get(i + 1)
            .copied()
            .unwrap_or(self.residuals.len());
        Stretch { start, end }
    }

    /// Describes the series by levels between these changes only.
    pub(crate) fn keep_changes(&mut self, series: &[f64], changes: Vec<usize>) {
        self.changes = changes;
        self.measure(series);
        self.kept = noise::kept_by_residuals(&self.residuals, &self.segments());
    }

    /// The sum of squared residuals.
    pub(crate) fn left(&self) -> f64 {
        self.residuals.iter().map(|r| r * r).sum()
    }

    fn measure(&mut self, series: &[f64]) {
        let segments = stretches(&self.changes, series.len(), 1);
        (self.level, self.residuals) = residuals(series, &segments);
        if !self.changes.is_empty() {
            let innovations: Vec<f64> = segments
                .iter()
                .flat_map(|&segment| self.innovations(segment))
                .collect();
            self.density = Density::from_residuals(&innovations);
        }
    }

    fn innovations(&self, segment: Stretch) -> impl Iterator<Item = f64> {
        self.residuals[segment.start..segment.end]
            .windows(2)
            .map(|pair| pair[1] - self.kept * pair[0])
    }

    /// The segment's own density, where that explains it so much better than the common one that the noise changed
    /// its shape: more or less of it, or another share of its modes.
    fn own_density(&self, segment: Stretch) -> Option<Density> {
        let common = self.density.as_ref()?;
        let innovations: Vec<f64> = self.innovations(segment).collect();
        let own = Density::as_wide_as(common, &innovations)?;
        let gain: f64 = innovations
            .iter()
            .map(|&r| own.log_at(r) - common.log_at(r))
            .sum();
        // An estimate always fits the points better that it was made from, by about its number of parameters.
        (gain > EVIDENCE_OF_OWN_DENSITY + 0.1 * innovations.len() as f64).then_some(own)
    }

    /// Moves each change to its best place between its neighbours; says whether any moved.
    fn settle(&mut self, series: &[f64]) -> bool {
        let before = self.changes.clone();
        for i in 0..self.changes.len() {
            if let Some(places) = self.places(series, i) {
                self.changes[i] = places.best();
            }
        }
        self.changes != before
    }

    fn places(&self, series: &[f64], i: usize) -> Option<Places> {
        let around = self.around(i);
        let at = self.changes[i];
        let common = self.density.as_ref()?;
        let before = self.own_density(Stretch { end: at, ..around });
        let after = self.own_density(Stretch {
            start: at,
            ..around
        });
        let old = StretchSide {
            level: self.level[i],
            noise: before.as_ref().unwrap_or(common),
        };
        let new = StretchSide {
            level: self.level[i + 1],
            noise: after.as_ref().unwrap_or(common),
        };
        Places::from_sides(series, around, self.kept, old, new)
    }

    pub(crate) fn findings(mut self, series: &[f64], search: &DetectionOptions) -> Findings {
        let n = series.len();
        let changes = (0..self.changes.len())
            .map(|i| self.change(series, i, search))
            .collect();
        let segments = self.segments();
        let doubted = segments
            .iter()
            .filter_map(|&segment| {
                let found = self.selection.significance(segment, self.kept)?;
                Some(DoubtedChange {
                    at: found.at,
                    p: in_series(found.p, segment, n),
                })
            })
            .min_by(|a, b| a.p.total_cmp(&b.p));
        let noise = deviation(&self.residuals);
        let belief = SplitAcceptance {
            false_per_point: search.false_per_point,
            kept: self.kept,
        };
        let least = |points: usize, belief: SplitAcceptance, noise: f64| {
            least_found(points, n, belief).map(|deviations| deviations * noise)
        };
        let pending = pending(series, &self.changes, self.kept, search);
        let trend = match self.changes.is_empty() {
            true => super::trend::trend(series, search),
            false => None,
        };
        if let Some(trend) = trend {
            // Everything else is said of what lies around the line.
            let rest = trend.taken_from(series);
            let mut level = Levels::from_series(&rest, search);
            level.keep_changes(&rest, Vec::new());
            let noise = deviation(&level.residuals);
            let belief = SplitAcceptance {
                kept: level.kept,
                ..belief
            };
            return Findings {
                changes: Vec::new(),
                epochs: epochs(&level.residuals, search),
                doubted: None,
                trend: Some(trend),
                pending,
                period: None,
                kept: level.kept,
                noise,
                least_found: least(n, belief, noise),
            };
        }
        let epochs = epochs(&self.residuals, search);
        Findings {
            changes,
            epochs,
            doubted,
            trend,
            pending,
            period: None,
            kept: self.kept,
            noise,
            least_found: (segments.last()).and_then(|last| least(last.points(), belief, noise)),
        }
    }

    fn change(&mut self, series: &[f64], i: usize, search: &DetectionOptions) -> DetectedChange {
        let (at, before, after) = (self.changes[i], self.level[i], self.level[i + 1]);
        let around = self.around(i);
        let (old, new) = (
            Stretch { end: at, ..around },
            Stretch {
                start: at,
                ..around
            },
        );
        let p = self
            .selection
            .significance(around, self.kept)
            .map_or(1.0, |s| in_series(s.p, around, series.len()));
        let clear = self.steps.iter().filter(|step| step.at.abs_diff(at) <= 2);
        let p = clear
            .map(|step| step.p(series.len(), search.false_per_point))
            .fold(p, f64::min);
        let places = self.places(series, i);
        let (earliest, latest) = places
            .as_ref()
            .map_or((at, at), |p| p.within(search.confidence.tail()));
        let independent = change_size::independent(around.points(), self.kept).max(2.0);
        let probability = places.map_or(1.0, |places| {
            // The new level was fitted to the points: half a logarithm of their number (Schwarz, 1978).
            1.0 / (1.0 + (0.5 * independent.ln() - places.evidence).exp())
        });
        let size = Size {
            value: after - before,
            error: error_of_difference(self.beside(old), self.beside(new), self.kept),
            freedom: independent - 2.0,
        };
        DetectedChange {
            at,
            earliest: earliest.min(at),
            latest: latest.max(at),
            kind: ChangeKind::Level,
            before,
            after,
            size: size.value,
            size_interval: size.interval(search.confidence),
            p,
            probability,
        }
    }

    fn beside(&self, side: Stretch) -> Beside {
        let points = side.points();
        let mut residuals = self.residuals[side.start..side.end].to_vec();
        residuals.sort_unstable_by(f64::total_cmp);
        // The error of a trimmed mean is that of what was drawn in, not of what was cut off (J. W. Tukey, D. H. McLaughlin, "Less
        // vulnerable confidence and significance procedures for location", Sankhya A 25, 1963).
        let cut = points / 10;
        let (low, high) = (residuals[cut], residuals[points - 1 - cut]);
        let drawn_in = residuals.iter().map(|r| r.clamp(low, high));
        let mean = drawn_in.clone().sum::<f64>() / points as f64;
        let squares: f64 = drawn_in.map(|r| (r - mean) * (r - mean)).sum();
        let left = (points - 2 * cut) as f64;
        Beside {
            points,
            variance: squares * points as f64 / (left * (left - 1.0).max(1.0)),
        }
    }
}

/// In standard deviations of the noise, for a change in the middle of so many points of a series of `n`: what either
/// search would find.
fn least_found(points: usize, n: usize, belief: SplitAcceptance) -> Option<f64> {
    if points < step_likelihood::MIN_POINTS {
        return None;
    }
    let (k, l) = (points / 2, points - points / 2);
    let inflation = inflation(belief.kept, k, l);
    // Kolmogorov's distribution, with half of the level. In the middle the statistic has the mean √m·δ/4 and the
    // standard deviation ½.
    let critical = (0.5 * (4.0 / belief.level(points)).ln()).sqrt();
    let spare = -normal_quantile(0.1) / 2.0;
    let by_ranks = 4.0 * inflation.sqrt() * (critical + spare) / (points as f64).sqrt();
    let needed = step_likelihood::STEP.needed(n, belief.false_per_point);
    let by_likelihood = step_likelihood::least_size(needed, k, l, inflation);
    Some(by_ranks.min(by_likelihood))
}
