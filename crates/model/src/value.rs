//! Values of parameters: a truth, a whole number, a number or a text.
//!
//! A table, a date and a number that isn't finite are no values.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};
use std::fmt;

/// One value of a parameter.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Value {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A finite number.
    Float(f64),
    /// A text.
    Text(String),
}

impl Value {
    /// What a text given on the command line says: `true`, `12`, `0.5`, else the text itself.
    pub fn from_argument(text: &str) -> Self {
        if let Ok(truth) = text.parse::<bool>() {
            return Self::Bool(truth);
        }
        if let Ok(whole) = text.parse::<i64>() {
            return Self::Integer(whole);
        }
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Self::Float(number),
            _ => Self::Text(text.to_owned()),
        }
    }

    /// What kind of value this is, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Bool(_) => "true or false",
            Self::Integer(_) => "a whole number",
            Self::Float(_) => "a number",
            Self::Text(_) => "a text",
        }
    }

    /// The value as a number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Integer(whole) => Some(*whole as f64),
            Self::Float(number) => Some(*number),
            Self::Bool(_) | Self::Text(_) => None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(truth) => write!(f, "{truth}"),
            Self::Integer(whole) => write!(f, "{whole}"),
            Self::Float(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

struct ValueVisitor;

impl de::Visitor<'_> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("true, false, a number or a text")
    }

    fn visit_bool<E: de::Error>(self, truth: bool) -> Result<Value, E> {
        Ok(Value::Bool(truth))
    }

    fn visit_i64<E: de::Error>(self, whole: i64) -> Result<Value, E> {
        Ok(Value::Integer(whole))
    }

    fn visit_u64<E: de::Error>(self, whole: u64) -> Result<Value, E> {
        i64::try_from(whole).map(Value::Integer).map_err(E::custom)
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Value, E> {
        if number.is_finite() {
            Ok(Value::Float(number))
        } else {
            Err(E::custom("expected a finite number"))
        }
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

/// One value or a list of them; a list is crossed with the other parameters' lists.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(with = "OneOrMany")]
pub struct Values(pub Vec<Value>);

#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum OneOrMany {
    One(Value),
    Many(Vec<Value>),
}

struct ValuesVisitor;

impl<'de> de::Visitor<'de> for ValuesVisitor {
    type Value = Values;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("true, false, a number, a text, or a list of them")
    }

    fn visit_bool<E: de::Error>(self, truth: bool) -> Result<Values, E> {
        ValueVisitor.visit_bool(truth).map(|v| Values(vec![v]))
    }

    fn visit_i64<E: de::Error>(self, whole: i64) -> Result<Values, E> {
        ValueVisitor.visit_i64(whole).map(|v| Values(vec![v]))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Values, E> {
        ValueVisitor.visit_f64(number).map(|v| Values(vec![v]))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Values, E> {
        ValueVisitor.visit_str(text).map(|v| Values(vec![v]))
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<Values, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = seq.next_element::<Value>()? {
            if values.contains(&value) {
                return Err(de::Error::custom(format!(
                    "the value {value} stands here twice"
                )));
            }
            values.push(value);
        }
        if values.is_empty() {
            return Err(de::Error::custom("an empty list leaves nothing to measure"));
        }
        Ok(Values(values))
    }
}

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValuesVisitor)
    }
}
