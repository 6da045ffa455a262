//! How a host gets another release of its system: the key `install` of a host.

use schemars::JsonSchema;
use serde::Deserialize;
use std::time::Duration;

use crate::{HostName, ReleaseName, TemplateError, Value, span::Time, template::Template};

/// How long an installation may take unless the lab says otherwise.
const LIMIT: Duration = Duration::from_secs(3600);

/// How a host gets another release, from the order to the proof. In its commands `{release}` and `{host}` stand for their names.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Install {
    /// The command, run on this machine, after which the host's next boot installs the release: it writes what the host's
    /// PXE server gives it, or installs onto its disk itself.
    pub run: String,
    /// Whether the host's BMC is told to boot over the network next.
    #[serde(default)]
    pub network_boot: bool,
    /// The command, run on the host, that reboots it; unless said it is switched off and on by its `power`.
    pub reboot: Option<String>,
    /// The command, run on the host afterwards, that tells what runs: the release's name has to be in what it prints.
    pub proof: String,
    /// How long all of it may take; 60m unless said.
    pub timeout: Option<Time>,
}

impl Install {
    /// How long all of it may take.
    pub fn limit(&self) -> Duration {
        self.timeout.map_or(LIMIT, |time| time.0)
    }

    /// What is wrong with it, if something is.
    ///
    /// # Errors
    /// A command is empty or has a placeholder that means nothing here.
    pub(crate) fn check(&self, has_power: bool, has_bmc: bool) -> Result<(), String> {
        let commands = [Some(&self.run), self.reboot.as_ref(), Some(&self.proof)];
        for command in commands.into_iter().flatten() {
            if command.trim().is_empty() {
                return Err("a command is empty".into());
            }
            let template = Template::parse(command).map_err(|error| error.to_string())?;
            let is_known = |name: &&str| ["release", "host"].contains(name);
            if let Some(other) = template.names().into_iter().find(|name| !is_known(name)) {
                return Err(format!(
                    "`{{{other}}}` means nothing here: `{{release}}` and `{{host}}` do"
                ));
            }
        }
        if self.limit().is_zero() {
            return Err("an installation takes longer than 0 s".into());
        }
        if self.network_boot && !has_bmc {
            return Err("`network-boot` is an order to a BMC: add power = { ipmi = … }".into());
        }
        if self.reboot.is_none() && !has_power {
            return Err(
                "nothing reboots the host: add `reboot` here, or `power` to the host".into(),
            );
        }
        Ok(())
    }

    /// A command of it, for this host and this release.
    ///
    /// # Errors
    /// It can't be filled; a lab that was read has none like that.
    pub fn filled(
        command: &str,
        host: &HostName,
        release: &ReleaseName,
    ) -> Result<String, TemplateError> {
        Template::parse(command)?.fill(&|name| match name {
            "release" => Some(Value::Text(release.to_string())),
            "host" => Some(Value::Text(host.to_string())),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn install(run: &str) -> Install {
        Install {
            run: run.into(),
            network_boot: false,
            reboot: None,
            proof: "cat /etc/debian_version".into(),
            timeout: None,
        }
    }

    #[test]
    fn commands_are_filled_and_what_cant_work_is_said() {
        let (host, release) = ("dut".parse().unwrap(), "12.5".parse().unwrap());
        let filled = Install::filled("pxe {host} {release}", &host, &release);
        assert_eq!(filled.unwrap(), "pxe dut 12.5");
        assert_eq!(install("pxe {release}").check(true, false), Ok(()));
        let faults = [
            (install(" ").check(true, true), "is empty"),
            (
                install("pxe {version}").check(true, true),
                "`{version}` means nothing",
            ),
            (
                install("pxe").check(false, false),
                "nothing reboots the host",
            ),
        ];
        for (found, said) in faults {
            assert!(found.clone().unwrap_err().contains(said), "{found:?}");
        }
        let network = Install {
            network_boot: true,
            ..install("pxe")
        };
        assert!(network.check(true, false).unwrap_err().contains("BMC"));
    }
}
