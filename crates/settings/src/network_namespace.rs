//! Settings of which each network namespace has its own: to make them in one changes nothing in another.

use crate::{mechanism::Mechanism, wanted::WantedSetting};

/// Where the kernel shows what belongs to the reader's network namespace.
const TREES: &[&str] = &["/proc/sys/net/", "/sys/class/net/"];
/// Where parameters of the kernel are, whose names are part of a request.
const PARAMETERS: &str = "/proc/sys/{parameter}";

impl WantedSetting {
    /// Whether each network namespace has one of its own: what is below `net` in /proc/sys, and what a program sets of an interface.
    pub fn is_of_network_namespace(&self) -> bool {
        match &self.mechanism {
            Mechanism::Files(alternatives) => alternatives.iter().any(|files| {
                TREES.iter().any(|tree| files.path.starts_with(tree))
                    || files.path == PARAMETERS && self.names_net()
            }),
            Mechanism::Route(_) => true,
            Mechanism::Command(command) => command.write.iter().any(|word| word == "{interface}"),
            _ => false,
        }
    }

    fn names_net(&self) -> bool {
        let name = self.request.parameters.get("parameter");
        name.is_some_and(|name| name.starts_with("net.") || name.starts_with("net/"))
    }
}

#[cfg(test)]
mod tests {
    use crate::{PreparationSource, SettingCatalog, resolve};
    use backsight_model::{Preparation, TomlDocument};

    #[test]
    fn links_and_parameters_of_net_are_a_namespaces_own() {
        let text = "net.mtu = { interface = \"a\", bytes = 1400 }\nnet.tso = { interface = \"a\", on = false }\n\
            net.tcp-metrics = false\nnet.route.\"10.0.0.0/8\" = \"via 10.1.1.1\"\nsysctl.\"net.ipv4.tcp_sack\" = 0\n\
            sysctl.\"vm.swappiness\" = 0\nirq.affinity = { interface = \"a\", cpus = \"0\" }\ncpu.governor = \"performance\"\n";
        let document = TomlDocument::new("plan.toml", text);
        let preparation: Preparation = document.read().unwrap();
        let source = PreparationSource::new(&document, &preparation);
        let wanted = resolve(&SettingCatalog::load(&[]).unwrap(), &[source]).unwrap();
        for one in &wanted {
            let expected = one.setting.starts_with("net.")
                || one.request.parameters.values().any(|v| v.contains("net"));
            assert_eq!(one.is_of_network_namespace(), expected, "{one:?}");
        }
        let own = wanted.iter().filter(|one| one.is_of_network_namespace());
        assert_eq!(own.count(), 5);
    }
}
