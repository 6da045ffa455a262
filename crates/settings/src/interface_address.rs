//! Interfaces that a request names by an address that they have: `@10.0.0.2`. The machine says which they are.

use std::{net::IpAddr, time::Duration};

use crate::{
    machine_root::MachineRoot,
    mechanism::SettingObstacle,
    parameter::address_of,
    program::{self, ProgramFault},
    request::SettingRequest,
};

/// How long the machine may take to say which interface has an address.
const ADDRESS_LIMIT: Duration = Duration::from_secs(10);

/// The request with the interfaces' names in place of addresses that they have.
pub(crate) fn with_interface_names(
    machine: &MachineRoot,
    request: &SettingRequest,
) -> Result<SettingRequest, SettingObstacle> {
    let mut request = request.clone();
    for text in request.parameters.values_mut() {
        if let Some(address) = address_of(text) {
            *text = interface_with(machine, address)?;
        }
    }
    Ok(request)
}

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
