//! Validity of a benchmark's measurements: bounds of metrics outside of which something else was measured than was meant, such as
//! a generator that had no processor left.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de};
use std::{fmt, str::FromStr};

use crate::MetricName;

/// What has to hold in every trial: `client_cpu < 95: the client is the bottleneck`.
#[derive(Debug, Clone, PartialEq)]
pub struct ValidityCondition {
    /// The metric.
    pub metric: MetricName,
    /// How its value has to lie to the limit.
    pub relation: Relation,
    /// The limit, in the metric's unit.
    pub limit: f64,
    /// What is so where it doesn't hold.
    pub otherwise: Option<String>,
}

/// How a value has to lie to a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `>`
    Above,
    /// `>=`
    AtLeast,
}

impl Relation {
    /// Two signs before one: the longer is read first.
    const ALL: [Self; 4] = [Self::AtMost, Self::AtLeast, Self::Below, Self::Above];

    fn as_str(self) -> &'static str {
        match self {
            Self::Below => "<",
            Self::AtMost => "<=",
            Self::Above => ">",
            Self::AtLeast => ">=",
        }
    }

    fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Self::Below => value < limit,
            Self::AtMost => value <= limit,
            Self::Above => value > limit,
            Self::AtLeast => value >= limit,
        }
    }
}

impl fmt::Display for ValidityCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (metric, relation) = (&self.metric, self.relation.as_str());
        write!(f, "{metric} {relation} {}", self.limit)
    }
}

impl FromStr for ValidityCondition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || {
            format!("`{text}` is no condition: METRIC < NUMBER, with <, <=, > or >=; then `: why`")
        };
        let (condition, otherwise) = match text.split_once(':') {
            Some((condition, why)) => (condition, Some(why.trim().to_owned())),
            None => (text, None),
        };
        let found = Relation::ALL.into_iter().find_map(|relation| {
            let (metric, limit) = condition.split_once(relation.as_str())?;
            Some((metric.trim(), relation, limit.trim()))
        });
        let (metric, relation, limit) = found.ok_or_else(bad)?;
        let limit: f64 = limit.parse().map_err(|_| bad())?;
        if !limit.is_finite() {
            return Err(bad());
        }
        Ok(Self {
            metric: MetricName::new(metric).map_err(|_| bad())?,
            relation,
            limit,
            otherwise: otherwise.filter(|why| !why.is_empty()),
        })
    }
}

impl<'de> Deserialize<'de> for ValidityCondition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for ValidityCondition {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ValidityCondition".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string" })
    }
}

/// One condition, or several.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema)]
#[schemars(untagged)]
pub enum Validity {
    /// Nothing has to hold.
    #[default]
    #[schemars(skip)]
    Any,
    /// One condition.
    One(ValidityCondition),
    /// Several.
    All(Vec<ValidityCondition>),
}

impl<'de> Deserialize<'de> for Validity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Text {
            One(String),
            All(Vec<String>),
        }
        let parsed = |text: String| text.parse().map_err(de::Error::custom);
        Ok(match Text::deserialize(deserializer)? {
            Text::One(text) => Self::One(parsed(text)?),
            Text::All(texts) => Self::All(texts.into_iter().map(parsed).collect::<Result<_, _>>()?),
        })
    }
}

impl Validity {
    /// The conditions.
    pub fn conditions(&self) -> &[ValidityCondition] {
        match self {
            Self::Any => &[],
            Self::One(condition) => std::slice::from_ref(condition),
            Self::All(conditions) => conditions,
        }
    }
}

impl ValidityCondition {
    /// Whether it holds of this value.
    pub fn holds(&self, value: f64) -> bool {
        self.relation.holds(value, self.limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read_and_checked() {
        let condition: ValidityCondition = "client_cpu <= 95: the client is the bottleneck"
            .parse()
            .unwrap();
        assert_eq!(condition.to_string(), "client_cpu <= 95");
        assert!(condition.holds(95.0) && !condition.holds(95.5));
        let otherwise = condition.otherwise.as_deref();
        assert_eq!(otherwise, Some("the client is the bottleneck"));
        for bad in [
            "",
            "cpu",
            "cpu < fast",
            "cpu = 3",
            "< 3",
            "a b < 3",
            "cpu < inf",
        ] {
            assert!(bad.parse::<ValidityCondition>().is_err(), "{bad}");
        }
    }
}
