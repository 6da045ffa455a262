//! Who plays a role: one host, or several side by side, which are its instances (thirty clients, eight guests).
//!
//! A role without a host and a host that plays a role twice are errors.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de};
use std::fmt;

use crate::{HostName, Located};

/// The hosts of a role: at least one, none twice.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[schemars(with = "SeatShape")]
pub struct Seat(Vec<RoleHost>);

/// A host that plays a role.
#[derive(Debug, Clone, PartialEq)]
pub struct RoleHost {
    /// Which host.
    pub host: Located<HostName>,
    /// The data-plane address: a link's name or an address; the host's first link unless said.
    pub data: Option<Located<String>>,
}

impl Seat {
    /// The hosts that play it, in the file's order: the first one is instance 1.
    pub fn instances(&self) -> &[RoleHost] {
        &self.0
    }

    /// The first host that plays it.
    pub fn first(&self) -> &RoleHost {
        &self.0[0]
    }

    /// Whether several hosts play it.
    pub fn has_several(&self) -> bool {
        self.0.len() > 1
    }

    /// The hosts that play it.
    pub fn hosts(&self) -> impl Iterator<Item = &HostName> {
        self.0.iter().map(|player| &*player.host)
    }

    /// Whether this host plays it.
    pub fn is_played_by(&self, host: &HostName) -> bool {
        self.hosts().any(|player| player == host)
    }
}

impl From<Located<HostName>> for Seat {
    fn from(host: Located<HostName>) -> Self {
        Self(vec![RoleHost { host, data: None }])
    }
}

#[derive(JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "RoleHost")]
#[expect(dead_code, reason = "only its schema is used")]
enum RoleHostShape {
    Host(HostName),
    Table(RoleHostTable),
}

#[derive(JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Seat")]
#[expect(dead_code, reason = "only its schema is used")]
enum SeatShape {
    Host(HostName),
    Table(RoleHostTable),
    Several(Vec<RoleHostShape>),
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RoleHostTable {
    /// Which host.
    host: Located<HostName>,
    /// The data-plane address: a link's name or an address.
    data: Option<Located<String>>,
}

/// What stands in the file: a host, or a list of them.
enum Written {
    Host(String),
    Table(RoleHostTable),
    Several(Vec<Located<Written>>),
}

struct WrittenVisitor;

impl<'de> de::Visitor<'de> for WrittenVisitor {
    type Value = Written;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a host's name, a table with `host` and `data`, or a list of them")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Written, E> {
        Ok(Written::Host(text.to_owned()))
    }

    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Written, A::Error> {
        RoleHostTable::deserialize(de::value::MapAccessDeserializer::new(map)).map(Written::Table)
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

fn role_host<E: de::Error>(written: Located<Written>) -> Result<RoleHost, E> {
    let span = written.span();
    match written.into_inner() {
        Written::Host(text) => Ok(RoleHost {
            host: Located::spanning(HostName::new(text).map_err(E::custom)?, span),
            data: None,
        }),
        Written::Table(RoleHostTable { host, data }) => Ok(RoleHost { host, data }),
        Written::Several(_) => Err(E::custom("a list of hosts within a list of hosts")),
    }
}

impl<'de> Deserialize<'de> for Seat {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = Located::<Written>::deserialize(deserializer)?;
        let span = read.span();
        let written = match read.into_inner() {
            Written::Several(several) => several,
            one => vec![Located::spanning(one, span)],
        };
        let mut players: Vec<RoleHost> = Vec::with_capacity(written.len());
        for one in written {
            let player = role_host::<D::Error>(one)?;
            if players.iter().any(|known| known.host == player.host) {
                return Err(de::Error::custom(format!(
                    "host `{}` plays this role twice: each instance of a role has a host of its own",
                    *player.host
                )));
            }
            players.push(player);
        }
        if players.is_empty() {
            return Err(de::Error::custom("no host plays this role"));
        }
        Ok(Self(players))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TomlDocument;

    fn read(text: &str) -> Result<Seat, String> {
        #[derive(Deserialize)]
        struct Testbed {
            client: Seat,
        }
        let document = TomlDocument::new("lab.toml", format!("client = {text}\n"));
        let testbed: Result<Testbed, _> = document.read();
        testbed
            .map(|testbed| testbed.client)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_role_has_one_host_or_several_that_differ() {
        let names =
            |seat: &Seat| -> Vec<String> { seat.hosts().map(ToString::to_string).collect() };
        let one = read("\"a\"").unwrap();
        assert!(names(&one) == ["a"] && !one.has_several());
        let two = read("[\"a\", { host = \"b\", data = \"wire\" }]").unwrap();
        assert!(names(&two) == ["a", "b"] && two.has_several());
        assert_eq!(two.instances()[1].data.as_ref().unwrap().as_str(), "wire");
        assert_eq!(two.first().host.span(), 10..13);
        for (bad, says) in [
            ("[]", "no host plays"),
            ("[\"a\", \"a\"]", "plays this role twice"),
            ("[[\"a\"]]", "within a list"),
            ("3", "a host's name"),
            ("[\"a b\"]", "a b"),
            ("{ hots = \"a\" }", "hots"),
        ] {
            let said = read(bad).unwrap_err();
            assert!(said.contains(says), "{bad}: {said}");
        }
    }
}
