//! Who plays a role: one host, or several side by side, which are its instances (thirty clients, eight guests).
//!
//! A role without a host and a host that plays a role twice are errors.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de};
use std::{fmt, num::NonZeroU32, ops::Range};

use crate::{GroupName, HostName, HostPattern, Located, TagName, UnknownHostError, counted};

/// The hosts of a role: at least one, none twice.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[schemars(with = "SeatShape")]
pub struct Seat {
    instances: Vec<RoleHost>,
    /// Hosts of which only some play it, whichever are free; all of them, in the lab's order.
    candidates: Vec<HostName>,
    /// What stands in the file.
    parts: Vec<SeatPart>,
}

/// A host that plays a role.
#[derive(Debug, Clone, PartialEq)]
pub struct RoleHost {
    /// Which host.
    pub host: Located<HostName>,
    /// The data-plane address: a link's name or an address; the host's first link unless said.
    pub data: Option<Located<String>>,
}

/// Hosts of a seat that are written together.
#[derive(Debug, Clone, PartialEq)]
struct SeatPart {
    hosts: Located<HostPattern>,
    /// How many of them, whichever are free, the first ones before others; all unless said.
    count: Option<NonZeroU32>,
    data: Option<Located<String>>,
}

/// Why a seat can't be filled, and where that stands.
pub(crate) struct UnfilledSeat {
    pub(crate) span: Range<usize>,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

impl Seat {
    /// The hosts that play it, in the file's order: the first one is instance 1.
    pub fn instances(&self) -> &[RoleHost] {
        &self.instances
    }

    /// The first host that plays it.
    pub fn first(&self) -> &RoleHost {
        &self.instances[0]
    }

    /// Whether several hosts play it.
    pub fn has_several(&self) -> bool {
        self.instances.len() > 1
    }

    /// The hosts that play it.
    pub fn hosts(&self) -> impl Iterator<Item = &HostName> {
        self.instances.iter().map(|player| &*player.host)
    }

    /// Hosts of which only some play it, whichever are free; empty where the lab says which.
    pub fn candidates(&self) -> &[HostName] {
        &self.candidates
    }

    /// Whether this host plays it.
    pub fn is_played_by(&self, host: &HostName) -> bool {
        self.hosts().any(|player| player == host)
    }

    /// Finds the hosts that play it in their lab; `select` gives those of a pattern. Where only some of them are to play it, those that
    /// are preferred come before others.
    pub(crate) fn fill(
        &mut self,
        preferred: &[HostName],
        select: impl Fn(&HostPattern) -> Result<Vec<HostName>, UnknownHostError>,
    ) -> Result<(), UnfilledSeat> {
        let mut players: Vec<RoleHost> = Vec::new();
        let mut candidates = Vec::new();
        for part in &self.parts {
            let fault = |message: String, help| UnfilledSeat {
                span: part.hosts.span(),
                message,
                help,
            };
            let mut hosts = select(&part.hosts)
                .map_err(|unknown| fault(unknown.to_string(), unknown.help_text()))?;
            if let Some(count) = part.count {
                let count = count.get() as usize;
                if hosts.len() < count {
                    let there = counted(hosts.len(), "host");
                    let message = format!("{} of them play this role, and there is {there}", count);
                    return Err(fault(message, None));
                }
                if hosts.len() > count {
                    candidates.extend(hosts.iter().cloned());
                    hosts.sort_by_key(|host| !preferred.contains(host));
                    hosts.truncate(count);
                }
            }
            if part.data.is_some() && hosts.len() > 1 {
                let message = format!("`data` is of one host, and these are {}", hosts.len());
                let help = "give each host its own `data`, or name a link that all of them have";
                return Err(fault(message, Some(help.to_owned())));
            }
            for host in hosts {
                if players.iter().any(|known| *known.host == host) {
                    let message = format!("host `{host}` plays this role twice");
                    let help = "each instance of a role has a host of its own";
                    return Err(fault(message, Some(help.to_owned())));
                }
                players.push(RoleHost {
                    host: Located::spanning(host, part.hosts.span()),
                    data: part.data.clone(),
                });
            }
        }
        match players.is_empty() {
            true => {
                let span = self.parts.first().map_or(0..0, |part| part.hosts.span());
                Err(UnfilledSeat {
                    span,
                    message: "no host plays this role".into(),
                    help: None,
                })
            }
            false => {
                self.instances = players;
                self.candidates = candidates;
                Ok(())
            }
        }
    }
}

impl From<Located<HostName>> for Seat {
    fn from(host: Located<HostName>) -> Self {
        let part = SeatPart {
            hosts: Located::spanning(HostPattern::from(&*host), host.span()),
            count: None,
            data: None,
        };
        Self {
            instances: vec![RoleHost { host, data: None }],
            candidates: Vec::new(),
            parts: vec![part],
        }
    }
}

#[derive(JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "RoleHosts")]
#[expect(dead_code, reason = "only its schema is used")]
enum RoleHostsShape {
    /// A host, a host set (`client[01-30]`), a group's name, or a tag (`tag:10g`).
    Hosts(String),
    Table(RoleHostsTable),
}

#[derive(JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Seat")]
#[expect(dead_code, reason = "only its schema is used")]
enum SeatShape {
    One(RoleHostsShape),
    Several(Vec<RoleHostsShape>),
}

/// Exactly one of `host`, `hosts`, `group` and `tag`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RoleHostsTable {
    /// Which host.
    host: Option<HostName>,
    /// Which hosts: `client[01-30]`.
    hosts: Option<Located<String>>,
    /// The hosts of this group.
    group: Option<GroupName>,
    /// The hosts that have this tag.
    tag: Option<TagName>,
    /// How many of them, whichever are free, the first ones of the lab before others; all unless said.
    count: Option<NonZeroU32>,
    /// The data-plane address of one host: a link's name or an address.
    data: Option<Located<String>>,
}

/// What stands in the file: hosts, or a list of them.
enum Written {
    Hosts(String),
    Table(Box<RoleHostsTable>),
    Several(Vec<Located<Written>>),
}

struct WrittenVisitor;

impl<'de> de::Visitor<'de> for WrittenVisitor {
    type Value = Written;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a host's name, a host set, a group, a table with one of them, or a list of these",
        )
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Written, E> {
        Ok(Written::Hosts(text.to_owned()))
    }

    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Written, A::Error> {
        let table = RoleHostsTable::deserialize(de::value::MapAccessDeserializer::new(map))?;
        Ok(Written::Table(Box::new(table)))
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<Written, A::Error> {
        let mut several = Vec::new();
        while let Some(one) = seq.next_element()? {
            several.push(one);
        }
        Ok(Written::Several(several))
    }
}

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WrittenVisitor)
    }
}

fn part<E: de::Error>(written: Located<Written>) -> Result<SeatPart, E> {
    let span = written.span();
    let pattern = |text: &str| text.parse::<HostPattern>().map_err(E::custom);
    let table = match written.into_inner() {
        Written::Hosts(text) => {
            return Ok(SeatPart {
                hosts: Located::spanning(pattern(&text)?, span),
                count: None,
                data: None,
            });
        }
        Written::Several(_) => return Err(E::custom("a list of hosts within a list of hosts")),
        Written::Table(table) => *table,
    };
    let hosts = match (table.host, table.hosts, table.group, table.tag) {
        (Some(host), None, None, None) => HostPattern::from(&host),
        (None, Some(hosts), None, None) => pattern(&hosts)?,
        (None, None, Some(group), None) => pattern(group.as_str())?,
        (None, None, None, Some(tag)) => HostPattern::Tag(tag),
        _ => {
            return Err(E::custom(
                "a role is played by exactly one of `host`, `hosts`, `group` and `tag`; several go into a list",
            ));
        }
    };
    Ok(SeatPart {
        hosts: Located::spanning(hosts, span),
        count: table.count,
        data: table.data,
    })
}

impl<'de> Deserialize<'de> for Seat {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = Located::<Written>::deserialize(deserializer)?;
        let span = read.span();
        let written = match read.into_inner() {
            Written::Several(several) => several,
            one => vec![Located::spanning(one, span)],
        };
        if written.is_empty() {
            return Err(de::Error::custom("no host plays this role"));
        }
        let parts = written.into_iter().map(part::<D::Error>);
        Ok(Self {
            instances: Vec::new(),
            candidates: Vec::new(),
            parts: parts.collect::<Result<_, _>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Lab, TomlDocument};

    const LAB: &str = "[host.dut]\nkind = \"local\"\n[host.c3]\nkind = \"local\"\ntags = [\"fast\"]\n\
         [group.clients]\nhosts = \"client[01-04]\"\nkind = \"local\"\ntags = [\"fast\"]\n";

    fn read(seat: &str) -> Result<Seat, String> {
        let text = format!("{LAB}[testbed.t]\nclient = {seat}\n");
        let written = TomlDocument::new("lab.toml", text);
        let lab = Lab::write_out(&written).and_then(|document| Lab::read(&document));
        let testbed = lab.map(|lab| lab.testbed["t"].roles["client"].clone());
        testbed.map_err(|error| error.to_string())
    }

    #[test]
    fn a_role_has_one_host_or_several_that_differ() {
        let names = |seat: &str| -> String {
            let seat = read(seat).unwrap();
            let names: Vec<&str> = seat.hosts().map(HostName::as_str).collect();
            names.join(" ")
        };
        let clients = "client01 client02 client03 client04";
        assert_eq!(names("\"dut\""), "dut");
        assert_eq!(names("{ host = \"dut\" }"), "dut");
        assert_eq!(names("[\"dut\", \"c3\"]"), "dut c3");
        for all in [
            "\"client[01-04]\"",
            "\"clients\"",
            "{ group = \"clients\" }",
            "{ hosts = \"client[01-04]\" }",
        ] {
            assert_eq!(names(all), clients, "{all}");
        }
        assert_eq!(
            names("{ group = \"clients\", count = 2 }"),
            "client01 client02"
        );
        assert_eq!(names("\"tag:fast\"").split(' ').count(), 5);
        assert_eq!(
            names("[\"dut\", { tag = \"fast\", count = 1 }]")
                .split(' ')
                .count(),
            2
        );
        assert!(read("\"clients\"").unwrap().has_several());
        let any = read("{ group = \"clients\", count = 2 }").unwrap();
        assert_eq!(any.candidates().len(), 4);
        assert_eq!(read("\"clients\"").unwrap().candidates(), []);
        let mut any = any;
        let preferred = ["client04", "client02"].map(|name| HostName::new(name).unwrap());
        let clients = || clients.split(' ').map(|name| HostName::new(name).unwrap());
        let filled = any.fill(&preferred, |_| Ok(clients().collect()));
        assert!(filled.is_ok());
        let names: Vec<&str> = any.hosts().map(HostName::as_str).collect();
        assert_eq!(names, ["client02", "client04"]);
        for (bad, says) in [
            ("[]", "no host plays"),
            ("[\"dut\", \"dut\"]", "plays this role twice"),
            ("[\"client02\", \"clients\"]", "plays this role twice"),
            ("[[\"dut\"]]", "within a list"),
            ("3", "a host's name"),
            ("[\"a b\"]", "a b"),
            ("\"client[05-06]\"", "client05"),
            ("\"tag:slow\"", "no host of the lab has the tag `slow`"),
            ("{ group = \"clinets\" }", "clinets"),
            ("{ group = \"clients\", count = 5 }", "there is 4 hosts"),
            ("{ group = \"clients\", count = 0 }", "nonzero"),
            ("{ group = \"clients\", tag = \"fast\" }", "exactly one of"),
            (
                "{ group = \"clients\", data = \"10.0.0.1\" }",
                "`data` is of one host",
            ),
            ("{ hots = \"dut\" }", "hots"),
        ] {
            let said = read(bad).unwrap_err();
            assert!(said.contains(says), "{bad}: {said}");
        }
    }
}
