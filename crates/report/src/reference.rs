//! Sections of the reference pages: monitors and the keys of JSON schemas, as Markdown.

use backsight_model::{MACHINE_PLACEHOLDERS, Monitor};
use serde_json::Value as Json;
use std::fmt::Write as _;

/// A row of the table of monitors.
pub fn monitor_row(monitor: &Monitor) -> String {
    let interval = match (monitor.has_interval(), monitor.least) {
        (false, _) => "none: all the time".to_owned(),
        (true, Some(least)) => least.to_string(),
        (true, None) => "the tool's own".to_owned(),
    };
    let metrics: Vec<String> = monitor
        .metrics
        .iter()
        .map(|(name, metric)| format!("`….{name}` ({})", metric.unit))
        .collect();
    let needs = monitor
        .needs
        .get("debian")
        .map(|packages| packages.join(" "));
    format!(
        "| `{}` | {} | {} | {interval} | {} | {} |\n",
        monitor.name,
        cell(&monitor.about),
        monitor.watches,
        match metrics.is_empty() {
            true => "none".to_owned(),
            false => metrics.join(", "),
        },
        needs.map_or_else(|| "nothing".to_owned(), |needs| format!("`{needs}`")),
    )
}

/// The keys of a schema and of its parts.
pub fn schema_keys(kind: &str, schema: &Json, text: &mut String) {
    keys(schema, text);
    for (name, part) in schema["$defs"].as_object().into_iter().flatten() {
        if part["properties"].is_object() {
            let _ = write!(text, "\n### {kind}: {name}\n");
            keys(part, text);
        }
    }
}

fn keys(schema: &Json, text: &mut String) {
    let Some(properties) = schema["properties"].as_object() else {
        return;
    };
    if let Some(about) = schema["description"].as_str() {
        let _ = write!(text, "\n{}\n", about.replace('\n', " "));
    }
    text.push_str("\n| key | | about |\n|---|---|---|\n");
    let required: Vec<&str> = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Json::as_str)
        .collect();
    for (key, shape) in properties {
        let must = if required.contains(&key.as_str()) {
            "required"
        } else {
            ""
        };
        let about = shape["description"]
            .as_str()
            .unwrap_or_default()
            .replace('\n', " ");
        let _ = writeln!(text, "| `{key}` | {must} | {} |", cell(&about));
    }
    if let Some(other) = schema["additionalProperties"]["$ref"].as_str() {
        let name = other.rsplit('/').next().unwrap_or(other);
        let _ = writeln!(text, "| any other | | a {name} |");
    }
}

/// What commands and computed parameters may put between braces.
pub fn placeholders_section() -> String {
    let mut text = String::from(
        "\n## Placeholders\n\nCommands, and defaults of parameters that are texts, may have names between braces, and arithmetic with them: `{memory / 4}`. A name that a machine doesn't know the size of is an error that says so.\n\n| placeholder | what it is |\n|---|---|\n",
    );
    let (of_build, of_role) = (
        [
            ("build", "the folder of the build that is measured"),
            ("version", "the version that is measured"),
            ("plan", "the folder of the plan's file"),
            (
                "without",
                "of a suite: a file with the names of tests to leave out, one a line",
            ),
        ],
        [
            ("ROLE.data", "a role's address for the benchmark's traffic"),
            ("ROLE.interface", "the interface that has it"),
            ("ROLE.control", "a role's address for control"),
            ("ROLE.host", "the name of its host"),
        ],
    );
    for (name, about) in MACHINE_PLACEHOLDERS
        .into_iter()
        .chain(of_build)
        .chain(of_role)
    {
        let _ = writeln!(text, "| `{{{name}}}` | {about} |");
    }
    text
}

/// A text in a cell of a table.
pub fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
