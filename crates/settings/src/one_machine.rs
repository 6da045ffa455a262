//! Hosts that are one machine: what is asked of each becomes what is asked of the machine.
//!
//! One value that several ask for is one setting. Two values of one setting can't both stand, whatever the policy says of settings that
//! can't be made. Settings of programs aren't the machine's: they stay with their host, and are left out here.

use backsight_model::HostName;
use std::{collections::BTreeSet, fmt};

use crate::wanted::WantedSetting;

/// Two settings that a machine can't both have, each asked for by another of its hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineConflict {
    /// The hosts, with the setting and the place where it is asked for.
    settings: [(HostName, String); 2],
    /// Why not both.
    why: String,
}

impl fmt::Display for MachineConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [(one, here), (other, there)] = &self.settings;
        write!(
            f,
            "hosts `{one}` and `{other}` are one machine, which can't have {here} for `{one}` and {there} for `{other}`: {}",
            self.why
        )
    }
}

impl std::error::Error for MachineConflict {}

/// The settings of a machine, in the order in which they are made, of those that its hosts ask for.
///
/// # Errors
/// Two hosts ask for what can't both stand.
pub fn merge_hosts<'a>(
    hosts: impl IntoIterator<Item = (&'a HostName, &'a Vec<WantedSetting>)>,
) -> Result<Vec<WantedSetting>, MachineConflict> {
    let mut merged: Vec<(&HostName, WantedSetting)> = Vec::new();
    for (host, settings) in hosts {
        let of_machine = |it: &&WantedSetting| !it.mechanism.is_of_programs();
        for one in settings.iter().filter(of_machine) {
            let known = merged.iter().position(|(_, known)| known.is_same(one));
            if let Some(known) = known {
                // Who asks for it by its name insists on it.
                merged[known].1.optional &= one.optional;
                continue;
            }
            let clash = merged
                .iter()
                .find_map(|(other, known)| Some((*other, known, why_not_both(known, one)?)));
            if let Some((other, known, why)) = clash {
                let settings = [(other, known), (host, one)];
                return Err(MachineConflict {
                    settings: settings.map(|(host, it)| (host.clone(), it.with_place())),
                    why,
                });
            }
            merged.push((host, one.clone()));
        }
    }
    let asking: BTreeSet<&HostName> = merged.iter().map(|(host, _)| *host).collect();
    let is_shared = asking.len() > 1;
    let with_host = |(host, one): (&HostName, WantedSetting)| WantedSetting {
        place: match is_shared {
            true => format!("{}, for `{host}`", one.place),
            false => one.place,
        },
        ..one
    };
    let mut merged: Vec<WantedSetting> = merged.into_iter().map(with_host).collect();
    merged.sort_by_key(|it| it.order);
    Ok(merged)
}

/// Why two settings can't both stand, if they can't.
fn why_not_both(one: &WantedSetting, other: &WantedSetting) -> Option<String> {
    let is_one = one.setting == other.setting && one.request.parameters == other.request.parameters;
    let excludes = |one: &WantedSetting, other: &WantedSetting| {
        let conflict = one.conflicts.iter().find(|it| {
            *it.with == other.setting
                && (it.when.is_none() || it.when == one.request.value)
                && (it.value.is_none() || it.value == other.request.value)
        });
        conflict.map(|it| it.why.clone())
    };
    let two_values = is_one.then(|| "it has one value at a time".to_owned());
    two_values
        .or_else(|| excludes(one, other))
        .or_else(|| excludes(other, one))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PreparationSource, SettingCatalog, resolve};
    use backsight_model::{Preparation, TomlDocument};

    fn merged(first: &str, second: &str) -> Result<Vec<String>, String> {
        let catalog = SettingCatalog::load(&[]).unwrap();
        let wanted = |name: &str, text: &str| {
            #[derive(serde::Deserialize)]
            struct WithPreparation {
                prepare: Preparation,
            }
            let document = TomlDocument::new(name, format!("prepare = {text}"));
            let read: WithPreparation = document.read().unwrap();
            resolve(
                &catalog,
                &[PreparationSource::new(&document, &read.prepare)],
            )
            .unwrap()
        };
        let (first, second) = (wanted("first.toml", first), wanted("second.toml", second));
        let hosts = ["one", "two"].map(|name| HostName::new(name).unwrap());
        let merged = merge_hosts([(&hosts[0], &first), (&hosts[1], &second)]);
        let shown = |it: &WantedSetting| {
            let optional = if it.optional { "?" } else { "" };
            format!("{}{optional}", it.with_place())
        };
        merged
            .map(|all| all.iter().map(shown).collect())
            .map_err(|conflict| conflict.to_string())
    }

    #[test]
    fn one_value_twice_is_one_setting_and_the_order_is_that_of_one_list() {
        let found = merged(
            "{ isolate.cpus = '1', memory.swappiness = 7, process.nice = 3 }",
            "{ memory.swappiness = 7, services.stop = ['cron.service'], process.nice = 4 }",
        );
        assert_eq!(
            found.unwrap(),
            [
                "services.stop = cron.service (second.toml:1, for `two`)",
                "memory.swappiness = 7 (first.toml:1, for `one`)",
                "isolate.cpus = 1 (first.toml:1, for `one`)",
            ]
        );
        // Of a set a machine may lack it, unless another host asks for it by its name.
        let found = merged("['quiet']", "{ memory.swappiness = 0 }").unwrap();
        let is_swappiness = |it: &&String| it.starts_with("memory.swappiness");
        let swappiness: Vec<_> = found.iter().filter(is_swappiness).collect();
        assert!(
            matches!(&swappiness[..], [one] if !one.ends_with('?')),
            "{swappiness:?}"
        );
    }

    #[test]
    fn parameters_make_another_setting() {
        let line = |irq, cpus| format!("{{ irq.line = {{ irq = {irq}, cpus = '{cpus}' }} }}");
        assert_eq!(merged(&line(8, 0), &line(9, 1)).unwrap().len(), 2);
        let fault = merged(&line(8, 0), &line(8, 1)).unwrap_err();
        assert!(fault.contains("irq.line of 8"), "{fault}");
    }

    #[test]
    fn two_values_and_what_does_not_go_together_name_both_hosts_and_places() {
        let found = merged("{ memory.swappiness = 7 }", "{ memory.swappiness = 8 }");
        assert_eq!(
            found.unwrap_err(),
            "hosts `one` and `two` are one machine, which can't have memory.swappiness = 7 (first.toml:1) for `one` and \
             memory.swappiness = 8 (second.toml:1) for `two`: it has one value at a time"
        );
        for (first, second) in [
            ("{ cpu.governor = 'powersave' }", "{ cpu.turbo = false }"),
            ("{ cpu.turbo = false }", "{ cpu.governor = 'powersave' }"),
        ] {
            let fault = merged(first, second).unwrap_err();
            assert!(
                fault.contains("cpu.governor = powersave") && fault.contains("cpu.turbo = false"),
                "{fault}"
            );
        }
    }
}
