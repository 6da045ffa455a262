//! The words of a command from what a caller gives. Nothing that a caller gives becomes an option or a path where a name is asked for.

use serde_json::{Map, Value, json};
use std::{fmt, path::Path};

use crate::tools::{Parameter, ParameterKind, Tool};

/// Longest text of a caller, in characters.
const LONGEST: usize = 2000;
/// Something that a caller gave and that can't be taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongArgument {
    /// The parameter.
    pub parameter: String,
    /// What is wrong with it.
    pub why: String,
}

impl fmt::Display for WrongArgument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.parameter, self.why)
    }
}

/// The words of a tool's command with these arguments, without the program's own name.
///
/// # Errors
/// An argument is missing, unknown, or not of its parameter's kind.
pub fn words_of(tool: &Tool, given: &Map<String, Value>) -> Result<Vec<String>, WrongArgument> {
    for name in given.keys() {
        if !tool.parameters.iter().any(|it| it.name == name) {
            let known: Vec<&str> = tool.parameters.iter().map(|it| it.name).collect();
            return Err(WrongArgument {
                parameter: name.chars().take(60).collect(),
                why: match known.is_empty() {
                    true => format!("`{}` takes no arguments", tool.name),
                    false => format!("`{}` takes {}", tool.name, known.join(", ")),
                },
            });
        }
    }
    let mut words: Vec<String> = tool.command.iter().map(|word| (*word).to_owned()).collect();
    let mut behind = Vec::new();
    for parameter in tool.parameters {
        let wrong = |why: &str| WrongArgument {
            parameter: parameter.name.to_owned(),
            why: why.to_owned(),
        };
        let value = given.get(parameter.name).filter(|value| !value.is_null());
        let Some(value) = value else {
            if parameter.required {
                return Err(wrong("is needed"));
            }
            continue;
        };
        let values = values_of(parameter, value).map_err(|why| wrong(&why))?;
        match parameter.option {
            // Who asks is said of the queue's job, and not to the command that is queued.
            Some(option) if parameter.kind == ParameterKind::Person => {
                let own_end = words.iter().position(|word| word == "--");
                let own_end = own_end.unwrap_or(words.len());
                words.splice(
                    own_end..own_end,
                    values.iter().map(|it| format!("{option}={it}")),
                );
            }
            Some(option) => words.extend(values.iter().map(|it| format!("{option}={it}"))),
            None => behind.extend(values),
        }
    }
    if !behind.is_empty() {
        words.push("--".to_owned());
        words.append(&mut behind);
    }
    Ok(words)
}

/// A value as words.
fn values_of(parameter: &Parameter, value: &Value) -> Result<Vec<String>, String> {
    match parameter.kind {
        ParameterKind::Text | ParameterKind::Person => Ok(vec![text(value)?]),
        ParameterKind::Name => Ok(vec![name(value)?]),
        ParameterKind::Names { min, max } => several(value, min, max)?.iter().map(study).collect(),
        ParameterKind::Versions { min, max } => {
            several(value, min, max)?.iter().map(text).collect()
        }
        ParameterKind::File => Ok(vec![file(value)?]),
        ParameterKind::Number => match value.as_u64() {
            Some(number @ 1..) => Ok(vec![number.to_string()]),
            _ => Err("is a whole number from 1".to_owned()),
        },
        ParameterKind::OneOf(words) => {
            let text = text(value)?;
            match words.contains(&text.as_str()) {
                true => Ok(vec![text]),
                false => Err(format!("is one of {}", words.join(", "))),
            }
        }
    }
}

fn several(value: &Value, min: usize, max: usize) -> Result<&[Value], String> {
    match value.as_array() {
        Some(values) if (min..=max).contains(&values.len()) => Ok(values),
        _ => Err(format!("is a list of {min} to {max} texts")),
    }
}

fn text(value: &Value) -> Result<String, String> {
    // Studies and versions may be called by numbers, and callers give these as such.
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return Err("is a text".to_owned()),
    };
    let is_fine = (1..=LONGEST).contains(&text.chars().count()) && !text.contains('\0');
    match is_fine {
        true => Ok(text),
        false => Err(format!("is a text of 1 to {LONGEST} characters")),
    }
}

/// A name: a file that it could be taken for isn't read.
fn name(value: &Value) -> Result<String, String> {
    let text = text(value)?;
    let is_path = text.contains('/') || text == "-" || text.ends_with(".toml");
    match is_path {
        true => Err("is a name, and no path".to_owned()),
        false => Ok(text),
    }
}

/// A file that is there: a job that can't be begun isn't queued.
fn file(value: &Value) -> Result<String, String> {
    let path = text(value)?;
    match Path::new(&path).is_file() {
        true => Ok(path),
        false => Err("there is no such file in the server's folder".to_owned()),
    }
}

/// A study's name, where a file of that name would be read in its place.
fn study(value: &Value) -> Result<String, String> {
    let name = name(value)?;
    match Path::new(&name).is_file() {
        true => Err(format!(
            "a file `{name}` is there too: name the study by its number"
        )),
        false => Ok(name),
    }
}

/// The JSON schema of a tool's arguments.
pub(crate) fn schema_of(tool: &Tool) -> Map<String, Value> {
    let property = |parameter: &Parameter| {
        let mut schema = match parameter.kind {
            ParameterKind::Text
            | ParameterKind::Name
            | ParameterKind::File
            | ParameterKind::Person => json!({ "type": "string" }),
            ParameterKind::Names { min, max } | ParameterKind::Versions { min, max } => json!({
                "type": "array",
                "items": { "type": "string" },
                "minItems": min,
                "maxItems": max,
            }),
            ParameterKind::Number => json!({ "type": "integer", "minimum": 1 }),
            ParameterKind::OneOf(words) => json!({ "type": "string", "enum": words }),
        };
        schema["description"] = parameter.about.into();
        (parameter.name.to_owned(), schema)
    };
    let properties: Map<String, Value> = tool.parameters.iter().map(property).collect();
    let required = tool.parameters.iter().filter(|it| it.required);
    let required: Vec<&str> = required.map(|it| it.name).collect();
    let schema = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TOOLS;

    fn words(tool: &str, given: Value) -> Result<String, String> {
        let tool = TOOLS.iter().find(|it| it.name == tool).unwrap();
        let given = given.as_object().unwrap();
        match words_of(tool, given) {
            Ok(words) => Ok(words.join(" ")),
            Err(wrong) => Err(wrong.to_string()),
        }
    }

    #[test]
    fn arguments_become_words() {
        for (tool, given, expected) in [
            ("list_studies", json!({}), "studies --json"),
            (
                "read_output",
                json!({"study": 3, "trial": 1}),
                "show --raw --trial=1 -- 3",
            ),
            (
                "show_study",
                json!({"study": "s", "trial": null}),
                "show -- s",
            ),
            (
                "compare_versions",
                json!({"target": "app", "versions": ["v1", "v2"]}),
                "compare --format markdown --target=app -- v1 v2",
            ),
            (
                "bisect",
                json!({"plan": "Cargo.toml", "target": "app", "good": "v1", "bad": "v9", "budget": "2h"}),
                "queue add -- bisect --target=app --good=v1 --bad=v9 --budget=2h -- Cargo.toml",
            ),
            (
                "measure",
                json!({"plan": "Cargo.toml", "rounds": 2, "by": "Ana"}),
                "queue add --by=Ana -- run --rounds=2 -- Cargo.toml",
            ),
            (
                "cancel_job",
                json!({"job": 3, "by": "Ana"}),
                "queue cancel --by=Ana -- 3",
            ),
        ] {
            assert_eq!(words(tool, given).unwrap(), expected);
        }
    }

    #[test]
    fn what_a_caller_gives_is_neither_an_option_nor_a_path() {
        assert_eq!(
            words("show_study", json!({"study": "--output=x"})).unwrap(),
            "show -- --output=x"
        );
        for (tool, given, why) in [
            ("history", json!({}), "`target`: is needed"),
            (
                "history",
                json!({"target": "/etc/passwd"}),
                "`target`: is a name, and no path",
            ),
            (
                "commits",
                json!({"target": "x.toml", "from": "a", "to": "b"}),
                "`target`: is a name, and no path",
            ),
            (
                "compare_studies",
                json!({"studies": ["-", "b"]}),
                "`studies`: is a name, and no path",
            ),
            (
                "compare_studies",
                json!({"studies": "a"}),
                "`studies`: is a list of 2 to 6 texts",
            ),
            (
                "compare_versions",
                json!({"target": "app", "versions": ["1", "2", "3", "4", "5", "6", "7"]}),
                "`versions`: is a list of 2 to 6 texts",
            ),
            (
                "explain",
                json!({"studies": []}),
                "`studies`: is a list of 1 to 100 texts",
            ),
            (
                "measure",
                json!({"plan": "--help"}),
                "`plan`: there is no such file in the server's folder",
            ),
            (
                "step",
                json!({"plan": "src", "target": "app", "from": "a", "to": "b"}),
                "`plan`: there is no such file in the server's folder",
            ),
            (
                "show_study",
                json!({"study": "s", "trial": 0}),
                "`trial`: is a whole number from 1",
            ),
            (
                "show_study",
                json!({"study": {"a": 1}}),
                "`study`: is a text",
            ),
            (
                "triage",
                json!({"target": "app", "version": "v1", "state": "fine"}),
                "`state`: is one of investigating, confirmed, fixed, invalid",
            ),
            (
                "queue",
                json!({"all": true}),
                "`all`: `queue` takes no arguments",
            ),
        ] {
            assert_eq!(words(tool, given).unwrap_err(), why);
        }
    }

    #[test]
    fn the_schema_says_how_many_values_are_taken() {
        let tool = TOOLS
            .iter()
            .find(|it| it.name == "compare_studies")
            .unwrap();
        let schema = Value::Object(schema_of(tool));
        let studies = &schema["properties"]["studies"];
        assert_eq!(
            (&studies["minItems"], &studies["maxItems"]),
            (&2.into(), &6.into())
        );
    }
}
