//! JSON schemas of the files that users write, for editors.

use crate::{config::NotifyFile, message_template::TemplateFile};

/// Kinds of files that have a schema.
pub const KINDS: &[&str] = &["notify", "message"];

/// The JSON schema of this kind of file, if there is such a kind.
pub fn schema_for(kind: &str) -> Option<serde_json::Value> {
    let schema = match kind {
        "notify" => schemars::schema_for!(NotifyFile),
        "message" => schemars::schema_for!(TemplateFile),
        _ => return None,
    };
    Some(schema.to_value())
}
