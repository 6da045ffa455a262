//! Numbers as tables show them: in one readable unit a row, with spread and count.
//!
//! Refuses: to show 0 for what is undefined.

use backsight_model::{Unit, significant};
use backsight_policy::{Against, Difference, Entry, Measured, Row};
use backsight_stats::{Interval, Level, Undefined};

/// The unit in which a row is shown, and with how many digits.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    /// That unit; none if nobody said it.
    pub unit: Option<Unit>,
    factor: f64,
    digits: Option<usize>,
}

impl Scale {
    /// The unit of a row: the one in which the baseline's mean reads best; the next side's if there is none or it is
    /// zero. With digits asked for, the row's own.
    pub fn of(row: &Row, digits: Option<usize>) -> Self {
        let comparable =
            |measured: &&Measured| !matches!(measured.against, Some(Against::NotComparable(_)));
        let means = row
            .entries
            .iter()
            .filter_map(Entry::measured)
            .filter(comparable);
        let first = means
            .map(|measured| measured.mean)
            .find(|mean| *mean != 0.0);
        match row.unit {
            Some(unit) if digits.is_none() => Self::fitting(unit, first.unwrap_or(0.0)),
            unit => Self {
                unit,
                factor: 1.0,
                digits,
            },
        }
    }

    fn fitting(unit: Unit, value: f64) -> Self {
        let readable = unit.readable_for(value);
        let factor = unit.in_terms_of(readable);
        Self {
            unit: Some(factor.map_or(unit, |_| readable)),
            factor: factor.unwrap_or(1.0),
            digits: None,
        }
    }

    /// ` Gbit/s`; nothing without a unit.
    pub fn unit_after(&self) -> String {
        self.unit.map_or(String::new(), |unit| format!(" {unit}"))
    }

    /// A number of the row, without its unit.
    pub fn show(&self, value: f64) -> String {
        self.show_digits(value, 4)
    }

    fn show_digits(&self, value: f64, digits: usize) -> String {
        match self.digits {
            Some(digits) => exact(value * self.factor, digits),
            None => significant(value * self.factor, digits),
        }
    }

    /// Digits behind the point of a percentage, where `usual` are.
    pub fn decimals(&self, usual: usize) -> usize {
        self.digits.unwrap_or(usual)
    }
}

/// A number with this many digits behind the point, and as many significant ones.
pub fn exact(value: f64, digits: usize) -> String {
    const MOST: usize = 340;
    let leading = if value == 0.0 {
        0
    } else {
        (-value.abs().log10().floor() - 1.0).clamp(0.0, MOST as f64) as usize
    };
    format!("{value:.*}", digits + leading)
}

/// `38.21 ±1.2% n=5`, with its own unit where that isn't the row's.
pub fn mean(measured: &Measured, scale: &Scale) -> String {
    let own;
    let (scale, unit) = match measured.against {
        Some(Against::NotComparable(_)) => {
            own = Scale::fitting(measured.unit, measured.mean);
            (&own, own.unit_after())
        }
        _ => (scale, String::new()),
    };
    format!(
        "{}{unit} {} {}",
        scale.show(measured.mean),
        spread(measured, scale),
        count(measured)
    )
}

/// The spread beside a mean: in percent of it; in the row's unit where the mean is zero; in brackets where it is the
/// spread within the only trial.
pub fn spread(measured: &Measured, scale: &Scale) -> String {
    let summary = match measured.level {
        Level::Sample => &measured.of_samples,
        _ => &measured.of_trials,
    };
    let spread = match (measured.spread, summary.stddev) {
        (Ok(percent), _) => format!("±{}%", share(percent.abs())),
        (Err(_), Ok(stddev)) => format!("±{}", scale.show(stddev)),
        (Err(_), Err(_)) => "±?".to_owned(),
    };
    if measured.samples > measured.trials && measured.level == Level::Sample {
        format!("({spread})")
    } else {
        spread
    }
}

/// `n=5`; `n=4/5` where one of five trials failed; `n=5 (500)` where five trials gave 500 samples.
pub fn count(measured: &Measured) -> String {
    let mut text = format!("n={}", measured.trials);
    if measured.failed > 0 {
        text.push_str(&format!("/{}", measured.trials + measured.failed));
    }
    if measured.samples != measured.trials {
        text.push_str(&format!(" ({})", measured.samples));
    }
    text
}

/// A number of percent with two significant digits: `0.12`, `1.2`, `12`.
fn share(percent: f64) -> String {
    match percent {
        0.0 => "0".to_owned(),
        small if small < 1.0 => format!("{small:.2}"),
        middle if middle < 9.95 => format!("{middle:.1}"),
        large => format!("{large:.0}"),
    }
}

/// `-3.1%`, with this many digits behind the point.
pub fn percent(value: f64, decimals: usize) -> String {
    let text = format!("{value:+.decimals$}");
    // A minus before nothing is no direction.
    match text.trim_start_matches(['+', '-']) {
        nothing if nothing.chars().all(|c| matches!(c, '0' | '.')) => format!("{nothing}%"),
        _ => format!("{text}%"),
    }
}

/// Digits behind the point that show two digits of an uncertainty.
fn decimals(uncertainty: f64) -> usize {
    const MOST: f64 = 3.0;
    if uncertainty > 0.0 {
        (1.0 - uncertainty.log10().floor()).clamp(0.0, MOST) as usize
    } else {
        2
    }
}

/// `-3.12% (-4.00 to -2.25)`, in the row's unit where there is no percentage; or why there is none.
pub fn difference(difference: &Difference, scale: &Scale) -> String {
    match (difference.percent, difference.percent_interval) {
        // An interval without a width would claim more than equal numbers can say.
        (Ok(value), Ok(interval)) if interval.width() == 0.0 => {
            format!("{} (all alike)", percent(value, scale.decimals(2)))
        }
        (Ok(value), Ok(interval)) => {
            let digits = scale.decimals(decimals(interval.width() / 2.0));
            let Interval { low, high } = interval;
            format!(
                "{} ({low:+.digits$} to {high:+.digits$})",
                percent(value, digits)
            )
        }
        (Ok(value), Err(_)) if difference.absolute_interval.is_err() => {
            format!("{} (no interval)", percent(value, scale.decimals(2)))
        }
        _ => absolute(difference, scale),
    }
}

/// `by +0.530 (+0.380 to +0.680)`.
fn absolute(difference: &Difference, scale: &Scale) -> String {
    let signed = |value: f64| {
        let text = scale.show_digits(value, 3);
        if value > 0.0 {
            format!("+{text}")
        } else {
            text
        }
    };
    let value = signed(difference.absolute);
    match difference.absolute_interval {
        Ok(Interval { low, high }) => format!("by {value} ({} to {})", signed(low), signed(high)),
        Err(_) => format!("by {value} (no interval)"),
    }
}

/// `0.968 (0.960 to 0.977)`, or why there is none.
pub fn ratio(difference: &Difference) -> String {
    match (difference.ratio, difference.ratio_interval) {
        (Ok(ratio), Ok(Interval { low, high })) => {
            format!(
                "{} ({} to {})",
                plain_ratio(ratio),
                plain_ratio(low),
                plain_ratio(high)
            )
        }
        (Ok(ratio), Err(_)) => format!("{} (no interval)", plain_ratio(ratio)),
        (Err(Undefined::NotPositive), _) => "no ratio: base isn't positive".to_owned(),
        (Err(why), _) => undefined(why).to_owned(),
    }
}

/// A ratio with four significant digits, and not fewer than three behind the point around 1.
pub fn plain_ratio(ratio: f64) -> String {
    if (0.1..10.0).contains(&ratio.abs()) {
        format!("{ratio:.3}")
    } else {
        significant(ratio, 4)
    }
}

/// A p-value: `0.032`, `4.1e-7`.
pub fn p(p: f64) -> String {
    if p > 0.0 && p < 1e-4 {
        format!("{p:.1e}")
    } else {
        significant(p, 2)
    }
}

/// Why a number is undefined, short enough for a table.
pub fn undefined(why: Undefined) -> &'static str {
    match why {
        Undefined::TooFew { .. } => "undefined: too few samples",
        Undefined::NotPositive => "undefined: not positive",
        Undefined::ZeroMean => "undefined: mean is 0",
        Undefined::NoSpread => "undefined: all alike",
        Undefined::Unbounded => "undefined: base may be 0",
        _ => "undefined",
    }
}

/// A text that others wrote, on one line and without what a terminal would obey.
pub fn one_line(text: &str) -> String {
    let harmless = |c: char| {
        !c.is_control() && !matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{202a}'..='\u{202e}')
    };
    text.chars()
        .map(|c| if harmless(c) { c } else { '\u{fffd}' })
        .collect()
}
