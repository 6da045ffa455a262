//! JSON schemas of the files that define settings, for editors.

use crate::{catalog::SetFile, definition::DefinitionFile};

/// Kinds of files that have a schema.
pub const KINDS: &[&str] = &["setting", "setting-set"];

/// The JSON schema of this kind of file, if there is such a kind.
pub fn schema_for(kind: &str) -> Option<serde_json::Value> {
    let schema = match kind {
        "setting" => schemars::schema_for!(DefinitionFile),
        "setting-set" => schemars::schema_for!(SetFile),
        _ => return None,
    };
    Some(schema.to_value())
}

#[cfg(test)]
mod tests {
    #[test]
    fn both_kinds_of_file_have_a_schema_with_their_keys() {
        for (kind, key) in [("setting", "files"), ("setting-set", "settings")] {
            let schema = super::schema_for(kind).unwrap();
            assert!(schema["properties"].get(key).is_some(), "{schema:#}");
        }
        assert!(super::schema_for("sonnet").is_none());
    }
}
