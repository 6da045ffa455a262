//! Seasonality (nights and days, months of a year): a period is removed before the search for levels, as it is neither noise
//! nor change. Only clear periods of at most 64 points are found.

/// The longest period looked for.
const MAX_PERIOD: usize = 64;

/// What the differences of a series must have for autocorrelation at the period. Noise of any shape has less than
/// 4/√n; repeated steps add little, for most differences have none.
const MIN_AUTOCORRELATION_AT_PERIOD: f64 = 0.4;

/// A period and what each of its phases does.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Season {
    /// By phase: what it adds, or its factor.
    phases: Vec<f64>,
    /// Whether phases are factors: where the season grows with the level.
    multiplies: bool,
}

impl Season {
    /// `None` if there is no plain period of which the series holds four.
    pub(crate) fn detect(series: &[f64]) -> Option<Self> {
        let period = period(series)?;
        let trend = running_mean(series, period);
        let adds = Season {
            phases: centred(of_phases(series, &trend, period, |x, trend| x - trend), 0.0),
            multiplies: false,
        };
        if series.iter().any(|x| *x <= 0.0) {
            return Some(adds);
        }
        let multiplies = Season {
            phases: centred(of_phases(series, &trend, period, |x, trend| x / trend), 1.0),
            multiplies: true,
        };
        // What is left around the running mean, as a share of it, so that neither is judged in its own unit.
        let left = |season: &Season| -> f64 {
            let rest = season.taken_from(series);
            let inner = rest[period / 2..].iter().zip(&trend);
            let mut shares: Vec<f64> = inner.map(|(x, trend)| (x / trend - 1.0).abs()).collect();
            let most = shares.len() * 9 / 10;
            *shares.select_nth_unstable_by(most, f64::total_cmp).1
        };
        match left(&multiplies) < 0.8 * left(&adds) {
            true => Some(multiplies),
            false => Some(adds),
        }
    }

    /// How many points make one period.
    pub(crate) fn period(&self) -> usize {
        self.phases.len()
    }

    /// The series without its season.
    pub(crate) fn taken_from(&self, series: &[f64]) -> Vec<f64> {
        series
            .iter()
            .zip(self.phases.iter().cycle())
            .map(|(x, phase)| match self.multiplies {
                true => x / phase,
                false => x - phase,
            })
            .collect()
    }
}

/// The median of what each phase does beside the running mean.
fn of_phases(
    series: &[f64],
    trend: &[f64],
    period: usize,
    beside: impl Fn(f64, f64) -> f64,
) -> Vec<f64> {
    let half = period / 2;
    (0..period)
        .map(|phase| {
            let inner = (half..series.len() - half).filter(|i| i % period == phase);
            let mut does: Vec<f64> = inner.map(|i| beside(series[i], trend[i - half])).collect();
            let middle = does.len() / 2;
            *does.select_nth_unstable_by(middle, f64::total_cmp).1
        })
        .collect()
}

/// Moves the phases so that together they do nothing.
fn centred(mut phases: Vec<f64>, nothing: f64) -> Vec<f64> {
    let mean = crate::sums::mean(&phases);
    phases.iter_mut().for_each(|phase| *phase += nothing - mean);
    phases
}

fn period(series: &[f64]) -> Option<usize> {
    let longest = MAX_PERIOD.min(series.len() / 4);
    if longest < 2 {
        return None;
    }
    let mut differences: Vec<f64> = series.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // What a trend adds to all of them repeats with every period.
    let drift = median(&differences);
    differences.iter_mut().for_each(|d| *d -= drift);
    // An outlier or a step must not be all that there is to correlate.
    let mut sizes: Vec<f64> = differences.iter().map(|d| d.abs()).collect();
    let most = 3.0
        * *sizes
            .select_nth_unstable_by(differences.len() / 2, f64::total_cmp)
            .1;
    let clipped: Vec<f64> = differences.iter().map(|d| d.clamp(-most, most)).collect();
    let squares: f64 = clipped.iter().map(|d| d * d).sum();
    if squares <= 0.0 || !squares.is_finite() {
        return None;
    }
    let at = |lag: usize| sum_of_products(&clipped[lag..], &clipped) / squares;
    let correlations: Vec<f64> = (1..=longest).map(at).collect();
    // The differences of a level that wanders smoothly are alike too, but the less the further they lie apart: at a period
    // they are alike again.
    let mut lowest = f64::INFINITY;
    let again: Vec<bool> = (correlations.iter())
        .map(|&c| {
            lowest = lowest.min(c);
            c >= 2.0 * lowest
        })
        .collect();
    let peaks = || (correlations.iter().enumerate()).filter(|(i, _)| again[*i]);
    let highest = peaks().map(|(_, &c)| c).fold(0.0, f64::max);
    let plain = MIN_AUTOCORRELATION_AT_PERIOD.max(4.0 / (series.len() as f64).sqrt());
    if highest < plain {
        return None;
    }
    // Of a period and its multiples, the period.
    let (first, _) = peaks().find(|(_, c)| **c >= 0.85 * highest)?;
    let top = (first..correlations.len() - 1).find(|&i| correlations[i + 1] <= correlations[i]);
    Some(top.unwrap_or(correlations.len() - 1) + 1)
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// In eight sums side by side, which the processor adds at once.
fn sum_of_products(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    for (a, b) in a.chunks(8).zip(b.chunks(8)) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    sums.iter().sum()
}

/// Means over one period, centred; of an even period the two ends count half. Item i is about point i + period/2.
fn running_mean(series: &[f64], period: usize) -> Vec<f64> {
    let half = period / 2;
    let windows = series.windows(2 * half + 1);
    windows
        .map(|window| {
            let ends = if period.is_multiple_of(2) {
                (window[0] + window[period]) / 2.0
            } else {
                0.0
            };
            (window.iter().sum::<f64>() - ends) / period as f64
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;
    use crate::simulation::{NoiseShape, steps};

    #[test]
    fn a_period_is_found_and_taken_out() {
        for period in [7, 12] {
            let noise = NoiseShape::Gauss.draw(150, &mut Random::seeded(1));
            let wave = |i: usize| 5.0 * (i as f64 * std::f64::consts::TAU / period as f64).sin();
            let series: Vec<f64> = noise.iter().enumerate().map(|(i, x)| x + wave(i)).collect();
            let season = Season::detect(&series).unwrap();
            assert_eq!((season.period(), season.multiplies), (period, false));
            for (rest, noise) in season.taken_from(&series).iter().zip(&noise) {
                assert!((rest - noise).abs() < 2.0, "{rest} {noise}");
            }
        }
    }

    #[test]
    fn noise_and_steps_have_no_season() {
        let mut random = Random::seeded(2);
        let levels: Vec<(usize, f64)> = (0..20)
            .map(|i| (20, if i % 2 == 0 { 0.0 } else { 3.0 }))
            .collect();
        for noise in [
            NoiseShape::Gauss,
            NoiseShape::Lognormal { sigma: 1.0 },
            NoiseShape::Autoregressive { keep: 0.5 },
        ] {
            for _ in 0..100 {
                assert_eq!(Season::detect(&noise.draw(200, &mut random)), None);
                assert_eq!(Season::detect(&noise.draw(30, &mut random)), None);
            }
            assert_eq!(Season::detect(&steps(&levels, noise, &mut random)), None);
        }
        let curve: Vec<f64> = (0..300).map(|i| (f64::from(i) / 90.0).exp()).collect();
        assert_eq!(Season::detect(&curve), None);
        assert_eq!(Season::detect(&[1.0; 100]), None);
        assert_eq!(Season::detect(&[1.0, 2.0]), None);
    }
}
