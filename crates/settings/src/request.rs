//! What is wanted of one setting: its value and its parameters.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use std::{net::IpAddr, time::Duration};

use crate::{
    machine_root::MachineRoot,
    mechanism::SettingObstacle,
    parameter::address_of,
    program::{self, ProgramFault},
    value::{SettingValue, ValueType},
};

/// How long the machine may take to say which interface has an address.
const ADDRESS_LIMIT: Duration = Duration::from_secs(10);

fn interface_with(machine: &MachineRoot, address: IpAddr) -> Result<String, SettingObstacle> {
    let address = address.to_string();
    let words = ["ip", "-o", "addr", "show", "to", &address].map(str::to_owned);
    let said = program::run(machine, &words, ADDRESS_LIMIT).map_err(|fault| match fault {
        ProgramFault::Missing(why) => SettingObstacle::Missing(why),
        ProgramFault::Failed(why) => SettingObstacle::Refused(why),
    })?;
    // `2: eth0    inet 10.0.0.2/24 …`; a virtual one is called `eth0.1@eth0`.
    let name = said.split_whitespace().nth(1);
    let name = name.and_then(|name| name.split(['@', ':']).next());
    name.map(str::to_owned).ok_or_else(|| {
        SettingObstacle::Missing(format!(
            "no interface of this machine has the address {address}"
        ))
    })
}

/// A value with parameters, both checked against the definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingRequest {
    /// Which values the setting takes.
    #[serde(rename = "type")]
    pub value_type: ValueType,
    /// The value; none where the parameters say everything.
    pub value: Option<SettingValue>,
    /// Parameters by name: `interface`, `device`.
    pub parameters: IndexMap<String, String>,
}

impl SettingRequest {
    /// The value of a placeholder.
    pub(crate) fn lookup(&self, name: &str) -> Option<String> {
        match name {
            "value" => self.value.as_ref().map(ToString::to_string),
            _ => self.parameters.get(name).cloned(),
        }
    }

    /// The request with the interfaces' names in place of addresses that they have.
    pub(crate) fn on(&self, machine: &MachineRoot) -> Result<Self, SettingObstacle> {
        let mut request = self.clone();
        for text in request.parameters.values_mut() {
            if let Some(address) = address_of(text) {
                *text = interface_with(machine, address)?;
            }
        }
        Ok(request)
    }

    /// The parameters as people read them: `interface=eth0`.
    pub fn shown_parameters(&self) -> String {
        let shown = self.parameters.iter().map(|(k, v)| format!("{k}={v}"));
        shown.collect::<Vec<_>>().join(" ")
    }
}
