//! Noise around the levels: its autocorrelation and its density.

use crate::distributions::NormalScores;
use crate::sums;

use super::rank_scan::{Stretch, dense_ranks};

/// Autocorrelation above this isn't taken for noise but for a level that moves.
pub(crate) const MAX_AUTOCORRELATION: f64 = 0.7;

/// A first look at the lag-1 autocorrelation, before any level is known.
///
/// For an AR(1) the differences at lag 2 have 1 + φ times the variance of those at lag 1, whatever the levels are
/// as long as they seldom change. Source: S. Chakar et al., "A robust approach for estimating change-points in the
/// mean of an AR(1) process", Bernoulli 23 (2017), eq. 7, with clipped squares in place of their quantile.
pub(crate) fn kept_by_differences(values: &[f64]) -> f64 {
    if values.len() < 8 {
        return 0.0;
    }
    let clipped = |lag: usize| {
        let differences = values[lag..].iter().zip(values).map(|(b, a)| (b - a).abs());
        let mut differences: Vec<f64> = differences.collect();
        let most = (differences.len() - 1) * 4 / 5;
        let most = *differences.select_nth_unstable_by(most, f64::total_cmp).1;
        differences.iter().map(|x| x.min(most).powi(2)).sum::<f64>() / differences.len() as f64
    };
    let (near, far) = (clipped(1), clipped(2));
    if near <= 0.0 {
        0.0
    } else {
        (far / near - 1.0).clamp(0.0, MAX_AUTOCORRELATION)
    }
}

/// The lag-1 autocorrelation of residuals within their segments, corrected for the levels having been fitted to them.
///
/// Taken from the residuals' normal scores, as the search is: an outlier is one rank among many.
pub(crate) fn kept_by_residuals(residuals: &[f64], segments: &[Stretch]) -> f64 {
    let n = residuals.len();
    let scores = NormalScores::new(n);
    let score: Vec<f64> = dense_ranks(residuals)
        .into_iter()
        .map(|rank| scores.score(f64::from(rank)))
        .collect();
    let (mut products, mut squares, mut pairs) = (0.0, 0.0, 0.0);
    for segment in segments {
        let score = &score[segment.start..segment.end];
        let mean = score.iter().sum::<f64>() / score.len() as f64;
        squares += score.iter().map(|s| (s - mean) * (s - mean)).sum::<f64>();
        products += score
            .windows(2)
            .map(|w| (w[0] - mean) * (w[1] - mean))
            .sum::<f64>();
        pairs += (score.len() - 1) as f64;
    }
    // Scores are of the size of 1: what is less is the rounding of equal ones.
    if squares <= 1e-9 || pairs < 4.0 {
        return 0.0;
    }
    let raw = (products / pairs) / (squares / n as f64);
    // F. H. C. Marriott, J. A. Pope (1954): a fitted mean costs (1 + 3φ)/n.
    let cost = segments.len() as f64 / n as f64;
    (raw + cost).clamp(0.0, MAX_AUTOCORRELATION)
}

/// A density estimated from residuals, as a table of its logarithm.
#[derive(Debug, Clone)]
pub(crate) struct Density {
    low: f64,
    step: f64,
    width: f64,
    log: Vec<f64>,
}

const DENSITY_CELLS: usize = 256;

/// The share of the density that is spread over the whole table, so that a single outlier decides nothing.
const UNIFORM_SHARE: f64 = 0.02;

impl Density {
    /// A Gaussian kernel estimate with B. W. Silverman's width (*Density Estimation*, 1986, eq. 3.31), for which the
    /// spread is that of the densest half: two modes must not blur each other. `None` if there is no spread.
    pub(crate) fn from_residuals(residuals: &[f64]) -> Option<Self> {
        let ascending = ascending(residuals);
        let n = ascending.len();
        if n < 2 {
            return None;
        }
        let mean = sums::mean(&ascending);
        let deviation = sums::root_of_squares(&ascending, mean) / (n as f64).sqrt();
        let half = n.div_ceil(2);
        let densest = (0..=n - half)
            .map(|i| ascending[i + half - 1] - ascending[i])
            .fold(f64::INFINITY, f64::min);
        let spread = if densest > 0.0 {
            deviation.min(densest / 1.349)
        } else {
            deviation
        };
        if spread <= 0.0 || !spread.is_finite() {
            return None;
        }
        let width = 0.9 * spread * (n as f64).powf(-0.2);
        // Wide enough for the bulk and for the bulk moved; what is outside has the floor's density.
        let at = |p: f64| ascending[((n - 1) as f64 * p).round() as usize];
        let margin = 4.0 * spread.max((at(0.75) - at(0.25)) / 1.349);
        Some(Density::estimate(
            &ascending,
            width,
            at(0.01) - margin,
            at(0.99) + margin,
        ))
    }

    /// An estimate from other residuals that can be compared with `other`: the same width over the same range.
    pub(crate) fn as_wide_as(other: &Density, residuals: &[f64]) -> Option<Self> {
        let high = other.low + other.step * (DENSITY_CELLS - 1) as f64;
        (!residuals.is_empty())
            .then(|| Density::estimate(&ascending(residuals), other.width, other.low, high))
    }

    fn estimate(ascending: &[f64], width: f64, low: f64, high: f64) -> Self {
        let step = (high - low) / (DENSITY_CELLS - 1) as f64;
        let mut counts = [0.0; DENSITY_CELLS];
        for r in ascending {
            let place = (r - low) / step;
            if place >= 0.0 && place < (DENSITY_CELLS - 1) as f64 {
                let cell = place as usize;
                counts[cell] += 1.0 - place.fract();
                counts[cell + 1] += place.fract();
            }
        }
        let reach = ((4.0 * width / step).ceil() as usize).clamp(1, DENSITY_CELLS);
        let kernel: Vec<f64> = (0..=reach)
            .map(|i| (-0.5 * (i as f64 * step / width).powi(2)).exp())
            .collect();
        let mut density = [0.0; DENSITY_CELLS];
        for (cell, &count) in counts.iter().enumerate() {
            if count > 0.0 {
                let nearby = cell.saturating_sub(reach)..(cell + reach + 1).min(DENSITY_CELLS);
                for (place, density) in nearby.clone().zip(&mut density[nearby]) {
                    *density += count * kernel[cell.abs_diff(place)];
                }
            }
        }
        let kernel_sum = kernel[0] + 2.0 * kernel[1..].iter().sum::<f64>();
        let scale = (1.0 - UNIFORM_SHARE) / (kernel_sum * step * ascending.len() as f64);
        let floor = UNIFORM_SHARE / (high - low);
        Density {
            low,
            step,
            width,
            log: density.iter().map(|d| (d * scale + floor).ln()).collect(),
        }
    }

    /// The logarithm of the density at `x`.
    pub(crate) fn log_at(&self, x: f64) -> f64 {
        let place = ((x - self.low) / self.step).clamp(0.0, (DENSITY_CELLS - 2) as f64 + 0.999_999);
        let cell = place as usize;
        let share = place - cell as f64;
        self.log[cell] * (1.0 - share) + self.log[cell + 1] * share
    }
}

fn ascending(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_unstable_by(f64::total_cmp);
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;
    use crate::simulation::{NoiseShape, steps};

    #[test]
    fn differences_tell_the_autocorrelation_in_spite_of_steps() {
        let levels: Vec<(usize, f64)> = (0..10).map(|i| (100, f64::from(i % 3) * 4.0)).collect();
        for keep in [0.0, 0.3, 0.6] {
            let series = steps(
                &levels,
                NoiseShape::Autoregressive { keep },
                &mut Random::seeded(1),
            );
            let kept = kept_by_differences(&series);
            assert!((kept - keep).abs() < 0.12, "{keep}: {kept}");
        }
    }

    #[test]
    fn a_density_sums_to_one_and_has_its_modes_where_they_are() {
        let values = NoiseShape::Bimodal {
            upper_share: 0.5,
            apart: 8.0,
        }
        .draw(500, &mut Random::seeded(2));
        let density = Density::from_residuals(&values).unwrap();
        let total: f64 = density.log.iter().map(|log| log.exp() * density.step).sum();
        assert!((total - 1.0).abs() < 0.03, "{total}");
        assert!(density.log_at(0.97) > density.log_at(0.0) + 2.0);
        assert!(density.log_at(-0.97) > density.log_at(0.0) + 2.0);
    }

    #[test]
    fn equal_values_have_no_density() {
        assert!(
            Density::from_residuals(&[2.0; 9]).is_none()
                && Density::from_residuals(&[1.0]).is_none()
                && Density::from_residuals(&[]).is_none()
        );
    }
}
