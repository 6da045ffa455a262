//! Numbers as a reader wants them: a fitting prefix, as many digits as the spread allows, never without spread and
//! count. Refuses: to show a number whose unit isn't known.

use backsight_model::{Unit, significant};
pub(crate) use backsight_model::{counted, grouped};
use backsight_stats::{Better, Confidence, Interval, Samples, Undefined, welch};
use std::time::Duration;

/// One unit for numbers that stand beside each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale {
    /// The unit to show; none if nobody said it.
    pub unit: Option<Unit>,
    factor: f64,
}

impl Scale {
    /// The scale that makes the largest of these numbers readable.
    pub fn fitting(unit: impl Into<Option<Unit>>, numbers: impl IntoIterator<Item = f64>) -> Self {
        let Some(unit) = unit.into() else {
            return Self {
                unit: None,
                factor: 1.0,
            };
        };
        let largest = numbers
            .into_iter()
            .filter(|number| number.is_finite())
            .fold(0.0, |largest: f64, number| largest.max(number.abs()));
        let readable = unit.readable_for(largest);
        Self {
            unit: Some(readable),
            factor: unit.in_terms_of(readable).unwrap_or(1.0),
        }
    }

    /// ` Gbit/s`, as it stands after a number; nothing without a unit.
    pub fn unit_after(&self) -> String {
        self.unit.map_or(String::new(), |unit| format!(" {unit}"))
    }

    /// A number in this unit.
    pub fn of(&self, number: f64) -> f64 {
        number * self.factor
    }
}

/// A mean, how sure it is, and of how many.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Estimate {
    /// Which mean: `Hmean` of rates, else `Amean`.
    pub kind: &'static str,
    pub mean: f64,
    /// The ends of its 95 % interval; the upper may be infinite.
    pub interval: Result<(f64, f64), Undefined>,
    pub n: usize,
}

impl Estimate {
    /// The mean of independent samples with Student's interval: of rates that are all positive the harmonic mean, with
    /// the interval of the time that one unit of work takes.
    pub fn of(samples: &Samples, better: Better) -> Self {
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
        let mean = scale.of(self.mean);
        let Ok((low, high)) = self.interval else {
            return value(mean, 4);
        };
        let (below, above) = (mean - scale.of(low), scale.of(high) - mean);
        let decimals = decimals_for(below.min(above), mean);
        let [shown, minus, plus] =
            [mean, below, above].map(|number| format!("{number:.decimals$}"));
        let (narrow, wide) = (below.min(above), below.max(above));
        if wide <= narrow * 1.25 {
            format!("{shown} ±{}", if below > above { minus } else { plus })
        } else if above.is_finite() {
            format!("{shown} +{plus} −{minus}")
        } else {
            format!("{shown} −{minus} +∞")
        }
    }

    /// `37.21 to 37.83 Gbit/s`, or why there is no interval.
    pub fn interval_shown(&self, scale: &Scale) -> String {
        match self.interval {
            Ok((low, high)) => {
                let (low, mean, high) = (scale.of(low), scale.of(self.mean), scale.of(high));
                let decimals = decimals_for((mean - low).min(high - mean), mean);
                format!(
                    "{low:.decimals$} to {high:.decimals$}{}",
                    scale.unit_after()
                )
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

/// Decimals that show two digits of the spread, and not more than six digits of the value.
fn decimals_for(spread: f64, value: f64) -> usize {
    let magnitude = |number: f64| number.abs().log10().floor();
    if spread == 0.0 || !spread.is_finite() {
        return 2;
    }
    let by_spread = 1.0 - magnitude(spread);
    let by_value = if value == 0.0 {
        by_spread
    } else {
        5.0 - magnitude(value)
    };
    by_spread.min(by_value).clamp(0.0, 9.0) as usize
}

/// `+1.93 %`: a difference with its sign, a real minus, and two digits of what is behind the point.
pub(crate) fn percent(value: f64) -> String {
    let decimals = match value.abs() {
        small if small < 10.0 => 2,
        middle if middle < 1000.0 => 1,
        _ => 0,
    };
    format!("{} %", signed(&format!("{value:.decimals$}")))
}

/// A number with its sign, a real minus; none for what is shown as zero.
pub(crate) fn signed(number: &str) -> String {
    let (minus, digits) = match number.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, number),
    };
    if digits.chars().all(|c| matches!(c, '0' | '.')) {
        digits.to_owned()
    } else {
        format!("{}{digits}", if minus { '−' } else { '+' })
    }
}

/// `3.1 %` of a share of 0.031.
pub(crate) fn share(share: f64) -> String {
    if share.is_finite() {
        format!("{:.1} %", share * 100.0)
    } else {
        "unknown".to_owned()
    }
}

/// `48.3 MiB`, `512 bytes`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1024 {
        return format!("{bytes} byte{}", if bytes == 1 { "" } else { "s" });
    }
    let mut amount = bytes as f64 / 1024.0;
    let mut unit = 0;
    while amount >= 1023.5 && unit + 1 < UNITS.len() {
        amount /= 1024.0;
        unit += 1;
    }
    format!("{} {}", significant(amount, 3), UNITS[unit])
}

/// `5 min 12 s`, `3.21 s`, `12 ms`.
pub(crate) fn duration(length: Duration) -> String {
    let seconds = length.as_secs_f64();
    let whole = seconds.round() as u64;
    match whole {
        0 if seconds < 0.0995 => format!("{:.0} ms", seconds * 1e3),
        0..10 => format!("{seconds:.2} s"),
        10..60 => format!("{seconds:.1} s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        3600..172_800 => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
        _ => format!("{} days {} h", whole / 86_400, whole % 86_400 / 3600),
    }
}

/// One value as it was measured: whole numbers stay whole.
pub(crate) fn value(value: f64, digits: usize) -> String {
    if value.fract() == 0.0 && value.abs() < 1e6 {
        format!("{value:.0}")
    } else {
        significant(value, digits)
    }
}

/// As much of a text as a line holds.
pub(crate) fn clipped(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut kept: String = text.chars().take(most.saturating_sub(1)).collect();
    kept.push('…');
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(values: &[f64], better: Better) -> Estimate {
        Estimate::of(&Samples::new(values.to_vec()).unwrap(), better)
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

    #[test]
    fn lengths_and_sizes_read_like_words() {
        assert_eq!(duration(Duration::from_millis(12)), "12 ms");
        assert_eq!(duration(Duration::from_millis(3214)), "3.21 s");
        assert_eq!(duration(Duration::from_secs(312)), "5 min 12 s");
        assert_eq!(duration(Duration::from_secs(7260)), "2 h 1 min");
        assert_eq!(size(1), "1 byte");
        assert_eq!(size(50_000_000), "47.7 MiB");
    }

    #[test]
    fn a_difference_has_its_sign_unless_it_is_none() {
        assert_eq!(percent(1.934), "+1.93 %");
        assert_eq!(percent(-28.571), "−28.6 %");
        assert_eq!(percent(-0.0001), "0.00 %");
        assert_eq!(percent(-1234.5), "−1234 %");
    }
}
