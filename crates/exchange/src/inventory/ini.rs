//! Ansible's INI: `[group]` with hosts and their variables, `[group:vars]`, `[group:children]`.

use serde_json::Value;

use super::{Inventory, LineFault, Variables, ranges};

enum Section {
    Hosts(Option<String>),
    Vars(String),
    Children(String),
}

/// The inventory that this text writes.
pub(super) fn read(text: &str) -> Result<Inventory, LineFault> {
    let mut inventory = Inventory::default();
    let mut section = Section::Hosts(None);
    // Groups that are named before they are there.
    let mut named: Vec<(String, usize)> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        let fault = |message: String| LineFault::new(number, message);
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if line.starts_with('[') && !line.starts_with("[:") {
            let inside = line.strip_prefix('[').and_then(|line| line.split_once(']'));
            let is_header = |(name, rest): &(&str, &str)| {
                let rest = rest.trim_start();
                let is_group = !name.is_empty() && !name.contains([' ', '[']);
                is_group && (rest.is_empty() || rest.starts_with(['#', ';']))
            };
            let (name, _) = inside
                .filter(is_header)
                .ok_or_else(|| fault(format!("`{}` is no section", shortened(line))))?;
            let (group, kind) = name.split_once(':').unwrap_or((name, ""));
            section = match kind {
                "" => {
                    let is_group = !matches!(group, "all" | "ungrouped");
                    if is_group {
                        inventory.add_group(group, number)?;
                    }
                    Section::Hosts(is_group.then(|| group.to_owned()))
                }
                "vars" => {
                    named.push((group.to_owned(), number));
                    Section::Vars(group.to_owned())
                }
                "children" => {
                    inventory.add_group(group, number)?;
                    Section::Children(group.to_owned())
                }
                other => {
                    return Err(fault(format!(
                        "a section `[{group}:{other}]` isn't known: `vars` and `children` are"
                    )));
                }
            };
            continue;
        }
        match &section {
            Section::Hosts(group) => add_hosts(&mut inventory, group.as_deref(), line, number)?,
            Section::Vars(group) => {
                let (key, value) = line.split_once('=').ok_or_else(|| {
                    fault(format!(
                        "`{}` gives no variable a value: expected NAME = VALUE",
                        shortened(line)
                    ))
                })?;
                let vars = match group.as_str() {
                    "all" | "ungrouped" => &mut inventory.all,
                    group => &mut inventory.add_group(group, number)?.vars,
                };
                vars.insert(key.trim().to_owned(), python_value(value.trim()));
            }
            Section::Children(group) => {
                let child = line.split_whitespace().next().unwrap_or_default();
                named.push((child.to_owned(), number));
                if group != "all" && child != "all" {
                    let parent = inventory.add_group(group, number)?;
                    parent.children.insert(child.to_owned());
                }
            }
        }
    }
    for (name, line) in named {
        if !inventory.groups.contains_key(&name) && !matches!(name.as_str(), "all" | "ungrouped") {
            return Err(LineFault::new(
                line,
                format!("there is no group `{}`", shortened(&name)),
            ));
        }
    }
    inventory.groups.shift_remove("all");
    Ok(inventory)
}

fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}

fn add_hosts(
    inventory: &mut Inventory,
    group: Option<&str>,
    line: &str,
    number: usize,
) -> Result<(), LineFault> {
    let words =
        shell_words(line).ok_or_else(|| LineFault::new(number, "a quote without its end"))?;
    let Some((pattern, settings)) = words.split_first() else {
        return Ok(());
    };
    let (names, port) =
        ranges::expand(pattern).map_err(|message| LineFault::new(number, message))?;
    let mut vars = Variables::new();
    if let Some(port) = port {
        vars.insert("ansible_port".into(), port.into());
    }
    for setting in settings {
        let (key, value) = setting.split_once('=').ok_or_else(|| {
            LineFault::new(
                number,
                format!(
                    "`{}` gives no variable a value: expected NAME=VALUE",
                    shortened(setting)
                ),
            )
        })?;
        vars.insert(key.to_owned(), python_value(value));
    }
    for name in names {
        inventory.add_host(&name, number)?.extend(vars.clone());
        if let Some(group) = group.and_then(|group| inventory.groups.get_mut(group)) {
            group.hosts.insert(name);
        }
    }
    Ok(())
}

/// Words as a POSIX shell splits them, up to a comment; none where a quote has no end.
pub(super) fn shell_words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '#' => break,
            c if c.is_whitespace() => words.extend(word.take()),
            '\\' => word.get_or_insert_default().push(chars.next()?),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '\'' => break,
                        c => word.push(c),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '"' => break,
                        '\\' => match chars.next()? {
                            c @ ('"' | '\\') => word.push(c),
                            c => word.extend(['\\', c]),
                        },
                        c => word.push(c),
                    }
                }
            }
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Some(words)
}

/// A value as Python writes it, where it is a number, a truth, nothing or a quoted text; else the text as it is.
fn python_value(text: &str) -> Value {
    let as_text = || Value::String(text.to_owned());
    match text {
        "True" => return true.into(),
        "False" => return false.into(),
        "None" => return Value::Null,
        _ => {}
    }
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_decimal = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && digits
            .chars()
            .all(|c| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '-' | '+'));
    // `012` is no number of Python's.
    let has_zeros = digits.len() > 1
        && digits.starts_with('0')
        && digits.bytes().all(|b| b.is_ascii_digit())
        && digits.bytes().any(|b| b != b'0');
    if is_decimal && !has_zeros {
        if let Ok(number) = text.trim_start_matches('+').parse::<i64>() {
            return number.into();
        }
        if digits.contains(['.', 'e', 'E'])
            && let Ok(number) = text.parse::<f64>()
        {
            return serde_json::Number::from_f64(number).map_or_else(as_text, Value::Number);
        }
    }
    for quote in ['\'', '"'] {
        let inside = text
            .strip_prefix(quote)
            .and_then(|it| it.strip_suffix(quote));
        if let Some(inside) = inside.filter(|it| text.len() > 1 && !it.contains([quote, '\\'])) {
            return inside.into();
        }
    }
    as_text()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_split_as_a_shell_splits_them() {
        let words = |line| shell_words(line).unwrap();
        assert_eq!(
            words("a b='c d' e=\"f \\\" g\" # h"),
            ["a", "b=c d", "e=f \" g"]
        );
        assert_eq!(words("x=''"), ["x="]);
        assert!(shell_words("a='b").is_none());
    }

    #[test]
    fn values_are_pythons() {
        assert_eq!(python_value("22"), Value::from(22));
        assert_eq!(python_value("012"), Value::from("012"));
        assert_eq!(python_value("1.5"), Value::from(1.5));
        assert_eq!(python_value("True"), Value::from(true));
        assert_eq!(python_value("true"), Value::from("true"));
        assert_eq!(python_value("'a b'"), Value::from("a b"));
        assert_eq!(python_value("10.0.0.1"), Value::from("10.0.0.1"));
        assert_eq!(python_value("'"), Value::from("'"));
    }

    #[test]
    fn faults_say_their_line() {
        for (text, line, says) in [
            ("[a]\nb c\n", 2, "NAME=VALUE"),
            ("[a:vars]\nx\n", 2, "NAME = VALUE"),
            ("[a:vars]\nx=1\n", 0, ""),
            ("[a:b]\n", 1, "isn't known"),
            ("[a:children]\nnone\n", 2, "no group `none`"),
            ("[a\n", 1, "no section"),
            ("h[1:99999999]\n", 1, "more than 4096"),
            ("h x='\n", 1, "quote"),
        ] {
            match read(text) {
                // A section of variables makes its group.
                Ok(_) => assert_eq!(line, 0, "{text}"),
                Err(fault) => {
                    assert_eq!(fault.line, line, "{text}: {}", fault.message);
                    assert!(fault.message.contains(says), "{text}: {}", fault.message);
                }
            }
        }
    }
}
