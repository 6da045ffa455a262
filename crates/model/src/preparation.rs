//! A preparation: settings that are made on a host before its trials and put back after them.
//!
//! A file says it as a table (`cpu.governor = "performance"`; nested tables and dotted keys are the same) or as a list of names of
//! sets and of such tables (`["quiet", { cpu.smt = false }]`). Which settings exist, and what values they take, is known on the
//! floor above: here stands what was written, and where.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};
use std::{borrow::Cow, fmt};

use crate::Located;

/// What a file says of a host's settings, in its order: what comes later wins.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Preparation {
    /// Sets and tables.
    pub parts: Vec<PreparationPart>,
}

/// One part of a preparation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PreparationPart {
    /// The name of a set of settings.
    Set(Located<String>),
    /// Settings with their values.
    Settings(SettingTable),
}

/// What happens where a setting can't be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PreparationPolicy {
    /// Nothing is measured unless every setting is made; only those of sets may be missing on a machine.
    #[default]
    Strict,
    /// The others are made, and what isn't is warned of.
    Warn,
    /// The others are made, and a note says how many aren't.
    Skip,
}

/// A table of settings, in the order of the file.
pub type SettingTable = Vec<(Located<String>, Located<SettingNode>)>;

/// What stands at a key of such a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingNode {
    /// `true` or `false`.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Located<SettingNode>>),
    /// Settings below this key, or the parameters of the setting of this name.
    Table(SettingTable),
}

struct TableVisitor;

impl<'de> de::Visitor<'de> for TableVisitor {
    type Value = SettingTable;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table of settings")
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<SettingTable, A::Error> {
        let mut table = Vec::new();
        while let Some(entry) = map.next_entry()? {
            table.push(entry);
        }
        Ok(table)
    }
}

struct NodeVisitor;

impl<'de> de::Visitor<'de> for NodeVisitor {
    type Value = SettingNode;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a whole number, `true`, `false`, a list or a table")
    }

    fn visit_bool<E>(self, value: bool) -> Result<SettingNode, E> {
        Ok(SettingNode::Boolean(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<SettingNode, E> {
        Ok(SettingNode::Integer(value))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<SettingNode, E> {
        i64::try_from(value)
            .map(SettingNode::Integer)
            .map_err(|_| E::custom("this number is too large"))
    }

    fn visit_str<E>(self, value: &str) -> Result<SettingNode, E> {
        Ok(SettingNode::Text(value.to_owned()))
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<SettingNode, A::Error> {
        let mut list = Vec::new();
        while let Some(node) = seq.next_element()? {
            list.push(node);
        }
        Ok(SettingNode::List(list))
    }

    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<SettingNode, A::Error> {
        TableVisitor.visit_map(map).map(SettingNode::Table)
    }
}

impl<'de> Deserialize<'de> for SettingNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct PreparationVisitor;

impl<'de> de::Visitor<'de> for PreparationVisitor {
    type Value = Preparation;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table of settings, or a list of names of sets and such tables")
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<Preparation, A::Error> {
        let mut parts = Vec::new();
        while let Some(node) = seq.next_element::<Located<SettingNode>>()? {
            let span = node.span();
            parts.push(match node.into_inner() {
                SettingNode::Text(name) => PreparationPart::Set(Located::spanning(name, span)),
                SettingNode::Table(table) => PreparationPart::Settings(table),
                _ => {
                    return Err(de::Error::custom(
                        "a list of settings has names of sets and tables of settings",
                    ));
                }
            });
        }
        Ok(Preparation { parts })
    }

    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Preparation, A::Error> {
        let table = TableVisitor.visit_map(map)?;
        Ok(Preparation {
            parts: vec![PreparationPart::Settings(table)],
        })
    }
}

impl<'de> Deserialize<'de> for Preparation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PreparationVisitor)
    }
}

impl JsonSchema for Preparation {
    fn schema_name() -> Cow<'static, str> {
        "Preparation".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "Settings of a host: a table of them, or a list of names of sets and such tables.",
            "anyOf": [
                { "type": "object" },
                { "type": "array", "items": { "type": ["string", "object"] } },
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TomlDocument;

    #[derive(Deserialize)]
    struct Host {
        prepare: Preparation,
    }

    fn read(text: &str) -> Result<Preparation, String> {
        let document = TomlDocument::new("lab.toml", text);
        let host: Result<Host, _> = document.read();
        host.map(|host| host.prepare)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn dotted_keys_and_nested_tables_are_the_same_and_know_their_place() {
        let dotted = "prepare.cpu.governor = 'performance'\n";
        let nested = "[prepare]\ncpu = { governor = 'performance' }\n";
        assert_eq!(read(dotted).unwrap(), read(nested).unwrap());
        let PreparationPart::Settings(table) = &read(dotted).unwrap().parts[0] else {
            panic!("a table");
        };
        assert_eq!(&dotted[table[0].0.span()], "cpu");
        let SettingNode::Table(inner) = &*table[0].1 else {
            panic!("a table");
        };
        assert_eq!(&dotted[inner[0].0.span()], "governor");
        assert_eq!(&dotted[inner[0].1.span()], "'performance'");
    }

    #[test]
    fn a_list_has_sets_and_tables_and_nothing_else() {
        let listed = read("prepare = ['quiet', { cpu.smt = false }]").unwrap();
        assert_eq!(listed.parts.len(), 2);
        assert!(matches!(&listed.parts[0], PreparationPart::Set(name) if **name == "quiet"));
        assert!(read("prepare = [3]").unwrap_err().contains("names of sets"));
        assert!(read("prepare = 'quiet'").unwrap_err().contains("list"));
        assert!(
            read("prepare.a = 1.5")
                .unwrap_err()
                .contains("whole number")
        );
    }
}
