//! A lab's file out of an inventory: what all hosts have becomes a default, what all hosts of a group have stands with the group.

use backsight_model::{GroupName, HostName, HostSet, Lab, TomlDocument, toml_quoted};
use indexmap::{IndexMap, IndexSet};
use serde_json::Value;
use std::fmt::Write as _;

use super::{ImportedLab, Inventory, InventoryError, Variables, ini::shell_words, yaml::ENCRYPTED};

/// Connections that are `ssh`.
const SSH: [&str; 6] = [
    "ssh",
    "smart",
    "openssh",
    "paramiko",
    "paramiko_ssh",
    "ansible.builtin.ssh",
];

/// Variables that a lab has keys for.
const KNOWN: [&str; 18] = [
    "ansible_host",
    "ansible_ssh_host",
    "ansible_port",
    "ansible_ssh_port",
    "ansible_user",
    "ansible_ssh_user",
    "ansible_private_key_file",
    "ansible_ssh_private_key_file",
    "ansible_connection",
    "ansible_ssh_common_args",
    "ansible_ssh_extra_args",
    "ansible_become",
    "ansible_become_method",
    "ansible_become_user",
    "ansible_group_priority",
    "ansible_sudo",
    "inventory_hostname",
    "inventory_hostname_short",
];

/// Parts of names of variables whose values aren't shown.
const SECRET: [&str; 9] = [
    "pass",
    "secret",
    "token",
    "vault",
    "credential",
    "api_key",
    "apikey",
    "private_key",
    "pwd",
];

/// The longest value that a comment shows, in characters.
const LONGEST_COMMENT: usize = 120;

/// A host as a lab has it: its keys, each with its value as TOML.
#[derive(Debug, Clone, Default)]
struct LabHost {
    name: String,
    keys: IndexMap<&'static str, String>,
}

/// The value of the last of these variables that is set, as Ansible takes it.
fn last<'a>(vars: &'a Variables, names: &[&str]) -> Option<&'a Value> {
    let mut set = names.iter().rev().filter_map(|name| vars.get(*name));
    set.find(|value| !value.is_null())
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

fn is_true(value: &Value) -> bool {
    match value {
        Value::Bool(truth) => *truth,
        Value::String(text) => matches!(
            text.to_lowercase().as_str(),
            "yes" | "true" | "on" | "1" | "y" | "t"
        ),
        value => value.as_i64() == Some(1),
    }
}

/// A text in a lab's file, where braces are written twice.
fn escaped(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}

/// A text with Ansible's `{{ … }}` as a lab writes it; none where they ask for more than the name and texts of the host.
fn translated(text: &str, vars: &Variables) -> Option<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}")?;
        out.push_str(&escaped(before));
        match name.trim() {
            "inventory_hostname" => out.push_str("{host}"),
            name => {
                let value = vars.get(name).map(plain)?;
                if value.contains(['{', '}']) || value == ENCRYPTED {
                    return None;
                }
                out.push_str(&value);
            }
        }
        rest = after;
    }
    if rest.contains("{%") {
        return None;
    }
    out.push_str(&escaped(rest));
    Some(out)
}

/// A list of texts that are escaped already.
fn list(items: &[String]) -> String {
    let items: Vec<String> = items.iter().map(|item| toml_quoted(item)).collect();
    format!("[{}]", items.join(", "))
}

impl LabHost {
    /// A host with these variables; in words why a lab can't have it.
    fn new(
        inventory_name: &str,
        name: String,
        vars: &Variables,
        notes: &mut Vec<String>,
    ) -> Result<Self, String> {
        let mut keys = IndexMap::new();
        let mut leave = |what: &str| notes.push(format!("{name}: {what}"));
        let connection = last(vars, &["ansible_connection"]).map(plain);
        match connection.as_deref() {
            None => {}
            Some(kind) if SSH.contains(&kind) => {}
            Some("local" | "ansible.builtin.local") => {
                keys.insert("kind", "\"local\"".into());
            }
            Some(other) => return Err(format!("a lab can't reach it by `{other}`")),
        }
        let text = |names: &[&str]| last(vars, names).map(|value| translated(&plain(value), vars));
        if !keys.contains_key("kind") {
            keys.insert("kind", "\"ssh\"".into());
            let address = match text(&["ansible_host", "ansible_ssh_host"]) {
                Some(Some(address)) => address,
                Some(None) => {
                    return Err("its address is a template that only Ansible can fill".into());
                }
                None => escaped(inventory_name),
            };
            // A name behind the host's own is that of the other hosts too.
            let address = match address.strip_prefix(name.as_str()) {
                Some(rest) if rest.is_empty() || rest.starts_with('.') => format!("{{host}}{rest}"),
                _ => address,
            };
            let user = match text(&["ansible_user", "ansible_ssh_user"]) {
                Some(None) => {
                    leave("its user is a template that only Ansible can fill");
                    None
                }
                user => user.flatten(),
            };
            let login = match user {
                Some(user) => format!("{user}@{address}"),
                None => address,
            };
            if login.is_empty() || login.starts_with('-') || login.contains(char::is_whitespace) {
                return Err("its address isn't one".into());
            }
            if login != "{host}" {
                keys.insert("login", toml_quoted(&login));
            }
            let mut options = Vec::new();
            let single = [
                ("-p", text(&["ansible_port", "ansible_ssh_port"]), "port"),
                (
                    "-i",
                    text(&["ansible_private_key_file", "ansible_ssh_private_key_file"]),
                    "key",
                ),
            ];
            for (option, value, what) in single {
                match value {
                    Some(Some(value)) => options.extend([option.to_owned(), value]),
                    Some(None) => leave(&format!(
                        "its {what} is a template that only Ansible can fill"
                    )),
                    None => {}
                }
            }
            for name in ["ansible_ssh_common_args", "ansible_ssh_extra_args"] {
                match text(&[name]).map(|text| text.and_then(|text| shell_words(&text))) {
                    Some(Some(words)) => options.extend(words),
                    Some(None) => leave(&format!(
                        "{name} is a template, or has a quote without its end"
                    )),
                    None => {}
                }
            }
            if !options.is_empty() {
                keys.insert("options", list(&options));
            }
        }
        if last(vars, &["ansible_become"]).is_some_and(is_true) {
            let of = |name: &str, usual: &str| {
                last(vars, &[name]).map_or_else(|| usual.to_owned(), plain)
            };
            let method = of("ansible_become_method", "sudo");
            let user = of("ansible_become_user", "root");
            match method.rsplit('.').next() {
                Some(program @ ("sudo" | "doas")) if user == "root" => {
                    keys.insert("become-root", list(&[program.to_owned(), "-n".to_owned()]));
                }
                _ => leave(&format!(
                    "it becomes `{user}` by `{method}`: say become-root yourself"
                )),
            }
        }
        Ok(Self { name, keys })
    }
}

/// A name that a lab can have, near to this one, that isn't taken yet.
fn free_name(text: &str, is_free: impl Fn(&str) -> bool) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '+' | '-');
    let mut name: String = text
        .chars()
        .map(|c| if fits(c) { c } else { '-' })
        .take(56)
        .collect();
    if !name.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        name.insert(0, 'h');
    }
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let mut all = std::iter::once(name.clone()).chain(numbered);
    all.find(|name| is_free(name)).unwrap_or_default()
}

/// Comments on variables that a lab doesn't know.
fn comments(vars: &Variables) -> String {
    let mut text = String::new();
    for (name, value) in vars
        .iter()
        .filter(|(name, _)| !KNOWN.contains(&name.as_str()))
    {
        let lower = name.to_lowercase();
        let is_secret = SECRET.iter().any(|part| lower.contains(part)) || contains_secret(value);
        let value = match is_secret {
            true => "(not shown)".to_owned(),
            false => shown(&value.to_string()),
        };
        let _ = writeln!(text, "# not taken over: {} = {value}", shown(name));
    }
    text
}

/// Whether a value has something encrypted, or a secret below a name that says so.
fn contains_secret(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(ENCRYPTED) || text.contains("PRIVATE KEY"),
        Value::Array(list) => list.iter().any(contains_secret),
        Value::Object(map) => map.iter().any(|(name, value)| {
            let lower = name.to_lowercase();
            SECRET.iter().any(|part| lower.contains(part)) || contains_secret(value)
        }),
        _ => false,
    }
}

/// A text that can stand in a comment.
fn shown(text: &str) -> String {
    let mut shown: String = text
        .chars()
        .map(|c| if c.is_control() { '?' } else { c })
        .take(LONGEST_COMMENT)
        .collect();
    if text.chars().nth(LONGEST_COMMENT).is_some() {
        shown.push('…');
    }
    shown
}

impl Inventory {
    /// The lab's file that this inventory makes; `source` is what it is called.
    ///
    /// # Errors
    /// No host is one that a lab could have.
    pub fn lab(&self, source: &str) -> Result<ImportedLab, InventoryError> {
        let mut notes = self.notes.clone();
        let mut hosts: IndexMap<&str, LabHost> = IndexMap::new();
        let mut taken: IndexSet<String> = IndexSet::new();
        for (inventory_name, vars) in &self.host_variables() {
            let name = free_name(inventory_name, |name| !taken.contains(name));
            taken.insert(name.clone());
            match LabHost::new(inventory_name, name, vars, &mut notes) {
                Ok(host) => {
                    hosts.insert(inventory_name, host);
                }
                Err(why) => notes.push(format!("{inventory_name} is left out: {why}")),
            }
        }
        if hosts.is_empty() {
            return Err(InventoryError::NoHosts(source.to_owned()));
        }
        let defaults = defaults(&mut hosts);
        let mut groups: IndexMap<String, (&str, Vec<&str>)> = IndexMap::new();
        for name in self.groups.keys() {
            let members: Vec<&str> = self
                .members(name)
                .into_iter()
                .filter(|host| hosts.contains_key(host))
                .collect();
            if members.is_empty() {
                notes.push(format!("group `{name}` has no host, so it is left out"));
                continue;
            }
            let is_free = |name: &str| {
                !groups.contains_key(name) && !taken.contains(name) && GroupName::new(name).is_ok()
            };
            let free = free_name(name, is_free);
            if free != *name {
                notes.push(format!("group `{name}` is called `{free}`"));
            }
            groups.insert(free, (name, members));
        }
        let mut text = String::new();
        let _ = writeln!(
            text,
            "# Imported from the Ansible inventory {}.",
            shown(source)
        );
        text.push_str("# What is measured needs an address of each host: data = \"…\"; which host plays which role says a [testbed.NAME].\n");
        text.push_str(&comments(&self.all));
        let is_said =
            |(key, value): &(&&'static str, &String)| !UNSAID.contains(&(**key, value.as_str()));
        write_keys(&mut text, "defaults", defaults.iter().filter(is_said));
        let mut said: IndexMap<&str, IndexSet<&'static str>> = IndexMap::new();
        let mut in_groups: IndexSet<&str> = IndexSet::new();
        for (name, (original, members)) in &groups {
            let of_members = || members.iter().map(|member| &hosts[member]);
            let common = hosts[members[0]].keys.iter().filter(|(key, value)| {
                let is_of_all = of_members().all(|host| host.keys.get(*key) == Some(*value));
                let is_said =
                    |member: &&str| said.get(*member).is_some_and(|keys| keys.contains(*key));
                members.len() > 1
                    && defaults.get(*key) != Some(*value)
                    && is_of_all
                    && !members.iter().all(&is_said)
            });
            let common: Vec<(&&'static str, &String)> = common.collect();
            for member in members {
                said.entry(member)
                    .or_default()
                    .extend(common.iter().map(|(key, _)| **key));
                in_groups.insert(member);
            }
            let names = of_members().filter_map(|host| HostName::new(host.name.as_str()).ok());
            let names: Vec<HostName> = names.collect();
            let sets: Vec<String> = HostSet::compress(&names)
                .iter()
                .map(ToString::to_string)
                .collect();
            let _ = write!(text, "\n[group.{}]\nhosts = {}\n", key(name), list(&sets));
            for (key, value) in common {
                let _ = writeln!(text, "{key} = {value}");
            }
            if let Some(group) = self.groups.get(*original) {
                text.push_str(&comments(&group.vars));
            }
        }
        for (inventory_name, host) in &hosts {
            let of_groups = said.get(inventory_name);
            let own = host.keys.iter().filter(|(key, value)| {
                defaults.get(*key) != Some(*value)
                    && of_groups.is_none_or(|keys| !keys.contains(*key))
            });
            let own: Vec<_> = own.collect();
            let comments = self
                .hosts
                .get(*inventory_name)
                .map(comments)
                .unwrap_or_default();
            if !own.is_empty() || !comments.is_empty() || !in_groups.contains(inventory_name) {
                write_keys(
                    &mut text,
                    &format!("host.{}", key(&host.name)),
                    own.into_iter(),
                );
                text.push_str(&comments);
            }
        }
        if !notes.is_empty() {
            text.push_str("\n# Left out or changed:\n");
            for note in &notes {
                let _ = writeln!(text, "# - {}", shown(note));
            }
        }
        let document = TomlDocument::new("the lab", text.as_str());
        let read = Lab::write_out(&document).and_then(|written| Lab::read(&written));
        let lab = read.map_err(InventoryError::NoLab)?;
        Ok(ImportedLab {
            text,
            hosts: lab.host.len(),
            notes,
        })
    }
}

/// What keys that a host doesn't say are the same as.
const UNSAID: [(&str, &str); 3] = [
    ("login", "\"{host}\""),
    ("options", "[]"),
    ("become-root", "[]"),
];

/// What most hosts have that can have it: the others then say what they have.
fn defaults(hosts: &mut IndexMap<&str, LabHost>) -> IndexMap<&'static str, String> {
    let is_ssh = |host: &LabHost| host.keys.get("kind").is_some_and(|kind| kind == "\"ssh\"");
    let mut defaults = IndexMap::new();
    if hosts.values().any(is_ssh) {
        defaults.insert("kind", "\"ssh\"".to_owned());
    }
    for (key, unsaid) in UNSAID {
        let mut counts: IndexMap<String, usize> = IndexMap::new();
        for host in hosts
            .values_mut()
            .filter(|host| key == "become-root" || is_ssh(host))
        {
            let value = host.keys.entry(key).or_insert_with(|| unsaid.to_owned());
            *counts.entry(value.clone()).or_default() += 1;
        }
        let most = counts.into_iter().max_by_key(|(_, count)| *count);
        defaults.extend(most.map(|(value, _)| (key, value)));
    }
    defaults
}

fn key(name: &str) -> String {
    match name.contains(['.', '+']) {
        true => toml_quoted(name),
        false => name.to_owned(),
    }
}

fn write_keys<'a>(
    text: &mut String,
    header: &str,
    keys: impl Iterator<Item = (&'a &'static str, &'a String)>,
) {
    let _ = write!(text, "\n[{header}]\n");
    for (key, value) in keys {
        let _ = writeln!(text, "{key} = {value}");
    }
}
