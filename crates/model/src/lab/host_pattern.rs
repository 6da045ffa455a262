//! A host pattern: which hosts of a lab a command is about. `dut`, `client[01-05]`, a group's name `clients`, or a tag: `tag:10g`.
//!
//! A group can't have the name of a host, so that a pattern means one thing.

use std::{collections::BTreeSet, str::FromStr};

use super::Lab;
use crate::{GroupName, HostName, HostSet, TagName, did_you_mean, lab::host_set::HostSetError};

/// What comes before a tag.
const TAG: &str = "tag:";

/// Which hosts a command is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostPattern {
    /// Hosts by name, or the hosts of the group of that name.
    Hosts(HostSet),
    /// Hosts that have a tag.
    Tag(TagName),
}

/// Why a text isn't a host pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostPatternError {
    /// The tag isn't one.
    #[error(transparent)]
    Tag(#[from] crate::NameError),
    /// The hosts aren't a set.
    #[error(transparent)]
    Hosts(#[from] HostSetError),
}

/// A pattern for which a lab has no host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[error("{message}")]
pub struct UnknownHostError {
    message: String,
    #[help]
    help: Option<String>,
}

impl UnknownHostError {
    /// The way out.
    pub(crate) fn help_text(&self) -> Option<String> {
        self.help.clone()
    }
}

impl FromStr for HostPattern {
    type Err = HostPatternError;
    fn from_str(text: &str) -> Result<Self, HostPatternError> {
        Ok(match text.strip_prefix(TAG) {
            Some(tag) => Self::Tag(TagName::new(tag)?),
            None => Self::Hosts(HostSet::parse(text)?),
        })
    }
}

impl From<&HostName> for HostPattern {
    fn from(name: &HostName) -> Self {
        Self::Hosts(HostSet::single(name))
    }
}

impl Lab {
    /// The hosts that these patterns name, each once, in the patterns' order. `also` are names that stand for hosts which aren't in the lab.
    ///
    /// # Errors
    /// A pattern names a host, a group or a tag that isn't there.
    pub fn select(
        &self,
        patterns: &[HostPattern],
        also: &[HostName],
    ) -> Result<Vec<HostName>, UnknownHostError> {
        let mut selected = indexmap::IndexSet::new();
        for pattern in patterns {
            match pattern {
                HostPattern::Tag(tag) => selected.extend(self.hosts_with_tag(tag)?),
                HostPattern::Hosts(set) => {
                    let group = set.as_single().and_then(|name| self.group.get(name));
                    if let Some(group) = group {
                        selected.extend(group.members());
                        continue;
                    }
                    for name in set.expand() {
                        if !self.host.contains_key(&name) && !also.contains(&name) {
                            return Err(self.unknown_host(&name));
                        }
                        selected.insert(name);
                    }
                }
            }
        }
        Ok(selected.into_iter().collect())
    }

    /// The hosts of these patterns, all unless there are some, that have all of these tags and are in all of these groups.
    ///
    /// # Errors
    /// As [`Lab::select`]; a tag that no host has, or a group that isn't there.
    pub fn select_among(
        &self,
        patterns: &[HostPattern],
        tags: &[TagName],
        groups: &[GroupName],
    ) -> Result<Vec<HostName>, UnknownHostError> {
        let mut hosts = match patterns {
            [] => self.host.keys().map(|host| (**host).clone()).collect(),
            patterns => self.select(patterns, &[])?,
        };
        let mut keep = |wanted: Vec<HostName>| {
            let wanted: BTreeSet<HostName> = wanted.into_iter().collect();
            hosts.retain(|host| wanted.contains(host));
        };
        for tag in tags {
            keep(self.hosts_with_tag(tag)?);
        }
        for group in groups {
            keep(self.hosts_of_group(group)?);
        }
        Ok(hosts)
    }

    /// The hosts of a group.
    ///
    /// # Errors
    /// There is no such group.
    pub fn hosts_of_group(&self, name: &GroupName) -> Result<Vec<HostName>, UnknownHostError> {
        let group = self.group.get(name.as_str());
        group.map(super::Group::members).ok_or_else(|| {
            let groups = || self.group.keys().map(|group| group.as_str());
            UnknownHostError {
                message: format!("there is no group `{name}` in the lab"),
                help: did_you_mean(name.as_str(), groups()).or_else(|| listed("groups", groups())),
            }
        })
    }

    /// The hosts that have a tag.
    ///
    /// # Errors
    /// No host has it.
    pub fn hosts_with_tag(&self, tag: &TagName) -> Result<Vec<HostName>, UnknownHostError> {
        let tagged = self
            .host
            .iter()
            .filter(|(_, host)| host.tags.iter().any(|it| **it == *tag));
        let tagged: Vec<HostName> = tagged.map(|(name, _)| (**name).clone()).collect();
        if !tagged.is_empty() {
            return Ok(tagged);
        }
        let tags: BTreeSet<&str> = self
            .host
            .values()
            .flat_map(|host| &host.tags)
            .map(|tag| tag.as_str())
            .collect();
        Err(UnknownHostError {
            message: format!("no host of the lab has the tag `{tag}`"),
            help: did_you_mean(tag.as_str(), tags.iter().copied()).or_else(|| listed("tags", tags)),
        })
    }

    /// The groups that a host is in.
    pub fn groups_of(&self, host: &HostName) -> impl Iterator<Item = &GroupName> {
        let groups = self.group.iter().filter(move |(_, group)| group.has(host));
        groups.map(|(name, _)| &**name)
    }

    fn unknown_host(&self, name: &HostName) -> UnknownHostError {
        let names = || {
            let groups = self.group.keys().map(|group| group.as_str());
            self.host.keys().map(|host| host.as_str()).chain(groups)
        };
        let tag = self
            .host
            .values()
            .flat_map(|host| &host.tags)
            .any(|tag| tag.as_str() == name.as_str());
        let help = match tag {
            true => Some(format!("hosts with a tag are {TAG}{name}")),
            false => did_you_mean(name.as_str(), names()).or_else(|| listed("", names())),
        };
        UnknownHostError {
            message: format!("host `{name}` is not in this lab"),
            help,
        }
    }
}

/// The first names of a list, for a help.
fn listed<'a>(what: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    const SHOWN: usize = 20;
    let names: Vec<&str> = names.into_iter().collect();
    let space = if what.is_empty() { "" } else { " " };
    let more = match names.len().checked_sub(SHOWN) {
        None | Some(0) => String::new(),
        Some(more) => format!(" and {more} more"),
    };
    let shown = names[..names.len().min(SHOWN)].join(", ");
    (!names.is_empty()).then(|| format!("the lab has{space}{what} {shown}{more}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TomlDocument;

    fn lab() -> Lab {
        let text = "[group.clients]\nhosts = \"c[1-3]\"\nkind = \"ssh\"\ntags = [\"10g\"]\n\
                    [host.c2]\ntags = [\"slow\"]\n[host.dut]\nkind = \"ssh\"\ntags = [\"slow\"]\n";
        Lab::read(&Lab::write_out(&TomlDocument::new("lab.toml", text)).unwrap()).unwrap()
    }

    fn select(patterns: &[&str]) -> Result<Vec<String>, String> {
        let patterns: Vec<HostPattern> = patterns.iter().map(|it| it.parse().unwrap()).collect();
        let selected = lab().select(&patterns, &[HostName::new("here").unwrap()]);
        selected
            .map(|hosts| hosts.iter().map(ToString::to_string).collect())
            .map_err(|error| format!("{error}; {}", error.help.clone().unwrap_or_default()))
    }

    #[test]
    fn patterns_are_hosts_sets_groups_and_tags() {
        assert_eq!(select(&["dut", "c[1-2]"]).unwrap(), ["dut", "c1", "c2"]);
        assert_eq!(
            select(&["clients", "c1", "here"]).unwrap(),
            ["c1", "c2", "c3", "here"]
        );
        assert_eq!(select(&["tag:slow"]).unwrap(), ["dut", "c2"]);
        assert_eq!(select(&["tag:10g"]).unwrap().len(), 3);
        assert_eq!(lab().groups_of(&HostName::new("c2").unwrap()).count(), 1);
    }

    #[test]
    fn what_a_lab_has_not_is_said_with_what_it_has() {
        assert!(
            select(&["client"])
                .unwrap_err()
                .contains("did you mean `clients`?")
        );
        assert!(
            select(&["c[1-4]"])
                .unwrap_err()
                .contains("host `c4` is not")
        );
        assert!(select(&["slow"]).unwrap_err().contains("tag:slow"));
        assert!(
            select(&["tag:slwo"])
                .unwrap_err()
                .contains("did you mean `slow`?")
        );
        assert!("tag:".parse::<HostPattern>().is_err());
        assert!("tag:a b".parse::<HostPattern>().is_err());
    }
}
