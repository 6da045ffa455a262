//! Testbeds that measure at once and are parts of one machine: each of its settings is made once, by the first of them.

use backsight_model::{HostKind, HostName, Lab};
use backsight_settings::WantedSetting;
use indexmap::IndexMap;

/// Leaves out what the first testbed has made on the same machine. What differs stays, and is refused there: one setting has one
/// value.
pub(crate) fn leave_out_made(
    lab: &Lab,
    made: &IndexMap<HostName, Vec<WantedSetting>>,
    wanted: &mut IndexMap<HostName, Vec<WantedSetting>>,
) {
    // All others are this machine or parts of it.
    let machine = |host: &HostName| {
        let kind = lab.host.get(host).map(|settings| settings.kind);
        kind.is_some_and(HostKind::is_other_machine)
            .then(|| host.clone())
    };
    for (host, settings) in wanted.iter_mut() {
        let there = made
            .iter()
            .filter(|(other, _)| machine(other) == machine(host));
        let there: Vec<&WantedSetting> = there.flat_map(|(_, settings)| settings).collect();
        settings.retain(|one| !there.iter().any(|other| other.is_same(one)));
    }
    wanted.retain(|_, settings| !settings.is_empty());
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_model::{Preparation, TomlDocument};
    use backsight_settings::{PreparationSource, SettingCatalog, resolve};

    fn wanted(host: &str, text: &str) -> (HostName, Vec<WantedSetting>) {
        let document = TomlDocument::new("plan.toml", text);
        let preparation: Preparation = document.read().unwrap();
        let source = PreparationSource::new(&document, &preparation);
        let resolved = resolve(&SettingCatalog::load(&[]).unwrap(), &[source]);
        (HostName::new(host).unwrap(), resolved.unwrap())
    }

    #[test]
    fn what_one_machine_has_is_made_once_and_what_another_has_is_its_own() {
        let lab =
            "[host.a]\nkind = \"local\"\n[host.b]\nkind = \"netns\"\n[host.c]\nkind = \"ssh\"\n";
        let lab = Lab::read(&TomlDocument::new("lab.toml", lab)).unwrap();
        let one = "memory.swappiness = 1\n";
        let made = IndexMap::from([wanted("a", one)]);
        let both = format!("{one}memory.ksm = false\n");
        let mut others = IndexMap::from([wanted("here", &both), wanted("c", one)]);
        leave_out_made(&lab, &made, &mut others);
        let here = &others[&HostName::new("here").unwrap()];
        assert_eq!(here.len(), 1);
        assert_eq!(here[0].setting, "memory.ksm");
        assert_eq!(others[&HostName::new("c").unwrap()].len(), 1);
        let mut same = IndexMap::from([wanted("here", one)]);
        leave_out_made(&lab, &made, &mut same);
        assert!(same.is_empty());
        let mut other_value = IndexMap::from([wanted("here", "memory.swappiness = 2\n")]);
        leave_out_made(&lab, &made, &mut other_value);
        assert_eq!(other_value.len(), 1);
    }
}
