//! How many processors a role's programs can keep busy: where they are the limit, they were measured in place of what they load.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de};
use std::{borrow::Cow, fmt};

use crate::Template;

/// Processors that the programs of a role's `run` can keep busy at most: a number, or a template that gives it (`"{threads}"`).
#[derive(Debug, Clone, PartialEq)]
pub struct Processors(pub Template);

struct ProcessorsVisitor;

impl de::Visitor<'_> for ProcessorsVisitor {
    type Value = Processors;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of processors or a placeholder such as \"{threads}\"")
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Processors, E> {
        if number < 1 {
            return Err(E::custom(format!(
                "{number} processors: expected 1 or more"
            )));
        }
        self.visit_str(&number.to_string())
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Processors, E> {
        self.visit_i64(i64::try_from(number).unwrap_or(i64::MAX))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Processors, E> {
        Template::parse(text).map(Processors).map_err(E::custom)
    }
}

impl<'de> Deserialize<'de> for Processors {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ProcessorsVisitor)
    }
}

impl JsonSchema for Processors {
    fn schema_name() -> Cow<'static, str> {
        "Processors".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": ["integer", "string"], "minimum": 1 })
    }
}
