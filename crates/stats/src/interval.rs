//! An interval, and the confidence of its construction, within (0, 1).

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A closed interval, `low` ≤ `high`, both finite. For programs it is the list of both: `[low, high]`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// Whether `x` lies within, ends included.
    #[must_use]
    pub fn contains(&self, x: f64) -> bool {
        self.low <= x && x <= self.high
    }

    /// high − low.
    #[must_use]
    pub fn width(&self) -> f64 {
        self.high - self.low
    }

    /// Whether every value of this interval is also in `other`.
    #[must_use]
    pub fn is_within(&self, other: Interval) -> bool {
        other.low <= self.low && self.high <= other.high
    }
}

impl Serialize for Interval {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.low, self.high).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Interval {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (low, high) = Deserialize::deserialize(deserializer)?;
        Ok(Self { low, high })
    }
}

#[cfg(feature = "schemars")]
impl schemars::JsonSchema for Interval {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Interval".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = <(f64, f64)>::json_schema(generator);
        let about = "A closed interval: its lower and its upper end.";
        schema.insert("description".into(), about.into());
        schema
    }
}

/// The share of repetitions in which an interval holds the true value: within (0, 1); usually 0.95.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Confidence(f64);

impl Confidence {
    /// 0.95, the confidence of every interval for which no other was asked.
    pub const USUAL: Confidence = Confidence(0.95);

    /// `share` as a confidence; `None` unless 0 < `share` < 1.
    #[must_use]
    pub fn new(share: f64) -> Option<Self> {
        (share > 0.0 && share < 1.0).then_some(Confidence(share))
    }

    /// The share, e.g. 0.95.
    #[must_use]
    pub fn share(self) -> f64 {
        self.0
    }

    /// What is left on either side: (1 − share) / 2, e.g. 0.025.
    #[must_use]
    pub fn tail(self) -> f64 {
        (1.0 - self.0) / 2.0
    }
}

impl Default for Confidence {
    fn default() -> Self {
        Confidence::USUAL
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_confidence_is_a_share_between_none_and_all() {
        for bad in [0.0, 1.0, -0.5, 95.0, f64::NAN] {
            assert_eq!(Confidence::new(bad), None);
        }
        assert_eq!(Confidence::new(0.95), Some(Confidence::USUAL));
    }

    #[test]
    fn an_interval_knows_what_it_holds() {
        let wide = Interval {
            low: -1.0,
            high: 2.0,
        };
        assert!(wide.contains(-1.0) && wide.contains(2.0) && !wide.contains(2.1));
        assert!(
            Interval {
                low: 0.0,
                high: 1.0
            }
            .is_within(wide)
        );
        assert!(!wide.is_within(Interval {
            low: 0.0,
            high: 3.0
        }));
        assert_eq!(wide.width(), 3.0);
    }
}
