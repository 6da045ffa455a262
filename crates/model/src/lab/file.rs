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

use indexmap::IndexMap;
use miette::Diagnostic;
use serde_json::Value as Json;
use std::{
    collections::BTreeMap,
    ops::Range,
    path::{Path, PathBuf},
    sync::LazyLock,
};
use toml::de::{DeTable, DeValue};

use super::{
    Host, Lab,
    host_set::{HostSet, MOST_HOSTS},
};
use crate::{
    DocumentError, GroupName, HostName, TomlDocument, UnreadableFileError, did_you_mean,
    document::{SourceMap, SourcePlace},
    nearest,
};

/// The most files of a lab.
const MOST_FILES: usize = 256;
/// The most groups that the hosts of a lab are in, all added up.
const MOST_MEMBERSHIPS: usize = 16 * MOST_HOSTS;
/// The longest text in which variables were replaced, in bytes.
const LONGEST_TEXT: usize = 64 * 1024;
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

/// A value with the place where it was written.
#[derive(Debug, Clone)]
struct Node {
    place: SourcePlace,
    value: NodeValue,
}

#[derive(Debug, Clone)]
enum NodeValue {
    Text(String),
    /// A number, a truth or a time, as it was written.
    Literal(String),
    List(Vec<Node>),
    Table(Table),
}

/// Keys with their places and values, in the file's order.
type Table = IndexMap<String, (SourcePlace, Node)>;

/// Whether two values say the same, wherever they stand.
fn is_same(one: &Node, other: &Node) -> bool {
    match (&one.value, &other.value) {
        (NodeValue::Text(a), NodeValue::Text(b))
        | (NodeValue::Literal(a), NodeValue::Literal(b)) => a == b,
        (NodeValue::List(a), NodeValue::List(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        }
        (NodeValue::Table(a), NodeValue::Table(b)) => {
            let in_other = |(key, (_, a)): (&String, &(SourcePlace, Node))| {
                b.get(key).is_some_and(|(_, b)| is_same(a, b))
            };
            a.len() == b.len() && a.iter().all(in_other)
        }
        _ => false,
    }
}

/// Variables, each with where it was written.
type Variables = BTreeMap<String, (SourcePlace, String)>;

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

    /// Reads a document with all that it includes.
    fn load(
        &mut self,
        document: TomlDocument,
        path: Option<&Path>,
        included: Option<(usize, SourcePlace)>,
    ) -> Result<(), DocumentError> {
        let own = self.documents.len();
        let parsed = DeTable::parse(&document.text).map_err(|error| document.problem_of(&error))?;
        let mut top = table(own, &document.text, parsed.get_ref());
        self.documents.push(document);
        let (includer, place) = included.unzip();
        let real = path.and_then(|path| path.canonicalize().ok());
        self.paths.push((real.unwrap_or_default(), place));
        let vars = match top.shift_remove("vars") {
            Some((_, node)) => self.variables(&node)?,
            None => Variables::new(),
        };
        let defaults = match top.shift_remove("defaults") {
            Some((_, node)) => self.table_of("defaults", &node)?.clone(),
            None => Table::new(),
        };
        self.check_keys(&defaults, &HOST_KEYS, &["vars"])?;
        self.check_keys(&top, &LAB_KEYS, &[])?;
        self.files.push(LabFile {
            includer,
            vars,
            defaults,
        });
        let include = top.shift_remove("include");
        // The whole lab is called as its first file says.
        if own > 0 {
            top.shift_remove("name");
        }
        for (key, (place, node)) in top {
            self.merge(key, place, node)?;
        }
        match include {
            Some((_, node)) => self.include(own, path, &node),
            None => Ok(()),
        }
    }

    /// Adds what a file says to what the others say.
    fn merge(&mut self, key: String, place: SourcePlace, node: Node) -> Result<(), DocumentError> {
        let Some((_, known)) = self.whole.get_mut(&key) else {
            self.whole.insert(key, (place, node));
            return Ok(());
        };
        match (&mut known.value, node.value) {
            (NodeValue::List(known), NodeValue::List(more)) => known.extend(more),
            (NodeValue::Table(known), NodeValue::Table(more)) => {
                let twice = more
                    .iter()
                    .find_map(|(name, (again, _))| Some((name, again, known.get(name)?.0.clone())));
                if let Some((name, again, first)) = twice {
                    let help = format!("it stands in {} already", self.words(&first));
                    let message = format!("{key} `{name}` is described twice");
                    return Err(self.problem(again, message, "here again", Some(help)));
                }
                known.extend(more);
            }
            _ => {
                let message = format!("`{key}` is something else in another file of this lab");
                return Err(self.problem(&node.place, message, "here", None));
            }
        }
        Ok(())
    }

    fn include(
        &mut self,
        own: usize,
        path: Option<&Path>,
        list: &Node,
    ) -> Result<(), DocumentError> {
        let help = "expected paths from this file's folder: include = [\"rack-b.toml\"]";
        let NodeValue::List(items) = &list.value else {
            return Err(self.problem(
                &list.place,
                "this is no list of files",
                "here",
                Some(help.into()),
            ));
        };
        for item in items {
            let NodeValue::Text(name) = &item.value else {
                return Err(self.problem(
                    &item.place,
                    "this is no file's name",
                    "here",
                    Some(help.into()),
                ));
            };
            let Some(path) = path else {
                let message = "a lab that isn't a file can't include files";
                return Err(self.problem(&item.place, message, "here", None));
            };
            let folder = path.parent().unwrap_or(Path::new(""));
            for file in self.included_files(folder, name, &item.place)? {
                self.load_included(own, &file, &item.place)?;
            }
        }
        Ok(())
    }

    /// The files that an entry of `include` names.
    fn included_files(
        &self,
        folder: &Path,
        name: &str,
        place: &SourcePlace,
    ) -> Result<Vec<PathBuf>, DocumentError> {
        let path = folder.join(name);
        let Some((before, after)) = name
            .rsplit('/')
            .next()
            .and_then(|last| last.split_once('*'))
        else {
            return Ok(vec![path]);
        };
        let parent = path.parent().unwrap_or(Path::new(""));
        let entries = std::fs::read_dir(if parent.as_os_str().is_empty() {
            Path::new(".")
        } else {
            parent
        });
        let names = entries
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok());
        let fits = |name: &String| {
            !name.starts_with('.')
                && name.len() >= before.len() + after.len()
                && name.starts_with(before)
                && name.ends_with(after)
        };
        let mut found: Vec<PathBuf> = names.filter(fits).map(|name| parent.join(name)).collect();
        found.sort();
        if after.contains('*') {
            let help = Some("one `*`, in the name of the file alone: \"racks/*.toml\"".to_owned());
            return Err(self.problem(place, format!("`{name}` has several `*`"), "here", help));
        }
        match found.is_empty() {
            true => Err(self.problem(
                place,
                format!("no file is called `{name}`"),
                "included here",
                None,
            )),
            false => Ok(found),
        }
    }

    fn load_included(
        &mut self,
        own: usize,
        path: &Path,
        place: &SourcePlace,
    ) -> Result<(), DocumentError> {
        let fault = |message: String, help| self.problem(place, message, "included here", help);
        let shown = path.display();
        let document = TomlDocument::open(path)
            .map_err(|error| fault(format!("can't read {shown}: {}", error.cause), None))?;
        let real = path.canonicalize().ok();
        if let Some(known) = self
            .paths
            .iter()
            .position(|(path, _)| Some(path) == real.as_ref())
        {
            let mut includers = std::iter::successors(Some(own), |file| self.files[*file].includer);
            let message = match includers.any(|file| file == known) {
                true => format!("{shown} includes itself, through this file"),
                false => format!("{shown} is included twice"),
            };
            let first = self.paths[known].1.as_ref();
            let help =
                first.map(|first| format!("it is included by {} already", self.words(first)));
            return Err(fault(message, help));
        }
        if self.documents.len() >= MOST_FILES {
            return Err(fault(
                format!("a lab of more than {MOST_FILES} files"),
                None,
            ));
        }
        self.load(document, Some(path), Some((own, place.clone())))
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

    /// The groups of all files, with how many memberships there are.
    fn groups(&self) -> Result<Vec<GroupDraft>, DocumentError> {
        let Some((_, node)) = self.whole.get("group") else {
            return Ok(Vec::new());
        };
        let mut groups = Vec::new();
        let mut memberships = 0;
        for (name, (place, node)) in self.table_of("group", node)? {
            GroupName::new(name.as_str())
                .map_err(|error| self.problem(place, error.to_string(), "here", None))?;
            let mut keys = self.table_of(name, node)?.clone();
            let Some((_, hosts)) = keys.shift_remove("hosts") else {
                let help = "say which are in it: hosts = \"client[01-30]\"";
                return Err(self.problem(
                    place,
                    format!("group `{name}` has no `hosts`"),
                    "here",
                    Some(help.into()),
                ));
            };
            let vars = match keys.shift_remove("vars") {
                Some((_, node)) => self.variables(&node)?,
                None => Variables::new(),
            };
            self.check_keys(&keys, &HOST_KEYS, &["vars"])?;
            let members = self.members(&hosts)?;
            memberships += members.len();
            if memberships > MOST_MEMBERSHIPS {
                let message = "the groups of this lab have too many hosts together";
                return Err(self.problem(&hosts.place, message, "with these", None));
            }
            groups.push(GroupDraft {
                name: name.clone(),
                place: place.clone(),
                hosts: hosts.place.clone(),
                members,
                keys,
                vars,
            });
        }
        Ok(groups)
    }

    /// The hosts that a group's `hosts` names, each once.
    fn members(&self, hosts: &Node) -> Result<Vec<HostName>, DocumentError> {
        let items = match &hosts.value {
            NodeValue::List(items) => items.as_slice(),
            _ => std::slice::from_ref(hosts),
        };
        let mut members = indexmap::IndexSet::new();
        for item in items {
            let NodeValue::Text(text) = &item.value else {
                let help = "expected hosts = \"client[01-30]\", or a list of such texts";
                return Err(self.problem(
                    &item.place,
                    "this names no hosts",
                    "here",
                    Some(help.into()),
                ));
            };
            let set = HostSet::parse(text)
                .map_err(|error| self.problem(&item.place, error.to_string(), "here", None))?;
            members.extend(set.expand());
            if members.len() > MOST_HOSTS {
                let message = format!("more than {MOST_HOSTS} hosts in a group");
                return Err(self.problem(&item.place, message, "with these", None));
            }
        }
        Ok(members.into_iter().collect())
    }

    /// All hosts: those that are described in no group first, then the groups' in the groups' order.
    fn hosts(&self, groups: &[GroupDraft]) -> Result<IndexMap<HostName, HostDraft>, DocumentError> {
        let described = match self.whole.get("host") {
            Some((_, node)) => self.table_of("host", node)?.clone(),
            None => Table::new(),
        };
        let mut hosts: IndexMap<HostName, HostDraft> = IndexMap::new();
        let mut of_groups: IndexMap<&HostName, Vec<usize>> = IndexMap::new();
        for (position, group) in groups.iter().enumerate() {
            for name in &group.members {
                of_groups.entry(name).or_default().push(position);
            }
        }
        let mut draft = |name: &HostName, place: &SourcePlace, own: Table, groups: Vec<usize>| {
            if hosts.len() >= MOST_HOSTS {
                let message = format!("a lab of more than {MOST_HOSTS} hosts");
                return Err(self.problem(place, message, "with these", None));
            }
            hosts.insert(
                name.clone(),
                HostDraft {
                    place: place.clone(),
                    own,
                    groups,
                },
            );
            Ok(())
        };
        for (text, (place, node)) in &described {
            let name = HostName::new(text.as_str())
                .map_err(|error| self.problem(place, error.to_string(), "here", None))?;
            let own = self.table_of(text, node)?;
            if !of_groups.contains_key(&name) {
                draft(&name, place, own.clone(), Vec::new())?;
            }
        }
        for (name, of_host) in of_groups {
            let first = &groups[of_host[0]];
            match described.get(name.as_str()) {
                Some((place, node)) => {
                    draft(
                        name,
                        place,
                        self.table_of(name.as_str(), node)?.clone(),
                        of_host,
                    )?;
                }
                None => draft(name, &first.hosts, Table::new(), of_host)?,
            }
        }
        let is_host = |group: &&GroupDraft| hosts.contains_key(group.name.as_str());
        match groups.iter().find(is_host) {
            Some(group) => {
                let message = format!("`{}` is a host's name already", group.name);
                let help = "a command that names it couldn't tell which is meant";
                Err(self.problem(
                    &group.place,
                    message,
                    "a group can't have it",
                    Some(help.into()),
                ))
            }
            None => Ok(hosts),
        }
    }

    /// The file in which a place is, and those that include it, from inside out.
    fn includers(&self, place: &SourcePlace) -> impl Iterator<Item = &LabFile> {
        let first = self.files.get(place.document);
        std::iter::successors(first, |file| self.files.get(file.includer?))
    }

    /// A host's keys in full.
    fn settings(
        &self,
        name: &HostName,
        host: HostDraft,
        groups: &[GroupDraft],
    ) -> Result<Table, DocumentError> {
        let mut own = host.own;
        let mut vars: Variables = match own.shift_remove("vars") {
            Some((_, node)) => self.variables(&node)?,
            None => Variables::new(),
        };
        let mut tags = Vec::new();
        let mut add_tags = |keys: &mut Table| -> Result<(), DocumentError> {
            match keys.shift_remove("tags") {
                None => Ok(()),
                Some((
                    _,
                    Node {
                        value: NodeValue::List(list),
                        ..
                    },
                )) => {
                    for tag in list {
                        if !tags.iter().any(|known| is_same(known, &tag)) {
                            tags.push(tag);
                        }
                    }
                    Ok(())
                }
                Some((_, node)) => {
                    let help = Some("expected a list: tags = [\"10g\"]".to_owned());
                    Err(self.problem(&node.place, "this is no list of tags", "here", help))
                }
            }
        };
        add_tags(&mut own)?;
        let contradiction =
            |one: &GroupDraft, other: &GroupDraft, key: &str, place: &SourcePlace| {
                let message = format!(
                    "groups `{}` and `{}` say different things of `{key}` of host `{name}`",
                    one.name, other.name
                );
                let help = format!(
                    "say it at the host, [host.{name}], or in one of both; `{}` is {}",
                    one.name,
                    self.words(&one.place)
                );
                self.problem(
                    place,
                    message,
                    &format!("`{}` says this", other.name),
                    Some(help),
                )
            };
        let mut of_groups: IndexMap<String, (&GroupDraft, (SourcePlace, Node))> = IndexMap::new();
        let mut vars_of_groups: BTreeMap<&str, (&GroupDraft, &str)> = BTreeMap::new();
        for group in host
            .groups
            .iter()
            .filter_map(|position| groups.get(*position))
        {
            let mut keys = group.keys.clone();
            add_tags(&mut keys)?;
            for (key, said) in keys {
                if own.contains_key(&key) {
                    continue;
                }
                match of_groups.get(&key) {
                    Some((first, (_, known))) if !is_same(known, &said.1) => {
                        return Err(contradiction(first, group, &key, &said.1.place));
                    }
                    Some(_) => {}
                    None => {
                        of_groups.insert(key, (group, said));
                    }
                }
            }
            for (variable, (place, text)) in &group.vars {
                if vars.contains_key(variable) {
                    continue;
                }
                match vars_of_groups.get(variable.as_str()) {
                    Some((first, known)) if known != text => {
                        return Err(contradiction(first, group, variable, place));
                    }
                    _ => {
                        vars_of_groups.insert(variable, (group, text));
                    }
                }
            }
        }
        for group in host
            .groups
            .iter()
            .filter_map(|position| groups.get(*position))
        {
            for (variable, value) in &group.vars {
                vars.entry(variable.clone())
                    .or_insert_with(|| value.clone());
            }
        }
        let mut keys = own;
        keys.extend(of_groups.into_iter().map(|(key, (_, said))| (key, said)));
        let defaults = || self.includers(&host.place).map(|file| &file.defaults);
        if !keys.contains_key("kind") {
            let kind = defaults().find_map(|defaults| defaults.get("kind"));
            let Some(kind) = kind else {
                let help = "say kind = \"ssh\" (or another) at the host, in a group of it or in [defaults]";
                let message = format!("host `{name}` has no kind");
                return Err(self.problem(&host.place, message, "named here", Some(help.into())));
            };
            keys.insert("kind".into(), kind.clone());
        }
        let kind = match &keys["kind"].1.value {
            NodeValue::Text(kind) => kind.clone(),
            _ => String::new(),
        };
        for defaults in defaults() {
            let mut defaults = defaults.clone();
            add_tags(&mut defaults)?;
            for (key, said) in defaults {
                if is_default_for(&key, &kind) && !keys.contains_key(&key) {
                    keys.insert(key, said);
                }
            }
        }
        if let Some(first) = tags.first() {
            let place = first.place.clone();
            let list = Node {
                place: place.clone(),
                value: NodeValue::List(tags),
            };
            keys.insert("tags".into(), (place, list));
        }
        for (key, (_, node)) in &mut keys {
            let later = FILLED_LATER.contains(&key.as_str());
            self.fill(node, name, &host.place, &vars, later)?;
        }
        Ok(keys)
    }

    /// Puts the values of variables into the texts of a value.
    fn fill(
        &self,
        node: &mut Node,
        host: &HostName,
        named: &SourcePlace,
        vars: &Variables,
        later: bool,
    ) -> Result<(), DocumentError> {
        match &mut node.value {
            NodeValue::Text(text) if text.contains(['{', '}']) => {
                let files = || self.includers(named).chain(self.includers(&node.place));
                let value = |variable: &str| match variable {
                    HOST => Some(host.as_str()),
                    _ => {
                        let of_file = || files().find_map(|file| file.vars.get(variable));
                        vars.get(variable)
                            .or_else(of_file)
                            .map(|(_, text)| text.as_str())
                    }
                };
                let filled = match later {
                    true => filled_later(text, value),
                    false => filled(text, value),
                };
                *text = filled.map_err(|fault| {
                    let help = match &fault {
                        VariableFault::Unknown(unknown) => {
                            let known = files().flat_map(|file| file.vars.keys());
                            let known: Vec<&str> =
                                known.chain(vars.keys()).map(String::as_str).chain([HOST]).collect();
                            let near = nearest(unknown, known.iter().copied());
                            near.map(|near| format!("did you mean `{near}`?"))
                        }
                        _ => None,
                    };
                    let help = help.unwrap_or_else(|| {
                        "a variable is given a value in [vars], or in `vars` of the host or a group; a literal brace is written twice, `{{`".into()
                    });
                    self.problem(&node.place, fault.message(host), "here", Some(help))
                })?;
            }
            NodeValue::Text(_) | NodeValue::Literal(_) => {}
            NodeValue::List(list) => {
                for item in list {
                    self.fill(item, host, named, vars, later)?;
                }
            }
            NodeValue::Table(table) => {
                for (_, item) in table.values_mut() {
                    self.fill(item, host, named, vars, later)?;
                }
            }
        }
        Ok(())
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

/// Whether a value is written below a header of its own.
fn is_section(node: &Node) -> bool {
    match &node.value {
        NodeValue::Table(_) => true,
        NodeValue::List(list) => {
            !list.is_empty()
                && list
                    .iter()
                    .all(|item| matches!(item.value, NodeValue::Table(_)))
        }
        _ => false,
    }
}

/// Whether a default is for hosts of this kind: one that they can't have is for the others.
fn is_default_for(key: &str, kind: &str) -> bool {
    let is_kernel = matches!(kind, "uml" | "qemu" | "vm");
    let is_made = matches!(kind, "container" | "vm");
    match key {
        "login" | "options" | "ssh-reboot" | "kexec" | "install" | "power" | "console" => {
            kind == "ssh"
        }
        "prepare" => matches!(kind, "local" | "ssh"),
        "memory" => is_kernel,
        "cpus" | "kvm" => matches!(kind, "qemu" | "vm"),
        "programs" => kind == "qemu",
        "image" | "folder" | "engine" => kind == "container",
        "disk" | "kernel" | "initrd" | "append" => kind == "vm",
        "recipe" | "restore" => is_made,
        "root" => kind == "uml",
        _ => true,
    }
}

fn has_braces(node: &Node) -> bool {
    match &node.value {
        NodeValue::Text(text) => text.contains(['{', '}']),
        NodeValue::Literal(_) => false,
        NodeValue::List(list) => list.iter().any(has_braces),
        NodeValue::Table(table) => table.values().any(|(_, node)| has_braces(node)),
    }
}

fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.len() <= crate::name::LONGEST
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

/// Why a text can't be filled.
enum VariableFault {
    /// There is no such variable.
    Unknown(String),
    /// A brace alone, or around what is no variable.
    Brace,
    /// It becomes too long.
    TooLong,
}

impl VariableFault {
    fn message(&self, host: &HostName) -> String {
        match self {
            Self::Unknown(name) => format!("host `{host}` has no variable `{name}`"),
            Self::Brace => "a brace that isn't around a variable's name".into(),
            Self::TooLong => format!(
                "a text of host `{host}` that is longer than {LONGEST_TEXT} bytes with its variables"
            ),
        }
    }
}

/// The text with the values of its variables.
fn filled<'a>(
    text: &str,
    value: impl Fn(&str) -> Option<&'a str>,
) -> Result<String, VariableFault> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(&rest[..at]);
        let (brace, tail) = rest[at..].split_at(1);
        if let Some(tail) = tail.strip_prefix(brace) {
            out.push_str(brace);
            rest = tail;
            continue;
        }
        let inside = (brace == "{").then(|| tail.split_once('}')).flatten();
        let (name, after) = inside
            .filter(|(name, _)| is_variable(name))
            .ok_or(VariableFault::Brace)?;
        out.push_str(value(name).ok_or_else(|| VariableFault::Unknown(name.to_owned()))?);
        if out.len() > LONGEST_TEXT {
            return Err(VariableFault::TooLong);
        }
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

/// The same of a text that is filled again when it is used: what isn't a variable, or is known there, stays.
fn filled_later<'a>(
    text: &str,
    value: impl Fn(&str) -> Option<&'a str>,
) -> Result<String, VariableFault> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(&rest[..at]);
        let (brace, tail) = rest[at..].split_at(1);
        if tail.starts_with(brace) {
            out.push_str(&rest[at..at + 2]);
            rest = &tail[1..];
            continue;
        }
        let inside = (brace == "{").then(|| tail.split_once('}')).flatten();
        let is_free = |name: &str| !crate::target_placeholders().any(|known| known == name);
        let known = inside.filter(|(name, _)| is_variable(name) && is_free(name));
        match known.and_then(|(name, after)| Some((value(name)?, after))) {
            Some((value, after)) => {
                out.push_str(&value.replace('{', "{{").replace('}', "}}"));
                rest = after;
            }
            None => {
                out.push_str(brace);
                rest = tail;
            }
        }
        if out.len() > LONGEST_TEXT {
            return Err(VariableFault::TooLong);
        }
    }
    out.push_str(rest);
    Ok(out)
}

fn table(document: usize, text: &str, parsed: &DeTable<'_>) -> Table {
    let place = |span: Range<usize>| SourcePlace { document, span };
    let entries = parsed.iter().map(|(key, value)| {
        let node = node(document, text, value.get_ref(), value.span());
        (key.get_ref().to_string(), (place(key.span()), node))
    });
    entries.collect()
}

fn node(document: usize, text: &str, value: &DeValue<'_>, span: Range<usize>) -> Node {
    let value = match value {
        DeValue::String(text) => NodeValue::Text(text.to_string()),
        DeValue::Array(list) => {
            let items = list
                .iter()
                .map(|item| node(document, text, item.get_ref(), item.span()));
            NodeValue::List(items.collect())
        }
        DeValue::Table(inner) => NodeValue::Table(table(document, text, inner)),
        _ => NodeValue::Literal(text.get(span.clone()).unwrap_or_default().to_owned()),
    };
    Node {
        place: SourcePlace { document, span },
        value,
    }
}

/// Writes a document, and keeps where its parts come from.
#[derive(Default)]
struct DocumentWriter {
    text: String,
    parts: Vec<(Range<usize>, SourcePlace)>,
}

impl DocumentWriter {
    /// A line that says something to people.
    fn comment(&mut self, text: &str) {
        let line: String = text
            .chars()
            .map(|c| if c.is_control() { '?' } else { c })
            .collect();
        self.text.push_str("# ");
        self.text.push_str(&line);
        self.text.push('\n');
    }

    fn part(&mut self, start: usize, place: &SourcePlace) {
        self.parts.push((start..self.text.len(), place.clone()));
    }

    fn header(&mut self, path: &[&str], place: &SourcePlace, is_item: bool) {
        let (open, close) = if is_item {
            ("[[", "]]\n")
        } else {
            ("[", "]\n")
        };
        self.text.push('\n');
        let start = self.text.len();
        self.text.push_str(open);
        for (position, key) in path.iter().enumerate() {
            if position > 0 {
                self.text.push('.');
            }
            self.key(key);
        }
        self.text.push_str(close);
        self.part(start, place);
    }

    /// A table of tables, a list of tables, or a table, below headers of their own.
    fn section(&mut self, name: &str, place: &SourcePlace, node: &Node) {
        let keys = |writer: &mut Self, node: &Node| {
            if let NodeValue::Table(table) = &node.value {
                for (key, (place, node)) in table {
                    writer.entry(key, place, node);
                }
            }
        };
        match &node.value {
            NodeValue::List(list) => {
                for item in list {
                    self.header(&[name], &item.place, true);
                    keys(self, item);
                }
            }
            NodeValue::Table(table) => {
                let is_table = |node: &Node| matches!(node.value, NodeValue::Table(_));
                if !table.is_empty() && table.values().all(|(_, node)| is_table(node)) {
                    for (key, (place, node)) in table {
                        self.header(&[name, key], place, false);
                        keys(self, node);
                    }
                } else {
                    self.header(&[name], place, false);
                    keys(self, node);
                }
            }
            NodeValue::Text(_) | NodeValue::Literal(_) => self.entry(name, place, node),
        }
    }

    fn entry(&mut self, key: &str, place: &SourcePlace, node: &Node) {
        let start = self.text.len();
        self.key(key);
        self.part(start, place);
        self.text.push_str(" = ");
        self.value(node);
        self.text.push('\n');
    }

    fn value(&mut self, node: &Node) {
        let start = self.text.len();
        match &node.value {
            NodeValue::Text(text) => self.quoted(text),
            NodeValue::Literal(literal) => self.text.push_str(literal),
            NodeValue::List(list) => {
                self.text.push('[');
                for (position, item) in list.iter().enumerate() {
                    if position > 0 {
                        self.text.push_str(", ");
                    }
                    self.value(item);
                }
                self.text.push(']');
            }
            NodeValue::Table(table) => {
                self.text.push('{');
                for (position, (key, (place, item))) in table.iter().enumerate() {
                    self.text.push_str(if position > 0 { ", " } else { " " });
                    let start = self.text.len();
                    self.key(key);
                    self.part(start, place);
                    self.text.push_str(" = ");
                    self.value(item);
                }
                self.text.push_str(" }");
            }
        }
        self.part(start, &node.place);
    }

    fn key(&mut self, key: &str) {
        let is_bare = !key.is_empty()
            && key
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
        match is_bare {
            true => self.text.push_str(key),
            false => self.quoted(key),
        }
    }

    fn quoted(&mut self, text: &str) {
        self.text.push_str(&toml_quoted(text));
    }
}

/// A text as TOML writes it, in quotes.
pub fn toml_quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HostKind;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Lab, DocumentError> {
        Lab::read(&Lab::write_out(&TomlDocument::new("lab.toml", text))?)
    }

    fn fault(text: &str) -> (String, (usize, usize)) {
        let error = read(text).expect_err(text);
        let help = error
            .help()
            .map(|help| help.to_string())
            .unwrap_or_default();
        (format!("{error}; {help}"), error.place())
    }

    const LAB: &str = r#"
name = "rack"
[vars]
domain = "lab.example.org"

[defaults]
options = ["-p", "2222"]
console = "conserver {host}"
power = { on = "pdu {switch} on", off = "pdu {switch} off" }

[group.clients]
hosts = "client[01-30]"
kind  = "ssh"
login = "root@{host}.{domain}"
tags  = ["10g", "x86"]
vars  = { switch = "s1" }

[host.client07]
tags = ["slow", "10g"]
options = []

[host.here]
kind = "local"
[testbed.one]
client = "client01"
"#;

    #[test]
    fn a_group_gives_its_hosts_what_they_do_not_say_themselves() {
        let lab = read(LAB).unwrap();
        assert_eq!(lab.host.len(), 31);
        let host = |name: &str| (&lab.host[name], HostName::new(name).unwrap());
        let (first, name) = host("client01");
        assert_eq!(first.kind, HostKind::Ssh);
        assert_eq!(first.login(&name), "root@client01.lab.example.org");
        assert_eq!(first.options.len(), 2);
        let tags = |host: &Host| {
            host.tags
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
        };
        assert_eq!(tags(first), ["10g", "x86"]);
        let (slow, _) = host("client07");
        assert_eq!(tags(slow), ["slow", "10g", "x86"]);
        assert!(slow.options.is_empty());
        assert!(first.power.is_some() && slow.console.is_some());
        // It can't have options of ssh, power or a console, which the others have by default.
        let (here, _) = host("here");
        assert!(here.options.is_empty() && here.power.is_none() && here.console.is_none());
        assert_eq!(lab.group["clients"].members().len(), 30);
    }

    #[test]
    fn a_lab_that_is_written_out_stands_for_itself() {
        let document = TomlDocument::new("lab.toml", LAB);
        let written = Lab::write_out(&document).unwrap();
        assert_eq!(written.name, "lab.toml");
        assert!(
            written.text.contains("hosts = [\"client[01-30]\"]"),
            "{}",
            written.text
        );
        assert!(!written.text.contains("switch"), "{}", written.text);
        // As a study finds it, without the files: the same lab, and written out again the same document.
        let stored = TomlDocument::new("lab.toml", written.text.to_string());
        assert_eq!(Lab::read(&stored).unwrap(), Lab::read(&written).unwrap());
        // What needs none of it stays as it was written.
        let plain = TomlDocument::new(
            "lab.toml",
            "# mine\n[host.a]\nkind = \"local\"\ntags = [\"x\"]\n",
        );
        assert_eq!(Lab::write_out(&plain).unwrap(), plain);
    }

    #[test]
    fn braces_are_literal_where_they_are_written_twice_or_filled_later() {
        let lab = read(
            "[vars]\nwho = \"a{b}\"\n[host.a]\nkind = \"ssh\"\noptions = [\"-o\", \"x={{y}}\", \"{who}\"]\n\
             [host.a.ssh-reboot]\nreboot = \"{{ {who} {target} {host}\"\n",
        )
        .unwrap();
        let host = &lab.host["a"];
        assert_eq!(*host.options[1], "x={y}");
        assert_eq!(*host.options[2], "a{b}");
        let reboot = host.ssh_reboot.as_ref().unwrap().reboot.as_ref().unwrap();
        assert_eq!(reboot.source(), "{{ a{{b}} {target} a");
    }

    #[test]
    fn faults_point_at_what_was_written() {
        let base = "[group.g]\nhosts = \"h[1-2]\"\nkind = \"ssh\"\n";
        for (more, says, place) in [
            (
                "login = \"{domian}\"\n[vars]\ndomain = \"x\"",
                "did you mean `domain`?",
                (4, 9),
            ),
            ("login = \"{zzz}\"", "`{{`", (4, 9)),
            ("login = \"{\"", "a brace", (4, 9)),
            ("logn = \"x\"", "did you mean `login`?", (4, 1)),
            ("memory = \"64MiB\"", "memory that it has", (4, 10)),
            (
                "login = \"-oProxyCommand=x\"",
                "nobody who could log in",
                (4, 9),
            ),
            ("[host.g]\nkind = \"ssh\"", "a host's name already", (1, 8)),
            ("[host.other]\ndata = \"10.0.0.1\"", "has no kind", (4, 7)),
            (
                "[defaults]\nkindd = \"ssh\"",
                "did you mean `kind`?",
                (5, 1),
            ),
            ("[vars]\nhost = \"x\"", "own name", (5, 1)),
            ("[vars]\nn = 3", "no text", (5, 5)),
            ("[vars]\n\"a b\" = \"\"", "variable's name", (5, 1)),
            ("[incldue]\nx = 1", "did you mean `include`?", (4, 2)),
            ("[group.e]\nkind = \"ssh\"", "no `hosts`", (4, 8)),
            (
                "[group.e]\nhosts = \"n[1-99999999]\"",
                "more than 4096",
                (5, 9),
            ),
            (
                "[group.e]\nhosts = [\"n[1-4000]\"]\nkind = \"ssh\"\n[group.f]\nhosts = [\"m[1-97]\", \"x[1-9]\"]\nkind = \"ssh\"",
                "more than 4096",
                (8, 9),
            ),
            ("[group.e]\nhosts = [3]", "names no hosts", (5, 10)),
            (
                "[group.e]\nhosts = \"h1\"\nkind = \"local\"",
                "groups `g` and `e`",
                (6, 8),
            ),
            (
                "[testbed.t]\nclient = \"h3\"",
                "`h3` is not in this lab",
                (5, 10),
            ),
            ("tags = \"x\"", "no list of tags", (4, 8)),
            ("tags = [\"a b\"]", "not a name", (4, 9)),
        ] {
            let (message, at) = fault(&format!("{base}{more}\n"));
            assert!(message.contains(says), "{more}: {message}");
            assert_eq!(at, place, "{more}: {message}");
        }
    }

    #[test]
    fn groups_that_contradict_each_other_are_named_unless_the_host_decides() {
        let groups = "[group.a]\nhosts = \"h\"\nkind = \"ssh\"\nlogin = \"x\"\ntags = [\"one\"]\nvars = { v = \"1\" }\n\
                      [group.b]\nhosts = [\"h\"]\nkind = \"ssh\"\nlogin = \"y\"\ntags = [\"two\"]\n";
        let (message, place) = fault(groups);
        assert!(
            message.contains("groups `a` and `b` say different things of `login` of host `h`"),
            "{message}"
        );
        assert!(message.contains("lab.toml, line 1"), "{message}");
        assert_eq!(place, (10, 9));
        let lab = read(&format!("{groups}[host.h]\nlogin = \"z{{v}}\"\n")).unwrap();
        assert_eq!(lab.host["h"].login(&HostName::new("h").unwrap()), "z1");
        assert_eq!(lab.host["h"].tags.len(), 2);
        let vars = "[group.a]\nhosts = \"h\"\nkind = \"ssh\"\nvars = { v = \"1\" }\n[group.b]\nhosts = \"h\"\nvars = { v = \"2\" }\n";
        assert!(fault(vars).0.contains("of `v` of host `h`"));
    }

    fn files(texts: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in texts {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let first = folder.path().join(texts[0].0);
        (folder, first)
    }

    #[test]
    fn files_are_included_and_each_has_defaults_and_variables_of_its_own() {
        let (_folder, path) = files(&[
            (
                "lab.toml",
                "include = [\"racks/*.toml\"]\n[vars]\ndomain = \"lab\"\n[defaults]\nkind = \"ssh\"\nlogin = \"{host}.{domain}\"\n\
                 [host.dut]\n[testbed.t]\nclient = \"b1\"\nserver = \"dut\"\n",
            ),
            (
                "racks/a.toml",
                "name = \"a\"\n[group.a]\nhosts = \"a[1-2]\"\n",
            ),
            (
                "racks/b.toml",
                "[vars]\ndomain = \"b.lab\"\n[defaults]\noptions = [\"-4\"]\n[group.b]\nhosts = [\"b[1-2]\", \"dut\"]\n",
            ),
            ("racks/.hidden.toml", "not = toml ["),
        ]);
        let lab = Lab::read(&Lab::open(&path).unwrap()).unwrap();
        assert_eq!(lab.name.as_str(), "lab");
        let login = |name: &str| lab.host[name].login.as_ref().unwrap().to_string();
        assert_eq!(
            (login("a1"), login("b2"), login("dut")),
            ("a1.lab".into(), "b2.b.lab".into(), "dut.lab".into())
        );
        assert_eq!(lab.host["b1"].options.len(), 1);
        assert!(lab.host["dut"].options.is_empty());
    }

    #[test]
    fn faults_of_included_files_are_said_there() {
        let main = "include = [\"b.toml\"]\n[host.here]\nkind = \"local\"\n";
        let fault = |texts: &[(&str, &str)]| {
            let (_folder, path) = files(texts);
            let error = match Lab::open(&path) {
                Ok(document) => Lab::read(&document).unwrap_err(),
                Err(LabFileError::Document(error)) => error,
                Err(error) => panic!("{error}"),
            };
            let mut shown = String::new();
            miette::GraphicalReportHandler::new_themed(miette::GraphicalTheme::unicode_nocolor())
                .with_width(200)
                .render_report(&mut shown, &error)
                .unwrap();
            shown
        };
        for (texts, says) in [
            (
                &[
                    ("lab.toml", main),
                    ("b.toml", "[host.x]\nkind = \"sssh\"\n"),
                ][..],
                "b.toml:2:8",
            ),
            (
                &[("lab.toml", main), ("b.toml", "[host.x]\nkind = \n")],
                "b.toml:2",
            ),
            (
                &[
                    ("lab.toml", main),
                    ("b.toml", "[host.here]\nkind = \"local\"\n"),
                ],
                "b.toml:1:7",
            ),
            (
                &[
                    ("lab.toml", main),
                    ("b.toml", "[testbed.t]\nclient = \"hre\"\n"),
                ],
                "did you mean `here`?",
            ),
            (
                &[("lab.toml", main), ("b.toml", "include = [\"lab.toml\"]\n")],
                "includes itself",
            ),
            (
                &[
                    ("lab.toml", main),
                    ("b.toml", "include = [\"c.toml\", \"c.toml\"]\n"),
                    ("c.toml", ""),
                ],
                "c.toml is included twice",
            ),
            (&[("lab.toml", main)], "lab.toml:1:12"),
            (
                &[("lab.toml", "include = [\"no*.toml\"]\n")],
                "no file is called `no*.toml`",
            ),
            (
                &[("lab.toml", "include = \"b.toml\"\n")],
                "no list of files",
            ),
        ] {
            let shown = fault(texts);
            assert!(shown.contains(says), "{texts:?}: {shown}");
        }
    }

    #[test]
    fn a_lab_without_a_folder_includes_nothing() {
        assert!(fault("include = [\"b.toml\"]").0.contains("can't include"));
    }

    #[test]
    fn a_text_that_grows_is_refused() {
        let vars = format!("[vars]\nv = \"{}\"\n", "x".repeat(60_000));
        let text = format!("{vars}[host.h]\nkind = \"ssh\"\nlogin = \"{{v}}{{v}}\"\n");
        assert!(fault(&text).0.contains("longer than"));
        let text = format!(
            "[defaults]\nlogin = \"{}\"\nkind = \"ssh\"\n[group.g]\nhosts = \"n[1-4096]\"\n",
            "x".repeat(60_000)
        );
        assert!(fault(&text).0.contains("MiB"));
    }

    #[test]
    fn the_schema_has_what_files_may_say() {
        let schema = file_schema();
        for path in [
            "/properties/include",
            "/properties/vars",
            "/properties/defaults",
            "/$defs/Group/properties/login",
            "/$defs/Host/properties/vars",
        ] {
            assert!(schema.pointer(path).is_some(), "{path}: {schema:#}");
        }
        assert!(schema.pointer("/$defs/Host/required").is_none());
    }

    proptest! {
        #[test]
        fn quoted_texts_are_read_as_they_are(text in any::<String>()) {
            let document = TomlDocument::new("x", format!("a = {}\n", toml_quoted(&text)));
            let read: BTreeMap<String, String> = document.read().unwrap();
            prop_assert_eq!(&read["a"], &text);
        }
    }
}
