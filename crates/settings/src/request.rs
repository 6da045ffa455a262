//! What is wanted of one setting: its value and its parameters.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::value::{SettingValue, ValueType};

/// A value with parameters, both checked against the definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingRequest {
    /// Which values the setting takes.
    #[serde(rename = "type")]
    pub value_type: ValueType,
    /// The value; none where the parameters say everything.
    pub value: Option<SettingValue>,
    /// Parameters by name: `interface`, `device`.
    pub parameters: IndexMap<String, String>,
}

impl SettingRequest {
    /// The value of a placeholder.
    pub(crate) fn lookup(&self, name: &str) -> Option<String> {
        match name {
            "value" => self.value.as_ref().map(ToString::to_string),
            _ => self.parameters.get(name).cloned(),
        }
    }

    /// The value as people read it; where there is none, the parameters.
    pub(crate) fn shown(&self) -> String {
        let value = self.value.as_ref();
        value.map_or_else(|| self.shown_parameters(), ToString::to_string)
    }

    /// The parameters as people read them: `interface=eth0`.
    pub fn shown_parameters(&self) -> String {
        let shown = self.parameters.iter().map(|(k, v)| format!("{k}={v}"));
        shown.collect::<Vec<_>>().join(" ")
    }
}
