//! Lists of hosts that other tools have, as labs: inventories of Ansible, as INI and as YAML.
//!
//! An inventory is read as Ansible reads it (groups, children, ranges, variables and which of them goes before which), and written as a
//! lab's file. What a lab doesn't know stays in it as a comment, without the values of secrets; hosts that a lab can't reach are
//! left out by name.
//!
//! Files are of others: sizes, depths and numbers of hosts are bounded, and an alias of YAML can't grow.

mod ini;
mod lab_text;
mod ranges;
mod yaml;

use backsight_model::MOST_HOSTS;
use indexmap::{IndexMap, IndexSet};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

/// The largest inventory, in bytes.
const LARGEST: u64 = 8 << 20;

/// Names with their values.
pub type Variables = IndexMap<String, Value>;

/// Why an inventory can't be read.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum InventoryError {
    /// The file can't be read.
    #[error("can't read {0}: {1}")]
    Unreadable(String, std::io::Error),
    /// The lab's file can't be written, or is there already.
    #[error("can't write {0}: {1}")]
    Unwritable(String, std::io::Error),
    /// A fault in it.
    #[error("{file}, line {line}: {message}")]
    Fault {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// It has no host that a lab could have.
    #[error("{0} has no host that `ssh` reaches, nor this machine")]
    NoHosts(String),
    /// The lab that was made of it isn't one.
    #[error("what it says makes no lab: {0}")]
    NoLab(backsight_model::DocumentError),
}

/// A group of an inventory.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InventoryGroup {
    /// Hosts that it names itself.
    pub hosts: IndexSet<String>,
    /// Groups in it.
    pub children: IndexSet<String>,
    /// What all its hosts have.
    pub vars: Variables,
}

/// An inventory as it is written, without the group `all`, in which everything is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Inventory {
    /// Hosts with their own variables.
    pub hosts: IndexMap<String, Variables>,
    /// Groups.
    pub groups: IndexMap<String, InventoryGroup>,
    /// Variables of all hosts.
    pub all: Variables,
    /// What was passed over, in words.
    pub notes: Vec<String>,
}

/// A lab's file that was made of an inventory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedLab {
    /// The file.
    pub text: String,
    /// How many hosts it has.
    pub hosts: usize,
    /// What was left out, in words.
    pub notes: Vec<String>,
}

/// Something wrong at a line.
#[derive(Debug)]
struct LineFault {
    line: usize,
    message: String,
}

impl LineFault {
    fn new(line: usize, message: impl Into<String>) -> Self {
        Self {
            line,
            message: message.into(),
        }
    }
}

impl ImportedLab {
    /// The lab that this inventory of Ansible makes; its folders `group_vars` and `host_vars` beside it are read too.
    ///
    /// # Errors
    /// It can't be read, isn't an inventory, or has no host that a lab could have.
    pub fn from_ansible(path: &Path) -> Result<Self, InventoryError> {
        let inventory = Inventory::open(path)?;
        let name = path.display().to_string();
        inventory.lab(&name)
    }

    /// Writes the file, which must not be there yet.
    ///
    /// # Errors
    /// It is there, or can't be written.
    pub fn save(&self, path: &Path) -> Result<(), InventoryError> {
        use std::io::Write as _;
        let file = std::fs::File::create_new(path);
        file.and_then(|mut file| file.write_all(self.text.as_bytes()))
            .map_err(|error| InventoryError::Unwritable(path.display().to_string(), error))
    }
}

fn read_text(path: &Path) -> Result<String, InventoryError> {
    use std::io::Read as _;
    let unreadable = |error| InventoryError::Unreadable(path.display().to_string(), error);
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let mut text = String::new();
    file.take(LARGEST + 1)
        .read_to_string(&mut text)
        .map_err(unreadable)?;
    match text.len() as u64 > LARGEST {
        true => Err(unreadable(std::io::Error::other(format!(
            "longer than {} MiB",
            LARGEST >> 20
        )))),
        false => Ok(text),
    }
}

impl Inventory {
    /// The inventory in this file, with the folders `group_vars` and `host_vars` beside it.
    ///
    /// # Errors
    /// It can't be read, or isn't an inventory.
    pub fn open(path: &Path) -> Result<Self, InventoryError> {
        let mut inventory = Self::parse(&path.display().to_string(), &read_text(path)?)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        inventory.read_folder(folder)?;
        Ok(inventory)
    }

    /// The inventory that this text writes: YAML where the name or the text says so, else INI.
    ///
    /// # Errors
    /// It isn't an inventory.
    pub fn parse(name: &str, text: &str) -> Result<Self, InventoryError> {
        let ending = Path::new(name)
            .extension()
            .and_then(|ending| ending.to_str());
        let first = text
            .lines()
            .map(str::trim_end)
            .find(|line| !line.trim().is_empty() && !line.starts_with(['#', ';']));
        let is_yaml = match ending {
            Some("yml" | "yaml" | "json") => true,
            Some("ini") => false,
            _ => first.is_some_and(|line| {
                line == "---" || (line.ends_with(':') && !line.starts_with('['))
            }),
        };
        let read = if is_yaml {
            yaml::read(text)
        } else {
            ini::read(text)
        };
        read.map_err(|LineFault { line, message }| InventoryError::Fault {
            file: name.to_owned(),
            line,
            message,
        })
    }

    /// Adds variables of `group_vars` and `host_vars`, which go before those that the inventory itself says.
    fn read_folder(&mut self, folder: &Path) -> Result<(), InventoryError> {
        let of_group = |name: &str| folder_variables(&folder.join("group_vars"), name);
        let (all, mut notes) = of_group("all")?;
        self.all.extend(all);
        for (name, group) in &mut self.groups {
            let (vars, more) = of_group(name)?;
            group.vars.extend(vars);
            notes.extend(more);
        }
        for (name, own) in &mut self.hosts {
            let (vars, more) = folder_variables(&folder.join("host_vars"), name)?;
            own.extend(vars);
            notes.extend(more);
        }
        self.notes.extend(notes);
        Ok(())
    }

    /// Adds a host, if it is new.
    fn add_host(&mut self, name: &str, line: usize) -> Result<&mut Variables, LineFault> {
        if !self.hosts.contains_key(name) && self.hosts.len() >= MOST_HOSTS {
            return Err(LineFault::new(
                line,
                format!("more than {MOST_HOSTS} hosts"),
            ));
        }
        Ok(self.hosts.entry(name.to_owned()).or_default())
    }

    /// A group, made if it isn't there.
    fn add_group(&mut self, name: &str, line: usize) -> Result<&mut InventoryGroup, LineFault> {
        if !self.groups.contains_key(name) && self.groups.len() >= MOST_HOSTS {
            return Err(LineFault::new(
                line,
                format!("more than {MOST_HOSTS} groups"),
            ));
        }
        Ok(self.groups.entry(name.to_owned()).or_default())
    }

    /// The hosts of a group and of the groups in it, in order.
    pub fn members(&self, group: &str) -> IndexSet<&str> {
        let mut seen = BTreeSet::from([group]);
        let mut waiting = vec![group];
        let mut members = IndexSet::new();
        while let Some(name) = waiting.pop() {
            let Some(group) = self.groups.get(name) else {
                continue;
            };
            members.extend(group.hosts.iter().map(String::as_str));
            waiting.extend(
                group
                    .children
                    .iter()
                    .rev()
                    .map(String::as_str)
                    .filter(|child| seen.insert(*child)),
            );
        }
        members
    }

    /// How deep each group is in others, as Ansible counts; groups in a circle stay where they are.
    fn depths(&self) -> BTreeMap<&str, usize> {
        let mut depths: BTreeMap<&str, usize> =
            self.groups.keys().map(|name| (name.as_str(), 1)).collect();
        for _ in 0..self.groups.len().min(64) {
            let mut is_changed = false;
            for (name, group) in &self.groups {
                let below = depths[name.as_str()] + 1;
                for child in &group.children {
                    if let Some(depth) = depths
                        .get_mut(child.as_str())
                        .filter(|depth| **depth < below)
                    {
                        *depth = below;
                        is_changed = true;
                    }
                }
            }
            if !is_changed {
                break;
            }
        }
        depths
    }

    /// Each host's variables: those of all, of its groups from the outermost to the innermost, and its own. A later one wins.
    pub fn host_variables(&self) -> IndexMap<&str, Variables> {
        let depths = self.depths();
        let mut order: Vec<(&str, &InventoryGroup)> = self
            .groups
            .iter()
            .map(|(name, group)| (name.as_str(), group))
            .collect();
        let priority = |group: &InventoryGroup| {
            let said = group.vars.get("ansible_group_priority");
            said.and_then(|it| it.as_i64().or_else(|| it.as_str()?.parse().ok()))
                .unwrap_or(1)
        };
        order.sort_by_key(|(name, group)| (depths[name], priority(group), *name));
        let mut all: IndexMap<&str, Variables> = self
            .hosts
            .keys()
            .map(|name| (name.as_str(), self.all.clone()))
            .collect();
        for (name, group) in order {
            let vars = group
                .vars
                .iter()
                .filter(|(key, _)| *key != "ansible_group_priority");
            let vars: Vec<_> = vars.collect();
            if vars.is_empty() {
                continue;
            }
            for host in self.members(name) {
                if let Some(of_host) = all.get_mut(host) {
                    of_host.extend(
                        vars.iter()
                            .map(|(key, value)| ((*key).clone(), (*value).clone())),
                    );
                }
            }
        }
        for (name, own) in &self.hosts {
            if let Some(of_host) = all.get_mut(name.as_str()) {
                of_host.extend(own.clone());
            }
        }
        all
    }
}

/// The variables of files that are called like a host or a group: `NAME`, `NAME.yml`, or all files of a folder `NAME`.
fn folder_variables(folder: &Path, name: &str) -> Result<(Variables, Vec<String>), InventoryError> {
    let mut variables = Variables::new();
    let mut notes = Vec::new();
    if !folder.is_dir() || name.contains(['/', '\0']) || name.starts_with('.') {
        return Ok((variables, notes));
    }
    let files = ["", ".yml", ".yaml", ".json"].map(|ending| folder.join(format!("{name}{ending}")));
    let mut found = Vec::new();
    for path in files {
        match path.is_dir() {
            true => {
                let entries = std::fs::read_dir(&path).into_iter().flatten().flatten();
                let mut inside: Vec<_> = entries
                    .map(|entry| entry.path())
                    .filter(|path| path.is_file())
                    .collect();
                inside.sort();
                found.extend(inside);
            }
            false if path.is_file() => found.push(path),
            false => {}
        }
    }
    for path in found {
        let text = read_text(&path)?;
        let file = path.display().to_string();
        if text.starts_with("$ANSIBLE_VAULT") {
            notes.push(format!("{file} is encrypted, so it wasn't read"));
            continue;
        }
        let read = yaml::read_variables(&text).map_err(|LineFault { line, message }| {
            InventoryError::Fault {
                file,
                line,
                message,
            }
        })?;
        variables.extend(read);
    }
    Ok((variables, notes))
}
