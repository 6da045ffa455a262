//! Numbers as tables show them: in one readable unit a row, with spread and count.
//!
//! What is undefined is a word, not 0.

use backsight_model::{
    Unit,
    numbers::{self, Scale, signed, undefined},
    significant,
};
use backsight_policy::{BaselineRelation, ComparisonRow, Difference, MeasuredEntry, RowEntry};
use backsight_stats::{Interval, Level, Undefined};

/// The unit in which a row is shown, and with how many digits.
#[derive(Debug, Clone, Copy)]
pub struct RowScale {
    /// That unit; none if nobody said it.
    pub unit: Option<Unit>,
    factor: f64,
    digits: Option<usize>,
}

impl RowScale {
    /// The unit of a row: the one in which the baseline's mean reads best; the next side's if there is none or it is
    /// zero. With digits asked for, the row's own.
    pub fn new(row: &ComparisonRow, digits: Option<usize>) -> Self {
        let comparable = |measured: &&MeasuredEntry| {
            !matches!(measured.against, Some(BaselineRelation::NotComparable(_)))
        };
        let means = row
            .entries
            .iter()
            .filter_map(RowEntry::measured)
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

    /// The mean of a side with the digits that its spread supports, unless digits were asked for.
    pub fn show_mean(&self, measured: &MeasuredEntry) -> String {
        match self.digits {
            Some(digits) => exact(measured.mean * self.factor, digits),
            None => numbers::mean(
                measured.mean * self.factor,
                measured.reach.map(|reach| reach * self.factor),
            ),
        }
    }

    fn show_digits(&self, value: f64, digits: usize) -> String {
        match self.digits {
            Some(digits) => exact(value * self.factor, digits),
            None => significant(value * self.factor, digits),
        }
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

/// `38.21 ±1.2 % n=5`, with its own unit where that isn't the row's.
pub fn mean(measured: &MeasuredEntry, scale: &RowScale) -> String {
    let own;
    let (scale, unit) = match measured.against {
        Some(BaselineRelation::NotComparable(_)) => {
            own = RowScale::fitting(measured.unit, measured.mean);
            (&own, own.unit_after())
        }
        _ => (scale, String::new()),
    };
    format!(
        "{}{unit} {} {}",
        scale.show_mean(measured),
        spread(measured, scale),
        count(measured)
    )
}

/// The spread beside a mean: in percent of it; in the row's unit where the mean is zero; in brackets where it is the
/// spread within the only trial.
pub fn spread(measured: &MeasuredEntry, scale: &RowScale) -> String {
    let summary = match measured.level {
        Level::Sample => &measured.of_samples,
        _ => &measured.of_trials,
    };
    let spread = match (measured.spread, summary.stddev) {
        (Ok(percent), _) => numbers::spread(percent),
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
pub fn count(measured: &MeasuredEntry) -> String {
    let mut text = format!("n={}", measured.trials);
    if measured.failed > 0 {
        text.push_str(&format!("/{}", measured.trials + measured.failed));
    }
    if measured.samples != measured.trials {
        text.push_str(&format!(" ({})", measured.samples));
    }
    text
}

/// `+0.530`: new − base in the row's unit; with its interval where there is none in percent.
pub fn absolute(difference: &Difference, scale: &RowScale) -> String {
    let whole = absolute_with_interval(difference, scale);
    match (difference.percent, difference.percent_interval) {
        (Ok(_), Ok(_)) => whole.split(" [").next().unwrap_or_default().to_owned(),
        _ => whole,
    }
}

/// `+0.530 [+0.380, +0.680]`: new − base in the row's unit.
pub fn absolute_with_interval(difference: &Difference, scale: &RowScale) -> String {
    let own = Scale::plain(None);
    let scaled = |value: f64| value * scale.factor;
    let interval = difference.absolute_interval.ok().map(|ends| Interval {
        low: scaled(ends.low),
        high: scaled(ends.high),
    });
    let value = scaled(difference.absolute);
    match scale.digits {
        None => own.difference(value, interval),
        Some(digits) => with_interval(value, interval, "", |x| signed(&exact(x, digits))),
    }
}

/// A value and its interval, with the digits that were asked for.
fn with_interval(
    value: f64,
    interval: Option<Interval>,
    unit: &str,
    show: impl Fn(f64) -> String,
) -> String {
    match interval {
        Some(ends) => format!(
            "{}{unit} [{}, {}]",
            show(value),
            show(ends.low),
            show(ends.high)
        ),
        None => format!("{}{unit}", show(value)),
    }
}

/// `+3.12 % [+2.25, +4.00]`: new − base in percent of the base; or why there is none.
pub fn relative(difference: &Difference, scale: &RowScale) -> String {
    match (difference.percent, difference.percent_interval) {
        // An interval without a width would claim more than equal numbers can say.
        (Ok(value), Ok(interval)) if interval.width() == 0.0 => {
            format!("{} (all alike)", numbers::percent(value))
        }
        (Ok(value), Ok(interval)) => match scale.digits {
            None => numbers::percent_in(value, Some(interval)),
            Some(digits) => {
                let show = |x: f64| signed(&format!("{x:.digits$}"));
                with_interval(value, Some(interval), " %", show)
            }
        },
        (_, Err(why @ (Undefined::Unbounded | Undefined::NotEstimable))) | (Err(why), _) => {
            numbers::no_ratio(why).to_owned()
        }
        (Ok(value), Err(_)) => format!("{} (no interval)", numbers::percent(value)),
    }
}

/// `0.968 [0.960, 0.977]`, or why there is none.
pub fn ratio(difference: &Difference) -> String {
    match (difference.ratio, difference.ratio_interval) {
        (Ok(ratio), Ok(interval)) if interval.width() == 0.0 => {
            format!("{} (all alike)", numbers::ratio(ratio, None))
        }
        (Ok(ratio), Ok(interval)) => numbers::ratio(ratio, Some(interval)),
        (Ok(_), Err(why @ (Undefined::Unbounded | Undefined::NotEstimable))) => {
            format!("ratio {}", numbers::no_ratio(why))
        }
        (Ok(ratio), Err(_)) => format!("{} (no interval)", numbers::ratio(ratio, None)),
        (Err(Undefined::NotPositive), _) => "no ratio: base isn't positive".to_owned(),
        (Err(why), _) => undefined(why).to_owned(),
    }
}
