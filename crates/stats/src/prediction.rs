//! How long something will take that took so long before.
//!
//! Durations are taken for log-normal: what varies them does so in proportion. The next one lies within
//! exp(m ± t·s·√(1 + 1/n)), where m is the mean of the n logarithms and s their deviation. Few durations say little of how they vary, so that
//! s² is moderated by a prior: (ν₀s₀² + Σ(x−m)²) / (ν₀ + n − 1), with as many degrees of freedom (the normal model with a scaled inverse
//! chi-squared prior: A. Gelman et al., *Bayesian Data Analysis*, 3rd ed., section 3.3, with a flat prior of the mean).

use crate::{Confidence, Interval, distributions::t_quantile};

/// What is assumed of the variation of durations before there are any.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DurationPrior {
    /// The usual deviation of logarithms: ln 1.3, so that one in three of a command's durations is longer or shorter by more than 30 %.
    pub deviation: f64,
    /// How many degrees of freedom that is worth: few, so that five durations outweigh it.
    pub freedom: f64,
}

impl Default for DurationPrior {
    fn default() -> Self {
        Self {
            deviation: 0.262_364,
            freedom: 3.0,
        }
    }
}

/// How long the next one will take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PredictedDuration {
    /// As likely longer as shorter, in seconds.
    pub median: f64,
    /// Where it lies with the confidence that was asked for.
    pub interval: Interval,
}

/// How long the next one will take of what took so many seconds before; nothing where nothing is known. Durations that aren't positive
/// don't count.
pub fn predict_duration(
    seconds: &[f64],
    confidence: Confidence,
    prior: DurationPrior,
) -> Option<PredictedDuration> {
    let logs = seconds.iter().filter(|it| it.is_finite() && **it > 0.0);
    let logs: Vec<f64> = logs.map(|it| it.ln()).collect();
    if logs.is_empty() {
        return None;
    }
    let number = logs.len() as f64;
    let mean = crate::sums::mean(&logs);
    let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    let freedom = prior.freedom + number - 1.0;
    let variance = (prior.freedom * prior.deviation.powi(2) + squares) / freedom;
    let reach = t_quantile(confidence, freedom) * (variance * (1.0 + 1.0 / number)).sqrt();
    Some(PredictedDuration {
        median: mean.exp(),
        interval: Interval {
            low: (mean - reach).exp(),
            high: (mean + reach).exp(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn predicted(seconds: &[f64]) -> Option<PredictedDuration> {
        let confidence = Confidence::new(0.8).unwrap();
        predict_duration(seconds, confidence, DurationPrior::default())
    }

    #[test]
    fn nothing_is_predicted_of_nothing() {
        assert_eq!(predicted(&[]), None);
        assert_eq!(predicted(&[0.0, -1.0, f64::NAN]), None);
    }

    #[test]
    fn one_duration_is_taken_for_usual_with_a_wide_interval() {
        let one = predicted(&[100.0]).unwrap();
        assert!((one.median - 100.0).abs() < 1e-9);
        // exp(±1.638·0.2624·√2)
        assert!((one.interval.low - 54.46).abs() < 0.1, "{one:?}");
        assert!((one.interval.high - 183.6).abs() < 0.3, "{one:?}");
        let many = predicted(&[100.0; 20]).unwrap();
        assert!(many.interval.is_within(one.interval));
        assert!(many.interval.high < 120.0, "{many:?}");
    }

    #[test]
    fn eight_of_ten_lie_within() {
        let mut random = crate::Random::seeded(7);
        let (mut within, rounds) = (0_u32, 4000_u32);
        for _ in 0..rounds {
            let mut draw = || (3.0 + 0.3 * random.normal()).exp();
            let known: Vec<f64> = (0..10).map(|_| draw()).collect();
            let next = draw();
            within += u32::from(predicted(&known).unwrap().interval.contains(next));
        }
        let share = f64::from(within) / f64::from(rounds);
        assert!((0.75..0.83).contains(&share), "{share}");
    }
}
