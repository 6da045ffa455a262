//! Numbers as text: a fitting prefix of the unit, as many digits as the spread allows, and estimates with their interval.
//!
//! Below are `backsight_model::numbers`, which the sentences of policies and errors need too.

pub use backsight_model::numbers::*;
use backsight_stats::{Better, Confidence, Interval, Samples, Undefined, welch};

/// The arrow that stands beside a metric: up or down where that is better.
#[must_use]
pub fn direction_arrow(better: Better) -> char {
    match better {
        Better::Higher => '↑',
        Better::Lower => '↓',
        Better::Neither => '↕',
    }
}

/// Which direction is better, as a clause for titles and axes.
#[must_use]
pub fn direction_words(better: Better) -> &'static str {
    match better {
        Better::Higher => "higher is better",
        Better::Lower => "lower is better",
        Better::Neither => "neither direction is better",
    }
}

/// A mean, how sure it is, and of how many.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeanEstimate {
    /// Which mean: `Hmean` of rates, else `Amean`.
    pub kind: &'static str,
    /// The mean.
    pub mean: f64,
    /// The ends of its 95 % interval; the upper may be infinite.
    pub interval: Result<(f64, f64), Undefined>,
    /// The number of samples.
    pub n: usize,
}

impl MeanEstimate {
    /// The mean of independent samples with Student's interval: of rates that are all positive the harmonic mean, with
    /// the interval of the time that one unit of work takes.
    pub fn from_samples(samples: &Samples, better: Better) -> Self {
        let harmonic =
            (better == Better::Higher && samples.min() > 0.0).then(|| samples.hmean().ok());
        if let Some(mean) = harmonic.flatten() {
            let times = samples.measured().iter().map(|rate| 1.0 / rate).collect();
            let interval = match Samples::new(times) {
                Ok(times) => students(&times).map(|time| {
                    let high = if time.low > 0.0 {
                        1.0 / time.low
                    } else {
                        f64::INFINITY
                    };
                    (1.0 / time.high, high)
                }),
                Err(_) => Err(Undefined::TooLarge),
            };
            return Self {
                kind: "Hmean",
                mean,
                interval,
                n: samples.n(),
            };
        }
        Self {
            kind: "Amean",
            mean: samples.amean(),
            interval: students(samples).map(|interval| (interval.low, interval.high)),
            n: samples.n(),
        }
    }

    /// `37.52 ±0.31`, in the scale's unit and without it; `37.5 +0.4 −0.3` where one side of the interval is more than
    /// a quarter wider than the other; `37.52` for a mean whose spread isn't known.
    pub fn shown(&self, scale: &Scale) -> String {
        let mean = scale.convert(self.mean);
        let Ok((low, high)) = self.interval else {
            return value(mean, 4);
        };
        let (below, above) = (mean - scale.convert(low), scale.convert(high) - mean);
        let rounding = Rounding::to_uncertainty(mean, below.min(above));
        let [shown, minus, plus] = [mean, below, above].map(|number| rounding.value(number));
        let (narrow, wide) = (below.min(above), below.max(above));
        if wide <= narrow * 1.25 {
            format!("{shown} ±{}", if below > above { minus } else { plus })
        } else if above.is_finite() {
            format!("{shown} +{plus} −{minus}")
        } else {
            format!("{shown} −{minus} +∞")
        }
    }

    /// `[37.21, 37.83] Gbit/s`, or why there is no interval.
    pub fn interval_shown(&self, scale: &Scale) -> String {
        match self.interval {
            Ok((low, high)) => {
                let (low, mean, high) = (
                    scale.convert(low),
                    scale.convert(self.mean),
                    scale.convert(high),
                );
                let rounding = Rounding::to_uncertainty(mean, (mean - low).min(high - mean));
                let interval = rounding.interval(Interval { low, high });
                format!("{interval}{}", scale.unit_after())
            }
            Err(why) => why.to_string(),
        }
    }
}

/// Student's interval of a mean.
fn students(samples: &Samples) -> Result<Interval, Undefined> {
    // Beside something that is exactly zero, Welch's difference is the mean and its degrees of freedom are n − 1.
    let nothing = Samples::new(vec![0.0, 0.0]).map_err(|_| Undefined::NoSpread)?;
    welch(&nothing, samples, Confidence::USUAL).map(|welch| welch.difference_interval)
}

/// One value as it was measured: whole numbers stay whole.
pub fn value(value: f64, digits: usize) -> String {
    if value.fract() == 0.0 && value.abs() < 1e6 {
        format!("{value:.0}")
    } else {
        significant(value, digits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_model::Unit;

    fn estimate(values: &[f64], better: Better) -> MeanEstimate {
        MeanEstimate::from_samples(&Samples::new(values.to_vec()).unwrap(), better)
    }

    fn scale(unit: &str, largest: f64) -> Scale {
        Scale::fitting(Unit::parse(unit).unwrap(), [largest])
    }

    #[test]
    fn the_interval_of_a_mean_is_students() {
        // Student's sleep data, second drug; R: t.test(extra[group == 2])$conf.int gives 0.8976775 3.7623225.
        let second = estimate(
            &[1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4],
            Better::Lower,
        );
        let (low, high) = second.interval.unwrap();
        assert!((low - 0.897_677_5).abs() < 1e-6, "{low}");
        assert!((high - 3.762_322_5).abs() < 1e-6, "{high}");
    }

    #[test]
    fn the_mean_of_rates_is_harmonic_and_its_interval_that_of_times() {
        let rates = estimate(&[10.0, 12.0, 14.0], Better::Higher);
        let times = estimate(&[1.0 / 10.0, 1.0 / 12.0, 1.0 / 14.0], Better::Lower);
        let (low, high) = times.interval.unwrap();
        assert_eq!(rates.kind, "Hmean");
        assert!((rates.mean - 1.0 / times.mean).abs() < 1e-12);
        let (slowest, fastest) = rates.interval.unwrap();
        assert!((slowest - 1.0 / high).abs() < 1e-9 && (fastest - 1.0 / low).abs() < 1e-9);
        let wild = estimate(&[1.0, 100.0], Better::Higher);
        assert_eq!(wild.interval.unwrap().1, f64::INFINITY);
        assert_eq!(estimate(&[0.0, 3.0], Better::Higher).kind, "Amean");
    }

    #[test]
    fn digits_are_those_that_the_spread_allows() {
        let lag = estimate(&[37.2, 37.9, 37.5], Better::Lower);
        assert_eq!(lag.shown(&scale("ms", 37.9)), "37.53 ±0.87");
        let rate = estimate(&[37.2e9, 37.9e9, 37.5e9], Better::Higher);
        assert_eq!(rate.shown(&scale("bit/s", 37.9e9)), "37.53 ±0.89");
        let wild = estimate(&[10.0, 20.0, 40.0, 20.0], Better::Higher);
        assert_eq!(wild.shown(&scale("ms", 40.0)), "17.8 +143.7 −8.4");
        let steady = estimate(&[100.0, 100.0, 100.0], Better::Lower);
        assert_eq!(steady.shown(&scale("ms", 100.0)), "100");
        let one = estimate(&[5.25], Better::Lower);
        assert_eq!(one.shown(&scale("ms", 5.0)), "5.250");
        assert!(
            one.interval_shown(&scale("ms", 5.0))
                .starts_with("undefined")
        );
    }
}
