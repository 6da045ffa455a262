//! Numbers as every text, table and page shows them. One form each: a value is rounded to what its interval supports, an
//! interval is `[low, high]`, a difference is new − base with its sign, a probability is never certain.
//!
//! Programs get numbers in full; nothing here is for JSON or CSV.

use backsight_stats::{Confidence, Interval, Undefined};
use std::time::Duration;

use crate::Unit;
pub use crate::digits::significant;

/// Digits of a number whose uncertainty isn't known.
const UNSUPPORTED_DIGITS: usize = 3;
/// Most significant digits of a number, however narrow its interval.
const MOST_DIGITS: i32 = 6;
/// Significant digits of an uncertainty.
const UNCERTAINTY_DIGITS: i32 = 2;
/// Most decimals of a percentage.
const MOST_PERCENT_DECIMALS: i32 = 4;
/// Numbers from here on are shown with an exponent.
const EXPONENT_FROM: f64 = 1e9;

/// So many of something: `1 trial`, `5 trials`, `1,000 passes`.
pub fn counted(count: usize, noun: &str) -> String {
    let plural = match count {
        1 => "",
        _ if noun.ends_with('s') => "es",
        _ => "s",
    };
    format!("{} {noun}{plural}", grouped(count as u64))
}

/// A whole number, its digits by threes: `1,000,000`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// One unit for numbers that stand beside each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    /// The unit to show; none if nobody said it.
    pub unit: Option<Unit>,
    factor: f64,
}

impl Scale {
    /// The metric's own unit.
    pub fn plain(unit: Option<Unit>) -> Self {
        Self { unit, factor: 1.0 }
    }

    /// The scale that makes the largest of these numbers readable.
    pub fn fitting(unit: impl Into<Option<Unit>>, numbers: impl IntoIterator<Item = f64>) -> Self {
        let Some(unit) = unit.into() else {
            return Self::plain(None);
        };
        let largest = numbers
            .into_iter()
            .filter(|number| number.is_finite())
            .fold(0.0, |largest: f64, number| largest.max(number.abs()));
        let readable = unit.readable_for(largest);
        match unit.in_terms_of(readable) {
            Some(factor) => Self {
                unit: Some(readable),
                factor,
            },
            None => Self::plain(Some(unit)),
        }
    }

    /// ` Gbit/s`, as it stands after a number; nothing without a unit.
    pub fn unit_after(&self) -> String {
        self.unit.map_or(String::new(), |unit| format!(" {unit}"))
    }

    /// A number in this unit.
    pub fn convert(&self, number: f64) -> f64 {
        number * self.factor
    }

    /// An interval in this unit.
    pub fn convert_interval(&self, interval: Interval) -> Interval {
        Interval {
            low: self.convert(interval.low),
            high: self.convert(interval.high),
        }
    }

    /// A difference in this unit with its sign and interval: `+34.1 ms [+31.0, +37.2]`.
    pub fn difference(&self, difference: f64, interval: Option<Interval>) -> String {
        let interval = interval.map(|interval| self.convert_interval(interval));
        let rounding = Rounding::from_interval(self.convert(difference), interval);
        let shown = rounding.difference(self.convert(difference));
        let unit = self.unit_after();
        match interval {
            Some(interval) => format!("{shown}{unit} {}", rounding.differences(interval)),
            None => format!("{shown}{unit}"),
        }
    }
}

/// The place of the last digit that is shown: 10 to this power.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rounding {
    place: i32,
}

impl Rounding {
    /// To the second significant digit of this uncertainty, and to six of the value at most.
    pub fn to_uncertainty(value: f64, uncertainty: f64) -> Self {
        if !(uncertainty.is_finite() && uncertainty > 0.0) {
            return Self::unsupported(value);
        }
        let by_uncertainty = magnitude(uncertainty) - (UNCERTAINTY_DIGITS - 1);
        let by_value = magnitude(value) - (MOST_DIGITS - 1);
        Self {
            place: match value == 0.0 {
                true => by_uncertainty,
                false => by_uncertainty.max(by_value),
            },
        }
    }

    /// As the interval around a value supports it: by the end that is nearer to the value.
    pub fn from_interval(value: f64, interval: Option<Interval>) -> Self {
        let Some(Interval { low, high }) = interval else {
            return Self::unsupported(value);
        };
        let (below, above) = (value - low, high - value);
        let nearer = match below > 0.0 && above > 0.0 {
            true => below.min(above),
            false => (high - low) / 2.0,
        };
        Self::to_uncertainty(value, nearer)
    }

    /// Three digits: nothing is known of how sure the value is.
    fn unsupported(value: f64) -> Self {
        let digits = UNSUPPORTED_DIGITS as i32;
        Self {
            place: match value == 0.0 || !value.is_finite() {
                true => 0,
                false => magnitude(value) - (digits - 1),
            },
        }
    }

    fn with_decimals_at_most(self, decimals: i32) -> Self {
        Self {
            place: self.place.max(-decimals),
        }
    }

    /// A value with the digits that are supported.
    pub fn value(&self, value: f64) -> String {
        if !value.is_finite() {
            return value.to_string().replace("inf", "∞");
        }
        let is_rounded = self.place > 0;
        let step = 10f64.powi(self.place);
        let rounded = match is_rounded {
            true => (value / step).round() * step,
            false => value,
        };
        if rounded.abs() >= EXPONENT_FROM {
            let digits = (magnitude(rounded) - self.place).clamp(0, MOST_DIGITS - 1) as usize;
            return format!("{rounded:.digits$e}");
        }
        let decimals = (-self.place).clamp(0, 15) as usize;
        let text = format!("{rounded:.decimals$}");
        // A minus before nothing is no direction.
        match text.strip_prefix('-') {
            Some(digits) if is_zero(digits) => digits.to_owned(),
            Some(digits) => format!("−{digits}"),
            None => text,
        }
    }

    /// A difference: a value with its sign; none where it is shown as zero.
    pub fn difference(&self, value: f64) -> String {
        let text = self.value(value);
        match text.starts_with('−') || is_zero(&text) {
            true => text,
            false => format!("+{text}"),
        }
    }

    /// The end of an interval of differences. One that is no zero keeps its sign where it is shown as zero: it says
    /// whether zero is in the interval.
    fn end(&self, value: f64) -> String {
        let text = self.difference(value);
        match (is_zero(&text), value > 0.0, value < 0.0) {
            (true, true, _) => format!("+{text}"),
            (true, _, true) => format!("−{text}"),
            _ => text,
        }
    }

    /// `[37.21, 37.83]`.
    pub fn interval(&self, interval: Interval) -> String {
        format!(
            "[{}, {}]",
            self.value(interval.low),
            self.value(interval.high)
        )
    }

    /// `[−0.12, +0.40]`: an interval of differences.
    pub fn differences(&self, interval: Interval) -> String {
        format!("[{}, {}]", self.end(interval.low), self.end(interval.high))
    }
}

/// A mean with the digits that its interval supports, `reach` being half of that: none where it isn't known, zero where all
/// samples are alike.
pub fn mean(value: f64, reach: Option<f64>) -> String {
    match reach {
        Some(0.0) => exactly(value),
        reach => Rounding::to_uncertainty(value, reach.unwrap_or(0.0)).value(value),
    }
}

/// A number that nothing makes doubtful: six significant digits, without zeros at the end of its decimals.
fn exactly(value: f64) -> String {
    let text = Rounding {
        place: magnitude(value) - (MOST_DIGITS - 1),
    }
    .value(value);
    match text.contains('.') && !text.contains('e') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// The values on both sides of a change, with the digits that the interval of its size supports.
pub fn levels(before: f64, after: f64, size: Interval) -> [String; 2] {
    let change = after - before;
    let rounding = Rounding::from_interval(change, Some(size));
    let most = magnitude(before).max(magnitude(after)) - (MOST_DIGITS - 1);
    let rounding = Rounding {
        place: rounding.place.max(most),
    };
    [before, after].map(|level| rounding.value(level))
}

/// The power of ten of a number's first digit.
fn magnitude(value: f64) -> i32 {
    match value == 0.0 || !value.is_finite() {
        true => 0,
        false => value.abs().log10().floor() as i32,
    }
}

fn is_zero(digits: &str) -> bool {
    digits.chars().all(|c| matches!(c, '0' | '.'))
}

/// A number with its sign, a real minus; none for what is shown as zero.
pub fn signed(number: &str) -> String {
    let (minus, digits) = match number.strip_prefix(['-', '−']) {
        Some(digits) => (true, digits),
        None => (false, number),
    };
    match (is_zero(digits), minus) {
        (true, _) => digits.to_owned(),
        (false, true) => format!("−{digits}"),
        (false, false) => format!("+{digits}"),
    }
}

/// `+1.93 %`: a difference in percent whose interval isn't shown beside it.
pub fn percent(value: f64) -> String {
    let rounding = Rounding::unsupported(value).with_decimals_at_most(2);
    format!("{} %", rounding.difference(value))
}

/// `+29.8 % [+24.1, +35.6]`: a difference in percent of the base with its interval.
pub fn percent_in(value: f64, interval: Option<Interval>) -> String {
    match interval {
        None => percent(value),
        Some(interval) => {
            let rounding = Rounding::from_interval(value, Some(interval))
                .with_decimals_at_most(MOST_PERCENT_DECIMALS);
            format!(
                "{} % {}",
                rounding.difference(value),
                rounding.differences(interval)
            )
        }
    }
}

/// `[+24.1, +35.6]`: the interval of [`percent_in`] alone, as it stands in a column of its own.
pub fn percent_interval(value: f64, interval: Interval) -> String {
    let rounding =
        Rounding::from_interval(value, Some(interval)).with_decimals_at_most(MOST_PERCENT_DECIMALS);
    rounding.differences(interval)
}

/// The percentage of [`percent_in`] alone.
pub fn percent_of_interval(value: f64, interval: Option<Interval>) -> String {
    let rounding = Rounding::from_interval(value, interval).with_decimals_at_most(match interval {
        Some(_) => MOST_PERCENT_DECIMALS,
        None => 2,
    });
    format!("{} %", rounding.difference(value))
}

/// `1.298 [1.241, 1.356]`: a ratio with its interval.
pub fn ratio(value: f64, interval: Option<Interval>) -> String {
    let rounding = Rounding::from_interval(value, interval);
    match interval {
        Some(interval) => format!("{} {}", rounding.value(value), rounding.interval(interval)),
        None => rounding.value(value),
    }
}

/// A p-value: `0.032`, `< 0.0001`.
pub fn p_value(p: f64) -> String {
    const LEAST: f64 = 1e-4;
    match p < LEAST {
        true => "< 0.0001".to_owned(),
        false => significant(p, 2),
    }
}

/// `p = 0.032`, `p < 0.0001`.
pub fn p_equals(p: f64) -> String {
    let value = p_value(p);
    match value.starts_with('<') {
        true => format!("p {value}"),
        false => format!("p = {value}"),
    }
}

/// A probability in percent, never rounded to certainty: `99.2 %`, `> 99.9 %`, `< 0.1 %`.
pub fn probability(probability: f64) -> String {
    match probability {
        certain if certain > 0.999 => "> 99.9 %".to_owned(),
        never if never < 0.001 => "< 0.1 %".to_owned(),
        some => share(some),
    }
}

/// A confidence in percent: `95 %`, `99.5 %`.
pub fn confidence(confidence: Confidence) -> String {
    let percent = (confidence.share() * 1e6).round() / 1e4;
    format!("{percent} %")
}

/// `3.1 %` of a share of 0.031.
pub fn share(share: f64) -> String {
    if share.is_finite() {
        format!("{:.1} %", share * 100.0)
    } else {
        "unknown".to_owned()
    }
}

/// A share that somebody asked for or a device lost, in percent, with as many digits as say something: `0.5 %`, `50.8236 %`.
pub fn precise_share(share: f64) -> String {
    let percent = share * 100.0;
    let text = match percent {
        0.0 => "0".to_owned(),
        p if p < 0.001 => format!("{p:.1e}"),
        p => {
            let text = format!("{p:.4}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
    };
    format!("{text} %")
}

/// A spread in percent with two significant digits: `±0.12 %`, `±1.2 %`, `±12 %`.
pub fn spread(percent: f64) -> String {
    match percent.abs() {
        0.0 => "±0 %".to_owned(),
        small if small < 0.995 => format!("±{small:.2} %"),
        middle if middle < 9.95 => format!("±{middle:.1} %"),
        large => format!("±{} %", Rounding::to_uncertainty(large, large).value(large)),
    }
}

/// A bound in percent with two significant digits, and never less than it is: the claim must hold.
pub fn bound(percent: f64) -> String {
    if percent <= 0.0 || !percent.is_finite() {
        return format!("{percent} %");
    }
    let place = magnitude(percent) - 1;
    let decimals = (-place).clamp(0, 9) as usize;
    let scale = 10f64.powi(decimals as i32);
    format!("{:.decimals$} %", (percent * scale - 1e-6).ceil() / scale)
}

/// `48.3 MiB`, `512 bytes`.
pub fn size(bytes: u64) -> String {
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
pub fn duration(length: Duration) -> String {
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

/// Why there is no ratio to a base, and so no difference in percent of it.
pub fn no_ratio(why: Undefined) -> &'static str {
    match why {
        Undefined::NotPositive | Undefined::ZeroMean => "base isn't positive",
        Undefined::Unbounded | Undefined::NotEstimable => "not estimable",
        Undefined::TooFew { .. } => "too few samples",
        _ => "undefined",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_and_the_levels_of_a_change_have_the_digits_that_are_supported() {
        assert_eq!(mean(1234.5678, Some(20.0)), "1235");
        assert_eq!(mean(1234.5678, Some(0.021)), "1234.57");
        assert_eq!(mean(1234.5678, Some(400.0)), "1230");
        assert_eq!(mean(1234.5678, None), "1230");
        assert_eq!(mean(804.81, Some(0.0)), "804.81");
        assert_eq!(mean(20.0, Some(0.0)), "20");
        assert_eq!(mean(0.0, Some(0.0)), "0");
        assert_eq!(mean(1e12, Some(0.0)), "1.00000e12");
        let ends = |low, high| Interval { low, high };
        assert_eq!(
            levels(100.021, 100.0512, ends(0.02, 0.04)),
            ["100.021", "100.051"]
        );
        assert_eq!(levels(100.021, 132.3, ends(30.0, 34.6)), ["100.0", "132.3"]);
        assert_eq!(
            levels(5000.0, 3000.0, ends(-2900.0, -1100.0)),
            ["5000", "3000"]
        );
    }
    use proptest::prelude::*;

    fn interval(low: f64, high: f64) -> Option<Interval> {
        Some(Interval { low, high })
    }

    #[test]
    fn shares_have_the_digits_that_say_something() {
        assert_eq!(precise_share(0.0), "0 %");
        assert_eq!(precise_share(0.005), "0.5 %");
        assert_eq!(precise_share(0.01), "1 %");
        assert_eq!(precise_share(0.508_235_97), "50.8236 %");
        assert_eq!(precise_share(0.000_001_2), "1.2e-4 %");
    }

    #[test]
    fn a_difference_in_percent_is_rounded_to_its_interval() {
        let of = |value, low, high| percent_in(value, interval(low, high));
        assert_eq!(of(29.8123, 24.1, 35.6), "+29.8 % [+24.1, +35.6]");
        assert_eq!(of(-48.2, -50.123, -46.0), "−48.2 % [−50.1, −46.0]");
        assert_eq!(of(0.43, 0.001, 0.86), "+0.43 % [+0.00, +0.86]");
        assert_eq!(of(-0.1, -0.8, 0.6), "−0.10 % [−0.80, +0.60]");
        assert_eq!(of(4321.0, 1234.0, 9876.0), "+4300 % [+1200, +9900]");
        assert_eq!(
            of(83_754.0, 9_462.0, 7e13),
            "+84000 % [+9000, +7.0000000000e13]".replace("7.0000000000", "7.00000")
        );
        assert_eq!(percent_in(-28.571, None), "−28.6 %");
    }

    #[test]
    fn a_difference_has_its_sign_unless_it_is_none() {
        assert_eq!(percent(1.934), "+1.93 %");
        assert_eq!(percent(-28.571), "−28.6 %");
        assert_eq!(percent(-0.0001), "0.00 %");
        assert_eq!(percent(-1234.5), "−1230 %");
        assert_eq!(percent(0.0), "0 %");
    }

    #[test]
    fn a_difference_in_a_unit_has_its_interval_in_the_same() {
        let unit = Unit::parse("s").unwrap();
        let scale = Scale::fitting(unit, [0.0341]);
        assert_eq!(
            scale.difference(0.0341, interval(0.031, 0.0372)),
            "+34.1 ms [+31.0, +37.2]"
        );
    }

    #[test]
    fn nothing_is_shown_as_certain() {
        assert_eq!(p_equals(0.0), "p < 0.0001");
        assert_eq!(p_equals(3e-7), "p < 0.0001");
        assert_eq!(p_equals(0.0321), "p = 0.032");
        assert_eq!(
            [0.9999, 1.0, 0.992, 0.0].map(probability),
            ["> 99.9 %", "> 99.9 %", "99.2 %", "< 0.1 %"]
        );
    }

    #[test]
    fn a_claim_of_no_change_is_rounded_to_where_it_holds() {
        assert_eq!(
            [0.4321, 0.5, 1.0, 12.3].map(bound),
            ["0.44 %", "0.50 %", "1.0 %", "13 %"]
        );
    }

    #[test]
    fn what_is_counted_is_said_as_people_do() {
        let said =
            [(0, "trial"), (1, "trial"), (1_234_567, "pass")].map(|(n, noun)| counted(n, noun));
        assert_eq!(said, ["0 trials", "1 trial", "1,234,567 passes"]);
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

    /// A shown number and the place of its last digit.
    fn read(text: &str) -> (f64, i32) {
        let plain = text.replace('−', "-");
        let (digits, exponent) = match plain.split_once('e') {
            Some((digits, exponent)) => (digits, exponent.parse::<i32>().unwrap()),
            None => (plain.as_str(), 0),
        };
        let decimals = digits.split_once('.').map_or(0, |(_, behind)| behind.len());
        (plain.parse().unwrap(), exponent - decimals as i32)
    }

    proptest! {
        #[test]
        fn no_digit_is_shown_that_the_interval_does_not_support(
            value in -1e12..1e12f64, scale in -14i32..3, below in 1e-3..10.0f64, above in 1e-3..10.0f64,
        ) {
            let value = value * 10f64.powi(scale);
            let reach = value.abs().max(1e-12);
            let ends = Interval { low: value - below * reach, high: value + above * reach };
            let rounding = Rounding::from_interval(value, Some(ends));
            let nearer = (value - ends.low).min(ends.high - value);
            for number in [value, ends.low, ends.high] {
                let text = rounding.value(number);
                let (shown, last) = read(&text);
                // Trailing zeros before the point are no digits that are claimed.
                let step = 10f64.powi(rounding.place);
                prop_assert!((shown / step - (shown / step).round()).abs() < 1e-3, "{}", text);
                prop_assert!(last >= rounding.place.min(0), "{} {:?}", text, rounding);
                prop_assert!(step <= nearer * 1.0001 && (shown - number).abs() <= step * 0.501 + number.abs() * 1e-5, "{} for {}", text, number);
            }
        }

        #[test]
        fn the_sign_that_is_shown_is_that_of_the_difference(
            value in -1e6..1e6f64, below in 1e-3..1e6f64, above in 1e-3..1e6f64,
        ) {
            let ends = Interval { low: value - below, high: value + above };
            let text = percent_in(value, Some(ends));
            let sign = |text: &str| match text.chars().next() {
                Some('+') => 1,
                Some('−') => -1,
                _ => 0,
            };
            prop_assert!(sign(&text) == 0 || sign(&text) == value.signum() as i32, "{}", text);
            let (low, high) = text.split_once('[').unwrap().1.split_once(", ").unwrap();
            for (shown, end) in [(low, ends.low), (high, ends.high)] {
                prop_assert_eq!(sign(shown), if end == 0.0 { 0 } else { end.signum() as i32 });
            }
        }

        #[test]
        fn no_p_value_is_shown_as_zero(p in 0.0..1.0f64, tiny in 0.0..1e-4f64) {
            for p in [p, tiny] {
                prop_assert!(!is_zero(&p_value(p)));
            }
        }
    }
}
