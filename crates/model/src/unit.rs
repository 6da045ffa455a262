//! Units of metrics: what a number counts, and how it is written for a person.
//!
//! A unit is a prefix (SI or IEC) and a dimension. Samples are kept in the unit that their metric
//! declares; another prefix is chosen only to show them.
//!
//! An unknown unit is an error, since a typing error would otherwise become a new dimension. Dimensions are never converted into
//! each other.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

use crate::digits::significant;

/// What a unit measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Dimension {
    Time,
    Bits,
    Bytes,
    BitRate,
    ByteRate,
    Frequency,
    Power,
    Energy,
    Temperature,
    Percent,
    Ratio,
    /// Things that are counted, one at a time or per second; the text names the thing.
    Count(&'static str),
    CountRate(&'static str),
}

/// Nouns of things that are counted. Each is a unit of its own, and with `/s` a rate.
const COUNTED: &[&str] = &[
    "ops",
    "requests",
    "req",
    "transactions",
    "events",
    "messages",
    "msg",
    "packets",
    "pkt",
    "calls",
    "iterations",
    "switches",
    "instructions",
    "cycles",
    "faults",
    "errors",
    "bogo-ops",
    "signatures",
    "verifications",
    "processors",
    "processes",
    "threads",
    "interrupts",
    "pages",
    "objects",
    "connections",
    "sockets",
    "segments",
    "tests",
    "queries",
    "frames",
    "pixels",
    "nodes",
    "candidates",
    "flop",
];

const SI: &[(&str, f64)] = &[
    ("n", 1e-9),
    ("µ", 1e-6),
    ("u", 1e-6),
    ("m", 1e-3),
    ("", 1.0),
    ("k", 1e3),
    ("K", 1e3),
    ("M", 1e6),
    ("G", 1e9),
    ("T", 1e12),
    ("P", 1e15),
];

const IEC: &[(&str, f64)] = &[
    ("Ki", 1024.0),
    ("Mi", 1_048_576.0),
    ("Gi", 1_073_741_824.0),
    ("Ti", 1_099_511_627_776.0),
    ("Pi", 1_125_899_906_842_624.0),
];

impl Dimension {
    /// The dimension written as this text without prefix.
    fn of_symbol(symbol: &str) -> Option<Self> {
        Some(match symbol {
            "s" | "sec" | "seconds" => Self::Time,
            "bit" => Self::Bits,
            "B" => Self::Bytes,
            "bit/s" | "bits/s" | "bps" => Self::BitRate,
            "B/s" => Self::ByteRate,
            "Hz" => Self::Frequency,
            "W" => Self::Power,
            "J" => Self::Energy,
            "°C" | "C" => Self::Temperature,
            "%" => Self::Percent,
            "ratio" | "1" => Self::Ratio,
            "count" => Self::Count("count"),
            "/s" | "1/s" | "count/s" => Self::CountRate("count"),
            "pps" => Self::CountRate("packets"),
            "tps" => Self::CountRate("transactions"),
            counted => {
                let (noun, rate) = match counted.strip_suffix("/s") {
                    Some(noun) => (noun, true),
                    None => (counted, false),
                };
                let noun = COUNTED.iter().find(|known| **known == noun)?;
                if rate {
                    Self::CountRate(noun)
                } else {
                    Self::Count(noun)
                }
            }
        })
    }

    /// How the dimension is written, without prefix.
    fn symbol(self) -> String {
        match self {
            Self::Time => "s".into(),
            Self::Bits => "bit".into(),
            Self::Bytes => "B".into(),
            Self::BitRate => "bit/s".into(),
            Self::ByteRate => "B/s".into(),
            Self::Frequency => "Hz".into(),
            Self::Power => "W".into(),
            Self::Energy => "J".into(),
            Self::Temperature => "°C".into(),
            Self::Percent => "%".into(),
            Self::Ratio => "ratio".into(),
            Self::Count("count") => "count".into(),
            Self::CountRate("count") => "/s".into(),
            Self::Count(noun) => noun.into(),
            Self::CountRate(noun) => format!("{noun}/s"),
        }
    }

    fn takes_prefix(self) -> bool {
        !matches!(self, Self::Percent | Self::Ratio | Self::Temperature)
    }

    fn takes_iec(self) -> bool {
        matches!(
            self,
            Self::Bytes | Self::ByteRate | Self::Bits | Self::BitRate
        )
    }
}

/// The unit of a metric: `bit/s`, `MiB/s`, `us`, `ops/s`, `%`, `count`, …
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unit {
    dimension: Dimension,
    /// How many unprefixed units one of this is.
    factor: f64,
    prefix: &'static str,
}

/// A text that is no unit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown unit `{text}`: expected one of s, bit, B, bit/s, B/s, Hz, W, J, °C, %, ratio, count, or a counted thing such as ops, events, requests, packets, instructions with or without /s; SI (k, M, G, m, u, n) and for bits and bytes IEC (Ki, Mi, Gi) prefixes go before it"
)]
pub struct UnitError {
    /// The text that was given.
    pub text: String,
}

impl std::str::FromStr for Unit {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        Self::parse(text)
    }
}

impl Unit {
    /// The unit that this text names.
    ///
    /// # Errors
    /// It names none that we know.
    pub fn parse(text: &str) -> Result<Self, UnitError> {
        if let Some(dimension) = Dimension::of_symbol(text) {
            return Ok(Self {
                dimension,
                factor: 1.0,
                prefix: "",
            });
        }
        let prefixed = |table: &'static [(&'static str, f64)]| {
            table.iter().find_map(|(prefix, factor)| {
                let dimension = Dimension::of_symbol(text.strip_prefix(prefix)?)?;
                let fits = !prefix.is_empty()
                    && dimension.takes_prefix()
                    && (!prefix.ends_with('i') || dimension.takes_iec());
                fits.then_some(Self {
                    dimension,
                    factor: *factor,
                    prefix,
                })
            })
        };
        prefixed(IEC)
            .or_else(|| prefixed(SI))
            .ok_or_else(|| UnitError {
                text: text.chars().take(40).collect(),
            })
    }

    /// How many of `other` one of this unit is; `None` when they measure different things.
    pub fn in_terms_of(self, other: Self) -> Option<f64> {
        use Dimension::{BitRate, Bits, ByteRate, Bytes};
        let bits_per = match (self.dimension, other.dimension) {
            (a, b) if a == b => 1.0,
            (Bytes, Bits) | (ByteRate, BitRate) => 8.0,
            (Bits, Bytes) | (BitRate, ByteRate) => 0.125,
            _ => return None,
        };
        // Powers of ten below one have no exact binary form, so ratios are made of their reciprocals.
        let parts = |factor: f64| {
            if factor < 1.0 {
                (1.0, (1.0 / factor).round())
            } else {
                (factor, 1.0)
            }
        };
        let ((up, down), (other_up, other_down)) = (parts(self.factor), parts(other.factor));
        Some(up * other_down / (down * other_up) * bits_per)
    }

    /// How much one of it is as a share: 0.01 for percent, 1 for a ratio; `None` for everything else.
    pub fn per_one(self) -> Option<f64> {
        match self.dimension {
            Dimension::Percent => Some(0.01),
            Dimension::Ratio => Some(1.0),
            _ => None,
        }
    }

    /// Whether it is a length of time.
    pub fn is_time(self) -> bool {
        self.dimension == Dimension::Time
    }

    /// Whether it is seconds of processors' time in a second.
    pub fn is_processors(self) -> bool {
        self.dimension == Dimension::Count("processors")
    }

    /// How many seconds it is; none of what is no time.
    pub fn in_seconds(self) -> Option<f64> {
        self.in_terms_of(Self::parse("s").ok()?)
    }

    /// Whether it counts things, one at a time and not per second.
    pub fn counts(self) -> bool {
        matches!(self.dimension, Dimension::Count(_))
    }

    /// The unit of the same dimension in which values about this large are easiest to read.
    pub fn readable_for(self, value: f64) -> Self {
        let plain = (value * self.factor).abs();
        if !self.dimension.takes_prefix() || !plain.is_finite() || plain == 0.0 {
            return self;
        }
        let counts_whole = matches!(self.dimension, Dimension::Count(_));
        let table = if self.prefix.ends_with('i') { IEC } else { SI };
        let small_makes_sense = matches!(
            self.dimension,
            Dimension::Time | Dimension::Power | Dimension::Energy
        );
        let fitting = table
            .iter()
            .filter(|(prefix, factor)| {
                !matches!(*prefix, "u" | "K")
                    && (*factor >= 1.0 || small_makes_sense)
                    && (*factor <= 1.0 || !matches!(self.dimension, Dimension::Time))
            })
            .filter(|(_, factor)| {
                plain
                    >= *factor
                        * if counts_whole && *factor > 1.0 {
                            1000.0
                        } else {
                            1.0
                        }
            })
            .max_by(|a, b| a.1.total_cmp(&b.1));
        match fitting {
            Some((prefix, factor)) => Self {
                prefix,
                factor: *factor,
                ..self
            },
            None if self.prefix.ends_with('i') => Self {
                prefix: "",
                factor: 1.0,
                ..self
            },
            None if small_makes_sense => Self {
                prefix: "n",
                factor: 1e-9,
                ..self
            },
            None => Self {
                prefix: "",
                factor: 1.0,
                ..self
            },
        }
    }

    /// The value, in this unit, with four significant digits and the prefix that reads best:
    /// `38.21 Gbit/s`, `35.10 µs`.
    pub fn show(self, value: f64) -> String {
        let readable = self.readable_for(value);
        let shown = value * self.factor / readable.factor;
        format!("{} {readable}", significant(shown, 4))
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}{}", self.prefix, self.dimension.symbol()))
    }
}

impl Serialize for Unit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Unit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Unit {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Unit".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "A unit: s, bit, B, bit/s, B/s, Hz, W, J, °C, %, ratio, count, ops, events/s, …; with an SI or IEC prefix",
            "examples": ["bit/s", "MiB/s", "us", "ops/s", "%", "count"]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn unit(text: &str) -> Unit {
        Unit::parse(text).unwrap()
    }

    #[test]
    fn values_are_shown_with_the_prefix_that_reads_best() {
        assert_eq!(unit("bit/s").show(38_214_000_000.0), "38.21 Gbit/s");
        assert_eq!(unit("ms").show(0.0351), "35.10 µs");
        assert_eq!(unit("MiB/s").show(2048.0), "2.000 GiB/s");
        assert_eq!(unit("s").show(125.0), "125.0 s");
        assert_eq!(unit("%").show(0.25), "0.2500 %");
        assert_eq!(unit("count").show(12.0), "12.00 count");
        assert_eq!(unit("ops/s").show(0.0), "0 ops/s");
        assert_eq!(unit("events/s").show(1234.5), "1.234 kevents/s");
    }

    #[test]
    fn units_convert_within_their_dimension_only() {
        assert_eq!(unit("MB/s").in_terms_of(unit("bit/s")), Some(8e6));
        assert_eq!(unit("ms").in_terms_of(unit("us")), Some(1000.0));
        assert_eq!(unit("KiB").in_terms_of(unit("B")), Some(1024.0));
        assert_eq!(unit("s").in_terms_of(unit("B")), None);
        assert_eq!(unit("ops/s").in_terms_of(unit("packets/s")), None);
    }

    #[test]
    fn unknown_units_are_refused() {
        for bad in ["", "parsec", "Kiops/s", "k%", "kk", "Mi"] {
            assert!(Unit::parse(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_parses_back_to_the_same_unit(
            symbol in prop::sample::select(vec!["bit/s", "MiB/s", "us", "ops/s", "GB", "kHz", "%", "pps", "/s", "1/s"])
        ) {
            let once = unit(symbol);
            let again = unit(&once.to_string());
            prop_assert_eq!(once.in_terms_of(again), Some(1.0));
        }
    }
}
