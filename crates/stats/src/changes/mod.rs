//! Change points: where a series of versions changed, by how much, with which probability, and which size could have been
//! found.
//!
//! The steps, each with its sources in its module:
//!
//! 1. `seasonality` removes a period.
//! 2. `step_likelihood` finds clear steps, however few points follow them, by comparing steps and autocorrelated noise with
//!    that noise alone. `rank_scan` and `split_selection` find smaller lasting ones: they search the normal scores of
//!    half-overlapping stretches of every scale for splits; a split is accepted if it is more than chance gives *for points
//!    with this autocorrelation*, at a stated number of false changes per point. Ranks make the search independent of the
//!    noise's shape and of outliers.
//! 3. `noise` estimates the autocorrelation from the residuals, and the search is repeated with it.
//! 4. `change_location` places each change where it is most probable under the noise's own density.
//! 5. `nonstationary_level`: where the level itself moves, straight lines with few breaks describe the series instead, and
//!    steps need more than a random walk explains. `trend`, `sloped`: where one line with autocorrelated noise is likelier than
//!    the steps, the series has a trend and no changes; where one slope with fewer steps is, a trend with those.
//! 6. `noise_epochs` searches the sizes of the residuals in the same way: their changes are breaks, not regressions.
//!
//! Fewer than eight points have no changes. [`OnlineDetector`] does the same for a series that grows, point by point.
//!
//! A series is one value per version, in order; spacing doesn't matter. Leave out versions that weren't measured, and read
//! "between `earliest` − 1 and `latest`" as "in one of the versions after the measured one at `earliest` − 1, up to the one at
//! `latest`". [`version_value`] makes one value of several samples of a version.

mod change_location;
mod change_size;
mod levels;
mod noise;
mod noise_epochs;
mod nonstationary_level;
mod online_detection;
mod pending_change;
mod piecewise_linear;
mod rank_scan;
mod residuals;
mod seasonality;
mod sloped;
mod split_selection;
mod step_likelihood;
mod trend;
mod variance_inflation;

pub use online_detection::{DetectionUpdate, OnlineDetector};
pub use pending_change::PendingLevel;
pub use step_likelihood::MIN_POINTS;
pub use trend::Trend;

use serde::{Deserialize, Serialize};

use crate::{Confidence, Interval, Samples, SamplesError};

use levels::Levels;
use piecewise_linear::line_findings;
use rank_scan::Stretch;
use residuals::trimmed_mean;
use seasonality::Season;

/// How to search a series.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DetectionOptions {
    /// False changes to accept per point of a series that doesn't change: 1.8e-4 unless asked otherwise.
    pub false_per_point: f64,
    /// Of the intervals of place and size.
    pub confidence: Confidence,
}

impl Default for DetectionOptions {
    fn default() -> Self {
        DetectionOptions {
            false_per_point: 1.8e-4,
            confidence: Confidence::USUAL,
        }
    }
}

/// What sort of change it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schemars",
    derive(schemars::JsonSchema),
    schemars(rename = "Kind")
)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// From one level to another.
    Level,
    /// The level never rests, and moves differently from here on.
    Trend,
}

/// One change of a series. Places are indices into the series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DetectedChange {
    /// The first point after the change, at the best guess.
    pub at: usize,
    /// The earliest point that may be the first after the change.
    pub earliest: usize,
    /// The latest point that may be the first after the change.
    pub latest: usize,
    /// Level or trend.
    pub kind: ChangeKind,
    /// The value before: the level, or where the trend had led to.
    pub before: f64,
    /// The value after.
    pub after: f64,
    /// `after` − `before` with its interval.
    pub size: f64,
    /// The interval of `size`.
    pub size_interval: Interval,
    /// The probability that chance gives a change as clear somewhere in a series of this length. Changes told are believed
    /// already; over many series, adjust those of [`ChangeKind::Level`] by [`benjamini_hochberg`](crate::benjamini_hochberg).
    /// Of a [`ChangeKind::Trend`] it is about the lines' own noise, and rough.
    pub p: f64,
    /// The probability that there is a change, if that was as likely as not before looking.
    pub probability: f64,
}

/// A place from which on the noise is wider or narrower: another machine, another compiler, other neighbours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VarianceChange {
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
    /// As [`DetectedChange::p`].
    pub p: f64,
}

/// The clearest change that wasn't believed isn't worth a sentence if chance gives one as clear more often than not, which is
/// what a p-value above this says: in noise alone half of all series have a clearer one.
pub const MAX_DOUBTED_P: f64 = 0.5;

/// The clearest change that was looked at and not believed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DoubtedChange {
    /// Where it would be.
    pub at: usize,
    /// As [`DetectedChange::p`].
    pub p: f64,
}

/// What a search found, and what it could have found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Findings {
    /// In the order of the series.
    pub changes: Vec<DetectedChange>,
    /// In the order of the series; none where the level never rests.
    pub epochs: Vec<VarianceChange>,
    /// The clearest of the changes that were not believed.
    pub doubted: Option<DoubtedChange>,
    /// How the level moves steadily all along, if it does: what is left when the steps of `changes` are taken out.
    pub trend: Option<Trend>,
    /// The newest points, if they may be the beginning of another level.
    pub pending: Option<PendingLevel>,
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
const MIN_NONSTATIONARY_AUTOCORRELATION: f64 = 0.5;

/// The value that stands for one version: the mean of its samples without the tenth furthest out on either side.
#[must_use]
pub fn version_value(samples: &Samples) -> f64 {
    trimmed_mean(&mut samples.ascending().to_vec())
}

/// Searches a series, one finite value a version, in order.
///
/// # Errors
/// [`SamplesError`] if there is no value or one is NaN or infinite.
pub fn detect(series: &[f64], search: &DetectionOptions) -> Result<Findings, SamplesError> {
    if series.is_empty() {
        return Err(SamplesError::Empty);
    }
    if let Some(index) = series.iter().position(|x| !x.is_finite()) {
        return Err(SamplesError::NotFinite {
            index,
            value: series[index],
        });
    }
    let season = Season::detect(series);
    let period = season.as_ref().map(Season::period);
    let rest = season.map(|season| season.taken_from(series));
    Ok(Findings {
        period,
        ..describe(rest.as_deref().unwrap_or(series), search)
    })
}

/// By levels; by lines where the level never rests; by one line where that describes a series better than steps do.
fn describe(series: &[f64], search: &DetectionOptions) -> Findings {
    let mut levels = Levels::from_series(series, search);
    if let Some(description) = nonstationary_level::lines(series, &levels, search) {
        return line_findings(series, &description, search);
    }
    if !levels.changes.is_empty() && nonstationary_level::wanders(series, &levels) {
        let steps = nonstationary_level::steps_beyond(series, &levels.changes, search);
        levels.keep_changes(series, steps);
    }
    if !levels.changes.is_empty() && trend::explains_steps(series, &levels.changes) {
        levels.keep_changes(series, Vec::new());
    }
    match sloped::levels(series, &levels, search) {
        Some(sloped) => sloped.findings(series, search),
        None => levels.findings(series, search),
    }
}

/// A stretch's p-value as one of all the stretches of its length that the series has.
fn in_series(p: f64, stretch: Stretch, n: usize) -> f64 {
    (p * n as f64 / stretch.points() as f64).min(1.0)
}

#[cfg(test)]
mod tests;
