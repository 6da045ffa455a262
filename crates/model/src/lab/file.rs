//! A lab's file as a person writes it: with files that it includes, variables, defaults and groups. It is written out as one document
//! in which every host stands in full; that is what is read, stored with a study and published.
//!
//! Why a document and not a value: a stored study is asked again from its documents, elsewhere and years later. A document that stands
//! for itself needs none of the files, no folder, and none of these rules. What a lab says without any of them is left as it is.
//!
//! - A host's own keys go before those of its groups, these before the defaults of the file that names the host, these before the
//!   defaults of the files that include it. Tags add up. Groups that contradict each other are an error, unless the host decides.
//! - `{name}` in a text of a host is a variable: the host's, its groups', the file's that names the host, its includers', the file's
//!   where the text stands. `{host}` is the host's name; `{{` and `}}` are braces. In texts that are filled when they are used
//!   (`prepare`, `ssh-reboot`, `kexec`, `install`) everything else in braces is left to them.
//! - Variables themselves aren't written out: what no text uses stays in the file.
//!
//! Every part of the document knows where it was written, so that faults are said of the file that somebody can mend.
//!
//! Here is no knowledge of what keys a host has, but of which default doesn't fit which kind: new keys work in groups by themselves.

mod document_writer;
mod host_settings;
mod including;
mod node;
mod variables;

pub use document_writer::toml_quoted;

use miette::Diagnostic;
use serde_json::Value as Json;
use std::{
    path::{Path, PathBuf},
    sync::LazyLock,
};

use document_writer::DocumentWriter;
use node::{Node, NodeValue, Table, has_braces, is_section};
use variables::{Variables, is_variable};

use super::{
    Host, Lab,
    host_set::{HostSet, MOST_HOSTS},
};
use crate::{
    DocumentError, HostName, TomlDocument, UnreadableFileError, did_you_mean,
    document::{SourceMap, SourcePlace},
};

/// The most files of a lab.
const MOST_FILES: usize = 256;
/// The most groups that the hosts of a lab are in, all added up.
const MOST_MEMBERSHIPS: usize = 16 * MOST_HOSTS;
/// The longest document that is written out, in bytes.
const LONGEST_DOCUMENT: usize = 16 << 20;

/// The variable that is the host's name.
const HOST: &str = "host";
/// Keys with texts that are filled when they are used.
const FILLED_LATER: [&str; 4] = ["prepare", "ssh-reboot", "kexec", "install"];

/// A lab's file that can't be read, or has a fault.
#[derive(Debug, thiserror::Error, Diagnostic)]
pub enum LabFileError {
    /// It can't be read.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Unreadable(#[from] UnreadableFileError),
    /// A fault, in it or in a file that it includes.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Document(#[from] DocumentError),
}

/// One of the files of a lab.
struct LabFile {
    /// The file that includes it.
    includer: Option<usize>,
    vars: Variables,
    defaults: Table,
}

/// All files of a lab.
#[derive(Default)]
struct LabFiles {
    documents: Vec<TomlDocument>,
    files: Vec<LabFile>,
    /// The path of each file that was read, and where it was included.
    paths: Vec<(PathBuf, Option<SourcePlace>)>,
    /// What all files say together, but for what is each file's own.
    whole: Table,
}

/// A host before it is written out.
struct HostDraft {
    /// Where it is named first.
    place: SourcePlace,
    own: Table,
    /// Positions of its groups.
    groups: Vec<usize>,
}

/// A group with the places of its parts.
struct GroupDraft {
    name: String,
    place: SourcePlace,
    hosts: SourcePlace,
    members: Vec<HostName>,
    keys: Table,
    vars: Variables,
}

impl Lab {
    /// The document of the lab that this file describes with all that it includes, written out: see [`Lab::write_out`].
    ///
    /// # Errors
    /// A file can't be read or has a fault.
    pub fn open(path: &Path) -> Result<TomlDocument, LabFileError> {
        let document = TomlDocument::open(path)?;
        Ok(write_out(&document, Some(path))?)
    }

    /// The document with every host in full: groups, defaults and variables are written into their hosts. A document without any of
    /// them is left as it is. Faults that are found in it later are said where their part was written.
    ///
    /// # Errors
    /// A fault in one of these, or the document includes a file: it has no folder in which that would be.
    pub fn write_out(document: &TomlDocument) -> Result<TomlDocument, DocumentError> {
        write_out(document, None)
    }
}

fn write_out(document: &TomlDocument, path: Option<&Path>) -> Result<TomlDocument, DocumentError> {
    let mut files = LabFiles::default();
    files.load(document.clone(), path, None)?;
    match files.is_in_full() {
        true => Ok(document.clone()),
        false => files.write_out(),
    }
}

/// Keys of a type as its schema has them.
fn keys_of<T: schemars::JsonSchema>() -> Vec<String> {
    let schema = schemars::schema_for!(T).to_value();
    let properties = schema["properties"].as_object();
    properties
        .into_iter()
        .flat_map(|it| it.keys().cloned())
        .collect()
}

/// What a lab's file may say besides what the document that is written out says.
const OF_FILES: [(&str, &str); 3] = [
    (
        "include",
        "Files that are a part of this one; paths from this file's folder, `*` in a file's name stands for any characters.",
    ),
    ("vars", "Variables: `{name}` in a text of a host."),
    (
        "defaults",
        "What every host has unless it or its groups say otherwise; not what hosts of its kind can't have.",
    ),
];

static LAB_KEYS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let of_files = OF_FILES.map(|(key, _)| key.to_owned());
    keys_of::<Lab>().into_iter().chain(of_files).collect()
});

/// Keys of a host: those that are written out, and its variables.
static HOST_KEYS: LazyLock<Vec<String>> = LazyLock::new(|| {
    keys_of::<Host>()
        .into_iter()
        .chain(["vars".to_owned()])
        .collect()
});

/// The JSON schema of a lab's file: that of the document with groups that have the keys of hosts, and hosts that may leave out
/// their kind.
pub(crate) fn file_schema() -> Json {
    let mut schema = schemars::schema_for!(Lab).to_value();
    let vars = serde_json::json!({
        "type": "object",
        "description": OF_FILES[1].1,
        "additionalProperties": { "type": "string" }
    });
    if let Some(host) = schema["$defs"]["Host"].as_object_mut() {
        host.remove("required");
        host["properties"]["vars"] = vars.clone();
    }
    let of_hosts = schema["$defs"]["Host"]["properties"].clone();
    if let (Some(group), Some(of_hosts)) = (
        schema["$defs"]["Group"]["properties"].as_object_mut(),
        of_hosts.as_object(),
    ) {
        group.extend(of_hosts.clone());
    }
    schema["properties"]["include"] = serde_json::json!({
        "type": "array", "description": OF_FILES[0].1, "items": { "type": "string" }
    });
    schema["properties"]["vars"] = vars;
    schema["properties"]["defaults"] =
        serde_json::json!({ "description": OF_FILES[2].1, "$ref": "#/$defs/Host" });
    schema
}

impl LabFiles {
    /// Whether nothing has to be written out.
    fn is_in_full(&self) -> bool {
        let is_plain = |file: &LabFile| file.vars.is_empty() && file.defaults.is_empty();
        let hosts = self.whole.get("host").map(|(_, hosts)| hosts);
        let hosts = hosts.and_then(|hosts| match &hosts.value {
            NodeValue::Table(hosts) => Some(hosts),
            _ => None,
        });
        let has_braces = |(key, (_, node)): (&String, &(SourcePlace, Node))| {
            !FILLED_LATER.contains(&key.as_str()) && has_braces(node)
        };
        let host_is_plain = |(_, host): &(SourcePlace, Node)| match &host.value {
            NodeValue::Table(keys) => !keys.contains_key("vars") && !keys.iter().any(has_braces),
            _ => true,
        };
        self.files.len() == 1
            && self.files.iter().all(is_plain)
            && !self.whole.contains_key("group")
            && hosts.is_none_or(|hosts| hosts.values().all(host_is_plain))
    }

    fn problem(
        &self,
        place: &SourcePlace,
        message: impl Into<String>,
        label: &str,
        help: Option<String>,
    ) -> DocumentError {
        match self.documents.get(place.document) {
            Some(document) => document.problem(place.span.clone(), message, label, help),
            None => TomlDocument::new("", "").problem(0..0, message, label, help),
        }
    }

    /// A place in words: the file and the line.
    fn words(&self, place: &SourcePlace) -> String {
        let problem = self.problem(place, "", "", None);
        let name = self
            .documents
            .get(place.document)
            .map_or("", |document| &document.name);
        format!("{name}, line {}", problem.place().0)
    }

    fn table_of<'a>(&self, what: &str, node: &'a Node) -> Result<&'a Table, DocumentError> {
        match &node.value {
            NodeValue::Table(table) => Ok(table),
            _ => Err(self.problem(&node.place, format!("`{what}` is no table"), "here", None)),
        }
    }

    /// Refuses keys that nobody knows, and some that don't belong there.
    fn check_keys(
        &self,
        table: &Table,
        known: &[String],
        but: &[&str],
    ) -> Result<(), DocumentError> {
        let known = || {
            known
                .iter()
                .map(String::as_str)
                .filter(|key| !but.contains(key))
        };
        for (key, (place, _)) in table {
            if !known().any(|it| it == key) {
                let quoted: Vec<String> = known().map(|key| format!("`{key}`")).collect();
                let message = format!(
                    "unknown field `{key}`, expected one of {}",
                    quoted.join(", ")
                );
                return Err(self.problem(place, message, "here", did_you_mean(key, known())));
            }
        }
        Ok(())
    }

    fn variables(&self, node: &Node) -> Result<Variables, DocumentError> {
        let mut variables = Variables::new();
        for (name, (place, value)) in self.table_of("vars", node)? {
            let is_name = is_variable(name);
            let problem = |place, message: String, help: &str| {
                Err(self.problem(place, message, "here", Some(help.to_owned())))
            };
            if name == HOST {
                return problem(
                    place,
                    "`host` is the host's own name".into(),
                    "call the variable something else",
                );
            }
            if !is_name {
                let help = "a variable has a letter, then letters, digits, `_` and `-`";
                return problem(place, format!("`{name}` can't be a variable's name"), help);
            }
            let NodeValue::Text(text) = &value.value else {
                return problem(
                    &value.place,
                    format!("`{name}` is no text"),
                    "write it in quotes",
                );
            };
            variables.insert(name.clone(), (value.place.clone(), text.clone()));
        }
        Ok(variables)
    }

    fn write_out(mut self) -> Result<TomlDocument, DocumentError> {
        let groups = self.groups()?;
        let hosts = self.hosts(&groups)?;
        let mut written = Vec::new();
        for (name, host) in hosts {
            let place = host.place.clone();
            let keys = self.settings(&name, host, &groups)?;
            written.push((name, place, keys));
        }
        let names: Vec<&str> = self
            .documents
            .iter()
            .map(|document| document.name.as_str())
            .collect();
        let name = names.first().copied().unwrap_or_default().to_owned();
        let mut writer = DocumentWriter::default();
        writer.comment(&format!(
            "Written out from {}: every host in full.",
            names.join(", ")
        ));
        let too_long = |writer: &DocumentWriter, place: &SourcePlace| {
            let message = format!(
                "this lab is longer than {} MiB when every host is written out",
                LONGEST_DOCUMENT >> 20
            );
            match writer.text.len() > LONGEST_DOCUMENT {
                true => Err(self.problem(place, message, "here", None)),
                false => Ok(()),
            }
        };
        let rest = self
            .whole
            .iter()
            .filter(|(key, _)| !["host", "group"].contains(&key.as_str()));
        let (tables, values): (Vec<_>, Vec<_>) = rest.partition(|(_, (_, node))| is_section(node));
        for (key, (place, node)) in values {
            writer.entry(key, place, node);
        }
        for (host, place, keys) in &written {
            writer.header(&["host", host.as_str()], place, false);
            for (key, (place, node)) in keys {
                writer.entry(key, place, node);
            }
            too_long(&writer, place)?;
        }
        for group in &groups {
            writer.header(&["group", &group.name], &group.place, false);
            let sets = HostSet::compress(&group.members);
            let sets = sets.iter().map(|set| Node {
                place: group.hosts.clone(),
                value: NodeValue::Text(set.to_string()),
            });
            let list = Node {
                place: group.hosts.clone(),
                value: NodeValue::List(sets.collect()),
            };
            writer.entry("hosts", &group.hosts, &list);
            too_long(&writer, &group.place)?;
        }
        for (key, (place, node)) in tables {
            writer.section(key, place, node);
            too_long(&writer, place)?;
        }
        let parts = std::mem::take(&mut writer.parts);
        let documents = std::mem::take(&mut self.documents);
        Ok(TomlDocument::new(name, writer.text).with_sources(SourceMap { documents, parts }))
    }
}

#[cfg(test)]
mod tests;
