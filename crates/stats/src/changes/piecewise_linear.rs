//! Findings of a series that straight lines with breaks describe.

use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use crate::distributions::t_quantile;

use super::change_size::Size;
use super::nonstationary_level::Description;
use super::rank_scan::Stretch;
use super::split_selection::stretches;
use super::{ChangeKind, DetectedChange, DetectionOptions, Findings, noise, trend};

/// The findings of a series whose level never rests.
pub(crate) fn line_findings(
    series: &[f64],
    description: &Description,
    search: &DetectionOptions,
) -> Findings {
    let n = series.len();
    let lines = &description.lines;
    let segments = stretches(&lines.breaks, n, 1);
    let ends: Vec<(f64, f64)> = segments
        .iter()
        .map(|s| trend::ends(series, s.start..s.end))
        .collect();
    let line = segments
        .iter()
        .zip(&ends)
        .flat_map(|(segment, &(first, last))| {
            let step = (last - first) / (segment.points() - 1).max(1) as f64;
            (0..segment.points()).map(move |i| first + step * i as f64)
        });
    let left: Vec<f64> = series.iter().zip(line).map(|(x, line)| x - line).collect();
    let kept = noise::kept_by_residuals(&left, &segments);
    // Autocorrelation makes the lines' own noise look smaller than what it does to them.
    let inflation = (1.0 + kept) / (1.0 - kept);
    let freedom = (n as f64 - (3 * lines.breaks.len() + 2) as f64).max(1.0);
    let noise = inflation * lines.left / freedom;
    let told = Lines {
        series,
        sums: trend::Sums::new(series),
        ends,
        noise,
        freedom,
        search,
    };
    let around = stretches(&lines.breaks, n, 2)
        .into_iter()
        .zip(&lines.breaks)
        .enumerate();
    let changes = around
        .map(|(i, (around, &at))| {
            let p = description.p.as_ref().map(|p| p[i]);
            told.change(i, around, at, p)
        })
        .collect();
    Findings {
        changes,
        epochs: Vec::new(),
        doubted: None,
        trend: match lines.breaks.is_empty() {
            true => trend::trend(series, search),
            false => None,
        },
        pending: None,
        period: None,
        kept,
        noise: (lines.left / n as f64).sqrt(),
        least_found: None,
    }
}

/// Lines with their noise.
struct Lines<'a> {
    series: &'a [f64],
    sums: trend::Sums,
    /// Where each line begins and where it leads.
    ends: Vec<(f64, f64)>,
    /// The variance around them, for independent points as good.
    noise: f64,
    freedom: f64,
    search: &'a DetectionOptions,
}

impl Lines<'_> {
    /// The break at `at` between line `i` and the next, with its p-value if that is known.
    fn change(&self, i: usize, around: Stretch, at: usize, p: Option<f64>) -> DetectedChange {
        let left = |at: usize| self.sums.left(around.start..at) + self.sums.left(at..around.end);
        // A place is left out when it explains worse than F allows with one degree of freedom.
        let reach = t_quantile(self.search.confidence, self.freedom);
        let likely = |other: &usize| left(*other) <= left(at) + reach * reach * self.noise;
        let (before, after) = (self.ends[i].1, self.ends[i + 1].0);
        let (k, l) = ((at - around.start) as f64, (around.end - at) as f64);
        // The end of a line through k points has four times the variance of their mean.
        let size = Size {
            value: after - before,
            error: 2.0 * (self.noise / k + self.noise / l).sqrt(),
            freedom: self.freedom,
        };
        let explained = (self.sums.left(around.start..around.end) - left(at)).max(0.0);
        let p = p.unwrap_or_else(|| self.chance_of(explained));
        DetectedChange {
            at,
            earliest: (around.start + 2..=at).find(likely).unwrap_or(at),
            latest: (at..=around.end - 2).rev().find(likely).unwrap_or(at),
            kind: ChangeKind::Trend,
            before,
            after,
            size: size.value,
            size_interval: size.interval(self.search.confidence),
            p,
            probability: 1.0 - calibrated(p),
        }
    }

    /// By an F test of the three parameters of a break, for as many places as the series has.
    fn chance_of(&self, explained: f64) -> f64 {
        let ratio = explained / 3.0 / self.noise.max(f64::MIN_POSITIVE);
        match FisherSnedecor::new(3.0, self.freedom) {
            Ok(distribution) if ratio.is_finite() => {
                (self.series.len() as f64 * distribution.sf(ratio.min(1e12))).min(1.0)
            }
            _ => 0.0,
        }
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
