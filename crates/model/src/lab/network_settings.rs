//! What a lab asks of the network of hosts that are machines, as settings: they are made for a study, and put back after it.
//!
//! Namespaces and guests get theirs when they are made.

use crate::{HostName, Lab, Located, Preparation, PreparationPart, SettingNode, SettingTable};

/// What makes a host forward packets of version 4. The kernel resets settings of its interfaces along with it.
const FORWARD: &str = "net.ipv4.ip_forward";
/// The same of version 6. The kernel also drops default routes that routers advertised, where `accept_ra` isn't 2: a machine has it only
/// where it has something of version 6 to forward, and after its own settings.
const FORWARD_6: &str = "net.ipv6.conf.all.forwarding";

impl Lab {
    /// The kernel's parameters that are 1 on a host that forwards: that of version 6 only where a link or a route of it is of that
    /// version.
    pub fn forwarding(&self, host: &HostName) -> impl Iterator<Item = &'static str> {
        let settings = self.host.get(host).filter(|it| it.forward);
        let is_6 = settings.is_some_and(|settings| {
            let mut addresses = self.addresses(host);
            addresses.any(|(_, address, _)| address.ip.is_ipv6())
                || settings.routes.iter().any(|route| route.contains("::"))
        });
        let first = settings.map(|_| FORWARD);
        first.into_iter().chain(is_6.then_some(FORWARD_6))
    }

    /// The settings that `forward`, `sysctl`, `routes` and the `mtu` of links are on a machine; none where nothing is asked of it, and
    /// of a host that is no machine.
    pub fn network_settings(&self, host: &HostName) -> Option<Preparation> {
        let (name, settings) = self.host.get_key_value(host)?;
        if !settings.kind.is_machine() {
            return None;
        }
        let text = |text: &str| Located::spanning(SettingNode::Text(text.to_owned()), name.span());
        let key = |key: &str| Located::spanning(key.to_owned(), name.span());
        let table = |table: SettingTable| Located::spanning(SettingNode::Table(table), name.span());
        let mut forwarding = self.forwarding(host).map(|name| (key(name), text("1")));
        let (first, last) = (forwarding.next(), forwarding.next());
        let own = settings.sysctl.iter();
        let own = own.map(|(parameter, value)| (key(parameter), text(value)));
        let sysctl: SettingTable = first.into_iter().chain(own).chain(last).collect();
        let routes = settings.routes.iter().map(|route| {
            let (to, way) = route
                .trim()
                .split_once(char::is_whitespace)
                .unwrap_or((route, ""));
            let spanning = |node| Located::spanning(node, route.span());
            let way = SettingNode::Text(way.trim().to_owned());
            (
                Located::spanning(to.to_owned(), route.span()),
                spanning(way),
            )
        });
        let routes: SettingTable = routes.collect();
        let mtus = self.addresses(host).filter_map(|(link, address, _)| {
            let of = vec![
                (key("interface"), text(&format!("@{}", address.ip))),
                (
                    key("bytes"),
                    Located::spanning(SettingNode::Integer(link.mtu?.into()), name.span()),
                ),
            ];
            Some(table(of))
        });
        let mtus: Vec<Located<SettingNode>> = mtus.collect();
        let mut net = SettingTable::new();
        if !mtus.is_empty() {
            net.push((
                key("mtu"),
                Located::spanning(SettingNode::List(mtus), name.span()),
            ));
        }
        if !routes.is_empty() {
            net.push((key("route"), table(routes)));
        }
        let all = [("sysctl", sysctl), ("net", net)].into_iter();
        let asked: SettingTable = all
            .filter(|(_, settings)| !settings.is_empty())
            .map(|(name, settings)| (key(name), table(settings)))
            .collect();
        (!asked.is_empty()).then(|| Preparation {
            parts: vec![PreparationPart::Settings(asked)],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TomlDocument;

    #[test]
    fn what_a_machine_forwards_and_where_to_are_settings() {
        let text = "[host.a]\nkind = \"ssh\"\nforward = true\nsysctl = { \"net.core.rmem_max\" = \"4096\" }\n\
            routes = [\"10.77.2.0/24  via 10.77.1.2 mtu 1400\"]\n[host.b]\nkind = \"ssh\"\n[host.c]\nkind = \"netns\"\nforward = true\n\
            [[link]]\nends = { a = \"10.77.1.1/24\", b = \"10.77.1.2/24\" }\nmtu = 1400\n";
        let lab = Lab::read(&TomlDocument::new("lab.toml", text)).unwrap();
        let of = |host: &str| lab.network_settings(&HostName::new(host).unwrap());
        let PreparationPart::Settings(table) = &of("a").unwrap().parts[0] else {
            panic!("a table");
        };
        let shown = format!("{table:?}");
        for part in [
            "net.ipv4.ip_forward",
            "net.core.rmem_max",
            "@10.77.1.1",
            "\"via 10.77.1.2 mtu 1400\"",
        ] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        let (_, net) = &table[1];
        let SettingNode::Table(net) = &**net else {
            panic!("a table");
        };
        let SettingNode::Table(routes) = &*net[1].1 else {
            panic!("a table");
        };
        assert_eq!(*routes[0].0, "10.77.2.0/24");
        assert_eq!(
            &text[routes[0].0.span()],
            "\"10.77.2.0/24  via 10.77.1.2 mtu 1400\""
        );
        assert!(
            !shown.contains("ipv6"),
            "nothing of it is forwarded: {shown}"
        );
        let of_6 = text.replace("10.77.1.1/24", "fd77::1/64");
        let of_6 = Lab::read(&TomlDocument::new("lab.toml", of_6)).unwrap();
        let of_6 = of_6.network_settings(&HostName::new("a").unwrap());
        let shown = format!("{of_6:?}");
        let at = |parameter: &str| shown.find(parameter).unwrap();
        assert!(at("net.ipv4.ip_forward") < at("net.core.rmem_max"));
        assert!(at("net.core.rmem_max") < at("net.ipv6.conf.all.forwarding"));
        assert!(of("b").is_some(), "the link's mtu");
        assert_eq!(of("c"), None);
    }
}
