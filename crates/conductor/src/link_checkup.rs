//! The links of a lab, as their hosts see them: whether each end has its address, and reaches the other from there.

use backsight_agent::HostAddresses;
use backsight_model::{HostName, InterfaceAddress, Lab, Link};
use std::{collections::BTreeMap, net::IpAddr};

/// What is found out about a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LinkFinding {
    /// All is as the lab says.
    Good(String),
    /// An end doesn't have its address.
    Address(String),
    /// An end reaches the other by another way, or not at all.
    Route(String),
}

/// One end of a link.
struct LinkEnd<'a> {
    host: &'a HostName,
    address: IpAddr,
    has: &'a HostAddresses,
}

impl LinkEnd<'_> {
    fn interface(&self) -> Option<&str> {
        let mut own = self.has.own.iter();
        let found = own.find(|own| own.address == self.address)?;
        Some(&found.interface)
    }

    /// What is wrong with its way to the other end.
    fn fault(&self, peer: &Self) -> Option<String> {
        // A machine reaches its own addresses from themselves.
        if self.has.own.iter().any(|own| own.address == peer.address) {
            return None;
        }
        let route = self.has.routes.iter().find(|it| it.peer == peer.address)?;
        let (host, to) = (self.host, peer.address);
        match &route.from {
            Ok(from) if *from == self.address => None,
            Ok(from) => Some(format!(
                "host {host} reaches {to} from {from}, and not from its own end, {}",
                self.address
            )),
            Err(why) => Some(format!("host {host} has no way to {to}: {why}")),
        }
    }
}

/// The addresses of the other ends of a host's links.
pub(crate) fn peers(lab: &Lab, host: &HostName) -> Vec<IpAddr> {
    let links = lab.addresses(host);
    let peers = links.filter_map(|(link, _, peer)| Some(link.ends.get(peer)?.ip));
    peers.collect()
}

/// Checks the links of a lab between hosts whose addresses are known.
pub(crate) fn check_links(
    lab: &Lab,
    known: &BTreeMap<&HostName, &HostAddresses>,
) -> Vec<LinkFinding> {
    let links = lab.link.iter();
    links.flat_map(|link| check(link, known)).collect()
}

fn check(link: &Link, known: &BTreeMap<&HostName, &HostAddresses>) -> Vec<LinkFinding> {
    let ends = link.ends.iter().filter_map(|(host, address)| {
        Some(LinkEnd {
            host,
            address: address.ip,
            has: known.get(&**host)?,
        })
    });
    let ends: Vec<LinkEnd<'_>> = ends.collect();
    let hosts: Vec<&str> = link.ends.keys().map(|host| host.as_str()).collect();
    let hosts = hosts.join("–");
    let name = match &link.name {
        Some(name) => format!("link {name} ({hosts})"),
        None => format!("link {hosts}"),
    };
    let mut findings = Vec::new();
    for end in ends.iter().filter(|end| end.interface().is_none()) {
        findings.push(LinkFinding::Address(format!(
            "{name}: no interface of host {} has {}, which the lab says: its addresses are {}",
            end.host,
            end.address,
            InterfaceAddress::listed(&end.has.own)
        )));
    }
    let [one, other] = ends.as_slice() else {
        return findings;
    };
    if findings.is_empty() {
        let faults = one.fault(other).into_iter().chain(other.fault(one));
        findings.extend(faults.map(|fault| LinkFinding::Route(format!("{name}: {fault}"))));
    }
    if findings.is_empty() {
        let has = |end: &LinkEnd<'_>| {
            let interface = end.interface().unwrap_or_default();
            format!("{} has {} ({interface})", end.host, end.address)
        };
        findings.push(LinkFinding::Good(format!(
            "{name}: {}, {}; each reaches the other",
            has(one),
            has(other)
        )));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_agent::PeerRoute;
    use backsight_model::TomlDocument;

    fn host(own: &[(&str, &str)], peer: &str, from: Result<&str, &str>) -> HostAddresses {
        let ip = |text: &str| text.parse().unwrap();
        let own = own.iter().map(|(interface, address)| InterfaceAddress {
            interface: (*interface).into(),
            address: ip(address),
        });
        HostAddresses {
            own: own.collect(),
            routes: vec![PeerRoute {
                peer: ip(peer),
                from: from.map(ip).map_err(str::to_owned),
            }],
        }
    }

    #[test]
    fn a_link_is_good_or_says_which_end_has_what() {
        let text = "[host.a]\nkind = \"ssh\"\n[host.b]\nkind = \"ssh\"\n[[link]]\nends = { a = \"10.0.0.1/24\", b = \"10.0.0.2/24\" }\n";
        let lab = Lab::read(&TomlDocument::new("lab.toml", text)).unwrap();
        let [a, b] = ["a", "b"].map(|name| HostName::new(name).unwrap());
        assert_eq!(peers(&lab, &a), ["10.0.0.2".parse::<IpAddr>().unwrap()]);
        let one = host(&[("eth1", "10.0.0.1")], "10.0.0.2", Ok("10.0.0.1"));
        let other = |own: &[(&str, &str)], from| host(own, "10.0.0.1", from);
        let check = |second: &HostAddresses| {
            let known = BTreeMap::from([(&a, &one), (&b, second)]);
            let mut found = check_links(&lab, &known);
            assert_eq!(found.len(), 1);
            found.remove(0)
        };
        let good = check(&other(&[("eth2", "10.0.0.2")], Ok("10.0.0.2")));
        assert_eq!(
            good,
            LinkFinding::Good(
                "link a–b: a has 10.0.0.1 (eth1), b has 10.0.0.2 (eth2); each reaches the other"
                    .into()
            )
        );
        let LinkFinding::Address(why) = check(&other(&[("eth0", "192.0.2.1")], Ok("192.0.2.1")))
        else {
            panic!("no address");
        };
        assert!(
            why.contains("host b has 10.0.0.2") && why.contains("192.0.2.1 (eth0)"),
            "{why}"
        );
        let LinkFinding::Route(why) = check(&other(
            &[("eth2", "10.0.0.2"), ("eth0", "192.0.2.1")],
            Ok("192.0.2.1"),
        )) else {
            panic!("another way");
        };
        assert!(why.contains("b reaches 10.0.0.1 from 192.0.2.1"), "{why}");
        let LinkFinding::Route(why) = check(&other(
            &[("eth2", "10.0.0.2")],
            Err("Network is unreachable"),
        )) else {
            panic!("no way");
        };
        assert!(why.contains("no way to 10.0.0.1: Network"), "{why}");
        // Both ends are one machine.
        let own = [("eth1", "10.0.0.1"), ("eth2", "10.0.0.2")];
        let one = host(&own, "10.0.0.2", Ok("10.0.0.2"));
        let known = BTreeMap::from([(&a, &one), (&b, &one)]);
        assert!(matches!(check_links(&lab, &known)[0], LinkFinding::Good(_)));
    }
}
