//! JSON schemas of the files that users write, for editors.

/// Kinds of files that have a schema.
pub const KINDS: &[&str] = &[
    "lab",
    "plan",
    "benchmark",
    "monitor",
    "target",
    "keep",
    "store",
];

/// The JSON schema of this kind of file, if there is such a kind.
pub fn schema_for(kind: &str) -> Option<serde_json::Value> {
    let schema = match kind {
        "lab" => return Some(crate::lab::file_schema()),
        "plan" => schemars::schema_for!(crate::Plan),
        "monitor" => schemars::schema_for!(crate::Monitor),
        "target" => schemars::schema_for!(crate::Target),
        "store" => schemars::schema_for!(crate::StoreSettings),
        "keep" => return Some(crate::keep::file_schema()),
        "benchmark" => crate::benchmark::schema(),
        _ => return None,
    };
    Some(schema.to_value())
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_kind_of_file_has_a_schema_with_its_keys() {
        for (kind, key) in [
            ("lab", "host"),
            ("plan", "use"),
            ("benchmark", "metric"),
            ("monitor", "run"),
            ("target", "quirk"),
            ("keep", "keep"),
            ("store", "raw"),
        ] {
            let schema = super::schema_for(kind).unwrap();
            assert!(
                schema["properties"].get(key).is_some(),
                "{kind}: {schema:#}"
            );
        }
        assert!(super::schema_for("sonnet").is_none());
    }
}
