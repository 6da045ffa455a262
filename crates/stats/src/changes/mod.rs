//! Change points: where a series of versions changed, by how much, how surely, and what couldn't be seen.
//!
//! The way of it, each step with its source in its module:
//!
//! 1. `season`: a period that repeats is taken out.
//! 2. `scan` and `select`: normal scores of half-overlapping stretches of every scale are searched for splits; what is
//!    accepted must be more than chance would give *for points that keep part of their predecessor's deviation*, at
//!    a stated number of false changes per point. Ranks make the search blind to the noise's shape and to outliers.
//! 3. `noise`: the residuals tell how much is kept, and the search is repeated with it.
//! 4. `place`: each change is put where the noise's own density says that it most probably is.
//! 5. `trend`: where the level never rests, straight lines with few breaks describe the series instead.
//! 6. The sizes of the residuals are searched in the same way: noise epochs, which are breaks and no regressions.
//!
//! Refused: values that are no numbers; to find a change in fewer than eight points.
//!
//! [`Watch`] does the same for a series that grows, point by point.
//!
//! A series is one value per version, in order; spacing doesn't matter. Leave out versions that weren't measured,
//! and read "between `earliest` − 1 and `latest`" as "in one of the versions after the measured one at `earliest` − 1, up
//! to the one at `latest`". Several samples of a version become one value by [`version_value`].

mod noise;
mod place;
mod scan;
mod season;
mod select;
mod trend;
mod watch;

pub use watch::{News, Watch};

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use crate::distributions::{normal_quantile, t_quantile};
use crate::{Confidence, Interval, NotSamples, Samples};

use noise::Density;
use place::{Places, Side};
use scan::Stretch;
use season::Season;
use select::{Belief, Selection, stretches};

/// How to search a series.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Search {
    /// False changes to accept per point of a series that doesn't change: 1.8e-4 unless asked otherwise.
    pub false_per_point: f64,
    /// Of the intervals of place and size.
    pub confidence: Confidence,
}

impl Default for Search {
    fn default() -> Self {
        Search {
            false_per_point: 1.8e-4,
            confidence: Confidence::USUAL,
        }
    }
}

/// What sort of change it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// From one level to another.
    Level,
    /// The level never rests, and moves differently from here on.
    Trend,
}

/// One change of a series. Places are indices into the series.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// The first point after the change, at the best guess.
    pub at: usize,
    /// The earliest point that may be the first after the change.
    pub earliest: usize,
    /// The latest point that may be the first after the change.
    pub latest: usize,
    /// Level or trend.
    pub kind: Kind,
    /// The value before: the level, or where the trend had led to.
    pub before: f64,
    /// The value after.
    pub after: f64,
    /// `after` − `before` with its interval.
    pub size: f64,
    /// The interval of `size`.
    pub size_interval: Interval,
    /// The probability that chance gives a change as clear somewhere in a series of this length.
    pub p: f64,
    /// The probability that there is a change, if that was as likely as not before looking.
    pub probability: f64,
}

/// A place from which on the noise is wider or narrower: another machine, another compiler, other neighbours.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Epoch {
    /// The first point of the new epoch, at the best guess.
    pub at: usize,
    /// The earliest point that may be the first of the epoch.
    pub earliest: usize,
    /// The latest point that may be the first of the epoch.
    pub latest: usize,
    /// Standard deviation before, by the median deviation.
    pub before: f64,
    /// Standard deviation from here on.
    pub after: f64,
    /// As [`Change::p`].
    pub p: f64,
}

/// The clearest change that was looked at and not believed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Doubted {
    /// Where it would be.
    pub at: usize,
    /// As [`Change::p`].
    pub p: f64,
}

/// What a search found, and what it could have found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Findings {
    /// In the order of the series.
    pub changes: Vec<Change>,
    /// In the order of the series; none where the level never rests.
    pub epochs: Vec<Epoch>,
    /// The clearest of the changes that were not believed.
    pub doubted: Option<Doubted>,
    /// The period, in points, that was taken out before anything else; values above are without it.
    pub period: Option<usize>,
    /// How much each point keeps of the deviation of the one before: the lag-1 autocorrelation of the noise.
    pub kept: f64,
    /// The noise's standard deviation, by the median deviation.
    pub noise: f64,
    /// The smallest lasting change of level that would have been found nine times out of ten in the middle of the
    /// latest segment; `None` if that has too few points to find any.
    pub least_found: Option<f64>,
}

/// Residuals that keep so much of their predecessor may be a level that never rests.
const RESTLESS: f64 = 0.5;

/// By how much a segment's own density must explain it better, in ln of the likelihood, to be used instead of the
/// common one; a tenth a point comes on top.
const OWN_SHAPE: f64 = 10.0;

/// The value that stands for one version: the mean of its samples without the tenth furthest out on either side.
#[must_use]
pub fn version_value(samples: &Samples) -> f64 {
    trimmed_mean(&mut samples.ascending().to_vec())
}

/// Searches a series, one finite value a version, in order.
///
/// # Errors
/// [`NotSamples`] if there is no value or one is NaN or infinite.
pub fn detect(series: &[f64], search: &Search) -> Result<Findings, NotSamples> {
    if series.is_empty() {
        return Err(NotSamples::Empty);
    }
    if let Some(index) = series.iter().position(|x| !x.is_finite()) {
        return Err(NotSamples::NotFinite {
            index,
            value: series[index],
        });
    }
    let season = Season::of(series);
    let period = season.as_ref().map(Season::period);
    let rest = season.map(|season| season.taken_from(series));
    Ok(Findings {
        period,
        ..describe(rest.as_deref().unwrap_or(series), search)
    })
}

/// By levels, or by lines where the level never rests.
fn describe(series: &[f64], search: &Search) -> Findings {
    let levels = Levels::of(series, search);
    if levels.kept >= RESTLESS {
        let lines = trend::lines(series);
        if lines.left <= 0.5 * levels.left()
            && (!lines.breaks.is_empty() || !levels.changes.is_empty())
        {
            return restless(series, &lines, &levels, search);
        }
    }
    levels.findings(series, search)
}

/// Levels with noise around them.
struct Levels {
    selection: Selection,
    changes: Vec<usize>,
    /// One a segment.
    level: Vec<f64>,
    residuals: Vec<f64>,
    kept: f64,
    /// Of the innovations; `None` if there is no noise at all, or nothing to place.
    density: Option<Density>,
}

impl Levels {
    fn of(series: &[f64], search: &Search) -> Self {
        let mut selection = Selection::of(series);
        let mut kept = noise::kept_by_differences(series);
        let mut changes: Option<Vec<usize>> = None;
        for _ in 0..3 {
            let found = selection.changes(Belief {
                false_per_point: search.false_per_point,
                kept,
            });
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

    fn left(&self) -> f64 {
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
            self.density = Density::of(&innovations);
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
        (gain > OWN_SHAPE + 0.1 * innovations.len() as f64).then_some(own)
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
        let around = stretches(&self.changes, series.len(), 2)[i];
        let at = self.changes[i];
        let common = self.density.as_ref()?;
        let before = self.own_density(Stretch { end: at, ..around });
        let after = self.own_density(Stretch {
            start: at,
            ..around
        });
        let old = Side {
            level: self.level[i],
            noise: before.as_ref().unwrap_or(common),
        };
        let new = Side {
            level: self.level[i + 1],
            noise: after.as_ref().unwrap_or(common),
        };
        Places::of(series, around, self.kept, old, new)
    }

    fn findings(mut self, series: &[f64], search: &Search) -> Findings {
        let n = series.len();
        let changes = (0..self.changes.len())
            .map(|i| self.change(series, i, search))
            .collect();
        let segments = self.segments();
        let doubted = segments
            .iter()
            .filter_map(|&segment| {
                let found = self.selection.significance(segment, self.kept)?;
                Some(Doubted {
                    at: found.at,
                    p: in_series(found.p, segment, n),
                })
            })
            .min_by(|a, b| a.p.total_cmp(&b.p));
        let noise = deviation(&self.residuals);
        let belief = Belief {
            false_per_point: search.false_per_point,
            kept: self.kept,
        };
        let least_found = segments
            .last()
            .and_then(|last| least_found(last.points(), belief))
            .map(|deviations| deviations * noise);
        let epochs = epochs(&self.residuals, search);
        Findings {
            changes,
            epochs,
            doubted,
            period: None,
            kept: self.kept,
            noise,
            least_found,
        }
    }

    fn change(&mut self, series: &[f64], i: usize, search: &Search) -> Change {
        let (at, before, after) = (self.changes[i], self.level[i], self.level[i + 1]);
        let around = stretches(&self.changes, series.len(), 2)[i];
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
        let places = self.places(series, i);
        let (earliest, latest) = places
            .as_ref()
            .map_or((at, at), |p| p.within(search.confidence.tail()));
        let independent = (around.points() as f64 * (1.0 - self.kept) / (1.0 + self.kept)).max(2.0);
        let probability = places.map_or(1.0, |places| {
            // The new level was fitted to the points: half a logarithm of their number (Schwarz, 1978).
            1.0 / (1.0 + (0.5 * independent.ln() - places.evidence).exp())
        });
        let size = after - before;
        let error = self.error(old, new);
        let freedom = (independent - 2.0).max(1.0);
        let reach = t_quantile(search.confidence, freedom) * error;
        Change {
            at,
            earliest: earliest.min(at),
            latest: latest.max(at),
            kind: Kind::Level,
            before,
            after,
            size,
            size_interval: Interval {
                low: size - reach,
                high: size + reach,
            },
            p,
            probability,
        }
    }

    /// The standard error of the difference of two neighbouring levels.
    fn error(&self, old: Stretch, new: Stretch) -> f64 {
        let variance = |s: Stretch| {
            let r = &self.residuals[s.start..s.end];
            r.iter().map(|r| r * r).sum::<f64>() / (r.len() - 1).max(1) as f64
        };
        let (k, l) = (old.points(), new.points());
        let independent = variance(old) / k as f64 + variance(new) / l as f64;
        (independent * noise::inflation(self.kept, k, l)).sqrt()
    }
}

/// A stretch's p-value as one of all the stretches of its length that the series has.
fn in_series(p: f64, stretch: Stretch, n: usize) -> f64 {
    (p * n as f64 / stretch.points() as f64).min(1.0)
}

/// Each segment's level and each point's deviation from it.
fn residuals(series: &[f64], segments: &[Stretch]) -> (Vec<f64>, Vec<f64>) {
    let levels: Vec<f64> = segments
        .iter()
        .map(|s| {
            let mut values = series[s.start..s.end].to_vec();
            trimmed_mean(&mut values)
        })
        .collect();
    let residuals = segments
        .iter()
        .zip(&levels)
        .flat_map(|(s, level)| series[s.start..s.end].iter().map(move |x| x - level))
        .collect();
    (levels, residuals)
}

/// Reorders `values`.
fn trimmed_mean(values: &mut [f64]) -> f64 {
    let cut = values.len() / 10;
    if cut == 0 {
        return crate::sums::mean(values);
    }
    let (_, _, upper) = values.select_nth_unstable_by(cut - 1, f64::total_cmp);
    let kept = upper.len() - cut;
    let (middle, _, _) = upper.select_nth_unstable_by(kept, f64::total_cmp);
    crate::sums::mean(middle)
}

/// The standard deviation that normal noise with this median deviation from zero has.
fn deviation(residuals: &[f64]) -> f64 {
    let mut sizes: Vec<f64> = residuals.iter().map(|r| r.abs()).collect();
    let middle = sizes.len() / 2;
    1.4826 * *sizes.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// In standard deviations of the noise, for a change in the middle of so many points.
fn least_found(points: usize, belief: Belief) -> Option<f64> {
    if points < 8 {
        return None;
    }
    // As in the search: Kolmogorov's distribution, with half of the level. In the middle the statistic has the
    // mean √m·δ/4 and the standard deviation ½.
    let critical = (0.5 * (4.0 / belief.level(points)).ln()).sqrt();
    let spare = -normal_quantile(0.1) / 2.0;
    let inflated = noise::inflation(belief.kept, points / 2, points - points / 2).sqrt();
    Some(4.0 * inflated * (critical + spare) / (points as f64).sqrt())
}

/// Where the sizes of the residuals change.
fn epochs(residuals: &[f64], search: &Search) -> Vec<Epoch> {
    let sizes: Vec<f64> = residuals.iter().map(|r| r.abs()).collect();
    let n = sizes.len();
    let mut selection = Selection::of(&sizes);
    let kept = noise::kept_by_differences(&sizes);
    let changes = selection.changes(Belief {
        false_per_point: search.false_per_point / 3.0,
        kept,
    });
    if changes.is_empty() {
        return Vec::new();
    }
    // Logarithms make a wider epoch a shifted one.
    let floor = deviation(residuals).max(f64::MIN_POSITIVE) * 0.05;
    let logs: Vec<f64> = sizes.iter().map(|size| (size + floor).ln()).collect();
    let (level, around_level) = self::residuals(&logs, &stretches(&changes, n, 1));
    let density = Density::of(&around_level);
    let neighbourhoods = stretches(&changes, n, 2);
    neighbourhoods
        .into_iter()
        .enumerate()
        .map(|(i, around)| {
            let found = changes[i];
            let side = |level| density.as_ref().map(|noise| Side { level, noise });
            let places = side(level[i])
                .zip(side(level[i + 1]))
                .and_then(|(old, new)| Places::of(&logs, around, kept, old, new));
            let at = places.as_ref().map_or(found, Places::best);
            let (earliest, latest) =
                places.map_or((at, at), |p| p.within(search.confidence.tail()));
            Epoch {
                at,
                earliest: earliest.min(at),
                latest: latest.max(at),
                before: deviation(&residuals[around.start..at]),
                after: deviation(&residuals[at..around.end]),
                p: selection
                    .significance(around, kept)
                    .map_or(1.0, |s| in_series(s.p, around, n)),
            }
        })
        .collect()
}

/// The findings of a series whose level never rests.
fn restless(series: &[f64], lines: &trend::Lines, levels: &Levels, search: &Search) -> Findings {
    let n = series.len();
    let sums = trend::Sums::of(series);
    let segments = stretches(&lines.breaks, n, 1);
    let ends: Vec<(f64, f64)> = segments
        .iter()
        .map(|s| trend::ends(series, s.start..s.end))
        .collect();
    let independent = n as f64 * (1.0 - levels.kept) / (1.0 + levels.kept);
    let freedom = (independent - 2.0 * segments.len() as f64).max(1.0);
    let scale = (lines.left / freedom).sqrt();
    let changes = stretches(&lines.breaks, n, 2)
        .into_iter()
        .enumerate()
        .map(|(i, around)| {
            let at = lines.breaks[i];
            let left = |at: usize| sums.left(around.start..at) + sums.left(at..around.end);
            // A place is left out when it explains worse than F allows with one degree of freedom.
            let reach = t_quantile(search.confidence, freedom);
            let most = left(at) + reach * reach * lines.left / freedom;
            let likely = |at: &usize| left(*at) <= most;
            let earliest = (around.start + 2..=at).find(likely).unwrap_or(at);
            let latest = (at..=around.end - 2).rev().find(likely).unwrap_or(at);
            let without = (sums.left(around.start..around.end) - left(at)).max(0.0);
            let ratio = without / 3.0 / (lines.left / freedom).max(f64::MIN_POSITIVE);
            let p = match FisherSnedecor::new(3.0, freedom) {
                Ok(distribution) if ratio.is_finite() => {
                    (n as f64 * distribution.sf(ratio)).min(1.0)
                }
                _ => 0.0,
            };
            let (before, after) = (ends[i].1, ends[i + 1].0);
            let size = after - before;
            let (k, l) = ((at - around.start) as f64, (around.end - at) as f64);
            // The end of a line through k points has four times the variance of their mean.
            let error = 2.0 * scale * (1.0 / k + 1.0 / l).sqrt();
            Change {
                at,
                earliest,
                latest,
                kind: Kind::Trend,
                before,
                after,
                size,
                size_interval: Interval {
                    low: size - reach * error,
                    high: size + reach * error,
                },
                p,
                probability: 1.0 - calibrated(p),
            }
        })
        .collect();
    Findings {
        changes,
        epochs: Vec::new(),
        doubted: None,
        period: None,
        kept: levels.kept,
        noise: (lines.left / n as f64).sqrt(),
        least_found: None,
    }
}

/// The least probability that a p-value leaves to "no change", if that was as likely as not before looking.
///
/// Source: T. Sellke, M. J. Bayarri, J. O. Berger, "Calibration of p values for testing precise null hypotheses",
/// The American Statistician 55 (2001).
fn calibrated(p: f64) -> f64 {
    if p <= 0.0 {
        return 0.0;
    }
    if p >= (-1.0_f64).exp() {
        return 0.5;
    }
    let odds = -std::f64::consts::E * p * p.ln();
    odds / (1.0 + odds)
}

#[cfg(test)]
mod tests;
