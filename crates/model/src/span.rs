//! Lengths of time and sizes as people write them: `90s`, `1h30m`, `500ms`, `32MiB`.
//!
//! A number without a unit, a negative and an infinite one are errors.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{fmt, time::Duration};

/// Longest time accepted anywhere: a year. Nothing runs for ever.
pub const LONGEST: Duration = Duration::from_secs(366 * 86_400);

/// A text that is no length of time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a length of time: expected for example 500ms, 30s, 10m or 1h30m")]
pub struct TimeError(pub String);

/// A length of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub Duration);

impl Time {
    /// The length that this text says.
    ///
    /// # Errors
    /// Not of the form `1h30m`, or longer than a year.
    pub fn parse(text: &str) -> Result<Self, TimeError> {
        let seconds = seconds(text).and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let length = seconds.filter(|length| *length <= LONGEST);
        length
            .map(Self)
            .ok_or_else(|| TimeError(text.chars().take(40).collect()))
    }
}

/// How many seconds a text of the form `1h30m` says, however many.
pub(crate) fn seconds(text: &str) -> Option<f64> {
    let mut rest = text.trim();
    let mut total = 0.0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(digits);
        let letters = tail
            .find(|c: char| !c.is_alphabetic())
            .unwrap_or(tail.len());
        let (symbol, tail) = tail.split_at(letters);
        let unit = match symbol {
            "ns" => 1e-9,
            "us" | "µs" => 1e-6,
            "ms" => 1e-3,
            "s" | "sec" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            "w" => 604_800.0,
            _ => return None,
        };
        total += number.parse::<f64>().ok()? * unit;
        rest = tail.trim_start();
    }
    Some(total)
}

impl fmt::Display for Time {
    /// The two largest parts: `1h 30m`, `4m 05s`, `12.3s`, `350ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs_f64();
        let whole = seconds.round() as u64;
        let text = if seconds < 1e-3 {
            format!("{:.0}µs", seconds * 1e6)
        } else if seconds < 1.0 {
            format!("{:.0}ms", seconds * 1e3)
        } else if seconds < 60.0 {
            format!("{seconds:.1}s")
        } else if whole < 3600 {
            format!("{}m {:02}s", whole / 60, whole % 60)
        } else if whole < 172_800 {
            format!("{}h {:02}m", whole / 3600, whole % 3600 / 60)
        } else {
            format!("{}d {:02}h", whole / 86_400, whole % 86_400 / 3600)
        };
        f.pad(&text)
    }
}

impl std::str::FromStr for Time {
    type Err = TimeError;
    fn from_str(text: &str) -> Result<Self, TimeError> {
        Self::parse(text)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}ms", self.0.as_secs_f64() * 1e3))
    }
}

impl JsonSchema for Time {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Time".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "A length of time: 500ms, 30s, 10m, 1h30m",
            "pattern": "^([0-9.]+ ?(ns|us|µs|ms|s|sec|m|min|h|d|w) ?)+$"
        })
    }
}

/// A text that is no size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a size: expected for example 64KiB, 32MiB or 1GB")]
pub struct SizeError(pub String);

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Size(pub u64);

impl Size {
    /// The size that this text says.
    ///
    /// # Errors
    /// Not a number with `B` and perhaps a prefix.
    pub fn parse(text: &str) -> Result<Self, SizeError> {
        let bad = || SizeError(text.chars().take(40).collect());
        let trimmed = text.trim();
        let digits = trimmed
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .ok_or_else(bad)?;
        let (number, symbol) = trimmed.split_at(digits);
        let byte = crate::Unit::parse("B").map_err(|_| bad())?;
        let factor = crate::Unit::parse(symbol.trim())
            .ok()
            .and_then(|unit| unit.in_terms_of(byte))
            .ok_or_else(bad)?;
        let bytes = number.parse::<f64>().map_err(|_| bad())? * factor;
        if bytes.is_finite() && bytes <= 9e15 {
            Ok(Self(bytes as u64))
        } else {
            Err(bad())
        }
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Size {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Size".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "A size in bytes: 64KiB, 32MiB, 1GB"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        let seconds = |text| Time::parse(text).map(|t| t.0.as_secs_f64());
        assert_eq!(seconds("90s"), Ok(90.0));
        assert_eq!(seconds("1h30m"), Ok(5400.0));
        assert_eq!(seconds("1.5s"), Ok(1.5));
        assert_eq!(seconds("250ms"), Ok(0.25));
        assert_eq!(seconds("1h 5s"), Ok(3605.0));
        for bad in ["", "10", "s", "-5s", "1x", "1..5s", "400d", "1e99s"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_are_read_as_people_write_them() {
        assert_eq!(Size::parse("32MiB"), Ok(Size(33_554_432)));
        assert_eq!(Size::parse("1 GB"), Ok(Size(1_000_000_000)));
        for bad in ["", "7", "7s", "x", "-1B"] {
            assert!(Size::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn lengths_are_shown_by_their_two_largest_parts() {
        let show = |s: f64| Time(Duration::from_secs_f64(s)).to_string();
        assert_eq!(show(0.35), "350ms");
        assert_eq!(show(12.34), "12.3s");
        assert_eq!(show(245.0), "4m 05s");
        assert_eq!(show(5400.0), "1h 30m");
        assert_eq!(show(200_000.0), "2d 07h");
    }

    proptest! {
        #[test]
        fn any_text_is_a_time_or_an_error(text in ".{0,20}") {
            let _ = Time::parse(&text);
            let _ = Size::parse(&text);
        }
    }
}
