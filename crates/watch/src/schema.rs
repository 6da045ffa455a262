//! JSON schema of the file that users write, for editors.

use crate::config::WatchFile;

/// Kinds of files that have a schema.
pub const KINDS: &[&str] = &["watch"];

/// The JSON schema of this kind of file, if there is such a kind.
pub fn schema_for(kind: &str) -> Option<serde_json::Value> {
    match kind {
        "watch" => Some(schemars::schema_for!(WatchFile).to_value()),
        _ => None,
    }
}
