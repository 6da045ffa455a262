//! Ansible's YAML: groups with `hosts`, `vars` and `children`, each a mapping.
//!
//! A tree is made of the parser's events, with a stack of its own and a bound on what aliases repeat: neither deep nor
//! multiplied documents cost more than their text.

use serde_json::{Map, Value};
use std::collections::HashMap;
use yaml_rust2::{
    Event,
    parser::Parser,
    scanner::{Marker, TScalarStyle},
};

use super::{Inventory, LineFault, Variables, ranges};

/// The most values of a document, with those that aliases repeat.
const MOST_VALUES: usize = 500_000;
/// The deepest nesting.
const DEEPEST: usize = 64;

/// What stands for a value that is encrypted.
pub(super) const ENCRYPTED: &str = "$ANSIBLE_VAULT";

/// The inventory that this text writes.
pub(super) fn read(text: &str) -> Result<Inventory, LineFault> {
    let mut inventory = Inventory::default();
    let top = match parse(text)? {
        Value::Object(top) => top,
        Value::Null => return Ok(inventory),
        _ => return Err(LineFault::new(1, "an inventory is a mapping of groups")),
    };
    if top.contains_key("plugin") {
        let message = "this asks a plugin of Ansible for its hosts: `ansible-inventory --list --yaml` writes them as a file";
        return Err(LineFault::new(1, message));
    }
    let mut waiting: Vec<(String, Value)> = top.into_iter().rev().collect();
    while let Some((name, group)) = waiting.pop() {
        let mut group = match group {
            Value::Object(group) => group,
            Value::Null => Map::new(),
            _ => {
                inventory
                    .notes
                    .push(format!("group `{name}` is no mapping"));
                continue;
            }
        };
        let is_real = !matches!(name.as_str(), "all" | "ungrouped");
        if is_real {
            inventory.add_group(&name, 1)?;
        }
        if let Some(Value::Object(vars)) = group.shift_remove("vars") {
            match inventory.groups.get_mut(&name) {
                Some(group) => group.vars.extend(vars),
                None => inventory.all.extend(vars),
            }
        }
        for (pattern, vars) in entries(group.shift_remove("hosts")) {
            let (names, port) =
                ranges::expand(&pattern).map_err(|message| LineFault::new(1, message))?;
            for host in names {
                let own = inventory.add_host(&host, 1)?;
                own.extend(port.map(|port| ("ansible_port".to_owned(), port.into())));
                if let Value::Object(vars) = &vars {
                    own.extend(vars.clone());
                }
                if let Some(group) = inventory.groups.get_mut(&name) {
                    group.hosts.insert(host);
                }
            }
        }
        for (child, settings) in entries(group.shift_remove("children")).into_iter().rev() {
            if is_real && let Some(group) = inventory.groups.get_mut(&name) {
                group.children.insert(child.clone());
            }
            waiting.push((child, settings));
        }
        for key in group.keys() {
            inventory.notes.push(format!(
                "group `{name}`: `{key}` isn't hosts, vars or children"
            ));
        }
    }
    for group in inventory.groups.values_mut() {
        group.children.reverse();
    }
    Ok(inventory)
}

/// Names with what belongs to them; a single text is a name.
fn entries(value: Option<Value>) -> Vec<(String, Value)> {
    match value {
        Some(Value::Object(entries)) => entries.into_iter().collect(),
        Some(Value::String(name)) => vec![(name, Value::Null)],
        Some(Value::Array(names)) => {
            let names = names
                .into_iter()
                .filter_map(|name| Some((name.as_str()?.to_owned(), Value::Null)));
            names.collect()
        }
        _ => Vec::new(),
    }
}

/// The variables that this text writes.
pub(super) fn read_variables(text: &str) -> Result<Variables, LineFault> {
    match parse(text)? {
        Value::Object(variables) => Ok(variables.into_iter().collect()),
        Value::Null => Ok(Variables::new()),
        _ => Err(LineFault::new(1, "variables are a mapping")),
    }
}

/// A collection that isn't whole yet.
enum Open {
    List(Vec<Value>, usize),
    Table {
        map: Map<String, Value>,
        merged: Vec<Value>,
        key: Option<String>,
        anchor: usize,
    },
}

/// The first document of this text.
fn parse(text: &str) -> Result<Value, LineFault> {
    let mut parser = Parser::new_from_str(text);
    let mut open: Vec<Open> = Vec::new();
    let mut anchors: HashMap<usize, (Value, usize)> = HashMap::new();
    let mut count = 0;
    loop {
        let (event, mark) = parser
            .next_token()
            .map_err(|error| LineFault::new(error.marker().line(), error.info()))?;
        let (value, anchor) = match event {
            Event::StreamEnd | Event::DocumentEnd => return Ok(Value::Null),
            Event::Alias(id) => {
                let (value, size) = anchors.get(&id).ok_or_else(|| {
                    LineFault::new(mark.line(), "an alias of a value that isn't whole")
                })?;
                count += size;
                (value.clone(), 0)
            }
            Event::Scalar(text, style, anchor, tag) => {
                let tag = tag.map(|tag| tag.suffix);
                (scalar(text, style, tag.as_deref()), anchor)
            }
            Event::SequenceStart(anchor, _) => {
                open.push(Open::List(Vec::new(), anchor));
                check(open.len(), count, &mark)?;
                continue;
            }
            Event::MappingStart(anchor, _) => {
                open.push(Open::Table {
                    map: Map::new(),
                    merged: Vec::new(),
                    key: None,
                    anchor,
                });
                check(open.len(), count, &mark)?;
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(Open::List(list, anchor)) => (Value::Array(list), anchor),
                Some(Open::Table {
                    mut map,
                    merged,
                    anchor,
                    ..
                }) => {
                    // What stands in the mapping itself goes before what is merged into it.
                    for (key, value) in merged.into_iter().flat_map(|it| entries(Some(it))) {
                        map.entry(key).or_insert(value);
                    }
                    (Value::Object(map), anchor)
                }
                None => continue,
            },
            Event::Nothing | Event::StreamStart | Event::DocumentStart => continue,
        };
        count += 1;
        check(open.len(), count, &mark)?;
        if anchor > 0 {
            let size = size(&value);
            anchors.insert(anchor, (value.clone(), size));
        }
        match open.last_mut() {
            None => return Ok(value),
            Some(Open::List(list, _)) => list.push(value),
            Some(Open::Table {
                map, merged, key, ..
            }) => match key.take() {
                None => *key = Some(key_of(&value)),
                Some(name) if name == "<<" => match value {
                    Value::Array(several) => merged.extend(several),
                    value => merged.push(value),
                },
                Some(name) => {
                    map.insert(name, value);
                }
            },
        }
    }
}

fn check(depth: usize, count: usize, mark: &Marker) -> Result<(), LineFault> {
    match () {
        () if depth > DEEPEST => Err(LineFault::new(
            mark.line(),
            format!("nested deeper than {DEEPEST}"),
        )),
        () if count > MOST_VALUES => Err(LineFault::new(
            mark.line(),
            format!("more than {MOST_VALUES} values"),
        )),
        () => Ok(()),
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::Array(list) => 1 + list.iter().map(size).sum::<usize>(),
        Value::Object(map) => 1 + map.values().map(size).sum::<usize>(),
        _ => 1,
    }
}

fn key_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

/// A scalar as YAML 1.1 reads it, which is Ansible's: `yes` is a truth, `010` is eight.
fn scalar(text: String, style: TScalarStyle, tag: Option<&str>) -> Value {
    match tag {
        Some("vault") => return ENCRYPTED.into(),
        Some("str" | "unsafe") => return text.into(),
        _ => {}
    }
    if style != TScalarStyle::Plain {
        return text.into();
    }
    match text.as_str() {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return true.into();
        }
        "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return false.into();
        }
        _ => {}
    }
    let plain = text.replace('_', "");
    let (sign, digits) = match plain.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, plain.strip_prefix('+').unwrap_or(&plain)),
    };
    let integer = match digits {
        _ if !digits.starts_with(|c: char| c.is_ascii_digit()) => None,
        _ if digits.starts_with("0x") => i64::from_str_radix(&digits[2..], 16).ok(),
        _ if digits.len() > 1 && digits.starts_with('0') => {
            i64::from_str_radix(&digits[1..], 8).ok()
        }
        _ => digits.parse().ok(),
    };
    if let Some(integer) = integer {
        return (sign * integer).into();
    }
    let is_float = digits.contains('.')
        && digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && digits
            .chars()
            .all(|c| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-'));
    let float = if is_float {
        plain.parse().ok().and_then(serde_json::Number::from_f64)
    } else {
        None
    };
    float.map_or_else(|| Value::String(text), Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn scalars_are_those_of_yaml_1_1() {
        let read = |text: &str| parse(&format!("a: {text}\n")).unwrap()["a"].clone();
        for (text, value) in [
            ("yes", json!(true)),
            ("'yes'", json!("yes")),
            ("022", json!(18)),
            ("10.0.0.1", json!("10.0.0.1")),
            ("1.5", json!(1.5)),
            ("2222", json!(2222)),
            ("~", json!(null)),
            ("!vault |\n    xx", json!(ENCRYPTED)),
            ("[1, b]", json!([1, "b"])),
        ] {
            assert_eq!(read(text), value, "{text}");
        }
        assert_eq!(
            parse("a: &x {b: 1}\nc:\n  <<: *x\n  d: 2\n").unwrap()["c"],
            json!({"d": 2, "b": 1})
        );
    }

    #[test]
    fn deep_and_multiplied_documents_are_refused() {
        assert!(parse(&"[".repeat(100_000)).is_err());
        assert!(parse(&"- ".repeat(100_000)).is_err());
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for n in 1..30 {
            let aliases = vec![format!("*a{}", n - 1); 10].join(", ");
            bomb.push_str(&format!("a{n}: &a{n} [{aliases}]\n"));
        }
        assert!(parse(&bomb).unwrap_err().message.contains("values"));
    }
}
