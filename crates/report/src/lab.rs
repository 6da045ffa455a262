//! The hosts of a lab: what groups, defaults and variables made of them, and what a check of them found out.

use backsight_model::{CheckFinding, CheckedHost, HostKind, HostName, Lab};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{TerminalStyle, escape::visible, json, list_table};

/// The hosts of a lab, or some of them.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LabView {
    /// The lab's name.
    pub lab: String,
    /// Its hosts, in the lab's order.
    pub hosts: Vec<LabHostView>,
}

/// What a check of a lab's hosts found out.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LabCheckView<'a> {
    /// The lab's name.
    pub lab: &'a str,
    /// How many findings are faults.
    pub faults: usize,
    /// The hosts that answered, in the lab's order.
    pub hosts: &'a [CheckedHost],
    /// What was found out: of hosts, of their power and consoles, of the links between them.
    pub findings: &'a [CheckFinding],
}

/// A host of a lab.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LabHostView {
    /// Its name.
    pub host: String,
    /// What it is.
    pub kind: HostKind,
    /// Whether it is there, or what reaches it.
    pub state: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// The groups that it is in.
    pub groups: Vec<String>,
    /// Who logs in and where, if `ssh` reaches it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub login: Option<String>,
    /// Its data-plane addresses.
    pub addresses: Vec<LabAddressView>,
}

/// A data-plane address of a host.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LabAddressView {
    /// The address, with its prefix where a link gives it one.
    pub address: String,
    /// The link's name, or the host at its other end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}

impl LabView {
    /// The view of these hosts. `state` says whether one is there.
    pub fn new(lab: &Lab, hosts: &[HostName], state: impl Fn(&HostName) -> String) -> Self {
        let of_host = |name: &HostName| {
            let host = lab.host.get(name)?;
            let linked = lab
                .addresses(name)
                .map(|(link, address, peer)| LabAddressView {
                    address: address.to_string(),
                    link: Some(match &link.name {
                        Some(name) => name.to_string(),
                        None => format!("to {peer}"),
                    }),
                });
            let own = host.data.map(|address| LabAddressView {
                address: address.to_string(),
                link: None,
            });
            Some(LabHostView {
                host: name.to_string(),
                kind: host.kind,
                state: state(name),
                tags: host.tags.iter().map(ToString::to_string).collect(),
                groups: lab.groups_of(name).map(ToString::to_string).collect(),
                login: host
                    .is_reached_by_ssh()
                    .then(|| host.login(name).to_owned()),
                addresses: own.into_iter().chain(linked).collect(),
            })
        };
        Self {
            lab: lab.name.to_string(),
            hosts: hosts.iter().filter_map(of_host).collect(),
        }
    }

    /// A table, or JSON. A column that would be empty is left out.
    ///
    /// # Errors
    /// JSON can't be made of it.
    pub fn shown(&self, as_json: bool, style: &TerminalStyle) -> Result<String, serde_json::Error> {
        if as_json {
            return json(self);
        }
        let address = |it: &LabAddressView| match &it.link {
            Some(link) => format!("{} ({link})", it.address),
            None => it.address.clone(),
        };
        let addresses = |host: &LabHostView| {
            host.addresses
                .iter()
                .map(address)
                .collect::<Vec<_>>()
                .join(", ")
        };
        type CellOf<'a> = &'a dyn Fn(&LabHostView) -> String;
        let columns: [(&str, CellOf<'_>); 7] = [
            ("host", &|host| host.host.clone()),
            ("kind", &|host| host.kind.to_string()),
            ("state", &|host| host.state.clone()),
            ("addresses", &addresses),
            ("login", &|host| host.login.clone().unwrap_or_default()),
            ("groups", &|host| host.groups.join(", ")),
            ("tags", &|host| host.tags.join(", ")),
        ];
        let is_wanted = |cell: CellOf<'_>| self.hosts.iter().any(|host| !cell(host).is_empty());
        let columns: Vec<_> = columns
            .into_iter()
            .filter(|(_, cell)| is_wanted(cell))
            .collect();
        let titles: Vec<&str> = columns.iter().map(|(title, _)| *title).collect();
        let mut table = list_table(&titles, style.width);
        for host in &self.hosts {
            table.add_row(columns.iter().map(|(_, cell)| visible(&cell(host))));
        }
        Ok(format!("{table}\n"))
    }
}
