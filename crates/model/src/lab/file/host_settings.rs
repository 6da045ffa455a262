//! What each host is given: by itself, by its groups, by defaults; and its variables put into it.

use indexmap::IndexMap;
use std::collections::BTreeMap;

use super::node::{Node, NodeValue, Table, is_same};
use super::variables::{VariableFault, Variables, filled, filled_later};
use super::{
    FILLED_LATER, GroupDraft, HOST, HOST_KEYS, HostDraft, LabFile, LabFiles, MOST_MEMBERSHIPS,
};
use crate::document::SourcePlace;
use crate::lab::host_set::{HostSet, MOST_HOSTS};
use crate::{DocumentError, GroupName, HostName, nearest};

impl LabFiles {
    /// The groups of all files, with how many memberships there are.
    pub(super) fn groups(&self) -> Result<Vec<GroupDraft>, DocumentError> {
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
    pub(super) fn members(&self, hosts: &Node) -> Result<Vec<HostName>, DocumentError> {
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
    pub(super) fn hosts(
        &self,
        groups: &[GroupDraft],
    ) -> Result<IndexMap<HostName, HostDraft>, DocumentError> {
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
    pub(super) fn includers(&self, place: &SourcePlace) -> impl Iterator<Item = &LabFile> {
        let first = self.files.get(place.document);
        std::iter::successors(first, |file| self.files.get(file.includer?))
    }

    /// A host's keys in full.
    pub(super) fn settings(
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
    pub(super) fn fill(
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
