//! Forecast of a try: how many passes it will take to see a difference of a given size, from the noise of earlier studies.
//!
//! Input: the standard deviation of one pass's difference (of the logarithm of side / base) of each comparison that decides. A side
//! that makes no difference is decided when its interval, which lies around what was measured and not around zero, fits into the
//! margin; where a side differs by more it ends sooner.

use backsight_stats::{Confidence, ConfidenceSequence};

use super::TryPolicy;

/// The median of how far a mean lies from the true one, in its standard errors: the 75 % quantile of the normal distribution.
const MEDIAN_ERROR: f64 = 0.6745;
/// More passes than anybody makes.
const MAX_PASSES: usize = 100_000;
/// Passes before anything is decided.
const MIN_PASSES: usize = 4;

/// How much one comparison that decides varied.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ForecastNoise {
    /// The cell's number in the plan's order, from 0.
    pub cell: usize,
    /// Standard deviation of the logarithm of side / base of one pass.
    pub deviation: f64,
}

/// What a try is likely to take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TryForecast {
    /// Passes until a side that makes no difference is decided; nothing where more are needed than anybody makes.
    pub passes: Option<usize>,
    /// The cell that needs most of them.
    pub cell: usize,
}

impl TryPolicy {
    /// What decides: the number of each cell that has a deciding metric.
    pub fn deciding_cells(&self) -> Vec<usize> {
        let cells = self.cells.iter().enumerate();
        let deciding = cells.filter(|(_, metrics)| metrics.iter().any(|metric| metric.decides));
        deciding.map(|(cell, _)| cell).collect()
    }

    /// How many passes it will take to know that no difference is larger than `share`, such as 0.02; nothing where no noise is
    /// known.
    pub fn forecast(&self, noise: &[ForecastNoise], share: f64) -> Option<TryForecast> {
        let confidence = self.confidence_each();
        let needed = noise.iter().map(|it| TryForecast {
            passes: passes_to_see(it.deviation, share, confidence),
            cell: it.cell,
        });
        // What is never decided counts most.
        needed.max_by_key(|it| it.passes.unwrap_or(usize::MAX))
    }

    /// The smallest difference, as a share, that so many passes show in all of these comparisons; nothing where they show none.
    pub fn visible_after(&self, noise: &[ForecastNoise], passes: usize) -> Option<f64> {
        let confidence = self.confidence_each();
        let reaches = noise
            .iter()
            .map(|it| expected_margin(it.deviation, passes, confidence));
        let reaches: Option<Vec<f64>> = reaches.collect();
        let widest = reaches?.into_iter().reduce(f64::max)?;
        Some(widest.exp_m1())
    }
}

/// The margin, as a logarithm, into which the interval fits after so many passes in half of the cases.
fn expected_margin(deviation: f64, passes: usize, confidence: Confidence) -> Option<f64> {
    if passes < MIN_PASSES {
        return None;
    }
    let reach = ConfidenceSequence::expected_reach(passes, deviation, confidence)?;
    Some(reach + MEDIAN_ERROR * deviation / (passes as f64).sqrt())
}

/// The passes after which the interval fits into the margin; nothing where no number that anybody makes does.
fn passes_to_see(deviation: f64, share: f64, confidence: Confidence) -> Option<usize> {
    // The end at 1 − share is the further one, on the scale of logarithms.
    let margin = share.ln_1p();
    let enough = |passes: usize| {
        expected_margin(deviation, passes, confidence).is_some_and(|needed| needed <= margin)
    };
    if margin <= 0.0 || !enough(MAX_PASSES) {
        return None;
    }
    let (mut low, mut high) = (MIN_PASSES - 1, MAX_PASSES);
    while low + 1 < high {
        let middle = usize::midpoint(low, high);
        match enough(middle) {
            true => high = middle,
            false => low = middle,
        }
    }
    Some(high)
}
